"""Watch the device and describe the machine. Reads only: no clock, limit or mode is ever set."""

from gpuwise.measure.telemetry.cool import wait_until_cool
from gpuwise.measure.telemetry.detect import Machine, environment, machine
from gpuwise.measure.telemetry.devices import sensors
from gpuwise.measure.telemetry.health import Check, checks
from gpuwise.measure.telemetry.host import (
    TorchBuild,
    cpu_count,
    cpu_name,
    disk_free_bytes,
    load_share,
    memory_bytes,
    os_name,
    speed_variables,
    torch_build,
)
from gpuwise.measure.telemetry.nvml import NvmlSensor
from gpuwise.measure.telemetry.protocol import DeviceInfo, Process, Sample, Sensor, Wear
from gpuwise.measure.telemetry.rapl import sensor as host_sensor
from gpuwise.measure.telemetry.sampler import Sampler
from gpuwise.measure.telemetry.scripted import ScriptedSensor
from gpuwise.measure.telemetry.several import combined
from gpuwise.measure.telemetry.summary import cautions, summarise
from gpuwise.measure.telemetry.topology import links

__all__ = [
    "Check",
    "DeviceInfo",
    "Machine",
    "NvmlSensor",
    "Process",
    "Sample",
    "Sampler",
    "ScriptedSensor",
    "Sensor",
    "TorchBuild",
    "Wear",
    "cautions",
    "checks",
    "combined",
    "cpu_count",
    "cpu_name",
    "disk_free_bytes",
    "environment",
    "host_sensor",
    "links",
    "load_share",
    "machine",
    "memory_bytes",
    "os_name",
    "sensors",
    "speed_variables",
    "summarise",
    "torch_build",
    "wait_until_cool",
]
