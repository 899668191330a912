"""The command group: verbs are imported when called, so that `--help` stays fast.

Exit codes: 0 fine · 1 a gate failed · 2 bad input · 3 this machine cannot · 4 a run failed ·
5 no data · 70 a defect of gpuwise itself · 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from errno import EBADF, EIO, ENOSPC
from importlib import import_module
from pathlib import Path

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
    "accept": "Pass or fail: is every GPU as good as it should be?",
    "launch": "Measure on many machines: Slurm, Kubernetes.",
    "merge": "One result of the files of several machines.",
    "show": "Show a result file, or what is known of a GPU.",
    "compare": "Compare result files, or two GPUs by name.",
    "report": "Results as one page: charts, tables, cautions, no network.",
    "serve": "Everything as pages: in the browser, or as files.",
    "gpus": "List the GPUs of the catalog.",
    "results": "Speeds of a workload: measured here and published.",
    "choose": "Which GPU to buy or rent, and why.",
    "prices": "What a GPU costs to rent or buy, and when that was seen.",
    "audit": "Find wrong figures in articles, tables and results.",
    "predict": "Speed, memory and watts on GPUs that are not here.",
    "calibrate": "Time operators on this GPU, so that predictions rest on them.",
    "fit": "Does a language model fit on a GPU, and how fast?",
    "validate": "Score the time model on measured data, held out.",
    "workloads": "List what can be measured.",
    "doctor": "Check this machine; say how to fix what is wrong.",
}
# Verbs that share the module of another: the others are `command` in the module of their name.
HOMES = {
    "reproduce": "bench:again",
    "merge": "launch:merge",
    "gpus": "lists:gpus",
    "workloads": "lists:workloads",
    "doctor": "accept:doctor",
}


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

            near = difflib.get_close_matches(args[0], VERBS, n=1)
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
        from gpuwise.cli.advice import next_step

        printer.error(str(failure), next_step(failure))
        sys.exit(failure.exit_code)
    except Exception as defect:  # no user sees a traceback without asking for it
        if "--debug" in arguments:
            raise
        printer.error(f"a defect in gpuwise: {type(defect).__name__}: {defect}", "gpuwise --debug ...")
        sys.exit(DEFECT)
