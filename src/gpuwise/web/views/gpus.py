"""The catalog as a list to sort and filter, and one GPU with everything known of it."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.facts.catalog import Match, matching, ordered
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.model.gpu import GpuSpec
from gpuwise.show import gpus as report
from gpuwise.show import page
from gpuwise.show.card import card
from gpuwise.web.view import Asked, Sheet, View
from gpuwise.web.views.compare import neighbours

# Words of `gpuwise gpus` for form and segment.
FORMS = ("pcie", "sxm", "oam", "laptop", "consumer", "workstation", "server")
SORTS = {
    "GPU": "name", "memory": "memory", "bandwidth": "bandwidth", "16 bit, dense": "fp16", "fp32": "fp32",
    "power": "power", "launch": "launch", "at launch": "price", "rent": "rent",
}  # fmt: skip
# Of what costs money or power people look for the least first.
SMALLEST_FIRST = ("power", "price", "rent")


def listing(facts: Facts, asked: Asked) -> View:
    """Every GPU that the filters leave, in the order asked for."""
    sort, problem = asked.text("sort", "name"), None
    found: tuple[GpuSpec, ...] = ()
    try:
        found = _found(facts, asked, sort)
    except GpuwiseError as error:
        problem = error
    listed = report.listing([Match(spec=spec) for spec in found], rents=facts.rents)
    # The product's name stands on the link.
    rest = listed.without({"name"}) if found else listed
    note = (
        "16 bit, dense: bf16, or fp16 where no source states bf16; rent: median of dated on-demand "
        "offers for one GPU and hour; a cell is empty where no source states the value"
    )
    table = replace(rest, columns=("GPU", *rest.columns[1:]), notes=(note,)) if found else rest
    # A click on a column asks for its usual order, or the other one where it is sorted by already.
    sorts = {}
    for column, name in SORTS.items():
        usual, other = (f"-{name}", name) if name in SMALLEST_FIRST else (name, f"-{name}")
        sorts[column] = other if sort == usual else usual
    return View(
        title="GPUs",
        template="gpus.html",
        message=problem,
        table=table,
        document=lambda: [
            report.document(spec) | {"rent_usd_per_h": facts.rents.get(spec.id)} for spec in found
        ],
        content={
            "sheet": Sheet(table=table, sorts=sorts), "asked": asked, "sort": sort, "forms": FORMS,
            "shown": len(found), "all": len(facts.gpus),
        },
    )  # fmt: skip


def _found(facts: Facts, asked: Asked, sort: str) -> tuple[GpuSpec, ...]:
    """Raises InputError for a filter or an order that means nothing, NoDataError where no GPU is left."""
    words = [word for word in (asked.text("q"), asked.one_of("form", ("", *FORMS))) if word]
    at_least, at_most = asked.number("memory"), [asked.number(name) for name in SMALLEST_FIRST]
    found = []
    for match in matching(words):
        spec = match.spec
        known = (spec.power_w, spec.number("launch_price_usd"), facts.rents.get(spec.id))
        # What no source states keeps no limit.
        large = at_least is None or (spec.memory_bytes or 0) / 2**30 >= at_least
        pairs = zip(known, at_most, strict=True)
        if large and all(most is None or (value is not None and value <= most) for value, most in pairs):
            found.append(match)
    name = sort.removeprefix("-")
    if name == "rent":
        unknown = [match.spec for match in found if match.spec.id not in facts.rents]
        rented = [match.spec for match in found if match.spec.id in facts.rents]
        rented.sort(key=lambda spec: facts.rents[spec.id], reverse=not sort.startswith("-"))
        return (*rented, *unknown)
    if name not in SORTS.values():
        raise InputError(f"GPUs cannot be sorted by {sort!r}", hint=f"one of {', '.join(SORTS.values())}")
    return tuple(match.spec for match in ordered(found, sort))


def one(facts: Facts, asked: Asked) -> View:
    """Everything known of one GPU. Raises InputError where the name is none."""
    spec = facts.gpu(asked.path[0])
    whole = card(reporting.card(facts, spec))
    return View(
        title=spec.name,
        template="gpu.html",
        table=report.specification(spec),
        document=lambda: report.document(spec) | {"page": page.document(whole)},
        content={
            "page": whole,
            "spec": spec,
            "pairs": neighbours(facts, spec),
            "priced": any(o.gpu_ids == (spec.id,) for o in facts.offers),
            "names": {other.id: report.short(other) for other in facts.gpus},
        },
    )
