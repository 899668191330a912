"""A session in the terminal: progress, a line for each final measurement, the table."""

from __future__ import annotations

import signal
from pathlib import Path

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.errors import RunError
from gpuwise.jobs.measuring import Bench, Update
from gpuwise.measure.session import Progress
from gpuwise.model import units
from gpuwise.model.result import Result
from gpuwise.show import results as show
from gpuwise.show.scaling import scaling


class Screen:
    """Prints what a running session says. Output that cannot be written does not end a measurement."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._ended, self._all = quiet, 0, 0

    def begin(self, result: Result, measurements: int) -> None:
        """Say what is measured on. SIGTERM (a batch system's) then ends the session as Ctrl-C does."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self._all = measurements
        if not self._quiet:
            with printer.lenient():
                printer.talk(show.headline(result))

    def listen(self, update: Update) -> None:
        """Progress on the status line, a final measurement as a line of its own."""
        with printer.lenient():
            if update is None:
                # What is done is delivered now; a second Ctrl-C would only take the exit code from it.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                printer.status("")
                printer.talk(f"interrupted: {self._ended} of {self._all} measurements had ended")
            elif isinstance(update, Progress):
                if not self._quiet:
                    where = f"[{update.number}/{update.total}] {update.config.label('batch')}"
                    left = units.seconds(update.eta_s)
                    printer.status(f"{where}: {update.doing} · about {left} left")
            else:
                self._ended += 1
                if not self._quiet:
                    printer.status("")
                    printer.out(show.line(update))


def finish(done: Bench, output: Path | None, *, as_json: bool) -> None:
    """The table, where the file is, and an error where something failed."""
    result, kept = done.result, done.kept
    # Said first: where the output cannot be written, the table is lost and the file is not.
    if kept is not None:
        printer.talk(f"kept in {kept}; see it again with: gpuwise show {kept}")
    if as_json or (kept is None and result.measurements):
        # Where no disk takes it, the terminal is the last place to keep it.
        printer.out(printer.json_text(store.encode(result)))
    else:
        printer.table(show.measurements(result))
        for beside in (show.counts(result), scaling(result)):
            if beside is not None:
                printer.table(beside)
    if output is not None and output.suffix != ".json":
        printer.write(output, show.measurements(result), lambda: store.encode(result))
    if done.trouble is not None:
        raise done.trouble
    failed = [m for m in result.measurements if m.status in ("oom", "failed")]
    if failed:
        names = ", ".join(f"{m.config.label('batch')} ({m.status})" for m in failed)
        memory = any(m.status == "oom" for m in failed)
        raise RunError(
            f"{len(failed)} of {len(result.measurements)} measurements failed: {names}",
            hint="gpuwise bench --batch auto finds a batch that fits"
            if memory
            else "gpuwise doctor; the notes above say how each one ended",
        )
