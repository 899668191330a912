"""Coordinate-wise search: one switch after the other, each time going on from the fastest setting so far.

A setting replaces the fastest only where it is faster beyond noise: the low end of the ratio's 95 %
interval is above 1 + MARGIN. The batch is doubled, then halved, while that helps. Passes over all
switches go on until one changes nothing or the time is up; no setting is measured twice. The result is
a local optimum: switches that pay only together are not found. Pure: `measure` does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpuwise.model.recipe import Switches
from gpuwise.model.result import Interval, Measurement
from gpuwise.model.tuning import Setting, Trial
from gpuwise.stats import ratio_of

BATCH = "batch"
MARGIN = 0.003
"""Equal runs of one compiled step differ by so much."""

Measure = Callable[[Setting], Measurement]
Settle = Callable[[Switches, str], Switches]
Refuse = Callable[[Measurement], str | None]
"""Why a measurement does not count, or None."""


@dataclass(slots=True)
class Search:
    """State of one search. Iterate `run()`; `best` is the fastest trial so far."""

    measure: Measure
    refuse: Refuse
    in_time: Callable[[], bool]
    """Whether another trial may begin."""
    axes: Mapping[str, tuple[str, ...]]
    """What is tried, in this order: switches with their words, and BATCH, which has none."""
    settle: Settle = lambda switches, changed: switches
    """Puts back what the switch that was changed does not go with."""
    also: Sequence[Setting] = ()
    """Tried after the start, before the axes."""
    best: Trial | None = None
    tried: set[Setting] = field(default_factory=set)
    skipped: set[Setting] = field(default_factory=set)
    """Settings for which there was no time."""

    def run(self, start: Setting) -> Iterator[Trial]:
        """Trials as they end, the start first. Ends where the start does not count."""
        yield from self._try(start)
        if self.best is None:
            return
        for setting in self.also:
            yield from self._try(setting)
        changed = True
        while changed:
            before = self.best
            for name, words in self.axes.items():
                if name == BATCH:
                    yield from self._walk(2.0)
                    yield from self._walk(0.5)
                else:
                    yield from self._choose(name, words)
            changed = self.best is not before

    def _choose(self, name: str, words: tuple[str, ...]) -> Iterator[Trial]:
        """Every word of one switch, the others as they are in the best."""
        for word in words:
            assert self.best is not None
            setting = self.best.setting
            switches = replace(setting.switches, **{name: word})  # type: ignore[arg-type]
            yield from self._try(replace(setting, switches=self.settle(switches, name)))

    def _walk(self, factor: float) -> Iterator[Trial]:
        """Larger or smaller batches while they are faster."""
        while self.best is not None:
            before = self.best
            batch = int(before.setting.batch * factor)
            if batch >= 1:
                yield from self._try(replace(before.setting, batch=batch))
            if self.best is before:
                return

    def _try(self, setting: Setting) -> Iterator[Trial]:
        if setting in self.tried:
            return
        if self.best is not None and not self.in_time():
            self.skipped.add(setting)
            return
        self.tried.add(setting)
        measured = self.measure(setting)
        trial = Trial(setting=setting, measurement=measured, refusal=self.refuse(measured))
        if trial.speed is not None and (self.best is None or faster(trial.speed, self.best.speed)):
            trial = replace(trial, adopted=True)
            self.best = trial
        yield trial


def faster(new: Interval, old: Interval | None) -> bool:
    """Whether the new speed is higher beyond noise."""
    return old is None or ratio_of(old, new).low > 1 + MARGIN
