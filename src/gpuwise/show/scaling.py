"""Scaling over GPUs as a table with its curve, the links beside it, and what to make of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwise.model.result import Group, Measurement, Result
from gpuwise.model.units import percent
from gpuwise.show.results import cell_name, rate, speed
from gpuwise.show.table import Table
from gpuwise.stats.scaling import WORTH, Point, Series, cards_of, series

COLUMNS = (
    "measurement",
    "scaling",
    "GPUs",
    "batch each",
    "throughput (95 %)",
    "scale factor (95 %)",
    "of perfect",
    "shared",
    "waiting",
    "exchange",
    "power",
    "how",
)
NUMERIC = frozenset(
    {
        "GPUs",
        "batch each",
        "throughput (95 %)",
        "scale factor (95 %)",
        "shared",
        "waiting",
        "exchange",
        "power",
    }
)
BAR = 20
GOOD = 0.99
"""A scale factor from which nothing is lost that would be worth a word."""
DIFFER = 0.01
"""From which difference in speed cards are said to differ."""
_EIGHTHS = " ▏▎▍▌▋▊▉"

_MEANS = {
    "sharing": "what the GPUs share: power, heat or the host",
    "waiting": "waiting for the slowest GPU",
    "exchange": "the exchange over the links",
}


def scaling(result: Result) -> Table | None:
    """Every series of a result; None where nothing was measured on one GPU and on several."""
    found = series(result.measurements)
    return table(result, found) if found else None


def table(result: Result, found: Sequence[Series]) -> Table:
    """The series that were found in a result, a row for each number of GPUs."""
    made = Table(
        title="Scaling",
        columns=COLUMNS,
        rows=tuple(row for each in found for row in _rows(each)),
        numeric=NUMERIC,
        notes=(*_verdicts(found), *_links(result.measurements), *_topology(found)),
    )
    return made.without_empty_columns()


def bar(share: float, width: int = BAR) -> str:
    """A share of 1 as a bar of eighths of a character."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip().ljust(width, "·")


def _rows(each: Series) -> Iterator[tuple[str, ...]]:
    one = each.one
    yield (
        cell_name(one.config),
        "",
        "1",
        str(one.batch or ""),
        speed(one),
        "1",
        bar(1.0),
        "",
        "",
        "",
        _watts(one),
        "",
    )
    for point in each.points:
        yield _row(cell_name(one.config), point)


def _row(name: str, point: Point) -> tuple[str, ...]:
    m, found, lost = point.measurement, point.factor, point.losses
    return (
        name,
        m.config.scaling,
        str(m.config.gpus) if m.config.nodes == 1 else f"{m.config.gpus} on {m.config.nodes}",
        str(m.batch or ""),
        speed(m),
        f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})",
        bar(found.value),
        "" if lost is None or lost.sharing is None else _lost(lost.sharing),
        "" if lost is None else _lost(lost.waiting),
        "" if lost is None else _lost(lost.exchange),
        _watts(m),
        _how(m.group),
    )


def _lost(share: float) -> str:
    return percent(round(share, 3) + 0.0)  # no minus before zero


def _watts(m: Measurement) -> str:
    return f"{m.telemetry.power_w:.0f} W" if m.telemetry is not None and m.telemetry.power_w else ""


def _how(group: Group | None) -> str:
    """`ddp, nccl, buckets of 25 MiB`."""
    if group is None:
        return ""
    bucket = f"buckets of {group.bucket_bytes / 2**20:.0f} MiB" if group.bucket_bytes else ""
    return ", ".join(part for part in (group.parallel, group.backend, bucket) if part)


def _verdicts(found: Sequence[Series]) -> Iterator[str]:
    for each in found:
        last = each.points[-1]
        name = f"{cell_name(each.one.config)}, {last.measurement.config.scaling} scaling"
        if any(caution.code == "scaling" for point in each.points for caution in point.measurement.cautions):
            yield f"{name}: more than perfect, so nothing follows: measure one GPU again in the same session"
            continue
        yield f"{name}: {_worth(each)}"
        if last.losses is not None and last.factor.value < GOOD:
            yield f"{name}: most is lost to {_MEANS[last.losses.largest]}, at {last.gpus} GPUs"
        yield from (f"{name}: {told}" for told in _unlike(last))


def _unlike(point: Point) -> Iterator[str]:
    """What of the scale factor is a matter of cards that differ by themselves."""
    group, lost = point.measurement.group, point.losses
    cards = cards_of(group) if group is not None else None
    if group is None or cards is None or lost is None or cards.differ < DIFFER:
        return
    yield (
        f"the GPUs differ by {percent(cards.differ)} by themselves; waiting for the slowest, "
        f"rank {cards.slowest} ({group.ranks[cards.slowest].device}), costs {percent(lost.waiting)}, "
        f"the exchange {percent(lost.exchange)}"
    )
    against = cards.middle_s / cards.one_s
    if abs(against - 1) > DIFFER:
        which = "faster" if against > 1 else "slower"
        yield (
            f"the one GPU is {percent(abs(against - 1))} {which} than the middle one, against which the "
            f"scale factor would be {point.factor.value * against:.3f}"
        )


def _worth(each: Series) -> str:
    """How many GPUs pay, by the rule that is stated with it."""
    last, rule = each.points[-1], f"each GPU more must add {percent(WORTH, 0)} of one"
    gain = f"{last.speedup:.2f} times one GPU on {last.gpus}"
    if each.worth == last.gpus:
        return f"{gain}: all {last.gpus} are worth it ({rule})"
    best = "one GPU is" if each.worth == 1 else f"{each.worth} GPUs are"
    return f"{gain}: {best} worth it, more are not ({rule})"


def _links(measurements: Sequence[Measurement]) -> Iterator[str]:
    """The limits of the links that the session measured."""
    for m in measurements:
        if m.config.mode != "limit" or m.throughput is None:
            continue
        if m.config.workload == "peer":
            yield f"link between two GPUs, one way: {rate(m.throughput.value, m.item)}"
        if m.config.workload == "all-reduce":
            size = f", {m.batch} MiB" if m.batch else ""
            name = f"all-reduce over {m.config.gpus} GPUs{size}, bus bandwidth"
            yield f"{name}: {rate(m.throughput.value, m.item)}"


def _topology(found: Sequence[Series]) -> Iterator[str]:
    """How the GPUs of the largest group are joined, in one line where all pairs are alike."""
    groups = [point.measurement.group for each in found for point in each.points]
    largest = max((g for g in groups if g is not None), key=lambda g: len(g.ranks), default=None)
    if largest is None or not largest.links:
        return
    kinds = {(link.path, link.peer) for link in largest.links}
    for path, peer in sorted(kinds, key=str):
        pairs = [f"{link.a}-{link.b}" for link in largest.links if (link.path, link.peer) == (path, peer)]
        which = "every pair of GPUs" if len(kinds) == 1 else f"GPUs {', '.join(pairs)}"
        peers = {True: "P2P on", False: "P2P off", None: "P2P unknown"}[peer]
        yield f"{which}: {path}, {peers}"
