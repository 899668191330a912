"""Where the machines of one session meet, measurement by measurement.

Every machine runs the same command, so all have the same plan; each measurement on several machines has
a rendezvous of its own, named after what it measures.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gpuwise.errors import InputError
from gpuwise.measure.process import Rendezvous
from gpuwise.model.run import RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """What `--rdzv` and `--node-rank` say."""

    endpoint: str
    node: int | None = None

    def of(self, config: RunConfig) -> Rendezvous:
        """The rendezvous of one measurement."""
        name = hashlib.sha256(config.key().encode()).hexdigest()[:16]
        return Rendezvous(endpoint=self.endpoint, id=f"gpuwise-{name}", node=self.node)


def meet(nodes: int, endpoint: str | None, node: int | None) -> Meeting | None:
    """The meeting that the options mean, None for one machine. Raises InputError where they disagree."""
    if nodes == 1:
        if endpoint is not None or node is not None:
            raise InputError(
                "--rdzv and --node-rank are for several machines", hint="gpuwise bench --nodes 2"
            )
        return None
    if endpoint is None:
        raise InputError(
            f"{nodes} machines need a place to meet", hint=f"gpuwise bench --nodes {nodes} --rdzv HOST:PORT"
        )
    if node is not None and node >= nodes:
        raise InputError(f"{nodes} machines are numbered 0 to {nodes - 1}, not {node}")
    return Meeting(endpoint=_endpoint(endpoint), node=node)


def _endpoint(text: str) -> str:
    """`HOST:PORT` as it is. Raises InputError for anything else."""
    host, colon, port = text.rpartition(":")
    if not host or not colon or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(f"a rendezvous is HOST:PORT, not {text!r}", hint="gpuwise bench --rdzv node0:29400")
    return text
