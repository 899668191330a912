"""Asks an explorer that has just started what nobody asked before; prints the seconds of each answer.

First those of the CPU, because other work on the machine does not lengthen them and a first answer cannot be
repeated, then those of the clock, for a machine with nothing else to do.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from starlette.testclient import TestClient

from gpuwise.jobs.facts import Facts
from gpuwise.web.server import create
from gpuwise.web.site import warm


def times() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def since(began: tuple[float, float]) -> tuple[float, ...]:
    return tuple(now - then for now, then in zip(times(), began, strict=True))


def main(addresses: list[str], files: list[Path]) -> None:
    facts = Facts(files)
    warm(facts)
    client = TestClient(create(facts), base_url="http://127.0.0.1")
    found = {}
    for address in addresses:
        began = times()
        assert client.get(address).status_code == 200, address
        found[address] = since(began)
    for file in files:
        data = file.read_bytes()
        began = times()
        assert client.post("/upload", files={"file": (file.name, data)}).status_code == 200, file
        found[file.name] = since(began)
    print(json.dumps(found))


if __name__ == "__main__":
    given = json.load(sys.stdin)
    main(given["addresses"], [Path(name) for name in given["files"]])
