"""Judge claims by the catalog: agrees, contradicts (and how), differs from one source, cannot tell.

An accusation needs a sure reading, no variant and no form under which the text is right, and two
witnesses: independent sources, a computation from units and clocks, or a known way in which just this
wrong figure comes about (digits swapped, the sparse rate, another variant's value).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import floor, log10

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence, kinds
from gpuwise.judge.audit.fields import COUNTS
from gpuwise.model.claim import NOT_IN_CATALOG, Claim, Finding, Kind, Number, Verdict

WITNESSES = 2
BY_MAKER = frozenset({"slots"})
"""What board makers choose for themselves: a three-slot card may carry the chip of a two-slot one."""
NOT_JUDGED = frozenset({"price", "rent per hour", "peak:"})
MOST = 50
"""Claims about one field of one GPU that are compared with each other."""
BEST = 1.02
"""Where "up to" names less than the best variant by more than this, it names another variant."""
CLOSE = 0.006
"""Relative difference of one figure printed by two vendors' pages: 1792 and 1800 GB/s."""
ROUNDED = 0.025
"""How far rounding to few digits may lead: 1.2 TB/s for 1.2288."""
FEW, FEW_CLOSE = 2, 0.01
"""With so few digits, or in the numbers that products are sold by, a little more: 750 for 756, 192 GB."""
CLOCKS = 0.015
"""Databases differ by so much in the clocks of one card."""
COARSE = 0.12
"""The same where no more than one decimal, or one digit of a large unit, is printed: 0.3 TB/s for 0.32."""
ROUGH = 0.05
"""For "about" and "nearly"."""
FAR = 0.25
"""Relative difference beyond anything by which sources differ."""
MONTHS = 8
"""Announcement, release and first delivery of one GPU lie this far apart."""
SHARED = frozenset(
    {"launch", "architecture", "chip", "memory_type", "process_nm", "slots", "pcie_generation", "transistors"}
)
"""Fields that say little about which variant a row speaks of."""
VECTOR = 0.07
"""How near once or twice the FP32 rate a 16-bit rate of the ordinary cores is, at whichever clock."""
MOSTLY = 4
"""Contradictions of one place that outnumber what agrees there: the reading is wrong, not the text."""
DISTINCT = 2
"""Claims of one row that only one of several variants explains: the row speaks of that one."""
_COARSE = re.compile(r"(?<![\d.,])\d[.,]\d(?!\d)|(?<![\d.,])\d ?[TP](?:B|FLOP|OP)", re.IGNORECASE)


def judge(claims: Sequence[Claim]) -> tuple[Finding, ...]:
    """One finding per claim, in their order, and one per pair of lines that contradict each other."""
    claims = _narrowed(claims)
    verdicts = [_verdict(claim) for claim in claims]
    wrong = [claim for claim, verdict in zip(claims, verdicts, strict=True) if verdict == "contradicts"]
    text = kinds.around(claims, wrong)
    verdicts = _plausible(claims, verdicts)
    verdicts = [
        "differs" if verdict == "contradicts" and not _witnessed(claim, text) else verdict
        for claim, verdict in zip(claims, verdicts, strict=True)
    ]
    found = [_finding(c, v, text) for c, v in zip(claims, verdicts, strict=True)]
    unknown = [claim for claim, verdict in zip(claims, verdicts, strict=True) if verdict == "cannot tell"]
    return (*found, *_disagreements(unknown))


def _narrowed(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims of rows that one variant explains better than its siblings speak of that one.

    "H100 | 16,896 cores | 700 W | 2,039 GB/s" is the SXM with the bandwidth of the PCIe card.
    """
    blocks: dict[tuple[int, str], list[Claim]] = defaultdict(list)
    for claim in claims:
        plain = len(claim.values) == 1 and claim.count == 1 and claim.field not in SHARED
        if len(claim.gpu_ids) > 1 and not claim.several and plain and claim.block >= kinds.GRID:
            blocks[claim.block, claim.gpu].append(claim)
    chosen: dict[tuple[int, str], tuple[str, ...]] = {}
    for key, row in blocks.items():
        ids = row[0].gpu_ids
        agreed = {i: {n for n, c in enumerate(row) if _agrees(replace(c, gpu_ids=(i,)))} for i in ids}
        best = max(ids, key=lambda i: len(agreed[i]))
        alike = tuple(i for i in ids if agreed[i] == agreed[best])
        others = [agreed[i] for i in ids if i not in alike]
        # A variant that explains what the best does not must lose by more.
        if others and all(
            len(agreed[best] - other) >= (DISTINCT if other - agreed[best] else 1) for other in others
        ):
            chosen[key] = alike
    return tuple(
        replace(c, gpu_ids=chosen[c.block, c.gpu]) if (c.block, c.gpu) in chosen and len(c.gpu_ids) > 1 else c
        for c in claims
    )


def _verdict(claim: Claim) -> Verdict:
    if claim.field in NOT_JUDGED or not claim.gpu_ids:
        return "cannot tell"
    if _agrees(claim):
        return "contradicts" if claim.sure and _less_than_best(claim) else "agrees"
    known = [k for i in claim.gpu_ids for k in evidence.of(i, claim.field) if kinds.fits_form(claim, k.form)]
    silent = any(not evidence.of(gpu_id, claim.field) for gpu_id in claim.gpu_ids)
    if not known or silent or claim.several or not claim.sure or claim.count > 1 or claim.field in BY_MAKER:
        return "cannot tell"
    # The figure of any variant of the name, in whichever form it is printed, may be what is meant.
    disputed = any(
        _is_alternative(claim, stated, other)
        for k in known
        for other in k.alternatives
        for stated in claim.values
    )
    if disputed or _other_rate(claim):
        return "cannot tell"
    return "contradicts"


def _other_rate(claim: Claim) -> bool:
    """Whether a rate may be one that the text does not name: of another format, or of the ordinary cores."""
    values = [v.value for v in claim.values if isinstance(v, Number)]
    if claim.field == "peak:tensor":
        formats = ("fp8", "fp4")
        rates = [k.value for i in claim.gpu_ids for f in formats for k in evidence.of(i, f"peak:{f}")]
        return kinds.mechanism(claim) is None or any(
            isinstance(rate, float) and abs(v / rate - 1) < ROUNDED for v in values for rate in rates
        )
    if claim.field not in ("peak:fp16", "peak:bf16"):
        return False
    single = [
        k.value for i in claim.gpu_ids for k in evidence.of(i, "peak:fp32") if isinstance(k.value, float)
    ]
    return any(abs(v / (times * rate) - 1) < VECTOR for v in values for rate in single for times in (1, 2))


def _plausible(claims: Sequence[Claim], verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts, without the accusations of tables and sections that would be mostly wrong.

    Where more is wrong than right it is the reading that fails: columns that moved, another GPU meant.
    """
    places: dict[tuple[int, tuple[str, ...]], Counter[Verdict]] = defaultdict(Counter)
    keys = [(c.block // kinds.GRID, ()) if c.block >= kinds.GRID else (-c.block, c.gpu_ids) for c in claims]
    for key, verdict in zip(keys, verdicts, strict=True):
        places[key][verdict] += 1
    failed = {k for k, n in places.items() if n["contradicts"] > max(n["agrees"], MOSTLY - 1)}
    return [
        "cannot tell" if verdict == "contradicts" and key in failed else verdict
        for key, verdict in zip(keys, verdicts, strict=True)
    ]


def _witnessed(claim: Claim, text: kinds.Around) -> bool:
    """Whether enough speaks against a claim: sources, computation, a way in which the error comes about."""
    if _agrees(claim):
        return True
    kind = kinds.explain(claim, text)[0]
    # That the text says otherwise elsewhere speaks against it only where both are of one GPU.
    alone = len(claim.gpu_ids) == 1 and not claim.field.startswith("peak:")
    telling = kind != "wrong value" and (kind != "internal contradiction" or alone)
    # Siblings share a chip: that another one has this value says nothing of how it came here.
    needed = WITNESSES - (telling and claim.field not in SHARED)
    for gpu_id in claim.gpu_ids:
        known = evidence.of(gpu_id, claim.field)
        # Sources that differ from each other still agree that a figure far from all of them is wrong.
        others = any(k.alternatives for k in known) and _far(claim, known)
        if max((k.witnesses for k in known), default=0) + others < needed:
            return False
    return True


def _far(claim: Claim, known: Sequence[evidence.Evidence]) -> bool:
    """Whether a figure is far from all that any source states."""
    values = [v for k in known for v in (k.value, *k.alternatives)]
    return all(
        isinstance(stated, Number) and isinstance(value, float) and abs(stated.value / value - 1) > FAR
        for stated in claim.values
        for value in values
        if value
    )


def _agrees(claim: Claim) -> bool:
    """Whether some evidence supports every value of the claim."""
    known = [k for gpu_id in claim.gpu_ids for k in evidence.of(gpu_id, claim.field)]
    allowed = [k for k in known if kinds.fits_form(claim, k.form)]
    if not allowed:
        return False
    if claim.is_range and len(claim.values) == 2 and all(isinstance(v, Number) for v in claim.values):
        low, high = sorted(v.value for v in claim.values if isinstance(v, Number))
        if any(isinstance(k.value, float) and low * 0.99 <= k.value <= high * 1.01 for k in allowed):
            return True
    if claim.count > 1 and any(
        isinstance(v, Number) and isinstance(k.value, float)
        and abs(v.value / claim.count / k.value - 1) < ROUNDED
        for v in claim.values for k in allowed
    ):  # fmt: skip
        return True
    return all(
        any(same(claim, stated, k.value) for k in allowed) or _of_family(claim, stated)
        for stated in claim.values
    )


def _is_alternative(claim: Claim, stated: Number | str, other: float | str) -> bool:
    if isinstance(stated, Number) and isinstance(other, float):
        return abs(stated.value - other) <= (0 if claim.field in COUNTS else CLOSE) * other
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
        k.value for i in claim.gpu_ids for k in evidence.of(i, claim.field) if k.form in ("value", "dense")
    ]
    most = max((value for value in known if isinstance(value, float)), default=0.0)
    return most > BEST * max(v.value for v in claim.values if isinstance(v, Number))


def same(claim: Claim, stated: Number | str, known: float | str) -> bool:
    """Whether one stated value of the claim is the known one."""
    if isinstance(stated, str) or isinstance(known, str):
        return _same_text(claim.field, str(stated), str(known))
    if claim.field in COUNTS:
        return abs(stated.value - known) <= (ROUGH * known if claim.approximate else 0)
    if claim.field == "memory_bytes":
        # Product numbers are GiB on most cards and decimal GB on some; both count.
        return any(_near(claim, stated, value) for value in (known, known / 1e9 * 2**30))
    return _near(claim, stated, known)


def _near(claim: Claim, stated: Number, known: float) -> bool:
    difference = abs(stated.value - known) / known if known else abs(stated.value)
    few = stated.digits <= FEW or claim.field == "memory_bytes"
    clock = CLOCKS if claim.field.endswith("_hz") else 0.0
    if difference <= max(clock, ROUGH if claim.approximate else FEW_CLOSE if few else CLOSE):
        return True
    limit = COARSE if _COARSE.search(claim.stated) else ROUNDED
    if not known or not stated.value or difference > limit:
        return False
    unit = 10.0 ** (floor(log10(abs(known))) + 1 - stated.digits)
    # 1.5 TB/s for 1.555 is cut, not rounded; and a source may have rounded what the text states in full.
    told = 10.0 ** (floor(log10(known)) - 1)
    return any(
        abs(a - b) <= 1e-6 * abs(b)
        for a, b in ((round(known / unit) * unit, stated.value), (floor(known / unit) * unit, stated.value),
                     (round(stated.value / told) * told, known))
    )  # fmt: skip


def _same_text(field: str, stated: str, known: str) -> bool:
    if field == "launch":
        if len(stated) == 4:
            return abs(int(stated) - int(known[:4])) <= 1
        if not re.match(r"20\d\d-\d\d", stated):
            return False
        later = known if len(known) > 4 else f"{known}-06"
        return abs((int(stated[:4]) - int(later[:4])) * 12 + int(stated[5:7]) - int(later[5:7])) <= MONTHS
    return kinds.word(field, stated) == kinds.word(field, known)


def _finding(claim: Claim, verdict: Verdict, text: kinds.Around) -> Finding:
    kind: Kind | None = None
    explanation = ""
    best, source = kinds.best_of(claim, claim.gpu_ids)
    if verdict == "contradicts" and _less_than_best(claim):
        kind, explanation = "other variant", "another variant of those meant has more"
    elif verdict == "contradicts":
        kind, explanation = kinds.explain(claim, text)
    elif verdict == "differs":
        explanation = f"differs from {source or 'the catalog'} (one source)"
    elif verdict == "cannot tell" and not claim.gpu_ids:
        explanation = NOT_IN_CATALOG
    elif verdict == "cannot tell" and best:
        explanation = (
            "the text leaves open which GPU is meant" if claim.several or not claim.sure
            else "of several GPUs together" if claim.count > 1 else "sources differ"
        )  # fmt: skip
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
        c for c in claims
        if c.sure and c.count == 1 and not c.several and len(c.gpu_ids) == 1 and len(c.values) == 1
        and isinstance(c.values[0], Number) and c.field not in NOT_JUDGED and c.field not in BY_MAKER
    ]  # fmt: skip
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
        # Where the catalog's own sources differ, a text may state both.
        known = evidence.of(a.gpu_ids[0], a.field)
        if any(k.alternatives or _is_alternative(a, first, k.value) for k in known):
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
