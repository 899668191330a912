"""Names of kernels as people read them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.model.result import KernelTime, Profile
from gpuwise.show.results import LETTERS, called, details, slowest

from .conftest import OK

NATIVE, ANY = "void at::native::", "(anonymous namespace)::"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sm90_xmma_fprop_implicit_gemm_f16f16_nhwckrsc", "sm90_xmma_fprop_implicit_gemm_f16f16_nhwckrsc"),
        ("void cudnn::bn_fw_tr_1C11_specialized<512, 1, 2, 0>(float*)", "cudnn::bn_fw_tr_1C11_specialized"),
        (f"{NATIVE}vectorized_elementwise_kernel<4, at::native::lambda>", "vectorized_elementwise_kernel"),
        (
            f"{NATIVE}elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::{ANY}"
            "threshold_kernel_impl<c10::Half>(at::TensorIteratorBase&)::{lambda()#1}>",
            "threshold_kernel_impl",
        ),
        (
            f"{NATIVE}vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
            "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>)",
            "CUDAFunctor_add",
        ),
        (f"{NATIVE}{ANY}avg_pool2d_backward_nhwc<c10::Half, float, int>()", "avg_pool2d_backward_nhwc"),
        ("x" * 100, "x" * (LETTERS - 1) + "…"),
    ],
)
def test_a_name_is_told_without_what_surrounds_it(name: str, told: str) -> None:
    assert called(name) == told


def test_shares_are_of_all_kernel_time() -> None:
    times = (
        KernelTime(kind="matmul", count=4.0, seconds=0.3),
        KernelTime(kind="copy", count=1.0, seconds=0.1),
    )
    profile = Profile(
        steps=1, wall_s=0.5, busy_s=0.4, link_s=0.0, longest_gap_s=0.0, kernels=times,
        slowest=(replace(times[0], name="gemm", seconds=0.2, count=3.0), replace(times[1], name="Memset")),
    )  # fmt: skip
    assert slowest(replace(OK, profile=profile), 5) == "50 % gemm x 3, 25 % Memset"
    on_a_cpu = replace(OK, profile=profile, config=replace(OK.config, device="cpu"))
    assert details(on_a_cpu)[-1].startswith("slowest operators: 50 %")
    assert slowest(replace(OK, profile=replace(profile, slowest=())), 5) == ""
    assert slowest(replace(OK, profile=None), 5) == ""
