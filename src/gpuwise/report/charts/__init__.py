"""Charts as Vega-Lite specifications: pure functions from plain values to dicts, data included.

Rendered offline by `report.html`, or by any Vega-Lite reader. Colours are those of `theme`, which
the HTML page replaces by variables that follow light, dark and print.
"""

from gpuwise.report.charts.agreement import agreement
from gpuwise.report.charts.bars import bars
from gpuwise.report.charts.kernels import kernels
from gpuwise.report.charts.limits import energy, roofline
from gpuwise.report.charts.ratios import ratios
from gpuwise.report.charts.scaling import scaling
from gpuwise.report.charts.theme import Mark
from gpuwise.report.charts.throughput import batches, throughput
from gpuwise.report.charts.timeline import Span, timeline

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
