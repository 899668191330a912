"""What people type and what people read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise import units
from gpuwise.errors import GateFailed, GpuwiseError, InputError, MachineError, NoDataError, RunError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("500ms", 0.5), ("2min", 120), ("2m", 120), ("1h", 3600), ("7", 7), (" 1.5 S ", 1.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert units.parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5 parsecs", "0s", "-3s", "1e3s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_seconds(text)


def test_shares_need_their_sign() -> None:
    assert units.parse_share("1%") == pytest.approx(0.01)
    with pytest.raises(InputError) as caught:
        units.parse_share("1")
    assert caught.value.hint == "write 1%"


def test_lists() -> None:
    assert units.parse_list(" a, b,,a ,c") == ("a", "b", "c")
    assert units.parse_list("") == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (7.21, "7.21"), (721, "721"), (7210.4, "7,210"), (0.01234, "0.0123"), (99.99, "100")],
)
def test_significant(value: float, text: str) -> None:
    assert units.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(7.97e14, "797 TFLOP/s"), (4.24e12, "4.24 TFLOP/s"), (999.6e9, "1.00 TFLOP/s"), (12, "12.0 FLOP/s")],
)
def test_si(value: float, text: str) -> None:
    assert units.si(value, "FLOP/s") == text


@given(st.floats(1e-2, 9e17))
def test_si_keeps_the_value_within_rounding(value: float) -> None:
    number, unit = units.si(value, "X", 4).rsplit(" ", 1)
    factor = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}[unit[:-1]]
    assert float(number.replace(",", "")) * factor == pytest.approx(value, rel=6e-4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2e-6, "2.00 µs"),
        (0.0355, "35.5 ms"),
        (12.34, "12.3 s"),
        (245, "4 min 05 s"),
        (3720, "1 h 02 min"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_bytes_and_percent() -> None:
    assert units.gibibytes(24 * 2**30) == "24.0 GiB"
    assert units.percent(0.0123) == "1.2 %"
    assert units.percent(0.5, 0) == "50 %"


def test_the_tree_of_errors_and_its_exit_codes() -> None:
    codes = {GateFailed: 1, InputError: 2, MachineError: 3, RunError: 4, NoDataError: 5}
    for kind, code in codes.items():
        error = kind("what failed", hint="what next")
        assert isinstance(error, GpuwiseError)
        assert (error.exit_code, str(error), error.hint) == (code, "what failed", "what next")
