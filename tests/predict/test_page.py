"""What the page of scores says of coverage is what the raw files hold, and holds what it promises."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-it-predicts.md"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "coverage_table", ROOT / "experiments" / "coverage_table.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_coverage_of_each_gpu_is_that_of_the_raw_files() -> None:
    assert script().table(ROOT / "results" / "predict") in PAGE.read_text(encoding="utf-8")


def test_what_is_outside_is_named_and_what_is_inside_is_counted() -> None:
    good, bad = ({"gpu": "a", "part": "x", "coverage": share, "tolerance": (0.7, 0.9), "half": 1.2}
                 for share in (0.8, 0.5))  # fmt: skip
    assert script().line("set", [good, bad]) == "| set | 2 | 1 | 1 | 65 % | 1.20 | a (x) 50 % |"


def test_owned_cards_are_covered_as_promised() -> None:
    """80 % is asked; of products and networks of timm there are rows enough to tell."""
    for file in ("timm-gpu-owned", "gemm-bf16-family-owned", "gemm-fp8-family-owned"):
        found = script().scores(ROOT / "results" / "predict", file)
        assert found
        assert all(0.75 <= one["coverage"] <= 0.87 for one in found), file
