"""Tables that lost their mark-up: cells parted by pipes, tabs or spaces, one a line, or run together.

A run of plain lines becomes tables where its typed words repeat as the rows of a table do: a line of
field words followed by lines that begin with a GPU, or a line of GPUs followed by lines that begin with
a field. The values of a row are given to its columns in order, each to a column of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise

from gpuwise.judge.audit import evidence, kinds
from gpuwise.judge.audit.cells import Label, label_of, readings
from gpuwise.judge.audit.read import Cell, Line, Table
from gpuwise.judge.audit.tables import claim_of, subject
from gpuwise.judge.audit.words import COUNTS, CUES, FIELDS, Token, scan

# Characters of a line that may be one cell of a table, and of one that may be a row or a header.
SHORT, ROW = 64, 300
MOST_GPUS = 12
# Between two labels of a table with a cell on each line.
MOST_LINES = 40
# Characters of one number of a row that ran together.
DIGITS = 10
# What a number is worth as a field of its GPU: right, wrong in a known way, or merely of likely size.
RIGHT, EXPLAINED, LIKELY = 2.0, 1.5, 0.5
# Characters of other words on a line that is a value.
REST = 6
# The share of values that must be right where those that are not are to be judged, too.
SETTLED = 0.6
# By so much the best way to split digits must be better than the next.
CLEAR = 1.0

_MODEL = r"(?:NVIDIA|AMD|GeForce|Radeon|RTX|GTX|MI\d{3}|G?[ABHLTV]\d{2,3}S?(?!\d)|[LT]4(?!\d)|GB\d{3})"
_GLUED = re.compile(rf"[A-Za-z0-9)](?<!G){_MODEL}")
_GLUE = re.compile(
    rf"(?<=[A-Za-z0-9)])(?:(?<![GM])|(?<=SXM))(?={_MODEL})|(?<=[A-Za-z0-9])(?=[A-Z][a-z]{{3}})(?!Force)"
)
_NAMED = re.compile(r"(?:\w+ ){0,3}[A-Z]{1,3} ?\d{2,4}[A-Za-z]{0,2}(?: \w+)?")
_PARTED = re.compile(r" *\| *| *\t *| {3,}|\s+\u2502\s+")
_RULE = re.compile(r"[\s|:+=\u2500-\u257f-]+")
_PAIRED = re.compile(r"[|\t] ?[\w ()-]{2,30}:\s*\S")
_TITLE = re.compile(
    r"(?:gpu|model|chip|card|name|graphics card|accelerator)s?(?: model| name)?", re.IGNORECASE
)
_VERSUS = re.compile(
    r"\W*(?:vs?\.?|versus|or|against|compared (?:to|with)|/|\|)\W*(?:the |nvidia |amd )*", re.I
)
_NUMBERS = re.compile(r"[\d.,]{2,60}")
_NUMBER = re.compile(r"(?!0\d)(?:\d{1,3}(?:,\d{3})+|\d{1,6}(?:\.\d{1,3})?)")
_CAPITAL = re.compile(r"(?<=[a-z0-9)])(?=[A-Z\u2713\u2717\u2014])|(?<=\u2014)(?=\S)")
_NONE = re.compile(r"(?:No|None|N/?A|TBD|Not \w+|[\u2013\u2014\u2717-])(?: \([^)\d]*\))?")
_NEXT_CELL = re.compile(r"(?<=[a-z0-9)])(?=[A-Z][A-Z]?[a-zA-Z]*\d{2,}|[A-Z][a-z]{3,} )")
_PERCENT = re.compile(r"[+\u2212-]?\d[\d.,]{0,6} ?%")

Found = tuple[Table, int] | None
"""A table and the index of the first line behind it."""


def tables(lines: Sequence[Line], title: str) -> Iterator[Line | Table]:
    """The lines, with those that are rows of a table replaced by it; under the last heading of two GPUs."""
    whole: list[Line] = []
    for line in lines:
        label, value = (li.text.strip() for li in whole[-2:]) if len(whole) > 1 else ("", "")
        if line.text.strip() == "|" and "|" not in value and re.fullmatch(r"[^|]+\|", label):
            # A value and its last pipe stand on lines of their own.
            whole[-2:] = [replace(whole[-1], text=f"{label} {value}")]
        else:
            whole.append(line)
    rows = _around_labels(whole, title)
    at = done = 0
    while at < len(whole):
        if at not in rows:
            at += 1
            continue
        yield from _tables(whole[done:at])
        group = list[tuple[Cell, ...]]()
        header: tuple[Cell, ...] = ()
        while at in rows:
            header, row = rows[at]
            group += [row] if row else []
            at += 3
        if group:
            yield Table((header, *group))
        done = at
    yield from _tables(whole[done:])


def _tables(lines: Sequence[Line]) -> Iterator[Line | Table]:
    at = 0
    while at < len(lines):
        for reader in (_delimited, _under_fields, _under_gpus, _one_cell_a_line):
            found = reader(lines, at)
            if found is not None:
                table, at = found
                yield table
                break
        else:
            yield lines[at]
            at += 1


def versus(text: str) -> tuple[Token, ...]:
    """The two GPUs that a title compares, "X vs Y"; empty for any other text."""
    gpus = tuple(t for t in scan(text) if t.kind == "gpu") if len(text) <= ROW else ()
    if len(gpus) != 2 or gpus[0].gpu_ids == gpus[1].gpu_ids:
        return ()
    return gpus if _VERSUS.fullmatch(text, gpus[0].end, gpus[1].start) else ()


def _around_labels(lines: Sequence[Line], title: str) -> dict[int, tuple[tuple[Cell, ...], tuple[Cell, ...]]]:
    """(header, row) by first line of each value, label, value on three lines below a title of two GPUs.

    The values are the first and the second GPU's, where that fits the catalog at least as well as the other
    way round; else the row is empty, so that nothing is read from these lines.
    """
    pair, named = versus(title), [_kind(line.text) for line in lines]
    pairs: list[tuple[Token, ...]] = []
    for line, name in zip(lines, named, strict=True):
        # A line that names another GPU alone begins a section of its own.
        own = set(scan(line.text)[0].gpu_ids) if name == "G" else set[str]()
        left = bool(own) and not own & {i for gpu in pair for i in gpu.gpu_ids}
        pair = versus(line.text) or (() if left else pair)
        pairs.append(pair)
    cells = [_only_value(line.text) for line in lines]
    units = [(c.measures or c.field) if c else "" for c in cells]
    places = [n for n, kind in enumerate(named) if kind == "F"]
    # "FP32, 51 TFLOPS, FP32, 19.5 TFLOPS" has its label before each value.
    repeated = {n for two in pairwise(places) if lines[two[0]].text == lines[two[1]].text for n in two}
    labels = [n for n in places if 0 < n < len(lines) - 1 and pairs[n] and n not in repeated]
    around = [n for n in labels if units[n - 1] and units[n - 1] == units[n + 1]]
    # "Label, value, value" shows the same where two rows share a unit, "label, value" where all do.
    if len(around) <= sum(
        units[n + 1] != "" and units[n + 1 : n + 2] == units[n + 2 : n + 3] for n in labels
    ):
        return {}
    outer = {n: "F" in (*named[max(0, n - 2) : n - 1], *named[n + 2 : n + 3]) for n in around}
    # A row between two labels may be two pairs, except where a value that has no label stands beside it.
    beside = [cell for n in around for cell in (*cells[max(0, n - 2) : n - 1], *cells[n + 2 : n + 3])]
    sure = any(beside)
    chosen: list[int] = []
    for label in around:
        if (sure or not outer[label]) and (not chosen or label - chosen[-1] > 2):
            chosen.append(label)
    fits = {n: [_fits(lines, n, pairs[n], turned) for turned in (False, True)] for n in chosen}
    straight, turned = (sum(sum(fit[way]) for fit in fits.values()) for way in (0, 1))
    clear = straight > turned and straight >= SETTLED * 2 * len(chosen)
    rows: dict[int, tuple[tuple[Cell, ...], tuple[Cell, ...]]] = {}
    for label in chosen:
        header = tuple(Cell(lines[label - 1].line, name) for name in ("", *(g.text for g in pairs[label])))
        row = tuple(Cell(lines[at].line, lines[at].text) for at in (label, label - 1, label + 1))
        kept = clear or (straight >= turned and all(fits[label][0]))
        rows[label - 1] = (header, row if kept else ())
    return rows


def _only_value(text: str) -> Token | None:
    """The value, or the name, of a line that is nothing else."""
    tokens = scan(text) if len(text) <= SHORT else ()
    values = [t for t in tokens if t.kind == "value"] or [t for t in tokens if t.kind == "name"]
    rest = len(re.sub(r"\W", "", text)) - sum(len(re.sub(r"\W", "", t.text)) for t in tokens)
    typed = all(t.kind in ("value", "name") for t in tokens)
    return values[0] if len(values) == 1 and typed and rest < REST else None


def _fits(lines: Sequence[Line], label: int, pair: Sequence[Token], turned: bool) -> list[bool]:
    """Whether the values before and after a label are the catalog's of two GPUs, or of these turned."""
    fits = []
    for at, gpu in zip((label - 1, label + 1), reversed(pair) if turned else pair, strict=True):
        found = list(readings(label_of(lines[label].text), lines[at].text))
        fits.append(
            any(evidence.supports(i, r.field, v) for i in gpu.gpu_ids for r in found for v in r.values)
        )
    return fits


def _delimited(lines: Sequence[Line], start: int) -> Found:
    """Lines with pipes, tabs or wide gaps between the cells."""
    rows: list[tuple[Cell, ...]] = []
    at = start
    while at < len(lines):
        text = lines[at].text
        # Fields that name their values between pipes ("VRAM: 24 GB | TDP: 450 W") are pairs, not cells.
        if at == start and _PAIRED.search(text):
            return None
        if _RULE.fullmatch(text):
            at += 1
            continue
        parts = _PARTED.split(text.strip("| "))
        if len(parts) < 2 or (len(parts) == 2 and "\t" not in text and "|" not in text):
            break
        if rows and sum(_kind(part) == "G" for part in parts) > 1:
            # The header of the next table.
            break
        rows.append(tuple(Cell(lines[at].line, part) for part in parts))
        at += 1
    return (Table(tuple(rows)), at) if len(rows) > 1 else None


def _under_fields(lines: Sequence[Line], start: int) -> Found:
    """A line of field words, then lines that begin with a GPU: its values go to the fields in order."""
    columns = _columns(lines[start].text)
    rows: list[tuple[Cell, ...]] = [tuple(Cell(lines[start].line, name) for name in ("GPU", *columns))]
    at = start + 1
    while columns and at < len(lines) and (row := _row(lines[at], columns)) is not None:
        rows.append(row)
        at += 1
    return (Table(tuple(rows)), at) if len(rows) > 1 else None


def _columns(text: str) -> list[str]:
    """The labels of a line of field words and few others; "FP16/BF16 (TFLOPS)" is one label."""
    tokens = scan(text) if len(text) <= ROW and ":" not in text else ()
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
    sold = re.search(r"[\s(]+(?=\d{1,3} ?GB$)", tokens[0].text)
    if sold and not any(t.dimension == "bytes" for t in tokens) and (
        any("memory_bytes" in label_of(column).fields for column in columns)
    ):  # fmt: skip
        # The size that tells variants apart stands in the column for it.
        name = tokens[0].start + sold.start()
        behind = tuple(replace(t, start=t.start + name, end=t.end + name) for t in scan(text[name:]))
    values = [t for t in behind if t.kind in ("value", "name") and t.dimension != "other"]
    if not values:
        return None
    starts = {column: values[number].start for number, column in _aligned(values, columns)}
    bounds = [*sorted(starts.values()), len(text)]
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
    # Longest common subsequence with weights.
    best = [[0.0] * (len(columns) + 1) for _ in range(len(values) + 1)]
    for i in range(len(values) - 1, -1, -1):
        for j in range(len(columns) - 1, -1, -1):
            take = best[i + 1][j + 1] + fits[i][j] if fits[i][j] else 0.0
            best[i][j] = max(take, best[i + 1][j], best[i][j + 1])
    i = j = 0
    pairs: list[tuple[int, int]] = []
    while i < len(values) and j < len(columns):
        if fits[i][j] and best[i][j] == best[i + 1][j + 1] + fits[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    taken = {j for _, j in pairs}
    bare = {i for i, value in enumerate(values) if value.dimension == "bare"}
    # A bare number left over, or a column of numbers left empty: who knows which belongs where.
    empty = any(fits[i][j] for i in bare for j in range(len(columns)) if j not in taken)
    if empty or bare - {i for i, _ in pairs}:
        return [(i, j) for i, j in pairs if i not in bare]
    return pairs


def _fit(value: Token, field: str) -> float:
    """How well a value belongs to a field: surely, as a number without a unit, or as a word for none."""
    if not field:
        return 0.0
    dimension = FIELDS[field].dimension
    if value.kind == "name":
        return 1.5 if value.field == field else 0.5 if value.field == "none" else 0.0
    if value.dimension == "bare":
        return 0.9 if dimension not in ("text", "none") else 0.0
    return 1.5 if value.measures == dimension or (field == "price" and value.dimension == "usd") else 0.0


def _under_gpus(lines: Sequence[Line], start: int) -> Found:
    """A line of several GPUs, then lines that begin with a field: as many values as GPUs, in order."""
    text = lines[start].text
    if len(text) > ROW or text.endswith((".", "?", "!")) or start + 1 >= len(lines):
        return None
    if _GLUED.search(text):
        text = _GLUE.sub("\t", text)
    tokens = scan(text)
    gpus = [t for t in tokens if t.kind == "gpu"]
    if not 1 < len(gpus) <= MOST_GPUS or any(t.kind == "value" for t in tokens):
        return None
    rows: list[tuple[Cell, ...]] = []
    at, missed = start + 1, 0
    # One line of something else may stand between two rows.
    while at < len(lines) and missed < 2:
        row = _values_of(lines[at], gpus)
        missed = 0 if row else missed + 1
        rows += [row] if row else []
        at += 1
    at -= missed
    if not any(len(row) > 1 for row in rows) or (len(rows) < 2 and at < len(lines)):
        return None
    header = (Cell(lines[start].line, name) for name in ("", *(t.text for t in gpus)))
    return Table((tuple(header), *rows)), at


def _values_of(line: Line, gpus: Sequence[Token]) -> tuple[Cell, ...] | None:
    """A field and as many values as there are GPUs; None for a line that is something else."""
    text = line.text
    tokens = scan(text) if len(text) <= ROW and not text.endswith(".") else ()
    first = next((n for n, t in enumerate(tokens) if t.kind in ("value", "name")), 0)
    labels = [t for t in tokens[:first] if t.kind == "field"]
    if not labels or any(t.kind == "gpu" for t in tokens):
        return None
    label = label_of(text[: tokens[first].start])
    main = [t for t in tokens[first:] if t.field == "none" or any(_fit(t, f) for f in label.fields)]
    # With a unit on some of them, what has none is something else.
    if len({t.dimension for t in main if t.field != "none"}) > 1:
        main = [t for t in main if t.dimension != "bare"]
    if len(main) == len(gpus) and main[0] is tokens[first]:
        ends = [*(t.start for t in main[1:]), len(text)]
        parts = [text[t.start : end] for t, end in zip(main, ends, strict=True)]
        # The last cell of a run-together line goes without the words of the next column.
        cut = ((part, _NEXT_CELL.search(part, 4)) for part in parts)
        cells = [part[: match.start()] if match else part for part, match in cut]
        return tuple(Cell(line.line, cell.strip()) for cell in (label.text, *cells))
    rest = text[labels[-1].end :]
    digits = _NUMBERS.fullmatch(rest) is not None
    cells = list(_split(rest, label, gpus)) if digits else _CAPITAL.split(rest)
    # Cells that capitals part, "Yes (600 GB/s)No": each one value of the label's kind or a word for none.
    values = [scan(cell) for cell in cells if not _NONE.fullmatch(cell.strip())]
    if len(cells) == len(gpus) and values and all(
        len(one) == 1 and any(_fit(one[0], f) > (0 if digits else 1) for f in label.fields) for one in values
    ):  # fmt: skip
        return tuple(Cell(line.line, cell.strip()) for cell in (text[: labels[-1].end], *cells))
    # A row that belongs to the table, though nobody can tell its values apart.
    return (Cell(line.line, text),) if tokens[first].start < SHORT and label.fields else None


def _split(digits: str, label: Label, gpus: Sequence[Token]) -> Sequence[str]:
    """Numbers that ran together, one for each GPU; empty where two splits explain them about as well."""

    def worth(part: str, gpu: Token) -> float | None:
        reading, owner = next(readings(label, part), None), subject([gpu])
        if reading is None or owner is None:
            return None
        stated = reading.values[0]
        known = [k.value for i in gpu.gpu_ids for k in evidence.of(i, reading.field)]
        values = [value for value in known if isinstance(value, float) and value]
        if isinstance(stated, str) or not values:
            return 0.0
        near = 0.0 if reading.field in COUNTS else evidence.CLOSE
        if any(abs(stated.value - value) <= near * value for value in values):
            return RIGHT
        if kinds.mechanism(claim_of(reading, owner, 0, 0, True)):
            return EXPLAINED
        return LIKELY if any(0.5 < stated.value / value < 2 for value in values) else 0.0

    @cache
    def best(at: int, column: int) -> list[tuple[float, tuple[str, ...]]]:
        """The two likeliest splits of what is left over what GPUs are left."""
        if column == len(gpus) or at == len(digits):
            return [(0.0, ())] if column == len(gpus) and at == len(digits) else []
        found: list[tuple[float, tuple[str, ...]]] = []
        for end in range(at + 1, min(at + DIGITS, len(digits)) + 1):
            part = digits[at:end]
            score = worth(part, gpus[column]) if _NUMBER.fullmatch(part) else None
            if score is not None:
                found += ((score + rest, (part, *parts)) for rest, parts in best(end, column + 1))
        return sorted(found, reverse=True)[:2]

    found = best(0, 0)
    if not found or (len(found) == 2 and found[0][0] - found[1][0] < CLEAR):
        return ()
    parts = found[0][1]
    unknown = sum((worth(part, gpu) or 0.0) < EXPLAINED for part, gpu in zip(parts, gpus, strict=True))
    # Of digits alone all but one number must be known ones.
    return parts if "," in digits or unknown < min(2, len(parts)) else ()


def _one_cell_a_line(lines: Sequence[Line], start: int) -> Found:
    """GPUs or labels on a line each, then values on a line each."""

    def run(kind: str, at: int) -> int:
        end = at
        while end < len(lines) and end - at <= MOST_GPUS and _kind(lines[end].text) == kind:
            end += 1
        return end - at

    title = _TITLE.fullmatch(lines[start].text.strip()) is not None
    gpus = run("G", start)
    if 1 <= gpus <= MOST_GPUS:
        # A GPU that nobody knows may stand beside one that is known; labels too may be unknown.
        while start + gpus < len(lines) and gpus < MOST_GPUS and _NAMED.fullmatch(lines[start + gpus].text):
            gpus += 1
        for skipped in range(0, 4 * (gpus + 1), gpus + 1):
            if run("F", start + gpus + skipped) and run("V", start + gpus + skipped + 1):
                return _labels_and_values(lines, start, gpus, skipped)
        return None
    fields = run("F", start + title)
    at = start + title + fields
    if fields < 2 or not run("G", at):
        return None
    header = tuple(Cell(li.line, li.text) for li in lines[start:at])
    rows = [header if title else (Cell(header[0].line, "GPU"), *header)]
    while at < len(lines) and _kind(lines[at].text) == "G":
        after = at + 1
        while after < len(lines) and after - at <= fields + 1 and _kind(lines[after].text) != "G":
            after += 1
        # A row with an empty cell is a line short: nobody knows which one.
        if after - at == fields + 1:
            rows.append(tuple(Cell(li.line, li.text) for li in lines[at:after]))
        at = after
    return Table(tuple(rows)), at


@lru_cache(maxsize=4096)
def _kind(text: str) -> str:
    """G for a GPU's name, F for a field's label, V for all else."""
    tokens = scan(text) if len(text) <= SHORT else ()
    if not tokens:
        return "V"
    covered = sum(t.end - t.start for t in tokens)
    if len(tokens) == 1 and tokens[0].kind == "gpu" and tokens[0].start < 12:
        return "G" if covered >= 0.5 * len(text) else "V"
    if all(t.kind == "field" for t in tokens):
        return "F" if covered >= 0.45 * len(CUES["plain_label"].sub("", text)) else "V"
    return "V"


def _labels_and_values(lines: Sequence[Line], start: int, gpus: int, skipped: int) -> Found:
    """Rows of a label and one value for each GPU; labels that nobody knows take a row too."""

    def segment(at: int) -> Sequence[Line]:
        """A label and the lines up to the next one."""
        after = at + 1
        while after < len(lines) and after - at <= MOST_LINES and _kind(lines[after].text) == "V":
            after += 1
        return lines[at:after]

    names = [Cell(li.line, li.text) for li in lines[start : start + gpus]]
    rows: list[tuple[Cell, ...]] = [(Cell(names[0].line, ""), *names)]
    at = last = start + gpus + skipped
    while at < len(lines):
        segments = [segment(at)]
        # "FP32 | 51 TFLOPS | FP32 | 19.5 TFLOPS": the label is repeated for each GPU.
        while len(segments) < gpus and (after := at + sum(map(len, segments))) < len(lines):
            if lines[after].text != lines[at].text:
                break
            segments.append(segment(after))
        after = at + sum(map(len, segments))
        if 1 < len(segments) == gpus:
            for k in range(1, max(map(len, segments))):
                cells = (part[k] if k < len(part) else Line(part[0].line, "", False, 0) for part in segments)
                rows.append(tuple(Cell(li.line, li.text) for li in (lines[at], *cells)))
            last = after
        elif len(segments) == 1:
            # Differences in percent stand beside the values; a heading or a label nobody knows may follow.
            values = [li for li in segments[0][1:] if not _PERCENT.fullmatch(li.text)]
            if len(values) >= gpus and not any(scan(li.text) for li in values[gpus : gpus + 1]):
                rows.append(tuple(Cell(li.line, li.text) for li in (lines[at], *values[:gpus])))
                last = at + segments[0].index(values[gpus - 1]) + 1
        if after < len(lines) and _kind(lines[after].text) == "G":
            break
        at = after
    return (Table(tuple(rows)), last) if len(rows) > 2 else None
