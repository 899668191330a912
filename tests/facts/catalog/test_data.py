"""Integrity of the data: sources, units, arithmetic and names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from datetime import date
from functools import cache
from typing import get_args

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import name_key
from gpuwise.facts.catalog.load import DATA
from gpuwise.model.gpu import SourceKind

ALWAYS = ("vendor", "architecture", "form", "segment")
FORMS = {"pcie", "sxm", "oam", "laptop", "soc"}
WITHOUT_PEAKS = {
    "mi308x",
    "mi50-32gb",
    "arc-pro-b65",
    "arc-pro-b70",
    "rtx-pro-4500-blackwell-server",
    "rx-580",
    "rx-590",
}
SEGMENTS = {"consumer", "workstation", "server", "embedded", "mining"}
# The most used GPUs (tools/witnesses.py counts them): their key cells have two witnesses or are open below.
NAMES = """
    t4 l4 l40 l40s a10 a30 a40 h100-pcie-80gb h100-sxm5-80gb h100-nvl-94gb h200-sxm h200-nvl b200-sxm
    b300-sxm a100-sxm4-80gb a100-pcie-80gb mi300x mi325x a100-sxm4-40gb a100-pcie-40gb v100-sxm2-16gb
    v100-pcie-16gb v100-sxm2-32gb p100-pcie-16gb rtx-2080-ti rtx-3060-12gb rtx-3060-ti rtx-3070
    rtx-3070-ti rtx-3080-10gb rtx-3080-ti rtx-3090 rtx-3090-ti rtx-4060 rtx-4060-ti-8gb rtx-4060-ti-16gb
    rtx-4070 rtx-4070-super rtx-4070-ti rtx-4070-ti-super rtx-4080 rtx-4080-super rtx-4090 rtx-5070
    rtx-5070-ti rtx-5080 rtx-5090 rtx-a2000-12gb rtx-a4000 rtx-a4500 rtx-a5000 rtx-a6000 rtx-2000-ada
    rtx-4000-ada rtx-4500-ada rtx-5000-ada rtx-6000-ada rtx-pro-4000-blackwell rtx-pro-4500-blackwell
    rtx-pro-5000-blackwell rtx-pro-6000-blackwell-ws rtx-pro-6000-blackwell-server gtx-1080-ti gtx-1080
    gtx-1070 gtx-1660-super titan-rtx rx-6800-xt rx-6900-xt rx-7800-xt rx-7900-xt rx-7900-xtx rx-9070
    rx-9070-xt mi250x radeon-pro-w7900 arc-b580 mi355x mi210 mi100 rtx-2070 rtx-2080 rtx-2060 a10g
    p100-sxm2-16gb k80 v100-pcie-32gb v100s-pcie-32gb rtx-pro-6000-blackwell-maxq v100-sxm3-32gb p4
    quadro-rtx-6000 gh200-96gb gb300 a16 rtx-5060 p40 rtx-5060-ti-16gb gb200 gtx-1070-ti gtx-1650
    gtx-1660 quadro-p2000 quadro-rtx-4000 quadro-rtx-8000 rx-7600 rx-9060-xt-16gb rx-9060-xt-8gb
    arc-b570 gtx-1050-ti rtx-a2000-6gb rx-5500-xt
    """
USED = frozenset(NAMES.split())
# One source each, or sources that differ; a second one that is found takes the GPU from here. No public sheet
# has the bus and the rate of the A10G (its driver reports 80 multiprocessors, databases have 72), nor the
# bandwidth of the first GH200; of it and of the V100-SXM3 drivers report several limits; Intel's Arc has a
# peak at each of two clocks.
OPEN = {
    "memory_bytes_per_s": {"gh200-96gb"},
    "power_w": {"gh200-96gb", "v100-sxm3-32gb"},
    "memory_bus_bits": {"a10g"},
    "sm_count": {"a10g"},
    "peak:fp32:fp32:vector": {"a10g", "arc-b570"},
}
KEY = (
    *("memory_bytes", "memory_bytes_per_s", "memory_bus_bits", "power_w"),
    *("sm_count", "peak:fp32:fp32:vector"),
)
FORMATS = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"}
# Transfers per second and pin: DDR3, HBM and the GDDR5 of 2011 to GDDR7 and HBM4.
PIN_RATE = {"HBM": (1e9, 11e9), "GDD": (2.8e9, 32e9), "LPD": (3e9, 10e9), "DDR": (1.6e9, 6e9)}


@cache
def rows(name: str) -> list[dict[str, str]]:
    paths = sorted((DATA / "specs").glob("*.csv")) if name == "specs" else [DATA / name]
    found = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            found += list(csv.DictReader(file))
    return found


@cache
def standing() -> list[dict[str, str]]:
    """The rows that stand: the first of each GPU and field."""
    first: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows("specs"):
        first.setdefault((row["gpu_id"], row["field"]), row)
    return list(first.values())


def test_a_source_states_a_field_once() -> None:
    # A chip of Apple's is sold with several sizes of memory.
    counts = Counter(
        (row["gpu_id"], row["field"], row["source"])
        for row in rows("specs")
        if not row["gpu_id"].startswith("apple-")
    )
    assert [key for key, count in counts.items() if count > 1] == []


def test_the_catalog_is_wide() -> None:
    specs = catalog.all_gpus()
    assert len(specs) >= 400
    assert {spec.vendor for spec in specs} == {"NVIDIA", "AMD", "Intel", "Apple"}
    assert {spec.text("form") for spec in specs} == FORMS
    assert {spec.text("segment") for spec in specs} == SEGMENTS


def test_a_file_holds_the_gpus_of_one_vendor() -> None:
    for path in (DATA / "specs").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            ids = {row["gpu_id"] for row in csv.DictReader(file)}
        assert {(catalog.get(gpu_id).vendor or "").lower() for gpu_id in ids} == {path.stem}


def test_ids_agree_between_files() -> None:
    names = [row["gpu_id"] for row in rows("names.csv")]
    assert len(set(names)) == len(names)
    assert set(names) == {row["gpu_id"] for row in rows("specs")}
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_every_source_is_dated_known_and_used() -> None:
    ids = [row["id"] for row in rows("sources.csv")]
    assert len(set(ids)) == len(ids)
    cited = {row["source"] for name in ("specs", "chips.csv", "rates.csv", "rules.csv") for row in rows(name)}
    assert set(ids) == cited
    for source in catalog.sources().values():
        assert source.kind in get_args(SourceKind)
        assert date.fromisoformat(source.read_on) >= date(2026, 1, 1)
        assert source.title
        assert source.licence != ""
        assert source.url is None or re.match(r"https?://", source.url)


def test_the_licence_column_is_filled_where_the_publisher_grants_one() -> None:
    granted = {source.id: source.licence for source in catalog.sources().values() if source.licence}
    assert granted["ml-engineering"] == "CC BY-SA 4.0"
    assert {"Apache-2.0", "MIT", "BSD-3-Clause"} <= set(granted.values())
    # An open repository is cited with its licence.
    for source in catalog.sources().values():
        if source.url and re.match(r"https://github\.com/[^/]+/[^/]+/(blob|tree)/", source.url):
            assert source.licence, source.id


def test_computed_values_state_their_formula() -> None:
    derived = {source.id for source in catalog.sources().values() if source.kind == "derived"}
    computed = [row for row in rows("specs") if row["source"] in derived]
    assert all(row["locator"] for row in computed)


def test_computed_matrix_peaks_equal_their_formula() -> None:
    for row in standing():
        formula = row["locator"].partition(" = ")[2]
        if row["locator"].startswith("sm_count x boost_hz") and formula:
            units, clock, rate = (float(factor) for factor in formula.split(" x "))
            assert float(row["value"]) == pytest.approx(units * clock * rate, rel=3e-3), row
            spec = catalog.get(row["gpu_id"])
            assert (units, clock) == (spec.number("sm_count"), spec.number("boost_hz")), row


FILES = sorted(path.name for path in DATA.glob("*.csv"))


@pytest.mark.parametrize("name", FILES)
def test_no_trace_of_how_the_data_was_gathered(name: str) -> None:
    text = (DATA / name).read_text(encoding="utf-8")
    assert not re.search(r"/work|/home|/tmp|file index|SEED|seed-\d|[0-9a-f]{16}\.txt", text)
    assert not re.search(r"pypi\.org|pythonhosted|npmjs|crates\.io", text)
    assert text.isascii()


def test_numbers_parse_and_are_positive() -> None:
    known = catalog.fields()
    for row in rows("specs"):
        kind = "number" if row["field"].startswith("peak:") else known[row["field"]].kind
        if kind == "number":
            assert float(row["value"]) > 0, row
        if kind == "flag":
            assert row["value"] in ("true", "false"), row
        assert row["value"].strip() == row["value"] != "", row


def test_fields_are_described_once_and_grouped_together() -> None:
    described = [row["field"] for row in rows("fields.csv")]
    assert len(set(described)) == len(described)
    groups = [row["group"] for row in rows("fields.csv")]
    runs = [group for i, group in enumerate(groups) if i == 0 or groups[i - 1] != group]
    assert len(set(runs)) == len(runs)
    assert {row["kind"] for row in rows("fields.csv")} == {"text", "number", "flag"}
    labels = [row["label"] for row in rows("fields.csv")]
    assert len(set(labels)) == len(labels)


def test_aliases_are_unambiguous() -> None:
    owners: dict[str, set[str]] = {}
    for spec in catalog.all_gpus():
        for name in (spec.id, spec.name, *spec.aliases):
            owners.setdefault(f"{spec.vendor} {name_key(name)}", set()).add(spec.id)
    assert {key: ids for key, ids in owners.items() if len(ids) > 1} == {}


def test_names_without_the_order_of_their_words_are_unambiguous() -> None:
    owners: dict[frozenset[str], set[str]] = {}
    for spec in catalog.all_gpus():
        for name in (spec.id, spec.name, *spec.aliases):
            owners.setdefault(frozenset(re.findall(r"[a-z0-9]+", name.lower())), set()).add(spec.id)
    assert {tuple(words): ids for words, ids in owners.items() if len(ids) > 1} == {}


def test_gpus_outside_the_catalog_are_not_in_it() -> None:
    for row in rows("outside.csv"):
        with pytest.raises(InputError):
            catalog.find(row["name"])


def test_machines_of_clouds_have_gpus_of_the_catalog() -> None:
    assert {row["gpu_id"] for row in rows("instances.csv")} <= {spec.id for spec in catalog.all_gpus()}


def test_shared_device_names_are_device_names() -> None:
    for row in rows("names.csv"):
        assert set(row["shared_device_names"].split(";")) - {""} <= set(row["device_names"].split(";"))


def test_the_essential_facts_are_there() -> None:
    for spec in catalog.all_gpus():
        assert [field for field in ALWAYS if field not in spec.facts] == []
        assert any(not peak.sparse for peak in spec.peaks) or spec.id in WITHOUT_PEAKS
        assert spec.device_names or spec.text("chip") is None


@pytest.mark.parametrize(
    ("gpu_id", "gpus"),
    [("k80", 2), ("k10", 2), ("m60", 2), ("m10", 4), ("a16", 4), ("gtx-690", 2), ("grid-k1", 4)],
)
def test_a_board_of_several_gpus_has_its_own_peak(gpu_id: str, gpus: int) -> None:
    """The first value is of one GPU, and a further one of the board: texts print either."""
    one, *others = (fact.value for fact in catalog.get(gpu_id).values("peak:fp32:fp32:vector"))
    assert gpus * float(one) in [pytest.approx(float(other)) for other in others]


def test_every_gpu_of_a_chip_has_its_transistors() -> None:
    """Those of dies that are sold alone; of two together, or of a whole processor, counts differ."""
    stated = {spec.text("chip") for spec in catalog.all_gpus() if "transistors" in spec.facts}
    without = {s.text("chip") for s in catalog.all_gpus() if "transistors" not in s.facts} & stated
    assert without - {None} == {"Aldebaran", "Aqua Vanjaram", "Galaxy"}


@pytest.mark.parametrize("field", KEY)
def test_the_most_used_gpus_have_two_witnesses(field: str) -> None:
    assert {spec.id for spec in catalog.all_gpus()} >= USED
    stated = {gpu_id for gpu_id in USED if catalog.get(gpu_id).values(field)}
    single = {gpu_id for gpu_id in stated if field not in catalog.confirmed(catalog.get(gpu_id))}
    assert single == OPEN.get(field, set())


# What no source that was read says of them.
M5 = {"apple-m5", "apple-m5-max", "apple-m5-pro"}
UNKNOWN = {
    **{"fp16": M5, "bf16": M5, "int8": M5},
    "mig": {"rtx-6000d", "rtx-pro-4500-blackwell-server", "vr200"},
}


@pytest.mark.parametrize("name", ["fp16", "bf16", "tf32", "fp8", "fp4", "int8", "nvlink", "mig"])
def test_every_gpu_says_what_it_can_do(name: str) -> None:
    unknown = {spec.id for spec in catalog.all_gpus() if spec.supports(name) is None}
    assert unknown == UNKNOWN.get(name, set())
    for spec in catalog.all_gpus():
        assert spec.vendor != "NVIDIA" or spec.text("compute_capability") or spec.id == "vr200"


def test_a_link_is_of_the_chip_and_the_board() -> None:
    """The PCIe boards of P100 and V100 have no connector, Turing's laptop parts none either."""
    linked = {spec.id for spec in catalog.all_gpus() if spec.supports("nvlink")}
    assert linked >= {
        "p100-sxm2-16gb",
        "v100-sxm3-32gb",
        "quadro-gv100",
        "a30",
        "h20",
        "rtx-a4500",
        "gh200-96gb",
    }
    assert not linked & {
        "p100-pcie-16gb",
        "v100s-pcie-32gb",
        "t4",
        "a10",
        "l40s",
        "quadro-rtx-5000-laptop",
        "mi300x",
    }


def test_launches_are_dates_of_the_past() -> None:
    for spec in catalog.all_gpus():
        launch = spec.facts.get("launch")
        if launch is not None:
            assert re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", str(launch.value))
            assert "2010" <= str(launch.value) <= launch.source.read_on


def test_laptop_parts_draw_less_than_the_desktop_card_of_that_name() -> None:
    known = {spec.id: spec for spec in catalog.all_gpus()}
    pairs = [(spec, known.get(spec.id.removesuffix("-laptop"))) for spec in known.values()]
    # Mobile workstations are sold with more power than the low cards of that name.
    pairs = [
        (spec, desktop)
        for spec, desktop in pairs
        if desktop is not None and spec is not desktop and spec.text("segment") == "consumer"
    ]
    assert len(pairs) > 20
    for spec, desktop in pairs:
        assert desktop is not None
        assert (spec.power_w or 0) <= (desktop.power_w or 1e9), spec.id


def test_every_row_of_the_chart_of_one_card_is_filled() -> None:
    missing = [
        name
        for name, field in catalog.fields().items()
        if field.chart and ":" not in name and name not in catalog.get("rtx-a5000").facts
    ]
    assert missing == []


def test_what_belongs_together_stands_together() -> None:
    for spec in catalog.all_gpus():
        assert "link_bytes_per_s" not in spec.facts or spec.text("link") not in (None, "none")
        for count, generation in (
            ("tensor_cores", "tensor_core_generation"),
            ("rt_cores", "rt_core_generation"),
        ):
            assert (
                count not in spec.facts
                or generation in spec.facts
                or spec.vendor != "NVIDIA"
                or spec.text("form") == "soc"
            )
        slots, form = spec.number("slots"), spec.text("form")
        assert slots is None or form == "pcie"
        assert spec.number("pcie_lanes") in (None, 1, 4, 8, 16)


def test_conflicts_between_sources_are_told() -> None:
    noted = [row for row in rows("specs") if "other sources differ" in row["note"]]
    assert len(noted) > 40
    for gpu_id, field in [
        ("v100-pcie-16gb", "power_w"),
        ("h100-pcie-80gb", "memory_bytes_per_s"),
        ("h100-nvl-94gb", "memory_bus_bits"),
        ("rtx-4090-laptop", "power_w"),
        ("l4", "sm_count"),
        ("mi300x", "memory_bytes_per_s"),
        ("b300-sxm", "memory_bytes"),
    ]:
        assert "other sources differ" in catalog.get(gpu_id).facts[field].note, (gpu_id, field)


def test_peaks_name_known_formats() -> None:
    for spec in catalog.all_gpus():
        for peak in spec.peaks:
            assert peak.format in FORMATS
            assert peak.accumulate in FORMATS | {"int32"}
    for row in rows("specs"):
        if row["field"].startswith("peak:"):
            assert re.fullmatch(r"peak:\w+:\w+:(vector|matrix)(:sparse)?", row["field"])


def test_sparse_peaks_are_twice_the_dense_ones() -> None:
    for spec in catalog.all_gpus():
        peaks = {row["field"]: row for row in standing() if row["gpu_id"] == spec.id}
        for field, row in peaks.items():
            if field.endswith(":sparse"):
                dense = float(peaks[field.removesuffix(":sparse")]["value"])
                twice = float(row["value"]) == pytest.approx(2 * dense, rel=3e-3)
                assert twice or "not twice the dense" in row["note"], row


def test_memory_bandwidth_is_plausible() -> None:
    for spec in catalog.all_gpus():
        bandwidth, bits = spec.memory_bytes_per_s, spec.number("memory_bus_bits")
        kind = spec.text("memory_type")
        if bandwidth is None or bits is None or kind is None:
            continue
        low, high = PIN_RATE[kind[:3]]
        assert low <= bandwidth * 8 / bits <= high, spec.id


def test_quantities_are_in_base_units() -> None:
    """A value left in GB, MHz or TFLOP/s would be far outside these ranges."""
    for spec in catalog.all_gpus():
        ranges = {
            "memory_bytes": (2**30, 1e12),
            "l2_bytes": (2**18, 2**29),
            "boost_hz": (0.6e9, 4e9),
            "base_hz": (0.1e9, 3e9),
            "power_w": (7, 2500),
            "link_bytes_per_s": (50e9, 4e12),
            "launch_price_usd": (60, 100_000),
            "process_nm": (2, 40),
            "rt_flop_per_s": (1e13, 1e15),
            "memory_transfers_per_s": (1.4e9, 32e9),
            "memory_bus_bits": (32, 24576),
            "height_m": (0.06, 0.2),
            "length_m": (0.05, 0.4),
            "slots": (1, 4),
            "transistors": (1e9, 250e9),
            "link_gpus": (2, 8),
            "encoders": (1, 8),
            "decoders": (1, 8),
        }
        for field, (low, high) in ranges.items():
            value = spec.number(field)
            assert value is None or low <= value <= high, (field, value)
        assert all(5e9 < peak.flop_per_s < 1e17 for peak in spec.peaks)
        assert (spec.number("base_hz") or 0) <= (spec.number("boost_hz") or 0)


def test_the_memory_note_says_what_its_unit_is() -> None:
    for spec in catalog.all_gpus():
        fact = spec.facts.get("memory_bytes")
        assert fact is None or re.search("counted in GiB|decimal GB", fact.note)


def test_a_copy_names_the_source_that_it_repeats() -> None:
    copies = {source.id: source.copy_of for source in catalog.sources().values() if source.copy_of}
    assert copies
    assert all(catalog.sources()[original].copy_of is None for original in copies.values())


def test_what_one_edition_has_is_not_given_to_another() -> None:
    """Databases give the Server Edition a sibling's memory, the GB10 another L2, the H200 the NVL's date."""
    server, workstation = (catalog.get(f"rtx-pro-6000-blackwell-{name}") for name in ("server", "ws"))
    assert server.memory_bytes_per_s == 1597e9
    assert (server.memory_bytes_per_s or 0) < (workstation.memory_bytes_per_s or 0)
    assert catalog.get("gb10").number("l2_bytes") == 24 * 2**20
    assert (catalog.get("h200-sxm").text("launch") or "") < (catalog.get("h200-nvl").text("launch") or "")


def test_a_card_s_launch_is_the_day_it_was_sold_not_announced() -> None:
    """A date that may be of the announcement yields to a later one within months that a source states."""
    assert catalog.get("rtx-4090").text("launch") == "2022-10-12"
    assert catalog.get("rtx-4080").text("launch") == "2022-11-16"
    assert catalog.get("rtx-5070").text("launch") == "2025-03-05"
    assert catalog.get("rx-7900-gre").text("launch") == "2023-07-27"  # In other countries half a year later
    for spec in catalog.all_gpus():
        fact = spec.facts.get("launch")
        if fact is not None and "announcement" in fact.note and len(str(fact.value)) == 10:
            first = date.fromisoformat(str(fact.value))
            more = (str(other.value) for other in spec.more.get("launch", ()) if len(str(other.value)) == 10)
            later = [day for day in more if 0 < (date.fromisoformat(day) - first).days <= 100]
            assert not later, (spec.id, first, later)
