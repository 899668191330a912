"""The operations of `networks.Operations` as Keras 3 layers, for a functional model.

What a layer computes in is Keras's global policy: mixed_float16 and mixed_bfloat16 keep weights in fp32
and batch norms exact, like torch's autocast. keras.applications is not used: its ResNets have biases in
front of batch norms and the stride in the 1x1 convolution, so they are other networks than these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from gpuwise.measure.frameworks.networks import EMBEDDING_STD, LAYER_NORM_EPS, averaging, padding_of
from gpuwise.workloads.convnet import Conv, Pool


class Rows(layers.Layer):
    """Adds row i of a table of weights to place i: (B, T, C) -> (B, T, C)."""

    def __init__(self, rows: int, name: str) -> None:
        super().__init__(name=name)
        self.rows = rows

    def build(self, shape: Sequence[int]) -> None:
        start = keras.initializers.RandomNormal(stddev=EMBEDDING_STD)
        self.table = self.add_weight(shape=(self.rows, shape[-1]), initializer=start, name="embeddings")

    def call(self, x: Any) -> Any:
        return x + ops.cast(self.table[: x.shape[1]], x.dtype)


class Keras:
    """Builds layers as it goes; `training` decides what a network consists of, not how it is called."""

    def __init__(self, *, training: bool) -> None:
        self.training = training

    def conv(self, x: Any, name: str, layer: Conv) -> Any:
        if any(layer.padding):
            x = layers.ZeroPadding2D(layer.padding, name=f"{name}.padding")(x)
        return layers.Conv2D(
            layer.channels,
            layer.kernel,
            layer.stride,
            use_bias=False,
            name=name,
            kernel_initializer="he_normal",
        )(x)

    def norm(self, x: Any, name: str, eps: float) -> Any:
        return layers.BatchNormalization(momentum=0.9, epsilon=eps, name=name)(x)

    def relu(self, x: Any) -> Any:
        return ops.relu(x)

    def pool(self, x: Any, layer: Pool) -> Any:
        high, wide = (padding_of(side, layer) for side in x.shape[1:3])
        if any(high + wide):
            x = layers.ZeroPadding2D((high, wide))(x)  # below a ReLU zero is as good as minus infinity
        kind = layers.MaxPooling2D if layer.kind == "max" else layers.AveragePooling2D
        return kind(layer.kernel, layer.stride)(x)

    def mean_to(self, x: Any, side: int) -> Any:
        rows, columns = (np.asarray(averaging(length, side), np.float32) for length in x.shape[1:3])
        return ops.einsum("bhwc,ih,jw->bijc", x, ops.cast(rows, x.dtype), ops.cast(columns, x.dtype))

    def flat(self, x: Any) -> Any:
        return layers.Flatten()(ops.transpose(x, (0, 3, 1, 2)))

    def join(self, parts: Sequence[Any]) -> Any:
        return ops.concatenate(parts, -1)

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def linear(self, x: Any, name: str, outputs: int) -> Any:
        start = keras.initializers.RandomNormal(stddev=1 / math.sqrt(3 * x.shape[-1]))
        return layers.Dense(outputs, name=name, kernel_initializer=start)(x)

    def dropout(self, x: Any, rate: float) -> Any:
        return layers.Dropout(rate)(x)

    def embed(self, ids: Any, name: str, rows: int, width: int) -> Any:
        start = keras.initializers.RandomNormal(stddev=EMBEDDING_STD)
        return layers.Embedding(rows, width, embeddings_initializer=start, name=name)(ids)

    def positions(self, x: Any, name: str, rows: int) -> Any:
        return Rows(rows, name)(x)

    def layer_norm(self, x: Any, name: str) -> Any:
        return layers.LayerNormalization(epsilon=LAYER_NORM_EPS, name=name)(x)

    def gelu(self, x: Any) -> Any:
        return ops.gelu(x, approximate=False)

    def attention(self, qkv: Any, heads: int, rate: float) -> Any:
        length, width = qkv.shape[1:]
        query, key, value = (
            ops.reshape(part, (-1, length, heads, width // 3 // heads)) for part in ops.split(qkv, 3, -1)
        )  # each (B, T, H, D)
        scores = ops.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(width // 3 // heads)
        weights = self.dropout(layers.Softmax()(scores), rate)
        return ops.reshape(ops.einsum("bhqk,bkhd->bqhd", weights, value), (-1, length, width // 3))
