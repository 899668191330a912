"""Findings of an audit as a table, as data and in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpuwise.model.judgement import NOT_IN_CATALOG, Audit
from gpuwise.show.gpus import label
from gpuwise.show.results import counted
from gpuwise.show.table import Table

# GPUs and values that a summary names.
LISTED = 4


def findings(audits: Sequence[Audit], *, every: bool = False) -> Table:
    """One row a contradiction; `every` finding where asked for."""
    shown = [
        (audit, finding)
        for audit in audits
        for finding in audit.findings
        if every or finding.verdict == "contradicts"
    ]
    # A long source is written once below the table.
    cited = list(dict.fromkeys(finding.source for _, finding in shown if finding.source))
    rows = [
        {
            "where": f"{Path(audit.file).name}:{spans(finding.lines)}",
            "GPU": finding.gpu,
            "field": label(finding.field),
            "stated": finding.stated,
            "verdict": finding.verdict if every else "",
            "best value": finding.best,
            "why": ": ".join(part for part in (finding.kind, finding.explanation) if part),
            "source": f"[{cited.index(finding.source) + 1}]" if finding.source else "",
        }
        for audit, finding in shown
    ]
    notes = [f"[{number}] {source}" for number, source in enumerate(cited, 1)]
    notes += [summary(audit) for audit in audits]
    notes += [f"{audit.file}: {note}" for audit in audits for note in audit.notes]
    return Table.of(rows, notes=tuple(notes))


def summary(audit: Audit) -> str:
    """`article.md: 61 claims read: 3 contradict (2 unit, 1 digit swap), ...`, and what was not judged: GPUs
    outside the catalog, values without an owner."""
    counts = Counter(finding.verdict for finding in audit.findings)
    kinds = Counter(finding.kind for finding in audit.findings if finding.kind)
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    text = f"{audit.file}: no claim found about a GPU of the catalog"
    if audit.findings:
        text = (
            f"{audit.file}: {counted(len(audit.findings), 'claim')} read: {counts['contradicts']} contradict"
            + (f" ({named})" if named else "")
            + f", {counts['agrees']} agree"
            + (f", {counts['differs']} differ from one source" if counts["differs"] else "")
            + f", {counts['cannot tell']} not decidable"
        )
        reasons = Counter(f.explanation for f in audit.findings if f.verdict == "cannot tell")
        if counts["cannot tell"] > counts["agrees"]:
            # A reader of such an answer asks what to do with it.
            text += " (" + ", ".join(f"{n}: {why or 'no source'}" for why, n in reasons.most_common(2)) + ")"
    if audit.unknown_gpus:
        figures = sum(finding.explanation == NOT_IN_CATALOG for finding in audit.findings)
        text += f"; {counted(figures, 'figure')} of GPUs not in the catalog: {_first(audit.unknown_gpus)}"
    if audit.unjudged:
        values = _first([f"{one.text.strip()} in line {one.line}" for one in audit.unjudged])
        text += f"; {counted(len(audit.unjudged), 'value')} not assigned to a GPU and field: {values}"
    return text


def _first(names: Sequence[str]) -> str:
    return ", ".join((*names[:LISTED], *(("...",) if len(names) > LISTED else ())))


def document(audits: Sequence[Audit]) -> list[dict[str, Any]]:
    return [asdict(audit) for audit in audits]


def unreadable(audit: Audit) -> bool:
    """Whether the file holds nothing that could be judged: it is neither clean nor wrong."""
    return all(finding.explanation == NOT_IN_CATALOG for finding in audit.findings)


def spans(lines: Sequence[int]) -> str:
    """`95-98,101` for 95, 96, 97, 98, 101."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
