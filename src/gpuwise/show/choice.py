"""A recommendation as tables: the answer in words, the options, what was left out, the assumptions.

Beside it, for whom one GPU is: each preset with a verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpuwise.facts import catalog
from gpuwise.facts.prices import STALE_DAYS, day
from gpuwise.judge.choose import phrases
from gpuwise.judge.choose.answer import LITTLE, cooled, has_no_fans, question, taken_as_asked
from gpuwise.judge.choose.candidates import by_hour, few_of, host_for
from gpuwise.judge.choose.need import USUAL_NOTE
from gpuwise.judge.choose.phrases import obtained
from gpuwise.judge.choose.speeds import BY, no_units
from gpuwise.judge.choose.verdicts import lacks
from gpuwise.model.gpu import RENTS, GpuSpec
from gpuwise.model.judgement import Assumptions, Option, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.model.result import firsts, grouped
from gpuwise.model.units import Amount, brief, percent, seconds, significant, usd
from gpuwise.show.table import Table, old_prices, span

if TYPE_CHECKING:
    from gpuwise.judge.choose.fit import Use
    from gpuwise.show.page import Figure

_SCALES = ((1.0, ""), (1e3, "1k "), (1e6, "1M "), (1e9, "1G "), (1e12, "1T "), (1e15, "1P "), (1e18, "1E "))
_ENOUGH_USD = 0.01
_CHANGES = 1  # That are named; the rest is behind the detail
# The column of what a stated latency limits.
LATE = "each after"
_MOST_WORDS = 50
# An answer has 30 lines at most, of which these are not title, head and lines that part it.
_MOST_LINES = 23
# A rejection's code as people say it.
_KINDS = {
    "budget": "over budget", "latency": "too slow for each token", "deadline": "too late",
    "power": "too many watts", "quiet": "too loud", "fp64": "slow in FP64",
    "memory": "not the memory asked for",
}  # fmt: skip
# More points hide each other.
_DRAWN = 40


def table(
    found: Recommendation, *, top: int | None, wide: bool = False, changed: Sequence[str] = (),
    why: bool = True, every: bool = False,
) -> Table:  # fmt: skip
    """The answer, then the first `top` options (all for None).

    Where not `wide`, the columns that a terminal has no room for are left out; where not `why`, each GPU has
    one row of what is bought and one of what is rented unless `every` is wanted, and reasons of others,
    chances and assumptions are left out.
    """
    need = found.need
    options = found.options if why or every else one_of_each(found)
    # Of each provider, number and GPU that was named the best row, whatever its rank; and what is there.
    named = [*firsts((o.provider, o) for o in options).values()] if len(need.providers) > 1 else []
    names = few_of(need)
    asked = [option for option in options if option.way == "have" or option.gpu_id in names]
    best = firsts(((o.gpu_id, o.count, o.way == "have"), o) for o in asked)
    named = [*dict.fromkeys((*named, *best.values()))]
    rest = len(options) if top is None else max(0, top - len(named))
    shown = [*named, *[o for o in options if o not in named][:rest]][:top]
    shown, words = sorted(shown, key=lambda option: option.rank), said(found)
    notes = _notes(found, shown, why=why)
    while not (top is None or why) and len(shown) > 1 and len((*words, *shown, *notes)) > _MOST_LINES:
        shown.remove(([option for option in shown[1:] if option not in named] or shown)[-1])
        notes = _notes(found, shown, why=why)
    first, scale, many = _scale(found)
    each, speed, hourly = f"cost of {many}", f"{found.item}s/s", "cost of an hour"
    fastest, money, unit_s = 1.0, usd, speed
    if mix := bool(found.options[0].parts):  # It has no item of its own, only how two GPUs compare
        each, speed, money, unit_s = "its cost, of the first", "speed, of the first", significant, ""
        fastest, scale = found.options[0].throughput.value, 1 / (first or 1.0)
    # Who is served as quickly as was asked is served no better by a GPU that could do more.
    hours = by_hour(need)
    rows = []
    for place, option in enumerate(shown, start=1):
        spare, pays, joules = option.memory_spare, option.break_even_h, option.energy_j_per_item
        kwh, cost = joules * scale / 3.6e6 if joules and not mix else None, option.cost_per_item_usd
        price = ""
        if option.way != "have" and option.price_usd is not None:
            # With the month in which it was seen; in brackets where it is old.
            price, rent = usd(option.price_usd.value), "/h" if option.way in RENTS else ""
            text = f"{price}{rent} {option.seen_on[:7] or 'undated'}"
            price = price.shown(f"({text})" if _is_old(found, option) else text)
        rows.append({
            # Where one row is shown for several, the list is counted as it is seen.
            "": f"{option.rank if why else place}{'*' if option.frontier else ' '}",
            "GPUs": f"{option.count} x {option.gpu_id}{option.precision and f' ({option.precision})'}",
            "from": _source(option),
            "price": price,
            speed: span(option.throughput.times(1 / fastest), lambda v: Amount(brief(v), v, unit_s)),
            "yours": f"{significant(option.speedup)} x" if option.speedup else "",
            LATE: seconds(option.latency_s) if option.latency_s and USUAL_NOTE not in need.notes else "",
            "known by": option.basis,
            "time": seconds(option.time_s.value) if option.time_s else "",
            "cost": span(option.cost_usd, usd) if option.cost_usd else "",
            each: span(cost.times(scale), money) if cost else "",
            # The price of an hour does not depend on the speed, so it is shown without an interval.
            hourly: usd(option.per_hour_usd) if option.per_hour_usd and hours else "",
            "energy": Amount(f"{significant(kwh, 2)} kWh", kwh, "kWh") if kwh is not None else "",
            "memory free": percent(max(0.0, spare), 0) if spare is not None else "",
            "pays from": Amount(f"{pays:,.0f} h", pays, "h") if pays is not None else "",
        })  # fmt: skip
    # Without an amount of work the cost of an item is the cost.
    left = {"memory free", "pays from", *([each] if need.items is not None or hours else [])}
    left |= set() if need.goal == "energy" else {"energy"}
    made = Table.of(
        rows,
        title=f"{question(need)}, prices of {found.prices_on or found.made_on}",
        before=(*changed, *words),
        numeric=frozenset(rows[0]) - {"GPUs", "from", "known by"},
        notes=tuple(notes),
        dim=frozenset(place for place, option in enumerate(shown) if _is_old(found, option)),
        spare=frozenset({"price", "known by"}),
    )
    # A terminal of 100 columns holds what decides; files hold all.
    return made if wide else made.without(left)


def said(found: Recommendation) -> tuple[str, ...]:
    """The answer in plain sentences: the pick, why, the runner-up, and what would change it."""
    if not found.answer:  # a recommendation of an earlier version
        return ()
    first, every = found.options[0], taken_as_asked(found.need, found.item).removeprefix("Taken: ")
    taken = "; ".join(part for part in every.split("; ") if part not in found.answer)
    known = f"{taken}; {'; '.join(found.unknown)}"
    unsaid = [word for word in found.need.ignored if word not in found.answer and not _is_in(word, known)]
    return (
        *_lines(found.answer),
        *([f"Not taken into account: {', '.join(unsaid)}"] if unsaid else []),
        *(f"- {reason}" for reason in found.reasons),
        *([f"Runner-up: {found.runner_up}"] if found.runner_up else []),
        *(f"Would change it: {text}" for text in found.changes[:_CHANGES]),
        *([f"Taken: {taken}"] if taken else []),
        *old_prices(_days(found, found.prices_on), _days(found, first.seen_on) if first.price_usd else 0),
    )


def _is_in(unread: str, taken: str) -> bool:
    """Whether all that an unread phrase says stands in one part of what was taken: "30 frames per second" in
    "30 frames a second in all"."""
    words = set(re.findall(r"\d[\d.,]*\d|\d|[^\W\d_]{5,}", unread.casefold()))
    parts = (re.findall(r"\d[\d.,]*\d|\d|[^\W\d_]{5,}", part.casefold()) for part in taken.split("; "))
    return any(word.isalpha() for word in words) and any(words <= set(part) for part in parts)


def _lines(answer: str) -> list[str]:
    """An answer in lines of whole sentences, the first short enough to be read at a glance."""
    lines = [""]
    for sentence in re.split(r"(?<=[.;]) (?=[A-Z$])", answer):
        whole = f"{lines[-1]} {sentence}".strip()
        lines = [*lines[:-1], whole] if len(whole.split()) <= _MOST_WORDS else [*lines, sentence]
    return list(filter(None, lines))


def one_of_each(found: Recommendation) -> list[Option]:
    """The best number of each GPU, rented and owned apart; each kind of rent and provider that was named."""
    need, best = found.need, dict[tuple[object, ...], Option]()
    kinds = any(getattr(need, kind) for kind in ("spot", "community", "reserved", "serverless"))
    for option in found.options:
        way = option.way if kinds else option.way in RENTS
        provider = option.provider if len(need.providers) > 1 or need.asks == "provider" else ""
        number = option.count if (option.gpu_id, option.count) in need.sets else 0
        best.setdefault((option.gpu_id, number, way, provider), option)
    return list(best.values())


def rejections(found: Recommendation) -> Table:
    """Every GPU without an option, and why."""
    rows = tuple((gpu, why.detail) for gpu, why in found.rejected.items())
    return Table(title="Left out", columns=("GPU", "why"), rows=rows)


def whole(found: Recommendation, changed: Sequence[str] = ()) -> Table:
    """All options in one table, with the GPUs left out in the notes; for files."""
    made = table(found, top=None, wide=True, changed=changed)
    left = tuple(f"left out: {gpu}: {why.detail}" for gpu, why in found.rejected.items())
    return replace(made, notes=(*made.notes, *left), dim=frozenset(), spare=frozenset())


def _scale(found: Recommendation) -> tuple[float, float, str]:
    """The cost of an item by the first option, and of how many items costs are shown: at least a cent's."""
    least = found.options[0].cost_per_item_usd
    first = least.value if least else _ENOUGH_USD / 1e6
    scale, unit = next((one for one in _SCALES if first * one[0] >= _ENOUGH_USD), _SCALES[-1])
    return first, scale, f"{unit}{found.item}s"


def figure(found: Recommendation) -> Figure | None:
    """Cost against time (speed where no amount was given), with those that none beats in both marked."""
    from gpuwise.show.charts import tradeoff
    from gpuwise.show.gpus import short
    from gpuwise.show.page import Figure

    amount = bool(found.need.items)
    points, rows = [], []
    _, scale, many = _scale(found)
    for o in found.options[:_DRAWN]:
        each = o.cost_per_item_usd
        cost = o.cost_usd if amount else each and each.times(scale)
        if cost is not None and cost.value > 0:
            hours = o.time_s.value / 3600 if o.time_s else o.throughput.value
            name = short(catalog.get(o.gpu_id))
            points.append((f"{o.count} x {name}" if o.count > 1 else name, hours, cost.value, o.frontier))
            rows.append({
                "option": f"{o.count} x {o.gpu_id}", "of": _source(o),
                "hours" if amount else f"{found.item}s/s": Amount(significant(hours), hours),
                "cost" if amount else f"cost of {many}": usd(cost.value),
                "no other beats it in both": "yes" if o.frontier else "",
            })  # fmt: skip
    if len(points) < 2:
        return None
    x, y = ("hours of work", "USD of the work")
    if not amount:
        x, y = (f"{found.item}s a second", f"USD of {many}")
    over = "time" if amount else "speed"
    caption = f"Cost against {over}: the line joins the options that no other beats in both."
    return Figure(charts=(tradeoff(points, x=x, y=y),), table=Table.of(rows), caption=caption)


def _source(option: Option) -> str:
    if option.last_usd:
        # Of all of them, as any other price of a row.
        return f"last {usd(option.last_usd * option.count)} {option.seen_on[:7]}"
    return re.sub("^bought", "buy", obtained(option))


def _days(found: Recommendation, seen_on: str) -> int:
    """How long before the recommendation a price, or a list, was seen."""
    return (day(found.made_on) - day(seen_on or found.made_on)).days


def _is_old(found: Recommendation, option: Option) -> bool:
    """Whether a price was old in its list, or is today."""
    return bool(option.price_usd) and (option.stale or _days(found, option.seen_on) > STALE_DAYS)


def _notes(found: Recommendation, shown: Sequence[Option], *, why: bool) -> list[str]:
    best = any(option.frontier for option in shown)
    lines = ["* no other option is both faster and cheaper"] * best
    if any(_is_old(found, option) for option in shown):
        upper = ", and it ranks by its upper end" * any(option.stale for option in shown)
        lines.append(f"(price) is more than {STALE_DAYS} days old: its interval is wider{upper}")
    bare = [o for o in shown if o.outlay_usd and has_no_fans(catalog.get(o.gpu_id))]
    served = [o.gpu_id for o in bare if o.host_usd and "server" in host_for(found.need, o.gpu_id, o.count)[0]]
    no_fans = [o.gpu_id for o in bare if o.gpu_id not in served]
    checked = found.need.least_gb and not found.need.task  # A served model's batch fills it
    tight = [o.gpu_id for o in shown if checked and (o.memory_spare or 0.0) < LITTLE]
    may_not = f"less than {percent(LITTLE, 0)} of the memory stays free, so the work may not fit"
    marked = {"without fans, for a server's airflow or a fan put on it": no_fans,
              "without fans, in the server that is counted": served, may_not: tight}  # fmt: skip
    lines += [f"{what}: {', '.join(dict.fromkeys(gpus))}" for what, gpus in marked.items() if gpus]
    no_price = [option.way == "unpriced" for option in shown]
    if len({*no_price}) > 1 and no_price == sorted(no_price):
        lines.append("what has no fresh price stands behind, at the last one that was seen")
    kept = ((o.gpu_id, Precision(o.precision or found.need.precision)) for o in shown)
    alike = grouped((form, gpu) for gpu, form in kept if no_units(gpu, form))
    for form, gpus in alike.items() if found.need.task else ():
        lines.append(f"{', '.join(dict.fromkeys(gpus))}: no units for {form}: {phrases.INSTEAD[form]}")
    by = grouped((why, o.gpu_id) for o in shown[1:] for why in o.why if why.startswith(BY))
    lines += [f"{', '.join(dict.fromkeys(gpus))}: {why}" for why, gpus in by.items()]
    lines += _left_out(found)
    lines += [f"Not known: {'; '.join(found.unknown)}"] * bool(found.unknown)
    refused = (*few_of(found.need), *found.need.have) if found.refused else ()
    old = [*filter(None, map(lacks, dict.fromkeys((*(option.gpu_id for option in shown), *refused))))]
    lines += [f"Old generation: {'; '.join(old)}"] * bool(old)
    stated = found.need.acquire != "rent" and found.need.assumptions != Assumptions()
    if any(o.outlay_usd for o in shown) or why or stated:
        lines.append(assumed(found.need.assumptions, service=found.need.period_s is not None))
    if not why:
        return lines
    lines += [f"{o.rank}. {o.count} x {o.gpu_id}, {_source(o)}: {'; '.join(o.why)}" for o in shown]
    lines += [] if len(found.options) > 1 else ["it is the only option"]
    for second in found.chances[:1]:
        lines.append(f"chance that 1 costs less than 2: {percent(second.probability, 0)}")
    ranks = {option.rank for option in shown}
    close = [str(each.other) for each in found.chances if each.other in ranks and not each.told_apart]
    if close:
        lines.append(f"options 1 and {', '.join(close)} cost the same within the uncertainty (80 %)")
    lines += [f"what would change it: {text}" for text in found.changes[_CHANGES:]]
    return [*lines, *found.advice]


def _left_out(found: Recommendation) -> Iterator[str]:
    """What was named and refused, each with why; and of how many others for which reasons."""
    yield from (f"Refused: {each}" for each in found.refused)
    named = {gpu for each in found.refused for gpu in re.findall(r"[\w.-]+", each)}
    left = {gpu: why for gpu, why in found.rejected.items() if gpu not in named}
    if not left:
        return
    # Two GPUs have the same reason where only their names in it differ.
    reasons = (_KINDS.get(w.code) or w.detail.replace(f" {g}", "").split(":")[0] for g, w in left.items())
    kinds = "; ".join(f"{count} x {kind.strip()}" for kind, count in Counter(reasons).most_common(4))
    yield f"Refused: {len(left)} {'other' if named else 'GPU'}{'s' * (len(left) > 1)} ({kinds})"


def assumed(a: Assumptions, *, service: bool = False) -> str:
    """The assumptions behind the cost of owning; a service runs around the clock."""
    host = "host by class" if a.host_usd is None else f"host ${a.host_usd:,.0f} for each GPU"
    parts = (
        f"electricity ${a.electricity_usd_per_kwh:.3g}/kWh",
        "running around the clock"
        if service
        else f"{a.hours_per_week:g} h of use a week" + ", idle hours not counted" * (a.hours_per_week < 168),
        a.owned_for,
        host if a.host_w is None else f"{host}, {a.host_w:g} W for each GPU",
        f"cooling x{a.cooling:g}",
        f"a year takes {percent(a.depreciation, 0)} of the value",
        f"{percent(a.utilisation, 0)} of paid hours used",
    )
    return "assumed for owning: " + ", ".join(parts)


def uses(spec: GpuSpec, found: Sequence[Use]) -> Table:
    """For whom a GPU is: its main figures, and one row a preset."""
    from gpuwise.show.gpus import peak_name, peak_value, shown

    rows = []
    for use in found:
        speed = span(use.throughput, brief) if use.throughput else None
        rows.append((
            f"{use.title} ({use.preset})", use.verdict,
            speed.shown(f"{speed} {use.item}s/s") if speed else "", use.example,
            use.basis if speed else "", use.reason,
        ))  # fmt: skip
    unknown = dict.fromkeys(use.no_speed for use in found if use.no_speed)
    main = "memory_bytes", "memory_type", "memory_bytes_per_s", "power_w", "form", "architecture"
    stated = [str(shown(spec.facts[field])) for field in main if field in spec.facts]
    peaks = (peak for peak in spec.peaks if peak.format in ("bf16", "fp8", "fp64") and not peak.sparse)
    stated += [cooled(spec)] * (spec.text("form") == "pcie")
    stated += [f"{peak_value(peak)} in {peak_name(peak)}" for peak in peaks]
    return Table(
        title=f"{spec.name}: for whom",
        before=(" · ".join(filter(None, stated)),),
        columns=("use", "verdict", "speed", "of", "basis", "why not, or what it lacks"),
        rows=tuple(rows),
        notes=(
            "well suited: it has what the use needs, whatever other GPUs have",
            "of several workloads the speed is the geometric mean",
            *(f"without a speed: {why}" for why in unknown),
        ),
    )
