"""Cards to judge: healthy H200s, each with what a test changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpuwise.judge.accept.card import TestedCard
from gpuwise.measure.telemetry.sensor import DeviceInfo, Wear
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement, Result, Telemetry

HEALTHY = Environment(
    device="NVIDIA H200",
    gpu_id="h200-sxm",
    device_memory_bytes=150_754_820_096,
    power_limit_w=700.0,
    power_limit_default_w=700.0,
    mig=False,
    ecc=True,
    pcie_generation=5,
    pcie_generation_max=5,
    pcie_width=16,
    pcie_width_max=16,
    other_processes=0,
)
TOLD = Telemetry(
    samples=40,
    temperature_max_c=61.0,
    throttled=(("power-cap", 0.9),),
    pcie_generation=5,
    pcie_width=16,
)
NEW = Wear(ecc_corrected=0, ecc_uncorrected=0, rows_remapped=0, remap_pending=False, remap_failed=False)


def speed(workload: str, value: float, item: str = "FLOP", **more: Any) -> Measurement:
    """A measured limit, 1 % to either side."""
    config = RunConfig(workload=workload, mode="limit", precision=more.pop("precision", "fp32"))
    usual = Measurement(
        config=config,
        workload_version=1,
        status="ok",
        item=item,
        started_at="2026-11-21T00:00:00+00:00",
        batch=1,
        throughput=Interval(value=value, low=0.99 * value, high=1.01 * value, method="bootstrap"),
        telemetry=TOLD,
    )
    return replace(usual, **more)


@pytest.fixture
def card() -> Callable[..., TestedCard]:
    """`card(1, copy=4.0e12, environment={...}, telemetry={...}, after={...})`."""

    def make(index: int = 0, *, copy: float = 4.26e12, **changes: Any) -> TestedCard:
        told = replace(TOLD, **changes.pop("telemetry", {}))
        found = replace(HEALTHY, **changes.pop("environment", {}))
        measured = (
            replace(speed("matmul", 5.11e13), telemetry=told),
            replace(speed("copy", copy, "byte"), telemetry=told),
        )
        result = Result(
            id=f"20261121-{index}",
            created_at="2026-11-21T00:00:00+00:00",
            command="gpuwise accept",
            environment=found,
            measurements=changes.pop("measurements", measured),
        )
        info = DeviceInfo(index=index, name=found.device, uuid=f"GPU-{index}", serial=f"165{index}")
        usual = TestedCard(name=f"GPU {index}", result=result, info=info, before=NEW, after=NEW)
        return replace(usual, after=replace(NEW, **changes.pop("after", {})), **changes)

    return make
