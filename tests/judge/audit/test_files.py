"""Files: encodings, binaries, floods."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.judge import audit
from gpuwise.judge.audit import files
from gpuwise.judge.audit.blocks import LONGEST, Grid


def test_encodings_are_named() -> None:
    assert files.decoded("Größe".encode("utf-16"), "x") == ("Größe", ("read as UTF-16",))
    assert files.decoded("Größe".encode("cp1252"), "x")[0] == "Größe"
    assert files.decoded("Größe".encode(), "x") == ("Größe", ())


def test_a_binary_is_refused() -> None:
    with pytest.raises(InputError, match="no text"):
        files.decoded(b"\x7fELF\0\0", "x")


def test_too_large_and_missing(tmp_path: Path) -> None:
    large = tmp_path / "large.md"
    with large.open("wb") as file:
        file.truncate(files.LARGEST + 1)
    with pytest.raises(InputError, match="20"):
        files.text_of(large)
    with pytest.raises(InputError, match="cannot read"):
        files.text_of(tmp_path / "none.md")


def test_html_is_known_by_its_first_words() -> None:
    html = "<!DOCTYPE html><table><tr><td>a<td>b<tr><td>c<td>d</table>"
    assert isinstance(files.blocks_of(html, "x.txt")[0], Grid)


def test_lines_left_out_are_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# T4\n" + "x" * (LONGEST + 1), encoding="utf-8")
    assert "1 lines" in audit.audit_file(path).notes[0]
    assert "(2)" in audit.audit_file(path).notes[0]
