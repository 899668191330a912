"""The words for each field of the catalog: labels of tables and lists, and what a value looks like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field that texts state. `low` and `high` bound what can be meant, in the catalog's unit."""

    name: str
    label: str
    """Regular expression of its label, matched as a whole."""
    unit: str
    """A key of `quantity.UNITS`; "text" and "date" are read as such."""
    low: float = 0
    high: float = 1e30
    default: str = ""
    """The unit where neither label nor value names one."""


_SPEED = r"(?: (?:tensor )?(?:core )?(?:performance|compute|peak|rate|throughput|tflops|tops|flops))"

FIELDS = (
    Field(
        name="link_bytes_per_s",
        label=r"nvlink(?: \d(?:\.\d)?)?(?: interconnect)?(?: bandwidth| speed)?|interconnect(?: bandwidth)?"
        r"|gpu interconnect|infinity fabric(?: bandwidth)?",
        unit="bytes/s",
        low=10e9,
        high=5e12,
    ),
    Field(
        name="memory_bytes_per_s",
        label=r"(?:gpu |peak |max )?(?:memory |vram |mem )?bandwidth"
        r"|(?:speicher)?bandbreite|bande passante(?: m[\u00e9e]moire)?",
        unit="bytes/s",
        low=50e9,
        high=30e12,
    ),
    Field(
        name="memory_bus_bits",
        label=r"(?:memory |mem )(?:interface|bus)(?: width)?|bus width|memory interface width",
        unit="bit",
        low=64,
        high=16384,
        default="bit",
    ),
    Field(name="memory_type", label=r"(?:memory|vram) type", unit="text"),
    Field(
        name="memory_bytes",
        label=r"(?:gpu |video |graphics |on-?board )?(?:memory|vram|ram)(?: memory)?"
        r"(?: size| capacity| amount)?|frame ?buffer(?: size)?"
        r"|hbm|(?:grafik)?speicher|m[\u00e9e]moire(?: vid[\u00e9e]o)?",
        unit="bytes",
        low=2**31,
        high=2**40,
        default="gb",
    ),
    Field(
        name="tensor_cores",
        label=r"tensor[ -]cores?(?: count)?|tensor core count",
        unit="count",
        low=16,
        high=5000,
    ),
    Field(
        name="rt_cores", label=r"(?:rt|ray[ -]tracing)[ -]cores?(?: count)?", unit="count", low=0, high=1000
    ),
    Field(
        name="cuda_cores",
        label=r"(?:nvidia )?cuda[ -]cores?(?: count)?|cuda-kerne|c(?:\u0153|oe)urs cuda"
        r"|cudas?|shading units|shaders|fp32 cores",
        unit="count",
        low=256,
        high=100000,
    ),
    Field(
        name="stream_processors",
        label=r"stream(?:ing)? processors?|shader processors",
        unit="count",
        low=256,
        high=1e5,
    ),
    Field(
        name="sm_count",
        label=r"(?:streaming multiprocessors?|sms?|compute units?|cus?)(?: count)?",
        unit="count",
        low=4,
        high=1000,
    ),
    Field(
        name="rt_flop_per_s",
        label=r"(?:rt|ray[ -]tracing)(?: core)? (?:performance|tflops|flops)",
        unit="op/s",
        low=1e12,
        high=1e15,
        default="tflops",
    ),
    Field(
        name="peak:fp32",
        label=rf"single[ -]precision(?: \(?fp32\)?)?{_SPEED}?|fp32(?: \(?(?:float|single)\)?)?{_SPEED}?",
        unit="op/s",
        low=1e12,
        high=1e15,
        default="tflops",
    ),
    Field(
        name="peak:fp64",
        label=rf"double[ -]precision{_SPEED}?|fp64{_SPEED}?",
        unit="op/s",
        low=1e10,
        high=1e15,
        default="tflops",
    ),
    *(
        Field(
            name=f"peak:{name}",
            label=rf"(?:{label})(?: tensor)?(?: core)?{_SPEED}?",
            unit="op/s",
            low=5e12,
            high=1e17,
            default="tflops",
        )
        for name, label in (
            ("tf32", "tf32|tensor float 32"),
            ("fp16", r"(?:fp16|half[ -]precision)"),
            ("bf16", "bf(?:loat)?16"),
            ("fp8", "fp8"),
            ("int8", "int8"),
            ("fp4", "(?:nv)?fp4"),
        )
    ),
    Field(
        name="peak:tensor",
        label=r"(?:deep learning |ai )?tensor(?: core)? (?:performance|flops|tflops)"
        r"|ai (?:performance|tops)",
        unit="op/s",
        low=1e12,
        high=1e17,
        default="tflops",
    ),
    Field(
        name="power_w",
        label=r"(?:(?:max|maximum|total|typical|graphics|board|total graphics|total board|gpu) )*power"
        r"(?: consumption| draw| limit| rating)?|tdp|tgp|tbp|thermal design power"
        r"|leistungsaufnahme|consommation",
        unit="w",
        low=20,
        high=3000,
        default="w",
    ),
    Field(
        name="boost_hz",
        label=r"(?:gpu )?boost(?: clock)?(?: speed| frequency)?",
        unit="hz",
        low=5e8,
        high=4e9,
        default="mhz",
    ),
    Field(
        name="base_hz",
        label=r"(?:gpu )?base(?: clock)?(?: speed| frequency)?",
        unit="hz",
        low=2e8,
        high=4e9,
        default="mhz",
    ),
    Field(
        name="l2_bytes", label=r"l2(?: cache)?(?: size)?", unit="bytes", low=2**18, high=2**30, default="mb"
    ),
    Field(
        name="process_nm",
        label=r"(?:manufacturing )?process(?: node| size)?|fabrication|lithography",
        unit="nm",
        low=2,
        high=90,
    ),
    Field(
        name="pcie_generation",
        label=r"(?:system |bus |host )?interface|pcie(?: generation| version| gen)?",
        unit="text",
    ),
    Field(name="slots", label=r"slots?|slot width|form factor|dimensions", unit="text"),
    Field(
        name="launch",
        label=r"(?:launch|release|announcement)(?: date| year)?|launched|released|introduced",
        unit="date",
    ),
    Field(name="architecture", label=r"(?:gpu |micro)?architecture", unit="text"),
    Field(name="chip", label=r"(?:gpu )?chip|graphics processor|gpu die|die", unit="text"),
    Field(
        name="launch_price_usd", label=r"launch price|msrp", unit="usd", low=50, high=200000, default="usd"
    ),
)

_ORDINAL = re.compile(r"\b(?:first|second|third|fourth|fifth|\d(?:st|nd|rd|th))[ -]gen(?:eration)?\b")
_NOISE = re.compile(
    r"[*_`#|,]|\bnumber of\b|\bnvidia\b|\bamd\b|\bdense\b|\bsparse\b|\bwith(?:out)? sparsity\b"
)
_PARENTHESES = re.compile(r"\([^)]*\)|\[[^\]]*\]")


@cache
def of_label(label: str) -> Field | None:
    """The field that a table or list label names, or None: "**CUDA Cores (Ampere)**" -> cuda_cores."""
    plain = _PARENTHESES.sub(" ", label.casefold())
    plain = " ".join(_NOISE.sub(" ", _ORDINAL.sub(" ", plain)).replace(":", " ").split())
    return next((field for field in FIELDS if _whole(field).fullmatch(plain)), None)


@cache
def of_name(name: str) -> Field | None:
    """The field of that catalog name."""
    return next((field for field in FIELDS if field.name == name), None)


@cache
def keys() -> re.Pattern[str]:
    """A label followed by a colon, anywhere in a line: two fields may share one."""
    labels = "|".join(f"(?:{field.label})" for field in FIELDS)
    before = r"(?:(?:max(?:imum)?|total|(?:first|second|third|fourth|fifth)-generation) )?"
    return re.compile(
        rf"(?<![\w-])\*{{0,3}}(?P<label>{before}(?:{labels})(?:\s?\([^)]{{0,80}}\))?)\s?\*{{0,3}}\s?:\*{{0,3}}\s*",
        re.IGNORECASE,
    )


@cache
def _whole(field: Field) -> re.Pattern[str]:
    return re.compile(rf"(?:max |maximum |total |peak )?(?:{field.label})")
