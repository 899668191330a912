"""A search on the machine: settings become configurations of a session, which measures and keeps them.

At the end the default recipe and the best one are measured once more, longer and one after the other:
the gain is the ratio of these two. That of the trials would flatter, for the best of many is chosen by
its luck, too. Where there was time for the default only, nothing is found. A trial that the session holds
from before it was interrupted is not measured again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from gpuwise import workloads
from gpuwise.measure.resume import done
from gpuwise.measure.session import Progress, Session
from gpuwise.measure.tune.gate import refusal
from gpuwise.measure.tune.search import Search
from gpuwise.measure.tune.space import axes, settled
from gpuwise.model.recipe import Recipe, Switches
from gpuwise.model.result import Measurement
from gpuwise.model.run import RunConfig
from gpuwise.model.tuning import Setting, Trial, Tuned, Tuning
from gpuwise.stats import compare

TRIAL_S, FINAL_S = 5.0, 15.0
"""Longest timing of one trial, and of the two last measurements."""
ROOM = 2
"""Trials for which there must be time when another begins: itself, and the two last measurements, which
find most of their code compiled."""
TARGET_CI = 0.003
"""The interval at which they end before."""

Clock = Callable[[], float]
Tell = Callable[[Progress], None]


@dataclass(slots=True)
class Tuner:
    """One search on one session. Iterate `run()`, then read `tuning`."""

    session: Session
    config: RunConfig
    """What is tuned, from which switches on; its batch, where it has one, is kept."""
    time_s: float
    known: RunConfig | None = None
    """What `gpuwise bench` would run today: tried next to the default, for what is kept goes before it."""
    only: tuple[Switches, ...] = ()
    """If given, these are tried beside the two, and no more."""
    recipe: Recipe = "tuned"
    """What is searched: stock leaves out gpuwise's own kernels."""
    now: Clock = time.monotonic
    trials: list[Trial] = field(default_factory=list)
    tuning: Tuning | None = None
    _longest_s: float = 0.0
    _defaults: dict[int | None, Measurement] = field(default_factory=dict)

    def run(self, tell: Tell = lambda _: None) -> Iterator[Trial]:
        """Trials as they end. KeyboardInterrupt goes up; `tuning` and the session keep what was measured."""
        spec = workloads.get(self.config.workload).spec
        began = self.now()
        default = spec.default_batch if self.config.device == "cuda" else spec.cpu_batch
        start, *also = (
            Setting(switches=config.switches, batch=config.batch or default)
            for config in (self.config, self.known or self.config)
        )
        also += [replace(start, switches=switches) for switches in self.only]
        search = Search(
            measure=lambda setting: self._measure(setting, tell, quick=True),
            refuse=lambda m: refusal(m, self._defaults.get(m.batch)),
            in_time=lambda: self.now() - began + ROOM * self._longest_s < self.time_s,
            axes={} if self.only else axes(spec, self.config, self.recipe),
            settle=settled,
            also=also,
        )
        for trial in search.run(start):
            self.trials.append(trial)
            self.tuning = Tuning(trials=tuple(self.trials))
            yield trial
        self.tuning = replace(self.tuning or Tuning(), left=len(search.skipped - search.tried))
        if search.best is not None and self.tuning.compared:
            self.tuning = replace(self.tuning, tuned=self._final(start, search.best.setting, tell))

    def _measure(self, setting: Setting, tell: Tell, *, quick: bool) -> Measurement:
        config = replace(
            self.config,
            switches=setting.switches,
            batch=setting.batch,
            time_s=min(TRIAL_S if quick else FINAL_S, self.config.time_s),
            target_ci=TARGET_CI,
            quick=quick,
        )
        kept = done(self.session.result, [config]) if quick else ()
        measured = kept[0] if kept else self._anew(config, tell)
        if setting.switches == self.config.switches and measured.status == "ok":
            self._defaults.setdefault(measured.batch, measured)
        return measured

    def _anew(self, config: RunConfig, tell: Tell) -> Measurement:
        began = self.now()
        for update in self.session.measure_all([config]):
            if isinstance(update, Measurement):
                measured = update
            else:
                tell(update)
        self._longest_s = max(self._longest_s, self.now() - began)
        return measured

    def _final(self, start: Setting, best: Setting, tell: Tell) -> Tuned | None:
        """Default and best once more; None where either fails."""
        before = self._measure(start, tell, quick=False)
        after = before if best == start else self._measure(best, tell, quick=False)
        compared = compare(before, after)
        if compared.ratio is None or after.throughput is None:
            return None
        found = self.session.result.environment
        return Tuned(
            device=found.gpu_id or found.device,
            torch=found.torch or "",
            cuda=found.cuda,
            workload=self.config.workload,
            version=after.workload_version,
            mode=self.config.mode,
            precision=self.config.precision,
            compile=self.config.compile,
            gpus=self.config.gpus,
            batch=best.batch,
            # Several GPUs keep the batch that was found for one.
            batch_given=self.config.batch is not None and self.config.gpus == 1,
            switches=best.switches,
            recipe=self.recipe,
            throughput=after.throughput,
            gain=compared.ratio,
            found_at=after.started_at,
            source=self.session.result.id,
        )
