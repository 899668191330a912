"""A recommendation as tables: the options, what was left out, and everything that it rests on.

Beside it, for whom one GPU is: its place in each preset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from gpuwise.model.choice import Assumptions, Option, Recommendation
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.result import Interval
from gpuwise.model.units import Amount, percent, seconds, si, significant, usd
from gpuwise.show.table import Table

if TYPE_CHECKING:
    from gpuwise.judge.choose.uses import Place, Use

_SCALES = ((1.0, ""), (1e3, "1k "), (1e6, "1M "), (1e9, "1G "), (1e12, "1T "), (1e15, "1P "), (1e18, "1E "))
_ENOUGH_USD = 0.01
# Options whose reasons stand below the table.
_REASONED = 3


def table(
    found: Recommendation, *, top: int | None, wide: bool = False, changed: Sequence[str] = ()
) -> Table:
    """The first `top` options (all for None); in the notes the reasons, chances and assumptions.

    Where not `wide`, the columns that a terminal has no room for are left out.
    """
    shown, need = found.options[:top], found.need
    # Costs are of so many items that the first option costs at least a cent.
    first = found.options[0].cost_per_item_usd.value
    scale, unit = next((one for one in _SCALES if first * one[0] >= _ENOUGH_USD), _SCALES[-1])
    each, speed = f"cost of {unit}{found.item}s", f"{found.item}s/s"
    rows = []
    for option in shown:
        spare, pays, joules = option.memory_spare, option.break_even_h, option.energy_j_per_item
        kwh = joules * scale / 3.6e6 if joules is not None else None
        rows.append({
            "": f"{option.rank}{'*' if option.frontier else ' '}",
            "GPUs": f"{option.count} x {option.gpu_id}",
            "from": _source(option),
            "price": _price(option),
            speed: span(option.throughput, rate, speed),
            "known by": option.basis,
            "time": seconds(option.time_s.value) if option.time_s else "",
            "cost": span(option.cost_usd, usd) if option.cost_usd else "",
            each: span(option.cost_per_item_usd.times(scale), usd),
            "energy": Amount(f"{significant(kwh, 2)} kWh", kwh, "kWh") if kwh is not None else "",
            "memory free": percent(max(0.0, spare), 0) if spare is not None else "",
            "pays from": Amount(f"{pays:,.0f} h", pays, "h") if pays is not None else "",
        })  # fmt: skip
    # Without an amount of work the cost of an item is the cost.
    left = {"energy", "memory free", "pays from", *([each] if need.items is not None else [])}
    # A terminal of 100 columns holds what decides; files hold all.
    columns = [name for name in rows[0] if wide or name not in left]
    mix, (low, high) = len(need.workloads) > 1, need.gpus
    names = " + ".join(f"{name} {percent(share, 0)}" if mix else name for name, share in need.workloads)
    number = f"{low} to {high} GPUs" if low < high else f"{low} GPU{'s' if low > 1 else ''}"
    return Table(
        title=f"{names} {need.mode} {need.precision}, {number}, prices as known on {found.made_on}",
        before=tuple(changed),
        columns=tuple(columns),
        rows=tuple(tuple(row[name] for name in columns) for row in rows),
        numeric=frozenset(columns) - {"GPUs", "from", "known by"},
        notes=tuple(_notes(found, shown)),
        dim=frozenset(place for place, option in enumerate(shown) if option.stale),
        spare=frozenset({"price", "known by"}),
    ).without_empty_columns()


def rejections(found: Recommendation) -> Table:
    """Every GPU without an option, and why."""
    return Table(
        title="Left out", columns=("GPU", "why"), rows=tuple((r.gpu_id, r.reason) for r in found.rejected)
    )


def whole(found: Recommendation, changed: Sequence[str] = ()) -> Table:
    """All options in one table, with the GPUs left out in the notes; for files."""
    made = table(found, top=None, wide=True, changed=changed)
    left = tuple(f"left out: {r.gpu_id}: {r.reason}" for r in found.rejected)
    return replace(made, notes=(*made.notes, *left), dim=frozenset(), spare=frozenset())


def _source(option: Option) -> str:
    if option.way == "have":
        return "yours"
    if option.way in ("new", "used"):
        return f"buy {option.way}"
    return f"{option.provider}, {option.way}"


def _price(option: Option) -> str:
    """With the month in which it was seen; in brackets where it is old."""
    if option.way == "have":
        return ""
    rent = "/h" if option.way in ("on-demand", "spot", "reserved") else ""
    text = f"{usd(option.price_usd.value)}{rent} {option.seen_on[:7] or 'undated'}"
    return usd(option.price_usd.value).shown(f"({text})" if option.stale else text)


def span(interval: Interval, form: Callable[[float], Amount], unit: str = "") -> Amount:
    """`968 (550 to 1,704)`."""
    text = f"{form(interval.value)} ({form(interval.low)} to {form(interval.high)})"
    unit = unit or form(interval.value).unit
    return Amount(text, interval.value, unit, interval.low, interval.high)


def rate(value: float) -> Amount:
    """`968`, `1,554`, `411 G`: items a second without their unit."""
    return significant(value) if value < 1e6 else si(value, "")


def _notes(found: Recommendation, shown: Sequence[Option]) -> list[str]:
    lines = ["* no other option is both faster and cheaper"]
    lines += [
        f"{o.rank}. {o.count} x {o.gpu_id}, {_source(o)}: {'; '.join(o.why)}" for o in shown[:_REASONED]
    ]
    lines += [] if found.chances else ["it is the only option"]
    for second in found.chances[:1]:
        lines.append(f"chance that 1 costs less than 2: {percent(second.probability, 0)}")
    close = [str(chance.other) for chance in found.chances if not chance.told_apart]
    if close:
        lines.append(f"options 1 and {', '.join(close)} cost the same within the uncertainty (80 %)")
    lines += [f"what would change it: {text}" for text in found.changes]
    lines += found.advice
    if found.rejected:
        # Two GPUs have the same reason where only their names in it differ.
        reasons = (r.constraint or r.reason.replace(r.gpu_id, "").split(":")[0] for r in found.rejected)
        kinds = Counter(reason.strip() for reason in reasons)
        some = "; ".join(f"{count} x {kind}" for kind, count in kinds.most_common(5))
        number = len(found.rejected)
        are = "GPU is" if number == 1 else "GPUs are"
        lines.append(f"{number} {are} left out ({some}); --rejected lists them")
    lines.append(assumed(found.need.assumptions))
    if any(option.stale for option in shown):
        lines.append("(price) is old or undated: its interval is wider, and it ranks by its upper end")
    return lines


def assumed(a: Assumptions) -> str:
    """Every assumption with the option that changes it."""
    parts = (
        f"electricity ${a.electricity_usd_per_kwh:g}/kWh (--electricity)",
        f"{a.hours_per_week:g} h a week (--hours-per-week)", f"{a.years:g} years (--years)",
        f"host ${a.host_usd:,.0f} (--host) and {a.host_w:g} W (--host-power) for each GPU",
        f"cooling x{a.cooling:g} (--cooling)",
        f"a year takes {percent(a.depreciation, 0)} of the value (--depreciation)",
        f"{percent(a.utilisation, 0)} of paid hours used (--utilisation)",
    )  # fmt: skip
    return "assumed for owning: " + ", ".join(parts)


def uses(spec: GpuSpec, found: Sequence[Use]) -> Table:
    """For whom a GPU is: one row a preset."""
    return Table(
        title=f"{spec.name}: for whom",
        columns=("use", "verdict", "speed", "basis", "by speed", "by cost", "why not"),
        rows=tuple(
            (
                f"{use.title} ({use.preset})", use.verdict,
                span(use.throughput, rate).shown(f"{span(use.throughput, rate)} {use.item}s/s")
                if use.throughput else "",
                use.basis if use.throughput else "", _place(use.by_speed), _place(use.by_cost), use.reason,
            )
            for use in found
        ),
        notes=(
            "well suited: in the first third of the GPUs that do the work, by speed or by cost; "
            "every row is one of `gpuwise choose`'s presets",
        ),
    )  # fmt: skip


def uses_document(spec: GpuSpec, found: Sequence[Use]) -> dict[str, Any]:
    """The same as data."""
    return {"gpu": spec.id, "uses": [asdict(use) for use in found]}


def _place(place: Place | None) -> str:
    return f"{place.rank} of {place.of}" if place else ""
