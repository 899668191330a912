"""Two on one device: the second is refused and told by whom; a dead one's lock means nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError, MachineError
from gpuwise.measure import locks
from gpuwise.measure.telemetry.sensor import DeviceInfo

HOLD = """\
import sys, time
from gpuwise.measure.locks import only_ours
with only_ours((None,), "gpuwise bench --suite aime"):
    print("held", flush=True)
    time.sleep(60)
"""
GPU = DeviceInfo(index=3, name="NVIDIA H200", uuid="GPU-secret")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))


def holder() -> subprocess.Popen[str]:
    started = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "held\n"
    return started


def test_the_second_is_refused_until_the_first_is_dead() -> None:
    first = holder()
    with pytest.raises(MachineError) as caught, locks.only_ours((None,), "gpuwise bench"):
        pass
    assert str(caught.value) == (
        f"the CPU is being measured by process {first.pid} (gpuwise bench --suite aime)"
    )
    assert caught.value.hint == f"wait until it ends, or stop process {first.pid}"
    assert caught.value.exit_code == 3
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    with locks.only_ours((None,), "gpuwise bench"):
        pass


def test_one_after_the_other_and_devices_side_by_side() -> None:
    for _ in range(2):
        with locks.only_ours((GPU,), "a"), locks.only_ours((None,), "b"):
            pass


def test_a_gpu_is_the_same_however_it_is_counted_and_another_is_named() -> None:
    again = DeviceInfo(index=0, name="NVIDIA H200", uuid="GPU-secret")
    with (
        locks.only_ours((GPU,), "gpuwise bench --gpu 3"),
        pytest.raises(MachineError, match="GPU 0 is being measured by process") as caught,
        locks.only_ours((again,), "gpuwise bench", free=1),
    ):
        pass
    assert (caught.value.hint or "").startswith("choose GPU 1, or wait until it ends")


def test_the_unique_id_is_not_written_down() -> None:
    with locks.only_ours((GPU,), "a"):
        (file,) = (store.home() / "locks").iterdir()
        assert "secret" not in file.name + file.read_text()


def test_an_error_in_the_block_releases_it() -> None:
    with pytest.raises(KeyError), locks.only_ours((None,), "a"):
        raise KeyError
    with locks.only_ours((None,), "b"):
        pass


def test_where_no_file_can_be_locked_there_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "file"))
    with locks.only_ours((None,), "a"), locks.only_ours((None,), "b"):
        pass


def test_a_full_disk_holds_a_lock_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    refused = pytest.raises(MachineError, match="the CPU is being measured by another process")
    with locks.only_ours((None,), "a"), refused, locks.only_ours((None,), "b"):
        pass


def test_a_file_system_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with locks.only_ours((None,), "a"), locks.only_ours((None,), "b"):
        pass


def test_the_second_writer_of_a_file_is_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "r.json", tmp_path / "link"
    link.symlink_to(tmp_path, target_is_directory=True)
    with locks.only_writer(path, "gpuwise bench"), locks.only_writer(tmp_path / "other.json", "b"):
        with pytest.raises(InputError) as caught, locks.only_writer(link / "r.json", "c"):
            pass
        assert str(os.getpid()) in str(caught.value)
    with locks.only_writer(path, "d"):
        pass
