"""`gpuwise bench`: parse the options, run the session, print each measurement as it is final."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from typing import Any, cast

import click

from gpuwise.cli import measuring
from gpuwise.cli import print as printer
from gpuwise.cli.recipe import RecipeChoice
from gpuwise.errors import INTERRUPTED, InputError
from gpuwise.measure import suites
from gpuwise.measure.lock import only_ours
from gpuwise.measure.meeting import meet
from gpuwise.measure.plan import Request
from gpuwise.measure.recall import recall
from gpuwise.measure.start import devices, earlier_session, find_target, plan_for, prepare
from gpuwise.model import units
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import FRAMEWORKS, SCALINGS
from gpuwise.model.recipe import Recipe, own_kernels, parse
from gpuwise.model.run import DEVICES, PROTOCOLS, RunConfig
from gpuwise.model.workload import MODES, Mode
from gpuwise.show.tuning import used

REFERENCE = "resnet50,bert-large"
TOY_S = 0.5
"""Enough to see that a shrunken workload can be timed; its figures mean nothing."""
_FOLDERS = re.compile(r"[^,=:]*/(?=[^/,]+\.(?:py|json)\b)")


def _choices(text: str, allowed: tuple[str, ...], what: str) -> tuple[str, ...]:
    chosen = units.parse_list(text)
    for value in chosen:
        if value not in allowed:
            raise InputError(f"unknown {what} {value!r}", hint=f"choose from {','.join(allowed)}")
    if not chosen:
        raise InputError(f"no {what} given", hint=f"choose from {','.join(allowed)}")
    return chosen


def _batches(text: str) -> tuple[int | None, ...]:
    """`auto`, `64`, `1,8,64`."""
    found = tuple(_batch(word) for word in units.parse_list(text))
    if not found:
        raise InputError("no batch given", hint="gpuwise bench --batch auto")
    return found


def _batch(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) == 0:
        raise InputError(
            f"a batch is a positive number or auto, not {text!r}", hint="gpuwise bench --batch auto"
        )
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        message = f"a count of GPUs is a positive number, not {text!r}"
        raise InputError(message, hint="gpuwise bench --gpus 1,2")
    return int(text)


@click.command("bench", short_help="Measure this machine.")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option(
    "--workload", default=None, help=f"What to measure; see gpuwise workloads. [default: {REFERENCE}]"
)
@click.option("--suite", default=None, help=f"A list of measurements: {', '.join(suites.names())}.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[last|FILE]",
    help="Go on with an interrupted session: what it measured is kept. [default: -o FILE, else last]",
)
@click.option("--mode", default=None, help="train, infer, compute. [default: all that a workload has]")
@click.option(
    "--precision",
    default=None,
    help="fp64, fp32, tf32, fp16, bf16, fp8, int8. [default: bf16, where missing fp16; fp32 on a CPU]",
)
@click.option("--compile", "compiled", default=None, help="off, on. [default: on; off for a CPU or --quick]")
@click.option(
    "--batch", default=None, help="Items per step, e.g. 64 or 1,8,64. [default: auto, search the fastest]"
)
@click.option(
    "--recipe",
    default=None,
    type=RecipeChoice(),
    help="tuned: the best known. stock: the best known with torch's own kernels alone. script: the benchmark "
    "article's public script. [default: tuned]",
)
@click.option(
    "--switch",
    multiple=True,
    metavar="NAME=WORD",
    help="A switch of the recipe, e.g. layout=channels-first; then none that tune has found is used.",
)
@click.option(
    "--protocol",
    default=None,
    type=click.Choice(PROTOCOLS),
    help="adaptive: until the interval is narrow. aime: 50 steps, mean of three runs, start below 50 C. "
    "[default: adaptive]",
)
@click.option(
    "--time", "time_text", default=None, help="Longest timing of one measurement, e.g. 60s. [default: 60s]"
)
@click.option(
    "--target-ci", default="1%", show_default=True, help="Stop when the 95 % interval is within ± this."
)
@click.option(
    "--with-input",
    is_flag=True,
    help="A new batch each step, prepared by worker processes: is it input or GPU that bounds?",
)
@click.option("--quick", is_flag=True, help="A first picture: eager, default batch, a few seconds each.")
@click.option(
    "--gpu", "index", type=int, default=None, help="GPU index, as nvidia-smi counts; a suite keeps to it."
)
@click.option(
    "--gpus",
    default=None,
    help="Counts of GPUs that train together, e.g. 1,2,4; with --device cpu, of processes. [default: 1]",
)
@click.option(
    "--scaling",
    default=None,
    type=click.Choice(SCALINGS),
    help="weak: each GPU has the whole batch. strong: they share one. [default: weak]",
)
@click.option("--nodes", type=click.IntRange(1), default=None, help="Machines that run this same command.")
@click.option("--rdzv", default=None, metavar="HOST:PORT", help="Where they meet: an address of the first.")
@click.option(
    "--node-rank",
    type=click.IntRange(0),
    default=None,
    help="0 on the machine that --rdzv names, 1 and more elsewhere. [default: found by its address]",
)
@click.option(
    "--device",
    type=click.Choice(DEVICES),
    default=None,
    help="cuda: NVIDIA, AMD. mps: Apple. xpu: Intel. [default: cuda where there is a GPU]",
)
@click.option(
    "--framework",
    type=click.Choice(FRAMEWORKS),
    default="torch",
    show_default=True,
    help="What measures; tensorflow and jax have five networks (docs/frameworks.md).",
)
@click.option("--toy", is_flag=True, hidden=True, help="Shrunken models, to test gpuwise itself.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no lines: only the table.")
@printer.output_option
@printer.json_option
def command(**options: Any) -> None:
    """Measure this machine: limits first, then each workload, one line each as it is final.

    WORKLOAD is a name of `gpuwise workloads`, a file of yours (./my_model.py), or a network of a
    library: timm:NAME, torchvision:NAME, hf:CONFIG. Every list takes commas. The result is kept after
    every measurement; Ctrl-C keeps what is done.
    """
    output, as_json = options["output"], options["as_json"]
    printer.check_output(output)
    asked = _asked(options)
    meeting = meet(options["nodes"] or 1, options["rdzv"], options["node_rank"])
    target = find_target(options["device"], options["index"], options["framework"])
    plan, left_out = plan_for(asked, target, suite=options["suite"] is not None)
    plan = _with_recipes(plan, options["switch"], target.id, options["recipe"] or "tuned")
    earlier = earlier_session(options["resume"], output) if options["resume"] is not None else None
    words = repeatable()
    with only_ours(devices(plan, target), words, free=target.free):
        made = prepare(plan, target, command=words, output=output, earlier=earlier, meeting=meeting)
        kept = len(plan) - len(made.plan)
        if kept:
            printer.talk(f"{kept} of {len(plan)} measurements are kept from {earlier}")
        if left_out:
            printer.talk(f"left out, for this machine has it not: {', '.join(left_out)}")
        complete = measuring.measure(made.session, made.plan, quiet=options["quiet"] or as_json)
    measuring.finish(made.session.result, made.keeper, output, as_json=as_json)
    if not complete:
        if made.keeper.kept is not None:
            printer.talk(f"go on later: the same command with --resume {made.keeper.kept}")
        sys.exit(INTERRUPTED)


def _with_recipes(
    plan: tuple[RunConfig, ...], switches: tuple[str, ...], device: str, recipe: Recipe
) -> tuple[RunConfig, ...]:
    """The plan with the switches that were given, else with the recipes that are known.

    Raises InputError for switches that the recipe asked for does not have.
    """
    if switches:
        given = parse(switches)
        if any(config.framework != "torch" for config in plan):
            raise InputError("switches are those of torch's recipe", hint="leave out --switch")
        if recipe == "script":
            raise InputError("the recipe script has no switches", hint="leave out --switch")
        own = [c for c in plan if own_kernels(given, c.mode, c.precision)]
        if recipe == "stock" and own:
            raise InputError(
                f"{given} runs gpuwise's own kernels, which stock does not", hint="--recipe tuned"
            )
        return tuple(config if config.mode == "limit" else replace(config, switches=given) for config in plan)
    plan, found = recall(plan, device, recipe)
    for config, known in found.items():
        printer.talk(used(config, known))
    return plan


def _asked(options: dict[str, Any]) -> tuple[Request, ...]:
    """The requests of the options: those of a suite with what else was given, or one of its own."""
    given = _given(options)
    words = (*options["workloads"], *((options["workload"],) if options["workload"] is not None else ()))
    named = units.parse_list(",".join(words))
    if options["suite"] is not None:
        if named:
            raise InputError("a suite names its workloads", hint=f"gpuwise bench {' '.join(named)}")
        return tuple(replace(request, **given) for request in suites.requests(options["suite"]))
    if words and not named:
        raise InputError("no workload given", hint="gpuwise workloads")
    return (Request(workloads=named or units.parse_list(REFERENCE), **{"time_s": 0.0, **given}),)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Fields of a Request that the options set; what was not given keeps its default."""
    found: dict[str, Any] = {
        "target_ci": units.parse_share(options["target_ci"]),
        "quick": options["quick"],
        "input": "host" if options["with_input"] else "device",
        "size": "toy" if options["toy"] else "full",
        "framework": options["framework"],
    }
    if options["quick"]:
        found |= {"time_s": 0.0, "compile": (), "batch": (None,)}
    if options["toy"]:
        found |= {"time_s": TOY_S, "batch": (None,)}
    if options["mode"] is not None:
        found["modes"] = cast("tuple[Mode, ...]", _choices(options["mode"], MODES, "mode"))
    if options["precision"] is not None:
        chosen = _choices(options["precision"], PRECISIONS, "precision")
        found["precisions"] = cast("tuple[Precision, ...]", chosen)
    if options["compiled"] is not None:
        found["compile"] = tuple(c == "on" for c in _choices(options["compiled"], ("off", "on"), "compile"))
    if options["batch"] is not None:
        found["batch"] = _batches(options["batch"])
    if options["gpus"] is not None:
        found["gpus"] = tuple(_count(word) for word in units.parse_list(options["gpus"]))
    if options["time_text"] is not None:
        found["time_s"] = units.parse_seconds(options["time_text"])
    named = ("recipe", "protocol", "scaling", "nodes")
    return found | {name: options[name] for name in named if options[name] is not None}


def repeatable() -> str:
    """The command line that makes this result again, without where it was written or resumed from, who met
    where, and the folders of files."""
    given: tuple[str, ...] = click.get_current_context().obj
    dropped = ("--output", "--resume", "--rdzv", "--node-rank")
    words = [word for word in given if not word.startswith(tuple(f"{option}=" for option in dropped))]
    for option in ("-o", *dropped):
        while option in words:
            at = words.index(option)
            value = option != "--resume" or not "".join(words[at + 1 : at + 2]).startswith("-")
            del words[at : at + 1 + value]
    return shlex.join(["gpuwise", *(_FOLDERS.sub("", word) for word in words)])
