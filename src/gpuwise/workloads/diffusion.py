"""What denoising networks share: the workload around them, and noised latents to work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.tally import Tally, cost_of
from gpuwise.workloads.workload import Build, Workload, workload

if TYPE_CHECKING:
    import torch

    from gpuwise.workloads.job import Job

STEPS = 1000
LEARNING_RATE = 1e-6
"""Small, so that the one batch is not fitted while it is timed."""


def denoiser(
    *,
    name: str,
    title: str,
    parameters: int,
    default_batch: int,
    tally: Callable[[], Tally],
    full: Build,
    toy: Build,
    switches: tuple[str, ...],
) -> Workload:
    """A workload whose item is one image-step; `tally` counts one image through the full network."""

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        return cost_of(tally(), mode, precision, batch)

    def build(config: RunConfig, batch: int) -> Job:
        return (toy if config.size == "toy" else full)(config, batch)

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="image generation",
        item="image-step",
        modes=("train", "infer"),
        parameters=parameters,
        default_batch=default_batch,
        cpu_batch=1,
        cost=cost,
        switches=switches,
    )
    return workload(spec)(build)


def noised(batch: int, channels: int, side: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(noised latents (B, C, H, W), steps (B,), the noise in the latents (B, C, H, W))."""
    import torch

    clean, noise = torch.randn(2, batch, channels, side, side).unbind(0)
    steps = torch.randint(STEPS, (batch,))
    kept = (1 - steps / STEPS)[:, None, None, None]  # share of the signal's variance that is left
    return kept.sqrt() * clean + (1 - kept).sqrt() * noise, steps, noise
