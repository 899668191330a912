"""Stable Diffusion 1.5's U-Net: one denoising step of an image, and a training step.

An item is one image-step: one image through the U-Net once. An image of S steps takes S items, and
2 S under classifier-free guidance, which runs every step with and without the prompt (a batch of two
per image). 50 guided steps: images/s = throughput / 100; autoencoder and text encoder are not in it.

512 px are 64 x 64 latents, 1024 px are 128 x 128, where self-attention at the first level spans
16,384 positions. Training predicts the noise (mean squared error) with AdamW; text states are random
input, as they come precomputed in practice.

Cost: convolutions 2 C_in C_out k^2 H W, linear layers 2 C_in C_out a position, attention 4 T S C for
T queries over S keys, backward twice forward. Traffic as counted in tally.py, unet_shape.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.run import RunConfig
from gpuwise.workloads.diffusion import LEARNING_RATE, denoiser, noised
from gpuwise.workloads.unet_shape import UnetShape, unet_tally
from gpuwise.workloads.workload import Workload

if TYPE_CHECKING:
    import torch

    from gpuwise.workloads.job import Job

PARAMETERS = 859_520_964
TOY = UnetShape(
    channels=(16, 32), attends=(True, False), blocks=1, heads=2, text_tokens=5, text_width=12, groups=4
)
TOY_SIDE = 8


def unet(name: str, pixels: int, *, default_batch: int) -> Workload:
    """A workload of the U-Net at images of `pixels`^2."""
    side = pixels // 8
    return denoiser(
        name=name,
        title=f"Stable Diffusion 1.5's U-Net, {pixels} px",
        parameters=PARAMETERS,
        default_batch=default_batch,
        tally=lambda: unet_tally(UnetShape(), side),
        full=lambda config, batch: _job(config, UnetShape(), side, batch),
        toy=lambda config, batch: _job(config, TOY, TOY_SIDE, batch),
        switches=("weights", "compiler", "graph"),
    )


def _job(config: RunConfig, shape: UnetShape, side: int, batch: int) -> Job:
    """Random latents, steps and text on the device; channels-last throughout."""
    import torch
    from torch.nn import functional

    from gpuwise.workloads.job import inference_job, set_precision, training_job
    from gpuwise.workloads.models.unet import Unet

    set_precision(config)
    with torch.device(config.device):
        model = Unet(shape).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        inputs, noise = _noisy(shape, side, batch)
    if config.mode == "infer":
        return inference_job(model, inputs, config, batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, fused=True)
    return training_job(
        model, inputs, lambda found: functional.mse_loss(found.float(), noise), optimizer, config, batch
    )


def _noisy(
    shape: UnetShape, side: int, batch: int
) -> tuple[tuple[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
    """(latents (B, 4, H, W), steps (B,), text (B, 77, 768)), and the noise in the latents."""
    import torch

    latents, steps, noise = noised(batch, shape.latent, side)
    text = torch.randn(batch, shape.text_tokens, shape.text_width)
    return (latents.to(memory_format=torch.channels_last), steps, text), noise


unet_sd15 = unet("unet-sd15", 512, default_batch=8)
unet_sd15_1024 = unet("unet-sd15-1024", 1024, default_batch=2)
