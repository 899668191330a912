"""Prices per hour that a text states, against the offers that were seen last.

A text's range is stale when it lies wholly outside what such GPUs cost now: below the cheapest tenth
or above the dearest tenth of the offers, of the named providers where enough of theirs are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from gpuwise.facts import prices
from gpuwise.judge.audit import grids, subject
from gpuwise.judge.audit.blocks import Block, Cell, Grid, Heading
from gpuwise.judge.audit.subject import Subject
from gpuwise.model.claim import Finding, Verdict
from gpuwise.model.offer import Offer

TENTH = 0.1
FEWEST = 3
"""Offers of providers that the text does not name, below which they say too little."""
HALF = 2.0
"""How far outside the known range a price must lie where the text gives one figure, no range."""

_AMOUNT = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?"
_MONEY = r"(?:USD|US\$|\$)"
_RANGE = re.compile(
    rf"{_MONEY}\s?({_AMOUNT})(?:\s*(?:-|\u2013|to)\s*{_MONEY}?\s?({_AMOUNT}))?(?P<open>\s*\+)?", re.IGNORECASE
)
_HOURLY = re.compile(r"hour|/\s?hr?\b|per hr", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rent:
    """A price per GPU and hour as stated: from `low` to `high`, in USD."""

    line: int
    gpu: Subject
    low: float
    high: float
    stated: str
    providers: str
    """The text that may name the providers: the row's label."""


def rents(blocks: Sequence[Block]) -> tuple[Rent, ...]:
    """Every hourly price in the tables of a text."""
    return tuple(_rents(blocks))


def judge(found: Sequence[Rent], offers: Sequence[Offer], today: date) -> tuple[Finding, ...]:
    """One finding per price; `offers` are all that is known, in any currency but USD left out."""
    quotes = [o for o in offers if o.per_hour and o.currency == "USD" and prices.is_quote(o)]
    return tuple(_finding(rent, prices.newest(quotes), today) for rent in found)


def _rents(blocks: Sequence[Block]) -> Iterator[Rent]:
    title = ""
    for block in blocks:
        if isinstance(block, Heading):
            title = block.text
        elif isinstance(block, Grid):
            header = [cell.text for cell in block.rows[0]]
            columns = {i: s for i, text in enumerate(header) if i and (s := subject.of_text(text))}
            hourly = [i for i, text in enumerate(header) if _HOURLY.search(text)]
            if not hourly and _HOURLY.search(title):
                hourly = list(range(len(header)))
            for row in block.rows[1:]:
                name = next((i for i, cell in enumerate(row[:2]) if subject.of_text(cell.text)), 0)
                if not grids.is_several(row, name, grids.counting(header, name)):
                    yield from _row(row, name, columns, hourly)


def _row(
    row: Sequence[Cell], name: int, columns: dict[int, Subject], hourly: Sequence[int]
) -> Iterator[Rent]:
    named = subject.of_text(row[name].text)
    for index, cell in enumerate(row[1:], 1):
        owner, match = columns.get(index) or named, _RANGE.search(cell.text)
        if owner is None or match is None or not (index in hourly or _HOURLY.search(cell.text)):
            continue
        low = _amount(match[1])
        yield Rent(
            line=cell.line,
            gpu=owner,
            low=low,
            high=float("inf") if match["open"] else _amount(match[2] or match[1]),
            stated=cell.text,
            providers=row[0].text if columns or name else "",
        )


def _amount(text: str) -> float:
    """1,299 and 1,299.50 by thousands; 0,75 and 0.75 by decimals."""
    return float(re.sub(r",(?=\d{3})", "", text).replace(",", "."))


def _finding(rent: Rent, offers: Sequence[Offer], today: date) -> Finding:
    mine = [o for o in offers if set(o.gpu_ids) & set(rent.gpu.gpu_ids) and not prices.is_stale(o, today)]
    named = [o for o in mine if _named(o.provider, rent.providers)]
    used = named or mine
    if len(used) < FEWEST and len({offer.provider for offer in named}) < _providers(rent.providers):
        used = []
    amounts = sorted(offer.per_gpu for offer in used)
    verdict, best, explanation = _verdict(rent, amounts)
    newest = max((offer.seen_on for offer in used), default="")
    return Finding(
        lines=(rent.line,),
        gpu=rent.gpu.text,
        field="rent per hour",
        stated=rent.stated,
        verdict=verdict,
        kind="stale price" if verdict == "contradicts" else None,
        best=best,
        source=f"{len(used)} offers, newest of {newest}" if used else "",
        explanation=explanation,
    )


def _verdict(rent: Rent, amounts: Sequence[float]) -> tuple[Verdict, str, str]:
    if not amounts:
        return "cannot tell", "", "too few offers known of the last half year"
    low, high = amounts[int(TENTH * len(amounts))], amounts[-1 - int(TENTH * len(amounts))]
    best = f"{low:.2f} to {high:.2f} USD"
    slack = 1.0 if rent.high > rent.low else HALF
    if rent.low > high * slack:
        return "contradicts", best, "GPUs of this kind cost less now"
    if rent.high < low / slack:
        return "contradicts", best, "GPUs of this kind cost more now"
    return "agrees", best, ""


def _providers(text: str) -> int:
    """How many providers the row's label names: three in "AWS / GCP / Azure (On-demand)"."""
    return len(re.split(r"/|,|&|\+|\band\b|\bor\b", re.sub(r"\([^)]*\)", "", text)))


def _named(provider: str, text: str) -> bool:
    """Whether the row's label names the provider: "Lambda Labs / Vultr (On-demand)"."""
    words = re.findall(r"[a-z0-9]+", text.casefold())
    return provider.casefold().split(".")[0].split()[0] in words
