"""When a printed value and a known one are the same: rounding is no error, another digit is."""

from __future__ import annotations

import re
from math import floor, log10

from gpuwise.judge.audit.quantity import months_between
from gpuwise.model.claim import Claim, Number

CLOSE = 0.006
"""Relative difference of one figure printed by two vendors' pages: 1792 and 1800 GB/s."""
ROUNDED = 0.025
"""How far rounding to few digits may lead: 1.2 TB/s for 1.2288."""
FEW, FEW_CLOSE = 2, 0.01
"""With so few digits, or in the numbers that products are sold by, a little more: 750 for 756, 192 GB."""
COARSE = 0.1
"""The same where no more than one decimal, or one digit of a large unit, is printed: 0.3 TB/s for 0.32."""
ROUGH = 0.05
"""For "about" and "nearly"."""
_COARSE = re.compile(r"(?<![\d.,])\d[.,]\d(?!\d)|(?<![\d.,])\d ?[TP](?:B|FLOP|OP)", re.IGNORECASE)
MONTHS = 6
"""Announcement, release and first delivery of one GPU lie this far apart."""

COUNTS = frozenset(
    {
        *("cuda_cores", "stream_processors", "tensor_cores", "rt_cores", "sm_count"),
        *("memory_bus_bits", "slots", "pcie_generation", "process_nm"),
    }
)
"""Fields that are right or wrong to the last digit."""


def same(claim: Claim, stated: Number | str, known: float | str) -> bool:
    """Whether one stated value of the claim is the known one."""
    if isinstance(stated, str) or isinstance(known, str):
        return _same_text(claim.field, str(stated), str(known))
    if claim.field in COUNTS:
        return abs(stated.value - known) <= (ROUGH * known if claim.approximate else 0)
    if claim.field == "memory_bytes":
        # Product numbers are GiB on most cards and decimal GB on some; both count.
        return any(_near(claim, stated, value) for value in (known, known / 1e9 * 2**30))
    return _near(claim, stated, known)


def equal(a: float, b: float) -> bool:
    """Whether two figures are one figure, as copied."""
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b))


def _near(claim: Claim, stated: Number, known: float) -> bool:
    difference = abs(stated.value - known) / known if known else abs(stated.value)
    few = stated.digits <= FEW or claim.field == "memory_bytes"
    if difference <= (ROUGH if claim.approximate else FEW_CLOSE if few else CLOSE):
        return True
    limit = COARSE if _COARSE.search(claim.stated) else ROUNDED
    return difference <= limit and equal(_rounded(known, stated.digits), stated.value)


def _rounded(value: float, digits: int) -> float:
    return round(value, digits - 1 - floor(log10(abs(value)))) if value else 0.0


def _same_text(field: str, stated: str, known: str) -> bool:
    if field == "launch":
        return months_between(stated, known if len(known) > 4 else f"{known}-06") <= MONTHS
    return _word(field, stated) == _word(field, known)


def _word(field: str, text: str) -> str:
    """What spellings of one name have in common: "CDNA (1)" and CDNA, Ada and Ada Lovelace, DDR6."""
    plain = re.sub(r"[^a-z0-9]", "", text.casefold())
    if field == "architecture":
        plain = plain.replace("lovelace", "").removeprefix("grace")
        plain = re.sub(r"^(blackwell).*", r"\1", plain)
        return plain.removesuffix("1")
    if field == "memory_type":
        return re.sub(r"^ddr(?=[567])", "gddr", plain)
    return plain
