"""What can be measured: one file a workload, versioned, synthetic data, no weights.

Importing this package, and asking it for specifications, imports no torch; building a job does.
"""

from gpuwise.workloads.registry import get, names, specs
from gpuwise.workloads.workload import Workload, workload

__all__ = ["Workload", "get", "names", "specs", "workload"]
