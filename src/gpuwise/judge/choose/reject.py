"""Why a GPU has no option, and by how much a limit would have to give where nothing keeps them all.

The limit to relax is one that alone bars some candidate; its new value is the least that lets one through.
Where no single one does, the candidate that breaks the fewest says what all of them would have to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.judge.choose.candidates import Array, Candidates
from gpuwise.judge.choose.cost import Costs
from gpuwise.judge.choose.fit import Limit, kept
from gpuwise.model.choice import Need, Rejected
from gpuwise.model.record import Record


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
        return Rejected(gpu_id=gpu, reason=_no_price(need))
    nearest = min(places, key=lambda place: (broken[place], cost.ranked[place]))
    faults = [limit for limit in found if not limit.ok[nearest]]
    reason = "; ".join(limit.reason(float(limit.needed[nearest])) for limit in faults)
    return Rejected(gpu_id=gpu, reason=reason, constraint=faults[0].code)


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
