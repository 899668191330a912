"""The machine and the environment of a result."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from typing import Any

import pytest

from gpuwise.measure.telemetry import environment, machine
from gpuwise.measure.telemetry.sensor import DeviceInfo

from ...stopwatch import stopwatch


def test_machine(nvml: Any) -> None:
    nvml.count = 2
    found = machine()
    assert [info.index for info in found.devices] == [0, 1]
    assert found.cpu
    assert found.cpu_count >= 1
    assert nvml.references == 0


def test_machine_without_a_gpu_is_quick(monkeypatch: pytest.MonkeyPatch, slowness: float) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    machine()
    fastest = []
    for _ in range(5):
        took_s = stopwatch()
        assert machine().devices == ()
        fastest.append(took_s())
    assert min(fastest) < 0.1 * slowness


def test_environment_of_a_device(h200: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    found = environment(
        h200,
        device="ignored",
        other_processes=1,
    )
    assert (found.device, found.gpu_id, found.other_processes) == ("NVIDIA H200", "h200-sxm", 1)
    assert (found.driver, found.device_memory_bytes) == ("580.159.04", 150_754_820_096)
    assert (found.power_limit_w, found.ecc, found.mig, found.pcie_width) == (700.0, True, False, 16)
    assert ("OMP_NUM_THREADS", "8") in found.variables
    assert "GPU-8f1c" not in str(asdict(found))


def test_equal_cards_are_told_apart_by_a_digest_that_names_none(h200: DeviceInfo) -> None:
    first, second, none = (
        environment(replace(h200, uuid=uuid), device="").card for uuid in ("GPU-1", "GPU-2", None)
    )
    assert first is not None
    assert (len(first), none) == (12, None)
    assert first not in (second, "GPU-1")
    assert environment(replace(h200, uuid="GPU-1"), device="").card == first


def test_environment_of_a_processor() -> None:
    found = environment(None, device="AMD EPYC")
    assert (found.device, found.driver, found.torch) == ("AMD EPYC", None, None)
    assert found.python
    assert found.gpuwise
    assert found.cpu_count
