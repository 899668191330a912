"""ResNet-50 v1.5 as torchvision has it: names, shapes and where the stride is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from gpuwise.workloads.models.convnet import Bottleneck, ResNet

DEPTHS = (3, 4, 6, 3)


@pytest.fixture(scope="module")
def model() -> ResNet:
    with torch.device("meta"):
        return ResNet()


def torchvision_names() -> Iterator[str]:
    """Keys of `torchvision.models.resnet50().state_dict()`."""
    statistics = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    yield "conv1.weight"
    yield from (f"bn1.{name}" for name in statistics)
    for layer, depth in enumerate(DEPTHS, start=1):
        for block in range(depth):
            prefix = f"layer{layer}.{block}"
            for i in (1, 2, 3):
                yield f"{prefix}.conv{i}.weight"
                yield from (f"{prefix}.bn{i}.{name}" for name in statistics)
            if block == 0:
                yield f"{prefix}.downsample.0.weight"
                yield from (f"{prefix}.downsample.1.{name}" for name in statistics)
    yield from ("fc.weight", "fc.bias")


def test_the_state_dict_has_the_names_of_torchvision(model: ResNet) -> None:
    assert list(model.state_dict()) == list(torchvision_names())
    assert len(model.state_dict()) == 320


def test_there_are_161_parameter_tensors(model: ResNet) -> None:
    assert len(list(model.parameters())) == 161
    assert sum(isinstance(module, nn.Conv2d) for module in model.modules()) == 53


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("conv1.weight", (64, 3, 7, 7)),
        ("layer1.0.conv1.weight", (64, 64, 1, 1)),
        ("layer1.0.downsample.0.weight", (256, 64, 1, 1)),
        ("layer3.0.conv2.weight", (256, 256, 3, 3)),
        ("layer4.2.conv3.weight", (2048, 512, 1, 1)),
        ("fc.weight", (1000, 2048)),
    ],
)
def test_shapes_are_those_of_torchvision(model: ResNet, name: str, shape: tuple[int, ...]) -> None:
    assert tuple(model.state_dict()[name].shape) == shape


def test_the_stride_sits_in_the_3x3_convolution(model: ResNet) -> None:
    for layer in (1, 2, 3, 4):
        for index, block in enumerate(getattr(model, f"layer{layer}")):
            assert isinstance(block, Bottleneck)
            stride = (2, 2) if layer > 1 and index == 0 else (1, 1)
            assert block.conv1.stride == block.conv3.stride == (1, 1)
            assert block.conv2.stride == stride
            if index == 0:
                assert isinstance(block.downsample, nn.Sequential)
                assert block.downsample[0].stride == stride
            else:
                assert block.downsample is None


def test_no_convolution_has_a_bias(model: ResNet) -> None:
    assert all(m.bias is None for m in model.modules() if isinstance(m, nn.Conv2d))


def test_an_image_becomes_a_score_per_class(model: ResNet) -> None:
    assert model(torch.empty(2, 3, 224, 224, device="meta")).shape == (2, 1000)


def test_the_shortcut_is_added_before_the_last_relu() -> None:
    block = Bottleneck(8, 2, 1).eval()
    nn.init.zeros_(block.conv3.weight)
    x = torch.randn(2, 8, 4, 4)
    torch.testing.assert_close(block(x.clone()), torch.relu(x))


def test_random_weights_keep_activations_of_order_one() -> None:
    logits = ResNet((1, 1, 1, 1), 8, classes=10)(torch.randn(8, 3, 64, 64))
    assert 0.05 < logits.detach().std().item() < 20
