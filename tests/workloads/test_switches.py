"""Every switch reaches torch, and none changes what is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.model.precision import Precision
from gpuwise.model.question import Mode, Switches
from gpuwise.workloads.job import compiled, relative_difference, set_libraries, training_job
from gpuwise.workloads.models.convnet import ResNet, convolved, fold_norms

from .conftest import build, toy


@pytest.fixture(autouse=True)
def own_libraries() -> Iterator[None]:
    cuda = torch.backends.cuda
    yield
    for enable in (
        cuda.enable_flash_sdp,
        cuda.enable_mem_efficient_sdp,
        cuda.enable_cudnn_sdp,
        cuda.enable_math_sdp,
    ):
        enable(True)


def losses(workload: str, precision: Precision, switches: Switches) -> list[float]:
    job = build(replace(toy(workload, "train", precision), switches=switches))
    assert job.gradient_norm is not None
    return [job.gradient_norm(), *(float(job.step()) for _ in range(4))]


@pytest.mark.parametrize(
    "workload", ["resnet50", "bert-large", "llm-124m", "googlenet", "vit-b16", "dit-xl2", "unet-sd15"]
)
def test_half_weights_change_no_bit_of_a_training(workload: str) -> None:
    """The products see the values that autocast rounds to, and the optimiser its own fp32 weights."""
    plain, half = (losses(workload, "bf16", s) for s in (Switches(), Switches(master_weights="on")))
    assert half == pytest.approx(plain, rel=1e-6)
    assert len(set(half)) == len(half)  # weights move


def test_half_weights_keep_the_digits_that_16_bits_lose() -> None:
    """A hundred updates of 1e-4 each would all be lost in bf16, whose neighbour of 1 is 1.0078."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    config = replace(toy("resnet50", "train", "bf16"), switches=Switches(master_weights="on"))
    job = training_job(model, (torch.ones(1, 1),), lambda y: y.sum(), optimizer, config, 1)
    for _ in range(100):
        job.step()
    assert model.weight.dtype == torch.bfloat16
    assert optimizer.param_groups[0]["params"][0].item() == pytest.approx(0.99, abs=1e-5)
    assert model.weight.item() == pytest.approx(0.99, abs=0.004)


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_without_autocast_there_are_no_half_weights(precision: Precision) -> None:
    assert losses("resnet50", precision, Switches(master_weights="on")) == losses(
        "resnet50", precision, Switches()
    )


def test_the_layout_changes_roundings_only() -> None:
    plain, other = (
        losses("resnet50", "tf32", Switches(layout=x)) for x in ("channels-last", "channels-first")
    )  # type: ignore[arg-type]
    assert other[:3] == pytest.approx(plain[:3], rel=1e-3)


@pytest.mark.parametrize("workload", ["bert-large", "bert-large-pretrain-s128"])
def test_a_stream_of_16_bits_changes_roundings_only(workload: str) -> None:
    plain, half = (losses(workload, "bf16", Switches(residual_dtype=s)) for s in ("fp32", "half"))  # type: ignore[arg-type]
    assert half != plain
    assert half == pytest.approx(plain, rel=0.01)
    assert losses(workload, "fp32", Switches(residual_dtype="half")) == losses(workload, "fp32", Switches())


def test_script_heeds_no_switch() -> None:
    config = toy("resnet50", "train", "bf16", "script")
    plain, other = (
        build(replace(config, switches=s))
        for s in (Switches(), Switches(layout="channels-first", master_weights="on"))
    )
    assert [float(plain.step()) for _ in range(3)] == [float(other.step()) for _ in range(3)]


@pytest.mark.parametrize(
    ("switches", "options"),
    [
        (Switches(), None),
        (Switches(compiler="descent"), {"coordinate_descent_tuning": True}),
        (Switches(compiler="autotune"), {"coordinate_descent_tuning": True, "max_autotune": True}),
        (Switches(graph="on"), {"triton.cudagraphs": True}),
    ],
)
def test_the_compiler_gets_its_options(
    switches: Switches, options: dict[str, bool] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(torch, "compile", lambda function, **given: seen.update(given) or function)
    config = replace(toy("resnet50", "train", "bf16"), device="cuda")
    compiled(abs, replace(config, switches=switches))
    assert seen == {"dynamic": False, "options": options}
    compiled(abs, replace(config, switches=switches, recipe="script"))
    assert seen == {"dynamic": False, "options": None}


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What torch.compile hands to a compiler that leaves it as it is."""
    real, found = torch.compile, list[Any]()

    def backend(graph: Any, _: Any) -> Any:
        found.append(graph)
        return graph.forward

    def compile_(function: Any, **given: Any) -> Any:
        return real(function, dynamic=given["dynamic"], backend=backend)

    monkeypatch.setattr(torch, "compile", compile_)
    yield found
    torch.compiler.reset()


@pytest.mark.filterwarnings("ignore")  # torch's own
@pytest.mark.parametrize("name", ["bert-large", "llm-124m", "llm-1b-finetune", "vit-b16", "dit-xl2"])
def test_equal_blocks_share_one_code_and_compute_the_same(name: str, graphs: list[Any]) -> None:
    config = toy(name, "train", compiled=True)
    found = {}
    for region in ("step", "block"):
        job = build(replace(config, switches=Switches(compile_scope=region)))  # type: ignore[arg-type]
        found[region] = [float(job.step()) for _ in range(2)]
        torch.compiler.reset()
    assert found["block"] == pytest.approx(found["step"], rel=1e-6)
    assert len(graphs) == 1 + 2  # the step; a block and the loss


@pytest.mark.filterwarnings("ignore")  # torch's own
def test_blocks_of_an_inference_are_compiled_as_well(graphs: list[Any]) -> None:
    config = replace(toy("bert-large", "infer", compiled=True), switches=Switches(compile_scope="block"))
    compiled_, eager = build(config).step(), build(replace(config, compile=False)).step()
    assert len(graphs) == 1
    assert torch.equal(compiled_, eager)


@pytest.mark.filterwarnings("ignore")  # torch's own
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_compiled_blocks_are_held_against_eager_ones(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a compiler that gets everything wrong by a tenth."""
    real = torch.compile

    def wrong(graph: Any, _: Any) -> Any:
        return lambda *given: tuple(1.1 * x for x in graph.forward(*given))

    monkeypatch.setattr(torch, "compile", lambda f, **_: real(f, dynamic=False, backend=wrong))
    job = build(replace(toy("vit-b16", mode, compiled=True), switches=Switches(compile_scope="block")))
    assert job.mismatch is not None
    assert job.mismatch() > 0.01
    torch.compiler.reset()


@pytest.mark.parametrize("name", ["resnet50", "googlenet", "unet-sd15"])
def test_what_is_not_made_of_equal_blocks_says_so(name: str) -> None:
    config = replace(toy(name, "train", compiled=True), switches=Switches(compile_scope="block"))
    with pytest.raises(InputError, match=f"{name} is not made of equal blocks"):
        build(config)
    build(replace(config, compile=False))


def test_ieee_convolutions_keep_their_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(torch, "compile", lambda function, **given: seen.update(given) or function)
    compiled(abs, replace(toy("resnet50", "train", "fp32"), device="cuda"))
    assert seen["options"] == {"layout_optimization": False}


def test_every_compiler_option_exists() -> None:
    from torch._inductor import config

    for name in ("coordinate_descent_tuning", "max_autotune"):
        assert hasattr(config, name)
    assert hasattr(config, "triton.cudagraphs") or hasattr(config.triton, "cudagraphs")


def test_attention_takes_the_one_kernel_asked_for() -> None:
    cuda = torch.backends.cuda
    config = replace(
        toy("bert-large", "train", "bf16"), device="cuda", switches=Switches(attention="efficient")
    )
    set_libraries(config)
    assert cuda.mem_efficient_sdp_enabled()
    assert not cuda.flash_sdp_enabled()
    assert not cuda.cudnn_sdp_enabled()
    assert not cuda.math_sdp_enabled()


def test_workloads_name_the_switches_they_heed() -> None:
    assert "attention" in workloads.get("bert-large").spec.switches
    assert "layout" not in workloads.get("bert-large").spec.switches
    assert {"layout", "pooling"} <= set(workloads.get("resnet50").spec.switches)


@pytest.mark.parametrize("workload", ["resnet50", "googlenet", "inception-v3"])
def test_folded_norms_answer_as_before(workload: str) -> None:
    """The job compares with the norms as they were; no norm is left to be computed."""
    plain = toy(workload, "infer")
    jobs = [build(replace(plain, switches=Switches(fold_norms=word))) for word in ("off", "on")]
    wanted, found = (job.step() for job in jobs)
    assert relative_difference(found, wanted) < 1e-5
    assert jobs[1].mismatch is not None
    assert 0 < jobs[1].mismatch() < 1e-5
    model = ResNet((1, 1, 1, 1), 8).eval()
    fold_norms(model)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in model.modules())


def test_a_folded_convolution_is_known_to_the_compiler() -> None:
    x = torch.randn(2, 8, 6, 6).to(memory_format=torch.channels_last)
    weight, bias = torch.randn(8, 8, 3, 3), torch.randn(8)
    for added in (None, x):
        torch.library.opcheck(convolved, (x, weight, bias, added, [1, 1], [1, 1]))
