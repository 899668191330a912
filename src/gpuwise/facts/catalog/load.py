"""Read the catalog's files once: facts become `GpuSpec`, each value with its source.

One line of `data/specs.csv` is one fact in SI base units. Fields named
`peak:<format>:<accumulate>:<vector|matrix>[:sparse]` (FLOP/s) become `Peak`; all others become `Fact`.
CSV and the stdlib only: bare `gpuwise` loads this and must answer in 0.3 s.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

from gpuwise.errors import InputError
from gpuwise.facts.catalog import tables
from gpuwise.model.gpu import Fact, Field, GpuSpec, Peak, Source, Value

DATA = Path(__file__).with_name("data")


@cache
def fields() -> Mapping[str, Field]:
    """Every field by name, in the order of a specification chart.

    `peak:*` stands for the peaks that have no line of their own.
    """
    return MappingProxyType(
        {
            row["field"]: Field(
                name=row["field"],
                group=row["group"],
                # The data tests hold this column to the allowed kinds.
                kind=cast(Literal["text", "number", "flag"], row["kind"]),
                label=row["label"],
                chart=row["chart"] == "yes",
            )
            for row in rows("fields.csv")
        }
    )


@cache
def sources() -> Mapping[str, Source]:
    """Every source that a fact of the catalog cites, by id."""
    return tables.read_sources(DATA / "sources.csv")


@cache
def all_gpus() -> tuple[GpuSpec, ...]:
    """Every GPU variant of the catalog, sorted by launch date, then id; those without one come last."""
    facts: dict[str, dict[str, Fact]] = defaultdict(dict)
    peaks: dict[str, list[Peak]] = defaultdict(list)
    for row in rows("specs.csv"):
        if row["field"].startswith("peak:"):
            peaks[row["gpu_id"]].append(_peak(row))
        else:
            facts[row["gpu_id"]][row["field"]] = _fact(row)
    specs = [_spec(row, facts[row["gpu_id"]], peaks[row["gpu_id"]]) for row in rows("names.csv")]
    return tuple(sorted(specs, key=lambda spec: (spec.text("launch") or "9999", spec.id)))


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
        name.casefold() for row in rows("names.csv") for name in _parts(row["shared_device_names"])
    )


@cache
def models() -> tuple[tuple[str | None, tuple[str, ...], tuple[str, ...]], ...]:
    """(gpu_id, models, words) of each variant: `A100` is a model, `sxm4 80gb` tell its variants apart.

    The id is None for GPUs that share a model or a name with one of the catalog but are not in it.
    """
    known = [(row["gpu_id"], _parts(row["models"]), _words(row)) for row in rows("names.csv")]
    return (*known, *((None, _parts(row["models"]), _words(row)) for row in rows("outside.csv")))


@cache
def outside() -> tuple[str, ...]:
    """Names of GPUs that the catalog lacks and that share a name with some that it has."""
    return tuple(row["name"] for row in rows("outside.csv"))


@cache
def sizes_outside(gpu_id: str) -> tuple[int, ...]:
    """Gigabytes of the variants outside the catalog that share a model with this GPU: RTX 3080 12 GB."""
    mine = {model for known, names, _ in models() if known == gpu_id for model in names}
    words = [word for known, names, all_ in models() if known is None and mine & {*names} for word in all_]
    return tuple(int(word.removesuffix("gb")) for word in words if re.fullmatch(r"\d+gb", word))


@cache
def _by_id() -> Mapping[str, GpuSpec]:
    return {spec.id: spec for spec in all_gpus()}


def rows(name: str) -> list[dict[str, str]]:
    """The lines of a file of the catalog, by column."""
    return tables.rows(DATA / name)


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


def _words(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row["variant"].split())


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
    kind = fields()[field].kind
    if kind == "text":
        return text
    if kind == "flag":
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
