"""Linear layers with weights of 8 or 4 bits, for inference and as the frozen base of QLoRA. No calibration.

- int8, weights only: w ~ scale * q, one scale an output channel, q in [-127, 127].
- int4, weights only: w ~ scale * (q - zero), q in [0, 15], one scale and zero point for each 128 inputs of an
  output channel, as AWQ and GPTQ store them.
- nf4, weights only: the 16 quantiles of a normal distribution times the largest magnitude of each 64 weights
  (Dettmers et al. 2023, arXiv:2305.14314), whose scales are in bf16 here and not quantised once more.
- mxfp4 and nvfp4, weights only: E2M1 values with a power of two for each 32 weights (OCP Microscaling
  Formats 1.0), or an e4m3 scale for each 16 and one of the whole matrix (NVIDIA's NVFP4). They are widened,
  whether a GPU has units for them or not.
- fp8 (e4m3, largest value 448; Micikevicius et al. 2022, arXiv:2209.05433), weights and activations:
  one scale a tensor, the activations' taken anew from every input; the product itself runs in FP8
  with the fast accumulation that inference uses. Needs compute capability 8.9 or higher.

Weights alone save memory and its traffic, not arithmetic: of up to 64 rows (of four-bit floats one) gpuwise's
kernels widen them in registers (`kernels.decode`); of more a 16-bit copy is written once and multiplied.
Embedding, head, norms and the key-value cache stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.model.precision import FOUR_BIT_FLOATS, GROUP, Precision
from gpuwise.model.question import NARROW_WEIGHTS

Network = TypeVar("Network", bound=nn.Module)

FP8 = torch.float8_e4m3fn
FP8_MAX = 448.0
TINY = 1e-12
# Most rows that are multiplied by narrow weights as they are.
MAX_KERNEL_ROWS = 64
# Weights of experts that become narrow at once: the numbers in between take some 16 bytes of each.
AT_ONCE = 1 << 26
# Weights that share a scale.
NF4_GROUP, MXFP4_GROUP, NVFP4_GROUP = 64, 32, 16
# Quantiles of the normal distribution, of which one is zero (appendix E of the paper).
NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023,
    1.0,
)  # fmt: skip
E2M1 = (-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
HAS_TRITON = find_spec("triton") is not None


def to_int8(weight: Tensor) -> tuple[Tensor, Tensor]:  # (N, K) -> (N, K) int8, (N,) fp32
    """Quantised rows and their scales: row ~ scale * quantised, off by at most scale / 2."""
    exact = weight.detach().float()
    scale = exact.abs().amax(dim=1).clamp_min(TINY) / 127
    return (exact / scale[:, None]).round().to(torch.int8), scale


def to_fp8(x: Tensor) -> tuple[Tensor, Tensor]:
    """x ~ scale * quantised, scale a scalar in fp32; off by at most 1/16 of each value that is not tiny."""
    x = x.detach()  # the cast has a gradient, whose graph would keep the weights and an fp32 copy of them
    scale = x.abs().amax().float().clamp_min(TINY) / FP8_MAX
    return (x.float() / scale).clamp(-FP8_MAX, FP8_MAX).to(FP8), scale


def to_fp8_rows(weight: Tensor) -> tuple[Tensor, Tensor]:  # (N, K) -> (N, K) e4m3, (N,) fp32
    """The same with a scale a row, which holds none that is too large."""
    scale = weight.float().abs().amax(dim=1).clamp_min(TINY) / FP8_MAX
    return (weight.float() / scale[:, None]).to(FP8), scale


def _split(x: Tensor, dim: int, *sizes: int) -> Tensor:
    """One side as several; torch's method has no types."""
    return x.unflatten(dim, sizes)  # type: ignore[no-untyped-call]


def to_int4(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N, K) -> words (N, K / 8) int32, scales (N, K / 128) bf16 and zero points (N, K / 128) uint8.

    Element i of word j is weight 128 (j // 16) + 16 i + j % 16: what a kernel reads for one i lies side by
    side. K is filled up with zeros to a multiple of 128 (gpt-oss has 2,880).
    """
    weight = functional.pad(weight.detach().float(), (0, -weight.shape[1] % GROUP))
    groups = _split(weight, 1, -1, GROUP)  # (N, K / 128, 128)
    low, high = groups.amin(-1).clamp_max(0), groups.amax(-1).clamp_min(0)
    scale = ((high - low) / 15).clamp_min(TINY).to(torch.bfloat16)
    zero = (-low / scale.float()).round().clamp(0, 15)
    q = (groups / scale.float()[..., None] + zero[..., None]).round().clamp(0, 15).to(torch.int32)
    shifts = 4 * torch.arange(8, dtype=torch.int32, device=weight.device)[:, None]
    # No two elements share a bit, so the sum is the word; it wraps into the sign as a bit pattern does.
    words = (_split(q, -1, 8, 16) << shifts).sum(-2, dtype=torch.int32).flatten(1)
    return words, scale, zero.to(torch.uint8)


def from_int4(words: Tensor, scale: Tensor, zero: Tensor, dtype: torch.dtype) -> Tensor:
    """The weights (N, K) that `to_int4` stored."""
    shifts = 4 * torch.arange(8, dtype=torch.int32, device=words.device)[:, None]
    q = (_split(words, 1, -1, 1, 16) >> shifts & 15).flatten(2).to(dtype)  # (N, K / 128, 128)
    return ((q - zero.to(dtype)[..., None]) * scale.to(dtype)[..., None]).flatten(1)


def to_nf4(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N, K) -> two level numbers a byte (N, K / 2) uint8, largest magnitudes (N, K / 64) bf16, levels."""
    groups, most = _groups(weight, NF4_GROUP)
    return _coded(groups, scale := most.to(torch.bfloat16), scale.float(), NF4)


def to_mxfp4(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same with exponents of two plus 127 (N, K / 32) uint8; what is above six of them becomes six."""
    groups, most = _groups(weight, MXFP4_GROUP)
    exponent = (most.log2().floor() - 2).clamp(-127, 127)
    return _coded(groups, (exponent + 127).to(torch.uint8), exponent.exp2(), E2M1)


def to_nvfp4(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same with e4m3 scales (N, K / 16), and the scale of the matrix in the levels."""
    groups, most = _groups(weight, NVFP4_GROUP)
    whole = most.amax() / (E2M1[-1] * FP8_MAX)
    scale = (most / E2M1[-1] / whole).to(FP8)
    pairs, scale, levels = _coded(groups, scale, scale.float() * whole, E2M1)
    return pairs, scale, levels * whole


def _groups(weight: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Weights (N, K / size, size) with zeros at the end, and the largest magnitude of each group."""
    weight = functional.pad(weight.detach().float(), (0, -weight.shape[1] % size))
    groups = _split(weight, 1, -1, size)
    return groups, groups.abs().amax(-1).clamp_min(TINY)


def _coded(
    groups: Tensor, stored: Tensor, scale: Tensor, values: tuple[float, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    levels = torch.tensor(values, device=groups.device)
    # The level next to a value is the number of midpoints below it.
    code = torch.bucketize(groups / scale[..., None], (levels[1:] + levels[:-1]) / 2).to(torch.uint8)
    low, high = _split(code, -1, 2, -1).unbind(-2)
    return (low | high << 4).flatten(1), stored, levels


def from_levels(pairs: Tensor, scale: Tensor, levels: Tensor, dtype: torch.dtype) -> Tensor:
    """The weights (N, K) that `to_nf4`, `to_mxfp4` or `to_nvfp4` stored."""
    half = pairs.shape[1] // scale.shape[1]
    halves = _split(pairs, 1, -1, 1, half)
    code = torch.cat((halves & 15, halves >> 4), dim=-2).flatten(2)  # (N, K / group, group)
    wide = scale if scale.is_floating_point() else (scale.float() - 127).exp2()
    return (levels.to(dtype)[code.int()] * wide.to(dtype)[..., None]).flatten(1)


def from_rows(weight: Tensor, scale: Tensor, zero: None, dtype: torch.dtype) -> Tensor:
    """The weights (N, K) that `to_int8` or `to_fp8_rows` stored."""
    return weight.to(dtype) * scale.to(dtype)[:, None]


# How weights alone are stored, and made wide again from weights, scales and zero points or levels; and how
# many share a scale, 1 where a row does.
STORED: dict[Precision, tuple[Callable[..., tuple[Tensor, ...]], Callable[..., Tensor], int]] = {
    Precision.INT8: (to_int8, from_rows, 1),
    Precision.FP8: (to_fp8_rows, from_rows, 1),
    Precision.INT4: (to_int4, from_int4, GROUP),
    Precision.NF4: (to_nf4, from_levels, NF4_GROUP),
    Precision.MXFP4: (to_mxfp4, from_levels, MXFP4_GROUP),
    Precision.NVFP4: (to_nvfp4, from_levels, NVFP4_GROUP),
}


class Narrow(nn.Module):
    """Weights alone are narrow: they are widened in the product."""

    weight: Tensor
    scale: Tensor
    zero: Tensor | None
    kind: Precision
    plain = False  # True if torch multiplies, for a comparison with gpuwise's kernel

    def by_kernel(self, rows: Tensor, most: int) -> bool:
        """Whether gpuwise's kernel multiplies: of a few rows, in 16 bits, on a GPU with Triton. There the
        weights' traffic decides."""
        few = on_gpu(rows) and rows.element_size() == 2 and len(rows) <= most
        return few and self.kind in NARROW_WEIGHTS and not self.plain


class NarrowLinear(Narrow):
    """A linear layer."""

    def __init__(self, linear: nn.Linear, kind: Precision) -> None:
        super().__init__()
        self.kind, self.in_features, self.out_features = kind, linear.in_features, linear.out_features
        store, _, group = STORED[kind]
        self.missing = -linear.in_features % group  # Inputs with weights of zero
        weight, scale, *zero = store(linear.weight)
        self.bias = linear.bias
        self.register_buffer("weight", weight)
        # INT8's are in fp32: of one in bf16, torch.compile makes a kernel that is 80 times too slow on a GPU.
        self.register_buffer("scale", scale)
        self.register_buffer("zero", zero[0] if zero else None)

    def wide(self, dtype: torch.dtype) -> Tensor:
        """The weights (N, K) as they are multiplied."""
        return STORED[self.kind][1](self.weight, self.scale, self.zero, dtype)

    def forward(self, x: Tensor) -> Tensor:  # (..., K) -> (..., N)
        rows = x.flatten(0, -2)
        if self.missing:
            rows = functional.pad(rows, (0, self.missing))
        if self.by_kernel(rows, 1 if self.kind in FOUR_BIT_FLOATS else MAX_KERNEL_ROWS):
            y = self.kernel(rows)
        elif self.kind == Precision.INT8:
            # Scales are per output, so they come out of the sum.
            y = (functional.linear(rows, self.weight.to(rows.dtype)) * self.scale).to(rows.dtype)
        else:
            y = _Frozen.apply(rows, self.kind, self.weight, self.scale, self.zero)  # type: ignore[no-untyped-call]
        y = y.view(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias.to(y.dtype)

    def kernel(self, rows: Tensor) -> Tensor:
        from gpuwise.workloads.kernels.decode import narrow_product

        return narrow_product(rows, self.weight, self.scale, self.zero, self.kind)


class NarrowExperts(Narrow):
    """Weights (E, N, K) of a mixture's experts in 8 or 4 bits.

    Of a few rows, as in decoding, each is multiplied by its own expert's weights as they are stored. For more
    rows all experts are widened once and multiplied in groups.
    """

    def __init__(self, weights: Tensor, kind: Precision) -> None:
        super().__init__()
        self.kind, (self.count, self.rows, self.width) = kind, weights.shape
        # Many experts at once, since there are thousands; not all, whose floats would fill a GPU.
        most = max(1, AT_ONCE // (self.rows * self.width))
        parts = (part.flatten(0, 1) for part in torch.split(weights.detach(), most))
        stored = [(*STORED[kind][0](part), None)[:3] for part in parts]
        for name, each in zip(("weight", "scale", "zero"), zip(*stored, strict=True), strict=True):
            one = each[0]  # None, or levels, which are the same of all; else of these experts' rows
            whole = one is None or (name == "zero" and one.dim() == 1)
            self.register_buffer(name, one if whole else _split(torch.cat(each), 0, self.count, -1))

    def wide(self, whose: Tensor | None, dtype: torch.dtype) -> Tensor:
        """Weights (E, N, K) of all experts, or (n, N, K) of those that are asked for."""
        held = (self.weight, self.scale, self.zero)
        parts = [x if x is None or whose is None or x.dim() == 1 else x[whose] for x in held]
        stored = [x if x is None or x.dim() == 1 else x.flatten(0, 1) for x in parts]
        weight = STORED[self.kind][1](*stored, dtype)
        return _split(weight[:, : self.width], 0, -1, self.rows)

    def forward(self, rows: Tensor, ends: Tensor | None, whose: Tensor) -> Tensor:
        """Each row by its expert's weights, (n, K) to (n, N); with `ends` (E) in groups that end there."""
        if ends is not None:
            return torch._grouped_mm(rows, self.wide(None, rows.dtype).mT, offs=ends)
        if self.by_kernel(rows, MAX_KERNEL_ROWS):
            return self.kernel(functional.pad(rows, (0, -self.width % STORED[self.kind][2])), whose)
        return (self.wide(whose, rows.dtype) * rows[:, None]).sum(-1)

    def kernel(self, rows: Tensor, whose: Tensor) -> Tensor:
        from gpuwise.workloads.kernels.decode import narrow_experts

        return narrow_experts(rows, self.weight, self.scale, self.zero, whose, self.kind)


class _Frozen(torch.autograd.Function):
    """rows times the transpose of narrow weights, which are widened again for the gradient: kept wide until
    then, those of all layers would be in memory at once."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, kind: Precision, *stored: Tensor | None) -> Tensor:
        ctx.kind = kind
        ctx.save_for_backward(*stored)
        return functional.linear(rows, STORED[kind][1](*stored, rows.dtype))

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor | None, ...]:
        return above[0] @ STORED[ctx.kind][1](*ctx.saved_tensors, above[0].dtype), None, None, None, None


def on_gpu(rows: Tensor) -> bool:
    """True if Triton's kernels can be run on them."""
    return rows.is_cuda and HAS_TRITON


class Fp8Linear(nn.Module):
    """Both operands in e4m3; `torch._scaled_mm` wants the second one column by column."""

    weight: Tensor
    scale: Tensor
    row_scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, scale = to_fp8(linear.weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("row_scale", scale.expand(len(weight)).contiguous())  # as kernels take it
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:  # (..., K) -> (..., N)
        rows, scale = to_fp8(x.flatten(0, -2))
        y: Tensor = torch._scaled_mm(
            rows, self.weight.t(), scale, self.scale, bias=self.bias, out_dtype=x.dtype, use_fast_accum=True
        )
        return y.view(*x.shape[:-1], -1)


def quantise(root: Network, precision: Precision) -> Network:
    """Put narrow layers in place of all linear ones and experts below a module, one at a time, but of routers
    and of what latent attention multiplies by its halves. In place."""
    for name, linear in list(root.named_modules()):
        if getattr(linear, "narrows", None) is not None:
            linear.narrows(precision)
        if isinstance(linear, nn.Linear) and not name.endswith(("router", "latent_up")):
            narrow = Fp8Linear(linear) if precision == Precision.FP8 else NarrowLinear(linear, precision)
            root.set_submodule(name, narrow)
    return root
