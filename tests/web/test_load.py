"""Fifty clients at once on the loopback: every answer comes, and none is an error."""

from __future__ import annotations

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from .test_views import PAGES

CLIENTS = 50
EACH = 6
LONGEST_S = 30.0


def visit(host: str, number: int) -> list[tuple[int, float]]:
    """Status and seconds of each of a client's requests, all over one connection."""
    connection = http.client.HTTPConnection(host, timeout=LONGEST_S)
    found = []
    for step in range(EACH):
        began = time.perf_counter()
        connection.request("GET", PAGES[(number + step) % len(PAGES)])
        answer = connection.getresponse()
        answer.read()
        found.append((answer.status, time.perf_counter() - began))
    connection.close()
    return found


@pytest.mark.slow
def test_fifty_clients_at_once_get_no_error(served: str) -> None:
    host = urlsplit(served).netloc
    for number in range(len(PAGES)):
        visit(host, number)
    with ThreadPoolExecutor(CLIENTS) as clients:
        found = [one for each in clients.map(lambda n: visit(host, n), range(CLIENTS)) for one in each]
    assert len(found) == CLIENTS * EACH
    assert {status for status, _ in found} == {200}
    seconds = sorted(spent for _, spent in found)
    print(f"{len(found)} answers, median {seconds[len(seconds) // 2]:.3f} s, longest {seconds[-1]:.3f} s")
