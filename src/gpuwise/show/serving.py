"""A server under load: latencies and rates at each level as a table, a curve and a section of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuwise.model.question import Load
from gpuwise.model.result import Interval, Measurement, Quantiles, Result, Serving
from gpuwise.model.units import Amount, percent, seconds, significant, watts, whole
from gpuwise.show import page
from gpuwise.show.charts import Plot, tradeoff
from gpuwise.show.page import Figure, Section
from gpuwise.show.results import bar, headline, notes, session_name
from gpuwise.show.table import Table, rate

# Cells of a terminal that the longest bar of the curve takes.
BAR = 30
LATENCIES: Mapping[str, str] = {
    "TTFT": "first_token_s", "TPOT": "per_token_s", "ITL": "between_s", "end to end": "request_s",
}  # fmt: skip
"""Name in the field -> field of Serving."""
BRIEF = ("load", "requests", "failed", "tokens/s", "goodput", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99")
"""Cells of a level in one line, as it ends."""


Level = tuple[Measurement, Serving, Load]
"""A measurement of a server, how that answered, and what it was asked for."""


def levels(measurements: Iterable[Measurement]) -> list[Level]:
    """Those of them that are of servers."""
    every = ((m, m.serving, m.config.load) for m in measurements)
    return [(m, serving, load) for m, serving, load in every if serving is not None and load is not None]


def row(level: Level) -> dict[str, str]:
    """The cells of one level by their columns."""
    m, found, load = level
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
    found, below = levels(result.measurements), list(notes(result))
    if found:
        first, serving, load = found[0]
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
    every = levels(result.measurements)
    found = [(m.throughput.value, serving, load) for m, serving, load in every if m.throughput is not None]
    most = max((speed for speed, *_ in found), default=0.0)
    lines = []
    for speed, serving, load in found if len(found) > 1 else ():
        drawn = bar(speed / most, BAR)
        first, per = serving.first_token_s, serving.per_token_s
        parts = [
            f"TTFT p99 {seconds(first.p99.value)}" if first else "",
            f"TPOT p50 {seconds(per.p50.value)}" if per else "",
        ]
        said = "  ".join(part for part in parts if part)
        lines.append(f"  {load.offered:>16}  {drawn:<{BAR}}  {rate(speed, 'token')}  {said}")
    return lines


def chart(result: Result) -> Plot | None:
    """Median time per token against tokens a second, a point for each level; None with fewer than two."""
    points = [
        (load.offered, m.throughput.value, 1000 * serving.per_token_s.p50.value)
        for m, serving, load in levels(result.measurements)
        if m.throughput is not None and serving.per_token_s is not None
    ]
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
    figures, alone = [], []
    for result in results:
        if found := levels(result.measurements):
            shown, drawn = table(result), chart(result)
            of = f"{found[0][0].config.workload} on {session_name(result)}"
            caption = f"{of}: further right is more throughput, lower is a shorter time per token."
            figures += [Figure(table=shown, caption=caption, charts=(drawn,))] if drawn else []
            alone += [] if drawn else [shown]
    return page.section("report", "load", figures=tuple(figures), tables=tuple(alone))


def _rate(found: Interval | None, items: str) -> str:
    if found is None:
        return ""
    if not found.value:
        return Amount("0", 0.0, f"{items}/s", 0.0, 0.0)
    text = f"{significant(found.value)} ±{percent(found.half_width)}"
    return Amount(text, found.value, f"{items}/s", found.low, found.high)
