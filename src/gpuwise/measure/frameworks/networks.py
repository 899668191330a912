"""The reference networks once more, for frameworks beside torch: the same layers, weights and names.

Each network is written once, over the few operations of `Operations`; a framework brings those. Names
of weights are those of gpuwise's torch models, so that the weights of one fit the other and outputs can
be compared. Layouts are the framework's own: channels last throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from gpuwise.workloads import convnet
from gpuwise.workloads.bert import DROPOUT, LARGE, TOKENS, TOY, TOY_TOKENS, BertShape
from gpuwise.workloads.convnet import CLASSES, Branches, Chain, Conv, Layer, Pool

# A tensor of the framework, which also adds.
T = Any

RESNET_EPS = 1e-5  # torch's default


class Operations(Protocol):
    """The operations of a network; `name` is the prefix of the operation's weights."""

    training: bool

    def conv(self, x: T, name: str, layer: Conv) -> T: ...  # (B, H, W, C) -> (B, H', W', layer.channels)
    def norm(self, x: T, name: str, eps: float) -> T: ...  # batch norm over all but the channels
    def relu(self, x: T) -> T: ...
    def pool(self, x: T, layer: Pool) -> T: ...
    def mean_to(self, x: T, side: int) -> T: ...  # (B, H, W, C) -> (B, side, side, C)
    def flat(self, x: T) -> T: ...  # (B, H, W, C) -> (B, C * H * W), channels outermost
    def join(self, parts: Sequence[T]) -> T: ...  # along the channels
    def linear(self, x: T, name: str, outputs: int) -> T: ...
    def dropout(self, x: T, rate: float) -> T: ...
    def embed(self, ids: T, name: str, rows: int, width: int) -> T: ...  # (B, T) -> (B, T, width)
    def positions(self, x: T, name: str, rows: int) -> T: ...  # adds its row to every place
    def layer_norm(self, x: T, name: str) -> T: ...
    def gelu(self, x: T) -> T: ...
    def attention(self, qkv: T, heads: int, rate: float) -> T: ...  # (B, T, 3 C) -> (B, T, C)


def resnet(ops: Operations, x: T, depths: Sequence[int], width: int) -> tuple[T, ...]:
    """Bottleneck ResNet v1.5. (B, H, W, 3) -> logits (B, classes)."""
    x = ops.relu(ops.norm(ops.conv(x, "conv1", Conv(width, (7, 7), 2, (3, 3))), "bn1", RESNET_EPS))
    x = ops.pool(x, Pool("max", 3, 2, 1))

    def conv_norm(value: T, conv: str, norm: str, layer: Conv) -> T:
        return ops.norm(ops.conv(value, conv, layer), norm, RESNET_EPS)

    for stage, depth in enumerate(depths):
        wide = width * 2**stage
        for block in range(depth):
            name, stride = f"layer{stage + 1}.{block}", 2 if stage > 0 and block == 0 else 1
            shortcut = x
            if block == 0:
                widen = Conv(4 * wide, (1, 1), stride)
                shortcut = conv_norm(x, f"{name}.downsample.0", f"{name}.downsample.1", widen)
            x = ops.relu(conv_norm(x, f"{name}.conv1", f"{name}.bn1", Conv(wide)))
            x = ops.relu(conv_norm(x, f"{name}.conv2", f"{name}.bn2", Conv(wide, (3, 3), stride, (1, 1))))
            x = ops.relu(conv_norm(x, f"{name}.conv3", f"{name}.bn3", Conv(4 * wide)) + shortcut)
    return (ops.linear(ops.flat(ops.mean_to(x, 1)), "fc", CLASSES),)


Head = Callable[[Operations, T, str], T]


def branching(
    ops: Operations, x: T, layers: Mapping[str, Layer], heads: Mapping[str, Head], dropout: float
) -> tuple[T, ...]:
    """GoogLeNet and Inception v3: (logits, those of each auxiliary head in training)."""
    heard = []
    for name, layer in layers.items():
        x = _layer(ops, x, name, layer)
        if ops.training and name in heads:
            heard.append(heads[name](ops, x, f"auxiliaries.{name}"))
    x = ops.dropout(ops.flat(ops.mean_to(x, 1)), dropout)
    return (ops.linear(x, "fc", CLASSES), *heard)


def _layer(ops: Operations, x: T, name: str, layer: Layer) -> T:
    if isinstance(layer, Conv):
        x = ops.conv(x, f"{name}.conv", layer)
        return ops.relu(ops.norm(x, f"{name}.bn", convnet.NORM_EPS))
    if isinstance(layer, Branches):
        return ops.join([_chain(ops, x, f"{name}.{i}", chain) for i, chain in enumerate(layer.chains)])
    return ops.pool(x, layer)


def _chain(ops: Operations, x: T, name: str, chain: Chain) -> T:
    for i, layer in enumerate(chain):
        x = _layer(ops, x, f"{name}.{i}", layer)
    return x


def bert(ops: Operations, words: T, segments: T, shape: BertShape) -> tuple[T, ...]:
    """BERT with the question-answering head. Two (B, T) of ids -> start and end logits (B, T, 2)."""
    x = ops.embed(words, "word", shape.vocabulary, shape.hidden)
    x = x + ops.embed(segments, "segment", 2, shape.hidden)
    x = ops.positions(x, "position", shape.positions)
    x = ops.dropout(ops.layer_norm(x, "norm"), DROPOUT)
    for i in range(shape.layers):
        name = f"layers.{i}"
        qkv = ops.linear(x, f"{name}.attention.qkv", 3 * shape.hidden)
        y = ops.linear(ops.attention(qkv, shape.heads, DROPOUT), f"{name}.project", shape.hidden)
        x = ops.layer_norm(x + ops.dropout(y, DROPOUT), f"{name}.norm1")
        y = ops.gelu(ops.linear(x, f"{name}.expand", 4 * shape.hidden))
        y = ops.dropout(ops.linear(y, f"{name}.contract", shape.hidden), DROPOUT)
        x = ops.layer_norm(x + y, f"{name}.norm2")
    return (ops.linear(x, "answer", 2),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageNetwork:
    """A classifier: `forward(ops, images)`, the side of its images, the weight of auxiliary losses."""

    forward: Callable[..., tuple[object, ...]]
    image: int
    auxiliary_weight: float = 0.0
    residual: float = 1.0  # What scales the last norm of each block in inference, see `workloads.resnet`


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenNetwork:
    """BERT: `forward(ops, words, segments)` on `tokens` places and `words` different words."""

    forward: Callable[..., tuple[object, ...]]
    tokens: int
    words: int


Network = ImageNetwork | TokenNetwork
Array = np.ndarray[Any, Any]


def random_input(
    network: Network, batch: int, source: np.random.Generator
) -> tuple[tuple[Array, ...], Array]:
    """(inputs, right answers): images (B, S, S, 3) with classes (B,), or words and segments, (B, T) each,
    with two places (B, 2)."""
    if isinstance(network, ImageNetwork):
        images = source.standard_normal((batch, network.image, network.image, 3), dtype=np.float32)
        return (images,), source.integers(CLASSES, size=batch)
    words = source.integers(network.words, size=(batch, network.tokens))
    segments = source.integers(2, size=(batch, network.tokens))
    return (words, segments), source.integers(network.tokens, size=(batch, 2))


def classifier(name: str, toy: bool) -> ImageNetwork:
    """An image classifier by its workload."""
    network = convnet.network(name, toy=toy)

    def head(ops: Operations, x: T, name: str) -> T:
        if network.auxiliary:
            x = ops.mean_to(_chain(ops, x, f"{name}.layers", network.auxiliary), 1)
            return ops.linear(ops.flat(x), f"{name}.fc", CLASSES)
        x = ops.mean_to(x, convnet.AUXILIARY_SIDE)
        x = _layer(ops, x, f"{name}.conv", Conv(convnet.AUXILIARY_CHANNELS))
        x = ops.relu(ops.linear(ops.flat(x), f"{name}.fc1", network.hidden))
        return ops.linear(ops.dropout(x, convnet.AUXILIARY_DROPOUT), f"{name}.fc2", CLASSES)

    def forward(ops: Operations, x: T) -> tuple[T, ...]:
        if network.depths:
            return resnet(ops, x, network.depths, network.width)
        return branching(ops, x, network.layers, dict.fromkeys(network.heads, head), network.dropout)

    return ImageNetwork(
        forward=forward, image=network.image, auxiliary_weight=network.weight, residual=network.residual
    )


def _bert(toy: bool) -> TokenNetwork:
    """BERT-large with the head that answers questions."""
    shape, tokens = (TOY, TOY_TOKENS) if toy else (LARGE, TOKENS)
    return TokenNetwork(
        forward=lambda ops, words, segments: bert(ops, words, segments, shape),
        tokens=tokens,
        words=shape.words,
    )


# By workload id; the argument says whether it is the toy.
NETWORKS: dict[str, Callable[[bool], Network]] = {
    **{name: partial(classifier, name) for name in convnet.NETWORKS},
    "bert-large": _bert,
}


def padding_of(side: int, layer: Pool) -> tuple[int, int]:
    """Padding before and after an image, so that a ceiling pool's last window is whole."""
    room = side + 2 * layer.padding - layer.kernel
    short = -room % layer.stride if layer.ceil else 0
    return layer.padding, layer.padding + short


def averaging(length: int, side: int) -> list[list[float]]:
    """The (side, length) matrix of an adaptive mean, window i being [floor(i L / S), ceil((i + 1) L / S))."""
    rows = []
    for i in range(side):
        first, last = i * length // side, -(-(i + 1) * length // side)
        rows.append([1 / (last - first) if first <= place < last else 0.0 for place in range(length)])
    return rows
