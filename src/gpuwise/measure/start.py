"""Everything that can be refused is refused here, before anything is measured.

Which device, whether it has what was asked for, whether it is free, where the result goes, what of an
earlier session counts: the answer is a Prepared, and nothing has run yet.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.measure import frameworks, resume, telemetry
from gpuwise.measure.ability import check_gpus, check_precisions, fitted, lacking
from gpuwise.measure.device import check_host, check_idle, choose, pick, visible
from gpuwise.measure.keep import Keeper
from gpuwise.measure.meeting import Meeting
from gpuwise.measure.plan import Request, schedule
from gpuwise.measure.session import UNWATCHED, Session, new_session
from gpuwise.measure.telemetry import DeviceInfo, Sensor
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.question import Framework
from gpuwise.model.result import Result
from gpuwise.model.run import Device, RunConfig

QUICK_S, QUICK_CPU_S = 4.0, 8.0
"""Time budget of each measurement of a quick run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The device that is measured, and the GPUs beside it."""

    device: Device
    sensor: Sensor | None
    info: DeviceInfo | None
    spec: GpuSpec | None
    name: str
    others: tuple[DeviceInfo, ...]
    beside: tuple[Sensor, ...] = ()
    """The sensors of those others."""
    named: bool = False
    """Whether the user named the GPU: a suite then keeps to it."""

    @property
    def id(self) -> str:
        """Its catalog entry, else its name: what recipes are kept by."""
        return self.spec.id if self.spec else self.name

    @property
    def gpus(self) -> int:
        """GPUs of the machine; an unwatched one counts as one."""
        return 0 if self.device == "cpu" else 1 + len(self.others)

    @property
    def free(self) -> int | None:
        """The index of another GPU, to be named where this one is busy."""
        return self.others[0].index if self.others else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A session that may begin, with what it will measure."""

    session: Session
    keeper: Keeper
    plan: tuple[RunConfig, ...]
    left_out: tuple[str, ...] = ()
    """Of a suite: workloads and precisions that this machine does not have."""


def find_target(device: Device | None, index: int | None, framework: Framework = "torch") -> Target:
    """The device to measure: of all GPUs by `index`, else of those that CUDA_VISIBLE_DEVICES leaves.

    Raises MachineError and InputError as `choose` does.
    """
    sensors = telemetry.sensors()
    if index is None:
        sensors = visible(sensors, os.environ)
    if framework == "torch":
        build = telemetry.torch_build()
        chosen, sensor = choose(sensors, build, device=device, index=index)
    else:
        frameworks.check_installed(framework)
        if device not in (None, "cpu", "cuda"):
            raise InputError(f"{framework} is not measured on {device}", hint="gpuwise bench --device cpu")
        chosen, sensor = pick(sensors, device=device, index=index)
    info = sensor.info() if sensor else None
    beside = tuple(each for each in sensors if info and each.info().index != info.index)
    return Target(
        device=chosen,
        sensor=sensor,
        info=info,
        spec=catalog.resolve_device(info.name, info.memory_bytes) if info else None,
        name=info.name if info else telemetry.cpu_name() if chosen == "cpu" else UNWATCHED,
        others=tuple(each.info() for each in beside),
        beside=beside,
        named=index is not None,
    )


def plan_for(
    asked: Sequence[Request], target: Target, *, suite: bool
) -> tuple[tuple[RunConfig, ...], tuple[str, ...]]:
    """(what will be measured, what a suite leaves out). Raises where the device lacks what was asked for."""
    gpus = min(1, target.gpus) if suite and target.named else target.gpus
    requests = [_on(request, target, gpus) for request in asked]
    if not suite:
        for request in requests:
            check_precisions(request.precisions, target.spec, target.device, target.name)
            check_gpus(request, gpus)
        return schedule(requests), ()
    parts = [fitted(request, gpus) for request in requests]
    left_out = tuple(dict.fromkeys(name for _, missing in parts for name in missing))
    return schedule([request for request, _ in parts if request is not None]), left_out


def _on(request: Request, target: Target, gpus: int) -> Request:
    quick_s = QUICK_CPU_S if target.device == "cpu" else QUICK_S
    time_s = quick_s if request.quick else 60.0
    return replace(
        request,
        device=target.device,
        missing=lacking(target.spec, target.device),
        there=gpus,
        limited=request.framework == "torch" or _torch_runs(target),
        time_s=request.time_s or time_s,
    )


def _torch_runs(target: Target) -> bool:
    """Whether torch is there to measure the limits of the device."""
    build = telemetry.torch_build()
    return build is not None and (target.device == "cpu" or bool(build.cuda or build.hip))


def result_path(output: Path | None, identity: str) -> Path:
    """Where the result is kept: the .json asked for, else the store."""
    if output is not None and output.suffix == ".json":
        return output
    return store.results_dir() / f"{identity}.json"


def prepare(
    plan: tuple[RunConfig, ...],
    target: Target,
    *,
    command: str,
    output: Path | None,
    earlier: Path | None,
    left_out: tuple[str, ...] = (),
    meeting: Meeting | None = None,
) -> Prepared:
    """A session that may begin. Raises where the device is busy or the file cannot be written.

    `earlier` is the file of a session to go on with; the result goes to `output`, else there.
    """
    others, cautions = _company(plan, target)
    identity = store.new_id(datetime.now(UTC), target.id, secrets.token_hex(2))
    path = result_path(output, identity)
    if earlier is not None and (output is None or output.suffix != ".json"):
        path = earlier
    store.check_writable(path)
    keeper = Keeper(path)
    session = new_session(
        sensor=telemetry.host_sensor() if target.device == "cpu" else target.sensor,
        device_name=target.name,
        identity=identity,
        command=command,
        keep=keeper,
        others=others,
    )
    session.cautions = cautions
    session.beside = target.beside
    session.meeting = meeting
    if earlier is not None:
        plan = _resume(session, store.load(earlier), plan)
        keeper(session.result)
    return Prepared(session=session, keeper=keeper, plan=plan, left_out=left_out)


def devices(plan: Sequence[RunConfig], target: Target) -> tuple[DeviceInfo | None, ...]:
    """Every GPU of this machine that the plan uses; (None,) for the CPU and for an unwatched GPU."""
    beside = target.others[: _most(plan) - 1] if target.info is not None else ()
    return (target.info, *beside)


def _most(plan: Sequence[RunConfig]) -> int:
    """GPUs of one machine that the largest measurement of a plan uses."""
    return max((config.gpus // config.nodes for config in plan), default=1)


def _company(plan: Sequence[RunConfig], target: Target) -> tuple[int | None, tuple[Issue, ...]]:
    if target.sensor is not None and _most(plan) > 1:
        found = [check_idle(sensor) for sensor in (target.sensor, *target.beside[: _most(plan) - 1])]
        return sum(count for count, _ in found), tuple(caution for _, each in found for caution in each)
    if target.sensor is not None:
        return check_idle(target.sensor, target.others)
    return None, check_host(telemetry.load_share()) if target.device == "cpu" else ()


def _resume(session: Session, earlier: Result, plan: tuple[RunConfig, ...]) -> tuple[RunConfig, ...]:
    """Take over what `earlier` has measured; returns what is left to do."""
    build = telemetry.torch_build()
    beside = {config.framework for config in plan} - {"torch"}
    versions = {name: frameworks.installed(name) for name in beside}
    now = replace(session.result.environment, torch=build.version if build else None, **versions)  # type: ignore[arg-type]
    resume.check_same(earlier, now)
    finished = {measurement.config for measurement in resume.done(earlier, plan)}
    left = tuple(config for config in plan if config not in finished)
    session.resume(resume.continued(earlier, session.result) if left else earlier)
    return left


def earlier_session(reference: str, output: Path | None) -> Path | None:
    """The file that `--resume` means: `last`, a path or id; `output` itself, if it exists, for "".

    None where a session is to be begun in `output`.
    """
    if reference:
        return store.find(reference)
    if output is None or output.suffix != ".json":
        return store.find("last")
    if output.exists() and not output.is_file():
        raise InputError(f"{output} is no ordinary file", hint="gpuwise bench --resume -o FILE.json")
    return output if output.exists() else None
