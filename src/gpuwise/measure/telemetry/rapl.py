"""Energy of the host's processors through RAPL, where the kernel lets this user read it.

`/sys/class/powercap/intel-rapl:N/energy_uj` counts microjoules of one package (AMD too) and wraps at
`max_energy_range_uj`, about once an hour under load. Since 2020 most systems let only root read it.
Reference: https://docs.kernel.org/power/powercap/powercap.html
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from gpuwise.measure.telemetry import host
from gpuwise.measure.telemetry.protocol import DeviceInfo, Process, Sample, Sensor, Wear

ZONES = Path("/sys/class/powercap")


@dataclass(slots=True)
class _Zone:
    """One processor package: the counter as last read, and what it wrapped over before."""

    path: Path
    wraps_at: int
    last: int
    carried: int = 0

    def joules(self) -> float:
        """Joules since the kernel began to count, across wraps. Raises OSError where it counts no more: a
        counter that seems to stand still would be energy saved."""
        now = _read(self.path / "energy_uj")
        if now is None:
            raise OSError(f"{self.path.name} can no longer be read")
        if now < self.last:
            self.carried += self.wraps_at
        self.last = now
        return (self.carried + now) / 1e6


def sensor(zones: Path | None = None) -> Sensor | None:
    """A sensor of all packages together, or None where none can be read."""
    paths = sorted((zones or ZONES).glob("intel-rapl:[0-9]*"))
    found = [zone for path in paths if (zone := _zone(path)) is not None]
    return RaplSensor(found) if found else None


def _zone(path: Path) -> _Zone | None:
    if path.name.count(":") != 1:
        return None  # a part of a package, counted in it
    energy, most = _read(path / "energy_uj"), _read(path / "max_energy_range_uj")
    return None if energy is None or most is None else _Zone(path, wraps_at=most, last=energy)


def _read(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


class RaplSensor:
    """The processors of this host: energy, and from it the mean power since the sample before, of
    everything that runs on them."""

    def __init__(self, zones: list[_Zone]) -> None:
        self._zones = zones
        self._last: tuple[float, float] | None = None

    def info(self) -> DeviceInfo:
        """The processor's name."""
        return DeviceInfo(index=0, name=host.cpu_name())

    def sample(self) -> Sample:
        """One reading of the energy counters."""
        at_s, energy = time.monotonic(), sum(zone.joules() for zone in self._zones)
        before, self._last = self._last, (at_s, energy)
        known = before is not None and at_s > before[0]
        power = (energy - before[1]) / (at_s - before[0]) if known and before is not None else None
        return Sample(at_s=at_s, power_w=power, energy_j=energy)

    def processes(self) -> tuple[Process, ...]:
        """Everybody computes on a processor: nobody is told apart."""
        return ()

    def wear(self) -> Wear:
        """The counters tell energy alone."""
        return Wear()

    def close(self) -> None:
        """Nothing is held."""
