"""The precisions: one table, and everything that depends on a precision reads it.

A name that is not in the table is refused everywhere (InputError); nothing falls back to another format.
To add a precision, add its row: commands, checks, predictor and tables take it from here.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Literal, Self

from gpuwise.errors import InputError

Half = Literal["fp16", "bf16"]  # The 16-bit formats of torch's autocast


GROUP = 128
"""Weights of a row that share a scale in INT4."""


def _gguf(name: str, bits: float, outer: float) -> tuple[Any, ...]:
    """A file type of llama.cpp: bits of a weight, and in the mean of embedding and head.

    Mixtures have wider blocks in some matrices, so that Q4_K (4.5 bits) is 4.8 in Q4_K_M; the head is Q6_K in
    nearly all. Mean bits are those of llama.cpp's table for Llama 3.1 8B (its tools/quantize/README.md).
    """
    return name, 2, bits / 8, 5e-2 if bits > 8 else 2e-1, 5.0, "fp16", None, outer / 8


class Precision(StrEnum):
    """A precision as it really runs; the value is the name in files and commands.

    fp32 is IEEE (TF32 off for matrix products and convolutions). fp16 is autocast, with a gradient scaler
    when training; bf16 is autocast without one. fp8 has the matrix products in FP8, int8 has weights in
    INT8; both keep activations, and whatever else they compute, in bf16.
    """

    # Tolerances are some tens of roundings of the format. One rounding of e4m3 is 2.7 % (root mean square),
    # a product has two, and those of 32 layers add up to 21 % where nothing else is wrong.
    FP64 = "fp64", 8, 8, 1e-9, 0.0, None
    FP32 = "fp32", 4, 4, 1e-3, 0.0, None
    TF32 = "tf32", 4, 4, 1e-2, 8.0, None
    FP16 = "fp16", 2, 2, 2e-2, 0.0, "fp16"
    BF16 = "bf16", 2, 2, 5e-2, 8.0, "bf16"
    FP8 = "fp8", 2, 1, 2e-1, 8.9, "bf16"
    INT8 = "int8", 2, 1, 5e-2, 8.0, "bf16"
    # Formats of weights alone. Bytes hold their scales: 4 bits in groups of 128 have 16 bits
    # of scale and 4 of zero point (AWQ, GPTQ), MXFP4 8 bits of scale for 32, NVFP4 for 16, NF4 with its
    # scales quantised once more.
    INT4 = "int4", 2, 4.15625 / 8, 2e-1, 7.5, "bf16"
    NF4 = "nf4", 2, 4.127 / 8, 2e-1, 6.0, "bf16"
    MXFP4 = "mxfp4", 2, 4.25 / 8, 2e-1, 8.0, "bf16", "fp4"
    NVFP4 = "nvfp4", 2, 4.5 / 8, 2e-1, 8.0, "bf16", "fp4"
    Q8_0 = _gguf("q8_0", 8.5, 8.5)
    Q6_K = _gguf("q6_k", 6.5625, 6.5625)
    Q5_K_M = _gguf("q5_k_m", 5.65, 6.03)
    Q5_K_S = _gguf("q5_k_s", 5.5, 6.03)
    Q5_1 = _gguf("q5_1", 6.0, 6.28)
    Q5_0 = _gguf("q5_0", 5.5, 6.03)
    Q4_K_M = _gguf("q4_k_m", 4.8, 5.53)
    Q4_K_S = _gguf("q4_k_s", 4.54, 5.53)
    Q4_1 = _gguf("q4_1", 5.0, 5.78)
    Q4_0 = _gguf("q4_0", 4.5, 5.53)
    IQ4_NL = _gguf("iq4_nl", 4.55, 5.53)
    IQ4_XS = _gguf("iq4_xs", 4.32, 5.41)
    Q3_K_L = _gguf("q3_k_l", 4.19, 5.0)
    Q3_K_M = _gguf("q3_k_m", 3.84, 5.0)
    Q3_K_S = _gguf("q3_k_s", 3.44, 5.0)
    IQ3_M = _gguf("iq3_m", 3.58, 5.0)
    IQ3_XXS = _gguf("iq3_xxs", 3.07, 4.47)
    Q2_K = _gguf("q2_k", 2.94, 4.59)
    IQ2_M = _gguf("iq2_m", 2.7, 4.47)

    bytes: int  # Of one activation.
    weight_bytes: float  # Of one weight of a matrix product at inference, with its scales from 4 bits on.
    # Largest relative difference of compiled from eager inference, and of 8-bit from 16-bit weights.
    tolerance: float
    capability: float  # Least CUDA compute capability that has the format in hardware; 0 = every one.
    base: Half | None  # The 16-bit format of everything that is not in 8 bits; None for 32 and 64 bits.
    operand: str  # Whose peak bounds a product of many rows, where the GPU has it; else that of `base`.
    head_bytes: float  # Of one weight of embedding and head, which most formats leave in 16 bits.

    def __new__(cls, name: str, *columns: Any) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.bytes, made.weight_bytes, made.tolerance, made.capability, made.base, *more = columns
        # Weights alone are widened to 16 bits before the product, so these are multiplied.
        kind = made.base or name if more or made.weight_bytes < 1 or name == "int8" else name
        made.operand = (more[0] if more else None) or kind
        made.head_bytes = more[1] if len(more) > 1 else float(made.bytes)
        return made

    @property
    def products(self) -> tuple[Precision, ...]:
        """Formats in which products may run, the first that there is: its own, else the 16 bits to which
        weights that alone are narrow are widened."""
        return (self,) if self.base is None else (self, Precision(self.base))

    @property
    def autocast(self) -> Half | None:
        """The format of torch's autocast for a network in 16 bits; None where products run otherwise."""
        return self.base if self.base == self.value else None

    @classmethod
    def _missing_(cls, value: object) -> Precision:
        name = str(value).casefold()
        if name != value and name in tuple(cls):
            return cls(name)
        near = OTHER_NAMES.get(name) or " or ".join(get_close_matches(name, cls))
        hint = f"did you mean {near}?" if near else f"choose from {', '.join(cls)}"
        raise InputError(f"unknown precision {value!r}", hint=hint)


# As frameworks and people call them.
OTHER_NAMES = {
    "half": "fp16", "float16": "fp16", "f16": "fp16", "bfloat16": "bf16", "single": "fp32", "float": "fp32",
    "float32": "fp32", "f32": "fp32", "double": "fp64", "float64": "fp64", "8bit": "int8 or q8_0",
    "4bit": "int4, nf4 or q4_k_m", "q4": "q4_k_m or int4", "q8": "q8_0", "amp": "bf16 or fp16",
    "awq": "int4", "gptq": "int4", "w4a16": "int4", "q6": "q6_k", "q5": "q5_k_m", "q3": "q3_k_m",
    "q2": "q2_k", "q4_k": "q4_k_m", "q5_k": "q5_k_m", "q3_k": "q3_k_m",
}  # fmt: skip

# E2M1 values with a scale for each few.
FOUR_BIT_FLOATS = (Precision.MXFP4, Precision.NVFP4)
# What a language model's weights can be stored in, and its cache of keys and values.
GGUF: tuple[Precision, ...] = tuple(p for p in Precision if p.base == "fp16" and p != "fp16")
WEIGHTS: tuple[Precision, ...] = (
    *(Precision.FP16, Precision.BF16, Precision.FP8, Precision.INT8, Precision.INT4, Precision.NF4),
    *(*FOUR_BIT_FLOATS, *GGUF),
)
# Those of engines that serve many: llama.cpp runs GGUF, transformers NF4, mostly for one.
SERVED: tuple[Precision, ...] = tuple(p for p in WEIGHTS if p not in (*GGUF, Precision.NF4))
CACHES: tuple[Precision, ...] = (Precision.BF16, Precision.FP8, Precision.INT8)
# What a step can be measured in.
PRECISIONS: tuple[Precision, ...] = (*(p for p in Precision if p != Precision.NF4 and p not in GGUF),)
# What most networks train and answer in.
NETWORK_PRECISIONS: tuple[Precision, ...] = (Precision.FP32, Precision.TF32, Precision.FP16, Precision.BF16)
