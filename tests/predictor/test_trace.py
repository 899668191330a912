"""What a step computes, against torch's own counter and against counts by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Kernel, Trace, arrays, path
from gpuwise.predictor.rates import usual
from gpuwise.predictor.recorder import record
from gpuwise.predictor.step import kernel_seconds
from gpuwise.predictor.trace import About, record_workload, trace_module, trace_of, trace_workload

NETWORKS = tuple(n for n in workloads.names() if {"train", "infer"} & set(workloads.get(n).spec.modes))
# Their toys are those of others: of the decoders one answers, reads, learns, and learns beside its weights.
# Inception's layers are GoogLeNet's kinds.
SAME_TOY = {
    "inception-v3", "resnet152", "bert-base", "bert-large-pretrain-s512", "llm-124m", "llm-1b-finetune",
    "llm-8b-lora", "unet-sd15-1024", "dit-xl2-512",
    *(f"llm-{size}-{name}" for size in ("1b", "8b") for name in ("prefill-8k", "decode-8k")),
    "llm-8b-prefill", "llm-8b-decode",
}  # fmt: skip
PRODUCTS = ("matmul", "convolution", "attention")


def config(name: str, mode: str = "train", precision: str = "bf16", **more: Any) -> RunConfig:
    return RunConfig(workload=name, mode=mode, precision=precision, **more)  # type: ignore[arg-type]


def counted(asked: RunConfig, batch: int) -> tuple[float, float]:
    """Operations of the products of one step: by torch's counter, and as traced.

    The counter takes every attention for a full one; so the traced half of a causal one is undone.
    """
    job_flop = 0.0

    def build() -> tuple[Callable[[], object], float]:
        workload = workloads.get(asked.workload)
        job = workload.build(asked, batch)

        def step() -> None:
            nonlocal job_flop
            with FlopCounterMode(display=False) as counter:
                job.step()
            job_flop = float(counter.get_total_flops())

        return step, job.items

    tape = record(build)
    traced = 0.0
    for node in tape.nodes:
        causal = "causal" in node.name and node.shape[2] > 1
        traced += (
            node.flop * (2 * node.shape[2] / (node.shape[2] + 1) if causal else 1) * (node.kind in PRODUCTS)
        )
    return job_flop, traced


@pytest.mark.parametrize("name", sorted({*NETWORKS} - SAME_TOY))
def test_the_products_are_those_that_torch_counts(name: str) -> None:
    spec = workloads.get(name).spec
    precision = "bf16"
    for mode in spec.modes:
        expected, traced = counted(config(name, mode, precision, size="toy"), 4)
        assert traced == pytest.approx(expected, rel=1e-6), mode
        assert traced > 0


@pytest.mark.parametrize(("name", "mode"), [("resnet50", "train"), ("bert-large", "infer")])
def test_full_networks_too_and_they_agree_with_the_workload_s_own_formula(name: str, mode: str) -> None:
    spec = workloads.get(name).spec
    batch = spec.default_batch
    expected, traced = counted(config(name, mode), batch)
    assert traced == pytest.approx(expected, rel=1e-9)
    assert spec.cost is not None
    cost = spec.cost(mode, Precision.BF16, batch).flop_per_item * batch  # type: ignore[arg-type]
    assert traced == pytest.approx(cost, rel=0.011)


@cache
def traced(name: str, mode: str = "train", precision: str = "bf16", compiled: bool = False) -> Trace:
    return trace_workload(config(name, mode, precision, compile=compiled))


@pytest.mark.parametrize(("name", "tensors"), [("resnet50", 161), ("bert-large", 295), ("vit-b16", 152)])
def test_parameters_are_those_of_the_workload(name: str, tensors: int) -> None:
    trace = traced(name)
    assert trace.parameters == workloads.get(name).spec.parameters
    assert trace.memory is not None
    assert trace.memory.parameters == 4 * trace.parameters
    assert trace.memory.gradients == 4 * trace.parameters
    assert trace.memory.gradient_count == tensors


def test_optimiser_state_is_one_moment_of_sgd_and_two_of_adamw() -> None:
    sgd, adamw = traced("resnet50").memory, traced("bert-large").memory
    assert sgd is not None
    assert adamw is not None
    assert sgd.optimiser == sgd.parameters
    assert adamw.optimiser == pytest.approx(2 * adamw.parameters, rel=1e-4)


def kinds(trace: Trace) -> Counter[str]:
    found: Counter[str] = Counter()
    for kernel in trace.kernels:
        found[kernel.kind] += kernel.count
    return found


def test_resnet50_launches_what_its_layers_are() -> None:
    trace = traced("resnet50")
    found = kinds(trace)
    # 53 convolutions; backward has two kernels each, but no gradient for the image.
    assert found["convolution"] == 53 + 2 * 53 - 1
    assert found["normalisation"] == 4 * 53 + 2  # two passes each way; softmax and its backward
    assert 600 < trace.launches < 800
    assert trace.unknown == ()
    assert trace.items == 256


def test_bert_large_has_one_attention_kernel_a_layer_and_direction() -> None:
    trace = traced("bert-large")
    found = kinds(trace)
    assert found["attention"] == 48
    assert found["matmul"] == 3 * 97
    assert found["copy"] > 500  # autocast casts every weight in every step
    assert 1_000 < trace.launches < 2_000
    compiled = traced("bert-large", compiled=True)
    assert compiled.launches < 0.7 * trace.launches
    assert kinds(compiled)["matmul"] == 3 * 97


def test_precision_decides_the_format_of_the_products() -> None:
    for precision, product in (("fp32", "fp32"), ("tf32", "tf32"), ("fp16", "fp16"), ("bf16", "bf16")):
        trace = trace_workload(config("bert-large", "train", precision, size="toy"), 2)
        assert {k.dtype for k in trace.kernels if k.kind == "matmul"} == {product}
    flash = [k.name for k in traced("bert-large").kernels if k.kind == "attention"]
    assert flash == [
        "aten._scaled_dot_product_flash_attention:dropout",
        "aten._scaled_dot_product_flash_attention_backward:dropout",
    ]


def test_fp16_training_scales_its_loss_and_checks_its_gradients() -> None:
    trace = trace_workload(config("resnet50", "train", "fp16", size="toy"), 2)
    names = {kernel.name for kernel in trace.kernels}
    assert "aten._amp_foreach_non_finite_check_and_unscale_" in names
    assert "aten._amp_update_scale_" in names


def module_kernels(
    model: nn.Module, *inputs: Tensor, mode: str = "infer", precision: str = "fp32"
) -> list[Kernel]:
    trace = trace_module(model, inputs, name="own", mode=mode, precision=precision)  # type: ignore[arg-type]
    return list(trace.kernels)


def test_a_linear_layer_by_hand() -> None:
    (kernel,) = module_kernels(nn.Linear(64, 32), torch.empty(16, 64))
    assert (kernel.kind, kernel.shape, kernel.dtype) == ("matmul", (1, 16, 32, 64), "fp32")
    assert kernel.flop == 2 * 16 * 32 * 64
    assert kernel.bytes_read == 4 * (16 * 64 + 64 * 32 + 32)
    assert kernel.bytes_written == 4 * 16 * 32


def test_a_linear_layer_s_training_step_by_hand() -> None:
    trace = trace_module(nn.Linear(64, 32, bias=False), (torch.empty(16, 64),), name="own", precision="bf16")
    products = [k for k in trace.kernels if k.kind == "matmul"]
    # No gradient for the input: forward and the weight's gradient.
    assert [(k.phase, k.shape) for k in products] == [
        ("forward", (1, 16, 32, 64)),
        ("backward", (1, 32, 64, 16)),
    ]
    assert all(k.bytes_read + k.bytes_written == 2 * (16 * 64 + 64 * 32 + 16 * 32) for k in products)
    (adamw,) = [k for k in trace.kernels if k.name == "aten._fused_adamw_"]
    # Weight, gradient and two moments are read; the gradient is not written.
    assert adamw.bytes_read == pytest.approx(4 * 4 * 64 * 32, abs=16)
    assert adamw.bytes_written == pytest.approx(3 * 4 * 64 * 32, abs=16)
    casts = [k for k in trace.kernels if k.name == "aten._to_copy" and k.phase == "forward"]
    assert {k.shape for k in casts} >= {(32, 64), (16, 64)}


def test_a_convolution_by_hand() -> None:
    model = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False)
    (kernel,) = module_kernels(model, torch.empty(2, 8, 10, 10))
    assert kernel.kind == "convolution"
    assert kernel.shape == (2, 8, 10, 10, 16, 3, 3, 2, 1, 5, 5)
    assert kernel.flop == 2 * 2 * 16 * 8 * 9 * 25
    assert kernel.bytes_read == 4 * (2 * 8 * 100 + 16 * 8 * 9)
    assert kernel.bytes_written == 4 * 2 * 16 * 25
    assert kernel.name == "aten.convolution:nchw"


@pytest.mark.parametrize(
    ("precision", "recipe", "first"),
    [("bf16", "stock", False), ("tf32", "stock", False), ("fp32", "stock", True), ("bf16", "script", True)],
)
def test_the_layout_of_a_network_is_that_of_every_convolution(
    precision: str, recipe: str, first: bool
) -> None:
    asked = config("resnet50", precision=precision, recipe=recipe, size="toy")
    names = [k.name for k in trace_workload(asked, 4).kernels if k.kind == "convolution"]
    assert len(names) > 5
    assert {name.endswith(":nchw") for name in names} == {first}


class Pointwise(nn.Module):
    """Two convolutions of 1 x 1, in whose weights both orders are the same."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(8, 8, 1, bias=False), nn.Conv2d(8, 8, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return result


def test_an_image_of_either_order_keeps_it() -> None:
    x = torch.empty(2, 8, 10, 10)
    first, last = (module_kernels(Pointwise(), t) for t in (x, x.to(memory_format=torch.channels_last)))
    assert {k.name for k in first} == {"aten.convolution:nchw"}
    assert {k.name for k in last} == {"aten.convolution"}


@pytest.mark.parametrize(("gap", "fewer"), [(1, True), (2, False)])
@pytest.mark.parametrize("phase", ["forward", "backward"])
def test_windows_with_gaps_take_all_multiplications(
    gap: int, fewer: bool, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeepLab in fp32 was 0.6 of the measured time: Winograd's method has no windows with gaps."""
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    model, x = nn.Conv2d(64, 64, 3, padding=gap, dilation=gap, bias=False), torch.empty(2, 64, 28, 28)
    found = module_kernels(model, x, mode="train")
    kernels = [k for k in found if k.kind == "convolution" and k.phase == phase]
    assert kernels
    assert {path(k, compiled=False)[-1].endswith("winograd") for k in kernels} == {fewer}


def test_a_grouped_convolution_counts_its_own_channels_only() -> None:
    (kernel,) = module_kernels(nn.Conv2d(8, 8, 3, groups=8, bias=False), torch.empty(2, 8, 10, 10))
    assert kernel.flop == 2 * 2 * 8 * 9 * 64


class Routed(nn.Module):
    """Sixteen experts, of which each row takes one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(16, 64, 32, dtype=torch.bfloat16))
        self.ends = nn.Buffer(torch.zeros(16, dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        return torch._grouped_mm(x, self.weight, offs=self.ends)


@pytest.mark.parametrize(("rows", "reached"), [(1, 1), (4, 4), (16, 10), (640, 16)])
def test_of_experts_those_that_rows_reach_are_read(rows: int, reached: int) -> None:
    (kernel,) = module_kernels(Routed(), torch.empty(rows, 64), precision="bf16")
    per = rows // reached
    assert kernel.shape == (reached, per, 32, 64)
    assert kernel.flop == 2 * reached * per * 32 * 64
    assert kernel.bytes_read == 2 * (reached * 64 * 32 + rows * 64) + 4 * 16


def test_a_layer_norm_by_hand() -> None:
    (kernel,) = module_kernels(nn.LayerNorm(64), torch.empty(16, 64))
    assert kernel.kind == "normalisation"
    assert kernel.bytes_read == 4 * (16 * 64 + 2 * 64)
    assert kernel.bytes_written == 4 * (16 * 64 + 2 * 16)  # and mean and 1 / deviation


class Attention(nn.Module):
    def __init__(self, *, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = functional.scaled_dot_product_attention(x, x, x, is_causal=self.causal)
        return out


def test_attention_by_hand() -> None:
    x = torch.empty(2, 4, 128, 64)
    (kernel,) = module_kernels(Attention(), x, precision="bf16")
    assert (kernel.kind, kernel.shape) == ("attention", (2, 4, 128, 128, 64, 4))
    assert kernel.flop == 4 * 2 * 4 * 128 * 128 * 64
    operand = 2 * 2 * 4 * 128 * 64
    assert kernel.bytes_read == 3 * operand
    assert kernel.bytes_written == pytest.approx(operand + 4 * 2 * 4 * 128, abs=64)
    (causal,) = module_kernels(Attention(causal=True), x, precision="bf16")
    assert causal.flop == pytest.approx(kernel.flop * 129 / 256)
    assert causal.name.endswith(":causal")


def test_full_precision_attention_is_the_memory_efficient_kernel() -> None:
    (kernel,) = module_kernels(Attention(), torch.empty(2, 4, 128, 64), precision="fp32")
    assert kernel.name == "aten._scaled_dot_product_efficient_attention"


@pytest.mark.parametrize(
    ("width", "rows", "fused"), [(64, True, True), (62, True, False), (64, False, False)]
)
def test_fused_attention_reads_rows_of_whole_loads(width: int, rows: bool, fused: bool) -> None:
    class Biased(nn.Module):
        def forward(self, x: Tensor, bias: Tensor) -> Tensor:
            mask = bias if rows else bias.permute(2, 0, 1).unsqueeze(0)
            out: Tensor = functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
            return out

    bias = torch.empty(1, 4, 128, 128) if rows else torch.empty(128, 128, 4)
    trace = trace_module(
        Biased(), (torch.empty(2, 4, 128, width), bias), name="own", precision="fp32", mode="infer"
    )
    assert ("attention" in {k.kind for k in trace.kernels}) == fused


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_packed_sequences_are_one_call_of_cudnn_and_their_length_is_told(
    mode: Literal["train", "infer"],
) -> None:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.LSTM(32, 64, batch_first=True)

        def forward(self, rows: Tensor) -> Tensor:
            pack, lengths = nn.utils.rnn.pack_padded_sequence, rows.any(-1).sum(1)
            packed = pack(rows, lengths.cpu(), batch_first=True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(self.cells(packed)[0], batch_first=True)[0]

    trace = trace_module(Packed(), (torch.empty(8, 20, 32),), name="own", mode=mode, precision="bf16")
    forward = [k for k in trace.kernels if "_rnn" in k.name and k.phase == "forward"]
    assert [(k.shape, k.count) for k in forward] == [((1, 160, 256, 32), 1), ((1, 8, 256, 64), 20)]
    assert "as long as the longest" in " ".join(trace.notes)


@pytest.mark.parametrize("size", [(), (1,), (2,)])
def test_a_layer_that_is_dropped_now_and_then_is_kept(size: tuple[int, ...]) -> None:
    """The host draws one number, whose mean is taken: peaks are those of steps that drop nothing."""
    drawn: list[float] = []

    class Dropped(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            drawn.append(float(torch.rand(size).sum()))
            return x + 1.0

    module_kernels(Dropped(), torch.empty(2, 8))
    assert (set(drawn) == {0.5}) == (size != (2,))


@pytest.mark.parametrize(("last", "name"), [(True, "aten.convolution"), (False, "aten.convolution:nchw")])
def test_a_slice_of_channels_is_in_the_order_of_the_whole(last: bool, name: str) -> None:
    class Sliced(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Conv2d(8, 8, 3, groups=8, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            part = x[..., :8].permute(0, 3, 1, 2) if last else x.permute(0, 3, 1, 2).contiguous()[:, :8]
            out: Tensor = self.inner(part)
            return out

    names = {k.name for k in module_kernels(Sliced(), torch.empty(2, 10, 10, 16))}
    assert name in names


def test_inference_of_a_transformer_takes_torchs_fast_path() -> None:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    found = [(k.name, k.count) for k in module_kernels(layer, torch.empty(2, 32, 64), precision="bf16")]
    assert found == [
        ("aten.addmm", 1), ("aten._scaled_dot_product_flash_attention", 1), ("aten.addmm", 1),
        ("aten.add_", 2), ("aten.native_layer_norm", 2), ("aten._addmm_activation", 1), ("aten.addmm", 1),
    ]  # fmt: skip


def test_autocast_brings_vectors_of_spectral_norm_to_one_format() -> None:
    norm = nn.utils.parametrizations.spectral_norm(nn.Linear(32, 16))
    names = {
        k.name: k.dtype for k in module_kernels(norm, torch.empty(4, 32), mode="train", precision="bf16")
    }
    assert names["aten.vdot"] == "fp32"


def test_views_cost_nothing_and_equal_kernels_are_grouped() -> None:
    class Views(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(4, -1).t().unsqueeze(0).expand(3, -1, -1).relu().relu().relu()

    kernels = module_kernels(Views(), torch.empty(4, 4))
    assert [(k.name, k.count) for k in kernels] == [("aten.relu:strided", 1), ("aten.relu", 2)]
    assert kernels[0].bytes_read == 4 * 16  # an expanded dimension is read once
    assert kernels[0].bytes_written == 4 * 48


def test_a_module_is_neither_changed_nor_read() -> None:
    linear = nn.Linear(8, 8)
    model = nn.Sequential(linear, nn.Dropout(0.5)).eval()
    weight = linear.weight.clone()
    switches = (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32)
    seed = torch.random.get_rng_state()
    trace = trace_module(model, {"input": torch.empty(4, 8)}, name="own", precision="tf32", optimiser="sgd")
    assert "aten.native_dropout" in {k.name for k in trace.kernels}
    assert trace.batch == 4
    assert torch.equal(linear.weight, weight)
    assert linear.weight.grad is None
    assert not model[1].training
    assert switches == (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32)
    assert torch.equal(seed, torch.random.get_rng_state())
    assert torch.nn.functional.softmax(torch.ones(2), -1).tolist() == [0.5, 0.5]  # torch as it was


def test_a_billion_parameters_take_seconds(slowness: float) -> None:
    import time

    began = time.monotonic()
    trace = trace_workload(config("llm-1b", compile=True))
    assert trace.parameters > 1_000_000_000
    assert time.monotonic() - began < 10 * slowness
    assert trace.unknown == ()


def test_a_stack_of_decoder_layers_is_made_without_its_weights() -> None:
    def make() -> nn.Module:
        layer = nn.TransformerEncoderLayer(4096, 32, 16384, batch_first=True, norm_first=True)
        return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)

    trace = trace_module(make, (torch.empty(2, 512, 4096),), name="stack")
    assert trace.parameters > 1_000_000_000
    assert kinds(trace)["attention"] == 12
    assert trace.unknown == ()


def test_a_step_of_the_compiled_kind_is_the_eager_one_merged() -> None:
    tape = record_workload(config("resnet50", size="toy"), 2)
    named = About(workload="resnet50", version=1, mode="train", precision="bf16", item="image")
    eager, compiled = (trace_of(tape, named, batch=2, compiled=x) for x in (False, True))
    assert compiled.compiled
    assert compiled.launches < eager.launches
    assert compiled.flop == pytest.approx(eager.flop)


def test_constants_and_autocast_of_a_tensor_s_own_device_are_cuda_s() -> None:
    """As transformers makes them: a constant under a device context, autocast switched off for a part."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 8)
            self.register_buffer("bias", torch.tensor(-1e4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast(device_type=x.device.type, enabled=False):
                scale = (x.float() @ x.float().T).sum()
            result: torch.Tensor = self.inner(x) * scale + self.bias
            return result

    def build() -> tuple[Callable[[], object], float]:
        with torch.device("cuda"):
            net, x = Net(), torch.randn(4, 8)

        def step() -> object:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return net(x)

        return step, 4.0

    about = About(workload="net", version=1, mode="infer", precision="bf16", item="item")
    trace = trace_of(record(build), about, batch=4, compiled=False)
    products = {kernel.shape: kernel.dtype for kernel in trace.kernels if kernel.kind == "matmul"}
    assert products == {(1, 4, 4, 8): "fp32", (1, 4, 8, 8): "bf16"}


def test_a_network_that_asks_whether_autocast_is_on_hears_yes() -> None:
    """Decoders cast their residual stream then; on the H200 its peak told that they were traced without."""
    for precision in ("bf16", "fp32"):
        trace = trace_workload(config("llm-124m", "train", precision, size="toy"), 2)
        norms = [kernel for kernel in trace.kernels if "rms_norm" in kernel.name]
        assert len(norms) >= 2
        assert {kernel.dtype for kernel in norms} == {precision}


class Asks(nn.Module):
    """Leaves out a mask where nothing compiles it, as networks of transformers do."""

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        heads = x[:, None]
        given = mask if torch.compiler.is_compiling() else None
        return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=given)


def test_a_network_that_asks_whether_it_is_compiled_hears_the_truth() -> None:
    for compiled, name in ((False, "flash"), (True, "efficient")):
        trace = trace_module(Asks(), (torch.empty(4, 64, 64),), name="a", mode="infer", compiled=compiled)
        (kernel,) = (k for k in trace.kernels if k.kind == "attention")
        assert name in kernel.name
    assert not torch.compiler.is_compiling()


def test_rows_in_another_order_are_multiplied_at_once() -> None:
    """Torch copies them, as the weight learns; taken apart it would be a small product for each row of the
    image (twins: compiled inference was 1.67 times too slow)."""

    class Windows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(64, 96)

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.linear(x.unflatten(1, (2, 7)).transpose(1, 2))
            return found

    trace = trace_module(Windows(), (torch.empty(8, 14, 14, 64),), name="w", mode="infer")
    assert [k.shape for k in trace.kernels if k.kind == "matmul"] == [(1, 8 * 14 * 14, 96, 64)]


class Rotated(nn.Module):
    """Adds what lies alike, what is spread, what lies in another order and what does so in whole rows."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(64))

    def forward(self, x: Tensor) -> Tensor:
        heads = x.view(8, 8, 64).transpose(0, 1).contiguous()
        return (x + x).mul(self.bias) + x.transpose(0, 1).contiguous().transpose(0, 1) + heads.view(64, 64)


@pytest.mark.parametrize("compiled", [False, True])
def test_operands_that_do_not_lie_alike_are_told(compiled: bool) -> None:
    found = trace_module(
        Rotated(), (torch.empty(64, 64, device="meta"),), name="rotated", mode="infer", compiled=compiled
    )
    strided = [kernel.name for kernel in found.kernels if ":strided" in kernel.name]
    across = ["aten.clone:strided:across", "aten.add:strided:across"]
    expected = ["aten.mul:strided", *across, "aten.clone:strided"]
    assert sorted(strided) == ([] if compiled else sorted(expected))
    assert compiled or "aten.add" in {kernel.name for kernel in found.kernels}


@pytest.mark.parametrize(("pads", "name"), [(0, "aten.clone"), (1, "aten.constant_pad_nd:strided")])
def test_what_no_side_is_padded_of_is_copied(pads: int, name: str) -> None:
    class Padded(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.pad(x, (0, 0, 0, pads))

    found = trace_module(Padded(), (torch.empty(8, 64, device="meta"),), name="padded", mode="infer").kernels
    assert [kernel.name for kernel in found] == [name]


@pytest.mark.parametrize(("last", "across"), [(True, True), (False, False)])
def test_what_is_reduced_into_another_order_is_told(last: bool, across: bool) -> None:
    class Paths(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(2, 2, 8, 4, 4).sum(1)

    order = torch.channels_last if last else torch.contiguous_format
    made = torch.empty(2, 16, 4, 4, dtype=torch.bfloat16, device="meta").to(memory_format=order)
    names = {kernel.name for kernel in trace_module(Paths(), (made,), name="paths", mode="infer").kernels}
    assert ("aten.sum:columns:across" in names) == across
    assert ("aten.sum:columns" in names) != across


@pytest.mark.parametrize(("shared", "fused"), [(True, True), (False, False)])
def test_heads_that_share_keys_are_fused_where_the_caller_says_so(shared: bool, fused: bool) -> None:
    class Shared(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            keys = x[:, :1]
            return functional.scaled_dot_product_attention(x, keys, keys, enable_gqa=shared)

    made = (torch.empty(2, 4, 64, 64, dtype=torch.bfloat16, device="meta"),)
    kinds = {kernel.kind for kernel in trace_module(Shared(), made, name="shared", mode="infer").kernels}
    assert ("attention" in kinds) == fused
    assert ("matmul" in kinds) != fused


def test_rows_that_are_added_by_indices_wait_for_each_other() -> None:
    class Table(nn.Module):
        def __init__(self, places: int) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.empty(places, 8))

        def forward(self, x: Tensor) -> Tensor:
            return self.table[x].sum()

    def seconds(places: int) -> float:
        chosen = (torch.zeros(65536, dtype=torch.long),)
        found = trace_module(Table(places), chosen, name="table", mode="train")
        at = [k.name for k in found.kernels].index("aten.index_put:sorted")
        own = card("h200-sxm")
        return float(kernel_seconds(arrays(found.kernels), own, usual(own))[at])

    assert seconds(64) > 10 * seconds(65536)


def test_dropped_attention_is_told_in_both_directions() -> None:
    found = trace_workload(config("bert-base"), batch=8)
    names = {kernel.name for kernel in found.kernels if kernel.kind == "attention"}
    assert len(names) == 2
    assert all(name.endswith(":dropout") for name in names)
    (inference,) = {
        k.name for k in trace_workload(config("bert-base", "infer"), batch=8).kernels if k.kind == "attention"
    }
    assert not inference.endswith(":dropout")


@pytest.mark.parametrize("first", [True, False])
def test_what_lies_otherwise_is_copied_before_a_convolution(first: bool) -> None:
    """Group norm takes and leaves channels first; where a weight lies channels last, torch copies what cuDNN
    convolves (of a ResNet with group norm, 105 copies took 17 of 31 ms)."""
    made = nn.Sequential(nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.Conv2d(8, 8, 3))
    image = torch.empty(4, 8, 32, 32)
    if not first:
        made, image = made.to(memory_format=torch.channels_last), image.to(memory_format=torch.channels_last)
    found = trace_module(made, (image,), name="n", mode="infer").kernels
    assert sum(k.count for k in found if k.name == "aten.clone:strided:across") == (0 if first else 2)
    assert {k.name for k in found if k.kind == "convolution"} == {"aten.convolution" + ":nchw" * first}
