"""Reference models in pure torch: own files, versioned with their workload, no weights.

A library's model changes under the same name, and a mask built while tracing can silently lose
flash attention under torch.compile; these do not. Importing this package imports torch.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def self_attention(qkv: Tensor, heads: int, mask: Tensor | None = None, drop: float = 0.0) -> Tensor:
    """Query, key and value beside each other, (B, T, 3 C), to (B, T, C), by the kernel that torch takes."""
    query, key, value = (
        qkv.view(*qkv.shape[:-1], 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
    )  # each (B, H, T, D)
    y = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=drop)
    return y.transpose(1, 2).flatten(-2)
