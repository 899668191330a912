"""The facts, read once and kept; and the jobs that list them: dated offers, rents over time, speeds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.facts import prices as known_prices
from gpuwise.facts.prices import Limit, Order
from gpuwise.model.gpu import Offer
from gpuwise.model.question import Asked
from gpuwise.model.result import Record, Records, Result, records_of
from gpuwise.show.table import Answer, usual_variant

if TYPE_CHECKING:
    from gpuwise.facts.published import Imported
    from gpuwise.jobs.predicting import Forecasts

Tell = Callable[[str], None]


class Facts:
    """The facts, for every job and page.

    `files` and `given` are results beside those of the store, `offers` replace every known offer, `today` is
    the day of prices. A file of the store that cannot be read is left out, and `tell` hears why, once. Raises
    InputError for one of `files` that holds no result.
    """

    def __init__(
        self,
        files: Sequence[Path] = (),
        *,
        given: Sequence[Result] = (),
        offers: Sequence[Offer] | None = None,
        today: date | None = None,
        tell: Tell = lambda _: None,
    ) -> None:
        self._today, self._tell, self._own_offers = today, tell, offers
        self._heard: set[str] = set()
        self._given = (*given, *(result for path in files for result in store.load_all(path)))
        self._forecasts: Forecasts | None = None
        self._came = 0

    def give(self, result: Result, most: int) -> None:
        """Know one more result from now on, and the last ones that were given, `most` in all."""
        self._given = (*self._given, result)[-most:]
        self._came += 1

    @property
    def version(self) -> object:
        """Changes with whatever is known: the day, what was given, the files of the store."""
        return self.today, self._came, tuple((path, store.changed(path)) for path in store.saved())

    @property
    def forecasts(self) -> Forecasts:
        """Predictions of what has a shipped trace, each made once."""
        if self._forecasts is None:
            from gpuwise.jobs.predicting import Forecasts  # numpy, through the predictor

            self._forecasts = Forecasts()
        return self._forecasts

    @property
    def today(self) -> date:
        """The day it is; a server may run for weeks."""
        return self._today or date.today()

    @property
    def ids(self) -> tuple[str, ...]:
        """Of every GPU of the catalog."""
        return tuple(spec.id for spec in catalog.all_gpus())

    @property
    def studied(self) -> tuple[str, ...]:
        """Of the GPUs of which more than the data sheet is known: a rent, a published or a measured speed."""
        spoken_of = {row.gpu_id for row in self.published} | self.rents.keys()
        spoken_of |= {result.environment.gpu_id or "" for result in self.results}
        return tuple(gpu_id for gpu_id in self.ids if gpu_id in spoken_of)

    @property
    def offers(self) -> tuple[Offer, ...]:
        return _offers(self.today) if self._own_offers is None else tuple(self._own_offers)

    @property
    def rents(self) -> Mapping[str, float]:
        """GPU -> median on-demand rent of one for an hour, in USD, where an offer is known."""
        return _rents(self.today)

    @property
    def published(self) -> tuple[Record, ...]:
        from gpuwise.facts import published

        return published.all_results()

    @property
    def results(self) -> tuple[Result, ...]:
        """Every measured result of the store and of those given, each once."""
        kept = (result for path in store.saved() for result in self._kept(path))
        every = {result.id: result for result in (*self._given, *kept) if result.origin == "measured"}
        return tuple(every.values())

    def _kept(self, path: Path) -> tuple[Result, ...]:
        try:
            return _load(path, store.changed(path))
        except InputError as error:
            reason = f"left out: {error}"
            if reason not in self._heard:
                self._heard.add(reason)
                self._tell(reason)
            return ()

    @property
    def speeds(self) -> Records:
        """Of whole workloads, measured: neither limits of the hardware nor toys."""
        every = records_of(self.results)
        return Records(r for r in every if r.question.size == "full" and r.question.mode != "limit")

    def records(self, gpu_ids: Sequence[str]) -> tuple[Record, ...]:
        """Measured and published speeds of these GPUs; limits, toys and what is invalid are none."""
        from gpuwise.facts import published

        mine = records_of(result for result in self.results if result.environment.gpu_id in gpu_ids)
        speeds = (r for r in mine if r.usable and r.question.mode != "limit" and r.question.size == "full")
        return (*speeds, *published.plausible(published.select(gpu_ids=gpu_ids)))


# Read once a day of prices, and a file again only when it changed.
@lru_cache(maxsize=2)
def _offers(day: date) -> tuple[Offer, ...]:
    return known_prices.offers(today=day)


@lru_cache(maxsize=2)
def _rents(day: date) -> Mapping[str, float]:
    from gpuwise.show.prices import hourly

    rents = ((spec.id, hourly(_offers(day), spec.id, day)) for spec in catalog.all_gpus())
    return {gpu_id: rent for gpu_id, rent in rents if rent is not None}


@lru_cache(maxsize=256)
def _load(path: Path, changed: int) -> tuple[Result, ...]:
    return store.load_all(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class PricesRequest(Asked):
    """Which offers; an empty condition is met by all."""

    gpu: str = ""  # A name, or `h100:8` for offers of eight; empty = lowest and median price of every GPU
    kinds: frozenset[str] = frozenset()  # on-demand, spot, reserved, new, used
    providers: tuple[str, ...] = ()
    count: float | None = None  # GPUs of an offer
    region: str | None = None  # A part of its name
    limit: Limit | None = None  # The most that one GPU may cost
    newer_than: int | None = None  # Days since the price was seen
    files: tuple[Path, ...] = ()  # CSV files of offers beside those that are known
    rates: Mapping[str, float] = field(default_factory=dict)  # Currency -> USD for one unit of it
    order: Order = "price"
    every_sight: bool = False  # Not only the newest sight of each offer
    today: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """Offers that meet the conditions, and what was left out of the lists they come from."""

    gpu: str
    offers: tuple[Offer, ...]
    changes: tuple[known_prices.Change, ...]  # Of offers that were seen more than once
    skipped: tuple[known_prices.Skipped, ...]
    ignored: tuple[str, ...]  # Columns of the user's files that mean nothing here
    lines: tuple[known_prices.Line, ...] = ()  # One a GPU, where several are named or all


def price_list(request: PricesRequest) -> Answer[Priced]:
    """Dated offers to rent or buy, in the order that was asked for.

    Raises InputError for an unknown GPU, provider or kind, NoDataError where no offer meets the conditions.
    """
    from gpuwise.show import prices as show

    day, count, providers = request.today or date.today(), request.count, [*request.providers]
    listed = known_prices.collect(request.files, today=day, rates=request.rates)
    sellers = {offer.provider.casefold() for offer in listed.offers if offer.per_hour}
    words = list[str]()
    for word in request.gpu.split():  # "h100 on lambda": no GPU is called like who rents one out
        (providers if word.casefold() in sellers else words).append(word)
    if len(providers) > len(request.providers):
        words = [word for word in words if word.casefold() not in ("on", "at", "from")]
    one = " ".join(words)
    name, number = catalog.counted(",".join(catalog.named_apart(one)) or one)
    if match := re.fullmatch(r"(.+):(\d{1,6})", name, re.ASCII):
        name, number = match[1], int(match[2])
    if number and count not in (None, number):
        problem = f"{request.gpu!r} and a count of {count:g} contradict each other"
        raise InputError(problem, hint="give one of them")
    count = number or count
    wanted = known_prices.wanted(name, listed.offers) if name else None
    chips = {catalog.get(gpu).text("chip") for gpu in wanted.gpu_ids} if wanted else set()
    several = len(chips) > 1 or "," in name
    conditions: dict[str, Any] = {
        "kinds": request.kinds, "providers": providers, "count": count, "region": request.region,
        "limit": request.limit, "newer_than": request.newer_than,
    }  # fmt: skip
    meets = partial(known_prices.select, listed.offers, today=day, wanted=wanted)
    selected = meets(**conditions)
    if not selected:
        if wanted and not any(wanted.matches(offer) for offer in listed.offers):
            hint = "fetch today's prices or add your own"
            raise NoDataError(f"no price of {wanted.query!r} is known", hint=hint, code="fetch-prices")
        # Which of the conditions, left out by itself, leaves offers, and how many.
        none, given = {"kinds": (), "providers": ()}, (each for each, value in conditions.items() if value)
        left = {each: len(meets(**{**conditions, each: none.get(each)})) for each in given}
        without = [f"without {_CONDITIONS[each]} {number} do" for each, number in left.items() if number]
        aged = meets(**{**conditions, "newer_than": None}) if request.newer_than else []
        last = f", the newest of {max((o.seen_on or '' for o in aged), default='')}" * bool(aged)
        problem = "no offer meets all the conditions" + f"; {', '.join(without)}{last}" * bool(without)
        raise NoDataError(problem, hint="see every offer", code="prices", gpu=name)
    changes = known_prices.changes(selected)
    newest = selected if request.every_sight else known_prices.newest(selected)
    offers = known_prices.ordered(newest, request.order, day)
    lines = known_prices.summary(selected, day) if wanted is None or several else ()
    priced = Priced(
        gpu=name, offers=offers, changes=changes, skipped=listed.skipped, ignored=listed.ignored, lines=lines,
    )  # fmt: skip
    if wanted is None:
        return Answer(
            value=priced,
            to_table=lambda: show.overview(lines, offers, changes, day),
            to_data=lambda: show.overview_document(lines, today=day, skipped=listed.skipped),
        )
    title = f"Prices of {name!r} in USD, as of {day.isoformat()}"
    return Answer(
        value=priced,
        to_table=lambda: show.listing(offers, changes, title=title, today=day),
        to_data=lambda: show.document(offers, changes, query=name, today=day, skipped=listed.skipped),
    )


# What a person calls each condition on an offer.
_CONDITIONS = {
    "kinds": "the kind of offer", "providers": "the provider", "count": "the number of GPUs",
    "region": "the region", "limit": "the limit of price", "newer_than": "the age of the price",
}  # fmt: skip


def rents_over_time(gpu: str) -> Answer[tuple[known_prices.Month, ...]]:
    """Rents of a GPU by month, provider, kind and region; a chart of the longest series.

    Raises InputError for an unknown GPU or none, NoDataError where no month is known.
    """
    from gpuwise.show import prices as show

    if not gpu:
        raise InputError("prices over time of which GPU?", hint="name one")
    wanted = known_prices.wanted(catalog.counted(gpu)[0])
    months = tuple(m for m in known_prices.history() if wanted.gpu_ids.issuperset(m.gpu_ids))
    if not months:
        problem = f"no rents of {gpu!r} by month are known"
        raise NoDataError(problem, hint="see every offer", code="prices", gpu=gpu)
    return Answer(
        value=months,
        to_table=lambda: show.over_time(months, gpu),
        to_data=lambda: [asdict(month) for month in months],
        to_chart=lambda: show.over_time_chart(months, gpu),
    )


def prices(gpu: str | None = None, *, today: date | None = None) -> tuple[Offer, ...]:
    """Dated offers to rent or buy, newest sight of each, cheapest first; of one GPU where it is named.

    Raises InputError for an unknown GPU.
    """
    return price_list(PricesRequest(gpu=gpu or "", today=today)).value.offers


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedsRequest(Asked):
    """Which speeds; None is met by all."""

    workload: str | None = None
    """None = how many speeds are known of each workload; of `imports`, all that they hold."""
    mode: str | None = None
    precision: str | None = None  # As it really ran
    gpu: str | None = None  # A name or a part of one; in imported files, the GPU where they name none
    gpus: int | None = None  # How many; likewise
    source: str | None = None  # Of published figures
    imports: tuple[Path, ...] = ()  # Results of other tools
    format: str | None = None  # Of these; None = it is recognised
    files: tuple[Path, ...] = ()  # Results of gpuwise beside those of the store


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """Measured and published speeds, never mixed."""

    workload: str | None  # The id of what was asked for
    measured: tuple[Record, ...]
    published: tuple[Record, ...]
    imported: tuple[tuple[Path, Imported], ...]  # Each file with its figures and the lines that gave none


def speeds(request: SpeedsRequest, facts: Facts | None = None) -> Answer[Speeds]:
    """Full-size measurements of the store, and published figures of the curated table and imported files.

    The exit status is 5 where there is none. Raises InputError for an unknown workload, source or GPU, and
    for a file that cannot be read.
    """
    from gpuwise.facts import published  # the checks of figures, which a list of prices does not need
    from gpuwise.show import records as show

    given = [result for path in request.files for result in store.load_all(store.find(str(path)))]
    ours = (facts or Facts(given=given)).speeds
    imported = tuple(
        (path, published.import_file(path, format=request.format, gpu=request.gpu, n_gpus=request.gpus))
        for path in request.imports
    )
    new = tuple(row for _, file in imported for row in file.rows)
    alone = bool(imported) and request.workload is None
    theirs = new if alone else (*published.all_results(), *new)
    workload, also = request.workload, ""
    if workload is not None:
        others = [row.question.workload for row in ours] + [row.question.workload for row in new]
        name, *further = published.meant_workloads(workload, others)
        if further:
            also = f"{workload!r} is taken as {name}; it can also mean {', '.join(further)}"
        workload = name
    if request.source is not None:
        published.check_source(request.source, theirs)
    ids: frozenset[str] | None = None
    if request.gpu is not None:
        try:
            ids = frozenset({catalog.find(request.gpu).id})
        except InputError:  # all whose name contains it
            ids = frozenset(spec.id for spec in catalog.select(request.gpu))
            if not ids:
                raise
    some = partial(published.select, mode=request.mode, precision=request.precision, n_gpus=request.gpus)
    # Imported files are shown alone, and a source is one of published figures.
    shown = () if alone or request.source is not None else ours
    ours = some([row for row in shown if workload in (None, row.question.workload)], gpu_ids=ids)
    selected = some(theirs, workload=workload, source=request.source)
    # A file that names no GPU was given this one, also where it leaves the variant open.
    theirs = tuple(row for row in selected if ids is None or row.gpu_id in ids or row.gpu == request.gpu)
    figures = Speeds(workload=workload, measured=ours, published=theirs, imported=imported)
    here, there = Counter(row.question.workload for row in ours), published.workloads(theirs)
    listed = workload is None and not imported

    def document() -> dict[str, Any]:
        if listed:
            names = [name for name, *_ in show.workloads(here, there).rows]
            counts = [{"workload": n, "measured": here[n], "published": there.get(n, 0)} for n in names]
            return {"workloads": counts}
        skipped = [(str(path), *each) for path, file in imported for each in file.skipped]
        return {
            "measured": [show.measured_document(row) for row in ours],
            "published": [show.published_document(row) for row in theirs],
            "skipped": [{"file": file, "line": line, "reason": why.detail} for file, line, why in skipped],
        }

    return Answer(
        value=figures,
        records=figures.measured,
        issues=usual_variant(also),
        exit_status=0 if ours or theirs else NoDataError.exit_code,
        to_table=lambda: show.workloads(here, there) if listed else show.together(ours, theirs),
        to_data=document,
    )
