"""The allocator against its rules, and the peak against what was measured on one H200."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gpuwise.model.precision import Precision
from gpuwise.model.question import USUAL, RunConfig, modern
from gpuwise.predictor.graph import ALLOCATE, FREE, Call, Event, Tape, Value
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.recorder import record
from gpuwise.predictor.staging import staged
from gpuwise.predictor.step import KIB, MIB, workspace_bytes
from gpuwise.predictor.trace import (
    About,
    Allocator,
    memory_of,
    record_workload,
    replay,
    trace_module,
    trace_of,
    workspaces,
)
from gpuwise.predictor.trace_store import find, obtain
from gpuwise.workloads import registry

RESULTS = Path(__file__).parent.parent.parent / "results" / "h200"


def test_requests_are_rounded_up_to_512_bytes() -> None:
    allocator = Allocator()
    allocator.allocate(1)
    allocator.allocate(513)
    assert allocator.allocated == 512 + 1024
    assert allocator.reserved == 2 * MIB


@pytest.mark.parametrize(
    ("size", "reserved"),
    [(1 * MIB, 2 * MIB), (1 * MIB + 1, 20 * MIB), (10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB),
     (11 * MIB + 1, 12 * MIB)],
)  # fmt: skip
def test_segments(size: int, reserved: int) -> None:
    allocator = Allocator()
    allocator.allocate(size)
    assert allocator.reserved == reserved


def test_a_large_block_is_not_split_for_the_last_mebibyte() -> None:
    allocator = Allocator()
    block = allocator.allocate(32 * MIB)
    allocator.release(block, small=False)
    allocator.allocate(31 * MIB + 512)
    assert allocator.allocated == 32 * MIB
    assert allocator.reserved == 32 * MIB


def test_freed_neighbours_merge_and_are_used_again() -> None:
    allocator = Allocator()
    blocks = [allocator.allocate(5 * MIB) for _ in range(4)]
    assert allocator.reserved == 20 * MIB
    for block in (blocks[0], blocks[2], blocks[1]):
        allocator.release(block, small=False)
    allocator.allocate(15 * MIB)
    assert allocator.reserved == 20 * MIB
    assert allocator.allocated == 20 * MIB


def test_the_smallest_block_that_holds_it_is_taken() -> None:
    allocator = Allocator()
    big, small = allocator.allocate(64 * MIB), allocator.allocate(30 * MIB)
    allocator.release(big, small=False)
    allocator.release(small, small=False)
    allocator.allocate(30 * MIB)
    allocator.allocate(64 * MIB)
    assert allocator.reserved == 94 * MIB


SIZES = st.one_of(st.integers(1, 4 * KIB), st.integers(1, 40 * MIB))


@given(st.lists(st.tuples(SIZES, st.booleans()), min_size=1, max_size=60))
def test_the_peak_lies_between_live_bytes_and_live_bytes_with_rounding(
    requests: list[tuple[int, bool]],
) -> None:
    events: list[Event] = []
    live: dict[int, int] = {}
    peak = blocks = 0
    for number, (size, release) in enumerate(requests):
        events.append((ALLOCATE, number, float(size)))
        live[number] = size
        peak, blocks = max(peak, sum(live.values())), max(blocks, len(live))
        if release:
            oldest = next(iter(live))
            events.append((FREE, oldest, 0.0))
            del live[oldest]
    played = replay({}, events)
    assert peak <= played.peak <= peak + blocks * MIB
    assert played.reserved >= played.peak
    assert played.largest == max(size for size, _ in requests)


@given(st.dictionaries(st.integers(0, 50), SIZES.map(float), min_size=1))
def test_the_peak_is_never_below_what_was_there(start: dict[int, float]) -> None:
    assert replay(start, ()).peak >= sum(start.values())


NAMED = About(workload="x", version=1, mode="train", precision="bf16", item="item")


@cache
def tape(name: str, mode: str, precision: str, recipe: str, batch: int, size: str = "full") -> Tape:
    asked = RunConfig(workload=name, mode=mode, precision=precision, recipe=recipe, size=size)  # type: ignore[arg-type]
    return record_workload(asked, batch)


@pytest.mark.parametrize(
    ("name", "mode"),
    [("resnet50", "train"), ("resnet50", "infer"), ("bert-large", "train"), ("llm-1b-decode", "infer")],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_peak_holds_the_parameters_and_grows_with_the_batch(name: str, mode: str, compiled: bool) -> None:
    peaks = []
    for batch in (1, 2, 4, 8):
        recorded = tape(name, mode, "bf16", "stock", batch, "toy")
        memory = trace_of(recorded, NAMED, batch=batch, compiled=compiled).memory
        assert memory is not None
        assert memory.peak >= memory.parameters + memory.optimiser
        assert memory.largest <= memory.peak
        peaks.append(memory.peak)
    assert peaks == sorted(peaks)


def test_the_memory_of_a_tape_is_its_replay() -> None:
    recorded = tape("resnet50", "train", "bf16", "stock", 4, "toy")
    assert memory_of(recorded).peak == replay(recorded.start, recorded.events, earlier=recorded.earlier).peak


def test_what_was_freed_before_the_step_is_not_split_for_less_than_a_mebibyte() -> None:
    """Weights in 16 bits lie where those in 32 bits were: layers of 768 took 9 MiB more than their bytes."""
    earlier: list[Event] = [(ALLOCATE, 1, 2.0 * MIB), (ALLOCATE, 2, 2.0 * MIB), (FREE, 1, 0.0)]
    earlier.append((ALLOCATE, 3, 1.125 * MIB))
    start = {2: 2.0 * MIB, 3: 1.125 * MIB}
    assert replay(start, ()).peak == 3.125 * MIB
    assert replay(start, (), earlier=earlier).peak == 4.0 * MIB


@pytest.mark.parametrize(("cell", "kept"), [("LSTM", 3 * 5 + 2), ("GRU", 3 * 6 + 2)])
@pytest.mark.parametrize("compiled", [False, True])
def test_recurrent_layers_keep_gates_and_what_passes_between_them(
    cell: str, kept: int, compiled: bool
) -> None:
    """By the peaks of three networks on H100s and an H200, in eager mode and compiled."""
    network = getattr(nn, cell)(256, 256, 3, batch_first=True)
    found = trace_module(
        network, (torch.empty(64, 64, 256),), name="own", mode="train", precision="bf16", compiled=compiled
    ).memory
    assert found is not None
    one = 2.0 * 64 * 64 * 256
    assert found.largest == one * kept
    assert found.peak > one * (kept + 1)


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_a_bias_of_rows_in_another_order_is_added_in_place(mode: Literal["train", "infer"]) -> None:
    class Across(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.inner(x.transpose(1, 2))
            return found

    trace = trace_module(Across(), (torch.empty(8, 64, 32),), name="own", mode=mode, precision="bf16")
    names = [kernel.name for kernel in trace.kernels if kernel.phase == "forward"]
    assert "aten.add_:strided" in names
    assert "aten.add:strided" not in names


@pytest.mark.parametrize("name", ["llm-8b-decode", "llm-8b-prefill"])
def test_weights_of_8_bits_are_held_once(name: str) -> None:
    """Beside 8-bit weights there are a scale a layer, and embedding and head in bf16 (1 GB each)."""
    peaks = {}
    for precision in ("bf16", "int8", "fp8"):
        shipped = obtain(RunConfig(workload=name, mode="infer", precision=precision, batch=1)).memory
        assert shipped is not None
        peaks[precision] = shipped.peak
    assert 0.5 < peaks["int8"] / peaks["bf16"] < 0.7
    assert peaks["fp8"] == pytest.approx(peaks["int8"], rel=0.05)


class Row(NamedTuple):
    name: str
    mode: str
    precision: str
    recipe: str
    batch: int
    compiled: bool
    measured: float


def rows() -> list[Row]:
    """Every configuration measured with torch and no switch on one GPU, the last of equal ones."""
    found: dict[tuple[object, ...], Row] = {}
    for path in sorted(RESULTS.glob("*.json")):
        for m in measurements(path):
            c = m["config"]
            row = Row(
                c["workload"], c["mode"], c["precision"], RECIPES[c.get("recipe", "tuned")], m["batch"],
                c.get("compile", False), m["memory_peak_bytes"],
            )  # fmt: skip
            alone = c.get("framework", "torch") == "torch" and c.get("gpus", 1) == 1
            # The script recipe is not shipped; fp16 and tf32 differ from bf16 and fp32 in formats alone.
            alone &= row.recipe == "stock" or row.precision in ("bf16", "fp32")
            # Recorded for seconds, to see what another row shows.
            alone &= (row.name, row.recipe, row.precision, row.batch) not in ALIKE
            usual = modern(c.get("switches") or {}).items() <= asdict(USUAL).items()
            if alone and usual and m["status"] == "ok" and row.mode in ("train", "infer"):
                found[row[:-1]] = row
    return list(found.values())


ALIKE = (
    ("bert-large", "script", "fp32", 64),  # in bf16, and ResNet-50 as the script has it in fp32
    ("llama-3.1-8b-decode", "stock", "bf16", 1),  # at a batch of 2
    ("llama-3.1-8b-prefill", "stock", "bf16", 2),  # of 1k and of 32k tokens
    ("llm-1b-finetune", "stock", "bf16", 16),  # llm-1b-pretrain
    ("qwen3-30b-a3b-qlora-checkpointed", "stock", "bf16", 1),  # its 25.3 GB: tests/predictor/test_fit.py
)
"""Name, recipe, precision and batch of rows that are not recorded here, and what shows the same."""
RECIPES = {"tuned": "stock", "parity": "script", "stock": "stock", "script": "script"}
"""Raw files of either version -> today's, where no switch is set."""


def measurements(path: Path) -> list[dict[str, Any]]:
    """Those of a result file; the folder has files of other kinds."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = document.get("measurements", []) if isinstance(document, dict) else []
    return found


@cache
def error(row: Row) -> float:
    """Predicted over measured peak, less one: tensors and the workspaces of cuBLAS. Of the trace that ships
    where one does, as `gpuwise predict` has it, else recorded."""
    asked = RunConfig(
        workload=row.name, mode=row.mode, precision=row.precision, recipe=row.recipe, batch=row.batch,
        compile=row.compiled,
    )  # type: ignore[arg-type]  # fmt: skip
    shipped = find(asked, registry.get(row.name).spec.version)
    return peak(shipped or recorded(row)) / row.measured - 1


def recorded(row: Row) -> Trace:
    return trace_of(tape(*row[:5]), NAMED, batch=row.batch, compiled=row.compiled)


def peak(trace: Trace) -> float:
    assert trace.memory is not None
    return trace.memory.peak + workspace_bytes(trace)


def convolves_4_bytes(row: Row) -> bool:
    """Whether cuDNN may take a workspace that nothing here knows of: what of memory is free, it may use."""
    return row.name.startswith("resnet") and row.precision in ("fp32", "tf32")


EXCEPTIONS: tuple[tuple[Callable[[Row], bool], float, float], ...] = (
    (lambda row: convolves_4_bytes(row), -0.46, 0.004),
    (lambda row: (row.name, row.recipe, row.compiled) == ("bert-large", "script", True), -0.002, 0.055),
    (lambda row: row.name in BRANCHED and row.mode == "infer" and not row.compiled, -0.32, -0.2),
    (lambda row: row.compiled and row.mode == "train" and row.name.startswith("unet-"), -0.12, -0.04),
    (lambda row: row.compiled and row.precision == "tf32" and row.name in WITH_HEAD, 0.05, 0.1),
    (lambda row: row.name == "llama-3.1-8b-prefill-1k", -0.06, -0.05),
    (lambda row: (row.name, row.mode, row.precision) == ("googlenet", "infer", "bf16"), -0.08, -0.06),
)
"""What is further off than 4 %, and between which errors. Workspaces of convolutions are not seen: training
in tf32 took 13 GB of cuDNN beside 89 GB of tensors, eager inference 10 beside 12, that of networks with
branches in bf16 half a GB beside one eagerly, and a tenth of that compiled. Compiled training holds less than
is replayed where the compiler computes again what it does not keep (separate attention kernels of BERT, the
U-Net), and where the gradient of a head is summed over chunks in 32 bits: replayed, all chunks' products are
there until they are summed at once. The prompts of 256 were measured before the cache was written by rows:
copies of values were put off to the end, and more than one layer's projections were there."""
BRANCHED = ("googlenet", "inception-v3")
WITH_HEAD = ("llm-124m", "llm-1b")


@pytest.mark.slow
@pytest.mark.timeout(300)  # two dozen traces of the script recipe, which is not shipped
def test_every_row_measured() -> None:
    errors = {row: error(row) for row in rows()}
    usual = []
    for row, found in errors.items():
        bounds = next(((low, high) for holds, low, high in EXCEPTIONS if holds(row)), None)
        if bounds is None:
            usual.append(abs(found))
        else:
            assert bounds[0] < found < bounds[1], row
    assert len(usual) >= 70
    assert median(usual) < 0.002
    assert max(usual) < 0.04
    # The two that most was measured of, closer.
    known = {
        row: found
        for row, found in errors.items()
        if (row.name == "resnet50" or (row.name, row.recipe) == ("bert-large", "stock"))
        and row.precision in ("fp32", "bf16")
    }
    for compiled, fewest, middle, most in ((False, 12, 0.002, 0.005), (True, 8, 0.003, 0.01)):
        plain = [row for row in known if row.compiled == compiled and not convolves_4_bytes(row)]
        assert len(plain) >= fewest
        assert median(abs(known[row]) for row in plain) < middle
        assert max(abs(known[row]) for row in plain) < most
    # Convolutions in 4-byte formats took up to 5 GB of cuDNN; what is missing is never less than nothing.
    unseen = {row: found for row, found in known.items() if convolves_4_bytes(row)}
    assert all(-0.35 < found < 0.001 for found in unseen.values())
    script = {row.mode: found for row, found in unseen.items() if row.recipe == "script" and row.compiled}
    assert -0.05 < script["train"] < -0.03
    assert -0.35 < script["infer"] < -0.3


def test_a_thread_that_multiplies_has_a_workspace() -> None:
    training = trace_of(
        tape("bert-large", "train", "bf16", "stock", 4, "toy"), NAMED, batch=4, compiled=False
    )
    inference = trace_of(
        tape("bert-large", "infer", "bf16", "stock", 4, "toy"), NAMED, batch=4, compiled=False
    )
    assert workspace_bytes(training) == 2 * 32 * MIB
    assert workspace_bytes(inference, "earlier") == 8 * MIB + 128 * KIB


@pytest.mark.parametrize(
    ("shape", "window", "fresh"),
    [((8, 64, 16, 32, 32), (3, 3, 3), 2), ((8, 64, 64, 64), (3, 3), 2), ((8, 64, 64, 64), (1, 1), 1)],
)
def test_a_convolution_of_channels_first_copies_what_it_reads_and_writes(
    shape: tuple[int, ...], window: tuple[int, ...], fresh: int
) -> None:
    """As a zoo of an H200 and an H100 measured: 16 of such networks' peaks were up to 38 % too low."""
    size = 2.0 * math.prod(shape)
    kind = {5: nn.Conv3d, 4: nn.Conv2d}[len(shape)]
    made = kind(64, 64, window, padding=[w // 2 for w in window], bias=False)
    found = trace_module(made, (torch.empty(shape),), name="one", mode="infer").memory
    assert found is not None
    # Input and result, and once more both as the library wants them.
    assert found.peak == pytest.approx(2 * fresh * size, rel=0.03)
    last = made.to(memory_format=torch.channels_last) if len(shape) == 4 else None
    if last is not None:
        x = torch.empty(shape).to(memory_format=torch.channels_last)
        plain = trace_module(last, (x,), name="one", mode="infer").memory
        assert plain is not None
        assert plain.peak == pytest.approx(2 * size, rel=0.03)


class Turned(nn.Module):
    """A convolution of lines that come with channels last, as a norm of channels leaves them."""

    def __init__(self, *, turned: bool) -> None:
        super().__init__()
        self.inner, self.turned = nn.Conv1d(64, 64, 3, padding=1, bias=False), turned

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.inner(x.mT if self.turned else x)
        return found


def test_lines_that_lie_otherwise_are_copied_before_they_are_convolved() -> None:
    """data2vec's peak in inference was 20 % too low (aten/src/ATen/native/Convolution.cpp)."""
    peaks = []
    for turned in (False, True):
        x = torch.empty(8, 8192, 64) if turned else torch.empty(8, 64, 8192)
        found = trace_module(Turned(turned=turned), (x,), name="one", mode="infer")
        assert found.memory is not None
        peaks.append(found.memory.peak)
        assert sum(k.count for k in found.kernels if k.kind == "copy") == turned
    assert peaks[1] - peaks[0] == 2.0 * x.numel()


@pytest.mark.parametrize(("groups", "fresh"), [(1, 1), (3, 1), (2, 2)])
def test_a_convolution_in_groups_of_no_power_of_two_copies_what_it_reads_and_writes(
    groups: int, fresh: int
) -> None:
    """Peaks of RegNet and RepVGG in inference were 11 to 22 % too low."""
    x = torch.empty(8, 48, 64, 64).to(memory_format=torch.channels_last)
    made = nn.Conv2d(48, 48, 3, padding=1, groups=groups, bias=False).to(memory_format=torch.channels_last)
    found = trace_module(made, (x,), name="one", mode="infer").memory
    assert found is not None
    assert found.peak == pytest.approx(4.0 * fresh * x.numel(), rel=0.03)


class Attends(nn.Module):
    """Residual blocks of attention, each of which torch asks whether it may take its fast path."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.MultiheadAttention(64, 4, batch_first=True) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x, x, x, need_weights=False)[0]
        return x


def test_what_torch_is_asked_about_a_tensor_does_not_keep_it() -> None:
    """The peak of inference grows with weights alone, not with what each layer was called with."""
    peaks = []
    for layers in (2, 12):
        found = trace_module(Attends(layers), (torch.empty(32, 50, 64),), name="a", mode="infer").memory
        assert found is not None
        peaks.append(found.peak - found.parameters)
    assert peaks[1] == pytest.approx(peaks[0], rel=0.01)


class Uses(nn.Module):
    """One tensor of 4 MiB that several read, so that their gradients are added."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.scale = how, nn.Parameter(torch.ones(1024))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * self.scale
        if self.how == "sums":
            return x * 2.0 + x * 3.0
        if self.how == "sorts":
            return x.sort(0).values
        return x * (x > 0).sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("how", "made", "in_place"),
    [("sums", "aten.add", "aten.add_"), ("sorts", "aten.scatter", "aten.scatter_")],
)
def test_backward_adds_and_scatters_in_place_what_nobody_else_holds(
    how: str, made: str, in_place: str
) -> None:
    x = torch.randn(1024, 1024)
    eager, compiled = (
        trace_module(lambda: Uses(how), (x,), name=how, precision=Precision.FP32, compiled=compiled)
        for compiled in (False, True)
    )
    names = [k.name for k in eager.kernels if k.phase == "backward"]
    assert in_place in names
    assert made not in names
    assert in_place not in [k.name for k in compiled.kernels]


def test_truths_are_copied_to_whole_numbers_before_they_are_counted() -> None:
    trace = trace_module(
        lambda: Uses("counts"), (torch.randn(1024, 1024),), name="counts", precision=Precision.FP32
    )
    (copied,) = [k for k in trace.kernels if k.name.startswith("aten._to_copy") and k.dtype == "int64"]
    assert copied.bytes_written == 8 * MIB
    assert trace.memory is not None
    assert trace.memory.peak > 4 * MIB + 4 * MIB + 8 * MIB


@pytest.mark.parametrize(
    ("log", "compiled", "taken"), [(False, False, 1), (True, False, 0), (False, True, 0)]
)
def test_the_gradient_of_a_softmax_is_made_from_a_tensor_more(log: bool, compiled: bool, taken: int) -> None:
    def build() -> tuple[Callable[[], object], float]:
        scores = torch.ones(2048, 2048, device="meta", requires_grad=True)
        of: Any = torch.log_softmax if log else torch.softmax
        return lambda: of(scores, 1).sum().backward(), 1.0

    taken_beside = workspaces(record(build), compiled=compiled).values()
    assert [size for size in taken_beside if size > MIB] == [16 * MIB] * taken


def test_reductions_take_what_was_measured() -> None:
    """124 cases on an H200, predicted before they were measured; the allocator may give a MiB more."""
    cases = json.loads((RESULTS.parent / "experiments" / "staged.json").read_text())
    for name, dtype, sizes, order, dims, measured in cases:
        last = torch.channels_last if order == "last" else torch.contiguous_format
        x = torch.empty(sizes, device="meta").contiguous(memory_format=last)
        operand = Value(
            id=1, storage=1, shape=tuple(sizes), dtype="bf16" if dtype == "bfloat16" else "fp32",
            bytes=float(x.numel()), strides=x.stride(),
        )  # fmt: skip
        args = (operand, *((2,) if name == "linalg_vector_norm" else ()), dims)
        taken = staged(Call(name=f"aten.{name}", args=args, kwargs={}, outs=(operand,)))
        assert 0 <= measured - taken <= MIB + 2 * 512


@pytest.mark.parametrize(
    ("rows", "columns", "taken"),
    [(1020, 512, 0), (1021, 512, 4 * MIB), (4080, 511, 0), (4081, 511, 16 * 32 * 4 * 511)],
)
def test_sums_leave_parts_from_256_elements_of_a_thread_on(rows: int, columns: int, taken: float) -> None:
    """A thread has four columns if four divides them, else one; so 4 or 16 threads share a column."""
    x = Value(
        id=1, storage=1, shape=(rows, columns), dtype="bf16", bytes=2.0 * rows * columns, strides=(columns, 1)
    )
    assert staged(Call(name="aten.sum", args=(x, [0]), kwargs={}, outs=(x,))) == taken


@pytest.mark.parametrize(("bias", "taken"), [(True, 1), (False, 0)])
def test_the_gradient_of_a_bias_is_a_sum(bias: bool, taken: int) -> None:
    def build() -> tuple[Callable[[], object], float]:
        with torch.device("meta"):
            layer = nn.Conv2d(64, 256, 1, bias=bias).to(memory_format=torch.channels_last)
            images = torch.empty(64, 64, 56, 56).contiguous(memory_format=torch.channels_last)
        return lambda: layer(images).sum().backward(), 1.0

    beside = workspaces(record(build), compiled=False).values()
    assert [size for size in beside if size > MIB] == [132 * MIB] * taken
