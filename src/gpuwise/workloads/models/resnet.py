"""ResNet v1.5 (He et al. 2015, arXiv:1512.03385; v1.5: the stride sits in the 3x3 convolution).

Module names and shapes are those of torchvision's `resnet50` and `resnet152`, so that a state dict
of one loads into the other and the two can be compared output for output.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads.models.convnet import initialise

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
