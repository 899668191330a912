"""Image classifiers of convolutions and batch norms: ResNet, GoogLeNet, Inception v3; layers are data.

ResNet-50 and -152 (He et al. 2015, arXiv:1512.03385; v1.5) on 224 pixels are bound by memory.

GoogLeNet (Szegedy et al. 2014, arXiv:1409.4842) on 224 pixels with torchvision's departures: batch norm after
every convolution, a 3x3 convolution where the paper has 5x5 (torchvision issue 906), the last pooling 2x2.
Training adds the paper's two auxiliary classifiers, each with 0.3 of the loss; inference is without them:
6,624,904 parameters.

Inception v3 (Szegedy et al. 2015, arXiv:1512.00567) on 299 pixels as torchvision has it, without its
rescaling of the input (`transform_input` off). Training adds the auxiliary classifier with 0.4 of the loss,
the weight of TF-Slim and of PyTorch's fine-tuning tutorial (torchvision's reference script does not train
this network); inference is without it: 23,834,568 parameters.

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

Auxiliary classifiers count in training only, where they run. Of a ResNet every value that a convolution puts
out is read by one other (R = W), and the additions of the shortcuts and the one pooling are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from gpuwise.model.precision import Precision
from gpuwise.model.question import Cost, Mode, RunConfig, WorkloadSpec
from gpuwise.workloads.registry import Workload, workload

if TYPE_CHECKING:
    from torch import nn

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

    products: int = 0  # Multiply-adds.
    read: int = 0  # Values that convolutions take in.
    written: int = 0  # Values that convolutions put out.
    pooled: int = 0  # Values that poolings take in and put out.
    parameters: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


# (channels, side) of a square image.
Shape = tuple[int, int]
Loss = Callable[[Any, Any], Any]


def same(channels: int, high: int, wide: int | None = None) -> Conv:
    """A convolution that keeps the side of the image."""
    wide = high if wide is None else wide
    return Conv(channels, (high, wide), 1, (high // 2, wide // 2))


def through(layer: Layer, shape: Shape) -> tuple[Count, Shape]:
    """What a layer counts on an image of that shape, and the shape it puts out."""
    if isinstance(layer, Branches):
        ends = [through_all(chain, shape) for chain in layer.chains]
        sides = {side for _, (_, side) in ends}
        assert len(sides) == 1, "branches must agree on the side"
        return sum((count for count, _ in ends), Count()), (sum(c for _, (c, _) in ends), sides.pop())
    channels, side = shape
    if isinstance(layer, Pool):
        room = side + 2 * layer.padding - layer.kernel
        out = (math.ceil(room / layer.stride) if layer.ceil else room // layer.stride) + 1
        return Count(pooled=channels * (side**2 + out**2)), (channels, out)
    out = (side + 2 * layer.padding[0] - layer.kernel[0]) // layer.stride + 1
    weights = channels * layer.channels * math.prod(layer.kernel)
    count = Count(
        products=weights * out**2,
        read=channels * side**2,
        written=layer.channels * out**2,
        parameters=weights + 2 * layer.channels,  # and the batch norm's scale and shift
    )
    return count, (layer.channels, out)


def through_all(layers: Iterable[Layer], shape: Shape) -> tuple[Count, Shape]:
    """The same for one layer after the other."""
    total = Count()
    for layer in layers:
        count, shape = through(layer, shape)
        total += count
    return total, shape


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
    network: Callable[[], nn.Module], image: int, loss_of: Loss, config: RunConfig, batch: int
) -> Job:
    """SGD with momentum and weight decay on one fixed random batch, or inference.

    Stock has tensors and poolings as the recipe's switches say, and a fused optimiser. Script is NCHW with
    the default optimiser.
    """
    import torch

    from gpuwise.workloads.input import image_feed
    from gpuwise.workloads.job import inference_job, set_precision, training_job

    set_precision(config)
    model = network().to(config.device)
    images = torch.randn(batch, 3, image, image, device=config.device)
    labels = torch.randint(CLASSES, (batch,), device=config.device)
    tuned = config.recipe != "script"
    # Before the layout is changed: the kernel takes the place of modules, whatever their format.
    if tuned and config.device == "cuda" and config.switches.pooling == "triton":
        from gpuwise.workloads.kernels.pooling import arrange_pooling

        arrange_pooling(model)
    # IEEE fp32 runs outside the tensor cores, where cuDNN has no fast channels-last training kernels: an
    # H200 had not warmed up on 1,024 images after five minutes (torch 2.11, cuDNN 9).
    if tuned and config.switches.layout == "channels-last" and config.precision != "fp32":
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        images = images.to(memory_format=torch.channels_last)
    if config.mode == "infer":
        job = inference_job(model, (images,), config, batch)
        return replace(job, feed=image_feed(job.inputs[0], None, CLASSES))
    optimizer = torch.optim.SGD(
        model.parameters(), lr=SGD_RATE, momentum=SGD_MOMENTUM, weight_decay=SGD_DECAY, fused=tuned or None
    )
    if tuned:
        # Where the fp16 scaler skips the first step, as it does until its scale fits, torch's fused SGD
        # leaves the momentum that it makes there unwritten, and the loss becomes NaN (torch 2.11).
        for parameter in model.parameters():
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    job = training_job(model, (images,), lambda output: loss_of(output, labels), optimizer, config, batch)
    return replace(job, feed=image_feed(images, labels, CLASSES))


def _classifier(
    name: str,
    title: str,
    counted: Callable[..., Count],
    build: Callable[[RunConfig, int], Job],
    *,
    parameters: int,
    default_batch: int,
    cpu_batch: int,
    script: bool = False,
) -> Workload:
    """`counted(auxiliary=)` is a forward pass of one image; `parameters` are those of training."""

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        return image_cost(
            mode, precision, batch, train=counted(auxiliary=True), infer=counted(auxiliary=False)
        )

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=parameters,
        default_batch=default_batch,
        cpu_batch=cpu_batch,
        cost=cost,
        switches=SWITCHES,
        script=script,
    )
    return workload(spec)(build)


IMAGE = 224
RESNET_50, RESNET_152 = (3, 4, 6, 3), (3, 8, 36, 3)  # Blocks of the four stages.
# What each block adds to its shortcut: keeps activations of a random network below 100 in inference.
RESIDUAL_152 = 0.25


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


def resnet_count(depths: Sequence[int], *, auxiliary: bool = False) -> Count:
    """Forward pass of one image through a ResNet of those depths, which has no auxiliary classifiers:
    4.09 (50) and 11.5 (152) G multiply-adds."""
    total = linear(2048, CLASSES)
    for inputs, outputs, kernel, side in convolutions(depths):
        weights, values = inputs * outputs * kernel**2, outputs * side**2
        total += Count(
            products=weights * side**2, read=values, written=values, parameters=weights + 2 * outputs
        )
    return total


def _resnet(depths: Sequence[int], residual: float, config: RunConfig, batch: int) -> Job:
    """The toy has one narrow block a stage."""
    from torch.nn import functional

    from gpuwise.workloads.models.convnet import ResNet, as_if_trained, scale_residuals

    toy = config.size == "toy"

    def network() -> ResNet:
        model = ResNet((1, 1, 1, 1), 8) if toy else ResNet(depths)
        if config.mode == "infer":
            as_if_trained(model)
            scale_residuals(model, residual)
        return model

    return image_job(network, 64 if toy else IMAGE, functional.cross_entropy, config, batch)


GOOGLENET_IMAGE = 224
GOOGLENET_AUXILIARY_WEIGHT = 0.3
AUXILIARY_SIDE, AUXILIARY_CHANNELS, AUXILIARY_HIDDEN = 4, 128, 1024
GOOGLENET_AUXILIARIES = ("inception4a", "inception4d")
"""The layers whose output an auxiliary classifier reads."""


def _module(one: int, reduce3: int, three: int, reduce5: int, five: int, pool: int) -> Branches:
    """An inception module; the arguments are the columns of table 1 of the paper."""
    return Branches(
        (
            (Conv(one),),
            (Conv(reduce3), same(three, 3)),
            (Conv(reduce5), same(five, 3)),
            (Pool("max", 3, 1, 1, ceil=True), Conv(pool)),
        )
    )


GOOGLENET_LAYERS: dict[str, Layer] = {
    "conv1": Conv(64, (7, 7), 2, (3, 3)),  # 112 px
    "maxpool1": Pool("max", 3, 2, ceil=True),  # 56
    "conv2": Conv(64),
    "conv3": same(192, 3),
    "maxpool2": Pool("max", 3, 2, ceil=True),  # 28
    "inception3a": _module(64, 96, 128, 16, 32, 32),
    "inception3b": _module(128, 128, 192, 32, 96, 64),
    "maxpool3": Pool("max", 3, 2, ceil=True),  # 14
    "inception4a": _module(192, 96, 208, 16, 48, 64),
    "inception4b": _module(160, 112, 224, 24, 64, 64),
    "inception4c": _module(128, 128, 256, 24, 64, 64),
    "inception4d": _module(112, 144, 288, 32, 64, 64),
    "inception4e": _module(256, 160, 320, 32, 128, 128),
    "maxpool4": Pool("max", 2, 2, ceil=True),  # 7
    "inception5a": _module(256, 160, 320, 32, 128, 128),
    "inception5b": _module(384, 192, 384, 48, 128, 128),
}
"""torchvision's names."""


def googlenet_count(*, auxiliary: bool) -> Count:
    """Forward pass of one image: 3.00 GFLOP without auxiliary classifiers."""
    total, shape = Count(), (3, GOOGLENET_IMAGE)
    for name, layer in GOOGLENET_LAYERS.items():
        counted, shape = through(layer, shape)
        total += counted
        if auxiliary and name in GOOGLENET_AUXILIARIES:
            # Pooling to 4 x 4, 1x1 convolution, two fully connected layers.
            channels, side = shape
            total += Count(pooled=channels * (side**2 + AUXILIARY_SIDE**2))
            total += through(Conv(AUXILIARY_CHANNELS), (channels, AUXILIARY_SIDE))[0]
            total += linear(AUXILIARY_CHANNELS * AUXILIARY_SIDE**2, AUXILIARY_HIDDEN)
            total += linear(AUXILIARY_HIDDEN, CLASSES)
    return total + linear(shape[0], CLASSES)


INCEPTION_IMAGE = 299
INCEPTION_AUXILIARY_WEIGHT = 0.4
INCEPTION_AUXILIARY = "Mixed_6e"  # The layer whose output the auxiliary classifier reads

MEAN = Pool("mean", 3, 1, 1)
HALVE = Pool("max", 3, 2)


def _a(pool: int) -> Branches:
    """35 px; figure 5 of the paper with one 5x5 convolution kept."""
    return Branches(
        (
            (Conv(64),),
            (Conv(48), same(64, 5)),
            (Conv(64), same(96, 3), same(96, 3)),
            (MEAN, Conv(pool)),
        )
    )


def _c(width: int) -> Branches:
    """17 px; figure 6: 7x7 convolutions as 1x7 and 7x1."""
    return Branches(
        (
            (Conv(192),),
            (Conv(width), same(width, 1, 7), same(192, 7, 1)),
            (Conv(width), same(width, 7, 1), same(width, 1, 7), same(width, 7, 1), same(192, 1, 7)),
            (MEAN, Conv(192)),
        )
    )


def _e() -> Branches:
    """8 px; figure 7: 3x3 convolutions as 1x3 beside 3x1."""
    split = Branches(((same(384, 1, 3),), (same(384, 3, 1),)))
    return Branches(((Conv(320),), (Conv(384), split), (Conv(448), same(384, 3), split), (MEAN, Conv(192))))


HALVING_35 = Branches(((Conv(384, (3, 3), 2),), (Conv(64), same(96, 3), Conv(96, (3, 3), 2)), (HALVE,)))
HALVING_17 = Branches(
    (
        (Conv(192), Conv(320, (3, 3), 2)),
        (Conv(192), same(192, 1, 7), same(192, 7, 1), Conv(192, (3, 3), 2)),
        (HALVE,),
    )
)

INCEPTION_LAYERS: dict[str, Layer] = {
    "Conv2d_1a_3x3": Conv(32, (3, 3), 2),  # 149 px
    "Conv2d_2a_3x3": Conv(32, (3, 3)),  # 147
    "Conv2d_2b_3x3": same(64, 3),
    "maxpool1": HALVE,  # 73
    "Conv2d_3b_1x1": Conv(80),
    "Conv2d_4a_3x3": Conv(192, (3, 3)),  # 71
    "maxpool2": HALVE,  # 35
    "Mixed_5b": _a(32),
    "Mixed_5c": _a(64),
    "Mixed_5d": _a(64),
    "Mixed_6a": HALVING_35,  # 17
    "Mixed_6b": _c(128),
    "Mixed_6c": _c(160),
    "Mixed_6d": _c(160),
    "Mixed_6e": _c(192),
    "Mixed_7a": HALVING_17,  # 8
    "Mixed_7b": _e(),
    "Mixed_7c": _e(),
}
"""torchvision's names, which are TF-Slim's."""

INCEPTION_AUXILIARY_LAYERS: Chain = (Pool("mean", 5, 3), Conv(128), Conv(768, (5, 5)))
"""17 -> 5 -> 5 -> 1 px, then a classifier."""
TOY_AUXILIARY_LAYERS: Chain = (Conv(16),)


def inception_count(*, auxiliary: bool) -> Count:
    """Forward pass of one image: 11.43 GFLOP without the auxiliary classifier."""
    names = list(INCEPTION_LAYERS)
    before, after = (
        names[: names.index(INCEPTION_AUXILIARY) + 1],
        names[names.index(INCEPTION_AUXILIARY) + 1 :],
    )
    total, shape = through_all((INCEPTION_LAYERS[name] for name in before), (3, INCEPTION_IMAGE))
    if auxiliary:
        heard, (channels, _) = through_all(INCEPTION_AUXILIARY_LAYERS, shape)
        total += heard + linear(channels, CLASSES)
    rest, (channels, _) = through_all((INCEPTION_LAYERS[name] for name in after), shape)
    return total + rest + linear(channels, CLASSES)


def _googlenet(config: RunConfig, batch: int) -> Job:
    """Dropout is 0.2, and 0.7 in auxiliaries."""
    from gpuwise.workloads.models.convnet import GoogLeNet, as_if_trained, weighted_loss

    toy, layers = config.size == "toy", GOOGLENET_LAYERS
    if toy:
        layers = {name: shrunk(layer, 8) for name, layer in layers.items()}
    hidden = 32 if toy else AUXILIARY_HIDDEN

    def network() -> GoogLeNet:
        model = GoogLeNet(layers, auxiliary=config.mode == "train", hidden=hidden)
        if config.mode == "infer":
            as_if_trained(model)
        return model

    loss = partial(weighted_loss, weight=GOOGLENET_AUXILIARY_WEIGHT)
    return image_job(network, 64 if toy else GOOGLENET_IMAGE, loss, config, batch)


def _inception_v3(config: RunConfig, batch: int) -> Job:
    """Dropout is 0.5. Training needs two images: the auxiliary classifier normalises over one pixel each."""
    from gpuwise.workloads.models.convnet import InceptionV3, as_if_trained, weighted_loss

    toy, layers, auxiliary = config.size == "toy", INCEPTION_LAYERS, INCEPTION_AUXILIARY_LAYERS
    if toy:
        layers = {name: shrunk(layer, 8) for name, layer in layers.items()}
        auxiliary = TOY_AUXILIARY_LAYERS

    def network() -> InceptionV3:
        model = InceptionV3(layers, auxiliary if config.mode == "train" else ())
        if config.mode == "infer":
            as_if_trained(model)
        return model

    loss = partial(weighted_loss, weight=INCEPTION_AUXILIARY_WEIGHT)
    return image_job(network, 107 if toy else INCEPTION_IMAGE, loss, config, batch)


resnet50 = _classifier(
    "resnet50",
    "ResNet-50 v1.5, 224 px",
    partial(resnet_count, RESNET_50),
    partial(_resnet, RESNET_50, 1.0),
    parameters=25_557_032,
    default_batch=256,
    cpu_batch=8,
    script=True,
)
resnet152 = _classifier(
    "resnet152",
    "ResNet-152 v1.5, 224 px",
    partial(resnet_count, RESNET_152),
    partial(_resnet, RESNET_152, RESIDUAL_152),
    parameters=60_192_808,
    default_batch=256,
    cpu_batch=8,
)
googlenet = _classifier(
    "googlenet",
    "GoogLeNet (torchvision's), 224 px",
    googlenet_count,
    _googlenet,
    parameters=13_004_888,
    default_batch=512,
    cpu_batch=16,
)
inception_v3 = _classifier(
    "inception-v3",
    "Inception v3, 299 px",
    inception_count,
    _inception_v3,
    parameters=27_161_264,
    default_batch=256,
    cpu_batch=4,
)
