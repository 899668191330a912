"""A search as lines, a table and a document."""

from __future__ import annotations

import json
from dataclasses import replace

from gpuwise.model.question import RunConfig, Switches
from gpuwise.model.result import Interval, Measurement, Setting, Trial, Tuning
from gpuwise.show import tuning as report

from ..examples import TUNED

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16")


def trial(
    speed: float | None, switches: Switches, *, refusal: str | None = None, adopted: bool = False
) -> Trial:
    found = (
        None
        if speed is None
        else Interval(value=speed, low=0.99 * speed, high=1.01 * speed, method="bootstrap")
    )
    measured = Measurement(
        config=CONFIG, workload_version=1, status="ok", item="image", started_at="", throughput=found
    )
    setting = Setting(switches=switches, batch=256)
    return Trial(setting=setting, measurement=measured, refusal=refusal, adopted=adopted)


TRIALS = (
    trial(1000.0, Switches(), adopted=True),
    trial(1100.0, Switches(pooling="triton"), adopted=True),
    trial(1090.0, Switches(pooling="triton", layout="channels-first")),
    trial(2000.0, Switches(master_weights="on"), refusal="numerics: the first loss differs"),
    trial(None, Switches(graph="on"), refusal="oom"),
)
GAIN = Interval(value=1.1, low=1.09, high=1.11, method="bootstrap")
FOUND = replace(TUNED, device="h200-sxm", torch="2.11.0", batch=256, throughput=GAIN, gain=GAIN)


def test_every_trial_is_a_row_with_its_outcome() -> None:
    table = report.trials(CONFIG, Tuning(trials=TRIALS, left=2, tuned=FOUND))
    assert [row[-1] for row in table.rows] == [
        "fastest so far",
        "fastest so far",
        "no faster",
        "numerics: the first loss differs",
        "oom",
    ]
    assert table.rows[1] == ("256", "pooling=triton", "1,100 images/s ±1.0 %", "110.0 %", "fastest so far")
    assert table.rows[3][3] == ""  # a wrong number has no place beside right ones
    assert table.rows[4][2] == ""


def test_the_gain_has_its_interval_and_what_is_left_is_told() -> None:
    notes = report.trials(CONFIG, Tuning(trials=TRIALS, left=2, tuned=FOUND)).notes
    assert notes[0] == "best: batch 256, pooling=triton: 1.100 (1.090 to 1.110) times the default recipe"
    assert "2 settings" in notes[1]
    assert report.found(Tuning()) == "no setting ran to its end"
    assert report.found(Tuning(trials=TRIALS)) == (
        "fastest so far: batch 256, pooling=triton; no recipe is kept, for default and best were not "
        "measured again at the end"
    )


def test_a_line_a_trial() -> None:
    assert "pooling=triton" in report.line(TRIALS[1], 2)
    assert report.line(TRIALS[4], 5).endswith("oom")


def test_what_is_taken_over_is_said() -> None:
    config = RunConfig(
        workload="resnet50", mode="train", precision="bf16", batch=64, switches=Switches(pooling="triton")
    )
    said = "resnet50 train bf16{} as tuned for h200-sxm, torch 2.11.0: batch 64, pooling=triton"
    assert report.used(config, [FOUND]) == said.format("")
    assert report.used(replace(config, gpus=4), [FOUND, FOUND]) == said.format(" x4")
    other = replace(FOUND, workload="bert-large", gpus=2, switches=Switches(overlap_grads="off"))
    four = replace(config, gpus=4, batch=None, switches=other.switches)
    assert report.used(four, [other]) == (
        "resnet50 train bf16 x4 as tuned for h200-sxm, torch 2.11.0: overlap_grads=off; "
        "exchange as of bert-large bf16"
    )


def test_the_document_is_plain_data() -> None:
    document = json.loads(json.dumps(report.document(Tuning(trials=TRIALS, left=2, tuned=FOUND))))
    assert document["trials"][1]["switches"] == {"pooling": "triton"}
    assert document["trials"][3]["items_per_s"] is None
    assert document["tuned"]["batch"] == 256
    assert report.document(Tuning())["tuned"] is None
