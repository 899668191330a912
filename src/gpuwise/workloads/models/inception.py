"""GoogLeNet and Inception v3: the layer tables of their workloads, and the auxiliary classifiers.

torchvision's state dicts load after renaming, see `torchvision_names`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads import googlenet, inception_v3
from gpuwise.workloads.convnet import CLASSES, Chain, Conv, Layer
from gpuwise.workloads.models.convnet import (
    BranchingNet,
    ConvNormRelu,
    build_chain,
    channels_after,
    channels_of,
)


class GoogLeNetAuxiliary(nn.Module):
    """Mean over a 4 x 4 grid, 1x1 convolution, hidden layer, dropout, classifier."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.conv = ConvNormRelu(channels, Conv(googlenet.AUXILIARY_CHANNELS))
        self.fc1 = nn.Linear(googlenet.AUXILIARY_CHANNELS * googlenet.AUXILIARY_SIDE**2, hidden)
        self.fc2 = nn.Linear(hidden, CLASSES)
        self.dropout = nn.Dropout(0.7)

    def forward(self, x: Tensor) -> Tensor:  # (B, C, 14, 14) -> (B, classes)
        x = self.conv(functional.adaptive_avg_pool2d(x, googlenet.AUXILIARY_SIDE))
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
        layers: Mapping[str, Layer] = googlenet.LAYERS,
        *,
        auxiliary: bool = True,
        hidden: int = googlenet.AUXILIARY_HIDDEN,
    ) -> None:
        names = googlenet.AUXILIARIES if auxiliary else ()
        heads = {name: GoogLeNetAuxiliary(channels_after(layers, name), hidden) for name in names}
        super().__init__(layers, heads, dropout=0.2, classes=CLASSES)


class InceptionV3(BranchingNet):
    """`auxiliary` are the layers of the auxiliary classifier; without any there is none."""

    def __init__(
        self,
        layers: Mapping[str, Layer] = inception_v3.LAYERS,
        auxiliary: Chain = inception_v3.AUXILIARY_LAYERS,
    ) -> None:
        name = inception_v3.AUXILIARY
        heads = {name: InceptionV3Auxiliary(channels_after(layers, name), auxiliary)} if auxiliary else {}
        super().__init__(layers, heads, dropout=0.5, classes=CLASSES)


def weighted_loss(output: Sequence[Tensor], labels: Tensor, weight: float) -> Tensor:
    """Cross entropy of the classifier plus `weight` times that of each auxiliary one."""
    main, *others = (functional.cross_entropy(logits, labels) for logits in output)
    return main + weight * torch.stack(others).sum()
