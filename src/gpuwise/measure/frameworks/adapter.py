"""What a framework brings so that gpuwise measures in it: one module with the functions of `Adapter`.

Engine, clock, telemetry, gates and store are shared. A framework is loaded by the process that measures
in it and by no other, so two of them never meet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from gpuwise.model.question import FRAMEWORKS, Framework
from gpuwise.model.run import RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the engine runs; `workloads.job.Job` with another framework's arrays."""

    step: Callable[[], Any]
    """Queues one step and returns what it computes, maybe before that is there."""
    items: int
    """Of one step on all GPUs."""
    mismatch: Callable[[], float] | None = None
    """Relative difference between compiled and not compiled, for the same weights and input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a framework says of itself and of the device that it sees."""

    version: str
    device: str
    gpus: int
    """0 on a CPU."""
    memory_bytes: int | None = None
    cuda: str | None = None
    cudnn: str | None = None


class Adapter(Protocol):
    """A module `gpuwise.measure.frameworks.NAME.adapter`; importing it imports the framework."""

    def found(self, config: RunConfig) -> Found:
        """The device that `config` asks for. Raises RuntimeError where the framework sees none."""
        ...

    def build(self, config: RunConfig, batch: int) -> Job:
        """Network, random input and state on the device, `batch` items on each GPU."""
        ...

    def wait(self, output: Any) -> Any:
        """What a step returned, when it is there; the loss where it was training."""
        ...

    def forget_peak(self, config: RunConfig) -> bool:
        """Begin the peak of memory anew; False where the framework keeps that of the whole process."""
        ...

    def peak_bytes(self, config: RunConfig) -> int | None:
        """Highest memory in use on the device since then; None where the framework does not tell."""
        ...

    def out_of_memory(self, error: BaseException) -> bool:
        """Whether that error says so."""
        ...

    def release(self) -> None:
        """Give back memory that nothing refers to."""
        ...


def load(framework: Framework) -> Adapter:
    """The adapter of a framework other than torch, with the framework imported.

    The others cannot be imported in this process any more: Keras would load JAX where it finds it.
    """
    for other in FRAMEWORKS:
        if other != framework:
            sys.modules[other] = None  # type: ignore[assignment]
    adapter: Adapter = import_module(f"gpuwise.measure.frameworks.{framework}.adapter")
    return adapter
