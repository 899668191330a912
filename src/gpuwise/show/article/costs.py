"""Power efficiency and prices of both cards, each computed from stated or forecast values."""

from __future__ import annotations

from gpuwise.facts import prices
from gpuwise.model.units import si
from gpuwise.show import known, rents
from gpuwise.show.article.duel import Duel, short
from gpuwise.show.page import Section
from gpuwise.show.results import per_joule
from gpuwise.show.table import Table
from gpuwise.show.work import DEEP, KINDS, of_kind

PER_WATT = (
    ("peak:fp16", "16-bit matrix peak, dense, per watt of board power", "FLOP/s/W"),
    ("peak:fp32", "fp32 peak per watt of board power", "FLOP/s/W"),
    ("memory_bytes_per_s", "memory bandwidth per watt of board power", "B/s/W"),
)


def efficiency(duel: Duel) -> Section:
    """Peaks and bandwidth per watt, and forecast items per joule."""
    rows = [row for name, title, unit in PER_WATT if (row := _per_watt(duel, name, title, unit))]
    rows += _items_per_joule(duel)
    table = Table(
        columns=("efficiency", duel.first.name, duel.second.name, "ratio", "from"),
        rows=tuple(rows),
        numeric=frozenset({duel.first.name, duel.second.name, "ratio"}),
        notes=("board power is a limit, not a draw: a measurement of gpuwise says what is drawn",),
    )
    return Section(
        id="power", title="Power efficiency", tables=(table,) if rows else (), points=_measured_watts(duel)
    )


def _per_watt(duel: Duel, name: str, title: str, unit: str) -> tuple[str, ...] | None:
    amount, power = duel.quantity(name), duel.quantity("power_w")
    if amount is None or power is None:
        return None
    first, second = amount.first.value / power.first.value, amount.second.value / power.second.value
    facts = (amount.first.fact, amount.second.fact, power.first.fact, power.second.fact)
    cited = duel.cited.mark(*(fact.source for fact in facts))
    return (title, si(first, unit), si(second, unit), f"{second / first:.2f}", f"computed from {cited}")


def _items_per_joule(duel: Duel) -> list[tuple[str, ...]]:
    rows = []
    for kind in KINDS:
        two = [of_kind(kind, spec.id, duel.forecasts) for spec in duel.both]
        each = [p.items_per_joule for p in two if p is not None]
        item = next((p.item for p in two if p is not None), "")
        if len(each) == 2 and each[0] and each[1]:
            shown = [per_joule(value, item) for value in each if value]
            cited = duel.cited.mark(known.FORECAST)
            rows.append((kind.title, *shown, f"{each[1] / each[0]:.2f}", f"forecast {cited}"))
    return rows


def _measured_watts(duel: Duel) -> tuple[str, ...]:
    """Measured items per joule, the most efficient of each question."""
    best: dict[tuple[str, str, str], known.Speed] = {}
    for speed in duel.speeds:
        if speed.origin == "measured" and speed.watts:
            key = (speed.gpu_id, speed.workload, speed.mode)
            if key not in best or _efficient(speed) > _efficient(best[key]):
                best[key] = speed
    names = {spec.id: short(spec) for spec in duel.both}
    return tuple(
        f"Measured: {known.work(s)} on the {names[s.gpu_id]} {per_joule(_efficient(s), s.item)} "
        f"{duel.cited.mark(s.source)}."
        for s in best.values()
    )


def _efficient(speed: known.Speed) -> float:
    return speed.throughput.value / speed.watts if speed.watts else 0.0


def costs(duel: Duel) -> Section:
    """Dated offers of both, and what a million items cost by their median."""
    mine = [rents.exact(duel.offers, spec.id) for spec in duel.both]
    rows = [
        (title, *(rents.told(offers, kind, duel.today, duel.cited) for offers in mine))
        for kind, title in rents.KINDS
    ]
    rows.append(("bought", *(rents.bought(offers, duel.cited) for offers in mine)))
    known_rows = tuple(row for row in rows if set(row[1:]) != {"-"})
    offered = Table(
        title=f"Offers as of {duel.today.isoformat()}",
        columns=("price", duel.first.name, duel.second.name),
        rows=known_rows,
        notes=(
            "median (lowest to highest) of the newest sight of each offer that names exactly this variant",
            f"stale: older than {prices.STALE_DAYS} days; fetch new ones with gpuwise prices update",
        ),
    )
    return Section(
        id="prices",
        title="Prices and price for performance",
        text=_unpriced(duel),
        tables=(*([offered] if known_rows else []), *_per_million(duel)),
    )


def _unpriced(duel: Duel) -> tuple[str, ...]:
    missing = [short(spec) for spec in duel.both if not rents.exact(duel.offers, spec.id)]
    if not missing:
        return ()
    return (
        f"No dated offer of exactly the {' or the '.join(missing)} is known, so no price of it is given.",
    )


def _per_million(duel: Duel) -> tuple[Table, ...]:
    hourly = [rents.hourly(duel.offers, spec.id) for spec in duel.both]
    if not any(hourly):
        return ()
    rows = []
    for kind in DEEP:
        two = [of_kind(kind, spec.id, duel.forecasts) for spec in duel.both]
        prices_of = [
            rents.million(p.throughput.value, rate)
            if p is not None and p.throughput is not None and rate
            else None
            for p, rate in zip(two, hourly, strict=True)
        ]
        item = next((p.item for p in two if p is not None), "")
        if any(prices_of):
            shown = [rents.dollars(amount) if amount else "-" for amount in prices_of]
            ratio = f"{prices_of[1] / prices_of[0]:.2f}" if prices_of[0] and prices_of[1] else ""
            rows.append((kind.title, f"a million {item}s", *shown, ratio))
    if not rows:
        return ()
    table = Table(
        title="Rent of a million items, by forecast speed and median on-demand rent",
        columns=("kind of work", "unit", duel.first.name, duel.second.name, "ratio"),
        rows=tuple(rows),
        numeric=frozenset({duel.first.name, duel.second.name, "ratio"}),
        notes=(
            f"computed from these offers and forecasts {duel.cited.mark(known.FORECAST)}; lower is cheaper",
        ),
    )
    return (table,)
