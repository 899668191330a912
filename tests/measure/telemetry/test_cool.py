"""The start gate, on a clock that only sleep moves."""

from __future__ import annotations

import pytest

from gpuwise.measure.telemetry import sensor as sensors
from gpuwise.measure.telemetry.sensor import DeviceInfo, Sample, wait_until_cool
from tools.scripted_sensor import ScriptedClock, ScriptedSensor


def sensor(*heats: float | None) -> ScriptedSensor:
    samples = [Sample(at_s=float(i), temperature_c=heat) for i, heat in enumerate(heats)]
    return ScriptedSensor(DeviceInfo(index=0, name="Scripted"), samples)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> ScriptedClock:
    clock = ScriptedClock(1000.0)
    monkeypatch.setattr(sensors, "time", clock)
    return clock


def test_cool_at_once(time: ScriptedClock) -> None:
    assert wait_until_cool(sensor(31.0)) is None
    assert time.monotonic() == 1000.0


def test_waits_until_cool(time: ScriptedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    hot = sensor(70.0, 60.0, 50.0, 49.0)
    monkeypatch.setattr(sensors, "COOL_POLL_S", 1.0)
    assert wait_until_cool(hot) is None
    assert time.monotonic() == 1003.0


def test_gives_up(time: ScriptedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensors, "COOL_POLL_S", 4.0)
    gate = wait_until_cool(sensor(71.0))
    assert gate is not None
    assert gate.code == "hot-start"
    assert gate.detail == "started at 71 °C, not below 50 °C, after 10 s"
    assert time.monotonic() == 1010.0


def test_unknown_temperature_is_taken_as_cool() -> None:
    assert wait_until_cool(sensor(None)) is None


def test_failing_sensor_is_taken_as_cool() -> None:
    class Failing(ScriptedSensor):
        def sample(self) -> Sample:
            raise OSError("GPU is lost")

    info = DeviceInfo(index=0, name="Scripted")
    assert wait_until_cool(Failing(info, [Sample(at_s=0.0)])) is None
