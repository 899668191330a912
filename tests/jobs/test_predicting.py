"""Predictions of a module that is given as an object."""

from __future__ import annotations

import pytest

from gpuwise import PredictRequest, fit, predict
from gpuwise.errors import InputError
from gpuwise.jobs.predicting import FitRequest

torch = pytest.importorskip("torch")


def layers(width: int) -> object:
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))


def test_a_module_is_predicted_at_the_batch_of_its_example() -> None:
    request = PredictRequest(
        workload=layers(2048), inputs=(torch.empty(512, 2048),), gpus=("rtx-4090", "h100-sxm")
    )
    answer = predict(request)
    fast, slow = answer.records
    assert (fast.gpu_id, slow.gpu_id) == ("h100-sxm5-80gb", "rtx-4090")
    assert fast.batch == slow.batch == 512
    assert 0 < fast.seconds <= 1.0001 * slow.seconds  # as long as the host takes, on both
    # Weights, gradients and both moments of AdamW in fp32, at least.
    assert fast.memory_bytes.value > 4 * 4 * 2 * 2048 * 2048
    assert not any("bench" in note for note in answer.table.notes)


@pytest.mark.parametrize(
    ("first", "shape", "batch"), [(True, (10, 4, 16), 10), (False, (10, 4, 16), 4), (False, (10, 16), 1)]
)
def test_of_a_module_whose_places_come_first_the_batch_is_the_second_size(
    first: bool, shape: tuple[int, ...], batch: int
) -> None:
    model = torch.nn.LSTM(16, 32, batch_first=first)
    (record,) = predict(model, torch.empty(*shape), gpus=("l4",), mode="infer").records
    assert record.batch == batch


@pytest.mark.parametrize("mode", ["infer", None])
def test_a_language_model_of_ours_decodes_unless_told_otherwise(mode: str | None) -> None:
    (record,) = predict("llm-8b", gpus=("l40s",), mode=mode).records
    assert record.question.workload == "llm-8b-decode"


def test_more_work_takes_longer_and_inference_less_memory() -> None:
    def one(width: int, mode: str) -> object:
        request = PredictRequest(
            workload=layers(width), inputs=(torch.empty(8192, width),), gpus=("h100-sxm",), mode=mode
        )
        return predict(request).records[0]

    assert one(4096, "train").seconds > one(2048, "train").seconds > one(2048, "infer").seconds
    assert one(2048, "infer").memory_bytes.value < one(2048, "train").memory_bytes.value


def test_a_module_needs_example_inputs() -> None:
    with pytest.raises(InputError):
        predict(layers(8), gpus="h100-sxm")
    with pytest.raises(InputError):
        predict(None, torch.empty(4, 8))


def test_what_has_nothing_to_train_is_answered_for_inference() -> None:
    model, batch = torch.nn.ReLU(), torch.empty(64, 256)
    with pytest.raises(InputError, match="train"):
        predict(model, batch, gpus="l4")
    assert predict(model, batch, gpus="l4", mode="infer").records[0].seconds
    with pytest.raises(InputError, match="module"):
        predict(lambda x: x, batch, gpus="l4")


@pytest.mark.parametrize("precision", ["int4", "fp8", "fp64"])
def test_a_module_runs_in_no_format_that_needs_other_layers(precision: str) -> None:
    with pytest.raises(InputError, match=f"in {precision} by itself"):
        predict(layers(8), torch.empty(4, 8), gpus="l4", precision=precision)


def test_example_inputs_hold_an_item() -> None:
    with pytest.raises(InputError, match="no item"):
        predict(layers(8), torch.empty(0, 8), gpus="l4")


def test_a_module_and_its_batch_are_a_request_in_short() -> None:
    model, batch = layers(256), torch.empty(64, 256)
    whole = PredictRequest(workload=model, inputs=(batch,), gpus=("l4",), mode="infer")
    expected = predict(whole).records[0]
    for inputs in (batch, (batch,)):
        found = predict(model, inputs, gpus="l4", mode="infer").records[0]
        assert (found.batch, found.seconds) == (expected.batch, expected.seconds)


def test_whether_a_model_fits_is_asked_in_short() -> None:
    (small,) = fit("llama-3.1-8b", gpus="rtx-4090", weights="int4").value
    (large,) = fit(FitRequest(model="llama-3.1-70b", gpus=("rtx-4090",), weights=("bf16",))).value
    assert (small.fits, large.fits) == (True, False)


def test_cards_without_the_usual_format_answer_in_the_next_one_and_say_so() -> None:
    gpus = ("v100-pcie-16gb", "t4", "p100-pcie-16gb", "rtx-2080-ti", "rtx-4090")
    answer = predict(PredictRequest(workload="resnet50", gpus=gpus))
    found = {record.gpu_id: record for record in answer.records}
    assert set(found) == set(gpus)
    assert not any(record.refusal for record in answer.records)
    # The vector lanes of a P100 do twice as much in fp16 as in fp32.
    formats = {"v100-pcie-16gb": "fp16", "t4": "fp16", "p100-pcie-16gb": "fp16", "rtx-2080-ti": "fp16"}
    assert {gpu: str(found[gpu].question.precision) for gpu in gpus} == formats | {"rtx-4090": "bf16"}
    assert [issue.code for issue in found["t4"].issues] == ["other-precision"]
    assert any("in fp16" in note for note in answer.table.notes)
    asked = predict(PredictRequest(workload="resnet50", gpus=("t4",), precision="bf16"))
    assert asked.records[0].refusal


@pytest.mark.parametrize("batch", [16, 0, (1, 8), (None, 4)])
def test_a_module_s_batch_is_not_given_twice(batch: object) -> None:
    with pytest.raises(InputError, match="batch of its example inputs"):
        predict(layers(8), torch.empty(4, 8), gpus=("l4", "t4"), batch=batch)
    found = predict(layers(8), torch.empty(4, 8), gpus=("l4", "t4"), batch=(None,)).records
    assert sorted((record.gpu_id, record.batch) for record in found) == [("l4", 4), ("t4", 4)]


@pytest.mark.parametrize(
    ("workload", "options", "has"),
    [
        ("resnet50", {"mode": "compute"}, "no mode compute, only train, infer"),
        ("cholesky", {"precision": "fp16"}, "no precision fp16, only"),
    ],
)
def test_kernels_from_the_sheet_are_refused_as_networks_are(
    workload: str, options: dict[str, str], has: str
) -> None:
    with pytest.raises(InputError, match=has):
        predict(workload, gpus="l4", **options)
