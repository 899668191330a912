"""The table of networks by number of GPUs."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.model.result import Measurement
from gpuwise.show.results import counts

from .conftest import COPY, OK, result


def on(workload: str, gpus: int) -> Measurement:
    return replace(OK, config=replace(OK.config, workload=workload, gpus=gpus))


def test_a_row_a_network_and_a_column_a_count() -> None:
    table = counts(result(COPY, on("resnet50", 1), on("resnet50", 8), on("googlenet", 1)))
    assert table is not None
    assert table.columns == ("measurement", "1 GPU", "8 GPUs")
    assert [row[0].split()[0] for row in table.rows] == ["resnet50", "googlenet"]
    assert table.rows[0][1].startswith("7,")
    assert table.rows[1][2] == ""


def test_it_is_left_out_where_it_would_say_nothing_new() -> None:
    assert counts(result(on("resnet50", 1), on("googlenet", 1))) is None
    assert counts(result(on("resnet50", 1), on("resnet50", 2))) is None
