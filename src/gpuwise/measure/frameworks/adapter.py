"""The interface of a framework in which gpuwise measures.

The child, engine, telemetry, checks and store are shared. A framework is loaded by the process that measures
in it and by no other, so two of them never meet.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.measure import events
from gpuwise.measure.engine import ArrivalClock, Clock, Step
from gpuwise.measure.frameworks import FRAMEWORKS
from gpuwise.measure.locks import Turn
from gpuwise.measure.request import Rendezvous, Task
from gpuwise.model.question import Cost, Framework, RunConfig, WorkloadSpec
from gpuwise.model.result import Profile


class Job(Protocol):
    """A workload that is ready to run."""

    @property
    def step(self) -> Callable[[], Any]:
        """Queues one step and returns what it computes, maybe before that is there."""
        ...

    @property
    def items(self) -> int:
        """Of one step on all GPUs of the process."""
        ...

    @property
    def mismatch(self) -> Callable[[], float] | None:
        """Relative difference between compiled and not compiled, for the same weights and input."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceJob:
    """The job of a reference network in JAX or TensorFlow."""

    step: Callable[[], Any]
    items: int
    mismatch: Callable[[], float] | None = None


class Compiler(Protocol):
    """Adds up what the framework's compiler does between `listen` and `ignore`."""

    seconds: float
    graphs: int
    cached: int

    def listen(self) -> None: ...
    def ignore(self) -> None: ...


J = TypeVar("J", bound=Job)
# A context whose time is not part of the cold start.
Aside = Callable[[], AbstractContextManager[None]]


class Adapter(ABC, Generic[J]):
    """One framework, in the process that measures; `reference` is the workload as the registry finds it."""

    searches_eagerly = False
    """The batch is searched without compiling: worth it where an eager step resembles the compiled one."""
    checks_first = False
    """Numbers are compared before the first step, from weights that no step has moved. XLA's programs are
    compared after it: the comparison would compile them outside of the first step's time."""

    keeps_peak = False
    """The framework knows only the peak of the whole process."""

    def __init__(self, reference: str) -> None:
        self.reference, self.turn = reference, Turn()

    @abstractmethod
    def ready(self, config: RunConfig) -> events.Ready:
        """Versions and the device. Raises RuntimeError where the framework sees no device."""

    @abstractmethod
    def gpus(self) -> int:
        """GPUs that the process sees."""

    @abstractmethod
    def build(self, config: RunConfig, batch: int) -> J:
        """Network, input and state on the device, `batch` items on each GPU."""

    @abstractmethod
    def wait(self, output: Any) -> Any:
        """The output of a step, once it is computed; the loss in training."""

    @abstractmethod
    def forget_peak(self, config: RunConfig) -> None:
        """Begin the peak of memory anew, unless `keeps_peak`."""

    @abstractmethod
    def peak_bytes(self, config: RunConfig) -> int | None:
        """Highest memory in use on the device since then; None where it is not counted."""

    @abstractmethod
    def out_of_memory(self, error: BaseException) -> bool:
        """True if that error is one of memory."""

    @abstractmethod
    def release(self, config: RunConfig) -> None:
        """Give back memory that nothing refers to, also that of a failed trial's reference cycles."""

    def spec(self, config: RunConfig) -> WorkloadSpec:
        """The workload that is measured."""
        return workloads.get(config.workload).spec

    def unsupported(self, config: RunConfig) -> str | None:
        """Why the device cannot run the configuration, or None where it can."""
        if config.device == "cuda" and config.gpus > self.gpus():
            return f"{config.framework} sees {self.gpus()} GPU(s) of the {config.gpus} asked for"
        return None

    def timer(self, config: RunConfig, job: J) -> tuple[Clock, Step]:
        """A clock and the step that it times."""
        clock = ArrivalClock(self.wait)
        return clock, clock.watched(job.step)

    def without_search(self) -> AbstractContextManager[None]:
        """For one step whose speed is not asked for: its library does not search for the fastest kernels."""
        return nullcontext()

    def compiler(self, config: RunConfig) -> Compiler | None:
        """The clock of compilation within the first step; None where there is none."""
        return None

    def count(self, config: RunConfig, batch: int) -> Cost | None:
        """The operations of one item, counted; None where they cannot be."""
        return None

    def check(self, job: J, aside: Aside) -> events.Checked | None:
        """The check of a job's numbers; None where there is nothing to compare."""
        return None if job.mismatch is None else events.Checked(mismatch=job.mismatch())

    def extremes(self, output: Any) -> tuple[float, float, int]:
        """(least value, largest value, number of values) of an answer; both are NaN where one is."""
        import numpy

        answer = numpy.asarray(output, dtype=float)
        return float(answer.min()), float(answer.max()), answer.size

    def with_input(self, config: RunConfig, job: J, clock: Clock) -> tuple[Step, events.Fed]:
        """The step with a new batch from the host each time, and what step and pipeline do alone."""
        raise InputError(f"{config.framework} measures no input pipeline", hint="leave out the input")

    def look_into(self, config: RunConfig, job: J, clock: Clock) -> Profile | events.Unprofiled | None:
        """A profile of a few steps, or why it failed; None where the framework has no profiler."""
        return None

    def launch(
        self, tasks: Sequence[Task], report: events.Report, began: float, rendezvous: Rendezvous
    ) -> bool:
        """Measure by one process per GPU, one after the other, where the framework works so; False where this
        process does."""
        return False


def load(framework: Framework, reference: str) -> Adapter[Any]:
    """The adapter of a framework, with the framework imported.

    Beside torch, the others cannot be imported in this process any more: Keras would load JAX where it finds
    it. A workload of the user's own in torch may import what it likes.
    """
    if framework != "torch":
        for other in {"torch", *FRAMEWORKS} - {framework}:
            sys.modules[other] = None  # type: ignore[assignment]
    adapter: Adapter[Any] = import_module(f"gpuwise.measure.frameworks.{framework}").ADAPTER(reference)
    return adapter
