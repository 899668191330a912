"""What follows from measurements: comparisons and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuwise.model.result import Interval, Measurement
from gpuwise.model.run import RunConfig
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


Evidence = Literal["measured", "calibrated", "transferred", "spec-only"]
"""What a prediction rests on: this very cell measured on this GPU; this card's own limits or workloads;
the same cell measured on another card; the data sheet alone."""
Bound = Literal["compute", "memory", "launch", "link"]
"""What a step waits for: arithmetic, device memory, the host that launches, or the other GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(Shown):
    """What a configuration would do on `count` GPUs of a kind: never a Measurement, and never stored as one.

    Where `refusal` says why nothing can be predicted, the figures that cannot be given are None.
    """

    gpu_id: str
    count: int = 1
    config: RunConfig
    item: str
    """What throughput counts."""
    batch: int | None = None
    """Items a step on each GPU."""
    throughput: Interval | None = None
    """Predicted items a second of all GPUs together, 80 %."""
    measured: Interval | None = None
    """What was measured of the same cell on this GPU, at this batch or at one that matters little."""
    measured_in: str = ""
    """The file that holds it."""
    seconds: float | None = None
    """Of one step; of one output token of a served model (TPOT)."""
    first_token_s: Interval | None = None
    """Of a served model: seconds to the first token of an answer (TTFT), 80 %."""
    memory_bytes: Interval | None = None
    """Peak of what the framework allocates on one GPU, 80 %: what a Measurement holds, without context."""
    fits_probability: float | None = None
    watts: Interval | None = None
    """Mean draw of all GPUs together while steps run, 80 %, at most their power limits."""
    bound: Bound | None = None
    shares: tuple[tuple[Bound, float], ...] = ()
    """Share of a step's time by bound, largest first."""
    evidence: Evidence = "spec-only"
    refusal: str = ""
    """Why there is no throughput; empty where there is."""
    measure_command: str = ""
    """What would measure it on that GPU."""
    notes: tuple[str, ...] = ()

    @property
    def cell(self) -> str:
        """The question: workload, mode, precision, compilation, recipe."""
        return self.config.key("batch")

    @property
    def items_per_joule(self) -> float | None:
        """Predicted energy efficiency."""
        return self.throughput.value / self.watts.value if self.throughput and self.watts else None

    @property
    def best(self) -> Interval | None:
        """The measured speed where there is one, else the predicted."""
        return self.measured or self.throughput
