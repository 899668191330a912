"""Measure this machine: a first time, again, or in search of the fastest recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuwise import store, workloads
from gpuwise.errors import INTERRUPTED, GpuwiseError, InputError, NoDataError, RunError
from gpuwise.measure.locks import only_ours, only_writer
from gpuwise.measure.prepare import Target, earlier_session, find_target, plan_for, prepare, recall
from gpuwise.measure.request import Rendezvous, Request
from gpuwise.measure.session import Progress, Session, Turns
from gpuwise.model.precision import Precision
from gpuwise.model.question import (
    Asked,
    Device,
    Framework,
    Mode,
    Recipe,
    RunConfig,
    Switches,
    own_kernels,
    parse,
    without_own_kernels,
)
from gpuwise.model.result import Comparison, Issue, Measurement, Result, Trial, Tuned, Tuning
from gpuwise.show.table import Answer

REFERENCE = ("resnet50", "bert-large")
"""What is measured where no workload is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The plan of a session, before its first measurement."""

    result: Result  # Without measurements, or with those of the session that is gone on with
    plan: tuple[RunConfig, ...]
    left: tuple[RunConfig, ...]  # Of the plan, what an earlier session has not measured
    earlier: Path | None = None
    name: str = ""  # Of the card, where several are measured one after the other
    skipped: tuple[str, ...] = ()  # Of a suite, what this machine does not have
    recipes: Mapping[RunConfig, Sequence[Tuned]] = field(default_factory=dict)
    """Recipes that are known to be fastest, and are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A session that has ended."""

    result: Result
    kept: Path | None  # The file that holds it; None where no disk took it
    trouble: GpuwiseError | None = None  # Why the file could not be written
    complete: bool = True  # False where Ctrl-C ended it

    @property
    def failed(self) -> tuple[Measurement, ...]:
        return tuple(m for m in self.result.measurements if m.status in ("oom", "failed"))


Update = Begun | Progress | Measurement | Trial | Bench | None
"""A session that begins, how far it is, what is final, the session at its end; None: the user interrupts."""
Listen = Callable[[Update], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest(Asked):
    """Workloads to measure, the device, and where the result goes."""

    plan: tuple[Request, ...] = (Request(workloads=REFERENCE).given(time_s=0.0),)
    """Requests one after the other; `time_s=0` is the usual time."""
    suite: bool = False  # Leave out what this machine does not have, instead of an error
    device: Device | None = None  # None = cuda where there is a GPU, else cpu
    index: int | None = None  # Of the GPU, as nvidia-smi counts
    framework: Framework = "torch"
    recipe: Recipe = "tuned"
    switches: Switches | None = None  # Of the recipe, instead of those that are known to be fastest here
    output: Path | None = None  # A `.json` file for the result; None = the store
    resume: str | None = None  # Go on with this session: a file, an id, `last`, or empty for `output`
    force: bool = False  # Replace an `output` that is there
    rendezvous: Rendezvous | None = None  # Where the machines of one session meet
    command: str = "gpuwise.bench"  # Kept in the result: what makes it again


def bench(request: BenchRequest, listen: Listen = lambda update: None) -> Answer[Bench]:
    """Measure the limits of the device, then each workload; each measurement is on the disk when it is final.

    `listen` hears of progress and of each measurement. Ctrl-C ends the session and keeps what is done: exit
    status 130. It is 4 where a measurement failed; the issues name them. Raises MachineError for a device
    that is missing or busy, InputError for what it cannot do.
    """
    from gpuwise.show import results as show

    request = BenchRequest.of(request)
    if not request.plan:
        raise InputError("the plan has nothing to measure", hint="give plan=(Request(workloads=...),)")
    replaced = request.output if request.resume is None and not request.force else None
    if replaced is not None and replaced.is_file():
        problem = f"{request.output} is there already"
        raise InputError(problem, hint="go on with it, or replace it", code="there")
    target = find_target(request.device, request.index, request.framework)
    plan, skipped = plan_for(request.plan, target, suite=request.suite)
    recipes: Mapping[RunConfig, Sequence[Tuned]] = {}
    if request.switches is None:
        plan, recipes = recall(plan, target.id, request.recipe, suite=request.suite)
    else:
        given = request.switches
        if any(config.framework != "torch" for config in plan):
            raise InputError("switches are those of torch's recipe", hint="leave out the switches")
        if request.recipe == "script":
            raise InputError("the recipe script has no switches", hint="leave out the switches")
        own = any(own_kernels(given, c.mode, c.precision, c.workload) for c in plan)
        if request.recipe == "stock" and own:
            problem = f"{given} runs gpuwise's own kernels, which stock does not"
            raise InputError(problem, hint="the recipe tuned has them")
        plan = tuple(c if c.mode == "limit" else replace(c, switches=given) for c in plan)
    earlier = None
    if request.resume is not None:
        earlier = earlier_session(request.resume, request.output, plan, request.command)
    done = session(
        plan,
        target,
        listen,
        command=request.command,
        output=request.output,
        earlier=earlier,
        rendezvous=request.rendezvous,
        skipped=skipped,
        recipes=recipes,
    )
    status = INTERRUPTED if not done.complete else RunError.exit_code if done.failed or done.trouble else 0
    return Answer(
        value=done,
        exit_status=status,
        issues=tuple(Issue.invalid(m.status, m.config.label()) for m in done.failed),
        to_table=lambda: show.measurements(done.result),
        to_data=lambda: store.encode(done.result),
    )


def session(
    plan: tuple[RunConfig, ...],
    target: Target,
    listen: Listen,
    *,
    command: str,
    output: Path | None = None,
    earlier: Path | None = None,
    rendezvous: Rendezvous | None = None,
    name: str = "",
    skipped: tuple[str, ...] = (),
    recipes: Mapping[RunConfig, Sequence[Tuned]] | None = None,
    turns: Turns | None = None,
) -> Bench:
    """Measure a plan on a device that no other session of gpuwise measures on meanwhile; sessions on other
    devices may take `turns` with it."""
    # One measurement at a time on a device: a second one would slow both.
    file = output if output is not None and output.suffix == ".json" else earlier
    with only_ours(target.devices(plan), command, free=target.free), only_writer(file, command):
        made = prepare(plan, target, command=command, output=output, earlier=earlier, rendezvous=rendezvous)
        made.session.turns = turns
        listen(
            Begun(
                result=made.session.result,
                plan=plan,
                left=made.plan,
                earlier=earlier,
                name=name,
                skipped=skipped,
                recipes=recipes or {},
            )
        )
        complete = run(made.session, made.plan, listen)
    writer = made.writer
    done = Bench(result=made.session.result, kept=writer.kept, trouble=writer.trouble, complete=complete)
    listen(done)
    return done


def run(session: Session, plan: Sequence[RunConfig], listen: Listen) -> bool:
    """Measure the plan; False where Ctrl-C ended it."""
    try:
        for update in session.measure_all(tuple(plan)):
            listen(update)
    except KeyboardInterrupt:
        listen(None)
        return False
    return True


Reproduced = tuple[Bench, tuple[Comparison, ...]]


def reproduce(
    old: Result,
    listen: Listen = lambda update: None,
    *,
    index: int | None = None,
    name: str = "before",
    command: str = "gpuwise.reproduce",
) -> Answer[Reproduced]:
    """Run every measurement of a result again, at the batch that it had.

    It is reproduced where the ratio of new to old may be 1 within its interval and 2 %. The issues name what
    differs (`differs`; exit status 1) and what the intervals leave open (`unclear`). Raises InputError for a
    result that cannot be run, NoDataError for one in which nothing ended well.
    """
    from gpuwise.show import comparisons as show
    from gpuwise.stats.comparison import pair, reproduced

    plan = again(old)
    for config in plan:
        workloads.get(config.workload)  # a file or library that is missing is reported before anything runs
    done = session(plan, find_target(plan[0].device, index), listen, command=command)
    pairs = pair(old, done.result) if done.complete else ()
    issues = tuple(
        Issue.info("unclear", label) if reproduced(c) else Issue.invalid("differs", label)
        for c, label in ((c, c.a.config.label("batch")) for c in pairs)
        if not reproduced(c) or c.verdict == "unclear"
    )
    failed = any(issue.code == "differs" for issue in issues)
    compared = [(done.result, pairs)]
    return Answer(
        value=(done, pairs),
        issues=issues,
        exit_status=int(failed) if done.complete else INTERRUPTED,
        to_table=lambda: show.comparisons(old, compared, names=(name, "now")),
        to_data=lambda: show.document(old, compared),
    )


def again(old: Result) -> tuple[RunConfig, ...]:
    """The configurations of what ended well, each at the batch that ran."""
    if old.origin != "measured":
        raise InputError(f"{old.id} holds published figures", hint="measure it yourself", code="bench")
    if old.command == "pytest":
        problem = f"{old.id} holds steps of tests, which pytest alone can run"
        raise InputError(problem, hint="run the tests against it", code="pytest")
    if any(m.serving is not None for m in old.measurements):
        raise InputError(f"{old.id} holds the answers of a server", hint=f"ask it again: {old.command}")
    done = [m for m in old.measurements if m.status == "ok"]
    if not done:
        raise NoDataError(f"nothing in {old.id} ended well", hint=old.command)
    return tuple(m.config if m.config.mode == "limit" else replace(m.config, batch=m.batch) for m in done)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRequest(Asked):
    """One workload, whose fastest recipe on this machine is searched."""

    workload: str
    mode: Mode | None = None  # None = its first
    precision: Precision | None = None  # None, also below = as `bench`
    compile: bool | None = None
    batch: int | None = None  # None = searched, too
    gpus: int = 1  # More than one: how they exchange gradients is searched
    recipe: Recipe = "tuned"  # `stock` searches without gpuwise's own kernels
    tried: tuple[tuple[str, ...], ...] = ()
    """Only these switches, each as `NAME=WORD`, on top of those the search starts with."""
    time_s: float = 600.0  # No trial starts after this time or goes on
    resume: str | None = None  # An interrupted search: a file, an id or `last`
    device: Device | None = None
    index: int | None = None
    toy: bool = False  # Shrunken models, to test gpuwise itself; their recipe is not kept
    command: str = "gpuwise.tune"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune:
    """A search that has ended."""

    config: RunConfig  # Where it started
    tuning: Tuning
    kept: Path | None  # The file that holds every trial
    recipe_file: Path | None  # Where the best recipe is kept, from which `bench` takes it


def tune(request: TuneRequest, listen: Listen = lambda update: None) -> Answer[Tune]:
    """Try the switches of a workload's recipe one after the other, each time from the fastest so far.

    A setting whose loss or gradients differ from the default recipe's does not count; the best is kept. Exit
    status 4 where none was found, 130 where Ctrl-C ended it. Raises InputError for what cannot be tuned.
    """
    from gpuwise.facts import recipes
    from gpuwise.measure.tune import Tuner
    from gpuwise.show import tuning as show

    target = find_target(request.device, request.index)
    wanted = Request(
        workloads=(request.workload,),
        modes=(request.mode,) if request.mode else ("train", "infer"),
        precisions=(request.precision,) if request.precision else (),
        compile=() if request.compile is None else (request.compile,),
        batch=(request.batch,),
        gpus=(request.gpus,),
        recipe=request.recipe,
    )
    plan, _ = plan_for([wanted.given(size="toy" if request.toy else "full")], target, suite=False)
    config = next((config for config in plan if config.mode in ("train", "infer")), None)
    if config is None:
        raise InputError(f"{request.workload} has no recipe to tune", hint="see its modes", code="workload")
    if config.gpus > 1 and config.mode != "train":
        raise InputError("only training exchanges anything between GPUs", hint="tune it on one GPU")
    (recalled,), _ = recall((config,), target.id, request.recipe)
    if config.gpus > 1:
        # What several were found to do is left out: the gain is over how they exchange by default.
        (one_gpu,), _ = recall((replace(config, gpus=1),), target.id, request.recipe)
        config = replace(one_gpu, gpus=config.gpus)
    only = tuple(parse(words, base=config.switches) for words in request.tried)
    if request.recipe == "stock" and any(switches != without_own_kernels(switches) for switches in only):
        problem = "the switches to try are of gpuwise's own kernels, which stock does not have"
        raise InputError(problem, hint="the recipe tuned has them")
    earlier = None if request.resume is None else store.find(request.resume)
    complete = True
    with only_ours(target.devices((config,)), request.command, free=target.free):
        made = prepare((config,), target, command=request.command, output=None, earlier=earlier)
        tuner = Tuner(
            session=made.session,
            config=config,
            time_s=request.time_s,
            known=recalled,
            only=only,
            recipe=request.recipe,
        )
        try:
            for trial in tuner.run(listen):
                listen(trial)
        except KeyboardInterrupt:
            listen(None)
            complete = False
    tuning, place = tuner.tuning or Tuning(), None
    if complete and tuning.tuned is not None and config.size == "full":
        place = recipes.keep(tuning.tuned)
    status = INTERRUPTED if not complete else 0 if tuning.tuned else RunError.exit_code
    return Answer(
        value=Tune(config=config, tuning=tuning, kept=made.writer.kept, recipe_file=place),
        exit_status=status,
        to_table=lambda: show.trials(config, tuning),
        to_data=lambda: show.document(tuning),
    )
