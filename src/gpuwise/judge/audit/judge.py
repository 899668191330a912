"""Judge claims by the catalog: agrees, contradicts (and how), differs from one source, cannot tell.

An accusation needs a sure reading, no variant and no form under which the text is right, and two
witnesses: independent sources, a computation from units and clocks, or a known way in which just this
wrong figure comes about (digits swapped, the sparse rate, another variant's value).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from math import inf, nan

from gpuwise.facts import catalog
from gpuwise.judge.audit import agree, evidence, explain
from gpuwise.judge.audit.agree import ROUNDED, agrees, evidence_of, gpus_with, numbers_of, same, states
from gpuwise.judge.audit.cells import FORMATS, IN_SUM, POINTED, SUMMED, WHOLE, in_thousands
from gpuwise.judge.audit.evidence import alike
from gpuwise.judge.audit.explain import SHARED, TAKEN_FOR_OTHER, UNTELLING, Around, mechanism
from gpuwise.judge.audit.grid import GRID
from gpuwise.judge.audit.words import COUNTS, FIELDS, IN_BITS, OF_BUS
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
OF_MEMORY = frozenset({"memory_bytes_per_s", "memory_bus_bits"})
# What programs measure, rates of arithmetic apart.
MEASURED = frozenset({"memory_bytes_per_s", "link_bytes_per_s", "power_w", "boost_hz", "base_hz", "core_hz"})
NOT_JUDGED = frozenset({"price", "peak:"})
# How far a round ratio ("twice") may be off.
RATIO = 0.2
# What NVIDIA's Dynamic Boost adds at most to the power that a laptop's maker sets.
DYNAMIC_BOOST_W = 25
# Of its rates a laptop's GPU has so much at the lowest power that makers set (RTX 3000: 4.7 of 6.4).
SLOWED = 0.7
# And its memory so much more (RTX 3000: 336 of 288 GB/s), and its clock at the highest power (RTX 3050 Ti:
# 1695 of the 1035 MHz that databases print).
FASTER, BOOSTED = 1.2, 1.65
# A ratio that is off by less is nobody's error.
APART = 0.15
# The same of a percentage, which has so many digits.
PERCENT, APART_PERCENT = 3, 0.09
# So many times a memory's rate is that of a cache, or of several GPUs.
CACHED = 8.0
# GPUs of the systems that are sold, and how near a sum of theirs is, which sheets round.
SYSTEMS, OF_SYSTEM = (8, 16, 36, 72), 0.015
# Of its memory a GPU leaves a program so much.
USABLE = 0.92
# Of so many GPUs a field that stands alike on lines is right, and so many times as often as it is wrong.
ROWS, MOST_RIGHT = 4, 3
OF_CELLS = ("memory_bytes", "memory_type")
# And the bits that find errors in GDDR memory leave so much: 15 GB of 16.
WITH_ECC = 15 / 16
# Bytes/s between the two chips of a superchip (NVLink-C2C).
TO_PROCESSOR = 900e9
# Makers of consumers' cards set clocks so many times the reference's; beyond CPU times it is a processor's.
OVERCLOCKED, CPU = 1.07, 1.45
# Megabytes of which the memory of every GPU is a multiple.
WHOLE_MB = 64
# How far the size that a driver reports may be from the one that is sold; and from how many times a GPU's
# memory on a size, of so many bytes or more, is that of the machine around it.
REPORTED, MACHINE, HOST = 0.02, 2.4, 150 * 2**30
# Relative difference beyond anything by which sources differ.
FAR = 0.25
# The same of buses and caches, which sources do not round.
WIDE = 0.15
# Nanometres up to which one process has names that are one apart.
FINE = 5
# Relative difference up to which a figure may be of another edition of the sheet, or was rounded twice.
EDITIONS = 0.04
# Prices in euros beside those in dollars; since when peaks are stated at the boost clock alone; how near one
# at the base clock, which is computed and rounded, is.
TAXED, AT_BOOST, AT_BASE = 1.45, "2018", 0.006
OF_SUPERCHIP, OF_MAKER = frozenset({"memory_bytes", "memory_bytes_per_s"}), ("architecture", "chip")
# The same of a figure that is another variant's: clocks of one chip differ by so much.
VARIANTS = 0.045
# A figure that is so many times the known one, or less, and of no known kind of error is of something else.
OTHER = 10.0
# Fields in which products differ by more.
OF_WIDTH = frozenset({"memory_bus_bits", "l2_bytes"})
# How near once or twice the FP32 rate a 16-bit rate of the ordinary cores is, at whichever clock.
VECTOR = 0.07
ONCE = re.compile("GA10[2-9]|AD10|GB20")
# Contradictions of one place that outnumber what agrees there: the reading is wrong, not the text.
MOSTLY = 4
# Claims of a group that must agree, and as many as contradict, for a contradiction to be sure.
LEAST = 2
# Claims of one row that only one of several variants explains: the row speaks of that one.
DISTINCT = 2
# A text about something else mentions GPUs in passing. A claim is accused only where at least COMPANY other
# claims within NEARBY lines are right; sizes of memory count in tables only, since they stand beside names of
# GPUs in any text. It takes 2 false
# accusations of 3 in whole documents, 1 true one of 300 in pages about GPUs.
COMPANY, NEARBY = 2, 12
# A text of so many lines is not the sheet of one GPU: it describes the machine around the card, too.
SHEET_LINES = 40
# What nothing but a card has, so that also a text about something else says it of one.
OF_CARDS = frozenset({"memory_bytes_per_s", "memory_bus_bits", "memory_type", "tensor_cores", "rt_cores"})
PLAIN = (*TAKEN_FOR_OTHER, "digit swap", "full die for product")  # No other meaning explains them
_EURO = re.compile(r"\u20ac|\beur", re.IGNORECASE)
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
    claims = _narrowed([_said_plainly(claim) for claim in claims if not claim.than])
    claims = _of_launch_prices(claims)
    systems = _of_systems(claims)
    claims = _summed(claims)
    verdicts = [_verdict(claim) for claim in claims]
    judged = list(zip(claims, verdicts, strict=True))
    text = Around(claims, [claim for claim, verdict in judged if verdict == "contradicts"])
    # Where more is wrong than right it is the reading that fails: columns that moved, another GPU meant. But
    # values with their units in their cells cannot have moved unseen.
    places: dict[object, Counter[str]] = defaultdict(Counter)
    # A figure that a text repeats counts once.
    once = {(c.block >= GRID and n, c.gpu_ids, c.field, c.stated): (c, v) for n, (c, v) in enumerate(judged)}
    for claim, verdict in once.values():
        places[claim.block // GRID, claim.field][verdict] += 1
        if verdict == "contradicts" and (text.mechanism(claim) or ("",))[0] in TAKEN_FOR_OTHER:
            # A rate of the other kind is read right: of just this GPU and format.
            places[_failing(claim)]["agrees"] += 1
            continue
        near = claim.field != "power_w" and any(_is_within(claim, k, EDITIONS) for k in evidence_of(claim))
        if verdict == "contradicts" and near:
            # So near the right value the reading did not fail; but power near it may be what was drawn.
            continue
        united = verdict == "contradicts" and _UNIT.search(claim.stated)
        for key in (_failing(claim), claim.group):
            places[key].update((verdict, "united") if united else (verdict,))
    # A sentence that states the right value, too, speaks of two things: what is stated and what is reached.
    said = Counter(_said(c) for c in claims)
    right = {_said(c) for c, v in judged if c.sure and v == "agrees"}
    agreed: dict[int, set[tuple[str, tuple[str, ...], int]]] = defaultdict(set)
    for claim, verdict in judged:
        if verdict == "agrees" and (claim.field != "memory_bytes" or claim.block >= GRID):
            for place in (claim.line, -(claim.block // GRID) or claim.line):
                agreed[place].add((claim.field, claim.gpu_ids, claim.line))
    last = max((claim.line for claim in claims), default=0)

    # A field that stands alike on a line of each of several GPUs, as in a program's objects, is a column.
    on_line: dict[int, set[tuple[tuple[str, ...], str]]] = defaultdict(set)
    for claim in claims:
        on_line[claim.line].add((claim.gpu_ids, claim.field))

    def column_of(claim: Claim) -> object:
        owners, fields = zip(*on_line[claim.line], strict=True)
        return (claim.field, frozenset(fields)) if len({*owners}) == 1 else None

    alike_on: dict[object, dict[str, set[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(set))
    for claim, verdict in judged:
        alike_on[column_of(claim)][verdict].add(claim.gpu_ids)

    def is_of_column(claim: Claim) -> bool:
        column = column_of(claim)
        right, wrong = (len(alike_on[column][verdict]) for verdict in ("agrees", "contradicts"))
        return claim.block >= GRID or (column is not None and right >= max(ROWS, MOST_RIGHT * wrong))

    def is_whole(claim: Claim) -> bool:
        return claim.line <= NEARBY and last <= claim.line + NEARBY

    def in_passing(claim: Claim) -> bool:
        lines = (-(claim.block // GRID), *range(max(claim.line - NEARBY, 1), claim.line + NEARBY + 1))
        # In a table a field that agrees in two rows counts twice: each shows that the columns are read right.
        parts = 3 if claim.block >= GRID else 2
        beside = {one[:parts] for n in lines for one in islice(agreed.get(n, ()), COMPANY + 1)}
        few = len(beside - {(claim.field, claim.gpu_ids)}) < COMPANY  # one may be its own
        rare = is_whole(claim) or claim.field in OF_CARDS or (claim.block < GRID and is_of_column(claim))
        # "A: 1,000 cores, B: 2,000": what is right of B shows how A's is read.
        rare |= any(f == claim.field and ids != claim.gpu_ids for f, ids, _ in agreed[claim.line])
        return few and not (rare or text.explain(claim)[0] in PLAIN)

    outside = {
        (c.block, c.gpu_ids) for c, v in judged
        if c.field == "memory_bytes" and c.block >= GRID and v == "cannot tell" and c.sure
        and any(alike(n, size * 2**30, agree.FEW_CLOSE) for n in numbers_of(c.values) for i in c.gpu_ids
                for size in catalog.sizes_outside(i))
    }  # fmt: skip
    # Of a sheet, whose every claim is of one GPU, no other one can be the owner.
    sheet = _is_sheet(claims) and not _is_of_another(claim for claim, v in judged if v == "contradicts")
    several = len({claim.gpu_ids for claim in claims}) > 1
    mixed = _of_lost_columns(claims)
    sizes = {(c.line, c.gpu_ids, c.stated, c.block >= GRID) for c in claims if c.field == "memory_bytes"}
    doubted: list[int] = []
    wrong_of: dict[object, set[tuple[float, ...]]] = defaultdict(set)
    # Where of the fields that stand near each other more are wrong of a GPU than right, they are of another
    # product: one named before that the catalog lacks, or one that a sentence goes on about.
    strange: dict[tuple[str, int], set[tuple[str, Verdict]]] = defaultdict(set)
    for claim, verdict in judged:
        if claim.block < GRID and verdict == "contradicts" and text.explain(claim)[0] in PLAIN:
            # Digits swapped, the base clock: read right, of just this GPU.
            continue
        if claim.block < GRID and verdict in ("agrees", "contradicts"):
            for gpu_id in claim.gpu_ids:
                strange[agree.product(gpu_id), claim.line].add((claim.field, verdict))
        elif verdict == "contradicts" and (figures := numbers_of(claim.values)):
            wrong_of[_column(claim)].add(tuple(figures))

    def is_of_line(claim: Claim) -> bool:
        """Whether a line of text speaks of this GPU alone, and rightly of another field."""
        right = {ids for field, ids, _ in agreed[claim.line] if field != claim.field}
        return len({ids for ids, _ in on_line[claim.line]}) == 1 and claim.gpu_ids in right

    def is_of_stranger(claim: Claim) -> bool:
        lines = range(claim.line - NEARBY, claim.line + NEARBY + 1)
        own = {*map(agree.product, claim.gpu_ids)}
        near = {one for line in lines for it in own for one in strange.get((it, line), ())}
        wrong = {field for field, verdict in near if verdict == "contradicts"}
        right = {field for field, verdict in near if verdict == "agrees"}
        plain = claim.block >= GRID or text.explain(claim)[0] in PLAIN
        least = 1 + (bool(right) or is_whole(claim))
        return not plain and len(wrong) > max(least, len(right))

    for place, (claim, verdict) in enumerate(judged):
        if verdict != "contradicts":
            continue
        here, group, kind = places[_failing(claim)], places[claim.group], text.explain(claim)[0]
        trust = 2 if here["united"] == here["contradicts"] else 1
        failed = _failing(claim) and here["contradicts"] > max(here["agrees"] * trust, MOSTLY - 1)
        # Of a table below an unsure heading more must agree than of sentences.
        many = 2 if claim.block >= GRID else 1
        least = many * max(LEAST, group["contradicts"])
        # Shops' prices are the ones at launch by chance, too.
        least = MOST_RIGHT * group["contradicts"] if claim.group == "prices" else least
        weak = kind != "digit swap" and claim.group and group["agrees"] < least
        known, stated = numbers_of(k.value for k in evidence_of(claim)), numbers_of(claim.values)
        plain = claim.block >= GRID and kind in PLAIN
        # In a sentence the second value may be of something else; two cells of one row are of one GPU.
        within = kind in ("internal contradiction", "other variant")
        cells = claim.block >= GRID and within and claim.field in OF_CELLS
        besides = not (plain or cells) and not claim.of_any and _said(claim) in right
        # Of two rates under one mark the smaller is the dense one: "362 / 724*".
        besides |= kind == "dense as sparse" and said[_said(claim)] > 1
        # So far from every known value something else is counted: what a job asks for, images a second.
        # A rate without a unit may be of images, or in the unit of another cell.
        bare = claim.field.startswith("peak:") and not _UNIT.search(claim.stated)
        # But not what another GPU has, in a table that states the field rightly of most.
        of_field = places[claim.block // GRID, claim.field]
        clock = claim.field.endswith("_hz") and not (claim.block >= GRID and of_field["agrees"])
        most = CPU if clock and "GHz" in claim.stated else OTHER
        else_ = bool(known and stated) and not claim.total and claim.field not in OF_WIDTH and (
            kind != explain.NEIGHBOUR or of_field["agrees"] < MOST_RIGHT * of_field["contradicts"]
        ) and (
            not any(1 / OTHER < v / (claim.count * k) <= most for v in stated for k in known if k)
            and not (claim.field in COUNTS and any(agree.is_slip(v, k) for v in stated for k in known))
            and (bare or kind in UNTELLING)
        )  # fmt: skip
        # A column that states several wrong figures of one GPU holds what was measured, or paid, of it.
        measured = len(wrong_of[_column(claim)]) > 1
        # What a text of several GPUs states rightly elsewhere, it states here of another one that has it more
        # often than wrongly: of 42 such accusations in 200 documents 29 were false.
        # The head of a row or column says whose a value is; in lists not of peaks: there are several.
        twice, peak = kind == "internal contradiction", claim.field.startswith("peak:")
        owned = twice and is_of_column(claim) and (claim.block >= GRID or not peak)
        # So does a sheet of one GPU, in which either statement stands, or a line, right but for it.
        of_sheet = twice and not (owned or peak) and (text.is_of_sheet(claim) or is_of_line(claim))
        unowned = several and twice and not (owned or of_sheet) and (claim.of_any or text.is_of_any(claim))
        passing = (is_of_stranger(claim) or in_passing(claim)) and not of_sheet
        # The bandwidth is unknown of a card whose memory size the catalog lacks: an H20 with 141 GB.
        foreign = claim.field in OF_MEMORY and (claim.block, claim.gpu_ids) in outside
        foreign |= claim.block < GRID and claim.field in OF_MAKER and _is_of_other_maker(claim)
        unsure = failed or weak or passing or text.is_of_other(claim) or foreign
        lost = (claim.gpu_ids, claim.field) in mixed
        # What another one has, or one of them under another name, may be meant of that one alone; so may the
        # figure of a neighbour of which the text states none, where it states the right one of this GPU.
        beside = kind == explain.NEIGHBOUR and text.is_given_to_other(claim)
        of_one = beside or (claim.several and kind in (*TAKEN_FOR_OTHER, explain.NEIGHBOUR))
        # A size behind the name that stands in a cell, too, is of a variant that the catalog lacks.
        size = (claim.line, claim.gpu_ids, claim.stated)
        of_one |= {(*size, True), (*size, False)} <= sizes
        if besides or else_ or unowned or measured or lost or of_one or (unsure and not sheet):
            verdicts[place] = "cannot tell"
            doubted.append(place)
        elif not _is_witnessed(claim, text):
            verdicts[place] = "differs"
    found = [_finding(c, v, text) for c, v in zip(claims, verdicts, strict=True)]
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
                found[n] = c if agrees(c) or (new and min(numbers_of(c.values)) > _most(c)) else found[n]
    return found


def _is_sheet(claims: Sequence[Claim]) -> bool:
    """Whether a short text states several fields of one GPU and nothing of any other."""
    lines = [claim.line for claim in claims] or [0]
    fields = {claim.field for claim in claims if claim.sure}
    one = len({claim.gpu_ids for claim in claims}) == 1 and not any(claim.several for claim in claims)
    return one and len(fields) >= explain.SHEET and max(lines) - min(lines) < SHEET_LINES


def _of_lost_columns(claims: Sequence[Claim]) -> set[tuple[tuple[str, ...], str]]:
    """The GPUs and fields of tables that lost columns: in several fields two values beside each other."""
    last: dict[tuple[object, ...], Claim] = {}
    doubled: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for claim in claims:
        key = (claim.gpu_ids, claim.field, claim.sparse)
        before = last.get(key, claim)
        if before.values != claim.values and claim.line - before.line <= 1:
            doubled[claim.gpu_ids].add(claim.field)
        last[key] = claim
    return {(ids, f) for ids, fields in doubled.items() if len(fields) >= MOSTLY for f in fields}


def _is_of_other_maker(claim: Claim) -> bool:
    """Whether only GPUs of another maker have it: "not far behind Nvidia's Blackwell Ultra GPUs"."""
    makers = {catalog.get(i).vendor for i in gpus_with(claim.field, claim.values)}
    return bool(makers) and makers.isdisjoint(catalog.get(i).vendor for i in claim.gpu_ids)


def _is_of_another(wrong: Iterable[Claim]) -> bool:
    """Whether all that is wrong is right of one other product: the name may be the wrong one."""
    claims = [claim for claim in wrong if claim.field not in SHARED]
    own = {sibling for claim in claims[:1] for i in claim.gpu_ids for sibling in (i, *agree.family(i))}
    having = [gpus_with(claim.field, claim.values) for claim in claims]
    return bool(having and frozenset.intersection(*having) - own)


def _failing(claim: Claim) -> tuple[object, ...]:
    """The place of claims that are doubted together; none for what a table states of a product: its layout
    says whose it is, however much is wrong, but what programs measure is below what the GPU is rated at."""
    measured = claim.field.startswith("peak:") or claim.field in MEASURED
    if claim.block < GRID:
        return claim.block, claim.gpu_ids
    return (-(claim.block // GRID), ()) if measured else ()


def _column(claim: Claim) -> tuple[object, ...]:
    """What the claims of a table about one field of one GPU have alike."""
    return claim.block // GRID, claim.gpu_ids, claim.field, claim.sparse


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


def _of_systems(claims: Sequence[Claim]) -> dict[int, int]:
    """The claims of tables that state of one GPU what a system of so many has, by their places: figures of a
    row are one multiple, and the text gives the memory of other GPUs, or of these, for one."""
    rows, of_one = defaultdict[tuple[int, object], dict[int, Claim]](dict), set[tuple[object, str]]()
    for n, c in enumerate(claims):
        plain = c.block >= GRID and c.count == 1 == len(c.values) and c.sure and not (c.several or c.total)
        own = (mechanism(c) or ("",))[0] in TAKEN_FOR_OTHER
        if not plain or c.field not in (*OF_SUPERCHIP, *FORMATS) or own or agrees(c):
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
    if not known or silent or several or not claim.sure or together or of_chip or claim.field in BY_MAKER:
        return "cannot tell"
    # The figure of any variant of the name, in whichever form it is printed, may be what is meant.
    disputed = any(_is_disputed(claim, stated, k) for k in known for stated in claim.values)
    # Of "148 / 152 SMs" one is right: the other is of an edition that the catalog lacks.
    disputed |= len(claim.values) > 1 and any(same(claim, v, k.value) for v in claim.values for k in known)
    # "It has 3,600 cores", of 3,584
    round_ = claim.block < GRID and claim.field in WHOLE and agrees(replace(claim, approximate=True))
    disputed |= round_ and all(
        isinstance(v, Number) and v.digits <= agree.FEW and v.value >= 1000 for v in claim.values
    )
    other = _LEAST.search(claim.stated) is not None or _is_other_rate(claim) or _is_option(claim)
    other = other or _is_stated_otherwise(claim)
    return "cannot tell" if disputed or other else "contradicts"


def _has_no_link(gpu_id: str, field: str) -> bool:
    """Whether a variant has no rate of a link because it has none: the V100 PCIe."""
    return field == "link_bytes_per_s" and any(k.value == "no" for k in evidence.of(gpu_id, "link"))


def _is_option(claim: Claim) -> bool:
    """Whether the value is that of another option: a smaller unified memory, the chip in a superchip, or a
    chip of the same generation, which sources name differently (GK110B and GK180)."""
    if claim.field == "chip":
        # Kepler's chips have two names.
        return any(i[0] == "k" for i in claim.gpu_ids)
    if claim.several and claim.block >= GRID and claim.field in (*SUMMED, "power_w"):
        # "5070 Ti + 7900 XT | 36 GB": what they have together.
        return min(numbers_of(claim.values), default=0.0) > _most(claim) > 0
    if claim.field in ("cuda_cores", "stream_processors", "shading_units"):
        # Of RDNA 3 each lane issues two operations at once, and is counted as two.
        double = all((catalog.get(i).architecture or "").startswith("RDNA 3") for i in claim.gpu_ids)
        return double and states(replace(claim, count=1), 2 * _most(claim))
    soc = all(catalog.get(i).text("form") == "soc" for i in claim.gpu_ids)
    if claim.field == "memory_bus_bits":
        # "Llama 3 in 4 bits" is of a model, 64 bits beside processor cores are of these.
        return min(numbers_of(claim.values)) < OF_BUS * (3 if soc else 1)
    superchip = all(i in ("gb200", "gb300") for i in claim.gpu_ids)
    if claim.field == "power_w" and (soc or superchip):
        # More is of the computer around it, 2,700 W of both chips of a GB200 and their processor.
        return min(numbers_of(claim.values)) > _most(claim) * (1 + superchip)
    if claim.field == "memory_bytes" and claim.is_range:
        # "9-10 GB" is what something takes.
        return True
    consumer = any(catalog.get(i).text("segment") == "consumer" for i in claim.gpu_ids)
    if claim.field == "memory_bytes":
        sizes = numbers_of(k.value for k in evidence_of(claim))
        ratios = [v / size for v in numbers_of(claim.values) for size in sizes]
        # What a program finds of it or takes ("79.15 GiB", "15114 MB", "46068 MiB" where ECC takes some), and
        # what so many times as much is of: the machine.
        odd = re.search(r"\d ?MB", claim.stated) and any(
            v > 2**30 and v / 2**20 % WHOLE_MB for v in numbers_of(claim.values)
        )
        finds = bool(odd) and max(ratios, default=2.0) <= 1
        if claim.total:
            # Several have more than one: what is less is of something else.
            return finds or max(ratios, default=1.0) < 1
        # Some programs count in decimal GB: the 40 GiB of a card are 42.9.
        fraction = re.search(r"\.\d+ ?G", claim.stated) is not None
        finds |= fraction and max(ratios, default=2.0) <= agree.DECIMAL["memory_bytes"]
        finds = finds or ("MiB" in claim.stated and any(USABLE <= ratio <= 1 for ratio in ratios))
        finds = finds or (not consumer and any(alike(ratio, WITH_ECC, agree.CLOSE) for ratio in ratios))
        much = bool(ratios) and min(numbers_of(claim.values)) > HOST and min(ratios) > MACHINE
        machine = much and mechanism(claim) is None
        # Between what one is sold by and what it has left: 186 GB of a B200 of 192.
        between = len(claim.gpu_ids) == 1 and min(ratios, default=2.0) <= 1 <= max(ratios, default=0.0)
        if finds or machine or between or any(alike(ratio, 1, REPORTED) for ratio in ratios):
            return True
    if claim.field == "memory_bytes" and soc:
        return max(numbers_of(claim.values)) <= _most(claim)
    if claim.field == "link_bytes_per_s":
        # What the slot carries, both ways or one: a label "Interconnect" says not which is meant.
        # A superchip's link to its processor has a rate of its own.
        if any(i.startswith(("gb200", "gb300", "gh200")) for i in claim.gpu_ids):
            return any(v == TO_PROCESSOR for v in numbers_of(claim.values))
        slots = [2**known for i in claim.gpu_ids if (known := catalog.get(i).number("pcie_generation"))]
        return any(v in (2e9 * slot, 4e9 * slot) for v in numbers_of(claim.values) for slot in slots)
    # NVL cards are sold in pairs, and superchips hold two, whose figures texts add up.
    if all("-nvl" in i for i in claim.gpu_ids) and claim.field in ("memory_bytes", "memory_bytes_per_s"):
        pairs = numbers_of(k.value for k in evidence_of(claim))
        return any(states(claim, 2 * value) for value in pairs)
    if superchip and (claim.field in OF_SUPERCHIP or claim.field.startswith("peak:")):
        alone = tuple({i for gpu_id in claim.gpu_ids for i in (gpu_id, *agree.twins_of(gpu_id))})
        halves = numbers_of(k.value for k in evidence_of(replace(claim, gpu_ids=alone), fitting=False))
        if any(same(claim, stated, 2 * half) for half in halves for stated in claim.values):
            return True
    if claim.field == "memory_type":
        # HBM2e is called HBM2, too; and DDR4 is the machine's.
        # "DDR5" for GDDR5X: only its letters are wrong.
        cards = {str(k.value).upper() for k in evidence_of(claim)}
        main = all(re.fullmatch(r"DDR[345]", str(v)) and f"G{v}X" not in cards for v in claim.values)
        later = all(str(k.value).upper() == "HBM2E" for k in evidence_of(claim))
        return main or (claim.values == ("HBM2",) and later)
    if _is_of_laptop(claim):
        return True
    if claim.field.endswith("_hz") and (mechanism(claim) or ("other variant",))[0] == "other variant":
        # Between its base and its boost clock a card has a game clock, and those of its makers.
        for spec in map(catalog.get, claim.gpu_ids):
            low, high = spec.number("base_hz"), spec.number("boost_hz")
            most = OVERCLOCKED if consumer else 1 + EDITIONS
            if low and high and (consumer or spec.vendor != "NVIDIA"):
                least = high if spec.vendor == "NVIDIA" else low
                # A figure called the base clock is not excused as a game clock. For RDNA 3, AMD publishes no
                # base clock, only databases do, so there it may be one.
                based = claim.field == "base_hz" and not str(spec.architecture).startswith("RDNA 3")
                top = low if based and least == low else high
                return all(least <= value <= most * top for value in numbers_of(claim.values))
    # GB200 and B200, GH200 and H200 are printed for each other.
    if claim.field != "memory_bytes" and not claim.field.startswith("peak:"):
        return False
    own = {*map(agree.product, claim.gpu_ids)}
    twins = {o for gpu_id in claim.gpu_ids for o in agree.twins_of(gpu_id) if agree.product(o) not in own}
    if claim.field == "memory_bytes":
        # A superchip with the memory of its chip, not the chip with that of the superchip.
        chip = any(i[0] != "g" for i in claim.gpu_ids)
        return not chip and any(agrees(replace(claim, gpu_ids=(other,))) for other in twins)
    theirs = evidence_of(replace(claim, gpu_ids=tuple(twins)))
    return any(states(claim, value) for k in theirs for value in (k.value, *k.alternatives))


def _is_stated_otherwise(claim: Claim) -> bool:
    """Whether a figure is the known one as others count it: a price in euros, a peak at the base clock."""
    values, known = numbers_of(claim.values), numbers_of(k.value for k in evidence_of(claim))
    if claim.field == "launch_price_usd" and _EURO.search(claim.stated):
        # They hold a tax, and rates differ.
        return all(1 / TAXED < v / price < TAXED for v in values for price in known)
    if claim.field != "peak:fp32":
        return False
    old = [s for s in map(catalog.get, claim.gpu_ids) if (s.text("launch") or "") < AT_BOOST]
    clocks = [(s.number("base_hz"), s.number("boost_hz")) for s in old]
    peaks = [low / high * peak for low, high in clocks if low and high for peak in known]
    return any(alike(v, peak, AT_BASE) for v in values for peak in peaks)


def _is_of_laptop(claim: Claim) -> bool:
    """Whether a rate or a clock is one that a laptop's GPU has at a lower power, a memory rate that of slower
    or faster chips, which a workstation's has, or a rate that of a unified chip with fewer cores."""
    rate = claim.field.startswith("peak:")
    memory = claim.field in ("memory_bytes_per_s", "memory_transfers_per_s")
    if not rate and not memory and claim.field not in ("boost_hz", "core_hz", "texels_per_s", "pixels_per_s"):
        return False
    laptops = tuple(i for i in claim.gpu_ids if catalog.get(i).text("form") == "laptop")
    claim = replace(claim, gpu_ids=laptops or claim.gpu_ids)
    if memory and (
        mechanism(claim) or any(catalog.get(i).text("segment") == "consumer" for i in claim.gpu_ids)
    ):
        return False
    forms = {catalog.get(i).text("form") for i in claim.gpu_ids}
    plain = replace(claim, field="peak:fp32")
    ways = [(claim, 1), *([(plain, 1), (plain, 2)] if claim.field in ("peak:fp16", "peak:bf16") else ())]
    known = [n * k for one, n in ways for k in numbers_of(k.value for k in evidence_of(one))]
    faster = memory or claim.field.endswith("els_per_s")
    most = FASTER if faster else BOOSTED if forms == {"laptop"} else 1.0
    return (forms == {"laptop"} or (rate and forms == {"soc"})) and all(
        any(SLOWED * k <= v <= most * k for k in known) for v in numbers_of(claim.values)
    )


def _most(claim: Claim) -> float:
    """The largest known value of the field; 0 where there is none."""
    return max(numbers_of(k.value for k in evidence_of(claim)), default=0.0)


def _is_disputed(claim: Claim, stated: Number | str, known: evidence.Evidence) -> bool:
    """Whether another source has the stated value, or one on the other side of it."""
    times, near = (claim.count, ROUNDED) if claim.total else (1, agree.CLOSE)
    others: Sequence[float | str] = known.alternatives
    if claim.total and isinstance(known.value, float):
        # Sums are of the usual product, in any edition: not of one with less memory that few ever saw.
        others = [o for o in others if isinstance(o, float) and alike(o, known.value, APART)]
    # What is far from it (the rate of a cache) is of something else: only just that figure is disputed.
    span = numbers_of((known.value, *others))
    if claim.field == "memory_bytes_per_s":
        span = [value for value in span if alike(value, span[0], FAR)]
    if known.low is not None:
        # Dynamic Boost alone is 15 to 25 W, too.
        span += [known.low, max(span) + DYNAMIC_BOOST_W]
        if isinstance(stated, Number) and stated.value <= DYNAMIC_BOOST_W:
            return True
    # What lies between two figures that sources give for one product is not known to be wrong.
    one = stated.value / times if isinstance(stated, Number) else nan
    ranges = len(span) > 1 and claim.field not in {*COUNTS, "memory_bytes"}
    exact = claim.total or claim.field == "power_w"
    return (ranges and min(span) * (1 - near) <= one <= max(span) * (1 + near)) or any(
        alike(one, o, near) if exact and isinstance(o, float) else same(claim, stated, o) for o in others
    )


def _is_other_rate(claim: Claim) -> bool:
    """Whether a rate may be one that the text does not name: of another format, or of the ordinary cores."""
    formats = {"peak:tensor": ("fp8", "fp4"), "peak:fp16": ("fp32",), "peak:bf16": ("fp32",)}.get(
        claim.field, ()
    )
    rates = numbers_of(k.value for i in claim.gpu_ids for f in formats for k in evidence.of(i, f"peak:{f}"))
    values = numbers_of(claim.values)
    if claim.field == "memory_bytes_per_s":
        # The rate of the GPU's own link, in a cell or sentence that names neither.
        links = numbers_of(k.value for i in claim.gpu_ids for k in evidence.of(i, "link_bytes_per_s"))
        cached = min(values, default=0.0) > CACHED * _most(claim)
        # And what is in bits, without the digits of the memory's, is a network's.
        cached = (cached or _counts_bits(claim)) and claim.block < GRID and mechanism(claim) is None
        return cached or any(alike(v, link / n, ROUNDED) for v in values for link in links for n in (1, 2))
    if claim.field == "peak:tensor":
        # The text does not name the format. Formats of 8 bits and fewer are advertised by their sparse rate,
        # so that counts, too; of wider ones only the dense rate. A rate in FLOPS is not of INT8.
        narrow = ("fp8", "fp4") if "FL" in claim.stated.upper() else ("fp8", "fp4", "int8")
        rates = [
            rate * times
            for name in ("fp16", "bf16", "tf32", *narrow)
            for known in (k for i in claim.gpu_ids for k in evidence.of(i, f"peak:{name}"))
            if name in narrow or known.form != "sparse"
            for rate in numbers_of([known.value])
            for times in ((1, 2) if name in narrow else (1,))
        ]
        # Of rates in TOPS the wider formats say nothing.
        known = {f for f in narrow for i in claim.gpu_ids if evidence.of(i, f"peak:{f}")}
        silent = "FL" not in claim.stated.upper() and not known
        return silent or not rates or any(alike(value, rate, APART) for value in values for rate in rates)
    # What a machine of eight does or draws is often printed beside the name of one.
    sums = [8 * _most(claim)] if claim.field.startswith("peak:") else []
    if claim.field == "power_w":
        each = numbers_of(k.value for k in evidence_of(claim))
        sums = [n * watts for watts in each for n in (4, 8) if n * watts > 2 * max(each)]
    machine = any(alike(v, n, agree.ROUGH) for v in values for n in sums) and mechanism(claim) is None
    # Since Ampere the ordinary cores of cards compute FP16 no faster than FP32.
    once = all(ONCE.match(catalog.get(i).text("chip") or "") for i in claim.gpu_ids)
    times = (1, 2, 4) if {*claim.gpu_ids} <= {"gb200", "gb300"} else (1,) if once else (1, 2)
    return machine or any(alike(v, n * rate, VECTOR) for v in values for rate in rates for n in times)


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
    if any(_is_within(claim, known, near) for known in evidence_of(claim)):
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


def _is_within(claim: Claim, known: evidence.Evidence, near: float) -> bool:
    """Whether all values of a claim lie so near a known one that editions differ as much."""
    value = known.value
    # What is computed from a clock is as far off as the clock is.
    near = max(near, VARIANTS) if known.source.kind == "derived" else near
    if claim.field in COUNTS or claim.field == "memory_bytes" or not isinstance(value, float):
        return False
    # Areas and rates per pin are measured and sold to the last digit.
    near = min(near, ROUNDED) if claim.field in ("die_area_m2", "memory_transfers_per_s") else near
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
