"""Published rows to judge, each with what a test changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuwise.facts.published import record
from gpuwise.model.gpu import Source
from gpuwise.model.result import Record

SOURCE = Source(id="test", title="test", kind="article", read_on="2026-01-01")


@pytest.fixture
def row() -> Callable[..., Record]:
    def make(**changes: Any) -> Record:
        usual: dict[str, Any] = {"gpu": "T4", "gpu_id": "t4", "workload": "resnet50", "mode": "train"}
        usual |= {"precision": "fp16", "speed": 400.123, "item": "image", "source": SOURCE}
        return record(**(usual | changes))

    return make
