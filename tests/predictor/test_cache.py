"""Traces in files: the same at every batch as recorded, current, small, and usable without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.model.question import RunConfig
from gpuwise.predictor import trace_store
from gpuwise.predictor.graph import grouped
from gpuwise.predictor.kernels import Kernel, Memory, Trace

ROOT = Path(__file__).parent.parent.parent
SHIPPED = ROOT / "src" / "gpuwise" / "predictor" / "data" / "traces"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))


def made(batch: int, *, odd: float = 0.0, chunks: bool = False) -> Trace:
    """A trace as if recorded: a product, two maps of which the second has a fixed size, chunks."""

    def kernel(name: str, shape: tuple[int, ...], size: float) -> Kernel:
        return Kernel(
            kind="pointwise", name=name, dtype="bf16", shape=shape, flop=size, bytes_read=2 * size + odd,
            bytes_written=size / 3, phase="forward",
        )  # fmt: skip

    kernels = [
        kernel("a", (batch, 7), 7.0 * batch),
        kernel("b", (64,), 64.0),
        kernel("a", (batch, 7), 7.0 * batch),
    ]
    if chunks:
        kernels += [kernel("c", (9,), 9.0)] * batch
    return Trace(
        workload="net", version=3, mode="train", precision="bf16", batch=batch, compiled=True, item="image",
        items=2.0 * batch, parameters=12, kernels=tuple(kernels), unknown=("x.y",),
        memory=Memory(parameters=48.0, gradients=48.0, optimiser=96.0, peak=1000.0 * batch, largest=64.0),
    )  # fmt: skip


def grouped_trace(trace: Trace) -> Trace:
    return replace(trace, kernels=grouped(trace.kernels))


def encoded(*traces: Trace) -> trace_store.Document:
    """A document of one variant "x", as a file gives it back."""
    found = json.loads(trace_store.dumps(trace_store.encode({"x": traces})))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize("batch", [2, 4, 8, 1, 5, 100])
def test_a_document_gives_every_batch_back(batch: int, chunks: bool) -> None:
    document = encoded(*(made(b, chunks=chunks) for b in (2, 4, 8)))
    assert trace_store.covers(document, "x", batch)
    same = trace_store.at(document, "x", batch)
    expected = grouped_trace(made(batch, chunks=chunks))
    assert len(same.kernels) == len(expected.kernels)
    for mine, theirs in zip(same.kernels, expected.kernels, strict=True):
        assert mine.bytes_written == pytest.approx(theirs.bytes_written)
        assert replace(mine, bytes_written=0.0) == replace(theirs, bytes_written=0.0)
    assert replace(same, kernels=()) == replace(expected, kernels=())


def test_variants_share_what_is_equal() -> None:
    alone = len(json.dumps(trace_store.encode({"x": [made(2)]})))
    both = trace_store.encode({"x": [made(2)], "y": [replace(made(2), precision="fp16")]})
    assert len(json.dumps(both)) < 1.5 * alone
    assert trace_store.at(both, "y", 2).precision == "fp16"
    assert trace_store.at(both, "y", 2).kernels == trace_store.at(both, "x", 2).kernels


def test_one_batch_gives_that_batch_only() -> None:
    document = encoded(made(4))
    assert trace_store.covers(document, "x", 4)
    assert not trace_store.covers(document, "x", 5)
    assert not trace_store.covers(document, "y", 4)
    assert trace_store.at(document, "x", 4) == grouped_trace(made(4))


def test_what_is_not_linear_in_the_batch_is_refused() -> None:
    with pytest.raises(InputError, match="not linear"):
        trace_store.encode({"x": [made(2), made(4, odd=1.0), made(8)]})
    fewer = replace(made(4), kernels=made(4).kernels[:1])
    with pytest.raises(InputError, match="number of its kernels"):
        trace_store.encode({"x": [made(2), fewer]})


def test_a_sister_precision_is_the_same_under_other_names() -> None:
    document = encoded(made(2), made(4), made(8))
    assert {k.dtype for k in trace_store.at(document, "x", 4, "fp16").kernels} == {"fp16"}
    matmul = replace(made(4).kernels[0], kind="matmul", dtype="fp32")
    single = replace(made(4), precision="fp32", kernels=(matmul, replace(matmul, kind="pointwise")))
    tf32 = trace_store.at(encoded(single), "x", 4, "tf32")
    assert [k.dtype for k in tf32.kernels] == ["tf32", "fp32"]


def test_memory_is_interpolated_between_the_nearest_batches() -> None:
    last = made(8)
    assert last.memory is not None
    document = encoded(made(2), made(4), replace(last, memory=replace(last.memory, peak=20_000.0)))
    peaks = [trace_store.at(document, "x", b).memory for b in (3, 4, 6)]
    assert [m.peak for m in peaks if m] == [3000.0, 4000.0, 12_000.0]


def test_a_broken_file_is_an_input_error_and_an_old_schema_is_passed_over(tmp_path: Path) -> None:
    for number, text in enumerate(("{", "[]", "{}")):
        path = tmp_path / f"{number}.json"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="is not a trace"):
            trace_store.read(path)
    old = tmp_path / "old.json"
    old.write_text('{"schema": 0}', encoding="utf-8")
    assert trace_store.read(old) is None
    assert trace_store.read(tmp_path / "none.json") is None


# -- shipped -------------------------------------------------------------------------------------


def script() -> ModuleType:
    spec = spec_from_file_location("make_traces", ROOT / "experiments" / "make_traces.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["resnet50", "llm-1b-decode"])
def test_shipped_traces_are_current(name: str) -> None:
    """`python experiments/make_traces.py` makes them again: the first of its precisions, to the last number;
    the test below has others."""
    made = script()
    then = json.loads((SHIPPED / f"{name}.json").read_text(encoding="utf-8"))
    now = json.loads(made.dumps(made.encode(made.variants(made.configurations(name)[0]))))
    for variant in (*then["variants"].values(), *now["variants"].values()):
        variant["calls"].pop("functions", None)  # differs between versions of torch, and was not counted once
    for table in ("words", "numbers", "kernels"):
        assert now[table] == then[table][: len(now[table])], table
    assert len(now["variants"]) == 2  # eager and compiled
    for key, value in now["variants"].items():
        assert value == then["variants"][key], key


def models() -> list[str]:
    return [n for n in workloads.names() if {"train", "infer"} & set(workloads.get(n).spec.modes)]


def test_shipped_traces_are_small_and_of_current_versions() -> None:
    assert {path.stem for path in SHIPPED.glob("*.json")} == {*models(), *script().MORE}
    for path in SHIPPED.glob("*.json"):
        document = trace_store.read(path)
        assert document is not None
        assert document["version"] == workloads.get(document["workload"]).spec.version, path.name
        assert {u for v in document["variants"].values() for u in v["unknown"]} == set(), path.name
    assert sum(path.stat().st_size for path in SHIPPED.glob("*.json")) < 1_300_000


@pytest.mark.parametrize("name", models())
def test_every_model_is_shipped_in_its_default_batch_and_every_precision(name: str) -> None:
    spec = workloads.get(name).spec
    for mode, precision, compiled in product(spec.modes, spec.precisions, (False, True)):
        asked = RunConfig(
            workload=name, mode=mode, precision=precision, compile=compiled, batch=spec.default_batch
        )
        trace = trace_store.find(asked, spec.version)
        assert trace is not None, asked.key("batch")
        assert (trace.mode, trace.precision, trace.compiled) == (mode, precision, compiled)
        assert trace.items > 0
        assert trace.memory is not None
        assert trace.memory.peak > trace.memory.parameters


def test_a_shipped_trace_needs_no_torch() -> None:
    code = """
import sys
sys.modules["torch"] = None
from gpuwise.model.question import (RunConfig)
from gpuwise.predictor.trace_store import obtain
trace = obtain(RunConfig(workload="resnet50", mode="train", precision="tf32", compile=True), 100)
print(trace.batch, trace.items, sum(k.count for k in trace.kernels if k.kind == "convolution"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["100", "100.0", "158"], done.stderr


def test_a_shipped_trace_is_what_tracing_gives() -> None:
    from gpuwise.predictor.trace import trace_workload

    for precision in ("bf16", "tf32"):
        asked = RunConfig(workload="resnet50", mode="infer", precision=precision, compile=True)
        shipped, now = trace_store.obtain(asked, 37), trace_workload(asked, 37)
        assert [k.shape for k in shipped.kernels] == [k.shape for k in now.kernels]
        assert [k.bytes_read for k in shipped.kernels] == pytest.approx([k.bytes_read for k in now.kernels])
        assert {k.dtype for k in shipped.kernels} == {k.dtype for k in now.kernels}
        assert shipped.launches == now.launches
        assert shipped.flop == pytest.approx(now.flop)
        assert shipped.memory is not None
        assert now.memory is not None
        assert shipped.memory.peak == pytest.approx(now.memory.peak, rel=0.02)


def test_what_was_traced_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = RunConfig(workload="bert-base", mode="infer", precision="bf16", recipe="script")
    first = trace_store.obtain(asked, 2)
    (kept,) = (tmp_path / "traces").rglob("*.json")
    assert kept.name == "bert-base-infer-bf16-script-eager-b2.json"
    monkeypatch.setattr(trace_store, "find_spec", lambda name: None)
    assert trace_store.obtain(asked, 2).flop == pytest.approx(first.flop)
    with pytest.raises(MachineError, match="needs torch"):
        trace_store.obtain(asked, 3)
    monkeypatch.setattr(trace_store, "tracer", lambda: "another")  # may have recorded it otherwise
    with pytest.raises(MachineError, match="needs torch"):
        trace_store.obtain(asked, 2)


def test_toys_are_not_kept(tmp_path: Path) -> None:
    trace_store.obtain(RunConfig(workload="resnet50", mode="infer", precision="bf16", size="toy"), 2)
    assert not (tmp_path / "traces").exists()


def test_a_series_holds_what_is_shipped_or_follows_from_it() -> None:
    whole = trace_store.series(RunConfig(workload="resnet50", mode="train", precision="bf16"))
    assert (whole.batches[0], whole.batches[-1], whole.start) == (1, trace_store.MOST_ITEMS, 256)
    assert whole.at(512).batch == 512
    uneven = trace_store.series(RunConfig(workload="llm-1b", mode="train", precision="bf16"))
    assert uneven.batches == (1, 2, 4, 8)
    asked = trace_store.series(RunConfig(workload="resnet50", mode="train", precision="bf16", batch=7))
    assert asked.batches == (7,)
    assert asked.at(7).batch == 7


def test_a_series_of_what_was_kept_before_is_as_long_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = {b: replace(made(b), workload="resnet50", version=1) for b in (256, 512, 1024)}
    monkeypatch.setattr(trace_store, "find", lambda config, version: traced.get(config.batch))
    found = trace_store.series(RunConfig(workload="resnet50", mode="train", precision="bf16"))
    assert len(found.batches) > 10
    assert found.at(64).items == 128.0


@pytest.mark.parametrize("last", [4, 2])
def test_a_series_is_the_same_after_it_was_recorded(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """Where three traces do not tell the others, or the third cannot be recorded."""
    kept: dict[int, Trace] = {}

    def obtain(config: RunConfig, batch: int) -> Trace:
        if batch > last * 256:
            raise InputError("too large", hint="a smaller one")
        return kept.setdefault(
            batch, replace(made(batch, odd=float(batch == 512)), workload="resnet50", version=1)
        )

    monkeypatch.setattr(trace_store, "obtain", obtain)
    monkeypatch.setattr(trace_store, "find", lambda config, version: kept.get(config.batch))
    asked = RunConfig(workload="resnet50", mode="train", precision="bf16")
    first, second = trace_store.series(asked), trace_store.series(asked)
    assert first.batches == second.batches
