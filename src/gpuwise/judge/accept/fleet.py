"""Many hosts at once, from files alone: which cards fail, and which are unlike the rest of their model.

Among the cards of one model that answered one question, x is the throughput of one and m their median.
Its distance is counted in robust standard deviations, the modified z-score of Iglewicz and Hoaglin (How to
Detect and Handle Outliers, 1993), which up to half of the cards cannot distort:

    z = (x - m) / s        s = max(1.4826 * median(|x - m|), 0.02 * m / 3.5)        outlier where |z| > 3.5

1.4826 makes the median deviation the standard deviation of a normal distribution. The floor under s says
that less than 2 % from the median is nobody's fault, for nominally identical runs differ by as much. Fewer
than five cards tell no outlier. A card more than the margin below m is refused, outlier or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from gpuwise.errors import MachineError
from gpuwise.judge.accept.card import Acceptance, Card, Judged, Lookup, Reason
from gpuwise.judge.accept.collect import LOOSE, Host
from gpuwise.judge.accept.judge import judge
from gpuwise.judge.accept.question import Question, named, question, speeds
from gpuwise.judge.accept.reach import allowed
from gpuwise.model.units import percent

if TYPE_CHECKING:
    import polars

OUTLIER = 3.5
NORMAL = 1.4826
SAME = 0.02
FEWEST = 5
ALIKE = ("device", "question", "version")
"""Speeds that may be compared."""


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
    outlier: bool
    """By z; else it is only below the margin."""
    low: bool
    """More than the margin below the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One question over all cards of one model."""

    device: str
    question: str
    item: str
    cards: int
    median: float
    deviation: float
    """Robust standard deviation, as a share of the median."""
    least: float
    most: float
    outliers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """One host: how many of its cards pass, and the slowest speed as a share of its model's median."""

    host: str
    devices: tuple[str, ...]
    cards: int
    passed: int
    slowest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The verdict on all hosts."""

    hosts: tuple[tuple[str, Acceptance], ...]
    host_rows: tuple[HostRow, ...]
    model_rows: tuple[ModelRow, ...]
    deviations: tuple[Deviation, ...]
    skipped: tuple[tuple[str, str], ...]
    """(file, why it was not read)."""
    margin: float

    @property
    def passed(self) -> bool:
        return all(acceptance.passed for _, acceptance in self.hosts)


def summarise(
    hosts: Sequence[Host], skipped: tuple[tuple[str, str], ...], lookup: Lookup, margin: float
) -> Fleet:
    """Judge every host, then every speed against all cards of its model.

    Raises MachineError where polars is not installed.
    """
    frame = _scored(_frame(hosts, margin))
    deviations = _deviations(frame)
    judged = tuple((host.name, _judged(host, lookup, margin, deviations)) for host in hosts)
    return Fleet(
        hosts=judged,
        host_rows=_host_rows(frame, judged),
        model_rows=_model_rows(frame),
        deviations=deviations,
        skipped=skipped,
        margin=margin,
    )


def _judged(host: Host, lookup: Lookup, margin: float, deviations: Sequence[Deviation]) -> Acceptance:
    """Loose files are no host: nothing is said of mixture and spread among them."""
    parts = [(card,) for card in host.cards] if host.name == LOOSE else [host.cards]
    found = [judge(part, lookup, margin) for part in parts]
    unlike: dict[str, list[Reason]] = defaultdict(list)
    for deviation in deviations:
        if deviation.host == host.name:
            unlike[deviation.card].append(_reason(deviation))
    cards = tuple(_with(judged, unlike[judged.card.name]) for part in found for judged in part.cards)
    references = tuple(dict.fromkeys(name for part in found for name in part.references))
    return replace(found[0], cards=cards, references=references)


def _with(judged: Judged, unlike: Sequence[Reason]) -> Judged:
    return replace(judged, reasons=(*judged.reasons, *unlike)) if unlike else judged


def _reason(found: Deviation) -> Reason:
    away = found.value / found.median - 1
    side = "above" if away > 0 else "below"
    return Reason(
        code="outlier" if found.outlier else "spread",
        fails=found.low,
        detail=f"{found.question} {percent(abs(away))} {side} the median of its model (z = {found.z:+.1f})",
        next_step="measure it again alone; compare its environment with a good card's: gpuwise compare",
    )


def _frame(hosts: Sequence[Host], margin: float) -> polars.DataFrame:
    """One row for each speed."""
    pl = _polars()
    rows = [
        (host.name, card.name, card.result.environment.device, named(asked), asked[2], *told)
        for host in hosts
        for card in host.cards
        for asked, told in _told(card, margin)
    ]
    names = ("host", "card", "device", "question", "version", "item", "value", "high", "margin")
    types = (pl.String,) * 4 + (pl.Int64, pl.String) + (pl.Float64,) * 3
    frame: polars.DataFrame = pl.DataFrame(rows, schema=dict(zip(names, types, strict=True)), orient="row")
    return frame


def _told(card: Card, margin: float) -> Iterator[tuple[Question, tuple[str, float, float, float]]]:
    """(question, (item, speed, high end of its interval, margin)) of each complete measurement."""
    items = {question(m): m.item for m in card.result.measurements}
    gpu_id = card.result.environment.gpu_id
    for asked, found in speeds(card.result).items():
        yield asked, (items[asked], found.value, found.high, allowed(gpu_id, asked, margin))


def _scored(frame: polars.DataFrame) -> polars.DataFrame:
    """Each speed with median, robust deviation, z and both verdicts among its model's."""
    pl = _polars()
    value, median, count = pl.col("value"), pl.col("median"), pl.len().over(ALIKE)
    far = (value - median).abs()
    spread = pl.max_horizontal(NORMAL * far.median().over(ALIKE), SAME / OUTLIER * median)
    return (
        frame.with_columns(median=value.median().over(ALIKE), cards=count)
        .with_columns(deviation=NORMAL * far.median().over(ALIKE), z=(value - median) / spread)
        .with_columns(
            outlier=(pl.col("z").abs() > OUTLIER) & (pl.col("cards") >= FEWEST),
            low=pl.col("high") < (1 - pl.col("margin")) * median,
        )
    )


def _deviations(frame: polars.DataFrame) -> tuple[Deviation, ...]:
    """Outliers and what is below the margin, the slowest first."""
    pl = _polars()
    found = frame.filter(pl.col("outlier") | pl.col("low")).sort("z")
    names = [field.name for field in fields(Deviation)]
    return tuple(Deviation(**row) for row in found.select(names).iter_rows(named=True))


def _model_rows(frame: polars.DataFrame) -> tuple[ModelRow, ...]:
    pl = _polars()
    value = pl.col("value")
    grouped = frame.group_by(*ALIKE, "item", maintain_order=True).agg(
        cards=pl.len(),
        median=value.median(),
        deviation=pl.col("deviation").first() / value.median(),
        least=value.min(),
        most=value.max(),
        outliers=pl.col("outlier").sum(),
    )
    found = grouped.sort("device", maintain_order=True).drop("version")
    return tuple(ModelRow(**row) for row in found.iter_rows(named=True))


def _host_rows(frame: polars.DataFrame, judged: Sequence[tuple[str, Acceptance]]) -> tuple[HostRow, ...]:
    """Hosts with refused cards first, the slowest of them first."""
    pl = _polars()
    slowest = frame.group_by("host").agg(share=(pl.col("value") / pl.col("median")).min())
    shares = dict(slowest.iter_rows())
    rows = [
        HostRow(
            host=name,
            devices=tuple(dict.fromkeys(j.card.result.environment.device for j in acceptance.cards)),
            cards=len(acceptance.cards),
            passed=sum(j.passed for j in acceptance.cards),
            slowest=shares.get(name),
        )
        for name, acceptance in judged
    ]
    return tuple(sorted(rows, key=lambda row: (row.passed == row.cards, row.slowest or 0.0)))


def _polars() -> Any:
    """polars, asked for only where files are judged. Raises MachineError where it is not installed."""
    try:
        import polars
    except ImportError as error:
        raise MachineError("judging many files needs polars", hint='pip install "gpuwise[data]"') from error
    return polars
