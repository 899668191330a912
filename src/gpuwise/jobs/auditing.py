"""Find wrong figures in an article, a table or a result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gpuwise.errors import NoDataError
from gpuwise.judge import audit as judge
from gpuwise.model.judgement import Audit
from gpuwise.model.question import Asked
from gpuwise.model.result import Issue
from gpuwise.show.table import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest(Asked):
    """Files to judge, or one text."""

    files: tuple[Path, ...] = ()  # Markdown, HTML, text, CSV, a result of gpuwise; or directories of texts
    text: str | None = None
    name: str = "text"  # Of the text; its suffix says whether it is CSV or HTML
    today: date | None = None  # Prices are compared with offers as known on this day
    every: bool = False  # In the table also what agrees and what cannot be decided


def audit(request: AuditRequest | str) -> Answer[tuple[Audit, ...]]:
    """Judge every figure: specifications by the catalog, hourly prices by dated offers, speeds by physics.

    A text is judged as it is; files go by a request.
    The exit status is 1 where something is contradicted, 5 where a file or directory holds no claim that can
    be judged.
    Raises InputError for a file that is missing, too large, or not what its suffix says.
    """
    from gpuwise.show import audits as show
    from gpuwise.show.gpus import label

    request = AuditRequest.of(request, "text")
    asked = [
        [judge.audit_file(path, today=request.today) for path in judge.files_of(one)] for one in request.files
    ]
    if request.text is not None:
        asked.append([judge.audit_text(request.text, request.name, today=request.today)])
    audits = [one for files in asked for one in files]
    wrong = tuple(
        Issue.invalid(
            (f.kind or "contradicts").replace(" ", "-"),
            f"{one.file}, line {f.lines[0]}: {f.gpu}, {label(f.field)} {f.stated}"
            + f", known is {f.best}" * bool(f.best)
            + f": {f.explanation}" * bool(f.explanation),
        )
        for one in audits
        for f in one.findings
        if f.verdict == "contradicts"
    )
    # A directory may hold other texts, too.
    silent = any(all(map(show.unreadable, files)) for files in asked)
    return Answer(
        value=tuple(audits),
        issues=wrong,
        exit_status=1 if wrong else NoDataError.exit_code if silent else 0,
        to_table=lambda: show.findings(audits, every=request.every),
        to_data=lambda: show.document(audits),
    )
