"""Load on a server: prompts and answers of drawn lengths, so many at once or so many a second."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuwise.errors import InputError
from gpuwise.measure.endpoint.client import Client, Timing

# Frequent words that tokenizers of all families have as one token each, with the space before it.
WORDS = (
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school",
    "state", "family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week",
    "company", "system", "program", "question", "work", "number", "night", "point", "home", "water", "room",
)  # fmt: skip
# Requests that a client keeps open in an open loop; a server that is so far behind is overloaded anyway.
MOST_OPEN = 4096
# Longest pause of a worker whose requests fail, so that a server that refuses is not flooded.
PAUSE_S = 2.0
_LENGTH = re.compile(r"(\d+)(?:(\.\.|~)(\d+))?")


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens: `1024`; `512..2048`, each as likely; or `1024~300`, normal with that deviation."""

    text: str
    low: int
    kind: str = ""
    high: int = 0

    def draw(self, luck: random.Random) -> int:
        if self.kind == "..":
            return luck.randint(self.low, self.high)
        return max(1, round(luck.gauss(self.low, self.high))) if self.kind else self.low


def lengths(text: str) -> Lengths:
    """Raises InputError for what is none."""
    match = _LENGTH.fullmatch(text.strip())
    if match is None or int(match[1]) < 1 or int(match[1]) > 10_000_000:
        raise InputError(
            f"cannot read {text[:40]!r} as a number of tokens", hint="1024, 512..2048 or 1024~300"
        )
    found = Lengths(text.strip(), int(match[1]), match[2] or "", int(match[3] or 0))
    if found.kind == ".." and found.high < found.low:
        raise InputError(f"{found.text} has its ends the wrong way round", hint=f"{found.high}..{found.low}")
    return found


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to come."""

    answer: int
    prompt: int = 0  # Tokens of drawn words
    text: str = ""  # Instead of them


def read_asks(path: Path, answer: Lengths, seed: int) -> tuple[Ask, ...]:
    """Requests of a JSONL file: `prompt`, or `prompt_tokens`; `answer_tokens` where they are given.

    Raises InputError with the line that cannot be used.
    """
    luck, found = random.Random(seed), []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}", hint="give a JSONL file") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, tokens = row.get("prompt", ""), int(row.get("prompt_tokens", 0))
            ask = Ask(int(row.get("answer_tokens", 0)) or answer.draw(luck), tokens, str(text))
            if ask.answer < 1 or not (ask.text or ask.prompt > 0):
                raise ValueError("neither `prompt` nor `prompt_tokens`")
        except (ValueError, TypeError, AttributeError) as error:
            hint = 'such as {"prompt_tokens": 512, "answer_tokens": 128}'
            raise InputError(f"{path.name}, line {number}: {error}", hint=hint) from error
        found.append(ask)
    if not found:
        raise InputError(
            f"{path} has no requests", hint='a line each: {"prompt": "...", "answer_tokens": 128}'
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is asked, in an order that the seed fixes."""

    prompt: Lengths
    answer: Lengths
    seed: int = 0
    asks: tuple[Ask, ...] = ()  # Of a file, instead of drawn lengths
    # Tokens of a prompt of n words: fixed + per_word * n, as the server counted them.
    fixed: float = 0.0
    per_word: float = 1.0

    def requests(self, part: int) -> Iterator[tuple[str, int]]:
        """(prompt, tokens of the answer) without end; each part of a run draws words of its own, which no
        cache of the server knows."""
        luck = random.Random(f"{self.seed}/{part}")
        number = 0
        while True:
            if self.asks:
                ask = self.asks[number % len(self.asks)]
            else:
                ask = Ask(self.answer.draw(luck), self.prompt.draw(luck))
            words = max(1, round((ask.prompt - self.fixed) / self.per_word))
            yield ask.text or " ".join(luck.choices(WORDS, k=words)), ask.answer
            number += 1


async def calibrated(client: Client, traffic: Traffic) -> Traffic:
    """The traffic with the number of tokens that this server's tokenizer makes of a word; as it was where the
    server does not count."""
    luck, counts = random.Random(traffic.seed), []
    for words in (50, 450):
        found = await client.ask(" ".join(luck.choices(WORDS, k=words)), 1)
        if found.failure or not found.prompt_tokens:
            return traffic
        counts.append(found.prompt_tokens)
    per_word = (counts[1] - counts[0]) / 400
    return replace(traffic, per_word=per_word, fixed=counts[0] - 50 * per_word) if per_word > 0 else traffic


@dataclass(slots=True)
class Observed:
    """One level of load: requests begun within the window count, whenever they end."""

    began_s: float = 0.0
    ended_s: float = 0.0
    counted: list[Timing] = field(default_factory=list)
    every: list[Timing] = field(default_factory=list)
    dropped: int = 0
    """Requests that were due and not sent, since too many were open."""


async def at_once(
    client: Client, traffic: Traffic, concurrency: int, time_s: float, tell: Callable[[str], None], part: int
) -> Observed:
    """Closed loop: so many requests at any time, each followed by the next.

    The window opens when as many requests have ended as run at once, so that they have spread out, and the
    load goes on until the last counted request has ended.
    """
    seen = Observed()
    requests = traffic.requests(part)
    opened, counting = asyncio.Event(), 0
    warm_until_s = time.monotonic() + time_s

    async def worker() -> None:
        nonlocal counting
        pause_s = 0.05
        while True:
            prompt, tokens = next(requests)
            begun_s = time.monotonic()
            counts = opened.is_set() and begun_s < seen.began_s + time_s
            counting += counts
            found = await client.ask(prompt, tokens, begun_s)
            counting -= counts
            seen.every.append(found)
            if counts:
                seen.counted.append(found)
            elif not opened.is_set() and (len(seen.every) >= concurrency or found.ended_s > warm_until_s):
                seen.began_s = time.monotonic()
                opened.set()
            if found.failure:
                await asyncio.sleep(pause_s)
                pause_s = min(PAUSE_S, 2 * pause_s)

    workers = [asyncio.create_task(worker()) for _ in range(concurrency)]
    try:
        tell("warm-up")
        await opened.wait()
        tell("measuring")
        await asyncio.sleep(time_s)
        seen.ended_s = time.monotonic()
        tell("waiting for the last answers")
        while counting:
            await asyncio.sleep(0.01)
    finally:
        for each in workers:
            each.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return seen


async def at_rate(
    client: Client, traffic: Traffic, rate: float, time_s: float, tell: Callable[[str], None], part: int
) -> Observed:
    """Open loop: requests at random times (Poisson), whether or not the earlier ones have ended.

    The window opens after a fifth of its length, and requests go on until the last counted one has ended.
    Each is timed from the moment when it was due.
    """
    seen = Observed()
    requests, luck = traffic.requests(part), random.Random(f"{traffic.seed}/{part}/times")
    counted: set[asyncio.Task[None]] = set()
    others: set[asyncio.Task[None]] = set()
    began_s = time.monotonic()
    seen.began_s = began_s + time_s / 5
    seen.ended_s = seen.began_s + time_s
    due_s = began_s

    async def one(prompt: str, tokens: int, due_s: float, counts: bool) -> None:
        found = await client.ask(prompt, tokens, due_s)
        seen.every.append(found)
        if counts:
            seen.counted.append(found)

    tell("measuring")
    try:
        while due_s < seen.ended_s or counted:
            due_s += luck.expovariate(rate)
            while (left_s := due_s - time.monotonic()) > 0:
                if due_s >= seen.ended_s and not counted:
                    break
                await asyncio.sleep(min(left_s, 0.05))
            counts = seen.began_s <= due_s < seen.ended_s
            if due_s >= seen.ended_s and not counted:
                break
            if len(counted) + len(others) >= MOST_OPEN:
                seen.dropped += counts
                continue
            place = counted if counts else others
            task = asyncio.create_task(one(*next(requests), due_s, counts))
            place.add(task)
            task.add_done_callback(place.discard)
    finally:
        left = [*counted, *others]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    return seen
