"""When to choose which card: every line is the winner of one comparison above, or says it is even."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuwise.model.gpu import GpuSpec
from gpuwise.show import rents
from gpuwise.show.article.duel import EVEN, Duel, short
from gpuwise.show.page import Section
from gpuwise.show.table import Table
from gpuwise.show.work import KINDS, of_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One reason to choose; `winner` None where both are as good."""

    need: str
    winner: GpuSpec | None
    why: str
    ground: str
    """What it rests on: specification, forecast, measured, offers."""


def criteria(duel: Duel) -> tuple[Criterion, ...]:
    """Every reason that the facts give."""
    return (*_by_specification(duel), *_by_fit(duel), *_by_forecast(duel), *_by_price(duel))


def choice(duel: Duel) -> Section:
    """Lists for each card and the decision table."""
    found = criteria(duel)
    rows = tuple((c.need, short(c.winner) if c.winner else "either", c.why, c.ground) for c in found)
    return Section(
        id="choice",
        title="When to choose which",
        points=tuple(_reasons(spec, found) for spec in duel.both),
        tables=(
            Table(title="Decision table", columns=("what you need", "choose", "why", "rests on"), rows=rows),
        ),
    )


def _reasons(spec: GpuSpec, found: tuple[Criterion, ...]) -> str:
    needs = [c.need for c in found if c.winner is spec]
    if not needs:
        return f"The {short(spec)} is ahead in nothing that is compared here."
    return f"Choose the {short(spec)} for: {'; '.join(needs)}."


def verdict(duel: Duel) -> str:
    """How many comparisons each wins, in a sentence."""
    found = criteria(duel)
    won = {spec.id: sum(c.winner is spec for c in found) for spec in duel.both}
    even = sum(c.winner is None for c in found)
    parts = [f"the {short(spec)} is ahead in {won[spec.id]}" for spec in duel.both]
    return f"Of {len(found)} comparisons {' and '.join(parts)}; {even} are even within {EVEN:.0%} or open."


_LARGER = (
    ("memory_bytes", "models and batches that need memory", "more memory"),
    ("memory_bytes_per_s", "work that moves more than it computes", "more memory bandwidth"),
    ("peak:fp16", "16-bit training and prompt processing", "a higher 16-bit matrix peak"),
    ("peak:fp32", "real fp32", "a higher fp32 peak"),
    ("peak:fp64", "double precision", "a higher fp64 peak"),
    ("link_bytes_per_s", "several GPUs that exchange", "a faster link"),
)


def _by_specification(duel: Duel) -> Iterator[Criterion]:
    for name, need, more in _LARGER:
        found = duel.quantity(name)
        if found is not None:
            why = "as good as equal" if found.even else f"{more}, {found.factor:.2f} times"
            yield Criterion(
                need=need, winner=None if found.even else found.winner, why=why, ground="specification"
            )
    power = duel.quantity("power_w")
    if power is not None and not power.even:
        lower = duel.first if power.winner is duel.second else duel.second
        yield Criterion(
            need="little power and heat",
            winner=lower,
            why=f"{1 / power.factor:.2f} times the board power",
            ground="specification",
        )
    yield from _mobility(duel)


def _mobility(duel: Duel) -> Iterator[Criterion]:
    forms = [spec.text("form") for spec in duel.both]
    if None not in forms and (forms[0] == "laptop") != (forms[1] == "laptop"):
        mobile = duel.first if forms[0] == "laptop" else duel.second
        yield Criterion(
            need="work on the move", winner=mobile, why="it is built into laptops", ground="specification"
        )


def _by_fit(duel: Duel) -> Iterator[Criterion]:
    for kind in KINDS:
        two = [of_kind(kind, spec.id, duel.forecasts) for spec in duel.both]
        if two[0] is None or two[1] is None:
            continue
        fits = [p is not None and p.throughput is not None for p in two]
        refused = two[0] if not fits[0] else two[1]
        if fits[0] != fits[1] and refused is not None and refused.memory_bytes is not None:
            winner = duel.first if fits[0] else duel.second
            yield Criterion(
                need=kind.title,
                winner=winner,
                why="only there it fits, as run in the table above",
                ground="forecast",
            )


def _by_forecast(duel: Duel) -> Iterator[Criterion]:
    """A winner only where the whole interval is on one side of even."""
    for kind in KINDS:
        found = duel.forecast_ratio(kind)
        if found is None:
            continue
        faster = duel.second if found.value > 1 else duel.first
        sure = found.low > 1 or found.high < 1
        times = f"{max(found.value, 1 / found.value):.2f} times the speed"
        why = times if sure else f"{short(faster)} {times}, but the interval holds even"
        yield Criterion(need=kind.title, winner=faster if sure else None, why=why, ground="forecast, 80 %")


def _by_price(duel: Duel) -> Iterator[Criterion]:
    hourly = [rents.hourly(duel.offers, spec.id) for spec in duel.both]
    if not hourly[0] or not hourly[1]:
        return
    cheaper = duel.first if hourly[0] < hourly[1] else duel.second
    share = min(hourly[0], hourly[1]) / max(hourly[0], hourly[1])
    winner = None if share > 1 - EVEN else cheaper
    yield Criterion(
        need="the lowest rent of an hour",
        winner=winner,
        why=f"{share:.2f} times the median rent",
        ground="dated offers",
    )
