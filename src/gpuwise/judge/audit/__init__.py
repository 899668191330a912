"""Find wrong figures in articles, tables and result files.

A text becomes blocks (`blocks`, `html`), the blocks become claims (`extract`, with `cells`, `prose`,
`subject`), prices (`rents`) and throughput figures (`speeds`); each is judged by what the catalog, the
dated offers, or physics and logic say (`judge` with `evidence`, `agree`, `kinds`).
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from gpuwise import store
from gpuwise.facts import prices
from gpuwise.judge.audit import files, measured, rents, speeds
from gpuwise.judge.audit.extract import claims
from gpuwise.judge.audit.judge import judge
from gpuwise.model.claim import Audit

__all__ = ["audit_file", "audit_text", "claims", "judge"]


def audit_text(text: str, name: str = "text", *, today: date | None = None) -> Audit:
    """Judge every claim of an article or table; the suffix of `name` tells CSV and HTML.

    Raises InputError where the text is not what its suffix says.
    """
    blocks = files.blocks_of(text, name)
    day = today or date.today()
    hourly = rents.rents(blocks)
    offers = prices.offers(today=day) if hourly else ()
    found = (
        *judge(claims(blocks)),
        *rents.judge(hourly, offers, day),
        *speeds.judge(speeds.figures(blocks, name)),
    )
    ordered = tuple(sorted(found, key=lambda finding: finding.lines))
    return Audit(file=name, findings=ordered, notes=files.left_out(text))


def audit_file(path: Path, *, today: date | None = None) -> Audit:
    """Judge a file: an article, a table, or a gpuwise result (.json).

    Raises InputError for one that is missing, too large, no text, or a damaged result.
    """
    if path.suffix.lower() == ".json":
        return Audit(file=str(path), findings=measured.judge(store.load(path)))
    text, notes = files.text_of(path)
    found = audit_text(text, str(path), today=today)
    return Audit(file=found.file, findings=found.findings, notes=notes + found.notes)
