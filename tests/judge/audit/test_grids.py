"""Tables: GPUs in rows or columns, host figures, totals, titles of two."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit
from gpuwise.judge.audit.grids import spaced


def wrong(text: str, name: str = "a.md") -> list[tuple[str, str]]:
    return [(f.field, f.stated) for f in audit.audit_text(text, name).findings if f.verdict == "contradicts"]


def test_the_host_s_memory_is_not_the_gpu_s() -> None:
    assert wrong("| GPU | VRAM | RAM |\n|---|---|---|\n| T4 | 16 GB | 64 GB |\n| L4 | 25 GB | 64 GB |") == [
        ("memory_bytes", "25 GB")
    ]
    assert wrong("| GPU | vCPU | Memory |\n|---|---|---|\n| T4 | 8 | 64 GB |\n| L4 | 8 | 64 GB |") == []


def test_sums_over_several_gpus_are_not_read() -> None:
    assert wrong("| GPU | VRAM |\n|---|---|\n| 8x H100 SXM | 640 GB |\n| 2x L40S | 96 GB |") == []
    assert wrong("| GPU | GPUs | VRAM |\n|---|---|---|\n| L40S | 2 | 96 GB |\n| T4 | 1 | 16 GB |") == []


def test_columns_without_names_under_a_title_of_two_belong_to_either() -> None:
    rows = "| CUDA cores | 10752 | 10752 |\n|---|---|---|\n| Bandwidth | 768 GB/s | 868.0 GB/s |"
    text = f"# A40 vs RTX A6000\n{rows}"
    assert [f.verdict for f in audit.audit_text(text).findings] == [
        "agrees",
        "agrees",
        "agrees",
        "cannot tell",
    ]


def test_tops_of_no_named_format_are_not_judged() -> None:
    assert audit.audit_text("| GPU | AI performance |\n|---|---|\n| RTX 5090 | 3,352 TOPS |").findings == ()


def test_names_in_the_second_row_of_a_header() -> None:
    text = "| | A100 | A100 |\n|---|---|---|\n| | A100 80GB PCIe | A100 80GB SXM |\n| TDP | 300 W | 300 W |"
    assert wrong(text) == [("power_w", "300 W")]


def test_a_footnote_makes_starred_peaks_sparse() -> None:
    table = "| | H100 SXM |\n|---|---|\n| FP8 Tensor Core* | 3,958 TFLOPS |\n"
    assert wrong(table + "\n\\* With sparsity") == []
    assert wrong(table) == [("peak:fp8", "3,958 TFLOPS")]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("tdp_w", "tdp (W)"),
        ("memory_bandwidth_gb_per_s", "memory bandwidth (GB/s)"),
        ("fp16_tensor_tflops", "fp16 tensor (TFLOPS)"),
    ],
)
def test_names_of_programs_as_readers_write_them(name: str, label: str) -> None:
    assert spaced(name) == label


def test_csv_by_row_and_by_column() -> None:
    assert wrong("gpu_name;vram_gb;tdp_w\nNVIDIA L4;24;72\nNVIDIA T4;16;75\n", "a.csv") == [("power_w", "75")]
    assert wrong("spec,RTX 4090,RTX 3090\nmemory_gb,24,24\ncuda_cores,16384,10486\n", "a.csv") == [
        ("cuda_cores", "10486")
    ]


def test_a_header_of_two_rows() -> None:
    html = (
        "<table><tr><th rowspan=2>GPU</th><th colspan=2>Memory</th><th colspan=2>Peak TFLOPS</th></tr>"
        "<tr><th>Size (GB)</th><th>Bandwidth (GB/s)</th><th>FP32</th><th>FP16 Tensor</th></tr>"
        "<tr><td>A30</td><td>24</td><td>933</td><td>10.3</td><td>165</td></tr>"
        "<tr><td>L40</td><td>48</td><td>964</td><td>90.5</td><td>181</td></tr></table>"
    )
    assert wrong(html, "a.html") == [("memory_bytes_per_s", "964")]


@pytest.mark.parametrize(
    ("label", "right", "false"),
    [
        ("TDP [W]", "350", "525"),
        ("BF16 dense (TFLOPS)", "71", "165"),
        ("FP16 (dense / sparse)", "71 / 142", "165 / 330"),
        ("BF16", "71 TF", "165 TF"),
        ("HBM", "24 GB", "32 GB"),
        ("Speicher", "24 GB", "32 GB"),
        ("Memory bandwidth", "936 GB/s", "1 936 GB/s"),
    ],
)
def test_labels_as_people_write_them(label: str, right: str, false: str) -> None:
    table = f"| GPU | {label} |\n|---|---|\n| RTX 3090 | {{}} |"
    assert wrong(table.format(right)) == []
    assert len(wrong(table.format(false))) >= 1


def test_the_published_pair_of_the_l40s_is_dense_and_sparse() -> None:
    table = "| | L40S |\n|---|---|\n| FP16 (dense/sparse) | 362 / 733 |\n| FP8 (dense/sparse) | 733 / 1,466 |"
    assert wrong(table) == []


def test_units_in_a_column_of_their_own() -> None:
    rows = "| Bandwidth | GB/s | 1008 |\n| Process | nm | 7 |\n| TGP | W | 450 |"
    assert wrong(f"| Spec | Unit | RTX 4090 |\n|---|---|---|\n{rows}") == [("process_nm", "7")]


def test_power_and_memory_of_a_benchmark_were_measured() -> None:
    head = "| GPU | Sequences/s | Power (W) | Memory (GB) | TDP (W) |\n|---|---|---|---|---|\n"
    assert wrong(head + "| H100 SXM | 290 | 610 | 61 | 700 |\n| L40S | 95 | 335 | 40 | 300 |") == [
        ("power_w", "300")
    ]


def test_points_for_thousands_of_a_peak() -> None:
    assert wrong("| GPU | FP16 Tensor (dense) |\n|---|---|\n| MI300X | 1.307 TFLOPS |") == []
