"""Pass or fail: is every GPU as good as it should be, by measuring it here or by its result files?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import EllipsisType
from typing import Any, TypeVar

from gpuwise import store, workloads
from gpuwise.errors import INTERRUPTED, InputError, MachineError, NoDataError
from gpuwise.jobs.measuring import REFERENCE, Listen, Update, session
from gpuwise.judge.accept.card import Outcome, TestedCard, check_last, kept_of, lookup
from gpuwise.judge.accept.judging import judge
from gpuwise.measure import telemetry
from gpuwise.measure.prepare import Target, done, find_target, plan_for, visible
from gpuwise.measure.request import Request, suite
from gpuwise.measure.session import Progress, Turns
from gpuwise.measure.telemetry.health import Check, checks, fabric
from gpuwise.measure.telemetry.sensor import Wear
from gpuwise.model.precision import Precision
from gpuwise.model.question import Asked, Input, RunConfig
from gpuwise.model.result import Result
from gpuwise.show.table import Answer

QUICK = Request(workloads=REFERENCE).given(quick=True, time_s=0.0)
"""The quick suite: the reference workloads for a few seconds each."""
STATUS: dict[Outcome, int] = {"pass": 0, "FAIL": 1, "not judged": NoDataError.exit_code}
"""A gate must not pass because nothing is known of what such a card reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptRequest(Asked):
    """Files to judge as a fleet, or where there are none, the GPUs of this machine to measure and judge."""

    files: tuple[Path, ...] = ()  # Results, bundles and folders of them
    missing: Mapping[str, str] = field(default_factory=dict)  # Hosts that gave no file, and why
    soak_s: float = 0.0  # Train so long on each card, and see what heat, power and errors do
    against: str | None = None
    """What each card should reach: a result file, a GPU, `last`; None = what is known of its kind."""
    margin: float = 0.05  # How much slower is still accepted, as a share
    suites: tuple[str, ...] = ("limits", "quick")
    device: str = "cuda"  # `cuda` or `cpu`
    indices: tuple[int, ...] = ()  # Of GPUs, as nvidia-smi counts; empty = all
    time_s: float | None = None  # Longest timing of one measurement
    input: Input = "device"  # host: read it there, and judge the host's memory and disk, too
    resume: bool = False  # Go on with what an interrupted test of these cards has measured
    toy: bool = False  # Shrunken models, to test gpuwise itself
    command: Callable[[str | None], str] = lambda indices: "gpuwise.accept"
    """Kept in each result: what measures the cards of these indices again, None the processor."""


def accept(request: AcceptRequest, listen: Listen = lambda update: None) -> Answer[Any]:
    """Judge speed, heat, clocks, PCIe, power, ECC, MIG and other processes of every card.

    `found` is a `Fleet` for files, else an `Acceptance`; `listen` hears of each card as `bench` says it. The
    exit status is 1 where a card fails, 5 where speeds could be compared with nothing, 130 where Ctrl-C ended
    the measuring. Raises InputError for what makes no sense, MachineError where no GPU answers.
    """
    from gpuwise.show import acceptance as show

    request = AcceptRequest.of(request)
    if request.margin >= 1:
        raise InputError(f"a margin of {request.margin:.0%} would accept any card", hint="a margin like 5%")
    if request.files and request.against == "last":
        raise InputError("a fleet has no last result", hint="compare with a file or a GPU")
    if not request.suites:
        raise InputError("no suite given", hint="suites like limits and quick")
    references = lookup(request.against)
    if request.files:
        from gpuwise.judge.accept import bundle, fleet

        hosts, skipped = bundle.gather(request.files)
        judged = fleet.summarise(hosts, skipped, references, request.margin, request.missing)
        return Answer(
            value=judged,
            exit_status=STATUS[judged.outcome],
            to_table=lambda: show.fleet_cards(judged),
            to_data=lambda: show.fleet_document(judged),
        )
    counted = fabric()
    cards, common, complete = _measured(request, listen)
    grew = {name: count - counted.get(name, 0) for name, count in fabric().items()}
    infos = [card.info for card in cards if card.info is not None]
    acceptance = judge(cards, references, request.margin, telemetry.links(infos), grew, tuple(common))
    found = ((judged.card.name, issue) for judged in acceptance.cards for issue in judged.issues)
    named = tuple(replace(issue, detail=f"{name}: {issue.detail}") for name, issue in found)
    return Answer(
        value=acceptance,
        issues=named,
        exit_status=STATUS[acceptance.outcome] if complete else INTERRUPTED,
        to_table=lambda: show.acceptance(acceptance),
        to_data=lambda: show.document(acceptance),
    )


def _measured(request: AcceptRequest, listen: Listen) -> tuple[list[TestedCard], list[TestedCard], bool]:
    """(the cards of this machine with their results, what they did together and the host itself, whether all
    was measured)."""
    targets = _targets(request)
    parts = _parts(request, targets)
    # A card's process and its watcher need a core each.
    turns = Turns(max(1, telemetry.cpu_count() // 2))

    def commanded(part: Part) -> str:
        return request.command(",".join(str(each.index) for each in part[1].devices(part[2]) if each) or None)

    earlier = _interrupted([(part, commanded(part)) for part in parts]) if request.resume else {}

    def test(part: Part, heard: Listen) -> tuple[TestedCard, bool]:
        (name, target, plan), command = part, commanded(part)
        card = TestedCard(name=name, result=_unmeasured(target, command), info=target.info)
        before = target.sensor.wear() if target.sensor else Wear()
        path, plan = earlier.get(name, (None, plan))
        try:
            ended = session(plan, target, heard, command=command, name=name, earlier=path, turns=turns)
        except MachineError as refusal:  # a card that cannot be measured is one that fails
            return replace(card, refusal=str(refusal)), True
        after = target.sensor.wear() if target.sensor else Wear()
        return replace(card, result=ended.result, before=before, after=after), ended.complete

    # Each card by itself, all at the same time; then what they do together, and the host.
    tested = side_by_side([partial(test, part) for part in parts[: len(targets)]], turns, listen)
    for part in parts[len(targets) :]:
        if all(complete for _, complete in tested):
            tested.append(test(part, listen))
    cards = [card for card, _ in tested]
    return cards[: len(targets)], cards[len(targets) :], all(complete for _, complete in tested)


def _targets(request: AcceptRequest) -> list[Target]:
    """The devices to accept, each with the others that take part in what it measures."""
    if request.device == "cpu":
        targets = [find_target("cpu", next(iter(request.indices), None))]
    else:
        seen = [sensor.info().index for sensor in visible(telemetry.sensors(), os.environ)]
        if not seen:
            problem = "no GPU answers on this machine, so there is none to accept"
            raise MachineError(problem, hint="check the driver, or test the processor", code="accept")
        targets = [find_target("cuda", index) for index in request.indices or seen]
    if request.against == "last":
        for target in targets:
            check_last(_unmeasured(target, "").environment)
    if len(targets) == 1:
        return targets
    # In a ring: each card copies to the next one, so that every card's link is measured by itself.
    rings = [(*targets[number + 1 :], *targets[:number]) for number in range(len(targets))]
    return [
        replace(
            target, named=False, others=tuple(each.info for each in ring if each.info),
            other_sensors=tuple(each.sensor for each in ring if each.sensor),
        )
        for target, ring in zip(targets, rings, strict=True)
    ]  # fmt: skip


def _parts(request: AcceptRequest, targets: Sequence[Target]) -> list[Part]:
    """What each of them measures; behind these what all do together, and the host by itself."""
    changes: dict[str, Any] = {"size": "toy", "batch": (None,)} if request.toy else {}
    if request.time_s is not None:
        changes["time_s"] = request.time_s
    quick = QUICK.given(input=request.input)
    wanted = [r for name in request.suites for r in ((quick,) if name == "quick" else suite(name))]
    requests = [each.given(**changes) for each in wanted]
    if request.soak_s:
        soak = Request(workloads=REFERENCE[:1], modes=("train",))
        requests.append(soak.given(**{**changes, "protocol": "soak", "time_s": request.soak_s}))
    parts: list[Part] = []
    for target in targets:
        name = f"GPU {target.info.index}" if target.info else "CPU"
        parts.append((name, target, once(plan_for(requests, target, suite=True)[0])))
    if len(targets) > 1 and (together := once(plan_for(requests, targets[0], suite=True)[0], len(targets))):
        parts.append(("all GPUs", targets[0], together))
    if request.input == "host" and request.device == "cuda":
        host = find_target("cpu", None)
        read = Request(workloads=("copy", "disk-read"), precisions=(Precision.FP32,)).given(**changes)
        parts.append(("host", host, once(plan_for([read], host, suite=True)[0])))
    return parts


Part = tuple[str, Target, tuple[RunConfig, ...]]
T = TypeVar("T")


def side_by_side(tests: Sequence[Callable[[Listen], T]], turns: Turns, listen: Listen) -> list[T]:
    """Results of all tests, each run by a thread of its own. `listen` hears of one after the other, in this
    thread: of the first that has not ended as it goes on, of later ones when it is their turn."""
    if len(tests) == 1:
        return [tests[0](listen)]
    heard: list[SimpleQueue[Update | EllipsisType]] = [SimpleQueue() for _ in tests]
    turn = 0  # The test that is heard of now

    def one(number: int) -> T:
        def tell(update: Update) -> None:
            progress = isinstance(update, Progress)
            if progress and turns.stopped:
                raise KeyboardInterrupt
            if update is not None and (number == turn or not progress):
                heard[number].put(update)

        try:
            return tests[number](tell)
        finally:
            heard[number].put(...)

    with ThreadPoolExecutor(len(tests)) as pool:
        running = [pool.submit(one, number) for number in range(len(tests))]
        try:
            for turn in range(len(heard)):
                while not isinstance(update := heard[turn].get(), EllipsisType):
                    listen(update)
        except KeyboardInterrupt:
            turns.stop()
            listen(None)
        return [each.result() for each in running]


def _interrupted(wanted: Sequence[tuple[Part, str]]) -> dict[str, tuple[Path, tuple[RunConfig, ...]]]:
    """By part, the file of an earlier test of the same cards and the plan to go on with: of a soak, what is
    left of its time. Empty where nothing was interrupted: then all is measured anew."""
    parts, unfinished = {}, False
    for (name, target, plan), command in wanted:
        kept = kept_of(_unmeasured(target, command).environment, command)
        if kept is None:
            continue
        path, result = kept
        soaks = (m for m in result.measurements if m.config.protocol == "soak")
        ran = (m for m in soaks if m.status in ("ok", "interrupted"))
        soaked_s = sum(window.ended_s - window.started_s for m in ran for window in m.windows)
        rest = [c if c.protocol != "soak" else replace(c, time_s=c.time_s - soaked_s) for c in plan]
        plan = tuple(c for c in rest if c.time_s > 0)
        unfinished |= len(done(result, plan)) < len(plan)
        parts[name] = path, plan
    return parts if unfinished else {}


def once(plan: Sequence[RunConfig], gpus: int = 1) -> tuple[RunConfig, ...]:
    """The plan of so many cards together, or of one, each question once: suites share limits. Of several
    it is what they exchange, at their full number: how a network scales says nothing of a card."""
    questions: dict[str, RunConfig] = {}
    for config in plan:
        if (config.gpus > 1) == (gpus > 1) and (gpus == 1 or workloads.get(config.workload).spec.collective):
            config = replace(config, gpus=gpus)
            questions.setdefault(config.key(), config)
    return tuple(questions.values())


def _unmeasured(target: Target, command: str) -> Result:
    """The result of a card that could not be measured: what the driver reports of it."""
    return store.begun(command, telemetry.environment(target.info, device=target.name))


def health() -> tuple[Check, ...]:
    """The checks of this machine: driver, torch, ECC, MIG, power, clocks, heat, PCIe, processes and disk."""
    sensors = telemetry.sensors()
    return checks(
        [sensor.info() for sensor in sensors],
        [sensor.sample() for sensor in sensors],
        [sensor.processes() for sensor in sensors],
        telemetry.torch_build(),
        telemetry.disk_free_bytes(store.home()),
    )
