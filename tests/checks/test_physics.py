"""No speed above a peak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpuwise import checks
from gpuwise.checks import find_network, network_in
from gpuwise.facts import catalog, published
from gpuwise.model.precision import Precision
from gpuwise.model.result import Record

Row = Callable[..., Record]


def at(share: float, gpu_id: str, precision: str) -> float:
    """Images per second of ResNet-50 training that need this share of a peak."""
    network, peak = find_network("resnet50"), catalog.get(gpu_id).peak(precision)
    assert network is not None
    assert peak is not None
    return share * peak.flop_per_s / network.flop("train")


@pytest.mark.parametrize(("share", "word"), [(0.5, ""), (0.9, "SUSPECT"), (1.1, "INVALID")])
def test_shares_of_the_peak(row: Row, share: float, word: str) -> None:
    found = list(checks.judge([row(speed=at(share, "t4", "fp16"))])[0])
    assert [c.detail.split(":")[0] for c in found] == ([word] if word else [])


def test_fp32_that_only_tf32_can_reach(row: Row) -> None:
    fast = row(gpu="A100", gpu_id="a100-sxm4-80gb", precision="fp32", speed=at(2, "a100-sxm4-80gb", "fp32"))
    assert [c.code for c in checks.judge([fast])[0]] == ["precision"]


def test_int8_is_held_against_its_own_peak(row: Row) -> None:
    for share, codes in ((1.5, []), (2.2, ["above-peak"])):
        speed = at(share, "a100-sxm4-80gb", "fp16") * 3  # inference does a third of a step's work
        fast = row(gpu="A100", gpu_id="a100-sxm4-80gb", precision="int8", mode="infer", speed=speed)
        assert [c.code for c in checks.judge([fast])[0]] == codes


def test_what_is_not_known_is_not_judged(row: Row) -> None:
    for unknown in (
        row(workload="frobnet", speed=1e9),
        row(gpu_id=None, speed=1e9),
        row(gpu_id="x"),
    ):
        assert list(checks.judge([unknown])[0]) == []


def test_several_gpus_share_the_work(row: Row) -> None:
    assert list(checks.judge([row(gpus=8, speed=at(4, "t4", "fp16"))])[0]) == []


@pytest.mark.parametrize(
    ("gpu_id", "tokens_per_s", "precision", "valid"),
    [
        ("a100-pcie-80gb", 54.56, "fp16", True),
        ("a100-pcie-80gb", 191.0, "fp16", False),  # 2.9 TB/s of weights
        ("a100-pcie-80gb", 191.0, "int4", True),
        ("A100", 125.0, "fp16", True),  # of its variants the fastest counts
        ("A100", 140.0, "fp16", False),
    ],
)
def test_decoding_reads_the_weights_at_every_step(
    gpu_id: str, tokens_per_s: float, precision: str, valid: bool
) -> None:
    row = next(r for r in published.all_results() if r.question.workload == "llama3-8b-decode")
    assert row.throughput is not None
    asked = replace(
        row, gpu_id=gpu_id, gpu="A100", throughput=replace(row.throughput, value=tokens_per_s),
        question=replace(row.question, precision=Precision(precision)),
    )  # fmt: skip
    assert [issue.code for issue in checks.judge([asked])[0]] == ([] if valid else ["above-peak"])


def test_the_share_that_no_network_reaches(row: Row) -> None:
    def found(share: float, precision: str = "fp16") -> list[str]:
        issues = checks.judge([row(speed=at(share, "t4", precision), precision=precision)])[0]
        return [issue.code for issue in issues]

    assert found(checks.IMPLAUSIBLE - 0.001) == []
    assert found(checks.IMPLAUSIBLE + 0.001) == ["above-peak"]
    # Of fp32 on a card without tf32 as much more as Winograd saves.
    network = find_network("resnet50")
    assert network is not None
    assert found((checks.IMPLAUSIBLE - 0.001) / network.least, "fp32") == []
    assert found((checks.IMPLAUSIBLE + 0.001) / network.least, "fp32") == ["above-peak"]


@pytest.mark.parametrize("gpu_id", ["rtx-3080-ti-laptop", "rtx-4090"])
def test_a_card_that_boosts_beyond_its_sheet_may_come_closer_to_its_peak(row: Row, gpu_id: str) -> None:
    issues = checks.judge([row(gpu=gpu_id, gpu_id=gpu_id, speed=at(0.91, gpu_id, "fp16"), precision="fp16")])
    assert issues == ((),)


@pytest.mark.parametrize(
    ("gpu_id", "precision", "codes"),
    [
        ("arc-b580", "fp16", []),  # Its matrix units are known, their rate is not
        ("arc-b580", "fp32", ["above-peak"]),
        ("p100-sxm2-16gb", "fp16", []),  # Its lanes do twice as much in fp16
        ("rx-6800", "fp32", ["above-peak"]),
    ],
)
def test_only_a_peak_that_bounds_a_precision_is_a_limit(
    row: Row, gpu_id: str, precision: str, codes: list[str]
) -> None:
    network = find_network("resnet50")
    assert network is not None
    speed = at(1.6, gpu_id, "fp32") / (network.least if precision == "fp32" else 1.0)
    (issues,) = checks.judge([row(gpu=gpu_id, gpu_id=gpu_id, speed=speed, precision=precision)])
    assert [issue.code for issue in issues] == codes


def test_fp32_above_what_tf32_reaches_is_above_the_peak(row: Row) -> None:
    a100, network = "a100-sxm4-80gb", find_network("resnet50")
    assert network is not None
    for share, code in ((0.999, "precision"), (1.001, "above-peak")):
        speed = at(share, a100, "tf32") / network.least
        (issue,) = checks.judge([row(gpu="A100", gpu_id=a100, precision="fp32", speed=speed)])[0]
        assert issue.code == code


@pytest.mark.parametrize("changes", [{"workload": "llama3-8b-prefill"}, {"batch": None}, {"precision": None}])
def test_what_decodes_is_known_by_all_of_its_question(changes: dict[str, object]) -> None:
    row = next(r for r in published.all_results() if r.question.workload == "llama3-8b-decode")
    assert row.throughput is not None
    asked = replace(row, gpu_id="a100-pcie-80gb", throughput=replace(row.throughput, value=1e6))
    assert [issue.code for issue in checks.judge([asked])[0]] == ["above-peak"]
    other = replace(asked, question=replace(asked.question, **changes))
    assert [issue.code for issue in checks.judge([other])[0]] == []
    assert [issue.code for issue in checks.judge([replace(asked, item="request")])[0]] == []


def test_names_of_networks_are_read_in_any_writing() -> None:
    for name in ("ResNet-50", "resnet50", "RESNET 50", "Resnet_50"):
        assert find_network(name) == find_network("resnet50")
    for text in ("ResNet-50 v1.5, batch 256", "training resnet 50 on one GPU", "RESNET_50"):
        assert network_in(text) == find_network("resnet50"), text
    for text in ("resnet501", "xresnet50", "Mask R-CNN with ResNet-50", "a U-Net on ResNet-50", "nothing"):
        assert network_in(text) is None, text


def test_training_takes_three_times_the_operations_and_winograd_saves_some() -> None:
    network = find_network("resnet50")
    assert network is not None
    assert network.flop("train") == 3 * network.flop("infer") == 3 * network.forward_flop
    assert network.least == pytest.approx(1 - network.winograd * (1 - 1 / 2.25))
    assert 0.4 < network.least < 1
