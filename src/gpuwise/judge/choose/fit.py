"""Which candidates keep every limit of a need, why a GPU has no option, and which limit to relax.

Each limit knows, for every candidate, the value at which that candidate would keep it. The limit to relax is
one that alone bars some candidate; its new value is the least that lets one through. Where no single one
does, the candidate that breaks the fewest says what all of them would have to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts.catalog import tables
from gpuwise.judge.choose.candidates import Array, Candidates, Mask
from gpuwise.judge.choose.cost import Costs
from gpuwise.model.choice import Need, Rejected
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.record import Record
from gpuwise.model.units import gibibytes, seconds, significant, usd
from gpuwise.predict.collectives import is_linked

DATA = Path(__file__).with_name("data")
# Least probability that the work fits the memory.
FITS = 0.5
# Numbers on products are rounded.
HALF_GB = 0.5
# Least share of n times one GPU that n GPUs must reach: below it, half of them do nothing.
WORTH = 0.5


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and what each candidate would need of it."""

    code: str
    """Short and stable, the field of a need that sets it; empty where none does."""
    ok: Mask
    needed: Array
    """The value at which a candidate keeps it; NaN where that is not known or no value would do."""
    upper: bool
    """Whether a larger value is the looser one."""
    reason: Callable[[float], str]
    """Of a rejection, from the value needed."""
    relaxed: Callable[[float], str]
    """The value needed, as a person writes it."""


def limits(
    need: Need, them: Candidates, cost: Costs, specs: Mapping[str, GpuSpec], speeds: Sequence[Record]
) -> tuple[Limit, ...]:
    """Every limit that the need sets, and those that hold always: memory and worthwhile scaling."""
    return (
        _fits(them),
        _scales(them, specs, speeds),
        *_card(need, them, specs),
        *_machine(need, them, specs),
        *_time(need, them, cost),
        *_money(need, them, cost),
    )


def kept(found: Sequence[Limit], size: int) -> Mask:
    """Candidates that keep all limits."""
    return reduce(np.logical_and, (limit.ok for limit in found), np.ones(size, dtype=bool))


def _fits(them: Candidates) -> Limit:
    chance = [row.speed.fits_probability for row in them.rows]
    ok = np.array([found is None or found >= FITS for found in chance], dtype=bool)
    wanted = np.array(
        [m.value if (m := row.speed.memory_bytes) else np.nan for row in them.rows], dtype=float
    )

    def reason(needed: float) -> str:
        return "does not fit" + (f": the work needs {gibibytes(needed)}" if needed == needed else "")

    return Limit("", ok, wanted, True, reason, lambda v: "a smaller batch or a shorter precision")


def _scales(them: Candidates, specs: Mapping[str, GpuSpec], speeds: Sequence[Record]) -> Limit:
    one = {s.gpu_id: s.throughput.value for s in speeds if s.gpus == 1 and s.throughput is not None}
    single = np.array([one.get(row.gpu, np.nan) for row in them.rows], dtype=float)
    share = np.where(them.count > 1, them.speed / (them.count * single), 1.0)
    ok = ~(share < WORTH)
    poor = {(row.gpu, row.count) for row, good in zip(them.rows, ok, strict=True) if not good}
    names = "; ".join(sorted({link_of(specs[gpu], count) for gpu, count in poor}))
    return Limit(
        "", ok, share, False, lambda v: f"more of them do not pay: {v:.0%} of n times one ({names})",
        lambda v: "fewer GPUs",
    )  # fmt: skip


def link_of(spec: GpuSpec, count: int) -> str:
    """How `count` of these GPUs talk to each other, as sources state it."""
    rate, name = spec.number("link_bytes_per_s"), spec.text("link")
    if name and name != "none" and is_linked(spec, count):
        return f"{name}, {rate / 1e9:g} GB/s both ways" if rate else name
    peer = spec.text("pcie_peer_to_peer")
    generation = spec.number("pcie_generation")
    bus = f"PCIe {generation:g}" if generation else "PCIe"
    return f"{bus}, no peer-to-peer" if peer == "no" else bus


def _card(need: Need, them: Candidates, specs: Mapping[str, GpuSpec]) -> Iterator[Limit]:
    """Memory and form of one GPU, wherever it stands."""
    if need.memory_gb is not None:
        (low, high), size, say = need.memory_gb, _sizes(them, specs), "has {:g} GB of memory".format
        yield _bound("memory", size, low - HALF_GB, say, "{}", lambda v: f"{floor(v)}GB..", upper=False)
        if high is not None:
            yield _bound("memory", size, high + HALF_GB, say, "{}", lambda v: f"..{ceil(v)}GB")
    if need.form is not None:
        field, values = forms()[need.form]
        good = {gpu: specs[gpu].text(field) in values for gpu in {row.gpu for row in them.rows}}
        ok, unknown = np.array([good[row.gpu] for row in them.rows], dtype=bool), np.full(len(them), np.nan)
        yield Limit("form", ok, unknown, True, lambda v: f"is not {need.form}", lambda v: "any")


def _machine(need: Need, them: Candidates, specs: Mapping[str, GpuSpec]) -> Iterator[Limit]:
    """Watts and slots of one's own machine; a rented one has what it needs."""
    for code, field, most, unit in (
        ("power", "power_w", need.power_w, "W"), ("slots", "slots", need.slots, ""),
    ):  # fmt: skip
        if most is not None:
            used = np.where(them.own, _numbers(them, specs, field) * them.count, 0.0)
            what = "takes {} " + (unit or "slots")
            yield _bound(code, used, most, "{:g}".format, what, partial(_whole, unit))


def _whole(unit: str, value: float) -> str:
    return f"{ceil(value)}{unit}"


def _time(need: Need, them: Candidates, cost: Costs) -> Iterator[Limit]:
    if need.period_s is not None and need.items is not None:
        within, items = need.period_s * need.assumptions.utilisation, need.items
        what = "takes {} for the work of " + seconds(need.period_s)

        def less(needed: float) -> str:
            return f"of {significant(items * within / needed)} items"

        yield _bound("work", cost.time, within, seconds, what, less)
    if need.deadline_s is not None:
        paid = cost.time / need.assumptions.utilisation
        what = "misses the deadline: takes {}"
        yield _bound("deadline", paid, need.deadline_s, seconds, what, lambda v: f"{ceil(v / 60)}min")
    if need.latency_s is not None:
        step = np.array([row.speed.seconds or np.nan for row in them.rows], dtype=float)
        what = "answers too late: {} a step"
        kind = need.latency_kind
        yield _bound("latency", step, need.latency_s, seconds, what, lambda v: f"{kind}<={ceil(v * 1e3)}ms")


def _money(need: Need, them: Candidates, cost: Costs) -> Iterator[Limit]:
    if need.budget_usd is None:
        return
    unit = "/h" if need.budget_per_hour else ""
    spent = cost.per_hour if need.budget_per_hour else np.where(them.own, cost.outlay, cost.total)
    what = "over budget: {}" + unit
    yield _bound("budget", spent, need.budget_usd, usd, what, lambda v: f"${ceil(v * 100) / 100:.2f}{unit}")


def _bound(
    code: str, value: Array, limit: float, form: Callable[[float], str], what: str,
    relaxed: Callable[[float], str], *, upper: bool = True,
) -> Limit:  # fmt: skip
    """A limit on a number; what no source states does not keep it.

    `relaxed` writes a value as people type it, rounded to the loose side.
    """

    def reason(needed: float) -> str:
        return what.format(form(needed)) if needed == needed else f"no source states its {code}"

    ok = value <= limit if upper else value >= limit
    return Limit(code, ok, value, upper, reason, relaxed)


def _numbers(them: Candidates, specs: Mapping[str, GpuSpec], field: str) -> Array:
    values = {gpu: specs[gpu].number(field) for gpu in {row.gpu for row in them.rows}}
    return np.array(
        [np.nan if values[row.gpu] is None else values[row.gpu] for row in them.rows], dtype=float
    )


def _sizes(them: Candidates, specs: Mapping[str, GpuSpec]) -> Array:
    """Memory as the product is sold: GiB, or decimal GB where that is its number."""
    sold, stated = (_numbers(them, specs, field) for field in ("memory_sold_gb", "memory_bytes"))
    return np.asarray(np.where(np.isnan(sold), stated / 2**30, sold))


@cache
def forms() -> Mapping[str, tuple[str, frozenset[str]]]:
    """What each `--form` means: a field of the catalog and the values it may have."""
    return {
        row["form"]: (row["field"], frozenset(row["values"].split(";")))
        for row in tables.rows(DATA / "forms.csv")
    }


def rejected(
    need: Need, them: Candidates, cost: Costs, found: Sequence[Limit], speeds: Sequence[Record]
) -> tuple[Rejected, ...]:
    """Every GPU without an option, by the limits that its nearest candidate breaks."""
    fine = {row.gpu for row, ok in zip(them.rows, kept(found, len(them)), strict=True) if ok}
    broken = _broken(them, found)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(them.rows):
        places.setdefault(row.gpu, []).append(place)
    order = list(dict.fromkeys(speed.gpu_id for speed in speeds))
    return tuple(
        _rejected(need, gpu, places.get(gpu, []), broken, cost, found, speeds)
        for gpu in order
        if gpu not in fine
    )


def _rejected(
    need: Need, gpu: str, places: Sequence[int], broken: Array, cost: Costs, found: Sequence[Limit],
    speeds: Sequence[Record],
) -> Rejected:  # fmt: skip
    if not places:
        refusals = [speed.refusal for speed in speeds if speed.gpu_id == gpu]
        if all(refusals):
            return Rejected(gpu_id=gpu, reason=refusals[0])
        return Rejected(gpu_id=gpu, reason=no_price(need))
    nearest = min(places, key=lambda place: (broken[place], cost.ranked[place]))
    faults = [limit for limit in found if not limit.ok[nearest]]
    reason = "; ".join(limit.reason(float(limit.needed[nearest])) for limit in faults)
    return Rejected(gpu_id=gpu, reason=reason, constraint=faults[0].code)


def no_price(need: Need) -> str:
    """Why a GPU has no option that nobody offers within the limits."""
    what = {"own": "to buy", "rent": "to rent", "both": ""}[need.acquire]
    age = need.assumptions.max_age_days
    parts = (
        "no price", what, f"of {', '.join(need.providers)}" if need.providers else "",
        f"younger than {age} days" if age is not None else "", "is known for this number of GPUs",
    )  # fmt: skip
    return " ".join(part for part in parts if part)


def contradiction(them: Candidates, found: Sequence[Limit]) -> GpuwiseError:
    """The error for limits that nothing meets: which one to relax, and by how much; NoDataError where what is
    asked for is not for sale here at all."""
    for limit in found:
        if limit.code and not limit.ok.any() and np.isnan(limit.needed).all():
            return NoDataError(
                f"no GPU with a speed and a price here keeps the limit on {limit.code}",
                hint="add prices of your own; predictions give speeds without prices", code="no-price",
            )  # fmt: skip
    ways = [way for limit in found if (way := _alone(them, found, limit)) is not None]
    problem, joint = "nothing meets all limits together", "; or "
    if not ways:
        # The candidate that breaks the fewest limits says what all of them would have to be.
        place = int(np.argmin(_broken(them, found)))
        ways = [_way(them, limit, place) for limit in found if not limit.ok[place]]
        problem, joint = "nothing meets all limits, nor all but one", " and "
    words = joint.join(f"{way.limit} {way.value}".strip() + f" ({way.gpus})" for way in ways)
    return InputError(problem, hint=f"relax {words}", code="limits", ways=tuple(ways), joint=joint)


class Way(NamedTuple):
    """A limit with the value at which some GPUs would keep it."""

    limit: str
    """Its code; empty where no limit of the need would help, and `value` says what would."""
    value: str
    gpus: str


def _way(them: Candidates, limit: Limit, place: int) -> Way:
    row = them.rows[place]
    return Way(limit.code, limit.relaxed(float(limit.needed[place])), f"{row.count} x {row.gpu}")


def _alone(them: Candidates, found: Sequence[Limit], limit: Limit) -> Way | None:
    """What this limit would have to be if only it gave way; None where that does not help."""
    others = kept([other for other in found if other is not limit], len(them)) & ~limit.ok
    if not others.any():
        return None
    values = np.where(others, limit.needed, np.nan)
    if np.isnan(values).all():
        place = int(np.argmax(others))
    else:
        place = int(np.nanargmin(values) if limit.upper else np.nanargmax(values))
    return _way(them, limit, place)


def _broken(them: Candidates, found: Sequence[Limit]) -> Array:
    """How many limits each candidate breaks."""
    return np.asarray(sum(((~limit.ok).astype(float) for limit in found), np.zeros(len(them))))
