"""JAX behind the `Adapter`: the operations of `networks.Operations`, and from a network to the timed step.

Weights, batch-norm statistics and inputs are values of one dictionary by name. Under autocast (fp16, bf16)
products and convolutions take 16-bit operands, batch and layer norms compute in fp32 and return 16 bits;
weights stay in fp32. Compiled: one `jax.jit` over forward, loss, backward and optimiser, whose state is
donated. Eager: the same function, operation by operation. fp16 training scales the loss and skips the steps
that overflow, with the constants of torch's gradient scaler.
"""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend import backend

from gpuwise.measure import events
from gpuwise.measure.frameworks import networks
from gpuwise.measure.frameworks.adapter import Adapter, ReferenceJob
from gpuwise.model.question import RunConfig
from gpuwise.workloads.bert import DECAY, INITIAL_STD, LAYER_NORM_EPS, LEARNING_RATE
from gpuwise.workloads.convnet import SGD_DECAY, SGD_MOMENTUM, SGD_RATE, TRAINED, Conv, Pool

# Share of the new batch in the running statistics, torch's default.
BATCH_NORM_MOMENTUM = 0.1
STATISTICS = ("running_mean", "running_var")


@dataclass(frozen=True, slots=True)
class Weight:
    """Shape and start of one weight: normal with that deviation, or the constant where it is 0."""

    shape: tuple[int, ...]
    std: float = 0.0
    constant: float = 0.0


class Jax:
    """`values` by name; while it is None the weights that are asked for are only written down."""

    def __init__(
        self, values: Mapping[str, Array] | None, *, training: bool, dtype: Any, key: Array | None = None
    ) -> None:
        self.values = values
        self.training = training
        self.dtype = dtype
        self.key = key
        self.declared: dict[str, Weight] = {}
        self.moved: dict[str, Array] = {}
        """New running statistics of batch norms."""

    def weight(self, name: str, shape: tuple[int, ...], std: float = 0.0, constant: float = 0.0) -> Array:
        self.declared[name] = Weight(shape, std, constant)
        return jnp.zeros(shape) if self.values is None else self.values[name]

    def conv(self, x: Array, name: str, layer: Conv) -> Array:
        shape = (*layer.kernel, x.shape[-1], layer.channels)  # HWIO
        kernel = self.weight(f"{name}.weight", shape, math.sqrt(2 / math.prod(shape[:3])))
        x, kernel = x.astype(self.dtype), kernel.astype(self.dtype)
        stride, pads = (layer.stride, layer.stride), [(side, side) for side in layer.padding]
        return lax.conv_general_dilated(x, kernel, stride, pads, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def norm(self, x: Array, name: str, eps: float) -> Array:
        size = (x.shape[-1],)
        scale = self.weight(f"{name}.weight", size, constant=1.0)
        shift = self.weight(f"{name}.bias", size)
        mean = self.weight(f"{name}.running_mean", size)
        variance = self.weight(f"{name}.running_var", size, constant=1.0)
        wide = x.astype(jnp.float32)
        if self.training:
            count = x.size // x.shape[-1]
            running = mean, variance
            mean = wide.mean((0, 1, 2))
            variance = jnp.square(wide).mean((0, 1, 2)) - jnp.square(mean)
            unbiased = variance * (count / max(1, count - 1))
            for kind, old, new in zip(STATISTICS, running, (mean, unbiased), strict=True):
                self.moved[f"{name}.{kind}"] = old + BATCH_NORM_MOMENTUM * (lax.stop_gradient(new) - old)
        factor = scale * lax.rsqrt(variance + eps)
        return (wide * factor + (shift - mean * factor)).astype(x.dtype)

    def relu(self, x: Array) -> Array:
        return jnp.maximum(x, 0)

    def pool(self, x: Array, layer: Pool) -> Array:
        window, stride = (1, layer.kernel, layer.kernel, 1), (1, layer.stride, layer.stride, 1)
        padding = [(0, 0), *(networks.padding_of(side, layer) for side in x.shape[1:3]), (0, 0)]
        if layer.kind == "max":
            return lax.reduce_window(x, np.array(-np.inf, x.dtype), lax.max, window, stride, padding)
        total = lax.reduce_window(x.astype(jnp.float32), np.float32(0), lax.add, window, stride, padding)
        return (total / layer.kernel**2).astype(x.dtype)

    def mean_to(self, x: Array, side: int) -> Array:
        rows, columns = (jnp.asarray(networks.averaging(length, side), x.dtype) for length in x.shape[1:3])
        return jnp.einsum("bhwc,ih,jw->bijc", x, rows, columns)

    def flat(self, x: Array) -> Array:
        return x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)

    def join(self, parts: Sequence[Array]) -> Array:
        return jnp.concatenate(parts, -1)

    def linear(self, x: Array, name: str, outputs: int) -> Array:
        inputs = x.shape[-1]
        matrix = self.weight(f"{name}.weight", (inputs, outputs), 1 / math.sqrt(3 * inputs))
        bias = self.weight(f"{name}.bias", (outputs,))
        return x.astype(self.dtype) @ matrix.astype(self.dtype) + bias.astype(self.dtype)

    def dropout(self, x: Array, rate: float) -> Array:
        if not self.training:
            return x
        assert self.key is not None
        self.key, mine = jax.random.split(self.key)
        kept = jax.random.bernoulli(mine, 1 - rate, x.shape)
        return jnp.where(kept, x / (1 - rate), 0).astype(x.dtype)

    def embed(self, ids: Array, name: str, rows: int, width: int) -> Array:
        return self.weight(f"{name}.weight", (rows, width), INITIAL_STD)[ids]

    def positions(self, x: Array, name: str, rows: int) -> Array:
        table = self.weight(f"{name}.weight", (rows, x.shape[-1]), INITIAL_STD)
        return x + table[: x.shape[1]]

    def layer_norm(self, x: Array, name: str) -> Array:
        size = (x.shape[-1],)
        scale = self.weight(f"{name}.weight", size, constant=1.0)
        shift = self.weight(f"{name}.bias", size)
        wide = x.astype(jnp.float32)
        mean = wide.mean(-1, keepdims=True)
        variance = jnp.square(wide - mean).mean(-1, keepdims=True)
        return ((wide - mean) * lax.rsqrt(variance + LAYER_NORM_EPS) * scale + shift).astype(self.dtype)

    def gelu(self, x: Array) -> Array:
        return jax.nn.gelu(x, approximate=False)

    def attention(self, qkv: Array, heads: int, rate: float) -> Array:
        """Plain products: `jax.nn.dot_product_attention` has no dropout; it serves inference."""
        batch, length, width = qkv.shape
        query, key, value = (
            part.reshape(batch, length, heads, -1) for part in jnp.split(qkv, 3, -1)
        )  # each (B, T, H, D)
        if not self.training:
            return jax.nn.dot_product_attention(query, key, value).reshape(batch, length, width // 3)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
        weights = jax.nn.softmax(scores.astype(jnp.float32), -1).astype(qkv.dtype)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", self.dropout(weights, rate), value)
        return mixed.reshape(batch, length, width // 3)


Values = dict[str, Array]
State = dict[str, Any]
Step = Callable[[State, Values], tuple[State, Array]]
# (weights, what is fixed, random key) -> (loss, moved statistics).
Loss = Callable[[Values, Values, Array], tuple[Array, Values]]
DTYPES = {"fp32": jnp.float32, "tf32": jnp.float32, "fp16": jnp.float16, "bf16": jnp.bfloat16}
# `jax_default_matmul_precision`, also of convolutions; XLA's own default on a GPU is TF32.
PRODUCTS = {"fp32": "highest", "tf32": "tensorfloat32", "fp16": None, "bf16": None}

# Items whose answer, or whose loss in training, is computed operation by operation too. Not so the gradients:
# each operation is compiled by itself, and a backward pass has a thousand.
COMPARED = 2

ADAM_BETAS, ADAM_EPS = (0.9, 0.999), 1e-8
SCALE, SCALE_GROWTH, SCALE_BACKOFF, SCALE_INTERVAL = 65536.0, 2.0, 0.5, 2000


def _prepared(
    network: networks.Network, config: RunConfig, batch: int
) -> tuple[Callable[..., tuple[Any, Jax]], Values, tuple[Array, ...], Array]:
    """(the forward pass, its weights, inputs, right answers)."""
    source, training = np.random.default_rng(0), config.mode == "train"
    drawn, right = networks.random_input(network, batch, source)
    inputs, answers = tuple(map(jnp.asarray, drawn)), jnp.asarray(right)

    def forward(
        values: Mapping[str, Array] | None, given: tuple[Array, ...], key: Array | None
    ) -> tuple[tuple[Array, ...], Jax]:
        operations = Jax(values, training=training, dtype=DTYPES[config.precision], key=key)
        return network.forward(operations, *given), operations

    declared = declare(forward, inputs)
    values = start(declared, source, trained=not training, residual=getattr(network, "residual", 1.0))
    return forward, values, inputs, answers


def declare(forward: Callable[..., tuple[Any, Jax]], inputs: tuple[Array, ...]) -> dict[str, Weight]:
    """The weights that a network asks for, without computing anything."""
    weights: dict[str, Weight] = {}

    def trace(*arguments: Array) -> tuple[Array, ...]:
        outputs, operations = forward(None, arguments, jax.random.key(0))
        weights.update(operations.declared)
        return tuple(outputs)

    jax.eval_shape(trace, *inputs)
    return weights


def start(
    declared: Mapping[str, Weight], source: np.random.Generator, *, trained: bool, residual: float
) -> Values:
    """Random weights. `trained`: batch norms as after training, see `models.convnet.as_if_trained`."""
    values = {}
    for name, weight in declared.items():
        value = weight.std * source.standard_normal(weight.shape, dtype=np.float32) + weight.constant
        if trained and f"{name.rpartition('.')[0]}.running_mean" in declared:
            value = source.uniform(*TRAINED[name.rpartition(".")[2]], weight.shape)
            if ".bn3." in name and not name.endswith(STATISTICS):
                value = value * residual
        values[name] = jnp.asarray(value, jnp.float32)
    return values


def loss_of(network: networks.Network, outputs: tuple[Array, ...], answers: Array) -> Array:
    """Mean cross entropy; auxiliary classifiers count with their weight, BERT's two answers half each."""
    if isinstance(network, networks.TokenNetwork):
        places = outputs[0].transpose(0, 2, 1)  # (B, 2, T)
        return _cross_entropy(places, answers)
    main, *others = (_cross_entropy(logits, answers) for logits in outputs)
    return main + network.auxiliary_weight * sum(others, jnp.float32(0))


def _cross_entropy(logits: Array, answers: Array) -> Array:
    likelihood = jax.nn.log_softmax(logits.astype(jnp.float32), -1)
    return -jnp.take_along_axis(likelihood, answers[..., None], -1).mean()


def first_state(network: networks.Network, config: RunConfig, batch: int) -> tuple[Loss, Step, State, Values]:
    """(the loss, a whole step, what the first one begins with and changes, what it reads)."""
    forward, values, inputs, answers = _prepared(network, config, batch)

    def loss(trained: Values, fixed: Values, key: Array) -> tuple[Array, Values]:
        given = tuple(fixed[f"input{i}"] for i in range(len(inputs)))
        outputs, operations = forward({**trained, **fixed}, given, key)
        return loss_of(network, outputs, fixed["answers"]), operations.moved

    statistics = {name: value for name, value in values.items() if name.endswith(STATISTICS)}
    trained = {name: value for name, value in values.items() if name not in statistics}
    moments, update = (
        ((trained,), _sgd) if isinstance(network, networks.ImageNetwork) else ((trained, trained), _adamw)
    )
    state = {
        "weights": trained,
        "statistics": statistics,
        "moments": jax.tree.map(jnp.zeros_like, moments),
        "count": jnp.int32(0),
        "scale": jnp.float32(SCALE if config.precision == "fp16" else 1.0),
        "sound": jnp.int32(0),
    }
    # Inputs are arguments, not constants of the compiled step, which XLA would try to fold.
    batch_of = {f"input{i}": x for i, x in enumerate(inputs)} | {"answers": answers}
    scaled = config.precision == "fp16"

    def step(state: State, batch_of: Values) -> tuple[State, Array]:
        gradients, value, moved = gradients_of(loss, scaled, state, batch_of)
        count = state["count"] + 1
        weights, moments = update(state["weights"], gradients, state["moments"], count)
        new = state | {"weights": weights, "moments": moments, "count": count}
        new["statistics"] = state["statistics"] | moved
        return (skip_overflow(state, new, gradients) if scaled else new), value

    return loss, step, state, batch_of


def _key(step: int | Array) -> Array:
    """Of the generator in hardware; JAX's default one costs more than the layer that it serves."""
    return jax.random.fold_in(jax.random.key(0, impl="rbg"), step)


def gradients_of(loss: Loss, scaled: bool, state: State, batch_of: Values) -> tuple[Values, Array, Values]:
    """(gradients, loss, moved statistics)."""
    fixed = {**state["statistics"], **batch_of}

    def scaled_loss(weights: Values) -> tuple[Array, tuple[Array, Values]]:
        value, moved = loss(weights, fixed, _key(state["count"]))
        return value * state["scale"], (value, moved)

    gradients, (value, moved) = jax.grad(scaled_loss, has_aux=True)(state["weights"])
    if scaled:
        gradients = jax.tree.map(lambda g: g / state["scale"], gradients)
    return gradients, value, moved


def skip_overflow(old: State, new: State, gradients: Values) -> State:
    """Keep the old weights where a gradient overflowed; lower the scale then, raise it after a while."""
    sound = jnp.all(jnp.stack([jnp.isfinite(g).all() for g in gradients.values()]))
    kept = {
        part: jax.tree.map(lambda a, b: jnp.where(sound, a, b), new[part], old[part])
        for part in ("weights", "moments", "count")
    }
    steps = jnp.where(sound, old["sound"] + 1, 0)
    grown = jnp.where(steps >= SCALE_INTERVAL, old["scale"] * SCALE_GROWTH, old["scale"])
    scale = jnp.where(sound, grown, old["scale"] * SCALE_BACKOFF)
    return {**new, **kept, "scale": scale, "sound": steps % SCALE_INTERVAL}


def _sgd(
    weights: Values, gradients: Values, moments: tuple[Values], count: Array
) -> tuple[Values, tuple[Values]]:
    """Momentum with weight decay in the gradient, as torch.optim.SGD."""
    moved = {
        name: SGD_MOMENTUM * moments[0][name] + gradients[name] + SGD_DECAY * weights[name]
        for name in weights
    }
    return {name: weights[name] - SGD_RATE * moved[name] for name in weights}, (moved,)


def _adamw(
    weights: Values, gradients: Values, moments: tuple[Values, Values], count: Array
) -> tuple[Values, tuple[Values, Values]]:
    """As torch.optim.AdamW; only matrices decay."""
    b1, b2 = ADAM_BETAS
    first = {n: b1 * moments[0][n] + (1 - b1) * g for n, g in gradients.items()}
    second = {n: b2 * moments[1][n] + (1 - b2) * jnp.square(g) for n, g in gradients.items()}
    new = {}
    for name, weight in weights.items():
        decay = LEARNING_RATE * DECAY if weight.ndim > 1 else 0.0
        size = jnp.sqrt(second[name] / (1 - b2**count)) + ADAM_EPS
        new[name] = weight * (1 - decay) - LEARNING_RATE * first[name] / (1 - b1**count) / size
    return new, (first, second)


def difference(actual: Array, expected: Array) -> float:
    """||actual - expected|| / ||expected|| in fp32; NaN where either holds one."""
    a, b = actual.astype(jnp.float32), expected.astype(jnp.float32)
    return float(jnp.linalg.norm(a - b) / jnp.maximum(jnp.linalg.norm(b), 1e-12))


def cuda_of(platform_version: str) -> str | None:
    """`13.0` from what the client says of itself, which ends in `cuda 13000`."""
    stated = re.search(r"cuda (\d+)", platform_version)
    return f"{int(stated[1]) // 1000}.{int(stated[1]) % 1000 // 10}" if stated else None


class JaxAdapter(Adapter[ReferenceJob]):
    """Memory is not allocated beforehand, so its peak is true; but it is that of the runtime's whole life."""

    keeps_peak = True

    def ready(self, config: RunConfig) -> events.Ready:
        device = jax.devices()[0]
        if config.device == "cpu":
            return events.Ready(framework="jax", version=jax.__version__, device="cpu")
        if device.platform != "gpu":
            problem = f"JAX {jax.__version__} sees no GPU; the package jax[cuda13] brings one that does"
            raise RuntimeError(problem)
        cuda = cuda_of(backend.get_backend().platform_version)
        return events.Ready(framework="jax", version=jax.__version__, device=device.device_kind, cuda=cuda)

    def gpus(self) -> int:
        return jax.device_count() if jax.devices()[0].platform == "gpu" else 0

    def build(self, config: RunConfig, batch: int) -> ReferenceJob:
        jax.config.update("jax_default_matmul_precision", PRODUCTS[config.precision])
        network = networks.NETWORKS[config.workload](config.size == "toy")
        if config.mode == "train":
            loss, whole, state, batch_of = first_state(network, config, batch)
            train = jax.jit(whole, donate_argnums=0) if config.compile else whole

            def step() -> Array:
                nonlocal state
                state, value = train(state, batch_of)
                return value

            def apart() -> float:
                few = {name: x[:COMPARED] for name, x in batch_of.items()}
                given = state["weights"], {**state["statistics"], **few}, _key(0)
                return difference(jax.jit(loss)(*given)[0], loss(*given)[0])

            return ReferenceJob(step=step, items=batch, mismatch=apart if config.compile else None)
        # Weights of products are stored in the precision beforehand, as torch's tuned recipe does.
        forward, values, inputs, _ = _prepared(network, config, batch)
        if config.precision.autocast is not None:
            dtype = DTYPES[config.precision]
            stored = {name: v.astype(dtype) if v.ndim > 1 else v for name, v in values.items()}
            values, inputs = stored, tuple(x.astype(dtype) if x.dtype == jnp.float32 else x for x in inputs)

        def answer(values: Values, inputs: tuple[Array, ...]) -> Array:
            first: Array = forward(values, inputs, None)[0][0]
            return first

        run = jax.jit(answer) if config.compile else answer

        def mismatch() -> float:
            few = tuple(x[:COMPARED] for x in inputs)
            return difference(run(values, inputs)[:COMPARED], answer(values, few))

        return ReferenceJob(
            step=lambda: run(values, inputs), items=batch, mismatch=mismatch if config.compile else None
        )

    def wait(self, output: Any) -> Any:
        """One program puts out all its results together, so the loss is there when the weights are."""
        return jax.block_until_ready(output)

    def forget_peak(self, config: RunConfig) -> None:
        """It cannot."""

    def peak_bytes(self, config: RunConfig) -> int | None:
        return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")

    def out_of_memory(self, error: BaseException) -> bool:
        """XLA reports it by its status alone."""
        return "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower()

    def release(self, config: RunConfig) -> None:
        """Compiled programs, and what only reference cycles hold."""
        jax.clear_caches()
        gc.collect()


ADAPTER = JaxAdapter
