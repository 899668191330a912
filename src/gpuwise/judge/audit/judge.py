"""Judge claims by the catalog: agrees, contradicts (and how), differs from one source, cannot tell.

An accusation needs a sure reading, no variant and no form under which the text is right, and two
witnesses: independent sources, a computation from units and clocks, or a known way in which just this
wrong figure comes about (digits swapped, the sparse rate, another variant's value).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from gpuwise.facts import catalog
from gpuwise.judge.audit import agree, evidence, explain
from gpuwise.judge.audit.agree import (
    APART,
    EDITIONS,
    FAR,
    OF_WIDTH,
    ROUNDED,
    VARIANTS,
    agrees,
    counts_bits,
    evidence_of,
    gpus_with,
    is_within,
    most_of,
    numbers_of,
    same,
    states,
)
from gpuwise.judge.audit.cells import FORMATS, IN_SUM, POINTED, SUMMED, WHOLE, in_thousands
from gpuwise.judge.audit.doubts import LEAST, MOST_RIGHT, ROWS, Doubts
from gpuwise.judge.audit.evidence import alike
from gpuwise.judge.audit.explain import OF_DIE, SHARED, TAKEN_FOR_OTHER, UNTELLING, Around, mechanism
from gpuwise.judge.audit.meanings import MACHINE, OF_SUPERCHIP, is_disputed, means_other
from gpuwise.judge.audit.support import CONFIRMED, GRID, Support
from gpuwise.judge.audit.words import COUNTS, FIELDS
from gpuwise.model.judgement import NOT_IN_CATALOG, Claim, Finding, Kind, Number, Verdict

WITNESSES = 2
# What board makers choose for themselves: a three-slot card may carry the chip of a two-slot one.
BY_MAKER = frozenset({"slots"})
# What several GPUs have no more of than one.
OF_EACH = frozenset(
    {"memory_bus_bits", "boost_hz", "base_hz", "core_hz", "memory_transfers_per_s", "process_nm",
     "compute_capability", "memory_type", "chip", "architecture", "pcie_generation", "launch"}
)  # fmt: skip
# What variants of one name have alike, or near each other: one that no source dates is as old as the others.
ALIKE = frozenset({"launch", "launch_price_usd"})
NOT_JUDGED = frozenset({"price", "peak:"})
# How far a round ratio ("twice") may be off; and a percentage, which has so many digits, before it is wrong.
RATIO = 0.2
PERCENT, APART_PERCENT = 3, 0.09
# GPUs of the systems that are sold, and how near a sum of theirs is, which sheets round.
SYSTEMS, OF_SYSTEM = (8, 16, 36, 72), 0.015
# The difference beyond anything by which sources differ in buses and caches, which they do not round.
WIDE = 0.15
# Nanometres up to which one process has names that are one apart.
FINE = 5
# Claims of one row that only one of several variants explains: the row speaks of that one.
DISTINCT = 2
# What is counted, and the same on every card of one variant.
OF_CHIP = COUNTS | {"memory_bytes", "memory_bytes_per_s"}
# A size in an id, and in a name.
_SIZE, _SAID_SIZE = re.compile(r"-\d+gb\b"), re.compile(r"\d ?G", re.IGNORECASE)
_COMMA = re.compile(r"(?<![\d.,])\d{1,3},(?:\d{1,2}|0\d\d)(?![\d.,])")
_THOUSANDS = re.compile(rf"(?<![\d.,]){POINTED}(?![\d.,]) ?(?:[GT]|M?Hz)")


def judge(claims: Sequence[Claim]) -> tuple[Finding, ...]:
    """One finding per claim, in their order; those of ratios last."""
    if any(_COMMA.search(claim.stated) for claim in claims):
        # In a text with decimal commas a point parts thousands: "3.958 TFLOPS".
        claims = _with_points_for_thousands(claims)
    ratios = [_of_ratio(claim) for claim in claims if claim.than]
    claims = _narrowed([_said_plainly(claim) for claim in claims if not claim.than])
    claims = _of_launch_prices(_of_other_size(claims))
    systems = _of_systems(claims)
    claims = _of_one_variant(_summed(claims))
    right = [agrees(claim) for claim in claims]
    support = Support(claims, right)
    verdicts = [_verdict(claim, one, support) for claim, one in zip(claims, right, strict=True)]
    doubts = Doubts(claims, verdicts, support)
    wrong = [place for place, verdict in enumerate(verdicts) if verdict == "contradicts"]
    doubted = {place for place in wrong if doubts.is_doubtful(claims[place])}
    for place in wrong:
        if place in doubted:
            verdicts[place] = "cannot tell"
        elif not _is_witnessed(claims[place], doubts.text):
            verdicts[place] = "differs"
    found = [_finding(c, v, doubts.text) for c, v in zip(claims, verdicts, strict=True)]
    for place in doubted:
        found[place] = replace(found[place], explanation="the reading is doubtful")
    for place, count in systems.items():
        why = f"what a system of {count} has, under the name of one"
        if not claims[place].doubt:
            found[place] = replace(found[place], verdict="contradicts", kind="per system", explanation=why)
        elif found[place].kind:
            found[place] = replace(found[place], verdict="cannot tell", kind=None, explanation=why)
    return (*found, *ratios)


def _with_points_for_thousands(claims: Sequence[Claim]) -> list[Claim]:
    """The claims with their points read as separators of thousands, unless fewer of them agree with the
    catalog then; a claim that agrees as it is printed stays as it is."""
    read = {
        n: replace(c, values=in_thousands(c.values))
        for n, c in enumerate(claims) if _THOUSANDS.search(c.stated)
    }  # fmt: skip
    # `cells.scaled` has read so what would be too small for its field.
    read = {n: c for n, c in read.items() if max(numbers_of(c.values), default=inf) <= FIELDS[c.field].high}
    right = {n for n in read if agrees(claims[n])}
    more = sum(map(agrees, read.values())) >= len(right)
    return [read[n] if more and n in read and n not in right else c for n, c in enumerate(claims)]


def _said_plainly(claim: Claim) -> Claim:
    """A claim of a clock, by the name of the one that it states."""
    clocks = (replace(claim, field=name) for name in ("boost_hz", "base_hz") if claim.field == "core_hz")
    return next((one for one in clocks if agrees(one)), claim)


def _of_launch_prices(claims: Sequence[Claim]) -> Sequence[Claim]:
    """The claims, with the prices of a table as launch prices where those of most of its GPUs are; but not of
    a card that is older than these, which may be had used."""
    tables: dict[int, dict[int, Claim]] = defaultdict(dict)
    for n, one in enumerate(claims):
        if one.field == "price" and one.block >= GRID and one.gpu_ids:
            tables[one.block // GRID][n] = replace(one, field="launch_price_usd")
    found = list(claims)
    for of in tables.values():
        right = {c.gpu_ids: catalog.get(c.gpu_ids[0]).text("launch") or "" for c in of.values() if agrees(c)}
        if len(right) >= max(ROWS, MOST_RIGHT * (len(of) - len(right))):
            for n, c in of.items():
                new = (catalog.get(c.gpu_ids[0]).text("launch") or "") >= min(right.values())
                # What is less may be a later list price.
                found[n] = c if agrees(c) or (new and min(numbers_of(c.values)) > most_of(c)) else found[n]
    return found


def _narrowed(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims of rows that one variant explains better than its siblings speak of that one.

    "H100 | 16,896 cores | 700 W | 2,039 GB/s" is the SXM with the bandwidth of the PCIe card.
    """
    rows: dict[tuple[int, str], list[Claim]] = defaultdict(list)
    # A row of a machine or of several GPUs may state the figures of one: "B200 (HGX) | 180 GB | 1000 W".
    counted: dict[tuple[int, str], list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.count > 1 and claim.block >= GRID and claim.field not in SHARED | OF_EACH:
            counted[claim.block, claim.gpu].append(claim)
    singles = set()
    for key, row in counted.items():
        ones = {c.field for c in row if agrees(one := replace(c, count=1)) or mechanism(one) is not None}
        if len(ones) > max(1, len({c.field for c in row}) / 2):
            singles.add(key)
    claims = [replace(c, count=1) if (c.block, c.gpu) in singles and not c.total else c for c in claims]
    for claim in claims:
        plain = len(claim.values) == 1 and claim.count == 1 and claim.field not in SHARED - {"memory_type"}
        variants = len(claim.gpu_ids) > 1 and not (claim.several or claim.of_any)
        if variants and plain and claim.block >= GRID:
            rows[claim.block, claim.gpu].append(claim)
    chosen: dict[tuple[int, str], tuple[str, ...]] = {}
    largest: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    for key, row in rows.items():
        ids = row[0].gpu_ids
        if len({c.values for c in row if c.field == "memory_bytes" and agrees(c)}) > 1:
            continue  # "A100 | 40 GB and 80 GB variants | HBM2e" is about both
        agreed = {i: {n for n, c in enumerate(row) if agrees(replace(c, gpu_ids=(i,)))} for i in ids}
        best = max(agreed.values(), key=len)
        others = [one for one in agreed.values() if one != best]
        # A variant that explains what the best does not must lose by more.
        if others and all(len(best - one) >= (DISTINCT if one - best else 1) for one in others):
            chosen[key] = tuple(i for i in ids if agreed[i] == best)
    for claim in claims:
        if claim.field == "memory_bytes" and len(claim.values) > 1 and not claim.several:
            # "With 40 or 80 GB": what it has at most is what the larger one has.
            most = (Number(value=max(numbers_of(claim.values)), digits=agree.FEW),)
            larger = (i for i in claim.gpu_ids if agrees(replace(claim, gpu_ids=(i,), values=most)))
            largest[claim.block, claim.gpu_ids] = tuple(larger)

    def of(c: Claim) -> tuple[str, ...]:
        ids = largest.get((c.block, c.gpu_ids), ()) if c.at_most else chosen.get((c.block, c.gpu), ())
        return ids if ids and {*ids} <= {*c.gpu_ids} else c.gpu_ids

    return tuple(replace(c, gpu_ids=of(c)) for c in claims)


def _of_one_variant(claims: Sequence[Claim]) -> list[Claim]:
    """The claims; where no variant of the card that a sentence or a row names has all of its figures, it
    speaks of the variant that has most of them, or the stated memory, by which such cards are sold: "the RTX
    3080 has 8,960 cores and 10 GB" has the cores of the card of 12 GB."""
    found, rows = list(claims), defaultdict[object, list[int]](list)
    for n, c in enumerate(claims):
        hedged = c.several or c.of_any or c.at_most or c.approximate or c.is_range or c.total or c.doubt
        if c.sure and c.count == len(c.values) == 1 and c.gpu_ids and not hedged and c.field in OF_CHIP:
            rows[(c.block, c.gpu) if c.block >= GRID else (c.block, c.line, c.sentence, c.gpu)].append(n)
    for row in rows.values():
        ids = max((claims[n].gpu_ids for n in row), key=len)
        # Also what its reader gave to one variant by the figure beside it.
        own = [
            n
            for n in row
            if {*claims[n].gpu_ids} <= {*ids} and all(evidence.of(i, claims[n].field) for i in ids)
        ]
        having = {n: {i for i in ids if agrees(replace(claims[n], gpu_ids=(i,)))} for n in own}
        sizes = [those for n, those in having.items() if claims[n].field == "memory_bytes"]
        variants = len(ids) > 1 == len({*map(agree.product, ids)})  # "GTX Titan" may mean several products
        known = variants and len(sizes) == 1 and all(having.values())
        if known and not set.intersection(*having.values()):
            most = Counter(i for those in having.values() for i in those)
            best = {i for i in ids if most[i] == max(most.values())}
            best = best & sizes[0] or best
            for n in own:
                found[n] = replace(claims[n], gpu_ids=tuple(i for i in ids if i in best))
    return found


def _of_other_size(claims: Sequence[Claim]) -> Sequence[Claim]:
    """The claims; a row that one size gives to a variant, and all else to another one, is of the latter:
    "RTX 3080 | 12 GB, 320 bit | 8,704 cores" has the wrong size, and nothing else."""
    rows: dict[tuple[int, str, str], list[Claim]] = defaultdict(list)
    for c in claims:
        unsaid = len(c.gpu_ids) == c.count == 1 and not c.several and not _SAID_SIZE.search(c.gpu)
        if c.block >= GRID and unsaid and c.field not in SHARED:
            rows[c.block, c.gpu, c.gpu_ids[0]].append(c)
    moved: dict[tuple[int, str, tuple[str, ...]], tuple[str, ...]] = {}
    for (block, name, own), row in rows.items():
        right = [agrees(c) for c in row]
        alike_ = (i for i in agree.family(own) if _SIZE.sub("", i) == _SIZE.sub("", own))
        for other in alike_ if not all(right) else ():
            theirs = [agrees(replace(c, gpu_ids=(other,))) for c in row]
            gained = {c.field for c, r, t in zip(row, right, theirs, strict=True) if t > r}
            lost = {c.field for c, r, t in zip(row, right, theirs, strict=True) if r > t}
            if len(gained - lost) > DISTINCT * len(lost | {"memory_bytes"}):
                moved[block, name, (own,)] = (other,)
    return [replace(c, gpu_ids=moved.get((c.block, c.gpu, c.gpu_ids), c.gpu_ids)) for c in claims]


def _summed(claims: Sequence[Claim]) -> list[Claim]:
    """The claims; where nearly all of a column, or of a list that counts its GPUs, are so many times what the
    GPUs have, those that are not are wrong sums, too."""
    found, places = list(claims), defaultdict[tuple[int, str, int], dict[int, Claim]](dict)
    for n, c in enumerate(claims):
        table, plain = c.block // GRID, c.gpu_ids and not c.several and len(c.values) == 1
        if plain and c.field in (*SUMMED, "power_w") and not agrees(replace(c, count=1, total=False)):
            for count in range(2, IN_SUM + 1) if table else {c.count} - {1}:
                key = (-table or c.block, c.field, table and count)
                places[key][n] = replace(c, count=count, total=True)
            if table and max(numbers_of(c.values)) > FIELDS[c.field].high:
                found[n] = replace(c, sure=False)
    for (_, _, times), sums in places.items():
        right = [c.gpu_ids for c in sums.values() if agrees(c)]
        if len({*right}) >= max(LEAST + (times > 0), LEAST * (len(sums) - len(right))):
            for n, c in sums.items():
                more = min(numbers_of(c.values)) > (2 - APART) * most_of(c)
                # "4x RTX 3090 | 96 GB" says its own count.
                found[n] = c if more and not agrees(claims[n]) else found[n]
    return found


def _of_systems(claims: Sequence[Claim]) -> dict[int, int]:
    """The claims of tables that state of one GPU what a system of so many has, by their places: figures of a
    row are one multiple, and the text gives the memory of other GPUs, or of these, for one."""
    rows, of_one = defaultdict[tuple[int, object], dict[int, Claim]](dict), set[tuple[object, str]]()
    for n, c in enumerate(claims):
        plain = c.block >= GRID and c.count == 1 == len(c.values) and c.sure and not (c.several or c.total)
        of_system = plain and c.field in (*OF_SUPERCHIP, *FORMATS) and not agrees(c)
        if not of_system or (mechanism(c) or ("",))[0] in TAKEN_FOR_OTHER:
            of_one |= {(c.gpu_ids, c.field)} if plain else set()
            continue
        known = [k for k in evidence_of(c, fitting=False) if k.form not in ("vector", "matrix")]
        # Of a thousand GB some make a TB, some of 1,024.
        ways = (1, 1.024) if c.field == "memory_bytes" else (1,)
        every = [v * w for k in known for v in numbers_of((k.value, *k.alternatives)) for w in ways]
        for size in SYSTEMS:
            if any(alike(v, size * one, OF_SYSTEM) for v in numbers_of(c.values) for one in every):
                rows[size, (c.line, c.block // GRID)][n] = rows[size, (c.block, c.gpu_ids)][n] = c
    found: dict[int, int] = {}
    memory = sum(field in OF_SUPERCHIP for _, field in of_one)
    for (size, _), row in sorted(rows.items(), key=lambda pair: pair[0][0]):
        if min(len({(c.gpu_ids, c.field) for c in row.values()} - of_one), memory) >= LEAST:
            found = dict.fromkeys(row, size) | found
    return found


def _verdict(claim: Claim, right: bool, support: Support) -> Verdict:
    if claim.field in NOT_JUDGED or not claim.gpu_ids:
        return "cannot tell"
    if agree.is_of_missing_format(claim):
        return "contradicts" if claim.sure and not claim.several else "cannot tell"
    if right:
        return "contradicts" if claim.sure and counts_bits(claim) else "agrees"
    known = evidence_of(claim)
    silent = any(not evidence.of(i, claim.field) for i in claim.gpu_ids if not _has_no_link(i, claim.field))
    silent = silent and claim.field not in ALIKE
    # What several GPUs have together is only what the text says it is, but for a size or a power that is less
    # than two have, and not one's. So few cores are a machine's processors', and such a rate its network's.
    least = 0.0 if claim.field in ("memory_bytes", "power_w") else 1 / MACHINE
    ratios = [v / k for v in numbers_of(claim.values) for k in numbers_of(k.value for k in known)]
    no_multiple = bool(ratios) and claim.field in (*SUMMED, "power_w") and all(
        least < ratio < 2 - APART and not alike(ratio, 1, APART) for ratio in ratios
    )  # fmt: skip
    of_one = no_multiple or (mechanism(claim) or ("",))[0] in ("digit swap", "full die for product")
    together = claim.count > 1 and not (claim.total or of_one) and claim.field not in OF_EACH
    # A cell that names several GPUs says its value of each; in prose it may be of one of them.
    several = claim.several and claim.block < GRID
    # "Volta: GV100, 2017" is about the chip, which a Quadro is named after.
    of_chip = claim.gpu in catalog.chips()
    # Below "Ada AD102" may stand what the whole chip has.
    of_chip |= claim.of_any and claim.block >= GRID and claim.field in OF_DIE
    if not known or silent or several or not claim.sure or together or of_chip or claim.field in BY_MAKER:
        return "cannot tell"
    # The figure of any variant of the name, in whichever form it is printed, may be what is meant.
    disputed = any(is_disputed(claim, stated, k) for k in known for stated in claim.values)
    # Of "148 / 152 SMs" one is right: the other is of an edition that the catalog lacks.
    disputed |= len(claim.values) > 1 and any(same(claim, v, k.value) for v in claim.values for k in known)
    disputed |= claim.block < GRID and claim.field in WHOLE and _is_in_fewer_digits(claim)
    other = disputed or means_other(claim, support.of(claim) >= CONFIRMED)
    return "cannot tell" if other else "contradicts"


def _is_in_fewer_digits(claim: Claim) -> bool:
    """Whether a text rounds or cuts a number of parts: "it has 3,600 cores", of 3,584; but not of 3,840."""
    known = numbers_of(k.value for k in evidence_of(claim))
    return all(
        isinstance(v, Number) and v.digits <= agree.FEW and v.value >= 1000
        and any(abs(v.value - k) < 10.0 ** (len(f"{k:.0f}") - v.digits) for k in known)
        for v in claim.values
    )  # fmt: skip


def _has_no_link(gpu_id: str, field: str) -> bool:
    """Whether a variant has no rate of a link because it has none: the V100 PCIe."""
    return field == "link_bytes_per_s" and any(k.value == "no" for k in evidence.of(gpu_id, "link"))


def _is_witnessed(claim: Claim, text: Around) -> bool:
    """Whether enough speaks against a claim: sources, computation, a way in which the error comes about."""
    if agrees(claim) or agree.is_of_missing_format(claim):
        return True
    kind = "wrong value" if claim.total else text.explain(claim)[0]
    # One figure of a neighbour may be equal by chance; two of a row are copied.
    chance = kind == explain.NEIGHBOUR and not text.of_neighbour(claim, 2)
    # So near the known value a figure of no telling kind is another edition's, or rounded twice.
    untelling = chance or kind in UNTELLING or kind == "wrong precision"
    near = EDITIONS if untelling else VARIANTS if kind == "other variant" else 0.0
    # The figure of the next product was taken for this one's: also where they differ by little.
    beside = (other for i in claim.gpu_ids for other in (*agree.next_to(i), *agree.family(i)))
    of_next = not gpus_with(claim.field, claim.values).isdisjoint(beside)
    near = ROUNDED if of_next and claim.field == "memory_bytes_per_s" else near
    if any(is_within(claim, known, near) for known in evidence_of(claim)):
        return False
    # That the text says otherwise elsewhere speaks against it only where both are of one GPU.
    alone = len(claim.gpu_ids) == 1 and not claim.field.startswith("peak:")
    telling = kind != "wrong value" and (kind != "internal contradiction" or alone) and not chance
    # Siblings share a chip: that another one has this value says nothing of how it came here.
    of_variant = clock = kind == "other variant" and claim.field.endswith("_hz")
    # But power is what makers of cards choose, so that of the next product may be this one's.
    telling |= of_next and claim.field != "power_w"
    clock |= kind == "wrong value" and claim.field.endswith("_hz")
    needed = WITNESSES - (telling and claim.field not in SHARED and not clock)
    for gpu_id in (i for i in claim.gpu_ids if not _has_no_link(i, claim.field)):
        known = evidence.of(gpu_id, claim.field)
        if not known and claim.field in ALIKE:
            continue
        values = [v for k in known for v in (k.value, *k.alternatives) if v]
        # No source is so far off, however much sources differ from each other, but of what makers set, or
        # where one variant's clock may be under the name of another in the only source, too.
        varied = of_variant or (claim.field == "power_w" and not any(k.alternatives for k in known))
        far = not varied and all(
            isinstance(stated, Number) and isinstance(value, float)
            and not alike(stated.value, value, WIDE if claim.field in OF_WIDTH else FAR)
            for stated in claim.values for value in values
        )  # fmt: skip
        # In such a process no chip of its kind is made; 4N is called 5 nm, too, and AMD's packages mix two.
        nvidia = catalog.get(gpu_id).vendor == "NVIDIA"
        far |= claim.field == "process_nm" and all(
            abs(stated - node) > (node <= FINE and (stated <= FINE or not nvidia))
            for stated in numbers_of(claim.values) for node in evidence.nodes(gpu_id)
        )  # fmt: skip
        # "Core clock" may say either of two clocks: each must be known so well.
        least = min if claim.field == "core_hz" else max
        if least((k.witnesses for k in known), default=0) + (far or explain.is_of_no_bus(claim)) < needed:
            return False
    return True


def _finding(claim: Claim, verdict: Verdict, text: Around) -> Finding:
    kind: Kind | None = None
    explanation = ""
    best, source = _best(claim)
    if verdict == "contradicts" and counts_bits(claim) and agrees(claim):
        kind, explanation = "unit", "right digits, in bits: a byte has eight"
    elif verdict == "contradicts" and claim.total:
        kind, explanation = "wrong sum", f"{claim.count} times {best} is another sum"
    elif verdict == "contradicts":
        kind, explanation = text.name(claim)
    elif verdict == "differs":
        explanation = f"differs from {source or 'the catalog'} (one source)"
    elif verdict == "cannot tell" and not claim.gpu_ids:
        explanation = NOT_IN_CATALOG
    elif verdict == "cannot tell" and best:
        explanation = (
            claim.doubt or "the text leaves open which GPU is meant" if claim.several or not claim.sure
            else "of several GPUs together" if claim.count > 1 else "sources differ"
        )  # fmt: skip
    return Finding(
        lines=(claim.line,), gpu=_name(claim), field=claim.field, stated=claim.stated, verdict=verdict,
        kind=kind, best=best, source=source, explanation=explanation,
    )  # fmt: skip


def _of_ratio(claim: Claim) -> Finding:
    """How the figure of one GPU compares with another's: so many times, more, less, by so much, or the same.

    Right where it holds for one pair of variants. Near to right is "cannot tell", since editions of a product
    differ by some percent. Contradicted where no pair comes near, and each figure has two witnesses.
    """
    stated = claim.values[0]
    assert isinstance(stated, Number)
    pairs = [
        (a, b) for one in claim.gpu_ids for a in _compared_with(one, claim.field)
        for other in claim.than for b in _compared_with(other, claim.field)
        if isinstance(a.value, float) and isinstance(b.value, float) and a.form == b.form and b.value
    ]  # fmt: skip
    figures = [numbers_of(e.value for e in pair) for pair in pairs]
    found = [_compared(claim, stated, a, b) for a, b in figures]
    if claim.field[:5] == "peak:" and claim.field not in ("peak:fp32", "peak:fp64") and any(
        _compared(claim, stated, k * a, b) == "agrees" for a, b in figures for k in (0.5, 2)
    ):  # fmt: skip
        # The one rate with sparsity, or with a wider accumulator, the other without.
        found.append("cannot tell")
    both = (*claim.gpu_ids, *claim.than)
    # The memory of a superchip may include its processor's, and its name may mean the chip in it.
    silent = any(not evidence.of(i, claim.field) or (i[0] == "g" and agree.twins_of(i)) for i in both)
    open_ = not found or silent or "cannot tell" in found or claim.several or not claim.sure
    # As of other claims, one source is enough against a ratio that is far off.
    far = [claim.relation == "times" and not alike(stated.value, a / b, FAR) for a, b in figures]
    alone = any(min(a.witnesses, b.witnesses) + f < WITNESSES for (a, b), f in zip(pairs, far, strict=True))
    wrong: Verdict = "cannot tell" if open_ else "differs" if alone else "contradicts"
    verdict: Verdict = "agrees" if "agrees" in found else wrong
    explained = f"{pairs[0][0].text} and {pairs[0][1].text}" if pairs else ""
    ratios = sorted(a / b for a, b in figures) if claim.relation == "times" else []
    known = " to ".join(dict.fromkeys(f"{ratio:.3g}" for ratio in (*ratios[:1], *ratios[-1:])))
    return Finding(
        lines=(claim.line,), gpu=_name(claim), field=claim.field, stated=claim.stated, verdict=verdict,
        kind="wrong ratio" if verdict == "contradicts" else None,
        best=f"{known} times" if known else explained,
        source="; ".join(dict.fromkeys(e.named for pair in pairs for e in pair)),
        explanation=explained if verdict != "agrees" else "",
    )  # fmt: skip


def _compared_with(gpu_id: str, field: str) -> list[evidence.Evidence]:
    """The figures of a GPU that comparisons mean: of its rates in a format the highest of each form."""
    known = evidence.of(gpu_id, field)
    rates = {k.form: k for k in sorted(known, key=lambda k: k.value)} if field[:5] == "peak:" else {}
    return [*(rates.values() or known)]


def _compared(claim: Claim, stated: Number, a: float, b: float) -> Verdict:
    """What two known figures say of a comparison."""
    rough = agree.ROUGH if claim.approximate else 0.0
    if claim.relation == "times":
        # A ratio without decimals is a round word; one with them is printed to its last digit.
        exact = 0.5 * 10.0 ** (1 - stated.digits) / stated.value + ROUNDED
        rounding = (RATIO if stated.digits == 1 else exact) + (rough or agree.ROUGH * claim.at_most)
        # "2 times more" is twice or thrice as much.
        off = min(abs(value * b / a - 1) for value in (stated.value, stated.value + claim.more))
        right = off <= rounding
        near = off <= max(rounding, APART if stated.digits < PERCENT else APART_PERCENT)
    elif claim.relation in ("over", "under"):
        above = a / b / stated.value if claim.relation == "over" else stated.value * b / a
        right, near = above > 1 + agree.CLOSE, above > 1 / (1 + EDITIONS) and above != 1
    else:
        off = abs(a - b - stated.value) if claim.relation == "plus" else abs(a - b)
        small = 0.1 * abs(stated.value) if claim.relation == "plus" else 0.0
        right = off <= max(small, (rough or ROUNDED) * max(a, b))
        near = off <= max(2.5 * small, APART * max(a, b))
    return "agrees" if right else "cannot tell" if near else "contradicts"


def _best(claim: Claim) -> tuple[str, str]:
    """(value, source) to put in the claim's place; several variants are listed with their names."""
    found: list[tuple[str, evidence.Evidence]] = []
    for gpu_id in claim.gpu_ids:
        # Of several peaks of one format the one that the claim states comes first.
        known = [k for k in evidence.of(gpu_id, claim.field) if agree.fits_form(claim, k.form)]
        if known:
            found.append((gpu_id, next((k for k in known if states(claim, k.value)), known[0])))
    sources = "; ".join(dict.fromkeys(best.named for _, best in found))
    if len({best.text for _, best in found}) < 2:
        return (found[0][1].text if found else ""), sources
    return "; ".join(f"{best.text} ({gpu_id})" for gpu_id, best in found), sources


def _name(claim: Claim) -> str:
    if len(claim.gpu_ids) == 1:
        return catalog.get(claim.gpu_ids[0]).name
    return claim.gpu.removesuffix("'s").removesuffix("\u2019s")
