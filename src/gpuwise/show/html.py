"""Render a page as one HTML file that asks the network for nothing, and charts as SVG or PNG.

A page draws its charts itself, as wide as it is, in colours that follow light, dark and print. Files of their
own are drawn by vl-convert (Vega-Lite, offline). A Content-Security-Policy in the page forbids scripts and
every fetch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwise.errors import MachineError
from gpuwise.show.charts import PALETTE, Bands, Drawing, Rows, vega
from gpuwise.show.charts import short as brief
from gpuwise.show.page import Page
from gpuwise.show.table import Table
from gpuwise.store import codec

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PNG_SCALE = 2.0
# Letters of a cell from which it may wrap, and from which it is prose that needs a wide column.
SHORT, PROSE = 25, 51
_CITED = re.compile(r"\[(\d{1,3})\]")
_CODE = re.compile(r"`([^`]+)`")


def html(page: Page) -> str:
    """The page as one file."""
    return templates().get_template("page.html").render(page=page)


# Programs that print a page to PDF, by the name of each system.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")  # fmt: skip
PRINTING_S = 120.0


def browser() -> str:
    """The program that prints. Raises MachineError where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        problem = "no Chromium or Chrome is here, which prints a page to PDF"
        raise MachineError(problem, hint="write .html, and print that from any browser")
    return found


def pdf(page: Page) -> bytes:
    """The page on A4 as its print style says, by a headless browser. Raises MachineError without one."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(html(page), encoding="utf-8")
        words = ["--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}/user"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--no-sandbox")  # as root Chromium does not start otherwise; the page is our own
        words += [f"--print-to-pdf={made}", source.as_uri()]
        try:
            done = subprocess.run([browser(), *words], capture_output=True, timeout=PRINTING_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise MachineError("the browser did not print", hint="write .html, and print that") from error
        if not made.is_file():
            said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise MachineError(
                f"the browser did not print: {''.join(said)}", hint="write .html, and print that"
            )
        return made.read_bytes()


def svg(drawing: Drawing) -> str:
    """A chart as an SVG document in light colours. Raises MachineError where vl-convert is missing."""
    return str(_converter().vegalite_to_svg(_on_paper(drawing)))


def png(drawing: Drawing) -> bytes:
    """A chart as PNG in light colours, two pixels a point. Raises MachineError as `svg` does."""
    return bytes(_converter().vegalite_to_png(_on_paper(drawing), scale=PNG_SCALE))


def fragment(tables: Sequence[Table], drawing: Drawing | None = None) -> str:
    """Tables, and a chart above them, to stand in a page of others: a notebook's."""
    return templates().get_template("fragment.html").render(tables=tables, drawing=drawing)


@lru_cache(maxsize=1 << 14)  # tables of the explorer say the same thousands of times
def cited(text: str, sources: int) -> Markup:
    """Escaped text whose `[3]` lead to the list of sources; words between backticks are code."""
    from markupsafe import Markup, escape

    def link(match: re.Match[str]) -> str:
        number = int(match[1])
        return f'<a href="#source-{number}">[{number}]</a>' if number <= sources else match[0]

    # A number never parts from its percent sign.
    linked = _CITED.sub(link, str(escape(text)).replace(" %", "\u00a0%"))
    return Markup(_CODE.sub(r"<code>\1</code>", linked))


def rows(table: Table, sources: int, cell: Callable[[str, int], Markup], bars: Sequence[Any] = ()) -> Markup:
    """The rows of a table, `cell` making the text of each; a bar stands behind the first one. Not a template:
    a page may have five thousand cells."""
    from markupsafe import Markup

    numeric = [name in table.numeric for name in table.columns]
    lines = []
    for number, row in enumerate(table.rows):
        cells: list[str] = []
        for text, counts in zip(row, numeric, strict=True):
            # A long number may break before its interval, and nowhere else.
            long = counts and " (" in text
            shown = text.replace(" ", "\u00a0").replace("\u00a0(", " (") if long else text
            kind = (
                "long"
                if long
                else ""
                if counts or len(text) < SHORT
                else "some"
                if len(text) < PROSE
                else "prose"
            )
            tag = f' class="{kind}"' if kind else ""
            head = not cells
            cells.append(f'<th scope="row"{tag}>' if head else f"<td{tag}>")
            cells.append(f"{cell(shown, sources)}{'</th>' if head else '</td>'}")
            if head and bars:
                cells.append(f'<td class="bar">{_bar(bars[number])}</td>')
        lines.append(f"<tr{' class=old' if number in table.dim else ''}>{''.join(cells)}</tr>")
    return Markup("\n".join(lines))


def _bar(one: Any) -> str:
    """A value between 0 and 100 with its whisker; empty without one."""
    if one is None:
        return ""
    whisker = (
        f'<line class="whisker" x1="{one.low:.2f}" x2="{one.high:.2f}" y1="6" y2="6"/>'
        if one.high > one.low
        else ""
    )
    return (
        '<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="fill" y="2" height="8" width="{one.value:.2f}"/>{whisker}</svg>'
    )


@cache
def templates() -> Environment:
    """The templates with their filters; everything is escaped unless a filter above made it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    # Undefined names fail: an empty cell would look like an unknown value.
    environment = Environment(
        loader=PackageLoader("gpuwise.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        cited=cited,
        data=lambda documents: Markup(codec.elements(documents)),
        short=lambda value: f"{value:.2f}",
        kind=lambda drawing: {Rows: "rows", Bands: "bands"}.get(type(drawing), "plot"),
    )
    environment.globals.update(palette=PALETTE, cited=cited, rows=rows, brief=brief)
    return environment


def _on_paper(drawing: Drawing) -> str:
    return json.dumps({**vega(drawing), "background": PALETTE["paper"][0], "padding": 12})


def _converter() -> Any:
    try:
        import vl_convert
    except ModuleNotFoundError as missing:
        raise MachineError(
            "charts as files need vl-convert, which is not installed", hint='pip install "gpuwise[report]"'
        ) from missing
    return vl_convert
