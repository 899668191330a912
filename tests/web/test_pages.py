"""Pages are made once for all who ask, until something else is known."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from gpuwise import store
from gpuwise.errors import WANTED, Abandoned, check_wanted
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Result
from gpuwise.web import server
from gpuwise.web.guard import Answer
from gpuwise.web.view import Asked, View
from gpuwise.web.views import choose, predict


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


def test_who_comes_while_a_page_is_given_up_gets_it() -> None:
    pages, maker, left = server.Pages(Facts()), Maker(), threading.Event()

    async def leaves() -> Message:
        return {"type": "http.disconnect"}

    def given_up() -> Answer:
        assert left.wait(10)
        check_wanted()
        raise AssertionError

    async def both() -> bytes:
        first = asyncio.ensure_future(pages.get("a", given_up, leaves))
        with pytest.raises(ClientDisconnect):
            await first
        left.set()
        time.sleep(0.05)  # its thread ends, of which the loop has not heard
        return (await pages.get("a", maker, never))[2]

    assert asyncio.run(both()) == b"1"


def test_a_page_that_is_not_kept_is_made_for_each(home: Path) -> None:
    pages, maker = server.Pages(Facts()), Maker()
    made = [asyncio.run(pages.get("a", maker, never, keep=False))[2] for _ in range(2)]
    assert made == [b"1", b"2"]


@pytest.mark.parametrize(
    ("view", "path", "asked"),
    [
        (predict.predict, ("resnet50",), {}),
        (predict.scaling, ("resnet50",), {}),
        (choose.choose, (), {"workload": "bert-large", "gpus": "1..8"}),
        (choose.choose, (), {"ask": "cheapest card for LoRA of an 8B model with 3210 tokens of context"}),
    ],
)
def test_a_page_of_many_gpus_ends_between_two_of_them(
    home: Path, view: Callable[[Facts, Asked], View], path: tuple[str, ...], asked: dict[str, str]
) -> None:
    looks = iter([*[True] * 4, False])
    of = contextvars.copy_context()
    of.run(WANTED.set, lambda: next(looks))
    with pytest.raises(Abandoned):
        of.run(view, Facts(), Asked([*asked.items()], path=path))
    assert next(looks, None) is None


def test_pages_of_so_many_bytes_are_remembered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages, maker = server.Pages(Facts()), Maker()
    monkeypatch.setattr(server, "MOST_BYTES", 2)
    assert [asked(pages, maker, key) for key in "abacab"] == [b"1", b"2", b"1", b"3", b"1", b"4"]
    monkeypatch.setattr(server, "MOST_BYTES", 0)
    assert [asked(pages, maker, "long"), asked(pages, maker, "long")] == [b"5", b"6"]
