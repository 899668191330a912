"""`gpuwise reproduce`: measure again what a result file holds, and say whether it comes out again."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import click

from gpuwise import store, workloads
from gpuwise.cli import measuring
from gpuwise.cli import print as printer
from gpuwise.errors import INTERRUPTED, GateFailed, InputError, NoDataError
from gpuwise.jobs.measuring import run
from gpuwise.measure.device import find_target, only_ours
from gpuwise.measure.prepare import prepare
from gpuwise.model.result import Result
from gpuwise.model.run import RunConfig
from gpuwise.show import comparisons as report
from gpuwise.stats import pair, reproduced


@click.command("reproduce", short_help="Measure a result again: does it come out again?")
@click.argument("what", metavar="FILE|last")
@click.option("--gpu", "index", type=int, default=None, help="GPU index, as nvidia-smi counts.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no lines: only the table.")
@printer.output_option
@printer.json_option
def command(what: str, index: int | None, quiet: bool, output: Path | None, as_json: bool) -> None:
    """Run every measurement of a result again, at the batch that it had.

    Yes, where the ratio of new to old may be 1 within its interval and 2 %; else exit code 1. What
    differs between the two environments stands before the table.
    """
    printer.check_output(output)
    old = store.load(store.find(what))
    plan = again(old)
    for config in plan:
        workloads.get(config.workload)  # a file or library that is not here is told before anything runs
    target = find_target(plan[0].device, index)
    words = shlex.join(["gpuwise", "reproduce", Path(what).name])
    with only_ours(target.devices(plan), words, free=target.free):
        made = prepare(plan, target, command=words, output=None, earlier=None)
        screen = measuring.Screen(quiet=quiet or as_json)
        screen.begin(made.session.result, len(made.plan))
        complete = run(made.session, made.plan, screen.listen)
    if not complete:
        sys.exit(INTERRUPTED)
    found = pair(old, made.session.result)
    compared = [(made.session.result, found)]
    table = report.comparisons(old, compared, names=(what, "now"))
    printer.deliver(table, lambda: report.document(old, compared), as_json=as_json, output=output)
    failed = [c.cell for c in found if not reproduced(c)]
    if failed:
        raise GateFailed(f"no: {len(failed)} of {len(found)} differ: {', '.join(failed)}")
    unclear = sum(c.verdict == "unclear" for c in found)
    but = f", {unclear} of them unclear: see the intervals" if unclear else ""
    printer.talk(f"yes: {len(found)} of {len(found)} reproduced{but}; kept in {made.writer.kept}")


def again(old: Result) -> tuple[RunConfig, ...]:
    """The configurations of what ended well, each at the batch that ran."""
    if old.origin != "measured":
        raise InputError(f"{old.id} holds published figures", hint="gpuwise bench")
    if old.command == "pytest":
        raise InputError(
            f"{old.id} holds steps of tests, which pytest alone can run",
            hint="pytest --gpu-bench-compare FILE",
        )
    done = [m for m in old.measurements if m.status == "ok"]
    if not done:
        raise NoDataError(f"nothing in {old.id} ended well", hint=old.command)
    return tuple(m.config if m.config.mode == "limit" else replace(m.config, batch=m.batch) for m in done)
