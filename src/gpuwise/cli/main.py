"""The command group: verbs are imported when called, so that `--help` stays fast.

Exit codes: 0 fine · 1 a gate failed · 2 bad input · 3 this machine cannot · 4 a run failed ·
5 no data · 70 a defect of gpuwise itself · 130 interrupted.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from errno import EBADF, EIO, ENOSPC
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import click

from gpuwise import __version__
from gpuwise.cli import print as printer
from gpuwise.cli.options import option, rows, synonyms
from gpuwise.errors import INTERRUPTED, GpuwiseError, MachineError

# EX_SOFTWARE of sysexits.h.
DEFECT = 70

# Name, where its command is (module:function), what may be typed behind it, help, what other tools call it.
_VERBS = rows("verbs.csv")
VERBS = {row["verb"]: row["help"] for row in _VERBS}


def next_step(error: GpuwiseError, arguments: Sequence[str] = ()) -> str | None:
    """The line after an error: its hint with the options and commands that do what it says. `arguments` are
    the words that were typed: where the same verb is to be called again it keeps the other options."""
    data: dict[str, Any] = error.data
    if error.code == "rate":
        return f"--rate {data['currency']}=USD-FOR-ONE"
    if error.code == "limits":
        ways = []
        for each in data["ways"]:
            # Limits with their values as options; what no single option sets stays in words.
            limits = (
                (f"no --{way.limit}" if way.value == "any" else f"--{way.limit} {shlex.quote(way.value)}")
                if way.limit else way.value
                for way in each
            )  # fmt: skip
            ways.append(f"{' and '.join(limits)} ({each[0].gpus})")
        return f"relax {'one: ' if len(ways) > 1 else ''}{'; or '.join(ways)}"
    if error.code == "compare":
        return f"name another GPU: {shlex.join(['gpuwise', 'compare', *data['names'], data['other']])}"
    quoted = {name: shlex.quote(str(value)) if value else "" for name, value in data.items()}
    # The command or option that helps, with names of the error's data in braces.
    commands = {row["code"]: row["command"] for row in rows("next_steps.csv")}
    command = commands.get(error.code or "", "").format(**quoted).rstrip()
    if error.code in ("predict-with", "train") and arguments[:1] == [command.split()[1]]:
        typed = [i for i, word in enumerate(arguments) if word.startswith("-")]
        for i, end in zip(typed, [*typed[1:], len(arguments)], strict=True):
            if arguments[i].partition("=")[0] not in command.split():
                command += f" {shlex.join(arguments[i:end])}"
    return f"{error.hint}: {command}" if command and error.hint else command or error.hint


# Words between a model, a format and a GPU.
_BESIDE = ("a", "an", "at", "for", "in", "my", "of", "on", "the", "to", "using", "with", "x", "gpu", "gpus")


def _meant(usage: click.UsageError, arguments: list[str]) -> str:
    """The command line that words behind a verb's argument are for: `predict resnet50 h100` names a GPU by an
    option, `fit mixtral 8x7b int4 on 3090` a format, too, `fit llama 3.1 8b` a model in three words. Empty
    for any other error."""
    extra = re.search(r"unexpected extra arguments? \((.*)\)", usage.message)
    if extra is None or usage.ctx is None:
        return ""
    from gpuwise import workloads
    from gpuwise.facts import catalog
    from gpuwise.model.precision import WEIGHTS

    words, rest = list[str](), extra[1]
    while rest:  # as they were typed: a quoted name is one word
        typed = [word for word in arguments if rest == word or rest.startswith(f"{word} ")]
        words.append(max(typed, key=len, default=rest.split()[0]))
        rest = rest[len(words[-1]) :].lstrip()
    named = [name for p in usage.ctx.command.params for name in p.opts]
    gpus, formats, name = list[str](), list[str](), list[str]()
    for word in words:
        size = re.fullmatch(r"\d{1,4}gb", word, re.IGNORECASE)  # of cards
        if "--gpu" in named and (size or catalog.is_name(catalog.counted(word)[0])):
            gpus.append(word)
        elif "--gpu" in named and word.casefold() in WEIGHTS:
            formats.append(word.casefold())
        else:
            name.append(word)
    if {*name} <= {spec.id for spec in workloads.specs()}:
        name = []  # one at a time
    if gpus or formats:
        name = [word for word in name if word.casefold() not in _BESIDE]
    format_option = next((each for each in ("--weights", "--precision") if each in named), "")
    stated = ["--gpu", ",".join(gpus)] * bool(gpus) + [format_option, ",".join(formats)] * bool(formats)
    # The extra words in one piece behind the argument; of one that was quoted click shows only its parts.
    for at in range(2, len(arguments)):
        if arguments[at : (end := at + len(words))] == words:
            spelled = [arguments[at - 1], *words]  # `--gpu rtx 4090 laptop` is one name
            if arguments[at - 2] == "--gpu" and catalog.is_name(" ".join(spelled)):
                name, stated = words, []
            model = " ".join([arguments[at - 1], *name])
            return shlex.join(["gpuwise", *arguments[: at - 1], model, *arguments[end:], *stated])
    kept = [word for word in arguments if word not in words]
    return shlex.join(["gpuwise", *kept, *stated]) if stated and not name else ""


def _unknown(given: str, context: click.Context, arguments: list[str]) -> tuple[click.UsageError, str]:
    """The error for an option that the verb does not take, and the next step: the command line with the one
    that is meant (`--condition new` for `choose --new`), or with the verb that answers."""
    command = context.command
    named, verb = [name for p in command.params for name in p.opts], str(context.info_name)
    word = given.strip("-").casefold()
    meant = [name for name in named if name.startswith(f"{given}-")]
    meant += [name for name in named if given in (f"{name}s", f"{name}es") or name == f"{given}s"]
    if given == "--gpu" and "--device" in named:
        meant = ["--device"]  # names of GPUs are `--gpu`, those of this machine `--device`
    also = dict(getattr(command, "also", {}))
    for row in rows("options.csv"):
        if verb in row["verbs"].split():
            also |= synonyms(row["option"].split()[-1], (row["also"] or "").split())
    values = ((p.opts[-1], word) for p in command.params if word in getattr(p.type, "choices", ()))
    at = next((i for i, text in enumerate(arguments) if text.partition("=")[0] == given), len(arguments))
    before, (text, *after) = arguments[:at], arguments[at:] or [given]
    behind = [text.partition("=")[2], *after] if "=" in text else after
    value = behind[0] if behind and not behind[0].startswith("-") else ""
    found = next((also[part] for part in (word, *word.split("-")) if part in also), None)
    if found is None and not value[:1].isdigit():  # `--memory 24GB` is not `--sort memory`
        found = next(values, None)
    meant += [found[0]] if found else []
    path = context.command_path.removeprefix("gpuwise ")  # `launch slurm`
    if not meant and (other := _another_verb(path, given, value, [*before[1:], *behind[bool(value) :]])):
        return click.UsageError(f"No such option {given!r}.", context), other
    if not meant:
        from difflib import get_close_matches

        meant = get_close_matches(given, named, n=1, cutoff=0.75)
    guess = f" Did you mean {meant[0]!r}?" if meant else ""
    if found and found[1] and meant[:1] == [found[0]]:
        amount, slash, unit = value.partition("/")
        flag = "{" not in found[1]
        said = found[1] if flag else f"{found[1].format(amount)}{slash}{unit}"
        # The word behind a flag that follows the verb is the verb's argument: `fit --lora gpt2`.
        is_value = bool(value) and not (flag and text == given and len(before) == 1)
        behind = [said, *behind[is_value:]] if value or flag else behind
    again = ["gpuwise", *before, *meant[:1], *behind]
    follow = shlex.join(again) if meant else f"{context.command_path} --help"
    return click.UsageError(f"No such option {given!r}.{guess}", context), follow


# What people call the work that GPUs are compared for, and the verbs whose argument is a GPU, or work.
_WORK = ("for", "workload", "model", "work", "task", "use")
_OF_GPUS, _OF_WORK = ("show", "compare", "prices", "gpus"), ("predict", "fit")


def _another_verb(verb: str, given: str, value: str, words: list[str]) -> str:
    """The command line for an option that this verb lacks: its own argument says it (`gpus --memory 24GB`),
    another verb is of that name (`show h100 --price`), or takes it. Empty where none does."""
    from gpuwise.facts import catalog
    from gpuwise.model.gpu import RENTS

    word, with_value = given.strip("-"), [value] if value else []
    gpus = [each for each in words if catalog.is_name(each)]
    if verb in _OF_GPUS and (given == "--gpu" or (gpus and catalog.is_name(value))):
        return shlex.join(["gpuwise", verb, *words, *with_value])
    if verb == "gpus":
        size = f"{value}GB" if value.isdecimal() and {"memory", "vram"} & {*word.split("-")} else value
        if not size.isdecimal() and (asked := next((q for q in (size, word) if q and catalog.select(q)), "")):
            rest = [each for each in words if not each.startswith("--") or each == "--sort"]
            return shlex.join(["gpuwise", verb, *rest, asked])
    if verb == "prices" and word in (*RENTS, "street"):
        return shlex.join(["gpuwise", verb, *words, *with_value, word])
    if verb in _OF_GPUS and value and word in _WORK:
        return shlex.join(["gpuwise", "choose", value, *(["--gpu", ",".join(gpus)] if gpus else [])])
    if given == "--gpu" and value:
        return shlex.join(["gpuwise", "show", value])
    if other := next((v for v in VERBS if v != verb and v in (word, f"{word}s")), ""):
        return shlex.join(["gpuwise", other, *words, *with_value])
    table = [row for row in rows("options.csv") if given in row["option"].split()]
    takers = [v for v in VERBS if any(v in row["verbs"].split() for row in table)]
    if "choose" not in takers and verb in (*_OF_GPUS, *_OF_WORK):  # its options are in a table of its own
        from gpuwise.cli.choose import command as choose

        also = [choose.also[part][0] for part in word.split("-") if part in choose.also]
        if any(given in p.opts for p in choose.params):
            takers.append("choose")
        elif also and not {"predict", "fit", "prices"} & {*takers}:
            given, takers = also[0], [*takers, "choose"]
    if verb in _OF_WORK and "choose" in takers:
        return shlex.join(["gpuwise", "choose", *words, given, *with_value])
    if verb in _OF_GPUS and gpus and "prices" in takers:
        return shlex.join(["gpuwise", "prices", *gpus[:1], given, *with_value])
    if verb in _OF_GPUS and (other := next((v for v in ("predict", "choose", "fit") if v in takers), "")):
        of = ["--gpu", ",".join(gpus)] if gpus else []
        return f"gpuwise {other} WORKLOAD {shlex.join([*of, given, *with_value])}"
    if verb.startswith("launch ") and "bench" in takers:
        return shlex.join(["gpuwise", *verb.split(), "OPTIONS", "--", "BENCH_ARGUMENTS", given, *with_value])
    return f"{' or '.join(takers[:3])} takes it; gpuwise {verb} --help" if takers else ""


class LazyGroup(click.Group):
    """Finds a verb in the module of its name, at the moment it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # In the order in which they are used, not of the alphabet.
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, name = next(row["home"] for row in _VERBS if row["verb"] == cmd_name).split(":")
        command = getattr(import_module(f"gpuwise.cli.{module}"), name)
        assert isinstance(command, click.Command)
        command.name, command.short_help = cmd_name, VERBS[cmd_name]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib  # only for a typo

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            near += [row["verb"] for row in _VERBS if args[0] in row["also"].split()]
            guess = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{guess}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="gpuwise", message="%(prog)s %(version)s")
@option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def gpuwise(ctx: click.Context, debug: bool) -> None:
    """Measure any GPU for deep learning, keep the result, and see where it stands.

    Without a command: what was found on this machine, and what to do next.
    """
    if ctx.invoked_subcommand is None:
        from gpuwise import store
        from gpuwise.facts import catalog
        from gpuwise.measure import telemetry
        from gpuwise.show.hello import screen

        machine = telemetry.machine()
        specs = [telemetry.gpu_of(info) for info in machine.devices]
        printer.out(screen(__version__, machine, specs, len(catalog.all_gpus()), len(store.saved())))


def _abandon(stream: TextIO | None) -> None:
    """Nothing more is written to a stream, nor complained of when Python ends."""
    if stream is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@atexit.register
def _end_messages() -> None:
    """Drop what standard error holds and cannot write: Python would end with 120, a code of its own."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _abandon(sys.stderr)


# Characters of a word of the command line: the longest path has as many, and no list of names is longer.
LONGEST_WORD = 4096


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    for name in ("stdin", "stdout", "stderr"):
        # A stream that was closed before is None; one that refuses to be written to says so where it matters.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w" if name == "stderr" else "r"))  # noqa: SIM115
    written = sys.stdout
    if any(len(word) > LONGEST_WORD for word in arguments):
        printer.error(f"a word has at most {LONGEST_WORD:,} characters", "put what is longer into a file")
        sys.exit(2)
    try:
        # Not standalone: click would end the process with codes of its own. A result keeps the command that
        # makes it again, so the words as they were typed go along.
        gpuwise.main(arguments, prog_name="gpuwise", standalone_mode=False, obj=tuple(arguments))
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except SystemExit:
        # click ends with 1, a failed gate, and another stdout where the reader (head) has what it wanted.
        if sys.stdout is written:
            raise
        _abandon(sys.stdout)
        sys.exit(0)
    except click.ClickException as usage:
        _misused(usage, arguments)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        printer.error("interrupted", None)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) has what it wanted.
        _abandon(sys.stdout)
        sys.exit(0)
    except OSError as failure:
        if not isinstance(failure, printer.OutputError) and "--debug" in arguments:
            raise
        ours = isinstance(failure, printer.OutputError)
        if ours or failure.errno in (None, EBADF, EIO, ENOSPC):  # click writes help and versions itself
            _abandon(sys.stdout)
            said = f"the standard output cannot be written: {failure.strerror or failure}"
            printer.error(said, "another place for the output, or -o FILE")
        else:  # a folder that is gone, no more open files, another's quota
            of = f": {failure.filename}" if failure.filename else ""
            printer.error(f"the system refuses: {failure.strerror}{of}", "gpuwise --debug ...")
        sys.exit(MachineError.exit_code)
    except GpuwiseError as failure:  # what was raised on purpose has its code and its next step
        if "--debug" in arguments:
            raise
        printer.error(str(failure), next_step(failure, arguments))
        sys.exit(failure.exit_code)
    except Exception as defect:  # no user sees a traceback without asking for it
        if "--debug" in arguments:
            raise
        printer.error(f"a defect in gpuwise: {type(defect).__name__}: {defect}", "gpuwise --debug ...")
        sys.exit(DEFECT)


def _misused(usage: click.ClickException, arguments: list[str]) -> None:
    """Say what is wrong with the words, and the next step."""
    follow = ""
    if isinstance(usage, click.NoSuchOption) and usage.ctx:
        usage, follow = _unknown(usage.option_name, usage.ctx, arguments)
    usage.show()
    if isinstance(usage, click.exceptions.NoArgsIsHelpError):
        printer.error("a command is missing", "one of those above")
    elif isinstance(usage, click.MissingParameter) and usage.ctx:
        for row in _VERBS:  # a whole call, where the verb needs something behind it
            if row["verb"] == usage.ctx.info_name and row["example"]:
                given = shlex.join(arguments[1:])  # the options stay
                printer.talk(f"  next: gpuwise {row['verb']} {row['example']} {given}".rstrip())
    elif isinstance(usage, click.UsageError) and (meant := _meant(usage, arguments)):
        printer.talk(f"  next: {meant}")
    elif follow:
        printer.talk(f"  next: {follow}")
    elif isinstance(usage, click.UsageError) and usage.ctx is None:
        verb = arguments[0] if arguments and arguments[0] in VERBS else ""
        printer.talk(f"  next: gpuwise {verb} --help".replace("  --", " --"))
