"""Outputs that are no answer, and those that may be one."""

from __future__ import annotations

from math import inf, nan

import pytest
import torch

from gpuwise.measure import events, output
from gpuwise.measure.child import extremes


@pytest.mark.parametrize(
    ("low", "high", "values", "odd"),
    [
        (-1.0, 2.0, 8, None),
        (0.0, 0.0, 1, None),  # one number is the same everywhere
        (0.0, 0.0, 8, "the output is 0 everywhere"),
        (-inf, 2.0, 8, "the output holds infinity"),
        (0.0, inf, 8, "the output holds infinity"),
    ],
)
def test_what_is_odd_about_an_answer(low: float, high: float, values: int, odd: str | None) -> None:
    found = output.ended(7, low, high, values=values)
    assert found == events.Done(memory_peak_bytes=7, loss=(), odd=odd)


def test_nan_is_no_answer() -> None:
    found = output.ended(7, nan, nan, values=8)
    assert isinstance(found, events.Failed)
    assert "NaN" in found.message


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (torch.tensor([[3, -1], [2, 0]]), (-1.0, 3.0)),
        (torch.tensor([1.0, -inf], dtype=torch.bfloat16), (-inf, 1.0)),
        (torch.tensor([True, False]), (0.0, 1.0)),
        (torch.tensor([1 + 5j, -2j]).conj(), (-5.0, 2.0)),
        (torch.ones(2).to(torch.float8_e4m3fn), (0.0, 1.0)),  # torch does not compare these
        (torch.ones(0), (0.0, 1.0)),
        (torch.eye(2).to_sparse(), (0.0, 1.0)),
    ],
)
def test_the_extremes_of_any_tensor(values: torch.Tensor, found: tuple[float, float]) -> None:
    assert extremes(values) == found


@pytest.mark.parametrize("values", [torch.tensor([1.0, nan, 2.0]), torch.tensor([1.0, complex(0, nan)])])
def test_one_nan_among_many_is_found(values: torch.Tensor) -> None:
    assert output.ended(None, *extremes(values), values=3) == events.Failed(
        kind="failed", message="the output is NaN: the speed is that of no computation"
    )
