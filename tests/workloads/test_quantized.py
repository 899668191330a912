"""Eight-bit layers: the arithmetic of quantisation, and products close to those of the weights given."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import nn

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads.job import relative_difference
from gpuwise.workloads.models.decoder import Experts, build_decoder
from gpuwise.workloads.models.quantized import (
    FP8,
    FP8_MAX,
    MAX_KERNEL_ROWS,
    NF4,
    STORED,
    Fp8Linear,
    NarrowExperts,
    NarrowLinear,
    from_int4,
    from_levels,
    quantise,
    to_fp8,
    to_int4,
    to_int8,
    to_mxfp4,
    to_nf4,
    to_nvfp4,
)

from .conftest import SHAPES, toy

Make = Callable[[nn.Linear], NarrowLinear | Fp8Linear]


def int8(linear: nn.Linear) -> NarrowLinear:
    return NarrowLinear(linear, Precision.INT8)


def test_int8_rows_by_hand() -> None:
    quantised, scale = to_int8(torch.tensor([[127.0, -63.4, 0.0], [0.5, -1.0, 0.25]]))
    assert quantised.tolist() == [[127, -63, 0], [64, -127, 32]]  # 63.5 rounds to even
    assert scale.tolist() == pytest.approx([1.0, 1 / 127])


def test_int8_is_off_by_half_a_step_at_most() -> None:
    weight = torch.randn(16, 64) * torch.logspace(-3, 3, 16)[:, None]
    quantised, scale = to_int8(weight)
    assert quantised.dtype == torch.int8
    assert bool(((quantised * scale[:, None] - weight).abs() <= 0.5001 * scale[:, None]).all())


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_fp8_is_off_by_a_sixteenth_of_each_value_at_most(size: float) -> None:
    x = size * torch.randn(64, 64)
    quantised, scale = to_fp8(x)
    assert quantised.dtype == FP8
    back = quantised.float() * scale
    assert float(quantised.float().abs().max()) == FP8_MAX
    normal = x.abs() > scale * 2**-6  # below that e4m3 has steps of 2^-9
    assert bool(((back - x).abs()[normal] <= x.abs()[normal] / 16 * 1.001).all())
    assert bool(((back - x).abs()[~normal] <= scale * 2**-10 * 1.001).all())


def test_int4_is_off_by_half_a_step_at_most() -> None:
    weight = torch.randn(16, 256) * torch.logspace(-3, 3, 16)[:, None]
    words, scale, zero = to_int4(weight)
    assert (words.shape, words.dtype) == ((16, 32), torch.int32)
    back = from_int4(words, scale, zero, torch.float32)
    step = scale.float().repeat_interleave(128, 1)
    # A zero point is rounded to a whole number and a scale to bf16: ends are clipped by some of a step.
    off = (back - weight).abs() / step
    assert float(off.max()) < 1.1
    assert float(off.quantile(0.99)) <= 0.501
    assert 8 * (words.nbytes + scale.nbytes + zero.nbytes) / weight.numel() == pytest.approx(4.1875)


def test_int4_by_hand() -> None:
    """0 to 15 in steps of the scale, whose elements lie 16 apart in a word."""
    weight = torch.arange(128.0).remainder(16)[None]
    words, scale, zero = to_int4(weight)
    assert (scale.item(), zero.item()) == (1.0, 0)
    assert [word & 0xFFFFFFFF for word in words[0].tolist()] == [0x11111111 * j for j in range(16)]


def test_nf4_takes_the_next_level() -> None:
    weight = torch.randn(8, 128)
    pairs, scale, stored = to_nf4(weight)
    assert (pairs.shape, scale.shape) == ((8, 64), (8, 2))
    largest = scale.float().repeat_interleave(64, 1)
    levels = torch.tensor(NF4)[:, None, None] * largest
    nearest = (levels - weight).abs().amin(0)
    assert torch.allclose((from_levels(pairs, scale, stored, torch.float32) - weight).abs(), nearest)


def test_mxfp4_by_hand() -> None:
    """Powers of two that bring the largest of 32 to between four and eight; what is above six becomes six."""
    weight = torch.tensor([[*[0.0] * 29, 5.2, 3.4, -0.2], [*[0.0] * 30, 7.9, 0.76]]).repeat_interleave(2, 0)
    weight[1], weight[3] = weight[0] / 8, weight[2] * 2
    pairs, scale, levels = to_mxfp4(weight)
    assert (pairs.shape, pairs.nbytes + scale.nbytes) == ((4, 16), 4 * 32 * Precision.MXFP4.weight_bytes)
    assert scale.flatten().tolist() == [127, 124, 127, 128]
    found = from_levels(pairs, scale, levels, torch.float32)
    assert found[0, -3:].tolist() == [6.0, 3.0, 0.0]
    assert torch.equal(found[1], found[0] / 8)
    assert found[2, -2:].tolist() == [6.0, 1.0]


def test_nvfp4_has_a_scale_for_sixteen_and_one_for_all() -> None:
    weight = torch.randn(8, 64) * torch.logspace(-3, 3, 4).repeat_interleave(16)
    pairs, scale, levels = to_nvfp4(weight)
    assert pairs.nbytes + scale.nbytes == 8 * 64 * Precision.NVFP4.weight_bytes
    assert scale.dtype == torch.float8_e4m3fn
    groups = (from_levels(pairs, scale, levels, torch.float32) - weight).view(8, 4, 16)
    most = weight.view(8, 4, 16).abs().amax(-1)
    # Half of the widest step is a sixth of the largest, and a scale is off by a sixteenth.
    assert bool((groups.abs().amax(-1)[:, 2:] <= most[:, 2:] * (1 / 6 + 1 / 15)).all())


def test_zeros_stay_zeros() -> None:
    for quantise_zeros in (to_int8, to_fp8):
        quantised, scale = quantise_zeros(torch.zeros(4, 4))
        assert not bool(quantised.float().any())
        assert bool((scale > 0).all())


@pytest.mark.parametrize(("kind", "off"), [(int8, 0.02), (Fp8Linear, 0.05)])
def test_a_product_is_close_to_the_exact_one(kind: Make, off: float) -> None:
    linear = nn.Linear(64, 48, bias=False).to(torch.bfloat16)
    layer, x = kind(linear), torch.randn(2, 3, 64, dtype=torch.bfloat16)
    with torch.inference_mode():
        found = layer(x)
        assert found.dtype == torch.bfloat16
        assert found.shape == (2, 3, 48)
        difference = relative_difference(found, nn.functional.linear(x.float(), linear.weight.float()))
    assert 0 < difference < off
    assert layer.weight.element_size() == 1
    assert not list(layer.parameters())


@pytest.mark.parametrize(("precision", "kind"), [("int8", NarrowLinear), ("fp8", Fp8Linear)])
def test_all_linear_layers_but_the_head_are_replaced(precision: str, kind: type[nn.Module]) -> None:
    model = build_decoder(SHAPES["toy"], 8, torch.bfloat16, "cpu")
    quantise(model.layers, precision)  # type: ignore[arg-type]
    assert sum(isinstance(module, kind) for module in model.modules()) == 4 * SHAPES["toy"].layers
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    assert model.head_weight.dtype == torch.bfloat16


@pytest.mark.parametrize("kind", [int8, Fp8Linear])
def test_the_weights_given_are_let_go(kind: Make) -> None:
    linear = nn.Linear(64, 48, bias=False)
    given = weakref.ref(linear.weight.untyped_storage())
    layer = kind(linear)
    assert not layer.weight.requires_grad
    del linear
    assert given() is None


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (Precision.INT8, 0.02),
        (Precision.INT4, 0.22),
        (Precision.FP8, 0.06),
        (Precision.MXFP4, 0.35),
        (Precision.NVFP4, 0.3),
    ],
)
@pytest.mark.parametrize("tokens", [3, 2 * MAX_KERNEL_ROWS])
@torch.no_grad()
def test_experts_in_a_narrow_format(kind: Precision, most: float, tokens: int) -> None:
    """Of a few rows and of many: close to the wide ones, equal to themselves widened. Their inner width of
    100 is no multiple of a group."""
    shape = replace(SHAPES["toy-experts"], expert_inner=100, expert_biases=True)
    experts = Experts(shape)
    for parameter in experts.parameters():
        nn.init.normal_(parameter, std=0.1)
    x = torch.randn(1, tokens, shape.hidden)
    wanted = experts(x)
    quantise(experts, kind) if kind != Precision.FP8 else experts.narrows(kind)
    held = experts.gate_up
    assert isinstance(held, NarrowExperts)
    narrow = experts(x)
    assert 0 < relative_difference(narrow, wanted) < most
    for name in ("gate_up", "down"):
        wide = getattr(experts, name).wide(None, torch.float32)
        delattr(experts, name)
        setattr(experts, name, nn.Parameter(wide))
    torch.testing.assert_close(narrow, experts(x), rtol=1e-4, atol=1e-5)
    bits = 8 * sum(b.nbytes for b in held.buffers()) / (held.count * held.rows * held.width)
    assert bits == pytest.approx(
        {
            Precision.INT4: 4.19,
            Precision.INT8: 8.25,
            Precision.FP8: 8.25,
            Precision.MXFP4: 4.27,
            Precision.NVFP4: 4.52,
        }[kind],
        rel=0.02,
    )


def test_a_linear_layer_of_any_width_keeps_its_bias() -> None:
    linear = nn.Linear(100, 24)
    for kind, count in product(STORED, (1, 5)):
        narrow = NarrowLinear(linear, kind)
        x = torch.randn(count, 100)
        assert relative_difference(narrow(x), linear(x)) < 0.25
        wide = torch.nn.functional.linear(x, narrow.wide(torch.float32)[:, :100], linear.bias)
        torch.testing.assert_close(narrow(x), wide, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("precision", ["mxfp4", "nvfp4"])
def test_decoding_with_four_bit_floats_is_itself_widened(precision: str) -> None:
    """One row goes another way than the reference; what is stored is as the table of precisions says."""
    job = workloads.get("llm-1b-decode").build(toy("llm-1b-decode", "infer", Precision(precision)), 1)
    assert job.mismatch is not None
    assert job.mismatch() < 0.02
    assert Precision(precision) in workloads.get("llama-3.1-8b-prefill").spec.unpredicted
    assert Precision(precision) not in workloads.get("llama-3.1-8b-prefill").spec.precisions
