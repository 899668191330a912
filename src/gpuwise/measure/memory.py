"""Memory of the device in the process that measures: most in use, and giving back what nothing refers to."""

from __future__ import annotations

import gc
from typing import Any

import torch

COUNTING = ("cuda", "xpu")
"""Devices whose peak memory torch counts; Metal's it does not."""


def reset_peak(device: str) -> None:
    """Count the peak from here on."""
    if device in COUNTING:
        torch.get_device_module(device).reset_peak_memory_stats()


def peak(device: str) -> int | None:
    """Most bytes in use since the count was reset; None where the device counts none."""
    if device not in COUNTING:
        return None
    most = int(torch.get_device_module(device).max_memory_allocated())
    if device != "cuda":
        return most
    return most + captured(torch.cuda.memory_snapshot())  # type: ignore[no-untyped-call]


def captured(segments: list[dict[str, Any]]) -> int:
    """Bytes in which CUDA graphs work: in pools of their own, where no replay allocates anything."""
    own = (s for s in segments if s.get("segment_pool_id", (0, 0)) != (0, 0))
    return sum(s["total_size"] - s["allocated_size"] for s in own)


def release(device: str) -> None:
    """Give back memory that nothing refers to, also that of a failed trial's reference cycles."""
    gc.collect()
    if device != "cpu":
        torch.get_device_module(device).empty_cache()
