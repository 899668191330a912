"""The reference models: size, arithmetic, mathematics, checked without a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from gpuwise.workloads import bert_large, resnet50
from gpuwise.workloads.bert_adam import BertAdam
from gpuwise.workloads.job import relative_difference
from gpuwise.workloads.models.bert import (
    BertForQuestionAnswering,
    BertShape,
    FusedAttention,
    UnfusedAttention,
)
from gpuwise.workloads.models.resnet import Bottleneck, ResNet

TINY = BertShape(layers=2, hidden=32, heads=4, vocabulary=40, positions=16)


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_parameter_counts() -> None:
    with torch.device("meta"):
        assert parameters(ResNet()) == 25_557_032 == resnet50.PARAMETERS
        tuned = parameters(BertForQuestionAnswering(BertShape()))
        parity = parameters(BertForQuestionAnswering(BertShape(), fused=False))
    assert tuned == bert_large.PARAMETERS
    assert parity == tuned + 1024 * 1024 + 1024  # the pooler


def counted(model: nn.Module, *inputs: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        model(*inputs)
    return counter.get_total_flops()


def test_the_flop_formulas_agree_with_a_counter() -> None:
    with torch.device("meta"):
        images = torch.empty(1, 3, 224, 224)
        assert counted(ResNet(), images) == pytest.approx(resnet50.forward_flop(), rel=1e-3)
        ids = torch.empty(1, 384, dtype=torch.long)
        model = BertForQuestionAnswering(BertShape(), fused=False).eval()
        assert counted(model, ids, ids) == pytest.approx(bert_large.forward_flop(), rel=0.01)


@pytest.mark.parametrize("cost", [resnet50.cost, bert_large.cost])
def test_costs(cost) -> None:  # type: ignore[no-untyped-def]
    train, infer = cost("train", "bf16", 64), cost("infer", "bf16", 64)
    assert train.flop_per_item == 3 * infer.flop_per_item
    assert train.bytes_per_item > infer.bytes_per_item
    assert cost("train", "bf16", 256).bytes_per_item < train.bytes_per_item  # the optimiser is shared
    assert 1.5 < cost("train", "fp32", 256).bytes_per_item / cost("train", "bf16", 256).bytes_per_item <= 2
    assert cost("train", "tf32", 64) == cost("train", "fp32", 64)


def test_version_1_5_has_the_stride_in_the_3x3() -> None:
    block = Bottleneck(64, 32, stride=2)
    assert (block.conv1.stride, block.conv2.stride, block.conv3.stride) == ((1, 1), (2, 2), (1, 1))


def test_state_dict_names_are_torchvision_s() -> None:
    with torch.device("meta"):
        names = set(ResNet().state_dict())
    assert (
        len([n for n in names if not n.endswith(("running_mean", "running_var", "num_batches_tracked"))])
        == 161
    )
    assert {
        "conv1.weight",
        "bn1.running_mean",
        "layer1.0.downsample.0.weight",
        "layer1.0.downsample.1.bias",
        "layer3.5.conv3.weight",
        "fc.bias",
    } <= names


def test_both_attentions_are_the_same_mathematics() -> None:
    torch.manual_seed(0)
    fused, unfused = FusedAttention(TINY).eval(), UnfusedAttention(TINY).eval()
    parts = (unfused.query, unfused.key, unfused.value)
    with torch.no_grad():
        fused.qkv.weight.copy_(torch.cat([p.weight for p in parts]))
        fused.qkv.bias.copy_(torch.cat([p.bias for p in parts]))
    x = torch.randn(3, 7, 32)  # (B, T, C)
    mask = torch.zeros(3, 1, 1, 7)
    mask[:, :, :, -2:] = -10_000.0
    for additive in (None, mask):
        expected = unfused(x.transpose(0, 1), additive).transpose(0, 1)
        assert relative_difference(fused(x, additive), expected) < 1e-5


def test_a_mask_of_ones_changes_nothing() -> None:
    model = BertForQuestionAnswering(TINY, fused=False).eval()
    ids, segments = torch.randint(40, (2, 16)), torch.zeros(2, 16, dtype=torch.long)
    plain, masked = model(ids, segments), model(ids, segments, torch.ones(2, 16))
    assert torch.allclose(plain[0], masked[0], atol=1e-6)
    assert plain[0].shape == plain[1].shape == (2, 16)


def test_one_step_of_the_bert_optimiser() -> None:
    """Gradient 3 is clipped to 1; then m = 0.1, v = 0.001, step = lr * (m / (sqrt(v) + eps) + wd * w)."""
    weight, unused = nn.Parameter(torch.tensor([2.0])), nn.Parameter(torch.tensor([5.0]))
    optimizer = BertAdam([weight, unused], lr=0.1, weight_decay=0.01)
    weight.grad = torch.tensor([3.0])
    optimizer.step()
    assert weight.item() == pytest.approx(2 - 0.1 * (0.1 / (0.001**0.5 + 1e-6) + 0.01 * 2), abs=1e-4)
    assert unused.item() == 5.0


def test_relative_difference() -> None:
    a = torch.tensor([3.0, 4.0])
    assert relative_difference(a, a) == 0
    assert relative_difference(a * 1.1, a) == pytest.approx(0.1)
    assert relative_difference(torch.tensor([float("nan"), 1.0]), a) != relative_difference(a, a)
