"""Names, specifications and what they promise without torch."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.facts import llms
from gpuwise.model.precision import Precision
from gpuwise.model.question import MODES, Recipe, WorkloadSpec
from gpuwise.workloads.registry import Workload


def test_models_come_first_and_limits_last() -> None:
    limits = ["limit" in spec.modes for spec in workloads.specs()]
    assert limits == sorted(limits)
    assert workloads.names()[0] == "resnet50"
    assert {"matmul", "copy"} < set(workloads.names())


@pytest.mark.parametrize("name", workloads.names())
def test_a_workload_answers_to_the_name_in_its_specification(name: str) -> None:
    found = workloads.get(name)
    assert isinstance(found, Workload)
    assert found.spec.id == name


def test_specs_are_those_of_every_name() -> None:
    assert tuple(spec.id for spec in workloads.specs()) == workloads.names()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("resne", "resnet50 or resnet152"),
        ("resnet51", "resnet50 or resnet152"),
        ("qwen3-8c", "qwen3-8b-decode"),
        ("qwen3-8b", "qwen3-8b-decode or qwen3-8b-prefill or qwen3-8b-full or qwen3-8b-qlora"),
        ("llm-8b", "llm-8b-lora or llm-8b-prefill or llm-8b-decode or llm-8b-prefill-8k or llm-8b-decode-8k"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"unknown workload '{typed}'; did you mean {meant}") as caught:
        workloads.get(typed)
    assert caught.value.code == "workload"


@pytest.mark.parametrize("name", ["zzzz", "whisper", "sdxl", ""])
def test_a_name_like_no_other_gets_no_guess(name: str) -> None:
    with pytest.raises(InputError) as caught:
        workloads.get(name)
    assert "did you mean" not in str(caught.value)


def test_specifications_and_costs_import_no_torch() -> None:
    code = (
        "import sys, gpuwise.workloads as w\n"
        "for s in w.specs():\n"
        "    for m in s.modes: s.cost(m, s.precisions[0], 8)\n"
        "assert len(w.specs()) == len(w.names()) > 10\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("spec", workloads.specs(), ids=lambda spec: spec.id)
def test_a_specification_is_sound(spec: WorkloadSpec) -> None:
    assert spec.version >= 1
    assert spec.modes
    assert set(spec.modes) <= set(MODES)
    assert set(spec.recipes) <= set(get_args(Recipe))
    assert 1 <= spec.cpu_batch <= spec.default_batch
    assert bool({"limit", "compute"} & set(spec.modes)) == (spec.parameters is None)


def test_the_decorator_keeps_specification_and_function() -> None:
    spec = workloads.get("copy").spec
    build = workloads.get("copy").build
    assert workloads.workload(spec)(build) == Workload(spec=spec, build=build)


@pytest.mark.parametrize("name", ["llama-3.1-8b-decode", "llama-3.2-3b-prefill", "mistral-7b-decode"])
def test_a_model_of_the_list_is_measured_by_name(name: str) -> None:
    found = workloads.get(name)
    assert found.spec.parameters == llms.find(name.rpartition("-")[0]).parameters
    assert found.spec.phase == name.rpartition("-")[2]
    assert workloads.load(name).spec.id == name
    if name == "llama-3.1-8b-decode":
        both = (found, workloads.get("llm-8b-decode"))
        theirs, ours = (w.spec.cost("infer", Precision.BF16, 8) for w in both if w.spec.cost)
        assert theirs == ours


@pytest.mark.parametrize("name", ["phi-2-decode", "phi-1.5-full"])
def test_a_model_that_is_built_otherwise_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        workloads.get(name)


@pytest.mark.parametrize(
    ("typed", "way"),
    [("resnet18", "torchvision:resnet18"), ("resnext50_32x4d", "torchvision:resnext50_32x4d"),
     ("sdxl", "unet-sd15"), ("stable-diffusion", "unet-sd15"), ("yolov8", "./my_model.py")],
)  # fmt: skip
def test_a_name_that_is_not_built_in_has_a_way_on(typed: str, way: str) -> None:
    with pytest.raises(InputError) as caught:
        workloads.get(typed)
    assert (caught.value.code, way in str(caught.value.hint)) == ("workload", True)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ResNet-50", "resnet50"), ("resnet", "resnet50"), ("bert", "bert-large"),
        ("BERT_large", "bert-large"), ("vit b16", "vit-b16"),
    ],
)  # fmt: skip
def test_another_spelling_and_a_family_are_taken(typed: str, meant: str) -> None:
    assert workloads.get(typed).spec.id == meant


@pytest.mark.parametrize(
    ("typed", "name"),
    [("resnet-18", "resnet18"), ("vit-l-16", "vit_l_16"), ("wide-resnet50-2", "wide_resnet50_2")],
)
def test_the_next_step_names_a_network_as_torchvision_does(typed: str, name: str) -> None:
    with pytest.raises(InputError) as caught:
        workloads.get(typed)
    assert f"torchvision:{name}," in caught.value.hint
