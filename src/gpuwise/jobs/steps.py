"""Time one step in this process, against an earlier result; what the pytest plug-in does."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from gpuwise.errors import InputError
from gpuwise.measure import events, telemetry
from gpuwise.measure.checks import check
from gpuwise.measure.engine import measure, timing_plan
from gpuwise.measure.prepare import check_host, visible
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import Device, Environment, RunConfig
from gpuwise.model.result import Comparison, Measurement, Result, Window
from gpuwise.stats.comparison import compare
from gpuwise.stats.interval import throughput


def time_step(
    step: Callable[[], object],
    *,
    name: str,
    items: int = 1,
    item: str = "step",
    precision: str = "fp32",
    device: Device = "cuda",
    time_s: float = 10.0,
) -> Measurement:
    """Warm up and time a step that handles `items` items and leaves its result on the device.

    `precision` is a label: two of them are never compared. Raises InputError for what is not a step,
    number or label.
    """
    from gpuwise.measure.frameworks.torch import clock_for  # torch, which the step needs anyway

    if not callable(step):
        raise InputError(f"a step is a function without arguments, not {step!r}")
    if not isinstance(items, int) or not 1 <= items < 10**15:
        raise InputError(f"items is a positive whole number of up to 15 digits, not {str(items)[:80]}")
    if precision not in PRECISIONS:
        raise InputError(f"precision is one of {', '.join(PRECISIONS)}, not {precision!r}")
    config = RunConfig(
        workload=name, mode="infer", precision=Precision(precision), batch=items, time_s=time_s, device=device
    )
    heard: list[events.Event] = []
    started = datetime.now(UTC).isoformat(timespec="seconds")
    # As `bench` has it: before the step itself loads the host.
    load, cores = telemetry.load_average(), telemetry.cpu_count()
    busy = check_host(load, cores) if device == "cpu" else ()
    measure(step, items, clock_for(device), timing_plan(replace(config, quick=True)), heard.append)
    windows = tuple(event for event in heard if isinstance(event, Window))
    measurement = Measurement(
        config=config,
        workload_version=1,
        status="ok",
        item=item,
        started_at=started,
        batch=items,
        items_per_step=items,
        throughput=throughput([window.step_s for window in windows], items),
        windows=windows,
        warmup_s=next((e.step_s for e in heard if isinstance(e, events.Warmup)), ()),
    )
    return replace(measurement, cautions=(*busy, *check(measurement)))


def against(baseline: Result, measured: Measurement) -> Comparison | None:
    """The same step in an earlier result; None where it holds none."""
    key = measured.config.key("batch")
    before = next((m for m in baseline.measurements if m.config.key("batch") == key), None)
    return None if before is None else compare(before, measured)


def environment(device: Device) -> Environment:
    """Of the first GPU that torch sees, or of the host."""
    sensors = visible(telemetry.sensors(), os.environ) if device == "cuda" else ()
    environment = telemetry.environment(sensors[0].info() if sensors else None)
    if (build := telemetry.torch_build()) is not None:
        environment = replace(environment, torch=build.version, cuda=build.cuda or build.hip)
    return environment
