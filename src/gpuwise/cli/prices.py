"""Prices of GPUs: `gpuwise prices`."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from math import inf, nextafter
from typing import Any, get_args

import click

from gpuwise.cli import print as printer
from gpuwise.cli.options import drawn_output, options, typed
from gpuwise.errors import GateFailed, InputError, NoDataError
from gpuwise.facts.prices import STALE_DAYS, Limit, Order
from gpuwise.jobs.facts import PricesRequest, price_list, rents_over_time
from gpuwise.model.gpu import RENTS, OfferKind
from gpuwise.model.units import parse_rate, parse_usd, some

KINDS: tuple[str, ...] = get_args(OfferKind)
# USD for an hour of one GPU: the dearest known, and less than any card costs.
MOST_RENT = 40.0
# Characters that the full table of prices needs.
FULL_WIDTH = 190


@click.command()
@click.argument("what", nargs=-1, metavar="[GPU | update]")
@options("prices", KINDS=KINDS, order=get_args(Order))
@drawn_output
@click.pass_context
def command(ctx: click.Context, /, what: tuple[str, ...], to: printer.Output, **options: Any) -> None:
    """List what GPU costs: dated offers, newest sight of each, cheapest first.

    Without GPU: lowest and median price of every GPU. `gpuwise prices update` fetches today's prices
    through gpuhunt (pip install "gpuwise[prices]"); nothing else here uses the network.
    """
    from gpuwise.show import prices as show

    if what == ("update",):
        from gpuwise.facts.prices.fetch import update  # the one place that uses the network

        if set(typed(ctx)) - {"--json"}:
            raise InputError("update takes no other option than --json", hint="gpuwise prices update")
        done = update(printer.today())
        said = show.update_lines(done)
        printer.out(printer.json_text(show.update_document(done)) if to.as_json else "\n".join(said))
        return
    if options["over_time"]:
        to.answer(rents_over_time(" ".join(what)))
        return
    printer.check_output(to.file)
    day = printer.today()
    watched = options["watch"] or (" ".join(what) if "<" in " ".join(what) else "")
    request = _request(" ".join(what), watched, options)
    try:
        answer = price_list(request)
    except NoDataError as error:
        if watched:
            lowest = ""
            with suppress(NoDataError):  # of no price at all none is the lowest
                anything = replace(request, limit=request.limit and replace(request.limit, amount=inf))
                lowest = f"; the lowest: {show.lowest(price_list(anything).value.offers)}"
            raise GateFailed(f"no fresh offer with {watched}{lowest}") from None
        error.args = ("; ".join(filter(None, (str(error), _mixed(request)))),)
        raise
    priced, table = answer.value, answer.table
    for line in show.skipped_lines(priced.skipped):
        printer.talk(line)
    if priced.ignored:
        printer.talk(f"columns ignored: {some(priced.ignored)}")
    hints = ["the offers of one GPU: gpuwise prices NAME"] if priced.lines else []
    # What a person reads at once; files and JSON hold every offer.
    if priced.lines and to.file is None:
        each = priced.lines
        if {"--top", "--sort"}.intersection(typed(ctx)):  # all of them are listed by name
            cheap = sorted(each, key=lambda line: line.on_demand.lowest if line.on_demand else inf)
            each = tuple(cheap[: options["top"] or None])
        table = show.overview(each, priced.offers, priced.changes, day)
    elif priced.gpu and to.file is None:
        compact = not options["wide"] and (printer.columns() or FULL_WIDTH) < FULL_WIDTH
        table = show.listing(
            priced.offers, priced.changes, title=table.title, today=day, top=options["top"],
            compact=compact,
        )  # fmt: skip
        if len(table.rows) < len(priced.offers):
            hints.append(f"{len(table.rows)} of {len(priced.offers)} offers shown; all of them: --top 0")
        if compact:
            hints.append("instance, source and note of each offer: --wide, or -o FILE.csv")
    met = f"{watched}: yes: {show.lowest(priced.offers)}" if watched else ""
    before = filter(None, (met, *table.before, _mixed(request)))
    table = replace(table, before=tuple(before), notes=(*hints, *table.notes))
    to.table(table, answer.to_data, fit=True)


def _request(what: str, watched: str, options: dict[str, Any]) -> PricesRequest:
    """What is asked for, `watched` being "GPU<PRICE". Raises InputError for what cannot be read."""
    ceiling, newer_than = options["limit"], options["newer_than"]
    if watched:
        what, below, price = (part.strip() for part in watched.partition("<"))
        if not below or not what:
            raise InputError(f"cannot read {watched!r}", hint="write it like 'h100<$2.00/h'")
        ceiling, newer_than = price.strip(" =").removeprefix("$"), newer_than or STALE_DAYS
    words = what.split()  # "used 3090", "spot h100"
    kinds = {*(options["kinds"] or ()), *(kind for kind in KINDS if kind in words)}
    flags = {kind: (kind.replace("-", "_"), "rent" if kind in RENTS else "buy") for kind in KINDS}
    kinds |= {kind for kind, names in flags.items() if any(map(options.get, names))}
    if unknown := kinds.difference(KINDS):
        raise InputError(f"unknown kind {min(unknown)!r}", hint=f"known: {', '.join(KINDS)}")
    limit = None
    if ceiling:  # `$3/h` of rent, `$3000` to buy; without a time what it can be
        plain = re.fullmatch(r"\$?\s*([\d.,]+)\s*(/.*)?", ceiling.strip())
        example = f"'${plain[1] if plain else 2}/h' for rent or '$2000' for a purchase"
        typed_amount = f"${plain[1]}{plain[2] or ''}" if plain else ceiling
        amount, per = parse_usd(typed_amount, {}, example=example)
        may_be_rent = amount < MOST_RENT or not kinds.isdisjoint(RENTS)
        if plain and not plain[2] and not options["buy"] and may_be_rent:
            per = "hour"
        if per == "kwh":
            hint = "write $2/h for rent or $2000 for a purchase"
            raise InputError(f"{ceiling!r} is a price of energy", hint=hint)
        below_it = watched and "=" not in watched  # not at the price
        limit = Limit(amount=nextafter(amount, 0) if below_it else amount, per_hour=per == "hour")
    return PricesRequest(
        gpu=" ".join(word for word in words if word not in KINDS),
        kinds=frozenset(kinds),
        providers=options["providers"] or (),
        limit=limit,
        newer_than=newer_than,
        rates=dict(parse_rate(text) for text in options["rates"]),
        today=printer.today(),
        **{name: options[name] for name in ("count", "region", "files", "order", "every_sight")},
    )


def _mixed(request: PricesRequest) -> str:
    """Prices of used and new cards together, where only used ones were asked for; empty without any."""
    from gpuwise.show import prices as show

    with suppress(NoDataError):
        if request.gpu and "used" in request.kinds and "street" not in request.kinds:
            mixed = price_list(replace(request, kinds=frozenset({"street"}))).value.offers
            at = show.bought(mixed, printer.today())
            return f"not among these, as it counts new ones, too: {at}; --kind street"
    return ""
