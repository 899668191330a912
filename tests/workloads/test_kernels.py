"""The kernels of gpuwise against torch: on a GPU, else in Triton's interpreter where Triton is installed.

`pip install triton` is all that a CPU needs for it.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
if find_spec("triton") is None:
    pytest.skip("needs triton", allow_module_level=True)

from gpuwise.model.precision import Precision  # noqa: E402
from gpuwise.workloads.job import relative_difference  # noqa: E402
from gpuwise.workloads.kernels import attention, casting, decode, gelu, images, residual  # noqa: E402
from gpuwise.workloads.models import convnet, decoder, float8, quantized  # noqa: E402

from .conftest import SHAPES  # noqa: E402

WINDOWS: list[dict[str, Any]] = [
    {"kernel_size": 3, "stride": 2, "padding": 1},  # ResNet's
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},  # GoogLeNet's
    {"kernel_size": 3, "stride": 1, "padding": 1, "ceil_mode": True},
    {"kernel_size": 2, "stride": 2, "ceil_mode": True},
    {"kernel_size": 3, "stride": 2},  # Inception's
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("side", [7, 8, 13])
def test_max_pooling_is_torchs(window: dict[str, Any], side: int) -> None:
    """Values to the last bit, gradients too where equals decide (half of the input is zeros)."""
    plain = nn.MaxPool2d(**window)
    own = images.TritonMaxPool(plain)
    x = torch.randn(2, 40, side, side + 1, device=DEVICE).relu()
    x = x.to(memory_format=torch.channels_last).requires_grad_()
    wanted, found = plain(x), own(x)
    assert torch.equal(found, wanted)
    assert found.is_contiguous(memory_format=torch.channels_last)
    pull = torch.randn_like(wanted)
    gradients = [torch.autograd.grad(y, x, pull)[0] for y in (wanted, found)]
    torch.testing.assert_close(gradients[1], gradients[0])


def test_a_nan_is_the_largest() -> None:
    x = torch.zeros(1, 8, 4, 4, device=DEVICE)
    x[0, 0, 1, 1] = float("nan")
    found = images.TritonMaxPool(nn.MaxPool2d(2, 2))(x)
    assert bool(found[0, 0, 0, 0].isnan())
    assert int(found.isnan().sum()) == 1


def test_only_poolings_that_it_can_do_are_replaced() -> None:
    model = nn.Sequential(
        nn.MaxPool2d(3, 2), nn.MaxPool2d(3, 3), nn.MaxPool2d(3, 2, dilation=2), nn.AvgPool2d(2)
    )
    images.arrange_pooling(model)
    assert [type(m).__name__ for m in model] == ["TritonMaxPool", "MaxPool2d", "MaxPool2d", "AvgPool2d"]


def random_norm(channels: int) -> nn.BatchNorm2d:
    norm = nn.BatchNorm2d(channels, device=DEVICE)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.uniform_(norm.bias, -0.5, 0.5)
    return norm


@pytest.mark.parametrize("behind", ["alone", "shortcut", "shortcut with a norm"])
@pytest.mark.parametrize(
    ("channels", "dtype"), [(64, torch.float32), (40, torch.float32), (256, torch.float16)]
)
def test_batch_norms_are_torchs(behind: str, channels: int, dtype: torch.dtype) -> None:
    """Values, gradients and running statistics."""
    torch.manual_seed(3)
    norms = [random_norm(channels) for _ in range(2 if behind == "shortcut with a norm" else 1)]
    plain = deepcopy(norms)
    x, short = (
        (torch.randn(3, channels, 7, 5, device=DEVICE) + 1)
        .to(dtype, memory_format=torch.channels_last)
        .requires_grad_()
        for _ in range(2)
    )
    inputs = [x] if behind == "alone" else [x, short]
    inputs += [parameter for norm in norms for parameter in norm.parameters()]
    exact = [each.detach().double().requires_grad_() for each in inputs]
    for norm in plain:
        norm.double()
    wanted = plain[0](exact[0])
    if behind == "alone":
        outputs = [images.norm_relu(x, norms[0])]
    else:
        outputs = list(images.norm_join(x, norms[0], short, norms[1] if len(norms) > 1 else None))
        wanted = wanted + (plain[1](exact[1]) if len(norms) > 1 else exact[1])
    wanted = wanted.relu()
    off = 1e-3 if dtype == torch.float16 else 2e-5
    assert all(relative_difference(z, wanted) < off for z in outputs)
    pulls = [torch.randn_like(outputs[0]) for _ in outputs]
    found = torch.autograd.grad(outputs, inputs, pulls)
    parameters = [parameter for norm in plain for parameter in norm.parameters()]
    leaves = exact[: len(inputs) - len(parameters)] + parameters
    pull = torch.stack(pulls).double().sum(0)
    for here, there in zip(found, torch.autograd.grad(wanted, leaves, pull), strict=True):
        assert relative_difference(here, there) < off
    for norm, other in zip(norms, plain, strict=True):
        for here, there in zip(norm.buffers(), other.buffers(), strict=True):
            assert relative_difference(here, there) < 1e-4


def test_the_statistics_of_a_mean_far_from_zero_do_not_cancel() -> None:
    x = (torch.randn(4, 16, 9, 9, device=DEVICE) + 1000).to(memory_format=torch.channels_last)
    *_, mean, inverse = images.statistics(x, random_norm(16))
    assert relative_difference(mean, x.double().mean((0, 2, 3))) < 1e-6
    assert relative_difference(inverse, x.double().var((0, 2, 3), correction=0).rsqrt()) < 1e-4


def test_a_resnet_by_the_kernels_is_torchs() -> None:
    torch.manual_seed(5)
    model = convnet.ResNet((2, 1), 8, 16).to(DEVICE, memory_format=torch.channels_last)  # type: ignore[call-overload]
    other = deepcopy(model)
    model.kernels = True
    x = torch.randn(2, 3, 32, 32, device=DEVICE).to(memory_format=torch.channels_last)
    for each in (model, other):
        each(x).square().sum().backward()
    for here, there in zip(model.parameters(), other.parameters(), strict=True):
        assert here.grad is not None
        assert there.grad is not None
        assert relative_difference(here.grad, there.grad) < (2e-2 if ON_GPU else 1e-4)


@pytest.mark.parametrize("shape", [(128, 256), (144, 80)])
def test_the_cast_is_torchs(shape: tuple[int, int]) -> None:
    x, largest = 3 * torch.randn(shape, device=DEVICE).bfloat16(), torch.tensor(5.0, device=DEVICE)
    found = casting.cast_both(x, largest, float8.LARGEST, True)
    wanted = float8.cast_in_torch(x, largest, sums=True)
    assert torch.equal(found[1].float(), found[0].float().t())
    # Triton's interpreter loses the carry where rounding reaches the next power of two.
    alike = (found[0].float() == wanted[0].float()).float().mean()
    assert alike > (0.999 if ON_GPU else 0.9)
    torch.testing.assert_close(found[2], wanted[2])
    torch.testing.assert_close(found[3], wanted[3], rtol=1e-4, atol=1e-3)  # summed in another order


@pytest.mark.parametrize("shape", [(128, 256), (144, 80)])
def test_gelu_and_its_gradient_are_cast_as_torch_does(shape: tuple[int, int]) -> None:
    x, dy = (torch.randn(shape, device=DEVICE).bfloat16() for _ in range(2))
    bias, largest = torch.randn(shape[1], device=DEVICE), torch.tensor(4.0, device=DEVICE)
    u = (x.float() + bias).requires_grad_()
    y = nn.functional.gelu(u)
    (slope,) = torch.autograd.grad(y, u, dy.float())
    wanted = (
        float8.cast_in_torch(y.detach(), largest)[:3],
        float8.cast_in_torch(slope, largest, sums=True),
    )
    found = (
        casting.gelu_cast(x, bias, largest, float8.LARGEST),
        casting.gelu_cast_backward(dy, x, bias, largest, float8.LARGEST),
    )
    for right, own in zip(wanted, found, strict=True):
        assert torch.equal(own[1].float(), own[0].float().t())
        assert (own[0].float() == right[0].float()).float().mean() > (0.99 if ON_GPU else 0.9)
        torch.testing.assert_close(own[2], right[2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found[1][3], wanted[1][3], rtol=1e-4, atol=1e-3)


def arguments(rows: int, n: int) -> tuple[torch.Tensor, ...]:
    """x (M, N), its bias, the residual, the norm's weight and shift."""
    sizes = ((rows, n), (n,), (rows, n), (n,), (n,))
    return tuple(torch.randn(size, device=DEVICE).requires_grad_() for size in sizes)


def kept(rows: int, n: int, seed: int, share: float) -> torch.Tensor:
    """Which values dropout keeps: h of ones without a residual."""
    ones, flat = torch.ones(rows, n, device=DEVICE), torch.ones(n, device=DEVICE)
    empty = torch.zeros_like(flat)
    key = torch.tensor(seed, device=DEVICE)
    h = residual._norm(ones, empty, torch.zeros_like(ones), flat, empty, key, share, 1e-12)[1]
    return h != 0


def by_torch(args: tuple[torch.Tensor, ...], mask: torch.Tensor, share: float) -> torch.Tensor:
    x, bias, plus, weight, shift = args
    dropped = mask * (x + bias) / (1 - round(share * residual.LEVELS) / residual.LEVELS)
    return nn.functional.layer_norm(plus + dropped, weight.shape, weight, shift, 1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("rows", [1, 9])
def test_drop_add_norm_and_its_gradients_are_torchs(rows: int, share: float) -> None:
    torch.manual_seed(0)
    args = arguments(rows, 48)
    norm = nn.LayerNorm(48, eps=1e-12, device=DEVICE)
    norm.weight, norm.bias = (nn.Parameter(t.detach()) for t in args[3:])
    args = (*args[:3], norm.weight, norm.bias)
    found = residual.drop_add_norm(args[0], args[1], args[2], norm, torch.tensor(7, device=DEVICE), share)
    wanted = by_torch(args, kept(rows, 48, 7, share), share)
    for each in found:
        torch.testing.assert_close(each, wanted)
    pulls = torch.randn_like(wanted), torch.randn_like(wanted)
    gradients = (
        torch.autograd.grad(found, args, pulls),
        torch.autograd.grad(wanted, args, pulls[0] + pulls[1]),
    )
    for here, there in zip(*gradients, strict=True):
        torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)


def test_dropout_drops_its_share_and_follows_the_seed() -> None:
    share = 0.1
    mask = kept(600, 64, 1, share)
    # 38,400 draws: five standard deviations are 0.0077.
    assert abs(float((~mask).float().mean()) - share) < 0.0077
    assert torch.equal(mask, kept(600, 64, 1, share))
    assert not torch.equal(mask, kept(600, 64, 2, share))
    assert not torch.equal(mask[0], mask[1])
    places = mask.view(600, 8, 8).float().mean((0, 1))  # every place of a draw is as likely
    assert float((places - (1 - share)).abs().max()) < 5 * (0.09 / 4800) ** 0.5
    assert bool(kept(3, 64, 1, 0.0).all())


def test_bias_gelu_and_its_gradients_are_torchs() -> None:
    x = torch.linspace(-9, 9, 5 * 40, device=DEVICE).view(5, 40).requires_grad_()
    bias = torch.randn(40, device=DEVICE, requires_grad=True)
    found, wanted = gelu.bias_gelu(x, bias), nn.functional.gelu(x + bias)
    torch.testing.assert_close(found, wanted)
    pull = torch.randn_like(wanted)
    gradients = [torch.autograd.grad(y, (x, bias), pull) for y in (found, wanted)]
    for here, there in zip(*gradients, strict=True):
        torch.testing.assert_close(here, there)


HALF = torch.bfloat16 if ON_GPU else torch.float16  # the interpreter has no products in bf16
FLOATS = (Precision.MXFP4, Precision.NVFP4)
NARROW = (Precision.INT8, Precision.INT4, Precision.FP8, *FLOATS)
LAYERS: dict[str | None, Any] = {
    "int8": lambda linear: quantized.NarrowLinear(linear, Precision.INT8),
    "int4": lambda linear: quantized.NarrowLinear(linear, Precision.INT4),
    "fp8": quantized.Fp8Linear,
    None: lambda linear: linear,
}


def wide(layer: Any) -> torch.Tensor:
    """The weights in fp64 that a layer stores."""
    if isinstance(layer, quantized.NarrowLinear):
        return layer.wide(torch.float64)
    return layer.weight.double() * (layer.scale if isinstance(layer, quantized.Fp8Linear) else 1.0)


@pytest.mark.parametrize("form", list(LAYERS))
@pytest.mark.parametrize("rows", [1, 5])
def test_a_product_with_all_around_it_is_that_of_the_widened_weights(form: str | None, rows: int) -> None:
    """384 inputs do not fill a block, 40 outputs not the last program."""
    linear = nn.Linear(384, 40, bias=False, device=DEVICE, dtype=HALF)
    layer = LAYERS[form](linear)
    x, norm = torch.randn(rows, 384, device=DEVICE, dtype=HALF), torch.rand(384, device=DEVICE, dtype=HALF)
    residual = torch.randn(rows, 40, device=DEVICE, dtype=HALF)
    normed = nn.functional.rms_norm(x.double(), (384,), norm.double(), 1e-5)
    plain, whole = x.double() @ wide(layer).t(), normed @ wide(layer).t()
    gate, up = whole.chunk(2, -1)
    how: dict[str, Any] = {"norm": norm, "eps": 1e-5}
    for found, wanted in (
        (decode.product(x, *decoder.stored(layer), residual=residual), plain + residual.double()),
        (decode.product(x, *decoder.stored(layer), **how), whole),
        (decode.product(x, *decoder.stored(layer), gated=True, **how), nn.functional.silu(gate) * up),
    ):
        assert found.dtype == HALF
        assert relative_difference(found, wanted) < (1e-2 if ON_GPU else 1e-3)


@pytest.mark.parametrize(("inputs", "outputs"), [(128, 1), (640, 7), (2176, 18)])
@pytest.mark.parametrize("form", [None, *NARROW])
def test_one_row_is_multiplied_as_in_fp64(form: Precision | None, inputs: int, outputs: int) -> None:
    """Fewer outputs than programs, ranges that end within a tile, inputs that fill no block; large inputs
    beside small ones, and rows of zeros."""
    linear = nn.Linear(inputs, 2 * outputs, bias=False, device=DEVICE, dtype=HALF).requires_grad_(False)
    if outputs > 1:  # Of no other than zeros nothing can be off by a share.
        linear.weight[0] = 0
    layer = linear if form is None else LAYERS.get(form, lambda x: quantized.NarrowLinear(x, form))(linear)
    x = torch.randn(1, inputs, device=DEVICE, dtype=HALF) * torch.logspace(-3, 1, inputs, device=DEVICE)
    x, norm = x.to(HALF), torch.rand(inputs, device=DEVICE, dtype=HALF)
    residual = torch.randn(1, 2 * outputs, device=DEVICE, dtype=HALF)
    normed = nn.functional.rms_norm(x.double(), (inputs,), norm.double(), 1e-5)
    gate, up = (normed @ wide(layer).t()).chunk(2, -1)
    decode.doubts.clear()
    for changes, wanted in (
        ({"residual": residual}, x.double() @ wide(layer).t() + residual.double()),
        ({"norm": norm, "eps": 1e-5, "gated": True}, nn.functional.silu(gate) * up),
    ):
        for _ in range(2):  # the first call is compared with torch
            found = decode.product(x, *decoder.stored(layer), **changes)
            off = (found.double() - wanted).abs() / (wanted.abs() + wanted.abs().mean() + 1e-6)
            assert float(off.max()) < (1e-2 if ON_GPU else 2e-3)
    assert set(decode.doubts.values()) == {""}


@pytest.mark.parametrize("form", [None, *NARROW])
def test_a_kernel_that_is_wrong_or_fails_is_not_used(
    form: Precision | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    linear = nn.Linear(384, 40, bias=False, device=DEVICE, dtype=HALF).requires_grad_(False)
    layer = linear if form is None else LAYERS.get(form, lambda x: quantized.NarrowLinear(x, form))(linear)
    x = torch.randn(1, 384, device=DEVICE, dtype=HALF)

    def one_row_wrong(*args: Any, gated: bool) -> None:
        args[-1].copy_(x.double() @ wide(layer).t())
        args[-1][0, 3] += 1

    def failing(*args: Any, gated: bool) -> None:
        raise RuntimeError("out of registers")

    for instead in (one_row_wrong, failing):
        decode.doubts.clear()
        monkeypatch.setattr(decode, "stream", instead)
        for _ in range(2):
            found = decode.product(x, *decoder.stored(layer))
            assert relative_difference(found, x.double() @ wide(layer).t()) < (1e-2 if ON_GPU else 1e-3)
        assert all(decode.doubts.values())
    decode.doubts.clear()


@pytest.mark.parametrize("form", NARROW)
def test_rows_are_multiplied_by_the_weights_of_their_experts(form: Precision) -> None:
    """More rows than the interpreter has programs; an expert that two rows choose, and one that none does."""
    weights = torch.randn(4, 18, 384, device=DEVICE, dtype=HALF) / 20
    weights[1] *= 30
    held = quantized.NarrowExperts(weights, form)
    x, whose = torch.randn(5, 384, device=DEVICE, dtype=HALF), torch.tensor([3, 0, 1, 3, 0], device=DEVICE)
    wanted = torch.einsum("mk,mnk->mn", x.double(), held.wide(whose, torch.float64))
    decode.doubts.clear()
    for _ in range(2):  # the first call is compared with torch
        found = decode.narrow_experts(x, held.weight, held.scale, held.zero, whose, form)
        off = (found.double() - wanted).abs() / (wanted.abs() + wanted.abs().mean())
        assert float(off.max()) < (1e-2 if ON_GPU else 2e-3)
    assert list(decode.doubts.values()) == [""]
    with mock.patch.object(decode, "stream", lambda *args, **how: args[-1].zero_()):
        decode.doubts.clear()
        instead = decode.narrow_experts(x, held.weight, held.scale, held.zero, whose, form)
        assert relative_difference(instead, wanted) < (1e-2 if ON_GPU else 1e-3)
        assert all(decode.doubts.values())
    decode.doubts.clear()


@pytest.mark.parametrize("sizes", [(2, 4, 2, 200, 150), (1, 2, 2, 32, 5)])
def test_attention_over_a_cache_writes_its_row_and_reads_all(sizes: tuple[int, ...]) -> None:
    batch, heads, shared, tokens, place = sizes
    size = 32
    keys, values = (torch.randn(batch, shared, tokens, size, device=DEVICE, dtype=HALF) for _ in range(2))
    qkv = torch.randn(batch, (heads + 2 * shared) * size, device=DEVICE, dtype=HALF)
    angles = torch.outer(torch.arange(tokens + 3.0), 10.0 ** -torch.arange(0, 1, 2 / size)).to(DEVICE)
    table = torch.stack((angles.cos(), angles.sin()))
    parts = torch.split(qkv.float(), [heads * size, shared * size, shared * size], -1)
    query, key, value = (part.view(batch, 1, -1, size).transpose(1, 2) for part in parts)
    here = table[:, place : place + 1]
    query, key = decoder.rotate(query, here), decoder.rotate(key, here)
    all_keys, all_values = keys.float(), values.float()
    all_keys[:, :, place], all_values[:, :, place] = key[:, :, 0], value[:, :, 0]
    full_keys, full_values = (x.repeat_interleave(heads // shared, 1) for x in (all_keys, all_values))
    wanted = nn.functional.scaled_dot_product_attention(query, full_keys, full_values).reshape(batch, -1)
    found = decode.attend(qkv, keys, values, table, torch.tensor([place], device=DEVICE), heads)
    assert relative_difference(found, wanted) < (1e-2 if ON_GPU else 1e-3)
    assert relative_difference(keys, all_keys) < 1e-2
    assert relative_difference(values, all_values) < 1e-2


@pytest.mark.parametrize("form", [None, *NARROW])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_fused_step_is_the_plain_one(form: Precision | None, batch: int) -> None:
    """FP8 rounds the activations of the plain way, too, and gpuwise's kernels do not."""
    shape = replace(SHAPES["toy"], inner=384, layers=3, dense_layers=3, full=(True,) * 3)
    model = decoder.build_decoder(shape, 200, HALF, DEVICE)
    if form is not None:
        quantized.quantise(model.layers, form)
    cache = decoder.Cache(shape, batch, 200, model.table)
    tokens = torch.tensor([[3], [7]][:batch], device=DEVICE)
    position = torch.tensor([120], device=DEVICE)
    if form in FLOATS and batch > 1:
        return
    with torch.inference_mode(), mock.patch.object(quantized.Narrow, "plain", True):
        wanted = decoder.Decode(model, cache)(tokens, position)
        network = decoder.FusedDecode(model, cache)
        limit = 2e-2 if ON_GPU or form == Precision.FP8 else 2e-3
        assert relative_difference(network(tokens, position), wanted) < limit


@pytest.mark.parametrize("inner", [384, 7168])  # one that is prepared within a phase, and one over two
def test_phases_of_a_whole_step_say_whose_results_they_take(inner: int) -> None:
    """Each product takes the phase before, adds what entered its half of the layer, and tiles go round."""
    shape = replace(SHAPES["toy"], hidden=256, inner=inner, layers=2, dense_layers=2, full=(True,) * 2)
    model = decoder.build_decoder(shape, 256, HALF, "cpu", Precision.INT4)
    cache = decoder.Cache(shape, 1, 256, model.table)
    parts = (model.embedding.weight, model.table, model.layers, cache.layers())
    kernel, card = mock.Mock(), mock.Mock(multi_processor_count=7)
    with (
        mock.patch.object(decode, "_tensor_map", return_value=torch.zeros(128, dtype=torch.uint8)),
        mock.patch.object(decode, "_compiled", return_value=kernel),
        mock.patch.object(torch.cuda, "get_device_properties", return_value=card),
    ):
        step = decode.WholeStep(*parts, (model.head_weight, model.norm.weight), 1e-5)
    rows = step.phases.tolist()
    assert [row[0] for row in rows] == [3, 6, 3, 3, 3] * 2 + [0]  # int4, attention; the head in 16 bits
    source = Path(decode.__file__).with_name("step.cu").read_text(encoding="utf-8")
    fields = source.partition("struct Phase {")[2].partition("__device__")[0]
    declared = [line.partition(";")[0].split(",") for line in fields.splitlines() if ";" in line]
    names = tuple(re.findall(r"\w+", each)[-1] for line in declared for each in line)
    assert names == decode.PHASE
    assert {len(row) for row in rows} == {len(names)}  # 64 bits each
    assert [row[16] for row in rows] == list(range(-1, 10))
    assert [row[17] for row in rows] == [-1, -1, -1, -1, 2, -1, -1, 4, -1, 7, -1]
    assert [row[15] for row in rows[:2]] == [0, -(-len(model.layers[0].attention.qkv.weight) // 16) % 7]
    # An input is written while slower warps still read the one before: these have other places.
    ends = [row[20] + row[2] * (2 if row[0] else 4) for row in rows]
    products = [i for i, row in enumerate(rows[1:], 1) if 6 not in (row[0], rows[i - 1][0])]
    assert len(products) == 6
    assert all(rows[i][20] >= ends[i - 1] or rows[i - 1][20] >= ends[i] for i in products)
    assert min(row[20] for row in rows) == step.stages * (decode.STAGE + 768)
    assert max(ends) <= step.bytes
    assert step.stages == decode.STAGES
    assert 0 < step.in_flight <= step.stages - 7  # what a team may run ahead in a ring
    assert step.bytes <= decode.SHARED
    logits = step(torch.tensor([[3]]), torch.tensor([5]))
    assert logits.shape == (1, shape.vocabulary)
    assert kernel.call_args.args[0] == (7, 1, 1)


def refuses(*args: Any, **how: Any) -> Any:
    raise OSError("libnvrtc.so: cannot open shared object file")


class Step:
    """In place of `WholeStep`: logits `off` by that share."""

    def __init__(self, off: float) -> None:
        self.off = off

    def __call__(self, *made: Any) -> Any:
        return lambda *at: torch.ones(1, 8) * (1 + self.off)


@pytest.mark.parametrize(
    ("changes", "used", "reason"),
    [
        ({"WholeStep": Step(0.01)}, True, ""),
        ({"WholeStep": Step(0.5)}, False, "the whole step is 0.5 off"),
        ({"WholeStep": Step(float("nan"))}, False, "the whole step is nan off"),
        ({"_tensor_map": refuses}, False, "OSError: libnvrtc.so: cannot open shared object file"),
        ({"_compiled": refuses}, False, "OSError: libnvrtc.so: cannot open shared object file"),
        ({"torch": "_compile_kernel"}, False, "AttributeError: "),
        ({"capability": (10, 0)}, False, None),
        ({"capability": (8, 0)}, False, None),
        ({"EARLY": False}, False, None),  # another maker's GPU, or an older Triton
        ({"AS_ONE": frozenset()}, False, None),
    ],
)
def test_where_a_whole_step_cannot_run_layers_do_and_the_reason_is_kept(
    changes: dict[str, Any], used: bool, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a GPU that it was not written for there is nothing to report (None)."""
    shape = replace(
        SHAPES["toy"], hidden=2048, heads=16, kv_heads=2, head_size=128, value_size=128, inner=2048,
        layers=1, dense_layers=1, full=(True,),
    )  # fmt: skip
    model = decoder.build_decoder(shape, 128, torch.bfloat16, "cpu", Precision.INT8)
    network = decoder.FusedDecode(model, decoder.Cache(shape, 1, 128, model.table))
    layers = mock.Mock(return_value=torch.ones(1, 8))
    card = mock.Mock(multi_processor_count=132)
    monkeypatch.setattr(network, "by_layers", layers)
    monkeypatch.setattr(decode, "doubts", {})
    monkeypatch.setattr(decode, "early", lambda x: {"EARLY": changes.get("EARLY", True)})
    monkeypatch.setattr(decode, "_tensor_map", lambda *args: torch.zeros(128, dtype=torch.uint8))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda x: changes.get("capability", (9, 0)))
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    for name in {"WholeStep", "_tensor_map", "_compiled", "AS_ONE"} & set(changes):
        monkeypatch.setattr(decode, name, changes[name])
    if "torch" in changes:
        monkeypatch.delattr(torch.cuda, changes["torch"])
    tokens, position = torch.tensor([[3]]), torch.tensor([5])
    for _ in range(2):
        assert network(tokens, position).shape == (1, 8)
    assert (network.whole is not None) == used
    assert len(decode.doubts) == (reason is not None)
    assert all(why.startswith(str(reason)) and bool(why) != used for why in decode.doubts.values())
    calls = layers.call_count
    network(tokens, position)
    assert layers.call_count == calls + (not used)


def of_whole_steps(form: Precision, layers: int) -> decoder.FusedDecode:
    """A network of the shapes of Llama 3.1 8B with a cache of 384 places."""
    shape = replace(
        SHAPES["toy"], hidden=4096, heads=32, kv_heads=8, head_size=128, value_size=128, inner=14336,
        layers=layers, dense_layers=layers, full=(True,) * layers,
    )  # fmt: skip
    model = decoder.build_decoder(shape, 384, HALF, DEVICE, form)
    return decoder.FusedDecode(model, decoder.Cache(shape, 1, 384, model.table))


needs_gpu = pytest.mark.skipif(not ON_GPU, reason="blocks wait for each other, so all must run at once")


@needs_gpu
@pytest.mark.parametrize("form", sorted(decode.AS_ONE))
def test_a_step_as_one_kernel_is_that_by_layers(form: Precision) -> None:
    tokens, network = torch.tensor([[3]], device=DEVICE), of_whole_steps(form, 2)
    with torch.inference_mode():
        for place in (383, 0, 130):
            position = torch.tensor([place], device=DEVICE)
            wanted = network.by_layers(tokens, position).clone()
            assert relative_difference(network(tokens, position), wanted) < 2e-2
        assert (network.whole is not None) == (torch.cuda.get_device_capability()[0] == 9)
        for place, after in ((382, 383), (383, 320), (0, 1)) if network.whole is not None else ():
            chosen, position = tokens.clone(), torch.tensor([place], device=DEVICE)
            logits = network.whole(chosen, position, 384, 64)
            assert int(position) == after
            assert int(chosen) == int((logits[0] == logits.max()).nonzero()[0])


@needs_gpu
@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(decode.AS_ONE))
def test_a_step_as_one_kernel_gives_the_same_bits_each_time(form: Precision) -> None:
    """A block that reads what another has not yet written shows in one of some hundred steps."""
    tokens, network = torch.tensor([[3]], device=DEVICE), of_whole_steps(form, 32)
    with torch.inference_mode():
        network(tokens, torch.tensor([200], device=DEVICE))
        assert network.whole is not None
        first = None
        for _ in range(3000):
            logits = network.whole(tokens.clone(), torch.tensor([200], device=DEVICE), 384, 64).clone()
            first = logits if first is None else first
            assert torch.equal(logits, first)


def weights_kept(keys: torch.Tensor, threshold: int) -> torch.Tensor:
    """The attention kernel's dropout in torch, on 64-bit integers: (heads, tokens, tokens)."""
    odd = keys.long() * 2 + 1
    return (odd[1:, :, None] * odd[0]) % 2**32 >= threshold * 2**16


@pytest.mark.parametrize(("tokens", "share"), [(64, 0.0), (80, 0.1), (150, 0.1)])
def test_attention_and_its_gradients_are_those_of_the_formula(tokens: int, share: float) -> None:
    batch, heads, depth = 2, 2, 32
    width, threshold = heads * depth, round(share * residual.LEVELS)
    half = torch.bfloat16 if ON_GPU else torch.float16
    qkv = torch.randn(batch, tokens, 3 * width, dtype=half, device=DEVICE, requires_grad=True)
    keys = attention.keys_of(qkv, heads)
    found = attention.attention(qkv, keys, heads, share)
    pull = torch.randn_like(found)
    exact = qkv.detach().double().requires_grad_()
    query, key, value = exact.view(batch, tokens, 3, heads, depth).permute(2, 0, 3, 1, 4).unbind(0)
    weights = (query @ key.transpose(-1, -2) / depth**0.5).softmax(-1)
    mask = weights_kept(keys, threshold).view(weights.shape)
    weights = weights * mask / (1 - threshold / residual.LEVELS)
    wanted = (weights @ value).transpose(1, 2).reshape(found.shape)
    off = 1e-2 if ON_GPU else 1e-3
    assert float((found - wanted).detach().norm() / wanted.detach().norm()) < off
    gradients = torch.autograd.grad(found, qkv, pull)[0], torch.autograd.grad(wanted, exact, pull.double())[0]
    for here, there in zip(*(g.split(width, 2) for g in gradients), strict=True):  # of query, key and value
        assert float((here - there).norm() / there.norm()) < off


def test_attentions_dropout_is_fair_and_unrelated() -> None:
    """Its share, the same for every row, column and draw, and no relation between neighbours."""
    heads, tokens = 16, 384
    torch.manual_seed(7)
    one, two = (attention.keys_of(torch.empty(1, tokens, 3), heads) for _ in range(2))
    mask = weights_kept(one, round(0.1 * residual.LEVELS)).double()
    deviation = (0.09 / tokens) ** 0.5
    assert float(mask.mean()) == pytest.approx(0.9, abs=5 * deviation / (heads * tokens) ** 0.5)
    assert float((mask.mean(2) - 0.9).abs().max()) < 5.5 * deviation  # the farthest of 6,144 rows
    assert float((mask.mean((0, 1)) - 0.9).abs().max()) < 5 * deviation / heads**0.5
    off = mask - mask.mean()
    other = weights_kept(two, round(0.1 * residual.LEVELS)).double()
    pairs = [
        (off[:, :, 1:], off[:, :, :-1]),
        (off[:, 1:], off[:, :-1]),
        (off[1:], off[:-1]),
        (off[:, :-1, :-1] * off[:, 1:, 1:], off[:, :-1, 1:] * off[:, 1:, :-1]),  # a square's four corners
        (off, other - other.mean()),
    ]
    for one, two in pairs:
        assert abs(float((one * two).mean() / (one.std() * two.std()))) < 5 / one.numel() ** 0.5


def test_berts_attention_by_the_kernel_is_that_of_torch() -> None:
    from gpuwise.workloads.bert import TOY
    from gpuwise.workloads.models.bert import FusedAttention

    half = torch.bfloat16 if ON_GPU else torch.float16
    module = FusedAttention(TOY).to(DEVICE, half).eval()
    x = torch.randn(2, 48, TOY.hidden, device=DEVICE, dtype=half)
    wanted = module(x, None)
    module.kernel = True
    found = module(x, None)
    torch.testing.assert_close(found, wanted, atol=2e-2, rtol=2e-2)
    module.train()
    assert not torch.equal(module(x, None), module(x, None))
    assert module.float()(x.float(), None).dtype == torch.float32
