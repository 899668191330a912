"""`gpuwise report`, `compare --article`, pages of `show`, and reports read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import html5lib
import pytest

from gpuwise import store
from gpuwise.show import html

Ran = tuple[int, str, str]
H200 = Path(__file__).parents[2] / "results" / "h200"
QUICK, EARLIER = str(H200 / "quick.json"), str(H200 / "quick-earlier.json")


@pytest.fixture
def page(gpuwise: Callable[..., Ran], tmp_path: Path) -> Path:
    """A report of two results."""
    made = tmp_path / "report.html"
    code, out, err = gpuwise("report", QUICK, EARLIER, "-o", str(made))
    assert (code, out) == (0, "")
    assert f"written to {made}" in err
    return made


def test_a_report_is_one_page_of_the_sections_that_it_can_fill(page: Path) -> None:
    root = html5lib.parse(page.read_text(encoding="utf-8"), namespaceHTMLElements=False)
    ids = [section.get("id") for section in root.iter("section")]
    assert ids == [
        "throughput",
        "scaling",
        "energy",
        "timeline",
        "limits",
        "against",
        "cautions",
        "reproduce",
        "machine",
        "sources",
    ]


def test_a_report_is_read_back(page: Path, gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    assert store.load_all(page) == (store.load(Path(QUICK)), store.load(Path(EARLIER)))
    code, out, _ = gpuwise("show", str(page))
    assert code == 0
    assert out.count("NVIDIA H200 · torch") == 2
    code, out, _ = gpuwise("compare", str(page))
    assert code == 0
    assert "resnet50 train bf16 eager" in out
    alone = tmp_path / "one.html"
    assert gpuwise("report", QUICK, "-o", str(alone))[0] == 0
    code, out, _ = gpuwise("show", str(alone), "--json")
    assert json.loads(out)["id"] == store.load(Path(QUICK)).id
    assert gpuwise("compare", str(alone), EARLIER)[0] == 0


def test_several_results_are_not_one(page: Path, gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("show", str(page), "--json")
    assert code == 2
    assert "holds 2 results where one is needed" in err


def test_without_a_file_the_report_is_markdown(gpuwise: Callable[..., Ran]) -> None:
    code, out, _ = gpuwise("report", QUICK)
    assert code == 0
    assert out.startswith("# NVIDIA H200")
    code, out, _ = gpuwise("report", QUICK, "--json")
    assert json.loads(out)["sections"][0]["id"] == "throughput"


def test_the_last_result_is_reported_by_default(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("report")
    assert code == 5
    assert "no result has been kept yet" in err
    store.save(store.load(Path(QUICK)))
    assert gpuwise("report")[0] == 0


@pytest.mark.parametrize(
    ("suffix", "begins"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".md", b"# NVIDIA"), (".json", b"{")]
)
def test_the_suffix_picks_the_format(
    suffix: str, begins: bytes, gpuwise: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / f"out{suffix}"
    assert gpuwise("report", QUICK, "-o", str(file))[0] == 0
    assert file.read_bytes().startswith(begins)


@pytest.mark.parametrize("words", [("report", QUICK), ("compare", "l4", "t4", "--article")])
def test_a_page_is_printed_as_pdf(
    words: tuple[str, ...], gpuwise: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "pdf", lambda page: f"%PDF of {page.title}".encode())
    assert gpuwise(*words, "-o", str(tmp_path / "out.pdf"))[0] == 0
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF of ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", QUICK, "-o", "x.doc"),
        ("compare", "l4", "t4", "--article", "-o", "x.csv"),
        ("show", "l4", "-o", "x.doc"),
    ],
)
def test_an_unknown_suffix_is_told_before_anything_is_made(
    arguments: tuple[str, ...], gpuwise: Callable[..., Ran]
) -> None:
    code, _, err = gpuwise(*arguments)
    assert code == 2
    assert "use a suffix of" in err


def test_ratios_of_results_are_drawn(gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "ratios.svg"
    assert gpuwise("compare", QUICK, EARLIER, "-o", str(file))[0] == 0
    assert b"ratio of throughput" in file.read_bytes()


def test_an_article_passes_its_own_audit(gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "article.md"
    assert gpuwise("compare", "a6000", "a100 sxm4 80gb", "--article", "-o", str(file))[0] == 0
    text = file.read_text(encoding="utf-8")
    assert "## Who should take which" in text
    assert "forecast" in text
    assert gpuwise("audit", str(file))[0] == 0


def test_an_article_holds_what_was_measured(gpuwise: Callable[..., Ran]) -> None:
    code, out, _ = gpuwise("compare", "h200-sxm", "l4", "--article", "--file", QUICK)
    assert code == 0
    assert "| resnet50 train bf16 eager | 1 | 256 | 4,729 images/s ±0.1 % | measured |" in out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("l4", "--article"), "two to 6 different GPUs"),
        (("l4", "l4", "--article"), "two to 6 different GPUs"),
        (("l4", "t4", "--article", "--fail-if", "slower"), "not articles"),
        (("l4", "t4", "--file", QUICK), "belongs to --article"),
    ],
)
def test_what_is_no_article_is_refused(
    arguments: tuple[str, ...], why: str, gpuwise: Callable[..., Ran]
) -> None:
    code, _, err = gpuwise("compare", *arguments)
    assert code == 2
    assert why in err


def test_a_gpu_has_a_page_and_its_roofline_as_a_drawing(gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "gpu.html"
    assert gpuwise("show", "rtx-a5000", "-o", str(file))[0] == 0
    assert "On 1 to 8 GPUs" in file.read_text(encoding="utf-8")
    assert gpuwise("show", "rtx-a5000", "-o", str(tmp_path / "gpu.svg"))[0] == 0
    assert b"operations per byte" in (tmp_path / "gpu.svg").read_bytes()
    assert gpuwise("show", "rtx-a5000", "--chart")[0] == 2


def test_bars_in_the_terminal(gpuwise: Callable[..., Ran]) -> None:
    code, out, _ = gpuwise("show", QUICK, "--chart")
    assert code == 0
    assert "resnet50 train, images per second\n  bf16 eager, batch 256  4,729 ±0.1 %  █" in out


def test_a_file_that_cannot_be_written_is_told(gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = gpuwise("report", QUICK, "-o", str(tmp_path / "file" / "report.html"))
    assert code == 2
    assert "cannot write" in err
