"""`gpuwise audit` as people call it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ran = Callable[..., tuple[int, str, str]]
RIGHT, WRONG = "## T4\n- VRAM: 16 GB\n", "## T4\n- VRAM: 24 GB\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, text in (("right.md", RIGHT), ("wrong.md", WRONG)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return str(tmp_path / "right.md"), str(tmp_path / "wrong.md")


def test_exit_codes(gpuwise: Ran, files: tuple[str, str]) -> None:
    right, wrong = files
    assert gpuwise("audit", right)[0] == 0
    assert gpuwise("audit", wrong)[0] == 1
    assert gpuwise("audit", right, wrong)[0] == 1
    assert gpuwise("audit", right + "x")[0] == 2


def test_a_page_without_a_claim_is_not_clean(gpuwise: Ran, tmp_path: Path) -> None:
    (tmp_path / "none.md").write_text("Nothing about any card.", encoding="utf-8")
    assert gpuwise("audit", str(tmp_path / "none.md"))[0] == 5


def test_a_directory_stands_for_the_texts_in_it(gpuwise: Ran, files: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "none.md").write_text("Nothing about any card.", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "hidden.md").write_text(WRONG, encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\0")
    code, out, _ = gpuwise("audit", "--json", str(tmp_path))
    assert code == 1
    assert [Path(one["file"]).name for one in json.loads(out)] == ["none.md", "right.md", "wrong.md"]
    (tmp_path / "wrong.md").unlink()
    assert gpuwise("audit", str(tmp_path))[0] == 0
    (tmp_path / "right.md").unlink()
    assert gpuwise("audit", str(tmp_path))[0] == 5
    (tmp_path / "none.md").unlink()
    assert gpuwise("audit", str(tmp_path))[0] == 2


def test_json_holds_every_file(gpuwise: Ran, files: tuple[str, str]) -> None:
    _, out, _ = gpuwise("audit", "--json", *files)
    assert [one["findings"][0]["verdict"] for one in json.loads(out)] == ["agrees", "contradicts"]


def test_markdown_has_line_references(gpuwise: Ran, files: tuple[str, str], tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    assert gpuwise("audit", files[1], "-o", str(report))[0] == 1
    assert "wrong.md:2" in report.read_text(encoding="utf-8")


def test_all_shows_what_agrees(gpuwise: Ran, files: tuple[str, str]) -> None:
    assert "agrees" in gpuwise("audit", "--all", files[0])[1]


def test_standard_input(gpuwise: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(WRONG))
    code, out, _ = gpuwise("audit", "-")
    assert code == 1
    assert "standard input" in out


def test_a_binary_is_a_clear_error(gpuwise: Ran, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\0\1")
    code, _, err = gpuwise("audit", str(path))
    assert code == 2
    assert "not text" in err


def test_what_is_not_a_file_says_what_to_do(gpuwise: Ran, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\x89PNG\r\n")
    assert gpuwise("audit", str(tmp_path / "a.txt"))[0] == 2
    code, _, err = gpuwise("audit", "The RTX 3090 has 20 GB")
    assert code == 2
    assert "| gpuwise audit -" in err


@pytest.mark.parametrize("words", [("/dev/zero",), ("-",)])
def test_what_never_ends_is_read_as_far_as_an_article(
    words: tuple[str, ...], gpuwise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/zero").open(encoding="ascii") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        assert gpuwise("audit", *words)[0] == 2
