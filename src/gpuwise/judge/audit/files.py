"""Read a file to be audited: text in any common encoding, never a binary or a flood."""

from __future__ import annotations

import codecs
from pathlib import Path

from gpuwise.errors import InputError
from gpuwise.judge.audit.blocks import LONGEST, Block, of_csv, of_markdown
from gpuwise.judge.audit.html import of_html

LARGEST = 20 * 2**20
"""Bytes; the longest articles have some 100 kB."""
KINDS = "Markdown, HTML, text, CSV or a gpuwise result"

_CSV = (".csv", ".tsv")
_HTML = (".html", ".htm", ".xhtml")


def text_of(path: Path) -> tuple[str, tuple[str, ...]]:
    """(text, notes) of a file. Raises InputError for one that is missing, too large or no text."""
    try:
        if path.stat().st_size > LARGEST:
            size = f"{path.stat().st_size / 2**20:.0f} MiB"
            raise InputError(f"{path} has {size}; an article has less than 20", hint="audit a part of it")
        data = path.read_bytes()
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise InputError(message, hint=f"give a file: {KINDS}") from error
    return decoded(data, str(path))


def decoded(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """(text, notes) of bytes in UTF-8, UTF-16 with its mark, or Windows-1252."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), ("read as UTF-16",)
    if b"\0" in data:
        raise InputError(f"{name} is no text", hint=f"give a file: {KINDS}; save a PDF as text first")
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), ("not UTF-8: read as Windows-1252",)


def left_out(text: str) -> tuple[str, ...]:
    """What of a text is not read."""
    long = [number for number, line in enumerate(text.splitlines(), 1) if len(line) > LONGEST]
    named = ", ".join(map(str, long[:3])) + (" ..." if len(long) > 3 else "")
    return (f"not read: {len(long)} lines of more than {LONGEST:,} characters ({named})",) if long else ()


def blocks_of(text: str, name: str) -> tuple[Block, ...]:
    """The blocks of a text, by the suffix of its name and by its first words."""
    suffix = Path(name).suffix.lower()
    start = text[:1000].lstrip().casefold()
    if suffix in _CSV:
        return of_csv(text, name)
    if suffix in _HTML or start.startswith(("<!doctype html", "<html")):
        return of_html(text)
    return of_markdown(text)
