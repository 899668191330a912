"""What a step computes: its kernels by class, with shapes, operations and bytes. No device, no time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KernelClass = Literal[
    "matmul",
    "convolution",
    "attention",
    "normalisation",
    "pointwise",
    "reduction",
    "gather",
    "optimiser",
    "collective",
    "copy",
]
Phase = Literal["forward", "backward", "optimiser"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel of a step, or `count` equal ones."""

    kind: KernelClass
    name: str  # The operator, as torch names it ("aten.mm"); for a fused chain its first and last
    dtype: str  # Format of the operands that are multiplied or moved: fp32, tf32, fp16, bf16, fp8, int8
    shape: tuple[int, ...]
    """matmul: (batch, m, n, k). convolution: (images, channels in, height, width, channels out,
    kernel height, kernel width, stride, groups, output height, output width). attention: (batch,
    heads, queries, keys, head width, kv heads). Others: the shape of the output."""
    flop: float  # Operations of one, a multiply-add counted as two
    bytes_read: float
    bytes_written: float
    phase: Phase
    count: int = 1
    fused: int = 1  # Operators that this kernel replaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of device memory of a step, from the lifetimes of its tensors."""

    parameters: float
    gradients: float
    gradient_count: float = 0.0  # By number: one of each parameter that learns
    optimiser: float
    peak: float  # Highest sum of live tensors, after the caching allocator's rounding; without context
    largest: float  # Largest single tensor: the workspace and fragmentation grow with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One step of one workload."""

    workload: str
    version: int
    mode: str
    precision: str
    batch: int
    compiled: bool
    item: str
    items: float  # Items of throughput that one step handles
    parameters: int
    kernels: tuple[Kernel, ...]
    memory: Memory | None = None
    unknown: tuple[str, ...] = ()  # Operators of which no cost is known; their time is missing
    known: float = 1.0  # Share of the work in operators of known cost, of the pass that has the least of it
    notes: tuple[str, ...] = ()  # What was assumed where the course of the step depends on data
    # What the host does in an eager step: operators that it dispatches in each phase, views included, and
    # `modules` that it enters; nothing where a trace was kept before this was counted.
    calls: tuple[tuple[str, int], ...] = ()

    def __hash__(self) -> int:
        """Of its name alone: hashing every kernel would take longer than what is remembered of it."""
        return hash((self.workload, self.mode, self.precision, self.batch, self.compiled, len(self.kernels)))

    @property
    def flop(self) -> float:
        """Operations of the step."""
        return sum(kernel.flop * kernel.count for kernel in self.kernels)

    @property
    def launches(self) -> int:
        """Kernels that the step launches."""
        return sum(kernel.count for kernel in self.kernels)
