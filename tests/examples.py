"""Objects that tests of several packages begin with."""

from __future__ import annotations

from gpuwise.model.question import RunConfig, Switches
from gpuwise.model.result import Interval, Tuned

SPEED = Interval(value=100.0, low=99.0, high=101.0, method="bootstrap")
TUNED = Tuned(
    device="test-gpu",
    torch="2.11.0+cu130",
    cuda="13.0",
    workload="resnet50",
    version=1,
    mode="train",
    precision="bf16",
    compile=True,
    batch=512,
    switches=Switches(pooling="triton"),
    throughput=SPEED,
    gain=SPEED,
    found_at="2026-11-21T00:00:00+00:00",
    source="20261121-000000-test-0000",
)
"""A recipe that was found for what ASKED asks."""
ASKED = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
FROM_REST = "2026-11-22T05"
"""The hour in which limits were timed from the first step after a rest, which is longer than the others."""
