"""GoogLeNet on 224-pixel images, in torchvision's variant: many small convolutions side by side.

Szegedy et al. 2014 (arXiv:1409.4842) with torchvision's departures: batch norm after every
convolution, a 3x3 convolution where the paper has 5x5 (torchvision issue 906), the last pooling
2x2. Training adds the paper's two auxiliary classifiers, each with 0.3 of the loss; inference is
without them: 6,624,904 parameters. Cost of one image: see `convnet`.
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
    Conv,
    Count,
    Layer,
    Pool,
    image_cost,
    image_job,
    linear,
    same,
    shrunk,
    through,
    through_all,
)
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from torch import Tensor

    from gpuwise.workloads.job import Job

IMAGE = 224
PARAMETERS = 13_004_888
"""With both auxiliary classifiers."""

AUXILIARY_WEIGHT = 0.3
AUXILIARY_SIDE, AUXILIARY_CHANNELS, AUXILIARY_HIDDEN = 4, 128, 1024
AUXILIARIES = ("inception4a", "inception4d")
"""The layers whose output an auxiliary classifier reads."""


def _module(one: int, reduce3: int, three: int, reduce5: int, five: int, pool: int) -> Branches:
    """An inception module; the arguments are the columns of table 1 of the paper."""
    return Branches(
        (
            (Conv(one),),
            (Conv(reduce3), same(three, 3)),
            (Conv(reduce5), same(five, 3)),
            (Pool("max", 3, 1, 1, ceil=True), Conv(pool)),
        )
    )


LAYERS: dict[str, Layer] = {
    "conv1": Conv(64, (7, 7), 2, (3, 3)),  # 112 px
    "maxpool1": Pool("max", 3, 2, ceil=True),  # 56
    "conv2": Conv(64),
    "conv3": same(192, 3),
    "maxpool2": Pool("max", 3, 2, ceil=True),  # 28
    "inception3a": _module(64, 96, 128, 16, 32, 32),
    "inception3b": _module(128, 128, 192, 32, 96, 64),
    "maxpool3": Pool("max", 3, 2, ceil=True),  # 14
    "inception4a": _module(192, 96, 208, 16, 48, 64),
    "inception4b": _module(160, 112, 224, 24, 64, 64),
    "inception4c": _module(128, 128, 256, 24, 64, 64),
    "inception4d": _module(112, 144, 288, 32, 64, 64),
    "inception4e": _module(256, 160, 320, 32, 128, 128),
    "maxpool4": Pool("max", 2, 2, ceil=True),  # 7
    "inception5a": _module(256, 160, 320, 32, 128, 128),
    "inception5b": _module(384, 192, 384, 48, 128, 128),
}
"""torchvision's names."""


def count(*, auxiliary: bool) -> Count:
    """Forward pass of one image."""
    total, (channels, _) = through_all(LAYERS.values(), (3, IMAGE))
    total += linear(channels, CLASSES)
    return total + _auxiliaries() if auxiliary else total


def _auxiliaries() -> Count:
    """Both auxiliary classifiers: pooling to 4 x 4, 1x1 convolution, two fully connected layers."""
    total, shape = Count(), (3, IMAGE)
    for name, layer in LAYERS.items():
        _, shape = through(layer, shape)
        if name in AUXILIARIES:
            channels, side = shape
            total += Count(pooled=channels * (side**2 + AUXILIARY_SIDE**2))
            total += through(Conv(AUXILIARY_CHANNELS), (channels, AUXILIARY_SIDE))[0]
            total += linear(AUXILIARY_CHANNELS * AUXILIARY_SIDE**2, AUXILIARY_HIDDEN)
            total += linear(AUXILIARY_HIDDEN, CLASSES)
    return total


def forward_flop() -> float:
    """Operations of one forward pass of one image, without auxiliary classifiers (3.00e9)."""
    return 2.0 * count(auxiliary=False).products


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images."""
    return image_cost(mode, precision, batch, train=count(auxiliary=True), infer=count(auxiliary=False))


@workload(
    WorkloadSpec(
        id="googlenet",
        version=1,
        title="GoogLeNet (torchvision's), 224 px",
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=512,
        cpu_batch=16,
        cost=cost,
        switches=SWITCHES,
    )
)
def googlenet(config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch; dropout 0.2, 0.7 in auxiliaries."""
    from gpuwise.workloads.models.convnet import as_if_trained
    from gpuwise.workloads.models.inception import GoogLeNet, weighted_loss

    toy = config.size == "toy"
    layers = {name: shrunk(layer, 8) for name, layer in LAYERS.items()} if toy else LAYERS

    def network() -> GoogLeNet:
        model = GoogLeNet(layers, auxiliary=config.mode == "train", hidden=32 if toy else AUXILIARY_HIDDEN)
        if config.mode == "infer":
            as_if_trained(model)
        return model

    def loss(output: tuple[Tensor, ...], labels: Tensor) -> Tensor:
        return weighted_loss(output, labels, AUXILIARY_WEIGHT)

    return image_job(network, 64 if toy else IMAGE, config, batch, loss)
