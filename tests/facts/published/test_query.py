"""Choosing among figures, and names that do not exist."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError
from gpuwise.facts.published import all_results, check_source, meant_workloads, select, workloads


def test_all_conditions_hold_together():
    rows = select(workload="ResNet-50", mode="train", precision="tf32", gpu_ids={"a100-sxm4-40gb"}, n_gpus=1)
    assert rows
    assert {(r.question.workload, r.question.mode, r.gpu_id, r.gpus) for r in rows} == {
        ("resnet50", "train", "a100-sxm4-40gb", 1)
    }
    assert {r.precision for r in rows} == {"tf32", "tf32?"}
    assert all(r.source.id == "lambda_dlbench" for r in select(rows, source="lambda_dlbench"))


def test_nothing_asked_is_everything_in_order():
    assert select() == all_results()
    assert select(workload="no-such-network") == ()


def test_workloads_are_counted():
    counts = workloads()
    assert sum(counts.values()) == len(all_results())
    assert next(iter(counts)) == "resnet50"
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert workloads([]) == {}


def test_check_workload_translates_and_guesses():
    assert meant_workloads("RN50")[0] == "resnet50"
    assert meant_workloads("mine", ["mine"])[0] == "mine"
    assert meant_workloads("bert")[0] == "bert-large"
    assert meant_workloads("meta-llama/Llama-3.1-8B", ["llm-8b-decode"])[0] == "llm-8b-decode"
    with pytest.raises(InputError, match=r"did you mean .*resnet50") as caught:
        meant_workloads("resnet5", ["resnet50", "resnet50"])
    assert str(caught.value).count("resnet50") == 1
    with pytest.raises(InputError, match="did you mean mlperf-retinanet"):
        meant_workloads("retinanet-x-y-z")


def test_check_source_guesses():
    assert check_source("nvidia_dle") == "nvidia_dle"
    with pytest.raises(InputError, match="lambda_dlbench"):
        check_source("lambda")
