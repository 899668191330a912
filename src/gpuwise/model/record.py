"""A speed with everything that is known of it: measured, published or predicted, in one shape.

Tables, charts, comparisons, choices and pages read records; where a number comes from travels with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpuwise.model import Shown
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue, usable
from gpuwise.model.question import Question
from gpuwise.model.result import Interval, Measurement

Origin = Literal["measured", "published", "predicted"]
Basis = Literal["measured", "published", "calibrated", "transferred", "spec-only"]
"""How a number is known, best first but for published: measured on this GPU; stated by others; predicted from
this card's own limits or workloads; from the same question measured on another card; from the data sheet."""
Bound = Literal["compute", "memory", "launch", "link"]
"""What limits a step: arithmetic, device memory, the host that launches kernels, or the other GPUs."""


UNSURE = Issue(
    code="precision-unsure", severity="info",
    detail="called fp32 by its source, but TF32 was the default there, or the figure needs more than the "
    "FP32 peak",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a publisher says beside the number, in their own words."""

    precision: str = ""
    versions: str = ""  # Of framework, CUDA, container, driver
    locator: str = ""  # Page, table, line or file in the source


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Shown):
    """The answer to one question on GPUs of one kind. A figure that is not known is None."""

    question: Question
    gpu_id: str  # Entry of the catalog; the device's own name where the catalog does not have it
    gpu: str = ""  # Its name as the driver or the publisher writes it
    item: str  # What throughput counts: image, sequence, token
    origin: Origin
    basis: Basis
    throughput: Interval | None = None
    """Items per second of all GPUs together; None where an issue says why there is none."""
    seconds: float | None = None  # Of one step; of one output token of a served model (TPOT)
    first_token_s: Interval | None = None  # Of a served model: seconds to the first token of an answer (TTFT)
    memory_bytes: Interval | None = None  # Peak that the framework allocates on one GPU
    fits_probability: float | None = None  # None where it ran, so that it fits, and where memory is not known
    watts: Interval | None = None  # Mean draw of all GPUs together while steps run
    bound: Bound | None = None
    shares: tuple[tuple[Bound, float], ...] = ()  # Share of a predicted step's time by bound, largest first
    source: Source | None = None  # Who states it, or the file that holds it; None for a prediction
    session: str = ""
    """What shares its conditions: the result that it was measured in; a publisher's source and framework."""
    date: str = ""  # ISO date of the measurement or publication
    software: str = ""  # Framework and version
    issues: tuple[Issue, ...] = ()
    notes: tuple[str, ...] = ()  # What the figures rest on, a sentence each
    measured: Record | None = None  # Beside a prediction: what was measured of the same question on this GPU
    raw: Measurement | None = field(default=None, repr=False)
    """Of a measured one: step times, telemetry and profile behind it."""
    stated: Statement | None = None  # Of a published one

    @property
    def batch(self) -> int | None:
        """Items a step on each GPU."""
        return self.question.batch

    @property
    def gpus(self) -> int:
        """GPUs that work together."""
        return self.question.gpus

    @property
    def value(self) -> float:
        """Items per second of all GPUs together; 0 where there is no throughput."""
        return 0.0 if self.throughput is None else self.throughput.value

    @property
    def precision(self) -> str:
        """As it ran: `tf32?` where a source calls it fp32 but TF32 is likely, `?` where nothing tells."""
        unsure = UNSURE.code in (issue.code for issue in self.issues)
        return f"{self.question.precision or ''}{'?' if unsure else ''}" or "?"

    @property
    def refusal(self) -> str:
        """Why there is no throughput; empty where there is."""
        return self.issues[0].detail if self.throughput is None and self.issues else ""

    @property
    def usable(self) -> bool:
        """True for a number that may be ranked."""
        return self.throughput is not None and usable(self.issues)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of its issues that ask for care, each once; what is only worth knowing is none."""
        return tuple(dict.fromkeys(issue.code for issue in self.issues if issue.severity != "info"))

    @property
    def leads(self) -> bool:
        """True for a number that may be a headline: usable, and its sensors agree with each other."""
        return self.usable and "energy-mismatch" not in self.codes

    @property
    def items_per_joule(self) -> float | None:
        """Energy efficiency."""
        return self.throughput.value / self.watts.value if self.throughput and self.watts else None

    @property
    def best(self) -> Interval | None:
        """The measured speed where there is one, else this record's own."""
        return self.measured.throughput if self.measured else self.throughput


class Records(tuple[Record, ...], Shown):
    """Several records, which a notebook shows together."""

    __slots__ = ()


def refused(detail: str, *, fix: str = "") -> tuple[Issue, ...]:
    """The issue of a record without a throughput."""
    return (Issue(code="refused", severity="invalid", detail=detail, fix=fix),)


Change = Literal["faster", "slower", "same", "unclear", "not-comparable"]
RunBasis = Literal["repeats", "stored", "assumed"]
"""How it is known what differs from run to run: both were repeated, earlier results of that kind of card, or
a figure for all cards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Shown):
    """Measurement `b` against `a`, the baseline."""

    cell: str
    a: Measurement
    b: Measurement
    ratio: Interval | None
    """Throughput of b over a. It says nothing of the GPUs where the verdict is not-comparable, as between
    frameworks; None where there is none."""
    verdict: Change
    note: str = ""
    basis: RunBasis | None = None  # None where there is no verdict of speeds
