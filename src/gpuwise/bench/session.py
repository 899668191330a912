"""Run configurations one after the other, each in a fresh process, and keep every result.

`measure_all` yields Progress while a measurement runs and the Measurement when it is final, and
hands the growing Result to `keep` after each, so that a crash, a kill or Ctrl-C loses nothing
that was already measured. A child that dies, hangs or runs out of memory is a row; the rest go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gpuwise import catalog, gates, workloads
from gpuwise.bench import events
from gpuwise.bench.assemble import Heard, Limits, assemble
from gpuwise.bench.plan import expected_s
from gpuwise.bench.process import Child
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.result import Caution, Measurement, Result
from gpuwise.model.run import RunConfig
from gpuwise.telemetry import Sample, Sampler, Sensor, environment, wait_until_cool
from gpuwise.units import seconds, significant

AIME_RUNS = 3
COOL_C = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What is going on, for the progress line."""

    config: RunConfig
    number: int
    """This measurement, counted from 1."""
    total: int
    doing: str
    eta_s: float


@dataclass(slots=True, kw_only=True)
class Watched:
    """What the sensor told while the children of one measurement ran."""

    samples: list[Sample] = field(default_factory=list)
    company: set[int] = field(default_factory=set)
    """Processes other than the child that were seen on the device."""
    error: str | None = None
    """Why the sensor stopped telling, in the words of one of its failures."""

    def look(self, sensor: Sensor | None, child: int) -> None:
        """See who computes on the device; a sensor that fails ends no measurement."""
        try:
            self.company |= strangers(sensor, child)
        except Exception as error:  # noqa: BLE001  a driver may fail in any way; the run goes on
            self.error = self.error or f"{type(error).__name__}: {error}"

    def take(self, sampler: Sampler) -> None:
        """Keep what one child's sampler collected."""
        self.samples += sampler.samples
        self.error = self.error or sampler.error


Update = Progress | Measurement
Keep = Callable[[Result], object]


@dataclass(slots=True, kw_only=True)
class Session:
    """State of one session: what the machine is, what was measured so far."""

    result: Result
    keep: Keep
    sensor: Sensor | None = None
    gpu: GpuSpec | None = None
    cautions: tuple[Caution, ...] = ()
    """Cautions that hold for every measurement, such as company on the GPU."""
    limits: Limits = field(default_factory=Limits)
    peers: tuple[str, ...] = ()
    """Other GPUs of the machine, by unique id or index, for workloads that need more than one."""
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
        error: str | None = None
        interrupted = True
        try:
            for run in range(_runs(config)):
                hot = self._cool_down(config, run)
                cautions += [hot] if hot else []
                heard.done = None
                error = yield from self._watch(config, heard, watched, place)
                if heard.done is None:
                    break
            interrupted = False
        finally:
            # Also on Ctrl-C, and when the caller stops iterating: the windows heard so far count.
            cautions += intrusion(watched.company) if not self.cautions else ()
            cautions += blindness(watched.error)
            measurement = assemble(
                config,
                workloads.get(config.workload).spec,
                heard,
                started_at=started_at,
                samples=watched.samples,
                gpu=self.gpu,
                limits=self.limits,
                sm_clock_max_hz=self.result.environment.sm_clock_max_hz,
                interrupted=interrupted,
                error=error,
                cautions=cautions,
            )
            if heard.ready is not None or not interrupted:
                measurement = self._add(measurement, heard)
        yield measurement

    def _watch(
        self, config: RunConfig, heard: Heard, watched: Watched, place: Progress
    ) -> Generator[Update, None, str | None]:
        """One child from start to end; returns how it died, if it did."""
        sampler = Sampler(self.sensor)
        workload = workloads.get(config.workload)
        peers = self.peers[: workload.spec.gpus - 1] if workload.spec.gpus > 1 else ()
        own = child_environment(os.environ, config, self.sensor, peers)
        child = Child(config, own, workload.reference)
        try:
            with sampler:
                yield place
                for event in child.events():
                    if event is None:
                        continue
                    heard.add(event)
                    if isinstance(event, events.Timed):
                        watched.look(self.sensor, child.pid)
                    yield replace(place, doing=describe(event, heard))
            return child.ending()
        except TimeoutError as hang:
            return str(hang)
        finally:
            watched.take(sampler)
            child.close()

    def _cool_down(self, config: RunConfig, run: int) -> Caution | None:
        """The start gate: below 50 C before the first run, and before each under aime."""
        first = not self.began and run == 0
        if self.sensor is None or not (config.protocol == "aime" or first) or config.quick:
            return None
        return wait_until_cool(self.sensor, below_c=COOL_C)

    def _add(self, measurement: Measurement, heard: Heard) -> Measurement:
        """Keep a measurement; returns it with what it shows beside the others of the session."""
        self.began = True
        self.limits = self.limits.with_measured(measurement)
        found = self.result.environment
        if heard.ready is not None and found.torch is None:
            found = replace(found, torch=heard.ready.torch, cuda=heard.ready.cuda, cudnn=heard.ready.cudnn)
        before = tuple(m for m in self.result.measurements if m.config != measurement.config)
        every = gates.judge_measured((*before, measurement), found)
        self.result = replace(self.result, environment=found, measurements=every)
        self.keep(self.result)
        return every[-1]


def _runs(config: RunConfig) -> int:
    return AIME_RUNS if config.protocol == "aime" and config.mode != "limit" else 1


def strangers(sensor: Sensor | None, child: int) -> set[int]:
    """Compute processes on the device other than the child's.

    In a container the driver may call the child by another number: then one of them is it.
    """
    pids = {process.pid for process in sensor.processes()} if sensor is not None else set()
    if child in pids:
        return pids - {child}
    return pids if len(pids) > 1 else set()


def intrusion(company: set[int]) -> tuple[Caution, ...]:
    """The caution for processes that came while a measurement was timed."""
    if not company:
        return ()
    return (
        Caution(
            code="contended",
            detail=f"other processes used the GPU while it was timed: {', '.join(map(str, sorted(company)))}",
            next_step="run it again on an idle GPU",
        ),
    )


def blindness(error: str | None) -> tuple[Caution, ...]:
    """The caution for a sensor that failed while a measurement ran."""
    if error is None:
        return ()
    return (
        Caution(
            code="telemetry",
            detail=f"the sensor failed, so heat, throttling and company are unknown: {error.splitlines()[0]}",
            next_step="gpuwise doctor, then run it again",
        ),
    )


def child_environment(
    variables: os._Environ[str] | dict[str, str],
    config: RunConfig,
    sensor: Sensor | None,
    peers: Sequence[str] = (),
) -> dict[str, str]:
    """The child's environment: it sees the one device that is measured, by its unique id, and after it
    the peers that the workload needs."""
    own = dict(variables)
    if config.device == "cuda" and sensor is not None:
        info = sensor.info()
        if info.vendor == "AMD":
            own["HIP_VISIBLE_DEVICES"] = str(info.index)
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
        case events.Timed(step_s=step_s):
            items = heard.built.items if heard.built else 0
            return f"timing: {significant(items * len(step_s) / sum(step_s))} items/s"
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
