"""What a search over the switches of a recipe found."""

from __future__ import annotations

from dataclasses import dataclass

from gpuwise.model.precision import Precision
from gpuwise.model.recipe import Recipe, Switches
from gpuwise.model.result import Interval, Measurement
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One point of the search."""

    switches: Switches
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One setting, measured."""

    setting: Setting
    measurement: Measurement
    refusal: str | None = None
    """Why it does not count: it failed, did not fit, or computes something else."""
    adopted: bool = False
    """Whether the search went on from here."""

    @property
    def speed(self) -> Interval | None:
        """Items per second, where it counts."""
        return None if self.refusal else self.measurement.throughput


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The best recipe known for one workload on one kind of device with one software."""

    device: str
    """Catalog entry, else the name that the driver reports."""
    torch: str
    cuda: str | None
    workload: str
    version: int
    mode: Mode
    precision: Precision
    compile: bool
    gpus: int = 1
    """More than one: of the switches, only how these exchange gradients was searched."""
    batch: int
    batch_given: bool = False
    """Whether this batch was asked for, so that no other was tried."""
    switches: Switches
    recipe: Recipe = "tuned"
    """What was searched: stock has torch's own kernels alone, tuned gpuwise's as well."""
    throughput: Interval
    """Items per second, measured anew after the search."""
    gain: Interval
    """Over the default switches at the default batch, measured anew as well."""
    found_at: str
    """UTC, ISO 8601."""
    source: str
    """The result that holds every trial."""

    def of_work(self, config: RunConfig) -> bool:
        """Whether it was found for this workload in this precision."""
        return (self.workload, self.precision) == (config.workload, config.precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A search, as far as it came."""

    trials: tuple[Trial, ...] = ()
    left: int = 0
    """Settings that the time did not reach."""
    tuned: Tuned | None = None
    """None where nothing ran or was compared, or default and best were not measured again."""

    @property
    def compared(self) -> bool:
        """Whether anything was held against the default, or nothing else was there to be tried."""
        return len(self.trials) > 1 or not self.left
