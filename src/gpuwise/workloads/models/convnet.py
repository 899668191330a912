"""Convolution blocks, branching networks built from layer tables, and batch norms for inference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads.convnet import Chain, Conv, Layer, Pool, through_all

NORM_EPS = 1e-3


class ConvNormRelu(nn.Module):
    def __init__(self, channels_in: int, layer: Conv) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            channels_in, layer.channels, layer.kernel, layer.stride, layer.padding, bias=False
        )
        self.bn = nn.BatchNorm2d(layer.channels, eps=NORM_EPS)

    def forward(self, x: Tensor) -> Tensor:  # (B, C_in, H, W) -> (B, C, H / stride, W / stride)
        return functional.relu(self.bn(self.conv(x)), inplace=True)


class Joined(nn.ModuleList):
    """Chains side by side, joined along the channels."""

    def forward(self, x: Tensor) -> Tensor:  # (B, C_in, H, W) -> (B, sum of C, H', W')
        return torch.cat([chain(x) for chain in self], 1)


def build(layer: Layer, channels_in: int) -> nn.Module:
    """The module that a line of a layer table describes."""
    if isinstance(layer, Conv):
        return ConvNormRelu(channels_in, layer)
    if isinstance(layer, Pool):
        if layer.kind == "max":
            return nn.MaxPool2d(layer.kernel, layer.stride, layer.padding, ceil_mode=layer.ceil)
        return nn.AvgPool2d(layer.kernel, layer.stride, layer.padding, ceil_mode=layer.ceil)
    return Joined(build_chain(chain, channels_in) for chain in layer.chains)


def build_chain(chain: Chain, channels: int) -> nn.Sequential:
    """One layer after the other."""
    modules = []
    for layer in chain:
        modules.append(build(layer, channels))
        channels = channels_of((layer,), channels)
    return nn.Sequential(*modules)


ANY_SIDE = 1000
"""Channels do not depend on the side of the image; it must only be large enough for all poolings."""


def channels_of(layers: Iterable[Layer], channels: int) -> int:
    """Channels that come out of those layers when so many go in."""
    _, (channels, _) = through_all(layers, (channels, ANY_SIDE))
    return channels


def channels_after(layers: Mapping[str, Layer], name: str) -> int:
    """Channels that the layer of that name puts out for a coloured image."""
    until = list(layers)[: list(layers).index(name) + 1]
    return channels_of((layers[x] for x in until), 3)


class BranchingNet(nn.Module):
    """Named layers one after the other, mean over the image, dropout, classifier.

    In training the auxiliary classifiers read the output of the layer they are named for; the
    result is then (logits, each auxiliary's logits in order).
    """

    def __init__(
        self,
        layers: Mapping[str, Layer],
        auxiliaries: Mapping[str, nn.Module],
        *,
        dropout: float,
        classes: int,
    ) -> None:
        super().__init__()
        channels = 3
        for name, layer in layers.items():
            self.add_module(name, build(layer, channels))
            channels = channels_of((layer,), channels)
        self.order = tuple(layers)
        self.auxiliaries = nn.ModuleDict(auxiliaries)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(channels, classes)
        initialise(self, mode="fan_in")

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:  # (B, 3, H, W) -> (B, classes)
        heard: list[Tensor] = []
        for name in self.order:
            x = getattr(self, name)(x)
            if self.training and name in self.auxiliaries:
                heard.append(self.auxiliaries[name](x))
        x = torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1)  # (B, C)
        logits: Tensor = self.fc(self.dropout(x))
        return (logits, *heard) if heard else logits


def initialise(model: nn.Module, *, mode: Literal["fan_in", "fan_out"] = "fan_out") -> None:
    """He initialisation; without it activations of a random net explode in fp16."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=mode, nonlinearity="relu")


def as_if_trained(model: nn.Module) -> None:
    """Random statistics and scales for every batch norm, from torch's seed, for inference.

    Fresh ones make it the identity in evaluation, which compiled and eager compute alike to the
    last bit: a comparison of the two would say nothing. On average these keep the variance.
    """
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_mean is not None
            assert module.running_var is not None
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
