"""The start gate: a hot card starts with lower clocks, so it waits until it has cooled."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpuwise.measure.telemetry.protocol import Sensor
from gpuwise.model.issue import Issue

Heard = Callable[[float, float], None]
"""Told (temperature in C, seconds waited so far) at each look that finds the device hot."""


def wait_until_cool(
    sensor: Sensor,
    *,
    below_c: float = 50.0,
    timeout_s: float = 120.0,
    poll_s: float = 0.2,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    progress: Heard | None = None,
) -> Issue | None:
    """Wait until the device is below `below_c`; a hot-start caution where it is not in time.

    A device that does not tell its temperature is taken as cool.
    """
    began_s = clock()
    while True:
        temperature, waited_s = _temperature(sensor), clock() - began_s
        if temperature is None or temperature < below_c:
            return None
        if waited_s >= timeout_s:
            return _hot(temperature, below_c, waited_s)
        if progress is not None:
            progress(temperature, waited_s)
        sleep(min(poll_s, timeout_s - waited_s))


def _temperature(sensor: Sensor) -> float | None:
    """Degrees Celsius; None where the device does not tell, or fails."""
    try:
        return sensor.sample().temperature_c
    except Exception:  # noqa: BLE001  a driver may fail in any way; the run goes on
        return None


def _hot(temperature_c: float, below_c: float, waited_s: float) -> Issue:
    return Issue(
        code="hot-start",
        severity="warning",
        detail=f"started at {temperature_c:.0f} °C, not below {below_c:.0f} °C, after {waited_s:.0f} s",
        fix="improve the cooling, or let the device rest and run again",
    )
