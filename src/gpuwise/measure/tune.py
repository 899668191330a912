"""Search for the fastest recipe on the machine: settings become configurations of a session.

The search is coordinate-wise: one switch after the other, each time going on from the fastest setting so far.
A setting replaces the fastest only where it is faster beyond noise: the low end of the ratio's 95 % interval
is above 1 + MARGIN. The batch is doubled, then halved, while that helps. Passes over all switches go on until
one changes nothing or the time is up; no setting is measured twice. The result is a local optimum: switches
that pay only together are not found.

At the end the default recipe and the best one are measured once more, longer and one after the other: the
gain is the ratio of these two. That of the trials would flatter, because the best of many is chosen by its
luck, too. Where there was time for the default only, nothing is found. A trial that the session holds from
before it was interrupted is not measured again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from gpuwise import workloads
from gpuwise.measure.prepare import done
from gpuwise.measure.session import Progress, Session
from gpuwise.model.question import OWN_KERNELS, USUAL, Recipe, RunConfig, Switches, WorkloadSpec, choices
from gpuwise.model.result import Interval, Measurement, Setting, Trial, Tuned, Tuning
from gpuwise.model.units import percent, seconds
from gpuwise.stats.comparison import compare
from gpuwise.stats.interval import ratio_of

BATCH = "batch"
# Switches in the order of the search, and what a measurement must be for each to have an effect: on a GPU,
# compiled, training or inference, and half: under autocast, or in FP8, which is bf16 between products.
# Inference has its weights, and with them all between products, in 16 bits.
NEEDS: Mapping[str, str] = {
    "layout": "", "pooling": "gpu", "norms": "gpu train", "fold_norms": "infer",
    "residual_dtype": "train half", BATCH: "", "attention": "gpu", "decode": "gpu half",
    "graph": "gpu compiled", "master_weights": "train half", "overlap_grads": "train", "bucket": "train",
    "compile_scope": "compiled", "compiler": "compiled",
}  # fmt: skip
# Weights are cast for each product in FP8 anyway, and fp32 is always channels-first.
WITHOUT = {"fp8": "master_weights", "fp32": "layout"}
# Of every workload that trains on several GPUs.
EXCHANGE_SWITCHES = frozenset({"overlap_grads", "bucket"})


def axes(spec: WorkloadSpec, config: RunConfig, recipe: Recipe = "tuned") -> dict[str, tuple[str, ...]]:
    """The search space of a configuration: switches with their words, and the batch unless given.

    Several GPUs run the recipe of one; only how they exchange gradients is searched. A search for a stock
    recipe has none of gpuwise's kernels.
    """
    alone = {*spec.switches, *(() if config.batch else (BATCH,))}
    heeded = alone if config.gpus == 1 else EXCHANGE_SWITCHES
    half, gpu = config.precision in ("fp16", "bf16", "fp8"), config.device == "cuda"
    train = config.mode == "train"
    holds = {"gpu": gpu, "compiled": config.compile, "train": train, "infer": not train, "half": half}

    def runs(name: str, word: str) -> bool:
        # gpuwise's kernels run on GPUs, the one of attention on 16 bits.
        is_own_kernel = word in OWN_KERNELS.get(name, ())
        if recipe == "stock" and is_own_kernel:
            return False
        return not is_own_kernel or (gpu and (name != "attention" or half))

    return {
        name: tuple(word for word in choices().get(name, ()) if runs(name, word))
        for name, needs in NEEDS.items()
        if name in heeded and name != WITHOUT.get(config.precision) and all(map(holds.get, needs.split()))
    }


def settled(switches: Switches, changed: str) -> Switches:
    """The switches, with what `changed` does not go with put back: gpuwise's poolings and norms read
    channels-last images, and make them of others first."""
    if switches.layout == "channels-first" and "triton" in (switches.pooling, switches.norms):
        if changed == "layout":
            return replace(switches, pooling=USUAL.pooling, norms=USUAL.norms)
        return replace(switches, layout=USUAL.layout)
    return switches


TOLERANCE = 0.05
WRONG = ("mismatch", "diverging", "output", "above-peak")


def refusal(m: Measurement, reference: Measurement | None) -> str | None:
    """Why a measurement does not count beside the default recipe's; None where it does.

    It must compute the same: no caution may say that its numbers are wrong, and loss and norm of the
    gradients from the same first weights on the same batch agree with those of the default switches within 5
    %, which dropout's other random numbers need. A scale that is lost, a layer that is skipped or a gradient
    that underflows moves the norm by more. Norms of different batches differ by more than that, so they are
    compared at equal batches only.
    """
    if m.status != "ok" or m.throughput is None:
        return m.status if m.error is None else f"{m.status}: {m.error.splitlines()[0]}"
    for caution in m.cautions:
        if caution.code in WRONG:
            return f"{caution.code}: {caution.detail}"
    if reference is None or reference.batch != m.batch:
        return None
    pairs = (
        ("the first loss", next(iter(m.loss), None), next(iter(reference.loss), None)),
        ("the norm of the gradients", m.gradient_norm, reference.gradient_norm),
    )
    for what, here, recorded in pairs:
        if here is None or recorded is None:
            continue
        if not abs(here - recorded) <= TOLERANCE * abs(recorded):  # NaN must not pass
            off = percent(abs(here / recorded - 1))
            return f"numerics: {what} differs by {off} from the default recipe's"
    return None


# Equal runs of one compiled step differ by so much.
MARGIN = 0.003

Measure = Callable[[Setting], Measurement]
# Why a measurement does not count, or None.
Refuse = Callable[[Measurement], str | None]


@dataclass(slots=True)
class Search:
    """State of one search. Iterate `run()`; `best` is the fastest trial so far."""

    measure: Measure
    refuse: Refuse
    in_time: Callable[[], bool]  # There is time for another trial
    axes: Mapping[str, tuple[str, ...]]
    """What is tried, in this order: switches with their words, and BATCH, which has none."""
    also: Sequence[Setting] = ()  # Tried after the start, before the axes
    best: Trial | None = None
    tried: set[Setting] = field(default_factory=set)
    skipped: set[Setting] = field(default_factory=set)  # Settings for which there was no time

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
                # Every word of one switch, the others as they are in the best.
                for word in words:
                    setting = self.best.setting
                    switches = replace(setting.switches, **{name: word})  # type: ignore[arg-type]
                    yield from self._try(replace(setting, switches=settled(switches, name)))
            changed = self.best is not before

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
    """True if the new speed is higher beyond noise."""
    return old is None or ratio_of(old, new).low > 1 + MARGIN


# Longest timing of one trial, and of the two last measurements.
TRIAL_S, FINAL_S = 5.0, 15.0
# Trials for which there must be time when another begins: itself, and the two last measurements, which find
# most of their code compiled.
SPARE_TRIALS = 2
# The interval at which they end before.
TARGET_CI = 0.003

Clock = Callable[[], float]
Show = Callable[[Progress], None]


@dataclass(slots=True)
class Tuner:
    """One search on one session. Iterate `run()`, then read `tuning`."""

    session: Session
    config: RunConfig  # What is tuned, from which switches on; its batch, where it has one, is kept
    time_s: float
    known: RunConfig | None = None
    """What `gpuwise bench` would run today: tried next to the default, as a kept recipe takes precedence."""
    only: tuple[Switches, ...] = ()  # If given, these are tried beside the two, and no more
    recipe: Recipe = "tuned"  # What is searched: stock leaves out gpuwise's own kernels
    now: Clock = time.monotonic
    trials: list[Trial] = field(default_factory=list)
    tuning: Tuning | None = None
    _longest_s: float = 0.0
    _until_s: float = math.inf  # When a trial that still runs is ended
    _defaults: dict[int | None, Measurement] = field(default_factory=dict)

    def run(self, show: Show = lambda _: None) -> Iterator[Trial]:
        """Trials as they end. KeyboardInterrupt goes up; `tuning` and the session keep what was measured."""
        spec = workloads.get(self.config.workload).spec
        began = self.now()
        self._until_s = began + self.time_s
        default = spec.default_batch if self.config.device == "cuda" else spec.cpu_batch
        start, *also = (
            Setting(switches=config.switches, batch=config.batch or default)
            for config in (self.config, self.known or self.config)
        )
        also += [replace(start, switches=switches) for switches in self.only]
        search = Search(
            measure=lambda setting: self._measure(setting, show, quick=True),
            refuse=lambda m: refusal(m, self._defaults.get(m.batch)),
            in_time=lambda: self.now() - began + SPARE_TRIALS * self._longest_s < self.time_s,
            axes={} if self.only else axes(spec, self.config, self.recipe),
            also=also,
        )
        for trial in search.run(start):
            self.trials.append(trial)
            self.tuning = Tuning(trials=tuple(self.trials))
            yield trial
        self.tuning = replace(self.tuning or Tuning(), left=len(search.skipped - search.tried))
        if search.best is not None and self.tuning.compared:
            self.tuning = replace(self.tuning, tuned=self._final(start, search.best.setting, show))

    def _measure(self, setting: Setting, show: Show, *, quick: bool) -> Measurement:
        config = replace(
            self.config,
            switches=setting.switches,
            batch=setting.batch,
            time_s=min(TRIAL_S if quick else FINAL_S, self.config.time_s),
            target_ci=TARGET_CI,
            quick=quick,
        )
        kept = done(self.session.result, [config]) if quick else ()
        measured = kept[0] if kept else self._anew(config, show)
        if setting.switches == self.config.switches and measured.status == "ok":
            self._defaults.setdefault(measured.batch, measured)
        return measured

    def _anew(self, config: RunConfig, show: Show) -> Measurement:
        began, measured = self.now(), None
        with closing(self.session.measure_all([config])) as updates:
            for update in updates:
                if isinstance(update, Measurement):
                    measured = update
                elif config.quick and self.now() > self._until_s:
                    break  # also of the first trial nobody knows how long it compiles
                else:
                    show(update)
        self._longest_s = max(self._longest_s, self.now() - began)
        version = workloads.get(config.workload).spec.version
        late = f"it did not end within {seconds(self.time_s)}"
        return measured or Measurement(
            config=config, workload_version=version, status="interrupted", error=late, item="", started_at=""
        )

    def _final(self, start: Setting, best: Setting, show: Show) -> Tuned | None:
        """Default and best once more; None where either fails."""
        before = self._measure(start, show, quick=False)
        after = before if best == start else self._measure(best, show, quick=False)
        compared = compare(before, after)
        if compared.ratio is None or after.throughput is None:
            return None
        environment = self.session.result.environment
        return Tuned(
            device=environment.gpu_id or environment.device,
            torch=environment.torch or "",
            cuda=environment.cuda,
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
