"""Scripts and manifests that run one `gpuwise bench` on many machines; nothing here measures."""

from gpuwise.measure.cluster.job import Job
from gpuwise.measure.cluster.kubernetes import manifest
from gpuwise.measure.cluster.slurm import script, submit
from gpuwise.measure.cluster.submitted import follow

__all__ = ["Job", "follow", "manifest", "script", "submit"]
