"""The only writer to the terminal, and what else the verbs share.

Results go to standard output, talk to standard error.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwise.errors import InputError, MachineError, NoDataError
from gpuwise.model.units import visible

if TYPE_CHECKING:
    from gpuwise.model.gpu import GpuSpec
    from gpuwise.show.charts import Drawing
    from gpuwise.show.page import Page
    from gpuwise.show.table import Answer, Table

# Characters of a line in a file or pipe, where only prose wraps.
NO_TERMINAL = 400
SUFFIXES = (".json", ".csv", ".parquet", ".md")
PAGE_SUFFIXES = (".html", ".pdf", ".md", ".json", ".svg", ".png")
DRAWINGS = (".svg", ".png")
# Characters of tables and their ASCII form, for terminals without Unicode.
_PLAIN = str.maketrans({"─": "-", "█": "#", "·": "-", "±": "+-", "…": "...", "°": "", "✓": "+", "✗": "x"})


class OutputError(OSError):
    """The standard output cannot be written: a full disk, a stream that is closed."""


def out(text: str) -> None:
    """A line of result. Raises OutputError where it cannot be written, BrokenPipeError without a reader."""
    _write(visible(text))  # names of devices and files come from anywhere, control characters with them


def _write(text: str) -> None:
    try:
        try:
            print(text, flush=True)  # who follows a log sees each line as it is final
        except UnicodeEncodeError:
            plain = text.translate(_PLAIN).encode(sys.stdout.encoding, "backslashreplace")
            print(plain.decode(sys.stdout.encoding), flush=True)  # an escape is better than nothing
    except BrokenPipeError:  # no failure: the reader has what it wanted
        raise
    except OSError as failure:
        raise OutputError(failure.errno, failure.strerror or str(failure)) from failure


def talk(text: str) -> None:
    """A line on standard error, beside the result; dropped where it cannot be written."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(visible(text), file=sys.stderr, flush=True)


def error(message: str, hint: str | None) -> None:
    """Print what failed and why, and the next step."""
    talk(f"gpuwise: {message}")
    if hint:
        talk(f"  next: {hint}")


def has_status() -> bool:
    """True if standard error is a terminal, which can show a line that changes."""
    return sys.stderr is not None and sys.stderr.isatty()


def status(text: str) -> None:
    """Overwrite the progress line; on something that is not a terminal, say nothing."""
    if has_status():
        width = os.get_terminal_size(sys.stderr.fileno()).columns
        # To the start of the line, clear it; one character less, or a full line would scroll.
        print(f"\r\x1b[2K{visible(text)[: width - 1]}", end="", file=sys.stderr, flush=True)


def check_output(output: Path | None, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Raise InputError now if `output` has a suffix that no format has."""
    if output is not None and output.suffix not in suffixes:
        problem = f"cannot tell a format from {output.name!r}"
        raise InputError(problem, hint=f"use a suffix of {', '.join(suffixes)}")


def columns() -> int | None:
    """How wide a line may be: of a terminal, or as COLUMNS says to a pipe; None for as wide as it is."""
    stated = os.environ.get("COLUMNS", "").isdigit() and int(os.environ["COLUMNS"]) > 0
    return shutil.get_terminal_size().columns if stated or sys.stdout.isatty() else None


def table(content: Table, most: int = NO_TERMINAL, *, fold: bool = True, fit: bool = False) -> int:
    """A table for a person; where a terminal is too narrow, the columns without room stand below each row,
    and with `fold` what all rows say above them; with `fit` in a pipe, too, whose width is stated. Lines are
    `most` characters long at most; how many there were is given back."""
    from gpuwise.show.table import lines  # help needs none

    terminal = sys.stdout.isatty()
    width = min(columns() or most, most) if terminal or fit else most
    styled = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def style(code: int, plain: Iterable[str]) -> list[str]:
        return [f"\x1b[{code}m{line}\x1b[0m" if styled and line else line for line in plain]

    room = width if terminal or width < NO_TERMINAL else None
    made = lines(content, room, width if terminal else most, fold=fold, style=style)
    if content.notes and terminal:  # what comes next stands apart
        made.append("")
    # A table holds no control characters; those left are this function's own.
    _write("\n".join(made).rstrip("\n") if not terminal else "\n".join(made))
    return len(made)


@dataclass(frozen=True, slots=True)
class Output:
    """Where a verb's result goes: the terminal, as one JSON document, or a file in its suffix's format."""

    file: Path | None
    as_json: bool  # A file goes before --json: who names a file wants it there

    @property
    def on_screen(self) -> bool:
        return self.file is None and not self.as_json

    @property
    def drawn(self) -> bool:
        return self.file is not None and self.file.suffix in DRAWINGS

    def table(self, content: Table, document: Callable[[], Any], *, fit: bool = False) -> None:
        """A table, or `document()` as JSON."""
        check_output(self.file)
        if self.on_screen:
            table(content, fit=fit)
        elif self.file is None or self.file.suffix == ".json":
            self._json(document())
        else:
            from gpuwise.show.table import comma_separated, markdown, parquet

            kind = self.file.suffix
            form = parquet if kind == ".parquet" else markdown if kind == ".md" else comma_separated
            save(self.file, form(content))

    def answer(self, answer: Answer[Any], *, fit: bool = False) -> None:
        """What a job found, or its chart."""
        note(answer)
        if self.file is not None and self.drawn:
            draw(answer.to_chart(), self.file)
        else:
            self.table(answer.table, answer.to_data, fit=fit)

    def page(self, page: Page, chart: Callable[[], Drawing | None]) -> None:
        """A page as Markdown or JSON, or in a file, or its chart."""
        from gpuwise.show.page import document, markdown_page  # a table needs neither

        if self.on_screen:
            out(markdown_page(page).rstrip("\n"))
        elif self.file is None or self.file.suffix == ".json":
            self._json(document(page))
        elif self.drawn:
            draw(chart(), self.file)
        elif self.file.suffix == ".md":
            images = f"{self.file.stem}-" if draw_all(page, self.file) else ""
            save(self.file, markdown_page(page, images))
        else:
            from gpuwise.show import html  # jinja2

            save(self.file, html.pdf(page) if self.file.suffix == ".pdf" else html.html(page))

    def _json(self, document: Any) -> None:
        text = json_text(document)
        if self.file is None:
            out(text)
        else:
            save(self.file, text + "\n")


def note(answer: Answer[Any]) -> None:
    """Say what a name of several things was taken as, and what of the request was left out."""
    for issue in answer.issues:
        if issue.code in ("usual-variant", "left-out"):
            talk(f"note: {issue.detail}")


ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What ends a session and keeps what is done; Windows has no SIGHUP."""


def end_as_with_ctrl_c() -> None:
    """Keep what is done also where a batch system ends the job (SIGTERM) or the terminal is lost (SIGHUP)."""
    for sign in ENDING:
        # Under nohup, SIGHUP is ignored, and stays so.
        if signal.getsignal(sign) != signal.SIG_IGN:
            signal.signal(sign, signal.default_int_handler)


def save(output: Path, content: bytes | str, said: str = "written to") -> None:
    """Write a file, whole or not at all, and say so. Raises InputError where it cannot be written."""
    data = content.encode() if isinstance(content, str) else content
    if not output.exists() or output.is_file():
        from gpuwise import store

        store.write(data, output.resolve())  # of a link the file that it names
    else:  # a pipe or a device, as /dev/stdout, has no file that a new one could take the place of
        try:
            output.write_bytes(data)
        except OSError as failure:
            problem = f"cannot write {output}: {failure.strerror}"
            raise InputError(problem, hint="choose another file with -o") from failure
    if said:
        talk(f"{said} {output}")


def draw_all(page: Page, output: Path) -> bool:
    """Every chart of the page as SVG and PNG beside its Markdown; False without vl-convert, or a chart."""
    from gpuwise.show import html
    from gpuwise.show.page import drawings

    charts = drawings(page)
    try:
        made = [(name, html.svg(chart), html.png(chart)) for name, (chart, _) in charts.items()]
    except MachineError as missing:
        talk(f"without images: {missing}")
        return False
    for name, svg, png in made:
        save(output.with_name(f"{output.stem}-{name}.svg"), svg, "")
        save(output.with_name(f"{output.stem}-{name}.png"), png, "")
    if made:
        talk(f"charts beside it as .svg and .png: {', '.join(name for name, *_ in made)}")
    return bool(made)


def draw(chart: Drawing | None, output: Path) -> None:
    """Write a chart as SVG or PNG, by suffix. Raises NoDataError where there is nothing to draw."""
    if chart is None:
        raise NoDataError("there is no figure to draw", hint=f"write the page: -o {output.stem}.html")
    from gpuwise.show import html

    save(output, html.svg(chart) if output.suffix == ".svg" else html.png(chart))


def json_text(document: Any) -> str:
    """JSON of plain data; bytes are taken as JSON already."""
    if isinstance(document, bytes):  # results are encoded by msgspec
        return document.decode().rstrip("\n")
    import msgspec  # not for --help; the standard library indents in Python, a second for the whole catalog

    # An `Amount` is a text; what is none is refused.
    return msgspec.json.format(msgspec.json.encode(document, enc_hook=str.__str__), indent=2).decode()


def today() -> date:
    """The day it is here; a function so that a test can set it."""
    return date.today()


def gpu(name: str) -> GpuSpec:
    """The GPU that `name` means; where it has several variants, standard error names them. Raises InputError
    for an unknown name and for a whole product line ("rtx")."""
    from gpuwise.facts import catalog

    meant = catalog.resolve(name)
    if meant.note:
        talk(f"note: {meant.note}")
    return meant.spec
