"""Pages are made once for all who ask, until something else is known."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from starlette.types import Message

from gpuwise import store
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Result
from gpuwise.web import server
from gpuwise.web.guard import Answer


class Maker:
    """Counts how often a page is made; each is another one."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> Answer:
        self.made += 1
        return 200, "text/html", b"%d" % self.made


async def never() -> Message:
    """Of a reader who stays."""
    await asyncio.Event().wait()
    return {}


@pytest.fixture
def example(facts: Facts) -> Result:
    return facts.results[0]


def asked(pages: server.Pages, maker: Maker, key: str = "a") -> bytes:
    return asyncio.run(pages.get(key, maker, never))[2]


def test_a_page_is_made_again_when_something_else_is_known(
    home: Path, example: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, maker = Facts(), Maker()
    pages = server.Pages(facts)
    assert [asked(pages, maker), asked(pages, maker)] == [b"1", b"1"]
    facts.give(example, 5)
    assert [asked(pages, maker), asked(pages, maker)] == [b"2", b"2"]
    path = store.save(example)
    assert [asked(pages, maker), asked(pages, maker)] == [b"3", b"3"]
    path.unlink()
    assert asked(pages, maker) == b"4"
    assert asked(pages, maker, "b") == b"5"


@pytest.mark.parametrize(("old_s", "made"), [(4.9, b"1"), (5.1, b"2")])
def test_while_another_page_is_made_one_of_before_will_do(
    home: Path, example: Result, monkeypatch: pytest.MonkeyPatch, old_s: float, made: bytes
) -> None:
    facts, maker, clock = Facts(), Maker(), [0.0]
    pages = server.Pages(facts)
    monkeypatch.setattr(server.time, "monotonic", lambda: clock[0])
    assert asked(pages, maker) == b"1"
    facts.give(example, 5)
    clock[0] = old_s

    goes_on = threading.Event()

    def other() -> Answer:
        assert goes_on.wait(10)
        return 200, "text/html", b"other"

    async def both() -> bytes:
        making = asyncio.ensure_future(pages.get("other", other, never))
        await asyncio.sleep(0)
        found = await pages.get("a", maker, never)
        goes_on.set()
        await making
        return found[2]

    assert asyncio.run(both()) == made
    assert asked(pages, maker) == b"2"


def test_pages_of_so_many_bytes_are_remembered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages, maker = server.Pages(Facts()), Maker()
    monkeypatch.setattr(server, "MOST_BYTES", 2)
    assert [asked(pages, maker, key) for key in "abacab"] == [b"1", b"2", b"1", b"3", b"1", b"4"]
    monkeypatch.setattr(server, "MOST_BYTES", 0)
    assert [asked(pages, maker, "long"), asked(pages, maker, "long")] == [b"5", b"6"]
