"""What a page is made of, read from the store, the shipped facts and the user's files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwise import prices, published, store
from gpuwise.cli.choose import known_results, today
from gpuwise.errors import GpuwiseError
from gpuwise.model.answer import Prediction
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.run import RunConfig
from gpuwise.report import known
from gpuwise.report.article.duel import Duel
from gpuwise.report.card import Card
from gpuwise.report.known import Speed
from gpuwise.report.page import References
from gpuwise.report.sections.against import prediction_key
from gpuwise.report.sections.material import Material
from gpuwise.report.work import COUNTS, KINDS, SCALED
from gpuwise.workloads import registry

if TYPE_CHECKING:  # it needs numpy, which a report does not
    from gpuwise.choose.uses import Use


def material(results: Sequence[Result]) -> Material:
    """The results with everything known of their GPUs."""
    ids = {r.environment.gpu_id for r in results if r.environment.gpu_id}
    return Material(
        results=tuple(results),
        published=published.select(gpu_ids=ids),
        offers=prices.offers(today=today()),
        predicted=dict(_predicted(results)),
        today=today(),
    )


def duel(first: GpuSpec, second: GpuSpec, files: Sequence[Path]) -> Duel:
    """Two GPUs with everything known of both; `files` are results beside those in the store."""
    from gpuwise.predict.interval import step_half

    ids = (first.id, second.id)
    return Duel(
        first=first,
        second=second,
        speeds=_speeds(ids, files),
        forecasts=_forecasts(ids),
        ratio_half=step_half("transferred"),
        offers=prices.offers(today=today()),
        today=today(),
        cited=References(),
    )


def card(spec: GpuSpec) -> Card:
    """One GPU with everything known of it."""
    return Card(
        spec=spec,
        speeds=_speeds((spec.id,), ()),
        forecasts=_forecasts((spec.id,)),
        uses=uses(spec),
        offers=prices.offers(today=today()),
        today=today(),
        cited=References(),
    )


def uses(spec: GpuSpec) -> tuple[Use, ...]:
    """How one GPU does in every preset of `choose`, among all GPUs."""
    from gpuwise.choose import uses as suited
    from gpuwise.predict.forecast import forecast

    return suited.uses(
        spec.id, forecast, prices.offers(today=today()), today=today(), results=known_results(()),
        published=published.all_results(),
    )  # fmt: skip


def _speeds(ids: Sequence[str], files: Sequence[Path]) -> tuple[Speed, ...]:
    results = (*known_results(()), *(r for path in files for r in store.load_all(path)))
    own = {result.id: result for result in results if result.environment.gpu_id in ids}
    return (*known.measured(list(own.values())), *known.published(published.select(gpu_ids=ids)))


def _forecasts(ids: Sequence[str]) -> tuple[Prediction, ...]:
    """Every kind of work on one GPU, and those that scale on several."""
    one = (p for kind in KINDS for p in _forecast(kind.config, ids))
    more = (p for kind in SCALED for n in COUNTS[1:] for p in _forecast(kind.config, ids, n))
    return (*one, *more)


def _forecast(config: RunConfig, ids: Sequence[str], count: int = 1) -> tuple[Prediction, ...]:
    """Forecasts of work that has been traced; a page is no reason to load torch and trace more."""
    from gpuwise.predict.forecast import forecast

    return forecast(config, ids, count=count) if _traced(config) else ()


def _traced(config: RunConfig) -> bool:
    from gpuwise.predict import cache

    spec = registry.get(config.workload).spec
    at = replace(config, batch=config.batch or spec.default_batch, gpus=1)
    return cache.find(at, spec.version) is not None


def _predicted(results: Sequence[Result]) -> Iterator[tuple[tuple[str, str], Interval]]:
    """What would have been predicted of each measurement, by GPU and configuration."""
    for result in results:
        gpu_id = result.environment.gpu_id
        for m in result.measurements if gpu_id else ():
            found = _of(m, gpu_id or "")
            if found is not None:
                yield (gpu_id or "", prediction_key(m)), found


def _of(m: Measurement, gpu_id: str) -> Interval | None:
    """A measurement's own forecast; None where its work is unknown here or cannot be predicted."""
    if m.config.mode == "limit" or m.config.size == "toy" or m.batch is None:
        return None
    if m.config.framework != "torch":  # forecasts are of what torch runs
        return None
    try:
        (found,) = _forecast(replace(m.config, batch=m.batch), (gpu_id,), m.config.gpus) or (None,)
    except GpuwiseError:  # a workload of another machine's file, a mode of an older version
        return None
    return None if found is None else found.throughput
