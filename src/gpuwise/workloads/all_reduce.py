"""The limit of the links between all GPUs: one all-reduce a step, in place, of random fp32 numbers.

An item is one byte of bus bandwidth as nccl-tests defines it, so that counts of GPUs can be compared:
an all-reduce of S bytes over n ranks moves at least 2 (n - 1) / n * S over each rank's link, whatever
the algorithm (doc/PERFORMANCE.md of NVIDIA/nccl-tests). The batch is the size in MiB; large sizes show
bandwidth, small ones latency. Between processors it goes over gloo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

MIB, TOY_BYTES = 2**20, 2**14


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one byte over the link; the additions are not what it measures."""
    return Cost(flop_per_item=0.0, bytes_per_item=1.0)


@workload(
    WorkloadSpec(
        id="all-reduce",
        version=1,
        title="All-reduce over all GPUs, bus bandwidth, 1 GiB",
        task="link limit",
        item="byte",
        modes=("limit",),
        default_batch=1024,
        cpu_batch=4,
        cost=cost,
        precisions=(Precision.FP32,),
        collective=True,
    )
)
def all_reduce(config: RunConfig, batch: int) -> Job:
    """One all-reduce of `batch` MiB a step; the ranks have met already."""
    import torch
    import torch.distributed as dist

    from gpuwise.workloads.job import Job

    size = (TOY_BYTES if config.size == "toy" else MIB) * batch
    # The mean, not the sum: the values stay finite however often they are reduced.
    average = dist.ReduceOp.AVG if config.device == "cuda" else dist.ReduceOp.MAX
    values = torch.rand(size // 4, device=config.device)

    def step() -> torch.Tensor:
        dist.all_reduce(values, average)
        return values

    return Job(step=step, items=round(size * 2 * (config.gpus - 1) / config.gpus))
