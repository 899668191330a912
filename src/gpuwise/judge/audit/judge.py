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
from gpuwise.judge.audit.agree import ROUNDED, agrees, evidence_of, gpus_with, numbers_of, same, states
from gpuwise.judge.audit.cells import IN_SUM, POINTED, SUMMED, in_thousands
from gpuwise.judge.audit.evidence import alike
from gpuwise.judge.audit.explain import SHARED, Around, Explained, mechanism
from gpuwise.judge.audit.grid import GRID
from gpuwise.judge.audit.words import COUNTS, FIELDS, IN_BITS
from gpuwise.model.judgement import NOT_IN_CATALOG, Claim, Finding, Kind, Number, Verdict

WITNESSES = 2
# What several GPUs have no more of than one.
OF_EACH = frozenset(
    {"memory_bus_bits", "boost_hz", "base_hz", "core_hz", "memory_transfers_per_s", "process_nm",
     "compute_capability", "memory_type", "chip", "architecture", "pcie_generation", "launch"}
)  # fmt: skip
# What variants of one name have alike, or near each other: one that no source dates is as old as the others.
ALIKE = frozenset({"launch", "launch_price_usd"})
# Board makers choose slots for themselves: a three-slot card may carry the chip of a two-slot one.
NOT_JUDGED = frozenset({"price", "peak:", "slots"})
# How far a round ratio ("twice") may be off.
RATIO = 0.2
# A ratio that is off by less is nobody's error.
APART = 0.15
# The same of a percentage, which has so many digits.
PERCENT, APART_PERCENT = 3, 0.09
# Of its memory a GPU leaves a program so much; the same of rounded figures; and beside the bits that find
# errors in GDDR memory: 15 GB of 16.
USABLE, REPORTED, WITH_ECC = 0.9, 0.96, 15 / 16
# Bytes/s between the two chips of a superchip (NVLink-C2C).
TO_PROCESSOR = 900e9
# From how many times a GPU's memory on a size, of so many bytes or more, is that of the machine around it.
MACHINE, HOST = 2.4, 150 * 2**30
# GPUs of the machines that are usual.
IN_MACHINE = (4, 8)
# Makers of cards set clocks so many times the reference's.
OVERCLOCKED = 1.07
# Relative difference beyond anything by which sources differ.
FAR = 0.2
# Nanometres up to which one process has names that are one apart.
FINE = 5
# Relative difference up to which a figure may be of another edition of the sheet, or was rounded twice.
EDITIONS = 0.04
SUPERCHIPS = ("gb200", "gb300", "gh200")
OF_SUPERCHIP = frozenset({"memory_bytes", "memory_bytes_per_s"})
# A figure that is so many times the known one, or less, and of no known kind of error is of something else.
OTHER = 10.0
# So many claims of a column must be right sums, or right below an unsure heading, for the others to be wrong.
LEAST = 2
# Shops' prices are the ones at launch by chance, too: so many times as many must be right as are wrong.
MOST_RIGHT = 3
# Claims of one row that only one of several variants explains: the row speaks of that one.
DISTINCT = 2
# A text of so few lines before and behind a claim is about what it says.
SHORT = 12
# What makers of laptops set, each for itself.
OF_LAPTOPS = ("power_w", "boost_hz", "base_hz", "core_hz", "texels_per_s", "pixels_per_s")
_UNIT = re.compile(r"\d ?[A-Za-z]")
# "500+ TFLOPS", "1000W+"
_LEAST = re.compile(r"\w\+(?! ?\d)")
_COMMA = re.compile(r"(?<![\d.,])\d{1,3},(?:\d{1,2}|0\d\d)(?![\d.,])")
_THOUSANDS = re.compile(rf"(?<![\d.,]){POINTED}(?![\d.,]) ?(?:[GT]|M?Hz)")


def judge(claims: Sequence[Claim]) -> tuple[Finding, ...]:
    """One finding per claim, in their order; those of ratios last."""
    if any(_COMMA.search(claim.stated) for claim in claims):
        # In a text with decimal commas a point parts thousands: "3.958 TFLOPS".
        claims = _with_points_for_thousands(claims)
    ratios = [_of_ratio(claim) for claim in claims if claim.than]
    claims = _summed(_narrowed([claim for claim in claims if not claim.than]))
    verdicts = [_verdict(claim) for claim in claims]
    judged = list(zip(claims, verdicts, strict=True))
    text = Around(claims, [claim for claim, verdict in judged if verdict == "contradicts"])
    groups = Counter((claim.group, verdict) for claim, verdict in judged)
    # A long text on something else mentions GPUs in passing: some other figure must be right.
    last = max((claim.line for claim in claims), default=0)
    company = {(claim.field, claim.gpu_ids) for claim, verdict in judged if verdict == "agrees"}
    # A sentence that states the right value, too, speaks of two things: what is stated and what is reached.
    said = {_said(c) for c, v in judged if c.sure and v == "agrees"}

    def is_doubted(claim: Claim) -> bool:
        own = mechanism(claim)
        right, wrong = groups[claim.group, "agrees"], groups[claim.group, "contradicts"]
        weak = right < (MOST_RIGHT * wrong if claim.group == "prices" else max(LEAST, wrong))
        # But two sizes in cells of one row are of one GPU.
        copied = claim.block >= GRID and text.explain(claim)[0] == explain.NEIGHBOUR
        cells = claim.block >= GRID and (own is not None or claim.field in ("memory_bytes", "memory_type"))
        return (
            (_said(claim) in said and not cells)
            or (not copied and _is_of_something_else(claim, own))
            or (bool(claim.group) and weak)
            or (
                max(claim.line, last - claim.line) > SHORT
                and own is None
                and company <= {(claim.field, claim.gpu_ids)}
            )
        )

    found = []
    for claim, verdict in judged:
        if verdict == "contradicts" and is_doubted(claim):
            found.append(replace(_finding(claim, "cannot tell", text), explanation="the reading is doubtful"))
        elif verdict == "contradicts" and not _is_witnessed(claim, text):
            found.append(_finding(claim, "differs", text))
        else:
            found.append(_finding(claim, verdict, text))
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


def _is_of_something_else(claim: Claim, own: Explained | None) -> bool:
    """Whether a figure is so far from every known value that something else is counted: what a job asks for,
    images a second. A rate without a unit may be in the unit of another cell."""
    bare = claim.field.startswith("peak:") and not _UNIT.search(claim.stated)
    known, stated = numbers_of(k.value for k in evidence_of(claim)), numbers_of(claim.values)
    if not (known and stated and (bare or own is None)) or claim.total or claim.field == "memory_bus_bits":
        return False
    return not any(1 / OTHER < v / k <= OTHER for v in stated for k in known if k)


def _said(claim: Claim) -> tuple[object, ...]:
    """What claims of one sentence about one thing have alike."""
    return claim.line, claim.sentence, claim.gpu_ids, claim.field, claim.sparse, claim.total


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
        if len(claim.gpu_ids) > 1 and not claim.several and plain and claim.block >= GRID:
            rows[claim.block, claim.gpu].append(claim)
    chosen: dict[tuple[int, str], tuple[str, ...]] = {}
    largest: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    for key, row in rows.items():
        ids = row[0].gpu_ids
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
                more = min(numbers_of(c.values)) > (2 - APART) * _most(c)
                # "4x RTX 3090 | 96 GB" says its own count.
                found[n] = c if more and not agrees(claims[n]) else found[n]
    return found


def _verdict(claim: Claim) -> Verdict:
    if claim.field in NOT_JUDGED or not claim.gpu_ids:
        return "cannot tell"
    if agree.is_of_missing_format(claim):
        return "contradicts" if claim.sure and not claim.several else "cannot tell"
    if agrees(claim):
        return "contradicts" if claim.sure and _counts_bits(claim) else "agrees"
    known = evidence_of(claim)
    silent = any(not evidence.of(i, claim.field) for i in claim.gpu_ids if not _has_no_link(i, claim.field))
    silent = silent and claim.field not in ALIKE
    # What several GPUs have together may be counted of some of them.
    together = claim.count > 1 and not claim.total and claim.field not in OF_EACH and any(
        alike(v, n * k, ROUNDED) for v in numbers_of(claim.values) for n in range(2, claim.count + 1)
        for k in numbers_of(k.value for k in known)
    )  # fmt: skip
    # "Volta: GV100, 2017" is about the chip, which a Quadro is named after.
    of_chip = claim.gpu in catalog.chips()
    if not known or silent or not claim.sure or together or of_chip or _LEAST.search(claim.stated):
        return "cannot tell"
    # The figure of any variant of the name, in whichever form it is printed, may be what is meant.
    disputed = any(_is_disputed(claim, stated, k) for k in known for stated in claim.values)
    # Of "148 / 152 SMs" one is right: the other is of an edition that the catalog lacks.
    disputed |= len(claim.values) > 1 and any(same(claim, v, k.value) for v in claim.values for k in known)
    return "cannot tell" if disputed or _is_other_rate(claim) or _is_option(claim) else "contradicts"


def _has_no_link(gpu_id: str, field: str) -> bool:
    """Whether a variant has no rate of a link because it has none: the V100 PCIe."""
    return field == "link_bytes_per_s" and any(k.value == "no" for k in evidence.of(gpu_id, "link"))


def _is_option(claim: Claim) -> bool:
    """Whether the value is that of another option: what a program finds, a smaller unified memory, what the
    maker of a laptop or a card sets, or a chip under the name of the superchip that holds it."""
    specs, values = [catalog.get(i) for i in claim.gpu_ids], numbers_of(claim.values)
    forms, most = {spec.text("form") for spec in specs}, _most(claim)
    rate, superchip = claim.field.startswith("peak:"), any(i[:5] in SUPERCHIPS for i in claim.gpu_ids)
    if forms == {"laptop"} and (rate or claim.field in OF_LAPTOPS):
        return mechanism(claim) is None
    if claim.field == "memory_type":
        # DDR4 is the machine's; of "DDR5" for GDDR5X only the letters are wrong.
        cards = {str(k.value).upper() for k in evidence_of(claim)}
        return all(re.fullmatch(r"DDR[345]", str(v)) and f"G{v}X" not in cards for v in claim.values)
    if not values:
        return False
    # What a machine of four or eight has or draws is often printed beside the name of one.
    known = numbers_of(k.value for k in evidence_of(claim))
    summed = rate or claim.field in ("memory_bytes_per_s", "power_w")
    if summed and not claim.total and mechanism(claim) is None and any(
        alike(v, n * k, agree.ROUGH) for v in values for k in known for n in IN_MACHINE
    ):  # fmt: skip
        return True
    if claim.field == "power_w" and (superchip or forms == {"soc"}):
        # More is of the computer around it, 2,700 W of both chips of a GB200 and their processor.
        return min(values) > most * (1 + superchip)
    if claim.field == "link_bytes_per_s":
        return superchip and TO_PROCESSOR in values
    if claim.field == "memory_bytes":
        ratios = [v / k for v in values for k in known]
        much = min(values) > HOST and min(ratios) > MACHINE and not claim.total
        machine = much and mechanism(claim) is None
        # "9-10 GB" is what something takes, 79.15 GiB and 46068 MiB are what a program finds of 80 and 48 GB.
        least = USABLE if re.search(r"\.\d|M", claim.stated) else REPORTED
        finds = claim.is_range or any(
            least <= ratio <= 1 or alike(ratio, WITH_ECC, agree.CLOSE) for ratio in ratios
        )
        # "48 GB of combined VRAM with 8 GB of headroom"
        left = claim.total and claim.block < GRID and max(ratios) < 1
        if machine or finds or left or (forms == {"soc"} and max(values) <= most):
            return True
    if (
        claim.field in ("boost_hz", "core_hz")
        and (mechanism(claim) or ("other variant",))[0] == "other variant"
    ):
        # Between its base and its boost clock a card has a game clock, and those of its makers.
        clocks = [(spec.number("base_hz"), spec.number("boost_hz")) for spec in specs]
        return any(low and high and low <= v <= high * OVERCLOCKED for v in values for low, high in clocks)
    if not rate and not (claim.field in OF_SUPERCHIP and superchip):
        return False
    # GB200 and B200 are printed for each other, but for the chip with the memory of the superchip; and a
    # superchip holds two, whose figures texts add up.
    own = {*map(agree.product, claim.gpu_ids)}
    twins = tuple(o for i in claim.gpu_ids for o in agree.twins_of(i) if agree.product(o) not in own)
    theirs = [*evidence_of(replace(claim, gpu_ids=twins)), *(evidence_of(claim) if superchip else ())]
    every = numbers_of(value for k in theirs for value in (k.value, *k.alternatives))
    return any(states(claim, n * value) for value in every for n in ((1, 2) if superchip else (1,)))


def _most(claim: Claim) -> float:
    """The largest known value of the field; 0 where there is none."""
    return max(numbers_of(k.value for k in evidence_of(claim)), default=0.0)


def _is_disputed(claim: Claim, stated: Number | str, known: evidence.Evidence) -> bool:
    """Whether another source has the stated value, or one on the other side of it."""
    times, near = (claim.count, ROUNDED) if claim.total else (1, agree.CLOSE)
    if isinstance(known.value, str) or isinstance(stated, str):
        return any(same(claim, stated, other) for other in known.alternatives)
    # Sums are of the usual product; and what is far from it (the rate of a cache) is of something else.
    apart = APART if claim.total else FAR if claim.field == "memory_bytes_per_s" else inf
    span = [known.value, *(o for o in numbers_of(known.alternatives) if alike(o, known.value, apart))]
    span += [known.low] if known.low is not None else []
    # What lies between two figures that sources give for one product is not known to be wrong.
    one, ranges = stated.value / times, len(span) > 1 and claim.field not in {*COUNTS, "memory_bytes"}
    return (ranges and min(span) * (1 - near) <= one <= max(span) * (1 + near)) or any(
        alike(one, o, near) if claim.total else same(claim, stated, o) for o in span[1:]
    )


def _is_other_rate(claim: Claim) -> bool:
    """Whether a rate may be one that the text does not name: of another format, or of a link."""
    values = numbers_of(claim.values)
    if claim.field == "memory_bytes_per_s":
        # The rate of the GPU's own link, in a cell or sentence that names neither.
        links = numbers_of(k.value for i in claim.gpu_ids for k in evidence.of(i, "link_bytes_per_s"))
        return any(alike(v, link / n, ROUNDED) for v in values for link in links for n in (1, 2))
    if claim.field != "peak:tensor":
        return False
    # The text does not name the format: those of 8 bits and fewer are advertised by their sparse rate. A rate
    # in FLOPS is not of INT8.
    whole = () if "FL" in claim.stated.upper() else ("int8",)
    rates = numbers_of(
        k.value for i in claim.gpu_ids for name in ("fp16", "bf16", "tf32", "fp8", "fp4", *whole)
        for k in evidence.of(i, f"peak:{name}") if name[-1] in "48" or k.form != "sparse"
    )  # fmt: skip
    return any(alike(value, rate, APART) for value in values for rate in rates)


def _is_witnessed(claim: Claim, text: Around) -> bool:
    """Whether enough speaks against a claim: sources, computation, a way in which the error comes about."""
    if agrees(claim) or agree.is_of_missing_format(claim):
        return True
    own, clock = mechanism(claim), claim.field.endswith("_hz")
    # So near the known value a figure of no telling kind is another edition's, or rounded twice.
    copied = text.explain(claim)[0] == explain.NEIGHBOUR and text.is_copied(claim)
    near = EDITIONS * (not copied and (own is None or own[0] in explain.UNSURE))
    if any(_is_within(claim, known, near) for known in evidence_of(claim)):
        return False
    # The figure of the next product was taken for this one's; but power is what makers of cards choose.
    beside = (other for i in claim.gpu_ids for other in (*agree.next_to(i), *agree.family(i)))
    of_next = claim.field != "power_w" and not gpus_with(claim.field, claim.values).isdisjoint(beside)
    # Siblings share a chip: that another one has this clock says nothing of how it came here.
    telling = (own is not None and not (clock and own[0] == "other variant")) or (of_next and not clock)
    telling |= copied or (text.contradicts(claim) and len(claim.gpu_ids) == 1)
    needed = WITNESSES - (telling and claim.field not in SHARED)
    for gpu_id in (i for i in claim.gpu_ids if not _has_no_link(i, claim.field)):
        known = evidence.of(gpu_id, claim.field)
        if not known and claim.field in ALIKE:
            continue
        values = [v for k in known for v in (k.value, *k.alternatives) if v]
        # No source is so far off, however much sources differ from each other, but of what makers set.
        varied = claim.field == "power_w" and not any(k.alternatives for k in known)
        far = not varied and all(
            isinstance(stated, Number) and isinstance(value, float) and not alike(stated.value, value, FAR)
            for stated in claim.values for value in values
        )  # fmt: skip
        # In such a process no chip of its kind is made; 4N is called 5 nm, too, and AMD's packages mix two.
        nvidia = catalog.get(gpu_id).vendor == "NVIDIA"
        far |= claim.field == "process_nm" and all(
            abs(stated - node) > (node <= FINE and (stated <= FINE or not nvidia))
            for stated in numbers_of(claim.values) for node in evidence.nodes(gpu_id)
        )  # fmt: skip
        if max((k.witnesses for k in known), default=0) + (far or explain.is_of_no_bus(claim)) < needed:
            return False
    return True


def _is_within(claim: Claim, known: evidence.Evidence, near: float) -> bool:
    """Whether all values of a claim lie so near a known one that editions differ as much."""
    value = known.value
    # What is computed from a clock is as far off as the clock is.
    near = max(near, EDITIONS) if known.source.kind == "derived" else near
    if claim.field in COUNTS or claim.field == "memory_bytes" or not isinstance(value, float):
        return False
    return all(isinstance(v, Number) and alike(v.value, value, near) for v in claim.values)


def _counts_bits(claim: Claim) -> bool:
    """Whether the digits are right and the unit says bits: "456 Gb/s"."""
    return claim.field.endswith("_bytes_per_s") and IN_BITS.search(claim.stated) is not None


def _finding(claim: Claim, verdict: Verdict, text: Around) -> Finding:
    kind: Kind | None = None
    explanation = ""
    best, source = _best(claim)
    if verdict == "contradicts" and _counts_bits(claim) and agrees(claim):
        kind, explanation = "unit", "right digits, in bits: a byte has eight"
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
