"""From a configuration to a step: precision switches, recipes and every workload at toy size."""

from __future__ import annotations

import math
import shutil
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.model.question import Mode, Recipe, Scope, Switches
from gpuwise.workloads.bert import TOY
from gpuwise.workloads.job import (
    autocast,
    inference_job,
    relative_difference,
    set_precision,
    training_job,
)
from gpuwise.workloads.models import convnet
from gpuwise.workloads.models.convnet import ResNet

from .conftest import BATCH, BOTH, BOTH_RECIPES, Name, build, toy

CAN_COMPILE = shutil.which("g++") and Path(sysconfig.get_path("include"), "Python.h").exists()
NAMES = pytest.mark.parametrize("name", ["resnet50", "bert-large"])
ON_CPU = pytest.mark.parametrize("precision", ["fp32", "bf16"])


@NAMES
@BOTH_RECIPES
@ON_CPU
def test_inference_runs(name: Name, recipe: Recipe, precision: Precision) -> None:
    job = build(toy(name, "infer", precision, recipe))
    outputs = [job.step() for _ in range(3)]
    assert job.items == BATCH
    assert job.mismatch is None
    for output in outputs:
        assert output.shape == ((BATCH, 1000) if name == "resnet50" else (BATCH, 32))
        assert output.dtype == (torch.bfloat16 if precision == "bf16" else torch.float32)
        assert bool(output.isfinite().all())
        assert torch.equal(output, outputs[0])  # evaluation mode: no dropout, no batch statistics


@NAMES
@BOTH_RECIPES
@ON_CPU
def test_training_runs_and_learns_its_one_batch(name: Name, recipe: Recipe, precision: Precision) -> None:
    job = build(toy(name, "train", precision, recipe))
    losses = [float(job.step()) for _ in range(30)]
    assert job.items == BATCH
    assert job.mismatch is None
    assert all(map(math.isfinite, losses))
    # A loss at random: ln 1000 classes, ln 32 tokens.
    assert losses[0] == pytest.approx(math.log(1000 if name == "resnet50" else 32), rel=0.1)
    if name == "resnet50":
        assert losses[-1] < 0.1 * losses[0]
    else:  # its learning rate is so small on purpose that some hundred steps do not fit the batch
        assert losses[-1] < 1.05 * losses[0]
        assert losses[-1] > 0.8 * losses[0]


@NAMES
@BOTH_RECIPES
def test_a_training_loss_is_a_detached_scalar(name: Name, recipe: Recipe) -> None:
    loss = build(toy(name, "train", recipe=recipe)).step()
    assert loss.shape == ()
    assert not loss.requires_grad


@BOTH_RECIPES
@NAMES
def test_bf16_really_runs_in_16_bit(name: Name, recipe: Recipe) -> None:
    """The same seed gives the same first loss up to bf16's 8 bits, but not the same to the last."""
    full, half = (float(build(toy(name, "train", p, recipe)).step()) for p in ("fp32", "bf16"))
    assert full != half
    assert half == pytest.approx(full, rel=0.02)


@BOTH_RECIPES
def test_a_step_is_one_descent_and_gradients_do_not_add_up(recipe: Recipe) -> None:
    """Loss w * 3 has gradient 3 at any w; with a rate of 0.1 each step takes off 0.3."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    config = toy("resnet50", "train", recipe=recipe)
    job = training_job(model, (torch.tensor([[3.0]]),), lambda y: y.sum(), optimizer, config, 7)
    losses = [float(job.step()) for _ in range(3)]
    assert losses == pytest.approx([3.0, 2.1, 1.2])
    assert model.weight.item() == pytest.approx(0.1)
    assert model.weight.grad is None
    assert model.training
    assert job.items == 7


@BOTH_RECIPES
def test_a_rehearsal_is_a_step_that_changes_no_weight(recipe: Recipe) -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    seen: list[int] = []
    model.register_forward_hook(lambda *_: seen.append(1))
    before = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    config = toy("resnet50", "train", "fp32", recipe)
    job = training_job(model, (torch.tensor([[3.0]]),), lambda y: y.sum(), optimizer, config, 7)
    assert job.rehearse is not None
    job.rehearse()
    assert seen == [1]
    assert torch.equal(model.weight, before)
    job.step()
    assert model.weight.item() == pytest.approx(before.item() - 0.5 * 3.0)  # its gradient is not added


def test_stock_inference_casts_the_weights_and_script_leaves_them() -> None:
    for recipe, dtype in (("stock", torch.bfloat16), ("script", torch.float32)):
        model = torch.nn.Linear(4, 2)
        inference_job(model, (torch.randn(1, 4),), toy("resnet50", "infer", "bf16", recipe), 1)
        assert model.weight.dtype == dtype
        assert not model.training


def test_whole_numbers_are_not_cast() -> None:
    model = torch.nn.Embedding(8, 2)
    job = inference_job(model, (torch.arange(4),), toy("bert-large", "infer", "bf16"), 4)
    assert job.step().dtype == torch.bfloat16


def test_the_first_of_several_outputs_is_returned_without_a_graph() -> None:
    class Two(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
            y = super().forward(x)
            return y, -y

    model, x = Two(4, 2), torch.randn(3, 4)
    output = inference_job(model, (x,), toy("bert-large", "infer"), 3).step()
    torch.testing.assert_close(output, model(x)[0])
    assert output.is_inference()


@pytest.mark.parametrize("precision", ["fp32", "tf32", "fp16", "bf16"])
@BOTH_RECIPES
def test_the_switches_are_those_of_the_precision(precision: Precision, recipe: Recipe) -> None:
    cudnn = torch.backends.cudnn
    cudnn.allow_tf32 = cudnn.benchmark = precision != "tf32"  # the opposite of what some must find
    set_precision(toy("resnet50", "train", precision, recipe))
    tf32 = precision == "tf32"
    assert torch.get_float32_matmul_precision() == ("high" if tf32 else "highest")
    assert cudnn.allow_tf32 is tf32
    assert cudnn.benchmark is (recipe != "script")


@pytest.mark.parametrize("name", ["resnet50", "bert-large", "matmul"])
def test_building_a_job_sets_the_switches(name: Name) -> None:
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("medium")
    build(toy(name, workloads.get(name).spec.modes[0], "fp32"), 1)
    assert torch.backends.cudnn.allow_tf32 is False
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("fp32", None), ("tf32", None), ("fp16", torch.float16), ("bf16", torch.bfloat16)],
)
def test_autocast_is_on_for_16_bit_only(precision: Precision, dtype: torch.dtype | None) -> None:
    with autocast(toy("resnet50", "train", precision)):
        assert torch.is_autocast_enabled("cpu") is (dtype is not None)
        assert dtype is None or torch.get_autocast_dtype("cpu") == dtype


def test_relative_difference() -> None:
    x = torch.tensor([3.0, 4.0])
    assert relative_difference(x, x) == 0.0
    assert relative_difference(torch.zeros(2), torch.zeros(2)) == 0.0
    assert relative_difference(torch.tensor([3.0, 4.5]), x) == pytest.approx(0.1)
    assert relative_difference(-x, x) == pytest.approx(2.0)
    half = x.to(torch.bfloat16)
    assert relative_difference(half, x) == 0.0


@pytest.mark.parametrize("nan_in", ["actual", "expected", "both"])
def test_relative_difference_of_nan_is_nan(nan_in: str) -> None:
    x, nan = torch.ones(2), torch.tensor([1.0, float("nan")])
    actual, expected = (nan if nan_in in (side, "both") else x for side in ("actual", "expected"))
    assert math.isnan(relative_difference(actual, expected))


def test_mismatch_compares_the_compiled_with_the_eager_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a compiler that gets everything wrong by a tenth."""

    def wrong(function: object, **_: object) -> object:
        assert callable(function)

        def call(*inputs: torch.Tensor) -> object:
            found = function(*inputs)
            return tuple(1.1 * x for x in found) if isinstance(found, tuple) else 1.1 * found

        return call

    monkeypatch.setattr(torch, "compile", wrong)
    for name in ("resnet50", "bert-large"):
        for mode in ("train", "infer"):
            for recipe in BOTH:
                job = build(toy(name, mode, recipe=recipe, compiled=True))
                assert job.mismatch is not None
                # Parity training compiles the logits, not the loss: no tenth of the loss then.
                logits_only = mode == "train" and recipe == "script"
                assert job.mismatch() == pytest.approx(0.1, abs=0.1 if logits_only else 0.02)


@pytest.mark.slow
@pytest.mark.skipif(not CAN_COMPILE, reason="torch.compile on a CPU needs g++ and Python's headers")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "mode", "recipe", "region"),
    [
        ("resnet50", "infer", "stock", "step"),
        ("bert-large", "train", "script", "step"),
        ("vit-b16", "train", "stock", "block"),
    ],
)
def test_compiled_equals_eager(
    name: Name, mode: Mode, recipe: Recipe, region: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One layer in the place of two, and a stage in that of four: a compiler of C++ takes long.
    monkeypatch.setattr("gpuwise.workloads.bert.TOY", replace(TOY, layers=1))
    monkeypatch.setattr(convnet, "ResNet", lambda depths, width: ResNet(depths[:1], width))
    if mode == "train":  # The graphs as they are handed to the compiler of C++, which is torch's
        real = torch.compile
        graphs = lambda f, *, dynamic=None, options=None: real(f, dynamic=dynamic, backend="aot_eager")  # noqa: E731
        monkeypatch.setattr(torch, "compile", graphs)
    config = toy(name, mode, recipe=recipe, compiled=True)
    job = build(replace(config, switches=Switches(compile_scope=region)))
    assert job.mismatch is not None
    # A training loss has dropout, which draws other numbers under compile.
    assert job.mismatch() < (1e-3 if mode == "infer" else 0.05)
    assert bool(job.step().isfinite().all())
