"""Ranks that are no equals, from the session's end: named, and the measurement is complete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuwise import workloads
from gpuwise.measure import events, session
from gpuwise.measure.telemetry.sensor import DeviceInfo, Sample
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Group, Issue, Measurement, Rank, Result, Window
from tools.scripted_sensor import ScriptedSensor

from ...pretended import new_session

SLOW_FILE = """\
import os, time
from dataclasses import replace
import torch
from gpuwise.workloads import WorkloadSpec, workload
from gpuwise.workloads.job import training_job

@workload(WorkloadSpec(id="net", version=1, title="", item="thing", modes=("train",), default_batch=4))
def net(config, batch):
    model, x = torch.nn.Linear(8, 8), torch.randn(batch, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    job = training_job(model, (x,), lambda y: y.square().mean(), optimizer, config, batch)
    def step():
        time.sleep(0.03 if os.environ.get("RANK") == "1" else 0.01)
        return job.step()
    return replace(job, step=step)
"""


def measured(config: RunConfig, **more: object) -> Measurement:
    """The one measurement of a session."""
    kept: list[Result] = []
    found = new_session(kept, device="GPU", **more)  # type: ignore[arg-type]
    list(found.measure_all([config]))
    return kept[-1].measurements[-1]


def cautions(m: Measurement, code: str) -> list[Issue]:
    return [caution for caution in m.cautions if caution.code == code]


def test_a_rank_for_which_all_wait_is_named(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(SLOW_FILE)
    (found,) = workloads.find(str(file))
    config = RunConfig(
        workload=found.spec.id,
        mode="train",
        precision="fp32",
        device="cpu",
        size="toy",
        batch=4,
        time_s=0.5,
        quick=True,
        gpus=2,
    )
    m = measured(config)
    assert (m.status, m.error) == ("ok", None)
    (slow,) = cautions(m, "slow-rank")
    assert "rank 1 (cpu, machine 0) needs " in slow.detail
    assert m.throughput is not None
    assert m.throughput.value < 8 / 0.03  # the pace of the slow one


class Mixed:
    """A child whose two ranks found different GPUs."""

    pid = 1
    idle = False

    def __init__(self, *_: object) -> None:
        pass

    def order(self, *_: object, **__: object) -> None:
        pass

    def events(self) -> Iterator[events.Event]:
        yield events.Ready(version="2.13.0", device="NVIDIA H200")
        ranks = (
            Rank(rank=0, device="NVIDIA H200", alone_s=0.1),
            Rank(rank=1, device="NVIDIA H100", alone_s=0.13),
        )
        group = Group(backend="nccl", parallel="ddp", bucket_bytes=25 * 2**20, ranks=ranks)
        yield events.Ranked(group=group, pids=(1, 2))
        yield events.Built(batch=256, items=512)
        yield events.First(seconds=1.0)
        yield events.Warmup(step_s=(0.14, 0.14))
        for start in range(5):
            yield Window(step_s=(0.14, 0.14, 0.141), started_s=start, ended_s=start + 0.42)
        yield events.Done(memory_peak_bytes=10**9, loss=(7.0, 6.0))

    def ending(self) -> None:
        return None

    def close(self) -> None:
        pass


def gpu(index: int, name: str, limit_w: float) -> ScriptedSensor:
    info = DeviceInfo(index=index, name=name, memory_bytes=10**11, power_limit_w=limit_w)
    return ScriptedSensor(info, [Sample(at_s=0.0, temperature_c=30.0)])


def test_mixed_models_and_unequal_power_limits_are_named_and_the_measurement_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "Child", Mixed)
    config = RunConfig(workload="resnet50", mode="train", precision="bf16", quick=True, gpus=2)
    sensors = gpu(0, "NVIDIA H200", 700.0), gpu(1, "NVIDIA H100", 500.0)
    m = measured(config, sensor=sensors[0], other_sensors=sensors[1:])
    assert (m.status, m.error) == ("ok", None)
    models, limits = sorted(cautions(m, "mixed"), key=lambda caution: "power" in caution.detail)
    assert models.detail.endswith("rank 0: NVIDIA H200; rank 1: NVIDIA H100")
    assert limits.detail == "different power limits: GPU 0: 700 W; GPU 1: 500 W"
    (slow,) = cautions(m, "slow-rank")
    assert slow.detail.startswith("rank 1 (NVIDIA H100, machine 0) needs 30.0 % longer")
