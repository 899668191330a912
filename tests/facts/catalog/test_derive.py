"""What units and clocks imply: known cards by hand, errors that must show, the whole dies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.facts import catalog
from gpuwise.facts.catalog import Derived, derive
from gpuwise.model.gpu import GpuSpec, Value


def row(spec: GpuSpec, field: str) -> Derived:
    (found,) = [row for row in derive(spec) if row.field == field]
    return found


def changed(gpu_id: str, field: str, value: Value) -> GpuSpec:
    spec = catalog.get(gpu_id)
    return replace(spec, facts={**spec.facts, field: replace(spec.facts[field], value=value)})


@pytest.mark.parametrize(
    ("gpu_id", "field", "value"),
    [
        ("rtx-a5000", "cuda_cores", 64 * 128),
        ("rtx-a5000", "tensor_cores", 64 * 4),
        ("rtx-a5000", "rt_cores", 64),
        ("rtx-a5000", "peak:fp32:fp32:vector", 8192 * 2 * 1695e6),
        ("rtx-a5000", "peak:fp16:fp16:matrix:sparse", 2 * 111.1e12),
        ("rtx-a5000", "memory_bytes_per_s", 384 * 16e9 / 8),
        ("a100-sxm4-80gb", "tensor_cores", 108 * 4),
        ("a100-sxm4-80gb", "peak:fp16:fp32:matrix", 108 * 2048 * 1410e6),
        ("v100-sxm2-16gb", "tensor_cores", 80 * 8),
        ("rtx-4090", "peak:fp16:fp32:matrix", 128 * 512 * 2520e6),  # GeForce: half for an fp32 sum
        ("rtx-6000-ada", "peak:fp16:fp32:matrix", 142 * 1024 * 2505e6),
        ("h100-sxm5-80gb", "peak:bf16:fp32:matrix", 132 * 4096 * 1830e6),  # the matrix clock
        ("h100-sxm5-80gb", "peak:fp64:fp64:matrix", 132 * 256 * 1980e6),  # at the boost clock
        ("mi300x", "peak:fp32:fp32:vector", 304 * 64 * 4 * 2100e6),
        ("mi300x", "stream_processors", 304 * 64),
    ],
)
def test_values_by_hand(gpu_id: str, field: str, value: float) -> None:
    found = row(catalog.get(gpu_id), field)
    assert found.derived == pytest.approx(value, rel=1e-9)
    assert found.agrees


def test_a_row_says_how_it_was_computed() -> None:
    found = row(catalog.get("rtx-a5000"), "peak:fp32:fp32:vector")
    assert found.formula == "cuda_cores x 2 x boost_hz"
    assert found.inputs == (("cuda_cores", 8192), ("boost_hz", 1695e6))
    assert found.stated == 27.77e12
    assert found.difference == pytest.approx(27.77e12 / (8192 * 2 * 1695e6) - 1)


def test_the_stated_count_does_not_enter_the_computed_one() -> None:
    found = row(changed("rtx-a5000", "cuda_cores", 8129), "cuda_cores")
    assert found.derived == 8192
    assert found.agrees is True  # within 1 %: a test of exact counts compares the numbers
    assert found.stated != found.derived


@pytest.mark.parametrize(
    ("gpu_id", "field", "wrong", "computed"),
    [
        ("a100-sxm4-80gb", "tensor_cores", 512, 432),  # the whole die
        ("a100-pcie-40gb", "cuda_cores", 8192, 6912),
        ("rtx-2080-ti", "cuda_cores", 5342, 4352),  # a slip of digits
        ("rtx-a4000", "memory_bytes_per_s", 512e9, 448e9),
    ],
)
def test_published_errors_disagree(gpu_id: str, field: str, wrong: Value, computed: float) -> None:
    found = row(changed(gpu_id, field, wrong), field)
    assert found.agrees is False
    assert found.derived == computed


def test_the_wrong_figures_of_one_article_are_those_of_the_whole_die() -> None:
    die = catalog.chips()["GA100"]
    assert [die.whole(f) for f in ("cuda_cores", "tensor_cores", "rt_cores")] == [8192, 512, None]


@pytest.mark.parametrize(
    ("chip", "sm_count", "cuda_cores", "tensor_cores"),
    [
        ("GP100", 60, 3840, 0),
        ("GV100", 84, 5376, 672),
        ("TU102", 72, 4608, 576),
        ("GA100", 128, 8192, 512),
        ("GA102", 84, 10752, 336),
        ("GH100", 144, 18432, 576),
        ("AD102", 144, 18432, 576),
        ("AD103", 80, 10240, 320),
        ("AD104", 60, 7680, 240),
        ("GB202", 192, 24576, 768),
    ],
)
def test_whole_dies(chip: str, sm_count: int, cuda_cores: int, tensor_cores: int) -> None:
    die = catalog.chips()[chip]
    assert die.sm_count == sm_count
    assert [sm_count * die.each(f) for f in ("cuda_cores", "tensor_cores")] == [cuda_cores, tensor_cores]
    assert die.source.title


def test_chips_that_are_unknown_or_known_in_part() -> None:
    assert "GX999" not in catalog.chips()
    part = catalog.chips()["GB100"]
    assert part.sm_count is None
    assert part.cores_per_sm == 128


def test_what_has_no_units_gives_nothing() -> None:
    assert not [*derive(GpuSpec(id="x", name="X"))]
    assert not [*derive(catalog.get("gaudi3"))]


def test_what_no_source_states_is_computed_without_a_verdict() -> None:
    found = row(catalog.get("cmp-90hx"), "peak:fp16:fp16:matrix")
    assert found.stated is found.difference is found.agrees is None
    assert found.derived == 50 * 1024 * 1710e6


def test_rates_depend_on_the_segment() -> None:
    def fp16(gpu_id: str) -> int:
        (rate,) = [r for r in catalog.rates(catalog.get(gpu_id)) if r.field == "peak:fp16:fp32:matrix"]
        return rate.operations

    assert fp16("rtx-3090") * 2 == fp16("rtx-a6000") == fp16("a40")
    assert catalog.rates(catalog.get("gaudi2")) == ()


def test_a_product_holds_no_more_than_its_whole_die() -> None:
    known = catalog.chips()
    for spec in catalog.all_gpus():
        die = known.get(spec.text("chip") or "")
        if die is None:
            continue
        for field in ("sm_count", "cuda_cores", "tensor_cores", "rt_cores"):
            whole = die.sm_count and die.sm_count * die.each(field)
            # Two dies make an MI250X; dies of which the whole is unknown say nothing.
            assert whole is None or (spec.number(field) or 0) <= whole, (spec.id, field)


def test_the_chips_of_most_gpus_are_known() -> None:
    with_chip = [spec for spec in catalog.all_gpus() if spec.text("chip")]
    assert sum(spec.text("chip") in catalog.chips() for spec in with_chip) > 0.85 * len(with_chip)


def test_every_disagreement_with_a_formula_is_explained() -> None:
    compared = 0
    for spec in catalog.all_gpus():
        notes = {p.field: p.note for p in spec.peaks} | {f.field: f.note for f in spec.facts.values()}
        for row in catalog.derive(spec):
            compared += row.agrees is not None
            assert row.agrees is not False or "the formula gives" in notes[row.field], (spec.id, row)
    assert compared > 2000


def test_a_bandwidth_over_its_bus_is_a_grade_in_which_memory_is_sold() -> None:
    told = {
        gpu_id: [r.formula for r in catalog.derive(catalog.get(gpu_id)) if r.field == "memory_bytes_per_s"]
        for gpu_id in ("rtx-a4500", "rtx-2080-super")
    }
    # 15.5 Gbit/s is in no part catalog.
    assert told == {"rtx-a4500": ["memory_bus_bits x 16 Gbit/s / 8"], "rtx-2080-super": []}


def test_fp64_is_a_whole_fraction_of_fp32() -> None:
    formulas = {r.field: r.formula for g in ("gtx-1080", "rtx-4090") for r in catalog.derive(catalog.get(g))}
    assert formulas["peak:fp64:fp64:vector"] == "peak:fp32:fp32:vector / 64"


@pytest.mark.parametrize(
    ("gpu_id", "field", "value"),
    [
        ("rtx-4090", "tmus", 128 * 4),
        ("gtx-1080", "tmus", 20 * 8),
        ("rx-7900-xtx", "tmus", 96 * 4),
        ("rtx-3090", "memory_transfers_per_s", 936e9 * 8 / 384),
    ],
)
def test_what_no_source_need_state(gpu_id: str, field: str, value: float) -> None:
    assert row(catalog.get(gpu_id), field).derived == pytest.approx(value, rel=0.002)


def test_texture_and_pixel_rates_are_those_of_either_clock() -> None:
    spec = catalog.get("rtx-4090")
    rates = {(found.field, found.inputs[-1][0]): found.derived for found in derive(spec) if found.inputs}
    assert rates["texels_per_s", "boost_hz"] == pytest.approx(512 * 2520e6)
    assert rates["pixels_per_s", "base_hz"] == pytest.approx(176 * 2235e6)


def test_each_source_of_a_rule_is_a_witness() -> None:
    known = catalog.get("rtx-3090").values("die_area_m2")
    assert [fact.value for fact in known] == [628.4e-6, 628e-6]
    assert len({fact.source.id for fact in known}) == 2
