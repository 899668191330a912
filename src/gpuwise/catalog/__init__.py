"""What is known of each GPU, every value with its source and the date on which it was read.

The facts are data (`data/*.csv`), never code; an unknown GPU is unknown.
"""

from __future__ import annotations

from gpuwise.catalog.load import all_gpus, get, sources
from gpuwise.catalog.query import find, resolve_device, select

__all__ = ["all_gpus", "find", "get", "resolve_device", "select", "sources"]
