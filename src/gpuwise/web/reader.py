"""Foreign files are read in processes that can be killed, each with a deadline and its share of memory.

A hostile file may keep the interpreter busy for minutes inside of one call, which no thread and no time-out
of its own process ends. A template process, forked before the server has threads, forks one process for each
file: that takes milliseconds, since all modules and facts are loaded already.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import select
import signal
import socket
import time
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from gpuwise.errors import InputError, MachineError

# Of one file; the longest honest ones, articles of 512 KiB, take some seconds.
DEADLINE_S = 10.0
# Beyond what the template holds already; an honest file of 8 MiB takes some 200 MiB.
ROOM = 2**30
# Files that are read at a time; the others wait, so that a crowd of them takes no more than two processors.
AT_ONCE = 2
# How often the template looks for processes that died or are over time.
LOOK_S = 0.1

Answer = tuple[int, str, bytes]
"""Status, media type, body."""
Work = Callable[[dict[str, str], bytes], Answer]


class Reader:
    """Runs `work` on a question and a file, away from this process.

    Created before the process has threads, since forks copy only the thread that forks.
    """

    def __init__(self, work: Work) -> None:
        self._control, theirs = socket.socketpair()
        self._turn = asyncio.Semaphore(AT_ONCE)
        template = os.fork()
        if template == 0:
            _template(theirs, work)
        theirs.close()
        # The template ends when its socket is closed.
        self._end = weakref.finalize(self, _end, self._control, template)

    async def __call__(
        self, question: dict[str, str], data: bytes, gone: Callable[[], Awaitable[object]]
    ) -> Answer:
        """The answer; `gone` returns when nobody waits for it any more, which ends the work.

        Raises InputError where the file takes more time or memory than it may.
        """
        leaving = asyncio.ensure_future(gone())
        reading = asyncio.ensure_future(self._read(question, data))
        try:
            await asyncio.wait({leaving, reading}, return_when=asyncio.FIRST_COMPLETED)
            found = reading.result() if reading.done() else b""
        finally:
            for task in (leaving, reading):
                task.cancel()
            await asyncio.gather(leaving, reading, return_exceptions=True)
        if not found:
            raise InputError(
                f"the file takes more than {DEADLINE_S:.0f} s or too much memory to read",
                hint="read it on your own machine, where it may take longer",
            )
        head, _, body = found.partition(b"\n")
        status, media = json.loads(head)
        return status, media, body

    async def _read(self, question: dict[str, str], data: bytes) -> bytes:
        async with self._turn:
            mine, theirs = socket.socketpair()
            try:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            except OSError as error:  # somebody killed the template
                mine.close()
                raise MachineError("files cannot be read: start the server again") from error
            finally:
                theirs.close()
            reader, writer = await asyncio.open_connection(sock=mine)
            # Closing it, also because nobody waits any more, has the template end the process.
            try:
                writer.write(json.dumps(question).encode() + b"\n" + data)
                writer.write_eof()
                return await reader.read()
            except ConnectionError:  # it was killed while it was sent its file
                return b""
            finally:
                writer.close()


def _end(control: socket.socket, template: int) -> None:
    control.close()
    with suppress(ChildProcessError):
        os.waitpid(template, 0)


def _template(control: socket.socket, work: Work) -> NoReturn:
    """Fork a process for each socket that comes; end those whose socket is closed or whose time is over."""
    try:
        # Ctrl-C is for the server, which closes the socket when it ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # A copy of the server's sockets would keep its connections open.
        for descriptor in [int(path.name) for path in Path("/dev/fd").iterdir()]:
            if descriptor > 2 and descriptor != control.fileno():
                with suppress(OSError):
                    os.close(descriptor)
        running: dict[int, tuple[int, float]] = {}
        waiting = select.poll()
        waiting.register(control, select.POLLIN)
        while True:
            closed = []
            for descriptor, _ in waiting.poll(LOOK_S * 1e3 if running else None):
                if descriptor != control.fileno():
                    closed.append(descriptor)
                    continue
                _, sockets, *_ = socket.recv_fds(control, 1, 1)
                if not sockets:
                    break
                process = os.fork()
                if process == 0:
                    control.close()
                    _answer(socket.socket(fileno=sockets[0]), work)
                running[sockets[0]] = process, time.monotonic() + DEADLINE_S
                waiting.register(sockets[0], 0)  # that the other end is closed is always reported
            else:
                for descriptor, (process, until) in list(running.items()):
                    if descriptor in closed or time.monotonic() > until:
                        os.kill(process, signal.SIGKILL)
                        os.waitpid(process, 0)
                    elif os.waitpid(process, os.WNOHANG)[0] == 0:
                        continue
                    waiting.unregister(descriptor)
                    os.close(descriptor)
                    del running[descriptor]
                continue
            for process, _ in running.values():
                os.kill(process, signal.SIGKILL)
            break
    finally:
        os._exit(0)


def _answer(place: socket.socket, work: Work) -> NoReturn:
    """Read a question and its file from the socket, work, and write the answer to it."""
    try:
        # The processor's time too, should the template be stopped.
        resource.setrlimit(resource.RLIMIT_CPU, (int(DEADLINE_S) + 1,) * 2)
        with suppress(OSError, ValueError):  # other systems than Linux keep the deadline alone
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + ROOM,) * 2)
        with place.makefile("rb") as file:
            question, data = json.loads(file.readline()), file.read()
        with suppress(MemoryError):
            status, media, body = work(question, data)
            place.sendall(json.dumps([status, media]).encode() + b"\n" + body)
        place.shutdown(socket.SHUT_RDWR)
    finally:
        os._exit(0)
