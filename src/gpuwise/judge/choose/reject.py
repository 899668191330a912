"""Why a GPU has no option, and by how much a limit would have to give where nothing keeps them all.

The limit to relax is one that alone bars some candidate; its new value is the least that lets one through.
Where no single one does, the candidate that breaks the fewest says what all of them would have to be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.judge.choose.candidates import Array, Candidates
from gpuwise.judge.choose.cost import Costs
from gpuwise.judge.choose.fit import Limit, kept
from gpuwise.model.choice import Need, Rejected, Speed


def rejected(
    need: Need, them: Candidates, cost: Costs, found: Sequence[Limit], speeds: Sequence[Speed]
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
    speeds: Sequence[Speed],
) -> Rejected:  # fmt: skip
    if not places:
        refusals = [speed.refusal for speed in speeds if speed.gpu_id == gpu]
        if all(refusals):
            return Rejected(gpu_id=gpu, reason=refusals[0])
        return Rejected(gpu_id=gpu, reason=_no_price(need))
    nearest = min(places, key=lambda place: (broken[place], cost.ranked[place]))
    faults = [limit for limit in found if not limit.ok[nearest]]
    reason = "; ".join(limit.reason(float(limit.needed[nearest])) for limit in faults)
    return Rejected(gpu_id=gpu, reason=reason, constraint=faults[0].name)


def _no_price(need: Need) -> str:
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
        if limit.name and not limit.ok.any() and np.isnan(limit.needed).all():
            return NoDataError(
                f"no GPU with a speed and a price here keeps {limit.name}",
                hint="add your own with --prices FILE; speeds alone: gpuwise predict",
            )
    ways = [text for limit in found if (text := _alone(them, found, limit))]
    if not ways:
        return InputError("nothing meets all limits, nor all but one", hint=_nearest(them, found))
    return InputError("nothing meets all limits together", hint="relax one: " + "; or ".join(ways))


def _alone(them: Candidates, found: Sequence[Limit], limit: Limit) -> str:
    """What this limit would have to be if only it gave way; empty where that does not help."""
    others = kept([other for other in found if other is not limit], len(them)) & ~limit.ok
    if not others.any():
        return ""
    values = np.where(others, limit.needed, np.nan)
    if np.isnan(values).all():
        place = int(np.argmax(others))
    else:
        place = int(np.nanargmin(values) if limit.upper else np.nanargmax(values))
    row = them.rows[place]
    return f"{limit.relaxed(float(limit.needed[place]))} ({row.count} x {row.gpu})"


def _nearest(them: Candidates, found: Sequence[Limit]) -> str:
    """Every limit that the candidate with the fewest broken ones breaks, with the value it needs."""
    place = int(np.argmin(_broken(them, found)))
    texts = [limit.relaxed(float(limit.needed[place])) for limit in found if not limit.ok[place]]
    return f"relax {' and '.join(texts)} ({them.rows[place].count} x {them.rows[place].gpu} comes nearest)"


def _broken(them: Candidates, found: Sequence[Limit]) -> Array:
    """How many limits each candidate breaks."""
    return np.asarray(sum(((~limit.ok).astype(float) for limit in found), np.zeros(len(them))))
