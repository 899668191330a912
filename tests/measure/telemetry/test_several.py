"""The telemetry of several GPUs as one."""

from __future__ import annotations

from gpuwise.measure.telemetry.sensor import combined
from gpuwise.model.result import Telemetry

COOL = Telemetry(samples=9, power_w=600.0, energy_j=60.0, sm_clock_hz=1.9e9, temperature_max_c=50.0)
HOT = Telemetry(
    samples=8, power_w=700.0, sm_clock_hz=1.5e9, temperature_max_c=80.0, throttled=(("thermal", 0.5),)
)


def test_what_flows_adds_up_and_the_weakest_is_told() -> None:
    both = combined([COOL, HOT])
    assert both is not None
    assert (both.samples, both.power_w, both.sm_clock_hz, both.temperature_max_c) == (8, 1300.0, 1.5e9, 80.0)
    assert both.energy_j is None  # one of the two has no counter: a sum without it would be too small
    assert both.throttled == (("thermal", 0.5),)
    assert both.sm_clock_min_hz is None


def test_a_gpu_that_tells_nothing_leaves_no_sum() -> None:
    assert combined([COOL, None]) is None
    assert combined([]) is None
    assert combined([HOT]) == HOT
