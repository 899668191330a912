"""Ranks that are no equals are named."""

from __future__ import annotations

from gpuwise.measure import events
from gpuwise.measure.assemble import group_of, unequal, uneven_power
from gpuwise.measure.telemetry import DeviceInfo
from gpuwise.model.result import Telemetry


def ranked(**more: object) -> events.Ranked:
    fields: dict[str, object] = {
        "backend": "nccl",
        "parallel": "ddp",
        "bucket_bytes": 25 * 2**20,
        "node": 0,
        "nodes": (0, 0, 1, 1),
        "devices": ("H200",) * 4,
        "pids": (1, 2, 3, 4),
        "alone_s": (1.0, 1.01, 1.0, 1.02),
    }
    return events.Ranked(**fields | more)  # type: ignore[arg-type]


def test_a_machine_knows_the_telemetry_of_its_own_gpus() -> None:
    here = (Telemetry(samples=1, power_w=600.0), Telemetry(samples=1, power_w=650.0))
    group = group_of(ranked(node=1), here)
    assert [rank.telemetry for rank in group.ranks] == [None, None, *here]
    assert [rank.node for rank in group.ranks] == [0, 0, 1, 1]
    assert group.node == 1


def test_equals_are_no_reason_for_a_caution() -> None:
    assert list(unequal(group_of(ranked()))) == []
    same = [DeviceInfo(index=n, name="H200", power_limit_w=700.0) for n in range(2)]
    assert list(uneven_power(same)) == []


def test_a_slow_rank_is_named() -> None:
    (found,) = unequal(group_of(ranked(alone_s=(1.0, 1.0, 1.2, 1.0))))
    assert found.code == "slow-rank"
    assert "rank 2 (H200, machine 1) needs 20.0 % longer" in found.detail
    (of_two,) = unequal(group_of(ranked(nodes=(0, 0), devices=("a", "a"), alone_s=(1.3, 1.0))))
    assert "rank 0" in of_two.detail
    assert list(unequal(group_of(ranked(alone_s=())))) == []


def test_mixed_models_and_power_limits_are_named() -> None:
    (found,) = unequal(group_of(ranked(devices=("H200", "H200", "H100", "H200"))))
    assert found.code == "mixed"
    assert "rank 2: H100" in found.detail
    unlike = [DeviceInfo(index=n, name="H200", power_limit_w=w) for n, w in enumerate((700.0, 500.0))]
    (power,) = uneven_power(unlike)
    assert "GPU 0: 700 W; GPU 1: 500 W" in power.detail
