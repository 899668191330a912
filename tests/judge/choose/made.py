"""What is said of made-up options, each figure of them on both sides of what decides: the numbers in each
text, and after `#` how many words it has.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

from gpuwise.errors import GpuwiseError
from gpuwise.facts import catalog
from gpuwise.judge.choose import answer, decide, phrases, verdicts
from gpuwise.judge.choose.candidates import HOURS_PER_YEAR, PAID, STATED
from gpuwise.judge.choose.need import USUAL_NOTE, settled
from gpuwise.judge.choose.speeds import RECOMPUTES
from gpuwise.model.judgement import Assumptions, Bill, Need, Option, Recommendation
from gpuwise.model.result import Interval, Issue

from ...records import made_up
from .conftest import recommend
from .wide import LIMITS, PLAIN, TODAY, world
from .wide import said as told


def near(value: float) -> Interval:
    return Interval(value=value, low=value / 1.25, high=value * 1.25, level=0.8, method="made up")


FIRST = Option(
    rank=1, gpu_id="rtx-4090", count=1, way="on-demand", provider="cloud", price_usd=near(0.5),
    seen_on="2026-11-01", price_source="a shop", stale=False, throughput=near(100.0), basis="measured",
    cost_per_item_usd=near(2e-6), per_hour_usd=0.5, power_w=450.0, energy_j_per_item=4.5,
)  # fmt: skip
BOUGHT: dict[str, Any] = {"way": "new", "price_usd": near(1900.0), "outlay_usd": 2600.0, "host_usd": 700.0}
LAST: dict[str, Any] = {"way": "unpriced", "price_usd": None, "cost_per_item_usd": None, "per_hour_usd": None}
SECOND = replace(
    FIRST, rank=2, gpu_id="rtx-3090", throughput=near(50.0), cost_per_item_usd=near(3e-6), provider="other"
)
# Of the first option, and of the second.
FIRSTS: tuple[dict[str, Any], ...] = (
    {}, {"way": "have", "provider": "", "price_source": "", "speedup": 1.0}, {"price_source": PAID},
    {"price_source": STATED}, BOUGHT, {**BOUGHT, "stale": True}, {**BOUGHT, "host_usd": 0.0, "count": 2},
    {**BOUGHT, "break_even_h": HOURS_PER_YEAR * 3}, {**BOUGHT, "break_even_h": 5000.0, "power_w": None},
    LAST, {**LAST, "last_usd": 1500.0}, {**LAST, "last_usd": 1500.0, "count": 2},
    {**LAST, "gpu_id": "rtx-4090-laptop", "power_w": 150.0},
    {**LAST, "gpu_id": "apple-m4-max", "last_usd": 3000.0, "power_w": 100.0},
    {"count": 4, "why": ("4 reach 90 % of 4 times one (PCIe)",)}, {"count": 8, "gpu_id": "h100-sxm5-80gb"},
    {"count": 2, "gpu_id": "a100-pcie-80gb", "replicas": 2, "why": (RECOMPUTES.detail,)},
    {"gpu_id": "apple-m4-max", "precision": "fp16"}, {"precision": "q4_k_m", "count": 2},
    {"time_s": near(3600.0), "cost_usd": near(5.0)}, {"time_s": near(3600.0), "speedup": 3.0},
    {"throughput": near(0.05)}, {"throughput": near(0.1)}, {"throughput": near(0.15)},
    {"throughput": near(2e6)}, {"throughput": near(1e6)}, {"cost_per_item_usd": near(6e-6)},
    {"throughput": near(50.2)}, {"way": "spot"}, {"way": "reserved", "committed_h": HOURS_PER_YEAR / 4},
    {"memory_spare": 0.3}, {"memory_spare": -0.02}, {"latency_s": 0.01}, {"energy_j_per_item": None},
    {"basis": "published"}, {"basis": "spec-only"}, {"throughput": near(100.9)}, {"throughput": near(101.5)},
)  # fmt: skip
SECONDS: tuple[dict[str, Any] | None, ...] = (
    {}, None, {"way": "have", "provider": "", "price_source": ""}, {"price_source": PAID},
    {**BOUGHT, "break_even_h": 3000.0}, {**BOUGHT, "break_even_h": HOURS_PER_YEAR * 3},
    {**BOUGHT, "break_even_h": 4 * HOURS_PER_YEAR, "count": 2, "cost_per_item_usd": near(1.95e-6)},
    {"speedup": 2.0, **BOUGHT, "cost_per_item_usd": near(1.5e-6)}, {"cost_per_item_usd": near(2.05e-6)},
    {"cost_per_item_usd": None, "price_usd": None, "way": "unpriced", "last_usd": 800.0},
    {"gpu_id": "rtx-4090", "count": 2, "throughput": near(180.0)}, {"cost_per_item_usd": near(1.2e-6)},
    {"cost_per_item_usd": near(2e-6 / 1.5)}, {"throughput": near(150.0)},
    {"energy_j_per_item": None, "cost_per_item_usd": near(1.6e-6)},
)  # fmt: skip
WORK = {"items": 3.6e5}
NEEDS: tuple[dict[str, Any], ...] = (
    {}, {"goal": "price"}, {"goal": "speed"}, {"goal": "energy"}, {"mode": "infer"}, {"users": 3},
    {"mode": "infer", "task": "infer"}, {"task": "full"}, {"have": ("rtx-3090",)}, {"upgrade": True},
    {"have": ("rtx-3090",), "upgrade": True}, {"have": ("rtx-4090",), "sets": (("rtx-3090", 1),)},
    {"gpus": (1, 8)}, {"gpus": (1, 2), "budget_usd": 5000.0}, {"gpus": (1, 2), "budget_usd": 5200.0},
    {"gpus": (1, 2), "budget_usd": 5200.0, "budget_per_hour": True},
    {"gpus": (1, 2), "budget_usd": 5200.0, "budget_per_month": True},
    {"budget_usd": 50.0}, {"budget_usd": 0.6, "budget_per_hour": True}, {"thrifty": True},
    {"budget_usd": 150.0, "budget_per_month": True}, {"budget_usd": 1000.0, "budget_per_month": True},
    {"concurrent": 4, "mode": "infer"}, {"hire_h": 100.0}, {"deadline_s": 7200.0, **WORK},
    {**WORK, "period_s": 86400.0}, {**WORK, "period_s": phrases.MONTH_S}, {**WORK, "period_s": 1e5},
    {"currency": ("EUR", 1.25)}, {"currency": ("EUR", 0.005)}, {"currency": ("EUR", 26.0)},
    {"title": "another"}, {"title": "another", "passes": 2.0}, {"latency_s": 0.05},
    {"latency_s": 0.05, "latency_kind": "TTFT"}, {"latency_s": 0.05, "notes": (USUAL_NOTE,)},
    {"feature": "nvlink"}, {"feature": "ecc"}, {"asks": "faster"}, {"asks": "able", "only": ("rtx-4090",)},
    {"asks": "able", "only": ("k80",)}, {"asks": "too much"}, {"asks": "energy"}, {"quiet": True},
    {"memory_gb": (24.0, None)}, {"memory_gb": (24.0, 24.0)}, {"memory_gb": (24.0, 48.0)},
    {"sold": ("used", "street"), "providers": ("cloud",), "avoid": ("other",), "slots": 2.0, "form": "sxm"},
    {"power_w": 400.0, "outlet_w": 900.0, "total_gb": 48.0, "at_home": True},
    {"region": "Europe"}, {"acquire": "own"}, {"precision": "q4_k_m", "task": "infer", "mode": "infer"},
    *({"assumptions": replace(PLAIN, **each)} for each in (
        {"years": 2.0}, {"hours_per_week": 168.0}, {"hours_per_week": 1.0, "electricity_usd_per_kwh": 0.4},
        {"host_usd": 700.0, "host_w": 90.0}, {"years": 0.5, "depreciation": 0.5, "cooling": 1.0},
    )),
)  # fmt: skip
WHYS: tuple[dict[str, Any], ...] = (
    *({"memory_spare": spare} for spare in (-0.1, 0.05, 0.099, 0.1, 0.101, 0.19)),
    {"rank": 1}, {"rank": 1, "cost_per_item_usd": None}, {"count": 2},
    {"count": 2, "throughput": near(200.0)},
    {"speedup": 2.0}, {"speedup": 1.0, "way": "have"}, {"stale": True}, {**BOUGHT, "break_even_h": 0.0},
)  # fmt: skip
BILLS = (Bill(of="an API"), Bill(of="an API", usd=2.0, items=1e6), Bill(of="an API", usd=0.5, items=1e6))
# Combinations beside each alone: of several GPUs with needs that ask how they work together, and at random.
TOGETHER = tuple(product(
    (n for n, need in enumerate(NEEDS) if need.keys() & {"feature", "task", "gpus"}),
    (f for f, first in enumerate(FIRSTS) if "count" in first or "precision" in first or "gpu_id" in first),
))  # fmt: skip
MORE = 160
LEFT = {"k80": Issue.info("memory", "12 of 24 GB")}


def _need(**changes: Any) -> Need:
    plain = {"workloads": (("resnet50", 1.0),), "mode": "train", "precision": "bf16", "assumptions": PLAIN}
    return Need(**{**plain, **changes})


def rows(numbers: Callable[[str], str], brief: Callable[[object], str]) -> Iterator[str]:
    """Each need, first and second option alone, and many together."""

    def said(text: str) -> str:
        return f"{numbers(text)}#{len(text.split())}"

    alone = [
        *((n, 0, 0) for n in range(len(NEEDS))),
        *((0, f, 0) for f in range(1, len(FIRSTS))),
        *((0, 0, s) for s in range(1, len(SECONDS))),
    ]
    plain = Recommendation(
        made_on="2026-11-21", need=_need(), item="image", options=(FIRST, SECOND), rejected=LEFT
    )
    every = list(product(range(len(NEEDS)), range(len(FIRSTS)), range(len(SECONDS))))
    for n, f, s in (
        *alone,
        *((*both, 0) for both in TOGETHER),
        *sorted(random.Random(1).sample(every, MORE)),
    ):
        need = _need(**NEEDS[n])
        first, second = replace(FIRST, **FIRSTS[f]), SECONDS[s]
        if need.items:
            each, time_s = first.cost_per_item_usd, near(need.items / first.throughput.value)
            first = replace(first, time_s=time_s, cost_usd=each.times(need.items) if each else None)
        more = () if second is None else (replace(SECOND, **second),)
        found = replace(plain, need=need, options=(first, *more))
        other = replace(found, options=more) if more else None
        texts = (
            answer.plainly(found), "; ".join(answer.reasons(found)), answer.runner_up(found),
            "; ".join(answer.limits(need)), verdicts.verdict(found, other),
            *(decide.allowing("spot rent", each, first, need) for each in more),
            *((verdicts.against(bill, found) for bill in BILLS) if n % 2 else ()),
            *(answer.differences(plain, found) if not n + s else ()),
        )  # fmt: skip
        yield f"{n} {f} {s} | {' | '.join(map(said, texts))}"
    for value in (0.0999, 0.1, 0.15, 1.0, 999.0, 999999.0, 1e6, 1000001.0):
        yield f"{value} | {phrases.rate_of(value, 'image')}"
    need = _need(assumptions=Assumptions())
    speed, spec = made_up("rtx-4090", throughput=near(100.0), notes=("file.json",)), catalog.get("rtx-4090")
    for changes in WHYS:
        option = replace(FIRST, **{"rank": 2, **changes})
        for one in (None, 90.0):
            why = answer.why(need, option, FIRST, speed, one, spec)
            yield f"{brief(tuple(changes.values()))} {one} | {said('; '.join(why))}"
    speeds, offers = world()
    for limit in LIMITS:
        with suppress(GpuwiseError):
            made = recommend(
                settled(_need(**{"gpus": (1, 2), **limit})), speeds, offers, today=TODAY, item="image"
            )
            texts = (made.answer, *("; ".join(each) for each in (made.reasons, made.changes, made.advice)))
            yield f"{told(limit)} | {' | '.join(map(said, texts))}"
