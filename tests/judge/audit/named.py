"""Tables of verdicts on names, dates, abilities, formats that a GPU lacks, and rows that mix variants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence, grid
from gpuwise.judge.audit.agree import family, next_to
from gpuwise.judge.audit.grid import GRID
from gpuwise.judge.audit.judge import judge
from gpuwise.judge.audit.words import ABILITIES
from gpuwise.model.judgement import Claim, Number

from .layers import GPUS
from .sweeps import code, turns

SPELT = {
    "architecture": (
        "Ada", "Ada Lovelace", "Hopper", "Grace Hopper", "Blackwell Ultra", "Turing", "CDNA", "CDNA (1)",
        "CDNA 3", "RDNA 3", "Kepler",
    ),
    "chip": (
        "AD102", "AD104", "GA100", "GA102", "GH100", "GK110B", "GK210", "TU102", "TU104", "TU104A", "Navi 31",
    ),
    "memory_type": ("GDDR6", "GDDR6X", "DDR6", "HBM2", "HBM2e", "HBM3", "HBM3e", "LPDDR5", "LPDDR5X", "DDR5"),
}  # fmt: skip
FORMATS = ("fp8", "fp4", "tf32", "bf16", "fp16", "int8", "tensor", "fp64")
MIXED = ("A100", "H100", "V100", "RTX 3080", "P100", "H200")


def claim(gpu: str, field: str, /, *values: str | float, **more: Any) -> Claim:
    printed = tuple(v if isinstance(v, str) else Number(value=v, digits=4) for v in values)
    given: dict[str, Any] = {"line": 1, "gpu": gpu, "gpu_ids": (gpu,), "stated": f"{values[0]}", "block": 1}
    return Claim(field=field, values=printed, **(given | more))


def of(*claims: Claim) -> str:
    return " ".join(code(found).replace(" ", "-") for found in judge(claims))


def texts() -> Iterator[str]:
    """Names under each field, true and false."""
    for field, spelt in SPELT.items():
        for gpu in GPUS:
            yield f"{gpu} {field} | {', '.join(f'{text} {of(claim(gpu, field, text))}' for text in spelt)}"


def dates() -> Iterator[str]:
    """Every month and year in which a GPU is said to have come out."""
    months = [f"{year}-{month:02d}" for year in range(2013, 2027) for month in range(1, 13)]
    for gpu in GPUS:
        by_month = turns([(month, of(claim(gpu, "launch", month))) for month in months])
        by_year = turns([(year, of(claim(gpu, "launch", f"{year}"))) for year in range(2013, 2028)])
        yield f"{gpu} | {by_month} | {by_year}"


def abilities() -> Iterator[str]:
    """What it can do, and rates of formats, which some GPUs lack."""
    for gpu in GPUS:
        able = (
            f"{field} {of(claim(gpu, field, 'yes'))} {of(claim(gpu, field, 'no'))}" for field in ABILITIES
        )
        yield f"{gpu} | {', '.join(able)}"
        for rate in (40e12, 500e12):
            for more in ({}, {"sure": False}, {"sparse": True}):
                rates = (f"{name} {of(claim(gpu, f'peak:{name}', rate, **more))}" for name in FORMATS)
                yield f"{gpu} {rate:g} {more} | {', '.join(rates)}"


def rows() -> Iterator[str]:
    """Rows of a product's name with the figures of its variants, and what else a claim may be."""
    for name in MIXED:
        owner = grid.subject_of(name)
        assert owner is not None
        fields = ("memory_bytes_per_s", "memory_bytes", "power_w")
        for ids in product(owner.gpu_ids[:4], repeat=3):
            known = [evidence.of(gpu, field)[:1] for gpu, field in zip(ids, fields, strict=True)]
            if not all(known):
                continue
            pairs = [(field, one.value) for field, (one,) in zip(fields, known, strict=True)]
            told = []
            for block in (GRID + 1, 1):
                more = {"gpu": name, "gpu_ids": owner.gpu_ids, "block": block, "sure": True}
                told.append(of(*(claim(name, field, value, **more) for field, value in pairs)))
            yield f"{name} {' '.join(ids)} | {' | '.join(told)}"


def sums() -> Iterator[str]:
    """Of several GPUs so many times the figure of one, in a row and in a sentence."""
    for gpu, field in product(GPUS[:6], ("memory_bytes", "power_w", "cuda_cores", "boost_hz")):
        known = evidence.of(gpu, field)[:1]
        for count, total, block in product((2, 4, 8), (False, True), (1, GRID + 1)) if known else ():
            times = (0.5, 0.9, 1, 1.2, 1.5, 1.9, 2, 2.5, 4, 7.8, 8, 8.5, 12, 100)
            more = {"count": count, "total": total, "block": block}
            value = float(known[0].value)
            told = turns([(n, of(claim(gpu, field, n * value, **more))) for n in times])
            yield f"{gpu} {field} {count} {total} {block} | {told}"
    yield from (f"{gpu} | {' '.join(family(gpu))}" for gpu in GPUS)
    yield from (f"{spec.id} | {' '.join(next_to(spec.id))}" for spec in catalog.all_gpus())


def tables() -> dict[str, Callable[[], list[str]]]:
    return {
        "texts": lambda: [*texts()],
        "dates": lambda: [*dates()],
        "abilities": lambda: [*abilities()],
        "rows": lambda: [*rows()],
        "sums": lambda: [*sums()],
    }
