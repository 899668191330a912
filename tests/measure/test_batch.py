"""The batch search against functions that stand for a device."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.measure.engine import DOUBLINGS, largest, search, walk_down
from gpuwise.measure.events import Event
from gpuwise.model.question import BATCH_GAIN
from gpuwise.model.result import BatchTrial


def saturating(limit: int, knee: int) -> Callable[[int], float | None]:
    """Throughput that rises with the batch up to `knee`; nothing above `limit` fits."""
    return lambda batch: None if batch > limit else float(min(batch, knee))


def quiet(event: Event) -> None:
    assert isinstance(event, BatchTrial)


@pytest.mark.parametrize(
    ("limit", "knee", "start", "best"),
    [
        (10_000, 512, 256, 512),  # climbs to the knee and no further
        (300, 512, 256, 256),  # memory ends the climb
        (100, 512, 256, 64),  # halves until it fits
        (1, 512, 64, 1),
        (10_000, 64, 256, 256),  # never below a start that fits: larger costs nothing here
    ],
)
def test_search(limit: int, knee: int, start: int, best: int) -> None:
    assert search(saturating(limit, knee), start, quiet) == best


def test_nothing_fits() -> None:
    assert search(lambda batch: None, 64, quiet) is None


def test_every_trial_is_reported() -> None:
    found: list[Event] = []
    search(saturating(600, 10_000), 256, found.append)
    assert [(t.batch, t.fits) for t in found] == [(256, True), (512, True), (1024, False)]  # type: ignore[union-attr]
    assert not any(t.compiled for t in found)  # type: ignore[union-attr]
    search(saturating(600, 10_000), 256, found.append, compiled=True)
    assert all(t.compiled for t in found[3:])  # type: ignore[union-attr]


def test_walk_down_finds_a_smaller_compiled_best() -> None:
    speeds = {256: 529.0, 128: 590.0, 64: 568.0}
    assert walk_down(lambda batch: speeds[batch], 256, quiet) == 128


def test_walk_down_stays_where_a_half_is_slower() -> None:
    assert walk_down(lambda batch: float(batch), 1024, quiet) == 1024


def test_walk_down_prefers_the_smaller_of_equals_and_halves_what_does_not_fit() -> None:
    assert walk_down(lambda batch: None if batch > 64 else 100.0 if batch >= 16 else 50.0, 256, quiet) == 16


@given(limit=st.integers(1, 5000), knee=st.integers(1, 5000), start=st.sampled_from([1, 8, 64, 256]))
def test_the_answer_fits_and_a_double_is_no_better(limit: int, knee: int, start: int) -> None:
    trial = saturating(limit, knee)
    best = search(trial, start, quiet)
    assert best is not None
    speed = trial(best)
    assert speed is not None
    double = trial(2 * best)
    assert double is None or best < start or double <= BATCH_GAIN * speed


@given(limit=st.integers(1, 100_000), start=st.integers(1, 100))
def test_the_largest_fits_and_a_little_more_does_not(limit: int, start: int) -> None:
    limit = max(limit, start)
    found = largest(lambda batch: batch <= limit, start, quiet)
    assert found <= limit
    assert found == start * 2**DOUBLINGS or found >= limit * 8 / 9 - 1


def test_the_search_for_the_largest_is_reported() -> None:
    found: list[Event] = []
    assert largest(lambda batch: batch <= 700, 256, found.append) == 640
    tried = [(t.batch, t.fits) for t in found if isinstance(t, BatchTrial)]
    assert tried == [(512, True), (1024, False), (768, False), (640, True), (704, False)]
