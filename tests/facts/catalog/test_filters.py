"""Queries of `gpuwise gpus`: sizes, ranges, words, counts, and how wrong ones fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import Match, matching, ordered, sortable

ALL = {spec.id for spec in catalog.all_gpus()}


def ids(*words: str) -> set[str]:
    return {match.spec.id for match in matching(words)}


def sizes(*words: str) -> list[float]:
    return sorted({(match.spec.memory_bytes or 0) / 2**30 for match in matching(words)})


def test_no_words_mean_all() -> None:
    assert tuple(match.spec for match in matching([])) == catalog.all_gpus()
    assert ids("") == ids(" ") == ALL


@pytest.mark.parametrize("size", ["24GB", "24gb", "24 GB", "24 GiB", "24gib", "24G"])
def test_a_size_is_the_number_on_the_product(size: str) -> None:
    assert sizes(size) == [24.0]
    assert {"rtx-4090", "rtx-a5000", "a10"} <= ids(size)


def test_memory_that_is_sold_in_decimal_gigabytes_is_found_by_its_number() -> None:
    assert {"b300-sxm", "gb300", "mi350x", "mi355x"} == ids("288GB")
    assert "gh200-hbm3e" in ids("144GB")


@pytest.mark.parametrize(
    ("words", "low", "high"),
    [
        ("24GB..", 24, 512),
        ("..24GB", 1, 24),
        ("24GB..48GB", 24, 48),
        ("24..48GB", 24, 48),
        ("40gb..40gb", 40, 40),
    ],
)
def test_ranges_hold_both_ends(words: str, low: float, high: float) -> None:
    found = sizes(words)
    assert found[0] == low
    assert found[-1] == high


def test_what_has_no_known_memory_is_in_no_range() -> None:
    assert "radeon-890m" not in ids("0GB..")
    assert "radeon-890m" in ids("radeon 890m")


RTX_5080_5090 = {"rtx-5080", "rtx-5080-laptop", "rtx-5090", "rtx-5090-d", "rtx-5090-d-v2", "rtx-5090-laptop"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("a10",), {"a10"}),
        (("l4",), {"l4"}),
        (("l40",), {"l40"}),
        (("h20",), {"h20"}),
        (("a100",), {"a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb"}),
        (("a100", "sxm"), {"a100-sxm4-40gb", "a100-sxm4-80gb"}),
        (("a100 sxm 80gb",), {"a100-sxm4-80gb"}),
        (("nvidia rtx a5000",), {"rtx-a5000", "rtx-a5000-laptop"}),
        (("4090",), {"rtx-4090", "rtx-4090-d", "rtx-4090-laptop"}),
        (("4090 laptop",), {"rtx-4090-laptop"}),
        (("RTX5080,RTX5090",), RTX_5080_5090),
        (("RTX 5080, RTX 5090",), RTX_5080_5090),
        (("t4,l4", "nvidia"), {"t4", "l4"}),
        (("amd", "cdna 3"), {"mi300a", "mi300x", "mi308x", "mi325x"}),
        (
            ("intel", "..20GB", "pcie", "workstation"),
            {"arc-pro-a40", "arc-pro-a50", "arc-pro-a60", "arc-pro-b50"},
        ),
        (("gp100",), {"p100-pcie-12gb", "p100-pcie-16gb", "p100-sxm2-16gb", "quadro-gp100"}),
        (("hbm3", "sxm", "..80GB"), {"h100-sxm5-80gb", "h800-sxm5-80gb"}),
        (("7.5", "server"), {"t4", "t10", "t4g"}),
        (("turing", "consumer", "11GB"), {"rtx-2080-ti"}),
    ],
)
def test_words(words: tuple[str, ...], expected: set[str]) -> None:
    assert ids(*words) == expected


def test_kinds() -> None:
    assert {spec.architecture for m in matching(["ampere"]) for spec in [m.spec]} == {"Ampere"}
    assert {m.spec.text("form") for m in matching(["sxm"])} == {"sxm"}
    assert {m.spec.text("segment") for m in matching(["workstation"])} >= {"workstation"}
    assert {m.spec.vendor for m in matching(["NVIDIA"])} == {"NVIDIA"}


def test_a_count_goes_with_its_name() -> None:
    for eight in ("H100:8", "8xH100", "h100x8"):
        assert {(m.spec.id, m.count) for m in matching([eight, "sxm"])} == {("h100-sxm5-80gb", 8)}
    assert {m.count for m in matching(["7900xtx"])} == {1}
    assert {(m.spec.id, m.count) for m in matching(["t4:4,l4"])} == {("t4", 4), ("l4", 1)}


@pytest.mark.parametrize(
    "word", ["48GB..24GB", "24..48", "..", "a..b", "1GB..2GB..3GB", "h100:0", "h100:1025", ",", " , "]
)
def test_what_cannot_be_read_says_how_to_write_it(word: str) -> None:
    with pytest.raises(InputError) as caught:
        matching([word])
    assert caught.value.hint


@pytest.mark.parametrize(
    ("word", "near"), [("amperre", "ampere"), ("nvida", "nvidia"), ("rtx4091", "rtx4090")]
)
def test_unknown_words_suggest_near_ones(word: str, near: str) -> None:
    with pytest.raises(NoDataError, match=f"did you mean .*{near}") as caught:
        matching([word])
    assert matching([(caught.value.hint or "").removeprefix("ask for ")])


@pytest.mark.parametrize("words", [("voodoo",), ("cdna", "laptop"), ("amd", "nvidia"), ("99GB",), ("---",)])
def test_nothing_found_is_no_data(words: tuple[str, ...]) -> None:
    with pytest.raises(NoDataError):
        matching(words)


def test_select_takes_one_text_and_never_fails_for_an_unknown_one() -> None:
    assert catalog.select(None) == catalog.select("") == catalog.all_gpus()
    assert [spec.id for spec in catalog.select("amd mi100")] == ["mi100"]
    assert catalog.select("no such gpu") == ()
    assert {spec.id for spec in catalog.select("rx 70")} >= {"rx-7600", "rx-7900-xtx"}


@given(st.lists(st.text(alphabet="24GB.,:-h10a ib\u00e9/", max_size=12), max_size=3))
def test_any_query_gives_gpus_or_an_error_with_a_hint(words: list[str]) -> None:
    try:
        answer: object = matching(words)
    except GpuwiseError as error:
        answer = error.hint
    assert answer


@given(st.integers(1, 300), st.integers(1, 300))
def test_a_range_is_what_its_two_halves_share(low: int, high: int) -> None:
    low, high = sorted((low, high))

    def found(word: str) -> set[str]:
        try:
            return ids(word)
        except NoDataError:
            return set()

    assert found(f"{low}GB..{high}GB") == found(f"{low}GB..") & found(f"..{high}GB")
    assert found(f"{low}GB") == found(f"{low}GB..{low}GB")


@pytest.mark.parametrize(
    ("field", "fact"),
    [
        ("memory", "memory_bytes"),
        ("bandwidth", "memory_bytes_per_s"),
        ("power", "power_w"),
        ("price", "launch_price_usd"),
        ("sm_count", "sm_count"),
        ("rt_flop_per_s", "rt_flop_per_s"),
    ],
)
def test_sorting_puts_the_largest_first_and_the_unknown_last(field: str, fact: str) -> None:
    for name, reverse in ((field, True), (f"-{field}", False)):
        found = ordered(matching([]), name)
        values = [m.spec.number(fact) for m in found]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=reverse)
        assert values == known + [None] * (len(values) - len(known))
        assert {m.spec.id for m in found} == ALL


def test_sorting_by_a_peak_takes_the_dense_one() -> None:
    ranked = [m.spec.id for m in ordered(matching(["geforce", "24GB..32GB"]), "fp16")]
    assert [gpu for gpu in ranked if gpu in ("rtx-5090", "rtx-4090", "rtx-3090")] == [
        "rtx-5090",
        "rtx-4090",
        "rtx-3090",
    ]


def test_sorting_by_price_and_name() -> None:
    cheap = ordered(matching(["24gb", "consumer"]), "-price")
    prices = [price for m in cheap if (price := m.spec.number("launch_price_usd"))]
    assert len(prices) >= 5
    assert prices == sorted(prices)
    names = [m.spec.name.casefold() for m in ordered(matching([]), "name")]
    assert names == sorted(names)
    assert [m.spec.id for m in ordered(matching(["ada"]), "-id")] == sorted(ids("ada"), reverse=True)


def test_the_largest_memory_is_first() -> None:
    first = ordered(matching(["server"]), "memory")[0]
    assert first == Match(spec=catalog.get("mi455x"))


@pytest.mark.parametrize("field", ["vendor", "colour", "", "--memory", "peak:*"])
def test_what_cannot_be_sorted_by(field: str) -> None:
    with pytest.raises(InputError, match="cannot be sorted"):
        ordered(matching([]), field)


def test_every_sortable_name_sorts() -> None:
    for field in sortable():
        assert len(ordered(matching([]), field)) == len(ALL)


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ([">=48GB"], "48GB.."), (["48", "GB+"], "48GB.."), (["at", "least", "48", "GB"], "48GB.."),
        (["48GB or more"], "48GB.."), ([">48 GB"], "49GB.."), (["<=24GB"], "..24GB"),
        (["under 24 gb"], "..23GB"), (["up to", "24GB"], "..24GB"), (["under 300 watts"], "..299W"),
        (["vram>=48"], "48GB.."), (["memory > 24gb"], "25GB.."), (["tdp<=300"], "..300W"),
        (["<= 75 W"], "..75W"), ([">=700w"], "700W.."),
    ],
)  # fmt: skip
def test_a_sign_before_a_size_is_a_bound(words: list[str], means: str) -> None:
    assert ids(*words) == ids(means) != ALL
    assert ids(*words, "nvidia") == ids(means, "nvidia")


def test_a_power_is_the_boards() -> None:
    assert {"l4", "t4"} <= ids("..75W") != ids("..69W")
    assert "l4" not in ids("..71W") | ids("73W..")
    assert "l4" in ids("72W") & ids("..72W") & ids("72W..") & ids("24GB", "..75W")
    with pytest.raises(InputError):
        matching(["24gb..300w"])


def test_two_digits_are_a_series() -> None:
    ids = {m.spec.id for m in matching(["RTX 40"])}
    assert {"rtx-4050-laptop", "rtx-4090", "rtx-4070-ti-super"} <= ids
    assert not {"l40", "rtx-4000-ada", "rtx-3090"} & ids


@pytest.mark.parametrize(
    ("words", "has", "lacks"),
    [
        ("fp8 >=40GB", "l40s", "rtx-a6000"),
        ("nvlink consumer", "rtx-3090", "rtx-4090"),
        ("ecc <=75W", "t4", "rtx-3050"),
        ("mig", "a30", "a10"),
        ("fp4 16GB", "rtx-5080", "rtx-4080"),
    ],
)
def test_what_a_gpu_can_is_a_filter(words: str, has: str, lacks: str) -> None:
    assert has in ids(words)
    assert lacks not in ids(words)


@pytest.mark.parametrize(("words", "least"), [("laptop", 60), ("24GB..", 100), ("amd", 50), ("all", 400)])
def test_a_filter_is_no_name_of_one_gpu(words: str, least: int) -> None:
    with pytest.raises(InputError) as error:
        catalog.resolve(words)
    assert (error.value.code, error.value.data["words"]) == ("filter", words)
    assert len(ids(words)) >= least
    assert error.value.exit_code == 2
