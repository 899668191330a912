"""Prices as tables and as data: rent and purchase apart, each price with its age and its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from gpuwise.facts import prices
from gpuwise.facts.prices import Change, Line, Month, Skipped
from gpuwise.model.gpu import RENTS as KINDS
from gpuwise.model.gpu import GpuSpec, Offer
from gpuwise.model.result import grouped
from gpuwise.model.units import Amount, usd, whole
from gpuwise.show.charts import Plot
from gpuwise.show.charts import over_time as lines_over_time
from gpuwise.show.gpus import short
from gpuwise.show.page import Figure, References
from gpuwise.show.results import counted
from gpuwise.show.table import Table, old_prices, picked

if TYPE_CHECKING:
    from gpuwise.facts.prices.fetch import Update

# What a short name carries where it is not one catalog entry, and what that means.
_MARKS = ("", " *", " **")
_MARK_NOTES = ("", "*: the seller does not state the variant", "**: not in the catalog")
# Most expensive over cheapest from which the span itself is worth a warning.
FAR_APART = 5.0
# GPUs of which a line each says what they cost to buy.
FEW = 3
_SOLD = {"street": "used or new"}
# Colours that a reader tells apart.
MOST_LINES = 6


def listing(
    offers: Sequence[Offer], changes: Sequence[Change], *, title: str, today: date, top: int | None = None,
    compact: bool = False,
) -> Table:  # fmt: skip
    """One row an offer, as ordered; `top` limits the rows shown, the notes speak of all of them. `compact`
    fits a narrow terminal: fewer columns, without instance, source and note."""
    shown = offers[:top] if top else offers
    notes = [*(_mark_notes([offer.gpu_ids for offer in shown]) if compact else ())]
    notes += [*_freshness(offers, today), *_moves(changes)]
    if (unsure := sum(len(offer.gpu_ids) > 1 for offer in offers)) and not compact:
        notes.append(f"{unsure} of {len(offers)} offers do not state the variant")
    if not all(prices.is_quote(offer) for offer in offers):
        notes.append("ranges are an article's illustration, in no minimum or median")
    # Of what is read: a list of sixteen sources below five rows buries them.
    used = {offer.source.id: offer.source.title for offer in shown} if not compact else {}
    notes += [f"source {key}: {used[key]}" for key in sorted(used)]
    return Table.of(
        ((_compact_row if compact else _row)(offer, today) for offer in shown),
        title=title,
        numeric=frozenset({"USD/GPU-h", "price", "GPUs", "age"}),
        before=_spans(offers, today),
        notes=tuple(notes),
        dim=frozenset(i for i, offer in enumerate(shown) if prices.is_stale(offer, today)),
    )


def lowest(offers: Sequence[Offer]) -> str:
    """The cheapest for one GPU: `$0.94/h for one, 8 x community, H100 80GB, vast, seen on 2026-10-10`."""
    offer = min(offers, key=lambda offer: offer.per_gpu)
    unit, many = "/h" if offer.per_hour else "", f"{offer.count:g} x {offer.kind}"
    where = offer.provider or offer.source.title
    return f"{usd(offer.per_gpu)}{unit} for one, {many}, {offer.gpu}, {where}, seen on {offer.seen_on}"


def overview(lines: Sequence[Line], offers: Sequence[Offer], changes: Sequence[Change], today: date) -> Table:
    """One row a GPU: what an hour of it costs, what it costs to buy, and how fresh that is."""

    # Median beside the lowest: the cheapest of a marketplace is one host on one evening.
    def row(line: Line) -> dict[str, str]:
        rent, spot = line.on_demand, line.spot
        bought = {"new": line.new, "used": line.used, "used or new": line.street, "launch": line.launch}
        return {
            "GPU": line.gpu + _MARKS[_unsure(line.gpu_ids)],
            "on-demand from": usd(rent.lowest) if rent else "", "median": usd(rent.median) if rent else "",
            "spot from": usd(spot.lowest) if spot else "", "spot median": usd(spot.median) if spot else "",
            **{name: usd(found.median) if found else "" for name, found in bought.items()},
            "offers": whole(line.offers), "newest": line.newest or "undated",
        }  # fmt: skip

    marks = _mark_notes([line.gpu_ids for line in lines])
    return Table.of(
        map(row, lines),
        notes=(*marks, *_freshness(offers, today), *_moves(changes)),
        title=f"Prices of one GPU in USD, rent per hour, as of {today.isoformat()}",
    )


def document(
    offers: Sequence[Offer], changes: Sequence[Change], *, query: str | None, today: date,
    skipped: Sequence[Skipped] = (),
) -> dict[str, Any]:  # fmt: skip
    """Offers as plain data, with age, price of a GPU-hour and what was skipped."""
    return {
        "query": query,
        "as_of": today.isoformat(),
        "stale_after_days": prices.STALE_DAYS,
        "offers": [_offer(offer, today) for offer in offers],
        "changes": [
            {"first": _offer(c.first, today), "last": _offer(c.last, today), "share": c.share}
            for c in changes
        ],
        "skipped": [asdict(skip) for skip in skipped],
    }


def overview_document(
    lines: Sequence[Line], *, today: date, skipped: Sequence[Skipped] = ()
) -> dict[str, Any]:
    return {
        "as_of": today.isoformat(),
        "gpus": [asdict(line) for line in lines],
        "skipped": [asdict(skip) for skip in skipped],
    }


def skipped_lines(skipped: Sequence[Skipped], most: int = 10) -> tuple[str, ...]:
    """What was left out, counted, and the first rows by name."""
    if not skipped:
        return ()
    named = tuple(
        f"  {skip.file}{f', line {skip.line}' if skip.line else ''}: {skip.reason}" for skip in skipped[:most]
    )
    more = (f"  and {len(skipped) - most} more; all of them: --json",) if len(skipped) > most else ()
    return (f"{len(skipped)} {'row' if len(skipped) == 1 else 'rows'} skipped:", *named, *more)


def update_lines(done: Update) -> tuple[str, ...]:
    parts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(done.left_out.items()))
    return (
        f"{done.offers:,} offers from {', '.join(done.providers)}; seen on {done.seen_on}",
        f"kept in {done.path}",
        *([f"did not answer, former prices stay: {', '.join(done.silent)}"] if done.silent else []),
        *([f"left out: {parts}"] if parts else []),
    )


def update_document(done: Update) -> dict[str, Any]:
    return {
        **picked(done, "seen_on offers"), "path": str(done.path), "left_out": dict(done.left_out),
        "providers": list(done.providers), "silent_providers": list(done.silent),
    }  # fmt: skip


def variant(offer: Offer) -> str:
    """The catalog entry, or why there is not exactly one."""
    if len(offer.gpu_ids) == 1:
        return offer.gpu_ids[0]
    return f"{offer.gpu}, {'variant not stated' if offer.gpu_ids else 'not in the catalog'}"


def age(offer: Offer, today: date) -> str:
    """`31 days`, `1,193 days, stale` or `undated`."""
    days = prices.age_days(offer, today)
    if days is None:
        return "undated"
    text = "1 day" if days == 1 else f"{days:,} days"
    return Amount(f"{text}, stale" if prices.is_stale(offer, today) else text, days, "d")


def _row(offer: Offer, today: date) -> dict[str, str]:
    price = _range(offer, 1.0)
    return {
        "USD/GPU-h": _range(offer, offer.count) if offer.per_hour else "",
        "price": price.shown(f"{price}{'/h' if offer.per_hour else ' once'}"),
        "GPUs": f"{offer.count:.3g}" if offer.count < 1 else f"{offer.count:g}",
        "kind": offer.kind, "variant": variant(offer), "provider": offer.provider,
        "instance": offer.instance, "region": offer.region, "seen on": offer.seen_on,
        "age": age(offer, today), "source": offer.source.id, "note": offer.note,
    }  # fmt: skip


def _compact_row(offer: Offer, today: date) -> dict[str, str]:
    row = _row(offer, today)
    name = offer.gpu_ids[0] if len(offer.gpu_ids) == 1 else offer.gpu
    whole = f", {row['price']}" if offer.count != 1 or not offer.per_hour else ""
    stale = ", stale" * prices.is_stale(offer, today) if offer.seen_on else row["age"]
    return {
        "USD/GPU-h": row["USD/GPU-h"], "offer": f"{row['GPUs']} x {row['kind']}{whole}",
        "GPU": name + _MARKS[_unsure(offer.gpu_ids)], "provider": row["provider"], "region": row["region"],
        "seen on": f"{row['seen on']}{stale}",
    }  # fmt: skip


def _unsure(gpu_ids: tuple[str, ...]) -> int:
    """0 for one catalog entry, 1 for several, 2 for none."""
    return 2 if not gpu_ids else int(len(gpu_ids) > 1)


def _mark_notes(every: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """What the marks among these ids mean."""
    return tuple(_MARK_NOTES[mark] for mark in sorted({_unsure(gpu_ids) for gpu_ids in every}) if mark)


def _range(offer: Offer, count: float) -> Amount:
    """The price over `count`: one figure, a figure with its spread, or a range of an article."""
    value = usd(offer.amount / count)
    if offer.high is None:
        return value
    low, high = (offer.low or offer.amount) / count, offer.high / count
    if offer.low is None:
        return Amount(f"{value} to {usd(high)}", low, "USD", low, high)
    return _around(offer.amount / count, low, high)


def _spans(offers: Sequence[Offer], today: date) -> tuple[str, ...]:
    """What a GPU-hour costs, by kind, at prices that are not old; how many are is said."""
    notes = []
    for kind in ("on-demand", "community", "spot"):
        found, every = prices.spread(offers, kind, today), prices.spread(offers, kind)
        old = every.offers - (found.offers if found else 0) if every else 0
        older = f"{counted(old, 'offer')} older than {prices.STALE_DAYS} days or undated"
        if found is not None and found.offers > 1:
            ratio = found.highest / found.lowest
            wide = f"; the most expensive offer costs {ratio:.0f} times the cheapest" * (ratio >= FAR_APART)
            span = f"{usd(found.lowest)} to {usd(found.highest)} a GPU-hour, median {usd(found.median)}"
            apart = f"; {older} not counted" * bool(old)
            notes.append(f"{kind}: {span} ({found.offers} offers{apart}){wide}")
        elif found is None and old > 1:
            notes.append(f"{kind}: only {older}")
    purchases = (offer for offer in offers if not offer.per_hour)
    sold = grouped((o.gpu_ids[0] if len(o.gpu_ids) == 1 else o.gpu, o) for o in purchases)
    if len(sold) <= FEW:
        notes += [f"{gpu} to buy: {bought(mine, today)}" for gpu, mine in sold.items()]
    return tuple(notes)


def _freshness(offers: Sequence[Offer], today: date) -> tuple[str, ...]:
    # Launch prices are years old by nature and say nothing of how fresh the rents are.
    judged = [offer for offer in offers if offer.per_hour] or list(offers)
    dated = sorted((offer for offer in judged if offer.seen_on), key=lambda offer: offer.seen_on)
    if not dated:
        return ("no price has a date: they may be of any age",)
    span = f"the newest price is of {dated[-1].seen_on} ({age(dated[-1], today)})"
    span += f", the oldest of {dated[0].seen_on}" * (dated[0].seen_on < dated[-1].seen_on)
    stale, undated = sum(prices.is_stale(offer, today) for offer in dated), len(judged) - len(dated)
    old = [f"{stale:,} older than {prices.STALE_DAYS} days (stale)"] if stale else []
    old += [f"{undated:,} without a date"] if undated else []
    what = f"; of {counted(len(judged), 'rent' if judged[0].per_hour else 'offer')}, " if old else ""
    return (f"{span}{what}{' and '.join(old)}", *old_prices((today - prices.day(dated[-1].seen_on)).days))


def _moves(changes: Sequence[Change]) -> tuple[str, ...]:
    """How many offers seen twice became cheaper, and the steepest move."""
    if not changes:
        return ()
    falls = sum(change.share < 0 for change in changes)
    steepest = changes[0] if falls else changes[-1]
    first, last = steepest.first, steepest.last
    name = f"{last.provider} {last.instance}".strip()
    rises = len(changes) - falls
    what = f"{name} ({last.count:g} x {last.gpu}, {last.kind})"
    return (
        f"of the offers seen twice {falls} fell and {rises} rose; the largest change: {what} went from "
        f"{usd(first.amount)} on {first.seen_on} to {usd(last.amount)} on {last.seen_on} "
        f"({steepest.share:+.0%})",
    )


def _offer(offer: Offer, today: date) -> dict[str, Any]:
    return {
        **asdict(offer),
        "per_gpu_hour": offer.per_gpu if offer.per_hour else None,
        "age_days": prices.age_days(offer, today),
        "stale": prices.is_stale(offer, today),
    }


MILLION = 1e6
RENTS = (("on-demand", "rent on demand, USD per GPU-hour"), ("spot", "rent as spot, USD per GPU-hour"))
EXACTLY = "median (lowest to highest) of the newest price of each offer that names exactly this variant"


def exact(offers: Sequence[Offer], gpu_id: str) -> tuple[Offer, ...]:
    """The newest sight of each offer of exactly this GPU; illustrations of articles are none."""
    return prices.newest([offer for offer in offers if offer.gpu_ids == (gpu_id,) and prices.is_quote(offer)])


def hourly(offers: Sequence[Offer], gpu_id: str, today: date) -> float | None:
    """Median on-demand rent of one GPU for an hour, in USD, of fresh offers; None without one. As in a
    choice, nothing is ranked by an old rent."""
    found = prices.spread(exact(offers, gpu_id), "on-demand", today)
    return None if found is None else found.median


def _around(middle: float, low: float, high: float) -> Amount:
    span = f" ({usd(low)} to {usd(high)})" * (usd(low) != usd(high))
    return Amount(f"{usd(middle)}{span}", middle, "USD", low, high)


def rent(offers: Sequence[Offer], kind: str, today: date, cited: References) -> str:
    """`$0.44 ($0.21 to $0.79), 11 offers, newest 2026-10-20 [3] [4]`; a dash without an offer."""
    mine = [offer for offer in offers if offer.kind == kind]
    # Prices that are all old say at least what it was.
    mine = [offer for offer in mine if not prices.is_stale(offer, today)] or mine
    found = prices.spread(mine, kind)
    if found is None:
        return "-"
    # Freshness is that of the latest: the others may be years older and still stand in the span.
    latest = max(mine, key=lambda offer: offer.seen_on)
    stale = ", stale" if prices.is_stale(latest, today) else ""
    seen = f"newest {latest.seen_on}{stale}" if latest.seen_on else "undated"
    marks = cited.mark(*(offer.source for offer in mine))
    span = _around(found.median, found.lowest, found.highest)
    return span.shown(f"{span}, {counted(found.offers, 'offer')}, {seen} {marks}")


def bought(offers: Sequence[Offer], today: date, cited: References | None = None) -> str:
    """`$2,250 at launch, 2021-04 [2]` and the newest purchase of each other kind, a system's as what it is;
    a dash without one.
    """
    parts: dict[str, str] = {}
    for offer in sorted((o for o in offers if not o.per_hour), key=lambda offer: offer.seen_on):
        launch = "launch price" in offer.note
        kind = "at launch" if launch else _SOLD.get(offer.kind, offer.kind)
        of = f" for a system of {offer.count:g}" if offer.count > 1 else ""
        seen = f", {offer.seen_on[:7]}" if offer.seen_on else ""  # the month is enough of a purchase
        # A launch price is years old by nature.
        stale = ", stale" if seen and not launch and prices.is_stale(offer, today) else ""
        # A later one of a kind takes the place of the one before it.
        mark = f" {cited.mark(offer.source)}" if cited else ""
        parts[kind + of] = f"{usd(offer.amount)} {kind}{of}{seen}{stale}{mark}"
    return "; ".join(parts.values()) or "-"


def offered(
    offers: Sequence[Offer], specs: Sequence[GpuSpec], today: date, cited: References
) -> tuple[Table, ...]:
    """Rents and purchases of exactly these variants, a column a GPU; nothing where nothing is known."""
    mine = [exact(offers, spec.id) for spec in specs]
    rows = [(title, *(rent(each, kind, today, cited) for each in mine)) for kind, title in RENTS]
    rows.append(("bought", *(bought(each, today, cited) for each in mine)))
    known = tuple(row for row in rows if set(row[1:]) != {"-"})
    old = any("stale" in cell for row in known for cell in row[1:])
    stale = (f"stale: older than {prices.STALE_DAYS} days; `gpuwise prices update` reads new ones",) * old
    table = Table(
        title=f"Offers as of {today.isoformat()}",
        rows=known,
        notes=(EXACTLY, *stale),
        columns=("price", *(short(spec) for spec in specs)),
    )
    return (table,) if known else ()


def million(items_per_s: float, per_hour: float) -> Amount:
    """USD of a million items: rent of an hour / (items per second * 3600) * 1e6."""
    return usd(per_hour / (items_per_s * 3600) * MILLION)


def over_time(months: Sequence[Month], query: str) -> Table:
    """One row a month: the median rent of a GPU-hour by kind, over providers and regions."""

    def cell(month: str, kind: str) -> str:
        here = sorted((m for m in months if (m.month, m.kind) == (month, kind)), key=lambda m: m.median)
        if not here:
            return ""
        low, high, middle = min(m.low for m in here), max(m.high for m in here), here[len(here) // 2].median
        span = _around(middle, low, high)
        return span.shown(f"{span}, {counted(len(here), 'reading')}")

    rows = (
        {"month": month, **{kind: cell(month, kind) for kind in KINDS}}
        for month in sorted({m.month for m in months}, reverse=True)
    )
    return Table.of(
        rows,
        title=f"Rent of {query!r} by month, USD per GPU-hour: median (lowest to highest)",
        notes=("a median over other providers or regions than the month before is not a change of prices",),
    )


def over_time_chart(months: Sequence[Month], query: str) -> Plot:
    """The longest series as lines: each a provider, kind and region, so that no line joins two sources."""
    words = ((m, filter(None, (m.provider, m.kind, m.term, m.region))) for m in months)
    series = grouped((f"{' '.join(name)} [{m.source}]", m) for m, name in words)
    # The longest tell most; ties by name, so that a chart is drawn the same twice.
    longest = sorted(series, key=lambda name: (-len({m.month for m in series[name]}), name))[:MOST_LINES]
    lines = {name: [(m.month, m.median) for m in series[name]] for name in longest}
    return lines_over_time(lines, title=f"{query}: USD per GPU-hour")


def history(months: Sequence[Month], gpu: str) -> tuple[Figure, ...]:
    """The rents of a GPU by month as lines, where more than one month is known."""
    if len({m.month for m in months}) < 2:
        return ()
    caption = f"Rent of the {gpu} by month: a line is one provider, kind and region of one source."
    return (Figure(charts=(over_time_chart(months, gpu),), table=over_time(months, gpu), caption=caption),)
