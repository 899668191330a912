"""What a text claims about a GPU, and what became of each claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["agrees", "contradicts", "differs", "cannot tell"]
"""`differs`: another value than the catalog's, which rests on one source only."""

Kind = Literal[
    "digit swap",
    "full die for product",
    "sparse as dense",
    "dense as sparse",
    "other variant",
    "neighbour's row copied",
    "unit",
    "stale price",
    "internal contradiction",
    "wrong value",
    "above peak",
    "wrong precision",
    "scaling over 100 %",
    "exactly linear",
    "exact halves",
    "repeated value",
    "order against FLOPs",
    "counted samples",
    "caution",
    "capability",
    "base as boost",
    "wrong ratio",
    "wrong sum",
]


NOT_IN_CATALOG = "not in the catalog"  # The explanation of a finding about a GPU that nobody can judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number as printed."""

    value: float  # In the SI base unit of its field
    digits: int  # Significant digits printed, trailing zeros of whole numbers left out: 2000 has one


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One field of one GPU (or of any of several variants) as a text states it."""

    line: int  # Counted from 1
    gpu: str  # The GPU as written
    gpu_ids: tuple[str, ...]  # All it may mean. Several different GPUs where the text leaves open which.
    field: str  # A field of the catalog; `peak:<format>` or `peak:tensor` for arithmetic peaks
    values: tuple[Number | str, ...]  # Several where one cell holds several: "40/80"
    stated: str  # The value as written
    block: int = 0  # Claims of one table row, list or section about one GPU share a block
    approximate: bool = False
    at_most: bool = False  # "up to": the best of the variants is meant
    sparse: bool | None = None  # True where the text says so; None where it says nothing
    vector: bool = False  # The text speaks of the ordinary cores, not of the matrix units
    several: bool = False
    """`gpu_ids` are different products, so that disagreement with all of them proves little."""
    is_range: bool = False  # The values are the ends of a range: "600-900 W"
    count: int = 1  # Of "8x H100": how many GPUs the value may be the sum of
    total: bool = False  # The text says that the value is the sum over `count` GPUs
    than: tuple[str, ...] = ()  # Of a ratio, such as "2.4 times the memory of": the GPU compared with
    more: bool = False  # Of a ratio: "more" or "faster", which may mean one more than the times
    context: tuple[str, ...] = ()  # Of a speed or a rent: the words around it, the closest first
    sure: bool = True  # False where a second reading of the layout explains the text nearly as well


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What became of one claim, or of several lines that share one fault."""

    lines: tuple[int, ...]
    gpu: str
    field: str
    stated: str
    verdict: Verdict
    kind: Kind | None = None  # Set where the verdict is "contradicts"
    best: str = ""  # The best known value, as printed
    source: str = ""  # Where the best value was read
    explanation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A value that looks like a GPU's and was not judged."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found in one file, and what was not judged."""

    file: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()  # What to know about the reading itself: encoding, rows left out
    unknown_gpus: tuple[str, ...] = ()  # GPUs that the file names and the catalog does not have
    unjudged: tuple[Unjudged, ...] = ()  # Values that could not be tied to a GPU and a field

    def count(self, verdict: Verdict) -> int:
        """Findings with this verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)
