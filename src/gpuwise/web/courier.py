"""Alerts to a webhook: each at least once, in their order, also those of before a crash."""

from __future__ import annotations

import threading

import sqlalchemy as sql

from gpuwise.errors import GpuwiseError
from gpuwise.web.send import post
from gpuwise.web.tables import OUTBOX
from gpuwise.web.team import Team

# How often it is looked for alerts, also of other servers on the database; after a failure longer and longer.
EVERY_S, LONGEST_S = 2.0, 600.0
PATIENCE_S = 10.0


class Courier:
    """A thread that sends what the transactions of pushes left in the outbox, until `end`."""

    def __init__(self, team: Team, address: str) -> None:
        self._team, self._address = team, address
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop; what was not taken stays for the next time."""
        self._ends.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        wait = EVERY_S
        while not self._ends.wait(wait):
            try:
                wait = EVERY_S if self._sent() else min(2 * wait, LONGEST_S)
            except GpuwiseError:  # the database or the receiver is gone
                wait = min(2 * wait, LONGEST_S)

    def _sent(self) -> bool:
        """Whether the receiver took everything."""
        with self._team.engine.connect() as to:
            waiting = to.execute(sql.select(OUTBOX).order_by(OUTBOX.c.id)).all()
        for number, body in waiting:
            if not 200 <= post(self._address, body.encode(), {}, within_s=PATIENCE_S).status < 300:
                return False
            with self._team.writing() as to:
                to.execute(OUTBOX.delete().where(OUTBOX.c.id == number))
        return True
