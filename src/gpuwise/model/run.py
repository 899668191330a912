"""What was asked (RunConfig) and what was found (Environment)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from gpuwise.model.precision import Precision
from gpuwise.model.question import FRAMEWORKS, Question
from gpuwise.model.recipe import own_kernels

Protocol = Literal["adaptive", "aime"]
"""adaptive: until the 95 % interval is narrow. aime: 50 steps, mean of three runs, start below 50 C."""
Device = Literal["cpu", "cuda", "mps", "xpu"]
"""cuda: NVIDIA, and AMD under ROCm, which torch calls the same. mps: Apple. xpu: Intel."""

PROTOCOLS: tuple[Protocol, ...] = ("adaptive", "aime")
DEVICES: tuple[Device, ...] = ("cpu", "cuda", "mps", "xpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig(Question):
    """A question to be answered by a measurement, and how to time it."""

    precision: Precision
    compile: bool = False
    protocol: Protocol = "adaptive"
    time_s: float = 60.0  # Budget of the timed windows
    target_ci: float = 0.01  # Stop when the 95 % interval is within this share of the value, to either side
    quick: bool = False  # Take the default batch (halved while it does not fit) instead of searching
    device: Device = "cuda"
    repeat: int = 1
    """Fresh processes that measure it one after the other; the interval is then that of their differences."""

    @property
    def own_kernels(self) -> bool:
        """Whether gpuwise's own kernels run: on GPUs that torch calls CUDA only."""
        return self.device == "cuda" and own_kernels(self.switches, self.mode, self.precision, self.workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine and software of a result; no host name, user name or serial number."""

    device: str  # Name as the driver reports it, or the CPU model
    card: str | None = None
    """Digest of the device's unique id: tells equal cards apart and names none. None where the device has no
    such id, and where a session went on on another card."""
    gpu_id: str | None = None
    """Catalog entry of the device; None for a CPU and for a GPU the catalog does not know."""
    gpuwise: str | None = None
    python: str | None = None
    os: str | None = None
    cpu: str | None = None
    cpu_count: int | None = None
    torch: str | None = None
    tensorflow: str | None = None
    jax: str | None = None
    server: str | None = None  # What answered over the network, as it calls itself
    cuda: str | None = None
    """CUDA (or HIP) version that the framework was built with; torch's, where it measured as well."""
    cudnn: str | None = None
    driver: str | None = None
    device_memory_bytes: int | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    sm_clock_max_hz: float | None = None
    memory_clock_max_hz: float | None = None
    ecc: bool | None = None
    mig: bool | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    other_processes: int | None = None  # Processes of others on the device when the session began
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that change speed (TORCH*, NCCL*, CUDA*, OMP*, ...)."""

    @property
    def software(self) -> tuple[str, ...]:
        """Every framework that measured, as `torch 2.11.0`."""
        names = (*FRAMEWORKS, "server")
        return tuple(f"{name} {found}" for name in names if (found := getattr(self, name)) is not None)

    def diff(self, other: Environment) -> tuple[tuple[str, object, object], ...]:
        """(field, mine, theirs) for every field that both state and that differs."""
        pairs = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return tuple(
            (name, a, b)
            for name, a, b in pairs
            if a != b and (name == "variables" or (a is not None and b is not None))
        )
