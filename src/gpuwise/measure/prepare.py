"""The device that is measured, and everything that can be refused before anything is measured.

Whether the device has what was asked for, whether it is idle, which known recipes are used, where the result
goes, what of an earlier session counts.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from gpuwise import store, workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.facts import recipes
from gpuwise.measure import frameworks, telemetry
from gpuwise.measure.request import Rendezvous, Request, check_able, fitted, lacking, schedule
from gpuwise.measure.session import CORES, MOST_TOGETHER, UNWATCHED, Session
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.measure.telemetry.sensor import DeviceInfo, Sensor
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Device, Environment, Framework, Recipe, RunConfig, Switches
from gpuwise.model.result import Continuation, Issue, Measurement, Result, Tuned
from gpuwise.workloads import registry

# Time budget of each measurement of a quick run, and of another.
QUICK_S, QUICK_CPU_S, FULL_S = 4.0, 8.0, 60.0
# Results of the store in which is looked how long measurements take.
HISTORY = 5
# What changes by itself: which of equal cards is given, who else is there, a link that slows down idle.
PASSING = frozenset({"card", "other_processes", "pcie_generation"})


def plan_for(
    asked: Sequence[Request], target: Target, *, suite: bool
) -> tuple[tuple[RunConfig, ...], tuple[str, ...]]:
    """(what will be measured, what a suite skips). Raises where the device lacks what was asked for."""
    build = telemetry.torch_build()
    has_torch = build is not None and (target.device == "cpu" or bool(build.cuda or build.hip))
    quick_s = QUICK_CPU_S if target.device == "cpu" else QUICK_S
    requests = [
        request.given(
            device=target.device,
            missing=lacking(target.spec, target.device),
            present=min(1, target.gpus) if suite and target.named else target.gpus,
            limited=request.shared.framework == "torch" or has_torch,
            time_s=request.shared.time_s or (quick_s if request.shared.quick else FULL_S),
        )
        for request in asked
    ]
    if not suite:
        for request in requests:
            check_able(request, target.name)
        return schedule(requests), ()
    parts = [fitted(request) for request in requests]
    skipped = tuple(dict.fromkeys(name for _, missing in parts for name in missing))
    return schedule([request for request, _ in parts if request is not None]), skipped


# Configurations with the recipes that they come from: of one GPU, of several, or both.
Recalled = dict[RunConfig, tuple[Tuned, ...]]


def recall(
    plan: Sequence[RunConfig], device: str, recipe: Recipe = "tuned", *, suite: bool = False
) -> tuple[tuple[RunConfig, ...], Recalled]:
    """The plan with known recipes in it, and which of its configurations come from which recipes.

    `device` is the catalog's id, else the driver's name; `recipe` what was asked for: stock takes over none
    of gpuwise's kernels. A batch that was asked for stays; instead of
    searching one, that of the recipe is taken. Several GPUs run the recipe of one, so that they can be
    compared with it, and exchange gradients as was found best for so many, or for the number next to it;
    where that was not searched for this work, as for other work. Several machines must run the same,
    whatever each of them has found, so nothing is taken over there. A suite has no time for the compiler's
    search: three minutes of ResNet-50 on an H200.
    """
    build = telemetry.torch_build()
    if build is None or any(config.nodes > 1 for config in plan):
        return tuple(plan), {}
    recalled: Recalled = {}
    new = []
    for config in plan:
        tuned = config.recipe != "script" and config.mode in ("train", "infer") and config.size == "full"
        unset = config.framework == "torch" and config.switches == Switches()
        # A first picture is eager anyway.
        known: list[Tuned | None] = []
        if tuned and unset and not config.quick:
            version, cuda = workloads.get(config.workload).spec.version, build.cuda or build.hip
            find = partial(
                recipes.find, version=version, device=device, torch=build.version, cuda=cuda, recipe=recipe
            )
            known.append(find(replace(config, gpus=1)))
            if config.gpus > 1:
                other = partial(recipes.exchange, device=device, torch=build.version, cuda=cuda)
                known.append(find(config) or other(config))
        taken = tuple(one for one in known if one is not None)
        if taken:
            switches, batch = Switches(), config.batch
            for one in taken:
                switches = one.switches if one.gpus == 1 else switches.exchanging_as(one.switches)
                batch = batch or (one.batch if one.of_work(config) else None)
            if suite:
                switches = replace(switches, compiler="default")
            config = replace(config, switches=switches, batch=batch)
            recalled[config] = taken
        elif tuned and unset and recipe == "tuned" and build.cuda and config.device == "cuda":
            config = registry.tuned(config)
        new.append(config)
    return tuple(new), recalled


@dataclass(slots=True)
class ResultWriter:
    """Keeps the growing result: in its place, else in the temporary folder.

    Call it with each new state of the result; it never raises for a full or vanished disk.
    """

    path: Path
    kept: Path | None = None  # Where the newest state is; None while it is in memory alone
    trouble: InputError | None = None  # Why it is not, or not whole, at `path`
    written: tuple[int, ...] | None = field(init=False)  # The file as this session left it or found it

    def __post_init__(self) -> None:
        self.written = _state(self.path)

    def __call__(self, result: Result) -> None:
        self.kept = self.trouble = None
        for place in (self.path, Path(tempfile.gettempdir()) / f"{result.id}.json"):
            try:
                # A lock does not reach another machine that writes to the same network disk.
                if place == self.path and _state(place) != self.written:
                    raise InputError(f"another program has written {place}", hint="give each its own file")
                self.kept = store.save(result, place)
                if place == self.path:
                    self.written = _state(place)
                return
            except InputError as error:
                self.trouble = self.trouble or error  # the first reason is the one to report


def _state(path: Path) -> tuple[int, ...] | None:
    """Inode, modification time and size of a file, which change with every write; None without a file."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A session that may begin, with what it will measure."""

    session: Session
    writer: ResultWriter
    plan: tuple[RunConfig, ...]


def prepare(
    plan: tuple[RunConfig, ...],
    target: Target,
    *,
    command: str,
    output: Path | None,
    earlier: Path | None,
    rendezvous: Rendezvous | None = None,
) -> Prepared:
    """A session that may begin. Raises where the device is busy or the file cannot be written.

    The result goes to `output` where that is a .json file, else to `earlier`, the file of a session to go on
    with, else to the store.
    """
    used = target.used(plan)
    sensors = (target.sensor, *target.other_sensors[: used - 1]) if target.sensor is not None else ()
    idle = [check_idle(sensor, free=target.free if used == 1 else None) for sensor in sensors]
    others = sum(count for count, _ in idle) if idle else None
    cautions = tuple(caution for _, each in idle for caution in each)
    sensor = target.sensor
    if target.device == "cpu":
        cautions = check_host(telemetry.load_average(), telemetry.cpu_count())
        sensor = telemetry.host_sensor()
    info = sensor.info() if sensor is not None else None
    place = telemetry.environment(info, device=target.name, other_processes=others)
    result = store.begun(command, place)
    file = output if output is not None and output.suffix == ".json" else None
    writer = ResultWriter(file or earlier or store.results_dir() / f"{result.id}.json")
    store.check_writable(writer.path)
    session = Session(
        result=result,
        keep=writer,
        sensor=sensor,
        gpu=telemetry.gpu_of(info),
        cautions=cautions,
        other_sensors=target.other_sensors,
        rendezvous=rendezvous,
        together=min(MOST_TOGETHER, telemetry.cpu_count() // CORES) if target.device == "cuda" else 1,
    )
    for path in store.saved()[-HISTORY:]:
        with suppress(InputError):  # a damaged file knows nothing
            measurements = store.load(path).measurements
            session.known += [(m.config, dict(m.phases_s)) for m in measurements if m.phases_s]
    if earlier is not None:
        old = store.load(earlier)
        build = telemetry.torch_build()
        frames = {config.framework for config in plan} - {"torch"}
        versions = {name: frameworks.installed(name) for name in frames}
        check_same(old, replace(place, torch=build.version if build else None, **versions))  # type: ignore[arg-type]
        finished = {measurement.config for measurement in done(old, plan)}
        plan = tuple(config for config in plan if config not in finished)
        session.resume(continued(old, result) if plan else old)
        writer(session.result)
    kept = {m.config for m in session.result.measurements}
    session.result = replace(session.result, planned=len(kept | {*plan}))
    return Prepared(session=session, writer=writer, plan=plan)


def earlier_session(
    reference: str, output: Path | None, plan: Sequence[RunConfig] = (), command: str = ""
) -> Path | None:
    """The file that `--resume` means: `last`, a path or id; `output` itself, if it exists, for "".

    None where a session is to be begun in `output`. Raises InputError where the last session, whose file
    nobody named, has another command and nothing of the plan but limits: it would grow by what it is not of.
    """
    if reference not in ("", "last"):
        return store.find(reference)
    if reference or output is None or output.suffix != ".json":
        path = store.find("last")
        last = store.load(path)
        wanted = {config for config in plan if config.mode != "limit"} or set(plan)
        if wanted and last.command != command and not wanted & {m.config for m in last.measurements}:
            problem = f"the last session is another one: {last.command}, in {path}"
            hint = f"leave out --resume to begin; --resume {path} adds to that file"
            raise InputError(problem, hint=hint)
        return path
    if output.exists() and not output.is_file():
        raise InputError(f"{output} is not an ordinary file", hint="name a .json file")
    return output if output.exists() else None


def check_same(old: Result, now: Environment) -> None:
    """Raise InputError where `old` was measured elsewhere or with other software."""
    if old.origin != "measured":
        problem = f"{old.id} holds published figures, no session to resume"
        raise InputError(problem, hint="start a new session")
    changes = [change for change in old.environment.diff(now) if change[0] not in PASSING]
    if changes:
        listed = "; ".join(f"{name} was {was}, is {is_now}" for name, was, is_now in changes)
        problem = f"{old.id} was measured in another environment: {listed}"
        raise InputError(problem, hint="start anew, without resuming it, with another output file")


def continued(old: Result, now: Result) -> Result:
    """`old`, with the command of the session that goes on with it; on another card it names no card."""
    before = next((c.card for c in reversed(old.resumed) if c.card), old.environment.card)
    card = now.environment.card if now.environment.card != before else None
    this = Continuation(started_at=now.created_at, command=now.command, card=card)
    place = replace(old.environment, card=None) if card else old.environment
    return replace(old, resumed=(*old.resumed, this), environment=place)


def done(old: Result, plan: Sequence[RunConfig]) -> tuple[Measurement, ...]:
    """The measurements of `old` that answer a configuration of the plan: ended ok, asked for in exactly the
    same words, with today's version of the workload."""
    finished = (m for m in old.measurements if m.status == "ok" and m.config in plan)
    return tuple(m for m in finished if m.workload_version == workloads.get(m.config.workload).spec.version)


# Utilisation above which another process is at work, not merely resident.
BUSY_SHARE = 0.05
# Load per core above which a CPU is busy with something else; as the mean lags, nothing is refused.
BUSY_CORES = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The device that is measured, and the other GPUs of the machine."""

    device: Device
    sensor: Sensor | None
    info: DeviceInfo | None
    spec: GpuSpec | None
    name: str
    others: tuple[DeviceInfo, ...]
    other_sensors: tuple[Sensor, ...] = ()
    named: bool = False  # The user named the GPU: a suite then keeps to it

    @property
    def id(self) -> str:
        """Its catalog entry, else its name: recipes are kept by it."""
        return self.spec.id if self.spec else self.name

    @property
    def gpus(self) -> int:
        """GPUs of the machine; an unwatched one counts as one."""
        return 0 if self.device == "cpu" else 1 + len(self.others)

    @property
    def free(self) -> int | None:
        """The index of another GPU, to be named where this one is busy."""
        return self.others[0].index if self.others else None

    def used(self, plan: Sequence[RunConfig]) -> int:
        """GPUs of this machine that the largest measurement of a plan uses."""
        return max((config.gpus // config.nodes for config in plan), default=1)

    def devices(self, plan: Sequence[RunConfig]) -> tuple[DeviceInfo | None, ...]:
        """Every GPU of this machine that the plan uses; (None,) for the CPU and for an unwatched GPU."""
        return (self.info, *(self.others[: self.used(plan) - 1] if self.info is not None else ()))


def find_target(device: Device | None, index: int | None, framework: Framework = "torch") -> Target:
    """The device to measure: of all GPUs by `index`, else of those that CUDA_VISIBLE_DEVICES leaves.

    Raises MachineError and InputError as `choose` does, and for a processor with an index.
    """
    if device == "cpu" and index is not None:
        raise InputError("a processor has no index", hint="leave out the index")
    sensors = telemetry.sensors() if device != "cpu" else ()
    if index is None:
        sensors = visible(sensors, os.environ)
    if framework == "torch":
        chosen, sensor = choose(sensors, telemetry.torch_build(), device=device, index=index)
    else:
        frameworks.check_installed(framework)
        if device not in (None, "cpu", "cuda"):
            raise InputError(f"{framework} is not measured on {device}", hint="it is on cpu and cuda")
        chosen, sensor = pick(sensors, device=device, index=index)
    info = sensor.info() if sensor else None
    others = tuple(each for each in sensors if info and each.info().index != info.index)
    return Target(
        device=chosen,
        sensor=sensor,
        info=info,
        spec=telemetry.gpu_of(info),
        name=info.name if info else telemetry.cpu_name() if chosen == "cpu" else UNWATCHED,
        others=tuple(each.info() for each in others),
        other_sensors=others,
        named=index is not None,
    )


def choose(
    sensors: Sequence[Sensor], torch: TorchBuild | None, *, device: Device | None, index: int | None
) -> tuple[Device, Sensor | None]:
    """The device to measure and the sensor that watches it (None for a CPU or an unwatched GPU).

    Without a wish: the first GPU, else the CPU.
    Raises MachineError where torch or the GPU is missing, InputError for a GPU that is not there.
    """
    if torch is None:
        problem = "torch is not installed, and it does the measuring"
        raise MachineError(problem, hint='install the extra "gpuwise[torch]"')
    if device == "mps" and (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        problem = f"mps is the GPU of Apple's own chips, this is {platform.system()}"
        raise MachineError(problem, hint="choose another device")
    if device == "xpu" and torch.xpu is None:
        problem = f"torch {torch.version} is not built for Intel's GPUs"
        raise MachineError(problem, hint="install torch from https://download.pytorch.org/whl/xpu")
    if device in ("mps", "xpu"):
        return device, None
    if device == "cpu" or (device is None and index is None and not sensors and not torch.hip):
        return "cpu", None
    if sensors and torch.cuda is None and torch.hip is None:
        problem = f"torch {torch.version} is a CPU build and cannot use the GPU"
        raise MachineError(problem, hint="install a build of torch for this GPU", code="doctor")
    if not sensors and torch.hip and index is None:
        return "cuda", None
    return pick(sensors, device="cuda", index=index)


def pick(
    sensors: Sequence[Sensor], *, device: Device | None, index: int | None
) -> tuple[Device, Sensor | None]:
    """The same by the sensors alone, whatever framework will measure."""
    if device == "cpu" or (device is None and index is None and not sensors):
        return "cpu", None
    if not sensors:
        raise MachineError("no GPU found: no driver of one answers", hint="see why", code="doctor")
    if index is None:
        return "cuda", sensors[0]
    by_index = {sensor.info().index: sensor for sensor in sensors}
    if index not in by_index:
        present = ", ".join(str(i) for i in sorted(by_index))
        raise InputError(f"there is no GPU {index} here, only {present}", hint=f"choose GPU {min(by_index)}")
    return "cuda", by_index[index]


def visible(sensors: Sequence[Sensor], variables: Mapping[str, str]) -> tuple[Sensor, ...]:
    """Those that CUDA_VISIBLE_DEVICES names, by index or by the beginning of the unique id, in its order.

    All where it is not set, or names only what no sensor knows (an instance of MIG); none where it is
    empty or -1, as CUDA has it.
    """
    words = variables.get("CUDA_VISIBLE_DEVICES")
    if words is None:
        return tuple(sensors)
    wanted = [word.strip() for word in words.split(",")]
    if wanted[0] in ("", "-1"):
        return ()
    matches = [
        sensor
        for word in wanted
        for sensor in sensors
        if word == str(sensor.info().index) or (word and (sensor.info().uuid or "").startswith(word))
    ]
    return tuple(matches or sensors)


def check_host(load: float | None, cores: int) -> tuple[Issue, ...]:
    """A caution where the load average of the last minute says that other programs compete for the CPU."""
    if load is None or load <= BUSY_CORES * cores:
        return ()
    detail = f"load average {load:.1f} on {cores} cores: other programs are competing for the CPU"
    return (Issue.warning("contended", detail, "stop other programs and run again"),)


def check_idle(sensor: Sensor, *, free: int | None = None) -> tuple[int, tuple[Issue, ...]]:
    """(number of other processes, cautions). Raises MachineError where one of them is at work.

    A process that merely holds memory (an open notebook) is a caution, not an obstacle. `free` is the index
    of another GPU.
    """
    processes, info = sensor.processes(), sensor.info()
    if not processes:
        return 0, ()
    pids = ", ".join(str(process.pid) for process in processes)
    used = sensor.sample().utilisation
    if used is None or used > BUSY_SHARE:
        hint = f"{f'choose GPU {free}, or ' if free is not None else ''}wait until it ends"
        raise MachineError(f"GPU {info.index} is busy with process {pids}", hint=hint)
    detail = f"process {pids} holds memory on GPU {info.index}"
    return len(processes), (Issue.warning("contended", detail, "close it for a clean number"),)
