"""The nouns: identities, differences, derived values."""

from __future__ import annotations

import pytest

from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source
from gpuwise.model.result import Interval, Measurement, Telemetry
from gpuwise.model.run import Environment, RunConfig

SOURCE = Source(id="s", title="data sheet", kind="vendor", read_on="2026-11-21")
CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def test_identities_are_stable() -> None:
    """These strings are in every result file: a change makes old files incomparable."""
    assert CONFIG.cell == "resnet50:train:bf16:compiled:tuned"
    assert CONFIG.key == "resnet50:train:bf16:compiled:tuned:auto:adaptive:cuda"
    toy = RunConfig(
        workload="x", mode="infer", precision="fp32", recipe="parity", batch=8, device="cpu", size="toy"
    )
    assert toy.cell == "x:infer:fp32:eager:parity:toy"
    assert toy.key == "x:infer:fp32:eager:parity:toy:b8:adaptive:cpu"


def test_environments_differ_where_both_tell() -> None:
    a = Environment(device="A", driver="1", torch="2.11", variables=(("OMP_NUM_THREADS", "1"),))
    b = Environment(device="B", driver="1", cuda="13.0")
    assert {name for name, _, _ in a.diff(b)} == {"device", "variables"}
    assert a.diff(a) == ()


def test_the_half_width_is_the_larger_side() -> None:
    assert Interval(value=100, low=99, high=103, method="x").half_width == pytest.approx(0.03)


def test_energy_efficiency() -> None:
    def measured(telemetry: Telemetry | None) -> Measurement:
        speed = Interval(value=700, low=700, high=700, method="x")
        return Measurement(
            config=CONFIG,
            workload_version=1,
            status="ok",
            item="image",
            started_at="",
            throughput=speed,
            telemetry=telemetry,
        )

    assert measured(Telemetry(samples=1, power_w=350)).items_per_joule == 2
    assert measured(Telemetry(samples=1)).items_per_joule is None
    assert measured(None).items_per_joule is None


def peak(form: str, accumulate: str, unit: str, value: float, *, sparse: bool = False) -> Peak:
    return Peak(format=form, accumulate=accumulate, unit=unit, flop_per_s=value, sparse=sparse, source=SOURCE)  # type: ignore[arg-type]


SPEC = GpuSpec(
    id="x",
    name="X",
    facts={
        "power_w": Fact(field="power_w", value=230, source=SOURCE),
        "vendor": Fact(field="vendor", value="V", source=SOURCE),
    },
    peaks=(
        peak("fp16", "fp32", "matrix", 9, sparse=True),
        peak("fp16", "fp16", "matrix", 8),
        peak("fp16", "fp32", "matrix", 4),
        peak("fp32", "fp32", "matrix", 3),
        peak("fp32", "fp32", "vector", 2),
        peak("int8", "int32", "matrix", 16),
    ),
)


@pytest.mark.parametrize(("precision", "value"), [("fp16", 4), ("fp32", 2)])
def test_the_peak_that_bounds_training_is_dense_and_accumulates_in_fp32(precision: str, value: float) -> None:
    found = SPEC.peak(precision)
    assert found is not None
    assert found.flop_per_s == value


@pytest.mark.parametrize("precision", ["bf16", "tf32", "int8", "fp4"])
def test_an_unstated_peak_is_none(precision: str) -> None:
    assert SPEC.peak(precision) is None


def test_facts_are_none_where_no_source_states_them() -> None:
    assert (SPEC.power_w, SPEC.vendor, SPEC.memory_bytes, SPEC.architecture) == (230, "V", None, None)
    assert SPEC.number("vendor") is None
