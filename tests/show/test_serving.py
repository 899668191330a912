"""The section of a report on servers under load."""

from __future__ import annotations

from pathlib import Path

from gpuwise import store
from gpuwise.show import serving

MEASURED = Path(__file__).parents[2] / "results" / "endpoint"


def test_each_curve_of_a_report_is_named() -> None:
    files = sorted(MEASURED.glob("transformers-*.json"))
    figures = serving.section([store.load(file) for file in files]).figures
    captions = {figure.caption for figure in figures}
    assert len(captions) == len(figures) == len(files) >= 4
    assert sum("llama-3.1-8b" in caption for caption in captions) == len(files) / 2
    assert sum("H200" in caption for caption in captions) == len(files) / 2
