"""The start gate: a hot card starts with lower clocks, so it waits until it has cooled."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpuwise.model.result import Caution
from gpuwise.telemetry.protocol import Sensor


def wait_until_cool(
    sensor: Sensor,
    *,
    below_c: float = 50.0,
    timeout_s: float = 120.0,
    poll_s: float = 1.0,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Caution | None:
    """Wait until the device is below `below_c`; a hot-start caution where it is not in time.

    A device that does not tell its temperature is taken as cool.
    """
    end = clock() + timeout_s
    while True:
        temperature = sensor.sample().temperature_c
        if temperature is None or temperature < below_c:
            return None
        if clock() >= end:
            return Caution(
                code="hot-start",
                detail=f"started at {temperature:.0f} °C, not below {below_c:.0f} °C, after {timeout_s:.0f} s of waiting",
                next_step="improve the cooling, or let the device rest and run again",
            )
        sleep(poll_s)
