"""The same weights give the same output as torchvision's networks, where torchvision is installed."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from gpuwise.workloads.models.convnet import as_if_trained

from .test_image_models import IMAGE, NETS
from .torchvision_names import RULES, from_torchvision, torchvision_name

models = pytest.importorskip("torchvision.models", exc_type=ImportError)

THEIR_NAMES = {
    "resnet50": "resnet50",
    "resnet152": "resnet152",
    "googlenet": "googlenet",
    "inception-v3": "inception_v3",
    "vit-b16": "vit_b_16",
}
TOLERANCE = 1e-4


def theirs(name: str) -> nn.Module:
    """torchvision's network with random weights that leave nothing at zero or one."""
    options = {"init_weights": False} if name in ("googlenet", "inception-v3") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: nn.Module = getattr(models, THEIR_NAMES[name])(weights=None, **options)
    as_if_trained(model)
    if name == "vit-b16":
        nn.init.normal_(model.heads.head.weight, std=0.02)  # type: ignore[union-attr]
    return model


@pytest.mark.parametrize("name", RULES)
def test_every_name_of_torchvision_is_one_of_ours(name: str) -> None:
    with torch.device("meta"):
        ours, other = NETS[name](), theirs(name)
    assert {torchvision_name(name, x) for x in ours.state_dict()} == set(other.state_dict())


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_the_same_weights_give_the_same_output(name: str) -> None:
    other, ours = theirs(name).eval(), NETS[name]().eval()
    ours.load_state_dict(from_torchvision(name, other.state_dict(), ours.state_dict()))
    images = torch.randn(2, 3, IMAGE[name], IMAGE[name])
    with torch.inference_mode():
        expected, found = other(images), ours(images)
    assert float((found - expected).norm() / expected.norm()) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["googlenet", "inception-v3"])
def test_the_same_weights_give_the_same_auxiliary_outputs(name: str) -> None:
    """In training, dropout off; torchvision answers (logits, second auxiliary, first)."""
    other, ours = theirs(name).train(), NETS[name]().train()
    ours.load_state_dict(from_torchvision(name, other.state_dict(), ours.state_dict()))
    for module in (*other.modules(), *ours.modules()):
        if isinstance(module, nn.Dropout):
            module.eval()
    images = torch.randn(2, 3, IMAGE[name], IMAGE[name])
    with torch.no_grad():
        expected, found = other(images), ours(images)
    expected = (expected[0], *reversed(expected[1:]))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert float((x - y).norm() / y.norm()) < TOLERANCE
