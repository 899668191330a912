"""Comparisons of results: environment differences first, then ratio, interval and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpuwise.model.answer import Comparison
from gpuwise.model.result import Result
from gpuwise.model.units import times
from gpuwise.show import charts
from gpuwise.show.charts import Chart, Mark
from gpuwise.show.results import measured_speed
from gpuwise.show.table import Table

Found = Sequence[tuple[Result, tuple[Comparison, ...]]]

COLUMNS = ("measurement", "baseline", "against", "ratio (95 %)", "verdict", "note")


def comparisons(baseline: Result, found: Found, names: Sequence[str]) -> Table:
    """One row a pair; `names` are what the user called the results, the baseline's first."""
    several = len(found) > 1
    rows = []
    for (_, pairs), name in zip(found, names[1:], strict=True):
        prefix = f"{name}: " if several else ""
        rows += [_row(prefix, comparison) for comparison in pairs]
    table = Table(
        title=f"baseline {names[0]} against {', '.join(names[1:])}",
        columns=COLUMNS,
        rows=tuple(rows),
        numeric=frozenset({"baseline", "against", "ratio (95 %)"}),
        before=(
            *(
                f"{name}: published figures: {result.source}"
                for result, name in zip((baseline, *(result for result, _ in found)), names, strict=True)
                if result.origin == "published"
            ),
            *(
                f"{name}: {line}"
                for (result, _), name in zip(found, names[1:], strict=True)
                for line in differences(baseline, result)
            ),
        ),
    )
    return table.without_empty_columns()


def rows_of(pairs: Sequence[Comparison]) -> Table:
    """One row a pair, of two results that need no names."""
    rows = tuple(_row("", pair) for pair in pairs)
    numeric = frozenset({"baseline", "against", "ratio (95 %)"})
    return Table(columns=COLUMNS, rows=rows, numeric=numeric).without_empty_columns()


def differences(a: Result, b: Result) -> tuple[str, ...]:
    """`driver 570.1 -> 580.2` for everything in the environments that differs."""
    published = "published" in (a.origin, b.origin)
    return tuple(
        f"{name}: {_plain(mine)} -> {_plain(theirs)}"
        for name, mine, theirs in a.environment.diff(b.environment)
        # A published figure does not tell its environment variables; that is no difference.
        if not (published and name == "variables")
    )


def _plain(value: object) -> str:
    """Environment variables as `NAME=value`, anything else as it is."""
    if isinstance(value, tuple):
        return " ".join(f"{name}={text}" for name, text in value) or "none"
    return str(value)


def _row(prefix: str, c: Comparison) -> tuple[str, ...]:
    ratio = "" if c.ratio is None else times(c.ratio.value, c.ratio.low, c.ratio.high, 3)
    return (
        prefix + c.a.config.label("batch"),
        measured_speed(c.a),
        measured_speed(c.b),
        ratio,
        c.verdict,
        c.note,
    )


def chart(found: Found, names: Sequence[str]) -> Chart | None:
    """Ratios with their intervals, a block for each result; None where nothing can be compared."""
    marks = [
        Mark(
            label=_row("", c)[0],
            value=c.ratio.value,
            low=c.ratio.low,
            high=c.ratio.high,
            group=f"{name} over {names[0]}",
            colour=c.b.config.precision,
        )
        for (_, pairs), name in zip(found, names[1:], strict=True)
        for c in pairs
        if c.ratio is not None and c.verdict != "not-comparable"
    ]
    return charts.ratios(marks, title="ratio of throughput, above 1 is faster") if marks else None


def document(baseline: Result, found: Found) -> dict[str, Any]:
    """The comparison as plain data, without the raw step times."""
    return {
        "baseline": baseline.id,
        "comparisons": [
            {
                "against": result.id,
                "environment_differences": [
                    {"field": name, "baseline": str(a), "against": str(b)}
                    for name, a, b in baseline.environment.diff(result.environment)
                ],
                "pairs": [_pair(comparison) for comparison in pairs],
            }
            for result, pairs in found
        ],
    }


def _pair(c: Comparison) -> dict[str, Any]:
    speeds = {
        name: asdict(m.throughput) if m.throughput else None
        for name, m in (("baseline", c.a), ("against", c.b))
    }
    return {
        "cell": c.cell,
        "items_per_s": speeds,
        "ratio": asdict(c.ratio) if c.ratio else None,
        "verdict": c.verdict,
        "note": c.note,
    }
