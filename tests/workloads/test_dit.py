"""DiT-XL/2: its published size, its operations, its patches and its condition."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from evaluation.costs import dit_tally
from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads.models.diffusion import TOY_DIT, Dit, DitShape, inputs_of, position_table

from .conftest import build, toy

PUBLISHED = 675_129_632
"""With the position table, which is fixed."""


def test_parameters_are_as_many_as_published() -> None:
    with torch.device("meta"):
        model = Dit(DitShape(), 32)
    parameters = sum(p.numel() for p in model.parameters())
    assert parameters + model.table.numel() == PUBLISHED
    assert parameters == dit_tally(DitShape(), 32).weights == workloads.get("dit-xl2").spec.parameters


@pytest.mark.parametrize(("side", "multiply_adds"), [(32, 118.64e9), (64, 524.60e9)])
def test_operations_are_as_many_as_torch_counts_and_as_published(side: int, multiply_adds: float) -> None:
    shape = DitShape()
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        ids = torch.zeros(2, dtype=torch.long)
        found = Dit(shape, side)(torch.empty(2, 4, side, side), ids, ids)
    assert found.shape == (2, 8, side, side)
    flop = dit_tally(shape, side).flop
    assert counter.get_total_flops() / 2 == flop == pytest.approx(2 * multiply_adds, rel=1e-3)


@torch.no_grad()
def test_latents_steps_and_classes_all_count() -> None:
    model, ((x, steps, classes), _) = Dit(TOY_DIT, 8).eval(), inputs_of(TOY_DIT, 8, 2)
    found = model(x, steps, classes)
    assert found.shape == (2, 8, 8, 8)
    for other in (
        model(x + 0.1, steps, classes),
        model(x, (steps + 500) % 1000, classes),
        model(x, steps, (classes + 1) % 10),
    ):
        assert not torch.allclose(found, other)
    alone = model(x[:1], steps[:1], classes[:1])
    torch.testing.assert_close(alone, found[:1], rtol=1e-3, atol=1e-4)


@torch.no_grad()
def test_patches_are_cut_and_put_back_in_place() -> None:
    model, x = Dit(TOY_DIT, 8), torch.randn(2, 4, 8, 8)
    patches = model._patches(x)
    assert patches.shape == (2, 16, 16)
    torch.testing.assert_close(patches[:, 0].view(2, 2, 2, 4), x[:, :, :2, :2].permute(0, 2, 3, 1))
    torch.testing.assert_close(patches[:, 5].view(2, 2, 2, 4), x[:, :, 2:4, 2:4].permute(0, 2, 3, 1))
    torch.testing.assert_close(model._image(patches), x)


def test_every_position_has_its_own_row_of_the_table() -> None:
    table = position_table(4, 32)
    assert table.shape == (16, 32)
    assert len({tuple(row) for row in table.tolist()}) == 16
    torch.testing.assert_close(table[5, :16], table[1, :16])  # one column
    torch.testing.assert_close(table[5, 16:], table[4, 16:])  # one row


def test_every_parameter_gets_a_gradient() -> None:
    model, (inputs, _) = Dit(TOY_DIT, 8), inputs_of(TOY_DIT, 8, 2)
    model(*inputs).square().mean().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("name", ["dit-xl2", "dit-xl2-512"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_toy_learns_and_answers(name: str, precision: Precision) -> None:
    job = build(toy(name, "train", precision), 2)
    losses = [float(job.step()) for _ in range(10)]
    assert job.items == 2
    assert all(map(math.isfinite, losses))
    assert 0.9 * losses[0] < losses[-1] < losses[0]
    infer = build(toy(name, "infer", precision), 2)
    found = infer.step()
    assert found.shape == (2, 8, 8, 8)
    assert float(found.float().std()) > 0.1  # the paper's zero start would answer zeros
    assert torch.equal(found, infer.step())
