"""What was fitted to all rows and shipped: the groups that predictions use, and those that only scores do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpuwise.predictor import rates
from gpuwise.predictor.rates import Difficulty, Parameters

FITTED = Path(__file__).with_name("data") / "parameters.json"


@cache
def groups() -> Mapping[str, Any]:
    """Group -> its entry in a file of parameters."""
    own = json.loads(FITTED.read_text(encoding="utf-8"))["groups"]
    return {**rates.document()["groups"], **own}


def parameters(group: str) -> Parameters:
    """Fitted parameters of one group."""
    found: Parameters = groups()[group]["parameters"]
    return found


def half_width(group: str, evidence: str) -> float:
    """Half width in log space of the group's intervals, of a case of difficulty 1."""
    return float(groups()[group]["half_width"][evidence])


def difficulty(group: str, evidence: str) -> Difficulty:
    """How hard each case of the group is; 1 for all where nothing was learnt."""
    return Difficulty.stated(groups()[group].get("difficulty", {}).get(evidence))
