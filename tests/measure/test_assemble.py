"""From events to a Measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise import workloads
from gpuwise.facts import catalog
from gpuwise.measure import events
from gpuwise.measure.assemble import Limits, MeasurementBuilder, assemble
from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.model.result import BatchTrial, Compilation, Measurement, Window

CONFIG = RunConfig(workload="bert-large", mode="train", precision="bf16", compile=True)
WHOLE: list[events.Event] = [
    events.Ready(version="2.11", cuda="13.0", cudnn=None, device="NVIDIA H200", memory_bytes=None),
    BatchTrial(batch=64, fits=True, compiled=False, items_per_s=450.0),
    events.Built(batch=64, items=64, flop_per_item=739.28e9, bytes_per_item=3.0e9),
    events.Checked(mismatch=1e-4),
    events.First(seconds=40.0, compilation=Compilation(seconds=30.0, graphs=3, cached=1)),
    events.Warmup(step_s=(0.12, 0.11)),
    *(Window(step_s=(0.11,) * 10, started_s=i * 2.0, ended_s=i * 2 + 1.1) for i in range(5)),
    events.Done(memory_peak_bytes=2**34, loss=(6.0, 5.9)),
]


def made(heard_events: list[events.Event], config: RunConfig = CONFIG, **changes: object) -> Measurement:
    heard = MeasurementBuilder()
    for event in heard_events:
        heard.add(event)
    options: dict[str, object] = {"gpu": catalog.get("h200-sxm"), "limits": Limits(), **changes}
    spec = workloads.get(config.workload).spec
    return assemble(config, spec, heard, started_at="2026-11-21T00:00:00+00:00", **options)  # type: ignore[arg-type]


def test_a_whole_run() -> None:
    m = made(WHOLE)
    assert m.status == "ok"
    assert m.throughput is not None
    assert m.throughput.value == pytest.approx(64 / 0.11)
    assert (m.batch, m.items_per_step, m.cold_start_s, m.memory_peak_bytes) == (64, 64, 40.0, 2**34)
    assert m.compilation == Compilation(seconds=30.0, graphs=3, cached=1)
    assert m.batch_trials[0].items_per_s == 450.0
    assert len(m.windows) == 5


def test_what_compiles_nothing_has_no_compilation() -> None:
    eager = [events.First(seconds=2.0) if isinstance(e, events.First) else e for e in WHOLE]
    m = made(eager, replace(CONFIG, compile=False))
    assert (m.cold_start_s, m.compilation) == (2.0, None)


def test_mfu_is_model_flop_over_the_dense_peak() -> None:
    m = made(WHOLE)
    assert m.mfu == pytest.approx(739.28e9 * (64 / 0.11) / 989.5e12, rel=1e-3)


def test_an_unknown_gpu_has_no_mfu() -> None:
    assert made(WHOLE, gpu=None).mfu is None


def test_the_nearer_limit_is_named() -> None:
    near_compute = made(WHOLE, limits=Limits(flop_per_s={"bf16": 797e12}, bytes_per_s=4.24e12))
    assert near_compute.limit == "compute"
    assert near_compute.limit_share == pytest.approx(739.28e9 * (64 / 0.11) / 797e12, rel=1e-3)
    near_memory = made(WHOLE, limits=Limits(flop_per_s={"bf16": 797e12}, bytes_per_s=2e12))
    assert near_memory.limit == "memory"
    assert made(WHOLE, limits=Limits(flop_per_s={"fp32": 1e12})).limit_share is None


def test_weights_of_4_bits_are_held_against_products_in_16() -> None:
    limits = Limits(flop_per_s={"bf16": 797e12}, bytes_per_s=4.24e12)
    config = replace(CONFIG, workload="llama-3.1-8b-prefill", mode="infer", precision=Precision.INT4)
    m = made(WHOLE, config, limits=limits)
    assert m.limit == "compute"
    assert m.limit_share == pytest.approx(739.28e9 * (64 / 0.11) / 797e12, rel=1e-3)
    assert m.mfu == pytest.approx(739.28e9 * (64 / 0.11) / 989.5e12, rel=1e-3)


def test_a_child_that_died_leaves_its_windows() -> None:
    m = made(WHOLE[:-3], error="the measuring process was killed by SIGKILL")
    assert m.status == "failed"
    assert len(m.windows) == 3
    assert m.throughput is not None
    assert m.error is not None


def test_interruption_and_failures() -> None:
    assert made(WHOLE[:-1], interrupted=True).status == "interrupted"
    oom = made([*WHOLE[:2], events.Failed(kind="oom", message="CUDA out of memory")])
    assert (oom.status, oom.throughput, oom.error) == ("oom", None, "CUDA out of memory")
    unsupported = made([WHOLE[0], events.Failed(kind="unsupported", message="no bf16")])
    assert unsupported.status == "failed"


def test_nothing_heard_at_all() -> None:
    m = made([], error="the measuring process exited with 1")
    assert (m.status, m.windows, m.telemetry) == ("failed", (), None)


def test_three_runs_of_aime_are_one_measurement() -> None:
    config = RunConfig(workload="bert-large", mode="train", precision="bf16", protocol="aime")
    runs: list[events.Event] = []
    for speed in (0.10, 0.11, 0.12):
        runs += [*WHOLE[:5], events.Warmup(step_s=(speed,) * 10)]
        runs += [Window(step_s=(speed,) * 50, started_s=0, ended_s=5), WHOLE[-1]]
    m = made(runs, config)
    assert m.throughput is not None
    assert m.throughput.method == "long-run"
    assert m.throughput.value == pytest.approx(3 * 64 / (0.10 + 0.11 + 0.12))
    assert m.warmup_s == (0.10,) * 10


def test_limits_gather_what_was_measured() -> None:
    matmul = RunConfig(workload="matmul", mode="limit", precision="bf16")
    copy = RunConfig(workload="copy", mode="limit", precision="fp32")
    timed = [
        events.Built(batch=1, items=100),
        *(Window(step_s=(0.1,) * 5, started_s=0, ended_s=0.5) for _ in range(5)),
        events.Done(memory_peak_bytes=None, loss=()),
    ]
    limits = Limits().with_measured(made(timed, matmul)).with_measured(made(timed, copy))
    assert limits.flop_per_s == {"bf16": pytest.approx(1000)}
    assert limits.bytes_per_s == pytest.approx(1000)
    assert limits.with_measured(made(WHOLE)) is limits
    link = RunConfig(workload="host-to-device", mode="limit", precision="fp32")
    assert limits.with_measured(made(timed, link)) is limits


def test_a_cost_that_nobody_knows_gives_no_share() -> None:
    uncounted = [events.Built(batch=64, items=64) if isinstance(e, events.Built) else e for e in WHOLE]
    m = made(uncounted, limits=Limits(flop_per_s={"bf16": 797e12}, bytes_per_s=2e12))
    assert (m.flop_per_item, m.mfu, m.limit_share, m.limit) == (None, None, None, None)
    assert m.throughput is not None


def test_a_toy_is_never_held_against_a_peak() -> None:
    toy = RunConfig(workload="bert-large", mode="train", precision="bf16", size="toy")
    assert made(WHOLE, toy).mfu is None
