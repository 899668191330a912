"""A PostgreSQL of our own: started as a user without rights, killed, started again, and gone at the end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def program(name: str) -> str | None:
    """Where it is: Debian keeps what a cluster needs out of the path."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(beside[-1]) if beside else None)


class Cluster:
    """`url` is its address for gpuwise."""

    def __init__(self, folder: str) -> None:
        self._data = f"{folder}/data"
        self._folder = folder
        # It refuses to run as root.
        self._user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._user:
            shutil.chown(folder, "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        subprocess.run(
            [*self._user, program("initdb") or "", "-D", self._data, "-U", "gpuwise", "-A", "trust"],
            check=True, **QUIET,
        )  # fmt: skip
        self.url = f"postgresql://gpuwise@127.0.0.1:{self._port}/postgres"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = ["-p", str(self._port), "-k", self._folder, "-h", "127.0.0.1"]
        server = [program("postgres") or "", "-D", self._data, *settings]
        self._server = subprocess.Popen([*self._user, *server], start_new_session=True, **QUIET)
        asks = [program("pg_isready") or "", "-h", "127.0.0.1", "-p", str(self._port)]
        for _ in range(300):
            if subprocess.run(asks, check=False, **QUIET).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError("PostgreSQL does not start")

    def kill(self) -> None:
        """SIGKILL to all of its processes, as when the machine's memory is full."""
        main = int((Path(self._data) / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for process in (main, *map(int, children)):
            os.kill(process, signal.SIGKILL)
        self._server.wait(timeout=20)
        # Its shared memory goes with the last of them.
        while any(Path(f"/proc/{child}").exists() for child in children):
            time.sleep(0.02)

    def stop(self) -> None:
        """End it at once; its files are not needed any more."""
        ends = [program("pg_ctl") or "", "stop", "-D", self._data, "-m", "immediate"]
        subprocess.run([*self._user, *ends], check=False, **QUIET)
        self._server.wait(timeout=20)


def there_is_one() -> bool:
    """Whether this machine can start one."""
    if program("initdb") is None or program("postgres") is None:
        return False
    return os.geteuid() != 0 or subprocess.run(["id", "postgres"], check=False, **QUIET).returncode == 0


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster of its own, empty."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        made = Cluster(folder)
        try:
            yield made
        finally:
            made.stop()
