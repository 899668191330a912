"""PyTorch behind the `Adapter`: jobs of the workloads, memory, compilation, references, input from the host.

With input from the host, workers prepare whole batches, a thread pins them, a second stream copies the next
one while the device computes the present one: the usual way to hide input (torch.utils.data, pinned memory,
non_blocking). The queue is emptied before anything is timed; a full one would hide slow workers.
"""

from __future__ import annotations

import gc
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.measure import events
from gpuwise.measure.engine import Clock, HostClock, Step, run_steps
from gpuwise.measure.events import Fed
from gpuwise.measure.frameworks.adapter import Adapter, Aside
from gpuwise.measure.locks import Turn
from gpuwise.measure.request import Rendezvous, Task, lacking
from gpuwise.measure.telemetry import cpu_count
from gpuwise.model.question import Cost, RunConfig, WorkloadSpec
from gpuwise.model.result import Profile
from gpuwise.workloads import Workload, foreign
from gpuwise.workloads.input import Feed, Sample
from gpuwise.workloads.job import Job

SIGNS_OF_NO_MEMORY = ("can't allocate memory", "ALLOC_FAILED", "not enough memory", "out of memory")
# Devices whose peak memory torch counts; Metal's it does not.
COUNTING = ("cuda", "xpu")
CACHED = "fxgraph_cache_hit"
# torch's counters of graphs turned into code, forward and backward each; a hit's code was found on disk.
GRAPHS = (CACHED, "fxgraph_cache_miss", "fxgraph_cache_bypass")


class EventClock:
    """Events on the device's current stream (of CUDA, HIP, Metal or SYCL), made once and used again."""

    def __init__(self, device: str) -> None:
        self._device: Any = torch.get_device_module(device)
        self._marks: list[Any] = []
        self._spare: list[Any] = []

    def now(self) -> float:
        return time.monotonic()

    def mark(self) -> None:
        event = self._spare.pop() if self._spare else self._device.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def read(self) -> tuple[float, ...]:
        self._device.synchronize()
        marks, self._marks = self._marks, []
        times = tuple(a.elapsed_time(b) / 1e3 for a, b in pairwise(marks))
        self._spare += marks
        return times


def clock_for(device: str) -> Clock:
    """The clock that times torch's work on `device`."""
    return HostClock() if device == "cpu" else EventClock(device)


class Inductor:
    """Adds up what torch.compile does while it listens, by torch's own callbacks (`torch._dynamo.callback`):
    tracing and generating code, forward and backward. Trying kernels out at their first launch is not in it.
    Other processes that prepare use the device meanwhile.
    """

    def __init__(self, turn: Turn) -> None:
        self.seconds, self.graphs, self.cached, self._turn = 0.0, 0, 0, turn
        self._listens = False
        self._since = self._now()

    def listen(self) -> None:
        """From now on; `torch.compiler.reset` ends it as well as `ignore` does."""
        from torch._dynamo.callback import callback_handler

        self._listens = True
        if self._begin not in callback_handler.start_callbacks:
            callback_handler.register_start_callback(self._begin)
            callback_handler.register_end_callback(self._end)

    def ignore(self) -> None:
        """Leave out of the count all until the next `listen`."""
        self._listens = False

    # Newer releases hand over what is compiled, which is not needed here.
    def _begin(self, *_: object) -> None:
        if self._turn.shared and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.synchronize()
        self._turn.give()
        self._since = self._now()

    def _end(self, *_: object) -> None:
        if self._listens:
            seconds, graphs, cached = (now - then for now, then in zip(self._now(), self._since, strict=True))
            self.seconds += seconds
            self.graphs += round(graphs)
            self.cached += round(cached)
        self._turn.take()

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """(time, graphs, those found on disk), of this process."""
        from torch._dynamo.utils import counters

        inductor = counters["inductor"]
        return time.monotonic(), sum(inductor[name] for name in GRAPHS), inductor[CACHED]


class TorchAdapter(Adapter[Job]):
    """`seed` differs between ranks, so that each has its own input."""

    searches_eagerly = True
    checks_first = True

    def __init__(self, reference: str, seed: int = 0) -> None:
        super().__init__(reference)
        self.seed = seed

    @cached_property
    def workload(self) -> Workload:
        """Loaded when it is needed: a file of the user's may fail, and is to fail as its measurement."""
        return workloads.load(self.reference)

    def spec(self, config: RunConfig) -> WorkloadSpec:
        return self.workload.spec

    def gpus(self) -> int:
        return torch.cuda.device_count()

    def ready(self, config: RunConfig) -> events.Ready:
        version = torch.__version__
        if config.device == "cpu":
            return events.Ready(version=version, device="cpu")
        if config.device == "mps":
            most = torch.mps.recommended_max_memory()
            return events.Ready(version=version, device="Apple GPU", memory_bytes=most)
        if config.device == "xpu":
            intel = torch.xpu.get_device_properties()
            return events.Ready(version=version, device=intel.name, memory_bytes=intel.total_memory)
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
        return events.Ready(
            version=version,
            cuda=torch.version.cuda or torch.version.hip,
            cudnn=None if cudnn is None else str(cudnn),
            device=properties.name,
            memory_bytes=properties.total_memory,
        )

    def unsupported(self, config: RunConfig) -> str | None:
        spec, gpus = self.workload.spec, self.gpus() if config.device == "cuda" else 0
        if spec.gpus > gpus and config.size != "toy":
            return f"{spec.id} needs {spec.gpus} GPU(s), there are {gpus}"
        if config.device == "cpu":
            return f"a CPU has no {config.precision}" if config.precision in lacking(None, "cpu") else None
        if config.device != "cuda" or torch.version.hip is not None:
            return None
        major, minor = torch.cuda.get_device_capability()
        if major + minor / 10 < config.precision.capability:
            return f"compute capability {major}.{minor} has no {config.precision}"
        return None

    def build(self, config: RunConfig, batch: int) -> Job:
        torch.manual_seed(self.seed)
        return self.workload.build(config, batch)

    def timer(self, config: RunConfig, job: Job) -> tuple[Clock, Step]:
        return clock_for(config.device), job.step

    def wait(self, output: Any) -> Any:
        """The output itself: what reads it waits. Raises InputError for one that is not a tensor."""
        if not isinstance(output, torch.Tensor):
            message = (
                f"{self.workload.spec.id}: a step returns a tensor on the device, not {type(output).__name__}"
            )
            raise InputError(message, hint=foreign.HOW)
        return output

    def forget_peak(self, config: RunConfig) -> None:
        _give_back(config.device)
        if config.device in COUNTING:
            torch.get_device_module(config.device).reset_peak_memory_stats()

    def peak_bytes(self, config: RunConfig) -> int | None:
        if config.device not in COUNTING:
            return None
        most = int(torch.get_device_module(config.device).max_memory_allocated())
        if config.device != "cuda":
            return most
        return most + captured(torch.cuda.memory_snapshot())  # type: ignore[no-untyped-call]

    def out_of_memory(self, error: BaseException) -> bool:
        """Of the device, or of the host when it is the device."""
        return isinstance(error, torch.OutOfMemoryError) or any(
            sign in str(error) for sign in SIGNS_OF_NO_MEMORY
        )

    def release(self, config: RunConfig) -> None:
        if config.compile:
            torch.compiler.reset()
        _give_back(config.device)

    @contextmanager
    def without_search(self) -> Iterator[None]:
        """cuDNN's search (51 s for EfficientNet-B3 on an H200) is for the step that is timed."""
        searched, torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark, False
        try:
            yield
        finally:
            torch.backends.cudnn.benchmark = searched

    def compiler(self, config: RunConfig) -> Inductor | None:
        return Inductor(self.turn) if config.compile else None

    def count(self, config: RunConfig, batch: int) -> Cost | None:
        """By one eager step of at most two items (`torch.utils.flop_counter`: matrix products, convolutions,
        attention)."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.utils.flop_counter import FlopCounterMode

        # The counter does not know the attention kernel of a CPU; its parts it does.
        context = sdpa_kernel(SDPBackend.MATH) if config.device == "cpu" else nullcontext()
        try:
            job = self.build(replace(config, compile=False), min(batch, 2))
            with context, self.without_search(), FlopCounterMode(display=False) as counter:
                job.step()
        except Exception as error:  # noqa: BLE001  it is measured without a count
            print(f"operations not counted: {type(error).__name__}: {error}")
            return None
        finally:
            _give_back(config.device)
        counted = counter.get_total_flops()
        return Cost(flop_per_item=counted / job.items) if counted else None

    def check(self, job: Job, aside: Aside) -> events.Checked | None:
        """Compiled against eager, then the gradients of steps that change no weight."""
        if job.mismatch is None and job.gradient_norm is None:
            return None
        if job.rehearse is not None:
            job.rehearse()
        with aside() if job.rehearse is not None else nullcontext():
            mismatch = job.mismatch() if job.mismatch is not None else None
            norms = (
                norm() if norm is not None else math.nan for norm in (job.gradient_norm, job.reference_norm)
            )
            norm, reference = (value if math.isfinite(value) else None for value in norms)
        kernels = sys.modules.get("gpuwise.workloads.kernels.decode")  # where the job uses these kernels
        fallback = next((why for why in kernels.doubts.values() if why), "") if kernels is not None else ""
        return events.Checked(
            mismatch=mismatch, gradient_norm=norm, reference_norm=reference, fallback=fallback
        )

    def extremes(self, output: Any) -> tuple[float, float, int]:
        """Without a copy; (0, 1) for what torch does not compare (float8, sparse, empty)."""
        try:
            real = torch.view_as_real(output.resolve_conj()) if output.is_complex() else output
            return float(real.min()), float(real.max()), output.numel()
        except (RuntimeError, NotImplementedError):
            return 0.0, 1.0, output.numel()

    def with_input(self, config: RunConfig, job: Job, clock: Clock) -> tuple[Step, events.Fed]:
        return fed(config, job, clock)

    def look_into(self, config: RunConfig, job: Job, clock: Clock) -> Profile | events.Unprofiled | None:
        if config.device not in ("cpu", "cuda"):  # what the profiler knows
            return None
        from gpuwise.measure.frameworks.torch.profile import profile, steps_for

        try:
            (step_s,) = run_steps(job.step, clock, 1)
            return profile(job.step, steps_for(step_s), config.device)
        except Exception as error:  # noqa: BLE001  whatever fails here, the measurement is complete
            return events.Unprofiled(reason=f"{type(error).__name__}: {error}".splitlines()[0][:200])

    def launch(
        self, tasks: Sequence[Task], report: events.Report, began: float, rendezvous: Rendezvous
    ) -> bool:
        if tasks[0][0].gpus == 1:
            return False
        from gpuwise.measure.frameworks.torch.ranks import launch

        launch(tasks, report, began, rendezvous)
        return True


def _give_back(device: str) -> None:
    gc.collect()
    if device != "cpu":
        torch.get_device_module(device).empty_cache()


def captured(segments: list[dict[str, Any]]) -> int:
    """Bytes in which CUDA graphs work: in pools of their own, where no replay allocates anything."""
    pools = (s for s in segments if s.get("segment_pool_id", (0, 0)) != (0, 0))
    return sum(s["total_size"] - s["allocated_size"] for s in pools)


ADAPTER = TorchAdapter


# Batches that each worker prepares in advance.
AHEAD = 2
# Of the step alone; the pipeline alone is timed for as many windows of one batch from every worker.
WINDOWS, STEPS = 3, 10
SHARED = Path("/dev/shm")


Batches = Iterator[Sample]


def fed(config: RunConfig, job: Job, clock: Clock) -> tuple[Callable[[], Tensor], Fed]:
    """The step with a new batch each time, and what step and pipeline do alone.

    Raises MachineError where the workload has no pipeline, or its batches do not fit the shared memory.
    """
    if job.feed is None:
        raise MachineError(f"{config.workload} has no input pipeline", hint="leave out the input")
    workers, batch = max(1, cpu_count() - 1), job.inputs[0].shape[0]
    run_steps(job.step, clock, STEPS)
    alone = tuple(run_steps(job.step, clock, STEPS) for _ in range(WINDOWS))
    batches = prepared(job.feed, batch, workers, config.device)
    # The pipeline's batches while nothing takes the processor from it.
    host = HostClock()
    run_steps(lambda: next(batches), host, (AHEAD + 1) * workers)
    pipeline = tuple(
        (sum(run_steps(lambda: next(batches), host, workers)) / workers,) for _ in range(WINDOWS)
    )
    step = with_input(job, job.feed, batches, config.device)
    run_steps(step, clock, AHEAD * workers)
    return step, Fed(workers=workers, pipeline_s=pipeline, alone_s=alone)


def prepared(feed: Feed, batch: int, workers: int, device: str) -> Batches:
    """Batches without end, in pinned memory where a GPU is to fetch them."""
    check_room(feed, batch, workers)
    pinned = device == "cuda"
    loader = DataLoader(feed.samples, batch, num_workers=workers, prefetch_factor=AHEAD, pin_memory=pinned)
    return iter(loader)


def check_room(feed: Feed, batch: int, workers: int) -> None:
    """Raise MachineError where the batches in the queue do not fit the memory that processes share."""
    sample: Sample = feed.samples[0]
    needed = sum(tensor.nbytes for tensor in sample) * batch * workers * (AHEAD + 1)
    if SHARED.exists() and shutil.disk_usage(SHARED).free < needed:
        raise MachineError(
            f"the input pipeline needs {needed / 2**30:.1f} GiB of shared memory, more than {SHARED} has",
            hint="give the container more (--shm-size), or take a smaller batch",
        )


def with_input(job: Job, feed: Feed, batches: Batches, device: str) -> Callable[[], Tensor]:
    """A step that takes the next batch first; on a GPU the one after it is copied meanwhile."""
    fetch = _ahead(batches) if device == "cuda" else batches

    def step() -> Tensor:
        with torch.no_grad():
            feed.place(next(fetch))
        return job.step()

    return step


def _ahead(batches: Batches) -> Batches:
    """The same batches on the GPU, copied on a stream of their own: the host is ahead of the device, so
    each copy runs while the step before it computes."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def copied() -> Sample:
        with torch.cuda.stream(aside):
            return tuple(tensor.to("cuda", non_blocking=True) for tensor in next(batches))

    while True:
        ready, here = copied(), torch.cuda.current_stream()
        here.wait_stream(aside)
        for tensor in ready:
            tensor.record_stream(here)
        yield ready
