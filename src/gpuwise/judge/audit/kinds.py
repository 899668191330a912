"""Say what kind of error a wrong figure is: where it came from tells how to mend the text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import islice

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.words import ABILITIES, COUNTS
from gpuwise.model.claim import Claim, Kind, Number

# The block of a table's row is the table's number times this, and the row; smaller ones are sections.
GRID = 1_000_000
# Claims about one field of one GPU among which the right value is looked for.
MOST = 500
# How near a figure must be to the right one times a prefix (278 MB for 277.5 GiB), and to the one that it is
# taken to be.
PREFIXED, LIKE = 0.0025, 0.011
_PREFIXES = (1e3, 1e-3, 1024, 1 / 1024)
_BINARY = (1.024, 1.024**2, 1.024**3)
# Units of the catalog's fields in which texts print them: their digits are compared.
_PRINTED = {"memory_bytes": 2**30, "memory_bytes_per_s": 1e9, "link_bytes_per_s": 1e9}
# Fields whose digits stay right when a unit or a prefix is mistaken.
_IN_BYTES = ("memory_bytes", "memory_bytes_per_s", "link_bytes_per_s")

Explained = tuple[Kind, str]
"""A kind of error, and a sentence about this one."""


class Around:
    """The claims of a text by place and by GPU, so that a long text is judged in linear time."""

    def __init__(self, claims: Sequence[Claim], wrong: Sequence[Claim]) -> None:
        self.near: dict[int, list[Claim]] = defaultdict(list)
        self.of_gpu: dict[tuple[str, str], list[Claim]] = defaultdict(list)
        self.values: dict[tuple[str, str], set[float | str]] = defaultdict(set)
        self.wrong: dict[tuple[int, tuple[str, ...]], list[Claim]] = defaultdict(list)
        # What was found: it is asked for as a witness, and again for the answer.
        self.explained: dict[Claim, Explained] = {}
        for claim in claims:
            self.near[_place(claim)].append(claim)
            for gpu_id in claim.gpu_ids:
                self.of_gpu[gpu_id, claim.field].append(claim)
                self.values[gpu_id, claim.field].update(
                    v.value if isinstance(v, Number) else v for v in claim.values
                )
        for claim in wrong:
            self.wrong[claim.block, claim.gpu_ids].append(claim)

    def explain(self, claim: Claim) -> Explained:
        """(kind, sentence) for a claim that no evidence supports; the most telling explanation first."""
        if claim not in self.explained:
            found = mechanism(claim)
            if found is None or found[0] == "other variant":
                found = self.of_neighbour(claim, 2) or found
            if found is None and claim.block >= GRID:
                found = self.of_neighbour(claim, 1)
            self.explained[claim] = found or self.elsewhere(claim) or ("wrong value", "")
        return self.explained[claim]

    def of_neighbour(self, claim: Claim, least: int) -> Explained | None:
        """The figures of a GPU beside it in the text: at least so many wrong ones are its."""
        place = _place(claim)
        # Of the same table, or of this section and the ones before and after.
        places = (place,) if place < 0 else (place - 1, place, place + 1)
        near = [c for at in places for c in self.near.get(at, ()) if place >= 0 or c.block != claim.block]
        ids = dict.fromkeys(g for c in near if len(c.gpu_ids) == 1 or not c.several for g in c.gpu_ids)
        own = {sibling for gpu_id in claim.gpu_ids for sibling in (gpu_id, *family(gpu_id))}
        mine = self.wrong.get((claim.block, claim.gpu_ids), ())
        for other in (gpu_id for gpu_id in ids if gpu_id not in own):
            if self.is_copied(claim, other) and sum(self.is_copied(c, other) for c in mine) >= least:
                name = catalog.get(other).name
                return "neighbour's row copied", f"this is the figure of {name}, which stands beside it"
        return None

    def is_copied(self, claim: Claim, other: str) -> bool:
        """Whether the claim repeats what is known of another GPU, or what the text states of it."""
        known = [known.value for known in evidence.of(other, claim.field)]
        values = (*known, *self.values.get((other, claim.field), ()))
        stated = [v.value if isinstance(v, Number) else v for v in claim.values]
        return any(
            v == mine or (isinstance(v, float) and isinstance(mine, float) and equal(v, mine))
            for v in values for mine in stated
        )  # fmt: skip

    def elsewhere(self, claim: Claim) -> Explained | None:
        """The same text states the right value at another place."""
        others = (c for gpu_id in claim.gpu_ids for c in self.of_gpu.get((gpu_id, claim.field), ()))
        for other in islice(others, MOST):
            known = [k.value for gpu_id in other.gpu_ids for k in evidence.of(gpu_id, claim.field)]
            right = any(states(other, value) for value in known)
            if right and not other.several and other.values != claim.values:
                return "internal contradiction", f"line {other.line} says {other.stated}"
        return None


def _place(claim: Claim) -> int:
    """Sections count from 1, tables from -1 down."""
    return -(claim.block // GRID) if claim.block >= GRID else claim.block


def mechanism(claim: Claim) -> Explained | None:
    """A known way in which just this wrong figure comes about: a witness of its own."""
    field, peak = claim.field, claim.field.startswith("peak:")
    numbers = [value.value for value in claim.values if isinstance(value, Number)]
    every = [known for gpu_id in claim.gpu_ids for known in evidence.of(gpu_id, field)]
    known = [(k.value, k.form) for k in every if isinstance(k.value, float)]
    pairs = [(mine, value) for value, _ in known for mine in numbers]
    if field in ABILITIES:
        return (
            "capability",
            "its hardware has it" if "no" in claim.values else "its hardware does not have it",
        )
    if peak and any(f == ("dense" if claim.sparse else "sparse") and states(claim, v) for v, f in known):
        if claim.sparse:
            return "dense as sparse", "this is the peak without sparsity"
        return "sparse as dense", "reached only with 2:4 sparsity, which the text does not say"
    if field == "link_bytes_per_s" and any(equal(2 * mine, value) for mine, value in pairs):
        return "unit", "this is the rate of one direction; both together are twice that"
    if peak or field in _IN_BYTES or field.endswith(("_hz", "_flop_per_s")):
        # Bits for bytes, of rates alone: 8 times a memory size is another product's.
        factors = (*((8, 1 / 8) if field.endswith("bytes_per_s") else ()), *_PREFIXES)
        for mine, factor in ((m / value, f) for m, value in pairs if value for f in factors):
            if abs(mine / factor - 1) < PREFIXED:
                times = f"{factor:,g} times" if factor >= 1 else f"1/{1 / factor:,g} of"
                return "unit", f"right digits, {times} the value: a unit or prefix is mistaken"
    for mine, value in pairs:
        scale = 1e12 if peak else _PRINTED.get(field, 1.0)
        ours, theirs = (re.sub(r"\D", "", f"{number / scale:.6g}") for number in (mine, value))
        if ours != theirs and len(ours) >= 3 and len(set(ours)) > 1 and sorted(ours) == sorted(theirs):
            return "digit swap", f"the digits of {theirs} in another order"
    if field.endswith(("_bytes", "_bytes_per_s")) and any(equal(m, v * f) for m, v in pairs for f in _BINARY):
        return "unit", "right but for the step from decimal to binary prefixes"
    if field == "boost_hz":
        base = (k.value for gpu_id in claim.gpu_ids for k in evidence.of(gpu_id, "base_hz"))
        if any(states(claim, value) for value in base):
            return "base as boost", "this is the base clock"
    for gpu_id in claim.gpu_ids:
        chip = catalog.get(gpu_id).text("chip") or ""
        count = getattr(catalog.chips().get(chip), field, None) if field in COUNTS else None
        if count is not None and states(claim, float(count)):
            return "full die for product", f"the whole {chip} die has that many; the product uses fewer"
    for other in dict.fromkeys(other for gpu_id in claim.gpu_ids for other in family(gpu_id)):
        if other not in claim.gpu_ids and any(
            fits_form(claim, k.form) and states(claim, k.value) for k in evidence.of(other, field)
        ):
            return "other variant", f"true of {catalog.get(other).name}"
    return None


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


def word(field: str, text: str) -> str:
    """What spellings of one name have in common: "CDNA (1)" and CDNA, Ada and Ada Lovelace, DDR6."""
    plain = re.sub(r"[^a-z0-9]", "", text.casefold())
    if field == "architecture":
        plain = re.sub(r"^(blackwell).*", r"\1", plain.replace("lovelace", "").removeprefix("grace"))
        return plain.removesuffix("1")
    return re.sub(r"^ddr(?=[567])", "gddr", plain) if field == "memory_type" else plain


def fits_form(claim: Claim, form: evidence.Form) -> bool:
    """Whether a value of this form may be what the claim states."""
    if form == "vector":
        return claim.vector
    return form == "value" or (form == "sparse") == bool(claim.sparse)


@cache
def family(gpu_id: str) -> tuple[str, ...]:
    """The other variants of the same product name: H100 PCIe, SXM and NVL; a laptop and a desktop part."""
    return tuple(other for other in _families()[_stem(gpu_id)] if other != gpu_id)


def _stem(gpu_id: str) -> str:
    """`h100-pcie-80gb` -> h100, `rtx-4090-laptop` -> rtx-4090, `l40s` -> l40."""
    match = re.match(r"(?:rtx-)?(?:pro-)?[a-z]*\d+", gpu_id)
    return match[0] if match else gpu_id


@cache
def _families() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for spec in catalog.all_gpus():
        found[_stem(spec.id)].append(spec.id)
    return found
