"""Tensors without data that torch treats as a CUDA device's: what a step would launch there.

Tensors live on torch's meta device: shapes and lifetimes are real, nothing is computed. Torch decides by
device type which operators a step consists of, so four decisions are made here as for CUDA:

- autocast: the lists of torch's CUDA autocast, registered on a dispatch key that no device uses;
- attention: one flash or memory-efficient kernel where CUDA would take one, else the plain products;
- dropout: one kernel that also writes a mask of bytes; RMS norm: one kernel;
- optimisers: `foreach` by default, `fused` allowed; the gradient scaler works.

And gpuwise's own product of few rows with 8-bit weights is one kernel, as on a GPU with Triton.

Everything is undone on leaving. The rules are those of torch 2.6 to 2.13 (aten/src/ATen/autocast_mode.h,
aten/src/ATen/native/transformers, torch/optim/optimizer.py); results were compared with one H200.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from gpuwise.predictor.contents import META, Contents, refuse

_PLENTY = 2**50
_TORCH = str(Path(torch.__file__).parent)
# A key of which no device makes use.
KEY: Any = torch._C._parse_dispatch_key("AutocastPrivateUse1")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operators whose arguments CUDA's autocast casts to the lower precision.
LOWER = _words(
    """linear matmul mm bmm mv addmm addmv addbmm addr baddbmm chain_matmul linalg_multi_dot linalg_vecdot
    prelu conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
    gru_cell lstm_cell rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention"""
)

# Operators whose arguments it casts to fp32.
FULL = _words(
    """acos asin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh tan pow softplus layer_norm
    group_norm frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss
    nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss
    multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss dist pdist cdist renorm
    logsumexp binary_cross_entropy_with_logits upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d
    upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d
    _upsample_bicubic2d_aa"""
)

# Operators that it lets compute in fp32 by their `dtype` argument.
FULL_RESULT = _words("prod softmax log_softmax cumprod cumsum sum linalg_vector_norm linalg_matrix_norm")

# Operators whose arguments it casts to the widest format among them.
WIDEST = _words(
    "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack"
)


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
        if name in LOWER or (name in WIDEST and torch.float32 not in _floats(args)):
            dtype = torch.get_autocast_dtype("cuda")
        if name in WIDEST and not any(x in (torch.float16, torch.bfloat16) for x in _floats(args)):
            return args, kwargs
        return self.cast(args, dtype), {key: self.cast(x, dtype) for key, x in kwargs.items()}


def _floats(args: Any) -> Iterator[torch.dtype]:
    for value in args:
        if isinstance(value, list | tuple):
            yield from _floats(value)
        elif isinstance(value, Tensor) and value.is_floating_point():
            yield value.dtype


def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Scaled dot product attention by the kernel that CUDA would choose: flash, efficient, or plain. Fused
    ones read rows that lie together, also of the mask, and the efficient one 16 bytes at a time; heads that
    share keys are fused where the caller says so, those that are only broadcast are not
    (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp)."""
    lower = query.dtype in (torch.float16, torch.bfloat16)
    width = query.shape[-1] if query.dim() == 4 else _PLENTY
    rows = all(x is None or x.stride(-1) == 1 for x in (query, key, value, attn_mask))
    same = value.shape[-1] == width
    grouped = key.dim() == 4 and key.shape[:2] != query.shape[:2]
    flashes = lower and attn_mask is None and same and rows and width <= 256 and (enable_gqa or not grouped)
    if flashes and _enabled("flash_sdp_enabled"):
        flash = torch.ops.aten._scaled_dot_product_flash_attention
        return flash(query, key, value, dropout_p, is_causal, scale=scale)[0]
    single = query.dtype in (torch.float16, torch.bfloat16, torch.float32)
    aligned = rows and all(x.shape[-1] * x.itemsize % 16 == 0 for x in (query, value))
    if single and query.dim() == 4 and aligned and not grouped and _enabled("mem_efficient_sdp_enabled"):
        bias = attn_mask
        if bias is not None:  # what is added, in the query's format, spread over batch and heads
            if bias.dtype == torch.bool:
                bias = torch.where(bias, 0.0, float("-inf"))
            bias = bias.to(query.dtype).expand(*query.shape[:-1], key.shape[-2])
        keep = torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value))
        efficient = torch.ops.aten._scaled_dot_product_efficient_attention
        return efficient(query, key, value, bias, keep, dropout_p, is_causal, scale=scale)[0]
    plain = torch.ops.aten._scaled_dot_product_attention_math
    return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]


def _enabled(switch: str) -> bool:
    """Whether the user left that kind of attention on (torch.nn.attention.sdpa_kernel)."""
    return bool(getattr(torch.backends.cuda, switch)())


def matmul(a: Tensor, b: Tensor) -> Any:
    """A product without gradients. Of many rows and the matrix of a layer all are multiplied at once, in
    whatever order they lie (aten/src/ATen/native/LinearAlgebra.cpp, `should_fold`: the matrix learns)."""
    if a.dim() > 2 and b.dim() == 2:
        return torch.mm(a.reshape(-1, a.shape[-1]), b).view(*a.shape[:-1], b.shape[-1])
    whole: Any = torch.ops.aten.matmul.default
    return whole._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, a, b)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout in one kernel, as CUDA has it."""
    if not train or p == 0:
        return input
    result: Tensor = torch.ops.aten.native_dropout(input, p, train)[0]
    return result


def safe_softmax(scores: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """Softmax with zeros where all of a row is masked: several kernels (aten/src/ATen/native/SoftMax.cpp).
    Measured peaks have no third tensor of scores."""
    found = torch.softmax(scores, dim, dtype)
    masked = (scores == -torch.inf).all(dim, keepdim=True)
    return torch.where(masked, found.new_zeros(()), found, out=found)


def heads(
    query: Tensor, key: Tensor, value: Tensor, width: int, count: int, weight: Tensor, bias: Tensor,
    out_weight: Tensor, out_bias: Tensor, mask: Tensor | None = None, need_weights: bool = True, *_: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`nn.MultiheadAttention` in inference: fused where CUDA has it so, of one input and without weights
    (aten/src/ATen/native/transformers/cuda/attention.cu), else with products over all scores."""
    linear = torch.nn.functional.linear
    if query is key is value:
        rows = linear(query, weight, bias).chunk(3, -1)
    else:
        rows = tuple(map(linear, (query, key, value), weight.chunk(3), bias.chunk(3)))
    parts = [x.view(*x.shape[:2], count, width // count).transpose(1, 2) for x in rows]
    if need_weights or mask is not None or width // count % 8:
        found = torch.ops.aten._scaled_dot_product_attention_math(*parts, mask)[0]
    else:
        found = attention(parts[0], parts[1], parts[2])
    return linear(found.transpose(1, 2).reshape(query.shape), out_weight, out_bias), query.new_empty(0)


def encoder_layer(
    rows: Tensor, width: int, count: int, weight: Tensor, bias: Tensor, out_weight: Tensor, out_bias: Tensor,
    gelu: bool, norm_first: bool, eps: float, *given: Any,
) -> Tensor:  # fmt: skip
    """`nn.TransformerEncoderLayer` in inference (aten/src/ATen/native/transformers/transformer.cpp)."""
    scale, shift, later_scale, later_shift, inner, inner_bias, outer, outer_bias, *masks = given
    function, shape = torch.nn.functional, rows.shape[-1:]

    def norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        return function.layer_norm(x, shape, scale, shift, eps)

    x = norm(rows, scale, shift) if norm_first else rows
    mask = masks[0] if masks else None
    x = heads(x, x, x, width, count, weight, bias, out_weight, out_bias, mask, False)[0]
    x = x.add_(rows)
    before = x = x if norm_first else norm(x, scale, shift)
    x = norm(x, later_scale, later_shift) if norm_first else x
    x = torch.ops.aten._addmm_activation(inner_bias, x.flatten(0, 1), inner.t(), use_gelu=gelu)
    x = function.linear(x, outer, outer_bias).view(before.shape).add_(before)
    return x if norm_first else norm(x, later_scale, later_shift)


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A layer as Linear.cpp has it where nothing watches: to rows in no order a bias is added in place."""
    if bias is None or (rows.dim() > 2 and not rows.is_contiguous()):
        made = torch.matmul(rows, weight.t())
        return made if bias is None else made.add_(bias)
    made = torch.addmm(bias, rows if rows.dim() == 2 else rows.reshape(-1, rows.shape[-1]), weight.t())
    return made if rows.dim() == 2 else made.view(*rows.shape[:-1], -1)


# Recurrent networks as cuDNN numbers them.
MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}
# Those whose gates are one kernel of torch's.
CELLS = ("lstm_cell", "gru_cell")


def recurrent(name: str, *, packed: bool = False) -> Callable[..., Any]:
    """A recurrent network of all its layers and places in one call of cuDNN, as CUDA has it; torch would take
    it apart into a product for each place. Of `packed` sequences it is told how many have each place."""

    def run(rows: Tensor, *given: Any) -> Any:
        sizes = given[0].tolist() if packed else []
        states, weights, biases, layers, dropped, train, both, *first = given[packed:]
        hidden, cell = states if name == "lstm" else (states, None)
        if torch.is_autocast_enabled("cuda"):
            lower = torch.float16  # whatever its format is (aten/src/ATen/autocast_mode.cpp, cudnn/RNN.cpp)
            rows, hidden = rows.to(lower), hidden.to(lower)
            cell, weights = cell if cell is None else cell.to(lower), [each.to(lower) for each in weights]
        result = torch.ops.aten._cudnn_rnn(
            rows, weights, 4 if biases else 2, None, hidden, cell, MODES[name], hidden.shape[-1], 0, layers,
            first == [True], dropped, train, both, sizes, None,
        )  # fmt: skip
        return result[:3] if name == "lstm" else result[:2]

    return run


def cell(name: str) -> Callable[..., Any]:
    """A recurrent cell as CUDA has it: two products, and one kernel for all gates
    (aten/src/ATen/native/RNN.cpp, cuda/RNN.cu)."""
    fused = getattr(torch.ops.aten, f"_thnn_fused_{name}")

    def run(rows: Tensor, states: Any, weight: Tensor, inner: Tensor, *biases: Tensor | None) -> Any:
        hidden, kept = states if name == "lstm_cell" else (states, states)
        found = fused(torch.mm(rows, weight.t()), torch.mm(hidden, inner.t()), kept, *biases)
        return found[:2] if name == "lstm_cell" else found[0]

    return run


def gates(given: Tensor, inner: Tensor, state: Tensor, *_: Any) -> tuple[Tensor, ...]:
    """Shapes of the new states of an LSTM or GRU cell and of what it keeps for the backward pass."""
    if given.shape[1] == 4 * state.shape[1]:
        return torch.empty_like(state), torch.empty_like(state), torch.empty_like(given)
    return torch.empty_like(state), state.new_empty((len(state), 5 * state.shape[1]))


def gru_gates_backward(grad: Tensor, kept: Tensor, biases: bool) -> tuple[Tensor | None, ...]:
    """Shapes of its gradients."""
    both = [grad.new_empty((len(grad), 3 * grad.shape[1])) for _ in range(2)]
    sums = [each[0].clone() if biases else None for each in both]
    return *both, torch.empty_like(grad), *sums


def _cudnn_rnn(
    rows: Tensor, weights: Any, stride: int, buffer: Any, hidden: Tensor, cell: Any, mode: int, width: int,
    projected: int, layers: int, batch_first: bool, dropped: float, train: bool, both: bool, sizes: Any,
    state: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Shapes of cuDNN's results, places before sequences; while training it keeps gates and states of every
    place, and what each layer hands to the next. Weights are one buffer already."""
    ways, kept = 2 if both else 1, {2: 5, 3: 6}.get(mode, 1)
    places = (1, 0) if batch_first and not sizes else tuple(range(rows.dim() - 1))
    output = rows.new_empty((*(rows.shape[i] for i in places), width * ways)).permute(*places, -1)
    values = output.numel() * (layers * (kept + 1) - 1) if train else 0
    cells = rows.new_empty(0) if cell is None else torch.empty_like(cell)
    return output, torch.empty_like(hidden), cells, rows.new_empty(values), rows.new_empty(0)


def _cudnn_rnn_backward(
    rows: Tensor, weights: Any, stride: int, buffer: Any, hidden: Tensor, cell: Any, *_: Any
) -> tuple[Tensor, Tensor, Any, list[Tensor]]:
    """Shapes of its gradients."""
    cells = None if cell is None else torch.empty_like(cell)
    return torch.empty_like(rows), torch.empty_like(hidden), cells, [torch.empty_like(w) for w in weights]


def _ctc(rows: Tensor, labels: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """Shapes of the loss of each sequence and of what it keeps of all places and labels, blanks between."""
    batch = rows.shape[1] if rows.dim() == 3 else 1
    return rows.new_empty(batch), rows.new_empty((batch, len(rows), 2 * (labels.numel() // batch) + 1))


def _like(*given: Any) -> Tensor:
    return torch.empty_like(max((x for x in given if isinstance(x, Tensor)), key=Tensor.numel))


# Operators of which torch knows no shapes without data.
_SHAPES: Mapping[str, Callable[..., Any]] = {
    "_ctc_loss.Tensor": _ctc,
    **dict.fromkeys(("_ctc_loss_backward", "_ctc_loss_backward.Tensor", "multi_margin_loss_backward",
                     "_sample_dirichlet", "_standard_gamma_grad", "_dirichlet_grad", "binomial"), _like),
    **dict.fromkeys((f"fake_quantize_per_{part}_affine_cachemask" for part in ("tensor", "channel")),
                    lambda *given: (_like(*given), _like(*given).to(torch.bool))),
}  # fmt: skip


def _always(answer: Any) -> Callable[..., Any]:
    """A function of this answer; a mock would keep what it was called with, and its memory."""
    return lambda *_, **__: answer


def _few_rows(layer: Any, rows: Tensor) -> Tensor:
    """gpuwise's product with narrow weights, as torch names one that reads the same."""
    weight, scale = layer.weight, layer.scale
    if layer.zero is not None:
        # Two weights a byte: half of the operations, which do not decide where rows are few.
        weight, scale = weight.view(torch.int8), scale[:, 0]
        rows = rows[:, : weight.shape[1]]
    made: Tensor = torch.ops.aten._weight_int8pack_mm(rows, weight, scale.to(rows.dtype))
    return made


def _few_choices(layer: Any, rows: Tensor, whose: Tensor) -> Tensor:
    """gpuwise's product of rows with their experts' narrow weights, as that of fewer rows with the matrices
    of as many experts as there are rows: as widely spread as they can be."""
    experts = min(len(rows), layer.count)
    weight = layer.weight[:experts].flatten(0, 1).view(torch.int8)
    each = -(-len(rows) // experts)
    scale = layer.scale.flatten()[: len(weight)].to(rows.dtype)
    made: Tensor = torch.ops.aten._weight_int8pack_mm(rows[:each, : weight.shape[1]], weight, scale)
    return made.view(-1, layer.rows)[: len(rows)]


def _rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """Shapes of RMS norm in one kernel: result, and 1 / root mean square in fp32."""
    kept = input.dim() - len(normalized_shape)
    shape = [size if i < kept else 1 for i, size in enumerate(input.shape)]
    return torch.empty_like(input), input.new_empty(shape, dtype=torch.float32)


def _rms_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: list[int], rstd: Tensor, weight: Tensor | None,
    output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
    """Shapes of its gradients."""
    gradient = None if weight is None or not output_mask[1] else torch.empty_like(weight)
    return torch.empty_like(input) if output_mask[0] else None, gradient


def _moved(method: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """`Tensor.to` and `Tensor.cuda` that move to the meta device instead of a CUDA device."""

    def here(value: Any) -> Any:
        named = isinstance(value, str | torch.device)
        return META if named and torch.device(value).type == "cuda" else value

    def move(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if name == "cuda":
            return tensor.to(META)
        return method(tensor, *(here(x) for x in args), **{key: here(x) for key, x in kwargs.items()})

    return move


class _Values(TorchFunctionMode):
    """What passes no dispatch key: constants made on the device, and tensors read by Python."""

    makers = frozenset({torch.tensor, torch.as_tensor, torch.asarray})
    readers = frozenset({Tensor.tolist, Tensor.numpy, Tensor.__format__})

    def __init__(self, contents: Contents) -> None:
        super().__init__()
        self.contents = contents

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if func in self.makers and device is not None and torch.device(device).type in ("cuda", "meta"):
            made = func(*args, **{**kwargs, "device": META})
            if not isinstance(args[0], Tensor):
                self.contents.put(made, func(*args, **{**kwargs, "device": "cpu"}))
            return made
        if func in self.readers and self.contents.value(args[0]) is not args[0]:
            known = self.contents.value(args[0])
            if known is None and func is not Tensor.__format__:
                refuse(f"Tensor.{func.__name__}: what it reads is data that is not known")
            return func(args[0] if known is None else known, *args[1:], **kwargs)
        return func(*args, **kwargs)


def _of_cuda(function: Callable[..., Any]) -> Callable[..., Any]:
    """What of autocast is told a tensor's own device type, which is meta here, and takes it for CUDA's."""

    def there(value: Any) -> Any:
        return "cuda" if isinstance(value, str) and value == "meta" else value

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*(there(x) for x in args), **{key: there(x) for key, x in kwargs.items()})

    return call


def _is_compiling() -> bool:
    """What a network hears that asks whether it is compiled, as those of transformers do before they leave
    out a mask; torch's own parts are not: the optimiser is eager."""
    return not sys._getframe(1).f_code.co_filename.startswith(_TORCH)


def _patches(autocast: Autocast, *, compiled: bool) -> Iterator[Any]:
    """Replacements of the questions that torch asks of a CUDA device."""
    from torch.optim import optimizer
    from torch.utils import _foreach_utils

    from gpuwise.workloads.models import quantized

    def supported(ask: Callable[[], list[str]]) -> Callable[[], list[str]]:
        return lambda: [*ask(), "meta"]

    for name in ("_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices"):
        if hasattr(_foreach_utils, name):
            answer = supported(getattr(_foreach_utils, name))
            yield mock.patch.object(_foreach_utils, name, answer)
            if hasattr(optimizer, name):
                yield mock.patch.object(optimizer, name, answer)
    if compiled:
        yield mock.patch.object(torch.compiler, "is_compiling", _is_compiling)
    for name in ("to", "cuda"):
        yield mock.patch.object(Tensor, name, _moved(getattr(Tensor, name), name), create=True)
    yield mock.patch.object(quantized, "on_gpu", _always(True))
    yield mock.patch.object(quantized.NarrowLinear, "kernel", _few_rows)
    yield mock.patch.object(quantized.NarrowExperts, "kernel", _few_choices)
    yield mock.patch.object(torch, "clear_autocast_cache", autocast.clear)
    for place, name in (
        (torch.autocast, "__init__"), (torch.amp, "is_autocast_available"), (torch, "is_autocast_enabled"),
        (torch, "get_autocast_dtype"),
    ):  # fmt: skip
        yield mock.patch.object(place, name, _of_cuda(getattr(place, name)))
    # Fast paths of inference, which ask for a device of this name beside CUDA, and for no mode.
    yield mock.patch("torch.utils.backend_registration._privateuse1_backend_name", "meta")
    yield mock.patch("torch.overrides.has_torch_function", _always(False))
    yield mock.patch("torch.cuda.amp.common.amp_definitely_not_available", _always(False))
    for name, value in (
        ("_lazy_init", None), ("is_bf16_supported", True), ("mem_get_info", (_PLENTY, _PLENTY)),
        ("synchronize", None), ("current_device", 0), ("get_device_capability", (9, 0)),
    ):  # fmt: skip
        yield mock.patch.object(torch.cuda, name, _always(value))


def _rules(autocast: Autocast) -> tuple[Any, ...]:
    """The four decisions, for as long as the libraries live."""
    others: Any = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
    others.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for name in sorted(LOWER | FULL | FULL_RESULT | WIDEST):
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            if "out" not in overload and "names" not in overload and "Dimname" not in overload:
                found = getattr(packet, overload)
                label = name if overload == "default" else f"{name}.{overload}"
                library.impl(label, autocast.kernel(name, found), "AutocastPrivateUse1")
    library.impl("scaled_dot_product_attention", attention, "AutogradMeta")
    library.impl("dropout", dropout, "AutogradMeta")
    library.impl("linear", linear, "AutogradMeta")
    for name in MODES:
        library.impl(f"{name}.input", recurrent(name), "AutogradMeta")
        library.impl(f"{name}.data", recurrent(name, packed=True), "AutogradMeta")
    for name in CELLS:
        library.impl(name, cell(name), "AutogradMeta")
        library.m.impl(f"_thnn_fused_{name}", "Meta", gates, False)  # torch's rule of LSTM cells needs biases
    # `Library.impl` would refuse what torch has a rule for, and what it takes apart elsewhere than on CUDA.
    library.m.impl("_cudnn_rnn", "Meta", _cudnn_rnn, False)
    library.m.impl("_cudnn_rnn_backward", "Meta", _cudnn_rnn_backward, False)
    library.m.impl("_thnn_fused_gru_cell_backward", "Meta", gru_gates_backward, False)
    for name, shapes in _SHAPES.items():
        library.m.impl(name, "Meta", shapes, False)
    if hasattr(torch.ops.aten, "_fused_rms_norm"):  # torch 2.9 and later, on CUDA
        library.m.impl("_fused_rms_norm", "Meta", _rms_norm, False)
        library.m.impl("_fused_rms_norm_backward", "Meta", _rms_norm_backward, False)
    return library, others


@contextmanager
def cuda_on_meta(contents: Contents, *, compiled: bool) -> Iterator[None]:
    """Within, meta tensors are handled as a CUDA device's would be, of a network that is `compiled` or not;
    torch's state is restored after."""
    autocast = Autocast()
    libraries = _rules(autocast)
    included = torch._C._dispatch_tls_local_include_set() | torch._C.DispatchKeySet(KEY)
    excluded = torch._C._dispatch_tls_local_exclude_set() - torch._C.DispatchKeySet(KEY)
    matmul, cudnn = torch.get_float32_matmul_precision(), torch.backends.cudnn
    before = (cudnn.allow_tf32, cudnn.benchmark)
    try:
        with ExitStack() as stack:
            for patch in _patches(autocast, compiled=compiled):
                stack.enter_context(patch)
            stack.enter_context(torch._C._ForceDispatchKeyGuard(included, excluded))
            stack.enter_context(_Values(contents))
            yield
    finally:
        torch.set_float32_matmul_precision(matmul)
        cudnn.allow_tf32, cudnn.benchmark = before
        autocast.clear()
        for library in libraries:
            library._destroy()
