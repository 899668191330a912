"""Run configurations one after the other, each in a fresh process, and keep every result.

`measure_all` yields Progress while a measurement runs and the Measurement when it is final, and
hands the growing Result to `keep` after each, so that a crash, a kill or Ctrl-C loses nothing
that was already measured. A child that dies, hangs or runs out of memory is a row; the rest go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gpuwise import checks, workloads
from gpuwise.facts import catalog
from gpuwise.measure import events, frameworks
from gpuwise.measure.assemble import Heard, Limits, assemble
from gpuwise.measure.group import uneven_power
from gpuwise.measure.meeting import Meeting
from gpuwise.measure.plan import expected_s
from gpuwise.measure.process import Child
from gpuwise.measure.telemetry import Sampler, Sensor, environment, links
from gpuwise.measure.watch import COOL_C, Watched, blindness, intrusion
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.result import Link, Measurement, Result
from gpuwise.model.run import Environment, RunConfig
from gpuwise.model.units import seconds, significant


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What is going on, for the progress line."""

    config: RunConfig
    number: int
    """This measurement, counted from 1."""
    total: int
    doing: str
    eta_s: float


COOLING = f"waiting until the device is below {COOL_C:.0f} C"
UNWATCHED = "GPU"
"""The name of a device without a sensor, until its process tells it."""
VANISHED = "the measuring process ended itself before it was done (os._exit in the workload?)"

Update = Progress | Measurement
Keep = Callable[[Result], object]


@dataclass(slots=True, kw_only=True)
class Session:
    """State of one session: what the machine is, what was measured so far."""

    result: Result
    keep: Keep
    sensor: Sensor | None = None
    gpu: GpuSpec | None = None
    cautions: tuple[Issue, ...] = ()
    """Cautions that hold for every measurement, such as company on the GPU."""
    limits: Limits = field(default_factory=Limits)
    beside: tuple[Sensor, ...] = ()
    """Other GPUs of the machine, for what needs more than one."""
    meeting: Meeting | None = None
    """Where this machine meets the others, where there are several."""
    began: bool = False
    """Whether this session has measured anything; what it goes on with does not count."""

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
        heard, watched, cautions = Heard(), Watched(), list(self.cautions)
        beside = [(sensor, Watched()) for sensor in self._taking_part(config)]
        error: str | None = None
        interrupted = True
        try:
            if self._starts_cool(config):
                yield replace(place, doing=COOLING)
                watched.cool_down(self.sensor)
            error = yield from self._watch(config, heard, watched, beside, place)
            interrupted = False
        finally:
            # Also on Ctrl-C, and when the caller stops iterating: the windows heard so far count.
            cautions += [*self._doubts([watched, *(seen for _, seen in beside)]), *self._unequal(beside)]
            measurement = assemble(
                config,
                workloads.get(config.workload).spec,
                heard,
                started_at=started_at,
                samples=watched.samples,
                others=[other.samples for _, other in beside],
                links=self._links(beside),
                gpu=self.gpu,
                limits=self.limits,
                sm_clock_max_hz=self.result.environment.sm_clock_max_hz,
                power_limit_w=self.result.environment.power_limit_w,
                interrupted=interrupted,
                error=error,
                cautions=cautions,
            )
            if heard.ready is not None or not interrupted:
                measurement = self._add(measurement, heard)
        yield measurement

    def _watch(
        self,
        config: RunConfig,
        heard: Heard,
        watched: Watched,
        beside: Sequence[tuple[Sensor, Watched]],
        place: Progress,
    ) -> Generator[Update, None, str | None]:
        """One child from start to end; returns how it died, if it did."""
        sampler = Sampler(self.sensor)
        others = [Sampler(sensor) for sensor, _ in beside]
        workload = workloads.get(config.workload)
        own = child_environment(os.environ, config, self.sensor, self._peers(config))
        meet = self.meeting.of(config) if self.meeting and config.nodes > 1 else None
        child = Child(self.settled(config), own, workload.reference, meet)
        try:
            with sampler, ExitStack() as stack:
                for other in others:
                    stack.enter_context(other)
                yield place
                for event in child.events():
                    if event is None:
                        continue
                    heard.add(event)
                    if isinstance(event, events.Timed):
                        pids = heard.ranked.pids if heard.ranked else (child.pid,)
                        watched.look(self.sensor, *pids)
                        for sensor, seen in beside:
                            seen.look(sensor, *pids)
                    yield replace(place, doing=describe(event, heard))
                    if isinstance(event, events.Resting):
                        watched.cool_down(self.sensor)
                        child.go_on()
            return child.ending() or (None if heard.done or heard.failed else VANISHED)
        except TimeoutError as hang:
            return str(hang)
        finally:
            watched.take(sampler)
            for (_, seen), other in zip(beside, others, strict=True):
                seen.take(other)
            child.close()

    def _doubts(self, watched: Sequence[Watched]) -> Iterator[Issue]:
        """What the sensors of a measurement saw that should not be."""
        if not self.cautions:
            yield from intrusion({pid for each in watched for pid in each.company})
        for each in watched:
            yield from each.hot
        yield from blindness(next((each.error for each in watched if each.error is not None), None))

    def settled(self, config: RunConfig) -> RunConfig:
        """With the batch of one GPU, where several are to be held against it and none was asked for."""
        if config.gpus == 1 or config.batch is not None or config.mode == "limit":
            return config
        alone = replace(config, gpus=1, nodes=1, scaling="weak")
        found = next((m for m in self.result.measurements if m.config == alone and m.status == "ok"), None)
        return config if found is None else replace(config, batch=found.batch)

    def _taking_part(self, config: RunConfig) -> tuple[Sensor, ...]:
        """The GPUs of this machine that measure beside the first."""
        return self.beside[: config.gpus // config.nodes - 1] if config.device == "cuda" else ()

    def _peers(self, config: RunConfig) -> tuple[str, ...]:
        """The GPUs that the child sees beside the first, by unique id or index."""
        needed = max(config.gpus // config.nodes, workloads.get(config.workload).spec.gpus)
        infos = [sensor.info() for sensor in self.beside[: max(0, needed - 1)]]
        # ROCm does not know AMD SMI's unique ids.
        return tuple((info.vendor != "AMD" and info.uuid) or str(info.index) for info in infos)

    def _unequal(self, beside: Sequence[tuple[Sensor, Watched]]) -> tuple[Issue, ...]:
        if self.sensor is None or not beside:
            return ()
        return tuple(uneven_power([sensor.info() for sensor in (self.sensor, *(s for s, _ in beside))]))

    def _links(self, beside: Sequence[tuple[Sensor, Watched]]) -> tuple[Link, ...]:
        if self.sensor is None or not beside or self.sensor.info().vendor != "NVIDIA":
            return ()
        return links([sensor.info().index for sensor in (self.sensor, *(s for s, _ in beside))])

    def _starts_cool(self, config: RunConfig) -> bool:
        """The start gate: below 50 C before the first measurement; under aime one GPU rests before each
        run by itself, when it has compiled, and several before they start."""
        if config.protocol == "aime":
            return config.gpus > 1
        return not (self.began or config.quick)

    def _add(self, measurement: Measurement, heard: Heard) -> Measurement:
        """Keep a measurement; returns it with what it shows beside the others of the session."""
        self.began = True
        self.limits = self.limits.with_measured(measurement)
        found = self.result.environment
        if heard.ready is not None:
            found = _told(found, heard.ready)
        before = tuple(m for m in self.result.measurements if m.config != measurement.config)
        every = checks.judge_measured((*before, measurement), found)
        self.result = replace(self.result, environment=found, measurements=every)
        self.keep(self.result)
        return every[-1]


def _told(found: Environment, ready: events.Ready) -> Environment:
    """With what a child says of its framework; torch's word on CUDA and cuDNN goes before another's."""
    if found.device == UNWATCHED:
        found = replace(found, device=ready.device, device_memory_bytes=ready.memory_bytes)
    if getattr(found, ready.framework) is not None:
        return found
    found = replace(found, **{ready.framework: ready.version})  # type: ignore[arg-type]
    if found.cuda is not None and ready.framework != "torch":
        return found
    return replace(found, cuda=ready.cuda, cudnn=ready.cudnn)


def child_environment(
    variables: os._Environ[str] | dict[str, str],
    config: RunConfig,
    sensor: Sensor | None,
    peers: Sequence[str] = (),
) -> dict[str, str]:
    """The child's environment: it sees the one device that is measured, by its unique id, and after it
    the peers that the workload needs."""
    own = {**variables, **frameworks.variables(config)}
    if config.device == "cuda" and sensor is not None:
        info = sensor.info()
        if info.vendor == "AMD":
            own["HIP_VISIBLE_DEVICES"] = ",".join((str(info.index), *peers))
            return own
        own["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        own["CUDA_VISIBLE_DEVICES"] = ",".join((info.uuid or str(info.index), *peers))
    return own


def describe(event: events.Event, heard: Heard) -> str:
    """The event in words, for the progress line."""
    match event:
        case events.Tried(batch=batch, fits=fits):
            return f"searching the batch: {batch} {'fits' if fits else 'does not fit'}"
        case events.Built(batch=batch):
            return f"first step at batch {batch} (compiling, if asked)"
        case events.First(seconds=value):
            return f"warming up (first step after {seconds(value)})"
        case events.Late():
            return f"all wait for {event}"
        case events.Resting():
            return COOLING
        case events.Timed(step_s=step_s):
            items = heard.built.items if heard.built else 0
            return f"timing: {significant(items * len(step_s) / sum(step_s))} items/s"
        case events.Done():
            return "looking into a few steps"
        case _:
            return "measuring"


def new_session(
    *, sensor: Sensor | None, device_name: str, identity: str, command: str, keep: Keep, others: int | None
) -> Session:
    """A session on the device behind `sensor`, or on the CPU or an unwatched device without one."""
    info = sensor.info() if sensor is not None else None
    gpu = catalog.resolve_device(info.name, info.memory_bytes) if info is not None else None
    found = environment(info, device=device_name, gpu_id=gpu.id if gpu else None, other_processes=others)
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    result = Result(id=identity, created_at=created_at, command=command, environment=found)
    return Session(result=result, keep=keep, sensor=sensor, gpu=gpu)
