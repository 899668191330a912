"""`gpuwise prices update` behind a proxy: every request goes to the one that the environment names.

The proxy runs on this machine and answers for an upstream that does not exist. gpuhunt itself fetches where
it is installed; else a reader that asks for the same addresses in the same way stands in for it.
"""

from __future__ import annotations

import csv
import gc
import importlib.util
import io
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuwise.errors import MachineError
from gpuwise.facts import prices
from gpuwise.facts.prices.fetch import update

# The answer of a failed request is left to the collector, by gpuhunt as well.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
TODAY = date(2026, 11, 21)
UPSTREAM = "http://catalog.invalid/v3"
ROW = {
    "instance_name": "p5.48xlarge", "location": "us-east-1", "price": "55.04", "cpu": "192", "memory": "2048",
    "gpu_count": "8", "gpu_name": "H100", "gpu_memory": "80.0", "spot": "False", "disk_size": "",
    "gpu_vendor": "nvidia", "flags": "", "cpu_arch": "x86", "provider_data": "{}",
}  # fmt: skip


class Proxy(BaseHTTPRequestHandler):
    """Answers for the upstream: a version, and a catalog of one provider."""

    seen: list[str]
    down = False

    def do_GET(self) -> None:
        self.seen.append(self.path)
        _, _, rest = self.path.partition(f"{UPSTREAM}/")
        provider, _, what = rest.partition("/")
        if self.down or provider != "aws":
            self.send_error(502)
            return
        body = b"1" if what == "version" else self.catalog()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def catalog(self) -> bytes:
        text, packed = io.StringIO(), io.BytesIO()
        writer = csv.DictWriter(text, ROW)
        writer.writeheader()
        writer.writerow(ROW)
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("aws.csv", text.getvalue())
        return packed.getvalue()

    def log_message(self, format: str, *args: object) -> None:
        pass


def reader() -> Any:
    """Asks for what gpuhunt asks for."""

    def default_catalog() -> Any:
        with urllib.request.urlopen(f"{UPSTREAM}/aws/version") as answer:
            version = answer.read().decode()
        with urllib.request.urlopen(f"{UPSTREAM}/aws/{version}/catalog.zip") as answer:
            archive = zipfile.ZipFile(io.BytesIO(answer.read()))
        rows = csv.DictReader(io.StringIO(archive.read("aws.csv").decode()))
        items = [
            SimpleNamespace(
                **{**row, "provider": "aws", "price": float(row["price"]), "gpu_count": int(row["gpu_count"]),
                   "gpu_memory": float(row["gpu_memory"]), "spot": row["spot"] == "True"}
            )
            for row in rows
        ]  # fmt: skip
        return SimpleNamespace(catalog={"aws": None}, providers=[], query=lambda **asked: items)

    return SimpleNamespace(default_catalog=default_catalog, KNOWN_ACCELERATORS=[])


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Proxy]]:
    class Own(Proxy):
        seen: list[str] = []  # noqa: RUF012

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GPUHUNT_CATALOG_URL", UPSTREAM)
    # urllib keeps the proxy of its first request.
    monkeypatch.setattr(urllib.request, "_opener", None)
    yield Own
    server.shutdown()
    thread.join()
    server.server_close()


def library() -> Any:
    """gpuhunt without what it kept of an earlier test."""
    if importlib.util.find_spec("gpuhunt") is None:
        return reader()
    import gpuhunt

    gpuhunt.default_catalog.cache_clear()
    return gpuhunt


def test_prices_are_fetched_through_the_proxy(home: Path, proxy: type[Proxy]) -> None:
    done = update(TODAY, library())
    assert done.providers == ("aws",)
    assert {f"{UPSTREAM}/aws/version", f"{UPSTREAM}/aws/1/catalog.zip"} <= set(proxy.seen)
    (offer,) = (o for o in prices.offers(today=TODAY) if o.source.id == "gpuhunt")
    assert (offer.count, offer.amount, offer.seen_on) == (8, 55.04, "2026-11-21")
    gc.collect()


def test_a_proxy_that_reaches_nothing_loses_nothing(home: Path, proxy: type[Proxy]) -> None:
    kept = update(TODAY, library()).path.read_bytes()
    proxy.down = True
    with pytest.raises(MachineError) as error:
        update(TODAY, library())
    assert error.value.exit_code == 3
    assert prices.fetched_path().read_bytes() == kept
    del error
    gc.collect()
