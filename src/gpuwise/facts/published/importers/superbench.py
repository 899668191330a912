"""SuperBench's results-summary.jsonl: one JSON object a line and node, every metric a key.

    {"node": "n1", "resnet_models/pytorch-resnet50/throughput_train_float16": 1830.2, ...}

Model throughputs are taken, in the old naming (throughput_train_float32) and the new
(fp32_train_throughput); a `:3` behind the name is the rank of an independent copy. SuperBench casts
the whole model for float16, and its float32 is TF32 unless --force_fp32. It reports one process, so a
figure without ranks is the speed of one GPU, also where several trained together.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from gpuwise.facts.published.importers.figure import Figure, Origin, Skip, number

_METRIC = re.compile(
    r"(?:.*/)?(?:pytorch|tensorflow|onnxruntime|tensorrt)-(?P<model>[^/]{1,60})/"
    r"(?:throughput_(?P<mode>train|inference)_(?P<stated>[a-z0-9]+)"
    r"|(?P<stated2>[a-z0-9]+)_(?P<mode2>train|inference)_throughput)(?::(?P<rank>\d{1,4}))?"
)
_TORCHVISION = re.compile(r"(resnet|vgg|densenet)\d+")
"""Networks that SuperBench takes from torchvision at 224 px; its BERT and GPT-2 are other work than
ours (another head, another sequence length)."""


def recognises(text: str, name: str) -> bool:
    """Whether it is JSON with SuperBench's throughput keys."""
    start = text.lstrip("\ufeff \r\n\t")
    return start.startswith("{") and re.search(r"throughput_train_|_train_throughput", text) is not None


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
    """One figure a node, model, mode and precision."""
    for at, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            node = json.loads(line)
        except (ValueError, RecursionError):
            yield Skip(line=at, reason="is no JSON object")
            continue
        if isinstance(node, dict):
            yield from _node(at, node)
        else:
            yield Skip(line=at, reason="is no JSON object")


def _node(line: int, node: Mapping[str, Any]) -> Iterator[Figure | Skip]:
    found: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for key, value in node.items():
        metric = _METRIC.fullmatch(key)
        if metric is not None:
            mode, stated = metric["mode"] or metric["mode2"], metric["stated"] or metric["stated2"]
            found[metric["model"], mode, stated].append(value)
    for (model, mode, stated), values in found.items():
        speeds = [speed for value in values if (speed := number(value)) is not None]
        if len(speeds) < len(values):
            yield Skip(line=line, reason=f"{model} {mode} {stated}: a rank without a number")
        else:
            yield _figure(line, model, mode, stated, speeds)


def _figure(line: int, model: str, mode: str, stated: str, speeds: list[float]) -> Figure:
    copies = len(speeds)
    return Figure(
        line=line,
        throughput=sum(speeds),
        workload=model if _TORCHVISION.fullmatch(model) else f"superbench-{model}",
        mode="train" if mode == "train" else "infer",
        item="image" if _TORCHVISION.fullmatch(model) else "sample",
        stated=stated,
        n_gpus=copies,
        compiled=False,
        framework="PyTorch (SuperBench)",
        note=f"{copies} independent copies, one a GPU" if copies > 1 else "one process",
    )
