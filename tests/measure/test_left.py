"""The time left at half time, against sessions that were stored with the seconds of their phases (H200)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuwise import store
from gpuwise.measure import events
from gpuwise.measure.assemble import MeasurementBuilder
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Measurement, Result

from ..pretended import new_session

NAMES = (
    "accept", "llama-8b-decode", "llama-8b-decode-streamed", "llama-8b-decode-triton", "llama-8b-full",
    "llama-8b-prefill", "llama-8b-qlora", "llm-1b-pretrain", "resnet50-folded", "aime-together",
)  # fmt: skip
FOLDER = Path(__file__).parents[2] / "results" / "h200"
Known = Sequence[tuple[RunConfig, dict[str, float]]]


def ended(phase: str, m: Measurement) -> events.Event | None:
    """What ended a phase of a stored measurement."""
    cost = {"flop_per_item": m.flop_per_item, "bytes_per_item": m.bytes_per_item}
    found: dict[str, events.Event] = {
        "start": events.Ready(version="2.11.0", device="H200"),
        "build": events.Built(batch=m.batch or 1, items=int(m.items_per_step or 1), **cost),
        "first step": events.First(seconds=1.0),
        "warm-up": events.Warmup(step_s=tuple(m.warmup_s)),
        "timing": events.Done(memory_peak_bytes=None, loss=()),
    }
    return found.get(phase)


def half_time(result: Result, known: Known) -> float:
    """The time left that is said at half time, as a share of the true one."""
    session = new_session([], device="H200", together=4)
    session.known = list(known)
    half_s = sum(seconds for m in result.measurements for _, seconds in m.phases_s) / 2
    gone_s, rows = 0.0, result.measurements
    for number, m in enumerate(rows):
        builder = MeasurementBuilder()
        for phase, seconds in m.phases_s:
            if gone_s + seconds > half_s:
                builder.now_s = time.monotonic() - (half_s - gone_s)
                later = [each.config for each in rows[number + 1 :]]
                # Those that take no time to start were prepared beside this one.
                beside = takewhile(
                    lambda each: each.config.compile and each.phases_s[0][1] < 0.01, rows[number + 1 :]
                )
                session.ahead.extend(SimpleNamespace(idle=False) for _ in beside)
                return session.left_s(m.config, builder, later) / half_s
            gone_s += seconds
            builder.phases_s[phase] = seconds
            if (event := ended(phase, m)) is not None:
                builder.add(event)
        session.limits = session.limits.with_measured(m)
        session.known.append((m.config, dict(m.phases_s)))
    raise AssertionError


def test_of_a_first_session_most_are_within_30_percent() -> None:
    off = {name: half_time(store.load(FOLDER / f"{name}.json"), ()) - 1 for name in NAMES}
    # How long a network that was never compiled here takes to compile is not known.
    assert {name for name, each in off.items() if abs(each) > 0.3} <= {"llama-8b-qlora", "resnet50-folded"}
    assert max(off.values()) < 1


@pytest.mark.parametrize("name", NAMES)
def test_where_the_same_was_measured_before_all_are(name: str) -> None:
    """Before, everything took a tenth longer."""
    result = store.load(FOLDER / f"{name}.json")
    known = [(m.config, {p: 1.1 * s for p, s in m.phases_s}) for m in result.measurements]
    assert half_time(result, known) == pytest.approx(1, abs=0.3)
