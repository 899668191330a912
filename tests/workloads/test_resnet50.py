"""What is ResNet-50's own: its optimiser, its two recipes, and batch norms that do something."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from gpuwise.model.question import Mode, Recipe
from gpuwise.workloads.job import Job
from gpuwise.workloads.models.convnet import ResNet, as_if_trained

from .conftest import BOTH, build, toy


def test_both_recipes_train_the_same_network() -> None:
    stock, script = (build(toy("resnet50", "train", recipe=recipe)) for recipe in BOTH)
    for _ in range(3):
        assert float(stock.step()) == pytest.approx(float(script.step()), rel=0.01)


def test_a_first_step_that_the_scaler_skips_leaves_the_momentum_whole() -> None:
    """torch's fused SGD makes its momentum in the first step, and where that is skipped, of anything."""
    job = build(toy("resnet50", "train", "fp16"))
    losses = [float(job.step()) for _ in range(8)]
    assert losses[1] == losses[0]  # skipped: the scale was too large
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize(("recipe", "fused"), [("stock", True), ("script", None)])
def test_the_optimiser_is_fused_and_its_momentum_ready(
    monkeypatch: pytest.MonkeyPatch, recipe: Recipe, fused: bool | None
) -> None:
    seen: list[torch.optim.Optimizer] = []
    real = torch.optim.SGD

    def remember(*arguments: object, **options: object) -> torch.optim.Optimizer:
        assert options["fused"] is fused
        seen.append(real(*arguments, **options))  # type: ignore[arg-type]
        return seen[0]

    monkeypatch.setattr(torch.optim, "SGD", remember)
    build(toy("resnet50", "train", "fp16", recipe))
    state = seen[0].state
    assert len(state) == (len(seen[0].param_groups[0]["params"]) if fused else 0)
    assert all(not bool(each["momentum_buffer"].any()) for each in state.values())


def compiled_without(kind: type[nn.Module], monkeypatch: pytest.MonkeyPatch, mode: Mode) -> Job:
    """A job whose compiler loses every module of `kind`."""

    def lose(model: nn.Module, **_: object) -> nn.Module:
        less = copy.deepcopy(model)
        for parent in list(less.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, kind):
                    setattr(parent, name, nn.Identity())
        return less

    monkeypatch.setattr(torch, "compile", lose)
    return build(toy("resnet50", mode, compiled=True))


def test_a_compiler_that_loses_the_batch_norms_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh batch norms are the identity in evaluation: losing them would change nothing."""
    faithful = compiled_without(nn.Dropout, monkeypatch, "infer")
    wrong = compiled_without(nn.BatchNorm2d, monkeypatch, "infer")
    assert faithful.mismatch is not None
    assert wrong.mismatch is not None
    assert faithful.mismatch() < 1e-6
    assert wrong.mismatch() > 0.1


def test_training_starts_from_fresh_batch_norms(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[nn.Module] = []
    monkeypatch.setattr("gpuwise.workloads.models.convnet.as_if_trained", given.append)
    build(toy("resnet50", "train"))
    assert given == []
    build(toy("resnet50", "infer"))
    assert len(given) == 1


def test_the_same_seed_gives_the_same_network() -> None:
    first, second = (build(toy("resnet50", "infer")).step() for _ in range(2))
    assert torch.equal(first, second)


def test_as_if_trained_keeps_activations_of_the_same_order() -> None:
    """fp16 ends at 65,504: a random network must not come near."""
    model, images = ResNet((1, 1, 1, 1), 8, classes=10).eval(), torch.randn(8, 3, 64, 64)
    with torch.inference_mode():
        fresh = model(images).std()
        as_if_trained(model)
        assert 0.3 < (model(images).std() / fresh).item() < 3
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_var is not None
            assert module.running_var.min() >= 0.5
