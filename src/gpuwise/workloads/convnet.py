"""Image classifiers of convolutions and batch norms: their layers as data, their cost, their job.

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

Auxiliary classifiers count in training only, where they run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode

if TYPE_CHECKING:
    from torch import Tensor, nn

    from gpuwise.workloads.job import Job

CLASSES = 1000
SGD_RATE, SGD_MOMENTUM, SGD_DECAY = 0.01, 0.9, 1e-4

# Of a recipe, for every network of convolutions.
SWITCHES = ("pooling", "master_weights", "layout", "compiler", "graph")

WRITTEN_PASSES, READ_PASSES, POOLED_PASSES, OPTIMISER_BYTES = 11, 3, 2, 32


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What one forward pass of one image does, and the weights it reads."""

    products: int = 0
    """Multiply-adds."""
    read: int = 0
    """Values that convolutions take in."""
    written: int = 0
    """Values that convolutions put out."""
    pooled: int = 0
    """Values that poolings take in and put out."""
    parameters: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            products=self.products + other.products,
            read=self.read + other.read,
            written=self.written + other.written,
            pooled=self.pooled + other.pooled,
            parameters=self.parameters + other.parameters,
        )


# (channels, side) of a square image.
Shape = tuple[int, int]


def same(channels: int, high: int, wide: int | None = None) -> Conv:
    """A convolution that keeps the side of the image."""
    wide = high if wide is None else wide
    return Conv(channels, (high, wide), 1, (high // 2, wide // 2))


def through(layer: Layer, shape: Shape) -> tuple[Count, Shape]:
    """What a layer counts on an image of that shape, and the shape it puts out."""
    if isinstance(layer, Conv):
        return _convolved(layer, shape)
    if isinstance(layer, Pool):
        return _pooled(layer, shape)
    ends = [through_all(chain, shape) for chain in layer.chains]
    sides = {side for _, (_, side) in ends}
    assert len(sides) == 1, "branches must agree on the side"
    channels = sum(channels for _, (channels, _) in ends)
    return sum((count for count, _ in ends), Count()), (channels, sides.pop())


def through_all(layers: Iterable[Layer], shape: Shape) -> tuple[Count, Shape]:
    """The same for one layer after the other."""
    total = Count()
    for layer in layers:
        count, shape = through(layer, shape)
        total += count
    return total, shape


def _convolved(layer: Conv, shape: Shape) -> tuple[Count, Shape]:
    channels, side = shape
    out = (side + 2 * layer.padding[0] - layer.kernel[0]) // layer.stride + 1
    weights = channels * layer.channels * math.prod(layer.kernel)
    count = Count(
        products=weights * out**2,
        read=channels * side**2,
        written=layer.channels * out**2,
        parameters=weights + 2 * layer.channels,  # and the batch norm's scale and shift
    )
    return count, (layer.channels, out)


def _pooled(layer: Pool, shape: Shape) -> tuple[Count, Shape]:
    channels, side = shape
    room = side + 2 * layer.padding - layer.kernel
    out = (math.ceil(room / layer.stride) if layer.ceil else room // layer.stride) + 1
    return Count(pooled=channels * (side**2 + out**2)), (channels, out)


def linear(inputs: int, outputs: int) -> Count:
    """A fully connected layer with bias; its activations are too few to count."""
    return Count(products=inputs * outputs, parameters=(inputs + 1) * outputs)


def shrunk(layer: Layer, divisor: int) -> Layer:
    """The same layer with that many times fewer channels, for a toy."""
    if isinstance(layer, Conv):
        return replace(layer, channels=max(1, layer.channels // divisor))
    if isinstance(layer, Pool):
        return layer
    return Branches(tuple(tuple(shrunk(x, divisor) for x in chain) for chain in layer.chains))


def image_cost(mode: Mode, precision: Precision, batch: int, *, train: Count, infer: Count) -> Cost:
    """Cost of one image in a step of `batch` images; the two modes may run different layers."""
    width = precision.bytes
    if mode == "infer":
        values = infer.written + infer.read + infer.pooled
        traffic = values * width + infer.parameters * width / batch
        return Cost(flop_per_item=2.0 * infer.products, bytes_per_item=traffic)
    values = WRITTEN_PASSES * train.written + READ_PASSES * train.read + POOLED_PASSES * train.pooled
    traffic = values * width + OPTIMISER_BYTES * train.parameters / batch
    return Cost(flop_per_item=3 * 2.0 * train.products, bytes_per_item=traffic)


def image_job(
    network: Callable[[], nn.Module],
    image: int,
    config: RunConfig,
    batch: int,
    loss_of: Callable[[Any, Tensor], Tensor] | None = None,
) -> Job:
    """SGD with momentum and weight decay on one fixed random batch, or inference.

    `loss_of(output, labels)` is the cross entropy unless given. Stock has tensors and poolings as the
    recipe's switches say, and a fused optimiser. Script is NCHW with the default optimiser.
    """
    import torch
    from torch.nn import functional

    from gpuwise.workloads.input import image_feed
    from gpuwise.workloads.job import inference_job, set_precision, training_job

    set_precision(config)
    model = network().to(config.device)
    images = torch.randn(batch, 3, image, image, device=config.device)
    labels = torch.randint(CLASSES, (batch,), device=config.device)
    tuned = config.recipe != "script"
    # IEEE fp32 runs outside the tensor cores, where cuDNN has no fast channels-last training kernels: an
    # H200 had not warmed up on 1,024 images after five minutes (torch 2.11, cuDNN 9).
    # Before the layout is changed: the kernel takes the place of modules, whatever their format.
    if tuned and config.device == "cuda" and config.switches.pooling == "triton":
        from gpuwise.workloads.kernels.pooling import arrange_pooling

        arrange_pooling(model)
    if tuned and config.switches.layout == "channels-last" and config.precision != "fp32":
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        images = images.to(memory_format=torch.channels_last)
    if config.mode == "infer":
        job = inference_job(model, (images,), config, batch)
        return replace(job, feed=image_feed(job.inputs[0], None, CLASSES))
    fused = True if tuned else None
    optimizer = torch.optim.SGD(
        model.parameters(), lr=SGD_RATE, momentum=SGD_MOMENTUM, weight_decay=SGD_DECAY, fused=fused
    )
    if tuned:
        # Where the fp16 scaler skips the first step, as it does until its scale fits, torch's fused SGD
        # leaves the momentum that it makes there unwritten, and the loss becomes NaN (torch 2.11).
        for parameter in model.parameters():
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    loss = loss_of or functional.cross_entropy
    job = training_job(model, (images,), lambda output: loss(output, labels), optimizer, config, batch)
    return replace(job, feed=image_feed(images, labels, CLASSES))
