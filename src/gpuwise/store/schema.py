"""The published JSON Schema of a result file, made from the dataclasses themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from gpuwise.model.result import SCHEMA, Result


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of schema number SCHEMA."""
    made = msgspec.json.schema(Result)
    # In memory the number has a default; a file without it is refused.
    made["$defs"]["Result"]["required"].append("schema")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gpuwise result, schema {SCHEMA}",
        "description": (
            "One session of measurements. SI units, the unit in each name; null is unknown. "
            "Keys may be added under the same schema number; readers ignore keys they do not know."
        ),
        **made,
    }
