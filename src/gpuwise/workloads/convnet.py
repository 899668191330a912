"""Image classifiers of convolutions and batch norms: ResNet, GoogLeNet, Inception v3 (`convnet.toml`).

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

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

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


def same(channels: int, high: int = 1, wide: int | None = None) -> Conv:
    """A convolution that keeps the side of the image."""
    wide = high if wide is None else wide
    return Conv(channels, (high, wide), 1, (high // 2, wide // 2))


def layer_of(row: list[Any]) -> Layer:
    """The layer that a line of the table means."""
    if isinstance(row[0], str):
        return Pool(*row)
    if isinstance(row[0], list):
        return Branches(tuple(tuple(map(layer_of, chain)) for chain in row))
    if len(row) <= 3:
        return same(*row)
    channels, high, wide, stride, *padding = row
    return Conv(channels, (high, wide), stride, tuple(padding) or (0, 0))


def shrunk(layer: Layer, divisor: int) -> Layer:
    """The same layer with that many times fewer channels, for a toy."""
    if isinstance(layer, Conv):
        return replace(layer, channels=max(1, layer.channels // divisor))
    if isinstance(layer, Pool):
        return layer
    return Branches(tuple(tuple(shrunk(x, divisor) for x in chain) for chain in layer.chains))


# Ranges of what a batch norm has after training, see `models.convnet.as_if_trained`.
TRAINED = {"running_mean": (-0.5, 0.5), "running_var": (0.5, 2.0), "weight": (0.5, 1.5), "bias": (-0.5, 0.5)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """One classifier, whatever framework it is built in: a ResNet, or layers by name."""

    image: int = 224  # Side of its images
    toy_image: int = 64
    depths: tuple[int, ...] = ()  # Of a ResNet: blocks of each stage
    width: int = 64  # And channels of the first stage
    residual: float = 1.0
    """What each block adds to its shortcut: keeps activations of a random network below 100 in inference."""
    layers: Mapping[str, Layer] = field(default_factory=dict)
    heads: tuple[str, ...] = ()  # Layers whose output an auxiliary classifier reads in training
    auxiliary: Chain = ()  # What each of these consists of
    hidden: int = 0  # Or, of GoogLeNet's, how wide its hidden layer is
    weight: float = 0.0  # Of their losses
    dropout: float = 0.0  # Before the classifier


# Of batch norms, torchvision's but for ResNet's.
NORM_EPS = 1e-3
# Of GoogLeNet's auxiliary classifiers: side of the means that they read, channels of their convolution.
AUXILIARY_SIDE, AUXILIARY_CHANNELS, AUXILIARY_DROPOUT = 4, 128, 0.7


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NETWORKS = {
    name: Network(**row | {
        "layers": {each: layer_of(layer) for each, layer in row.get("layers", {}).items()},
        "auxiliary": tuple(map(layer_of, row.get("auxiliary", ()))),
        **{each: tuple(row[each]) for each in ("depths", "heads") if each in row},
    })
    for name, row in _TABLE.items()
}  # fmt: skip


def network(name: str, *, toy: bool = False) -> Network:
    """The network of that workload, or one of the same kind with fewer channels and one block a stage."""
    whole = NETWORKS[name]
    if not toy:
        return whole
    return replace(
        whole,
        image=whole.toy_image,
        depths=(1,) * len(whole.depths),
        width=8,
        layers={name: shrunk(layer, 8) for name, layer in whole.layers.items()},
        auxiliary=(Conv(16),) if whole.auxiliary else (),
        hidden=32 if whole.hidden else 0,
    )
