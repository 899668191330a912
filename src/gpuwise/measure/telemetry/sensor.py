"""The readings of a device, how they are taken, and a thread that takes them while a child measures,
and the telemetry of the timed windows that comes of it.

None = the device does not report it. The comment beside a field is the column of `nvidia-smi --query-gpu=...`
that shows the same.

Energy comes from the device's counter, interpolated at the edges of each window, and is kept only where the
integral of sampled power over the same windows agrees within 5 %: counters of some cards and drivers are
wrong (187 J counted against 327 J sampled in the same 5 s, https://github.com/ml-energy/zeus/issues/181),
and sampled power of some covers a part of the time only (25 % on A100 and H100,
https://arxiv.org/abs/2312.02741).
"""

from __future__ import annotations

import csv
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Protocol, TypeVar

from gpuwise.model.question import Environment, is_lowered
from gpuwise.model.result import Issue, Reading, Telemetry, Window
from gpuwise.model.units import percent, significant

A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """The properties of a device that do not change while a measurement runs."""

    index: int  # index
    name: str  # name
    vendor: str = "NVIDIA"  # NVIDIA or AMD: whose library answers, and whose build of torch is needed
    uuid: str | None = None  # uuid; never written to a result
    serial: str | None = None  # serial; never written to a result
    memory_bytes: int | None = None  # memory.total
    driver: str | None = None  # driver_version
    cuda_driver: str | None = None  # the CUDA version in the header of nvidia-smi, such as 13.0
    compute_capability: str | None = None  # compute_cap
    power_limit_w: float | None = None  # enforced.power.limit, else power.limit
    power_limit_default_w: float | None = None  # power.default_limit
    sm_clock_max_hz: float | None = None  # clocks.max.sm
    memory_clock_max_hz: float | None = None  # clocks.max.memory
    ecc: bool | None = None  # ecc.mode.current
    mig: bool | None = None  # mig.mode.current

    pcie_generation: int | None = None  # pcie.link.gen.gpucurrent (falls when idle)
    pcie_generation_max: int | None = None  # pcie.link.gen.max
    pcie_width: int | None = None  # pcie.link.width.current
    pcie_width_max: int | None = None  # pcie.link.width.max


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The readings of one moment."""

    at_s: float  # Monotonic clock, seconds
    power_w: float | None = None  # power.draw; the mean of the last second on Ampere (not GA100) and later
    energy_j: float | None = None  # since the driver was loaded; `dcgmi dmon -e 156`, not in nvidia-smi
    sm_clock_hz: float | None = None  # clocks.current.sm
    memory_clock_hz: float | None = None  # clocks.current.memory
    temperature_c: float | None = None  # temperature.gpu
    throttle: tuple[str, ...] = ()  # clocks_event_reasons.active (before driver 535: clocks_throttle_reasons)
    memory_used_bytes: int | None = None  # memory.used
    utilisation: float | None = None  # utilization.gpu, as a share
    pcie_generation: int | None = None  # pcie.link.gen.gpucurrent
    pcie_width: int | None = None  # pcie.link.width.current


@dataclass(frozen=True, slots=True, kw_only=True)
class Wear:
    """Faults that the device has counted in its life, and the heat at which it slows down."""

    ecc_corrected: int | None = None  # ecc.errors.corrected.aggregate.total
    ecc_uncorrected: int | None = None  # ecc.errors.uncorrected.aggregate.total
    rows_remapped: int | None = None  # remapped_rows.uncorrectable
    remap_pending: bool | None = None  # remapped_rows.pending: the device wants a reset
    remap_failed: bool | None = None  # remapped_rows.failure: no spare row was left
    slowdown_c: float | None = None  # GPU Slowdown Temp of `nvidia-smi -q -d TEMPERATURE`
    nvlink_replays: int | None = None  # Packets sent again, of all links: `nvidia-smi nvlink -e`
    nvlink_recoveries: int | None = None  # Links that went down and came back
    nvlink_crc_errors: int | None = None  # Packets that arrived damaged
    pcie_replays: int | None = None  # Replays Since Reset of `nvidia-smi -q`


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A compute process on the device (`nvidia-smi --query-compute-apps=pid,used_memory`)."""

    pid: int
    memory_bytes: int | None = None


def maybe(convert: Callable[[Any], A], value: Any) -> A | None:
    """A value of a driver in our terms; None where it has none."""
    return None if value is None else convert(value)


def scaled(factor: float, value: float | None) -> float | None:
    """Milliwatts to watts, millijoules to joules, megahertz to hertz."""
    return None if value is None else value * factor


class Sensor(Protocol):
    """One device, read only. A value that it does not report is None; a failing device may raise. What a
    library does not know, a subclass leaves as it is here."""

    def info(self) -> DeviceInfo:
        """The constants of the device (`nvidia-smi -q`)."""
        ...

    def sample(self) -> Sample:
        """One reading of everything that changes (`nvidia-smi dmon`)."""
        ...

    def processes(self) -> tuple[Process, ...]:
        """Processes that compute on it now (`nvidia-smi pmon`)."""
        return ()

    def wear(self) -> Wear:
        """Memory and link errors so far (`nvidia-smi -q -d ECC,ROW_REMAPPER`)."""
        return Wear()

    def close(self) -> None:
        """Let go of the library; a second call does nothing."""
        return


# Below which a measurement starts: a hot card begins with lower clocks.
COOL_C = 50.0
# An H100 that rests at 47 C takes a minute and more for the last degrees, and runs of one row from 46 to 66 C
# agreed within 0.5 %: a longer wait costs more than what is measured.
COOL_WAIT_S, COOL_POLL_S = 10.0, 0.2

# Longest wait for the last sample at the end: a driver that hangs must not hang the run.
STOP_S = 2.0


class Sampler:
    """Collects samples between `__enter__` and `__exit__`, one every `period_s` seconds.

    A sensor that fails ends the sampling, not the measurement: `error` then says how. Without a sensor
    nothing is collected. One more sample is taken at the end, so that the last window is covered.
    """

    def __init__(self, sensor: Sensor | None, period_s: float = 0.1) -> None:
        self._sensor, self._period_s = sensor, period_s
        self._samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.error: str | None = None

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Everything collected so far, in order."""
        return tuple(self._samples)

    def __enter__(self) -> Sampler:
        if self._sensor is not None:
            run, name = self._run, "gpuwise-sampler"
            self._thread = threading.Thread(target=run, args=(self._sensor,), name=name, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_S)
            if self._thread.is_alive():
                self.error = f"the sensor did not answer for {STOP_S:.0f} s"

    def _run(self, sensor: Sensor) -> None:
        while self._take(sensor) and not self._stop.wait(self._period_s):
            pass
        if self.error is None:
            self._take(sensor)

    def _take(self, sensor: Sensor) -> bool:
        """One sample; False where the sensor failed, or has lost its device and returns nothing any more."""
        try:
            taken = sensor.sample()
            # Nothing but its time, as from a device that has left the bus.
            silent = [each == Sample(at_s=each.at_s) for each in (*self._samples[-1:], taken)]
            if silent == [False, True]:
                raise LookupError("the sensor stopped returning values")
            self._samples.append(taken)
        except Exception as error:  # noqa: BLE001  a driver may fail in any way; the run goes on
            self.error = f"{type(error).__name__}: {error}"
        return self.error is None


def wait_until_cool(sensor: Sensor) -> Issue | None:
    """Wait until the device is below `COOL_C`; a hot-start caution where it is not in time. A hot card starts
    with lower clocks. A device that reports no temperature, or fails, is taken as cool."""
    began_s = time.monotonic()
    while True:
        try:
            temperature, waited_s = sensor.sample().temperature_c, time.monotonic() - began_s
        except Exception:  # noqa: BLE001  a driver may fail in any way; the run goes on
            return None
        if temperature is None or temperature < COOL_C:
            return None
        if waited_s >= COOL_WAIT_S:
            return Issue.info(
                "hot-start",
                f"started at {temperature:.0f} °C, not below {COOL_C:.0f} °C, after {waited_s:.0f} s",
                "improve the cooling, or let the device rest and run again",
            )
        time.sleep(min(COOL_POLL_S, COOL_WAIT_S - waited_s))


AGREE = 0.05
# Below this the two cannot be compared: counters tick every 20 to 100 ms (an H200 every 100 ms). Sampled
# power is the mean of the last second on most cards, so it also starts low where a load starts: on an H200,
# two windows of 3 s after 0.3 s of warm-up read 4.9 % less than the counter, after 4 s 0.6 % less.
ENOUGH_S, ENOUGH_SAMPLES = 2.0, 10

THROTTLED = 0.05
POWER_CAPPED = 0.5
# Share of samples that is worth a caution. A power cap is how large GPUs normally run, so it is named only
# when it holds most of the time and costs more than a tenth of the clock.
CAPPED_CLOCK = 0.9

# What lowers the clock: its bit in NVML, its counters in AMD SMI, and what to do about it where one can.
with Path(__file__).with_name("reasons.csv").open(encoding="utf-8", newline="") as _file:
    SLOWING = tuple(csv.DictReader(_file))
NEXT_STEPS = {row["reason"]: row["next step"] for row in SLOWING if row["next step"]}

# Enough to draw a measurement, and a tenth of what its step times take in the file.
MOST_READINGS = 60


def summarise(samples: Sequence[Sample], windows: Sequence[Window]) -> Telemetry | None:
    """Telemetry of the windows, or None where no sample fell into one."""
    during = tuple(s for s in samples if any(w.started_s <= s.at_s <= w.ended_s for w in windows))
    if not during:
        return None
    energy, integrated = energies(samples, windows)
    if energy is not None and (
        # The counter stands still, runs back, or sampled power contradicts it.
        energy <= 0 or _seconds(windows) < ENOUGH_S or _disagree(energy, integrated, windows, len(during))
    ):
        energy = None
    before = [s for s in samples if s.at_s < min(w.started_s for w in windows)]
    # Of a window shorter than its averaging time, power says nothing.
    long = _seconds(windows) >= ENOUGH_S
    powers = [s.power_w for s in during if s.power_w is not None and long]
    clocks = [s.sm_clock_hz for s in during if s.sm_clock_hz is not None]
    heats = [s.temperature_c for s in during if s.temperature_c is not None]
    return Telemetry(
        samples=len(during),
        power_w=energy / _seconds(windows) if energy else fmean(powers) if powers else None,
        energy_j=energy,
        sm_clock_hz=median(clocks) if clocks else None,
        sm_clock_min_hz=min(clocks, default=None),
        temperature_start_c=(before[-1] if before else samples[0]).temperature_c,
        temperature_max_c=max(heats, default=None),
        pcie_generation=max((s.pcie_generation for s in during if s.pcie_generation), default=None),
        pcie_width=max((s.pcie_width for s in during if s.pcie_width), default=None),
        throttled=throttle_shares(during),
        timeline=timeline(samples, windows),
    )


def timeline(samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[Reading, ...]:
    """Readings of the sensors from the first window to the last, at most MOST_READINGS."""
    first_s, last_s = min(w.started_s for w in windows), max(w.ended_s for w in windows)
    read = [s for s in samples if first_s <= s.at_s <= last_s]
    kept = read[:: -(-len(read) // MOST_READINGS)] if read else []
    names = ("at_s", "power_w", "sm_clock_hz", "temperature_c")
    return tuple(Reading(**{n: getattr(s, n) for n in names}, held=bool(s.throttle)) for s in kept)


def throttle_shares(samples: Sequence[Sample]) -> tuple[tuple[str, float], ...]:
    """(reason, share of samples in which it was active), most frequent first."""
    counts = Counter(reason for sample in samples for reason in sample.throttle)
    return tuple((reason, count / len(samples)) for reason, count in counts.most_common())


def _seconds(windows: Sequence[Window]) -> float:
    return sum(w.ended_s - w.started_s for w in windows)


def energies(samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[float | None, float | None]:
    """(counter, integral of power) over the windows in joules; None where a window is not covered."""
    import numpy as np  # where a measurement has ended: its start needs none

    def over(field: str, joules: Callable[[Any, Any], Any]) -> float | None:
        """The sum over windows that the readings cover whole; between two readings they are linear."""
        read = [(s.at_s, value) for s in samples if (value := getattr(s, field)) is not None]
        if len(read) < 2 or not windows:
            return None
        times, values = np.array(read).T
        if times[0] > min(w.started_s for w in windows) or times[-1] < max(w.ended_s for w in windows):
            return None
        total = 0.0
        for w in windows:
            at = [w.started_s, *times[(times > w.started_s) & (times < w.ended_s)], w.ended_s]
            total += float(joules(np.interp(at, times, values), np.diff(at)))
        return total

    counter = over("energy_j", lambda found, _: found[-1] - found[0])
    return counter, over("power_w", lambda found, spans: spans @ (found[1:] + found[:-1]) / 2)


def _disagree(counted: float, integrated: float | None, windows: Sequence[Window], samples: int) -> bool:
    if integrated is None or _seconds(windows) < ENOUGH_S or samples < ENOUGH_SAMPLES:
        return False
    return abs(counted - integrated) > AGREE * max(counted, integrated)


def cautions(
    telemetry: Telemetry,
    samples: Sequence[Sample],
    windows: Sequence[Window],
    environment: Environment | None = None,
) -> tuple[Issue, ...]:
    """Cautions from the telemetry; the start gate checks the heat.

    The environment says what the card can do; without it the highest clock seen stands beside the median. A
    card at its own power limit runs as it is sold, so that is information; a lowered limit is a warning.
    """
    if telemetry.samples < ENOUGH_SAMPLES:
        return ()
    clock_hz, able = telemetry.sm_clock_hz, environment or Environment(device="")
    most_hz, lowered = able.sm_clock_max_hz, is_lowered(able.power_limit_w, able.power_limit_default_w)
    clocks = ""
    if clock_hz is not None:
        clocks = f"; median clock {clock_hz / 1e6:.0f} MHz"
        seen_hz = max((s.sm_clock_hz for s in samples if s.sm_clock_hz is not None), default=None)
        if most_hz is not None:
            clocks += f" of {most_hz / 1e6:.0f} MHz"
        elif seen_hz is not None:
            clocks += f", highest seen {seen_hz / 1e6:.0f} MHz"
    issues = []
    for reason, share in telemetry.throttled:
        if reason == "power-cap":
            cheap = clock_hz is not None and most_hz is not None and clock_hz > CAPPED_CLOCK * most_hz
            if share <= POWER_CAPPED or cheap:
                continue
        elif share <= THROTTLED:
            continue
        detail = f"{reason} in {percent(share, 0)} of the samples{clocks}"
        if reason == "power-cap" and not lowered:
            issues.append(Issue.info("power-cap", detail, "the number is that of this power limit"))
        else:
            fix = NEXT_STEPS.get(reason, "ask the driver for the reason")
            issues.append(Issue.warning("throttled", detail, fix))
    counted, integrated = energies(samples, windows)
    if counted is None or integrated is None:
        return tuple(issues)
    if _disagree(counted, integrated, windows, telemetry.samples):
        said = f"the energy counter says {significant(counted)} J, sampled power {significant(integrated)} J"
        issues.append(Issue.warning("energy-mismatch", said, "take the watts with care; energy is left out"))
    return tuple(issues)


def combined(each: Sequence[Telemetry | None]) -> Telemetry | None:
    """Watts and joules summed, the lowest clocks, the highest temperatures, the worst throttling. None where
    one GPU reported nothing: a sum that leaves one out would be wrong."""
    reports = [telemetry for telemetry in each if telemetry is not None]
    if not reports or len(reports) < len(each):
        return None

    def of_all(field: str, how: Callable[[list[float]], float]) -> float | None:
        known = [value for telemetry in reports if (value := getattr(telemetry, field)) is not None]
        return how(known) if known and (how is not sum or len(known) == len(reports)) else None

    ways: dict[str, Any] = {
        "samples": min, "power_w": sum, "energy_j": sum, "sm_clock_hz": min, "sm_clock_min_hz": min,
        "temperature_start_c": max, "temperature_max_c": max,
    }  # fmt: skip
    shares = [dict(telemetry.throttled) for telemetry in reports]
    worst = {reason: max(each.get(reason, 0.0) for each in shares) for held in shares for reason in held}
    values: dict[str, Any] = {field: of_all(field, how) for field, how in ways.items()}
    return Telemetry(**values, throttled=tuple(worst.items()))
