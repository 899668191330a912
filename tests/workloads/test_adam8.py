"""The optimiser with moments in 8 bits against torch's AdamW, and its code by itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gpuwise.model.precision import Precision
from gpuwise.workloads import llm
from gpuwise.workloads.models import adam8
from gpuwise.workloads.models.adam8 import Adam8bit, decode, encode

from .conftest import build, toy

CODES = pytest.mark.parametrize(
    ("levels", "least", "most"),
    [(adam8.SIGNED, adam8.SIGNED_LEAST, 0.047), (adam8.UNSIGNED, adam8.UNSIGNED_LEAST, 0.037)],
)


@CODES
def test_the_code_is_off_by_half_a_step_and_keeps_zero(levels: int, least: float, most: float) -> None:
    x = torch.logspace(-4.9, 0, 256).view(1, 256) * 3.0
    x[0, 7] = 0.0
    if levels == adam8.SIGNED:
        x[0, ::2] *= -1
    code, scale = encode(x, levels, least)
    found = decode(code, scale, levels, least)
    assert found[0, 7] == 0
    error = ((found - x) / x)[x != 0].abs()
    assert 0.6 * most < float(error.max()) < most
    assert code.element_size() == 1


@CODES
def test_what_is_too_small_does_not_vanish(levels: int, least: float, most: float) -> None:
    x = torch.full((1, 256), least / 100)
    x[0, 0] = 1.0
    found = decode(*encode(x, levels, least), levels, least)
    assert float(found[0, 1:].min()) == pytest.approx(least, rel=1e-3)


@pytest.mark.parametrize("size", [(3,), (40, 33), (257, 64)])
def test_it_goes_where_adamw_goes(size: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a parameter is no multiple of a block, and over several chunks."""
    monkeypatch.setattr(adam8, "CHUNK", 4 * adam8.BLOCK)
    start, pull = torch.randn(size), torch.randn(50, *size)
    ends = []
    for make in (torch.optim.AdamW, Adam8bit):
        weight = nn.Parameter(start.clone())
        optimiser = make([weight], lr=0.01, weight_decay=0.1)
        for gradient in pull:
            weight.grad = gradient + weight.detach()
            optimiser.step()
        ends.append(weight.detach() - start)
    assert float((ends[0] - ends[1]).norm() / ends[0].norm()) < 0.03


def test_moments_take_two_bytes_a_value_and_a_scale() -> None:
    weight = nn.Parameter(torch.randn(1024, 256))
    weight.grad = torch.randn_like(weight)
    optimiser = Adam8bit([weight], lr=0.01)
    optimiser.step()
    held = sum(x.nbytes for x in optimiser.state[weight].values() if torch.is_tensor(x))
    assert held == weight.numel() * (2 + 8 / 256)


@pytest.mark.parametrize("method", ["full", "qlora"])
def test_training_by_name_learns(method: str) -> None:
    job = build(toy(f"llama-3.1-8b-{method}-adamw8bit-checkpointed", "train", Precision.BF16), 2)
    losses = [float(job.step()) for _ in range(8)]
    assert 0.9 * losses[0] < losses[-1] < losses[0]


def test_names() -> None:
    assert llm.names_of("m", ("train",), "full-adamw8bit", True, 8192) == (
        "m-full-adamw8bit-checkpointed-8k",
    )
    assert llm.by_name("llama-3.1-8b-decode-adamw8bit") is None
    plain, narrow = (llm.by_name(f"llama-3.1-8b-full{end}") for end in ("", "-adamw8bit"))
    assert plain is not None
    assert narrow is not None
    saved = [w.spec.cost("train", Precision.BF16, 1).bytes_per_item for w in (plain, narrow) if w.spec.cost]
    assert (saved[0] - saved[1]) * 2048 == pytest.approx(4 * 8_030_261_248)
