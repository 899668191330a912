"""Pictures of pages as people see them, at 1,400 and 400 pixels, light and dark, each as long as it is.

    python tools/pictures.py FOLDER [PAGE...]

A PAGE is a path of the explorer (`/choose`), which is started here, or a file (`report.html`); without any
they are the explorer's, a static copy's first page, a report and an article. Prints each page's heights.
"""

from __future__ import annotations

import argparse
import base64
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[1]
RESULT, TEXT = ROOT / "results" / "h200" / "resnet50-tuned.json", ROOT / "docs" / "language-models.md"
GPUWISE = (sys.executable, "-m", "gpuwise")
PATHS = (
    "/", "/gpus", "/gpus/l4", "/gpus/h100-sxm5-80gb", "/compare", "/compare/l4,rtx-4090",
    "/compare/l4,rtx-4090/article", "/prices", "/prices/l4", "/results", "/results/resnet50", "/scaling",
    "/predict", "/fit", "/choose", "/choose/llm-inference", "/audit", "/upload", "/nothing",
)  # fmt: skip
FILES = {
    "report.html": ("report", str(RESULT)), "article.html": ("compare", "l4", "rtx-4090", "--article"),
}  # fmt: skip
# Forms whose answer is seen once a file was sent.
SENT = {"/audit": TEXT, "/upload": RESULT}
DRAWN = "return [...document.querySelectorAll('.chart')].every(chart => chart.querySelector('.marks'))"
WIDTHS, MODES = (1400, 400), ("light", "dark")


@contextmanager
def served() -> Iterator[str]:
    """The address of an explorer of one result."""
    command = [*GPUWISE, "serve", str(RESULT), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            found = re.search(r"http://[^/]+", process.stderr.readline())
            assert found is not None, "the explorer did not start"
            yield found[0]
        finally:
            process.terminate()


def taken(driver: webdriver.Chrome, address: str, stem: Path, sent: Path | None = None) -> list[int]:
    """Take the four pictures of a page, after `sent` was sent by its form; returns its height in each."""
    heights = []
    for width in WIDTHS:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(address)
        if sent:
            driver.find_element(By.CSS_SELECTOR, "[type=file]").send_keys(str(sent))
            driver.implicitly_wait(15)
            driver.find_element(By.CSS_SELECTOR, "main h2, ol.text")
        WebDriverWait(driver, 30).until(lambda page: page.execute_script(DRAWN))
        for mode in MODES:
            scheme = {"features": [{"name": "prefers-color-scheme", "value": mode}]}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
            heights.append(driver.execute_script("return document.documentElement.scrollHeight"))
            found = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": width, "height": min(16000, heights[-1]), "scale": 1},
            })  # fmt: skip
            stem.with_name(f"{stem.name}-{width}-{mode}.png").write_bytes(base64.b64decode(found["data"]))
    return heights


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """A headless Chromium, ended in any case."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def main(folder: Path, wanted: Sequence[str]) -> None:
    """Take them all."""
    folder.mkdir(parents=True, exist_ok=True)
    with browser() as driver, served() as base, TemporaryDirectory() as made:
        shown = {path: base + path for path in wanted or PATHS if not Path(path).is_file()}
        shown |= {path: Path(path).resolve().as_uri() for path in wanted if Path(path).is_file()}
        if not wanted:
            for name, command in FILES.items():
                subprocess.run([*GPUWISE, *command, "-o", f"{made}/{name}"], check=False)
                shown[name] = Path(made, name).as_uri()
            site = Path(made, "site")
            subprocess.run([*GPUWISE, "serve", str(RESULT), "--static", site], check=True)
            shown["static"] = (site / "index.html").as_uri()
        for path, address in shown.items():
            stem = re.sub(r"\W+", "-", path).strip("-") or "index"
            heights = taken(driver, address, folder / stem, SENT.get(path))
            print(f"{path:40} {heights}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    asked = parser.parse_args()
    main(asked.folder, asked.pages)
