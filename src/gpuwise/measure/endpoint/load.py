"""Load on a server: prompts and answers of drawn lengths, so many at once or so many a second; and what was
observed of one load as one measurement: latencies with intervals, rates, failures, goodput."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, sqrt
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import numpy as np

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.measure.endpoint import Client, Timing
from gpuwise.model.result import Failure, Interval, Quantiles, Serving
from gpuwise.model.units import Latency
from gpuwise.stats.interval import t_quantile

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
        problem = f"cannot read {text[:40]!r} as a number of tokens"
        raise InputError(problem, hint="1024, 512..2048 or 1024~300")
    spread = Lengths(text.strip(), int(match[1]), match[2] or "", int(match[3] or 0))
    if spread.kind == ".." and spread.high < spread.low:
        problem = f"{spread.text} has its ends the wrong way round"
        raise InputError(problem, hint=f"{spread.high}..{spread.low}")
    return spread


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to come."""

    answer: int
    prompt: int = 0  # Tokens of drawn words
    text: str = ""  # Instead of them


def read_asks(path: Path, answer: Lengths, seed: int) -> tuple[Ask, ...]:
    """Requests of a JSONL file: `prompt`, or `prompt_tokens`; `answer_tokens` where they are given. Raises
    InputError with the line that cannot be used."""
    luck, asks = random.Random(seed), []
    text = store.decoded(store.read(path, hint="give a JSONL file"), path.name)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, tokens = row.get("prompt", ""), int(row.get("prompt_tokens", 0))
            ask = Ask(int(row.get("answer_tokens", 0)) or answer.draw(luck), tokens, str(text))
            if ask.answer < 1 or not (ask.text or ask.prompt > 0):
                raise ValueError("neither `prompt` nor `prompt_tokens`")
        except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            hint = 'such as {"prompt_tokens": 512, "answer_tokens": 128}'
            raise InputError(f"{path.name}, line {number}: {error}", hint=hint) from error
        asks.append(ask)
    if not asks:
        problem = f"{path} has no requests"
        raise InputError(problem, hint='a line each: {"prompt": "...", "answer_tokens": 128}')
    return tuple(asks)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The requests, in an order that the seed fixes."""

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
        timing = await client.ask(" ".join(luck.choices(WORDS, k=words)), 1)
        if timing.failure or not timing.prompt_tokens:
            return traffic
        counts.append(timing.prompt_tokens)
    per_word = (counts[1] - counts[0]) / 400
    return replace(traffic, per_word=per_word, fixed=counts[0] - 50 * per_word) if per_word > 0 else traffic


@dataclass(slots=True)
class Observed:
    """One level of load: requests begun within the window count, whenever they end."""

    began_s: float = 0.0
    ended_s: float = 0.0
    counted: list[Timing] = field(default_factory=list)
    every: list[Timing] = field(default_factory=list)
    dropped: int = 0  # Requests that were due and not sent, since too many were open


async def at_once(
    client: Client, traffic: Traffic, concurrency: int, time_s: float, tell: Callable[[str], None], part: int
) -> Observed:
    """Closed loop: so many requests at any time, each followed by the next.

    The window opens when as many requests have ended as run at once, so that they have spread out, and the
    load goes on until the last counted request has ended. It is `time_s` long, but no shorter than two
    requests: those that go in step would all begin before it and end after it.
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
            counts = opened.is_set() and begun_s < seen.ended_s
            counting += counts
            timing = await client.ask(prompt, tokens, begun_s)
            counting -= counts
            seen.every.append(timing)
            if counts:
                seen.counted.append(timing)
            elif not opened.is_set() and (len(seen.every) >= concurrency or timing.ended_s > warm_until_s):
                seen.began_s = time.monotonic()
                took_s = 0.0 if timing.failure else timing.ended_s - begun_s
                seen.ended_s = seen.began_s + max(time_s, 2 * took_s)
                opened.set()
            if timing.failure:
                await asyncio.sleep(pause_s)
                pause_s = min(PAUSE_S, 2 * pause_s)

    workers = [asyncio.create_task(worker()) for _ in range(concurrency)]
    try:
        tell("warm-up")
        await opened.wait()
        tell("measuring")
        await asyncio.sleep(seen.ended_s - time.monotonic())
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
    due_s = time.monotonic()
    seen.began_s = due_s + time_s / 5
    seen.ended_s = seen.began_s + time_s

    async def one(prompt: str, tokens: int, due_s: float, counts: bool) -> None:
        timing = await client.ask(prompt, tokens, due_s)
        seen.every.append(timing)
        if counts:
            seen.counted.append(timing)

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


# Parts of the window whose rates are compared: enough for an interval, each long enough to hold requests.
SLICES = 10
Z = NormalDist().inv_cdf(0.975)


def quantiles(values: Sequence[float], groups: int) -> Quantiles | None:
    """Mean and quantiles of positive numbers with 95 % intervals; None where there is none.

    The interval of a quantile reaches from one order statistic to another (binomial; it assumes no shape).
    Its ranks are those of `groups` independent values: the gaps within one answer go alike, so there it is
    the number of answers.
    """
    if not values:
        return None
    ordered = np.sort(np.asarray(values))
    count = len(ordered)

    def of(share: float) -> Interval:
        half = Z * sqrt(share * (1 - share) / max(1, groups))
        # Ranks are rounded outwards: of few values the end is the smallest or the largest.
        low = float(ordered[max(0, floor((share - half) * count))])
        high = float(ordered[min(count - 1, ceil((share + half) * count))])
        value = float(np.quantile(ordered, share))
        return Interval(value=value, low=min(low, value), high=max(high, value), method="order-statistics")

    middle = float(ordered.mean())
    half = Z * float(ordered.std(ddof=1)) / sqrt(groups) if count > 1 else 0.0
    mean = Interval(value=middle, low=max(0.0, middle - half), high=middle + half, method="normal")
    return Quantiles(mean=mean, p50=of(0.5), p90=of(0.9), p99=of(0.99))


def rate(moments: Sequence[float], weights: Sequence[float], seen: Observed) -> Interval:
    """Rate per second within the window, with Student's interval of the rates of its slices."""
    span_s = seen.ended_s - seen.began_s
    edges = np.linspace(seen.began_s, seen.ended_s, SLICES + 1)
    sums, _ = np.histogram(np.asarray(moments), bins=edges, weights=np.asarray(weights))
    rates = [float(each) * SLICES / span_s for each in sums]
    middle, half = fmean(rates), t_quantile(0.975, SLICES - 1) * stdev(rates) / sqrt(SLICES)
    # Requests that go in step give equal slices; where the window cuts them is still a matter of one.
    half = max(half, max(weights, default=0.0) / span_s)
    return Interval(value=middle, low=max(0.0, middle - half), high=middle + half, method="slices")


def tokens_per_s(seen: Observed) -> Interval:
    """Tokens of all answers that arrived within the window, of whatever request."""
    moments: list[float] = []
    weights: list[float] = []
    for each in seen.every:
        # A piece of text may be several tokens: the server's count is spread over the pieces.
        weight = each.tokens / len(each.tokens_s) if each.tokens_s else 0.0
        moments += each.tokens_s
        weights += [weight] * len(each.tokens_s)
    return rate(moments, weights, seen)


def serving(seen: Observed, prompt_tokens: float, slo: Sequence[Latency]) -> Serving:
    """Everything of one load but its tokens a second."""
    good = [each for each in seen.counted if not each.failure]
    bad = [each for each in seen.counted if each.failure]
    said = {each.failure: each.said for each in reversed(bad)}
    failures = [
        Failure(kind=kind, count=count, example=said[kind])
        for kind, count in Counter(each.failure for each in bad).most_common()
    ]
    if seen.dropped:
        example = "due, but not sent: too many were open"
        failures.append(Failure(kind="dropped", count=seen.dropped, example=example))
    first = [each.tokens_s[0] - each.begun_s for each in good]
    several = [each for each in good if each.tokens > 1 and len(each.tokens_s) > 1]
    per = [(each.tokens_s[-1] - each.tokens_s[0]) / (each.tokens - 1) for each in several]
    gaps = [gap for each in several for gap in np.diff(np.frombuffer(each.tokens_s)).tolist()]
    whole = [each.tokens_s[-1] - each.begun_s for each in good]
    kept = [each for each in good if each.keeps(slo)]
    counted = [each.prompt_tokens for each in good if each.prompt_tokens]
    ends = [each.tokens_s[-1] for each in seen.every if not each.failure and each.tokens_s]
    # Requests a second are those that ended within the window; goodput is of those that began in it.
    span_s = seen.ended_s - seen.began_s
    return Serving(
        window_s=span_s, requests=len(good), failures=tuple(failures),
        first_token_s=quantiles(first, len(first)), per_token_s=quantiles(per, len(per)),
        between_s=quantiles(gaps, len(several)), request_s=quantiles(whole, len(whole)),
        requests_per_s=rate(ends, [1.0] * len(ends), seen),
        prompt_tokens=fmean(counted) if counted else prompt_tokens,
        answer_tokens=fmean([each.tokens for each in good]) if good else 0.0,
        short=sum(each.tokens < each.asked for each in good),
        counted_by="server" if any(each.answer_tokens for each in good) else "pieces",
        slo=",".join(f"{limit.kind}<={limit.seconds * 1000:g}ms" for limit in slo),
        goodput_per_s=rate([each.begun_s for each in kept], [1.0] * len(kept), seen) if slo else None,
    )  # fmt: skip
