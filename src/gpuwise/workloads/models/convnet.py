"""Networks of convolutions: ResNet, and GoogLeNet and Inception v3 built from the layer tables of their
workloads.

ResNet v1.5 (He et al. 2015, arXiv:1512.03385; v1.5: the stride sits in the 3x3 convolution) has torchvision's
module names and shapes, so that a state dict of one loads into the other and the two can be compared output
for output. The others' state dicts load after renaming (tests/workloads/torchvision_names.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads import convnet
from gpuwise.workloads.convnet import CLASSES, Chain, Conv, Layer, Pool, through_all

NORM_EPS = 1e-3


class ConvNormRelu(nn.Module):
    def __init__(self, channels_in: int, layer: Conv) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            channels_in, layer.channels, layer.kernel, layer.stride, layer.padding, bias=False
        )
        self.bn = nn.BatchNorm2d(layer.channels, eps=NORM_EPS)

    def forward(self, x: Tensor) -> Tensor:  # (B, C_in, H, W) -> (B, C, H / stride, W / stride)
        # In place: the normalised values are read by nothing else.
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


EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1 reduce, 3x3 (with the stride), 1x1 expand, plus the shortcut."""

    def __init__(self, channels_in: int, width: int, stride: int) -> None:
        super().__init__()
        channels_out = width * EXPANSION
        self.conv1 = nn.Conv2d(channels_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, channels_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels_out)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels_in != channels_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out)
            )

    def forward(self, x: Tensor) -> Tensor:  # (B, C_in, H, W) -> (B, 4 * width, H / stride, W / stride)
        shortcut = x if self.downsample is None else self.downsample(x)
        x = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        x = functional.relu(self.bn2(self.conv2(x)), inplace=True)
        return functional.relu(self.bn3(self.conv3(x)) + shortcut, inplace=True)


class ResNet(nn.Module):
    """`depths` blocks in four stages; stage i has width * 2**i channels inside its blocks."""

    def __init__(self, depths: Sequence[int] = (3, 4, 6, 3), width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = width
        for stage, depth in enumerate(depths):
            stage_width = width * 2**stage
            blocks = []
            for block in range(depth):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(Bottleneck(channels, stage_width, stride))
                channels = stage_width * EXPANSION
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.stages = len(depths)
        self.fc = nn.Linear(channels, classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, 224, 224) -> (B, classes)
        x = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        x = self.maxpool(x)
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        logits: Tensor = self.fc(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))
        return logits


def scale_residuals(model: nn.Module, factor: float) -> None:
    """Scale what each block adds to its shortcut, for inference with the batch norms of `as_if_trained`.

    Without it every block doubles the variance: after the 50 blocks of ResNet-152 activations
    reach 2e8, and fp16 ends at 65,504. A trained network has small scales there, too.
    """
    for module in model.modules():
        if isinstance(module, Bottleneck):
            with torch.no_grad():
                module.bn3.weight.mul_(factor)
                module.bn3.bias.mul_(factor)


class GoogLeNetAuxiliary(nn.Module):
    """Mean over a 4 x 4 grid, 1x1 convolution, hidden layer, dropout, classifier."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.conv = ConvNormRelu(channels, Conv(convnet.AUXILIARY_CHANNELS))
        self.fc1 = nn.Linear(convnet.AUXILIARY_CHANNELS * convnet.AUXILIARY_SIDE**2, hidden)
        self.fc2 = nn.Linear(hidden, CLASSES)
        self.dropout = nn.Dropout(0.7)

    def forward(self, x: Tensor) -> Tensor:  # (B, C, 14, 14) -> (B, classes)
        x = self.conv(functional.adaptive_avg_pool2d(x, convnet.AUXILIARY_SIDE))
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        logits: Tensor = self.fc2(self.dropout(x))
        return logits


class InceptionV3Auxiliary(nn.Module):
    """Pooling and two convolutions, mean over what is left of the image, classifier."""

    def __init__(self, channels: int, layers: Chain) -> None:
        super().__init__()
        self.layers = build_chain(layers, channels)
        self.fc = nn.Linear(channels_of(layers, channels), CLASSES)

    def forward(self, x: Tensor) -> Tensor:  # (B, 768, 17, 17) -> (B, classes)
        x = torch.flatten(functional.adaptive_avg_pool2d(self.layers(x), 1), 1)
        logits: Tensor = self.fc(x)
        return logits


class GoogLeNet(BranchingNet):
    def __init__(
        self,
        layers: Mapping[str, Layer] = convnet.GOOGLENET_LAYERS,
        *,
        auxiliary: bool = True,
        hidden: int = convnet.AUXILIARY_HIDDEN,
    ) -> None:
        names = convnet.GOOGLENET_AUXILIARIES if auxiliary else ()
        heads = {name: GoogLeNetAuxiliary(channels_after(layers, name), hidden) for name in names}
        super().__init__(layers, heads, dropout=0.2, classes=CLASSES)


class InceptionV3(BranchingNet):
    """`auxiliary` are the layers of the auxiliary classifier; without any there is none."""

    def __init__(
        self,
        layers: Mapping[str, Layer] = convnet.INCEPTION_LAYERS,
        auxiliary: Chain = convnet.INCEPTION_AUXILIARY_LAYERS,
    ) -> None:
        name = convnet.INCEPTION_AUXILIARY
        heads = {name: InceptionV3Auxiliary(channels_after(layers, name), auxiliary)} if auxiliary else {}
        super().__init__(layers, heads, dropout=0.5, classes=CLASSES)


def weighted_loss(output: Sequence[Tensor], labels: Tensor, weight: float) -> Tensor:
    """Cross entropy of the classifier plus `weight` times that of each auxiliary one."""
    main, *others = (functional.cross_entropy(logits, labels) for logits in output)
    return main + weight * torch.stack(others).sum()
