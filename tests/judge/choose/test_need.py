"""What options mean together."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError
from gpuwise.judge.choose.need import read
from gpuwise.judge.choose.presets import presets


def test_a_workload_alone_is_a_whole_need() -> None:
    need = read({"workload": "resnet50"}, {})
    assert (need.workloads, need.mode, need.precision) == ((("resnet50", 1.0),), "train", "bf16")
    assert (need.acquire, need.spot, need.gpus) == ("both", False, (1, 1))


def test_weights_are_shares() -> None:
    found = read({"workload": "resnet50=3, bert-large"}, {}).workloads
    assert found == (("resnet50", 0.75), ("bert-large", 0.25))


@pytest.mark.parametrize(
    ("name", "mode", "workload", "runs"),
    [
        ("llm-8b", "finetune", "llm-8b-lora", "train"), ("llm-1b", "finetune", "llm-1b-lora", "train"),
        ("llm-8b", "infer", "llm-8b-decode", "infer"), ("resnet50", "finetune", "resnet50", "train"),
        ("llm-1b", "train", "llm-1b", "train"), ("llm-1b", "infer", "llm-1b-decode", "infer"),
        ("resnet50", "infer", "resnet50", "infer"),
        ("llm-8b-decode", None, "llm-8b-decode", "infer"),
    ],
)  # fmt: skip
def test_short_names_and_purposes(name: str, mode: str | None, workload: str, runs: str) -> None:
    need = read({"workload": name, "mode": mode}, {})
    assert (need.workloads[0][0], need.mode) == (workload, runs)


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_a_need(name: str) -> None:
    read({"workload": name}, {})


def test_options_override_a_preset() -> None:
    need = read({"workload": "llm-inference", "latency": "TPOT<=20ms", "gpus": "2"}, {})
    assert (need.latency_s, need.gpus, need.workloads[0][0]) == (0.02, (2, 2), "llm-8b-decode")


def test_assumptions_are_read() -> None:
    asked = {
        "electricity": "€0.30/kWh", "hours_per_week": "60", "years": "4", "host": "$2000",
        "host_power": "150W",
        "cooling": "1.5", "depreciation": "25%", "utilisation": "80%", "max_age_days": 90,
    }  # fmt: skip
    a = read({"workload": "resnet50"} | asked, {"EUR": 1.1}).assumptions
    assert a.electricity_usd_per_kwh == pytest.approx(0.33)
    assert (a.hours_per_week, a.years, a.host_usd, a.host_w) == (60, 4, 2000, 150)
    assert read({"workload": "resnet50", "host": "$0"}, {}).assumptions.host_usd == 0
    assert (a.cooling, a.depreciation, a.utilisation, a.max_age_days) == (1.5, 0.25, 0.8, 90)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, "which workload"),
        ({"workload": "resnet5"}, "unknown workload"),
        ({"workload": "launch"}, "cannot be chosen for"),
        ({"workload": "llm-8b"}, "which mode of llm-8b"),
        ({"workload": "llm-8b", "mode": "train"}, "llm-8b cannot be chosen for in mode train"),
        ({"workload": "llm-1b", "mode": "infer", "precision": "fp12"}, "does not run in"),
        ({"workload": "resnet50,bert-large", "work": "1M images"}, "a mix has no item"),
        ({"workload": "resnet50", "work": "1M tokens"}, "counts images"),
        ({"workload": "resnet50", "deadline": "24h"}, "needs an amount of work"),
        ({"workload": "resnet50", "work": "1M images/day", "deadline": "24h"}, "has no deadline"),
        ({"workload": "resnet50", "budget": "$3000"}, "needs an amount of work"),
        ({"workload": "resnet50", "form": "cube"}, "unknown form"),
        ({"workload": "resnet50", "latency": "TPOT<=30ms"}, "of a decode workload"),
        ({"workload": "resnet50", "hours_per_week": "200"}, "168 hours"),
        ({"workload": "resnet50", "cooling": "0.5"}, "at least 1"),
        ({"workload": "resnet50", "utilisation": "0%"}, "no work gets done"),
        ({"workload": "resnet50", "electricity": "$30/kWh"}, "no sensible price"),
        ({"workload": "resnet50", "acquire": "steal"}, "own, rent or both"),
        ({"workload": "resnet50", "mode": "compute"}, "cannot be chosen for in mode compute"),
    ],
)
def test_what_is_refused(asked, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        read(asked, {})
    assert error.value.hint
