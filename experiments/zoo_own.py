"""Networks of the zoo in plain torch: shapes of work that no library of image or language models has.

`@own(...)` registers a function of `toy` that returns (make, inputs): `make()` gives the module, and
`inputs(batch)` its arguments, both on torch's default device. Toy sizes are there to try the script.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Inputs = Callable[[int], tuple[Tensor, ...]]
Made = tuple[Callable[[], nn.Module], Inputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A registered network: its two batches, and whether its tensors may be channels-last (2-D images)."""

    build: Callable[[bool], Made]
    family: str
    batches: tuple[int, int]
    images: bool
    optimiser: str


OWN: dict[str, Own] = {}


def own(
    family: str, small: int, large: int, *, images: bool = False, optimiser: str = "adamw"
) -> Callable[[Callable[[bool], Made]], Callable[[bool], Made]]:
    """Register a network under the name of its function."""

    def register(build: Callable[[bool], Made]) -> Callable[[bool], Made]:
        name = build.__name__
        OWN[name] = Own(
            build=build, family=family, batches=(small, large), images=images, optimiser=optimiser
        )
        return build

    return register


def normal(*shape: int) -> Inputs:
    """One random tensor of that shape an item."""
    return lambda batch: (torch.randn(batch, *shape),)


def tokens(vocabulary: int, length: int) -> Inputs:
    return lambda batch: (torch.randint(vocabulary, (batch, length)),)


class Residual(nn.Module):
    """x + body(x)."""

    def __init__(self, *body: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


def mlp(*widths: int) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for inside, outside in pairwise(widths):
        layers += [nn.Linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


# Recommenders


class Recommender(nn.Module):
    """DLRM (Naumov et al. 2019): a bag of each sparse feature, an MLP of the dense, products of all pairs."""

    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = mlp(13, 512, 256, width)
        pairs = (tables + 1) * tables // 2
        self.top = mlp(width + pairs, 512, 256, 1)
        self.register_buffer("upper", torch.triu_indices(tables + 1, tables + 1, 1), persistent=False)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bottom(dense)
        found = torch.stack([x, *(bag(ids) for bag, ids in zip(self.bags, sparse.unbind(1), strict=True))], 1)
        products = found @ found.transpose(1, 2)
        return self.top(torch.cat([x, products[:, self.upper[0], self.upper[1]]], 1))


def recommender(tables: int, rows: int, width: int, bag: int) -> Made:
    return lambda: Recommender(tables, rows, width), lambda batch: (
        torch.randn(batch, 13),
        torch.randint(rows, (batch, tables, bag)),
    )


@own("recommender", 2048, 16384)
def dlrm_small(toy: bool) -> Made:
    return recommender(26, 100 if toy else 100_000, 16 if toy else 64, 1)


@own("recommender", 1024, 8192)
def dlrm_bags(toy: bool) -> Made:
    return recommender(8, 100 if toy else 500_000, 16 if toy else 128, 20)


class WideAndDeep(nn.Module):
    """DeepFM-like: one embedding for all fields, its factorisation term, and an MLP."""

    def __init__(self, rows: int, width: int, fields: int) -> None:
        super().__init__()
        self.table, self.first = nn.Embedding(rows, width), nn.Embedding(rows, 1)
        self.deep = mlp(fields * width, 400, 400, 400, 1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.table(ids)
        crossed = 0.5 * (x.sum(1).square() - x.square().sum(1)).sum(1, keepdim=True)
        return self.first(ids).sum(1) + crossed + self.deep(x.flatten(1))


@own("recommender", 4096, 32768)
def deepfm(toy: bool) -> Made:
    rows = 1000 if toy else 1_000_000
    return lambda: WideAndDeep(rows, 16, 39), tokens(rows, 39)


# Dense prediction


class UNet(nn.Module):
    """U-Net in two or three dimensions: pairs of convolutions, halved and doubled `levels` times."""

    def __init__(self, dim: int, width: int, levels: int, channels: int, norm: str = "batch") -> None:
        super().__init__()
        conv, up, pool, batch, instance = {
            2: (nn.Conv2d, nn.ConvTranspose2d, nn.MaxPool2d, nn.BatchNorm2d, nn.InstanceNorm2d),
            3: (nn.Conv3d, nn.ConvTranspose3d, nn.MaxPool3d, nn.BatchNorm3d, nn.InstanceNorm3d),
        }[dim]
        normed = batch if norm == "batch" else instance

        def pair(inside: int, outside: int) -> nn.Sequential:
            first = (conv(inside, outside, 3, padding=1), normed(outside), nn.ReLU(inplace=True))
            return nn.Sequential(
                *first, conv(outside, outside, 3, padding=1), normed(outside), nn.ReLU(inplace=True)
            )

        widths = [width * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(pair(a, b) for a, b in zip([channels, *widths[:-1]], widths, strict=True))
        self.pool = pool(2)
        self.up = nn.ModuleList(up(2 * w, w, 2, 2) for w in reversed(widths[:-1]))
        self.join = nn.ModuleList(pair(2 * w, w) for w in reversed(widths[:-1]))
        self.head = conv(width, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        skipped: list[Tensor] = []
        for level, stage in enumerate(self.down):
            x = stage(self.pool(x) if level else x)
            skipped.append(x)
        skipped.pop()
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([up(x), skipped.pop()], 1))
        return self.head(x)


@own("unet", 2, 16, images=True)
def unet_2d(toy: bool) -> Made:
    return lambda: UNet(2, 8 if toy else 64, 2 if toy else 4, 3), normal(3, *[32 if toy else 384] * 2)


@own("unet", 1, 4)
def unet_3d(toy: bool) -> Made:
    return lambda: UNet(3, 4 if toy else 32, 2 if toy else 4, 1), normal(1, *[16 if toy else 96] * 3)


@own("unet", 1, 4)
def unet_3d_instance(toy: bool) -> Made:
    """As nnU-Net normalises."""
    return lambda: UNet(3, 4 if toy else 32, 2 if toy else 3, 4, "instance"), normal(
        4, *[16 if toy else 64] * 3
    )


class StereoVolume(nn.Module):
    """PSMNet-like: features of two images, their volume over disparities, 3-D convolutions over it."""

    def __init__(self, width: int, disparities: int) -> None:
        super().__init__()
        self.disparities = disparities
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            *(Residual(nn.Conv2d(width, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU()) for _ in range(4)),
        )  # fmt: skip
        self.regularise = nn.Sequential(
            nn.Conv3d(2 * width, width, 3, 1, 1), nn.BatchNorm3d(width), nn.ReLU(),
            *(Residual(nn.Conv3d(width, width, 3, 1, 1), nn.BatchNorm3d(width), nn.ReLU()) for _ in range(3)),
            nn.Conv3d(width, 1, 3, 1, 1),
        )  # fmt: skip

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        a, b = self.features(left), self.features(right)
        volume = torch.stack([torch.cat([a, b.roll(d, 3)], 1) for d in range(self.disparities)], 2)
        weight = self.regularise(volume).squeeze(1).softmax(1)
        steps = torch.arange(self.disparities, device=weight.device, dtype=weight.dtype)
        return torch.einsum("bdhw,d->bhw", weight, steps)


@own("stereo", 1, 8)
def stereo_volume(toy: bool) -> Made:
    high, wide = (16, 32) if toy else (256, 512)
    return lambda: StereoVolume(4 if toy else 32, 4 if toy else 48), lambda batch: (
        torch.randn(batch, 3, high, wide),
        torch.randn(batch, 3, high, wide),
    )


# Generators and restoration


@own("generator", 64, 512, images=True)
def dcgan_generator(toy: bool) -> Made:
    width = 8 if toy else 128

    def make() -> nn.Module:
        layers: list[nn.Module] = [nn.ConvTranspose2d(100, width * 8, 4, 1, 0, bias=False)]
        for factor in (8, 4, 2, 1):
            outside = width * factor // 2 if factor > 1 else 3
            layers += [nn.BatchNorm2d(width * factor), nn.ReLU()]
            layers += [nn.ConvTranspose2d(width * factor, outside, 4, 2, 1, bias=False)]
        return nn.Sequential(*layers, nn.Tanh())

    return make, normal(100, 1, 1)


class Modulated(nn.Module):
    """StyleGAN2's convolution: the weights of each image are scaled by its style and normalised (grouped)."""

    def __init__(self, inside: int, outside: int, style: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outside, inside, 3, 3) / (3 * inside**0.5))
        self.scale = nn.Linear(style, inside)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        batch, inside, high, wide = x.shape
        weight = self.weight * (1 + self.scale(style))[:, None, :, None, None]
        weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        mixed = F.conv2d(
            x.reshape(1, batch * inside, high, wide),
            weight.flatten(0, 1).to(x.dtype),
            padding=1,
            groups=batch,
        )
        return mixed.reshape(batch, -1, high, wide)


class StyleGenerator(nn.Module):
    def __init__(self, width: int, doublings: int) -> None:
        super().__init__()
        self.mapping = mlp(*[width] * 9)
        self.start = nn.Parameter(torch.randn(1, width, 4, 4))
        widths = [max(width >> max(0, level - 3), 8) for level in range(doublings + 1)]
        pairs = list(pairwise(widths))
        self.first = nn.ModuleList(Modulated(a, b, width) for a, b in pairs)
        self.second = nn.ModuleList(Modulated(b, b, width) for _, b in pairs)
        self.image = nn.Conv2d(widths[-1], 3, 1)

    def forward(self, z: Tensor) -> Tensor:
        style = self.mapping(z)
        x = self.start.expand(len(z), -1, -1, -1)
        for first, second in zip(self.first, self.second, strict=True):
            x = F.interpolate(x, scale_factor=2.0, mode="bilinear")
            x = F.leaky_relu(second(F.leaky_relu(first(x, style), 0.2), style), 0.2)
        return self.image(x)


@own("generator", 4, 32)
def style_generator(toy: bool) -> Made:
    width = 16 if toy else 512
    return lambda: StyleGenerator(width, 2 if toy else 6), normal(width)


class DenseBlock(nn.Module):
    """ESRGAN's residual dense block: five convolutions, each reading all before it."""

    def __init__(self, width: int, growth: int) -> None:
        super().__init__()
        outs = [growth] * 4 + [width]
        self.layers = nn.ModuleList(nn.Conv2d(width + i * growth, out, 3, 1, 1) for i, out in enumerate(outs))

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for layer in self.layers:
            found.append(F.leaky_relu(layer(torch.cat(found, 1)), 0.2))
        return x + 0.2 * found[-1]


@own("restoration", 1, 8, images=True)
def esrgan(toy: bool) -> Made:
    width, blocks = (8, 1) if toy else (64, 18)

    def make() -> nn.Module:
        body = [DenseBlock(width, width // 2) for _ in range(blocks)]
        up = [nn.Conv2d(width, 4 * width, 3, 1, 1), nn.PixelShuffle(2), nn.LeakyReLU(0.2)] * 2
        return nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), *body, *up, nn.Conv2d(width, 3, 3, 1, 1))

    return make, normal(3, *[16 if toy else 96] * 2)


@own("restoration", 2, 16, images=True)
def denoiser(toy: bool) -> Made:
    """DnCNN: 20 equal convolutions at full resolution."""
    width = 8 if toy else 64

    def make() -> nn.Module:
        body = [
            layer
            for _ in range(2 if toy else 18)
            for layer in (nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        ]
        return nn.Sequential(nn.Conv2d(1, width, 3, 1, 1), nn.ReLU(), *body, nn.Conv2d(width, 1, 3, 1, 1))

    return make, normal(1, *[16 if toy else 256] * 2)


class TimeBlock(nn.Module):
    """Residual block of a diffusion U-Net: group norms, SiLU, the time added between the convolutions."""

    def __init__(self, width: int, time: int, heads: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, 1, 1))
        self.second = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, 1, 1))
        self.time = nn.Linear(time, width)
        self.norm, self.heads = nn.GroupNorm(8, width), heads
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        x = x + self.second(self.first(x) + self.time(time)[:, :, None, None])
        batch, width, high, wide = x.shape
        qkv = self.qkv(self.norm(x)).reshape(batch, 3, self.heads, width // self.heads, high * wide)
        q, k, v = qkv.transpose(3, 4).unbind(1)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(batch, width, high, wide)
        return x + self.out(mixed)


class DiffusionBlocks(nn.Module):
    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(4, width, 3, 1, 1), nn.Conv2d(width, 4, 3, 1, 1)
        self.blocks = nn.ModuleList(TimeBlock(width, 256, 8) for _ in range(blocks))

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, time)
        return self.head(x)


@own("diffusion", 4, 32, images=True)
def diffusion_blocks(toy: bool) -> Made:
    side = 8 if toy else 32
    return lambda: DiffusionBlocks(16 if toy else 320, 1 if toy else 6), lambda batch: (
        torch.randn(batch, 4, side, side),
        torch.randn(batch, 256),
    )


# Sequences


class RecurrentModel(nn.Module):
    """Embedding, cuDNN's recurrent layers, output over the vocabulary."""

    def __init__(self, kind: str, vocabulary: int, width: int, layers: int, *, both: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = getattr(nn, kind)(width, width, layers, batch_first=True, bidirectional=both)
        self.head = nn.Linear(width * (2 if both else 1), vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(ids))[0])


def recurrent(kind: str, toy: bool, width: int, layers: int, length: int, *, both: bool = False) -> Made:
    vocabulary = 100 if toy else 10_000
    shape = (16, 1) if toy else (width, layers)
    return lambda: RecurrentModel(kind, vocabulary, *shape, both=both), tokens(
        vocabulary, 8 if toy else length
    )


@own("recurrent", 32, 256)
def lstm_language_model(toy: bool) -> Made:
    return recurrent("LSTM", toy, 1024, 2, 128)


@own("recurrent", 32, 256)
def gru_language_model(toy: bool) -> Made:
    return recurrent("GRU", toy, 768, 3, 256)


@own("recurrent", 16, 128)
def bidirectional_lstm(toy: bool) -> Made:
    return recurrent("LSTM", toy, 512, 4, 200, both=True)


class WaveNet(nn.Module):
    """Dilated causal 1-D convolutions with gates (van den Oord et al. 2016)."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv1d(1, width, 1), nn.Sequential(nn.ReLU(), nn.Conv1d(width, 256, 1))
        self.dilations = [2 ** (layer % 10) for layer in range(layers)]
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=d) for d in self.dilations)
        self.mixes = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in self.dilations)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        total = torch.zeros_like(x)
        for dilation, gate, mix in zip(self.dilations, self.gates, self.mixes, strict=True):
            signal, control = gate(F.pad(x, (dilation, 0))).chunk(2, 1)
            kept, skipped = mix(signal.tanh() * control.sigmoid()).chunk(2, 1)
            x, total = x + kept, total + skipped
        return self.head(total)


@own("wavenet", 4, 32)
def wavenet(toy: bool) -> Made:
    return lambda: WaveNet(8 if toy else 128, 3 if toy else 20), normal(1, 256 if toy else 8000)


@own("temporal_convolution", 16, 128)
def temporal_convolution(toy: bool) -> Made:
    width = 8 if toy else 256

    def make() -> nn.Module:
        blocks = [
            Residual(
                nn.Conv1d(width, width, 5, padding=2 * 2**i, dilation=2**i), nn.BatchNorm1d(width), nn.ReLU()
            )
            for i in range(2 if toy else 8)
        ]
        return nn.Sequential(nn.Conv1d(40, width, 1), *blocks, nn.Conv1d(width, 100, 1))

    return make, normal(40, 64 if toy else 1000)


class Attention(nn.Module):
    """Multi-head self-attention through torch's fused product."""

    def __init__(self, width: int, heads: int, *, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


def feed_forward(width: int, factor: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, factor * width), nn.GELU(), nn.Linear(factor * width, width))


def transformer(width: int, heads: int, layers: int, vocabulary: int, *, causal: bool) -> nn.Module:
    """Pre-norm blocks between an embedding and an output over the vocabulary."""
    blocks: list[nn.Module] = []
    for _ in range(layers):
        blocks += [
            Residual(nn.LayerNorm(width), Attention(width, heads, causal=causal)),
            Residual(nn.LayerNorm(width), feed_forward(width)),
        ]
    return nn.Sequential(nn.Embedding(vocabulary, width), *blocks, nn.Linear(width, vocabulary))


@own("transformer_long", 1, 4)
def transformer_8k(toy: bool) -> Made:
    width, layers, length = (32, 1, 64) if toy else (768, 6, 8192)
    return lambda: transformer(width, width // 16 if toy else 12, layers, 256, causal=True), tokens(
        256, length
    )


@own("transformer_long", 256, 2048)
def transformer_short(toy: bool) -> Made:
    """Many short sequences, as in point clouds of sensors or tabular data."""
    width = 32 if toy else 256
    return lambda: transformer(width, 4, 1 if toy else 4, 1000, causal=False), tokens(1000, 16)


class ConvolutionModule(nn.Module):
    """Conformer's: gated pointwise, depthwise over time, batch norm, pointwise."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
        self.depthwise = nn.Conv1d(width, width, 31, padding=15, groups=width)
        self.batch_norm, self.out = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.glu(self.gate(self.norm(x).transpose(1, 2)), 1)
        return self.out(F.silu(self.batch_norm(self.depthwise(x)))).transpose(1, 2)


@own("conformer", 4, 32)
def conformer(toy: bool) -> Made:
    width = 32 if toy else 512

    def make() -> nn.Module:
        blocks: list[nn.Module] = [nn.Linear(80, width)]
        for _ in range(1 if toy else 12):
            blocks += [Residual(nn.LayerNorm(width), feed_forward(width))]
            blocks += [Residual(nn.LayerNorm(width), Attention(width, 8))]
            blocks += [Residual(ConvolutionModule(width)), Residual(nn.LayerNorm(width), feed_forward(width))]
        return nn.Sequential(*blocks, nn.Linear(width, 1000))

    return make, normal(32 if toy else 400, 80)


class Transposed(nn.Module):
    """`body` over the places instead of the channels."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x.transpose(1, 2)).transpose(1, 2)


@own("mixer", 16, 128)
def mlp_mixer(toy: bool) -> Made:
    places, width = (16, 32) if toy else (196, 768)

    def make() -> nn.Module:
        layers: list[nn.Module] = []
        for _ in range(1 if toy else 12):
            layers += [Residual(nn.LayerNorm(width), Transposed(mlp(places, 2 * places, places)))]
            layers += [Residual(nn.LayerNorm(width), feed_forward(width))]
        return nn.Sequential(*layers)

    return make, normal(places, width)


class SoftExperts(nn.Module):
    """Soft mixture of experts (Puigcerver et al. 2024): slots are weighted means of all places."""

    def __init__(self, width: int, experts: int, slots: int) -> None:
        super().__init__()
        self.route = nn.Parameter(torch.randn(width, experts, slots) / width**0.5)
        self.inside = nn.Parameter(torch.randn(experts, width, 4 * width) / width**0.5)
        self.outside = nn.Parameter(torch.randn(experts, 4 * width, width) / (4 * width) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.einsum("btw,wes->btes", x, self.route)
        slots = torch.einsum("btw,btes->ebsw", x, scores.softmax(1).to(x.dtype))
        batch = slots.shape[1]
        hidden = torch.bmm(F.gelu(torch.bmm(slots.flatten(1, 2), self.inside)), self.outside)
        combine = scores.flatten(2).softmax(-1).to(x.dtype).view_as(scores)
        return torch.einsum("ebsw,btes->btw", hidden.unflatten(1, (batch, -1)), combine)


@own("soft_experts", 8, 64)
def soft_experts(toy: bool) -> Made:
    width, experts = (32, 4) if toy else (512, 32)

    def make() -> nn.Module:
        blocks: list[nn.Module] = []
        for _ in range(1 if toy else 6):
            blocks += [Residual(nn.LayerNorm(width), Attention(width, 8))]
            blocks += [Residual(nn.LayerNorm(width), SoftExperts(width, experts, 8))]
        return nn.Sequential(*blocks)

    return make, normal(16 if toy else 196, width)


class SelectiveScan(nn.Module):
    """A Mamba-like block whose scan is a loop over time in torch: hundreds of tiny kernels."""

    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.inside, self.outside = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.mix = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.step, self.read = nn.Linear(width, width), nn.Linear(width, 2 * state)
        self.decay = nn.Parameter(torch.rand(width, state))

    def forward(self, x: Tensor) -> Tensor:
        signal, gate = self.inside(x).chunk(2, -1)
        signal = F.silu(self.mix(signal.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        step = F.softplus(self.step(signal))
        write, read = self.read(signal).chunk(2, -1)
        kept = torch.exp(-step.unsqueeze(-1) * self.decay)
        added = (step * signal).unsqueeze(-1) * write.unsqueeze(2)
        state, found = torch.zeros_like(added[:, 0]), []
        for time in range(x.shape[1]):
            state = kept[:, time] * state + added[:, time]
            found.append((state * read[:, time, None]).sum(-1))
        return self.outside(torch.stack(found, 1) * F.silu(gate))


@own("mamba", 4, 32)
def selective_scan(toy: bool) -> Made:
    width = 16 if toy else 512

    def make() -> nn.Module:
        blocks = [
            Residual(nn.LayerNorm(width), SelectiveScan(width, 4 if toy else 16))
            for _ in range(1 if toy else 2)
        ]
        return nn.Sequential(nn.Embedding(256, width), *blocks, nn.Linear(width, 256))

    return make, tokens(256, 8 if toy else 64)


# Points, graphs, fields


class PointNet(nn.Module):
    """Shared layers over points, the greatest of each channel, a classifier (Qi et al. 2017)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        widths = [3, width, width, width, 2 * width, 16 * width]
        self.shared = nn.Sequential(
            *(
                layer
                for a, b in pairwise(widths)
                for layer in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())
            )
        )
        self.head = mlp(16 * width, 8 * width, 4 * width, 40)

    def forward(self, points: Tensor) -> Tensor:
        return self.head(self.shared(points).amax(2))


@own("points", 16, 128)
def pointnet(toy: bool) -> Made:
    return lambda: PointNet(8 if toy else 64), normal(3, 64 if toy else 2048)


@own("points", 64, 1024)
def deep_sets(toy: bool) -> Made:
    width = 16 if toy else 512

    class DeepSets(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.each, self.all = mlp(8, width, width, width), mlp(width, width, width, 10)

        def forward(self, x: Tensor) -> Tensor:
            return self.all(self.each(x).sum(1))

    return DeepSets, normal(128, 8)


class GraphLayer(nn.Module):
    """Messages along edges, gathered by index and added at their target (index_add)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message, self.update = mlp(2 * width, width, width), mlp(2 * width, width, width)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        sent = self.message(torch.cat([x[edges[0]], x[edges[1]]], 1))
        arrived = torch.zeros_like(x, dtype=sent.dtype).index_add(0, edges[1], sent)
        return x + self.update(torch.cat([x, arrived], 1))


class GraphNetwork(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.stem = nn.Linear(32, width)
        self.layers = nn.ModuleList(GraphLayer(width) for _ in range(layers))
        self.head = nn.Linear(width, 16)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        x = self.stem(nodes)
        for layer in self.layers:
            x = layer(x, edges)
        return self.head(x)


def graph(nodes: int, degree: int) -> Inputs:
    """`batch` random graphs as one, with their nodes one after the other."""

    def inputs(batch: int) -> tuple[Tensor, Tensor]:
        offsets = torch.arange(batch).repeat_interleave(nodes * degree) * nodes
        return torch.randn(batch * nodes, 32), torch.randint(nodes, (2, batch * nodes * degree)) + offsets

    return inputs


@own("graph", 8, 128)
def graph_network(toy: bool) -> Made:
    return lambda: GraphNetwork(16 if toy else 128, 2 if toy else 5), graph(20 if toy else 1000, 8)


class EquivariantLayer(nn.Module):
    """EGNN (Satorras et al. 2021): features and positions move along all edges."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message, self.update = mlp(2 * width + 1, width, width), mlp(2 * width, width, width)
        self.pull = nn.Linear(width, 1)

    def forward(self, x: Tensor, place: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edges
        apart = place[target] - place[source]
        distance = apart.square().sum(1, keepdim=True)
        sent = self.message(torch.cat([x[target], x[source], distance.to(x.dtype)], 1))
        moved = (apart * self.pull(sent)).to(place.dtype)
        place = place.index_add(0, target, moved, alpha=0.01)
        arrived = torch.zeros_like(x, dtype=sent.dtype).index_add(0, target, sent)
        return x + self.update(torch.cat([x, arrived], 1)), place


class EquivariantNetwork(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.stem = nn.Linear(32, width)
        self.layers = nn.ModuleList(EquivariantLayer(width) for _ in range(layers))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        x, place = self.stem(nodes), nodes[:, :3]
        for layer in self.layers:
            x, place = layer(x, place, edges)
        return torch.cat([x, place], 1)


@own("graph", 16, 256)
def equivariant_network(toy: bool) -> Made:
    return lambda: EquivariantNetwork(16 if toy else 64, 2 if toy else 4), graph(10 if toy else 30, 12)


class Field(nn.Module):
    """NeRF's MLP: positions as sines and cosines, eight layers, one skip."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("frequencies", 2.0 ** torch.arange(10), persistent=False)
        self.first, self.second = mlp(63, *[width] * 5), mlp(63 + width, *[width] * 4, 4)

    def forward(self, places: Tensor) -> Tensor:
        waves = (places.unsqueeze(-1) * self.frequencies).flatten(1)
        coded = torch.cat([places, waves.sin(), waves.cos()], 1)
        return self.second(torch.cat([coded, F.relu(self.first(coded))], 1))


@own("field", 65_536, 1_048_576)
def nerf(toy: bool) -> Made:
    return lambda: Field(16 if toy else 256), normal(3)


class HashField(nn.Module):
    """Instant-NGP-like: hashed grids of several resolutions, read by index, and a tiny MLP."""

    def __init__(self, levels: int, rows: int) -> None:
        super().__init__()
        self.rows = rows
        self.tables = nn.Parameter(1e-2 * torch.randn(levels * rows, 2))
        self.register_buffer("sides", 16 * 1.5 ** torch.arange(levels), persistent=False)
        self.head = mlp(2 * levels, 64, 64, 4)

    def forward(self, places: Tensor) -> Tensor:
        cells = (places.unsqueeze(1).float() * self.sides.float()[:, None]).long()
        mixed = cells[..., 0] ^ (cells[..., 1] * 2_654_435_761) ^ (cells[..., 2] * 805_459_861)
        offsets = torch.arange(len(self.sides), device=places.device) * self.rows
        return self.head(self.tables[mixed % self.rows + offsets].flatten(1))


@own("field", 65_536, 1_048_576)
def hash_field(toy: bool) -> Made:
    return lambda: HashField(4 if toy else 16, 256 if toy else 2**19), normal(3)


class Spectral(nn.Module):
    """Fourier layer (Li et al. 2021): low frequencies times complex weights. The FFT is always in fp32."""

    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(width, width, modes, modes, 2) / width)
        self.pointwise = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            found = torch.fft.rfft2(x.float())
            low = found[..., : self.modes, : self.modes]
            mixed = torch.einsum("bihw,iohw->bohw", low, torch.view_as_complex(self.weight.float()))
            high, wide = found.shape[-2:]
            padded = F.pad(mixed, (0, wide - self.modes, 0, high - self.modes))
            wave = torch.fft.irfft2(padded, s=x.shape[-2:])
        return F.gelu(wave.to(x.dtype) + self.pointwise(x))


@own("fourier", 4, 64)
def fourier_operator(toy: bool) -> Made:
    width, modes = (8, 4) if toy else (64, 16)
    return lambda: nn.Sequential(
        nn.Conv2d(3, width, 1), *(Spectral(width, modes) for _ in range(4)), nn.Conv2d(width, 1, 1)
    ), normal(3, *[16 if toy else 128] * 2)


# Others


@own("tabular", 512, 16_384)
def tabular_resnet(toy: bool) -> Made:
    width = 16 if toy else 512

    def make() -> nn.Module:
        blocks = [
            Residual(nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.1),
                     nn.Linear(2 * width, width))
            for _ in range(8)
        ]  # fmt: skip
        return nn.Sequential(nn.Linear(200, width), *blocks, nn.Linear(width, 10))

    return make, normal(200)


@own("tabular", 128, 4096, images=True, optimiser="sgd")
def policy_network(toy: bool) -> Made:
    """Reinforcement learning from pixels: three convolutions and a wide layer (Mnih et al. 2015)."""

    def make() -> nn.Module:
        convolutions = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(),
        )  # fmt: skip
        return nn.Sequential(convolutions, mlp(3136, 512, 18))

    return make, normal(4, 84, 84)


@own("autoencoder", 4, 32, images=True)
def image_autoencoder(toy: bool) -> Made:
    """Group norms and strided convolutions down, nearest upsampling up, as in latent diffusion's."""
    width = 8 if toy else 128

    def make() -> nn.Module:
        layers: list[nn.Module] = [nn.Conv2d(3, width, 3, 1, 1)]
        for down in (True, True, False, False):
            block = Residual(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, 1, 1))
            resized = nn.Conv2d(width, width, 3, 2, 1) if down else nn.Upsample(scale_factor=2)
            layers += [block, resized]
        return nn.Sequential(*layers, nn.Conv2d(width, 3, 3, 1, 1))

    return make, normal(3, *[16 if toy else 256] * 2)


@own("contrastive", 256, 4096)
def two_towers(toy: bool) -> Made:
    """Two MLPs and the products of all pairs of a batch."""
    width = 16 if toy else 1024

    class Towers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = mlp(256, width, width, 128), mlp(256, width, width, 128)

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return F.normalize(self.left(a), dim=1) @ F.normalize(self.right(b), dim=1).t()

    return Towers, lambda batch: (torch.randn(batch, 256), torch.randn(batch, 256))


@own("ranking", 32, 512)
def sorted_pooling(toy: bool) -> Made:
    """Sorts and keeps the greatest of each channel: sort, gather and their backward."""
    width = 16 if toy else 256

    class SortedPooling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.each, self.head = mlp(16, width, width), mlp(8 * width, width, 10)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.each(x).sort(1, descending=True).values[:, :8].flatten(1))

    return SortedPooling, normal(512, 16)


@own("memory", 64, 512)
def key_value_memory(toy: bool) -> Made:
    """Product keys (Lample et al. 2019): top-k of scores, then a weighted bag of a large table."""
    keys = 16 if toy else 512

    class Memory(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(256, 256)
            self.keys = nn.Parameter(torch.randn(2, keys, 128) / 128**0.5)
            self.values = nn.Embedding(keys * keys, 256)

        def forward(self, x: Tensor) -> Tensor:
            halves = self.query(x).unflatten(-1, (2, 128))
            scores, found = torch.einsum("bthw,hkw->bthk", halves, self.keys).topk(8, -1)
            pairs = scores[..., 0, :, None] + scores[..., 1, None, :]
            rows = found[..., 0, :, None] * keys + found[..., 1, None, :]
            best, which = pairs.flatten(-2).topk(8, -1)
            values = self.values(rows.flatten(-2).gather(-1, which))
            return x + (best.softmax(-1).to(values.dtype).unsqueeze(-1) * values).sum(-2)

    return Memory, normal(64, 256)
