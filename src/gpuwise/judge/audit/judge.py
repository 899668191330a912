"""Judge claims by the catalog: agrees, contradicts (and how), differs from one source, cannot tell.

An accusation needs a sure reading, no variant and no form under which the text is right, and two
witnesses: independent sources, a computation from units and clocks, or a known way in which just this
wrong figure comes about (digits swapped, the sparse rate, another variant's value).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import floor, log10

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.kinds import GRID, Around, family, fits_form, mechanism, states, word
from gpuwise.judge.audit.words import COUNTS
from gpuwise.model.claim import NOT_IN_CATALOG, Claim, Finding, Kind, Number, Verdict

WITNESSES = 2
# What board makers choose for themselves: a three-slot card may carry the chip of a two-slot one.
BY_MAKER = frozenset({"slots"})
NOT_JUDGED = frozenset({"price", "peak:"})
# Claims about one field of one GPU that are compared with each other.
MOST = 50
# Where "up to" names less than the best variant by more than this, it names another variant.
BEST = 1.05
# Relative difference of one figure printed by two vendors' pages: 1792 and 1800 GB/s.
CLOSE = 0.006
# How far rounding to few digits may lead: 1.2 TB/s for 1.2288.
ROUNDED = 0.025
# With so few digits, or in the numbers that products are sold by, a little more: 750 for 756, 192 GB.
FEW, FEW_CLOSE = 2, 0.01
# Databases differ by so much in the clocks of one card.
CLOCKS = 0.015
# The same where no more than one decimal, or one digit of a large unit, is printed: 0.3 TB/s for 0.32.
COARSE = 0.17
# For "about" and "nearly".
ROUGH = 0.05
# How far a round ratio ("twice") may be off.
RATIO = 0.2
# A ratio that is off by less is nobody's error.
APART = 0.15
# Relative difference beyond anything by which sources differ.
FAR = 0.25
# Relative difference up to which a figure may be of another edition of the sheet, or was rounded twice.
EDITIONS = 0.04
UNTELLING = frozenset({"wrong value", "internal contradiction"})
# Announcement, release and first delivery of one GPU lie this far apart.
MONTHS = 8
# Fields that say little about which variant a row speaks of.
SHARED = frozenset(
    {"launch", "architecture", "chip", "memory_type", "process_nm", "slots", "pcie_generation", "transistors"}
)
# How near once or twice the FP32 rate a 16-bit rate of the ordinary cores is, at whichever clock.
VECTOR = 0.07
# Contradictions of one place that outnumber what agrees there: the reading is wrong, not the text.
MOSTLY = 4
# Claims of one row that only one of several variants explains: the row speaks of that one.
DISTINCT = 2
_COARSE = re.compile(r"(?<![\d.,])\d[.,]\d(?!\d)|(?<![\d.,])\d ?[TP](?:B|FLOP|OP)", re.IGNORECASE)


def judge(claims: Sequence[Claim]) -> tuple[Finding, ...]:
    """One finding per claim, in their order, and one per pair of lines that contradict each other."""
    ratios = [_of_ratio(claim) for claim in claims if claim.than]
    claims = _narrowed([claim for claim in claims if not claim.than])
    verdicts = [_verdict(claim) for claim in claims]
    text = Around(
        claims, [c for c, verdict in zip(claims, verdicts, strict=True) if verdict == "contradicts"]
    )
    # Where more is wrong than right it is the reading that fails: columns that moved, another GPU meant.
    keys = [(c.block // GRID, ()) if c.block >= GRID else (-c.block, c.gpu_ids) for c in claims]
    places: dict[tuple[int, tuple[str, ...]], Counter[Verdict]] = defaultdict(Counter)
    for key, verdict in zip(keys, verdicts, strict=True):
        places[key][verdict] += 1
    # A line that states the right value, too, speaks of two things: what is stated and what is reached.
    right = {(c.line, c.gpu_ids, c.field) for c, v in zip(claims, verdicts, strict=True) if v == "agrees"}
    failed = {k for k, n in places.items() if n["contradicts"] > max(n["agrees"], MOSTLY - 1)}
    for place, (claim, verdict, key) in enumerate(zip(claims, verdicts, keys, strict=True)):
        besides = claim.block < GRID and (claim.line, claim.gpu_ids, claim.field) in right
        if verdict == "contradicts" and (key in failed or besides):
            verdicts[place] = "cannot tell"
        elif verdict == "contradicts" and not _is_witnessed(claim, text):
            verdicts[place] = "differs"
    found = [_finding(c, v, text) for c, v in zip(claims, verdicts, strict=True)]
    unknown = [claim for claim, verdict in zip(claims, verdicts, strict=True) if verdict == "cannot tell"]
    return (*found, *ratios, *_disagreements(unknown))


def _narrowed(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims of rows that one variant explains better than its siblings speak of that one.

    "H100 | 16,896 cores | 700 W | 2,039 GB/s" is the SXM with the bandwidth of the PCIe card.
    """
    rows: dict[tuple[int, str], list[Claim]] = defaultdict(list)
    for claim in claims:
        plain = len(claim.values) == 1 and claim.count == 1 and claim.field not in SHARED
        if len(claim.gpu_ids) > 1 and not claim.several and plain and claim.block >= GRID:
            rows[claim.block, claim.gpu].append(claim)
    chosen: dict[tuple[int, str], tuple[str, ...]] = {}
    for key, row in rows.items():
        ids = row[0].gpu_ids
        agreed = {i: {n for n, c in enumerate(row) if _agrees(replace(c, gpu_ids=(i,)))} for i in ids}
        best = max(agreed.values(), key=len)
        others = [one for one in agreed.values() if one != best]
        # A variant that explains what the best does not must lose by more.
        if others and all(len(best - one) >= (DISTINCT if one - best else 1) for one in others):
            chosen[key] = tuple(i for i in ids if agreed[i] == best)
    return tuple(
        replace(c, gpu_ids=chosen[c.block, c.gpu]) if (c.block, c.gpu) in chosen and len(c.gpu_ids) > 1 else c
        for c in claims
    )


def _known(claim: Claim, *, fitting: bool = True) -> list[evidence.Evidence]:
    """All evidence about the GPUs that a claim may mean, in the form that it may state."""
    every = (known for gpu_id in claim.gpu_ids for known in evidence.of(gpu_id, claim.field))
    return [known for known in every if not fitting or fits_form(claim, known.form)]


def _verdict(claim: Claim) -> Verdict:
    if claim.field in NOT_JUDGED or not claim.gpu_ids:
        return "cannot tell"
    if _agrees(claim):
        return "contradicts" if claim.sure and _is_less_than_best(claim) else "agrees"
    known = _known(claim)
    silent = any(not evidence.of(gpu_id, claim.field) for gpu_id in claim.gpu_ids)
    # What several GPUs have together is only what the text says it is.
    together = claim.count > 1 and not claim.total
    if not known or silent or claim.several or not claim.sure or together or claim.field in BY_MAKER:
        return "cannot tell"
    # The figure of any variant of the name, in whichever form it is printed, may be what is meant.
    disputed = any(_is_disputed(claim, stated, k) for k in known for stated in claim.values)
    return "cannot tell" if disputed or _is_other_rate(claim) or _is_option(claim) else "contradicts"


def _is_option(claim: Claim) -> bool:
    """Whether the value is that of another option: a smaller unified memory, or the chip in a superchip."""
    if claim.field == "memory_bytes" and all(catalog.get(i).text("form") == "soc" for i in claim.gpu_ids):
        largest = max((k.value for k in _known(claim) if isinstance(k.value, float)), default=0.0)
        return all(isinstance(v, Number) and v.value <= largest for v in claim.values)
    # GB200 and B200, GH200 and H200 are printed for each other.
    twins = {other for gpu_id in claim.gpu_ids for other in _superchips().get(_chip(gpu_id), ())}
    twins -= set(claim.gpu_ids) if claim.field.startswith("peak:") else twins
    other = replace(claim, gpu_ids=tuple(twins))
    return any(states(claim, k.value) for k in _known(other))


def _chip(gpu_id: str) -> str:
    """`gb200` -> b200, `h200-sxm` -> h200."""
    return re.sub(r"^g(?=[bh]\d)", "", gpu_id.split("-")[0])


@cache
def _superchips() -> Mapping[str, Sequence[str]]:
    """The GPUs of each chip that a superchip holds, too."""
    held = {_chip(spec.id) for spec in catalog.all_gpus() if _chip(spec.id) != spec.id.split("-")[0]}
    return {chip: [s.id for s in catalog.all_gpus() if _chip(s.id) == chip] for chip in held}


def _is_disputed(claim: Claim, stated: Number | str, known: evidence.Evidence) -> bool:
    """Whether another source has the stated value."""
    return any(
        abs(stated.value - other) <= (0 if claim.field in COUNTS else CLOSE) * other
        if isinstance(stated, Number) and isinstance(other, float)
        else same(claim, stated, other)
        for other in known.alternatives
    )


def _is_other_rate(claim: Claim) -> bool:
    """Whether a rate may be one that the text does not name: of another format, or of the ordinary cores."""
    formats = {"peak:tensor": ("fp8", "fp4"), "peak:fp16": ("fp32",), "peak:bf16": ("fp32",)}.get(
        claim.field, ()
    )
    known = [k.value for i in claim.gpu_ids for f in formats for k in evidence.of(i, f"peak:{f}")]
    rates = [rate for rate in known if isinstance(rate, float)]
    values = [v.value for v in claim.values if isinstance(v, Number)]
    if claim.field == "peak:tensor":
        close = any(abs(value / rate - 1) < ROUNDED for value in values for rate in rates)
        return close or mechanism(claim) is None
    return any(abs(v / (times * rate) - 1) < VECTOR for v in values for rate in rates for times in (1, 2))


def _is_witnessed(claim: Claim, text: Around) -> bool:
    """Whether enough speaks against a claim: sources, computation, a way in which the error comes about."""
    if _agrees(claim):
        return True
    kind = "wrong value" if claim.total else text.explain(claim)[0]
    # One figure of a neighbour may be equal by chance; two of a row are copied.
    chance = kind == "neighbour's row copied" and not text.of_neighbour(claim, 2)
    # So near the known value a figure of no telling kind is another edition's, or rounded twice.
    if (chance or kind in UNTELLING) and any(_is_within(claim, known) for known in _known(claim)):
        return False
    # That the text says otherwise elsewhere speaks against it only where both are of one GPU.
    alone = len(claim.gpu_ids) == 1 and not claim.field.startswith("peak:")
    telling = kind != "wrong value" and (kind != "internal contradiction" or alone) and not chance
    # Siblings share a chip: that another one has this value says nothing of how it came here.
    needed = WITNESSES - (telling and claim.field not in SHARED)
    for gpu_id in claim.gpu_ids:
        known = evidence.of(gpu_id, claim.field)
        values = [v for k in known for v in (k.value, *k.alternatives) if v]
        # Sources that differ from each other still agree that a figure far from all of them is wrong.
        far = any(k.alternatives for k in known) and all(
            isinstance(stated, Number) and isinstance(value, float) and abs(stated.value / value - 1) > FAR
            for stated in claim.values for value in values
        )  # fmt: skip
        if max((k.witnesses for k in known), default=0) + far < needed:
            return False
    return True


def _is_within(claim: Claim, known: evidence.Evidence) -> bool:
    """Whether all values of a claim lie so near a known one that editions differ as much."""
    value = known.value
    if claim.field in COUNTS or claim.field == "memory_bytes" or not isinstance(value, float):
        return False
    return all(isinstance(v, Number) and abs(v.value - value) <= EDITIONS * value for v in claim.values)


def _agrees(claim: Claim) -> bool:
    """Whether some evidence supports every value of the claim."""
    allowed = _known(claim)
    if not allowed:
        return False
    known = [k.value for k in allowed if isinstance(k.value, float)]
    stated = sorted(v.value for v in claim.values if isinstance(v, Number))
    if claim.is_range and len(stated) == 2 and any(stated[0] * 0.99 <= v <= stated[1] * 1.01 for v in known):
        return True
    if claim.count > 1 and any(abs(s / claim.count / v - 1) < ROUNDED for s in stated for v in known if v):
        return True
    # One value of several ("600/700 W") may be a sibling's.
    others = {other for gpu_id in claim.gpu_ids for other in family(gpu_id)} if len(claim.values) > 1 else ()
    siblings = [k.value for other in others for k in evidence.of(other, claim.field)]
    values = (*(k.value for k in allowed), *siblings)
    return all(any(same(claim, one, value) for value in values) for one in claim.values)


def _is_less_than_best(claim: Claim) -> bool:
    """Whether "up to" is true of one variant but another one of those meant has more."""
    stated = [v.value for v in claim.values if isinstance(v, Number)]
    if not claim.at_most or claim.several or not stated:
        return False
    known = [k.value for k in _known(claim, fitting=False) if k.form in ("value", "dense")]
    return max((v for v in known if isinstance(v, float)), default=0.0) > BEST * max(stated)


def same(claim: Claim, stated: Number | str, known: float | str) -> bool:
    """Whether one stated value of the claim is the known one."""
    if isinstance(stated, str) or isinstance(known, str):
        return _is_same_text(claim.field, str(stated), str(known))
    if claim.field in COUNTS:
        return abs(stated.value - known) <= (ROUGH * known if claim.approximate else 0)
    if claim.field == "memory_bytes" and _is_near(claim, stated, known / 1e9 * 2**30):
        # Product numbers are GiB on most cards and decimal GB on some; both count.
        return True
    return _is_near(claim, stated, known)


def _is_near(claim: Claim, stated: Number, known: float) -> bool:
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
    rounded = ((round(known / unit) * unit, stated.value), (floor(known / unit) * unit, stated.value))
    return any(abs(a - b) <= 1e-6 * abs(b) for a, b in (*rounded, (round(stated.value / told) * told, known)))


def _is_same_text(field: str, stated: str, known: str) -> bool:
    if field != "launch":
        return word(field, stated) == word(field, known)
    if len(stated) == 4:
        return abs(int(stated) - int(known[:4])) <= 1
    if not re.match(r"20\d\d-\d\d", stated):
        return False
    # The middle of the year where the catalog has no month.
    later = known if len(known) > 4 else f"{known}-06"
    return abs((int(stated[:4]) - int(later[:4])) * 12 + int(stated[5:7]) - int(later[5:7])) <= MONTHS


def _finding(claim: Claim, verdict: Verdict, text: Around) -> Finding:
    kind: Kind | None = None
    explanation = ""
    best, source = _best(claim)
    if verdict == "contradicts" and _is_less_than_best(claim):
        kind, explanation = "other variant", "another variant of those meant has more"
    elif verdict == "contradicts" and claim.total:
        kind, explanation = "wrong sum", f"{claim.count} times {best} is another sum"
    elif verdict == "contradicts":
        kind, explanation = text.explain(claim)
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
        lines=(claim.line,), gpu=_name(claim), field=claim.field, stated=claim.stated, verdict=verdict,
        kind=kind, best=best, source=source, explanation=explanation,
    )  # fmt: skip


def _of_ratio(claim: Claim) -> Finding:
    """How many times the figure of one GPU is another's, by what is known of both.

    Contradicted where no pair of variants comes near, and each figure has two witnesses.
    """
    stated = claim.values[0]
    assert isinstance(stated, Number)
    pairs = [
        (a, b) for one in claim.gpu_ids for a in evidence.of(one, claim.field)
        for other in claim.than for b in evidence.of(other, claim.field)
        if isinstance(a.value, float) and isinstance(b.value, float) and a.form == b.form and b.value
    ]  # fmt: skip
    ratios = [
        a.value / b.value for a, b in pairs if isinstance(a.value, float) and isinstance(b.value, float)
    ]
    # A ratio without decimals is a round word; one with them is printed to its last digit.
    rounding = RATIO if stated.digits == 1 else 0.5 * 10.0 ** (1 - stated.digits) / stated.value + ROUNDED
    rounding += ROUGH if claim.approximate or claim.at_most else 0.0
    # "2 times more" is twice or thrice as much.
    values = (stated.value, stated.value + 1) if claim.more else (stated.value,)
    agrees = any(abs(value / ratio - 1) <= rounding for value in values for ratio in ratios)
    # Editions of a product differ by some percent: 180 and 192 GB.
    near = any(abs(value / ratio - 1) <= max(rounding, APART) for value in values for ratio in ratios)
    silent = near or not all(evidence.of(i, claim.field) for i in (*claim.gpu_ids, *claim.than))
    witnessed = all(min(a.witnesses, b.witnesses) >= WITNESSES for a, b in pairs)
    open_ = silent or not pairs or claim.several or not claim.sure
    verdict: Verdict = "agrees" if agrees else "cannot tell" if open_ else "contradicts"
    if verdict == "contradicts" and not witnessed:
        verdict = "differs"
    best = (
        f"{min(ratios):.3g}" + (f" to {max(ratios):.3g}" if max(ratios) > 1.01 * min(ratios) else "")
        if ratios
        else ""
    )
    source = "; ".join(dict.fromkeys(e.named for pair in pairs for e in pair))
    explained = f"{pairs[0][0].text} over {pairs[0][1].text}" if pairs else ""
    return Finding(
        lines=(claim.line,), gpu=_name(claim), field=claim.field, stated=claim.stated, verdict=verdict,
        kind="wrong ratio" if verdict == "contradicts" else None, best=f"{best} times" if best else "",
        source=source, explanation=explained if verdict != "agrees" else "",
    )  # fmt: skip


def _best(claim: Claim) -> tuple[str, str]:
    """(value, source) to put in the claim's place; several variants are listed with their names."""
    found: list[tuple[str, evidence.Evidence]] = []
    for gpu_id in claim.gpu_ids:
        # Of several peaks of one format the one that the claim states comes first.
        known = sorted(_known(replace(claim, gpu_ids=(gpu_id,))), key=lambda k: not states(claim, k.value))
        found += ((gpu_id, one) for one in known[:1])
    sources = "; ".join(dict.fromkeys(best.named for _, best in found))
    if len({best.text for _, best in found}) < 2:
        return (found[0][1].text if found else ""), sources
    return "; ".join(f"{best.text} ({gpu_id})" for gpu_id, best in found), sources


def _name(claim: Claim) -> str:
    if len(claim.gpu_ids) == 1:
        return catalog.get(claim.gpu_ids[0]).name
    return claim.gpu.removesuffix("'s").removesuffix("\u2019s")


def _disagreements(claims: Sequence[Claim]) -> Iterator[Finding]:
    """Two values for one field of one GPU where nothing tells which is right: one is wrong."""
    alike: dict[tuple[object, ...], list[tuple[Claim, Number]]] = defaultdict(list)
    for claim in claims:
        single = claim.sure and claim.count == 1 and not claim.several and len(claim.gpu_ids) == 1
        # In running text two values of a field may be of two things.
        if (
            single
            and len(claim.values) == 1
            and claim.field not in NOT_JUDGED | BY_MAKER
            and claim.block >= GRID
        ):
            value = claim.values[0]
            # Where the catalog's own sources differ, a text may state both.
            known = evidence.of(claim.gpu_ids[0], claim.field)
            if isinstance(value, Number) and not any(
                k.alternatives or _is_disputed(claim, value, replace(k, alternatives=(k.value,)))
                for k in known
            ):
                alike[claim.gpu_ids, claim.field, claim.sparse].append((claim, value))
    for group in alike.values():
        # Of a long text's many claims the first ones show the disagreement.
        for (a, first), (b, second) in combinations(group[:MOST], 2):
            if same(a, first, second.value) or same(b, second, first.value):
                continue
            yield Finding(
                lines=(a.line, b.line), gpu=_name(a), field=a.field, stated=f"{a.stated} / {b.stated}",
                verdict="contradicts", kind="internal contradiction",
                explanation=f"line {a.line} and line {b.line} cannot both be right",
            )  # fmt: skip
            break
