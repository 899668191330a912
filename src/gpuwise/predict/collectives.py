"""Several GPUs of one machine that train one network together: the time and memory of their exchange.

Data parallel training (Li et al. 2020, "PyTorch Distributed") averages the gradients after each step:

    all-reduce = steps x latency + 2 (n - 1) / n x bytes / bandwidth        a ring (Patarasu & Yuan 2009)
    exposed    = last bucket + what the rest takes longer than the backward pass it overlaps with
    crowding   = share x what is hidden                       units and bandwidth that the exchange takes
    copies     = gradients x a copy's time                    each goes to its bucket by a kernel of its own
    cuts       = (buckets - 1) x 4 x activation / memory bandwidth        of compiled graphs
    waiting    = step x spread x E[largest of n standard normals]               the slowest sets the pace

Gradients travel in buckets of 25 MiB as soon as the backward pass has made them; only the last waits. Alone,
a GPU keeps each where it was made; here it is divided and copied to its bucket (PyTorch, `reducer.cpp`). A
compiler cuts its graphs at the buckets, and what a cut hands on is written and read once more, forward and
backward (PyTorch, `torch._dynamo.backends.distributed`, DDPOptimizer). Where
the state of training does not fit one GPU it is split (Zhao et al. 2023, "PyTorch FSDP"): weights are
gathered block by block before each of two passes and gradients scattered, each (n - 1) / n of their bytes.
Weights that do not learn are gathered too: of an adapter's training they are nearly all that travels.

The bandwidth is that of the card's link each way, of which nccl-tests reach about 0.78; PCIe without a link
reaches less, and without peer-to-peer every byte goes through host memory twice. Inference runs apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from types import MappingProxyType

import numpy as np

from gpuwise.errors import NoDataError
from gpuwise.facts import catalog
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.trace import Memory, Trace
from gpuwise.model.workload import STATE_ROOM
from gpuwise.predict.card import Card, card
from gpuwise.predict.kernels import KEPT_TRACES
from gpuwise.predict.memory import MIB
from gpuwise.predict.rates import usual
from gpuwise.predict.time import moved_seconds

# GPUs of one machine; what lies between machines is not a property of the card.
MOST = 8
# Of one step of the ring: 1 MiB among eight A100 takes 0.10 ms in nccl-tests.
LATENCY_S = 6e-6
BUCKET = 25 * MIB
# Standard deviation of the step times of equal GPUs, as a share (a physical prior, not fitted).
SPREAD = 0.01
# Of a GPU that an exchange takes from what runs beside it: up to 24 of some 130 units, and memory traffic
# of about three times its bytes (physical prior, not fitted).
CROWDED = 0.3
# Of the stated bandwidth each way: 234.9 of 300 GB/s among eight A100 in nccl-tests.
LINK_SHARE = 0.78
# Share of the weights that is whole at a time while they are split: two of some dozen blocks.
GATHERED = 0.15
# Operations that a card does in the time of a byte from memory; of usual cards 50 to 300.
INTENSITY = 100.0
# Bytes/s each way of a lane by generation, after its coding (PCI-SIG).
PCIE_LANE: Mapping[int, float] = MappingProxyType({3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.56e9})
# Of PCIe's bandwidth that a ring reaches with and without peer-to-peer (physical priors, not fitted).
PCIE_SHARE, STAGED_SHARE = 0.5, 0.25
# Forms that no slot takes: they sit on the board of a server.
MODULES = ("sxm", "oam")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What several GPUs add to a step."""

    seconds: float
    """That no computation hides."""
    total: float
    """Of the exchange itself."""
    how: str = ""


def exchange(trace: Trace, gpu: str, seconds: float, count: int, *, split: bool = False) -> Exchange:
    """What `count` GPUs with the id `gpu` add to the step of `trace` that takes one of them `seconds`;
    `split` where each holds a part of the state.

    Raises NoDataError where the link is not known: of some cards, and between machines.
    """
    if count == 1 or trace.mode != "train" or trace.memory is None:
        return Exchange(seconds=0.0, total=0.0)
    if count > MOST:
        raise NoDataError(f"{count} GPUs span machines, and what joins those is not known")
    rate, how = bus(gpu, count)
    averaged = all_reduce(trace.memory.gradients, rate, count)
    # Gathering or scattering once is half of an all-reduce.
    total = all_reduce(trace.memory.parameters, rate, count) + averaged / 2 if split else averaged
    last, hidden = min(trace.memory.gradients, BUCKET), 1.0 if split else backward_share(trace)
    exposed = all_reduce(last, rate, count)
    exposed += max(0.0, total - exposed - seconds * hidden)
    slowed = CROWDED * (total - exposed)
    if not split:
        one = card(gpu)
        slowed += copies(trace.memory, one) + cuts(trace, one.bytes_per_s)
    return Exchange(seconds=exposed + slowed + seconds * SPREAD * slowest(count), total=total, how=how)


def copies(memory: Memory, card: Card) -> float:
    """Seconds in which every gradient is read and written once more, each by a kernel of its own."""
    if not memory.gradient_count:
        return 0.0
    each = np.array([2.0 * memory.gradients / memory.gradient_count])
    return memory.gradient_count * float(moved_seconds(each, card, usual(card))[0])


@lru_cache(maxsize=KEPT_TRACES)
def cuts(trace: Trace, bytes_per_s: float) -> float:
    """Seconds that a compiled step loses where its graphs are cut at the buckets; 0 in eager mode."""
    handed = [
        (k.count, k.bytes_written)
        for k in trace.kernels
        if k.phase == "forward" and k.kind in ("matmul", "convolution")
    ]
    if not trace.compiled or not handed or trace.memory is None:
        return 0.0
    usual = sum(count * size for count, size in handed) / sum(count for count, _ in handed)
    return max(0.0, trace.memory.gradients / BUCKET - 1.0) * 4.0 * usual / bytes_per_s


def is_split(trace: Trace, memory_bytes: float, count: int) -> bool:
    """Whether the state of training is too large for each of `count` GPUs to hold it whole."""
    if count == 1 or trace.mode != "train" or trace.memory is None:
        return False
    return _state(trace.memory) > STATE_ROOM * memory_bytes


def beside(trace: Trace, count: int, *, split: bool) -> float:
    """Bytes that each of several GPUs holds beside (or, split, less than) one that trains alone.

    Replicated, the gradients stay in their buckets through the whole step: once more at most.
    """
    if count == 1 or trace.mode != "train" or trace.memory is None:
        return 0.0
    if not split:
        return trace.memory.gradients
    return GATHERED * trace.memory.parameters - (1.0 - 1.0 / count) * _state(trace.memory)


def _state(memory: Memory) -> float:
    return memory.parameters + memory.gradients + memory.optimiser


def slowest(count: int) -> float:
    """Expected largest of `count` standard normal numbers (Blom 1958: within 2 % up to eight)."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


@lru_cache(maxsize=KEPT_TRACES)
def backward_share(trace: Trace) -> float:
    """Share of the step that is its backward pass, bytes weighed as what a card computes meanwhile."""
    work = [
        (k.phase, (k.flop + INTENSITY * (k.bytes_read + k.bytes_written)) * k.count) for k in trace.kernels
    ]
    total = sum(amount for _, amount in work) or 1.0
    return sum(amount for phase, amount in work if phase == "backward") / total


def all_reduce(size: float, rate: float, count: int) -> float:
    """Seconds of a ring all-reduce of `size` bytes over `rate` bytes/s each way."""
    return 2 * (count - 1) * (LATENCY_S + size / count / rate)


def is_linked(spec: GpuSpec, count: int) -> bool:
    """Whether the card's own link joins so many; a bridge joins two unless a source says more."""
    bridge = spec.text("form") == "pcie"
    return count <= (spec.number("link_gpus") or (2 if bridge else MOST))


def bus(gpu: str, count: int) -> tuple[float, str]:
    """Bytes/s each way that a ring of `count` GPUs reaches, and over what.

    Raises NoDataError for a module with a link of its own that no source states.
    """
    spec = catalog.get(gpu)
    stated = spec.number("link_bytes_per_s")
    if stated and is_linked(spec, count):
        return LINK_SHARE * stated / 2, spec.text("link") or "link"
    generation = spec.number("pcie_generation")
    if spec.text("form") in (*MODULES, "soc") or generation is None:
        raise NoDataError(
            f"no source states how several {gpu} are joined", hint="predict one GPU", code="one-gpu"
        )
    lanes = spec.number("pcie_lanes") or 16.0
    staged = spec.text("pcie_peer_to_peer") == "no"
    share = STAGED_SHARE if staged else PCIE_SHARE
    how = f"PCIe {generation:.0f}.0{' through host memory' if staged else ''}"
    return share * PCIE_LANE[int(generation)] * lanes, how
