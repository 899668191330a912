"""What a first step takes, compilation apart, and without what only a measurement does before it.

The batch search, the checks of the numbers and steps of each rank alone are no part of a cold start: whoever
runs this one step from its start would wait for none of them, so the clock stands still meanwhile.
Compilation is what torch's own callbacks enclose (`torch._dynamo.callback`): tracing and generating code,
forward and backward. Trying kernels out at their first launch is not; that is in the cold start alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuwise.measure import events

if TYPE_CHECKING:
    from gpuwise.model.run import RunConfig

CACHED = "fxgraph_cache_hit"
GRAPHS = (CACHED, "fxgraph_cache_miss", "fxgraph_cache_bypass")
"""torch's counters of graphs turned into code, forward and backward each; a hit's code was found on disk."""


class Compiler:
    """Adds up what torch.compile does while it listens."""

    def __init__(self) -> None:
        self.seconds, self.graphs, self.cached = 0.0, 0, 0
        self._listens = False
        self._since = _now()

    def listen(self) -> None:
        """From now on; `torch.compiler.reset` ends it as well as `ignore` does."""
        from torch._dynamo.callback import callback_handler

        self._listens = True
        if self._begin not in callback_handler.start_callbacks:
            callback_handler.register_start_callback(self._begin)
            callback_handler.register_end_callback(self._end)

    def ignore(self) -> None:
        """What it does until the next `listen`."""
        self._listens = False

    # Newer releases hand over what is compiled; nobody asks here.
    def _begin(self, *_: object) -> None:
        self._since = _now()

    def _end(self, *_: object) -> None:
        if not self._listens:
            return
        seconds, graphs, cached = (now - then for now, then in zip(_now(), self._since, strict=True))
        self.seconds += seconds
        self.graphs += round(graphs)
        self.cached += round(cached)


def _now() -> tuple[float, float, float]:
    """(time, graphs, those found on disk), of this process."""
    from torch._dynamo.utils import counters

    found = counters["inductor"]
    return time.monotonic(), sum(found[name] for name in GRAPHS), found[CACHED]


class Start:
    """The clock of one cold start; `began` is when its process did, by `time.monotonic`."""

    def __init__(self, config: RunConfig, began: float) -> None:
        self._began = began
        self._compiler = Compiler() if config.compile and config.framework == "torch" else None
        if self._compiler:
            self._compiler.listen()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is done in it is no part of the start."""
        began = time.monotonic()
        if self._compiler:
            self._compiler.ignore()
        try:
            yield
        finally:
            self._began += time.monotonic() - began
            if self._compiler:
                self._compiler.listen()

    def first(self) -> events.First:
        """The first step has ended: what it took since the process began."""
        seconds = time.monotonic() - self._began
        if self._compiler is None:
            return events.First(seconds=seconds)
        told = self._compiler
        return events.First(
            seconds=seconds, compile_s=told.seconds, graphs=told.graphs, cached_graphs=told.cached
        )
