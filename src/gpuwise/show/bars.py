"""Bars of a terminal: one line a measurement, eighths of a cell, the value in words beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwise.model.result import Result
from gpuwise.show.charts.theme import Mark
from gpuwise.show.sections.material import questions, speed_marks
from gpuwise.show.speeds import Measured

WIDTH = 32
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int = WIDTH) -> str:
    """A bar of `share` of `width` cells, to an eighth of a cell; anything above nothing is visible."""
    eighths = min(max(round(share * width * 8), 1 if share > 0 else 0), width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def lines(marks: Sequence[Mark], width: int = WIDTH) -> tuple[str, ...]:
    """Groups with their bars, each group scaled to its longest."""
    return tuple(
        line for group in dict.fromkeys(m.group for m in marks) for line in _group(marks, group, width)
    )


def _group(marks: Sequence[Mark], group: str, width: int) -> Iterator[str]:
    mine = [mark for mark in marks if mark.group == group]
    longest = max(mark.value for mark in mine)
    label, shown = (max(len(getattr(mark, name)) for mark in mine) for name in ("label", "shown"))
    yield group
    for mark in mine:
        drawn = bar(mark.value / longest, width) if longest > 0 else ""
        yield f"  {mark.label:<{label}}  {mark.shown:>{shown}}  {drawn}"


def of_results(results: Sequence[Result], width: int = WIDTH) -> tuple[str, ...]:
    """Throughput of every workload and mode of these results, the fastest first."""
    rows = [
        Measured(result=result, measurement=m)
        for result in results
        for m in result.measurements
        if m.config.mode != "limit" and m.throughput is not None
    ]
    devices = tuple(dict.fromkeys(result.environment.device for result in results))
    marks = [mark for _, of in questions(rows) for mark in speed_marks(of, devices=devices)]
    return lines(marks, width)
