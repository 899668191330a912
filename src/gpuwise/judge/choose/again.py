"""What changed between a recommendation and the same one made later."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise.judge.choose.fit import money
from gpuwise.model.choice import Option, Recommendation

WORTH_SAYING = 0.01
"""Smaller changes of a price or speed are rounding."""


def differences(old: Recommendation, new: Recommendation) -> tuple[str, ...]:
    """In words, the first option first; options are the same where GPU, number, way and provider are."""
    return tuple(_differences(old, new)) or (f"nothing changed since {old.made_on}",)


def _differences(old: Recommendation, new: Recommendation) -> Iterator[str]:
    was, now = old.options[0], new.options[0]
    if was.key != now.key:
        yield f"first was {_name(was)}, is {_name(now)}"
    earlier, later = ({option.key: option for option in made.options} for made in (old, new))
    for key, option in later.items():
        if key in earlier:
            yield from _changed(earlier[key], option)
        else:
            yield f"new: {_name(option)}, place {option.rank}"
    for key, option in earlier.items():
        if key not in later:
            yield f"gone: {_name(option)}, was in place {option.rank}"


def _changed(was: Option, now: Option) -> Iterator[str]:
    for what, a, b in (
        ("price", was.price_usd.value, now.price_usd.value),
        ("speed", was.throughput.value, now.throughput.value),
    ):
        if a > 0 and abs(b / a - 1) > WORTH_SAYING:
            shown = f"{money(a)} to {money(b)}" if what == "price" else f"{a:,.4g} to {b:,.4g}"
            yield f"{_name(now)}: {what} {shown} ({b / a - 1:+.0%})"
    if was.basis != now.basis:
        yield f"{_name(now)}: speed was {was.basis}, is {now.basis}"


def _name(option: Option) -> str:
    where = f" at {option.provider}" if option.provider else ""
    return f"{option.count} x {option.gpu_id} {option.way}{where}"
