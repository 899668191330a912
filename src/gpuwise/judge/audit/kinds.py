"""Say what kind of error a wrong figure is: where it came from tells how to mend the text."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TypeVar

from gpuwise.errors import NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.fields import COUNTS
from gpuwise.model.claim import Claim, Kind, Number
from gpuwise.model.gpu import GpuSpec

GRID = 1_000_000
"""The block of a table's row is the table's number times this, and the row; smaller ones are sections."""
MOST = 500
"""Claims about one field of one GPU among which the right value is looked for."""
_PREFIX = (1e3, 1e-3, 1024, 1 / 1024)
_BINARY = (1.024, 1.024**2, 1.024**3)
_BITS = (8, 1 / 8)
_FULL_DIE = ("sm_count", "cuda_cores", "tensor_cores", "rt_cores")
Explained = tuple[Kind, str]
_PREFIXED = 0.0025
"""How near a figure must be to the right one times a prefix: 278 MB for 277.5 GiB."""
_LIKE = 0.011
"""How near a figure must be to the one that it is taken to be."""
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Around:
    """The claims of a text, found by place and by GPU, so that a long text is judged in linear time."""

    near: Mapping[int, tuple[Claim, ...]]
    """Claims of one table (block // GRID) or of one section, by `_place`."""
    of_gpu: Mapping[tuple[str, str], tuple[Claim, ...]]
    """Claims that may be about a GPU, by its id and the field."""
    values: Mapping[tuple[str, str], frozenset[float | str]]
    """The values of those."""
    wrong: Mapping[tuple[int, tuple[str, ...]], tuple[Claim, ...]]
    """Contradicted claims, by block and GPUs."""
    explained: dict[Claim, Explained] = field(default_factory=dict)
    """What `explain` found: it is asked for a witness, and again for the answer."""


def around(claims: Sequence[Claim], wrong: Sequence[Claim]) -> Around:
    """The claims of a text in the order in which `explain` asks for them."""
    of_gpu = _grouped(((gpu_id, c.field), c) for c in claims for gpu_id in c.gpu_ids)
    return Around(
        near=_grouped((_place(c), c) for c in claims),
        of_gpu=of_gpu,
        values={key: frozenset(_plain_values(group)) for key, group in of_gpu.items()},
        wrong=_grouped(((c.block, c.gpu_ids), c) for c in wrong),
    )


def _grouped(pairs: Iterable[tuple[K, Claim]]) -> Mapping[K, tuple[Claim, ...]]:
    found: dict[K, list[Claim]] = {}
    for key, claim in pairs:
        found.setdefault(key, []).append(claim)
    return {key: tuple(group) for key, group in found.items()}


def _plain_values(claims: Sequence[Claim]) -> Iterator[float | str]:
    for claim in claims:
        yield from (v.value if isinstance(v, Number) else v for v in claim.values)


def _place(claim: Claim) -> int:
    """Sections count from 1, tables from -1 down."""
    return -(claim.block // GRID) if _in_grid(claim) else claim.block


def explain(claim: Claim, text: Around) -> Explained:
    """(kind, sentence) for a claim that no evidence supports; the most telling explanation first."""
    if claim in text.explained:
        return text.explained[claim]
    found = mechanism(claim)
    if found is None or found[0] == "other variant":
        found = (
            _neighbour(claim, text, least=2)
            or found
            or (_neighbour(claim, text, least=1) if _in_grid(claim) else None)
            or _elsewhere(claim, text)
            or ("wrong value", "")
        )
    text.explained[claim] = found
    return found


def mechanism(claim: Claim) -> Explained | None:
    """A known way in which just this wrong figure comes about: a witness of its own."""
    for attempt in (_sparsity, _unit, _digits, _binary, _clock, _full_die, _variant):
        found = attempt(claim)
        if found is not None:
            return found
    return None


def equal(a: float, b: float) -> bool:
    """Whether two figures are one figure, as copied."""
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b))


def word(field: str, text: str) -> str:
    """What spellings of one name have in common: "CDNA (1)" and CDNA, Ada and Ada Lovelace, DDR6."""
    plain = re.sub(r"[^a-z0-9]", "", text.casefold())
    if field == "architecture":
        plain = plain.replace("lovelace", "").removeprefix("grace")
        plain = re.sub(r"^(blackwell).*", r"\1", plain)
        return plain.removesuffix("1")
    if field == "memory_type":
        return re.sub(r"^ddr(?=[567])", "gddr", plain)
    return plain


def family(gpu_id: str) -> tuple[str, ...]:
    """The other variants of the same product name: H100 PCIe, SXM and NVL; a laptop and a desktop part."""
    return tuple(other for other in _families()[_stem(gpu_id)] if other != gpu_id)


def _sparsity(claim: Claim) -> Explained | None:
    if not claim.field.startswith("peak:"):
        return None
    wanted = "dense" if claim.sparse else "sparse"
    for known in _known(claim, claim.gpu_ids):
        if known.form == wanted and _any_same(claim, known.value):
            if claim.sparse:
                return "dense as sparse", "this is the peak without sparsity"
            return "sparse as dense", "reached only with 2:4 sparsity, which the text does not say"
    return None


def _unit(claim: Claim) -> Explained | None:
    if claim.field not in ("memory_bytes", "memory_bytes_per_s", "link_bytes_per_s") and not _rate(claim):
        return None
    for known in _known(claim, claim.gpu_ids):
        for stated in _numbers(claim):
            if claim.field == "link_bytes_per_s" and equal(2 * stated.value, float(known.value)):
                return "unit", "this is the rate of one direction; both together are twice that"
            for factor in _factors(claim.field):
                if abs(stated.value / (float(known.value) * factor) - 1) < _PREFIXED:
                    return "unit", f"right digits, {_times(factor)} the value: a unit or prefix is mistaken"
    return None


def _factors(field: str) -> tuple[float, ...]:
    """One prefix off; of bytes per second also bits for bytes."""
    return (*(_BITS if field.endswith("bytes_per_s") else ()), *_PREFIX)


def _binary(claim: Claim) -> Explained | None:
    """Binary for decimal prefixes."""
    if not claim.field.endswith(("_bytes", "_bytes_per_s")):
        return None
    for known in _known(claim, claim.gpu_ids):
        for stated in _numbers(claim):
            if any(equal(stated.value, float(known.value) * factor) for factor in _BINARY):
                return "unit", "right but for the step from decimal to binary prefixes"
    return None


def _rate(claim: Claim) -> bool:
    return claim.field.startswith("peak:") or claim.field.endswith(("_hz", "_flop_per_s"))


def _times(factor: float) -> str:
    return f"{factor:,g} times" if factor >= 1 else f"1/{1 / factor:,g} of"


def _digits(claim: Claim) -> Explained | None:
    """The same digits in another order: 5342 for 4352."""
    for known in _known(claim, claim.gpu_ids):
        for stated in _numbers(claim):
            mine, theirs = _figures(claim.field, stated.value), _figures(claim.field, float(known.value))
            if mine != theirs and len(mine) >= 3 and len(set(mine)) > 1 and sorted(mine) == sorted(theirs):
                return "digit swap", f"the digits of {theirs} in another order"
    return None


def _figures(field: str, value: float) -> str:
    scale = {"memory_bytes": 2**30, "memory_bytes_per_s": 1e9, "link_bytes_per_s": 1e9}.get(field, 1.0)
    scale = 1e12 if field.startswith("peak:") else scale
    return re.sub(r"\D", "", f"{value / scale:.6g}")


def _clock(claim: Claim) -> Explained | None:
    if claim.field == "boost_hz":
        for gpu_id in claim.gpu_ids:
            if any(_any_same(claim, known.value) for known in evidence.of(gpu_id, "base_hz")):
                return "base as boost", "this is the base clock"
    return None


def _full_die(claim: Claim) -> Explained | None:
    if claim.field not in _FULL_DIE:
        return None
    for gpu_id in claim.gpu_ids:
        chip = catalog.get(gpu_id).text("chip")
        die = _die(chip)
        value = getattr(die, claim.field, None)
        if die is not None and value is not None and _any_same(claim, float(value)):
            return "full die for product", f"the whole {chip} die has that many; the product uses fewer"
    return None


def _die(chip: str | None) -> catalog.FullDie | None:
    try:
        return catalog.full_die(chip) if chip else None
    except NoDataError:
        return None


def _variant(claim: Claim) -> Explained | None:
    others = [other for gpu_id in claim.gpu_ids for other in family(gpu_id) if other not in claim.gpu_ids]
    for other in dict.fromkeys(others):
        for known in evidence.of(other, claim.field):
            if fits_form(claim, known.form) and _any_same(claim, known.value):
                return "other variant", f"true of {catalog.get(other).name}"
    return None


def _neighbour(claim: Claim, text: Around, least: int) -> Explained | None:
    """The figures of a GPU beside it in the text: at least so many wrong ones are its."""
    mine = text.wrong.get((claim.block, claim.gpu_ids), ())
    for other in _beside(claim, text):
        if not _copied(claim, other, text):
            continue
        alike = [c for c in mine if _copied(c, other, text)]
        if len(alike) >= least:
            return "neighbour's row copied", f"this is the figure of {other.name}, which stands beside it"
    return None


def _in_grid(claim: Claim) -> bool:
    return claim.block >= GRID


def _beside(claim: Claim, text: Around) -> Iterator[GpuSpec]:
    """GPUs of the same table, or of this section and the ones before and after."""
    place = _place(claim)
    near = [
        c for at in ((place,) if place < 0 else (place - 1, place, place + 1)) for c in text.near.get(at, ())
    ]
    near = [c for c in near if place >= 0 or c.block != claim.block]
    ids = dict.fromkeys(g for c in near if len(c.gpu_ids) == 1 or not c.several for g in c.gpu_ids)
    own = {sibling for gpu_id in claim.gpu_ids for sibling in (gpu_id, *family(gpu_id))}
    yield from (catalog.get(gpu_id) for gpu_id in ids if gpu_id not in own)


def _copied(claim: Claim, other: GpuSpec, text: Around) -> bool:
    """Whether the claim repeats what is known of `other`, or what the text states of it."""
    known = [known.value for known in evidence.of(other.id, claim.field)]
    values = (*known, *text.values.get((other.id, claim.field), ()))
    return any(
        v == (mine.value if isinstance(mine, Number) else mine)
        or (isinstance(v, float) and isinstance(mine, Number) and equal(v, mine.value))
        for v in values
        for mine in claim.values
    )


def _elsewhere(claim: Claim, text: Around) -> Explained | None:
    """The same text states the right value at another place."""
    others = (c for gpu_id in claim.gpu_ids for c in text.of_gpu.get((gpu_id, claim.field), ()))
    for other in islice(others, MOST):
        if other.several or other.values == claim.values:
            continue
        if any(
            _any_same(other, k.value) for gpu_id in other.gpu_ids for k in evidence.of(gpu_id, claim.field)
        ):
            return "internal contradiction", f"line {other.line} says {other.stated}"
    return None


def _known(claim: Claim, ids: Sequence[str]) -> Iterator[evidence.Evidence]:
    for gpu_id in ids:
        for known in evidence.of(gpu_id, claim.field):
            if isinstance(known.value, float):
                yield known


def _numbers(claim: Claim) -> list[Number]:
    return [value for value in claim.values if isinstance(value, Number)]


def _any_same(claim: Claim, value: float | str) -> bool:
    """Whether the claim states this value, give or take its rounding."""
    return any(
        abs(stated.value - value) <= (0 if claim.field in COUNTS else _LIKE) * abs(value)
        if isinstance(stated, Number) and not isinstance(value, str)
        else word(claim.field, str(stated)) == word(claim.field, str(value))
        for stated in claim.values
    )


def fits_form(claim: Claim, form: evidence.Form) -> bool:
    """Whether a value of this form may be what the claim states."""
    if form == "vector":
        return claim.vector
    return form == "value" or (form == "sparse") == bool(claim.sparse)


def _stem(gpu_id: str) -> str:
    """`h100-pcie-80gb` -> h100, `rtx-4090-laptop` -> rtx-4090, `l40s` -> l40."""
    match = re.match(r"(?:rtx-)?(?:pro-)?[a-z]*\d+", gpu_id)
    return match[0] if match else gpu_id


@cache
def _families() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for spec in catalog.all_gpus():
        stem = _stem(spec.id)
        found[stem] = (*found.get(stem, ()), spec.id)
    return found


def best_of(claim: Claim, ids: Sequence[str]) -> tuple[str, str]:
    """(value, source) to put in the claim's place; several variants are listed with their names.

    Of several peaks of one format the one that the claim states comes first.
    """
    found = [(gpu_id, best) for gpu_id in ids for best in _fitting(claim, gpu_id)[:1]]
    if not found:
        return "", ""
    values = {best.text for _, best in found}
    sources = "; ".join(dict.fromkeys(best.named for _, best in found))
    if len(values) == 1:
        return found[0][1].text, sources
    return "; ".join(f"{best.text} ({gpu_id})" for gpu_id, best in found), sources


def _fitting(claim: Claim, gpu_id: str) -> list[evidence.Evidence]:
    known = [known for known in evidence.of(gpu_id, claim.field) if fits_form(claim, known.form)]
    return sorted(known, key=lambda k: not _any_same(claim, k.value))
