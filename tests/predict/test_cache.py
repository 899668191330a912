"""Traces in files: the same at every batch as recorded, current, small, and usable without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.model.run import RunConfig
from gpuwise.model.trace import Kernel, Memory, Trace
from gpuwise.predict import cache
from gpuwise.predict.graph import grouped

ROOT = Path(__file__).parent.parent.parent
SHIPPED = ROOT / "src" / "gpuwise" / "predict" / "data" / "traces"


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


@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize("batch", [2, 4, 8, 1, 5, 100])
def test_a_document_gives_every_batch_back(batch: int, chunks: bool) -> None:
    document = json.loads(cache.dumps(cache.encode([made(b, chunks=chunks) for b in (2, 4, 8)], "tuned")))
    assert cache.at(document, batch) == pytest.approx(grouped_trace(made(batch, chunks=chunks)))


def test_one_batch_gives_that_batch_only() -> None:
    document = cache.encode([made(4)], "tuned")
    assert cache.covers(document, 4)
    assert not cache.covers(document, 5)
    assert cache.at(document, 4) == grouped_trace(made(4))


def test_what_is_not_linear_in_the_batch_is_refused() -> None:
    with pytest.raises(InputError, match="not linear"):
        cache.encode([made(2), made(4, odd=1.0), made(8)], "tuned")


def test_a_sister_precision_is_the_same_under_other_names() -> None:
    document = cache.encode([made(2), made(4), made(8)], "tuned")
    assert {k.dtype for k in cache.at(document, 4, "fp16").kernels} == {"fp16"}
    matmul = replace(made(4).kernels[0], kind="matmul", dtype="fp32")
    single = replace(made(4), precision="fp32", kernels=(matmul, replace(matmul, kind="pointwise")))
    tf32 = cache.at(cache.encode([single], "tuned"), 4, "tf32")
    assert [k.dtype for k in tf32.kernels] == ["tf32", "fp32"]


def test_memory_is_interpolated_between_the_nearest_batches() -> None:
    traces = [made(2), made(4), made(8)]
    bent = replace(traces[2], memory=replace(traces[2].memory, peak=20_000.0))  # type: ignore[type-var]
    document = cache.encode([*traces[:2], bent], "tuned")
    peaks = [cache.at(document, b).memory for b in (3, 4, 6)]
    assert [m.peak for m in peaks if m] == [3000.0, 4000.0, 12_000.0]


def test_a_broken_file_is_an_input_error_and_an_old_schema_is_passed_over() -> None:
    with pytest.raises(InputError, match="is no trace"):
        cache.read("{", "file.json")
    with pytest.raises(InputError, match="is no trace"):
        cache.read("[]", "file.json")
    assert cache.read('{"schema": 0}', "file.json") is None


# -- shipped -------------------------------------------------------------------------------------


def script() -> ModuleType:
    spec = spec_from_file_location("make_traces", ROOT / "experiments" / "make_traces.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


QUICK = [("resnet50", "infer", "bf16"), ("bert-base", "infer", "fp32"), ("llm-1b-decode", "infer", "bf16"),
         ("llm-124m", "train", "bf16")]  # fmt: skip


@pytest.mark.parametrize(("name", "mode", "precision"), QUICK)
def test_shipped_traces_are_current(name: str, mode: str, precision: str) -> None:
    """`python experiments/make_traces.py` makes them again."""
    made_now = script().documents(RunConfig(workload=name, mode=mode, precision=precision))  # type: ignore[arg-type]
    for file, text in made_now.items():
        now, then = json.loads(text), json.loads((SHIPPED / file).read_text(encoding="utf-8"))
        assert now == then, file


def test_shipped_traces_are_small_and_of_current_versions() -> None:
    total = 0
    for path in SHIPPED.glob("*.json"):
        total += path.stat().st_size
        document = cache.read(path.read_text(encoding="utf-8"), str(path))
        assert document is not None
        assert document["version"] == workloads.get(document["workload"]).spec.version, path.name
        assert document["unknown"] == [], path.name
    assert 0 < total < 1_000_000


@pytest.mark.parametrize("name", [n for n in workloads.names() if "limit" not in workloads.get(n).spec.modes])
def test_every_model_is_shipped_in_its_default_batch_and_every_precision(name: str) -> None:
    spec = workloads.get(name).spec
    for mode in set(spec.modes) & {"train", "infer"}:
        for precision in spec.precisions:
            for compiled in (False, True):
                asked = RunConfig(
                    workload=name, mode=mode, precision=precision, compile=compiled, batch=spec.default_batch
                )
                document = cache.find(asked, spec.version)
                assert document is not None, asked.cell
                trace = cache.at(document, spec.default_batch, precision)
                assert trace.items > 0
                assert trace.memory is not None
                assert trace.memory.peak > trace.memory.parameters


def test_a_shipped_trace_needs_no_torch() -> None:
    code = """
import sys
sys.modules["torch"] = None
from gpuwise.model.run import RunConfig
from gpuwise.predict.cache import obtain
trace = obtain(RunConfig(workload="resnet50", mode="train", precision="tf32", compile=True), 100)
print(trace.batch, trace.items, sum(k.count for k in trace.kernels if k.kind == "convolution"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["100", "100.0", "158"], done.stderr


def test_a_shipped_trace_is_what_tracing_gives() -> None:
    from gpuwise.predict.trace import trace_workload

    for precision in ("bf16", "tf32"):
        asked = RunConfig(workload="resnet50", mode="infer", precision=precision, compile=True)
        shipped, now = cache.obtain(asked, 37), trace_workload(asked, 37)
        assert shipped.kernels == pytest.approx(now.kernels)
        assert shipped.launches == now.launches
        assert shipped.flop == pytest.approx(now.flop)
        assert shipped.memory is not None
        assert now.memory is not None
        assert shipped.memory.peak == pytest.approx(now.memory.peak, rel=0.02)


def test_what_was_traced_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = RunConfig(workload="bert-base", mode="infer", precision="bf16", recipe="parity")
    first = cache.obtain(asked, 2)
    (kept,) = (tmp_path / "traces").glob("*.json")
    assert kept.name == "bert-base-infer-bf16-parity-eager-b2.json"
    monkeypatch.setattr(cache, "find_spec", lambda name: None)
    assert cache.obtain(asked, 2).flop == pytest.approx(first.flop)
    with pytest.raises(MachineError, match="needs torch"):
        cache.obtain(asked, 3)


def test_toys_are_not_kept(tmp_path: Path) -> None:
    cache.obtain(RunConfig(workload="resnet50", mode="infer", precision="bf16", size="toy"), 2)
    assert not (tmp_path / "traces").exists()
