"""No number or condition of a question is dropped in silence, or read as another in another order."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwise.errors import InputError
from gpuwise.judge.choose import ask
from gpuwise.judge.choose.answer import not_counted

from .asked import DAY, RATES

# Primes: no product or conversion of another number gives one by accident.
PRIMES = [n for n in range(101, 998) if all(n % k for k in range(2, 32))]
WORK = [
    "serve llama-3.1-8b", "fine-tune mistral-7b with qlora", "train resnet50", "stable diffusion xl",
    "whisper", "train bert-large on my 4090", "a card for llama 70b", "rent two H100 for sdxl",
]  # fmt: skip
PIECES = [
    "under {} dollars", "at most {} euros a month", "{} users", "{} GB of memory", "{} W", "within {} hours",
    "{} hours a week", "{}M tokens a day", "{}k images", "{} % of the time", "for {} weeks", "{} offices",
    "{} % discount", "{} km away", "our {} colleagues", "over {} months", "{} examples of 500 tokens",
    "{} ms per token", "batch size {}", "{} requests per minute", "floor {}", "a {} page contract",
    "{} epochs", "{} kWh a year", "{} machines", "at {} cents per kWh", "{} nodes", "{} tokens per second",
    "{} of them at a time", "about {} each", "{} per day", "{} mm long",
]  # fmt: skip
UNITS = ask.USUAL.units


def numbers_of(asked: ask.Asked) -> set[str]:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", repr(asked))
    return {f"{float(n):.4g}" for n in re.findall(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", text)}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(WORK),
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from(PRIMES)),
        min_size=1, max_size=3, unique_by=(lambda each: each[0], lambda each: each[1]),
    ),
)  # fmt: skip
def test_every_number_is_read_or_said(work: str, pieces: list[tuple[str, int]]) -> None:
    text = ", ".join([work, *(piece.format(number) for piece, number in pieces)])
    try:
        asked = ask.read(text, RATES, DAY)
    except InputError:
        return  # Refused, with the reason
    there = numbers_of(asked)
    for _, number in pieces:
        ways = {f"{number * unit * rate:.4g}" for unit in UNITS for rate in (1.0, 1.1)}
        assert ways & there, (text, number, asked)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("serve llama-3.1-8b to 50 users, 15 % of them in Asia", "15 %"),
        ("train resnet50 on 1M images, rented, in 3 of our offices", "3"),
    ],
)
def test_a_number_that_means_nothing_here_is_said_first(text: str, said: str) -> None:
    need = ask.need_of(ask.read(text, RATES, DAY))
    assert said in not_counted(need)


# What a question is put together from: by its role, phrases in several languages that say the same, and what
# is then read: the field of a need or of its assumptions, and its value.
PARTS = {
    "money": (("budget is $4,000", "i'd pay up to 4k dollars", "4000 USD is the cap"), "budget_usd", 4000.0),
    "people": (
        ("for 12 users at once", "12 parallel requests", "concurrency of 12", "12 Nutzer gleichzeitig"),
        "users", 12,
    ),
    "context": (
        ("16k context", "context window of 16k", "16k token window", "ctx 16k", "contexto de 16k"),
        "context", 16384,
    ),
    "memory": (
        ("at least 48 GB", "48+ GB of VRAM", "not below 48 GB", "48 gigs of vram at least", "ab 48 GB"),
        "memory_gb", (48.0, None),
    ),
    "electricity": (("electricity costs $0.31 per kWh", "kWh price $0.31"), "electricity_usd_per_kwh", 0.31),
    "hours": (
        ("20 hours a week", "about 20 hours weekly", "20 h/week", "20 heures par semaine"),
        "hours_per_week", 20,
    ),
    "years": (("4 years of use", "over 4 years", "service life 4 years", "durante 4 años"), "years", 4.0),
    "condition": (
        ("new only", "warranty needed", "second hand is out", "nichts Gebrauchtes", "con garanzia"),
        "sold", ("new",),
    ),
    "place": (
        ("no cloud", "renting is out", "Cloud ist verboten", "pas de location"),
        "acquire", "own",
    ),
    "noise": (("not loud", "it must be quiet", "silencioso"), "quiet", True),
}  # fmt: skip
ASIDES = [
    "", "see page 12 of the leaflet", "my last machine died after 6 years", "we speak English and German",
    "the tea costs 3 dollars here", "we are 2 hours from Lyon by train", "invoice no. 88123",
    "it was bought in 2019", "my desk is 160 cm wide", "I asked 2 weeks ago",
    "i have programmed for 10 years",
]  # fmt: skip


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    roles=st.lists(st.sampled_from(sorted(PARTS)), min_size=2, max_size=4, unique=True),
    said=st.randoms(use_true_random=False),
    work=st.sampled_from(["serve Qwen2.5-32B", "inference with Qwen2.5-32B", "Qwen2.5-32B for our chatbot"]),
    aside=st.sampled_from(ASIDES),
    between=st.sampled_from([", ", ". ", "; ", "\n", " - ", " / "]),
)
def test_each_part_is_read_in_any_order_words_and_company(
    roles: list[str], said: random.Random, work: str, aside: str, between: str
) -> None:
    parts = [work, *(said.choice(PARTS[role][0]) for role in roles), *filter(None, [aside])]
    said.shuffle(parts)
    asked = ask.read(between.join(part[0].upper() + part[1:] for part in parts), RATES, DAY)
    assert asked.workload == "qwen2.5-32b"
    assert asked.mode in (None, "infer")
    stated = {**asked.fields, **asked.assumed}
    assert {role: stated.get(PARTS[role][1]) for role in roles} == {role: PARTS[role][2] for role in roles}
    if not {"money", "years", "hours"} & {*roles}:
        assert not stated.keys() & {"budget_usd", "years", "deadline_s", "hire_h", "region"}  # Of the aside


@pytest.mark.parametrize("between", [", ", ". ", "\n"])
@pytest.mark.parametrize(
    ("said", "have", "sets"),
    [
        ("8 x 5070 Ti sollen ersetzt werden", ("rtx-5070-ti",) * 8, ()),
        ("retire 3 RTX 2080 Ti and get newer ones", ("rtx-2080-ti",) * 3, ()),
        ("nous avons 4 A40 à remplacer", ("a40",) * 4, ()),
        ("I am stuck with a 4070 Super", ("rtx-4070-super",), ()),
        ("je possède une 3090", ("rtx-3090",), ()),
        ("on a 4090 right now", ("rtx-4090",), ()),
        ("on my shortlist: 5090, L40S", (), (("rtx-5090", 1), ("l40s", 1))),
        ("a pair of 3090s or a single 5090", (), (("rtx-3090", 2), ("rtx-5090", 1))),
        ("ajouter une deuxième 4090 à ma 4090", ("rtx-4090",), (("rtx-4090", 2),)),
        ("should I hold out for a 6090 or grab a 5080", (), (("rtx-5080", 1),)),
        ("everyone tells us to take an RTX 5090", (), ()),
    ],
)
def test_cards_are_there_or_wanted(between: str, said: str, have: tuple[str, ...], sets: object) -> None:
    asked = ask.read(f"for SDXL{between}{said[0].upper()}{said[1:]}", RATES, DAY)
    assert (asked.fields.get("have", ()), asked.fields.get("sets", ())) == (have, sets)


@pytest.mark.parametrize(
    ("text", "items", "period_s"),
    [
        ("llama 3.1 8b, daily load: 500 requests, 600 tokens in / 200 out", 500 * 200, 86400),
        ("llama 3.1 8b, täglich 500 Anfragen, Antworten mit 200 Tokens", 500 * 200, 86400),
        ("llama 3.1 8b, 500 peticiones al día, 600 tokens de entrada y 200 de salida", 500 * 200, 86400),
        ("lora of llama 3.1 8b, 2k documents at 300 tokens, 3x over the data", 2000 * 300 * 3, None),
        ("train resnet50 on 20k pictures; epochs: 10", 20_000 * 10, None),
        ("pretrain a 1.3b model on 300e9 tokens", 300e9, None),
    ],
)
def test_amounts_in_other_words(text: str, items: float, period_s: float | None) -> None:
    work = ask.read(text, RATES, DAY).work
    assert work is not None
    assert (work.items, work.period_s) == (items, period_s)


@pytest.mark.parametrize(
    ("text", "workload", "mode", "ignored"),
    [
        ("dreambooth of sdxl", "sdxl", "finetune", ()),
        ("training wan loras", "dit-xl2-512", "train", ()),
        ("hunyuan lora, which card", "dit-xl2-512", "train", ()),
        ("hunyuan a13b for 4 users", "hunyuan-a13b", None, ()),
        ("stable diffusion 3.5 large on 16 gb", "dit-xl2-512", "infer", ()),
        ("stable diffusion sdxl at home", "sdxl", "infer", ()),
        ("sft of qwen3 8b on 12k conversations", "qwen3-8b", "finetune", ()),
        ("translate 2M sentences with nllb", "llm-1b-decode", "infer", ("2m sentences",)),
        ("gromacs simulation of a protein", "scientific-fp64", None, ("protein",)),
        ("lora on mistral 7b, or is it qlora only", "mistral-7b", "lora", ()),
        ("CFD in fp64, nothing with AI", "scientific-fp64", None, ()),
        ("finjustera små BERT-modeller", "bert", "finetune", ("små",)),
    ],
)
def test_work_in_other_words(text: str, workload: str, mode: str | None, ignored: tuple[str, ...]) -> None:
    asked = ask.read(text, RATES, DAY)
    assert (asked.workload, asked.mode) == (workload, mode)
    assert asked.fields.get("ignored", ()) == ignored
    assert not asked.fields.get("also")


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("gemma 3 27b, nothing may leave the house", "acquire", "own"),
        ("llama 70b, 200 registered, 25 active at peak", "users", 25),
        ("llama 8b on 70 kEUR", "budget_usd", 77_000.0),
        ("lora of 8b models, 3 employees, each their own pc, per seat $3,000", "budget_usd", 9000.0),
        ("llama 8b, I'd rather pay someone than buy", "acquire", "rent"),
        ("lora of a 3b at 4k sequence length", "context", 4096),
        ("qwen3 14b, ohne Stromanschluss", "power_w", 75.0),
        ("训练lora llama 8b 上下文16k", "context", 16384),
        ("llama 8b on a single card or two", "gpus", (1, 2)),
        ("bert-large on 1M sentences until the end of next month", "deadline_s", 35 * 86400),
        ("2x H100 NVL for 52k or 4x L40S for 38k. Llama 3.1 70b", "acquire", "own"),
        ("embeddings of 3 million paragraphs, then a 14B chatbot for 6 people", "work", None),
        ("sdxl, 8 hours on weekdays", "hours_per_week", 40),
        ("llama 8b, PUE 1.5, bought", "cooling", 1.5),
        ("resnet50 with $1,500 on lambda: how long does that buy", "acquire", "rent"),
        ("transcribe German audio with whisper, rented", "region", None),
        ("a company in Germany rents for bert-large", "region", "Germany"),
    ],
)
def test_what_else_is_said(text: str, field: str, value: object) -> None:
    asked = ask.read(text, RATES, DAY)
    stated = {**asked.fields, **asked.assumed, "gpus": asked.gpus, "work": asked.work}
    assert stated.get(field) == value
