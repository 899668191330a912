"""The only writer to the terminal: results to standard output, talk to standard error.

rich is imported when a table is printed for a person, never for --json, CSV or Markdown.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gpuwise.errors import InputError
from gpuwise.report.table import Table, comma_separated, markdown

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE; the suffix picks the format: .json, .csv or .md.",
)
SUFFIXES = (".json", ".csv", ".md")


def out(text: str) -> None:
    """A line of result."""
    print(text, flush=True)


def talk(text: str) -> None:
    """A line to the person, beside the result."""
    print(text, file=sys.stderr, flush=True)


def error(message: str, hint: str | None) -> None:
    """What failed and why, and the next step."""
    talk(f"gpuwise: {message}")
    if hint:
        talk(f"  next: {hint}")


def status(text: str) -> None:
    """Overwrite the progress line; on something that is no terminal, say nothing."""
    if sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns
        print(f"\r\x1b[2K{text[: width - 1]}", end="", file=sys.stderr, flush=True)


def check_output(output: Path | None) -> None:
    """Raise InputError now if `output` has a suffix that no format has."""
    if output is not None and output.suffix not in SUFFIXES:
        raise InputError(
            f"cannot tell a format from {output.name!r}", hint=f"use a suffix of {', '.join(SUFFIXES)}"
        )


def table(content: Table) -> None:
    """A table for a person, as wide as it needs where the output is no terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable

    terminal = sys.stdout.isatty()
    console = Console(
        width=None if terminal else 400,
        height=None if terminal else 25,  # without it, 80 columns where FORCE_COLOR meets TERM=dumb
        highlight=False,
        file=None if terminal else io.StringIO(),
    )
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in content.columns:
        drawn.add_column(column, justify="right" if column in content.numeric else "left", overflow="fold")
    for row in content.rows:
        drawn.add_row(*(cell.replace("[", "\\[") for cell in row))
    if content.title:
        console.print(content.title, style="bold", markup=False)
    for line in content.before:
        console.print(f"  {line}", markup=False)
    console.print(drawn)
    for note in content.notes:
        console.print(f"  {note}", markup=False)
    if isinstance(console.file, io.StringIO):
        # rich pads lines to the table's width; a file or pipe wants them bare.
        out("\n".join(line.rstrip() for line in console.file.getvalue().rstrip("\n").split("\n")))


def deliver(
    content: Table, document: Callable[[], Any], *, as_json: bool, output: Path | None, quiet: bool = False
) -> None:
    """Print `content` (or `document()` as JSON), or write it to `output` in its suffix's format."""
    check_output(output)
    if output is not None:
        write(output, content, document)
        talk(f"written to {output}")
    elif as_json:
        out(json_text(document()))
    elif not quiet:
        table(content)


def write(output: Path, content: Table, document: Callable[[], Any]) -> None:
    """Write a table or document to a file. Raises InputError where it cannot be written."""
    form = {".json": lambda: json_text(document()) + "\n", ".md": lambda: markdown(content)}
    text = form.get(output.suffix, lambda: comma_separated(content))()
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as failure:
        raise InputError(
            f"cannot write {output}: {failure.strerror}", hint="choose another file with -o"
        ) from failure


def json_text(document: Any) -> str:
    """JSON of plain data; bytes are taken as JSON already."""
    if isinstance(document, bytes):
        return document.decode().rstrip("\n")
    return json.dumps(document, indent=2, ensure_ascii=False)
