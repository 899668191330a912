"""What is printed is what was found."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from errno import ENOSPC
from pathlib import Path

import pytest

from gpuwise.cli import print as printer
from gpuwise.cli.main import run
from gpuwise.errors import InputError, MachineError
from gpuwise.show.table import Table


@pytest.mark.parametrize("text", ["resnet50:train:fp32", "[bold]x[/bold]", "a [link", "\\[x]"])
def test_every_text_of_a_table_is_shown_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    printer.table(Table(title=text, columns=(text,), rows=((text,),), before=(text,), notes=(text,)))
    assert capsys.readouterr().out.count(text) == 5


def test_a_table_without_rows_is_its_notes(capsys: pytest.CaptureFixture[str]) -> None:
    printer.table(Table(columns=("where", "why"), rows=(), notes=("nothing found",)))
    assert capsys.readouterr().out == "  nothing found\n"
    printer.table(Table(columns=("where", "why"), rows=()))
    assert "where" in capsys.readouterr().out


def test_a_pipe_of_a_stated_width_gets_lines_that_fit_it_where_a_verb_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Table(
        columns=tuple("abcdef"), rows=(tuple("thirty characters in each cell" for _ in "abcdef"),)
    )
    for stated, fit, longest in (("100", True, 100), ("100", False, 198), ("", True, 198)):
        monkeypatch.setenv("COLUMNS", stated)
        printer.table(content, fit=fit)
        assert max(map(len, capsys.readouterr().out.splitlines())) <= longest
    assert longest > 100


def test_a_terminal_of_80_columns_shows_every_cell_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    columns = tuple(f"column {place}" for place in range(12))
    rows = tuple(tuple(f"{row}{place} images/s" for place in range(12)) for row in range(3))
    printer.table(
        Table(title="title", columns=columns, rows=rows, notes=("a note " * 20,), dim=frozenset({1}))
    )
    text = capsys.readouterr().out
    lines = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in text.splitlines()]
    assert max(map(len, lines)) <= 80
    assert all(any(cell in line for line in lines) for row in rows for cell in row)
    assert all(line.startswith("  ") for line in lines if "note" in line)
    assert lines[-1] == ""


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older, link = tmp_path / "older.csv", tmp_path / "link.csv"
    older.write_bytes(b"older")
    link.symlink_to(older)

    def full(descriptor: int) -> None:
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(InputError, match="No space left"):
            printer.save(older, b"newer")
    assert older.read_bytes() == b"older"
    assert {path.name for path in tmp_path.iterdir()} == {"older.csv", "link.csv"}
    printer.save(link, b"newer")
    assert older.read_bytes() == b"newer"
    printer.save(Path(os.devnull), b"nowhere")  # no file that could be replaced
    assert Path(os.devnull).is_char_device()


def test_a_system_that_refuses_is_no_failed_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SystemExit) as ended:
        run(["gpus", "l4", "-o", "l4.csv"])
    assert ended.value.code == MachineError.exit_code
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_line_of_progress_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: os.terminal_size((80, 24)))
    monkeypatch.setattr("sys.stderr.fileno", lambda: 2)
    printer.status("a\x1b[31m\u202eb\u061c")
    assert capsys.readouterr().err == "\r\x1b[2Ka\\x1b[31m\\u202eb\\u061c"


@pytest.mark.parametrize("arguments", [("gpus",), ("results",), ("--help",), ("gpus", "--json")])
def test_a_reader_that_has_enough_is_no_failed_gate(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "gpuwise", *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("encoding", "said"), [("ascii", "--- +-1 \\u20ac"), ("utf-8", "─── ±1 €")])
def test_a_terminal_without_unicode_has_lines_of_dashes(
    monkeypatch: pytest.MonkeyPatch, encoding: str, said: str
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding=encoding, write_through=True))
    printer.out("─── ±1 €")
    assert raw.getvalue().decode(encoding).rstrip() == said
