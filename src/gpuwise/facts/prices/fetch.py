"""Fetch today's prices through gpuhunt: the one place of gpuwise that touches the network.

gpuhunt lists whole instances: `price` is USD per hour for all `gpu_count` GPUs, `gpu_memory` GB of one.
Rows without a GPU (the host alone), without a price, and chips that are not GPUs are left out and counted; a
share of a GPU (less memory than the card has) counts as that fraction. Of all regions of an instance the
cheapest is kept. The file is replaced only after everything was fetched: a failure loses nothing. A proxy is
the one that HTTPS_PROXY names, as for every program that uses requests.
"""

from __future__ import annotations

import csv
import io
import logging
import socket
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpuwise import store
from gpuwise.errors import MachineError, NoDataError, optional
from gpuwise.facts.catalog import rows
from gpuwise.facts.prices import MARKETS, fetched_path

COLUMNS = ("gpu", "count", "kind", "amount", "currency", "per", "provider", "instance", "region", "seen_on")
# gpuhunt's spelling of providers that the shipped facts name otherwise.
_SAME = {"lambdalabs": "lambda", "vastai": "vast", "oci": "oracle cloud", "datacrunch": "verda"}
_NO_GPU = ("google", "tenstorrent")
# How far below its size a driver rounds a card's memory; less is a slice.
_ROUNDED = 0.9
# Seconds to wait for one answer.
WAIT_S = 30.0
_Row = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The fetched offers, and those that were left out."""

    path: Path
    seen_on: str
    offers: int
    providers: tuple[str, ...]
    silent: tuple[str, ...]  # Providers that did not answer; their former offers stay
    left_out: Mapping[str, int]  # How many rows, by reason


def update(today: date, library: Any = None) -> Update:
    """Fetch every offer that gpuhunt can see and keep them in the home folder, dated `today`.

    The former offers of a provider that did not answer now stay, with their date. Raises MachineError
    without gpuhunt or network, NoDataError where nothing came back; then the former file stays as it is.
    """
    library = library or optional("gpuhunt", "fetching prices needs gpuhunt", "prices")
    items, failed = _fetch(library)
    memory: dict[str, frozenset[float]] = {}
    for gpu in getattr(library, "KNOWN_ACCELERATORS", ()):
        name = gpu.name.casefold()
        memory[name] = memory.get(name, frozenset()) | {float(gpu.memory)}
    kept, left_out = convert(items, memory, today)
    if not kept:
        raise NoDataError("gpuhunt returned no GPU offer; the prices fetched before stay", hint="try later")
    # A provider that is silent today was not closed: what it asked last stays, with its date.
    path, providers = fetched_path(), {row["provider"] for row in kept}
    # The rows fetched before; none where the file is missing or damaged.
    former: list[_Row] = []
    with suppress(OSError, UnicodeDecodeError, csv.Error):
        former = [r for r in rows(path) if list(r) == list(COLUMNS) and None not in r.values()]
    if (newest := max((row["seen_on"] for row in former), default="")) > today.isoformat():
        problem = f"the prices kept are of {newest}, after today ({today.isoformat()}); they stay"
        raise MachineError(problem, hint=f"set the clock, or remove {path}")
    former = [row for row in former if row["provider"] not in providers]
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows([*kept, *former])
    store.write(text.getvalue().encode(), path)
    return Update(
        path=path,
        seen_on=today.isoformat(),
        offers=len(kept),
        providers=tuple(sorted(providers)),
        silent=tuple(sorted((failed | {row["provider"] for row in former}) - providers)),
        left_out=MappingProxyType(dict(left_out)),
    )


def convert(
    items: Iterable[Any], known_memory: Mapping[str, frozenset[float]], today: date
) -> tuple[tuple[_Row, ...], Counter[str]]:
    """gpuhunt's items as rows of a price file, the cheapest region of each, and what was left out."""
    cheapest: dict[tuple[str, ...], _Row] = {}
    left_out: Counter[str] = Counter()
    for item in items:
        try:
            row = _row(item, known_memory, today)
        except ValueError as reason:
            left_out[str(reason)] += 1
            continue
        # Regions of one instance differ by a few per cent: a list of all would be ten times as long.
        key = tuple(row[column] for column in ("provider", "instance", "gpu", "count", "kind"))
        if key in cheapest:
            left_out["more expensive region of the same instance"] += 1
        if key not in cheapest or float(row["amount"]) < float(cheapest[key]["amount"]):
            cheapest[key] = row
    return tuple(cheapest[key] for key in sorted(cheapest)), left_out


def _row(item: Any, known_memory: Mapping[str, frozenset[float]], today: date) -> _Row:
    """One item as a row. Raises ValueError with the reason where it is not a price of a GPU."""
    if not item.gpu_count or not item.gpu_name:
        raise ValueError("host without GPU")
    if getattr(item.gpu_vendor, "value", item.gpu_vendor) in _NO_GPU:
        raise ValueError("no GPU")
    # A price of 0 is gpuhunt's word for "not offered", as with spot prices.
    if not item.price or item.price <= 0:
        raise ValueError("no price")
    # The part of a GPU that is offered: 1, or memory over the card's where only a slice is rented.
    memories, share = known_memory.get(item.gpu_name.casefold()), Fraction(1)
    if item.gpu_memory and memories and item.gpu_memory < _ROUNDED * min(memories):
        if len(memories) > 1:
            raise ValueError("slice of a GPU of unknown size")
        share = Fraction(item.gpu_memory / min(memories)).limit_denominator(64)
    provider = _provider(item.provider)
    whole = "" if share != 1 or not item.gpu_memory else f" {item.gpu_memory:g}GB"
    kind = "spot" if item.spot else "community" if provider in MARKETS else "on-demand"
    return {
        "gpu": f"{item.gpu_name}{whole}",
        "count": str(Fraction(item.gpu_count) * share),
        "kind": kind,
        "amount": f"{item.price:.6f}",
        "currency": "USD",
        "per": "hour",
        "provider": provider,
        "instance": item.instance_name or "",
        "region": item.location or "",
        "seen_on": today.isoformat(),
    }


def _fetch(library: Any) -> tuple[list[Any], set[str]]:
    """Every item of every provider that answers, and the providers that do not. Each is asked alone: in one
    query for all, gpuhunt lets a single failing provider fail everything."""
    # Its log prints a traceback for every provider that does not answer; they are returned instead.
    logging.getLogger("gpuhunt").setLevel(logging.CRITICAL)
    items: list[Any] = []
    failed: dict[str, Exception] = {}
    # It waits for a silent server for ever.
    former_wait_s, loaded = socket.getdefaulttimeout(), set[str]()
    socket.setdefaulttimeout(WAIT_S)
    # gpuhunt passes on whatever its providers' libraries raise; each of it means: not fetched.
    try:
        catalog = library.default_catalog()
        names = [*catalog.catalog, *(provider.NAME for provider in catalog.providers)]
        loaded = {_provider(name) for name in names}
        for name in names:
            try:
                items += catalog.query(provider=name, min_gpu_count=1)
            except Exception as failure:  # noqa: BLE001
                failed[_provider(name)] = failure
    except Exception as failure:
        raise _unreachable(failure) from failure
    finally:
        socket.setdefaulttimeout(former_wait_s)
    if failed and len(failed) == len(names):
        first = next(iter(failed.values()))
        raise _unreachable(first) from first
    # A list that could not be loaded is only logged by gpuhunt.
    every = getattr(sys.modules.get(type(catalog).__module__), "OFFLINE_PROVIDERS", ())
    return items, {*failed, *(_provider(name) for name in every)} - (loaded - failed.keys())


def _unreachable(failure: Exception) -> MachineError:
    """The first cause of a failure: an error of gpuhunt hides the one of the network."""
    cause: BaseException = failure
    while cause.__cause__ is not None:
        cause = cause.__cause__
    reason = f"{type(cause).__name__}: {cause}".rstrip(": ")
    message = f"prices could not be fetched ({reason}); those fetched before stay"
    hint = "check the network and HTTPS_PROXY, then fetch again"
    return MachineError(message, hint=hint, code="fetch-prices")


def _provider(name: str) -> str:
    return _SAME.get(name.casefold(), name.casefold())
