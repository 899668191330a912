"""Language models by name: what is asked, what fits, which batch."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import catalog, llms
from gpuwise.judge.choose import ask
from gpuwise.judge.choose.need import item_of, need_for, need_of
from gpuwise.judge.choose.speeds import alone, dealt_out, gather, largest_models
from gpuwise.model.precision import Precision
from gpuwise.model.units import parse_latency, parse_work
from gpuwise.predictor.fit import Plan, fit


def speeds(need, *gpus: str, counts: tuple[int, ...] = (1,)):
    return {(r.gpu_id, r.gpus): r for r in gather(need, dict.fromkeys(gpus, counts), None)}  # type: ignore[arg-type]


def test_a_model_is_served_unless_it_is_to_be_trained() -> None:
    served = need_for("llama-3.1-70b", work=parse_work("20M tokens/day"))
    assert (served.task, served.mode, served.precision, served.gpus) == ("infer", "infer", "bf16", (1, 8))
    assert served.latency_s == 0.05
    tuned = need_for("llm-8b", mode="qlora")
    assert (tuned.workloads[0][0], tuned.task, tuned.mode, tuned.precision) == (
        "llama-3.1-8b", "qlora", "train", "nf4",
    )  # fmt: skip
    assert item_of(tuned) == "token"


def test_built_in_work_keeps_its_own_measured_speeds() -> None:
    assert need_for("llm-8b", mode="finetune").task == ""
    assert need_for("resnet50").task == ""


def test_what_does_not_fit_says_so_and_several_share_it() -> None:
    found = speeds(need_for("llama-3.1-70b", precision="bf16"), "rtx-4090", "h100-sxm5-80gb", counts=(1, 4))
    assert "does not fit" in found["h100-sxm5-80gb", 1].refusal
    assert found["h100-sxm5-80gb", 4].throughput is not None
    assert "does not fit" in found["rtx-4090", 4].refusal


def test_adapters_on_four_bits_fit_where_sixteen_do_not() -> None:
    lora, qlora = (speeds(need_for("llama-3.1-8b", mode=m), "rtx-4070-ti")["rtx-4070-ti", 1]
                   for m in ("lora", "qlora"))  # fmt: skip
    assert "does not fit" in lora.refusal
    assert qlora.throughput is not None


@pytest.mark.parametrize("precision", ["int4", "fp8"])
def test_one_format_is_asked_of_every_card(precision: str) -> None:
    need = need_for("llama-3.1-8b", precision=precision)
    assert all(found.throughput is not None for found in speeds(need, "rtx-3090", "rtx-4090").values())
    assert speeds(need, "rtx-3090")["rtx-3090", 1].question.precision == precision


def test_a_tighter_latency_takes_a_smaller_batch() -> None:
    fast, slow = (
        speeds(need_for("llama-3.1-8b", latency=parse_latency(f"TPOT<={ms}ms")), "h100-sxm5-80gb")
        for ms in (8, 50)
    )
    one, many = fast["h100-sxm5-80gb", 1], slow["h100-sxm5-80gb", 1]
    assert one.seconds is not None
    assert one.seconds <= 0.008
    assert one.throughput.value < many.throughput.value


def test_other_vendors_stand_apart_and_formats_are_compared() -> None:
    stand = {"mi210": "bf16", "mi300x": "int4", "arc-b580": "int4", "rx-7900-xtx": "int4"}
    for gpu, precision in stand.items():
        (record,) = speeds(need_for("llama-3.1-8b", precision=precision), gpu).values()
        assert [issue.code for issue in record.issues] == ["order-of-magnitude"]


def test_a_card_of_another_maker_is_ranked_by_what_is_public_of_it() -> None:
    """In a format of which a speed is, and only for one person on a card that people run llama.cpp on."""
    need = need_for("llama-3.1-70b")
    found = speeds(need, "mi300x", "mi325x", "mi355x")
    assert [record.basis for record in found.values()] == ["calibrated", "transferred", "transferred"]
    assert not any(record.is_rough or record.issues for record in found.values())
    best = found["mi300x", 1]
    batch = int(best.notes[0].removeprefix("batch "))
    plan = Plan(model=llms.find("llama-3.1-70b"), weights=Precision.FP8, context=4096, batch=batch)
    assert (best.question.precision, best.throughput) == ("fp8", fit(plan, "mi300x").tokens_per_s)
    # At most 1.1 of an H200 with its memory and bandwidth, which the data sheet alone says.
    assert 0.3 < best.throughput.value / speeds(need, "h200-sxm")["h200-sxm", 1].throughput.value < 0.9
    many = need_for("llama-3.1-8b")
    local = replace(many, concurrent=1)
    for gpu in ("rx-7900-xtx", "radeon-8060s", "apple-m4-max"):
        mine, ours = speeds(local, gpu)[gpu, 1], speeds(many, gpu)[gpu, 1]
        assert (str(mine.question.precision), mine.is_rough, ours.is_rough) == ("q4_k_m", False, True)
    for gpu in ("rx-6800-xt", "arc-b580"):
        assert speeds(local, gpu)[gpu, 1].is_rough


@pytest.mark.parametrize(
    "asked",
    [{"mode": "compute"}, {"precision": "fp64"}, {"work": parse_work("5 images")}],
)
def test_what_a_model_cannot_be_asked_is_refused(asked) -> None:
    with pytest.raises(InputError):
        need_for("served:llama-3.1-8b", **asked)


def test_a_worker_paid_by_the_second_answers_one_request_at_a_time() -> None:
    need = need_for("llama-3.1-8b", work=parse_work("1M tokens/day"))
    (many,) = speeds(need, "l4").values()
    one = alone(need, many)
    assert one.throughput is not None
    assert many.throughput.value > 3 * one.throughput.value
    assert one.notes == ("batch 1",)


@pytest.mark.parametrize(
    ("text", "workload", "mode", "fields"),
    [
        ("serve qwen3 32b to 20 users with 8k context", "qwen3-32b", "infer", {"users": 20, "context": 8192}),
        ("best gpu for stable diffusion under 800", "stable-diffusion", "infer", {"budget_usd": 800.0}),
        ("fine tune mistral 7b on a weekend for $48", "mistral-7b", "finetune",
         {"budget_usd": 1.0, "budget_per_hour": True, "acquire": "rent"}),
        ("I have an RTX 4090, is a 5090 worth it for resnet50?", "resnet50", None,
         {"have": ("rtx-4090",), "sets": (("rtx-5090", 1),), "upgrade": False, "acquire": "own"}),
        ("upgrade from my 2080 ti", "resnet50", "train", {"have": ("rtx-2080-ti",), "upgrade": True}),
        ("we may not use the cloud: run gpt-oss-120b", "gpt-oss-120b", "infer", {"acquire": "own"}),
        ("250 euros a month to rent for bert-large", "bert-large", None,
         {"budget_usd": 275.0, "budget_per_month": True, "acquire": "rent"}),
        ("should I buy a 5090 or rent an H100", "resnet50", "train", {"acquire": "both"}),
        ("best gpu under 500 dollars for llms", "llama-3.1-8b", None,
         {"goal": "speed", "budget_usd": 500.0, "acquire": "own"}),
        ("I run 8 H100 at 0.2 EUR per kWh, is renting cheaper for llama 70b", "llama-70b", "infer",
         {"have": ("h100-sxm5-80gb",) * 8, "acquire": "both"}),
        ("serve qwen3-32b to 20 users, first token below 1 second", "qwen3-32b", "infer",
         {"latency": ("TTFT", 1.0, None), "users": 20}),
        ("3 people and each needs a workstation for llama 3.2 3b", "llama-3.2-3b", None,
         {"users": 3, "concurrent": 1, "acquire": "own"}),
        ("I do not want to rent: bert-large", "bert-large", None, {"acquire": "own"}),
        ("qwen 2.5 32b on one card", "qwen-2.5-32b", None, {}),
        ("rent rather than buy for bert-large", "bert-large", None, {"acquire": "rent"}),
    ],
)  # fmt: skip
def test_a_question_in_words(text: str, workload: str, mode: str | None, fields: dict[str, object]) -> None:
    asked = ask.read(text, {"EUR": 1.1})
    assert (asked.workload, asked.mode) == (workload, mode)
    for name, value in fields.items():
        assert asked.fields.get(name) == (pytest.approx(value) if isinstance(value, float) else value), name


def test_a_vendor_limits_the_choice_and_what_was_not_read_is_said() -> None:
    asked = ask.read("AMD card for llama 8b and poetry", {})
    assert {catalog.get(gpu).vendor for gpu in asked.fields["only"]} == {"AMD"}
    assert asked.fields["ignored"] == ("poetry",)
    with pytest.raises(InputError, match="00"):
        ask.read("best gpu for stable diffusion under 00", {})
    with pytest.raises(InputError, match="known: "):
        ask.read("weaving of a carpet", {})


def test_every_card_may_use_every_format_so_that_memory_is_never_a_burden() -> None:
    """A card with more memory and bandwidth is no slower; what no rule reads of a limit stops the answer."""
    need = need_for("llama-3.1-8b")
    found = speeds(replace(need, concurrent=1), "rtx-5060", "rtx-4070-ti", "rtx-4090")
    rates = [found[gpu, 1].value for gpu in ("rtx-5060", "rtx-4070-ti", "rtx-4090")]
    assert rates == sorted(rates)
    for text, field, value in (
        ("llama 70b with at least 40 GB each", "memory_gb", (40.0, None)),
        ("quiet card under 200 watts for llama 8b", "power_w", 200.0),
        ("llama 8b on a pc with a 650 W psu", "power_w", 450.0),
        ("train resnet50 on 90 epochs of imagenet this weekend", "deadline_s", 172800.0),
        ("llama 8b that fits in a 3 kW circuit", "outlet_w", 3000.0),
        ("llama 8b on a 1500 W breaker", "outlet_w", 1500.0),
    ):
        assert ask.read(text, {}).fields[field] == value


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("I have 2x 3060 12GB, what next for llama 70b", None),
        ("I have an A100 80GB, is a 5090 faster for bert-large?", None),
        ("llama 3.1 70b on 2x RTX 3090 24GB or one RTX PRO 6000 96GB", None),
        ("3090 24GB or 4090, at least 20 GB, for bert", (20.0, None)),
        ("cheapest 24gb card", (24.0, 24.0)),
    ],
)
def test_a_size_in_the_name_of_a_gpu_is_no_limit(
    text: str, memory: tuple[float, float | None] | None
) -> None:
    assert ask.read(text, {}).fields.get("memory_gb") == memory


@pytest.mark.parametrize(
    ("text", "gpus"), [("p40 or t4 for llama 8b", 2), ("a40, l4 or a16 for bert", 3), ("bert", 0)]
)
def test_short_names_of_gpus_are_read(text: str, gpus: int) -> None:
    assert len(dict(ask.read(text, {}).fields.get("sets", ()))) == gpus


def test_a_price_of_energy_is_no_budget_and_a_number_of_gpus_counts_for_those_named() -> None:
    asked = ask.read(
        "energy is 0.40 euros per kWh, what to buy to train resnet50 around the clock", {"EUR": 1.5}
    )
    assert "budget_usd" not in asked.fields
    assert asked.assumed == pytest.approx({"electricity_usd_per_kwh": 0.6, "hours_per_week": 168.0})
    need = ask.need_of(ask.read("buy an HGX H100 server to train llm-1b", {}), {"gpus": (8, 8)})
    assert need.sets == (("h100-sxm5-80gb", 8),)


@pytest.mark.parametrize(
    ("text", "items", "days", "budget"),
    [
        ("train resnet50 90 epochs of imagenet in 3 days for $100", 90 * 1_281_167, 3, 100),
        ("train resnet50 for 90 epochs on ImageNet, three days at most", 90 * 1_281_167, 3, None),
        ("vit-b16, 100 epochs of 1 million images within the next two weeks", 1e8, 14, None),
        ("vit-b16, 100 epochs of 1 million images in under two weeks", 1e8, 14, None),
    ],
)
def test_a_deadline_binds_beside_epochs_and_money(
    text: str, items: float, days: int, budget: int | None
) -> None:
    asked = ask.read(text, {})
    assert asked.work is not None
    assert asked.work.items == pytest.approx(items)
    assert asked.fields["deadline_s"] == days * 86400
    assert asked.fields.get("budget_usd") == budget
    assert not asked.fields.get("budget_per_hour")


@pytest.mark.parametrize(
    ("text", "slots"),
    [("single slot card for llama 8b under $1500", 1), ("llama 8b on a 2-slot card", 2),
     ("resnet50 in two slots", 2), ("resnet50 on a 2.5 slot card", 2.5)],
)  # fmt: skip
def test_slots_in_words_are_a_limit(text: str, slots: float) -> None:
    assert ask.read(text, {}).fields["slots"] == slots


def test_of_several_machines_one_is_answered_for() -> None:
    asked = ask.read("two machines with 4 H100 each to train llama 70b", {})
    assert (asked.fields["machines"], asked.gpus) == (2, (4, 4))
    asked = ask.read("two machines with 8 H100 each to train llama 70b", {})
    assert ("machines" in asked.fields, asked.gpus) == (False, (16, 16))
    asked = ask.read("one machine with 8 H100 to train llama 70b", {})
    assert asked.fields["sets"][0][1] == 8


def test_hours_a_day_are_no_deadline() -> None:
    asked = ask.read("resnet50 at most 8 hours a day", {})
    assert ("deadline_s" in asked.fields, asked.assumed["hours_per_week"]) == (False, 56)
    assert ask.read("resnet50 for five days", {}).fields["ignored"] == ("for 5 days",)


def test_fine_tuning_takes_the_method_that_fits_what_is_there() -> None:
    question = "finetune 70b, have {} x a6000, 10M tokens"
    for cards, task in ((1, "qlora"), (2, "qlora"), (4, "lora")):
        need, _ = need_of(question.format(cards), {}, {})
        assert (len(need.have), need.task) == (cards, task)
    assert need_of("llama-3.1-70b", {"mode": "lora", "have": ("rtx-3090:4",)}, {})[0].task == "lora"


BASES = (
    "card for llama 8b", "train resnet50 at home", "rent a gpu to train bert-large on 2M sequences",
    "serve llama 70b to 20 users", "best gpu for stable diffusion", "is a 4090 enough for qwen3 32b",
    "I have two 3090s, train resnet50", "laptop for resnet50", "mistral 7b with lora for 10M tokens",
)  # fmt: skip
NUMBERS = ("3", "12", "35", "250", "1.5", "4,000", "two", "seven", "three hundred")
UNITS = (
    "db", "TB", "W", "kW", "slots", "cm", "kg", "ms", "hours", "weeks", "years", "%", "monitors", "dollars",
    "GB/s", "TFLOPS", "MHz", "tokens/s", "images", "users", "pins", "fps", "km",
)  # fmt: skip
PLACES = (
    "with {}",
    "under {}",
    "at most {}",
    "at least {}",
    "in {}",
    "{} or more",
    "that draws {}",
    "and {}",
)
WORDS = (
    "low profile", "water cooled", "in Europe", "by friday", "before christmas", "without fans", "no nvidia",
    "hipaa compliant", "with HDMI", "fits in a 2U chassis", "passive cooling", "mini-itx case", "no rgb",
    "green electricity", "on windows", "with infiniband", "available today", "must support av1", "only hbm",
    "single slot", "batch 32", "16 hours a day", "in 8-bit", "no more than 3 days", "never in a data centre",
)  # fmt: skip


def test_no_limit_is_dropped_in_silence() -> None:
    """What a phrase adds to a question changes the need, or there is no answer."""

    def asked(text: str) -> object:
        return replace(ask.need_of(ask.read(text, {})), notes=())

    draw = random.Random(27)
    for base in BASES:
        known = asked(base)
        for _ in range(40):
            amount = draw.choice(PLACES).format(f"{draw.choice(NUMBERS)} {draw.choice(UNITS)}")
            phrase = draw.choice((amount, amount, draw.choice(WORDS)))
            text = draw.choice((f"{base} {phrase}", f"{phrase}, {base}"))
            with suppress(InputError):
                assert asked(text) != known, text
    # What cannot hold is refused, and what is ruled out is never offered.
    assert asked("no spot, card for llama 8b") == replace(asked(BASES[0]), spot=False)
    with pytest.raises(InputError, match="4090"):
        ask.read("is a 4090 enough for qwen3 32b without nvidia", {})


def test_cards_that_share_a_model_take_turns() -> None:
    need = need_for("qwen2.5-32b", mode="infer", precision="int4")
    two, mixed, fast = (
        dealt_out(need, gpus) for gpus in (["rtx-3090"] * 2, ["rtx-3090", "rtx-4090"], ["rtx-4090"] * 2)
    )
    assert two.tokens_per_s.value < mixed.tokens_per_s.value < fast.tokens_per_s.value
    assert mixed.tokens_per_s.value == pytest.approx(
        2 / (1 / two.tokens_per_s.value + 1 / fast.tokens_per_s.value), rel=1e-6
    )
    assert dealt_out(need, ["rtx-3060-12gb"]) is None
    small = dealt_out(need, ["rtx-3060-12gb", "rtx-4070"])
    assert small.weights == "q4_k_m"
    assert small.needed_bytes <= 0.95 * small.room_bytes
    assert dealt_out(need_for("qwen2.5-14b", mode="infer"), ["rtx-3060-12gb", "rtx-4070"]).weights == "q8_0"


@pytest.mark.parametrize(("count", "formats"), [(2, ["bf16", "fp8", "int4"]), (3, ["q8_0", "q4_k_m"])])
def test_the_largest_model_grows_as_its_weights_shrink(count: int, formats: list[str]) -> None:
    found = largest_models(need_for("llama-3.1-8b", mode="infer"), "rtx-3090", count)
    assert [*found] == formats
    sizes = [llms.find(name).parameters for name in found.values()]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("qwen-7b", "qwen2.5-7b"), ("qwen 72b", "qwen2.5-72b"), ("gemma-2b", "gemma-2-2b"),
        ("gemma-7b", "gemma-7b"), ("qwen2.5-7b", "qwen2.5-7b"), ("mixtral-8x7b", "mixtral-8x7b"),
    ],
)  # fmt: skip
def test_a_family_and_a_size_mean_the_newest_of_about_that_size(said: str, meant: str) -> None:
    assert llms.newest(said) == meant


@pytest.mark.parametrize(
    ("text", "model", "task", "also"),
    [
        ("which server to host a 70B, and lora a 7B", "llama-3.1-70b", "infer", ("lora:qwen2.5-7b",)),
        ("lora a 70B and serve a 7B", "llama-3.1-70b", "lora", ("qwen2.5-7b",)),
        ("serve mixtral 8x7b and tune mistral 7b by qlora", "mixtral-8x7b", "infer", ("qlora:mistral-7b",)),
        ("I run a 70B on the train, and now and then lora of an 8B", "llama-3.1-70b", "infer",
         ("lora:llama-3.1-8b",)),
        ("lora a 7B", "qwen2.5-7b", "lora", ()),
        ("train a 7B fully", "qwen2.5-7b", "full", ()),
    ],
)  # fmt: skip
def test_of_two_works_the_larger_counts_and_the_other_is_named(
    text: str, model: str, task: str, also: tuple[str, ...]
) -> None:
    need = need_of(text, {}, {})[0]
    assert (need.workloads[0][0], need.task, need.also) == (model, task, also)


def test_how_often_is_no_number_of_hours() -> None:
    often = need_of("qlora of an 8B three times a week", {}, {})[0]
    stated = need_of("qlora of an 8B, 2 hours three times a week", {}, {})[0]
    assert (often.assumptions.hours_per_week, stated.assumptions.hours_per_week) == (40.0, 6.0)
