"""Watch the device and describe the machine. Reads only: no clock, limit or mode is ever set."""

from gpuwise.measure.telemetry.host import (
    Machine,
    TorchBuild,
    cpu_count,
    cpu_name,
    disk_free_bytes,
    environment,
    host_sensor,
    load_average,
    machine,
    memory_bytes,
    os_name,
    sensors,
    speed_variables,
    torch_build,
)
from gpuwise.measure.telemetry.nvml import NvmlSensor, links
from gpuwise.measure.telemetry.sensor import (
    DeviceInfo,
    Process,
    Sample,
    Sampler,
    ScriptedSensor,
    Sensor,
    Wear,
    wait_until_cool,
)
from gpuwise.measure.telemetry.summary import cautions, combined, summarise

__all__ = [
    "DeviceInfo", "Machine", "NvmlSensor", "Process", "Sample", "Sampler", "ScriptedSensor", "Sensor",
    "TorchBuild", "Wear", "cautions", "combined", "cpu_count", "cpu_name", "disk_free_bytes", "environment",
    "host_sensor", "links", "load_average", "machine", "memory_bytes", "os_name", "sensors",
    "speed_variables", "summarise", "torch_build", "wait_until_cool",
]  # fmt: skip
