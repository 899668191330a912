"""Readers of result files that older versions wrote. A file of any schema loads for ever."""

from __future__ import annotations

from typing import Any

from gpuwise.model.issue import Severity
from gpuwise.model.result import SCHEMA

_SEVERITIES: dict[str, Severity] = {
    "above-peak": "invalid",
    "clock": "invalid",
    "diverging": "invalid",
    "mismatch": "invalid",
    "output": "invalid",
    "input-bound": "info",
    "profile": "info",
}
"""Schema 1 knew codes only."""


def upgrade(document: Any) -> Any:
    """A decoded document of an older schema as one of today's; what is not a result is left as it is."""
    for measurement in _list(document, "measurements"):
        config = measurement.get("config") if isinstance(measurement, dict) else None
        # The best recipe was always called tuned; `Question` knows which of them ran gpuwise's kernels.
        if isinstance(config, dict) and config.get("recipe") == "parity":
            config["recipe"] = "script"
        for caution in _list(measurement, "cautions"):
            if isinstance(caution, dict):
                caution["fix"] = caution.pop("next_step", "")
                caution["severity"] = _SEVERITIES.get(str(caution.get("code")), "warning")
    if isinstance(document, dict):
        document["schema"] = SCHEMA
    return document


def _list(document: Any, key: str) -> list[Any]:
    found = document.get(key) if isinstance(document, dict) else None
    return found if isinstance(found, list) else []
