"""A full disk loses nothing."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.measure.keep import Keeper
from gpuwise.model.result import Result
from gpuwise.model.run import Environment

RESULT = Result(
    id="r", created_at="2026-11-21T00:00:00+00:00", command="", environment=Environment(device="CPU")
)


def test_in_its_place(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "r.json")
    keeper(RESULT)
    assert keeper.kept == tmp_path / "r.json"
    assert keeper.trouble is None
    assert store.load(keeper.kept) == RESULT


def test_a_full_disk_sends_it_to_the_temporary_folder_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(spare))
    real = Path.mkdir
    full = True

    def mkdir(path: Path, *arguments: object, **options: object) -> None:
        if full and path == tmp_path / "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", mkdir)
    keeper = Keeper(tmp_path / "full" / "r.json")
    keeper(RESULT)
    assert keeper.kept == spare / "r.json"
    assert "No space left" in str(keeper.trouble)
    full = False
    keeper(RESULT)
    assert keeper.kept == tmp_path / "full" / "r.json"
    assert keeper.trouble is None


def test_nowhere_to_write_keeps_it_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(blocker))
    keeper = Keeper(blocker / "r.json")
    keeper(RESULT)
    assert keeper.kept is None
    assert keeper.trouble is not None
