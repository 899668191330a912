"""Sizes of the reference decoders, and what one token costs in each way of running them.

With L layers, width C, keys of width K (K < C where query heads share them), inner width F and a
vocabulary of V, a layer has W = C (C + 2 K) + C^2 + 3 C F weights in matrices, and one token that
attends to t others costs forward

    2 L W  +  4 L C t  +  2 C V (where the head is applied)

operations. In a causal pass over T tokens t is (T + 1) / 2 on average: what a causal kernel must
compute. MFU figures that count the whole square (PaLM, arXiv:2204.02311, appendix B) are higher by
2 L C (T - 1) operations a token, forward.

Memory traffic counts values read and written, flash attention and pointwise chains fused:

    linear layers   qkv C + (C + 2 K), output C + C, gate-up C + 2 F, down F + C  = 6 C + 2 K + 3 F
    the others      two add-norms 4 C each, rotation 2 (C + K), attention (C + 2 K) + C,
                    gating 2 F + F                                               = 12 C + 4 K + 3 F

a token and layer forward. Shapes are the published ones of Llama 3.2 1B and Llama 3.1 8B
(arXiv:2407.21783; the models' config.json) and, for 124m, GPT-2 small's with this architecture.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuwise.model.precision import Precision

OPTIMISER_BYTES, OPTIMISER_BYTES_BF16 = 40, 20
"""A parameter and step. fp32: AdamW 28 (weight, gradient, two moments read, three written), the two
passes 12. With everything in bf16 half of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderShape:
    """Sizes of one Llama-style decoder."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    tied: bool
    """Whether the head is the embedding, transposed."""
    theta: float = 500_000.0
    """Base of the rotary frequencies. The long-context rescaling of Llama 3.1 is left out: same cost."""

    @property
    def head_size(self) -> int:
        """Channels of one head."""
        return self.hidden // self.heads

    @property
    def kv_width(self) -> int:
        """Channels of all key heads together."""
        return self.kv_heads * self.head_size

    @property
    def layer_weights(self) -> int:
        """Weights in the matrices of one layer."""
        c, k, f = self.hidden, self.kv_width, self.inner
        return c * (c + 2 * k) + c * c + 3 * c * f

    @property
    def head_weights(self) -> int:
        """Weights of the head, which are the embedding's where tied."""
        return self.hidden * self.vocabulary

    @property
    def parameters(self) -> int:
        """All of them: layers with two norms each, last norm, embedding, head."""
        layer = self.layer_weights + 2 * self.hidden
        return self.layers * layer + self.hidden + (1 if self.tied else 2) * self.head_weights

    def adapter_parameters(self, rank: int) -> int:
        """Trainable parameters of LoRA on the seven products of every layer: rank (inputs + outputs)."""
        c, k, f = self.hidden, self.kv_width, self.inner
        sides = 2 * (c + c) + 2 * (c + k) + 2 * (c + f) + (f + c)  # query, output; key, value; gate, up; down
        return self.layers * rank * sides


SHAPES = {
    "124m": DecoderShape(
        layers=12, hidden=768, heads=12, kv_heads=12, inner=2048, vocabulary=50_304, tied=True
    ),
    "1b": DecoderShape(
        layers=16, hidden=2048, heads=32, kv_heads=8, inner=8192, vocabulary=128_256, tied=True
    ),
    "8b": DecoderShape(
        layers=32, hidden=4096, heads=32, kv_heads=8, inner=14_336, vocabulary=128_256, tied=False
    ),
    "toy": DecoderShape(layers=2, hidden=64, heads=4, kv_heads=2, inner=128, vocabulary=256, tied=True),
}
TOY_TOKENS = 32


def attention_flop(shape: DecoderShape, keys: float) -> float:
    """Scores and weighted sum of one token over `keys` others, all layers."""
    return 4.0 * shape.layers * shape.hidden * keys


def forward_flop(shape: DecoderShape, tokens: int, heads_per_token: float = 1.0) -> float:
    """Operations per token of one causal pass over `tokens`; the head is applied to a share of them."""
    products = 2.0 * shape.layers * shape.layer_weights
    head = 2.0 * shape.head_weights * heads_per_token
    return products + attention_flop(shape, (tokens + 1) / 2) + head


def linear_values(shape: DecoderShape) -> int:
    """Values that the linear layers read and write for one token, forward."""
    return shape.layers * (6 * shape.hidden + 2 * shape.kv_width + 3 * shape.inner)


def other_values(shape: DecoderShape) -> int:
    """Values that everything between the linear layers reads and writes for one token, forward."""
    return shape.layers * (12 * shape.hidden + 4 * shape.kv_width + 3 * shape.inner)


def weight_bytes(shape: DecoderShape, precision: Precision) -> float:
    """Bytes of the matrices that one pass reads; under fp8 and int8 the head stays in bf16.

    The embedding is not among them: a pass reads one row a token. A tied one is read as the head.
    """
    width = precision.bytes
    in_layers = 1 if precision in ("fp8", "int8") else width
    return float(shape.layers * shape.layer_weights * in_layers + shape.head_weights * width)


def cache_bytes(shape: DecoderShape, tokens: int, precision: Precision) -> float:
    """Bytes of the keys and values of one sequence of `tokens`; never quantised here."""
    return 2.0 * shape.layers * shape.kv_width * tokens * precision.bytes
