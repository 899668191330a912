"""Time configurations one after the other, each in a fresh process, and keep every result.

`measure_all` yields Progress while a measurement runs and the Measurement when it is final, and
hands the growing Result to `keep` after each, so that a crash, a kill or Ctrl-C loses nothing
that was already measured. A child that dies, hangs or runs out of memory is a row; the rest go on.

The parent that does this never imports torch.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, takewhile
from statistics import fmean, median
from tempfile import NamedTemporaryFile

from gpuwise import checks, workloads
from gpuwise.measure import events, frameworks
from gpuwise.measure.assemble import Limits, MeasurementBuilder, assemble, uneven_power
from gpuwise.measure.process import Child
from gpuwise.measure.request import Rendezvous, expected_phases
from gpuwise.measure.telemetry import links
from gpuwise.measure.telemetry.sensor import COOL_C, Sample, Sampler, Sensor, Wear, wait_until_cool
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import BatchTrial, Issue, Measurement, Result, Window
from gpuwise.model.units import percent, seconds, significant

# Of rows that are compiled at the same time: the share of the memory that they may fill, that of one of which
# nothing is known and its bytes at most (of 60 rows at their own batch on an H200 three took more), the cores
# that each needs, and how many there are at most.
FILLED, UNKNOWN, UNKNOWN_BYTES, CORES, MOST_TOGETHER = 0.9, 1 / 3, 32e9, 4, 4
# The name of a device without a sensor, until its process reports it.
UNWATCHED = "GPU"
# How much longer than the median a step may take, in two windows, before a soak is stopped; and windows that
# say what is usual.
SOAK_SLOW, SOAK_SEEN = 1.2, 6
# Share of the rate of its matrix products that a network reaches at first, as rough as the time left is; and
# steps that a phase takes at least, which count where a step takes seconds.
OF_PEAK = 0.3
STEPS = {"first step": 1, "warm-up": 3, "timing": 3, "profile": 4}
# Phases until a row is ready to be timed: those of rows that are compiled together run at the same time.
PREPARING, SLOWER = ("start", "search", "build", "compile", "first step"), 1.15  # For each one more
COOLING = f"waiting until the device is below {COOL_C:.0f} C"
VANISHED = "the measuring process ended itself before it was done (os._exit in the workload?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The measurement that runs and what it is doing, for the progress line."""

    config: RunConfig
    number: int  # This measurement, counted from 1
    total: int
    doing: str
    eta_s: float  # Until the whole session ends
    spent_s: float = 0.0  # Since it began
    since_s: float = 0.0  # What goes on now does so for so long
    sample: Sample | None = None  # The newest reading of the sensor


Update = Progress | Measurement
Keep = Callable[[Result], object]


@dataclass(slots=True)
class TelemetryLog:
    """Readings of one sensor while a measurement ran. A sensor that fails ends no measurement."""

    sensor: Sensor | None
    samples: list[Sample] = field(default_factory=list)
    foreign_pids: set[int] = field(default_factory=set)
    """Processes other than the child that were seen on the device."""
    hot: list[Issue] = field(default_factory=list)
    error: str | None = None  # The first failure of the sensor

    def look(self, *children: int, waiting: Sequence[int] = ()) -> None:
        """See which processes compute on the device."""
        try:
            self.foreign_pids |= foreign_processes(self.sensor, *children, waiting=waiting)
        except Exception as error:  # noqa: BLE001  a driver may fail in any way; the run goes on
            self.error = self.error or f"{type(error).__name__}: {error}"

    def cool_down(self) -> None:
        """Wait until the device is below 50 C, or remember that it did not get there."""
        hot = wait_until_cool(self.sensor) if self.sensor is not None else None
        self.hot += [hot] if hot is not None else []

    def take(self, sampler: Sampler) -> None:
        """Keep what one child's sampler collected."""
        self.samples += sampler.samples
        self.error = self.error or sampler.error


def foreign_processes(sensor: Sensor | None, *children: int, waiting: Sequence[int] = ()) -> set[int]:
    """Compute processes on the device other than the children's, and those `waiting` for their turn.

    In a container the driver may call a child by another number: then one of them is it.
    """
    pids = {process.pid for process in sensor.processes()} if sensor is not None else set()
    if pids & set(children):
        return pids - {*children, *waiting}
    return pids if len(pids) > 1 + len(waiting) else set()


@dataclass(slots=True, kw_only=True)
class Session:
    """State of one session: what the machine is, what was measured so far."""

    result: Result
    keep: Keep
    sensor: Sensor | None = None
    gpu: GpuSpec | None = None
    cautions: tuple[Issue, ...] = ()
    """Cautions that hold for every measurement, such as other processes on the GPU."""
    other_sensors: tuple[Sensor, ...] = ()  # Of the other GPUs of the machine, for what needs more than one
    rendezvous: Rendezvous | None = None  # Where this machine meets the others, where there are several
    limits: Limits = field(default_factory=Limits)
    together: int = 1  # Rows at most that are compiled at the same time, to be timed in turn
    ahead: deque[Child] = field(default_factory=deque)
    """Processes of the next rows: they compile, or wait for an order, their framework imported."""
    known: list[tuple[RunConfig, dict[str, float]]] = field(default_factory=list)
    """Seconds of the phases of measurements that have ended, for the time that is left."""
    began_s: float = field(default_factory=time.monotonic)
    began: bool = False  # This session has measured something; what it goes on with does not count
    turns: Turns | None = None  # With sessions on other cards of the machine, at the same time

    def resume(self, earlier: Result) -> None:
        """Go on in the result of an earlier session; what is measured again takes the earlier's place."""
        self.result = earlier
        for measurement in earlier.measurements:
            self.limits = self.limits.with_measured(measurement)

    def measure_all(self, configs: Sequence[RunConfig]) -> Generator[Update]:
        """Measure every configuration; KeyboardInterrupt keeps what is done and goes up, as `close` does."""
        try:
            for index, config in enumerate(configs):
                total = len(configs)
                place = Progress(config=config, number=index + 1, total=total, doing="starting", eta_s=0.0)
                with self.turns.of(config) if self.turns is not None else nullcontext():
                    yield from self._measure(config, place, configs[index + 1 :])
        finally:
            while self.ahead:
                self.ahead.pop().close()

    def _beside(self, config: RunConfig, later: Sequence[RunConfig]) -> list[RunConfig]:
        """The next rows, which are compiled while `config` is and timed after it: as many as fit the memory
        together, by what rows of their workload, mode, precision and batch took so far."""
        known = [(m, m.config) for m in self.result.measurements if m.memory_peak_bytes]
        took = {(c.workload, c.mode, c.precision, m.batch): m.memory_peak_bytes for m, c in known}
        whole, filled, group = self.result.environment.device_memory_bytes or math.inf, 0.0, []
        usual = min(UNKNOWN * whole, UNKNOWN_BYTES)
        for row in (config, *later)[: self.together if self.turns is None else 1]:
            filled += took.get((row.workload, row.mode, row.precision, row.batch)) or usual
            if not separable(row) or filled > FILLED * whole:
                break
            group.append(row)
        return group[1:]

    def _prepares(self) -> bool:
        """True if a process of the next rows has its order."""
        return any(not child.idle for child in self.ahead)

    def _start(self, rows: Sequence[RunConfig]) -> None:
        """Processes for the next rows, which import their framework."""
        new = rows[len(self.ahead) :]
        self.ahead += [Child(self._environment(row), row.framework) for row in new]

    def left_s(self, config: RunConfig, builder: MeasurementBuilder, later: Sequence[RunConfig]) -> float:
        """Seconds until the session ends: what is left of this measurement, and the later ones."""
        step_s = self._step_s(config, builder)
        usual = self._expected(config).items()
        phases = {name: max(s, s and STEPS.get(name, 0) * step_s) for name, s in usual}
        names = list(phases)
        phase = "first step" if builder.phase == "compile" and not config.compile else builder.phase
        at = names.index(phase) if phase in names else len(names)
        spent_s = time.monotonic() - builder.now_s
        # What takes longer than expected goes on for a third again, so the time left neither stands nor ends.
        left_s = max(phases.get(phase, 0.0) - spent_s, spent_s / 3)
        left_s += sum(phases[name] for name in names[at + 1 :])
        # Those beside it are prepared when it is, and so are those of each group that follows.
        number = sum(not child.idle for child in self.ahead)
        left_s += sum(self._parts(each)[1] for each in later[:number])
        while number < len(later):
            each, before = later[number], later[number - 1] if number else config
            group = (each, *self._beside(each, later[number + 1 :]))
            preparing, timed = zip(*map(self._parts, group), strict=True)
            left_s += (1 if each is config else each.repeat) * (
                max(preparing) * SLOWER ** (len(group) - 1) + sum(timed)
            )
            left_s -= shared(before, each) * self._expected(each).get("start", 0.0)
            number += len(group)
        return left_s

    def _parts(self, config: RunConfig) -> tuple[float, float]:
        """Seconds until a measurement is prepared, and from then on."""
        phases = self._expected(config)
        preparing_s = sum(phases.get(name, 0.0) for name in PREPARING)
        return preparing_s, sum(phases.values()) - preparing_s

    def _step_s(self, config: RunConfig, builder: MeasurementBuilder) -> float:
        """A step's time: as in the warm-up, before it by its operations and this device's matrix products;
        0 where neither is known, or the phases of one like it are. A toy's products are mostly launches."""
        if builder.warmup_s:
            return fmean(builder.warmup_s)
        built, rate = builder.built, self.limits.flop_per_s.get(config.precision)
        if built is None or not built.flop_per_item or not rate or config.size == "toy" or self._like(config):
            return 0.0
        return built.flop_per_item * built.items / (OF_PEAK * rate)

    def _expected(self, config: RunConfig) -> dict[str, float]:
        """Seconds of the phases of a measurement: as those of the last one like it, else as usual."""
        usual, like = expected_phases(config), self._like(config)
        if like is None:
            return usual
        phases = {name: like[1].get(name, 0.0) / like[0].repeat for name in usual}
        if config.compile and sum(phases.get(name, 0.0) for name in PREPARING) < 1:
            phases |= {name: usual[name] for name in PREPARING}  # It was prepared beside another
        # The other may have had more time, or a batch that was given.
        phases["timing"] = min(phases["timing"], max(config.time_s, usual["timing"]))
        return phases | ({"search": usual["search"]} if usual.get("search") else {})

    def _like(self, config: RunConfig) -> tuple[RunConfig, dict[str, float]] | None:
        """The last measurement like it, with the seconds of its phases."""
        names = ("workload", "mode", "compile", "size", "quick", "gpus", "device", "framework", "protocol")
        measured = reversed(self.known)
        return next((k for k in measured if all(getattr(k[0], n) == getattr(config, n) for n in names)), None)

    def _measure(self, config: RunConfig, place: Progress, later: Sequence[RunConfig]) -> Iterator[Update]:
        started_at = datetime.now(UTC).isoformat(timespec="seconds")
        builder, log, cautions = MeasurementBuilder(), TelemetryLog(self.sensor), list(self.cautions)
        # The GPUs of this machine that measure together with the first.
        together = self.other_sensors[: config.gpus // config.nodes - 1] if config.device == "cuda" else ()
        others = [TelemetryLog(sensor) for sensor in together]
        error: str | None = None
        interrupted = True
        # The start gate: below 50 C before the first measurement; under aime one GPU waits before each run by
        # itself, when it has compiled, and several before they start.
        cool = config.gpus > 1 if config.protocol == "aime" else not (self.began or config.quick)
        try:
            if cool:
                yield replace(place, doing=COOLING)
                log.cool_down()
            for run in range(config.repeat):
                builder.begin(run)
                after = (*[config] * (config.repeat - run - 1), *later)
                beside = self._prepares()
                error = yield from self._watch(config, builder, log, others, place, after)
                failed = (error is not None or builder.failed is not None) and not builder.windows
                if failed and (beside or self._prepares()):
                    # Those beside it may have taken the memory that it needs: it begins again alone.
                    while self.ahead:
                        self.ahead.pop().close()
                    builder = MeasurementBuilder()
                    error = yield from self._watch(config, builder, log, others, place, ())
                if error is not None or builder.failed is not None:
                    break
            interrupted = False
        finally:
            # Also on Ctrl-C, and when the caller stops iterating: the windows timed so far count.
            infos = [each.sensor.info() for each in (log, *others) if each.sensor is not None]
            several = bool(others) and self.sensor is not None
            cautions += [*self._doubts((log, *others)), *(uneven_power(infos) if several else ())]
            measurement = assemble(
                config,
                workloads.get(config.workload).spec,
                builder,
                started_at=started_at,
                samples=log.samples,
                others=[other.samples for other in others],
                links=links(infos) if several else (),
                gpu=self.gpu,
                limits=self.limits,
                environment=self.result.environment,
                interrupted=interrupted,
                error=error,
                cautions=cautions,
            )
            if measurement.status == "ok":
                self.known.append((config, builder.phases_s))
            if builder.ready is not None or not interrupted:
                measurement = self._add(measurement, builder.ready)
        yield measurement

    def _watch(
        self,
        config: RunConfig,
        builder: MeasurementBuilder,
        log: TelemetryLog,
        others: Sequence[TelemetryLog],
        place: Progress,
        later: Sequence[RunConfig],
    ) -> Generator[Update, None, str | None]:
        """One order of a child from start to end; returns how the child died, if it did.

        Limits take turns in one process (or one of each GPU), since nothing of one is left for the next, and
        so do eager rows of a first picture, in which starting would take longer than timing. Any other
        measurement has a process of its own, which is compiled together with the one before (`_beside`; what
        it reports meanwhile waits in its pipe), or imports its framework while that one is compiled or once
        its timed windows have ended: nothing disturbs these.
        """
        samplers = [Sampler(each.sensor) for each in (log, *others)]
        environment, following, doing = self._environment(config), next(iter(later), None), "starting"
        alike = following is not None and shared(config, following)
        shares = alike and following is not None and environment == self._environment(following)
        # Ranks take all their orders when they start.
        then = [*takewhile(partial(shared, config), later)] if shares and config.gpus > 1 else []
        child = self.ahead.popleft() if self.ahead else None
        if child is not None and child.idle and not child.serves(environment):
            child.close()
            child = None
        child = child or Child(environment, config.framework)
        meet = self.rendezvous.of(config) if self.rendezvous and config.nodes > 1 else None
        try:
            with ExitStack() as stack:
                aside = config.device != "cpu" and not shares
                if child.idle:
                    group = self._beside(config, later)
                    turn = stack.enter_context(NamedTemporaryFile(prefix="gpuwise-")).name if group else ""
                    self._start(later[: len(group) + (config.compile and aside)])
                    for row, beside in zip((config, *group), (child, *self.ahead), strict=False):
                        given, reference = self.settled(row), workloads.get(row.workload).reference
                        beside.order(given, reference, meet, more=shares, then=then, turn=turn)
                for sampler in samplers:
                    stack.enter_context(sampler)
                before = self.sensor.wear() if config.protocol == "soak" and self.sensor else Wear()
                for event in chain((None,), self._events(child, config, log)):
                    if event is not None:
                        builder.add(event)
                        doing = describe(event, builder, config)
                    if isinstance(event, Window):
                        pids = builder.ranked.pids if builder.ranked else (child.pid,)
                        waiting = [beside.pid for beside in self.ahead if not beside.idle]
                        for each in (log, *others):
                            each.look(*pids, waiting=waiting)
                    now_s = time.monotonic()
                    yield replace(
                        place,
                        doing=doing,
                        eta_s=self.left_s(config, builder, later),
                        spent_s=now_s - self.began_s,
                        since_s=now_s - builder.now_s,
                        sample=next(reversed(samplers[0].samples), None),
                    )
                    if isinstance(event, Window) and config.protocol == "soak":
                        worn = self.sensor.wear() if self.sensor is not None else Wear()
                        if why := soak_ends(builder.windows, worn, before):
                            return f"the soak was stopped: {why}"
                    idle = isinstance(event, events.Done) and aside and not self._prepares()
                    if idle and following is not None:
                        self._start((following, *self._beside(following, later[1:])))
            return child.ending() or (None if builder.done or builder.failed else VANISHED)
        except TimeoutError as hang:
            return str(hang)
        finally:
            for each, sampler in zip((log, *others), samplers, strict=True):
                each.take(sampler)
            if shares and child.idle and builder.failed is None:
                self.ahead.appendleft(child)
            else:
                child.close()
            builder.ends("end", time.monotonic())

    def _events(self, child: Child, config: RunConfig, log: TelemetryLog) -> Iterator[events.Event | None]:
        """What a child reports; a timed run begins when no other row is compiled, under aime also cool."""
        for event in child.events():
            yield event
            if isinstance(event, events.Cooldown):
                while not all(each.prepared() for each in self.ahead):
                    yield None
                if config.protocol == "aime":
                    log.cool_down()
                child.resume()

    def _environment(self, config: RunConfig) -> dict[str, str]:
        """Of the process that measures it; a copy between GPUs needs some beside the one that asks."""
        needed = max(config.gpus // config.nodes, workloads.get(config.workload).spec.gpus) - 1
        return child_environment(os.environ, config, self.sensor, self.other_sensors[: max(0, needed)])

    def _doubts(self, logs: Sequence[TelemetryLog]) -> Iterator[Issue]:
        """Cautions from the sensors of a measurement."""
        foreign = ", ".join(map(str, sorted({pid for log in logs for pid in log.foreign_pids})))
        if foreign and not self.cautions:
            detail = f"other processes used the GPU while it was timed: {foreign}"
            yield Issue.warning("contended", detail, "run it again on an idle GPU")
        for log in logs:
            yield from log.hot
        error = next((log.error for log in logs if log.error is not None), None)
        if error is not None:
            lost = "heat, throttling and other processes are unknown"
            detail = f"the sensor failed, so {lost}: {error.splitlines()[0]}"
            yield Issue.warning("telemetry", detail, "check that the driver answers, then run it again")

    def settled(self, config: RunConfig) -> RunConfig:
        """With the batch of one GPU, where several are to be compared with it and none was asked for."""
        if config.gpus == 1 or config.batch or config.mode == "limit":
            return config
        alone = replace(config, gpus=1, nodes=1, scaling="weak")
        measured = next((m for m in self.result.measurements if m.config == alone and m.status == "ok"), None)
        return config if measured is None else replace(config, batch=measured.batch)

    def _add(self, measurement: Measurement, ready: events.Ready | None) -> Measurement:
        """Keep a measurement; returns it with what it shows beside the others of the session."""
        self.began = True
        self.limits = self.limits.with_measured(measurement)
        environment = self.result.environment
        if ready is not None:
            environment = with_framework(environment, ready)
        before = tuple(m for m in self.result.measurements if m.config != measurement.config)
        every = checks.judge_measured((*before, measurement), environment)
        self.result = replace(self.result, environment=environment, measurements=every)
        self.keep(self.result)
        return every[-1]


def soak_ends(windows: Sequence[Window], now: Wear, before: Wear) -> str:
    """Why a soak need not go on: new uncorrected errors of the memory, or two windows far below the usual."""
    new = (now.ecc_uncorrected or 0) - (before.ecc_uncorrected or 0)
    if new > 0:
        return f"{new} uncorrected memory errors came"
    means = [fmean(window.step_s) for window in windows]
    if len(means) > SOAK_SEEN and min(means[-2:]) > SOAK_SLOW * median(means):
        return f"a step takes {percent(min(means[-2:]) / median(means) - 1, 0)} longer than usual"
    return ""


def shared(config: RunConfig, following: RunConfig) -> bool:
    """True if the two take turns in one process: limits of as many GPUs of one machine, and after those of
    one GPU eager rows of a first picture."""
    both = (config, following)
    if any(each.nodes > 1 or each.repeat > 1 or each.gpus != config.gpus for each in both):
        return False
    quick = config.switches == following.switches and config.gpus == 1
    return all(
        each.mode == "limit" or (quick and each.quick and not each.compile and each.framework == "torch")
        for each in both
    )


def separable(config: RunConfig) -> bool:
    """True if it is compiled, and timed later as well as at once: it neither searches for a batch that fills
    the memory nor times anything but its step, also not kernels while it is compiled."""
    once = config.repeat == config.gpus == 1 and config.input == "device" and config.protocol != "soak"
    searches = config.batch is None or config.quick or config.switches.compiler == "autotune"
    return config.compile and once and not searches


class Turns:
    """Measurements on several cards of one machine at the same time: what uses no more than its card runs
    beside the others, what uses what they share (host memory, links, input) alone; `most` at a time."""

    def __init__(self, most: int) -> None:
        self._most, self._changed = most, threading.Condition()
        self._running, self._waiting, self._alone, self.stopped = 0, 0, False, False

    @contextmanager
    def of(self, config: RunConfig) -> Iterator[None]:
        """While it is measured. Raises KeyboardInterrupt once all are to stop."""
        links = config.mode == "limit" and workloads.get(config.workload).spec.links
        alone = config.input == "host" or links
        with self._changed:
            self._waiting += alone
            self._changed.wait_for(lambda: self.stopped or self._free(alone=alone))
            self._waiting -= alone
            if self.stopped:
                raise KeyboardInterrupt
            self._running, self._alone = self._running + 1, alone
        try:
            yield
        finally:
            with self._changed:
                self._running, self._alone = self._running - 1, False
                self._changed.notify_all()

    def _free(self, *, alone: bool) -> bool:
        if alone:
            return not self._running
        return not self._alone and not self._waiting and self._running < self._most

    def stop(self) -> None:
        """Begin nothing more."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()


def with_framework(environment: Environment, ready: events.Ready) -> Environment:
    """With what a child reports of its framework; torch's CUDA and cuDNN go before another's."""
    if environment.device == UNWATCHED:
        environment = replace(environment, device=ready.device, device_memory_bytes=ready.memory_bytes)
    if getattr(environment, ready.framework) is not None:
        return environment
    environment = replace(environment, **{ready.framework: ready.version})  # type: ignore[arg-type]
    if environment.cuda is not None and ready.framework != "torch":
        return environment
    return replace(environment, cuda=ready.cuda, cudnn=ready.cudnn)


def child_environment(
    variables: Mapping[str, str], config: RunConfig, sensor: Sensor | None, others: Sequence[Sensor] = ()
) -> dict[str, str]:
    """The child's environment: it sees the one device that is measured, by its unique id, and after it
    the others that the workload needs."""
    environment = {**variables, **frameworks.variables(config)}
    if config.device == "cuda" and sensor is not None:
        infos = [each.info() for each in (sensor, *others)]
        if infos[0].vendor == "AMD":  # ROCm does not know AMD SMI's unique ids
            environment["HIP_VISIBLE_DEVICES"] = ",".join(str(info.index) for info in infos)
        else:
            environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(info.uuid or str(info.index) for info in infos)
    return environment


def describe(event: events.Event, builder: MeasurementBuilder, config: RunConfig) -> str:
    """The event in words, for the progress line."""
    match event:
        case BatchTrial(batch=batch, fits=fits):
            return f"searching the batch: {batch} {'fits' if fits else 'does not fit'}"
        case events.Built(batch=batch):
            return f"{'compiling' if config.compile else 'first step'} at batch {batch}"
        case events.Checked():
            return "first step"
        case events.First(seconds=value):
            return f"warming up (first step after {seconds(value)})"
        case events.Straggler():
            return f"all wait for {event}"
        case events.Cooldown():
            return "waiting until nothing else is compiled and the device is cool"
        case events.Cooled():
            return "warming up"
        case Window(step_s=step_s):
            items = builder.built.items if builder.built else 0
            return f"timing: {significant(items * len(step_s) / sum(step_s))} items/s"
        case events.Done():
            return "looking into a few steps"
        case _:
            return "measuring"
