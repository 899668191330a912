"""Judge claims by the catalog: agrees, contradicts (and how), cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence, kinds
from gpuwise.judge.audit.agree import CLOSE, same
from gpuwise.model.claim import Claim, Finding, Kind, Number, Verdict

BY_MAKER = frozenset({"slots"})
"""What board makers choose for themselves: a three-slot card may carry the chip of a two-slot one."""
MOST = 50
"""Claims about one field of one GPU that are compared with each other."""
BEST = 1.02
"""Where "up to" names less than the best variant by more than this, it names another variant."""


def judge(claims: Sequence[Claim]) -> tuple[Finding, ...]:
    """One finding per claim, in their order, and one per pair of lines that contradict each other."""
    verdicts = [_verdict(claim) for claim in claims]
    wrong = [claim for claim, verdict in zip(claims, verdicts, strict=True) if verdict == "contradicts"]
    text = kinds.around(claims, wrong)
    found = [_finding(c, v, text) for c, v in zip(claims, verdicts, strict=True)]
    unknown = [claim for claim, verdict in zip(claims, verdicts, strict=True) if verdict == "cannot tell"]
    return (*found, *_disagreements(unknown))


def _verdict(claim: Claim) -> Verdict:
    known = [k for gpu_id in claim.gpu_ids for k in evidence.of(gpu_id, claim.field)]
    allowed = [k for k in known if k.form == "value" or (k.form == "sparse") == bool(claim.sparse)]
    if not allowed:
        return "cannot tell"
    if all(
        any(same(claim, stated, k.value) for k in allowed) or _of_family(claim, stated)
        for stated in claim.values
    ):
        return "contradicts" if _less_than_best(claim) else "agrees"
    disputed = any(
        _is_alternative(claim, stated, other)
        for k in allowed
        for other in k.alternatives
        for stated in claim.values
    )
    return "cannot tell" if disputed or claim.several or claim.field in BY_MAKER else "contradicts"


def _is_alternative(claim: Claim, stated: Number | str, other: float | str) -> bool:
    if isinstance(stated, Number) and isinstance(other, float):
        return abs(stated.value - other) <= CLOSE * other
    return same(claim, stated, other)


def _of_family(claim: Claim, stated: Number | str) -> bool:
    """Whether one value of several ("600/700 W") is a sibling's."""
    if len(claim.values) < 2:
        return False
    others = (other for gpu_id in claim.gpu_ids for other in kinds.family(gpu_id))
    return any(same(claim, stated, k.value) for other in others for k in evidence.of(other, claim.field))


def _less_than_best(claim: Claim) -> bool:
    """Whether "up to" is true of one variant but another one of those meant has more."""
    if not claim.at_most or claim.several or not isinstance(claim.values[0], Number):
        return False
    known = [
        k.value for gpu_id in claim.gpu_ids for k in evidence.of(gpu_id, claim.field) if k.form != "sparse"
    ]
    most = max((value for value in known if isinstance(value, float)), default=0.0)
    return most > BEST * max(v.value for v in claim.values if isinstance(v, Number))


def _finding(claim: Claim, verdict: Verdict, text: kinds.Around) -> Finding:
    kind: Kind | None = None
    explanation = ""
    best, source = kinds.best_of(claim, claim.gpu_ids)
    if verdict == "contradicts" and _less_than_best(claim):
        kind, explanation = "other variant", "another variant of those meant has more"
    elif verdict == "contradicts":
        kind, explanation = kinds.explain(claim, text)
    elif verdict == "cannot tell" and best:
        explanation = "sources differ" if not claim.several else "the text leaves open which GPU is meant"
    return Finding(
        lines=(claim.line,),
        gpu=_name(claim),
        field=claim.field,
        stated=claim.stated,
        verdict=verdict,
        kind=kind,
        best=best,
        source=source,
        explanation=explanation,
    )


def _name(claim: Claim) -> str:
    if len(claim.gpu_ids) == 1:
        return catalog.get(claim.gpu_ids[0]).name
    return claim.gpu.removesuffix("'s").removesuffix("\u2019s")


def _disagreements(claims: Sequence[Claim]) -> Iterator[Finding]:
    """Two values for one field of one GPU where nothing tells which is right: one is wrong."""
    single = [
        c
        for c in claims
        if not c.several and len(c.gpu_ids) == 1 and len(c.values) == 1 and isinstance(c.values[0], Number)
    ]
    seen: set[tuple[str, str]] = set()
    alike: dict[tuple[object, ...], list[Claim]] = {}
    for claim in single:
        alike.setdefault((claim.gpu_ids, claim.field, claim.sparse), []).append(claim)
    # Of a long text's many claims the first ones show the disagreement.
    pairs = (pair for group in alike.values() for pair in combinations(group[:MOST], 2))
    for a, b in sorted(pairs, key=lambda pair: pair[0].line):
        first, second = a.values[0], b.values[0]
        assert isinstance(first, Number)
        assert isinstance(second, Number)
        if same(a, first, second.value) or same(b, second, first.value) or (a.gpu_ids[0], a.field) in seen:
            continue
        seen.add((a.gpu_ids[0], a.field))
        yield Finding(
            lines=(a.line, b.line),
            gpu=_name(a),
            field=a.field,
            stated=f"{a.stated} / {b.stated}",
            verdict="contradicts",
            kind="internal contradiction",
            explanation=f"line {a.line} and line {b.line} cannot both be right",
        )
