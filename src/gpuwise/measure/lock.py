"""One measurement at a time on a device: a second `gpuwise bench` is refused and told by whom.

A file per device in gpuwise's own folder, locked by the kernel (flock): the lock goes when its process
does, however that dies, so a file left behind means nothing. Where no file can be locked (a read-only
home, some network file systems) there is no lock; a GPU's own list of processes is asked anyway.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from gpuwise import store
from gpuwise.errors import MachineError
from gpuwise.measure.telemetry import DeviceInfo


@contextmanager
def only_one(device: DeviceInfo | None, command: str, *, free: int | None = None) -> Iterator[None]:
    """Hold the device's lock (None: the CPU, or a GPU that nobody watches) while the block runs.

    Raises MachineError, naming the process that holds it; `free` is the index of another GPU.
    """
    descriptor = _open(_key(device))
    if descriptor is None:
        yield
        return
    try:
        _take(descriptor, "the CPU" if device is None else f"GPU {device.index}", free)
        with suppress(OSError):  # a full disk has no room for the name, and the lock holds without
            os.truncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()} {command}\n".encode(errors="replace"))
        yield
    finally:
        os.close(descriptor)


@contextmanager
def only_ours(
    devices: Sequence[DeviceInfo | None], command: str, *, free: int | None = None
) -> Iterator[None]:
    """`only_one` for every device of a session; `free` is the index of a GPU that it does not use."""
    with ExitStack() as held:
        for device in devices:
            held.enter_context(only_one(device, command, free=free if len(devices) == 1 else None))
        yield


def _key(device: DeviceInfo | None) -> str:
    """The same for one GPU however it is counted; its unique id is not written down."""
    if device is None:
        return "cpu"
    return f"gpu-{hashlib.sha256((device.uuid or str(device.index)).encode()).hexdigest()[:12]}"


def _open(key: str) -> int | None:
    folder = store.home() / "locks"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return None


def _take(descriptor: int, name: str, free: int | None) -> None:
    try:
        if not _taken(descriptor):
            raise _refusal(descriptor, name, free)
    except OSError:  # a file system that has no locks
        return


def _taken(descriptor: int) -> bool:
    """Whether the lock is ours. A child that a killed process was just starting may hold its lock for an
    instant, so it is tried for a second."""
    for wait_s in (0.1,) * 10 + (None,):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if wait_s is not None:
                time.sleep(wait_s)
    return False


def _refusal(descriptor: int, name: str, free: int | None) -> MachineError:
    """The error that names who holds the lock, from what it wrote into the file."""
    holder = os.pread(descriptor, 500, 0).decode(errors="replace").strip()
    pid, _, command = holder.partition(" ")
    who = f"process {pid} ({command})" if command else "another process"
    elsewhere = f"gpuwise bench --gpu {free}, or " if free is not None else ""
    return MachineError(
        f"{name} is being measured by {who}",
        hint=f"{elsewhere}wait until it ends" + (f", or stop it: kill {pid}" if command else ""),
    )
