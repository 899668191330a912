"""Batched two-dimensional complex FFT: scientific, bound by memory on every GPU of today.

Operations of one transform of N = side^2 points: 5 N log2 N, the count of the radix-2 algorithm
(Cooley and Tukey 1965) that FFTW's benchmark and everybody since states speeds in, whatever the
library really computes; so a "FLOP" here is a unit of speed, and comparable with theirs.

Memory traffic: rows, then columns, each reads and writes every complex value: 4 N 2w bytes, with w
the bytes of a real number. Data is random and 512 MiB on a GPU (fp32), so the L2 is cold.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

SIDE, TOY_SIDE = 1024, 16


def flop(side: int) -> float:
    """Operations of one transform of side x side points, as speeds of FFTs are stated."""
    points = side**2
    return 5 * points * log2(points)


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one operation; a transform reads and writes its values twice."""
    moved = 4 * SIDE**2 * 2 * precision.bytes
    return Cost(flop_per_item=1.0, bytes_per_item=moved / flop(SIDE))


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
        cost=cost,
        precisions=(Precision.FP64, Precision.FP32),
        compiles=False,
    )
)
def fft(config: RunConfig, batch: int) -> Job:
    """`batch` forward transforms of random values, one library call."""
    import torch

    from gpuwise.workloads.job import Job, set_precision

    set_precision(config)
    side = TOY_SIDE if config.size == "toy" else SIDE
    dtype = torch.complex128 if config.precision == "fp64" else torch.complex64
    values = torch.randn(batch, side, side, dtype=dtype, device=config.device)  # (B, N, N)
    # Without `out=`: torch would transform into a tensor of its own and copy that.
    return Job(step=lambda: torch.fft.fft2(values), items=round(batch * flop(side)))
