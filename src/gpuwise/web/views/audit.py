"""An article, pasted or dropped, with every finding beside its line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

from gpuwise.errors import InputError
from gpuwise.jobs.facts import Facts
from gpuwise.judge.audit import audit_text
from gpuwise.judge.audit.read import decoded
from gpuwise.model.judgement import Audit, Finding
from gpuwise.model.result import grouped
from gpuwise.show import audits as report
from gpuwise.show.gpus import label
from gpuwise.show.table import Table
from gpuwise.web.view import Asked, View

# Bytes of an article; the longest have some 100 kB.
LARGEST = 512 * 1024
# Lines in a row without a finding that a phone still shows.
QUIET = 4
EXAMPLE = """The RTX 4090 has 16,348 CUDA cores and draws up to 450 W.

| | GeForce RTX 4090 | A100 PCIe 80GB |
| --- | --- | --- |
| CUDA cores | 16,348 | 8,192 |
| Memory bandwidth | 1,008 GB/s | 2,039 GB/s |
| TDP | 450 W | 300 W |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the article with what was found in it."""

    number: int
    text: str
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> str:
        """The verdict that decides how the line looks; empty without a finding."""
        verdicts = {finding.verdict for finding in self.findings}
        return next((v for v in ("contradicts", "differs", "cannot tell", "agrees") if v in verdicts), "")


def form(facts: Facts, asked: Asked) -> View:
    """The form, with an example in it."""
    return _view("", None)


def audit(facts: Facts, data: bytes, name: str) -> View:
    """The article with its findings. Raises InputError for one that is empty, too long, or no text."""
    if len(data) > LARGEST:
        problem = f"the article has {len(data) // 1024:,} KiB; read are up to {LARGEST // 1024}"
        raise InputError(problem, hint="audit a part of it, or on your own machine: gpuwise audit FILE")
    text, notes = decoded(data, name)
    if not text.strip():
        raise InputError("there is no text to audit", hint="paste an article, or drop a file")
    found = audit_text(text, name, today=facts.today)
    return _view(text, replace(found, notes=notes + found.notes))


def _view(text: str, found: Audit | None) -> View:
    audits = [found] if found else []
    beside = grouped((finding.lines[0], finding) for finding in (found.findings if found else ()))
    numbered = enumerate(text.splitlines(), 1)
    lines = [Line(number=n, text=line, findings=tuple(beside.get(n, ()))) for n, line in numbered]
    # What a phone folds: long runs of lines that say nothing of a GPU.
    each = [list(run) for _, run in groupby(lines, key=lambda line: not line.findings)]
    runs = [(len(run) > QUIET and not run[0].findings, run) for run in each]
    return View(
        title="Audit an article",
        template="audit.html",
        table=report.findings(audits, every=True) if found else Table(columns=("where",), rows=()),
        document=lambda: report.document(audits),
        content={
            "text": text or EXAMPLE, "found": found, "runs": runs, "spans": report.spans,
            "summary": report.summary(found) if found else "", "field": label,
        },
    )  # fmt: skip
