"""Start the ranks of one measurement on this machine, through torchrun's own API (elastic launch).

torchrun's agent starts one process per GPU, meets the agents of other machines at the rendezvous and
ends all ranks where one dies. No rank is restarted: a measurement with a gap is none. A rank that hangs
is named while the others wait for it (`pulse`).
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from typing import Any

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.elastic.rendezvous import RendezvousConnectionError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from gpuwise.measure import address, events, ranks
from gpuwise.measure.listen import Listener
from gpuwise.measure.process import Rendezvous
from gpuwise.model.run import RunConfig

MEET_S = 600.0
"""Longest wait for the other machines: they may still measure something of their own."""


def launch(
    config: RunConfig, reference: str, report: events.Report, began: float, rendezvous: Rendezvous
) -> None:
    """Run the ranks of this machine to their end and pass on what the first of them reports."""
    listener = Listener(report, config.gpus // config.nodes)
    arguments = (config, reference, began, listener.ways, listener.board)
    try:
        with listener, tempfile.TemporaryDirectory() as logs:
            settings = launch_config(config, rendezvous, logs)
            if config.nodes > 1:
                _tell_gloo(settings.local_addr)
            _start(settings, arguments)
    except ChildFailedError as error:
        report(verdict(*error.get_first_failure(), listener.failures, listener.late))


def launch_config(config: RunConfig, rendezvous: Rendezvous, logs: str) -> LaunchConfig:
    """What torchrun calls --nnodes, --nproc-per-node, --rdzv-endpoint, --rdzv-id and --max-restarts."""
    one = config.nodes == 1
    found: dict[str, Any] = {"timeout": MEET_S}
    if rendezvous.node is not None:
        found["is_host"] = rendezvous.node == 0
    return LaunchConfig(
        min_nodes=config.nodes,
        max_nodes=config.nodes,
        nproc_per_node=config.gpus // config.nodes,
        run_id=rendezvous.id,
        rdzv_backend="c10d",
        rdzv_endpoint=rendezvous.endpoint,
        rdzv_configs=found,
        local_addr="localhost" if one else address.towards(rendezvous.endpoint),
        max_restarts=0,
        logs_specs=DefaultLogsSpecs(log_dir=logs),
    )


def _tell_gloo(own: str | None) -> None:
    """Over which interface, that of this machine's own address, the machines exchange what travels beside
    NCCL, unless the user has said so."""
    name = None if own is None else address.interface(own)
    if name is not None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


def _start(config: LaunchConfig, arguments: tuple[Any, ...]) -> None:
    """Launch, again where the meeting place still belongs to the measurement before."""
    give_up = time.monotonic() + MEET_S
    while True:
        try:
            elastic_launch(config, ranks.work)(*arguments)
            return
        except RendezvousConnectionError:
            if config.max_nodes == 1 or time.monotonic() > give_up:
                raise
            time.sleep(1.0)


def verdict(
    rank: int,
    failure: ProcessFailure,
    failures: dict[int, events.Failed],
    late: events.Late | None = None,
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
