"""The matrix-product limit: one square product per step, random data, larger than any L2 (cold).

Random, never zeros: multiplying zeros draws less power and runs faster (13 % on one H200).
8192^3 in bf16 touches 400 MB, so a step finds the L2 cache cold for most of its operands.

What multiplies: fp64 and fp32 as IEEE, tf32, fp16 and bf16 with fp32 sums; fp8 is E4M3 with one
scale a matrix, bf16 result and the tensor cores' fast accumulation, which keeps fewer bits of the
sum than fp32 (Micikevicius et al. 2022, arXiv:2209.05433, for the format).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from gpuwise.workloads.job import Job

GPU_SIDE, CPU_SIDE, TOY_SIDE = 8192, 2048, 256

MOVED = {"fp64": 24, "fp32": 12, "tf32": 12, "fp16": 6, "bf16": 6, "fp8": 4}
"""Bytes of one place in both operands and the result together; fp8 puts out bf16."""


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one operation; three square matrices are moved once."""
    return Cost(flop_per_item=1.0, bytes_per_item=MOVED[precision] / (2 * GPU_SIDE))


@workload(
    WorkloadSpec(
        id="matmul",
        version=1,
        title="Square matrix product, 8192 (CPU: 2048), cold",
        task="compute limit",
        item="FLOP",
        modes=("limit",),
        default_batch=1,
        cost=cost,
        precisions=(Precision.FP64, *NETWORK_PRECISIONS, Precision.FP8),
    )
)
def matmul(config: RunConfig, batch: int) -> Job:
    """One product in the precision asked for, whatever the batch; fp16 and bf16 accumulate in fp32."""
    import torch

    from gpuwise.workloads.job import DTYPES, Job, set_precision

    set_precision(config)
    side = TOY_SIDE if config.size == "toy" else CPU_SIDE if config.device == "cpu" else GPU_SIDE
    # fp64 is drawn as such: numbers widened from fp32 have zeros in their lower half.
    drawn = torch.float64 if config.precision == "fp64" else torch.float32
    dtype = DTYPES.get(config.precision, drawn)
    a, b = (torch.randn(side, side, device=config.device, dtype=drawn).to(dtype) for _ in range(2))
    if config.precision == "fp8":
        return Job(step=_fp8_product(a, b), items=2 * side**3)
    out = torch.empty_like(a)
    return Job(step=lambda: torch.matmul(a, b, out=out), items=2 * side**3)


def _fp8_product(a: Tensor, b: Tensor) -> Callable[[], Tensor]:
    """The product of two E4M3 matrices; cuBLASLt wants the second one stored by columns."""
    import torch

    eighth = torch.float8_e4m3fn
    left, right = a.to(eighth), b.t().contiguous().to(eighth).t()
    one = torch.ones((), device=a.device)

    def step() -> Tensor:
        product: Tensor = torch._scaled_mm(
            left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
        )
        return product

    return step
