"""Explain wrong figures: a known way in which just this one comes about, or another product that has it.

`mechanism` sees a claim alone: digits swapped, the sparse rate, a unit, the whole die, another variant.
`Around` sees the text, too: whose figures stand beside it, where the right value stands. Each is a witness.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from gpuwise.facts import catalog
from gpuwise.judge.audit import agree, evidence
from gpuwise.judge.audit.agree import agrees, equal, evidence_of, gpus_with, is_near, numbers_of, same, states
from gpuwise.judge.audit.support import GRID
from gpuwise.judge.audit.words import ABILITIES, OF_BUS
from gpuwise.model.judgement import Claim, Kind, Number

# What a chip has more of than its products.
OF_DIE = frozenset({"cuda_cores", "tensor_cores", "rt_cores", "sm_count", "tmus", "rops", "memory_bus_bits",
                     "l2_bytes"})  # fmt: skip
# From so many digits on, the same digits in another order are a transposition, not a coincidence.
TELLING = 3
TAKEN_FOR_OTHER = ("sparse as dense", "dense as sparse", "base as boost")
UNTELLING = frozenset({"wrong value", "internal contradiction"})
NEIGHBOUR: Kind = "neighbour's row copied"
# Fields that say little about which variant a row speaks of.
OF_NAME = frozenset({"launch", "architecture", "chip", "memory_type"})
SHARED = OF_NAME | {"process_nm", "slots", "pcie_generation", "transistors"}
# A figure of more products than that points to none of them: 16 GB, 250 W, GDDR6.
FEW = 12
# Fields of one GPU and no other that make a text its sheet.
SHEET = 4
# Wrong figures of one record that are all another product's: one may be by chance.
COPIED = 2
# Claims about one field of one GPU among which the right value is looked for.
LOOKED = 500
_PREFIXES = (1e3, 1e-3, 1024, 1 / 1024)
_BINARY = (1.024, 1.024**2, 1.024**3)
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
        # Of each table the GPUs in it, each with the rows that speak of it; elsewhere each time that the text
        # turns to another GPU is a place.
        self.near: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        self.turn: dict[Claim, int] = {}
        # By GPU and field the first claims of two right values.
        self.right: dict[tuple[str, str], dict[object, Claim]] = defaultdict(dict)
        self.wrong: dict[tuple[int, tuple[str, ...]], list[Claim]] = defaultdict(list)
        # What was found: it is asked for as a witness, and again for the answer.
        self.mechanism = cache(mechanism)
        self.explained: dict[Claim, Explained] = {}
        self.gpus = tuple(dict.fromkeys(gpu_id for claim in claims for gpu_id in claim.gpu_ids))
        # Of each block the GPUs in it, and the fields that are right of one.
        self.owners: dict[int, set[tuple[str, ...]]] = defaultdict(set)
        self.agreed: dict[tuple[int, tuple[str, ...]], dict[str, Claim]] = defaultdict(dict)
        turn, turned = 0, tuple[str, ...]()
        for claim in claims:
            turn, turned = turn + (claim.gpu_ids != turned), claim.gpu_ids
            self.turn[claim] = -(claim.block // GRID) or turn
            self.owners[claim.block].add(claim.gpu_ids)
            if claim.sure and agrees(claim):
                self.agreed[claim.block, claim.gpu_ids][claim.field] = claim
            for gpu_id in claim.gpu_ids:
                if len(claim.gpu_ids) == 1 or not claim.several:
                    self.near[self.turn[claim]][gpu_id].add(claim.block)
                right = self.right[gpu_id, claim.field]
                if len(right) < 2 and claim.values not in right and not claim.several and (
                    any(states(claim, k.value) for k in evidence_of(claim, fitting=False))
                ):  # fmt: skip
                    right[claim.values] = claim
        for claim in wrong:
            self.wrong[claim.block, claim.gpu_ids].append(claim)

    def explain(self, claim: Claim) -> Explained:
        """(kind, sentence) for a claim that no evidence supports; the most telling explanation first."""
        if claim not in self.explained:
            found = self.mechanism(claim)
            if found is None or found[0] == "other variant":
                found = self.of_neighbour(claim, 2) or found
            if found is None and claim.block >= GRID and claim.field not in SHARED:
                found = self.of_neighbour(claim, 1)
            if found is None and (other := self.elsewhere(claim)) is not None:
                found = "internal contradiction", f"line {other.line} says {other.stated}"
            rates = (p.flop_per_s for i in claim.gpu_ids for p in catalog.get(i).peaks if p.unit == "matrix")
            mixed = claim.field.startswith("peak:") and any(states(claim, rate) for rate in rates)
            self.explained[claim] = found or (
                ("wrong precision", "this is its rate in another format") if mixed else ("wrong value", "")
            )
        return self.explained[claim]

    def name(self, claim: Claim) -> Explained:
        """The explanation. Where the figure is that of another product, it names the first of: a variant in
        the text or of the same name, another GPU of the text, any variant."""
        kind, why = self.explain(claim)
        if kind not in (*UNTELLING, "other variant"):
            return kind, why
        if kind == "internal contradiction" and not self.contradicts(claim):
            kind, why = "wrong value", ""
        wrong = agree.wrong_values(claim) or claim.values
        having = gpus_with(claim.field, wrong) - {*claim.gpu_ids}
        siblings = [other for i in claim.gpu_ids for other in agree.family(i) if other in having]
        # Figures that many products have point to GPUs beside them; names to any. A set has no order.
        common = len({*map(agree.product, sorted(having))}) > FEW
        near = {*self.beside(claim)} if common and claim.field not in OF_NAME else having
        beside = [i for i in self.gpus if i in near & having and i not in siblings]
        own = {*map(agree.product, claim.gpu_ids)}
        close = [i for i in siblings if agree.product(i) in own and catalog.get(i).text("form") != "laptop"]
        beside *= kind != "internal contradiction"
        found: tuple[tuple[Kind, Sequence[str]], ...] = (
            ("other variant", [i for i in siblings if i in {*self.gpus, *close}]),
            (NEIGHBOUR, beside), ("other variant", siblings),
        )  # fmt: skip
        kind, others = next(((one, others) for one, others in found if others), (kind, ()))
        return kind, "; ".join([f"the figure of {catalog.get(i).name}" for i in others[:1]] or [why])

    def beside(self, claim: Claim) -> Iterator[str]:
        """The other products in the same table, or of which the text speaks just before and after."""
        place = self.turn[claim]
        own = {sibling for gpu_id in claim.gpu_ids for sibling in (gpu_id, *agree.family(gpu_id))}
        for at in (place,) if place < 0 else (place - 1, place, place + 1):
            for gpu_id, blocks in self.near.get(at, {}).items():
                if gpu_id not in own and (place >= 0 or blocks != {claim.block}):
                    yield gpu_id

    def of_neighbour(self, claim: Claim, least: int) -> Explained | None:
        """The figures of a GPU beside it in the text: at least so many wrong ones are its."""
        mine = self.wrong.get((claim.block, claim.gpu_ids), ())[:LOOKED]
        for other in (i for i in self.beside(claim) if i in gpus_with(claim.field, claim.values)):
            if len({c.field for c in mine if other in gpus_with(c.field, c.values)}) >= least:
                return NEIGHBOUR, f"this is the figure of {catalog.get(other).name}, which stands beside it"
        return None

    def records_of_others(self) -> set[tuple[int, tuple[str, ...]]]:
        """The rows, columns and sections of which one other product explains several wrong figures and all
        that is right: one that the text names, a variant, or the next of its range. But not where the same
        table states that product's own figures: then they were copied."""
        stating = defaultdict[tuple[int, str], int](int)
        for (block, ids), right in self.agreed.items():
            for gpu_id in ids if block >= GRID else ():
                stating[block // GRID, gpu_id] = max(stating[block // GRID, gpu_id], len(right))
        found = set[tuple[int, tuple[str, ...]]]()
        for (block, ids), wrong in self.wrong.items():
            fields = {c.field for c in wrong[:LOOKED]}
            # All counts of units, and all rates, follow from one of them.
            if len({"cores" if f in OF_DIE else f.partition(":")[0] for f in fields}) < COPIED:
                continue
            every = [*wrong[:LOOKED], *self.agreed[block, ids].values()]
            near = [other for i in ids for other in (*agree.family(i), *agree.next_to(i))]
            if block < GRID and len({c.line for c in every}) == 1:
                near = []  # A sentence names what it is about, or goes on about another GPU of the text
            for other in dict.fromkeys(gpu for gpu in (*self.gpus, *near) if gpu not in ids):
                theirs = (replace(c, gpu_ids=(other,)) for c in every)
                if stating[block // GRID, other] < COPIED and all(
                    agrees(c) or not (c.field in fields or evidence_of(c)) for c in theirs
                ):  # fmt: skip
                    found.add((block, ids))
                    break
        return found

    def is_of_sheet(self, claim: Claim) -> bool:
        """Whether the claim, or the right value elsewhere, is of a list or row about this GPU alone."""
        other = self.elsewhere(claim)
        return any(
            len(self.owners[one.block]) == 1 and len(self.agreed[one.block, one.gpu_ids]) >= SHEET
            for one in (claim, other) if one is not None
        )  # fmt: skip

    def contradicts(self, claim: Claim) -> bool:
        """Whether another line states the right value of just this GPU, of a rate in just this form."""
        other = self.elsewhere(claim)
        forms = {known.form for known in evidence_of(claim)} if claim.field.startswith("peak:") else ()
        return other is not None and agrees(other) and {*claim.gpu_ids} <= {*other.gpu_ids} and len(forms) < 2

    def is_given_to_other(self, claim: Claim) -> bool:
        """Whether the text states the right value of this GPU, and none of the one that has this figure."""
        having = gpus_with(claim.field, claim.values)
        return self.elsewhere(claim) is not None and not any(self.right.get((i, claim.field)) for i in having)

    def elsewhere(self, claim: Claim) -> Claim | None:
        """Where the same text states the right value."""
        others = (c for gpu_id in claim.gpu_ids for c in self.right.get((gpu_id, claim.field), {}).values())
        # Of the rates of a format the text may state several: the one in whose place this one stands.
        best = next((k.value for k in evidence_of(claim)), "") if claim.field.startswith("peak:") else None
        return next(
            (c for c in others if c.values != claim.values and (best is None or states(c, best))), None
        )


def may_be_of_die(claim: Claim) -> bool:
    """Whether a count may be that of the whole die: it equals it, or no source states the die's count."""
    dies = (catalog.chips().get(catalog.get(i).text("chip") or "") for i in claim.gpu_ids)
    counts = (die.whole(claim.field) if die else None for die in dies if claim.field in OF_DIE)
    return not is_of_no_bus(claim) and any(count is None or states(claim, float(count)) for count in counts)


def is_of_no_bus(claim: Claim) -> bool:
    """Whether a bus width is not a multiple of the width of a memory chip, so that no product can have it."""
    return claim.field == "memory_bus_bits" and any(v % OF_BUS for v in numbers_of(claim.values))


def mechanism(claim: Claim) -> Explained | None:
    """A known way in which just this wrong figure comes about: a witness of its own."""
    field, peak = claim.field, claim.field.startswith("peak:")
    # Of "362 / 274" only what is wrong needs an explanation.
    claim = replace(claim, values=agree.wrong_values(claim) or claim.values)
    stated = [value for value in claim.values if isinstance(value, Number)]
    numbers = numbers_of(stated)
    every = [known for gpu_id in claim.gpu_ids for known in evidence.of(gpu_id, field)]
    known = [(k.value, k.form) for k in every if isinstance(k.value, float)]
    pairs = [(mine, value) for value, _ in known for mine in numbers]
    if agree.is_of_missing_format(claim):
        lacks = f"does not compute {field.removeprefix('peak:')}" if peak else "has no NVLink"
        return "capability", f"its hardware {lacks}"
    if field in ABILITIES:
        return "capability", f"its hardware {'has it' if 'no' in claim.values else 'does not have it'}"
    values = [value for value, _ in known] + numbers_of(v for k in every for v in k.alternatives)
    swaps = list(_swaps(numbers, values, 1e12 if peak else _PRINTED.get(field, 1.0)))
    if swapped := next((theirs for ours, theirs in swaps if len(ours) >= TELLING), ""):
        return "digit swap", f"the digits of {swapped} in another order"
    others = [value for value, form in known if form == ("dense" if claim.sparse else "sparse")]
    if peak and any(
        states(claim, other) or all(is_near(claim, one, other) for one in stated) for other in others
    ):
        if claim.sparse:
            return "dense as sparse", "this is the peak without sparsity"
        return "sparse as dense", "reached only with 2:4 sparsity, which the text does not say"
    if field == "link_bytes_per_s" and any(equal(2 * mine, value) for mine, value in pairs):
        return "unit", "this is the rate of one direction; both together are twice that"
    if peak or field in _IN_BYTES or field.endswith(("_hz", "_flop_per_s")):
        # Bits for bytes, of rates alone: 8 times a memory size is another product's.
        factors = (*((8, 1 / 8) if field.endswith("bytes_per_s") else ()), *_PREFIXES)
        for v, factor in ((replace(v, value=v.value / f), f) for v in stated for f in factors):
            if any(is_near(claim, v, k) for k, _ in known if k):
                times = f"{factor:,g} times" if factor >= 1 else f"1/{1 / factor:,g} of"
                return "unit", f"right digits, {times} the value: a unit or prefix is mistaken"
    if swapped := next((theirs for _, theirs in swaps), ""):
        return "digit swap", f"the digits of {swapped} in another order"
    # Rates are counted in GB/s: 1.024 times 800 is computed from clocks.
    steps = _BINARY[2 * field.endswith("_bytes_per_s") :]
    if field.endswith(("_bytes", "_bytes_per_s")) and any(equal(m, v * f) for m, v in pairs for f in steps):
        return "unit", "right but for the step from decimal to binary prefixes"
    if other := {"boost_hz": "base_hz", "base_hz": "boost_hz"}.get(field):
        clocks = [k.value for gpu_id in claim.gpu_ids for k in evidence.of(gpu_id, other)]
        if any(same(claim, mine, value) for value in clocks for mine in claim.values):
            return "base as boost", f"this is the {other[:-3]} clock"
    siblings = dict.fromkeys(
        other for i in claim.gpu_ids for other in (*agree.family(i), *(agree.twins_of(i) if peak else ()))
    )
    own = {*map(agree.product, claim.gpu_ids)}
    for gpu_id in claim.gpu_ids:
        die = catalog.chips().get(catalog.get(gpu_id).text("chip") or "")
        count = die.whole(field) if die is not None else None
        # What a variant of just this name has is that one's: the desktop's card has all of the laptop's chip.
        named = (k.value for i in siblings if agree.product(i) in own for k in evidence.of(i, field))
        if die is not None and count and states(claim, float(count)) and count not in named:
            return "full die for product", f"the whole {die.chip} die has that many; the product uses fewer"
    for other in sorted(siblings, key=lambda other: agree.product(other) not in own):
        laptop = field in SHARED and catalog.get(other).text("form") == "laptop"
        peaks = evidence.of(other, field) if peak and not claim.sparse else ()
        if any(k.form == "sparse" and states(claim, k.value) for k in peaks):
            return "sparse as dense", f"reached by {catalog.get(other).name}, with 2:4 sparsity only"
        known_of = () if laptop or other in claim.gpu_ids else evidence.of(other, field)
        if any(agree.fits_form(claim, k.form) and states(claim, k.value) for k in known_of):
            return "other variant", f"true of {catalog.get(other).name}"
    return None


def _swaps(stated: Iterable[float], known: Sequence[float], scale: float) -> Iterator[tuple[str, str]]:
    """The digits of stated numbers beside those of known ones that are the same in another order."""
    for ours in {agree.digits_of(mine / scale, 6) for mine in stated}:
        # 763 for 736.3: as many digits as are printed.
        for theirs in {agree.digits_of(value / scale, n) for value in known for n in (6, max(1, len(ours)))}:
            if ours != theirs and len(ours) >= 2 and len(set(ours)) > 1 and sorted(ours) == sorted(theirs):
                yield ours, theirs
