"""Read other people's result files: a format is recognised by its content, its figures become records.

The `Format` of a module reads figures and skipped lines; here they are checked and become records.
Whatever a file holds, the only error raised is InputError.
"""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from gpuwise import checks, store
from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import Framework, Question
from gpuwise.model.record import UNSURE, Record, Records, Statement
from gpuwise.model.result import Interval
from gpuwise.model.workload import Mode

MAX_BYTES = 256 * 2**20
"""Logs of big runs have tens of megabytes; nothing of this size is a table of results."""
MAX_GPUS = 100_000
MAX_FIGURES = 10_000
"""The largest published tables have some two thousand."""

FORMATS = {
    "mlperf": ("logs", "MLPerf Training log"),
    "aime": ("logs", "log of AIME's PyTorch benchmarks"),
    "superbench": ("json_files", "SuperBench results-summary.jsonl"),
    "milabench": ("json_files", "milabench summary or report"),
    "timm": ("csv_files", "timm benchmark CSV"),
    "lambda": ("csv_files", "Lambda throughput CSV"),
    "article": ("text_tables", "article with a table of networks and GPU counts"),
    "nvidia": ("text_tables", "README of NVIDIA's Deep Learning Examples"),
}
"""Name -> (module, title), the surest to recognise first. The module has a `Format` of that name."""

# A number, alone or as a rate of items; milliseconds, shares and bytes are no speed of a network.
_NUMBER = re.compile(r"([\d.eE+-]{1,40})\s*(?:(?![KMGT]?i?B\s*/)[A-Za-z]+\s*/\s*s(?:ec(?:ond)?)?)?")
# What a format says that does not know its items; the network may tell.
_VAGUE = ("item", "sample")

Skipped = tuple[int, Issue]
"""(line, why) of a line that gave no figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a file held: its figures, each with its issues, and the lines that gave none."""

    format: str
    rows: Records
    skipped: tuple[Skipped, ...] = ()


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
    mode: Mode
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
    versions: str = ""
    date: str = ""
    note: str = ""


class Format(NamedTuple):
    """How one format is recognised and read."""

    recognises: Callable[[str], bool]
    read: Callable[[str, Origin], Iterator[Figure | Skipped]]


def import_file(
    path: Path, *, format: str | None = None, gpu: str | None = None, n_gpus: int | None = None
) -> Imported:
    """The figures of a file. `gpu` and `n_gpus` say what the file does not say itself.

    Raises InputError where it cannot be read, is no text, or is of none of the formats.
    """
    data = store.read(path, largest=MAX_BYTES, hint="give the path of a result file")
    text = decoded(data, path.name)
    return import_text(text, name=path.name, format=format, gpu=gpu, n_gpus=n_gpus, read_on=date.today())


def import_text(
    text: str,
    *,
    name: str,
    read_on: date,
    format: str | None = None,
    gpu: str | None = None,
    n_gpus: int | None = None,
) -> Imported:
    """The figures of a text; `name` is its file name, in which some formats say the GPU."""
    if format is not None and format not in FORMATS:
        near = difflib.get_close_matches(format, FORMATS, n=1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"unknown format {format!r}{guess}", hint=f"one of {', '.join(FORMATS)}")
    chosen = format or next((known for known in FORMATS if _format(known).recognises(text)), None)
    if chosen is None:
        raise InputError(
            f"{name} is none of the known formats: {', '.join(FORMATS)}",
            hint="name its format",
            code="format",
            file=name,
        )
    title = f"{name} ({FORMATS[chosen][1]})"
    source = Source(id=name, title=title, kind="third-party", read_on=read_on.isoformat())
    origin = Origin(name=name, source=source, gpu=gpu or "", n_gpus=n_gpus)
    rows: list[Record] = []
    skipped: list[Skipped] = []
    try:
        for found in _format(chosen).read(text, origin):
            made = _checked(found, origin, read_on) if isinstance(found, Figure) else found
            if isinstance(made, Record):
                rows.append(made)
            else:
                skipped.append(made)
            if len(rows) + len(skipped) > MAX_FIGURES:
                raise InputError(
                    f"{name} has more than {MAX_FIGURES:,} figures", hint="give the part that is wanted"
                )
    except csv.Error as error:
        raise InputError(f"{name} is not a whole CSV file: {error}", hint="check the file") from error
    return Imported(format=chosen, rows=judged(rows), skipped=tuple(skipped))


def judged(rows: Sequence[Record]) -> Records:
    """The rows, each with the issues that checks find behind its own."""
    found = checks.judge(rows)
    return Records(
        replace(row, issues=(*row.issues, *issues)) if issues else row
        for row, issues in zip(rows, found, strict=True)
    )


def decoded(data: bytes, name: str) -> str:
    """Text of a file in UTF-8 or, with its mark, UTF-16. Raises InputError for anything else."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in data:
        raise InputError(f"{name} is a binary file", hint="give the text, CSV or JSON file")
    else:
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"{name} is not text in {encoding.removesuffix('-sig').upper()}: byte {error.start}"
        raise InputError(message, hint=f"iconv -t UTF-8 {name}") from error


def skipped(line: int, reason: str) -> Skipped:
    """A line that gives no figure."""
    return line, Issue(code="skipped", severity="invalid", detail=reason)


def _format(name: str) -> Format:
    # Only the formats that are tried are loaded.
    return cast(Format, getattr(import_module(f"{__name__}.{FORMATS[name][0]}"), name.upper()))


def _checked(figure: Figure, origin: Origin, today: date) -> Record | Skipped:
    """The record of a figure, or why there is none: no positive number, an impossible count or date."""
    # What the user said about the file counts where it says nothing itself.
    gpu = figure.gpu or origin.gpu
    gpu_id = figure.gpu_id or names.gpu_id_of(gpu)
    stated_count = origin.n_gpus if figure.n_gpus is None else figure.n_gpus
    speed, count = number(figure.throughput), number(stated_count)
    workload = names.workload_id(figure.workload)
    # A date in the future comes from a wrong clock or a slip of the pen.
    if figure.date > today.isoformat():
        return skipped(figure.line, f"its date is in the future: {figure.date[:10]}")
    if speed is None or speed <= 0:
        return skipped(figure.line, f"no speed: {str(figure.throughput)[:40]!r}")
    if count is None:
        return skipped(figure.line, "says nowhere on how many GPUs it ran")
    if not 1 <= count <= MAX_GPUS or count != int(count):
        return skipped(figure.line, f"not a count of GPUs: {str(stated_count)[:40]!r}")
    if not workload:
        return skipped(figure.line, "says nowhere which network ran")
    return record(
        gpu=gpu, gpu_id=gpu_id, gpus=int(count), workload=workload, mode=figure.mode, speed=speed,
        precision=figure.precision or names.as_run(figure.stated, gpu_id), stated=figure.stated,
        compiled=figure.compiled, framework=figure.framework, versions=figure.versions,
        batch=whole(figure.batch_per_gpu), date=figure.date, source=origin.source,
        item=names.item_of(workload, figure.item) if figure.item in _VAGUE else figure.item,
        locator=f"{origin.name}, line {figure.line}", note=figure.note,
    )  # fmt: skip


def record(
    *, gpu: str, gpu_id: str | None, workload: str, mode: Mode, precision: str, speed: float, item: str,
    source: Source, gpus: int = 1, stated: str = "", compiled: bool | None = None, framework: str = "",
    versions: str = "", batch: int | None = None, date: str = "", locator: str = "", note: str = "",
    issues: tuple[Issue, ...] = (),
) -> Record:  # fmt: skip
    """A published speed, in items per second of all GPUs together.

    `precision` is as it ran: `tf32?` where a figure called fp32 was likely TF32, `?` where nothing tells. A
    publisher's other frameworks than ours are named in `software` and told apart by `session`.
    """
    named = precision.rstrip("?")
    known = named in PRECISIONS
    ours = next((f for f in ("tensorflow", "jax") if framework.casefold().startswith(f)), "torch")
    return Record(
        question=Question(
            workload=workload, mode=mode, precision=Precision(named) if known else None, compile=compiled,
            batch=batch, gpus=gpus, framework=cast(Framework, ours),
        ),
        gpu_id=gpu_id or gpu, gpu=gpu, item=item, origin="published", basis="published",
        # A publisher states a value without its uncertainty.
        throughput=Interval(value=speed, low=speed, high=speed, level=None, method="stated"),
        source=source, session=f"{source.id} {framework}".strip(), date=date, software=framework,
        stated=Statement(precision=stated, versions=versions, locator=locator),
        issues=(*((UNSURE,) if known and named != precision else ()), *issues),
        notes=(note,) if note else (),
    )  # fmt: skip


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
