"""Forecasts that pages will need, made in a process beside the server, the most likely asked first.

A forecast of the whole catalog takes most of a second; in a process of its own it takes that from no answer.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from functools import partial

from gpuwise.choose.need import read
from gpuwise.choose.presets import presets
from gpuwise.model.answer import Prediction
from gpuwise.model.run import RunConfig
from gpuwise.report.work import COUNTS, KINDS, SCALED
from gpuwise.web.facts import Facts, Forecasts, traced

Cell = tuple[RunConfig, int]
"""A configuration on a number of GPUs."""


class Warm:
    """Fills a memory of forecasts until it is stopped."""

    def __init__(self, forecasts: Forecasts) -> None:
        self._pool = multiprocessing.get_context("spawn").Pool(1, initializer=_modest)
        for cell in dict.fromkeys(cells()):
            # What cannot be made beside is made when it is asked for, and says then why not.
            self._pool.apply_async(made, (cell,), callback=partial(_keep, forecasts, cell))

    def stop(self) -> None:
        """End at once, whatever is being made."""
        self._pool.terminate()
        self._pool.join()


def _modest() -> None:
    """Let answers go first, and leave Ctrl-C to the server."""
    os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _keep(forecasts: Forecasts, cell: Cell, found: tuple[Prediction, ...]) -> None:
    forecasts.keep(cell[0], found, count=cell[1])


def cells() -> Iterator[Cell]:
    """What pages show first, then every mode and precision of every workload that is traced."""
    for kind in KINDS:
        yield kind.config, 1
    for preset in presets().values():
        need = read(preset, {})
        for workload, _ in need.workloads:
            config = RunConfig(workload=workload, mode=need.mode, precision=need.precision, compile=True)
            yield from ((config, count) for count in range(need.gpus[0], need.gpus[1] + 1))
    yield from ((kind.config, count) for kind in SCALED for count in COUNTS)
    for spec in traced().values():
        for mode in spec.modes:
            for precision in spec.precisions:
                config = RunConfig(workload=spec.id, mode=mode, precision=precision, compile=spec.compiles)
                yield config, 1


def made(cell: Cell) -> tuple[Prediction, ...]:
    """The forecast of one cell on every GPU, in the process beside."""
    facts = Facts()
    return facts.forecasts.known(cell[0], facts.ids, cell[1])
