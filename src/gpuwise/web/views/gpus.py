"""The catalog as a list to sort and filter, one GPU with everything known of it, and two to six side by side:
specifications, what the work of each kind does on them, what they cost."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts.catalog import Match, all_gpus, get, matching, ordered, resolve
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.model.gpu import GpuSpec
from gpuwise.show import article as contests
from gpuwise.show import gpus as report
from gpuwise.show import page, predictions
from gpuwise.show.card import card
from gpuwise.show.records import KINDS
from gpuwise.show.table import Table
from gpuwise.web.view import Asked, Sheet, View

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
            "shown": len(found), "all": len(all_gpus()),
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
    spec = resolve(asked.path[0]).spec
    whole = card(reporting.card(facts, spec))
    return View(
        title=spec.name,
        template="gpu.html",
        table=report.specification(spec),
        document=lambda: report.document(spec) | {"page": page.document(whole)},
        content={
            "page": whole,
            # In place of its command lines it has links; files of pages have no comparisons to link to.
            "linked": replace(whole, sections=tuple(replace(one, code="") for one in whole.sections)),
            "spec": spec,
            "near": report.nearest(spec),
            "priced": any(o.gpu_ids == (spec.id,) for o in facts.offers),
            "names": report.products(),
        },
    )


MOST = 6


def picked(asked: Asked) -> tuple[GpuSpec, ...]:
    """The GPUs of the path (`a,b`) or of the form, each once. Raises InputError for a name that is none, and
    for more than six."""
    names = asked.path[0].split(",") if asked.path else asked.many("gpu")
    specs = (resolve(name).spec for name in names if name.strip())
    found = tuple({spec.id: spec for spec in specs}.values())
    if len(found) > MOST:
        raise InputError(f"{len(found)} GPUs are too many for one page", hint=f"compare two to {MOST}")
    return found


def form(facts: Facts, asked: Asked) -> View:
    """What to compare; nothing is compared yet."""
    table = Table(columns=("GPU", "name"), rows=tuple((spec.id, spec.name) for spec in all_gpus()))
    return View(
        title="Compare",
        template="compare.html",
        table=table,
        document=lambda: [{"id": spec.id, "name": spec.name} for spec in all_gpus()],
        content={"specs": picked(asked), "all": all_gpus(), "page": None, "article": False},
    )


def several(facts: Facts, asked: Asked) -> View:
    """Two to six GPUs. Raises InputError for fewer, more, or an unknown one."""
    specs = picked(asked)
    if len(specs) < 2:
        raise InputError("compare needs two GPUs", hint="choose another one")
    contest = reporting.contest(facts, specs)
    made = contests.comparison(contest)
    alone = tuple(record for record in contest.forecasts if record.gpus == 1)
    return View(
        title=made.title, template="compare.html", table=report.side_by_side(specs),
        document=lambda: {"gpus": [report.document(spec) for spec in specs], **predictions.document(alone)},
        content={
            "specs": specs, "all": all_gpus(), "page": made, "article": bool(contest.common(KINDS)),
        },
    )  # fmt: skip


def article(facts: Facts, asked: Asked) -> View:
    """Several GPUs in words. Raises InputError for a single one, NoDataError where no forecast is of two."""
    specs = picked(asked)
    contest = reporting.contest(facts, specs)
    if not contest.common(KINDS):
        raise NoDataError("no kind of work is forecast on two of them", hint="compare their specifications")
    made = contests.article(contest)
    names = " ".join(contest.ids)
    return View(
        title=made.title, template="document.html", table=report.side_by_side(specs),
        document=lambda: page.document(made),
        content={
            "page": made, "gpu": "",
            "lead": f"{made.subtitle}. As a file: gpuwise compare {names} --article -o article.md",
        },
    )  # fmt: skip


def pairs(facts: Facts) -> tuple[str, ...]:
    """Each GPU with the next two in 16-bit peak: what is compared in pages that are exported."""
    peaks = ((spec.peak("fp16"), spec.id) for spec in map(get, facts.studied))
    ids = [gpu_id for _, gpu_id in sorted((peak.flop_per_s, gpu_id) for peak, gpu_id in peaks if peak)]
    return tuple(f"{a},{b}" for step in (1, 2) for a, b in zip(ids, ids[step:], strict=False))
