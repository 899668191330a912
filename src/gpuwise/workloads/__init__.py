"""The workloads: one file each, versioned, synthetic data, no weights.

Importing this package, and asking it for specifications, imports no torch; building a job does.
"""

from gpuwise.model.question import Cost, RunConfig, WorkloadSpec
from gpuwise.workloads.registry import Workload, expand, find, get, installed, load, names, specs, workload

__all__ = [
    "Cost",
    "RunConfig",
    "Workload",
    "WorkloadSpec",
    "expand",
    "find",
    "get",
    "installed",
    "load",
    "names",
    "specs",
    "workload",
]
