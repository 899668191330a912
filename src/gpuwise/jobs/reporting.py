"""Results as one page, everything known of a GPU, and two GPUs head to head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import isfinite
from typing import TYPE_CHECKING

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.facts import prices, published
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import FitRequest, fit
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Asked
from gpuwise.model.result import Record, Result
from gpuwise.predictor.card import is_measured
from gpuwise.predictor.rates import transfer_half
from gpuwise.show.article import MOST, Contest
from gpuwise.show.card import Card
from gpuwise.show.hardware import ReportInput
from gpuwise.show.page import Page, References
from gpuwise.show.records import BATCHED, BATCHES, COUNTS, KINDS, SCALED
from gpuwise.show.table import Answer

if TYPE_CHECKING:
    from gpuwise.judge.choose.fit import Use

PREDICTED = ("train", "infer")
"""Modes of which single measurements are forecast."""

# Uses of a language model that fewer bits put on smaller GPUs.
_SMALLER: Mapping[str, FitRequest] = {
    "llm-inference": FitRequest(model="llama-3.1-8b", weights=("int4", "q4_k_m")),
    "llm-finetuning": FitRequest(model="llama-3.1-8b", tasks=("qlora",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest(Asked):
    """Results to report together."""

    results: tuple[Result, ...]


def report(request: ReportRequest | Sequence[Result], facts: Facts | None = None) -> Answer[Page]:
    """The results with their limits, cautions, published and predicted speeds, as one page.

    `show.html.html(answer.value)` makes one file of it that needs no network. Raises NoDataError where the
    results hold no measurement that a page could show.
    """
    from gpuwise.show import page, results
    from gpuwise.show.report import chart
    from gpuwise.show.report import report as whole

    request = ReportRequest.of(request, "results")
    if not request.results:
        raise InputError("a report needs a result", hint="give what load() or bench() returned")
    collected = material(facts or Facts(), request.results)
    made = whole(collected)
    return Answer(
        value=made,
        to_table=lambda: results.measurements(request.results[0]),
        to_data=lambda: page.document(made),
        to_chart=lambda: chart(collected),
    )


def material(facts: Facts, results: Sequence[Result]) -> ReportInput:
    """The results with everything known of their GPUs, also the prediction for each measurement."""
    predicted: dict[tuple[str, str], Record] = {}
    for result in results:
        gpu_id = result.environment.gpu_id
        for m in result.measurements if gpu_id else ():
            config = m.config
            # Predictions are of what torch runs, of single measurements at full size.
            is_predicted = config.mode in PREDICTED and config.size != "toy" and config.framework == "torch"
            if not is_predicted or m.batch is None or gpu_id is None:
                continue
            one = replace(config, batch=None, gpus=1)
            try:
                (record,) = facts.forecasts(one, (gpu_id,), count=config.gpus, batch=m.batch)
            except GpuwiseError:  # a workload of another machine's file, a mode of an older version
                continue
            # The batch of an uploaded file may be any number.
            if record.throughput and isfinite(record.throughput.value):
                predicted[gpu_id, m.question.key()] = record
    ids = {r.environment.gpu_id for r in results if r.environment.gpu_id}
    return ReportInput(
        results=tuple(results),
        published=published.plausible(published.select(gpu_ids=ids)) if ids else (),
        offers=facts.offers,
        predicted=predicted,
        today=facts.today,
    )


def contest(facts: Facts, specs: Sequence[GpuSpec]) -> Contest:
    """GPUs to write an article about, with everything known of them.

    Raises InputError for fewer than two different ones, or more than an article holds.
    """
    different = tuple({spec.id: spec for spec in specs}.values())
    if not 2 <= len(different) <= MOST or len(different) < len(specs):
        problem = f"an article compares two to {MOST} different GPUs"
        raise InputError(problem, hint="name others", code="article")
    ids = tuple(spec.id for spec in different)
    return Contest(
        specs=different,
        speeds=facts.records(ids),
        forecasts=forecasts(facts, ids),
        ratio_half=max(
            (transfer_half(*pair, "bf16") for pair in combinations(filter(is_measured, ids), 2)), default=0.0
        ),
        offers=facts.offers,
        today=facts.today,
        cited=References(),
    )


def card(facts: Facts, spec: GpuSpec, uses: Sequence[Use] = ()) -> Card:
    """One GPU with everything known of it, and where they were asked for its `uses`."""
    # Two years show where a rent goes; the page of prices has every month.
    since = f"{facts.today.year - 2}-{facts.today.month:02d}"
    known = (facts.forecasts.known(k.config, (spec.id,), batch=n) for k in BATCHED for n in BATCHES)
    every = [p for records in known for p in records]
    return Card(
        spec=spec,
        speeds=facts.records((spec.id,)),
        forecasts=forecasts(facts, (spec.id,)),
        uses=tuple(uses),
        by_batch=tuple(p for p in every if p.throughput is not None),
        months=tuple(m for m in prices.history() if m.gpu_ids == (spec.id,) and m.month >= since),
        offers=facts.offers,
        today=facts.today,
        cited=References(),
    )


def uses(facts: Facts, spec: GpuSpec) -> Answer[tuple[Use, ...]]:
    """How one GPU does in every preset of `choose`, among all GPUs."""
    from gpuwise.judge.choose import fit as suited
    from gpuwise.show import choice as show

    found = suited.uses(
        spec.id,
        facts.forecasts,
        facts.offers,
        today=facts.today,
        results=facts.results,
        published=facts.published,
    )
    uses = list(found)
    for place, use in enumerate(uses):
        # What in 16 bits does not run may in 4, one sequence of a language model at a time; and an engine's
        # speed is known of GPUs on which none of torch's kernels was.
        why = use.no_speed or ("" if use.verdict != "no" else use.reason)
        if why and (request := _SMALLER.get(use.preset)) is not None:
            plans = fit(replace(request, gpus=(spec.id,))).value
            known = [(each.tokens_per_s, each) for each in plans if each.fits and each.tokens_per_s]
            if known:  # The engine of which most is known there
                speed, plan = min(known, key=lambda each: each[0].high / each[0].low)
                work, less = plan.plan, f"; {use.reason}" * bool(use.no_speed and use.reason)
                uses[place] = replace(
                    use, verdict="well suited" if use.verdict == "well suited" else "runs", no_speed="",
                    throughput=speed, basis=plan.basis,
                    reason=f"in 4 bits, one sequence at a time; in 16 bits: {why}{less}",
                    example=f"{work.model.name} {work.task} {work.weights}",
                )  # fmt: skip
    return Answer(
        value=tuple(uses),
        to_table=lambda: show.uses(spec, uses),
        to_data=lambda: {"gpu": spec.id, "uses": [asdict(use) for use in uses]},
    )


def forecasts(facts: Facts, ids: Sequence[str]) -> tuple[Record, ...]:
    """Every kind of work on one of each GPU, and those that scale on several."""
    cells = [(kind, 1) for kind in KINDS] + [(kind, n) for kind in SCALED for n in COUNTS[1:]]
    return tuple(p for kind, n in cells for p in facts.forecasts.known(kind.config, ids, n))
