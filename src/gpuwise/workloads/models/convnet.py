"""Networks of convolutions: ResNet, and GoogLeNet and Inception v3 built from the layer tables of their
workloads.

ResNet v1.5 (He et al. 2015, arXiv:1512.03385; v1.5: the stride sits in the 3x3 convolution) has torchvision's
module names and shapes, so that a state dict of one loads into the other and the two can be compared output
for output. The others' state dicts load after renaming (tests/workloads/torchvision_names.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.model.question import RunConfig
from gpuwise.workloads import convnet
from gpuwise.workloads.convnet import CLASSES, Chain, Conv, Layer, Network, Pool
from gpuwise.workloads.input import image_feed
from gpuwise.workloads.job import Job, inference_job, relative_difference, set_precision, training_job


class ConvNormRelu(nn.Module):
    kernels = False  # Norm and ReLU by gpuwise's kernels

    def __init__(self, channels_in: int, layer: Conv) -> None:
        super().__init__()
        self.conv: nn.Module = nn.Conv2d(
            channels_in, layer.channels, layer.kernel, layer.stride, layer.padding, bias=False
        )
        self.bn: nn.Module = nn.BatchNorm2d(layer.channels, eps=convnet.NORM_EPS)
        # In place: the normalised values are read by nothing else.
        self.relu: nn.Module = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:  # (B, C_in, H, W) -> (B, C, H / stride, W / stride)
        if self.kernels:
            from gpuwise.workloads.kernels.images import norm_relu

            return norm_relu(self.conv(x), self.bn)
        return self.relu(self.bn(self.conv(x)))


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


def channels_of(layers: Iterable[Layer], channels: int) -> int:
    """Channels that come out of those layers when so many go in."""
    for layer in layers:
        if isinstance(layer, Conv):
            channels = layer.channels
        elif not isinstance(layer, Pool):
            channels = sum(channels_of(chain, channels) for chain in layer.chains)
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
            for name, ends in convnet.TRAINED.items():
                nn.init.uniform_(getattr(module, name), *ends)


EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1 reduce, 3x3 (with the stride), 1x1 expand, plus the shortcut."""

    def __init__(self, channels_in: int, width: int, stride: int) -> None:
        super().__init__()
        channels_out = width * EXPANSION
        self.conv1: nn.Module = nn.Conv2d(channels_in, width, 1, bias=False)
        self.bn1: nn.Module = nn.BatchNorm2d(width)
        self.conv2: nn.Module = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2: nn.Module = nn.BatchNorm2d(width)
        self.conv3: nn.Module = nn.Conv2d(width, channels_out, 1, bias=False)
        self.bn3: nn.Module = nn.BatchNorm2d(channels_out)
        self.relu: nn.Module = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels_in != channels_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out)
            )

    def forward(self, x: Tensor) -> Tensor:  # (B, C_in, H, W) -> (B, 4 * width, H / stride, W / stride)
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        if isinstance(self.conv3, Folded):
            return self.conv3.add(x, shortcut)
        return self.relu(self.bn3(self.conv3(x)) + shortcut)

    def by_kernels(self, x: Tensor, again: Tensor) -> tuple[Tensor, Tensor]:
        """x for the convolution and, `again`, for the shortcut; they are equal, as are the two results."""
        from gpuwise.workloads.kernels.images import norm_join, norm_relu

        other = None
        if self.downsample is not None:
            assert isinstance(self.downsample, nn.Sequential)
            conv, other = self.downsample
            again = conv(again)
        x = norm_relu(self.conv1(x), self.bn1)
        x = norm_relu(self.conv2(x), self.bn2)
        return norm_join(self.conv3(x), self.bn3, again, other)


class ResNet(nn.Module):
    """`depths` blocks in four stages; stage i has width * 2**i channels inside its blocks."""

    kernels = False

    def __init__(self, depths: Sequence[int] = (3, 4, 6, 3), width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        self.conv1: nn.Module = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1: nn.Module = nn.BatchNorm2d(width)
        self.relu: nn.Module = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = width
        for stage, depth in enumerate(depths):
            stage_width = width * 2**stage
            blocks = []
            for block in range(depth):
                blocks.append(Bottleneck(channels, stage_width, 2 if stage > 0 and block == 0 else 1))
                channels = stage_width * EXPANSION
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.stages = len(depths)
        self.fc = nn.Linear(channels, classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, 224, 224) -> (B, classes)
        stages = [getattr(self, f"layer{stage + 1}") for stage in range(self.stages)]
        if self.kernels:
            from gpuwise.workloads.kernels.images import norm_relu

            x = again = self.maxpool(norm_relu(self.conv1(x), self.bn1))
            for block in chain.from_iterable(stages):
                x, again = block.by_kernels(x, again)
        else:
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            for stage in stages:
                x = stage(x)
        return self.fc(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))


@torch.library.custom_op("gpuwise::convolved", mutates_args=())
def convolved(
    x: Tensor, weight: Tensor, bias: Tensor, added: Tensor | None, stride: list[int], padding: list[int]
) -> Tensor:
    """relu(conv(x) + bias + added): one kernel of cuDNN's where there is one."""
    if x.is_cuda and torch.version.hip is None:
        where = (stride, padding, (1, 1), 1)
        if added is None:
            return torch.cudnn_convolution_relu(x, weight, bias, *where)
        return torch.cudnn_convolution_add_relu(x, weight, added, 1.0, bias, *where)
    y = functional.conv2d(x, weight, bias, stride, padding)
    return functional.relu(y if added is None else y + added)


convolved.register_fake(
    lambda x, weight, bias, added, stride, padding: functional.conv2d(x, weight, bias, stride, padding)
)


class Folded(nn.Module):
    """A convolution with the batch norm after it in its weights, and the ReLU behind them."""

    def __init__(self, conv: nn.Conv2d, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)
        self.stride, self.padding = list(conv.stride), [int(side) for side in conv.padding]

    def forward(self, x: Tensor) -> Tensor:
        return self.add(x, None)

    def add(self, x: Tensor, added: Tensor | None) -> Tensor:
        """relu(conv(x) + bias + added)."""
        return convolved(x, self.weight, self.bias, added, self.stride, self.padding)


@torch.no_grad()
def folded(conv: nn.Module, norm: nn.Module) -> tuple[nn.Conv2d, Tensor, Tensor]:
    """The convolution, and the weights and bias with which it gives what the two give in evaluation."""
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(norm, nn.BatchNorm2d)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight.float() * (norm.running_var.float() + norm.eps).rsqrt()
    weight = (conv.weight.float() * scale[:, None, None, None]).to(conv.weight)
    # In the layout of before: a product with a vector keeps it.
    return conv, weight, (norm.bias.float() - norm.running_mean.float() * scale).to(conv.weight)


def fold_norms(model: nn.Module) -> None:
    """Fold every batch norm into its convolution, which applies the ReLU as well. In place, for inference."""
    for module in list(model.modules()):
        if isinstance(module, ConvNormRelu):
            module.conv, module.bn = Folded(*folded(module.conv, module.bn)), nn.Identity()
            module.relu = nn.Identity()
        if isinstance(module, Bottleneck | ResNet):
            module.conv1, module.bn1 = Folded(*folded(module.conv1, module.bn1)), nn.Identity()
            module.relu = nn.Identity()
        if isinstance(module, Bottleneck):
            module.conv2, module.bn2 = Folded(*folded(module.conv2, module.bn2)), nn.Identity()
            conv, weight, bias = folded(module.conv3, module.bn3)
            if module.downsample is not None:
                # The bias of the shortcut goes with the sum, so that its convolution writes once.
                assert isinstance(module.downsample, nn.Sequential)
                short, other, more = folded(*module.downsample)
                short.weight, bias, module.downsample = nn.Parameter(other), bias + more, short
            module.conv3, module.bn3 = Folded(conv, weight, bias), nn.Identity()


def scale_residuals(model: nn.Module, factor: float) -> None:
    """Scale what each block adds to its shortcut, for inference with the batch norms of `as_if_trained`.

    Without it every block doubles the variance: after the 50 blocks of ResNet-152 activations
    reach 2e8, and fp16 ends at 65,504. A trained network has small scales there, too.
    """
    for module in model.modules():
        if isinstance(module, Bottleneck):
            with torch.no_grad():
                for parameter in module.bn3.parameters():
                    parameter.mul_(factor)


class GoogLeNetAuxiliary(nn.Module):
    """Mean over a 4 x 4 grid, 1x1 convolution, hidden layer, dropout, classifier."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.conv = ConvNormRelu(channels, Conv(convnet.AUXILIARY_CHANNELS))
        self.fc1 = nn.Linear(convnet.AUXILIARY_CHANNELS * convnet.AUXILIARY_SIDE**2, hidden)
        self.fc2 = nn.Linear(hidden, CLASSES)
        self.dropout = nn.Dropout(convnet.AUXILIARY_DROPOUT)

    def forward(self, x: Tensor) -> Tensor:  # (B, C, 14, 14) -> (B, classes)
        x = self.conv(functional.adaptive_avg_pool2d(x, convnet.AUXILIARY_SIDE))
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc2(self.dropout(x))


class InceptionV3Auxiliary(nn.Module):
    """Pooling and two convolutions, mean over what is left of the image, classifier."""

    def __init__(self, channels: int, layers: Chain) -> None:
        super().__init__()
        self.layers = build_chain(layers, channels)
        self.fc = nn.Linear(channels_of(layers, channels), CLASSES)

    def forward(self, x: Tensor) -> Tensor:  # (B, 768, 17, 17) -> (B, classes)
        x = torch.flatten(functional.adaptive_avg_pool2d(self.layers(x), 1), 1)
        return self.fc(x)


def classifier(network: Network, *, auxiliary: bool = True) -> nn.Module:
    """The network, with its auxiliary classifiers or without."""
    if network.depths:
        return ResNet(network.depths, network.width)

    def head(name: str) -> nn.Module:
        channels = channels_after(network.layers, name)
        if network.auxiliary:
            return InceptionV3Auxiliary(channels, network.auxiliary)
        return GoogLeNetAuxiliary(channels, network.hidden)

    heads = {name: head(name) for name in network.heads if auxiliary}
    return BranchingNet(network.layers, heads, dropout=network.dropout, classes=CLASSES)


def weighted_loss(output: Tensor | Sequence[Tensor], labels: Tensor, weight: float) -> Tensor:
    """Cross entropy of the classifier plus `weight` times that of each auxiliary one."""
    every = [output] if isinstance(output, Tensor) else output
    main, *others = (functional.cross_entropy(logits, labels) for logits in every)
    return main + weight * torch.stack(others).sum() if others else main


def image_job(name: str, config: RunConfig, batch: int) -> Job:
    """SGD with momentum and weight decay on one fixed random batch, or inference, as if trained.

    Stock has tensors and poolings as the recipe's switches say, and a fused optimiser. Script is NCHW with
    the default optimiser. Training of Inception v3 needs two images: its auxiliary classifier normalises over
    one pixel each.
    """
    set_precision(config)
    network = convnet.network(name, toy=config.size == "toy")
    model = classifier(network, auxiliary=config.mode == "train")
    if config.mode == "infer":
        as_if_trained(model)
        scale_residuals(model, network.residual)
    model = model.to(config.device)
    images = torch.randn(batch, 3, network.image, network.image, device=config.device)
    labels = torch.randint(CLASSES, (batch,), device=config.device)
    tuned = config.recipe != "script"
    # Before the layout is changed: the kernel takes the place of modules, whatever their format.
    if tuned and config.device == "cuda" and config.switches.pooling == "triton":
        from gpuwise.workloads.kernels.images import arrange_pooling

        arrange_pooling(model)
    if tuned and config.device == "cuda" and config.switches.norms == "triton" and config.mode == "train":
        for module in model.modules():
            if isinstance(module, ConvNormRelu | ResNet):
                module.kernels = True
    # IEEE fp32 runs outside the tensor cores, where cuDNN has no fast channels-last training kernels: an
    # H200 had not warmed up on 1,024 images after five minutes (torch 2.11, cuDNN 9).
    if tuned and config.switches.layout == "channels-last" and config.precision != "fp32":
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        images = images.to(memory_format=torch.channels_last)
    if config.mode == "infer":
        folds = tuned and config.switches.fold_norms == "on"
        if folds:
            # The answer must be that of the norms as they were.
            expected = inference_job(model, (images,), replace(config, compile=False), batch).step().clone()
            fold_norms(model)
        job = inference_job(model, (images,), config, batch)
        if folds:
            step = job.step
            job = replace(job, mismatch=lambda: relative_difference(step(), expected))
        return replace(job, feed=image_feed(job.inputs[0], None, CLASSES))
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=convnet.SGD_RATE,
        momentum=convnet.SGD_MOMENTUM,
        weight_decay=convnet.SGD_DECAY,
        fused=tuned or None,
    )
    if tuned:
        # Where the fp16 scaler skips the first step, as it does until its scale fits, torch's fused SGD
        # leaves the momentum that it makes there unwritten, and the loss becomes NaN (torch 2.11).
        for parameter in model.parameters():
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    loss = partial(weighted_loss, labels=labels, weight=network.weight)
    job = training_job(model, (images,), loss, optimizer, config, batch)
    return replace(job, feed=image_feed(images, labels, CLASSES))


JOBS = {name: partial(image_job, name) for name in convnet.NETWORKS}
