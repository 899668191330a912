"""Attention in tiles of queries, where groups of warps feed the matrix units."""

from __future__ import annotations

import numpy as np
import pytest

from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Kernel, arrays, tile_seconds, tiles
from gpuwise.predictor.rates import usual
from gpuwise.predictor.step import kernel_seconds

H200 = card("h200-sxm")
RATE = 800e12
FUSED = "aten._scaled_dot_product_flash_attention"


def attention(
    queries: int, keys: int, width: int = 64, *, batch: int = 8, name: str = FUSED, dtype: str = "bf16"
) -> Kernel:
    """Its operations as the tracer counts them."""
    backward, causal = "_backward" in name, ":causal" in name
    flop = 4.0 * batch * 16 * queries * keys * width * (2.5 if backward else 1.0) * (0.5 if causal else 1.0)
    return Kernel(
        kind="attention", name=name, dtype=dtype, shape=(batch, 16, queries, keys, width, 16), flop=flop,
        bytes_read=0.0, bytes_written=0.0, phase="forward",
    )  # fmt: skip


def seconds(*args: int, name: str = FUSED, batch: int = 8) -> float:
    kernel = attention(*args, name=name, batch=batch)
    return float(tile_seconds(tiles([kernel], np.array([kernel.shape], dtype=float)), H200, RATE)[0])


def rate(*args: int, name: str = FUSED) -> float:
    return attention(*args, name=name).flop / seconds(*args, name=name)


def test_long_attention_reaches_what_products_and_exponentials_leave() -> None:
    """Per pair 4 x 64 operations at the products' rate, and one exponential of 16 a clock and unit."""
    pair = 256 / RATE + 1 / (16 * H200.units * H200.clock_hz)
    assert rate(16384, 16384) == pytest.approx(256 / pair, rel=0.02)
    assert rate(16384, 16384, 128) > 1.2 * rate(16384, 16384, 64)


def test_short_masked_and_narrow_attention_is_slower() -> None:
    assert rate(256, 256) < 0.8 * rate(4096, 4096)
    assert rate(2048, 2048, name=f"{FUSED}:causal") < 0.95 * rate(2048, 2048)
    assert seconds(2048, 2048, 40) == seconds(2048, 2048, 64)
    assert seconds(197, 197) == seconds(256, 256)


def test_backward_is_dealt_by_keys_that_meet_query_after_query() -> None:
    """Profiles: 8 heads of 3,136 queries and 49 keys took 88 microseconds, 32 of 64 and 1,500 took 26."""
    one, other = (seconds(*sizes, batch=1, name=f"{FUSED}_backward") for sizes in ((3136, 64), (64, 3136)))
    assert one > 3 * other
    assert seconds(64, 3136, batch=1) > 3 * seconds(3136, 64, batch=1)


def test_decoding_waits_for_one_tile_whatever_its_queries() -> None:
    """Four queries of 8 x 8 heads of 128 took 101 microseconds for 8,192 keys, and 98 of 8 heads."""
    assert seconds(4, 8192, 128, batch=1) == pytest.approx(98e-6, rel=0.05)
    assert seconds(2, 8192, batch=2) == seconds(4, 8192, batch=2) == seconds(4, 8192, batch=8)
    assert seconds(4, 8192, batch=9) == 2 * seconds(4, 8192, batch=8)  # 144 tiles on 132 units


def test_the_keys_of_one_query_are_dealt_to_all_units() -> None:
    """One query of 8 heads took 11 microseconds for 8,192 keys, where four took 98."""
    assert seconds(1, 8192, batch=2) < 0.3 * seconds(4, 8192, batch=2)


def test_heads_that_are_not_loaded_by_eights_take_the_kernels_of_single_warps() -> None:
    """cuDNN refuses them, whose tile is 128 queries however few there are."""
    short = [attention(16, 16, width, batch=4096) for width in (8, 10, 12)]
    by_eight, *others = kernel_seconds(arrays(short), H200, usual(H200))
    assert max(others) < 0.2 * by_eight


def test_dropout_draws_a_number_for_each_pair() -> None:
    dropped = seconds(384, 384, name=f"{FUSED}:dropout")
    assert 1.5 < dropped / seconds(384, 384) < 2.5
    backward = (seconds(384, 384, name=f"{FUSED}_backward{drops}") for drops in (":dropout", ""))
    assert 1.1 < next(backward) / next(backward) < 1.6


def test_only_16_bits_on_cards_with_such_kernels_run_them() -> None:
    def time(gpu: str, kernel: Kernel) -> float:
        return float(kernel_seconds(arrays([kernel]), card(gpu), usual(card(gpu)))[0])

    few, many = attention(4, 8192, batch=2), attention(128, 8192, batch=2)
    assert time("h200-sxm", few) == pytest.approx(time("h200-sxm", many), rel=0.2)
    for gpu, name, dtype in (
        ("a100-sxm4-80gb", FUSED, "bf16"),
        ("h200-sxm", FUSED, "fp32"),
        ("h200-sxm", "aten._scaled_dot_product_efficient_attention", "bf16"),
    ):
        short, long = (attention(q, 8192, batch=2, name=name, dtype=dtype) for q in (4, 128))
        assert time(gpu, short) < time(gpu, long)
