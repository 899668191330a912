"""Writes docs/schema.md from docs/result.schema.json.

python tools/docs_pages.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
MADE = "<!-- made by python tools/docs_pages.py; do not edit -->"


def schema() -> str:
    """The page of every object of a result file, its keys, types and meanings."""
    document = json.loads((DOCS / "result.schema.json").read_text(encoding="utf-8"))
    parts = [
        f"# Result file\n\n{MADE}",
        f"{document['description']} A machine reads the same from [result.schema.json](result.schema.json). "
        "Keys in **bold** are always there; of others the type is followed by what a missing key means, null "
        "where nothing is said. A type with `?` may be null.",
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
                ("key", "type", "meaning"),
                (
                    (
                        f"**`{key}`**" if key in entry.get("required", ()) else f"`{key}`",
                        _type(value)
                        + ("" if value.get("default") is None else f" = `{json.dumps(value['default'])}`"),
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
            return ", ".join(f"`{word}`" for word in words)
        case {"anyOf": [dict(kind), {"type": "null"}]}:
            return f"{_type(kind)}?"
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


if __name__ == "__main__":
    (DOCS / "schema.md").write_text(schema(), encoding="utf-8")
