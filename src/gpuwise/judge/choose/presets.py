"""Named needs, from `data/presets.toml`: what people use GPUs for."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("data") / "presets.toml"


@cache
def presets() -> Mapping[str, Mapping[str, str]]:
    """Title and options of each preset, by name."""
    found: dict[str, dict[str, str]] = tomllib.loads(PATH.read_text(encoding="utf-8"))
    return found


def with_preset(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked, with the options of the preset that its workload names; options given stay."""
    preset = presets().get(str(asked.get("workload") or ""))
    if preset is None:
        return dict(asked)
    given = {name: value for name, value in asked.items() if value is not None and name != "workload"}
    return {**asked, **{name: value for name, value in preset.items() if name != "title"}, **given}
