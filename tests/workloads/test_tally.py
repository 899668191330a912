"""Operations, traffic and weights of single layers by hand."""

from __future__ import annotations

import pytest

from evaluation.costs import Tally, attention, convolution, group_norm, linear, moved
from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads.registry import ADAMW_BYTES, stated_cost

ENDLESS = 10**15
IMAGES = pytest.mark.parametrize("name", ["unet-sd15", "unet-sd15-1024", "dit-xl2", "dit-xl2-512"])


def test_layers_by_hand() -> None:
    assert linear(5, 3, 4) == Tally(2 * 5 * 3 * 4, 5 * 7, 16)
    assert linear(5, 3, 4, bias=False).weights == 12
    assert convolution(3, 8, 3, 10, stride=2) == Tally(2 * 3 * 8 * 9 * 25, 300 + 200, 216 + 8)
    assert attention(4, 6, 8) == Tally(2 * (2 * 4 * 6 * 8), 2 * 4 * 8 + 2 * 6 * 8)
    assert group_norm(7, 3) == Tally(0.0, 63.0, 6)
    assert moved(9) == Tally(0.0, 9.0, 0)


def test_tallies_add_up() -> None:
    assert Tally(1, 2, 3) + Tally(10, 20, 30) == Tally(11, 22, 33)
    assert Tally(1, 2, 3) * 4 == Tally(4, 8, 12)


def test_the_cost_of_a_step() -> None:
    costs = {
        "infer": {"flop": 100, "values": 10, "weights": 4},
        "train": {"flop": 9, "values": 3, "weights": 4},
    }
    infer, train, narrow = (
        stated_cost(costs, optimiser, mode, Precision.BF16, 2)  # type: ignore[arg-type]
        for mode, optimiser in (("infer", 40), ("train", 40), ("train", 32))
    )
    assert (infer.flop_per_item, infer.bytes_per_item) == (100.0, 2 * (10 + 2))
    assert (train.flop_per_item, train.bytes_per_item) == (9.0, 3 * 2 + 40 * 2)
    assert narrow.bytes_per_item == 3 * 2 + 32 * 2


def test_costs_that_are_no_network_s() -> None:
    costs = {"limit": {"flop": 0, "bytes": {"fp32": 0.5, "bf16": 0.25}}, "compute": {"flop": 2}}
    found = stated_cost(costs, 40, "limit", Precision.BF16, 8)
    assert (found.flop_per_item, found.bytes_per_item) == (0.0, 0.25)
    assert stated_cost(costs, 40, "compute", Precision.FP32, 8).bytes_per_item is None


@IMAGES
def test_costs_of_the_image_networks(name: str) -> None:
    spec = workloads.get(name).spec
    infer, train = spec.cost("infer", Precision.BF16, 8), spec.cost("train", Precision.BF16, 8)
    assert train.flop_per_item == 3 * infer.flop_per_item
    assert infer.bytes_per_item is not None
    assert train.bytes_per_item is not None
    assert infer.bytes_per_item < train.bytes_per_item
    endless = spec.cost("train", Precision.BF16, ENDLESS).bytes_per_item or 0
    assert spec.parameters is not None
    assert (train.bytes_per_item - endless) * 8 == pytest.approx(ADAMW_BYTES * spec.parameters)
    assert spec.item == "image-step"
