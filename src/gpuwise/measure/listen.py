"""What the ranks of a machine tell, while they live and as they die.

Every rank has a pipe of its own, so that one which is killed in the middle of a word leaves no lock behind
for which the others, or this process, would wait. One thread reads them all and looks for ranks that hang.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from gpuwise.measure import events, pulse
from gpuwise.model.units import seconds

WATCH_S = 5.0
"""Between two looks at the ranks' signs of life."""
DRAIN_S = 10.0
"""Longest wait for the last words, when all ranks have ended."""


class Listener:
    """Passes on what ranks tell, remembers how they fail, and ends one that hangs."""

    def __init__(self, report: events.Report, ranks: int) -> None:
        self._report = report
        self.board = pulse.board(ranks)
        pipes = [Pipe(duplex=False) for _ in range(ranks)]
        self.ways: list[Connection] = [way for _, way in pipes]
        """Where each rank sends (rank, event), by its number on this machine."""
        self.failures: dict[int, events.Failed] = {}
        """What each rank says of its own failure."""
        self.late: events.Late | None = None
        """The rank that the others wait for."""
        self._readers = [reader for reader, _ in pipes]
        self._end, self._bell = Pipe(duplex=False)
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bell.send(None)
        self._thread.join(DRAIN_S)

    def _listen(self) -> None:
        looked, ended = time.monotonic(), False
        while True:
            ready = wait([*self._readers, self._end], 0.0 if ended else WATCH_S)
            for reader in self._readers:
                if reader in ready:
                    self._take(*reader.recv())
            if ended and not set(ready) - {self._end}:
                return
            ended = self._end in ready
            if time.monotonic() - looked >= WATCH_S:
                looked = time.monotonic()
                self._look(looked)

    def _take(self, rank: int, event: events.Event) -> None:
        if isinstance(event, events.Failed):
            self.failures[rank] = event
        self._report(event)

    def _look(self, now: float) -> None:
        """Name the rank that others wait for; end one that is silent for too long."""
        self.late = late = pulse.late(pulse.rows(self.board), now)
        if late is None or late.rank in self.failures:
            return
        self._report(late)
        if late.silent and late.waited_s > pulse.HUNG_S:
            hung = f"hangs: its process was silent for {seconds(late.waited_s)}, and was ended"
            self._take(late.rank, events.Failed(kind="failed", message=hung))
            os.kill(late.pid, signal.SIGKILL)
