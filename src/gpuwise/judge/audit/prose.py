"""Find claims in sentences: "the A5000's 24 GB GDDR6 exceeds the A4000's 16 GB".

A number with a unit or a noun is a claim where the words around it tell the field. Differences ("14
GB additional memory"), requirements ("at least 48 GB") and the host's figures are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from gpuwise.facts.catalog import Mention
from gpuwise.judge.audit import context, subject, words
from gpuwise.judge.audit.cells import (
    APPROXIMATE,
    ARCHITECTURE,
    AT_MOST,
    CHIP,
    MEMORY_TYPE,
    Reading,
    aside,
    is_twice,
    is_unnamed,
    sparse,
)
from gpuwise.judge.audit.fields import of_name
from gpuwise.judge.audit.quantity import NUMBER, UNITS, number
from gpuwise.judge.audit.subject import Subject
from gpuwise.model.claim import Number


@dataclass(frozen=True, slots=True)
class _Hit:
    """A reading at a place of a sentence."""

    start: int
    end: int
    reading: Reading


def read(text: str, about: Subject | None) -> Iterator[tuple[Subject, Reading]]:
    """(subject, reading) for each claim of a paragraph; `about` is what its section is about."""
    carried: Subject | None = None
    before = ""
    sentences = words.SENTENCE.split(text)
    for sentence, following in zip_longest(sentences, sentences[1:], fillvalue=""):
        if len(sentence) > words.LONGEST:
            continue
        found = subject.known(sentence)
        if not (context.is_denied(sentence, following) or sentence.rstrip("\"'*_) ").endswith("?")):
            hits = sorted(_hits(sentence, found, before), key=lambda hit: hit.start)
            yield from _attributed(sentence, found, _told_apart(hits), carried, about)
        carried = subject.of_sentence(sentence, found) or carried
        before = sentence


def _attributed(
    sentence: str,
    found: Sequence[Mention],
    hits: Sequence[_Hit],
    carried: Subject | None,
    about: Subject | None,
) -> Iterator[tuple[Subject, Reading]]:
    for index, hit in enumerate(hits):
        earlier = next((h for h in reversed(hits[:index]) if h.reading.field == hit.reading.field), None)
        later = next((h for h in hits[index + 1 :] if h.reading.field == hit.reading.field), None)
        owner = _rival(sentence, found, earlier, hit, about) or _owner(sentence, found, hit, carried, about)
        named = [m for m in found if m.end <= hit.start]
        if len(named) != 1 and (_is_pair(sentence, earlier, hit) or _is_pair(sentence, hit, later)):
            # "more than the RTX 6000 Ada (350 W against 300 W)": the order is the writer's.
            owner = context.any_of(named, carried, about)
        if owner is not None and owner.gpu_ids:
            yield owner, hit.reading


def _is_pair(sentence: str, a: _Hit | None, b: _Hit | None) -> bool:
    """Whether two figures stand against each other: "350 W against 300 W"."""
    return a is not None and b is not None and words.VERSUS.match(sentence[a.end : b.start]) is not None


def _told_apart(hits: Sequence[_Hit]) -> list[_Hit]:
    """The hits, where a peak called sparse only by the words behind its double is the dense one:
    "312 TFLOPS in FP16, 624 TFLOPS with sparsity"."""
    return [
        replace(hit, reading=replace(hit.reading, sparse=None))
        if hit.reading.sparse and any(_is_half(hit.reading, other.reading) for other in hits)
        else hit
        for hit in hits
    ]


def _is_half(a: Reading, b: Reading) -> bool:
    """Whether `b` states twice the peak of `a`, in the same format."""
    x, y = a.values[0], b.values[0]
    return a.field == b.field and isinstance(x, Number) and isinstance(y, Number) and is_twice(y, x)


def _owner(
    sentence: str, found: Sequence[Mention], hit: _Hit, carried: Subject | None, about: Subject | None
) -> Subject | None:
    """Whose figure it is: the GPU attached to it, before it, of the sentence before, of the section."""
    following = subject.after(sentence, hit.end, found)
    named = following or subject.before(sentence, hit.start, found)
    if named is not None and context.counted(sentence, named, sentence[hit.end :]):
        return None
    if following is None and (named is None or not subject.attached(sentence, named, hit.start)):
        between = sentence[named.end if named is not None else 0 : hit.start]
        group = context.together(sentence, named, found) if named is not None else []
        if len(group) > 1 or context.is_change(sentence[: hit.start]) or context.is_other(between):
            return context.any_of(found, carried, about)
    if named is not None:
        return subject.of_mentions([named])
    return carried or about or subject.ahead(sentence, hit.end, found)


def _rival(
    sentence: str, found: Sequence[Mention], earlier: _Hit | None, hit: _Hit, about: Subject | None
) -> Subject | None:
    """The other GPU of "the A5000 has more (8,192 vs. 6,144)": named elsewhere, or by the section."""
    if earlier is None or not _is_pair(sentence, earlier, hit):
        return None
    mine = subject.before(sentence, earlier.start, found)
    if mine is None or about is None:
        return None
    others = tuple(gpu_id for gpu_id in about.gpu_ids if gpu_id not in mine.gpu_ids)
    return (
        Subject(text="the other", gpu_ids=others, several=about.several and len(others) > 1)
        if others
        else None
    )


def _hits(sentence: str, found: Sequence[Mention], before: str) -> Iterator[_Hit]:
    """Claims of one sentence, each place once, without those inside the name of a GPU.

    `before` is the sentence before: its words tell the field where this one has none.
    """
    taken = [(m.start, m.end) for m in found]
    for hit in (
        *_quantities(sentence, before),
        *_counts(sentence),
        *_late(sentence, found, before),
        *_texts(sentence),
    ):
        if not any(hit.start < end and start < hit.end for start, end in taken):
            taken.append((hit.start, hit.end))
            yield hit


def _quantities(sentence: str, earlier: str) -> Iterator[_Hit]:
    joined: re.Match[str] | None = None
    last: _Hit | None = None
    matches = list(words.QUANTITY.finditer(sentence))
    for match, following in zip_longest(matches, matches[1:]):
        name = _field_of(sentence, match, earlier)
        before = sentence[: match.start()]
        if name == "peak:tensor" and is_unnamed(match["u"]):
            continue
        if not name or match is joined or not context.is_figure(sentence, match.start(), match.end()):
            continue
        values = _values(name, match)
        if following is not None and re.fullmatch(r" (?:or|and) ", sentence[match.end() : following.start()]):
            # "40 GB or 80 GB" is one claim with two values.
            joined = following
            values += _values(name, following) if following["u"] == match["u"] else ()
        if values:
            reading = _reading(name, values, match[0], before, sentence)
            if name.startswith("peak:") and last is not None and _is_half(last.reading, reading):
                beside = words.BESIDE.fullmatch(sentence, last.end, match.start())
                reading = replace(reading, sparse=True) if beside else reading
            last = _Hit(match.start(), match.end(), reading)
            yield last


def _values(name: str, match: re.Match[str]) -> tuple[Number | str, ...]:
    field = of_name(name)
    assert field is not None
    factor = UNITS[field.unit][match["u"].lower()]
    read = (number(text, factor, field.low, field.high) for text in re.findall(NUMBER, match["n"]))
    return tuple(value for value in read if value is not None)


def _reading(name: str, values: tuple[Number | str, ...], stated: str, before: str, sentence: str) -> Reading:
    return Reading(
        field=name,
        values=values,
        stated=stated.strip(" ("),
        approximate=bool(APPROXIMATE.search(before)),
        at_most=bool(AT_MOST.search(before)),
        sparse=_sparse(sentence, len(before), len(before) + len(stated))
        if name.startswith("peak:")
        else None,
    )


def _sparse(sentence: str, start: int, end: int) -> bool | None:
    """What the words right around a peak say of sparsity, else those of the whole sentence."""
    others = [m.span() for m in words.QUANTITY.finditer(sentence) if m.end() <= start or m.start() >= end]
    begin = max((stop for _, stop in others if stop <= start), default=0)
    stop = min((first for first, _ in others if first >= end), default=len(sentence))
    near = aside(sentence[begin:start], sentence[end:stop])
    return near if near is not None else sparse(sentence)


def _field_of(sentence: str, match: re.Match[str], earlier: str) -> str:
    """The field of a quantity by its unit and the nearest word before it, else after it; "" for none."""
    unit = match["u"].lower().lstrip("-")
    kind = next(kind for kind, units in UNITS.items() if unit in units or f"-{unit}" in units)
    if kind in ("w", "nm"):
        return {"w": "power_w", "nm": "process_nm"}[kind]
    if kind == "bit":
        return "memory_bus_bits" if re.search(r"interface|bus|memory", sentence, re.IGNORECASE) else ""
    if kind == "bytes":
        if re.search(r"\bL2\b", sentence[: match.start()]):
            return "l2_bytes"
        return "memory_bytes" if words.MEMORY.search(sentence) else ""
    named = {"op/s": words.FORMAT, "bytes/s": words.LINK}.get(kind, words.NONE).match(sentence, match.end())
    if named is not None:
        return _nearest(words.KEYWORDS[kind], named[1], len(named[1]), 0)
    if kind == "bytes/s" and words.SIZE.search(sentence) and not words.CARRIES.search(sentence):
        return "memory_bytes_per_s"  # "24 GB, 936 GB/s"
    return _nearest(words.KEYWORDS[kind], sentence, match.start(), match.end()) or _nearest(
        words.KEYWORDS[kind], earlier, len(earlier), len(earlier)
    )


def _nearest(words: Sequence[tuple[str, str]], sentence: str, start: int, end: int) -> str:
    spots = [
        (m.start(), name) for name, pattern in words for m in re.finditer(pattern, sentence, re.IGNORECASE)
    ]
    earlier = [spot for spot in spots if spot[0] < start]
    later = [spot for spot in spots if spot[0] >= end]
    if earlier:
        place = max(earlier)[0]
        # "TF32 tensor": of words side by side the more telling one, listed first, counts.
        return next(name for name, _ in words for at, n in earlier if n == name and place - at <= 16)
    return min(later)[1] if later else ""


def _counts(sentence: str) -> Iterator[_Hit]:
    for match in words.COUNT.finditer(sentence):
        before = sentence[: match.start()]
        if words.EACH.search(before) or words.PER_UNIT.match(sentence[match.end() :]):
            continue
        if not context.is_figure(sentence, match.start(), match.end()):
            continue
        name = next(name for name, _ in words.NOUNS if match[name])
        field = of_name(name)
        assert field is not None
        value = number(match["n"], 1, field.low, field.high)
        if value is not None:
            yield _Hit(match.start(), match.end(), _reading(name, (value,), match["n"], before, sentence))


def _late(sentence: str, found: Sequence[Mention], earlier: str) -> Iterator[_Hit]:
    """Counts whose noun stands elsewhere: "more CUDA cores (8,192 vs. 6,144)", "the A5000 8,192"."""
    field = of_name(name := _late_field(sentence) or _late_field(earlier))
    if field is None:
        return
    places = (words.ELIDED.match(sentence, mention.end) for mention in found)
    for match in (*words.LATE.finditer(sentence), *filter(None, places)):
        value = number(match["n"], 1, field.low, field.high)
        if value is not None:
            start = match.start("n")
            yield _Hit(
                start, match.end("n"), _reading(name, (value,), match["n"], sentence[:start], sentence)
            )


def _late_field(sentence: str) -> str:
    """The last kind of core that a sentence names."""
    spots = [
        (m.start(), name) for name, noun in words.NOUNS for m in re.finditer(noun, sentence, re.IGNORECASE)
    ]
    return max(spots)[1] if spots else ""


def _texts(sentence: str) -> Iterator[_Hit]:
    for match in MEMORY_TYPE.finditer(sentence):
        if match[0].upper().startswith(("G", "H")):
            reading = Reading(field="memory_type", values=(match[0].upper(),), stated=match[0])
            yield _Hit(match.start(), match.end(), reading)
    for match in CHIP.finditer(sentence):
        yield _Hit(match.start(), match.end(), Reading(field="chip", values=(match[0],), stated=match[0]))
    for match in words.BUILT_ON.finditer(sentence):
        name = ARCHITECTURE.search(match["a"])
        if name:
            reading = Reading(field="architecture", values=(name[0],), stated=name[0])
            yield _Hit(match.start("a"), match.end("a"), reading)
