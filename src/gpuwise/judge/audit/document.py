"""Walk through a document: what each heading, table, line and paragraph speaks of, and what it claims."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise, zip_longest

from gpuwise.facts.catalog import mentions
from gpuwise.judge.audit import evidence, grid, layout, prose
from gpuwise.judge.audit.agree import agrees, evidence_of
from gpuwise.judge.audit.cells import NEAR, SUMMED, ability_of, label_of, own_field, readings
from gpuwise.judge.audit.explain import may_be_of_die
from gpuwise.judge.audit.grid import IN_CONTEXT, Scope, Subject, claim_of, of_form, subject, subject_of
from gpuwise.judge.audit.prose import Left, Text
from gpuwise.judge.audit.read import PLAIN, Block, Heading, Line, Table, texts_of
from gpuwise.judge.audit.support import GRID
from gpuwise.judge.audit.typed import short_names
from gpuwise.judge.audit.words import ABILITIES, CHIP, CUES, FIELDS, Token, cue_before, scan
from gpuwise.model.judgement import Claim, Number

# So many lines below the name of a chip its counts may still be meant.
DIE_LINES = 8
# Characters of a line that is a value and nothing else, of a plain heading, and of a line of pairs.
SHORT, TITLE, PAIRS = 24, 90, 600
# Texts of a document, and characters of each, that may say that it is about a rumour.
BEGINS, TITLES = 4, 400
# Blocks of a document that is walked through twice.
MOST_TWICE = 2000
# Fields that a heading may name whose value stands below it.
MOST_ASKED = 2
# Lines are read as plain text, not as a table, where the catalog confirms so many times as much of them then.
BETTER = 2
# So many times what one GPU has is still said of one, beside the count of several.
LIKE_ONE = 1.5
# What rows of offers and of speeds state, which describe no GPU.
OF_MARKET = IN_CONTEXT | {"price", "launch_price_usd"}
# A line of a paragraph that is at least so long may go on in the next.
WRAPPED = 50
_NOTE_MARK = re.compile(r"\[\w{1,2}\]|\(\d\)|[*\u2020\u2021]")
_NOTE = re.compile(rf"({_NOTE_MARK.pattern})[:.)]?\s?(?=\w)")
_ENDS = re.compile(r"[A-Za-z0-9)][.!?] (?=[A-Z])")
_NUMBERED = re.compile(r"(?:\d{1,2}\.){1,3}\d{0,2} (?=[A-Z])")
_BARS, _OF_CORES = re.compile(r"\s[|\u00b7\u2022]\s"), re.compile(r"^(?:tensor|rt)$", re.IGNORECASE)
_WIDE = re.compile(r"(?<=\S)(?: {2,40}| ?\t ?)(?=\S)")
_CAPTION = re.compile(r"\W*tab(?:le|\.) ?(?:\d|[IVX]+\b)", re.IGNORECASE)
# Where a label ends and its value touches it: "SMs128", "Memory Size24 GB GDDR6X", "InterfaceGen 4".
_TOUCHES = re.compile(
    r"(?<=[A-Za-z)])(?:Gen ?)?\d[\d.,]*(?:/\d[\d.,]*)?"
    r"(?P<unit> ?[A-Za-z/]{1,12}(?: (?:G?DDR|HBM)\w{1,3})?)?(?: \([^()]{1,24}\))?$"
)
# A line that begins with a name and a colon, or the mark of a log, goes on about nothing before it.
# But not a clause: "... What" / "holds it back is memory: its ...".
_NAMED = re.compile(r"(?!(?-i:[a-z]+(?: [a-z]+){3,12}:))[\w .()/-]{2,60}:(?:\s|$)|\[?\d{1,2}:\d\d|\W{3}\w")


# "RTX 4000" where a document names an RTX 4090 is that card's series, unless it names workstation cards.
_SERIES = re.compile(r"(?a)\b(?P<line>[RG]TX|RX)[ -]?(?P<first>\d)000(?![\w.,]*\d| Ada)")
# Names that mean something else, too, where they are not written large.
_SMALL = re.compile(r"(?<![\w.-])(?:a(?:2|[134]0|16)|k[48]0|[lp]40|m[146]0|[lt]4)(?=s?(?:[\s,:;.!?)'/]|$))")


def _renamed(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks with the names of series written as no card's, "RTX 4000" as "RTX 40 series"; and with "p40"
    as "P40", where the document writes other names in small letters, too."""
    texts = [text for block in blocks for text in texts_of(block)]
    series = any(map(_SERIES.search, texts)) and not any(map(CUES["workstation"].search, texts))
    small = any(map(_SMALL.search, texts)) and any(
        t.kind == "gpu" and t.text.islower() for text in texts for t in scan(text)
    )
    cards = {match.groups() for text in texts * series for match in CUES["of_series"].finditer(text)}

    def named(found: re.Match[str]) -> str:
        known = (found["line"], found["first"]) in cards
        return f"{found['line']} {found['first']}0 series" if known else found[0]

    def renamed(text: str) -> str:
        text = _SERIES.sub(named, text) if cards else text
        return _SMALL.sub(lambda found: found[0].upper(), text) if small else text

    return [b if isinstance(b, Table) else replace(b, text=renamed(b.text)) for b in blocks]


def claims(blocks: Sequence[Block]) -> Iterator[Claim | Left]:
    """Every claim of a document, and every value that found no GPU or field."""
    blocks = _renamed(blocks)
    texts = [text for block in blocks for text in texts_of(block)]
    # A paragraph that wraps, "... TFLOPS with" / "sparsity", has no footnote in its second line.
    broken = {
        b.text for a, b in pairwise(blocks) if isinstance(a, Line) and isinstance(b, Line)
        and _wraps(a, b, WRAPPED)
    }  # fmt: skip
    notes = [
        CUES["footnote"].match(note)
        for text in texts
        if "pars" in text and text not in broken
        for note in CUES["between_notes"].split(text)
    ]
    signs = {re.sub(r"^\W?(\d)\W?$", r"[\1]", note[1]) for note in notes if note and note[1]}
    # Markdown takes a star that begins a line for a list's.
    starred = any(notes) or any("*" in text and CUES["sparse_mark"].search(text) for text in texts)
    signs |= {"*"} if starred else set()
    used = rf"[\w)%] {{0,2}}(?:{'|'.join(map(re.escape, signs))})" if signs else "$^"
    marks: tuple[str, ...] | None = (*sorted(signs), "\u2217") if signs else ()
    if signs and not any(re.search(used, text) for text in texts):
        # A footnote whose mark nothing has is about every rate.
        marks = None
    # Lines that speak of a chip without a GPU: counts below them may be those of the whole die.
    dies = []
    for before, block in zip((None, *blocks), blocks, strict=False):
        if isinstance(block, Table) or len(block.text) > 400 or not CHIP.search(block.text):
            continue
        if isinstance(before, Heading | Line) and len(before.text) < SHORT and (
            label_of(before.text).first in ("chip", "architecture")
        ):  # fmt: skip
            # So does a line below the label "Chip".
            continue
        if (label := _NAMED.match(block.text)) and CHIP.match(block.text, label.end()):
            # "GPU: GA102" says which chip the product has.
            continue
        named = {t.field if t.kind == "name" else t.kind for t in scan(block.text)}
        if "chip" in named and "gpu" not in named:
            dies.append(block.line)
    # So does a paragraph that begins with one: "**RTX 4090.** 128 SMs".
    headed = [
        b.line for b in blocks if not isinstance(b, Table) for t in scan(b.text[:TITLES]) if t.kind == "gpu"
        and (isinstance(b, Heading) or (t.start < 3 and b.text[t.end :].strip("* ")[:1] in (".", ":")))
    ]  # fmt: skip
    # Where "Intel Arc Pro A40" is named and no NVIDIA A40, the A40 need not be NVIDIA's.
    in_full: dict[str, set[str]] = defaultdict(set)
    for token in (t for text in texts for t in scan(text) if t.kind == "gpu" and " " in t.text):
        in_full[token.text.split()[-1]] |= {*token.gpu_ids}
    portable = any(CUES["laptop_name"].search(text) for text in texts)
    # "NVIDIA announces five mobile GPUs": a title says it of all that follow.
    title = texts[0][:TITLES] if len(texts) > 1 and texts[0][-1:] not in tuple(".!?") else ""
    portable |= CUES["names_laptops"].search(title) is not None
    short = short_names(t for text in texts for t in scan(text) if t.kind == "gpu")
    leaked = any(CUES["leaked_sheet"].search(text[:TITLES]) for text in texts[:BEGINS])
    scope = Scope(marks=marks, portable=portable, short=short, noted=_noted(texts))
    walk = _Walk(blocks, scope)
    every = [*walk.found()]
    if walk.order and len(blocks) <= MOST_TWICE:
        # The tables above the one that showed how the columns stand have the same order.
        every = [*_Walk(blocks, scope, walk.order).found()]
    for found in every:
        if not isinstance(found, Claim):
            yield found
            continue
        at = bisect_right(dies, found.line)
        # A heading with the name of a GPU in between begins that product.
        begun = bisect_right(headed, found.line)
        since = max(found.line - DIE_LINES, headed[begun - 1] if begun else 0)
        near = at > 0 and dies[at - 1] >= since
        whole = near and found.block < GRID and may_be_of_die(found)
        other = in_full.get(found.gpu, {*found.gpu_ids}).isdisjoint(found.gpu_ids)
        yield replace(found, sure=False) if whole or other or leaked else found


def _noted(texts: Sequence[str]) -> Mapping[str, Subject]:
    """By the mark of a footnote the only GPU that it stands behind: "L4[1]", "RTX A6000 (2)"."""
    notes = {note[1] for text in texts if (note := _NOTE.match(text))}
    found: dict[str, Subject | None] = {}
    for text in texts if notes else ():
        for mark in _NOTE_MARK.finditer(text, 1):
            gpus = [t for t in scan(text) if t.kind == "gpu" and t.end == len(text[: mark.start()].rstrip())]
            one = subject(gpus) if mark[0] in notes else None
            found[mark[0]] = one if mark[0] not in found or found[mark[0]] == one else None
    return {mark: one for mark, one in found.items() if one is not None}


def _as_list(cells: Sequence[str]) -> str:
    """The cells of a row as a list; its only GPU first, without numbers that say not what they count."""
    named = [cell for cell in cells if any(t.kind == "gpu" for t in scan(cell))]
    if len(named) != 1 or named[0] == cells[0]:
        return ", ".join(cells)
    typed = (c for c in cells if any(t.dimension not in ("bare", "other") or t.field for t in scan(c)))
    return f"{named[0]}: {', '.join(c for c in typed if c != named[0])}"


class _Walk:
    """The headings passed so far, and what the text speaks of."""

    def __init__(self, blocks: Sequence[Block], scope: Scope, order: tuple[Subject, ...] = ()) -> None:
        self.blocks = blocks
        pair = layout.first_pair(block for block in blocks if isinstance(block, Line))
        self.scope = replace(scope, pair=pair)
        self.headings: dict[int, Subject | None] = {}
        self.titles: dict[int, str] = {}
        self.recent: Subject | None = None
        # A GPU that the last paragraph named by the way, below the heading of another one.
        self.aside: Subject | None = None
        # The GPUs that the paragraphs so far have named, by what they may be.
        self.spoken: dict[tuple[str, ...], Subject] = {}
        self.tables, self.section = 0, 1
        # The GPUs of a title, as they stood in the columns of a table.
        self.order = order
        # How many GPUs a line of the section counts, and the last line that names memory as that of GPUs.
        self.count, self.sized = 1, -1
        # The fields that the last heading names, and where its value may stand below.
        self.topic, self.below = label_of(""), 0

    @property
    def about(self) -> Subject | None:
        """The GPU of the deepest heading that names one."""
        named = [level for level, found in self.headings.items() if found is not None]
        # An item that names something else is a product that the catalog does not have.
        if named or len(self.spoken) != 1 or any(level > PLAIN for level in self.headings):
            found = self.headings[max(named)] if named else None
            # "One GPU", "Per GPU" below the name of a machine.
            below = (title for level, title in self.titles.items() if named and level > max(named))
            one = any(map(CUES["of_one"].search, below))
            return replace(found, count=1) if found and one else found
        # So far the document has named one GPU only.
        return replace(next(iter(self.spoken.values())), sure=False)

    def found(self) -> Iterator[Claim | Left]:
        at, captioned = 0, None
        while at < len(self.blocks):
            block = self.blocks[at]
            at += 1
            key = f"{block.text}:" if isinstance(block, Heading) and block.level == PLAIN else ""
            if name := _of_another(key):
                self.headings, self.recent = {PLAIN + 1: Subject(name, ())}, None
            elif isinstance(block, Heading) and subject_of(block.text) is None and (
                pairs := [*_pairs(block.text)]
            ):  # fmt: skip
                # "TDP: 72 W" above the rule that ends a record
                yield from self.pairs(Line(block.line, block.text, 0, 0), pairs)
            elif isinstance(block, Heading):
                self.heading(block.level, block.text, block.line)
                # A heading may claim something itself: "RTX 4090 (24 GB)".
                yield from self.prose([Line(block.line, block.text, 0, 0)])
            elif isinstance(block, Table):
                follows = self.blocks[at] if at < len(self.blocks) else None
                if isinstance(follows, Line) and _CAPTION.match(follows.text) and (
                    at < 2 or self.blocks[at - 2] is captioned or not _CAPTION.match(self.scope.above)
                ):  # fmt: skip
                    # Captions stand below the tables.
                    self.scope, captioned = replace(self.scope, above=follows.text), follows
                yield from self.table(grid.Grid(block.rows, self.scope))
            else:
                run = [block]
                while at < len(self.blocks) and isinstance(line := self.blocks[at], Line) and (
                    line.code == block.code
                ):  # fmt: skip
                    run.append(line)
                    at += 1
                if not block.code:
                    yield from self.lines(run)
                    continue
                # A copy reads code: a GPU that a command names does not become the subject of the text below.
                reader = copy(self)
                reader.spoken = dict(self.spoken)
                yield from reader.lines(run)
                self.tables, self.section = reader.tables, reader.section

    def heading(self, level: int, text: str, line: int) -> None:
        """Enter a section: its GPU holds until a heading of this or a higher level."""
        found, before = subject_of(text), self.about
        named = found is not None
        beside = self.headings.get(level)
        self.headings = {above: one for above, one in self.headings.items() if above < level}
        if found is None and layout.is_model(text) and (
            beside is not None or (before is None and level < PLAIN)
        ):  # fmt: skip
            # A model which the catalog lacks, beside the section of a GPU or where there was none.
            found = Subject(text.rstrip(":"), ())
        if found is None and level == PLAIN and before is not None and text:
            # A plain line without a GPU may be a heading below the last one or the end of its section;
            # one that is made of words for fields is a part of the specification.
            fields = [t for t in scan(text) if t.kind == "field" and t.field]
            part = text[-1] in ":?" or len(re.sub(r"\W", "", text)) <= 12 + sum(len(t.text) for t in fields)
            # So is the key of an object that names one of them, or says no more than "specs".
            sheet = (fields and part) or CUES["part_of_sheet"].fullmatch(text)
            found = before if sheet else replace(before, sure=False)
            # "M5 MacBook Pro" is another product.
            others = {i for m in mentions(text, loose=True) for i in m.gpu_ids}.difference(before.gpu_ids)
            found = Subject(text, ()) if others else found
        self.headings[level] = found
        self.recent = self.aside = None
        pair = layout.side_by_side(text)
        kept = found is None or not named or any(set(found.gpu_ids) & set(p.gpu_ids) for p in self.scope.pair)
        self.titles = {above: title for above, title in self.titles.items() if above < level}
        section = " | ".join(reversed(self.titles.values()))
        self.titles[level] = text
        pair = pair or (self.scope.pair if kept else ())
        self.scope = replace(self.scope, title=text, section=section, pair=pair)
        # "How many CUDA cores has a 4070?" asks for what the line below it is.
        asked = text
        for gpu in (t for t in reversed(scan(text)) if t.kind == "gpu"):
            asked = asked[: gpu.start] + asked[gpu.end :]
        self.topic, self.below = label_of(asked), line + 2
        if len(self.topic.fields) > MOST_ASKED:
            # The title of an offer asks for nothing.
            self.topic = label_of("")
        self.section += 1
        self.count = 1

    def table(self, table: grid.Grid) -> Iterator[Claim | Left]:
        self.tables += 1
        ordered = bool(self.order) and {*table.scope.pair} == {*self.order}
        pair = self.order if ordered else table.scope.pair
        scope = replace(self.scope, about=self.recent or self.about, pair=pair, ordered=ordered)
        # A title among the lines before it is known only now.
        first = table.scope
        late = (scope.title, scope.above, scope.about) != (first.title, first.above, first.about)
        table = grid.Grid(table.rows, scope, table.trusted) if late else table
        table.scope = scope
        found: list[Claim | Left] = [*table.claims(self.tables)]
        self.scope = replace(self.scope, head=table.header)
        if len(two := tuple(table.columns.values())) == 1:
            self.recent = replace(two[0], sure=False)
        elif len(two) == 2 and self.about is None:
            # "Both have 24 GB" below a table of two.
            names, ids = (" / ".join(one.text for one in two), [i for one in two for i in one.gpu_ids])
            self.recent = Subject(names, (*ids,), several=True, sure=False, two=two)
        self.order = table.order or self.order
        lists = defaultdict[int, list[str]](list)
        for line, text in table.lists():
            lists[line].append(text)
            found += self.prose([Line(line, text, 1, 0)])
        stated = defaultdict[int, set[str]](set)
        for one in found:
            stated[one.line] |= {one.field} - OF_MARKET if isinstance(one, Claim) else set()
        for row in table.rows if not table.columns else ():
            fields = set[str]().union(*(stated[cell.line] for cell in row))
            named = [(c.line, t) for c in row for t in scan(c.text[: grid.NAME]) if t.kind == "gpu"]
            # "RTX 3090 24GB", where no other cell of a row that describes it states a size.
            for line, gpu in named if fields and "memory_bytes" not in fields else ():
                found += prose.sized(gpu, line, self.section)
        yield from found
        # What a table of GPUs states besides is said to be left.
        read = {(one.line, one.stated) for one in found if isinstance(one, Claim)}
        of_gpus = table.named and sum(bool(label.fields) for label in table.labels) > 1
        cells = [cell for row in table.rows for cell in row] if read or of_gpus else []
        for cell in cells:
            listed = any(text.endswith(cell.text) for text in lists.get(cell.line, ()))
            for token in scan(cell.text) if not listed and len(cell.text) <= grid.LONGEST else ():
                if token.dimension in prose.WORTH_NOTING and (cell.line, token.text) not in read:
                    yield Left(cell.line, token.text)

    def lines(self, run: Sequence[Line], *, plain: bool = False) -> Iterator[Claim | Left]:
        """The claims of lines, as the tables that they may be, but for plain ones."""
        paragraph: list[Line] = []
        # What stands one level deeper is about the item above it, and about none of that item's neighbours.
        parents = {above.line for above, below in pairwise(run) if 0 < above.item < below.item}
        above = ""
        parts = list(run if plain else layout.parts(run, self.scope))
        widths = Counter[int]()
        for line in run:
            widths[line.paragraph] = max(widths[line.paragraph], len(line.text))
        for part, follows in zip_longest(parts, parts[1:]):
            titled = above == self.scope.title and subject_of(above) is not None
            labelled = CUES["product_label"].fullmatch(above) is not None
            above = part.text if isinstance(part, Line) else ""
            if labelled and CUES["product_name"].fullmatch(above) and not scan(above):
                # "GPU" above a name outside the catalog: the lines that follow describe that product.
                self.headings, self.recent = {PLAIN + 1: Subject(above, ())}, None
                continue
            # Wide gaps part the cells of a row, which is a list of its own.
            row = isinstance(part, Line) and _WIDE.search(part.text) is not None
            if row and isinstance(part, Line) and _WIDE.search(part.text[part.text.find("  ") + 2 :]):
                part = replace(part, text=_as_list(_WIDE.split(part.text)))
            joins = isinstance(part, Line) and bool(paragraph) and not row and (
                _wraps(paragraph[-1], part, widths[part.paragraph])
            )  # fmt: skip
            if isinstance(part, Line) and (note := _NOTE.match(part.text)) and note[1] in self.scope.noted:
                # A footnote is about the GPU that has its mark, and what follows is not.
                yield from self.prose(paragraph)
                paragraph, recent = [], self.recent
                self.recent = self.scope.noted[note[1]]
                yield from self.prose([replace(part, text=part.text[note.end() :])])
                self.recent = recent
                continue
            if isinstance(part, Line) and (counted := CUES["counts_gpus"].fullmatch(part.text)):
                self.count = int(counted[1]) or 1  # A machine without GPUs counts none of them
            if not joins:
                yield from self.prose(paragraph)
                paragraph = []
            if isinstance(part, tuple):
                yield from self.table_or_lines(*part)
            elif not joins and (made := CUES["is_gpu"].fullmatch(part.text)) and (
                all(t.kind not in ("gpu", "name") for t in scan(part.text))
            ):  # fmt: skip
                # "gpu: A16" begins an object, "gpu: AD102" and "GPU: Ada AD102" do not.
                self.headings, self.recent, self.count = {PLAIN + 1: subject_of(made[1])}, None, 1
            elif not joins and (name := _of_another(part.text)):
                self.headings, self.recent = {PLAIN + 1: Subject(name, ())}, None
            elif part.line in parents and not part.text[0].islower():
                # A section that no product can be named like, "2. 核心规格", is as the others are.
                deep = part.item if re.search("[A-Za-z]", part.text) else 0
                self.heading(PLAIN + deep, part.text, part.line)
                yield from self.prose([part])
            elif not joins and CUES["of_relatives"].match(part.text):
                # "Product family: Instinct MI300 Series": what follows is not of it.
                recent = self.recent
                yield from self.prose([part])
                self.recent = recent
            elif not joins and (self.is_title(part) or self.is_beside(part, follows)):
                # "gpu: L4" below "gpu_count: 4" is of the same object.
                count = 1 if part.marked or not CUES["key_of_gpu"].match(part.text) else self.count
                last = self.headings.get(PLAIN + part.item) if titled else None
                self.heading(PLAIN + part.item, part.text, part.line)
                mine = self.headings[PLAIN + part.item]
                self.count = count
                # So short a line may still be a sentence: "The T4 supports FP8."
                yield from self.prose([part])
                if last and mine and subject_of(part.text) and not {*last.gpu_ids} & {*mine.gpu_ids}:
                    # Names on a line each are the head of columns: what follows is of either.
                    names, ids = f"{last.text} / {mine.text}", (*last.gpu_ids, *mine.gpu_ids)
                    both = replace(mine, text=names, gpu_ids=ids, several=True, sure=False)
                    self.headings[PLAIN + part.item], self.recent = both, None
            elif not joins and not (
                isinstance(follows, Line) and re.match(r"[(a-z]|[A-Z]{2}/s", follows.text)
                and _wraps(part, follows, widths[part.paragraph])
            ) and (pairs := [*_pairs(part.text)] or self.headed(part)):  # fmt: skip
                yield from self.pairs(part, pairs)
            else:
                paragraph.append(part)
        yield from self.prose(paragraph)

    def table_or_lines(self, table: grid.Grid, lines: Sequence[Line]) -> Iterator[Claim | Left]:
        """The claims of lines as a table, or as they are where that is the better reading by far."""
        readers = (copy(self), copy(self))
        for reader in readers:
            reader.spoken, reader.headings = dict(self.spoken), dict(self.headings)
        found, best = [*readers[0].table(table)], 0
        least = BETTER * max(_confirmed(found), 1)
        # Lines claim no more than they have figures and names.
        if sum(t.kind in ("value", "name") for line in lines for t in scan(line.text)) > least:
            as_lines = [*readers[1].lines(lines, plain=True)]
            if _confirmed(as_lines) > least:
                found, best = as_lines, 1
        vars(self).update(vars(readers[best]))
        yield from found

    def is_beside(self, line: Line, follows: Line | tuple[grid.Grid, Sequence[Line]] | None) -> bool:
        """Whether a line names a model that the catalog lacks, above its list, as that of a GPU is."""
        pairs = _pairs(follows.text) if isinstance(follows, Line) and layout.is_model(line.text) else ()
        stated = any(label_of(label).first for label, _ in pairs)
        return stated and self.headings.get(PLAIN + line.item) is not None

    def is_title(self, line: Line) -> bool:
        """Whether a plain line is a heading: short, a GPU in it or in title case, no value."""
        text = CUES["aside_of"].sub("", line.text)
        tokens = scan(text) if len(text) <= TITLE else ()
        paired = ":" in text.rstrip(":")[:-1] and (not tokens or CUES["answered"].fullmatch(text))
        if paired or len(text) > TITLE:
            return False
        start = _NUMBERED.match(text)
        if any(
            t.kind == "value" and (t.dimension != "bare" or own_field(text, tokens, n))
            and not (start and t.end < start.end())
            for n, t in enumerate(tokens)
        ) or sum(t.kind == "name" and t.field == "launch" for t in tokens) > 1:  # fmt: skip
            # "T4 in May 2018, A10 in May 2021" states dates.
            return False
        gpu = next((t for t in tokens if t.kind == "gpu"), None)
        if gpu is not None:
            # "It stays behind the 4070 Ti. For QHD ..." goes on in the next line.
            ends = text.endswith((".", ",", ";")) or CUES["sentence_ends"].search(text, gpu.end) is not None
            short = (gpu.start < NEAR and not ends) or (gpu.start < 4 and len(text) < 60)
            # "RTX 4090 TDP = 450" states something of it.
            return short and not self.headed(line) and not any(subject_of(label) for label, _ in _pairs(text))
        words = text.split()
        # "memory:" above "size: 24" is the key of an object.
        key = text.endswith(":")
        ends = not text or text[-1] in ".,;"
        if line.item or len(words) > 8 or ends or not (text[0].isupper() or start or key):
            return False
        if not tokens or start:
            return len(words) > 1 and text[-1] != ":"
        # "Memory Bandwidth" above lines of a GPU and a value each; a chip alone.
        labels = all(t.kind == "field" for t in tokens) and next(_pairs(text), None) is None
        return labels or (len(words) == 1 and tokens[0].field == "chip")

    def headed(self, line: Line) -> list[tuple[str, str]]:
        """A value, or a GPU and its value, under a heading that names the field: a pair with its label."""
        has = CUES["has_ability"].fullmatch(line.text) if line.item and not self.scope.opening else None
        if has and ability_of(has["what"]):
            # "- with NVLink" below the name of a GPU
            return [(has["what"], f"with {has['what']}")]
        text = said = CUES["of_size_key"].sub("", line.text)
        if len(text) >= PAIRS or not scan(text):
            return []
        opening = self.scope.opening if len(self.scope.opening) < TITLE else ""
        # "FP16 (dense, TFLOPS): A100 312, L40S 362."
        lead, colon, rest = text.partition(": ")
        if colon and len(lead) < TITLE and {t.kind for t in scan(lead)} <= {"field", "name"} and (
            [t.kind for t in scan(rest)[:1]] == ["gpu"]
        ):  # fmt: skip
            opening, text = lead, rest.rstrip(".")
        topic = self.topic if self.topic.fields and not (colon and text != said) else label_of(opening)
        # "1 024" is one number.
        text = re.sub(r"(?<=\d) (?=\d{3}$)", "", text) if len(text) < SHORT else text
        tokens = scan(text) if topic.fields else ()
        valued = tokens and (tokens[0].kind == "value" or tokens[0].field == topic.first)
        alone = valued and {t.kind for t in tokens} <= {"value", "name"}
        if alone and line.line <= self.below and len(text) < SHORT:
            # The value of a list of specifications that has labels and values on a line each.
            words = text[: tokens[0].start] + text[tokens[-1].end :]
            # "Used: 63 MiB" below "FB Memory" is none of its size.
            used = re.search(r"[A-Za-z]:", words) is not None
            # "80 GB, 2 TB/s" below "756 TFLOPS of BF16" is none of that.
            other = used or len(re.sub(r"\W", "", words)) > 5 or next(readings(topic, text), None) is None
            return [] if other else [(topic.text, text)]
        # "RTX 4090: 1008, RTX 4080: 716.8": GPUs, each with its value.
        gpus, values = tokens[::2], tokens[1::2]
        if not gpus or {t.kind for t in gpus} != {"gpu"} or {t.kind for t in values} != {"value"}:
            return []
        if gpus[0].start > 9 or len(gpus) != len(values):
            return []
        ends = [*(gpu.start for gpu in gpus[1:]), len(text)]
        parts = [text[gpu.end : end] for gpu, end in zip(gpus, ends, strict=True)]
        # "110 tokens/s" below "Llama 8B, FP16" is the speed of the model, not the peak FP16 rate of the GPU.
        fits = all(next(readings(topic, part), None) is not None for part in parts)
        named = [f"{text[gpu.start : gpu.end]} {topic.text}" for gpu in gpus]
        return list(zip(named, parts, strict=True)) if fits else []

    def prose(self, paragraph: Sequence[Line]) -> Iterator[Claim | Left]:
        if not paragraph:
            return
        starts: list[tuple[int, int]] = []
        offset = 0
        for line in paragraph:
            starts.append((offset, line.line))
            offset += len(line.text) + 1
        above = " ".join(line.text for line in paragraph)
        # Items of a list, and lines that begin with a GPU, speak of what the sentence above them does.
        listed = paragraph[0].item or (len(above) <= TITLE and [t.kind for t in scan(above)[:1]] == ["gpu"])
        caption = above.endswith(":") or (len(above) <= TITLE and above[-1:] not in tuple(".!?"))
        opening = self.scope.opening if listed else above if caption else ""
        # "A vs. B: ..." sets them side by side for what follows.
        pair = layout.side_by_side(above.partition(":")[0]) if ":" in above[:TITLE] else ()
        scope = replace(
            self.scope, above=above, opening=opening, pair=pair or self.scope.pair,
            head=self.scope.head if len(above) <= TITLE else (),
        )  # fmt: skip
        # "Which bus?" asks for what the next paragraph begins with.
        question = re.split(r"[.?!:] ", above)[-1] if above.rstrip(' *"')[-1:] == "?" else ""
        asked = next((t.field for t in scan(question) if t.kind == "field"), "")
        # "It draws 200 W" goes on about it, whatever the heading says.
        it = self.aside if CUES["pronoun"].match(above) else None
        # "Zorb 9900: 32 GB, 600 W": what stands behind a name that the catalog lacks is its own.
        name, colon, _ = above[:TITLE].partition(":")
        other = bool(colon) and layout.is_model(name)
        if paragraph[0].line < self.below and CUES["of_processor"].match(self.scope.title):
            # "CPU cache" above "1.5 MB L2"
            name, other = self.scope.title, True
        about = Subject(name, ()) if other else it or self.recent or self.about
        self.scope, scope = replace(scope, asked=asked), replace(scope, about=about)
        self.aside = None
        for found in prose.claims(Text(above, tuple(starts), scope, self.section)):
            if not isinstance(found, Subject):
                yield found
            elif not paragraph[0].item or (self.about is None and subject_of(above[:NEAR]) == found):
                # What an item speaks of in passing is not what the next one does; nor is it sure which of
                # several GPUs the next paragraph goes on about.
                gpus = prose.gpus_of(above)
                alone = all(set(t.gpu_ids) & set(found.gpu_ids) for t in gpus)
                alone = alone and (bool(gpus) or scope.about is None or scope.about.sure)
                # Below the title of one GPU another may be named by the way, and not be gone on about.
                title = self.about
                if title is not None and title.sure and not {*title.gpu_ids} & {*found.gpu_ids}:
                    self.aside = found if alone else None
                    found, alone = title, False
                self.recent = found if alone else replace(found, sure=False)
        gpus = prose.gpus_of(above) if len(above) <= PAIRS else []
        named = len({gpu.gpu_ids for gpu in gpus}) == 1
        if named and above.endswith(":") and not cue_before("compared", above, gpus[0].start):
            # "For comparison, the P40 is a GP102 with 24 GB:" opens a list of it.
            self.recent = subject(gpus)
        for gpu in gpus:
            if not any(set(ids) & set(gpu.gpu_ids) for ids in self.spoken) and (one := subject([gpu])):
                self.spoken[gpu.gpu_ids] = one

    def pairs(self, line: Line, pairs: Sequence[tuple[str, str]]) -> Iterator[Claim | Left]:
        """Claims of "VRAM: 24 GB" about the GPU above it, or about one that stands before the label."""
        owner = self.recent or self.about
        for label, value in pairs:
            owner = subject_of(label) or owner
            if CUES["gpu_memory"].search(label):
                self.sized = line.line
            elif line.line == self.sized + 1:
                # "memory total: 320" right below "GPU memory: 80" is of the GPUs, too.
                label = re.sub(r"^(?=(?:memory )?total\b)", "GPU ", label)
            # "141 GB (double the memory capacity of the H100)": the other term of a comparison owns nothing.
            value = CUES["other_term"].sub("", value)
            # "1008 GB/s (864 GB/s vs 1008 GB/s)" below "A vs B"
            value = CUES["of_both"].sub(r"\1", value)
            gpus = [t for t in scan(value) if t.kind == "gpu"]
            in_order = re.split(r"\s(?:vs\.?|versus|/)\s", value)
            # "Memory: A100 80 GB, H100 94 GB": each value to the GPU before it.
            parts = _shared(value, gpus) if gpus else [(None if _of_several(value) else owner, value)]
            if not gpus and len(in_order) == len(self.scope.pair) > 1:
                # "80 GB vs 94 GB" below "H100 vs H100 NVL"
                parts = list(zip(self.scope.pair, in_order, strict=True))
            long = len(value) > (TITLE if gpus else grid.LONGEST)
            if long or not parts or (gpus and not label_of(label).fields):
                yield from self.prose([line])
                return
            one_each = all(sum(t.kind == "value" for t in scan(text)) == 1 for _, text in parts)
            for one, text in parts:
                for reading in readings(label_of(label), text, marks=self.scope.marks):
                    if one is None:
                        yield Left(line.line, reading.token.text)
                        continue
                    mine = of_form(one, text, reading.token)
                    mine = replace(mine, count=self.count) if mine.count == 1 else mine
                    # "memory total: 512" without a word for GPUs may be that of the machine.
                    theirs = reading.field != "memory_bytes" or CUES["gpu_memory"].search(label) is not None
                    summed = self.count > 1 and reading.field in SUMMED and theirs
                    total = summed and CUES["total"].search(label) is not None
                    each = CUES["of_one"].search(label) or reading.field in ABILITIES
                    like_one = min(grid.ratios(mine, reading), default=0.0) < LIKE_ONE
                    if each or (self.count > 1 and like_one and not total):
                        # "Power per GPU" below "8 x H100"; what each has; what stands beside "count: 8".
                        mine = replace(mine, count=1)
                    reading = replace(reading, times=None) if total else reading
                    claim = claim_of(reading, mine, line.line, self.section, len(gpus) < 2 or one_each)
                    claim = replace(claim, total=total)
                    context = (line.text, self.scope.opening, self.scope.title)
                    yield replace(claim, context=context if claim.field in IN_CONTEXT else ())


def _confirmed(found: Sequence[Claim | Left]) -> int:
    """How many claims of one GPU the catalog confirms, less those that it does not."""
    return sum(
        1 if agrees(c) else -1 for c in found if isinstance(c, Claim) and not c.several and evidence_of(c)
    )


def _wraps(line: Line, follows: Line, width: int) -> bool:
    """Whether a line of a paragraph, whose longest has so many characters, goes on in the next one. A line
    with room for the first word of a next one that begins like a sentence ended there."""
    word = follows.text.partition(" ")[0]
    if word[:1].isupper() and len(line.text) + 1 + len(word) <= width:
        return False
    first, *others = scan(follows.text) or (None,)
    # A row of a GPU and several values of it is one of its own.
    row = first is not None and first.kind == "gpu" and first.start == 0 and (
        sum(t.dimension not in ("", "bare", "other") for t in others) > 2
    )  # fmt: skip
    return (
        not follows.marked and follows.paragraph == line.paragraph and _NAMED.match(follows.text) is None
        and len(line.text) >= WRAPPED and line.text[-1] not in ".!?:"
        and not (row and CUES["goes_on"].search(line.text) is None)
    )  # fmt: skip


def _of_several(value: str) -> bool:
    """Whether values of one kind touch, "2 TB/s200 GB/s": the row of a table whose GPUs are not all seen."""
    tokens = [t for t in scan(value) if t.kind in ("value", "name")]
    return any(
        a.end == b.start and (a.measures, a.field) == (b.measures, b.field) for a, b in pairwise(tokens)
    )


def _shared(value: str, gpus: Sequence[Token]) -> list[tuple[Subject | None, str]]:
    """The parts of a value that names several GPUs: what stands between two names is the first one's."""
    ends = [g.end for g in gpus]
    spans = zip(ends, [*(g.start for g in gpus[1:]), len(value)], strict=True)
    if any(t.kind == "value" for t in scan(value[: gpus[0].start])):
        # "750 W (one), 550 W for the other": such a name owns what stands before it.
        if not all(value[g.start - 1] == "(" or CUES["binds"].search(value, 0, g.start) for g in gpus):
            return []
        spans = zip([0, *ends[:-1]], [g.start for g in gpus], strict=True)
    return [(subject([gpu]), value[a:b].lstrip(" =:")) for gpu, (a, b) in zip(gpus, spans, strict=True)]


def _of_another(text: str) -> str:
    """The name in "name: GTX 1080 11Gbps", which says more than that of the card that the catalog has: a kind
    or a size of memory that the card has not, and the key of an object that a GPU's name is a small part of,
    "Cluster-A40:"; empty for any other text."""
    if re.fullmatch(r"[\w-]+:", text) and prose.gpus_of(text) and grid.name_of(text[:-1]) is None:
        return text
    named = CUES["named"].fullmatch(text)
    gpus = [t for t in scan(named["name"]) if t.kind == "gpu"] if named else []
    if named is None or len(gpus) != 1 or gpus[0].count > 1:
        return ""
    if not gpus[0].gpu_ids:
        return named["name"]
    for more in CUES["more_of_name"].finditer(named["name"], gpus[0].end):
        of = {"size": "memory_bytes", "type": "memory_type"}.get(more.lastgroup or "")
        stated = Number(value=float(more["size"]) * 2**30, digits=2) if more["size"] else more[0].upper()
        if of is None or not any(evidence.supports(gpu_id, of, stated) for gpu_id in gpus[0].gpu_ids):
            return named["name"]
    return ""


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """(label, value) for each field of a line with its value behind a colon, a dash, or glued to it."""
    if len(text) < TITLE and (answer := CUES["answered"].fullmatch(text)) and label_of(answer[1]).ability:
        # "mig: false" may be how a machine is set up, not what its GPUs can do.
        supports = answer[2].lower() in ("true", "yes") or CUES["plain_ability"].search(answer[1])
        yield from [(answer[1], answer[2])] if supports else ()
        return
    ends = [match.end() for match in _ENDS.finditer(text)] if len(text) <= PAIRS else []
    if any([(t.kind, t.start) for t in scan(text[end : end + NEAR])[:1]] != [("field", 0)] for end in ends):
        # Sentences, not "VRAM: 24 GB. TDP: 450 W."
        return
    if len(text) <= PAIRS and (listed := CUES["lists_abilities"].fullmatch(text)):
        # "formats: FP16, FP8"
        named = (re.fullmatch(r"(no )?(.*)", part) for part in re.split(r"\W*,\W*|\W*$", listed["what"]))
        yield from ((one[2], f"{one[1] or 'with '}{one[2]}") for one in named if one and ability_of(one[2]))
        return
    parts = [part.partition(":") for part in _BARS.split(text)] if len(text) <= PAIRS else []
    if len(parts) > 2 and all(label and value.strip() and len(label) < SHORT for label, _, value in parts):
        # "Chip: GA104 | CUDA: 4864 | Tensor: 152"
        yield from (
            (_OF_CORES.sub(r"\g<0> cores", label.strip()), value.strip()) for label, _, value in parts
        )
        return
    tokens = scan(text) if len(text) <= PAIRS else ()
    # Of each pair, where its label and its value begin.
    starts: list[tuple[int, int]] = []
    for place, token in enumerate(tokens):
        behind = starts[-1][1] if starts else 0
        lead = text[behind : token.start]
        # "Orin (Ampere architecture, 2022): ..." labels nothing.
        enclosed = any(t.kind == "gpu" for t in tokens[:place]) and lead.count("(") > lead.count(")")
        if token.kind != "field" or not token.field or token.start < behind or enclosed:
            continue
        after = CUES["labelled"].match(text, token.end)
        first = (
            not starts and not any(t.kind == "value" for t in tokens[:place])
            and len(re.sub(r"\W", "", lead)) <= SHORT
            and not re.search(r"[.,;:]\s|[\uff0c\u3002\uff1b]", lead)
        )  # fmt: skip
        spaced = after is not None and lead[-1:] == " " and ":" in after[0]
        parted = starts and (spaced or re.search(r"[,;|/\u00b7.]\s?(?:\w{1,20} )?$", lead))
        if after is not None and after.end() < len(text) and (first or parted):
            starts.append((0 if first else token.start, after.end()))
        elif first and (glued := _glued(text, tokens, place)):
            starts.append((0, glued))
        elif first and len(text) < 48:
            # "TDP 450 W" and nothing else on the line, or "CUDA cores (single precision) 2816".
            aside = re.match(r" ?\([^()]*\)", text[token.end :])
            end = token.end + (aside.end() if aside else 0)
            rest = [t for t in tokens[place + 1 :] if t.start >= end]
            alone = [t.kind for t in rest] == ["value"] and len(text) - tokens[-1].end < 6
            if alone and not lead.strip() and text[end : tokens[-1].start].strip() in ("", "dense"):
                starts.append((0, end))
    label, colon, value = text.partition(": ")
    if colon and not starts and len(value) < SHORT and layout.kind(label) == "F":
        # "BF16 tensor TFLOPS dense: 989"
        starts.append((0, len(label) + len(colon)))
    if not starts and len(text) < TITLE and (value_at := _TOUCHES.search(text)) and not any(
        t.kind == "gpu" or t.start < value_at.start() < t.end for t in tokens
    ):  # fmt: skip
        # "CUDA Cores / GPU16384": the label as a whole says what touches it; "Memory tests10" has no unit.
        whole = label_of(text[: value_at.start()])
        counts = [FIELDS[field].dimension for field in whole.fields if field] == ["count"]
        if whole.first and (counts or whole.unit or value_at["unit"] or value_at[0][0] == "G"):
            starts.append((0, value_at.start()))
    for (begin, end), following in zip(starts, [*starts, (len(text), 0)][1:], strict=True):
        yield text[begin:end].rstrip(" :=-\u2013\u2014"), text[end : following[0]].rstrip(" ,;|/\u00b7")


def _glued(text: str, tokens: Sequence[Token], place: int) -> int:
    """Where the value that touches a label begins: "TDP300 W", "FP16 dense312 TFLOPS"; 0 where none does."""
    for token in tokens[place + 1 :]:
        if token.kind == "value" or (token.kind == "name" and token.field == tokens[place].field):
            label = text[tokens[place].end : token.start]
            return token.start if re.fullmatch(r"(?:[A-Za-z ()]{0,20}[A-Za-z)])?", label) else 0
        if token.field not in ("dense", "sparse", "peak:", "peak:tensor"):
            return 0
    return 0
