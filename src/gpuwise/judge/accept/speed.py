"""The verdict on the cards of a host: what speaks against each by itself, and whether it is slow.

    slow     high end of the 95 % interval of (speed / reference)   <  1 - margin
    spread   high end of the card's own interval                    <  (1 - margin) x upper median of
             the cards of that model in the host, itself included

A whole interval must be below, so noise refuses no card, and the margin is never less than what good cards
of the kind are known to differ by. The upper median (the higher of the two in the middle) makes the faster of
two cards the measure. More than 10 C above the lower median is named, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median_high, median_low

from gpuwise.judge.accept import condition
from gpuwise.judge.accept.card import (
    Acceptance,
    Judged,
    Lookup,
    Reference,
    TestedCard,
    fastest,
    named,
    question,
    speed_of,
    speeds,
)
from gpuwise.judge.accept.reference import allowed
from gpuwise.model.issue import Issue
from gpuwise.model.units import gibibytes, percent
from gpuwise.stats import ratio_of

# Cards of one airflow differ by some degrees; by more, one of them gets less of it.
HOTTER_C = 10.0


def judge(cards: Sequence[TestedCard], lookup: Lookup, margin: float) -> Acceptance:
    """Judge each card by itself, against its references and against the others of the host.

    `margin` is the share by which a speed may be below what it is compared with.
    """
    unlike = spread(cards, margin)
    references = {card.name: lookup(card.result) for card in cards}
    asked = Counter((card.result.environment.device, q) for card in cards for q in speeds(card.result))
    judged = []
    for card in cards:
        found = (
            *condition.issues(card),
            *(issue for known in references[card.name] for issue in slow(card, known, margin)),
            *held_back(card, margin),
            *unlike.get(card.name, ()),
        )
        known = {q for reference in references[card.name] for q in speeds(reference.result)}
        compared = sum(
            q in known or asked[card.result.environment.device, q] > 1 for q in speeds(card.result)
        )
        judged.append(Judged(card=card, issues=found, compared=compared))
    return Acceptance(
        cards=tuple(judged),
        host=mixed(cards),
        margin=margin,
        references=tuple(dict.fromkeys(each.name for known in references.values() for each in known)),
    )


def mixed(cards: Sequence[TestedCard]) -> tuple[Issue, ...]:
    """An issue where name, memory or power limit differ, which the buyer of equal cards expects to agree."""
    models: Counter[str] = Counter()
    for card in cards:
        found = card.result.environment
        memory = f" {gibibytes(found.device_memory_bytes)}" if found.device_memory_bytes else ""
        watts = f" {found.power_limit_default_w:.0f} W" if found.power_limit_default_w else ""
        models[f"{found.device}{memory}{watts}"] += 1
    if len(models) < 2:
        return ()
    listed = ", ".join(f"{count} x {name}" for name, count in models.most_common())
    return (
        Issue.invalid(
            "mixed",
            f"different models in one host: {listed}",
            "ask for equal cards: together they run at the pace of the slowest",
        ),
    )


def slow(card: TestedCard, reference: Reference, margin: float) -> Iterator[Issue]:
    """Each speed that is below the reference's by more than the margin."""
    wanted, gpu_id = speeds(reference.result), card.result.environment.gpu_id
    for asked, mine in speeds(card.result).items():
        if asked not in wanted:
            continue
        found = ratio_of(wanted[asked], mine)
        if found.high < 1 - allowed(gpu_id, asked, margin):
            yield Issue(
                code="slow",
                severity="invalid" if reference.same_code else "warning",
                detail=f"{named(asked)} {percent(1 - found.value)} below {reference.name}",
                fix="see heat, clocks, power limit and link above; then measure again alone",
            )


def held_back(card: TestedCard, margin: float) -> Iterator[Issue]:
    """Limits whose median is below their fastest window by more than the margin. That is how large cards run;
    of a processor, where other programs do it, it is not worth a word."""
    for m in card.result.measurements if card.on_gpu else ():
        best, usual = speed_of(m), m.throughput
        if m.status != "ok" or not fastest(m) or best is None or usual is None:
            continue
        if usual.value < (1 - margin) * best.value:
            yield Issue.info(
                "power-cap",
                f"{named(question(m))} fell {percent(1 - usual.value / best.value)} below its fastest "
                "burst, by which it is judged: clocks are lowered under the power limit",
                "nothing: what it sustains is judged by training and inference",
            )


def spread(cards: Sequence[TestedCard], margin: float) -> Mapping[str, list[Issue]]:
    """Issues by the name of the card that is slower or hotter than the cards of its model."""
    found: dict[str, list[Issue]] = defaultdict(list)
    models = defaultdict(list)
    for card in cards:
        models[card.result.environment.device].append(card)
    for same in (same for same in models.values() if len(same) > 1):
        each = {card.name: speeds(card.result) for card in same}
        gpu_id = same[0].result.environment.gpu_id
        for asked in dict.fromkeys(q for mine in each.values() for q in mine):
            rates = {name: mine[asked] for name, mine in each.items() if asked in mine}
            # Of two cards the faster is the measure, or neither could ever be slow.
            middle = median_high(rate.value for rate in rates.values())
            for name, rate in rates.items():
                if rate.high < (1 - allowed(gpu_id, asked, margin)) * middle:
                    below = percent(1 - rate.value / middle)
                    issue = Issue.invalid(
                        "spread",
                        f"{named(asked)} {below} below the median of the {len(rates)} cards",
                        "measure again; then exchange slots: does the fault follow the card?",
                    )
                    found[name].append(issue)
        heats = {card.name: heat for card in same if (heat := condition.hottest(card.result)) is not None}
        cool = median_low(heats.values()) if heats else 0.0
        for name, heat in heats.items():
            if heat > cool + HOTTER_C:
                issue = Issue.warning(
                    "hot",
                    f"{heat:.0f} °C, {heat - cool:.0f} above the median of the {len(heats)} cards",
                    "look at its fan, airflow and seat",
                )
                found[name].append(issue)
    return found
