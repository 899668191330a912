"""Explain wrong figures by one list of kinds, the surest first.

Of a claim alone (`mechanism`, a witness of its own): what the hardware lacks, twice or half the rate, a unit,
digits in another order, the other clock, another variant, the whole die, another format. Then by the text
around it (`Around`): a GPU beside it that has the figure, the right value on another line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from gpuwise.facts import catalog
from gpuwise.judge.audit import agree, evidence
from gpuwise.judge.audit.agree import agrees, evidence_of, gpus_with, is_near, numbers_of, same, states
from gpuwise.judge.audit.grid import GRID
from gpuwise.judge.audit.words import ABILITIES, OF_BUS
from gpuwise.model.judgement import Claim, Kind, Number

# What a chip has more of than its products.
OF_DIE = frozenset({"cuda_cores", "tensor_cores", "rt_cores", "sm_count", "tmus", "rops", "memory_bus_bits",
                     "l2_bytes"})  # fmt: skip
NEIGHBOUR: Kind = "neighbour's row copied"
# Kinds that a figure has by chance, too: where a row was copied it is of that.
UNSURE = ("other variant", "wrong precision")
# Fields that say little about which variant a row speaks of.
OF_NAME = frozenset({"launch", "architecture", "chip", "memory_type"})
SHARED = OF_NAME | {"process_nm", "slots", "pcie_generation", "transistors"}
# A figure of more products than that points to none of them: 16 GB, 250 W, GDDR6.
FEW = 12
_PREFIXES = (1e3, 1e-3, 1024, 1 / 1024)
# Units of the catalog's fields in which texts print them: their digits are compared.
_PRINTED = {
    "memory_bytes": 2**30, "memory_bytes_per_s": 1e9, "link_bytes_per_s": 1e9, "boost_hz": 1e6,
    "base_hz": 1e6, "l2_bytes": 2**20, "transistors": 1e6,
}  # fmt: skip
# Fields whose digits stay right when a unit or a prefix is mistaken.
_IN_BYTES = ("memory_bytes", "memory_bytes_per_s", "link_bytes_per_s", "l2_bytes")

Explained = tuple[Kind, str]
"""A kind of error, and a sentence about this one."""


class Around:
    """The claims of a text by place and by GPU, so that a long text is judged in linear time."""

    def __init__(self, claims: Sequence[Claim], wrong: Sequence[Claim]) -> None:
        # The GPUs of each table; elsewhere each time that the text turns to another GPU is a place.
        self.near: dict[int, set[str]] = defaultdict(set)
        self.turn: dict[Claim, int] = {}
        # By GPU and field the first claims of two right values.
        self.right: dict[tuple[str, str], dict[object, Claim]] = defaultdict(dict)
        self.wrong: dict[object, list[Claim]] = defaultdict(list)
        for claim in wrong:
            self.wrong[claim.block, claim.gpu_ids].append(claim)
        turn, turned = 0, tuple[str, ...]()
        for claim in claims:
            turn, turned = turn + (claim.gpu_ids != turned), claim.gpu_ids
            self.turn[claim] = place = -(claim.block // GRID) or turn
            if len(claim.gpu_ids) == 1 or not claim.several:
                self.near[place].update(claim.gpu_ids)
            for right in (self.right[i, claim.field] for i in claim.gpu_ids if not claim.several):
                if len(right) < 2 and claim.values not in right and agrees(claim):
                    right[claim.values] = claim

    def explain(self, claim: Claim) -> Explained:
        """(kind, sentence) for a claim that no evidence supports."""
        found, copied = mechanism(claim), self.is_copied(claim)
        if found is not None and not (copied and found[0] in UNSURE):
            return found
        having = gpus_with(claim.field, agree.wrong_values(claim) or claim.values)
        beside = [i for i in self.beside(claim) if i in having]
        # Figures that many products have point to none.
        if beside and (copied or len({*map(agree.product, having)}) <= FEW):
            return NEIGHBOUR, f"this is the figure of {catalog.get(beside[0]).name}, which stands beside it"
        if self.contradicts(claim):
            other = self.right_of(claim)
            return "internal contradiction", f"line {other.line} says {other.stated}"
        return "wrong value", ""

    def is_copied(self, claim: Claim) -> bool:
        """Whether two fields of its row or sentence have figures of one GPU beside it: one may by chance."""
        mine = self.wrong[claim.block, claim.gpu_ids]
        having = gpus_with(claim.field, claim.values).intersection(self.beside(claim))
        return any(len({c.field for c in mine if i in gpus_with(c.field, c.values)}) > 1 for i in having)

    def beside(self, claim: Claim) -> list[str]:
        """The other products in the same table, or of which the text speaks just before and after."""
        place = self.turn[claim]
        places = (place,) if place < 0 else (place - 1, place, place + 1)
        own = {sibling for gpu_id in claim.gpu_ids for sibling in (gpu_id, *agree.family(gpu_id))}
        return [i for at in places for i in sorted(self.near.get(at, set()) - own)]

    def contradicts(self, claim: Claim) -> bool:
        """Whether another line states the right value of just this GPU, of a rate in just this form."""
        other = self.right_of(claim)
        forms = {known.form for known in evidence_of(claim)} if claim.field.startswith("peak:") else ()
        return other is not claim and {*claim.gpu_ids} <= {*other.gpu_ids} and len(forms) < 2

    def right_of(self, claim: Claim) -> Claim:
        """The claim that states the right value elsewhere; this one where there is none."""
        others = (c for i in claim.gpu_ids for c in self.right.get((i, claim.field), {}).values())
        return next((c for c in others if c.values != claim.values), claim)


def may_be_of_die(claim: Claim) -> bool:
    """Whether a count may be that of the whole die: it equals it, or no source states the die's count."""
    dies = (catalog.chips().get(catalog.get(i).text("chip") or "") for i in claim.gpu_ids)
    counts = (die.whole(claim.field) if die else None for die in dies if claim.field in OF_DIE)
    return not is_of_no_bus(claim) and any(count is None or states(claim, float(count)) for count in counts)


def is_of_no_bus(claim: Claim) -> bool:
    """Whether a bus width is not a multiple of the width of a memory chip, so that no product can have it."""
    return claim.field == "memory_bus_bits" and any(v % OF_BUS for v in numbers_of(claim.values))


@lru_cache(maxsize=4096)
def mechanism(claim: Claim) -> Explained | None:
    """A known way in which just this wrong figure comes about: a witness of its own."""
    field, peak = claim.field, claim.field.startswith("peak:")
    # Of "362 / 274" only what is wrong needs an explanation.
    claim = replace(claim, values=agree.wrong_values(claim) or claim.values)
    stated = [value for value in claim.values if isinstance(value, Number)]
    every = [known for gpu_id in claim.gpu_ids for known in evidence.of(gpu_id, field)]
    known = [(k.value, k.form) for k in every if isinstance(k.value, float) and k.value]

    def is_near_any(factor: float, values: Iterable[float]) -> bool:
        shrunk = [replace(v, value=v.value / factor) for v in stated]
        return any(is_near(claim, one, value) for one in shrunk for value in values)

    if agree.is_of_missing_format(claim):
        lacks = f"does not compute {field.removeprefix('peak:')}" if peak else "has no NVLink"
        return "capability", f"its hardware {lacks}"
    if field in ABILITIES:
        return "capability", f"its hardware {'has it' if 'no' in claim.values else 'does not have it'}"
    if peak and is_near_any(1, (v for v, form in known if form == ("dense" if claim.sparse else "sparse"))):
        if claim.sparse:
            return "dense as sparse", "this is the peak without sparsity"
        return "sparse as dense", "reached only with 2:4 sparsity, which the text does not say"
    if field == "link_bytes_per_s" and is_near_any(0.5, (value for value, _ in known)):
        return "unit", "this is the rate of one direction; both together are twice that"
    if peak or field in _IN_BYTES or field.endswith(("_hz", "_flop_per_s")):
        # Bits for bytes, of rates alone: 8 times a memory size is another product's.
        for factor in (*((8, 1 / 8) if field.endswith("bytes_per_s") else ()), *_PREFIXES):
            if is_near_any(factor, (value for value, _ in known)):
                times = f"{factor:,g} times" if factor >= 1 else f"1/{1 / factor:,g} of"
                return "unit", f"right digits, {times} the value: a unit or prefix is mistaken"
    values = [value for value, _ in known] + numbers_of(v for k in every for v in k.alternatives)
    if swapped := _swapped(numbers_of(stated), values, 1e12 if peak else _PRINTED.get(field, 1.0)):
        return "digit swap", f"the digits of {swapped} in another order"
    if other := {"boost_hz": "base_hz", "base_hz": "boost_hz"}.get(field):
        clocks = [k.value for gpu_id in claim.gpu_ids for k in evidence.of(gpu_id, other)]
        if any(same(claim, mine, value) for value in clocks for mine in claim.values):
            return "base as boost", f"this is the {other[:-3]} clock"
    own = {*map(agree.product, claim.gpu_ids)}
    siblings = dict.fromkeys(o for i in claim.gpu_ids for o in agree.family(i) if o not in claim.gpu_ids)
    for other in sorted(siblings, key=lambda other: agree.product(other) not in own):
        theirs = evidence.of(other, field)
        if any(agree.fits_form(claim, k.form) and states(claim, k.value) for k in theirs):
            return "other variant", f"true of {catalog.get(other).name}"
    for gpu_id in claim.gpu_ids:
        die = catalog.chips().get(catalog.get(gpu_id).text("chip") or "")
        if die is not None and (count := die.whole(field)) and states(claim, float(count)):
            return "full die for product", f"the whole {die.chip} die has that many; the product uses fewer"
    rates = (p.flop_per_s for i in claim.gpu_ids for p in catalog.get(i).peaks if p.unit == "matrix")
    if peak and any(states(claim, rate) for rate in rates):
        return "wrong precision", "this is its rate in another format"
    return None


def _swapped(stated: Iterable[float], known: Sequence[float], scale: float) -> str:
    """The digits of a known number that a stated one has in another order; empty where there is none."""
    for ours in {agree.digits_of(mine / scale, 6) for mine in stated}:
        # 763 for 736.3: as many digits as are printed.
        for theirs in {agree.digits_of(value / scale, n) for value in known for n in (6, max(1, len(ours)))}:
            if ours != theirs and len(ours) >= 2 and len(set(ours)) > 1 and sorted(ours) == sorted(theirs):
                return theirs
    return ""
