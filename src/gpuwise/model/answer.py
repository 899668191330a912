"""What follows from measurements: comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuwise.model.result import Interval, Measurement

Verdict = Literal["faster", "slower", "same", "unclear", "not-comparable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Measurement `b` against `a`, the baseline."""

    cell: str
    a: Measurement
    b: Measurement
    ratio: Interval | None
    """Throughput of b over a; None where the two are not comparable."""
    verdict: Verdict
    note: str = ""
