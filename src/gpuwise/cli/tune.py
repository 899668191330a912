"""`gpuwise tune`: find the fastest recipe of a workload here, keep it, and show every setting tried."""

from __future__ import annotations

import sys
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.bench import Screen, repeatable
from gpuwise.cli.options import DeviceChoice, one_device, options, output_options
from gpuwise.errors import INTERRUPTED, RunError
from gpuwise.jobs.measuring import TuneRequest, tune
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.show import tuning as show


@click.command()
@click.argument("workload")
@options("tune", precision=PRECISIONS, device=DeviceChoice(("cuda", "cpu")))
@output_options
def command(*, quiet: bool, to: printer.Output, **options: Any) -> None:
    """Try the switches of a workload's recipe one after the other, each time from the fastest so far.

    It starts with the default, then the recipe that is known, if there is one: found here before, or shipped.
    A setting whose loss or gradients differ from the default recipe's does not count. The best is
    kept, and `gpuwise bench` uses it on this kind of device with this torch.
    """
    if to.file is not None:
        store.check_writable(to.file)  # a search takes minutes: not at its end
    options["precision"] = options["precision"] and Precision(options["precision"])
    options["tried"] = tuple(tuple(words.split(",")) for words in options["tried"])
    options["device"], options["index"] = one_device(options["device"])
    request = TuneRequest(**options, command=repeatable())
    printer.end_as_with_ctrl_c()
    answer = tune(request, _Trials(quiet=quiet or to.as_json, what="settings").listen)
    printer.status("")
    tuned = answer.value
    if tuned.kept is not None:
        printer.talk(f"every trial is kept in {tuned.kept}")
    if tuned.tuning.trials:
        to.answer(answer)
    if answer.exit_status == INTERRUPTED:
        if tuned.kept is not None:
            printer.talk(f"go on later: the same command with --resume {tuned.kept}")
        sys.exit(INTERRUPTED)
    if tuned.tuning.tuned is None:
        more = tuned.tuning.left and tuned.kept
        go_on = f"go on: the same command with --resume {tuned.kept}"
        hint = go_on if more else "its outcome stands above; --time 10m gives more time"
        raise RunError(show.found(tuned.tuning), hint=hint)
    if tuned.recipe_file is not None:
        given = f" --batch {tuned.config.batch}" if tuned.tuning.tuned.batch_given else ""
        printer.talk(f"kept in {tuned.recipe_file}; gpuwise bench {tuned.config.workload}{given} now uses it")


class _Trials(Screen):
    """Each setting that was tried, with the step it reached."""

    def doing(self, update: Any) -> str:
        config = update.config
        return f"[{self.ended + 1}] batch {config.batch} {config.switches}: {update.doing}"

    def line(self, ended: Any) -> str:
        return show.line(ended, self.ended)
