"""What a user asks for, to be changed by each test."""

from __future__ import annotations

from gpuwise.measure.request import Request


def request(**changes: object) -> Request:
    defaults: dict[str, object] = {
        "modes": ("train", "infer"),
        "precisions": ("fp32", "bf16"),
        "compile": (False, True),
        "recipe": "stock",
        "device": "cuda",
    }
    names = changes.pop("workloads", ("resnet50", "bert-large"))
    return Request(workloads=names).given(**{**defaults, **changes})  # type: ignore[arg-type]
