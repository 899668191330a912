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
    environment = document.get("environment") if isinstance(document, dict) else None
    limits = [
        environment.get(name) if isinstance(environment, dict) else None
        for name in ("power_limit_w", "power_limit_default_w")
    ]
    limit_w, default_w = (value if isinstance(value, int | float) else None for value in limits)
    lowered = limit_w is not None and default_w is not None and limit_w < default_w - 0.5
    for measurement in _list(document, "measurements"):
        config = measurement.get("config") if isinstance(measurement, dict) else None
        # The best recipe was always called tuned; `Question` knows which of them ran gpuwise's kernels.
        if isinstance(config, dict) and config.get("recipe") == "parity":
            config["recipe"] = "script"
        for caution in _list(measurement, "cautions"):
            if isinstance(caution, dict):
                caution["fix"] = caution.pop("next_step", "")
                caution["severity"] = _SEVERITIES.get(str(caution.get("code")), "warning")
                detail = str(caution.get("detail"))
                if caution.get("code") == "throttled" and detail.startswith("power-cap ") and not lowered:
                    # A card at its own power limit runs as it is sold.
                    caution |= {"code": "power-cap", "severity": "info"}
    if isinstance(document, dict):
        document["schema"] = SCHEMA
    return document


def _list(document: Any, key: str) -> list[Any]:
    found = document.get(key) if isinstance(document, dict) else None
    return found if isinstance(found, list) else []
