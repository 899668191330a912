"""The chunked cross entropy against torch's own on whole logits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from gpuwise.workloads.models.cross_entropy import CHUNK_BYTES, chunk_for, chunked_cross_entropy

BATCH, TOKENS, WIDTH, VOCABULARY = 2, 5, 8, 11


def problem(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    hidden = torch.randn(BATCH, TOKENS, WIDTH, dtype=dtype, requires_grad=True)
    weight = torch.randn(VOCABULARY, WIDTH, dtype=dtype, requires_grad=True)
    return hidden, weight, torch.randint(VOCABULARY, (BATCH, TOKENS))


@pytest.mark.parametrize("chunk", [1, 3, 5, 10, 1000, None])
def test_loss_and_gradients_are_those_of_whole_logits(chunk: int | None) -> None:
    hidden, weight, targets = problem()
    loss = chunked_cross_entropy(hidden, weight, targets, chunk)
    found = torch.autograd.grad(3.0 * loss, (hidden, weight))
    logits = functional.linear(hidden, weight).flatten(0, 1)
    expected = functional.cross_entropy(logits, targets.flatten())
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(found, torch.autograd.grad(3.0 * expected, (hidden, weight)))


def test_a_frozen_head_gets_no_gradient() -> None:
    hidden, weight, targets = problem()
    chunked_cross_entropy(hidden, weight.requires_grad_(False), targets).backward()
    assert hidden.grad is not None
    assert weight.grad is None


def test_gradients_come_in_the_type_of_what_they_are_of() -> None:
    hidden, _, targets = problem(torch.bfloat16)
    weight = torch.randn(VOCABULARY, WIDTH, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = chunked_cross_entropy(hidden, weight, targets, 4)
    loss.backward()
    assert loss.dtype == torch.float32
    assert hidden.grad is not None
    assert weight.grad is not None
    assert (hidden.grad.dtype, weight.grad.dtype) == (torch.bfloat16, torch.float32)
    logits = functional.linear(hidden.float(), weight).flatten(0, 1).detach()
    expected = float(functional.cross_entropy(logits, targets.flatten()))
    assert float(loss.detach()) == pytest.approx(expected, rel=0.03)


def test_a_chunk_of_logits_is_a_gibibyte_at_most() -> None:
    for vocabulary, tokens in ((128_256, 2048), (50_304, 4096), (10**10, 1)):
        assert chunk_for(vocabulary) == tokens
    assert CHUNK_BYTES >= 2048 * 4 * 128_256
