"""A card's facts, and which of its peaks bounds deep learning."""

from __future__ import annotations

from typing import Literal

import pytest

from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source, Value

SOURCE = Source(id="s", title="Datasheet", kind="vendor", read_on="2026-11-21")


def fact(field: str, value: Value) -> Fact:
    return Fact(field=field, value=value, source=SOURCE)


def peak(
    number: str,
    accumulate: str,
    unit: Literal["vector", "matrix"],
    tera: float,
    *,
    sparse: bool = False,
) -> Peak:
    return Peak(
        format=number,
        accumulate=accumulate,
        unit=unit,
        flop_per_s=tera * 1e12,
        sparse=sparse,
        source=SOURCE,
    )


CARD = GpuSpec(
    id="card",
    name="Card",
    facts={
        f.field: f
        for f in (
            fact("vendor", "NVIDIA"),
            fact("architecture", "Ada"),
            fact("memory_bytes", 24 * 2**30),
            fact("memory_bytes_per_s", 1.008e12),
            fact("power_w", 450),
            fact("compute_capability", "8.9"),
            fact("ecc", True),
        )
    },
    # Every wrong answer stands before the right one.
    peaks=(
        peak("fp16", "fp16", "matrix", 330),
        peak("fp16", "fp32", "matrix", 331, sparse=True),
        peak("fp16", "fp16", "vector", 83),
        peak("fp16", "fp32", "matrix", 165),
        peak("bf16", "fp32", "matrix", 332, sparse=True),
        peak("bf16", "fp32", "matrix", 166),
        peak("tf32", "fp32", "matrix", 82),
        peak("fp32", "fp32", "matrix", 41),
        peak("fp32", "fp32", "vector", 82.6),
        peak("fp64", "fp64", "matrix", 19.5),
        peak("fp64", "fp64", "vector", 9.7),
        peak("fp8", "fp16", "matrix", 660),
        peak("fp8", "fp32", "matrix", 330),
        peak("int8", "int32", "matrix", 661),
    ),
)
UNKNOWN = GpuSpec(id="u", name="Unknown")


@pytest.mark.parametrize(
    ("precision", "tera"),
    [("fp16", 165), ("bf16", 166), ("tf32", 82), ("fp32", 82.6), ("fp64", 19.5), ("fp8", 330)],
)
def test_the_bound_is_dense_and_accumulates_in_fp32(precision: str, tera: float) -> None:
    found = CARD.peak(precision)
    assert found is not None
    assert found.flop_per_s == tera * 1e12
    assert not found.sparse


@pytest.mark.parametrize("precision", ["int8", "fp4", "", "FP16"])
def test_a_peak_that_is_not_stated_is_none(precision: str) -> None:
    assert CARD.peak(precision) is None


def test_a_sparse_peak_alone_is_no_bound() -> None:
    sparse = GpuSpec(id="s", name="S", peaks=(peak("bf16", "fp32", "matrix", 332, sparse=True),))
    assert sparse.peak("bf16") is None


def test_properties_read_the_facts() -> None:
    assert (CARD.vendor, CARD.architecture) == ("NVIDIA", "Ada")
    assert CARD.memory_bytes == 24 * 2**30
    assert CARD.memory_bytes_per_s == 1.008e12
    assert CARD.power_w == 450
    assert isinstance(CARD.power_w, float)


def test_text_of_any_fact_number_of_numbers_only() -> None:
    assert CARD.text("power_w") == "450"
    assert CARD.text("compute_capability") == "8.9"
    assert CARD.number("compute_capability") is None
    assert CARD.number("power_w") == 450.0


def test_what_no_source_states_is_none() -> None:
    assert UNKNOWN.text("vendor") is UNKNOWN.number("power_w") is None
    assert UNKNOWN.vendor is UNKNOWN.architecture is None
    assert UNKNOWN.memory_bytes is UNKNOWN.memory_bytes_per_s is UNKNOWN.power_w is None
    assert UNKNOWN.peak("fp16") is None
