"""What is tried for which configuration."""

from __future__ import annotations

from dataclasses import replace

from gpuwise import workloads
from gpuwise.measure.tune import BATCH, NEEDS, axes, settled
from gpuwise.model.question import RunConfig, Switches, choices

GPU = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def names(config: RunConfig) -> list[str]:
    return list(axes(workloads.get(config.workload).spec, config))


def test_every_switch_has_its_place() -> None:
    assert set(NEEDS) == {BATCH, *choices()}


def test_a_network_of_convolutions() -> None:
    assert names(GPU) == ["layout", "pooling", "norms", "batch", "graph", "master_weights", "compiler"]
    assert not {"attention", "residual_dtype"} & set(names(GPU))


def test_a_transformer() -> None:
    bert = replace(GPU, workload="bert-large")
    assert names(bert) == [
        "residual_dtype",
        "batch",
        "attention",
        "graph",
        "master_weights",
        "compile_scope",
        "compiler",
    ]
    assert names(replace(bert, mode="infer")) == ["batch", "attention", "graph", "compile_scope", "compiler"]
    assert "master_weights" not in names(replace(bert, precision="fp8"))


def test_what_is_made_of_equal_blocks_may_be_compiled_by_them() -> None:
    for workload in ("llm-1b", "llm-1b-lora", "dit-xl2", "vit-b16"):
        assert "compile_scope" in names(replace(GPU, workload=workload))
    for workload, mode in (("unet-sd15", "train"), ("llm-1b-decode", "infer"), ("resnet50", "train")):
        assert "compile_scope" not in names(replace(GPU, workload=workload, mode=mode))


def test_when_gradients_are_exchanged_matters_to_several_that_train() -> None:
    several = replace(GPU, workload="llm-124m", gpus=4)
    assert names(several) == ["overlap_grads", "bucket"]
    for other in (replace(several, gpus=1), replace(several, mode="infer")):
        assert not {"overlap_grads", "bucket"} & set(names(other))


def test_eagerly_the_compiler_has_no_say() -> None:
    for workload in ("resnet50", "bert-large"):
        eager = replace(GPU, workload=workload, compile=False)
        assert not {"graph", "compiler", "compile_scope"} & set(names(eager))


def test_weights_are_halved_in_training_and_where_there_are_16_bits() -> None:
    assert "master_weights" in names(GPU)
    assert "master_weights" not in names(replace(GPU, mode="infer"))
    assert "master_weights" not in names(replace(GPU, precision="tf32"))


def test_kernels_of_decoding_read_16_bits_on_gpus() -> None:
    decoding = replace(GPU, workload="llm-8b-decode", mode="infer")
    assert names(decoding) == ["batch", "decode", "compiler"]
    assert "decode" not in names(replace(decoding, device="cpu"))
    assert "decode" not in names(replace(decoding, precision="int4"))  # it has them always


def test_a_batch_that_is_given_stays() -> None:
    assert "batch" not in names(replace(GPU, batch=64))


def test_gpuwises_kernels_run_on_gpus() -> None:
    bert = replace(GPU, workload="bert-large")
    spec = workloads.get("bert-large").spec
    assert axes(spec, bert)["residual_dtype"] == ("fp32", "half", "triton")
    assert axes(spec, replace(bert, device="cpu"))["residual_dtype"] == ("fp32", "half")
    assert "triton" in axes(spec, bert)["attention"]
    assert "triton" not in axes(spec, replace(bert, precision="tf32"))["attention"]


def test_pooling_by_the_kernel_and_channels_first_are_both_met() -> None:
    kernel, first = Switches(pooling="triton"), Switches(layout="channels-first")
    both = replace(kernel, layout="channels-first")
    assert settled(both, "pooling") == kernel
    assert settled(both, "layout") == first
    norms = Switches(norms="triton")
    assert settled(replace(norms, layout="channels-first"), "norms") == norms
    assert settled(replace(kernel, graph="on"), "graph") == replace(kernel, graph="on")


def test_fp32_has_one_layout() -> None:
    assert "layout" not in names(replace(GPU, precision="fp32"))


def test_a_cpu_has_none_of_the_kernels() -> None:
    assert not {"pooling", "attention", "graph"} & set(names(replace(GPU, device="cpu")))


def test_every_switch_that_a_workload_names_exists() -> None:
    for spec in workloads.specs():
        assert set(spec.switches) <= set(choices()), spec.id
