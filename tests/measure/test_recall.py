"""A known recipe is taken where the user leaves the choice, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.facts import recipes
from gpuwise.measure import telemetry
from gpuwise.measure.prepare import recall
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.model.question import RunConfig, Switches

from ..examples import ASKED, TUNED


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))
    build = TorchBuild(version="2.11.0+cu130", cuda="13.0", hip=None)
    monkeypatch.setattr(telemetry, "torch_build", lambda: build)
    recipes.keep(TUNED)


def test_switches_and_batch_are_taken_over() -> None:
    limit = RunConfig(workload="matmul", mode="limit", precision="bf16")
    plan, found = recall((limit, ASKED), "test-gpu")
    assert plan == (limit, replace(ASKED, batch=512, switches=TUNED.switches))
    assert found == {plan[1]: (TUNED,)}


def test_stock_takes_over_no_kernel_of_gpuwise() -> None:
    plan, _ = recall((ASKED,), "test-gpu", "stock")
    assert plan == (replace(ASKED, batch=512),)
    assert plan[0].recipe == "stock"


def test_several_gpus_run_the_recipe_of_one_and_exchange_as_was_found_for_them() -> None:
    two, four = replace(ASKED, gpus=2), replace(ASKED, gpus=4)
    several = replace(
        TUNED, gpus=4, batch=64, switches=Switches(layout="channels-first", overlap_grads="off", bucket="64")
    )
    recipes.keep(several)
    plan, found = recall((ASKED, two, four), "test-gpu")
    assert [config.switches for config in plan] == [
        TUNED.switches,
        replace(TUNED.switches, overlap_grads="off", bucket="64"),
        replace(TUNED.switches, overlap_grads="off", bucket="64"),
    ]
    assert {config.batch for config in plan} == {512}
    assert found[plan[2]] == (TUNED, several)


def test_work_that_was_not_searched_on_several_gpus_exchanges_as_other_work_does() -> None:
    other = replace(
        TUNED, workload="bert-large", precision="fp16", gpus=2, batch=64,
        switches=Switches(residual_dtype="triton", overlap_grads="off"),
    )  # fmt: skip
    recipes.keep(other)
    eager, unknown = replace(ASKED, gpus=2, compile=False), replace(ASKED, workload="resnet152", gpus=4)
    plan, found = recall((replace(ASKED, gpus=2), unknown, eager, replace(unknown, gpus=1)), "test-gpu")
    assert [(config.switches, config.batch) for config in plan] == [
        (replace(TUNED.switches, overlap_grads="off"), 512),
        (Switches(overlap_grads="off"), None),
        (Switches(), None),  # nothing is cut there
        (Switches(), None),
    ]
    assert list(found.values()) == [(TUNED, other), (other,)]
    recipes.keep(replace(TUNED, gpus=8))
    plan, _ = recall((replace(ASKED, gpus=2),), "test-gpu")
    assert plan[0].switches == TUNED.switches  # its own, though for more GPUs


def test_a_batch_that_was_asked_for_stays() -> None:
    plan, _ = recall((replace(ASKED, batch=64),), "test-gpu")
    assert (plan[0].batch, plan[0].switches) == (64, TUNED.switches)


@pytest.mark.parametrize(
    "changed",
    [
        {"recipe": "script"},
        {"quick": True},
        {"size": "toy"},
        {"switches": Switches(layout="channels-first")},
        {"nodes": 2, "gpus": 2},
        {"precision": "fp16"},
    ],
)
def test_otherwise_the_plan_stays(changed: dict[str, object]) -> None:
    config = replace(ASKED, **changed)  # type: ignore[arg-type]
    assert recall((config,), "test-gpu") == ((config,), {})


def test_without_torch_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: None)
    assert recall((ASKED,), "test-gpu") == ((ASKED,), {})


def test_another_device_takes_nothing() -> None:
    assert recall((ASKED,), "other") == ((ASKED,), {})


ONE = RunConfig(
    workload="llama-3.1-8b-decode", mode="infer", precision="bf16", compile=True, batch=1, device="cuda"
)


def test_one_sequence_is_decoded_by_gpuwise_s_kernels() -> None:
    assert recall((ONE,), "test-gpu")[0][0].switches == Switches(decode="triton")


@pytest.mark.parametrize(
    "changed",
    [
        {"batch": 2},
        {"batch": None},
        {"compile": False},
        {"device": "cpu"},
        {"precision": "fp32"},
        {"workload": "llama-3.1-8b-prefill"},
        {"workload": "qwen3-8b-decode"},  # It norms heads, which these kernels do not.
    ],
)
def test_other_steps_are_decoded_by_torch_s(changed: dict[str, object]) -> None:
    config = replace(ONE, **changed)  # type: ignore[arg-type]
    assert recall((config,), "test-gpu") == ((config,), {})
    assert recall((ONE,), "test-gpu", "stock")[0][0].switches == Switches()
