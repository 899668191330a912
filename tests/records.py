"""Predicted records for tests, in one line."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import Any

from gpuwise.model.precision import Precision
from gpuwise.model.question import Question
from gpuwise.model.result import Interval, Record, refused


def predicted(
    gpu_id: str, config: Question, *, item: str = "image", count: int = 1, batch: int | None = None,
    refusal: str = "", evidence: Any = "spec-only", **figures: Any,
) -> Record:  # fmt: skip
    """A prediction of `config` on `count` GPUs at `batch`, or its refusal."""
    return Record(
        question=replace(config, gpus=count, batch=batch or config.batch), gpu_id=gpu_id, item=item,
        origin="predicted", basis=evidence, issues=refused(refusal) if refusal else (), **figures,
    )  # fmt: skip


def made_up(
    gpu_id: str, *, count: int = 1, throughput: Interval | None = None, refusal: str = "",
    watts: float | None = None, watts_half: float = 0.0, memory_bytes: float | None = None, **figures: Any,
) -> Record:  # fmt: skip
    """The speed of a card in a test of choosing: watts and bytes as plain numbers."""
    drawn = watts and Interval(
        value=watts, low=watts * exp(-watts_half), high=watts * exp(watts_half), method="made up"
    )
    memory = memory_bytes and Interval(
        value=memory_bytes, low=memory_bytes, high=memory_bytes, method="made up"
    )
    given: dict[str, Any] = {"origin": "predicted", "basis": "spec-only"} | figures
    return Record(
        question=Question(workload="resnet50", mode="train", precision=Precision.BF16, gpus=count),
        gpu_id=gpu_id, item="image", throughput=throughput, watts=drawn or None, memory_bytes=memory or None,
        issues=refused(refusal) if refusal else (), **given,
    )  # fmt: skip
