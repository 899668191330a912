"""Suites are data: every name in them exists, and what they ask for can be planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.measure.request import configs, fitted, schedule, suite, suite_names
from gpuwise.model.question import RunConfig

EVERY = pytest.mark.parametrize("name", suite_names())


@EVERY
def test_every_workload_of_a_suite_exists(name: str) -> None:
    for request in suite(name):
        assert set(request.workloads) <= set(workloads.names())


@EVERY
def test_every_request_of_a_suite_measures_each_of_its_workloads(name: str) -> None:
    for request in suite(name):
        assert {c.workload for c in configs(replace(request, present=2))} >= set(request.workloads)


def measured(name: str) -> list[RunConfig]:
    return [c for c in schedule(suite(name)) if c.mode != "limit"]


def test_aime_is_the_article_s_two_networks_by_its_protocol() -> None:
    plan = measured("aime")
    assert len(plan) == 2 * (2 * 2 + 1)
    assert [c.precision == "tf32" for c in plan] == [False] * 8 + [True] * 2
    assert {c.compile for c in plan if c.precision == "tf32"} == {False}
    assert {(c.workload, c.batch) for c in plan} == {("resnet50", 256), ("bert-large", 64)}
    assert {(c.mode, c.recipe, c.protocol) for c in plan} == {("train", "script", "aime")}
    assert {c.precision for c in plan} == {"fp32", "tf32", "fp16"}
    assert {c.compile for c in plan} == {False, True}


def test_tf_cnn_is_the_table_of_the_article_on_the_a5000() -> None:
    plan = measured("tf-cnn")
    assert {c.workload for c in plan} == {"resnet50", "resnet152", "inception-v3", "googlenet"}
    assert {(c.precision, c.batch) for c in plan} == {("fp16", 256), ("fp32", 128)}
    assert {c.mode for c in plan} == {"train"}


def test_limits_are_all_limits_in_every_precision() -> None:
    plan = schedule([replace(request, present=2) for request in suite("limits")])
    everything = {spec.id for spec in workloads.specs() if "limit" in spec.modes}
    assert {c.workload for c in plan} == everything - {"disk-read"}  # no card's: `accept --input host`
    products = [c.precision for c in plan if c.workload == "matmul"]
    assert set(products) == set(workloads.get("matmul").spec.precisions)
    assert len(products) == len(set(products))
    assert tuple(c.batch for c in plan if c.workload == "copy-l2") == (2, 4, 8, 16, 32)


def test_full_leaves_no_workload_out() -> None:
    plan = schedule([replace(request, present=2) for request in suite("full")])
    assert {c.workload for c in plan} == set(workloads.names())


def test_on_a_cpu_or_an_old_gpu_a_suite_is_smaller() -> None:
    old = [replace(r, missing=("tf32", "bf16", "int8", "fp8")) for r in suite("scenarios")]
    parts = [fitted(request)[0] for request in old]
    found = schedule([part for part in parts if part is not None])
    assert "bf16" not in {c.precision for c in found}
    assert {c.precision for c in found if c.workload == "llm-1b"} == {"fp16"}


def test_an_unknown_suite() -> None:
    with pytest.raises(InputError, match="unknown suite 'fast'") as caught:
        suite("fast")
    assert caught.value.hint == "choose from aime, tf-cnn, scenarios, limits, full"
