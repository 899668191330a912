"""Tables: GPUs in rows or columns, host figures, totals, titles of two."""

from __future__ import annotations

import pytest

from gpuwise import audit
from gpuwise.audit.grids import spaced


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
