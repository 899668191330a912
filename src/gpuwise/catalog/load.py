"""Read the catalog's files once: facts become `GpuSpec`, each value with its source.

One line of `data/specs.csv` is one fact in SI base units. Fields named
`peak:<format>:<accumulate>:<vector|matrix>[:sparse]` (FLOP/s) become `Peak`; all others become `Fact`.
CSV and the stdlib only: bare `gpuwise` loads this and must answer in 0.3 s.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from gpuwise.errors import InputError
from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source, SourceKind, Value

DATA = Path(__file__).with_name("data")

TEXT_FIELDS = frozenset(
    {
        *("vendor", "architecture", "chip", "compute_capability", "gfx_target"),
        *("launch", "memory_type", "form", "link", "pcie_peer_to_peer"),
    }
)
"""Fields read as text: a compute capability of 8.0 or a launch of 2020 is not a quantity."""


@cache
def sources() -> Mapping[str, Source]:
    """Every source that a fact of the catalog cites, by id."""
    rows = _rows("sources.csv")
    return MappingProxyType(
        {
            row["id"]: Source(
                id=row["id"],
                title=row["title"],
                # The data tests hold this column to the allowed kinds.
                kind=cast(SourceKind, row["kind"]),
                read_on=row["read_on"],
                url=row["url"] or None,
            )
            for row in rows
        }
    )


@cache
def all_gpus() -> tuple[GpuSpec, ...]:
    """Every GPU variant of the catalog, sorted by launch date, then id."""
    facts: dict[str, dict[str, Fact]] = defaultdict(dict)
    peaks: dict[str, list[Peak]] = defaultdict(list)
    for row in _rows("specs.csv"):
        if row["field"].startswith("peak:"):
            peaks[row["gpu_id"]].append(_peak(row))
        else:
            facts[row["gpu_id"]][row["field"]] = _fact(row)
    specs = [_spec(row, facts[row["gpu_id"]], peaks[row["gpu_id"]]) for row in _rows("names.csv")]
    return tuple(sorted(specs, key=lambda spec: (spec.text("launch") or "", spec.id)))


def get(gpu_id: str) -> GpuSpec:
    """The GPU with exactly this id. Raises InputError for an id that is not in the catalog."""
    try:
        return _by_id()[gpu_id]
    except KeyError:
        raise InputError(f"no GPU in the catalog has the id {gpu_id!r}", hint="gpuwise gpus") from None


@cache
def shared_device_names() -> frozenset[str]:
    """Driver names, case-folded, that variants outside the catalog report too: memory must tell."""
    return frozenset(
        name.casefold() for row in _rows("names.csv") for name in _parts(row["shared_device_names"])
    )


@cache
def _by_id() -> Mapping[str, GpuSpec]:
    return {spec.id: spec for spec in all_gpus()}


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _spec(row: dict[str, str], facts: dict[str, Fact], peaks: list[Peak]) -> GpuSpec:
    return GpuSpec(
        id=row["gpu_id"],
        name=row["name"],
        aliases=_parts(row["aliases"]),
        device_names=_parts(row["device_names"]),
        facts=facts,
        peaks=tuple(peaks),
    )


def _parts(text: str) -> tuple[str, ...]:
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
    """`text` as the type of its field: text, yes or no, else a number (int where it is whole)."""
    if field in TEXT_FIELDS:
        return text
    if text in ("true", "false"):
        return text == "true"
    number = float(text)
    return int(number) if number.is_integer() else number


def _peak(row: dict[str, str]) -> Peak:
    _, number_format, accumulate, unit, *sparse = row["field"].split(":")
    return Peak(
        format=number_format,
        accumulate=accumulate,
        unit="matrix" if unit == "matrix" else "vector",
        flop_per_s=float(row["value"]),
        sparse=sparse == ["sparse"],
        source=sources()[row["source"]],
        locator=row["locator"],
        note=row["note"],
    )
