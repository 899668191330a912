"""A recommendation made again says what changed, also through its file."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.judge.choose.answer import differences
from gpuwise.store.codec import encode_choice, load_choice

from .conftest import recommend


def made(need, speed, offers, today: date):
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0), speed("l40s", 150.0)]
    return recommend(need(items=1e6, memory_gb=(24, None)), speeds, offers, today=today, item="image")


def test_what_changed_is_named(need, speed, offer, today: date) -> None:
    old = made(need, speed, [offer("rtx-3090", 0.2), offer("rtx-4090", 0.5)], today)
    new = made(need, speed, [offer("rtx-4090", 0.3), offer("l40s", 0.6)], today)
    assert differences(old, new) == (
        "first was 1 x rtx-3090 on-demand at cloud, is 1 x rtx-4090 on-demand at cloud",
        "1 x rtx-4090 on-demand at cloud: price $0.50 to $0.30 (-40%)",
        "new: 1 x l40s on-demand at cloud, place 2",
        "gone: 1 x rtx-3090 on-demand at cloud, was in place 1",
    )
    assert differences(old, old) == ("nothing changed since 2026-11-21",)


def test_a_kept_recommendation_is_read_as_it_was(need, speed, offer, today: date, tmp_path: Path) -> None:
    old = made(need, speed, [offer("rtx-3090", 0.2)], today)
    path = tmp_path / "choice.json"
    path.write_bytes(encode_choice(old))
    assert load_choice(path) == old


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"schema": "x"}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a recommendation"):
        load_choice(path)
    with pytest.raises(InputError, match="cannot read"):
        load_choice(tmp_path / "missing.json")


def test_a_newer_schema_is_refused(need, speed, offer, today: date, tmp_path: Path) -> None:
    text = encode_choice(made(need, speed, [offer("rtx-3090", 0.2)], today)).decode()
    path = tmp_path / "newer.json"
    path.write_text(text.replace('"schema": 2', '"schema": 99'))
    with pytest.raises(InputError, match="schema 99"):
        load_choice(path)
