"""What is known: catalog, offers, published figures, results, forecasts. Read once and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record
from gpuwise.model.result import Result

if TYPE_CHECKING:
    from gpuwise.jobs.forecasts import Forecasts

Tell = Callable[[str], None]


class Facts:
    """What is known, for every job and page.

    `files` and `given` are results beside those of the store, `offers` replace every known offer, `today` is
    the day of prices. A file of the store that cannot be read is left out, and `tell` hears why, once. Raises
    InputError for one of `files` that holds no result.
    """

    def __init__(
        self, files: Sequence[Path] = (), *, given: Sequence[Result] = (),
        offers: Sequence[Offer] | None = None, today: date | None = None, tell: Tell = lambda _: None,
    ) -> None:  # fmt: skip
        self._today, self._tell, self._own_offers = today, tell, offers
        self._heard: set[str] = set()
        self._given = (*given, *(result for path in files for result in store.load_all(path)))
        self._forecasts: Forecasts | None = None

    @property
    def forecasts(self) -> Forecasts:
        """Predictions of what has a shipped trace, each made once."""
        if self._forecasts is None:
            from gpuwise.jobs.forecasts import Forecasts  # numpy, through the predictor

            self._forecasts = Forecasts()
        return self._forecasts

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
        spoken_of = {row.gpu_id for row in self.published} | self.rents.keys()
        spoken_of |= {result.environment.gpu_id or "" for result in self.results}
        return tuple(gpu_id for gpu_id in self.ids if gpu_id in spoken_of)

    @property
    def offers(self) -> tuple[Offer, ...]:
        return _offers(self.today) if self._own_offers is None else tuple(self._own_offers)

    @property
    def rents(self) -> Mapping[str, float]:
        """GPU -> median on-demand rent of one for an hour, in USD, where an offer is known."""
        return _rents(self.today)

    @property
    def published(self) -> tuple[Record, ...]:
        from gpuwise.facts import published

        return published.all_results()

    @property
    def results(self) -> tuple[Result, ...]:
        """Every measured result of the store and of those given, each once."""
        kept = (result for path in store.saved() for result in self._kept(path))
        every = {result.id: result for result in (*self._given, *kept) if result.origin == "measured"}
        return tuple(every.values())

    def _kept(self, path: Path) -> tuple[Result, ...]:
        try:
            return _load(path, path.stat().st_mtime_ns)
        except (OSError, InputError) as error:
            reason = f"left out: {error}"
            if reason not in self._heard:
                self._heard.add(reason)
                self._tell(reason)
            return ()

    def records(self, gpu_ids: Sequence[str]) -> tuple[Record, ...]:
        """Measured and published speeds of these GPUs; limits, toys and what is invalid are none."""
        from gpuwise.facts import published

        mine = store.records(result for result in self.results if result.environment.gpu_id in gpu_ids)
        speeds = (r for r in mine if r.usable and r.question.mode != "limit" and r.question.size == "full")
        return (*speeds, *published.plausible(published.select(gpu_ids=gpu_ids)))

    def gpu(self, name: str) -> GpuSpec:
        """One GPU by a name of it, the usual variant of a generic one. Raises InputError with the nearest."""
        return catalog.resolve(name).spec


# Read once a day of prices, and a file again only when it changed.
@lru_cache(maxsize=2)
def _offers(day: date) -> tuple[Offer, ...]:
    from gpuwise.facts import prices as known

    return known.offers(today=day)


@lru_cache(maxsize=2)
def _rents(day: date) -> Mapping[str, float]:
    from gpuwise.show.prices import hourly

    offers = _offers(day)
    found = ((spec.id, hourly(offers, spec.id)) for spec in catalog.all_gpus())
    return {gpu_id: rent for gpu_id, rent in found if rent is not None}


@lru_cache(maxsize=256)
def _load(path: Path, changed: int) -> tuple[Result, ...]:
    return store.load_all(path)
