"""For whom a GPU is: how it does in every preset among all GPUs, by speed and by cost.

    well suited   it does the work and is in the first third of all GPUs that do, by speed or by cost
    runs          it does the work
    no            it does not, and why

Nothing here is said of a GPU by name: the presets say what the work is, predictions and prices the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from gpuwise.facts import catalog
from gpuwise.judge.choose import speeds
from gpuwise.judge.choose.candidates import candidates
from gpuwise.judge.choose.cost import costs
from gpuwise.judge.choose.fit import FITS, forms
from gpuwise.judge.choose.need import need_for, presets
from gpuwise.judge.choose.speeds import Forecast
from gpuwise.model.choice import Need
from gpuwise.model.offer import Offer
from gpuwise.model.record import Basis, Record
from gpuwise.model.result import Interval, Result

FIRST = 1 / 3
Suitability = Literal["well suited", "runs", "no"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands among others of which the same is known."""

    rank: int
    of: int

    @property
    def good(self) -> bool:
        """Whether it is in the first third."""
        return self.rank <= max(1, round(self.of * FIRST))


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One GPU in one preset."""

    preset: str
    title: str
    verdict: Suitability
    reason: str = ""
    """Of a no."""
    item: str
    throughput: Interval | None = None
    basis: Basis = "spec-only"
    by_speed: Place | None = None
    by_cost: Place | None = None
    """None where no price of it is known."""


def uses(
    gpu_id: str, forecast: Forecast, offers: Sequence[Offer], *, today: date,
    results: Sequence[Result] = (), published: Sequence[Record] = (),
) -> tuple[Use, ...]:  # fmt: skip
    """Every preset, for one GPU of the kind alone."""
    every = {spec.id: (1,) for spec in catalog.all_gpus()}
    found = []
    for name in presets():
        need = need_for(name, gpus=(1, 1))
        known = speeds.gather(need, every, forecast, results=results, published=published)
        found.append(use(name, need, gpu_id, [s for s in known if s.gpus == 1], offers, today))
    return tuple(found)


def use(
    name: str, need: Need, gpu_id: str, known: Sequence[Record], offers: Sequence[Offer], today: date
) -> Use:
    """One preset; `known` are the speeds of every GPU in it."""
    (own,) = (speed for speed in known if speed.gpu_id == gpu_id)
    title, item = presets()[name].title, speeds.item_of(need)
    if reason := _reason(need, own):
        return Use(preset=name, title=title, verdict="no", reason=reason, item=item)
    able = [speed for speed in known if not _reason(need, speed)]
    pace = {s.gpu_id: -s.throughput.value for s in able if s.throughput is not None}
    by_speed, by_cost = _place(pace, gpu_id), _place(_costs(need, able, offers, today), gpu_id)
    good = any(place is not None and place.good for place in (by_speed, by_cost))
    return Use(
        preset=name, title=title, verdict="well suited" if good else "runs", item=item,
        throughput=own.throughput, basis=own.basis, by_speed=by_speed, by_cost=by_cost,
    )  # fmt: skip


def _reason(need: Need, speed: Record) -> str:
    """Why the GPU is not for this, or nothing."""
    if need.form is not None:
        field, values = forms()[need.form]
        if catalog.get(speed.gpu_id).text(field) not in values:
            return f"its form is not {' or '.join(sorted(values))}"
    if speed.throughput is None:
        return speed.refusal
    if speed.fits_probability is not None and speed.fits_probability < FITS:
        return "does not fit its memory"
    if need.latency_s is not None and (speed.seconds is None or speed.seconds > need.latency_s):
        return "answers too late"
    return ""


def _costs(need: Need, able: Sequence[Record], offers: Sequence[Offer], today: date) -> dict[str, float]:
    """Least cost of an item on each GPU that has a price."""
    them = candidates(need, able, offers, today=today)
    found: dict[str, float] = {}
    for row, cost in zip(them.rows, costs(need, them).ranked, strict=True):
        found[row.gpu] = min(float(cost), found.get(row.gpu, float("inf")))
    return found


def _place(values: dict[str, float], gpu_id: str) -> Place | None:
    if gpu_id not in values:
        return None
    return Place(rank=1 + sum(v < values[gpu_id] for v in values.values()), of=len(values))
