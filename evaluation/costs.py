"""Count what a step of each built-in network costs: `python -m evaluation.costs` prints the lines of
`src/gpuwise/workloads/built_in.toml`, whose modules state the conventions of the counts.

A forward pass of one item computes so many operations (a multiply-add is two), reads and writes so many
values and reads so many weights. Training computes three times as much, for backward is twice forward, and
moves three times the values, but in networks of convolutions, whose passes `convnet` counts one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from gpuwise.workloads import convnet
from gpuwise.workloads.bert import BASE, LARGE, TOKENS, UNCASED, BertShape
from gpuwise.workloads.convnet import CLASSES, Branches, Conv, Layer, Pool
from gpuwise.workloads.models.diffusion import TIME_WIDTH, DitShape, UnetShape
from gpuwise.workloads.models.vit import SHAPE, VitShape

# Passes over the values that convolutions put out, take in, and that poolings touch, in training (`convnet`).
WRITTEN_PASSES, READ_PASSES, POOLED_PASSES = 11, 3, 2
# Values of a token and layer, in units of the width (`bert`, `vit`).
BERT_VALUES, VIT_VALUES = 34, 36


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


def dense(inputs: int, outputs: int) -> Count:
    """A fully connected layer with bias; its activations are too few to count."""
    return Count(products=inputs * outputs, parameters=(inputs + 1) * outputs)


def convolutions(depths: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """(channels in, channels out, kernel, output side) of every convolution, in order."""
    image = convnet.network("resnet50").image
    yield 3, 64, 7, image // 2
    channels, side = 64, image // 4
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
    total = dense(2048, CLASSES)
    for inputs, outputs, kernel, side in convolutions(depths):
        weights, values = inputs * outputs * kernel**2, outputs * side**2
        total += Count(
            products=weights * side**2, read=values, written=values, parameters=weights + 2 * outputs
        )
    return total


def googlenet_count(*, auxiliary: bool) -> Count:
    """Forward pass of one image: 3.00 GFLOP without auxiliary classifiers."""
    network = convnet.network("googlenet")
    total, shape = Count(), (3, network.image)
    for name, layer in network.layers.items():
        counted, shape = through(layer, shape)
        total += counted
        if auxiliary and name in network.heads:
            # Pooling to 4 x 4, 1x1 convolution, two fully connected layers.
            channels, side = shape
            total += Count(pooled=channels * (side**2 + convnet.AUXILIARY_SIDE**2))
            total += through(Conv(convnet.AUXILIARY_CHANNELS), (channels, convnet.AUXILIARY_SIDE))[0]
            total += dense(convnet.AUXILIARY_CHANNELS * convnet.AUXILIARY_SIDE**2, network.hidden)
            total += dense(network.hidden, CLASSES)
    return total + dense(shape[0], CLASSES)


def inception_count(*, auxiliary: bool) -> Count:
    """Forward pass of one image: 11.43 GFLOP without the auxiliary classifier."""
    network = convnet.network("inception-v3")
    layers, until = list(network.layers.values()), list(network.layers).index(*network.heads) + 1
    total, shape = through_all(layers[:until], (3, network.image))
    if auxiliary:
        heard, (channels, _) = through_all(network.auxiliary, shape)
        total += heard + dense(channels, CLASSES)
    rest, (channels, _) = through_all(layers[until:], shape)
    return total + rest + dense(channels, CLASSES)


@dataclass(frozen=True, slots=True)
class Tally:
    """What one image costs in one forward pass."""

    flop: float = 0.0
    values: float = 0.0  # Activation values read and written
    weights: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.flop + other.flop, self.values + other.values, self.weights + other.weights)

    def __mul__(self, times: int) -> Tally:
        return Tally(self.flop * times, self.values * times, self.weights * times)


def linear(rows: int, inputs: int, outputs: int, *, bias: bool = True) -> Tally:
    """A product of `rows` rows with a matrix."""
    weights = inputs * outputs + (outputs if bias else 0)
    return Tally(2.0 * rows * inputs * outputs, float(rows * (inputs + outputs)), weights)


def convolution(inputs: int, outputs: int, kernel: int, side: int, stride: int = 1) -> Tally:
    """A square convolution with bias over a map of `side`^2 that pads to keep side / stride."""
    out = (side // stride) ** 2
    weights = inputs * outputs * kernel**2
    return Tally(2.0 * weights * out, float(inputs * side**2 + outputs * out), weights + outputs)


def attention(queries: int, keys: int, width: int) -> Tally:
    """Scores and weighted sum of every query over every key."""
    return Tally(4.0 * queries * keys * width, 2.0 * (queries + keys) * width)


def group_norm(rows: int, width: int) -> Tally:
    """With scale, shift and the activation after it."""
    return Tally(0.0, 3.0 * rows * width, 2 * width)


def moved(values: float) -> Tally:
    """Values read and written by what is no product: additions, gates, layer norms, joins."""
    return Tally(0.0, values)


def residual(shape: UnetShape, inputs: int, outputs: int, side: int) -> Tally:
    """Norm, convolution, time, norm, convolution, shortcut."""
    area = side**2
    body = group_norm(area, inputs) + convolution(inputs, outputs, 3, side)
    body += linear(1, shape.time_width, outputs) + group_norm(area, outputs)
    body += convolution(outputs, outputs, 3, side) + moved(3 * area * outputs)
    return body if inputs == outputs else body + convolution(inputs, outputs, 1, side)


def transformer(shape: UnetShape, width: int, side: int) -> Tally:
    """Self-attention, attention to the text, gated feed-forward; layer norms and additions in one pass."""
    rows, text = side**2, shape.text_tokens
    norms = Tally(0.0, float(rows * width * (2 + 4 + 4 + 3)), 3 * 2 * width)
    own = (
        linear(rows, width, 3 * width, bias=False) + attention(rows, rows, width) + linear(rows, width, width)
    )
    cross = linear(rows, width, width, bias=False) + linear(text, shape.text_width, 2 * width, bias=False)
    cross += attention(rows, text, width) + linear(rows, width, width)
    feed = linear(rows, width, 8 * width) + moved(12 * rows * width) + linear(rows, 4 * width, width)
    ends = group_norm(rows, width) + convolution(width, width, 1, side) * 2 + moved(3 * rows * width)
    return norms + own + cross + feed + ends


def unet_tally(shape: UnetShape, side: int) -> Tally:
    """One image of `side`^2 latents through the whole network."""

    def block(inputs: int, outputs: int, *, attends: bool) -> Tally:
        found = residual(shape, inputs, outputs, side)
        return found + transformer(shape, outputs, side) if attends else found

    first, time = shape.channels[0], shape.time_width
    total = linear(1, first, time) + linear(1, time, time) + convolution(shape.latent, first, 3, side)
    skips, width, levels = [first], first, len(shape.channels)
    for level, outputs in enumerate(shape.channels):
        for _ in range(shape.blocks):
            total += block(width, outputs, attends=shape.attends[level])
            width = outputs
            skips.append(width)
        if level < levels - 1:
            total += convolution(width, width, 3, side, 2)
            side //= 2
            skips.append(width)
    total += residual(shape, width, width, side) * 2 + transformer(shape, width, side)
    for level in reversed(range(levels)):
        outputs = shape.channels[level]
        for _ in range(shape.blocks + 1):
            joined = width + skips.pop()
            total += moved(2 * joined * side**2)
            total += block(joined, outputs, attends=shape.attends[level])
            width = outputs
        if level > 0:
            total += moved(5 * width * side**2)
            side *= 2
            total += convolution(width, width, 3, side)
    return total + group_norm(side**2, width) + convolution(width, shape.latent, 3, side)


def dit_tally(shape: DitShape, side: int) -> Tally:
    """One image of `side`^2 latents through the whole network."""
    rows, c, patch = (side // shape.patch) ** 2, shape.hidden, shape.patch**2 * shape.latent
    block = linear(1, c, 6 * c) + linear(rows, c, 3 * c) + attention(rows, rows, c) + linear(rows, c, c)
    block += linear(rows, c, 4 * c) + moved(8 * rows * c) + linear(rows, 4 * c, c)
    block += moved(2 * 4 * rows * c)  # two norms, each with the gated sum before it
    ends = linear(rows, patch, c) + moved(3 * rows * c) + linear(rows, c, 2 * patch)
    condition = linear(1, TIME_WIDTH, c) + linear(1, c, c) + linear(1, c, 2 * c)
    return block * shape.layers + ends + condition + Tally(weights=(shape.classes + 1) * c)


def encoder_parameters(shape: BertShape) -> int:
    """Embeddings of words, positions and 2 segments with their norm, and the layers; no pooler."""
    width = shape.hidden
    embeddings = (shape.vocabulary + shape.positions + 2) * width + 2 * width
    return embeddings + shape.layers * (12 * width**2 + 13 * width)


def encoder_flop(shape: BertShape, tokens: int) -> int:
    """Operations of one forward pass of one sequence, without a head."""
    linear = 24 * shape.layers * shape.hidden**2 * tokens
    return linear + 4 * shape.layers * shape.hidden * tokens**2


def encoder_values(shape: BertShape, tokens: int) -> int:
    """Values that one forward pass of one sequence moves."""
    return BERT_VALUES * shape.hidden * tokens * shape.layers


def answering_parameters(shape: BertShape) -> int:
    """With the question-answering head, without a pooler."""
    return encoder_parameters(shape) + 2 * shape.hidden + 2


def pretraining_parameters(shape: BertShape) -> int:
    """Encoder, pooler, dense layer and norm of the head, the decoder's bias, next sentence."""
    width = shape.hidden
    dense = width**2 + width
    return encoder_parameters(shape) + 2 * dense + 2 * width + shape.vocabulary + 2 * width + 2


def forward_flop(shape: VitShape = SHAPE) -> float:
    """Operations of one forward pass of one image (3.513e10)."""
    width, tokens = shape.hidden, shape.tokens
    linear = 24 * shape.layers * width**2 * tokens
    attention = 4 * shape.layers * width * tokens**2
    patches = 2 * 3 * shape.patch**2 * width * shape.patches
    return float(linear + attention + patches + 2 * width * CLASSES)


def vit_parameters(shape: VitShape = SHAPE) -> int:
    """Patches, class token, positions, layers of 12 C^2 + 13 C, the last norm and the classifier."""
    width = shape.hidden
    patches = 3 * shape.patch**2 * width + width
    layers = shape.layers * (12 * width**2 + 13 * width)
    return patches + width + shape.tokens * width + layers + 2 * width + (width + 1) * CLASSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The cost of one item in one mode: what is computed, moved, and the weights that a step moves."""

    flop: float
    values: float
    weights: int

    def __str__(self) -> str:
        return f"{{ flop = {self.flop:_.0f}, values = {self.values:_.0f}, weights = {self.weights:_} }}"


def image_lines(train: Count, infer: Count) -> dict[str, Line]:
    """Of a network of convolutions; the two modes may run different layers."""
    passes = WRITTEN_PASSES * train.written + READ_PASSES * train.read + POOLED_PASSES * train.pooled
    moved = infer.written + infer.read + infer.pooled
    return {
        "train": Line(flop=6.0 * train.products, values=passes, weights=train.parameters),
        "infer": Line(flop=2.0 * infer.products, values=moved, weights=infer.parameters),
    }


def lines(flop: float, values: float, weights: int) -> dict[str, Line]:
    """Of any other network, by its forward pass."""
    return {
        "train": Line(flop=3 * flop, values=3 * values, weights=weights),
        "infer": Line(flop=flop, values=values, weights=weights),
    }


def answering_lines(shape: BertShape, tokens: int = TOKENS) -> dict[str, Line]:
    """BERT with the question-answering head, whose traffic is not counted."""
    flop = float(encoder_flop(shape, tokens) + 2 * tokens * shape.hidden * 2)
    return lines(flop, encoder_values(shape, tokens), answering_parameters(shape))


def pretraining_lines(tokens: int, masked: int) -> dict[str, Line]:
    """BERT-large in one phase of pre-training: 80 GFLOP forward at 128 tokens, 340 at 512."""
    width, vocabulary = UNCASED.hidden, UNCASED.vocabulary
    words = 2 * masked * width * (width + vocabulary)
    flop = float(encoder_flop(UNCASED, tokens) + words + 2 * width**2 + 4 * width)
    values = encoder_values(UNCASED, tokens) + 2 * masked * vocabulary
    found = lines(flop, values, pretraining_parameters(UNCASED))
    return {"train": found["train"]}


def tallied(found: Tally) -> dict[str, Line]:
    return lines(found.flop, found.values, found.weights)


def every() -> dict[str, dict[str, Line]]:
    """The lines of every network, by its name."""
    one, deep = (resnet_count(convnet.network(name).depths) for name in ("resnet50", "resnet152"))
    google, inception = (
        [count(auxiliary=auxiliary) for auxiliary in (True, False)]
        for count in (googlenet_count, inception_count)
    )
    vit_values = VIT_VALUES * SHAPE.hidden * SHAPE.tokens * SHAPE.layers
    return {
        "resnet50": image_lines(one, one),
        "resnet152": image_lines(deep, deep),
        "inception-v3": image_lines(*inception),
        "googlenet": image_lines(*google),
        "vit-b16": lines(forward_flop(), vit_values, vit_parameters()),
        "bert-base": answering_lines(BASE),
        "bert-large": answering_lines(LARGE),
        "bert-large-pretrain-s128": pretraining_lines(128, 20),
        "bert-large-pretrain-s512": pretraining_lines(512, 80),
        "unet-sd15": tallied(unet_tally(UnetShape(), 64)),
        "unet-sd15-1024": tallied(unet_tally(UnetShape(), 128)),
        "dit-xl2": tallied(dit_tally(DitShape(), 32)),
        "dit-xl2-512": tallied(dit_tally(DitShape(), 64)),
    }


if __name__ == "__main__":
    for name, modes in every().items():
        print(f"[{name}]", *(f"{mode} = {line}" for mode, line in modes.items()), "", sep="\n")
