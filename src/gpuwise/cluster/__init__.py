"""Scripts and manifests that run one `gpuwise bench` on many machines; nothing here measures."""

from gpuwise.cluster.job import Job
from gpuwise.cluster.kubernetes import manifest
from gpuwise.cluster.slurm import script, submit
from gpuwise.cluster.submitted import follow

__all__ = ["Job", "follow", "manifest", "script", "submit"]
