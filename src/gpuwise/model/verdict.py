"""What bounds a speed, and where the time of a step goes: the evidence and what is concluded from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KernelKind = Literal[
    "matmul",
    "convolution",
    "attention",
    "normalisation",
    "pointwise",
    "copy",
    "transfer",
    "collective",
    "other",
]
"""copy stays on the device; transfer goes to or from the host or another device."""
Bound = Literal["input", "launch", "link", "heat", "power", "compute", "memory"]
"""What a faster one of would make the step faster: the input pipeline, the host that launches, the link,
the cooling, the power limit, the arithmetic, the device's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTime:
    """The kernels of one kind, or of one name, in one step."""

    kind: KernelKind
    count: float
    seconds: float
    """Their times added up; kernels that run at once count each."""
    name: str | None = None
    """As the profiler tells it; None = all of the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a few steps after the timed windows did, by torch's profiler; all figures are of one step.

    On a CPU an operator stands for a kernel.
    """

    steps: int
    wall_s: float
    """Under the profiler, which slows the host."""
    busy_s: float
    """While at least one kernel ran."""
    link_s: float
    """While nothing but collectives and transfers ran."""
    longest_gap_s: float
    """The longest time of no kernel in all the profiled steps."""
    kernels: tuple[KernelTime, ...]
    """Of each kind, longest first."""
    slowest: tuple[KernelTime, ...] = ()
    """Those of the names that take longest, longest first."""

    @property
    def kernel_count(self) -> float:
        """Kernels of a step."""
        return sum(each.count for each in self.kernels)

    @property
    def kernel_s(self) -> float:
        """Their times added up."""
        return sum(each.seconds for each in self.kernels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What bounds the speed, why one thinks so, and what to do about it."""

    bound: Bound
    evidence: tuple[str, ...]
    """The deciding fact first."""
    next_step: str
