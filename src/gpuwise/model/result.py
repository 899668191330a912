"""What was measured: raw step times first, everything else can be recomputed from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuwise.model.run import Environment, RunConfig

SCHEMA = 1
"""Version of the result file. History: 1 = first (2026-11)."""

Status = Literal["ok", "oom", "failed", "interrupted"]
CautionCode = Literal[
    "above-peak",
    "contended",
    "diverging",
    "energy-mismatch",
    "halves",
    "hot-start",
    "linear",
    "mismatch",
    "noisy",
    "order",
    "precision",
    "repeated",
    "scaling",
    "short",
    "telemetry",
    "throttled",
    "unsteady",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value with what is known of its uncertainty; the only way a speed leaves `stats`.

    Where a source states a value without uncertainty, low = high = value and level is None.
    """

    value: float
    low: float
    high: float
    level: float | None = 0.95
    method: str

    @property
    def half_width(self) -> float:
        """The larger distance to either end, as a share of the value."""
        return max(self.value - self.low, self.high - self.value) / self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """A reason to read a number with care, and what to do about it."""

    code: CautionCode
    detail: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One timed window: consecutive steps between two synchronisations."""

    step_s: tuple[float, ...]
    started_s: float
    """Monotonic clock at the window's start, seconds; places telemetry samples."""
    ended_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTrial:
    """One point of the batch search."""

    batch: int
    fits: bool
    compiled: bool = False
    """Whether this trial ran compiled; the first ranking is made eagerly."""
    items_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What the device's sensors said over the timed windows."""

    samples: int
    power_w: float | None = None
    """Mean draw, from the energy counter where there is one, else from sampled power."""
    energy_j: float | None = None
    """Energy of the timed windows from the counter; None if absent or contradicted by power."""
    sm_clock_hz: float | None = None
    """Median clock of the multiprocessors."""
    sm_clock_min_hz: float | None = None
    temperature_start_c: float | None = None
    temperature_max_c: float | None = None
    throttled: tuple[tuple[str, float], ...] = ()
    """(reason, share of samples) for every reason the device gave for a lowered clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One configuration, measured."""

    config: RunConfig
    workload_version: int
    status: Status
    item: str
    started_at: str
    """UTC, ISO 8601."""
    batch: int | None = None
    """Items per step that really ran, in the user's unit (images, sequences)."""
    items_per_step: float | None = None
    """Items of throughput that one step handles; the batch, except for limits."""
    throughput: Interval | None = None
    """Items per second."""
    windows: tuple[Window, ...] = ()
    warmup_s: tuple[float, ...] = ()
    """Step times before the timed windows; the first holds compilation and autotuning."""
    cold_start_s: float | None = None
    """From the start of the process to the end of the first step."""
    memory_peak_bytes: int | None = None
    """Highest memory allocated on the device by the framework."""
    loss: tuple[float, ...] = ()
    """Loss of the first and the last step (training on one fixed batch)."""
    flop_per_item: float | None = None
    bytes_per_item: float | None = None
    mfu: float | None = None
    """Achieved model FLOP/s over the catalog's dense peak of this precision."""
    limit_share: float | None = None
    """Achieved speed over what the limits measured in the same session allow."""
    limit: Literal["compute", "memory"] | None = None
    """Which measured limit is the nearer one."""
    telemetry: Telemetry | None = None
    batch_trials: tuple[BatchTrial, ...] = ()
    cautions: tuple[Caution, ...] = ()
    error: str | None = None

    @property
    def items_per_joule(self) -> float | None:
        """Energy efficiency; None where the device does not tell its power."""
        if self.throughput is None or self.telemetry is None or not self.telemetry.power_w:
            return None
        return self.throughput.value / self.telemetry.power_w


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One session: what a result file holds."""

    schema: int = SCHEMA
    id: str
    origin: Literal["measured", "published"] = "measured"
    created_at: str
    """UTC, ISO 8601."""
    command: str
    """The command line that makes it again."""
    environment: Environment
    measurements: tuple[Measurement, ...] = ()
    source: str | None = None
    """Citation, where origin is published."""
