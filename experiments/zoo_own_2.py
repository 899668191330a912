"""More networks of the zoo in plain torch, in classes of work that `zoo_own` lacks, in the same table.

Half of them (`SEALED`, drawn before anything was predicted) were kept out of view while the predictor was
mended by the others: `results/zoo-h200-11`.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from zoo_own import OWN, Attention, Made, Residual, feed_forward, graph, mlp, normal, own, tokens, transformer

BEFORE = frozenset(OWN)


class Along(nn.Module):
    """`body` along dimension `dim` of (batch, frames, places, width), the other one as part of the batch."""

    def __init__(self, body: nn.Module, dim: int) -> None:
        super().__init__()
        self.body, self.dim = body, dim

    def forward(self, x: Tensor) -> Tensor:
        turned = x.movedim(self.dim, 2)
        return self.body(turned.flatten(0, 1)).view(turned.shape).movedim(2, self.dim)


@own("video_transformer", 2, 16)
def divided_attention(toy: bool) -> Made:
    """TimeSformer (Bertasius et al. 2021): attention over frames, then over places."""
    width, frames, places = (32, 4, 9) if toy else (512, 8, 196)

    def make() -> nn.Module:
        blocks: list[nn.Module] = []
        for _ in range(1 if toy else 6):
            blocks += [Residual(nn.LayerNorm(width), Along(Attention(width, 8), dim)) for dim in (1, 2)] + [
                Residual(nn.LayerNorm(width), feed_forward(width))
            ]
        return nn.Sequential(nn.Linear(768, width), *blocks)

    return make, normal(frames, places, 768)


class PointGroups(nn.Module):
    """One level of PointNet++ (Qi et al. 2017): every eighth point with its nearest neighbours."""

    def __init__(self, inside: int, outside: int, near: int) -> None:
        super().__init__()
        self.each, self.near = mlp(inside + 3, outside, outside), near

    def forward(self, places: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        middle = places[:, ::8]
        found = torch.cdist(middle.float(), places.float()).topk(self.near, largest=False).indices
        rows = found.flatten(1).unsqueeze(-1)
        around = places.gather(1, rows.expand(-1, -1, 3)).unflatten(1, found.shape[1:])
        values = x.gather(1, rows.expand(-1, -1, x.shape[-1])).unflatten(1, found.shape[1:])
        grouped = torch.cat([around - middle.unsqueeze(2), values], -1)
        return middle, self.each(grouped).amax(2)


@own("point_groups", 8, 64)
def point_groups(toy: bool) -> Made:
    width = 8 if toy else 64

    class Levels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [3, width, 2 * width, 4 * width]
            self.levels = nn.ModuleList(PointGroups(a, b, 4 if toy else 32) for a, b in pairwise(widths))
            self.head = mlp(4 * width, width, 40)

        def forward(self, places: Tensor) -> Tensor:
            x = places
            for level in self.levels:
                places, x = level(places, x)
            return self.head(x.amax(1))

    return Levels, normal(2048, 3)


@own("speech_waves", 2, 16)
def speech_waves(toy: bool) -> Made:
    """wav2vec 2.0 (Baevski et al. 2020): strided convolutions over samples, then a transformer."""
    width = 32 if toy else 512

    class Turned(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.transpose(1, 2)

    def make() -> nn.Module:
        front: list[nn.Module] = [nn.Conv1d(1, width, 10, 5), nn.GroupNorm(width, width), nn.GELU()]
        for window in (3, 3, 3, 3, 2, 2):
            front += [nn.Conv1d(width, width, window, 2, bias=False), nn.GELU()]
        body: list[nn.Module] = []
        for _ in range(1 if toy else 6):
            body += [Residual(nn.LayerNorm(width), Attention(width, 8))]
            body += [Residual(nn.LayerNorm(width), feed_forward(width))]
        return nn.Sequential(*front, Turned(), *body, nn.Linear(width, 32))

    return make, normal(1, 4000 if toy else 80_000)


class ChunkedScan(nn.Module):
    """Mamba-2's scan (Dao & Gu 2024): products within chunks, decays by cumulated sums, a loop over them."""

    def __init__(self, width: int, heads: int, state: int, chunk: int) -> None:
        super().__init__()
        self.heads, self.state, self.chunk = heads, state, chunk
        self.inside = nn.Linear(width, 2 * width + 2 * state + heads)
        self.outside = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        width = x.shape[-1]
        sizes = (width, width, self.state, self.state, self.heads)
        gate, signal, write, read, step = (
            part.unflatten(1, (-1, self.chunk)) for part in self.inside(x).split(sizes, -1)
        )
        values = signal.unflatten(-1, (self.heads, -1))
        decay = -F.softplus(step).float().cumsum(2)
        apart = decay.unsqueeze(3) - decay.unsqueeze(2)
        lower = torch.ones(self.chunk, self.chunk, dtype=torch.bool, device=x.device).tril()
        kept = apart.masked_fill(~lower[:, :, None], -torch.inf).exp().to(values.dtype)
        scores = torch.einsum("bcin,bcjn->bcij", read, write).unsqueeze(-1) * kept
        within = torch.einsum("bcijh,bcjhd->bcihd", scores, values)
        left = (decay[:, :, -1:] - decay).exp().to(values.dtype)
        added = torch.einsum("bcjn,bcjhd->bchnd", write, values * left.unsqueeze(-1))
        whole, states, state = decay[:, :, -1].exp(), [], torch.zeros_like(added[:, 0])
        for c in range(added.shape[1]):
            states.append(state)
            state = whole[:, c, :, None, None].to(state.dtype) * state + added[:, c]
        across = torch.einsum("bcin,bchnd->bcihd", read, torch.stack(states, 1))
        mixed = within + across * decay.exp().to(values.dtype).unsqueeze(-1)
        return self.outside(mixed.flatten(3).flatten(1, 2) * F.silu(gate.flatten(1, 2)))


@own("chunked_scan", 4, 32)
def chunked_scan(toy: bool) -> Made:
    width = 32 if toy else 512

    def make() -> nn.Module:
        blocks = [
            Residual(nn.LayerNorm(width), ChunkedScan(width, 8, 8 if toy else 64, 8 if toy else 64))
            for _ in range(1 if toy else 6)
        ]
        return nn.Sequential(nn.Embedding(256, width), *blocks, nn.Linear(width, 256))

    return make, tokens(256, 32 if toy else 1024)


@own("translation", 32, 256)
def translation(toy: bool) -> Made:
    """Bahdanau et al. 2015: a recurrent encoder, and a cell that attends to it for each word."""
    width, words = (16, 100) if toy else (512, 8000)

    class Translation(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
            self.encoder = nn.GRU(width, width, batch_first=True)
            self.cell, self.key = nn.GRUCell(2 * width, width), nn.Linear(width, width)
            self.query, self.score = nn.Linear(width, width), nn.Linear(width, 1)
            self.head = nn.Linear(width, words)

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            seen, last = self.encoder(self.source(source))
            keys, state, found = self.key(seen), last[0], []
            for word in self.target(target).unbind(1):
                weight = self.score(torch.tanh(keys + self.query(state).unsqueeze(1))).softmax(1)
                state = self.cell(torch.cat([word, (weight * seen).sum(1)], 1), state)
                found.append(state)
            return self.head(torch.stack(found, 1))

    length = 6 if toy else 32
    return Translation, lambda batch: (
        torch.randint(words, (batch, length)),
        torch.randint(words, (batch, length)),
    )


@own("tab_transformer", 256, 4096)
def tab_transformer(toy: bool) -> Made:
    """Huang et al. 2020: a table for each column, attention over columns, an MLP with the numbers."""
    width, columns = (16, 4) if toy else (64, 24)

    class Columns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(1000, width) for _ in range(columns))
            layer = nn.TransformerEncoderLayer(width, 4, 4 * width, activation="gelu", batch_first=True)
            self.body = nn.TransformerEncoder(layer, 1 if toy else 4)
            self.norm, self.head = nn.LayerNorm(10), mlp(columns * width + 10, 4 * width, 2 * width, 2)

        def forward(self, ids: Tensor, numbers: Tensor) -> Tensor:
            x = torch.stack([table(one) for table, one in zip(self.tables, ids.unbind(1), strict=True)], 1)
            return self.head(torch.cat([self.body(x).flatten(1), self.norm(numbers)], 1))

    return Columns, lambda batch: (torch.randint(1000, (batch, columns)), torch.randn(batch, 10))


class TextBlock(nn.Module):
    """A residual block of latent diffusion's U-Net: convolutions under the time, attention to a text."""

    def __init__(self, inside: int, width: int, context: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, inside), nn.SiLU(), nn.Conv2d(inside, width, 3, 1, 1))
        self.second = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, 1, 1))
        self.skip, self.time = nn.Conv2d(inside, width, 1), nn.Linear(context, width)
        self.norm, self.query = nn.LayerNorm(width), nn.Linear(width, width)
        self.pair, self.out, self.inner = (
            nn.Linear(context, 2 * width),
            nn.Linear(width, width),
            feed_forward(width),
        )

    def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        x = self.skip(x) + self.second(self.first(x) + self.time(time)[:, :, None, None])
        rows = x.flatten(2).transpose(1, 2)
        q = self.query(self.norm(rows)).unflatten(-1, (8, -1)).transpose(1, 2)
        k, v = self.pair(text).unflatten(-1, (2, 8, -1)).permute(2, 0, 3, 1, 4)
        rows = rows + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return (rows + self.inner(rows)).transpose(1, 2).reshape(x.shape)


@own("text_diffusion", 2, 16, images=True)
def text_unet(toy: bool) -> Made:
    width, context = (16, 32) if toy else (256, 768)

    class TextUNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [width, width, 2 * width]
            self.stem, self.head = nn.Conv2d(4, width, 3, 1, 1), nn.Conv2d(width, 4, 3, 1, 1)
            self.down = nn.ModuleList(TextBlock(a, b, context) for a, b in pairwise(widths))
            self.shrink = nn.ModuleList(nn.Conv2d(w, w, 3, 2, 1) for w in widths[1:])
            self.middle = TextBlock(2 * width, 2 * width, context)
            self.up = nn.ModuleList(
                TextBlock(a + b, b, context) for a, b in ((2 * width, 2 * width), (2 * width, width))
            )

        def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
            x, kept = self.stem(x), []
            for block, shrink in zip(self.down, self.shrink, strict=True):
                x = block(x, time, text)
                kept.append(x)
                x = shrink(x)
            x = self.middle(x, time, text)
            for block in self.up:
                x = F.interpolate(x, scale_factor=2.0, mode="nearest")
                x = block(torch.cat([x, kept.pop()], 1), time, text)
            return self.head(x)

    side = 8 if toy else 64
    return TextUNet, lambda batch: (
        torch.randn(batch, 4, side, side),
        torch.randn(batch, context),
        torch.randn(batch, 77, context),
    )


@own("siamese", 64, 512, images=True)
def siamese(toy: bool) -> Made:
    """SimCLR (Chen et al. 2020): one small residual network on two views, products of all pairs."""
    width = 8 if toy else 64

    class Siamese(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers: list[nn.Module] = [nn.Conv2d(3, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU()]
            for level in range(3):
                wide = width << level
                layers += [
                    Residual(nn.Conv2d(wide, wide, 3, 1, 1), nn.BatchNorm2d(wide), nn.ReLU(),
                             nn.Conv2d(wide, wide, 3, 1, 1), nn.BatchNorm2d(wide)),
                    nn.ReLU(), nn.Conv2d(wide, 2 * wide, 3, 2, 1), nn.BatchNorm2d(2 * wide), nn.ReLU(),
                ]  # fmt: skip
            self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
            self.head = nn.Sequential(nn.Linear(8 * width, 8 * width), nn.BatchNorm1d(8 * width), nn.ReLU(),
                                      nn.Linear(8 * width, 128))  # fmt: skip

        def forward(self, one: Tensor, other: Tensor) -> Tensor:
            z = F.normalize(self.head(self.body(torch.cat([one, other]))), dim=1)
            likeness = (z @ z.t() / 0.5).fill_diagonal_(-1e4)
            return torch.logsumexp(likeness, 1) - (z * z.roll(len(one), 0)).sum(1) / 0.5

    return Siamese, lambda batch: (torch.randn(batch, 3, 32, 32), torch.randn(batch, 3, 32, 32))


@own("frame_interpolation", 1, 8, images=True)
def frame_interpolation(toy: bool) -> Made:
    """Two frames, their flows from a small network, both read along them (grid_sample), and a mask."""
    width, side = (8, 32) if toy else (64, 256)

    class Interpolation(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            down = [
                nn.Conv2d(6, width, 5, 2, 2),
                nn.PReLU(),
                nn.Conv2d(width, 2 * width, 3, 2, 1),
                nn.PReLU(),
            ]
            same = [Residual(nn.Conv2d(2 * width, 2 * width, 3, 1, 1), nn.PReLU()) for _ in range(6)]
            self.body = nn.Sequential(*down, *same, nn.ConvTranspose2d(2 * width, 5, 4, 2, 1))

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            found = F.interpolate(self.body(torch.cat([a, b], 1)), scale_factor=2.0, mode="bilinear")
            line = torch.linspace(-1, 1, a.shape[-1], device=a.device)
            grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1)
            flows = found[:, :4].float().unflatten(1, (2, 2)).permute(1, 0, 3, 4, 2)
            one, other = (
                F.grid_sample(x.float(), grid + flow, padding_mode="border", align_corners=True)
                for x, flow in zip((a, b), flows.unbind(0), strict=True)
            )
            weight = found[:, 4:].sigmoid()
            return weight * one + (1 - weight) * other

    return Interpolation, lambda batch: (torch.randn(batch, 3, side, side), torch.randn(batch, 3, side, side))


class DeformableAttention(nn.Module):
    """Deformable DETR (Zhu et al. 2021): each place reads a few others of three levels (grid_sample)."""

    def __init__(self, width: int, heads: int, sides: tuple[int, ...], reads: int) -> None:
        super().__init__()
        self.heads, self.sides, self.reads = heads, sides, reads
        each = heads * len(sides) * reads
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.offset, self.weight = nn.Linear(width, 2 * each), nn.Linear(width, each)

    def forward(self, x: Tensor) -> Tensor:
        batch, places, width = x.shape
        shape = (batch, places, self.heads, len(self.sides), self.reads)
        offsets = self.offset(x).view(*shape, 2).float().tanh()
        weights = self.weight(x).view(batch, places, self.heads, -1).softmax(-1)
        parts = self.value(x).split([side**2 for side in self.sides], 1)
        found = []
        for level, (side, part) in enumerate(zip(self.sides, parts, strict=True)):
            image = part.transpose(1, 2).reshape(batch * self.heads, -1, side, side)
            grid = offsets[:, :, :, level].transpose(1, 2).flatten(0, 1).to(image.dtype)
            found.append(F.grid_sample(image, grid, align_corners=False))
        read = torch.cat(found, -1) * weights.transpose(1, 2).flatten(0, 1).unsqueeze(1)
        return self.out(read.sum(-1).view(batch, width, places).transpose(1, 2))


@own("deformable", 2, 16)
def deformable_attention(toy: bool) -> Made:
    width, sides = (32, (4, 2)) if toy else (256, (48, 24, 12))

    def make() -> nn.Module:
        blocks: list[nn.Module] = []
        for _ in range(1 if toy else 6):
            blocks += [Residual(nn.LayerNorm(width), DeformableAttention(width, 8, sides, 4))]
            blocks += [Residual(nn.LayerNorm(width), feed_forward(width))]
        return nn.Sequential(*blocks)

    return make, normal(sum(side**2 for side in sides), width)


class ConvolutionalCells(nn.Module):
    """ConvLSTM (Shi et al. 2015), its time in a loop."""

    def __init__(self, inside: int, width: int) -> None:
        super().__init__()
        self.gates, self.width = nn.Conv2d(inside + width, 4 * width, 3, padding=1), width

    def forward(self, x: Tensor) -> Tensor:
        hidden = cell = x.new_zeros(len(x), self.width, *x.shape[3:])
        found = []
        for frame in x.unbind(1):
            i, f, o, g = self.gates(torch.cat([frame, hidden], 1)).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
            found.append(hidden)
        return torch.stack(found, 1)


@own("conv_lstm", 4, 32)
def conv_lstm(toy: bool) -> Made:
    width = 4 if toy else 64
    cells = lambda: nn.Sequential(ConvolutionalCells(1, width), ConvolutionalCells(width, width))  # noqa: E731
    return cells, normal(3 if toy else 10, 1, *[16 if toy else 64] * 2)


class SplineLayer(nn.Module):
    """KAN (Liu et al. 2024): a cubic spline for each pair of input and output, its basis by recursion."""

    def __init__(self, inside: int, outside: int, cells: int = 8) -> None:
        super().__init__()
        knots = (torch.arange(-3, cells + 4) / cells * 2 - 1).float()
        self.register_buffer("knots", knots, persistent=False)
        self.weight = nn.Parameter(torch.randn(outside, inside * (cells + 3)) / inside)
        self.base = nn.Linear(inside, outside)

    def forward(self, x: Tensor) -> Tensor:
        knots, places = self.knots.to(x.dtype), x.unsqueeze(-1)
        basis = ((places >= knots[:-1]) & (places < knots[1:])).to(x.dtype)
        for k in range(1, 4):
            left = (places - knots[: -k - 1]) / (knots[k:-1] - knots[: -k - 1])
            right = (knots[k + 1 :] - places) / (knots[k + 1 :] - knots[1:-k])
            basis = left * basis[..., :-1] + right * basis[..., 1:]
        return self.base(F.silu(x)) + F.linear(basis.flatten(-2), self.weight)


@own("spline", 1024, 16_384)
def spline_network(toy: bool) -> Made:
    width = 8 if toy else 256
    return lambda: nn.Sequential(
        *(SplineLayer(a, b) for a, b in pairwise([64, width, width, width, 10]))
    ), normal(64)


@own("decisions", 16, 256)
def decision_transformer(toy: bool) -> Made:
    """Chen et al. 2021: returns, states and actions take turns in one causal sequence."""
    width, steps = (32, 5) if toy else (256, 50)

    class Decisions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList(nn.Linear(size, width) for size in (1, 39, 28))
            self.time, self.norm = nn.Embedding(1000, width), nn.LayerNorm(width)
            self.body = transformer(width, 8, 1 if toy else 6, 10, causal=True)[1:-1]
            self.head = mlp(width, width, 28)

        def forward(self, reward: Tensor, state: Tensor, action: Tensor, time: Tensor) -> Tensor:
            when = self.time(time)
            each = [part(x) + when for part, x in zip(self.parts, (reward, state, action), strict=True)]
            x = self.body(self.norm(torch.stack(each, 2).flatten(1, 2)))
            return self.head(x[:, 1::3]).tanh()

    return Decisions, lambda batch: (
        torch.randn(batch, steps, 1),
        torch.randn(batch, steps, 39),
        torch.randn(batch, steps, 28),
        torch.randint(1000, (batch, steps)),
    )


@own("codebook", 8, 64, images=True)
def vq_autoencoder(toy: bool) -> Made:
    """VQ-VAE (van den Oord et al. 2017): distances to all codes, the nearest, gradients straight through."""
    width, codes, side = (8, 16, 16) if toy else (256, 1024, 128)

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            down = [nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1), nn.ReLU()]
            up = [nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1)]
            same = lambda: [Residual(nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, width, 1))  # noqa: E731,E501
                            for _ in range(2)]  # fmt: skip
            self.encode, self.decode = nn.Sequential(*down, *same()), nn.Sequential(*same(), *up)
            self.codes = nn.Parameter(torch.randn(codes, width))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            z = self.encode(x).permute(0, 2, 3, 1)
            rows = z.flatten(0, 2)
            apart = (
                rows.square().sum(1, keepdim=True) - 2 * rows @ self.codes.t() + self.codes.square().sum(1)
            )
            nearest = self.codes[apart.argmin(1)].view(z.shape).to(z.dtype)
            straight = z + (nearest - z).detach()
            return self.decode(straight.permute(0, 3, 1, 2)), nearest - z.detach()

    return Coder, normal(3, side, side)


@own("dense_detector", 2, 16, images=True)
def dense_detector(toy: bool) -> Made:
    """FCOS (Tian et al. 2019): a pyramid, heads with group norms that all levels share, boxes."""
    width, side = (8, 64) if toy else (128, 512)

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [3, width // 4, width // 2, width, width, width]
            self.stages = nn.ModuleList(
                nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.ReLU(),
                              nn.Conv2d(b, b, 3, 1, 1), nn.BatchNorm2d(b), nn.ReLU())
                for a, b in pairwise(widths)
            )  # fmt: skip
            self.join = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(3))
            tower = [
                layer for _ in range(4)
                for layer in (nn.Conv2d(width, width, 3, 1, 1), nn.GroupNorm(8, width), nn.ReLU())
            ]  # fmt: skip
            self.tower, self.classes, self.box = (
                nn.Sequential(*tower),
                nn.Conv2d(width, 80, 3, 1, 1),
                nn.Conv2d(width, 4, 3, 1, 1),
            )

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            levels = []
            for stage in self.stages:
                x = stage(x)
                levels.append(x)
            merged, found = [join(level) for join, level in zip(self.join, levels[2:], strict=True)], []
            for i in (1, 0):
                merged[i] = merged[i] + F.interpolate(merged[i + 1], scale_factor=2.0, mode="nearest")
            for level in merged:
                y = self.tower(level)
                high, wide = y.shape[2:]
                rows, columns = torch.arange(high, device=y.device), torch.arange(wide, device=y.device)
                at = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), 0)
                apart = self.box(y).exp()
                boxes = torch.cat([at - apart[:, :2], at + apart[:, 2:]], 1)
                found.append((self.classes(y).sigmoid().flatten(2), boxes.flatten(2)))
            return torch.cat([a for a, _ in found], 2), torch.cat([b for _, b in found], 2)

    return Detector, normal(3, side, side)


class TensorProduct(nn.Module):
    """E(3)-equivariant messages (e3nn): features by directions through constant coefficients, by einsum."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.radial, self.mix = mlp(8, 64, width), nn.Linear(width, width, bias=False)
        self.register_buffer("coefficients", torch.randn(9, 9, 9), persistent=False)

    def forward(self, x: Tensor, spread: Tensor, far: Tensor, edges: Tensor) -> Tensor:
        weight = self.radial(far)
        sent = torch.einsum("eiu,ej,ijk,eu->eku", x[edges[0]], spread, self.coefficients, weight)
        arrived = torch.zeros_like(x, dtype=sent.dtype).index_add(0, edges[1], sent)
        return x + self.mix(arrived)


@own("tensor_product", 8, 64)
def tensor_product(toy: bool) -> Made:
    width = 8 if toy else 64

    class Equivariant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Linear(32, 9 * width)
            self.layers = nn.ModuleList(TensorProduct(width) for _ in range(1 if toy else 3))

        def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
            apart = nodes[edges[1], :3] - nodes[edges[0], :3]
            far = apart.norm(dim=1, keepdim=True) + 1e-3
            a, b, c = (apart / far).unbind(1)
            spread = torch.stack(
                [torch.ones_like(a), a, b, c, a * b, b * c, c * a, a * a - b * b, 3 * c * c - 1], 1
            )
            waves = torch.sin(far * torch.arange(1, 9, device=far.device)) / far
            x = self.stem(nodes).unflatten(-1, (9, -1))
            for layer in self.layers:
                x = layer(x, spread.to(x.dtype), waves.to(x.dtype), edges)
            return x

    return Equivariant, graph(10 if toy else 60, 12)


class ChosenRows(nn.Module):
    """Sparse experts that choose their tokens (Zhou et al. 2022): top-k of scores, rows by index and back."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.route, self.experts = nn.Linear(width, experts, bias=False), experts
        self.inside = nn.Parameter(torch.randn(experts, width, 4 * width) / width**0.5)
        self.outside = nn.Parameter(torch.randn(experts, 4 * width, width) / (4 * width) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)
        scores = self.route(rows).float().softmax(-1)
        best, which = scores.t().topk(2 * len(rows) // self.experts, -1)
        hidden = torch.bmm(
            F.gelu(torch.bmm(rows[which], self.inside.to(rows.dtype))), self.outside.to(rows.dtype)
        )
        weighted = hidden * best.unsqueeze(-1).to(hidden.dtype)
        return (
            torch.zeros_like(rows, dtype=hidden.dtype)
            .index_add(0, which.flatten(), weighted.flatten(0, 1))
            .view_as(x)
        )


@own("chosen_experts", 4, 32)
def chosen_experts(toy: bool) -> Made:
    width = 32 if toy else 512

    def make() -> nn.Module:
        blocks: list[nn.Module] = []
        for _ in range(1 if toy else 6):
            blocks += [Residual(nn.LayerNorm(width), Attention(width, 8, causal=True))]
            blocks += [Residual(nn.LayerNorm(width), ChosenRows(width, 4 if toy else 16))]
        return nn.Sequential(nn.Embedding(1000, width), *blocks, nn.Linear(width, 1000))

    return make, tokens(1000, 16 if toy else 512)


class Coupling(nn.Module):
    """A step of Glow (Kingma & Dhariwal 2018): scale, mix channels, move half of them by the other half."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.mix = nn.Parameter(torch.linalg.qr(torch.randn(channels, channels, device="cpu"))[0].clone())
        self.net = nn.Sequential(
            nn.Conv2d(channels // 2, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.ReLU(),
            nn.Conv2d(width, channels, 3, 1, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.conv2d(x * self.scale.exp(), self.mix[:, :, None, None])
        kept, moved = x.chunk(2, 1)
        shift, scale = self.net(kept).chunk(2, 1)
        scale = (scale + 2).sigmoid()
        volume = torch.linalg.slogdet(self.mix.float())[1] + scale.log().sum((1, 2, 3))
        return torch.cat([kept, (moved + shift) * scale], 1), volume


@own("flow", 8, 64)
def coupling_flow(toy: bool) -> Made:
    width, steps = (8, 1) if toy else (256, 8)

    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.levels = nn.ModuleList(
                nn.ModuleList(Coupling(12 * 2**level, width) for _ in range(steps)) for level in range(2)
            )

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            total, out = x.new_zeros(len(x)), []
            for level in self.levels:
                x = F.pixel_unshuffle(x, 2)
                for step in level:
                    x, volume = step(x)
                    total = total + volume
                left, x = x.chunk(2, 1)
                out.append(left)
            return out[0], x, total

    return Flow, normal(3, 32, 32)


@own("spectrogram", 8, 64)
def mel_tagger(toy: bool) -> Made:
    """Sound events (Kong et al. 2020): short Fourier transforms, mel bands, a network of images."""
    width = 8 if toy else 64

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("window", torch.hann_window(1024), persistent=False)
            self.register_buffer("bands", torch.rand(513, 64), persistent=False)
            widths = [1, width, 2 * width, 4 * width]
            self.body = nn.Sequential(*(
                layer for a, b in pairwise(widths)
                for layer in (nn.Conv2d(a, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(),
                              nn.AvgPool2d(2))
            ))  # fmt: skip
            self.head = nn.Linear(4 * width, 527)

        def forward(self, wave: Tensor) -> Tensor:
            found = torch.stft(wave.float(), 1024, 320, window=self.window.float(), return_complex=True)
            power = torch.view_as_real(found).square().sum(-1).transpose(1, 2) @ self.bands.float()
            x = self.body((power + 1e-6).log().to(wave.dtype).unsqueeze(1))
            return self.head(x.mean(3).amax(2)).sigmoid()

    return Tagger, normal(8000 if toy else 160_000)


@own("vocoder", 2, 16)
def vocoder(toy: bool) -> Made:
    """HiFi-GAN (Kong et al. 2020): transposed convolutions over time, dilated residual ones."""
    width = 32 if toy else 256

    class Wide(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.parts = nn.ModuleList(
                nn.Sequential(*(
                    Residual(nn.LeakyReLU(0.1),
                             nn.Conv1d(channels, channels, k, padding=(k // 2) * d, dilation=d))
                    for d in (1, 3, 5)
                ))
                for k in (3, 7, 11)
            )  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            return torch.stack([part(x) for part in self.parts]).mean(0)

    def make() -> nn.Module:
        layers: list[nn.Module] = [nn.Conv1d(80, width, 7, padding=3)]
        for level, factor in enumerate((8, 8, 2, 2)):
            wide = width >> level
            layers += [
                nn.LeakyReLU(0.1),
                nn.ConvTranspose1d(wide, wide // 2, 2 * factor, factor, factor // 2),
            ]
            layers += [Wide(wide // 2)]
        return nn.Sequential(*layers, nn.LeakyReLU(0.1), nn.Conv1d(width >> 4, 1, 7, padding=3), nn.Tanh())

    return make, normal(80, 4 if toy else 64)


class EdgeAttention(nn.Module):
    """Graph attention (Velickovic et al. 2018): a softmax over the edges of each node, by scatter."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.value, self.ends, self.heads = nn.Linear(width, width), nn.Linear(width, 2 * heads), heads

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        out, into = self.ends(x).float().chunk(2, -1)
        score = F.leaky_relu(out[source] + into[target], 0.2)
        where = target.unsqueeze(1).expand_as(score)
        most = torch.full_like(into, -torch.inf).scatter_reduce(0, where, score, "amax")
        weight = (score - most.detach()[target]).exp()
        total = torch.zeros_like(into).scatter_add(0, where, weight)
        share = (weight / (total[target] + 1e-9)).to(x.dtype)
        sent = self.value(x)[source].unflatten(-1, (self.heads, -1)) * share.unsqueeze(-1)
        return F.elu(torch.zeros_like(x, dtype=sent.dtype).index_add(0, target, sent.flatten(1)))


@own("edge_attention", 8, 128)
def graph_attention(toy: bool) -> Made:
    width = 16 if toy else 256

    class GraphAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.head = nn.Linear(32, width), nn.Linear(width, 16)
            self.layers = nn.ModuleList(EdgeAttention(width, 4) for _ in range(3))

        def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
            x = self.stem(nodes)
            for layer in self.layers:
                x = x + layer(x, edges)
            return self.head(x)

    return GraphAttention, graph(20 if toy else 1000, 8)


@own("slots", 8, 64)
def slot_attention(toy: bool) -> Made:
    """Locatello et al. 2020: slots compete for the places of an image and move by a GRU cell, three times."""
    width, places = (16, 16) if toy else (128, 4096)

    class Slots(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = nn.Sequential(nn.LayerNorm(width), mlp(width, width, width))
            self.first = nn.Parameter(torch.randn(1, 11, width))
            self.key, self.value, self.query = (nn.Linear(width, width, bias=False) for _ in range(3))
            self.norm, self.cell = nn.LayerNorm(width), nn.GRUCell(width, width)
            self.after = Residual(nn.LayerNorm(width), mlp(width, 2 * width, width))
            self.paint = nn.Sequential(
                nn.ConvTranspose2d(width, width // 2, 5, 2, 2, 1), nn.ReLU(),
                nn.ConvTranspose2d(width // 2, width // 2, 5, 2, 2, 1), nn.ReLU(),
                nn.Conv2d(width // 2, 4, 3, 1, 1),
            )  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            x = self.inside(x)
            keys, values, slots = self.key(x), self.value(x), self.first.expand(len(x), -1, -1)
            for _ in range(3):
                scores = keys @ self.query(self.norm(slots)).transpose(1, 2) / math.sqrt(width)
                share = scores.softmax(-1) + 1e-8
                share = share / share.sum(1, keepdim=True)
                found = share.to(values.dtype).transpose(1, 2) @ values
                slots = self.cell(found.flatten(0, 1), slots.flatten(0, 1).to(found.dtype)).view(slots.shape)
                slots = self.after(slots)
            painted = self.paint(slots.flatten(0, 1)[:, :, None, None].expand(-1, -1, 8, 8))
            colours, masks = painted.unflatten(0, (len(x), -1)).split([3, 1], 2)
            return (masks.softmax(1) * colours).sum(1)

    return Slots, normal(places, width)


class TriangleUpdate(nn.Module):
    """AlphaFold's pairs (Jumper et al. 2021): products along the third side, attention biased by pairs."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.sides = nn.LayerNorm(width), nn.Linear(width, 4 * width)
        self.after, self.out, self.gate = (
            nn.LayerNorm(width),
            nn.Linear(width, width),
            nn.Linear(width, width),
        )
        self.again, self.qkv, self.bias = (
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, 4),
        )
        self.last = nn.Linear(width, width)

    def forward(self, pairs: Tensor) -> Tensor:
        x = self.norm(pairs)
        a, b, open_a, open_b = self.sides(x).chunk(4, -1)
        third = torch.einsum("bikw,bjkw->bijw", a * open_a.sigmoid(), b * open_b.sigmoid())
        pairs = pairs + self.gate(x).sigmoid() * self.out(self.after(third))
        x = self.again(pairs)
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, -1)).permute(3, 0, 1, 4, 2, 5).unbind(0)
        mixed = F.scaled_dot_product_attention(
            q, k, v, attn_mask=self.bias(x).permute(0, 3, 1, 2).unsqueeze(1)
        )
        return pairs + self.last(mixed.transpose(2, 3).flatten(3))


@own("triangle", 1, 8)
def triangle_updates(toy: bool) -> Made:
    width, residues = (16, 8) if toy else (128, 128)

    def make() -> nn.Module:
        blocks: list[nn.Module] = []
        for _ in range(1 if toy else 4):
            blocks += [TriangleUpdate(width), Residual(nn.LayerNorm(width), feed_forward(width, 2))]
        return nn.Sequential(*blocks)

    return make, normal(residues, residues, width)


@own("tagger", 32, 256)
def sequence_tagger(toy: bool) -> Made:
    """BiLSTM-CRF (Huang et al. 2015): the sum over all sequences of tags, place by place (logsumexp)."""
    width, tags = (8, 5) if toy else (256, 20)

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(5000, width), nn.Linear(2 * width, tags)
            self.body = nn.LSTM(width, width, 2, batch_first=True, bidirectional=True)
            self.moves = nn.Parameter(torch.randn(tags, tags))

        def forward(self, ids: Tensor) -> Tensor:
            scores = self.head(self.body(self.table(ids))[0]).float()
            total = scores[:, 0]
            for place in scores[:, 1:].unbind(1):
                total = torch.logsumexp(total.unsqueeze(2) + self.moves.float(), 1) + place
            return torch.logsumexp(total, 1)

    return Tagger, tokens(5000, 8 if toy else 64)


NEW = tuple(name for name in OWN if name not in BEFORE)
SEALED = frozenset(random.Random(20261129).sample(sorted(NEW), len(NEW) // 2))
