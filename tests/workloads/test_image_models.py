"""Size and cost of the image classifiers: formulas, the networks themselves, torchvision's tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from evaluation import costs
from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads import convnet
from gpuwise.workloads.models import vit
from gpuwise.workloads.models.convnet import ResNet, as_if_trained, classifier, scale_residuals
from gpuwise.workloads.models.vit import VisionTransformer

from .torchvision_names import RULES, torchvision_name

NETS: dict[str, Callable[..., nn.Module]] = {
    "resnet50": ResNet,
    **{n: partial(classifier, convnet.network(n)) for n in ("resnet152", "inception-v3", "googlenet")},
    "vit-b16": lambda: VisionTransformer(vit.SHAPE),
}
IMAGE = {name: 299 if name == "inception-v3" else 224 for name in NETS}
PARAMETERS = {
    "resnet50": 25_557_032,
    "resnet152": 60_192_808,
    "inception-v3": 27_161_264,
    "googlenet": 13_004_888,
    "vit-b16": 86_567_656,
}
MULTIPLY_ADDS = {
    "resnet50": 4.09e9,
    "resnet152": 11.51e9,
    "inception-v3": 5.71e9,
    "googlenet": 1.50e9,
    "vit-b16": 17.56e9,
}
"""As torchvision documents them (GFLOPS in its tables of weights), forward."""
EVERY = pytest.mark.parametrize("name", NETS)


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def on_meta(name: str) -> nn.Module:
    with torch.device("meta"):
        return NETS[name]()


def counted(name: str, *, training: bool) -> float:
    """Operations of one image through the network itself."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        on_meta(name).train(training)(torch.empty(2, 3, IMAGE[name], IMAGE[name]))
    return counter.get_total_flops() / 2


@EVERY
def test_the_network_has_as_many_parameters_as_torchvision(name: str) -> None:
    assert parameters(on_meta(name)) == PARAMETERS[name] == workloads.get(name).spec.parameters


@EVERY
def test_operations_are_those_the_network_does(name: str) -> None:
    cost = workloads.get(name).spec.cost
    assert cost("infer", Precision.BF16, 8).flop_per_item == counted(name, training=False)
    assert cost("train", Precision.BF16, 8).flop_per_item == 3 * counted(name, training=True)


@EVERY
def test_multiply_adds_are_those_torchvision_documents(name: str) -> None:
    found = workloads.get(name).spec.cost("infer", Precision.BF16, 8).flop_per_item / 2
    assert found == pytest.approx(MULTIPLY_ADDS[name], rel=0.01)


def test_inference_has_no_auxiliary_classifiers() -> None:
    with torch.device("meta"):
        assert parameters(NETS["googlenet"](auxiliary=False)) == 6_624_904
        assert parameters(NETS["inception-v3"](auxiliary=False)) == 23_834_568
    assert costs.googlenet_count(auxiliary=False).parameters == 6_624_904
    assert costs.googlenet_count(auxiliary=True).parameters == 13_004_888
    assert costs.inception_count(auxiliary=False).parameters == 23_834_568
    assert costs.inception_count(auxiliary=True).parameters == 27_161_264


def test_the_layers_of_a_resnet_hold_its_parameters() -> None:
    depths = convnet.network("resnet152").depths
    assert costs.resnet_count(depths).parameters == 60_192_808
    assert len(list(costs.convolutions(depths))) == 155


@EVERY
def test_bytes_fall_with_the_batch_and_are_more_in_training(name: str) -> None:
    cost = workloads.get(name).spec.cost
    for mode in ("train", "infer"):
        found = [cost(mode, Precision.BF16, batch).bytes_per_item or 0.0 for batch in (1, 8, 64, 512)]
        assert found == sorted(found, reverse=True)
        assert found[-1] < (cost(mode, Precision.FP32, 512).bytes_per_item or 0.0)
    assert (cost("infer", Precision.BF16, 64).bytes_per_item or 0) < (
        cost("train", Precision.BF16, 64).bytes_per_item or 0
    )


@pytest.mark.parametrize("name", RULES)
def test_no_two_of_our_names_become_one(name: str) -> None:
    ours = list(on_meta(name).state_dict())
    assert len({torchvision_name(name, x) for x in ours}) == len(ours)


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("resnet152", "layer3.35.bn3.bias", "layer3.35.bn3.bias"),
        ("googlenet", "conv1.conv.weight", "conv1.conv.weight"),
        ("googlenet", "inception3a.0.0.conv.weight", "inception3a.branch1.conv.weight"),
        ("googlenet", "inception4e.2.1.bn.running_var", "inception4e.branch3.1.bn.running_var"),
        ("googlenet", "inception5b.3.1.conv.weight", "inception5b.branch4.1.conv.weight"),
        ("googlenet", "auxiliaries.inception4d.fc2.bias", "aux2.fc2.bias"),
        ("inception-v3", "Conv2d_1a_3x3.bn.weight", "Conv2d_1a_3x3.bn.weight"),
        ("inception-v3", "Mixed_5d.3.1.conv.weight", "Mixed_5d.branch_pool.conv.weight"),
        ("inception-v3", "Mixed_6a.0.0.conv.weight", "Mixed_6a.branch3x3.conv.weight"),
        ("inception-v3", "Mixed_6e.2.4.conv.weight", "Mixed_6e.branch7x7dbl_5.conv.weight"),
        ("inception-v3", "Mixed_7a.1.3.conv.weight", "Mixed_7a.branch7x7x3_4.conv.weight"),
        ("inception-v3", "Mixed_7c.1.1.1.0.bn.bias", "Mixed_7c.branch3x3_2b.bn.bias"),
        ("inception-v3", "auxiliaries.Mixed_6e.layers.2.conv.weight", "AuxLogits.conv1.conv.weight"),
        ("inception-v3", "auxiliaries.Mixed_6e.fc.weight", "AuxLogits.fc.weight"),
        ("vit-b16", "class_token", "class_token"),
        (
            "vit-b16",
            "layers.11.attention.qkv.bias",
            "encoder.layers.encoder_layer_11.self_attention.in_proj_bias",
        ),
        ("vit-b16", "head.weight", "heads.head.weight"),
    ],
)
def test_our_names_are_in_the_networks_and_have_torchvisions_beside_them(
    name: str, ours: str, theirs: str
) -> None:
    assert ours in on_meta(name).state_dict()
    assert torchvision_name(name, ours) == theirs


@pytest.mark.parametrize("name", ["resnet152", "inception-v3", "googlenet"])
def test_activations_of_an_untrained_network_stay_far_from_the_end_of_fp16(name: str) -> None:
    """In inference, where nothing normalises by the batch; 65,504 is the end."""
    model = NETS[name]().eval()
    as_if_trained(model)
    if name == "resnet152":
        scale_residuals(model, convnet.network(name).residual)
    largest = [0.0]
    for module in model.modules():
        module.register_forward_hook(lambda _, __, y: largest.append(float(y.abs().max())))
    with torch.inference_mode():
        logits = model(torch.randn(1, 3, 96, 96))
    assert max(largest) < 1000
    assert 0.1 < float(logits.std()) < 10


def test_the_class_token_sees_every_patch_and_its_position() -> None:
    model = VisionTransformer(vit.TOY, 10).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    images = torch.randn(1, 3, 32, 32)
    logits = model(images)
    changed = images.clone()
    changed[..., -1, -1] += 1.0
    assert not torch.allclose(model(changed), logits)
    halves = torch.cat([images[..., 16:], images[..., :16]], -1)
    assert not torch.allclose(model(halves), logits)
