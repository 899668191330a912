"""What a piece of work means, and what contradicts itself."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from gpuwise.errors import InputError
from gpuwise.judge.choose.need import check, need_for, need_of, presets, settled, unknown
from gpuwise.model.judgement import Assumptions
from gpuwise.model.units import Latency, Work
from gpuwise.predictor.fit import STATE_BYTES

IMAGES = Work(1e6, None, "image")


def test_a_workload_alone_is_a_whole_need() -> None:
    need = need_for("resnet50")
    assert (need.workloads, need.mode, need.precision) == ((("resnet50", 1.0),), "train", "bf16")
    assert (need.acquire, need.spot, need.gpus) == ("both", None, (1, 1))
    check(need)


def test_what_full_training_counts_is_said_as_fit_counts_it() -> None:
    size = 2 + STATE_BYTES["adamw32"]
    short = 2 + STATE_BYTES["adamw"]
    (note,) = (n for n in need_for("llama-3.1-8b", mode="full").notes if "AdamW" in n)
    assert (f"{size} bytes a parameter" in note, f"takes {short}" in note) == (True, True)
    assert not any("AdamW" in n for n in need_for("llama-3.1-8b", mode="lora").notes)


def test_at_most_three_names_are_guessed() -> None:
    error = unknown("lama-3.1-8b resnt50 bert-larg")
    assert str(error).partition("did you mean ")[2].count(" or ") == 2


def test_weights_are_shares() -> None:
    found = need_for((("resnet50", 3.0), ("bert-large", 1.0))).workloads
    assert found == (("resnet50", 0.75), ("bert-large", 0.25))


@pytest.mark.parametrize(
    ("name", "mode", "workload", "runs"),
    [
        ("llm-8b", "finetune", "llm-8b-lora", "train"), ("llm-1b", "finetune", "llm-1b-lora", "train"),
        ("llm-8b", "infer", "llm-8b-decode", "infer"), ("resnet50", "finetune", "resnet50", "train"),
        ("llm-1b", "train", "llm-1b", "train"), ("llm-1b", "infer", "llm-1b-decode", "infer"),
        ("resnet50", "infer", "resnet50", "infer"),
        ("llm-8b-decode", None, "llm-8b-decode", "infer"),
    ],
)  # fmt: skip
def test_short_names_and_purposes(name, mode, workload: str, runs: str) -> None:
    need = need_for(name, mode=mode)
    assert (need.workloads[0][0], need.mode) == (workload, runs)


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_a_need(name: str) -> None:
    check(need_for(name))


def test_what_is_given_overrides_a_preset() -> None:
    need = need_for("llm-inference", latency=Latency("TPOT", 0.02), gpus=(2, 2))
    assert (need.latency_s, need.gpus, need.workloads[0][0]) == (0.02, (2, 2), "llm-8b-decode")
    assert need_for("llm-inference").latency_s == 0.05


def test_a_latency_is_of_the_phase_that_the_workload_runs() -> None:
    need = need_for("llm-8b-prefill", latency=Latency("TTFT", 2.0))
    assert (need.latency_s, need.latency_kind) == (2.0, "TTFT")
    with pytest.raises(InputError, match="of a prefill workload"):
        need_for("llm-8b-decode", latency=Latency("TTFT", 2.0))
    both = Latency("TPOT", 0.05, 2.0)
    with pytest.raises(InputError, match="first token, only"):
        need_for("llm-8b-decode", latency=both)
    need = need_for("llama-3.1-8b", latency=both)
    assert (need.latency_s, need.latency_kind, need.first_token_s) == (0.05, "TPOT", 2.0)


@pytest.mark.parametrize(
    ("name", "mode", "meant"),
    [
        ("sd", None, "infer"),
        ("dit-xl2", None, "infer"),
        ("sd", "train", "train"),
        ("bert-large", None, "train"),
    ],
)
def test_a_model_of_images_makes_them_unless_it_is_to_learn(name: str, mode, meant: str) -> None:
    assert need_of(name, {"mode": mode}, {})[0].mode == meant


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"work_on": ""}, "which workload"),
        ({"work_on": ()}, "which workload"),
        ({"work_on": "resnet5"}, "unknown workload"),
        ({"work_on": "launch"}, "which no GPU is chosen for"),
        ({"work_on": "llm-8b"}, "which mode of llm-8b"),
        ({"work_on": "llm-8b", "mode": "train"}, "llm-8b has no mode train"),
        ({"work_on": "llm-1b", "mode": "infer", "precision": "fp12"}, "does not run in"),
        ({"work_on": "resnet50", "precision": "fp4"}, "does not run in fp4"),
        ({"work_on": (("resnet50", 1), ("bert-large", 1)), "work": IMAGES}, "a mix has no item"),
        ({"work_on": "resnet50", "work": Work(1e6, None, "token")}, "counts images"),
        ({"work_on": "resnet50", "form": "cube"}, "unknown form"),
        ({"work_on": "resnet50", "latency": Latency("TPOT", 0.03)}, "of a decode workload"),
        ({"work_on": "llama-3.1-8b", "mode": "qlora", "latency": Latency("TPOT", 0.03)}, "of answers"),
        ({"work_on": "resnet50", "mode": "compute"}, "has no mode compute"),
        ({"work_on": (("scientific-fp64", 1), ("bert-large", 1))}, "no mode in common"),
        ({"work_on": (("resnet50", 1), ("bert-large", 1)), "precision": "fp4"}, "resnet50 does not run in"),
    ],
)
def test_what_is_refused(asked, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        need_for(**asked)
    assert error.value.hint


def test_a_preset_within_a_mix_is_what_it_consists_of() -> None:
    mix = need_of("scientific-fp64 60 %, cholesky 40 %", {}, {})[0]
    assert mix.workloads == (("fft", pytest.approx(0.2)), ("cholesky", 0.6), ("stencil", pytest.approx(0.2)))
    assert mix.precision == "fp64"


def test_tokens_of_what_counts_sequences_and_names_of_a_mix_that_others_stand_in_for() -> None:
    assert need_for("bert-large", mode="infer", work=Work(384e3, None, "token")).items == 1000
    mix = need_of("llama-3.1-8b 60 %, whisper 40 %", {}, {})[0]
    assert mix.workloads == (("llm-8b-decode", 0.6), ("llm-1b-decode", 0.4))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"deadline_s": 86400.0}, "needs an amount of work"),
        ({"items": 1e6, "period_s": 86400.0, "deadline_s": 86400.0}, "has no deadline"),
        ({"assumptions": Assumptions(hours_per_week=200)}, "hours of use a week"),
        ({"assumptions": Assumptions(cooling=0.5)}, "at least 1"),
        ({"assumptions": Assumptions(utilisation=0.0)}, "no work gets done"),
        ({"acquire": "steal"}, "own, rent or both"),
        ({"acquire": "rent", "form": "laptop"}, "not rented"),
        ({"have": ("nosuch",)}, "nosuch"),
    ],
)
def test_parts_that_contradict_each_other(changes, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        check(replace(need_for("resnet50"), **changes))
    assert error.value.hint


@pytest.mark.parametrize(
    ("name", "counted"), [("llama-3.1-8b", "tokens"), ("sdxl", "images"), ("fft", "FLOPs")]
)
def test_a_deadline_names_what_the_work_is_counted_in(name: str, counted: str) -> None:
    with pytest.raises(InputError) as error:
        check(replace(need_for(name), deadline_s=86400.0))
    assert counted in str(error.value.hint)


@pytest.mark.parametrize("work", ["2000 hours", "2k hours", "2000h", "2000 hours of audio"])
def test_speech_is_counted_in_hours_of_audio(work: str) -> None:
    need = need_of("whisper", {"work": work}, {})[0]
    assert need.items == pytest.approx(2000 * 8e5)
    assert need.workloads == (("llm-1b-decode", 1.0),)


def test_a_context_is_of_a_language_model_by_name() -> None:
    assert need_of("llama-3.1-8b", {"context": "16k"}, {})[0].context == 16_384
    with pytest.raises(InputError, match="resnet50"):
        need_of("resnet50", {"context": "16k"}, {})


@pytest.mark.parametrize("of_rent", [{"provider": "runpod"}, {"region": "europe"}, {"egress": "500GB"}])
def test_what_is_bought_has_no_provider_region_or_egress(of_rent) -> None:
    assert need_of("resnet50", of_rent, {})[0].acquire != "own"
    with pytest.raises(InputError, match=next(iter(of_rent))):
        need_of("resnet50", {"acquire": "own", **of_rent}, {})


@pytest.mark.parametrize(
    ("typed", "has", "lacks"),
    [
        ("24GB..", "rtx-3090", "rtx-3080-10gb"),
        ("laptop", "rtx-4050-laptop", "rtx-4090"),
        ("amd", "mi300x", "rtx-4090"),
        ("h100", "h100-pcie-80gb", "h200-sxm"),
        ("fp8", "l4", "a10"),
    ],
)
def test_gpus_are_named_or_meant_by_a_filter(typed: str, has: str, lacks: str) -> None:
    only = need_of("resnet50", {"gpu": typed}, {})[0].only
    assert has in only
    assert lacks not in only


@pytest.mark.parametrize(("characters", "refused"), [(2000, False), (2001, True)])
def test_a_question_has_an_end(characters: int, refused: bool) -> None:
    asked = "train bert-large".ljust(characters - 1) + "x"
    with pytest.raises(InputError, match="2,000") if refused else nullcontext():
        need_of(asked, {}, {"USD": 1.0})


def test_deadlines_count_from_the_day_that_is_given_else_from_today() -> None:
    day = date(2020, 1, 1)
    for start, given in ((day, day), (date.today(), None)):
        end = (start + timedelta(days=10)).isoformat()
        need, _ = need_of("resnet50", {"work": "1M images", "deadline": end}, {}, today=given)
        assert need.deadline_s == 10 * 86400


@pytest.mark.parametrize(
    ("typed", "usd", "code"),
    [
        ("8000 zł", 2000.0, "PLN"), ("kr 8000", 800.0, "SEK"), ("CHF 1'200", 1440.0, "CHF"),
        ("2 lakh INR", 2000.0, "INR"), ("A$2500", 1750.0, "AUD"), ("3 €/h", 3.3, "EUR"),
        ("$3000", 3000.0, "USD"),
    ],
)  # fmt: skip
def test_a_budget_is_read_as_it_is_written_in_any_country(typed: str, usd: float, code: str) -> None:
    rates = {"EUR": 1.1, "PLN": 0.25, "SEK": 0.1, "CHF": 1.2, "INR": 0.01, "AUD": 0.7}
    need, _ = need_of("resnet50", {"budget": typed}, rates)
    assert need.budget_usd == pytest.approx(usd)
    assert need.currency[0] == code


def test_a_budget_that_is_none_is_refused_as_it_was_typed() -> None:
    with pytest.raises(InputError, match="10 potatoes"):
        need_of("resnet50", {"budget": "10 potatoes"}, {})


@pytest.mark.parametrize(
    ("work", "items", "hours"),
    [("10000 gpu hours", None, 10_000.0), ("5 lakh images", 5e5, None), ("1,2 Mio Bilder", 1.2e6, None)],
)
def test_an_amount_is_read_as_in_a_question(work: str, items: float | None, hours: float | None) -> None:
    need, _ = need_of("sdxl", {"work": work}, {})
    assert (need.items, need.hire_h) == (items, hours)


def test_a_make_without_a_form_is_said() -> None:
    with pytest.raises(InputError, match="of NVIDIA, is of the form oam"):
        settled(replace(need_for("bert-large"), form="oam", only=("h100-sxm5-80gb", "l4")))


def test_a_time_alone_is_of_a_step_where_there_are_no_tokens() -> None:
    rates = {"USD": 1.0}
    need, _ = need_of("resnet50", {"latency": "10ms"}, rates)
    assert (need.mode, need.latency_s, need.latency_kind) == ("infer", 0.01, "step")
    for model in ("llama-3.1-8b", "llm-8b-decode"):
        need, _ = need_of(model, {"latency": "30ms"}, rates)
        assert (need.latency_s, need.latency_kind) == (0.03, "TPOT")
    with pytest.raises(InputError, match="learns"):
        need_of("resnet50", {"latency": "10ms", "mode": "train"}, rates)


def test_a_budget_by_the_hour_is_of_rent_unless_something_is_there() -> None:
    rates = {"USD": 1.0}
    assert need_of("resnet50", {"budget": "2/h"}, rates)[0].acquire == "rent"
    assert need_of("resnet50", {"budget": "2/h", "acquire": "both"}, rates)[0].acquire == "both"
    assert need_of("resnet50", {"budget": "2/h", "have": "rtx-3090"}, rates)[0].acquire == "both"
    assert need_of("resnet50", {"budget": "$200/month"}, rates)[0].acquire == "both"


def test_a_sum_to_buy_with_is_for_the_most_that_it_buys() -> None:
    rates = {"USD": 1.0}
    own = {"acquire": "own", "budget": "3000"}
    goals = [
        need_of("resnet50", own | more, rates)[0].goal
        for more in ({}, {"work": "1M images"}, {"users": "5"}, {"acquire": "both"})
    ]
    assert goals == ["speed", "cost", "cost", "cost"]
    each, _ = need_of("llama-3.1-8b", {"mode": "qlora", "users": "5"}, rates)
    assert (each.users, each.gpus) == (5, (1, 1))  # A machine for each, and one card in it


@pytest.mark.parametrize(
    ("asked", "shares"),
    [
        (["resnet50", "bert-large"], (0.5, 0.5)),
        ({"resnet50": 0.3, "bert-large": 0.7}, (0.3, 0.7)),
        ((("resnet50", 3.0), ("bert-large", 1.0)), (0.75, 0.25)),
    ],
)
def test_several_workloads_with_and_without_shares(asked: Any, shares: tuple[float, ...]) -> None:
    assert [share for _, share in need_for(asked).workloads] == pytest.approx(shares)


def test_names_are_no_numbers_of_gpus() -> None:
    with pytest.raises(InputError, match="two numbers"):
        need_for("resnet50", gpus=("h100", "h200"))  # type: ignore[arg-type]
