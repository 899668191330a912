"""TensorFlow behind the `Adapter`. Memory grows as it is needed (see `support`), so its peak is true."""

from __future__ import annotations

import gc
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpuwise.measure.frameworks.adapter import Found, Job
from gpuwise.measure.frameworks.tensorflow import job
from gpuwise.model.run import RunConfig

__all__ = ["build", "forget_peak", "found", "out_of_memory", "peak_bytes", "release", "wait"]


def found(config: RunConfig) -> Found:
    """TensorFlow's first device. Raises RuntimeError where a GPU was asked for and TensorFlow sees none."""
    if config.device == "cpu":
        return Found(version=tf.__version__, device="cpu", gpus=0)
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        hint = "pip install 'tensorflow[and-cuda]' brings one that does"
        raise RuntimeError(f"TensorFlow {tf.__version__} sees no GPU; {hint}")
    stated = tf.sysconfig.get_build_info()
    return Found(
        version=tf.__version__,
        device=tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU"),
        gpus=len(gpus),
        cuda=stated.get("cuda_version") or stated.get("rocm_version"),
        cudnn=stated.get("cudnn_version"),
    )


def build(config: RunConfig, batch: int) -> Job:
    """The job, its step's output on its way to the host.

    TensorFlow copies from a GPU only behind everything that is queued by then, so each output must be
    asked for before the step after it is queued: two threads do, for the outputs of two steps.
    """
    made = job.build(config, batch)
    waiting = ThreadPoolExecutor(max_workers=2)

    def step() -> Future[float]:
        return waiting.submit(_fetched, made.step())

    return replace(made, step=step)


def _fetched(outputs: Any) -> float:
    """The mean over GPUs of the one number that each puts out."""
    return float(np.mean([output.numpy() for output in outputs]))


def wait(output: Future[float]) -> float:
    """The loss of a training step; of an inference, one number of the answer."""
    return output.result()


def forget_peak(config: RunConfig) -> bool:
    """The allocator of the first GPU begins its peak anew."""
    if config.device != "cpu":
        tf.config.experimental.reset_memory_stats("GPU:0")
    return True


def peak_bytes(config: RunConfig) -> int | None:
    """Highest memory in use on the first GPU; a CPU does not tell."""
    if config.device == "cpu":
        return None
    return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])


def out_of_memory(error: BaseException) -> bool:
    """Of TensorFlow's own allocator, or of XLA's."""
    return isinstance(error, tf.errors.ResourceExhaustedError) or "RESOURCE_EXHAUSTED" in str(error)


def release() -> None:
    """Drop models and what only reference cycles hold."""
    keras.backend.clear_session()
    gc.collect()
