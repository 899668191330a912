"""The site is built without a warning, fetches nothing, and its generated pages are up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_page_of_the_schema_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import docs_pages

    written = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    assert written == docs_pages.schema(), "python tools/docs_pages.py"


def test_links_out_of_the_pages_become_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from docs_links import on_page_markdown

    text = (
        "[a table](../src/x.csv), [results/h200](../results/h200), [next](web.md), [out](https://example.org)"
    )
    assert on_page_markdown(text, page=None) == (
        "a table (`src/x.csv`), `results/h200`, [next](web.md), [out](https://example.org)"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there_and_found_from_the_first(site: Path) -> None:
    first = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists()
        assert f"({page.name})" in (ROOT / "docs" / "index.md").read_text() or page.name == "index.md"
        assert page.name == "index.md" or f'href="{page.stem}.html"' in first
    assert (site / "result.schema.json").exists()
    # The page of the command line is made from the commands when the site is built.
    commands = (site / "cli.html").read_text(encoding="utf-8")
    assert all(f'id="{verb}"' in commands for verb in ("bench", "choose", "predict"))


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        tags = re.findall(r"<(?:script|link|img|iframe)\b[^>]*", page)
        assert tags
        assert not [tag for tag in tags if re.search(r"(?:src|href)=[\"']?(?:https?:)?//", tag)], path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text(encoding="utf-8"))
