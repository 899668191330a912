"""The memory limit: copy one large buffer to another; a byte read and a byte written are two.

4 GiB on a GPU: dozens of times any L2, so every byte comes from and goes to device memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

GPU_BYTES, CPU_BYTES, TOY_BYTES = 2**32, 2**28, 2**22


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one byte moved; nothing is computed."""
    return Cost(flop_per_item=0.0, bytes_per_item=1.0)


@workload(
    WorkloadSpec(
        id="copy",
        version=1,
        title="Device memory copy, 4 GiB (CPU: 256 MiB), cold",
        task="memory limit",
        item="byte",
        modes=("limit",),
        default_batch=1,
        cost=cost,
        precisions=(Precision.FP32,),
    )
)
def memory_copy(config: RunConfig, batch: int) -> Job:
    """Copy random bytes, whatever the batch; halves the buffer while the device lacks memory for two."""
    import torch

    from gpuwise.workloads.job import Job

    size = TOY_BYTES if config.size == "toy" else CPU_BYTES if config.device == "cpu" else GPU_BYTES
    if config.device == "cuda":
        free, _ = torch.cuda.mem_get_info()
        while 2.5 * size > free:
            size //= 2
    source = torch.randint(-(2**31), 2**31 - 1, (size // 4,), dtype=torch.int32, device=config.device)
    target = torch.empty_like(source)
    return Job(step=lambda: target.copy_(source), items=2 * size)
