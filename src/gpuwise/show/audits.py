"""Findings of an audit as a table, as data and in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpuwise.model.claim import NOT_IN_CATALOG, Audit
from gpuwise.show.gpus import label
from gpuwise.show.table import Table

# GPUs and values that a summary names.
LISTED = 4


def findings(audits: Sequence[Audit], *, every: bool = False) -> Table:
    """One row a contradiction; `every` finding where asked for."""
    verdict, rows = ("verdict",) if every else (), []
    for audit in audits:
        for finding in audit.findings:
            if not every and finding.verdict != "contradicts":
                continue
            peak, field = finding.field.startswith("peak:"), finding.field
            rows.append((
                f"{Path(audit.file).name}:{spans(finding.lines)}", finding.gpu,
                field.replace("peak:", "peak ") if peak else label(field), finding.stated,
                *((finding.verdict,) if every else ()), finding.best,
                ": ".join(part for part in (finding.kind, finding.explanation) if part), finding.source,
            ))  # fmt: skip
    cited = tuple(dict.fromkeys(row[-1] for row in rows if row[-1]))
    return Table(
        columns=("where", "GPU", "field", "stated", *verdict, "best value", "why", "source"),
        rows=tuple((*row[:-1], f"[{cited.index(row[-1]) + 1}]" if row[-1] else "") for row in rows),
        notes=(
            *(f"[{number}] {source}" for number, source in enumerate(cited, 1)),
            *(summary(audit) for audit in audits),
            *(f"{audit.file}: {note}" for audit in audits for note in audit.notes),
        ),
    ).without_empty_columns()


def summary(audit: Audit) -> str:
    """`article.md: 61 claims read: 3 contradict (2 unit, 1 digit swap), ...`, and what was not judged."""
    counts = Counter(finding.verdict for finding in audit.findings)
    if not audit.findings:
        return f"{audit.file}: no claim found about a GPU of the catalog{_not_judged(audit)}"
    kinds = Counter(finding.kind for finding in audit.findings if finding.kind)
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    number = len(audit.findings)
    return (
        f"{audit.file}: {number} claim{'s' if number > 1 else ''} read: {counts['contradicts']} contradict"
        + (f" ({named})" if named else "")
        + f", {counts['agrees']} agree"
        + (f", {counts['differs']} differ from one source" if counts["differs"] else "")
        + f", {counts['cannot tell']} not decidable"
        + _not_judged(audit)
    )


def _not_judged(audit: Audit) -> str:
    """What was read and not judged: GPUs outside the catalog, values without an owner."""
    parts = []
    if audit.unknown_gpus:
        listed = ", ".join(audit.unknown_gpus[:LISTED]) + (
            ", ..." if len(audit.unknown_gpus) > LISTED else ""
        )
        parts.append(f"not in the catalog: {listed}")
    if audit.unjudged:
        first = ", ".join(f"{one.text.strip()} in line {one.line}" for one in audit.unjudged[:LISTED])
        number = len(audit.unjudged)
        parts.append(f"{number} value{'s' if number > 1 else ''} not assigned to a GPU and field: {first}"
                     + (", ..." if number > LISTED else ""))  # fmt: skip
    return "".join(f"; {part}" for part in parts)


def document(audits: Sequence[Audit]) -> list[dict[str, Any]]:
    """The audits as plain data."""
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
