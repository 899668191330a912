"""What numbers a step computes with: one table, and everything that depends on a precision reads it.

A name that is not in the table is refused everywhere (InputError); nothing falls back to another format.
To add a precision, add its row: commands, checks, predictor and tables take it from here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Self

from gpuwise.errors import InputError

Half = Literal["fp16", "bf16"]  # The 16-bit formats of torch's autocast


class Precision(StrEnum):
    """What really runs; the value is the name in files and commands.

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

    bytes: int  # Of one activation.
    weight_bytes: int  # Of one weight of a matrix product at inference, scales apart.
    # Largest relative difference from the reference: of compiled from eager inference, and of 8-bit from
    # 16-bit weights.
    tolerance: float
    capability: float  # Least CUDA compute capability that has the format in hardware; 0 = every one.
    base: Half | None  # The 16-bit format of everything that is not in 8 bits; None for 32 and 64 bits.

    def __new__(cls, name: str, *columns: Any) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.bytes, made.weight_bytes, made.tolerance, made.capability, made.base = columns
        return made

    @property
    def autocast(self) -> Half | None:
        """The format of torch's autocast for a network in 16 bits; None where products run otherwise."""
        return self.base if self.base == self.value else None

    @classmethod
    def _missing_(cls, value: object) -> Precision:
        raise InputError(f"unknown precision {value!r}", hint=f"choose from {', '.join(cls)}")


PRECISIONS: tuple[Precision, ...] = tuple(Precision)
# What most networks train and answer in.
NETWORK_PRECISIONS: tuple[Precision, ...] = (Precision.FP32, Precision.TF32, Precision.FP16, Precision.BF16)
