"""A full disk loses nothing."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.measure.prepare import ResultWriter
from gpuwise.model.question import Environment
from gpuwise.model.result import Result

RESULT = Result(
    id="r", created_at="2026-11-21T00:00:00+00:00", command="", environment=Environment(device="CPU")
)


def test_in_its_place(tmp_path: Path) -> None:
    writer = ResultWriter(tmp_path / "r.json")
    writer(RESULT)
    assert writer.kept == tmp_path / "r.json"
    assert writer.trouble is None
    assert store.load(writer.kept) == RESULT


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
    writer = ResultWriter(tmp_path / "full" / "r.json")
    writer(RESULT)
    assert writer.kept == spare / "r.json"
    assert "No space left" in str(writer.trouble)
    full = False
    writer(RESULT)
    assert writer.kept == tmp_path / "full" / "r.json"
    assert writer.trouble is None


def test_nowhere_to_write_keeps_it_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(blocker))
    writer = ResultWriter(blocker / "r.json")
    writer(RESULT)
    assert writer.kept is None
    assert writer.trouble is not None


def test_two_writers_of_one_file_lose_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(spare))
    mine, other = ResultWriter(tmp_path / "r.json"), ResultWriter(tmp_path / "r.json")
    mine(RESULT)
    theirs = replace(RESULT, id="other")
    other(theirs)  # as from another machine, where no lock is seen
    assert store.load(tmp_path / "r.json") == RESULT
    assert (other.kept, store.load(spare / "other.json")) == (spare / "other.json", theirs)
    assert other.trouble is not None
    mine(RESULT)
    assert mine.kept == tmp_path / "r.json"
