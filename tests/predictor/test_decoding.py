"""One sequence decoded by gpuwise's own kernels is predicted as such where the recipe is tuned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.jobs.predicting import predict
from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig, Switches
from gpuwise.predictor import trace_store
from gpuwise.show.predictions import measure_command
from gpuwise.store import load

ONE = RunConfig(
    workload="llama-3.1-8b-decode", mode="infer", precision=Precision.BF16, compile=True, batch=1,
    switches=Switches(decode="triton"),
)  # fmt: skip


# results/h100/llama-8b-decode-early.json: its narrow formats are of before the whole step was one kernel;
# results/h200/llama-8b-decode-step.json and -step-2.json
@pytest.mark.parametrize(
    ("gpu", "precision", "measured"),
    [
        ("h100-sxm", "bf16", 184.9),
        ("h200-sxm", "bf16", 259.3),
        ("h200-sxm", "fp8", 418.7),
        ("h200-sxm", "int8", 436.1),
        ("h200-sxm", "int4", 625.3),
        ("h200-sxm", "mxfp4", 461.8),
        ("h200-sxm", "nvfp4", 429.4),
    ],
)
def test_measured_steps_are_predicted(gpu: str, precision: str, measured: float) -> None:
    (found,) = predict(ONE.workload, gpus=(gpu,), precision=precision, batch=1).value
    assert found.question.recipe == "tuned"
    assert found.throughput is not None
    assert found.throughput.value == pytest.approx(measured, rel=0.05)
    assert found.throughput.low < measured < found.throughput.high


# results/h100/experts-*.json
def test_experts_in_four_bits_are_predicted_as_measured() -> None:
    """By what gpuwise's kernel of experts reads; nothing was fitted to these rows."""
    inside = []
    for name, precision, batch, measured in (
        ("gpt-oss-20b-decode", "mxfp4", 1, 350.4),
        ("qwen3-30b-a3b-decode", "int4", 1, 216.3),
        ("qwen3-30b-a3b-decode", "int4", 8, 970.9),
    ):
        (found,) = predict(name, gpus=("h100-sxm",), precision=precision, batch=batch).value
        assert found.question.recipe == "tuned"
        assert found.throughput is not None
        assert found.throughput.value == pytest.approx(measured, rel=0.24)
        inside.append(found.throughput.low < measured < found.throughput.high)
    assert sum(inside) >= 2  # of four in five


def test_four_bit_floats_are_predicted_of_one_sequence() -> None:
    """Of two torch widens the weights first, which nobody has measured."""
    with pytest.raises(InputError):
        predict(ONE.workload, gpus=("h200-sxm",), precision="mxfp4", batch=2)


def test_peak_memory_is_weights_and_cache() -> None:
    found = trace_store.decoded(ONE)
    assert found is not None
    assert found.memory is not None
    assert found.memory.peak == pytest.approx(16_365_392_896, rel=0.001)
    narrow = trace_store.decoded(replace(ONE, precision=Precision.INT4))
    assert narrow is not None
    assert narrow.memory is not None
    assert narrow.memory.peak == pytest.approx(6_067_852_288, rel=0.01)


def test_int4_has_no_other_kernels() -> None:
    assert trace_store.decoded(replace(ONE, precision=Precision.INT4, switches=Switches())) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"switches": Switches()},
        {"batch": 2},
        {"compile": False},
        {"gpus": 2},
        {"precision": Precision.FP32},
        {"size": "toy"},
        {"workload": "llama-3.1-8b-prefill"},
        {"workload": "qwen3-8b-decode"},  # It norms heads, which these kernels do not.
        {"workload": "mixtral-8x7b-decode"},  # Its experts are torch's.
        {"workload": "resnet50"},
    ],
)
def test_other_steps_are_torch_s(changed: dict[str, object]) -> None:
    assert trace_store.decoded(replace(ONE, **changed)) is None  # type: ignore[arg-type]


def test_experts_are_predicted_as_torch_s() -> None:
    config = replace(ONE, switches=Switches(), workload="mixtral-8x7b-decode")
    assert trace_store.with_own(config) == config
    assert trace_store.with_own(replace(ONE, switches=Switches())) == ONE


def test_stock_is_another_speed_beside_its_own_measurement() -> None:
    # No trace of Llama 3.1 8B is shipped, of its shape by our own name one is.
    stock, tuned = (
        predict("llm-8b-decode", gpus=("h200-sxm",), precision="bf16", batch=1, recipe=recipe).value[0]
        for recipe in ("stock", "tuned")
    )
    assert (stock.question.recipe, tuned.question.recipe) == ("stock", "tuned")
    assert stock.throughput is not None
    assert tuned.throughput is not None
    assert 1.2 < tuned.throughput.value / stock.throughput.value < 1.5
    assert measure_command(stock.question).endswith("--recipe stock --batch 1")
    assert "--recipe" not in measure_command(tuned.question)
    (measured,) = predict(ONE.workload, gpus=("h200-sxm",), precision="bf16", batch=1).value
    assert measured.measured is not None
    assert measured.measured.throughput is not None
    assert measured.measured.throughput.value == pytest.approx(259.3, abs=0.1)


def test_a_measured_step_of_another_card_is_transferred() -> None:
    source = load(Path(__file__).parents[2] / "results" / "h200" / "llama-8b-decode-triton.json")
    (found,) = predict(ONE.workload, gpus=("h100-sxm",), precision="bf16", batch=1, source=source).value
    assert found.basis == "transferred"
    assert found.throughput is not None
    assert found.throughput.value == pytest.approx(177.3, rel=0.05)
