"""Count what texts state in the reach of a GPU, and what of it `gpuwise audit` reads.

    python -m evaluation.audit.reading TEXTS... [-v]

TEXTS are files or folders; nothing in them is marked. A token types itself where it has a unit of ours or is
the name of an architecture, a chip, a memory or a date; so does a number alone in a cell, by a head that names
its field. A GPU of the catalog is in reach on the line or in the row, in the head of the column, in a heading
above, or in one of the lines right above. The table has a row for each layout, type and reason: `left` is
what the audit reports as not assigned, `silent` what it does not mention. `-v` prints each token not read.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuwise.judge.audit import document, files_of, read
from gpuwise.judge.audit.cells import label_of
from gpuwise.judge.audit.words import Token, scan
from gpuwise.model.judgement import Claim

# Units and names that say what they are of.
UNITS = frozenset({"bytes", "bytes/s", "w", "op/s", "hz", "bit", "nm"})
NAMES = frozenset({"architecture", "chip", "memory_type", "launch", "compute_capability"})
# Lines above that may name the GPU of a line; characters of a line that is no sentence.
ABOVE, SHORT = 12, 90


@dataclass(frozen=True, slots=True)
class Stated:
    """A token in the reach of a GPU."""

    line: int
    text: str
    layout: str
    type: str
    place: str
    """The text around it."""


def has_gpu(text: str) -> bool:
    return any(t.kind == "gpu" and t.gpu_ids for t in scan(text))


def type_of(token: Token, text: str, head: str) -> str | None:
    """What a token says that it is, or the head of its column or row; None where neither does."""
    if token.kind == "name":
        return token.field if token.field in NAMES else None
    if token.kind != "value" or not token.numbers:
        return None
    if token.dimension in UNITS:
        return token.dimension
    field = label_of(head).first if token.dimension == "bare" else None
    return f"number under {field}" if field and token.text == text.strip(" *~$") else None


def stated_in(blocks: tuple[read.Block, ...]) -> Iterator[Stated]:
    headings: dict[int, bool] = {}
    above: list[bool] = []
    for block in blocks:
        under = any(headings.values())
        if isinstance(block, read.Table):
            head = block.rows[0] if block.rows else ()
            tops = [has_gpu(cell.text) for cell in head]
            for number, row in enumerate(block.rows):
                named = any(has_gpu(cell.text) for cell in row)
                for column, cell in enumerate(row):
                    if not (under or named or tops[column : column + 1] == [True]):
                        continue
                    along = any(tops) and column and len(row) and not named
                    label = row[0].text if along else head[column].text if column < len(head) else ""
                    for token in scan(cell.text):
                        if found := type_of(token, cell.text, label if number or along else ""):
                            yield Stated(cell.line, token.text, "table", found, f"{label}: {cell.text}")
            continue
        named = has_gpu(block.text)
        if isinstance(block, read.Heading):
            headings = {level: one for level, one in headings.items() if level < block.level}
            headings[block.level] = named
            layout = "heading"
        else:
            kind = "code" if block.code else "list" if block.item else "line"
            layout = kind if len(block.text) <= SHORT or kind != "line" else "prose"
        if under or named or any(above):
            for token in scan(block.text):
                if found := type_of(token, block.text, ""):
                    yield Stated(block.line, token.text, layout, found, block.text)
        above = [*above[1 - ABOVE :], named]


def plain(text: str) -> str:
    return re.sub(r"[\s,]", "", text).casefold()


def reading(path: Path) -> list[tuple[Stated, str]]:
    """What a text states, each with "read", or the reason why it is not."""
    text, _ = read.text_of(path)
    blocks = read.blocks_of(text, str(path))
    claims, left = defaultdict(set), defaultdict(set)
    for one in document.claims(blocks):
        if isinstance(one, Claim):
            claims[one.line].add(plain(one.stated))
        else:
            left[one.line].add(plain(one.text))
    found = []
    for one in stated_in(blocks):
        mine = plain(one.text)
        reason = "left" if any(mine in said for said in left[one.line]) else "silent"
        is_read = any(mine in said or said in mine for said in claims[one.line])
        found.append((one, "read" if is_read else reason))
    return found


def main(texts: list[Path], verbose: bool) -> None:
    groups: dict[tuple[str, str, str], list[tuple[str, Stated]]] = defaultdict(list)
    every, sites = Counter[tuple[str, str]](), Counter[str]()
    for path in (file for one in texts for file in files_of(one)):
        found = reading(path)
        for one, reason in found:
            every[one.layout, one.type] += 1
            sites["all"] += 1
            sites[reason] += 1
            if reason != "read":
                groups[one.layout, one.type, reason].append((path.name, one))
    for (layout, kind, reason), unread in sorted(groups.items(), key=lambda item: -len(item[1])):
        pages = len({name for name, _ in unread})
        print(f"{layout:8} {kind:32} {reason:7} {len(unread):5} of {every[layout, kind]:5} on {pages} pages")
        for name, one in unread if verbose else ():
            print(f"    {name}:{one.line}: {one.text} | {one.place[:140]}")
    total = sites["all"]
    print(f"read {sites['read']}/{total} = {sites['read'] / max(1, total):.1%}; left {sites['left']}; silent {sites['silent']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="print each token that is not read")
    asked = parser.parse_args()
    main(asked.texts, asked.verbose)
