"""The one table of precisions."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError
from gpuwise.model.precision import PRECISIONS, Precision


def test_a_name_that_is_not_in_the_table_is_refused() -> None:
    for name in ("fp4", "", "float16"):
        with pytest.raises(InputError):
            Precision(name)


def test_a_name_in_capitals_is_read() -> None:
    assert Precision("FP16") is Precision.FP16


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_precision_is_described(precision: Precision) -> None:
    assert precision == precision.value == str(precision)
    assert 0 < precision.weight_bytes <= precision.bytes
    assert 0 < precision.tolerance < 1
    assert precision.autocast in (None, precision.value)
    assert (precision.base is None) == (precision.bytes > 2)


def test_wider_formats_are_held_to_smaller_tolerances() -> None:
    order = [Precision.FP64, Precision.FP32, Precision.TF32, Precision.FP16, Precision.BF16, Precision.FP8]
    assert [p.tolerance for p in order] == sorted(p.tolerance for p in order)
