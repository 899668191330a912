"""A measurement against its own clock, and against the peaks of its device."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise.model.result import Issue, Measurement
from gpuwise.model.units import percent, seconds

# Share of a peak above which a number is wrong, not lucky: boost clocks exceed the clock of the data sheet
# by no more.
ABOVE = 1.02
# A window shorter than this spends a part of it on the synchronisation at its end; a longer one whose steps
# add up to something else than the host's clock says was not timed right.
LONG_S, DISAGREE = 0.2, 0.05
# Of a window's time on the host for each of its steps, to read how long it took.
READING_S = 1e-6


def clocks(m: Measurement) -> Iterator[Issue]:
    """Device and host must agree on how long a window took."""
    for window in m.windows:
        device_s, host_s = sum(window.step_s) * window.each, window.ended_s - window.started_s
        allowed_s = DISAGREE * host_s + READING_S * len(window.step_s) * window.each
        if host_s >= LONG_S and abs(device_s - host_s) > allowed_s:
            yield Issue.invalid(
                "clock",
                f"steps of {seconds(device_s)} in a window of {seconds(host_s)}: a clock jumped, "
                "or work was left out of the timing",
                "do not use the number; run it again where nothing suspends the machine",
            )
            return


def physics(m: Measurement, memory_bytes_per_s: float | None) -> Iterator[Issue]:
    """No speed is above a peak of the data sheet or a measured limit."""
    doubt = "INVALID: recheck the precision, the batch and the clock; please report it with the result file"
    # A copy cannot move more than the memory does; what a cache holds is another limit (copy-l2).
    if (
        m.config.mode == "limit"
        and m.item == "byte"
        and m.bytes_per_item
        and m.throughput
        and memory_bytes_per_s
    ):
        share = m.throughput.value * m.bytes_per_item / memory_bytes_per_s
        if share > ABOVE:
            yield Issue.invalid(
                "above-peak",
                f"INVALID: {percent(share)} of the memory bandwidth of the data sheet",
                "recheck the size of the copy and the clock",
            )
    if m.mfu is not None and m.mfu > ABOVE:
        yield Issue.invalid("above-peak", f"{percent(m.mfu)} of the dense {m.config.precision} peak", doubt)
    if m.limit_share is not None and m.limit_share > ABOVE:
        host = m.config.device == "cpu"
        yield Issue.invalid(
            "above-peak",
            f"{percent(m.limit_share)} of the measured {m.limit} limit"
            + (
                ", which is no ceiling on a CPU: convolutions and matrix products are different libraries"
                if host
                else ""
            ),
            "take the share as a comparison, not as a limit" if host else doubt,
        )
