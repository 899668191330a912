"""GPUs of Apple and Intel, as far as torch's own switches tell without one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from gpuwise import workloads
from gpuwise.errors import MachineError
from gpuwise.measure import child, events
from gpuwise.measure.frameworks.torch import TorchAdapter
from gpuwise.measure.prepare import choose
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.model.question import Device, RunConfig
from gpuwise.model.result import Window
from gpuwise.workloads.job import Job

CONFIG = RunConfig(
    workload="resnet50", mode="train", precision="fp32", device="mps", time_s=0.1, quick=True, size="toy"
)
INTEL = TorchBuild(version="2.11.0+xpu", xpu="20250301")


class Event:
    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None: ...

    def elapsed_time(self, other: Event) -> float:
        return 10.0


def given(monkeypatch: pytest.MonkeyPatch, **more: object) -> None:
    module = SimpleNamespace(Event=Event, synchronize=lambda: None, empty_cache=lambda: None, **more)
    monkeypatch.setattr(torch, "get_device_module", lambda device: module)


def measured(device: Device, monkeypatch: pytest.MonkeyPatch) -> list[events.Event]:
    losses = iter(range(10**6, 0, -1))
    job = Job(step=lambda: torch.tensor(float(next(losses))), items=8)
    workload = replace(workloads.get("resnet50"), build=lambda config, batch: job)
    monkeypatch.setattr(workloads, "load", lambda reference: workload)
    heard: list[events.Event] = []
    child.run(
        TorchAdapter("resnet50"), replace(CONFIG, device=device), heard.append, child.ColdStart(None, 0.0)
    )
    return heard


def test_apple_s_gpu_is_measured_without_a_peak_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 2**34)
    heard = measured("mps", monkeypatch)
    assert heard[0] == events.Ready(
        version=torch.__version__, cuda=None, cudnn=None, device="Apple GPU", memory_bytes=2**34
    )
    assert isinstance(heard[-1], events.Done)
    assert heard[-1].memory_peak_bytes is None
    timed = [event for event in heard if isinstance(event, Window)]
    assert {second for event in timed for second in event.step_s} == {0.01}


def test_intel_s_gpu_is_measured_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, reset_peak_memory_stats=lambda: None, max_memory_allocated=lambda: 5)
    named = SimpleNamespace(name="Intel(R) Data Center GPU Max 1550", total_memory=2**36)
    monkeypatch.setattr(torch.xpu, "get_device_properties", lambda: named)
    heard = measured("xpu", monkeypatch)
    assert isinstance(heard[0], events.Ready)
    assert heard[0].device == named.name
    assert isinstance(heard[-1], events.Done)
    assert heard[-1].memory_peak_bytes == 5


def test_where_they_are_not() -> None:
    def chosen(device: Device, build: TorchBuild) -> object:
        return choose((), build, device=device, index=None)

    assert chosen("xpu", INTEL) == ("xpu", None)
    with pytest.raises(MachineError, match="not built for Intel"):
        chosen("xpu", TorchBuild(version="2.13.0+cpu"))


def test_apple_s_chips_alone_have_mps(monkeypatch: pytest.MonkeyPatch) -> None:
    build = TorchBuild(version="2.13.0")
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert choose((), build, device="mps", index=None) == ("mps", None)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    with pytest.raises(MachineError, match="Apple's own chips"):
        choose((), build, device="mps", index=None)
