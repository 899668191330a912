"""Integrity of the data: sources, units, arithmetic and names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from datetime import date
from typing import get_args

import pytest

from gpuwise import catalog
from gpuwise.catalog.load import DATA, TEXT_FIELDS
from gpuwise.catalog.query import name_key
from gpuwise.model.gpu import GpuSpec, SourceKind

GPUS = pytest.mark.parametrize("spec", catalog.all_gpus(), ids=lambda spec: spec.id)
REQUIRED = (
    *("vendor", "architecture", "chip", "launch", "sm_count", "boost_hz", "memory_bytes", "memory_type"),
    *("memory_bus_bits", "memory_bytes_per_s", "power_w", "form", "pcie_generation"),
)
FORMATS = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"}
# Transfers per second and pin: HBM2 of 2017 to GDDR7 and HBM3e.
PIN_RATE = {"HBM": (1.5e9, 8e9), "GDD": (10e9, 32e9)}


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_no_fact_is_stated_twice() -> None:
    counts = Counter((row["gpu_id"], row["field"]) for row in rows("specs.csv"))
    assert [key for key, count in counts.items() if count > 1] == []


def test_ids_agree_between_files() -> None:
    names = [row["gpu_id"] for row in rows("names.csv")]
    assert len(set(names)) == len(names)
    assert set(names) == {row["gpu_id"] for row in rows("specs.csv")}
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_every_source_is_dated_known_and_used() -> None:
    ids = [row["id"] for row in rows("sources.csv")]
    assert len(set(ids)) == len(ids)
    assert set(ids) == {row["source"] for row in rows("specs.csv")}
    for source in catalog.sources().values():
        assert source.kind in get_args(SourceKind)
        assert date.fromisoformat(source.read_on) >= date(2026, 1, 1)
        assert source.title
        assert source.url is None or source.url.startswith("https://")


def test_computed_values_state_their_formula() -> None:
    derived = {source.id for source in catalog.sources().values() if source.kind == "derived"}
    computed = [row for row in rows("specs.csv") if row["source"] in derived]
    assert all(row["locator"] for row in computed)


def test_computed_matrix_peaks_equal_their_formula() -> None:
    for row in rows("specs.csv"):
        formula = row["locator"].partition(" = ")[2]
        if row["locator"].startswith("sm_count x boost_hz") and formula:
            units, clock, rate = (float(factor) for factor in formula.split(" x "))
            assert float(row["value"]) == pytest.approx(units * clock * rate, rel=2e-3), row
            spec = catalog.get(row["gpu_id"])
            assert (units, clock) == (spec.number("sm_count"), spec.number("boost_hz")), row


@pytest.mark.parametrize("name", ["specs.csv", "sources.csv", "names.csv"])
def test_no_trace_of_how_the_data_was_gathered(name: str) -> None:
    text = (DATA / name).read_text(encoding="utf-8")
    assert not re.search(r"/work|/home|/tmp|file index|SEED|seed-\d|[0-9a-f]{16}\.txt", text)
    assert text.isascii()


def test_numbers_parse_and_are_positive() -> None:
    for row in rows("specs.csv"):
        if row["field"] not in TEXT_FIELDS and row["value"] not in ("true", "false"):
            assert float(row["value"]) > 0, row
        assert row["value"].strip() == row["value"] != "", row


def test_aliases_are_unambiguous() -> None:
    owners: dict[str, set[str]] = {}
    for spec in catalog.all_gpus():
        for name in (spec.id, spec.name, *spec.aliases):
            owners.setdefault(name_key(name), set()).add(spec.id)
    assert {key: ids for key, ids in owners.items() if len(ids) > 1} == {}


def test_shared_device_names_are_device_names() -> None:
    for row in rows("names.csv"):
        assert set(row["shared_device_names"].split(";")) - {""} <= set(row["device_names"].split(";"))


@GPUS
def test_the_essential_facts_are_there(spec: GpuSpec) -> None:
    assert [field for field in REQUIRED if field not in spec.facts] == []
    assert spec.peak("fp32") is not None
    assert spec.peak("fp16") is not None
    assert spec.device_names
    assert re.fullmatch(r"\d{4}-\d\d(-\d\d)?", spec.text("launch") or "")
    assert spec.text("form") in {"pcie", "sxm", "laptop"}


@GPUS
def test_peaks_name_known_formats(spec: GpuSpec) -> None:
    for peak in spec.peaks:
        assert peak.format in FORMATS
        assert peak.accumulate in FORMATS | {"int32"}
    for row in rows("specs.csv"):
        if row["field"].startswith("peak:"):
            assert re.fullmatch(r"peak:\w+:\w+:(vector|matrix)(:sparse)?", row["field"])


@GPUS
def test_sparse_peaks_are_twice_the_dense_ones(spec: GpuSpec) -> None:
    peaks = {row["field"]: row for row in rows("specs.csv") if row["gpu_id"] == spec.id}
    for field, row in peaks.items():
        if field.endswith(":sparse"):
            dense = float(peaks[field.removesuffix(":sparse")]["value"])
            twice = float(row["value"]) == pytest.approx(2 * dense, rel=1e-3)
            assert twice or "not twice the dense" in row["note"], row


@GPUS
def test_fp32_peak_is_cores_times_two_times_clock(spec: GpuSpec) -> None:
    cores, clock, peak = (
        spec.number("cuda_cores") or spec.number("stream_processors"),
        spec.number("boost_hz"),
        spec.peak("fp32"),
    )
    assert cores
    assert clock
    assert peak is not None
    assert peak.flop_per_s == pytest.approx(cores * 2 * clock, rel=0.03)


@GPUS
def test_matrix_peaks_are_a_plausible_rate_per_clock(spec: GpuSpec) -> None:
    units, clock, peak = spec.number("sm_count"), spec.number("boost_hz"), spec.peak("fp16")
    assert units
    assert clock
    assert peak is not None
    rate = peak.flop_per_s / units / clock
    # A power of two, less where the vendor states matrix peaks at a lower clock (Hopper, to 13 %).
    assert any(0.86 * exact < rate < 1.005 * exact for exact in (512, 1024, 2048, 4096))


@GPUS
def test_memory_bandwidth_is_plausible(spec: GpuSpec) -> None:
    bandwidth, bits = spec.memory_bytes_per_s, spec.number("memory_bus_bits")
    assert bandwidth
    assert bits
    low, high = PIN_RATE[(spec.text("memory_type") or "")[:3]]
    assert low < bandwidth * 8 / bits < high


@GPUS
def test_quantities_are_in_base_units(spec: GpuSpec) -> None:
    """A value left in GB, MHz or TFLOP/s would be far outside these ranges."""
    ranges = {
        "memory_bytes": (8 * 2**30, 1e12),
        "l2_bytes": (2**20, 2**30),
        "boost_hz": (1e9, 4e9),
        "base_hz": (0.5e9, 4e9),
        "power_w": (70, 2000),
        "link_bytes_per_s": (50e9, 4e12),
        "launch_price_usd": (200, 100_000),
        "process_nm": (3, 16),
    }
    for field, (low, high) in ranges.items():
        value = spec.number(field)
        assert value is None or low <= value <= high, (field, value)
    assert all(1e11 < peak.flop_per_s < 1e17 for peak in spec.peaks)
    assert (spec.number("base_hz") or 0) <= (spec.number("boost_hz") or 0)


@GPUS
def test_the_memory_note_says_what_its_unit_is(spec: GpuSpec) -> None:
    assert "counted in GiB" in spec.facts["memory_bytes"].note
