"""Every figure of an option, computed by hand in a world of one or two cards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.choose.answer import setup
from gpuwise.judge.choose.ask import read
from gpuwise.judge.choose.candidates import host_of, most_egress
from gpuwise.judge.choose.speeds import REACHED, from_sheet, gather
from gpuwise.model.judgement import Assumptions
from gpuwise.model.precision import Precision
from gpuwise.store import load
from gpuwise.workloads import registry

from ...records import made_up
from .conftest import TODAY, candidates, recommend

RESULTS = Path(__file__).parents[3] / "results" / "h200"
# Half of the price is lost in a year, three quarters in two; energy costs nothing.
PLAIN = Assumptions(
    electricity_usd_per_kwh=0.0, cooling=1.5, hours_per_week=20, years=2, host_usd=1500, host_w=100,
    depreciation=0.5, utilisation=0.5, max_age_days=None,
)  # fmt: skip


def made(need, speeds, offers):  # type: ignore[no-untyped-def]
    return recommend(need, speeds, offers, today=TODAY, item="image")


@pytest.mark.parametrize("users", [1, 3])
def test_what_is_bought(need, speed, offer, users: int) -> None:  # type: ignore[no-untyped-def]
    asked = need(items=3.6e6, acquire="own", gpus=(2, 2), users=users, assumptions=PLAIN)
    (found,) = made(asked, [speed("rtx-4090", 100.0, 2)], [offer("rtx-4090", 2000, "new")]).options
    assert (found.rank, found.count, found.way, found.frontier) == (1, 2, "new", True)
    assert found.price_usd.value == pytest.approx(4000)
    assert found.host_usd == 3000 * users
    assert found.outlay_usd == 7000 * users
    assert found.time_s.value == pytest.approx(36_000)
    hourly = 7000 * 0.75 / (20 * 2 * 365.25 / 7)
    assert found.per_hour_usd == pytest.approx(hourly * users)
    # Ten hours of work, of which every second is paid for twice.
    assert found.cost_usd.value == pytest.approx(20 * hourly * users)
    assert found.cost_per_item_usd.value == pytest.approx(20 * hourly / 3.6e6)
    assert found.energy_j_per_item == pytest.approx((600 + 200) * 1.5 / 100)
    spec = catalog.get("rtx-4090")
    assert found.memory_spare == pytest.approx(1 - 8e9 / spec.memory_bytes)
    assert found.power_w == 2 * spec.power_w
    assert found.speedup is None


def test_what_is_rented_and_what_leaves_it(need, speed, offer) -> None:  # type: ignore[no-untyped-def]
    asked = need(items=3.6e5, acquire="rent", egress_gb=50.0, assumptions=PLAIN)
    offers = [offer("rtx-4090", 0.5, egress_usd_per_gb=0.1), offer("l4", 0.4)]
    first, second = made(asked, [speed("rtx-4090", 100.0), speed("l4", 100.0)], offers).options
    assert (first.gpu_id, first.cost_usd.value) == ("rtx-4090", pytest.approx(0.5 * 2 + 50 * 0.1))
    # Where it is not known it is no bargain.
    assert second.cost_usd.value == pytest.approx(0.4 * 2 + 50 * most_egress())
    assert (first.price_usd.value, first.outlay_usd, first.break_even_h) == (pytest.approx(0.5), 0, None)
    # As fast and dearer.
    assert (first.frontier, second.frontier) == (True, False)


def test_of_two_that_are_alike_one_is_on_the_frontier(need, speed, offer) -> None:  # type: ignore[no-untyped-def]
    speeds = [speed("rtx-4090", 100.0), speed("l4", 100.0)]
    found = made(need(acquire="rent"), speeds, [offer("rtx-4090", 0.5), offer("l4", 0.5)])
    assert [option.frontier for option in found.options] == [True, False]


def test_who_may_as_well_rent_does_not_buy_for_other_work(need, speed, offer) -> None:  # type: ignore[no-untyped-def]
    offers = [offer("rtx-4090", 2000, "new")]
    usual, lost = Assumptions().hours_per_week, 3500 * 0.75 * 2 / (2 * 365.25 / 7)
    for acquire, hours, cost in (
        ("both", usual, 3500 * 0.75), ("own", usual, lost / usual),
        ("own", 20, lost / 20), ("both", 20, lost / 20),  # Of so many hours that are stated
    ):  # fmt: skip
        asked = need(items=3.6e5, acquire=acquire, assumptions=replace(PLAIN, hours_per_week=hours))
        (found,) = made(asked, [speed("rtx-4090", 100.0)], offers).options
        assert found.cost_usd.value == pytest.approx(cost)


def test_beside_what_is_there_the_larger_host_less_it_and_a_computer_has_none(need, speed, offer) -> None:  # type: ignore[no-untyped-def]
    plain = Assumptions(host_usd=None, host_w=None, max_age_days=None)
    asked = need(gpus=(1, 3), have=("rtx-3090",), acquire="own", assumptions=plain)
    speeds = [speed("rtx-4090", 1.0, n) for n in (1, 2, 3)]
    them = candidates(asked, speeds, [offer("rtx-4090", 1000, "new")], today=TODAY)
    # A PC that holds one card has room for a second.
    assert them.host.tolist() == [0, 0, host_of("rtx-4090", 3)[1] - host_of("rtx-3090", 1)[1]]
    computer = need(acquire="own", assumptions=PLAIN)
    them = candidates(computer, [speed("gb10", 100.0)], [offer("gb10", 4000, "new")], today=TODAY)
    assert (them.host.tolist(), them.joules.tolist()) == ([0], [pytest.approx((300 + 100) * 1.5 / 100)])


@pytest.mark.parametrize(
    ("workload", "precision", "gpu", "bound", "share"),
    [
        ("fft", "fp64", "h100-sxm5-80gb", "memory", 0.75),
        ("stencil", "fp32", "h100-sxm5-80gb", "memory", 0.48),
        ("cholesky", "fp64", "h100-sxm5-80gb", "compute", REACHED),
        ("fft", "fp64", "rtx-4090", "compute", REACHED),
    ],
)
def test_scientific_work_reaches_a_share_of_the_sheet(need, workload, precision, gpu, bound, share) -> None:  # type: ignore[no-untyped-def]
    asked = need(workloads=((workload, 1.0),), mode="compute", precision=precision)
    (found,) = gather(asked, {gpu: (1,)}, lambda *_, **__: ())
    spec, sheet = registry.get(workload).spec, catalog.get(gpu)
    cost = spec.cost("compute", Precision(precision), spec.default_batch)
    by = {
        "compute": sheet.peak(precision).flop_per_s / cost.flop_per_item,
        "memory": sheet.memory_bytes_per_s / cost.bytes_per_item,
    }
    assert found.bound == bound
    assert found.throughput.value == pytest.approx(share * by[bound])
    assert found.watts.value == sheet.power_w


@pytest.mark.parametrize("file", ["workloads-science.json", "workloads-science-2.json", "full.json"])
def test_scientific_work_that_was_measured_lies_within_what_is_said(need, file) -> None:  # type: ignore[no-untyped-def]
    measured = [m for m in load(RESULTS / file).measurements if m.config.mode == "compute" and m.throughput]
    assert measured
    for m in measured:
        asked = need(workloads=((m.config.workload, 1.0),), mode="compute", precision=str(m.config.precision))
        (found,) = gather(asked, {"h200-sxm": (1,)}, lambda *_, **__: ())
        if registry.get(m.config.workload).spec.blocked:  # People have larger ones than are measured
            config = replace(m.config, batch=None)
            found, large = from_sheet(config, "h200-sxm", 1), found
            assert large.throughput.value > found.throughput.value
        assert found.throughput.value / m.throughput.value == pytest.approx(1, abs=0.32), m.config.workload


def test_where_nothing_fits_the_largest_says_why(need) -> None:  # type: ignore[no-untyped-def]
    refused = [
        made_up(gpu_id=gpu, refusal=f"batch 1 does not fit into {gpu}") for gpu in ("l4", "h200-sxm", "t4")
    ]
    with pytest.raises(NoDataError, match="h200-sxm"):
        made(need(), refused, [])


@pytest.mark.parametrize(("what", "epochs"), [("resnet50", 3), ("inception-v3", 1.5)])
def test_epochs_of_an_image_network_are_of_imagenet(what: str, epochs: float) -> None:
    assert read(f"train {what} for {epochs} epochs", {}).work.items == pytest.approx(epochs * 1_281_167)
    with pytest.raises(InputError):
        read(f"train bert-large for {epochs} epochs", {})


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("on a card below 300 W", {"power_w": 300}), ("with a 1.2 kW outlet", {"outlet_w": 1200}),
        # A supply has a seventh to spare beyond the cards and 250 W for the rest.
        ("with an 850 W power supply", {"power_w": 650.0}), ("on a two slot card", {"slots": 2}),
        ("on a card with 24 GB", {"memory_gb": (24, 24)}), ("with at least 24 GB", {"memory_gb": (24, None)}),
        ("for 2 epochs over the weekend", {"deadline_s": 2 * 86_400}),
        ("for 2 epochs overnight", {"deadline_s": 43_200}),
        ("in 3 days", {"deadline_s": 3 * 86_400}),
    ],
)  # fmt: skip
def test_limits_in_words(words: str, fields: dict[str, object]) -> None:
    found = read(f"train resnet50 {words}", {}).fields
    for name, value in fields.items():
        assert found.get(name) == (value if isinstance(value, tuple) else pytest.approx(value))


@pytest.mark.parametrize(("budget", "said"), [(0.5, "$1.00"), (60.0, "$100"), (120.0, "$200")])
def test_a_budget_that_would_do_is_a_round_number(need, speed, offer, budget: float, said: str) -> None:  # type: ignore[no-untyped-def]
    price = float(said[1:])
    asked = need(items=3.6e5, acquire="rent", budget_usd=budget, assumptions=Assumptions(utilisation=1.0))
    with pytest.raises(InputError) as caught:
        made(asked, [speed("rtx-4090", 100.0)], [offer("rtx-4090", price)])
    assert said in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(("card_w", "supply"), [(402.0, "750 W"), (403.0, "850 W")])
def test_the_supply_is_the_least_that_is_sold(need, speed, offer, card_w: float, supply: str) -> None:  # type: ignore[no-untyped-def]
    asked = need(acquire="own", assumptions=PLAIN)
    (bought,) = made(asked, [speed("rtx-4090", 100.0)], [offer("rtx-4090", 2000, "new")]).options
    # 1.2 times what the card and a host under load (250 W) draw.
    assert supply in setup(asked, replace(bought, power_w=card_w))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("1000W box, two free double slots: llama 70b", {"supply_w": 1000.0, "slots": 4.0}),
        ("300 W card for llama 8b", {"power_w": 300.0}),
        ("I just bought 10 P40 for llama 8b", {"have": ("p40",) * 10}),
        ("if I bought a P40 for llama 8b", {"sets": (("p40", 1),)}),
        ("cloud gives me T4 or L4 for llama 8b", {"sets": (("t4", 1), ("l4", 1))}),
        ("a P40 for llama 70b if I put three in, or a 3090", {"sets": (("p40", 3), ("rtx-3090", 1))}),
        ("g5.12xlarge for llama 70b", {"sets": (("a10g", 4),), "providers": ("aws",)}),
        ("rent 147 hours of a single A10G for llama 8b", {"hire_h": 147.0}),
        ("rent an L4 for llama 8b and download 3 TB of results", {"egress_gb": 3000}),
        ("rent an L4 for llama 8b, and download a 40 GB model", {}),
        ("I have 4x A10G on aws, too small for llama 70b, what to rent", {"memory_gb": None}),
    ],
)
def test_machines_hours_and_what_is_there(text: str, fields: dict[str, object]) -> None:
    said = read(text, {}).fields
    assert {name: said.get(name) for name in fields} == fields
    assert ("egress_gb" in said) == ("TB" in text)
    assert not (said.get("providers") and "too small" in text)


@pytest.mark.parametrize(("items", "whole"), [(3.5e5, True), (3.7e5, False)])
def test_rent_for_less_than_an_hour_is_said_to_be_of_a_whole_one(
    need, speed, offer, items: float, whole: bool
) -> None:  # type: ignore[no-untyped-def]
    asked = need(items=items, acquire="rent", assumptions=replace(PLAIN, utilisation=1.0))
    found = made(asked, [speed("rtx-4090", 100.0)], [offer("rtx-4090", 1.0, "on-demand")])
    assert ("paid as a whole hour" in found.answer) == whole
