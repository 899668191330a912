"""Measurements that were never made: a speed is what a formula says."""

from __future__ import annotations

from gpuwise.model.question import RunConfig, Switches
from gpuwise.model.result import Interval, Issue, Measurement


def measurement(
    speed: float | None = 100.0,
    *,
    switches: Switches = Switches(),  # noqa: B008  frozen
    batch: int = 8,
    noise: float = 0.001,
    norm: float | None = 2.0,
    loss: tuple[float, ...] = (6.0, 5.0),
    cautions: tuple[Issue, ...] = (),
    error: str | None = None,
) -> Measurement:
    """One that ended well, or `failed` where it has no speed."""
    config = RunConfig(workload="resnet50", mode="train", precision="bf16", switches=switches, batch=batch)
    found = None
    if speed is not None:
        low, high = speed * (1 - noise), speed * (1 + noise)
        found = Interval(value=speed, low=low, high=high, method="bootstrap")
    return Measurement(
        config=config,
        workload_version=1,
        status="failed" if speed is None else "ok",
        item="image",
        started_at="2026-11-21T00:00:00+00:00",
        batch=batch,
        throughput=found,
        gradient_norm=norm,
        loss=loss,
        cautions=cautions,
        error=error,
    )
