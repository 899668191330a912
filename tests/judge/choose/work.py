"""How much work made-up texts state, for each item that it is counted in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpuwise.errors import GpuwiseError
from gpuwise.judge.choose import amounts, rules

TEXTS = (
    "200 requests a minute with 1500 prompt tokens and 300 answer tokens",
    "5 million requests a week of 300 tokens",
    "7k emails a night", "10 questions per year", "3 books a month", "6 images per second", "9 pages an hour",
    "a dozen pages", "two hundred pages", "three thousand images", "twenty-five emails of 40 words each",
    "20k examples of 500 tokens, 3 epochs", "20k examples", "100k steps", "1 step",
    "40 messages each per day",
    "20 books of 300 pages", "900 requests a minute, 1000 in, 200 out", "600 in and 150 out", "500 out",
    "600 in", "answers of 200", "answers of 200, prompts of 100", "100 answers of 200, prompts of 50",
    "50m input tokens and 10m output tokens a day", "50m input tokens", "10m output tokens", "100 mb of text",
    "1000 documents of 768 tokens", "1000 sequences of 64 tokens", "5000 tokens", "2 hours of audio",
    "300 images, 3 epochs", "300 images and 20 documents", "10 descriptions of 150 words", "20 pages",
    "20 documents of 2 pages in and 100 tokens out", "summaries of 100 words", "within 3", "7b tokens",
    "llama 8b tokens", "8b out", "1 token every 50 ms", "4k token contexts", "30 questions of 10 words",
    "20 questions of 30 tokens with 500 input tokens", "20 emails of 30 tokens, 100 tokens out",
    "5 requests of 10 prompts", "80 videos", "30 fps", "12 images of 3 videos", "12 answers",
)  # fmt: skip
WAYS: tuple[dict[str, Any], ...] = (
    {"item": "token", "learns": False}, {"item": "token", "learns": False, "people": 2, "usual": 0},
    {"item": "token", "learns": True}, {"item": "token", "learns": True, "length": 128, "batch": 1},
    {"item": "sequence", "learns": False, "length": 128}, {"item": "image", "learns": True, "batch": 64},
    {"item": "image", "learns": False, "length": 128},
)  # fmt: skip


def rows(numbers: Callable[[str], str], refusal: Callable[[GpuwiseError], str]) -> Iterator[str]:
    for text in TEXTS:
        found = amounts.quantities(text)
        each = (f"{q.number:g} {q.kind} {q.tokens:g} {q.role} {q.period} {q.joined} {q.spans}" for q in found)
        yield f"## {text} | {' | '.join(each)}"
        for n, way in enumerate(WAYS):
            try:
                made = amounts.amount(found, **way)
            except GpuwiseError as error:
                yield f"{n} {refusal(error)}"
                continue
            work = made.work and f"{made.work.items:.6g} {made.work.period_s} {made.work.item}"
            notes = f"{len(made.notes)} {numbers(' '.join(made.notes))}"
            yield f"{n} {work} {made.reads:.4g} {made.context} {notes}"
    yield " ".join(f"{name}={each}" for name, each in (*rules.NUMBERS.items(), *rules.MANY.items()))
    yield " ".join(
        f"{name}={amounts.seconds(name):g}" for name in ("month", "week", "night", "year", "s", "h")
    )
