"""DiT-XL/2: one denoising step of an image, and a training step.

An item is one image-step: one image through the network once. An image of S steps takes S items, and
2 S under classifier-free guidance. The paper's 250 guided steps: images/s = throughput / 500; the
autoencoder is not in it. 256 px are 32 x 32 latents (256 positions), 512 px 64 x 64 (1,024).

Training predicts the noise (mean squared error on the first half of the outputs) with AdamW. The
variance, the other half, is computed and has no loss here.

Cost: linear layers 2 C_in C_out a position, attention 4 T^2 C, backward twice forward: 2.37e11 at
256 px (the paper states 118.6 G multiply-adds). Traffic as counted in tally.py, dit_shape.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.run import RunConfig
from gpuwise.workloads.diffusion import LEARNING_RATE, denoiser, noised
from gpuwise.workloads.dit_shape import DitShape, dit_tally
from gpuwise.workloads.workload import REPEATED, Workload

if TYPE_CHECKING:
    import torch

    from gpuwise.workloads.job import Job

PARAMETERS = 674_834_720
TOY, TOY_SIDE = DitShape(layers=2, hidden=32, heads=2, classes=10), 8


def dit(name: str, pixels: int, *, default_batch: int) -> Workload:
    """A workload of DiT-XL/2 at images of `pixels`^2."""
    side = pixels // 8
    return denoiser(
        name=name,
        title=f"DiT-XL/2, {pixels} px",
        parameters=PARAMETERS,
        default_batch=default_batch,
        tally=lambda: dit_tally(DitShape(), side),
        full=lambda config, batch: _job(config, DitShape(), side, batch),
        toy=lambda config, batch: _job(config, TOY, TOY_SIDE, batch),
        switches=("weights", *REPEATED),
    )


def _job(config: RunConfig, shape: DitShape, side: int, batch: int) -> Job:
    """Random latents, steps and classes on the device."""
    import torch
    from torch.nn import functional

    from gpuwise.workloads.job import inference_job, set_precision, training_job
    from gpuwise.workloads.models.dit import Dit

    set_precision(config)
    with torch.device(config.device):
        model = Dit(shape, side)
        inputs, noise = _noisy(shape, side, batch)
    if config.mode == "infer":
        return inference_job(model, inputs, config, batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0, fused=True)

    def loss(found: torch.Tensor) -> torch.Tensor:  # (B, 8, H, W) -> ()
        return functional.mse_loss(found[:, : shape.latent].float(), noise)

    return training_job(model, inputs, loss, optimizer, config, batch)


def _noisy(
    shape: DitShape, side: int, batch: int
) -> tuple[tuple[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
    """(latents (B, 4, H, W), steps (B,), classes (B,)), and the noise in the latents."""
    import torch

    latents, steps, noise = noised(batch, shape.latent, side)
    return (latents, steps, torch.randint(shape.classes, (batch,))), noise


dit_xl2 = dit("dit-xl2", 256, default_batch=32)
dit_xl2_512 = dit("dit-xl2-512", 512, default_batch=8)
