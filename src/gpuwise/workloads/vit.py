"""ViT-B/16 on 224-pixel images: a transformer over 196 patches and a class token.

Dosovitskiy et al. 2020 (arXiv:2010.11929) as torchvision has it, dropout 0. Cost of one image of
T = 197 tokens, L layers, width C:

- arithmetic, forward: 24 L C^2 T for the linear layers (12 C^2 weights a layer, 2 operations each),
  4 L C T^2 for attention, 2 * 768 C for each of the 196 patches (16 * 16 pixels of 3 colours) and
  the classifier on one token. Backward is twice forward.
- memory traffic, in units of C values a token and layer, flash attention and pointwise chains
  fused: query-key-value product 1 + 3, attention 3 + 1, projection 1 + 1, add (whose sum is kept)
  and norm 2 + 2, expand 1 + 4, GELU 4 + 4, contract 4 + 1, add and norm 2 + 2: 36 forward, twice
  that backward.
- weights: as for BERT (`bert`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.question import Cost, Mode, RunConfig, WorkloadSpec
from gpuwise.workloads.registry import REPEATED, workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

CLASSES = 1000
PARAMETERS = 86_567_656

LEARNING_RATE = 1e-7
"""So small that some hundred steps do not fit the one batch, as for BERT: at 1e-6 the loss of four
images falls by 0.2 a step."""

FORWARD_VALUES, OPTIMISER_BYTES = 36, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class VitShape:
    """Sizes of a vision transformer; B/16 unless said otherwise."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    patch: int = 16
    image: int = 224

    @property
    def patches(self) -> int:
        return (self.image // self.patch) ** 2

    @property
    def tokens(self) -> int:
        """Patches and the class token."""
        return self.patches + 1


SHAPE = VitShape()
TOY = VitShape(layers=2, hidden=64, heads=4, patch=8, image=32)


def forward_flop(shape: VitShape = SHAPE) -> float:
    """Operations of one forward pass of one image (3.513e10)."""
    width, tokens = shape.hidden, shape.tokens
    linear = 24 * shape.layers * width**2 * tokens
    attention = 4 * shape.layers * width * tokens**2
    patches = 2 * 3 * shape.patch**2 * width * shape.patches
    return float(linear + attention + patches + 2 * width * CLASSES)


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images."""
    width = precision.bytes
    traffic = FORWARD_VALUES * SHAPE.hidden * SHAPE.tokens * SHAPE.layers * width
    if mode == "infer":
        return Cost(flop_per_item=forward_flop(), bytes_per_item=traffic + PARAMETERS * width / batch)
    return Cost(
        flop_per_item=3 * forward_flop(), bytes_per_item=3 * traffic + OPTIMISER_BYTES * PARAMETERS / batch
    )


@workload(
    WorkloadSpec(
        id="vit-b16",
        version=1,
        title="ViT-B/16, 224 px",
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=256,
        cpu_batch=4,
        cost=cost,
        switches=("master_weights", *REPEATED),
    )
)
def vit_b16(config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch; fused attention, fused optimiser, images channels-last."""
    import torch
    from torch.nn import functional

    from gpuwise.workloads.input import image_feed
    from gpuwise.workloads.job import inference_job, set_precision, training_job
    from gpuwise.workloads.models.vit import VisionTransformer

    set_precision(config)
    shape = TOY if config.size == "toy" else SHAPE
    with torch.device(config.device):
        model = VisionTransformer(shape, CLASSES)
        images = torch.randn(batch, 3, shape.image, shape.image)
        labels = torch.randint(CLASSES, (batch,))
    model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images = images.to(memory_format=torch.channels_last)
    if config.mode == "infer":
        job = inference_job(model, (images,), config, batch)
        return replace(job, feed=image_feed(job.inputs[0], None, CLASSES))
    job = training_job(
        model,
        (images,),
        lambda logits: functional.cross_entropy(logits, labels),
        # Torchvision's decay of all parameters.
        torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.3, fused=True),
        config,
        batch,
    )
    return replace(job, feed=image_feed(images, labels, CLASSES))
