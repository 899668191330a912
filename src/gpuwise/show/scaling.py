"""Scaling over GPUs: the series of one session with what is lost, and curves of any records over GPUs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpuwise.facts.catalog import all_gpus
from gpuwise.model.question import HOW
from gpuwise.model.result import ORIGINS, Interval, Measurement, Record, Result
from gpuwise.model.units import percent, times, watts, whole
from gpuwise.show import charts
from gpuwise.show.gpus import short
from gpuwise.show.page import Figure, References
from gpuwise.show.results import bar, measured_speed
from gpuwise.show.table import Table, rate, throughput
from gpuwise.stats.scaling import WORTH, Curve, Point, Series, cards_of, series

# Cells of the curve in a terminal: with its figures a row still fits 100 columns.
BAR = 20
# A scale factor from which nothing is lost that would be worth a word.
GOOD = 0.99
# From which difference in speed cards are said to differ.
DIFFER = 0.01
# Points from which a line says more than the share of linear at its end.
CURVED = 3
_MEANS = {
    "sharing": "what the GPUs share: power, heat or the host",
    "waiting": "waiting for the slowest GPU",
    "exchange": "the exchange over the links",
}


def scaling(result: Result) -> Table | None:
    """Every series of a result, a row for each number of GPUs; None where nothing was measured on one GPU and
    on several."""
    if not (found := series(result.measurements)):
        return None
    rows = []
    for each in found:
        rows.append(_cells(each.one, each.one, None))
        rows += [_cells(each.one, point.measurement, point) for point in each.points]
    notes = [*_verdicts(found)]
    for m in result.measurements:  # The limits of the links that the session measured
        if m.config.mode == "limit" and m.throughput is not None:
            size = f", {m.batch} MiB" if m.batch else ""
            name = "link between two GPUs, one way" if m.config.workload == "peer" else ""
            if m.config.gpus > 1:
                name = f"{m.config.workload} over {m.config.gpus} GPUs{size}, bus bandwidth"
            notes += [f"{name}: {rate(m.throughput.value, m.item)}"] * bool(name)
    groups = [point.measurement.group for each in found for point in each.points]
    # A pair of two GPUs says little of a machine of eight: the largest group has the most links.
    largest = max((g for g in groups if g is not None), key=lambda g: len(g.ranks), default=None)
    links = largest.links if largest is not None else ()
    kinds = {(link.path, link.peer) for link in links}
    for path, peer in sorted(kinds, key=str):
        pairs = [f"{link.a}-{link.b}" for link in links if (link.path, link.peer) == (path, peer)]
        which = "every pair of GPUs" if len(kinds) == 1 else f"GPUs {', '.join(pairs)}"
        peers = {True: "P2P on", False: "P2P off", None: "P2P unknown"}[peer]
        notes.append(f"{which}: {path}, {peers}")
    return Table.of(rows, title="Scaling", notes=tuple(notes))


def _cells(one: Measurement, m: Measurement, point: Point | None) -> dict[str, str]:
    """A row of one GPU (without `point`) or of several."""
    config, group, lost = m.config, m.group, point.losses if point else None
    bucket = f"buckets of {group.bucket_bytes / 2**20:.0f} MiB" if group and group.bucket_bytes else ""
    how = (group.parallel, group.backend, bucket) if group and point else ()
    drawn = m.telemetry.power_w if m.telemetry is not None else None
    factor = point.factor.value if point else 1.0
    nodes = "" if config.nodes == 1 else f" on {config.nodes}"
    return {
        "measurement": one.config.label("batch"),
        "scaling": config.scaling if point else "",
        "GPUs": whole(config.gpus).shown(f"{config.gpus}{nodes}"),
        "batch each": whole(m.batch) if m.batch else "",
        "throughput (95 %)": measured_speed(m),
        "scale factor (95 %)": times(factor, point.factor.low, point.factor.high, 3) if point else "1",
        "of perfect": bar(max(0.0, factor), BAR).ljust(BAR, "·"),
        **{
            # Empty where it could not be told from the rest; rounded first: there is no minus before zero.
            name: percent(round(share, 3) + 0.0)
            if lost and (share := getattr(lost, part)) is not None
            else ""
            for name, part in (("shared", "sharing"), ("waiting", "waiting"), ("exchange", "exchange"))
        },
        "power": watts(drawn) if drawn else "",
        "how": ", ".join(part for part in how if part),
    }


def _verdicts(found: Sequence[Series]) -> Iterator[str]:
    """What follows from each series: how many GPUs are worth it, where most is lost, cards that differ."""
    rule = f"each GPU more must add {percent(WORTH, 0)} of one"
    for each in found:
        last = each.points[-1]
        name = f"{each.one.config.label('batch')}, {last.measurement.config.scaling} scaling"
        # One GPU that ran hot or shared makes several look better than possible.
        if any(issue.code == "scaling" for point in each.points for issue in point.measurement.cautions):
            yield f"{name}: more than perfect, so nothing follows: measure one GPU again in the same session"
            continue
        best = "one GPU is" if each.worth == 1 else f"{each.worth} GPUs are"
        every = each.worth == last.gpus
        worth = f"all {last.gpus} are worth it" if every else f"{best} worth it, more are not"
        yield f"{name}: {last.speedup:.2f} times one GPU on {last.gpus}: {worth} ({rule})"
        if last.losses is not None and last.factor.value < GOOD:
            yield f"{name}: most is lost to {_MEANS[last.losses.largest]}, at {last.gpus} GPUs"
        group, lost = last.measurement.group, last.losses
        cards = cards_of(group) if group is not None else None
        if group is None or cards is None or lost is None or cards.differ < DIFFER:
            continue
        yield (
            f"{name}: the GPUs differ by {percent(cards.differ)} by themselves; waiting for the slowest, "
            f"rank {cards.slowest} ({group.ranks[cards.slowest].device}), costs {percent(lost.waiting)}, "
            f"the exchange {percent(lost.exchange)}"
        )
        # A fast or a slow single card moves the factor, although the links are the same.
        against = cards.middle_s / cards.one_s
        if abs(against - 1) > DIFFER:
            which = "faster" if against > 1 else "slower"
            yield (
                f"{name}: the one GPU is {percent(abs(against - 1))} {which} than the middle one, against "
                f"which the scale factor would be {last.factor.value * against:.3f}"
            )


def shown(
    curves: Sequence[Curve], cited: References, title: str = "On several GPUs"
) -> tuple[tuple[Figure, ...], tuple[Table, ...]]:
    """One chart of the curves that have the points for a line, each as multiples of its one GPU, and one
    table of them all; where none has, what stands under the chart stands before the table."""
    lines: dict[str, list[charts.Point]] = {}
    rows: list[dict[str, str]] = []
    # A line is called by what tells it from the others.
    asked = [(c.one.gpu_id, c.one.question.label("batch"), c.one.origin) for c in curves]
    varies = [len(set(parts)) > 1 for parts in zip(*asked, strict=True)]
    several = bool(varies) and varies[0]
    ends: dict[int, list[str]] = defaultdict(list)
    said: set[str] = set()
    # What is surest is drawn first.
    ordered = sorted(curves, key=lambda c: (len(c.records) < CURVED, ORIGINS.index(c.one.origin)))
    for curve in ordered:
        one, last = curve.one, curve.records[-1]
        spec = next((spec for spec in all_gpus() if spec.id == one.gpu_id), None)
        parts = (short(spec) if spec else one.gpu_id, one.question.label("batch"), one.origin)
        name = ", ".join(part for part, differs in zip(parts, varies, strict=True) if differs) or parts[1]
        shares = [curve.share(r) for r in curve.records]
        rows += [
            {
                **({"GPU": r.gpu_id} if several else {}), "work": one.question.label("batch"),
                "origin": one.origin, "GPUs": whole(r.gpus), "batch each": whole(r.batch) if r.batch else "",
                "throughput": throughput(r),
                "of linear": percent(share.value, 0), "source": cited.mark(r.source),
            }
            for r, share in zip(curve.records, shares, strict=True)
        ]  # fmt: skip
        # Two points make a line of which the eye learns nothing that a number does not say.
        line = len(curve.records) >= CURVED
        if name in said or (lines and not line) or len(said) == len(charts.SERIES):
            continue
        said.add(name)
        # Each of several GPUs may have room for more, and then they are more than so many times one.
        rebatched = one.batch and last.batch and one.batch != last.batch
        why = f"; batch {last.batch:,} on each, {one.batch:,} on one alone" if rebatched else ""
        ends[last.gpus].append(f"{shares[-1].value * last.gpus:.1f} ({name}{why})")
        if line:
            lines[name] = [
                charts.Point(
                    x=r.gpus,
                    y=share.value * r.gpus,
                    # What one GPU is off by, all are: only a measurement has an interval of its own.
                    low=(share.low if r.origin == "measured" else share.value) * r.gpus,
                    high=(share.high if r.origin == "measured" else share.value) * r.gpus,
                )
                for r, share in zip(curve.records, shares, strict=True)
            ]
    if not rows:
        return (), ()
    table = Table.of(rows, title=title)
    common = (part for part, differs in zip(asked[0][1:], varies[1:], strict=True) if not differs)
    alike = ", ".join(dict.fromkeys(common))
    works = "; ".join(f"{count} GPUs do the work of {', '.join(each)}" for count, each in ends.items())
    caption = f"{alike}: {works}." if several and alike else f"{works}."
    if not lines:
        return (), (replace(table, before=(caption,)),)
    chart = charts.curves(lines, y="times one GPU", over="GPUs; dashed: n times one", ideal=True)
    return (Figure(charts=(chart,), table=table, caption=caption),), ()


def over_batches(records: Sequence[Record], *, note: str = "") -> list[Figure]:
    """Speed by batch size on one GPU, a chart for each work of which several batches are known: from
    measurements, the trials of their batch search, and forecasts."""
    every: dict[tuple[str, str], dict[str, dict[int, Interval]]] = defaultdict(lambda: defaultdict(dict))
    for row in (row for row in records if row.gpus == 1 and row.throughput is not None):
        asked, m = row.question, row.raw
        name = asked.label("workload", "mode", "batch")
        name += ", predicted" * (row.origin == "predicted")
        points = every[asked.label(*HOW), row.item][name]
        for trial in m.batch_trials if m else ():
            if m and trial.items_per_s and trial.compiled == m.config.compile:
                # A trial is short: a measurement of that batch says more.
                speed = trial.items_per_s
                points.setdefault(trial.batch, Interval(value=speed, low=speed, high=speed, method="trial"))
        if row.batch and row.throughput:
            points[row.batch] = row.throughput
    figures = []
    for (title, item), found in every.items():
        lines = {
            name: [charts.Point(x=n, y=v.value, low=v.low, high=v.high) for n, v in sorted(points.items())]
            for name, points in found.items()
            if len(points) > 1
        }
        alone = f", {next(iter(lines))}" if len(lines) == 1 else ""
        rows = (
            {
                **({} if alone else {"configuration": name}),
                "batch": whole(point.x),
                "throughput": rate(point.y, item),
            }
            for name, points in lines.items()
            for point in points
        )
        if lines:
            figures.append(Figure(
                charts=(charts.curves(lines, y=f"{item}s per second"),),
                table=Table.of(rows, title=f"{title}{alone} by batch size", notes=(note,) if note else ()),
                caption=f"{title}{alone}: throughput by batch size.",
            ))  # fmt: skip
    return sorted(figures, key=lambda figure: -len(figure.table.rows))
