"""Batched Cholesky factorisation A = L L^T: scientific, small dense solvers as simulations use them.

Operations of one n x n factor: n^3 / 3 (Golub and Van Loan, Matrix Computations, section 4.2).
Memory traffic: the matrix is read and its factor written, 2 n^2 w bytes, at the least. Matrices are
X X^T / n + I of random X: positive definite, condition number about 5, so no factorisation fails.
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

SIDE, TOY_SIDE = 512, 8


def flop(side: int) -> float:
    """Operations of one factorisation."""
    return side**3 / 3


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one operation; a matrix is read once, its factor written once."""
    return Cost(flop_per_item=1.0, bytes_per_item=2 * SIDE**2 * precision.bytes / flop(SIDE))


@workload(
    WorkloadSpec(
        id="cholesky",
        version=1,
        title="Cholesky factorisation, 512 x 512, batched",
        task="scientific",
        item="FLOP",
        modes=("compute",),
        default_batch=256,
        cpu_batch=8,
        cost=cost,
        precisions=(Precision.FP64, Precision.FP32),
        compiles=False,
    )
)
def cholesky(config: RunConfig, batch: int) -> Job:
    """`batch` factorisations, one library call; `cholesky_ex` does not wait for the device to check."""
    import torch

    from gpuwise.workloads.job import Job, set_precision

    set_precision(config)
    side = TOY_SIDE if config.size == "toy" else SIDE
    dtype = torch.float64 if config.precision == "fp64" else torch.float32
    x = torch.randn(batch, side, side, dtype=dtype, device=config.device)
    matrices = x @ x.mT / side + torch.eye(side, dtype=dtype, device=config.device)  # (B, n, n)
    del x

    def step() -> Tensor:
        factor: Tensor = torch.linalg.cholesky_ex(matrices).L
        return factor

    return Job(step=step, items=round(batch * flop(side)))
