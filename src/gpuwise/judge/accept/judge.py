"""The verdict on the cards of a host: pass where nothing that fails was found. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpuwise.judge.accept import condition, speed
from gpuwise.judge.accept.card import Acceptance, Card, Judged, Lookup, Reason
from gpuwise.model.units import gibibytes


def judge(cards: Sequence[Card], lookup: Lookup, margin: float) -> Acceptance:
    """Judge each card by itself, against its references and against the others of the host.

    `margin` is the share by which a speed may be below what it is held against.
    """
    unlike = speed.spread(cards, margin)
    references = {card.name: lookup(card.result) for card in cards}
    return Acceptance(
        cards=tuple(
            Judged(
                card=card,
                reasons=(
                    *condition.reasons(card),
                    *(r for known in references[card.name] for r in speed.slow(card, known, margin)),
                    *speed.held_back(card, margin),
                    *unlike.get(card.name, ()),
                ),
            )
            for card in cards
        ),
        host=tuple(_mixed(cards)),
        margin=margin,
        references=tuple(dict.fromkeys(each.name for known in references.values() for each in known)),
    )


def _mixed(cards: Sequence[Card]) -> Iterator[Reason]:
    models = Counter(_model(card) for card in cards)
    if len(models) > 1:
        listed = ", ".join(f"{count} x {name}" for name, count in models.most_common())
        yield Reason(
            code="mixed",
            detail=f"different models in one host: {listed}",
            next_step="ask for equal cards: together they run at the pace of the slowest",
        )


def _model(card: Card) -> str:
    """Name, memory and power limit by default: what the buyer of equal cards expects to be equal."""
    found = card.result.environment
    memory = f" {gibibytes(found.device_memory_bytes)}" if found.device_memory_bytes else ""
    watts = f" {found.power_limit_default_w:.0f} W" if found.power_limit_default_w else ""
    return f"{found.device}{memory}{watts}"
