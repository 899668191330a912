"""Read the catalog: three CSV files, read once, when first asked for.

CSV because a line is a fact, a change is a line, and reading it takes milliseconds.
A field named `peak:FORMAT:ACCUMULATOR:UNIT[:sparse]` is an arithmetic peak in FLOP/s.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import cast

from gpuwise.errors import InputError
from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source, SourceKind, Value

_TEXT = frozenset(
    {"architecture", "chip", "compute_capability", "form", "gfx_target", "launch", "memory_type", "pcie_peer_to_peer", "vendor"}
)  # fmt: skip
"""Fields whose value is text even where it looks like a number."""
_FLAGS = frozenset({"ecc", "mig"})


def _rows(name: str) -> Iterator[dict[str, str]]:
    with files("gpuwise.catalog").joinpath("data", name).open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


@cache
def sources() -> Mapping[str, Source]:
    """Every source by its id."""
    return {
        row["id"]: Source(
            id=row["id"],
            title=row["title"],
            kind=cast(SourceKind, row["kind"]),
            read_on=row["read_on"],
            url=row["url"] or None,
        )
        for row in _rows("sources.csv")
    }


@cache
def all_gpus() -> tuple[GpuSpec, ...]:
    """Every GPU of the catalog, oldest launch first."""
    facts: dict[str, dict[str, Fact]] = defaultdict(dict)
    peaks: dict[str, list[Peak]] = defaultdict(list)
    for row in _rows("specs.csv"):
        if row["field"].startswith("peak:"):
            peaks[row["gpu_id"]].append(_peak(row))
        else:
            facts[row["gpu_id"]][row["field"]] = _fact(row)
    return tuple(
        GpuSpec(
            id=row["gpu_id"],
            name=row["name"],
            aliases=_split(row["aliases"]),
            device_names=_split(row["device_names"]),
            facts=facts[row["gpu_id"]],
            peaks=tuple(peaks[row["gpu_id"]]),
        )
        for row in _rows("names.csv")
    )


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(";") if part)


def _fact(row: dict[str, str]) -> Fact:
    return Fact(
        field=row["field"],
        value=_value(row["field"], row["value"]),
        source=sources()[row["source"]],
        locator=row["locator"],
        note=row["note"],
    )


def _value(field: str, text: str) -> Value:
    if field in _TEXT:
        return text
    if field in _FLAGS:
        return {"yes": True, "no": False}[text]
    number = float(text)
    return int(number) if number.is_integer() else number


def _peak(row: dict[str, str]) -> Peak:
    _, form, accumulate, unit, *sparse = row["field"].split(":")
    return Peak(
        format=form,
        accumulate=accumulate,
        unit="matrix" if unit == "matrix" else "vector",
        flop_per_s=float(row["value"]),
        sparse=bool(sparse),
        source=sources()[row["source"]],
    )


def get(gpu_id: str) -> GpuSpec:
    """The GPU with exactly this id. Raises InputError for any other."""
    for spec in all_gpus():
        if spec.id == gpu_id:
            return spec
    raise InputError(f"no GPU has the id {gpu_id!r}", hint="gpuwise gpus")
