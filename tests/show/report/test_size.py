"""How long and how large reports are, as a browser lays them out."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.show.html import html
from gpuwise.show.report import ReportInput, report

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
H200 = Path(__file__).parents[3] / "results" / "h200"
SUITE = ("suite-tf-cnn-four.json",)
# Without the suite of 85 rows, which are as many as ten others have.
FIFTY = tuple(path.name for path in sorted(H200.glob("*.json")) if path.name != "full.json")[:50]


@pytest.mark.skipif(BROWSER is None, reason="no browser")
@pytest.mark.parametrize(("names", "pixels"), [(SUITE, 6_000), (FIFTY, 12_000)])
def test_a_report_is_no_wall(names: tuple[str, ...], pixels: int, tmp_path: Path) -> None:
    given = ReportInput(results=tuple(store.load(H200 / name) for name in names), today=date(2026, 11, 23))
    text = html(report(given))
    assert len(text.encode()) < 3_000_000
    page = tmp_path / "report.html"
    tell = "<script>document.title = document.documentElement.scrollHeight</script></body>"
    body, _, end = re.sub("<meta http-equiv[^>]*>", "", text).rpartition("</body>")
    page.write_text(f"{body}{tell}{end}", encoding="utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"]
    done = subprocess.run([*command, "--dump-dom", str(page)], capture_output=True, text=True, check=True)
    height = re.search(r"<title>(\d+)</title>", done.stdout)
    assert height is not None
    assert 1_000 < int(height[1]) < pixels
