"""Count what texts state of GPUs that the catalog confirms, and what of it `gpuwise audit` reads.

    python -m evaluation.audit.reading TEXTS... [-v]

TEXTS are files or folders; nothing in them is marked. Counted is each number and each name (of a chip, an
architecture, a memory, a date) that a GPU in reach has, as the catalog says: named on the line or in the row,
in the head of the column, in a heading above, or in one of the lines right above. Small numbers need a unit.
The table has a row for each layout, field and reason: `left` is what the audit reports as not assigned,
`silent` what it does not mention. `-v` prints each that is not read.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuwise.judge.audit import document, evidence, files_of, read
from gpuwise.judge.audit.words import FIELDS, Token, scan
from gpuwise.model.judgement import Claim

# Fields by the dimension of a value; those of bare numbers from LARGE on.
OF_UNIT = {
    "bytes": ("memory_bytes",), "bytes/s": ("memory_bytes_per_s", "link_bytes_per_s"), "w": ("power_w",),
    "op/s": tuple(f for f in FIELDS if f[:5] == "peak:" != f), "hz": ("boost_hz", "base_hz"),
    "nm": ("process_nm",), "bit": ("memory_bus_bits",), "bare": ("cuda_cores", "stream_processors"),
    "count": ("transistors",),
}  # fmt: skip
NAMES = frozenset({"architecture", "chip", "memory_type", "launch"})
LARGE = 500
# Lines above that may name the GPU of a line; characters of a line that is no sentence.
ABOVE, SHORT = 12, 90
Ids = frozenset[str]


@dataclass(frozen=True, slots=True)
class Stated:
    """What a text states of a GPU in reach."""

    line: int
    text: str
    layout: str
    field: str
    place: str
    """The text around it."""


def gpus_in(text: str) -> Ids:
    return frozenset(i for t in scan(text) if t.kind == "gpu" for i in t.gpu_ids)


def field_of(token: Token, ids: Ids) -> str | None:
    """The field of which a GPU in reach has what the token states."""
    if token.kind == "name":
        fields: Sequence[str] = (token.field,) if token.field in NAMES else ()
    else:
        small = token.dimension == "bare" and not any(n.value >= LARGE for n in token.numbers)
        fields = () if token.kind != "value" or small else OF_UNIT.get(token.dimension, ())
    values = token.numbers or (token.name,)
    return next((f for f in fields for i in ids for v in values if evidence.supports(i, f, v)), None)


def stated_in(blocks: tuple[read.Block, ...]) -> Iterator[Stated]:
    headings: dict[int, Ids] = {}
    above: list[Ids] = []
    for block in blocks:
        under = frozenset[str]().union(*headings.values())
        if isinstance(block, read.Table):
            tops = [gpus_in(cell.text) for cell in block.rows[0]] if block.rows else []
            for row in block.rows:
                named = frozenset[str]().union(*(gpus_in(cell.text) for cell in row))
                for column, cell in enumerate(row):
                    top = tops[column] if column < len(tops) else frozenset[str]()
                    for token in scan(cell.text):
                        if found := field_of(token, named or top or under):
                            yield Stated(
                                cell.line, token.text, "table", found, " | ".join(c.text for c in row)
                            )
            continue
        named = gpus_in(block.text)
        if isinstance(block, read.Heading):
            headings = {level: one for level, one in headings.items() if level < block.level}
            headings[block.level] = named
            layout = "heading"
        else:
            kind = "code" if block.code else "list" if block.item else "line"
            layout = kind if len(block.text) <= SHORT or kind != "line" else "prose"
        near = frozenset[str]().union(*above)
        for token in scan(block.text):
            if found := field_of(token, named or under | near):
                yield Stated(block.line, token.text, layout, found, block.text)
        above = [*above[1 - ABOVE :], named]


def plain(text: str) -> str:
    return re.sub(r"[\s,]", "", text).casefold()


def reading(path: Path) -> list[tuple[Stated, str]]:
    """What a text states, each with "read", or the reason why it is not."""
    text, _ = read.text_of(path)
    blocks = read.blocks_of(text, str(path))
    claims, left = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
    for said_so in document.claims(blocks):
        if isinstance(said_so, Claim):
            claims[said_so.line].add(plain(said_so.stated))
        else:
            left[said_so.line].add(plain(said_so.text))
    found = []
    for one in stated_in(blocks):
        mine = plain(one.text)
        reason = "left" if any(mine in said for said in left[one.line]) else "silent"
        is_read = any(mine in said or said in mine for said in claims[one.line])
        found.append((one, "read" if is_read else reason))
    return found


def main(texts: list[Path], verbose: bool) -> None:
    groups: dict[tuple[str, str, str], list[tuple[str, Stated]]] = defaultdict(list)
    every, total = Counter[tuple[str, str]](), Counter[str]()
    for path in (file for one in texts for file in files_of(one)):
        for one, reason in reading(path):
            every[one.layout, one.field] += 1
            total[reason] += 1
            if reason != "read":
                groups[one.layout, one.field, reason].append((path.name, one))
    for (layout, field, reason), unread in sorted(groups.items(), key=lambda item: -len(item[1])):
        pages = len({name for name, _ in unread})
        print(
            f"{layout:8} {field:20} {reason:7} {len(unread):5} of {every[layout, field]:5} on {pages} pages"
        )
        for name, one in unread if verbose else ():
            print(f"    {name}:{one.line}: {one.text} | {one.place[:140]}")
    share = total["read"] / max(1, sum(total.values()))
    rest = "; ".join(f"{reason} {total[reason]}" for reason in ("left", "silent"))
    print(f"read {total['read']}/{sum(total.values())} = {share:.1%}; {rest}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="print each that is not read")
    asked = parser.parse_args()
    main(asked.texts, asked.verbose)
