"""Llama-style decoder (Touvron et al. 2023, arXiv:2302.13971; Grattafiori et al. 2024, arXiv:2407.21783).

Pre-norm with RMSNorm, rotary positions, grouped-query attention, SwiGLU, no dropout.
Query, key and value are one product, gate and up another. Attention goes through
scaled_dot_product_attention with the causal flag and without a mask, so the flash kernel is taken; where
that cannot run, keys and values are repeated for the next best. What other families have beside it is said by
their `LanguageModel`: biases, norms of heads, norms after branches, latent attention (DeepSeek-V3,
arXiv:2412.19437), windows (Gemma 3, arXiv:2503.19786), sinks and clamped gates (gpt-oss, arXiv:2508.10925).

Three ways through it: `forward` (all positions, training), `prefill` (fills a cache, last position)
and `decode` (one token a sequence against a full cache).

A mixture of experts multiplies the rows of each expert's tokens by its weights, all experts in one grouped
product; which token goes where stays on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.model.llm import LanguageModel
from gpuwise.model.precision import Precision
from gpuwise.workloads.models.quantized import (
    MAX_KERNEL_ROWS,
    Fp8Linear,
    NarrowExperts,
    NarrowLinear,
    quantise,
)
from gpuwise.workloads.parallel import Joined

INITIAL_STD = 0.02
NORM_EPS = 1e-5
# The long-context rescaling of rotary frequencies (Llama 3.1, YaRN) is left out: same cost.

# Channels that carry the score of a sink beside a head's own: fused kernels take multiples of eight.
SINK = 8
CLAMP, CLAMPED_SLOPE = 7.0, 1.702  # Of gpt-oss's gate

Layer = tuple[Tensor, ...]  # Keys and values of one layer, each (B, K, T, D); or latent rows (B, 1, T, L + R)


class Part(nn.Module):
    """A module with weights that are not drawn like those of a linear layer."""

    def initialise(self) -> None:
        raise NotImplementedError


class Norm(Part):
    """x / sqrt(mean(x^2) + eps) * weight, returned in the type of x."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def initialise(self) -> None:
        nn.init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:  # (..., C) -> (..., C)
        weight = self.weight.to(x.dtype)
        return functional.rms_norm(x, weight.shape, weight, NORM_EPS).to(x.dtype)


def rotary_table(
    shape: LanguageModel, positions: int, device: torch.device, theta: float | None = None
) -> Tensor:
    """Cosine and sine of position / theta^(2 i / D): (2, T, D / 2), Su et al. 2021, arXiv:2104.09864."""
    width = shape.rope or shape.head_size
    steps = torch.arange(0, width, 2, device=device, dtype=torch.float32) / width
    rows = torch.arange(positions, device=device, dtype=torch.float32)
    angles = torch.outer(rows, (theta or shape.theta) ** -steps)
    return torch.stack((angles.cos(), angles.sin()))


def rotate(x: Tensor, table: Tensor, part: int = 0) -> Tensor:  # (B, H, T, D), (2, T, R / 2) -> (B, H, T, D)
    """Turn channel i and channel i + R / 2 by its position's angle, of all channels or the first `part`."""
    cosine, sine = table.to(x.dtype).unbind(0)
    first, second = (x[..., :part] if part else x).chunk(2, dim=-1)
    turned = (first * cosine - second * sine, second * cosine + first * sine)
    return torch.cat((*turned, x[..., part:]) if part else turned, dim=-1)


def has_flash(device: str) -> bool:
    """Whether flash attention runs there: on NVIDIA's from compute capability 8.0 on."""
    nvidia = device == "cuda" and torch.version.hip is None
    return not nvidia or torch.cuda.get_device_capability() >= (8, 0)


class CausalAttention(Part):
    """Attention over what is before a token, or over a window; how keys are made is the subclass's."""

    output: nn.Linear

    def __init__(self, shape: LanguageModel, *, full: bool) -> None:
        super().__init__()
        self.shape, self.flash, self.window = shape, True, 0 if full else shape.window
        self.scale = (shape.score_size or shape.head_size) ** -0.5
        self.sinks = nn.Parameter(torch.empty(shape.heads)) if shape.sinks else None

    def initialise(self) -> None:
        if self.sinks is not None:
            nn.init.zeros_(self.sinks)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """All positions: (B, H, T, D), (B, K, T, D), (B, K, T, V) -> (B, H, T, V)."""
        s, batch, length = self.shape, 0, 0
        if s.sinks or self.window:
            batch, _, length, _ = query.shape
        if self.sinks is not None:
            # A key of zeros but for one channel, on which the query has the sink's score: no mask, so fused
            # kernels and their gradients stay.
            score = (self.sinks.to(query.dtype) / self.scale).view(1, s.heads, 1, 1)
            query = torch.cat((query, score.expand(batch, s.heads, length, 1)), dim=-1)
            query = functional.pad(query, (0, SINK - 1))
            key, value = functional.pad(key, (0, SINK)), functional.pad(value, (0, SINK))
        mask = None
        if self.window and length > self.window:
            query, key, value, mask = self._in_blocks(query, key, value)
        if self.sinks is not None:
            # The sink's row goes first; where there is no mask a query that is not read goes with it.
            first = torch.zeros_like(key[:, :, :1])
            first[..., -SINK] = 1
            key, value = torch.cat((first, key), dim=2), functional.pad(value, (0, 0, 1, 0))
            if mask is None:
                query = functional.pad(query, (0, 0, 1, 0))
            else:
                mask = functional.pad(mask, (1, 0), value=True)
        grouped = not s.latent and s.heads != s.kv_heads
        if grouped and not self._shares_heads(query, mask):
            key, value = (each.repeat_interleave(s.heads // s.kv_heads, 1) for each in (key, value))
            grouped = False
        y = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None, scale=self.scale, enable_gqa=grouped
        )
        if mask is not None:  # (B n, H, W, D) -> (B, H, T, D)
            y = y.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2, 3)[:, :, :length]  # type: ignore[no-untyped-call]
        elif self.sinks is not None:
            y = y[:, :, 1:]
        return y if self.sinks is None else y[..., : s.value_size]

    def _in_blocks(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """Queries in blocks as long as the window, each with the keys of its own and the block before: twice
        the window's keys are multiplied, and not the whole context's. (B n, H, W, D), twice (B n, K, 2 W, D),
        (B n, 1, W, 2 W)."""
        width, (batch, _, length, _) = self.window, query.shape
        blocks = -(-length // width)

        def split(x: Tensor, before: int) -> Tensor:  # -> (B n, heads, W or 2 W, D)
            x = functional.pad(x, (0, 0, before * width, blocks * width - length))
            found = x.unfold(2, (1 + before) * width, width)  # (B, heads, n, D, W)
            return found.permute(0, 2, 1, 4, 3).flatten(0, 1)

        i = torch.arange(width, device=query.device)[:, None]
        j = torch.arange(2 * width, device=query.device)
        near = (j > i) & (j <= i + width)
        # Nothing is before the first block.
        there = (torch.arange(blocks, device=query.device)[:, None] > 0) | (j >= width)
        mask = (near & there[:, None]).expand(batch, blocks, width, 2 * width).flatten(0, 1)[:, None]
        return split(query, 0), split(key, 1), split(value, 1), mask

    def _shares_heads(self, query: Tensor, mask: Tensor | None = None) -> bool:
        """Whether a fused kernel lets several query heads read one key head: flash attention, in 16 bits.

        Elsewhere on a GPU torch would take attention apart into plain products, with all scores in memory.
        """
        half = query.dtype in (torch.float16, torch.bfloat16) and mask is None
        return query.device.type == "cpu" or (self.flash and half)

    def over_cache(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """One token that attends to all: (B, H, 1, D), (B, K, T, D), (B, K, T, V) -> (B, H, 1, V)."""
        # Query heads that share a key head become rows of one query, so the cache is read once.
        s = self.shape
        heads, width = (1, s.latent + s.rope) if s.latent else (s.kv_heads, s.head_size)
        grouped = query.reshape(query.shape[0], heads, -1, width)  # (B, K, G, D)
        if self.sinks is None:
            y = functional.scaled_dot_product_attention(grouped, keys, values, scale=self.scale)
        else:
            scores = (grouped @ keys.mT).float() * self.scale
            sinks = self.sinks.float().view(1, heads, -1, 1).expand(*scores.shape[:3], 1)
            shares = torch.cat((scores, sinks), dim=-1).softmax(-1)[..., :-1]
            y = shares.to(values.dtype) @ values
        return y.reshape(*query.shape[:3], -1)

    def fill(self, cache: Layer, key: Tensor, value: Tensor) -> None:
        """Keep what the cache has rows for: token t in row t modulo their number."""
        rows, length = cache[0].shape[2], key.shape[2]
        # By rows: a compiler puts whole copies off to the end of the step, and keeps what they copy, the
        # projections of all layers, until then (13 GB of 8 B at 32,768 tokens in int4).
        places = torch.arange(length - rows, length, device=key.device) % rows
        for kept, new in zip(cache, (key, value), strict=True):
            kept.index_copy_(2, places, new[:, :, -rows:])


class Attention(CausalAttention):
    """Causal self-attention in which `heads / kv_heads` query heads share one key and value head."""

    def __init__(self, shape: LanguageModel, *, full: bool = True) -> None:
        super().__init__(shape, full=full)
        (inputs, self.parts), (result, _) = shape.attention_products
        self.qkv = nn.Linear(inputs, sum(self.parts), bias=shape.qkv_bias)
        self.output = nn.Linear(result, shape.hidden, bias=shape.output_bias)
        self.norm_size = 0 if shape.head_norm == "all" else shape.head_size  # 0 = all heads as one
        sizes = (self.norm_size,) * 2 if self.norm_size else self.parts[:2]
        self.norms = nn.ModuleList(Norm(size) for size in sizes) if shape.head_norm else None

    def forward(
        self, x: Tensor, table: Tensor, cache: Layer | None = None, position: Tensor | None = None
    ) -> Tensor:  # (B, T, C) -> (B, T, C)
        batch, length, _ = x.shape
        query, key, value = torch.split(self.qkv(x), list(self.parts), dim=-1)
        if self.norms is not None:
            query, key = (
                norm(each.view(batch, length, -1, self.norm_size or each.shape[-1]))
                for norm, each in zip(self.norms, (query, key), strict=True)
            )
        query, key, value = (
            each.reshape(batch, length, -1, self.shape.head_size).transpose(1, 2)
            for each in (query, key, value)
        )
        part = self.shape.rope
        query, key = rotate(query, table, part), rotate(key, table, part)  # (B, H, T, D), (B, K, T, D)
        if cache is not None and position is not None:
            keys, values = cache
            row = position % keys.shape[2] if self.window else position
            keys.index_copy_(2, row, key)
            values.index_copy_(2, row, value)
            y = self.over_cache(query, keys, values)
        else:
            if cache is not None:
                self.fill(cache, key, value)
            y = self.attend(query, key, value)
        return self.output(y.transpose(1, 2).reshape(batch, length, -1))


class LatentAttention(CausalAttention):
    """Keys and values of all heads from one latent row and one rotated key a token, which alone are kept.

    A prompt is read with the keys widened; a step of decoding multiplies query and result instead, so that
    all heads read the latent rows as they are."""

    def __init__(self, shape: LanguageModel) -> None:
        super().__init__(shape, full=True)
        s, self.nope = shape, shape.head_size - shape.rope
        *asks, (_, (down,)), (_, (up,)), (result, _) = shape.attention_products
        self.query_down = nn.Linear(s.hidden, s.query_rank, bias=False) if s.query_rank else None
        self.query_norm = Norm(s.query_rank) if s.query_rank else None
        self.query_up = nn.Linear(asks[-1][0], asks[-1][1][0], bias=False)
        self.down, self.norm = nn.Linear(s.hidden, down, bias=False), Norm(s.latent)
        # Its halves are multiplied apart in decoding, so it stays in 16 bits, as engines keep it.
        self.latent_up = nn.Linear(s.latent, up, bias=False)
        self.output = nn.Linear(result, s.hidden, bias=False)

    def forward(
        self, x: Tensor, table: Tensor, cache: Layer | None = None, position: Tensor | None = None
    ) -> Tensor:  # (B, T, C) -> (B, T, C)
        s, (batch, length, _) = self.shape, x.shape
        low = x if self.query_down is None or self.query_norm is None else self.query_norm(self.query_down(x))
        query = self.query_up(low).view(batch, length, s.heads, s.head_size).transpose(1, 2)
        plain, turned = query.split([self.nope, s.rope], dim=-1)
        turned = rotate(turned, table)
        latent, key = self.down(x).split([s.latent, s.rope], dim=-1)
        latent, key = self.norm(latent)[:, None], rotate(key[:, None], table)  # (B, 1, T, L), (B, 1, T, R)
        if cache is not None and position is not None:
            rows = cache[0]
            rows.index_copy_(2, position, torch.cat((latent, key), dim=-1))
            weights = self.latent_up.weight.to(x.dtype).view(s.heads, -1, s.latent)
            to_keys, to_values = weights[:, : self.nope], weights[:, self.nope :]  # (H, nope, L), (H, V, L)
            query = torch.cat((plain @ to_keys, turned), dim=-1)  # (B, H, 1, L + R)
            y = self.over_cache(query, rows, rows[..., : s.latent]) @ to_values.mT
        else:
            if cache is not None:
                cache[0].copy_(torch.cat((latent, key), dim=-1))
            wide = self.latent_up(latent[:, 0]).view(batch, length, s.heads, -1).transpose(1, 2)
            first, value = wide.split([self.nope, s.value_size], dim=-1)
            key = torch.cat((first, key.expand(batch, s.heads, length, s.rope)), dim=-1)
            y = self.attend(torch.cat((plain, turned), dim=-1), key, value)
        return self.output(y.transpose(1, 2).reshape(batch, length, -1))


def gated(rows: Tensor, activation: str) -> Tensor:  # (..., 2 F) -> (..., F)
    """act(gate) * up, Shazeer 2020, arXiv:2002.05202; gpt-oss's cuts both off and adds one to up."""
    gate, up = rows.chunk(2, dim=-1)
    if activation == "clamped":
        gate, up = gate.clamp(max=CLAMP), up.clamp(-CLAMP, CLAMP)
        return (up + 1) * gate * torch.sigmoid(CLAMPED_SLOPE * gate)
    return (functional.silu(gate) if activation == "silu" else functional.gelu(gate, approximate="tanh")) * up


class FeedForward(nn.Module):
    """down(act(gate x) * up x)."""

    def __init__(self, hidden: int, inner: int, activation: str = "silu") -> None:
        super().__init__()
        self.activation = activation
        self.gate_up = nn.Linear(hidden, 2 * inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, T, C)
        return self.down(gated(self.gate_up(x), self.activation))


class Experts(Part):
    """Of E feed-forward networks each token passes the `chosen` that a router scores highest, weighted by the
    softmax of their scores, and the shared one where there is any (Shazeer et al. 2017, arXiv:1701.06538).

    DeepSeek V3's router scores by a sigmoid, weights by those scores over their sum, and chooses by them plus
    a number an expert, in the groups whose best two have the largest sum."""

    def __init__(self, shape: LanguageModel) -> None:
        super().__init__()
        self.shape, width, count = shape, shape.expert_inner, shape.experts
        self.router = nn.Linear(shape.hidden, count, bias=shape.balanced and not shape.sigmoid)
        self.balance = nn.Parameter(torch.empty(count), requires_grad=False) if shape.sigmoid else None
        self.gate_up = nn.Parameter(torch.empty(count, 2 * width, shape.hidden))
        self.down = nn.Parameter(torch.empty(count, shape.hidden, width))
        sizes = (2 * width, shape.hidden) if shape.expert_biases else ()
        self.biases = nn.ParameterList(torch.empty(count, size) for size in sizes)
        self.shared = None
        if shape.shared_inner:
            self.shared = FeedForward(shape.hidden, shape.shared_inner, shape.activation)

    def initialise(self) -> None:
        for weight in (self.gate_up, self.down):
            nn.init.normal_(weight, std=INITIAL_STD)
        for small in (*self.biases, *(() if self.balance is None else (self.balance,))):
            nn.init.zeros_(small)

    def narrows(self, kind: Precision) -> None:
        """Keep the experts' weights in a narrow format, for inference."""
        for name in ("gate_up", "down"):
            weights = getattr(self, name)
            delattr(self, name)
            setattr(self, name, NarrowExperts(weights, kind))

    def choose(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and numbers of each token's experts: (N, C) -> (N, k), (N, k)."""
        s, scores = self.shape, self.router(rows).float()
        if self.balance is None:
            best, chosen = scores.topk(s.chosen, dim=-1)
            return best.softmax(-1), chosen
        scores = scores.sigmoid()
        asked = scores + self.balance
        if s.groups > 1:
            by_group = asked.unflatten(-1, (s.groups, -1))
            best = by_group.topk(2, dim=-1).values.sum(-1).topk(s.chosen_groups, dim=-1).indices
            kept = torch.zeros_like(by_group[..., 0], dtype=torch.bool).scatter(-1, best, True)
            asked = by_group.masked_fill(~kept[..., None], -torch.inf).flatten(-2)
        chosen = asked.topk(s.chosen, dim=-1).indices
        weights = scores.gather(-1, chosen)
        return weights / weights.sum(-1, keepdim=True) * s.routed_scale, chosen

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, T, C)
        rows = x.flatten(0, -2)  # (N, C)
        weights, chosen = self.choose(rows)
        if isinstance(self.gate_up, NarrowExperts) and chosen.numel() <= MAX_KERNEL_ROWS:
            # Each choice by its own expert's weights, wherever it stands.
            mine = rows.repeat_interleave(self.shape.chosen, 0)
            found = self._both(mine, None, chosen.flatten()).view(*chosen.shape, -1)  # (N, k, C)
        else:
            # Rows of one expert lie together; `order` has the place of each among all choices.
            order = chosen.flatten().argsort(stable=True)
            experts = torch.arange(self.shape.experts, device=rows.device)
            ends = (chosen.flatten()[:, None] == experts).sum(0).cumsum(0).to(torch.int32)
            found = self._both(rows[order // self.shape.chosen], ends, chosen.flatten()[order])
            found = found[order.argsort()].unflatten(0, chosen.shape)  # type: ignore[no-untyped-call]
        y = (found * weights.to(found.dtype)[..., None]).sum(1)
        if self.shared is not None:
            y = y + self.shared(rows)
        return y.view(x.shape)

    def _both(self, rows: Tensor, ends: Tensor | None, whose: Tensor) -> Tensor:
        """Each row through its expert's network: (N, C) -> (N, C)."""
        inner = gated(self._product(rows, 0, ends, whose), self.shape.activation)
        return self._product(inner, 1, ends, whose)

    def _product(self, rows: Tensor, part: int, ends: Tensor | None, whose: Tensor) -> Tensor:
        """Each row times the transpose of its expert's weights, plus the bias: (N, K) -> (N, M). With `ends`
        the rows of an expert lie together, up to there."""
        weights = self.down if part else self.gate_up
        if isinstance(weights, NarrowExperts):
            found: Tensor = weights(rows, ends, whose)
        else:
            found = torch._grouped_mm(rows, weights.to(rows.dtype).mT, offs=ends)
        return found + self.biases[part].to(rows.dtype)[whose] if self.biases else found


class Block(Part):
    """Attention and feed-forward, each after a norm and added to the stream; some norm what they add, too."""

    def __init__(
        self, shape: LanguageModel, *, dense: bool = True, full: bool = True, ranks: int = 1
    ) -> None:
        super().__init__()
        self.shape, self.joined = shape, Joined(ranks)
        self.norm1 = Norm(shape.hidden)
        self.attention = LatentAttention(shape) if shape.latent else Attention(shape, full=full)
        self.norm2 = Norm(shape.hidden)
        feed = FeedForward(shape.hidden, shape.inner, shape.activation) if dense else Experts(shape)
        self.feed_forward = feed
        self.after = nn.ModuleList(Norm(shape.hidden) for _ in range(2 * shape.four_norms))

    def forward(
        self, x: Tensor, table: Tensor, cache: Layer | None = None, position: Tensor | None = None
    ) -> Tensor:
        after: Sequence[Callable[[Tensor], Tensor]] = tuple(self.after) or (lambda y: y,) * 2
        enter = self.joined.enter
        x = x + after[0](self.joined(self.attention(enter(self.norm1(x)), table, cache, position)))
        return x + after[1](self.joined(self.feed_forward(enter(self.norm2(x)))))

    @torch.no_grad()
    def initialise(self) -> None:
        """Shrink the last weights of both branches; see `Decoder.initialise`."""
        depth = (2 * self.shape.layers) ** -0.5
        self.attention.output.weight.mul_(depth)
        down = self.feed_forward.down
        (down if isinstance(down, nn.Parameter) else down.weight).mul_(depth * INITIAL_STD)


class Decoder(nn.Module):
    """Token ids in, last hidden states out; `logits` applies the head. One of several tensor-parallel `ranks`
    has a part of every layer, which `shape` is the shape of, and of the head."""

    table: Tensor
    near_table: Tensor | None

    def __init__(self, shape: LanguageModel, positions: int, ranks: int = 1) -> None:
        super().__init__()
        self.shape, self.positions, self.recompute = shape, positions, False
        self.ranks, self.joined = ranks, Joined(ranks, gathers=True)
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(
            Block(shape, dense=i < shape.dense_layers, full=full, ranks=ranks)
            for i, full in enumerate(shape.full)
        )
        self.norm = Norm(shape.hidden)
        self.head = None if shape.tied else nn.Linear(shape.hidden, shape.vocabulary // ranks, bias=False)
        self.register_buffer("table", torch.empty(2, positions, (shape.rope or shape.head_size) // 2))
        # Gemma 3's layers with a window have another base.
        self.register_buffer("near_table", torch.empty_like(self.table) if shape.local_theta else None)

    @property
    def head_weight(self) -> Tensor:
        """(V, C), of several ranks each one's part."""
        if self.head is not None:
            return self.head.weight
        whole = self.embedding.weight
        if self.ranks == 1:
            return whole
        return self.joined.enter(whole).chunk(self.ranks)[torch.distributed.get_rank()]

    @torch.no_grad()
    def initialise(self, part: nn.Module | None = None) -> None:
        """Random weights, of one part or of all.

        Branches end in smaller ones, by 1 / sqrt(2 L) as GPT-2's and the feed-forward once more by 0.02, so
        that they add to the stream and do not drown it, as in a trained network. With 0.02 throughout each
        layer multiplies the rounding of those before: fp8 was 34 % off in 1b's logits."""
        for module in reversed(tuple((part or self).modules())):  # a block after what it holds
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=INITIAL_STD)
                if isinstance(module, nn.Linear) and module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, Part):
                module.initialise()
        if part is None:
            self.draw_tables(self.table.device, self.table.dtype)

    def draw_tables(self, device: torch.device, dtype: torch.dtype) -> None:
        """Angles of all positions."""
        self.table = rotary_table(self.shape, self.positions, device).to(dtype)
        if self.near_table is not None:
            theta = self.shape.local_theta
            self.near_table = rotary_table(self.shape, self.positions, device, theta).to(dtype)

    def tables(self, select: Callable[[Tensor], Tensor]) -> list[Tensor]:
        """Of each layer, the rows that are asked for."""
        far = select(self.table)
        near = far if self.near_table is None else select(self.near_table)
        return [far if full else near for full in self.shape.full]

    def logits(self, x: Tensor) -> Tensor:  # (..., C) -> (..., V)
        return self.joined(functional.linear(x, self.head_weight))

    def embed(self, tokens: Tensor) -> Tensor:  # (B, T) -> (B, T, C)
        """In autocast's type where it is on, so that the residual stream is 16 bits wide too."""
        x: Tensor = self.embedding(tokens)
        kind = x.device.type
        casts = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
        x = x.to(torch.get_autocast_dtype(kind)) if casts else x
        return x * self.shape.hidden**0.5 if self.shape.scaled_embedding else x

    def forward(self, tokens: Tensor) -> Tensor:  # (B, T) -> (B, T, C)
        """All positions. With `recompute`, a layer's activations are computed again in backward."""
        x, tables = self.embed(tokens), self.tables(lambda rows: rows[:, : tokens.shape[1]])
        for layer, table in zip(self.layers, tables, strict=True):
            if self.recompute:
                x = torch.utils.checkpoint.checkpoint(layer, x, table, use_reentrant=False)
            else:
                x = layer(x, table)
        return self.norm(x)

    def prefill(self, tokens: Tensor, cache: Cache) -> Tensor:  # (B, T) -> (B, V)
        """Fill the whole cache and return the logits of the last position."""
        x, tables = self.embed(tokens), self.tables(lambda rows: rows[:, : tokens.shape[1]])
        for layer, table, rows in zip(self.layers, tables, cache.layers(), strict=True):
            x = layer(x, table, rows)
        return self.logits(self.norm(x[:, -1]))

    def decode(self, tokens: Tensor, cache: Cache, position: Tensor) -> Tensor:  # (B, 1), (1,) -> (B, V)
        """One token at `position`, whose row of the full cache it overwrites."""
        x, tables = self.embed(tokens), self.tables(lambda rows: rows.index_select(1, position))
        for layer, table, rows in zip(self.layers, tables, cache.layers(), strict=True):
            x = layer(x, table, rows, position)
        return self.logits(self.norm(x[:, -1]))


class Cache(nn.Module):
    """Keys and values of every layer, allocated once: (B, K, T, D) each, random from the start. Layers with a
    window have no more rows than it, latent ones one row a token for both.

    Buffers of a module, because torch.compile takes their addresses as fixed and can then replay a
    graph that writes into them; one a layer, because a write into a view of one for all might be
    compiled into a copy of the whole.
    """

    def __init__(self, shape: LanguageModel, batch: int, tokens: int, like: Tensor) -> None:
        super().__init__()
        self.count = shape.layers
        widths = {"keys": shape.head_size, "values": shape.value_size}
        if shape.latent:
            widths = {"keys": shape.latent + shape.rope}
        heads = 1 if shape.latent else shape.kv_heads
        for i, full in enumerate(shape.full):
            length = tokens if full else min(tokens, shape.window)
            for name, width in widths.items():
                rows = torch.randn((batch, heads, length, width), dtype=like.dtype, device=like.device)
                self.register_buffer(f"{name}{i}", rows)

    def layers(self) -> tuple[tuple[Tensor, ...], ...]:
        """(keys, values) of each layer, or the latent rows alone."""
        held = dict(self.named_buffers())
        names = ("keys", "values") if "values0" in held else ("keys",)
        return tuple(tuple(held[f"{name}{i}"] for name in names) for i in range(self.count))


def outline(shape: LanguageModel, positions: int, dtype: torch.dtype, device: str, ranks: int = 1) -> Decoder:
    """A decoder for `device`, yet without memory, on the meta device."""
    with torch.device("meta"):
        model = Decoder(shape, positions, ranks).to(dtype)
    flash = has_flash(device)
    for module in model.modules():
        if isinstance(module, CausalAttention):
            module.flash = flash
    return model


def build_decoder(
    shape: LanguageModel, positions: int, dtype: torch.dtype, device: str, narrow: Precision | None = None,
    ranks: int = 1,
) -> Decoder:  # fmt: skip
    """A decoder with random weights, made in `dtype` where it will live: no copy in fp32 comes before, and of
    `narrow` layers only one is ever wide."""
    model = outline(shape, positions, dtype, device, ranks)
    if narrow is None:
        model.to_empty(device=device).initialise()
        return model
    for name, part in model.named_children():
        for each in part if isinstance(part, nn.ModuleList) else (part,):
            each.to_empty(device=device)
            model.initialise(each)
            if name == "layers":
                quantise(each, narrow)
    model.draw_tables(torch.device(device), dtype)
    return model


class Cached(nn.Module):
    """A decoder with the cache that its steps read and write."""

    def __init__(self, decoder: Decoder, cache: Cache) -> None:
        super().__init__()
        self.decoder, self.cache = decoder, cache


class Prefill(Cached):
    """Prompts in, logits of their last positions out; the cache is filled."""

    def forward(self, tokens: Tensor) -> Tensor:  # (B, T) -> (B, V)
        return self.decoder.prefill(tokens, self.cache)


class Decode(Cached):
    """One token a sequence in, logits of the next out; one row of the cache is overwritten."""

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:  # (B, 1), (1,) -> (B, V)
        return self.decoder.decode(tokens, self.cache, position)


class FusedDecode(Cached):
    """`Decode` by gpuwise's own kernels, for 16-bit activations and at most 64 sequences: six a layer, or one
    of all layers where that can be."""

    whole: Callable[..., Tensor] | None = None
    called = False

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:  # (B, 1), (1,) -> (B, V)
        if self.whole is not None:
            return self.whole(tokens, position)
        if not self.called and not self.decoder.shape.experts:
            from gpuwise.workloads.kernels.decode import at_once

            # The first call, which no graph records, checks whether both agree.
            decoder, self.called = self.decoder, True
            head = decoder.head_weight, decoder.norm.weight
            parts = (decoder.embedding.weight, decoder.table, decoder.layers, self.cache.layers(), head)
            self.whole = at_once(*parts, NORM_EPS, at=(tokens, position), by_layers=self.by_layers)
        return self.by_layers(tokens, position)

    def by_layers(self, tokens: Tensor, position: Tensor) -> Tensor:
        from gpuwise.workloads.kernels.decode import attend, product

        decoder = self.decoder
        x: Tensor = decoder.embedding(tokens[:, 0])  # (B, C)
        for layer, (keys, values) in zip(decoder.layers, self.cache.layers(), strict=True):
            assert isinstance(layer, Block)
            attention, feed = layer.attention, layer.feed_forward
            assert isinstance(attention, Attention)
            qkv = product(x, *stored(attention.qkv), norm=layer.norm1.weight, eps=NORM_EPS)
            y = attend(qkv, keys, values, decoder.table, position, decoder.shape.heads)
            x = product(y, *stored(attention.output), residual=x)
            if isinstance(feed, Experts):
                x = x + feed(layer.norm2(x)[:, None])[:, 0]
                continue
            y = product(x, *stored(feed.gate_up), norm=layer.norm2.weight, eps=NORM_EPS, gated=True)
            x = product(y, *stored(feed.down), residual=x)
        return product(x, decoder.head_weight, norm=decoder.norm.weight, eps=NORM_EPS)


def stored(linear: nn.Module) -> tuple[Any, ...]:
    """Weights, scales, zero points and their format, as `kernels.decode.product` takes them."""
    if isinstance(linear, NarrowLinear):
        return linear.weight, linear.scale, linear.zero, linear.kind
    if isinstance(linear, Fp8Linear):
        return linear.weight, linear.row_scale, None, Precision.FP8
    return (linear.weight,)
