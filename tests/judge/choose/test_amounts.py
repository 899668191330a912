"""Amounts as people write them, and what is refused."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError
from gpuwise.judge.choose import amounts


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
    ],
)
def test_work(text: str, items: float, period: float | None, item: str) -> None:
    assert amounts.work(text) == (pytest.approx(items), period, item)


@pytest.mark.parametrize("text", ["", "many images", "0 images", "-3 images", "3", "5M tokens/fortnight"])
def test_unreadable_work(text: str) -> None:
    with pytest.raises(InputError):
        amounts.work(text)


def test_work_in_other_items_than_the_workload_s() -> None:
    amounts.check_item("image", "image")
    with pytest.raises(InputError, match="counts images, the work tokens"):
        amounts.check_item("token", "image")


@pytest.mark.parametrize(
    ("text", "usd", "unit"),
    [
        ("$3000", 3000.0, None), ("$2/h", 2.0, "hour"), ("€10", 12.0, None), ("0.30 USD/kWh", 0.30, "kwh"),
        ("€0.25 per kWh", 0.30, "kwh"), ("1,500.50", 1500.5, None),
    ],
)  # fmt: skip
def test_money(text: str, usd: float, unit: str | None) -> None:
    assert amounts.money(text, {"EUR": 1.2}) == (pytest.approx(usd), unit)


@pytest.mark.parametrize("text", ["€10", "£5/h", "$-3", "$0", "$9,000,000,000,000", "cheap", "$1,234"])
def test_money_that_is_refused(text: str) -> None:
    with pytest.raises(InputError) as error:
        amounts.money(text, {})
    assert error.value.exit_code == 2
    assert error.value.hint


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("40GB..", 40, None), ("24GB..80GB", 24, 80), ("..48GB", 0, 48), ("24GiB", 24, None),
        ("24 gb", 24, None),
    ],
)  # fmt: skip
def test_memory(text: str, low: float, high: float) -> None:
    assert amounts.memory(text) == (low, high)


@pytest.mark.parametrize("text", ["", "..", "80GB..24GB", "lots", "24"])
def test_unreadable_memory(text: str) -> None:
    with pytest.raises(InputError):
        amounts.memory(text)


def test_counts_shares_latency_and_durations() -> None:
    assert amounts.count_range("1..8") == (1, 8)
    assert amounts.count_range("4") == (4, 4)
    assert amounts.share("30%", "--x") == amounts.share("0.3", "--x") == pytest.approx(0.3)
    assert amounts.latency("TPOT<=30ms") == ("TPOT", pytest.approx(0.03))
    assert amounts.latency("ttft < 2s") == ("TTFT", 2.0)
    assert amounts.duration("3d") == 3 * 86400
    assert amounts.duration("2 weeks") == 14 * 86400
    assert amounts.duration("24h") == 86400
    assert amounts.positive("850W", "--power", "W") == 850


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (amounts.count_range, "0"), (amounts.count_range, "8..1"), (amounts.count_range, "1000"),
        (amounts.latency, "30ms"), (lambda t: amounts.share(t, "--x"), "130%"),
        (lambda t: amounts.positive(t, "--x"), "0"), (amounts.duration, "soon"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(read, text: str) -> None:
    with pytest.raises(InputError):
        read(text)
