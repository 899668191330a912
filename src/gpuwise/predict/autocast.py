"""CUDA's autocast for tensors without data: which operators compute in which format.

The lists are those of torch 2.6 to 2.13 (aten/src/ATen/autocast_mode.h), registered on a dispatch key of
their own: torch's CUDA autocast passes over tensors that are not on a CUDA device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

KEY: Any = torch._C._parse_dispatch_key("AutocastPrivateUse1")
"""A key of which no device makes use."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOWER = _words(
    """linear matmul mm bmm mv addmm addmv addbmm addr baddbmm chain_matmul linalg_multi_dot linalg_vecdot
    prelu conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
    gru_cell lstm_cell rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention"""
)
"""Operators whose arguments CUDA's autocast casts to the lower precision."""

FULL = _words(
    """acos asin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh tan pow softplus layer_norm
    group_norm frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss
    nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss
    multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss dist pdist cdist renorm
    logsumexp binary_cross_entropy_with_logits upsample_nearest2d upsample_bilinear2d upsample_bicubic2d"""
)
"""Operators whose arguments it casts to fp32."""

FULL_RESULT = _words("prod softmax log_softmax cumprod cumsum sum")
"""Operators that it lets compute in fp32 by their `dtype` argument."""

WIDEST = _words(
    "addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put tensordot scatter_add cat stack"
)
"""Operators whose arguments it casts to the widest format among them."""


class Autocast:
    """CUDA's autocast for tensors without data; `cache` holds the casts of weights until it ends."""

    def __init__(self) -> None:
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}
        self._clear = torch.clear_autocast_cache

    def clear(self) -> None:
        """What leaving the outermost autocast does."""
        self.cache.clear()
        self._clear()

    def cast(self, value: Any, dtype: torch.dtype) -> Any:
        """The value in that format, where it is a floating tensor of another; weights once only."""
        if isinstance(value, list | tuple):
            return type(value)(self.cast(x, dtype) for x in value)
        if not (isinstance(value, Tensor) and value.is_floating_point()) or value.dtype == torch.float64:
            return value
        if value.dtype == dtype:
            return value
        weight = (
            value.is_leaf and value.requires_grad and value.dtype == torch.float32 and not value._is_view()
        )
        cached = torch.is_autocast_cache_enabled() and not torch.is_inference_mode_enabled()
        if not weight or dtype == torch.float32 or not cached:
            return value.to(dtype)
        if id(value) not in self.cache:
            self.cache[id(value)] = (value, value.to(dtype))
        return self.cache[id(value)][1]

    def kernel(self, name: str, overload: Any) -> Callable[..., Any]:
        """What replaces one operator while autocast is on."""

        def run(*args: Any, **kwargs: Any) -> Any:
            with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(KEY)):
                if torch.is_autocast_enabled("cuda"):
                    args, kwargs = self._cast_for(name, args, kwargs)
                return overload(*args, **kwargs)

        return run

    def _cast_for(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if name in FULL_RESULT:
            lower = isinstance(args[0], Tensor) and args[0].dtype in (torch.float16, torch.bfloat16)
            # Their last positional argument may be the dtype itself.
            given = kwargs.get("dtype") or any(isinstance(x, torch.dtype) for x in args)
            return args, kwargs if given or not lower else {**kwargs, "dtype": torch.float32}
        dtype = torch.float32
        if name in LOWER or (name in WIDEST and not _any_full(args)):
            dtype = torch.get_autocast_dtype("cuda")
        if name in WIDEST and not _any_lower(args):
            return args, kwargs
        return self.cast(args, dtype), {key: self.cast(x, dtype) for key, x in kwargs.items()}


def _floats(args: Any) -> Iterator[torch.dtype]:
    for value in args:
        if isinstance(value, list | tuple):
            yield from _floats(value)
        elif isinstance(value, Tensor) and value.is_floating_point():
            yield value.dtype


def _any_full(args: Any) -> bool:
    return torch.float32 in _floats(args)


def _any_lower(args: Any) -> bool:
    return any(x in (torch.float16, torch.bfloat16) for x in _floats(args))
