"""Locks: only one session at a time measures on a device or writes a result file, and of the processes of a
session that prepare side by side only one at a time uses the device.

Each device and each result has a lock file in gpuwise's own folder, locked with flock. The kernel releases
the lock when the process ends, also when it is killed, so a lock file that is left behind is harmless. Where
files cannot be locked (a read-only home, some network file systems) nothing is locked; sessions still check
which processes the driver lists on the GPU.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError, MachineError
from gpuwise.measure.telemetry.sensor import DeviceInfo


@contextmanager
def only_ours(
    devices: Sequence[DeviceInfo | None], command: str, *, free: int | None = None
) -> Iterator[None]:
    """Hold the lock of each device while the block runs; None is the CPU, or a GPU without a sensor.

    Raises MachineError, naming the process that holds it; `free` is the index of an idle GPU to suggest.
    """
    elsewhere = f"choose GPU {free}, or " if free is not None and len(devices) == 1 else ""
    with ExitStack() as locks:
        for device in devices:
            key, name = "cpu", "the CPU"
            if device is not None:
                # The same for one GPU however it is counted; its unique id is not written down.
                key = f"gpu-{_digest(device.uuid or str(device.index))}"
                name = f"GPU {device.index}"
            holder, pid = locks.enter_context(_held(key, command))
            if holder:
                hint = f"{elsewhere}wait until it ends{f', or stop process {pid}' if pid else ''}"
                raise MachineError(f"{name} is being measured by {holder}", hint=hint)
        yield


@contextmanager
def only_writer(path: Path | None, command: str) -> Iterator[None]:
    """Hold the lock of a result file while the block runs. Raises InputError where another session has it."""
    if path is None:
        yield
        return
    with _held(f"file-{_digest(str(path.resolve()))}", command) as (holder, _):
        if holder:
            raise InputError(f"{path} is being written by {holder}", hint="give each session its own file")
        yield


class Turn:
    """The device's use by a process beside which others compile: all lock the same file while they run
    kernels, so that of those tried out in a first step the fastest is found."""

    def __init__(self, path: str = "") -> None:
        # Locked for the process (`lockf`): what a workload forks off does not keep it.
        self._file = os.open(path, os.O_RDWR) if path else None
        self._waited_s = 0.0

    @property
    def shared(self) -> bool:
        """Whether other processes take turns with this one."""
        return self._file is not None

    def now(self) -> float:
        """Monotonic seconds without those that were waited."""
        return time.monotonic() - self._waited_s

    def take(self) -> None:
        if self._file is not None:
            began = time.monotonic()
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            self._waited_s += time.monotonic() - began

    def give(self) -> None:
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextmanager
def _held(key: str, command: str) -> Iterator[tuple[str, str]]:
    """Hold the lock of that name: (who holds it instead, in words, that process's number), empty if ours."""
    folder = store.home() / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield "", ""
        return
    try:
        # A child that a killed process was just starting may hold its lock for an instant: it has a second.
        for _ in range(11):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.1)
            except OSError:  # a file system that has no locks
                break
        else:
            # What the holder wrote into the file.
            text = os.pread(descriptor, 500, 0).decode(errors="replace").strip()
            pid, _, held_by = text.partition(" ")
            yield (f"process {pid} ({held_by})", pid) if held_by else ("another process", "")
            return
        with suppress(OSError):  # a full disk has no room for the name, and the lock holds without
            os.truncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()} {command}\n".encode(errors="replace"))
        yield "", ""
    finally:
        os.close(descriptor)
