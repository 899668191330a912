"""Where traces come from without tracing: shipped for the built-in workloads, kept for what was traced here.

Shipped documents (`data/traces/WORKLOAD.json`, made by experiments/make_traces.py) hold every mode and
precision of the tuned recipe, eager and compiled, so that predicting a built-in workload needs no torch.
What else is asked for is traced once and kept in the user's folder, a file each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache as remember
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from gpuwise import __version__
from gpuwise.errors import InputError, MachineError
from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.trace import Trace
from gpuwise.predict.kernels import KEPT_TRACES
from gpuwise.predict.tracefile import SCHEMA, Document, at, covers, encode
from gpuwise.store import home
from gpuwise.workloads import foreign, registry

MOST_ITEMS = 2**14
"""The largest batch that is tried."""


@dataclass(frozen=True, slots=True)
class Series:
    """The traces of one configuration at the batches that may be chosen, in rising order."""

    batches: tuple[int, ...]
    start: int
    """Where a search for the best batch begins."""
    at: Callable[[int], Trace]


def series(config: RunConfig) -> Series:
    """Traces at the configuration's batch, or where it has none at the workload's default, its doubles and
    its halves, as far as they are shipped or kept, or follow from three that are recorded now.

    Raises what `obtain` does.
    """
    if config.batch is not None:
        return Series((config.batch,), config.batch, remember(lambda batch: obtain(config, batch)))
    spec = registry.get(config.workload).spec
    start = spec.default_batch
    doubles = (start * 2**k for k in range(MOST_ITEMS.bit_length()))
    halves = (start // 2**k for k in range(start.bit_length()))
    tried = sorted({b for b in (*doubles, *halves) if 0 < b <= max(start, MOST_ITEMS)})
    known = {b: found for b in tried if (found := find(replace(config, batch=b), spec.version))}
    if len(known) == len(tried):
        return Series(tuple(known), start, known.__getitem__)
    try:
        some = known.values() if len(known) > 1 else [obtain(config, start * k) for k in (1, 2, 4)]
        document = encode({"": tuple(some)})
    except (InputError, MachineError):  # some do not tell the others, or none can be recorded
        held = known or {start: obtain(config, start)}
        return Series(tuple(held), start, held.__getitem__)
    return Series(tuple(tried), start, remember(lambda batch: at(document, "", batch)))


def obtain(config: RunConfig, batch: int | None = None) -> Trace:
    """The trace of a built-in or foreign workload: shipped, kept, or recorded now and kept.

    Raises InputError where it cannot be traced, MachineError where torch is needed and missing.
    """
    found = registry.get(config.workload)
    config = replace(config, batch=batch or config.batch or found.spec.default_batch)
    known = find(config, found.spec.version)
    if known is not None:
        return known
    if find_spec("torch") is None:
        raise MachineError(
            f"{config.workload} at batch {config.batch} has not been traced yet, and tracing needs torch",
            hint="pip install 'gpuwise[torch]'",
        )
    from gpuwise.predict.trace import trace_workload

    trace = trace_workload(config)
    name = variant(config, config.batch)
    place = kept_at(config, name)
    if place is not None:
        keep(encode({name: (trace,)}), place)
    return trace


def folder() -> Path:
    """Where traces are kept that were not shipped: another release may record a step otherwise."""
    return home() / "traces" / __version__


def kept_at(config: RunConfig, name: str) -> Path | None:
    """The file of a trace that was recorded here; None for what is not kept, as a toy of a test.

    A file of the user's and a network of a library change without a new version: their traces are those of
    the file's content or the library's release, and of torch's.
    """
    if config.size != "full":
        return None
    found = registry.get(config.workload)
    if found.reference is None:
        return folder() / f"{config.workload}-{name}.json"
    library = foreign.library(config.workload)
    source = found.content or (_release(library) if library else None)
    if source is None:
        return None
    plain = config.workload.replace("/", "_").replace(":", "_")
    return folder() / f"{plain}-{source}-torch{_release('torch')}-{name}.json"


def _release(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def variant(config: RunConfig, batch: int | None = None) -> str:
    """`train-bf16-stock-eager`; `-b64` behind it where it holds one batch only."""
    how = "compiled" if config.compile else "eager"
    name = f"{config.mode}-{config.precision}-{config.base_recipe}-{how}"
    return name if batch is None else f"{name}-b{batch}"


def find(config: RunConfig, revision: int) -> Trace | None:
    """The trace of a configuration with a batch, shipped or kept; None where there is none."""
    assert config.batch is not None
    sisters = [config]
    if config.precision == "tf32":
        sisters.append(replace(config, precision=Precision.FP32))
    if config.precision == Precision.FP16 and config.mode == "infer":
        sisters.append(replace(config, precision=Precision.BF16))
    names = [name for c in sisters for name in (variant(c), variant(c, c.batch))]
    for name in names:
        if _holds(shipped(config.workload), revision, name, config.batch):
            return _shipped_at(config.workload, name, config.batch, config.precision)
    for name in names:
        place = kept_at(config, name)
        document = read(place) if place is not None else None
        if document is not None and _holds(document, revision, name, config.batch):
            return at(document, name, config.batch, config.precision)
    return None


def _holds(document: Document | None, revision: int, name: str, batch: int) -> bool:
    return document is not None and document["version"] == revision and covers(document, name, batch)


@remember
def shipped(workload: str) -> Document | None:
    """The shipped document of a workload: it does not change while the process lives."""
    return read(files("gpuwise.predict") / "data" / "traces" / f"{workload}.json")


@lru_cache(maxsize=KEPT_TRACES)
def _shipped_at(workload: str, name: str, batch: int, precision: str) -> Trace:
    document = shipped(workload)
    assert document is not None
    return at(document, name, batch, precision)


def read(place: Traversable) -> Document | None:
    """The document of a file; None where there is none or of another schema. Raises InputError where it
    is no trace."""
    if not place.is_file():
        return None
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
        found: Document | None = document if document["schema"] == SCHEMA else None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{place} is no trace: {error}", hint="delete it; it will be made again") from error
    return found


def keep(document: Document, path: Path) -> None:
    """Write a document whole or not at all; a folder that cannot be written is passed over in silence,
    for the trace is at hand and only the next start will be slower."""
    temporary = path.parent / f".{os.urandom(8).hex()}.gpuwise"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(dumps(document), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def dumps(document: Document) -> str:
    """Compact JSON, one line."""
    return json.dumps(document, separators=(",", ":")) + "\n"
