"""A server under load: latencies and rates at each level as a table, a curve and a section of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuwise.model.result import Interval, Measurement, Quantiles, Result
from gpuwise.model.units import Amount, percent, seconds, significant, watts, whole
from gpuwise.show import page
from gpuwise.show.charts import Plot, tradeoff
from gpuwise.show.page import Figure, Section
from gpuwise.show.results import bar, headline, notes
from gpuwise.show.table import Table, rate

# Cells of a terminal that the longest bar of the curve takes.
BAR = 30
LATENCIES: Mapping[str, str] = {
    "TTFT": "first_token_s", "TPOT": "per_token_s", "ITL": "between_s", "end to end": "request_s",
}  # fmt: skip
"""Name in the field -> field of Serving."""
BRIEF = ("load", "requests", "failed", "tokens/s", "goodput", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99")
"""Cells of a level in one line, as it ends."""


def levels(result: Result) -> list[Measurement]:
    """The measurements of servers."""
    return [m for m in result.measurements if m.serving is not None]


def row(m: Measurement) -> dict[str, str]:
    """The cells of one level by their columns."""
    found, load = m.serving, m.config.load
    assert found is not None
    assert load is not None
    failed = sum(each.count for each in found.failures)
    cells: dict[str, str] = {
        "load": load.offered,
        "requests": whole(found.requests),
        "failed": ", ".join(f"{each.count} {each.kind}" for each in found.failures) if failed else "",
        "tokens/s": _rate(m.throughput, "tokens"),
        "requests/s": _rate(found.requests_per_s, "requests"),
        "goodput": _rate(found.goodput_per_s, "requests"),
    }
    for name, field in LATENCIES.items():
        latency: Quantiles | None = getattr(found, field)
        for share in ("p50", "p90", "p99"):
            s: Interval | None = getattr(latency, share) if latency else None
            cells[f"{name} {share}"] = Amount(str(seconds(s.value)), s.value, "s", s.low, s.high) if s else ""
    drawn = m.telemetry.power_w if m.telemetry else None
    return {**cells, "power": watts(drawn) if drawn else ""}


def table(result: Result) -> Table:
    """One row a level of load."""
    found = levels(result)
    first = found[0] if found else None
    below = list(notes(result))
    if first is not None and first.serving is not None and first.config.load is not None:
        load, serving = first.config.load, first.serving
        asked = f"prompt {load.prompt}, answer {load.answer} tokens"
        got = f"{significant(serving.prompt_tokens)} and {significant(serving.answer_tokens)} on average"
        below.insert(
            0, f"{first.config.workload}: {asked}; {got}; a window of {serving.window_s:.3g} s a level"
        )
        if serving.slo:
            below.insert(1, f"goodput: requests a second with {serving.slo.replace(',', ' and ')}")
    return Table.of(
        map(row, found), title=headline(result), notes=tuple(below), spare=frozenset({"ITL p50", "ITL p90"})
    )


def curve(result: Result) -> list[str]:
    """The throughput-latency curve as lines of a terminal: a bar is tokens a second."""
    found = [m for m in levels(result) if m.throughput is not None and m.serving is not None]
    most = max((m.throughput.value for m in found if m.throughput), default=0.0)
    lines = []
    for m in found if len(found) > 1 else ():
        assert m.throughput is not None
        assert m.serving is not None
        assert m.config.load is not None
        drawn = bar(m.throughput.value / most, BAR)
        first, per = m.serving.first_token_s, m.serving.per_token_s
        parts = [
            f"TTFT p99 {seconds(first.p99.value)}" if first else "",
            f"TPOT p50 {seconds(per.p50.value)}" if per else "",
        ]
        said = "  ".join(part for part in parts if part)
        lines.append(
            f"  {m.config.load.offered:>16}  {drawn:<{BAR}}  {rate(m.throughput.value, 'token')}  {said}"
        )
    return lines


def chart(result: Result) -> Plot | None:
    """Median time per token against tokens a second, a point for each level; None with fewer than two."""
    points = []
    for m in levels(result):
        per = m.serving.per_token_s if m.serving else None
        if m.throughput is not None and per is not None and m.config.load is not None:
            points.append((m.config.load.offered, m.throughput.value, 1000 * per.p50.value))
    # Of an answer that comes whole the tokens take no time, which a logarithmic axis has no place for.
    points = [point for point in points if min(point[1:]) > 0]
    if len(points) < 2:
        return None
    # A level is worth its place where none has more tokens a second and a shorter time per token.
    front = [not any(b > x and c < y for _, b, c in points) for _, x, y in points]
    named = [(*point, best) for point, best in zip(points, front, strict=True)]
    best = "no other load is better in both"
    return tradeoff(named, x="tokens a second", y="TPOT, median, ms", best=best)


def section(results: Sequence[Result]) -> Section:
    """Of a report; it says nothing where no server was measured."""
    loaded = [(table(result), chart(result)) for result in results if levels(result)]
    caption = "Further right is more throughput, lower is a shorter time per token."
    figures = tuple(
        Figure(table=shown, caption=caption, charts=(drawn,)) for shown, drawn in loaded if drawn is not None
    )
    alone = tuple(shown for shown, drawn in loaded if drawn is None)
    return page.section("report", "load", figures=figures, tables=alone)


def _rate(found: Interval | None, items: str) -> str:
    if found is None:
        return ""
    if not found.value:
        return Amount("0", 0.0, f"{items}/s", 0.0, 0.0)
    text = f"{significant(found.value)} ±{percent(found.half_width)}"
    return Amount(text, found.value, f"{items}/s", found.low, found.high)
