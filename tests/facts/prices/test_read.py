"""Price files of users: what is tolerated, what is skipped and named, what is refused."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.facts import prices
from gpuwise.facts import prices as load
from gpuwise.facts.prices import PriceList
from gpuwise.facts.prices.files import MAX_BYTES, MOST_PER_GPU, read
from gpuwise.model.gpu import Source

TODAY = date(2026, 11, 21)
OWN = Source(id="own-prices", title="own.csv", kind="third-party", read_on="2026-11-21")


def reading(text: str, today: date = TODAY, **options: object) -> PriceList:
    with TemporaryDirectory() as folder:
        path = Path(folder, "own.csv")
        path.write_bytes(text.encode())
        return read(path, today=today, source=OWN, **options)  # type: ignore[arg-type]


def reason(row: str, header: str = "gpu,amount,kind,per,count,currency,seen_on") -> str:
    """Why the only row is skipped."""
    done = reading(f"{header}\n{row}\n")
    assert done.offers == ()
    (skip,) = done.skipped
    assert (skip.file, skip.line) == ("own.csv", 2)
    return skip.reason


def test_a_full_row() -> None:
    (offer,) = reading(
        "gpu,count,kind,amount,currency,per,provider,region,seen_on,note\n"
        "H100 SXM,8,reserved,16.00,USD,hour,Acme,eu-1,2026-11-01,one year\n"
    ).offers
    assert offer.gpu_ids == ("h100-sxm5-80gb",)
    assert (offer.amount, offer.count, offer.per_gpu) == (16, 8, 2)
    assert (offer.kind, offer.provider, offer.region) == ("reserved", "Acme", "eu-1")
    assert (offer.seen_on, offer.note, offer.locator) == ("2026-11-01", "one year", "line 2")
    assert offer.source == OWN


def test_the_least_that_is_needed() -> None:
    (offer,) = reading("gpu,amount\nrtx-a5000,0.40\n").offers
    assert (offer.kind, offer.count, offer.currency, offer.seen_on) == ("on-demand", 1, "USD", "")


def test_order_spelling_bom_separator_and_decimal_comma_are_free() -> None:
    done = reading("\ufeffPrice;Seen On;GPU;gpus\n2,99;2026-11-01;A5000;1\n\n1.234,50;;a5000;1000\n")
    assert [offer.amount for offer in done.offers] == [2.99, 1234.5]
    assert done.skipped == ()


def test_a_rate_of_one_gpu_is_made_the_price_of_the_offer() -> None:
    done = reading("gpu,count,amount,per\nh100 sxm,8,2.00,gpu-hour\nh100 sxm,8,$2.00/gpu/h,\n")
    assert [offer.amount for offer in done.offers] == [16, 16]
    done = reading("gpu,count,amount,per\nh100 sxm,8,16,hour\n")
    assert done.offers[0].per_gpu == 2


def test_a_slice_counts_as_a_fraction() -> None:
    (offer,) = reading("gpu,count,amount\na10,1/6,0.454\n").offers
    assert offer.per_gpu == pytest.approx(2.724)


def test_a_purchase_is_per_once() -> None:
    done = reading("gpu,kind,amount,per\nrtx 4090,used,$1200,\nrtx 4090,,1600,once\n")
    assert [(offer.kind, offer.per_hour) for offer in done.offers] == [("used", False), ("new", False)]
    assert "kind new with an amount per hour" in reason("rtx 4090,1600,new,hour")
    assert "kind spot with an amount per once" in reason("rtx 4090,1600,spot,once")
    assert "two things" in reason("rtx 4090,$1600/h,,once")


def test_a_family_leaves_the_variant_open() -> None:
    (offer,) = reading("gpu,amount\nA100 80GB,2\n").offers
    assert offer.gpu_ids == ("a100-pcie-80gb", "a100-sxm4-80gb")


def test_another_currency_needs_a_rate() -> None:
    assert "in EUR: no rate was given" in reason("a5000,1,,,,EUR")
    assert "in EUR" in reason("a5000,€1")
    assert "two currencies: EUR and USD" in reason("a5000,$1,,,,EUR")
    (offer,) = reading("gpu,amount,currency\na5000,2,eur\n", rates={"EUR": 1.08}).offers
    assert (offer.amount, offer.currency) == (pytest.approx(2.16), "USD")
    assert offer.note == "2 EUR at 1.08 USD"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("voodoo 2,1", "unknown GPU 'voodoo 2'"),
        (",1", "no GPU is named"),
        ("a5000,", "unreadable amount"),
        ("a5000,cheap", "unreadable amount 'cheap'"),
        ("a5000", "unreadable amount"),
        ("a5000,0", "an amount of 0 is not a price"),
        ("a5000,-2", "an amount of -2 is not a price"),
        ("a5000,5000", "not a plausible price"),
        ("a5000,1,rented", "unknown kind 'rented'"),
        ("a5000,1,,fortnight", "unknown unit 'fortnight'"),
        ("a5000,1,,,0", "unreadable number of GPUs"),
        ("a5000,1,,,,doubloons", "unknown currency"),
        ("a5000,1,,,,,2026-11-22", "dated 2026-11-22, after today (2026-11-21)"),
        ("a5000,1,,,,,21.11.2026", "unreadable date"),
    ],
)
def test_a_bad_row_is_skipped_with_its_reason(row: str, why: str) -> None:
    assert why in reason(row)


def test_skipped_rows_name_their_line_and_the_others_stay() -> None:
    done = reading("gpu,amount\n\nvoodoo,1\na5000,1\na5000,free\n")
    assert [skip.line for skip in done.skipped] == [3, 5]
    assert len(done.offers) == 1


def test_columns_that_mean_nothing_are_named_and_typing_errors_refused() -> None:
    assert reading("gpu,amount,vcpus\na5000,1,8\n").ignored == ("vcpus",)
    with pytest.raises(InputError, match=r"'curency'; did you mean 'currency'"):
        reading("gpu,amount,curency\na5000,1,EUR\n")
    with pytest.raises(InputError, match="two columns 'amount'"):
        reading("gpu,amount,price\na5000,1,2\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a5000,1\n", "no column 'gpu'"),
        ("gpu,cost\na5000,1\n", "no column 'amount'"),
        ('gpu,amount\n"' + "x" * 200_000 + '",1\n', "field larger than field limit"),
    ],
)
def test_what_is_no_table_of_prices_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        reading(text)
    assert caught.value.hint


def test_a_file_that_cannot_be_text_is_refused(tmp_path: Path) -> None:
    cases = {
        "binary": (b"\x7fELF\0\0\0", "is a binary file"),
        "latin": (b"gpu,amount,note\na5000,1,caf\xe9\n", "not text in UTF-8"),
        "large": (b"gpu,amount\n" + b"a5000,1\n" * 630_000, "more than 5 MB"),
    }
    for name, (data, why) in cases.items():
        path = tmp_path / f"{name}.csv"
        path.write_bytes(data)
        with pytest.raises(InputError, match=why):
            read(path, today=TODAY)
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            read(path, today=TODAY)


def test_a_file_of_a_spreadsheet_in_utf_16_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes("gpu,amount\na5000,1".encode("utf-16"))
    assert [offer.gpu for offer in read(path, today=TODAY).offers] == ["a5000"]


def test_text_of_a_file_never_controls_the_terminal() -> None:
    (offer,) = reading("gpu,amount,provider,note\na5000,1,\x1b[31mred,a\x07b\n").offers
    assert offer.provider.isprintable()
    assert offer.note == "a b"


def test_a_bad_file_never_changes_the_shipped_facts(tmp_path: Path) -> None:
    before = load.shipped()
    own = tmp_path / "own.csv"
    own.write_text("gpu,amount,provider,instance,seen_on\nh100 sxm,0.01,aws,p5.48xlarge,2026-11-20\nx,-1\n")
    with_own = prices.collect([own], today=TODAY)
    assert len(with_own.skipped) == 1
    assert len(with_own.offers) == len(prices.offers(today=TODAY)) + 1
    own.write_bytes(b"\xff\xfe\0\0")
    with pytest.raises(InputError):
        prices.collect([own], today=TODAY)
    assert load.shipped() == before
    assert prices.offers(today=TODAY) == with_own.offers[:-1]


WORDS = (
    *(
        "a5000",
        "A100 80GB",
        "h100",
        "2.99",
        "$3/h",
        "2,99",
        "-1",
        "0",
        "EUR",
        "€5",
        "USD",
        "once",
        "hour",
        '"',
    ),
    *("gpu-hour", "spot", "new", "8", "1/4", "2026-11-01", "2027-01-01", "1e9", "99999999", ""),
)
CELL = st.one_of(
    st.sampled_from(WORDS),
    st.text(max_size=12),
)
TABLE = st.builds(
    lambda header, rows, separator: "\n".join(separator.join(row) for row in (header, *rows)),
    st.permutations(["gpu", "amount", "kind", "per", "count", "currency", "seen_on", "note"]),
    st.lists(st.lists(CELL, max_size=9), max_size=6),
    st.sampled_from([",", ";", "\t"]),
)


@settings(max_examples=100, deadline=None)
@given(st.one_of(TABLE, st.text()), st.integers(min_value=-4000, max_value=4000))
def test_any_text_gives_offers_that_hold_or_a_clear_error(text: str, shift: int) -> None:
    today = TODAY + timedelta(days=shift)
    try:
        done = reading(text, today, rates={"EUR": 1.08})
    except GpuwiseError:
        return
    for offer in done.offers:
        assert 0 < offer.amount / offer.count <= MOST_PER_GPU
        assert offer.currency == "USD"
        assert offer.gpu_ids
        assert (prices.age_days(offer, today) or 0) >= 0
    assert all(skip.reason and skip.line >= 2 for skip in done.skipped)


def test_the_largest_file_allowed_is_small_enough_to_read() -> None:
    # 50 MB must be refused, a year of one's own prices must not.
    assert 1_000_000 <= MAX_BYTES <= 10_000_000
