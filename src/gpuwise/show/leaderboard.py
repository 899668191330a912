"""GPUs ranked by one workload: how much they do, per watt and per dollar, and how each figure is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from typing import Any

from gpuwise.facts import prices
from gpuwise.model.gpu import MODULES, GpuSpec, Offer
from gpuwise.model.result import ORIGINS, Interval, Record, grouped
from gpuwise.model.units import Amount, gibibytes, si, significant, usd, watts
from gpuwise.show.charts import frontier, tradeoff
from gpuwise.show.gpus import short
from gpuwise.show.page import Figure
from gpuwise.show.prices import exact, hourly
from gpuwise.show.table import Table, rate, unit

# What buyers tell apart first: what fits a desk, a rack, a bag.
CLASSES = ("desktop", "workstation", "server", "laptop", "embedded")
# Dollars of a street price that the last metric counts by: a unit in which figures are easy to read.
STREET_USD = 1000
SECONDS = 3600
# Numbers from which people would not read the zeros.
MANY = 1e6
# Names on a chart: more of them cannot be read.
NAMED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One kind of GPU, so many of it, with the best known answer to the question and its prices."""

    spec: GpuSpec
    record: Record
    rent_usd: float | None = None  # Median on-demand rent of one for an hour
    street_usd: float | None = None  # Median street price of one

    @property
    def kind(self) -> str:
        """One of CLASSES, from form and segment of the catalog."""
        form, segment = self.spec.text("form"), self.spec.text("segment")
        if form == "laptop" or segment == "embedded":
            return "laptop" if form == "laptop" else "embedded"
        if form in MODULES or segment == "server":
            return "server"
        return "workstation" if segment == "workstation" else "embedded" if form == "soc" else "desktop"

    def per(self, divisor: float | None) -> Interval | None:
        """Items a second over something; the divisor counts as exact."""
        found = self.record.throughput
        return found.times(1 / divisor) if found is not None and divisor else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What GPUs are ranked by."""

    title: str  # `per dollar of rent`
    head: str  # The same above a narrow column
    unit: Callable[[str], str]  # Item -> what is counted, `images per dollar`
    of: Callable[[Entry], Interval | None]


def _gpus(entry: Entry, each: float | None) -> float | None:
    """A figure of one GPU for all of the entry."""
    return each * entry.record.gpus if each else None


METRICS: Mapping[str, Metric] = {
    "throughput": Metric(title="throughput", head="speed", unit=unit, of=lambda e: e.record.throughput),
    "watt": Metric(
        title="per watt", head="per watt", unit=lambda item: unit(item).replace("/s", "/J"),
        of=lambda e: e.per(e.record.watts.value if e.record.watts else None),
    ),
    "rent": Metric(
        title="per dollar of rent", head="per $ rent", unit=lambda item: unit(item).replace("/s", "/$"),
        of=lambda e: e.per((_gpus(e, e.rent_usd) or 0.0) / SECONDS),
    ),
    "street": Metric(
        title="per dollar of street price", head="per $1k street",
        unit=lambda item: f"{unit(item)} per ${STREET_USD:,}",
        of=lambda e: e.per((_gpus(e, e.street_usd) or 0.0) / STREET_USD),
    ),
}  # fmt: skip


def _of(entry: Entry, metric: str) -> float | None:
    found = METRICS[metric].of(entry)
    return None if found is None else found.value


# Column -> (what it is sorted by, whether the largest come first).
SORTS: Mapping[str, tuple[Callable[[Entry], Any], bool]] = {
    **{name: (partial(_of, metric=name), True) for name in METRICS},
    "name": (lambda e: short(e.spec).casefold(), False),
    "memory": (lambda e: e.spec.memory_bytes, True),
    "power": (lambda e: e.spec.power_w, False),
    "hour": (lambda e: e.rent_usd, False),
    "price": (lambda e: e.street_usd, False),
}


def entries(
    specs: Sequence[GpuSpec], known: Sequence[Record], forecasts: Sequence[Record], offers: Sequence[Offer],
    today: date,
) -> tuple[Entry, ...]:  # fmt: skip
    """An entry for each GPU that answers the question of the `forecasts`, whose refusals have none; `known`
    are measured and published speeds of any question."""

    def asked(record: Record) -> tuple[object, ...]:
        return record.question.workload, record.question.mode, record.question.precision, record.gpus

    def rank(record: Record) -> tuple[int, bool, float]:
        # The surest first; what everybody reaches without own kernels is compared, and a tuned speed stands
        # where it is alone.
        return ORIGINS.index(record.origin), record.question.recipe == "tuned", -record.value

    wanted = set(map(asked, forecasts))
    answers = grouped((r.gpu_id, r) for r in (*known, *forecasts) if r.usable and asked(r) in wanted)
    offered = grouped((offer.gpu_ids[0], offer) for offer in offers if len(offer.gpu_ids) == 1)
    found = []
    for spec in specs:
        if spec.id in answers:
            known_of = answers[spec.id]
            forecast_of = [r for r in known_of if r.origin == "predicted"]
            # A published speed below the whole interval of the forecast says what other software reaches.
            least = max((r.throughput.low for r in forecast_of if r.throughput), default=0.0)
            best = min((r for r in known_of if r.origin != "published" or r.value >= least), key=rank)
            if best.watts is None:
                best = replace(best, watts=next((r.watts for r in forecast_of if r.watts), None))
            quotes = exact(offered.get(spec.id, ()), spec.id)
            street = prices.usual(quotes, "street", today)
            found.append(Entry(
                spec=spec, record=best, rent_usd=hourly(quotes, spec.id, today),
                street_usd=street.median if street else None,
            ))  # fmt: skip
    return tuple(found)


def ranked(found: Sequence[Entry], metric: str, sort: str = "") -> tuple[Entry, ...]:
    """Those of which the metric is known, the best first, or by the column asked for: `-name` reverses its
    usual order. Below them come speeds that are known by their order of magnitude, and last GPUs without
    a value."""
    able = [entry for entry in found if _of(entry, metric) is not None]
    column = sort.removeprefix("-") or metric
    key, falling = SORTS[column]
    stated = [entry for entry in able if key(entry) is not None]
    ordered = sorted(stated, key=key, reverse=falling != sort.startswith("-"))
    if column in METRICS:
        ordered.sort(key=lambda entry: entry.record.is_rough)
    return (*ordered, *(entry for entry in able if key(entry) is None))


def figure(entry: Entry, metric: str) -> Amount | str:
    """The value with its interval; empty where it is not known."""
    of, found = METRICS[metric], METRICS[metric].of(entry)
    if found is None:
        return ""
    # A forecast is not known to four digits, and a published figure states no interval.
    digits = 3 if entry.record.origin == "predicted" else 4
    text = si(found.value, "", digits).strip() if found.value >= MANY else significant(found.value, digits)
    low, high = (found.low, found.high) if found.level is not None else (None, None)
    return Amount(text, found.value, of.unit(entry.record.item), low, high)


def table(found: Sequence[Entry]) -> Table:
    """Every entry with all metrics, for files and for readers of the chart's figures."""
    item = found[0].record.item if found else "item"
    rows = (
        {
            "GPU": f"{e.record.gpus} x {e.spec.id}" if e.record.gpus > 1 else e.spec.id,
            "name": short(e.spec),
            "class": e.kind,
            **{f"{m.title}, {m.unit(item)}": figure(e, name) for name, m in METRICS.items()},
            "memory": gibibytes(e.spec.memory_bytes) if e.spec.memory_bytes else "",
            "board power": watts(e.spec.power_w) if e.spec.power_w else "",
            "rent of an hour": usd(e.rent_usd) if e.rent_usd else "",
            "street price": usd(e.street_usd) if e.street_usd else "",
            "known": f"{e.record.origin}{', order of magnitude' * e.record.is_rough}",
            "how": e.record.question.label("workload", "mode", "gpus"),
            "source": e.record.source.title if e.record.source else e.record.session,
        }
        for e in found
    )
    return Table.of(rows, numeric=frozenset())


def document(found: Sequence[Entry]) -> list[dict[str, Any]]:
    return [
        {
            "gpu_id": e.spec.id, "name": e.spec.name, "class": e.kind, "count": e.record.gpus,
            "origin": e.record.origin, "order_of_magnitude": e.record.is_rough,
            "question": e.record.question.key(),
            **{name: asdict(value) if (value := m.of(e)) else None for name, m in METRICS.items()},
            "rent_usd_per_h": e.rent_usd, "street_usd": e.street_usd,
        }
        for e in found
    ]  # fmt: skip


def leaders(found: Sequence[Entry]) -> tuple[str, ...]:
    """The best of each metric in a sentence, of those whose speed is known well enough."""
    lines = []
    for name, metric in METRICS.items():
        best = ranked([entry for entry in found if not entry.record.is_rough], name)
        if len(best) > 1:
            value = figure(best[0], name)
            how = best[0].record.origin
            named = metric.unit(best[0].record.item)
            lines.append(f"{metric.title}: {short(best[0].spec)}, {value} {named} ({how})")
    return tuple(lines)


def against_price(found: Sequence[Entry], *, street: bool = False) -> Figure | None:
    """Price against throughput; None where fewer than three prices are known."""
    able = [entry for entry in found if entry.record.throughput and not entry.record.is_rough]
    priced = ((entry, _gpus(entry, entry.street_usd if street else entry.rent_usd)) for entry in able)
    known = [(entry, price) for entry, price in priced if price]
    if len(known) < 3:
        return None
    # Those on the line first, then the fastest: of many points these are looked for.
    line = frontier([(price, entry.record.value) for entry, price in known])
    each = [(entry, price, number in line) for number, (entry, price) in enumerate(known)]
    points = sorted(each, key=lambda point: (not point[2], -point[0].record.value))[:NAMED]
    price_of = "street price" if street else "rent of an hour"
    chart = tradeoff(
        [(short(entry.spec), price, entry.record.value, best) for entry, price, best in points],
        x=f"{price_of}, USD",
        y=unit(points[0][0].record.item),
    )
    table = Table.of(
        {
            "GPU": entry.spec.id,
            price_of: usd(price),
            "speed": rate(entry.record.value, entry.record.item),
            "no other is both faster and cheaper": "yes" if best else "",
        }
        for entry, price, best in points
    )
    caption = "against throughput: the line joins the GPUs that no other one beats on both."
    return Figure(charts=(chart,), table=table, caption=f"{price_of.capitalize()} {caption}")
