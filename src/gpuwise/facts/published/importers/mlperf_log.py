"""MLPerf Training logs: `:::MLLOG {json}` lines, one run a file, other output between them.

Throughput, the best evidence first:
1. the median of the `throughput` that the run itself tracked;
2. samples processed / (run_stop - run_start), evaluation included, where the log counts samples;
3. else 1 / (run_stop - run_start): item "run", a time to train, as MLPerf scores it.
A run that was aborted gives the first only. These are not scores: MLCommons verifies none of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any

from gpuwise.facts.published.importers.figure import Figure, Origin, Skip, number, whole

MARK = ":::MLLOG"
_GPUS = re.compile(r"\bn_gpu: (\d{1,4})\b|\bgpus (\d{1,4}) mparams|--nproc_per_node[= ](\d{1,4})\b")
_NODES = re.compile(r"\s*(\d{1,4})\s?x")
_WORK = {
    "resnet": ("resnet50", "image"),
    "bert": ("mlperf-bert-large", "sequence"),
    "ssd": ("mlperf-retinanet", "image"),
    "maskrcnn": ("mlperf-maskrcnn", "image"),
    "unet3d": ("mlperf-unet3d", "image"),
    "llama2_70b_lora": ("mlperf-llama2-70b-lora", "sequence"),
    "llama31_8b": ("mlperf-llama31-8b", "sequence"),
}
"""ResNet-50 v1.5 at 224 px is our work, with a real input pipeline; BERT pre-trains on sequences
of up to 512 tokens with the padding left out, so it is not."""
_EPOCHS = 1000
"""More "epochs" than this are a count of samples: BERT's logs put it into epoch_num."""
UNVERIFIED = "result not verified by MLCommons Association"


@dataclass(slots=True, kw_only=True)
class _Run:
    """What one log says."""

    line: int = 1
    first: dict[str, Any] = field(default_factory=dict)
    """First value of every key."""
    tracked: list[float] = field(default_factory=list)
    samples: float = 0.0
    epochs: float = 0.0
    started_ms: float | None = None
    stopped_ms: float | None = None
    status: str = ""
    gpus_per_node: int | None = None
    half: bool = False


def recognises(text: str, name: str) -> bool:
    """Whether it has MLLOG lines."""
    return MARK in text


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
    """One figure a run; a new run begins where the log starts anew."""
    run = _Run()
    for at, line in enumerate(text.splitlines(), start=1):
        where = line.find(MARK)
        if where < 0:
            _other(run, line)
            continue
        try:
            event = json.loads(line[where + len(MARK) :])
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("key"), str):
            yield Skip(line=at, reason="is no whole MLLOG event")
            continue
        if event["key"] == "run_start" and run.stopped_ms is not None:
            yield _figure(run, origin)
            run = _Run(line=at, first=run.first, gpus_per_node=run.gpus_per_node, half=run.half)
        _take(run, event, at)
    yield _figure(run, origin)


def _other(run: _Run, line: str) -> None:
    """A line of ordinary output may tell how many GPUs a node uses, and the format."""
    found = _GPUS.search(line[:2000]) if run.gpus_per_node is None else None
    if found is not None:
        run.gpus_per_node = int(found[1] or found[2] or found[3])
    run.half = run.half or "16-bits training: True" in line


def _take(run: _Run, event: dict[str, Any], at: int) -> None:
    """Note one event."""
    key, value, time_ms = event["key"], event.get("value"), number(event.get("time_ms"))
    more = event.get("metadata")
    more = more if isinstance(more, dict) else {}
    run.first.setdefault(key, value)
    if key == "run_start" and run.started_ms is None:
        run.started_ms, run.line = time_ms, at
    elif key == "run_stop":
        run.stopped_ms, run.status = time_ms, str(more.get("status") or value or "")
    elif key == "tracked_stats" and isinstance(value, dict):
        run.tracked += [speed for speed in [number(value.get("throughput"))] if speed]
    if run.started_ms is not None and key != "run_start":
        run.samples = max(run.samples, number(more.get("samples_count")) or 0)
        run.epochs = max(run.epochs, number(more.get("epoch_num")) or 0)


def _figure(run: _Run, origin: Origin) -> Figure | Skip:
    benchmark = str(run.first.get("submission_benchmark") or "")
    workload, item = _WORK.get(benchmark, (f"mlperf-{benchmark}" if benchmark else "", "sample"))
    speed = _speed(run)
    if speed is None:
        return Skip(line=run.line, reason="a run without a speed and without a successful end")
    value, note = speed
    n_gpus = _gpus(run, origin)
    stated = "fp16" if run.half else ""
    return Figure(
        line=run.line,
        throughput=value,
        workload=workload,
        mode="train",
        item="run" if note.startswith("time") else item,
        stated=stated,
        n_gpus=n_gpus,
        batch_per_gpu=_batch(run, n_gpus),
        framework="MLPerf Training",
        software=str(run.first.get("submission_platform") or "")[:80],
        date=_date(run),
        note=f"{str(run.first.get('submission_org') or '')[:60]}; {note}; {UNVERIFIED}".lstrip("; "),
    )


def _speed(run: _Run) -> tuple[float, str] | None:
    """(items per second, how it was found)"""
    if run.tracked:
        return median(run.tracked), f"median of {len(run.tracked)} tracked speeds"
    if run.started_ms is None or run.stopped_ms is None or run.status not in ("success", ""):
        return None
    elapsed = (run.stopped_ms - run.started_ms) / 1e3
    if elapsed <= 0:
        return None
    samples = _samples(run)
    if samples > 0:
        return samples / elapsed, f"{samples:,.0f} samples in {elapsed / 60:.2f} min, evaluation included"
    return 1 / elapsed, f"time to train {elapsed / 60:.2f} min"


def _samples(run: _Run) -> float:
    """Samples processed; 0 where the log does not tell. `train_samples` is the size of the data set."""
    if run.samples > 0:
        return run.samples
    if run.epochs > _EPOCHS:
        return run.epochs
    size = number(run.first.get("train_samples"))
    return size * run.epochs if size is not None and run.epochs >= 1 else 0.0


def _gpus(run: _Run, origin: Origin) -> int | None:
    """All GPUs of the run: of one node, times the nodes; what the user says comes first."""
    if origin.n_gpus is not None or run.gpus_per_node is None:
        return origin.n_gpus
    nodes = _NODES.match(str(run.first.get("submission_platform") or ""))
    return run.gpus_per_node * (int(nodes[1]) if nodes else 1)


def _batch(run: _Run, n_gpus: int | None) -> int | None:
    total = whole(run.first.get("global_batch_size"))
    return total // n_gpus if total is not None and n_gpus and total % n_gpus == 0 else None


def _date(run: _Run) -> str:
    try:
        return (
            datetime.fromtimestamp((run.started_ms or 0) / 1e3, UTC).date().isoformat()
            if run.started_ms
            else ""
        )
    except (ValueError, OverflowError, OSError):
        return ""
