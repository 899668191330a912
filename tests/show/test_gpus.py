"""The catalog as tables: units, sources, ratios."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpuwise.facts import catalog
from gpuwise.facts.catalog import Match
from gpuwise.model.gpu import Fact, GpuSpec, Peak
from gpuwise.show import gpus

from .conftest import DATABASE, DATASHEET, card


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("memory_bytes_per_s", 4.8e12, "4.800 TB/s"),
        ("link_bytes_per_s", 900e9, "900.0 GB/s"),
        ("memory_bytes", 141 * 2**30, "141.0 GiB"),
        ("l2_bytes", 50 * 2**20, "50 MiB"),
        ("l2_bytes", 5.5 * 2**20, "5.5 MiB"),
        ("boost_hz", 1.98e9, "1980 MHz"),
        ("power_w", 700, "700 W"),
        ("power_w", 72.5, "72.5 W"),
        ("launch_price_usd", 1599, "1,599 USD"),
        ("process_nm", 4, "4 nm"),
        ("memory_bus_bits", 6144, "6144 bit"),
        ("cuda_cores", 16896, "16,896"),
        ("slots", 2.5, "2.5"),
        ("slots", 2.0, "2.0"),
        ("ecc", True, "yes"),
        ("mig", False, "no"),
        ("architecture", "Hopper", "Hopper"),
        ("compute_capability", "9.0", "9.0"),
        ("launch", "2021-04-12", "2021-04-12"),
    ],
)
def test_a_value_has_the_unit_of_its_field(field: str, value: str | float | bool, expected: str) -> None:
    assert gpus.shown(Fact(field=field, value=value, source=DATASHEET)) == expected


def test_labels() -> None:
    assert gpus.label("l2_bytes") == "L2 cache"
    assert gpus.label("compute_capability") == "compute capability"


def test_peak_names_tell_apart_what_must_not_be_mixed() -> None:
    peak = Peak(format="fp16", accumulate="fp32", unit="matrix", flop_per_s=1.0, source=DATASHEET)
    assert gpus.peak_name(peak) == "fp16 matrix, fp32 accumulate"
    assert gpus.peak_name(replace(peak, sparse=True)) == "fp16 matrix, fp32 accumulate, sparse"
    assert gpus.peak_name(replace(peak, accumulate="fp16", unit="vector")) == "fp16 vector"


def test_a_list_shows_what_it_is_sorted_by() -> None:
    matches = catalog.matching(["rtx-4090"])
    assert gpus.listing(matches, sorted_by="-memory") == gpus.listing(matches)
    for field, column, value in (
        ("-price", "launch price", "1,600 USD"),
        ("fp8", "fp8", "330.3 TFLOP/s"),
        ("sm_count", "multiprocessors", "128"),
    ):
        table = gpus.listing(matches, sorted_by=field)
        assert (table.columns[-1], table.rows[0][-1]) == (column, value)


def test_every_row_of_a_specification_names_its_source() -> None:
    spec = card("one", vendor="NVIDIA", power_w=700)
    table = gpus.specification(spec)
    assert table.title == "Card one (one)"
    # No notes and nothing to compute from: no columns for them.
    assert table.columns == ("", "field", "value", "sources", "source")
    assert table.rows == (
        ("identity", "vendor", "NVIDIA", "vendor", "The datasheet"),
        ("performance", "peak bf16 matrix, fp32 accumulate", "100.0 TFLOP/s", "vendor", "The datasheet"),
        ("board", "power", "700 W", "1 (?)", "A database"),
    )
    assert any(note.startswith("1 (?)") for note in table.notes)


def test_sources_that_agree_are_counted_and_others_named() -> None:
    spec = card("one", vendor="NVIDIA", power_w=700)
    (fact,) = [fact for name, fact in spec.facts.items() if name == "power_w"]
    second, third = (replace(DATABASE, id=name, title=name) for name in ("second", "third"))
    agreeing, apart = replace(fact, source=second, value=701), replace(fact, source=third, value=600)
    rows = gpus.specification(replace(spec, more={"power_w": (agreeing, apart)})).rows
    (row,) = [row for row in rows if row[1] == "power"]
    assert row[3] == "2"
    assert row[-1] == "also stated: 600 W (third)"


def test_a_note_to_a_fact_is_shown() -> None:
    spec = card("one")
    noted = Fact(field="power_w", value=1, source=DATABASE, note="at the wall")
    table = gpus.specification(replace(spec, facts={"power_w": noted}))
    assert table.columns == ("", "field", "value", "sources", "source", "note")
    assert table.rows[-1] == ("board", "power", "1.00 W", "1 (?)", "A database", "at the wall")


CHART = (
    *("memory", "memory type", "memory bus", "memory bandwidth", "ECC", "CUDA cores", "tensor cores"),
    *("tensor core generation", "RT cores", "RT core generation", "peak fp32 vector", "RT core performance"),
    *(
        "peak fp16 matrix, sparse",
        "GPU link (NVLink, Infinity Fabric)",
        "link bandwidth, both ways",
        "GPUs a link joins",
    ),
    *("PCIe generation", "PCIe lanes", "power", "cooling", "form factor", "slots", "height", "length"),
    *("display connectors", "most displays at once", "power connector", "video encoders", "video decoders"),
    *("VR ready", "vGPU software", "vGPU profiles", "graphics APIs", "compute APIs"),
)


def test_rows_come_in_the_order_of_a_specification_chart() -> None:
    table = gpus.specification(catalog.get("rtx-a5000"))
    labels = [row[1] for row in table.rows]
    assert [label for label in labels if label in CHART] == list(CHART)
    values = {row[1]: row[2] for row in table.rows}
    assert values["RT core performance"] == "54.20 TFLOP/s"
    assert values["length"] == "267 mm"
    assert values["memory data rate per pin"] == "16.00 GT/s"
    assert not any("no source read states" in note for note in table.notes)


def test_each_group_is_named_once() -> None:
    for spec in catalog.all_gpus():
        groups = [row[0] for row in gpus.specification(spec).rows if row[0]]
        assert len(set(groups)) == len(groups)


def test_computed_values_stand_beside_the_stated_ones() -> None:
    table = gpus.specification(catalog.get("h100-nvl-94gb"))
    computed = {row[1]: row[3] for row in table.rows}
    assert computed["CUDA cores"] == "16,896"
    assert computed["peak fp32 vector"] == "60.32 TFLOP/s"
    assert computed["peak fp16 matrix, fp32 accumulate"] == "965.1 TFLOP/s (!) stated -13.4 %"
    assert computed["vendor"] == ""
    assert any(note.startswith("(!) 6 stated values") for note in table.notes)


def test_the_whole_die_and_the_gaps_are_told() -> None:
    notes = gpus.specification(catalog.get("a100-pcie-80gb")).notes
    assert notes[0] == "the whole GA100 die has 128 multiprocessors, 8,192 cores, 512 tensor cores"
    assert notes[1].startswith("no source read states: ")
    # An AMD card lacks no CUDA cores.
    assert not any("CUDA" in note for note in gpus.specification(catalog.get("mi300x")).notes)


def test_integer_peaks_are_not_floating_point() -> None:
    peak = replace(card("one").peaks[0], format="int8", accumulate="int32")
    spec = replace(card("one"), peaks=(peak,))
    assert gpus.specification(spec).rows[-1][2] == "100.0 TOP/s"
    assert gpus.side_by_side([spec]).rows[-1][1] == "100.0 TOP/s"


def test_the_whole_catalog_has_a_row_each() -> None:
    table = gpus.listing(catalog.matching([]))
    assert [row[0] for row in table.rows] == [spec.id for spec in catalog.all_gpus()]
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.numeric <= set(table.columns)


def test_the_listing_shows_the_dense_peak() -> None:
    row = dict(
        zip(
            gpus.listing(catalog.matching([])).columns,
            gpus.listing([Match(spec=catalog.get("h200-sxm"))]).rows[0],
            strict=True,
        )
    )
    assert row["16 bit, dense"] == "990 TFLOP/s" or row["16 bit, dense"] == "989 TFLOP/s"
    assert row["memory"].endswith("GiB")
    assert row["bandwidth"].endswith("TB/s")
    assert row["power"] == "700 W"


def test_a_count_multiplies_what_adds_up() -> None:
    table = gpus.listing([Match(spec=card("two", memory_bytes=80 * 2**30, power_w=700), count=8)])
    assert table.rows == (("8 x two", "Card two", "", "640.0 GiB", "", "", "2.00 PFLOP/s", "5,600 W", ""),)
    assert "sums" in table.notes[0]


def test_a_gpu_of_which_nothing_is_known_has_empty_cells() -> None:
    bare = replace(card("bare"), peaks=())
    assert gpus.listing([Match(spec=bare)]).rows == (("bare", "Card bare", "", "", "", "", "", "", ""),)


# One of each architecture and form: of others only the figures differ.
SAMPLE = {(spec.architecture, spec.text("form")): spec for spec in catalog.all_gpus()}


@pytest.mark.parametrize("spec", SAMPLE.values(), ids=lambda spec: spec.id)
def test_every_source_title_of_a_gpu_is_in_its_specification(spec: GpuSpec) -> None:
    table = gpus.specification(spec)
    titles = [row[table.columns.index("source")] for row in table.rows]
    assert sorted(titles) == sorted(
        [fact.source.title for fact in spec.facts.values()] + [peak.source.title for peak in spec.peaks]
    )
    assert all(row[2] for row in table.rows)


def test_the_later_gpus_have_their_ratio_to_the_first() -> None:
    one = card(
        "one", vendor="NVIDIA", power_w=200, cuda_cores=1000, ecc=True, process_nm=8, pcie_generation=4
    )
    two = card("two", vendor="NVIDIA", power_w=300, ecc=True, process_nm=4, slots=2, pcie_generation=5)
    table = gpus.side_by_side([one, two])
    assert table.columns == ("field", "one", "two")
    assert table.rows == (
        ("vendor", "NVIDIA", "NVIDIA"),
        ("process", "8 nm", "4 nm"),
        ("ECC", "yes", "yes"),
        ("CUDA cores", "1,000", "-"),
        ("PCIe generation", "4", "5"),
        ("power", "200 W", "300 W (1.50x)"),
        ("slots", "-", "2"),
        ("peak bf16 matrix, fp32 accumulate", "100.0 TFLOP/s", "250.0 TFLOP/s (2.50x)"),
    )


def test_a_peak_that_the_first_lacks_has_no_ratio() -> None:
    table = gpus.side_by_side([replace(card("one"), peaks=()), card("two")])
    assert table.rows == (("peak bf16 matrix, fp32 accumulate", "-", "250.0 TFLOP/s"),)


def test_the_document_is_plain_data_with_sources() -> None:
    document = json.loads(json.dumps(gpus.document(card("one", power_w=700))))
    assert document["facts"][0]["source"]["title"] == "The datasheet"
    assert document["facts"][0]["value"] == 700
    assert document["peaks"][0]["flop_per_s"] == 1e14
    assert document["id"] == "one"


def test_the_document_holds_what_was_computed() -> None:
    (match,) = catalog.matching(["rtx-a5000:2", "pcie"])
    assert match.count == 2
    document = json.loads(json.dumps(gpus.document(match.spec)))
    row = next(row for row in document["derived"] if row["field"] == "peak:fp32:fp32:vector")
    assert row["agrees"] is True
    assert row["inputs"] == {"cuda_cores": 8192, "boost_hz": 1695e6}
    assert abs(row["difference"]) < 0.01


def test_every_short_name_is_read_as_its_gpu_and_no_other() -> None:
    names = {gpus.short(spec): spec.id for spec in catalog.all_gpus()}
    assert len(names) == len(catalog.all_gpus())
    for name, gpu_id in names.items():
        (mention, *_) = catalog.mentions(f"Choose the {name}, because it is faster.")
        assert gpu_id in mention.gpu_ids


def test_a_comparison_says_what_the_laptop_or_the_bridge_decides() -> None:
    notes = gpus.side_by_side([catalog.get("rtx-4090-laptop"), catalog.get("a100-pcie-80gb")]).notes
    assert any("rtx-4090-laptop" in note and "80 to 150 W" in note for note in notes)
    assert any("a100-pcie-80gb" in note and "2 cards" in note for note in notes)


def test_a_long_list_is_counted() -> None:
    every = [Match(spec=spec) for spec in catalog.all_gpus()]
    assert any(str(len(every)) in note for note in gpus.listing(every).notes)
    assert len(gpus.listing(every[:30]).notes) == 1
