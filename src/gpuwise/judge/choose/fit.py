"""Which candidates keep every limit of a need, why a GPU has no option, and which limit to relax.

Each limit knows, for every candidate, the value at which that candidate would keep it. The limit to relax is
one that alone bars some candidate; its new value is the least that lets one through. Where no single one
does, the candidate that breaks the fewest says what all of them would have to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import tables
from gpuwise.judge.choose.candidates import COMPUTERS, Array, Candidates, Mask, hours_a_month
from gpuwise.model.choice import Need, Rejected
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.record import Record
from gpuwise.model.units import gibibytes, seconds, significant, usd
from gpuwise.predict.collectives import MODULES, is_linked
from gpuwise.predict.forecast import FITS

DATA = Path(__file__).with_name("data")
# Numbers on products are rounded.
HALF_GB = 0.5
# Least share of n times one GPU that n GPUs must reach: below it, half of them do nothing.
WORTH = 0.5
# Share of the time that a service may be busy: requests come in waves, and beyond it they queue.
BUSIEST = 0.8
# Compute capability of the oldest architecture in CUDA 13 (its release notes): Turing.
OLDEST = 7.5
UNSUPPORTED = "CUDA 13 no longer supports its architecture: only frameworks built for CUDA 12 run on it"
UNPROVEN = "known by its data sheet only: no network measured on such a card is known to the predictor"


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and what each candidate would need of it."""

    code: str  # Short and stable, the field of a need that sets it; empty where none does
    ok: Mask
    needed: Array  # The value at which a candidate keeps it; NaN where not known or no value would do
    upper: bool  # Whether a larger value is the looser one
    reason: Callable[[int], str]  # Of the rejection of the candidate in a place
    relaxed: Callable[[float], str]  # The value needed, as a person types it


class Way(NamedTuple):
    """A limit with the value at which some GPUs would keep it."""

    limit: str  # Its code; empty where no limit of the need would help, and `value` says what would
    value: str
    gpus: str


def limits(need: Need, them: Candidates, speeds: Sequence[Record]) -> tuple[Limit, ...]:
    """Every limit that the need sets, and those that hold always: memory, evidence, worthwhile scaling."""
    specs = {row.gpu: catalog.get(row.gpu) for row in them.rows}
    found = [_fits(them), _scales(them, specs, speeds), *_card(need, them, specs)]
    if not need.unproven:
        rows = [row.speed for row in them.rows]
        # On kernels without a prediction every card rests on its sheet: none is known worse than others.
        proven = [not any(i.code == "order-of-magnitude" for i in (s.measured or s).issues) for s in rows]
        ok, unknown = np.array(proven, dtype=bool), np.full(len(them), np.nan)
        found.append(Limit("unproven", ok, unknown, True, lambda p: UNPROVEN, lambda v: "ok"))
    have = np.array([row.way == "have" for row in them.rows], dtype=bool)
    if need.mode != "compute" and not need.unproven:
        # Kernels compiled once run on; frameworks are built anew, and no longer for these.
        capable = {gpu: float(spec.text("compute_capability") or OLDEST) for gpu, spec in specs.items()}
        old = np.array([capable[row.gpu] < OLDEST for row in them.rows], dtype=bool)
        unknown = np.full(len(them), np.nan)
        found.append(Limit("software", have | ~old, unknown, True, lambda p: UNSUPPORTED, lambda v: "ok"))
    if have.any():
        # Nobody replaces a card by one that does no more.
        least = float(them.speed[have].max())
        ok = have | (them.outlay <= 0) | (them.speed > least)
        found.append(Limit("", ok, them.speed, False, lambda p: "not faster than what you have",
                           lambda v: "a faster GPU"))  # fmt: skip
    # Watts and slots of one's own machine; a rented one has what it needs.
    for code, field, most, unit in (
        ("power", "power_w", need.power_w, "W"), ("slots", "slots", need.slots, ""),
    ):  # fmt: skip
        if most is not None:
            used = np.where(them.own, _numbers(them, specs, field) * them.count, 0.0)
            what = "takes {} " + (unit or "slots")
            found.append(_bound(code, used, most, "{:g}".format, what, lambda v, u=unit: f"{ceil(v)}{u}"))  # type: ignore[misc]
    return (*found, *_time(need, them), *_money(need, them))


def kept(found: Sequence[Limit], size: int) -> Mask:
    """Candidates that keep all limits."""
    return reduce(np.logical_and, (limit.ok for limit in found), np.ones(size, dtype=bool))


def _fits(them: Candidates) -> Limit:
    chance = [row.speed.fits_probability for row in them.rows]
    ok = np.array([found is None or found >= FITS for found in chance], dtype=bool)
    wanted = np.array(
        [m.value if (m := row.speed.memory_bytes) else np.nan for row in them.rows], dtype=float
    )

    def reason(place: int) -> str:
        needed = float(wanted[place])
        return "does not fit" + (f": the work needs {gibibytes(needed)}" if needed == needed else "")

    return Limit("", ok, wanted, True, reason, lambda v: "a smaller batch or a shorter precision")


def _scales(them: Candidates, specs: Mapping[str, GpuSpec], speeds: Sequence[Record]) -> Limit:
    one = {s.gpu_id: s.throughput.value for s in speeds if s.gpus == 1 and s.throughput is not None}
    single = np.array([one.get(row.gpu, np.nan) for row in them.rows], dtype=float)
    share = np.where(them.count > 1, them.speed / (them.count * single), 1.0)

    def reason(place: int) -> str:
        row = them.rows[place]
        link = link_of(specs[row.gpu], row.count)
        return f"more of them do not pay: {share[place]:.0%} of n times one ({link})"

    return Limit("", ~(share < WORTH), share, False, reason, lambda v: "fewer GPUs")


def link_of(spec: GpuSpec, count: int) -> str:
    """How `count` of these GPUs talk to each other, as sources state it."""
    rate, name = spec.number("link_bytes_per_s"), spec.text("link")
    if name and name != "none" and is_linked(spec, count):
        return f"{name}, {rate / 1e9:g} GB/s both ways" if rate else name
    generation = spec.number("pcie_generation")
    bus = f"PCIe {generation:g}" if generation else "PCIe"
    return f"{bus}, no peer-to-peer" if spec.text("pcie_peer_to_peer") == "no" else bus


def _card(need: Need, them: Candidates, specs: Mapping[str, GpuSpec]) -> Iterator[Limit]:
    """Memory and form of one GPU, wherever it stands."""
    if need.memory_gb is not None:
        (low, high), say = need.memory_gb, "has {:g} GB of memory".format
        # Memory as the product is sold: GiB, or decimal GB where that is its number.
        sold, stated = (_numbers(them, specs, field) for field in ("memory_sold_gb", "memory_bytes"))
        size = np.asarray(np.where(np.isnan(sold), stated / 2**30, sold))
        yield _bound("memory", size, low - HALF_GB, say, "{}", lambda v: f"{floor(v)}GB..", upper=False)
        if high is not None:
            yield _bound("memory", size, high + HALF_GB, say, "{}", lambda v: f"..{ceil(v)}GB")
    if need.form is not None:
        good = {gpu: has_form(spec, need.form) for gpu, spec in specs.items()}
        ok, unknown = np.array([good[row.gpu] for row in them.rows], dtype=bool), np.full(len(them), np.nan)
        yield Limit("form", ok, unknown, True, lambda p: f"is not {need.form}", lambda v: "any")


def _time(need: Need, them: Candidates) -> Iterator[Limit]:
    if need.period_s is not None and need.items is not None:
        within, items = need.period_s * min(BUSIEST, need.assumptions.utilisation), need.items
        what = f"takes {{}} for the work of {seconds(need.period_s)}, of which it may be busy {BUSIEST:.0%}"
        less = "of {} items".format
        yield _bound(
            "work", them.time, within, seconds, what, lambda v: less(significant(items * within / v))
        )
    if need.deadline_s is not None:
        paid = them.time / need.assumptions.utilisation
        what = "misses the deadline: takes {}"
        yield _bound("deadline", paid, need.deadline_s, seconds, what, lambda v: f"{ceil(v / 60)}min")
    if need.latency_s is not None:
        step = np.array([row.speed.seconds or np.nan for row in them.rows], dtype=float)
        what, kind = "answers too late: {} a step", need.latency_kind
        yield _bound("latency", step, need.latency_s, seconds, what, lambda v: f"{kind}<={ceil(v * 1e3)}ms")


def _money(need: Need, them: Candidates) -> Iterator[Limit]:
    if need.budget_usd is None:
        return
    unit = "/h" if need.budget_per_hour else "/month" if need.budget_per_month else ""
    hours = hours_a_month(need) if need.budget_per_month else 1.0
    whole = np.where(them.own, them.outlay, them.per_item * (need.items or np.nan))
    spent = need.users * (them.per_hour * hours if unit else whole)

    def reason(place: int) -> str:
        host = float(them.host[place]) * need.users
        with_host = f", {usd(host)} of it for the host machine" if host and not unit else ""
        known = spent[place] == spent[place]
        return f"over budget: {usd(float(spent[place]))}{unit}{with_host}" if known else "no price is known"

    def relaxed(value: float) -> str:
        return f"${ceil(value * 100) / 100:.2f}{unit}"

    yield Limit("budget", spent <= need.budget_usd, spent, True, reason, relaxed)


def _bound(
    code: str, value: Array, limit: float, form: Callable[[float], str], what: str,
    relaxed: Callable[[float], str], *, upper: bool = True,
) -> Limit:  # fmt: skip
    """A limit on a number; what no source states does not keep it."""

    def reason(place: int) -> str:
        needed = float(value[place])
        return what.format(form(needed)) if needed == needed else f"no source states its {code}"

    return Limit(code, value <= limit if upper else value >= limit, value, upper, reason, relaxed)


def _numbers(them: Candidates, specs: Mapping[str, GpuSpec], field: str) -> Array:
    values = {gpu: spec.number(field) for gpu, spec in specs.items()}
    return np.array(
        [np.nan if values[row.gpu] is None else values[row.gpu] for row in them.rows], dtype=float
    )


@cache
def forms() -> Mapping[str, tuple[str, frozenset[str]]]:
    """What each form means: a field of the catalog and the values it may have."""
    return {
        row["form"]: (row["field"], frozenset(row["values"].split(";")))
        for row in tables.rows(DATA / "forms.csv")
    }


def has_form(spec: GpuSpec, form: str) -> bool:
    """Whether the GPU is of a form; only what sits in no server is a laptop or small computer."""
    field, values = forms()[form]
    return spec.text(field) in values and (form != "mobile" or spec.text("segment") != "server")


def rejected(
    need: Need, them: Candidates, found: Sequence[Limit], speeds: Sequence[Record]
) -> tuple[Rejected, ...]:
    """Every GPU without an option, by the limits that its nearest candidate breaks."""
    fine = {row.gpu for row, ok in zip(them.rows, kept(found, len(them)), strict=True) if ok}
    broken, places = _broken(them, found), dict[str, list[int]]()
    for place, row in enumerate(them.rows):
        places.setdefault(row.gpu, []).append(place)
    refusals: dict[str, list[str]] = {}
    for speed in speeds:
        refusals.setdefault(speed.gpu_id, []).append(speed.refusal)
    left = []
    for gpu, said in refusals.items():
        if gpu in fine:
            continue
        if gpu not in places:
            reason = said[0] if all(said) else no_price(need, gpu)
            left.append(Rejected(gpu_id=gpu, reason=reason))
            continue
        nearest = min(places[gpu], key=lambda place: (broken[place], them.ranked[place]))
        faults = [limit for limit in found if not limit.ok[nearest]]
        reason = "; ".join(limit.reason(nearest) for limit in faults)
        left.append(Rejected(gpu_id=gpu, reason=reason, constraint=faults[0].code))
    return tuple(left)


def no_price(need: Need, gpu: str) -> str:
    """Why a GPU has no option that nobody offers within the limits."""
    form = catalog.get(gpu).text("form")
    if need.acquire == "own" and form in MODULES:
        return "sold only on boards of 4 or 8 in a server, and no price of such a system is known"
    if need.acquire == "own" and form in COMPUTERS:
        return "sold only inside a computer, and no price of one is known"
    what = {"own": "to buy", "rent": "to rent", "both": ""}[need.acquire]
    age = need.assumptions.max_age_days
    parts = (
        "no price", what, f"of {', '.join(need.providers)}" if need.providers else "",
        f"seen within {age} days" if age is not None else "", "is known for this number of GPUs",
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
    ways, why = list[Way](), ""
    for limit in found:
        others = kept([other for other in found if other is not limit], len(them)) & ~limit.ok
        if others.any():
            values = np.where(others, limit.needed, np.nan)
            best = np.nanargmin if limit.upper else np.nanargmax
            nearest = int(np.argmax(others) if np.isnan(values).all() else best(values))
            ways.append(_way(them, limit, nearest))
            why = why or f": {ways[0].gpus} {limit.reason(nearest)}"
    problem, joint = f"nothing meets all limits together{why}", "; or "
    if not ways:
        # The candidate that breaks the fewest limits says what all of them would have to be.
        place = int(np.argmin(_broken(them, found)))
        ways = [_way(them, limit, place) for limit in found if not limit.ok[place]]
        problem, joint = "nothing meets all limits, nor all but one", " and "
    words = joint.join(f"{way.limit} {way.value}".strip() + f" ({way.gpus})" for way in ways)
    return InputError(problem, hint=f"relax {words}", code="limits", ways=tuple(ways), joint=joint)


def _way(them: Candidates, limit: Limit, place: int) -> Way:
    row = them.rows[place]
    return Way(limit.code, limit.relaxed(float(limit.needed[place])), f"{row.count} x {row.gpu}")


def _broken(them: Candidates, found: Sequence[Limit]) -> Array:
    """How many limits each candidate breaks."""
    return np.asarray(sum(((~limit.ok).astype(float) for limit in found), np.zeros(len(them))))
