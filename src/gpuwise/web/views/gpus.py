"""The catalog as a list to sort and filter, and one GPU with everything known of it."""

from __future__ import annotations

from typing import Any

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.facts.catalog import Match, matching, ordered
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.units import gibibytes, si, significant
from gpuwise.show import gpus as report
from gpuwise.show import page
from gpuwise.show.card import card
from gpuwise.show.table import Table
from gpuwise.web.asked import Asked
from gpuwise.web.view import Message, Sheet, View, message, plain
from gpuwise.web.views.compare import neighbours

# Words of `gpuwise gpus` for form and segment.
FORMS = ("pcie", "sxm", "oam", "laptop", "consumer", "workstation", "server")
SORTS = {
    "GPU": "name", "memory": "memory", "bandwidth": "bandwidth", "16 bit, dense": "fp16", "fp32": "fp32",
    "power": "power", "launch": "launch", "at launch": "price", "rent": "rent",
}  # fmt: skip
COLUMNS = ("GPU", "architecture", *tuple(SORTS)[1:6], "form", "launch", "at launch", "rent")
_SMALLEST_FIRST = ("name", "power", "price", "rent")


def listing(facts: Facts, asked: Asked) -> View:
    """Every GPU that the filters leave, in the order asked for."""
    sort = asked.text("sort", "name")
    found, problem = _found(facts, asked, sort)
    table = Table(
        columns=COLUMNS,
        rows=tuple(_row(facts, spec) for spec in found),
        numeric=frozenset({"memory", "bandwidth", "16 bit, dense", "fp32", "power", "at launch", "rent"}),
        notes=(
            "16 bit, dense: bf16, or fp16 where no source states bf16; rent: median of dated on-demand "
            "offers for one GPU and hour; a cell is empty where no source states the value",
        ),
    )
    return View(
        title="GPUs",
        template="gpus.html",
        table=table,
        document=lambda: [_document(facts, spec) for spec in found],
        content={
            "sheet": Sheet(table=table, sorts={c: _toggled(s, sort) for c, s in SORTS.items()}),
            "asked": asked, "sort": sort, "forms": FORMS, "message": problem,
            "shown": len(found), "all": len(facts.gpus),
        },
    )  # fmt: skip


def _document(facts: Facts, spec: GpuSpec) -> dict[str, Any]:
    return report.document(spec) | {"rent_usd_per_h": facts.rents.get(spec.id)}


def _toggled(name: str, sort: str) -> str:
    """What a click on a column asks for: its usual order, or the other one where it is sorted by already."""
    usual = f"-{name}" if name in _SMALLEST_FIRST and name != "name" else name
    other = name if usual.startswith("-") else f"-{name}"
    return other if sort == usual else usual


def _found(facts: Facts, asked: Asked, sort: str) -> tuple[tuple[GpuSpec, ...], Message | None]:
    try:
        words = [word for word in (asked.text("q"), asked.one_of("form", ("", *FORMS))) if word]
        matches = [match for match in matching(words) if _kept(facts, asked, match.spec)]
        return tuple(match.spec for match in _sorted(facts, matches, sort)), None
    except GpuwiseError as error:
        return (), message(error)


def _kept(facts: Facts, asked: Asked, spec: GpuSpec) -> bool:
    """Whether a GPU keeps every limit asked for; what no source states keeps none."""
    size = None if spec.memory_bytes is None else spec.memory_bytes / 2**30
    limits = (
        (asked.number("memory"), size, 1), (asked.number("power"), spec.power_w, -1),
        (asked.number("price"), spec.number("launch_price_usd"), -1),
        (asked.number("rent"), facts.rents.get(spec.id), -1),
    )  # fmt: skip
    return all(
        limit is None or (value is not None and sign * value >= sign * limit) for limit, value, sign in limits
    )


def _sorted(facts: Facts, matches: list[Match], sort: str) -> tuple[Match, ...]:
    if sort.removeprefix("-") != "rent":
        if sort.removeprefix("-") not in SORTS.values():
            raise InputError(f"GPUs cannot be sorted by {sort!r}", hint=f"one of {', '.join(SORTS.values())}")
        return ordered(matches, sort)
    known = [match for match in matches if match.spec.id in facts.rents]
    rest = [match for match in matches if match.spec.id not in facts.rents]
    by_rent = sorted(known, key=lambda m: facts.rents[m.spec.id], reverse=not sort.startswith("-"))
    return (*by_rent, *rest)


def _row(facts: Facts, spec: GpuSpec) -> tuple[str, ...]:
    half, single = spec.peak("bf16") or spec.peak("fp16"), spec.peak("fp32")
    launch_price, rent = spec.number("launch_price_usd"), facts.rents.get(spec.id)
    return (
        spec.id,
        spec.architecture or "",
        gibibytes(spec.memory_bytes) if spec.memory_bytes else "",
        si(spec.memory_bytes_per_s, "B/s") if spec.memory_bytes_per_s else "",
        si(half.flop_per_s, "FLOP/s") if half else "",
        si(single.flop_per_s, "FLOP/s") if single else "",
        f"{spec.power_w:,.0f} W" if spec.power_w else "",
        spec.text("form") or "",
        spec.text("launch") or "",
        f"${launch_price:,.0f}" if launch_price else "",
        f"${significant(rent)}/h" if rent else "",
    )


def one(facts: Facts, asked: Asked) -> View:
    """Everything known of one GPU. Raises InputError where the name is none."""
    spec = facts.gpu(asked.path[0])
    whole = plain(card(reporting.card(facts, spec)))
    return View(
        title=spec.name,
        template="gpu.html",
        table=report.specification(spec),
        document=lambda: report.document(spec) | {"page": page.document(whole)},
        content={"page": whole, "spec": spec, "pairs": neighbours(facts, spec)},
    )
