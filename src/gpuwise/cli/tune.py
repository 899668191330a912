"""`gpuwise tune`: find the fastest recipe of a workload here, keep it, and show every setting tried."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.bench import repeatable
from gpuwise.cli.recipe import RecipeChoice
from gpuwise.errors import INTERRUPTED, InputError, RunError
from gpuwise.facts import recipes
from gpuwise.measure.device import find_target, only_ours
from gpuwise.measure.prepare import plan_for, prepare, recall
from gpuwise.measure.request import Request
from gpuwise.measure.session import Progress
from gpuwise.measure.tune import Tuner
from gpuwise.model import units
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.recipe import Recipe, parse, without_own_kernels
from gpuwise.model.run import RunConfig
from gpuwise.show import tuning as report


@click.command("tune", short_help="Find the fastest recipe of a workload on this machine.")
@click.argument("workload")
@click.option("--mode", type=click.Choice(["train", "infer"]), default=None, help="[default: its first]")
@click.option(
    "--precision",
    type=click.Choice([str(name) for name in PRECISIONS]),
    default=None,
    help="[default: as bench]",
)
@click.option(
    "--compile", "compiled", type=click.Choice(["off", "on"]), default=None, help="[default: as bench]"
)
@click.option("--batch", type=click.IntRange(1), default=None, help="[default: searched, too]")
@click.option(
    "--time", "time_text", default="10m", show_default=True, help="Stop starting new trials after this time."
)
@click.option(
    "--gpus", type=click.IntRange(1), default=1, help="So many together: how they exchange gradients."
)
@click.option(
    "--recipe",
    type=RecipeChoice(("stock", "tuned")),
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
    default=None,
    metavar="[last|FILE]",
    help="Go on with an interrupted search: the trials it kept are not measured again. [default: last]",
)
@click.option("--gpu", "index", type=int, default=None, help="GPU index, as nvidia-smi counts.")
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default=None, help="[default: cuda where there is a GPU]"
)
@click.option("--toy", is_flag=True, hidden=True, help="Shrunken models, to test gpuwise itself.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no lines: only the table.")
@printer.output_option
@printer.json_option
def command(
    *,
    time_text: str,
    tried: tuple[str, ...],
    recipe: Recipe,
    resume: str | None,
    index: int | None,
    quiet: bool,
    output: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Try the switches of a workload's recipe one after the other, each time from the fastest so far.

    It starts with the default, then the recipe that is known, if there is one: found here before, or shipped.
    A setting whose loss or gradients differ from the default recipe's does not count. The best is
    kept, and `gpuwise bench` uses it on this kind of device with this torch.
    """
    printer.check_output(output)
    if output is not None:
        store.check_writable(output)
    time_s = units.parse_seconds(time_text)
    target = find_target(asked["device"], index)
    request = Request(
        workloads=(asked["workload"],),
        modes=(asked["mode"],) if asked["mode"] else ("train", "infer"),
        precisions=(Precision(asked["precision"]),) if asked["precision"] else (),
        compile=() if asked["compiled"] is None else (asked["compiled"] == "on",),
        batch=(asked["batch"],),
        gpus=(asked["gpus"],),
        recipe=recipe,
    ).given(size="toy" if asked["toy"] else "full")
    config = one(plan_for([request], target, suite=False)[0], asked["workload"])
    (known,), _ = recall((config,), target.id, recipe)
    if config.gpus > 1:
        # What several were found to do is left out: the gain is over how they exchange by default.
        (one_gpu,), _ = recall((replace(config, gpus=1),), target.id, recipe)
        config = replace(one_gpu, gpus=config.gpus)
    only = tuple(parse(words.split(","), base=config.switches) for words in tried)
    if recipe == "stock" and any(switches != without_own_kernels(switches) for switches in only):
        raise InputError(
            "--try names gpuwise's own kernels, which stock does not have", hint="--recipe tuned"
        )
    earlier = None if resume is None else store.find(resume)
    words = repeatable()
    quiet = quiet or as_json
    with only_ours(target.devices((config,)), words, free=target.free):
        made = prepare((config,), target, command=words, output=None, earlier=earlier)
        tuner = Tuner(
            session=made.session, config=config, time_s=time_s, known=known, only=only, recipe=recipe
        )
        complete = _run(tuner, quiet=quiet)
    kept = made.writer.kept
    if kept is not None:
        printer.talk(f"every trial is kept in {kept}")
    if tuner.tuning is not None:
        table, document = report.trials(config, tuner.tuning), report.document(tuner.tuning)
        printer.deliver(table, lambda: document, as_json=as_json, output=output)
    if not complete:
        if kept is not None:
            printer.talk(f"go on later: the same command with --resume {kept}")
        sys.exit(INTERRUPTED)
    assert tuner.tuning is not None
    if tuner.tuning.tuned is None:
        go_on = f"go on: the same command with --resume {kept}" if tuner.tuning.left and kept else None
        raise RunError(report.found(tuner.tuning), hint=go_on or f"gpuwise bench {config.workload}")
    if config.size == "full":
        place = recipes.keep(tuner.tuning.tuned)
        given = f" --batch {config.batch}" if tuner.tuning.tuned.batch_given else ""
        printer.talk(f"kept in {place}; gpuwise bench {config.workload}{given} now uses it")


def one(plan: tuple[RunConfig, ...], name: str) -> RunConfig:
    """The configuration to tune. Raises InputError where there is none, or more than one."""
    found = [config for config in plan if config.mode in ("train", "infer")]
    if not found:
        raise InputError(f"{name} has no recipe to tune", hint="gpuwise workloads")
    if found[0].gpus > 1 and found[0].mode != "train":
        raise InputError("only training exchanges anything between GPUs", hint=f"gpuwise tune {name}")
    return found[0]


def _run(tuner: Tuner, *, quiet: bool) -> bool:
    """Print every trial as it ends; whether the search came to its end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def show(update: Progress) -> None:
        if not quiet:
            setting = f"batch {update.config.batch} {update.config.switches}"
            printer.status(f"[{len(tuner.trials) + 1}] {setting}: {update.doing}")

    try:
        for number, trial in enumerate(tuner.run(show), 1):
            if not quiet:
                printer.status("")
                printer.out(report.line(trial, number))
    except KeyboardInterrupt:
        # What is done is delivered now; a second one would only take it away.
        for sign in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sign, signal.SIG_IGN)
        printer.status("")
        printer.talk(f"interrupted after {len(tuner.trials)} settings")
        return False
    printer.status("")
    return True
