"""Walk through a document and give every value in it to a GPU and a field, as far as layout tells."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpuwise.judge.audit import loose, prose, tables
from gpuwise.judge.audit.cells import label_of, own_field, readings
from gpuwise.judge.audit.prose import Left, Text
from gpuwise.judge.audit.read import Block, Heading, Line, Table
from gpuwise.judge.audit.scan import Token, scan
from gpuwise.judge.audit.tables import Subject, claim_of, subject, subject_of
from gpuwise.model.claim import Claim

PLAIN = 7
"""The level of a heading that is only a short line: below all marked ones."""
DIE_LINES = 8
"""So many lines below the name of a chip its counts may still be meant."""
SHORT = 24
"""Characters of a line that is a value and nothing else."""
WRAPPED = 50
"""A line of a paragraph that is at least so long may go on in the next."""
_FOOTNOTE = re.compile(r"[^\d:|]{0,70}\bwith (?:structured )?sparsity\b[^\d:|]{0,40}(?:\.|$)", re.IGNORECASE)
_STARRED = re.compile(
    r"(?:\*|\u2217|\u2020|\d\))\s?[^\n*]{0,80}sparsity|sparsity[^\n]{0,20}\*", re.IGNORECASE
)
_LABELLED = re.compile(r"\s*(?:\([^)]{0,60}\))?\s*(?::|=|\u2014| - |\u2013)\s*")


def claims(blocks: Sequence[Block]) -> Iterator[Claim | Left]:
    """Every claim of a document, and every value that found no GPU or field."""
    texts = [
        text
        for block in blocks
        for text in (
            (c.text for row in block.rows for c in row) if isinstance(block, Table) else (block.text,)
        )
    ]
    starred: bool | None = any(
        _STARRED.search(text) or _FOOTNOTE.match(text) for text in texts if "pars" in text
    )
    # A footnote without a star in the text is about every rate.
    if starred and not any(re.search(r"\d[\w /]{0,12}[*\u2217]", text) for text in texts):
        starred = None
    yield from _Walk(blocks, starred).claims()


class _Walk:
    """The headings passed so far, and what the text speaks of."""

    def __init__(self, blocks: Sequence[Block], starred: bool | None) -> None:
        self.blocks, self.starred = blocks, starred
        self.headings: dict[int, Subject | None] = {}
        self.recent: Subject | None = None
        self.tables, self.section = 0, 1
        # Lines that speak of a chip without a GPU: counts below them may be those of the whole die.
        self.dies: list[int] = []
        for block in blocks:
            tokens = () if isinstance(block, Table) or len(block.text) > 400 else scan(block.text)
            named = {t.field if t.kind == "name" else t.kind for t in tokens}
            if "chip" in named and "gpu" not in named and not isinstance(block, Table):
                self.dies.append(block.line)
        # Fields that the last heading names, and the last line that may be a value without a label.
        self.topic, self.below = label_of(""), 0

    @property
    def about(self) -> Subject | None:
        """The GPU of the deepest heading that names one."""
        for level in sorted(self.headings, reverse=True):
            if self.headings[level] is not None:
                return self.headings[level]
        return None

    def claims(self) -> Iterator[Claim | Left]:
        for found in self.found():
            whole = False
            if isinstance(found, Claim):
                at = bisect_right(self.dies, found.line)
                whole = at > 0 and found.line - self.dies[at - 1] <= DIE_LINES
            yield replace(found, sure=False) if isinstance(found, Claim) and whole else found

    def found(self) -> Iterator[Claim | Left]:
        at = 0
        while at < len(self.blocks):
            block = self.blocks[at]
            at += 1
            if isinstance(block, Heading):
                self.heading(block.level, block.text, block.line)
                # A heading may claim something itself: "RTX 4090 (24 GB)".
                yield from self.prose([Line(block.line, block.text, False, 0)])
            elif isinstance(block, Table):
                yield from self.table(block)
            else:
                run = [block]
                while at < len(self.blocks) and isinstance(line := self.blocks[at], Line):
                    run.append(line)
                    at += 1
                yield from self.lines(run)

    def heading(self, level: int, text: str, line: int) -> None:
        found, before = subject_of(text), self.about
        for below in [known for known in self.headings if known >= level]:
            del self.headings[below]
        if found is None and level == PLAIN and before is not None:
            # A plain line without a GPU may be a heading below the last one or the end of its section;
            # one that names fields is a part of the specification.
            found = before if self.named(text) else replace(before, sure=False)
        self.headings[level] = found
        self.recent = None
        self.topic, self.below = label_of("" if subject_of(text) else text), line + 2
        self.section += 1

    def named(self, text: str) -> bool:
        """Whether a heading is made of words for fields: "Memory & VRAM", "Compute Performance"."""
        fields = [t for t in scan(text) if t.kind == "field" and t.field]
        return bool(fields) and len(re.sub(r"\W", "", text)) <= 12 + sum(len(t.text) for t in fields)

    def table(self, table: Table) -> Iterator[Claim]:
        self.tables += 1
        yield from tables.Table(table.rows, self.recent or self.about, self.starred).claims(self.tables)

    def lines(self, run: Sequence[Line]) -> Iterator[Claim | Left]:
        paragraph: list[Line] = []
        for part in loose.tables(run):
            joins = (
                isinstance(part, Line) and paragraph and not part.item
                and part.paragraph == paragraph[-1].paragraph
                and len(paragraph[-1].text) >= WRAPPED and paragraph[-1].text[-1] not in ".!?:"
            )  # fmt: skip
            if not joins:
                yield from self.prose(paragraph)
                paragraph = []
            if isinstance(part, Table):
                yield from self.table(part)
            elif joins or not self.is_title(part):
                pairs = [] if joins else list(_pairs(part.text)) or self.headed(part)
                if pairs:
                    yield from self.pairs(part, pairs)
                else:
                    paragraph.append(part)
            else:
                self.heading(PLAIN, part.text, part.line)
        yield from self.prose(paragraph)

    def is_title(self, line: Line) -> bool:
        """Whether a plain line is a heading: short, a GPU in it or in title case, no value."""
        text, tokens = line.text, scan(line.text) if len(line.text) <= 90 else ()
        if len(text) > 90 or (":" in text.rstrip(":")[:-1] and not tokens):
            return False
        claimed = (
            t.kind == "value" and (t.dimension != "bare" or own_field(text, tokens, n))
            for n, t in enumerate(tokens)
        )
        if any(claimed):
            return False
        gpus = [t for t in tokens if t.kind == "gpu"]
        if gpus:
            return (gpus[0].start < 40 and not text.endswith((".", ",", ";"))) or (
                gpus[0].start < 4 and len(text) < 60
            )
        words = text.split()
        if line.item or len(words) > 8 or text[-1] in ".,;" or not text[0].isupper():
            return False
        # "Memory Bandwidth" above lines of a GPU and a value each.
        if len(tokens) == 1 and tokens[0].field == "chip" and tokens[0].kind == "name" and len(words) == 1:
            return True
        return (len(words) > 1 and not tokens and text[-1] != ":") or all(
            t.kind == "field" for t in tokens
        ) > (not tokens)

    def headed(self, line: Line) -> list[tuple[str, str]]:
        """A value, or a GPU and its value, under a heading that names the field: a pair with its label."""
        text = line.text
        tokens = scan(text) if self.topic.fields and len(text) < 90 else ()
        if len(tokens) == 1 and tokens[0].kind == "value" and line.line <= self.below and len(text) < SHORT:
            # The value of a list of specifications that has labels and values on a line each.
            words = text[: tokens[0].start] + text[tokens[0].end :]
            return [(self.topic.text, text)] if len(re.sub(r"\W", "", words)) < 6 else []
        if len(tokens) != 2 or tokens[0].kind != "gpu" or tokens[0].start > 9 or tokens[1].kind != "value":
            return []
        return [(f"{text[: tokens[0].end]} {self.topic.text}", text[tokens[0].end :])]

    def prose(self, paragraph: Sequence[Line]) -> Iterator[Claim | Left]:
        if not paragraph:
            return
        starts: list[tuple[int, int]] = []
        offset = 0
        for line in paragraph:
            starts.append((offset, line.line))
            offset += len(line.text) + 1
        # Items of a list speak of what the heading or the sentence above them does.
        text = Text(
            " ".join(line.text for line in paragraph), tuple(starts), self.recent or self.about, self.section
        )
        for found in prose.claims(text):
            if not isinstance(found, Subject):
                yield found
            elif not paragraph[0].item or self.about is None:
                self.recent = found

    def pairs(self, line: Line, pairs: Sequence[tuple[str, str]]) -> Iterator[Claim | Left]:
        """Claims of "VRAM: 24 GB" about the GPU above it, or about one that stands before the label."""
        owner = self.recent or self.about
        for text, value in pairs:
            label = label_of(text)
            named = subject_of(text)
            mine = named or owner
            gpus = [t for t in scan(value) if t.kind == "gpu"]
            if len(value) > 300 or (gpus and not label.fields):
                yield from self.prose([line])
                return
            if gpus:
                # "Memory: A100 80 GB, H100 94 GB": each value to the GPU before it.
                yield from self.shared(line, value, gpus, text)
                continue
            for reading in readings(label, value, starred=self.starred):
                if mine is None:
                    yield Left(line.line, reading.stated)
                else:
                    yield claim_of(reading, mine, line.line, self.section, True)

    def shared(self, line: Line, value: str, gpus: Sequence[Token], label: str) -> Iterator[Claim]:
        """A label whose value names several GPUs: what stands between two names is the first one's."""
        ends = [g.end for g in gpus]
        spans = list(zip(ends, [*(g.start for g in gpus[1:]), len(value)], strict=True))
        if any(t.kind == "value" for t in scan(value[: gpus[0].start])):
            # "750 W (one), 550 W (other)": a name in parentheses owns what stands before it.
            if not all(value[g.start - 1] == "(" for g in gpus):
                return
            spans = [(begin, gpu.start) for begin, gpu in zip([0, *ends[:-1]], gpus, strict=True)]
        for gpu, (begin, end) in zip(gpus, spans, strict=True):
            one = subject([gpu])
            for reading in readings(label_of(label), value[begin:end], starred=self.starred):
                if one is not None:
                    yield claim_of(reading, one, line.line, self.section, len(gpus) == 1)


def _glued(text: str, tokens: Sequence[Token], place: int) -> int:
    """Where the value that touches a label begins: "TDP300 W", "FP16 dense312 TFLOPS"; 0 where none does."""
    for token in tokens[place + 1 :]:
        if token.kind == "value":
            label = text[tokens[place].end : token.start]
            return token.start if re.fullmatch(r"(?:[A-Za-z ()]{0,20}[A-Za-z)])?", label) else 0
        if token.field not in ("dense", "sparse", "peak:", "peak:tensor"):
            return 0
    return 0


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """(label, value) for each field of a line with its value behind a colon, a dash, or glued to it."""
    if len(text) > 600:
        return
    tokens = scan(text)
    starts: list[tuple[int, int]] = []
    for place, token in enumerate(tokens):
        if token.kind != "field" or not token.field or (starts and token.start < starts[-1][1]):
            continue
        after = _LABELLED.match(text, token.end)
        lead = text[starts[-1][1] if starts else 0 : token.start]
        valued = any(t.kind == "value" for t in tokens[:place])
        first = (
            not starts
            and not valued
            and len(re.sub(r"\W", "", lead)) <= 24
            and not re.search(r"[.,;:]\s", lead)
        )
        parted = starts and (
            re.search(r"[,;|/\u00b7.]\s*(?:\w+ )?$", lead)
            or (after is not None and lead[-1:] == " " and ":" in after[0])
        )
        if after is not None and after.end() < len(text) and (first or parted):
            begin = 0 if first else token.start
            starts.append((begin, after.end()))
        elif first and (glued := _glued(text, tokens, place)):
            starts.append((0, glued))
        elif first and len(text) < 48 and place + 1 == len(tokens) - 1 and tokens[-1].kind == "value":
            gap = text[token.end : tokens[-1].start]
            # "TDP 450 W" and nothing else on the line.
            if gap.strip() in ("", "dense") and len(text) - tokens[-1].end < 6 and not lead.strip():
                starts.append((0, token.end))
        elif first and re.fullmatch(
            r"[A-Za-z ()\d]{0,12}",
            text[token.end : tokens[place + 1].start] if place + 1 < len(tokens) else "-",
        ):
            # "FP16 dense989 TFLOPS", "Memory Type: GDDR6": the label goes on.
            continue
    for (begin, end), following in zip(starts, [*starts, (len(text), 0)][1:], strict=True):
        yield text[begin:end].rstrip(" :=-\u2013\u2014"), text[end : following[0]].rstrip(" ,;|/\u00b7")
