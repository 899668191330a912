"""Results against the first of them, GPUs side by side, and two GPUs head to head."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.jobs.answer import Answer
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.record import Comparison
from gpuwise.model.result import Result
from gpuwise.stats import Condition, pair, run_to_run, violations
from gpuwise.stats.interval import Spread

# Results of the store that are read to see how runs differ: later ones are of today's driver and software.
NEWEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Two or more results, the baseline first."""

    results: tuple[Result, ...]
    names: tuple[str, ...] = ()  # What to call each in the table; their ids where none are given
    fail_if: Condition | None = None
    """A gate: the exit status is 1 where a comparison meets it, as `stats.parse_condition("slower>5%")`."""


Compared = tuple[tuple[Result, tuple[Comparison, ...]], ...]


def compare(request: CompareRequest) -> Answer[Compared]:
    """Every measurement of the baseline against its counterpart in each other result.

    The issues name measurements without a counterpart (`no-counterpart`) and what meets the gate (`gate`).
    Raises InputError for fewer than two results, NoDataError where they have no measurement in common.
    """
    from gpuwise.show import comparisons as show

    if len(request.results) < 2:
        raise InputError("compare needs two things", hint="name another result")
    baseline, *others = request.results
    names = request.names or tuple(result.id for result in request.results)
    found = tuple((other, pair(baseline, other, stored_spread((baseline, other)))) for other in others)
    every = [comparison for _, comparisons in found for comparison in comparisons]
    if not every:
        raise NoDataError("the results have no measurement in common", hint="see what each of them holds")
    failed = violations(every, request.fail_if) if request.fail_if is not None else ()
    # A row that silently drops out would look like one that is fine.
    issues = [Issue(code="gate", severity="invalid", detail=comparison.cell) for comparison in failed]
    for (other, comparisons), name in zip(found, names[1:], strict=True):
        met = {id(m) for c in comparisons for m in (c.a, c.b)}
        for owner, result in ((names[0], baseline), (name, other)):
            alone = [m.config.label() for m in result.measurements if id(m) not in met]
            issues += [
                Issue(code="no-counterpart", severity="info", detail=f"only in {owner}: {label}")
                for label in dict.fromkeys(alone)
            ]
    return Answer(
        found=found, issues=tuple(issues), exit_status=1 if failed else 0,
        to_table=lambda: show.comparisons(baseline, found, names=names),
        to_data=lambda: show.document(baseline, found), to_chart=lambda: show.chart(found, names),
    )  # fmt: skip


def stored_spread(results: Sequence[Result]) -> Spread | None:
    """How runs differ on cards of these results' kinds, from what else the store holds of them; None where
    nothing there was measured twice."""
    places = [result.environment for result in results]
    slugs = {store.slug(place.gpu_id or place.device) for place in places}
    own = {result.id for result in results}
    kept = [
        path
        for path in store.saved()
        if path.stem not in own and any(f"-{slug}-" in path.name for slug in slugs)
    ]
    found = []
    for path in kept[-NEWEST:]:
        with suppress(InputError):  # a damaged file of the store is no reason not to compare
            found.append(store.load(path))
    return run_to_run(found, {place.device for place in places})


def compare_gpus(specs: Sequence[GpuSpec | str]) -> Answer[tuple[GpuSpec, ...]]:
    """The specifications of two or more GPUs, by entries or names of the catalog.

    Raises InputError for fewer than two, or a name that is unknown.
    """
    from gpuwise.show import gpus as show

    found = tuple(catalog.find(one) if isinstance(one, str) else one for one in specs)
    if len(found) < 2:
        # Any GPU but the one that was named makes a fair suggestion.
        other = "rtx-4090" if not found or found[0].id != "rtx-4090" else "rtx-5090"
        ids = tuple(spec.id for spec in found)
        hint = f"name another GPU, such as {other}"
        raise InputError("compare needs two things", hint=hint, code="compare", names=ids, other=other)
    return Answer(
        found=found, to_table=lambda: show.side_by_side(found),
        to_data=lambda: [show.document(spec) for spec in found],
    )  # fmt: skip
