"""Charts as Vega-Lite specifications: pure functions from plain values to dicts, data included.

Rendered offline by `show.html`, or by any Vega-Lite reader. Colours are those of `theme`, which the HTML page
replaces by variables that follow light, dark and print.
"""

from gpuwise.show.charts.plots import agreement, batches, over_time, roofline, scaling, tradeoff
from gpuwise.show.charts.rows import Span, bars, kernels, placed, ratios, timeline
from gpuwise.show.charts.theme import Chart, Mark

__all__ = [
    "Chart",
    "Mark",
    "Span",
    "agreement",
    "bars",
    "batches",
    "kernels",
    "over_time",
    "placed",
    "ratios",
    "roofline",
    "scaling",
    "timeline",
    "tradeoff",
]
