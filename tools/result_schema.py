"""The published JSON Schema of a result file, made from the dataclasses themselves.

    python tools/result_schema.py    writes docs/result.schema.json

A property's description is the comment beside or above the field in the source, or the string below it.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import takewhile, zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from gpuwise.model import question, result

FILE = Path(__file__).parents[1] / "docs" / "result.schema.json"
S = TypeVar("S", bound=ast.stmt)


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of schema number SCHEMA."""
    made = msgspec.json.schema(result.Result)
    # In memory the number has a default; a file without it is refused.
    made["$defs"]["Result"]["required"].append("schema")
    for each in made["$defs"].values():
        if "description" in each:  # the docstring, which Python 3.13 gives without its indent
            each["description"] = inspect.cleandoc(each["description"])
    # In a file a run is one object with the question that it inherits from.
    inherited = {"Question": "RunConfig"}
    for (owner, field), text in _descriptions(question, result).items():
        owner = inherited.get(owner, owner)
        if owner in made["$defs"]:
            made["$defs"][owner]["properties"][field]["description"] = text
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gpuwise result, schema {result.SCHEMA}",
        "description": (
            "One session of measurements. SI units, the unit in each name; null is unknown. "
            "Keys may be added under the same schema number; readers ignore keys they do not know."
        ),
        **made,
    }


def _descriptions(*modules: ModuleType) -> dict[tuple[str, str], str]:
    """Text of each field, by (class, field); where there is none, the text of its type."""
    types: dict[str, str] = {}
    found = {}
    sources = [inspect.getsource(module) for module in modules]
    for source in sources:
        types |= {
            ast.unparse(made.targets[0]): text
            for made, text in _texts(source, ast.parse(source).body, ast.Assign)
        }
    for source in sources:
        for owner in (each for each in ast.parse(source).body if isinstance(each, ast.ClassDef)):
            own = {
                ast.unparse(field.target): text for field, text in _texts(source, owner.body, ast.AnnAssign)
            }
            for field in (each for each in owner.body if isinstance(each, ast.AnnAssign)):
                name = ast.unparse(field.target)
                if text := own.get(name, types.get(ast.unparse(field.annotation))):
                    found[owner.name, name] = text
    return found


def _texts(source: str, body: list[ast.stmt], kind: type[S]) -> Iterator[tuple[S, str]]:
    """Statements of one kind with the comment beside or above them, or the string that stands below."""
    lines = source.splitlines()
    for statement, below in zip_longest(body, body[1:]):
        if not isinstance(statement, kind):
            continue
        match below:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield statement, " ".join(text.split())
                continue
        # No default of a field holds a number sign.
        _, _, comment = lines[statement.lineno - 1].partition("  # ")
        above = takewhile(lambda line: line.strip().startswith("# "), reversed(lines[: statement.lineno - 1]))
        comment = comment or " ".join(reversed([line.strip()[2:] for line in above]))
        if comment:
            yield statement, comment if comment.endswith(".") else f"{comment}."


if __name__ == "__main__":
    FILE.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
