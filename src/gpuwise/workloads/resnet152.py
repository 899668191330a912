"""ResNet-152 v1.5 on 224-pixel images: thrice the arithmetic of ResNet-50 in the same kinds of layers.

Cost of one image, from the 155 convolutions and the classifier: see `convnet`. For every value that
a convolution puts out, training moves 14 and inference 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads import resnet
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

DEPTHS = (3, 8, 36, 3)
PARAMETERS = 60_192_808

RESIDUAL = 0.25
"""Keeps activations of a random network below 100 in inference."""


def forward_flop() -> float:
    """Operations of one forward pass of one image (2.303e10)."""
    return 2.0 * resnet.count(DEPTHS).products


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images."""
    return resnet.resnet_cost(DEPTHS, mode, precision, batch)


@workload(
    WorkloadSpec(
        id="resnet152",
        version=1,
        title="ResNet-152 v1.5, 224 px",
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=256,
        cpu_batch=8,
        cost=cost,
        switches=resnet.SWITCHES,
    )
)
def resnet152(config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch.

    Tensors are channels-last and the optimiser fused where that is sound.
    """
    return resnet.resnet_job(DEPTHS, config, batch, residual=RESIDUAL)
