"""The matrix-product limit at toy size."""

from __future__ import annotations

import math

import pytest
import torch

from gpuwise.model.workload import Precision
from gpuwise.workloads import matmul
from gpuwise.workloads.job import relative_difference

from .conftest import build, toy


@pytest.mark.parametrize(
    ("precision", "dtype", "tolerance"),
    [("fp32", torch.float32, 1e-5), ("bf16", torch.bfloat16, 4e-3), ("fp16", torch.float16, 5e-4)],
)
def test_the_matrix_product_is_one(precision: Precision, dtype: torch.dtype, tolerance: float) -> None:
    job = build(toy("matmul", "limit", precision), 1)
    torch.manual_seed(0)
    a, b = (torch.randn(matmul.TOY_SIDE, matmul.TOY_SIDE).to(dtype) for _ in range(2))
    out = job.step()
    assert out.dtype == dtype
    assert relative_difference(out, a.double() @ b.double()) < tolerance
    assert job.items == 2 * matmul.TOY_SIDE**3


def test_the_matrices_are_random_and_not_the_same() -> None:
    out = build(toy("matmul", "limit"), 1).step()
    assert float(out.std()) == pytest.approx(math.sqrt(matmul.TOY_SIDE), rel=0.1)
    assert abs(float(out.mean())) < 1


@pytest.mark.parametrize("batch", [1, 4])
def test_one_product_is_counted_once_whatever_the_batch(batch: int) -> None:
    assert build(toy("matmul", "limit"), batch).items == 2 * matmul.TOY_SIDE**3
