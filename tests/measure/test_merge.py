"""Files of several machines become one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.errors import InputError
from gpuwise.measure.cluster import merged
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Group, Issue, Measurement, Rank, Result, Telemetry, Window

MANY = RunConfig(workload="resnet50", mode="train", precision="bf16", gpus=4, nodes=2)
NOTE = Issue(code="throttled", severity="warning", detail="GPU 1: power-cap", fix="")


def result(node: int, **environment: object) -> Result:
    own = {2 * node + n: Telemetry(samples=9, power_w=600.0 + 10 * node + n) for n in range(2)}
    ranks = tuple(Rank(rank=r, node=r // 2, device="H200", telemetry=own.get(r)) for r in range(4))
    several = Measurement(
        config=MANY,
        workload_version=1,
        status="ok",
        item="image",
        started_at="",
        windows=(Window(step_s=(0.1, 0.1), started_s=100.0 * node, ended_s=100.0 * node + 1),),
        group=Group(backend="nccl", parallel="ddp", node=node, ranks=ranks),
        cautions=(NOTE,) if node else (),
    )
    one = replace(several, config=replace(MANY, gpus=1, nodes=1), group=None, cautions=())
    found = Environment(**{"device": "H200", **environment})  # type: ignore[arg-type]
    return Result(id=f"r{node}", created_at="", command="", environment=found, measurements=(one, several))


def test_the_first_machines_file_with_the_watts_of_all() -> None:
    whole = merged([result(1), result(0)])
    assert whole.id == "r0"
    one, several = whole.measurements
    assert one == result(0).measurements[0]
    assert several.group is not None
    watts = [rank.telemetry.power_w for rank in several.group.ranks if rank.telemetry]
    assert watts == [600.0, 601.0, 610.0, 611.0]
    assert several.telemetry is not None
    assert several.telemetry.power_w == sum(watts)
    assert several.cautions == (NOTE,)


def test_machines_that_differ_are_named() -> None:
    whole = merged([result(0), result(1, driver="570.1")])
    assert not [c for c in whole.measurements[1].cautions if c.code == "mixed"]  # one of them does not tell
    whole = merged([result(0, driver="580.2"), result(1, driver="570.1")])
    (mixed,) = [c for c in whole.measurements[1].cautions if c.code == "mixed"]
    assert mixed.detail == "machine 1 differs from machine 0: driver 580.2 against 570.1"


def test_files_that_do_not_belong_together() -> None:
    with pytest.raises(InputError, match="not the files of all machines"):
        merged([result(0), result(0)])
    with pytest.raises(InputError, match=r"not the files of all machines of one session: r0: machine 0$"):
        merged([result(0)])
    alone = replace(result(0), measurements=result(0).measurements[:1])
    with pytest.raises(InputError, match="one machine"):
        merged([alone])
    other = result(1)
    moved = replace(other.measurements[1], windows=(Window(step_s=(0.2,), started_s=0, ended_s=1),))
    with pytest.raises(InputError, match="two sessions"):
        merged([result(0), replace(other, measurements=(moved,))])
