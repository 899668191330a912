"""Several ranks measure one configuration together, one process per GPU: each of them, and who starts them.

A step ends when its last rank ends: with c(r, k) the time from the common start to the end of step k on
rank r, step k takes max_r c(r, k) - max_r c(r, k-1), and a window the time of its slowest rank. Every
rank sees these same times and rank 0's clock, so all decide alike when to stop, and no rank is left
waiting in an exchange. Items are those that all ranks really processed.

Before that, unless a search wants a speed only, each rank times the same step without any exchange, all
at once. What one GPU alone is faster than that is lost to what the ranks share (power, heat, host); what
the slowest rank needs more than the middle one is lost by waiting for it; the rest is the exchange.

Each rank also writes a heartbeat into memory that the ranks of a machine share: a thread of it the time,
every second; its work how far it has come, at every mark between steps.

torchrun's agent (its own API, elastic launch) starts them, meets the agents of other machines at the
rendezvous and ends all ranks where one dies. No rank is restarted: a measurement with a gap is invalid.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields, replace
from datetime import timedelta
from itertools import accumulate, pairwise
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from statistics import fmean
from typing import Any, TypeVar

import psutil
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.elastic.rendezvous import RendezvousConnectionError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from gpuwise.measure import child, events
from gpuwise.measure.engine import Clock, run_steps, share
from gpuwise.measure.frameworks.torch import TorchAdapter, clock_for
from gpuwise.measure.request import Rendezvous, Task
from gpuwise.measure.telemetry import cpu_count
from gpuwise.model.question import RunConfig, WorkloadSpec
from gpuwise.model.result import Group, Rank
from gpuwise.model.units import seconds
from gpuwise.workloads.parallel import bucket_bytes, without_exchange

A = TypeVar("A")

# Longest wait for another rank, which may be compiling.
TIMEOUT = timedelta(minutes=10)
# Time of the steps without exchange, after as much warm-up.
ALONE_S, ALONE_QUICK_S = 2.0, 0.2
# A rank that fails because another is gone waits before it ends, so that the other is found first.
OTHERS_FIRST_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """All ranks as one of them sees them; `hosts` carries what travels beside the measured exchange."""

    rank: int
    local: int  # Number among the ranks of this machine
    node: int
    size: int
    hosts: Any

    def gather(self, mine: A) -> list[A]:
        """Every rank's value, in their order, on every rank."""
        answers: list[Any] = [None] * self.size
        dist.all_gather_object(answers, mine, group=self.hosts)
        return answers

    def first(self, answer: Callable[[], A]) -> A:
        """Rank 0's answer, on every rank; the others do not ask."""
        boxed = [answer() if self.rank == 0 else None]
        dist.broadcast_object_list(boxed, src=0, group=self.hosts)
        return boxed[0]  # type: ignore[return-value]


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


BEAT_S = 1.0
# From when on a rank for which others wait is named.
LATE_S = 10.0
HUNG_S = 120.0

PHASES = ("starting", "measuring alone", "building the step", "making steps")


@dataclass(frozen=True, slots=True)
class Row:
    """The state that one rank has written; times are this machine's monotonic seconds."""

    rank: float = 0.0
    local: float = 0.0  # Number on this machine, and that of its GPU
    pid: float = 0.0
    phase: float = 0.0
    steps: float = 0.0  # Marks between steps, in this phase
    moved: float = 0.0  # When phase or steps last changed
    beat: float = 0.0


WIDTH = len(fields(Row))


def board(ranks: int) -> Any:
    """Memory for the rows of so many ranks, to be handed to processes when they start."""
    return get_context("spawn").RawArray("d", WIDTH * ranks)


def rows(shared: Any) -> list[Row]:
    """Those of the ranks that are at work, by their number on this machine."""
    every = [Row(*shared[start : start + WIDTH]) for start in range(0, len(shared), WIDTH)]
    return [row for row in every if row.pid]


class Heartbeat:
    """One rank's own row."""

    def __init__(self, shared: Any, local: int, rank: int) -> None:
        self._shared, self._local, self._rank = shared, local, rank
        self._phase, self._steps, self._moved = 0, 0, time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def enter(self, phase: str) -> None:
        self._phase, self._steps, self._moved = PHASES.index(phase), 0, time.monotonic()

    def step(self) -> None:
        """A step was handed to the device."""
        self._steps += 1
        self._moved = time.monotonic()

    def end(self) -> None:
        """The rank has done its work: nobody waits for it any more."""
        self._over.set()
        self._thread.join()
        self._put(Row())

    def _live(self) -> None:
        self._write()
        while not self._over.wait(BEAT_S):
            self._write()

    def _write(self) -> None:
        place, far = (self._rank, self._local, os.getpid()), (self._phase, self._steps, self._moved)
        self._put(Row(*place, *far, time.monotonic()))

    def _put(self, row: Row) -> None:
        start = WIDTH * self._local
        self._shared[start : start + WIDTH] = astuple(row)


def straggler(rows: Sequence[Row], now: float) -> events.Straggler | None:
    """The rank for which the others wait, if they have waited for LATE_S.

    silent  the whole process stands still (stopped, swapped out, caught in a driver's call): no time is
            written. Nothing that a healthy rank does lasts HUNG_S, and then it is ended.
    behind  it lives, and has come less far than others, which have not moved since: it compiles, or its host
            or GPU is slow or stuck. That may be right, so it is only named.

    Where every GPU waits for one whose kernel never ends, all hosts have come equally far, and nobody is
    named.
    """
    oldest = min(rows, key=lambda row: row.beat, default=None)
    if oldest is None:
        return None
    late, waited_s = oldest, now - oldest.beat
    if not (silent := waited_s > LATE_S):
        late = min(rows, key=lambda row: (row.phase, row.steps))
        ahead = [row for row in rows if (row.phase, row.steps) > (late.phase, late.steps)]
        waited_s = now - max(late.moved, min(row.moved for row in ahead)) if ahead else 0.0
    if waited_s <= LATE_S:
        return None
    rank, gpu, pid, phase = (int(value) for value in (late.rank, late.local, late.pid, late.phase))
    return events.Straggler(
        rank=rank, gpu=gpu, pid=pid, doing=PHASES[phase], waited_s=waited_s, silent=silent
    )


class CommonClock:
    """A clock of all ranks: `read` waits for all and returns the same to all."""

    def __init__(self, clock: Clock, ranks: Ranks, heartbeat: Heartbeat) -> None:
        self._own, self._ranks, self._heartbeat = clock, ranks, heartbeat
        # Monotonic clocks of two machines have nothing in common; those of one machine are one.
        head = ranks.first(lambda: (ranks.node, clock.now()))
        self._offset_s = 0.0 if head[0] == ranks.node else clock.now() - head[1]

    def now(self) -> float:
        """Rank 0's time, as this machine's clock counts."""
        head = torch.tensor([self._own.now()], dtype=torch.float64)
        dist.broadcast(head, src=0, group=self._ranks.hosts)
        return float(head) + self._offset_s

    def mark(self) -> None:
        self._own.mark()
        self._heartbeat.step()

    def read(self) -> tuple[float, ...]:
        ends = torch.tensor([0.0, *accumulate(self._own.read())], dtype=torch.float64)
        dist.all_reduce(ends, dist.ReduceOp.MAX, group=self._ranks.hosts)
        return tuple(b - a for a, b in pairwise(ends.tolist()))


def work(tasks: Sequence[Task], began: float, pipes: Sequence[Connection], board: Any) -> None:
    """Body of one rank, started once for all tasks. What goes wrong is sent before it ends with an error."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # also ends a rank that waits in an exchange
    # The first module that has `torch` is part of the keys of torch's cache of compiled code: pickle names
    # a memory format by it. The process that measures one GPU alone does not have this one.
    sys.modules.pop("__mp_main__", None)
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    heartbeat = Heartbeat(board, local, rank)
    adapter = TorchAdapter(tasks[0][1], seed=rank)

    def report(event: events.Event) -> None:
        if isinstance(event, events.First):
            heartbeat.enter("making steps")
        # One voice per machine: its session keeps the times beside its own sensors.
        if local == 0:
            pipes[local].send((rank, event))

    try:
        ranks = join(tasks[0][0])
        for number, (config, reference) in enumerate(tasks):
            if number:
                adapter.release(config)
                report(events.Idle())
                heartbeat.enter("starting")
                adapter, began = TorchAdapter(reference, seed=rank), time.monotonic()
            run(adapter, config, ranks, report, began, heartbeat)
            dist.barrier(group=ranks.hosts)
        heartbeat.end()
        dist.destroy_process_group()
        gc.freeze()  # the process ends sooner, as in `child.main`
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        with suppress(OSError):
            pipes[local].send((rank, child.failure(error, adapter.reference, adapter)))
        if not adapter.out_of_memory(error):
            time.sleep(OTHERS_FIRST_S)
        raise SystemExit(1) from error


def run(
    adapter: TorchAdapter,
    config: RunConfig,
    ranks: Ranks,
    report: events.Report,
    began: float,
    heartbeat: Heartbeat,
) -> None:
    """Measure one configuration with the other ranks. Raises torch's own errors."""
    start = child.ColdStart(adapter.compiler(config), began)
    here = child.Run(adapter, config, report, start)
    report(adapter.ready(config))
    spec, single = adapter.spec(config), replace(config, gpus=1, nodes=1)
    batch, why = 0, adapter.unsupported(single)
    tensor = config.scaling == "tensor"
    if why is None and tensor:  # the whole may not fit one GPU, so nothing is searched there
        batch = config.batch or (spec.cpu_batch if config.device == "cpu" else spec.default_batch)
    elif why is None:
        with start.aside():
            batch, why = share(config, ranks.first(lambda: fitting(adapter, single, report)))
    if why is not None:
        report(events.Failed(kind="unsupported", message=why))
        return
    with start.aside():
        by_itself = config if tensor else single
        alone_s = alone(adapter, by_itself, batch, ranks, heartbeat) if attributed(config, spec) else ()
        cost = child.cost_of(adapter, single, batch) if ranks.local == 0 else None
    job = adapter.build(config, batch)
    start.built()
    if config.mode == "train" and job.parallel is None:
        report(events.Failed(kind="unsupported", message=f"{spec.id} exchanges no gradients"))
        return
    places = ranks.gather((ranks.node, adapter.ready(config).device, os.getpid()))
    group = Group(
        backend=dist.get_backend(),
        parallel=job.parallel,
        bucket_bytes=bucket_bytes(job.parallel, config),
        node=ranks.node,
        ranks=tuple(
            Rank(rank=number, node=node, device=device, alone_s=alone_s[number] if alone_s else None)
            for number, (node, device, _) in enumerate(places)
        ),
    )
    report(events.Ranked(group=group, pids=tuple(pid for *_, pid in places)))
    items = job.items if spec.collective or tensor else sum(ranks.gather(job.items))
    report(child.built(batch, items, cost))
    clock = CommonClock(clock_for(config.device), ranks, heartbeat)
    first = here.first_step(clock, job.step)
    ended = together(ranks.gather(here.timed(job, items, clock, job.step, first)))
    report(ended)
    if child.worth_a_look(config, ended) and (profile := adapter.look_into(config, job, clock)) is not None:
        report(profile)


def attributed(config: RunConfig, spec: WorkloadSpec) -> bool:
    """True if what several GPUs lose is attributed to its causes, for which each rank works alone first. A
    trial of `gpuwise tune` wants a speed only: alone, each would build and compile its step once more."""
    return not (spec.collective or (config.quick and config.compile))


def fitting(adapter: TorchAdapter, config: RunConfig, report: events.Report) -> int | None:
    """One GPU's batch. Where no batch was asked for, it is halved here until it fits: ranks that have started
    cannot start again with another one."""
    batch = child.choose_batch(adapter, config, report)
    if config.batch != 0 and not (config.quick and child.searched(config)):
        return batch
    while batch and child.trial(adapter, replace(config, compile=False), batch) is None:
        batch //= 2
    return batch or None


def alone(
    adapter: TorchAdapter, config: RunConfig, batch: int, ranks: Ranks, heartbeat: Heartbeat
) -> tuple[float, ...]:
    """Every rank's mean step, in seconds, while all of them work and nobody exchanges anything. Empty where
    one rank cannot do it alone."""
    heartbeat.enter("measuring alone")
    try:
        mine = _alone(adapter, config, batch)
    except RuntimeError as error:
        if not adapter.out_of_memory(error):
            raise
        mine = None
    finally:
        torch.compiler.reset()
        adapter.release(config)
    heartbeat.enter("building the step")
    every = ranks.gather(mine)
    return tuple(value for value in every if value is not None) if None not in every else ()


def _alone(adapter: TorchAdapter, config: RunConfig, batch: int) -> float:
    # A function of its own: its job is gone when `alone` gives the memory back.
    with without_exchange():
        job = adapter.build(config, batch)
    clock, step = adapter.timer(config, job)
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


# Between two looks at the ranks' heartbeats.
WATCH_S = 5.0
# Longest wait for the last words, when all ranks have ended.
DRAIN_S = 10.0
# Longest wait for the other machines: they may still measure something of their own.
MEET_S = 600.0


def launch(tasks: Sequence[Task], report: events.Report, began: float, rendezvous: Rendezvous) -> None:
    """Run the ranks of this machine to their end and pass on what the first of them reports."""
    config = tasks[0][0]
    listener = Listener(report, config.gpus // config.nodes)
    arguments = (tasks, began, listener.pipes, listener.board)
    try:
        with listener, tempfile.TemporaryDirectory() as logs:
            settings = launch_config(config, rendezvous, logs)
            name = interface(settings.local_addr) if config.nodes > 1 else None
            if name is not None:
                # What travels beside NCCL uses the interface of this machine's own address.
                os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
            give_up = time.monotonic() + MEET_S
            while True:
                try:
                    elastic_launch(settings, work)(*arguments)
                    break
                except RendezvousConnectionError:
                    # The meeting place may still belong to the measurement before.
                    if config.nodes == 1 or time.monotonic() > give_up:
                        raise
                    time.sleep(1.0)
    except ChildFailedError as error:
        report(first_failure(*error.get_first_failure(), listener.failures, listener.straggler))


def launch_config(config: RunConfig, rendezvous: Rendezvous, logs: str) -> LaunchConfig:
    """torchrun's --nnodes, --nproc-per-node, --rdzv-endpoint, --rdzv-id and --max-restarts."""
    one = config.nodes == 1
    host = {} if rendezvous.node is None else {"is_host": rendezvous.node == 0}
    return LaunchConfig(
        min_nodes=config.nodes,
        max_nodes=config.nodes,
        nproc_per_node=config.gpus // config.nodes,
        run_id=rendezvous.id,
        rdzv_backend="c10d",
        rdzv_endpoint=rendezvous.endpoint,
        rdzv_configs={"timeout": MEET_S, **host},
        local_addr="localhost" if one else towards(rendezvous.endpoint),
        max_restarts=0,
        logs_specs=DefaultLogsSpecs(log_dir=logs),
    )


def first_failure(
    rank: int,
    failure: ProcessFailure,
    failures: dict[int, events.Failed],
    late: events.Straggler | None = None,
) -> events.Failed:
    """Which rank died first and of what: its own words, else its signal or exit code; and for which
    other one all waited then."""
    how = f"exited with {failure.exitcode}"
    if failure.exitcode < 0:
        how = f"was killed by {signal.Signals(-failure.exitcode).name}"
    kind: events.ErrorKind = "failed"
    message = f"rank {rank} (GPU {failure.local_rank} of its machine) {how}"
    if rank in failures:
        kind, message = failures[rank].kind, f"rank {rank}: {failures[rank].message}"
    if late is not None and late.rank != rank:
        message += f"; all waited for {late}"
    return events.Failed(kind=kind, message=message)


class Listener:
    """Passes on what ranks report, remembers how they fail, and ends one that hangs.

    Every rank has a pipe of its own, so that one which is killed in the middle of a word leaves no lock
    behind for which the others, or this process, would wait. One thread reads them all.
    """

    def __init__(self, report: events.Report, count: int) -> None:
        self._report = report
        self.board = board(count)
        pairs = [Pipe(duplex=False) for _ in range(count)]
        self.pipes: list[Connection] = [writer for _, writer in pairs]
        """Where each rank sends (rank, event), by its number on this machine."""
        self.failures: dict[int, events.Failed] = {}
        """What each rank says of its own failure."""
        self.straggler: events.Straggler | None = None
        """The rank that the others wait for."""
        self._readers = [reader for reader, _ in pairs]
        self._end, self._bell = Pipe(duplex=False)
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bell.send(None)
        self._thread.join(DRAIN_S)

    def _listen(self) -> None:
        looked, ended = time.monotonic(), False
        while True:
            ready = wait([*self._readers, self._end], 0.0 if ended else WATCH_S)
            for reader in self._readers:
                if reader in ready:
                    self._take(*reader.recv())
            if ended and not set(ready) - {self._end}:
                return
            ended = self._end in ready
            if time.monotonic() - looked >= WATCH_S:
                looked = time.monotonic()
                self._look(looked)

    def _take(self, rank: int, event: events.Event) -> None:
        if isinstance(event, events.Failed):
            self.failures[rank] = event
        self._report(event)

    def _look(self, now: float) -> None:
        """Name the rank that others wait for; end one that is silent for too long."""
        self.straggler = late = straggler(rows(self.board), now)
        if late is None or late.rank in self.failures:
            return
        self._report(late)
        if late.silent and late.waited_s > HUNG_S:
            hung = f"hangs: its process was silent for {seconds(late.waited_s)}, and was ended"
            self._take(late.rank, events.Failed(kind="failed", message=hung))
            os.kill(late.pid, signal.SIGKILL)


def towards(endpoint: str) -> str | None:
    """This machine's IPv4 address on the route to `HOST:PORT`; nothing is sent there.

    torchrun and gloo use what the host's own name resolves to, which is often the loopback (Debian writes
    127.0.1.1), and then wait for each other in vain; so the kernel's route is asked. None where that is the
    loopback or unknown: torchrun's own way is then as good.
    """
    host, _, port = endpoint.rpartition(":")
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        address = str(probe.getsockname()[0])
        return None if address.startswith("127.") else address
    return None


def interface(address: str | None) -> str | None:
    """The name of the interface that has this IPv4 address, as GLOO_SOCKET_IFNAME wants it."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.family == socket.AF_INET and each.address == address for each in addresses):
            return name
    return None
