"""Speeds that others published: importers of their formats, and a curated table of cited figures.

Every row says what ran (precision as it really ran, software), where it stands, what the publisher
grants, and the cautions of the gates. Never mixed with what gpuwise measured.
"""

from __future__ import annotations

from gpuwise.facts.published.importers import FORMATS, import_file, import_text
from gpuwise.facts.published.importers.figure import Imported, Skip
from gpuwise.facts.published.load import all_results, records, sources
from gpuwise.facts.published.query import check_source, check_workload, select, workloads

__all__ = [
    "FORMATS",
    "Imported",
    "Skip",
    "all_results",
    "check_source",
    "check_workload",
    "import_file",
    "import_text",
    "records",
    "select",
    "sources",
    "workloads",
]
