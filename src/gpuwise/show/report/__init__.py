"""The report of one or more results: the answer first, then a section for each thing that they tell."""

from gpuwise.show.report.input import ReportInput
from gpuwise.show.report.whole import chart, report

__all__ = ["ReportInput", "chart", "report"]
