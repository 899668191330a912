"""ResNet-50 v1.5 on 224-pixel images: the classic convolutional workload, bound by memory.

Cost of one image, from the 53 convolutions and the classifier: see `convnet`. For every value that
a convolution puts out, training moves 14 and inference 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads import resnet
from gpuwise.workloads.resnet import IMAGE as IMAGE
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

DEPTHS = (3, 4, 6, 3)
PARAMETERS = 25_557_032


def forward_flop() -> float:
    """Operations of one forward pass of one image (8.18e9)."""
    return 2.0 * resnet.count(DEPTHS).products


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images."""
    return resnet.resnet_cost(DEPTHS, mode, precision, batch)


@workload(
    WorkloadSpec(
        id="resnet50",
        version=1,
        title="ResNet-50 v1.5, 224 px",
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=256,
        cpu_batch=8,
        cost=cost,
        switches=resnet.SWITCHES,
        script=True,
    )
)
def resnet50(config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch.

    Stock keeps tensors channels-last and the optimiser fused where that is sound. Script is NCHW
    with the default optimiser.
    """
    return resnet.resnet_job(DEPTHS, config, batch)
