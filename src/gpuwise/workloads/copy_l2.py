"""The limit of the last-level cache: copy within a working set that stays in it (warm).

The working set, source and target together, is `batch` eighths of the L2: 4, half of it, is the limit;
`--batch 2,4,8,16,32` is the sweep that shows where the cache ends (at 8) and memory begins. A step
repeats the copy until 1 GiB has moved, as one CUDA graph, because a single copy of some megabytes
takes no longer than its launch. The gap between two copies, about a microsecond, is part of the
number. A byte read and a byte written are two, as in `copy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from gpuwise.workloads.job import Job

CPU_L2_BYTES, TOY_L2_BYTES = 2**20, 2**14
"""A CPU does not tell torch its caches; a core of today has about one MiB of L2."""
STEP_BYTES, TOY_STEP_BYTES = 2**30, 2**22
HALF = 4


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one byte moved; none of them need come from memory."""
    return Cost(flop_per_item=0.0)


@workload(
    WorkloadSpec(
        id="copy-l2",
        version=1,
        title="Copy within the L2 cache, half of it, warm; batch = eighths of the L2",
        task="cache limit",
        item="byte",
        modes=("limit",),
        default_batch=HALF,
        cpu_batch=HALF,
        cost=cost,
        precisions=(Precision.FP32,),
    )
)
def copy_l2(config: RunConfig, batch: int) -> Job:
    """Copies of random bytes within `batch` eighths of the L2."""
    import torch

    from gpuwise.workloads.job import Job

    toy = config.size == "toy"
    words = max(1, batch * l2_bytes(config) // 8 // 2 // 4)
    source = torch.randint(-(2**31), 2**31 - 1, (words,), dtype=torch.int32, device=config.device)
    target = torch.empty_like(source)
    repeats = max(1, (TOY_STEP_BYTES if toy else STEP_BYTES) // (2 * source.nbytes))

    def copies() -> Tensor:
        for _ in range(repeats):
            target.copy_(source)
        return target

    step = _as_graph(copies) if config.device == "cuda" else copies
    return Job(step=step, items=repeats * 2 * source.nbytes)


def l2_bytes(config: RunConfig) -> int:
    """Size of the GPU's L2 as torch tells it; a customary one for a CPU."""
    import torch

    if config.size == "toy":
        return TOY_L2_BYTES
    if config.device == "cpu":
        return CPU_L2_BYTES
    return int(torch.cuda.get_device_properties(0).L2_cache_size)


def _as_graph(work: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """`work` captured once, as a step that replays it.

    The step holds `work`: a graph replays addresses, so whatever it reads must live as long as it does.
    """
    import torch

    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = work()

    def step(keep: object = work) -> Tensor:
        graph.replay()
        return out

    return step
