"""Image classifiers of convolutions and batch norms: ResNet, GoogLeNet, Inception v3; layers are data.

ResNet-50 and -152 (He et al. 2015, arXiv:1512.03385; v1.5) on 224 pixels are bound by memory.

GoogLeNet (Szegedy et al. 2014, arXiv:1409.4842) on 224 pixels with torchvision's departures: batch norm after
every convolution, a 3x3 convolution where the paper has 5x5 (torchvision issue 906), the last pooling 2x2.
Training adds the paper's two auxiliary classifiers, each with 0.3 of the loss; inference is without them:
6,624,904 parameters.

Inception v3 (Szegedy et al. 2015, arXiv:1512.00567) on 299 pixels as torchvision has it, without its
rescaling of the input (`transform_input` off). Training adds the auxiliary classifier with 0.4 of the loss,
the weight of TF-Slim and of PyTorch's fine-tuning tutorial (torchvision's reference script does not train
this network); inference is without it: 23,834,568 parameters.

Cost of one image, counted over the layers of a forward pass:

- arithmetic: 2 operations a multiply-add, forward; backward is twice forward.
- memory traffic, in values, when each kernel reads its input and writes its output once. Of R values
  that convolutions take in and W that they put out, training moves, forward: convolution reads and
  writes (R + W), batch statistics read (W), normalise + ReLU reads and writes (2 W). Backward:
  normalisation reduces over gradient and input (2 W), then reads both and writes a gradient (3 W),
  the data gradient reads and writes (W + R), the weight gradient reads gradient and activation
  (W + R). 11 W + 3 R in all. Inference with normalisation and ReLU fused into the convolution: W + R.
- a pooling that takes in and puts out P values moves them once forward and once backward (2 P).
  Concatenation is free: each branch writes where it belongs.
- optimiser: SGD with momentum reads weight, gradient, momentum and writes two of them; with the
  gradient's own write and the reads of both passes, 32 bytes a parameter and step.

Auxiliary classifiers count in training only, where they run. Of a ResNet every value that a convolution puts
out is read by one other (R = W), and the additions of the shortcuts and the one pooling are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

CLASSES = 1000
SGD_RATE, SGD_MOMENTUM, SGD_DECAY = 0.01, 0.9, 1e-4


@dataclass(frozen=True, slots=True)
class Conv:
    """Convolution without bias, batch norm, ReLU."""

    channels: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Pool:
    kind: Literal["max", "mean"]
    kernel: int
    stride: int
    padding: int = 0
    ceil: bool = False


@dataclass(frozen=True, slots=True)
class Branches:
    """Chains that read the same input; their outputs are joined along the channels."""

    chains: tuple[Chain, ...]


Layer = Conv | Pool | Branches
Chain = tuple[Layer, ...]


def side_by_side(*chains: Chain) -> Branches:
    """Those chains on one input."""
    return Branches(chains)


def same(channels: int, high: int, wide: int | None = None) -> Conv:
    """A convolution that keeps the side of the image."""
    wide = high if wide is None else wide
    return Conv(channels, (high, wide), 1, (high // 2, wide // 2))


def shrunk(layer: Layer, divisor: int) -> Layer:
    """The same layer with that many times fewer channels, for a toy."""
    if isinstance(layer, Conv):
        return replace(layer, channels=max(1, layer.channels // divisor))
    if isinstance(layer, Pool):
        return layer
    return Branches(tuple(tuple(shrunk(x, divisor) for x in chain) for chain in layer.chains))


def sized(layers: Mapping[str, Layer], toy: bool) -> Mapping[str, Layer]:
    """The layers as they are, or those of a toy."""
    return {name: shrunk(layer, 8) for name, layer in layers.items()} if toy else layers


# Ranges of what a batch norm has after training, see `models.convnet.as_if_trained`.
TRAINED = {"running_mean": (-0.5, 0.5), "running_var": (0.5, 2.0), "weight": (0.5, 1.5), "bias": (-0.5, 0.5)}


IMAGE = 224
RESNET_50, RESNET_152 = (3, 4, 6, 3), (3, 8, 36, 3)  # Blocks of the four stages.
# What each block adds to its shortcut: keeps activations of a random network below 100 in inference.
RESIDUAL_152 = 0.25


GOOGLENET_AUXILIARY_WEIGHT = 0.3
AUXILIARY_SIDE, AUXILIARY_CHANNELS, AUXILIARY_HIDDEN = 4, 128, 1024
GOOGLENET_AUXILIARIES = ("inception4a", "inception4d")
"""The layers whose output an auxiliary classifier reads."""


def _module(one: int, reduce3: int, three: int, reduce5: int, five: int, pool: int) -> Branches:
    """An inception module; the arguments are the columns of table 1 of the paper."""
    last: Chain = (Pool("max", 3, 1, 1, ceil=True), Conv(pool))
    return side_by_side((Conv(one),), (Conv(reduce3), same(three, 3)), (Conv(reduce5), same(five, 3)), last)


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


INCEPTION_IMAGE = 299
INCEPTION_AUXILIARY_WEIGHT = 0.4
INCEPTION_AUXILIARY = "Mixed_6e"  # The layer whose output the auxiliary classifier reads

MEAN = Pool("mean", 3, 1, 1)
HALVE = Pool("max", 3, 2)


def _a(pool: int) -> Branches:
    """35 px; figure 5 of the paper with one 5x5 convolution kept."""
    double: Chain = (Conv(64), same(96, 3), same(96, 3))
    return side_by_side((Conv(64),), (Conv(48), same(64, 5)), double, (MEAN, Conv(pool)))


def _c(width: int) -> Branches:
    """17 px; figure 6: 7x7 convolutions as 1x7 and 7x1."""
    twice: Chain = (Conv(width), same(width, 7, 1), same(width, 1, 7), same(width, 7, 1), same(192, 1, 7))
    once: Chain = (Conv(width), same(width, 1, 7), same(192, 7, 1))
    return side_by_side((Conv(192),), once, twice, (MEAN, Conv(192)))


def _e() -> Branches:
    """8 px; figure 7: 3x3 convolutions as 1x3 beside 3x1."""
    split = side_by_side((same(384, 1, 3),), (same(384, 3, 1),))
    return side_by_side((Conv(320),), (Conv(384), split), (Conv(448), same(384, 3), split), (MEAN, Conv(192)))


HALVING_35 = side_by_side((Conv(384, (3, 3), 2),), (Conv(64), same(96, 3), Conv(96, (3, 3), 2)), (HALVE,))
HALVING_17 = side_by_side(
    (Conv(192), Conv(320, (3, 3), 2)),
    (Conv(192), same(192, 1, 7), same(192, 7, 1), Conv(192, (3, 3), 2)),
    (HALVE,),
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
