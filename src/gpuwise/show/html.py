"""Render a page as one HTML file that asks the network for nothing, and charts as SVG or PNG.

A page draws its charts itself, as wide as it is, in colours that follow light, dark and print. Files of their
own are drawn by vl-convert (Vega-Lite, offline). A Content-Security-Policy in the page forbids scripts and
every fetch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from gpuwise.errors import MachineError
from gpuwise.show.charts import PALETTE, Bands, Drawing, Rows, vega
from gpuwise.show.page import Page
from gpuwise.show.table import Table
from gpuwise.store import codec

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PNG_SCALE = 2.0
_CITED = re.compile(r"\[(\d{1,3})\]")
_CODE = re.compile(r"`([^`]+)`")


def html(page: Page) -> str:
    """The page as one file."""
    return templates().get_template("page.html").render(page=page)


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
        # A long number may break before its interval, and nowhere else.
        tied=lambda text: text.replace(" ", "\u00a0").replace("\u00a0(", " ("),
        data=lambda documents: Markup(codec.elements(documents)),
        short=lambda value: f"{value:.2f}",
        kind=lambda drawing: {Rows: "rows", Bands: "bands"}.get(type(drawing), "plot"),
    )
    environment.globals.update(palette=PALETTE, cited=cited)
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
