"""Prices of GPUs: dated offers to rent or buy one, each with the source that states it, and how to pick
among them by GPU, kind, provider, number, region, price and age.

Offers are facts shipped with gpuwise, launch prices of the catalog, the user's own files (`read`), and what
`gpuwise prices update` fetched (`fetch`, the only place that touches the network). CSV and the stdlib only,
so that a listing answers at once. `today` is an argument everywhere: an age is a fact of the caller's clock,
not of the data.

A seller's name may mean every variant that differs from it only in form (PCIe, SXM, NVL, Max-Q ...) or
memory, and whose memory fits: `A100 80GB` is two variants, `RTX 4090 48GB` none, `A10G` is not `A10`,
`RTX 6000` is not `RTX 6000 Ada`. Which variant it is stays open; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from gpuwise import store
from gpuwise.errors import InputError, guess
from gpuwise.facts import catalog
from gpuwise.model.gpu import MODULES, Offer, OfferKind, Source
from gpuwise.model.gpu import STALE_DAYS as STALE_DAYS
from gpuwise.model.result import grouped

DATA = Path(__file__).with_name("data")
FETCHED = "prices.csv"
LAUNCH = "launch price"
# Their hosts are not the provider's own machines, whatever the kind of rent.
# Anybody's machine joins OpenRelay (docs.openrelay.inc/docs/providers).
MARKETS = ("vast", "salad", "tensordock", "clore", "openrelay")
# A provider's list replaces the one read a month before, whatever the two sources call its rows.
LIST_DAYS = 30
# A cent of rounding between two sources is not a change.
LEAST_CHANGE = 0.01

# Sellers print 79.6 or 80 for 80 GB, 179 for 180: more apart is another card.
MEMORY_TOLERANCE = 0.12
_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
_FORMS = re.compile(r"pcie|sxm\d?|nvl|oam|maxq|workstation|ws|server|edition|blackwell|hbm3e?")
_MEMORY = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*gi?b", re.IGNORECASE)
# gpuhunt writes RTXPRO6000.
_GLUED = re.compile(r"rtxpro(?=\d)", re.IGNORECASE)

Order = Literal["price", "date", "provider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most that one GPU may cost in USD: per hour (rent) or once (purchase)."""

    amount: float
    per_hour: bool

    def allows(self, offer: Offer) -> bool:
        return offer.per_hour == self.per_hour and offer.per_gpu <= self.amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Prices of one GPU: per hour where rented, once where bought."""

    lowest: float
    median: float
    highest: float
    offers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Prices of one GPU, or of a family whose variant the sellers do not state."""

    gpu: str
    gpu_ids: tuple[str, ...]
    on_demand: Spread | None
    spot: Spread | None
    new: Spread | None  # Of what shops ask since the launch
    used: Spread | None
    street: Spread | None  # Asking prices of used and new cards together
    launch: Spread | None
    offers: int
    newest: str  # ISO date of the latest rent seen, of a purchase where none is rented; empty where undated


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The same offer at two times, with different prices."""

    first: Offer
    last: Offer

    @property
    def share(self) -> float:
        """-0.25 where a quarter of the price is gone."""
        return self.last.amount / self.first.amount - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """Price of one GPU-hour at a provider in one month, by one source."""

    month: str  # ISO, like 2026-10
    gpu_ids: tuple[str, ...]
    provider: str
    kind: str
    term: str  # Of a reservation: 6m, 1y, 3y
    region: str
    median: float
    low: float
    high: float
    source: str


# How the reason begins of a row that the catalog, and not its file, leaves out.
UNKNOWN_GPU = "unknown GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row that was left out, and why."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """Offers, and what was left out of the files that hold them."""

    offers: tuple[Offer, ...]
    skipped: tuple[Skipped, ...] = ()
    ignored: tuple[str, ...] = ()  # Columns that mean nothing here


def offers(today: date) -> tuple[Offer, ...]:
    """Every offer known on `today` without price files of one's own."""
    return collect(today=today).offers


def collect(
    user: Sequence[Path] = (), *, today: date, rates: Mapping[str, float] = MappingProxyType({})
) -> PriceList:
    """Every offer known on `today`, with the rows that were skipped."""
    lists = [_fetched(today)]
    if user:
        from gpuwise.facts.prices.files import read

        lists += [read(path, today=today, rates=rates) for path in user]
    fixed = (*shipped(), *launch_prices())
    # Fetched rents make a newer list; prices of purchases are never fetched.
    if (fetched := max((o.seen_on for o in lists[0].offers), default="")) > fixed[0].listed_on:
        fixed = tuple(replace(o, listed_on=fetched) if o.per_hour else o for o in fixed)
    # A wrong clock, not a wrong price: what is later than today is left out, and named.
    now = today.isoformat()
    late = [f"{o.provider} {o.gpu} dated {o.seen_on}, after today ({now})" for o in fixed if o.seen_on > now]
    skipped = [Skipped(file="shipped prices", line=0, reason=reason) for reason in late]
    seen = tuple(offer for offer in fixed if offer.seen_on <= now) if late else fixed
    return PriceList(
        offers=(*seen, *(offer for each in lists for offer in each.offers)),
        skipped=(*skipped, *(skip for each in lists for skip in each.skipped)),
        ignored=tuple(column for each in lists for column in each.ignored),
    )


@cache
def sources() -> Mapping[str, Source]:
    return catalog.read_sources(DATA / "sources.csv")


@cache
def egress() -> Mapping[str, float]:
    """USD of a GB that leaves a provider's network, by provider, where a source states it."""
    return {row["provider"]: float(row["usd_per_gb"]) for row in catalog.rows(DATA / "egress.csv")}


@cache
def shipped() -> tuple[Offer, ...]:
    source_of, rows = sources(), catalog.rows(DATA / "offers.csv")
    newest_day = max(row["seen_on"] for row in rows)
    return tuple(catalog.decoded(
        rows, Offer, source=lambda row: source_of[row["source"]], listed_on=lambda row: newest_day,
        egress_usd_per_gb=lambda row: egress().get(row["provider"]),
    ))  # fmt: skip


@cache
def launch_prices() -> tuple[Offer, ...]:
    """Launch price of each GPU of the catalog, as its facts state it."""
    return tuple(
        Offer(
            gpu=spec.name,
            gpu_ids=(spec.id,),
            count=1,
            kind="new",
            amount=float(fact.value),
            provider=(spec.vendor or "vendor").lower(),
            seen_on=spec.text("launch") or "",
            source=fact.source,
            locator=fact.locator,
            note="; ".join(text for text in (LAUNCH, fact.note) if text),
        )
        for spec in catalog.all_gpus()
        if (fact := spec.facts.get("launch_price_usd")) is not None and not isinstance(fact.value, str)
    )


@cache
def rates() -> Mapping[str, tuple[float, str]]:
    """USD for one unit of a currency, and the ISO date of that rate; others are the user's to state."""
    return {row["currency"]: (float(row["usd"]), row["seen_on"]) for row in catalog.rows(DATA / "rates.csv")}


@cache
def areas() -> tuple[tuple[str, str, str], ...]:
    """Parts of the world: the name, how people write it, and how price lists do; both regular expressions."""
    return tuple((row["area"], row["words"], row["regions"]) for row in catalog.rows(DATA / "areas.csv"))


@cache
def renting() -> frozenset[str]:
    return frozenset(offer.provider.casefold() for offer in shipped() if offer.per_hour)


def around(place: str) -> tuple[str, ...]:
    """Where to look when a place has no offer: larger areas that hold it, as `areas` call them, then anywhere
    (""); nowhere for no place."""
    if not place:
        return ()
    larger = (name for name, _, regions in areas() if name != place and re.search(regions, place.casefold()))
    return (*larger, "")


def is_in(offer: Offer, place: str) -> bool:
    """True if the offer's region is, or may be chosen, in an area, or has `place` in its name; in one of
    several where `place` is "Germany or the US"."""
    region, (place, *others) = offer.region.casefold(), place.casefold().split(" or ")
    if others:
        return any(is_in(offer, each) for each in (place, *others))
    for name, words, regions in areas():
        if name.casefold() in (place, f"the {place}") or re.fullmatch(words, place):
            return bool(re.search(regions, region))
    # From the beginning of a word on: the "us" in "Australia" is none.
    return bool(re.search(rf"(?<![a-z]){re.escape(place)}", region))


@cache
def history() -> tuple[Month, ...]:
    """Rents by month, provider, kind and region, as far back as public sources go."""
    return tuple(catalog.decoded(catalog.rows(DATA / "history.csv"), Month))


def fetched_path() -> Path:
    """Where `gpuwise prices update` keeps what it fetched."""
    return store.home() / FETCHED


def _fetched(today: date) -> PriceList:
    path = fetched_path()
    if not path.is_file():
        return PriceList(offers=())
    from gpuwise.facts.prices.files import read

    source = replace(sources()["gpuhunt"], title="gpuhunt, fetched by gpuwise prices update", read_on="")
    try:
        listed = read(path, today=today, source=source, unknown_gpus=True)
    except InputError as failure:
        hint = f"remove {path}, or fetch it again"
        raise InputError(str(failure), hint=hint, code="fetch-prices") from failure
    # gpuhunt lists the SXM, PCIe and NVL forms all as H100; the instance type says which one it is, where the
    # shipped facts name one variant of it and no other.
    named = (offer for offer in shipped() if offer.instance)
    ids_of = grouped(((offer.provider.casefold(), offer.instance), offer.gpu_ids) for offer in named)
    variants = {key: ids[0][0] for key, ids in ids_of.items() if len(set(ids)) == len(ids[0]) == 1}
    offers = []
    for offer in listed.offers:
        stated = variants.get((offer.provider.casefold(), offer.instance))
        if len(offer.gpu_ids) > 1 and stated in offer.gpu_ids:
            note = f"{offer.note}; variant as other sources state it for this instance".removeprefix("; ")
            offer = replace(offer, gpu_ids=(stated,), note=note)
        offers.append(offer)
    return replace(listed, offers=tuple(offers))


def age_days(offer: Offer, today: date) -> int | None:
    """Days since the price was seen; None where the source does not date it."""
    return (today - day(offer.seen_on)).days if offer.seen_on else None


def counted_on(offer: Offer, today: date) -> date:
    """The day at which the age of a price counts: the date of its list. By today's date, prices of an
    installation that is not updated would expire one after the other.
    """
    return min(today, day(offer.listed_on)) if offer.listed_on else today


def is_stale(offer: Offer, today: date) -> bool:
    """True if the price is older than `STALE_DAYS`; one without a date may be of any age."""
    age = age_days(offer, today)
    return age is None or age > STALE_DAYS


def is_fresh(offer: Offer, today: date) -> bool:
    """True if a GPU may be ranked by the price: it was not stale when its list was made."""
    return not is_stale(offer, counted_on(offer, today))


def is_quote(offer: Offer) -> bool:
    """True if somebody asked this price; an article's illustrative range is not one."""
    return offer.source.kind != "article"


# A rent below this share of what others ask on demand is a bid or a bait: spot machines of large clouds
# cost at least 0.27 of it, of 500 rents of 2026-11 only hosts of marketplaces and V100s less.
TOO_GOOD = 0.25
# So many other prices say what is usual.
USUAL = 3


def believable(offers: Sequence[Offer], today: date) -> list[Offer]:
    """Without rents that are too good to be true; a price of one's own is believed."""
    asked = (o for o in offers if o.kind in ("on-demand", "community") and is_fresh(o, today))
    prices = grouped((gpu, offer.per_gpu) for offer in asked for gpu in offer.gpu_ids)
    # The upper of two in the middle: half of the rents are of one marketplace's cheapest hosts.
    least = {gpu: TOO_GOOD * sorted(p)[len(p) // 2] for gpu, p in prices.items() if len(p) >= USUAL}
    return [
        offer
        for offer in offers
        if not offer.per_hour
        or offer.source.id == "own-prices"
        or offer.per_gpu >= min((least.get(gpu, 0.0) for gpu in offer.gpu_ids), default=0.0)
    ]


def of_machines(offers: Sequence[Offer], large: Collection[str]) -> list[Offer]:
    """Without rates of one GPU by lists that name no machine and no number, where the machines that the
    provider names hold more, or where a `large` provider, who names his, has none with such a module."""
    rents = [offer for offer in offers if offer.per_hour]
    by_machine = {o.source.id for o in rents if o.instance or o.count != 1}
    sizes = grouped(((o.provider.casefold(), gpu), o.count) for o in rents if o.instance for gpu in o.gpu_ids)

    def stands(offer: Offer) -> bool:
        if not offer.per_hour or offer.source.id in by_machine or offer.source.id == "own-prices":
            return True
        name = offer.provider.casefold()
        if named := [size for gpu in offer.gpu_ids for size in sizes.get((name, gpu), ())]:
            return min(named) <= offer.count
        return name not in large or all(catalog.get(gpu).text("form") not in MODULES for gpu in offer.gpu_ids)

    return [offer for offer in offers if stands(offer)]


def select(
    offers: Sequence[Offer],
    *,
    today: date,
    wanted: Wanted | None = None,
    kinds: Collection[str] = (),
    providers: Collection[str] = (),
    count: float | None = None,
    region: str | None = None,
    limit: Limit | None = None,
    newer_than: int | None = None,
) -> tuple[Offer, ...]:
    """The offers that meet every condition given; an undated one is never newer than anything. Raises
    InputError for a provider of which no offer is known."""
    sellers = {offer.provider.casefold() for offer in offers}
    names = {name.strip().casefold() for name in providers}
    for name in sorted(names - sellers):
        problem = f"no offer of a provider {name!r} is known{guess(get_close_matches(name, sellers, n=3))}"
        raise InputError(problem, hint=f"known: {', '.join(sorted(sellers))}")
    oldest = (today - timedelta(days=newer_than)).isoformat() if newer_than else ""
    return tuple(
        offer
        for offer in offers
        if (wanted is None or wanted.matches(offer))
        and (not kinds or offer.kind in kinds)
        and (not names or offer.provider.casefold() in names)
        and (count is None or offer.count == count)
        and (not region or is_in(offer, region))
        and (limit is None or limit.allows(offer))
        and (newer_than is None or (offer.seen_on and day(offer.seen_on).isoformat() >= oldest))
    )


def series(offer: Offer) -> tuple[str | float, ...]:
    """The identity of an offer that is seen again."""
    region = offer.region.casefold()
    # One source says "US west or central" where another names us-east-1: the list price is the same.
    area = "us" if re.match(r"us\b", region) else region
    # An instance type has its hardware; one source states the variant of its GPU, another does not.
    gpu = chip(offer.gpu) if offer.instance else offer.gpu.casefold()
    return (offer.provider.casefold(), offer.instance, gpu, offer.count, offer.kind, area)


def newest(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Of each offer only the latest sight, all of them where several share its date. A dated sight is later
    than an undated one."""
    # A key costs more than all the rest: one for each offer.
    keys = {id(offer): series(offer) if is_quote(offer) else offer for offer in offers}
    latest: dict[object, str] = {}
    for offer in offers:
        key = keys[id(offer)]
        latest[key] = max(latest.get(key, ""), offer.seen_on)
    return tuple(offer for offer in offers if offer.seen_on == latest[keys[id(offer)]])


def current(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """The dated quotes of each provider's newest list: of one GPU, number and kind what was seen within
    `LIST_DAYS` of its latest sight, by whatever source and under whatever name of a machine."""
    dated = (offer for offer in offers if offer.seen_on and is_quote(offer))
    groups = grouped(((o.provider.casefold(), o.gpu_ids or o.gpu, o.count, o.kind), o) for o in dated)
    recent = []
    for same in groups.values():
        last = day(max(offer.seen_on for offer in same)) - timedelta(days=LIST_DAYS)
        recent += [offer for offer in same if day(offer.seen_on) >= last]
    return newest(recent)


def ordered(offers: Sequence[Offer], by: Order = "price", today: date | None = None) -> tuple[Offer, ...]:
    """By price of one GPU, newest date, or provider: rent, then purchase, then illustrative. With `today`,
    fresh prices stand before old ones and those before undated ones, of each on-demand rent first."""

    def price(offer: Offer) -> tuple[bool, bool, bool, bool, int, float]:
        # Not by today: in an installation that is not updated all would be old, the newest behind cheap ones.
        old, kind = (
            (not is_fresh(offer, today), get_args(OfferKind).index(offer.kind)) if today else (False, 0)
        )
        return not is_quote(offer), not offer.per_hour, old, old and not offer.seen_on, kind, offer.per_gpu

    ordered = sorted(offers, key=price)
    if by == "date":
        ordered.sort(key=lambda offer: offer.seen_on, reverse=True)
    if by == "provider":
        ordered.sort(key=lambda offer: offer.provider.casefold())
    return tuple(ordered)


def spread(offers: Sequence[Offer], kind: str, today: date | None = None) -> Spread | None:
    """Lowest, median and highest price of one GPU among offers of a kind, `today` the fresh ones; or None."""
    quoted = (offer for offer in offers if offer.kind == kind and is_quote(offer))
    counted = (o for o in quoted if today is None or is_fresh(o, today))
    amounts = sorted(offer.per_gpu for offer in counted)
    if not amounts:
        return None
    # The stdlib's statistics takes longer to load than all prices.
    middle = len(amounts) // 2
    median = amounts[middle] if len(amounts) % 2 else (amounts[middle - 1] + amounts[middle]) / 2
    return Spread(lowest=amounts[0], median=median, highest=amounts[-1], offers=len(amounts))


def usual(offers: Sequence[Offer], kind: OfferKind, today: date | None) -> Spread | None:
    """Prices of a kind that are not old; where every one is, all rents, or the latest price of a purchase."""
    if found := spread(offers, kind, today):
        return found
    mine = [offer for offer in offers if offer.kind == kind]
    latest = max((offer.seen_on for offer in mine), default="")
    return spread([offer for offer in mine if offer.per_hour or offer.seen_on == latest], kind)


def summary(offers: Sequence[Offer], today: date | None = None) -> tuple[Line, ...]:
    """One line a GPU, sorted by name; a family of unknown variant has a line of its own. With `today`, rents
    are those of `spread`."""
    # A catalog entry goes by many sellers' names, a card outside the catalog only by its own.
    quotes = newest([offer for offer in offers if is_quote(offer)])
    groups = grouped((offer.gpu_ids or ("", offer.gpu.casefold()), offer) for offer in quotes)
    lines = []
    for gpu_ids, same in ((each[0].gpu_ids, each) for each in groups.values()):
        # A launch price is years old by nature: it says nothing of how fresh the rents are.
        judged = [offer for offer in same if offer.per_hour] or same
        named, newest_day = gpu_ids[0] if len(gpu_ids) == 1 else same[0].gpu, max(o.seen_on for o in judged)
        launch = [offer for offer in same if offer.note.startswith(LAUNCH)]
        since = [offer for offer in same if offer not in launch]
        sold: tuple[OfferKind, ...] = ("new", "used", "street")
        bought = {kind: usual(since, kind, today) for kind in sold}
        line = Line(
            gpu=named, gpu_ids=gpu_ids, offers=len(same), newest=newest_day, **bought,
            on_demand=usual(same, "on-demand", today), spot=spread(same, "spot", today),
            launch=spread(launch, "new"),
        )  # fmt: skip
        lines.append(line)
    return tuple(sorted(lines, key=lambda line: line.gpu.casefold()))


def changes(offers: Sequence[Offer]) -> tuple[Change, ...]:
    """Dated offers whose first and last sight differ in price, the steepest fall first."""
    sights = grouped((series(offer), offer) for offer in offers if offer.seen_on and is_quote(offer))
    changes = []
    for same in sights.values():
        dated = sorted(same, key=lambda offer: offer.seen_on)
        change = Change(first=dated[0], last=dated[-1])
        if change.first.seen_on < change.last.seen_on and abs(change.share) > LEAST_CHANGE:
            changes.append(change)
    return tuple(sorted(changes, key=lambda change: change.share))


@cache
def day(text: str) -> date:
    """The day of an ISO date; `2024-05` and `2024` are their first day. Raises ValueError otherwise."""
    match = _ISO.fullmatch(text.strip())
    try:
        if match is not None:
            return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        pass
    raise ValueError(f"unreadable date {text[:30]!r}; write it like 2026-05-31")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The GPUs that were asked for, by catalog entry and, beyond the catalog, by seller's name."""

    query: str
    gpu_ids: frozenset[str]
    words: frozenset[str] = frozenset()  # Words of a family; empty where one catalog entry was named

    def matches(self, offer: Offer) -> bool:
        """True if the offer is, or may be, one of the GPUs asked for."""
        if offer.gpu_ids:
            return not self.gpu_ids.isdisjoint(offer.gpu_ids)
        return bool(self.words) and self.words.issubset(catalog.words_of(offer.gpu))


def wanted(query: str, offers: tuple[Offer, ...] = ()) -> Wanted:
    """The GPUs of a `query`: one GPU, a family ("h100", "a100 80gb"), a seller's name ("a10g"), what a filter
    means ("24GB..", "amd"), or several of these with commas between.

    Raises InputError with the nearest names where neither the catalog nor an offer knows it.
    """
    if "," in query:
        each = [wanted(name, offers).gpu_ids for name in query.split(",") if name.strip()]
        return Wanted(query=query, gpu_ids=frozenset().union(*each))
    # A full name means one card, even where it is a part of another's name.
    if (exact := _exact(query)) is not None:
        return Wanted(query=query, gpu_ids=frozenset({exact}))
    if not catalog.is_name(query) and (filtered := catalog.select(query)):
        return Wanted(query=query, gpu_ids=frozenset(spec.id for spec in filtered))
    words = frozenset(catalog.words_of(query))
    every = ((spec.id, frozenset().union(*map(catalog.words_of, spec.names))) for spec in catalog.all_gpus())
    named = (gpu_id for gpu_id, known in every if words and words <= known)
    family = frozenset(named).union(seller_ids(query))
    asked = Wanted(query=query, gpu_ids=family, words=words)
    if family or any(asked.matches(offer) for offer in offers):
        return asked
    return Wanted(query=query, gpu_ids=frozenset({catalog.find(query).id}))


@cache
def seller_ids(name: str) -> tuple[str, ...]:
    """Ids of the variants that a seller's `name` may mean, sorted; none where it fits no entry."""
    if (exact := _exact(name)) is not None:
        return (exact,)
    memory, plain = _MEMORY.search(name), _GLUED.sub("rtx pro ", _MEMORY.sub(" ", name))
    named = catalog.mentions(plain, unknown=True, loose=True)
    # A word that is left over makes it another card.
    if len(named) != 1 or catalog.name_key(f"{plain[: named[0].start]} {plain[named[0].end :]}"):
        return ()
    sizes = {gpu_id: catalog.get(gpu_id).memory_bytes for gpu_id in named[0].gpu_ids}
    # Sellers' GB are 10**9 or 2**30 bytes.
    units = [float(memory[1]) * unit for unit in (1e9, 2**30)] if memory else []
    return tuple(
        gpu_id
        for gpu_id, size in sorted(sizes.items())
        if not memory or (size and any(abs(stated - size) <= MEMORY_TOLERANCE * size for stated in units))
    )


@cache
def chip(name: str) -> str:
    """A name without form and memory: `H100 SXM5 80GB` and `NVIDIA H100` are both `h100`."""
    return _FORMS.sub("", catalog.name_key(_MEMORY.sub(" ", name)))


def _exact(name: str) -> str | None:
    """The GPU of this complete name; a driver's own (`NVIDIA H200`) leaves open which variant is sold."""
    spec = catalog.exact(name)
    is_own = spec is not None and catalog.name_key(name) in map(catalog.name_key, spec.names)
    return spec.id if spec is not None and is_own else None
