"""What a user asks for, to be changed by each test."""

from __future__ import annotations

from gpuwise.measure.plan import Request


def request(**changes: object) -> Request:
    defaults: dict[str, object] = {
        "workloads": ("resnet50", "bert-large"),
        "modes": ("train", "infer"),
        "precisions": ("fp32", "bf16"),
        "compile": (False, True),
        "recipe": "stock",
        "device": "cuda",
    }
    return Request(**{**defaults, **changes})  # type: ignore[arg-type]
