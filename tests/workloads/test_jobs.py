"""Every workload really runs, at toy size on the CPU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.model.run import RunConfig
from gpuwise.workloads.job import set_precision


@pytest.fixture(autouse=True)
def switches() -> Iterator[None]:
    """torch's global switches as they were."""
    matmul, cudnn = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    benchmark = torch.backends.cudnn.benchmark
    yield
    torch.set_float32_matmul_precision(matmul)
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = cudnn, benchmark


def toy(workload: str, **changes: object) -> RunConfig:
    options = {"mode": "train", "precision": "fp32", **changes}
    return RunConfig(workload=workload, device="cpu", size="toy", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("workload", ["resnet50", "bert-large"])
@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("recipe", ["tuned", "parity"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_model_steps(workload: str, mode: str, recipe: str, precision: str) -> None:
    job = workloads.get(workload).build(toy(workload, mode=mode, recipe=recipe, precision=precision), 3)
    for _ in range(3):
        out = job.step()
    assert job.items == 3
    assert torch.isfinite(out.float()).all()
    assert not out.requires_grad
    assert job.mismatch is None


@pytest.mark.parametrize("recipe", ["tuned", "parity"])
def test_resnet_learns_its_one_batch(recipe: str) -> None:
    torch.manual_seed(0)
    step = workloads.get("resnet50").build(toy("resnet50", recipe=recipe), 8).step
    first = float(step())
    for _ in range(30):
        last = float(step())
    assert last < 0.8 * first


@pytest.mark.parametrize("recipe", ["tuned", "parity"])
def test_bert_hardly_moves_on_its_one_batch(recipe: str) -> None:
    """Its learning rate is tiny on purpose; see bert_large.LEARNING_RATE."""
    torch.manual_seed(0)
    step = workloads.get("bert-large").build(toy("bert-large", recipe=recipe), 8).step
    first = float(step())
    for _ in range(30):
        last = float(step())
    assert 0.8 * first < last < 1.05 * first


def test_limits_step() -> None:
    product = workloads.get("matmul").build(toy("matmul", mode="limit"), 1)
    assert product.items == 2 * 64**3
    assert torch.isfinite(product.step()).all()
    copied = workloads.get("copy").build(toy("copy", mode="limit"), 1)
    assert copied.items == 2 * 2**16
    assert copied.step().count_nonzero() > 16_000  # random data, not zeros


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile on a CPU needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("workload", "mode", "recipe"), [("resnet50", "infer", "tuned"), ("bert-large", "train", "parity")]
)
def test_compiled_equals_eager(workload: str, mode: str, recipe: str) -> None:
    job = workloads.get(workload).build(toy(workload, mode=mode, recipe=recipe, compile=True), 3)
    assert job.mismatch is not None
    assert job.mismatch() < (1e-3 if mode == "infer" else 0.05)
    assert torch.isfinite(job.step().float()).all()


@pytest.mark.parametrize(("precision", "tf32"), [("fp32", False), ("tf32", True), ("bf16", False)])
def test_precision_switches(precision: str, tf32: bool) -> None:
    set_precision(toy("resnet50", precision=precision))
    assert torch.get_float32_matmul_precision() == ("high" if tf32 else "highest")
    assert torch.backends.cudnn.allow_tf32 is tf32
    assert torch.backends.cudnn.benchmark
    set_precision(toy("resnet50", recipe="parity"))
    assert not torch.backends.cudnn.benchmark


@pytest.mark.parametrize(("precision", "fused"), [("fp16", None), ("bf16", True), ("fp32", True)])
def test_fp16_does_without_the_fused_sgd(
    monkeypatch: pytest.MonkeyPatch, precision: str, fused: bool | None
) -> None:
    """torch's advances its momentum on steps that the scaler must skip."""
    seen: list[object] = []
    real = torch.optim.SGD

    def remember(*arguments: object, **options: object) -> torch.optim.Optimizer:
        seen.append(options["fused"])
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(torch.optim, "SGD", remember)
    workloads.get("resnet50").build(toy("resnet50", precision=precision), 2)
    assert seen == [fused]


def test_names() -> None:
    assert workloads.names() == ("resnet50", "bert-large", "matmul", "copy")
    with pytest.raises(InputError, match="did you mean bert-large"):
        workloads.get("bert")


def test_listing_needs_no_torch() -> None:
    code = "import sys; from gpuwise import workloads; workloads.specs(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
