"""Tables of speeds: ours with intervals, others' with their sources, never in one column."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.facts.published import record
from gpuwise.model.gpu import Source
from gpuwise.model.question import Question
from gpuwise.model.result import Interval, Issue, Record, records_of
from gpuwise.show import records as speeds

from .conftest import NOISY, OK, OOM, result

SOURCE = Source(
    id="theirs", title="Their table", kind="third-party", read_on="2026-11-21", url="https://example.org/t"
)


def theirs(**changes):
    usual = {
        "gpu": "H200 SXM", "gpu_id": "h200-sxm", "gpus": 8, "workload": "resnet50", "mode": "train",
        "precision": "tf32?", "stated": "fp32", "framework": "MXNet", "versions": "MXNet 1.9", "batch": 400,
        "speed": 63_600.0, "item": "image", "date": "2024-04-25", "source": SOURCE,
    }  # fmt: skip
    return record(**usual | changes)


SCALING = Issue(code="scaling", severity="warning", detail="too fast", fix="count again")


def ours(measurement=OK):
    (record,) = records_of([result(measurement)])
    return record


OURS = ours()


def cells(table, row=0):
    return dict(zip(table.columns, table.rows[row], strict=True))


def test_measured_row_has_interval_recipe_and_result():
    found = cells(speeds.measured_table([OURS]))
    assert found["throughput"] == "7,210 images/s ±0.3 %"
    assert (found["GPU"], found["recipe"], found["compiled"]) == ("h200-sxm", "stock", "yes")
    assert (found["source"], found["date"], found["software"]) == ("20261121-a", "2026-11-21", "torch 2.11.0")


def test_measured_cautions_are_written_out_and_failures_shown():
    noisy = ours(replace(OK, cautions=(NOISY,)))
    table = speeds.measured_table([ours(OOM), noisy])
    assert [row["throughput"] for row in (cells(table, 0), cells(table, 1))] == [
        "7,210 images/s ±0.3 %",
        "oom",
    ]
    assert table.notes == ("noisy: spread of 4 %. Next: stop other work",)


def test_published_row_is_per_gpu_too_and_names_its_source():
    table = speeds.published_table([theirs(issues=(SCALING,))])
    found = cells(table)
    assert (found["throughput"], found["per GPU"]) == ("63,600 images/s", "7,950 images/s")
    assert (found["software"], found["source"], found["cautions"]) == ("MXNet 1.9", "theirs", "scaling")
    assert table.notes[0].startswith("tf32?: ")
    assert table.notes[1:] == (
        "scaling: too fast. Next: count again",
        "theirs: Their table; no licence stated; https://example.org/t",
    )


def test_sure_precisions_need_no_explanation():
    notes = speeds.published_table([theirs(precision="fp16")]).notes
    assert not any(note.startswith("tf32?") for note in notes)


def test_fastest_gpu_comes_first_and_inference_last():
    slow, infer = theirs(gpus=16), theirs(mode="infer", gpus=1)
    rows = speeds.published_table([infer, slow, theirs()]).rows
    assert [(row[1], row[3]) for row in rows] == [("train", "8"), ("train", "16"), ("infer", "1")]


def test_many_cautions_are_counted():
    many = [theirs(issues=(replace(SCALING, detail=f"case {chr(97 + i)}"),)) for i in range(20)]
    notes = speeds.published_table(many).notes
    assert sum(note.startswith("scaling: case") for note in notes) == speeds.LISTED
    assert "8 more cautions: --json" in notes


def test_one_file_says_on_every_row_whose_it_is():
    table = speeds.together([OURS], [theirs()])
    assert [(row[0], row[1]) for row in table.rows] == [
        ("measured here", "resnet50"),
        ("published", "resnet50"),
    ]


def test_unknown_gpu_and_software():
    bare = theirs(gpu="", gpu_id=None, framework="", versions="", batch=None)
    found = cells(speeds.published_table([bare]))
    assert found["GPU"] == "not stated"
    assert "software" not in found
    assert "batch" not in found


def test_listing_counts_both_and_keeps_them_apart():
    table = speeds.workloads({"resnet50": 2, "mine": 1}, {"resnet50": 3, "vgg16": 4})
    assert table.rows == (
        ("resnet50", "ResNet-50 v1.5, 224 px", "2", "3"), ("vgg16", "", "0", "4"), ("mine", "", "1", "0"),
    )  # fmt: skip


def test_documents_hold_everything():
    mine, other = speeds.measured_document(OURS), speeds.published_document(theirs())
    assert mine["throughput"]["low"] == 7190.0
    assert (mine["recipe"], mine["gpu_id"], mine["result"]) == ("stock", "h200-sxm", "20261121-a")
    assert other["throughput_per_gpu"] == 7950.0
    assert (other["precision_stated"], other["source"]["id"]) == ("fp32", "theirs")
    assert speeds.measured_document(ours(OOM))["throughput"] is None


def test_on_a_screen_each_gpu_has_its_fastest_row() -> None:
    rows = [theirs(gpu_id=gpu) for gpu in ("h100-sxm5-80gb", "h200-sxm", "rtx-4090") for _ in range(3)]
    assert len(speeds.published_table(rows, 9).rows) == 9
    table = speeds.published_table(rows, 8)
    assert len(table.rows) == 3
    assert "6 more" in table.notes[0]
    assert len(speeds.published_table(rows, 2).rows) == 2


@pytest.mark.parametrize(("high", "code", "rough"), [
    (4.0, "", False), (4.01, "", True), (2.0, "order-of-magnitude", True), (2.0, "other-precision", False),
])  # fmt: skip
def test_a_forecast_is_rough_where_its_ends_are_a_factor_of_four_apart_or_its_card_is_unlike_others(
    high: float, code: str, rough: bool
) -> None:
    speed = Interval(value=1.5, low=1.0, high=high, method="model")
    forecast = Record(
        question=Question(workload="resnet50", mode="train", precision=None), gpu_id="l4", item="image",
        origin="predicted", basis="spec-only", throughput=speed,
        issues=(Issue.warning(code, "why", "measure"),) if code else (),
    )  # fmt: skip
    assert forecast.is_rough is rough
    assert not replace(forecast, origin="published").is_rough
    assert not replace(forecast, measured=forecast).is_rough


def test_cautions_that_differ_in_their_figures_are_one() -> None:
    many = [theirs(issues=(replace(SCALING, detail=f"reaches {i} % of linear"),)) for i in (52, 61, 48)]
    found = [note for note in speeds.published_table(many).notes if note.startswith("scaling:")]
    assert len(found) == 1
    assert "48 to 61 %" in found[0]
