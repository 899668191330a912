"""What notebooks show, and that the nouns load nothing for it before they are asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import html5lib
import pytest

import gpuwise
from gpuwise.model.question import RunConfig
from gpuwise.model.result import records_of
from gpuwise.show import notebook
from gpuwise.stats import comparison

from ..records import predicted

H200 = Path(__file__).parents[2] / "results" / "h200"
CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16")


def shown() -> dict[str, str]:
    one, other = (gpuwise.load(H200 / name) for name in ("quick.json", "quick-earlier.json"))
    values = (
        one,
        one.measurements[-1],
        comparison.pair(one, other)[0],
        gpuwise.find_gpu("rtx-a5000"),
        predicted(gpu_id="rtx-a5000", config=CONFIG, item="image", refusal="not known"),
        records_of([one, other]),
        gpuwise.choose("resnet50").value,
    )
    return {type(value).__name__: value._repr_html_() for value in values}


def test_every_value_is_well_formed_html_with_a_table() -> None:
    for name, text in shown().items():
        root = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parseFragment(text)
        assert root.find(".//table") is not None, name
        assert "<script" not in text


def test_the_prompt_shows_the_table_and_no_more_than_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    two = gpuwise.predict("resnet50", gpus=("l40s", "rtx-4090"))
    assert repr(two) == str(two.table)
    assert all(each in repr(two) for each in ("l40s", "rtx-4090", "images/s"))
    every = gpuwise.predict("resnet50")
    lines = repr(every).splitlines()
    left = len(str(every.table).splitlines()) - 40
    assert (len(lines), lines[-1]) == (41, f"... {left} lines more: print(answer.table)")
    assert max(map(len, lines)) <= 90


def test_a_result_has_its_chart() -> None:
    assert "<svg" in gpuwise.load(H200 / "quick.json")._repr_html_()


def test_what_no_page_shows_is_refused() -> None:
    with pytest.raises(TypeError, match="int has no HTML"):
        notebook.html(3)


def test_the_nouns_load_nothing_for_it() -> None:
    nouns = "import sys, gpuwise.model.result, gpuwise.model.result"
    code = f"{nouns}\nprint([m for m in ('jinja2', 'gpuwise.show') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_list_of_records_is_a_table_and_bars() -> None:
    found = records_of([gpuwise.load(H200 / "quick.json")])
    text = found._repr_html_()
    assert text.count("<tr") == 1 + len(found)
    assert "<svg" in text
