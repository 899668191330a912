"""Render a page as one HTML file that asks the network for nothing, and charts as SVG or PNG.

A page holds the library that draws its charts (Vega-Lite), as wide as it is, in colours that follow light,
dark and print; without scripts their tables are shown. Files of their own are drawn by vl-convert. A
Content-Security-Policy in the page allows its two scripts by their hash, and forbids others and every fetch.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwise.errors import MachineError, optional
from gpuwise.model.result import Interval
from gpuwise.model.units import visible
from gpuwise.show.charts import PALETTE, Drawing, own, shared, vega
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
_ENDS = re.compile("\u00a0(?=[(±])")
_CODE = re.compile(r"`([^`]+)`")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
# A number never parts from its unit, nor a date at its hyphens.
_UNIT = re.compile(r"(?<=\d) (?=%|(?:[KMGTP]i?B|M|W|h|°C)\b)")


def html(page: Page) -> str:
    """The page as one file; its two scripts, and no others, may run."""
    drawn = page.lead is not None or any(section.figures for section in page.sections)
    return templates().get_template("page.html").render(page=page, scripts=inline() if drawn else ())


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
        words.append("--virtual-time-budget=20000")  # its charts are drawn before it is printed
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--no-sandbox")  # as root Chromium does not start otherwise; the page is our own
        words += [f"--print-to-pdf={made}", source.as_uri()]
        try:
            done = subprocess.run([browser(), *words], capture_output=True, timeout=PRINTING_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise MachineError("the browser did not print", hint="write .html, and print that") from error
        if not made.is_file():
            said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            problem = f"the browser did not print: {''.join(said)}"
            raise MachineError(problem, hint="write .html, and print that")
        return made.read_bytes()


def svg(drawing: Drawing) -> str:
    """A chart as an SVG document in light colours. Raises MachineError where vl-convert is missing."""
    return str(_converter().vegalite_to_svg(_on_paper(drawing)))


def png(drawing: Drawing) -> bytes:
    """A chart as PNG in light colours, two pixels a point. Raises MachineError as `svg` does."""
    return bytes(_converter().vegalite_to_png(_on_paper(drawing), scale=PNG_SCALE))


def fragment(tables: Sequence[Table], drawing: Drawing | None = None) -> str:
    """Tables to stand in a page of others, a notebook's; above them a chart where vl-convert is installed."""
    from markupsafe import Markup

    drawn = ""
    if drawing:
        with suppress(MachineError):
            drawn = Markup(svg(drawing))
    return templates().get_template("fragment.html").render(tables=tables, drawn=drawn)


@lru_cache(maxsize=1 << 14)  # tables of the explorer say the same thousands of times
def cited(text: str, sources: int) -> Markup:
    """Escaped text whose `[3]` lead to the list of sources; words between backticks are code."""
    from markupsafe import Markup, escape

    def link(match: re.Match[str]) -> str:
        number = int(match[1])
        return f'<a href="#source-{number}">[{number}]</a>' if number <= sources else match[0]

    linked = _CITED.sub(link, _UNIT.sub("\u00a0", str(escape(visible(text)))))
    return Markup(_CODE.sub(r"<code>\1</code>", _DATE.sub(r"<time>\g<0></time>", linked)))


def rows(table: Table, sources: int, cell: Callable[[str, int], Markup], bars: Sequence[Any] = ()) -> Markup:
    """The rows of a table, `cell` making the text of each; a bar stands behind the first one. Not a template:
    a page may have five thousand cells, which is also why the ends that HTML does not need are left out."""
    from markupsafe import Markup

    numeric = [name in table.numeric for name in table.columns]
    lines = []
    for number, row in enumerate(table.rows):
        cells: list[str] = []
        for place, (text, counts) in enumerate(zip(row, numeric, strict=True), 1):
            # A number may break before its interval, and nowhere else. The style sheet holds short ones, but
            # not those of the last column.
            long = counts and (" (" in text or " ±" in text)
            tied = long or (counts and place == len(row))
            shown = _ENDS.sub(" ", text.replace(" ", "\u00a0")) if tied else text
            words = "" if counts or len(text) < SHORT else "some" if len(text) < PROSE else "prose"
            kind = "long" if long else words
            tag = f' class="{kind}"' if kind else ""
            head = not cells
            cells.append(f'<th scope="row"{tag}>' if head else f"<td{tag}>")
            cells.append(cell(shown, sources))
            if head and bars:
                cells.append(f'<td class="bar">{bars[number]}')
        lines.append(f"<tr{' class=old' if number in table.dim else ''}>{''.join(cells)}")
    return Markup("\n".join(lines))


def bar(of: Interval | None, most: float, origin: str = "measured") -> Markup:
    """A value with its whisker on an axis from 0 to `most`, in a cell: filled where it was measured, hatched
    where others published it, an outline where it is predicted. An arrow says that the whisker goes on. Empty
    without a value."""
    from markupsafe import Markup

    if of is None or most <= 0:
        return Markup("")
    low, value, high = (100 * max(0.0, each) / most for each in (of.low, of.value, of.high))
    hatched = ' fill="url(#hatch)"' if origin == "published" else ""
    whisker = f'<rect x="{low:.1f}%" width="{min(100.0, high) - low:.1f}%"/>' if high > low else ""
    whisker += '<text x="100%" y="12">&rsaquo;</text>' if high > 100.05 else ""
    return Markup(f'<svg><rect class="{origin}"{hatched} width="{value:.1f}%"/>{whisker}</svg>')


def variable(hue: str) -> str:
    """The colour of that name in the light or the dark of a page."""
    return f"var(--{hue})"


@cache
def script() -> str:
    """What draws the charts of a page, beside the library: what all of them share, and the few lines that
    give it to Vega-Lite with the room that there is."""
    given = json.dumps(shared(variable), separators=(",", ":"))
    draw = files("gpuwise.show").joinpath("templates/charts.js").read_text("utf-8")
    return f"const CHARTS = {given};\n{draw}"


@cache
def library() -> bytes:
    """Vega, Vega-Lite and Vega-Embed as one script, packed by gzip (`tools/bundle.py`)."""
    return files("gpuwise.show").joinpath("vega.js.gz").read_bytes()


@cache
def inline() -> tuple[tuple[Markup, str], ...]:
    """The library and what draws with it, each with the hash that a page allows it by."""
    from markupsafe import Markup

    texts = gzip.decompress(library()).decode(), script()
    return tuple((Markup(t), b64encode(sha256(t.encode()).digest()).decode()) for t in texts)


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
        # Names of devices and files come from anywhere; markup of ours has been made of such.
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        cited=cited,
        data=lambda documents: Markup(codec.elements(documents)),
        own=lambda drawing: own(drawing, variable),
    )
    environment.globals.update(palette=PALETTE, cited=cited, rows=rows, bar=bar)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment


def _on_paper(drawing: Drawing) -> str:
    return json.dumps({**vega(drawing), "background": PALETTE["paper"][0], "padding": 12})


def _converter() -> Any:
    return optional("vl_convert", "charts as files need vl-convert", "report")
