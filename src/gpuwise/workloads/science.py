"""Scientific kernels: batched FFTs, a stencil sweep and batched Cholesky factors, all on random data."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from torch import Tensor

    from gpuwise.workloads.job import Job

FFT_SIDE, TOY_FFT_SIDE = 1024, 16
"""512 MiB of fp32 on a GPU at the default batch, so the L2 is cold."""
GRID_SIDE, CPU_GRID_SIDE, TOY_GRID_SIDE = 512, 128, 10
C0, C1 = 0.4, 0.1
"""They add up to one (C0 + 6 C1), so values neither grow nor vanish."""
MATRIX_SIDE, TOY_MATRIX_SIDE = 512, 8


def fft_flop(side: int) -> float:
    """Operations of one transform of N = side^2 points, 5 N log2 N (Cooley and Tukey 1965).

    The count in which FFTW's benchmark and everybody since states speeds, whatever the library computes: a
    "FLOP" here is a unit of speed, and comparable with theirs.
    """
    points = side**2
    return 5 * points * log2(points)


def fft_cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one operation; rows, then columns, read and write every complex value."""
    moved = 4 * FFT_SIDE**2 * 2 * precision.bytes
    return Cost(flop_per_item=1.0, bytes_per_item=moved / fft_flop(FFT_SIDE))


@workload(
    WorkloadSpec(
        id="fft",
        version=1,
        title="Complex FFT, 1024 x 1024, batched",
        task="scientific",
        item="FLOP",
        modes=("compute",),
        default_batch=64,
        cpu_batch=4,
        cost=fft_cost,
        precisions=(Precision.FP64, Precision.FP32),
        compiles=False,
    )
)
def fft(config: RunConfig, batch: int) -> Job:
    """`batch` forward transforms, one library call."""
    import torch

    from gpuwise.workloads.job import Job, set_precision

    set_precision(config)
    side = TOY_FFT_SIDE if config.size == "toy" else FFT_SIDE
    dtype = torch.complex128 if config.precision == Precision.FP64 else torch.complex64
    values = torch.randn(batch, side, side, dtype=dtype, device=config.device)  # (B, N, N)
    # Without `out=`: torch would transform into a tensor of its own and copy that.
    return Job(step=lambda: torch.fft.fft2(values), items=round(batch * fft_flop(side)))


def stencil_cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Of one cell: 6 additions and 2 multiplications; one value read, one written, neighbours from caches."""
    return Cost(flop_per_item=8.0, bytes_per_item=2.0 * precision.bytes)


def sweep(u: Tensor, new: Tensor) -> Tensor:
    """One Jacobi sweep over the inner cells of `u`, into `new`; both (B, N, N, N).

    u'(x,y,z) = C0 u(x,y,z) + C1 (sum of the six neighbours): one explicit step of the heat equation.
    """
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
        cost=stencil_cost,
        precisions=(Precision.FP64, Precision.FP32),
    )
)
def stencil(config: RunConfig, batch: int) -> Job:
    """Two sweeps a step, there and back, on `batch` grids; the boundary keeps its values.

    Eagerly every slice and sum is a kernel of its own and some eight times as much moves: this is what fusion
    is for.
    """
    import torch

    from gpuwise.workloads.job import Job, relative_difference, set_precision

    set_precision(config)
    side = TOY_GRID_SIDE if config.size == "toy" else CPU_GRID_SIDE if config.device == "cpu" else GRID_SIDE
    dtype = torch.float64 if config.precision == Precision.FP64 else torch.float32
    here = torch.randn(batch, side, side, side, dtype=dtype, device=config.device)
    there = here.clone()
    run = torch.compile(sweep, dynamic=False) if config.compile else sweep

    def step() -> Tensor:
        return run(run(here, there), here)

    def mismatch() -> float:
        return relative_difference(run(here, there.clone()), sweep(here, there.clone()))

    items = 2 * batch * (side - 2) ** 3
    return Job(step=step, items=items, mismatch=mismatch if config.compile else None)


def cholesky_flop(side: int) -> float:
    """Operations of one factorisation (Golub and Van Loan, Matrix Computations, section 4.2)."""
    return side**3 / 3


def cholesky_cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one operation; a matrix is read once, its factor written once."""
    return Cost(
        flop_per_item=1.0, bytes_per_item=2 * MATRIX_SIDE**2 * precision.bytes / cholesky_flop(MATRIX_SIDE)
    )


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
        cost=cholesky_cost,
        precisions=(Precision.FP64, Precision.FP32),
        compiles=False,
    )
)
def cholesky(config: RunConfig, batch: int) -> Job:
    """`batch` factorisations A = L L^T, one library call."""
    import torch

    from gpuwise.workloads.job import Job, set_precision

    set_precision(config)
    side = TOY_MATRIX_SIDE if config.size == "toy" else MATRIX_SIDE
    dtype = torch.float64 if config.precision == Precision.FP64 else torch.float32
    x = torch.randn(batch, side, side, dtype=dtype, device=config.device)
    # Positive definite with a condition number of about 5, so no factorisation fails.
    matrices = x @ x.mT / side + torch.eye(side, dtype=dtype, device=config.device)  # (B, n, n)
    del x

    def step() -> Tensor:
        # `cholesky_ex` does not wait for the device to check.
        factor: Tensor = torch.linalg.cholesky_ex(matrices).L
        return factor

    return Job(step=step, items=round(batch * cholesky_flop(side)))
