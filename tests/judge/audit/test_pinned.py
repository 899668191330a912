"""What the audit makes of every text of these tests, of `texts/` and of written articles.

A row is a finding: lines, GPU, field, value as written, verdict, kind, best value, and the numbers of its
explanation. Below stand fields and verdicts (a letter each) of the same text in other circumstances.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from functools import cache, partial
from pathlib import Path
from zlib import crc32

import pytest

from evaluation.audit.generate import written
from gpuwise.errors import InputError
from gpuwise.judge import audit
from gpuwise.model.judgement import Audit

from ... import inner, varied
from ...pinned import pinned, texts_of
from . import layers, named, sweeps

HERE, PACKAGE = Path(__file__).parent, "gpuwise.judge.audit"
TODAY = date(2026, 11, 23)
FIGURE = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?=\s?(?:[GTMP]i?[BHf]|W\b|TFLOPS|T[FO]|%|mm|MHz| \|)|x\b)")
SAYS = re.compile(r"\d.{8}")
FACTORS = (1.006, 1.02, 1.2, 2.0)
# Articles with a table each, and those that share one.
ARTICLES, MORE = 40, 200
# Characters from which on a text is not taken apart line by line: it has many alike, and takes seconds.
LONG = 1000
PARTS = 3
# Of so many of these texts one is looked at inside.
MIXED = 5
# Of so many circumstances of a text one is looked at.
STEP = 13


@cache
def tables() -> dict[str, Callable[[], list[str]]]:
    """Rows by where the texts stand."""
    found: dict[str, Callable[[], list[str]]] = {}
    for path in sorted(HERE.glob("test_*.py")):
        those = [(_name(text), text) for text in dict.fromkeys(texts_of(path)) if SAYS.search(text)]
        if those:
            found[path.stem] = partial(table, those)
    for path in sorted((HERE / "texts").iterdir()):
        found[path.name] = partial(table, [(path.name, path.read_text(encoding="utf-8"))])
    for seed in range(ARTICLES):
        found[f"article {seed}"] = partial(articles, range(seed, seed + 1), dresses=1)
    found["articles"] = partial(articles, range(ARTICLES, MORE), dresses=0)
    found["layouts"] = partial(table, [("a.md", text) for _, text in parted("layouts.txt")], dresses=14)
    found["rare"] = partial(table, [*parted("rare.txt")], dresses=12)
    found["gaps"] = lambda: [*sweeps.gaps((HERE / "gaps.txt").read_text(encoding="utf-8").splitlines())]
    # Texts that the halves of others make, so that words stand where nobody has put them.
    halves = [*parted("mixed.txt")]
    for part in range(PARTS):
        found[f"mixed {part}"] = partial(mixed, halves[part::PARTS])
    found |= layers.tables(
        lambda: [*parted("rare.txt"), *(("a.md", text) for _, text in parted("layouts.txt"))]
    )
    found["inner"] = lambda: inside()[1]
    if sys.version_info[:2] == varied.PYTHON:
        found["varied"] = lambda: inside()[0]
    found["edges"] = lambda: inner.answers(PACKAGE, lambda: inner.edges(PACKAGE, lines()))
    return found | named.tables() | sweeps.tables()


@cache
def inside() -> tuple[list[str], list[str]]:
    """What functions answer to what is near, and to what they met: of one run."""
    if sys.version_info[:2] == varied.PYTHON:
        return varied.varied(PACKAGE, audited)
    return [], inner.answers(PACKAGE, audited)


def articles(seeds: range, dresses: int) -> list[str]:
    """Written here, not where tests are collected, which each process does."""
    return table([written(seed, "all")[1::-1] for seed in seeds], dresses)


def mixed(those: list[tuple[str, str]]) -> list[str]:
    return [*sweeps.mixed(those)]


def parted(name: str) -> Iterator[tuple[str, str]]:
    """The first word of each part of a file, and the rest of it."""
    for each in (HERE / name).read_text(encoding="utf-8").rstrip("\n").split("\n~\n"):
        first, _, text = each.partition(" ")
        yield first, text


def audited() -> None:
    """The audit of texts that change seldom, so that a row changes where a function does: of those that are
    rare all, else every third or fourth one."""
    every = [*parted("rare.txt"), *(("a.md", text) for text in sweeps.APART[::4])]
    halves = [*[*parted("layouts.txt")][1::3], *[*parted("mixed.txt")][:: 4 * MIXED]]
    every += [("a.md", text) for _, text in halves]
    for line in (HERE / "gaps.txt").read_text(encoding="utf-8").splitlines()[::4]:
        text = sweeps.BRACES.sub(lambda it: it[1] * PARTS, line)
        every.append(("a.md", text.replace("~", "\n\n").replace("^", "\n")))
    for name, text in every:
        with suppress(InputError):
            audit.audit_text(text, name, today=TODAY)


def lines() -> Iterator[str]:
    """Lines of tables and sentences, and what is spelled for single layers."""
    for name in ("layouts.txt", "rare.txt"):
        yield from [line for _, text in parted(name) for line in text.splitlines()][::2]
    for spelled in (layers.VALUES, layers.SENTENCES, layers.LABELS, layers.CELLS, layers.LINES):
        yield from layers.parts(spelled)


def _name(text: str) -> str:
    first = text.splitlines()[0]
    return "a.csv" if first.count(",") > 1 and " " not in first else "a.md"


def table(those: list[tuple[str, str]], dresses: int = 100) -> list[str]:
    """Each text under its beginning: what the audit says, as codes and numbers."""
    lines = []
    for name, text in those:
        with sweeps.watched() as (claims, costs):
            rows = [*rows_of(name, text, dresses)]
        # What led to it, of all circumstances together.
        rows.append(f"inside {len(claims)} {len(costs)} {crc32(repr((claims, costs)).encode()):08x}")
        lines += [f"## {' '.join(text.split())[:90]}", *(" ".join(row.split()) for row in rows)]
    return lines


def rows_of(name: str, text: str, dresses: int = 100) -> Iterator[str]:
    try:
        found = audit.audit_text(text, name, today=TODAY)
    except InputError as error:
        yield f"refused: {type(error).__name__}"
        return
    yield from codes(found)
    those = list(dressed(text))[:dresses] if found.findings else []
    # Of each text some: which ones its letters say, so that all of them come in turn.
    for about, other in those[crc32(text.encode()) % STEP :: STEP]:
        again = audit.audit_text(other, name, today=TODAY)
        brief = " ".join(f"{one.field[:5]}{one.verdict[0]}{(one.kind or '')[:3]}" for one in again.findings)
        yield f"{about}: {brief} {crc32(repr(list(codes(again))).encode()):08x}"


def codes(found: Audit) -> Iterator[str]:
    """A row for each finding, value that is left, unknown GPU and note."""
    for one in found.findings:
        numbers = " ".join(re.findall(r"\d[\d.,]*", one.explanation))
        lines = ",".join(map(str, one.lines))
        told = (lines, one.gpu, one.field, one.stated, one.verdict, one.kind or "", one.best, numbers)
        yield " | ".join(told)
    yield from (f"{one.line} | left | {one.text}" for one in found.unjudged)
    yield from (f"unknown | {one}" for one in found.unknown_gpus)
    yield from (f"note | {' '.join(re.findall('[0-9]+', one))}" for one in found.notes)


def dressed(text: str) -> Iterator[tuple[str, str]]:
    """The same text in other circumstances: with other figures, more words, fewer lines."""
    for factor in FACTORS:
        figures = (FIGURE.sub(lambda it, by=factor: f"{float(it[0]) * by:.4g}", line) for line in [text])
        yield f"x {factor}", "".join(figures)
    words, lines = text.split(" "), text.split("\n")
    for every in (3, 4, 5):
        more = (f"{word} indeed it," if at % every == every - 1 else word for at, word in enumerate(words))
        yield f"a word more in {every}", " ".join(more)
    yield "under another", f"# NVIDIA A30\n\nIt has 24 GB.\n\n{text}\n\nIts TDP is 170 W."
    yield "twice", f"{text}\n\n{text}"
    yield "behind words", f"Here is what we know of them: {text}"
    yield "bare", text.replace("|", "  ").replace("*", "").replace("-  ", "")
    for at in range(min(len(lines), 12) if len(lines) > 1 and len(text) < LONG else 0):
        yield f"without line {at + 1}", "\n".join(lines[:at] + lines[at + 1 :])
        yield f"to line {at + 1}", "\n".join(lines[: at + 1])
        yield f"line {at + 1} first", "\n".join((lines[at], *lines[:at], *lines[at + 1 :]))
    for at in range(2, len(words), max(1, len(words) // 8)):
        yield f"without word {at}", " ".join(words[:at] + words[at + 1 :])


@pytest.mark.parametrize("name", tables())
def test_what_the_audit_says_is_what_it_said(name: str) -> None:
    assert tables()[name]() == pinned(__file__, name)
