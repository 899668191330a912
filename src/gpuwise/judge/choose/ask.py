"""A question in plain words as a need: `serve a 70B for 50 users`, `two 3090s or one 4090 for llama-3.1-70b`.

Nothing is guessed silently: what was understood is said with the answer, what is not is left out. Each rule
is a pattern and what it sets; the first words that name a model, a network or a use are the work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuwise.facts import catalog, llms
from gpuwise.judge.choose.need import ALIASES, DIFFUSION, Purpose, is_model, need_for, presets, unknown
from gpuwise.model import units
from gpuwise.model.judgement import Need
from gpuwise.model.units import Latency, Work
from gpuwise.workloads import registry

_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "single": 1,
    "two": 2,
    "dual": 2,
    "three": 3,
    "four": 4,
    "six": 6,
    "eight": 8,
}
_COUNT = rf"(?:\d+|{'|'.join(_NUMBERS)})"
# What people mean by a size alone, as of 2026.
_SIZES = {
    "1b": "llama-3.2-1b", "3b": "llama-3.2-3b", "7b": "qwen2.5-7b", "8b": "llama-3.1-8b",
    "14b": "qwen2.5-14b", "32b": "qwen2.5-32b", "70b": "llama-3.1-70b", "72b": "qwen2.5-72b",
    "405b": "llama-3.1-405b",
}  # fmt: skip
# Words of a use -> workload or preset, where no model or network is named.
_USES = (
    (r"double precision|fp64|\bcfd\b|stencil", "stencil"),
    (r"molecular|scientific|simulation", "scientific-fp64"), (r"vision transformer", "vit"),
    (r"diffusion|image generation|generate images", "stable-diffusion"),
    (r"image classif|\bcnns?\b|imagenet|convolution", "resnet50"),
    (r"\bllms?\b|chat ?bot|language model", "llama-3.1-8b"), ("laptop", "mobile"),
)  # fmt: skip
_MONEY = r"(?:[$€£]\s?\d[\d.,]*\s?k?|\d[\d.,]*\s?k?\s?(?:[$€£]|usd|euros?|eur\b|dollars?|bucks))"
_SPAN = r"(\d[\d.]*|an?|one|two|three)\s*(hours?|h|days?|d|weeks?|months?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a question says: the work, how it runs, and the limits of a `Need` by field."""

    workload: str
    mode: Purpose | None = None
    work: Work | None = None
    latency: Latency | None = None
    gpus: tuple[int, int] | None = None
    form: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    free_host: bool = False  # A machine for the card is there


def is_question(text: str) -> bool:
    """Whether it is a sentence rather than the name of a workload, or a list of them with shares."""
    names = {*registry.names(), *ALIASES, *DIFFUSION, *presets()}
    return (
        " " in text.strip() and "%" not in text and "=" not in text and text.strip().casefold() not in names
    )


def read(text: str, rates: Mapping[str, float]) -> Asked:
    """What a question says. Raises InputError where it names no work."""
    plain = " ".join(text.casefold().replace("\u2019", "'").split()).rstrip("?.! ")
    fields = dict(_fields(plain, rates))
    sets, have, left = _cards(plain)
    counts = [count for _, count in sets]
    if have:
        fields["have"] = have
        fields.setdefault("acquire", "own")
        fields["upgrade"] = bool(re.search(r"upgrade|replace", plain)) and "worth" not in plain
    if sets:
        fields["sets"] = sets
    elif re.search(r"\bmac(?:s|book|\b)", plain):
        fields["only"] = tuple(spec.id for spec in catalog.all_gpus() if spec.vendor == "Apple")
    named = _workload(left)
    if named is None:
        raise unknown(text)
    mode = _mode(plain)
    if named in presets() or (mode == "finetune" and not is_model(named, mode)):
        mode = None if named in presets() else mode
    if mode is None and (named in DIFFUSION or "diffusion" in named or ALIASES.get(named) == "unet-sd15"):
        mode = "infer"  # People make images far more often than models of them
    if mode in ("infer", None) and "laptop" in plain and not is_model(named, mode):
        named, mode = ("mobile", None) if named not in presets() else (named, mode)
    number = re.search(rf"\b({_COUNT}) (?:\d+ ?gb |rented |own )?(?:gpus?|cards?)\b", plain)
    gpus = (_number(number[1]),) * 2 if number else None
    if sets:
        gpus = (min(counts), max(counts))
    amount = re.search(
        r"\d[\d.,]*\s*(?:k|m|b|g|t|thousand|million|billion|trillion)?\s+(?:images?|tokens?|sequences?|sentences?)"
        r"(?:\s*(?:/|per |an? |each )\s*(?:second|minute|hour|day|week|month))?|[\d.]+ epochs? of [a-z0-9-]+",
        plain,
    )
    work = units.parse_work(re.sub(r" (?:an?|each) ", " per ", amount[0])) if amount else None
    return Asked(
        workload=named, mode=mode, work=work, gpus=gpus, fields=fields,
        form="mobile" if "laptop" in plain else "pcie" if "nvlink" in plain and "no" in plain else None,
        free_host=bool(re.search(r"\bi have (?:a|my) (?:pc|computer|desktop)|existing pc|for my pc", plain)),
    )  # fmt: skip


def need_of(asked: Asked, given: Mapping[str, Any] | None = None) -> Need:
    """The need of a question; `given` are arguments of `need_for` that were stated apart."""
    stated = {
        "mode": asked.mode, "work": asked.work, "latency": asked.latency, "gpus": asked.gpus,
        "form": asked.form,
        **{name: value for name, value in (given or {}).items() if value is not None},
    }  # fmt: skip
    need = need_for(asked.workload, **stated)
    if asked.free_host:
        need = replace(need, assumptions=replace(need.assumptions, host_usd=0.0))
    return replace(need, **asked.fields)


def _fields(plain: str, rates: Mapping[str, float]) -> Iterator[tuple[str, Any]]:
    """Limits that words set, as fields of a `Need`."""

    def found(pattern: str) -> re.Match[str] | None:
        return re.search(pattern, plain)

    spot = found(r"\bspot\b|interruptible|preemptible")
    no_cloud = found(r"\b(?:not|no|without|avoid)(?: \S+)? (?:the |a )?cloud|on.prem|offline|air.gapped")
    used = found(r"(?<!be )\bused\b(?! (?:to|for|by|in|with)\b)|second.hand")
    owns = used or found(
        r"\bown\b|\bbuy|purchase|at home|office|desktop|workstation|outlet|laptop|upgrad|worth it|replace"
    )
    if no_cloud:
        yield "acquire", "own"
    elif spot or found(r"\brent|cloud|per hour|an hour|/h\b|a month|per month|/month"):
        yield "acquire", "rent"
    elif owns or found(r"\bmy (?:pc|card)|have a pc"):
        yield "acquire", "own"
    if spot:
        yield "spot", True
    if used:
        yield "sold", ("used", "street")
    if found(r"\bquiet|silent"):
        yield "quiet", True
    if money := found(_MONEY):
        # What follows the amount says what it is for.
        text = re.sub(r"\s?(?:dollars?|bucks|usd)", "", money[0])
        text = re.sub(r"\s?euros?$", "eur", text)
        text = f"${text}" if re.fullmatch(r"[\d.,]+\s?k?", text) else text
        after = plain[money.end() : money.end() + 14]
        monthly, hourly = re.match(r"\s*(?:a|per|/)\s*month", after), re.match(r"\s*(?:an|per|/)\s*h", after)
        yield "budget_usd", units.parse_usd(text.replace(" ", ""), rates)[0]
        if monthly or hourly:
            yield ("budget_per_month" if monthly else "budget_per_hour"), True
        elif not spot and not found(r"\brent|cloud"):
            yield "acquire", "own"
    if people := found(rf"\b({_COUNT}) (?:concurrent )?(?:users?|people|students?|requests?)"):
        yield "users", _number(people[1])
    if found(r"\bcheap(?:est)? (?:\w+ ){0,2}(?:gpu|card|laptop)|least expensive"):
        yield "cheapest", True
    if memory := found(r"\b(\d+) ?gi?b (?:card|gpu|vram|of (?:vram|memory))"):
        yield "memory_gb", (float(memory[1]), float(memory[1]))
    if outlet := found(r"\b(\d[\d.,]*) ?(k?)w(?:atts?)?\b"):
        yield "outlet_w", units.read_number(outlet[1]) * (1000 if outlet[2] else 1)
    if found(r"until tomorrow|by tomorrow|overnight"):
        yield "deadline_s", 86400.0
    elif span := found(rf"\b(?:in|within|by the end of) {_SPAN}"):
        number = str(_NUMBERS.get(span[1], span[1])).replace("three", "3")
        yield "deadline_s", units.parse_seconds(f"{number} {span[2]}")


def _cards(plain: str) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...], str]:
    """GPUs to compare with how many of each, those that are there already, and the text without them."""
    sets, have, left = list[tuple[str, int]](), list[str](), plain
    for named in catalog.mentions(plain, loose=True):
        text = plain[named.start : named.end].strip()
        # "4090" is a card, "t4" and "m4" in a sentence may be anything.
        if not named.gpu_ids or not (named.exact or re.search(r"\d{4}", text)):
            continue
        before = re.search(rf"\b({_COUNT})\s*x?\s*(?:nvidia |geforce )?$", plain[: named.start])
        count = _number(before[1]) if before else 1
        usual = (
            catalog.resolve(text.removesuffix("s")).spec.id if len(named.gpu_ids) > 1 else named.gpu_ids[0]
        )
        if re.search(r"\b(?:have|own|from|replace|my) (?:\S+ ){0,3}$", plain[: named.start]):
            have += [usual] * count
        else:
            sets.append((usual, count))
        left = left.replace(text, " ")
    return tuple(dict.fromkeys(sets)), tuple(have), left


def _workload(text: str) -> str | None:
    """The first model, network or use that a text names."""
    words = re.findall(r"[a-z][\w.+-]*|\d+(?:\.\d+)?b\b", text)
    for size in (3, 2, 1):
        for at in range(len(words) - size + 1):
            name = "-".join(words[at : at + size]).rstrip(".")
            for each in (name, name.replace("-", ""), " ".join(words[at : at + size])):
                if each in DIFFUSION or each in ALIASES or each in registry.names() or each in presets():
                    return each
            if (size > 1 or not name.isalpha()) and name not in _SIZES and is_model(name, None):
                return name
    if alone := re.search(r"\b(\d+)b\b", text):
        like = (name for name in llms.names() if re.search(rf"(?<!\d){alone[0]}\b", name))
        return _SIZES.get(alone[0]) or next(like, None)
    return next(
        (name for pattern, name in _USES if re.search(pattern, text)), "mobile" if "laptop" in text else None
    )


def _mode(plain: str) -> Purpose | None:
    rules: tuple[tuple[str, Purpose], ...] = (
        ("qlora", "qlora"), ("lora", "lora"), ("fine-?tun", "finetune"), (r"\btrain|pretrain", "train"),
        (r"serve|serving|\brun|inference|host|chat|answer|generate|local", "infer"),
    )  # fmt: skip
    return next((mode for pattern, mode in rules if re.search(pattern, plain)), None)


def _number(word: str) -> int:
    return _NUMBERS.get(word) or max(1, int(word) if word.isdigit() else 1)
