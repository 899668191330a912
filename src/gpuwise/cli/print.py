"""The only writer to the terminal: results to standard output, talk to standard error.

rich is imported when a table is printed for a person, never for --json, CSV or Markdown.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gpuwise.errors import InputError, NoDataError
from gpuwise.model.units import visible
from gpuwise.show.table import Table, comma_separated, fits, markdown, narrow

if TYPE_CHECKING:
    from gpuwise.show.page import Page
    from gpuwise.show.theme import Chart

# Of lines above and below a table, also where they wrap.
_INDENT = (0, 0, 0, 2)
# Rows from which a table is laid out without rich, which takes a millisecond a row.
_LONG = 100
SUFFIXES = (".json", ".csv", ".md")
PAGE_SUFFIXES = (".html", ".md", ".json", ".svg", ".png")
DRAWINGS = (".svg", ".png")


class OutputError(Exception):
    """The standard output cannot be written: a full disk, a stream that is closed."""


@contextmanager
def lenient() -> Iterator[None]:
    """What is printed inside may be lost: a full log or a lost terminal ends no measurement."""
    with suppress(OutputError, OSError, ValueError):
        yield


def out(text: str) -> None:
    """A line of result. Raises OutputError where it cannot be written, BrokenPipeError without a reader."""
    text = visible(text)  # names of devices and files come from anywhere, control characters with them
    try:
        try:
            print(text, flush=True)  # who follows a log sees each line as it is final
        except UnicodeEncodeError:
            # A terminal of ASCII: an escape is better than nothing.
            encoding = sys.stdout.encoding
            print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:  # no failure: the reader has what it wanted
        raise
    except OSError as failure:
        raise OutputError(
            f"the standard output cannot be written: {failure.strerror or failure}"
        ) from failure


def talk(text: str) -> None:
    """A line on standard error, beside the result; dropped where it cannot be written."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(visible(text), file=sys.stderr, flush=True)


def error(message: str, hint: str | None) -> None:
    """What failed and why, and the next step."""
    talk(f"gpuwise: {message}")
    if hint:
        talk(f"  next: {hint}")


def status(text: str) -> None:
    """Overwrite the progress line; on something that is no terminal, say nothing."""
    if sys.stderr is not None and sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns
        # To the start of the line, clear it; one character less, or a full line would scroll.
        print(f"\r\x1b[2K{text[: width - 1]}", end="", file=sys.stderr, flush=True)


def check_output(output: Path | None, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Raise InputError now if `output` has a suffix that no format has."""
    if output is not None and output.suffix not in suffixes:
        raise InputError(
            f"cannot tell a format from {output.name!r}", hint=f"use a suffix of {', '.join(suffixes)}"
        )


def table(content: Table) -> None:
    """A table for a person, as wide as it needs where the output is no terminal."""
    if len(content.rows) > _LONG and (
        not sys.stdout.isatty() or fits(content, os.get_terminal_size().columns)
    ):
        out("\n".join(_plain(content)))
        return
    from rich import box
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table as RichTable

    terminal = sys.stdout.isatty()
    console = Console(
        width=None if terminal else 400,
        height=None if terminal else 25,  # without it, 80 columns where FORCE_COLOR meets TERM=dumb
        highlight=False,
        markup=False,
        emoji=False,  # a cell such as resnet50:train:fp32 is no emoji
        file=None if terminal else io.StringIO(),
    )
    if content.title:
        console.print(content.title, style="bold")
    for line in content.before:
        console.print(Padding(line, _INDENT, expand=False))
    if content.rows or not content.notes:  # a head without rows says less than the lines below it
        if terminal and not fits(content, console.width):
            # The columns that have room, the others below each row.
            made = narrow(content, console.width)
            console.print("\n".join(made.head), style="bold")
            for place, lines in enumerate(made.rows):
                console.print("\n".join(lines), style="dim" if place in content.dim else None)
            console.print()
        else:
            drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
            for column in content.columns:
                side: Literal["left", "right"] = "right" if column in content.numeric else "left"
                drawn.add_column(column, justify=side, overflow="fold")
            for place, row in enumerate(content.rows):
                drawn.add_row(*row, style="dim" if place in content.dim else None)
            console.print(drawn)
    for note in content.notes:
        console.print(Padding(note, _INDENT, expand=False))
    if content.notes and terminal:  # what comes next stands apart
        console.print()
    if isinstance(console.file, io.StringIO):
        # rich pads lines to the table's width; a file or pipe wants them bare.
        out("\n".join(line.rstrip() for line in console.file.getvalue().rstrip("\n").split("\n")))


def _plain(content: Table) -> list[str]:
    """The lines of a table whose cells each take one line, as rich draws them."""
    columns = list(zip(content.columns, *content.rows, strict=True))
    widths = [max(map(len, cells)) for cells in columns]
    right = [column in content.numeric for column in content.columns]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, right, strict=True)
        return "   ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in cells).rstrip()

    rule = "\u2500" * (sum(widths) + 3 * (len(widths) - 1))
    head = [*([content.title] if content.title else []), *(f"  {text}" for text in content.before), ""]
    return [
        *head,
        line(content.columns),
        rule,
        *map(line, content.rows),
        "",
        *(f"  {n}" for n in content.notes),
    ]


def deliver(
    content: Table, document: Callable[[], Any], *, as_json: bool, output: Path | None, quiet: bool = False
) -> None:
    """Print `content` (or `document()` as JSON), or write it to `output` in its suffix's format."""
    check_output(output)
    # A file goes before --json: who names a file wants it there.
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
    write_bytes(output, form.get(output.suffix, lambda: comma_separated(content))().encode())


ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What ends a session and keeps what is done; Windows has no SIGHUP."""


def end_as_with_ctrl_c() -> None:
    """Keep what is done also where a batch system ends the job (SIGTERM) or the terminal is lost (SIGHUP)."""
    for sign in ENDING:
        # Under nohup, SIGHUP is ignored, and stays so.
        if signal.getsignal(sign) != signal.SIG_IGN:
            signal.signal(sign, signal.default_int_handler)


def write_bytes(output: Path, data: bytes) -> None:
    """Write a file, whole or not at all. Raises InputError where it cannot be written."""
    if not output.exists() or output.is_file():
        from gpuwise import store

        # Of a link the file that it names.
        store.write(data, output.resolve())
        return
    # A pipe or a device, as /dev/stdout, has no file that a new one could take the place of.
    try:
        output.write_bytes(data)
    except OSError as failure:
        raise InputError(
            f"cannot write {output}: {failure.strerror}", hint="choose another file with -o"
        ) from failure


def deliver_page(
    page: Page, chart: Callable[[], Chart | None], *, as_json: bool, output: Path | None
) -> None:
    """Print a page as Markdown or JSON, or write it, or its chart, to `output` by suffix."""
    from gpuwise.show.page import document, markdown_page  # a table needs neither

    if output is None:
        out(json_text(document(page)) if as_json else markdown_page(page).rstrip("\n"))
        return
    if output.suffix in DRAWINGS:
        draw(chart(), output)
        return
    if output.suffix == ".md":
        text = markdown_page(page)
    elif output.suffix == ".json":
        text = json_text(document(page)) + "\n"
    else:
        from gpuwise.show import html  # jinja2, and vl-convert for the charts

        text = html.html(page)
    write_bytes(output, text.encode())
    talk(f"written to {output}")


def draw(chart: Chart | None, output: Path) -> None:
    """Write a chart as SVG or PNG, by suffix. Raises NoDataError where there is nothing to draw."""
    if chart is None:
        raise NoDataError("there is no figure to draw", hint=f"write the page: -o {output.stem}.html")
    from gpuwise.show import html

    write_bytes(output, html.svg(chart).encode() if output.suffix == ".svg" else html.png(chart))
    talk(f"written to {output}")


def json_text(document: Any) -> str:
    """JSON of plain data; bytes are taken as JSON already."""
    if isinstance(document, bytes):  # results are encoded by msgspec
        return document.decode().rstrip("\n")
    return json.dumps(document, indent=2, ensure_ascii=False)
