"""The telemetry of several GPUs as one: what flows adds up, and the weakest sets the pace. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.model.result import Telemetry


def combined(each: Sequence[Telemetry | None]) -> Telemetry | None:
    """Watts and joules summed, the lowest clocks, the highest temperatures, the worst throttling.

    None where one GPU told nothing: a sum that leaves one out is no sum.
    """
    found = [telemetry for telemetry in each if telemetry is not None]
    if not found or len(found) < len(each):
        return None
    reasons = dict.fromkeys(reason for telemetry in found for reason, _ in telemetry.throttled)
    return Telemetry(
        samples=min(telemetry.samples for telemetry in found),
        power_w=_sum([telemetry.power_w for telemetry in found]),
        energy_j=_sum([telemetry.energy_j for telemetry in found]),
        sm_clock_hz=_least([telemetry.sm_clock_hz for telemetry in found]),
        sm_clock_min_hz=_least([telemetry.sm_clock_min_hz for telemetry in found]),
        temperature_start_c=_most([telemetry.temperature_start_c for telemetry in found]),
        temperature_max_c=_most([telemetry.temperature_max_c for telemetry in found]),
        throttled=tuple(
            (reason, max(dict(telemetry.throttled).get(reason, 0.0) for telemetry in found))
            for reason in reasons
        ),
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _least(values: Sequence[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
