"""What texts state in the reach of a GPU, and what of it the audit reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.audit import reading


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("# RTX 4090\n\nIt has 24 GB, 450 W and 16384 cores.", ["memory_bytes", "power_w", "cuda_cores"]),
        ("| GPU | Family |\n|---|---|\n| T4 | Turing |\n| L4 | Hopper |", ["architecture"]),
        # What no GPU in reach has, small numbers, and figures far from any GPU are not counted.
        ("The RTX 4090 beside 128 GB and 24 fans", []),
        ("A card has 24 GB.", []),
    ],
)
def test_counted_is_what_the_catalog_confirms(tmp_path: Path, text: str, fields: list[str]) -> None:
    (tmp_path / "a.md").write_text(text)
    assert [stated.field for stated, _ in reading.reading(tmp_path / "a.md")] == fields


def test_what_is_not_read_has_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("RTX 4090: 24 GB, 450 W\n\n```\nexport SIZE=24 GB\n```\n")
    found = {(stated.layout, reason) for stated, reason in reading.reading(tmp_path / "a.md")}
    assert ("line", "read") in found
    assert {reason for _, reason in found} <= {"read", "left", "silent"}
    reading.main([tmp_path], verbose=True)
    assert f"/{len(reading.reading(tmp_path / 'a.md'))} = " in capsys.readouterr().out
