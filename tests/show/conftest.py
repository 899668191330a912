"""Measurements of every kind, two GPUs of which everything is known, and one of which nothing is."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Issue, Measurement, Result, Telemetry, Window

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
THROTTLED = Issue(code="throttled", severity="warning", detail="5.0 % of the time", fix="cool the card")
NOISY = Issue(code="noisy", severity="warning", detail="spread of 4 %", fix="stop other work")

OK = Measurement(
    config=CONFIG,
    workload_version=1,
    status="ok",
    item="image",
    started_at="2026-11-21T04:40:15Z",
    batch=256,
    throughput=Interval(value=7210.0, low=7190.0, high=7231.63, method="bootstrap"),
    windows=(
        Window(step_s=(0.0372, 0.0371), started_s=12.5, ended_s=12.6),
        Window(step_s=(0.0371, 0.0372, 0.0374), started_s=12.7, ended_s=12.8),
    ),
    warmup_s=(41.2, 0.04),
    cold_start_s=55.1,
    memory_peak_bytes=22 * 2**30,
    mfu=0.178,
    limit_share=0.214,
    limit="memory",
    telemetry=Telemetry(samples=60, power_w=612.5),
)
OOM = replace(
    OK,
    config=replace(CONFIG, precision="fp32", compile=False),
    status="oom",
    throughput=None,
    windows=(),
    mfu=None,
    limit_share=None,
    limit=None,
    memory_peak_bytes=None,
    telemetry=None,
    error="CUDA out of memory\nTried to allocate 2 GiB",
)
MATMUL = Measurement(
    config=RunConfig(workload="matmul", mode="limit", precision="bf16"),
    workload_version=1,
    status="ok",
    item="FLOP",
    started_at="2026-11-21T04:40:15Z",
    batch=1,
    throughput=Interval(value=7.97e14, low=7.96e14, high=7.98e14, method="bootstrap"),
    memory_peak_bytes=2**30,
    mfu=0.806,
    telemetry=Telemetry(samples=9, power_w=650.0),
)
COPY = replace(
    MATMUL,
    config=RunConfig(workload="copy", mode="limit", precision="fp32"),
    item="byte",
    throughput=Interval(value=4.1e12, low=4.0e12, high=4.2e12, method="bootstrap"),
    mfu=None,
)
PUBLISHED = replace(
    OK,
    throughput=Interval(value=900.0, low=900.0, high=900.0, level=None, method="stated"),
    windows=(),
)

FOUND = Environment(device="NVIDIA H200", gpu_id="h200-sxm", torch="2.11.0", driver="570.1")


def result(*measurements: Measurement, **changes: object) -> Result:
    """A result that holds these measurements."""
    base = Result(
        id="20261121-a",
        created_at="2026-11-21T04:40:12Z",
        command="gpuwise bench",
        environment=FOUND,
        measurements=measurements,
    )
    return replace(base, **changes)


DATASHEET = Source(id="d", title="The datasheet", kind="vendor", read_on="2026-11-21")
DATABASE = Source(id="t", title="A database", kind="third-party", read_on="2026-11-20")


def card(name: str, **facts: str | float | bool) -> GpuSpec:
    """A GPU with these facts and one peak in bf16, the source alternating."""
    sources = (DATASHEET, DATABASE)
    peak = Peak(
        format="bf16",
        accumulate="fp32",
        unit="matrix",
        flop_per_s=1e14 if name == "one" else 2.5e14,
        source=DATASHEET,
    )
    return GpuSpec(
        id=name,
        name=f"Card {name}",
        facts={f: Fact(field=f, value=v, source=sources[i % 2]) for i, (f, v) in enumerate(facts.items())},
        peaks=(peak,),
    )
