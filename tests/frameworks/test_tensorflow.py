"""TensorFlow's networks against ours in torch: the same weights, the same answers, the same counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from gpuwise import workloads  # noqa: E402  after the skip
from gpuwise.frameworks.networks import NETWORKS  # noqa: E402
from gpuwise.frameworks.tensorflow import adapter, job  # noqa: E402
from gpuwise.model.run import RunConfig  # noqa: E402

NAMES = tuple(NETWORKS)
TORCH_NAMES = {
    "kernel": "weight", "gamma": "weight", "embeddings": "weight", "beta": "bias", "bias": "bias",
    "moving_mean": "running_mean", "moving_variance": "running_var",
}  # fmt: skip


def toy(workload: str, mode: str = "train", precision: str = "fp32", **fields: Any) -> RunConfig:
    return RunConfig(workload=workload, mode=mode, precision=precision, device="cpu", size="toy", **fields)  # type: ignore[arg-type]


def weights_of(model: Any) -> dict[str, tuple[str, Any]]:
    """(Keras's word, variable) by torch's name."""
    return {
        f"{layer.name}.{TORCH_NAMES[variable.name]}": (variable.name, variable)
        for layer in model.layers
        for variable in layer.weights
        if variable.name in TORCH_NAMES
    }


def take_over(model: Any, state: Mapping[str, np.ndarray]) -> None:
    """Weights of a torch model in TensorFlow's layouts: HWIO for convolutions, (in, out) for products."""
    for name, (word, variable) in weights_of(model).items():
        array = state[name]
        if word == "kernel":
            array = array.transpose(2, 3, 1, 0) if array.ndim == 4 else array.T
        variable.assign(array)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_torch(name: str) -> None:
    model = job.model_of(NETWORKS[name](False), training=True)
    count = sum(math.prod(variable.shape) for variable in model.trainable_variables)
    assert count == workloads.get(name).spec.parameters


@pytest.mark.parametrize("name", NAMES)
def test_same_weights_give_the_answers_of_torch(name: str, torch_answer: Any) -> None:
    network = NETWORKS[name](True)
    inputs, _ = job._random_input(network, 2)
    state, theirs = torch_answer(name, [x.numpy() for x in inputs])
    model = job.model_of(network, training=False)
    take_over(model, state)
    ours = job._outputs(model(inputs, training=False))[0].numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("precision", "compiled"), [("fp32", False), ("bf16", True), ("fp16", False)])
def test_training_learns_its_one_batch(precision: str, compiled: bool) -> None:
    made = adapter.build(toy("resnet50", precision=precision, compile=compiled), 4)
    losses = [adapter.wait(made.step()) for _ in range(8)]
    assert all(map(math.isfinite, losses))
    assert losses[-1] < 0.9 * losses[0]
    assert made.items == 4


def test_bert_trains_and_answers() -> None:
    made = adapter.build(toy("bert-large", compile=True), 4)
    losses = [adapter.wait(made.step()) for _ in range(8)]
    assert losses[-1] < losses[0]
    assert math.isfinite(adapter.wait(adapter.build(toy("bert-large", "infer"), 2).step()))


def test_xla_computes_what_the_graph_does() -> None:
    made = adapter.build(toy("resnet50", "infer", compile=True), 2)
    assert made.mismatch is not None
    assert made.mismatch() < 1e-4
    assert adapter.build(toy("resnet50", "infer"), 2).mismatch is None


def test_what_memory_errors_are() -> None:
    assert adapter.out_of_memory(tf.errors.ResourceExhaustedError(None, None, "OOM when allocating"))
    assert adapter.out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: out of memory"))
    assert not adapter.out_of_memory(ValueError("shape"))
    assert adapter.peak_bytes(toy("resnet50")) is None


def test_a_gpu_that_tensorflow_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    with pytest.raises(RuntimeError, match="sees no GPU"):
        adapter.found(RunConfig(workload="resnet50", mode="train", precision="bf16", framework="tensorflow"))
    assert adapter.found(toy("resnet50")).version == tf.__version__
