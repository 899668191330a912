"""What is known of GPUs: one line of `data/specs.csv` is one fact with its source.

This first cut holds the GPUs that five public articles compare, all variants of the A100 that
they call just "A100" included.
"""

from gpuwise.catalog.load import all_gpus, get, sources
from gpuwise.catalog.query import find, resolve_device, select

__all__ = ["all_gpus", "find", "get", "resolve_device", "select", "sources"]
