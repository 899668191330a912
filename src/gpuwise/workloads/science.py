"""Scientific kernels: batched FFTs, a stencil sweep and batched Cholesky factors, all on random data.

An item is one operation, or one cell; costs are the customary counts, so that speeds compare with others':

FFT        5 N log2 N operations a transform of N points (Cooley and Tukey 1965), the count in which FFTW's
           benchmark and everybody since states speeds, whatever the library computes: a "FLOP" here is a
           unit of speed. Rows, then columns, read and write every complex value.
stencil    6 additions and 2 multiplications a cell; one value read, one written, neighbours from caches.
Cholesky   n^3 / 3 operations (Golub and Van Loan, Matrix Computations, section 4.2); a matrix is read once,
           its factor written once.
"""

from __future__ import annotations

from math import log2

import torch
from torch import Tensor

from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.workloads.job import Job, dtype_of, relative_difference, set_precision

# 512 MiB of fp32 on a GPU at the default batch, so the L2 is cold.
FFT_SIDE, TOY_FFT_SIDE = 1024, 16
GRID_SIDE, CPU_GRID_SIDE, TOY_GRID_SIDE = 512, 128, 10
# They add up to one (C0 + 6 C1), so values neither grow nor vanish.
C0, C1 = 0.4, 0.1
MATRIX_SIDE, TOY_MATRIX_SIDE = 512, 8


def fft_flop(side: int) -> float:
    """Operations of one transform of side^2 points."""
    return 5 * side**2 * log2(side**2)


def cholesky_flop(side: int) -> float:
    """Operations of one factorisation."""
    return side**3 / 3


def fft(config: RunConfig, batch: int) -> Job:
    """`batch` forward transforms, one library call."""
    set_precision(config)
    side = TOY_FFT_SIDE if config.size == "toy" else FFT_SIDE
    dtype = torch.complex128 if config.precision == Precision.FP64 else torch.complex64
    values = torch.randn(batch, side, side, dtype=dtype, device=config.device)  # (B, N, N)
    # Without `out=`: torch would transform into a tensor of its own and copy that.
    return Job(step=lambda: torch.fft.fft2(values), items=round(batch * fft_flop(side)))


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


def stencil(config: RunConfig, batch: int) -> Job:
    """Two sweeps a step, there and back, on `batch` grids; the boundary keeps its values.

    Eagerly every slice and sum is a kernel of its own and some eight times as much moves: this is what fusion
    is for.
    """
    set_precision(config)
    side = TOY_GRID_SIDE if config.size == "toy" else CPU_GRID_SIDE if config.device == "cpu" else GRID_SIDE
    dtype = dtype_of(config.precision)
    here = torch.randn(batch, side, side, side, dtype=dtype, device=config.device)
    back = here.clone()
    run = torch.compile(sweep, dynamic=False) if config.compile else sweep

    def step() -> Tensor:
        return run(run(here, back), here)

    def mismatch() -> float:
        return relative_difference(run(here, back.clone()), sweep(here, back.clone()))

    items = 2 * batch * (side - 2) ** 3
    return Job(step=step, items=items, mismatch=mismatch if config.compile else None)


def cholesky(config: RunConfig, batch: int) -> Job:
    """`batch` factorisations A = L L^T, one library call."""
    set_precision(config)
    side = TOY_MATRIX_SIDE if config.size == "toy" else MATRIX_SIDE
    dtype = dtype_of(config.precision)
    x = torch.randn(batch, side, side, dtype=dtype, device=config.device)
    # Positive definite with a condition number of about 5, so no factorisation fails.
    matrices = x @ x.mT / side + torch.eye(side, dtype=dtype, device=config.device)  # (B, n, n)
    del x

    def step() -> Tensor:
        # `cholesky_ex` does not wait for the device to check.
        return torch.linalg.cholesky_ex(matrices).L

    return Job(step=step, items=round(batch * cholesky_flop(side)))


JOBS = {"fft": fft, "stencil": stencil, "cholesky": cholesky}
