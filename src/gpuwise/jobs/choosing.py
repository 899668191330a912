"""Which GPU to buy or rent for a piece of work, why, and what would change the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from gpuwise.errors import InputError
from gpuwise.facts import prices
from gpuwise.jobs.answer import Answer
from gpuwise.jobs.facts import Facts
from gpuwise.judge.choose import decide, speeds
from gpuwise.judge.choose.candidates import offered, usable
from gpuwise.judge.choose.fit import no_price
from gpuwise.judge.choose.need import check, need_for
from gpuwise.judge.choose.speeds import Forecast
from gpuwise.model.choice import Need, Recommendation, Rejected
from gpuwise.model.issue import Issue
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record
from gpuwise.model.result import Result

__all__ = ["choose", "need_for", "offers_with", "owned"]


def choose(
    need: Need, facts: Facts | None = None, *, forecast: Forecast | None = None, every_provider: bool = False,
    other_precisions: bool = True,
) -> Answer[Recommendation]:  # fmt: skip
    """Rank GPUs by what the work costs on them, with intervals, reasons and what would change the answer.

    `facts` hold offers, results and the day, by default all that is known today. `other_precisions` also says
    what the first option would be in each of them. Raises InputError where limits contradict each other, with
    the one to relax and by how much; NoDataError where no GPU has both a speed and a price.
    """
    from gpuwise.predict.forecast import forecast as predicted  # numpy: only when it is asked

    check(need)
    ask: Forecast = forecast or predicted
    facts = facts or Facts()
    results, published, today = facts.results, facts.published, facts.today
    prices.select(facts.offers, today=today, providers=need.providers)  # refuses one that nobody knows
    # Once: the thousands of other offers would be looked through again for each precision.
    offers = usable(need, facts.offers, today)

    def known(wanted: Need) -> tuple[Record, ...]:
        asked = offered(wanted, offers, today)
        return speeds.gather(wanted, asked, ask, results=results, published=published)

    item = speeds.item_of(need)
    found = decide.recommend(need, known(need), offers, today=today, item=item, every_provider=every_provider)
    # Nobody sells them, so nobody was asked how fast they are: half of the catalog.
    priced = offered(need, offers, today)
    unpriced = tuple(
        Rejected(gpu_id=gpu, reason=no_price(need, gpu))
        for gpu in need.only or facts.ids
        if gpu not in priced
    )
    found = replace(found, rejected=(*found.rejected, *unpriced))
    if other_precisions:
        others = {n.precision: known(n) for n in speeds.alternatives(need, found.options[0].count)}
        found = decide.with_precisions(found, others, offers, today=today)
    left_out = tuple(
        Issue(code=r.constraint or "no-speed-or-price", severity="info", detail=f"{r.gpu_id}: {r.reason}")
        for r in found.rejected
    )
    return answer(found, left_out)


def answer(found: Recommendation, issues: tuple[Issue, ...] = ()) -> Answer[Recommendation]:
    """A recommendation, made now or read from a file, as an answer."""
    from gpuwise.show import choice as show
    from gpuwise.store import choice as kept

    return Answer(
        found=found,
        issues=issues,
        to_table=lambda: show.whole(found),
        to_data=lambda: kept.encode(found),
        to_chart=lambda: show.chart(found),
    )


def offers_with(files: Sequence[Path], rates: dict[str, float], today: date) -> tuple[Offer, ...]:
    """Every known offer and those of `files`. Raises InputError for a row that cannot be used."""
    # A row that was skipped might have decided.
    known = prices.collect(files, today=today, rates=rates)
    names = {path.name for path in files}
    if bad := [skip for skip in known.skipped if skip.file in names]:
        raise InputError(f"{bad[0].file}, line {bad[0].line}: {bad[0].reason}", hint="mend or remove the row")
    return known.offers


def owned(result: Result) -> str:
    """The GPU that a result was measured on. Raises InputError where the catalog does not know it."""
    return speeds.gpu_of(result)
