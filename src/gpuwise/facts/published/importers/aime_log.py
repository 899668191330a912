"""The log of AIME's script (aime-team/pytorch-benchmarks): one run, its setting first.

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

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean

from gpuwise.facts.published import names
from gpuwise.facts.published.importers.figure import Figure, Origin, Skip, number, whole

_START = re.compile(r"(\d{1,4}) GPU\(s\) used for benchmark:")
_FIELD = re.compile(r"([A-Za-z][\w -]{2,40}?)\s?: (.{0,200})")
_STEP = re.compile(r"Epoch \[\d+ / \d+\], Step \[(\d+) / \d+\].*?(Images|Sequences) per second: ([\d.]+)")
_MEAN = re.compile(r"Total mean (images|sequences) per second in (training|evaluation): (\S+)")
_MODES = {"training": "train", "evaluation": "infer"}
WARM_UP_STEPS = 10


@dataclass(slots=True, kw_only=True)
class _Run:
    """What one run's log said so far."""

    line: int
    n_gpus: int
    gpus: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    steps: list[tuple[int, str, str]] = field(default_factory=list)
    """(line, item, speed) after the warm-up"""
    means: list[tuple[int, str, str, str]] = field(default_factory=list)
    """(line, item, mode, speed)"""


def recognises(text: str, name: str) -> bool:
    """Whether it has the line that begins the script's account of a run."""
    return "GPU(s) used for benchmark:" in text


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
    """One figure a run and mode."""
    run: _Run | None = None
    for at, line in enumerate(text.splitlines(), start=1):
        start = _START.match(line.strip())
        if start is not None:
            if run is not None:
                yield from _figures(run)
            run = _Run(line=at, n_gpus=int(start[1]))
        elif run is not None:
            _note(run, at, line.strip())
    if run is not None:
        yield from _figures(run)


def _note(run: _Run, at: int, line: str) -> None:
    """Take what one line says."""
    device = re.match(r"\d{1,3}: (.{2,100})", line) if len(run.gpus) < run.n_gpus else None
    if device is not None:
        run.gpus.append(device[1])
    elif (mean := _MEAN.search(line)) is not None:
        run.means.append((at, mean[1], _MODES[mean[2]], mean[3]))
    elif (step := _STEP.match(line)) is not None:
        if (whole(step[1]) or 0) > WARM_UP_STEPS:
            run.steps.append((at, step[2].casefold(), step[3]))
    elif (said := _FIELD.fullmatch(line)) is not None:
        run.fields.setdefault(said[1].strip(), said[2].strip())


def _figures(run: _Run) -> Iterator[Figure | Skip]:
    """The figures of one finished run; a mean of 0 is what the script prints for "not run"."""
    if len(set(run.gpus)) > 1:
        yield Skip(line=run.line, reason="different GPUs ran together: " + ", ".join(sorted(set(run.gpus))))
        return
    means = [mean for mean in run.means if number(mean[3]) != 0]
    speeds = [speed for _, _, text in run.steps if (speed := number(text)) is not None]
    if means:
        yield from (_figure(run, *mean) for mean in means)
    elif speeds:
        yield _figure(run, run.steps[0][0], run.steps[0][1], "train", str(fmean(speeds)))
    else:
        yield Skip(line=run.line, reason="the run has no speed after its warm-up")


def _figure(run: _Run, line: int, items: str, mode: str, speed: str) -> Figure:
    said = run.fields.get
    gpu = run.gpus[0] if run.gpus else ""
    gpu_id, stated = names.gpu_id_of(gpu), said("Precision", "")
    compiled = {"True": True, "False": False}.get(said("Compile-Mode", ""))
    own_fp32 = items == "sequences" and names.precision_of(stated) == "fp32" and compiled is False
    software = (f"torch {said('PyTorch-version', '')}", f"CUDA {said('Cuda-version', '')}")
    return Figure(
        line=line,
        throughput=speed,
        workload=said("Model", ""),
        mode=mode,
        item=items.removesuffix("s"),
        stated=stated,
        precision="fp32" if own_fp32 else None,
        gpu=gpu,
        gpu_id=gpu_id,
        n_gpus=run.n_gpus,
        batch_per_gpu=said("Local train batch size") or said("Local batch size"),
        compiled=compiled,
        framework="PyTorch (AIME)",
        software=" ".join(part for part in software if not part.endswith(" ")),
        date=said("Benchmark start", "")[:10].replace("/", "-"),
    )
