"""Everything that can be refused is refused here, before anything is measured.

Whether the device has what was asked for, whether it is idle, which known recipes are used, where the result
goes, what of an earlier session counts.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from gpuwise import store, workloads
from gpuwise.errors import InputError
from gpuwise.facts import recipes
from gpuwise.measure import frameworks, telemetry
from gpuwise.measure.device import Target, check_host, check_idle
from gpuwise.measure.process import Rendezvous
from gpuwise.measure.request import Request, check_able, fitted, lacking, schedule
from gpuwise.measure.session import Session
from gpuwise.model.issue import Issue
from gpuwise.model.recipe import Recipe, Switches
from gpuwise.model.result import Continuation, Measurement, Result, Tuned
from gpuwise.model.run import Environment, RunConfig

# Time budget of each measurement of a quick run, and of another.
QUICK_S, QUICK_CPU_S, FULL_S = 4.0, 8.0, 60.0
# What changes by itself: which of equal cards is given, who else is there, and a link that slows down while
# it is idle.
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
    plan: Sequence[RunConfig], device: str, recipe: Recipe = "tuned"
) -> tuple[tuple[RunConfig, ...], Recalled]:
    """The plan with known recipes in it, and which of its configurations come from which recipes.

    `device` is the catalog's id, else the driver's name; `recipe` what was asked for: stock takes over none
    of gpuwise's kernels. A batch that was asked for stays; instead of
    searching one, that of the recipe is taken. Several GPUs run the recipe of one, so that they can be
    compared with it, and exchange gradients as was found best for so many, or for the number next to it;
    where that was not searched for this work, as for other work. Several machines must run the same,
    whatever each of them has found, so nothing is taken over there.
    """
    build = telemetry.torch_build()
    if build is None or any(config.nodes > 1 for config in plan):
        return tuple(plan), {}
    found: Recalled = {}
    new = []
    for config in plan:
        tuned = config.recipe != "script" and config.mode in ("train", "infer") and config.size == "full"
        unset = config.framework == "torch" and config.switches == Switches()
        # A first picture is eager anyway.
        known = _known(config, device, build, recipe) if tuned and unset and not config.quick else ()
        if known:
            switches, batch = Switches(), config.batch
            for one in known:
                switches = one.switches if one.gpus == 1 else switches.exchanging_as(one.switches)
                batch = batch or (one.batch if one.of_work(config) else None)
            config = replace(config, switches=switches, batch=batch)
            found[config] = known
        new.append(config)
    return tuple(new), found


def _known(config: RunConfig, device: str, build: telemetry.TorchBuild, recipe: Recipe) -> tuple[Tuned, ...]:
    """The recipes of one GPU and of several that a configuration may take over."""
    version, cuda = workloads.get(config.workload).spec.version, build.cuda or build.hip
    find = partial(
        recipes.find, version=version, device=device, torch=build.version, cuda=cuda, recipe=recipe
    )
    known = [find(replace(config, gpus=1))]
    if config.gpus > 1:
        same = find(config)
        known.append(same or recipes.exchange(config, device=device, torch=build.version, cuda=cuda))
    return tuple(one for one in known if one is not None)


@dataclass(slots=True)
class ResultWriter:
    """Keeps the growing result: in its place, else in the temporary folder.

    Call it with each new state of the result; it never raises for a full or vanished disk.
    """

    path: Path
    kept: Path | None = None  # Where the newest state is; None while it is in memory alone
    trouble: InputError | None = None  # Why it is not, or not whole, at `path`

    def __call__(self, result: Result) -> None:
        self.kept = self.trouble = None
        for place in (self.path, Path(tempfile.gettempdir()) / f"{result.id}.json"):
            try:
                self.kept = store.save(result, place)
                return
            except InputError as error:
                self.trouble = self.trouble or error  # the first reason is the one to report


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
    others, cautions = _occupied(plan, target)
    identity = store.new_id(datetime.now(UTC), target.id, secrets.token_hex(2))
    own = output if output is not None and output.suffix == ".json" else None
    writer = ResultWriter(own or earlier or store.results_dir() / f"{identity}.json")
    store.check_writable(writer.path)
    sensor = telemetry.host_sensor() if target.device == "cpu" else target.sensor
    session = Session.new(
        sensor=sensor,
        device_name=target.name,
        identity=identity,
        command=command,
        keep=writer,
        others=others,
        cautions=cautions,
        other_sensors=target.other_sensors,
        rendezvous=rendezvous,
    )
    if earlier is not None:
        plan = _resume(session, store.load(earlier), plan)
        writer(session.result)
    return Prepared(session=session, writer=writer, plan=plan)


def _occupied(plan: Sequence[RunConfig], target: Target) -> tuple[int | None, tuple[Issue, ...]]:
    """(number of other processes on the devices, None where that is unknown; the cautions that follow)."""
    if target.sensor is None:
        load, cores = telemetry.load_average(), telemetry.cpu_count()
        return None, check_host(load, cores) if target.device == "cpu" else ()
    if target.used(plan) == 1:
        return check_idle(target.sensor, target.others)
    sensors = (target.sensor, *target.other_sensors[: target.used(plan) - 1])
    counts, cautions = zip(*(check_idle(sensor) for sensor in sensors), strict=True)
    return sum(counts), tuple(caution for each in cautions for caution in each)


def earlier_session(reference: str, output: Path | None) -> Path | None:
    """The file that `--resume` means: `last`, a path or id; `output` itself, if it exists, for "".

    None where a session is to be begun in `output`.
    """
    if reference:
        return store.find(reference)
    if output is None or output.suffix != ".json":
        return store.find("last")
    if output.exists() and not output.is_file():
        raise InputError(f"{output} is not an ordinary file", hint="name a .json file")
    return output if output.exists() else None


def _resume(session: Session, earlier: Result, plan: tuple[RunConfig, ...]) -> tuple[RunConfig, ...]:
    """Take over what `earlier` has measured; returns what is left to do."""
    build = telemetry.torch_build()
    others = {config.framework for config in plan} - {"torch"}
    versions = {name: frameworks.installed(name) for name in others}
    now = replace(session.result.environment, torch=build.version if build else None, **versions)  # type: ignore[arg-type]
    check_same(earlier, now)
    finished = {measurement.config for measurement in done(earlier, plan)}
    left = tuple(config for config in plan if config not in finished)
    session.resume(continued(earlier, session.result) if left else earlier)
    return left


def check_same(old: Result, now: Environment) -> None:
    """Raise InputError where `old` was measured elsewhere or with other software: one file has one
    environment."""
    if old.origin != "measured":
        raise InputError(
            f"{old.id} holds published figures, no session to resume", hint="start a new session"
        )
    changes = [change for change in old.environment.diff(now) if change[0] not in PASSING]
    if changes:
        listed = "; ".join(f"{name} was {was}, is {is_now}" for name, was, is_now in changes)
        raise InputError(
            f"{old.id} was measured in another environment: {listed}",
            hint="start anew, without resuming it, with another output file",
        )


def continued(old: Result, now: Result) -> Result:
    """`old`, with the command of the session that goes on with it; on another card it names no card."""
    this = Continuation(started_at=now.created_at, command=now.command)
    card = old.environment.card if old.environment.card == now.environment.card else None
    return replace(old, resumed=(*old.resumed, this), environment=replace(old.environment, card=card))


def done(old: Result, plan: Sequence[RunConfig]) -> tuple[Measurement, ...]:
    """The measurements of `old` that answer a configuration of the plan: ended ok, asked for in exactly the
    same words, with today's version of the workload."""
    return tuple(
        m
        for m in old.measurements
        if m.status == "ok"
        and m.config in plan
        and m.workload_version == workloads.get(m.config.workload).spec.version
    )
