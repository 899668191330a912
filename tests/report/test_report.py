"""Tables and lines: what is said, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise import catalog, workloads
from gpuwise.model.result import Caution, Interval, Measurement, Result, Telemetry
from gpuwise.model.run import Environment, RunConfig
from gpuwise.report import comparisons, gpus, health, hello, results
from gpuwise.report import workloads as workload_report
from gpuwise.report.table import Table, comma_separated, markdown
from gpuwise.stats import pair
from gpuwise.telemetry import Check, DeviceInfo, Machine, TorchBuild

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
NOISY = Caution(code="noisy", detail="interval of ±3 %", next_step="stop other work")
GOOD = Measurement(
    config=CONFIG,
    workload_version=1,
    status="ok",
    item="image",
    started_at="2026-11-21T00:00:00+00:00",
    batch=256,
    throughput=Interval(value=7210.4, low=7190, high=7230, method="bootstrap"),
    memory_peak_bytes=11 * 2**30,
    mfu=0.18,
    limit_share=0.55,
    limit="memory",
    telemetry=Telemetry(samples=50, power_w=690.0),
)
RESULT = Result(
    id="r",
    created_at="2026-11-21T04:00:00+00:00",
    command="gpuwise bench",
    environment=Environment(device="NVIDIA H200", torch="2.11.0"),
    measurements=(GOOD,),
)


def test_a_line_says_what_matters() -> None:
    text = results.line(GOOD)
    for part in (
        "resnet50 train bf16 compiled",
        "7,210 images/s ±0.3 %",
        "batch 256",
        "55 % of the memory limit",
        "690 W",
    ):
        assert part in text
    assert "!" not in text


def test_a_failure_says_why_in_one_line() -> None:
    oom = replace(
        GOOD, status="oom", throughput=None, error="CUDA out of memory\nTried to allocate", cautions=()
    )
    assert "oom" in results.line(oom)
    assert "CUDA out of memory" in results.line(oom)
    assert "Tried" not in results.line(oom)
    partial = replace(GOOD, status="interrupted")
    assert results.speed(partial) == "7,210 images/s ±0.3 % (interrupted)"


def test_stated_figures_have_no_spread_and_limits_have_their_units() -> None:
    stated = replace(GOOD, throughput=Interval(value=5761, low=5761, high=5761, level=None, method="stated"))
    assert results.speed(stated) == "5,761 images/s"
    assert results.rate(7.97e14, "FLOP") == "797 TFLOP/s"
    assert results.rate(4.24e12, "byte") == "4.24 TB/s"
    assert results.rate(12.345, "thing") == "12.35 thing/s"


def test_the_table_drops_columns_that_say_nothing() -> None:
    table = results.measurements(RESULT)
    assert "cautions" not in table.columns
    assert table.rows[0][-1] == "10.4 image/J"
    bare = replace(GOOD, telemetry=None, mfu=None)
    assert not {"power", "MFU", "efficiency"} & set(
        results.measurements(replace(RESULT, measurements=(bare,))).columns
    )


def test_every_caution_is_told_in_words_once() -> None:
    doubtful = replace(GOOD, cautions=(NOISY, NOISY), error=None)
    table = results.measurements(replace(RESULT, measurements=(doubtful,)))
    assert table.rows[0][-1] == "noisy"
    assert table.notes == ("resnet50 train bf16 compiled: noisy: interval of ±3 %. Stop other work",)


def test_the_environment_table_hides_what_is_unknown() -> None:
    found = Environment(
        device="NVIDIA H200", cuda="13.0", power_limit_w=500, power_limit_default_w=700, ecc=True
    )
    rows = dict(results.environment(found).rows)
    assert rows["power limit"] == "500 W (default 700 W)"
    assert rows["catalog entry"] == "none: this GPU is unknown"
    assert rows["ECC"] == "on"
    assert "MIG" not in rows


def test_markdown_and_csv() -> None:
    table = Table(
        columns=("a", "b"),
        rows=(("x|y", "1"),),
        numeric=frozenset({"b"}),
        title="T",
        before=("first",),
        notes=("last",),
    )
    text = markdown(table)
    assert "| x\\|y | 1 |" in text
    assert "| --- | ---: |" in text
    assert text.index("**T**") < text.index("- first") < text.index("| a |") < text.index("- last")
    assert comma_separated(table) == "a,b\nx|y,1\n"


def test_empty_columns() -> None:
    table = Table(columns=("a", "b"), rows=(("", "1"), ("", "2"))).without_empty_columns()
    assert (table.columns, table.rows) == (("b",), (("1",), ("2",)))


def test_every_fact_is_shown_with_its_source() -> None:
    for spec in catalog.all_gpus():
        table = gpus.specification(spec)
        assert len(table.rows) == len(spec.facts) + len(spec.peaks)
        assert all(row[table.columns.index("source")] for row in table.rows)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("memory_bytes", "24.0 GiB"),
        ("memory_bytes_per_s", "768.0 GB/s"),
        ("boost_hz", "1695 MHz"),
        ("power_w", "230 W"),
        ("cuda_cores", "8,192"),
        ("l2_bytes", "6 MiB"),
        ("launch", "2021-04-12"),
        ("mig", "no"),
        ("ecc", "yes"),
    ],
)
def test_values_have_their_units(field: str, text: str) -> None:
    assert gpus.shown(catalog.get("rtx-a5000").facts[field]) == text


def test_side_by_side_gives_ratios_where_they_mean_something() -> None:
    table = gpus.side_by_side((catalog.get("rtx-a5000"), catalog.get("rtx-4090")))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["CUDA cores"] == ("8,192", "16,384 (2.00x)")
    assert rows["PCIe generation"] == ("4", "4")
    assert rows["peak fp8 matrix, fp32 accumulate"][0] == "-"


def test_listings() -> None:
    assert len(gpus.listing(catalog.all_gpus()).rows) == len(catalog.all_gpus())
    rows = {row[0]: row for row in workload_report.listing(workloads.specs()).rows}
    assert "24.5 GFLOP" in rows["resnet50"]
    document = workload_report.document(workloads.get("bert-large").spec)
    assert document["flop_per_item"]["train"] == pytest.approx(739e9, rel=0.001)


def test_comparisons_name_the_results_where_there_are_several() -> None:
    other = replace(RESULT, id="o", environment=replace(RESULT.environment, torch="2.12.0"))
    found = [(other, pair(RESULT, other)), (other, pair(RESULT, other))]
    table = comparisons.comparisons(RESULT, found, names=("a", "b", "c"))
    assert table.before == ("b: torch: 2.11.0 -> 2.12.0", "c: torch: 2.11.0 -> 2.12.0")
    assert [row[0] for row in table.rows] == [f"{n}: resnet50 train bf16 compiled tuned" for n in "bc"]


def test_a_published_result_is_named_and_its_silence_is_no_difference() -> None:
    published = replace(RESULT, origin="published", source="a table")
    measured = replace(RESULT, environment=replace(RESULT.environment, variables=(("OMP_NUM_THREADS", "1"),)))
    assert comparisons.differences(published, measured) == ("published figures: a table",)
    assert comparisons.differences(RESULT, measured) == ("variables: none -> OMP_NUM_THREADS=1",)


def machine(*devices: DeviceInfo, torch: TorchBuild | None = None) -> Machine:
    return Machine(devices=devices, torch=torch, cpu="CPU", cpu_count=2, memory_bytes=2**34, os="Linux")


@pytest.mark.parametrize("saved", [0, 3])
@pytest.mark.parametrize("torch", [None, TorchBuild(version="2.13.0+cpu")])
@pytest.mark.parametrize("gpu", [False, True])
def test_the_hello_screen_always_has_three_commands(saved: int, torch: TorchBuild | None, gpu: bool) -> None:
    devices = (DeviceInfo(index=0, name="NVIDIA H200", memory_bytes=2**37, driver="580"),) if gpu else ()
    known = [catalog.get("h200-sxm")] * len(devices)
    text = hello.screen("0.1", machine(*devices, torch=torch), known, 24, saved)
    commands = [line for line in text.splitlines() if line.startswith("  ")]
    assert len(commands) == 3
    assert ("no GPU found" in text) is not gpu
    assert ("pip install" in commands[0]) is (torch is None)
    assert ("gpuwise show last" in text) is (saved > 0)


def test_health_signs() -> None:
    table = health.checks(
        [Check(name="a", status="ok", detail="fine"), Check(name="b", status="fail", detail="no", fix="do")]
    )
    assert table.rows == (("✓", "a", "fine", ""), ("✗", "b", "no", "do"))
