"""Speeds that others published: importers of their formats, and a curated table of cited figures.

Every record says what ran (precision as it really ran, software), where it stands, what the publisher
grants, and the issues that checks of physics and logic found. Never mixed with what gpuwise measured.
"""

from __future__ import annotations

from gpuwise.facts.published.importers import FORMATS, Imported, Skipped, import_file, import_text
from gpuwise.facts.published.table import (
    all_results,
    check_source,
    check_workload,
    plausible,
    select,
    sources,
    workloads,
)

__all__ = [
    "FORMATS",
    "Imported",
    "Skipped",
    "all_results",
    "check_source",
    "check_workload",
    "import_file",
    "import_text",
    "plausible",
    "select",
    "sources",
    "workloads",
]
