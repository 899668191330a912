"""Amounts of work as people write them: counts, sizes, periods and epochs together."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError
from gpuwise.judge.choose.amounts import amount, quantities
from gpuwise.judge.choose.need import USUAL, need_of
from gpuwise.model.judgement import Need

DAY, MONTH = 86400.0, 2629800.0


def asked(text: str) -> Need:
    return need_of(text, {}, {})[0]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("finetune mistral 7b on 20k examples of 500 tokens", 1e7),
        ("finetune mistral 7b on 20k examples of 500 tokens, 3 epochs", 3e7),
        ("qlora qwen3 14b, 5,000 conversations of about 1200 tokens each, 2 epochs", 1.2e7),
        ("lora llama 3.1 8b, 100 MB of text", 2.5e7),
        ("lora llama 3.1 8b on 1000 samples, 4k context", 4096e3),
        ("train gpt-2 on 10B tokens", 1e10),
        ("train resnet50 on 500 000 photos for 20 epochs", 1e7),
        ("train resnet50 for 100k steps, batch size 256", 2.56e7),
        ("classify 3 million emails with bert-large in inference", 3e6),
        ("bert-large inference on 1000 documents of 768 tokens", 2000),
        ("train dit-xl2 on 5M images", 5e6),
        ("generate 5000 product descriptions of 150 words with llama 3.1 8b", 999_750),
        ("translate 20 books of 300 pages with mistral 7b", 20 * 300 * 667),
        ("classify 1000 emails with llama 3.1 8b", 10_000),
        ("answer 1000 questions with llama 3.1 8b", 300_000),
    ],
)
def test_counts_times_sizes(text: str, items: float) -> None:
    assert asked(text).items == pytest.approx(items)


@pytest.mark.parametrize(
    ("text", "items", "period", "reads", "context"),
    [
        ("200 requests a minute with 1500 prompt tokens and 300 answer tokens, qwen3 32b",
         200 * 60 * 24 * 300, DAY, 5.0, 1800),
        ("qwen3 32b, 10 requests per second, 2k tokens in and 200 out", 10 * 86400 * 200, DAY, 10.0, 2200),
        ("llama 3.1 70b, 1500 requests per hour, 1000-token prompts, 250-token answers",
         1500 * 24 * 250, DAY, 4.0, 1250),
        ("300 pages of customers' letters per minute, 900 tokens each, output 100 tokens, qwen3 8b",
         300 * 1440 * 100, DAY, 9.0, 1000),
        ("900 requests a minute, 1000 in, 200 out, qwen3 8b", 900 * 1440 * 200, DAY, 5.0, 1200),
        ("5 million requests a month, each 600 tokens in and 150 out, qwen3 8b", 5e6 * 150, MONTH, 4.0, 750),
        ("500 emails an hour with llama 3.1 8b, each 400 tokens", 500 * 24 * 300, DAY, 4 / 3, 700),
        ("llama 3.1 8b, 50M input tokens and 10M output tokens a day", 1e7, DAY, 5.0, None),
        ("300 employees, 40 messages each per day, qwen3 32b", 300 * 40 * 300, DAY, 0.0, None),
        ("llama 3.1 8b at 20 requests a minute", 20 * 1440 * 300, DAY, 0.0, None),
    ],
)  # fmt: skip
def test_requests_have_prompts_and_answers(
    text: str, items: float, period: float, reads: float, context: int | None
) -> None:
    need = asked(text)
    assert (need.items, need.period_s) == (pytest.approx(items), period)
    assert (need.reads, need.context, need.users) == (pytest.approx(reads), context, 1)


@pytest.mark.parametrize(
    "text",
    ["llama 3.1 8b first token within 1 second", "llama 8b, 1 token every 40 ms", "llama 3.1 8b in germany"],
)
def test_sizes_of_models_and_speeds_are_no_amounts(text: str) -> None:
    assert asked(text).items is None


def test_an_example_has_a_usual_size_where_none_is_said() -> None:
    need = asked("finetune mistral 7b on 20k examples")
    assert need.items == 20_000 * USUAL.example
    assert any(str(USUAL.example) in note for note in need.notes)
    assert not need.ignored


@pytest.mark.parametrize(("text", "learns"), [("20 books and 300 images", False), ("100k steps", True)])
def test_what_cannot_be_multiplied_is_refused(text: str, learns: bool) -> None:
    with pytest.raises(InputError):
        amount(quantities(text), item="token", learns=learns)


def test_prompts_take_their_time() -> None:
    from gpuwise.judge.choose.speeds import gather

    speeds = []
    for text in ("", ", 2400 tokens in and 300 out"):
        need = asked(f"qwen3 8b, 10 requests a second{text}, 3k context")
        (found,) = gather(need, {"rtx-4090": (1,)}, None)
        assert found.throughput is not None
        speeds.append(found.throughput.value)
    assert 0.2 < speeds[1] / speeds[0] < 0.8
