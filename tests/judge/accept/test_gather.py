"""Which files are cards, and which of them share a host."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.judge.accept import bundle
from gpuwise.judge.accept.bundle import gather
from gpuwise.judge.accept.card import TestedCard, speeds
from gpuwise.model.result import Window

from .conftest import speed

Make = Callable[..., TestedCard]


def test_folders_and_bundles_are_hosts_and_loose_files_are_none(card: Make, tmp_path: Path) -> None:
    for place in ("loose.json", "rack/a/one.json", "rack/a/two.json"):
        store.save(card().result, tmp_path / place)
    (tmp_path / "rack" / "b.zip").write_bytes(bundle.pack([card(0), card(1)], (), "", {}))
    (tmp_path / "rack" / "note.json").write_text("{}")
    (tmp_path / "rack" / "a" / "broken.zip").write_text("")
    os.mkfifo(tmp_path / "rack" / "a" / "pipe.json")
    found, skipped = gather([tmp_path])
    assert {host.name: [c.name for c in host.cards] for host in found} == {
        "": ["loose"],
        "rack/a": ["one", "two"],
        "rack/b": ["GPU 0", "GPU 1"],
    }
    assert [Path(file).name for file, _ in skipped] == ["broken.zip", "note.json"]
    assert "no schema number" in skipped[1][1]


def test_only_the_window_that_judges_is_kept(card: Make, tmp_path: Path) -> None:
    windows = tuple(Window(step_s=(1.0 / rate,) * 5, started_s=0.0, ended_s=1.0) for rate in (7e14, 8e14))
    product = replace(speed("matmul", 7.5e14), windows=windows, items_per_step=1.0)
    copied = replace(speed("copy", 4e12, "byte"), windows=windows, items_per_step=1.0)
    store.save(card(measurements=(product, copied)).result, tmp_path / "one.json")
    ((host,), _) = gather([tmp_path])
    assert [m.windows for m in host.cards[0].result.measurements] == [windows[1:], ()]


def test_named_files_must_be_readable(card: Make, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    with pytest.raises(InputError, match="no schema number"):
        gather([bad])
    with pytest.raises(InputError, match="there is no"):
        gather([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoDataError):
        gather([tmp_path / "empty"])
    published = tmp_path / "p.json"
    store.save(replace(card().result, origin="published"), published)
    with pytest.raises(InputError, match="published"):
        gather([published])


def test_one_name_twice_is_two_cards(card: Make, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        store.save(card().result, tmp_path / folder / "one.json")
    paths = [tmp_path / "x" / "one.json", tmp_path / "y" / "one.json"]
    (loose,), _ = gather(paths)
    assert [c.name for c in loose.cards] == ["one", "one (2)"]


def test_several_files_of_one_card_are_one_card(card: Make, tmp_path: Path) -> None:
    same = {"environment": {"card": "0123456789ab"}}
    one = card(0, measurements=(speed("copy", 3e12, "byte"),), **same).result
    two = replace(card(1, **same).result, created_at="2026-11-22T00:00:00+00:00")
    for name, result in (("one", one), ("two", two), ("three", card(2).result)):
        store.save(result, tmp_path / f"{name}.json")
    ((host,), _) = gather([tmp_path])
    assert [c.name for c in host.cards] == ["two", "three"]
    # The later answer to the same question counts.
    assert speeds(host.cards[0].result) == speeds(two)
    assert len(host.cards[0].result.measurements) == 3
