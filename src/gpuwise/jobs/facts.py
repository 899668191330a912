"""Everything that is known: catalog, offers, published figures, results, forecasts. Read once and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path

from gpuwise import store
from gpuwise.facts import catalog, prices, published
from gpuwise.jobs import results
from gpuwise.jobs.forecasts import Forecasts
from gpuwise.jobs.results import Tell
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer
from gpuwise.model.published import PublishedResult
from gpuwise.model.record import Record
from gpuwise.model.result import Result
from gpuwise.show.prices import hourly


class Facts:
    """What is known, for every page; `files` hold results beside those of the store.

    A file of the store that cannot be read is left out, and `tell` hears why, once. Raises InputError for
    one of `files` that holds no result.
    """

    def __init__(
        self, files: Sequence[Path] = (), *, today: date | None = None, tell: Tell = lambda _: None
    ) -> None:
        self._today, self._tell = today, tell
        self._told: set[str] = set()
        self._given = tuple(result for path in files for result in store.load_all(path))
        self.forecasts = Forecasts()

    @property
    def today(self) -> date:
        """The day it is; a server may run for weeks."""
        return self._today or date.today()

    @property
    def gpus(self) -> tuple[GpuSpec, ...]:
        return tuple(catalog.all_gpus())

    @property
    def ids(self) -> tuple[str, ...]:
        """Of every GPU of the catalog."""
        return tuple(spec.id for spec in self.gpus)

    @property
    def studied(self) -> tuple[str, ...]:
        """Of the GPUs of which more than the data sheet is known: a rent, a published or a measured speed."""
        spoken_of = {row.gpu_id for row in self.published}
        spoken_of |= {result.environment.gpu_id for result in self.results}
        return tuple(gpu_id for gpu_id in self.ids if gpu_id in spoken_of or gpu_id in self.rents)

    @property
    def offers(self) -> tuple[Offer, ...]:
        return _offers(self.today)

    @property
    def rents(self) -> Mapping[str, float]:
        """GPU -> median on-demand rent of one for an hour, in USD, where an offer is known."""
        return _rents(self.today)

    @property
    def published(self) -> tuple[PublishedResult, ...]:
        return tuple(published.all_results())

    @property
    def results(self) -> tuple[Result, ...]:
        """Every measured result of the store and of the files given, each once; what cannot be read in the
        store is left out."""
        return results.known(self._given, self._tell_once)

    def _tell_once(self, reason: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            self._tell(reason)

    def records(self, gpu_ids: Sequence[str]) -> tuple[Record, ...]:
        """Measured and published speeds of these GPUs; limits, toys and what is invalid are none."""
        mine = store.records(result for result in self.results if result.environment.gpu_id in gpu_ids)
        speeds = (r for r in mine if r.usable and r.question.mode != "limit" and r.question.size == "full")
        return (*speeds, *published.records(published.select(gpu_ids=gpu_ids)))

    def gpu(self, name: str) -> GpuSpec:
        """One GPU by a name of it, the usual variant of a generic one. Raises InputError with the nearest."""
        return catalog.resolve(name).spec


@lru_cache(maxsize=2)
def _offers(day: date) -> tuple[Offer, ...]:
    return prices.offers(today=day)


@lru_cache(maxsize=2)
def _rents(day: date) -> Mapping[str, float]:
    offers = _offers(day)
    found = ((spec.id, hourly(offers, spec.id)) for spec in catalog.all_gpus())
    return {gpu_id: rent for gpu_id, rent in found if rent is not None}
