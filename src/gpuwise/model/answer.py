"""What follows from measurements: comparisons and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuwise.model.result import Interval, Measurement
from gpuwise.model.shown import Shown

Verdict = Literal["faster", "slower", "same", "unclear", "not-comparable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Shown):
    """Measurement `b` against `a`, the baseline."""

    cell: str
    a: Measurement
    b: Measurement
    ratio: Interval | None
    """Throughput of b over a. It says nothing of the GPUs where the verdict is not-comparable, as between
    frameworks; None where there is none."""
    verdict: Verdict
    note: str = ""
