"""Layers as data: what they count, and that the modules built from them agree."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from evaluation.costs import Count, dense, image_lines, through, through_all
from gpuwise.workloads.convnet import Branches, Conv, Layer, Pool, same, shrunk
from gpuwise.workloads.models.convnet import BranchingNet, Joined, build, channels_after, channels_of

EVERY_KIND = [
    Conv(6),
    Conv(6, (3, 3), 2),
    Conv(6, (7, 7), 2, (3, 3)),
    same(6, 5),
    same(6, 1, 7),
    same(6, 7, 1),
    Pool("max", 3, 2),
    Pool("max", 3, 2, ceil=True),
    Pool("max", 2, 2, ceil=True),
    Pool("max", 3, 1, 1, ceil=True),
    Pool("mean", 3, 1, 1),
    Pool("mean", 5, 3),
    Branches(((Conv(2),), (Conv(3), same(4, 3)), (Pool("mean", 3, 1, 1), Conv(5)))),
    Branches(((Conv(2, (3, 3), 2),), (Pool("max", 3, 2),))),
]


@pytest.mark.parametrize("side", [17, 20])
@pytest.mark.parametrize("layer", EVERY_KIND, ids=str)
def test_the_module_has_the_shape_and_weights_that_the_line_counts(layer: Layer, side: int) -> None:
    count, (channels, out) = through(layer, (4, side))
    module = build(layer, 4)
    assert module(torch.randn(2, 4, side, side)).shape == (2, channels, out, out)
    assert sum(p.numel() for p in module.parameters()) == count.parameters
    assert channels_of((layer,), 4) == channels


def test_a_convolution_counts_its_products_and_both_its_sides() -> None:
    count, shape = through(Conv(6, (3, 3), 2), (4, 9))
    assert shape == (6, 4)
    assert count == Count(products=4 * 6 * 9 * 16, read=4 * 81, written=6 * 16, parameters=4 * 6 * 9 + 2 * 6)


def test_every_branch_reads_the_same_input() -> None:
    count, shape = through(Branches(((Conv(2),), (Conv(3),))), (4, 5))
    assert shape == (5, 5)
    assert (count.read, count.written) == (2 * 4 * 25, 5 * 25)


def test_branches_that_disagree_on_the_side_are_refused() -> None:
    with pytest.raises(AssertionError, match="side"):
        through(Branches(((Conv(2),), (Conv(2, (3, 3)),))), (4, 9))


def test_pooled_values_are_those_of_both_sides() -> None:
    assert through(Pool("max", 2, 2), (4, 6)) == (Count(pooled=4 * (36 + 9)), (4, 3))


def test_counts_add_up_along_a_chain() -> None:
    first, middle = through(Conv(6), (4, 8))
    second, end = through(same(2, 3), middle)
    assert through_all((Conv(6), same(2, 3)), (4, 8)) == (first + second, end)


def test_the_passes_of_the_docstring() -> None:
    forward = Count(products=5, read=100, written=10, pooled=1000, parameters=7)
    train, infer = image_lines(forward, Count())["train"], image_lines(Count(), forward)["infer"]
    assert (train.flop, infer.flop) == (30, 10)
    assert (train.values, infer.values) == (11 * 10 + 3 * 100 + 2 * 1000, 1110)
    assert train.weights == infer.weights == 7


def test_a_linear_layer_has_a_bias() -> None:
    assert dense(4, 3).parameters == sum(p.numel() for p in nn.Linear(4, 3).parameters())


def test_a_toy_has_the_same_layers_with_fewer_channels() -> None:
    layer = Branches(((Conv(64),), (Pool("max", 3, 1, 1), same(4, 3))))
    assert shrunk(layer, 8) == Branches(((Conv(8),), (Pool("max", 3, 1, 1), same(1, 3))))


def test_joined_chains_keep_their_order() -> None:
    joined = Joined([nn.Identity(), nn.ReLU()])
    x = torch.tensor([[[[-1.0]]]])
    assert joined(x).flatten().tolist() == [-1.0, 0.0]


def test_auxiliaries_hear_their_layer_in_training_only() -> None:
    layers: dict[str, Layer] = {"one": Conv(4), "two": Conv(6)}
    assert channels_after(layers, "one") == 4
    head = nn.Sequential(nn.Flatten(), nn.Linear(4 * 9, 5))
    net = BranchingNet(layers, {"one": head}, dropout=0.0, classes=7)
    x = torch.randn(2, 3, 3, 3)
    logits, heard = net(x)
    assert (logits.shape, heard.shape) == ((2, 7), (2, 5))
    torch.testing.assert_close(heard, head(net.one(x)))
    assert net.eval()(x).shape == (2, 7)
