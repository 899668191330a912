"""ResNet-50 and ResNet-152 (bottleneck blocks, v1.5) on 224-pixel images: bound by memory.

Cost as in `convnet`, where every value that a convolution puts out is read by one other (R = W): 14 passes in
training, 2 in inference. The additions of the shortcuts and the one pooling are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.convnet import CLASSES, SWITCHES, Count, image_cost, image_job, linear
from gpuwise.workloads.workload import Workload, workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

IMAGE = 224
RESNET_50, RESNET_152 = (3, 4, 6, 3), (3, 8, 36, 3)
"""Blocks of the four stages."""
RESIDUAL_152 = 0.25
"""What each block adds to its shortcut: keeps activations of a random network below 100 in inference."""


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


def resnet_count(depths: Sequence[int]) -> Count:
    """Forward pass of one image through a ResNet of those depths."""
    total = linear(2048, CLASSES)
    for inputs, outputs, kernel, side in convolutions(depths):
        weights, values = inputs * outputs * kernel**2, outputs * side**2
        total += Count(
            products=weights * side**2, read=values, written=values, parameters=weights + 2 * outputs
        )
    return total


def resnet_cost(depths: Sequence[int], mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images: 4.09 (50) and 11.5 (152) G multiply-adds forward."""
    layers = resnet_count(depths)
    return image_cost(mode, precision, batch, train=layers, infer=layers)


def _resnet(
    name: str,
    title: str,
    depths: Sequence[int],
    parameters: int,
    *,
    script: bool = False,
    residual: float = 1.0,
) -> Workload:
    def build(config: RunConfig, batch: int) -> Job:
        """The job of `convnet`; the toy has one narrow block a stage."""
        from gpuwise.workloads.models.convnet import ResNet, as_if_trained, scale_residuals

        toy = config.size == "toy"

        def network() -> ResNet:
            model = ResNet((1, 1, 1, 1), 8) if toy else ResNet(depths)
            if config.mode == "infer":
                as_if_trained(model)
                if residual != 1.0:
                    scale_residuals(model, residual)
            return model

        return image_job(network, 64 if toy else IMAGE, config, batch)

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=parameters,
        default_batch=256,
        cpu_batch=8,
        cost=partial(resnet_cost, depths),
        switches=SWITCHES,
        script=script,
    )
    return workload(spec)(build)


resnet50 = _resnet("resnet50", "ResNet-50 v1.5, 224 px", RESNET_50, 25_557_032, script=True)
resnet152 = _resnet("resnet152", "ResNet-152 v1.5, 224 px", RESNET_152, 60_192_808, residual=RESIDUAL_152)
