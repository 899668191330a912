"""Steps that were measured, by the project and by others: what `steps` and `own` predict."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache as remember
from pathlib import Path

import numpy as np

from gpuwise.errors import GpuwiseError
from gpuwise.facts import catalog, published
from gpuwise.model.question import USUAL, RunConfig
from gpuwise.model.result import Measurement
from gpuwise.predictor import trace_store
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.rates import Parameters, general, on_card
from gpuwise.predictor.step import spent
from gpuwise.store import load as load_result

LEAST_BATCH = 32
NETWORKS = ("resnet50", "resnet152", "inception-v3", "googlenet", "vit-b16", "bert-large-pretrain-s128",
            "bert-large-pretrain-s512")  # fmt: skip
"""Of which published figures are of the same work as ours."""
PUBLIC_SCRIPT = "aime_"
"""How names of sources begin that ran the script which the recipe `script` repeats."""


OTHER_LAYOUT = "lambda_dlbench"
"""The source whose ResNet-50 is channels first under autocast: another step, which the set `lambda` has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured step."""

    source: str
    gpu: str
    cell: str
    batch: int
    measured: float
    """Items a second of one GPU."""
    watts: float | None = None
    memory: float | None = None
    kernels: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Seconds of a profiled step by kind of kernel."""

    @property
    def network(self) -> str:
        return self.cell.split(":")[0].split("-")[0].rstrip("0123456789")


def own(paths: Sequence[Path]) -> Iterator[Row]:
    """The project's own steps."""
    for path in paths:
        try:
            result = load_result(path)
        except GpuwiseError:
            continue
        for m in result.measurements:
            if is_step(m) and m.config.gpus == 1 and m.throughput and m.batch:
                yield Row(
                    source=path.name, gpu=str(result.environment.gpu_id),
                    cell=m.config.key("batch", "kernels"), batch=m.batch,
                    measured=m.throughput.value, memory=m.memory_peak_bytes,
                    watts=m.telemetry.power_w if m.telemetry else None,
                    kernels={k.kind: k.seconds for k in m.profile.kernels} if m.profile else {},
                )  # fmt: skip


def is_step(m: Measurement) -> bool:
    """Whether it is a step of a network in torch that a trace describes: no switch, no input pipeline."""
    c = m.config
    usual = c.framework == "torch" and c.input == "device" and c.switches == USUAL
    return usual and m.status == "ok" and c.mode in ("train", "infer")


def own_pairs(paths: Sequence[Path]) -> Iterator[tuple[Row, int, float]]:
    """The project's own steps of several GPUs on one batch each, beside the same session's step of one."""
    for path in paths:
        try:
            result = load_result(path)
        except GpuwiseError:
            continue
        steps = [m for m in result.measurements if is_step(m) and m.throughput and m.batch]
        alone = {
            (m.config.key("batch", "kernels"), m.batch): m.throughput.value for m in steps if m.throughput
        }
        for m in steps:
            single = alone.get((replace(m.config, gpus=1).key("batch", "kernels"), m.batch))
            if m.config.gpus > 1 and m.config.scaling == "weak" and single and m.throughput and m.batch:
                each = m.throughput.value / m.config.gpus
                row = Row(source=path.name, gpu=str(result.environment.gpu_id), batch=m.batch,
                          cell=m.config.key("batch", "kernels"), measured=each)  # fmt: skip
                yield row, m.config.gpus, single


@remember
def gpu_ids() -> frozenset[str]:
    """Of the catalog."""
    return frozenset(spec.id for spec in catalog.all_gpus())


def others(n_gpus: int = 1, *, article: bool = False) -> Iterator[Row]:
    """Published figures of the same work, of one GPU each; or those of an article that the gates doubt."""
    for found in published.all_results():
        whose = found.source.id if found.source else ""
        sound = not found.codes and "torch" in found.software.lower()
        if article:
            sound = whose.startswith("seed_")
        large = (found.batch or 0) >= LEAST_BATCH
        if (
            not sound
            or not large
            or not found.precision.rstrip("?")
            or found.gpu_id not in gpu_ids()
            or found.question.workload not in NETWORKS
            or (found.gpus > 1) != (n_gpus > 1)
            or whose == OTHER_LAYOUT
        ):
            continue
        config = RunConfig(
            workload=found.question.workload, mode=found.question.mode, precision=found.precision.rstrip("?"),
            compile=bool(found.question.compile), gpus=found.gpus,
            recipe="script" if whose.startswith(PUBLIC_SCRIPT) else "stock",
        )  # fmt: skip
        row = Row(
            source=whose, gpu=found.gpu_id, cell=config.key("batch", "kernels"),
            batch=int(found.batch or 0), measured=found.value / found.gpus,
        )  # fmt: skip
        if seconds(row, general()) is not None:
            yield row


@remember
def trace_of(row: Row) -> Trace | None:
    """The trace of a row, recorded where it is not shipped; None where that fails."""
    workload, mode, precision, how, recipe, *_ = row.cell.split(":")
    config = RunConfig(
        workload=workload, mode=mode, precision=precision, compile=how == "compiled", recipe=recipe,
        batch=row.batch,
    )  # fmt: skip
    try:
        return trace_store.obtain(config)
    except GpuwiseError:
        return None


def seconds(row: Row, parameters: Parameters) -> float | None:
    """Predicted seconds of a step, None where the card lacks its format."""
    trace = trace_of(row)
    try:
        own = card(row.gpu)
        return spent(trace, own, on_card(parameters, own)).seconds if trace else None
    except GpuwiseError:
        return None


def published_pairs(*, article: bool = False) -> Iterator[tuple[Row, int, float]]:
    single = {(r.source, r.gpu, r.cell, r.batch): r.measured for r in others(article=article)}
    for row in others(n_gpus=2, article=article):
        *cell, count, _ = row.cell.split(":")
        alone = single.get((row.source, row.gpu, ":".join(cell), row.batch))
        if alone is not None:
            yield row, int(count[1:]), alone


SQUAD = ("bert-base", "bert-large")
"""Fine-tuning that read its data in a way that limited one GPU or eight: each owner's rows differ."""
LAMBDA = {"resnet50": "resnet50", "bert_base_squad": "bert-base", "bert_large_squad": "bert-large"}


def lambda_pairs(table: Path) -> Iterator[tuple[Row, int, float]]:
    """Medians over machines of a card, fp16, at the batch that the same source states for its memory."""
    with table.open(encoding="utf-8", newline="") as file:
        found: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        for r in csv.DictReader(file):
            if r["set"] != "v2" and r["precision"] == "fp16" and r["model"] in LAMBDA:
                try:
                    gpu = card(r["gpu"]).id
                except GpuwiseError:
                    continue
                found[gpu, int(float(r["num_gpu"])), LAMBDA[r["model"]]].append(float(r["train_throughput"]))
    batches = {
        (round(card(r.gpu_id).memory_bytes / 1e9), r.question.workload): r.batch
        for r in published.select(source="lambda_dlbench", precision="fp16")
        if r.gpu_id in gpu_ids() and r.batch
    }
    for (gpu, count, workload), speeds in sorted(found.items()):
        key = "bert-large" if workload == "bert-base" else workload
        batch = batches.get((round(card(gpu).memory_bytes / 1e9), key))
        alone = found.get((gpu, 1, workload))
        if count == 1 or batch is None or alone is None:
            continue
        batch *= 3 if workload == "bert-base" else 1  # it holds about three times as many
        cell = RunConfig(workload=workload, mode="train", precision="fp16").key("batch")
        row = Row(source="lambda", gpu=gpu, cell=cell, batch=batch, measured=float(np.median(speeds)) / count)
        yield row, count, float(np.median(alone))
