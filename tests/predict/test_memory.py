"""The allocator against its rules, and the peak against what was measured on one H200."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.model.question import USUAL, RunConfig, modern
from gpuwise.model.trace import Trace
from gpuwise.predict.graph import ALLOCATE, FREE, Event, Tape
from gpuwise.predict.step import KIB, MIB, workspace_bytes
from gpuwise.predict.trace import About, Allocator, memory_of, record_workload, replay, trace_of
from gpuwise.predict.trace_store import obtain

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
    assert memory_of(recorded).peak == replay(recorded.start, recorded.events).peak


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
            usual = modern(c.get("switches") or {}).items() <= asdict(USUAL).items()
            if alone and usual and m["status"] == "ok" and row.mode in ("train", "infer"):
                found[row[:-1]] = row
    return list(found.values())


RECIPES = {"tuned": "stock", "parity": "script", "stock": "stock", "script": "script"}
"""Raw files of either version -> today's, where no switch is set."""


def measurements(path: Path) -> list[dict[str, Any]]:
    """Those of a result file; the folder has files of other kinds."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = document.get("measurements", []) if isinstance(document, dict) else []
    return found


@cache
def error(row: Row) -> float:
    """Predicted over measured peak, less one: tensors and the workspaces of cuBLAS."""
    recorded = tape(*row[:5])
    trace: Trace = trace_of(recorded, NAMED, batch=row.batch, compiled=row.compiled)
    assert trace.memory is not None
    return (trace.memory.peak + workspace_bytes(trace.kernels)) / row.measured - 1


def convolves_4_bytes(row: Row) -> bool:
    """Whether cuDNN may take a workspace that nothing here knows of: what of memory is free, it may use."""
    return row.name.startswith("resnet") and row.precision in ("fp32", "tf32")


QUICK = [
    row
    for row in rows()
    if (row.name == "resnet50" or (row.name, row.recipe) == ("bert-large", "stock"))
    and row.precision in ("fp32", "bf16")
]
"""fp16 and tf32 hold the same bytes as these, and the recipe script of BERT has ten thousand kernels."""


def test_eager_peaks_are_those_measured() -> None:
    errors = [abs(error(row)) for row in QUICK if not row.compiled and not convolves_4_bytes(row)]
    assert len(errors) >= 12
    assert median(errors) < 0.002
    assert max(errors) < 0.005


def test_compiled_peaks_are_those_measured() -> None:
    errors = [abs(error(row)) for row in QUICK if row.compiled and not convolves_4_bytes(row)]
    assert len(errors) >= 8
    assert median(errors) < 0.003
    assert max(errors) < 0.01


def test_workspaces_of_convolutions_are_not_seen() -> None:
    """Convolutions in 4-byte formats took up to 5 GB of cuDNN in these rows; what is missing is never less
    than nothing."""
    errors = {row: error(row) for row in QUICK if convolves_4_bytes(row)}
    assert all(-0.35 < found < 0.001 for found in errors.values())
    parity = {row: found for row, found in errors.items() if row.recipe == "script"}
    compiled = {row.mode: found for row, found in parity.items() if row.compiled}
    assert -0.05 < compiled["train"] < -0.03
    assert -0.35 < compiled["infer"] < -0.3


EXCEPTIONS: tuple[tuple[Callable[[Row], bool], float, float], ...] = (
    (lambda row: convolves_4_bytes(row), -0.46, 0.001),
    (lambda row: (row.name, row.recipe, row.compiled) == ("bert-large", "script", True), -0.002, 0.055),
    (lambda row: row.name in BRANCHED and row.mode == "infer" and not row.compiled, -0.32, -0.2),
    (lambda row: row.compiled and row.mode == "train" and row.name.startswith("unet-"), -0.05, 0.12),
    (lambda row: row.compiled and row.precision == "tf32" and row.name in WITH_HEAD, 0.05, 0.1),
    (lambda row: row.compiled and row.mode == "infer" and row.name == "vit-b16", -0.32, -0.25),
    (lambda row: row.compiled and row.mode == "infer" and "1b-prefill" in row.name, -0.08, -0.05),
    (lambda row: row.compiled and row.mode == "infer" and row.name.startswith("unet-"), -0.15, 0.05),
)
"""What is further off than 4 %, and between which errors. Workspaces of convolutions are not seen: training
in tf32 took 13 GB of cuDNN beside 89 GB of tensors, eager inference 10 beside 12, that of networks with
branches in bf16 half a GB beside one. Compiled training holds less than is replayed where the compiler
computes again what it does not keep (separate attention kernels of BERT, the U-Net), and where the
gradient of a head is summed over chunks in 32 bits: replayed, all chunks' products are there until they are
summed at once. Compiled inference took 0.2 GB more than is replayed for ViT and 0.27 for the prefill of the
1 B model: where the compiler casts all weights before it multiplies, their 16-bit copies (0.17 GB of ViT) are
there at once; nothing is known of the other. That of the U-Net took half a GB more, of cuDNN."""
BRANCHED = ("googlenet", "inception-v3")
WITH_HEAD = ("llm-124m", "llm-1b")


@pytest.mark.slow
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


def test_a_thread_that_multiplies_has_a_workspace() -> None:
    training = trace_of(
        tape("bert-large", "train", "bf16", "stock", 4, "toy"), NAMED, batch=4, compiled=False
    )
    inference = trace_of(
        tape("bert-large", "infer", "bf16", "stock", 4, "toy"), NAMED, batch=4, compiled=False
    )
    assert workspace_bytes(training.kernels) == 2 * 32 * MIB
    assert workspace_bytes(inference.kernels, generation="earlier") == 8 * MIB + 128 * KIB
