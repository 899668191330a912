"""How runs differ is known from other results of the same kind of card; what a question compares with."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gpuwise import store
from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.jobs.choosing import choose, need_for
from gpuwise.jobs.comparing import CompareRequest, compare, stored_spread
from gpuwise.jobs.facts import Facts
from gpuwise.judge.choose import fit
from gpuwise.judge.choose.candidates import host_of, hours_a_month, hours_of_use, lost_share
from gpuwise.judge.choose.need import need_of
from gpuwise.judge.choose.phrases import electricity
from gpuwise.model.gpu import RENTS
from gpuwise.model.judgement import Need
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Measurement, Result, Window
from gpuwise.model.units import Latency, Work, usd
from gpuwise.stats.interval import throughput

CONFIG = RunConfig(workload="resnet50", mode="train", precision=Precision.BF16)


def result(number: int, step_s: float, device: str = "NVIDIA H200") -> Result:
    windows = tuple(Window(step_s=(step_s,) * 20, started_s=n, ended_s=n + 20 * step_s) for n in range(5))
    measured = Measurement(
        config=CONFIG, workload_version=1, status="ok", item="image", started_at="", batch=64,
        items_per_step=64.0, throughput=throughput([w.step_s for w in windows], 64), windows=windows,
    )  # fmt: skip
    name = store.slug(device)
    return Result(
        id=f"20261123-00000{number}-{name}-aaaa", created_at="2026-11-23T00:00:00+00:00", command="",
        environment=Environment(device=device), measurements=(measured,),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))


def test_earlier_results_of_the_card_s_kind_say_how_runs_differ() -> None:
    a, b = result(1, 0.0300), result(2, 0.0309)
    assert stored_spread((a, b)) is None
    for number, step_s in enumerate((0.0300, 0.0301, 0.0302), start=3):
        store.save(result(number, step_s))
    store.save(result(6, 0.5, device="another card"))
    (store.results_dir() / f"20261123-000007-{store.slug('NVIDIA H200')}-bbbb.json").write_text("{")
    # What is compared is no witness of its own difference.
    store.save(a)
    store.save(b)
    found = stored_spread((a, b))
    assert found is not None
    assert found.error == pytest.approx(1 / 301, rel=0.01)
    ((_, (comparison,)),) = compare(CompareRequest(results=(a, b))).value
    assert comparison.basis == "stored"
    assert comparison.ratio is not None
    assert comparison.ratio.low < comparison.ratio.value < comparison.ratio.high


def test_the_table_says_where_it_is_known_from() -> None:
    answer = compare(CompareRequest(results=(result(1, 0.03), replace(result(2, 0.0309), id="other"))))
    assert any("from run to run" in note for note in answer.table.notes)
    assert answer.document["comparisons"][0]["pairs"][0]["run_to_run"] == "assumed"


DAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        # 50 M tokens a day are 1,521.9 M in a month of 30.4 days.
        (
            "an api asks 0.60 dollars per million tokens: 50M tokens/day of llama 3.3 70b, rent or api?",
            (913.1,),
        ),
        ("we pay $300 a month for the openai api; is a gpu for qwen3 8b cheaper?", (300.0,)),
    ],
)
def test_what_an_api_takes_stands_beside_what_a_machine_takes(text: str, sums: tuple[float, ...]) -> None:
    found = choose(text, Facts(today=DAY)).value
    first, need = found.options[0], found.need
    month = hours_a_month(need) * (first.per_hour_usd or 0.0)
    if first.cost_usd is not None:
        month = first.cost_usd.value * 365.25 / 12
    said = [
        float(each.replace(",", "")) for each in re.findall(r"\$([\d.,]+\d)", found.answer.partition(". ")[0])
    ]
    assert said == pytest.approx([*sums, month], rel=5e-3)  # three digits


@pytest.mark.parametrize(
    ("text", "ways", "begins"),
    [
        ("is an h100 overkill for llama 3.2 3b for 5 people", {"street", "on-demand"}, "One H100"),
        ("can my rtx 3060 12gb run gemma 2 27b", {"street"}, "No"),
        ("can an rx 7900 xtx train resnet50", {"street"}, "How fast one AMD Radeon RX 7900 XTX is"),
        ("can my rtx 3090 run gemma 2 27b", {"have"}, "Yes"),
        ("is a 3090 enough for llama 8b and flux", {"street"}, "Yes, one RTX 3090 can. flux"),
        ("is my rtx 3090 enough for gemma 2 27b or buy a 5090", {"have", "street"}, "Yes"),
        # Whether a budget is enough, of which a part of the question asks.
        ("finetune llama 70b with qlora on 10M tokens for $50, is that possible", {"on-demand"}, "Yes, one"),
        (
            "can i serve a 70b to 20 users for $300 a month",
            {"on-demand"},
            "No: 2 x a40 over budget",
        ),
        ("is it possible to train resnet50 on imagenet for under 5 dollars", {"on-demand"}, "No: 1 x"),
        ("deepseek v3 at home, is that possible for under 10k", {"unpriced"}, "Yes, one Apple M3 Ultra can"),
        ("a 27B for 40 people in Frankfurt, is 900 euro a month enough", {"on-demand"}, "No: of Germany no"),
        # An engine that serves many does not hold it, llama.cpp does.
        ("is 16gb enough for a 24b", {"street"}, "Yes, one AMD Radeon RX 7800 XT can."),
        (
            "would 2 h100 be faster than my 8 v100 32gb for bert large training",
            {"have"},
            "2 x H100 SXM5 80 GB are faster: 1.38 times 8 x V100 SXM2 32 GB",
        ),
        # What is there is enough, is not, and is not in any number.
        ("i have two 3090, how many more for a 70b at 4 bits", {"have"}, "None more is needed: 2 x RTX 3090"),
        ("is a 4080 enough for a 32b in 8 bits, if not how many", {"street"}, "The fewest that do it: "),
        ("we have 2 A6000 and want to add a third gpu for a 100B, how many more", {"have"}, "None more"),
        ("i have one 3090, how many more for a 70b at 4 bits", {"street"}, "1 more: 2 x RTX 3090 in all"),
        ("i have a 3060, how many more for llama 70b in fp16", {"street"}, "No number of rtx-3060"),
        (
            "a6000 vs 5090 for a 32b at home, power bill, 0.3 $/kwh",
            {"street"},
            "Least electricity: one RTX A6000",
        ),
        # Of what is more than it takes no price is needed, nor the kind of what is rented.
        ("are 2 H200 overkill for 15 people with a 32b, to buy", {"street"}, "2 x H200 SXM are more than"),
        ("rent a server gpu for mistral 24b, 200 euros a month", {"on-demand"}, "Rent one"),
        ("can our 4 V100 32GB serve a 70B to 20 users", {"have"}, "Yes"),
        # The default time of a token leaves out nothing that is there.
        ("we have three rtx 4090 and $2000, what helps to serve a 70b to 10 people", {"have"}, "Keep 3 x"),
        # What stands between to buy and to rent is the work.
        (
            "is it worth buying a 4090 for sdxl or is renting one enough, 10 hours a week",
            {"used"},
            "Rent: in",
        ),
        ("a used A100 or rent, 2 years", {"on-demand", "street"}, "Rent: in 2 years"),
        ("two 4090 with a 1000 W psu enough for llama 3.3 70b", {"used"}, "At full power these break"),
    ],
)
def test_what_is_asked_of_a_card_is_answered_first(text: str, ways: set[str], begins: str) -> None:
    found = choose(text, Facts(today=DAY)).value
    assert ways <= {option.way for option in found.options}
    assert found.answer.startswith(begins)


@pytest.mark.parametrize(
    ("text", "count", "says"),
    [
        # 16 machines of 8 at what one of the first option takes, for 168 hours.
        ("how much do 128 H100 cost for a week", 8, (16, 168)),
        ("how much do 1024 H100 cost for a week", 8, (128, 168)),
        # The last machine is smaller: an eighth of the rent of the others for each GPU.
        ("9 A40 for 10 days", 8, (9 / 8, 240)),
        ("12 A40 for 10 days", 8, (12 / 8, 240)),
        ("15 A40 for 10 days", 8, (15 / 8, 240)),
        # Where that leaves a twentieth over or less, it is like the others.
        ("152 A40 for 10 days", 8, (19, 240)),
        ("150 A40 for 10 days", 8, (19, 240)),
    ],
)
def test_more_gpus_than_a_machine_holds_are_so_many_machines(
    text: str, count: int, says: tuple[float, int]
) -> None:
    found = choose(text, Facts(today=DAY), alternatives=False).value
    first, (machines, hours) = found.options[0], says
    assert first.count == count
    assert first.gpu_id.startswith(("h100", "a40"))
    sums = [float(each.replace(",", "")) for each in re.findall(r"\$([\d.,]+\d)", found.answer)]
    hourly = (first.per_hour_usd or 0.0) * machines
    assert sums[-2:] == pytest.approx([hourly, hourly * hours], rel=1e-2)


def test_the_loss_of_years_is_no_price_of_one_piece_of_work() -> None:
    found = choose("finetune llama 8b on 5M tokens on a 3090, buy", Facts(today=DAY)).value
    both = choose(replace(found.need, acquire="both", sets=(("rtx-3090", 1),)), Facts(today=DAY)).value
    cost = both.options[0].cost_usd.value
    assert cost > 1000
    assert not [usd for usd in amounts(both.answer) if abs(usd / cost - 1) < 0.001]


def test_two_that_are_compared_have_each_its_own_number() -> None:
    text = "renting 8 h100 for two weeks vs 16 a100 for two weeks for llm training, which is cheaper"
    found = choose(text, Facts(today=DAY)).value
    each = {option.gpu_id[:4]: option for option in reversed(found.options) if option.gpu_id[4:] != "x"}
    h100, a100 = each["h100"].per_hour_usd, each["a100"].per_hour_usd
    assert {round(336 * h100, -1), round(2 * 336 * a100, -1)} <= {
        round(usd, -1) for usd in amounts(found.answer)
    }
    assert "16 x A100" in found.answer
    assert "16 x H100" not in found.answer


def test_whether_a_link_is_needed_is_answered_for_what_fits() -> None:
    text = "do I need nvlink to train a 7b model on two cards or are two 4090s on pcie fine"
    found = choose(text, Facts(today=DAY)).value
    assert found.answer.startswith("No: 2 x RTX 4090 do it over PCIe 4")
    assert found.need.task == "lora"


def test_the_electricity_of_each_is_of_a_year() -> None:
    text = "what is the electricity bill of a 4090 8 hours a day at $0.25/kWh compared with an L4"
    found = choose(text, Facts(today=DAY)).value
    *sums, price = amounts(found.answer)
    assert price == 0.25
    for gpu, (month, year) in zip((72, 450), zip(sums[::2], sums[1::2], strict=True), strict=True):
        assert year == pytest.approx(12 * month, rel=6e-3)
        assert year > 1.3 * gpu / 1000 * 8 * 365.25 * price


def test_what_may_change_the_answer_and_was_not_read_is_said_first() -> None:
    found = choose("I have 2 a40, sell them or keep them for llama 70b", Facts(today=DAY)).value
    assert "sell" in found.answer.partition(".")[0]


@pytest.mark.parametrize(
    ("people", "frames"),
    [(fit.A_FEW, True), (fit.A_FEW + 1, False)],
)
def test_no_open_frame_serves_many_people(people: int, frames: bool) -> None:
    """Neither first nor listed: its reason is that of the GPUs that nothing else holds."""
    need = need_for("qwen2.5-72b", gpus=(4, 4))
    need = replace(need, concurrent=people, acquire="own")
    found = choose(need, Facts(today=DAY)).value
    hosts = {host_of(option.gpu_id, option.count)[0] for option in found.options}
    assert ("open frame" in hosts) == frames


def test_people_whom_no_machine_serves_in_time_are_served_by_several() -> None:
    text = "deepseek v3 for 400 concurrent users, prompts 2000, answers 500, 20 tok/s each, rent"
    first = choose(text, Facts(today=DAY)).value.options[0]
    assert first.count > 8
    assert first.latency_s <= 1 / 20
    assert first.throughput.value >= 400 * 20
    with pytest.raises(GpuwiseError):
        choose(f"{text}, at most 8 gpus", Facts(today=DAY))


def test_what_cuda_no_longer_supports_is_bought_by_its_name_or_used_alone() -> None:
    asks = ("fp64 card, buy, 25k dollars", "used fp64 card, 25k dollars", "p100 or v100, buy, fp64")
    options = [choose(ask, Facts(today=DAY)).value.options for ask in asks]
    assert ["p100-pcie-16gb" in {option.gpu_id for option in each} for each in options] == [False, True, True]


def test_a_third_card_has_a_reason_and_years_an_end() -> None:
    found = choose("my server has 2 A40 already, add a third for llama 70b", Facts(today=DAY)).value
    assert not any("no price" in text for text in found.refused if "3 x A40" in text)
    with pytest.raises(InputError):
        choose("16 H100 for 31 years", Facts(today=DAY))
    assert choose("16 H100 for 30 years", Facts(today=DAY)).value.options


def test_words_of_a_second_work_are_answered_for_the_first_pick() -> None:
    found = choose("a card under 600 dollars for sdxl and small llms", Facts(today=DAY)).value
    assert "llama-3.2-3b, one at a time: one" in found.answer


def test_who_rents_it_is_asked_of_every_provider() -> None:
    found = choose("rent an a100 80gb, which provider is cheapest", Facts(today=DAY)).value
    assert len({option.provider for option in found.options}) > 3


def test_adapters_over_four_bits_where_sixteen_are_too_many() -> None:
    found = choose("fine-tune llama 3.1 8b for 600 dollars", Facts(today=DAY)).value
    assert found.need.task == "qlora"
    assert found.options[0].outlay_usd <= 600


def test_a_card_that_came_out_years_ago_is_not_sold_new() -> None:
    found = choose("a new card for bert-large, nothing used, 1500 dollars", Facts(today=DAY)).value
    assert not {"rtx-3090", "rtx-3080-ti"} & {option.gpu_id for option in found.options}


def test_what_does_not_fit_is_refused_for_that_before_its_amount_is_asked_for() -> None:
    with pytest.raises(NoDataError, match="fit"):
        choose("finetune llama 3.1 405b on my 3060 by friday", Facts(today=DAY))


def test_a_computer_whose_price_is_old_is_named_with_it() -> None:
    faster = {"radeon-8060s", "apple-m4-max"}
    offers = [o for o in Facts(today=DAY).offers if faster.isdisjoint(o.gpu_ids)]
    offers = [o for o in offers if "gb10" not in o.gpu_ids or (o.seen_on or "") < "2026"]
    found = choose("gpt-oss-120b at home under 5000 dollars", Facts(today=DAY, offers=offers)).value
    first = found.options[0]
    assert (first.gpu_id, first.count, first.price_usd, first.last_usd) == ("gb10", 1, None, 3999)
    fresh = choose("gpt-oss-120b at home under 9000 dollars", Facts(today=DAY)).value
    assert fresh.options[0].price_usd is not None
    assert [any("costs today" in each for each in made.unknown) for made in (found, fresh)] == [True, False]


def test_more_cards_of_those_that_are_there_are_answered_for() -> None:
    found = choose("I have 2x 3090, should I add a third for llama 3.3 70b", Facts(today=DAY)).value
    assert found.options[0].way == "have"
    assert ("rtx-3090", 3, 1.0) in {(o.gpu_id, o.count, round(o.speedup or 0.0, 2)) for o in found.options}


def test_a_place_without_an_offer_is_refused() -> None:
    with pytest.raises(InputError, match="mars"):
        choose(replace(need_for("resnet50"), region="mars"), Facts(today=DAY))


def test_how_many_at_once_and_when_the_first_token_comes_are_said() -> None:
    found = choose("how many chats at once does a 3090 give with qwen3-8b").value
    assert re.match(r"One RTX 3090 gives about \d+ answers at once", found.answer)
    late = choose("rent for qwen3-8b, 8 users at once, ttft 900 ms, tpot 60 ms").value
    assert "the first token after" in " ".join(late.options[0].why)


def test_what_is_there_stands_beside_a_purchase_that_gains_nothing() -> None:
    found = choose("we own four v100 16gb, qlora of qwen3-8b, should we buy two 3080?").value
    assert [found.options[0].gpu_id, found.options[0].way] == ["v100-sxm2-16gb", "have"]


def test_of_equal_energy_the_cheaper_is_first() -> None:
    found = choose("most energy efficient rented gpu for llama 3.1 8b", Facts(today=DAY)).value
    first = found.options[0]
    joules = [o.energy_j_per_item for o in found.options if o.energy_j_per_item]
    assert first.energy_j_per_item <= 1.1 * min(joules)
    same = (o for o in found.options if (o.gpu_id, o.count) == (first.gpu_id, first.count))
    assert all(first.per_hour_usd <= o.per_hour_usd for o in same)
    assert "kWh" in found.answer


def amounts(text: str) -> list[float]:
    """The sums of money in a text."""
    return [float(each.replace(",", "")) for each in re.findall(r"\$([\d,.]*\d)", text)]


@pytest.mark.parametrize(
    ("text", "buys"),
    [
        ("own 8x h100 or rent them for training llama 8b", None),
        ("buy or rent a 5090 for vit training, 10 hours a week", False),
        ("buy or rent a 5090 for vit training, 160 hours a week", True),
        # A service: what is faster earns no more within its hours.
        ("rent or buy one l40s for qwen 32b awq, 25 concurrent users", True),
        ("should i buy a 3090 or rent a gpu for mistral 7b, 3 hours a day", False),
    ],
)
def test_to_rent_or_to_buy_has_a_verdict_where_both_cost_the_same(text: str, buys: bool | None) -> None:
    found = choose(text, Facts(today=DAY)).value
    outlay, bought, price, rented = amounts(found.answer)[:4]
    ways = {option.way in RENTS: option for option in reversed(found.options) if option.way != "have"}
    own, rent, a = ways[False], ways[True], found.need.assumptions
    assert (own.outlay_usd, rent.price_usd.value) == pytest.approx((outlay, price), rel=6e-3)
    assert buys in (None, found.answer.startswith("Buy: "))
    assert found.answer.startswith("Buy: ") == (bought < rented)
    hours, week = hours_of_use(found.need), re.findall(r"from ([\d.]+) h a week", found.answer)
    served = found.need.concurrent
    same = 1.0 if served else own.throughput.value / rent.throughput.value
    assert rented == pytest.approx(hours * rent.per_hour_usd * same, rel=6e-3)
    assert bought == pytest.approx(hours * own.per_hour_usd, rel=6e-3)
    # With so many hours a week both take the same.
    lost = own.outlay_usd * lost_share(a)
    if not week:
        assert re.search("Buying (?:never pays|does not pay)", found.answer)
        return
    meet = float(week[0]) / a.hours_per_week
    assert meet * rented == pytest.approx(lost + meet * (bought - lost), rel=2e-2)


def test_rent_of_the_larger_area_stands_beside_buying_where_a_country_has_none() -> None:
    text = "serve qwen 32b to 25 developers during office hours in frankfurt, rent or buy, we have 15k"
    found = choose(text, Facts(today=DAY)).value
    assert re.match(r".* Germany, .* Europe\. Buy: ", found.answer)
    assert {option.outlay_usd > 0 for option in found.options} == {True, False}


def test_the_board_of_the_fewest_watts_is_first() -> None:
    found = choose("lowest power gpu that can do 30 tokens per second on an 8b model", Facts(today=DAY)).value
    watts = [option.power_w for option in found.options]
    assert watts == sorted(watts)
    assert watts[0] <= 72
    assert f"{watts[0]:g} W" in found.answer
    assert min(option.throughput.value for option in found.options) >= 30


def test_the_last_price_of_a_card_that_has_no_fresh_one_is_said() -> None:
    found = choose("rtx 4090 or rtx 5090 for vit training, buy", Facts(today=DAY)).value
    assert "in 2025-07" in fit.last_price(found.need, "rtx-4070", Facts(today=DAY).offers)


def test_what_does_not_fit_says_with_which_contexts_it_would() -> None:
    found = choose("llama 8b with 128k context on a 4070 or a 5090", Facts(today=DAY)).value
    text = " ".join(found.refused)
    assert "65,536" in text or "32,768" in text


def test_a_place_without_such_an_offer_names_a_larger_one() -> None:
    with pytest.raises(InputError) as error:
        choose("rent a 27B server for 40 people in Frankfurt, at most 900 euro a month", Facts(today=DAY))
    (way,) = error.value.data["ways"][0]
    assert (way.limit, way.value) == ("region", "Europe")
    assert "Germany" in error.value.data["why"]


def test_of_two_that_are_named_one_is_to_rent() -> None:
    text = "which is cheaper for 100M tokens of llama 8b per day, one 4090 at home or renting an L4?"
    found = choose(text, Facts(today=DAY)).value
    assert {(o.gpu_id, o.way in RENTS) for o in found.options} == {("rtx-4090", False), ("l4", True)}
    assert found.answer.startswith("Buy: a month 2 x RTX 4090")
    # One would be busy for longer than the day has hours.
    assert "busy 52 %" in found.answer


def test_the_fewest_that_do_it_are_not_those_that_cost_least() -> None:
    found = choose("how many h100 sxm for llama 405b?", Facts(today=DAY)).value
    wide = choose(replace(found.need, gpus=(1, 300), sets=()), Facts(today=DAY), alternatives=False).value
    assert re.findall(r"fewest that do it: (\d+)", wide.answer) == ["4"]


def test_a_batch_is_rented_for_its_hours_alone() -> None:
    found = choose("classify 200k tickets per month with llama 8b, rented", Facts(today=DAY)).value
    first = found.options[0]
    assert first.cost_usd.value == pytest.approx(first.price_usd.value * first.time_s.value / 3600)


def test_two_that_are_compared_are_answered_for_over_the_budget() -> None:
    found = choose("rtx 5090 or rtx 4080 for bert-large, 400 dollars", Facts(today=DAY)).value
    assert {option.gpu_id for option in found.options} == {"rtx-5090", "rtx-4080"}
    assert any("budget" in note for note in found.need.notes)


def test_an_old_card_runs_what_llama_cpp_does() -> None:
    found = choose("is a used p40 good for llama 3.1 8b", Facts(today=DAY)).value
    assert found.options[0].precision in ("q8_0", "q4_k_m")


def test_a_card_that_nobody_rents_out_on_demand_is_rented_otherwise() -> None:
    found = choose("bert-large on a 4070 super in the cloud", Facts(today=DAY)).value
    assert {(option.gpu_id, option.way) for option in found.options} == {("rtx-4070-super", "community")}
    assert found.refused == ()


def test_the_memory_of_adapters_of_images_is_said() -> None:
    found = choose("minimum vram for sdxl lora training", Facts(today=DAY)).value
    assert f"{found.need.least_gb:g} GB" in found.answer


def test_many_people_hold_half_of_a_context_each() -> None:
    one, many = (choose(f"llama 70b for {n}, rented", Facts(today=DAY)).value for n in ("me", "100 users"))
    assert (one.need.context, many.need.context) == (4096, 2048)


def test_the_electricity_of_a_card_is_said() -> None:
    text = "what does a 4090 running 24/7 cost in electricity at $0.35/kwh"
    found = choose(text, Facts(today=DAY)).value
    kwh = float(re.findall(r"([\d.]+) kWh", found.answer)[0])
    assert kwh == pytest.approx((450 + 80) / 1000 * 1.3 * 8766 / 12, rel=0.01)
    assert f"${0.35 * kwh:.0f} of" in found.answer


def test_the_memory_of_a_model_is_said() -> None:
    found = choose("how much vram does llama 3.3 70b need in 4 bit", Facts(today=DAY)).value
    # 70.6 G weights of half a byte, their scales, one context and the libraries.
    gib, *_ = re.findall(r"([\d.]+) GiB", found.answer)
    assert 70.6e9 / 2 / 2**30 < float(gib) < 1.25 * 70.6e9 / 2 / 2**30


@pytest.mark.parametrize(
    "changes", [{"only": (" x rtx-4090",)}, {"have": (" x l4",)}, {"sets": ((" x l4", 1),)}]
)
def test_a_need_that_names_what_is_no_gpu_is_refused(changes: dict[str, Any]) -> None:
    need = Need(workloads=(("resnet50", 1.0),), mode="train", precision=Precision.BF16, **changes)
    with pytest.raises(InputError, match="has the id"):
        choose(need)


@pytest.mark.parametrize(
    "text",
    [
        # What is rented keeps no sum to buy for, and nothing costs nothing.
        "qwen2.5 72b in 4 bit on a used 4090, at most 700 dollars, buy",
        "I can spend nothing, does my 3060 12gb hold qwen2.5 72b in 4 bit",
    ],
)
def test_a_way_out_keeps_the_other_limits(text: str) -> None:
    with pytest.raises(GpuwiseError) as refused:
        choose(text, Facts(today=DAY))
    assert "instead" not in refused.value.data


def test_what_is_named_alone_gives_way() -> None:
    with pytest.raises(InputError) as refused:
        choose(replace(need_for("llm-8b-lora"), only=("rtx-4090",), memory_gb=(48.0, None)), Facts(today=DAY))
    other = refused.value.data["instead"].options[0]
    assert (catalog.get(other.gpu_id).memory_bytes or 0) >= 44e9


@pytest.mark.parametrize(("provider", "known"), [("lambda", True), ("hyperstack", False)])
def test_what_egress_costs_is_said_as_dear_as_anywhere_where_it_is_not_known(
    provider: str, known: bool
) -> None:
    asked = f"an A100 for ten days at {provider}, bert-large, then 15 TB of egress"
    found = choose(asked, Facts(today=DAY)).value
    said = "; ".join(found.unknown)
    assert ("15,000 GB sent out cost $0 there" in found.answer) == known
    assert ("at $0.12 a GB" in said and "$1,800" in said) != known


def test_cards_that_are_to_be_replaced_are_no_answer_to_how_many() -> None:
    asked = "our group runs 2 V100 PCIe 32GB, to be replaced for resnet50, 9000 dollars. How many of what"
    found = choose(asked, Facts(today=DAY)).value
    assert found.need.upgrade
    assert found.options[0].way != "have"
    assert not found.answer.startswith("None")


def test_at_home_there_are_more_cards_where_four_are_not_enough() -> None:
    found = choose("kimi k2 at home", Facts(today=DAY)).value
    assert found.need.gpus == (1, 8)
    assert found.options[0].count > 4


def test_what_does_one_work_does_the_other_too() -> None:
    texts = ("fp64, rented, 6 dollars an hour", "fp64 and llama 3.3 70b, rented, 6 dollars an hour")
    one, both = (choose(text, Facts(today=DAY)).value.options[0] for text in texts)
    sizes = [catalog.get(option.gpu_id).memory_bytes for option in (one, both)]
    assert sizes[0] < 40e9 < sizes[1]
    served = choose("qlora of llama 3.1 8b each week, and serve it to 12 people, buy", Facts(today=DAY)).value
    assert served.need.also_users == 12
    assert "each of 12 people" in served.answer


def test_the_fewest_of_each_of_several_kinds_are_said() -> None:
    found = choose("how many l40s or a100 80gb for llama 3.3 70b in fp8", Facts(today=DAY)).value
    fewest, _, rest = found.answer.partition(". ")
    assert [name for name in ("x L40S", "A100") if name in fewest] == ["x L40S", "A100"]
    assert (found.options[0].gpu_id[:4], found.options[0].count) == ("a100", 1)
    assert rest.startswith("Rent one A100")


@pytest.mark.parametrize(("usd", "gb"), [(700.0, 16), (580.0, 11)])
def test_images_take_weights_of_4_bits_where_8_are_more_than_the_limits_hold(usd: float, gb: int) -> None:
    need = need_for("flux")
    need = replace(need, acquire="own", budget_usd=usd, assumptions=replace(need.assumptions, host_usd=0.0))
    found = choose(need, Facts(today=DAY)).value
    assert found.need.least_gb == gb
    assert found.options[0].outlay_usd <= usd


def test_an_image_of_several_of_its_stand_in_takes_them_side_by_side() -> None:
    need = replace(need_for("resnet50", mode="infer", latency=Latency("step", 0.02)), title="x", passes=10.0)
    first = choose(replace(need, acquire="rent"), Facts(today=DAY)).value.options[0]
    assert first.latency_s <= 0.02
    assert first.latency_s * first.throughput.value >= 1.0


@pytest.mark.parametrize(("there", "way"), [("rtx-3090", "have"), ("rtx-3060-12gb", "street")])
def test_more_and_smaller_cards_take_the_place_of_none(there: str, way: str) -> None:
    """Two of 12 GB are no better than one of 24; beside one of 12 they are."""
    given = {"have": (there,), "acquire": "own", "budget": "$1000", "gpus": "1..2", "mode": "infer"}
    need, _ = need_of("qwen2.5-32b", given, {}, today=DAY)
    assert choose(need, Facts(today=DAY)).value.options[0].way == way


def test_the_electricity_of_work_that_comes_again_is_of_its_busy_share() -> None:
    need = replace(need_for("llama-3.1-8b", work=Work(20e6, 86400.0, "token")), acquire="own")
    found = choose(need, Facts(today=DAY)).value
    first, days = found.options[0], 365.25 / 12
    kwh = (first.energy_j_per_item or 0.0) * 20e6 * days / 3.6e6
    assert electricity(found.need, first) == pytest.approx((kwh, 0.2 * kwh), rel=1e-3)
    assert 0 < kwh < 1.3 * ((first.power_w or 0.0) + 80) / 1000 * 24 * days


def test_cards_with_fans_go_before_what_is_made_for_a_server() -> None:
    text = "used card for sdxl, 16 GB at least, 170 W at most"
    facts = Facts(today=DAY)
    found = choose(text, facts).value
    first = catalog.get(found.options[0].gpu_id)
    assert (first.text("segment"), found.options[0].price_usd) == ("consumer", None)
    assert any("no fans: one A10" in note for note in found.need.notes)
    # Who names it, computes in FP64, or has another fresh price is not led away from it.
    named = choose("used a10 for sdxl, 200 W at most", facts).value
    assert named.options[0].gpu_id == "a10"
    own = next(o for o in facts.offers if o.gpu_ids == ("a10",) and o.kind == "street")
    shop = replace(own, gpu="rtx-4060-ti-16gb", gpu_ids=("rtx-4060-ti-16gb",), kind="used", amount=500.0)
    fresh = choose(text, Facts(today=DAY, offers=(*facts.offers, shop))).value
    assert (fresh.options[0].gpu_id, fresh.options[0].way) == ("rtx-4060-ti-16gb", "used")


def test_what_is_not_held_in_16_bits_is_held_in_4() -> None:
    words = {"mode": "infer", "acquire": "own", "work": "5M tokens/day"}
    need = need_of("llm-8b", {**words, "budget": "¥300000"}, {"JPY": 0.0063})[0]
    assert any("yen" in note for note in need.notes)
    four = need_of("llm-8b", {**words, "budget": "$1899", "precision": "int4"}, {})[0]
    found = choose(four, Facts(today=DAY)).value
    assert not any("--precision" in each or "yen" in each for each in (*found.changes, *found.need.notes))
    with pytest.raises(InputError, match="over budget") as refused:
        choose(need_of("llm-8b", {**words, "budget": "$1200"}, {})[0], Facts(today=DAY))
    assert "precision int4" in str(refused.value.hint)


def test_a_refusal_names_what_would_do_with_its_seller_and_price() -> None:
    with pytest.raises(NoDataError, match="no GPU that can do the work has a fresh price in France") as none:
        choose(
            "rent one gpu in France for mistral small 24b in fp8, 12 people, 2 $/h at most", Facts(today=DAY)
        )
    assert re.search(
        r"one [\w ]+, [\w-]+, on-demand at \$\d\.\d\d/h of 20\d\d-\d\d in ", none.value.hint or ""
    )
    with pytest.raises(InputError, match="over budget") as dear:
        choose("rent a gpu for llama 70b, 0.30 $/h at most", Facts(today=DAY))
    assert re.search(r"one [\w ]+, [\w-]+, on-demand at \$\d\.\d\d/h", dear.value.hint or "")


def _shown(text: str) -> str:
    """All that is printed of a question, without the breaks of lines."""
    return " ".join(str(choose(text, Facts(today=DAY)).table).split())


def test_memory_of_images_says_what_it_holds_and_where_the_fit_is_not_certain() -> None:
    """One figure of the need, and no fit within a tenth of the memory that passes for certain."""
    whole = _shown("my 3060 12gb runs out of memory when i train flux loras, cheapest upgrade")
    assert "24 GB of memory or more: 11.9 of weights in 8 bits" in whole
    assert "13 GB" not in whole
    assert "the work may not fit: rtx-3090" in whole
    clips = _shown("card for 4 second clips with hunyuan video at home, 2500 dollars")
    assert "its weights alone: the text encoder, the VAE" in clips
    assert "at least 14.9 of 24 GiB" in clips  # What has memory to spare comes first


def test_what_is_assumed_of_months_fans_and_several_cards_is_said() -> None:
    months = _shown("qwen3 32b for 5 people, 400 dollars a month, 40 hours a week, buy or rent")
    assert "of what is bought for its loss of value and electricity" in months
    shown = _shown("two a10 or two 4090 to train bert-large, buy used")
    assert "for a server's airflow or a fan put on it: a10" in shown
    assert "predicted, not measured" in shown


def test_a_named_card_is_held_below_its_power_and_is_slower() -> None:
    full, held = (
        choose(f"one rtx 4090{cap} for qwen3-8b in 4 bits, how fast is it", Facts(today=DAY)).value.options[0]
        for cap in ("", " limited to 320 W")
    )
    ratio = held.throughput.value / full.throughput.value
    assert ratio == pytest.approx((320 / 450) ** (1 / 3))
    with pytest.raises(GpuwiseError, match="450W"):  # Less than a card is limited to
        choose("one rtx 4090 limited to 250 W for qwen3-8b in 4 bits, how fast is it", Facts(today=DAY))


def test_what_is_there_runs_on_the_supply_that_is_there() -> None:
    text = "two 1100 W servers with 4x A5000 each are there, serve qwen2.5-72b to 24 people"
    found = choose(text, Facts(today=DAY)).value
    assert (found.options[0].way, found.options[0].count) == ("have", 4)
    assert found.need.concurrent == 12


def test_people_are_served_by_single_machines_side_by_side() -> None:
    need = replace(need_for("served:qwen2.5-7b"), concurrent=180, acquire="rent", only=("rtx-a5000",))
    found = choose(need, Facts(today=DAY)).value
    first = found.options[0]
    assert first.count == first.replicas > 1
    assert any("is offered: counted" in text for text in found.advice)
    with pytest.raises(NoDataError, match="does not fit"):  # On one alone
        choose(replace(need, gpus=(1, 1)), Facts(today=DAY))


def test_a_first_token_that_is_limited_leaves_the_usual_time_of_each() -> None:
    limited = need_for("served:llama-3.1-8b", latency=Latency("TTFT", 2.0))
    assert (limited.latency_s, limited.first_token_s) == (0.05, 2.0)
    with pytest.raises(InputError) as caught:
        choose(replace(limited, first_token_s=1e-4, acquire="rent"), Facts(today=DAY))
    assert caught.value.code == "limits"
    assert "TTFT<=" in (caught.value.hint or "")


def test_every_limit_that_is_broken_is_the_reason() -> None:
    with pytest.raises(InputError, match=r"misses the deadline.*over budget"):
        choose("pretrain a 1B model on 2T tokens in 2 days for 300 dollars", Facts(today=DAY))


def test_a_laptop_is_replaced_by_no_card_and_is_none() -> None:
    text = "laptop for vit training, 2000 euro, a laptop 4090?"
    found = choose(text, Facts(today=DAY)).value
    assert {catalog.get(option.gpu_id).text("form") for option in found.options} == {"laptop"}
    # A card beside a laptop that is there is meant as one.
    beside = choose("my laptop 4060 runs sdxl, would a 5090 be faster?", Facts(today=DAY)).value
    assert "rtx-5090" in {option.gpu_id for option in beside.options}


def test_slow_double_precision_is_said_in_figures() -> None:
    text = "gpu for gromacs in fp64, 5000 dollars, a friend says two rtx 4090 are the fastest"
    found = choose(text, Facts(today=DAY)).value
    assert any("1/64 of its rate in FP32" in each for each in found.refused)
    assert any(note.startswith("gromacs: nothing here is just that") for note in found.need.notes)


def test_adapters_of_flux_learn_on_weights_of_4_bits_where_8_are_too_large() -> None:
    need = replace(need_for("flux", mode="lora"), only=("rtx-4060-ti-16gb",), acquire="own")
    assert choose(need, Facts(today=DAY)).value.need.least_gb == 12
    large = choose(replace(need, only=("rtx-3090",)), Facts(today=DAY)).value
    assert large.need.least_gb == 24


def test_weights_that_do_not_fit_are_tried_in_fewer_bits() -> None:
    need = need_for("served:llama-3.1-70b", precision="bf16")
    with pytest.raises(NoDataError, match="in int4 it fits: 2 x RTX 3090"):
        choose(replace(need, sets=(("rtx-3090", 2),), acquire="own"), Facts(today=DAY))


def test_named_cards_share_what_comes_each_day() -> None:
    text = "t4 or l4 on gcp for whisper, 450 hours of audio a day"
    first = choose(text, Facts(today=DAY)).value.options[0]
    assert (first.gpu_id in ("t4", "l4"), first.count > 1) == (True, True)


def test_a_computer_that_is_carried_stands_beside_laptops() -> None:
    text = "MacBook M4 Max 128 GB or a laptop with an RTX 5090 for a 70b"
    assert choose(text, Facts(today=DAY)).value.options[0].gpu_id == "apple-m4-max"


def test_hours_of_idling_are_no_hours_of_use() -> None:
    need = need_of("a 4090 for qwen3-8b, idle 20 hours a day", {}, {})[0]
    assert need.assumptions.hours_per_week == 28
    assert need_of("an l4 for qwen3-8b, 20 hours a day", {}, {})[0].assumptions.hours_per_week == 140


@pytest.mark.parametrize(
    ("workload", "given", "unused"),
    [
        (
            "resnet50",
            {"mode": "train", "acquire": "rent", "electricity": "$0.5/kWh", "power": "700W", "quiet": True},
            {"the price of electricity", "the watts", "quiet"},
        ),
        ("resnet50", {"mode": "train", "acquire": "own", "electricity": "$0.5/kWh", "cooling": "2"}, set()),
        ("resnet50", {"mode": "train", "acquire": "own", "spot": "ok"}, {"spot"}),
        ("resnet50", {"mode": "train", "acquire": "rent", "utilisation": "50%"}, set()),
    ],
)
def test_an_option_that_changes_nothing_is_named(workload: str, given: dict[str, Any], unused: set) -> None:
    found = choose(need_of(workload, given, {})[0], alternatives=False).value
    assert {*found.need.ignored} == unused
    assert not [word for word in ("$0.5 a kWh", "700 W") if unused and word in str(found.answer)]


def test_hours_that_are_paid_for_and_not_used_do_no_work() -> None:
    given = {"users": "50", "acquire": "rent", "budget": "$9000/month"}
    whole, half = (
        choose(need_of("llama-3.1-8b", {**given, **more}, {})[0], alternatives=False).value.answer
        for more in ({}, {"utilisation": "50%"})
    )
    done = [float(re.search(r"h: ([\d.]+) G tokens", text)[1]) for text in (whole, half)]
    assert done[1] == pytest.approx(done[0] / 2, rel=0.02)


def test_every_price_of_an_answer_has_its_month() -> None:
    for given in (
        {"acquire": "own", "condition": "used", "budget": "$1500"},
        {"acquire": "rent"},
        {"gpu": "h100-pcie-80gb", "acquire": "own", "budget": "$500"},
    ):
        try:
            found = choose(need_of("resnet50", {"mode": "train", **given}, {})[0]).value
            said = [found.runner_up, *found.changes]
        except GpuwiseError as error:
            said = [str(error), error.hint or ""]
        for text in said:
            for price in re.finditer(r" at \$[\d,.]+\d(?:/h)?", text):
                after = text[price.end() : price.end() + 22]
                assert re.match(r" of 20\d\d-\d\d| or less| a card", after) or "first at" in text, text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("is one RTX 4090 enough for a 13B at 9 tokens per second", None),  # A speed of the asker's own
        ("rent one L40S to serve a 7B", "by default each token within 50 ms (--latency)"),
        ("one L4 for a 32B in 4 bit", "no option within the limits makes each token within 50 ms"),
        ("does a 671B deepseek in fp8 run on 8x A100 80GB or on 8x H200", None),
    ],
)
def test_the_default_pace_is_said_as_one_and_as_the_options_keep_it(text: str, said: str | None) -> None:
    found = choose(text, Facts(today=date(2026, 11, 30))).value
    pace = [note for note in found.need.notes if "within 50 ms" in note]
    assert pace == ([said] if said else []) or (said is None and "by default" in pace[0])
    late = [max(1, found.need.concurrent) / o.throughput.value > 0.05 for o in found.options]
    assert all(late) if said and said.startswith("no option") else not all(late)


def test_a_node_is_compared_with_nodes_and_counted_in_them() -> None:
    need = need_of("an 8x A100 80GB node for llama 405B in fp8, or rather H200?", {}, {})[0]
    assert ("h200-sxm", 8) in need.sets
    one = need_of("an A100 80GB for llama 8B, or rather one H200?", {}, {})[0]
    assert ("h200-sxm", 1) in one.sets
    with pytest.raises(GpuwiseError, match="3 machines of 8 have the memory"):
        choose("llama 405B in bf16 on 8x L40S nodes, how many?", Facts(today=date(2026, 11, 30)))


@pytest.mark.parametrize(
    ("text", "gib", "able"),
    [
        ("my rtx 4080 and a second-hand v100 sxm2 16gb next to it for a 27b", 32, True),
        ("rtx 3090 24gb here, adding a 5060 ti 16gb for 70b models", 40, False),
    ],
)
def test_unlike_cards_answer_together(text: str, gib: int, able: bool) -> None:
    answer = choose(text, Facts(today=DAY)).value.answer
    assert f"{gib} GiB" in answer
    assert ("together hold it" in answer) == able
    assert ("together do not hold it" in answer) != able


def test_a_price_of_a_computer_is_that_of_its_memory() -> None:
    """512 GB are sold for a known price, 96 GB are not."""
    small, most = (
        choose(f"mac studio m3 ultra {size}gb or dgx spark for gpt-oss-120b", Facts(today=DAY)).value
        for size in (96, 512)
    )
    last = [next(o.last_usd for o in each.options if o.gpu_id == "apple-m3-ultra") for each in (small, most)]
    assert last == [None, 9500.0]


def test_machines_that_are_asked_for_are_paid_in_all() -> None:
    """60 people on 10 machines for 14 weeks of 4 h: 3,360 hours of a GPU, where each rents one."""
    text = (
        "course with 60 students, 14 weeks, 4 h lab per week, everyone trains resnet50. rent cloud gpus or "
        "buy 10 workstations? 12000 eur total"
    )
    found = choose(text, Facts(today=DAY)).value
    rent = next(o.per_hour_usd for o in found.options if o.way in RENTS)
    bought = next(o.outlay_usd for o in found.options if o.outlay_usd)
    assert (found.need.machines, found.need.sharing) == (10, 60)
    assert f"3,360 GPU-hours, {usd(3360 * rent)} " in found.answer
    assert f"bought take {usd(10 * bought)}" in found.answer
    assert 10 * bought <= 12000 * found.need.currency[1]
    assert not found.need.ignored


def test_an_hour_that_is_paid_whole_is_known_as_well_as_its_price() -> None:
    """40 M tokens take eight A100 23 minutes, 40 at the low end: one hour in any case."""
    need = need_for("llama-3.1-8b", mode="full", work=Work(4e7, None, "token"), gpus=(8, 8))
    need = replace(need, acquire="rent", only=("a100-sxm4-40gb",))
    option = choose(need, Facts(today=DAY)).value.options[0]
    assert option.time_s
    assert option.time_s.high < 3600
    for end in ("low", "value", "high"):
        assert getattr(option.cost_usd, end) == pytest.approx(getattr(option.price_usd, end), rel=1e-3)


def test_people_at_the_same_time_share_a_machine_and_no_card() -> None:
    text = "3 of us fine-tune mistral 7b by qlora at the same time, {} office, 8000 dollars"
    one, own = (choose(text.format(where), Facts(today=DAY)).value for where in ("one box in the", "in an"))
    for found, number in ((one, 1), (own, 3)):
        first = found.options[0]
        assert first.host_usd == pytest.approx(number * host_of(first.gpu_id, 3 // number)[1])
    assert one.need.users == own.need.users == 3
