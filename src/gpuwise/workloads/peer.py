"""The limit of the link between two GPUs: one large copy a step from the measured GPU to another.

Direct over NVLink or PCIe where the driver allows the two to see each other's memory
(`nvidia-smi topo -p2p r`), else through host memory: the number says which. 1 GiB of random bytes,
far more than any L2 (cold). An item is one byte transferred, counted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

BYTES, TOY_BYTES = 2**30, 2**22


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one byte over the link; each of the two memories moves it once."""
    return Cost(flop_per_item=0.0, bytes_per_item=1.0)


@workload(
    WorkloadSpec(
        id="peer",
        version=1,
        title="Copy from one GPU to another, 1 GiB, cold",
        task="link limit",
        item="byte",
        modes=("limit",),
        default_batch=1,
        cost=cost,
        precisions=(Precision.FP32,),
        gpus=2,
    )
)
def peer(config: RunConfig, batch: int) -> Job:
    """One copy a step, whatever the batch, on the stream of the sending GPU, which is the timed one."""
    import torch

    from gpuwise.workloads.job import Job

    size = TOY_BYTES if config.size == "toy" else BYTES
    here, there = ("cuda:0", "cuda:1") if config.device == "cuda" else ("cpu", "cpu")
    source = torch.randint(-(2**31), 2**31 - 1, (size // 4,), dtype=torch.int32, device=here)
    target = torch.empty_like(source, device=there)
    return Job(step=lambda: target.copy_(source, non_blocking=True), items=size)
