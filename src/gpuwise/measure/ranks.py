"""Several ranks measure one configuration together, one process per GPU: what each of them does.

A step ends when its last rank ends: with c(r, k) the time from the common start to the end of step k on
rank r, step k takes max_r c(r, k) - max_r c(r, k-1), and a window the time of its slowest rank. Every
rank sees these same times and rank 0's clock, so all decide alike when to stop, and no rank is left
waiting in an exchange. Items are those that all ranks really processed.

Before that, unless a search wants a speed only, each rank times the same step without any exchange, all
at once. What one GPU alone is faster than that is lost to what the ranks share (power, heat, host); what
the slowest rank needs more than the middle one is lost by waiting for it; the rest is the exchange.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import accumulate, pairwise
from multiprocessing.connection import Connection
from statistics import fmean
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from gpuwise import workloads
from gpuwise.measure import child, events, memory
from gpuwise.measure.batch import share
from gpuwise.measure.clock import Clock, clock_for
from gpuwise.measure.cold import Start
from gpuwise.measure.engine import run_steps
from gpuwise.measure.pulse import Pulse
from gpuwise.measure.telemetry import cpu_count
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec
from gpuwise.workloads import Workload
from gpuwise.workloads.job import Job
from gpuwise.workloads.parallel import bucket_bytes

A = TypeVar("A")

TIMEOUT = timedelta(minutes=10)
"""Longest wait for another rank, which may be compiling."""
ALONE_S, ALONE_QUICK_S = 2.0, 0.2
"""Time of the steps without exchange, after as much warm-up."""
PATIENCE_S = 2.0
"""A rank that fails because another is gone waits before it ends, so that the other is found first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """All ranks as one of them sees them; `hosts` carries what travels beside the measured exchange."""

    rank: int
    local: int
    """Number among the ranks of this machine."""
    node: int
    size: int
    hosts: Any

    def gather(self, mine: A) -> list[A]:
        """Every rank's value, in their order, on every rank."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, mine, group=self.hosts)
        return found

    def first(self, answer: Callable[[], A]) -> A:
        """Rank 0's answer, on every rank; the others do not ask."""
        found = [answer() if self.rank == 0 else None]
        dist.broadcast_object_list(found, src=0, group=self.hosts)
        return found[0]  # type: ignore[return-value]


def own_gpu(variables: MutableMapping[str, str], local: int) -> int:
    """The number of a rank's GPU within its process, which sees no other; asked before CUDA begins.

    It is 0 on every rank. The number of a GPU is part of torch's compiled code and of the key under which
    that is kept (pytorch issue 108971): ranks with numbers of their own would compile one step each, and
    none could take what a measurement on one GPU has left. NCCL reads the memory of GPUs that a process does
    not see, since CUDA 10.1; whether RCCL does was not tried, so AMD's ranks see all.
    """
    if torch.version.hip is not None:
        return local
    seen = variables.get("CUDA_VISIBLE_DEVICES")
    variables["CUDA_VISIBLE_DEVICES"] = str(local) if seen is None else seen.split(",")[local]
    return 0


def join(config: RunConfig) -> Ranks:
    """Meet the other ranks, over NCCL between GPUs and gloo between processors."""
    local = int(os.environ["LOCAL_RANK"])
    if config.device == "cuda":
        device = torch.device("cuda", own_gpu(os.environ, local))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", timeout=TIMEOUT, device_id=device)
    else:
        # Ranks that all use all cores stand in each other's way; OMP_NUM_THREADS may ask for fewer.
        each = cpu_count() // int(os.environ["LOCAL_WORLD_SIZE"])
        torch.set_num_threads(max(1, min(each, torch.get_num_threads())))
        dist.init_process_group("gloo", timeout=TIMEOUT)
    return Ranks(
        rank=dist.get_rank(),
        local=local,
        node=int(os.environ["GROUP_RANK"]),
        size=dist.get_world_size(),
        hosts=dist.new_group(backend="gloo", timeout=TIMEOUT),
    )


class CommonClock:
    """A clock of all ranks: `read` waits for everyone and tells everyone the same."""

    def __init__(self, own: Clock, ranks: Ranks, pulse: Pulse) -> None:
        self._own, self._ranks, self._pulse = own, ranks, pulse
        # Monotonic clocks of two machines have nothing in common; those of one machine are one.
        head = ranks.first(lambda: (ranks.node, own.now()))
        self._offset_s = 0.0 if head[0] == ranks.node else own.now() - head[1]

    def now(self) -> float:
        """Rank 0's time, as this machine's clock counts."""
        head = torch.tensor([self._own.now()], dtype=torch.float64)
        dist.broadcast(head, src=0, group=self._ranks.hosts)
        return float(head) + self._offset_s

    def mark(self) -> None:
        self._own.mark()
        self._pulse.step()

    def read(self) -> tuple[float, ...]:
        ends = torch.tensor([0.0, *accumulate(self._own.read())], dtype=torch.float64)
        dist.all_reduce(ends, dist.ReduceOp.MAX, group=self._ranks.hosts)
        return tuple(b - a for a, b in pairwise(ends.tolist()))


def work(config: RunConfig, reference: str, began: float, ways: Sequence[Connection], board: Any) -> None:
    """Body of one rank. What goes wrong is told before the process ends with an error."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # also ends a rank that waits in an exchange
    # The first module that has `torch` is part of the keys of torch's cache of compiled code: pickle names
    # a memory format by it. The process that measures one GPU alone does not have this one.
    sys.modules.pop("__mp_main__", None)
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    pulse = Pulse(board, local, rank)

    def report(event: events.Event) -> None:
        if isinstance(event, events.First):
            pulse.enter("making steps")
        # One voice per machine: its session keeps the times beside its own sensors.
        if local == 0:
            ways[local].send((rank, event))

    try:
        ranks = join(config)
        run(config, reference, ranks, report, began, pulse)
        dist.barrier(group=ranks.hosts)
        pulse.end()
        dist.destroy_process_group()
        gc.freeze()  # the process ends sooner, as in `orders.serve`
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        with suppress(OSError):
            ways[local].send((rank, child.failure(error, reference)))
        if not child.out_of_memory(error):
            time.sleep(PATIENCE_S)
        raise SystemExit(1) from error


def run(
    config: RunConfig, reference: str, ranks: Ranks, report: events.Report, began: float, pulse: Pulse
) -> None:
    """Measure one configuration with the other ranks. Raises torch's own errors."""
    start = Start(config, began)
    report(child.ready(config))
    workload = workloads.load(reference)
    single = replace(config, gpus=1, nodes=1)
    why = child.unsupported(single, workload)
    torch.manual_seed(ranks.rank)
    own = clock_for(config.device)
    if why is None:
        with start.aside():
            asked = ranks.first(lambda: child.choose_batch(single, workload, own, report))
        batch, why = share(config, asked)
    if why is not None:
        report(events.Failed(kind="unsupported", message=why))
        return
    with start.aside():
        alone_s = alone(single, workload, batch, ranks, pulse) if attributed(config, workload.spec) else ()
        cost = child.cost_of(single, workload, batch) if ranks.local == 0 else None
    job = workload.build(config, batch)
    if config.mode == "train" and job.parallel is None:
        report(events.Failed(kind="unsupported", message=f"{workload.spec.id} exchanges no gradients"))
        return
    report(ranked(config, job, ranks, alone_s))
    items = job.items if workload.spec.collective else sum(ranks.gather(job.items))
    flop, moved = (cost.flop_per_item, cost.bytes_per_item) if cost else (None, None)
    report(events.Built(batch=batch, items=items, flop_per_item=flop, bytes_per_item=moved))
    clock = CommonClock(own, ranks, pulse)
    ended = together(ranks.gather(child.timed(config, job, items, clock, report, start)))
    report(ended)
    if child.to_profile(config, ended):
        report(child.look_into(config, job, clock))


def ranked(config: RunConfig, job: Job, ranks: Ranks, alone_s: tuple[float, ...]) -> events.Ranked:
    """Who measures together, from what every rank says of itself."""
    own = ranks.gather((ranks.node, child.ready(config).device, os.getpid()))
    nodes, devices, pids = zip(*own, strict=True)
    return events.Ranked(
        backend=dist.get_backend(),
        parallel=job.parallel,
        bucket_bytes=bucket_bytes(job.parallel, config),
        node=ranks.node,
        nodes=nodes,
        devices=devices,
        pids=pids,
        alone_s=alone_s,
    )


def attributed(config: RunConfig, spec: WorkloadSpec) -> bool:
    """Whether what several GPUs lose is told apart by its causes, for which each rank works alone first.

    A trial of `gpuwise tune` asks for a speed only: alone, each would build and compile its step once more.
    """
    return not (spec.collective or (config.quick and config.compile))


def alone(config: RunConfig, workload: Workload, batch: int, ranks: Ranks, pulse: Pulse) -> tuple[float, ...]:
    """Every rank's mean step, in seconds, while all of them work and nobody exchanges anything.

    Empty where one rank cannot do it alone.
    """
    pulse.enter("measuring alone")
    try:
        mine = _alone(config, workload, batch, ranks)
    except RuntimeError as error:
        if not child.out_of_memory(error):
            raise
        mine = None
    finally:
        torch.compiler.reset()
        memory.release(config.device)
    pulse.enter("building the step")
    every = ranks.gather(mine)
    return tuple(value for value in every if value is not None) if None not in every else ()


def _alone(config: RunConfig, workload: Workload, batch: int, ranks: Ranks) -> float:
    clock = clock_for(config.device)
    step = workload.build(config, batch).step
    run_steps(step, clock, child.TRIAL_WARMUP)
    typical = min(run_steps(step, clock, child.TRIAL_STEPS))
    seconds = ALONE_QUICK_S if config.quick or config.size == "toy" else ALONE_S
    count = max(1, round(seconds / typical))
    run_steps(step, clock, count)
    return fmean(run_steps(step, clock, count))


def together(ended: Sequence[events.Done | events.Failed]) -> events.Done | events.Failed:
    """How a measurement ended from how each rank did: the first failure, else peak, mean loss and doubt."""
    for rank, event in enumerate(ended):
        if isinstance(event, events.Failed):
            return replace(event, message=f"rank {rank}: {event.message}")
    done = [event for event in ended if isinstance(event, events.Done)]
    peaks = [event.memory_peak_bytes for event in done if event.memory_peak_bytes is not None]
    losses = zip(*(event.loss for event in done), strict=True)
    return events.Done(
        memory_peak_bytes=max(peaks, default=None),
        loss=tuple(fmean(values) for values in losses),
        odd=next((f"rank {rank}: {event.odd}" for rank, event in enumerate(done) if event.odd), None),
    )
