"""`gpuwise bench` and `gpuwise reproduce`: parse the options, print each measurement as it is final."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.cli.endpoint import endpoint_options, refuse_without_endpoint
from gpuwise.cli.endpoint import measure as measure_endpoint
from gpuwise.errors import INTERRUPTED, GateFailed, InputError, RunError
from gpuwise.jobs.measuring import REFERENCE, Begun, Bench, BenchRequest, Update, bench, reproduce
from gpuwise.measure import suites
from gpuwise.measure.process import rendezvous_of
from gpuwise.measure.request import Request
from gpuwise.measure.session import Progress
from gpuwise.model import units
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import FRAMEWORKS, SCALINGS
from gpuwise.model.recipe import parse
from gpuwise.model.result import Measurement
from gpuwise.model.run import DEVICES, PROTOCOLS, RunConfig
from gpuwise.model.workload import MODES
from gpuwise.show import results as show
from gpuwise.show.scaling import scaling
from gpuwise.show.tuning import used

# Enough to see that a shrunken workload can be timed; its figures mean nothing.
TOY_S = 0.5
# What says where this run was written, resumed from or met: another run of the same command has its own.
PLACES = ("--output", "--resume", "--rdzv", "--node-rank")
_FOLDERS = re.compile(r"[^,=:]*/(?=[^/,]+\.(?:py|json)\b)")


def _words(allowed: tuple[str, ...], make: Callable[[str], object] = str) -> Callable[..., object]:
    """A callback of click: a list of known words, where the option was given."""

    def read(context: click.Context, option: click.Parameter, text: str | None) -> object:
        chosen = None if text is None else units.parse_list(text)
        what, hint = option.opts[0].lstrip("-"), f"choose from {','.join(allowed)}"
        for word in chosen or ():
            if word not in allowed:
                raise InputError(f"unknown {what} {word!r}", hint=hint)
        if chosen == ():
            raise InputError(f"no {what} given", hint=hint)
        return None if chosen is None else tuple(map(make, chosen))

    return read


def _numbers(what: str, *also: str) -> Callable[..., object]:
    """A callback of click: a list of positive whole numbers; None in it for a word of `also`."""

    def read(context: click.Context, option: click.Parameter, text: str | None) -> object:
        words = None if text is None else units.parse_list(text)
        hint = f"such as {' or '.join(('1', '1,2', *also))}"
        for word in words or ():
            if word not in also and (not word.isdecimal() or int(word) == 0):
                kind = " or ".join(("a positive number", *also))
                raise InputError(f"a {what} is {kind}, not {word!r}", hint=hint)
        if words == ():
            raise InputError(f"no {what} given", hint=hint)
        return None if words is None else tuple(None if word in also else int(word) for word in words)

    return read


def _as(parse: Callable[[str], object]) -> Callable[..., object]:
    """A callback of click that parses the text of an option, where it was given."""
    return lambda context, option, text: None if text is None else parse(text)


@click.command("bench", short_help="Measure this machine.")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--workload", help=f"What to measure; see gpuwise workloads. [default: {','.join(REFERENCE)}]")
@click.option("--suite", help=f"A list of measurements: {', '.join(suites.names())}.")
@click.option(
    "--resume", is_flag=False, flag_value="", metavar="[last|FILE]",
    help="Go on with an interrupted session: what it measured is kept. [default: -o FILE, else last]",
)  # fmt: skip
@click.option("--mode", "modes", callback=_words(MODES),
              help="train, infer, compute. [default: all that a workload has]")  # fmt: skip
@click.option(
    "--precision", "precisions", callback=_words(PRECISIONS, Precision),
    help="fp64, fp32, tf32, fp16, bf16, fp8, int8. [default: bf16, where missing fp16; fp32 on a CPU]",
)  # fmt: skip
@click.option("--compile", callback=_words(("off", "on"), lambda word: word == "on"),
              help="off, on. [default: on; off for a CPU or --quick]")  # fmt: skip
@click.option("--batch", callback=_numbers("batch", "auto"),
              help="Items per step, e.g. 64 or 1,8,64. [default: auto, search the fastest]")  # fmt: skip
@click.option("--recipe", type=shared.RecipeChoice(),
              help="tuned: the best known. stock: the best known with torch's own kernels alone. script: the "
              "benchmark article's public script. [default: tuned]")  # fmt: skip
@click.option(
    "--switch", multiple=True, metavar="NAME=WORD",
    help="A switch of the recipe, e.g. layout=channels-first; then none that tune has found is used.",
)  # fmt: skip
@click.option("--protocol", type=click.Choice(PROTOCOLS),
              help="adaptive: until the interval is narrow. aime: 50 steps, mean of three runs, start below "
              "50 C. [default: adaptive]")  # fmt: skip
@click.option("--time", "time_s", callback=_as(units.parse_seconds),
              help="Longest timing of one measurement, e.g. 60s. [default: 60s]")  # fmt: skip
@click.option("--target-ci", default="1%", show_default=True, callback=_as(units.parse_share),
              help="Stop when the 95 % interval is within ± this.")  # fmt: skip
@click.option("--with-input", "input", flag_value="host",
              help="A new batch each step, prepared by worker processes; shows whether the input pipeline or "
              "the GPU is the bottleneck.")  # fmt: skip
@click.option("--repeat", type=click.IntRange(1, 20),
              help="Measure each workload in so many fresh processes: the interval then holds what differs "
              "from run to run. [default: 1]")  # fmt: skip
@click.option("--quick", is_flag=True, help="A first picture: eager, default batch, a few seconds each.")
@click.option("--gpu", "index", type=int, help="GPU index, as nvidia-smi counts; a suite keeps to it.")
@click.option("--gpus", callback=_numbers("count of GPUs"),
              help="Counts of GPUs that train together, e.g. 1,2,4; with --device cpu, of processes. "
              "[default: 1]")  # fmt: skip
@click.option("--scaling", type=click.Choice(SCALINGS),
              help="weak: each GPU has the whole batch. strong: they share one. [default: weak]")  # fmt: skip
@click.option("--nodes", type=click.IntRange(1), help="Machines that run this same command.")
@click.option("--rdzv", metavar="HOST:PORT", help="Where they meet: an address of the first.")
@click.option(
    "--node-rank", type=click.IntRange(0),
    help="0 on the machine that --rdzv names, 1 and more elsewhere. [default: found by its address]",
)  # fmt: skip
@click.option("--device", type=click.Choice(DEVICES), help="cuda: NVIDIA, AMD. mps: Apple. xpu: Intel. "
              "[default: cuda where there is a GPU]")  # fmt: skip
@click.option("--framework", type=click.Choice(FRAMEWORKS), default="torch", show_default=True,
              help="What measures; tensorflow and jax have five networks (docs/frameworks.md).")  # fmt: skip
@click.option("--toy", "size", flag_value="toy", hidden=True,
              help="Shrunken models, to test gpuwise itself.")  # fmt: skip
@endpoint_options
@shared.quiet_option
@shared.output_option
@shared.json_option
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Measure this machine: limits first, then each workload, one line each as it is final.

    WORKLOAD is a name of `gpuwise workloads`, a file of yours (./my_model.py), or a network of a
    library: timm:NAME, torchvision:NAME, hf:CONFIG. Every list takes commas. The result is kept after
    every measurement; Ctrl-C keeps what is done.

    With --endpoint a running server is measured instead: tokens and requests a second, times to the first
    token, per token and to the end, at each number of requests at once or a second.

    \b
      gpuwise bench resnet50 --precision bf16,fp16
      gpuwise bench --endpoint http://localhost:8000 --concurrency 1,4,16,64 --slo 'TTFT<=500ms,TPOT<=50ms'
    """
    if options["endpoint"]:
        measure_endpoint(context, options, repeatable())
        return
    refuse_without_endpoint(context)
    output, as_json = options["output"], options["as_json"]
    printer.check_output(output)
    request = BenchRequest(
        plan=_asked(options), suite=options["suite"] is not None, device=options["device"],
        gpu=options["index"], framework=options["framework"], recipe=options["recipe"] or "tuned",
        switches=parse(options["switch"]) if options["switch"] else None, output=output,
        resume=options["resume"], command=repeatable(),
        rendezvous=rendezvous_of(options["nodes"] or 1, options["rdzv"], options["node_rank"]),
    )  # fmt: skip
    answer = bench(request, Screen(quiet=options["quiet"] or as_json).listen)
    done = answer.found
    # Said first: where the output cannot be written, the table is lost and the file is not.
    if done.kept is not None:
        printer.talk(f"kept in {done.kept}; see it again with: gpuwise show {done.kept}")
    if as_json or (done.kept is None and done.result.measurements):
        # Where no disk takes it, the terminal is the last place to keep it.
        printer.out(printer.json_text(answer.to_data()))
    else:
        printer.table(answer.table)
        for beside in (show.counts(done.result), scaling(done.result)):
            if beside is not None:
                printer.table(beside)
    if output is not None and output.suffix != ".json":
        printer.write(output, answer.table, answer.to_data)
    if done.trouble is not None:
        raise done.trouble
    if done.failed:
        names = ", ".join(f"{m.config.label('batch')} ({m.status})" for m in done.failed)
        memory = any(m.status == "oom" for m in done.failed)
        raise RunError(
            f"{len(done.failed)} of {len(done.result.measurements)} measurements failed: {names}",
            hint="gpuwise bench --batch auto finds a batch that fits"
            if memory
            else "gpuwise doctor; the notes above say how each one ended",
        )
    if not done.complete:
        if done.kept is not None:
            printer.talk(f"go on later: the same command with --resume {done.kept}")
        sys.exit(INTERRUPTED)


def _asked(options: dict[str, Any]) -> tuple[Request, ...]:
    """The requests of the options: those of a suite with what else was given, or one of its own.

    An option whose name is a field of Request or RunConfig sets that field; what was not given keeps its
    value.
    """
    # Workloads come from two options, and the device is chosen once for all requests.
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
    """The command line that makes this result again, without its PLACES and the folders of files."""
    given: tuple[str, ...] = click.get_current_context().obj  # what `main.run` was called with
    words = [word for word in given if not word.startswith(tuple(f"{option}=" for option in PLACES))]
    for option in ("-o", *PLACES):
        while option in words:
            at = words.index(option)
            # --resume may stand without a value; the next word is then an option or nothing.
            value = option != "--resume" or not "".join(words[at + 1 : at + 2]).startswith("-")
            del words[at : at + 1 + value]
    return shlex.join(["gpuwise", *(_FOLDERS.sub("", word) for word in words)])


class Screen:
    """Prints what a running session says. Output that cannot be written does not end a measurement."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet, self._ended, self._all = quiet, 0, 0

    def listen(self, update: Update) -> None:
        """Progress on the status line, a final measurement as a line of its own."""
        with printer.lenient():
            if update is None:
                # What is done is delivered now; a second Ctrl-C would only take the exit code from it.
                for sign in printer.ENDING:
                    signal.signal(sign, signal.SIG_IGN)
                printer.status("")
                printer.talk(f"interrupted: {self._ended} of {self._all} measurements had ended")
            elif isinstance(update, Begun):
                self._begin(update)
            elif isinstance(update, Progress) and not self.quiet:
                where = f"[{update.number}/{update.total}] {update.config.label('batch')}"
                printer.status(f"{where}: {update.doing} · about {units.seconds(update.eta_s)} left")
            elif isinstance(update, Measurement):
                self._ended += 1
                if not self.quiet:
                    printer.status("")
                    printer.out(show.line(update))
            elif isinstance(update, Bench):
                self.end(update)

    def _begin(self, begun: Begun) -> None:
        printer.end_as_with_ctrl_c()
        self._all = len(begun.left)
        for config, known in begun.recipes.items():
            printer.talk(used(config, known))
        if kept := len(begun.plan) - len(begun.left):
            printer.talk(f"{kept} of {len(begun.plan)} measurements are kept from {begun.earlier}")
        if begun.skipped:
            printer.talk(f"skipped: not supported on this machine: {', '.join(begun.skipped)}")
        if not self.quiet:
            if begun.name:
                printer.talk(f"{begun.name}:")
            printer.talk(show.headline(begun.result))

    def end(self, done: Bench) -> None:
        """At the end of each session: nothing, since the verb says it with the table."""


@click.command("reproduce", short_help="Re-run a result and check that it reproduces.")
@click.argument("what", metavar="FILE|last")
@shared.index_option
@shared.quiet_option
@shared.output_option
@shared.json_option
def again(what: str, index: int | None, quiet: bool, output: Path | None, as_json: bool) -> None:
    """Run every measurement of a result again, at the batch that it had.

    It is reproduced where the ratio of new to old may be 1 within its interval and 2 %; else exit code 1.
    What differs between the two environments stands before the table.
    """
    printer.check_output(output)
    words = shlex.join(["gpuwise", "reproduce", Path(what).name])
    screen = Screen(quiet=quiet or as_json)
    answer = reproduce(store.load(store.find(what)), screen.listen, gpu=index, name=what, command=words)
    if answer.exit_status == INTERRUPTED:
        sys.exit(INTERRUPTED)
    printer.deliver(answer.table, answer.to_data, as_json=as_json, output=output)
    done, found = answer.found
    failed = [issue.detail for issue in answer.issues if issue.code == "differs"]
    if failed:
        raise GateFailed(f"no: {len(failed)} of {len(found)} differ: {', '.join(failed)}")
    unclear = len(answer.issues)
    but = f", {unclear} of them unclear: see the intervals" if unclear else ""
    printer.talk(f"yes: {len(found)} of {len(found)} reproduced{but}; kept in {done.kept}")
