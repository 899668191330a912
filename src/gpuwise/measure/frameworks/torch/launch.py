"""Start the ranks of one measurement on this machine, through torchrun's own API (elastic launch).

torchrun's agent starts one process per GPU, meets the agents of other machines at the rendezvous and
ends all ranks where one dies. No rank is restarted: a measurement with a gap is invalid. A rank that hangs
is named while the others wait for it.
"""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

import psutil
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.elastic.rendezvous import RendezvousConnectionError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from gpuwise.measure import events
from gpuwise.measure.frameworks.torch import ranks
from gpuwise.measure.process import Rendezvous
from gpuwise.model.run import RunConfig
from gpuwise.model.units import seconds

# Between two looks at the ranks' heartbeats.
WATCH_S = 5.0
# Longest wait for the last words, when all ranks have ended.
DRAIN_S = 10.0
# Longest wait for the other machines: they may still measure something of their own.
MEET_S = 600.0


def launch(
    config: RunConfig, reference: str, report: events.Report, began: float, rendezvous: Rendezvous
) -> None:
    """Run the ranks of this machine to their end and pass on what the first of them reports."""
    listener = Listener(report, config.gpus // config.nodes)
    arguments = (config, reference, began, listener.pipes, listener.board)
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
                    elastic_launch(settings, ranks.work)(*arguments)
                    break
                except RendezvousConnectionError:
                    # The meeting place may still belong to the measurement before.
                    if config.nodes == 1 or time.monotonic() > give_up:
                        raise
                    time.sleep(1.0)
    except ChildFailedError as error:
        report(first_failure(*error.get_first_failure(), listener.failures, listener.straggler))


def launch_config(config: RunConfig, rendezvous: Rendezvous, logs: str) -> LaunchConfig:
    """What torchrun calls --nnodes, --nproc-per-node, --rdzv-endpoint, --rdzv-id and --max-restarts."""
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
        self.board = ranks.board(count)
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
        self.straggler = late = ranks.straggler(ranks.rows(self.board), now)
        if late is None or late.rank in self.failures:
            return
        self._report(late)
        if late.silent and late.waited_s > ranks.HUNG_S:
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
        own = str(probe.getsockname()[0])
        return None if own.startswith("127.") else own
    return None


def interface(address: str | None) -> str | None:
    """The name of the interface that has this IPv4 address, as GLOO_SOCKET_IFNAME wants it."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.family == socket.AF_INET and each.address == address for each in addresses):
            return name
    return None
