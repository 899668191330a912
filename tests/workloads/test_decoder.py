"""The decoder by its properties: causal, positions relative, grouped heads, cache equal to full passes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from gpuwise.workloads.models.decoder import (
    Attention,
    Cache,
    Decoder,
    Norm,
    build_decoder,
    has_flash,
    outline,
    rotary_table,
    rotate,
)

from .conftest import SHAPES

SHAPE = replace(SHAPES["toy"], vocabulary=64)
KEYS = SHAPE.kv_heads * SHAPE.head_size
TOKENS = 12
CPU = torch.device("cpu")


def lively(tied: bool = True) -> Decoder:
    """Weights far from the small start, so that every part moves the output."""
    model = build_decoder(replace(SHAPE, tied=tied), TOKENS, torch.float32, "cpu").eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=1.0 if parameter.ndim == 1 else 0.0, std=0.15)
    return model


def prompts(batch: int = 3) -> torch.Tensor:
    return torch.randint(SHAPE.vocabulary, (batch, TOKENS))


@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_cached_decoding_equals_full_passes(tied: bool) -> None:
    model, tokens = lively(tied), prompts()
    full = model.logits(model(tokens))  # (B, T, V)
    for length in (2, 7, TOKENS):
        cache = Cache(SHAPE, 3, length, model.table)
        short = Cache(SHAPE, 3, length - 1, model.table)
        first = model.prefill(tokens[:, : length - 1], short)
        torch.testing.assert_close(first, full[:, length - 2], rtol=1e-4, atol=1e-5)
        for (keys, values), (some_keys, some_values) in zip(cache.layers(), short.layers(), strict=True):
            keys[:, :, :-1], values[:, :, :-1] = some_keys, some_values
        found = model.decode(tokens[:, length - 1 : length], cache, torch.tensor([length - 1]))
        torch.testing.assert_close(found, full[:, length - 1], rtol=1e-4, atol=1e-5)


@torch.no_grad()
@torch.no_grad()
def test_a_prompt_writes_the_cache_by_rows() -> None:
    # Copies of the whole cache a compiler puts off to the end, and keeps what they copy: 13 GB of an 8 B in
    # int4 at 32,768 tokens, on an H200 (`results/experiments/prompt-32k-int4-kept.json`, before this).
    model, tokens = lively(), prompts()
    with torch.profiler.profile() as seen:
        model.prefill(tokens, Cache(SHAPE, 3, TOKENS, model.table))
    called = Counter(event.name for event in seen.events())
    assert called["aten::index_copy_"] == 2 * SHAPE.layers


def test_decoding_writes_one_row_and_reads_all() -> None:
    model, cache = lively(), Cache(SHAPE, 2, TOKENS, torch.empty(0))
    before, token, at = cache.state_dict(), torch.tensor([[1], [2]]), torch.tensor([5])
    before = {name: rows.clone() for name, rows in before.items()}
    logits = model.decode(token, cache, at)
    assert len(before) == 2 * SHAPE.layers
    for name, rows in cache.state_dict().items():
        changed = (rows != before[name]).any(dim=-1).any(dim=0).any(dim=0)  # (T,)
        assert changed.tolist() == [row == 5 for row in range(TOKENS)]
    for row in (0, TOKENS - 1):
        cache.layers()[0][1][:, :, row] += 3.0
        assert not torch.allclose(model.decode(token, cache, at), logits)


@torch.no_grad()
def test_a_token_sees_only_what_is_before_it() -> None:
    model, tokens = lively(), prompts(1)
    other = tokens.clone()
    other[0, 6] = (other[0, 6] + 1) % SHAPE.vocabulary
    moved = (model(tokens) - model(other)).abs().amax(dim=-1)[0] > 1e-6
    assert moved.tolist() == [position >= 6 for position in range(TOKENS)]


@torch.no_grad()
def test_rotation_keeps_lengths_and_makes_positions_relative() -> None:
    table = rotary_table(SHAPE, 40, CPU)
    query, key = torch.randn(2, 1, 1, 1, SHAPE.head_size).unbind(0)
    torch.testing.assert_close(rotate(query, table[:, :1]), query)  # position 0 is not turned

    def score(i: int, j: int) -> float:
        return float((rotate(query, table[:, i : i + 1]) * rotate(key, table[:, j : j + 1])).sum())

    assert score(7, 3) == pytest.approx(score(37, 33), abs=1e-4)
    assert score(7, 3) != pytest.approx(score(7, 4), abs=1e-3)
    assert float(rotate(query, table[:, 9:10]).norm()) == pytest.approx(float(query.norm()), rel=1e-5)


@torch.no_grad()
def test_grouped_heads_share_keys_as_if_repeated() -> None:
    wide = replace(SHAPE, kv_heads=SHAPE.heads)
    grouped, full = Attention(SHAPE), Attention(wide)
    query, key, value = grouped.qkv.weight.split([SHAPE.hidden, KEYS, KEYS])
    repeated = [
        x.view(SHAPE.kv_heads, SHAPE.head_size, -1).repeat_interleave(2, dim=0).flatten(0, 1)
        for x in (key, value)
    ]
    full.qkv.weight.copy_(torch.cat([query, *repeated]))
    full.output.weight.copy_(grouped.output.weight)
    x, table = torch.randn(2, TOKENS, SHAPE.hidden), rotary_table(SHAPE, TOKENS, CPU)
    torch.testing.assert_close(grouped(x, table), full(x, table), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_where_no_fused_kernel_shares_heads_they_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    usual = functional.scaled_dot_product_attention

    def plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **how: bool) -> torch.Tensor:
        asked.append(how["enable_gqa"])
        assert key.shape[1] == (SHAPE.kv_heads if how["enable_gqa"] else SHAPE.heads)
        return usual(query, key, value, **how)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", plain)
    attention = Attention(SHAPE)
    x, table = torch.randn(2, TOKENS, SHAPE.hidden), rotary_table(SHAPE, TOKENS, CPU)
    shared = attention(x, table)
    monkeypatch.setattr(attention, "_shares_heads", lambda query, mask: False)
    torch.testing.assert_close(attention(x, table), shared, rtol=1e-4, atol=1e-5)
    assert asked == [True, False]


def test_flash_attention_alone_shares_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    def shares(model: Decoder, query: torch.Tensor) -> set[bool]:
        return {m._shares_heads(query) for m in model.modules() if isinstance(m, Attention)}

    single, half = torch.empty(1, device="meta"), torch.empty(1, device="meta", dtype=torch.bfloat16)
    monkeypatch.setattr(torch.version, "hip", None)
    for capability, found in (((7, 5), False), ((8, 0), True)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda c=capability: c)
        model = outline(SHAPE, TOKENS, torch.float32, "cuda")
        assert shares(model, half) == {found}
        assert shares(model, single) == {False}
        assert shares(model, torch.empty(1)) == {True}  # a CPU's fused kernel does it in any type
        assert has_flash("mps")


def test_the_norm_by_hand() -> None:
    norm = Norm(2)
    torch.nn.init.constant_(norm.weight, 2.0)
    found = norm(torch.tensor([3.0, 4.0]))
    assert found.tolist() == pytest.approx([6 / 12.5**0.5, 8 / 12.5**0.5], rel=1e-5)
    assert norm(torch.ones(2, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_recomputing_changes_no_gradient() -> None:
    model, tokens, found = lively().train(), prompts(), []
    for model.recompute in (False, True):
        model.zero_grad()
        model(tokens).square().mean().backward()
        found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    assert len(found[0]) == len(list(model.parameters()))
    torch.testing.assert_close(found[0], found[1])


@torch.no_grad()
def test_fresh_weights_give_logits_of_order_one() -> None:
    """And the loss of a guess, ln V; branches that add to the stream and do not drown it."""
    model, tokens = build_decoder(SHAPES["toy"], 32, torch.float32, "cpu"), torch.randint(256, (2, 32))
    logits = model.logits(model(tokens))
    assert 0.05 < float(logits.std()) < 1.0
    guess = torch.tensor(256.0).log()
    assert float(functional.cross_entropy(logits.flatten(0, 1), tokens.roll(1).flatten())) == pytest.approx(
        float(guess), rel=0.05
    )
    assert model.layers[0].feed_forward.down.weight.std() < model.layers[0].attention.output.weight.std()


def test_weights_are_made_in_the_type_asked_for() -> None:
    model = build_decoder(SHAPE, TOKENS, torch.bfloat16, "cpu")
    assert {x.dtype for x in (*model.parameters(), *model.buffers())} == {torch.bfloat16}


def test_under_autocast_the_stream_is_16_bits_wide() -> None:
    model = lively()
    assert model(prompts()).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(prompts()).dtype == torch.bfloat16
