"""Where traces come from without tracing: shipped for the built-in workloads, kept for what was traced here.

Shipped documents (`data/traces/WORKLOAD.json`, made by experiments/make_traces.py) hold every mode and
precision of the tuned recipe, eager and compiled, so that predicting a built-in workload needs no torch.
What else is asked for is traced once and kept in the user's folder, a file each.

One JSON document holds the traces of a workload for every batch. A kernel's sizes are linear in the batch
for a step of fixed structure: every operand has either one dimension that grows with it or none. So a
number is kept as constant and slope, from the step recorded at two batches; those between are compared when
the document is made. Memory is kept at every recorded batch and interpolated, for its peak may move from
one place of the step to another.

Layout (`SCHEMA` counts changes): `words` are the strings and `numbers` the sizes, each a number, [slope] or
[constant, slope]. A row of `kernels` is [kind, name, dtype, phase, fused, flop, bytes read, bytes written,
*shape]: places in `words` four times, itself, then places in `numbers`. A variant (mode, precision, recipe,
eager or compiled) lists its kernels as [row, count, row, count, ...], counts being places in `numbers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache as remember
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from gpuwise import __version__, store
from gpuwise.errors import InputError, MachineError
from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.predictor.kernels import KEPT_TRACES, Kernel, KernelClass, Memory, Phase, Trace
from gpuwise.workloads import foreign, registry

SCHEMA = 2
Document = dict[str, Any]
_SIZES = ("count", "flop", "bytes_read", "bytes_written")
_MEMORY = ("parameters", "gradients", "gradient_count", "optimiser", "peak", "largest")


class _Tables:
    """What variants share."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.numbers: dict[str, int] = {}
        self.rows: dict[str, int] = {}

    def word(self, text: str) -> int:
        return self.words.setdefault(text, len(self.words))

    def number(self, line: Any) -> int:
        return self.numbers.setdefault(json.dumps(line), len(self.numbers))

    def kernel(self, row: list[Any]) -> tuple[int, int]:
        """Places of the row and of its count."""
        places = [*row[:5], *(self.number(x) for x in row[6:])]
        return self.rows.setdefault(json.dumps(places), len(self.rows)), self.number(row[5])


def _line(x: tuple[int, ...], y: Sequence[float]) -> Any:
    """The number, or [constant, slope]; whole numbers as such."""
    slope = (y[-1] - y[0]) / (x[-1] - x[0]) if len(x) > 1 else 0.0
    if slope == 0:
        return _whole(y[0])
    constant = y[0] - slope * x[0]
    return [_whole(constant), _whole(slope)] if constant else [_whole(slope)]


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


def _number(stored: Any, batch: int) -> float:
    if not isinstance(stored, list):
        return float(stored)
    return float((stored[0] if len(stored) > 1 else 0) + stored[-1] * batch)


def encode(variants: Mapping[str, Sequence[Trace]]) -> Document:
    """One document for the variants of a workload, each at one or several batches (in order), kernels
    ungrouped. Raises InputError where a variant's structure changes with the batch or a size is not linear
    in it."""
    tables = _Tables()
    made = {name: _variant(traces, tables) for name, traces in variants.items()}
    first = next(iter(variants.values()))[0]
    return {
        "schema": SCHEMA, "workload": first.workload, "version": first.version, "item": first.item,
        "words": list(tables.words), "numbers": [json.loads(text) for text in tables.numbers],
        "kernels": [json.loads(text) for text in tables.rows], "variants": made,
    }  # fmt: skip


def _variant(traces: Sequence[Trace], tables: _Tables) -> dict[str, Any]:
    """One variant. A step that does more of the same at a larger batch (a loss in chunks) is matched group
    by group, and then counts are linear too."""
    batches = tuple(t.batch for t in traces)
    if len({len(t.kernels) for t in traces}) > 1:
        from gpuwise.predictor.graph import grouped  # of writing alone

        traces = [replace(t, kernels=grouped(t.kernels)) for t in traces]
    first = traces[0]
    if len({len(t.kernels) for t in traces}) > 1:
        raise _not_linear(first, "the number of its kernels changes with the batch")
    rows = [_row(batches, same, tables, first) for same in zip(*(t.kernels for t in traces), strict=True)]
    places = [place for row in _merged(rows) for place in tables.kernel(row)]
    return {
        "mode": first.mode,
        "precision": first.precision,
        "compiled": first.compiled,
        "items": _line(batches, [t.items for t in traces]),
        "parameters": first.parameters,
        "unknown": list(first.unknown),
        **({"known": min(t.known for t in traces)} if first.unknown else {}),
        **({"notes": list(first.notes)} if first.notes else {}),
        # A step of fixed structure has the same calls at every batch.
        "calls": dict(first.calls),
        "batches": list(batches),
        "memory": [[_whole(getattr(t.memory, name)) for name in _MEMORY] for t in traces if t.memory],
        "kernels": places,
    }


def _merged(rows: Iterable[list[Any]]) -> list[list[Any]]:
    """Rows that differ only in a fixed count, as one: equal at every batch, not by chance at one."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        count = row[5]
        fixed = isinstance(count, int)
        key = json.dumps([fixed or count, *row[:5], *row[6:]])
        if key in found and fixed:
            found[key][5] += count
        else:
            found[key] = row
    return list(found.values())


def _row(batches: tuple[int, ...], same: tuple[Kernel, ...], tables: _Tables, trace: Trace) -> list[Any]:
    """One kernel at all batches."""
    first = same[0]
    texts = (first.kind, first.name, first.dtype, first.phase)
    if len({(k.kind, k.name, k.dtype, k.phase, k.fused, len(k.shape)) for k in same}) > 1:
        raise _not_linear(trace, f"{first.name} changes with the batch")
    columns = [[getattr(k, name) for k in same] for name in _SIZES]
    columns += [[k.shape[i] for k in same] for i in range(len(first.shape))]
    lines = [_line(batches, column) for column in columns]
    for line, column in zip(lines, columns, strict=True):
        for batch, value in zip(batches, column, strict=True):
            if abs(_number(line, batch) - value) > 1e-9 * max(1.0, abs(value)):
                raise _not_linear(trace, f"a size of {first.name} is not linear in the batch")
    return [*(tables.word(t) for t in texts), first.fused, *lines]


def _not_linear(trace: Trace, why: str) -> InputError:
    return InputError(
        f"{trace.workload} cannot be kept for all batches: {why}", hint=f"predict it at batch {trace.batch}",
        code="predict-with", workload=trace.workload, option="batch", value=str(trace.batch),
    )  # fmt: skip


def covers(document: Document, variant: str, batch: int) -> bool:
    """Whether a variant is there and holds a batch: recorded at several it holds all, at one only that."""
    found = document["variants"].get(variant)
    return found is not None and (len(found["batches"]) > 1 or found["batches"] == [batch])


def at(document: Document, variant: str, batch: int, precision: str | None = None) -> Trace:
    """The trace of a variant at a batch, under a sister precision's names where asked."""
    found = document["variants"][variant]
    precision = precision or found["precision"]
    numbers = [_number(x, batch) for x in document["numbers"]]
    # (format, whether tensor cores compute it) -> the sister's name
    names, stored = {("fp32", True): "tf32"}, found["precision"]
    if precision != "tf32" or stored == precision:
        names = {} if stored == precision else dict.fromkeys(((stored, True), (stored, False)), precision)
    places = found["kernels"]
    kernels = (
        _kernel(document["kernels"][row], document["words"], numbers, names, round(numbers[count]))
        for row, count in zip(places[::2], places[1::2], strict=True)
    )
    return Trace(
        workload=document["workload"], version=document["version"], mode=found["mode"], precision=precision,
        batch=batch, compiled=found["compiled"], item=document["item"], items=_number(found["items"], batch),
        parameters=found["parameters"], kernels=tuple(kernels), memory=_memory(found, batch),
        unknown=tuple(found["unknown"]), known=found.get("known", 1.0), notes=tuple(found.get("notes", ())),
        calls=tuple(found.get("calls", {}).items()),
    )  # fmt: skip


def _kernel(
    row: list[int], words: list[str], numbers: list[float], names: dict[tuple[str, bool], str], count: int
) -> Kernel:
    kind, name, dtype, phase = (words[i] for i in row[:4])
    flop, bytes_read, bytes_written, *shape = (numbers[i] for i in row[5:])
    return Kernel(
        kind=cast(KernelClass, kind), name=name,
        dtype=names.get((dtype, kind in ("matmul", "convolution")), dtype),
        shape=tuple(round(x) for x in shape), flop=flop, bytes_read=bytes_read, bytes_written=bytes_written,
        phase=cast(Phase, phase), count=count, fused=row[4],
    )  # fmt: skip


def _memory(document: dict[str, Any], batch: int) -> Memory | None:
    """Between and beyond the recorded batches along the nearest two."""
    batches, rows = document["batches"], document["memory"]
    if not rows:
        return None
    if len(rows) == 1:
        return Memory(**dict(zip(_MEMORY, map(float, rows[0]), strict=True)))
    right = next((i for i in range(1, len(batches) - 1) if batch <= batches[i]), len(batches) - 1)
    share = (batch - batches[right - 1]) / (batches[right] - batches[right - 1])
    pairs = zip(rows[right - 1], rows[right], strict=True)
    values = [max(0.0, a + share * (b - a)) for a, b in pairs]
    return Memory(**dict(zip(_MEMORY, values, strict=True)))


# The largest batch that is tried.
MOST_ITEMS = 2**14


@dataclass(frozen=True, slots=True)
class Series:
    """The traces of one configuration at the batches that may be chosen, in rising order."""

    batches: tuple[int, ...]
    start: int  # Where a search for the best batch begins
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
    if len(known) < 2:
        with suppress(InputError, MachineError):  # some cannot be recorded
            for times in (1, 2, 4):
                known[start * times] = obtain(config, start * times)
    known = known or {start: obtain(config, start)}
    if len(known) > 1:
        with suppress(InputError):  # these do not tell the others
            document = encode({"": tuple(known[batch] for batch in sorted(known))})
            return Series(tuple(tried), start, remember(lambda batch: at(document, "", batch)))
    return Series(tuple(sorted(known)), start, known.__getitem__)


def decoded(config: RunConfig) -> Trace | None:
    """The step by gpuwise's own decoding kernels, which is worked out; None of any other step."""
    if not registry.decodes_one(config):
        return None
    from gpuwise.predictor import decoding  # language models, which few steps are of

    return decoding.find(config)


def with_own(config: RunConfig) -> RunConfig:
    """One sequence as the recipe `tuned` decodes it; any other step, and mixtures of experts, unchanged."""
    return own if decoded(own := registry.tuned(config)) is not None else config


def check_offered(config: RunConfig) -> None:
    """Raise InputError for a mode or precision that the workload does not have."""
    if decoded(config) is not None:
        return  # gpuwise's own kernels know formats that torch's do not.
    spec = registry.get(config.workload).spec
    precisions = spec.precisions
    if config.precision in spec.unpredicted:
        if spec.phase != "decode" or config.batch != 1:
            problem = f"{config.workload} in {config.precision} is predicted for one sequence that decodes"
            raise InputError(problem, hint="ask for batch 1, or gpuwise fit what an engine reaches")
        precisions += spec.unpredicted
    for asked, allowed, what in (
        (config.mode, spec.modes, "mode"), (config.precision, precisions, "precision"),
    ):  # fmt: skip
        if asked not in allowed:
            nearest = Precision.BF16 if Precision.BF16 in allowed else allowed[0]
            raise InputError(
                f"{config.workload} has no {what} {asked}, only {', '.join(allowed)}",
                hint=f"such as {what} {nearest}", code="predict-with", workload=config.workload,
                option=what, value=str(nearest),
            )  # fmt: skip


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
    from gpuwise.predictor.trace import trace_workload

    trace = trace_workload(config)
    name = variant(config, config.batch)
    place = kept_at(config, name)
    if place is not None:
        keep(encode({name: (trace,)}), place)
    return trace


RECORDERS = ("contents", "costs", "cuda_on_meta", "graph", "recorder", "trace")


@remember
def tracer() -> str:
    """Of the code that records: what was unknown to another tracer may be known to this one."""
    package = files("gpuwise.predictor")
    code = b"".join((package / f"{name}.py").read_bytes() for name in RECORDERS)
    code += (package / "data" / "rules.toml").read_bytes()
    return sha256(code).hexdigest()[:8]


def folder() -> Path:
    """Where traces are kept that were not shipped: another release may record a step otherwise."""
    return store.home() / "traces" / f"{__version__}-{tracer()}"


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
    """The trace of a configuration with a batch, shipped, kept or, of gpuwise's own decoding kernels, worked
    out; None where there is none."""
    assert config.batch is not None
    if (own := decoded(config)) is not None:
        return own
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
    return read(files("gpuwise.predictor") / "data" / "traces" / f"{workload}.json")


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
        raise InputError(
            f"{place} is not a trace: {error}", hint="delete it; it will be made again"
        ) from error
    return found


def keep(document: Document, path: Path) -> None:
    """Write a document whole or not at all; a folder that cannot be written is passed over in silence,
    for the trace is at hand and only the next start will be slower."""
    with suppress(InputError):
        store.write(dumps(document).encode(), path)


def dumps(document: Document) -> str:
    """Compact JSON, one line."""
    return json.dumps(document, separators=(",", ":")) + "\n"
