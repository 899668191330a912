"""Every image workload runs and learns at toy size."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads.models import vit
from gpuwise.workloads.models.convnet import Bottleneck, ResNet, scale_residuals, weighted_loss

from .conftest import BATCH, build, toy

NAMES = ["resnet152", "inception-v3", "googlenet", "vit-b16"]
EVERY = pytest.mark.parametrize("name", NAMES)
ON_CPU = pytest.mark.parametrize("precision", ["fp32", "bf16"])
LOSSES = {"resnet152": 1.0, "inception-v3": 1.4, "googlenet": 1.6, "vit-b16": 1.0}
"""How many cross entropies the loss adds up, auxiliary ones by their weight."""


@EVERY
@ON_CPU
def test_inference_runs(name: str, precision: Precision) -> None:
    job = build(toy(name, "infer", precision))
    first, second = job.step(), job.step()
    assert job.items == BATCH
    assert first.shape == (BATCH, 1000)
    assert first.dtype == (torch.bfloat16 if precision == "bf16" else torch.float32)
    assert bool(first.isfinite().all())
    assert float(first.std()) > 0.05
    assert torch.equal(first, second)  # evaluation mode: no dropout, no batch statistics


@EVERY
@ON_CPU
def test_training_runs_and_learns_its_one_batch(name: str, precision: Precision) -> None:
    job = build(toy(name, "train", precision))
    losses = [float(job.step()) for _ in range(10)]
    assert all(map(math.isfinite, losses))
    assert losses[0] == pytest.approx(LOSSES[name] * math.log(1000), rel=0.1)
    if name == "vit-b16":  # its learning rate is so small on purpose that some hundred steps do not fit
        assert losses[-1] == pytest.approx(losses[0], rel=0.01)
    else:
        assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize(("precision", "last"), [("bf16", True), ("fp32", False)])
def test_channels_are_last_only_where_tensor_cores_run(
    precision: Precision, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []

    def forward(self: ResNet, images: Tensor) -> Tensor:
        seen.append(images)
        return images.new_zeros(len(images), 1000)

    monkeypatch.setattr(ResNet, "forward", forward)
    build(toy("resnet152", "infer", precision)).step()
    assert seen[0].is_contiguous(memory_format=torch.channels_last) is last


@ON_CPU
def test_a_vision_transformer_learns_at_a_usual_rate(
    precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vit, "LEARNING_RATE", 1e-3)
    job = build(toy("vit-b16", "train", precision))
    losses = [float(job.step()) for _ in range(10)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("name", ["resnet152", "inception-v3", "googlenet"])
def test_inference_has_batch_norms_that_do_something(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[nn.Module] = []
    monkeypatch.setattr("gpuwise.workloads.models.convnet.as_if_trained", given.append)
    build(toy(name, "train"))
    assert given == []
    build(toy(name, "infer"))
    assert len(given) == 1


def test_scaled_residuals_leave_the_shortcut_alone() -> None:
    model = ResNet((1, 1, 1, 1), 8, classes=10).eval()
    block = model.layer1[0]
    assert isinstance(block, Bottleneck)
    nn.init.normal_(block.bn3.weight)
    x = torch.randn(2, 8, 6, 6)
    assert block.downsample is not None
    shortcut = block.downsample(x)
    inner = functional.relu(block.bn2(block.conv2(functional.relu(block.bn1(block.conv1(x))))))
    added = block.bn3(block.conv3(inner))
    scale_residuals(model, 0.25)
    torch.testing.assert_close(block(x), torch.relu(shortcut + 0.25 * added))


def test_auxiliary_losses_are_weighted() -> None:
    labels = torch.tensor([1, 0])
    logits = [torch.randn(2, 3) for _ in range(3)]
    single: list[Tensor] = [functional.cross_entropy(x, labels) for x in logits]
    torch.testing.assert_close(
        weighted_loss(logits, labels, 0.3), single[0] + 0.3 * single[1] + 0.3 * single[2]
    )


@pytest.mark.parametrize(("name", "image"), [("inception-v3", 299), ("googlenet", 224), ("vit-b16", 224)])
def test_full_size_is_not_the_toy(name: str, image: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One image through the whole network, as it is measured."""
    shapes: list[torch.Size] = []
    real = torch.randn

    def remember(*size: int, **options: object) -> Tensor:
        found = real(*size, **options)  # type: ignore[call-overload]
        shapes.append(found.shape)
        return found  # type: ignore[no-any-return]

    monkeypatch.setattr(torch, "randn", remember)
    job = workloads.get(name).build(replace(toy(name, "infer"), size="full"), 1)
    assert shapes == [(1, 3, image, image)]
    assert job.step().shape == (1, 1000)
