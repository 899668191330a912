"""From a need, speeds and prices to a recommendation, and what changed where it is made again later.

The whole decision, without input or output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.choose import explain, rank
from gpuwise.judge.choose.candidates import Candidates, candidates
from gpuwise.judge.choose.cost import Costs, costs
from gpuwise.judge.choose.fit import Limit, contradiction, kept, limits, rejected
from gpuwise.model.choice import Need, Option, Recommendation
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer
from gpuwise.model.precision import Precision
from gpuwise.model.record import Record
from gpuwise.model.units import usd

# Options that are kept.
MOST = 100
# Options of which the chance against the first is told.
COMPARED = 10


@dataclass(frozen=True, slots=True)
class _Judged:
    them: Candidates
    cost: Costs
    found: tuple[Limit, ...]
    places: list[int]


def recommend(
    need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date, item: str,
    specs: Mapping[str, GpuSpec] | None = None, every_provider: bool = False,
) -> Recommendation:  # fmt: skip
    """Ranked options with their reasons, by prices as known on `today`.

    Raises InputError where limits contradict each other, with the one to relax and by how much; NoDataError
    where no GPU, or none of the form asked for, has both a speed and a price.
    """
    specs = {spec.id: spec for spec in catalog.all_gpus()} if specs is None else specs
    judged = _judge(need, speeds, offers, today, specs, every_provider)
    them, cost, places = judged.them, judged.cost, judged.places
    left = rejected(need, them, cost, judged.found, speeds)
    return Recommendation(
        made_on=today.isoformat(), need=need, item=item, options=_options(need, judged, speeds, specs),
        rejected=left,
        chances=rank.chances(them, cost, places, COMPARED),
        changes=tuple(explain.changes(need, them, cost, places)),
        advice=(*explain.absent(need, left), *explain.advice(them, cost, places, need, item, specs)),
    )  # fmt: skip


def with_precisions(
    found: Recommendation,
    alternatives: Mapping[Precision, Sequence[Record]],
    offers: Sequence[Offer],
    *,
    today: date,
) -> Recommendation:
    """The recommendation, with what it would be in other precisions among what would change it."""
    others: dict[str, Option] = {}
    need = replace(found.need, gpus=(found.options[0].count, found.options[0].count))
    for precision, speeds in alternatives.items():
        with suppress(GpuwiseError):  # nothing keeps the limits in it
            others[precision] = recommend(need, speeds, offers, today=today, item=found.item).options[0]
    return replace(found, changes=(*found.changes, *explain.precision_changes(found.options[0], others)))


def _judge(
    need: Need, speeds: Sequence[Record], offers: Sequence[Offer], today: date, specs: Mapping[str, GpuSpec],
    every_provider: bool,
) -> _Judged:  # fmt: skip
    them = candidates(need, speeds, offers, today=today)
    if not len(them):
        raise _nothing(need, speeds)
    cost = costs(need, them)
    found = limits(need, them, cost, specs, speeds)
    places = rank.ordered(them, cost, kept(found, len(them)), every_provider=every_provider)
    if not places:
        raise contradiction(them, found)
    return _Judged(them, cost, found, places)


def _options(
    need: Need, judged: _Judged, speeds: Sequence[Record], specs: Mapping[str, GpuSpec]
) -> tuple[Option, ...]:
    them, cost, places = judged.them, judged.cost, judged.places
    best, rents = rank.frontier(them, cost, places), [p for p in places if not them.own[p]]
    one = {s.gpu_id: s.throughput.value for s in speeds if s.gpus == 1 and s.throughput is not None}
    bare = [
        replace(
            rank.option(need, them, cost, place, number, specs), frontier=place in best,
            break_even_h=rank.break_even(need, them, cost, place, rents),
        )
        for number, place in enumerate(places[:MOST], start=1)
    ]  # fmt: skip
    return tuple(
        replace(
            found,
            why=tuple(
                explain.why(
                    need, found, bare[0], them.rows[place].speed, one.get(found.gpu_id), specs[found.gpu_id]
                )
            ),
        )
        for found, place in zip(bare, places, strict=False)
    )


def _nothing(need: Need, speeds: Sequence[Record]) -> NoDataError:
    refusals = [speed.refusal for speed in speeds if speed.refusal]
    if len(refusals) == len(speeds) and refusals:
        return NoDataError(f"no GPU has a speed: {refusals[0]}", hint="measure it", code="bench")
    return NoDataError(
        "no GPU that can do the work has a price here",
        hint="add prices of your own, or loosen provider, buy or rent, number of GPUs or age of prices",
        code="no-price",
    )


# Smaller changes of a price or speed are rounding.
WORTH_SAYING = 0.01


def differences(old: Recommendation, new: Recommendation) -> tuple[str, ...]:
    """In words, the first option first; options are the same where GPU, number, way and provider are."""
    return tuple(_differences(old, new)) or (f"nothing changed since {old.made_on}",)


def _differences(old: Recommendation, new: Recommendation) -> Iterator[str]:
    was, now = old.options[0], new.options[0]
    if was.key != now.key:
        yield f"first was {_name(was)}, is {_name(now)}"
    earlier, later = ({option.key: option for option in made.options} for made in (old, new))
    for key, option in later.items():
        if key in earlier:
            yield from _changed(earlier[key], option)
        else:
            yield f"new: {_name(option)}, place {option.rank}"
    for key, option in earlier.items():
        if key not in later:
            yield f"gone: {_name(option)}, was in place {option.rank}"


def _changed(was: Option, now: Option) -> Iterator[str]:
    for what, a, b in (
        ("price", was.price_usd.value, now.price_usd.value),
        ("speed", was.throughput.value, now.throughput.value),
    ):
        if a > 0 and abs(b / a - 1) > WORTH_SAYING:
            shown = f"{usd(a)} to {usd(b)}" if what == "price" else f"{a:,.4g} to {b:,.4g}"
            yield f"{_name(now)}: {what} {shown} ({b / a - 1:+.0%})"
    if was.basis != now.basis:
        yield f"{_name(now)}: speed was {was.basis}, is {now.basis}"


def _name(option: Option) -> str:
    where = f" at {option.provider}" if option.provider else ""
    return f"{option.count} x {option.gpu_id} {option.way}{where}"
