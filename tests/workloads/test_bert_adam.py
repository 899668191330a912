"""The released BERT optimiser, by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gpuwise.workloads.models.bert import ScriptAdam


def parameter(gradient: list[float] | None) -> nn.Parameter:
    p = nn.Parameter(torch.tensor([1.0, -2.0]))
    p.grad = None if gradient is None else torch.tensor(gradient)
    return p


def test_one_update_by_hand() -> None:
    """Gradient (3, 4) has norm 5: clipped to (0.6, 0.8). No bias correction: mean / root is 3.16, not 1."""
    p = parameter([3.0, 4.0])
    ScriptAdam([p], lr=0.1, weight_decay=0.01).step()
    # 0.06 / (sqrt(0.001 * 0.36) + 1e-6) = 3.162111;  0.08 / (sqrt(0.001 * 0.64) + 1e-6) = 3.162153
    expected = [1 - 0.1 * (3.162111 + 0.01), -2 - 0.1 * (3.162153 - 0.02)]
    assert p.tolist() == pytest.approx(expected, abs=2e-6)


def test_weight_decay_can_be_left_out_of_a_group() -> None:
    p, q = parameter([3.0, 4.0]), parameter([3.0, 4.0])
    groups = [{"params": [p], "weight_decay": 0.0}, {"params": [q], "weight_decay": 0.01}]
    ScriptAdam(groups, lr=0.1).step()
    assert p.tolist() == pytest.approx([1 - 0.3162111, -2 - 0.3162153], abs=2e-6)
    assert (q - p).tolist() == pytest.approx([-0.001, 0.002], abs=2e-6)


def test_the_moments_accumulate() -> None:
    p = parameter([0.6, 0.8])
    optimizer = ScriptAdam([p], lr=0.1)
    optimizer.step()
    optimizer.step()
    state = optimizer.state[p]
    assert state["mean"].tolist() == pytest.approx([0.114, 0.152], rel=1e-5)
    assert state["square"].tolist() == pytest.approx([0.001999 * 0.36, 0.001999 * 0.64], rel=1e-5)


def test_each_tensors_gradient_is_clipped_to_norm_one_by_itself() -> None:
    large, small = parameter([300.0, 400.0]), parameter([0.03, 0.04])
    optimizer = ScriptAdam([large, small])
    optimizer.step()
    assert optimizer.state[large]["mean"].tolist() == pytest.approx([0.06, 0.08], rel=1e-5)
    assert optimizer.state[small]["mean"].tolist() == pytest.approx([0.003, 0.004], rel=1e-5)


def test_a_gradient_of_none_is_passed_over() -> None:
    p, q = parameter(None), parameter([3.0, 4.0])
    optimizer = ScriptAdam([p, q], lr=0.1)
    optimizer.step()
    assert p.tolist() == [1.0, -2.0]
    assert p not in optimizer.state
    assert q.tolist() != [1.0, -2.0]
