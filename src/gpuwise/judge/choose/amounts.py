"""How much work a question states: so many things, of so many tokens each, so often, over so many epochs.

    20k examples of 500 tokens, 3 epochs              20,000 x 500 x 3 tokens to learn from
    200 requests a minute, 1500 tokens in, 300 out    answers of 300 tokens, each behind a prompt of 1500

A number beside a word of `data/things.csv` is one `Quantity`; `amount` puts all of them together. What has
nothing to do with each other is refused: a product of it would be a cost of something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, prod
from typing import Any, NamedTuple

from gpuwise.errors import InputError
from gpuwise.facts import llms
from gpuwise.judge.choose.need import USUAL
from gpuwise.judge.choose.rules import ROLES, THINGS, P, finditer, fullmatch, match, search, sub
from gpuwise.model import units
from gpuwise.model.units import Work

DAY_S = 86400.0
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "n": 86400, "w": 604800, "month": 2629800, "y": 31557600}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of things as it stands in a text."""

    number: float
    kind: str  # `token`, `image`, `sequence`, `text`, `epoch`, `step` or `other`
    tokens: float  # Of one of them; 0 where that is not known
    role: str  # Of its tokens: `in`, `out`; empty where that is open
    period: str  # That they come in again and again; empty for once
    joined: str  # `each`: of each person or thing before it; `of`: of the thing before it; empty: of none
    spans: tuple[tuple[int, int], ...]  # Where it stands; words between may say what it is for
    words: str


class Amount(NamedTuple):
    """All of them together."""

    work: Work | None = None  # None where nothing tells how much that is
    reads: float = 0.0  # Tokens of prompts for each token of an answer
    context: int | None = None  # Tokens of a prompt and its answer
    notes: tuple[str, ...] = ()


def seconds(period: str) -> float:
    """Of a second, minute, hour, day, night, week, month or year, by its name or how that begins."""
    return float(_SECONDS.get(period) or _SECONDS[period[0]])


def quantities(text: str) -> tuple[Quantity, ...]:
    """Every quantity of a text in lower case, from left to right."""
    found = list[Quantity]()
    for number in finditer(P.number, text):
        taken = found[-1].spans[min(2, len(found[-1].spans) - 1)][1] if found else 0
        if number.start() >= taken and (one := _quantity(text, number)):
            found.append(one)
    # "600 tokens in and 150 out": nothing but tokens goes in and out.
    tokens = any(each.kind == "token" for each in found) or {each.role for each in found} >= {"in", "out"}
    return tuple(
        each
        for each in found
        if tokens or each.kind != "part" or (each.words and each.number >= USUAL.least_prompt)
    )


def _quantity(text: str, number: re.Match[str]) -> Quantity | None:
    before, tail = text[: number.start()], text[number.end() :]
    thing = match(P.thing, tail)
    if not thing or (number[1] != "1" and match(P.one_part, tail)):
        # "500 out", "answers of 200", "a 2k prompt"; "within 3" says neither input nor output.
        part = match(f"-?{P.role_behind}", tail)
        ahead = None if part or match(P.other_unit, tail) else search(P.role_before, before)
        said = part or (None if ahead and ahead[1] in ("in", "out") else ahead)
        if not said or number[1].endswith("b"):
            return None
        span = (number.start(), number.end() + (part.end() if part else 0))
        noun = "" if said[1] in ("in", "out") else said[1]
        often = match(P.in_period, text[span[1] :])
        every = often["period"] if often else ""
        return Quantity(_number(number[1]), "part", 1.0, _role(said[1]), every, "", (span,), noun)
    row = THINGS[next(n for n in range(len(THINGS)) if thing[f"t{n}"])]
    end = number.end() + thing.end()
    # "llama 8b tokens" has the size of a model; "1 token every 50 ms" is a speed.
    model = fullmatch(r"[\d.]+b", number[1]) and (
        thing["adjective"] or row["kind"] != "token" or search(rf"(?:\d|\b(?:{families()})) $", before)
    )
    if model or match(r" (?:per|every) \d|(?: of)? contexts?\b", text[end:]):
        return None
    behind = match(P.role_behind, text[end:]) if row["kind"] == "token" else None
    at = end - len(thing[0]) + thing.end("adjective")
    end += behind.end() if behind else 0
    role = _role(thing["adjective"]) or (_role(behind[1]) if behind else "")
    if not role and row["kind"] == "token" and (ahead := search(P.role_before, before)):
        role = _role(ahead[1])
    role = role or row["role"]
    spans = [number.span(1), (number.end() + thing.start("adjective"), at), (at, end)]
    joined = next((word for word in ("each", "of") if search(getattr(P, f"{word}_before"), before)), "")
    if each := match(P.each_behind, text[end:]):
        joined = "each"
        spans.append((end, end := end + each.end()))
    if period := match(P.in_period, text[end:]):
        spans.append((end + period.start("period"), end + period.end()))
    return Quantity(
        _number(number[1]), row["kind"], float(row["tokens"]), role, period["period"] if period else "",
        joined, tuple(spans), f"{number[1]}{thing[0]}",
    )  # fmt: skip


@cache
def families() -> str:
    """Names of families of language models, as a pattern."""
    return "|".join(dict.fromkeys(name.split("-")[0] for name in llms.names()))


def _role(words: str) -> str:
    return next((role for role, said in ROLES.items() if search(rf"\b(?:{said})\b", words)), "")


def _number(text: str) -> float:
    """Things are whole: what groups their digits are thousands."""
    if text[-1].isdigit():
        text = sub(P.thousands, "", text)
    return units.parse_work(f"{text} things").items


def amount(
    found: Sequence[Quantity], *, item: str, learns: bool, people: int = 1, length: int = 0,
    batch: int | None = None, usual: int = USUAL.answer,
) -> Amount:  # fmt: skip
    """What quantities say together of work that is counted in `item`.

    `length` are the tokens of a sequence, or of an example where none are stated; `usual` those of an answer,
    0 for as many as its prompt has. Raises InputError for two amounts that have nothing to do with each
    other, and for steps of an unknown batch.
    """
    sizes = [each for each in found if each.kind in ("token", "part")]
    counts = [each for each in found if each.kind in ("text", "image", "sequence")]
    epochs, notes = prod(each.number for each in found if each.kind == "epoch"), list[str]()
    if not counts and (pages := next((each for each in sizes if each.role and each.tokens > 2), None)):
        counts, sizes = [pages], [each for each in sizes if each is not pages]
    steps = next((each for each in found if each.kind == "step"), None)
    if steps and learns and not counts and not sizes:
        if batch is None:
            raise InputError(f"{steps.words} of how many items?", hint="say the batch: 'batch size 256'")
        counts, epochs = [steps], epochs * batch
        notes.append(f"{steps.words}, of {batch} {item}{'s' * (batch > 1)} each")
    for each in counts[1:]:
        if not each.joined:
            hint = "ask for each, or say how many of the one belong to each of the other"
            raise InputError(f"{counts[0].words} and {each.words} are two amounts", hint=hint)
    period = next((each.period for each in (*counts, *sizes) if each.period), "")
    every = max(seconds(period), DAY_S) if period else None
    number = prod(each.number for each in counts) * epochs * (every / seconds(period) if every else 1.0)
    if counts and counts[0].joined == "each" and people > 1:
        number *= people
        notes.append(f"{counts[0].words} of each of {people} people")
    read, written, either = (
        sum(each.number * each.tokens for each in sizes if each.role == role) for role in ("in", "out", "")
    )
    whole = read + written + either

    def done(items: float, what: str = item, **more: Any) -> Amount:
        return Amount(Work(items, every, what), notes=tuple(notes), **more)

    if item != "token":
        if not counts:
            if item == "sequence" and length:
                return done(number * whole / length)
            return done(number * whole, "token") if sizes else Amount()
        whole = whole or counts[-1].tokens
        if item == "sequence" and length and whole:
            notes.append(f"{whole:,.0f} tokens count as {whole / length:.3g} sequences of {length}")
            number *= whole / length
        other = next((each.kind for each in counts if each.kind not in ("text", "token", "step", item)), item)
        return done(number, other)
    if learns:
        if counts and not whole and not length:
            whole = USUAL.example
            notes.append(f"an example is taken as {whole} tokens")
        if counts:
            full = "" if whole else " at most"
            times = f", {epochs:g} times" if epochs != 1 else ""
            notes.append(f"{number / epochs:,.0f} x {whole or length:,.0f} tokens{full}{times}")
        return done(number * (whole or length))
    if not counts:
        reads = read / (written + either or inf) if usual else 1.0
        return done(number * (written + either or read), reads=reads)
    # Of things that are read, their tokens are those of the prompt.
    if either and read and not written:
        written, either = either, 0.0
    elif either and (counts[-1].role == "in" or written):
        read, either = read + either, 0.0
    prompt, answer = read or counts[0].tokens, written + either
    if not prompt and counts[0].role == "in":
        prompt = float(USUAL.example)
        notes.append(f"{counts[0].words.strip()} are taken as {USUAL.example} tokens each")
    if not answer:
        answer = float(usual or prompt or USUAL.answer)
        notes.append(f"a request is taken as {answer:,.0f} tokens of answer")
    if prompt:
        notes.append(f"each answer of {answer:,.0f} tokens follows a prompt of {prompt:,.0f}, counted, too")
    return done(number * answer, reads=prompt / answer, context=int(prompt + answer) if prompt else None)
