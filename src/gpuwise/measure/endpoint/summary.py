"""What was observed of one load as one measurement: latencies with intervals, rates, failures, goodput."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, floor, sqrt
from statistics import fmean, stdev

import numpy as np

from gpuwise.measure.endpoint.client import Timing
from gpuwise.measure.endpoint.load import Observed
from gpuwise.model.result import Failure, Interval, Quantiles, Serving
from gpuwise.model.units import Latency

# Parts of the window whose rates are compared: enough for an interval, each long enough to hold requests.
SLICES = 10
# Student's t of 95 % with 9 degrees of freedom, for the mean of ten slices.
T_OF_SLICES = 2.262
Z = 1.960


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
    """What came a second within the window, with Student's interval of the rates of its slices."""
    span_s = seen.ended_s - seen.began_s
    edges = np.linspace(seen.began_s, seen.ended_s, SLICES + 1)
    sums, _ = np.histogram(np.asarray(moments), bins=edges, weights=np.asarray(weights))
    rates = [float(each) * SLICES / span_s for each in sums]
    middle, half = fmean(rates), T_OF_SLICES * stdev(rates) / sqrt(SLICES)
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
    kept = [each for each in good if _keeps(each, slo)]
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


def _keeps(each: Timing, slo: Sequence[Latency]) -> bool:
    """True where a request met every limit; an answer of one token has no time between tokens."""
    found = {
        "TTFT": each.tokens_s[0] - each.begun_s,
        "TPOT": (each.tokens_s[-1] - each.tokens_s[0]) / max(1, each.tokens - 1),
    }
    return all(found[limit.kind] <= limit.seconds for limit in slo)
