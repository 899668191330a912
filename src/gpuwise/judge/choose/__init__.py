"""Which GPU to buy or rent for a piece of work, why, and what would change the answer.

A need (`need`) meets speeds (`speeds`) and prices: every combination is a candidate (`candidates`), costs
something (`cost`), keeps the limits or not (`fit`), and has its place (`rank`, `explain`). Only
`speeds` asks the predictor; all the rest are pure functions of their arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuwise.judge.choose.decide import differences, recommend, with_precisions
    from gpuwise.judge.choose.speeds import alternatives, gather

_LATER = {
    "alternatives": "speeds",
    "differences": "decide",
    "gather": "speeds",
    "recommend": "decide",
    "with_precisions": "decide",
}

__all__ = ["alternatives", "differences", "gather", "recommend", "with_precisions"]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
