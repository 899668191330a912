"""The sampling thread: collects, survives a failing sensor, stops at once, tells its cost."""

from __future__ import annotations

import threading
import time

import pytest

from gpuwise.measure.telemetry import sensor as module
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample, Sampler
from tools.scripted_sensor import ScriptedSensor

INFO = DeviceInfo(index=0, name="Scripted")


class Failing:
    """Answers twice, then raises."""

    def __init__(self) -> None:
        self.asked = 0

    def info(self) -> DeviceInfo:
        return INFO

    def sample(self) -> Sample:
        self.asked += 1
        if self.asked > 2:
            raise OSError("GPU is lost")
        return Sample(at_s=float(self.asked))

    def processes(self) -> tuple[Process, ...]:
        return ()

    def close(self) -> None:
        pass


class Hanging(Failing):
    """Does not answer until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def sample(self) -> Sample:
        self.go.wait(30)
        return Sample(at_s=0.0)


def wait_for(condition: object, seconds: float = 10.0) -> None:
    """Until `condition()`; a loaded machine may be slow, so no test relies on a fixed sleep."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.001)


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "gpuwise-sampler"]


def test_collects_in_order() -> None:
    script = ScriptedSensor(INFO, [Sample(at_s=float(i)) for i in range(3)])
    with Sampler(script, period_s=0.001) as sampler:
        wait_for(lambda: len(sampler.samples) >= 5)
    assert [s.at_s for s in sampler.samples[:5]] == [0.0, 1.0, 2.0, 2.0, 2.0]
    assert sampler.error is None
    assert threads() == []


def test_first_and_last_sample_without_waiting_for_the_period() -> None:
    script = ScriptedSensor(INFO, [Sample(at_s=float(i)) for i in range(9)])
    began = time.monotonic()
    with Sampler(script, period_s=60.0) as sampler:
        wait_for(lambda: sampler.samples)
    assert time.monotonic() - began < 30  # half the period
    assert [s.at_s for s in sampler.samples] == [0.0, 1.0]


def test_a_device_that_falls_silent_has_failed() -> None:
    told, nothing = Sample(at_s=1.0, power_w=300.0), Sample(at_s=2.0)
    with Sampler(ScriptedSensor(INFO, [told, nothing]), period_s=0.001) as lost:
        wait_for(lambda: lost.error)
    assert (lost.samples, lost.error) == ((told,), "LookupError: the sensor stopped returning values")
    with Sampler(ScriptedSensor(INFO, [nothing]), period_s=0.001) as reticent:
        wait_for(lambda: len(reticent.samples) > 2)
    assert reticent.error is None


def test_failing_sensor_ends_the_sampling_only() -> None:
    sensor = Failing()
    with Sampler(sensor, period_s=0.001) as sampler:
        wait_for(lambda: sampler.error)
    assert sampler.error == "OSError: GPU is lost"
    assert len(sampler.samples) == 2
    assert sensor.asked == 3
    assert threads() == []


def test_hanging_sensor_does_not_hang_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_S", 0.01)
    sensor, began = Hanging(), time.monotonic()
    with Sampler(sensor) as sampler:
        pass
    assert time.monotonic() - began < 10
    assert sampler.error is not None
    assert "did not answer" in sampler.error
    sensor.go.set()
    wait_for(lambda: threads() == [])


def test_without_a_sensor() -> None:
    with Sampler(None) as sampler:
        pass
    assert (sampler.samples, sampler.error) == ((), None)


def test_an_error_of_the_run_passes_through() -> None:
    with pytest.raises(ZeroDivisionError), Sampler(ScriptedSensor(INFO, [Sample(at_s=0.0)])):
        _ = 1 / 0
    assert threads() == []


def test_scripted_sensor() -> None:
    script = ScriptedSensor(INFO, [Sample(at_s=0.0)], (Process(pid=7),))
    assert script.info() is INFO
    assert script.processes() == (Process(pid=7),)
    script.close()
    with pytest.raises(ValueError, match="at least one sample"):
        ScriptedSensor(INFO, [])
