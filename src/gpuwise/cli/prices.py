"""`gpuwise prices`: what a GPU costs to rent or buy, and when that was seen."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import date
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from gpuwise.cli import print as printer
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import prices
from gpuwise.facts.prices.query import Limit, Order
from gpuwise.model.offer import Offer, OfferKind
from gpuwise.model.units import parse_days, parse_list, parse_rate, parse_usd
from gpuwise.show import prices as report

KINDS: tuple[str, ...] = get_args(OfferKind)

# Characters that the full table needs.
FULL_WIDTH = 190


def today() -> date:
    """The day it is here; a function so that a test can set it."""
    return date.today()


@click.command("prices", short_help="What a GPU costs to rent or buy, and when that was seen.")
@click.argument("what", nargs=-1, metavar="[GPU | update]")
@click.option("--on-demand", is_flag=True, help="Only on-demand rent.")
@click.option("--spot", is_flag=True, help="Only spot (interruptible) rent.")
@click.option("--kind", "kinds", metavar="LIST", help=f"Only these kinds: {', '.join(KINDS)}.")
@click.option("--provider", "providers", metavar="LIST", help="Only these providers.")
@click.option("--count", type=float, help="Only offers of this many GPUs; as in h100:8.")
@click.option("--region", metavar="TEXT", help="Only regions that contain TEXT.")
@click.option(
    "--max", "limit", metavar="PRICE", help="At most '$3/h' (rent) or '$3000' (purchase) for one GPU."
)
@click.option("--newer-than", metavar="AGE", help="Only prices seen in the last 90d, 12w or 1y.")
@click.option(
    "--prices",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Add a CSV of your own for this call: gpu, amount, count, kind, currency, per, seen_on ...",
)
@click.option("--rate", "rates", multiple=True, metavar="EUR=1.08", help="USD for one unit of a currency.")
@click.option("--sort", type=click.Choice(get_args(Order)), default="price", show_default=True)
@click.option("--all", "history", is_flag=True, help="Every sight of an offer, not only the newest.")
@click.option(
    "--top", type=click.IntRange(min=0), default=25, show_default=True, help="Rows shown; 0 for all."
)
@click.option("--wide", is_flag=True, help="Every column, also on a narrow terminal.")
@printer.output_option
@printer.json_option
@click.pass_context
def command(
    ctx: click.Context, /, what: tuple[str, ...], output: Path | None, as_json: bool, **options: Any
) -> None:
    """List what GPU costs: dated offers, newest sight of each, cheapest first.

    Without GPU: lowest and median price of every GPU. `gpuwise prices update` fetches today's prices
    through gpuhunt (pip install "gpuwise[prices]"); nothing else here uses the network.
    """
    printer.check_output(output)
    if what == ("update",):
        _refuse_options(ctx)
        _update(as_json)
        return
    day = today()
    query, count = _split(" ".join(what), options["count"])
    rates = dict(parse_rate(text) for text in options["rates"])
    known = prices.collect(options["files"], today=day, rates=rates)
    wanted = prices.wanted(query, known.offers) if query else None
    found = _select(known.offers, wanted, count, day, options)
    changes = prices.changes(found)
    offers = prices.ordered(found if options["history"] else prices.newest(found), options["sort"])
    _report_skipped(known)
    if wanted is None:
        lines = prices.summary(found)
        content = report.overview(lines, offers, changes, day)
        printer.deliver(
            content,
            lambda: report.overview_document(lines, today=day, skipped=known.skipped),
            as_json=as_json,
            output=output,
        )
        return
    content = report.listing(
        offers,
        changes,
        title=f"Prices of {query!r} in USD, as of {day.isoformat()}",
        today=day,
        top=None if output else options["top"],
        compact=output is None and not options["wide"] and _narrow(),
    )
    printer.deliver(
        content,
        lambda: report.document(offers, changes, query=query, today=day, skipped=known.skipped),
        as_json=as_json,
        output=output,
    )


def _narrow() -> bool:
    """Whether a person looks at a terminal too narrow for every column."""
    return sys.stdout.isatty() and shutil.get_terminal_size().columns < FULL_WIDTH


def _split(text: str, count: float | None) -> tuple[str, float | None]:
    """`h100:8` is the GPU and the count."""
    match = re.fullmatch(r"(.+):(\d{1,6})", text, re.ASCII)
    if match is None:
        return text, count
    if count is not None and count != float(match[2]):
        raise InputError(f"{text!r} and --count {count:g} contradict each other", hint="give one of them")
    return match[1], float(match[2])


def _select(
    offers: tuple[Offer, ...],
    wanted: prices.Wanted | None,
    count: float | None,
    day: date,
    options: dict[str, Any],
) -> tuple[Offer, ...]:
    """The offers that were asked for. Raises NoDataError where there is none."""
    found = prices.select(
        offers,
        today=day,
        wanted=wanted,
        kinds=_kinds(options),
        providers=parse_list(options["providers"] or ""),
        count=count,
        region=options["region"],
        limit=_limit(options["limit"]) if options["limit"] else None,
        newer_than=parse_days(options["newer_than"]) if options["newer_than"] else None,
    )
    if found:
        return found
    name = wanted.query if wanted else ""
    if wanted and not any(wanted.matches(offer) for offer in offers):
        raise NoDataError(
            f"no price of {name!r} is known", hint="gpuwise prices update, or add your own with --prices FILE"
        )
    raise NoDataError("no offer meets all the conditions", hint=f"gpuwise prices {name}".rstrip())


def _limit(text: str) -> Limit:
    """The most that one GPU may cost: `$3/h` of rent, `$3000` to buy."""
    amount, per = parse_usd(text, {}, example=f"${text.strip('$ ') or 2}/h for rent or $2000 for a purchase")
    if per == "kwh":
        raise InputError(f"{text!r} is a price of energy", hint="write $2/h for rent or $2000 for a purchase")
    return Limit(amount=amount, per_hour=per == "hour")


def _kinds(options: dict[str, Any]) -> frozenset[str]:
    """The kinds asked for; none stands for all. Raises InputError for an unknown one."""
    named = parse_list(options["kinds"] or "")
    for kind in named:
        if kind not in KINDS:
            raise InputError(f"unknown kind {kind!r}", hint=f"known: {', '.join(KINDS)}")
    flags = [kind for kind in ("on-demand", "spot") if options[kind.replace("-", "_")]]
    return frozenset((*named, *flags))


def _report_skipped(known: prices.PriceList) -> None:
    for line in report.skipped_lines(known.skipped):
        printer.talk(line)
    if known.ignored:
        printer.talk(f"columns ignored: {', '.join(known.ignored)}")


def _refuse_options(ctx: click.Context) -> None:
    given = [name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if not {"what", "as_json"}.issuperset(given):
        raise InputError("update takes no other option than --json", hint="gpuwise prices update")


def _update(as_json: bool) -> None:
    from gpuwise.facts.prices.fetch import update

    done = update(today())
    if as_json:
        printer.out(printer.json_text(report.update_document(done)))
        return
    for line in report.update_lines(done):
        printer.out(line)
