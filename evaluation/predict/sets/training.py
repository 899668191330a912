"""Training throughput of the Lambda set, by the function that `gpuwise predict` calls.

Scored are the networks of which gpuwise has the same step; the others (SSD, GNMT, NCF, Tacotron 2, WaveGlow,
Transformer-XL) are refused. The file states no batch: it is the one that Lambda's tables state for the memory
of the card. "fp32" runs in TF32 where the card has it, as NVIDIA's containers do. ResNet-50 is that of public
scripts (channels first under autocast); attention is taken apart: they do not call torch's fused one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from evaluation.predict.case import Array, Case, Row, find_card
from evaluation.predict.sets import traced
from gpuwise.errors import GpuwiseError
from gpuwise.model.question import RunConfig
from gpuwise.predictor import trace_store
from gpuwise.predictor.kernels import Kernel, KernelClass, Trace
from gpuwise.predictor.rates import Parameters

quantity, unit = "time of an item", "s/item"
NETWORKS: Mapping[str, str] = MappingProxyType(
    {"resnet50": "resnet50", "bert_base_squad": "bert-base", "bert_large_squad": "bert-large"}
)
BATCHES: Mapping[str, tuple[tuple[float, int], ...]] = MappingProxyType(
    {
        "resnet50": ((12.9, 160), (17.2, 288), (25.8, 448), (42.9, 720), (51.5, 928), (85.9, 1280)),
        "bert-large": ((12.9, 4), (17.2, 8), (25.8, 16), (51.5, 36), (85.9, 112)),
    }
)
"""fp16: (GB of memory, batch), as the tables of Lambda state them; fp32 has half, BERT-base three times."""
_COUNT = re.compile(r"(\d+)x\s?(?:H100|H200|B200|A100|V100|GH200|RTX|A\d)", re.IGNORECASE)


def once(rows: Sequence[Row]) -> list[Row]:
    """The rows of the file, of figures that one of its tables repeats from another the last."""
    named = ("gpu", "precision", "model")
    found = {
        (*(row[name] for name in named), *(float(row[n] or 0) for n in ("num_gpu", "train_throughput"))): row
        for row in rows
    }
    return [*found.values()]


def read(rows: Sequence[Row]) -> list[Case]:
    """Cases of the file; machines of several cards count one card's share."""
    return [_case(row) for row in once(rows)]


def _case(row: Row) -> Case:
    card, refusal = find_card(row["gpu"])
    stated = _COUNT.findall(row["gpu"])
    cards = int(float(row["num_gpu"])) if row["num_gpu"] else int(stated[-1]) if stated else 1
    workload = NETWORKS.get(row["model"])
    refusal = refusal or ("" if workload else f"no step of {row['model']!r} is known")
    work: Trace | None = None
    precision = row["precision"]
    if workload and card and not refusal:
        precision = "tf32" if precision == "fp32" and "tf32" in card.peaks else precision
        sizes = BATCHES.get(workload, BATCHES["bert-large"])
        batch = min(sizes, key=lambda size: abs(size[0] - card.memory_bytes / 1e9))[1]
        batch = batch * (3 if workload == "bert-base" else 1) // (1 if precision == "fp16" else 2)
        recipe = "script" if workload == "resnet50" else "stock"
        config = RunConfig(workload=workload, mode="train", precision=precision, batch=batch, recipe=recipe)
        try:
            found = trace_store.obtain(config)
            work = replace(found, kernels=tuple(unfused(found.kernels)))
        except GpuwiseError as error:
            refusal = str(error)
        refusal = refusal or ("" if work else "its step is not shipped")
    return Case(
        gpu=card.id if card else row["gpu"], card=card, model=row["model"],
        measured=1.0 / float(row["train_throughput"]), flop=work.flop / work.items / cards if work else 0.0,
        moved=traced.moved(work) / work.items / cards if work else 0.0, dtype=precision,
        work=traced.Work(work, cards, f"{row['precision']}.{row['model']}") if work else None,
        refusal=refusal, part=f"{row['precision']}, {'1 GPU' if cards == 1 else 'n GPUs'}",
        key=f"{row['precision']}.{row['model']}.{cards}",
    )  # fmt: skip


FORWARD: Sequence[tuple[KernelClass, str, float]] = (
    ("pointwise", "aten.div", 1.0), ("pointwise", "aten.add", 1.0), ("normalisation", "aten._softmax", 1.0),
    ("pointwise", "aten.native_dropout", 1.5),
)  # fmt: skip
BACKWARD: Sequence[tuple[KernelClass, str, float]] = (
    ("pointwise", "aten.native_dropout_backward", 1.5), ("pointwise", "aten.div", 1.0),
    ("normalisation", "aten._softmax_backward_data", 2.0),
)  # fmt: skip
"""Passes over the scores of attention, and what each reads of them."""


def unfused(kernels: Sequence[Kernel]) -> Iterator[Kernel]:
    """Attention as products and passes over its scores: scaled, masked, normalised, dropped; and their
    gradients, two products for each."""
    for kernel in kernels:
        if kernel.kind != "attention":
            yield kernel
            continue
        batch, heads, queries, keys, width, _ = kernel.shape
        back = "_backward" in kernel.name
        groups, size = batch * heads, 4.0 if kernel.dtype in ("fp32", "tf32") else 2.0
        scores = float(groups * queries * keys)
        for m, n, k in ((queries, keys, width), (queries, width, keys)):
            yield replace(
                kernel, kind="matmul", name="aten.bmm", shape=(groups, m, n, k),
                flop=2.0 * groups * m * n * k, bytes_read=size * groups * (m * k + k * n),
                bytes_written=size * groups * m * n, count=kernel.count * (2 if back else 1),
            )  # fmt: skip
        for kind, name, read in BACKWARD if back else FORWARD:
            yield replace(
                kernel, kind=kind, name=name, shape=(batch, heads, queries, keys), flop=scores,
                bytes_read=read * size * scores, bytes_written=size * scores,
            )  # fmt: skip


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Seconds of one item of each case."""
    return traced.seconds(cases)


halves = traced.halves
