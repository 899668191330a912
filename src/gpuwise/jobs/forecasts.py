"""Forecasts of what is shipped or kept as a trace, each made once.

No page traces a workload or runs a file of a user: only built-in workloads with a shipped trace are forecast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from threading import Lock

from gpuwise import store
from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.model.record import Record
from gpuwise.model.result import Result
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec
from gpuwise.predict import trace_store as traces
from gpuwise.predict.forecast import forecast
from gpuwise.workloads import registry

KEPT_QUESTIONS = 4096
"""Questions whose forecasts, one a GPU, are remembered; a full memory is emptied."""


class Forecasts:
    """`predict.forecast.forecast` for what is shipped as a trace, each forecast made once."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], dict[str, Record]] = {}
        self._lock = Lock()

    def __call__(
        self, config: RunConfig, gpus: Sequence[str], *, count: int = 1, batch: int | None = None,
        source: Result | None = None,
    ) -> tuple[Record, ...]:  # fmt: skip
        """As `forecast`. Raises NoDataError for work that has no shipped trace."""
        check_traced(config, batch)
        question = (config, count, batch, source.id if source is not None else "", _changed())
        found = self._found.get(question, {})
        if not found.keys() >= set(gpus):
            with self._lock:  # one at a time, and not again what another request has made meanwhile
                found = self._found.get(question, {})
                missing = [gpu for gpu in gpus if gpu not in found]
                made = forecast(config, missing, count=count, batch=batch, source=source)
                found = found | {p.gpu_id: p for p in made}
                if len(self._found) >= KEPT_QUESTIONS:
                    self._found = {}
                self._found[question] = found
        return tuple(found[gpu] for gpu in gpus)

    def known(self, config: RunConfig, gpus: Sequence[str], count: int = 1) -> tuple[Record, ...]:
        """The forecasts of work that is traced, none of other work."""
        try:
            return self(config, gpus, count=count)
        except GpuwiseError:  # a workload of another machine's file, a precision without a trace
            return ()


def _changed() -> int:
    """When a result last came to the store or left it, for forecasts tell what was measured: files are
    renamed into their place, which changes the folder."""
    try:
        return store.results_dir().stat().st_mtime_ns
    except OSError:  # nothing was ever kept
        return 0


def check_traced(config: RunConfig, batch: int | None = None) -> None:
    """Raise NoDataError unless a trace of this built-in workload is at hand, at this batch."""
    if config.workload not in traced():
        raise NoDataError(
            f"{config.workload!r} is not forecast here: no trace of it is shipped",
            hint="predict it by the command line or from Python, which trace it",
        )
    spec = registry.get(config.workload).spec
    at = replace(config, batch=batch or config.batch or spec.default_batch, gpus=1)
    if traces.find(at, spec.version) is None:
        raise NoDataError(
            f"{config.workload} {config.mode} {config.precision} at batch {at.batch} has no shipped trace",
            hint="predict it by the command line or from Python, which trace it",
        )


@cache
def traced() -> Mapping[str, WorkloadSpec]:
    """The built-in networks of which a trace is shipped, by name."""
    found = {}
    for name in registry.names():
        spec = registry.get(name).spec
        first = RunConfig(
            workload=spec.id, mode=spec.modes[0], precision=spec.precisions[0], compile=spec.compiles,
            batch=spec.default_batch,
        )  # fmt: skip
        if spec.modes[0] in ("train", "infer") and traces.find(first, spec.version) is not None:
            found[spec.id] = spec
    return found
