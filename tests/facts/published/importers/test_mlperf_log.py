"""MLPerf logs: three kinds of evidence, aborted runs, several runs, noise between the events."""

from __future__ import annotations

import json

import pytest

START, STOP = 1_655_293_400_000, 1_655_293_400_000 + 600_000


def event(key: str, value: object = None, at: int = START, **metadata: object) -> str:
    return ":::MLLOG " + json.dumps({"key": key, "value": value, "time_ms": at, "metadata": metadata})


HEAD = [
    "python -m torch.distributed.run --nproc_per_node=8 ./run.sh",
    event("submission_benchmark", "resnet"),
    event("submission_org", "Maker"),
    event("submission_platform", "2xBOX"),
    event("global_batch_size", 3200),
    event("train_samples", 1_281_167),
    event("run_start"),
]
END = event("run_stop", at=STOP, status="success")


def test_tracked_throughput_comes_first(read):
    speeds = [event("tracked_stats", {"throughput": value}, at=STOP) for value in (100.0, 40_000.0, 41_000.0)]
    found = read("\n".join([*HEAD, *speeds, END]), gpu="H100 SXM5 80GB")
    (row,) = found.rows
    assert found.format == "mlperf"
    assert (row.value, row.question.workload, row.item, row.gpus) == (40_000.0, "resnet50", "image", 16)
    assert (row.batch, row.gpu_id, row.date) == (200, "h100-sxm5-80gb", "2022-06-15")
    assert "not verified by MLCommons" in " ".join(row.notes)


def test_epochs_times_data_set_over_time(read):
    (row,) = read("\n".join([*HEAD, event("epoch_stop", at=STOP, epoch_num=36), END])).rows
    assert row.value == pytest.approx(1_281_167 * 36 / 600)


def test_counted_samples_over_time(read):
    (row,) = read("\n".join([*HEAD, event("block_stop", at=STOP, samples_count=172_032), END])).rows
    assert row.value == pytest.approx(172_032 / 600)


def test_epoch_number_of_bert_is_a_count_of_samples(read):
    head = [line.replace('"resnet"', '"bert"') for line in HEAD]
    (row,) = read("\n".join([*head, event("eval_stop", at=STOP, epoch_num=2_400_000), END])).rows
    assert (row.question.workload, row.item, row.value) == ("mlperf-bert-large", "sequence", 4000.0)


def test_size_of_the_data_set_alone_gives_a_time_to_train(read):
    (row,) = read("\n".join([*HEAD, END])).rows
    assert (row.item, row.value) == ("run", pytest.approx(1 / 600))
    assert "time to train 10.00 min" in " ".join(row.notes)


@pytest.mark.parametrize("status", ["aborted", "failed"])
def test_run_that_did_not_finish_has_no_time(read, status):
    found = read("\n".join([*HEAD, END.replace("success", status)]))
    assert not found.rows
    assert found.skipped[-1][1].detail == "a run without a speed and without a successful end"


def test_several_runs_of_one_file(read):
    one = [event("run_start"), event("block_stop", at=STOP, samples_count=600), END]
    two = [event("run_start"), event("block_stop", at=STOP, samples_count=1200), END]
    rows = read("\n".join([*HEAD[:-1], *one, *two])).rows
    assert [row.value for row in rows] == [1.0, 2.0]


def test_gpus_from_the_user_where_the_log_does_not_tell(read):
    text = "\n".join([*HEAD[1:], event("block_stop", at=STOP, samples_count=600), END])
    assert read(text).skipped[-1][1].detail == "says nowhere on how many GPUs it ran"
    assert read(text, n_gpus=4).rows[0].gpus == 4


def test_torn_events_are_named(read):
    text = "\n".join([*HEAD, ':::MLLOG {"key": "bro', "0: :::MLLOG []", END])
    assert [line for line, _ in read(text).skipped] == [8, 9]
