"""Which GPU to buy or rent for a piece of work, and why; results and GPUs against each other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwise import store
from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import catalog, prices
from gpuwise.jobs import Answer
from gpuwise.jobs.facts import Facts
from gpuwise.judge.choose import decide, speeds
from gpuwise.judge.choose.candidates import offered, usable
from gpuwise.judge.choose.fit import loosened, no_price
from gpuwise.judge.choose.need import need_for, settled
from gpuwise.judge.choose.speeds import Forecast
from gpuwise.model.gpu import GpuSpec, Offer
from gpuwise.model.judgement import Need, Recommendation
from gpuwise.model.question import Asked
from gpuwise.model.result import Comparison, Issue, Record, Result

if TYPE_CHECKING:
    from gpuwise.stats.comparison import Condition
    from gpuwise.stats.interval import Spread

__all__ = ["CompareRequest", "choose", "compare", "compare_gpus", "need_for", "offers_with", "stored_spread"]

# Years that a search for older prices goes back, one step after the other.
AGES = (1, 2, 3, 5)
# GPUs without a price that were asked for and that are named, each with its reason.
SAID = 4


def choose(
    need: Need | str,
    facts: Facts | None = None,
    *,
    forecast: Forecast | None = None,
    every_provider: bool = False,
    other_precisions: bool = True,
) -> Answer[Recommendation]:
    """Rank GPUs by what the work costs on them, with intervals, reasons and what would change the answer.

    `facts` hold offers, results and the day, by default all that is known today. `other_precisions` also says
    what the first option would be in each of them. Raises InputError where limits contradict each other, with
    the one to relax and by how much; NoDataError where no GPU has both a speed and a price.
    """
    from gpuwise.predict.forecast import forecast as predicted  # numpy: only when it is asked

    need = settled(need_for(need) if isinstance(need, str) else need)
    ask: Forecast = forecast or predicted
    facts = facts or Facts()
    results, published, today = facts.results, facts.published, facts.today
    prices.select(facts.offers, today=today, providers=need.providers)  # refuses one that nobody knows
    # Once: the thousands of other offers would be looked through again for each precision.
    # Who names a provider knows its prices.
    believed = facts.offers if need.providers else prices.believable(facts.offers, today)
    offers = usable(need, believed, today)

    def known(wanted: Need) -> tuple[Record, ...]:
        asked = offered(wanted, offers, today)
        return speeds.gather(wanted, asked, ask, results=results, published=published)

    item, asked = speeds.item_of(need), need.only or tuple(dict.fromkeys(gpu for gpu, _ in need.sets))

    def recommended(wanted: Need) -> Recommendation:
        return decide.recommend(
            wanted, known(wanted), offers, today=today, item=item, every_provider=every_provider
        )

    try:
        found = recommended(need)
    except InputError as error:
        raise loosened(error, need, recommended) if error.code == "limits" else error from None
    except NoDataError as error:
        if error.code != "no-price":
            raise
        # Prices that are too old may be all there are: how old says which answer could be had.
        for age in (years * 365 for years in AGES if years * 365 > (need.assumptions.max_age_days or 10**6)):
            looser = replace(need, assumptions=replace(need.assumptions, max_age_days=age, aged_today=True))
            offers = usable(looser, believed, today)
            try:
                recommended(looser)
            except GpuwiseError:
                continue
            hint = "older prices are known"
            raise NoDataError(str(error), hint=hint, code="old-price", days=age) from error
        if 0 < len(asked) <= SAID:  # who names them wants to know why not
            why = "; ".join(f"{gpu}: {no_price(need, gpu, believed)}" for gpu in asked)
            raise NoDataError(why, hint=error.hint, code=error.code) from error
        raise
    # Nobody sells them, so nobody was asked how fast they are: half of the catalog.
    priced = offered(need, offers, today)
    unpriced = [gpu for gpu in asked or facts.ids if gpu not in priced]
    left = {**found.rejected, **{gpu: Issue.info("", no_price(need, gpu, believed)) for gpu in unpriced}}
    listed = max((o.listed_on or o.seen_on for o in facts.offers if o.source.id != "own-prices"), default="")
    found = replace(found, rejected=left, prices_on=min(listed, today.isoformat()))
    if other_precisions:
        if need.acquire != "own" and found.options[0].way != "have":
            everything = replace(need, spot=True, community=True, reserved=True, serverless=True)
            allowed = usable(everything, believed, today)
            counts = offered(everything, allowed, today)
            fast = speeds.gather(everything, counts, ask, results=results, published=published)
            wide = decide.recommend(everything, fast, allowed, today=today, item=item)
            found = decide.with_excluded(found, wide)
        others = {n.precision: known(n) for n in speeds.alternatives(need, found.options[0].count)}
        found = decide.with_precisions(found, others, offers, today=today)
    from gpuwise.show import choice as show
    from gpuwise.store.choice import encode_choice

    return Answer(
        found=found,
        to_table=lambda: show.whole(found),
        to_data=lambda: encode_choice(found),
        to_chart=lambda: show.chart(found),
        issues=tuple(
            Issue.info(why.code or "no-speed-or-price", f"{gpu}: {why.detail}") for gpu, why in left.items()
        ),
    )


def offers_with(files: Sequence[Path], rates: dict[str, float], today: date) -> tuple[Offer, ...]:
    """Every known offer and those of `files`. Raises InputError for a row that cannot be used."""
    # A row that was skipped might have decided.
    known = prices.collect(files, today=today, rates=rates)
    names = {path.name for path in files}
    if bad := [skip for skip in known.skipped if skip.file in names]:
        raise InputError(f"{bad[0].file}, line {bad[0].line}: {bad[0].reason}", hint="mend or remove the row")
    return known.offers


# Results of the store that are read to see how runs differ: later ones are of today's driver and software.
NEWEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest(Asked):
    """Two or more results, the baseline first."""

    results: tuple[Result, ...]
    names: tuple[str, ...] = ()  # What to call each in the table; their ids where none are given
    fail_if: Condition | None = None
    """A gate: the exit status is 1 where a comparison meets it, as of `parse_condition("slower>5%")`."""


Compared = tuple[tuple[Result, tuple[Comparison, ...]], ...]


def compare(request: CompareRequest | Sequence[Result]) -> Answer[Compared]:
    """Every measurement of the baseline against its counterpart in each other result.

    The issues name measurements without a counterpart (`no-counterpart`) and what meets the gate (`gate`).
    Raises InputError for fewer than two results, NoDataError where they have no measurement in common.
    """
    from gpuwise.show import comparisons as show
    from gpuwise.stats.comparison import pair, violations

    request = CompareRequest.of(request, "results")
    if len(request.results) < 2:
        raise InputError("compare needs two things", hint="name another result")
    baseline, *others = request.results
    names = request.names or tuple(result.id for result in request.results)
    found = tuple((other, pair(baseline, other, stored_spread((baseline, other)))) for other in others)
    every = [comparison for _, comparisons in found for comparison in comparisons]
    if not every:
        raise NoDataError("the results have no measurement in common", hint="see what each of them holds")
    failed = violations(every, request.fail_if) if request.fail_if is not None else ()
    # A row that silently drops out would look like one that is fine.
    issues = [Issue(code="gate", severity="invalid", detail=comparison.cell) for comparison in failed]
    for (other, comparisons), name in zip(found, names[1:], strict=True):
        met = {id(m) for c in comparisons for m in (c.a, c.b)}
        for owner, result in ((names[0], baseline), (name, other)):
            alone = [m.config.label() for m in result.measurements if id(m) not in met]
            issues += [
                Issue(code="no-counterpart", severity="info", detail=f"only in {owner}: {label}")
                for label in dict.fromkeys(alone)
            ]
    return Answer(
        found=found,
        issues=tuple(issues),
        exit_status=1 if failed else 0,
        to_table=lambda: show.comparisons(baseline, found, names=names),
        to_data=lambda: show.document(baseline, found),
        to_chart=lambda: show.chart(found, names),
    )


def stored_spread(results: Sequence[Result]) -> Spread | None:
    """How runs differ on cards of these results' kinds, from what else the store holds of them; None where
    nothing there was measured twice."""
    from gpuwise.stats.comparison import run_to_run

    places = [result.environment for result in results]
    slugs = {store.slug(place.gpu_id or place.device) for place in places}
    own = {result.id for result in results}
    kept = [
        path
        for path in store.saved()
        if path.stem not in own and any(f"-{slug}-" in path.name for slug in slugs)
    ]
    found = []
    for path in kept[-NEWEST:]:
        with suppress(InputError):  # a damaged file of the store is no reason not to compare
            found.append(store.load(path))
    return run_to_run(found, {place.device for place in places})


def compare_gpus(specs: Sequence[GpuSpec | str]) -> Answer[tuple[GpuSpec, ...]]:
    """The specifications of two or more GPUs, by entries or names of the catalog.

    Raises InputError for fewer than two, or a name that is unknown.
    """
    from gpuwise.show import gpus as show

    found = tuple(catalog.find(one) if isinstance(one, str) else one for one in specs)
    if len(found) < 2:
        # Any GPU but the one that was named makes a fair suggestion.
        other = "rtx-4090" if not found or found[0].id != "rtx-4090" else "rtx-5090"
        ids = tuple(spec.id for spec in found)
        hint = f"name another GPU, such as {other}"
        raise InputError("compare needs two things", hint=hint, code="compare", names=ids, other=other)
    return Answer(
        found=found,
        to_table=lambda: show.side_by_side(found),
        to_data=lambda: [show.document(spec) for spec in found],
    )
