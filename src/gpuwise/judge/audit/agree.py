"""Compare the values of a claim with what is known of its GPUs, allowing for rounding and spelling.

Used by verdicts (`judge`) and explanations (`explain`): is a value the known one, does evidence support all
values, are they those of another product, and which products are variants, twins or neighbours of a GPU?
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, lru_cache
from math import floor, log10

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.evidence import alike
from gpuwise.judge.audit.words import ABILITIES, COUNTS, CUES, IN_BITS
from gpuwise.model.judgement import Claim, Number

# Relative difference of one figure printed by two vendors' pages: 1792 and 1800 GB/s.
CLOSE = 0.006
# How far rounding to few digits may lead: 1.2 TB/s for 1.2288.
ROUNDED = 0.025
# The same where no more than one decimal, or one digit of a large unit, is printed: 0.3 TB/s for 0.32.
COARSE = 0.17
# With few digits, or in the numbers that products are sold by, a little more than CLOSE: 750 for 756, 192 GB.
FEW, FEW_CLOSE = 2, 0.01
# Databases differ by so much in the clocks of one card.
CLOCKS = 0.015
# Digits from which on a clock in MHz is printed to the last one.
EXACT_MHZ = 4
# For "about" and "nearly".
ROUGH = 0.05
# Relative differences: one that is larger than any rounding, and one that is larger than sources differ.
APART, FAR = 0.15, 0.25
# Relative difference up to which a figure may be of another edition of the sheet, or was rounded twice; and
# one that is another variant's: clocks of one chip differ by so much.
EDITIONS, VARIANTS = 0.04, 0.045
# Fields in which products differ by more than others.
OF_WIDTH = frozenset({"memory_bus_bits", "l2_bytes"})
# How many decimal units of bytes make one of the binary units that the catalog counts in.
DECIMAL = {"memory_bytes": 2**30 / 1e9, "l2_bytes": 2**20 / 1e6}
# The parts of an id that name a variant of one product: form factor and memory. A suffix such as -ti names
# another product.
_VARIANT = re.compile(r"-(?:pcie|sxm\d?|nvl|fhhl|laptop|maxq|sff|server|ws|passive|hbm3e?|gddr6x?|\d+gb)\b")
# Announcement, release and first delivery of one GPU lie this far apart; and how many months before and after
# the known date the year of a launch may be that of: of consumers' cards, and of those delivered later.
MONTHS = 8
AT_ONCE, DELIVERED = (0, 1), (2, 8)
# Chips that have two names.
_CHIPS = {
    "polaris10": "ellesmere", "polaris11": "baffin", "polaris12": "lexa",
    "acmg10": "dg2512", "acmg11": "dg2128", "acmg12": "dg2256",
}  # fmt: skip
# How near a figure must be to the one that it is taken to be.
LIKE = 0.011


def numbers_of(values: Iterable[Number | str | float]) -> list[float]:
    """The numbers among values that a claim states, or that are known."""
    plain = (value.value if isinstance(value, Number) else value for value in values)
    return [value for value in plain if not isinstance(value, str)]


def evidence_of(claim: Claim, *, fitting: bool = True) -> list[evidence.Evidence]:
    """All evidence about the GPUs that a claim may mean, in the form that it may state."""
    every = (known for gpu_id in claim.gpu_ids for known in evidence.of(gpu_id, claim.field))
    return [known for known in every if not fitting or fits_form(claim, known.form)]


def is_of_missing_format(claim: Claim) -> bool:
    """Whether a rate is of a format that none of the GPUs supports and for which no source states a rate; or
    one of NVLink on other GPUs, where none of these has NVLink."""
    link = claim.field == "link_bytes_per_s"
    ability = "link" if link else claim.field.replace("peak:", "matrix_")
    if claim.field == ability or ability not in ABILITIES:
        return False
    lacks = all(any(k.value == "no" for k in evidence.of(i, ability)) for i in claim.gpu_ids)
    if not lacks or any(evidence.of(i, claim.field) for i in claim.gpu_ids):
        return False
    others = {s.vendor for s in map(catalog.get, claim.gpu_ids) if s.text("segment") == "server"} - {"NVIDIA"}
    if link and others:
        # A card for servers of another maker has a link of its own, Infinity Fabric.
        return False
    # A rate that no NVLink has may be that of the slot or of a network.
    rates = {s.number("link_bytes_per_s") for s in catalog.all_gpus() if link and s.vendor == "NVIDIA"}
    return not link or rates.issuperset(numbers_of(claim.values))


def agrees(claim: Claim) -> bool:
    """Whether some evidence supports every value of the claim."""
    allowed = evidence_of(claim)
    if not allowed:
        return False
    known, stated = numbers_of(k.value for k in allowed), sorted(numbers_of(claim.values))
    if claim.is_range and len(stated) == 2 and any(stated[0] * 0.99 <= v <= stated[1] * 1.01 for v in known):
        return True
    # Of a thousand GB some make a TB, some of 1,024.
    n, ways = claim.count, (1, 1.024) if claim.total and "G" not in claim.stated else (1,)
    if n > 1 and any(alike(s / n, f * v, ROUNDED) for s in stated for v in known if v for f in ways):
        return True
    # One value of several ("600/700 W") may be a sibling's.
    others = {other for gpu_id in claim.gpu_ids for other in family(gpu_id)} if len(claim.values) > 1 else ()
    siblings = [k.value for other in others for k in evidence.of(other, claim.field)]
    values = [*(k.value for k in allowed), *siblings]
    if claim.field == "launch" and len({*map(product, claim.gpu_ids)}) == 1:
        # The years after are those of the first variant: a later one came in its own year, or month.
        dates, said = sorted(str(value) for value in values), {str(one)[:7] for one in claim.values}
        own = (date[:length] for date in dates for length in (4, 7) if date[:length] in said)
        values = [dates[0], *own]
    return all(any(same(claim, one, value) for value in values) for one in claim.values)


def is_within(claim: Claim, known: evidence.Evidence, near: float) -> bool:
    """Whether all values of a claim lie so near a known one that editions differ as much."""
    value = known.value
    # What is computed from a clock is as far off as the clock is.
    near = max(near, VARIANTS) if known.source.kind == "derived" else near
    if claim.field in COUNTS or claim.field == "memory_bytes" or not isinstance(value, float):
        return False
    # Areas and rates per pin are measured and sold to the last digit.
    near = min(near, ROUNDED) if claim.field in ("die_area_m2", "memory_transfers_per_s") else near
    return all(isinstance(v, Number) and alike(v.value, value, near) for v in claim.values)


def most_of(claim: Claim) -> float:
    """The largest known value of the field; 0 where there is none."""
    return max(numbers_of(k.value for k in evidence_of(claim)), default=0.0)


def counts_bits(claim: Claim) -> bool:
    """Whether the digits are right and the unit says bits: "456 Gb/s"."""
    return claim.field.endswith("_bytes_per_s") and IN_BITS.search(claim.stated) is not None


def wrong_values(claim: Claim) -> tuple[Number | str, ...]:
    """Those of the values that nothing known supports, in whichever form."""
    known = evidence_of(claim, fitting=False)
    return tuple(one for one in claim.values if not any(same(claim, one, k.value) for k in known))


def same(claim: Claim, stated: Number | str, known: float | str) -> bool:
    """Whether one stated value of the claim is the known one."""
    if isinstance(stated, str) or isinstance(known, str):
        # Cards for consumers are sold in the year in which they are announced, others often in the next one.
        at_once = all(catalog.get(i).text("segment") == "consumer" for i in claim.gpu_ids)
        return _is_same_text(claim.field, str(stated), str(known), at_once)
    if claim.field in COUNTS:
        # "More than 8,000 cores" are 8,704, "14k" 14,080, "over 2,000" 2,880.
        rounded = claim.approximate or CUES["in_thousands"].search(claim.stated)
        near = (COARSE if stated.digits == 1 else ROUGH) if rounded else 0.0
        unit = 10.0 ** (len(f"{known:.0f}") - stated.digits)
        cut = rounded and stated.value == known // unit * unit
        return cut or abs(stated.value - known) <= near * known
    decimal = claim.field == "memory_bytes" or "." in claim.stated
    if decimal and claim.field in DECIMAL and is_near(claim, stated, known * DECIMAL[claim.field]):
        # Product numbers are GiB on most cards and decimal GB on some; both count. Programs print both, too.
        return True
    # "141 GB (131 GiB)" is right of what its vendor counts in decimal GB.
    binary = claim.field == "memory_bytes" and "GiB" in claim.stated
    ways = (known, known / DECIMAL["memory_bytes"]) if binary else (known,)
    return any(is_near(claim, stated, one) for one in ways)


def is_near(claim: Claim, stated: Number, known: float) -> bool:
    difference = abs(stated.value - known) / known if known else abs(stated.value)
    few = stated.digits <= FEW or claim.field == "memory_bytes"
    clock = CLOCKS if claim.field.endswith(("_hz", "els_per_s")) and not _is_swapped(stated, known) else 0.0
    # "About 936" has three significant digits: only figures of fewer digits are taken as rounded.
    rough = ROUGH if claim.approximate and stated.digits <= FEW else 0.0
    if difference <= max(clock, rough, FEW_CLOSE if few else CLOSE):
        return True
    limit = COARSE if CUES["coarse"].search(claim.stated) else ROUNDED
    if not known or not stated.value or difference > limit:
        return False
    unit = 10.0 ** (floor(log10(abs(known))) + 1 - stated.digits)
    # 1.5 TB/s for 1.555 is truncated, not rounded; and a source may round to two digits what a text states.
    step = 10.0 ** (floor(log10(known)) - 1)
    rounded = ((round(known / unit) * unit, stated.value), (floor(known / unit) * unit, stated.value))
    return any(abs(a - b) <= 1e-6 * abs(b) for a, b in (*rounded, (round(stated.value / step) * step, known)))


def _is_swapped(stated: Number, known: float) -> bool:
    """Whether a clock printed to the last digit has the digits of the known one in another order."""
    ours, theirs = (digits_of(value / 1e6, 6) for value in (stated.value, known))
    return ours != theirs and stated.digits >= EXACT_MHZ and sorted(ours) == sorted(theirs)


def _is_same_text(field: str, stated: str, known: str, at_once: bool) -> bool:
    if field != "launch":
        # "RDNA" is said of each of its generations, and so is "GDDR".
        family = field in ("architecture", "memory_type") and (
            word(field, known).rstrip("0123456789x") == word(field, stated)
        )
        return word(field, stated) == word(field, known) or family
    if len(stated) == 4 == len(known):
        return abs(int(stated) - int(known)) <= 1
    if len(stated) == 4:
        month = int(known[:4]) * 12 + int(known[5:7]) - 1
        before, after = AT_ONCE if at_once else DELIVERED
        return (month - before) // 12 <= int(stated) <= (month + after) // 12
    if not re.match(r"20\d\d-\d\d", stated):
        return False
    # The middle of the year where the catalog has no month.
    later = known if len(known) > 4 else f"{known}-06"
    return abs((int(stated[:4]) - int(later[:4])) * 12 + int(stated[5:7]) - int(later[5:7])) <= MONTHS


@cache
def product(gpu_id: str) -> str:
    """The id without the form factor and the memory of a variant: `h100` for `h100-sxm5-80gb`."""
    return _VARIANT.sub("", gpu_id)


def is_slip(stated: float, known: float) -> bool:
    """Whether a count has the digits of the known one, but for one that is doubled, added or left out."""
    short, long = sorted((f"{stated:.0f}", f"{known:.0f}"), key=len)
    return len(short) > 3 and len(long) == len(short) + 1 and any(
        long[:n] + long[n + 1 :] == short for n in range(len(long))
    )  # fmt: skip


@lru_cache(maxsize=65536)
def digits_of(value: float, most: int) -> str:
    """The first digits of a number."""
    return re.sub(r"\D", "", f"{value:.{most}g}")


@cache
def _gpus_by_value(field: str) -> dict[float | str, list[str]]:
    found = defaultdict(list)
    for spec in catalog.all_gpus():
        for known in evidence.of(spec.id, field):
            found[known.value].append(spec.id)
    return found


@lru_cache(maxsize=65536)
def gpus_with(field: str, values: tuple[Number | str, ...]) -> frozenset[str]:
    """The GPUs of which one of the values is known."""
    return frozenset(
        gpu_id
        for known, gpu_ids in _gpus_by_value(field).items() if any(
            known == mine.value or equal(known, mine.value)
            if isinstance(mine, Number) and not isinstance(known, str)
            # "2017" is the year of a card of March 2017.
            else word(field, str(known)[: len(str(mine)) if field == "launch" else None])
            == word(field, str(mine))
            for mine in values
        )
        for gpu_id in gpu_ids
    )  # fmt: skip


def equal(a: float, b: float) -> bool:
    """Whether two figures are one figure, as copied."""
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b))


def states(claim: Claim, value: float | str) -> bool:
    """Whether the claim states this value, give or take its rounding."""
    near = 0 if claim.field in COUNTS else LIKE
    return any(
        abs(stated.value - value) <= near * abs(value)
        if isinstance(stated, Number) and not isinstance(value, str)
        else word(claim.field, str(stated)) == word(claim.field, str(value))
        for stated in claim.values
    )


@lru_cache(maxsize=65536)
def word(field: str, text: str) -> str:
    """What spellings of one name have in common: "CDNA (1)" and CDNA, Ada and Ada Lovelace, DDR6."""
    plain = re.sub(r"\.0$|[^a-z0-9]", "", text.casefold())
    if field == "architecture":
        plain = re.sub(r"^(blackwell).*", r"\1", plain.replace("lovelace", "").removeprefix("grace"))
        plain = {"alchemist": "xehpg", "battlemage": "xe2hpg", "xe2": "xe2hpg"}.get(plain, plain)
        return plain.removesuffix("1")
    if field == "chip":
        # GK110 and GK110B are one chip.
        plain = re.sub(r"(?<=\d)[a-z]$", "", plain)
        return _CHIPS.get(plain, plain)
    # LPDDR5X is called LPDDR5, too.
    return (
        re.sub(r"^ddr(?=[567])", "gddr", re.sub(r"(?<=^lpddr\d)x", "", plain))
        if field == "memory_type"
        else plain
    )


def fits_form(claim: Claim, form: evidence.Form) -> bool:
    """Whether a value of this form may be what the claim states."""
    if form in ("vector", "matrix"):
        return claim.vector == (form == "vector") and not (claim.sparse and form == "matrix")
    return form == "value" or (form == "sparse") == bool(claim.sparse)


# Steps along a line of numbers, since others lie in between (RTX A4500, MI308X), and along generations.
STEPS = (2, 1)


@cache
def next_to(gpu_id: str) -> tuple[str, ...]:
    """The products a step away in the range, but for variants of its own name: of the same line the next
    numbers, of the same tier the generations before and after. RTX 4060, 4080, 3070 and 5070 are next to the
    RTX 4070; A40, V100 and H100 to the A100."""
    own, found = {gpu_id, *family(gpu_id)}, set()
    for ladder, steps in zip(_ladders(), STEPS, strict=True):
        name, mine = ladder.get(gpu_id, (None, 0))
        others = {i: place for i, (its, place) in ladder.items() if its == name and i not in own}
        places = sorted({mine, *others.values()})
        at = places.index(mine)
        near = (*places[max(0, at - steps) : at], *places[at + 1 : at + 1 + steps])
        found |= {i for i, place in others.items() if place in near}
    return tuple(sorted(found))


@cache
def _ladders() -> tuple[dict[str, tuple[object, int]], ...]:
    """By id the line and the number ("rtx-", 4070), and the tier and the year in which its architecture came
    ("70", 2022), each with the market: vendor, segment, and whether it is soldered in."""
    lines: dict[str, tuple[object, int]] = {}
    tiers, since = {}, defaultdict(list)
    for spec in catalog.all_gpus():
        market = (spec.vendor, spec.text("segment"), spec.text("form") in ("laptop", "soc"))
        since[market, spec.architecture].append(int((spec.text("launch") or "9999")[:4]))
        if match := re.match(r"(\D*)(\d+)", product(spec.id)):
            # Of consumers' cards the digits before the tier count generations: GTX 980, RTX 4080, RX 7800.
            last = {"NVIDIA": 2, "AMD": 3}.get(spec.vendor or "", 0) if market[1] == "consumer" else 0
            lines[spec.id] = (market, match[1]), int(match[2])
            tiers[spec.id] = (market, match[2][-last:]), (market, spec.architecture)
    return lines, {i: (tier, min(since[kind])) for i, (tier, kind) in tiers.items()}


def family(gpu_id: str) -> tuple[str, ...]:
    """The other variants of the same product name: H100 PCIe, SXM and NVL; a laptop and a desktop part."""
    # `h100-pcie-80gb` -> h100, `quadro-rtx-5000-laptop` -> quadro-rtx-5000, `l40s` -> l40, not `-nx-16gb`.
    alike = _alike(r"((?:[a-z]+\d?-)*[a-z]*\d+)(?!\d|gb)")[gpu_id]
    return tuple(other for other in alike if other != gpu_id)


def twins_of(gpu_id: str) -> tuple[str, ...]:
    """GPUs of the chip that a superchip holds, too: B200 and GB200, H200 and GH200; none for other chips."""
    alike = _alike(r"(?:g(?=[bh]\d))?([^-]*)")[gpu_id]
    return alike if len({other.split("-")[0] for other in alike}) > 1 else ()


@cache
def _alike(pattern: str) -> dict[str, tuple[str, ...]]:
    """By id all ids whose beginnings have the same first group; of those without one, the same products."""
    found: dict[str, list[str]] = defaultdict(list)
    for spec in catalog.all_gpus():
        match = re.match(pattern, spec.id)
        found[match[1] if match else product(spec.id).removesuffix("-super")].append(spec.id)
    return {gpu_id: tuple(ids) for ids in found.values() for gpu_id in ids}
