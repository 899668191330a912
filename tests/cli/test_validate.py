"""`gpuwise validate` runs the scores of the repository, and says what it lacks without them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import gpuwise
from gpuwise.cli.predict import validate as command
from gpuwise.errors import NoDataError


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
