"""What a device cannot do is refused, or skipped in a suite."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.errors import InputError, MachineError
from gpuwise.facts import catalog
from gpuwise.measure import request as module
from gpuwise.measure.request import check_able, fitted, lacking
from gpuwise.model.gpu import Fact, GpuSpec, Source
from gpuwise.model.question import Framework

from .requests import request


def test_gpus_that_are_not_there() -> None:
    two = request(workloads=("peer",))
    check_able(replace(two, present=2), "GPU")
    with pytest.raises(MachineError, match="peer needs 2 GPUs, and this machine has 1"):
        check_able(two, "GPU")
    with pytest.raises(MachineError, match="launch needs a GPU, and this is a CPU"):
        check_able(request(workloads=("launch",), device="cpu"), "CPU")
    check_able(request(workloads=("peer",), device="cpu", size="toy", precisions=()), "CPU")


def test_a_suite_skips_what_the_machine_lacks_and_says_so() -> None:
    asked = request(workloads=("matmul", "peer"), precisions=("fp32", "fp8"), missing=("fp8",), device="cuda")
    part, skipped = fitted(asked)
    assert part is not None
    assert (part.workloads, part.precisions) == (("matmul",), ("fp32",))
    assert skipped == ("peer", "fp8")
    assert fitted(request(workloads=("peer",))) == (None, ("peer",))


def test_what_devices_lack() -> None:
    assert lacking(catalog.get("h200-sxm"), "cuda") == ()
    older = ("tf32", "bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4")
    assert lacking(catalog.get("v100-pcie-16gb"), "cuda") == older
    assert lacking(None, "cuda") == ()
    assert lacking(None, "cpu") == ("tf32", "fp16", "fp8")


def test_an_amd_card_is_not_judged_by_compute_capability() -> None:
    source = Source(id="s", title="t", kind="vendor", read_on="2026-11-21")
    facts = {"vendor": Fact(field="vendor", value="AMD", source=source)}
    assert lacking(GpuSpec(id="x", name="X", facts=facts), "cuda") == ()


def test_the_error_names_what_is_there() -> None:
    with pytest.raises(MachineError, match="Tesla V100 has no bf16") as caught:
        check_able(
            request(precisions=("fp32", "bf16"), missing=lacking(catalog.get("v100-pcie-16gb"), "cuda")),
            "Tesla V100",
        )
    assert caught.value.hint == "it has fp64, fp32, fp16"


def test_gpus_that_are_not_there_are_refused_and_skipped_of_a_suite() -> None:
    asked = request(gpus=(1, 2, 8), present=2)
    with pytest.raises(MachineError, match="8 GPUs were asked for, and this machine has 2") as caught:
        check_able(asked, "GPU")
    assert caught.value.hint == "counts that work here: 1, 2"
    smaller, skipped = fitted(asked)
    assert smaller is not None
    assert (smaller.gpus, skipped) == ((1, 2), ("8 GPUs",))
    nothing, _ = fitted(replace(asked, gpus=(8,)))
    assert nothing is None


@pytest.mark.parametrize(("cores", "most"), [(1, 2), (2, 2), (4, 4)])
def test_processes_have_a_core_each_and_two_show_that_it_works(
    monkeypatch: pytest.MonkeyPatch, cores: int, most: int
) -> None:
    monkeypatch.setattr(module, "cpu_count", lambda: cores)
    asked = request(device="cpu", gpus=(1, most), present=0)
    check_able(asked, "CPU")
    with pytest.raises(InputError, match=f"{most + 1} processes .* {cores} core") as caught:
        check_able(replace(asked, gpus=(1, most + 1)), "CPU")
    assert caught.value.hint == f"ask for {most} at most"


@pytest.mark.parametrize(("framework", "counts"), [("tensorflow", (1, 2)), ("torch", (1, 2)), ("jax", (1,))])
def test_a_cpu_stands_in_for_two_gpus_of_a_suite(framework: Framework, counts: tuple[int, ...]) -> None:
    asked = request(framework=framework, device="cpu", gpus=(1, 2, 4, 8), present=0)
    part, skipped = fitted(asked)
    assert part is not None
    assert part.gpus == counts
    assert skipped[-2:] == ("4 GPUs", "8 GPUs")


@pytest.mark.parametrize(
    ("card", "missing"),
    [
        *(("mi100", ("tf32", "fp8")), ("mi250", ("tf32", "fp8")), ("mi250x", ("tf32", "fp8"))),
        *(("mi300a", ()), ("mi300x", ()), ("mi350x", ("tf32",)), ("mi355x", ("tf32",))),
    ],
)
def test_an_amd_card_has_what_its_data_sheet_states(card: str, missing: tuple[str, ...]) -> None:
    assert lacking(catalog.find(card), "cuda") == missing


def test_what_torch_does_not_run_on_the_gpus_of_others() -> None:
    assert "fp64" in lacking(None, "mps")
    assert "tf32" in lacking(None, "xpu")
    with pytest.raises(MachineError, match="2 GPUs were asked for"):
        check_able(request(device="mps", gpus=(2,)), "GPU")
