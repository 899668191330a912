"""The two arrangements of BERT compute the same."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpuwise.workloads.bert import BertShape
from gpuwise.workloads.models.bert import (
    BertForQuestionAnswering,
    FusedAttention,
    UnfusedAttention,
)

SHAPE = BertShape(layers=2, hidden=32, heads=4, vocabulary=64, positions=16)
BATCH, TOKENS = 3, 10


def as_fused(name: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of an unfused module under the names of the fused one; `name` is the prefix."""
    joined = {
        f"{name}qkv.{part}": torch.cat([state.pop(f"{name}{x}.{part}") for x in ("query", "key", "value")])
        for part in ("weight", "bias")
    }
    return state | joined


def two_attentions() -> tuple[FusedAttention, UnfusedAttention]:
    fused, unfused = FusedAttention(SHAPE).eval(), UnfusedAttention(SHAPE).eval()
    fused.load_state_dict(as_fused("", unfused.state_dict()))
    return fused, unfused


def two_models() -> tuple[BertForQuestionAnswering, BertForQuestionAnswering]:
    fused, unfused = (BertForQuestionAnswering(SHAPE, fused=is_fused).eval() for is_fused in (True, False))
    for parameter in unfused.parameters():
        torch.nn.init.normal_(parameter, std=0.2)  # far from the near-zero start, where all agree
    state = {name: x for name, x in unfused.state_dict().items() if "pooler" not in name}
    for layer in range(SHAPE.layers):
        state = as_fused(f"layers.{layer}.attention.", state)
    fused.load_state_dict(state)
    return fused, unfused


def additive(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else (1 - mask)[:, None, None, :] * -10_000.0


def padded() -> Tensor:
    """The last tokens of each sequence but the first masked out."""
    mask = torch.ones(BATCH, TOKENS)
    for i in range(BATCH):
        mask[i, TOKENS - 2 * i :] = 0 if i else 1
    return mask


MASKS = pytest.mark.parametrize(
    "mask", [None, torch.ones(BATCH, TOKENS), padded()], ids=["no mask", "all ones", "padded"]
)


@MASKS
def test_the_two_attentions_compute_the_same(mask: Tensor | None) -> None:
    fused, unfused = two_attentions()
    x = torch.randn(BATCH, TOKENS, SHAPE.hidden)
    expected = unfused(x.transpose(0, 1), additive(mask)).transpose(0, 1)
    torch.testing.assert_close(fused(x, additive(mask)), expected)


def test_attention_mixes_the_tokens_of_one_sequence_only() -> None:
    for attention, batch_dimension in zip(two_attentions(), (0, 1), strict=True):
        x = torch.randn(BATCH, BATCH, SHAPE.hidden)  # as many tokens as sequences
        changed = x.clone()
        changed.select(batch_dimension, 1)[0] += 1.0
        moved = (attention(x, None) - attention(changed, None)).abs().amax(dim=-1)
        per_sequence = moved.amax(dim=1 - batch_dimension) > 1e-6
        assert per_sequence.tolist() == [False, True, False]
        assert bool((moved.select(batch_dimension, 1) > 1e-6).all())


@MASKS
def test_the_two_models_compute_the_same(mask: Tensor | None) -> None:
    fused, unfused = two_models()
    tokens, segments = torch.randint(64, (BATCH, TOKENS)), torch.randint(2, (BATCH, TOKENS))
    for ours, theirs in zip(fused(tokens, segments, mask), unfused(tokens, segments, mask), strict=True):
        assert ours.shape == (BATCH, TOKENS)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_a_mask_of_ones_changes_nothing_and_padding_is_not_seen(fused: bool) -> None:
    model = two_models()[0 if fused else 1]
    tokens, segments = torch.randint(64, (BATCH, TOKENS)), torch.randint(2, (BATCH, TOKENS))
    start, _ = model(tokens, segments)
    torch.testing.assert_close(model(tokens, segments, torch.ones(BATCH, TOKENS))[0], start)
    other = torch.where(padded().bool(), tokens, (tokens + 1) % 64)
    seen = padded().bool()
    ours, theirs = model(tokens, segments, padded())[0], model(other, segments, padded())[0]
    torch.testing.assert_close(ours[seen], theirs[seen])
    assert not torch.allclose(ours[~seen], theirs[~seen])


@pytest.mark.parametrize("fused", [True, False])
def test_positions_segments_and_dropout_count(fused: bool) -> None:
    model = two_models()[0 if fused else 1]
    tokens, zeros = torch.arange(TOKENS).expand(2, -1), torch.zeros(2, TOKENS, dtype=torch.long)
    start, end = model(tokens, zeros)
    assert not torch.allclose(start, end)
    assert not torch.allclose(start, model(tokens.flip(1), zeros)[0].flip(1))
    assert not torch.allclose(start, model(tokens, zeros + 1)[0])
    torch.testing.assert_close(start, model(tokens, zeros)[0])
    model.train()
    assert not torch.allclose(model(tokens, zeros)[0], model(tokens, zeros)[0])


def test_every_parameter_but_the_pooler_gets_a_gradient() -> None:
    for model in two_models():
        start, end = model(torch.randint(64, (2, 8)), torch.randint(2, (2, 8)))
        (start.square().sum() + end.square().sum()).backward()
        without = {name for name, p in model.named_parameters() if p.grad is None}
        assert without == (set() if model.fused else {"pooler.weight", "pooler.bias"})
