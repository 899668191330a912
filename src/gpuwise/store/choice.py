"""Recommendations as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gpuwise.errors import InputError
from gpuwise.model.judgement import SCHEMA, Recommendation
from gpuwise.model.result import Issue
from gpuwise.store import read

# Of an amount of money, work or power, as the forms and options of a need allow.
LARGEST = 1e15
# Of what something is divided by: a share of the time, a count, hours.
MIN_DIVISOR = 1e-9
DIVISORS = ("passes", "users", "items", "batch", "period_s", "deadline_s", "latency_s", "first_token_s")


def encode_choice(choice: Recommendation) -> bytes:
    """Indented JSON; a number that is not finite becomes null."""
    made = msgspec.to_builtins(choice)
    made["rejected"] = [
        {"gpu_id": gpu, "reason": why.detail, "constraint": why.code} for gpu, why in choice.rejected.items()
    ]
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def _numbers(value: Any) -> Iterator[float]:
    """Every number of plain data."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, int | float):
        yield value


def load_choice(path: Path) -> Recommendation:
    """Read a recommendation. Raises InputError for a file that is none, or of a newer schema."""
    data = read(path)
    try:
        made = msgspec.json.decode(data)
        if isinstance(made, dict):
            left = made.get("rejected", ())
            made["rejected"] = {r["gpu_id"]: Issue.info(r["constraint"], r["reason"]) for r in left}
        choice = msgspec.convert(made, Recommendation)
        need, owned = choice.need, choice.need.assumptions
        divisors = [*(share for _, share in need.workloads), *need.gpus, need.currency[1]]
        divisors += [getattr(need, name) for name in DIVISORS]
        divisors += [owned.hours_per_week, owned.years, owned.utilisation]
        if min(each for each in divisors if each is not None) < MIN_DIVISOR or not all(
            0 <= each <= LARGEST for each in _numbers(msgspec.to_builtins(need))
        ):
            raise TypeError("its need has a number that no need has")
    except (KeyError, TypeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{path} is not a recommendation of gpuwise choose: {error}"
        raise InputError(problem, hint="make it again", code="choose-again") from error
    if choice.schema > SCHEMA:
        problem = f"{path} has schema {choice.schema}; this gpuwise reads up to {SCHEMA}"
        raise InputError(problem, hint="install a newer one", code="upgrade")
    return choice
