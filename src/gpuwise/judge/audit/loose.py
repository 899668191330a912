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

from gpuwise.judge.audit import evidence, kinds
from gpuwise.judge.audit.cells import Label, label_of, readings
from gpuwise.judge.audit.fields import COUNTS, FIELDS
from gpuwise.judge.audit.read import Cell, Line, Table
from gpuwise.judge.audit.scan import Token, scan
from gpuwise.judge.audit.tables import claim_of, subject

SHORT = 64
"""Characters of a line that may be one cell of a table."""
MOST_GPUS = 12
LONGEST = 10
"""Characters of one number of a row that ran together."""
EXPLAINED = 1.5
"""What a number is worth that is wrong in a known way; a right one has 2, one of likely size 0.5."""
CLEAR = 1.0
"""By so much the best way to split digits must be better than the next."""
MOST_LINES = 40
"""Between two labels of a table with a cell on each line."""
_NAMED = re.compile(r"(?:\w+ ){0,3}[A-Z]{1,3} ?\d{2,4}[A-Za-z]{0,2}(?: \w+)?")
_DIGITS = re.compile(r"[\d.,]{2,60}")
_PLAIN = re.compile(r"(?!0\d)(?:\d{1,3}(?:,\d{3})+|\d{1,6}(?:\.\d{1,3})?)")
_WORD = re.compile(r"(?<=[a-z0-9)])(?=[A-Z\u2713\u2717\u2014])|(?<=\u2014)(?=\S)")
_NONE = re.compile(r"(?:No|None|N/?A|TBD|Not \w+|[\u2013\u2014\u2717-])(?: \([^)\d]*\))?")
_PERCENT = re.compile(r"[+\u2212-]?\d[\d.,]{0,6} ?%")
_TITLE = re.compile(
    r"(?:gpu|model|chip|card|name|graphics card|accelerator)s?(?: model| name)?", re.IGNORECASE
)
_PARTED = re.compile(r" *\| *| *\t *| {3,}|\s+\u2502\s+")
_RULE = re.compile(r"[\s|:+=\u2500-\u257f-]+")
_MODEL = r"(?:NVIDIA|AMD|GeForce|Radeon|RTX|GTX|MI\d{3}|G?[ABHLTV]\d{2,3}S?(?!\d)|[LT]4(?!\d)|GB\d{3})"
_GLUED = re.compile(rf"[A-Za-z0-9)](?<!G){_MODEL}")
_GLUE = re.compile(
    rf"(?<=[A-Za-z0-9)])(?:(?<![GM])|(?<=SXM))(?={_MODEL})|(?<=[A-Za-z0-9])(?=[A-Z][a-z]{{3}})(?!Force)"
)


def tables(lines: Sequence[Line]) -> Iterator[Line | Table]:
    """The lines, with those that are rows of a table replaced by it."""
    lines = _whole(lines)
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


def _whole(lines: Sequence[Line]) -> list[Line]:
    """The lines, with a row whose value and last pipe stand on lines of their own put together."""
    found: list[Line] = []
    at = 0
    while at < len(lines):
        label, *after = (li.text.strip() for li in lines[at : at + 3])
        if label.endswith("|") and label.count("|") == 1 and after[1:] == ["|"] and "|" not in after[0]:
            found.append(replace(lines[at + 1], text=f"{label} {after[0]}"))
            at += 3
        else:
            found.append(lines[at])
            at += 1
    return found


Found = tuple[Table, int] | None


def _delimited(lines: Sequence[Line], start: int) -> Found:
    """Lines with pipes, tabs or wide gaps between the cells."""
    # Fields that name their values between pipes ("VRAM: 24 GB | TDP: 450 W") are pairs, not cells.
    if re.search(r"[|\t] ?[\w ()-]{2,30}:\s*\S", lines[start].text):
        return None
    rows: list[tuple[Cell, ...]] = []
    at = start
    while at < len(lines):
        if _RULE.fullmatch(lines[at].text):
            at += 1
            continue
        parts = _PARTED.split(lines[at].text.strip("| "))
        if len(parts) < 2 or (len(parts) == 2 and "\t" not in lines[at].text and "|" not in lines[at].text):
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
    if len(columns) < 2:
        return None
    rows: list[tuple[Cell, ...]] = []
    at = start + 1
    while at < len(lines) and (row := _row(lines[at], columns)) is not None:
        rows.append(row)
        at += 1
    if not rows:
        return None
    number = lines[start].line
    header = (Cell(number, "GPU"), *(Cell(number, name) for name in columns))
    return Table((header, *rows)), at


def _columns(text: str) -> list[str]:
    """The labels of a line of field words and few others; "FP16/BF16 (TFLOPS)" is one label."""
    if len(text) > 240 or ":" in text:
        return []
    tokens = scan(text)
    if any(t.kind in ("value", "gpu") for t in tokens):
        return []
    ends: list[list[int]] = []
    for token in (t for t in tokens if t.kind == "field"):
        if ends and (
            text[ends[-1][1] : token.start].strip(" ") in ("/", "(", "&")
            or token.field in ("peak:", "peak:tensor")
        ):
            ends[-1][1] = token.end
        else:
            ends.append([token.start, token.end])
    if len(ends) < 2:
        return []
    named = sum(b - a for a, b in ends)
    rest = re.sub(
        r"\b(?:gpus?|models?|names?|cards?|nvidia|specs?|best for|use case|accelerators?)\b|\W",
        "",
        text.lower(),
    )
    if named < 0.6 * len(re.sub(r"\W", "", text)) and named < len(rest) - 14:
        return []
    stops = [a for a, _ in ends[1:]] + [len(text)]
    return [text[a:stop].strip() for (a, _), stop in zip(ends, stops, strict=True)]


def _row(line: Line, columns: Sequence[str]) -> tuple[Cell, ...] | None:
    """A GPU and its values under these columns; None for a line that is not such a row."""
    text = line.text
    tokens = scan(text)
    if not tokens or tokens[0].kind != "gpu" or tokens[0].start > 16 or len(text) > 300:
        return None
    sold = re.search(r"[\s(]+(?=\d{1,3} ?GB$)", tokens[0].text)
    if sold and any("memory_bytes" in label_of(c).fields for c in columns) and not any(
        t.dimension == "bytes" for t in tokens
    ):  # fmt: skip
        # The size that tells variants apart stands in the column for it.
        name = tokens[0].start + sold.start()
        tokens = (
            replace(tokens[0], end=name),
            *(replace(t, start=t.start + name, end=t.end + name) for t in scan(text[name:])),
        )
    values = [t for t in tokens[1:] if t.kind in ("value", "name") and t.dimension != "other"]
    if not values:
        return None
    placed = _aligned(values, columns)
    starts = {column: values[number].start for number, column in placed}
    cells = [Cell(line.line, text[: tokens[0].end])]
    bounds = sorted((*starts.values(), len(text)))
    for column in range(len(columns)):
        start = starts.get(column)
        end = next((b for b in bounds if start is not None and b > start), 0)
        cells.append(Cell(line.line, text[start:end].strip() if start is not None else ""))
    return tuple(cells)


def _aligned(values: Sequence[Token], columns: Sequence[str]) -> list[tuple[int, int]]:
    """(value, column) pairs in order, as many as possible, the values of a plain kind first.

    Bare numbers fit many columns: they are placed only where there are as many as columns for them.
    """
    labels = [label_of(column) for column in columns]
    fits = [[_fit(value, label.fields[0] if label.fields else "") for label in labels] for value in values]
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
    bare = [i for i, value in enumerate(values) if value.dimension == "bare"]
    placed = [i for i, _ in pairs if i in bare]
    # A bare number left over, or a column of numbers left empty: who knows which belongs where.
    loose = len(bare) != len(placed) or any(
        j not in taken and any(fits[i][j] for i in bare) for j in range(len(columns))
    )
    return [(i, j) for i, j in pairs if not (loose and i in bare)]


def _fit(value: Token, field: str) -> float:
    if not field:
        return 0.0
    dimension = FIELDS[field].dimension
    if value.kind == "name":
        return 1.5 if value.field == field else 0.5 if value.field == "none" else 0.0
    if value.dimension == "bare":
        return 0.9 if dimension not in ("text", "none") else 0.0
    own = {"bits/s": "bytes/s"}.get(value.dimension, value.dimension)
    return 1.5 if own == dimension or (field == "price" and own == "usd") else 0.0


def _under_gpus(lines: Sequence[Line], start: int) -> Found:
    """A line of several GPUs, then lines that begin with a field: as many values as GPUs, in order."""
    text = lines[start].text
    if len(text) > 300 or text.endswith((".", "?", "!")) or start + 1 >= len(lines):
        return None
    if _GLUED.search(text):
        text = _GLUE.sub("\t", text)
    tokens = scan(text)
    gpus = [t for t in tokens if t.kind == "gpu"]
    if not 1 < len(gpus) <= MOST_GPUS or any(t.kind == "value" for t in tokens):
        return None
    rows: list[tuple[Cell, ...]] = []
    at, missed = start + 1, 0
    while at < len(lines) and missed < 2:
        row = _values_of(lines[at], gpus)
        missed = 0 if row else missed + 1
        if row:
            rows.append(row)
        at += 1
    at -= missed
    if not any(len(row) > 1 for row in rows) or (len(rows) < 2 and at < len(lines)):
        return None
    header = (Cell(lines[start].line, ""), *(Cell(lines[start].line, text[t.start : t.end]) for t in gpus))
    return Table((header, *rows)), at


def _values_of(line: Line, gpus: Sequence[Token]) -> tuple[Cell, ...] | None:
    """A field and as many values as there are GPUs; None for a line that is something else."""
    text = line.text
    tokens = scan(text)
    if len(text) > 300 or not tokens or text.endswith(".") or any(t.kind == "gpu" for t in tokens):
        return None
    first = next((n for n, t in enumerate(tokens) if t.kind in ("value", "name")), None)
    labels = [t for t in tokens[:first] if t.kind == "field"] if first else []
    if not labels or first is None:
        return None
    label = label_of(text[: tokens[first].start])
    main = [t for t in tokens[first:] if any(_fit(t, f) for f in label.fields) or t.field == "none"]
    kinds = {t.dimension for t in main if t.field != "none"}
    # With a unit on some of them, what has none is something else.
    if len(kinds) > 1:
        main = [t for t in main if t.dimension != "bare"]
    if len(main) != len(gpus) or main[0] is not tokens[first]:
        cells = text[labels[-1].end :]
        parts = _split(cells, label, gpus) if _DIGITS.fullmatch(cells) else _words(cells, label)
        if len(parts) == len(gpus):
            return tuple(Cell(line.line, part.strip()) for part in (text[: labels[-1].end], *parts))
        # A row that belongs to the table, though nobody can tell its values apart.
        return (Cell(line.line, text),) if tokens[first].start < SHORT and len(label.fields) else None
    ends = [*(t.start for t in main[1:]), len(text)]
    return (
        Cell(line.line, label.text.strip()),
        *(Cell(line.line, _cut(text[t.start : end])) for t, end in zip(main, ends, strict=True)),
    )


def _words(cells: str, label: Label) -> Sequence[str]:
    """Cells that capitals part, "Yes (600 GB/s)No": each one value of the label's kind or a word for none."""
    parts = _WORD.split(cells)
    values = [scan(part) for part in parts if not _NONE.fullmatch(part.strip())]
    plain = all(len(tokens) == 1 and any(_fit(tokens[0], f) > 1 for f in label.fields) for tokens in values)
    return parts if values and plain else ()


def _split(digits: str, label: Label, gpus: Sequence[Token]) -> Sequence[str]:
    """Numbers that ran together, one for each GPU; empty where two splits explain them about as well."""

    @cache
    def best(at: int, column: int) -> list[tuple[float, tuple[str, ...]]]:
        """The two likeliest splits of what is left over what GPUs are left."""
        if column == len(gpus) or at == len(digits):
            return [(0.0, ())] if column == len(gpus) and at == len(digits) else []
        found: list[tuple[float, tuple[str, ...]]] = []
        for end in range(at + 1, min(at + LONGEST, len(digits)) + 1):
            part = digits[at:end]
            score = _likely(part, label, gpus[column]) if _PLAIN.fullmatch(part) else None
            if score is not None:
                found += ((score + rest, (part, *parts)) for rest, parts in best(end, column + 1))
        return sorted(found, reverse=True)[:2]

    found = best(0, 0)
    if not found or (len(found) == 2 and found[0][0] - found[1][0] < CLEAR):
        return ()
    # Of digits alone all but one number must be known ones.
    parts = found[0][1]
    known = [(_likely(part, label, gpu) or 0.0) >= EXPLAINED for part, gpu in zip(parts, gpus, strict=True)]
    return parts if "," in digits or (known.count(False) < 2 <= len(known) and any(known)) else ()


def _likely(part: str, label: Label, gpu: Token) -> float | None:
    """How well a number explains itself as this field of a GPU; None where it cannot be that."""
    reading, owner = next(readings(label, part), None), subject([gpu])
    if reading is None or owner is None:
        return None
    stated = reading.values[0]
    known = [
        k.value for i in gpu.gpu_ids for k in evidence.of(i, reading.field) if isinstance(k.value, float)
    ]
    if isinstance(stated, str) or not known:
        return 0.0
    near = 0.0 if reading.field in COUNTS else evidence.CLOSE
    if any(abs(stated.value - value) <= near * value for value in known):
        return 2.0
    if kinds.mechanism(claim_of(reading, owner, 0, 0, True)):
        return EXPLAINED
    return 0.5 if any(0.5 < stated.value / value < 2 for value in known if value) else 0.0


def _cut(cell: str) -> str:
    """The last cell of a run-together line without the words of the next column."""
    match = re.search(r"(?<=[a-z0-9)])(?=[A-Z][A-Z]?[a-zA-Z]*\d{2,}|[A-Z][a-z]{3,} )", cell)
    return cell[: match.start()].strip() if match and match.start() > 3 else cell.strip()


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
    tokens = scan(text)
    if not tokens or len(text) > SHORT:
        return "V"
    if tokens[0].kind == "gpu" and tokens[0].start < 12 and all(t.kind == "gpu" for t in tokens):
        return "G" if len(tokens) == 1 and tokens[0].end - tokens[0].start >= 0.5 * len(text) else "V"
    if all(t.kind == "field" for t in tokens):
        covered = sum(t.end - t.start for t in tokens)
        rest = re.sub(
            r"\([^)]*\)|\W|performance|tensor|compute|peak|number|total|max(?:imum)?",
            "",
            text,
            flags=re.IGNORECASE,
        )
        return "F" if covered >= 0.45 * len(rest) else "V"
    return "V"


def _labels_and_values(lines: Sequence[Line], start: int, gpus: int, skipped: int) -> Found:
    """Rows of a label and one value for each GPU; labels that nobody knows take a row too."""
    names = [Cell(li.line, li.text) for li in lines[start : start + gpus]]
    rows: list[tuple[Cell, ...]] = [(Cell(names[0].line, ""), *names)]
    at = last = start + gpus + skipped
    while at < len(lines):
        segments = [_segment(lines, at)]
        # "FP32 | 51 TFLOPS | FP32 | 19.5 TFLOPS": the label is repeated for each GPU.
        while len(segments) < gpus and (after := at + sum(map(len, segments))) < len(lines):
            if lines[after].text != lines[at].text:
                break
            segments.append(_segment(lines, after))
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


def _segment(lines: Sequence[Line], at: int) -> Sequence[Line]:
    """A label and the lines up to the next one."""
    after = at + 1
    while after < len(lines) and after - at <= MOST_LINES and _kind(lines[after].text) == "V":
        after += 1
    return lines[at:after]
