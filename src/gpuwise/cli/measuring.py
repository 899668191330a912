"""Run a prepared session in the terminal: progress, a line for each final measurement, the table."""

from __future__ import annotations

import signal
from pathlib import Path

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.errors import RunError
from gpuwise.measure.prepare import ResultWriter
from gpuwise.measure.session import Progress, Session
from gpuwise.model import units
from gpuwise.model.result import Measurement, Result
from gpuwise.model.run import RunConfig
from gpuwise.show import results as report
from gpuwise.show.scaling import scaling


def measure(session: Session, plan: tuple[RunConfig, ...], *, quiet: bool) -> bool:
    """Print progress and each final line; whether all were measured.

    Ctrl-C and SIGTERM (a batch system's) end the session, not what it has measured.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not quiet:
        printer.talk(report.headline(session.result))
    ended = 0
    try:
        for update in session.measure_all(plan):
            ended += isinstance(update, Measurement)
            if quiet:
                continue
            if isinstance(update, Progress):
                printer.status(_progress(update))
            else:
                printer.status("")
                printer.out(report.line(update))
    except KeyboardInterrupt:
        # What is done is delivered now; a second Ctrl-C would only take the exit code from it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        printer.status("")
        printer.talk(f"interrupted: {ended} of {len(plan)} measurements had ended")
        return False
    return True


def _progress(update: Progress) -> str:
    where = f"[{update.number}/{update.total}] {update.config.label('batch')}"
    return f"{where}: {update.doing} · about {units.seconds(update.eta_s)} left"


def finish(result: Result, writer: ResultWriter, output: Path | None, *, as_json: bool) -> None:
    """The table, where the file is, and an error where something failed."""
    if as_json or (writer.kept is None and result.measurements):
        # Where no disk takes it, the terminal is the last place to keep it.
        printer.out(printer.json_text(store.encode(result)))
    else:
        printer.table(report.measurements(result))
        for beside in (report.counts(result), scaling(result)):
            if beside is not None:
                printer.table(beside)
    if output is not None and output.suffix != ".json":
        printer.write(output, report.measurements(result), lambda: store.encode(result))
    if writer.kept is not None:
        printer.talk(f"kept in {writer.kept}; see it again with: gpuwise show {writer.kept}")
    if writer.trouble is not None:
        raise writer.trouble
    failed = [m for m in result.measurements if m.status in ("oom", "failed")]
    if failed:
        names = ", ".join(f"{m.config.label('batch')} ({m.status})" for m in failed)
        raise RunError(
            f"{len(failed)} of {len(result.measurements)} measurements failed: {names}", hint=_remedy(failed)
        )


def _remedy(failed: list[Measurement]) -> str:
    if any(m.status == "oom" for m in failed):
        return "gpuwise bench --batch auto finds a batch that fits"
    return "gpuwise doctor; the notes above say how each one ended"
