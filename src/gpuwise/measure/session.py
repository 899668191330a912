"""Run configurations one after the other, each in a fresh process, and keep every result.

`measure_all` yields Progress while a measurement runs and the Measurement when it is final, and
hands the growing Result to `keep` after each, so that a crash, a kill or Ctrl-C loses nothing
that was already measured. A child that dies, hangs or runs out of memory is a row; the rest go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gpuwise import checks, workloads
from gpuwise.facts import catalog
from gpuwise.measure import events, frameworks
from gpuwise.measure.assemble import Limits, MeasurementBuilder, assemble, uneven_power
from gpuwise.measure.device import UNWATCHED
from gpuwise.measure.process import Child, Rendezvous
from gpuwise.measure.request import expected_s
from gpuwise.measure.telemetry import Sample, Sampler, Sensor, environment, links, wait_until_cool
from gpuwise.measure.telemetry.sensor import COOL_C
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.result import Measurement, Result
from gpuwise.model.run import Environment, RunConfig
from gpuwise.model.units import seconds, significant

COOLING = f"waiting until the device is below {COOL_C:.0f} C"
VANISHED = "the measuring process ended itself before it was done (os._exit in the workload?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What is going on, for the progress line."""

    config: RunConfig
    number: int  # This measurement, counted from 1
    total: int
    doing: str
    eta_s: float


Update = Progress | Measurement
Keep = Callable[[Result], object]


@dataclass(slots=True)
class TelemetryLog:
    """What one sensor read while a measurement ran. A sensor that fails ends no measurement."""

    sensor: Sensor | None
    samples: list[Sample] = field(default_factory=list)
    foreign_pids: set[int] = field(default_factory=set)
    """Processes other than the child that were seen on the device."""
    hot: list[Issue] = field(default_factory=list)
    error: str | None = None  # The first failure of the sensor

    def look(self, *children: int) -> None:
        """See which processes compute on the device."""
        try:
            self.foreign_pids |= foreign_processes(self.sensor, *children)
        except Exception as error:  # noqa: BLE001  a driver may fail in any way; the run goes on
            self.error = self.error or f"{type(error).__name__}: {error}"

    def cool_down(self) -> None:
        """Wait until the device is below 50 C, or remember that it did not get there."""
        hot = wait_until_cool(self.sensor, below_c=COOL_C) if self.sensor is not None else None
        self.hot += [hot] if hot is not None else []

    def take(self, sampler: Sampler) -> None:
        """Keep what one child's sampler collected."""
        self.samples += sampler.samples
        self.error = self.error or sampler.error


def foreign_processes(sensor: Sensor | None, *children: int) -> set[int]:
    """Compute processes on the device other than the children's.

    In a container the driver may call a child by another number: then one of them is it.
    """
    pids = {process.pid for process in sensor.processes()} if sensor is not None else set()
    if pids & set(children):
        return pids - set(children)
    return pids if len(pids) > 1 else set()


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
    began: bool = False  # This session has measured something; what it goes on with does not count

    @classmethod
    def new(
        cls,
        *,
        sensor: Sensor | None,
        device_name: str,
        identity: str,
        command: str,
        keep: Keep,
        others: int | None,
        cautions: tuple[Issue, ...] = (),
        other_sensors: tuple[Sensor, ...] = (),
        rendezvous: Rendezvous | None = None,
    ) -> Session:
        """A session on the device behind `sensor`, or on the CPU or an unwatched device without one; `others`
        is the number of other processes on it."""
        info = sensor.info() if sensor is not None else None
        gpu = catalog.resolve_device(info.name, info.memory_bytes) if info is not None else None
        found = environment(info, device=device_name, gpu_id=gpu.id if gpu else None, other_processes=others)
        created_at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(
            result=Result(id=identity, created_at=created_at, command=command, environment=found),
            keep=keep,
            sensor=sensor,
            gpu=gpu,
            cautions=cautions,
            other_sensors=other_sensors,
            rendezvous=rendezvous,
        )

    def resume(self, earlier: Result) -> None:
        """Go on in the result of an earlier session; what is measured again takes the earlier's place."""
        self.result = earlier
        for measurement in earlier.measurements:
            self.limits = self.limits.with_measured(measurement)

    def measure_all(self, configs: Sequence[RunConfig]) -> Iterator[Update]:
        """Measure every configuration; KeyboardInterrupt keeps what is done and goes on up."""
        for index, config in enumerate(configs):
            eta_s = sum(expected_s(later) for later in configs[index:])
            place = Progress(
                config=config, number=index + 1, total=len(configs), doing="starting", eta_s=eta_s
            )
            yield from self._measure(config, place)

    def _measure(self, config: RunConfig, place: Progress) -> Iterator[Update]:
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
                error = yield from self._watch(config, builder, log, others, place)
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
                links=links([info.index for info in infos])
                if several and infos[0].vendor == "NVIDIA"
                else (),
                gpu=self.gpu,
                limits=self.limits,
                environment=self.result.environment,
                interrupted=interrupted,
                error=error,
                cautions=cautions,
            )
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
    ) -> Generator[Update, None, str | None]:
        """One child from start to end; returns how it died, if it did."""
        samplers = [Sampler(each.sensor) for each in (log, *others)]
        workload = workloads.get(config.workload)
        # A workload such as a copy between GPUs needs some beside those that train together.
        needed = max(config.gpus // config.nodes, workload.spec.gpus) - 1
        own = child_environment(os.environ, config, self.sensor, self.other_sensors[: max(0, needed)])
        meet = self.rendezvous.of(config) if self.rendezvous and config.nodes > 1 else None
        child = Child(self.settled(config), own, workload.reference, meet)
        try:
            with ExitStack() as stack:
                for sampler in samplers:
                    stack.enter_context(sampler)
                yield place
                for event in child.events():
                    if event is None:
                        continue
                    builder.add(event)
                    if isinstance(event, events.Timed):
                        pids = builder.ranked.pids if builder.ranked else (child.pid,)
                        for each in (log, *others):
                            each.look(*pids)
                    yield replace(place, doing=describe(event, builder))
                    if isinstance(event, events.Cooldown):
                        log.cool_down()
                        child.resume()
            return child.ending() or (None if builder.done or builder.failed else VANISHED)
        except TimeoutError as hang:
            return str(hang)
        finally:
            for each, sampler in zip((log, *others), samplers, strict=True):
                each.take(sampler)
            child.close()

    def _doubts(self, logs: Sequence[TelemetryLog]) -> Iterator[Issue]:
        """What the sensors of a measurement saw that should not be."""
        foreign = {pid for log in logs for pid in log.foreign_pids}
        if foreign and not self.cautions:
            pids = ", ".join(map(str, sorted(foreign)))
            yield Issue.warning(
                "contended",
                f"other processes used the GPU while it was timed: {pids}",
                "run it again on an idle GPU",
            )
        for log in logs:
            yield from log.hot
        error = next((log.error for log in logs if log.error is not None), None)
        if error is not None:
            yield Issue.warning(
                "telemetry",
                "the sensor failed, so heat, throttling and other processes are unknown: "
                f"{error.splitlines()[0]}",
                "check that the driver answers, then run it again",
            )

    def settled(self, config: RunConfig) -> RunConfig:
        """With the batch of one GPU, where several are to be compared with it and none was asked for."""
        if config.gpus == 1 or config.batch is not None or config.mode == "limit":
            return config
        alone = replace(config, gpus=1, nodes=1, scaling="weak")
        found = next((m for m in self.result.measurements if m.config == alone and m.status == "ok"), None)
        return config if found is None else replace(config, batch=found.batch)

    def _add(self, measurement: Measurement, ready: events.Ready | None) -> Measurement:
        """Keep a measurement; returns it with what it shows beside the others of the session."""
        self.began = True
        self.limits = self.limits.with_measured(measurement)
        found = self.result.environment
        if ready is not None:
            found = with_framework(found, ready)
        before = tuple(m for m in self.result.measurements if m.config != measurement.config)
        every = checks.judge_measured((*before, measurement), found)
        self.result = replace(self.result, environment=found, measurements=every)
        self.keep(self.result)
        return every[-1]


def with_framework(found: Environment, ready: events.Ready) -> Environment:
    """With what a child reports of its framework; torch's CUDA and cuDNN go before another's."""
    if found.device == UNWATCHED:
        found = replace(found, device=ready.device, device_memory_bytes=ready.memory_bytes)
    if getattr(found, ready.framework) is not None:
        return found
    found = replace(found, **{ready.framework: ready.version})  # type: ignore[arg-type]
    if found.cuda is not None and ready.framework != "torch":
        return found
    return replace(found, cuda=ready.cuda, cudnn=ready.cudnn)


def child_environment(
    variables: Mapping[str, str], config: RunConfig, sensor: Sensor | None, others: Sequence[Sensor] = ()
) -> dict[str, str]:
    """The child's environment: it sees the one device that is measured, by its unique id, and after it
    the others that the workload needs."""
    own = {**variables, **frameworks.variables(config)}
    if config.device == "cuda" and sensor is not None:
        infos = [each.info() for each in (sensor, *others)]
        if infos[0].vendor == "AMD":  # ROCm does not know AMD SMI's unique ids
            own["HIP_VISIBLE_DEVICES"] = ",".join(str(info.index) for info in infos)
        else:
            own["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
            own["CUDA_VISIBLE_DEVICES"] = ",".join(info.uuid or str(info.index) for info in infos)
    return own


def describe(event: events.Event, builder: MeasurementBuilder) -> str:
    """The event in words, for the progress line."""
    match event:
        case events.Tried(batch=batch, fits=fits):
            return f"searching the batch: {batch} {'fits' if fits else 'does not fit'}"
        case events.Built(batch=batch):
            return f"first step at batch {batch} (compiling, if asked)"
        case events.First(seconds=value):
            return f"warming up (first step after {seconds(value)})"
        case events.Straggler():
            return f"all wait for {event}"
        case events.Cooldown():
            return COOLING
        case events.Timed(step_s=step_s):
            items = builder.built.items if builder.built else 0
            return f"timing: {significant(items * len(step_s) / sum(step_s))} items/s"
        case events.Done():
            return "looking into a few steps"
        case _:
            return "measuring"
