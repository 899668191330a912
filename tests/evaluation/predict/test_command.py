"""`python -m evaluation.predict` as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaluation.predict.__main__ import command
from gpuwise.errors import InputError

TABLE = "m,n,k,h100_sxm,l40s,toaster\n4096,4096,4096,0.21,0.6,1\n16,4096,4096,0.013,0.045,1\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "gemm.csv"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


def test_a_table_with_refusals_and_rivals(file: str) -> None:
    ran = CliRunner().invoke(command, ["--set", "gemm", "--data", file], catch_exceptions=False)
    assert ran.exit_code == 0
    for word in ("l40s", "toaster", "pooled", "refused", "coverage", "roofline", "bandwidth ratio"):
        assert word in ran.output


def test_one_json_document(file: str) -> None:
    ran = CliRunner().invoke(command, ["--set", "gemm", "--data", file, "--json"], catch_exceptions=False)
    document = json.loads(ran.output)
    pooled = next(score for score in document["scores"] if score["gpu"] == "pooled")
    assert (pooled["n"], pooled["refused"]) == (4, 2)
    assert document["unit"] == "ms"


def test_written_to_a_file(file: str, tmp_path: Path) -> None:
    out = tmp_path / "scores.md"
    CliRunner().invoke(command, ["--set", "gemm", "--data", file, "-o", str(out)], catch_exceptions=False)
    assert out.read_text(encoding="utf-8").startswith("**gemm: time of a product, shipped parameters**")


def test_what_cannot_be_asked_together(file: str) -> None:
    arguments = ["--set", "gemm", "--data", file, "--owned", "--transfer", "h100_sxm"]
    with pytest.raises(InputError, match="exclude"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
