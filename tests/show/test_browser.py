"""Pages in a real browser: no request but the file itself, no layout shift, nothing wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gpuwise.cli.main import run

from .browser import Browser, missing
from .browser import browser as chromium

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing(), reason="needs chromium and chromedriver"),
]
H200 = Path(__file__).parents[2] / "results" / "h200"
PAGES = {
    "report": ("report", *(str(path) for path in sorted(H200.glob("*tuned.json")))),
    "article": ("compare", "rtx-a5000", "rtx-a4000", "--article"),
    "six": ("compare", "rtx-4090", "rtx-5090", "rx-7900-xtx", "h100-sxm5", "arc-b580", "l4", "--article"),
    "card": ("show", "h200-sxm"),
}
# What follows a click, a key or another size of the window was asked for.
SHIFT = """
return new Promise(done => {
  let sum = 0;
  const add = entry => { sum += entry.hadRecentInput ? 0 : entry.value; };
  new PerformanceObserver(list => list.getEntries().forEach(add))
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 150);
});
"""
CUT = """
return [...document.querySelectorAll('.scroll')]
  .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel);
"""
UNREACHABLE = """
return [...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1
  && getComputedStyle(e).overflowX === 'auto' && e.tabIndex < 0).map(e => e.outerHTML.slice(0, 90));
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUWISE_HOME", str(folder / "home"))
        for name, arguments in PAGES.items():
            made[name] = folder / f"{name}.html"
            with suppress(SystemExit):
                run([*arguments, "-o", str(made[name])])
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_keeps_every_rule(name: str, width: int, pages: dict[str, Path], browser: Browser) -> None:
    """It is loaded once a width: that takes longer than all that is looked at."""
    browser.size(width, 900)
    browser.requested()
    browser.open(pages[name].as_uri())
    # It asks for nothing but itself, holds still and fits the screen.
    assert browser.requested() == [pages[name].as_uri()]
    assert browser.complaints() == []
    assert browser.run(SHIFT) == 0
    inner, whole = browser.run("return [window.innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner
    if width == 390:  # What scrolls can be reached by keyboard
        assert browser.run(UNREACHABLE) == []


@pytest.mark.parametrize("name", PAGES)
def test_no_table_is_cut_off_on_a_wide_screen(name: str, pages: dict[str, Path], browser: Browser) -> None:
    browser.size(1400, 900)
    browser.open(pages[name].as_uri())
    assert browser.run(CUT) == []
