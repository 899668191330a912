"""Five questions in the terminal, for `gpuwise choose` without anything."""

from __future__ import annotations

from typing import Any

import click

from gpuwise.errors import InputError
from gpuwise.judge.choose.need import presets


def ask(terminal: bool) -> dict[str, Any]:
    """Workload, work, budget, buy or rent, and number of GPUs. Raises InputError without a terminal."""
    if not terminal:
        raise InputError(
            "choose for which work? there is no terminal to ask in",
            hint=f"gpuwise choose WORKLOAD, or one of {', '.join(presets())}",
        )
    known = "; ".join(f"{name}: {preset.title}" for name, preset in presets().items())
    click.echo(f"What people do: {known}.", err=True)
    workload = _ask(
        "1 of 5. What is to be done? A name above, or a workload of `gpuwise workloads`", "vision-cnn"
    )
    return {
        "workload": workload,
        "work": _ask("2 of 5. How much of it? '1M images', '50M tokens/day', or nothing") or None,
        "budget": _ask("3 of 5. For how much money at most? '$3000', '$2/h', or nothing") or None,
        "acquire": _ask("4 of 5. own, rent or both?", "both"),
        "gpus": _ask("5 of 5. How many GPUs? 1, or 1..8", "1"),
    }


def _ask(question: str, default: str = "") -> str:
    return str(click.prompt(question, default=default, show_default=bool(default), err=True)).strip()
