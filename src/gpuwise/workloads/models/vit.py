"""ViT-B/16 on 224-pixel images: a transformer over 196 patches and a class token; pre-norm, fused attention.

Dosovitskiy et al. 2020 (arXiv:2010.11929) as torchvision has it, dropout 0; its state dict loads after
renaming (`torchvision_names`). Query, key and value are one product. Cost of one image of
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

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.model.question import RunConfig
from gpuwise.workloads.input import image_feed
from gpuwise.workloads.job import Job, inference_job, set_precision, training_job
from gpuwise.workloads.models import self_attention

CLASSES = 1000

LEARNING_RATE = 1e-7
"""So small that some hundred steps do not fit the one batch: at 1e-6 its loss falls by 0.2 a step."""


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
NORM_EPS = 1e-6
INITIAL_STD = 0.02


class Attention(nn.Module):
    def __init__(self, shape: VitShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.project = nn.Linear(shape.hidden, shape.hidden)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, T, C)
        return self.project(self_attention(self.qkv(x), self.heads))


class Layer(nn.Module):
    """Norm, attention, add; norm, feed-forward, add."""

    def __init__(self, shape: VitShape) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(shape.hidden, eps=NORM_EPS)
        self.attention = Attention(shape)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=NORM_EPS)
        self.expand = nn.Linear(shape.hidden, 4 * shape.hidden)
        self.contract = nn.Linear(4 * shape.hidden, shape.hidden)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, T, C)
        x = x + self.attention(self.norm1(x))
        return x + self.contract(functional.gelu(self.expand(self.norm2(x))))


class VisionTransformer(nn.Module):
    """Image in, class scores out; the classifier reads the class token."""

    def __init__(self, shape: VitShape, classes: int = 1000) -> None:
        super().__init__()
        self.class_token = nn.Parameter(torch.empty(1, 1, shape.hidden))
        self.patches = nn.Conv2d(3, shape.hidden, shape.patch, shape.patch)
        self.positions = nn.Parameter(torch.empty(1, shape.tokens, shape.hidden))
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.hidden, eps=NORM_EPS)
        self.head = nn.Linear(shape.hidden, classes)
        # Normal everywhere; torchvision's classifier starts at zero, which would hide wrong numbers
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=INITIAL_STD)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, images: Tensor) -> Tensor:  # (B, 3, 224, 224) -> (B, classes)
        x = self.patches(images).flatten(2).transpose(1, 2)  # (B, 196, C)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1)  # (B, T, C)
        x = x + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def vit_b16(config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch; fused attention, fused optimiser, images channels-last."""
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


JOBS = {"vit-b16": vit_b16}
