"""A process that has imported torch and forks measuring processes, so that no test imports it anew.

To import torch takes longer than what most tests measure. A forked process differs from one that was started
in nothing that gpuwise looks at: it has the same arguments, files, variables, folder and process group. The
ranks that it starts are forked, too. Tests of starting itself and of `ranks.launch`, and frameworks beside
torch, start processes as users do.

    python tests/zygote.py FD

The socket FD brings a line of JSON for each process with four files: its standard input, its log, the pipe of
its events, and where to write its number and then its exit code.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NoReturn

LONGEST_S = 1e9
PRELOADED = (
    "torch._dynamo",
    "torch._inductor.compile_fx",
    "gpuwise.measure.child",
    "gpuwise.measure.frameworks.torch.profile",
    "gpuwise.workloads.models.convnet",
)
"""What a measurement imports where it first needs it: torch's compiler takes longer than torch itself."""


class Forked:
    """What `subprocess.Popen` would be for a measuring process."""

    def __init__(self, words: list[str], log: IO[bytes], writer: int, environment: dict[str, str]) -> None:
        order = {"words": words, "environment": environment, "folder": str(Path.cwd())}
        read, write = os.pipe()
        self._status, status = os.pipe()
        socket.send_fds(_zygote(), [json.dumps(order).encode()], [read, log.fileno(), writer, status])
        os.close(read)
        os.close(status)
        self.stdin = os.fdopen(write, "wb")
        self.returncode: int | None = None
        self.pid = int.from_bytes(os.read(self._status, 4), "little")

    def poll(self) -> int | None:
        return self._end(0.0)

    def wait(self, timeout: float = LONGEST_S) -> int:
        code = self._end(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("a forked process", timeout)
        return code

    def _end(self, timeout: float) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int.from_bytes(os.read(self._status, 4), "little", signed=True)
            os.close(self._status)
        return self.returncode


def popen(
    words: list[str], *, stdin: int, stdout: IO[bytes], stderr: int, pass_fds: tuple[int],
    env: dict[str, str], start_new_session: bool,
) -> Any:  # fmt: skip
    """A measuring process, as `gpuwise.measure.process` starts it."""
    if words[-1] == "torch":
        return Forked(words[3:], stdout, pass_fds[0], env)
    return subprocess.Popen(
        words, stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=pass_fds, env=env,
        start_new_session=start_new_session,
    )  # fmt: skip


MODULE = SimpleNamespace(
    Popen=popen, PIPE=subprocess.PIPE, STDOUT=subprocess.STDOUT, TimeoutExpired=subprocess.TimeoutExpired
)
"""In the place of `subprocess` in `gpuwise.measure.process`."""
_begun: list[tuple[socket.socket, subprocess.Popen[bytes]]] = []


def _zygote() -> socket.socket:
    """The socket of the zygote, which begins where it is first needed."""
    if not _begun:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [sys.executable, __file__, str(its.fileno())]
        _begun.append((ours, subprocess.Popen(words, pass_fds=(its.fileno(),))))
        its.close()
    return _begun[0][0]


def end() -> None:
    """End the zygote, where there is one."""
    for ours, process in _begun:
        ours.close()
        process.wait()
    _begun.clear()


def main() -> None:
    """Fork a measuring process for each order, until nobody can give one any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=int(sys.argv[1]))

    for module in PRELOADED:
        import_module(module)
    from gpuwise.measure.frameworks.torch import ranks

    ranks.LaunchConfig = partial(ranks.LaunchConfig, start_method="fork")  # type: ignore[assignment,misc]

    while True:
        line, files, _, _ = socket.recv_fds(orders, 1 << 20, 4)
        if not line:
            return
        if os.fork() == 0:
            orders.close()
            break
        for file in files:
            os.close(file)
        with suppress(ChildProcessError):  # there is none any more
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    stdin, log, writer, status = files
    read, write = os.pipe()  # the process begins when its number is known
    if (pid := os.fork()) != 0:
        _watch(pid, status, write, (stdin, log, writer, read))
    os.close(write)
    os.read(read, 1)
    os.setsid()
    for file in (read, status):
        os.close(file)
    order = json.loads(line)
    for source, target in ((stdin, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(stdin)
    os.close(log)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[0] = order["folder"]  # as `python -m`
    sys.argv[1:] = [str(writer), *order["words"][1:]]
    # Ranks that it starts import the module that it would have been started with.
    sys.modules["__main__"].__spec__ = find_spec("gpuwise.measure.child")
    sys.modules["gpuwise.measure.child"].main()


def _watch(pid: int, status: int, write: int, files: tuple[int, ...]) -> NoReturn:
    """Tell the number of the measuring process and how it ends, and hold nothing open that it has."""
    for file in files:
        os.close(file)
    os.setsid()
    os.write(status, pid.to_bytes(4, "little"))
    os.close(write)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(status, code.to_bytes(4, "little", signed=True))
    os._exit(0)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent / "src")
    main()
