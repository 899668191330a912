"""What one label and its cell claim."""

from __future__ import annotations

from gpuwise.judge.audit import cells, fields
from gpuwise.judge.audit.cells import STARRED, Reading
from gpuwise.model.claim import Number


def read(label: str, cell: str) -> list[Reading]:
    field = fields.of_label(label.removesuffix(STARRED))
    assert field is not None, label
    return list(cells.read(field, label, cell))


def figures(readings: list[Reading]) -> list[tuple[float, bool | None]]:
    return [(v.value, r.sparse) for r in readings for v in r.values if isinstance(v, Number)]


def test_memory_names_its_type() -> None:
    assert [r.field for r in read("VRAM", "24 GB GDDR6X")] == ["memory_bytes", "memory_type"]


def test_dense_and_sparse_in_one_cell() -> None:
    dense, sparse = figures(read("TF32", "156 TFLOPS (Sparse: 312 TFLOPS)"))
    assert (dense[0], dense[1]) == (156e12, None)
    assert sparse == (312e12, True)


def test_the_double_behind_a_peak_is_its_sparse_form() -> None:
    assert [s for _, s in figures(read("FP16", "312 TFLOPS | 624 TFLOPS"))] == [None, True]


def test_a_star_is_read_where_a_footnote_explains_it() -> None:
    assert figures(read("FP8" + STARRED, "3,958 TFLOPS*")) == [(3958e12, True)]
    assert figures(read("FP8", "3,958 TFLOPS*")) == [(3958e12, None)]


def test_a_format_in_the_cell_makes_the_peak_precise() -> None:
    assert [r.field for r in read("Tensor performance", "330 TFLOPS (FP16), 660 TOPS (INT8)")] == [
        "peak:fp16",
        "peak:int8",
    ]


def test_a_cell_that_counts_something_else_is_that() -> None:
    assert [r.field for r in read("Compute units", "16,896 CUDA cores")] == ["cuda_cores"]


def test_one_direction_of_a_link_is_not_its_rate() -> None:
    assert read("NVLink", "450 GB/s per direction") == []


def test_a_cell_as_long_as_prose_is_not_read() -> None:
    assert read("VRAM", "24 GB " + "and so on " * 50) == []
