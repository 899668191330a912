"""The measuring process's side of the conversation with its parent, whatever it measures in.

Reads what to measure as a line of JSON from standard input and writes events to the file descriptor that
it was started with; where it rests, another line lets it go on. What the work prints goes to standard
output and error, which the parent keeps as a log. If the parent dies, this process ends at once, whatever
it is at; a fork that a workload makes of it ends at its first event.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from gpuwise.measure import events
from gpuwise.measure.process import Rendezvous
from gpuwise.model.recipe import Switches
from gpuwise.model.run import RunConfig

Rest = Callable[[], object]
"""Returns when the device is cool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the parent wants measured."""

    config: RunConfig
    reference: str
    """The workload, as the registry finds it."""
    rendezvous: Rendezvous


Measure = Callable[[Order, events.Report, float, Rest], None]
"""(order, where events go, when the process began, how to rest)."""
Failure = Callable[[Exception | SystemExit, Order], events.Failed]


def serve(measure: Measure, failure: Failure) -> None:
    """Take one order and carry it out; the parent hears of every failure."""
    began, report, orders = time.monotonic(), reporter(), _orders()
    threading.Thread(target=_end_with_parent, args=(orders.fileno(),), daemon=True).start()

    def rest() -> None:
        report(events.Resting())
        if not orders.readline():
            os._exit(1)  # the parent has died

    order = read(orders.readline())
    try:
        measure(order, report, began, rest)
    except (Exception, SystemExit) as error:  # noqa: BLE001  also what the workload raises
        report(failure(error, order))
    gc.freeze()  # else Python looks for garbage in all of the framework before it ends: most of a second


def read(line: str) -> Order:
    """The order of one line of JSON."""
    asked = json.loads(line)
    switches = Switches(**asked["config"].pop("switches"))
    return Order(
        config=RunConfig(**asked["config"], switches=switches),
        reference=asked["reference"],
        rendezvous=Rendezvous(**asked["rendezvous"]),
    )


def reporter() -> events.Report:
    """Writes events to the descriptor named on the command line."""
    born = os.getpid()
    stream = os.fdopen(int(sys.argv[1]), "wb", buffering=0)

    def report(event: events.Event) -> None:
        if os.getpid() != born:
            os._exit(0)  # a copy that the workload forked off
        with suppress(BrokenPipeError):
            stream.write(events.encode(event))
            return
        # Nobody listens any more: free the devices. The parent made this process lead its group.
        os.killpg(0, signal.SIGKILL)

    return report


def _end_with_parent(orders: int) -> None:
    """Wait, reading nothing, until nobody can give orders any more; a compilation may take minutes to say
    another word, and would hold the device."""
    hung_up = select.poll()
    hung_up.register(orders, 0)
    hung_up.poll()
    os.killpg(0, signal.SIGKILL)


def _orders() -> TextIO:
    """The parent's orders; what runs here finds an empty standard input instead."""
    orders = os.fdopen(os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return orders
