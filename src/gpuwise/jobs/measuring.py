"""Measure this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpuwise import store
from gpuwise.errors import INTERRUPTED, GpuwiseError, InputError, RunError
from gpuwise.jobs.answer import Answer
from gpuwise.measure.device import find_target, only_ours
from gpuwise.measure.prepare import Recalled, earlier_session, plan_for, prepare, recall
from gpuwise.measure.process import Rendezvous
from gpuwise.measure.request import Request
from gpuwise.measure.session import Progress, Session
from gpuwise.model.issue import Issue
from gpuwise.model.question import Framework
from gpuwise.model.recipe import Recipe, Switches, own_kernels
from gpuwise.model.result import Measurement, Result
from gpuwise.model.run import Device, RunConfig

REFERENCE = ("resnet50", "bert-large")
"""What is measured where no workload is named."""
Update = Progress | Measurement | None
"""How far the next measurement is, one that is final, or None: interrupted by the user."""
Listen = Callable[[Update], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """What to measure, on which device, and where the result goes."""

    plan: tuple[Request, ...] = (Request(workloads=REFERENCE).given(time_s=0.0),)
    """Requests one after the other; `time_s=0` is the usual time."""
    suite: bool = False
    """Leave out what this machine does not have, instead of an error."""
    device: Device | None = None
    """None = cuda where there is a GPU, else cpu."""
    gpu: int | None = None
    """Index, as nvidia-smi counts."""
    framework: Framework = "torch"
    recipe: Recipe = "tuned"
    switches: Switches | None = None
    """Of the recipe, instead of those that are known to be fastest here."""
    output: Path | None = None
    """A `.json` file for the result; None = the store."""
    resume: str | None = None
    """Go on with this session: a file, an id, `last`, or empty for `output`."""
    rendezvous: Rendezvous | None = None
    """Where the machines of one session meet."""
    command: str = "gpuwise.bench"
    """Kept in the result: what makes it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A session that has ended."""

    result: Result
    kept: Path | None
    """The file that holds it; None where no disk took it."""
    trouble: GpuwiseError | None = None
    """Why the file could not be written."""


def bench(
    request: BenchRequest, listen: Listen = lambda update: None, *,
    begin: Callable[[Session, Begun], None] = lambda session, begun: None,
) -> Answer[Bench]:  # fmt: skip
    """Measure the limits of the device, then each workload; each measurement is on the disk when it is final.

    `listen` hears of progress and of each measurement. Ctrl-C ends the session and keeps what is done: exit
    status 130. It is 4 where a measurement failed; the issues name them. Raises MachineError for a device
    that is missing or busy, InputError for what it cannot do.
    """
    from gpuwise.show import results as show

    target = find_target(request.device, request.gpu, request.framework)
    plan, skipped = plan_for(request.plan, target, suite=request.suite)
    plan, known = _with_recipes(plan, request, target.id)
    earlier = earlier_session(request.resume, request.output) if request.resume is not None else None
    # One measurement at a time on a device: a second one would slow both.
    with only_ours(target.devices(plan), request.command, free=target.free):
        made = prepare(
            plan,
            target,
            command=request.command,
            output=request.output,
            earlier=earlier,
            rendezvous=request.rendezvous,
        )
        begin(made.session, Begun(plan=plan, left=made.plan, earlier=earlier, skipped=skipped, recipes=known))
        complete = run(made.session, made.plan, listen)
    result = made.session.result
    failed = [m for m in result.measurements if m.status in ("oom", "failed")]
    status = INTERRUPTED if not complete else RunError.exit_code if failed or made.writer.trouble else 0
    return Answer(
        found=Bench(result=result, kept=made.writer.kept, trouble=made.writer.trouble), exit_status=status,
        issues=tuple(Issue(code=m.status, severity="invalid", detail=m.config.label()) for m in failed),
        to_table=lambda: show.measurements(result), to_data=lambda: store.encode(result),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What is decided before the first measurement."""

    plan: tuple[RunConfig, ...]
    left: tuple[RunConfig, ...]
    """Of the plan, what an earlier session has not measured."""
    earlier: Path | None
    skipped: tuple[str, ...]
    """Of a suite, what this machine does not have."""
    recipes: Recalled
    """Recipes that are known to be fastest, and are used."""


def run(session: Session, plan: Sequence[RunConfig], listen: Listen) -> bool:
    """Measure the plan; False where Ctrl-C ended it."""
    try:
        for update in session.measure_all(tuple(plan)):
            listen(update)
    except KeyboardInterrupt:
        listen(None)
        return False
    return True


def _with_recipes(
    plan: tuple[RunConfig, ...], request: BenchRequest, device: str
) -> tuple[tuple[RunConfig, ...], Recalled]:
    """The plan with the switches that were given, else with the recipes that are known.

    Raises InputError for switches that the recipe asked for does not have.
    """
    given, recipe = request.switches, request.recipe
    if given is None:
        return recall(plan, device, recipe)
    if any(config.framework != "torch" for config in plan):
        raise InputError("switches are those of torch's recipe", hint="leave out the switches")
    if recipe == "script":
        raise InputError("the recipe script has no switches", hint="leave out the switches")
    if recipe == "stock" and any(own_kernels(given, c.mode, c.precision, c.workload) for c in plan):
        problem = f"{given} runs gpuwise's own kernels, which stock does not"
        raise InputError(problem, hint="the recipe tuned has them")
    changed = (c if c.mode == "limit" else replace(c, switches=given) for c in plan)
    return tuple(changed), {}
