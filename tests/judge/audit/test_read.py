"""Files and documents: encodings, binaries, floods, blocks with their lines."""

from __future__ import annotations

import csv
import json
import re
from itertools import chain
from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.judge import audit
from gpuwise.judge.audit import read, words
from gpuwise.judge.audit.read import CELL, LINE, LONGEST, NUMBER, Heading, Line, Table


def test_encodings_are_named() -> None:
    assert read.decoded("Größe".encode("utf-16"), "x") == ("Größe", ("read as UTF-16",))
    assert read.decoded("Größe".encode("cp1252"), "x")[0] == "Größe"
    assert read.decoded("Größe".encode(), "x") == ("Größe", ())


def test_a_binary_is_refused() -> None:
    with pytest.raises(InputError, match="not text"):
        read.decoded(b"\x7fELF\0\0", "x")


def test_too_large_and_missing(tmp_path: Path) -> None:
    large = tmp_path / "large.md"
    with large.open("wb") as file:
        file.truncate(read.LARGEST + 1)
    with pytest.raises(InputError, match="MB"):
        read.text_of(large)
    with pytest.raises(InputError, match="cannot read"):
        read.text_of(tmp_path / "none.md")


def test_lines_left_out_are_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# T4\n" + "x" * (LONGEST + 1), encoding="utf-8")
    assert "1 lines" in audit.audit_file(path).notes[0]
    assert "(2)" in audit.audit_file(path).notes[0]


@pytest.mark.parametrize(
    ("line", "most"), [("T4 has 16 GB.\n", LINE + 2 * NUMBER), ("a\n", LINE), ("| T4 | 16 GB |\n", 2 * CELL)]
)
def test_what_is_too_much_is_cut_and_said(line: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "| GPU | VRAM |\n|---|---|\n" if most == 2 * CELL else ""
    monkeypatch.setattr(read, "MOST_READ", 5 * most + 2 * CELL * bool(head))
    notes: list[str] = []
    read.blocks_of((head + line * 5).strip(), "a.md", notes)
    assert notes == []
    blocks = read.blocks_of(head + line * 6, "a.md", notes)
    assert [re.findall(r"\d+", note) for note in notes]
    assert len([*chain(*map(read.texts_of, blocks))]) == 5 * (1 + bool(head)) + 2 * bool(head)


def test_a_page_in_one_long_line_is_read_whole() -> None:
    page = f"<!doctype html><style>{'a{b:c}' * 4000}</style><p>The RTX 3090 has 20 GB of memory.</p>"
    found = audit.audit_text(page, "page")
    assert found.notes == ()
    assert [finding.verdict for finding in found.findings] == ["contradicts"]
    assert audit.audit_text("x" * 25_000 + "\n", "text").notes


def test_markdown_keeps_its_lines() -> None:
    text = (
        "---\ntitle: T4\ndate: 2020\n---\n\n# L4\n\nOne *two*\n[three](x)\n\n- item\n\n| a "
        "| b |\n|---|---|\n| c | d |\n"
    )
    blocks = read.blocks_of(text, "a.md")
    assert [b for b in blocks if isinstance(b, Heading)] == [Heading(2, 1, "T4"), Heading(6, 1, "L4")]
    lines = [(b.line, b.text, b.item) for b in blocks if isinstance(b, Line)]
    assert lines == [(8, "One two", False), (9, "three", False), (11, "item", True)]
    (table,) = [b for b in blocks if isinstance(b, Table)]
    assert [(c.line, c.text) for row in table.rows for c in row] == [
        (13, "a"),
        (13, "b"),
        (15, "c"),
        (15, "d"),
    ]


def test_html_keeps_its_lines_and_leaves_scripts_out() -> None:
    text = (
        "<!DOCTYPE html><script>T4 has 99 "
        "GB</script>\n<h2>L4</h2>\n<p>One\ntwo</p>\n<ul><li>item</ul><table>\n<tr><td>a<td>b</table>"
    )
    blocks = read.blocks_of(text, "x.txt")
    assert Heading(2, 2, "L4") in blocks
    assert [(b.line, b.text, b.item) for b in blocks if isinstance(b, Line)] == [
        (3, "One", False),
        (4, "two", False),
        (5, "item", True),
    ]
    (table,) = [b for b in blocks if isinstance(b, Table)]
    assert [(c.line, c.text) for c in table.rows[0]] == [(6, "a"), (6, "b")]


def test_raised_digits_are_marks_of_footnotes_but_for_areas() -> None:
    raised = {"312\u00b9": "312[1]", "624\u00b2": "624[2]", "8\u00b3": "8[3]", "814 mm\u00b2": "814 mm\u00b2"}
    assert {text: read.plain(text) for text in raised} == raised


def test_empty_rows_of_html_are_left_out_and_long_ones_cut() -> None:
    cells = "<td rowspan=2>1</td>" * (read.MOST_CELLS + 3)
    [table] = read.blocks_of(f"<table><tr></tr><tr>{cells}</tr><tr></tr></table><table></table>", "a.html")
    assert isinstance(table, Table)
    assert [len(row) for row in table.rows] == [read.MOST_CELLS, read.MOST_CELLS]


def test_a_table_in_markdown_may_be_html() -> None:
    blocks = read.blocks_of("# T4\n\n<table>\n<tr><td>VRAM<td>16 GB</table>\n", "a.md")
    assert [b.rows[0][0].line for b in blocks if isinstance(b, Table)] == [4]


def test_what_was_not_judged_is_said() -> None:
    found = audit.audit_text(
        "| GPU | VRAM |\n|---|---|\n| GTX 999 Ti | 6 GB |\n\n# T4\n\nIt moves 55 GB there."
    )
    assert found.unknown_gpus == ("GTX 999 Ti",)
    assert [one.text for one in found.unjudged] == ["55 GB"]
    assert {f.verdict for f in found.findings} == {"cannot tell"}


@pytest.mark.parametrize("lines", [1, None])
def test_json_of_any_program_is_a_list_of_fields(tmp_path: Path, lines: int | None) -> None:
    specs = [
        {"name": "NVIDIA A100 80GB PCIe", "memory_gb": 80, "cuda_cores": 6912},
        {"name": "RTX 4090", "memory_gb": 24, "tdp_w": 450, "cuda_cores": 16348},
    ]
    path = tmp_path / "specs.json"
    path.write_text(json.dumps(specs, indent=lines))
    found = audit.audit_file(path).findings
    assert [(f.field, f.verdict) for f in found if f.verdict != "agrees"] == [("cuda_cores", "contradicts")]
    assert len(found) == 5
    path.write_text('{"schema": 1, "id": ')
    with pytest.raises(InputError):
        audit.audit_file(path)


@pytest.mark.parametrize("text", ['["RTX 4090"', "]", '"' + "x" * 50])
def test_damaged_json_of_one_line_is_read_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "specs.json"
    path.write_text(text)
    assert audit.audit_file(path).findings == ()


def test_json_nested_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "specs.json"
    path.write_text("[" * 100_000)
    with pytest.raises(InputError):
        audit.audit_file(path)
    assert audit.audit_text(path.read_text(), "pasted.json").findings == ()


@pytest.mark.parametrize("name", ["words.csv", "units.csv"])
def test_no_pattern_ends_at_a_comma_of_its_own(name: str) -> None:
    text = (Path(words.__file__).parent / "data" / name).read_text(encoding="utf-8")
    head, *rows = csv.reader(text.splitlines())
    assert {len(row) for row in rows} == {len(head)}
