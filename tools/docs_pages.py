"""Writes docs/cli.md from the click commands and docs/schema.md from docs/result.schema.json.

python tools/docs_pages.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from gpuwise.cli.main import VERBS, gpuwise

DOCS = Path(__file__).parents[1] / "docs"
MADE = "<!-- made by python tools/docs_pages.py; do not edit -->"


def cli() -> str:
    """The page of all verbs, their arguments and options."""
    root = click.Context(gpuwise, info_name="gpuwise")
    parts = [
        f"# Command line\n\n{MADE}",
        "What `gpuwise VERB --help` says, on one page. Exit codes, files and what the options mean together: "
        "[reference](reference.md).",
        _rows(("verb", "what it does"), ((f"[`{verb}`](#gpuwise-{verb})", VERBS[verb]) for verb in VERBS)),
    ]
    for verb in VERBS:
        command = gpuwise.get_command(root, verb)
        assert command is not None
        parts.extend(_command(command, click.Context(command, parent=root, info_name=verb)))
    return "\n\n".join(parts) + "\n"


def _command(command: click.Command, context: click.Context, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```"
    yield _prose(command.help or "")
    records = [param.get_help_record(context) for param in command.get_params(context)]
    yield _rows(
        ("option", "meaning"),
        (
            (f"`{record[0]}`", " ".join(record[1].split()))
            for record in records
            if record and (record[1] or record[0].startswith("-")) and "--help" not in record[0]
        ),
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _command(below, click.Context(below, parent=context, info_name=name), level + 1)


def _prose(text: str) -> str:
    r"""Help of click as Markdown: paragraphs marked with \b keep their lines."""
    parts = re.split(r"\n\s*\n", re.sub(r"(?m)^[ \t]+", "", text).strip())
    return "\n\n".join(
        f"```text\n{part.removeprefix(chr(8)).strip()}\n```"
        if part.startswith("\b")
        else _safe(" ".join(part.split()))
        for part in parts
    )


def schema() -> str:
    """The page of every object of a result file, its keys, types and meanings."""
    document = json.loads((DOCS / "result.schema.json").read_text(encoding="utf-8"))
    parts = [
        f"# Result file\n\n{MADE}",
        f"{document['description']} A machine reads the same from [result.schema.json](result.schema.json). "
        "Keys in **bold** are always there.",
    ]
    for name, entry in document["$defs"].items():
        if "enum" in entry:
            words = ", ".join(f"`{word}`" for word in entry["enum"])
            parts += [f"## {name}", _safe(" ".join(entry["description"].split())), f"One of {words}."]
            continue
        keys = entry["properties"].items()
        parts += [
            f"## {name}",
            _safe(" ".join(entry["description"].split())),
            _rows(
                ("key", "type", "if missing", "meaning"),
                (
                    (
                        f"**`{key}`**" if key in entry.get("required", ()) else f"`{key}`",
                        _type(value),
                        "" if key in entry.get("required", ()) else f"`{json.dumps(value['default'])}`",
                        value.get("description", ""),
                    )
                    for key, value in keys
                ),
            ),
        ]
    return "\n\n".join(parts) + "\n"


def _type(entry: dict[str, Any]) -> str:
    """A type of JSON Schema in words; an object links to its own table."""
    match entry:
        case {"$ref": str(where)}:
            name = where.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"enum": list(words)}:
            return " or ".join(f"`{word}`" for word in words)
        case {"anyOf": list(kinds)}:
            return " or ".join(_type(kind) for kind in kinds)
        case {"prefixItems": list(kinds)}:
            return f"[{', '.join(_type(kind) for kind in kinds)}]"
        case {"type": "array", "items": dict(kind)}:
            return f"list of {_type(kind)}"
    return str(entry["type"])


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *(tuple(_safe(cell) for cell in row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _safe(text: str) -> str:
    r"""Bars would end a cell, and angle brackets outside code would be HTML."""
    parts = re.split(r"(`[^`]*`)", text)
    bare = (part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)
    return "".join(bare).replace("|", r"\|").replace("\n", " ")


PAGES = {"cli.md": cli, "schema.md": schema}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
