"""Operations and bytes of one item: the formulas against a count of what torch really runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import asdict

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from evaluation import costs
from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.model.question import Cost, Mode
from gpuwise.workloads import bert, limits, registry
from gpuwise.workloads.bert import BertShape
from gpuwise.workloads.models.bert import BertForQuestionAnswering
from gpuwise.workloads.models.convnet import ResNet

ENDLESS = 10**15
"""A batch at which the weights' share of an item's traffic vanishes."""

resnet50 = workloads.get("resnet50").spec.cost
bert_large = workloads.get("bert-large").spec.cost
matmul = workloads.get("matmul").spec.cost
MODELS = pytest.mark.parametrize("cost", [resnet50, bert_large], ids=["resnet50", "bert-large"])
TABLE = tomllib.loads(registry.TABLE.read_text(encoding="utf-8"))
CostOf = Callable[[Mode, Precision, int], Cost]


def forward(cost: CostOf) -> float:
    """Operations of one forward pass of one item."""
    return cost("infer", Precision.BF16, 1).flop_per_item


def traffic(cost: CostOf, mode: Mode, precision: Precision, batch: int) -> float:
    """Bytes an item."""
    found = cost(mode, precision, batch).bytes_per_item
    assert found is not None
    return found


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_resnet50_has_as_many_operations_and_parameters_as_stated() -> None:
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        model = ResNet()
        model(torch.empty(2, 3, 224, 224))
    assert counter.get_total_flops() / 2 == pytest.approx(forward(resnet50), rel=1e-3)
    assert parameters(model) == 25_557_032 == workloads.get("resnet50").spec.parameters


@pytest.mark.parametrize("fused", [True, False])
def test_bert_large_has_as_many_operations_as_stated(fused: bool) -> None:
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        ids = torch.empty(2, bert.TOKENS, dtype=torch.long)
        BertForQuestionAnswering(BertShape(), fused=fused).eval()(ids, ids)
    counted = {str(name): flop for name, flop in counter.get_flop_counts()["Global"].items()}
    attention = 2 * 4 * bert.LARGE.layers * bert.LARGE.hidden * bert.TOKENS**2
    assert counted["aten.bmm"] == attention, "attention is not in the count"
    assert counter.get_total_flops() / 2 == pytest.approx(forward(bert_large), rel=0.01)


def test_bert_large_has_as_many_parameters_as_stated() -> None:
    with torch.device("meta"):
        tuned, parity = (BertForQuestionAnswering(BertShape(), fused=fused) for fused in (True, False))
    assert parameters(tuned) == 332_535_810 == workloads.get("bert-large").spec.parameters
    assert tuned.pooler is None
    assert parity.pooler is not None
    assert parameters(parity) - parameters(tuned) == parameters(parity.pooler) == 1024 * 1025


def test_magnitudes_are_those_of_the_docstrings() -> None:
    assert forward(resnet50) == pytest.approx(8.18e9, rel=0.001)
    assert forward(bert_large) == pytest.approx(2.46e11, rel=0.003)


@MODELS
def test_backward_is_twice_forward(cost: CostOf) -> None:
    infer, train = cost("infer", Precision.BF16, 8), cost("train", Precision.BF16, 8)
    assert train.flop_per_item == 3 * infer.flop_per_item


@MODELS
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_the_weights_share_of_the_bytes_falls_with_the_batch(cost: CostOf, mode: Mode) -> None:
    bytes_at = [traffic(cost, mode, Precision.BF16, batch) for batch in (1, 8, 64, ENDLESS)]
    assert bytes_at == sorted(bytes_at, reverse=True)
    assert len(set(bytes_at)) == 4
    weights = bytes_at[0] - bytes_at[-1]
    assert bytes_at[1] - bytes_at[-1] == pytest.approx(weights / 8)


@MODELS
def test_the_weights_move_once_in_inference_and_more_in_training(cost: CostOf) -> None:
    weights = {
        mode: traffic(cost, mode, Precision.FP32, 1) - traffic(cost, mode, Precision.FP32, ENDLESS)
        for mode in MODES
    }
    count = 25_557_032 if cost is resnet50 else 332_535_810
    assert weights["infer"] == pytest.approx(4 * count)
    assert weights["train"] == pytest.approx((32 if cost is resnet50 else 40) * count)


MODES: tuple[Mode, ...] = ("train", "infer")


@MODELS
@pytest.mark.parametrize("precision", [Precision.FP32, Precision.BF16])
@pytest.mark.parametrize("batch", [1, 256])
def test_inference_moves_less_than_training(cost: CostOf, precision: Precision, batch: int) -> None:
    assert traffic(cost, "infer", precision, batch) < traffic(cost, "train", precision, batch)


@MODELS
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_activations_take_half_the_bytes_in_16_bit(cost: CostOf, mode: Mode) -> None:
    full, half = (traffic(cost, mode, precision, ENDLESS) for precision in (Precision.FP32, Precision.BF16))
    assert full == pytest.approx(2 * half)
    assert traffic(cost, mode, Precision.TF32, ENDLESS) == full
    assert traffic(cost, mode, Precision.FP16, ENDLESS) == half
    assert cost(mode, Precision.TF32, 64) == cost(mode, Precision.FP32, 64)


def test_arithmetic_does_not_depend_on_precision_or_batch() -> None:
    for spec in workloads.specs():
        mode = spec.modes[0]
        assert (
            spec.cost(mode, Precision.FP32, 1).flop_per_item
            == spec.cost(mode, Precision.BF16, 64).flop_per_item
        )


def test_the_table_holds_what_is_counted() -> None:
    table = {name: stated for module in TABLE.values() for name, stated in module.items()}
    for name, modes in costs.every().items():
        for mode, line in modes.items():
            assert table[name][mode] == asdict(line), (name, mode)


def test_a_limit_counts_its_own_item() -> None:
    copy = workloads.get("copy").spec.cost
    assert matmul("limit", Precision.BF16, 1).flop_per_item == 1.0
    assert copy("limit", Precision.FP32, 1) == Cost(flop_per_item=0.0, bytes_per_item=1.0)


def test_three_square_matrices_are_moved_for_two_n_cubed_operations() -> None:
    side = limits.PRODUCT_SIDE
    moved = traffic(matmul, "limit", Precision.BF16, 1) * 2 * side**3
    assert moved == pytest.approx(3 * side**2 * 2)
