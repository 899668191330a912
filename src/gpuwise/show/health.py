"""The checks of `gpuwise doctor` as a table."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.measure.telemetry import Check
from gpuwise.show.table import Table

SIGNS = {"ok": "✓", "warn": "!", "fail": "✗"}


def checks(found: Sequence[Check]) -> Table:
    """One row a check, with its one fix."""
    return Table(
        columns=("", "check", "found", "fix"),
        rows=tuple((SIGNS[c.status], c.name, c.detail, c.fix or "") for c in found),
    )
