"""The examples of the page "From Python" run, in their order, in one session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(<!-- not run: [^>]+ -->\n)?```python\n(.*?)```", re.DOTALL)


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    session: dict[str, Any] = {}
    ran = 0
    for skipped, code in BLOCK.findall(text):
        compiled = compile(code, "docs/python.md", "exec")
        if not skipped:
            exec(compiled, session)
            ran += 1
    assert ran >= 6
    assert session["answer"].exit_status == 0
    assert "<table" in session["answer"]._repr_html_()


def test_names_of_jobs_are_functions_wherever_they_are_imported_from() -> None:
    import gpuwise

    # A module of the same name would hide the function once it was imported.
    for name in ("accept", "audit", "bench", "choose", "compare", "fit", "predict", "prices", "report"):
        assert callable(getattr(gpuwise, name)), name
