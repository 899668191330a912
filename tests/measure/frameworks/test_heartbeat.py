"""Which of several ranks the others wait for, from what each has written."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace

import pytest

from gpuwise.measure.frameworks.torch import ranks
from gpuwise.measure.frameworks.torch.ranks import LATE_S, PHASES, Heartbeat, Row, rows, straggler

NOW = 1000.0
AHEAD = Row(rank=4, local=0, pid=11, phase=3, steps=20, moved=NOW - 30, beat=NOW)
LAST = Row(rank=5, local=1, pid=12, phase=2, steps=0, moved=NOW - 100, beat=NOW - 1)


def test_who_stands_still_while_others_wait_is_straggler() -> None:
    found = straggler([AHEAD, LAST], NOW)
    assert found is not None
    assert (found.rank, found.gpu, found.pid, found.silent) == (5, 1, 12, False)
    assert found.waited_s == 30  # not 100: until then nobody waited
    assert str(found) == "rank 5 (GPU 1 of its machine), building the step for 30.0 s"


def test_who_moves_is_not_late_however_far_behind() -> None:
    assert straggler([AHEAD, replace(LAST, moved=NOW - 1)], NOW) is None


def test_those_that_came_equally_far_wait_for_nobody() -> None:
    assert straggler([AHEAD, replace(AHEAD, rank=5, moved=NOW - 300)], NOW) is None
    assert straggler([], NOW) is None


def test_a_silent_process_is_named_whatever_it_did() -> None:
    found = straggler([replace(AHEAD, beat=NOW - LATE_S - 1), LAST], NOW)
    assert found is not None
    assert (found.rank, found.silent) == (4, True)
    assert "silent for 11.0 s" in str(found)


def test_a_rank_writes_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "BEAT_S", 0.01)
    shared = ranks.board(2)
    assert rows(shared) == []  # nobody has begun
    one = Heartbeat(shared, local=1, rank=9)
    one.enter(PHASES[3])
    one.step()
    deadline = time.monotonic() + 5
    while not (found := rows(shared)) or found[0].steps < 1:
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
    (row,) = found
    assert (row.rank, row.local, row.pid, row.phase, row.steps) == (9, 1, os.getpid(), 3, 1)
    assert row.beat >= row.moved > 0
    one.end()
    assert rows(shared) == []  # and nobody waits for it
