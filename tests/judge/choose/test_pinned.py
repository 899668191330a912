"""Needs of many questions and options, and what is chosen for many needs in a small world of GPUs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import date
from functools import cache, partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from gpuwise.errors import GpuwiseError
from gpuwise.facts import catalog
from gpuwise.facts.published import all_results
from gpuwise.judge.choose.fit import loosened
from gpuwise.judge.choose.need import DIFFUSION, check, need_for, need_of, presets, settled
from gpuwise.judge.choose.speeds import gather
from gpuwise.model.gpu import Offer, Source
from gpuwise.model.judgement import Assumptions, Need, Option
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Interval, Record
from gpuwise.model.units import parse_latency, parse_work

from ... import inner, varied
from ...pinned import pinned, texts_of
from ...records import made_up, predicted
from . import asked, known, made, told, wide, work
from .conftest import recommend

HERE = Path(__file__).parent
TODAY = date(2026, 11, 21)
RATES = {"USD": 1.0, "EUR": 1.1}
SOURCE = Source(id="made-up", title="made up", kind="third-party", read_on="2026-11-21")
OPTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("resnet50", {"work": "1M images", "deadline": "2h", "budget": "$50"}),
    ("", {"work": "resnet50=70%, bert-large=30%"}),
    ("resnet50=70%,bert-large=30%", {}),
    ("resnet50 70%, bert-large 30%", {}),
    ("resnet50", {"work": "50%"}),
    ("", {"work": "1M images"}),
    ("llama-3.1-8b", {"users": "1"}),
    ("llama-3.1-8b", {"users": "20", "context": "8k", "latency": "TPOT<=20ms"}),
    ("resnet50", {"users": "3", "have": "rtx-3090:2"}),
    ("resnet50", {"have": "2x3090", "upgrade": "yes"}),
    ("resnet50", {"gpu": "rtx-4090:2,rtx-3090:4"}),
    ("resnet50", {"gpu": "a100"}),
    ("resnet50", {"gpu": "amd"}),
    ("resnet50", {"gpu": "rtx-4090:2", "gpus": "1-4"}),
    ("resnet50", {"gpu": "rtx-4090:0"}),
    ("resnet50", {"budget": "2/h"}),
    ("resnet50", {"budget": "300 a month"}),
    ("resnet50", {"budget": "€800"}),
    ("resnet50", {"budget": "2k"}),
    ("resnet50", {"provider": "amazon,vast.ai"}),
    ("resnet50", {"provider": "aws", "acquire": "both"}),
    (
        "resnet50",
        {
            "egress": "10GB",
            "memory": "24-48",
            "power": "850W",
            "outlet": "800W",
            "slots": "2.5",
            "quiet": "yes",
        },
    ),
    ("resnet50", {"spot": "ok", "community": "no", "reserved": "ok"}),
    ("resnet50", {"condition": "new"}),
    ("resnet50", {"condition": "used", "host": "0", "host-power": "90W", "electricity": "$0.30/kWh"}),
    (
        "resnet50",
        {"hours-per-week": "10", "years": "2", "cooling": "1.1", "depreciation": "40%", "utilisation": "80%"},
    ),
    (
        "resnet50",
        {"newer-than": "90d", "compile": "off", "batch": "32", "mode": "infer", "precision": "fp16"},
    ),
    ("llama-3.1-70b", {"mode": "finetune", "have": "rtx-4090"}),
    ("llama-3.1-70b", {"mode": "finetune", "have": "rtx-4090", "precision": "bf16"}),
    ("llama-3.1-8b", {"mode": "finetune", "have": "rtx-4090"}),
    ("train resnet50 on 2 gpus", {"gpus": "4", "mode": "infer"}),
    ("is an RTX 4090 or an RTX 3090 better for resnet50?", {"gpus": "2"}),
    ("resnet50", {"depreciation": "120%"}),
)
# GPU, items a second of one, watts, bytes, probability that it fits.
CARDS = (
    ("rtx-3060-12gb", 50.0, 170.0, 11.5e9, 0.6),
    ("rtx-3090", 100.0, 300.0, 8e9, 1.0),
    ("rtx-4090", 200.0, 400.0, 8e9, 1.0),
    ("rtx-a6000", 120.0, 300.0, 8e9, 0.9),
    ("l40s", 180.0, 330.0, 45e9, 0.49),
    ("a100-pcie-80gb", 260.0, 300.0, 8e9, 1.0),
    ("h100-sxm5-80gb", 500.0, 700.0, 8e9, 1.0),
    ("rtx-4090-laptop", 90.0, 150.0, 8e9, 1.0),
)
# GPU, amount, kind, count, day, provider.
OFFERS = (
    ("rtx-3060-12gb", 0.1, "on-demand", 1, "2026-11-01", "cloud"),
    ("rtx-3060-12gb", 250.0, "used", 1, "2026-10-01", "shop"),
    ("rtx-3090", 0.25, "on-demand", 1, "2026-11-01", "cloud"),
    ("rtx-3090", 0.2, "on-demand", 1, "2025-05-01", "attic"),
    ("rtx-3090", 800.0, "used", 1, "2026-11-01", "shop"),
    ("rtx-3090", 0.125, "spot", 1, "2026-11-20", "cloud"),
    ("rtx-3090", 1.0, "on-demand", 4, "2026-11-01", "cloud"),
    ("rtx-4090", 0.5, "on-demand", 1, "2026-11-01", "cloud"),
    ("rtx-4090", 0.55, "on-demand", 1, "2026-11-19", "other"),
    ("rtx-4090", 1.0, "on-demand", 2, "2026-11-01", "cloud"),
    ("rtx-4090", 1600.0, "new", 1, "2026-11-01", "shop"),
    ("rtx-4090", 0.3, "community", 1, "2026-11-01", "vast"),
    ("rtx-a6000", 0.8, "on-demand", 1, "2026-11-01", "cloud"),
    ("rtx-a6000", 4000.0, "street", 1, "2026-02-01", "shop"),
    ("l40s", 0.9, "on-demand", 1, "2026-11-01", "cloud"),
    ("l40s", 7.2, "on-demand", 8, "2026-11-01", "cloud"),
    ("a100-pcie-80gb", 1.25, "on-demand", 1, "2026-11-01", "cloud"),
    ("a100-pcie-80gb", 9000.0, "used", 1, "2024-11-01", "shop"),
    ("a100-pcie-80gb", 0.9, "reserved", 1, "2026-11-01", "cloud"),
    ("h100-sxm5-80gb", 2.5, "on-demand", 1, "2026-11-01", "cloud"),
    ("h100-sxm5-80gb", 20.0, "on-demand", 8, "2026-11-01", "cloud"),
    ("h100-sxm5-80gb", 1.25, "spot", 1, "2026-11-01", "cloud"),
    ("rtx-4090-laptop", 2500.0, "new", 1, "2026-11-01", "shop"),
    ("h100-sxm5-80gb", 3.0, "serverless", 1, "2026-11-01", "cloud"),
)
PLAIN = Assumptions(max_age_days=None, host_usd=1500.0, host_w=100.0)
NEEDS: tuple[dict[str, Any], ...] = (
    {},
    {"items": 3.6e5},
    {"items": 3.6e5, "deadline_s": 3600.0},
    {"items": 3.6e6, "deadline_s": 3600.0, "gpus": (1, 8)},
    {"items": 3.6e5, "deadline_s": 1.0},
    {"items": 3.6e8, "period_s": 86400.0, "gpus": (1, 8)},
    {"items": 3.6e5, "period_s": 86400.0},
    {"budget_usd": 0.5, "budget_per_hour": True},
    {"budget_usd": 0.25, "budget_per_hour": True},
    {"budget_usd": 0.09, "budget_per_hour": True},
    {"budget_usd": 360.0, "budget_per_month": True},
    {"budget_usd": 1600.0, "acquire": "own"},
    {"budget_usd": 3100.0, "acquire": "own", "goal": "speed"},
    {"items": 3.6e5, "budget_usd": 0.25},
    {"items": 3.6e5, "budget_usd": 0.2},
    {"items": 3.6e7, "budget_usd": 30.0, "acquire": "rent"},
    {"acquire": "own"},
    {"acquire": "own", "goal": "price"},
    {"acquire": "rent", "spot": True},
    {"acquire": "rent", "reserved": True, "items": 3.6e8},
    {"community": True},
    {"serverless": True, "acquire": "rent"},
    {"sold": ("new",), "acquire": "own"},
    {"sold": ("used", "street")},
    {"egress_gb": 100.0, "items": 3.6e5},
    {"providers": ("cloud",)},
    {"providers": ("other",)},
    {"memory_gb": (24.0, None)},
    {"memory_gb": (24.0, 24.0)},
    {"memory_gb": (200.0, None)},
    {"power_w": 350.0, "acquire": "own"},
    {"power_w": 300.0, "acquire": "own"},
    {"slots": 2.0, "acquire": "own"},
    {"slots": 3.0, "acquire": "own", "gpus": (1, 2)},
    {"outlet_w": 500.0, "acquire": "own"},
    {"outlet_w": 10.0, "acquire": "own"},
    {"quiet": True, "acquire": "own"},
    {"form": "laptop"},
    {"form": "pcie"},
    {"form": "sxm"},
    {"gpus": (2, 4)},
    {"gpus": (1, 8), "items": 3.6e7},
    {"gpus": (8, 8)},
    {"have": ("rtx-3090",)},
    {"have": ("rtx-3090", "rtx-3090"), "gpus": (1, 2)},
    {"have": ("rtx-3090",), "upgrade": True, "acquire": "own"},
    {"have": ("rtx-3060-12gb",), "least_gb": 16.0},
    {"least_gb": 40.0},
    {"users": 5, "acquire": "own"},
    {"users": 5, "items": 3.6e6},
    {"only": ("rtx-4090", "l40s")},
    {"sets": (("rtx-4090", 1), ("rtx-3090", 4)), "gpus": (1, 4)},
    {"currency": ("EUR", 1.1), "items": 3.6e5},
    {"title": "Mistral", "least_gb": 20.0},
    {"assumptions": replace(PLAIN, max_age_days=90)},
    {"assumptions": replace(PLAIN, max_age_days=400, aged_today=True), "acquire": "own"},
    {
        "assumptions": replace(PLAIN, hours_per_week=168.0, electricity_usd_per_kwh=0.4),
        "acquire": "both",
        "items": 3.6e9,
    },
    {"assumptions": replace(PLAIN, host_usd=None, host_w=None), "acquire": "own"},
    {"assumptions": replace(PLAIN, host_usd=0.0, years=1.0, depreciation=0.5)},
    {"assumptions": replace(PLAIN, utilisation=0.5), "items": 3.6e6},
    {"unproven": True},
    {"latency_s": 0.01},
    {"latency_s": 0.004},
)
MODELS = (
    ("llama-3.1-8b", {}),
    ("llama-3.1-8b", {"mode": "lora"}),
    ("llama-3.1-8b", {"mode": "qlora"}),
    ("llama-3.1-8b", {"mode": "finetune"}),
    ("llama-3.1-8b", {"precision": "int4"}),
    ("llama-3.1-8b", {"latency": parse_latency("TPOT<=8ms")}),
    ("llama-3.1-8b", {"latency": parse_latency("TTFT<=1s")}),
    ("llama-3.1-70b", {"work": parse_work("20M tokens/day")}),
    ("mixtral-8x7b", {}),
)

NETWORKS: tuple[dict[str, Any], ...] = (
    {},
    {"precision": "fp16"},
    {"fallback": "fp16"},
    {"batch": 4},
    {"batch": 64},
    {"latency_s": 0.05},
    {"latency_s": 1e-4},
    {"workloads": (("resnet50", 0.7), ("bert-large", 0.3))},
    {"workloads": (("unet-sd15", 1.0),), "mode": "infer", "passes": 3.0},
    {"mode": "infer"},
    {"precision": "fp8"},
    {"gpus": (2, 4)},
)


def numbers(text: str) -> str:
    return " ".join(re.findall(r"\d[\d.,]*%?", text))


def refusal(error: GpuwiseError) -> str:
    return f"{type(error).__name__} {error.code} {numbers(f'{error} {error.hint}')}"


def brief(value: object) -> str:
    match value:
        case float():
            return f"{value:.5g}"
        case Interval():
            return f"{value.value:.5g} [{value.low:.5g} {value.high:.5g}]"
        case tuple():
            return f"({' '.join(map(brief, value[:6]))}{f' of {len(value)}' if len(value) > 6 else ''})"
        case str() if value.count(" ") > 1:
            return numbers(value)
    return str(value)


def stated(need: Need) -> str:
    """What a need states beyond the usual."""
    usual = Need(workloads=(), mode="train", precision=need.precision)
    found = [f"{need.precision}"]
    for one, plain in ((need, usual), (need.assumptions, usual.assumptions)):
        for each in fields(one):
            if each.name != "assumptions" and getattr(one, each.name) != getattr(plain, each.name):
                found.append(f"{each.name}={brief(getattr(one, each.name))}")
    return " ".join(found)


def needs() -> list[str]:
    """Of every other question in these tests and in those of the command line, of names and of options."""
    paths = [*sorted(HERE.glob("test_*.py")), HERE.parents[1] / "cli" / "test_questions.py"]
    asked = dict.fromkeys(
        text
        for path in paths
        for text in texts_of(path)
        if re.fullmatch(r"\w.*\w\??", text) and text.count(" ") > 1
    )
    rows = []
    for text, given in [
        *((text, {}) for text in [*asked][::2]),
        *OPTIONS,
        *((name, {}) for name in (*presets(), *DIFFUSION)),
    ]:
        try:
            need, _ = need_of(text or None, given, RATES, today=date(2026, 11, 26))
            rows.append(f"{text} {given or ''}: {stated(settled(need))}")
            check(need)
        except GpuwiseError as error:
            rows.append(f"{text} {given or ''}: {refusal(error)}")
    return rows


def world() -> tuple[list[Record], list[Offer]]:
    """Speeds of one to eight of each card, one less well known, and what they cost."""
    speeds = []
    for (gpu, speed, watts, memory, fits), count in product(CARDS, (1, 2, 4, 8)):
        if count > 1 and "laptop" in gpu:
            continue
        value, factor = speed * count * 0.95 ** (count - 1), 1.5 if gpu == "l40s" else 1.1
        near = Interval(value=value, low=value / factor, high=value * factor, level=0.8, method="made up")
        known = made_up(gpu, count=count, throughput=near, watts=watts * count, memory_bytes=memory)
        speeds.append(replace(known, fits_probability=fits, seconds=2.0 / speed))
    speeds += [made_up("t4", refusal="does not fit: 20 of 16 GB"), made_up("v100-sxm2-32gb")]
    offers = [
        Offer(
            gpu=gpu,
            count=count,
            kind=kind,
            amount=amount,
            source=SOURCE,
            provider=provider,
            seen_on=day,
            note="12 months of commitment" if kind == "reserved" else "",
            gpu_ids=(gpu,),
        )
        for gpu, amount, kind, count, day, provider in OFFERS
    ]
    return speeds, offers


def choices() -> Iterator[str]:
    speeds, offers = world()
    for changes, every in product(NEEDS, (False, True)):
        given = {
            "workloads": (("resnet50", 1.0),),
            "mode": "train",
            "precision": "bf16",
            "assumptions": PLAIN,
        }
        need = Need(**(given | changes))
        yield f"## {stated(need)} {every or ''}".rstrip()
        decide = partial(
            recommend, speeds=speeds, offers=offers, today=TODAY, item="image", every_provider=every
        )
        try:
            found = decide(need)
        except GpuwiseError as error:
            yield refusal(loosened(error, need, decide) if error.code == "limits" else error)
            continue
        names = [each.name for each in fields(Option) if each.name != "parts"]  # Of mixes, which say them
        yield from (" | ".join(brief(getattr(option, name)) for name in names) for option in found.options)
        yield from (f"chance {chance.other} {chance.probability:.4f}" for chance in found.chances)
        yield from (
            f"left {gpu} {issue.code} {numbers(issue.detail)}" for gpu, issue in found.rejected.items()
        )
        for name in ("answer", "runner_up", "reasons", "changes", "advice"):
            texts = getattr(found, name)
            yield from (f"{name} {numbers(text)}" for text in ([texts] if isinstance(texts, str) else texts))


def served() -> Iterator[str]:
    """Speeds of language models on cards of each kind."""
    for name, given in MODELS:
        need = settled(need_for(name, **given))
        counts = dict.fromkeys(
            ("rtx-3060-12gb", "rtx-4090", "a100-pcie-80gb", "h100-sxm5-80gb", "mi300x"), (1, 2, 8)
        )
        yield f"## {name} {stated(need)}"
        for found in gather(need, counts, None):
            # How fast it is says the predictor, whose figures are not those of the choice.
            yield row_of(replace(found, throughput=None, seconds=None, memory_bytes=None))


def row_of(found: Record) -> str:
    values = (found.throughput, found.seconds, found.watts, found.memory_bytes, found.fits_probability)
    about = (found.gpu_id, found.gpus, found.question.precision, found.question.batch, found.basis, *values)
    return " | ".join((*map(brief, about), *(issue.code for issue in found.issues), numbers(found.refusal)))


def forecast(config: RunConfig, gpus: Sequence[str], *, count: int, batch: int | None) -> tuple[Record, ...]:
    """Larger batches are faster, up to what the memory of the card holds."""
    made = []
    for gpu in gpus:
        spec, size = catalog.get(gpu), batch or 16
        memory, watts = size * 1e9, (spec.power_w or 0.0) * count
        value = (spec.memory_bytes_per_s or 0.0) / 1e10 * count * size / (size + 8)
        near = Interval(value=value, low=value / 1.1, high=value * 1.2, level=0.8, method="made up")
        fits = memory < 0.9 * (spec.memory_bytes or 0.0)
        figures = {"seconds": size * count / value, "fits_probability": 1.0} if fits else {}
        made.append(predicted(
            gpu, config, count=count, batch=size, refusal="" if fits else f"batch {size} does not fit",
            throughput=near if fits else None, watts=near.times(watts / value) if fits else None, **figures,
        ))  # fmt: skip
    return tuple(made)


def networks() -> Iterator[str]:
    """Speeds of networks and of mixes of them, from forecasts and from what is published."""
    counts = dict.fromkeys(("t4", "v100-sxm2-16gb", "rtx-4090", "a100-sxm4-40gb", "h100-sxm5-80gb"), (1, 4))
    for changes, stated_by in product(NETWORKS, ((), all_results())):
        given = {"workloads": (("resnet50", 1.0),), "mode": "train", "precision": "bf16"}
        need = Need(**(given | changes))
        yield f"## {stated(need)} {len(stated_by)}"
        for found in gather(need, counts, forecast, published=stated_by):
            yield row_of(found)


PACKAGE = "gpuwise.judge.choose"
LOOKED_INTO = ("choices", "networks", "work", "made", "offered")


@cache
def inside() -> dict[str, list[str]]:
    """What functions answer while these tables are made, the tables themselves, and what the functions answer
    to what is near: all of one run."""
    found = dict[str, list[str]]()

    def chosen() -> None:
        """All that is decided from speeds and offers, and what some questions ask."""
        every = tables()
        for name in LOOKED_INTO:
            found[name] = every[name]()
        for _ in asked.rows(islice(asked.without_words(), 0, None, 20), stated, refusal):
            pass

    if sys.version_info[:2] == varied.PYTHON:
        found["varied"], found["inner"] = varied.varied(PACKAGE, chosen)
    else:
        found["inner"] = inner.answers(PACKAGE, chosen)
    return found


def tables() -> dict[str, Callable[[], list[str]]]:
    by_version = {"varied": lambda: inside()["varied"]}
    return {
        **(by_version if sys.version_info[:2] == varied.PYTHON else {}),
        "inner": lambda: inside()["inner"],
        "needs": needs,
        "choices": lambda: list(choices()),
        "served": lambda: list(served()),
        "networks": lambda: list(networks()),
        "asked": lambda: list(asked.rows(asked.questions(), stated, refusal)),
        "words": lambda: list(asked.rows(asked.without_words(), stated, refusal)),
        "wide": lambda: list(wide.chosen(numbers, refusal)),
        **told.tables(numbers, refusal),
        "work": lambda: list(work.rows(numbers, refusal)),
        "known": lambda: list(known.rows(row_of, numbers)),
        "made": lambda: list(made.rows(numbers, brief)),
    }


@pytest.mark.parametrize("name", tables())
def test_what_is_chosen_is_what_was_chosen(name: str) -> None:
    rows = inside()[name] if name in LOOKED_INTO and inside.cache_info().currsize else tables()[name]()
    assert rows == pinned(__file__, name)
