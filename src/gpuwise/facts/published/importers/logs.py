"""Logs of runs: MLPerf Training's and those of AIME's script.

MLPerf: `:::MLLOG {json}` lines, other output between them. Throughput, the best evidence first:
1. the median of the `throughput` that the run itself tracked;
2. samples processed / (run_stop - run_start), evaluation included, where the log counts samples;
3. else 1 / (run_stop - run_start): item "run", a time to train, as MLPerf scores it.
A run that was aborted gives the first only. These are not scores: MLCommons verifies none of them.

AIME (aime-team/pytorch-benchmarks): the setting of a run, then its steps.

    2 GPU(s) used for benchmark:
    0: NVIDIA A100 80GB PCIe
    Model: resnet50
    Local train batch size: 256
    Precision: Automatic mixed precision
    Compile-Mode: True
    Epoch [1 / 1], Step [20 / 60], Loss: 7.01,  Images per second: 2450.1
    Total mean images per second in training: 2447

Without the final mean, the mean of the steps after its ten warm-up steps is taken. Its "fp32" is
IEEE arithmetic for BERT in eager mode only: `--compile` sets TF32, and cuDNN's convolutions use it anyway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean, median
from typing import Any

from gpuwise.facts.published import names
from gpuwise.facts.published.importers import Figure, Format, Origin, Skipped, number, skipped, whole
from gpuwise.model.workload import Mode

MARK = ":::MLLOG"
_GPUS = re.compile(r"\bn_gpu: (\d{1,4})\b|\bgpus (\d{1,4}) mparams|--nproc_per_node[= ](\d{1,4})\b")
_NODES = re.compile(r"\s*(\d{1,4})\s?x")
# ResNet-50 v1.5 at 224 px is our work, with a real input pipeline; BERT pre-trains on sequences of up to 512
# tokens with the padding left out, so it is not.
_WORK = {
    "resnet": ("resnet50", "image"),
    "bert": ("mlperf-bert-large", "sequence"),
    "ssd": ("mlperf-retinanet", "image"),
    "maskrcnn": ("mlperf-maskrcnn", "image"),
    "unet3d": ("mlperf-unet3d", "image"),
    "llama2_70b_lora": ("mlperf-llama2-70b-lora", "sequence"),
    "llama31_8b": ("mlperf-llama31-8b", "sequence"),
}
# More "epochs" than this are a count of samples: BERT's logs put it into epoch_num.
_EPOCHS = 1000
UNVERIFIED = "result not verified by MLCommons Association"


@dataclass(slots=True, kw_only=True)
class _MlperfRun:
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


def mlperf(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """One figure a run; a new run begins where the log starts anew."""
    run = _MlperfRun()
    for at, line in enumerate(text.splitlines(), start=1):
        where = line.find(MARK)
        if where < 0:
            # Ordinary output may say how many GPUs a node uses, and the format.
            found = _GPUS.search(line[:2000]) if run.gpus_per_node is None else None
            if found is not None:
                run.gpus_per_node = int(found[1] or found[2] or found[3])
            run.half = run.half or "16-bits training: True" in line
            continue
        try:
            event = json.loads(line[where + len(MARK) :])
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("key"), str):
            yield skipped(at, "is not a whole MLLOG event")
            continue
        if event["key"] == "run_start" and run.stopped_ms is not None:
            yield _of_mlperf(run, origin)
            run = _MlperfRun(line=at, first=run.first, gpus_per_node=run.gpus_per_node, half=run.half)
        _note_event(run, event, at)
    yield _of_mlperf(run, origin)


def _note_event(run: _MlperfRun, event: dict[str, Any], at: int) -> None:
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


def _of_mlperf(run: _MlperfRun, origin: Origin) -> Figure | Skipped:
    speed = _speed(run)
    if speed is None:
        return skipped(run.line, "a run without a speed and without a successful end")
    value, note = speed
    benchmark = str(run.first.get("submission_benchmark") or "")
    workload, item = _WORK.get(benchmark, (f"mlperf-{benchmark}" if benchmark else "", "sample"))
    platform = str(run.first.get("submission_platform") or "")
    # All GPUs of the run: of one node, times the nodes; what the user says comes first.
    gpus = origin.n_gpus
    if gpus is None and run.gpus_per_node is not None:
        nodes = _NODES.match(platform)
        gpus = run.gpus_per_node * (int(nodes[1]) if nodes else 1)
    total = whole(run.first.get("global_batch_size"))
    try:
        began = datetime.fromtimestamp(run.started_ms / 1e3, UTC).date().isoformat() if run.started_ms else ""
    except (ValueError, OverflowError, OSError):
        began = ""
    return Figure(
        line=run.line,
        throughput=value,
        workload=workload,
        mode="train",
        item="run" if note.startswith("time") else item,
        stated="fp16" if run.half else "",
        n_gpus=gpus,
        batch_per_gpu=total // gpus if total is not None and gpus and total % gpus == 0 else None,
        framework="MLPerf Training",
        versions=platform[:80],
        date=began,
        note=f"{str(run.first.get('submission_org') or '')[:60]}; {note}; {UNVERIFIED}".lstrip("; "),
    )


def _speed(run: _MlperfRun) -> tuple[float, str] | None:
    """(items per second, how it was found)"""
    if run.tracked:
        return median(run.tracked), f"median of {len(run.tracked)} tracked speeds"
    if run.started_ms is None or run.stopped_ms is None or run.status not in ("success", ""):
        return None
    elapsed = (run.stopped_ms - run.started_ms) / 1e3
    if elapsed <= 0:
        return None
    # `train_samples` is the size of the data set, so it counts once an epoch.
    size = number(run.first.get("train_samples"))
    samples = run.samples or (run.epochs if run.epochs > _EPOCHS else 0.0)
    if not samples and size is not None and run.epochs >= 1:
        samples = size * run.epochs
    if samples > 0:
        return samples / elapsed, f"{samples:,.0f} samples in {elapsed / 60:.2f} min, evaluation included"
    return 1 / elapsed, f"time to train {elapsed / 60:.2f} min"


_START = re.compile(r"(\d{1,4}) GPU\(s\) used for benchmark:")
_FIELD = re.compile(r"([A-Za-z][\w -]{2,40}?)\s?: (.{0,200})")
_DEVICE = re.compile(r"\d{1,3}: (.{2,100})")
_STEP = re.compile(r"Epoch \[\d+ / \d+\], Step \[(\d+) / \d+\].*?(Images|Sequences) per second: ([\d.]+)")
_MEAN = re.compile(r"Total mean (images|sequences) per second in (training|evaluation): (\S+)")
_MODES: dict[str, Mode] = {"training": "train", "evaluation": "infer"}
WARM_UP_STEPS = 10


@dataclass(slots=True, kw_only=True)
class _AimeRun:
    """What one run's log said so far."""

    line: int
    n_gpus: int
    gpus: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    steps: list[tuple[int, str, str]] = field(default_factory=list)
    """(line, item, speed) after the warm-up"""
    means: list[tuple[int, str, Mode, str]] = field(default_factory=list)
    """(line, item, mode, speed)"""


def aime(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """One figure a run and mode."""
    run: _AimeRun | None = None
    for at, line in enumerate(map(str.strip, text.splitlines()), start=1):
        start = _START.match(line)
        if start is not None:
            if run is not None:
                yield from _of_aime(run)
            run = _AimeRun(line=at, n_gpus=int(start[1]))
        elif run is not None:
            device = _DEVICE.match(line) if len(run.gpus) < run.n_gpus else None
            if device is not None:
                run.gpus.append(device[1])
            elif (mean := _MEAN.search(line)) is not None:
                run.means.append((at, mean[1], _MODES[mean[2]], mean[3]))
            elif (step := _STEP.match(line)) is not None:
                if (whole(step[1]) or 0) > WARM_UP_STEPS:
                    run.steps.append((at, step[2].casefold(), step[3]))
            elif (said := _FIELD.fullmatch(line)) is not None:
                run.fields.setdefault(said[1].strip(), said[2].strip())
    if run is not None:
        yield from _of_aime(run)


def _of_aime(run: _AimeRun) -> Iterator[Figure | Skipped]:
    if len(set(run.gpus)) > 1:
        yield skipped(run.line, "different GPUs ran together: " + ", ".join(sorted(set(run.gpus))))
        return
    # A mean of 0 is what the script prints for "not run".
    found = [mean for mean in run.means if number(mean[3]) != 0]
    speeds = [rate for _, _, text in run.steps if (rate := number(text)) is not None]
    if not found and speeds:
        found = [(run.steps[0][0], run.steps[0][1], "train", str(fmean(speeds)))]
    if not found:
        yield skipped(run.line, "the run has no speed after its warm-up")
    said = run.fields.get
    gpu, stated = run.gpus[0] if run.gpus else "", said("Precision", "")
    compiled = {"True": True, "False": False}.get(said("Compile-Mode", ""))
    versions = (f"torch {said('PyTorch-version', '')}", f"CUDA {said('Cuda-version', '')}")
    for line, items, mode, mean_speed in found:
        own_fp32 = items == "sequences" and names.precision_of(stated) == "fp32" and compiled is False
        yield Figure(
            line=line,
            throughput=mean_speed,
            workload=said("Model", ""),
            mode=mode,
            item=items.removesuffix("s"),
            stated=stated,
            precision="fp32" if own_fp32 else None,
            gpu=gpu,
            gpu_id=names.gpu_id_of(gpu),
            n_gpus=run.n_gpus,
            batch_per_gpu=said("Local train batch size") or said("Local batch size"),
            compiled=compiled,
            framework="PyTorch (AIME)",
            versions=" ".join(part for part in versions if not part.endswith(" ")),
            date=said("Benchmark start", "")[:10].replace("/", "-"),
        )


MLPERF = Format(lambda text: MARK in text, mlperf)
AIME = Format(lambda text: "GPU(s) used for benchmark:" in text, aime)
