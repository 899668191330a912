"""Results and GPUs against each other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Asked
from gpuwise.model.result import Comparison, Issue, Result
from gpuwise.show.table import Answer

if TYPE_CHECKING:
    from gpuwise.stats.comparison import Condition
    from gpuwise.stats.interval import Spread

# Results of the store that are read to see how runs differ: later ones are of today's driver and software.
NEWEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest(Asked):
    """Two or more results, the baseline first."""

    results: tuple[Result, ...]
    names: tuple[str, ...] = ()  # What to call each in the table; their ids where none are given
    fail_if: Condition | str | None = None  # Such as "slower>5%"
    """A gate: the exit status is 1 where a comparison meets it."""


Compared = tuple[tuple[Result, tuple[Comparison, ...]], ...]


def compare(request: CompareRequest | Sequence[Result]) -> Answer[Compared]:
    """Every measurement of the baseline against its counterpart in each other result.

    The issues name measurements without a counterpart (`no-counterpart`) and what meets the gate (`gate`).
    Raises InputError for fewer than two results, NoDataError where they have no measurement in common.
    """
    from gpuwise.show import comparisons as show
    from gpuwise.stats.comparison import pair, parse_condition, unpaired, violations

    request = CompareRequest.of(request, "results")
    gate = parse_condition(request.fail_if) if isinstance(request.fail_if, str) else request.fail_if
    names = request.names or tuple(result.id for result in request.results)
    if len(names) < 2:
        raise InputError("compare needs two things", hint="name another", code="two", names=" ".join(names))
    baseline, *others = request.results
    compared = tuple((other, pair(baseline, other, stored_spread((baseline, other)))) for other in others)
    every = [comparison for _, comparisons in compared for comparison in comparisons]
    if not every:
        problem, hint = "the results have no measurement in common", "see what each of them holds"
        raise NoDataError(problem, hint=hint, code="holds", name=names[0])
    failed = violations(every, gate) if gate is not None else ()
    # A row that silently drops out would look like one that is fine.
    issues = [Issue.invalid("gate", comparison.a.config.label("batch")) for comparison in failed]
    for (other, comparisons), name in zip(compared, names[1:], strict=True):
        for owner, alone in zip((names[0], name), unpaired(baseline, other, comparisons), strict=True):
            labels = dict.fromkeys(m.config.label() for m in alone)
            issues += [Issue.info("no-counterpart", f"only in {owner}: {label}") for label in labels]
    return Answer(
        value=compared,
        issues=tuple(issues),
        exit_status=1 if failed else 0,
        to_table=lambda: show.comparisons(baseline, compared, names=names),
        to_data=lambda: show.document(baseline, compared),
        to_chart=lambda: show.chart(compared, names),
    )


def stored_spread(results: Sequence[Result]) -> Spread | None:
    """How runs differ on cards of these results' kinds, from what else the store holds of them; None where
    nothing there was measured twice."""
    from gpuwise.stats.comparison import run_to_run

    places = [result.environment for result in results]
    slugs = {store.slug(place.gpu_id or place.device) for place in places}
    ids = {result.id for result in results}
    kept = [
        path
        for path in store.saved()
        if path.stem not in ids and any(f"-{slug}-" in path.name for slug in slugs)
    ]
    alike = []
    for path in kept[-NEWEST:]:
        with suppress(InputError):  # a damaged file of the store is skipped
            alike.append(store.load(path))
    return run_to_run(alike, {place.device for place in places})


def compare_gpus(specs: Sequence[GpuSpec | str]) -> Answer[tuple[GpuSpec, ...]]:
    """The specifications of two or more GPUs, by entries or names of the catalog.

    Raises InputError for fewer than two different ones, or a name that is unknown.
    """
    from gpuwise.show import gpus as show

    named = (catalog.find(one) if isinstance(one, str) else one for one in specs)
    gpus = tuple({spec.id: spec for spec in named}.values())  # against itself a GPU says nothing
    if len(gpus) < 2:
        # Any GPU but the one that was named makes a fair suggestion.
        other = "rtx-4090" if not gpus or gpus[0].id != "rtx-4090" else "rtx-5090"
        ids = tuple(spec.id for spec in gpus)
        hint = f"name another GPU, such as {other}"
        raise InputError("compare needs two things", hint=hint, code="compare", names=ids, other=other)
    return Answer(
        value=gpus,
        to_table=lambda: show.side_by_side(gpus),
        to_data=lambda: [show.document(spec) for spec in gpus],
    )
