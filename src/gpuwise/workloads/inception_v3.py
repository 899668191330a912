"""Inception v3 on 299-pixel images: factorised convolutions side by side, more pixels than ResNet.

Szegedy et al. 2015 (arXiv:1512.00567) as torchvision has it, without its rescaling of the input
(`transform_input` off). Training adds the auxiliary classifier with 0.4 of the loss, the weight of
TF-Slim and of PyTorch's fine-tuning tutorial (torchvision's reference script does not train this
network); inference is without it: 23,834,568 parameters. Cost of one image: see `convnet`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.convnet import (
    CLASSES,
    SWITCHES,
    Branches,
    Chain,
    Conv,
    Count,
    Layer,
    Pool,
    image_cost,
    image_job,
    linear,
    same,
    shrunk,
    through_all,
)
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from torch import Tensor

    from gpuwise.workloads.job import Job

IMAGE = 299
PARAMETERS = 27_161_264
"""With the auxiliary classifier."""

AUXILIARY_WEIGHT = 0.4
AUXILIARY = "Mixed_6e"
"""The layer whose output the auxiliary classifier reads."""

MEAN = Pool("mean", 3, 1, 1)
HALVE = Pool("max", 3, 2)


def _a(pool: int) -> Branches:
    """35 px; figure 5 of the paper with one 5x5 convolution kept."""
    return Branches(
        (
            (Conv(64),),
            (Conv(48), same(64, 5)),
            (Conv(64), same(96, 3), same(96, 3)),
            (MEAN, Conv(pool)),
        )
    )


def _c(width: int) -> Branches:
    """17 px; figure 6: 7x7 convolutions as 1x7 and 7x1."""
    return Branches(
        (
            (Conv(192),),
            (Conv(width), same(width, 1, 7), same(192, 7, 1)),
            (Conv(width), same(width, 7, 1), same(width, 1, 7), same(width, 7, 1), same(192, 1, 7)),
            (MEAN, Conv(192)),
        )
    )


def _e() -> Branches:
    """8 px; figure 7: 3x3 convolutions as 1x3 beside 3x1."""
    split = Branches(((same(384, 1, 3),), (same(384, 3, 1),)))
    return Branches(((Conv(320),), (Conv(384), split), (Conv(448), same(384, 3), split), (MEAN, Conv(192))))


HALVING_35 = Branches(((Conv(384, (3, 3), 2),), (Conv(64), same(96, 3), Conv(96, (3, 3), 2)), (HALVE,)))
HALVING_17 = Branches(
    (
        (Conv(192), Conv(320, (3, 3), 2)),
        (Conv(192), same(192, 1, 7), same(192, 7, 1), Conv(192, (3, 3), 2)),
        (HALVE,),
    )
)

LAYERS: dict[str, Layer] = {
    "Conv2d_1a_3x3": Conv(32, (3, 3), 2),  # 149 px
    "Conv2d_2a_3x3": Conv(32, (3, 3)),  # 147
    "Conv2d_2b_3x3": same(64, 3),
    "maxpool1": HALVE,  # 73
    "Conv2d_3b_1x1": Conv(80),
    "Conv2d_4a_3x3": Conv(192, (3, 3)),  # 71
    "maxpool2": HALVE,  # 35
    "Mixed_5b": _a(32),
    "Mixed_5c": _a(64),
    "Mixed_5d": _a(64),
    "Mixed_6a": HALVING_35,  # 17
    "Mixed_6b": _c(128),
    "Mixed_6c": _c(160),
    "Mixed_6d": _c(160),
    "Mixed_6e": _c(192),
    "Mixed_7a": HALVING_17,  # 8
    "Mixed_7b": _e(),
    "Mixed_7c": _e(),
}
"""torchvision's names, which are TF-Slim's."""

AUXILIARY_LAYERS: Chain = (Pool("mean", 5, 3), Conv(128), Conv(768, (5, 5)))
"""17 -> 5 -> 5 -> 1 px, then a classifier."""
TOY_AUXILIARY_LAYERS: Chain = (Conv(16),)


def count(*, auxiliary: bool) -> Count:
    """Forward pass of one image."""
    names = list(LAYERS)
    before, after = names[: names.index(AUXILIARY) + 1], names[names.index(AUXILIARY) + 1 :]
    total, shape = through_all((LAYERS[name] for name in before), (3, IMAGE))
    if auxiliary:
        heard, (channels, _) = through_all(AUXILIARY_LAYERS, shape)
        total += heard + linear(channels, CLASSES)
    rest, (channels, _) = through_all((LAYERS[name] for name in after), shape)
    return total + rest + linear(channels, CLASSES)


def forward_flop() -> float:
    """Operations of one forward pass of one image, without the auxiliary classifier (1.143e10)."""
    return 2.0 * count(auxiliary=False).products


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images."""
    return image_cost(mode, precision, batch, train=count(auxiliary=True), infer=count(auxiliary=False))


@workload(
    WorkloadSpec(
        id="inception-v3",
        version=1,
        title="Inception v3, 299 px",
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=256,
        cpu_batch=4,
        cost=cost,
        switches=SWITCHES,
    )
)
def inception_v3(config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch; dropout 0.5.

    Training needs two images: the auxiliary classifier normalises over one pixel of each.
    """
    from gpuwise.workloads.models.convnet import as_if_trained
    from gpuwise.workloads.models.inception import InceptionV3, weighted_loss

    toy = config.size == "toy"
    layers = {name: shrunk(layer, 8) for name, layer in LAYERS.items()} if toy else LAYERS
    auxiliary = TOY_AUXILIARY_LAYERS if toy else AUXILIARY_LAYERS

    def network() -> InceptionV3:
        model = InceptionV3(layers, auxiliary if config.mode == "train" else ())
        if config.mode == "infer":
            as_if_trained(model)
        return model

    def loss(output: tuple[Tensor, ...], labels: Tensor) -> Tensor:
        return weighted_loss(output, labels, AUXILIARY_WEIGHT)

    return image_job(network, 107 if toy else IMAGE, config, batch, loss)
