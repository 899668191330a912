"""The networks of Lambda's benchmark that gpuwise does not bring along, as workload files of a user.

    gpuwise predict evaluation/choose/networks.py:gnmt --gpu rtx-3090,a100-pcie-40gb

Written after the papers, with the sizes of NVIDIA's public training examples; text, spectrograms and boxes
are random numbers of usual lengths. Tacotron 2 unrolls fewer frames than a sentence has: each costs the same.
Losses that depend on the data (matched boxes, clusters of an adaptive softmax) take fixed shares of it.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gpuwise.model.question import RunConfig
from gpuwise.workloads import WorkloadSpec, workload
from gpuwise.workloads.job import Job, set_precision, training_job

VOCABULARY = 32_320


def trained(model: nn.Module, inputs: tuple[Tensor, ...], config: RunConfig, batch: int) -> Job:
    """One step with Adam of a model that returns its loss."""
    set_precision(config)
    model = model.to(config.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    return training_job(model, inputs, lambda loss: loss, optimizer, config, batch)


def spec(name: str, title: str, batch: int) -> WorkloadSpec:
    return WorkloadSpec(
        id=name, version=1, title=title, item="sample", modes=("train",), precisions=("fp32", "tf32", "fp16"),
        default_batch=batch, cpu_batch=1, compiles=False,
    )  # fmt: skip


def normed(inner: int, outer: int, size: int, stride: int = 1, padding: int | None = None) -> nn.Sequential:
    """Convolution, normalisation, ReLU."""
    padding = size // 2 if padding is None else padding
    return nn.Sequential(
        nn.Conv2d(inner, outer, size, stride, padding, bias=False), nn.BatchNorm2d(outer), nn.ReLU(True)
    )


class Bottleneck(nn.Module):
    def __init__(self, inner: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            normed(inner, width, 1), normed(width, width, 3, stride),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
        )  # fmt: skip
        short = nn.Sequential(nn.Conv2d(inner, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
        self.short = short if inner != 4 * width else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.short(x))


class SSD(nn.Module):
    """SSD300 on ResNet-50 up to its third stage, whose stride is 1; 8,732 boxes of 81 classes."""

    def __init__(self) -> None:
        super().__init__()
        layers, inner = [normed(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
        for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 1)):
            for place in range(depth):
                layers.append(Bottleneck(inner, width, stride if place == 0 else 1))
                inner = 4 * width
        self.backbone = nn.Sequential(*layers)
        sizes = (
            (1024, 256, 512, 2),
            (512, 256, 512, 2),
            (512, 128, 256, 2),
            (256, 128, 256, 1),
            (256, 128, 256, 1),
        )
        self.further = nn.ModuleList(
            nn.Sequential(normed(i, m, 1), normed(m, o, 3, s, 1 if s == 2 else 0)) for i, m, o, s in sizes
        )
        boxes = zip((1024, 512, 512, 256, 256, 256), (4, 6, 6, 6, 4, 4), strict=True)
        self.heads = nn.ModuleList(nn.Conv2d(width, n * 85, 3, padding=1) for width, n in boxes)

    def forward(self, x: Tensor, places: Tensor, classes: Tensor) -> Tensor:
        maps = [self.backbone(x)]
        for block in self.further:
            maps.append(block(maps[-1]))
        found = [
            head(m).flatten(2).unflatten(1, (85, -1)).flatten(2)
            for head, m in zip(self.heads, maps, strict=True)
        ]
        boxes = torch.cat(found, 2).float()
        near = F.smooth_l1_loss(boxes[:, :4], places, reduction="none").sum(1)
        return (near + F.cross_entropy(boxes[:, 4:], classes, reduction="none")).mean()


@workload(spec("ssd", "SSD300, ResNet-50", 32))
def ssd(config: RunConfig, batch: int) -> Job:
    images, device = torch.randn(batch, 3, 300, 300, device=config.device), config.device
    places = torch.randn(batch, 4, 8732, device=device)
    return trained(SSD(), (images, places, torch.randint(81, (batch, 8732), device=device)), config, batch)


class GNMT(nn.Module):
    """Four layers of 1,024 in encoder and decoder, normalised additive attention."""

    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.first = nn.LSTM(width, width, bidirectional=True, batch_first=True)
        self.encoder = nn.ModuleList(
            nn.LSTM(2 * width if i == 0 else width, width, batch_first=True) for i in range(3)
        )
        self.start = nn.LSTM(width, width, batch_first=True)
        self.query, self.key, self.score = (
            nn.Linear(width, width),
            nn.Linear(width, width),
            nn.Linear(width, 1),
        )
        self.decoder = nn.ModuleList(nn.LSTM(2 * width, width, batch_first=True) for _ in range(3))
        self.words = nn.Linear(width, VOCABULARY)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        x = self.first(self.embed(source))[0]
        for i, layer in enumerate(self.encoder):
            x = F.dropout(layer(x)[0], 0.2) + (x if i else 0)
        y = self.start(self.embed(target))[0]
        weights = (
            self.score(torch.tanh(self.query(y)[:, :, None] + self.key(x)[:, None])).squeeze(-1).softmax(-1)
        )
        context = weights.to(x.dtype) @ x
        for layer in self.decoder:
            y = F.dropout(layer(torch.cat((y, context), -1))[0], 0.2) + y
        return F.cross_entropy(self.words(y).flatten(0, 1).float(), target.flatten(), label_smoothing=0.1)


@workload(spec("gnmt", "GNMT v2, 4 layers", 128))
def gnmt(config: RunConfig, batch: int) -> Job:
    pair = tuple(torch.randint(VOCABULARY, (batch, 30), device=config.device) for _ in range(2))
    return trained(GNMT(), pair, config, batch)


class NCF(nn.Module):
    """Neural matrix factorisation of MovieLens 20M: 64 factors, layers of 256, 256, 128 and 64."""

    def __init__(self) -> None:
        super().__init__()
        users, items = 138_493, 26_744
        self.mf = nn.ModuleList((nn.Embedding(users, 64), nn.Embedding(items, 64)))
        self.deep = nn.ModuleList((nn.Embedding(users, 128), nn.Embedding(items, 128)))
        sizes = ((256, 256), (256, 128), (128, 64))
        self.layers = nn.Sequential(
            *(each for i, o in sizes for each in (nn.Linear(i, o), nn.ReLU(), nn.Dropout(0.5)))
        )
        self.last = nn.Linear(128, 1)

    def forward(self, users: Tensor, items: Tensor, seen: Tensor) -> Tensor:
        both = self.mf[0](users) * self.mf[1](items)
        deep = self.layers(torch.cat((self.deep[0](users), self.deep[1](items)), 1))
        found = self.last(torch.cat((both, deep.to(both.dtype)), 1)).squeeze(1)
        return F.binary_cross_entropy_with_logits(found.float(), seen)


@workload(spec("ncf", "NCF on MovieLens 20M", 2**20))
def ncf(config: RunConfig, batch: int) -> Job:
    pair = tuple(torch.randint(most, (batch,), device=config.device) for most in (138_493, 26_744))
    return trained(NCF(), (*pair, torch.rand(batch, device=config.device)), config, batch)


class Tacotron(nn.Module):
    """Tacotron 2: convolutions and an LSTM read the text, two LSTM cells with attention make the frames."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(148, 512)
        self.reads = nn.ModuleList(nn.Conv1d(512, 512, 5, padding=2) for _ in range(3))
        self.lstm = nn.LSTM(512, 256, bidirectional=True, batch_first=True)
        self.before = nn.Sequential(
            nn.Linear(80, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 256), nn.ReLU(), nn.Dropout()
        )
        self.attends, self.makes = nn.LSTMCell(256 + 512, 1024), nn.LSTMCell(1024 + 512, 1024)
        self.query, self.memory, self.place = nn.Linear(1024, 128), nn.Linear(512, 128), nn.Linear(32, 128)
        self.where, self.score = nn.Conv1d(2, 32, 31, padding=15), nn.Linear(128, 1)
        self.frame = nn.Linear(1024 + 512, 81)
        widths = (80, 512, 512, 512, 512, 80)
        self.after = nn.ModuleList(nn.Conv1d(i, o, 5, padding=2) for i, o in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in (*[512] * 3, *widths[1:]))

    def forward(self, text: Tensor, frames: Tensor) -> Tensor:
        x = self.embed(text).transpose(1, 2)
        for read, norm in zip(self.reads, self.norms, strict=False):
            x = F.dropout(F.relu(norm(read(x))))
        x = self.lstm(x.transpose(1, 2))[0]
        keys, said = self.memory(x), self.before(frames)
        empty, weights = x.new_zeros(len(x), 1024), x.new_zeros(2, *x.shape[:2])
        (a, ca), (d, cd), context, made = (empty, empty), (empty, empty), x.new_zeros(len(x), 512), []
        for at in range(frames.shape[1]):
            a, ca = self.attends(torch.cat((said[:, at], context), 1), (a, ca))
            place = self.place(self.where(weights.transpose(0, 1)).transpose(1, 2))
            now = self.score(torch.tanh(self.query(a)[:, None] + keys + place)).squeeze(-1).softmax(-1)
            weights = torch.stack((now, weights[1] + now))
            context = torch.bmm(now[:, None].to(x.dtype), x)[:, 0]
            d, cd = self.makes(torch.cat((a, context), 1), (d, cd))
            made.append(self.frame(torch.cat((d, context), 1)))
        first = y = torch.stack(made, 2)[:, :80]
        for layer, norm in zip(self.after, self.norms[3:], strict=True):
            y = F.dropout(torch.tanh(norm(layer(y))))
        wanted = frames.transpose(1, 2)
        return F.mse_loss(first.float(), wanted) + F.mse_loss((first + y).float(), wanted)


@workload(spec("tacotron2", "Tacotron 2, 80 frames", 48))
def tacotron2(config: RunConfig, batch: int) -> Job:
    text = torch.randint(148, (batch, 120), device=config.device)
    return trained(Tacotron(), (text, torch.randn(batch, 80, 80, device=config.device)), config, batch)


class Flow(nn.Module):
    """One coupling of WaveGlow: eight dilated gated layers of 512 channels under the spectrogram."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix, self.start = nn.Conv1d(width, width, 1, bias=False), nn.Conv1d(width // 2, 512, 1)
        self.gates = nn.ModuleList(nn.Conv1d(512, 1024, 3, padding=2**i, dilation=2**i) for i in range(8))
        self.mel = nn.Conv1d(640, 8 * 1024, 1)
        self.out = nn.ModuleList(nn.Conv1d(512, 1024 if i < 7 else 512, 1) for i in range(8))
        self.end = nn.Conv1d(512, width, 1)

    def forward(self, x: Tensor, mel: Tensor) -> tuple[Tensor, Tensor]:
        a, b = self.mix(x).chunk(2, 1)
        y, skipped = self.start(a), 0
        for i, (gate, under) in enumerate(zip(self.gates, self.mel(mel).chunk(8, 1), strict=True)):
            left, right = (gate(y) + under).chunk(2, 1)
            z = self.out[i](torch.tanh(left) * torch.sigmoid(right))
            y, skipped = (y + z[:, :512], skipped + z[:, 512:]) if i < 7 else (y, skipped + z)
        shift, scale = self.end(skipped).chunk(2, 1)
        return torch.cat((a, torch.exp(scale) * b + shift), 1), scale


class WaveGlow(nn.Module):
    """Twelve flows over groups of eight samples, two channels leave after every fourth."""

    def __init__(self) -> None:
        super().__init__()
        self.upsample = nn.ConvTranspose1d(80, 80, 1024, 256)
        self.flows = nn.ModuleList(Flow(8 - 2 * (i // 4)) for i in range(12))

    def forward(self, mel: Tensor, audio: Tensor) -> Tensor:
        groups = audio.shape[1] // 8
        under = (
            self.upsample(mel)[:, :, : audio.shape[1]].unflatten(2, (groups, 8)).transpose(2, 3).flatten(1, 2)
        )
        x, loss = audio.unflatten(1, (groups, 8)).transpose(1, 2), torch.zeros((), device=audio.device)
        for i, flow in enumerate(self.flows):
            if i and i % 4 == 0:
                loss, x = loss + x[:, :2].float().square().mean(), x[:, 2:]
            x, scale = flow(x, under)
            loss = loss - scale.float().mean()
        spread: Tensor = loss + x.float().square().mean()
        return spread


@workload(spec("waveglow", "WaveGlow, 8,000 samples", 8))
def waveglow(config: RunConfig, batch: int) -> Job:
    mel = torch.randn(batch, 80, 32, device=config.device)
    return trained(WaveGlow(), (mel, torch.randn(batch, 8000, device=config.device)), config, batch)


class Recalling(nn.Module):
    """A layer of Transformer-XL: attention over memory and segment by relative places."""

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.place = (
            heads,
            nn.Linear(width, 3 * width, False),
            nn.Linear(width, width, False),
        )
        self.u, self.v = (nn.Parameter(torch.randn(heads, 1, width // heads)) for _ in range(2))
        self.out, self.norms = (
            nn.Linear(width, width, False),
            nn.ModuleList(nn.LayerNorm(width) for _ in range(2)),
        )
        self.feed = nn.Sequential(
            nn.Linear(width, inner), nn.ReLU(), nn.Dropout(0.1), nn.Linear(inner, width)
        )

    def forward(self, x: Tensor, memory: Tensor, places: Tensor) -> Tensor:
        both, length = torch.cat((memory, x), 1), x.shape[1]
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(both).chunk(3, 2))
        q, r = q[:, :, -length:], self.place(places).unflatten(1, (self.heads, -1)).permute(1, 2, 0)
        near = (q + self.v) @ r
        near = F.pad(near, (1, 0)).flatten(2)[:, :, length:].unflatten(2, (length, -1))
        scores = ((q + self.u) @ k.transpose(2, 3) + near) * k.shape[-1] ** -0.5
        found = F.dropout(scores.softmax(-1), 0.1).to(v.dtype) @ v
        x = self.norms[0](x + F.dropout(self.out(found.transpose(1, 2).flatten(2)), 0.1))
        out: Tensor = self.norms[1](x + F.dropout(self.feed(x), 0.1))
        return out


class TransformerXL(nn.Module):
    """WikiText-103: the adaptive softmax's head on each token, its tails on one of sixteen."""

    def __init__(self, layers: int, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(267_735, width), nn.Linear(width, 20_000)
        self.layers = nn.ModuleList(Recalling(width, heads, inner) for _ in range(layers))
        self.tails = nn.ModuleList(nn.Linear(width, size) for size in (20_000, 160_000, 67_735))

    def forward(self, words: Tensor, memory: Tensor, places: Tensor) -> Tensor:
        x = F.dropout(self.embed(words), 0.1)
        for layer in self.layers:
            x = layer(x, memory, places)
        x, wanted = x.flatten(0, 1), words.flatten() % 20_000
        loss = F.cross_entropy(self.head(x).float(), wanted)
        for tail in self.tails:
            loss = loss + F.cross_entropy(tail(x[::16]).float(), wanted[::16])
        return loss


def transformer_xl(config: RunConfig, batch: int, sizes: tuple[int, int, int, int], length: int) -> Job:
    words = torch.randint(267_735, (batch, length), device=config.device)
    memory, places = (
        torch.randn(*shape, sizes[1], device=config.device) for shape in ((batch, length), (2 * length,))
    )
    return trained(TransformerXL(*sizes), (words, memory, places), config, batch)


@workload(spec("transformerxlbase", "Transformer-XL base, 192 tokens", 32))
def transformerxlbase(config: RunConfig, batch: int) -> Job:
    return transformer_xl(config, batch, (16, 512, 8, 2048), 192)


@workload(spec("transformerxllarge", "Transformer-XL large, 384 tokens", 4))
def transformerxllarge(config: RunConfig, batch: int) -> Job:
    return transformer_xl(config, batch, (18, 1024, 16, 4096), 384)
