"""A wider world of GPUs and offers than `test_pinned`, and what is chosen there for two limits at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import combinations
from typing import Any

from gpuwise.errors import GpuwiseError
from gpuwise.judge.choose.answer import differences
from gpuwise.judge.choose.decide import first_of_each_way, with_excluded
from gpuwise.judge.choose.fit import loosened
from gpuwise.judge.choose.need import settled
from gpuwise.model.gpu import Offer, Source
from gpuwise.model.judgement import Assumptions, Need, Option, Quote, Recommendation
from gpuwise.model.result import Interval, Issue, Record

from ...records import made_up
from .conftest import offered, recommend

TODAY = date(2026, 11, 21)
SHEET = Source(id="made-up", title="made up", kind="third-party", read_on="2026-11-21")
OWN = Source(id="own-prices", title="prices of your own", kind="third-party", read_on="2026-11-21")
# GPU, items a second of one, watts, GB taken, probability that it fits, basis, upper end over the value.
CARDS: tuple[tuple[str, float, float, float, float | None, str, float], ...] = (
    ("k80", 12.0, 250.0, 8.0, 1.0, "spec-only", 1.3),
    ("t4", 30.0, 70.0, 8.0, 1.0, "calibrated", 1.1),
    ("rtx-3060-12gb", 50.0, 170.0, 11.5, 0.6, "spec-only", 1.1),
    ("rtx-3090", 100.0, 300.0, 8.0, 1.0, "measured", 1.02),
    ("rtx-4090", 200.0, 400.0, 22.0, 1.0, "published", 1.6),
    ("rtx-5090", 290.0, 520.0, 22.0, None, "transferred", 1.1),
    ("rtx-a6000", 120.0, 300.0, 8.0, 0.9, "spec-only", 1.1),
    ("l40s", 180.0, 330.0, 45.0, 0.49, "spec-only", 1.5),
    ("rx-7900-xtx", 110.0, 300.0, 8.0, 1.0, "spec-only", 4.0),
    ("a100-pcie-80gb", 260.0, 300.0, 8.0, 1.0, "spec-only", 1.1),
    ("a100-sxm4-80gb", 280.0, 380.0, 8.0, 1.0, "calibrated", 1.1),
    ("h100-sxm5-80gb", 500.0, 700.0, 8.0, 1.0, "measured", 1.01),
    ("mi300x", 480.0, 740.0, 8.0, 1.0, "spec-only", 3.0),
    ("rtx-4090-laptop", 90.0, 150.0, 8.0, 1.0, "spec-only", 1.1),
    ("apple-m4-max", 25.0, 60.0, 8.0, 1.0, "spec-only", 2.0),
    ("gb10", 45.0, 120.0, 8.0, 1.0, "spec-only", 1.2),
)
# GPUs that it may be, count, kind, amount, day, provider, and the rest.
OFFERS: tuple[tuple[str, float, str, float, str, str, dict[str, Any]], ...] = (
    ("k80", 1, "used", 60.0, "2026-11-01", "shop", {}),
    ("t4", 1, "on-demand", 0.35, "2026-11-10", "cloud", {"region": "eu-west-1", "egress_usd_per_gb": 0.09}),
    ("t4", 1, "spot", 0.11, "2026-11-20", "cloud", {"region": "us-east-1"}),
    ("t4", 1, "used", 550.0, "2026-10-01", "shop", {"low": 450.0, "high": 700.0}),
    ("rtx-3060-12gb", 1, "on-demand", 0.1, "2026-11-01", "cloud", {}),
    ("rtx-3060-12gb", 1, "used", 250.0, "2026-10-01", "shop", {}),
    ("rtx-3090", 1, "on-demand", 0.25, "2026-11-01", "cloud", {"instance": "g1"}),
    ("rtx-3090", 2, "on-demand", 0.48, "2026-11-01", "cloud", {"instance": "g2", "region": "Frankfurt, DE"}),
    ("rtx-3090", 1, "used", 800.0, "2026-11-01", "shop", {}),
    ("rtx-3090", 1, "new", 1499.0, "2020-09-24", "launch price", {}),
    ("rtx-4090", 1, "on-demand", 0.5, "2026-11-01", "cloud", {}),
    ("rtx-4090", 4, "on-demand", 1.9, "2026-11-15", "other", {}),
    ("rtx-4090", 1, "community", 0.3, "2026-11-01", "vast", {}),
    ("rtx-4090", 1, "spot", 0.2, "2026-11-01", "vast", {}),
    ("rtx-4090", 1, "new", 1900.0, "2026-11-01", "shop", {}),
    ("rtx-4090", 0.5, "on-demand", 0.3, "2026-11-01", "slices", {}),
    ("rtx-5090", 1, "new", 2400.0, "2026-11-11", "shop", {"low": 2100.0, "high": 2900.0}),
    ("rtx-5090", 1, "on-demand", 0.7, "2026-08-01", "cloud", {}),
    ("rtx-a6000", 1, "on-demand", 0.8, "2026-11-01", "cloud", {}),
    ("rtx-a6000", 1, "street", 4000.0, "2026-02-01", "shop", {}),
    ("l40s", 1, "on-demand", 0.9, "2026-11-01", "cloud", {}),
    ("l40s", 8, "on-demand", 7.0, "2026-11-01", "cloud", {"region": "us-west-2", "egress_usd_per_gb": 0.05}),
    ("l40s", 1, "new", 8500.0, "2026-11-01", "shop", {}),
    ("rx-7900-xtx", 1, "new", 900.0, "2026-11-01", "shop", {}),
    ("a100-pcie-80gb,a100-sxm4-80gb", 1, "on-demand", 1.3, "2026-11-01", "cloud", {}),
    ("a100-sxm4-80gb", 8, "on-demand", 9.6, "2026-11-01", "cloud", {"egress_usd_per_gb": 0.02}),
    ("a100-pcie-80gb", 1, "used", 9000.0, "2024-11-01", "shop", {}),
    ("a100-sxm4-80gb", 1, "reserved", 0.8, "2026-11-01", "cloud", {"note": "1 year of commitment"}),
    ("a100-sxm4-80gb", 8, "used", 60000.0, "2026-07-01", "shop", {"whole": True}),
    ("h100-sxm5-80gb", 1, "on-demand", 2.5, "2026-11-01", "cloud", {}),
    ("h100-sxm5-80gb", 8, "on-demand", 18.0, "2026-11-01", "other", {"listed_on": "2026-11-05"}),
    ("h100-sxm5-80gb", 1, "serverless", 3.6, "2026-11-01", "cloud", {}),
    ("h100-sxm5-80gb", 8, "reserved", 12.0, "2026-11-01", "other", {"note": "3 months of commitment"}),
    ("h100-sxm5-80gb", 8, "new", 220000.0, "2026-11-01", "shop", {}),
    ("h100-sxm5-80gb", 1, "new", 30000.0, "2026-11-01", "shop", {}),
    ("mi300x", 1, "on-demand", 1.9, "2026-11-01", "other", {"region": "us-central"}),
    ("mi300x", 8, "on-demand", 15.0, "2026-11-01", "other", {}),
    ("rtx-4090-laptop", 1, "new", 2500.0, "2026-11-01", "shop", {"whole": True}),
    ("rtx-4090-laptop", 1, "new", 700.0, "2026-11-01", "parts", {}),
    ("apple-m4-max", 1, "new", 3500.0, "2026-06-01", "shop", {"whole": True}),
    ("gb10", 1, "new", 4000.0, "2025-10-15", "shop", {"whole": True}),
)
PLAIN = Assumptions(max_age_days=120)
LIMITS: tuple[dict[str, Any], ...] = (
    {"items": 3.6e6}, {"items": 3.6e7, "deadline_s": 36000.0}, {"items": 7.2e6, "period_s": 86400.0},
    {"items": 3.6e7, "egress_gb": 200.0}, {"budget_usd": 0.6, "budget_per_hour": True},
    {"budget_usd": 150.0, "budget_per_month": True}, {"budget_usd": 2600.0}, {"acquire": "own"},
    {"acquire": "rent"}, {"goal": "price"}, {"goal": "speed"}, {"spot": True}, {"community": True},
    {"serverless": True}, {"reserved": True}, {"reserved": True, "most_commitment_h": 2500.0},
    {"sold": ("used", "street")}, {"providers": ("other",)}, {"avoid": ("cloud",)}, {"region": "Europe"},
    {"gpus": (1, 8)}, {"gpus": (2, 4)}, {"gpus": (8, 8)}, {"mode": "infer"},
    {"mode": "infer", "latency_s": 0.015}, {"mode": "infer", "concurrent": 4, "latency_s": 0.05},
    {"memory_gb": (24.0, None)}, {"memory_gb": (16.0, 32.0)}, {"least_gb": 30.0}, {"power_w": 320.0},
    {"slots": 2.0}, {"outlet_w": 700.0}, {"quiet": True}, {"form": "mobile"}, {"form": "sxm"}, {"users": 4},
    {"have": ("rtx-3090",)}, {"have": ("rtx-3090",), "upgrade": True},
    {"have": ("rtx-3060-12gb",), "keep": True},
    {"have": ("rtx-4090-laptop",)}, {"only": ("rtx-3090", "apple-m4-max", "rtx-5090")},
    {"only": ("k80", "gb10")},
    {"sets": (("rtx-3090", 2), ("rtx-4090", 1))}, {"unproven": True}, {"currency": ("EUR", 1.1)},
    {"hire_h": 100.0}, {"precision": "fp64"}, {"title": "another", "least_gb": 10.0},
    {"quotes": (Quote(gpu_id="rtx-4090", count=1, kind="on-demand", usd=0.6, provider="here", paid=True),)},
    {"quotes": (Quote(gpu_id="rtx-5090", count=1, kind="used", usd=1500.0),)},
    {"assumptions": replace(PLAIN, max_age_days=None)}, {"assumptions": replace(PLAIN, max_age_days=400)},
    {"assumptions": replace(PLAIN, max_age_days=30, aged_today=True)},
    {"assumptions": replace(PLAIN, host_usd=0.0)},
    {"assumptions": replace(PLAIN, host_usd=700.0, host_w=90.0)},
    {"assumptions": replace(PLAIN, hours_per_week=168.0, electricity_usd_per_kwh=0.4)},
    {"assumptions": replace(PLAIN, hours_per_week=3.0)}, {"assumptions": replace(PLAIN, utilisation=0.6)},
    {"assumptions": replace(PLAIN, years=1.0, depreciation=0.6, cooling=1.0)},
)  # fmt: skip
PAIRS = 260


def world() -> tuple[list[Record], list[Offer]]:
    """Speeds of one to eight of each card, and what they cost."""
    speeds = [made_up("mi250", refusal="does not fit: 140 of 128 GB"), made_up("v100-sxm2-32gb")]
    for gpu, speed, watts, taken, fits, basis, upper in CARDS:
        for count in (1,) if gpu in ("rtx-4090-laptop", "apple-m4-max", "gb10") else (1, 2, 4, 8):
            value = speed * count * (0.6 if gpu == "rtx-4090" else 0.95) ** (count.bit_length() - 1)
            near = Interval(
                value=value, low=value / upper, high=value * upper**1.2, level=0.8, method="made up"
            )
            one = made_up(
                gpu, count=count, throughput=near, watts=watts * count, watts_half=0.1,
                memory_bytes=taken * 1e9, basis=basis,
                origin="measured" if basis in ("measured", "published") else "predicted",
            )  # fmt: skip
            vast = Issue.warning("order-of-magnitude", "an order of magnitude")
            speeds.append(replace(
                one, fits_probability=fits, seconds=2.0 / speed,
                source=SHEET if basis == "published" else None,
                issues=(vast,) if gpu in ("mi300x", "rx-7900-xtx", "apple-m4-max") else (),
                bound="memory" if gpu == "t4" else None,
                notes=("file.json",) if basis == "measured" else (),
            ))  # fmt: skip
    offers = [
        Offer(
            gpu=ids, gpu_ids=tuple(ids.split(",")), count=count, kind=kind, amount=amount, seen_on=day,  # type: ignore[arg-type]
            provider=provider, source=OWN if provider == "parts" else SHEET, **more,
        )
        for ids, count, kind, amount, day, provider, more in OFFERS
    ]  # fmt: skip
    return speeds, offers


def chosen(numbers: Callable[[str], str], refusal: Callable[[GpuwiseError], str]) -> Iterator[str]:
    """What is first, what it costs and why, for each limit and many pairs of them."""
    speeds, offers = world()
    each = list(combinations(range(len(LIMITS)), 2))
    pairs = [(n,) for n in range(len(LIMITS))] + sorted(random.Random(1).sample(each, PAIRS))
    before: Recommendation | None = None
    for pair in pairs:
        changes: dict[str, Any] = {}
        for n in pair:
            changes |= LIMITS[n]
        need = Need(**{
            "workloads": (("resnet50", 1.0),), "mode": "train", "precision": "bf16", "assumptions": PLAIN,
            "gpus": (1, 2), **changes,
        })  # fmt: skip
        yield f"## {' & '.join(said(LIMITS[n]) for n in pair)}"
        decide = partial(recommend, speeds=speeds, offers=offers, today=TODAY, item="image")
        try:
            need = settled(need)
            found = decide(need)
        except GpuwiseError as error:
            yield refusal(loosened(error, need, decide, offers))
            continue
        others = replace(need, spot=True, community=True, reserved=True, serverless=True)
        free = decide(replace(need, only=(), sets=(), region="")) if pair[0] % 3 == 0 else None
        ways = first_of_each_way(others, speeds, offers, today=TODAY)
        found = with_excluded(found, ways, free.options[0] if free else None)
        yield from (f"{row_of(option)} | {numbers(' '.join(option.why))}" for option in found.options[:2])
        chances = " ".join(f"{chance.probability:.3f}" for chance in found.chances)
        left = " ".join(f"{gpu}:{issue.code}" for gpu, issue in found.rejected.items())
        yield f"{len(found.options)} {chances} | {left}"
        for name in ("answer", "runner_up", "reasons", "changes", "advice"):
            texts = getattr(found, name)
            yield f"{name} {numbers(texts if isinstance(texts, str) else '; '.join(texts))}"
        counts = offered(need, offers, TODAY)
        yield f"offered {' '.join(f'{gpu}:{min(n)}-{max(n)}' for gpu, n in sorted(counts.items()))}"
        if before is not None:
            changed = differences(before, found)
            yield f"changed {len(changed)} {numbers(' '.join(changed))[:150]}"
        before = found


def row_of(option: Option) -> str:
    """What it is and its figures: price, cost of the work and of an item and time with their lower ends, then
    outlay, host, cost of an hour, hours to break even, free memory, energy and speedup."""
    money = (option.price_usd, option.cost_usd, option.cost_per_item_usd, option.time_s)
    figures = [f"{one.value:.5g} {one.low:.5g}" if one else "-" for one in money]
    others = (
        option.outlay_usd, option.host_usd, option.per_hour_usd, option.break_even_h, option.memory_spare,
        option.energy_j_per_item, option.speedup,
    )  # fmt: skip
    figures += ["-" if one is None else f"{one:.5g}" for one in others]
    about = f"{option.count} {option.gpu_id} {option.way} {option.provider}"
    return f"{about} {option.frontier:d}{option.stale:d} | {' | '.join(figures)}"


def said(limit: Mapping[str, Any]) -> str:
    """A limit as a key of a row."""
    if "assumptions" in limit:
        own = limit["assumptions"]
        return " ".join(
            f"{n}={getattr(own, n)}" for n in own.__slots__ if getattr(own, n) != getattr(PLAIN, n)
        )
    return " ".join(f"{n}={v[0].gpu_id if n == 'quotes' else v}" for n, v in limit.items())
