"""The limits of the link between host and GPU: one large copy a step from or to pinned memory.

Pinned (page-locked) memory is what a DataLoader with `pin_memory=True` and every offloading scheme
copies from; pageable memory goes through a pinned buffer and is slower. 256 MiB of random bytes: far
more than any cache of either side (cold). An item is one byte transferred, counted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from torch import Tensor

    from gpuwise.workloads.job import Job

BYTES, TOY_BYTES = 2**28, 2**22


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """An item is one byte over the link; device memory moves it once."""
    return Cost(flop_per_item=0.0, bytes_per_item=1.0)


def _spec(name: str, title: str) -> WorkloadSpec:
    return WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="link limit",
        item="byte",
        modes=("limit",),
        default_batch=1,
        cost=cost,
        precisions=(Precision.FP32,),
        gpus=1,
    )


def _buffers(config: RunConfig) -> tuple[Tensor, Tensor]:
    """(host, device), both with random bytes; the host's are pinned where there is a GPU."""
    import torch

    size = TOY_BYTES if config.size == "toy" else BYTES
    host = torch.randint(-(2**31), 2**31 - 1, (size // 4,), dtype=torch.int32)
    device = torch.empty_like(host, device=config.device).copy_(host)
    return (host.pin_memory() if config.device == "cuda" else host), device


@workload(_spec("host-to-device", "Copy from pinned host memory to the GPU, 256 MiB, cold"))
def host_to_device(config: RunConfig, batch: int) -> Job:
    """One copy to the device a step, whatever the batch."""
    from gpuwise.workloads.job import Job

    host, device = _buffers(config)
    return Job(step=lambda: device.copy_(host, non_blocking=True), items=host.nbytes)


@workload(_spec("device-to-host", "Copy from the GPU to pinned host memory, 256 MiB, cold"))
def device_to_host(config: RunConfig, batch: int) -> Job:
    """One copy to the host a step, whatever the batch."""
    from gpuwise.workloads.job import Job

    host, device = _buffers(config)
    return Job(step=lambda: host.copy_(device, non_blocking=True), items=host.nbytes)
