"""The matrix-product limit at toy size."""

from __future__ import annotations

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads import limits
from gpuwise.workloads.job import relative_difference

from .conftest import build, toy


@pytest.mark.parametrize(
    ("precision", "dtype", "tolerance"),
    [
        ("fp64", torch.float64, 1e-14),
        ("fp32", torch.float32, 1e-5),
        ("bf16", torch.bfloat16, 4e-3),
        ("fp16", torch.float16, 5e-4),
    ],
)
def test_the_matrix_product_is_one(precision: Precision, dtype: torch.dtype, tolerance: float) -> None:
    job = build(toy("matmul", "limit", precision), 1)
    torch.manual_seed(0)
    drawn = torch.float64 if precision == "fp64" else torch.float32
    a, b = (
        torch.randn(limits.TOY_PRODUCT_SIDE, limits.TOY_PRODUCT_SIDE, dtype=drawn).to(dtype) for _ in range(2)
    )
    out = job.step()
    assert out.dtype == dtype
    assert relative_difference(out, a.double() @ b.double()) < tolerance
    assert job.items == 2 * limits.TOY_PRODUCT_SIDE**3


def test_fp64_fills_every_bit() -> None:
    out = build(toy("matmul", "limit", "fp64"), 1).step()
    assert not torch.equal(out, out.float().double())


def test_fp8_asks_for_the_product_of_two_e4m3_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def product(left: torch.Tensor, right: torch.Tensor, **options: object) -> torch.Tensor:
        asked.update(options)
        assert left.dtype == right.dtype == torch.float8_e4m3fn
        assert (left.stride(), right.stride()) == ((limits.TOY_PRODUCT_SIDE, 1), (1, limits.TOY_PRODUCT_SIDE))
        return (left.float() @ right.float()).bfloat16()

    monkeypatch.setattr(torch, "_scaled_mm", product)
    job = build(toy("matmul", "limit", "fp8"), 1)
    torch.manual_seed(0)
    a, b = (torch.randn(limits.TOY_PRODUCT_SIDE, limits.TOY_PRODUCT_SIDE) for _ in range(2))
    assert relative_difference(job.step(), a @ b) < 0.05
    assert asked["out_dtype"] == torch.bfloat16
    assert asked["use_fast_accum"] is True


def test_fp8_moves_a_byte_for_each_operand_and_two_for_the_result() -> None:
    cost = workloads.get("matmul").spec.cost
    assert cost("limit", Precision.FP8, 1).bytes_per_item == 4 / (2 * limits.PRODUCT_SIDE)
    assert cost("limit", Precision.FP64, 1).bytes_per_item == 24 / (2 * limits.PRODUCT_SIDE)
