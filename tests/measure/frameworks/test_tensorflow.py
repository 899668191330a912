"""TensorFlow's networks against ours in torch: the same weights, the same answers, the same counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402  after the skip

from gpuwise import workloads  # noqa: E402
from gpuwise.measure.frameworks import tensorflow as job  # noqa: E402
from gpuwise.measure.frameworks.networks import NETWORKS, random_input  # noqa: E402
from gpuwise.measure.frameworks.tensorflow import Keras  # noqa: E402
from gpuwise.model.precision import Precision  # noqa: E402
from gpuwise.model.question import RunConfig  # noqa: E402
from gpuwise.workloads.bert import TOY  # noqa: E402

# Graphs of toys run a few times: to rewrite them takes longer.
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})

NAMES = tuple(NETWORKS)
TOYS = tuple(name for name in NAMES if name != "resnet152")
"""Whose toys differ: that of the deeper ResNet is that of the other."""
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


def as_in_torch(model: Any) -> dict[str, np.ndarray]:
    """The other way: weights by name, in torch's layouts."""
    found = {}
    for name, (word, variable) in weights_of(model).items():
        array = variable.numpy()
        if word == "kernel":
            array = array.transpose(3, 2, 0, 1) if array.ndim == 4 else array.T
        found[name] = array
    return found


class Counted(Keras):
    """An average is no product: torch has a kernel for it, here two small ones make it."""

    def mean_to(self, x: Any, side: int) -> Any:
        return x[:, :side, :side]


def operations_of(graph: Any) -> int:
    """Of its convolutions and products, a multiply-add as two."""
    total = 0
    for operation in graph.get_operations():
        if operation.type in ("Conv2D", "MatMul"):
            *contracted, _ = operation.inputs[1].shape  # HWIO, or (in, out)
            total += 2 * math.prod(operation.outputs[0].shape) * math.prod(contracted)
    return total


@pytest.mark.parametrize(("name", "mode"), [("googlenet", "train"), ("googlenet", "infer")])
# All networks are counted in both modes by test_jax.py; here it is the layers of Keras, and below answers.
def test_parameters_and_operations_are_those_of_torch(
    name: str, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "Keras", Counted)
    spec, network, training = workloads.get(name).spec, NETWORKS[name](False), mode == "train"
    model = job.model_of(network, training=training)
    if training:
        assert sum(math.prod(weight.shape) for weight in model.trainable_variables) == spec.parameters
    given = [tf.TensorSpec((1, *each.shape[1:]), each.dtype) for each in model.inputs]
    graph = tf.function(lambda *x: model(list(x), training=training)).get_concrete_function(*given).graph
    assert spec.cost is not None
    passes = 3 if training else 1  # a backward pass counts as two forward ones
    assert passes * operations_of(graph) == spec.cost(mode, Precision.FP32, 1).flop_per_item


@pytest.mark.parametrize("name", TOYS)
def test_same_weights_give_the_answers_of_torch(name: str, torch_answer: Any) -> None:
    network = NETWORKS[name](True)
    drawn, _ = random_input(network, 2, np.random.default_rng(0))
    inputs = [tf.constant(x, tf.float32 if x.dtype.kind == "f" else tf.int32) for x in drawn]
    state, theirs = torch_answer(name, [x.numpy() for x in inputs])
    model = job.model_of(network, training=False)
    take_over(model, state)
    ours = job._outputs(model(inputs, training=False))[0].numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All of it in 64 bits: batch norms over a toy's few values magnify rounding until it hides mistakes."""
    keras.config.set_dtype_policy("float64")
    monkeypatch.setattr(tf, "float32", tf.float64)
    yield
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("name", ["resnet50", "bert-large"])
def test_steps_of_the_same_weights_end_where_torch_s_do(
    name: str, torch_training: Any, assert_same: Any, monkeypatch: Any, double: None
) -> None:
    monkeypatch.setattr(Keras, "dropout", lambda self, x, rate: x)
    network = NETWORKS[name](True)
    drawn, right = random_input(network, 4, np.random.default_rng(0))
    inputs = [tf.constant(x, tf.float64 if x.dtype.kind == "f" else tf.int32) for x in drawn]
    answers = tf.constant(right, tf.int32)
    theirs = torch_training(job, name, [x.numpy() for x in inputs], answers.numpy())
    model = job.model_of(network, training=True)
    take_over(model, theirs.start)
    optimizer = job.optimizer_for(network, model, toy(name))
    local = job.local_step(network, model, inputs, answers, training=True, xla=False)
    one = tf.distribute.OneDeviceStrategy("/CPU:0")
    step = tf.function(lambda: one.run(lambda: job.update(model, optimizer, local)), autograph=False)
    for loss in theirs.losses:
        assert float(step()) == pytest.approx(loss, rel=1e-6)
    left_out = ("num_batches_tracked", "running_var")  # Keras's have no Bessel correction
    ours, end = (
        {key: value for key, value in weights.items() if not key.endswith(left_out)}
        for weights in (as_in_torch(model), theirs.end)
    )
    assert_same(ours, end, 1e-3)  # Keras has its rates in 32 bits, and Adam's epsilon elsewhere


# In fp32 tests/cli/test_frameworks.py trains it.
def test_training_learns_its_one_batch() -> None:
    made = job.TensorFlowAdapter("").build(toy("resnet50", precision="fp16"), 4)
    losses = [job.TensorFlowAdapter("").wait(made.step()) for _ in range(8)]
    assert all(map(math.isfinite, losses))
    assert losses[-1] < 0.9 * losses[0]
    assert made.items == 4


def test_bert_trains_and_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    # One layer in the place of two: what takes long here is to compile it.
    monkeypatch.setattr("gpuwise.measure.frameworks.networks.TOY", replace(TOY, layers=1))
    made = job.TensorFlowAdapter("").build(toy("bert-large", precision="bf16", compile=True), 4)
    losses = [job.TensorFlowAdapter("").wait(made.step()) for _ in range(8)]
    assert losses[-1] < losses[0]
    assert math.isfinite(
        job.TensorFlowAdapter("").wait(job.TensorFlowAdapter("").build(toy("bert-large", "infer"), 2).step())
    )


def test_xla_computes_what_the_graph_does() -> None:
    made = job.TensorFlowAdapter("").build(toy("resnet50", "infer", compile=True), 2)
    assert made.mismatch is not None
    assert made.mismatch() < 1e-4
    assert job.TensorFlowAdapter("").build(toy("resnet50", "infer"), 2).mismatch is None


def test_what_memory_errors_are() -> None:
    adapter = job.TensorFlowAdapter("")
    assert adapter.out_of_memory(tf.errors.ResourceExhaustedError(None, None, "OOM when allocating"))
    assert adapter.out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: out of memory"))
    assert not adapter.out_of_memory(ValueError("shape"))
    assert job.TensorFlowAdapter("").peak_bytes(toy("resnet50")) is None


def test_a_gpu_that_tensorflow_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    with pytest.raises(RuntimeError, match="sees no GPU"):
        job.TensorFlowAdapter("").ready(
            RunConfig(workload="resnet50", mode="train", precision="bf16", framework="tensorflow")
        )
    assert job.TensorFlowAdapter("").ready(toy("resnet50")).version == tf.__version__
