"""Give every cell of a table to a GPU and a field, by the orientation that explains the table best."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise, permutations

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.cells import (
    FORMATS,
    SUMMED,
    Label,
    Reading,
    ability_of,
    label_of,
    own_field,
    readings,
)
from gpuwise.judge.audit.read import Cell
from gpuwise.judge.audit.support import FIRM, GRID, LEAST, most_agree
from gpuwise.judge.audit.words import (
    CHIP,
    COUNTED,
    COUNTS,
    CUES,
    FIELDS,
    NAMES,
    Token,
    chip_of,
    count_of,
    scan,
    speaks_of_tokens,
)
from gpuwise.model.judgement import Claim, Number

# In how many of the first columns the name of a row's GPU is looked for.
NAME_COLUMNS = 4
# A second orientation that explains so much of what the best one does leaves the table open.
NEARLY = 0.9
# The share of values that the catalog must confirm where the order of the GPUs is not clear.
SETTLED = 0.6
# Each order of fewer columns than MOST_ORDERED is tried. One other than that of the names is right where it
# alone confirms MOVED values, and AGAINST times those of the names' order alone, which needs LEAST_TOLD.
MOST_ORDERED, MOVED, AGAINST, LEAST_TOLD = 4, 6, 4, 2
# So many cells of a column are looked at.
JUDGED = 64
# GPUs of a machine whose count is not said.
IN_MACHINE = 8
# How near the rates of one format are that sources give for variants of a card (P100: 18.7 and 19.05).
RATES = 0.045
# Characters; a longer cell is prose, and a longer name no name.
LONGEST, NAME = 300, 80
# Fields of which other words of the row say what was measured or offered.
IN_CONTEXT = frozenset({"throughput", "rent per hour", "fits in memory"})
# Fields that are tried for a row or column with an unknown label, and the least number that counts as a
# value of one without a unit.
INFERRED: Sequence[str] = NAMES["inferred"]["labels"]
LARGE = 1000
# What the maker of a card sets.
OF_MAKER = frozenset({"boost_hz", "base_hz", "core_hz", "texels_per_s", "pixels_per_s", "power_w",
                      "launch_price_usd", "price"})  # fmt: skip
# Fields in which forms of one product differ, and the forms that names say.
OF_FORM = frozenset({"power_w", "boost_hz", "base_hz", "core_hz"})
_FORM = re.compile(r"\b(?:pcie|oam|sxm)(?=\d?\b)", re.IGNORECASE)
# Fields in which variants of one product with different memory sizes differ.
DIFFER_BY_SIZE = frozenset({"memory_bytes_per_s", "memory_type", "memory_bus_bits"})
# Dimensions that values of one field have, with a label of it.
OF_ONE_FIELD = {"bytes/s": "memory bandwidth", "bit": "memory bus"}
_ASIDE = re.compile(r"\([^()]{1,40}\)")
_MACHINE = re.compile(rf"{CUES['machine'].pattern}|\bsystems?\b", re.IGNORECASE)
_SIZES = re.compile(r"\d{1,3} ?(?:GB)? ?(?:/|or|and) ?\d{1,3} ?GB", re.IGNORECASE)
_SHARE = re.compile(r"\s*1/\d")
_TIMES_FIRST = re.compile(r"\s*\d{1,3}\s?[x\u00d7]")
# A column head or a cell that is a count of GPUs and nothing else: "8", "three", "4 GPUs", "x2".
_COUNT = re.compile(
    rf"\W*(?:(?P<digits>\d{{1,4}})(?:\.0)?|(?P<word>one|single|{'|'.join(COUNTED)}))"
    r"[ -]?x?\W*(?:gpus?|cards?)?\W*",
    re.IGNORECASE,
)

# Fields of names, and of values by their unit, that say themselves what they are of.
OWN_NAMES = frozenset({"architecture", "chip", "memory_type"})
OWN_FIELDS = {"bytes": "memory_bytes", "bytes/s": "memory_bytes_per_s", "w": "power_w", "nm": "process_nm",
              "bit": "memory_bus_bits"}  # fmt: skip
# Fields of which a table may state what one part of the chip has.
OF_PARTS = SUMMED | {"l2_bytes", "sm_count"}
# The head of a column that names a variant of the GPU above the table and nothing else.
_VARIANT = re.compile(rf"(?:{CUES['form_name'].pattern}|\s?\b(?:Ti|Super|Laptop)\b){{1,3}}", re.IGNORECASE)
_PART = re.compile(r"\bper (?:xcd|gcd|cu|sm|die|tile|core|chiplet|gpc|tpc|wgp)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Subject:
    """The GPU that a place of a document speaks of."""

    text: str
    gpu_ids: tuple[str, ...]
    several: bool = False
    """Different products: "A100 and H100"."""
    count: int = 1
    sure: bool = True
    """False where a heading between may have changed the subject: sure where most claims agree with it."""
    custom: bool = False
    """A consumers' card of a board maker, which sets its clocks and its power."""
    die: bool = False
    """A chip that products are made of: its counts may be those of the whole die."""
    two: tuple[Subject, ...] = ()
    """Of two products each, in the order of the text: "the former" is the first."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a place of a document speaks of before it begins."""

    about: Subject | None = None
    pair: tuple[Subject, ...] = ()
    """The GPUs that a title sets side by side, in its order."""
    ordered: bool = False
    """Whether a table above has shown that the columns stand in this order."""
    title: str = ""
    section: str = ""
    """The titles above that one, the nearest first."""
    above: str = ""
    """The paragraph above; that with a colon above a list is its opening."""
    opening: str = ""
    marks: tuple[str, ...] | None = ()
    """Footnote marks of rates that are sparse; None where a footnote may be about all rates."""
    portable: bool = False
    """Whether the document names GPUs of laptops."""
    short: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the document may call its GPUs for short: "1080", "xtx", "pro 6000"."""
    noted: Mapping[str, Subject] = field(default_factory=dict)
    """The GPUs of footnotes, by their marks."""
    head: tuple[Cell, ...] = ()
    """The header of the table above, which may go on behind the title of a section."""
    asked: str = ""
    """The field that a question right above asks for."""


def subject_of(text: str, tokens: Sequence[Token] | None = None) -> Subject | None:
    """The GPU or GPUs that a name, a cell or a heading speaks of; a machine's name counts its GPUs."""
    gpus = [t for t in scan(text) if t.kind == "gpu"] if tokens is None else tokens
    found = subject(gpus)
    if found is None or found.count > 1:
        return found
    found = of_maker(text, found)
    # Words beside the names: not those of "Server Edition".
    ends = zip([0, *(t.end for t in gpus)], [*(t.start for t in gpus), len(text)], strict=True)
    machine = any(CUES["machine"].search(text, start, end) for start, end in ends)
    if times := CUES["times_gpus"].search(text):
        return replace(found, count=max(1, int(times["a"] or times["b"])))
    machine = machine or any(re.search(r"NVL ?\d\d\b(?! ?GB)", t.text) for t in gpus)
    return replace(found, count=IN_MACHINE) if machine else found


def of_maker(text: str, owner: Subject) -> Subject:
    """The owner as the card of a board maker, where a text that names it speaks of one."""
    said = CUES["board_maker"].search(text) is not None
    consumers = said and any(catalog.get(i).text("segment") == "consumer" for i in owner.gpu_ids)
    return replace(owner, custom=True) if consumers else owner


def subject(gpus: Sequence[Token]) -> Subject | None:
    """The subject that these GPUs make. Variants of one product name are one subject."""
    if not gpus:
        return None
    first, rest = gpus[0], gpus[1:]
    # "V100 (Volta GV100)" names its chip, after which another product is called.
    made = {chip_of(catalog.get(i).text("chip") or "") for i in first.gpu_ids}
    rest = [t for t in rest if t.text not in made]
    ids = tuple(dict.fromkeys(gpu_id for t in (first, *rest) for gpu_id in t.gpu_ids))
    gpus = [first, *rest]
    # "A100 (A100-SXM4-80GB)" narrows; "A100 vs H100" is two.
    shared = set(first.gpu_ids).intersection(*(t.gpu_ids for t in rest))
    several = not shared and any(t.gpu_ids != first.gpu_ids or t.text != first.text for t in rest)
    if shared and rest:
        ids = tuple(gpu_id for gpu_id in ids if gpu_id in shared)
    text = " / ".join(t.text for t in gpus) if several else first.text
    named = {t.gpu_ids: Subject(t.text, t.gpu_ids) for t in gpus} if several else {}
    two = tuple(named.values()) if len(named) == 2 else ()
    return Subject(text, ids, several, max(t.count for t in gpus), two=two)


def name_of(text: str) -> Subject | None:
    """The GPU of a cell that is its name: nothing but names and a few words."""
    tokens = scan(text) if len(text) <= NAME else ()
    gpus = [t for t in tokens if t.kind == "gpu"]
    if not gpus:
        return None
    if CUES["no_whole"].search(text):
        return None
    before = [t for t in tokens if t.kind == "value" and t.start < gpus[0].start]
    named = sum(t.end - t.start for t in gpus)
    # "DGX H100 system"
    rest = CUES["plain_label"].sub("", CUES["board_maker"].sub("", _MACHINE.sub("", text)))
    if named < 0.35 * len(rest):
        return None
    found = None if any(t.dimension not in ("bare", "other") for t in before) else subject_of(text, gpus)
    # "H100 GPU accelerator (PCIe)", but not "A100 40/80GB" or "H100 (SXM/PCIe)"
    form = CUES["form_name"].search(text, gpus[-1].end) if found and not found.several else None
    one = form and "/" not in (text[: form.start()].rstrip()[-1:], text[form.end() :].lstrip()[:1])
    return variant(found, form[0]) if found and form and one else found


def of_chip(text: str) -> Subject | None:
    """The products of the chip that a cell names, whatever product is called so, too."""
    named = CHIP.findall(text) if len(text) <= NAME else ()
    if len(named) != 1 or not (ids := products_of(chip_of(named[0]))):
        return None
    return Subject(text, ids, die=True)


def products_of(chip: str) -> tuple[str, ...]:
    """The GPUs of the catalog that have a chip."""
    return _by_chip().get(chip.lower(), ())


@cache
def _by_chip() -> Mapping[str, tuple[str, ...]]:
    """The GPUs of each chip: a head may name dozens."""
    found: dict[str, tuple[str, ...]] = {}
    for spec in catalog.all_gpus():
        chip = (spec.text("chip") or "").lower()
        found[chip] = (*found.get(chip, ()), spec.id)
    return found


def count_in(text: str) -> int:
    """The count of GPUs that a cell says and nothing else; 0 for any other cell."""
    found = _COUNT.fullmatch(text) if len(text) < NAME else None
    return count_of(found["digits"] or found["word"]) if found else 0


def carded(cell: Cell) -> Cell | None:
    """A cell that begins with the number of a card, with the card's series; None for any other one."""
    number = re.match(r"\d{4}\b(?!\.)", cell.text)
    known = number is not None and number[0][2:] != "00" and catalog.mentions(number[0], loose=True)
    return replace(cell, text=f"RTX {cell.text}") if known else None


def _portable(cell: Cell) -> Cell:
    """A cell below "Laptop GPUs", with the name that its card has there: "RTX 3060 L 6GB"."""
    gpu = next((t for t in scan(cell.text) if t.kind == "gpu"), None) if len(cell.text) <= NAME else None
    if gpu is None or CUES["portable"].search(cell.text):
        return cell
    sold = CUES["sold"].search(gpu.text)
    end = gpu.start + sold.start() if sold else gpu.end
    rest = re.sub(r"^ ?[LM]\b", "", cell.text[end:])
    text = f"{cell.text[:end].rstrip()} Laptop {rest.strip()}".strip()
    return replace(cell, text=text)


# The number of a row, the row, its GPU and the column with the name of that GPU.
Owned = tuple[int, tuple[Cell, ...], Subject, int]


@dataclass(frozen=True, slots=True)
class _Placed:
    """One reading with its owner."""

    cell: Cell
    owner: Subject
    reading: Reading
    row: int
    column: int
    label: str
    known: bool
    """Whether the catalog has this value of the owner."""


def _line_of(placed: _Placed, along: bool) -> tuple[object, ...]:
    """The column, or the row where GPUs stand along the top, with what is read in it."""
    reading = placed.reading
    return (placed.row if along else placed.column, reading.field, reading.sparse, reading.either)


def _told_by_others(placed: Sequence[_Placed], along: bool) -> set[tuple[object, ...]]:
    """Lines of cells of which most are what their GPUs have: a doubt that all of them share is none."""
    lines = defaultdict[tuple[object, ...], list[_Placed]](list)
    for one in placed:
        lines[_line_of(one, along)].append(one)
    return {
        line for line, found in lines.items()
        if len({one.owner.gpu_ids for one in found if one.known}) >= LEAST
        and most_agree(sum(one.known for one in found), len(found))
    }  # fmt: skip


def _cells_below(row: Sequence[Cell], column: int, columns: Mapping[int, Subject]) -> Sequence[Cell]:
    """The cells of a row below a GPU: where a page lost how far cells reach, one is of all columns, or each
    column has two, "90.5 | 181* | 91.6 | 183*"."""
    first, values = min(columns), len(row) - min(columns)
    whole = first == 1 and [*columns] == [*range(1, len(columns) + 1)]
    if whole and values == 1 < len(columns):
        return row[1:]
    at = 2 * (column - first) + first
    return row[at : at + 2] if whole and values == 2 * len(columns) > 2 else row[column : column + 1]


def _straight(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """The rows below the one that names the GPUs, each in the columns of this one."""
    texts = [[cell.text.strip() for cell in row] for row in rows]
    named = [[bool(text) and name_of(text) is not None for text in row] for row in texts[: NAME_COLUMNS + 1]]
    # A row of names is the header, wherever it stands: "GPU type | L40S | A100" below "Small | Large".
    heads = [
        sum(names) > 1
        and 2 * sum(names) >= sum(map(bool, row))
        and not (names[0] and row[-1])
        # Names of one product, "8x V100 | V100 | V100-SXM2", are a row of it.
        and not _is_of_one(text for name, text in zip(names, row, strict=True) if name)
        for names, row in zip(named, texts, strict=False)
    ]
    at = heads.index(True) if any(heads) else 0
    # A row "GPU" says more than a header that lacks some of the names.
    product = CUES["product_label"].fullmatch(texts[at][0]) if any(heads) else None
    above = sum(map(sum, named[:at]))
    if any(heads) and (not above or (product and above < sum(named[at]))):
        # It lacks the corner where a cell is missing at its end, and may stand above each section again.
        short = not texts[at][-1] and len(texts[at]) > 2
        apart = short and not named[at][0]
        head = (replace(rows[at][0], text=""), *rows[at][:-1]) if short and not apart else rows[at]
        body = (
            # Below a header that lacks a cell a group's name, in front of the labels, shifts its rows by one.
            (*row[1:], replace(row[0], text="")) if apart and len(row) == len(head) and text[-1] else row
            for row, text in zip(rows, texts, strict=True) if text != texts[at]
        )  # fmt: skip
        return (head, *body)
    cornered = len(texts) > 2 and texts[0] and not (any(heads) or texts[0][-1] or named[0][0])
    if cornered and not CUES["product_label"].fullmatch(texts[0][0]) and all(
        len(row) == len(texts[0]) and name_of(row[0]) and row[-2] for row in texts[1:]
    ):  # fmt: skip
        # Fields along the top, without the corner above the names.
        rows = ((replace(rows[0][0], text=""), *rows[0][:-1]), *rows[1:])
    # A name on a row of its own is that of the rows below it, which are a cell short.
    found: list[tuple[Cell, ...]] = []
    name: Cell | None = None
    for row, text in zip(rows, texts, strict=True):
        if len(row) > 2 and text[0] and not any(text[1:]):
            name = row[0] if name_of(text[0]) is not None else None
            found += [] if name else [row]
        else:
            found.append((name, *row[:-1]) if name and not text[-1] and name_of(text[0]) is None else row)
    return tuple(found)


def _is_of_one(names: Iterable[str]) -> bool:
    """Whether there is a GPU that all of these names may mean."""
    ids = [{*found.gpu_ids} for name in names if (found := name_of(name)) is not None]
    return bool(set.intersection(*ids))


def _is_of_system(text: str) -> bool:
    """Whether a title, a label or a cell speaks of a machine, a total or several GPUs."""
    return any(CUES[cue].search(text) for cue in ("machine", "total", "times_gpus"))


def _in_pairs(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """Rows "label | value | label | value" of one GPU, with each pair on a row of its own."""
    wide = [row for row in rows if len(row) > 3 and row[0].text != row[1].text]
    known = 0
    for row in wide if not any(name_of(cell.text) for head in rows[:1] for cell in head) else ():
        labels, values = ([scan(cell.text) for cell in row[n::2]] for n in (0, 1))
        stated = [any(t.kind in ("value", "name") for t in tokens) for tokens in (*labels, *values)]
        fields = {label_of(cell.text).first for cell in row[::2]}.difference(("", None))
        known += len(row) % 2 == 0 and not any(stated[: len(labels)]) and any(stated) and len(fields) > 1
    if known < LEAST or 2 * known < len(wide):
        return rows
    return tuple(row[n : n + 2] for row in rows for n in range(0, len(row), 2))


def _stacked(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """Tables that stand side by side, "GPU | VRAM | | GPU | VRAM", one below the other."""
    heads = [cell.text.strip().casefold() for cell in rows[0]] if rows else []
    starts = [n for n, head in enumerate(heads) if head and head == heads[0]]
    spans = [range(a, b) for a, b in pairwise([*starts, len(heads)])]
    apart = all(len({heads[n] for n in span}) == len(span) > 1 for span in spans)
    if len(spans) < 2 or not apart or not all(
        any(start < len(row) and name_of(row[start].text) for row in rows[1:]) for start in starts
    ):  # fmt: skip
        return rows
    columns = [n for n, head in enumerate(heads) if head and heads.index(head) == n]
    found = [tuple(rows[0][n] for n in columns)]
    for span in spans:
        at = {heads[n]: n for n in span}
        for row in rows[1:]:
            cells = [row[n] if (n := at.get(heads[c], len(row))) < len(row) else None for c in columns]
            if any(cell and cell.text.strip() for cell in cells):
                found.append(tuple(cell or replace(row[0], text="") for cell in cells))
    return tuple(found)


@dataclass(slots=True)
class Grid:
    """The typed cells of a table, and what can be told from its first row and columns."""

    rows: tuple[tuple[Cell, ...], ...]
    """The first row may or may not be the header; rows may be ragged."""
    scope: Scope
    trusted: bool = True
    """False where the rows are guessed from plain lines: sure where most of it agrees with the catalog."""
    header: tuple[Cell, ...] = ()
    labels: list[Label] = field(default_factory=list)
    columns: dict[int, Subject] = field(default_factory=dict)
    counting: int | None = None
    ragged: bool = False
    speed: bool = False
    """Whether words above the table name a throughput."""
    above: frozenset[str] = frozenset()
    """What words above the table say: that its prices are for an hour, that it is of whole dies."""
    captions: Sequence[Label] = ()
    """What words above the table say of one field, with the unit that they give it."""
    stars: tuple[str, ...] = ()
    """Marks of labels that stand without them, too: those of rates with sparsity."""
    of_parts: frozenset[int] = frozenset()
    """Rows that state what one part of the chip has, "per XCD"."""
    order: tuple[Subject, ...] = ()
    """The GPUs of the title, as its columns turned out to stand."""
    tokens: bool = False
    """Whether words around the table say that its plain numbers are tokens a second."""
    measured: bool = False
    """Whether a column is of what was measured."""
    on_tensor_cores: frozenset[tuple[str, bool | None]] = frozenset()
    """Formats of rows "FP64 Tensor Core", dense or sparse: a row "FP64" beside them is of ordinary cores."""
    named: bool = False
    """Whether the first column is of names of GPUs, by its head."""
    beside_cpus: bool = False
    """Whether columns are of VRAM or CPUs, beside which plain RAM is the machine's."""

    def __post_init__(self) -> None:
        self.rows = _straight(_stacked(_in_pairs(self.rows)))
        heads_named = [name_of(cell.text) is not None for cell in self.rows[0]] if self.rows else []
        headed = heads_named in ([True, False, True], [True, False, False], [False, False, True])
        if (headed or len(self.scope.pair) == 2) and all(len(row) == 3 for row in self.rows):
            stating = (
                [any(t.kind in ("value", "name") for t in scan(c.text)) for c in row] for row in self.rows
            )
            if 2 * sum(cells == [True, False, True] for cells in stating) > len(self.rows):
                # "8 GB | Memory | 12 GB": the labels stand between the values of two GPUs.
                self.rows = tuple((label, a, b) for a, label, b in self.rows)
        # Below "GPU" and along the top "4090" is a card.
        corner = self.rows[0][0].text if self.rows and self.rows[0] else "-"
        self.named = product = CUES["product_label"].fullmatch(corner) is not None
        top = [carded(cell) for cell in self.rows[0][1:]] if self.rows else []
        if len(top) > 1 and all(top):
            self.rows = ((self.rows[0][0], *(cell for cell in top if cell)), *self.rows[1:])
        if product:
            self.rows = tuple((carded(row[0]) or row[0], *row[1:]) if row else row for row in self.rows)
        elif (at := self.names()) is not None:
            self.rows = tuple(
                (*row[:at], carded(row[at]) or row[at], *row[at + 1 :]) if at < len(row) else row
                for row in self.rows
            )
        if CUES["portable"].search(f"{self.scope.title} {self.scope.above[-NAME:]}"):
            self.rows = tuple(tuple(map(_portable, row)) for row in self.rows)
        # "Table 2: Memory bandwidth (GB/s)" says what numbers below "Value" may be, and in which unit.
        above = dict.fromkeys((self.scope.title, self.scope.above))
        said = [label_of(text) for text in above if len(text) <= NAME]
        self.captions = [
            la
            for la in said
            if len(la.fields) == 1 and (la.unit or FIELDS[la.fields[0]].dimension == "count")
        ]
        begins = [scan(cell.text) for cell in self.rows[0]] if self.rows and self.captions else []
        if any([t.kind for t in cell] == ["value"] for cell in begins[1:]) and all(
            row and name_of(row[0].text) is not None for row in self.rows
        ):  # fmt: skip
            # No head, or a blank one, below those words.
            self.rows = (tuple(replace(cell, text="") for cell in self.rows[0]), *self.rows)
        # A row of two cells has one value for all columns: it does not show how wide the table is.
        widths = Counter(len(row) for row in self.rows[1:] if len(row) > 2) or Counter(
            map(len, self.rows[1:])
        )
        width = widths.most_common(1)[0][0] if widths else 0
        # A header that is one cell short lacks the corner above the labels.
        below = [row[0].text for row in self.rows[1:] if row]
        named = name_of(self.rows[0][0].text) is not None if self.rows and self.rows[0] else False
        if self.rows and len(self.rows[0]) + 1 == width and (named or all(map(name_of, below))):
            self.rows = ((Cell(self.rows[0][0].line, ""), *self.rows[0]), *self.rows[1:])
        about, names = self.scope.about, self.rows[0] if self.rows else ()
        heads = [c.text for c in names[1:] if c.text] if about and not label_of(names[0].text).fields else []
        if about and not about.several and len(heads) > 1 and all(map(_VARIANT.fullmatch, heads)):
            # "40 GB PCIe | 80 GB SXM" below "NVIDIA A100 (40 GB / 80 GB)".
            name = about.text.partition("(")[0].strip()
            full = (replace(c, text=f"{name} {c.text}") for c in names[1:])
            self.rows = ((names[0], *full), *self.rows[1:])
        self.header = self.rows[0] if self.rows else ()
        under = self.rows[1] if len(self.rows) > 2 else ()
        spans = any(a.text == b.text != "" for a, b in pairwise(self.header))
        if spans and len(under) == len(self.header) and not any(
            t.kind in ("value", "gpu") for cell in (*self.header, *under) for t in scan(cell.text)
        ):  # fmt: skip
            # Labels in two rows: "Memory" above "Size" and "Bandwidth".
            self.header = tuple(
                a if a.text == b.text else replace(a, text=f"{a.text} {b.text}")
                for a, b in zip(self.header, under, strict=True)
            )
            self.rows = (self.header, *self.rows[2:])
        # Otherwise nobody knows which column a cell of a ragged table belongs to.
        self.ragged = len(self.rows) > 1 and len(self.header) != width
        self.beside_cpus = any(CUES["machine_beside"].search(cell.text) for cell in self.header)
        around = (self.scope.title, self.scope.above, *(cell.text for cell in self.header))
        # Looked at once: a wide row has as many cells as readings.
        self.of_parts = frozenset(
            n for n, row in enumerate(self.rows) if any(_PART.search(c.text) for c in row)
        )
        # Or those of the first row: "~45 t/s".
        rated = (c.text for row in self.rows[1:2] for c in row if re.match(r"[~\u2248]?\d", c.text))
        self.tokens = any(CUES["tokens"].search(text) for text in (*around, *rated))
        self.tokens |= any(map(speaks_of_tokens, around[:2]))
        self.above = frozenset(
            c
            for c in ("hourly", "full_dies", "sparse_rates", "dense_rates")
            if any(CUES[c].search(t) for t in (*around[:2], *(row[0].text for row in self.rows[:2] if row)))
        )
        # "FP16 TFLOPS" and "FP16 TFLOPS*": where both are given the mark is that of sparsity.
        titles = {cell.text for cell in (*self.header, *(row[0] for row in self.rows if row))}
        self.stars = tuple(
            sign
            for sign in "*\u2020\u2021"
            if any(sign in t and t.replace(sign, "") in titles for t in titles)
        )
        tensor = (label_of(t) for t in titles if CUES["on_tensor"].search(t[:NAME]))
        self.on_tensor_cores = frozenset((la.fields[0], la.sparse) for la in tensor if len(la.fields) == 1)
        self.speed = any("throughput" in label_of(text).fields for text in around[:2])
        self.measured = any(
            CUES["measured_rate"].search(text)
            or CUES["tokens"].search(text)
            or "throughput" in label_of(text).fields
            for text in around[2:]
        )
        self.labels = [self.label(cell.text) for cell in self.header]
        # A name that spans all columns is a title, not the head of each.
        title = len({cell.text for cell in self.header}) == 1 < len(self.header)
        owners = {i: name_of(cell.text) for i, cell in enumerate(self.header) if not title}
        chips = {i: of_chip(cell.text) for i, cell in enumerate(self.header) if i}
        if not title and len([*filter(None, chips.values())]) >= max(LEAST, FIRM * len(chips)):
            owners = chips  # "Pascal GP100 | Volta GV100", which is a product's name, too
        self.columns = {i: owner for i, owner in owners.items() if owner is not None}
        if {*self.columns} == {0} and not any(cell.text.strip() for cell in self.header[1:]):
            # "Specs at a glance: RTX 2080 Ti" above empty cells is the title of the rows.
            self.columns = {}
        # A column "GPU" holds names or counts.
        self.counting = next(
            (i for i, cell in enumerate(self.header) if CUES["counting"].fullmatch(cell.text.strip())
             and all(i >= len(row) or name_of(row[i].text) is None for row in self.rows[1:])), None
        )  # fmt: skip

    def names(self) -> int | None:
        """A column of names, some of which may be the number of a card alone: "3090 Ti", "3080"."""
        for at in range(NAME_COLUMNS):
            cells = [row[at] for row in self.rows if at < len(row) and row[at].text.strip()]
            named = sum(name_of(cell.text) is not None for cell in cells)
            numbers = sum(carded(cell) is not None and name_of(cell.text) is None for cell in cells)
            if named > 1 and numbers and named + numbers + 1 >= len(cells):
                return at
        return None

    def label(self, text: str) -> Label:
        """The label's meaning; of a language model, in a table of tokens a second, its speed."""
        found = label_of(text)
        if not found.fields and (count_in(text) or CUES["times_gpus"].fullmatch(text.strip())) and self.speed:
            # "8 GPUs" or "eight" below "ResNet-50, images per second".
            return replace(found, fields=("throughput",))
        if (self.tokens or self.speed) and not found.fields and CUES["speed_label"].fullmatch(text.strip()):
            # "Speed" below "Llama 8B, tokens per second".
            return replace(found, fields=("throughput",))
        if self.tokens and found.unit is None and all(f[:5] == "peak:" for f in found.fields) and (
            name_of(text) is None
            and (CUES["language_model"].search(text) or CUES["weights"].fullmatch(text.strip()))
        ):  # fmt: skip
            return replace(found, fields=("throughput",))
        # "AWS | Azure" below "On-demand, $ per GPU and hour".
        hourly = found.hourly or ("hourly" in self.above and found.fields in ((), ("price",)))
        hourly = hourly and not CUES["longer"].search(text)
        drawn = self.measured and not CUES["rated"].search(text)
        die = "die " if "full_dies" in self.above else ""
        beside = (
            CUES["on_tensor"].search(text) is None and (found.first, found.sparse) in self.on_tensor_cores
        )
        # "Dense peaks, INT8 with sparsity" leaves open which a column is.
        said = {name == "sparse_rates" for name in ("sparse_rates", "dense_rates") if name in self.above}
        sparse = min(said) if found.sparse is None and not found.both and len(said) == 1 else found.sparse
        return replace(
            found, hourly=hourly, drawn=drawn, text=die + found.text, vector=found.vector or beside,
            sparse=sparse, both=found.both or (sparse is None and len(said) > 1),
        )  # fmt: skip

    def claims(self, block: int) -> Iterator[Claim]:
        """Every claim of the table, under the orientation that explains it best."""
        yield from of_size([*self.claimed(block)])

    def claimed(self, block: int) -> Iterator[Claim]:
        """The claims as the cells state them."""
        columns, told = self.in_order(self.columns, self.rows[1:], 1)
        options = [list(self.by_row()), list(self.by_column(columns, self.rows[1:], 1))]
        pair = self.pair()
        if pair:
            # The columns of a pair are not both of the GPU that the text spoke of last.
            pair, told = self.in_order(pair, self.rows, 0)
            told = told or self.scope.ordered
            options += [list(self.by_column(pair, self.rows, 0)), [], []]
        else:
            options += [list(self.about_side()), list(self.about_top())]
        ranked = sorted(options, key=explained, reverse=True)
        best, second = ranked[0], ranked[1]
        self.order = tuple(pair.values()) if told and pair and best is options[2] else ()
        clear = explained(second) < NEARLY * explained(best) and told is not None
        clear = clear and not (pair and best is options[2])
        settled = told or sum(p.known for p in best) >= SETTLED * len(best)
        # Cells that moved would not fit: where nearly all do, the last ones are missing.
        widths = {len(row) for row in self.rows[1:]}
        named = len(widths) == 1 and min(widths) < len(self.header) and any(best is o for o in options[:2])
        firm = named and most_agree(sum(p.known for p in best), len(best))
        # Where empty cells were dropped those behind them moved: the row ends in several, and does not fit.
        ends = {
            n for n, row in enumerate(self.rows) if len(row) > 2
            and not any(c.text.strip() for c in (*row, *[Cell(0, "")] * (len(self.header) - len(row)))[-2:])
        }  # fmt: skip
        pushed = {
            n for n in ends
            if sum(p.known for p in best if p.row == n) < SETTLED * sum(p.row == n for p in best)
        }  # fmt: skip
        # A column that nearly all such rows, or those that are cells short, confirm did not move.
        short = [p for p in best if p.row in ends or len(self.rows[p.row]) != len(self.header)]
        count, right = Counter(p.column for p in short), Counter(p.column for p in short if p.known)
        standing = {at for at, n in count.items() if n > LEAST and right[at] >= FIRM * n}
        # "2x186 GB" makes the row one of a pair of GPUs; the rest may be of both together.
        doubled = {
            (p.row, p.owner.text) for p in best
            # But "8 x 100 GB/s" is of the links of one.
            if p.reading.token.count > 1 == p.owner.count and p.reading.field != "link_bytes_per_s"
        }  # fmt: skip
        of_all, along = set[tuple[object, ...]](), False
        if any(best is one for one in options[:2]) and best:
            along = best is options[1]
            best = [*best, *self.of_themselves(along, best)]
            of_all = _told_by_others(best, along)
        systems = {n for n, cells in enumerate(self.rows) if any(_is_of_system(c.text) for c in cells)}
        headed = _is_of_system(self.scope.title) or _is_of_system(self.scope.above)
        for placed in best:
            owner, row = placed.owner, placed.row
            told_of_all = _line_of(placed, along) in of_all
            placed = replace(
                placed, reading=replace(placed.reading, either=placed.reading.either and not told_of_all)
            )
            if placed.reading.token.count == owner.count > 1:
                # "4 x 936 GB/s" of four GPUs is what each has.
                owner = replace(owner, count=1)
                placed = replace(
                    placed, reading=replace(placed.reading, token=replace(placed.reading.token, count=1))
                )
            # A row that is short below GPUs has its own sign: `pushed`.
            moved = self.ragged or (len(self.rows[row]) != len(self.header) and not self.columns)
            moved = (moved and not firm) or row in pushed
            moved = moved and placed.column not in standing
            sure = (clear or settled) and not moved and (row, owner.text) not in doubled
            sure = sure and (self.trusted or settled)
            # "NVLink 4 (H100) | 900 GB/s" under "Bandwidth"
            name = self.rows[row][0].text if placed.reading.field == "memory_bytes_per_s" else ""
            # Where the label names no GPU, it is unknown whose values several columns hold.
            anonymous = not pair and best is options[2] and not owner.sure
            anonymous = anonymous and len(self.rows[row]) > NAME_COLUMNS - 1
            sure = sure and not (anonymous or CUES["link"].search(name) or is_of_host(owner, placed.reading))
            top = self.columns.get(placed.column)
            place, line = (placed.column, row) if top and top.text == owner.text else (row, placed.column)
            if placed.reading.field == "memory_type" and (sizes := _SIZES.search(placed.cell.text)):
                # "40 / 80 GB HBM2e": the type of either variant, whichever the rest of the table is of.
                owner = replace(owner, text=f"{owner.text} {sizes[0]}")
            claim = claim_of(placed.reading, owner, placed.cell.line, block * GRID + place, sure, line)
            if claim.field == "memory_bytes" and claim.count > 1 and CUES["of_gpus"].search(placed.label):
                # GPU memory in a row that states the number of GPUs is not of the host.
                cells = self.rows[row]
                counted = self.counting is not None or any(
                    t.count > 1 for c in cells for t in scan(c.text[:NAME])
                )
                total = counted and claim.count == owner.count
                # A label that speaks of a total says what it is, where the GPUs are counted.
                said = total and CUES["total"].search(placed.label) is not None
                claim = replace(claim, total=total, sure=claim.sure or (said and sure))
            claim = replace(claim, of_any=owner.die)
            if headed or row in systems or (_is_of_system(placed.label) and not told_of_all):
                claim = replace(claim, doubt="of a system")
            if claim.field in IN_CONTEXT:
                above = " | ".join((self.scope.title, self.scope.above, self.scope.section))
                context = (placed.label, *self.around(placed), above)
                claim = replace(claim, context=context)
            yield claim

    def lists(self) -> Iterator[tuple[int, str]]:
        """(line, text) of the cells that list values without a label: "Specs | 80 GB, 2 TB/s, 400 W"."""
        for row in self.rows[1:]:
            if self.columns:
                # "Features | FP8; NVLink | MIG, ECC" below the names.
                label = label_of(row[0].text if row and 0 not in self.columns else "")
                for column, owner in self.columns.items():
                    if column < len(row) and self.is_list(row[column], label):
                        yield row[column].line, f"{owner.text}: {row[column].text}"
                continue
            named = next((c for c in row[:NAME_COLUMNS] if name_of(c.text) is not None), None)
            name = named.text if named else None
            if not (self.named or self.measured or self.tokens or self.speed):
                # A glossary: "SM | The unit of a GPU. The A100 has 108 SMs".
                yield from ((c.line, c.text) for c in row[1:] if self.is_of_gpu(c, label_of(row[0].text)))
            if named and any(t.kind == "value" and t.dimension == "bytes" for t in scan(named.text)):
                # "8x A100 (640 GB HBM2e)" says more than its name.
                yield named.line, named.text
            for column, cell in enumerate(row[: len(self.labels)]) if name else ():
                if self.is_list(cell, self.labels[column]):
                    yield cell.line, f"{name}: {cell.text}"

    def is_of_gpu(self, cell: Cell, label: Label) -> bool:
        """Whether a cell of a table without GPUs says something of one that it names, by its own words."""
        tokens = scan(cell.text) if len(cell.text) <= LONGEST else ()
        gpu = next((t for t in tokens if t.kind == "gpu"), None)
        name = name_of(cell.text) is not None and all(t.measures not in ("bytes/s", "op/s") for t in tokens)
        own = label.first in {None, "memory_bytes", "memory_type"} | {t.field for t in tokens}
        return own and not name and gpu is not None and gpu.start > 0 and tokens[-1].start > gpu.end

    def is_list(self, cell: Cell, label: Label) -> bool:
        """Whether a cell without a label states several things of the GPU of its row."""
        if label.fields or label.ability is not None or len(cell.text) > LONGEST:
            return False
        tokens = scan(cell.text)
        united = {t.dimension for t in tokens if t.kind == "value" and t.dimension not in ("bare", "other")}
        parts = re.split(r"(?:[,;/+]|\band\b)\s*(?:no |without )?", cell.text)
        # In a table of what was measured a format is that of a run.
        able = any(map(ability_of, parts)) and not (self.measured or self.tokens or self.speed)
        several = len(parts) > 1 and (("," in cell.text and len(united) > 1) or able)
        of_generation = any(t.kind == "name" and t.field.endswith("core_generation") for t in tokens)
        return (several or of_generation) and all(t.kind != "gpu" for t in tokens)

    def worth(self) -> float:
        """How much of the table its columns of GPUs explain."""
        start = 1 if self.columns else 0
        columns, _ = self.in_order(self.columns or self.pair(), self.rows[start:], start)
        return explained(list(self.by_column(columns, self.rows[start:], start)))

    def around(self, placed: _Placed) -> Iterator[str]:
        """The cells of a row with their labels, other figures apart, and the label above the value."""
        tops = {i: cell.text for i, cell in enumerate(self.header)}
        for column, cell in enumerate(self.rows[placed.row]):
            label = self.labels[column].first if column < len(self.labels) else None
            # Nor does the year of a launch date a price.
            if column not in (placed.column, *self.columns) and label not in (*IN_CONTEXT, "launch"):
                yield f"{tops.get(column, '')} {cell.text}"
        yield tops.get(placed.column, "")

    def owned(self) -> list[Owned]:
        """The rows of GPUs down the side."""
        owned: list[Owned] = []
        owner: Subject | None = None
        name = 0
        # Names stand in one of the first columns, or in the one that has most of them.
        names = Counter(i for row in self.rows[1:] for i, cell in enumerate(row) if name_of(cell.text))
        within = [*range(NAME_COLUMNS)]
        within += [i for i, _ in names.most_common(1)] if not any(names[i] for i in within) else []
        for number, row in enumerate(self.rows[1:], 1):
            named = [(s, i) for i in within if i < len(row) and (s := name_of(row[i].text))]
            if named:
                # "h100-80-pcie | NVIDIA H100 PCIe": the narrower of two names of one card.
                inner = (one for one in named if {*one[0].gpu_ids} < {*named[0][0].gpu_ids})
                found, name = next(inner, named[0])
                owner = self.narrowed(found, row, name)
                # "3g.40gb | A100": a part of it.
                if any(CUES["no_whole"].search(cell.text[:NAME]) for cell in row[: name + 2]):
                    owner = replace(owner, sure=False)
            elif not row or row[min(name, len(row) - 1)].text.strip():
                # A blank name continues the row above; any other one is of something unknown.
                owner = None
            if owner is not None:
                owned.append((number, row, self.counted(owner, row), name))
        return owned

    def by_row(self) -> Iterator[_Placed]:
        """GPUs down the side, fields along the top."""
        owned = self.owned()
        rented = any(CUES["machine_column"].search(cell.text) for cell in self.header)
        sizes = sum(label.first == "memory_bytes" for label in self.labels)
        for column, label in enumerate(self.labels if owned else ()):
            cells = [(row[column], o) for _, row, o, n in owned if column < len(row) and column != n]
            # Of two columns of memory one is the machine's share: "Mem (GB) | Mem per GPU (GB)".
            share = sizes > 1 and label.first == "memory_bytes"
            share = share and not label.text.lower().startswith(("gpu", "vram"))
            sure = not share or self.is_of_gpus(cells, label)
            if CUES["plain_memory"].fullmatch(label.text.strip()):
                # So it may be in a list of machines, unless it is mostly what their GPUs have.
                of_host = self.beside_cpus or not label.first
                label = label if label.first else label_of("memory")
                listed = of_host or rented or any(_TIMES_FIRST.match(row[n].text) for _, row, _, n in owned)
                sure = not listed or self.is_of_gpus(cells, label)
                if of_host and not sure:
                    continue
            elif label.ability is None and label.fields in ((), ("peak:",)):
                label, sure = self.inferred(label.text, cells) or (label, True)
            # Whether a machine has a link of its GPUs says nothing of these.
            sure = sure and (label.ability is None or not (rented or self.counting is not None))
            placed = [*self.below(label, owned, column, sure)]
            if not placed and self.labels[column].first and (one := self.inferred(label.text, cells)):
                # No value is of a field that the label names: "Shader performance" above TFLOPS.
                placed = [*self.below(one[0], owned, column, one[1])]
            yield from placed

    def of_themselves(self, along: bool, placed: Sequence[_Placed]) -> Iterator[_Placed]:
        """What cells of GPUs state besides, in words or units that say what it is: "P100 (Pascal)", "5nm, 450
        W". It is what the catalog confirms; where it confirms most of a column, the rest is of that field."""
        read = defaultdict[tuple[int, int], str](str)
        for one in placed:
            read[one.row, one.column] += f" {one.reading.token.text}"
        lines: dict[object, list[_Placed]] = defaultdict(list)
        for row, column, owner in self.cells_of(along):
            cell = self.rows[row][column]
            tokens = scan(cell.text) if len(cell.text) <= NAME else ()
            for place, token in enumerate(tokens):
                named = token.kind == "name" and token.field in OWN_NAMES
                mine = token.field if named else OWN_FIELDS.get(token.measures)
                # "1.94 TB/s (80 GB)" is of a variant.
                variant_of = token.measures == "bytes" and cell.text[: token.start].endswith("(")
                if mine is None or token.text in read[row, column] or variant_of:
                    continue
                label = self.label(self.rows[row][0].text) if along else self.labels[column]
                said = None if named else own_field(cell.text, tokens, place)
                if said not in (None, mine) or (label.first == "" and not named) or self.is_list(cell, label):
                    continue
                # A unit alone does not say whose it is.
                values = token.numbers or (token.name,)
                reading = Reading(field=mine, values=values, token=token, either=not named)
                one = _Placed(cell, owner, reading, row, column, label.text, is_known(owner, reading))
                lines[row if along else column, mine].append(one)
        for found in lines.values():
            all_read = most_agree(sum(one.known for one in found), len(found))
            yield from (one for one in found if one.known or all_read)

    def cells_of(self, along: bool) -> Iterator[tuple[int, int, Subject]]:
        """The row, the column and the GPU of each cell of GPUs down the side, or along the top."""
        if not along:
            for number, row, owner, _ in self.owned():
                yield from ((number, column, owner) for column in range(min(len(row), len(self.labels))))
            return
        for column, owner in self.columns.items():
            yield from ((n, column, owner) for n, row in enumerate(self.rows) if column < len(row))

    def below(self, label: Label, owned: Sequence[Owned], column: int, sure: bool) -> Iterator[_Placed]:
        """What the cells of a column claim of the GPUs of their rows."""
        for number, row, mine, name in owned:
            # "Llama 8B | 16 GB | RTX 4090": what the model takes.
            of_model = "memory_bytes" in label.fields and any(
                CUES["language_model"].search(cell.text) for cell in row[:name]
            )
            # Far behind the name of a machine most is the machine's.
            sure = sure and not of_model and (name < NAME_COLUMNS or "gpu" in label.text.lower())
            if column < len(row) and column != name and not self.is_list(row[column], label):
                one = self.beside(row, column, label) if label.ability is None else label
                times = count_in(self.header[column].text)
                mine = replace(mine, count=times) if times else mine
                yield from self.placed(row[column], one, mine, number, column, sure)

    def beside(self, row: Sequence[Cell], column: int, label: Label) -> Label:
        """The label of a cell, where another one of its row says more: "H100 | FP8 | 1979" below "TFLOPS", or
        "H100 | Memory | 80 | GB", where it is the only value of the row."""
        own = self.labels[column].fields
        others = [(c.text, scan(c.text)) for at, c in enumerate(row) if at != column and len(c.text) <= NAME]
        formats = {t.field for _, one in others for t in one if t.field in FORMATS}
        if own == ("peak:",) and len(formats) == 1:
            return replace(label, fields=(*formats,))
        others = [(t, one) for t, one in others if all(w.kind != "gpu" for w in one)]
        words = [t for t, one in others if (one and all(w.kind == "field" for w in one)) or label_of(t).unit]
        if own or not 0 < len(words) < 3 or any(t.kind == "value" for _, one in others for t in one):
            return label
        return label_of(" ".join(words))

    def is_of_gpus(self, cells: Sequence[tuple[Cell, Subject]], label: Label) -> bool:
        """Whether most sizes of a column are those of the GPUs of their rows, of one or of all."""
        found = [(p, o) for cell, o in cells for p in self.placed(cell, label, o, 0, 0)]
        known = [
            p.known or is_known(o, replace(p.reading, values=tuple(
                replace(v, value=v.value / o.count) for v in p.reading.values if isinstance(v, Number)
            ))) for p, o in found
        ]  # fmt: skip
        return 2 * sum(known) > len(known)

    def by_column(
        self, columns: dict[int, Subject], rows: Sequence[Sequence[Cell]], start: int
    ) -> Iterator[_Placed]:
        """GPUs along the top, fields down the side."""
        section = ""
        # "GPUs per node | four | eight" counts those of each column.
        counting = next((row for row in rows if row and CUES["counting"].fullmatch(row[0].text.strip())), ())
        counts = {i: count for i, cell in enumerate(counting) if (count := count_in(cell.text))}
        for number, row in enumerate(rows if columns else (), start):
            texts = [cell.text for cell in row]
            first = texts[0] if texts and 0 not in columns else next((t for t in texts if t.strip()), "")
            # A row of one text, alone or in every cell, is the title of those below.
            if sum(bool(text.strip()) for text in texts) == 1 or len(set(texts)) == 1 < len(row):
                # A line that states a value is no title, but a row that lost its cell borders.
                section = first if all(t.kind != "value" for t in scan(first)) else ""
                continue
            # "Memory | Bus | 384": the last of several labels says what it is, alone or with the first.
            more = [t for t in texts[1 : min(columns)] if t and all(w.kind == "field" for w in scan(t))]
            label = self.label(more[-1] if more else first)
            if label.fields in ((), ("peak:",)) and (more or section):
                label = self.label(f"{first} {more[-1]}" if more else f"{section} {first}")
            beside = [(row[i], o) for i, o in columns.items() if 0 < i < len(row) and row[i].text.strip()]
            # "7424 Shaders" and "24GB GDDR6" need no label.
            own = [[t.field for t in scan(cell.text) if t.kind == "field" or t.field == "memory_type"]
                   for cell, _ in beside]  # fmt: skip
            plain = label.fields in ((), ("peak:",)) and (first or not all(map(any, own)))
            plain = plain and not (columns is self.columns and any(self.is_list(c, label) for c, _ in beside))
            label, sure = (self.inferred(first, beside) if plain else None) or (label, True)
            for column, owner in columns.items():
                # "RTX 4090 (tok/s)" over rows of models.
                top = self.labels[column] if column < len(self.labels) else label
                top = top if top.first == "throughput" else label
                mine = owner if CUES["of_one"].search(first) else self.counted(owner, row)
                if mine.count == 1 and column in counts and not CUES["of_one"].search(first):
                    mine = replace(mine, count=counts[column])
                for cell in _cells_below(row, column, columns):
                    listed = columns is self.columns and self.is_list(cell, label)
                    if cell.text != first and not listed:
                        # One cell for all columns, or that of the first, where the others are missing.
                        shared = len(row) == 2 < len(columns) or column >= len(row) or cell is not row[column]
                        yield from self.placed(cell, top, mine, number, column, sure and not shared)

    def inferred(self, text: str, cells: Sequence[tuple[Cell, Subject]]) -> tuple[Label, bool] | None:
        """The label of a row or column whose own words are unknown, by what the catalog confirms of at least
        half of its values; and whether so many are confirmed that the others are of that field, too."""
        if CUES["in_use_power"].search(text) or "load" in text.lower():
            return None
        found: list[tuple[int, Label]] = []
        confirmed = Counter[str]()
        cells = cells[:: 1 + len(cells) // JUDGED]
        scanned = {cell: scan(_ASIDE.sub("", cell.text)) for cell, _ in cells}
        names = {t.field for one in scanned.values() for t in one if t.kind == "name" and t.field in FIELDS}
        if len(cells) > 1 == len(names) and all(len(one) == 1 for one in scanned.values()):
            # Below whichever word, "GPU" or "Silicon", AD102 and AD103 are chips. Dates may be of runs or
            # prices: they are launches where most of them are.
            named = replace(label_of(""), fields=(*names,))
            dated = cells if names == {"launch"} else ()
            placed = (next(self.placed(cell, named, owner, 0, 0), None) for cell, owner in dated)
            return (named, True) if 2 * sum(p is not None and p.known for p in placed) >= len(dated) else None
        numbers = not text.strip() and all([t.dimension for t in one] == ["bare"] for one in scanned.values())
        if numbers and len(self.captions) == 1 and (len(self.header) == 2 or len(cells) <= len(self.columns)):
            # "Memory bandwidth in GB/s:" above a column without a head.
            return replace(self.captions[0], text=text), True
        # Cells of words alone say nothing of the others.
        stated = [(cell, owner) for cell, owner in cells if any(t.kind == "value" for t in scanned[cell])]
        cells = stated if len(stated) >= FIRM * len(cells) else cells
        # A line above the table that names formats says which rates it has.
        formats = {t.field for t in scan(self.scope.above[:NAME]) if t.field[:5] == "peak:" != t.field}
        given = {la.first: la.unit for la in self.captions}
        for name in INFERRED if len(cells) > 1 else ():
            label = label_of(name)
            label = replace(label, unit=label_of(text).unit or given.get(label.first))
            if formats and label.fields[0][:5] == "peak:" and label.fields[0] not in formats:
                continue
            if re.search(r"\bTOPS", text) and label.first != "peak:int8":
                continue
            read = [next(self.placed(cell, label, owner, 0, 0), None) for cell, owner in cells]
            mine = [p for p in read if p is not None and p.reading.field == label.first]
            known = confirmed[name] = sum(p.known for p in mine)
            # Small numbers without a unit may be of any field, unless nearly all are what the GPUs have.
            many = most_agree(known, len(cells)) and len({p.cell.text for p in mine}) >= LEAST
            plain = [
                p for p in mine
                if many
                or p.reading.token.dimension != "bare"
                or (label.unit and label.unit[0] == FIELDS[label.fields[0]].dimension)
                or all(number.value >= LARGE for number in p.reading.token.numbers)
            ]  # fmt: skip
            if len(plain) == len(cells):
                found.append((known, label))
        most = max((known for known, _ in found), default=0)
        likely = [label for known, label in found if 2 * known >= max(2 * most, len(cells))]
        # Ordinary cores may reach as much in FP16 as in FP32, which is what is stated of them.
        single = [
            label_of("FP32") for label in likely
            if label.first == "peak:fp16" and confirmed["FP32"] >= max(most - 1, len(cells) / 2)
        ]  # fmt: skip
        # In a label of another alphabet a unit that one field has says which it is.
        units = {t.dimension for one in scanned.values() for t in one}
        alone = len(units) == 1 and {*OF_ONE_FIELD} >= units
        if alone and not likely and len(cells) > 1 and not text.isascii():
            return replace(label_of(OF_ONE_FIELD[units.pop()]), text=text), True
        if len(likely := single or likely) != 1:
            return None
        # Only processes are counted in nm; the clock of one may as well be the base clock of the other, and
        # a price today's.
        of = FIELDS[likely[0].fields[0]].dimension
        if of in ("hz", "usd"):
            return likely[0], most_agree(most, len(cells))
        return likely[0], most > 1 or of == "nm" or not text.isascii()

    def pair(self) -> dict[int, Subject]:
        """The GPUs of the title as columns, where the table names none of them: a header may name chips of
        which a product has the name."""
        pair = self.scope.pair
        own, its = ({i for one in names for i in one.gpu_ids} for names in (self.columns.values(), pair))
        # "Memory | Size | 24 GB | 12 GB" has two labels.
        at = len(self.header) - len(pair)
        between = {t.kind for row in self.rows for cell in row[1:at] for t in scan(cell.text)}
        fits = 0 < at < 3 and 1 < len(pair) < MOST_ORDERED and own.isdisjoint(its) and "value" not in between
        return dict(enumerate(pair, at)) if fits else {}

    def in_order(
        self, columns: dict[int, Subject], rows: Sequence[Sequence[Cell]], start: int
    ) -> tuple[dict[int, Subject], bool | None]:
        """The owners in the order in which they stand, or in another one that the catalog confirms so much
        better that the names were moved; and whether it tells the order, None where it speaks for another."""
        own = [*self.by_column(columns, rows, start)] if 1 < len(columns) < MOST_ORDERED else []
        if not own or 2 * sum(p.known for p in own) > len(own):
            return columns, bool(own)
        ways = [dict(zip(columns, order, strict=True)) for order in permutations(columns.values())]
        found = [{(p.row, p.column, p.reading.field) for p in self.by_column(way, rows, start) if p.known}
                 for way in ways]  # fmt: skip
        best = max(range(len(ways)), key=lambda n: len(found[n]))
        more, less = len(found[best] - found[0]), len(found[0] - found[best])
        # A GPU that the catalog lacks confirms nothing.
        least = MOVED * sum(bool(one.gpu_ids) for one in columns.values()) // len(columns)
        if best and more >= max(least, AGAINST * less):
            return ways[best], True
        rest = max(len(one - found[0]) for one in found)
        other = more > max(less, LEAST_TOLD - 1)
        return columns, None if other else len(found[0]) >= max(LEAST_TOLD, AGAINST * rest)

    def about_side(self) -> Iterator[_Placed]:
        """One GPU outside the table, or named by a row of it: labels in the first column, values beside."""
        owner = None if self.columns else self.scope.about
        for number, row in enumerate(self.rows if not self.columns else ()):
            named = name_of(row[0].text) if row else None
            product = len(row) > 1 and CUES["product_label"].fullmatch(row[0].text) and name_of(row[1].text)
            # A title may span all columns.
            if product or (named is not None and not any(scan(c.text) for c in row[1:] if c != row[0])):
                owner = product or named
            elif named is None and owner is not None and not owner.several and len(row) > 1:
                label = label_of(row[0].text)
                for column, cell in enumerate(row[1:], 1):
                    if label.first == "throughput":
                        yield from self.speeds(cell, label, self.counted(owner, row), number, column)
                        continue
                    # A number without a unit may as well be a rank or a score; and of several columns
                    # without GPUs nobody says whose they are.
                    counted = label.first in COUNTS
                    top = self.labels[column] if number and column < len(self.labels) else label
                    if top.first == "throughput":
                        continue
                    # "FP16 | 989 | 1979" below "Dense | Sparse".
                    marked = (top.sparse is not None or top.vector) and not top.fields
                    label = label_of(f"{row[0].text} {top.text}" if marked else row[0].text)
                    bare = label.unit is None and not counted and re.fullmatch(r"\d{1,3}", cell.text.strip())
                    sure = owner.sure and not bare and len(row) < 4 and column == 1
                    if sure and not marked:
                        # Where a second cell states the field, too, either may be the GPU's.
                        sure = not any(any(readings(label, other.text)) for other in row[2:])
                    for placed in self.placed(cell, label, replace(owner, sure=sure), number, column):
                        # "memory | 74 | 491" below "quantity | place | of"
                        rank = bare and len(row) > 2 and not placed.known
                        yield (
                            replace(placed, reading=replace(placed.reading, either=True)) if rank else placed
                        )

    def speeds(self, cell: Cell, label: Label, owner: Subject, row: int, column: int) -> Iterator[_Placed]:
        """Of a network's row the cells that are one number without a label of its own are speeds."""
        top = self.labels[column] if column < len(self.labels) else label_of("")
        # "1 GPU | 2 GPUs | 4 GPUs" along the top.
        owner = replace(owner, count=count_in(top.text) or owner.count)
        speed = top.first in (None, "throughput") or (top.unit is None and str(top.first)[:5] == "peak:")
        if row and column != self.counting and speed and not CUES["counted_work"].fullmatch(top.text.strip()):
            for placed in self.placed(cell, label, owner, row, column):
                if placed.reading.token.text == cell.text.strip("~\u2248 "):
                    yield placed

    def about_top(self) -> Iterator[_Placed]:
        """One GPU outside the table: labels along the top."""
        owner = None if self.columns else self.scope.about
        for number, row in enumerate(self.rows[1:] if owner else (), 1):
            # Rows of other GPUs are theirs.
            # A network's row is of its speeds, whatever formats stand along the top.
            network = row and label_of(row[0].text).first == "throughput"
            theirs = any(t.kind == "gpu" for c in row[:NAME_COLUMNS] for t in scan(c.text))
            # So is one that begins with the name of a card outside the catalog, but not of a language model.
            model = self.tokens and CUES["language_model"].search(row[0].text)
            theirs |= self.named and not model and re.search("[A-Za-z]", row[0].text) is not None
            if owner is None or network or theirs:
                continue
            for column, cell in enumerate(row[: len(self.labels)]):
                label = self.labels[column]
                host = self.beside_cpus and CUES["plain_memory"].fullmatch(label.text.strip())
                if host or (owner.several and label.first != "throughput"):
                    continue
                # Several rows of specifications are of several things; a speed's row says what it is of.
                sure = owner.sure and (len(self.rows) == 2 or label.first in IN_CONTEXT or label.hourly)
                mine = self.counted(replace(owner, sure=sure), row)
                yield from self.placed(cell, label, mine, number, column)

    def placed(
        self, cell: Cell, label: Label, owner: Subject, row: int, column: int, sure: bool = True
    ) -> Iterator[_Placed]:
        """What a cell claims; where its label is not sure, only what the catalog confirms is."""
        marks = (*(self.scope.marks or ()), *self.stars) if self.stars else self.scope.marks
        text = own_part(cell.text, owner)
        # "1/32" of another rate is none by itself.
        found = readings(label, text, marks=marks) if len(text) <= LONGEST and not _SHARE.match(text) else ()
        for reading in self.fit(text.strip(), label, row, column) or found:
            mine = of_form(owner, cell.text, reading.token)
            if CUES["of_one"].search(label.text):
                # "VRAM per GPU", of a row or below a heading of several.
                mine = replace(mine, count=1)
            known = is_known(mine, reading)
            # "4 MiB L2 cache | per XCD": of a part of it.
            part = reading.field in OF_PARTS and row in self.of_parts
            # The memory of the machine, the power beside hashes a second, which miners set.
            part |= reading.field == "memory_bytes" and CUES["memory_of_host"].search(label.text) is not None
            if reading.field == "power_w":
                heads = " ".join(cell.text for cell in self.header[: column + 1])
                part |= CUES["of_mining"].search(heads) is not None
            # Below "Laptop TGP" stand those of other cards than the desktop's.
            part |= CUES["portable"].search(label.text[:NAME]) is not None and not any(
                "laptop" in gpu_id for gpu_id in owner.gpu_ids
            )
            # Of "Gaudi 3 PCIe" the catalog has the module alone, which draws more.
            part |= reading.field in OF_FORM and self.names_other_form(mine, column, row)
            # Who writes "TFLOPS" may take of each card another rate that it is known for.
            unnamed = not known and reading.field in FORMATS and not self.names_format(column, row)
            others = (replace(reading, field=other) for other in FORMATS if unnamed)
            part |= any(evidence.alike(ratio, 1, RATES) for one in others for ratio in ratios(mine, one))
            reading = replace(reading, either=True) if part or not (sure or known) else reading
            yield _Placed(cell, mine, reading, row, column, label.text, known)

    def fit(self, text: str, label: Label, row: int, column: int) -> list[Reading]:
        """Whether a model fits, as a cell says: "Can't fit" beside "Llama 70B Q4", "Yes" below "Fits"."""
        fits, asked = CUES["fits"].match(text), CUES["fits"].search(label.text) and len(text) <= LEAST
        no = fits["not"] if fits else asked and CUES["no"].match(text)
        cells = (*self.header[column : column + 1], *self.rows[row])
        if not (fits or no or (asked and CUES["yes"].match(text))) or not any(
            CUES["parameters"].search(cell.text) for cell in cells
        ):  # fmt: skip
            return []
        token = Token(kind="name", start=0, end=len(text), text=text)
        return [Reading(field="fits in memory", values=("no" if no else "yes",), token=token)]

    def names_other_form(self, owner: Subject, column: int, row: int) -> bool:
        """Whether the head of a column or of a row, or the cell for forms, names one that it lacks."""
        of_form = (c for h, c in zip(self.header, self.rows[row], strict=False) if "form" in h.text.lower())
        cells = (*self.header[column : column + 1], *self.rows[row][:1], *of_form)
        said = {m[0].lower() for cell in cells for m in _FORM.finditer(cell.text[:NAME])}
        forms = {catalog.get(i).text("form") for i in owner.gpu_ids}
        return bool(said) and said.isdisjoint(forms) and None not in forms

    def names_format(self, column: int, row: int) -> bool:
        """Whether the head of a column or of a row names a format of numbers."""
        cells = (*self.header[column : column + 1], *self.rows[row][:1])
        return any(t.field in FORMATS for cell in cells for t in scan(cell.text[:NAME]))

    def narrowed(self, owner: Subject, row: Sequence[Cell], name: int) -> Subject:
        """The variants that a column for form or memory leaves: "H100 | SXM5"; of two sizes both."""
        words = [scan(cell.text) for cell in row[: len(self.header)]]
        both = any(sum(len(t.numbers) for t in one if t.dimension == "bytes") > 1 for one in words)
        for column, (cell, one) in enumerate(zip(row, words, strict=False)):
            if len(owner.gpu_ids) < 2 or column == name or len(cell.text) >= 24:
                continue
            sized = both and any(t.dimension == "bytes" or t.field == "memory_type" for t in one)
            if CUES["variant"].search(self.header[column].text) and not sized:
                owner = variant(owner, cell.text)
        return owner

    def counted(self, owner: Subject, row: Sequence[Cell]) -> Subject:
        """The owner as often as a column for the count of GPUs says."""
        at = self.counting
        count = count_in(row[at].text) if at is not None and at < len(row) else 0
        return replace(owner, count=count) if count else owner


def own_part(cell: str, owner: Subject) -> str:
    """What a cell says of its owner: "80 GB HBM3" of "80 GB HBM3 (H200: 141 GB HBM3e)"."""
    found = CUES["in_brackets"].search(cell) if "(" in cell else None
    named = [t.gpu_ids for t in scan(found[0]) if t.kind == "gpu"] if found else []
    other = any(set(owner.gpu_ids).isdisjoint(ids) for ids in named)
    return cell[: found.start()] if found and other else cell


def variant(owner: Subject, words: str) -> Subject:
    """The variants of the owner that these words leave; the owner where they say nothing."""
    found = subject_of(f"{CUES['form_name'].sub('', owner.text)} {words}")
    ids = tuple(i for i in found.gpu_ids if i in owner.gpu_ids) if found else ()
    return replace(owner, gpu_ids=ids) if 0 < len(ids) < len(owner.gpu_ids) else owner


def of_form(owner: Subject, text: str, token: Token) -> Subject:
    """The variant that words behind a value name: "700 W (SXM), 350 W (PCIe)"."""
    form = None if owner.several else CUES["form"].match(text, token.end)
    # "40 GB (80 GB)" is two sizes.
    form = form if form and not (form["form"][0].isdigit() and token.dimension == "bytes") else None
    return variant(owner, form["form"]) if form else owner


def of_size(stated: Sequence[Claim]) -> Iterator[Claim]:
    """The claims of a sentence or a table; where one size is stated of a GPU, "A100: 40 GB HBM2, 2,039 GB/s",
    they are of the variants of that size."""
    sizes: dict[object, list[Claim]] = defaultdict(list)
    for claim in stated:
        if claim.field == "memory_bytes":
            sizes[claim.block, claim.gpu_ids].append(claim)
    for claim in stated:
        beside = sizes.get((claim.block, claim.gpu_ids), [])
        ids: tuple[str, ...] = ()
        if claim.field in DIFFER_BY_SIZE and not claim.at_most and len(beside) == 1:
            size = beside[0]
            plain = size.sure and size.count == 1 == len(size.values) and not size.several
            ids = tuple(
                i for i in claim.gpu_ids if plain and evidence.supports(i, size.field, size.values[0])
            )
        yield replace(claim, gpu_ids=ids or claim.gpu_ids)


def is_known(owner: Subject, reading: Reading) -> bool:
    """Whether the catalog has one of the values of one of the GPUs."""
    return any(evidence.supports(i, reading.field, v) for i in owner.gpu_ids[:8] for v in reading.values)


def is_of_host(owner: Subject, reading: Reading) -> bool:
    """Whether memory is of a kind that the machine has beside a GPU, which has none of its kind."""
    plain = reading.field == "memory_type" and all(
        str(v).startswith(("DDR", "LPDDR")) for v in reading.values
    )
    known = (str(k.value) for i in owner.gpu_ids for k in evidence.of(i, "memory_type"))
    cards = {f"G{v}X" for v in reading.values}  # "DDR5" is that of a card with GDDR5X
    return plain and not any(name.startswith("LPDDR") or name in cards for name in known)


def is_multiple(owner: Subject, reading: Reading) -> bool:
    """Whether the label of a reading allows its ratio to the known value of a GPU (`Reading.times`); True
    where no value is known."""
    if reading.times is None:
        return False
    least, most = reading.times
    found = ratios(owner, reading)
    return not found or any(least <= ratio <= most for ratio in found)


def ratios(owner: Subject, reading: Reading) -> list[float]:
    """How many times each known value of a GPU the values of a reading are."""
    known = [k.value for i in owner.gpu_ids for k in evidence.of(i, reading.field)]
    stated = [v.value for v in reading.values if isinstance(v, Number)]
    return [value / k for value in stated for k in known if isinstance(k, float) and k]


def explained(placed: Sequence[_Placed]) -> float:
    """How much of a table an orientation explains: values that fit, and those that the catalog confirms."""
    return float(sum(1 + one.known for one in placed))


def claim_of(
    reading: Reading, owner: Subject, line: int, block: int, sure: bool, line_of_field: int = 0
) -> Claim:
    """The claim that a reading makes of its owner."""
    makers = owner.custom and reading.field in OF_MAKER
    total = reading.total and owner.count > 1
    return Claim(
        line=line, gpu=owner.text, gpu_ids=owner.gpu_ids, field=reading.field, values=reading.values,
        stated=reading.token.text.replace("\u202f", " "), block=block, line_of_field=line_of_field,
        approximate=reading.token.approximate, at_most=reading.token.at_most,
        is_range=reading.token.is_range, sparse=reading.sparse, vector=reading.vector,
        several=owner.several, count=owner.count * reading.token.count,
        sure=sure and not (reading.either or makers or (is_multiple(owner, reading) and not total)),
        total=total, group="" if owner.sure else " ".join(owner.gpu_ids),
    )  # fmt: skip
