"""Kernels as arrays: what of their shapes is executed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Kernel, arrays, path
from gpuwise.predictor.rates import usual
from gpuwise.predictor.step import kernel_seconds


def executed(name: str, queries: int, keys: int, width: int) -> float:
    found = Kernel(
        kind="attention", name=name, dtype="bf16", shape=(2, 12, queries, keys, width, 12), flop=1,
        bytes_read=8, bytes_written=4, phase="backward", count=1,
    )  # fmt: skip
    return float(arrays([found]).groups[0].flop[0])


def test_attention_computes_whole_blocks_and_its_backward_pass_is_slower() -> None:
    forward = "aten._scaled_dot_product_flash_attention"
    assert executed(forward, 384, 384, 64) == 1.0
    assert executed(forward, 197, 197, 64) == pytest.approx((256 / 197) ** 2)
    assert executed(forward, 1, 2048, 64) == 1.0  # decoding
    assert executed(forward + "_backward", 384, 384, 64) > 1.0


def test_an_optimiser_of_many_launches_takes_about_as_long_as_its_bytes() -> None:
    """Its shape holds the tensors of all launches, its bytes and operations are those of one."""
    values, launches = 8_000_000_000, 384
    one = Kernel(
        kind="optimiser",
        name="aten._fused_adamw_",
        dtype="bf16",
        shape=(values,),
        flop=8 * values / launches,
        bytes_read=8 * values / launches,
        bytes_written=6 * values / launches,
        phase="optimiser",
        count=launches,
    )
    found = card("h100-sxm5-80gb")
    seconds = launches * float(kernel_seconds(arrays([one]), found, usual(found))[0])
    least = 14 * values / found.bytes_per_s
    assert least < seconds < 3 * least


@pytest.mark.parametrize(
    ("name", "how"),
    [("index", "taken"), ("gather", "taken"), ("index_put_", "put"), ("put", "put"), ("index_copy_", "taken"),
     ("index_reduce_", "put"), ("max_unpool2d", "put")],
)  # fmt: skip
def test_what_is_put_by_index_costs_more_than_what_is_taken(name: str, how: str) -> None:
    kernel = Kernel(
        kind="gather", name=f"aten.{name}", dtype="fp32", shape=(64, 64), flop=0, bytes_read=2**14,
        bytes_written=2**14, phase="forward", count=1,
    )  # fmt: skip
    assert f"gather {how}" in path(kernel, compiled=False)


@pytest.mark.parametrize(
    ("name", "numbers", "compiled", "found"),
    [
        ("aten.sort", 512, True, "compiled rows"),
        ("aten.sort", 513, True, "reduction ordered sort"),
        ("aten.sort", 512, False, "reduction ordered few"),
        ("aten.sort", 513, False, "reduction ordered sort"),
        ("aten.topk", 512, True, "reduction ordered few"),  # no code is generated for it, however few
        ("aten.topk", 513, True, "reduction ordered topk"),
        ("aten.cumsum", 512, False, "reduction ordered cumsum"),
        ("aten.kthvalue", 512, True, "reduction ordered kthvalue"),
    ],
)
def test_few_numbers_are_put_in_order_at_once(name: str, numbers: int, compiled: bool, found: str) -> None:
    rows = 3
    kernel = Kernel(
        kind="reduction", name=name, dtype="int64", shape=(rows, numbers), flop=numbers,
        bytes_read=8 * rows * numbers, bytes_written=16 * rows * numbers, phase="forward", count=1,
    )  # fmt: skip
    assert found in path(kernel, compiled=compiled)
    # Eight experts of a token take an H100 no more than a few launches: measured 8.5 microseconds.
    few = replace(kernel, shape=(1, 8), bytes_read=64, bytes_written=128)
    h100 = card("h100-sxm5-80gb")
    seconds = float(kernel_seconds(arrays([few], compiled=compiled), h100, usual(h100))[0])
    assert 1e-6 < seconds < 15e-6


@pytest.mark.parametrize(
    ("m", "n", "k", "milliseconds"),
    [(16384, 50257, 768, 13.3), (2048, 768, 50257, 1.13), (512, 50277, 768, 0.42)],
)
def test_rows_of_single_elements_are_loaded_one_by_one(m: int, n: int, k: int, milliseconds: float) -> None:
    """As measured on an H100 and H200s, forward and backward; another word made it three times as quick."""
    phase: Any = "backward" if k > n else "forward"
    kernel = Kernel(
        kind="matmul", name="aten.mm:by1", dtype="bf16", shape=(1, m, n, k), flop=2.0 * m * n * k,
        bytes_read=2.0 * k * (m + n), bytes_written=2.0 * m * n, phase=phase,
    )  # fmt: skip
    own, even = card("h200-sxm"), replace(kernel, name="aten.mm", shape=(1, m, n + n % 2, k + k % 2))
    found, quick = kernel_seconds(arrays([kernel, even]), own, usual(own))
    assert found == pytest.approx(milliseconds * 1e-3, rel=0.15)
    assert quick < 0.7 * found


def taken(name: str, shape: tuple[int, ...], written: float, read: float, kind: Any = "gather") -> float:
    kernel = Kernel(
        kind=kind, name=f"aten.{name}", dtype="bf16", shape=shape, flop=0, bytes_read=read,
        bytes_written=written, phase="forward", count=1,
    )  # fmt: skip
    return float(kernel_seconds(arrays([kernel]), card("h200-sxm"), usual(card("h200-sxm")))[0])


def test_whole_rows_are_taken_as_embeddings_are_and_added_one_by_one() -> None:
    """On an H200 46,080 rows of 9 x 64 numbers took 29 microseconds, to add them to 3,840 took 272."""
    size, few = 2.0 * 46080 * 576, 2.0 * 3840 * 576
    rows, places = (taken(name, (46080, 9, 64), size, size) for name in ("index:rows", "index"))
    assert rows < 1.4 * 29e-6 < places
    assert taken("index_add", (3840, 9, 64), few, size + few) == pytest.approx(272e-6, rel=0.4)


def test_a_group_norm_of_few_groups_keeps_few_units_busy() -> None:
    each, name = 2.0 * 65536, "native_group_norm:statistics:nchw"
    few, many = (taken(name, (n, 128, 64, 64), 4.0 * n * 8, n * 8 * each, "normalisation") for n in (2, 16))
    assert few == pytest.approx(many, rel=0.25)  # eight times the groups find free units
