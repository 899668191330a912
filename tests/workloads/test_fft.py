"""The FFT workload at toy size."""

from __future__ import annotations

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads import science

from .conftest import build, toy


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", torch.complex64), ("fp64", torch.complex128)])
def test_a_step_is_one_transform_of_every_grid(precision: Precision, dtype: torch.dtype) -> None:
    job = build(toy("fft", "compute", precision), 3)
    torch.manual_seed(0)
    values = torch.randn(3, science.TOY_FFT_SIDE, science.TOY_FFT_SIDE, dtype=dtype)
    out = job.step()
    assert out.dtype == dtype
    back = torch.fft.ifft(torch.fft.ifft(out, dim=-1), dim=-2)
    assert torch.allclose(back, values, atol=1e-5)
    assert job.items == 3 * science.fft_flop(science.TOY_FFT_SIDE)


def test_operations_are_those_that_speeds_of_ffts_are_stated_in() -> None:
    assert science.fft_flop(1024) == 5 * 1024**2 * 20
    found = workloads.get("fft").spec.cost("compute", Precision.FP32, 64)
    assert found.bytes_per_item == pytest.approx(4 * 8 / (5 * 20))
    double = workloads.get("fft").spec.cost("compute", Precision.FP64, 64).bytes_per_item
    assert double == 2 * (found.bytes_per_item or 0)
