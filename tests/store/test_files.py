"""Files are whole or untouched, names sort by time, references find what they mean."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.model.result import Result

NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def names(folder: Path) -> list[str]:
    """Everything in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ctrl_c(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_home_is_the_variable_or_the_platform_folder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.home() == own_home
    monkeypatch.setenv("GPUWISE_HOME", "~/here")
    assert store.home() == Path.home() / "here"
    monkeypatch.delenv("GPUWISE_HOME")
    assert store.home().name == "gpuwise"
    assert store.results_dir() == store.home() / "results"


def test_ids_sort_by_time_and_fit_a_file_name() -> None:
    assert store.new_id(NOON, "h200", "3fa9") == "20261121-120000-h200-3fa9"
    assert (
        store.new_id(NOON, "Intel(R) Xeon(R) @ 2.5/3 GHz", "00ff")
        == "20261121-120000-intel-r-xeon-r-2-5-3-ghz-00ff"
    )
    assert store.new_id(NOON, "漢字", "00ff") == "20261121-120000-device-00ff"
    assert len(store.new_id(NOON, "x" * 300, "00ff")) < 100
    elsewhere = NOON.astimezone(timezone(timedelta(hours=9)))
    assert store.new_id(elsewhere, "h200", "3fa9") == store.new_id(NOON, "h200", "3fa9")
    assert store.new_id(NOON, "a", "f") < store.new_id(NOON + timedelta(seconds=1), "a", "0")


def test_saved_is_loaded(example: Result, own_home: Path) -> None:
    path = store.save(example)
    assert path == own_home / "results" / f"{example.id}.json"
    assert store.load(path) == example
    assert store.saved() == (path,)


def test_saving_again_replaces(example: Result, tmp_path: Path) -> None:
    path = store.save(example, tmp_path / "new" / "a.json")
    store.save(replace(example, command="other"), path)
    assert store.load(path).command == "other"
    assert names(path.parent) == ["a.json"]


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_full_disk_leaves_the_old_file(
    example: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = store.save(example, tmp_path / "folder" / "a.json")
    before = path.read_bytes()
    monkeypatch.setattr(os, broken, full_disk)
    with pytest.raises(InputError, match="No space left") as caught:
        store.save(replace(example, command="other"), path)
    assert str(path) in str(caught.value)
    assert caught.value.code == "output"
    assert path.read_bytes() == before
    assert names(path.parent) == ["a.json"]


def test_ctrl_c_leaves_the_old_file(example: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.save(example, tmp_path / "folder" / "a.json")
    monkeypatch.setattr(os, "replace", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        store.save(replace(example, command="other"), path)
    assert store.load(path) == example
    assert names(path.parent) == ["a.json"]


def test_a_result_that_cannot_be_encoded_leaves_the_old_file(example: Result, tmp_path: Path) -> None:
    path = store.save(example, tmp_path / "folder" / "a.json")
    broken = replace(example.measurements[0], loss=(1.0, float("nan")))
    with pytest.raises(ValueError, match="loss"):
        store.save(replace(example, measurements=(broken,)), path)
    assert store.load(path) == example
    assert names(path.parent) == ["a.json"]


def test_the_data_is_on_disk_before_the_rename(
    example: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a))[1])
    store.save(example, tmp_path / "a.json")
    assert calls == ["fsync", "replace", "fsync"]


def test_check_writable_makes_the_folder_and_leaves_nothing(tmp_path: Path) -> None:
    store.check_writable(tmp_path / "deep" / "er" / "a.json")
    assert names(tmp_path / "deep" / "er") == []


def test_check_writable_takes_a_folder_that_is_there(tmp_path: Path) -> None:
    for _ in range(2):
        assert store.check_writable(tmp_path / "deep" / "er" / "a.json") == tmp_path / "deep" / "er"
    assert names(tmp_path / "deep" / "er") == []


def test_what_is_gone_changed_at_no_time(tmp_path: Path) -> None:
    assert store.changed(tmp_path / "gone") == 0
    assert store.changed(tmp_path) > 1


def test_check_writable_refuses_early(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "a.json", tmp_path / "folder", tmp_path / ("x" * 300) / "a.json"):
        with pytest.raises(InputError, match="cannot write") as caught:
            store.check_writable(path)
        assert caught.value.code == "output"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_check_writable_refuses_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"):
        store.check_writable(tmp_path / "a.json")


def test_check_writable_names_the_folder_by_default_the_store(tmp_path: Path, own_home: Path) -> None:
    assert store.check_writable(tmp_path / "deep" / "a.json") == tmp_path / "deep"
    assert store.check_writable() == own_home / "results"
    assert names(own_home / "results") == []


def test_pipes_and_devices_are_not_replaced(example: Result, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for attempt in (lambda: store.check_writable(pipe), lambda: store.save(example, pipe)):
        with pytest.raises(InputError, match="not an ordinary file"):
            attempt()
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe.json"]


def test_what_is_no_file_is_no_kept_result(example: Result, own_home: Path) -> None:
    kept = store.save(example)
    os.mkfifo(own_home / "results" / "pipe.json")
    (own_home / "results" / "zero.json").symlink_to("/dev/zero")
    (own_home / "results" / "loop.json").symlink_to("loop.json")
    (own_home / "results" / "folder.json").mkdir()
    assert store.saved() == (kept,)


def test_load_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            store.load(path)


@pytest.fixture
def three(example: Result) -> tuple[Path, ...]:
    """Saved out of order."""
    ids = ("20261122-000000-a100-0003", "20261121-044012-h200-0001", "20261121-050000-h200-0002")
    return tuple(sorted(store.save(replace(example, id=identity)) for identity in ids))


def test_last_is_the_newest_by_id(three: tuple[Path, ...]) -> None:
    assert store.saved() == three
    assert store.find("last") == three[-1]


def test_find_by_path_id_and_unique_prefix(three: tuple[Path, ...]) -> None:
    assert store.find(str(three[0])) == three[0]
    assert store.find(three[1].stem) == three[1]
    assert store.find("20261121-05") == three[1]
    assert store.find("20261122") == three[2]


def test_an_id_that_begins_another_is_itself(example: Result) -> None:
    short = store.save(replace(example, id="20261121-a"))
    store.save(replace(example, id="20261121-ab"))
    assert store.find("20261121-a") == short


def test_an_ambiguous_prefix_lists_the_candidates(three: tuple[Path, ...]) -> None:
    with pytest.raises(InputError) as caught:
        store.find("20261121")
    assert three[0].stem in str(caught.value)
    assert three[1].stem in str(caught.value)
    assert three[2].stem not in str(caught.value)


def test_the_last_five_candidates_are_listed(example: Result) -> None:
    for number in range(7):
        store.save(replace(example, id=f"run-{number}"))
    with pytest.raises(InputError, match="begins 7 results") as refused:
        store.find("run-")
    assert re.findall(r"run-\d", str(refused.value).partition(": ")[2]) == [f"run-{n}" for n in range(2, 7)]


def test_an_empty_store_says_how_to_fill_it() -> None:
    for reference in ("last", "20261121"):
        with pytest.raises(NoDataError) as caught:
            store.find(reference)
        assert caught.value.code == "bench-quick"


def test_an_unknown_reference_is_no_data(three: tuple[Path, ...]) -> None:
    with pytest.raises(NoDataError, match="nonsense"):
        store.find("nonsense")


@pytest.mark.parametrize("reference", ["nonsense.json", "folder/nonsense", "file/a.json"])
def test_what_looks_like_a_path_is_a_file_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="there is no file"):
        store.find(reference)


@pytest.mark.parametrize("reference", ["", "x" * 300, "nul\0"])
def test_what_can_be_no_file_is_no_data(
    example: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    """With one result kept, the empty text would be a unique beginning."""
    store.save(example)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoDataError):
        store.find(reference)


def test_a_path_that_may_not_be_looked_at_is_a_path(
    monkeypatch: pytest.MonkeyPatch, three: tuple[Path, ...]
) -> None:
    def denied(*_: object) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "is_file", denied)
    assert store.find("/locked/a.json") == Path("/locked/a.json")


def test_a_file_called_last_does_not_hide_the_newest(
    three: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "last").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert store.find("last") == three[-1]


def test_importing_and_listing_does_not_load_the_codec() -> None:
    code = "import sys; from gpuwise import store; store.saved(); print('msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_files_without_end_are_not_read_to_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 1 MB"):
        store.read(Path("/dev/zero"), largest=1_000_000)
    small = tmp_path / "small"
    small.write_bytes(b"x" * 10)
    assert store.read(small, largest=10) == b"x" * 10
    with pytest.raises(InputError, match="more than"):
        store.read(small, largest=9)


def test_a_folder_is_called_one_and_hides_no_result(
    three: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("rack/a", three[0].stem, "l4"):
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(InputError, match="rack/a is a folder"):
        store.named("rack/a")
    assert store.find(three[0].stem) == three[0]
    assert store.named("l4") is None  # a GPU, whatever lies here
