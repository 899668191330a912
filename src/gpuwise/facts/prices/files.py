"""Read a price file: a CSV of the user's own, or the one that `gpuwise prices update` wrote.

Columns in any order: gpu and amount are needed; count, kind, currency, per, provider, instance, region,
seen_on, note and whole (`yes` of a computer with its GPUs) are optional. A row that cannot be used is
skipped, with its line and the reason; a file that is not such a table raises InputError. Every accepted offer
is in USD, positive and not of the future.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import cast, get_args

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.facts.prices import UNKNOWN_GPU, PriceList, Skipped, day, seller_ids
from gpuwise.model import units
from gpuwise.model.gpu import RENTS, Offer, OfferKind, Source

# Some 50,000 offers.
MAX_BYTES = 5_000_000
# USD; the most expensive offer known is below 30: more is a price of something else.
MOST_PER_GPU_HOUR = 1_000.0
MOST_PER_GPU = 1_000_000.0

NEEDED = ("gpu", "amount")
OPTIONAL = ("count", "kind", "currency", "per", "provider", "instance", "region", "seen_on", "note", "whole")
COLUMNS = ", ".join((*NEEDED, *OPTIONAL))
_OTHER_NAMES = {"price": "amount", "date": "seen_on", "gpus": "count", "unit": "per"}

_COUNT = re.compile(r"\d{1,6}(\.\d{1,6})?(/\d{1,4})?", re.ASCII)


def read(
    path: Path,
    *,
    today: date,
    rates: Mapping[str, float] = MappingProxyType({}),
    source: Source | None = None,
    unknown_gpus: bool = False,
) -> PriceList:
    """The offers of a price file; `rates` are USD for one unit of another currency. Raises InputError where
    the file cannot be read as a table of prices."""
    name, now = path.name, today.isoformat()
    text = store.decoded(store.read(path, largest=MAX_BYTES), name).removeprefix("\ufeff")
    # Who gives a price of his own today means that it holds today.
    undated = "" if source is not None else now
    source = source or Source(id="own-prices", title=name, kind="third-party", read_on=now)
    first = next((line for line in text.splitlines() if line.strip()), "")
    # Spreadsheets of half of Europe write semicolons: the comma is their decimal point.
    reader = csv.reader(io.StringIO(text), delimiter=max((",", ";", "\t"), key=first.count))
    try:
        lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as failure:
        message = f"{name}, line {reader.line_num}: {failure}"
        raise InputError(message, hint="give a CSV: one offer a line") from failure
    if not lines:
        raise InputError(f"{name} is empty", hint=f"its first line names the columns: {COLUMNS}")
    columns, ignored = _header(lines[0][1], name)
    offers: list[Offer] = []
    skipped: list[Skipped] = []
    for line, cells in lines[1:]:
        row = {column: cells[i].strip() for column, i in columns.items() if i < len(cells)}
        row["seen_on"] = row.get("seen_on") or undated
        try:
            offers.append(_offer(row, f"line {line}", today, rates, source, unknown_gpus))
        except ValueError as reason:
            skipped.append(Skipped(file=name, line=line, reason=str(reason)))
    return PriceList(offers=tuple(offers), skipped=tuple(skipped), ignored=ignored)


# Further ones are ignored: each is compared with every known name.
MOST_COLUMNS = 100


def _header(cells: Sequence[str], name: str) -> tuple[dict[str, int], tuple[str, ...]]:
    columns: dict[str, int] = {}
    ignored: list[str] = []
    for i, cell in enumerate(cells[:MOST_COLUMNS]):
        word = cell.strip().casefold().replace(" ", "_")
        column = _OTHER_NAMES.get(word, word)
        if column in columns:
            raise InputError(f"{name} has two columns {column!r}", hint="remove one of them")
        if column in NEEDED or column in OPTIONAL:
            columns[column] = i
            continue
        # A mistyped `curency` that was ignored would turn euros into dollars.
        if near := get_close_matches(word[:40], (*NEEDED, *OPTIONAL), n=1, cutoff=0.8):
            message = f"{name} has a column {cell.strip()!r}; did you mean {near[0]!r}?"
            raise InputError(message, hint=f"columns: {COLUMNS}")
        ignored.append(_plain(cell)[:40])
    if missing := [column for column in NEEDED if column not in columns]:
        raise InputError(f"{name} has no column {missing[0]!r}", hint=f"columns: {COLUMNS}")
    return columns, tuple(ignored)


def _offer(
    row: Mapping[str, str],
    locator: str,
    today: date,
    rates: Mapping[str, float],
    source: Source,
    unknown_gpus: bool,
) -> Offer:
    """One row as an offer. Raises ValueError with the reason where it cannot be used."""
    gpu = _plain(row.get("gpu", ""))
    if not gpu:
        raise ValueError("no GPU is named")
    gpu_ids = seller_ids(gpu[:80])
    if not gpu_ids and not unknown_gpus:
        raise ValueError(f"{UNKNOWN_GPU} {gpu[:40]!r}")
    money = units.read_money(row.get("amount", ""))
    if money.amount <= 0:
        raise ValueError(f"an amount of {money.amount:g} is not a price")
    # The kind of the offer and what its amount is for; each may imply the other.
    stated_per = units.read_unit(row["per"]) if row.get("per") else None
    per = _agreed("the amount is for two things", stated_per, money.per)
    said = row.get("kind", "").casefold().replace("_", "-").replace(" ", "-")
    kind = cast(OfferKind, said or ("new" if per == "once" else "on-demand"))
    if kind not in get_args(OfferKind):
        raise ValueError(f"unknown kind {row['kind'][:30]!r}; known: {', '.join(get_args(OfferKind))}")
    per = per or ("hour" if kind in RENTS else "once")
    if (per == "once") == (kind in RENTS):
        raise ValueError(f"kind {kind} with an amount per {per}")
    count = count_of(row.get("count") or "1")
    stated = units.read_currency(row["currency"]) if row.get("currency") else None
    code = _agreed("two currencies", stated, money.currency) or "USD"
    amount, note = money.amount, ""
    if code != "USD":
        if code not in rates:
            raise ValueError(f"in {units.read_currency(code)}: no rate was given")
        amount, note = amount * rates[code], f"{amount:g} {code} at {rates[code]:g} USD"
    amount *= count if per == "gpu-hour" else 1
    # A slice may cost little; its rate for a whole GPU still has to be plausible.
    if not 0 < amount / count <= (MOST_PER_GPU_HOUR if kind in RENTS else MOST_PER_GPU):
        raise ValueError(f"{amount / count:,.4g} USD for one GPU is not a plausible price")
    seen_on = row["seen_on"]
    if seen_on and day(seen_on) > today:
        raise ValueError(f"dated {seen_on}, after today ({today.isoformat()})")
    return Offer(
        gpu=gpu,
        gpu_ids=gpu_ids,
        count=count,
        kind=kind,
        amount=amount,
        provider=_plain(row.get("provider", "")) or "own file",
        instance=_plain(row.get("instance", "")),
        region=_plain(row.get("region", "")),
        seen_on=seen_on,
        source=source,
        locator=locator,
        note="; ".join(text for text in (_plain(row.get("note", "")), note) if text),
        whole=row.get("whole", "").casefold() in ("yes", "true", "1"),
    )


def _agreed(contradiction: str, *stated: str | None) -> str | None:
    """What the column, the amount or both state; None for neither. Raises ValueError where they differ."""
    found = set(filter(None, stated))
    if len(found) > 1:
        raise ValueError(f"{contradiction}: {' and '.join(sorted(found))}")
    return next(iter(found), None)


def _plain(text: str) -> str:
    """One line of printable text: a file never controls the terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def count_of(text: str) -> float:
    """GPUs in an offer: `8`, `0.5` or `1/6` for a slice of one. Raises ValueError for anything else."""
    # The pattern bounds the work: Fraction("1e999999999") would never return.
    parts = text.strip().split("/") if _COUNT.fullmatch(text.strip()) else ["0"]
    divisor = float(parts[1]) if len(parts) > 1 else 1.0
    value = float(parts[0]) / divisor if divisor else 0.0
    if value <= 0:
        raise ValueError(f"unreadable number of GPUs {text[:30]!r}")
    return value
