"""Predicted records for tests, in one line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpuwise.model.question import Question
from gpuwise.model.record import Record, refused


def predicted(
    gpu_id: str, config: Question, *, item: str = "image", count: int = 1, batch: int | None = None,
    refusal: str = "", evidence: Any = "spec-only", **figures: Any,
) -> Record:  # fmt: skip
    """A prediction of `config` on `count` GPUs at `batch`, or its refusal."""
    return Record(
        question=replace(config, gpus=count, batch=batch or config.batch), gpu_id=gpu_id, item=item,
        origin="predicted", basis=evidence, issues=refused(refusal) if refusal else (), **figures,
    )  # fmt: skip
