"""The material of a report, of a card's page and of an article."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite

from gpuwise.errors import GpuwiseError
from gpuwise.facts import published
from gpuwise.jobs.facts import Facts
from gpuwise.judge.choose import uses as suited
from gpuwise.judge.choose.uses import Use
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.record import Record
from gpuwise.model.result import Measurement, Result
from gpuwise.predict.interval import step_half
from gpuwise.show.article import HeadToHead
from gpuwise.show.card import Card
from gpuwise.show.page import References
from gpuwise.show.records import COUNTS, KINDS, SCALED
from gpuwise.show.report import ReportInput

PREDICTED = ("train", "infer")
"""Modes of which single measurements are forecast."""


def material(facts: Facts, results: Sequence[Result]) -> ReportInput:
    """The results with everything known of their GPUs."""
    ids = {r.environment.gpu_id for r in results if r.environment.gpu_id}
    return ReportInput(
        results=tuple(results),
        published=published.records(published.select(gpu_ids=ids)) if ids else (),
        offers=facts.offers,
        predicted=dict(_predicted(facts, results)),
        today=facts.today,
    )


def duel(facts: Facts, first: GpuSpec, second: GpuSpec) -> HeadToHead:
    """Two GPUs with everything known of both."""
    ids = (first.id, second.id)
    return HeadToHead(
        first=first,
        second=second,
        speeds=facts.records(ids),
        forecasts=forecasts(facts, ids),
        ratio_half=step_half("transferred"),
        offers=facts.offers,
        today=facts.today,
        cited=References(),
    )


def card(facts: Facts, spec: GpuSpec, uses: Sequence[Use] = ()) -> Card:
    """One GPU with everything known of it, and where they were asked for its `uses`."""
    return Card(
        spec=spec,
        speeds=facts.records((spec.id,)),
        forecasts=forecasts(facts, (spec.id,)),
        uses=tuple(uses),
        offers=facts.offers,
        today=facts.today,
        cited=References(),
    )


def uses(facts: Facts, spec: GpuSpec) -> tuple[Use, ...]:
    """How one GPU does in every preset of `choose`, among all GPUs."""
    return suited.uses(
        spec.id, facts.forecasts, facts.offers, today=facts.today, results=facts.results,
        published=facts.published,
    )  # fmt: skip


def forecasts(facts: Facts, ids: Sequence[str]) -> tuple[Record, ...]:
    """Every kind of work on one of each GPU, and those that scale on several."""
    cells = [(kind, 1) for kind in KINDS] + [(kind, n) for kind in SCALED for n in COUNTS[1:]]
    return tuple(p for kind, n in cells for p in facts.forecasts.known(kind.config, ids, n))


def _predicted(facts: Facts, results: Sequence[Result]) -> Iterator[tuple[tuple[str, str], Record]]:
    """What would have been predicted of each measurement, by GPU and configuration."""
    for result in results:
        gpu_id = result.environment.gpu_id
        for m in result.measurements if gpu_id else ():
            found = _of(facts, m, gpu_id or "")
            if found is not None:
                yield (gpu_id or "", m.question.key()), found


def _of(facts: Facts, m: Measurement, gpu_id: str) -> Record | None:
    """A measurement's own forecast; None where its work is unknown here or cannot be predicted."""
    config = m.config
    # Forecasts are of what torch runs.
    if config.mode not in PREDICTED or config.size == "toy" or config.framework != "torch" or m.batch is None:
        return None
    try:
        (found,) = facts.forecasts(
            replace(config, batch=None, gpus=1), (gpu_id,), count=config.gpus, batch=m.batch
        )
    except GpuwiseError:  # a workload of another machine's file, a mode of an older version
        return None
    # The batch of an uploaded file may be any number.
    return found if found.throughput and isfinite(found.throughput.value) else None
