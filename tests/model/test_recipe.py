"""Switches as words: what is stored, typed and listed."""

from __future__ import annotations

from dataclasses import fields

import pytest

from gpuwise.errors import InputError
from gpuwise.model.recipe import Switches, choices, parse


def test_the_first_word_of_every_switch_is_its_default() -> None:
    """Results that say nothing of a switch ran with it: a default never changes."""
    assert {f.name: f.default for f in fields(Switches)} == {
        name: words[0] for name, words in choices().items()
    }
    assert Switches() == Switches(
        layout="channels-last",
        pooling="torch",
        compiler="default",
        graph="off",
        weights="fp32",
        stream="fp32",
        attention="auto",
        exchange="overlapped",
        bucket="usual",
    )


def test_only_what_is_changed_is_said() -> None:
    assert str(Switches()) == "as usual"
    switches = Switches(pooling="triton", layout="channels-first")
    assert switches.changed == (("layout", "channels-first"), ("pooling", "triton"))
    assert str(switches) == "layout=channels-first pooling=triton"


def test_what_is_said_can_be_read_again() -> None:
    for name, words in choices().items():
        for word in words:
            switches = Switches(**{name: word})  # type: ignore[arg-type]
            assert parse(f"{n}={w}" for n, w in switches.changed) == switches


def test_what_is_not_said_stays_as_it_is_in_the_base() -> None:
    base = Switches(pooling="triton", exchange="after")
    assert parse(["exchange=overlapped", "bucket=8"], base=base) == Switches(pooling="triton", bucket="8")


@pytest.mark.parametrize("word", ["pooling", "pooling=", "pooling=round", "colour=red", "=torch", ""])
def test_an_unknown_word_is_refused_with_the_known_ones(word: str) -> None:
    with pytest.raises(InputError) as refused:
        parse([word])
    assert "pooling=torch|triton" in (refused.value.hint or "")
