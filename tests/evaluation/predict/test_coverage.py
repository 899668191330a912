"""Coverage of the stored scores."""

from __future__ import annotations

from pathlib import Path

from evaluation.predict import coverage

ROOT = Path(__file__).parents[3]


def test_what_is_outside_is_named_and_what_is_inside_is_counted() -> None:
    good, bad = ({"gpu": "a", "part": "x", "coverage": share, "tolerance": (0.7, 0.9), "half": 1.2}
                 for share in (0.8, 0.5))  # fmt: skip
    assert coverage.line("set", [good, bad]) == "| set | 2 | 1 | 1 | 65 % | 1.20 | a (x) 50 % |"


def test_owned_cards_are_covered_as_promised() -> None:
    """80 % is asked; of products and networks of timm there are rows enough to tell."""
    for file in ("timm-gpu-owned", "gemm-bf16-family-owned", "gemm-fp8-family-owned"):
        found = coverage.scores(ROOT / "results" / "predict", file)
        assert found
        assert all(0.75 <= one["coverage"] <= 0.87 for one in found), file
