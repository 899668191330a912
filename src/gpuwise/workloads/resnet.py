"""ResNets of bottleneck blocks (v1.5) on 224-pixel images: what all depths share.

Cost as in `convnet`, where every value that a convolution puts out is read by one other (R = W):
14 passes in training, 2 in inference. The additions of the shortcuts and the one pooling are not
counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode
from gpuwise.workloads import convnet
from gpuwise.workloads.convnet import CLASSES, Count, image_cost, image_job, linear

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

IMAGE = 224

SWITCHES = convnet.SWITCHES


def convolutions(depths: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """(channels in, channels out, kernel, output side) of every convolution, in order."""
    yield 3, 64, 7, IMAGE // 2
    channels, side = 64, IMAGE // 4
    for stage, depth in enumerate(depths):
        width = 64 * 2**stage
        for block in range(depth):
            before = side
            if stage > 0 and block == 0:
                side //= 2
            yield channels, width, 1, before
            yield width, width, 3, side
            yield width, 4 * width, 1, side
            if block == 0:
                yield channels, 4 * width, 1, side
            channels = 4 * width


def count(depths: Sequence[int]) -> Count:
    """Forward pass of one image through a ResNet of those depths."""
    total = linear(2048, CLASSES)
    for inputs, outputs, kernel, side in convolutions(depths):
        weights, values = inputs * outputs * kernel**2, outputs * side**2
        total += Count(
            products=weights * side**2, read=values, written=values, parameters=weights + 2 * outputs
        )
    return total


def resnet_cost(depths: Sequence[int], mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images."""
    layers = count(depths)
    return image_cost(mode, precision, batch, train=layers, infer=layers)


def resnet_job(depths: Sequence[int], config: RunConfig, batch: int, *, residual: float = 1.0) -> Job:
    """The job of `convnet` on a ResNet; the toy has one narrow block a stage.

    `residual` scales what each block adds to its shortcut, in inference.
    """
    from gpuwise.workloads.models.convnet import as_if_trained
    from gpuwise.workloads.models.resnet import ResNet, scale_residuals

    toy = config.size == "toy"

    def network() -> ResNet:
        model = ResNet((1, 1, 1, 1), 8) if toy else ResNet(depths)
        if config.mode == "infer":
            as_if_trained(model)
            if residual != 1.0:
                scale_residuals(model, residual)
        return model

    return image_job(network, 64 if toy else IMAGE, config, batch)
