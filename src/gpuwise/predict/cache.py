"""Traces as small JSON: shipped for the built-in workloads, kept for others, good for every batch.

A kernel's sizes are linear in the batch for a step of fixed structure: every operand has either one
dimension that grows with it or none. So a file holds each number as `constant + slope * batch`, from the
step recorded at two batches; a third one is compared when the file is made. Memory is kept at several
batches and interpolated, for its peak may move from one place of the step to another.

Layout (`SCHEMA` counts changes): `words` are the strings and `numbers` the sizes, each a number,
[slope] or [constant, slope]. A kernel is [kind, name, dtype, phase, fused, count, flop, bytes read, bytes
written, *shape]: places in `words` four times, itself, then places in `numbers`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from gpuwise.errors import InputError, MachineError
from gpuwise.model.run import RunConfig
from gpuwise.model.trace import Kernel, KernelClass, Memory, Phase, Trace
from gpuwise.predict.graph import grouped
from gpuwise.store import home
from gpuwise.workloads import registry

SCHEMA = 1
_SIZES = ("count", "flop", "bytes_read", "bytes_written")
_MEMORY = ("parameters", "gradients", "optimiser", "peak", "largest")


def obtain(config: RunConfig, batch: int | None = None) -> Trace:
    """The trace of a built-in or foreign workload: shipped, kept, or recorded now and kept.

    Raises InputError where it cannot be traced, MachineError where torch is needed and missing.
    """
    found = registry.get(config.workload)
    batch = batch or config.batch or found.spec.default_batch
    config = replace(config, batch=batch)
    own = found.reference is None and config.size == "full"
    known = find(config, found.spec.version) if own else None
    if known is not None and covers(known, batch):
        return at(known, batch, config.precision)
    if find_spec("torch") is None:
        raise MachineError(
            f"{config.workload} at batch {batch} has not been traced yet, and tracing needs torch",
            hint="pip install 'gpuwise[torch]'",
        )
    from gpuwise.predict.trace import trace_workload

    trace = trace_workload(config, batch)
    if own:
        keep(encode((trace,), config.recipe), folder() / file_name(config, batch))
    return trace


def folder() -> Path:
    """Where traces are kept that were not shipped."""
    return home() / "traces"


def file_name(config: RunConfig, batch: int | None = None) -> str:
    """`resnet50-train-bf16-tuned-eager.json`; `-b64` before the end where it holds one batch only."""
    how = "compiled" if config.compile else "eager"
    name = f"{config.workload}-{config.mode}-{config.precision}-{config.recipe}-{how}"
    return f"{name}.json" if batch is None else f"{name}-b{batch}.json"


def find(config: RunConfig, version: int) -> dict[str, Any] | None:
    """The document of a configuration, shipped or kept; None where there is none of that version."""
    shipped = files("gpuwise.predict") / "data" / "traces"
    names = _names(config)
    for place in (*(shipped / name for name in names), *(folder() / name for name in names)):
        if place.is_file():
            document = read(place.read_text(encoding="utf-8"), str(place))
            if document is not None and document["version"] == version:
                return document
    return None


def _names(config: RunConfig) -> list[str]:
    """Files that may hold a configuration, the likeliest first."""
    same = [config]
    if config.precision == "tf32":
        same.append(replace(config, precision="fp32"))
    if config.precision == "fp16" and config.mode == "infer":
        same.append(replace(config, precision="bf16"))
    return [name for c in same for name in dict.fromkeys((file_name(c), file_name(c, c.batch)))]


def read(text: str, where: str) -> dict[str, Any] | None:
    """The document of a file; None where it is of another schema. Raises InputError where it is no trace."""
    try:
        document = json.loads(text)
        schema = document["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{where} is no trace: {error}", hint="delete it; it will be made again") from error
    return document if schema == SCHEMA else None


def keep(document: dict[str, Any], path: Path) -> None:
    """Write a document whole or not at all; a folder that cannot be written is passed over in silence,
    for the trace is at hand and only the next start will be slower."""
    temporary = path.parent / f".{os.urandom(8).hex()}.gpuwise"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(dumps(document), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def dumps(document: dict[str, Any]) -> str:
    """Compact JSON with one line at the end."""
    return json.dumps(document, separators=(",", ":")) + "\n"


def covers(document: dict[str, Any], batch: int) -> bool:
    """Whether a document holds a batch: one recorded at several holds all, one at one only that."""
    batches = document["batches"]
    return len(batches) > 1 or batches == [batch]


# -- numbers that are linear in the batch --------------------------------------------------------


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


def encode(traces: Sequence[Trace], recipe: str) -> dict[str, Any]:
    """One document for the same step at one or several batches (in order), kernels ungrouped. Raises
    InputError where its structure changes with the batch or a size is not linear in it.

    A step that does more of the same at a larger batch (a loss in chunks) is matched group by group, and
    then counts are linear too.
    """
    batches = tuple(t.batch for t in traces)
    if len({len(t.kernels) for t in traces}) > 1:
        traces = [replace(t, kernels=grouped(t.kernels)) for t in traces]
    first = traces[0]
    if len({len(t.kernels) for t in traces}) > 1:
        raise _not_linear(first, "the number of its kernels changes with the batch")
    words: dict[str, int] = {}
    rows = (_row(batches, same, words, first) for same in zip(*(t.kernels for t in traces), strict=True))
    numbers: dict[str, int] = {}
    kernels = [_places(row, numbers) for row in _merged(rows)]
    return {
        "schema": SCHEMA,
        "workload": first.workload,
        "version": first.version,
        "mode": first.mode,
        "precision": first.precision,
        "recipe": recipe,
        "compiled": first.compiled,
        "item": first.item,
        "items": _line(batches, [t.items for t in traces]),
        "parameters": first.parameters,
        "unknown": list(first.unknown),
        "batches": list(batches),
        "memory": [[_whole(getattr(t.memory, name)) for name in _MEMORY] for t in traces if t.memory],
        "words": list(words),
        "numbers": [json.loads(text) for text in numbers],
        "kernels": kernels,
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


def _places(row: list[Any], numbers: dict[str, int]) -> list[int]:
    """The row with its sizes replaced by their places among the numbers."""
    return [*row[:5], *(numbers.setdefault(json.dumps(x), len(numbers)) for x in row[5:])]


def _row(
    batches: tuple[int, ...], same: tuple[Kernel, ...], words: dict[str, int], trace: Trace
) -> list[Any]:
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
    return [*(words.setdefault(t, len(words)) for t in texts), first.fused, *lines]


def _not_linear(trace: Trace, why: str) -> InputError:
    return InputError(
        f"{trace.workload} cannot be kept for all batches: {why}",
        hint=f"gpuwise predict {trace.workload} --batch {trace.batch}",
    )


def at(document: dict[str, Any], batch: int, precision: str | None = None) -> Trace:
    """The trace of a document at a batch, under a sister precision's names where asked."""
    precision = precision or document["precision"]
    words, numbers = document["words"], [_number(x, batch) for x in document["numbers"]]
    names = _formats(document["precision"], precision)
    return Trace(
        workload=document["workload"],
        version=document["version"],
        mode=document["mode"],
        precision=precision,
        batch=batch,
        compiled=document["compiled"],
        item=document["item"],
        items=float(_number(document["items"], batch)),
        parameters=document["parameters"],
        kernels=tuple(_kernel(row, words, numbers, names) for row in document["kernels"]),
        memory=_memory(document, batch),
        unknown=tuple(document["unknown"]),
    )


def _formats(stored: str, asked: str) -> dict[tuple[str, bool], str]:
    """(format, whether tensor cores compute it) -> the sister's name."""
    if stored == asked:
        return {}
    if asked == "tf32":
        return {("fp32", True): "tf32"}
    return {(stored, True): asked, (stored, False): asked}


def _kernel(
    row: list[int], words: list[str], numbers: list[float], names: dict[tuple[str, bool], str]
) -> Kernel:
    kind, name, dtype, phase = (words[i] for i in row[:4])
    count, flop, bytes_read, bytes_written, *shape = (numbers[i] for i in row[5:])
    return Kernel(
        kind=cast(KernelClass, kind),
        name=name,
        dtype=names.get((dtype, kind in ("matmul", "convolution")), dtype),
        shape=tuple(round(x) for x in shape),
        flop=flop,
        bytes_read=bytes_read,
        bytes_written=bytes_written,
        phase=cast(Phase, phase),
        count=round(count),
        fused=row[4],
    )


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
