"""Ranks that are no equals are named."""

from __future__ import annotations

from itertools import zip_longest

from gpuwise.measure.assemble import unequal, uneven_power, with_sensors
from gpuwise.measure.telemetry.sensor import DeviceInfo
from gpuwise.model.result import Group, Rank, Telemetry


def group_of(
    node: int = 0,
    nodes: tuple[int, ...] = (0, 0, 1, 1),
    devices: tuple[str, ...] = ("H200",) * 4,
    alone_s: tuple[float, ...] = (1.0, 1.01, 1.0, 1.02),
) -> Group:
    each = zip_longest(nodes, devices, alone_s)
    ranks = (Rank(rank=i, node=n, device=d, alone_s=s) for i, (n, d, s) in enumerate(each))
    return Group(backend="nccl", parallel="ddp", bucket_bytes=25 * 2**20, node=node, ranks=tuple(ranks))


def test_a_machine_knows_the_telemetry_of_its_own_gpus() -> None:
    here = (Telemetry(samples=1, power_w=600.0), Telemetry(samples=1, power_w=650.0))
    group = with_sensors(group_of(node=1), here, ())
    assert [rank.telemetry for rank in group.ranks] == [None, None, *here]
    assert [rank.node for rank in group.ranks] == [0, 0, 1, 1]
    assert group.node == 1


def test_equals_are_no_reason_for_a_caution() -> None:
    assert list(unequal(group_of())) == []
    same = [DeviceInfo(index=n, name="H200", power_limit_w=700.0) for n in range(2)]
    assert list(uneven_power(same)) == []


def test_a_slow_rank_is_named() -> None:
    (found,) = unequal(group_of(alone_s=(1.0, 1.0, 1.2, 1.0)))
    assert found.code == "slow-rank"
    assert "rank 2 (H200, machine 1) needs 20.0 % longer" in found.detail
    (of_two,) = unequal(group_of(nodes=(0, 0), devices=("a", "a"), alone_s=(1.3, 1.0)))
    assert "rank 0" in of_two.detail
    assert list(unequal(group_of(alone_s=()))) == []


def test_mixed_models_and_power_limits_are_named() -> None:
    (found,) = unequal(group_of(devices=("H200", "H200", "H100", "H200")))
    assert found.code == "mixed"
    assert "rank 2: H100" in found.detail
    unlike = [DeviceInfo(index=n, name="H200", power_limit_w=w) for n, w in enumerate((700.0, 500.0))]
    (power,) = uneven_power(unlike)
    assert "GPU 0: 700 W; GPU 1: 500 W" in power.detail
