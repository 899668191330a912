"""What else a figure may mean than the catalog's: another option, another rate, another way to count.

A figure that is correct when it is read in one of these ways is not accused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan

from gpuwise.facts import catalog
from gpuwise.judge.audit import agree, evidence
from gpuwise.judge.audit.agree import (
    APART,
    EDITIONS,
    FAR,
    ROUNDED,
    agrees,
    counts_bits,
    evidence_of,
    most_of,
    numbers_of,
    same,
    states,
)
from gpuwise.judge.audit.cells import SUMMED
from gpuwise.judge.audit.evidence import alike
from gpuwise.judge.audit.explain import mechanism
from gpuwise.judge.audit.support import GRID
from gpuwise.judge.audit.words import COUNTS, OF_BUS
from gpuwise.model.judgement import Claim, Number

# What NVIDIA's Dynamic Boost adds at most to the power that a laptop's maker sets.
DYNAMIC_BOOST_W = 25
# Of its rates a laptop's GPU has so much at the lowest power that makers set (RTX 3000: 4.7 of 6.4).
SLOWED = 0.7
# And its memory so much more (RTX 3000: 336 of 288 GB/s), and its clock at the highest power (RTX 3050 Ti:
# 1695 of the 1035 MHz that databases print).
FASTER, BOOSTED = 1.2, 1.65
# So many times a memory's rate is that of a cache, or of several GPUs.
CACHED = 8.0
# Of its memory a GPU leaves a program so much; and the bits that find errors in GDDR memory: 15 GB of 16.
USABLE, WITH_ECC = 0.92, 15 / 16
# Bytes/s between the two chips of a superchip (NVLink-C2C).
TO_PROCESSOR = 900e9
# Makers of consumers' cards set clocks so many times the reference's.
OVERCLOCKED = 1.07
# Megabytes of which the memory of every GPU is a multiple.
WHOLE_MB = 64
# How far the size that a driver reports may be from the one that is sold; and from how many times a GPU's
# memory on a size, of so many bytes or more, is that of the machine around it.
REPORTED, MACHINE, HOST = 0.02, 2.4, 150 * 2**30
# Prices in euros beside those in dollars; since when peaks are stated at the boost clock alone; how near one
# at the base clock, which is computed and rounded, is.
TAXED, AT_BOOST, AT_BASE = 1.45, "2018", 0.006
OF_SUPERCHIP = frozenset({"memory_bytes", "memory_bytes_per_s"})
# How near once or twice the FP32 rate a 16-bit rate of the ordinary cores is, at whichever clock.
VECTOR = 0.07
ONCE = re.compile("GA10[2-9]|AD10|GB20")
_EURO = re.compile(r"\u20ac|\beur", re.IGNORECASE)
# "500+ TFLOPS", "1000W+"
_LEAST = re.compile(r"\w\+(?! ?\d)")


def means_other(claim: Claim, confirmed: bool) -> bool:
    """Whether a figure that the catalog does not hold may be right of what it does not say.

    `confirmed`: its column agrees with the catalog for other GPUs, so which rate or clock it states is known.
    """
    return bool(
        # "500+ TFLOPS" is more than that, and wrong of what has less.
        (_LEAST.search(claim.stated) and min(numbers_of(claim.values), default=0.0) < most_of(claim))
        or (not confirmed and (_is_other_rate(claim) or _is_other_clock(claim)))
        or _is_vector_half(claim)
        or _is_option(claim)
        or _is_stated_otherwise(claim)
    )


def _is_vector_half(claim: Claim) -> bool:
    """Whether a 16-bit rate is twice an FP32 rate, and no source has that of the ordinary cores."""
    stated = any(
        (p.format, p.unit) == ("fp16", "vector") for i in claim.gpu_ids for p in catalog.get(i).peaks
    )
    known = evidence_of(replace(claim, field="peak:fp32"))
    rates = numbers_of(one for k in known for one in (k.value, *k.alternatives))
    return claim.field in ("peak:fp16", "peak:bf16") and not stated and any(
        alike(v, 2 * rate, agree.CLOSE) for v in numbers_of(claim.values) for rate in rates
    )  # fmt: skip


def _is_option(claim: Claim) -> bool:
    """Whether the value is that of another option: a smaller unified memory, the chip in a superchip, or a
    chip of the same generation, which sources name differently (GK110B and GK180)."""
    if claim.several and claim.block >= GRID and claim.field in (*SUMMED, "power_w"):
        # "5070 Ti + 7900 XT | 36 GB": what they have together.
        return min(numbers_of(claim.values), default=0.0) > most_of(claim) > 0
    if claim.field in _OPTIONS:
        return _OPTIONS[claim.field](claim)
    if claim.field.startswith("peak:"):
        return _is_doubled(claim) or _is_of_laptop(claim)
    return _is_of_laptop(claim)


def _is_other_size(claim: Claim) -> bool:
    """Of memory: what a job takes or a driver reports, what the machine has, or another edition."""
    if claim.is_range:
        # "9-10 GB" is what something takes.
        return True
    values, sizes = numbers_of(claim.values), numbers_of(k.value for k in evidence_of(claim))
    ratios = [v / size for v in values for size in sizes]
    # What a program finds of it or takes ("79.15 GiB", "15114 MB", "46068 MiB" where ECC takes some), and
    # what so many times as much is of: the machine.
    odd = re.search(r"\d ?MB", claim.stated) and any(v > 2**30 and v / 2**20 % WHOLE_MB for v in values)
    finds = bool(odd) and max(ratios, default=2.0) <= 1
    if claim.total:
        # Several have more than one: what is less is of something else.
        return finds or max(ratios, default=1.0) < 1
    # Some programs count in decimal GB: the 40 GiB of a card are 42.9.
    fraction = re.search(r"\.\d+ ?G", claim.stated) is not None
    finds |= fraction and max(ratios, default=2.0) <= agree.DECIMAL["memory_bytes"]
    finds = finds or ("MiB" in claim.stated and any(USABLE <= ratio <= 1 for ratio in ratios))
    with_ecc = any(alike(ratio, WITH_ECC, agree.CLOSE) for ratio in ratios)
    finds = finds or (with_ecc and not _is_of_consumers(claim))
    much = bool(ratios) and min(values) > HOST and min(ratios) > MACHINE
    machine = much and mechanism(claim) is None
    # Between what one is sold by and what it has left: 186 GB of a B200 of 192.
    between = len(claim.gpu_ids) == 1 and min(ratios, default=2.0) <= 1 <= max(ratios, default=0.0)
    if finds or machine or between or any(alike(ratio, 1, REPORTED) for ratio in ratios):
        return True
    if _are_socs(claim):
        return max(values) <= most_of(claim)
    if _are_pairs(claim):
        return _is_of_pair(claim)
    # A superchip with the memory of its chip, not the chip with that of the superchip.
    chip = any(i[0] != "g" for i in claim.gpu_ids)
    return _is_doubled(claim) or (
        not chip and any(agrees(replace(claim, gpu_ids=(other,))) for other in _twins(claim))
    )


def _is_other_bandwidth(claim: Claim) -> bool:
    if _are_pairs(claim):
        return _is_of_pair(claim)
    return _is_doubled(claim) or _is_of_laptop(claim)


def _is_named_otherwise(claim: Claim) -> bool:
    """Kepler's chips have two names, and so have AMD's of these years, of which some are others renamed."""
    renamed = any(str(value).startswith(("Polaris", "Vega")) for value in claim.values)
    return renamed or any(i[0] == "k" for i in claim.gpu_ids)


def _is_counted_twice(claim: Claim) -> bool:
    """Of RDNA 3 each lane issues two operations at once, and is counted as two."""
    double = all((catalog.get(i).architecture or "").startswith("RDNA 3") for i in claim.gpu_ids)
    return double and states(replace(claim, count=1), 2 * most_of(claim))


def _is_no_bus(claim: Claim) -> bool:
    """ "Llama 3 in 4 bits" is of a model, 64 bits beside processor cores are of these."""
    return min(numbers_of(claim.values)) < OF_BUS * (3 if _are_socs(claim) else 1)


def _is_of_computer(claim: Claim) -> bool:
    """More power is of the computer around it, 2,700 W of both chips of a GB200 and their processor."""
    superchip = _are_superchips(claim)
    whole = most_of(claim) * (1 + superchip)
    return (_are_socs(claim) or superchip) and min(numbers_of(claim.values)) > whole


def _is_of_slot(claim: Claim) -> bool:
    """What the slot carries, both ways or one: a label "Interconnect" says not which is meant."""
    values = numbers_of(claim.values)
    # A superchip's link to its processor has a rate of its own.
    if any(i.startswith(("gb200", "gb300", "gh200")) for i in claim.gpu_ids):
        return any(v == TO_PROCESSOR for v in values)
    slots = [2**known for i in claim.gpu_ids if (known := catalog.get(i).number("pcie_generation"))]
    return any(v in (2e9 * slot, 4e9 * slot) for v in values for slot in slots)


def _is_other_type(claim: Claim) -> bool:
    """HBM2e is called HBM2, too, and DDR4 is the machine's; of "DDR5" for GDDR5X the letters are wrong."""
    cards = {str(k.value).upper() for k in evidence_of(claim)}
    main = all(re.fullmatch(r"DDR[345]", str(v)) and f"G{v}X" not in cards for v in claim.values)
    later = all(str(k.value).upper() == "HBM2E" for k in evidence_of(claim))
    return main or (claim.values == ("HBM2",) and later)


_OPTIONS: dict[str, Callable[[Claim], bool]] = {
    "chip": _is_named_otherwise,
    "cuda_cores": _is_counted_twice,
    "stream_processors": _is_counted_twice,
    "shading_units": _is_counted_twice,
    "memory_bytes": _is_other_size,
    "memory_bytes_per_s": _is_other_bandwidth,
    "memory_bus_bits": _is_no_bus,
    "memory_type": _is_other_type,
    "power_w": _is_of_computer,
    "link_bytes_per_s": _is_of_slot,
}


def _are_socs(claim: Claim) -> bool:
    return all(catalog.get(i).text("form") == "soc" for i in claim.gpu_ids)


def _are_superchips(claim: Claim) -> bool:
    return all(i in ("gb200", "gb300") for i in claim.gpu_ids)


def _are_pairs(claim: Claim) -> bool:
    """NVL cards are sold in pairs, whose figures texts add up."""
    return all("-nvl" in i for i in claim.gpu_ids)


def _is_of_consumers(claim: Claim) -> bool:
    return any(catalog.get(i).text("segment") == "consumer" for i in claim.gpu_ids)


def _is_of_pair(claim: Claim) -> bool:
    return any(states(claim, 2 * value) for value in numbers_of(k.value for k in evidence_of(claim)))


def _is_doubled(claim: Claim) -> bool:
    """Superchips hold two, whose figures texts add up."""
    if not _are_superchips(claim):
        return False
    alone = tuple(dict.fromkeys(i for gpu_id in claim.gpu_ids for i in (gpu_id, *agree.twins_of(gpu_id))))
    halves = numbers_of(k.value for k in evidence_of(replace(claim, gpu_ids=alone), fitting=False))
    return any(same(claim, stated, 2 * half) for half in halves for stated in claim.values)


def _twins(claim: Claim) -> tuple[str, ...]:
    """Other products with the same chip in a superchip, or of it."""
    own = {*map(agree.product, claim.gpu_ids)}
    others = (o for i in claim.gpu_ids for o in agree.twins_of(i) if agree.product(o) not in own)
    return tuple(dict.fromkeys(others))


def _is_other_clock(claim: Claim) -> bool:
    """Between its base and its boost clock a card has a game clock, and those of its makers."""
    if not claim.field.endswith("_hz"):
        return False
    if (mechanism(claim) or ("other variant",))[0] != "other variant":
        return False
    consumer = _is_of_consumers(claim)
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
    return False


def _is_stated_otherwise(claim: Claim) -> bool:
    """Whether a figure is the known one as others count it: a price in euros, a peak at the base clock."""
    values, known = numbers_of(claim.values), numbers_of(k.value for k in evidence_of(claim))
    if claim.field == "launch_price_usd" and _EURO.search(claim.stated):
        # They hold a tax, and rates differ.
        return all(1 / TAXED < v / price < TAXED for v in values for price in known)
    if claim.field not in ("peak:fp32", "peak:fp16", "peak:fp64"):
        return False
    old = [s for s in map(catalog.get, claim.gpu_ids) if (s.text("launch") or "") < AT_BOOST]
    clocks = [(s.number("base_hz"), s.number("boost_hz")) for s in old]
    peaks = [low / high * peak for low, high in clocks if low and high for peak in known]
    # A peak rounded to two digits or more is that peak: 0.13 for 0.1286.
    digits = [value.digits for value in claim.values if isinstance(value, Number)]
    return any(
        alike(v, peak, AT_BASE) or (n > 1 and alike(v, float(f"{peak:.{n}g}"), 1e-6))
        for v, n in zip(values, digits, strict=True) for peak in peaks
    )  # fmt: skip


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


def is_disputed(claim: Claim, stated: Number | str, known: evidence.Evidence) -> bool:
    """Whether another source has the stated value, or one on the other side of it."""
    times, near = (claim.count, ROUNDED) if claim.total else (1, agree.CLOSE)
    if known.source.kind == "derived" and known.alternatives and claim.field[:5] == "peak:":
        # What is computed from a count that sources do not agree on is as far off as clocks are, too.
        near = agree.VARIANTS
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
    ranges = len(span) > 1 and claim.field not in {*COUNTS, "memory_bytes", "l1_bytes"}
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
        cached = min(values, default=0.0) > CACHED * most_of(claim)
        # And what is in bits, without the digits of the memory's, is a network's.
        cached = (cached or counts_bits(claim)) and claim.block < GRID and mechanism(claim) is None
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
    sums = [8 * most_of(claim)] if claim.field.startswith("peak:") else []
    if claim.field == "power_w":
        each = numbers_of(k.value for k in evidence_of(claim))
        sums = [n * watts for watts in each for n in (4, 8) if n * watts > 2 * max(each)]
    machine = any(alike(v, n, agree.ROUGH) for v in values for n in sums) and mechanism(claim) is None
    # Since Ampere the ordinary cores of cards compute FP16 no faster than FP32.
    once = all(ONCE.match(catalog.get(i).text("chip") or "") for i in claim.gpu_ids)
    times = (1, 2, 4) if {*claim.gpu_ids} <= {"gb200", "gb300"} else (1,) if once else (1, 2)
    return machine or any(alike(v, n * rate, VECTOR) for v in values for rate in rates for n in times)
