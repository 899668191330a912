"""The stencil at toy size."""

from __future__ import annotations

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads import science

from .conftest import build, toy


def by_loops(u: torch.Tensor) -> torch.Tensor:
    """The formula of the docstring, cell by cell."""
    new, n = u.clone(), u.shape[0]
    for x in range(1, n - 1):
        for y in range(1, n - 1):
            for z in range(1, n - 1):
                around = u[x - 1, y, z] + u[x + 1, y, z] + u[x, y - 1, z] + u[x, y + 1, z]
                new[x, y, z] = science.C0 * u[x, y, z] + science.C1 * (
                    around + u[x, y, z - 1] + u[x, y, z + 1]
                )
    return new


def test_a_sweep_is_the_formula() -> None:
    u = torch.randn(2, 5, 5, 5, dtype=torch.float64)
    out = science.sweep(u, u.clone())
    assert torch.allclose(out[1], by_loops(u[1]), rtol=1e-12)
    assert torch.equal(out[:, 0], u[:, 0])


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_a_step_is_two_sweeps_of_every_grid(precision: Precision) -> None:
    job = build(toy("stencil", "compute", precision), 3)
    first, second = job.step().clone(), job.step().clone()
    assert first.dtype == (torch.float64 if precision == "fp64" else torch.float32)
    assert job.items == 2 * 3 * (science.TOY_GRID_SIDE - 2) ** 3
    assert not torch.equal(first, second)
    assert float(second.std()) > 0.1  # neither grows nor vanishes


def test_it_settles_to_the_mean_and_never_grows() -> None:
    assert pytest.approx(1.0) == science.C0 + 6 * science.C1
    found = workloads.get("stencil").spec.cost("compute", Precision.FP64, 1)
    assert (found.flop_per_item, found.bytes_per_item) == (8.0, 16.0)


def test_compiled_is_held_against_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: lambda u, new: function(u, new) * 1.5)
    job = build(toy("stencil", "compute", compiled=True), 1)
    assert job.mismatch is not None
    assert job.mismatch() == pytest.approx(0.5)
    assert build(toy("stencil", "compute"), 1).mismatch is None
