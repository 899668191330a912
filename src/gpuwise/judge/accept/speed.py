"""Whether a card is slow: against references, and against the other cards of its host.

    slow     high end of the 95 % interval of (speed / reference)   <  1 - margin
    spread   high end of the card's own interval                    <  (1 - margin) x upper median of
             the cards of that model in the host, itself included

A whole interval must be below, so noise refuses no card, and the margin is never less than what good cards
of the kind are known to differ by. The upper median (the higher of the two in the middle) makes the faster of
two cards the measure. More than 10 C above the lower median is named, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median_high, median_low

from gpuwise.judge.accept.card import Card, Reason, Reference
from gpuwise.judge.accept.condition import hottest
from gpuwise.judge.accept.question import bursts, named, question, speed_of, speeds
from gpuwise.judge.accept.reach import allowed
from gpuwise.model.units import percent
from gpuwise.stats import ratio_of

HOTTER_C = 10.0


def slow(card: Card, reference: Reference, margin: float) -> Iterator[Reason]:
    """Each speed that is below the reference's by more than the margin."""
    wanted, gpu_id = speeds(reference.result), card.result.environment.gpu_id
    for asked, mine in speeds(card.result).items():
        if asked not in wanted:
            continue
        found = ratio_of(wanted[asked], mine)
        if found.high < 1 - allowed(gpu_id, asked, margin):
            yield Reason(
                code="slow",
                fails=reference.same_code,
                detail=f"{named(asked)} {percent(1 - found.value)} below {reference.name}",
                next_step="see heat, clocks, power limit and link above; then measure again alone",
            )


def held_back(card: Card, margin: float) -> Iterator[Reason]:
    """Limits whose median says less than their fastest window by more than the margin: no failure, and of
    a processor, where other programs do that, no word."""
    if not card.on_gpu:
        return
    for m in (m for m in card.result.measurements if m.status == "ok" and bursts(m)):
        best, usual = speed_of(m), m.throughput
        if best is not None and usual is not None and usual.value < (1 - margin) * best.value:
            yield Reason(
                code="power-cap",
                fails=False,
                detail=f"{named(question(m))} fell {percent(1 - usual.value / best.value)} below its fastest "
                "burst, by which it is judged: clocks are lowered under the power limit",
                next_step="nothing: what it sustains is judged by training and inference",
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
    gpu_id = cards[0].result.environment.gpu_id
    for asked in dict.fromkeys(q for mine in told.values() for q in mine):
        rates = {name: mine[asked] for name, mine in told.items() if asked in mine}
        middle = median_high(rate.value for rate in rates.values())
        for name, rate in rates.items():
            if rate.high < (1 - allowed(gpu_id, asked, margin)) * middle:
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
