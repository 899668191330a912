"""JAX behind the `Adapter`. Memory is not allocated beforehand (see `support`), so its peak is true."""

from __future__ import annotations

import gc
import re
from typing import Any

import jax
from jax.extend import backend

from gpuwise.measure.frameworks.adapter import Found
from gpuwise.measure.frameworks.jax.job import build
from gpuwise.model.run import RunConfig

__all__ = ["build", "forget_peak", "found", "out_of_memory", "peak_bytes", "release", "wait"]


def found(config: RunConfig) -> Found:
    """JAX's first device. Raises RuntimeError where a GPU was asked for and JAX sees none."""
    device = jax.devices()[0]
    if config.device == "cpu":
        return Found(version=jax.__version__, device="cpu", gpus=0)
    if device.platform != "gpu":
        raise RuntimeError(
            f"JAX {jax.__version__} sees no GPU; pip install 'jax[cuda13]' brings one that does"
        )
    return Found(
        version=jax.__version__,
        device=device.device_kind,
        gpus=jax.device_count(),
        cuda=cuda_of(backend.get_backend().platform_version),
    )


def cuda_of(platform_version: str) -> str | None:
    """`13.0` from what the client says of itself, which ends in `cuda 13000`."""
    stated = re.search(r"cuda (\d+)", platform_version)
    return f"{int(stated[1]) // 1000}.{int(stated[1]) % 1000 // 10}" if stated else None


def wait(output: Any) -> Any:
    """One program puts out all its results together, so the loss is there when the weights are."""
    return jax.block_until_ready(output)


def forget_peak(config: RunConfig) -> bool:
    """The runtime's peak is that of its whole life."""
    return False


def peak_bytes(config: RunConfig) -> int | None:
    """Highest memory in use since the process began; a CPU does not tell."""
    return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")


def out_of_memory(error: BaseException) -> bool:
    """XLA reports it by its status alone."""
    return "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower()


def release() -> None:
    """Drop compiled programs and what only reference cycles hold."""
    jax.clear_caches()
    gc.collect()
