"""From spans to a profile: kernels that overlap, gaps, links; names of kernels; the profiler itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.measure.frameworks.torch.profile import (
    MOST_STEPS,
    NAME,
    NAMED,
    Span,
    kind,
    merged,
    profile,
    steps_for,
    summarise,
    total,
)


def span(name: str, start: float, end: float) -> Span:
    return Span(name, start, end, end - start)


def test_times_of_two_steps_are_those_of_one() -> None:
    found = summarise(
        [
            span("sm90_xmma_gemm_bf16", 0.0, 2.0),
            span("ncclDevKernel_AllReduce_Sum", 1.0, 3.0),  # a second of it hides behind the product
            span("vectorized_elementwise_kernel", 3.5, 4.0),
            span("Memcpy HtoD (Pinned -> Device)", 4.0, 4.5),
        ],
        steps=2,
        wall_s=10.0,
    )
    assert (found.wall_s, found.busy_s, found.link_s, found.longest_gap_s) == (5.0, 2.0, 0.75, 0.5)
    assert [(k.kind, k.count, k.seconds) for k in found.kernels] == [
        ("matmul", 0.5, 1.0),
        ("collective", 0.5, 1.0),
        ("pointwise", 0.5, 0.25),
        ("transfer", 0.5, 0.25),
    ]
    assert found.kernel_count == 2.0


def test_the_slowest_names_are_told_apart_from_their_kind() -> None:
    names = [f"gemm_{i}" for i in range(NAMED + 5)]
    spans = [span(name, i, i + 0.1 * (i + 1)) for i, name in enumerate(names)]
    found = summarise([*spans, span("gemm_0", 50, 60)], steps=2, wall_s=100.0)
    first, second, *_ = found.slowest
    assert (first.name, first.kind, first.count) == ("gemm_0", "matmul", 1.0)
    assert first.seconds == pytest.approx(10.1 / 2)
    assert second.name == names[-1]
    assert len(found.slowest) == NAMED
    assert found.kernels[0].name is None
    (long,) = summarise([span("x" * 500, 0, 1)], steps=1, wall_s=1.0).slowest
    assert long.name == "x" * NAME


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 10)), max_size=30))
def test_merged_ranges_cover_the_same_time_once(drawn: list[tuple[float, float]]) -> None:
    ranges = [(start, start + length) for start, length in drawn]
    found = merged(ranges)
    assert all(a[1] < b[0] for a, b in pairwise(found))
    assert total(found) <= sum(end - start for start, end in ranges) + 1e-9
    assert all(any(a <= start and end <= b for a, b in found) for start, end in ranges)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "matmul"),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x128x32", "matmul"),
        ("ampere_sgemm_128x64_nn", "matmul"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", "matmul"),
        ("triton_tem_fused_mm_3", "matmul"),
        ("sm90_xmma_fprop_implicit_gemm_bf16bf16", "convolution"),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_f16f16", "convolution"),
        ("cudnn::cnn::conv2d_grouped_direct_kernel", "convolution"),
        ("void cudnn::winograd_nonfused::winogradForwardData4x4", "convolution"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "attention"),
        ("void pytorch_flash::flash_bwd_kernel<...>", "attention"),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "attention"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>", "normalisation"),
        ("triton_red_fused__native_batch_norm_legit_functional_7", "normalisation"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel", "normalisation"),
        ("void (anonymous namespace)::softmax_warp_forward", "normalisation"),
        ("triton_poi_fused_add_convolution_relu_5", "pointwise"),
        ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel", "pointwise"),
        ("void at::native::vectorized_elementwise_kernel<4, ...>", "pointwise"),
        ("Memcpy DtoD (Device -> Device)", "copy"),
        ("void cudnn::ops::nchwToNhwcKernel<...>", "copy"),
        ("Memcpy HtoD (Pinned -> Device)", "transfer"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "collective"),
        ("_pull_queries", "attention"),
        ("_cast", "copy"),
        ("_gelu_pull", "pointwise"),
        ("_norm_backward", "normalisation"),
        ("aten::mkldnn_convolution", "convolution"),
        ("aten::addmm", "matmul"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::native_batch_norm", "normalisation"),
        ("aten::as_strided", "other"),
    ],
)
def test_kinds_of_kernels(name: str, expected: str) -> None:
    assert kind(name) == expected


def test_a_few_steps_at_least_one() -> None:
    assert [steps_for(s) for s in (30.0, 0.1, 1e-6)] == [1, 4, MOST_STEPS]


def test_the_profiler_sees_what_a_step_does() -> None:
    x = torch.randn(256, 256)
    found = profile(lambda: x @ x, 4, "cpu")
    assert found.steps == 4
    assert found.kernels[0].kind == "matmul"
    assert found.kernels[0].count >= 1
    assert 0 < found.busy_s <= found.wall_s


def test_a_step_that_does_nothing_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="saw no kernel"):
        profile(lambda: None, 1, "cpu")
    with pytest.raises(RuntimeError, match="saw no kernel"):
        summarise([Span("gemm", 1.0, 1.0, 0.0)], 1, 1.0)
