"""What is tried for which configuration."""

from __future__ import annotations

from dataclasses import replace

from gpuwise import workloads
from gpuwise.model.recipe import choices
from gpuwise.model.run import RunConfig
from gpuwise.tune.space import ORDER, axes

GPU = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def names(config: RunConfig) -> list[str]:
    return list(axes(workloads.get(config.workload).spec, config))


def test_every_switch_has_its_place() -> None:
    assert set(ORDER) == set(choices())


def test_a_network_of_convolutions() -> None:
    assert names(GPU) == ["pooling", "weights", "layout", "graph", "compiler"]
    assert not {"attention", "stream"} & set(names(GPU))


def test_a_transformer() -> None:
    bert = replace(GPU, workload="bert-large")
    assert names(bert) == ["stream", "attention", "weights", "graph", "compiler"]
    assert names(replace(bert, mode="infer")) == ["attention", "graph", "compiler"]
    assert names(replace(bert, precision="fp8")) == ["stream", "attention", "graph", "compiler"]


def test_eagerly_the_compiler_has_no_say() -> None:
    assert not {"graph", "compiler"} & set(names(replace(GPU, compile=False)))


def test_weights_are_halved_in_training_and_where_there_are_16_bits() -> None:
    assert "weights" in names(GPU)
    assert "weights" not in names(replace(GPU, mode="infer"))
    assert "weights" not in names(replace(GPU, precision="tf32"))


def test_fp32_has_one_layout() -> None:
    assert "layout" not in names(replace(GPU, precision="fp32"))


def test_a_cpu_has_none_of_the_kernels() -> None:
    assert not {"pooling", "attention", "graph"} & set(names(replace(GPU, device="cpu")))


def test_every_switch_that_a_workload_names_exists() -> None:
    for spec in workloads.specs():
        assert set(spec.switches) <= set(choices()), spec.id
