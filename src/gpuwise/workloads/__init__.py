"""What can be measured: one file a workload, versioned, synthetic data, no weights.

Importing this package, and asking it for specifications, imports no torch; building a job does.
"""

from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, WorkloadSpec
from gpuwise.workloads.registry import Workload, find, get, installed, load, names, specs, workload

__all__ = [
    "Cost",
    "RunConfig",
    "Workload",
    "WorkloadSpec",
    "find",
    "get",
    "installed",
    "load",
    "names",
    "specs",
    "workload",
]
