"""The command group: verbs are imported when called, so that `--help` stays fast.

Exit codes: 0 fine · 1 a gate failed · 2 bad input · 3 this machine cannot · 4 a run failed ·
5 no data · 70 a defect of gpuwise itself · 130 interrupted.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from errno import EBADF, EIO, ENOSPC
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from gpuwise import __version__
from gpuwise.cli import print as printer
from gpuwise.errors import INTERRUPTED, GpuwiseError, MachineError

# EX_SOFTWARE of sysexits.h.
DEFECT = 70

VERBS = {
    "bench": "Measure this machine.",
    "tune": "Find the fastest recipe of a workload on this machine.",
    "reproduce": "Re-run a result and check that it reproduces.",
    "watch": "Watts, clocks, heat and memory of the GPUs here, as they change.",
    "accept": "Pass or fail: is every GPU as good as it should be?",
    "launch": "Measure on many machines: Slurm, Kubernetes.",
    "merge": "One result of the files of several machines.",
    "show": "Show a result file, or what is known of a GPU.",
    "compare": "Compare result files, or two GPUs by name.",
    "report": "Results as one page: charts, tables, cautions, no network.",
    "serve": "Everything as pages: in the browser, or as files.",
    "push": "Send results to a team's server.",
    "token": "Who may read and push a team's results.",
    "team": "A team's database as files; signatures of results.",
    "gpus": "List the GPUs of the catalog.",
    "results": "Speeds of a workload: measured here and published.",
    "choose": "Which GPU to buy or rent, and why.",
    "prices": "What a GPU costs to rent or buy, and when that was seen.",
    "audit": "Find wrong figures in articles, tables and results.",
    "predict": "Speed, memory and watts on GPUs that are not here.",
    "calibrate": "Time operators on this GPU, so that predictions use them.",
    "fit": "Does a language model fit on a GPU, and how fast?",
    "validate": "Score the time model on measured data, held out.",
    "workloads": "List what can be measured.",
    "doctor": "Check this machine; say how to fix what is wrong.",
}
# Verbs that share the module of another: the others are `command` in the module of their name.
HOMES = {
    "reproduce": "bench:again",
    "merge": "launch:merge",
    "compare": "show:compared",
    "gpus": "lists:gpus",
    "workloads": "lists:workloads",
    "report": "show:report",
    "results": "show:results",
    "push": "team:push",
    "token": "team:token",
    "team": "team:team",
    "calibrate": "predict:calibrate",
    "fit": "predict:fit",
    "validate": "predict:validate",
    "doctor": "accept:doctor",
}
# Names that other tools use.
SYNONYMS = {
    "list": ["gpus"],
    "ls": ["gpus"],
    "test": ["bench"],
    "run": ["bench"],
    "benchmarks": ["workloads"],
}
# After a verb that was called without what it needs.
EXAMPLES = {
    "show": "rtx-4090", "compare": "rtx-4090 rtx-3090", "predict": "resnet50", "fit": "llama-3.1-8b",
    "tune": "resnet50", "reproduce": "last", "merge": "node0.json node1.json",
    "validate": "--set eager --data FILE.csv",
}  # fmt: skip
# Code of an error -> the command or option that helps, behind the error's own words. Names in braces are of
# the error's data.
_COMMANDS = {
    "accept": "gpuwise doctor, or gpuwise accept --device cpu",
    "against": "gpuwise accept --against FILE",
    "article": "gpuwise compare rtx-a5000 rtx-a4000 --article",
    "bench": "gpuwise bench",
    "bench-quick": "gpuwise bench --quick",
    "bundle": "gpuwise accept -o bundle.zip",
    "catalog": "gpuwise gpus",
    "choose-again": "gpuwise choose WORKLOAD ... -o FILE.json",
    "cpu": "--device cpu",
    "doctor": "gpuwise doctor",
    "dry-run": "--dry-run",
    "lost": "--claim NAME or --push URL",
    "fetch-prices": "gpuwise prices update, --prices FILE",
    "format": "gpuwise results --import {file} --format NAME",
    "machines": "--nodes N",
    "key": "--key-env NAME",
    "load": "--concurrency 1,4,16 or --rate 2,4",
    "model": "--model NAME",
    "modes": "gpuwise workloads",
    "no-price": "--prices FILE adds your own; speeds without prices: gpuwise predict",
    "one-gpu": "--gpus 1",
    "other-card": "--gpu {gpu}, or --from FILE",
    "old-price": "--newer-than {days}d",
    "output": "another file with -o FILE.json, or set GPUWISE_HOME",
    "port": "--port 0",
    "predict-with": "gpuwise predict {workload} --{option} {value}",
    "prices": "gpuwise prices {gpu}",
    "pytest": "pytest --gpu-bench-compare FILE",
    "redirect": "--follow-redirects",
    "rendezvous": "--rdzv HOST:PORT",
    "results": "gpuwise results",
    "show": "gpuwise show last, or gpuwise bench --quick",
    "show-gpu": "gpuwise show {gpu}",
    "source": "gpuwise results --source {source}",
    "two-gpus": "--gpus 2",
    "upgrade": "pip install -U gpuwise",
    "workload": "gpuwise workloads",
}


def next_step(error: GpuwiseError) -> str | None:
    """What to type after an error: its hint with the options and commands that do what it says."""
    data: dict[str, Any] = error.data
    if error.code == "rate":
        return f"--rate {data['currency']}=USD-FOR-ONE"
    if error.code == "limits":
        ways = (
            " and ".join(f"{_option(way.limit, way.value)} ({way.gpus})" for way in each)
            for each in data["ways"]
        )
        return f"relax {'one: ' if len(data['ways']) > 1 else ''}{'; or '.join(ways)}"
    if error.code == "compare":
        return f"name another GPU: {shlex.join(['gpuwise', 'compare', *data['names'], data['other']])}"
    quoted = {name: shlex.quote(str(value)) if value else "" for name, value in data.items()}
    command = _COMMANDS.get(error.code, "").format(**quoted).rstrip()
    return f"{error.hint}: {command}" if command and error.hint else command or error.hint


def _option(limit: str, value: str) -> str:
    """A limit with its value as an option; what no single option sets stays in words."""
    if not limit:
        return value
    return f"no --{limit}" if value == "any" else f"--{limit} {shlex.quote(value)}"


class LazyGroup(click.Group):
    """Finds a verb in the module of its name, at the moment it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # In the order in which they are used, not of the alphabet.
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, name = HOMES.get(cmd_name, f"{cmd_name}:command").split(":")
        command = getattr(import_module(f"gpuwise.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib  # only for a typo

            near = difflib.get_close_matches(args[0], VERBS, n=1) or SYNONYMS.get(args[0], [])
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
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
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
        known = [catalog.resolve_device(info.name, info.memory_bytes) for info in machine.devices]
        printer.out(screen(__version__, machine, known, len(catalog.all_gpus()), len(store.saved())))


def _abandon_output() -> None:
    """Nothing more is written to the standard output, nor complained of when Python ends."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
        _abandon_output()
        sys.exit(0)
    except click.ClickException as usage:
        usage.show()
        if isinstance(usage, click.exceptions.NoArgsIsHelpError):
            printer.error("a command is missing", "one of those above")
        elif isinstance(usage, click.MissingParameter) and usage.ctx and usage.ctx.info_name in EXAMPLES:
            printer.talk(f"  next: gpuwise {usage.ctx.info_name} {EXAMPLES[usage.ctx.info_name]}")
        elif isinstance(usage, click.UsageError) and usage.ctx is None:
            verb = arguments[0] if arguments and arguments[0] in VERBS else ""
            printer.talk(f"  next: gpuwise {verb} --help".replace("  --", " --"))
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        printer.error("interrupted", None)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) has what it wanted.
        _abandon_output()
        sys.exit(0)
    except printer.OutputError as failure:
        _abandon_output()
        printer.error(str(failure), "another place for the output, or -o FILE")
        sys.exit(MachineError.exit_code)
    except OSError as failure:  # click writes help and versions itself
        if "--debug" in arguments or failure.errno not in (None, EBADF, EIO, ENOSPC):
            raise
        _abandon_output()
        printer.error(f"the output cannot be written: {failure.strerror or failure}", "another place for it")
        sys.exit(MachineError.exit_code)
    except GpuwiseError as failure:  # what was raised on purpose has its code and its next step
        if "--debug" in arguments:
            raise
        printer.error(str(failure), next_step(failure))
        sys.exit(failure.exit_code)
    except Exception as defect:  # no user sees a traceback without asking for it
        if "--debug" in arguments:
            raise
        printer.error(f"a defect in gpuwise: {type(defect).__name__}: {defect}", "gpuwise --debug ...")
        sys.exit(DEFECT)
