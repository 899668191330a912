"""TensorFlow behind the `Adapter`: the operations of `networks.Operations` as Keras 3 layers, and from a
network to the timed step.

What a layer computes in is Keras's global policy: mixed_float16 and mixed_bfloat16 keep weights in fp32
and batch norms exact, like torch's autocast. keras.applications is not used: its ResNets have biases in
front of batch norms and the stride in the 1x1 convolution, so they are other networks than these.
A step is one `tf.function`: a graph, compiled by XLA where asked for. On several GPUs a MirroredStrategy
holds one replica on each; gradients are averaged outside of what XLA compiles.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from gpuwise.measure import events
from gpuwise.measure.frameworks import networks
from gpuwise.measure.frameworks.adapter import Adapter, ReferenceJob
from gpuwise.model.question import RunConfig
from gpuwise.workloads.bert import DECAY, INITIAL_STD, LAYER_NORM_EPS, LEARNING_RATE
from gpuwise.workloads.convnet import SGD_DECAY, SGD_MOMENTUM, SGD_RATE, TRAINED, Conv, Pool


class Rows(layers.Layer):
    """Adds row i of a table of weights to place i: (B, T, C) -> (B, T, C)."""

    def __init__(self, rows: int, name: str) -> None:
        super().__init__(name=name)
        self.rows = rows

    def build(self, shape: Sequence[int]) -> None:
        start = keras.initializers.RandomNormal(stddev=INITIAL_STD)
        self.table = self.add_weight(shape=(self.rows, shape[-1]), initializer=start, name="embeddings")

    def call(self, x: Any) -> Any:
        return x + ops.cast(self.table[: x.shape[1]], x.dtype)


class Keras:
    """Builds layers as it goes; `training` decides what a network consists of, not how it is called."""

    def __init__(self, *, training: bool) -> None:
        self.training = training

    def conv(self, x: Any, name: str, layer: Conv) -> Any:
        if any(layer.padding):
            x = layers.ZeroPadding2D(layer.padding, name=f"{name}.padding")(x)
        return layers.Conv2D(
            layer.channels,
            layer.kernel,
            layer.stride,
            use_bias=False,
            name=name,
            kernel_initializer="he_normal",
        )(x)

    def norm(self, x: Any, name: str, eps: float) -> Any:
        return layers.BatchNormalization(momentum=0.9, epsilon=eps, name=name)(x)

    def relu(self, x: Any) -> Any:
        return ops.relu(x)

    def pool(self, x: Any, layer: Pool) -> Any:
        high, wide = (networks.padding_of(side, layer) for side in x.shape[1:3])
        if any(high + wide):
            x = layers.ZeroPadding2D((high, wide))(x)  # below a ReLU zero is as good as minus infinity
        kind = layers.MaxPooling2D if layer.kind == "max" else layers.AveragePooling2D
        return kind(layer.kernel, layer.stride)(x)

    def mean_to(self, x: Any, side: int) -> Any:
        rows, columns = (np.asarray(networks.averaging(length, side), np.float32) for length in x.shape[1:3])
        return ops.einsum("bhwc,ih,jw->bijc", x, ops.cast(rows, x.dtype), ops.cast(columns, x.dtype))

    def flat(self, x: Any) -> Any:
        return layers.Flatten()(ops.transpose(x, (0, 3, 1, 2)))

    def join(self, parts: Sequence[Any]) -> Any:
        return ops.concatenate(parts, -1)

    def linear(self, x: Any, name: str, outputs: int) -> Any:
        start = keras.initializers.RandomNormal(stddev=1 / math.sqrt(3 * x.shape[-1]))
        return layers.Dense(outputs, name=name, kernel_initializer=start)(x)

    def dropout(self, x: Any, rate: float) -> Any:
        return layers.Dropout(rate)(x)

    def embed(self, ids: Any, name: str, rows: int, width: int) -> Any:
        start = keras.initializers.RandomNormal(stddev=INITIAL_STD)
        return layers.Embedding(rows, width, embeddings_initializer=start, name=name)(ids)

    def positions(self, x: Any, name: str, rows: int) -> Any:
        return Rows(rows, name)(x)

    def layer_norm(self, x: Any, name: str) -> Any:
        return layers.LayerNormalization(epsilon=LAYER_NORM_EPS, name=name)(x)

    def gelu(self, x: Any) -> Any:
        return ops.gelu(x, approximate=False)

    def attention(self, qkv: Any, heads: int, rate: float) -> Any:
        length, width = qkv.shape[1:]
        query, key, value = (
            ops.reshape(part, (-1, length, heads, width // 3 // heads)) for part in ops.split(qkv, 3, -1)
        )  # each (B, T, H, D)
        scores = ops.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(width // 3 // heads)
        weights = self.dropout(layers.Softmax()(scores), rate)
        return ops.reshape(ops.einsum("bhqk,bkhd->bqhd", weights, value), (-1, length, width // 3))


POLICIES = {"fp32": "float32", "tf32": "float32", "fp16": "mixed_float16", "bf16": "mixed_bfloat16"}
ADAM_EPS = 1e-8
# That torch's gradient scaler begins with; both double it after 2,000 sound steps.
SCALE = 65536.0


def model_of(network: networks.Network, *, training: bool) -> Any:
    """The functional Keras model; outputs are as those of `networks`."""
    operations = Keras(training=training)
    if isinstance(network, networks.ImageNetwork):
        inputs = [keras.Input((network.image, network.image, 3))]
    else:
        inputs = [keras.Input((network.tokens,), dtype="int32") for _ in range(2)]
    return keras.Model(inputs, list(network.forward(operations, *inputs)))


class Sgd(keras.optimizers.SGD):
    """Weight decay passes through the momentum, as in torch; Keras's own does not."""

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        super().update_step(gradient + SGD_DECAY * variable, variable, learning_rate)


def optimizer_for(network: networks.Network, model: Any, config: RunConfig) -> Any:
    """SGD with momentum, or AdamW for BERT."""
    if isinstance(network, networks.ImageNetwork):
        optimizer = Sgd(SGD_RATE, momentum=SGD_MOMENTUM)
    else:
        optimizer = keras.optimizers.AdamW(LEARNING_RATE, weight_decay=DECAY, epsilon=ADAM_EPS)
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    if config.precision == "fp16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=SCALE)
    optimizer.build(model.trainable_variables)  # here: no replica may make variables in its graph
    return optimizer


def local_step(
    network: networks.Network, model: Any, inputs: list[Any], answers: Any, training: bool, xla: bool
) -> Callable[..., Any]:
    """One replica's (gradients, loss), or its answer; `scale` multiplies the loss before the gradient."""

    def gradients(scale: Any) -> tuple[list[Any], Any]:
        with tf.GradientTape() as tape:
            loss = loss_of(network, _outputs(model(inputs, training=True)), answers)
            scaled = loss * scale
        gradients = tape.gradient(scaled, model.trainable_variables)
        # An embedding's comes as the rows that were read, and Keras squares one that was read twice twice.
        return [tf.convert_to_tensor(each) for each in gradients], loss

    def answer() -> Any:
        return _outputs(model(inputs, training=False))[0]

    return tf.function(gradients if training else answer, jit_compile=xla or None, autograph=False)


def _outputs(answer: Any) -> list[Any]:
    """Keras returns the tensor itself where a model has one output."""
    return list(answer) if isinstance(answer, list | tuple) else [answer]


def update(model: Any, optimizer: Any, local: Callable[..., Any]) -> Any:
    """Gradients of this replica into the weights, together with the others', which Keras adds up."""
    share = 1 / tf.distribute.get_replica_context().num_replicas_in_sync
    scale = tf.cast(optimizer.scale_loss(tf.constant(share)), tf.float32)
    gradients, loss = local(scale)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def loss_of(network: networks.Network, outputs: list[Any], answers: Any) -> Any:
    """Mean cross entropy; auxiliary classifiers count with their weight, BERT's two answers half each."""
    if isinstance(network, networks.TokenNetwork):
        return _cross_entropy(tf.transpose(outputs[0], (0, 2, 1)), answers)
    main, *others = (_cross_entropy(logits, answers) for logits in outputs)
    return main + network.auxiliary_weight * tf.add_n(others) if others else main


def _cross_entropy(logits: Any, answers: Any) -> Any:
    wide = tf.cast(logits, tf.float32)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(answers, wide))


class TensorFlowAdapter(Adapter[ReferenceJob]):
    """Memory grows as it is needed (see `adapter.FRAMEWORKS`), so its peak is true."""

    def ready(self, config: RunConfig) -> events.Ready:
        version = tf.__version__
        if config.device == "cpu":
            return events.Ready(framework="tensorflow", version=version, device="cpu")
        gpus = tf.config.list_physical_devices("GPU")
        if not gpus:
            raise RuntimeError(
                f"TensorFlow {version} sees no GPU; the package tensorflow[and-cuda] brings one that does"
            )
        stated = tf.sysconfig.get_build_info()
        return events.Ready(
            framework="tensorflow",
            version=version,
            device=tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU"),
            cuda=stated.get("cuda_version") or stated.get("rocm_version"),
            cudnn=stated.get("cudnn_version"),
        )

    def gpus(self) -> int:
        return len(tf.config.list_physical_devices("GPU"))

    def build(self, config: RunConfig, batch: int) -> ReferenceJob:
        """Model, random input and optimiser on every GPU asked for; `batch` is that of one GPU."""
        keras.mixed_precision.set_global_policy(POLICIES[config.precision])
        tf.config.experimental.enable_tensor_float_32_execution(config.precision == "tf32")
        keras.utils.set_random_seed(0)
        network = networks.NETWORKS[config.workload](config.size == "toy")
        kind = "GPU" if config.device == "cuda" else "CPU"
        if config.gpus == 1:
            strategy = tf.distribute.OneDeviceStrategy(f"/{kind}:0")
        else:
            if kind == "CPU":  # As many logical devices as replicas: before TensorFlow has used it
                parts = [tf.config.LogicalDeviceConfiguration() for _ in range(config.gpus)]
                cpu = tf.config.list_physical_devices("CPU")[0]
                tf.config.set_logical_device_configuration(cpu, parts)
            strategy = tf.distribute.MirroredStrategy([f"/{kind}:{i}" for i in range(config.gpus)])
        training = config.mode == "train"
        with strategy.scope():
            model = model_of(network, training=training)
            optimizer = optimizer_for(network, model, config) if training else None
        if not training:  # Batch norms as after training, see `models.convnet.as_if_trained`
            source, residual = np.random.default_rng(0), getattr(network, "residual", 1.0)
            for layer in model.layers:
                if isinstance(layer, keras.layers.BatchNormalization):
                    factor, size = residual if layer.name.endswith(".bn3") else 1.0, layer.gamma.shape
                    layer.gamma.assign(factor * source.uniform(*TRAINED["weight"], size))
                    layer.beta.assign(factor * source.uniform(*TRAINED["bias"], size))
                    layer.moving_mean.assign(source.uniform(*TRAINED["running_mean"], size))
                    layer.moving_variance.assign(source.uniform(*TRAINED["running_var"], size))
        drawn, right = networks.random_input(network, batch, np.random.default_rng(0))
        inputs = [tf.constant(x, tf.float32 if x.dtype.kind == "f" else tf.int32) for x in drawn]
        answers = tf.constant(right, tf.int32)
        plain, local = (
            local_step(network, model, inputs, answers, training, xla) for xla in (False, config.compile)
        )
        replica = local if optimizer is None else partial(update, model, optimizer, local)

        def one_number() -> Any:
            # The first of an output; the host waits for it, and copies no more.
            return tf.cast(tf.reshape(replica(), [-1])[0], tf.float32)

        run = tf.function(lambda: strategy.run(one_number), autograph=False)
        # On several GPUs one alone cannot be checked; a measurement on one GPU has checked it.
        compared = config.compile and config.gpus == 1
        # TensorFlow copies from a GPU only behind everything that is queued by then, so each output must be
        # asked for before the step after it is queued: two threads do, for the outputs of two steps.
        waiting = ThreadPoolExecutor(max_workers=2)

        def mean(outputs: Any) -> float:
            # Over GPUs, of the one number that each puts out.
            return float(np.mean([output.numpy() for output in outputs]))

        def mismatch() -> float:
            # Of loss or answer between XLA's step and the plain graph's, relative.
            one = tf.constant(1.0)
            actual, expected = (f(one)[1] if training else f() for f in (local, plain))
            a, b = tf.cast(actual, tf.float32), tf.cast(expected, tf.float32)
            return float(tf.norm(a - b) / tf.maximum(tf.norm(b), 1e-12))

        return ReferenceJob(
            step=lambda: waiting.submit(mean, strategy.experimental_local_results(run())),
            items=batch * strategy.num_replicas_in_sync,
            mismatch=mismatch if compared else None,
        )

    def wait(self, output: Future[float]) -> float:
        """The loss of a training step; of an inference, one number of the answer."""
        return output.result()

    def forget_peak(self, config: RunConfig) -> None:
        """The allocator of the first GPU begins its peak anew."""
        if config.device != "cpu":
            tf.config.experimental.reset_memory_stats("GPU:0")

    def peak_bytes(self, config: RunConfig) -> int | None:
        if config.device == "cpu":
            return None
        return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])

    def out_of_memory(self, error: BaseException) -> bool:
        """Of TensorFlow's own allocator, or of XLA's."""
        return isinstance(error, tf.errors.ResourceExhaustedError) or "RESOURCE_EXHAUSTED" in str(error)

    def release(self, config: RunConfig) -> None:
        """Models, and what only reference cycles hold."""
        keras.backend.clear_session()
        gc.collect()


ADAPTER = TensorFlowAdapter
