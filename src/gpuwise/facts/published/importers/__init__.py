"""Read other people's result files: one module a format, chosen by content or by name.

A format's module has `recognises(text, name)` and `read(text, origin)`, which yields figures and skipped
lines; here they are checked, judged by the gates and counted. Whatever a file holds, the only error
raised is InputError.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Protocol

from gpuwise import checks
from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.importers.figure import Figure, Imported, Origin, Skip, result
from gpuwise.model.gpu import Source
from gpuwise.model.record import PublishedResult

MAX_BYTES = 256 * 2**20
"""Logs of big runs have tens of megabytes; nothing of this size is a table of results."""

FORMATS = {
    "mlperf": ("mlperf_log", "MLPerf Training log"),
    "aime": ("aime_log", "log of AIME's PyTorch benchmarks"),
    "superbench": ("superbench", "SuperBench results-summary.jsonl"),
    "milabench": ("milabench", "milabench summary or report"),
    "timm": ("timm_csv", "timm benchmark CSV"),
    "lambda": ("lambda_csv", "Lambda throughput CSV"),
    "article": ("article", "article with a table of networks and GPU counts"),
    "nvidia": ("nvidia_readme", "README of NVIDIA's Deep Learning Examples"),
}
"""Name -> (module, title), the surest to recognise first."""


class Reader(Protocol):
    """What the module of a format offers."""

    def recognises(self, text: str, name: str) -> bool: ...
    def read(self, text: str, origin: Origin) -> Iterator[Figure | Skip]: ...


def import_file(
    path: Path, *, format: str | None = None, gpu: str | None = None, n_gpus: int | None = None
) -> Imported:
    """The figures of a file. `gpu` and `n_gpus` say what the file does not say itself.

    Raises InputError where it cannot be read, is no text, or is of none of the formats.
    """
    text = decoded(_bytes(path), path.name)
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
    chosen = _chosen(format) if format is not None else _recognised(text, name)
    title = FORMATS[chosen][1]
    source = Source(id=name, title=f"{name} ({title})", kind="third-party", read_on=read_on.isoformat())
    origin = Origin(name=name, source=source, gpu=gpu or "", n_gpus=n_gpus)
    rows: list[PublishedResult] = []
    skipped: list[Skip] = []
    try:
        for found in _reader(chosen).read(text, origin):
            made = found if isinstance(found, Skip) else _checked(found, origin, read_on)
            if isinstance(made, Skip):
                skipped.append(made)
            else:
                rows.append(made)
    except csv.Error as error:
        raise InputError(f"{name} is no whole CSV file: {error}", hint="check the file") from error
    return Imported(format=chosen, rows=judged(rows), skipped=tuple(skipped))


def judged(rows: list[PublishedResult]) -> tuple[PublishedResult, ...]:
    """The rows, each with the cautions of the gates behind its own."""
    found = checks.judge(rows)
    return tuple(
        replace(row, cautions=(*row.cautions, *cautions)) for row, cautions in zip(rows, found, strict=True)
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
        message = f"{name} is no text in {encoding.removesuffix('-sig').upper()}: byte {error.start}"
        raise InputError(message, hint=f"iconv -t UTF-8 {name}") from error


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise InputError(f"{path} is no file", hint="give the path of a result file")
        if path.stat().st_size > MAX_BYTES:
            message = f"{path.name} has more than {MAX_BYTES // 2**20} MiB: no table of results"
            raise InputError(message, hint="give the part that holds the results")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}", hint="check the path") from error


def _checked(figure: Figure, origin: Origin, today: date) -> PublishedResult | Skip:
    """The published result of a figure; one from the future has a wrong clock or a wrong date."""
    if figure.date > today.isoformat():
        return Skip(line=figure.line, reason=f"its date is in the future: {figure.date[:10]}")
    return result(figure, origin)


def _recognised(text: str, name: str) -> str:
    for format in FORMATS:
        if _reader(format).recognises(text, name):
            return format
    known = ", ".join(FORMATS)
    raise InputError(
        f"{name} is none of the known formats: {known}", hint=f"gpuwise results --import {name} --format NAME"
    )


def _chosen(format: str) -> str:
    if format in FORMATS:
        return format
    near = difflib.get_close_matches(format, FORMATS, n=1)
    guess = f"; did you mean {near[0]}?" if near else ""
    raise InputError(f"unknown format {format!r}{guess}", hint=f"one of {', '.join(FORMATS)}")


def _reader(format: str) -> Reader:
    reader: Reader = import_module(f"{names.__package__}.importers.{FORMATS[format][0]}")
    return reader
