"""`gpuwise watch` with scripted sensors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwise.measure import telemetry
from gpuwise.measure.telemetry import DeviceInfo, Process, Sample, ScriptedSensor

from .test_schemas import check

Call = Callable[..., tuple[int, str, str]]
BUSY = Sample(
    at_s=0.0, power_w=350.0, sm_clock_hz=1.5e9, temperature_c=71.0, memory_used_bytes=12 * 2**30,
    utilisation=0.98, throttle=("power-cap",),
)  # fmt: skip
FREE = Sample(at_s=1.0, power_w=70.0, sm_clock_hz=3e8, memory_used_bytes=0, utilisation=0.0)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    def sensors() -> tuple[ScriptedSensor, ...]:
        infos = (
            DeviceInfo(
                index=n, name="NVIDIA H200", power_limit_w=700.0, sm_clock_max_hz=2e9, memory_bytes=24 * 2**30
            )
            for n in range(2)
        )
        return tuple(
            ScriptedSensor(info, samples, (Process(pid=7, memory_bytes=2**30),))
            for info, samples in zip(infos, ((BUSY, FREE), (FREE,)), strict=True)
        )

    monkeypatch.setattr(telemetry, "sensors", sensors)


@pytest.mark.usefixtures("two")
def test_each_gpu_has_a_row_with_what_it_does_and_its_limits(gpuwise: Call) -> None:
    code, out, _ = gpuwise("watch", "--every", "100ms", "--for", "50ms")
    assert code == 0
    (first,) = [line for line in out.splitlines() if line.startswith(" 0 NVIDIA H200")]
    for text in ("98 %", "350 W (50 %)", "1,500 MHz (75 %)", "71 °C", "12.0 GiB (50 %)", "power-cap 100 %"):
        assert text in first


@pytest.mark.usefixtures("two")
def test_the_share_of_looks_at_which_a_clock_was_held_down(gpuwise: Call) -> None:
    code, out, _ = gpuwise("watch", "--every", "100ms", "--for", "150ms", "--device", "0", "--json")
    check("watch", out)
    (found,) = json.loads(out)
    assert (code, found["looks"], found["throttle"]) == (0, 2, [])
    assert found["throttle_shares"] == {"power-cap": 0.5}
    assert found["processes"] == [{"pid": 7, "memory_bytes": 2**30}]


@pytest.mark.usefixtures("two")
def test_one_look_as_a_file(gpuwise: Call, tmp_path: Path) -> None:
    code, _, _ = gpuwise("watch", "-o", str(tmp_path / "now.csv"))
    assert code == 0
    assert len((tmp_path / "now.csv").read_text().splitlines()) == 3


@pytest.mark.usefixtures("two")
def test_what_cannot_be_watched_is_refused(gpuwise: Call) -> None:
    assert gpuwise("watch", "--device", "2")[0] == 2
    assert gpuwise("watch", "--every", "10ms")[0] == 2


def test_without_a_gpu_there_is_nothing_to_watch(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "sensors", lambda: ())
    code, _, err = gpuwise("watch")
    assert code == 3
    assert "gpuwise doctor" in err
