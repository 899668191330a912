"""JAX's networks against ours in torch: the same weights, the same answers, the same counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from jax.extend.core import jaxprs_in_params  # noqa: E402  after the skip

from gpuwise import workloads  # noqa: E402  after the skip
from gpuwise.measure.frameworks import jax as job  # noqa: E402
from gpuwise.measure.frameworks.jax import STATISTICS, Jax  # noqa: E402
from gpuwise.measure.frameworks.networks import NETWORKS, ImageNetwork, Network, random_input  # noqa: E402
from gpuwise.model.precision import Precision  # noqa: E402
from gpuwise.model.question import RunConfig  # noqa: E402
from gpuwise.workloads.bert import TOY  # noqa: E402
from gpuwise.workloads.convnet import CLASSES, Conv  # noqa: E402

NAMES = tuple(NETWORKS)
TOYS = tuple(name for name in NAMES if name != "resnet152")
"""Whose toys differ: that of the deeper ResNet is that of the other."""


@pytest.fixture
def one_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """BERT's toy with one layer in the place of two: what takes long here is to compile it."""
    monkeypatch.setattr("gpuwise.measure.frameworks.networks.TOY", replace(TOY, layers=1))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A convolution, a norm and a product under ResNet's name, for what is the same of every network."""

    def forward(ops: Any, x: Any) -> tuple[Any, ...]:
        x = ops.relu(ops.norm(ops.conv(x, "conv", Conv(4, (3, 3), 2)), "bn", 1e-5))
        return (ops.linear(ops.flat(x), "fc", CLASSES),)

    monkeypatch.setitem(NETWORKS, "resnet50", lambda toy: ImageNetwork(forward=forward, image=8))


def toy(workload: str, mode: str = "train", **fields: Any) -> RunConfig:
    return RunConfig(workload=workload, mode=mode, precision="fp32", device="cpu", size="toy", **fields)  # type: ignore[arg-type]


def declared(network: Network, *, training: bool = True) -> dict[str, Any]:
    inputs, _ = random_input(network, 2, np.random.default_rng(0))

    def forward(values: Mapping[str, Any] | None, arguments: tuple[Any, ...], key: Any) -> Any:
        operations = Jax(values, training=training, dtype=jax.numpy.float32, key=key)
        return network.forward(operations, *arguments), operations

    return job.declare(forward, inputs)


def from_torch(state: Mapping[str, np.ndarray], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Weights of a torch model in JAX's layouts: HWIO for convolutions, (in, out) for products."""
    values = {}
    for name, weight in wanted.items():
        array = state[name]
        if array.ndim == 4:
            array = array.transpose(2, 3, 1, 0)
        elif array.ndim == 2 and not name.startswith(("word", "segment", "position")):
            array = array.T
        assert array.shape == weight.shape, name
        values[name] = jax.numpy.asarray(array)
    return values


@pytest.mark.parametrize("name", TOYS)
def test_same_weights_give_the_answers_of_torch(name: str, torch_answer: Any) -> None:
    network = NETWORKS[name](True)
    inputs, _ = random_input(network, 2, np.random.default_rng(0))
    state, theirs = torch_answer(name, inputs)
    values = from_torch(state, declared(network, training=False))
    operations = Jax(values, training=False, dtype=jax.numpy.float32)
    (ours,) = jax.jit(lambda *x: network.forward(operations, *x))(*inputs)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-3, atol=1e-4)


class Counted(Jax):
    """An average is no product: torch has a kernel for it, JAX writes it as two small ones."""

    def mean_to(self, x: Any, side: int) -> Any:
        return x[:, :side, :side]


def operations_of(jaxpr: Any) -> int:
    """Of its convolutions and products, a multiply-add as two, functions that it calls included."""
    total = 0
    for equation in jaxpr.eqns:
        out = math.prod(equation.outvars[0].aval.shape)
        if equation.primitive.name == "conv_general_dilated":
            total += 2 * out * math.prod(equation.invars[1].aval.shape[:3])  # HWIO
        elif equation.primitive.name == "dot_general":
            contracted = equation.params["dimension_numbers"][0][0]
            total += 2 * out * math.prod(equation.invars[0].aval.shape[i] for i in contracted)
        total += sum(map(operations_of, jaxprs_in_params(equation.params)))
    return total


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", NAMES)
def test_parameters_and_operations_are_those_that_the_workload_states(name: str, mode: Any) -> None:
    network, training, spec = NETWORKS[name](False), mode == "train", workloads.get(name).spec
    named = declared(network, training=training)
    if training:
        trained = (weight for key, weight in named.items() if not key.endswith(STATISTICS))
        assert sum(math.prod(weight.shape) for weight in trained) == spec.parameters
    weights = {key: jax.ShapeDtypeStruct(w.shape, jax.numpy.float32) for key, w in named.items()}
    inputs, _ = random_input(network, 1, np.random.default_rng(0))

    def forward(values: Any, inputs: Any) -> Any:
        key = jax.random.key(0)
        return network.forward(Counted(values, training=training, dtype=jax.numpy.float32, key=key), *inputs)

    assert spec.cost is not None
    passes = 3 if training else 1  # a backward pass counts as two forward ones
    counted = operations_of(jax.make_jaxpr(forward)(weights, inputs).jaxpr)
    assert passes * counted == spec.cost(mode, Precision.FP32, 1).flop_per_item


# In fp16 the loss is scaled, too; steps in fp64 are compared with torch's below.
def test_compiled_training_learns_its_one_batch(one_layer: None) -> None:
    made = job.JaxAdapter("").build(replace(toy("bert-large", compile=True), precision=Precision.FP16), 4)
    losses = [float(made.step()) for _ in range(8)]
    assert all(map(math.isfinite, losses))
    assert losses[-1] < losses[0]
    assert made.items == 4


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_compiled_is_eager(plain: None, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = job.JaxAdapter("").build(toy("resnet50", mode, compile=True), 2)
    assert made.mismatch is not None
    assert made.mismatch() < 1e-4
    if mode == "train":
        # Not compiled once more: what it computes is what is seen.
        monkeypatch.setattr(jax, "jit", lambda f: lambda *x: jax.tree.map(lambda y: 1.5 * y, f(*x)))
        assert made.mismatch() == pytest.approx(0.5, rel=1e-3)
    assert job.JaxAdapter("").build(toy("resnet50", mode), 2).mismatch is None


def test_scaled_gradients_are_those_of_fp32(plain: None) -> None:
    def norm(precision: Any) -> float:
        loss, _, *given = job.first_state(
            NETWORKS["resnet50"](True), replace(toy("resnet50"), precision=precision), 4
        )
        found = jax.jit(lambda *given: job.gradients_of(loss, precision == "fp16", *given)[0])(*given)
        return math.hypot(*(np.linalg.norm(g) for g in found.values()))

    wanted = norm("fp32")
    assert wanted > 0
    assert norm("fp16") == pytest.approx(wanted, rel=2e-2)


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All of it in 64 bits: batch norms over a toy's few values magnify rounding until it hides mistakes."""
    monkeypatch.setattr(np, "float32", np.float64)
    monkeypatch.setattr(jax.numpy, "float32", jax.numpy.float64)
    monkeypatch.setitem(job.DTYPES, "fp32", jax.numpy.float64)
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


# Of GoogLeNet and Inception, which compile for half a minute, the answers are compared above.
@pytest.mark.parametrize("name", ["resnet50", "bert-large"])
def test_steps_of_the_same_weights_end_where_torch_s_do(
    name: str, torch_training: Any, assert_same: Any, monkeypatch: Any, double: None
) -> None:
    network = NETWORKS[name](True)
    inputs, answers = random_input(network, 4, np.random.default_rng(0))
    theirs, wanted = torch_training(job, name, inputs, answers), declared(network)
    monkeypatch.setattr(job, "start", lambda *_, **__: from_torch(theirs.start, wanted))
    monkeypatch.setattr(Jax, "dropout", lambda self, x, rate: x)
    _, step, state, batch = job.first_state(network, toy(name), 4)
    step = jax.jit(step, compiler_options={"xla_backend_optimization_level": 0})  # compiles faster
    for loss in theirs.losses:
        state, ours = step(state, batch)
        assert float(ours) == pytest.approx(loss, rel=1e-9)
    trained = {key: wanted[key] for key in state["weights"]}
    assert_same(state["weights"] | state["statistics"], from_torch(theirs.end, wanted))
    for mine, moments in zip(state["moments"], theirs.moments, strict=True):
        assert_same(mine, from_torch(moments, trained))


def test_an_overflow_is_skipped_and_the_scale_lowered() -> None:
    array = jax.numpy.asarray
    old = {
        "weights": {"w": array(1.0)},
        "moments": ({"w": array(0.0)},),
        "count": array(5),
        "scale": array(4.0),
        "sound": array(3),
    }
    new = {**old, "weights": {"w": array(9.0)}, "count": array(6)}
    kept = job.skip_overflow(old, new, {"w": array(math.inf)})
    assert int(kept["count"]) == 5  # Adam's; torch's optimizer does not see the step either
    assert (float(kept["weights"]["w"]), float(kept["scale"]), int(kept["sound"])) == (1.0, 2.0, 0)
    moved = job.skip_overflow(old, new, {"w": array(0.5)})
    assert (float(moved["weights"]["w"]), float(moved["scale"]), int(moved["sound"])) == (9.0, 4.0, 4)


def test_the_version_of_cuda_is_read_from_what_the_client_says() -> None:
    assert job.cuda_of("PJRT C API\ncuda 13000") == "13.0"
    assert job.cuda_of("cuda 12080") == "12.8"
    assert job.cuda_of("cpu") is None


def test_a_gpu_that_jax_does_not_see() -> None:
    with pytest.raises(RuntimeError, match="sees no GPU"):
        job.JaxAdapter("").ready(
            RunConfig(workload="resnet50", mode="train", precision="bf16", framework="jax")
        )
    assert job.JaxAdapter("").ready(toy("resnet50")).version == jax.__version__
    assert job.JaxAdapter("").peak_bytes(toy("resnet50")) is None


def test_what_memory_errors_are() -> None:
    adapter = job.JaxAdapter("")
    assert adapter.out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"))
    assert not adapter.out_of_memory(ValueError("shape"))
