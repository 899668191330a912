"""Results inside a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.question import Environment
from gpuwise.model.result import Result
from gpuwise.store import codec

from ..stopwatch import at_most, stopwatch

RESULT = Result(
    id="20261121-a", created_at="2026-11-21T04:40:12Z", command="c", environment=Environment(device="a CPU")
)


@given(st.text(max_size=40))
def test_any_text_comes_back(text: str) -> None:
    given_ = replace(RESULT, command=text)
    element = codec.elements([store.encode(given_)])
    assert element.count("<") == 2
    assert codec.results(element.encode(), "x.html") == (given_,)


def test_a_file_is_read_as_the_results_that_it_holds(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    elements = [codec.elements([store.encode(replace(RESULT, id=name))]) for name in ("a", "b")]
    page.write_text("<p>" + elements[0])
    assert store.load(page).id == "a"
    page.write_text("\n".join(elements))
    assert [result.id for result in store.load_all(page)] == ["a", "b"]
    with pytest.raises(InputError, match="a report of 2 results"):
        store.load(page)


def test_a_page_without_a_result_says_so(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    page.write_text("<p>nothing</p>")
    with pytest.raises(InputError, match="holds no gpuwise result"):
        store.load(page)
    page.write_text(codec.elements([b'{"schema": 1}']))
    with pytest.raises(InputError):
        store.load(page)


def packed(monkeypatch: pytest.MonkeyPatch, *documents: bytes) -> str:
    monkeypatch.setattr(codec, "PACKED_FROM", 0)
    return codec.elements(documents)


def test_large_results_are_compressed_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    results = tuple(replace(RESULT, id=name) for name in ("a", "b"))
    text = packed(monkeypatch, *map(store.compact, results))
    assert codec.PACKED in text
    assert "torch" not in text
    assert codec.results(text.encode(), "x.html") == results


def test_compressed_results_that_are_damaged_or_without_end_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = packed(monkeypatch, store.compact(RESULT))
    at = whole.index(">") + 1
    for broken in (whole[:at] + "!" + whole[at:], whole[:at] + "AAAA" + whole[at + 4 :]):
        with pytest.raises(InputError, match="damaged"):
            codec.results(broken.encode(), "x.html")
    cut = whole[: at + 400] + "</script>"
    with pytest.raises(InputError, match="damaged"):
        codec.results(cut.encode(), "x.html")
    bomb = packed(monkeypatch, b" " * 10_000_000)
    monkeypatch.setattr(codec, "MAX_UNPACKED", 1_000_000)
    with at_most(6_000_000), pytest.raises(InputError, match="holds more than"):
        codec.results(bomb.encode(), "x.html")


def test_elements_that_are_never_closed_are_read_in_linear_time(slowness: float) -> None:
    opening = f'<script type="{codec.TYPE}">'.encode()
    took_s = stopwatch()
    with pytest.raises(InputError, match="holds no gpuwise result"):
        codec.results(opening * 40_000, "x.html")
    assert took_s() < 2 * slowness


def test_small_results_stay_readable_and_large_ones_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    for room, is_packed in ((0, False), (-1, True)):
        monkeypatch.setattr(codec, "PACKED_FROM", 2 * len(b'{"a": 1}') + room)
        assert (codec.PACKED in codec.elements([b'{"a": 1}', b'{"b": 2}'])) == is_packed


def test_every_element_is_found_from_the_first_byte_to_the_last() -> None:
    elements = "".join(codec.elements([store.encode(replace(RESULT, id=name))]) for name in ("a", "b", "c"))
    assert [each.id for each in codec.results(elements.encode(), "x.html")] == ["a", "b", "c"]


def test_packed_results_have_room_for_as_much_as_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = store.encode(RESULT)
    page = packed(monkeypatch, data, data).encode()
    monkeypatch.setattr(codec, "MAX_UNPACKED", 2 * len(data))
    assert len(codec.results(page, "x.html")) == 2
    monkeypatch.setattr(codec, "MAX_UNPACKED", 2 * len(data) - 1)
    with pytest.raises(InputError):
        codec.results(page, "x.html")
