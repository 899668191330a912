"""Seven-point Jacobi sweep on a cubic grid: scientific, bound by memory.

    u'(x,y,z) = C0 u(x,y,z) + C1 (u(x-1,y,z) + u(x+1,y,z) + u(x,y-1,z) + u(x,y+1,z) + u(x,y,z-1) + u(x,y,z+1))

One explicit step of the heat equation (any text on finite differences). One cell: 6 additions and
2 multiplications; at the least one value is read and one written, 2w bytes, the neighbours come
from the caches. Eagerly every slice and sum is a kernel of its own and some eight times as much
moves: this is what fusion is for. Two grids of 512^3 random values (1 GiB in fp32): the L2 is cold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from torch import Tensor

    from gpuwise.workloads.job import Job

GPU_SIDE, CPU_SIDE, TOY_SIDE = 512, 128, 10
C0, C1 = 0.4, 0.1
"""They add up to one (C0 + 6 C1), so values neither grow nor vanish."""


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Of one cell: 8 operations, one value read, one written."""
    return Cost(flop_per_item=8.0, bytes_per_item=2.0 * precision.bytes)


def sweep(u: Tensor, new: Tensor) -> Tensor:
    """One Jacobi sweep over the inner cells of `u`, into `new`; both (B, N, N, N)."""
    around = (
        u[:, :-2, 1:-1, 1:-1]
        + u[:, 2:, 1:-1, 1:-1]
        + u[:, 1:-1, :-2, 1:-1]
        + u[:, 1:-1, 2:, 1:-1]
        + u[:, 1:-1, 1:-1, :-2]
        + u[:, 1:-1, 1:-1, 2:]
    )
    new[:, 1:-1, 1:-1, 1:-1] = C0 * u[:, 1:-1, 1:-1, 1:-1] + C1 * around
    return new


@workload(
    WorkloadSpec(
        id="stencil",
        version=1,
        title="7-point Jacobi sweep, 512^3 cells (CPU: 128^3)",
        task="scientific",
        item="cell",
        modes=("compute",),
        default_batch=1,
        cost=cost,
        precisions=(Precision.FP64, Precision.FP32),
    )
)
def stencil(config: RunConfig, batch: int) -> Job:
    """Two sweeps a step, there and back, on `batch` grids; the boundary keeps its values."""
    import torch

    from gpuwise.workloads.job import Job, relative_difference, set_precision

    set_precision(config)
    side = TOY_SIDE if config.size == "toy" else CPU_SIDE if config.device == "cpu" else GPU_SIDE
    dtype = torch.float64 if config.precision == "fp64" else torch.float32
    here = torch.randn(batch, side, side, side, dtype=dtype, device=config.device)
    there = here.clone()
    run = torch.compile(sweep, dynamic=False) if config.compile else sweep

    def step() -> Tensor:
        return run(run(here, there), here)

    def mismatch() -> float:
        return relative_difference(run(here, there.clone()), sweep(here, there.clone()))

    items = 2 * batch * (side - 2) ** 3
    return Job(step=step, items=items, mismatch=mismatch if config.compile else None)
