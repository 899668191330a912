"""`gpuwise watch` with scripted sensors."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwise.cli import watch
from gpuwise.measure import telemetry
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample
from tools.scripted_sensor import ScriptedClock, ScriptedSensor

from .test_schemas import check

Call = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]
# One GPU that is busy for a look and free from then on, as `gpuwise watch` would find it.
WATCHED = """
import sys
from tools import schemas  # its sensors are scripted
from tools.scripted_sensor import ScriptedClock
from gpuwise.cli import watch
from gpuwise.measure import telemetry
from gpuwise.cli.main import run
telemetry.sensors = schemas.sensors
if "--for" in sys.argv:
    watch.time = ScriptedClock()
run(["watch", *sys.argv[1:]])
"""
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
    monkeypatch.setattr(watch, "time", ScriptedClock())


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


def in_a_terminal(*words: str, end: int | None = None) -> tuple[int, str]:
    """Exit code and all that `gpuwise watch` writes to a terminal of 100 columns, where a signal may end it
    after its second look."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    paths = os.pathsep.join(str(ROOT / part) for part in ("", "src", "tools"))
    child = subprocess.Popen(
        [sys.executable, "-c", WATCHED, *words],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    text = ""
    try:
        while True:
            text += os.read(ours, 4096).decode(errors="replace")
            if end is not None and text.count("held down by") >= 2:
                child.send_signal(end)
                end = None
    except OSError:  # the last of its writers has closed the terminal
        pass
    finally:
        os.close(ours)
        child.wait(timeout=60)
    return child.returncode, text


def test_a_terminal_shows_one_table_that_changes_in_its_place() -> None:
    code, text = in_a_terminal("--every", "100ms", "--for", "250ms")
    assert code == 0
    first, *later = re.split(r"\x1b\[(?:\d+)F\x1b\[J", text)
    assert len(later) == 2
    ups = [int(number) for number in re.findall(r"\x1b\[(\d+)F", text)]
    # The cursor goes up by as many lines as the last table had, so that nothing is left of it.
    assert ups == [part.count("\n") for part in (first, later[0])]
    assert "350 W (50 %)" in first
    assert "350 W" not in later[-1]
    assert "power-cap 33 %" in later[-1]
    assert all(len(line) <= 100 for line in text.replace("\r", "").splitlines() if "\x1b" not in line)


def test_ctrl_c_ends_the_watch_without_a_traceback() -> None:
    code, text = in_a_terminal("--every", "100ms", end=signal.SIGINT)
    assert code == 130
    assert "Traceback" not in text
