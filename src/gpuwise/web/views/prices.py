"""What GPUs cost to rent and to buy: all in a list, and one with its offers and rents by month."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.errors import NoDataError
from gpuwise.facts import prices
from gpuwise.facts.catalog import resolve
from gpuwise.jobs.facts import Facts
from gpuwise.show import prices as show
from gpuwise.show.page import Page, References, Section
from gpuwise.web.view import Asked, View


def listing(facts: Facts, asked: Asked) -> View:
    """One row a GPU that a seller names exactly, or a family of which nobody says the variant."""
    offers = facts.offers
    every, part = prices.summary(offers, facts.today), asked.text("q").casefold()
    lines = tuple(line for line in every if part in line.gpu.casefold())
    table = show.overview(lines, offers, prices.changes(offers), facts.today)
    return View(
        title="Prices",
        template="prices.html",
        table=table,
        document=lambda: show.overview_document(lines, today=facts.today),
        content={"asked": asked, "prices": table},
        links={line.gpu: f"/prices/{line.gpu_ids[0]}" for line in lines if len(line.gpu_ids) == 1},
    )


def one(facts: Facts, asked: Asked) -> View:
    """Every offer of a GPU. Raises InputError for an unknown one, NoDataError where nobody offers it."""
    spec = resolve(asked.path[0]).spec
    mine = tuple(offer for offer in facts.offers if offer.gpu_ids == (spec.id,))
    months = tuple(month for month in prices.history() if month.gpu_ids == (spec.id,))
    if not mine and not months:
        raise NoDataError(f"no price of exactly the {spec.name} is known", hint="see every price")
    cited = References()
    offers = prices.ordered(prices.newest(mine), "price", facts.today)
    every = show.listing(offers, prices.changes(mine), title="", today=facts.today) if offers else None
    sums = show.offered(mine, [spec], facts.today, cited)
    if every:  # the sources stand at the end of the page
        every = replace(every, notes=tuple(n for n in every.notes if not n.startswith("source ")))
    page = Page(
        title=f"Prices of the {spec.name}", subtitle="", summary=(), made_on=facts.today.isoformat(),
        sections=(
            Section(id="now", title="What it costs now", tables=sums),
            Section(id="history", title="Rent by month", figures=show.history(months, spec.name)),
            Section(
                id="offers", title="Every offer",
                tables=(every.without({"variant", "age"}),) if every else (),
            ),
        ),
        sources=cited.sources,
    )  # fmt: skip
    return View(
        title=page.title,
        template="document.html",
        table=every or show.over_time(months, spec.name),
        document=lambda: show.document(offers, prices.changes(mine), query=spec.id, today=facts.today),
        content={"page": replace(page, title=spec.name), "lead": "", "gpu": spec.id},
    )


def offered(facts: Facts) -> tuple[str, ...]:
    """Ids of the GPUs that have a page of prices."""
    named = {ids[0] for ids in (offer.gpu_ids for offer in facts.offers) if len(ids) == 1}
    return tuple(gpu_id for gpu_id in facts.studied if gpu_id in named)
