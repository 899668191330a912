"""All sections of an article in their order."""

from __future__ import annotations

from gpuwise.show.article.choice import choice, verdict
from gpuwise.show.article.costs import costs, efficiency
from gpuwise.show.article.differences import differences, identity, specifications, times
from gpuwise.show.article.duel import Duel, short
from gpuwise.show.article.performance import forecasts, performance
from gpuwise.show.article.several import several
from gpuwise.show.page import Page, Section


def article(duel: Duel) -> Page:
    """The head-to-head; sections that have nothing to say are left out."""
    sections = (
        overview(duel),
        specifications(duel),
        differences(duel),
        performance(duel),
        forecasts(duel),
        several(duel),
        efficiency(duel),
        costs(duel),
        choice(duel),
        _method(),
    )
    return Page(
        title=f"{short(duel.first)} against {short(duel.second)} for deep learning",
        subtitle=f"Made by gpuwise from cited facts on {duel.today.isoformat()}",
        summary=_summary(duel),
        sections=tuple(section for section in sections if section.says_something),
        sources=duel.cited.sources,
        made_on=duel.today.isoformat(),
    )


def overview(duel: Duel) -> Section:
    """What each card is, in a sentence."""
    return Section(
        id="cards", title="The two cards", points=tuple(identity(duel, spec) for spec in duel.both)
    )


def _summary(duel: Duel) -> tuple[str, ...]:
    lines = []
    for name, title in (
        ("memory_bytes", "Memory"),
        ("memory_bytes_per_s", "Memory bandwidth"),
        ("peak:fp16", "16-bit matrix peak"),
        ("power_w", "Board power"),
    ):
        found = duel.quantity(name)
        if found is not None:
            lines.append(f"{title}: {found.told()}{times(found)}.")
    return (*lines, verdict(duel))


def _method() -> Section:
    return Section(
        id="method",
        title="How this was made",
        text=(
            "Every value of the tables carries the source that states it or says what it is computed from. "
            "Ratios and orders are computed; figures of different origin are never put into one ratio. "
            "Published figures that break a check of plausibility are left out. `gpuwise audit FILE` holds "
            "every line of this page against catalog, offers and physics again.",
        ),
    )
