"""Many hosts at once, from files alone: which cards fail, and which are unlike the rest of their model.

Among the cards of one model that answered one question, x is the throughput of one and m their median.
Its distance is counted in robust standard deviations, the modified z-score of Iglewicz and Hoaglin (How to
Detect and Handle Outliers, 1993), which up to half of the cards cannot distort:

    z = (x - m) / s        s = max(1.4826 * median(|x - m|), 0.02 * m / 3.5)        outlier where |z| > 3.5

1.4826 makes the median deviation the standard deviation of a normal distribution. The floor under s says
that less than 2 % from the median is nobody's fault, because nominally identical runs differ by as much.
Fewer than five cards show no outlier. A card more than the margin below m is refused, outlier or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gpuwise.judge.accept.bundle import LOOSE, Host
from gpuwise.judge.accept.card import (
    Acceptance,
    Key,
    Lookup,
    Outcome,
    allowed,
    named,
    question,
    speeds,
    together,
)
from gpuwise.judge.accept.judging import judge
from gpuwise.model.result import Interval, Issue
from gpuwise.model.units import percent

# The head of the file says what these are, and whose.
OUTLIER, NORMAL, SAME = 3.5, 1.4826, 0.02
# With fewer cards, the median deviation says nothing.
FEWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A speed that is unlike those of the same model."""

    host: str
    card: str
    device: str
    question: str
    item: str
    value: float
    median: float
    z: float
    outlier: bool  # By z; else it is only below the margin
    low: bool  # More than the margin below the median


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One question over all cards of one model."""

    device: str
    question: str
    item: str
    cards: int
    median: float
    deviation: float  # Robust standard deviation, as a share of the median
    least: float
    most: float
    outliers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """One host: how many of its cards pass, and the slowest speed as a share of its model's median."""

    host: str
    outcome: Outcome  # Also of its links, and of what its cards do together
    devices: tuple[str, ...]
    cards: int
    passed: int
    slowest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The verdict on all hosts."""

    hosts: tuple[tuple[str, Acceptance], ...]
    host_rows: tuple[HostRow, ...]  # Hosts that do not pass first, the slowest of them first
    model_rows: tuple[ModelRow, ...]
    deviations: tuple[Deviation, ...]  # The slowest first
    skipped: tuple[tuple[str, str], ...]  # (file, why it was not read)
    missing: tuple[tuple[str, str], ...] = ()  # (host that did not answer, why)
    margin: float

    @property
    def passed(self) -> bool:
        """No host fails."""
        return all(acceptance.passed for _, acceptance in self.hosts)

    @property
    def outcome(self) -> Outcome:
        """That of all hosts; one whose bundle cannot be read is not judged, as one that did not answer."""
        outcomes = [acceptance.outcome for _, acceptance in self.hosts]
        if self.missing or any(file.endswith(".zip") for file, _ in self.skipped):
            outcomes.append("not judged")
        return together(self.passed, outcomes)


def summarise(
    hosts: Sequence[Host], skipped: tuple[tuple[str, str], ...], lookup: Lookup, margin: float,
    missing: Mapping[str, str] | None = None,
) -> Fleet:  # fmt: skip
    """Judge every host, then every speed against all cards of its model."""
    deviations, model_rows, shares = compared(hosts, margin)
    shared = {(row.device, row.question) for row in model_rows if row.cards > 1}
    several = {(d.host, d.card) for d in deviations if (d.device, d.question) in shared}
    acceptances = []
    for host in hosts:
        acceptance = _judged(host, lookup, margin, [d for d in deviations if d.host == host.name])
        # Cards of the same model elsewhere are something to compare with, too.
        cards = tuple(
            replace(judged, compared=judged.compared + ((host.name, judged.card.name) in several))
            for judged in acceptance.cards
        )
        acceptances.append((host.name, replace(acceptance, cards=cards)))
    rows = [
        HostRow(
            host=name,
            outcome=acceptance.outcome,
            devices=tuple(dict.fromkeys(j.card.result.environment.device for j in acceptance.cards)),
            cards=len(acceptance.cards),
            passed=sum(j.outcome == "pass" for j in acceptance.cards),
            slowest=shares.get(name),
        )
        for name, acceptance in acceptances
        if acceptance.cards
    ]
    rows.sort(key=lambda row: (row.outcome == "pass", row.slowest or 0.0))
    listed = tuple(d for d in deviations if d.outlier or d.low)
    return Fleet(
        hosts=tuple(acceptances), host_rows=tuple(rows), model_rows=model_rows,
        deviations=listed, skipped=skipped, margin=margin, missing=tuple((missing or {}).items()),
    )  # fmt: skip


def compared(
    hosts: Sequence[Host], margin: float
) -> tuple[tuple[Deviation, ...], tuple[ModelRow, ...], dict[str, float]]:
    """Every speed against those of its model, the slowest first; a row for each model and question; and by
    host the least share of a model's median."""
    groups: dict[tuple[str, Key], list[tuple[str, str, str, Interval, float]]] = defaultdict(list)
    for host in hosts:
        for card in (*host.cards, *host.common):
            items = {question(m): m.item for m in card.result.measurements}
            environment = card.result.environment
            for key, speed in speeds(card.result).items():
                wide = allowed(environment.gpu_id, key, margin)
                groups[environment.device, key].append((host.name, card.name, items[key], speed, wide))
    every: list[Deviation] = []
    rows = []
    shares: dict[str, float] = {}
    for (device, key), members in groups.items():
        values = [speed.value for *_, speed, _ in members]
        middle = median(values)
        robust = NORMAL * median(abs(value - middle) for value in values)
        scale = max(robust, SAME / OUTLIER * middle)
        deviations = [
            Deviation(
                host=host, card=card, device=device, question=named(key), item=item, value=speed.value,
                median=middle, z=(speed.value - middle) / scale,
                outlier=abs(speed.value - middle) > OUTLIER * scale and len(members) >= FEWEST,
                low=speed.high < (1 - wide) * middle,
            )
            for host, card, item, speed, wide in members
        ]  # fmt: skip
        for each in deviations:
            shares[each.host] = min(each.value / middle, shares.get(each.host, float("inf")))
        rows.append(
            ModelRow(
                device=device, question=named(key), item=deviations[0].item, cards=len(deviations),
                median=middle, deviation=robust / middle, least=min(values), most=max(values),
                outliers=sum(each.outlier for each in deviations),
            )
        )  # fmt: skip
        every += deviations
    every.sort(key=lambda each: each.z)
    return tuple(every), tuple(sorted(rows, key=lambda row: row.device)), shares


def _judged(host: Host, lookup: Lookup, margin: float, mine: Sequence[Deviation]) -> Acceptance:
    """One host with what is unlike other hosts' cards. Loose files are not a host: nothing is said of mixture
    and spread among them."""
    loose = host.name == LOOSE and host.cards
    parts = [(card,) for card in host.cards] if loose else [host.cards]
    acceptances = [judge(part, lookup, margin, host.links, host.fabric, host.common) for part in parts]
    unlike: dict[str, list[Issue]] = defaultdict(list)
    for each in mine:
        if each.outlier or each.low:
            away = each.value / each.median - 1
            issue = Issue(
                code="outlier" if each.outlier else "spread",
                severity="invalid" if each.low else "warning",
                detail=f"{each.question} {percent(abs(away))} {'above' if away > 0 else 'below'} the "
                f"median of its model (z = {each.z:+.1f})",
                fix="measure it again alone; compare its environment with a good card's",
            )
            unlike[each.card].append(issue)
    cards = tuple(
        replace(judged, issues=(*judged.issues, *unlike[judged.card.name]))
        for part in acceptances
        for judged in part.cards
    )
    references = tuple(dict.fromkeys(name for part in acceptances for name in part.references))
    common = (
        replace(i, detail=f"{part.name}: {i.detail}") for part in host.common for i in unlike[part.name]
    )
    return replace(acceptances[0], cards=cards, references=references, host=(*acceptances[0].host, *common))
