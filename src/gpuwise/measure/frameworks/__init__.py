"""Frameworks beside torch: the reference networks again, each framework behind one `Adapter`.

Importing this loads no framework; `adapter.load` does, in the process that measures.
"""

from gpuwise.measure.frameworks.adapter import Adapter, Found, Job, load
from gpuwise.measure.frameworks.support import check_asked, check_installed, installed, several, variables

__all__ = [
    "Adapter",
    "Found",
    "Job",
    "check_asked",
    "check_installed",
    "installed",
    "load",
    "several",
    "variables",
]
