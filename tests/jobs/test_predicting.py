"""Predictions of a module that is given as an object."""

from __future__ import annotations

import pytest

from gpuwise import PredictRequest, predict_speed
from gpuwise.errors import InputError

torch = pytest.importorskip("torch")


def layers(width: int) -> object:
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))


def test_a_module_is_predicted_at_the_batch_of_its_example() -> None:
    request = PredictRequest(
        workload=layers(2048), inputs=(torch.empty(512, 2048),), gpus=("rtx-4090", "h100-sxm")
    )
    answer = predict_speed(request)
    fast, slow = answer.records
    assert (fast.gpu_id, slow.gpu_id) == ("h100-sxm5-80gb", "rtx-4090")
    assert fast.batch == slow.batch == 512
    assert 0 < fast.seconds < slow.seconds
    # Weights, gradients and both moments of AdamW in fp32, at least.
    assert fast.memory_bytes.value > 4 * 4 * 2 * 2048 * 2048
    assert not any("bench" in note for note in answer.table.notes)


def test_more_work_takes_longer_and_inference_less_memory() -> None:
    def one(width: int, mode: str) -> object:
        request = PredictRequest(
            workload=layers(width), inputs=(torch.empty(512, width),), gpus=("h100-sxm",), mode=mode
        )
        return predict_speed(request).records[0]

    assert one(4096, "train").seconds > one(2048, "train").seconds > one(2048, "infer").seconds
    assert one(2048, "infer").memory_bytes.value < one(2048, "train").memory_bytes.value


def test_a_module_needs_example_inputs() -> None:
    with pytest.raises(InputError):
        predict_speed(PredictRequest(workload=layers(8), gpus=("h100-sxm",)))
