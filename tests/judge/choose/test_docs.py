"""The examples of the docs are what the commands print."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["docs/how-it-chooses.md", "README.md"])
def test_examples_show_what_the_command_prints(page: str) -> None:
    """After a change of prices or predictions: python experiments/choose_docs.py."""
    spec = importlib.util.spec_from_file_location("choose_docs", ROOT / "experiments" / "choose_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- choose -->" in text
    assert module.rendered(text) == text
