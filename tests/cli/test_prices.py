"""`gpuwise prices`: selections, one's own file, formats, failures and the update."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuwise.cli import prices as verb
from gpuwise.cli import print as printer
from gpuwise.facts.prices import shipped

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printer, "today", lambda: date(2026, 11, 21))


def found(gpuwise: Call, *arguments: str) -> list[dict[str, object]]:
    """The offers of a call that has to work."""
    code, out, err = gpuwise("prices", *arguments, "--json")
    assert (code, err) == (0, "")
    offers: list[dict[str, object]] = json.loads(out)["offers"]
    return offers


def test_spot_prices_of_a_family_with_age_and_freshness(gpuwise: Call) -> None:
    code, out, err = gpuwise("prices", "h100", "--spot")
    assert (code, err) == (0, "")
    assert "stale" in out
    assert re.search(r"newest[^.]* 2026-1", out)
    assert {offer["kind"] for offer in found(gpuwise, "h100", "--spot")} == {"spot"}


def test_cheapest_first_and_one_row_an_offer(gpuwise: Call) -> None:
    offers = found(gpuwise, "rtx", "a5000", "--kind", "on-demand,spot")
    fresh = [offer for offer in offers if (offer["age_days"] or 999) <= 120]
    assert offers[: len(fresh)] == fresh  # fresh prices first, of these on-demand
    offers = [offer for offer in fresh if offer["kind"] == "on-demand"]
    assert fresh[: len(offers)] == offers
    hourly = [float(str(offer["per_gpu_hour"])) for offer in offers]
    assert hourly == sorted(hourly)
    assert 0.1 < hourly[0] < 0.3


def test_conditions_reach_the_selection(gpuwise: Call) -> None:
    offers = found(gpuwise, "h100:8", "--provider", "aws", "--max", "$7/h", "--newer-than", "90d")
    assert {(o["instance"], o["count"]) for o in offers} == {("p5.48xlarge", 8)}
    assert all(o["per_gpu_hour"] <= 7 and o["age_days"] <= 90 for o in offers)
    assert {o["region"] for o in found(gpuwise, "h100", "--region", "US-EAST-1")} == {"us-east-1"}
    purchases = found(gpuwise, "rtx-a5000", "--max", "$3000")
    assert {offer["kind"] for offer in purchases} == {"new"}


def test_history_shows_what_fell(gpuwise: Call) -> None:
    arguments = ("a100", "--provider", "aws", "--on-demand")
    newest = [offer["amount"] for offer in found(gpuwise, *arguments)]
    every = [offer["amount"] for offer in found(gpuwise, *arguments, "--all")]
    assert set(newest) < set(every)
    assert 32.77 in every
    assert "2 fell and 0 rose" in gpuwise("prices", *arguments)[1]


def test_without_a_gpu_every_gpu_has_its_line(gpuwise: Call) -> None:
    code, out, _ = gpuwise("prices")
    assert code == 0
    assert "rtx-4090 " in out
    assert "RTX 4090 48GB (modified) **" in out
    lines = json.loads(gpuwise("prices", "--json")[1])["gpus"]
    assert len(lines) > 30
    assert all(line["offers"] > 0 for line in lines)


def test_a_narrow_terminal_gets_fewer_columns(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "p5.48xlarge" in gpuwise("prices", "h100", "--top", "0")[1]
    monkeypatch.setenv("COLUMNS", str(verb.FULL_WIDTH))
    assert "p5.48xlarge" in gpuwise("prices", "h100", "--top", "0")[1]
    monkeypatch.setenv("COLUMNS", str(verb.FULL_WIDTH - 1))
    narrow = gpuwise("prices", "h100", "--top", "0")[1]
    assert "p5.48xlarge" not in narrow
    assert "H100 80GB *" in narrow
    assert "p5.48xlarge" in gpuwise("prices", "h100", "--top", "0", "--wide")[1]


def test_own_prices_count_for_this_call_only(gpuwise: Call, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("gpu;amount;currency;provider\nh100 sxm;1,00;EUR;mine\nvoodoo;1;;\nh100 sxm;0.10;;mine\n")
    code, out, err = gpuwise(
        "prices", "h100", "--prices", str(own), "--provider", "mine", "--rate", "EUR=1.1"
    )
    assert code == 0
    assert "1.10" in out
    assert err.splitlines() == ["1 row skipped:", "  own.csv, line 3: unknown GPU 'voodoo'"]
    code, _, err = gpuwise("prices", "h100", "--prices", str(own), "--provider", "mine")
    assert (code, "line 2: in EUR: no rate was given" in err) == (0, True)
    assert gpuwise("prices", "h100", "--provider", "mine")[0] == 2


def test_every_format(gpuwise: Call, tmp_path: Path) -> None:
    for suffix in ("json", "csv", "md"):
        assert gpuwise("prices", "h100", "-o", str(tmp_path / f"p.{suffix}"))[0] == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    # A file holds every offer, the terminal the first 25.
    assert len(rows) == len(json.loads((tmp_path / "p.json").read_text())["offers"]) > 25
    assert gpuwise("prices", "h100")[1].count("h100") + 3 < len(rows)
    assert gpuwise("prices", "-o", str(tmp_path / "p.docx"))[0] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("h1000",), 2, "did you mean"),
        (("h20", "--spot"), 5, "no offer meets all the conditions; without the kind of offer "),
        (
            ("h100", "--max", "$0.01/h", "--provider", "aws"),
            5,
            "all the conditions; without the limit of price",
        ),
        (("mi250x",), 5, "no price of 'mi250x' is known"),
        (("h100", "--provider", "awz"), 2, "did you mean aws"),
        (("h100", "--kind", "rented"), 2, "unknown kind 'rented'"),
        (("h100", "--max", "3 doubloons"), 2, "as money"),
        (("h100", "--newer-than", "soon"), 2, "as a duration"),
        (("h100", "--rate", "1.08"), 2, "as a rate"),
        (("h100:8", "--count", "4"), 2, "contradict"),
        (("h100", "--prices", "nowhere.csv"), 2, "cannot read nowhere.csv"),
        (("update", "--spot"), 2, "no other option"),
    ],
)
def test_failures_say_what_to_do(gpuwise: Call, arguments: tuple[str, ...], code: int, says: str) -> None:
    left, out, err = gpuwise("prices", *arguments)
    assert (left, out) == (code, "")
    assert says in err
    assert "next: " in err


def test_update_without_gpuhunt(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    code, out, err = gpuwise("prices", "update")
    assert (code, out) == (3, "")
    assert 'next: pip install "gpuwise[prices]"' in err


def test_update_then_prices(gpuwise: Call, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    item = SimpleNamespace(
        **{"provider": "aws", "instance_name": "p9", "location": "us-east-1", "price": 0.08, "spot": False},
        **{"gpu_count": 8, "gpu_name": "H200", "gpu_memory": 141.0, "gpu_vendor": "nvidia"},
    )
    host = SimpleNamespace(**{**vars(item), "gpu_count": 0, "gpu_name": None})
    catalog = SimpleNamespace(catalog={"aws": None}, providers=[], query=lambda **_: [item, host])
    hunt = SimpleNamespace(default_catalog=lambda: catalog)
    monkeypatch.setitem(sys.modules, "gpuhunt", hunt)
    code, out, _ = gpuwise("prices", "update")
    assert code == 0
    assert out.splitlines() == [
        "1 offers from aws; seen on 2026-11-21",
        f"kept in {home / 'prices.csv'}",
        "left out: 1 host without GPU",
    ]
    first = found(gpuwise, "h200")[0]
    assert (first["instance"], first["per_gpu_hour"], first["age_days"]) == ("p9", 0.01, 0)
    assert json.loads(gpuwise("prices", "update", "--json")[1])["offers"] == 1


def test_nothing_but_the_update_uses_the_network(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    assert gpuwise("prices", "h100", "--all")[0] == 0
    assert gpuwise("prices")[0] == 0


def test_prices_load_neither_numpy_nor_gpuhunt() -> None:
    call = (
        "from gpuwise.cli.main import gpuwise\ngpuwise(['prices', 'h100', '--json'], standalone_mode=False)"
    )
    heavy = ("torch", "numpy", "gpuhunt", "requests", "urllib.request", "statistics")
    check = f"{call}\nimport sys\nprint('|'.join(m for m in {heavy!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_help_names_the_update(gpuwise: Call) -> None:
    code, out, _ = gpuwise("prices", "--help")
    assert code == 0
    assert "gpuwise prices update" in " ".join(out.split())


def test_a_watch_ends_with_0_where_there_is_such_an_offer(gpuwise: Call) -> None:
    assert gpuwise("prices", "--watch", "h100<$9.00/h")[0] == 0
    assert gpuwise("prices", "--watch", "h100<9.00")[0] == 0
    least = min(o.per_gpu for o in shipped() if o.kind == "spot" and o.gpu_ids == ("h100-nvl-94gb",))
    watched = [gpuwise("prices", "--watch", f"h100-nvl{sign}{least}", "--spot")[0] for sign in ("<", "<=")]
    assert watched == [1, 0]
    code, out, err = gpuwise("prices", "--watch", "h100<0.01")
    assert (code, out) == (1, "")
    assert "no fresh offer with h100<0.01; the lowest: $" in err
    assert "h100<9.00: yes: $" in gpuwise("prices", "--watch", "h100<9.00")[1]
    assert gpuwise("prices", "--watch", "h100")[0] == 2
    # No hour costs hundreds: that is what a card is bought for, as with --max.
    dear, cheap = (gpuwise("prices", "--watch", f"rtx-4090<{sum}") for sum in (9000, 200))
    assert (dear[0], cheap[0], "once" in dear[1], "/h" in dear[1] + cheap[2]) == (0, 1, True, False)
    # No fresh price, and none at all, are no offer below it either.
    assert [gpuwise("prices", "--watch", f"{gpu}<1")[0] for gpu in ("gtx-1060", "tesla m40")] == [1, 1]


def test_rents_over_time(gpuwise: Call, tmp_path: Path) -> None:
    code, out, _ = gpuwise("prices", "h100 sxm", "--over-time")
    assert (code, "2026-10" in out, "2024-" in out) == (0, True, True)
    assert gpuwise("prices", "h100 sxm", "--over-time", "-o", str(tmp_path / "p.svg"))[0] == 0
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert gpuwise("prices", "--over-time")[0] == 2


def test_a_seller_and_a_number_stand_beside_the_gpu(gpuwise: Call) -> None:
    both = gpuwise("prices", "h100", "--provider", "lambda", "--count", "8", "--json")[1]
    assert json.loads(both)["offers"]
    assert (
        json.loads(both)["offers"]
        == json.loads(gpuwise("prices", "8x h100 on lambda", "--json")[1])["offers"]
    )


def test_a_small_plain_price_is_of_an_hour_and_used_cards_are_no_mixed_ones(gpuwise: Call) -> None:
    of_an_hour = json.loads(gpuwise("prices", "l4", "--max", "0.9", "--json")[1])["offers"]
    assert json.loads(gpuwise("prices", "l4", "--max", "$0.9", "--json")[1])["offers"] == of_an_hour
    assert 0 < max(offer["per_gpu_hour"] for offer in of_an_hour) <= 0.9
    used = json.loads(gpuwise("prices", "rtx-3090", "--used", "--json")[1])["offers"]
    assert {offer["kind"] for offer in used} == {"used"}
    # What is asked for used and new ones together is named apart, also where it is all there is.
    assert "$1,207 used or new" in gpuwise("prices", "rtx-3090", "--used")[1]
    assert "not among these" not in gpuwise("prices", "rtx-3090", "--used", "--kind", "street")[1]
    code, _, err = gpuwise("prices", "a10", "--used")
    assert (code, "used or new" in err) == (5, True)


@pytest.mark.parametrize("words", [("4090", "5090"), ("rtx-4090,rtx-5090",), ("rtx 4090 vs rtx 5090",)])
def test_several_gpus_have_a_line_each(words: tuple[str, ...], gpuwise: Call) -> None:
    code, out, _ = gpuwise("prices", *words)
    assert (code, [line.split()[0] for line in out.splitlines() if line.startswith(" rtx-")]) == (
        0, ["rtx-4090", "rtx-5090"],
    )  # fmt: skip
    offers = json.loads(gpuwise("prices", *words, "--json")[1])["offers"]
    assert {id for offer in offers for id in offer["gpu_ids"]} == {"rtx-4090", "rtx-5090"}


def test_of_all_gpus_the_cheapest_come_first_where_few_are_asked_for(gpuwise: Call) -> None:
    shown = gpuwise("prices", "--on-demand", "--top", "3")[1].splitlines()
    prices = [float(line.split("$")[1].split()[0]) for line in shown if "  $" in line and line[:1] == " "][:3]
    assert prices == sorted(prices)
    least = min(line["on_demand"]["lowest"] for line in json.loads(
        gpuwise("prices", "--on-demand", "--json")[1])["gpus"] if line["on_demand"])  # fmt: skip
    assert prices[0] == pytest.approx(least, abs=0.01)
