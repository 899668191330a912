"""GoogLeNet and Inception v3: many small convolutions side by side.

GoogLeNet (Szegedy et al. 2014, arXiv:1409.4842) on 224 pixels with torchvision's departures: batch norm after
every convolution, a 3x3 convolution where the paper has 5x5 (torchvision issue 906), the last pooling 2x2.
Training adds the paper's two auxiliary classifiers, each with 0.3 of the loss; inference is without them:
6,624,904 parameters.

Inception v3 (Szegedy et al. 2015, arXiv:1512.00567) on 299 pixels as torchvision has it, without its
rescaling of the input (`transform_input` off). Training adds the auxiliary classifier with 0.4 of the loss,
the weight of TF-Slim and of PyTorch's fine-tuning tutorial (torchvision's reference script does not train
this network); inference is without it: 23,834,568 parameters. Cost of one image: see `convnet`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    through,
    through_all,
)
from gpuwise.workloads.workload import Build, Workload, workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

GOOGLENET_IMAGE = 224
GOOGLENET_AUXILIARY_WEIGHT = 0.3
AUXILIARY_SIDE, AUXILIARY_CHANNELS, AUXILIARY_HIDDEN = 4, 128, 1024
GOOGLENET_AUXILIARIES = ("inception4a", "inception4d")
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


GOOGLENET_LAYERS: dict[str, Layer] = {
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


def googlenet_count(*, auxiliary: bool) -> Count:
    """Forward pass of one image: 3.00 GFLOP without auxiliary classifiers."""
    total, shape = Count(), (3, GOOGLENET_IMAGE)
    for name, layer in GOOGLENET_LAYERS.items():
        counted, shape = through(layer, shape)
        total += counted
        if auxiliary and name in GOOGLENET_AUXILIARIES:
            # Pooling to 4 x 4, 1x1 convolution, two fully connected layers.
            channels, side = shape
            total += Count(pooled=channels * (side**2 + AUXILIARY_SIDE**2))
            total += through(Conv(AUXILIARY_CHANNELS), (channels, AUXILIARY_SIDE))[0]
            total += linear(AUXILIARY_CHANNELS * AUXILIARY_SIDE**2, AUXILIARY_HIDDEN)
            total += linear(AUXILIARY_HIDDEN, CLASSES)
    return total + linear(shape[0], CLASSES)


INCEPTION_IMAGE = 299
INCEPTION_AUXILIARY_WEIGHT = 0.4
INCEPTION_AUXILIARY = "Mixed_6e"
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

INCEPTION_LAYERS: dict[str, Layer] = {
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

INCEPTION_AUXILIARY_LAYERS: Chain = (Pool("mean", 5, 3), Conv(128), Conv(768, (5, 5)))
"""17 -> 5 -> 5 -> 1 px, then a classifier."""
TOY_AUXILIARY_LAYERS: Chain = (Conv(16),)


def inception_count(*, auxiliary: bool) -> Count:
    """Forward pass of one image: 11.43 GFLOP without the auxiliary classifier."""
    names = list(INCEPTION_LAYERS)
    before, after = (
        names[: names.index(INCEPTION_AUXILIARY) + 1],
        names[names.index(INCEPTION_AUXILIARY) + 1 :],
    )
    total, shape = through_all((INCEPTION_LAYERS[name] for name in before), (3, INCEPTION_IMAGE))
    if auxiliary:
        heard, (channels, _) = through_all(INCEPTION_AUXILIARY_LAYERS, shape)
        total += heard + linear(channels, CLASSES)
    rest, (channels, _) = through_all((INCEPTION_LAYERS[name] for name in after), shape)
    return total + rest + linear(channels, CLASSES)


def _branching(
    name: str,
    title: str,
    count: Callable[..., Count],
    job: Build,
    *,
    parameters: int,
    default_batch: int,
    cpu_batch: int,
) -> Workload:
    """`parameters` with auxiliary classifiers, which run in training only."""

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        return image_cost(mode, precision, batch, train=count(auxiliary=True), infer=count(auxiliary=False))

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=parameters,
        default_batch=default_batch,
        cpu_batch=cpu_batch,
        cost=cost,
        switches=SWITCHES,
    )
    return workload(spec)(job)


def _googlenet(config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch; dropout 0.2, 0.7 in auxiliaries."""
    from gpuwise.workloads.models.convnet import GoogLeNet, as_if_trained, weighted_loss

    toy = config.size == "toy"
    layers = GOOGLENET_LAYERS
    if toy:
        layers = {name: shrunk(layer, 8) for name, layer in layers.items()}

    def network() -> GoogLeNet:
        model = GoogLeNet(layers, auxiliary=config.mode == "train", hidden=32 if toy else AUXILIARY_HIDDEN)
        if config.mode == "infer":
            as_if_trained(model)
        return model

    loss = partial(weighted_loss, weight=GOOGLENET_AUXILIARY_WEIGHT)
    return image_job(network, 64 if toy else GOOGLENET_IMAGE, config, batch, loss)


def _inception_v3(config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch; dropout 0.5.

    Training needs two images: the auxiliary classifier normalises over one pixel of each.
    """
    from gpuwise.workloads.models.convnet import InceptionV3, as_if_trained, weighted_loss

    toy = config.size == "toy"
    layers, auxiliary = INCEPTION_LAYERS, INCEPTION_AUXILIARY_LAYERS
    if toy:
        layers = {name: shrunk(layer, 8) for name, layer in layers.items()}
        auxiliary = TOY_AUXILIARY_LAYERS

    def network() -> InceptionV3:
        model = InceptionV3(layers, auxiliary if config.mode == "train" else ())
        if config.mode == "infer":
            as_if_trained(model)
        return model

    loss = partial(weighted_loss, weight=INCEPTION_AUXILIARY_WEIGHT)
    return image_job(network, 107 if toy else INCEPTION_IMAGE, config, batch, loss)


googlenet = _branching(
    "googlenet", "GoogLeNet (torchvision's), 224 px", googlenet_count, _googlenet,
    parameters=13_004_888, default_batch=512, cpu_batch=16,
)  # fmt: skip
inception_v3 = _branching(
    "inception-v3", "Inception v3, 299 px", inception_count, _inception_v3,
    parameters=27_161_264, default_batch=256, cpu_batch=4,
)  # fmt: skip
