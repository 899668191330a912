"""Everything that the pages are made of, read once and kept: catalog, offers, figures, results, forecasts.

No page traces a workload or runs a file of a user: only built-in workloads with a shipped trace are forecast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock

from gpuwise import catalog, prices, published, store
from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.model.answer import Prediction
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer
from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Result
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec
from gpuwise.predict import cache as traces
from gpuwise.predict.forecast import forecast
from gpuwise.report import known, rents
from gpuwise.report.known import Speed
from gpuwise.workloads import registry

KEPT_FORECASTS = 200_000
"""Forecasts of one GPU each; a full memory is emptied."""
MOST_GPUS = 8
"""GPUs of one machine that a page asks about."""
_Key = tuple[RunConfig, str, int, int | None, str]


class Forecasts:
    """`predict.forecast.forecast` for what is shipped as a trace, each forecast made once."""

    def __init__(self) -> None:
        self._found: dict[_Key, Prediction] = {}
        self._lock = Lock()

    def __call__(
        self, config: RunConfig, gpus: Sequence[str], *, count: int = 1, batch: int | None = None,
        source: Result | None = None,
    ) -> tuple[Prediction, ...]:  # fmt: skip
        """As `forecast`. Raises NoDataError for work that has no shipped trace."""
        check_traced(config, batch)
        origin = source.id if source is not None else ""
        found = self._known(config, gpus, count, batch, origin)
        if len(found) < len(gpus):
            with self._lock:  # one at a time, and not again what another request has made meanwhile
                found = self._known(config, gpus, count, batch, origin)
                missing = [gpu for gpu in gpus if gpu not in found]
                if missing:
                    made = forecast(config, missing, count=count, batch=batch, source=source)
                    self.keep(config, made, count=count, batch=batch, origin=origin)
                    found |= {p.gpu_id: p for p in made}
        return tuple(found[gpu] for gpu in gpus)

    def _known(
        self, config: RunConfig, gpus: Sequence[str], count: int, batch: int | None, origin: str
    ) -> dict[str, Prediction]:
        kept = {gpu: self._found.get((config, gpu, count, batch, origin)) for gpu in gpus}
        return {gpu: p for gpu, p in kept.items() if p is not None}

    def known(self, config: RunConfig, gpus: Sequence[str], count: int = 1) -> tuple[Prediction, ...]:
        """The forecasts of work that is traced, none of other work."""
        try:
            return self(config, gpus, count=count)
        except GpuwiseError:  # a workload of another machine's file, a precision without a trace
            return ()

    def keep(
        self, config: RunConfig, made: Sequence[Prediction], *, count: int, batch: int | None = None,
        origin: str = "",
    ) -> None:  # fmt: skip
        """Remember forecasts that were made elsewhere."""
        if len(self._found) + len(made) > KEPT_FORECASTS:
            self._found = {}
        self._found |= {(config, p.gpu_id, count, batch, origin): p for p in made}


def check_traced(config: RunConfig, batch: int | None = None) -> None:
    """Raise NoDataError unless a trace of this built-in workload is at hand, at this batch."""
    if config.workload not in traced():
        raise NoDataError(
            f"{config.workload!r} is not forecast here: no trace of it is shipped",
            hint=f"gpuwise predict {config.workload}",
        )
    spec = registry.get(config.workload).spec
    at = replace(config, batch=batch or config.batch or spec.default_batch, gpus=1)
    if traces.find(at, spec.version) is None:
        raise NoDataError(
            f"{config.workload} {config.mode} {config.precision} at batch {at.batch} has no shipped trace",
            hint=f"gpuwise predict {config.workload} --mode {config.mode} --precision {config.precision}",
        )


@cache
def traced() -> Mapping[str, WorkloadSpec]:
    """The built-in networks of which a trace is shipped, by name."""
    specs = (registry.get(name).spec for name in registry.names())
    return {spec.id: spec for spec in specs if _is_traced(spec)}


def _is_traced(spec: WorkloadSpec) -> bool:
    first = RunConfig(
        workload=spec.id, mode=spec.modes[0], precision=spec.precisions[0], compile=spec.compiles,
        batch=spec.default_batch,
    )  # fmt: skip
    return spec.modes[0] in ("train", "infer") and traces.find(first, spec.version) is not None


class Facts:
    """What is known, for every view; `files` are results beside those of the store."""

    def __init__(self, files: Sequence[Path] = (), *, today: date | None = None) -> None:
        self._today = today
        self._files = tuple(files)
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
        """Every measured result of the store and of the files given, each once; what cannot be read is
        left out."""
        kept = [result for path in (*store.saved(), *self._files) for result in _read(path)]
        own = {result.id: result for result in kept if result.origin == "measured"}
        return tuple(own.values())

    def speeds(self, gpu_ids: Sequence[str]) -> tuple[Speed, ...]:
        """Measured and published speeds of these GPUs."""
        mine = [result for result in self.results if result.environment.gpu_id in gpu_ids]
        return (*known.measured(mine), *known.published(published.select(gpu_ids=gpu_ids)))

    def gpu(self, name: str) -> GpuSpec:
        """One GPU by its id or a name of it. Raises InputError with the nearest names."""
        return catalog.find(name)


@lru_cache(maxsize=2)
def _offers(day: date) -> tuple[Offer, ...]:
    return prices.offers(today=day)


@lru_cache(maxsize=2)
def _rents(day: date) -> Mapping[str, float]:
    offers = _offers(day)
    found = ((spec.id, rents.hourly(offers, spec.id)) for spec in catalog.all_gpus())
    return {gpu_id: rent for gpu_id, rent in found if rent is not None}


def _read(path: Path) -> Iterator[Result]:
    with suppress(OSError, InputError):
        yield from _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _load(path: Path, changed: int) -> tuple[Result, ...]:
    return store.load_all(path)
