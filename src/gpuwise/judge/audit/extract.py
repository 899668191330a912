"""From blocks to claims: the GPU by title, column, row or sentence; the field by label or words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwise.judge.audit import cells, fields, grids, prose, subject
from gpuwise.judge.audit.blocks import LONGEST, Block, Grid, Heading, Paragraph
from gpuwise.judge.audit.cells import Reading
from gpuwise.judge.audit.subject import Subject
from gpuwise.model.claim import Claim

_LONG = 9
"""Words from which the value of a label is prose."""
_STARRED = re.compile(r"[^.]{0,60}\bsparsity\b[^.]{0,40}\.?", re.IGNORECASE)
"""A footnote: "* With sparsity"."""
_LABELLED = re.compile(
    r"[^:]{1,60}:\**\s*[~<>\u2248]?\s*\d[\d.,]*\s*[A-Za-z/]+(?:\s*(?:-|\u2013|to)\s*\d[\d.,]*\s*[A-Za-z/]*)?\.?"
)
"""One figure under a label that is no field's: "ResNet-50 training: 301 W"."""
_FOOTNOTE = re.compile(r"(?:\\?\*){2,}\s|[\u2020\u2021]")


def claims(blocks: Sequence[Block]) -> tuple[Claim, ...]:
    """Every claim about a GPU of the catalog, in the order of the text."""
    return tuple(_claims(blocks))


def _claims(blocks: Sequence[Block]) -> Iterator[Claim]:
    whole, starred = _whole(blocks), any(map(_is_starred, blocks))
    about, depth, block = whole, 0, 0
    rivals: tuple[Subject, ...] = ()
    for item in blocks:
        if isinstance(item, Heading):
            block += 1
            rivals = subject.rivals(item.text) or rivals
            named = subject.of_text(item.text)
            if named is not None:
                about, depth = named, item.level
            elif not item.level > depth > 0:
                # A section below a GPU's is about it; one beside it is about the whole text's.
                about = whole
        elif isinstance(item, Paragraph):
            if not _FOOTNOTE.match(item.text):
                for owner, reading in _paragraph(item.text, about):
                    yield _claim(item.line, owner, reading, block)
        else:
            for line, owner, reading, place in grids.read(item, about, rivals, starred):
                yield _claim(line, owner, reading, (block + 1) * 1000 + place)


def _is_starred(block: Block) -> bool:
    """Whether the block is a footnote that tells which peaks are with sparsity."""
    return not isinstance(block, Grid) and _STARRED.fullmatch(block.text) is not None


def _whole(blocks: Sequence[Block]) -> Subject | None:
    """The one GPU that the whole text is about: its title's, where no other title names another."""
    titles = [subject.of_text(block.text) for block in blocks if isinstance(block, Heading)]
    found = titles[0] if titles else None
    if found is None or found.several:
        return None
    others = [title for title in titles if title is not None and not title.several]
    return found if all(set(other.gpu_ids) & set(found.gpu_ids) for other in others) else None


def _claim(line: int, owner: Subject, reading: Reading, block: int) -> Claim:
    return Claim(
        line=line,
        gpu=owner.text,
        gpu_ids=owner.gpu_ids,
        field=reading.field,
        values=reading.values,
        stated=reading.stated,
        block=block,
        approximate=reading.approximate,
        at_most=reading.at_most,
        sparse=reading.sparse,
        several=owner.several,
    )


def _paragraph(text: str, about: Subject | None) -> Iterator[tuple[Subject, Reading]]:
    """Labelled values ("Cuda Cores: 10496 Tensor Cores: 328"), else prose."""
    if len(text) > LONGEST:
        return
    keys = list(fields.keys().finditer(text))
    if not keys and _LABELLED.fullmatch(text) and not subject.known(text):
        return
    if not keys:
        yield from prose.read(text, about)
        return
    ends = [match.start() for match in keys[1:]] + [len(text)]
    values = [text[match.end() : end].strip(" ,;*") for match, end in zip(keys, ends, strict=True)]
    # "These RT cores:" introduces a list, and a label before a sentence is only its topic.
    labelled = all(value and len(value.split()) < _LONG and not subject.known(value) for value in values)
    if not labelled:
        yield from prose.read(text, about)
        return
    if about is None or not about.gpu_ids:
        return
    for match, value in zip(keys, values, strict=True):
        field = fields.of_label(match["label"])
        if field is not None:
            yield from ((about, reading) for reading in cells.read(field, match["label"], value))
