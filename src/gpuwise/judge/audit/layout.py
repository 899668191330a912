"""Find tables in plain lines: cells parted by pipes, tabs or spaces, one a line, or run together.

Each reader proposes a table that begins at a line. GPUs stand before their values, or a title names them in
order; labels stand before their values, between the values of two GPUs, or once before each. Which of these
it is, the number of values that fit their labels, and those that the catalog confirms, decide.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import accumulate, groupby, pairwise, permutations, zip_longest

from gpuwise.judge.audit.cells import NEAR, Label, Reading, label_of, own_field, readings
from gpuwise.judge.audit.grid import (
    INFERRED,
    LARGE,
    MOST_ORDERED,
    Grid,
    Scope,
    Subject,
    carded,
    is_known,
    subject,
    subject_of,
)  # fmt: skip
from gpuwise.judge.audit.read import Cell, Line, spelt
from gpuwise.judge.audit.words import CUES, FIELDS, Token, scan

# Characters of a line that may be one cell of a table, and of one that may be a row or a header.
SHORT, ROW = 64, 300
MOST_GPUS = 12
# Lines of unknown labels between two rows of a table, or between two known labels.
MOST_MISSED = 8
# Lines between two labels of a table with a cell on each line, and of such a table.
MOST_LINES, LONGEST = 40, 400
# Characters of a number: "21,760", "1,979.5".
LONGEST_NUMBER = 7
# Letters between two values of a row that lost what parts its cells: "Up to".
WORDS = 4
# Rows that make lines below a title a table.
LEAST = 3
# Characters of a cell that ran together with its neighbours.
MOST_CELL = 14
# Values and words of a cell in a table that lost its ends.
MOST_PARTS = 4
# Cells of such a row that the catalog does not confirm.
MOST_ODD = 2

# Characters of a list of each GPU of a line.
TURNS = 200

# A word of a row, "2 x 104" one of them.
_WORD = re.compile(r"\d+ ?[x\u00d7] ?\d\S*|\S+")
_MODEL = (
    r"(?:NVIDIA|AMD|GeForce|Radeon|Quadro|Tesla|Titan|Arc [AB]|RTX|GTX|RX \d|MI\d{3}"
    r"|G?[ABHLTV]\d{2,3}S?(?!\d)|(?:[LT]4|A2|L2(?! ?[Cc]ache))(?!\d)|GB\d{3})"
)
_MAKERS = r"(?:EVGA|ASUS|MSI|ZOTAC|PNY|XFX|Gigabyte|Sapphire|PowerColor|Palit|Gainward|Inno3D|KFA2|ASRock)\b"
_GLUED = re.compile(rf"[A-Za-z0-9)](?<!G){_MODEL}|\d{_MAKERS}")
_GLUE = re.compile(
    rf"(?<=\d)(?={_MAKERS})|(?<=[A-Za-z0-9)])(?:(?<![GM])|(?<=SXM))(?={_MODEL})|(?<=[A-Za-z0-9])(?=[A-Z][a-z]{{3}})(?!Force)"
)
_BARE, _LACKED = (
    re.compile(r"[ALT]\d"),
    re.compile(r"(?<=\t)NVIDIA [ALT]\d{1,3}(?: PCIe)?(?=\t|$)"),
)
_NAMED = re.compile(r"(?:\w{1,20} ){0,3}[A-Z]{1,3} ?\d{2,4}[A-Za-z]{0,2}(?: \w{1,20}| \d{1,3} ?GB){0,2}")
# A graphics unit that is named by the machine or the processor around it: "Playstation 4 Slim GPU".
_OTHER = re.compile(r"(?:[A-Z]\w{1,14} ){1,3}(?:\d{1,4}\w? )?(?:\w{1,10} )?(?:GPU|Graphics)(?: \w{1,4})?")
# The same of any maker: "Zorb 9900 XT", "Voodoo5-5500".
_OTHER_MODEL = re.compile(
    r"(?:[A-Z][A-Za-z]{1,15}[ -]){1,3}(?!20[0-3]\d)[A-Z]{0,3}\d{3,4}[A-Za-z]{0,2}(?: [A-Z]\w{0,9}){0,2}:?"
)
_SIDES = re.compile(r"([\w. -]{2,40}?) (?:vs\.?|versus) ([\w. -]{2,40})", re.IGNORECASE)
_PARTED = re.compile(r" ?\| ?| ?\t ?| {2,40}|\s\u2502\s")
_TABS = re.compile(r" ?\t ?")
_RULE = re.compile(r"[\s|:+=\u2500-\u257f-]+")
_PAIRED = re.compile(r"[|\t] ?[\w ()-]{2,30}:\s?\S")
_LINE_NUMBER = re.compile(r"\d{1,5} \|")
_CAPITAL = re.compile(r"(?<=[a-z0-9)])(?=[A-Z\u2713\u2717\u2014])|(?<=\u2014)(?=\S)")
_NEXT_CELL = re.compile(r"(?<=[a-z0-9)])(?=[A-Z][a-zA-Z]{0,20}\d{2}|[A-Z][a-z]{3,20} )")
_NUMBER = re.compile(r"\d{1,3},\d{3}|(?:19|20)\d\d")
_NUMBERS = re.compile(r"(?<![\d.,])(?:(?:\d{1,3},\d{3}){2,12}|(?:(?:19|20)\d\d){2,12})(?![\d.,])")
# Where dates lost the gaps between them, and what stands where nothing is given.
_DATES = re.compile(r"(?<=[^\W\d])(?=20\d\d-[01]\d-\d\d)|(?<=20\d\d-[01]\d-\d\d)(?=\w)")
_NOT_GIVEN = re.compile(r"(?i)(?<=[a-z\d)])n/a(?=n/a|$)|(?<=n/a)n/a|(?<![a-z])n/a(?=\w)|row \d\d? - cell \d")
_WHOLE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?")
_PIECE = re.compile(r"\s*(?:\d[\d.,]{0,6}|[KMGTP]i?B/s|[KMGTP]B|TFLOPS|W)\s*")
# Where a list of a program begins; before and around the values of a call: "GPU('L4', 24)".
_OF_LIST, _CALLED = re.compile(r"[\w .]{1,60}(?:\[\])?(?::|\W\W?)"), re.compile(r"^\w{0,40}[(\[{]")
_MARKS, _VALUES = " '\"()[]{}/#;", re.compile(r"\s?\bVALUES\s?(?=\()")
# What parts the cells of a line: commas, or slashes with spaces around them.
_SEPARATORS = (",", " / ", ";")
_SEPARATOR = re.compile(r",| / |;")
# Where the labels of a header that lost its gaps end.
_HEADS = re.compile(
    r"(?:(?<=[a-z)\]$%\u3040-\u9fff])|(?<=GPU)|(?<=RAM)|(?<=BW)|(?<=OPS)|(?<=TDP)|(?<=TGP)|(?<=TBP)|(?<=MSRP)|(?<=[FN][PT]\d)|(?<=[FT][PF]\d\d)|(?<=F16)|(?<=HBM))(?=[A-Z])(?<!NV)"
)
# Where the name of such a row may end.
_OF_CELL = r"HBM|L?P?G?DDR|Ampere|Ada|Turing|Volta|Pascal|Maxwell|Kepler|Hopper|Blackwell|[RC]DNA|Xe"
_NAME_ENDS = re.compile(rf"(?<=[A-Za-z)\d])(?=[\d$]|{_OF_CELL})")
# Where a cell of it may end: not inside of a word, a decimal or a unit, nor behind a gap; a dash is one.
_CELL_ENDS = re.compile(
    rf"(?<=[a-zA-Z)\d\u2013\u2014])(?:(?=[\dA-Z$~ \u2248(\u2013\u2014])(?<![A-Z](?=(?!{_OF_CELL})[A-Z]))|$)"
)
_IN_PARENTHESES = re.compile(r"\(([^()]{8,})\)(?::|\sVALUES)?$", re.IGNORECASE)
_MAKER = re.compile(r"[*\u2020\u2021]?\s*(?:\([^()]{1,40}\)\s*)?(?:(?i:nvidia|amd)\s)?")
_CORNER = re.compile(r"\W*(?:\w{2,20}\W+){0,2}")
_BRAND = re.compile(r"(?:(?:NVIDIA|AMD|GeForce|RTX|Tesla|Quadro|Radeon) ){1,2}", re.IGNORECASE)
# A cell without a value among those of a line.
_EMPTY = re.compile(r"(?<=\s)(?:[-\u2013?]|n/a)(?=\s|$)", re.IGNORECASE)
# The space in "16 384 st.", behind which a unit stands.
_SPACED = re.compile(r"(?<=[^\d.,]\d) (?=\d{3}(?:,\d)? [^\W\d])|(?<=[^\d.,]\d\d) (?=\d{3}(?:,\d)? [^\W\d])")
# What names say besides: the power of a laptop's GPU, the type of a memory behind its size.
_SOLD_AS = re.compile(r"(?<=Laptop) \d{2,3} ?W\b|(?<=\d GB) (?:HBM|GDDR)\w{1,3}$")
_WORDS = re.compile(r"[A-Z][A-Za-z]*(?: [A-Za-z]+){0,4}")
_PERCENT = re.compile(r"[+\u2212-]?\d[\d.,]{0,6} ?%")

# Characters of a head of which the names are one part of so many.
LONG_HEAD, NAMED_PART = 90, 4
# So many letters may stand between a label and a bare number of a table without ends: " (3rd gen.) ".
MOST_BEHIND = 16
# A figure of each of two GPUs: "Higher boost: 2617 MHz (2617 MHz vs 2520MHz)".
_COMPARED = re.compile(
    r"(?P<label>[^():\d][^():]{3,60}?)(?:: [^()]{1,24})? ?"
    r"\((?P<one>\d[^()]{0,24}?) (?:vs\.?|versus|and|berbanding|contre|gegen|против) (?P<two>\d[^()]{0,24})\)"
)
# Where a word ends that lost its gap, what stands in parentheses, a label before digits that run together.
_SEAM = re.compile(
    r"(?<=[^\W\d_]{2}[^\W\d_A-Z])(?<!int)(?=[A-Z\d])|(?<=\))(?=\w)|(?<=[A-Z\d])(?=(?:AD|TU|G[ABHKMPV])\d{3}(?!\d))"
    r"|(?<=\d)(?=[\u0410-\u042f])|(?<=[A-Z]{2})(?=\d{1,3} ?GB)"
)
_ASIDE = re.compile(r"\([^()]{1,40}\)")
_NONE = "(?:no data|not rated|n/a)"
_NO_DATA = re.compile(rf"(?P<label>\D{{2,60}}?)(?:{_NONE}(?P<two>\d.{{0,24}})|(?P<one>\d.{{0,24}}?){_NONE})")
_RUN_TOGETHER = re.compile(r"((?:(?:FP|TF|BF|INT|L)\d{1,2}|\D){2,80}?)([\d.,]{3,30})")

Rows = list[tuple[Cell, ...]]
Found = tuple[Rows, int, bool] | None
"""The rows of a table with their header, the index of the line behind it, whether its cells are certain."""


def parts(lines: Sequence[Line], scope: Scope) -> Iterator[Line | tuple[Grid, Sequence[Line]]]:
    """The lines, with those that are rows of a table replaced by it, beside which they stand as they are."""
    lines = _unnumbered(_without_questions(lines))
    at = 0
    while at < len(lines):
        found = next((one for reader in READERS if (one := reader(lines, at, scope)) is not None), None)
        if found is None:
            pair = _named_beside(lines[at : at + 3]) or side_by_side(lines[at].text)
            scope = replace(scope, pair=pair) if pair else scope
            yield lines[at]
            at += 1
        else:
            rows, end, certain = found
            table = Grid(tuple(rows), scope, certain)
            scope = replace(scope, head=table.header)
            yield table, lines[at:end]
            at = end


def _without_questions(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without question marks between labels and their values, and without the help texts behind
    them; where few labels have such a mark it is a cell without a value."""
    behind = [line.text for before, line in pairwise(lines) if kind(before.text) == "F"]
    marks = 2 * behind.count("?") >= len(behind)
    helps = {n for n, (a, b) in enumerate(pairwise(lines)) if a.text == "?" and len(b.text) > SHORT}
    return [
        line for n, line in enumerate(lines)
        if n - 1 not in helps and n not in helps and not (marks and line.text == "?")
    ]  # fmt: skip


def _unnumbered(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without those that number the lines of a file, as pages that show one are copied: "17 |"."""
    counted = {n: int(line.text[:-2]) for n, line in enumerate(lines) if _LINE_NUMBER.fullmatch(line.text)}
    steps = sum(b == a + 1 for a, b in pairwise(counted.values()))
    numbered = len(counted) > LEAST and 2 * steps > len(counted)
    return [line for n, line in enumerate(lines) if n not in counted] if numbered else lines


def first_pair(lines: Iterable[Line]) -> tuple[Subject, ...]:
    """The GPUs that the first title or the first three lines "A, Model Name, B" compare; none where no line
    does."""
    last: list[Line] = []
    for line in lines:
        last = [*last[-2:], line]
        if pair := side_by_side(line.text) or _named_beside(last):
            return pair
    return ()


def _named_beside(lines: Sequence[Line]) -> tuple[Subject, ...]:
    """The GPUs of "Tesla K80, Model Name, Tesla P40" on three lines, which name two columns."""
    if len(lines) != 3 or CUES["name_label"].fullmatch(lines[1].text.strip()) is None:
        return ()
    return side_by_side(f"{lines[0].text} vs {lines[2].text}")


def is_model(text: str) -> bool:
    """Whether a text is a name like that of a GPU which the catalog lacks: not "Power 300 W"."""
    return _OTHER_MODEL.fullmatch(text) is not None and all(t.dimension == "bare" for t in scan(text))


def side_by_side(text: str) -> tuple[Subject, ...]:
    """The GPUs that a title compares, "X vs Y"; empty for any other text."""
    text = _SOLD_AS.sub("", text)
    tokens = scan(text) if len(text) <= ROW and text[-1:] not in ".;" else ()
    gpus = [t for t in tokens if t.kind == "gpu"]
    if len(gpus) == 1 and (sides := _SIDES.fullmatch(text)):
        # Beside a GPU that is known one that is not: "T400 vs L40S".
        named = tuple(subject_of(side) or Subject(side, ()) for side in sides.groups())
        known = (one.gpu_ids or _NAMED.fullmatch(one.text) or _OTHER.fullmatch(one.text) for one in named)
        return named if all(known) else ()
    if not 1 < len(gpus) < 4 or len({g.gpu_ids for g in gpus}) < len(gpus):
        return ()
    joined = all(CUES["versus"].fullmatch(text, a.end, b.start) for a, b in pairwise(gpus))
    ends = [*(gpu.start for gpu in gpus[1:]), len(text)]
    named = tuple(_called(gpu, text[gpu.end : end]) for gpu, end in zip(gpus, ends, strict=True))
    # "GTX 1080 11Gbps" is how it is sold.
    values = (t.dimension for t in tokens if t.kind == "value")
    return named if joined and all(dimension in ("other", "pin") for dimension in values) else ()


def _called(gpu: Token, behind: str) -> Subject:
    """The GPU of a name: of none that the catalog has with a memory that it has not, "RTX 3060 GDDR6X"."""
    one = Subject(gpu.text, gpu.gpu_ids)
    said = next((t for t in scan(behind) if t.field == "memory_type" and t.kind == "name"), None)
    odd = said and not is_known(one, Reading(field="memory_type", values=(said.name,), token=said))
    return Subject(f"{gpu.text} {said.text}", ()) if said and odd else one


def _places(lines: Sequence[Line], start: int) -> tuple[list[tuple[int, int]], int]:
    """The columns of a table that blanks alone align, some of them one wide, and the index of the line behind
    it: where every line has a blank a column ends, unless its heading goes on. None where gaps tell it."""
    first = lines[start]
    if "  " not in first.text or all(kind(part) != "F" for part in _PARTED.split(first.text)):
        return [], start
    # Each line of a text comes here: a log is not to be read anew by each of its own.
    near = range(start, min(start + LONGEST, len(lines)))
    last = next((n for n in near if lines[n].paragraph != first.paragraph), near.stop)
    texts = [line.text for line in lines[start:last] if not _RULE.fullmatch(line.text)]
    widths = {len(_PARTED.split(text)) for text in texts}
    if len(texts) < 3 or len(widths) == 1 or any("|" in t or "\t" in t for t in texts):
        return [], start
    blank = "".join("01"[all(t[n : n + 1] in " " for t in texts)] for n in range(max(map(len, texts))))
    places: list[tuple[int, int]] = []
    for a, b in (match.span() for match in re.finditer("0+", blank)):
        goes_on = places and not (texts[0][a:b].strip() and any(text[a:b].strip() for text in texts[1:]))
        places = [*places[:-1], (places[-1][0], b)] if goes_on else [*places, (a, b)]
    named = sum(kind(texts[0][a:b].strip()) == "F" for a, b in places)
    return (places, last) if 2 * named >= len(places) > 2 else ([], start)


def _broken(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """Rows of which the cells stand on several lines, as pages are copied: each pipe ends a cell, and the
    first ones are the names of the columns. A rule has as many cells as a row."""
    if not lines[start].text.endswith("|") or (start and "|" in lines[start - 1].text):
        return None
    # A table begins with the names of its GPUs, or has a rule below those of its columns.
    firsts = (line.text.strip("| ").partition("|")[0].rstrip() for line in lines[start : start + MOST_LINES])
    begins = ["" if not first or _RULE.fullmatch(first) else kind(first) for first in firsts]
    if "" not in begins and "G" not in begins:
        return None
    most = LONGEST if begins[0] == "G" else MOST_LINES
    # The parts of each cell, one a line.
    cells: list[list[Cell]] = [[]]
    at = start
    while at < len(lines) and at - start < most and (cells[-1] or "|" in lines[at].text):
        ruled = _RULE.fullmatch(lines[at].text)
        text, most = (lines[at].text.removeprefix("|"), LONGEST) if ruled else (lines[at].text, most)
        first, *others = (Cell(lines[at].line, part.strip()) for part in text.split("|"))
        cells[-1].append(first)
        cells += [[cell] for cell in others]
        cells[-1] = [cell for cell in cells[-1] if cell.text]
        at += 1
    whole = cells[:-1] if not cells[-1] else cells
    whole = whole if whole and whole[0] and whole[0][0].text else whole[1:]
    blank = Cell(lines[start].line, "")
    rule = [n for n, cell in enumerate(whole) if len(cell) == 1 and _RULE.fullmatch(cell[0].text)]
    apart, width = lines[start].text.count("|") == 1, len(rule)
    if apart and width > 1 and rule == [*range(width, 2 * width)]:
        flat = [cell[0] if cell else blank for cell in (*whole[:width], *whole[2 * width :])]
        return [tuple(flat[n : n + width]) for n in range(0, len(flat), width)], at, True
    # The first cell may be the corner.
    whole = whole[[kind(cell[0].text) for cell in whole[:2] if cell] == ["V", "G"] :]
    names = next((n for n, cell in enumerate(whole) if len(cell) != 1 or kind(cell[0].text) != "G"), 0)
    body = whole[names:]
    rows = [body[n : n + names + 1] for n in range(0, len(body), names + 1)]
    labelled = sum(bool(row[0]) and kind(row[0][0].text) == "F" for row in rows)
    if names < 2 or len(rows) == at - start - 1 or 2 * labelled < len(rows) or len(rows[-1]) <= names:
        return None
    table: Rows = [(blank, *(cell[0] for cell in whole[:names]))]
    for label, *values in rows:
        # What a cell says on its second line is a row of its own with the same label.
        title = replace(label[0], text=" ".join(part.text for part in label)) if label else blank
        for n in range(max(map(len, values))):
            table.append((title, *(value[n] if n < len(value) else blank for value in values)))
    return table, at, True


def _delimited(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """Lines with pipes, tabs or wide gaps between the cells."""
    rows: Rows = []
    at, full = start, False
    places, last = _places(lines, start)
    while at < len(lines):
        text = lines[at].text
        # Fields that name their values between pipes ("VRAM: 24 GB | TDP: 450 W") are pairs, not cells.
        if at == start and _PAIRED.search(text):
            return None
        if _RULE.fullmatch(text) and (rows or at - start < MOST_MISSED):
            at += 1
            continue
        # Empty cells at the end of a row keep the others in their places.
        bare = text.strip(" ").removeprefix("|").removesuffix("|").strip(" ")
        # Below a header with tabs, and where there are more of these, a pipe stands inside of a cell.
        tabbed = bare.count("\t") > bare.count("|") or (rows and "\t" in bare and "\t" in lines[start].text)
        pipes = bare.count("|") > 1 and not tabbed
        cells = bare.split("|") if pipes else (_TABS if "\t" in bare else _PARTED).split(bare)
        cells = [text[a:b] for a, b in places] if at < last else cells
        whole = rows and text.endswith("|") and at + 1 < len(lines) and lines[at + 1].text.endswith("|")
        behind = lines[at + 1].text.strip("| ").split("|") if whole else []
        if behind and len(cells) + len(behind) == len(rows[0]) > 2:
            # The row goes on in the next line, since a cell ended with one.
            halves = ((lines[at], cells), (lines[at + 1], behind))
            rows.append(tuple(Cell(line.line, part.strip()) for line, of in halves for part in of))
            at += 2
            continue
        if not rows and (names := _head_of_two(cells, lines[at + 1 : at + 3])):
            # The row of the names goes on in the next line: "RTX 4090 | RTX 4080 |" / "RTX 4070 | |".
            rows.append((Cell(lines[at].line, ""), *(Cell(lines[at].line, name) for name in names)))
            at += 2
            continue
        # Two names above rows of three cells head the columns behind that of the labels; one of the two may
        # be unknown.
        corner = not rows and _names_two(cells, lines[at + 1 : at + 2])
        if len(cells) < 2 or (len(cells) == 2 and "\t" not in text and "|" not in text and not corner):
            if _is_section(lines[at : at + 2], rows):
                at += 1
                continue
            break
        # "L40S | Data sheet" among rows with tabs is their title.
        follows = lines[at + 1].text if at + 1 < len(lines) else ""
        tabs = ["\t" in row and "|" not in row for row in (lines[start].text, text, follows)]
        if "|" in text and "\t" not in text and (tabs[0] or tabs[2]):
            break
        named = sum(kind(part) == "G" for part in cells)
        typed = [scan(part) for part in cells]
        values = [
            t for part in typed for t in part
            if t.kind == "value" and (named == 1 or all(other.kind != "gpu" for other in part))
        ]  # fmt: skip
        alone = named == 1 or (
            sum(any(t.kind == "gpu" for t in part) for part in typed) == 1
            and any(t.dimension not in ("bare", "other") for t in values)
        )
        if not rows and alone and values and kind(cells[0].strip()) == "G" and (
            len(cells) == len(scope.head) and kind(scope.head[0].text) != "G"
            and 2 * sum(bool((of := label_of(c.text)).fields or of.unit) for c in scope.head) >= len(cells)
        ):  # fmt: skip
            # The table above goes on behind a line that is the title of a section.
            rows.append(scope.head)
        if not rows and alone and values and not corner:
            # Without a header each row is a list of its own: "RTX 4090 | 24 GB | 450 W".
            return None
        parted = rows and lines[at].paragraph != lines[at - 1].paragraph
        stated = any(t.kind in ("value", "name") for part in typed for t in part)
        labels = parted and named == 0 and not stated and any(kind(part) == "F" for part in cells)
        # Names right below a header are those of its columns.
        full = full or (bool(rows) and named < 2 and stated)
        # A row may hold two names, "Titan V | GV100", where the chip is called like a card.
        if full and ((named > 1 and not values) or labels):
            # The header of the next table.
            break
        rows.append(tuple(Cell(lines[at].line, part.strip()) for part in cells))
        at += 1
    return (rows, at, True) if len(rows) > 1 else None


def _is_section(lines: Sequence[Line], rows: Rows) -> bool:
    """Whether a line stands among the rows of a table as a title: the next one begins with a GPU and is as
    wide as the head."""
    if not rows or len(lines) < 2 or len(lines[0].text) > SHORT or kind(lines[0].text) == "G":
        return False
    cells = (_TABS if "\t" in lines[1].text else _PARTED).split(lines[1].text.strip("| "))
    title = all(t.kind not in ("value", "gpu") for t in scan(lines[0].text))
    return title and len(cells) == len(rows[0]) > 2 and kind(cells[0].strip()) == "G"


def _head_of_two(cells: Sequence[str], below: Sequence[Line]) -> list[str]:
    """The names in two lines, where nothing else stands in them and a row below has one more cell."""
    if len(below) < 2 or "|" not in below[0].text:
        return []
    names = [cell.strip() for cell in (*cells, *below[0].text.split("|")) if cell.strip()]
    row = below[1].text.strip().removeprefix("|").removesuffix("|").split("|")
    return names if len(row) == len(names) + 1 > 2 and all(kind(name) == "G" for name in names) else []


def _names_two(cells: Sequence[str], below: Sequence[Line]) -> bool:
    """Whether two cells are names of GPUs, of which one is known, above rows of three cells."""
    named = [kind(cell) == "G" for cell in cells]
    rows = [_PARTED.split(line.text.strip()) for line in below]
    models = (_NAMED.fullmatch(cell) or is_model(cell) for cell in cells)
    alike = all(of or model for of, model in zip(named, models, strict=True))
    return len(cells) == 2 and any(named) and alike and [len(row) for row in rows] == [3]


def _lists_beside(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """Names of GPUs with wide gaps between them, and below each its list: "TDP: 72 W    TDP: 70 W"."""
    names = _PARTED.split(lines[start].text)
    if len(names) < 2 or any(kind(name) != "G" for name in names):
        return None
    rows: Rows = []
    for line in lines[start + 1 :]:
        pairs = [cell.partition(":")[::2] for cell in _PARTED.split(line.text)]
        if len({label for label, _ in pairs}) > 1 or len(pairs) != len(names) or not all(v for _, v in pairs):
            break
        rows.append(tuple(Cell(line.line, cell.strip()) for cell in (pairs[0][0], *(v for _, v in pairs))))
    head = tuple(Cell(lines[start].line, name) for name in ("", *names))
    return ([head, *rows], start + 1 + len(rows), True) if len(rows) > 1 else None


def _separated(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """A line of field words between commas or slashes, then lines of a GPU and as many values: what a program
    prints as CSV, or "Cheat sheet (cores / VRAM / watts)" above "4090: 16384 / 24 / 450"."""
    text, at = lines[start].text, start + 1
    if start == 0 and _OF_LIST.fullmatch(text):
        # The comment above a list of a program, which is a heading of Markdown.
        text = scope.title
    elif at < len(lines) and _OF_LIST.fullmatch(lines[at].text):
        at += 1
    # A statement of SQL has its row behind the names: "INSERT INTO gpus (name, vram) VALUES ('L4', 24);"
    text, *row = _VALUES.split(text, 1)
    if len(text) > ROW or text[-1:] in (".", "!", "?") or not _SEPARATOR.search(text):
        return None
    inside = _IN_PARENTHESES.search(text)
    head = inside[1] if inside else text.rstrip(":")
    mark = max(_SEPARATORS, key=head.count)
    labels = [spelt(label.strip(_MARKS)) for label in head.split(mark)]
    tokens = [scan(label) for label in labels]
    named = sum(any(t.field for t in one) for one in tokens)
    # A word that names no field may be "name" or "3dscore": of such words most must name one.
    pairs = ((label, t) for label, one in zip(labels, tokens, strict=True) for t in one if t.kind != "field")
    stated = any(t.kind == "gpu" or 2 * len(t.text) > len(label) for label, t in pairs)
    if stated or named < (1 if mark == "," else 2):
        return None
    rows: Rows = []
    header = [Cell(lines[start].line, label) for label in labels]
    for line in (*(replace(lines[start], text=one) for one in row), *lines[at:]):
        text = _CALLED.sub("", line.text[:ROW].rstrip(",;"))
        name, colon, rest = text.partition(": ")
        text = f"{name}\t{rest}" if colon and kind(name) != "F" else text
        parted = re.split(r"\t|\s?\|\s?", text.replace(max(_SEPARATORS, key=text.count), "\t"))
        # As programs write rows: "('L4', 24, 72)".
        cells = tuple(Cell(line.line, spelt(cell.strip(_MARKS))) for cell in parted)
        if len(cells) == len(labels) + 1 and not rows:
            header = [Cell(lines[start].line, "GPU"), *header]
        if len(cells) != len(header) or not any(kind(cell.text) == "G" or carded(cell) for cell in cells):
            break
        rows.append(cells)
    return ([tuple(header), *rows], at + len(rows) - len(row), True) if rows else None


def _under_fields(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """A line of field words, then lines that begin with a GPU: its values go to the fields in order."""
    columns = _columns(lines[start].text)
    rows: Rows = [tuple(Cell(lines[start].line, name) for name in ("GPU", *columns))]
    at = start + 1
    while columns and at < len(lines) and (row := _row(lines[at], columns)) is not None:
        rows.append(row)
        at += 1
    # The last line of a header that wraps says less than rows of one shape below it.
    return (
        None
        if len(rows) < 2 or (len(rows) == 2 and _of_one_shape(lines, start + 1, scope))
        else (rows, at, True)
    )


def _columns(text: str) -> list[str]:
    """The labels of a line of field words and few others; "FP16/BF16 (TFLOPS)" is one label."""
    tokens = scan(text) if len(text) <= ROW and ":" not in text and text[-1:] != "." else ()
    ends: list[list[int]] = []
    for token in tokens:
        if token.kind in ("value", "gpu"):
            return []
        if token.kind != "field":
            continue
        joined = bool(ends) and text[ends[-1][1] : token.start].strip(" ") in ("/", "(", "&")
        if joined or (ends and token.field in ("peak:", "peak:tensor")):
            ends[-1][1] = token.end
        else:
            ends.append([token.start, token.end])
    named = sum(b - a for a, b in ends)
    rest = CUES["plain_header"].sub("", text)
    if len(ends) < 2 or (named < 0.6 * len(re.sub(r"\W", "", text)) and named < len(rest) - 14):
        return []
    stops = [a for a, _ in ends[1:]] + [len(text)]
    return [text[a:stop].strip() for (a, _), stop in zip(ends, stops, strict=True)]


def _row(line: Line, columns: Sequence[str]) -> tuple[Cell, ...] | None:
    """A GPU and its values under these columns; None for a line that is not such a row."""
    text = line.text
    tokens = scan(text) if len(text) <= ROW else ()
    if not tokens or tokens[0].kind != "gpu" or tokens[0].start > 16:
        return None
    name, behind = tokens[0].end, tokens[1:]
    sold = re.search(r"[\s(]{1,3}(?=\d{1,3} ?GB(?: (?:G?DDR|HBM)\w{1,3})?$)", tokens[0].text)
    if sold and not any(t.dimension == "bytes" for t in tokens) and (
        any("memory_bytes" in label_of(column).fields for column in columns)
    ):  # fmt: skip
        # The size that tells variants apart stands in the column for it.
        name = tokens[0].start + sold.start()
        behind = tuple(replace(t, start=t.start + name, end=t.end + name) for t in scan(text[name:]))
    # "Ampere (2020)" dates what stands before it, and "DLSS 3", "HDMI 2.1" are names.
    ends = {t.end for t in tokens}
    values = [
        t for t in behind if t.kind in ("value", "name") and t.dimension != "other"
        and not (t.dimension == "bare" and (
            text[t.start - 1] + text[t.end : t.end + 1] == "()"
            or (t.start - 1 not in ends and text[t.start - 2 : t.start - 1].isalpha())
        ))
    ]  # fmt: skip
    if not values or any(t.kind == "gpu" for t in behind):
        # "A10 has 24 GB vs the T4's 16 GB" is a sentence.
        return None
    starts = {column: values[number].start for number, column in _aligned(values, columns)}
    # A bare number without a column ends the cell before it.
    bounds = sorted({*starts.values(), *(v.start for v in values if v.dimension == "bare"), len(text)})
    cells = [text[:name]]
    for column in range(len(columns)):
        start = starts.get(column, len(text))
        cells.append(text[start : next((b for b in bounds if b > start), start)].strip())
    return tuple(Cell(line.line, cell) for cell in cells)


def _aligned(values: Sequence[Token], columns: Sequence[str]) -> list[tuple[int, int]]:
    """(value, column) pairs in order, as many as possible, the values of a plain kind first.

    Bare numbers fit many columns: they are placed only where there are as many as columns for them.
    """
    fits = [[_fit(value, label_of(column).first or "") for column in columns] for value in values]

    @cache
    def best(i: int, j: int) -> tuple[float, tuple[tuple[int, int], ...]]:
        """The weight and the pairs of the values from i on under the columns from j on."""
        if i == len(values) or j == len(columns):
            return 0.0, ()
        options = [best(i, j + 1), best(i + 1, j)]
        if fits[i][j]:
            weight, others = best(i + 1, j + 1)
            options.append((weight + fits[i][j], ((i, j), *others)))
        return max(options, key=lambda one: one[0])

    pairs = list(best(0, 0)[1])
    taken = {j for _, j in pairs}
    bare = {i for i, value in enumerate(values) if value.dimension == "bare"}
    # A bare number left over, or a column of numbers left empty: who knows which belongs where.
    empty = any(fits[i][j] for i in bare for j in range(len(columns)) if j not in taken)
    if empty or bare - {i for i, _ in pairs}:
        return [(i, j) for i, j in pairs if i not in bare]
    return pairs


def _fit(value: Token, field: str) -> float:
    """How well a value belongs to a field: surely, as a word for none, or as a number without a unit."""
    if value.field == "none":
        return 1.4
    if not field:
        # Some column of a thing that no GPU has: "Game Clock".
        return 0.3
    dimension = FIELDS[field].dimension
    if value.kind == "name":
        return 1.5 if value.field == field else 0.0
    if value.dimension == "bare":
        return 0.9 if dimension not in ("text", "none") else 0.0
    return 1.5 if value.measures == dimension or (field == "price" and value.dimension == "usd") else 0.0


def _under_gpus(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """A line of several GPUs, then lines that begin with a field: as many values as GPUs, in order."""
    # The names may stand on several lines, "A100" and "80GB SXM".
    end = start + 1
    while end - start <= 2 * MOST_GPUS and end < len(lines) and _is_of_name(lines[end].text):
        end += 1
    # No more than one line may stand between the names and the values; a longer list has none.
    ends = range(end, max(start, end - 2), -1) if end - start <= 2 * MOST_GPUS else ()
    joined = (_head(" ".join(line.text for line in lines[start:at])) for at in ends)
    at, gpus = next(((end - n, found) for n, found in enumerate(joined) if found), (end, []))
    title, missed = side_by_side(lines[start].text), 0
    if title and not gpus:
        # One of the two has no name that is a GPU's: "Playstation 4 Slim GPU vs GeForce RTX 4080".
        named = (Token(kind="gpu", start=0, end=0, text=one.text, gpu_ids=one.gpu_ids) for one in title)
        at, gpus = start + 1, [*named]
    if not gpus or at >= len(lines) or _PARTED.search(lines[at].text):
        return None
    rows: Rows = []
    # Below "X vs Y", or names that ran together, lines need no label that is known.
    sides = title or (_GLUED.search(lines[start].text) and [one for g in gpus if (one := subject([g]))])
    # One line of something else may stand between two rows, or more with as many numbers each.
    alike = re.compile(rf"(?:\s[\d.,]+){{{len(gpus)}}}$")
    while at < len(lines) and not _head(lines[at].text) and not _COMPARED.fullmatch(lines[at].text) and not (
        # A paragraph that is a name begins the list of that GPU.
        kind(lines[at].text) == "G" and lines[at].paragraph != lines[at - 1].paragraph
    ) and (
        missed < 2 or (missed < MOST_MISSED and (
            alike.search(lines[at].text[-SHORT:]) or (sides and not _PARTED.search(lines[at].text))
        ))
    ):  # fmt: skip
        row, end = _values_of(lines[at], gpus), at + 1
        if row is None or len(row) == 1:
            row = _by_turns(lines[at], len(gpus)) or row
        if sides and (row is None or len(row) == 1) and (apart := _sides(lines[at].text, sides)):
            row = tuple(Cell(lines[at].line, cell) for cell in apart)
        if row is not None and len(row) == 1 and row[0].text[-1:].isdigit():
            # "Bandwidth760", "GB/s", "449", "GB/s": a page that lost its cells.
            while end < len(lines) and end - at < MOST_LINES and _PIECE.fullmatch(lines[end].text):
                end += 1
            row = _pieced(lines[at:end], gpus) or row
        missed = 0 if row else missed + 1
        rows += [row] if row else []
        at = end
    at -= missed
    if not any(len(row) > 1 for row in rows) or (
        len(rows) < 2 and at < len(lines) and not _head(lines[at].text)
    ):  # fmt: skip
        return None
    header = tuple(Cell(lines[start].line, name) for name in ("", *(t.text for t in gpus)))
    return [header, *rows], at, not title


def _pieced(lines: Sequence[Line], gpus: Sequence[Token]) -> tuple[Cell, ...] | None:
    """The row that lines make together; each value stands on the line where it begins."""
    text, place = _run_together(lines)
    row = _values_of(replace(lines[0], text=text), gpus)
    at, cells = 0, list[Cell]()
    for cell in row or ():
        at = max(at, text.find(cell.text, at))
        cells.append(replace(cell, line=lines[place(at)].line))
        at += len(cell.text)
    return tuple(cells) or None


def _run_together(lines: Sequence[Line]) -> tuple[str, Callable[[int], int]]:
    """The lines as one text, and of which line, counted from 0, a place of it is."""
    ends = list(accumulate(len(line.text) + 1 for line in lines))
    return " ".join(line.text for line in lines), partial(bisect_right, ends)


@lru_cache(maxsize=4096)
def _is_of_name(text: str) -> bool:
    """Whether a line is a GPU's name, a part of one, or several, and nothing else: "80GB SXM"."""
    text = _GLUE.sub(" ", CUES["form_name"].sub(" ", text)) if len(text) < SHORT else text
    covered = sum(t.end - t.start for t in scan(text) if t.kind == "gpu")
    return len(text) < SHORT and covered >= len(text.replace(" ", "")) - text.count("/")


def _head(text: str) -> list[Token]:
    """The GPUs of a line that names several, which may be glued together, and states nothing of them."""
    if len(text) > ROW or text.endswith((".", "?", "!")):
        return []
    if _GLUED.search(text):
        # What touches another name needs no maker, "H20L20", and may be none that the catalog has.
        names = _GLUE.split(_NOT_GIVEN.sub("", text))
        bare = (_BARE.match(name) and all(t.kind != "gpu" for t in scan(f"x {name}")) for name in names)
        text = "\t".join(f"NVIDIA {name}" if one else name for name, one in zip(names, bare, strict=True))
    tokens = scan(text)
    found = {
        m.start(): Token(kind="gpu", start=m.start(), end=m.end(), text=m[0]) for m in _LACKED.finditer(text)
    }
    found |= {t.start: t for t in tokens if t.kind == "gpu"}
    gpus = [found[at] for at in sorted(found)]
    ids = [gpu.gpu_ids for gpu in gpus]
    if len(text) > LONG_HEAD and NAMED_PART * sum(gpu.end - gpu.start for gpu in gpus) < len(text):
        # A sentence by the way, above the name of another GPU.
        return []
    if len(gpus) > 2 and ids[::2] == ids[1::2]:
        # "Tesla T4 Tesla T4 L4 L4" names each twice.
        gpus = gpus[::2]
    stated = any(t.kind == "value" for t in tokens)
    return gpus if 1 < len(gpus) <= MOST_GPUS and not stated else []


def _values_of(line: Line, gpus: Sequence[Token]) -> tuple[Cell, ...] | None:
    """A field and as many values as there are GPUs; None for a line that is something else."""
    # Where numbers lost the gaps between them, a comma for thousands and a year still tell their ends.
    text = _NUMBERS.sub(lambda m: " ".join(["", *_NUMBER.findall(m[0])]), line.text)
    text = _DATES.sub(" ", _NOT_GIVEN.sub(" N/A ", text))
    # "350W / 150 W" is one value of each.
    text = text.replace(" / ", " ") if text.count(" / ") == len(gpus) - 1 else text
    tokens = _with_empty(text) if len(text) <= ROW and not text.endswith(".") else ()
    kinds, marks = ("value", "name"), ("dense", "sparse")
    # "Street price (Feb 2026)" states no date, "Transistors (10 billion)" no count.
    tokens = tuple(
        t for t in tokens
        if t.kind == "gpu" or text[: t.start][-1:] != "(" or t.measures not in ("", "count")
    )  # fmt: skip
    first = next((n for n, t in enumerate(tokens) if t.kind in kinds and t.field not in marks), 0)
    labels = [t for t in tokens[:first] if t.kind == "field"]
    # "A100 VRAM 40 GB 80 GB" below the variants of the A100.
    if not labels or any(t.kind == "gpu" and (t.start or n) for n, t in enumerate(tokens)):
        return None
    label = label_of(text[: tokens[first].start])
    main = [t for t in tokens[first:] if t.field == "none" or any(_fit(t, f) for f in label.fields)]
    products = {CUES["form_name"].sub("", gpu.text).strip() for gpu in gpus}
    if len(main) == 1 < len(gpus) and main[0] is tokens[first] and len(products) == 1:
        # "CUDA cores 6,912" of the four variants of one product.
        return tuple(Cell(line.line, cell) for cell in (label.text, *[text[main[0].start :]] * len(gpus)))
    if len(main) == 1 < len(gpus) and (
        apart := _cut(text[tokens[first].start :], label, [subject([gpu]) for gpu in gpus])
    ):
        return tuple(Cell(line.line, cell) for cell in (label.text, *apart))
    # With a unit on some of them, what has none is something else.
    if len({t.dimension for t in main if t.field != "none"}) > 1:
        main = [t for t in main if t.dimension != "bare"]
    if len(main) == len(gpus) and main[0] is tokens[first]:
        ends = [*(t.start for t in main[1:]), len(text)]
        pieces = [text[t.start : end] for t, end in zip(main, ends, strict=True)]
        # The last cell of a run-together line goes without the words of the next column.
        cut = ((piece, _NEXT_CELL.search(piece, 4)) for piece in pieces)
        cells = [piece[: match.start()] if match else piece for piece, match in cut]
        return tuple(Cell(line.line, cell.strip()) for cell in (label.text, *cells))
    cells = _CAPITAL.split(text[labels[-1].end :])
    # Cells that capitals part, "Yes (600 GB/s)No": each one value of the label's kind or a word for none.
    values = [scan(cell) for cell in cells if not CUES["no_value"].fullmatch(cell.strip())]
    if len(cells) == len(gpus) and values and all(
        len(one) == 1 and any(_fit(one[0], f) > 1 for f in label.fields) for one in values
    ):  # fmt: skip
        return tuple(Cell(line.line, cell.strip()) for cell in (text[: labels[-1].end], *cells))
    label_end = labels[-1].end
    if cells := _even(label_of(text[:label_end]), text[label_end:], len(gpus)):
        return tuple(Cell(line.line, cell) for cell in (text[:label_end], *cells))
    seamed = _SEAM.sub(" ", text)
    if seamed != text and (parted := _values_of(replace(line, text=seamed), gpus)) and len(parted) > 1:
        return parted
    # A row that belongs to the table, though nobody can tell its values apart.
    return (Cell(line.line, text),) if tokens[first].start < SHORT and label.fields else None


def _by_turns(line: Line, count: int) -> tuple[Cell, ...] | None:
    """The words in front and the list of each GPU, where a line states the same of each in turn: "Memory 8 GB
    GDDR6, 256 bit 12 GB GDDR6, 192 bit"."""
    text = line.text
    tokens = scan(text) if len(text) <= TURNS * count else ()
    stated = [
        (own_field(text, tokens, n) or t.dimension if t.kind == "value" else t.field, t.start)
        for n, t in enumerate(tokens) if t.kind in ("value", "name")
    ]  # fmt: skip
    said = Counter(of for of, _ in stated if of not in ("bare", "other", "none"))
    # What stands twice in each list, or in some of them alone, does not show where one begins.
    turn = next((of for of, times in said.items() if times == count), None)
    starts = [at for of, at in stated if of == turn]
    lists = [
        {of for of, at in stated if a <= at < b and of in said} for a, b in pairwise([*starts, len(text)])
    ]
    first = stated[0][1] if stated else 0
    if len(lists) != count or len(lists[0]) < 2 or any(one != lists[0] for one in lists) or (
        any(t.kind == "gpu" for t in tokens) or label_of(text[:first]).fields[1:]
    ):  # fmt: skip
        return None
    cells = (text[a:b].strip(" ,;?") for a, b in pairwise([*starts, len(text)]))
    return tuple(Cell(line.line, cell) for cell in (text[:first].strip(" ,;?"), *cells))


def _even(label: Label, text: str, count: int) -> list[str]:
    """As many cells as there are GPUs, of equally many words in which digits stand alike, most of which the
    label reads: "TSMC N6 TSMC N6 TSMC 7nm TSMC 7nm", "2 x 104 104 120 N/A"."""
    words = _WORD.findall(text)
    size, rest = divmod(len(words), count)
    if not size or rest or not label.fields:
        return []
    rows = [words[at : at + size] for at in range(0, len(words), size)]
    stated = [row for row in rows if not CUES["no_value"].fullmatch(" ".join(row))]
    shapes = {tuple(any(c.isdigit() for c in word) for word in row) for row in stated}
    cells = [" ".join(row) for row in rows]
    read = sum(any(r.values for r in readings(label, cell)) for cell in cells)
    return cells if len(shapes) == 1 and 2 * read >= len(stated) else []


@lru_cache(maxsize=65536)
def _whole(label: Label, text: str) -> tuple[Reading, ...]:
    """What a cell below this label states where it is a value and nothing else."""
    if "PCIe" not in text and sum(len(t.text) for t in scan(text)) < len(text.replace(" ", "")):
        # Words that are no value, whatever the label says.
        return ()
    found = tuple(r for r in readings(label, text) if r.values)
    stated = "".join(r.token.text for r in found).removeprefix("PCIe")
    return found if stated.replace(" ", "") == text.replace(" ", "") else ()


@lru_cache(maxsize=65536)
def _reads(label: Label, text: str, owner: Subject) -> tuple[bool, bool]:
    """Whether a cell below this label states a value and nothing else, and whether its GPU has it."""
    read = _whole(label, text)
    return bool(read), bool(read) and all(is_known(owner, r) for r in read)


def _cut(digits: str, label: Label, owners: Sequence[Subject | None]) -> list[str]:
    """Numbers of as many GPUs that ran together, "312990362", parted as the catalog confirms most of them,
    and of two neighbours one; empty where two ways are as good."""
    found: list[tuple[int, list[str]]] = []

    def part(order: Sequence[Subject | None], at: int, cells: list[str], knew: bool, known: int) -> None:
        owner = order[len(cells)] if len(cells) < len(order) else None
        if owner is None:
            found.extend([(known, cells)] if at == len(digits) else [])
        for end in range(at + 1, min(at + LONGEST_NUMBER, len(digits)) + 1) if owner else ():
            one = digits[at:end]
            if not _WHOLE.fullmatch(one):
                continue
            read, fits = _reads(label, one, owner)
            if fits or (knew and read and one[0] not in "0.,"):
                part(order, end, [*cells, one], fits, known + fits)

    # The columns may stand in another order than the names.
    orders = permutations(owners) if len(owners) < MOST_ORDERED else [tuple(owners)]
    for order in orders if re.fullmatch(r"-*\d[\d.,-]{3,60}", digits) else ():
        part(order, 0, [], True, 0)
    most = max((known for known, _ in found), default=0)
    best = [*dict.fromkeys(tuple(cells) for known, cells in found if known == most)]
    return [*best[0]] if len(best) == 1 and 2 * most >= len(owners) else []


def _sides(text: str, pair: Sequence[Subject]) -> list[str] | None:
    """Of a line the label and the value of each GPU, in order; None for any other line."""
    if len(text) > 2 * SHORT or text.endswith("."):
        return None
    if len(pair) == 2 and (one := _NO_DATA.fullmatch(text)):
        # "Tensor Coresno data336": of one of them a page has nothing.
        return [one["label"].strip(), one["one"] or "-", one["two"] or "-"]
    if glued := _RUN_TOGETHER.fullmatch(text):
        known = label_of(glued[1])
        # Below words that name no field the catalog must confirm each value.
        labels = [known] if known.fields else [label_of(name) for name in INFERRED]
        ways = {
            (*cells,) for label in labels if (cells := _cut(glued[2], label, pair))
            and (label is known or all(_reads(label, *one)[1] for one in zip(cells, pair, strict=True)))
        }  # fmt: skip
        half = glued[2][: len(glued[2]) // 2]
        # "19201920" is one count twice.
        twice = (half, half) if len(pair) == 2 and half * 2 == glued[2] and half.isdecimal() else ()
        apart = next(iter(ways)) if len(ways) == 1 else twice
        return [glued[1].strip(), *apart] if apart else None
    text = _SEAM.sub(" ", text)
    kinds = defaultdict[tuple[str, ...], list[Token]](list)
    for token in scan(_ASIDE.sub(lambda aside: " " * len(aside[0]), text)):
        if token.kind == "gpu":
            return None
        if token.kind != "field" and token.field not in ("dense", "sparse", "none"):
            kinds[token.kind, token.dimension, token.field].append(token)
    # As many of one kind as there are GPUs, with units unless nothing else stands there.
    fits = [one for kind, one in kinds.items() if "bare" not in kind or len(kinds) == 1]
    alike = next((one for one in fits if len(one) == len(pair)), None)
    stated = (t for kind, one in kinds.items() if kind[0] == "value" and "bare" not in kind for t in one)
    if alike is None or min((t.start for t in stated), default=alike[0].start) < alike[0].start:
        # "96 GB HBM2e48 GB GDDR6" of one that is not seen begins with no label.
        return None
    before, between = text[: alike[0].start].strip(), text[alike[0].end : alike[1].start]
    ends = [*(t.start for t in alike[1:]), len(text)] if before else [alike[0].end, len(text)]
    label = before or _ASIDE.sub("", between).strip()
    if not re.search(r"[^\W\d]{2}", label) or not (before or len(pair) == 2):
        return None
    return [label, *(text[t.start : end].strip() for t, end in zip(alike, ends, strict=True))]


def _in_one_line(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """A table that lost all its ends, "GPU A100 L40S Memory 80 GB 48 GB TDP 400 W 350 W": names in a row,
    then a label and as many values, again and again; cells may go on behind the end of a line."""
    # The first names may stand on lines of their own.
    first, top = lines[start].text, start
    names_one = not _is_of_name(first) and len(first) <= ROW and any(t.kind == "gpu" for t in scan(first))
    while names_one and 0 < top > start - MOST_GPUS and _is_of_name(lines[top - 1].text):
        top -= 1
    long = any(len(one.text) > ROW for one in lines[start + 1 : start + 3])
    begins = _leading(lines[start].text) or (long and _head(lines[start].text))
    if top == start and not begins:
        return None
    end = start + 1
    while end < len(lines) and end - start < MOST_LINES and not lines[end].text.rstrip().endswith((".", ":")):
        end += 1
    text, place = _run_together(lines[top:end])
    gpus = _leading(text)
    alone = len({gpu.gpu_ids for gpu in gpus}) == len(gpus)
    if top < start and not (gpus and alone and place(gpus[-1].start) == start - top):
        if not begins:
            return None
        top = start
        text, place = _run_together(lines[top:end])
        gpus = _leading(text)
    # A name that begins a line is another one of the column before: "RTX 4070 Ti" / "RTX 4080 12 GB".
    begun = [gpu for n, gpu in enumerate(gpus) if not n or place(gpu.start) == place(gpus[n - 1].start)]
    own = [gpu for gpu in gpus if place(gpu.start) >= start - top]
    # A space may part thousands, or cells: "16 384 MHz 9 728 MHz".
    texts = dict.fromkeys((text, _SPACED.sub("\u202f", text)))
    names = [one for one in dict.fromkeys((tuple(gpus), tuple(begun), tuple(own))) if len(one) > 1]
    tables = [_rows_in_line(text, one, gpus[-1].end) for text in texts for one in names]
    tables = [rows for rows in tables if len(rows) > LEAST]
    best = (
        max(tables, key=lambda rows: Grid(tuple(rows), scope).worth())
        if len(tables) > 1
        else [*tables, []][0]
    )
    if not best:
        return None
    rows: Rows = [tuple(replace(name, line=lines[start].line) for name in best[0])]
    for label, *cells in best[1:]:
        # What a cell says on its second line is a row of its own with the same label.
        own_line = place(label.line)
        parts = [_by_line(cell, place) for cell in cells]
        for row in zip_longest(*parts, fillvalue=(own_line, "")):
            rows.append(
                tuple(Cell(lines[top + at].line, part) for at, part in ((own_line, label.text), *row))
            )
    ends = max(place(cell.line + len(cell.text) - 1) for row in best for cell in row if cell.text)
    if top < start and len(rows[0]) <= len(gpus):
        # As many values as some of the names: nobody knows whose they are.
        every = " / ".join(gpu.text for gpu in gpus)
        rows[0] = (rows[0][0], *(replace(name, text=every) for name in rows[0][1:]))
    return rows, top + ends + 1, True


def _by_line(cell: Cell, place: Callable[[int], int]) -> list[tuple[int, str]]:
    """What of a cell stands on which line, by the place in the text where it begins."""
    words = [(place(cell.line + m.start()), m[0]) for m in re.finditer("[^ ]+", cell.text)]
    return [(at, " ".join(word for _, word in run)) for at, run in groupby(words, key=lambda one: one[0])]


def _rows_in_line(text: str, gpus: Sequence[Token], last: int) -> Rows:
    """The names and the rows of such a table, each cell with the place in the text where it begins."""
    rows: Rows = [tuple(Cell(0, name) for name in ("", *(t.text for t in gpus)))]
    tokens = [t for t in _with_empty(text) if t.start >= last]
    for n, (before, token, follows) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False), 1):
        if before.dimension == follows.dimension == "bare" and token.numbers and token.dimension != "bare":
            # "661 448 448 TFLOPS 13.4 10 14.9": the unit of the last one is the label of the next row.
            written = re.match(r"[\d.,\u202f]*", token.text)
            tokens[n] = scan(written[0])[0] if written and written[0] else token
            tokens[n] = replace(tokens[n], start=token.start, end=token.start + len(tokens[n].text))
    at = 0
    while at < len(tokens):
        cells, size = _alike(tokens, at, len(gpus))
        first = tokens[at]
        label = text[_label_from(tokens[: at + 1], last) : first.start].strip()
        at += max(1, size)
        if not cells and not (first.kind == "name" and label_of(label).first == first.field):
            continue
        if cells:
            # "24 GB GDDR6X" is one cell.
            while (
                at < len(tokens) and tokens[at].kind == "name" and tokens[at].start - tokens[at - 1].end < 3
            ):
                at += 1
        # A name that follows its label alone is that of all: "Architecture Blackwell AI TOPS 1,824 992".
        last = tokens[at - 1].end
        if len(cells) > 1 == at - tokens.index(cells[-1]):
            # "16 GB on board 24 GB on board"
            behind = text[cells[0].end : cells[1].start].rstrip()
            last += len(behind) * text.startswith(behind, last)
        edges = [*(t.start for t in cells[1:]), last]
        found = zip(cells or [first], edges, strict=True)
        rows.append((Cell(first.start, label), *(Cell(a.start, text[a.start : b].strip()) for a, b in found)))
    return rows


def _of_one_shape(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """Rows that lost what parts their cells, below a head that is lost, too: a GPU, then values of the same
    kinds in each. What a column is of its units and the catalog tell."""
    shape, rows, at, end = _shape(lines[start].text), Rows(), start, start
    while shape and at < len(lines) and at - end < LEAST:
        if _shape(lines[at].text) == shape:
            # The unit of the last one may stand on the next line: "672.0", "GB/s".
            goes_on = at + 1 < len(lines) and re.fullmatch(r"[A-Za-z/]{1,6}", lines[at + 1].text)
            text = f"{lines[at].text} {lines[at + 1].text}" if goes_on else lines[at].text
            begins = [0, *(t.start for t in scan(text)[1:]), len(text)]
            rows.append(tuple(Cell(lines[at].line, text[a:b].strip()) for a, b in pairwise(begins)))
            end = at + 1 + bool(goes_on)
        at += 1
    if len(rows) < LEAST:
        return None
    head = (Cell(lines[start].line, "GPU"), *[Cell(lines[start].line, "")] * len(shape))
    return [head, *rows], end, True


def _under_one_word(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """Rows that lost what parts their cells, as the header did: "GPUVRAMFP16 TFLOPSTDP" above
    "H100 SXM80 GB989700W"."""
    columns = _HEADS.split(lines[start].text) if len(lines[start].text) <= ROW else []
    columns = columns if len(columns) > LEAST else ["GPU", *_columns(lines[start].text)]
    labels = [label_of(column) for column in columns[1:]]
    rows: Rows = [tuple(Cell(lines[start].line, column) for column in columns)]
    if sum(bool(label.fields) for label in labels) < LEAST or kind(columns[0]) == "F":
        return None
    parted = 0
    for line in lines[start + 1 : start + MOST_LINES]:
        cells = tuple(Cell(line.line, cell) for cell in _parted_row(line.text, labels))
        parted += bool(cells)
        if not (row := cells or _row(line, columns[1:])) or (len(rows) > LEAST and not parted):
            break
        rows.append(row)
    return (rows, start + len(rows), True) if parted > 1 else None


def _parted_row(text: str, labels: Sequence[Label]) -> tuple[str, ...]:
    """The name of a GPU and a cell for each label, as the catalog confirms most of them; "" is an empty cell.
    None at all where two ways are as good, or the catalog confirms less than half of the cells."""
    # Each name of a GPU with which it begins and that a cell may follow.
    ends = [match.start() for match in _NAME_ENDS.finditer(text, 1, SHORT)] if len(text) <= ROW else []
    names = [end for end in ends if kind(text[:end]) == "G" and scan(text[:end])[-1].end == end]
    ways = [(known, cells) for end in names[-LEAST:] for known, cells in _parted_cells(text, end, labels)]
    most = max((known for known, _ in ways), default=0)
    best = [cells for known, cells in ways if known == most]
    name, *cells = best[0] if len(best) == 1 and 2 * most >= len(labels) else [""]
    at = len(name)
    for n, cell in enumerate(cells):
        at = max(at, text.find(cell, at) + len(cell))
        if cell and (aside := _ASIDE.match(text, at + (text[at : at + 1] == " "))):
            # "24GB(1008GB/s)": what stands in parentheses with a unit of its own is read, too.
            stated = [t for t in scan(aside[0]) if t.dimension not in ("bare", "other")]
            units = all(t.kind in ("value", "name") and not _fit(t, labels[n].first or "") for t in stated)
            cells[n] += f" {aside[0]}" if stated and units else ""
            at = aside.end()
    return (name, *cells) if name else ()


def _parted_cells(text: str, name: int, labels: Sequence[Label]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The cells behind a name, with how many the catalog confirms; none where two ways are as good."""
    owner = subject_of(text[:name])
    if owner is None:
        return
    rest = _ASIDE.sub(" ", text[name:])
    ends = sorted({*(match.start() for match in _CELL_ENDS.finditer(rest)), len(rest)})
    typed = any(label.first == "memory_type" for label in labels)
    of_type = "memory_type" if typed else "memory_bytes"

    @cache
    def best(at: int, column: int, knew: bool, odd: int) -> tuple[tuple[int, int], tuple[str, ...], int]:
        """(known cells, characters of cells that are read), cells, in how many ways; of no way 0."""
        if column == len(labels):
            return (0, 0), (), int(not rest[at:].strip())
        found: dict[tuple[int, int], list[tuple[tuple[str, ...], int]]] = defaultdict(list)
        for end in (at, *(end for end in ends if at < end <= at + MOST_CELL)):
            cell = rest[at:end].strip(" ~\u2248")
            cell = "" if cell in ("\u2013", "\u2014") else cell
            # Nothing begins like "005 nm".
            stated = cell and not (cell[0] == "0" and cell[1:2].isdigit())
            read, known = _reads(labels[column], cell, owner) if stated else (False, False)
            # Memory alone stands with its type in one cell, where no column is for it.
            read &= labels[column].first == of_type or not ("HBM" in cell or "GDDR" in cell)
            known &= read
            last = column == len(labels) - 1 and end == len(rest)
            if not (end == at or not cell or known or (read and knew and odd < MOST_ODD) or last):
                continue
            apart = known or not rest[end - 1 : end + 1].isdigit() if cell else knew
            (more, length), cells, ways = best(end, column + 1, apart, odd + (bool(cell) and not known))
            if ways:
                # Other words may end the row, "used ~$2k", but a figure among them is none of its column's.
                cell = cell if read or "$" in cell else ""
                found[more + known, length + read * len(cell)].append(((cell, *cells), ways))
        top = max(found, default=(0, 0))
        return top, found[top][0][0] if found else (), sum(ways for _, ways in found[top])

    (known, _), cells, ways = best(0, 0, True, 0)
    if ways == 1:
        yield known, (text[:name], *cells)


def _shape(text: str) -> tuple[tuple[str, str], ...]:
    """What stands behind a GPU with which a line begins, where that are several values and hardly a word."""
    tokens = scan(text) if len(text) <= ROW else ()
    values = tokens[1:]
    if len(values) <= LEAST or tokens[0].kind != "gpu" or not _MAKER.fullmatch(text, 0, tokens[0].start):
        return ()
    words = len(text) - sum(t.end - t.start for t in tokens)
    plain = all(t.kind in ("value", "name") for t in values) and words < 2 * WORDS * len(values)
    return tuple((t.dimension, t.field) for t in values) if plain else ()


def _label_from(tokens: Sequence[Token], start: int) -> int:
    """Where the label of the last of these begins: what a bare number counts stands right before it, as in
    "Node TSMC N6 TSMC N4 Xe cores 24 18"."""
    cell = tokens[-1]
    word = next((t for t in reversed(tokens[:-1]) if t.kind == "field" and t.start >= start), None)
    far = word is not None and cell.dimension == "bare" and cell.start - word.end > MOST_BEHIND
    return word.end if word is not None and far else start


def _leading(text: str) -> list[Token]:
    """The names with which a long line begins, nothing but makers between them."""
    run: list[Token] = []
    for token in scan(text) if len(text) > SHORT and text.count(" ") > LEAST else ():
        apart = _MAKER if run else _CORNER
        if token.kind == "gpu" and apart.fullmatch(text, run[-1].end if run else 0, token.start):
            run.append(token)
        elif run or token.kind == "value":
            break
    return run


def _alike(tokens: Sequence[Token], at: int, count: int) -> tuple[list[Token], int]:
    """As many cells of one shape as there are GPUs, from a token on, nothing but their own words between: the
    first token of each, and how many tokens they are. A cell may be "24 GB GDDR7 256-bit bus"."""
    shapes = [
        ("none",) if t.field == "none" else (t.kind, t.dimension, t.field)
        for t in tokens[at : at + MOST_PARTS * count]
    ]
    if shapes[0][0] in ("field", "gpu"):
        return [], 0
    for size in range(1, min(len(shapes) // count, MOST_PARTS) + 1):
        run = tokens[at : at + size * count]
        apart = any(b.start - a.end > NEAR for a, b in pairwise(run)) or any(t.kind == "gpu" for t in run)
        parts = set(zip(*[iter(shapes[: size * count])] * size, strict=True))
        if not apart and len(parts - {(("none",),)}) == 1:
            return [*run[::size]], size * count
    return [], 0


def _with_empty(text: str) -> tuple[Token, ...]:
    """The typed words of a line with its lone dashes, each a cell that has no value."""
    found = list(scan(text))
    for mark in _EMPTY.finditer(text):
        if all(t.end <= mark.start() or mark.end() <= t.start for t in found):
            found.append(Token(kind="name", start=mark.start(), end=mark.end(), text=mark[0], field="none"))
    return tuple(sorted(found, key=lambda t: t.start))


@lru_cache(maxsize=4096)
def kind(text: str) -> str:
    """G for a GPU's name, F for a field's label, V for all else."""
    text = _SOLD_AS.sub("", text)
    tokens = scan(text) if len(text) <= SHORT else ()
    if not tokens:
        # "Bus", "Error correction (ECC)": words that name a field only where they are a whole label.
        label = label_of(text) if len(text) <= SHORT and text[:1].isupper() else None
        return "F" if label and (label.first or label.ability) else "V"
    covered = sum(t.end - t.start for t in tokens)
    if len(tokens) == 1 and tokens[0].kind == "gpu" and tokens[0].start < 12:
        # "RTX A40": a word that the name itself does not have.
        more = len(_ASIDE.sub("", text)) - tokens[0].start * bool(_BRAND.fullmatch(text[: tokens[0].start]))
        return "G" if covered >= 0.5 * more else "V"
    if CUES["yes"].match(text) or CUES["no"].match(text):
        return "V"
    if all(t.kind == "field" or t.field in ("sparse", "dense") for t in tokens):
        return "F" if covered >= 0.45 * len(CUES["plain_label"].sub("", text)) else "V"
    return "V"


def _run(lines: Sequence[Line], at: int, of: str) -> int:
    """How many lines of one kind begin here."""
    end = at
    while end < len(lines) and end - at <= MOST_GPUS and kind(lines[end].text) == of:
        end += 1
    return end - at


def _cells(lines: Iterable[Line]) -> tuple[Cell, ...]:
    return tuple(Cell(line.line, line.text.strip(" |")) for line in lines)


def _rows_of_lines(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """Labels on a line each, then a GPU and a value for each label on lines of their own."""
    title = CUES["name_label"].fullmatch(lines[start].text.strip(" |")) is not None
    at, named, missed = start + title, 0, 0
    while at < len(lines) and missed <= MOST_MISSED and at - start <= MOST_LINES:
        known = kind(text := lines[at].text) == "F"
        # A few words without a value or a GPU may name one.
        if not known and (
            len(text) > SHORT or text[-1:] == "." or any(t.kind != "field" for t in scan(text))
        ):
            break
        named, missed, at = named + known, 0 if known else missed + 1, at + 1
    fields = at - start - title
    if named < 2 or fields > 2 * named or not _run(lines, at, "G"):
        return None
    header = _cells(lines[start:at])
    rows = [header if title else (Cell(header[0].line, "GPU"), *header)]
    while at < len(lines) and kind(lines[at].text) == "G":
        after = at + 1
        while after < len(lines) and after - at <= fields + 1 and kind(lines[after].text) != "G":
            after += 1
        # A list ends with its last row, and its paragraph with it.
        end = at + fields + 1
        if after > end and lines[end].paragraph != lines[end - 1].paragraph:
            after = end
        # A row with an empty cell is a line short: nobody knows which one.
        if after == end:
            rows.append(_cells(lines[at:after]))
        at = after
    # Words that name no field are labels where two GPUs have as many lines each.
    return (rows, at, True) if named == fields or len(rows) > 2 else None


def _columns_of_lines(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """GPUs on a line each, or those of the title, then labels and values on a line each."""
    gpus = known = _run(lines, start, "G")
    before = lines[max(0, start - 1)]
    if start and gpus and before.paragraph == lines[start].paragraph and kind(before.text) == "G":
        return None  # The head begins above
    # One that the catalog lacks may stand below one that it has, as the title says; "FP64" there is a label.
    titles = " ".join((scope.title, *(line.text for line in lines[max(0, start - MOST_MISSED) : start])))
    while 0 < gpus < MOST_GPUS and start + gpus < len(lines) and (
        kind(text := lines[start + gpus].text) != "F"
        and (_NAMED.fullmatch(text) or (gpus == 1 and " " in text and text in titles))
    ):  # fmt: skip
        gpus += 1
    first = set(scan(lines[start].text)[0].gpu_ids) if gpus else set[str]()
    named = {t.gpu_ids for li in lines[start : start + gpus] for t in scan(li.text) if t.kind == "gpu"}
    if known > len(named) == 1:
        # "RTX4090:", "name: RTX4090"
        return None
    if gpus == 1 and len(scope.pair) == 2 and any(first & set(one.gpu_ids) for one in scope.pair):
        # The first GPU of the title stands above the columns of both.
        gpus, start = 0, start + 1
    above = lines[start - 1].text if start else "." * (SHORT + 1)
    begun = len(above) <= SHORT and kind(above) != "G" and not _COMPARED.fullmatch(above)
    if not gpus and begun and not side_by_side(above):
        # Lines that belong together are looked at once, from the first one.
        return None
    count = gpus or len(scope.pair)
    end = start + gpus
    while end < len(lines) and end - start < LONGEST and len(lines[end].text) <= 2 * SHORT:
        long = len(lines[end].text) > SHORT and re.search(r"[.:]$|, |^\D*$", lines[end].text)
        # Between the lines of two cards, of which the other one may be unknown.
        turns = end - start > gpus + LEAST and lines[end].text.strip(" .").lower() == "vs"
        if long or turns or kind(lines[end].text) == "G" or side_by_side(lines[end].text) or (
            _COMPARED.fullmatch(lines[end].text)
        ):  # fmt: skip
            break
        end += 1
    body = lines[start + gpus : end]
    if (not gpus and count < 2) or not (any(kind(li.text) == "F" for li in body) or _between(body, count)[0]):
        return None
    # Without their own names the columns are the title's GPUs, in an order that the values tell.
    header = [tuple(Cell(lines[start].line, li.text) for li in lines[start : start + gpus])] if gpus else []
    header = [(Cell(lines[start].line, ""), *row) for row in header]
    found = []
    for pattern in (_before, _repeated, _between, _behind):
        rows, last = pattern(body, count)
        table = header + [_cells(row) for row in rows]
        found.append((Grid(tuple(table), scope).worth(), table, start + gpus + last))
    # Of two ways that explain as much the first is the usual one.
    worth, table, last = max(found, key=lambda one: one[0])
    rivals = [one for one in found if one[0] >= 0.9 * worth and one[1] != table]
    # Below one GPU most lines are cells, or the labels stand on the lines of their values.
    cells = sum(len(row) for row in table)
    if len(table) < 3 or (not gpus and rivals) or (gpus == 1 and 2 * cells < last - start):
        return None
    return table, last, gpus > 0


def _in_parentheses(lines: Sequence[Line], start: int, scope: Scope) -> Found:
    """Lines "Larger memory (24 GB vs 16 GB)", or "Boost: 2.6 GHz (2.6 GHz vs 2.5 GHz)", of two GPUs: below
    the name of one of them its value is the first, else they stand as in the title."""
    rows: Rows = []
    at = start
    while len(scope.pair) == 2 and at < len(lines) and (found := _COMPARED.fullmatch(lines[at].text)):
        rows.append(tuple(Cell(lines[at].line, found[n]) for n in ("label", "one", "two")))
        at += 1
    if not rows:
        return None
    above = [line.text[:SHORT] for line in reversed(lines[max(0, start - MOST_MISSED) : start])]
    named = (subject_of(text) for text in (*above, scope.title))
    heading = next((found for found in named if found and not found.several), scope.pair[0])
    turned = not {*heading.gpu_ids} & {*scope.pair[0].gpu_ids}
    names = [Cell(lines[start].line, one.text) for one in scope.pair[:: -1 if turned else 1]]
    tables = [[(Cell(lines[start].line, ""), *order), *rows] for order in (names, names[::-1])]
    # On another page they stand as in the title, whatever is named above: as the catalog confirms more.
    return max(tables, key=lambda table: Grid(tuple(table), scope).worth()), at, True


Arranged = tuple[list[tuple[Line, ...]], int]
"""Rows of a label and its values, and the index behind the last of these lines."""


def _before(body: Sequence[Line], count: int) -> Arranged:
    """Label, value, value: differences in percent may stand beside them, and labels that nobody knows."""
    rows: list[tuple[Line, ...]] = []
    at = end = 0
    while at < len(body):
        after = at + 1
        while after < len(body) and after - at <= MOST_LINES and kind(body[after].text) == "V":
            after += 1
        values = [li for li in body[at + 1 : after] if not _PERCENT.fullmatch(li.text)]
        # The paragraph of the label holds its values; what follows may be the text below the table.
        own = [li for li in values if li.paragraph == body[at].paragraph]
        values = own if len(own) == count else values
        # A value more than there are GPUs: the label is not the one of all of them.
        behind = values[count : count + 2]
        # "Suggested PSU" is the next label.
        behind = [] if behind and _WORDS.fullmatch(behind[0].text) and kind(behind[0].text) != "G" and all(
            t.kind == "field" for t in scan(behind[0].text)) else behind  # fmt: skip
        more = any(t.kind != "field" for li in behind for t in scan(li.text))
        if kind(body[at].text) == "F" and len(values) >= count and not more:
            rows.append((body[at], *values[:count]))
            end = body.index(values[count - 1], at) + 1
        at = after
    return rows, end


def _behind(body: Sequence[Line], count: int) -> Arranged:
    """Value, value, label."""
    rows, _ = _before(body[::-1], count)
    rows = [(label, *values[::-1]) for label, *values in rows[::-1]]
    return rows, body.index(rows[-1][0]) + 1 if rows else 0


def _between(body: Sequence[Line], count: int) -> Arranged:
    """Value, label, value: the first and the second GPU's; the label may be in a language that is not known,
    where the values are of one kind."""
    rows: list[tuple[Line, ...]] = []
    at, end = 1, 0
    while at < len(body) - 1 and count == 2:
        values, label = (body[at - 1].text, body[at + 1].text), label_of(body[at].text)
        stated = [any(readings(label, t)) for t in values]
        # One of them may have none: "240, Tensor Cores, -".
        none = [CUES["no_value"].fullmatch(t.strip()) for t in values]
        named = kind(body[at].text) == "F" and any(stated) and all(
            kind(t) == "V" and (one or empty) for t, one, empty in zip(values, stated, none, strict=True)
        )  # fmt: skip
        typed = [scan(text) for text in values]
        shapes = [[(t.kind, t.dimension, t.field) for t in one] for one in typed]
        alike = len(shapes[0]) == 1 and shapes[0] == shapes[1]
        # Small numbers may count anything.
        alike = alike and (shapes[0][0][:2] != ("value", "bare") or all(
            one[0].text == text and one[0].numbers[0].value >= LARGE
            for one, text in zip(typed, values, strict=True)
        ))  # fmt: skip
        if at > 1 and body[at - 2].text == body[at].text:
            named = alike = False  # The label stands before each value
        if named or (alike and not re.search(r"\d|^\W*$", body[at].text)):
            rows.append((body[at], body[at - 1], body[at + 1]))
            at, end = at + 3, at + 2
        else:
            at += 1
    return rows, end


def _repeated(body: Sequence[Line], count: int) -> Arranged:
    """Label, value, label, value: the label once for each GPU, with one or more values; and in front of the
    first label as many lines for each GPU, whose words say what they are."""
    labels = [n for n, li in enumerate(body) if kind(li.text) == "F"]
    rows: list[tuple[Line, ...]] = []
    if not labels or count < 2:  # labels in a language that is not known stand between values
        return rows, 0
    # The names may stand there once more, each with a price.
    lead = [li for li in body[: labels[0]] if all(t.kind != "gpu" for t in scan(li.text))]
    shapes = [[t.kind + t.field + t.dimension for t in scan(li.text)] for li in lead]
    for at, size in _again(shapes, count):
        if all(shapes[at : at + size]):
            columns = (lead[at + n * size : at + (n + 1) * size] for n in range(count))
            rows += [(replace(lead[0], text=""), *cells) for cells in zip(*columns, strict=True)]
    ends = [*labels, len(body)]
    segments = [body[a:b] for a, b in pairwise(ends)]
    end = 0
    for at, size in _again([segment[0].text for segment in segments], count):
        for n in range(at, at + size):
            group = segments[n : n + size * count : size]
            for k in range(1, max(map(len, group))):
                cells = (one[k] if k < len(one) else replace(one[0], text="") for one in group)
                rows.append((group[0][0], *cells))
        end = ends[at + size * count]
    return (rows if end else []), end


def _again(kinds: Sequence[object], count: int) -> Iterator[tuple[int, int]]:
    """(place, size) of each run of kinds that repeats once for each GPU; the shortest run at a place."""
    at = 0
    while at + count <= len(kinds):
        sizes = range(1, min((len(kinds) - at) // count, MOST_LINES) + 1)
        runs = ([kinds[at + n * size : at + (n + 1) * size] for n in range(count)] for size in sizes)
        size = next((len(run[0]) for run in runs if all(one == run[0] for one in run)), 0)
        if size:
            yield at, size
        at += size * count or 1


# In the order in which they are tried.
READERS: tuple[Callable[[Sequence[Line], int, Scope], Found], ...] = (
    _broken, _lists_beside, _delimited, _separated, _under_one_word, _under_fields, _in_one_line, _under_gpus,
    _in_parentheses, _of_one_shape, _rows_of_lines, _columns_of_lines,
)  # fmt: skip
