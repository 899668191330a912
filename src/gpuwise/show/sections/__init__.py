"""The report of one or more results, section by section; `report` puts them together."""

from gpuwise.show.sections.whole import report

__all__ = ["report"]
