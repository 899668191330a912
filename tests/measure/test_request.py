"""From options to configurations."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from gpuwise.errors import InputError, MachineError
from gpuwise.measure.request import Request, check_able, configs, expected_phases, fitted, schedule, suite
from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig

from .requests import request


def whole_s(config: RunConfig) -> float:
    return sum(expected_phases(config).values())


def test_limits_come_first_one_product_a_precision_and_one_copy() -> None:
    plan = configs(request())
    assert [(c.workload, c.precision) for c in plan[:3]] == [
        ("matmul", "fp32"),
        ("matmul", "bf16"),
        ("copy", "fp32"),
    ]
    assert all(c.mode == "limit" and c.time_s <= 2 for c in plan[:3])


@pytest.mark.parametrize(
    ("asked", "limits"), [("int4", ["bf16"]), ("int4,bf16,int8", ["bf16"]), ("fp8", ["fp8"])]
)
def test_weights_of_4_bits_ask_for_the_limit_of_16(asked: str, limits: list[str]) -> None:
    formats = tuple(map(Precision, asked.split(",")))
    names = ("llama-3.1-8b-decode",)
    plan = configs(request(workloads=names, modes=("infer",), precisions=formats, recipe="tuned"))
    assert [c.precision for c in plan if c.workload == "matmul"] == limits


def test_every_combination_once() -> None:
    models = [c for c in configs(request()) if c.mode != "limit"]
    assert len(models) == len({c.key for c in models}) == 2 * 2 * 2 * 2


def test_options_reach_the_configurations() -> None:
    config = configs(
        request(batch=(64,), time_s=9.0, target_ci=0.02, protocol="aime", recipe="script", quick=True)
    )[-1]
    assert (config.batch, config.time_s, config.target_ci) == (64, 9.0, 0.02)
    assert (config.protocol, config.recipe, config.quick) == ("aime", "script", True)


def test_limits_keep_their_own_batch_and_recipe() -> None:
    limit = configs(request(batch=(64,), recipe="script"))[0]
    assert (limit.batch, limit.recipe) == (None, "stock")


def test_an_unknown_workload_and_a_mode_that_none_has() -> None:
    with pytest.raises(InputError, match="did you mean resnet50"):
        configs(request(workloads=("resnet51",)))
    with pytest.raises(InputError, match="no workload of resnet50 has mode limit"):
        configs(request(workloads=("resnet50",), modes=("limit",)))


def test_a_limit_alone_can_be_asked_for() -> None:
    plan = configs(request(workloads=("copy",)))
    assert {c.workload for c in plan} == {"matmul", "copy"}


def test_batches_are_measured_one_after_the_other() -> None:
    plan = configs(request(workloads=("resnet50",), modes=("infer",), precisions=("bf16",), batch=(1, 8, 64)))
    assert [c.batch for c in plan if c.mode == "infer"] == [1, 8, 64] * 2
    assert [c.batch for c in plan if c.mode == "limit"] == [None, None]


def test_a_scientific_workload_is_measured_once_in_what_it_has() -> None:
    asked = Request(workloads=("fft",))
    assert [(c.workload, c.mode, c.precision, c.compile) for c in configs(asked)] == [
        ("matmul", "limit", "fp64", False),
        ("matmul", "limit", "fp32", False),
        ("copy", "limit", "fp32", False),
        ("fft", "compute", "fp64", False),
        ("fft", "compute", "fp32", False),
    ]
    compiled = configs(request(workloads=("stencil",), modes=("compute",), precisions=("fp32",)))
    assert [c.compile for c in compiled if c.workload == "stencil"] == [False, True]


@pytest.mark.parametrize(
    ("device", "missing", "default"),
    [("cuda", (), "bf16"), ("cuda", ("tf32", "bf16"), "fp16"), ("cpu", ("tf32", "fp16", "fp8"), "fp32")],
)
def test_the_default_precision_and_compile_are_the_device_s(
    device: str, missing: tuple[str, ...], default: str
) -> None:
    asked = request(precisions=(), compile=(), device=device, missing=missing)
    assert {c.precision for c in configs(asked) if c.workload != "copy"} == {default}
    assert {c.compile for c in configs(asked) if c.mode == "train"} == {device == "cuda"}


def test_limits_that_are_asked_for_come_after_the_yardsticks() -> None:
    plan = configs(request(workloads=("launch", "copy-l2"), precisions=("bf16",), batch=(2, 8)))
    names = [(c.workload, c.batch) for c in plan]
    assert names == [("matmul", None), ("copy", None), ("launch", None), ("copy-l2", 2), ("copy-l2", 8)]


def test_a_schedule_has_every_limit_first_and_nothing_twice() -> None:
    science = request(workloads=("fft",), modes=("compute",), precisions=("fp32",))
    plan = schedule([request(), science, request()])
    assert len(plan) == len(set(plan))
    modes = [c.mode == "limit" for c in plan]
    assert modes == sorted(modes, reverse=True)
    assert plan[-1].workload == "fft"


def test_the_eta_counts_what_costs_time() -> None:
    plain = RunConfig(workload="resnet50", mode="train", precision="bf16")
    compiled = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
    aime = RunConfig(workload="resnet50", mode="train", precision="bf16", protocol="aime")
    limit = RunConfig(workload="copy", mode="limit", precision="fp32")
    assert whole_s(limit) < whole_s(plain) < whole_s(compiled)
    assert whole_s(plain) - whole_s(aime) == pytest.approx(12 - 3 * 3)


def counted(request: Request) -> list[tuple[str, int, int]]:
    return [(c.workload, c.gpus, c.nodes) for c in configs(request) if c.workload not in ("matmul", "copy")]


def test_counts_of_gpus_are_measured_in_order_with_the_links_beside_them() -> None:
    several = request(
        workloads=("resnet50",),
        modes=("train",),
        precisions=("bf16",),
        compile=(True,),
        gpus=(4, 1, 2),
        present=4,
    )
    assert counted(several) == [
        ("peer", 1, 1),
        ("all-reduce", 2, 1),
        ("all-reduce", 4, 1),
        ("resnet50", 1, 1),
        ("resnet50", 2, 1),
        ("resnet50", 4, 1),
    ]
    assert {c.batch for c in configs(several) if c.workload == "all-reduce"} == {1024}  # MiB: bandwidth
    assert not [c for c in configs(request()) if c.gpus > 1 or c.workload == "all-reduce"]


def test_tensor_parallel_is_of_language_models() -> None:
    asked = request(workloads=("llama-3.1-8b",), modes=("infer",), gpus=(1, 2), scaling="tensor", present=2)
    found = [config for config in configs(asked) if config.gpus == 2 and config.mode == "infer"]
    assert {config.scaling for config in found} == {"tensor"}
    assert all("tp=2" in config.label() and ":x2:tensor" in config.key() for config in found)
    with pytest.raises(InputError, match="not resnet50"):
        configs(request(workloads=("resnet50",), gpus=(2,), scaling="tensor", present=2))


def test_scaling_is_that_of_several_alone() -> None:
    plan = configs(request(gpus=(1, 2), scaling="strong"))
    assert {(c.gpus, c.scaling) for c in plan if c.mode != "limit"} == {(1, "weak"), (2, "strong")}


def test_counts_are_of_each_machine_and_compared_with_one_gpu() -> None:
    many = request(workloads=("resnet50",), modes=("train",), precisions=("bf16",), compile=(True,), nodes=2)
    assert counted(replace(many, gpus=(8,), present=8)) == [
        ("peer", 1, 1),
        ("all-reduce", 16, 2),
        ("resnet50", 1, 1),
        ("resnet50", 16, 2),
    ]


def test_what_all_gpus_do_together_takes_the_counts_there_are() -> None:
    alone = request(workloads=("all-reduce",), modes=("train",), present=6, batch=(1, 1024))
    found = [(c.gpus, c.batch) for c in configs(alone) if c.workload == "all-reduce"]
    assert found == [(2, 1), (2, 1024), (4, 1), (4, 1024)]
    with pytest.raises(MachineError, match="all-reduce needs 2 GPUs"):
        check_able(replace(alone, present=1), "GPU")
    check_able(alone.given(present=0, device="cpu", gpus=(2,), precisions=()), "CPU")  # by processes


@pytest.mark.parametrize(
    ("names", "gpus", "good"),
    [(("copy", "launch"), 1, True), (("copy", "launch"), 2, False), (("copy", "peer"), 2, True),
     (("copy", "all-reduce"), 2, True), (("copy", "resnet50"), 2, True)],
)  # fmt: skip
def test_a_count_that_nothing_uses_is_refused(names: tuple[str, ...], gpus: int, good: bool) -> None:
    with nullcontext() if good else pytest.raises(InputError, match="on one GPU, not on 2"):
        check_able(request(workloads=names, present=2, gpus=(gpus,)), "GPU")


def test_several_gpus_take_longer_and_have_keys_of_their_own() -> None:
    one = configs(request())[-1]
    two = replace(one, gpus=2)
    assert whole_s(two) > whole_s(one)
    assert two.key != one.key
    assert ":x2:weak" in two.key("batch")
    assert "x1" not in one.key("batch")  # files of before keep their keys
    assert (
        replace(two, nodes=2).key("batch") != two.key("batch") != replace(two, scaling="strong").key("batch")
    )


def test_input_from_the_host_is_a_question_of_its_own_on_one_gpu() -> None:
    fed = Request(workloads=("resnet50",), modes=("train",)).given(input="host")
    (config,) = (c for c in configs(fed) if c.mode != "limit")
    assert (config.input, "with-input" in config.key("batch")) == ("host", True)
    assert {c.input for c in configs(fed) if c.mode == "limit"} == {"device"}
    with pytest.raises(InputError, match="feeds one GPU"):
        configs(replace(fed, gpus=(2,), present=2))


def test_a_framework_is_part_of_every_question_but_the_limits() -> None:
    plan = configs(request(framework="jax"))
    assert {c.framework for c in plan if c.mode == "limit"} == {"torch"}
    assert {c.framework for c in plan if c.mode != "limit"} == {"jax"}
    assert all(":jax" in c.key("batch") for c in plan if c.mode != "limit")
    assert all(c.mode != "limit" for c in configs(request(framework="jax", limited=False)))


def test_the_suite_of_four_networks_runs_in_tensorflow_on_eight_gpus() -> None:
    asked = [r.given(framework="tensorflow", present=8) for r in suite("tf-cnn")]
    possible = [part for part, _ in (fitted(r) for r in asked) if part is not None]
    plan = [c for c in schedule(possible) if c.mode != "limit"]
    assert {c.gpus for c in plan} == {1, 2, 4, 8}
    assert {(c.precision, c.batch) for c in plan} == {("fp16", 256), ("fp32", 128)}
    assert {c.framework for c in plan} == {"tensorflow"}


def test_what_has_layers_of_gpuwise_has_no_stock_recipe() -> None:
    asked = request(workloads=("bert-large",), precisions=("bf16", "fp8"), recipe="stock", limited=False)
    found = {(config.mode, config.precision) for config in configs(asked)}
    assert found == {("train", "bf16"), ("infer", "bf16"), ("infer", "fp8")}
