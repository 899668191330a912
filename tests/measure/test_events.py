"""Events survive the pipe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.measure import events
from gpuwise.model.result import BatchTrial, Compilation, KernelTime, Profile, Window

EXAMPLES: list[events.Event] = [
    events.Ready(version="2.11", cuda="13.0", cudnn=None, device="NVIDIA H200", memory_bytes=1),
    BatchTrial(batch=4, fits=False, compiled=True, items_per_s=None),
    events.Built(batch=4, items=4),
    events.Checked(mismatch=0.5),
    events.First(seconds=1.5),
    events.First(seconds=60.2, compilation=Compilation(seconds=55.1, graphs=2, cached=1)),
    events.Warmup(step_s=(0.1, 0.2)),
    Window(step_s=(0.1,), started_s=1.0, ended_s=1.1),
    Profile(
        steps=2,
        wall_s=0.2,
        busy_s=0.1,
        link_s=0.0,
        longest_gap_s=0.01,
        kernels=(KernelTime(kind="matmul", count=1.5, seconds=0.1),),
    ),
    events.Done(memory_peak_bytes=None, loss=(7.0, 6.0)),
    events.Failed(kind="oom", message="CUDA out of memory\nTried to allocate"),
]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda e: type(e).__name__)
def test_round_trip_on_one_line(event: events.Event) -> None:
    line = events.encode(event)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert events.decode(line) == event


@given(st.lists(st.floats(0, 1e6, allow_nan=False)))
def test_times_keep_every_bit(times: list[float]) -> None:
    event = events.Warmup(step_s=tuple(times))
    assert events.decode(events.encode(event)) == event


def test_a_comparison_that_gave_nan_stays_one() -> None:
    found = events.decode(events.encode(events.Checked(mismatch=float("nan"))))
    assert isinstance(found, events.Checked)
    assert found.mismatch != found.mismatch


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"null", b'{"event": "unheard"}', b'{"event": "First"}', b"loading"]
)
def test_anything_else_is_no_event(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  json's own error is a ValueError too
        events.decode(line)
