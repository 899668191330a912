"""Seconds until pages can be used, in a headless Chromium that has nothing in its cache.

    python tools/page_times.py > results/show/page-times.json

Of the explorer's first page: until its chart is drawn, and until an answer stands below a search box that was
typed into as soon as the page had one. Of reports: to make one (the command's time), its size,
and until every chart in it is drawn. With the load of the machine, as other work makes all of it longer.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.pictures import GPUWISE, ROOT, browser, served

RUNS = 5
H200 = ROOT / "results" / "h200"
REPORTS = {
    "suite": [H200 / "suite-tf-cnn-four.json"],
    "fifty sessions": sorted(H200.glob("*.json"))[:50],
}
# Runs before anything of the page: notes when its charts are drawn and when its answer was replaced.
WATCH = """
window.seen = {};
new MutationObserver(() => {
  const charts = [...document.querySelectorAll('.chart')].filter(chart => chart.clientWidth);
  const drawn = charts.filter(chart => chart.querySelector('.marks')).length;
  if (drawn) seen.first ??= performance.now();
  if (drawn && drawn === charts.length) seen.all ??= performance.now();
}).observe(document, {childList: true, subtree: true});
"""
TYPE = """
addEventListener('DOMContentLoaded', () => {
  const box = document.querySelector('form [name=q]'), answer = document.getElementById('answer');
  new MutationObserver(() => { seen.answered ??= performance.now(); }).observe(answer, {childList: true});
  box.value = 'hopper';
  box.dispatchEvent(new Event('input', {bubbles: true}));
});
"""


def opened(driver: webdriver.Chrome, address: str, until: str, script: str = WATCH) -> dict[str, float]:
    """Seconds from the start of the navigation until `seen` has that name, by the clock and of the CPU in the
    thread that runs the page: what other work on the machine makes longer, and what it does not."""
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    made = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    driver.get("about:blank")
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    driver.get(address)
    milliseconds = WebDriverWait(driver, 60).until(
        lambda page: page.execute_script(f"return window.seen?.{until}")
    )
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)
    cpu = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    return {"clock": round(milliseconds / 1e3, 3), "CPU": round(cpu, 3)}


def used(driver: webdriver.Chrome, address: str) -> dict[str, dict[str, float]]:
    """Of the first page: until its chart is drawn, and until its search box has answered."""
    return {
        "chart drawn": opened(driver, address, "first"),
        "search answered": opened(driver, address, "answered", WATCH + TYPE),
    }


def reported(driver: webdriver.Chrome, files: list[Path], made: Path) -> dict[str, Any]:
    """Of a report: to make it, and to open it."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*GPUWISE, "report", *map(str, files), "-o", str(made)], check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "made": {
            "clock": round(wall, 3),
            "CPU": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3),
        },
        "bytes": made.stat().st_size,
        "charts drawn": opened(driver, made.as_uri(), "all"),
    }


def main() -> None:
    """All of them, each several times."""
    found: dict[str, Any] = {"unit": "s", "cores": os.cpu_count(), "load before": os.getloadavg()}
    with browser() as driver, served() as base, TemporaryDirectory() as folder:
        used(driver, base + "/")  # the server, too, is slower the first time
        found["first page"] = [used(driver, base + "/") for _ in range(RUNS)]
        for name, files in REPORTS.items():
            made = Path(folder, "report.html")
            found[f"report of {name}"] = [reported(driver, files, made) for _ in range(RUNS)]
    found["load after"] = os.getloadavg()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
