"""Classes of kernels: from the general to the special, and how far each was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpuwise.predictor import kernels as classes
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Kernel, KernelClass, Phase, arrays
from gpuwise.predictor.rates import usual
from gpuwise.predictor.step import kernel_seconds


def convolution(channels: int, groups: int, window: int = 3, name: str = "aten.convolution") -> Kernel:
    """Of 64 images of 28 x 28."""
    shape = (64, channels, 28, 28, channels, window, window, 1, groups, 28, 28)
    size = 2.0 * 64 * channels * 28 * 28
    flop = 2.0 * 64 * 28 * 28 * channels * channels / groups * window**2
    return Kernel(
        kind="convolution", name=name, dtype="bf16", shape=shape, flop=flop, bytes_read=size,
        bytes_written=size, phase="forward",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (convolution(256, 256), "convolution depthwise small"),
        (convolution(256, 256, 7), "convolution depthwise large"),
        (convolution(256, 32), "convolution grouped tiny"),
        (convolution(256, 4), "convolution grouped wide"),
        (convolution(128, 32), "convolution grouped least"),
        (convolution(528, 22), "convolution grouped uneven"),
        (convolution(200, 5), "convolution grouped uneven"),
        (convolution(160, 4), "convolution grouped uneven few"),
        (convolution(232, 2), "convolution grouped odd few"),
        (convolution(256, 16, 7), "convolution grouped narrow"),
        (convolution(256, 16, 9), "convolution grouped long"),
        (convolution(3, 1), "convolution picture"),
        (convolution(18, 1), "convolution odd"),
        (convolution(256, 1, 1), "convolution point"),
        (convolution(256, 1, 3, "aten.convolution:3d"), "convolution window 3d"),
        (convolution(9, 1, 7, "aten.convolution:3d"), "convolution picture 3d"),
        (convolution(690, 1, 3, "aten.convolution:3d"), "convolution odd 3d"),
    ],
)
def test_convolutions_fall_into_classes_by_their_shape(kernel: Kernel, expected: str) -> None:
    path = classes.path(kernel, compiled=False)
    assert path[0] == "convolution"
    assert path[1] == expected


@pytest.mark.parametrize(("channels", "groups", "handled"), [(528, 22, 2.0), (512, 16, 0.0), (528, 1, 0.0)])
def test_groups_of_no_power_of_two_are_rearranged_element_by_element(
    channels: int, groups: int, handled: float
) -> None:
    """A RegNet's groups of 24 took as long at any window: cuDNN fills them up, 11 ps an element."""
    (found,) = arrays([convolution(channels, groups)]).handled
    assert found == handled * 64 * channels * 28 * 28


def test_what_was_never_measured_is_as_its_kind_and_less_certain() -> None:
    table = classes.table()
    steps = ("pointwise", "pointwise no_such_operator", "pointwise no_such_operator half")
    assert classes.known(steps) == table["pointwise"]
    assert table["any"].spread > table["pointwise relu"].spread
    assert classes.known(("no_such_kind",)) == table["any"]


def test_every_class_is_physical() -> None:
    for found in classes.table().values():
        assert found.arithmetic > 0
        assert found.memory > 0.5
        assert found.spread > 0


def test_depthwise_convolutions_are_slower_than_their_operations() -> None:
    own = card("h200-sxm")
    depthwise, dense = kernel_seconds(arrays([convolution(256, 256), convolution(256, 1)]), own, usual(own))
    # 256 times fewer operations, and yet not 20 times quicker: vector units, and the same bytes.
    assert dense / depthwise < 20


def test_short_rows_of_a_norm_cost_as_much_as_longer_ones() -> None:
    base = Kernel(
        kind="normalisation", name="aten.native_layer_norm", dtype="bf16", shape=(200_704, 64), flop=1.0,
        bytes_read=200_704 * 64 * 2.0, bytes_written=200_704 * 64 * 2.0, phase="forward",
    )  # fmt: skip
    longer = replace(
        base, shape=(200_704, 128), bytes_read=2 * base.bytes_read, bytes_written=base.bytes_written
    )
    own = card("h200-sxm")
    short, long = kernel_seconds(arrays([base, longer]), own, usual(own))
    assert long < 1.3 * short


def test_a_sum_into_another_order_takes_as_long_for_each_result() -> None:
    """Profiles of two networks on an H200: 404 and 103 microseconds in 16 bits, whatever the bytes."""
    results = np.array([25.7e6, 6.42e6])
    sums = [
        Kernel(
            kind="reduction", name="aten.sum:columns:across", dtype="bf16", shape=(1, int(n)), flop=2.0 * n,
            bytes_read=4.0 * n, bytes_written=2.0 * n, phase="forward",
        )
        for n in results
    ]  # fmt: skip
    own = card("h200-sxm")
    assert kernel_seconds(arrays(sums), own, usual(own)) == pytest.approx([404e-6, 103e-6], rel=0.1)
    wide = [replace(each, dtype="fp32", bytes_read=8.0 * n) for each, n in zip(sums, results, strict=True)]
    assert kernel_seconds(arrays(wide), own, usual(own))[0] < 0.6 * 404e-6


def test_short_rows_of_a_table_take_as_long_as_longer_ones() -> None:
    def taken(width: int, dtype: str = "bf16") -> float:
        size = 1e6 * width * 2.0
        kernel = Kernel(
            kind="gather", name="aten.embedding", dtype=dtype, shape=(1_000_000, width), flop=0.0,
            bytes_read=size, bytes_written=size, phase="forward",
        )  # fmt: skip
        return float(arrays([kernel]).handled[0])

    assert taken(16) == taken(512) == taken(1024) / 2
    assert taken(4) < taken(16)  # not read by whole loads


@pytest.mark.parametrize(
    ("name", "kind", "generated"),
    [("aten.topk", "reduction", False), ("aten.sum", "reduction", True),
     ("aten._embedding_bag", "gather", False), ("aten.embedding", "gather", True)],
)  # fmt: skip
def test_what_is_not_generated_is_as_in_eager_mode(name: str, kind: KernelClass, generated: bool) -> None:
    kernel = replace(convolution(64, 1), kind=kind, name=name)
    eager, compiled = (classes.path(kernel, compiled=how) for how in (False, True))
    assert (compiled[0] == "compiled") == generated
    assert (eager == compiled) != generated


@pytest.mark.parametrize(
    ("name", "kind", "shape", "passed", "found"),
    [
        ("aten.native_batch_norm:infer+relu_", "normalisation", (8, 64, 56, 56), "forward", "map many"),
        ("aten.native_batch_norm:apply+relu_", "normalisation", (8, 64, 56, 56), "forward", "map"),
        ("aten.native_batch_norm:statistics", "normalisation", (8, 64, 56, 56), "forward", "columns norm"),
        ("aten.native_batch_norm:infer+mean", "normalisation", (8, 64, 7, 7), "forward", "columns many"),
        ("aten.add+native_layer_norm", "normalisation", (8, 197, 768), "forward", "rows"),
        ("aten.gelu", "pointwise", (8, 197, 768), "forward", "map many"),
        ("aten.gelu_backward+sum:columns", "reduction", (8, 197, 768), "backward", "columns many"),
        ("aten.add_+relu_", "pointwise", (8, 64, 56, 56), "forward", "map"),
        ("aten.max_pool2d_with_indices", "reduction", (8, 64, 56, 56), "forward", "window"),
        ("aten._to_copy", "copy", (768, 768), "forward", "copy"),
        ("aten.embedding", "gather", (8, 197, 768), "forward", "gather"),
    ],
)
def test_generated_code_falls_into_classes_by_how_it_goes_through_its_elements(
    name: str, kind: KernelClass, shape: tuple[int, ...], passed: Phase, found: str
) -> None:
    kernel = replace(convolution(64, 1), kind=kind, name=name, shape=shape, phase=passed)
    assert classes.path(kernel, compiled=True)[-1] == f"compiled {found}"


@pytest.mark.parametrize(
    ("name", "read", "written", "measured_us"),
    # Of profiles of an H200: GELU of a ViT, frozen norms of a feature pyramid, batch norms of an FBNet.
    [("aten.gelu", 1, 1, 76.3), ("aten.mul+add+add_+relu_", 2, 1, 72.6),
     ("aten.native_batch_norm:infer+hardswish_", 1, 1, 76.1)],
)  # fmt: skip
def test_generated_code_is_bound_by_bytes_or_by_instructions(
    name: str, read: int, written: int, measured_us: float
) -> None:
    elements = 128 * 196 * 2048
    kernel = replace(
        convolution(64, 1), kind="pointwise", name=name, shape=(128, 196, 2048), flop=0.0,
        bytes_read=2.0 * elements * read, bytes_written=2.0 * elements * written,
    )  # fmt: skip
    h200 = card("h200-sxm")
    seconds = float(kernel_seconds(arrays([kernel], compiled=True), h200, usual(h200))[0])
    assert 0.8 < seconds * 1e6 / measured_us < 1.25


@pytest.mark.parametrize(
    ("side", "channels", "measured_us"),
    # Of 8 images on an H200: 392 rows, one block down 1,568 of them, several down 6,272 and 25,088.
    [(7, 512, 14.0), (14, 512, 32.8), (28, 256, 14.6), (56, 128, 18.0)],
)
def test_few_rows_of_a_batch_norm_are_summed_by_one_block(
    side: int, channels: int, measured_us: float
) -> None:
    size = 2.0 * 8 * channels * side**2
    sums = replace(
        convolution(64, 1), kind="normalisation", name="aten.native_batch_norm:statistics", flop=0.0,
        shape=(8, channels, side, side), bytes_read=size, bytes_written=8.0 * channels,
    )  # fmt: skip
    apply = replace(sums, name="aten.native_batch_norm:apply", bytes_written=size)
    h200 = card("h200-sxm")
    seconds = float(kernel_seconds(arrays([sums, apply]), h200, usual(h200)).sum())
    assert 0.8 < seconds * 1e6 / measured_us < 1.25
