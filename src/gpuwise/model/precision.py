"""What numbers a step computes with: one table, and everything that depends on a precision reads it.

A name that is not in the table is refused everywhere (InputError); nothing falls back to another format.
To add a precision, add a name and its row: commands, checks, predictor and tables take it from here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

from gpuwise.errors import InputError

Half = Literal["fp16", "bf16"]  # The 16-bit formats of torch's autocast


class Precision(StrEnum):
    """What really runs; the value is the name in files and commands.

    fp32 is IEEE (TF32 off for matrix products and convolutions). fp16 is autocast, with a gradient scaler
    when training; bf16 is autocast without one. fp8 has the matrix products in FP8, int8 has weights in
    INT8; both keep activations, and whatever else they compute, in bf16.
    """

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"

    @property
    def bytes(self) -> int:
        """Of one activation."""
        return _FORMATS[self].bytes

    @property
    def weight_bytes(self) -> int:
        """Of one weight of a matrix product at inference, scales apart."""
        return _FORMATS[self].weight_bytes

    @property
    def tolerance(self) -> float:
        """Largest relative difference from the reference: of compiled from eager inference, and of 8-bit
        from 16-bit weights."""
        return _FORMATS[self].tolerance

    @property
    def capability(self) -> float:
        """Least CUDA compute capability that has the format in hardware; 0 = every one."""
        return _FORMATS[self].capability

    @property
    def base(self) -> Half | None:
        """The 16-bit format of everything that is not in 8 bits; None for 32 and 64 bits."""
        return _FORMATS[self].base

    @property
    def autocast(self) -> Half | None:
        """The format of torch's autocast for a network in 16 bits; None where products run otherwise."""
        return self.base if self.base == self.value else None

    @classmethod
    def _missing_(cls, value: object) -> Precision:
        raise InputError(f"unknown precision {value!r}", hint=f"choose from {', '.join(cls)}")


class _Format(NamedTuple):
    bytes: int
    weight_bytes: int
    tolerance: float
    capability: float
    base: Half | None


# Tolerances are some tens of roundings of the format. One rounding of e4m3 is 2.7 % (root mean square), a
# product has two, and those of 32 layers add up to 21 % where nothing else is wrong.
_FORMATS = {
    Precision.FP64: _Format(8, 8, 1e-9, 0.0, None),
    Precision.FP32: _Format(4, 4, 1e-3, 0.0, None),
    Precision.TF32: _Format(4, 4, 1e-2, 8.0, None),
    Precision.FP16: _Format(2, 2, 2e-2, 0.0, "fp16"),
    Precision.BF16: _Format(2, 2, 5e-2, 8.0, "bf16"),
    Precision.FP8: _Format(2, 1, 2e-1, 8.9, "bf16"),
    Precision.INT8: _Format(2, 1, 5e-2, 8.0, "bf16"),
}

PRECISIONS: tuple[Precision, ...] = tuple(Precision)
NETWORK_PRECISIONS: tuple[Precision, ...] = (Precision.FP32, Precision.TF32, Precision.FP16, Precision.BF16)
"""What most networks train and answer in."""
