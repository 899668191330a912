"""What GPUs cost: `gpuwise prices`."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from math import nextafter
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from gpuwise.cli import print as printer
from gpuwise.errors import GateFailed, InputError, NoDataError
from gpuwise.facts.prices import STALE_DAYS, Limit, Order
from gpuwise.jobs.facts import PricesRequest, price_list, rents_over_time
from gpuwise.model.gpu import RENTS, OfferKind
from gpuwise.model.units import parse_days, parse_list, parse_rate, parse_usd

KINDS: tuple[str, ...] = get_args(OfferKind)
# Characters that the full table of prices needs.
FULL_WIDTH = 190


@click.command("prices", short_help="What a GPU costs to rent or buy, and when that was seen.")
@click.argument("what", nargs=-1, metavar="[GPU | update]")
@click.option("--on-demand", is_flag=True, help="Only on-demand rent.")
@click.option("--spot", is_flag=True, help="Only spot (interruptible) rent.")
@click.option("--rent", is_flag=True, help="Only rent.")
@click.option("--buy", is_flag=True, help="Only purchases, new and used.")
@click.option("--kind", "kinds", default="", metavar="LIST", help=f"Only these kinds: {', '.join(KINDS)}.")
@click.option("--provider", "providers", default="", metavar="LIST", help="Only these providers.")
@click.option("--count", type=float, help="Only offers of this many GPUs; as in h100:8.")
@click.option("--region", metavar="TEXT", help="Only regions that contain TEXT.")
@click.option(
    "--max", "limit", metavar="PRICE", help="At most '$3/h' (rent) or '$3000' (purchase) for one GPU."
)
@click.option("--newer-than", metavar="AGE", help="Only prices seen in the last 90d, 12w or 1y.")
@printer.files(
    "--prices",
    "files",
    help="Add a CSV of your own for this call: gpu, amount, count, kind, currency, per, seen_on ...",
)
@click.option("--rate", "rates", multiple=True, metavar="EUR=1.08", help="USD for one unit of a currency.")
@click.option("--sort", type=click.Choice(get_args(Order)), default="price", show_default=True)
@click.option("--all", "history", is_flag=True, help="Every sight of an offer, not only the newest.")
@click.option(
    "--top", type=click.IntRange(min=0), default=25, show_default=True, help="Rows shown; 0 for all."
)
@click.option("--wide", is_flag=True, help="Every column, also on a narrow terminal.")
@click.option("--over-time", is_flag=True, help="Rents by month and provider; -o FILE.svg draws them.")
@click.option("--watch", metavar="'h100<2.00'", help="Exit 0 if a fresh offer is below this, else 1.")
@printer.drawn_output
@click.pass_context
def command(
    ctx: click.Context, /, what: tuple[str, ...], output: Path | None, as_json: bool, **options: Any
) -> None:
    """List what GPU costs: dated offers, newest sight of each, cheapest first.

    Without GPU: lowest and median price of every GPU. `gpuwise prices update` fetches today's prices
    through gpuhunt (pip install "gpuwise[prices]"); nothing else here uses the network.
    """
    from gpuwise.show import prices as show

    day = printer.today()
    if what == ("update",):
        given = [name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        if not {"what", "as_json"}.issuperset(given):
            raise InputError("update takes no other option than --json", hint="gpuwise prices update")
        from gpuwise.facts.prices.fetch import update  # the one place that uses the network

        done = update(day)
        lines = [printer.json_text(show.update_document(done))] if as_json else show.update_lines(done)
        printer.out("\n".join(lines))
        return
    if options["over_time"]:
        printer.deliver_answer(rents_over_time(" ".join(what)), as_json=as_json, output=output)
        return
    printer.check_output(output)
    if watched := options["watch"] or (" ".join(what) if "<" in " ".join(what) else ""):
        gpu, below, price = watched.partition("<")
        if not below or not gpu.strip():
            raise InputError(f"cannot read {watched!r}", hint="write it like 'h100<$2.00/h'")
        # Without a unit it is a rent: that is what changes by the hour.
        plain = re.fullmatch(r"\s*=?\s*\$?([\d.,]+)\s*", price)
        what, options["limit"] = (gpu.strip(),), f"${plain[1]}/h" if plain else price.lstrip("= ")
        options["newer_than"] = options["newer_than"] or f"{STALE_DAYS}d"
    flags = {"on-demand": options["on_demand"], "spot": options["spot"]}
    kinds = {*parse_list(options["kinds"]), *(kind for kind, given in flags.items() if given)}
    kinds |= {kind for kind in KINDS if options["rent" if kind in RENTS else "buy"]}
    if unknown := kinds.difference(KINDS):
        raise InputError(f"unknown kind {min(unknown)!r}", hint=f"known: {', '.join(KINDS)}")
    request = PricesRequest(
        gpu=" ".join(what),
        kinds=frozenset(kinds),
        providers=parse_list(options["providers"]),
        count=options["count"],
        region=options["region"],
        limit=_limit(options["limit"], below=bool(watched) and "=" not in watched)
        if options["limit"]
        else None,
        newer_than=parse_days(options["newer_than"]) if options["newer_than"] else None,
        files=options["files"],
        rates=dict(parse_rate(text) for text in options["rates"]),
        order=options["sort"],
        every_sight=options["history"],
        today=day,
    )
    try:
        answer = price_list(request)
    except NoDataError:
        if watched:
            raise GateFailed(f"no fresh offer with {watched}") from None
        raise
    found, table = answer.found, answer.table
    for line in show.skipped_lines(found.skipped):
        printer.talk(line)
    if found.ignored:
        printer.talk(f"columns ignored: {', '.join(found.ignored)}")
    hints = [] if found.gpu else ["the offers of one GPU: gpuwise prices NAME"]
    if found.gpu and output is None:
        # What a person reads at once; files and JSON hold every offer.
        compact = not options["wide"] and narrow()
        table = show.listing(
            found.offers, found.changes, title=table.title, today=day, top=options["top"], compact=compact
        )
        if len(table.rows) < len(found.offers):
            hints.append(f"{len(table.rows)} of {len(found.offers)} offers shown; all of them: --top 0")
        if compact:
            hints.append("date, instance, region and note of each offer: --wide, or -o FILE.csv")
    table = replace(table, notes=(*hints, *table.notes))
    printer.deliver(table, answer.to_data, as_json=as_json, output=output)


def narrow() -> bool:
    """Whether a person looks at a terminal too narrow for every column."""
    return sys.stdout.isatty() and shutil.get_terminal_size().columns < FULL_WIDTH


def _limit(text: str, *, below: bool = False) -> Limit:
    """The most that one GPU may cost: `$3/h` of rent, `$3000` to buy; `below`: less than that."""
    number = text.strip("$ ").partition("/")[0].strip() or 2
    amount, per = parse_usd(text, {}, example=f"${number}/h for rent or $2000 for a purchase")
    if per == "kwh":
        raise InputError(f"{text!r} is a price of energy", hint="write $2/h for rent or $2000 for a purchase")
    return Limit(amount=nextafter(amount, 0) if below else amount, per_hour=per == "hour")
