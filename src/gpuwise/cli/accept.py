"""`gpuwise accept`: pass or fail for every GPU of a host, or for a fleet from its result files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gpuwise import store
from gpuwise.cli import measuring
from gpuwise.cli import print as printer
from gpuwise.cli.bench import REFERENCE
from gpuwise.errors import INTERRUPTED, GateFailed, InputError, MachineError
from gpuwise.judge.accept import Acceptance, Card, Lookup, check_last, judge, lookup
from gpuwise.measure import suites, telemetry
from gpuwise.measure.device import Target, find_target, only_ours, visible
from gpuwise.measure.prepare import plan_for, prepare
from gpuwise.measure.request import Request
from gpuwise.measure.telemetry import Wear
from gpuwise.model import units
from gpuwise.model.result import Result
from gpuwise.model.run import RunConfig
from gpuwise.show import acceptance as report
from gpuwise.show.table import markdown

QUICK = Request(workloads=units.parse_list(REFERENCE)).given(quick=True, time_s=0.0)
"""What `gpuwise bench --quick` measures."""
BUNDLE = ".zip"
GUIDE = "gpuwise accept RESULT|FOLDER... takes --against FILE|GPU, --margin, -o and --json"


@click.command("accept", short_help="Pass or fail: is every GPU as good as it should be?")
@click.argument("results", nargs=-1, metavar="[RESULT|FOLDER]...", type=click.Path(path_type=Path))
@click.option(
    "--suite",
    "suite_text",
    default="limits,quick",
    show_default=True,
    help=f"What to measure: quick, {', '.join(suites.names())}.",
)
@click.option(
    "--against",
    default=None,
    metavar="last|FILE|GPU",
    help="What each card should reach. [default: what is known of its kind]",
)
@click.option("--margin", default="5%", show_default=True, help="How much slower is still accepted.")
@click.option("--gpu", "indices", default=None, help="GPU indices, e.g. 0,1. [default: all]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cuda", show_default=True)
@click.option("--time", "time_text", default=None, help="Longest timing of one measurement, e.g. 20s.")
@click.option("--with-serials", is_flag=True, help="Put serial numbers and unique ids into the bundle.")
@click.option("--toy", is_flag=True, hidden=True, help="Shrunken models, to test gpuwise itself.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no lines: only the verdict.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE: a bundle for the vendor (.zip), or the verdict (.json, .csv, .md).",
)
@printer.json_option
def command(results: tuple[Path, ...], **options: Any) -> None:
    """Measure every GPU of this host and judge it: speed, heat, clocks, PCIe, power, ECC, MIG, company.

    With RESULT files, bundles or FOLDERs nothing is measured: they are judged as a fleet, and outliers
    are named. Exits with 1 where a card or host fails.
    """
    _check_sense(bool(results), options)
    margin, known = _margin(options["margin"]), lookup(options["against"])
    if results:
        _fleet(results, known, margin, options["output"], quiet=options["quiet"], as_json=options["as_json"])
        return
    _host(known, margin, options)


def _margin(text: str) -> float:
    margin = units.parse_share(text)
    if margin >= 1:
        raise InputError(f"a margin of {text} would accept any card", hint="gpuwise accept --margin 5%")
    return margin


MEASURING = {
    "suite_text": "--suite",
    "indices": "--gpu",
    "device": "--device",
    "time_text": "--time",
    "with_serials": "--with-serials",
}
"""Options that mean nothing where files are judged."""


def _check_sense(fleet: bool, options: dict[str, Any]) -> None:
    """Raise InputError for an option that would do nothing."""
    source = click.get_current_context().get_parameter_source
    given = [flag for name, flag in MEASURING.items() if source(name) is ParameterSource.COMMANDLINE]
    if fleet and given:
        raise InputError(f"files are judged, not measured: leave out {', '.join(given)}", hint=GUIDE)
    if fleet and options["against"] == "last":
        raise InputError("a fleet has no last result", hint="gpuwise accept FOLDER --against FILE")
    if options["device"] == "cpu" and options["indices"] is not None:
        raise InputError("a processor has no GPU index", hint="gpuwise accept --device cpu")
    output: Path | None = options["output"]
    if options["with_serials"] and (output is None or output.suffix != BUNDLE):
        raise InputError(
            "serial numbers go into a bundle", hint="gpuwise accept --with-serials -o bundle.zip"
        )


def _host(known: Lookup, margin: float, options: dict[str, Any]) -> None:
    """Measure, judge and deliver. Raises GateFailed where a card or the host fails."""
    output: Path | None = options["output"]
    _check_output(output)
    asked = _asked(options)
    targets = _targets(options["device"], options["indices"])
    if options["against"] == "last":
        for target in targets:
            check_last(_nothing(target, "").environment)
    cards = []
    for target in targets:
        words = _words(target, options)
        card, complete = _measured(target, asked, words, quiet=options["quiet"] or options["as_json"])
        if not complete:
            sys.exit(INTERRUPTED)
        cards.append(card)
    found = judge(cards, known, margin)
    _deliver(found, output, as_json=options["as_json"], serials=options["with_serials"])
    if not found.passed:
        raise GateFailed(f"not accepted: {report.blame(found)}")


def _check_output(output: Path | None) -> None:
    if output is None:
        return
    printer.check_output(output, (*printer.SUFFIXES, BUNDLE))
    store.check_writable(output)


def _asked(options: dict[str, Any]) -> tuple[Request, ...]:
    """The requests of the suites; raises InputError for a suite that there is not."""
    names = units.parse_list(options["suite_text"])
    if not names:
        raise InputError("no suite given", hint="gpuwise accept --suite limits,quick")
    requests = [r for name in names for r in ((QUICK,) if name == "quick" else suites.requests(name))]
    changes: dict[str, Any] = {"size": "toy", "batch": (None,)} if options["toy"] else {}
    if options["time_text"] is not None:
        changes["time_s"] = units.parse_seconds(options["time_text"])
    return tuple(request.given(**changes) for request in requests)


def _targets(device: str, indices: str | None) -> tuple[Target, ...]:
    """Every GPU asked for; the processor for `cpu`. Raises MachineError where there is no GPU."""
    if device == "cpu":
        return (find_target("cpu", None),)
    there = [sensor.info().index for sensor in visible(telemetry.sensors(), os.environ)]
    if not there:
        raise MachineError(
            "no GPU answers on this machine, so there is none to accept",
            hint="gpuwise doctor says why; gpuwise accept --device cpu tests the processor",
        )
    return tuple(find_target("cuda", index) for index in _chosen(indices) or there)


def _chosen(indices: str | None) -> tuple[int, ...]:
    words = units.parse_list(indices or "")
    if indices is not None and (not words or not all(word.isdecimal() for word in words)):
        raise InputError(
            f"GPUs are numbers as nvidia-smi counts, not {indices!r}", hint="gpuwise accept --gpu 0,1"
        )
    return tuple(dict.fromkeys(int(word) for word in words))


def _words(target: Target, options: dict[str, Any]) -> str:
    """The command line that measures this card again."""
    which = ("--gpu", str(target.info.index)) if target.info else ("--device", "cpu")
    time = ("--time", options["time_text"]) if options["time_text"] is not None else ()
    return shlex.join(["gpuwise", "accept", "--suite", options["suite_text"], *which, *time])


def _measured(target: Target, asked: Sequence[Request], words: str, *, quiet: bool) -> tuple[Card, bool]:
    """(one card with its result, whether all was measured); a card that refuses is one that fails."""
    name = f"GPU {target.info.index}" if target.info else "CPU"
    plan = once(plan_for(asked, target, suite=True)[0])
    before = _wear(target)
    try:
        with only_ours(target.devices(plan), words, free=target.free):
            made = prepare(plan, target, command=words, output=None, earlier=None)
            if not quiet:
                printer.talk(f"{name}:")
            complete = measuring.measure(made.session, made.plan, quiet=quiet)
    except MachineError as refusal:
        return Card(name=name, result=_nothing(target, words), info=target.info, refusal=str(refusal)), True
    if made.writer.trouble is not None:
        printer.talk(f"{made.writer.trouble}; kept in {made.writer.kept or 'memory alone'}")
    elif made.writer.kept is not None and not quiet:
        printer.talk(f"kept in {made.writer.kept}")
    result = made.session.result
    return Card(name=name, result=result, info=target.info, before=before, after=_wear(target)), complete


def once(plan: Sequence[RunConfig]) -> tuple[RunConfig, ...]:
    """What one card does, each question once: suites share their limits, and what GPUs do together says
    nothing of one of them."""
    found: dict[str, RunConfig] = {}
    for config in plan:
        if config.gpus == 1:
            found.setdefault(config.key(), config)
    return tuple(found.values())


def _wear(target: Target) -> Wear:
    return target.sensor.wear() if target.sensor else Wear()


def _nothing(target: Target, words: str) -> Result:
    """The result of a card that could not be measured: what the driver tells of it."""
    gpu_id = target.spec.id if target.spec else None
    now = datetime.now(UTC)
    return Result(
        id=store.new_id(now, target.name, "none"),
        created_at=now.isoformat(timespec="seconds"),
        command=words,
        environment=telemetry.environment(target.info, device=target.name, gpu_id=gpu_id),
    )


def _deliver(found: Acceptance, output: Path | None, *, as_json: bool, serials: bool) -> None:
    """The verdict to the screen or to a file; a bundle beside the screen."""
    table = report.acceptance(found)
    bundled = output if output is not None and output.suffix == BUNDLE else None
    if bundled is not None:
        from gpuwise.judge.accept import bundle

        cards = [judged.card for judged in found.cards]
        data = bundle.pack(cards, _checks(), markdown(table), report.document(found), serials=serials)
        store.write(data, bundled)
        printer.talk(f"bundle written to {bundled}")
    plain = None if bundled is not None else output
    printer.deliver(table, lambda: report.document(found), as_json=as_json, output=plain)


def _checks() -> tuple[telemetry.Check, ...]:
    """What `gpuwise doctor` finds."""
    sensors = telemetry.sensors()
    return telemetry.checks(
        [sensor.info() for sensor in sensors],
        [sensor.sample() for sensor in sensors],
        [sensor.processes() for sensor in sensors],
        telemetry.torch_build(),
        telemetry.disk_free_bytes(store.home()),
    )


def _fleet(
    paths: Sequence[Path], known: Lookup, margin: float, output: Path | None, *, quiet: bool, as_json: bool
) -> None:
    """Judge files. Raises GateFailed where a card or host fails."""
    from gpuwise.judge.accept import collect, fleet

    printer.check_output(output)
    found = fleet.summarise(*collect.gather(paths), known, margin)
    tables = (report.models(found), report.hosts(found), report.deviations(found.deviations))
    printer.deliver(
        report.fleet_cards(found), lambda: report.fleet_document(found), as_json=as_json, output=output
    )
    if not as_json and output is None and not quiet:
        for table in tables:
            if table.rows:
                printer.table(table)
    if not found.passed:
        refused = sum(row.cards - row.passed for row in found.host_rows)
        raise GateFailed(f"not accepted: {refused} of {sum(row.cards for row in found.host_rows)} cards")
