"""`gpuwise validate` runs the scores of the repository, and says what it lacks without them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import gpuwise
from evaluation.predict import protocols
from gpuwise.cli.predict import validate as command
from gpuwise.errors import InputError, NoDataError

from ..stopwatch import at_most


def test_from_a_checkout_it_scores(tmp_path: Path) -> None:
    table = tmp_path / "gemm.csv"
    table.write_text("m,n,k,h100_sxm\n4096,4096,4096,0.21\n", encoding="utf-8")
    ran = CliRunner().invoke(
        command, ["--set", "gemm", "--data", str(table), "--json"], catch_exceptions=False
    )
    assert {score["gpu"] for score in json.loads(ran.output)["scores"]} == {"h100-sxm5-80gb", "pooled"}


def test_without_the_repository_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        gpuwise, "__file__", str(tmp_path / "lib" / "site-packages" / "gpuwise" / "__init__.py")
    )
    with pytest.raises(NoDataError):
        CliRunner().invoke(command, ["--set", "gemm", "--data", "x"], catch_exceptions=False)


def test_a_small_file_of_gigabytes_is_refused_in_little_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bomb = tmp_path / "gemm.csv.gz"
    bomb.write_bytes(gzip.compress(bytes(2**20)) * 2048)
    assert bomb.stat().st_size < 4e6
    monkeypatch.setattr(protocols, "LARGEST", 2**22)
    with at_most(2**25), pytest.raises(InputError) as refused:
        CliRunner().invoke(command, ["--set", "gemm", "--data", str(bomb)], catch_exceptions=False)
    assert refused.value.exit_code == 2
