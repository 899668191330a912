"""The launch limit: kernels a second that one thread can start, each of them empty.

A step queues 1,000 kernels that do nothing; the driver's queue is shorter than that, so the time of
a step is what the host and the front end of the GPU need for a launch, not what the kernel does.
Its inverse is the shortest kernel worth writing. Nothing is read or written: neither warm nor cold.
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

LAUNCHES, TOY_LAUNCHES = 1000, 300


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one launch; it computes and moves nothing."""
    return Cost(flop_per_item=0.0)


@workload(
    WorkloadSpec(
        id="launch",
        version=1,
        title="Kernel launches, empty kernel",
        task="launch limit",
        item="launch",
        modes=("limit",),
        default_batch=1,
        cost=cost,
        precisions=(Precision.FP32,),
        gpus=1,
    )
)
def launch(config: RunConfig, batch: int) -> Job:
    """A thousand empty kernels a step; a toy on a CPU adds zero to one number instead."""
    import torch

    from gpuwise.workloads.job import Job

    count = TOY_LAUNCHES if config.size == "toy" else LAUNCHES
    one = torch.ones(1, device=config.device)
    nothing: Callable[[], object] = lambda: one.add_(0.0)  # noqa: E731  two ways to do nothing
    if config.device == "cuda":
        # A kernel that spins for no cycles: the one empty kernel that torch brings.
        nothing = lambda: torch.cuda._sleep(0)  # type: ignore[no-untyped-call]  # noqa: E731

    def step() -> Tensor:
        for _ in range(count):
            nothing()
        return one

    return Job(step=step, items=count)
