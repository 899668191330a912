"""`gpuwise tune`: find the fastest recipe of a workload here, keep it, and show every setting tried."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.bench import Screen, repeatable
from gpuwise.errors import INTERRUPTED, RunError
from gpuwise.jobs.measuring import TuneRequest, tune
from gpuwise.model import units
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.show import tuning as show


@click.command("tune", short_help="Find the fastest recipe of a workload on this machine.")
@click.argument("workload")
@click.option("--mode", type=click.Choice(["train", "infer"]), help="[default: its first]")
@click.option(
    "--precision", type=click.Choice([str(name) for name in PRECISIONS]), help="[default: as bench]"
)
@click.option("--compile", "compiled", type=click.Choice(["off", "on"]), help="[default: as bench]")
@click.option("--batch", type=click.IntRange(1), help="[default: searched, too]")
@click.option(
    "--time",
    "time_text",
    default="10m",
    show_default=True,
    help="Stop starting new trials after this time; the first always ends.",
)
@click.option(
    "--gpus", type=click.IntRange(1), default=1, help="So many together: how they exchange gradients."
)
@click.option(
    "--recipe",
    type=printer.RecipeChoice(("stock", "tuned")),
    default="tuned",
    show_default=True,
    help="stock: search without gpuwise's own kernels.",
)
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="NAME=WORD,...",
    help="Try these switches together on top of those it starts with, and of others only the recipe that is "
    "known; may be repeated.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="last",
    metavar="[last|FILE]",
    help="Go on with an interrupted search: the trials it kept are not measured again. [default: last]",
)
@printer.index_option
@printer.device_option
@printer.toy_option
@printer.quiet_option
@printer.output_options
def command(*, quiet: bool, output: Path | None, as_json: bool, **options: Any) -> None:
    """Try the switches of a workload's recipe one after the other, each time from the fastest so far.

    It starts with the default, then the recipe that is known, if there is one: found here before, or shipped.
    A setting whose loss or gradients differ from the default recipe's does not count. The best is
    kept, and `gpuwise bench` uses it on this kind of device with this torch.
    """
    if output is not None:
        store.check_writable(output)  # a search takes minutes: not at its end
    request = TuneRequest(
        workload=options["workload"],
        mode=options["mode"],
        batch=options["batch"],
        gpus=options["gpus"],
        precision=Precision(options["precision"]) if options["precision"] else None,
        compile=None if options["compiled"] is None else options["compiled"] == "on",
        recipe=options["recipe"],
        tried=tuple(tuple(words.split(",")) for words in options["tried"]),
        time_s=units.parse_seconds(options["time_text"]),
        resume=options["resume"],
        device=options["device"],
        gpu=options["index"],
        toy=options["toy"],
        command=repeatable(),
    )
    printer.end_as_with_ctrl_c()
    answer = tune(request, _Trials(quiet=quiet or as_json, what="settings").listen)
    printer.status("")
    found = answer.found
    if found.kept is not None:
        printer.talk(f"every trial is kept in {found.kept}")
    if found.tuning.trials:
        printer.deliver_answer(answer, as_json=as_json, output=output)
    if answer.exit_status == INTERRUPTED:
        if found.kept is not None:
            printer.talk(f"go on later: the same command with --resume {found.kept}")
        sys.exit(INTERRUPTED)
    if found.tuning.tuned is None:
        more = found.tuning.left and found.kept
        go_on = f"go on: the same command with --resume {found.kept}"
        hint = go_on if more else f"gpuwise bench {found.config.workload}"
        raise RunError(show.found(found.tuning), hint=hint)
    if found.recipe_file is not None:
        given = f" --batch {found.config.batch}" if found.tuning.tuned.batch_given else ""
        printer.talk(f"kept in {found.recipe_file}; gpuwise bench {found.config.workload}{given} now uses it")


class _Trials(Screen):
    """Each setting that was tried, with the step it reached."""

    def doing(self, update: Any) -> str:
        config = update.config
        return f"[{self.ended + 1}] batch {config.batch} {config.switches}: {update.doing}"

    def line(self, ended: Any) -> str:
        return show.line(ended, self.ended)
