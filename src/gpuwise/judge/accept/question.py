"""Which speeds may be compared, and which speed of a measurement is held against others.

Equal questions only: workload, mode, precision, compilation, recipe, batch asked, version. Stock and tuned
are one recipe here: each card runs the best that is known for it. The speed is the
measured one, but for limits of arithmetic, which are taken from their fastest window:

    speed = max over windows of (items a step x steps / time)        limits counted in FLOP
    speed = median of the windows                                    everything else

Large GPUs reach their power limit in a matrix product and lower the clock within a tenth of a second. How
many windows come before that depends on temperature and on what ran before, so medians of good cards differ
by up to a tenth where their fastest windows differ by some 3 % (H200s, `data/reach.csv`). What a card
sustains under its power limit is judged by training and inference.
"""

from __future__ import annotations

from gpuwise.model.result import Interval, Measurement, Result, Window

Question = tuple[str, int | None, int]
"""Cell, batch asked for, version of the workload."""


def question(m: Measurement) -> Question:
    """What must be equal for two speeds to be compared."""
    return m.config.key("batch", "kernels"), m.config.batch, m.workload_version


def named(asked: Question) -> str:
    """`copy-l2:limit:fp32:eager:stock batch 8` in a reason."""
    cell, batch, _ = asked
    words = cell.removesuffix(":stock").replace(":", " ").replace(" limit", "").removesuffix(" eager")
    return f"{words} {batch}" if batch else words


def speeds(result: Result) -> dict[Question, Interval]:
    """Every complete speed of a result."""
    told = {question(m): speed_of(m) for m in result.measurements if m.status == "ok"}
    return {asked: found for asked, found in told.items() if found is not None and found.value > 0}


def speed_of(m: Measurement) -> Interval | None:
    """The speed by which a card is judged, items per second."""
    if not bursts(m):
        return m.throughput
    rate = max(_rate(m, window) for window in m.windows)
    return Interval(value=rate, low=rate, high=rate, level=None, method="fastest window")


def bursts(m: Measurement) -> bool:
    """Whether the power limit may lower the clock between the windows of a limit."""
    return m.config.mode == "limit" and m.item == "FLOP" and bool(m.windows and m.items_per_step)


def fastest(m: Measurement) -> tuple[Window, ...]:
    """The one window that judges a limit of arithmetic; none of other measurements."""
    return (max(m.windows, key=lambda window: _rate(m, window)),) if bursts(m) else ()


def _rate(m: Measurement, window: Window) -> float:
    return (m.items_per_step or 0.0) * len(window.step_s) / sum(window.step_s)
