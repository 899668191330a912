"""ResNet-50 v1.5 on 224-pixel images: the classic convolutional workload, bound by memory.

Cost of one image, from the 53 convolutions and the classifier:

- arithmetic: 2 operations a multiply-add, forward; backward is twice forward.
- memory traffic, for every value a convolution puts out, when each kernel reads its input and
  writes its output once. Training, forward: convolution writes (1), batch statistics read (1),
  normalise + ReLU reads and writes (2), next convolution reads (1). Backward: normalisation
  reduces over gradient and input (2), then reads both and writes a gradient (3), the data gradient
  reads and writes (2), the weight gradient reads gradient and activation (2). 14 in all.
  Inference with normalisation and ReLU fused into the convolution: 2.
- optimiser: SGD with momentum reads weight, gradient, momentum and writes two of them; with the
  gradient's own write and the reads of both passes, 32 bytes a parameter and step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuwise.model.run import RunConfig
from gpuwise.model.workload import OPERAND_BYTES, Cost, Mode, Precision, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

DEPTHS = (3, 4, 6, 3)
PARAMETERS = 25_557_032
CLASSES = 1000
IMAGE = 224

TRAIN_PASSES, INFER_PASSES, OPTIMISER_BYTES = 14, 2, 32


def _convolutions() -> Iterator[tuple[int, int, int, int]]:
    """(channels in, channels out, kernel, output side) of every convolution, in order."""
    yield 3, 64, 7, IMAGE // 2
    channels, side = 64, IMAGE // 4
    for stage, depth in enumerate(DEPTHS):
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


def forward_flop() -> float:
    """Operations of one forward pass of one image (8.18e9)."""
    products = sum(
        inputs * outputs * kernel**2 * side**2 for inputs, outputs, kernel, side in _convolutions()
    )
    return 2.0 * (products + 2048 * CLASSES)


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch` images."""
    values = sum(outputs * side**2 for _, outputs, _, side in _convolutions())
    width = OPERAND_BYTES[precision]
    if mode == "infer":
        traffic = INFER_PASSES * values * width + PARAMETERS * width / batch
        return Cost(flop_per_item=forward_flop(), bytes_per_item=traffic)
    traffic = TRAIN_PASSES * values * width + OPTIMISER_BYTES * PARAMETERS / batch
    return Cost(flop_per_item=3 * forward_flop(), bytes_per_item=traffic)


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
        recipes=("tuned", "parity"),
    )
)
def resnet50(config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch.

    Tuned keeps tensors channels-last and the optimiser fused where that is sound. Parity is NCHW
    with the default optimiser.
    """
    import torch
    from torch.nn import functional

    from gpuwise.workloads.job import inference_job, set_precision, training_job
    from gpuwise.workloads.models.resnet import ResNet, as_if_trained

    set_precision(config)
    depths, width, image = ((1, 1, 1, 1), 8, 64) if config.size == "toy" else (DEPTHS, 64, IMAGE)
    model = ResNet(depths, width)
    if config.mode == "infer":
        as_if_trained(model)
    model = model.to(config.device)
    images = torch.randn(batch, 3, image, image, device=config.device)
    labels = torch.randint(CLASSES, (batch,), device=config.device)
    tuned = config.recipe == "tuned"
    if tuned:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        images = images.to(memory_format=torch.channels_last)
    if config.mode == "infer":
        return inference_job(model, (images,), config, batch)
    # torch's fused SGD advances its momentum on the overflow steps that the fp16 scaler must skip
    # (seen with torch 2.11: the loss becomes NaN), so fp16 takes the unfused default.
    fused = True if tuned and config.precision != "fp16" else None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=fused)
    return training_job(
        model, (images,), lambda logits: functional.cross_entropy(logits, labels), optimizer, config, batch
    )
