"""A question in plain words as a need: `serve a 70B for 50 users`, `two 3090s or one 4090 for llama-3.1-70b`.

Nothing is guessed silently: what was assumed is said with the answer, and so are the words that no rule read.
Where such a word sets a limit (a number, "no ...", "by ...", a word of `data/limit_words.txt`) there is no
answer. A rule is a pattern and what it sets; the first words of a model, a network or a use are the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts import catalog, llms
from gpuwise.judge.choose.fit import SUPPLY, SUPPLY_EFFICIENCY
from gpuwise.judge.choose.need import ALIASES, DATA, DIFFUSION, Purpose, is_model, need_for, presets, unknown
from gpuwise.model import units
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.judgement import Need
from gpuwise.model.precision import PRECISIONS, WEIGHTS
from gpuwise.model.units import Latency, Work
from gpuwise.workloads import registry

_NUMBERS = {"a": 1, "an": 1, "single": 1, "dual": 2, "double": 2, "triple": 3, **units.NUMBERS}
_COUNT = rf"(?:\d+|{'|'.join(_NUMBERS)})"
# What people mean by a size alone, as of 2026.
_SIZES = {
    "1b": "llama-3.2-1b", "3b": "llama-3.2-3b", "7b": "qwen2.5-7b", "8b": "llama-3.1-8b",
    "14b": "qwen2.5-14b", "32b": "qwen2.5-32b", "70b": "llama-3.1-70b", "72b": "qwen2.5-72b",
    "405b": "llama-3.1-405b",
}  # fmt: skip
# Words of a use -> workload or preset, where no model or network is named.
_USES = (
    ("stencil", "stencil"), (r"vision transformer", "vit"),
    (r"double precision|fp64|\bcfd\b|molecular|scientific|simulations?", "scientific-fp64"),
    (r"diffusion|image generation|(?:generate|make) images", "stable-diffusion"),
    (r"image classif\w*|\bcnns?\b|imagenet|convolution\w*|\byolo\w*|object detection", "resnet50"),
    (r"\bllms?\b|chat ?bot|language models?", "llama-3.1-8b"), (r"laptop", "mobile"),
    (r"(?:deep|machine) learning", "resnet50"),
)  # fmt: skip
_MODES: tuple[tuple[str, Purpose], ...] = (
    ("qlora", "qlora"), ("lora", "lora"), (r"fine-? ?tun\w*", "finetune"), (r"\b(?:pre-?)?train\w*", "train"),
    (r"\bserv(?:e|es|ing)\b|\brun\w*|inference|host(?:ing)?\b|chat|answer\w*|generat\w*|local\w*", "infer"),
)  # fmt: skip
_MONEY = r"(?:[$€£]\s?\d[\d.,]*\s?k?|\d[\d.,]*\s?k?\s?(?:[$€£]|usd|euros?|eur\b|dollars?|bucks))"
# After these a bare number of three digits or more is money.
_AT_MOST = r"(?:under|below|less than|at most|max(?:imum)?|up to|budget(?: of| is)?|only have)"
_SPAN = (
    rf"(\d[\d.]*|{'|'.join(_NUMBERS)})\s*(hours?|h|days?|d|weeks?|months?|years?)\b"
    r"(?!\s*(?:/|(?:an?|per|each|every|of)\b))"  # "8 hours a day" is no deadline
)
# What makes a span of time a deadline, before it or after it.
_BEFORE = (
    r"(?:in|within|by(?: the end of)?|under|below|(?:less|no more|not more) than|at most|up to|max)"
    r"(?: the)?(?: next)?"
)
_AFTER = r"(?:at (?:the )?most|max(?:imum)?|or less|deadline|left)"
_PERIOD = r"\s*(?:an?|per|/|each|every)\s*"
_AMOUNT = (
    r"\d[\d.,]*\s*(?:k|m|b|g|t|thousand|million|billion|trillion)?\s+(?:images?|tokens?|sequences?|sentences?)"
    rf"(?:{_PERIOD}(?:second|minute|hour|day|week|month))?"
)
_FORMATS = {
    "4": {"infer": "int4", "": "nf4"}, "8": {"": "int8"}, "16": {"": "bf16"}, "half": {"": "fp16"},
    "single": {"": "fp32"}, "double": {"": "fp64"},
}  # fmt: skip
_MANY = {"": 1, "hundred": 100, "thousand": 1000, "million": 10**6, "dozen": 12}
_IN_WORDS = re.compile(
    rf"\b(?=(?:{'|'.join(n for n in units.NUMBERS if n != 'one')}|\w+ (?:{'|'.join(filter(None, _MANY))}))\b)"
    rf"({'|'.join(units.NUMBERS)}|an?)\b(?: ({'|'.join(filter(None, _MANY))})\b)?"
)
# Words of a limit: what is denied, what must be, a day that is named, and what cards and hosts may be.
_LIMITS = (
    r"\d[\w.,]*(?:[ -]?[a-z%\u00b0\"']+)?",
    r"\b(?:half|hundreds?|thousands?|millions?|dozens?)\b",
    r"\b(?:no|without|except|avoid\w*|excluding|unless|never|non-?)"
    r"(?! (?:idea|matter|problem|clue|doubt|rush|more|one|need)\b)(?: [\w.+-]+){1,2}",
    r"\b(?:by|before|until|must|requires?|supports?|only)(?: (?:be|have|the|an?|in|fit|run|next))* {}",
    r"\b[\w.-]+[ -](?:cooled|certified|complian[ct]\w*|compatible|capable|powered|proof|friendly|mounted)\b",
    rf"(?:{{}} )?\b(?:{'|'.join((DATA / 'limit_words.txt').read_text(encoding='utf-8').split())})\b"
    r"(?: {})?",
)
# Several machines that would share the work; a word between may be what they hold ("8x").
_MACHINES = (
    rf"\b(?!(?:1|an?|one|single)\b)(?:\d{{1,2}}|{'|'.join(_NUMBERS)}) "
    r"(?:(?!users?|people|persons?|students?|in|on|of|for|or|gpus?|cards?)[\w-]+ ){0,2}"
    r"(?:machines|servers|nodes|boxes|hosts|computers|workstations|rigs)\b"
)
# Words of what only some cards have -> whether a card has it.
_TRAITS: tuple[tuple[str, Callable[[GpuSpec], bool]], ...] = (
    ("amd|radeon|instinct", lambda spec: spec.vendor == "AMD"),
    ("intel", lambda spec: spec.vendor == "Intel"),
    ("nvidia|geforce", lambda spec: spec.vendor == "NVIDIA"),
    ("apple|macs?|macbook", lambda spec: spec.vendor == "Apple"),
    ("ecc(?: memory| vram)?", lambda spec: "ecc" in spec.facts and spec.facts["ecc"].value is True),
    ("nvlink", lambda spec: spec.text("link") == "NVLink"),
)
# Before a word: it is not to be. "no cloud", "not want to rent", "instead of buying".
_NOT = (
    r"\b(?:no|not|non|never|without|avoid(?:ing)?|except|excluding|don't|(?:instead|rather) (?:of|than)|"
    r"(?:other|anything) (?:than|but))\b[ -](?:(?:the|an?|any|to|want to|from|in|use|using|my|new) )*"
)
_SPOT = r"\bspot\b|interruptible|preemptible"
_USED = r"(?<!be )\bused\b(?! (?:to|for|by|in|with)\b)|second.hand|refurbished"
_LAPTOP = "laptops?|notebooks?"
_MACHINE = "gpus?|cards?|pcs?|workstations?|computers?|rigs?"
_IMAGE_NETWORKS = ("resnet50", "vit-b16", "inception-v3")
# Words that set nothing: grammar, people, and what every such question is about.
_PLAIN = frozenset((DATA / "plain_words.txt").read_text(encoding="utf-8").split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a question says: the work, how it runs, and the limits of a `Need` by field."""

    workload: str
    mode: Purpose | None = None
    precision: str | None = None
    work: Work | None = None
    gpus: tuple[int, int] | None = None
    form: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    assumed: Mapping[str, Any] = field(default_factory=dict)  # Fields of `Assumptions`
    notes: tuple[str, ...] = ()  # What was assumed, and what was not read


def is_question(text: str) -> bool:
    """Whether it is a sentence rather than the name of a workload, or a list of them with shares."""
    names = {*registry.names(), *ALIASES, *DIFFUSION, *presets()}
    return (
        " " in text.strip() and "%" not in text and "=" not in text and text.strip().casefold() not in names
    )


class _Reader:
    """A text, and which of its words some rule has read."""

    def __init__(self, text: str) -> None:
        self.plain = text
        self._read = bytearray(len(text))

    def mark(self, start: int, end: int) -> None:
        while end < len(self.plain) and self.plain[end].isalnum():
            end += 1
        self._read[start:end] = b"\1" * (end - start)

    def take(self, pattern: str, *, again: bool = True) -> re.Match[str] | None:
        """The first match of a pattern, unless `again` among words that no rule has read; the words that it
        touches are read."""
        match = re.search(pattern, self.plain if again else self.left())
        if match is not None:
            self.mark(*match.span())
        return match

    def deny(self, pattern: str) -> bool:
        """Whether the text says that it is not to be; the words are then gone for every other rule."""
        match = self.take(rf"{_NOT}(?:{pattern})\b")
        if match is not None:
            start, end = match.span()
            self.plain = self.plain[:start] + " " * (end - start) + self.plain[end:]
        return match is not None

    def left(self) -> str:
        """The text without what was read."""
        return "".join(" " if read else c for c, read in zip(self.plain, self._read, strict=True))

    def unread(self) -> list[str]:
        words = re.findall(r"[a-z0-9][\w.+-]*", self.left())
        return [word for word in words if word.strip(".") not in _PLAIN]

    def dropped(self) -> str:
        """Words that set a limit which no rule has read; empty where there are none."""
        left, unread = self.left(), "|".join(map(re.escape, self.unread()))
        for pattern in _LIMITS:
            for match in re.finditer(pattern.replace("{}", rf"(?:{unread or '(?!)'})\b"), left):
                if not re.fullmatch(r"(?:19|20)\d\d|an? .*", match[0]):
                    return match[0].strip()
        return ""


def read(text: str, rates: Mapping[str, float]) -> Asked:
    """What a question says. Raises InputError where it names no work, or a price that a shell ate."""
    plain = " ".join(text.casefold().replace("\u2019", "'").split()).rstrip("?.! ")
    reader = _Reader(_IN_WORDS.sub(lambda m: str(_NUMBERS[m[1]] * _MANY[m[2] or ""]), plain))
    notes = list[str]()
    sets, have = _cards(reader)
    amount = reader.take(_AMOUNT)
    work = units.parse_work(re.sub(r" (?:an?|each|every) ", " per ", amount[0])) if amount else None
    if several := reader.take(_MACHINES):
        problem = f"'{several[0]}': nothing is known of a network between several machines"
        raise InputError(problem, hint="ask for one of them with its GPUs")
    assumed = dict[str, Any]()
    if reader.take(r"i have (?:a|my) (?:pc|computer|desktop)|existing pc|for my pc"):
        assumed["host_usd"] = 0.0
    if energy := reader.take(rf"({_MONEY}|[\d.]+ ?(?:ct|cents?))\s*(?:per|/|a|each)\s*kwh"):
        text = re.sub(r"(\d[\d.]*) ?(?:ct|cents?)", lambda m: f"${float(m[1]) / 100:g}", energy[1])
        assumed["electricity_usd_per_kwh"] = units.parse_usd(text.replace("euros", "eur"), rates)[0]
    if reader.take(r"around the clock|24/7|day and night"):
        assumed["hours_per_week"] = 168.0
    elif used := reader.take(r"\b(\d+) ?h(?:ours?)? ?(?:an?|per|each|every|/) ?(day|week)\b"):
        assumed["hours_per_week"] = float(used[1]) * (7 if used[2] == "day" else 1)
    if kept := reader.take(
        rf"\b(?:over|keep (?:it |them )?(?:for )?|used? (?:it |them )?for) ({_COUNT}) years?\b"
    ):
        assumed["years"] = float(_number(kept[1]))
    denied = {
        name: reader.deny(words)
        for name, words in (
            ("rent", r"cloud|rent\w*"), ("buy", r"buy\w*|own\w*|purchas\w*"), ("spot", _SPOT),
            ("used", _USED), ("laptop", _LAPTOP),
            ("nvlink", "nvlink"), ("loud", r"(?:too )?(?:loud|nois\w+)"),
        )
    }  # fmt: skip
    traits = [(has, False) for words, has in _TRAITS if reader.deny(words)]
    fields = _limits(
        reader,
        rates,
        notes,
        denied,
        have=bool(have),
        work=work is not None or "epoch" in reader.plain,
        named=bool(sets),
    )
    number = reader.take(rf"\b({_COUNT}) (?:\d+ ?gb |rented |own )?(?:gpus?|cards?)\b")
    gpus = (_number(number[1]),) * 2 if number else None
    if have:
        fields |= {"have": have}
        # Whether it is worth it is a question about what is there; what to buy instead is not.
        fields["upgrade"] = bool(reader.take(r"upgrad\w*|replace\w*")) and not reader.take(r"\bworth\b")
    traits += [(has, True) for words, has in _TRAITS if reader.take(rf"\b(?:{words})\b")]

    def meant(gpu: str) -> bool:
        return all(has(catalog.get(gpu)) == wanted for has, wanted in traits)

    if bad := next((gpu for gpu, _ in sets if not meant(gpu)), None):
        raise InputError(f"the question names {bad}, and others that it is not one of", hint="name each GPU")
    if sets:
        fields["sets"], counts = sets, [count for _, count in sets]
        gpus = (min(counts), max(counts))
    elif traits:
        fields["only"] = tuple(spec.id for spec in catalog.all_gpus() if meant(spec.id))
    laptop = reader.take(_LAPTOP)
    mode, precision = next((mode for pattern, mode in _MODES if reader.take(pattern)), None), None
    named = _workload(reader, notes) or ("mobile" if laptop else None)
    if named is None and not reader.unread() and (have or sets or reader.take(_MACHINE)):
        named, mode = "resnet50", "train"
        notes.append("no work was named: taken as training ResNet-50")
        if fields.get("cheapest") and not have:
            # A question about prices: of cards alone, whatever is known of their speeds.
            fields |= {"acquire": fields.get("acquire", "own"), "unproven": True}
            assumed["host_usd"] = 0.0
            notes[-1] = "no work was named: by price; speeds are those of training ResNet-50"
    if named is None:
        raise unknown(text)
    if mode is None and (named in DIFFUSION or "diffusion" in named or ALIASES.get(named) == "unet-sd15"):
        mode = "infer"  # People make images far more often than models of them
    if epochs := reader.take(r"([\d.]+) epochs?\b"):
        # Of the amount that is stated, of a data set that is named anywhere, or of the usual one.
        data, known = reader.take(rf"(?:{units.DATASET_NAMES})\b"), ALIASES.get(named, named)
        if data is None and work is None and known in _IMAGE_NETWORKS:
            notes.append("epochs of ImageNet")
        elif data is None and work is None:
            raise InputError(f"{epochs[0]} of what?", hint="say of how many items, or of ImageNet")
        work = work or units.parse_work(data[0] if data else "ImageNet")
        work = work._replace(items=work.items * float(epochs[1]))
    infers = mode in ("infer", None) and is_model(named, mode)
    if bits := reader.take(
        rf"\b(?:{'|'.join(PRECISIONS)}|{'|'.join(WEIGHTS)}|(4|8|16)[- ]?bits?)\b"
    ) or reader.take(r"\b(half|single|double)[- ]precision\b"):
        formats = _FORMATS.get(bits[1] or "", {}) if bits.re.groups else {}
        precision = formats.get("infer" if infers else "", formats.get("", bits[0]))
    if laptop and mode in ("infer", None) and not is_model(named, mode) and named not in presets():
        named = "mobile"
    if named in presets():
        mode = None
    if "budget_usd" in fields and "host_usd" not in assumed and fields.get("acquire") == "own":
        computer = r"\b(?:pc|machine|computer|workstation|build|system|rig|server|laptop)\b"
        whole = re.search(computer, reader.plain)
        if not whole and re.search(r"\b(?:gpus?|cards?)\b", reader.plain):
            assumed["host_usd"] = 0.0
            notes.append("the budget is for the card, in a machine that is there")
    if limit := reader.dropped():
        # The answer would be one to another question.
        hint = "leave it out, or say it with an option, such as --memory, --power, --deadline or --budget"
        raise InputError(f"{limit!r} in the question was not understood", hint=hint)
    if unread := reader.unread():
        notes.append("not read: " + ", ".join(dict.fromkeys(unread)))
    return Asked(
        workload=named, mode=mode, work=work, gpus=gpus, fields=fields, assumed=assumed,
        precision=precision, notes=tuple(notes),
        form="laptop" if laptop else "pcie" if denied["nvlink"] else None,
    )  # fmt: skip


def need_of(asked: Asked, given: Mapping[str, Any] | None = None) -> Need:
    """The need of a question; `given` are arguments of `need_for` that were stated apart."""
    stated = {
        "mode": asked.mode, "work": asked.work, "gpus": asked.gpus, "form": asked.form,
        "precision": asked.precision, "latency": asked.fields.get("latency"),
        **{name: value for name, value in (given or {}).items() if value is not None},
    }  # fmt: skip
    need = need_for(asked.workload, **stated)
    fields = {name: value for name, value in asked.fields.items() if name != "latency"}
    if need.task != "infer":
        fields.pop("concurrent", None)
    if stated["gpus"] != asked.gpus and len({count for _, count in fields.get("sets", ())}) == 1:
        # The number was said apart from the names.
        fields["sets"] = tuple((gpu, stated["gpus"][1]) for gpu, _ in fields["sets"])
    assumptions = replace(need.assumptions, **asked.assumed)
    return replace(need, **fields, assumptions=assumptions, notes=(*need.notes, *asked.notes))


def _limits(
    reader: _Reader, rates: Mapping[str, float], notes: list[str], denied: Mapping[str, bool], *,
    have: bool, work: bool, named: bool,
) -> dict[str, Any]:  # fmt: skip
    """Limits that words set, as fields of a `Need`; `denied` says what is not to be."""
    fields: dict[str, Any] = {}
    take = reader.take
    least = r"(?:at least |min(?:imum)? |>=? ?)"
    # "A100 80 GB" is a name, read with the GPUs: its size is no limit.
    if memory := take(rf"{least}(\d+) ?gi?b\b|\b(\d+) ?gi?b (?:or more|and up)", again=False):
        fields["memory_gb"] = (float(memory[1] or memory[2]), None)
    elif memory := take(r"\b(\d+) ?gi?b(?=$|[,;.])", again=False) or take(
        r"\b(\d+) ?gi?b (?:card|gpu|vram|of (?:vram|memory)|each)|"
        r"\bwith (\d+) ?gi?b\b(?! (?:of )?(?:ram|disk|storage))",
        again=False,
    ):
        fields["memory_gb"] = (float(next(filter(None, memory.groups()))),) * 2
    offline = take(r"\b(?:not|no|without|avoid)(?: \S+)? (?:the |a )?cloud|on.prem\w*|offline|air.gapped")
    no_cloud = denied["rent"] or bool(offline)
    spot, used = take(_SPOT), take(_USED)
    rents = spot or take(r"\brent\w*|(?<!the )\bcloud|per hour|an hour|/h\b|a month|per month|/month")
    owns = used or take(r"\bown\b|\bbuy\w*|purchase|at home|office|desktop|workstation|outlet|laptop|upgrad")
    owns = owns or take(r"\bmy (?:pc|card)|have a pc|worth it|replace")
    if no_cloud or rents or owns or have or denied["buy"]:
        fields["acquire"] = "rent" if (rents or denied["buy"]) and not no_cloud else "own"
        if rents and not no_cloud and (have or take(r"\bbuy\w*|purchas\w*")):
            fields["acquire"] = "both"  # Which of the two is the question
    if batch := take(r"\bbatch(?:es)?(?: size)?(?: of)? (\d+)"):
        fields["batch"] = int(batch[1])
    if late := take(r"\b(ttft|first token)\D{0,20}?(\d[\d.]*) ?(ms|s)\w*\b"):
        fields["latency"] = Latency("TTFT", units.parse_seconds(late[2] + late[3]))
    elif late := take(
        r"(\d[\d.]*) ?(?:ms|milliseconds?)\b(?: ?(?:per|an?|each|every|/) ?tokens?| latency| tpot)*"
    ):
        fields["latency"] = Latency("TPOT", float(late[1]) / 1e3)
    if spot:
        fields["spot"] = True
    if used or denied["used"]:
        fields["sold"] = ("used" if used else "new", "street")
    if take(r"\bquiet\w*|silent|low[- ]noise") or denied["loud"]:
        fields |= {"quiet": True, "acquire": fields.get("acquire", "own")}
    if take(r"\bcheap(?:est)? (?:\w+ ){0,2}(?:gpu|card|laptop)|least expensive") or (
        named and take("cheapest")
    ):
        fields["cheapest"] = True
    size = r"(\d[\d.,]*) ?(k?)\b"
    if context := take(rf"\b{size}(?: tokens?)?(?: of)? context") or take(rf"contexts?(?: of)? {size}"):
        fields["context"] = int(_amount(context[1]) * (1024 if context[2] else 1))
    if people := take(rf"\b({_COUNT}) (?:\w+ )?(?:users?|people|students?|requests?|persons?)\b"):
        fields["users"] = _number(people[1])
        if take(r"\beach (?:\w+ )?(?:needs?|has|gets?|wants?|with|on)\b|of their own|per person"):
            fields["concurrent"] = 1
    if slots := take(rf"\b(\d[\d.]*|{'|'.join(_NUMBERS)})[ -]slots?\b(?: (?:wide|high|thick))?"):
        fields["slots"] = float(_NUMBERS.get(slots[1], slots[1]))
        fields.setdefault("acquire", "own")
    if watts := take(r"\b(\d[\d.,]*) ?(k?)w(?:atts?)?\b(?: (?:psu|power supply|supply|outlet|socket))?"):
        # What a card may draw is a limit on cards; what a supply or an outlet gives, on the whole machine.
        whole = re.search(r"psu|supply|outlet|socket|wall|machine|computer|workstation|\bpc\b", reader.plain)
        value = _amount(watts[1]) * (1000 if watts[2] else 1)
        if re.search("psu|supply", reader.plain):
            # A supply is not run at its rating, the way it is advised; an outlet is.
            value /= SUPPLY * SUPPLY_EFFICIENCY
        fields["outlet_w" if whole else "power_w"] = value
        fields.setdefault("acquire", "own")
    if take(r"until tomorrow|by tomorrow|overnight"):
        fields["deadline_s"] = 86400.0
    elif take(r"\bweekend\b"):
        fields["deadline_s"] = 2 * 86400.0
    elif span := take(rf"\b{_BEFORE} {_SPAN}") or take(rf"\b{_SPAN},? {_AFTER}\b"):
        number = str(_NUMBERS.get(span[1], span[1]))
        fields["deadline_s"] = units.parse_seconds(f"{number} {span[2]}")
    alone = r"(?=\s*(?:$|[,.;:]|(?:for|to|in|on|with|and|an?|per|or|at|total|each)\b))"
    money = re.search(_MONEY, reader.left()) or take(rf"{_AT_MOST} (\d[\d.,]*\s?k?)\b{alone}")
    if money is None:
        return fields
    reader.mark(*money.span())
    # What follows the amount says what it is for.
    text = re.sub(r"\s?(?:dollars?|bucks|usd)", "", money[1] if money.re.groups else money[0])
    text = re.sub(r"\s?euros?$", "eur", text)
    if re.fullmatch(r"0\d*", text):
        raise InputError(
            f"a budget of {text}", hint="a shell takes $800 for a variable: write '... $800' in single quotes"
        )
    if re.fullmatch(r"[\d.,]+\s?k?", text):
        text = f"${text}"
        notes.append(f"{money[0]} is read as {text}")
    after = reader.plain[money.end() : money.end() + 14]
    per = re.match(rf"{_PERIOD}(month|h)", after)
    fields["budget_usd"] = units.parse_usd(text.replace(" ", ""), rates)[0]
    if per:
        reader.mark(money.start(), money.end() + per.end())
        fields["budget_per_month" if per[1] == "month" else "budget_per_hour"] = True
    elif "deadline_s" in fields and not owns and not have and not work:
        # So much money over so much time is a price of an hour.
        hours = fields.pop("deadline_s") / 3600
        notes.append(f"{text} over {hours:g} h: at most ${fields['budget_usd'] / hours:.2f} an hour")
        fields |= {"budget_usd": fields["budget_usd"] / hours, "budget_per_hour": True, "acquire": "rent"}
    elif not rents and not (work and "deadline_s" in fields):
        fields["acquire"] = "own"
        fields["fastest"] = bool(take(r"\b(?:best|fastest|strongest|most powerful)\b")) and not work
    return fields


def _cards(reader: _Reader) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """GPUs to compare with how many of each, and those that are there already."""
    sets, have = list[tuple[str, int]](), list[str]()
    for named in catalog.mentions(reader.plain, loose=True):
        text = reader.plain[named.start : named.end].strip()
        # "4090" is a card, "t4" and "m4" in a sentence may be anything.
        if not named.gpu_ids or not (named.exact or re.search(r"\d{4}", text)):
            continue
        before = reader.plain[: named.start]
        number = re.search(rf"\b({_COUNT})\s*x?\s*(?:nvidia |geforce )?$", before)
        count = _number(number[1]) if number else 1
        usual = (
            catalog.resolve(text.removesuffix("s")).spec.id if len(named.gpu_ids) > 1 else named.gpu_ids[0]
        )
        owner = re.search(r"\b(?:have|own|from|replace|my|i (?:run|use)) (?:\S+ ){0,3}$", before)
        if owner:
            have += [usual] * count
        else:
            sets.append((usual, count))
        reader.mark((owner or number).start() if owner or number else named.start, named.end)  # type: ignore[union-attr]
    return tuple(dict.fromkeys(sets)), tuple(have)


def _workload(reader: _Reader, notes: list[str]) -> str | None:
    """The first model, network or use that is named."""
    left, names = reader.left(), {*DIFFUSION, *ALIASES, *registry.names(), *presets()}
    # With its version, else without one that is not known.
    for size, version in ((3, "b?"), (2, "b?"), (3, "b"), (2, "b"), (1, "b")):
        words = list(re.finditer(rf"[a-z][\w.+-]*|\d+(?:\.\d+)?{version}\b", left))
        for at in range(len(words) - size + 1):
            start, end = words[at].start(), words[at + size - 1].end()
            parts = [word[0] for word in words[at : at + size]]
            name = "-".join(parts).rstrip(".")
            spelt = (name, name.replace("-", ""), " ".join(parts))
            known = next((each for each in spelt if each in names), None)
            if known is None and (size > 1 or not name.isalpha()) and name not in _SIZES:
                together = "-".join(("".join(parts[:2]), *parts[2:]))  # qwen 2.5 32b
                known = next((each for each in (name, together) if is_model(each, None)), None)
            if known is not None:
                reader.mark(start, end)
                return known
    if alone := reader.take(r"\b(\d+)b\b"):
        like = (name for name in llms.names() if re.search(rf"(?<!\d){alone[0]}\b", name))
        model = _SIZES.get(alone[0]) or next(like, None)
        notes += [f"{alone[0]} is taken as {model}"] if model else []
        return model
    if family := next(
        (word for word in reader.unread() if word in {n.split("-")[0] for n in llms.names()}), ""
    ):
        of_it = [n for n in llms.names() if n.startswith(family)]
        model = next((n for n in of_it if n.endswith(("-8b", "-7b"))), of_it[0])
        reader.take(rf"\b{family}\b")
        notes.append(f"{family} is taken as {model}")
        return model
    for pattern, name in _USES:
        if found := reader.take(pattern):
            if name == "resnet50" and "image" not in found[0]:
                notes.append(f"{found[0]} is taken as ResNet-50")
            return name
    return None


def _number(word: str) -> int:
    return _NUMBERS.get(word) or max(1, int(word) if word.isdigit() else 1)


def _amount(text: str) -> float:
    try:
        return units.read_number(text.rstrip(".,"))
    except ValueError as error:
        raise InputError(str(error), hint="write it without a comma or dot for thousands") from error
