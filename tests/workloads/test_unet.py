"""Stable Diffusion 1.5's U-Net: its published size, its operations, and what its inputs do."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from evaluation.costs import unet_tally
from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads.models.diffusion import TOY_UNET, Attention, Unet, UnetShape, embed_time, inputs_of

from .conftest import build, toy

PUBLISHED = 859_520_964


def lively() -> Unet:
    model = Unet(TOY_UNET).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.05, std=0.1)
    return model


def test_parameters_are_as_many_as_published() -> None:
    with torch.device("meta"):
        model = Unet(UnetShape())
    assert sum(p.numel() for p in model.parameters()) == PUBLISHED
    assert unet_tally(UnetShape(), 64).weights == PUBLISHED == workloads.get("unet-sd15").spec.parameters


@pytest.mark.parametrize(("side", "flop"), [(64, 8.033e11), (128, 4.674e12)])
def test_operations_are_as_many_as_torch_counts(side: int, flop: float) -> None:
    shape = UnetShape()
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        steps, text = torch.zeros(2, dtype=torch.long), torch.empty(2, 77, 768)
        found = Unet(shape)(torch.empty(2, 4, side, side), steps, text)
    assert found.shape == (2, 4, side, side)
    assert counter.get_total_flops() / 2 == unet_tally(shape, side).flop == pytest.approx(flop, rel=1e-3)


@torch.no_grad()
def test_latents_steps_and_text_all_count() -> None:
    model, ((x, _, text), _) = lively(), inputs_of(TOY_UNET, 8, 2)
    steps = torch.tensor([10, 900])
    found = model(x, steps, text)
    assert found.shape == x.shape
    assert not torch.allclose(found[:1], model(x[:1], steps[1:], text[:1]))
    for other in (model(x + 0.1, steps, text), model(x, steps, text.flip(1) * 2)):
        assert not torch.allclose(found, other)
    # Images of a batch do not see each other.
    torch.testing.assert_close(model(x[:1], steps[:1], text[:1]), found[:1], rtol=1e-3, atol=1e-4)


@torch.no_grad()
def test_attention_to_a_source_by_hand() -> None:
    layer = Attention(6, 1, source=4)
    x, source = torch.randn(1, 3, 6), torch.randn(1, 5, 4)
    assert layer.query is not None
    key, value = layer.packed(source).chunk(2, dim=-1)
    weights = functional.softmax(layer.query(x) @ key.transpose(1, 2) / 6**0.5, dim=-1)
    torch.testing.assert_close(layer(x, source), layer.output(weights @ value))


def test_every_parameter_gets_a_gradient() -> None:
    model, (inputs, noise) = Unet(TOY_UNET), inputs_of(TOY_UNET, 8, 2)
    (model(*inputs) - noise).square().mean().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


def test_noisy_latents_keep_their_variance() -> None:
    (latents, steps, text), noise = inputs_of(UnetShape(), 32, 8)
    assert latents.is_contiguous(memory_format=torch.channels_last)
    assert float(latents.std()) == pytest.approx(1.0, rel=0.05)
    assert (latents.shape, steps.shape, text.shape) == ((8, 4, 32, 32), (8,), (8, 77, 768))
    assert noise.shape == latents.shape


def test_the_embedded_step_by_hand() -> None:
    found = embed_time(torch.tensor([0, 3]), 4)
    expected = [math.cos(3), math.cos(0.03), math.sin(3), math.sin(0.03)]
    assert found[0].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert found[1].tolist() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["unet-sd15", "unet-sd15-1024"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_toy_learns_and_answers(name: str, precision: Precision) -> None:
    job = build(toy(name, "train", precision), 2)
    losses = [float(job.step()) for _ in range(10)]
    assert job.items == 2
    assert all(map(math.isfinite, losses))
    assert 0.9 * losses[0] < losses[-1] < losses[0]
    infer = build(toy(name, "infer", precision), 2)
    found = infer.step()
    assert found.shape == (2, 4, 8, 8)
    assert found.dtype == (torch.bfloat16 if precision == "bf16" else torch.float32)
    assert torch.equal(found, infer.step())
    assert bool(found.isfinite().all())
