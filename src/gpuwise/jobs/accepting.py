"""Pass or fail: is every GPU as good as it should be, by measuring it here or by its result files?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpuwise import store, workloads
from gpuwise.errors import INTERRUPTED, InputError, MachineError, NoDataError
from gpuwise.jobs import Answer
from gpuwise.jobs.measuring import REFERENCE, Listen, session
from gpuwise.judge.accept import TestedCard, check_last, judge, lookup
from gpuwise.judge.accept.card import Outcome
from gpuwise.measure import telemetry
from gpuwise.measure.prepare import Target, find_target, plan_for, visible
from gpuwise.measure.request import Request, suite
from gpuwise.measure.telemetry import Wear
from gpuwise.measure.telemetry.health import Check, checks, fabric
from gpuwise.model.precision import Precision
from gpuwise.model.question import Asked, Input, RunConfig
from gpuwise.model.result import Result

QUICK = Request(workloads=REFERENCE).given(quick=True, time_s=0.0)
"""The quick suite: the reference workloads for a few seconds each."""
STATUS: dict[Outcome, int] = {"pass": 0, "FAIL": 1, "not judged": NoDataError.exit_code}
"""A gate must not pass because nothing is known of what such a card reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptRequest(Asked):
    """Files to judge as a fleet, or where there are none, the GPUs of this machine to measure and judge."""

    files: tuple[Path, ...] = ()  # Results, bundles and folders of them
    missing: Mapping[str, str] = field(
        default_factory=dict
    )  # Hosts that should be among them: why they are not
    soak_s: float = 0.0  # Train so long on each card, and see what heat, power and errors do
    against: str | None = None
    """What each card should reach: a result file, a GPU, `last`; None = what is known of its kind."""
    margin: float = 0.05  # How much slower is still accepted, as a share
    suites: tuple[str, ...] = ("limits", "quick")
    device: str = "cuda"  # `cuda` or `cpu`
    gpus: tuple[int, ...] = ()  # Indices, as nvidia-smi counts; empty = all
    time_s: float | None = None  # Longest timing of one measurement
    input: Input = "device"  # host: read it there, and judge the host's memory and disk, too
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
    if request.device == "cpu" and request.gpus:
        raise InputError("a processor has no GPU index", hint="leave out the index")
    if not request.suites:
        raise InputError("no suite given", hint="suites like limits and quick")
    known = lookup(request.against)
    if request.files:
        from gpuwise.judge.accept import bundle, fleet

        hosts, skipped = bundle.gather(request.files)
        judged = fleet.summarise(hosts, skipped, known, request.margin, request.missing)
        return Answer(
            found=judged,
            exit_status=STATUS[judged.outcome],
            to_table=lambda: show.fleet_cards(judged),
            to_data=lambda: show.fleet_document(judged),
        )
    counted = fabric()
    cards, common, complete = _measured(request, listen)
    grew = {name: count - counted.get(name, 0) for name, count in fabric().items()}
    infos = [card.info for card in cards if card.info is not None]
    found = judge(cards, known, request.margin, telemetry.links(infos), grew, tuple(common))
    named = tuple(
        replace(issue, detail=f"{judged.card.name}: {issue.detail}")
        for judged in found.cards
        for issue in judged.issues
    )
    return Answer(
        found=found,
        issues=named,
        exit_status=STATUS[found.outcome] if complete else INTERRUPTED,
        to_table=lambda: show.acceptance(found),
        to_data=lambda: show.document(found),
    )


def _measured(request: AcceptRequest, listen: Listen) -> tuple[list[TestedCard], list[TestedCard], bool]:
    """(the cards of this machine with their results, what they did together and the host itself, whether all
    was measured)."""
    changes: dict[str, Any] = {"size": "toy", "batch": (None,)} if request.toy else {}
    if request.time_s is not None:
        changes["time_s"] = request.time_s
    quick = QUICK.given(input=request.input)
    wanted = [r for name in request.suites for r in ((quick,) if name == "quick" else suite(name))]
    asked = [each.given(**changes) for each in wanted]
    if request.soak_s:
        soak = Request(workloads=REFERENCE[:1], modes=("train",))
        asked.append(soak.given(**{**changes, "protocol": "soak", "time_s": request.soak_s}))
    if request.device == "cpu":
        targets = [find_target("cpu", None)]
    else:
        seen = [sensor.info().index for sensor in visible(telemetry.sensors(), os.environ)]
        if not seen:
            raise MachineError(
                "no GPU answers on this machine, so there is none to accept",
                hint="check the driver, or test the processor",
                code="accept",
            )
        targets = [find_target("cuda", index) for index in request.gpus or seen]
    if request.against == "last":
        for target in targets:
            check_last(_unmeasured(target, "").environment)
    # In a ring: each card copies to the next one, so that every card's link is measured by itself.
    rings = [(*targets[number + 1 :], *targets[:number]) for number in range(len(targets))]
    if len(targets) > 1:
        targets = [
            replace(
                target, named=False, others=tuple(each.info for each in ring if each.info),
                other_sensors=tuple(each.sensor for each in ring if each.sensor),
            )
            for target, ring in zip(targets, rings, strict=True)
        ]  # fmt: skip
    parts: list[tuple[str, Target, tuple[RunConfig, ...]]] = []
    for target in targets:
        name = f"GPU {target.info.index}" if target.info else "CPU"
        parts.append((name, target, once(plan_for(asked, target, suite=True)[0])))
    if len(targets) > 1 and (together := once(plan_for(asked, targets[0], suite=True)[0], len(targets))):
        parts.append(("all GPUs", targets[0], together))
    if request.input == "host" and request.device == "cuda":
        host = find_target("cpu", None)
        read = Request(workloads=("copy", "disk-read"), precisions=(Precision.FP32,)).given(**changes)
        parts.append(("host", host, once(plan_for([read], host, suite=True)[0])))
    found: list[TestedCard] = []
    complete = True
    for name, target, plan in parts:
        command = request.command(",".join(str(each.index) for each in target.devices(plan) if each) or None)
        card = TestedCard(name=name, result=_unmeasured(target, command), info=target.info)
        before = target.sensor.wear() if target.sensor else Wear()
        try:
            done = session(plan, target, listen, command=command, name=name)
        except MachineError as refusal:  # a card that cannot be measured is one that fails
            found.append(replace(card, refusal=str(refusal)))
            continue
        after = target.sensor.wear() if target.sensor else Wear()
        found.append(replace(card, result=done.result, before=before, after=after))
        if not (complete := done.complete):
            break
    return found[: len(targets)], found[len(targets) :], complete


def once(plan: Sequence[RunConfig], gpus: int = 1) -> tuple[RunConfig, ...]:
    """What so many cards do together, or one alone, each question once: suites share their limits. Of several
    it is what they exchange, at their full number: how a network scales says nothing of a card."""
    found: dict[str, RunConfig] = {}
    for config in plan:
        if (config.gpus > 1) == (gpus > 1) and (gpus == 1 or workloads.get(config.workload).spec.collective):
            config = replace(config, gpus=gpus)
            found.setdefault(config.key(), config)
    return tuple(found.values())


def _unmeasured(target: Target, command: str) -> Result:
    """The result of a card that could not be measured: what the driver reports of it."""
    gpu_id = target.spec.id if target.spec else None
    now = datetime.now(UTC)
    return Result(
        id=store.new_id(now, target.name, "none"),
        created_at=now.isoformat(timespec="seconds"),
        command=command,
        environment=telemetry.environment(target.info, device=target.name, gpu_id=gpu_id),
    )


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
