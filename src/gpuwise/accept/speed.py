"""Whether a card is slow: against references, and against the other cards of its host.

    slow     high end of the 95 % interval of (speed / reference)   <  1 - margin
    spread   high end of the card's own interval                    <  (1 - margin) x upper median of
             the cards of that model in the host, itself included

A whole interval must be below, so noise refuses no card. The upper median (the higher of the two in the
middle) makes the faster of two cards the measure. More than 10 C above the lower median is named, too.
Only equal questions are compared: workload, mode, precision, compilation, recipe, batch asked, version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median_high, median_low

from gpuwise.accept.card import Card, Reason, Reference
from gpuwise.accept.condition import hottest
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.stats import ratio_of
from gpuwise.units import percent

HOTTER_C = 10.0

Question = tuple[str, int | None, int]
"""Cell, batch asked for, version of the workload."""


def speeds(result: Result) -> dict[Question, Interval]:
    """Every complete speed of a result."""
    done = (m for m in result.measurements if m.status == "ok" and m.throughput is not None)
    return {question(m): m.throughput for m in done if m.throughput and m.throughput.value > 0}


def question(m: Measurement) -> Question:
    """What must be equal for two speeds to be compared."""
    return m.config.cell, m.config.batch, m.workload_version


def named(asked: Question) -> str:
    """`copy-l2:limit:fp32:eager:tuned batch 8` in a reason."""
    cell, batch, _ = asked
    words = cell.removesuffix(":tuned").replace(":", " ").replace(" limit", "").removesuffix(" eager")
    return f"{words} {batch}" if batch else words


def slow(card: Card, reference: Reference, margin: float) -> Iterator[Reason]:
    """Each speed that is below the reference's by more than the margin."""
    wanted = speeds(reference.result)
    for asked, mine in speeds(card.result).items():
        if asked not in wanted:
            continue
        found = ratio_of(wanted[asked], mine)
        if found.high < 1 - margin:
            yield Reason(
                code="slow",
                fails=reference.same_code,
                detail=f"{named(asked)} {percent(1 - found.value)} below {reference.name}",
                next_step="see heat, clocks, power limit and link above; then measure again alone",
            )


def spread(cards: Sequence[Card], margin: float) -> Mapping[str, list[Reason]]:
    """Reasons by the name of the card that is slower or hotter than the cards of its model."""
    found: dict[str, list[Reason]] = defaultdict(list)
    models = defaultdict(list)
    for card in cards:
        models[card.result.environment.device].append(card)
    for same in (same for same in models.values() if len(same) > 1):
        for name, reason in (*_slower(same, margin), *_hotter(same)):
            found[name].append(reason)
    return found


def _slower(cards: Sequence[Card], margin: float) -> Iterator[tuple[str, Reason]]:
    told = {card.name: speeds(card.result) for card in cards}
    for asked in dict.fromkeys(q for mine in told.values() for q in mine):
        rates = {name: mine[asked] for name, mine in told.items() if asked in mine}
        middle = median_high(rate.value for rate in rates.values())
        for name, rate in rates.items():
            if rate.high < (1 - margin) * middle:
                below = percent(1 - rate.value / middle)
                yield (
                    name,
                    Reason(
                        code="spread",
                        detail=f"{named(asked)} {below} below the median of the {len(rates)} cards",
                        next_step="measure again; then exchange slots: does the fault follow the card?",
                    ),
                )


def _hotter(cards: Sequence[Card]) -> Iterator[tuple[str, Reason]]:
    heats = {card.name: heat for card in cards if (heat := hottest(card.result)) is not None}
    if len(heats) < 2:
        return
    middle = median_low(heats.values())
    for name, heat in heats.items():
        if heat > middle + HOTTER_C:
            yield (
                name,
                Reason(
                    code="hot",
                    fails=False,
                    detail=f"{heat:.0f} °C, {heat - middle:.0f} above the median of the {len(heats)} cards",
                    next_step="look at its fan, airflow and seat",
                ),
            )
