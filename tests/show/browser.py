"""A headless Chromium through its WebDriver: what a page asks the network for, and whether it moves.

Standard library only. https://w3c.github.io/webdriver/
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def missing() -> bool:
    """Whether this machine has no Chromium to ask."""
    return not (shutil.which("chromedriver") and (shutil.which("chromium") or shutil.which("google-chrome")))


@contextmanager
def browser(*arguments: str) -> Iterator[Browser]:
    """A browser that is ended in any case."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        session = _session(f"http://127.0.0.1:{port}", [*ARGUMENTS, *arguments])
        try:
            yield Browser(session)
        finally:
            _call("DELETE", session)  # a driver that is ended leaves its browser running
    finally:
        driver.terminate()
        driver.wait(timeout=20)


def _call(method: str, address: str, body: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(
        address,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())["value"]


def _session(driver: str, arguments: list[str]) -> str:
    """The address of a new one."""
    options = {"args": arguments}
    if binary := shutil.which("chromium"):
        options["binary"] = binary  # type: ignore[assignment]
    wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}}
    for _ in range(100):
        try:
            found = _call("POST", f"{driver}/session", {"capabilities": {"alwaysMatch": wanted}})
        except OSError:
            time.sleep(0.1)
        else:
            return f"{driver}/session/{found['sessionId']}"
    raise RuntimeError("chromedriver does not answer")


class Browser:
    """One session."""

    def __init__(self, session: str) -> None:
        self._path = session
        self._width: int | None = None

    def open(self, url: str) -> None:
        _call("POST", f"{self._path}/url", {"url": url})
        for _ in range(300):  # a page may be laid out before it has the width that was asked for
            if self._width in (None, self.run("return innerWidth")):
                return
            time.sleep(0.05)
        raise RuntimeError(f"the page has no width of {self._width}")

    def run(self, script: str) -> Any:
        """What JavaScript returns."""
        return _call("POST", f"{self._path}/execute/sync", {"script": script, "args": []})

    def size(self, width: int, height: int) -> None:
        self._width = width
        _call("POST", f"{self._path}/window/rect", {"width": width, "height": height})

    def requested(self) -> list[str]:
        """Every address that was asked for since the last call."""
        rows = _call("POST", f"{self._path}/se/log", {"type": "performance"})
        events = [json.loads(row["message"])["message"] for row in rows]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """What the browser wrote to its console."""
        return [row["message"] for row in _call("POST", f"{self._path}/se/log", {"type": "browser"})]
