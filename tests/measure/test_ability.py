"""What a device cannot do is refused, or left out of a suite."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.errors import InputError, MachineError
from gpuwise.facts import catalog
from gpuwise.measure import ability
from gpuwise.measure.ability import check_gpus, check_precisions, fitted, lacking
from gpuwise.model.gpu import Fact, GpuSpec, Source
from gpuwise.model.question import Framework

from .requests import request


def test_gpus_that_are_not_there() -> None:
    two = request(workloads=("peer",))
    check_gpus(two, 2)
    with pytest.raises(MachineError, match="peer needs 2 GPUs, and this machine has 1"):
        check_gpus(two, 1)
    with pytest.raises(MachineError, match="launch needs a GPU, and this is a CPU"):
        check_gpus(request(workloads=("launch",), device="cpu"), 0)
    check_gpus(request(workloads=("peer",), device="cpu", size="toy"), 0)


def test_a_suite_leaves_out_what_the_machine_lacks_and_says_so() -> None:
    asked = request(workloads=("matmul", "peer"), precisions=("fp32", "fp8"), missing=("fp8",), device="cuda")
    part, left_out = fitted(asked, 1)
    assert part is not None
    assert (part.workloads, part.precisions) == (("matmul",), ("fp32",))
    assert left_out == ("peer", "fp8")
    assert fitted(request(workloads=("peer",)), 1) == (None, ("peer",))


def test_what_devices_lack() -> None:
    assert lacking(catalog.get("h200-sxm"), "cuda") == ()
    assert lacking(catalog.get("v100-pcie-16gb"), "cuda") == ("tf32", "bf16", "int8", "fp8")
    assert lacking(None, "cuda") == ()
    assert lacking(None, "cpu") == ("tf32", "fp16", "fp8")


def test_an_amd_card_is_not_judged_by_compute_capability() -> None:
    source = Source(id="s", title="t", kind="vendor", read_on="2026-11-21")
    facts = {"vendor": Fact(field="vendor", value="AMD", source=source)}
    assert lacking(GpuSpec(id="x", name="X", facts=facts), "cuda") == ()


def test_the_error_names_what_is_there() -> None:
    with pytest.raises(MachineError, match="Tesla V100 has no bf16") as caught:
        check_precisions(("fp32", "bf16"), catalog.get("v100-pcie-16gb"), "cuda", "Tesla V100")
    assert caught.value.hint == "gpuwise bench --precision fp64,fp32,fp16"


def test_gpus_that_are_not_there_are_refused_and_left_out_of_a_suite() -> None:
    asked = request(gpus=(1, 2, 8), there=2)
    with pytest.raises(MachineError, match="8 GPUs were asked for, and this machine has 2") as caught:
        check_gpus(asked, 2)
    assert caught.value.hint == "gpuwise bench --gpus 1,2"
    smaller, left_out = fitted(asked, 2)
    assert smaller is not None
    assert (smaller.gpus, left_out) == ((1, 2), ("8 GPUs",))
    nothing, _ = fitted(replace(asked, gpus=(8,)), 2)
    assert nothing is None


@pytest.mark.parametrize(("cores", "most"), [(1, 2), (2, 2), (4, 4)])
def test_processes_have_a_core_each_and_two_show_that_it_works(
    monkeypatch: pytest.MonkeyPatch, cores: int, most: int
) -> None:
    monkeypatch.setattr(ability, "cpu_count", lambda: cores)
    asked = request(device="cpu", gpus=(1, most), there=0)
    check_gpus(asked, 0)
    with pytest.raises(InputError, match=f"{most + 1} processes .* {cores} core") as caught:
        check_gpus(replace(asked, gpus=(1, most + 1)), 0)
    assert caught.value.hint == f"gpuwise bench --device cpu --gpus 1,{most}"


@pytest.mark.parametrize(("framework", "counts"), [("tensorflow", (1, 2)), ("torch", (1, 2)), ("jax", (1,))])
def test_a_cpu_stands_in_for_two_gpus_of_a_suite(framework: Framework, counts: tuple[int, ...]) -> None:
    asked = request(framework=framework, device="cpu", gpus=(1, 2, 4, 8), there=0)
    part, left_out = fitted(asked, 0)
    assert part is not None
    assert part.gpus == counts
    assert left_out[-2:] == ("4 GPUs", "8 GPUs")


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
        check_gpus(request(device="mps", gpus=(2,)), 1)
