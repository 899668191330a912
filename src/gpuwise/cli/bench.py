"""`gpuwise bench`, of this machine or of a running server, and `gpuwise reproduce`."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.options import (
    DeviceChoice,
    Devices,
    drawn_output,
    one_device,
    options,
    output_options,
    rows,
    typed,
)
from gpuwise.errors import INTERRUPTED, GateFailed, InputError, RunError
from gpuwise.jobs.measuring import REFERENCE, Begun, Bench, BenchRequest, bench, reproduce
from gpuwise.measure.request import Request, rendezvous_of, suite, suite_names
from gpuwise.model import units
from gpuwise.model.precision import OTHER_NAMES, PRECISIONS, WEIGHTS, Precision
from gpuwise.model.question import DEVICES, FRAMEWORKS, MODES, PROTOCOLS, SCALINGS, RunConfig, parse
from gpuwise.model.result import Measurement, Trial
from gpuwise.show import results as show
from gpuwise.show.table import Answer, Table
from gpuwise.show.tuning import used

# Enough to see that a shrunken workload can be timed; its figures mean nothing.
TOY_S = 0.5
# Characters of the progress bar; without a terminal, what takes so many seconds gets a line.
BAR, LONG_S = 10, 20.0
# What says where this run was written, resumed from or met: another run of the same command has its own.
PLACES = ("--output", "--resume", "--rdzv", "--node-rank")
_FOLDERS = re.compile(r"[^,=:]*/(?=[^/,]+\.(?:py|json)\b)")
# Options of a running server; and those of `bench` that mean the same for one.
OF_SERVERS = {row["option"] for row in rows("options.csv") if row["verbs"] == "server"}
ALSO_OF_SERVERS = {"--time", "--precision", "--output", "-o", "--json", "--quiet", "-q"}


def _words(allowed: tuple[str, ...], make: Callable[[str], object] = str) -> Callable[..., object]:
    """A callback of click: a list of known words, where the option was given."""

    def read(context: click.Context, option: click.Parameter, text: str | None) -> object:
        chosen = None if text is None else units.parse_list(text.casefold())
        what, hint = option.opts[0].lstrip("-"), f"choose from {','.join(allowed)}"
        for word in chosen or ():
            if word not in allowed:
                near = OTHER_NAMES.get(word) if make is Precision else None
                if make is Precision and word in WEIGHTS:  # of GGUF, and QLoRA's base
                    near = "an engine does: --endpoint URL, or bench served:MODEL --engine llama.cpp"
                    raise InputError(f"bench does not measure {word} weights by itself", hint=near)
                raise InputError(f"unknown {what} {word!r}", hint=near or hint)
        if chosen == ():
            raise InputError(f"no {what} given", hint=hint)
        return None if chosen is None else tuple(map(make, chosen))

    return read


@click.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@options(
    "bench server", REFERENCE=",".join(REFERENCE), SUITES=suite_names(), PRECISIONS=PRECISIONS,
    modes=_words(MODES), precisions=_words(PRECISIONS, Precision), protocol=PROTOCOLS,
    compile=_words(("off", "on"), lambda word: word == "on"), scaling=SCALINGS, device=DeviceChoice(DEVICES),
    framework=FRAMEWORKS,
)  # fmt: skip
@drawn_output
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Measure this machine: limits first, then each workload, one line each as it is final.

    WORKLOAD is a name of `gpuwise workloads`, a file of yours (./my_model.py), or a network of a
    library: timm:NAME, torchvision:NAME, hf:CONFIG. Every list takes commas. The result is kept after
    every measurement; Ctrl-C keeps what is done.

    With --endpoint a running server is measured instead: tokens and requests a second, times to the first
    token, per token and to the end, at each number of requests at once or a second. With --engine an engine
    is started on random weights of a model first, and ended.

    \b
      gpuwise bench resnet50 --precision bf16,fp16
      gpuwise bench llama-3.1-8b --mode infer --precision int4 --batch 1 --context 4k
      gpuwise bench llama-3.1-8b --mode train --method qlora --checkpointing
      gpuwise bench served:llama-3.1-8b --engine vllm --precision fp8 --concurrency 1,16,64
      gpuwise bench --endpoint http://localhost:8000 --concurrency 1,4,16,64 --slo 'TTFT<=500ms,TPOT<=50ms'
    """
    to: printer.Output = options["to"]
    quiet = options["quiet"] or to.as_json
    if of_server(context):
        _measure_endpoint(options, quiet=quiet)
        return
    printer.check_output(to.file)
    kind, index = one_device(options["device"])
    request = BenchRequest(
        plan=asked(options),
        suite=options["suite"] is not None,
        device=kind,
        index=index,
        framework=options["framework"],
        recipe=options["recipe"] or "tuned",
        switches=parse(options["switch"]) if options["switch"] else None,
        output=to.file,
        resume=options["resume"],
        force=options["force"],
        command=repeatable(),
        rendezvous=rendezvous_of(options["nodes"] or 1, options["rdzv"], options["node_rank"]),
    )
    answer = bench(request, Screen(quiet=quiet).listen)
    done = answer.value
    scaled = None
    if any(m.config.gpus > 1 for m in done.result.measurements):
        from gpuwise.show.scaling import scaling

        scaled = scaling(done.result)
    _show(answer, options, (show.counts(done.result), scaled))
    if not done.complete:
        if done.kept is not None:
            printer.talk(f"go on later: the same command with --resume {done.kept}")
        sys.exit(INTERRUPTED)
    if done.failed:
        names = ", ".join(f"{m.config.label('batch')} ({m.status})" for m in done.failed)
        hint = "gpuwise doctor; the notes above say how each one ended"
        if any(m.status == "oom" for m in done.failed):
            hint = "gpuwise bench --batch auto finds a batch that fits"
        failed = f"{len(done.failed)} of {len(done.result.measurements)} measurements failed: {names}"
        raise RunError(failed, hint=hint)


def of_server(context: click.Context) -> bool:
    """Whether a server is measured, and not this machine. Raises InputError for options of the other."""
    options = context.params
    served = [name for name in options["workloads"] if name.startswith("served:")]
    # An empty address is of a variable that was not set: it does not ask for this machine.
    if options["endpoint"] is not None or options["engine"] or served:
        if (options["endpoint"] is not None) == bool(options["engine"]):
            hint = "--engine vllm starts one on served:NAME; --endpoint URL measures one that runs"
            raise InputError("a server is either started or given by its address", hint=hint)
        if options["engine"] and (len(served) != 1 or len(options["workloads"]) > 1 or options["model"]):
            problem = "an engine is started on one model"
            raise InputError(problem, hint="gpuwise bench served:llama-3.1-8b --engine")
        known = OF_SERVERS | ALSO_OF_SERVERS | ({"WORKLOAD", "--gpus"} if options["engine"] else set())
        for word in (*(["WORKLOAD"] if options["workloads"] else []), *typed(context)):
            if word not in known:
                raise InputError(f"{word} means nothing for a server", hint=f"leave out {word}")
        return True
    if flag := next((flag for flag in typed(context) if flag in OF_SERVERS), None):
        raise InputError(f"{flag} is for a running server", hint="add --endpoint URL")
    return False


def _show(answer: Answer[Bench], options: Mapping[str, Any], beside: Sequence[Table | None]) -> None:
    """A session as tables or JSON, and as a file; raises what kept its own file from being written."""
    done, to = answer.value, options["to"]
    # Said first: where the output cannot be written, the table is lost and the file is not.
    if done.kept is not None:
        printer.talk(f"kept in {done.kept}; see it again with: gpuwise show {done.kept}")
    if to.as_json or (done.kept is None and done.result.measurements):
        # Where no disk takes it, the terminal is the last place to keep it.
        printer.out(printer.json_text(answer.to_data()))
    else:
        for table in (answer.table, *beside):
            if table is not None:
                printer.table(table)
    if to.file is not None and to.file.suffix != ".json":
        to.answer(answer)
    if done.trouble is not None:
        raise done.trouble


def _measure_endpoint(options: Mapping[str, Any], *, quiet: bool) -> None:
    """Measure the running server of the options, or the engine that they start."""
    from gpuwise.jobs.serving import EndpointRequest, ServeRequest, measure_endpoint, measure_served
    from gpuwise.show import serving

    class Levels(Screen):
        """Levels of load, each with what its users would see."""

        def doing(self, update: Any) -> str:
            return f"{update[0].offered}: {update[1]}"

        def line(self, ended: Any) -> str:
            (level,) = serving.levels([ended])
            cells = {name: cell for name, cell in serving.row(level).items() if cell}
            others = (f"{name} {cells[name]}" for name in serving.BRIEF[1:] if name in cells)
            return "  ".join((f"{cells['load']:<14}", *others))

    words = options["concurrency"] or ()
    concurrency = tuple(units.parse_count(word, "a number of requests") for word in words)
    rates = tuple(units.parse_positive(word, "a rate") for word in options["rate"] or ())
    precisions = options["precisions"] or ()
    if len(precisions) > 1:
        raise InputError("a server computes in one precision", hint="name the one it was started with")
    as_typed = ("prompt", "answer", "requests", "timeout_s", "seed", "follow_redirects")
    request = EndpointRequest(
        url=options["endpoint"] or "",
        model=options["model"] or "",
        concurrency=concurrency or (() if rates else (1, 4, 16)),
        rate=rates,
        slo=tuple(map(units.parse_latency, options["slo"] or ())),
        time_s=options["time_s"] or 30.0,
        precision=precisions[0] if precisions else None,
        key_variable=options["key_variable"] or "",
        output=options["to"].file,
        command=repeatable(),
        **{name: options[name] for name in as_typed},
    )
    printer.end_as_with_ctrl_c()
    listen = Levels(quiet=quiet, what="levels").listen
    if options["engine"]:
        printer.talk(f"starting {options['engine']}: filling weights and compiling take minutes")
        (named,), gpus = options["workloads"], options["gpus"] or (1,)
        model = named.removeprefix("served:")
        started = ServeRequest(engine=options["engine"], model=model, load=request, gpus=gpus[0] or 1)
        answer = measure_served(started, listen)
    else:
        answer = measure_endpoint(request, listen)
    done = answer.value
    _show(answer, options, ())
    if not options["to"].as_json and done.kept is not None:
        for line in serving.curve(done.result):
            printer.out(line)
    if not done.complete:
        sys.exit(INTERRUPTED)
    if done.failed:
        failed = ", ".join(m.config.load.offered for m in done.failed if m.config.load)
        kinds = {each.kind for m in done.failed if m.serving for each in m.serving.failures}
        full = not kinds or kinds & {"timeout", "dropped", "http-429", "http-503"}
        raise RunError(
            f"{len(done.failed)} of {len(done.result.measurements)} levels had no answer: {failed}: "
            f"{done.failed[0].error}",
            hint="a lower load, or a longer --timeout" if full else "see the server's own log",
        )


def asked(options: dict[str, Any]) -> tuple[Request, ...]:
    """The requests of the options: those of a suite with what else was given, or one of its own. An option
    whose name is a field of Request or RunConfig sets that field; what was not given keeps its value."""
    # Workloads come from two options, and the device is chosen once for all requests.
    names = {each.name for each in (*fields(Request), *fields(RunConfig))} - {"workloads", "device"}
    given = {name: value for name, value in options.items() if name in names and value is not None}
    if options["quick"]:
        given = {"time_s": 0.0, "compile": (), "batch": (None,), **given}
    if options["optimiser"] != "adamw":
        given["methods"] = tuple(
            f"{each}-{options['optimiser']}" for each in given.get("methods") or ("full",)
        )
    if options["size"] == "toy":
        given = {"time_s": TOY_S, "batch": (None,), **given}
    words = (*options["workloads"], *((options["workload"],) if options["workload"] is not None else ()))
    named = units.parse_list(",".join(words))
    if options["suite"] is not None:
        if named:
            raise InputError("a suite names its workloads", hint=f"gpuwise bench {' '.join(named)}")
        return tuple(request.given(**given) for request in suite(options["suite"]))
    if words and not named:
        raise InputError("no workload given", hint="gpuwise workloads")
    return (Request(workloads=named or REFERENCE).given(**{"time_s": 0.0, **given}),)


def repeatable() -> str:
    """The command line that makes this result again, without its PLACES and the folders of files."""
    given: tuple[str, ...] = click.get_current_context().obj  # what `main.run` was called with
    places = (*(f"{option}=" for option in PLACES), "--force")
    words = [word for word in given if not word.startswith(places)]
    for option in ("-o", *PLACES):
        while option in words:
            at = words.index(option)
            # --resume may stand without a value; the next word is then an option or nothing.
            value = option != "--resume" or not "".join(words[at + 1 : at + 2]).startswith("-")
            del words[at : at + 1 + value]
    return shlex.join(["gpuwise", *(_FOLDERS.sub("", word) for word in words)])


class Screen:
    """Prints what a running session says. Output that cannot be written does not end a measurement."""

    def __init__(self, *, quiet: bool, what: str = "measurements") -> None:
        self.quiet, self.what, self.ended, self.planned, self.said_s = quiet, what, 0, 0, 0.0

    def listen(self, update: Any) -> None:
        """Progress on the status line, what is final as a line of its own; None: the user interrupts."""
        with suppress(OSError, ValueError):  # a full log or a lost terminal
            if update is None:
                # What is done is delivered now; a second Ctrl-C would only take the exit code from it.
                for sign in printer.ENDING:
                    signal.signal(sign, signal.SIG_IGN)
                printer.status("")
                planned = f" of {self.planned}" if self.planned else ""
                printer.talk(f"interrupted: {self.ended}{planned} {self.what} had ended")
            elif isinstance(update, Begun):
                printer.end_as_with_ctrl_c()
                self.planned += len(update.left)  # Cards of one host run sessions side by side
                for config, recipes in update.recipes.items():
                    printer.talk(used(config, recipes))
                if update.earlier is not None:
                    whole = len(update.plan)
                    kept = f"{whole - len(update.left)} of {whole} measurements are kept"
                    more = sum(m.config not in update.plan for m in update.result.measurements)
                    there = f"; {more} more stand there" if more else ""
                    printer.talk(f"{kept} from {update.earlier}{there}")
                if update.skipped:
                    printer.talk(f"skipped: not supported on this machine: {', '.join(update.skipped)}")
                if not self.quiet:
                    if update.name:
                        printer.talk(f"{update.name}:")
                    printer.talk(show.headline(update.result))
            elif isinstance(update, Bench):
                self.end(update)
            elif isinstance(update, Measurement | Trial):
                self.ended += 1
                if not self.quiet:
                    printer.status("")
                    printer.out(self.line(update))
            elif not self.quiet:
                self.say(update)

    def say(self, update: Any) -> None:
        """How far it is: on the status line, else in a line of its own where something takes long."""
        printer.status(self.doing(update))
        since_s = getattr(update, "since_s", 0.0)
        self.said_s = min(self.said_s, since_s)  # something else goes on: count anew
        if since_s - self.said_s >= LONG_S and not printer.has_status():
            self.said_s = since_s
            printer.talk(self.doing(update))

    def doing(self, update: Any) -> str:
        """How far it is, as one line."""
        share = update.spent_s / max(update.spent_s + update.eta_s, 1e-9)
        bar = "#" * round(BAR * share) + "." * (BAR - round(BAR * share))
        left = max(1, round(update.eta_s))
        # What a narrow terminal cuts off stands last.
        parts = [f"about {units.seconds(left) if left >= 60 else f'{left} s'} left"]
        if (read := update.sample) is not None:
            values = (
                (read.power_w, "W", 1.0),
                (read.sm_clock_hz, "MHz", 1e-6),
                (read.temperature_c, "°C", 1.0),
            )
            parts.append(" ".join(f"{scale * value:,.0f} {unit}" for value, unit, scale in values if value))
        parts.append(f"{update.doing} for {update.since_s:.0f} s" if update.since_s >= 3 else update.doing)
        where = f"[{update.number}/{update.total}] {update.config.label('batch')}"
        return f"{where} {bar} {' · '.join(part for part in parts if part)}"

    def line(self, ended: Any) -> str:
        """A final measurement as one line."""
        return show.line(ended)

    def end(self, done: Bench) -> None:
        """At the end of each session: nothing, since the verb says it with the table."""


@click.command()
@click.argument("what", metavar="FILE|last")
@options("reproduce", device=DeviceChoice())
@output_options
def again(what: str, device: Devices | None, quiet: bool, to: printer.Output) -> None:
    """Run every measurement of a result again, at the batch that it had.

    It is reproduced where the ratio of new to old may be 1 within its interval and 2 %; else exit code 1.
    What differs between the two environments stands before the table.
    """
    words = shlex.join(["gpuwise", "reproduce", Path(what).name])
    screen = Screen(quiet=quiet or to.as_json)
    answer = reproduce(
        store.load(store.find(what)), screen.listen, index=one_device(device)[1], name=what, command=words
    )
    if answer.exit_status == INTERRUPTED:
        sys.exit(INTERRUPTED)
    to.answer(answer)
    done, pairs = answer.value
    if failed := [issue.detail for issue in answer.issues if issue.code == "differs"]:
        raise GateFailed(f"no: {len(failed)} of {len(pairs)} differ: {', '.join(failed)}")
    unclear = len(answer.issues)
    found = f"{len(pairs) - unclear} of {len(pairs)} reproduced"
    told = f"cannot tell: {found}, {unclear} unclear: see the intervals" if unclear else f"yes: {found}"
    printer.talk(f"{told}; kept in {done.kept}")
