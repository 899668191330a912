"""What is said of each kind of measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.model.question import Environment
from gpuwise.model.result import (
    BatchTrial,
    Bottleneck,
    Compilation,
    Continuation,
    Interval,
    Issue,
    Measurement,
    Result,
    Telemetry,
)
from gpuwise.show import results
from gpuwise.show.table import rate, spread

from .conftest import COPY, MATMUL, NOISY, OK, OOM, PUBLISHED, THROTTLED, result

FAILED = replace(OOM, status="failed", error="RuntimeError: boom\n  File x")
INTERRUPTED = replace(OK, status="interrupted")
STOPPED_EARLY = replace(INTERRUPTED, throughput=None)


@pytest.mark.parametrize(
    ("measurement", "expected"),
    [
        (OK, "7,210 images/s ±0.3 %"),
        (OOM, "oom"),
        (FAILED, "failed"),
        (INTERRUPTED, "7,210 images/s ±0.3 % (interrupted)"),
        (STOPPED_EARLY, "interrupted"),
        (PUBLISHED, "900.0 images/s"),
        (MATMUL, "797 TFLOP/s ±0.1 %"),
        (COPY, "4.10 TB/s ±2.4 %"),
    ],
)
def test_speed(measurement: Measurement, expected: str) -> None:
    assert results.measured_speed(measurement) == expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("image", "1,235 images/s"),
        ("sequence", "1,235 sequences/s"),
        ("token", "1,235 tokens/s"),
        ("step", "1,235 steps/s"),
        ("FLOP", "1.23 kFLOP/s"),
        ("byte", "1.23 kB/s"),
    ],
)
def test_rates_have_the_units_of_the_field(item: str, expected: str) -> None:
    assert rate(1234.56 if item not in ("FLOP", "byte") else 1234.0, item) == expected


def test_a_slow_rate_keeps_four_digits() -> None:
    assert rate(12.346, "thing") == "12.35 things/s"


def test_the_spread_is_the_larger_side_and_nothing_where_it_is_not_known() -> None:
    skewed = Interval(value=100.0, low=99.0, high=104.0, method="bootstrap")
    assert spread(skewed) == " ±4.0 %"
    assert spread(replace(skewed, level=None)) == ""
    assert spread(replace(skewed, high=41 * skewed.value)) == " noisy"


def test_a_line_of_a_model() -> None:
    assert results.line(OK) == (
        "resnet50 train bf16 compiled      7,210 images/s ±0.3 %  batch 256  21 % of the memory limit  612 W"
    )


def test_a_line_of_a_limit_tells_its_share_of_the_peak_and_neither_batch_nor_power() -> None:
    assert results.line(MATMUL).split() == [
        "matmul",
        "bf16",
        "797",
        "TFLOP/s",
        "±0.1",
        "%",
        "81",
        "%",
        "of",
        "peak",
    ]
    assert results.line(COPY).split() == ["copy", "fp32", "4.10", "TB/s", "±2.4", "%"]


def test_a_line_of_a_failure_ends_with_the_first_line_of_its_error() -> None:
    assert results.line(OOM).endswith("oom  batch 256  CUDA out of memory")
    assert results.line(replace(FAILED, error="x" * 300)).endswith("  " + "x" * 100)
    assert "x" * 101 not in results.line(replace(FAILED, error="x" * 300))


def test_an_error_without_words_is_no_error_of_the_report() -> None:
    silent = replace(FAILED, error="")
    assert results.line(silent).endswith("batch 256")
    assert results.notes(result(silent)) == ()


def test_a_line_names_each_caution_once() -> None:
    warned = replace(OK, cautions=(THROTTLED, NOISY, THROTTLED))
    assert results.line(warned).endswith("  ! throttled, noisy")
    assert results.measurement_row(warned)["cautions"] == "throttled, noisy"


def test_all_rows_have_the_same_cells() -> None:
    every = (OK, OOM, FAILED, INTERRUPTED, PUBLISHED, MATMUL, COPY)
    assert len({tuple(results.measurement_row(m)) for m in every}) == 1


def test_the_row_of_a_model() -> None:
    assert results.measurement_row(OK) == {
        "workload": "resnet50",
        "mode": "train",
        "precision": "bf16",
        "compile": "compiled",
        "recipe": "stock",
        "framework": "",
        "size": "",
        "batch": "256",
        "load": "",
        "throughput (95 %)": "7,210 images/s ±0.3 %",
        "MFU": "17.8 %",
        "of limit": "21 % memory",
        "bound by": "",
        "GPUs": "",
        "peak memory": "22.0 GiB",
        "power": "612 W",
        "efficiency": "11.8 images/J",
        "cautions": "",
    }


def test_a_toy_is_marked_in_its_row() -> None:
    small = replace(OK, config=replace(OK.config, size="toy"))
    assert [results.measurement_row(m)["size"] for m in (OK, small)] == ["", "toy"]


def test_the_row_of_a_limit_leaves_out_what_is_no_question_of_it() -> None:
    row = results.measurement_row(MATMUL)
    said = {name: text for name, text in row.items() if text}
    assert said == {
        "workload": "matmul",
        "precision": "bf16",
        "throughput (95 %)": "797 TFLOP/s ±0.1 %",
        "MFU": "80.6 %",
        "power": "650 W",
    }


def test_columns_that_say_nothing_are_dropped() -> None:
    table = results.measurements(result(OOM))
    assert table.columns == (
        "workload",
        "mode",
        "precision",
        "compile",
        "recipe",
        "batch",
        "throughput (95 %)",
    )
    assert "cautions" in results.measurements(result(OOM, replace(OK, cautions=(NOISY,)))).columns


def test_a_result_without_measurements_still_has_a_table() -> None:
    table = results.measurements(result())
    assert (table.title, table.rows) == (results.headline(result()), ())


def test_the_headline() -> None:
    assert results.headline(result()) == "NVIDIA H200 · torch 2.11.0 · 2026-11-21"
    published = result(origin="published", environment=Environment(device="A100"))
    assert results.headline(published) == "A100 · 2026-11-21 · published figures, not measured by gpuwise"


def test_a_note_of_several_measurements_stands_once_with_their_names() -> None:
    other = replace(OK, config=replace(OK.config, precision="fp16"), cautions=(NOISY, THROTTLED))
    notes = results.notes(result(replace(OK, cautions=(THROTTLED,)), other))
    assert notes == (
        "all measurements: throttled: 5.0 % of the time. Cool the card",
        "resnet50 train fp16 compiled: noisy: spread of 4 %. Stop other work",
    )
    both = results.notes(result(replace(OK, cautions=(THROTTLED,)), other, MATMUL))
    assert both[0].startswith("resnet50 train bf16 compiled, resnet50 train fp16 compiled: throttled")


def test_cautions_that_differ_in_numbers_only_stand_once_with_their_range() -> None:
    worse = replace(THROTTLED, detail="38.5 % of the time")
    every = [replace(OK, config=replace(OK.config, gpus=n), cautions=(THROTTLED, worse)) for n in range(2, 8)]
    (note,) = results.notes(result(MATMUL, *every))
    names = ", ".join(f"resnet50 train bf16 compiled, {n} GPUs" for n in range(2, 6))
    assert note == f"{names} and 2 more: throttled: 5.0 to 38.5 % of the time. Cool the card"


def test_each_distinct_caution_is_noted_once_with_its_next_step() -> None:
    hot = Issue(code="hot-start", severity="warning", detail="began at 71 C", fix="wait")
    parity = replace(OK, config=replace(OK.config, recipe="script"), cautions=(THROTTLED,))
    notes = results.notes(result(replace(OK, cautions=(THROTTLED, hot, THROTTLED)), parity, OOM))
    name = "resnet50 train bf16 compiled"
    assert notes == (
        f"{name}, {name} script: throttled: 5.0 % of the time. Cool the card",
        f"{name}: hot-start: began at 71 C. Wait",
        "resnet50 train fp32 eager: oom: CUDA out of memory",
    )


def test_a_published_results_source_is_its_first_note() -> None:
    assert results.notes(result(OOM, source="An article, 2024"))[0] == "Source: An article, 2024"


def test_a_known_machine() -> None:
    found = Environment(
        device="NVIDIA H200",
        gpu_id="h200-sxm",
        python="3.11.9",
        os="Linux 6.1",
        cpu="EPYC",
        cpu_count=16,
        torch="2.11.0",
        cuda="13.0",
        cudnn="9.1",
        driver="580.1",
        device_memory_bytes=141 * 2**30,
        power_limit_w=500.0,
        power_limit_default_w=700.0,
        ecc=True,
        mig=False,
        pcie_generation=5,
        pcie_width=16,
        other_processes=0,
        variables=(("A", "1"), ("B", "2")),
    )
    assert results.environment(found).rows == (
        ("device", "NVIDIA H200"),
        ("catalog entry", "h200-sxm"),
        ("device memory", "141.0 GiB"),
        ("driver", "580.1"),
        ("torch", "2.11.0"),
        ("CUDA", "13.0"),
        ("cuDNN", "9.1"),
        ("power limit", "500 W (default 700 W)"),
        ("ECC", "on"),
        ("MIG", "off"),
        ("PCIe", "generation 5 x16"),
        ("CPU", "EPYC, 16 usable cores"),
        ("system", "Linux 6.1 · Python 3.11.9"),
        ("other processes", "0"),
        ("variables", "A=1, B=2"),
    )


def test_what_is_unknown_is_hidden() -> None:
    assert results.environment(Environment(device="Some CPU")).rows == (("device", "Some CPU"),)


def test_every_command_of_a_session_is_told() -> None:
    later = Continuation(started_at="2026-11-22", command="gpuwise bench --time 3s")
    found = Result(
        id="r",
        created_at="2026-11-21",
        command="gpuwise bench",
        environment=Environment(device="Some CPU"),
        resumed=(later,),
    )
    assert results.commands(found).rows == (
        ("2026-11-21", "gpuwise bench"),
        ("2026-11-22", "gpuwise bench --time 3s"),
    )


@pytest.mark.parametrize("default", [None, 700.0])
def test_a_power_limit_at_its_default_is_one_number(default: float | None) -> None:
    found = Environment(device="d", power_limit_w=700.0, power_limit_default_w=default)
    assert ("power limit", "700 W") in results.environment(found).rows


def test_half_known_pairs_do_not_say_none() -> None:
    found = Environment(device="d", pcie_generation=4, cpu="EPYC")
    assert results.environment(found).rows[1:] == (("PCIe", "generation 4"), ("CPU", "EPYC"))


def test_a_gpu_that_the_catalog_lacks_is_called_unknown() -> None:
    rows = results.environment(Environment(device="New GPU", cuda="13.0")).rows
    assert ("catalog entry", "none: this GPU is unknown") in rows


def test_timing_counts_the_steps_of_all_windows() -> None:
    assert results.timing(OK) == (
        "first step after 55.1 s, 2 warm-up steps in 41.2 s, 5 timed steps in 2 windows"
    )
    compiled = replace(OK, compilation=Compilation(seconds=41.0, graphs=2, cached=0))
    assert "after 55.1 s (41.0 s of it compiling 2 graphs), 2 warm-up" in results.timing(compiled)
    found = replace(OK, compilation=Compilation(seconds=4.2, graphs=1, cached=1))
    assert "(4.20 s of it compiling 1 graph, 1 from the cache)" in results.timing(found)
    assert results.timing(PUBLISHED).endswith("0 timed steps in 0 windows")
    assert results.timing(replace(OK, cold_start_s=None)).startswith("2 warm-up")


def test_efficiency_needs_power() -> None:
    assert results.measurement_row(OK)["efficiency"] == "11.8 images/J"
    bare = replace(OK, telemetry=Telemetry(samples=0))
    assert results.measurement_row(bare)["efficiency"] == ""


def test_details_tell_the_batches_and_the_verdict() -> None:
    found = replace(
        OK,
        batch=256,
        batch_trials=(
            BatchTrial(batch=256, fits=True, items_per_s=6800.0),
            BatchTrial(batch=128, fits=True, items_per_s=6000.0),
            BatchTrial(batch=256, fits=True, compiled=True, items_per_s=7200.0),
            BatchTrial(batch=512, fits=True),
            BatchTrial(batch=1024, fits=False),
        ),
        verdict=Bottleneck(bound="launch", evidence=("GPU busy 60 %", "MFU 12 %"), next_step="--compile on"),
    )
    timing, batches, verdict = results.details(found)
    assert timing.startswith("first step after 55.1 s, 2 warm-up steps in 41.2 s, 5 timed steps")
    assert batches == (
        "batches in images/s: eager 128: 6,000, 256: 6,800, 512: fits, 1024: out of memory; "
        "compiled 256: 7,200; fastest 256, largest that fits 512"
    )
    assert verdict == "launch-bound: GPU busy 60 %; MFU 12 %. To be faster: --compile on"
    assert "launch-bound" in results.line(found)
    assert results.measurement_row(found)["bound by"] == "launch"
    assert results.details(replace(OK, batch_trials=(), verdict=None)) == (results.timing(OK),)
