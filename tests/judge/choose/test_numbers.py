"""No number of a question is dropped in silence: it is a part of the need, or it is said as not read."""

from __future__ import annotations

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
