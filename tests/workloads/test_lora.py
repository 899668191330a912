"""Adapters: start as the frozen network, train alone, one pair for each part of a joined product."""

from __future__ import annotations

import torch
from torch import nn

from gpuwise.workloads.models.decoder import build_decoder
from gpuwise.workloads.models.llm_jobs import ALPHA, LoraLinear, add_lora

from .conftest import SHAPES

SHAPE = SHAPES["toy"]


def test_fresh_adapters_change_nothing() -> None:
    model = build_decoder(SHAPE, 8, torch.float32, "cpu")
    tokens = torch.randint(SHAPE.vocabulary, (2, 8))
    before = model(tokens)
    torch.testing.assert_close(add_lora(model)(tokens), before)


def test_only_adapters_are_trained() -> None:
    model = add_lora(build_decoder(SHAPE, 8, torch.float32, "cpu"))
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    # Joined: query, key, value and gate, up. Four layers with one `down`, seven parts with an `up`.
    assert len(names) == SHAPE.layers * (4 + 7)
    assert all(".down" in name or ".up." in name for name in names)
    frozen = {name: p.clone() for name, p in model.named_parameters() if not p.requires_grad}
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.1)
    for _ in range(2):
        model(torch.randint(SHAPE.vocabulary, (2, 8))).square().sum().backward()
        optimizer.step()
    after = dict(model.named_parameters())
    assert all(torch.equal(after[name], p) for name, p in frozen.items())
    assert all(after[name].grad is not None for name in names)
    assert all(bool(after[name].any()) for name in names)


def test_an_adapter_by_hand() -> None:
    base = nn.Linear(6, 5, bias=False)
    layer = LoraLinear(base, (3, 2), rank=4)
    for up in layer.up:
        nn.init.normal_(up)
    x = torch.randn(2, 7, 6)
    low = layer.down @ x.transpose(1, 2)  # (2, 8, 7)
    added = torch.cat((layer.up[0] @ low[:, :4], layer.up[1] @ low[:, 4:]), dim=1).transpose(1, 2)
    torch.testing.assert_close(layer(x), base(x) + ALPHA / 4 * added)


def test_adapters_of_a_16_bit_network_are_kept_in_fp32() -> None:
    model = add_lora(build_decoder(SHAPE, 8, torch.bfloat16, "cpu"))
    assert {p.dtype for p in model.parameters() if p.requires_grad} == {torch.float32}
    assert {p.dtype for p in model.parameters() if not p.requires_grad} == {torch.bfloat16}
