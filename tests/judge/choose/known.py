"""Speeds that are gathered of made-up ones: of language models from a made-up `fit`, since how fast they are
says the predictor; of networks from made-up forecasts beside made-up measurements; of data sheets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from gpuwise.errors import NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.choose import speeds
from gpuwise.judge.choose.need import item_of
from gpuwise.model.judgement import Need
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement, Record, Result
from gpuwise.predictor import card, fit
from gpuwise.predictor.forecast import FITS

from ...records import predicted
from .wide import PLAIN

BYTES = {"fp8": 1.0, "int4": 0.5, "nf4": 0.5, "q8_0": 1.06, "q4_k_m": 0.6}
CARDS = ("v100-sxm2-32gb", "t4", "rtx-4090", "h100-sxm5-80gb", "mi300x", "gb10")
SERVE: dict[str, Any] = {"task": "infer", "mode": "infer", "formats": ("bf16", "fp8", "int4")}
MODELS: tuple[dict[str, Any], ...] = (
    SERVE, {**SERVE, "formats": ()}, {**SERVE, "formats": (), "precision": "int4"},
    {**SERVE, "formats": (), "precision": "fp8"}, {**SERVE, "concurrent": 2}, {**SERVE, "concurrent": 4},
    {**SERVE, "concurrent": 6},
    {**SERVE, "batch": 4}, {**SERVE, "latency_s": 0.02}, {**SERVE, "latency_s": 0.001},
    {**SERVE, "latency_s": 0.03, "latency_kind": "TTFT"}, {**SERVE, "first_token_s": 0.04096},
    {**SERVE, "first_token_s": 0.03}, {**SERVE, "latency_s": 0.02, "first_token_s": 0.1},
    {**SERVE, "reads": 4.0}, {**SERVE, "context": 512, "reads": 1.0}, {**SERVE, "context": 100_000},
    {**SERVE, "context": 128, "reads": 1.0}, {**SERVE, "context": 22_000_000},
    {**SERVE, "memory_gb": (64.0, 96.0)}, {"task": "full"}, {"task": "lora", "latency_s": 3.0},
    {"task": "qlora", "precision": "nf4", "context": 512},
    {**SERVE, "workloads": (("mixtral-8x7b", 1.0),), "formats": ("bf16", "int4")},
)  # fmt: skip
# Items, batch and step of what is measured, and the need.
MEASURED: tuple[tuple[Sequence[tuple[float, int, str]], dict[str, Any]], ...] = (
    ([(900.0, 64, "rtx-4090")], {}), ([(900.0, 64, "rtx-4090"), (950.0, 32, "rtx-4090")], {}),
    ([(900.0, 8, "rtx-4090")], {}), ([(2000.0, 8, "rtx-4090")], {}), ([(900.0, 13, "rtx-4090")], {}),
    ([(900.0, 64, "rtx-4090")], {"batch": 64}), ([(900.0, 64, "t4")], {"batch": 64}),
    ([(900.0, 64, "rtx-4090")], {"batch": 32}), ([(900.0, 64, "rtx-4090")], {"latency_s": 64 / 900}),
    ([(900.0, 64, "rtx-4090")], {"latency_s": 0.07}), ([(900.0, 64, "h200-sxm")], {"batch": 64}),
    ([(900.0, 64, "rtx-4090")], {"mode": "infer"}), ([], {"latency_s": 16 / 1e3}),
    ([], {"latency_s": 1e-9}), ([], {"latency_s": 5.0}),
    ([(900.0, 64, "v100-sxm2-32gb")], {}), ([(900.0, 64, "v100-sxm2-32gb")], {"latency_s": 0.01}),
    ([], {"workloads": (("resnet50", 0.7), ("bert-large", 0.3))}), ([], {"fallback": "fp16"}),
    ([], {"workloads": (("llm-8b-qlora", 1.0),)}), ([], {"workloads": (("llm-8b-qlora", 1.0),), "batch": 64}),
    ([], {"workloads": (("unet-sd15", 1.0),), "mode": "infer", "passes": 3.0}),
)  # fmt: skip


def near(value: float, factor: float = 1.2) -> Interval:
    return Interval(value=value, low=value / factor, high=value * factor, level=0.8, method="made up")


def fitted(plan: fit.Plan, gpu: str, *, prompt: bool = True) -> fit.Fit:
    """Larger batches are faster up to what the memory holds; AMD cards have no speed in four bits."""
    spec = catalog.get(gpu)
    room = plan.memory_bytes or spec.memory_bytes or 0.0
    parts = taken(plan)
    fits = sum(size for _, size in parts) <= room
    known = fits and not (spec.vendor == "AMD" and plan.weights == "int4")
    speed = (spec.memory_bytes_per_s or 0.0) / 1e9 / _bytes(plan) * plan.batch / (plan.batch + 16)
    return fit.Fit(
        plan=plan, gpu_id=gpu, parts=parts, memory_bytes=room, fits=fits,
        tokens_per_s=near(speed * plan.gpus**0.5) if known else None,
        first_token_s=1e-5 * plan.context if fits else None,
        refusal="" if known or not fits else "no rate of 4 bits",
    )  # fmt: skip


def _bytes(plan: fit.Plan) -> float:
    return BYTES.get(str(plan.weights), 2.0)


def _prompt_s(plan: fit.Plan, on: str) -> float:
    return 1e-3 + 1e-6 * plan.context + 1e-9 * plan.context**2


def taken(plan: fit.Plan) -> tuple[tuple[str, float], ...]:
    more = 1 if plan.checkpoint else 3
    every = plan.batch * plan.context * (2e5 if plan.task == "infer" else 1e6 * more - 1e5 * plan.chunked)
    return ("weights", 7e9 * _bytes(plan) / plan.gpus), ("each", every / plan.gpus)


def run(value: float, batch: int, gpu: str) -> Result:
    """The result of one measurement of the need."""
    config = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)  # type: ignore[arg-type]
    m = Measurement(
        config=config, workload_version=1, status="ok", item="image", started_at="2026-11-21", batch=batch,
        items_per_step=batch, throughput=near(value, 1.01),
    )  # fmt: skip
    place = Environment(device=gpu, gpu_id=gpu)
    return Result(id=gpu, created_at="2026-11-21", command="", measurements=(m,), environment=place)


def forecast(config: RunConfig, gpus: Sequence[str], *, count: int, batch: int | None) -> tuple[Record, ...]:
    """A step of 2 ms and 1 ms an item. One card has no trace of one batch, another no BF16, a third fits
    without its activations alone, the last hardly."""
    if batch == 13 and config.workload == "resnet50":
        raise NoDataError("no trace")
    size = batch or 256
    lighter = config.workload.endswith("checkpointed")
    fits = {"t4": 0.9 if lighter else 0.1, "a10": FITS, "l40s": FITS - 0.01}
    short = config.workload == "bert-large"
    return tuple(
        predicted(gpu, config, count=count, batch=size, refusal=f"no stated {config.precision}")
        if gpu == "v100-sxm2-32gb" and config.precision == "bf16"
        else predicted(
            gpu, config, count=count, batch=size, throughput=near(count * size / (0.002 + 1e-3 * size)),
            seconds=0.002 + 1e-3 * size, fits_probability=None if short else fits.get(gpu, 1.0),
            watts=None if short and gpu == "t4" else near(200.0 * count + 50 * short, 1.1 + 0.1 * short),
            memory_bytes=None if short else near(size * 1e8), evidence="calibrated" if short else "spec-only",
            notes=(config.workload,),
        )
        for gpu in gpus
    )  # fmt: skip


def rows(row_of: Callable[[Record], str], numbers: Callable[[str], str]) -> Iterator[str]:
    def row(found: Record) -> str:
        asked = f"{found.question.workload} {found.question.compile:d}"
        return f"{row_of(found)} | {asked} {found.replicas} {found.bound} {numbers(' '.join(found.notes))}"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "fit", fitted)
        patch.setattr(fit, "memory", taken)
        patch.setattr(fit, "prompt_seconds", _prompt_s)
        patch.setattr(card, "card", lambda gpu, *, sheet: {True: gpu}[sheet])
        patch.setattr(card, "die", lambda found: found)
        speeds._in_best_format.cache_clear()
        for changes in MODELS:
            need = _need(**{"workloads": (("llama-3.1-8b", 1.0),), **changes})
            yield f"## {changes}"
            found = speeds.gather(need, dict.fromkeys(CARDS, (1, 2, 6, 8)), forecast)
            yield from map(row, found)
            yield from (row(speeds.alone(need, each)) for each in found[:2] if need.task == "infer")
            yield f"{numbers(speeds.memory_needed(need))} {item_of(need)}"
            for gpu in ("t4", "h100-sxm5-80gb"):
                least = speeds.fewest_to_hold(need, [gpu])
                ways = speeds.recipes(need, gpu, 4)
                yield f"{gpu} {least} {numbers(ways)} {ways.count('too much')}"
        speeds._in_best_format.cache_clear()
    gpus = ("v100-sxm2-32gb", "t4", "a10", "l40s", "rtx-4090")
    for runs, changes in MEASURED:
        yield f"## {runs} {changes}"
        need = _need(**changes)
        results = [run(*each) for each in runs]
        yield from map(row, speeds.gather(need, dict.fromkeys(gpus, (1, 4)), forecast, results=results))
        yield f"{speeds.memory_needed(need)} {item_of(need)} {speeds.fewest_to_hold(need, gpus)}"
    for name, precision in product(("fft", "stencil", "cholesky"), ("fp64", "fp32")):
        need = _need(workloads=((name, 1.0),), mode="compute", precision=precision)
        yield from map(row, speeds.gather(need, dict.fromkeys((*gpus, "h100-sxm5-80gb"), (1, 4)), forecast))
    yield numbers(speeds.memory_needed(_need(title="another", least_gb=20.0)))
    yield f"{speeds.half_of(None)} {speeds.half_of(near(1.0, float('inf')))} {speeds.half_of(near(1.0)):.3f}"


def _need(**changes: Any) -> Need:
    plain = {"workloads": (("resnet50", 1.0),), "mode": "train", "precision": "bf16", "assumptions": PLAIN}
    return Need(**{**plain, **changes})
