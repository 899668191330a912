"""The Cholesky workload at toy size."""

from __future__ import annotations

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads import science

from .conftest import build, toy


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("fp64", 1e-13)])
def test_the_factor_times_itself_is_the_matrix(precision: Precision, tolerance: float) -> None:
    job = build(toy("cholesky", "compute", precision), 5)
    torch.manual_seed(0)
    dtype = torch.float64 if precision == "fp64" else torch.float32
    side = science.TOY_MATRIX_SIDE
    x = torch.randn(5, side, side, dtype=dtype)
    expected = x @ x.mT / side + torch.eye(side, dtype=dtype)
    factor = job.step()
    assert torch.equal(factor, factor.tril())
    assert torch.allclose(factor @ factor.mT, expected, atol=tolerance)
    assert job.items == round(5 * side**3 / 3)


def test_the_cost_is_a_third_of_the_cube() -> None:
    assert science.cholesky_flop(300) == 9e6
    moved = workloads.get("cholesky").spec.cost("compute", Precision.FP64, 8).bytes_per_item or 0
    assert moved * science.cholesky_flop(science.MATRIX_SIDE) == pytest.approx(2 * science.MATRIX_SIDE**2 * 8)
