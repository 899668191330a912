"""`gpuwise bench`: parse the options, run the session, print each measurement as it is final."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from gpuwise.cli import measuring
from gpuwise.cli import print as printer
from gpuwise.cli.recipe import RecipeChoice
from gpuwise.errors import INTERRUPTED, InputError
from gpuwise.jobs.measuring import REFERENCE, Begun, BenchRequest, bench
from gpuwise.measure import suites
from gpuwise.measure.process import rendezvous_of
from gpuwise.measure.request import Request
from gpuwise.measure.session import Session
from gpuwise.model import units
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import FRAMEWORKS, SCALINGS
from gpuwise.model.recipe import parse
from gpuwise.model.run import DEVICES, PROTOCOLS, RunConfig
from gpuwise.model.workload import MODES
from gpuwise.show.tuning import used

# Enough to see that a shrunken workload can be timed; its figures mean nothing.
TOY_S = 0.5
_FOLDERS = re.compile(r"[^,=:]*/(?=[^/,]+\.(?:py|json)\b)")


def _words(text: str, allowed: tuple[str, ...], what: str) -> tuple[str, ...]:
    chosen = units.parse_list(text)
    for value in chosen:
        if value not in allowed:
            raise InputError(f"unknown {what} {value!r}", hint=f"choose from {','.join(allowed)}")
    if not chosen:
        raise InputError(f"no {what} given", hint=f"choose from {','.join(allowed)}")
    return chosen


def _numbers(text: str, what: str, also: tuple[str, ...] = ()) -> tuple[int | None, ...]:
    """Positive whole numbers; None for a word of `also`."""
    words = units.parse_list(text)
    for word in words:
        if word not in also and (not word.isdecimal() or int(word) == 0):
            kind = " or ".join(("a positive number", *also))
            raise InputError(
                f"a {what} is {kind}, not {word!r}", hint=f"such as {' or '.join(('1', '1,2', *also))}"
            )
    if not words:
        raise InputError(f"no {what} given", hint=f"such as {' or '.join(('1,2', *also))}")
    return tuple(None if word in also else int(word) for word in words)


def _as(parse: Callable[[str], object]) -> Callable[..., object]:
    """A callback of click that parses the text of an option, where it was given."""
    return lambda context, parameter, text: None if text is None else parse(text)


@click.command("bench", short_help="Measure this machine.")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option(
    "--workload",
    default=None,
    help=f"What to measure; see gpuwise workloads. [default: {','.join(REFERENCE)}]",
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
@click.option(
    "--mode",
    "modes",
    callback=_as(lambda text: _words(text, MODES, "mode")),
    help="train, infer, compute. [default: all that a workload has]",
)
@click.option(
    "--precision",
    "precisions",
    callback=_as(lambda text: tuple(map(Precision, _words(text, PRECISIONS, "precision")))),
    help="fp64, fp32, tf32, fp16, bf16, fp8, int8. [default: bf16, where missing fp16; fp32 on a CPU]",
)
@click.option(
    "--compile",
    callback=_as(lambda text: tuple(word == "on" for word in _words(text, ("off", "on"), "compile"))),
    help="off, on. [default: on; off for a CPU or --quick]",
)
@click.option(
    "--batch",
    callback=_as(lambda text: _numbers(text, "batch", ("auto",))),
    help="Items per step, e.g. 64 or 1,8,64. [default: auto, search the fastest]",
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
    "--time",
    "time_s",
    callback=_as(units.parse_seconds),
    help="Longest timing of one measurement, e.g. 60s. [default: 60s]",
)
@click.option(
    "--target-ci",
    default="1%",
    show_default=True,
    callback=_as(units.parse_share),
    help="Stop when the 95 % interval is within ± this.",
)
@click.option(
    "--with-input",
    "input",
    flag_value="host",
    default=None,
    help="A new batch each step, prepared by worker processes; shows whether the input pipeline or the "
    "GPU is the bottleneck.",
)
@click.option("--quick", is_flag=True, help="A first picture: eager, default batch, a few seconds each.")
@click.option(
    "--gpu", "index", type=int, default=None, help="GPU index, as nvidia-smi counts; a suite keeps to it."
)
@click.option(
    "--gpus",
    callback=_as(lambda text: _numbers(text, "count of GPUs")),
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
@click.option(
    "--toy",
    "size",
    flag_value="toy",
    default=None,
    hidden=True,
    help="Shrunken models, to test gpuwise itself.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress, no lines: only the table.")
@printer.output_option
@printer.json_option
def command(**options: Any) -> None:
    """Measure this machine: limits first, then each workload, one line each as it is final.

    WORKLOAD is a name of `gpuwise workloads`, a file of yours (./my_model.py), or a network of a
    library: timm:NAME, torchvision:NAME, hf:CONFIG. Every list takes commas. The result is kept after
    every measurement; Ctrl-C keeps what is done.
    """
    output, as_json, quiet = options["output"], options["as_json"], options["quiet"] or options["as_json"]
    printer.check_output(output)
    request = BenchRequest(
        plan=_asked(options), suite=options["suite"] is not None, device=options["device"],
        gpu=options["index"], framework=options["framework"], recipe=options["recipe"] or "tuned",
        switches=parse(options["switch"]) if options["switch"] else None, output=output,
        resume=options["resume"], command=repeatable(),
        rendezvous=rendezvous_of(options["nodes"] or 1, options["rdzv"], options["node_rank"]),
    )  # fmt: skip

    def begin(session: Session, begun: Begun) -> None:
        for config, known in begun.recipes.items():
            printer.talk(used(config, known))
        kept = len(begun.plan) - len(begun.left)
        if kept:
            printer.talk(f"{kept} of {len(begun.plan)} measurements are kept from {begun.earlier}")
        if begun.skipped:
            printer.talk(f"skipped: not supported on this machine: {', '.join(begun.skipped)}")
        screen.begin(session.result, len(begun.left))

    screen = measuring.Screen(quiet=quiet)
    answer = bench(request, screen.listen, begin=begin)
    done = answer.found
    measuring.finish(done, output, as_json=as_json)
    if answer.exit_status == INTERRUPTED:
        if done.kept is not None:
            printer.talk(f"go on later: the same command with --resume {done.kept}")
        sys.exit(INTERRUPTED)


def _asked(options: dict[str, Any]) -> tuple[Request, ...]:
    """The requests of the options: those of a suite with what else was given, or one of its own.

    An option whose name is a field of Request or RunConfig sets that field; what was not given keeps its
    value.
    """
    names = {each.name for each in (*fields(Request), *fields(RunConfig))} - {"workloads", "device"}
    given = {name: value for name, value in options.items() if name in names and value is not None}
    if options["quick"]:
        given = {"time_s": 0.0, "compile": (), "batch": (None,), **given}
    if options["size"] == "toy":
        given = {"time_s": TOY_S, "batch": (None,), **given}
    words = (*options["workloads"], *((options["workload"],) if options["workload"] is not None else ()))
    named = units.parse_list(",".join(words))
    if options["suite"] is not None:
        if named:
            raise InputError("a suite names its workloads", hint=f"gpuwise bench {' '.join(named)}")
        return tuple(request.given(**given) for request in suites.requests(options["suite"]))
    if words and not named:
        raise InputError("no workload given", hint="gpuwise workloads")
    return (Request(workloads=named or REFERENCE).given(**{"time_s": 0.0, **given}),)


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
