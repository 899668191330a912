"""Every GPU that a vendor's library shows on this machine: NVIDIA's first, then AMD's."""

from __future__ import annotations

from gpuwise.measure.telemetry import amd, nvml
from gpuwise.measure.telemetry.protocol import Sensor


def sensors() -> tuple[Sensor, ...]:
    """A sensor for each GPU that answers; empty where there is none."""
    return (*nvml.sensors(), *amd.sensors())
