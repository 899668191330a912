"""Render a page as one HTML file that asks the network for nothing, and charts as SVG or PNG.

Charts are drawn by vl-convert (Vega-Lite, offline) and inlined; their colours become variables of the
page, so that one drawing serves light, dark and print. A Content-Security-Policy in the page forbids
scripts and every fetch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Any

from gpuwise.errors import MachineError
from gpuwise.show.charts import placed
from gpuwise.show.page import Page
from gpuwise.show.table import Table
from gpuwise.show.theme import FONT, LABEL, ORIGIN_COLOURS, PALETTE, PRECISION_COLOURS, Chart
from gpuwise.store import pages

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PNG_SCALE = 2.0
_NAMES = {light: name for name, (light, _) in PALETTE.items()}
_HEX = re.compile("|".join(_NAMES))
_CITED = re.compile(r"\[(\d{1,3})\]")
_TEXT = f'font-family="{FONT}" font-size="{LABEL}px"'
# What every text and group of a drawing repeats, and decimals of a thousandth of a point.
_REPEATED = re.compile(
    r' (?:class|role|aria-[a-z]+|pointer-events|font-family|text-rendering)="[^"]*"'
    rf'| font-size="{LABEL}px"| opacity="1"|(?<=\.\d\d)\d+(?=[^"<>]*")'
)
_CODE = re.compile(r"`([^`]+)`")


def html(page: Page) -> str:
    """The page as one file. Raises MachineError where there is a chart and vl-convert is missing."""
    return templates().get_template("page.html").render(page=page)


def svg(chart: Chart) -> str:
    """A chart as an SVG document in light colours. Raises MachineError where vl-convert is missing."""
    return str(_converter().vegalite_to_svg(json.dumps(_on_paper(chart))))


def png(chart: Chart) -> bytes:
    """A chart as PNG in light colours, two pixels a point. Raises MachineError as `svg` does."""
    return bytes(_converter().vegalite_to_png(json.dumps(_on_paper(chart)), scale=PNG_SCALE))


def warm() -> None:
    """Start what draws charts in the background: half a second that other work fills meanwhile."""
    if find_spec("vl_convert"):
        Thread(target=svg, args=({"mark": "point", "data": {"values": []}},)).start()


def fragment(tables: Sequence[Table], chart: Chart | None = None) -> str:
    """Tables, and a chart above them, to stand in a page of others: a notebook's."""
    return templates().get_template("fragment.html").render(tables=tables, chart=chart)


def inline_svg(chart: Chart, name: str) -> Markup:
    """A chart to stand in a page: its colours follow the page, `name` says what it shows."""
    drawn = _drawn(_converter(), json.dumps(chart))
    return _named(_HEX.sub(lambda match: f"var(--{_NAMES[match[0]]})", drawn), name)


# A page is asked for again and again; drawing is nearly all of its time.
@lru_cache(maxsize=64)
def _drawn(converter: Any, specification: str) -> str:
    return str(converter.vegalite_to_svg(specification))


def _named(drawn: str, name: str) -> Markup:
    """The SVG as an image with an accessible name, less what only a document of its own needs."""
    from markupsafe import Markup, escape

    # A page of thirty drawings is mailed: attributes that repeat are a third of its size.
    head, _, body = _REPEATED.sub("", drawn).partition(">")
    opening = re.sub(r' (xmlns(:xlink)?|class|version)="[^"]*"', "", head)
    return Markup(f'{opening} {_TEXT} role="img" aria-label="{escape(name)}">{body}')


def cited(text: str, sources: int) -> Markup:
    """Escaped text whose `[3]` lead to the list of sources; words between backticks are code."""
    from markupsafe import Markup, escape

    def link(match: re.Match[str]) -> str:
        number = int(match[1])
        return f'<a class="cite" href="#source-{number}">[{number}]</a>' if number <= sources else match[0]

    # A number never parts from its percent sign.
    linked = _CITED.sub(link, str(escape(text)).replace(" %", "\u00a0%"))
    return Markup(_CODE.sub(r"<code>\1</code>", linked))


def tied(text: str) -> str:
    """A long number that may break before its interval, and nowhere else."""
    return text.replace(" ", "\u00a0").replace("\u00a0(", " (")


def hue(name: str) -> str:
    """The class that colours a row: that of its precision or origin, as in the charts."""
    return f"c-{_NAMES.get(PRECISION_COLOURS.get(name) or ORIGIN_COLOURS.get(name, ''), 'blue')}"


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
        svg=inline_svg, paper=lambda chart, name: _named(svg(chart), name), cited=cited, tied=tied, hue=hue,
        data=lambda documents: Markup(pages.elements(documents)),
        placed=lambda marks, ratio: placed(marks, ratio=ratio), short=lambda value: f"{value:.2f}",
    )  # fmt: skip
    environment.globals.update(palette=PALETTE, cited=cited)
    return environment


def _on_paper(chart: Chart) -> Chart:
    return {**chart, "background": PALETTE["paper"][0], "padding": 12}


def _converter() -> Any:
    try:
        import vl_convert
    except ModuleNotFoundError as missing:
        raise MachineError(
            "charts need vl-convert, which is not installed", hint='pip install "gpuwise[report]"'
        ) from missing
    return vl_convert
