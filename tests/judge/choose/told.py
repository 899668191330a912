"""What is said beside a recommendation: of prices that a question states, of bills for the same work, of what
was asked by yes or no, and of limits that nothing keeps; as one thing grows, or in each circumstance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby, product
from typing import Any

from gpuwise.errors import GpuwiseError
from gpuwise.facts import catalog
from gpuwise.judge.choose import candidates, fit, phrases, verdicts
from gpuwise.judge.choose.candidates import machines, price_half
from gpuwise.judge.choose.need import need_for, presets, settled
from gpuwise.model.judgement import Bill, Need, Quote, Recommendation
from gpuwise.predictor.forecast import FITS

from ...records import made_up
from .conftest import offered as usable_offered
from .conftest import recommend
from .known import near
from .wide import LIMITS, PLAIN, TODAY, row_of, said, world

FACTORS = (0.3, 0.5, 0.74, 0.75, 0.76, 0.9, 1.0, 1.1, 1.19, 1.2, 1.21, 1.5, 1.59, 1.6, 1.61, 2.0, 5.0)
BILLS = (
    Bill(of="an API"), Bill(of="an API", usd=2.0, items=1e6), Bill(of="a service", usd=100.0),
    Bill(of="a service", usd=0.5), Bill(of="an API", usd=0.001, items=10.0),
)  # fmt: skip
ASKS: tuple[dict[str, Any], ...] = tuple({"asks": each} for each in ("able", "too much", "energy", "number"))
BESIDE: tuple[dict[str, Any], ...] = (
    {}, {"items": 3.6e6}, {"items": 7.2e6, "period_s": 86400.0}, {"have": ("rtx-3090",)},
    {"only": ("rtx-3090", "k80")}, {"only": ("h100-sxm5-80gb",)}, {"acquire": "own"}, {"acquire": "rent"},
    {"budget_usd": 30.0, "budget_per_month": True, "acquire": "rent"},
    {"budget_usd": 700.0, "acquire": "own"},
    {"budget_usd": 0.05, "budget_per_hour": True}, {"total_gb": 150.0, "gpus": (1, 8)}, {"total_gb": 2000.0},
    {"mode": "infer", "task": "infer"}, {"mode": "infer", "task": "infer", "latency_s": 0.05},
    {"memory_gb": (300.0, None)}, {"memory_gb": (0.0, 10.0)}, {"notes": (verdicts.AS_MANY,)},
    {"notes": (verdicts.NOT_ENOUGH,)}, {"users": 4}, {"gpus": (3, 3)}, {"gpus": (16, 16)},
    {"power_w": 60.0, "acquire": "own"}, {"slots": 1.0, "acquire": "own"},
    {"deadline_s": 3600.0, "items": 1e9},
    {"deadline_s": 36000.0, "items": 1e7, "budget_usd": 1.0}, {"providers": ("nobody",)}, {"quiet": True},
    {"assumptions": replace(PLAIN, hours_per_week=1.0), "budget_usd": 20.0, "budget_per_month": True},
    {"assumptions": replace(PLAIN, max_age_days=5)}, {"unproven": True, "only": ("mi300x", "gb10")},
)  # fmt: skip


def offered(numbers: Callable[[str], str]) -> Iterator[str]:
    """Prices of each card as what others ask, from low to high, and how sure each price is."""
    _, offers = world()
    firsts = {(o.gpu_ids[0], o.kind): o for o in offers if len(o.gpu_ids) == 1}
    for (gpu, kind), offer in firsts.items():
        told = []
        for count, factor in product((1, 2), FACTORS):
            quote = Quote(gpu_id=gpu, count=count, kind=kind, usd=factor * count * offer.per_gpu)
            text = verdicts.beside(quote, offers, TODAY)
            told.append((f"{count} x {factor}", text.partition(":")[0].rpartition(" is ")[2], numbers(text)))
        turns = [f"{next(run)[0]} {word}" for word, run in groupby(told, key=lambda one: one[1])]
        yield f"{gpu} {kind} | {told[0][2]} | {told[-1][2]} | {', '.join(turns)}"
    for offer in offers:
        able = {n: [*machines(_need(gpus=n), offer)] for n in ((1, 1), (2, 4), (1, 8), (8, 8))}
        yield f"{offer.gpu} {offer.kind} {offer.count} | {price_half(offer, TODAY):.4f} | {able}"
    for gpu in catalog.all_gpus():
        lacks = {name: len(fit.lacking(preset, gpu)) for name, preset in presets().items() if preset.well}
        yield f"{gpu.id} {fit.link_of(gpu, 2)} {fit.made_for_fp64(gpu.id)} | {lacks}"
    yield from (f"{watts} {fit.supply_w(watts)}" for watts in range(50, 1500, 50))


def _need(**changes: Any) -> Need:
    plain = {"workloads": (("resnet50", 1.0),), "mode": "train", "precision": "bf16", "assumptions": PLAIN}
    return Need(**{**plain, "gpus": (1, 2), **changes})


def asked(numbers: Callable[[str], str], refusal: Callable[[GpuwiseError], str]) -> Iterator[str]:
    """Yes or no, electricity and bills, or how a limit that nothing keeps is loosened."""
    speeds, offers = world()
    decide_on = partial(recommend, speeds=speeds, offers=offers, today=TODAY, item="image")
    other: Recommendation | None = None
    for asks, more in product((*ASKS, *LIMITS[:12:3]), BESIDE):
        need = settled(_need(**(asks | more)))
        yield f"## {said(asks)} & {said(more) if more else ''}"
        try:
            found = decide_on(need)
        except GpuwiseError as error:
            looser = fit.loosened(error, need, decide_on, offers)
            data = getattr(looser, "data", {})
            ways = [f"{way.limit} {way.value}" for each in data.get("ways", ()) for way in each]
            yield f"{refusal(looser)} {data.get('days')} {ways}"
            continue
        with suppress(GpuwiseError):
            other = decide_on(replace(need, only=(), have=(), sets=()))
        for one in (None, found, other):
            told = verdicts.verdict(found, one)
            ratio = phrases.times(*(each.options[0].cost_per_item_usd for each in (one or found, found)))
            yield f"{told[:4]} {numbers(told)} {one and (ratio or 1.0) < phrases.WORTH_A_WORD}"
        if asks.get("asks") == "able":
            yield from (f"{bill.of} {numbers(verdicts.against(bill, found))}" for bill in BILLS)


def models() -> Iterator[str]:
    """The error for a model that fits on no machine."""
    for task, items, name in product(("full", "lora"), (None, 3e9), ("llama-3.1-70b", "deepseek-v3")):
        need = _need(workloads=((name, 1.0),), task=task, items=items, gpus=(1, 8))
        error = fit.too_large(need, "does not fit: 9 of 8 GB")
        yield f"{task} {items} {name} | {error.code} {error}"


RENTED: tuple[dict[str, Any], ...] = tuple({"mode": "infer", "acquire": "rent", **each} for each in (
    *({"items": 3.6e7, "deadline_s": s, "gpus": (1, 16)} for s in (3600.0, 18000.0, 36000.0, 720000.0)),
    {"items": 3.6e7, "deadline_s": 18000.0, "gpus": (1, 16), "assumptions": replace(PLAIN, utilisation=0.5)},
    {"items": 3.6e7, "deadline_s": 18000.0, "gpus": (2, 4)}, {"egress_gb": 100.0}, {"items": 3.6e7},
    {"items": 3.6e6, "period_s": 86400.0, "batched": True}, {"items": 3.6e6, "period_s": 86400.0},
    {"only": ("rtx-3090",), "gpus": (3, 3)}, {"only": ("h100-sxm5-80gb",), "gpus": (4, 4), "acquire": "own"},
))  # fmt: skip


def fitting(numbers: Callable[[str], str]) -> Iterator[str]:
    """What presets say of a GPU on both sides of their limits, and why GPUs are left out."""
    _, offers = world()
    for name in presets():
        need = need_for(name, gpus=(1, 1))
        limit = need.latency_s or 1.0
        for gpu, fits, late in (
            *product(("rtx-4090",), (None, FITS - 0.01, FITS), (None, 1.0, 1.01)), ("gb10", 1.0, 0.5),
            ("rtx-4090-laptop", 1.0, 0.5), ("h100-sxm5-80gb", 1.0, 0.5),
        ):  # fmt: skip
            own = replace(
                made_up(gpu, throughput=near(100.0)), fits_probability=fits, seconds=late and late * limit
            )
            found = fit.use(name, need, own, offers, TODAY)
            cost = f"{found.cost_per_item_usd or 0.0:.5g}"
            yield f"{name} {gpu} {fits} {late} | {found.verdict} {numbers(found.reason)} {cost}"
        found = fit.use(name, need, made_up("t4", refusal="does not fit: 20 of 16 GB"), offers, TODAY)
        yield f"{name} | {found.verdict} {numbers(found.reason)}"
    refused = [made_up(gpu, count=n, refusal=f"does not fit: {n} of {gpu}") for gpu, n in (
        ("rtx-3060-12gb", 1), ("rtx-4090", 1), ("rtx-3090", 2), ("a100-pcie-80gb", 1)
    )]  # fmt: skip
    for low, high in ((0.0, 12.0), (0.0, 24.0), (24.0, 24.0), (24.0, None)):
        yield f"{low} {high} {fit.too_small(_need(memory_gb=(low, high)), refused)}"
    for number, reasons in product((1, 3, 4, 9), (1, 3, 4, 9)):
        left = {gpu: f"{n % reasons}" for n, gpu in enumerate("abcdefghi"[:number])}
        yield f"{number} {fit.why_not('abcdefghi', left)}"
    for gpu, acquire in product(("rtx-4090", "a100-sxm4-80gb", "h200-sxm", "gb10"), ("own", "rent", "both")):
        need = _need(acquire=acquire, providers=("cloud",), region="Europe", sold=("new", "used"))
        yield f"{gpu} {acquire} {numbers(text := fit.no_price(need, gpu, offers).detail)} {len(text.split())}"


def costs() -> Iterator[str]:
    """Machines around cards, prices by their age and by memory, and rented ones side by side."""
    for gpu in ("rtx-3060-12gb", "rtx-4090", "a100-pcie-80gb", "h100-sxm5-80gb", "k80", "apple-m4-max"):
        yield f"{gpu} {[candidates.host_of(gpu, count) for count in (1, 2, 3, 4, 5, 8, 9, 16, 17)]}"
        limits = (
            (0.0, None),
            (23.5, 23.6),
            (24.4, 24.4),
            (24.6, None),
            (80.0, 80.0),
            (8.0, 11.4),
            (8.0, 11.6),
        )
        yield f"{gpu} {[candidates._has_memory(_need(memory_gb=each), gpu) for each in limits]}"
    speeds, offers = world()
    for days in (19, 20, 21, 50, 51):
        need = _need(assumptions=replace(PLAIN, max_age_days=days, aged_today=True))
        yield f"{days} {len(candidates.usable(need, offers, TODAY))}"
    names = tuple(gpu.id for gpu in catalog.all_gpus())
    for number in (1, 12, 13):
        need = _need(only=names[:number], gpus=(3, 5))
        yield f"{number} {sorted(usable_offered(need, offers, TODAY).items())}"
    for day in (TODAY, TODAY.replace(year=2024), TODAY.replace(month=1)):
        yield f"{day} {[gpu for gpu in names[::5] if candidates.is_sold_new(gpu, day)]}"
    for changes in RENTED:
        yield f"## {changes}"
        with suppress(GpuwiseError):
            need = settled(_need(**changes))
            found = recommend(need, speeds, offers, today=TODAY, item="image")
            yield from map(row_of, found.options[:8])


def tables(
    numbers: Callable[[str], str], refusal: Callable[[GpuwiseError], str]
) -> dict[str, Callable[[], list[str]]]:
    return {
        "offered": lambda: [*offered(numbers), *models(), *costs(), *fitting(numbers)],
        "told": lambda: [*asked(numbers, refusal)],
    }
