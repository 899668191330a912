"""Networks of the zoo that were drawn from a list, in plain torch, in the same table as `zoo_own`.

`LISTED` names eighty published architectures that no zoo held when it was written; `DRAWN` are those that a
seed took from it. Half of them (`SEALED`, by another seed, drawn before anything was predicted) were kept
out of view while the predictor was mended by the others: `results/zoo-h200-13`.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from zoo_own import Attention, Made, Residual, feed_forward, mlp, normal, own, tokens
from zoo_own_2 import OWN

LISTED = """
    capsules detr yolo_neck hourglass flow_correlation involution dynamic_convolution octave_convolution
    perceiver neural_ode text_recogniser siren masked_autoencoder nested_u non_local conv_tasnet dual_path
    tacotron duration_speech demucs sample_rnn residual_quantiser separable_speech isomorphism_network
    graph_transformer schnet directional_messages sampled_neighbours relational_graph pooled_graph
    traffic_graph n_beats sparse_queries patch_series fusion_series autocorrelation times_net deep_ar
    series_mixer sequential_recommender interest_network cross_network collaborative_filter gated_tasks
    auto_interactions compressed_interactions pixel_cnn autoregressive_flow spline_flow score_network rainbow
    world_model planned_model mixed_values twin_critics impala board_game mesh_graph operator_network
    adaptive_fourier continuous_convolution weather_graph rwkv retention linear_attention hashed_attention
    sliding_window random_features relative_positions long_convolution diagonal_state latent_attention
    universal_transformer low_rank_attention funnel matrix_memory byte_patches grouped_sinks synthesizer
    turing_machine
""".split()  # noqa: SIM905  a list of eighty is shorter so
DRAWN = tuple(random.Random(20261130).sample(LISTED, 24))
SEALED = frozenset(random.Random(20261131).sample(sorted(DRAWN), len(DRAWN) // 2))


def squashed(x: Tensor) -> Tensor:
    square = x.square().sum(-1, keepdim=True)
    return x * square / (1.0 + square) / (square + 1e-8).sqrt()


@own("capsules", 16, 256)
def capsules(toy: bool) -> Made:
    """Sabour et al. 2017: three rounds of routing between capsules."""
    width, kinds = (32, 4) if toy else (256, 32)

    class Capsules(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.primary = nn.Conv2d(1, width, 9), nn.Conv2d(width, 8 * kinds, 9, 2)
            self.weight = nn.Parameter(0.01 * torch.randn(36 * kinds, 10, 16, 8))
            self.decoder = mlp(160, 512, 1024, 784)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            found = self.primary(F.relu(self.stem(x))).unflatten(1, (8, -1)).flatten(2).transpose(1, 2)
            votes = torch.einsum("bid,ijkd->bijk", squashed(found), self.weight)
            logits = torch.zeros(votes.shape[:3], device=x.device, dtype=votes.dtype)
            for i in range(3):
                chosen = squashed((logits.softmax(2).unsqueeze(-1) * votes).sum(1))
                if i < 2:
                    logits = logits + (votes.detach() * chosen.unsqueeze(1)).sum(-1)
            return chosen.norm(dim=-1), self.decoder(chosen.flatten(1)).sigmoid()

    return Capsules, normal(1, 28, 28)


@own("detr", 2, 16)
def detr(toy: bool) -> Made:
    """Carion et al. 2020: a residual backbone, an encoder, and a decoder of a hundred queries."""
    width, layers, side = (32, 1, 64) if toy else (256, 4, 512)

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            front: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
            for a, b in pairwise((64, 128, 256, 512, 512)):
                front += [nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
                front += [Residual(nn.Conv2d(b, b // 4, 1), nn.BatchNorm2d(b // 4), nn.ReLU(),
                                   nn.Conv2d(b // 4, b // 4, 3, 1, 1), nn.BatchNorm2d(b // 4), nn.ReLU(),
                                   nn.Conv2d(b // 4, b, 1), nn.BatchNorm2d(b)), nn.ReLU()]  # fmt: skip
            self.backbone = nn.Sequential(*front, nn.Conv2d(512, width, 1))
            self.body = nn.Transformer(width, 8, layers, layers, 4 * width, 0.0, batch_first=True)
            self.place = nn.Parameter(torch.randn((side // 32) ** 2, width))
            self.queries = nn.Parameter(torch.randn(100, width))
            self.kind, self.box = nn.Linear(width, 92), mlp(width, width, width, 4)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            rows = self.backbone(x).flatten(2).transpose(1, 2) + self.place
            found = self.body(rows, self.queries.expand(len(x), -1, -1))
            return self.kind(found), self.box(found).sigmoid()

    return Detector, normal(3, side, side)


class Octave(nn.Module):
    """Chen et al. 2019: a quarter of the channels at half of the resolution."""

    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__()
        low_in, low_out = inside // 4, outside // 4
        high_in, high_out, self.stride = inside - low_in, outside - low_out, stride
        self.high = nn.Conv2d(high_in, high_out, 3, 1, 1, bias=False)
        self.down = nn.Conv2d(high_in, low_out, 3, 1, 1, bias=False)
        self.low = nn.Conv2d(low_in, low_out, 3, 1, 1, bias=False)
        self.up = nn.Conv2d(low_in, high_out, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(high_out), nn.BatchNorm2d(low_out)])

    def forward(self, both: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        high, low = both
        if self.stride == 2:
            high, low = F.avg_pool2d(high, 2), F.avg_pool2d(low, 2)
        raised = F.interpolate(self.up(low), scale_factor=2.0, mode="nearest")
        mixed = self.high(high) + raised, self.down(F.avg_pool2d(high, 2)) + self.low(low)
        return F.relu(self.norms[0](mixed[0])), F.relu(self.norms[1](mixed[1]))


@own("octave", 8, 64, images=True, optimiser="sgd")
def octave_convolution(toy: bool) -> Made:
    width = 16 if toy else 64

    class Octaves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, width, 7, 2, 3)
            layers: list[nn.Module] = []
            for level in range(2 if toy else 4):
                wide = width << level
                layers += [Octave(wide, wide), Octave(wide, wide), Octave(wide, 2 * wide, 2)]
            self.layers, self.head = nn.ModuleList(layers), nn.Linear(2 * wide, 100)

        def forward(self, x: Tensor) -> Tensor:
            x = self.stem(x)
            low = x.shape[1] // 4
            both = x[:, low:], F.avg_pool2d(x[:, :low], 2)
            for layer in self.layers:
                both = layer(both)
            return self.head(torch.cat([part.mean((2, 3)) for part in both], 1))

    return Octaves, normal(3, 64 if toy else 192, 64 if toy else 192)


@own("neural_ode", 16, 256, images=True)
def neural_ode(toy: bool) -> Made:
    """Chen et al. 2018: one small network of a state and the time, by Runge and Kutta's fourth order."""
    width, steps = (16, 1) if toy else (64, 6)

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(3))
            self.layers = nn.ModuleList(nn.Conv2d(width + 1, width, 3, 1, 1) for _ in range(2))

        def forward(self, time: float, x: Tensor) -> Tensor:
            for norm, layer in zip(self.norms, self.layers, strict=False):
                x = F.relu(norm(x))
                x = layer(torch.cat([torch.full_like(x[:, :1], time), x], 1))
            return self.norms[2](x)

    class Solved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.GroupNorm(8, width), nn.ReLU(),
                                      nn.Conv2d(width, width, 4, 2, 1))  # fmt: skip
            self.field, self.head = Field(), nn.Linear(width, 10)

        def forward(self, x: Tensor) -> Tensor:
            x, h = self.stem(x), 1.0 / steps
            for i in range(steps):
                a = self.field(i * h, x)
                b = self.field((i + 0.5) * h, x + 0.5 * h * a)
                c = self.field((i + 0.5) * h, x + 0.5 * h * b)
                d = self.field((i + 1) * h, x + h * c)
                x = x + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
            return self.head(x.mean((2, 3)))

    return Solved, normal(3, 32, 32)


class Sine(nn.Module):
    def __init__(self, inside: int, outside: int, pace: float = 30.0) -> None:
        super().__init__()
        self.line, self.pace = nn.Linear(inside, outside), pace

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(self.pace * self.line(x))


@own("sine_field", 16, 256)
def siren(toy: bool) -> Made:
    """Sitzmann et al. 2020: an image as a network of its places."""
    width = 16 if toy else 256
    make = lambda: nn.Sequential(Sine(2, width), *(Sine(width, width) for _ in range(4)), nn.Linear(width, 3))  # noqa: E731
    return make, normal(1024, 2)


@own("masked_autoencoder", 8, 128)
def masked_autoencoder(toy: bool) -> Made:
    """He et al. 2022: a random quarter of the patches is encoded, all of them are decoded."""
    width, narrow, layers, places = (32, 16, 1, 16) if toy else (512, 256, 8, 196)

    def blocks(wide: int, count: int) -> list[nn.Module]:
        return [
            block for _ in range(count)
            for block in (Residual(nn.LayerNorm(wide), Attention(wide, 8)),
                          Residual(nn.LayerNorm(wide), feed_forward(wide)))
        ]  # fmt: skip

    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch, self.place = nn.Linear(768, width), nn.Parameter(torch.randn(places, width))
            self.encoder = nn.Sequential(
                *blocks(width, layers), nn.LayerNorm(width), nn.Linear(width, narrow)
            )
            self.mask, self.where = (nn.Parameter(torch.randn(n, narrow)) for n in (1, places))
            self.decoder = nn.Sequential(*blocks(narrow, max(1, layers // 4)), nn.Linear(narrow, 768))

        def forward(self, x: Tensor) -> Tensor:
            order = torch.rand(x.shape[:2], device=x.device).argsort(1)
            kept, back = order[:, : places // 4], order.argsort(1)
            rows = self.patch(x) + self.place
            found = self.encoder(rows.gather(1, kept.unsqueeze(-1).expand(-1, -1, width)))
            hidden = self.mask.to(found.dtype).expand(len(x), places - kept.shape[1], -1)
            whole = torch.cat([found, hidden], 1).gather(1, back.unsqueeze(-1).expand(-1, -1, narrow))
            lost = (back >= kept.shape[1]).unsqueeze(-1)
            return (self.decoder(whole + self.where) - x) * lost

    return Masked, normal(places, 768)


@own("tacotron", 8, 64)
def tacotron(toy: bool) -> Made:
    """Tacotron 2 (Shen et al. 2018): a cell for each frame, with attention that sees where it was."""
    width, letters, frames = (16, 8, 3) if toy else (512, 100, 40)

    class Speech(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            convolution = lambda: [nn.Conv1d(width, width, 5, 1, 2), nn.BatchNorm1d(width), nn.ReLU()]  # noqa: E731
            self.letters = nn.Embedding(70, width)
            self.front = nn.Sequential(*(layer for _ in range(3) for layer in convolution()))
            self.encoder = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
            self.before = nn.Sequential(nn.Linear(80, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
            self.attends, self.decodes = nn.LSTMCell(256 + width, width), nn.LSTMCell(2 * width, width)
            self.query, self.key, self.score = nn.Linear(width, 128), nn.Linear(width, 128), nn.Linear(128, 1)
            self.place, self.seen = nn.Conv1d(2, 32, 31, 1, 15, bias=False), nn.Linear(32, 128, bias=False)
            self.frame = nn.Linear(2 * width, 81)
            self.after = nn.Sequential(nn.Conv1d(80, width, 5, 1, 2), nn.BatchNorm1d(width), nn.Tanh(),
                                       *convolution(), nn.Conv1d(width, 80, 5, 1, 2))  # fmt: skip

        def forward(self, text: Tensor, spoken: Tensor) -> tuple[Tensor, Tensor]:
            memory = self.encoder(self.front(self.letters(text).transpose(1, 2)).transpose(1, 2))[0]
            keys, batch = self.key(memory), len(text)
            zero = memory.new_zeros(batch, width)
            first, second, context = (zero, zero), (zero, zero), zero
            last = total = memory.new_zeros(batch, letters)
            found = []
            for one in self.before(spoken).unbind(1):
                first = self.attends(torch.cat([one, context], 1), first)
                where = self.seen(self.place(torch.stack([last, total], 1)).transpose(1, 2))
                score = self.score(torch.tanh(self.query(first[0]).unsqueeze(1) + where + keys))
                last = score.squeeze(-1).softmax(1)
                total = total + last
                context = torch.bmm(last.unsqueeze(1), memory).squeeze(1)
                second = self.decodes(torch.cat([first[0], context], 1), second)
                found.append(self.frame(torch.cat([second[0], context], 1)))
            made = torch.stack(found, 2)
            return made, made[:, :80] + self.after(made[:, :80])

    return Speech, lambda batch: (torch.randint(70, (batch, letters)), torch.randn(batch, frames, 80))


@own("neural_codec", 2, 16)
def residual_quantiser(toy: bool) -> Made:
    """SoundStream (Zeghidour et al. 2021): each of eight tables quantises what the one before left."""
    width, tables = (8, 2) if toy else (32, 8)

    def unit(wide: int, apart: int) -> nn.Module:
        return Residual(
            nn.ELU(), nn.Conv1d(wide, wide, 7, 1, 3 * apart, apart), nn.ELU(), nn.Conv1d(wide, wide, 1)
        )

    class Codec(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            strides, down, up, wide = (2, 4, 5, 8), [nn.Conv1d(1, width, 7, 1, 3)], [], width
            for stride in strides:
                down += [*(unit(wide, apart) for apart in (1, 3, 9)), nn.ELU()]
                down += [nn.Conv1d(wide, 2 * wide, 2 * stride, stride, (stride + 1) // 2)]
                wide *= 2
            for stride in reversed(strides):
                up += [nn.ELU(), nn.ConvTranspose1d(wide, wide // 2, 2 * stride, stride, (stride + 1) // 2,
                                                    stride % 2)]  # fmt: skip
                wide //= 2
                up += [unit(wide, apart) for apart in (1, 3, 9)]
            self.down = nn.Sequential(*down, nn.ELU(), nn.Conv1d(16 * width, 16 * width, 3, 1, 1))
            self.register_buffer("tables", torch.randn(tables, 1024, 16 * width))  # moving means
            self.up = nn.Sequential(
                nn.Conv1d(16 * width, 16 * width, 7, 1, 3), *up, nn.Conv1d(width, 1, 7, 1, 3)
            )

        def forward(self, x: Tensor) -> Tensor:
            found = self.down(x)
            left = rows = found.transpose(1, 2).flatten(0, 1)
            for table in self.tables.unbind(0):
                apart = left.square().sum(1, keepdim=True) - 2.0 * left @ table.t() + table.square().sum(1)
                left = left - F.embedding(apart.argmin(1), table)
            near = (rows - left).unflatten(0, (len(x), -1)).transpose(1, 2)
            return self.up(found + (near - found).detach())

    return Codec, normal(1, 3200 if toy else 32_000)


class DirectedBlock(nn.Module):
    """DimeNet++ (Gasteiger et al. 2020): messages of edges meet those that enter them, by their angle."""

    def __init__(self, width: int, narrow: int) -> None:
        super().__init__()
        self.radial, self.angular = nn.Linear(6, width, bias=False), nn.Linear(42, narrow, bias=False)
        self.source, self.same = nn.Linear(width, width), nn.Linear(width, width)
        self.down, self.up = nn.Linear(width, narrow, bias=False), nn.Linear(narrow, width, bias=False)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor, radial: Tensor, angular: Tensor, enters: Tensor, leaves: Tensor) -> Tensor:
        near = F.silu(self.down(F.silu(self.source(x)) * self.radial(radial)))
        met = near[enters] * self.angular(angular)
        summed = torch.zeros_like(near, dtype=met.dtype).index_add(0, leaves, met)
        x = F.silu(self.same(x)) + F.silu(self.up(summed))
        for layer in self.layers:
            x = x + F.silu(layer(x))
        return x


@own("directional_messages", 8, 64)
def directional_messages(toy: bool) -> Made:
    width, blocks = (16, 1) if toy else (128, 4)

    class Molecules(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.atoms, self.edge = nn.Embedding(95, width), nn.Linear(2 * width + 6, width)
            self.blocks = nn.ModuleList(DirectedBlock(width, max(8, width // 2)) for _ in range(blocks))
            self.out = nn.ModuleList(mlp(width, width, width, 1) for _ in range(blocks))
            self.waves = nn.Parameter(math.pi * torch.arange(1, 7).float())

        def forward(self, atoms: Tensor, places: Tensor, edges: Tensor, pairs: Tensor) -> Tensor:
            a, b = edges
            ways = places[b] - places[a]
            far = ways.norm(dim=1, keepdim=True) + 0.1
            radial = torch.sin(self.waves * far / 5.0) / far
            one, other = ways[pairs[0]], ways[pairs[1]]
            angle = torch.atan2(torch.linalg.cross(one, other).norm(dim=1), (one * other).sum(1))
            round_ = torch.cos(angle.unsqueeze(1) * torch.arange(7, device=angle.device))
            angular = (radial[pairs[0]].unsqueeze(2) * round_.unsqueeze(1)).flatten(1)
            seen = self.atoms(atoms)
            x = F.silu(self.edge(torch.cat([seen[a], seen[b], radial], 1)))
            found = torch.zeros(len(atoms), 1, device=x.device)
            for block, out in zip(self.blocks, self.out, strict=True):
                x = block(x, radial, angular, *pairs)
                found = found + out(
                    torch.zeros(len(atoms), width, dtype=x.dtype, device=x.device).index_add(0, b, x)
                )
            return found

    def inputs(batch: int) -> tuple[Tensor, ...]:
        nodes, edges, pairs = batch * 24, batch * 24 * 12, batch * 24 * 12 * 11
        return (torch.randint(95, (nodes,)), torch.randn(nodes, 3), torch.randint(nodes, (2, edges)),
                torch.randint(edges, (2, pairs)))  # fmt: skip

    return Molecules, inputs


class TrafficBlock(nn.Module):
    """STGCN (Yu et al. 2018): gated convolutions over time around a Chebyshev one over the graph."""

    def __init__(self, inside: int, width: int, nodes: int) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(inside, 2 * width, (3, 1)), nn.Conv2d(width, 2 * width, (3, 1))
        self.terms, self.norm = nn.Linear(3 * width, width), nn.LayerNorm([nodes, width])

    def forward(self, x: Tensor, laplacian: Tensor) -> Tensor:
        x = F.glu(self.first(x), 1).permute(0, 2, 3, 1)
        once = torch.einsum("mn,btnc->btmc", laplacian, x)
        twice = 2.0 * torch.einsum("mn,btnc->btmc", laplacian, once) - x
        x = F.relu(self.terms(torch.cat([x, once, twice], -1)) + x)
        return self.norm(F.glu(self.last(x.permute(0, 3, 1, 2)), 1).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


@own("traffic_graph", 8, 64)
def traffic_graph(toy: bool) -> Made:
    width, nodes = (8, 10) if toy else (64, 207)

    class Traffic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([TrafficBlock(2, width, nodes), TrafficBlock(width, width, nodes)])
            self.register_buffer("laplacian", torch.randn(nodes, nodes) / nodes)
            self.head = nn.Sequential(nn.Conv2d(width, 2 * width, (4, 1)), nn.GLU(1), nn.Conv2d(width, 12, 1))

        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = block(x, self.laplacian.to(x.dtype))
            return self.head(x)

    return Traffic, normal(2, 12, nodes)


class SparseQueries(nn.Module):
    """Informer (Zhou et al. 2021): the queries of most spread attend, all others take the mean value."""

    def __init__(self, width: int, heads: int, kept: int) -> None:
        super().__init__()
        self.heads, self.kept = heads, kept
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        drawn = torch.randint(length, (length, self.kept), device=x.device)
        scores = (k[:, :, drawn] @ q.unsqueeze(-1)).squeeze(-1)
        spread = scores.amax(-1) - scores.sum(-1) / length
        chosen = spread.topk(self.kept, sorted=False).indices.unsqueeze(-1).expand(-1, -1, -1, q.shape[-1])
        found = (q.gather(2, chosen) @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v
        mixed = v.mean(2, keepdim=True).expand_as(v).scatter(2, chosen, found)
        return self.out(mixed.transpose(1, 2).flatten(2))


@own("sparse_queries", 16, 128)
def sparse_queries(toy: bool) -> Made:
    width, length, kept = (32, 16, 4) if toy else (512, 512, 35)

    class Halved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv1d(width, width, 3, 1, 1, padding_mode="circular"),
                                      nn.BatchNorm1d(width), nn.ELU(), nn.MaxPool1d(3, 2, 1))  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            return self.body(x.transpose(1, 2)).transpose(1, 2)

    def make() -> nn.Module:
        blocks: list[nn.Module] = [nn.Linear(7, width)]
        for _ in range(1 if toy else 3):
            blocks += [Residual(SparseQueries(width, 8, kept)), nn.LayerNorm(width)]
            blocks += [Residual(feed_forward(width)), nn.LayerNorm(width), Halved()]
        return nn.Sequential(*blocks, nn.Linear(width, 7))

    return make, normal(length, 7)


@own("patch_series", 8, 64)
def patch_series(toy: bool) -> Made:
    """PatchTST (Nie et al. 2023): each series alone, in overlapping patches; batch norm between layers."""
    width, length, series = (16, 64, 3) if toy else (128, 512, 21)

    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(width)

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(x.transpose(1, 2)).transpose(1, 2)

    class Patches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            count = (length - 16) // 8 + 1
            self.patch, self.place = nn.Linear(16, width), nn.Parameter(torch.randn(count, width))
            blocks: list[nn.Module] = []
            for _ in range(1 if toy else 3):
                blocks += [Residual(Attention(width, 16 if not toy else 2)), Normed()]
                blocks += [Residual(feed_forward(width, 2)), Normed()]
            self.body, self.head = nn.Sequential(*blocks), nn.Linear(count * width, 96)

        def forward(self, x: Tensor) -> Tensor:
            mean, spread = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
            rows = ((x - mean) / spread).transpose(1, 2).flatten(0, 1).unfold(1, 16, 8)
            found = self.head(self.body(self.patch(rows) + self.place).flatten(1))
            return found.unflatten(0, (len(x), -1)).transpose(1, 2) * spread + mean

    return Patches, normal(length, series)


class PeriodBlock(nn.Module):
    """TimesNet (Wu et al. 2023) with given periods: a series folded to images, convolved in several sizes."""

    def __init__(self, width: int, periods: tuple[int, ...], sizes: int) -> None:
        super().__init__()
        self.periods = periods
        both = ((width, 2 * width), (2 * width, width))
        self.first, self.last = (
            nn.ModuleList(nn.Conv2d(a, b, 2 * i + 1, 1, i) for i in range(sizes)) for a, b in both
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        strength = torch.fft.rfft(x.float(), dim=1).abs().mean(-1)
        found = []
        for period in self.periods:
            rows = -(-length // period)
            filled = F.pad(x, (0, 0, 0, rows * period - length))
            image = filled.view(batch, rows, period, width).permute(0, 3, 1, 2)
            image = F.gelu(torch.stack([layer(image) for layer in self.first], -1).mean(-1))
            image = torch.stack([layer(image) for layer in self.last], -1).mean(-1)
            found.append(image.permute(0, 2, 3, 1).flatten(1, 2)[:, :length])
        at = torch.tensor([length // period for period in self.periods], device=x.device)
        weight = strength.index_select(1, at).softmax(1).to(x.dtype)
        return x + (torch.stack(found, -1) * weight[:, None, None]).sum(-1)


@own("times_net", 8, 64)
def times_net(toy: bool) -> Made:
    width, length = (8, 48) if toy else (32, 192)

    def make() -> nn.Module:
        blocks: list[nn.Module] = [nn.Linear(7, width)]
        for _ in range(1 if toy else 2):
            blocks += [PeriodBlock(width, (24, 12, 7) if toy else (96, 48, 24, 12, 7), 3 if toy else 6)]
            blocks += [nn.LayerNorm(width)]
        return nn.Sequential(*blocks, nn.Linear(width, 7))

    return make, normal(length, 7)


@own("deep_ar", 64, 512)
def deep_ar(toy: bool) -> Made:
    """Salinas et al. 2020: recurrent layers over many series, the likelihood of each next value."""
    width, length = (8, 12) if toy else (128, 192)

    class Likelihood(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.series = nn.Embedding(370, 20)
            self.body = nn.LSTM(25, width, 3, batch_first=True)
            self.mean, self.spread = nn.Linear(3 * width, 1), nn.Linear(3 * width, 1)

        def forward(self, past: Tensor, ids: Tensor) -> Tensor:
            known = self.series(ids).unsqueeze(1).expand(-1, length - 1, -1)
            x = self.body(torch.cat([past[:, :-1], known], -1))[0]
            x = torch.cat([x, torch.tanh(x), F.relu(x)], -1)
            mean, spread = self.mean(x).float(), F.softplus(self.spread(x).float()) + 1e-3
            return spread.log() + 0.5 * ((past[:, 1:, :1] - mean) / spread).square()

    return Likelihood, lambda batch: (torch.randn(batch, length, 5), torch.randint(370, (batch,)))


@own("series_mixer", 32, 256)
def series_mixer(toy: bool) -> Made:
    """TSMixer (Chen et al. 2023): products along time, then along the series, under two-dimensional norms."""
    length, series, wide = (16, 5, 8) if toy else (512, 321, 512)

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.BatchNorm2d(1) for _ in range(2))
            self.time = nn.Sequential(nn.Linear(length, length), nn.ReLU(), nn.Dropout(0.1))
            self.both = nn.Sequential(nn.Linear(series, wide), nn.ReLU(), nn.Dropout(0.1),
                                      nn.Linear(wide, series), nn.Dropout(0.1))  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            normed = self.norms[0](x.unsqueeze(1)).squeeze(1)
            x = x + self.time(normed.transpose(1, 2)).transpose(1, 2)
            return x + self.both(self.norms[1](x.unsqueeze(1)).squeeze(1))

    class Mixer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(*(Mixed() for _ in range(1 if toy else 4)))
            self.head = nn.Linear(length, 96)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.body(x).transpose(1, 2)).transpose(1, 2)

    return Mixer, normal(length, series)


@own("sequential_recommender", 32, 512)
def sequential_recommender(toy: bool) -> Made:
    """SASRec (Kang & McAuley 2018): causal attention over items, scores of the next and a drawn one."""
    width, items, length = (16, 100, 8) if toy else (128, 200_000, 200)

    class Bought(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.items, self.places = nn.Embedding(items, width, padding_idx=0), nn.Embedding(length, width)
            blocks: list[nn.Module] = [nn.Dropout(0.2)]
            for _ in range(2):
                blocks += [Residual(nn.LayerNorm(width), Attention(width, 2, causal=True))]
                blocks += [
                    Residual(nn.LayerNorm(width), nn.Conv1d(length, length, 1), nn.ReLU(), nn.Dropout(0.2))
                ]
            self.body = nn.Sequential(*blocks, nn.LayerNorm(width))

        def forward(self, seen: Tensor, following: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
            x = self.items(seen) * width**0.5 + self.places(torch.arange(length, device=seen.device))
            x = self.body(x * (seen != 0).unsqueeze(-1))
            right, wrong = ((x * self.items(each)).sum(-1) for each in (following, others))
            return F.softplus(-right), F.softplus(wrong)

    return Bought, lambda batch: tuple(torch.randint(1, items, (batch, length)) for _ in range(3))


@own("collaborative_filter", 1024, 65_536)
def collaborative_filter(toy: bool) -> Made:
    """NeuMF (He et al. 2017): a product of two embeddings beside a small network of two others."""
    width, users, items = (8, 50, 60) if toy else (64, 500_000, 50_000)

    class Filter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.users = nn.ModuleList(nn.Embedding(users, wide) for wide in (width, 4 * width))
            self.items = nn.ModuleList(nn.Embedding(items, wide) for wide in (width, 4 * width))
            self.deep, self.head = mlp(8 * width, 4 * width, 2 * width, width), nn.Linear(2 * width, 1)

        def forward(self, user: Tensor, item: Tensor) -> Tensor:
            plain = self.users[0](user) * self.items[0](item)
            deep = self.deep(torch.cat([self.users[1](user), self.items[1](item)], 1))
            return self.head(torch.cat([plain, deep], 1)).sigmoid()

    return Filter, lambda batch: (torch.randint(users, (batch,)), torch.randint(items, (batch,)))


@own("gated_tasks", 512, 8192)
def gated_tasks(toy: bool) -> Made:
    """MMoE (Ma et al. 2018): eight experts that all see a row, mixed by a gate for each task."""
    fields, width, experts, tasks = (4, 4, 2, 2) if toy else (40, 32, 8, 4)

    class Tasks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            inside = fields * width
            self.table, self.experts = nn.Embedding(fields * 10_000, width), nn.ModuleList()
            self.experts = nn.ModuleList(
                nn.Sequential(mlp(inside, 512, 256), nn.ReLU()) for _ in range(experts)
            )
            self.gates = nn.ModuleList(nn.Linear(inside, experts, bias=False) for _ in range(tasks))
            self.towers = nn.ModuleList(mlp(256, 128, 64, 1) for _ in range(tasks))

        def forward(self, ids: Tensor) -> Tensor:
            x = self.table(ids + 10_000 * torch.arange(fields, device=ids.device)).flatten(1)
            found = torch.stack([expert(x) for expert in self.experts], 1)
            each = [
                tower((gate(x).softmax(1).unsqueeze(-1) * found).sum(1))
                for gate, tower in zip(self.gates, self.towers, strict=True)
            ]
            return torch.cat(each, 1).sigmoid()

    return Tasks, tokens(10_000, fields)


class FieldAttention(nn.Module):
    def __init__(self, inside: int, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(inside, 3 * width, bias=False)
        self.skip = nn.Linear(inside, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = (q @ k.mT).softmax(-1) @ v
        return F.relu(mixed.transpose(1, 2).flatten(2) + self.skip(x))


@own("auto_interactions", 256, 4096)
def auto_interactions(toy: bool) -> Made:
    """AutoInt (Song et al. 2019): attention between the fields of a row, by plain products."""
    fields, width = (5, 8) if toy else (39, 64)

    class Interactions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(fields * 10_000, 16)
            self.body = nn.Sequential(*(FieldAttention(a, width, 2) for a in (16, width, width)))
            self.deep, self.head = mlp(16 * fields, 400, 400, 1), nn.Linear(width * fields, 1)

        def forward(self, ids: Tensor) -> Tensor:
            x = self.table(ids + 10_000 * torch.arange(fields, device=ids.device))
            return (self.head(self.body(x).flatten(1)) + self.deep(x.flatten(1))).sigmoid()

    return Interactions, tokens(10_000, fields)


class SplineCoupling(nn.Module):
    """Neural spline flows (Durkan et al. 2019): rational-quadratic splines of one half, set by the other."""

    def __init__(self, size: int, width: int, parts: int) -> None:
        super().__init__()
        self.half, self.parts = size // 2, parts
        self.body = mlp(self.half, width, width, self.half * (3 * parts - 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        still, moved = x.split(self.half, -1)
        widths, heights, slopes = self.body(still).float().unflatten(-1, (self.half, -1)).split(
            (self.parts, self.parts, self.parts - 1), -1
        )  # fmt: skip
        xs, ys = (
            F.pad((1e-3 + (1 - 1e-3 * self.parts) * each.softmax(-1)).cumsum(-1), (1, 0)) * 6.0 - 3.0
            for each in (widths, heights)
        )
        slope = F.pad(1e-3 + F.softplus(slopes), (1, 1), value=1.0)
        held = moved.float().clamp(-2.999, 2.999).unsqueeze(-1)
        at = (held >= xs[..., 1:-1]).sum(-1, keepdim=True)
        x0, x1, y0, y1, s0, s1 = (
            each.gather(-1, at + i).squeeze(-1) for each in (xs, ys, slope) for i in (0, 1)
        )
        part, rise = (held.squeeze(-1) - x0) / (x1 - x0), (y1 - y0) / (x1 - x0)
        rest = part * (1 - part)
        below = rise + (s0 + s1 - 2 * rise) * rest
        found = y0 + (y1 - y0) * (rise * part.square() + s0 * rest) / below
        grown = (
            rise.square() * (s1 * part.square() + 2 * rise * rest + s0 * (1 - part).square()) / below.square()
        )
        inside = moved.abs() < 3.0
        out = torch.where(inside, found, moved.float())
        return torch.cat([out.to(x.dtype), still], -1), (grown.log() * inside).sum(-1)


@own("spline_flow", 512, 8192)
def spline_flow(toy: bool) -> Made:
    size, width, layers = (8, 16, 2) if toy else (64, 256, 10)

    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(SplineCoupling(size, width, 8) for _ in range(layers))

        def forward(self, x: Tensor) -> Tensor:
            total = torch.zeros(len(x), device=x.device)
            for layer in self.layers:
                x, more = layer(x)
                total = total + more
            return 0.5 * x.square().sum(-1) - total

    return Flow, normal(size)


@own("world_model", 4, 32)
def world_model(toy: bool) -> Made:
    """DreamerV2 (Hafner et al. 2021): a recurrent state with drawn classes between networks of images."""
    width, length, kinds = (16, 3, 4) if toy else (512, 24, 32)

    class World(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            wide, chosen = 8 if toy else 48, kinds * kinds
            down = [layer for a, b in pairwise((3, wide, 2 * wide, 4 * wide, 8 * wide))
                    for layer in (nn.Conv2d(a, b, 4, 2), nn.ELU())]  # fmt: skip
            up = [layer for a, b, k in ((width, 4 * wide, 5), (4 * wide, 2 * wide, 5), (2 * wide, wide, 6))
                  for layer in (nn.ConvTranspose2d(a, b, k, 2), nn.ELU())]  # fmt: skip
            self.encoder, self.cell = nn.Sequential(*down, nn.Flatten()), nn.GRUCell(width, width)
            self.inside, self.prior = mlp(chosen + 6, width), mlp(width, width, chosen)
            self.after, self.state = mlp(width + 32 * wide, width, chosen), nn.Linear(width + chosen, width)
            self.decoder = nn.Sequential(*up, nn.ConvTranspose2d(wide, 3, 6, 2))
            self.reward = mlp(width, width, 1)

        def forward(self, images: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            seen = self.encoder(images.flatten(0, 1)).unflatten(0, images.shape[:2])
            state, drawn = seen.new_zeros(len(images), width), seen.new_zeros(len(images), kinds * kinds)
            states, apart = [], []
            for one, action in zip(seen.unbind(1), actions.unbind(1), strict=True):
                state = self.cell(F.elu(self.inside(torch.cat([drawn, action], 1))), state)
                prior, after = (
                    logits.float().unflatten(1, (kinds, kinds)).log_softmax(-1)
                    for logits in (self.prior(state), self.after(torch.cat([state, one], 1)))
                )
                noise = -torch.empty_like(after).exponential_().log()
                hard = F.one_hot((after.detach() + noise).argmax(-1), kinds)
                soft = after.exp()
                drawn = (hard + soft - soft.detach()).flatten(1).to(state.dtype)
                apart.append((soft * (after - prior)).sum((1, 2)))
                states.append(self.state(torch.cat([state, drawn], 1)))
            found = torch.stack(states, 1).flatten(0, 1)
            return self.decoder(found[:, :, None, None]), self.reward(found), torch.stack(apart, 1)

    return World, lambda batch: (torch.randn(batch, length, 3, 64, 64), torch.randn(batch, length, 6))


@own("mixed_values", 8, 128)
def mixed_values(toy: bool) -> Made:
    """QMIX (Rashid et al. 2018): a cell for all agents, and a network of the whole state that mixes them."""
    agents, width, length, size = (3, 8, 4, 20) if toy else (8, 64, 60, 168)

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside, self.cell, self.values = (
                nn.Linear(96, width),
                nn.GRUCell(width, width),
                nn.Linear(width, 14),
            )
            self.first, self.last = mlp(size, width, 32 * agents), mlp(size, width, 32)
            self.shift, self.total = nn.Linear(size, 32), mlp(size, 32, 1)

        def forward(self, seen: Tensor, whole: Tensor, taken: Tensor) -> Tensor:
            rows = F.relu(self.inside(seen)).flatten(0, 1)
            state, found = rows.new_zeros(len(rows), width), []
            for one in rows.unbind(1):
                state = self.cell(one, state)
                found.append(self.values(state))
            values = torch.stack(found, 1).gather(-1, taken.flatten(0, 1).unsqueeze(-1)).squeeze(-1)
            each = values.unflatten(0, (-1, agents)).transpose(1, 2).reshape(-1, 1, agents)
            states = whole.flatten(0, 1)
            first = self.first(states).abs().view(-1, agents, 32)
            hidden = F.elu(torch.bmm(each.to(first.dtype), first) + self.shift(states).unsqueeze(1))
            return torch.bmm(hidden, self.last(states).abs().unsqueeze(-1).to(hidden.dtype)).flatten(
                1
            ) + self.total(states)

    return Mixed, lambda batch: (
        torch.randn(batch, agents, length, 96), torch.randn(batch, length, size),
        torch.randint(14, (batch, agents, length)),
    )  # fmt: skip


class LatentAttention(nn.Module):
    """DeepSeek-V2 (2024): keys and values from a narrow latent, and a part of each key that is turned."""

    def __init__(self, width: int, heads: int, latent: int, plain: int, turned: int) -> None:
        super().__init__()
        self.heads, self.sizes, self.latent = heads, (plain, turned), latent
        self.narrow_q, self.wide_q = (
            nn.Linear(width, 3 * latent),
            nn.Linear(3 * latent, heads * (plain + turned)),
        )
        self.narrow, self.wide = nn.Linear(width, latent + turned), nn.Linear(latent, 2 * heads * plain)
        self.norms = nn.ModuleList([nn.RMSNorm(3 * latent), nn.RMSNorm(latent)])
        self.out = nn.Linear(heads * plain, width)

    def turn(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        pace = 10_000.0 ** (-torch.arange(half, device=x.device) / half)
        angle = torch.arange(x.shape[-2], device=x.device).unsqueeze(1) * pace
        a, b = x.float().split(half, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).to(
            x.dtype
        )

    def forward(self, x: Tensor) -> Tensor:
        q = self.wide_q(self.norms[0](self.narrow_q(x))).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        latent, shared = self.narrow(x).split((self.latent, self.sizes[1]), -1)
        k, v = self.wide(self.norms[1](latent)).unflatten(-1, (self.heads, -1)).transpose(1, 2).chunk(2, -1)
        plain, turned = q.split(self.sizes, -1)
        q = torch.cat([plain, self.turn(turned)], -1)
        k = torch.cat([k, self.turn(shared).unsqueeze(1).expand(-1, self.heads, -1, -1)], -1)
        mixed = F.scaled_dot_product_attention(q, k, F.pad(v, (0, self.sizes[1])), is_causal=True)
        return self.out(mixed[..., : self.sizes[0]].transpose(1, 2).flatten(2))


@own("latent_attention", 1, 8)
def latent_attention(toy: bool) -> Made:
    width, heads, latent, layers = (32, 2, 8, 1) if toy else (1024, 16, 256, 6)

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.both, self.out = (
                nn.Linear(width, 6 * width, bias=False),
                nn.Linear(3 * width, width, bias=False),
            )

        def forward(self, x: Tensor) -> Tensor:
            gate, value = self.both(x).chunk(2, -1)
            return self.out(F.silu(gate) * value)

    def make() -> nn.Module:
        blocks: list[nn.Module] = []
        for _ in range(layers):
            attention = LatentAttention(width, heads, latent, width // heads, width // heads // 2)
            blocks += [Residual(nn.RMSNorm(width), attention), Residual(nn.RMSNorm(width), Gated())]
        return nn.Sequential(
            nn.Embedding(32_000, width), *blocks, nn.RMSNorm(width), nn.Linear(width, 32_000)
        )

    return make, tokens(32_000, 16 if toy else 1024)


@own("funnel", 4, 32)
def funnel(toy: bool) -> Made:
    """Dai et al. 2020: the sequence is halved twice, then spread out again beside the first block's."""
    width, length = (32, 16) if toy else (512, 512)

    class Pooled(nn.Module):
        def __init__(self, halves: bool) -> None:
            super().__init__()
            self.halves, self.q = halves, nn.Linear(width, width)
            self.kv, self.out, self.place = (
                nn.Linear(width, 2 * width),
                nn.Linear(width, width),
                nn.Linear(64, 8),
            )
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.inner = feed_forward(width)

        def forward(self, x: Tensor) -> Tensor:
            short = F.avg_pool1d(x.transpose(1, 2), 2, ceil_mode=True).transpose(1, 2) if self.halves else x
            q = self.q(short).unflatten(-1, (8, -1)).transpose(1, 2)
            k, v = self.kv(x).unflatten(-1, (2, 8, -1)).permute(2, 0, 3, 1, 4).unbind(0)
            rows, columns = (torch.arange(each.shape[1], device=x.device).float() for each in (short, x))
            apart = (rows.unsqueeze(1) * (1 + self.halves) - columns).unsqueeze(-1)
            waves = apart / 10_000.0 ** (torch.arange(32, device=x.device) / 32.0)
            bias = self.place(torch.cat([waves.sin(), waves.cos()], -1).to(x.dtype)).permute(2, 0, 1)
            scores = q @ k.mT / math.sqrt(q.shape[-1]) + bias
            mixed = scores.softmax(-1).to(v.dtype) @ v
            x = self.norms[0](short + self.out(mixed.transpose(1, 2).flatten(2)))
            return self.norms[1](x + self.inner(x))

    class Funnel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            count = 1 if toy else 3
            self.words, self.first = (
                nn.Embedding(30_522, width),
                nn.Sequential(*(Pooled(False) for _ in range(count))),
            )
            self.body = nn.Sequential(*(Pooled(i == 0) for _ in range(2) for i in range(count)))
            self.last, self.head = nn.Sequential(*(Pooled(False) for _ in range(2))), nn.Linear(width, 30_522)

        def forward(self, ids: Tensor) -> Tensor:
            full = self.first(self.words(ids))
            spread = self.body(full).repeat_interleave(4, dim=1)
            return self.head(self.last(full + spread))

    return Funnel, tokens(30_522, length)


NEW = tuple(name for name in OWN if name in DRAWN)
