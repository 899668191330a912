"""The matrix-product limit: one square product per step, random data, larger than any L2.

Random, never zeros: multiplying zeros draws less power and runs faster (13 % on one H200).
8192^3 in bf16 touches 400 MB, so a step finds the L2 cache cold for most of its operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.run import RunConfig
from gpuwise.model.workload import OPERAND_BYTES, Cost, Mode, Precision, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

GPU_SIDE, CPU_SIDE, TOY_SIDE = 8192, 2048, 64


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one operation; three square matrices are moved once."""
    return Cost(flop_per_item=1.0, bytes_per_item=3 * OPERAND_BYTES[precision] / (2 * GPU_SIDE))


@workload(
    WorkloadSpec(
        id="matmul",
        version=1,
        title="Square matrix product, 8192 (CPU: 2048)",
        task="compute limit",
        item="FLOP",
        modes=("limit",),
        parameters=None,
        default_batch=1,
        cpu_batch=1,
        cost=cost,
    )
)
def matmul(config: RunConfig, batch: int) -> Job:
    """One product in the precision asked for, whatever the batch; fp16 and bf16 accumulate in fp32."""
    import torch

    from gpuwise.workloads.job import DTYPES, Job, set_precision

    set_precision(config)
    side = TOY_SIDE if config.size == "toy" else CPU_SIDE if config.device == "cpu" else GPU_SIDE
    dtype = DTYPES.get(config.precision, torch.float32)
    a, b = (torch.randn(side, side, device=config.device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    return Job(step=lambda: torch.matmul(a, b, out=out), items=2 * side**3)
