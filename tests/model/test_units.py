"""What people type and what they read."""

from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import InputError
from gpuwise.model import units
from gpuwise.model.units import (
    gibibytes,
    of_field,
    parse_list,
    parse_seconds,
    parse_share,
    percent,
    seconds,
    si,
    significant,
)

PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
positive = st.floats(min_value=1e-3, max_value=9e20, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60s", 60.0),
        ("500ms", 0.5),
        ("2min", 120.0),
        ("2m", 120.0),
        ("1h", 3600.0),
        ("1.5 H", 5400.0),
        (" .5s ", 0.5),
        ("2h30", 9000.0),
        ("1h30min", 5400.0),
        ("1min30", 90.0),
        ("1d", 86400.0),
        ("3 days", 259200.0),
        ("2 weeks", 1209600.0),
    ],
)
def test_durations(text: str, expected: float) -> None:
    assert parse_seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "s", "soon", "-5s", "1s 2s", "5.", "inf", "nan", "1,5s", "1ms30", "1" * 5000 + "!"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InputError, match=r"cannot read .* as a duration") as caught:
        parse_seconds(text)
    assert "60s" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["5 parsec", "5fortnights", "1e3s"])
def test_an_unknown_unit_of_time(text: str) -> None:
    with pytest.raises(InputError, match="unknown unit of time"):
        parse_seconds(text)


@pytest.mark.parametrize("text", ["0s", "0.0h"])
def test_no_time_is_no_duration(text: str) -> None:
    with pytest.raises(InputError, match="must be positive"):
        parse_seconds(text)


@pytest.mark.parametrize(("text", "expected"), [("1%", 0.01), ("0.5 %", 0.005), ("100%", 1.0), ("0%", 0.0)])
def test_shares(text: str, expected: float) -> None:
    assert parse_share(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["60", "0", " 30 ", "1e3"])
def test_a_time_needs_its_unit(text: str) -> None:
    with pytest.raises(InputError, match=r"lacks its unit|unknown unit|cannot read"):
        parse_seconds(text)


@pytest.mark.parametrize(("text", "hint"), [("1 ", "write 1%"), ("0.3", "write 30% or 0.3%")])
def test_a_share_needs_its_sign(text: str, hint: str) -> None:
    with pytest.raises(InputError, match="lacks its percent sign") as caught:
        parse_share(text)
    assert caught.value.hint == hint


def test_a_share_has_a_most() -> None:
    assert parse_share("100%", most=1) == 1.0
    with pytest.raises(InputError):
        parse_share("130%", most=1)


@pytest.mark.parametrize("text", ["", "%", "a%", "-1%", "1%%", "1s", "1 m%"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(InputError, match=r"cannot read .* as a percentage") as caught:
        parse_share(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,c", ("a", "b", "c")),
        (" b , a ", ("b", "a")),
        ("a,,b,", ("a", "b")),
        ("b,a,b", ("b", "a")),
        ("", ()),
        (" , ", ()),
    ],
)
def test_lists(text: str, expected: tuple[str, ...]) -> None:
    assert parse_list(text) == expected


@given(st.lists(st.from_regex(r"[a-z0-9-]{1,8}", fullmatch=True), unique=True))
def test_a_joined_list_comes_back(parts: list[str]) -> None:
    assert parse_list(",".join(parts)) == tuple(parts)


@given(
    st.floats(min_value=1e-3, max_value=1e6),
    st.sampled_from([("ms", 1e-3), ("s", 1), ("min", 60), ("h", 3600)]),
)
def test_a_written_duration_comes_back(number: float, unit: tuple[str, float]) -> None:
    assert parse_seconds(f"{number:.6f} {unit[0]}") == pytest.approx(number * unit[1], abs=1e-6 * unit[1])


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0, 3, "0"),
        (1, 3, "1.00"),
        (12.345, 3, "12.3"),
        (797.4, 3, "797"),
        (1234567, 3, "1,234,567"),
        (6882.4, 4, "6,882"),
        (0.012345, 3, "0.0123"),
        (-12.345, 3, "-12.3"),
        (999.4, 3, "999"),
    ],
)
def test_significant_digits(value: float, digits: int, expected: str) -> None:
    assert significant(value, digits) == expected


@pytest.mark.parametrize(("value", "expected"), [(9.996, "10.0"), (99.96, "100"), (0.9996, "1.00")])
def test_rounding_up_to_the_next_power_of_ten_adds_no_digit(value: float, expected: str) -> None:
    assert significant(value) == expected


@given(positive, st.integers(min_value=1, max_value=6))
def test_significant_is_right_within_its_last_digit(value: float, digits: int) -> None:
    assert float(significant(value, digits).replace(",", "")) == pytest.approx(
        value, rel=0.5001 * 10 ** (1 - digits)
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7.97e14, "797 TFLOP/s"),
        (4.8e12, "4.80 TFLOP/s"),
        (999.4e9, "999 GFLOP/s"),
        (1.5e18, "1.50 EFLOP/s"),
        (1000, "1.00 kFLOP/s"),
        (12, "12.0 FLOP/s"),
        (0, "0 FLOP/s"),
        (-3.2e9, "-3.20 GFLOP/s"),
    ],
)
def test_si(value: float, expected: str) -> None:
    assert si(value, "FLOP/s") == expected


@pytest.mark.parametrize(("value", "expected"), [(999.6e9, "1.00 TB/s"), (999.6, "1.00 kB/s")])
def test_what_rounds_to_a_thousand_takes_the_next_prefix(value: float, expected: str) -> None:
    assert si(value, "B/s") == expected


@given(positive)
def test_si_comes_back_within_its_rounding(value: float) -> None:
    number, unit = si(value, "W", 3).split(" ")
    factor = PREFIXES[unit.removesuffix("W")]
    assert float(number.replace(",", "")) * factor == pytest.approx(value, rel=0.00501)
    if value < 9.99e20:
        assert float(number.replace(",", "")) < 1000


def test_gibibytes_are_binary() -> None:
    assert gibibytes(24 * 2**30) == "24.0 GiB"
    assert gibibytes(24e9) == "22.4 GiB"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2e-6, "2.00 µs"),
        (250e-6, "250 µs"),
        (0.0355, "35.5 ms"),
        (0.001, "1.00 ms"),
        (1.0, "1.00 s"),
        (12.34, "12.3 s"),
        (60, "1 min 00 s"),
        (245.4, "4 min 05 s"),
        (245.9, "4 min 06 s"),
        (3600, "1 h 00 min"),
        (3725, "1 h 02 min"),
        (90_000, "25 h 00 min"),
        (3_600_000, "42 days"),
    ],
)
def test_durations_as_people_say_them(value: float, expected: str) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (9.994e-4, "999 µs"),
        (9.9996e-4, "1.00 ms"),
        (0.9994, "999 ms"),
        (0.99999, "1.00 s"),
        (59.94, "59.9 s"),
        (59.99, "1 min 00 s"),
        (119.6, "2 min 00 s"),
        (3599.4, "59 min 59 s"),
        (3599.9, "1 h 00 min"),
        (7199.0, "2 h 00 min"),
    ],
)
def test_rounding_carries_into_the_next_unit(value: float, expected: str) -> None:
    assert seconds(value) == expected


SIZES = {"h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6}
durations = st.floats(min_value=1e-6, max_value=1e6)
near_a_carry = st.sampled_from([1e-3, 1.0, 60.0, 120.0, 3600.0, 7200.0]).flatmap(
    lambda edge: st.floats(min_value=0.99 * edge, max_value=1.01 * edge)
)


def parts(text: str) -> list[tuple[float, str]]:
    """`4 min 05 s` as [(4, "min"), (5, "s")]."""
    words = text.split(" ")
    return [(float(n.replace(",", "")), unit) for n, unit in zip(words[::2], words[1::2], strict=True)]


def read(text: str) -> float:
    """What a person takes `seconds` to say."""
    return sum(number * SIZES[unit] for number, unit in parts(text))


@given(durations | near_a_carry)
def test_a_duration_is_right_to_half_its_last_place(value: float) -> None:
    text = seconds(value)
    last = SIZES[parts(text)[-1][1]] if len(parts(text)) == 2 else 10 ** math.floor(math.log10(value)) / 100
    assert abs(read(text) - value) <= 0.5001 * last


@given(durations | near_a_carry, st.floats(min_value=1.0, max_value=1.05))
def test_a_longer_duration_never_reads_shorter(value: float, factor: float) -> None:
    # 59 min 59 s and then 1 h 00 min: read in order, whatever the units. 1e-9: sums of floats.
    assert read(seconds(value)) <= read(seconds(value * factor)) * (1 + 1e-9)


@given(durations | near_a_carry)
def test_no_number_reaches_its_next_unit(value: float) -> None:
    full = {"µs": 1000, "ms": 1000, "s": 60, "min": 60}
    assert all(number < full.get(unit, math.inf) for number, unit in parts(seconds(value)))


def test_percent() -> None:
    assert percent(0.0123) == "1.2 %"
    assert percent(0.789, 0) == "79 %"
    assert percent(-0.05) == "-5.0 %"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("memory_bytes_per_s", 768e9, "768.0 GB/s"),
        ("memory_bytes", 24 * 2**30, "24.0 GiB"),
        ("l2_bytes", 6 * 2**20, "6 MiB"),
        ("rt_flop_per_s", 54.2e12, "54.20 TFLOP/s"),
        ("boost_hz", 1695e6, "1695 MHz"),
        ("power_w", 230, "230 W"),
        ("length_m", 0.267, "267 mm"),
        ("cuda_cores", 8192, "8,192"),
        ("slots", 2.5, "2.5"),
    ],
)
def test_a_field_s_name_tells_its_unit(field: str, value: float, text: str) -> None:
    assert of_field(field, value) == text


@pytest.mark.parametrize(
    ("text", "items", "period", "item"),
    [
        ("1M sequences", 1e6, None, "sequence"),
        ("3 epochs of 1.3M images", 3.9e6, None, "image"),
        ("50M tokens/day", 50e6, 86400.0, "token"),
        ("2B tokens per week", 2e9, 604800.0, "token"),
        ("5 tokens", 5.0, None, "token"),
        ("1,000,000 image-steps", 1e6, None, "image-step"),
        ("1k images", 1e3, None, "image"),
        ("1 million images", 1e6, None, "image"),
        ("2 billion tokens/day", 2e9, 86400.0, "token"),
        ("2e15 cells", 2e15, None, "cell"),
        ("5e+17 FLOPs", 5e17, None, "FLOP"),
        ("3 EFLOP/day", 3e18, 86400.0, "FLOP"),
    ],
)
def test_work(text: str, items: float, period: float | None, item: str) -> None:
    assert units.parse_work(text) == (pytest.approx(items), period, item)


@pytest.mark.parametrize("text", ["", "many images", "0 images", "-3 images", "3", "5M tokens/fortnight"])
def test_unreadable_work(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_work(text)


@pytest.mark.parametrize(
    ("text", "usd", "unit"),
    [
        ("$3000", 3000.0, None), ("$2/h", 2.0, "hour"), ("€10", 12.0, None), ("0.30 USD/kWh", 0.30, "kwh"),
        ("€0.25 per kWh", 0.30, "kwh"), ("$1,500.50", 1500.5, None), ("$3k", 3000.0, None),
        ("3,000 USD", 3000.0, None), ("3k USD", 3000.0, None), ("1.5M usd", 1.5e6, None),
        ("1000 euro", 1200.0, None), ("2 euros/h", 2.4, "hour"), ("300 dollars", 300.0, None),
    ],
)  # fmt: skip
def test_money(text: str, usd: float, unit: str | None) -> None:
    assert units.parse_usd(text, {"EUR": 1.2}) == (pytest.approx(usd), unit)


@pytest.mark.parametrize(
    "text", ["€10", "£5/h", "$-3", "$0", "$9,000,000,000,000", "cheap", "3000", "2/h", "€1,234"]
)
def test_money_that_is_refused(text: str) -> None:
    with pytest.raises(InputError) as error:
        units.parse_usd(text, {})
    assert error.value.exit_code == 2
    assert error.value.hint


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("40GB..", 40, None), ("24GB..80GB", 24, 80), ("..48GB", 0, 48), ("24GiB", 24, None),
        ("24 gb", 24, None), (">=40GB", 40, None), ("40GB+", 40, None), ("<=48GB", 0, 48),
        ("1.5TB", 1500, None),
    ],
)  # fmt: skip
def test_memory(text: str, low: float, high: float) -> None:
    assert units.parse_memory_range(text) == (low, high)


@pytest.mark.parametrize(
    ("text", "usd", "per"),
    [
        ("$20/day", 608.75, "month"), ("$84 a week", 365.25, "month"), ("$1200/year", 100, "month"),
        ("3.000 €", 3300, None), ("$1.250/h", 1.25, "hour"), ("$2.50", 2.5, None), ("4k", 4000, None),
    ],
)  # fmt: skip
def test_budgets(text: str, usd: float, per: str | None) -> None:
    amount, unit = units.parse_budget(text, {"EUR": 1.1})
    assert (round(amount, 2), unit) == (usd, per)


@pytest.mark.parametrize("text", ["", "..", "80GB..24GB", "lots", "24"])
def test_unreadable_memory(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_memory_range(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("1..4", "1,2,4"), ("3-6", "3,6"), ("8..2", "2,4,8"), ("0..9999", "9999"), ("2,x", "8")],
)
def test_a_range_is_no_list_of_counts(text: str, hint: str) -> None:
    with pytest.raises(InputError) as error:
        units.parse_counts(text, "a count")
    assert error.value.hint == f"write {hint}"


@pytest.mark.parametrize(("text", "like"), [("1,2,8", "1..8"), ("4,2", "2..4"), ("1,x", "4 or 1..8")])
def test_a_list_is_no_range_of_counts(text: str, like: str) -> None:
    with pytest.raises(InputError) as error:
        units.parse_count_range(text)
    assert f"write it like {like};" in error.value.hint


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.994, "$0.99"),
        (0.996, "$1.00"),
        (1.0, "$1.00"),
        (99.99, "$99.99"),
        (99.999, "$100"),
        (0.027, "$0.027"),
    ],
)
def test_money_is_written_as_it_is_rounded(value: float, shown: str) -> None:
    assert units.usd(value) == shown


def test_counts_shares_latency_and_durations() -> None:
    assert units.parse_count_range("1..8") == (1, 8)
    assert units.parse_count_range("4") == (4, 4)
    assert units.parse_count_range("1024") == (1024, 1024)
    assert units.parse_latency("TPOT<=30ms") == ("TPOT", pytest.approx(0.03), None)
    assert units.parse_latency("ttft < 2s") == ("TTFT", 2.0, None)
    assert units.parse_latency("TTFT<=2s, TPOT<=30ms") == ("TPOT", pytest.approx(0.03), 2.0)
    assert units.parse_latency("10ms,TTFT<=2s") == ("TPOT", pytest.approx(0.01), 2.0)
    assert units.parse_seconds("3d") == 3 * 86400
    assert units.parse_seconds("2 weeks") == 14 * 86400
    assert units.parse_seconds("24h") == 86400
    assert units.parse_positive("850W", "--power", "W") == 850
    assert units.parse_positive("1.2kW", "--power", "W") == 1200
    assert units.parse_days("12w") == 84
    assert units.parse_days("1y") == 365
    assert (units.parse_batch("auto"), units.parse_batch("64")) == (None, 64)
    assert units.parse_rate("eur=1.08") == ("EUR", 1.08)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (units.parse_count_range, "0"), (units.parse_count_range, "8..1"), (units.parse_count_range, "1025"),
        (units.parse_latency, "30"), (units.parse_latency, "TPOT<=30"),
        (units.parse_latency, "TTFT<=1s,TTFT<=2s"), (units.parse_latency, "TPOT<=30ms,20ms"),
        (units.parse_latency, "TTFT<=1s,TPOT<=1s,TPOT<=2s"),
        (units.parse_days, "90"),
        (lambda t: units.parse_positive(t, "--x"), "0"), (units.parse_seconds, "soon"),
        (units.parse_batch, "0"), (units.parse_batch, "1.5"), (units.parse_rate, "EUR=-1"),
        (units.parse_days, "0d"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(read, text: str) -> None:
    with pytest.raises(InputError):
        read(text)


def test_numbers_of_times_may_be_words() -> None:
    assert units.parse_seconds("two days") == units.parse_seconds("2d") == 2 * 86400
    with pytest.raises(InputError):
        units.parse_seconds("some days")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("friday", "2026-11-27"), ("next Monday", "2026-11-30"), ("Thursday", "2026-12-03"),
        ("2026-12-05", "2026-12-05"), ("5 December", "2026-12-05"), ("december 3rd", "2026-12-03"),
        ("3rd of december", "2026-12-03"), ("5.12.", "2026-12-05"), ("31/12", "2026-12-31"),
        ("12/31/2026", "2026-12-31"), ("the 3rd", "2026-12-03"), ("30th", "2026-11-30"),
        ("5 may", "2027-05-05"), ("jan 7, 2027", "2027-01-07"), ("tomorrow", "2026-11-27"),
        ("end of the week", "2026-11-29"), ("end of the month", "2026-11-30"), ("next week", "2026-11-30"),
        ("end of year", "2026-12-31"), ("end of next month", "2026-12-31"), ("next month", "2026-12-01"),
    ],
)  # fmt: skip
def test_days_as_people_write_them(text: str, day: str) -> None:
    thursday = date(2026, 11, 26)
    assert units.parse_day(text, thursday).isoformat() == day
    left = (date.fromisoformat(day) - thursday).days
    if text != "the 3rd":
        assert units.parse_deadline(text, thursday) == left * 86400


@pytest.mark.parametrize("text", ["5/12", "2026-11-01", "2026-11-26", "31 november", "some day", "2026-13-1"])
def test_a_day_that_is_past_none_or_may_be_two_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_day(text, date(2026, 11, 26))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0.0 GiB"), (64.5 * 2**20, "64.5 MiB"), (102 * 2**20, "102 MiB"), (998 * 2**20, "998 MiB"),
        (1001 * 2**20, "1.0 GiB"),
        (999.9 * 2**30, "999.9 GiB"), (12_345.6 * 2**30, "12,345.6 GiB"),
    ],
)  # fmt: skip
def test_memory_is_never_shown_as_nothing_nor_without_its_thousands(value: float, shown: str) -> None:
    assert str(gibibytes(value)) == shown


def test_the_example_of_a_count_is_of_its_kind() -> None:
    for what, like in (("a context", "8k"), ("a batch", "8")):
        with pytest.raises(InputError) as refused:
            units.parse_counts("4kb", what)
        assert refused.value.hint == f"write {like}"


def test_a_name_among_counts_is_told_where_names_go() -> None:
    hints = []
    for text in ("h100", "0"):
        with pytest.raises(InputError) as refused:
            units.parse_counts(text, "a count of GPUs")
        hints.append("--gpu" in refused.value.hint)
    assert hints == [True, False]


@pytest.mark.parametrize(("text", "unit"), [("TTFT<500", "500ms"), ("TTFT<99", "99s"), ("TPOT<30", "30ms")])
def test_a_latency_without_its_unit_is_told_the_likely_one(text: str, unit: str) -> None:
    with pytest.raises(InputError) as caught:
        units.parse_latency(text)
    assert unit in caught.value.hint


def test_names_are_listed_as_people_write_them() -> None:
    assert [units.listed(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
    assert units.listed(["a", "b"], "or") == "a or b"
