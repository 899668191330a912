"""One figure of a file: checked, or skipped with the reason. Every importer's last step."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from gpuwise.facts.published import names
from gpuwise.model.gpu import Source
from gpuwise.model.record import PublishedResult

MAX_GPUS = 100_000
_NUMBER = re.compile(r"([\d.eE+-]{1,40})\s*(?:(?![KMGT]?i?B\s*/)[A-Za-z]+\s*/\s*s(?:ec(?:ond)?)?)?")
"""A number, alone or as a rate of items; milliseconds, shares and bytes are no speed of a network."""
_VAGUE = ("item", "sample")
"""What a format says that does not know its items; the network may tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A line that gave no figure, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a file held: its figures, each with its cautions, and the lines that gave none."""

    format: str
    rows: tuple[PublishedResult, ...] = ()
    skipped: tuple[Skip, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is known of a file besides its text."""

    name: str
    """File name without its folders; some formats say half of it there."""
    source: Source
    gpu: str = ""
    """The GPU, where the user says it and the file does not."""
    n_gpus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as read: numbers still as the file wrote them."""

    line: int
    throughput: object
    workload: str
    mode: str
    item: str
    stated: str
    """The precision as the publisher calls it."""
    gpu: str = ""
    gpu_id: str | None = None
    n_gpus: object = None
    batch_per_gpu: object = None
    precision: str | None = None
    """As it ran, where the format knows; None derives it from `stated` and the GPU."""
    compiled: bool | None = None
    framework: str = ""
    software: str = ""
    date: str = ""
    note: str = ""


def result(figure: Figure, origin: Origin) -> PublishedResult | Skip:
    """The published result, or why it is none: no positive number, an impossible count."""
    figure = _with_gpu(figure, origin)
    speed = number(figure.throughput)
    if speed is None or speed <= 0:
        return Skip(line=figure.line, reason=f"no speed: {str(figure.throughput)[:40]!r}")
    count = number(figure.n_gpus)
    if count is None:
        return Skip(line=figure.line, reason="says nowhere on how many GPUs it ran")
    if not 1 <= count <= MAX_GPUS or count != int(count):
        return Skip(line=figure.line, reason=f"no count of GPUs: {str(figure.n_gpus)[:40]!r}")
    workload = names.workload_id(figure.workload)
    if not workload:
        return Skip(line=figure.line, reason="says nowhere which network ran")
    return PublishedResult(
        gpu=figure.gpu,
        gpu_id=figure.gpu_id,
        n_gpus=int(count),
        workload=workload,
        mode=figure.mode,
        precision=figure.precision or names.as_run(figure.stated, figure.gpu_id),
        precision_stated=figure.stated,
        compiled=figure.compiled,
        framework=figure.framework,
        software=figure.software,
        batch_per_gpu=whole(figure.batch_per_gpu),
        throughput=speed,
        item=names.item_of(workload, figure.item) if figure.item in _VAGUE else figure.item,
        date=figure.date,
        source=origin.source,
        locator=f"{origin.name}, line {figure.line}",
        note=figure.note,
    )


def _with_gpu(figure: Figure, origin: Origin) -> Figure:
    """The figure with what the user said about the file where it says nothing itself."""
    gpu = figure.gpu or origin.gpu
    return replace(
        figure,
        gpu=gpu,
        gpu_id=figure.gpu_id or names.gpu_id_of(gpu),
        n_gpus=origin.n_gpus if figure.n_gpus is None else figure.n_gpus,
    )


def number(value: object) -> float | None:
    """A finite number from `1,029.62`, `938 img/s` or a JSON number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        written = _NUMBER.fullmatch(value.replace(",", "").strip())
        value = written[1] if written is not None else ""
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def whole(value: object) -> int | None:
    """A positive whole number, or None."""
    found = number(value)
    return int(found) if found is not None and found >= 1 and found == int(found) else None
