"""Comparisons of results: environment differences first, then ratio, interval and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpuwise.model.result import Comparison, Interval, Result
from gpuwise.model.units import percent, some, times
from gpuwise.show.charts import Mark, Rows
from gpuwise.show.results import measured_speed
from gpuwise.show.table import Table
from gpuwise.stats.comparison import ASSUMED, unpaired
from gpuwise.stats.interval import LEAST

RUN_TO_RUN = {
    "repeats": "as the repeats of both sides show",
    "stored": "as earlier results of this kind of card show",
    "assumed": f"{percent(ASSUMED.error, 1)} assumed; measure both with --repeat to know it",
}
Found = Sequence[tuple[Result, tuple[Comparison, ...]]]


def comparisons(baseline: Result, found: Found, names: Sequence[str]) -> Table:
    """One row a pair; `names` are what the user called the results, the baseline's first."""
    rows, before, notes = [], [], []
    for result, name in zip((baseline, *(result for result, _ in found)), names, strict=True):
        if result.origin == "published":
            before.append(f"{name}: published figures: {result.source}")
    for (result, pairs), name in zip(found, names[1:], strict=True):
        prefix = f"{name}: " if len(found) > 1 else ""
        rows += [row(comparison, prefix) for comparison in pairs]
        before += [f"{name}: {line}" for line in differences(baseline, result)]
        # What is in one result only is not a row, and must not look as if it had never been measured.
        for side, alone in zip((names[0], name), unpaired(baseline, result, pairs), strict=True):
            if alone:
                labels = some([m.question.label() for m in alone])
                notes.append(f"{prefix}only in {side}, so not compared: {labels}")
    known = dict.fromkeys(c.basis for _, pairs in found for c in pairs if c.basis is not None)
    notes += [f"what differs from run to run: {RUN_TO_RUN[basis]}" for basis in known]
    title = f"baseline {names[0]} against {', '.join(names[1:])}"
    return Table.of(rows, title=title, before=tuple(before), notes=tuple(notes))


def row(c: Comparison, prefix: str = "") -> dict[str, str]:
    return {
        "measurement": prefix + c.a.config.label("batch"),
        "baseline": measured_speed(c.a),
        "against": measured_speed(c.b),
        "ratio (95 %)": _ratio(c.ratio) if c.ratio else "",
        "verdict": c.verdict,
        "note": c.note,
    }


def _ratio(found: Interval) -> str:
    """With its interval; `noisy` where that ends only where `stats` cuts every interval."""
    if found.low <= 1.001 * LEAST * found.value:
        return f"{times(found.value, digits=3)} noisy"
    return times(found.value, found.low, found.high, 3)


def differences(a: Result, b: Result) -> tuple[str, ...]:
    """`driver: 570.1 -> 580.2` for everything in the environments that differs."""
    lines = []
    for name, *values in a.environment.diff(b.environment):
        # A published figure does not state its environment variables; that is not a difference.
        if name == "variables" and "published" in (a.origin, b.origin):
            continue
        mine, theirs = (
            " ".join(f"{key}={text}" for key, text in value) or "none" if isinstance(value, tuple) else value
            for value in values
        )
        lines.append(f"{name}: {mine} -> {theirs}")
    return tuple(lines)


def chart(found: Found, names: Sequence[str]) -> Rows | None:
    """Ratios with their intervals, a block for each result; None where nothing can be compared."""
    marks = [
        Mark(
            label=c.a.config.label("batch"), value=c.ratio.value, low=c.ratio.low, high=c.ratio.high,
            group=f"{name} over {names[0]}", colour=c.b.config.precision,
        )
        for (_, pairs), name in zip(found, names[1:], strict=True)
        for c in pairs
        if c.ratio is not None and c.verdict != "not-comparable"
    ]  # fmt: skip
    title = "ratio of throughput, above 1 is faster"
    return Rows(marks=tuple(marks), ratio=True, title=title) if marks else None


def document(baseline: Result, found: Found) -> dict[str, Any]:
    """The comparison as plain data, without the raw step times."""
    sides = ("baseline", "against")
    return {
        "baseline": baseline.id,
        "comparisons": [
            {
                "against": result.id,
                "environment_differences": [
                    {"field": name, "baseline": str(a), "against": str(b)}
                    for name, a, b in baseline.environment.diff(result.environment)
                ],
                "pairs": [
                    {
                        "cell": c.cell,
                        "items_per_s": {
                            side: asdict(m.throughput) if m.throughput else None
                            for side, m in zip(sides, (c.a, c.b), strict=True)
                        },
                        "ratio": asdict(c.ratio) if c.ratio else None,
                        "verdict": c.verdict,
                        "run_to_run": c.basis,
                        "note": c.note,
                    }
                    for c in pairs
                ],
                "unpaired": {
                    side: [m.question.label() for m in alone]
                    for side, alone in zip(sides, unpaired(baseline, result, pairs), strict=True)
                },
            }
            for result, pairs in found
        ],
    }
