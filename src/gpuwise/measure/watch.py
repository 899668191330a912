"""What the sensors tell while a measurement runs, and the cautions that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuwise.measure.telemetry import Sample, Sampler, Sensor, wait_until_cool
from gpuwise.model.issue import Issue

COOL_C = 50.0
"""Below which a measurement starts."""


@dataclass(slots=True, kw_only=True)
class Watched:
    """What the sensor told while the children of one measurement ran."""

    samples: list[Sample] = field(default_factory=list)
    company: set[int] = field(default_factory=set)
    """Processes other than the child that were seen on the device."""
    hot: list[Issue] = field(default_factory=list)
    error: str | None = None
    """Why the sensor stopped telling, in the words of one of its failures."""

    def look(self, sensor: Sensor | None, *children: int) -> None:
        """See who computes on the device; a sensor that fails ends no measurement."""
        try:
            self.company |= strangers(sensor, *children)
        except Exception as error:  # noqa: BLE001  a driver may fail in any way; the run goes on
            self.error = self.error or f"{type(error).__name__}: {error}"

    def cool_down(self, sensor: Sensor | None) -> None:
        """Wait until the device is below 50 C, or remember that it did not get there."""
        hot = wait_until_cool(sensor, below_c=COOL_C) if sensor is not None else None
        self.hot += [hot] if hot is not None else []

    def take(self, sampler: Sampler) -> None:
        """Keep what one child's sampler collected."""
        self.samples += sampler.samples
        self.error = self.error or sampler.error


def strangers(sensor: Sensor | None, *children: int) -> set[int]:
    """Compute processes on the device other than the children's.

    In a container the driver may call a child by another number: then one of them is it.
    """
    pids = {process.pid for process in sensor.processes()} if sensor is not None else set()
    if pids & set(children):
        return pids - set(children)
    return pids if len(pids) > 1 else set()


def intrusion(company: set[int]) -> tuple[Issue, ...]:
    """The caution for processes that came while a measurement was timed."""
    if not company:
        return ()
    return (
        Issue(
            code="contended",
            severity="warning",
            detail=f"other processes used the GPU while it was timed: {', '.join(map(str, sorted(company)))}",
            fix="run it again on an idle GPU",
        ),
    )


def blindness(error: str | None) -> tuple[Issue, ...]:
    """The caution for a sensor that failed while a measurement ran."""
    if error is None:
        return ()
    return (
        Issue(
            code="telemetry",
            severity="warning",
            detail=f"the sensor failed, so heat, throttling and company are unknown: {error.splitlines()[0]}",
            fix="gpuwise doctor, then run it again",
        ),
    )
