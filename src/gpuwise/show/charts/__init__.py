"""Charts as Vega-Lite specifications: pure functions from plain values to dicts, data included.

Rendered offline by `report.html`, or by any Vega-Lite reader. Colours are those of `theme`, which
the HTML page replaces by variables that follow light, dark and print.
"""

from gpuwise.show.charts.agreement import agreement
from gpuwise.show.charts.bars import bars
from gpuwise.show.charts.kernels import kernels
from gpuwise.show.charts.limits import energy, roofline
from gpuwise.show.charts.ratios import ratios
from gpuwise.show.charts.scaling import scaling
from gpuwise.show.charts.theme import Mark
from gpuwise.show.charts.throughput import batches, throughput
from gpuwise.show.charts.timeline import Span, timeline

__all__ = [
    "Mark",
    "Span",
    "agreement",
    "bars",
    "batches",
    "energy",
    "kernels",
    "ratios",
    "roofline",
    "scaling",
    "throughput",
    "timeline",
]
