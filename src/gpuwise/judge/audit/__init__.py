"""Find wrong figures in articles, tables and result files.

A document becomes blocks (`read`) with its function words in English (`english`), every word of a block a
typed token (`words`), tokens become claims about GPUs (`document`, with `grid`, `layout`, `cells`; in running
text `prose`, with `typed`, `sentence`). Each claim is judged by what the catalog (`judge`, with `agree`,
`explain`, `evidence`), or dated offers, physics and logic (`speeds`) say.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.judge.audit import document, read, speeds
from gpuwise.judge.audit.judge import judge
from gpuwise.judge.audit.prose import Left, gpus_of
from gpuwise.model.judgement import Audit, Claim, Unjudged

__all__ = ["audit_file", "audit_text", "files_of"]

MOST_NOTED = 200
"""Values without a GPU that are listed; a longer list helps nobody."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Nothing that an audit makes is garbage before its end: looking for it takes a sixth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_uncollected()
def audit_text(text: str, name: str = "text", *, today: date | None = None) -> Audit:
    """Judge every claim of an article or table; the suffix of `name` says whether it is CSV or HTML.

    Raises InputError where the text is not what its suffix says.
    """
    notes: list[str] = []
    blocks = read.blocks_of(text, name, notes)
    found = list(document.claims(blocks))
    claims = [one for one in found if isinstance(one, Claim)]
    by_field = defaultdict(list)
    for claim in claims:
        by_field[claim.field].append(claim)
    judged = (
        *judge([claim for claim in claims if claim.field not in (speeds.RENT, speeds.FIELD, speeds.FITS)]),
        *speeds.judge_rents(by_field[speeds.RENT], today or date.today()),
        *speeds.judge(by_field[speeds.FIELD] + by_field[speeds.FITS]),
    )
    findings = speeds.judge_products(blocks, judged)
    # A sum, or a difference such as "130 W less", says what its figure is.
    said = {(line, one.stated) for one in findings for line in one.lines if one.kind == "wrong sum"}
    beside = [c for c in claims if c.than]
    left = [
        one for one in found if isinstance(one, Left) and (one.line, one.text) not in said
        and not any(c.line == one.line and c.stated.startswith(one.text) for c in beside)
    ]  # fmt: skip
    return Audit(
        file=name,
        findings=tuple(sorted(findings, key=lambda finding: finding.lines)),
        notes=(*notes,),
        unknown_gpus=tuple(
            dict.fromkeys(
                token.text.strip()
                for block in blocks
                for text in read.texts_of(block)
                for token in gpus_of(text)
                if not token.gpu_ids
            )
        ),
        unjudged=tuple(
            Unjudged(line=one.line, text=one.text, reason="no GPU or field to tie it to")
            for one in left[:MOST_NOTED]
        ),
    )


def files_of(path: Path) -> tuple[Path, ...]:
    """The file itself; of a directory the articles and tables in it, by their suffixes, in order.

    Raises InputError where a directory holds none.
    """
    try:
        if not path.is_dir():
            return (path,)
    except OSError:
        # No name of a file is so long; reading it says so.
        return (path,)
    inside = (p for p in path.rglob("*") if p.suffix.lower() in read.SUFFIXES and p.is_file())
    found = sorted(p for p in inside if not any(part.startswith(".") for part in p.relative_to(path).parts))
    if not found:
        raise InputError(f"{path} holds no article or table", hint=f"give a file: {read.KINDS}")
    return tuple(found)


def audit_file(path: Path, *, today: date | None = None) -> Audit:
    """Judge a file: an article, a table, or a gpuwise result; other JSON is read as a list of fields.

    Raises InputError for one that is missing, too large, not text, or a damaged result.
    """
    text, notes = read.text_of(path)
    if path.suffix.lower() == ".json" and read.is_result(text):
        return Audit(file=str(path), findings=speeds.judge_result(store.load(path)))
    found = audit_text(text, str(path), today=today)
    return replace(found, notes=notes + found.notes)
