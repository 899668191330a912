"""What questions in words say: limits are read, refused, or named as not read; never dropped."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import asdict, replace
from datetime import date
from itertools import islice, product
from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.judge.choose import rules
from gpuwise.judge.choose.answer import limits
from gpuwise.judge.choose.need import need_of, settled
from gpuwise.judge.choose.phrases import fed_by
from gpuwise.judge.choose.wording import plainly
from gpuwise.model.judgement import Assumptions, Bill, Need, Option, Quote
from gpuwise.model.result import Interval

from .asked import questions


def asked(text: str) -> Need:
    return need_of(text, {}, {"EUR": 1.1, "GBP": 1.3, "PLN": 0.25})[0]


@pytest.mark.parametrize(
    "word", ["qlora", "qlorra", "qllora", "qloraa", "qlra", "qora", "qlor", "q-lora", "q lora"]
)
def test_a_letter_doubled_or_left_out_of_qlora_is_of_it(word: str) -> None:
    assert asked(f"wich grafics crd for lama 3.1 8b {word}").task == "qlora"
    assert asked(f"wich grafics crd for lama 3.1 8b {word.replace('q', '', 1).strip(' -')}").task != "qlora"


def test_a_computer_takes_no_card() -> None:
    need = asked("I have a mac studio m2 ultra, thinking of a 3090 for qwen 32b int4, $1500")
    assert need.assumptions.host_usd
    assert len(need.corrected) == 1
    beside = asked("my laptop has a rtx 4060 8gb, is an egpu box with a 5060 ti 16gb for sdxl loras?")
    assert beside.assumptions.host_usd == 0
    assert len(beside.corrected) == 1


def test_a_model_of_an_unknown_name_is_refused_and_not_taken_as_another_of_its_size() -> None:
    for text in ("serve zephyrus-14b for 4 people", "titan-moe-47b, 8 users", "helios 70b on 2 4090",
                 "nova-7b-v3 full", "orion-2 34b instruct for 20 users", "helios-3-90b, gpu?"):  # fmt: skip
        with pytest.raises(InputError) as caught:
            asked(text)
        assert caught.value.code == "workload", text
    for text in (
        "a legal 14b for 4 active users",
        "our own 14b model",
        "qwen 14b instruct",
        "lama 14b, 3090",
    ):
        assert asked(text).corrected == (), text


def test_what_is_still_to_be_bought_is_not_there() -> None:
    text = "is it cheaper to have a 3090 at home for llama 3.1 8b, just for me, or to rent one by the hour?"
    assert asked(text).have == ("rtx-3090",)
    need = asked(f"{text} I'd have to buy it")
    assert (need.have, need.sets, need.either) == ((), (("rtx-3090", 1),), True)
    assert asked(f"{text} We would have to purchase the card").have == ()
    assert asked("I have a 3090; rent a 4090 for llama 3.1 8b? I'd need to buy it otherwise").have == (
        "rtx-3090",
    )


def test_what_somebody_gives_a_month_is_no_bill() -> None:
    need = asked("boss gives me 400 dollars a month for a server for llama 3.1 8b, what do i rent")
    assert (need.bill, need.budget_usd, need.budget_per_month) == (None, 400, True)
    assert asked("we rent at 400 dollars a month, llama 3.1 8b").bill is not None
    # What takes only the hours that its work needs is paid for these.
    month = asked("train bert-large on 2 million sentences of 128 tokens each month, $50 a month")
    assert month.batched
    assert not any("pay for" in said for said in limits(month))


@pytest.mark.parametrize(
    ("text", "passes", "items"),
    [
        ("train resnet152 on 1.2 million images of 512x512, 30 epochs", (512 / 224) ** 2, 36e6),
        ("train resnet50 on 1M images at 224x224", 1.0, 1e6),
        ("train resnet50 on 1M images of 640x320", 640 * 320 / 224**2, 1e6),
        ("train yolov8s on 10k images at 1280 px, 100 epochs", 3.5 * 4, 1e6),  # Its makers' is of 640
        ("train yolov8s on 10k images at 640 px, 100 epochs", 3.5, 1e6),
        ("train vit-b16 on 1M images of 384 px", 55.5 / 17.6, 1e6),  # GMAC of timm, within 1 %
        ("1000 sdxl images at 2048x2048", 529 * 4, 1000.0),
    ],
)
def test_an_image_of_another_size_counts_by_its_pixels(text: str, passes: float, items: float) -> None:
    need = asked(text)
    assert need.passes == pytest.approx(passes, rel=0.01)
    assert need.items == items


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        # What is refused behind its name, data that stay in the house, and what one says better of.
        ("renting I don't want, qwen 32b, $3000", "acquire", "own"),
        ("cloud? no thanks. qwen 32b, $3000", "acquire", "own"),
        ("buying I'd rather not, qwen 32b for 20 users", "acquire", "rent"),
        ("qwen 32b, $3000, data can't leave the building", "acquire", "own"),
        ("rent for qwen 32b, data must not leave Europe", "acquire", "rent"),
        ("train resnet50 on imagenet, spot we'd like to avoid", "spot", False),
        ("resnet50 rented, spot is a no-go because it stops halfway", "spot", False),
        ("resnet50 rented, I don't trust spot", "spot", False),
        ("preemptible instances are not acceptable for us, rent for resnet50", "spot", False),
        ("should I rent or rather buy for qwen 32b, $3000", "acquire", "both"),
        ("qlora of a 32b, or rather lora, 5k samples", "task", "lora"),
        ("resnet50 rented, non-interruptible, we were burned by spot", "spot", False),
        ("full fine-tune of mistral 7b, actually LoRA will do, 20k examples", "task", "lora"),
        ("QLoRA for llama 70b... hmm, make that full fine-tuning, 10k samples", "task", "full"),
        ("rent a box, no, scratch that, we'd rather buy. qwen 32b, $5000", "acquire", "own"),
        ("serve mistral 7b, no wait, I meant qwen 14b", "workloads", (("qwen3-14b", 1.0),)),
        ("qwen 14b in fp16, on second thought int8 is ok", "precision", "int8"),
        # A span beside a day is how long it is until then.
        ("lora of llama 8b on 40M tokens by thursday noon, that's 40 hours from now", "deadline_s", 144000.0),
        ("lora of llama 8b on 40M tokens until sunday night (so about 50 hours)", "deadline_s", 180000.0),
        ("lora of llama 8b on 40M tokens, done by monday, we have 70 hours", "deadline_s", 252000.0),
        # What a slot gives, each slot, and a machine beside its cards.
        ("without any 6- or 8-pin connectors, llama 8b q4, $500", "power_w", 75.0),
        ("no 6/8 pin power, 75w from the slot, llama 8b q4, $500", "ignored", ()),
        ("2 single-width slots, 75 watts each, qwen 14b for 10 doctors", "slots", 2.0),
        ("2 single-width slots, 75 watts each, qwen 14b for 10 doctors", "gpus", (1, 2)),
        ("sdxl and llama 8b q4 at the same time on one card, $900", "least_gb", pytest.approx(13.7, abs=0.1)),
        ("i heard h100s are sold out, so what for llama 70b int4, $20000, buy", "only", ()),
        ("azure only: train bert-large", "providers", ("azure",)),
        ("train bert-large on lambda labs or aws", "providers", ("lambda", "aws")),
        ("rent an h100 in Europe for bert-large", "region", "Europe"),
        ("rent an h100 in the US for bert-large", "region", "the US"),
        ("what would you rent for us to train bert-large", "region", ""),
        ("serve llama 3.1 8b, reserved for a year", "most_commitment_h", pytest.approx(8766)),
        ("serverless llama 3.1 8b", "serverless", True),
        ("train bert-large, new cards", "sold", ("new",)),
        # Thousands of each person are context, unless money is spoken of or each has a machine.
        ("rent for llama 3.1 8b, 12 users with 16k each, cheapest", "context", 16384),
        ("rent for llama 3.1 8b, 12 users with 16k each, cheapest", "users", 12),
        ("rent for a 70b, 25 users at once, 8k per request", "context", 8192),
        ("10 people, 5k each, one gpu card per person, llama 3.1 8b lora", "budget_usd", 50_000.0),
        ("budget 8k each for 10 people, a workstation each, sdxl", "budget_usd", 80_000.0),
        ("rent for qwen3 32b, 5 users, answers as fast as I can read", "latency_s", pytest.approx(0.1)),
        ("rent for qwen3 32b, 4 people, not slower than a person reads", "latency_s", pytest.approx(0.1)),
        ("qwen3 32b as fast as chatgpt for 3 users, buy", "ignored", ("as fast as chatgpt",)),
        ("resnet50 as fast as possible, buy under $900", "goal", "speed"),
        ("I have only one PCIe x16 slot, card for resnet50", "gpus", (1, 1)),
        ("a one-slot card for resnet50", "slots", 1.0),
        ("quietest 24gb single slot card under 1500 usd", "memory_gb", (24.0, 24.0)),
        ("24 gb low profile quiet card to buy for qwen3 14b", "memory_gb", (24.0, 24.0)),
        ("a card for a box with 64 gb ram and resnet50", "memory_gb", None),
        ("rent, 2 million stable diffusion 1.5 images, 30 steps each", "items", pytest.approx(1.2e8)),
        ("rent, 100k sdxl 1.0 images with 25 steps each", "items", pytest.approx(1e5)),
        ("rent for double precision dense matrix work, compute bound", "workloads", (("cholesky", 1.0),)),
        ("dgemm heavy fp64 code, rent", "workloads", (("cholesky", 1.0),)),
        ("rent for cholesky, in double precision", "workloads", (("cholesky", 1.0),)),
        ("rent for a sparse solver in double precision", "mode", "compute"),
        ("qwen3 14b on a box in the copy room, buy", "also", ()),
        ("bert-large on at most 4 gpus", "gpus", (1, 4)),
        ("3090 or 4090 for bert-large on 2 gpus", "sets", (("rtx-3090", 2), ("rtx-4090", 2))),
        ("bert-large hourly below 1.50", "budget_per_hour", True),
        ("1 million images with sdxl a month", "period_s", pytest.approx(2.63e6, rel=0.01)),
        ("llama 3.1 8b at 100 tokens/s", "items", 8.64e6),
        ("bert-large on a 15 A breaker at 120 V", "outlet_w", 1440.0),
        ("bert-large on a 15 A breaker", "outlet_w", 1440.0),
        ("bert-large, 2,000 W for gpus", "power_w", 2000.0),
        ("four A40 sit in our rack already, can they train bert-large", "have", ("a40",) * 4),
        ("I have an old tower with one P40 in it, qwen3 32b", "have", ("p40",)),
        ("I have a pc with a 750 W psu, is a 5070 ok for sdxl", "have", ()),
        ("a 3090 at 1,100 or a 4090 at 1,900 for qwen3 32b", "acquire", "own"),
        ("rent, no sxm, for bert-large", "form", "pcie"),
        ("train bert-large, i'd rather not buy used", "sold", ("new",)),
        ("train bert-large on two free double-width slots, buy", "slots", 4.0),
        ("train bert-large on four cards, at most 250 W a card, buy", "power_w", 1000.0),
        ("qwen3 32b, prompts around 9k, 3 users at once, rent", "context", 9300),
        ("qwen3 32b with prompts of 7000 tokens, rent", "items", None),
        ("we are 9 people; qwen3 32b for 4 editors at the same time", "users", 4),
        ("llama 8b for 20 users at 30 tokens/s", "latency_s", pytest.approx(1 / 30)),
        (
            "400k images with sdxl over the next month, which cloud",
            "deadline_s",
            pytest.approx(2.63e6, rel=0.01),
        ),
        ("which neocloud for bert-large", "avoid", ("aws", "azure", "gcp", "oracle cloud")),
        ("train bert-large, $1.2M", "budget_usd", 1_200_000.0),
        (
            "a DGX H100 at 280,000 USD, is that fair",
            "quotes",
            (Quote(gpu_id="h100-sxm5-80gb", count=8, kind="street", usd=280_000.0, provider=""),),
        ),
        ("qlora of llama 3.1 8b, 3 evenings a week, buy a card", "at_home", False),
        ("low profile card without external power, transcoding and llama 8b", "power_w", 75.0),
        ("Have: 2x A40. Want: train bert-large", "have", ("a40", "a40")),
        ("llama 70b in 4 bit, contracts of up to 48k tokens, one reader", "context", 48000),
        ("llama 70b in 4 bit, 48k tokens, buy", "context", None),
        ("qlora of qwen3 8b, sequence length 6k, rent", "context", 6144),
        ("qwen3 32b 문맥은 16k, 구매", "context", 16384),
        ("train a 7B dense transformer on 2 trillion tokens", "items", 2e12),
        ("train gpt-2 on 5 juta tokens", "items", 5e6),
        ("resnet50 120 에포크 of imagenet, 학습", "items", pytest.approx(120 * 1_281_167)),
        ("resnet50 학습, 대여, 스팟도", "spot", True),
        ("notebooks for 20 students in jupyter, pytorch, buy", "form", None),
        ("notebooks for 20 students, pytorch, buy", "form", "laptop"),
        ("can my 3060 12gb run sdxl? budget $0", "budget_usd", 0.0),
        ("I can spend nothing, does my 3090 train bert-large", "only", ("rtx-3090",)),
        ("no budget limit, does my 3090 train bert-large", "budget_usd", None),
        ("our group runs 6 V100 PCIe 32GB, to be replaced, bert-large", "have", ("v100-pcie-32gb",) * 6),
        ("how long does an A40 take for bert-large? the card is mine", "have", ("a40",)),
        ("records must stay inside the clinic: llama 8b for 9 people", "acquire", "own"),
        ("files may not go out of the firm: llama 8b for 9 people", "acquire", "own"),
        ("capex of 60k dollars, llama 70b", "acquire", "own"),
        ("the provider of our rack gives 3 kW; capex limit 60k dollars, llama 70b", "acquire", "own"),
        ("provider of power, capex or opex: llama 70b, 60k dollars", "acquire", "rent"),
        ("llama 70b for as many concurrent staff as possible, say 35", "users", 35),
        ("4 H100 for ten days in the cloud, bert-large, then 15 TB of egress", "egress_gb", 15000.0),
        ("300 W with the mini pc, llama 8b, 900 dollars for the card", "form", None),
        ("mini pc, llama 8b, 900 dollars", "form", "small"),
        ("train bert-large on vast, no marketplaces", "community", False),
        ("fine-tune ResNet-50 and run a 7B model in 4 bit, buy", "precision", "bf16"),
        ("replacing 10 workstations (RTX 2080 Ti) for bert-large, 1500 USD each", "have", ("rtx-2080-ti",)),
        ("we run two servers with 4x A40, enough for llama 70b?", "have", ("a40",) * 4),
        ("my old pc (5600x, 650w psu, rx 6600) needs a card for bert-large", "have", ("rx-6600",)),
        (
            "12 users at once, prompts are long (9k tokens), answers 500 tokens, qwen3 32b, buy",
            "context",
            9500,
        ),
        ("a 4090 to buy for 1800 euros or rent for 0.45 euros an hour, bert-large", "either", True),
        ("embed 3 million titles (15 tokens each), then 40k a day", "budget_usd", None),
        ("sdxl images, 70k per day, aws only", "items", pytest.approx(70_000)),
        ("yolov8 at 30 fps on 6 camera streams, buy", "items", pytest.approx(180 * 86400)),
        (
            "rent a card for 3 months, 24 GB, 200 dollars per month, bert-large",
            "budget_usd",
            pytest.approx(200 / 730.5),
        ),
        ("lora on llama 8b, dataset 40k, 2 epochs, rent", "items", 40_000 * 500 * 2.0),
        ("6 A40 are in our cluster; can they train bert-large", "have", ("a40",) * 6),
        ("our 8 H100 reservation at AWS, or owning them, for bert-large", "have", ()),
        ("can I put 8x L40S in one of them to serve llama 70b", "sets", (("l40s", 8),)),
        ("llama 8b, rent in the EU, no US company", "ignored", ("no us company",)),
        (
            "10M tokens/day with llama 70b: groq api at $0.79 per million or renting",
            "bill",
            Bill(of="groq API", usd=0.79, items=1e6),
        ),
        ("whisper, latency below 1s, buy a card", "latency_s", None),
        ("resnet152, 8x V100 we own versus 2x H100 PCIe", "sets", (("h100-pcie-80gb", 2),)),
        ("two unused A40, or rent an H100, for llama 70b", "have", ("a40", "a40")),
        (
            "fp64 for lattice simulations, and the same nodes fine-tune 7B models at night, 60k",
            "precision",
            "fp64",
        ),
        (
            "400 requests per minute at peak, 40 on average, 100 tokens each, llama 8b",
            "items",
            400 * 1440 * 100.0,
        ),
        ("summarize 1 TB of text with qwen 7b", "items", 250e9),
        ("two servers in the rack, serve a 32b model to 40 people, buy", "users", 20),  # On each
        ("two servers in the rack, serve a 32b model to 40 people, buy", "machines", 2),
        ("train bert-large for a month, 2 TB of data must never leave the building", "acquire", "own"),
        ("offline batch of 3M tokens a day with llama 8b, rent", "acquire", "rent"),
        ("rent H100s or whatever is cheaper for 5B tokens of llm-1b in 9 days", "sets", ()),
        ("train resnet50 for 2k, i sit on trains all day", "mode", "train"),
        ("4090 or 3090 for sdxl, electricity is $0.40/kWh", "acquire", "own"),
        ("a budget of 9k for llama 70b, electricity is 0.30 EUR/kWh", "budget_usd", pytest.approx(9900)),
        ("bert-large on a 16 A socket", "outlet_w", 2944.0),
        ("bert-large on a 230 V / 16 A socket", "outlet_w", 2944.0),
        ("40 students each train bert-large, buy, 10 kW in the rack", "outlet_w", 250.0),
        ("train bert-large, buy, 10 kW in the rack", "outlet_w", 10_000.0),
        ("I have a 850W psu, buy a card for bert-large", "at_home", True),
        ("llama 3.1 8b for 20 users, 24/7 for 2 years", "users", 20),
        ("qlora of llama 3.1 8b on my 3060 12gb", "keep", True),
        ("train gpt-2 124M on 10B tokens", "items", 1e10),
        ("train bert-large, not on aws", "avoid", ("aws",)),
        ("20,000 euros for bert-large", "budget_usd", pytest.approx(22_000)),
        ("1.500 € for bert-large", "budget_usd", pytest.approx(1650)),
        ("1 200 € for bert-large", "budget_usd", pytest.approx(1320)),
        ("bert-large for $2.125/h", "budget_usd", 2.125),
        ("$500 llama 3.1 8b", "budget_usd", 500),
        ("train bert-large, 30k", "budget_usd", 30_000),
        ("llama 3.1 8b for one user at 40 tokens per second", "latency_s", 0.025),
        ("llama 3.1 8b for 5 developers, 25 tok/s each", "concurrent", 2),
        ("I own two 3090, can I run llama 3.3 70b or should I rent?", "keep", True),
        ("I have two 3090, add 4 more for llama 70b", "sets", (("rtx-3090", 6),)),
        ("I have a 3090, another one or a 5090 for qwen3 32b?", "sets", (("rtx-3090", 2), ("rtx-5090", 1))),
        ("how many H100 to serve llama 3.1 405b", "gpus", (1, 8)),
        ("lora of qwen2.5 7b on 20000 chat examples", "items", 20_000 * 500),
        (
            "buy or rent for 6 months, round the clock, bert-large",
            "assumptions",
            Assumptions(years=0.5, hours_per_week=168),
        ),
        ("mi355x against b200 for bert-large", "ignored", ()),
        ("how many gpus to train resnet50 on imagenet within 3 hours", "asks", "number"),
        ("train resnet50 on imagenet within 3 hours", "items", pytest.approx(90 * 1.2812e6, rel=1e-3)),
        ("bert-large on a 230 V 10 A socket", "outlet_w", 1840.0),
        ("full height card for bert-large on windows", "ignored", ("full height", "windows")),
        (
            "used 3090 for 750 or new 5070 ti for 800, bert-large",
            "sets",
            (("rtx-3090", 1), ("rtx-5070-ti", 1)),
        ),
        ("rent for 30 minutes for bert-large", "hire_h", 0.5),
        ("bert-large a few hours a week", "assumptions", Assumptions(hours_per_week=5)),
        ("llama 3.1 8b at 15 tokens per second or more", "latency_s", pytest.approx(1 / 15)),
        ("batch of 1 million prompts for bert-large", "batch", None),
        ("LoRA von llama 3.1 8b auf 10 Millionen Tokens", "items", 1e7),
        ("qlora of llama 3.1 8b once", "items", 1e7),
        ("train bert-base on 3GB of text for 2 epochs", "items", 3_906_250),
        ("train resnet50 on imagenet-21k for 10 epochs", "budget_usd", None),
        ("bert-large, single phase 16A 230V", "outlet_w", 2944),
        ("laptop or mini pc for bert-large", "form", "mobile"),
        ("can 2x 4060 ti 16gb replace a 5090 for bert-large", "have", ()),
        ("I need 96GB of VRAM for bert-large", "total_gb", 96),
        ("embed 1000 documents with bert-large", "mode", "infer"),
        ("finetuning 13B full on 4 a100", "task", "full"),
        ("bert-large on 1M sequences, cheapest gpu to rent", "goal", "cost"),
        ("will flux run on my 3060 12gb", "title", "flux"),
        ("can i run deepseek r1 on 8 h100", "sets", (("h100-sxm5-80gb", 8),)),
        ("from my 3080 to a 5080 for bert-large", "have", ("rtx-3080-10gb",)),
        ("twice as fast as my 2080 ti for bert-large", "faster", 2),
        ("1.5x the speed of my 2080 ti for bert-large", "faster", 1.5),
        ("a mini pc for gpt-oss-20b", "form", "small"),
        ("fine-tune qwen2.5 7b once", "acquire", "rent"),
        ("24 GB needed for bert-large", "memory_gb", (24, None)),
        ("a server for 12 phd students, bert-large, 40k", "users", 1),
        ("eine leise Karte für bert-large", "quiet", True),
        ("una tarjeta que no haga ruido para bert-large", "quiet", True),
        ("we get 25k from a grant for bert-large", "budget_usd", 25_000),
        ("1000 pounds for bert-large", "currency", ("GBP", 1.3)),
        ("buy a card for bert-large, 15 thousand pound", "budget_usd", 19500.0),
        ("should i wait for the rtx 60 series, bert-large on a 5090", "sets", (("rtx-5090", 1),)),
        ("2000 sdxl images at 2048x2048", "items", 2000.0),
        ("two class rooms with 15 pcs each, sdxl, buy", "users", 30),
        ("500 gpu hours of h100, 4 at a time, rent, resnet50", "hire_h", 125.0),
        ("500 gpu hours of h100 sxm, 4 at a time, rent, resnet50", "gpus", (4, 4)),
        ("26 classes, 12000 images, yolov4s, 200 epochs, rent", "items", 2.4e6),
        ("rtx 4070 super in my desktop, can a p100 16gb join it for a 32b", "beside", True),
        ("qlora of a 7b, 3 evenings of 4 hours, rent", "hire_h", 12.0),
        # A card in a box outside a laptop, which is there.
        (
            "thinkpad with thunderbolt 4, egpu box with a 4060 ti 16gb for qlora of a 7b",
            "sets",
            (("rtx-4060-ti-16gb", 1),),
        ),
        ("thinkpad with thunderbolt 4, egpu box with a 4060 ti 16gb for qlora of a 7b", "ignored", ()),
        ("laptop rtx 3070 8gb, external gpu for sdxl", "have", ("rtx-3070-laptop",)),
        ("laptop rtx 3070 8gb, external gpu for sdxl", "form", None),
        # Of several computers each has its own memory; of two sizes of one the work says which.
        ("dgx spark or a mac studio m3 ultra 96gb for gpt-oss-120b", "sizes", (("apple-m3-ultra", 96.0),)),
        ("m4 max macbook 64gb or 128gb, or a 5090 for qwen3-next 80b", "sizes", ()),
        ("mac studio m3 ultra 96gb for gpt-oss-120b", "memory_gb", (96.0, 96.0)),
        ("mac studio m3 ultra 96gb for gpt-oss-120b", "sizes", ()),
        ("rtx 3090 24gb here, adding a 5060 ti 16gb for 70B models", "have", ("rtx-3090",)),
        ("rtx 3090 24gb here, adding a 5060 ti 16gb for 70B models", "beside", True),
        ("2x rtx 3060 12gb in my pc, replace them by a 3090 for a 32b", "have", ("rtx-3060-12gb",) * 2),
        ("a 3090 in my pc or a 5090 for a 32b", "have", ("rtx-3090",)),
        ("would a 3090 in my pc run a 32b", "have", ()),
        (
            "2x3080 10gb and a 5090, what can they do together with a 32b",
            "have",
            ("rtx-3080-10gb", "rtx-3080-10gb", "rtx-5090"),
        ),
        ("2000 sdxl images at 1024x1024", "items", 2000),
        ("4 used T4 for $900, worth it for llama 3.1 8b", "sets", (("t4", 4),)),
        ("60 % llm-8b-decode and 40 % sd", "workloads", (("llm-8b-decode", 0.6), ("unet-sd15", 0.4))),
        ("4 H100 for a week for bert-large", "hire_h", 168),
        ("4 H100 for two weeks for bert-large, 42 hours a week", "hire_h", pytest.approx(84)),
        ("is an arc b580 good for bert-large", "unproven", True),
        (
            "100 people, qwen 2.5 72b. Maybe 15 people use it at the same time; we own, 50k dollars",
            "users",
            15,
        ),
        ("train resnet50 on imagenet three times, 90 epochs each", "items", 1_281_167 * 270),
        ("sdxl, 5000 images a day. Is GCP ok or is there something cheaper?", "providers", ()),
        ("sdxl, 5000 images a day, on GCP", "providers", ("gcp",)),
        ("gromacs molecular dynamics, mixed precision", "precision", "fp32"),
        ("gromacs molecular dynamics", "precision", "fp64"),
        ("train llama 3.1 8b on 10 billion tokens in about a month", "deadline_s", pytest.approx(2629800)),
        ("20 students fine-tune a small bert in a notebook", "form", None),
        ("I train resnet50 on an old RTX 2080 Ti: a 3090 or a 5070 Ti?", "have", ("rtx-2080-ti",)),
        ("een llm voor mijn gezin van 4, 1500 euro", "users", 4),
        ("画像分類モデルの学習、RTX 5090", "workloads", (("resnet50", 1.0),)),
        ("1500 for the gpu, our workstation has a 1000 W supply; train bert", "budget_usd", 1500),
        ("one workstation, 6000 dollars for the card, fft", "assumptions", Assumptions(host_usd=0.0)),
        ("6000 dollars for a card and a workstation, fft", "assumptions", Assumptions()),
        (
            "4090x2 or h100:1 for llama 70b",
            "sets",
            (("rtx-4090", 2), ("h100-sxm5-80gb", 1), ("h100-pcie-80gb", 1)),
        ),
        ("half a million product photos a day with vit", "items", 5e5),
        ("300 thousand images a day with resnet50", "items", 3e5),
        ("half a million photos a night with vit", "assumptions", Assumptions(utilisation=0.5)),
        ("resnet50 on 2 million pictures per day", "mode", "infer"),
        ("train llama 3.1 70b on 2 trillion tokens in a month", "deadline_s", pytest.approx(2629800)),
        ("qwen3 32b for a dozen users", "users", 12),
        ("a gpu for our 9-person group to serve llama 8b", "users", 9),
        ("llama 8b für 30 Mitarbeiter", "concurrent", 6),
        ("12k budget to train vit", "budget_usd", 12_000),
        ("12k budget to train vit, my 11 GB card is too small", "memory_gb", None),
        ("qlora of qwen3 8b on 20k examples", "ignored", ()),
        ("an always-on gpu for qwen3 8b", "assumptions", Assumptions(hours_per_week=168.0)),
        ("20 students with jupyter notebooks, resnet50", "form", None),
        ("20 students with notebooks, resnet50", "form", "laptop"),
        ("qwen3 8b dans mon PC", "assumptions", Assumptions(host_usd=0.0)),
        ("qwen3 32b for twenty-five people", "users", 25),
        ("llama 3.1 8b, 2k requests an hour", "items", 2000 * 24 * 300),
        ("resnet50, 50 requests per second", "items", 50 * 86400),
        ("sdxl, 1000 images an hour", "gpus", (1, 8)),
        ("whisper on 300 hours of audio a day", "workloads", (("llm-1b-decode", 1.0),)),
        ("fine-tune whisper", "workloads", (("bert-large", 1.0),)),
        ("detect objects with yolov9 on 5k videos", "ignored", ("5k videos", "detect objects")),
        ("a card to segment ct scans", "title", "volumes and medical images (by resnet50)"),
        ("something like chatgpt for 20 people", "workloads", (("gpt-oss-120b", 1.0),)),
        ("qwen3 32b instead of chatgpt", "workloads", (("qwen3-32b", 1.0),)),
        ("upgrade our lab server for bert-large", "assumptions", Assumptions(host_usd=0.0)),
        ("bert-large; we have a workstation with 900 W", "power_w", 700.0),
        ("amd below 500 dollars", "goal", "speed"),
        ("8 students who share a server, 9000 dollars, deep learning", "users", 1),
        ("can my 6800xt run qwen3 8b", "unproven", True),
        ("1000 sdxl images per day", "title", "sdxl"),
        ("fintune lama 3.1 8b with qlora", "task", "qlora"),
        ("gpt-oss 20b on a 16 gb card", "gpus", (1, 1)),
        ("two 16 gb cards for gpt-oss 20b", "gpus", (2, 2)),
        ("6 students sharing one server to train resnets, 12k", "budget_usd", 12_000),
        (
            "laptop with rtx 4060 or rtx 4070 for bert-large",
            "sets",
            (("rtx-4060-laptop", 1), ("rtx-4070-laptop", 1)),
        ),
        ("is b200 worth it over h200 for llama 3.1 70b", "acquire", "rent"),
        ("h200 at home for llama 3.1 70b", "acquire", "own"),
        ("dont want nvidia, llama 3.1 70b", "unproven", True),
        ("5000 euros a year for cloud, bert-large", "budget_usd", pytest.approx(5500 / 12)),
        ("batch of 500M tokens with qwen3 8b, deadline 2 days", "deadline_s", 172_800),
        (
            "resnet50 mit 90 Epochen ImageNet trainieren, gemietet, in höchstens zwei Wochen",
            "deadline_s",
            14 * 86_400,
        ),
        ("entraîner resnet50 100 époques d'imagenet en trois jours, loué", "deadline_s", 3 * 86_400),
        ("100 hours of a100 time for bert-large", "hire_h", 100),
        ("how many h100s and what cost, full fine-tuning of llama 3.1 8b on 1M tokens", "deadline_s", None),
        ("i have 2x 3090 and 1x 4090, bert-large", "have", ("rtx-3090", "rtx-3090", "rtx-4090")),
        ("lambda or runpod for an h100, bert-large", "providers", ("lambda", "runpod")),
        ("half the time llama 8b, half of it sd", "workloads", (("llm-8b-decode", 0.5), ("unet-sd15", 0.5))),
        ("qwen 8b", "workloads", (("qwen3-8b", 1.0),)),
        ("bert-large on 2 passive cards, max 300W each", "power_w", 600),
        ("student budget 300 for resnet50", "assumptions", Assumptions(host_usd=0.0)),
        ("cheapest aws instance for llama 3.1 8b", "goal", "price"),
        ("a card with at least 24 gb gpu memory for bert-large", "goal", "cost"),
        ("most energy efficient gpu for bert-large", "goal", "energy"),
        ("a gpu for vit, 3000 dollars", "goal", "speed"),
        ("lowest latency for whisper, price does not matter", "goal", "speed"),
        ("a gpu for vit, money is no object", "goal", "speed"),
        ("schnellste Karte für vit, Geld spielt keine Rolle", "goal", "speed"),
        ("la carte la plus rapide pour vit, peu importe le prix", "goal", "speed"),
        ("a gpu for vit at the lowest price", "goal", "price"),
        ("best value gpu for vit, 3000 dollars", "goal", "cost"),
        ("is an h100 overkill for qwen3 8b", "asks", "too much"),
        ("is a 4090 enough for qwen3 8b", "asks", "able"),
        ("is a 5090 worth it for sdxl", "asks", "too much"),
        ("is a 5090 worth it over my 3090 for sdxl", "asks", ""),
        (
            "llama 8b 60 % and stable diffusion 40 %",
            "workloads",
            (("llm-8b-decode", 0.6), ("unet-sd15", 0.4)),
        ),
        ("60 % sdxl, 40 % qwen3 8b", "workloads", (("unet-sd15", 0.6), ("llm-8b-decode", 0.4))),
        ("should i add a third 3090, bert-large", "have", ("rtx-3090", "rtx-3090")),
        ("should i add a second 3090, bert-large", "sets", (("rtx-3090", 2),)),
        ("a card for bert-large, nothing used", "sold", ("new",)),
        ("a card for bert-large, new, i was burnt by a used gtx 1080, so nothing used", "sold", ("new",)),
        ("a card for bert-large, new, i was burnt by a used gtx 1080, so nothing used", "only", ()),
        ("une carte pour bert-large, 800 euros, rien d'occasion", "sold", ("new",)),
        # Who names a provider rents of it
        ("bert-large on lambda cloud, not the spot stuff", "acquire", "rent"),
        ("bert-large, runpod only, the secure cloud not the community stuff", "acquire", "rent"),
        ("bert-large, runpod only, the secure cloud not the community stuff", "community", False),
        ("bert-large, data must not leave brazil, so aws", "acquire", "rent"),
        ("640 GB of vram in total for llama 3.1 405b", "total_gb", 640.0),
        ("a machine with 1 TB of gpu memory for llama 3.1 405b", "total_gb", 1000.0),
        ("rent an H100 PCIe or NVL for bert-large", "sets", (("h100-pcie-80gb", 1), ("h100-nvl-94gb", 1))),
        ("rent an RTX 4090 for 2 weeks, 8 h a day, until ours is repaired", "hire_h", pytest.approx(112)),
        ("we need 4 gpus for a hackathon weekend, sdxl", "hire_h", 48),
        ("qwen3 8b for 8 lawyers", "concurrent", 2),
        ("is 24 GB enough for qwen3 8b", "asks", "able"),
        ("currently running 2x 4090 for sdxl, worth adding 2 more", "sets", (("rtx-4090", 4),)),
        ("need a gpu with at least 80 GB for one day", "hire_h", 24),
        ("a box with at least 2x80GB for qwen2.5 72b", "gpus", (2, 8)),
        ("a box with at least 2x80GB for qwen2.5 72b", "memory_gb", (80.0, None)),
        ("two gpus of at least 48 GB for llama 70b", "memory_gb", (48.0, None)),
        ("rent a server with 4x24GB for llama 3.3 70b", "gpus", (4, 4)),
        ("rent a server with 4x24GB for llama 3.3 70b", "memory_gb", (24.0, 24.0)),
        ("2x80GB H100s for a day for llama 70b", "gpus", (2, 2)),
        ("a workstation with 2x32GB RAM and one gpu for llama 8b", "gpus", (1, 1)),
        (
            "budget 250€ per month, 200 hours, rent a gpu for bert-large",
            "budget_usd",
            pytest.approx(275 / 200),
        ),
        ("lease or buy 4 L40S for 3 years, bert-large", "acquire", "both"),
        ("local coding assistant, qwen2.5-coder 32b", "workloads", (("qwen2.5-32b", 1.0),)),
        ("the least I can pay for llama 3.2 3b", "goal", "price"),
        ("efficientnet training, 50000 images, 30 epochs", "items", None),
        # Whose people come again each day, of whom so many ask.
        ("3000 customers a day, 15 % of them chat with llama 8b, 6 messages each", "items", 450 * 6 * 300),
        ("300 visitors per hour ask llama 8b", "period_s", 86400.0),
        ("llama 8b for 100 users", "users", 100),
        ("llama 8b for 101 users", "concurrent", 100),
        ("llama 8b for 2000 users", "concurrent", 195),
        ("llama 8b for 2000 users at once", "users", 2000),
        ("embed 2 million pdf pages with bge-large", "items", pytest.approx(2e6 * 667 / 384)),
        ("carte de 16 Go minimum pour bert-large", "memory_gb", (16.0, None)),
        ("mistral-7b, 30 Nutzer, keine Cloud", "acquire", "own"),
        ("we can tolerate interruptions: resnet50 inference", "spot", True),
        ("resnet50 inference at 5000 images per second for 30 days", "hire_h", 720.0),
        ("resnet50 inference at 5000 images per second for 30 days", "acquire", "rent"),
        ("25 Millionen Bilder im Monat mit resnet50 klassifizieren", "period_s", 2629800.0),
        ("about 1000 h100 hours every month for a year", "gpus", (2, 2)),
        ("tenho 4000 rublos, placa de vídeo para llama 8b", "ignored", ("4000 rublos",)),
        ("vit-l16 training on 1M images", "passes", 3.5),
        ("cheapest gpu with fp8 support", "precision", "fp8"),
        ("a ViT with a bit of LoRA", "mode", "train"),
        # What is not understood of a number is said, with its unit.
        ("llama 8b 1000", "ignored", ("1000",)),
        ("gpu for llama 8b 1000", "budget_usd", 1000),
        ("llama 8b for 200 employees", "concurrent", 25),
        ("llama 8b for 200 users", "concurrent", 105),
        ("llama 8b for 200 employees at once", "users", 200),
        ("qwen2.5 32b in 4 bit mit 16.000 Token Kontext", "context", 16000),
        ("h100 vs h200 for llama 70b, 32k context 16 concurrent users", "users", 16),
        ("500 gpu hours on an h100", "hire_h", 500.0),
        ("2000 gpu hours a month on 4090s for vit-b16", "sets", (("rtx-4090", 3),)),
        ("do i really need 24 gb for llama 3.1 8b or is 16 enough", "memory_gb", (16.0, 16.0)),
        ("do I need nvlink for two 4090 with llama 2 13b", "feature", "nvlink"),
        ("llama 8b in our office, nobody wants to hear it", "quiet", True),
        ("4x 3090 or one a100 80gb for bert-large, which is faster", "asks", "faster"),
        (
            "mac studio m3 ultra or 2x rtx 3090 for llama 70b",
            "sets",
            (("apple-m3-ultra", 1), ("rtx-3090", 2)),
        ),
        ("is our 4 years old a100 80gb enough for qwen2.5 32b", "hire_h", None),
        ("resnet50 on 4090 or 5090, cost per million images", "ignored", ()),
        ("mistral 7b 24/7 on a 3060 12gb, electricity 0.35 euro", "budget_usd", None),
        ("qlora 14b, 300W max, single slot or dual slot, for a workstation", "slots", 2),
        ("qlora 14b, 300W max, single slot or dual slot, for a workstation", "power_w", 300.0),
        ("gpu for kaggle under 1200 dollars, used is fine", "sold", ()),
        ("gpu for kaggle, not louder than a normal pc", "quiet", True),
        ("train a 3d unet on 200 scans", "deadline_s", None),
        ("flux and sdxl on a 16 gb card", "title", "flux"),
        ("flux dev in 8 bit, at most 1000 dollars", "precision", "bf16"),
        ("strix halo or dgx spark for gpt-oss 120b", "concurrent", 1),
        ("dgx spark or three 3090s for gpt-oss 120b", "concurrent", 1),
        ("4090 or 5090 for qwen3 14b, just for me", "concurrent", 1),
        ("l40s or 4090 for qwen3 14b, nobody else uses it", "concurrent", 1),
        ("a rented a100 for llama 70b, I am the only user", "concurrent", 1),
        ("which card for qwen3 32b for personal use", "concurrent", 1),
        ("a 3090 for qwen3 14b, just me and 3 colleagues", "concurrent", 2),
        ("is fp64 on the rtx 4090 enough for cfd or should I rent an A100", "asks", "able"),
        ("gpu for molecular dynamics in double precision, 25000 dollars, new", "sold", ("new",)),
        ("does the 5070 ti have enough memory for sdxl lora training", "items", None),
        ("RTX 5090 for 2400 dollars good buy for wan 2.2?", "budget_usd", None),
        ("what would 4x rtx 6000 ada cost and what power supply do they need for resnet50", "acquire", "own"),
        ("is 64 GB of unified memory enough for llama 3.3 70b on a macbook pro", "memory_gb", (64.0, 64.0)),
        ("my lab shares one A6000, is a second one better for resnet50", "have", ("rtx-a6000",)),
        ("llama 70b on 4 8xh100 nodes", "gpus", (32, 32)),
        ("llama 8b without a price limit", "ignored", ()),
        # Roles of tokens, and times of whole answers.
        ("llama 8b, 30 requests a minute, prompts of 800 tokens and answers of 100, now", "reads", 8.0),
        ("llama 8b, 2 requests per second, 1k in 250 out", "items", 2 * 86400 * 250),
        ("qwen3 8b, 1000 tokens out, response time under 20 seconds", "latency_s", 0.02),
        # Audio by the hour; adapters and steps of image models.
        ("transcribe 10000 hours of audio within 3 days", "items", 8e9),
        ("whisper on 30 minutes of speech a day", "items", 4e5),
        ("sdxl lora for 1500 steps", "items", 1500),
        ("train a flux lora on 25 pictures", "items", 2000),
        ("flux lora with 25 images", "least_gb", 24.0),
        ("2000 sdxl images with 15 steps", "passes", pytest.approx(15 * 2 * 6.0 / 0.68)),
        # Machines: each by itself, or one of several that share the work.
        ("buy 5 pcs with one gpu each for a class, resnet50, 9000 dollars in total", "users", 5),
        ("server with two a6000 for bert-large, add two more?", "sets", (("rtx-a6000", 4),)),
        ("we get 8xv100 3 hours per day, bert-large", "assumptions", Assumptions(hours_per_week=21)),
        ("a cluster for 80k dollars to train resnet50", "gpus", (1, 8)),
        ("train resnet50 and bert-large", "workloads", (("resnet50", 0.5), ("bert-large", 0.5))),
        # Of either size or condition; conditions and limits in other languages.
        ("a new 16gb card or a used 24gb card for qwen3 8b", "memory_gb", (16.0, 24.0)),
        ("a new 16gb card or a used 24gb card for qwen3 8b", "sold", ()),
        ("gebrauchte Grafikkarte bis 500 € für llama 8b", "budget_usd", pytest.approx(550)),
        ("carte neuve pour llama 8b", "sold", ("new",)),
        ("smallest gpu to train yolo on 5k images", "acquire", "own"),
        ("strix halo for gpt-oss-120b", "sets", (("radeon-8060s", 1),)),
        ("efficientnet training, 50000 images, 30 epochs", "ignored", ("50000 images", "30 epochs")),
        ("llama3 at home", "workloads", (("llama-3.1-8b", 1.0),)),
        ("how much vram does qwen3 8b need", "asks", "memory"),
        ("what does a 4090 cost in electricity for bert-large", "asks", "energy"),
        ("how long would it take to train bert-large on a 4090", "asks", ""),
        ("qwen3 8b at home", "gpus", (1, 1)),
        (
            "an api asks 0.40 dollars per million tokens, qwen3 8b or the api?",
            "bill",
            Bill(of="an API", usd=0.4, items=1e6),
        ),
        (
            "we pay $300 a month for the openai api; is a gpu for qwen3 8b cheaper?",
            "bill",
            Bill(of="openai API", usd=300.0),
        ),
        ("i pay 50 dollars a month for colab, bert-large on a 3090", "bill", Bill(of="colab", usd=50.0)),
        ("serve qwen3 8b behind an api", "bill", None),
        ("6800 xt or nvidia for bert-large", "named", ("rx-6800-xt",)),
        ("card for bert-large, 200 W left on my power supply", "power_w", 200.0),
        ("card for bert-large, my power supply has 650 W", "power_w", 450.0),
        ("we are 12 radiologists and run a 32B model", "workloads", (("qwen2.5-32b", 1.0),)),
        ("wan 2.2 14b videos on a 4090", "title", "video generation (by dit-xl2-512)"),
        ("card for sdxl and small llms at home", "also", ("llama-3.2-3b",)),
        ("finetune llama 3.1 8b in bf16 full on a 4090", "task", "full"),
        ("card that makes 50 tokens per second with gemma 3 27b for me, under 2000 dollars", "goal", "cost"),
        ("a student with a 3060 12gb, upgrading to a 5060 ti for sdxl", "have", ("rtx-3060-12gb",)),
        ("rent 8 h200 for a week, which provider is cheapest", "asks", "provider"),
        ("classify 40 million images with clip vit-l once", "items", 4e7),
        ("classify 40 million images with clip vit-l once", "passes", 4.6),
        ("64 h100 for three days", "gpus", (64, 64)),
        ("1000000 h100 for three days", "gpus", (1000000, 1000000)),
        ("two servers with 8 h100 each for a week", "gpus", (16, 16)),
        ("what would 500 h100 hours cost", "hire_h", 500.0),
        ("what can I run on 2x 3090", "asks", "largest"),
        ("cheapest 32 gpus for a day", "hire_h", 24.0),
        ("how much vram to fine-tune a 13B model fully in bf16", "task", "full"),
        ("jetson orin or a used p40 for bert-large", "ignored", ("jetson orin",)),
        ("sdxl all weekend, a 3060 or a 4070", "deadline_s", None),
        ("is a t4 enough for whisper small for 10 callers", "users", 1),
        (
            "the 80GB A100 SXM over the 40GB SXM for bert-large",
            "sets",
            (("a100-sxm4-80gb", 1), ("a100-sxm4-40gb", 1)),
        ),
    ],
)
def test_what_is_said_becomes_a_limit(text: str, field: str, value: object) -> None:
    assert getattr(asked(text), field) == value


@pytest.mark.parametrize(
    "text",
    [
        "a card twice as fast as a 3090 for bert-large",
        "a used card for bert-large, new only",
        "gpt-2 1.5B training on a 4090",
        "which card earns back its price quickest with llama 3.1 8b",
        "0 h100 for a week",
        "1000001 h100 for a week",
        "sdxl within 30 ms per token",
        "two 3090s or one 4090 for llama 70b on 4 gpus",
        "gpt-4 at home",
        "claude opus 4.5 for 20 users",
        "gaussian splatting on a 4090",
        "a gpu for gaming",
        "tpu v5e for bert-large",
        "train a 175b model",
    ],
)
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        asked(text)


def test_what_is_not_to_be_is_left_out() -> None:
    allowed = asked("anything but an h100 for bert-large").only
    assert "h200-sxm" in allowed
    assert not any(gpu.startswith("h100") for gpu in allowed)
    short = asked("card no longer than 25 cm for bert-large").only
    assert "t4" in short
    assert "rtx-3090" not in short


def test_either_of_two_makers_and_a_mac_beside_a_card() -> None:
    both = asked("amd or intel card for bert-large").only
    assert {"rx-7900-xtx", "arc-b580"} <= set(both)
    assert not any(gpu.startswith(("rtx", "apple")) for gpu in both)
    beside = asked("mac studio or 5090 to run llama 70b")
    assert beside.only[0] == "rtx-5090"
    assert "apple-m2-ultra" in beside.only
    assert "apple-m2" not in beside.only
    assert beside.gpus == (1, 1)


@pytest.mark.parametrize(
    ("text", "quotes", "sets"),
    [
        ("I pay $2.50/h for an A100 80GB on AWS, is there something cheaper for resnet50?",
         [("a100-sxm4-80gb", 1, "on-demand", 2.5, "aws", True)], ()),
        ("we spend 1461 dollars a month on 2 L40S for bert-large",
         [("l40s", 2, "on-demand", 2.0, "", True)], ()),
        ("we pay 3 dollars for an H100, would an H200 be better for llm-1b",
         [("h100-sxm5-80gb", 1, "on-demand", 3.0, "", True)], (("h200-sxm", 1), ("h100-sxm5-80gb", 1))),
        ("is 0.10 per hour a fair price for a RTX 3090 for bert-large?",
         [("rtx-3090", 1, "on-demand", 0.1, "", False)], (("rtx-3090", 1),)),
        ("3090 used for $750 or two 4080 at 800 dollars for bert-large",
         [("rtx-3090", 1, "used", 750, "", False), ("rtx-4080", 2, "street", 1600, "", False)],
         (("rtx-3090", 1), ("rtx-4080", 2))),
        ("an offer of 4 used L40S for 20000 dollars, good deal for bert-large",
         [("l40s", 4, "used", 20000, "", False)], (("l40s", 4),)),
        ("runpod asks 1.5 per hour for an a100 pcie, fair for bert-large?",
         [("a100-pcie-80gb", 1, "on-demand", 1.5, "runpod", False)], (("a100-pcie-80gb", 1),)),
        ("is it cheaper to rent a 3090 at 0.5 dollars an hour or buy one for 900 dollars, for bert-large",
         [("rtx-3090", 1, "on-demand", 0.5, "", False), ("rtx-3090", 1, "street", 900, "", False)],
         (("rtx-3090", 1),)),
        # What no card takes an hour is of the machine; what another one takes is not paid.
        ("we rent 8 A100 80GB for 14 dollars an hour for bert-large, is 8x H100 at 12 dollars/h worth it?",
         [("a100-sxm4-80gb", 8, "on-demand", 14.0, "", True),
          ("h100-sxm5-80gb", 8, "on-demand", 96.0, "", False)],
         (("a100-sxm4-80gb", 8), ("h100-sxm5-80gb", 8))),
        ("we rent 8 A100 80GB for 14 dollars an hour for bert-large, is 8x H100 at 12.5 dollars/h worth it?",
         [("a100-sxm4-80gb", 8, "on-demand", 14.0, "", True),
          ("h100-sxm5-80gb", 8, "on-demand", 12.5, "", False)],
         (("a100-sxm4-80gb", 8), ("h100-sxm5-80gb", 8))),
        # A limit is no price, and one price beside a card is what somebody has to spend.
        ("I want to pay at most $2/h for an H100 PCIe for bert-large", [], (("h100-pcie-80gb", 1),)),
        ("a 4090 for $1500 for bert-large", [], (("rtx-4090", 1),)),
    ],
)  # fmt: skip
def test_prices_beside_cards_are_offers(text: str, quotes: list[object], sets: tuple[object, ...]) -> None:
    need = asked(text)
    found = [(q.gpu_id, q.count, q.kind, q.usd, q.provider, q.paid) for q in need.quotes]
    assert found == quotes
    assert set(need.sets) == set(sets)
    assert not quotes or "providers" not in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2x 4080 with nvlink for qwen3-8b", "no NVLink"),
        ("does sdxl make one image faster on two 4090", "made on one GPU"),
        ("spot l4 for qwen3-8b without interruptions", "taken back at any moment"),
        ("4090 for bert-large, or wait for the rtx 6090", "not known"),
        ("90.000 ₽ for a card for sdxl", "no rate of RUB"),
    ],
)
def test_what_is_not_so_is_corrected(text: str, said: str) -> None:
    assert said in " ".join(asked(text).corrected)


def test_two_prices_of_as_many_cards() -> None:
    quotes = asked("4 L40S leased for 24 months at $5000/month or buying it for $40,000").quotes
    assert [(quote.count, quote.kind) for quote in quotes] == [(4, "on-demand"), (4, "street")]
    assert [quote.usd for quote in quotes] == [pytest.approx(5000 / 730.5), 40000.0]


@pytest.mark.parametrize(
    ("text", "named", "also", "items"),
    [
        ("vit-b16 learns on 3M images and we host qwen3-8b for 9 people", "vit-b16", "qwen3-8b", 3e6),
        (
            "qlora of qwen3-8b on 5M tokens each week, and our 14 agents chat with it",
            "qwen3-8b",
            "qwen3-8b",
            5e6,
        ),
        ("qwen3-8b for 5 users, and training resnet152 at times", "qwen3-8b", "train:resnet152", None),
        ("bert-large fine-tuning plus flux images under 1500 dollars", "bert-large", "flux", None),
    ],
)
def test_a_second_work_must_fit_beside_the_first(
    text: str, named: str, also: str, items: float | None
) -> None:
    need = asked(text)
    assert (need.workloads[0][0].partition("-train")[0], need.also[0]) == (named, also)
    assert (need.items, need.users) == (items, 1 if "14" in text else need.users)
    assert any("is what counts" in note for note in need.notes)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("my funds must be spent by december 20: 7000 dollars of cards for vit-b16", "deadline_s", None),
        ("vit-b16 here, and every weekend we all wait, buy a card under 1500 dollars", "deadline_s", None),
        ("host qwen3-8b for 60 employees, at most 9 at the same time", "users", 9),
        ("three weeks twice a year, full fine-tune of qwen3-8b, rent or buy a 4090", "hours_per_week", 19.32),
        ("qwen3-8b on our 4090, 24 hours out of 24", "hours_per_week", 168.0),
        ("qwen3-8b on our 4090, 50% average load", "hours_per_week", 84.0),
        ("qlora of qwen3-8b on 24 GB cards such as the l4, or an a100", "memory_gb", None),
        ("qwen3-8b for 4 people on 2 p40 for $150 each, or else up to $900", "concurrent", 0),
        ("resnet50 on a used 3080 from a neighbour for 310 eur, or a 5060 ti", "budget_usd", None),
        ("does a llama 3.3 70b in 4 bits fit on two 4090", "asks", "able"),
        ("qwen3-8b for 9 callers at once, prompts of 1800 tokens, answers of 150. Rent", "context", 1950),
        ("qwen3-8b для 9 сотрудников одновременно, первый токен до 500 мс, купить", "first_token_s", 0.5),
        ("on n'a qu'une RTX 4070, elle suffira pour un QLoRA de qwen3-8b", "have", ("rtx-4070",)),
        ("two DGX Sparks or a 5090 for qwen3-32b", "sets", (("gb10", 2), ("rtx-5090", 1))),
        ("three partners train resnet50, rent or buy a 4090", "users", 1),
        ("four people, 25 hours a week each, lora of qwen3-8b, rent", "hours_per_week", 100.0),
        ("four people, each wants his own card for resnet50, 4000 dollars", "users", 4),
        ("host qwen3-8b for 7 guides of a museum, from 8 to 18 h, rent", "hours_per_week", 50),
    ],
)
def test_what_is_said_takes_its_own_role(text: str, field: str, value: object) -> None:
    need = asked(text)
    assert {**asdict(need), **asdict(need.assumptions)}[field] == value


def test_days_are_deadlines() -> None:
    for text in ("train resnet50 on 1M images by friday", "resnet50 on 1M images, done by 2026-11-27"):
        need = need_of(text, {}, {}, today=date(2026, 11, 26))[0]
        assert need.deadline_s == 86400
    given = {"work": "1M images", "deadline": "5 December"}
    assert need_of("resnet50", given, {}, today=date(2026, 11, 26))[0].deadline_s == 9 * 86400
    for said in ("deadline 12 dec 23:59 AoE", "due 12 december", "by 12 dec 6pm"):
        text = f"lora of llama 8b on 40M tokens, {said}"
        assert need_of(text, {}, {}, today=date(2026, 11, 26))[0].deadline_s == 16 * 86400
    with pytest.raises(InputError, match="past"):
        need_of("train resnet50 on 1M images by 2026-11-01", {}, {}, today=date(2026, 11, 26))


def test_what_is_taken_for_something_else_says_so() -> None:
    late = need_of("llama-3.1-8b", {"latency": "50ms"}, {})[0]
    assert (late.latency_kind, "TTFT<=50ms" in late.notes[-1]) == ("TPOT", True)
    assert not any("TTFT" in note for note in need_of("llama-3.1-8b", {"latency": "TPOT<=50ms"}, {})[0].notes)
    assert asked("bert large pretraining").workloads[0][0] == "bert-large-pretrain-s128"
    assert asked("train bert large").workloads[0][0] == "bert-large"
    assert asked("segmentation u-net on cell images").workloads[0][0] == "resnet50"


def test_more_cards_than_a_machine_holds_are_said_to_be_too_many() -> None:
    def notes(count: int) -> list[str]:
        need = settled(asked(f"we have {count} V100 32GB, bert-large"))
        return [note for note in need.notes if "count" in note]

    assert notes(8) == []
    assert len(notes(9)) == 1


def test_a_machine_that_is_there_takes_one_card_unless_more_are_said() -> None:
    given = {"host": "0", "acquire": "own"}
    assert need_of("llama-3.1-8b", given, {})[0].gpus == (1, 1)
    assert need_of("llama-3.1-8b", {**given, "gpus": "1..4"}, {})[0].gpus == (1, 4)
    assert need_of("llama-3.1-8b", {"acquire": "own"}, {})[0].gpus == (1, 8)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("I have 150 dollars, lora of llama 8b on 50M tokens", "acquire", "both"),
        ("llama 3.1 8b, 300/month", "budget_per_month", True),
        ("$300 of credits on lambda to train llm-1b", "acquire", "rent"),
        ("run 2 million images through vit-b by friday 9am", "deadline_s", 4 * 86400),
        ("2 million images through vit-b16 by friday 5pm", "deadline_s", 4 * 86400),
        ("2 million images through vit-b16 by 17:00 on friday", "deadline_s", 4 * 86400),
        ("2 million images through vit-b16 by friday noon, $20", "budget_usd", 20),
        ("2 million images through vit-b16 before christmas", "deadline_s", 32 * 86400),
        ("2 million images through vit-b16, done by new year", "deadline_s", 38 * 86400),
        ("wir haben 4 alte V100 16GB, bert-large", "have", ("v100-sxm2-16gb",) * 4),
        ("llama 3.1 8b, 300 pm", "budget_per_month", True),
        ("i got 50 bucks for a qlora of llama 8b", "acquire", "both"),
        ("80 euros for a qlora of llama 8b", "acquire", "both"),
        ("$349 for a qlora of llama 8b", "acquire", "both"),
        ("$350 for a qlora of llama 8b", "acquire", "own"),
        ("$300 card for a qlora of llama 8b", "acquire", "own"),
        ("40k credits on gcp", "budget_usd", 40_000),
        ("40k in google cloud credits for llama 70b", "providers", ("gcp",)),
        ("2500 credits for bert-large", "acquire", "rent"),
        ("laptop", "form", "laptop"),
        ("laptop", "workloads", (("llm-1b-decode", 1.0),)),
        ("llama", "workloads", (("llama-3.1-8b", 1.0),)),
        ("one shared server for 6 researchers to finetune llama 8b", "users", 1),
        ("minimum gpu to run llama 8b", "goal", "price"),
        ("card for llama 8b in our server", "fans", True),
        ("bert-large on 1 to 4 rented gpus", "gpus", (1, 4)),
        ("my laptop has a rtx 4060, lora of llama 3.2 3b", "have", ("rtx-4060-laptop",)),
        ("a used v100 32gb or a new 4090 for resnet50", "sets", (("v100-pcie-32gb", 1), ("rtx-4090", 1))),
        ("a used 3090 or a new 4090 for resnet50", "sold", ()),
        ("bert-large, buy, 8 hours a day 5 days a week", "assumptions", Assumptions(hours_per_week=40)),
        ("low profile card for our 30 employees that chat with documents", "concurrent", 6),
        ("a 5090 for video generation with wan 14b", "workloads", (("dit-xl2-512", 1.0),)),
        ("whisper or llama 3.2 3b on a 4090", "workloads", (("llama-3.2-3b", 1.0),)),
        ("we own 4 T4s for bert-large", "have", ("t4",) * 4),
        ("own 8x h100 or rent them for llama 8b", "have", ()),
        ("we own nothing: 8x h100, buy or rent for bert-large", "have", ()),
        ("I have a ryzen 5600, 32gb ram and a 3060 12gb for bert-large", "have", ("rtx-3060-12gb",)),
        ("ryzen 5600 and 32gb ram, card for bert-large", "ignored", ("ryzen 5600", "32gb ram")),
        ("bert-large on a 4090, no infiniband", "ignored", ("no infiniband",)),
        ("card for bert-large in a rack, water cooled", "ignored", ("water cooled",)),
        ("2nd 3090 or one 5090 for llama 70b", "have", ("rtx-3090",)),
        ("90 epochs of imagenet by monday morning (60 hours)", "deadline_s", 216_000),
        ("4090 for llama 8b on a 2 kVA ups", "outlet_w", 1800.0),
        ("llama 8b, 2 requests per second, p95 under 6 seconds", "latency_s", pytest.approx(0.02)),
        ("llama 8b for 30 users", "assumptions", Assumptions(hours_per_week=168)),
        ("llama 8b for 30 users, 50 hours a week", "assumptions", Assumptions(hours_per_week=50)),
        ("llama 8b at home for 4 people", "assumptions", Assumptions()),
        ("is a 3090 enough for gemma 3 27b and qwen3 32b", "workloads", (("qwen3-32b", 1.0),)),
        ("wie viel vram für llama 3.3 70b in 4 bit mit 32k kontext", "asks", "memory"),
        ("wie viel vram für llama 3.3 70b in 4 bit mit 32k kontext", "context", 32_768),
        ("2 million embeddings a day with bge-m3", "items", 2e6),
        ("llama 70b for 40 users, max 3 dollars per hour", "acquire", "rent"),
        ("does a 10 kW rack hold two 8x h100 servers for llama 8b", "outlet_w", 5000.0),
        ("classify 200k tickets per month with llama 8b", "batched", True),
        ("classify 200k tickets per month with llama 8b", "reads", 50.0),
        ("2000 requests per day of llama 8b", "batched", False),
        ("nightly batch of 1 million images with vit-b16", "batched", True),
        ("fine-tune qwen2.5 14b every night, 2M tokens each time: buy or rent", "period_s", 86400.0),
        ("fine-tune qwen2.5 14b every night, 2M tokens each time: buy or rent", "batched", True),
        ("fine-tune qwen2.5 14b on 2M tokens, 3 hours each night", "period_s", None),
        ("does a 4060 ti 16gb give me 40 tokens per second with llama 3.1 8b", "rate", 40.0),
        ("does a 4060 ti 16gb give me 40 tokens per second with llama 3.1 8b", "items", None),
        ("what is cheaper per million tokens, L40S or A100, for llama 70b", "items", 1e6),
        ("serve llama 8b, 100M tokens/day, cheapest cost per million tokens", "items", 1e8),
        ("does a 4090 do 100 tokens per second on qwen3 32b", "rate", 100.0),
        ("does a 4090 do 101 tokens per second on qwen3 32b", "rate", 0.0),
        ("can an m4 max macbook with 64gb do 20 tokens per second on a 32b model", "rate", 20.0),
        ("rent an h100 for 40 tokens/s of llama 70b", "latency_s", 0.025),
        ("llama 70b con due 4060 ti da 16 gb", "sets", (("rtx-4060-ti-16gb", 2),)),
        ("eine 3060 mit 12 GB für llama 3.1 8b", "sets", (("rtx-3060-12gb", 1),)),
        ("is it worth keeping a V100 16gb for lora of llama 8b", "asks", ""),
        ("is a V100 16gb worth it for lora of llama 8b", "asks", "too much"),
        ("llama 3.3 70b chat, latency is all that matters, money doesn't matter", "goal", "speed"),
        ("llama 3.3 70b chat, latency is all that matters, money doesn't matter", "concurrent", 1),
        ("llama 3.3 70b chat, latency is all that matters, money doesn't matter", "ignored", ()),
        ("llama 3.3 70b chat", "workloads", (("llama-3.1-70b", 1.0),)),
        ("alcanza una RTX 4060 Ti de 16 GB para Qwen3 14B a 30 tokens por segundo", "rate", 30.0),
        ("alcanza una RTX 4060 Ti de 16 GB para Qwen3 14B", "sets", (("rtx-4060-ti-16gb", 1),)),
        ("qué gpu comprar para entrenar redes pequeñas en casa con 400 euros", "at_home", True),
        ("qué gpu comprar para entrenar redes pequeñas en casa con 400 euros", "ignored", ()),
        ("sdxl, 2000 imágenes al día, alquilar o comprar", "period_s", 86400.0),
        ("bert-large sur 8 a100 pendant une semaine", "hire_h", 168.0),
        ("mistral small 24b im Haus mit 12 Leuten, höchstens 6000 Euro", "users", 12),
        ("Mistral Small 24B louer, moins de 2 € de l'heure", "budget_per_hour", True),
        ("qwen2.5 72b awq on two l40s", "precision", "int4"),
        ("which of my cards should run whisper: a 1080 ti or a t4", "have", ("gtx-1080-ti", "t4")),
        ("which of my cards should run whisper: a 1080 ti or a t4", "asks", "faster"),
        ("500k images with sdxl by monday", "gpus", (1, 64)),
        ("500k images with sdxl by monday on 2 gpus", "gpus", (2, 2)),
        ("card for sdxl in my pc with an 8 pin connector", "power_w", 225.0),
        ("4090 to train ViT-B/16 300 epochs in one week", "items", pytest.approx(300 * 1.2812e6, rel=1e-3)),
        (
            "Ich habe einen Rechner mit 750-Watt-Netzteil und einer RTX 2070, 5070 für sdxl",
            "have",
            ("rtx-2070",),
        ),
        ("how many tokens per second of qwen3 30b a3b on a 3090", "asks", "speed"),
        ("four of us want our own card for bert-large, 9000 dollars", "users", 4),
        ("serve qwen3-8b to 6 people, each with a 32k context", "concurrent", 0),
        ("a server for bert-large, 5 students use it, 20k euros", "users", 1),
        ("can i run qwen3-8b on 4 a100 or do i need h200s", "sets", (("a100-sxm4-80gb", 4), ("h200-sxm", 4))),
        ("QLoRA von qwen2.5-7b, 900 Euro, keine 4070 und nichts von AMD", "sets", ()),
        ("training resnet50 60 % and answering with llama 8b 40 %", "workloads", (("resnet50", 1.0),)),
        ("vit-b16 on a 3060 in my den, L4", "have", ()),
        ("bert-large hosted in france, billed in euros", "acquire", "rent"),
        ("stabel difusion xl, budget 700 power 650", "budget_usd", 700.0),
        ("cheapest spot a100 for qwen3-8b, must never go down", "spot", False),
        ("is a laptop 4080 the same as a desktop 4080 for vit", "form", None),
        ("qwen3-8b to 80 people, 12 of them at once, 4k context each", "concurrent", 0),
        ("qwen3-8b to 80 people, 12 of them at once, 4k context each", "users", 12),
        ("90 concurrent users of qwen3-8b with 5000 token prompts", "items", None),
        ("90 concurrent users of qwen3-8b with 5000 token prompts", "users", 90),
        ("bert-large, 30 queries a second, p95 below 40 ms", "latency_s", 0.04),
        ("an alternative to the A40 for bert-large, 2 dollars an hour", "sets", ()),
        ("buy 6 notebooks for a course in computer vision, 9000 euros", "users", 6),
        ("buy 6 notebooks for a course in computer vision, 9000 euros", "workloads", (("resnet50", 1.0),)),
        ("qwen3-32b on a mac studio m2 ultra 64gb", "memory_gb", (64.0, 64.0)),
        ("LoRA von qwen3-8b mit 9000 Beispielen bis Freitag, mieten", "deadline_s", 345600.0),
        ("pretrain bert-large on 5B tokens every tuesday, rented", "period_s", 604800.0),
        ("the fastest way to train resnet50 for 90 epochs of imagenet, $400", "goal", "speed"),
        ("a dit-xl/2 on imagenet 256 for 5 epochs", "workloads", (("dit-xl2", 1.0),)),
        ("gpu of at least 900 GB/s for bert-large, 900 dollars", "acquire", "own"),
        ("llama-3.1-8b 3 users 16k", "context", 16384),
        ("qwen3-8b im 32k Kontext auf einer 3090", "context", 32768),
        ("llm for 90 employees, rack of 5 kW, buy", "outlet_w", 5000.0),
        ("4 folds of resnet50 with 10 epochs of imagenet", "items", pytest.approx(40 * 1.2812e6, rel=1e-3)),
        ("a p100 12gb for 80 dollars, or rather a 3060, for resnet50", "budget_usd", None),
        ("largest model i can serve to 4 people for 150 euros a month", "budget_per_month", True),
        ("my laptop has a 3050 4gb, can it run llama-3.2-3b", "have", ("rtx-3050-laptop",)),
        ("serve qwen3-8b to 30 users, what is the price per million tokens", "items", None),
        ("qwen3-8b from taiwan", "region", "Asia"),
        ("9000 dollars that must be spent by december 20, a server for bert-large", "deadline_s", None),
        ("9000 Euro müssen bis 20. Dezember ausgegeben sein, Server für bert-large", "acquire", "own"),
        ("bert-large bis 9. Dezember auf 3 Milliarden Tokens trainieren, mieten", "deadline_s", 1382400.0),
        ("a card without cuda for qwen3-8b, 900 dollars", "unproven", True),
        ("best card for resnet50 in 2026", "budget_usd", None),
        ("qwen3-8b for 25 simultaneous calls", "users", 25),
        ("bert-large sur 2 milliards de tokens en moins d'une semaine, louer", "deadline_s", 604800.0),
        ("bert-large auf 2 Milliarden Tokens in weniger als einer Woche, mieten", "deadline_s", 604800.0),
        ("a 3090 on vast for 2 weeks of 6 hours a day", "hire_h", 84.0),
        ("de 1 à 2 gpu pour bert-large, louer", "gpus", (1, 2)),
        ("largest model I can run on two 16GB cards", "asks", "largest"),
        ("I have a 4070, what second card should I add for qwen3 32b", "beside", True),
        ("I have a 4070, what should I buy for qwen3 32b", "beside", False),
        ("I have a 3060 12gb and a 4070, can the two run qwen3 32b", "asks", "able"),
        ("llama 8b for 200 employees at once", "users", 200),
        ("llama 8b a unos 80 usuarios simultáneos, menos de 50 ms por token", "items", None),
        ("max. 400 W für Grafikkarten in der Workstation, bert-large kaufen", "power_w", 400.0),
        (
            "llama 70b on rented h100s vs API at 0.8 dollars per million",
            "bill",
            Bill(of="an API", usd=0.8, items=1e6),
        ),
        (
            "students (5 of them) each lora of a 7b 10 hours a week, one server",
            "assumptions",
            Assumptions(hours_per_week=50),
        ),
        ("fft, 3 year ownership, 9000 dollars, own", "ignored", ()),
        (
            "A100 40GB or L40S for bert-large, on demand",
            "sets",
            (("a100-sxm4-40gb", 1), ("a100-pcie-40gb", 1), ("l40s", 1)),
        ),
        ("server for llama 70b in a hospital, 30 users, 19999 dollars", "only", ()),
        ("1 million images per day with vit-b16 in a batch job", "batched", True),
        ("rtx 4060 laptop or rtx 3060 desktop for deep learning", "workloads", (("resnet50", 1.0),)),
        ("laptop for deep learning", "workloads", (("llm-1b-decode", 1.0),)),
        ("ocr of 2 million pages with qwen2.5-vl 7b", "workloads", (("qwen2.5-7b", 1.0),)),
        ("ocr of 2 million pages with qwen2.5-vl 7b", "ignored", ("vl",)),
        ("buy a 5090 for training, 850W gold", "power_w", 650.0),
        ("train transformers on a 1080 ti", "workloads", (("bert-large", 1.0),)),
        ("I get a used a6000 for 3000 dollars, good price for llama 70b?", "sets", (("rtx-a6000", 1),)),
        ("can a 4090 replace an a100 for resnet50", "acquire", "both"),
        ("buy a 3090 with 30 hours of training a week", "assumptions", Assumptions(hours_per_week=30)),
        ("zwei 3090 oder eine 5090 für llama 70b", "sets", (("rtx-3090", 2), ("rtx-5090", 1))),
        ("is a 3090 enough for llama 8b and sdxl", "also", ("sdxl",)),
        ("is an l40s faster than a rtx 6000 ada for sdxl", "sets", (("l40s", 1), ("rtx-6000-ada", 1))),
        ("finetune qwen2.5 14b fully", "task", "full"),
        (
            "Ein 1B-Modell auf 5 Milliarden Tokens trainieren, gemietet, in höchstens zwei Wochen",
            "deadline_s",
            1209600.0,
        ),
        ("¿Cuántas L4 necesito para atender 500 peticiones por minuto con bert-large?", "items", 720000.0),
        ("¿Cuántas L4 necesito para atender 500 peticiones por minuto con bert-large?", "asks", "number"),
        (
            "¿alquilar una 4090 para entrenar resnet50 30 horas a la semana?",
            "assumptions",
            Assumptions(hours_per_week=30),
        ),
        ("tengo una RTX 3080 de 10 GB, ¿qué modelo más grande puedo ejecutar?", "asks", "largest"),
        ("est-ce que 16 Go suffisent pour un modèle de 24B en 4 bits ?", "memory_gb", (16.0, 16.0)),
        ("Welche Karte unter 600 Euro ist für bert-large am sparsamsten?", "goal", "energy"),
        ("Institut sucht Server mit 4 GPUs für ResNet-50, Budget 40.000 Euro", "budget_usd", 44000.0),
        ("Je veux affiner Llama 3.1 8B avec QLoRA", "ignored", ()),
        ("llama 8b for a firm in germany, data must stay in the eu, rented", "region", "Europe"),
        ("llama 8b in the eu, best in germany, rented", "region", "Germany"),
        ("batch transcription of 40 hours of podcasts every week", "batched", True),
        ("9 to 5 on weekdays we need an a100, rent or buy", "ignored", ()),
        ("vast or lambda for a single 4090?", "providers", ("vast", "lambda")),
        ("h100 on vast, runpod or lambda, which is cheapest", "providers", ("vast", "runpod", "lambda")),
        ("two people each need a workstation for qlora of 70b models, 20k dollars together", "users", 2),
        ("solar with 600 W continuous for everything, best machine for an 8b llm", "outlet_w", 600.0),
        ("what llms can I run on an old Tesla P40?", "unproven", True),
        ("we run 3 rented L4 for whisper, would owning be cheaper?", "sets", (("l4", 3),)),
        ("cheapest way to have 80gb of vram for a month", "total_gb", 80.0),
        ("is a second A40 enough or do I need three for llama 70b", "sets", (("a40", 3), ("a40", 2))),
        ("an A40, or do I need two for llama 70b? I have one", "have", ("a40",)),
        ("pretrain a 1.1 billion parameter model on 20B tokens", "workloads", (("tinyllama-1.1b", 1.0),)),
        ("can I fully fine-tune llama 3.1 8b on 2 rented A100", "task", "full"),
        ("training small vision networks, 9000 dollars", "title", ""),
        ("a GPU server for a class of 18 people, pytorch, 9000 dollars", "gpus", (1, 8)),
        ("6 GPUs max for bert-large, rent", "gpus", (1, 6)),
        ("bert-large, MIG would be nice, buy", "only", tuple(asked("bert-large, mig, buy").only)),
        (
            "we get 6 tok/s on our A40 with llama 70b q4, and want 18 tok/s",
            "latency_s",
            pytest.approx(1 / 18),
        ),
        ("friends told us to take a Mac Studio, others say an A40: llama 70b, buy", "only", ()),
        ("4000 dollars: rent a 4090 or buy it, 2 years of use, bert-large", "budget_per_hour", False),
        (
            "bert-large, at most 900 W for the whole machine at my desk, money does not matter",
            "outlet_w",
            900.0,
        ),
        ("hosted in France or Spain: llama 70b", "region", "France or Spain"),
        ("hosted in France or Europe: llama 70b", "region", "Europe"),
        (
            "ViT 4 days a week, 6 hours each. A 4090 or cloud?",
            "assumptions",
            Assumptions(hours_per_week=24.0),
        ),
        ("llama 8b for 400 staff, about 5% at once, buy", "users", 20),
        ("llama 8b for 30 people, bought, the server is used 40% of the time", "sold", ()),
        ("at least 1 TB/s bandwidth and 40GB for bert-large, buy", "memory_gb", (40.0, None)),
        ("500M tokens a month with llama 70b, 75% input", "reads", 3.0),
        ("lora of llama 8b on 9M tokens by friday, spend at most 40 dollars", "deadline_s", 4 * 86400),
        ("serverless or an own A40 for 9000 sdxl images a day", "either", True),
        ("$900 of credits at lambda that expire in 5 months, bert-large", "deadline_s", None),
        ("9 dentists and 3 assistants use llama 70b", "concurrent", 3),
        ("llama 8b for 60 people, about 7 use it at the same time", "users", 7),
        ("llama 8b, 14 of our 90 engineers ask at the same time", "users", 14),
        ("call center, 30 agents, llama 8b", "concurrent", 6),
        ("swap: sell my two 3080s and buy one 5090 for bert-large", "upgrade", True),
        ("upgrade our server (4x T4) to something faster for bert-large", "upgrade", True),
        ("two A40s are already installed, can they serve llama 70b", "have", ("a40", "a40")),
        ("1200 W, no noise issues in the cellar, bert-large", "quiet", False),
        ("bert-large, cards of at most 2 slots each, three of them, buy", "slots", None),
        ("lora of llama 8b with 4k sequences, rent", "context", 4096),
        ("qwen3 32b with 16k context under 1500 dollars", "budget_usd", 1500.0),
        ("180GB VRAM pooled for llama 70b, buy used", "total_gb", 180.0),
        ("a 20 kW solar plant feeds my 3090, llama 8b", "power_w", None),
        ("bert-large, 4 kW, under 41 dB at the desk", "quiet", True),
        ("fine-tuning for at most 12,000 incl. workstation, lora", "budget_usd", 12_000.0),
        ("train bert-large, fp64 is not needed, buy", "precision", "bf16"),
        ("lora on a rented card, no model in mind", "task", "lora"),
        ("our rack has 5 kW left, llama 70b for 30 people at once", "outlet_w", 5000.0),
        ("a box with 1200W PSU, currently one A40: add another A40 for llama 70b", "have", ("a40",)),
        ("llama 8b for 90 staff, of whom 7 may use it at any one time", "users", 7),
        ("a mobile games studio makes 300 sdxl images a day", "form", None),
        ("a ChatGPT-like assistant for 9 people at once, buy", "workloads", (("gpt-oss-120b", 1.0),)),
        ("yolov8 on 4 cameras, 25 fps, 1080p, buy", "budget_usd", None),
        ("an A40 or 6,500 dollars in cash, bert-large", "budget_usd", 6500.0),
        ("PSU 2x 1200W, bert-large", "power_w", 1000.0),
        ("in our own server room, llama 70b", "assumptions", Assumptions()),
        ("energy efficient card below 1.300 euros for bert-large", "assumptions", Assumptions(host_usd=0.0)),
        ("20M tokens in and 4M out per day with llama 8b, monthly cost", "period_s", 86400.0),
        ("tag 500 hours of video a month with clip", "items", None),
        ("is $1.10/h for an A40 or $0.90 for an L4 the better deal, bert-large", "acquire", "rent"),
        ("llama 70b at 60 tokens per second per stream, 12 streams", "concurrent", 12),
        ("uma placa com 16 GB de VRAM ou mais para sdxl", "memory_gb", (16.0, None)),
        ("1M tokens each night through llama 8b, done in 3 hours", "deadline_s", None),
        ("llama 8b in the cloud, EUR 700 a month", "budget_usd", pytest.approx(770.0)),
        ("what is the smallest number of A40 for llama 70b", "asks", "number"),
        ("pytorch training and small llms, 3000 dollars", "also", ("llama-3.2-3b",)),
        (
            "I pay $1.10/h for an A40 60 hours a month; a used one for 2900 pays off when, bert-large?",
            "either",
            True,
        ),
    ],
)
def test_more_of_what_buyers_say(text: str, field: str, value: object) -> None:
    assert getattr(need_of(text, {}, {"EUR": 1.1}, today=date(2026, 11, 23))[0], field) == value


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("9 to 5 on weekdays", 40.0),
        ("9am to 5pm", 40.0),
        ("8 to 18 o clock", 50.0),
        ("from 22 to 6 every day", 56.0),
        ("6 to 18 every day", 84.0),
        ("12 to 12 daily", 84.0),
        ("during the day", 40.0),
        ("2 to 5 cards", 40.0),
    ],
)
def test_hours_of_the_day(text: str, hours: float) -> None:
    assert asked(f"an A100 for resnet50, {text}").assumptions.hours_per_week == hours


RATES = {
    "EUR": 1.1, "GBP": 1.3, "JPY": 0.0063, "CNY": 0.15, "BRL": 0.19, "KRW": 0.00075, "PLN": 0.25, "CHF": 1.2,
    "INR": 0.01, "AUD": 0.7, "SEK": 0.1, "TWD": 0.03, "MXN": 0.055,
}  # fmt: skip
LANGUAGES = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "said"), LANGUAGES.items())
def test_other_languages_say_the_same(text: str, said: dict[str, object]) -> None:
    need = settled(need_of(text, {}, RATES, today=date(2026, 11, 28))[0])
    stated = {**asdict(need), **asdict(need.assumptions), "users": max(need.users, need.concurrent)}
    found = json.loads(json.dumps({name: stated[name] for name in said}, default=list))
    assert found == {name: pytest.approx(value) if "usd" in name else value for name, value in said.items()}


@pytest.mark.parametrize("text", ["1.2.3 ms per token", "1.2.3 cents per kWh", "12.12.2026 hours", "1.2.3 %"])
def test_a_piece_of_a_longer_number_is_no_number(text: str) -> None:
    need = asked(f"serve llama-3.1-8b, {text}")
    assert (need.latency_s, need.deadline_s, need.assumptions) == (0.05, None, Assumptions())


def test_double_precision_counts_before_a_network_of_another_part_of_the_text() -> None:
    need = asked("double precision CFD, and some training of ViT-B/16 at night")
    assert (need.precision, need.also) == ("fp64", ("train:vit-b16",))
    need = asked("OpenFOAM in fp64 and qlora of qwen3-14b")
    assert (need.precision, need.also) == ("fp64", ("qlora:qwen3-14b",))
    with pytest.raises(InputError, match="does not run in fp64"):
        asked("train resnet50 in double precision")


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        # Several V100 are no V100S, whose S is a capital.
        ("we have six V100s, can they serve a 7B", "have", ("v100-sxm2-16gb",) * 6),
        ("we have six v100s, can they serve a 7B", "have", ("v100-sxm2-16gb",) * 6),
        ("I own a V100S, can it serve a 7B", "have", ("v100s-pcie-32gb",)),
        ("a used A100 or a new 5090 for bert-large", "sets", (("a100-pcie-80gb", 1), ("rtx-5090", 1))),
        # What a card draws is not what each person has.
        ("serve an 8B to 30 users, 200 W each, 2 slots, in a rack", "concurrent", 0),
        # Prices
        ("is a 4080 worth it for sd at 15 hours a week when I pay 0.28 per kWh", "budget_usd", None),
        ("resnet50 takes 8 hours per epoch here, what is faster for 900 dollars", "budget_usd", 900.0),
        ("rent four H100s, no more than $3 per GPU hour, resnet50", "budget_usd", 12.0),
        ("rent four H100s for resnet50, at most $3/h each", "budget_usd", 12.0),
        ("rent four H100s for resnet50, at most $3 per hour per GPU", "budget_per_hour", True),
        # Ways and places
        ("serve a 14b, own server and cloud compared: compare owning with the cloud", "either", True),
        ("cheapest rent of a 40GB card, US only", "region", "the US"),
        ("a cheap 16GB card, it is for us only, bert-base", "region", ""),
        ("flux at home for 2500 dollars, how many images per hour", "acquire", "own"),
        # Who asks, and what is asked of
        ("chatbot with a 14b for a company of 40 people", "concurrent", 8),
        ("is 16GB enough for lora of a 3B, or should I rent an A100", "sets", ()),
        ("is a 3090 enough, or do I need 48GB, for lora of a 7B", "sets", (("rtx-3090", 1),)),
        ("two A100s inference of a 34B, what does it cost", "items", None),
        ("train a 1B on 2B tokens, deadline in 2 weeks", "ignored", ()),
        (
            "we pay gpt-4o $900 a month for 300M tokens, would gemma-2-27b be cheaper",
            "workloads",
            (("gemma-2-27b", 1.0),),
        ),
        ("an 8B for 300 people at once on L40S cards, or on L4s", "only", ()),
        ("an 8B for 300 people at once on A10s", "gpus", (1, 8)),
        ("is a mac mini m4 pro with 48 GB any good for gemma-2-27b", "sets", (("apple-m4-pro", 1),)),
        ("1800 dollars: faster than my 3080 for sd training", "have", ("rtx-3080-10gb",)),
        ("somos una empresa de 40 personas, servir un 14b en la nube", "concurrent", 8),
        ("resnet50 on P100s, for 25 students", "gpus", (1, 1)),
        ("rent an A100 for 90 hours of training over the next three months", "hire_h", 90.0),
        ("I have a 3070, sell it and buy a 4080 for sdxl?", "ignored", ()),
    ],
)
def test_what_buyers_say_in_other_words(text: str, field: str, value: object) -> None:
    assert getattr(asked(text), field) == value


def test_a_server_of_ones_own_pays_off_within_years() -> None:
    need = asked("we pay $4000 a month for 2 A100, does an own server pay off within two years, llama 8b")
    assert (need.assumptions.years, need.deadline_s) == (2, None)


def test_a_price_of_electricity_without_a_currency() -> None:
    assert asked("a 4080 for sd, I pay 0.28 per kWh").assumptions.electricity_usd_per_kwh == 0.28


def test_a_weekend_is_a_deadline_of_work_that_is_stated_apart() -> None:
    text = "fine-tune llama 8b over the weekend"
    assert (asked(text).deadline_s, len(asked(text).corrected)) == (None, 1)
    assert need_of(text, {"work": "50M tokens"}, {})[0].deadline_s == 172800


@pytest.mark.parametrize(
    ("text", "most"),
    [("llama 70b at home, used is fine", 4), ("qwen3 32b at home", 1), ("train resnet50 at home", 1)],
)
def test_at_home_several_cards_share_a_model_that_one_does_not_hold(text: str, most: int) -> None:
    assert asked(text).gpus == (1, most)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # What is not to be, in lists and before prepositions
        ("no pascal or turing, a card for sdxl", {"traits": ("p100-pcie-16gb", "rtx-2080", "t4")}),
        ("nothing older than ampere for a 14b", {"traits": ("v100-pcie-16gb", "rtx-2080-ti")}),
        ("not want anything from nvidia's 30 series, a 14b", {"traits": ("rtx-3090", "rtx-3060-12gb")}),
        ("neither cloud nor used: a 14b for me", {"acquire": "own", "sold": ("new",)}),
        ("no spot or community offers, rent an h100 for a week", {"spot": False, "community": False}),
        ("rent an h100 not in the US for a day", {"region": "", "ignored": ("not in the us",)}),
        ("rent an h100 w/o commitment", {"reserved": False}),
        ("rent an h100, no commitment over 3 months", {"most_commitment_h": 2191.5}),
        ("I don't need training, a 7b on a card for 300 dollars", {"task": "infer", "mode": "infer"}),
        ("a 7b for me, no noise restrictions", {"quiet": False}),
        ("a 7b for me, noise does matter", {"quiet": True}),
        # Questions that begin with a negation
        ("flux for me, isn't a 4060 ti 16gb plenty?", {"asks": "able", "sets": (("rtx-4060-ti-16gb", 1),)}),
        # Amounts and parts of a request
        (
            "serve an 8b to 200 concurrent users, 2k prompt and 300 answer tokens",
            {"users": 200, "context": 2300, "items": None},
        ),
        ("a 13b for 50 users at once, 500 tokens each answer", {"context": 500, "items": None}),
        ("serve llama 8b at 4000 tokens/s in total", {"items": 345600000.0}),
        ("serve llama 8b at 40 tokens/s", {"items": None, "latency_s": 0.025}),
        ("an 8b for 500 users, 3% use it at the same time", {"users": 15}),
        ("a 14b for a class of 30, at most 10 of them active", {"users": 10, "gpus": (1, 8)}),
        ("we are a law firm of 25, a 70b, 4 people asking at once", {"users": 4, "ignored": ()}),
        # Memory of several cards, formats, several watts
        ("two gpus, 96 GB vram together, llama 70b", {"total_gb": 96.0, "memory_gb": None}),
        ("at least 80gb vram, several cards are fine, llama 70b", {"total_gb": 80.0, "memory_gb": None}),
        ("at least 80gb vram for llama 70b", {"total_gb": 0.0, "memory_gb": (80.0, None)}),
        ("3 machines, 2 gpus per machine, 24gb per gpu, 20k, 32b awq", {"memory_gb": (24.0, 24.0)}),
        ("run 70b q4. quiet", {"precision": "q4_k_m"}),
        ("a 14b, 4 or 5 bit", {"precision": "int4"}),
        ("my psu is 650 W, the card should draw at most 200 W, sdxl", {"power_w": 200.0}),
        ("my psu is 650 W, the card should draw at most 400 W, sdxl", {"power_w": 400.0}),
        ("at least 4 gpus for 6 researchers, vit-b", {"gpus": (4, 8)}),
        # Money
        ("budget is around 1.5k but not fixed, sdxl", {"budget_usd": 1500.0}),
        ("a card for sdxl, 2k max", {"budget_usd": 2000.0}),
        ("a card for sdxl, ~1500 total", {"budget_usd": 1500.0}),
        ("a card for sdxl, 250-300 euros", {"budget_usd": 330.0}),
        ("at most two thousand euros for a card for sdxl", {"budget_usd": 2200.0}),
        ("4 workstations for us, bert-large, budget is 5k each", {"users": 4, "budget_usd": 20000.0}),
        (
            "a new graphics card for $150 that trains a 7B in one week",
            {"budget_usd": 150.0, "acquire": "own"},
        ),
        ("a 4080 in Germany for sd, power costs 38 cents per kWh", {"electricity_usd_per_kwh": 0.418}),
        ("a 4080 in Texas for sd, power costs 38 cents per kWh", {"electricity_usd_per_kwh": 0.38}),
        # What is there, and what is paid now
        ("our lab has a workstation with a 1080 ti, bert-large", {"have": ("gtx-1080-ti",)}),
        ("two L40 installed, what else to serve a 70b", {"have": ("l40", "l40")}),
        ("the old box: 2x titan xp, resnet50 5 times faster", {"faster": 5.0}),
        (
            "we run a 70b on two A6000s, adding two more A6000",
            {
                "have": ("rtx-a6000", "rtx-a6000"),
                "sets": (("rtx-a6000", 4),),
                "workloads": (("llama-3.1-70b", 1.0),),
            },
        ),
        ("I have a 4090, a card for sdxl, later another one of the same kind", {"sets": ()}),
        ("switching from a gpu service at $50 a month to my own gpu, bert-large", {"budget_usd": None}),
        ("replace 4 t4 on gcp ($1100 a month) with something at home, bert-large", {"providers": ()}),
        ("a 70b for 10 users, the rack circuit is 16A, Germany", {"outlet_w": 0.8 * 16 * 230}),
        ("a 13b in the office from 8 to 18, Monday to Friday", {"hours_per_week": 50}),
        ("for a client: a 13b for 400 employees, 30 at any one time", {"users": 30, "ignored": ()}),
        ("a used 3090 for a 14b, warranty is not important", {"sold": ("used", "street")}),
        # What most of it is, and what is an aside
        (
            "mostly cnn training, a few use a 13b",
            {"workloads": (("resnet50", 1.0),), "also": ("llama-2-13b",), "mode": "train"},
        ),
        (
            "mostly inference of a 70b, sometimes lora of an 8b",
            {"task": "infer", "also": ("lora:llama-3.1-8b",)},
        ),
        ("7b models are fine but now I want a 32b", {"workloads": (("qwen2.5-32b", 1.0),)}),
        ("the least vram for qlora of mistral 7b", {"asks": "memory"}),
        ("how many users can a 70b serve on my 4 l40s before it is slow", {"asks": "at once"}),
        ("do I need ecc or nvlink for lora of an 8b on 2 gpus", {"only": ()}),
    ],
)
def test_what_people_ask_in_their_own_words(text: str, said: dict[str, object]) -> None:
    need = asked(text)
    stated = {**asdict(need), **asdict(need.assumptions), "users": max(need.users, need.concurrent)}
    wanted = dict(said)
    barred = {*wanted.pop("traits", ())}  # type: ignore[misc]
    assert not barred or (need.only and not barred.intersection(need.only))
    found = {name: stated[name] for name in wanted}
    assert found == {n: pytest.approx(v) if isinstance(v, float) else v for n, v in wanted.items()}


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        # Second thoughts correct what was said before, of the same kind.
        ("budget 900 dollars, no wait, make it 1200, card for sdxl", "budget_usd", 1200.0),
        ("a card with 16gb, sorry, 24gb, for llama 8b, buy", "memory_gb", (24.0, 24.0)),
        ("single slot. hm wait, i mean dual slot card for bert-large", "slots", 2),
        ("rent an a100, sorry, h100 for bert-large", "only_of", "h100"),
        ("we are 6 people, no sorry, 9 people, chat with a 14b on our server", "people", 9),
        ("should i get a 4090 for bert-large, or wait", "budget_usd", None),
        # Prices that stand before a card are its own, and none is the budget.
        ("they offer 21k for a h100 pcie or 7k for an rtx pro 6000, llama 70b in fp8", "budget_usd", None),
        ("they offer 21k for a h100 pcie or 7k for an rtx pro 6000, llama 70b in fp8", "quoted", [21e3, 7e3]),
        ("a 2080 ti at 250 a better buy than a 3060 for 220 for resnet50?", "quoted", [250.0, 220.0]),
        # Cards that are gone, or of which some are sold.
        ("my 1070 died, need a new card for resnet50, 300 dollars", "have", ()),
        ("had 2x 2080 ti which we are throwing out, card for resnet50 up to 3000 dollars", "sets", ()),
        ("we own 4x a100 40gb and keep our a100 for bert-large", "have", ("a100-sxm4-40gb",) * 4),
        # What is there and too small is replaced by more memory.
        ("my 4060 8gb runs out of memory with sdxl, upgrade under 500 dollars", "memory_gb", (9.0, None)),
        # One is used, the other not.
        ("one used 3090 or two 5060 ti 16gb for llama 8b", "sold", ()),
        ("i have 3 servers with 2x l40s each, serve llama 70b in 4 bit to 60 users at once", "users", 20),
        ("pretrain a 7b on 20B tokens with 32 H100s for 2 weeks", "deadline_s", 1209600.0),
        ("rent a 4090 fri evening till mon morning for llama 8b", "hire_h", 72.0),
        ("card for bert-large, load is about 25 percent", "used", 0.25),
        ("chat with a 30b at home, 8 bit", "workloads", (("gemma-4-31b", 1.0),)),
        ("a 30b moe at home, 8 bit", "workloads", (("qwen3-30b-a3b", 1.0),)),
        ("low profile card for llama 8b in 4 bit", "low", True),
        ("carte profil bas pour llama 8b en 4 bit", "low", True),
        ("mobo has x16 + x4 slot, a 3090 for bert-large", "ignored", ("x16 + x4 slot",)),
        ("i have a 4060 ti 16gb, thinking of a second card beside it for a 24b in q6", "beside", True),
        ("i have a 4060 ti 16gb, maybe a second one for a 24b in q6", "sets", (("rtx-4060-ti-16gb", 2),)),
        ("dual 3090 box, want to swap both for an a6000, can sell the 3090s for 650, sdxl", "quoted", []),
        ("dual 3090 box, want to swap both for an a6000, sdxl", "have", ("rtx-3090",) * 2),
        ("won't buy anything apple or amd, card for llama 8b, 900 dollars", "acquire", "own"),
        ("my 1070 died, same price class (350ish), card for resnet50", "budget_usd", 350.0),
        ("serve llama 8b, office hours 9 to 6 mon-fri, to 20 agents", "hours", 45),
        ("a card with 24 gb at the very least for resnet50", "memory_gb", (24.0, None)),
        ("carte d occasion pour comfyui, moins de 500 euros", "sold", ("used", "street")),
        ("my boss only allows azure, sorry, gcp, to rent an l4 for bert-large", "providers", ("gcp",)),
        ("we like lambda but coreweave is ok, rent an h100 for bert", "providers", ("lambda", "coreweave")),
        ("mam rtx 3060 12gb i 1500 zl, karta do llm 32b", "zloty", "PLN"),
        ("training on a jetson is slow. which pc card for resnet50, 500 dollars", "ignored", ("jetson is",)),
    ],
)  # fmt: skip
def test_what_a_buyer_takes_back_sells_or_is_offered(text: str, field: str, value: object) -> None:
    need = asked(text)
    own = {
        "people": max(need.users, *map(int, re.findall(r"of (\d+) people", "; ".join(need.notes))), 0),
        "quoted": [quote.usd for quote in need.quotes],
        "used": need.assumptions.utilisation, "hours": need.assumptions.hours_per_week,
        "zloty": need.currency[0],
        "only_of": next(iter({gpu.split("-")[0] for gpu in need.only or dict(need.sets)}), ""),
        "low": bool(need.only) and all((catalog.get(g).number("height_m") or 1) < 0.07 for g in need.only),
    }  # fmt: skip
    assert (own[field] if field in own else getattr(need, field)) == value


@pytest.mark.parametrize(
    ("pattern", "holds", "lacks"),
    [
        (r"\bgpus? (?:for|of) lamas?\b", "two gpus for lamas", "two gpu of goats"),
        (r"(?:cheap|dear)(?:est)? [^.;]{3,9}? card", "cheap small card", "small card"),
        (r"(?:no|not){1,3} (?!rent)cloud+?s{0,2}", "no cloud", "no rent"),
        (r"(?<=in )\$\d+|₹ ?\d", "in $5", "at 5 usd"),
        (r"(?:used)?(?:new){0,2}x{2}[ab]?|\d+", "7", ""),
        ("{money} or {at_most}", "300 usd or at most", "300 usd"),
    ],
)
def test_a_rule_is_tried_where_its_words_stand(pattern: str, holds: str, lacks: str) -> None:
    """What is left out unread for lack of a word would not have matched."""
    assert rules.holds(holds, pattern)
    assert rules.search(pattern, holds)
    assert not rules.compiled(pattern).search(lacks)
    assert lacks == "" or not rules.holds(lacks, pattern)


def test_no_rule_that_is_left_out_would_match() -> None:
    texts = [plainly(text) for text, _ in islice(questions(), 0, None, 40)]
    rewritten = [row[0] for row in rules.RULES["rewrite"]]
    for text, pattern in product(texts, (*rewritten, *vars(rules.P).values())):
        assert rules.holds(text, pattern) or not rules.compiled(pattern).search(text), pattern


def test_a_supply_feeds_what_it_is_rated_for_and_makers_advice_is_a_caution() -> None:
    need = asked("i have one 3090 and a 1000 W psu, llama 70b in q4 at home, up to 1500 dollars")
    assert (need.power_w, need.supply_w) == (800.0, 1000.0)
    speed = Interval(value=1.0, low=1.0, high=1.0, level=0.8, method="made up")
    two = Option(
        rank=1, gpu_id="rtx-3090", count=2, way="street", provider="", price_usd=None, seen_on="",
        price_source="", stale=False, throughput=speed, basis="spec-only", cost_per_item_usd=None,
        power_w=700.0,
    )  # fmt: skip
    assert "limit each card to 310 W" in fed_by(need, two)
    assert "limit" in fed_by(replace(need, notes=()), two)  # Notes are what is said, not what is known
    assert "limit" not in fed_by(replace(need, supply_w=None), two)
    # An outlet is compared with all that is drawn, and no supply beyond it is advised.
    wide, narrow = (replace(need, supply_w=None, outlet_w=watts) for watts in (1300.0, 1000.0))
    assert "supply of about 1200 W; 900 W from the wall with its host, of 1300 W" in fed_by(wide, two)
    assert "supply" not in fed_by(narrow, two)
    assert "900 W from the wall with its host, of 1000 W" in fed_by(narrow, two)
    assert "limit each card to 266 W" in fed_by(narrow, two)
    small = asked("psu of 300 W, which card for llama 8b in 4 bit")
    one = replace(two, gpu_id="rtx-3050", count=1, power_w=75.0)
    assert fed_by(small, one) == "a PCIe slot gives a card 75 W, so no power plug is needed"


def test_words_without_their_accents_are_whole_ones_that_english_lacks() -> None:
    assert plainly("entrainement fini en novembre").startswith("train")
    found = [plainly(text) for text in ("scheda grafica per sdxl", "a complete pc", "wir mussen sparen")]
    assert found == ["card per sdxl", "a complete pc", "wir mussen sparen"]


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        # No second thought: another unit, a verb, a word of the sentence.
        ("i have a 4090 but now i need 48 gb for llama 70b", "have", ("rtx-4090",)),
        ("i have an a100 40gb and can make it 2 times faster for bert-large", "have", ("a100-sxm4-40gb",)),
        ("should i buy a t4 for llama 8b or wait. an l4 costs 1800 dollars", "sets", (("t4", 1), ("l4", 1))),
        ("i can wait, no hurry, train resnet50 on imagenet", "ignored", ()),
        # No denial: a comparison, praise, "not only".
        ("renting is not as expensive as buying, llama 70b for 20 users", "acquire", "both"),
        ("there is nothing like a used 3090 for llama 8b", "sold", ("used", "street")),
        ("not only rent, we may buy as well, llama 8b for 5 users", "acquire", "both"),
        # Nothing that must stay in the house.
        ("we keep renting at our company, llama 70b", "acquire", "rent"),
        ("it must stay within our school budget, rent for resnet50", "acquire", "rent"),
        # No machine that is there, and no card that is one's own or gone.
        ("best gpu for computer vision, 2000 dollars, resnet50", "host", None),
        ("our use case takes 14 gb, buy for bert-large, 2000 dollars", "host", None),
        ("a 4x 4090 server would be best for llama 70b", "have", ()),
        ("the reviewers had an l4 for llama 8b, is it enough", "sets", (("l4", 1),)),
        ("we have 5k for an a6000, llama 70b in 4 bit", "have", ()),
        ("i had a 4090 in mind for llama 8b", "sets", (("rtx-4090", 1),)),
        ("a used a2 16gb or an l4 for llama 8b", "sets", (("a2", 1), ("l4", 1))),
        ("would llama 70b in 4 bit run if i had two 3090s", "sets", (("rtx-3090", 2),)),
        ("a colleague is selling a 3090 for 600 dollars, worth it for llama 8b?", "quoted", [600.0]),
        ("will my 3090 run out of memory with llama 13b in 4 bit", "memory_gb", None),
        # No host's draw, no days of the week, no time of an answer.
        ("lora of llama 8b on 40M tokens by friday, answers within 5 minutes", "minutes", False),
        ("my pc: 650 W power supply, which card for sdxl", "power_w", 450.0),
        ("i have a server (1600 W supply) with 4 free slots, llama 70b in 4 bit", "power_w", 1400.0),
        ("rent a 4090 for one month until friday for llama 8b", "days", False),
        ("i gave money to friends, card for llama 8b, 900 dollars", "hours", Assumptions().hours_per_week),
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_limit(text: str, field: str, value: object) -> None:
    need = asked(text)
    own = {
        "quoted": [quote.usd for quote in need.quotes], "host": need.assumptions.host_usd,
        "minutes": (need.deadline_s or 0) < 3600,
        "days": "for 4 days" in plainly(text),
        "hours": need.assumptions.hours_per_week,
    }  # fmt: skip
    assert (own[field] if field in own else getattr(need, field)) == value


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("serve llama 8b from 22:00 to 7 in the morning every night", 63.0),
        ("serve llama 8b from 8 am to 10 pm on weekdays", 70.0),
        ("serve llama 8b between 8:30 and 17:30 on weekdays", 45.0),
        ("serve llama 8b from 9 to 5 o clock", 40.0),
        ("serve llama 8b between 2 and 4 gpus", Assumptions().hours_per_week),
    ],
)
def test_times_of_a_day_are_those_of_the_clock(text: str, hours: float) -> None:
    assert asked(text).assumptions.hours_per_week == hours


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        # What is taken back, and what is not.
        ("I want a 3090 for llama 8b but no longer than 2 years", "sets", (("rtx-3090", 1),)),
        ("I want a 4090 for llama 8b, no, two 3090", "sets", (("rtx-3090", 2),)),
        ("we rent four A100 today, actually no, make that two H100, lora of a 13b", "have", ()),
        # Places for cards of two slots.
        ("two PCIe slots for two cards each two slots wide, llama 8b", "slots", 4.0),
        ("room for two double-width cards, llama 8b", "gpus", (1, 2)),
        ("two cards of one slot each, llama 8b", "gpus", (2, 2)),
        # What stands before a verb belongs to that.
        ("12 students, 25000 dollars, each trains resnet50", "budget_usd", 25000.0),
        ("12 students, 2500 dollars each, resnet50", "budget_usd", 30000.0),
        ("20 students, 160000 dollars, 4 servers with 8 gpus each, resnet50", "budget_usd", 40000.0),
        ("20 students, 160000 dollars, 4 servers with 8 gpus each, resnet50", "users", 1),
        ("serve llama 8b with 8k prompts and answers of 500 at 1 request per second", "context", 8500),
        ("serve llama 8b, 8k prompts a day", "items", 2.4e6),
        # What is read is not named as unread, what is not read is.
        ("paper deadline: resnet50 for 90 epochs on imagenet by friday, rent", "ignored", ()),
        ("full fine-tune 3b with 8-bit adamw", "ignored", ("8-bit adamw",)),
    ],
)
def test_what_stands_in_questions_of_buyers(text: str, field: str, value: object) -> None:
    assert getattr(asked(text), field) == value


@pytest.mark.parametrize("text", ["two 3090 or an a6000 for big models", "a 5090 for the largest local LLMs"])
def test_big_models_are_the_largest_that_fit(text: str) -> None:
    need = asked(text)
    assert need.workloads[0][0] == "llama-3.1-8b"
    assert need.larger[0] == "llama-3.1-70b"
    assert not asked(text.replace("big models", "LLMs").replace("the largest local", "")).larger


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Three runs of 10M tokens each, lora of llama 8b", 3e7),
        ("4 experiments of 50M tokens, qlora of mistral 7b", 2e8),
        ("20000 SDXL images, 1024 px, 30 steps", 2e4),
        ("laptop or desktop for my master in computer vision, resnet50", None),
        ("llama 70b fast enough to read along on two 3090", None),
    ],
)
def test_what_was_taken_is_not_said_to_be_ignored(text: str, items: float | None) -> None:
    need = asked(text)
    assert not need.ignored
    assert need.items == items


@pytest.mark.parametrize(
    ("text", "code", "usd"),
    [
        ("card for llama 8b in odense, denmark, at most 7000 kr", "DKK", 1050.0),
        ("wir in Aarhus haben 7000 kroner für eine Karte für llama 8b", "DKK", 1050.0),
        ("card for sdxl, we sit in trondheim, budget kr 7000", "NOK", 770.0),
        ("card for sdxl, budget 7000 norwegian kroner, shipped to sweden", "NOK", 770.0),
        ("grafikkort för llama 8b i göteborg, budget 7000 kronor", "SEK", 700.0),
        ("card for sdxl, budget 7000 kr", "SEK", 700.0),  # Said, as no country is named
        ("card for sdxl, budget 7000 kroner", "DKK", 1050.0),
    ],
)
def test_crowns_are_those_of_the_country_that_is_named(text: str, code: str, usd: float) -> None:
    need = need_of(text, {}, {"DKK": 0.15, "NOK": 0.11, "SEK": 0.1, "EUR": 1.1})[0]
    assert need.currency[0] == code
    assert need.budget_usd == pytest.approx(usd)
    assert f"crowns are taken as {code}" in need.notes
    same = need_of(f"card for sdxl, budget 7000 {code}", {}, {code: 0.1, "EUR": 1.1})[0]
    assert not any("crowns" in note for note in same.notes)


@pytest.mark.parametrize(("supply", "fed", "most"), [(650, 315, 450), (850, 489, 650), (300, 75, 100)])
def test_what_a_supply_feeds_is_one_number(supply: int, fed: int, most: int) -> None:
    need = asked(f"my power supply has {supply} W, which card for sdxl")
    assert need.power_w == most
    assert any(f"{fed} W of cards" in note and f"up to {most} W" in note for note in need.notes)
    assert not any(f"{most} W for GPUs" in said for said in limits(need))


@pytest.mark.parametrize(
    ("text", "supply", "outlet"),
    [
        ("3090 in my pc with an 1100 W psu on a 1600 W circuit, llama 8b", 1100, 1600),
        ("3090 for llama 8b, 900 W power supply, wall socket of 1200 W", 900, 1200),
        ("3090 for llama 8b, my 900 W power supply is at a wall outlet", 900, None),
    ],
)
def test_a_supply_and_its_outlet_are_two_limits(text: str, supply: int, outlet: int | None) -> None:
    need = asked(text)
    assert (need.supply_w, need.outlet_w) == (supply, outlet)


def test_hours_without_work_of_what_stays_on_do_not_count() -> None:
    for text, week in (
        ("my pc stays on 24/7, but llama 8b answers only 3 hours a day, which card", 21),
        ("card for llama 8b, always on, used 5 hours per week", 5),
        ("card for llama 8b that runs 24/7", 168),
    ):
        assert asked(text).assumptions.hours_per_week == week, text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "3 of us fine-tune mistral 7b by qlora at the same time, one box, 6000 dollars",
            {"users": 3, "one_machine": True, "gpus": (1, 1)},
        ),
        ("two postdocs and a student, each trains bert-large simultaneously", {"users": 3, "sharing": 0}),
        (
            "upscaling 4x photos with sdxl at home, about 300 a night, 700 dollars",
            {"gpus": (1, 1), "items": 300.0},
        ),
        ("llama 8b for 40 employees, no more than 2 s for the first word, rent", {"first_token_s": 2.0}),
        (
            "keep paying 0.9 dollars per 1M tokens for llama 70b or rent our own, 300M tokens a day",
            {"acquire": "rent"},
        ),
        (
            "cfd in fp64, memory bandwidth bound, the 200 GB domain is split, rent",
            {"total_gb": 200.0, "workloads": (("stencil", 1.0),)},
        ),
        ("resale value of a 5090 after 2 years", {"asks": "resale", "acquire": "own"}),
        ("80 % llama 3.1 8b inference, 20 % bert-large training, buy", {"also": ("train:bert-large",)}),
        ("serve llama 8b to 20 people during exam week only, 8 h a day", {"hire_h": 56.0, "acquire": "rent"}),
        ("law firm, 25 people, llama 8b, buy", {"concurrent": 5}),
        ("around 4000 of them, old slides, llama 8b, a card for 800 dollars", {"gpus": (1, 1)}),
    ],
)
def test_what_stood_in_questions_of_december(text: str, said: dict[str, object]) -> None:
    need = asked(text)
    assert {name: getattr(need, name) for name in said} == said


def test_a_card_that_nobody_knows_is_named() -> None:
    need = asked("is the RTX 5095 Super Ti 28GB good enough for a 14b model")
    assert "rtx-5090" in need.corrected[0]
    assert (need.memory_gb, need.sets) == (None, ())


def test_what_is_asked_and_not_answered_leads() -> None:
    for text in (
        "should i sell my 3090 now, sdxl",
        "wait or buy a 4090 for sdxl",
        "can i undervolt a 3090 for sdxl",
    ):
        assert len(asked(text).corrected) == 1, text
    for text in ("i can wait, train resnet50 on imagenet", "sdxl, the shop will sell me a 3090 for $600"):
        assert asked(text).corrected == (), text


def test_questions_are_read_as_what_they_ask() -> None:
    for text, asks in (
        ("buy a 5090, sell it again in two years, what do i lose compared with a 3090, sd", "resale"),
        ("my boss claims a b200 is 15 times as fast as an a100 for resnet50. is that right", "faster"),
        ("how much slower is a 3070 laptop than a desktop 3070, resnet50 training", "faster"),
        ("pretrain a 350M gpt on 7B tokens for under 100 dollars. possible?", "able"),
    ):  # fmt: skip
        assert asked(text).asks == asks, text
    assert not asked("can i keep my 3080 for sdxl or do I need to replace it").upgrade
    offer = asked("i can get a used 3090 that was mining for 2 years for 550 eur, good idea? llama 8b")
    assert [(q.gpu_id, q.kind) for q in offer.quotes] == [("rtx-3090", "used")]
    assert asked("15 students, pytorch cnns. buy 4 cards").users == 1


def test_each_of_several_works_has_the_mode_of_its_own_part() -> None:
    for text, mode, also in (
        ("sdxl + training small cnns on a 3080", "infer", ("train:resnet50",)),
        ("me: qlora of 7b models. our intern: stable diffusion. one card", "infer", ("qlora:qwen2.5-7b",)),
        ("laptop for gemma 2 27b and a bit of comfyui", "infer", ("sdxl",)),
        ("comfyui and flux on a 3090", "infer", ()),
    ):
        need = asked(text)
        assert (need.mode, need.also) == (mode, also), text


def test_spans_are_told_apart() -> None:
    for text, hire_h, hours in (
        ("rent h100 for 400 gpu hours over the next month, checkpoints every 20 min", 400.0, 40.0),
        ("15 students, 3 h lab each tuesday for 12 weeks, pytorch cnns, buy or rent", 36.0, 3.0),
        ("rent a 4090, sdxl in the evenings, 3h a day", None, 21.0),
    ):
        need = asked(text)
        assert (need.hire_h, need.assumptions.hours_per_week) == (hire_h, hours), text


def test_several_people_with_a_job_each_lose_none() -> None:
    need = asked("anna trains resnets on 500k photos, ben serves a 14b to 6 people, carl makes flux pictures")
    assert (need.workloads[0][0], set(need.also), need.also_users) == ("resnet50", {"flux", "qwen2.5-14b"}, 6)


def test_limits_of_cards_and_providers_are_kept() -> None:
    need = asked("two 4090s capped at 300w on a 1000w psu for llama 70b")
    assert (need.power_w, need.supply_w) == (600, 1000)
    assert asked("rent a 4090 for sdxl, no vast").avoid == ("vast",)
    paid = asked("keep paying 1.89/h for an A100 80GB on runpod or buy a used 3090 for 700? 13b qlora").quotes
    assert [quote.paid for quote in paid] == [True, False]
    assert asked("how many h100 hours to train a 3b on 60B tokens").asks == ""
    assert (
        need_of("sdxl on a card for 300 australian dollars", {}, {"USD": 1.0, "AUD": 0.7})[0].currency[0]
        == "AUD"
    )


def test_a_card_under_a_price_is_bought_and_under_a_rate_is_not() -> None:
    ways = [
        asked(f"card under {sum_} for resnet50, 90 epochs of imagenet").acquire
        for sum_ in ("500 dollars", "$500", "$500 a month", "2 dollars an hour")
    ]
    assert [way == "own" for way in ways] == [True, True, False, False]


@pytest.mark.parametrize("text", ["what is a tesla t4 good for?", "what can i do with my t4?"])
def test_what_a_gpu_is_good_for_is_shown_by_use(text: str) -> None:
    with pytest.raises(InputError) as refused:
        asked(text)
    assert (refused.value.code, refused.value.data["name"]) == ("whom", "t4")


def test_parts_of_a_computer_are_none_of_its_gpu() -> None:
    for text in (
        "gemma 27b on my pc (i9, 128 GB, 1000 W supply), which card for $1500",
        "which card for qwen3 14b, my desktop has a ryzen 7, 32 GB and an 850 W psu, $900",
        "intel i5, 16 gigs of system memory, which gpu for llama 8b under $300",
    ):
        need = asked(text)
        assert (need.memory_gb, {"5", "7", "9"} & {*need.ignored}) == (None, set()), text
    need = asked("threadripper, 256 GB, want a 48gb card for llama 70b")
    assert need.memory_gb == (48.0, 48.0)


def test_what_was_paid_or_is_asked_is_no_budget() -> None:
    for text, have, budget in (
        ("we paid 2400 dollars for our 3090 in 2022, resnet50, should we sell and rent?", "rtx-3090", None),
        ("my 4090 cost me $1800 two years ago, sdxl, is it worth upgrading to a 5090?", "rtx-4090", None),
        ("i spent $1600 on a 4090 and now I want a second card for llama 70b", "rtx-4090", None),
        ("i bought a 3080 for $900, which card to add for llama 8b? budget $600", "rtx-3080-10gb", 600.0),
    ):
        need = asked(text)
        assert (need.have, need.budget_usd, need.quotes) == ((have,), budget, ()), text
    need = asked("a neighbour asks $700 for his used 3090, llama 8b, good idea?")
    assert [quote.usd for quote in need.quotes] == [700.0]


def test_people_share_one_service_and_one_training() -> None:
    for text, context in (
        ("qwen 72b for 25 concurrent users w 16k contxt each, how many H100 and what per month", 16384),
        ("25 concurrent users, 8k ctx each, qwen 14b, how many 4090", 8192),
        ("30 users with a 32k context each on llama 70b, which gpus", 32768),
    ):
        need = asked(text)
        assert (need.users > 1, need.concurrent, need.context) == (True, 0, context), text
    for text in (
        "there are 3 of us and $20000, pretrain a 7b on 1T tokens, which gpus to rent",
        "4 colleagues, one qlora of a 70b on 50M tokens, which cards to buy",
        "our startup has 12 employees; we fine-tune a 7b on 100M tokens once, what gpus",
    ):
        need = asked(text)
        assert (need.users, need.sharing > 1) == (1, True), text
    assert asked("3 researchers, each fine-tunes an 8b on 20M tokens, cards for $9000").users == 3


def test_what_is_kept_or_set_against_newer_cards_is_there() -> None:
    for text, have in (
        ("what does it cost a year to keep four 3090 on bert-large at $0.1 per kWh, or newer ones", 4),
        ("how much power do two A6000 take a year, qlora of 70b, worth replacing by newer ones?", 2),
        ("would newer cards save enough electricity against two 3080 that train resnet50", 2),
    ):
        need = asked(text)
        assert (len(need.have), need.sets, need.asks, need.either) == (have, (), "energy", False), text
    assert asked("is a 3090 good for sdxl or are newer cards better").have == ()


def test_a_laptop_that_is_only_spoken_of_is_no_form() -> None:
    for text in (
        "a coffee machine that costs more than my laptop; we fine-tune 8b models, $65,000, what do we buy",
        "i type this on a laptop, but which gpu for llama 8b, $900",
        "lab server for qlora of 70b, $20000, students connect from their laptops",
    ):
        assert asked(text).form is None, text
    assert asked("which laptop is faster than my old laptop for llama 8b").form == "laptop"


def test_little_money_a_month_pays_for_the_hours_of_the_work() -> None:
    for text, batched in (
        ("$150/mo, qwen3 8b, 2M tokens a day", True),
        ("mistral 7b, 5M tokens every day, 90 dollars a month", True),
        ("at most $120 a month: llama 8b writes 3M tokens a day", True),
        ("$150 a month, a chatbot with qwen3 8b, 2M tokens a day", False),
        ("$1500 a month, llama 70b, 20M tokens a day", False),
    ):
        assert asked(text).batched == batched, text
