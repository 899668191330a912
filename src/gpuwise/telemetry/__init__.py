"""Watch the device and describe the machine. Reads only: no clock, limit or mode is ever set."""

from gpuwise.telemetry.cool import wait_until_cool
from gpuwise.telemetry.detect import Machine, environment, machine
from gpuwise.telemetry.devices import sensors
from gpuwise.telemetry.health import Check, checks
from gpuwise.telemetry.host import (
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
from gpuwise.telemetry.nvml import NvmlSensor
from gpuwise.telemetry.protocol import DeviceInfo, Process, Sample, Sensor, Wear
from gpuwise.telemetry.rapl import sensor as host_sensor
from gpuwise.telemetry.sampler import Sampler
from gpuwise.telemetry.scripted import ScriptedSensor
from gpuwise.telemetry.several import combined
from gpuwise.telemetry.summary import cautions, summarise
from gpuwise.telemetry.topology import links

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
