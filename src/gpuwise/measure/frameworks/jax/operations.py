"""The operations of `networks.Operations` in JAX.

Weights, batch-norm statistics and inputs are values of one dictionary by name. Under autocast (fp16,
bf16) products and convolutions take 16-bit operands, batch and layer norms compute in fp32 and return
16 bits; weights stay in fp32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gpuwise.measure.frameworks.networks import EMBEDDING_STD, LAYER_NORM_EPS, averaging, padding_of
from gpuwise.workloads.convnet import Conv, Pool

# Share of the new batch in the running statistics, torch's default.
BATCH_NORM_MOMENTUM = 0.1
STATISTICS = ("running_mean", "running_var")


@dataclass(frozen=True, slots=True)
class Weight:
    """Shape and start of one weight: normal with that deviation, or the constant where it is 0."""

    shape: tuple[int, ...]
    std: float = 0.0
    constant: float = 0.0


class Jax:
    """`values` by name; while it is None the weights that are asked for are only written down."""

    def __init__(
        self,
        values: Mapping[str, Array] | None,
        *,
        training: bool,
        dtype: Any,
        key: Array | None = None,
    ) -> None:
        self.values = values
        self.training = training
        self.dtype = dtype
        self.key = key
        self.declared: dict[str, Weight] = {}
        self.moved: dict[str, Array] = {}
        """New running statistics of batch norms."""

    def weight(self, name: str, shape: tuple[int, ...], std: float = 0.0, constant: float = 0.0) -> Array:
        self.declared[name] = Weight(shape, std, constant)
        return jnp.zeros(shape) if self.values is None else self.values[name]

    def conv(self, x: Array, name: str, layer: Conv) -> Array:
        shape = (*layer.kernel, x.shape[-1], layer.channels)  # HWIO
        kernel = self.weight(f"{name}.weight", shape, math.sqrt(2 / math.prod(shape[:3])))
        return lax.conv_general_dilated(
            x.astype(self.dtype), kernel.astype(self.dtype), (layer.stride, layer.stride),
            [(side, side) for side in layer.padding], dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )  # fmt: skip

    def norm(self, x: Array, name: str, eps: float) -> Array:
        size = (x.shape[-1],)
        scale = self.weight(f"{name}.weight", size, constant=1.0)
        shift = self.weight(f"{name}.bias", size)
        mean = self.weight(f"{name}.running_mean", size)
        variance = self.weight(f"{name}.running_var", size, constant=1.0)
        wide = x.astype(jnp.float32)
        if self.training:
            count = x.size // x.shape[-1]
            running = mean, variance
            mean = wide.mean((0, 1, 2))
            variance = jnp.square(wide).mean((0, 1, 2)) - jnp.square(mean)
            unbiased = variance * (count / max(1, count - 1))
            for kind, old, new in zip(STATISTICS, running, (mean, unbiased), strict=True):
                self.moved[f"{name}.{kind}"] = old + BATCH_NORM_MOMENTUM * (lax.stop_gradient(new) - old)
        factor = scale * lax.rsqrt(variance + eps)
        return (wide * factor + (shift - mean * factor)).astype(x.dtype)

    def relu(self, x: Array) -> Array:
        return jnp.maximum(x, 0)

    def pool(self, x: Array, layer: Pool) -> Array:
        window, stride = (1, layer.kernel, layer.kernel, 1), (1, layer.stride, layer.stride, 1)
        padding = [(0, 0), *(padding_of(side, layer) for side in x.shape[1:3]), (0, 0)]
        if layer.kind == "max":
            return lax.reduce_window(x, np.array(-np.inf, x.dtype), lax.max, window, stride, padding)
        total = lax.reduce_window(x.astype(jnp.float32), np.float32(0), lax.add, window, stride, padding)
        return (total / layer.kernel**2).astype(x.dtype)

    def mean_to(self, x: Array, side: int) -> Array:
        rows, columns = (jnp.asarray(averaging(length, side), x.dtype) for length in x.shape[1:3])
        return jnp.einsum("bhwc,ih,jw->bijc", x, rows, columns)

    def flat(self, x: Array) -> Array:
        return x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)

    def join(self, parts: Sequence[Array]) -> Array:
        return jnp.concatenate(parts, -1)

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def linear(self, x: Array, name: str, outputs: int) -> Array:
        inputs = x.shape[-1]
        matrix = self.weight(f"{name}.weight", (inputs, outputs), 1 / math.sqrt(3 * inputs))
        bias = self.weight(f"{name}.bias", (outputs,))
        return x.astype(self.dtype) @ matrix.astype(self.dtype) + bias.astype(self.dtype)

    def dropout(self, x: Array, rate: float) -> Array:
        if not self.training:
            return x
        assert self.key is not None
        self.key, mine = jax.random.split(self.key)
        kept = jax.random.bernoulli(mine, 1 - rate, x.shape)
        return jnp.where(kept, x / (1 - rate), 0).astype(x.dtype)

    def embed(self, ids: Array, name: str, rows: int, width: int) -> Array:
        table = self.weight(f"{name}.weight", (rows, width), EMBEDDING_STD)
        return table[ids]

    def positions(self, x: Array, name: str, rows: int) -> Array:
        table = self.weight(f"{name}.weight", (rows, x.shape[-1]), EMBEDDING_STD)
        return x + table[: x.shape[1]]

    def layer_norm(self, x: Array, name: str) -> Array:
        size = (x.shape[-1],)
        scale = self.weight(f"{name}.weight", size, constant=1.0)
        shift = self.weight(f"{name}.bias", size)
        wide = x.astype(jnp.float32)
        mean = wide.mean(-1, keepdims=True)
        variance = jnp.square(wide - mean).mean(-1, keepdims=True)
        return ((wide - mean) * lax.rsqrt(variance + LAYER_NORM_EPS) * scale + shift).astype(self.dtype)

    def gelu(self, x: Array) -> Array:
        return jax.nn.gelu(x, approximate=False)

    def attention(self, qkv: Array, heads: int, rate: float) -> Array:
        """Plain products: `jax.nn.dot_product_attention` has no dropout; it serves inference."""
        batch, length, width = qkv.shape
        query, key, value = (
            part.reshape(batch, length, heads, -1) for part in jnp.split(qkv, 3, -1)
        )  # each (B, T, H, D)
        if not self.training:
            return jax.nn.dot_product_attention(query, key, value).reshape(batch, length, width // 3)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
        weights = jax.nn.softmax(scores.astype(jnp.float32), -1).astype(qkv.dtype)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", self.dropout(weights, rate), value)
        return mixed.reshape(batch, length, width // 3)
