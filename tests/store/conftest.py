"""A store of its own for every test, and a result to put there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import BatchTrial, Interval, Issue, Measurement, Result, Telemetry, Window

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)

MEASURED = Measurement(
    config=CONFIG,
    workload_version=1,
    status="ok",
    item="image",
    started_at="2026-11-21T04:40:15Z",
    batch=256,
    items_per_step=256.0,
    throughput=Interval(value=6882.0, low=6870.5, high=6893.0, method="bootstrap"),
    windows=(
        Window(step_s=(0.0372, 0.0371, 0.0373), started_s=12.5, ended_s=12.6116),
        Window(step_s=(0.0371, 0.0372, 0.0374), started_s=12.7, ended_s=12.8117),
    ),
    warmup_s=(41.2, 0.04, 0.0375),
    cold_start_s=55.1,
    memory_peak_bytes=23_622_320_128,
    loss=(6.93, 0.41),
    flop_per_item=24.5e9,
    mfu=0.17,
    limit_share=0.21,
    limit="compute",
    telemetry=Telemetry(samples=60, power_w=612.5, throttled=(("software power cap", 0.05),)),
    batch_trials=(BatchTrial(batch=256, fits=True, items_per_s=6800.0), BatchTrial(batch=4096, fits=False)),
    cautions=(
        Issue(code="throttled", severity="warning", detail="5.0 % of the time", fix="cool [ 1, 2 ] it"),
    ),
)

OUT_OF_MEMORY = Measurement(
    config=replace(CONFIG, batch=4096),
    workload_version=1,
    status="oom",
    item="image",
    started_at="2026-11-21T04:45:15Z",
    batch=4096,
    error="CUDA out of memory",
)

RESULT = Result(
    id="20261121-044012-h200-3fa9",
    created_at="2026-11-21T04:40:12Z",
    command="gpuwise bench resnet50 --compile on",
    environment=Environment(
        device="NVIDIA H200",
        gpu_id="h200-sxm",
        torch="2.11.0",
        ecc=True,
        variables=(("OMP_NUM_THREADS", "8"),),
    ),
    measurements=(MEASURED, OUT_OF_MEMORY),
)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """$GPUWISE_HOME in a temporary folder."""
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def example() -> Result:
    """One measurement that went well and one that ran out of memory."""
    return RESULT
