"""Asked, bars, links and the memory of forecasts, each by itself."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import InputError
from gpuwise.judge.choose.need import FIELDS
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Interval
from gpuwise.web.site import Place
from gpuwise.web.view import LONGEST, MOST_VALUES, Asked, bars

CELL = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def test_the_last_value_that_says_something_counts() -> None:
    asked = Asked([("a", "1"), ("a", " 2 "), ("a", ""), ("b", "")])
    assert (asked.text("a"), asked.text("b", "none"), asked.many("a")) == ("2", "none", ("1", "2"))


@pytest.mark.parametrize("text", ["x", "-1", "nan", "inf", "1e99", "1;2"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="memory is a number"):
        Asked([("memory", text)]).number("memory")


@pytest.mark.parametrize("text", ["0", "1.5", "9"])
def test_a_whole_number_has_its_range(text: str) -> None:
    with pytest.raises(InputError, match="gpus is"):
        Asked([("gpus", text)]).whole("gpus", most=8)


def test_more_than_a_form_sends_is_refused() -> None:
    for values in ([("a", "x" * (LONGEST + 1))], [("a", "x")] * (MOST_VALUES + 1)):
        with pytest.raises(InputError, match="longer than any form"):
            Asked(values)


def test_the_longest_form_is_no_longer_than_an_address() -> None:
    # The page of choices sends every field, also the empty ones; each is a name and a value.
    asked = Asked([(field.name, "") for field in FIELDS])
    assert asked.names == frozenset()


@given(st.lists(st.none() | st.tuples(*[st.floats(0, 1e300)] * 3).map(sorted), max_size=9))
def test_bars_stay_in_their_room_and_keep_their_order(values: list[list[float] | None]) -> None:
    found = bars([v and Interval(low=v[0], value=v[1], high=v[2], method="") for v in values])
    for bar, value in zip(found, values, strict=True):
        if not bar:
            assert value is None or max(v[2] for v in values if v) == 0
            continue
        assert value is not None
        (filled, *_), *whisker = (
            [float(number) for number in re.findall(r'"([\d.]+)%', part.partition("<text")[0])]
            for part in bar.split("<rect")[1:]
        )
        low, wide = whisker[0] if whisker else (filled, 0.0)
        assert (
            bool(whisker) == (value[0] < value[2] and f"{value[0] / value[2]:.3f}" != "1.000") or wide < 0.1
        )
        assert -0.1 <= low - 0.1 <= filled <= low + wide + 0.2 <= 100.3
        longest = max(v[1] for v in values if v)
        assert longest == 0 or filled >= 66 * value[1] / longest - 0.1


PATHS = st.sampled_from(["/", "/gpus", "/gpus/l40s", "/compare/a,b/article", "/results/files/x"])


@given(PATHS, PATHS, st.sampled_from(["", "/prefix", "/a/b"]))
def test_links_lead_to_the_same_page_under_any_prefix(here: str, there: str, prefix: str) -> None:
    base = f"http://host{prefix}{here}"
    assert urlsplit(urljoin(base, Place(here).to(there))).path == f"{prefix}{there}"


def test_links_between_files_end_in_html() -> None:
    place = Place("/gpus/l40s", static=True)
    assert place.to("/gpus", sort="name") == "../gpus.html"
    assert place.to("/") == "../index.html"
    assert place.to("/static/web.css") == "../static/web.css"
