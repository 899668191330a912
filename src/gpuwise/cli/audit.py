"""`gpuwise audit`: find wrong figures in articles, tables and results."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gpuwise.cli import print as printer
from gpuwise.cli.options import options, output_options
from gpuwise.errors import GateFailed, InputError, NoDataError
from gpuwise.jobs.auditing import AuditRequest, audit
from gpuwise.judge.audit.read import LARGEST
from gpuwise.show import audits as show


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE...")
@options("audit")
@output_options
def command(files: tuple[Path, ...], every: bool, to: printer.Output) -> None:
    """Judge every figure in FILEs: Markdown, HTML, text, CSV, a gpuwise result, or a directory of such
    texts; standard input is read where there is none.

    Specifications are compared with the catalog, hourly prices with dated offers, throughput with physics
    and logic. Exits with 1 where something is contradicted, with 5 where a file holds no claim that could
    be judged.
    """
    if not files and sys.stdin.isatty():
        raise InputError("no file given, and nothing is piped in", hint="gpuwise audit article.md")
    paths = files or (Path("-"),)
    # One after the other, so that the files stay in their order where one of them is the standard input.
    answers = []
    for path in paths:
        piped, text = str(path) == "-", None
        if piped:
            text = sys.stdin.read(LARGEST + 1)  # a device has no end
            if len(text) > LARGEST or "\0" in text:
                problem = f"the standard input is not text, or longer than {LARGEST:,} characters"
                raise InputError(problem, hint="give a part of it")
        answers.append(audit(AuditRequest(files=() if piped else (path,), text=text, name="standard input")))
    audits = [one for answer in answers for one in answer.value]
    to.table(show.findings(audits, every=every), lambda: show.document(audits))
    named = [str(path) for path in files if str(path) != "-"]
    # What was piped in is gone.
    again = f"gpuwise audit --all {' '.join(named)}" if named else "... | gpuwise audit --all -"
    more = None if every else again
    if wrong := sum(len(answer.issues) for answer in answers):
        raise GateFailed(f"{wrong} contradicted", hint=more)
    failed = [str(path) for path, answer in zip(paths, answers, strict=True) if answer.exit_status]
    silent = ["standard input" if path == "-" else path for path in failed]
    if silent:
        notes = [note for one in audits for note in one.notes]
        if notes and all("not read" in note for note in notes):
            more = "break the long lines, or save the page as text"
        raise NoDataError(f"no claim that could be judged in {', '.join(silent)}", hint=more)
