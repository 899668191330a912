"""From a piece of work to a `Need` with its defaults; what cannot be meant is refused before any figure.

A name may be short: `llm-8b` means `llm-8b-decode` to answer and `llm-8b-lora` to fine-tune. Where a network
has no fine-tuning workload of its own, training it stands in: all weights learn, at the same cost.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.judge.choose import language
from gpuwise.judge.choose.fit import forms
from gpuwise.model import units
from gpuwise.model.choice import Acquire, Need
from gpuwise.model.precision import Precision
from gpuwise.model.units import Latency, Work
from gpuwise.model.workload import Mode, WorkloadSpec
from gpuwise.workloads import registry

Purpose = Literal["train", "infer", "finetune", "compute", "full", "lora", "qlora"]
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "train": ("",),
    "infer": ("", "-decode"),
    "finetune": ("-lora", "-finetune", ""),
}
_PHASES = {"TPOT": "decode", "TTFT": "prefill"}
# Names that people use for what the workloads model.
ALIASES = {
    "sd": "unet-sd15", "sd15": "unet-sd15", "stable-diffusion": "unet-sd15", "imagenet": "resnet50",
    "llama-8b": "llm-8b", "llama-3.1-8b": "llm-8b", "bert": "bert-large", "vit": "vit-b16",
}  # fmt: skip
# Network passes of one image of diffusion: 50 steps, each with and without the prompt (guidance).
STEPS, PASSES = 50, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named need: what people use GPUs for."""

    title: str
    workloads: tuple[tuple[str, float], ...]
    mode: Purpose
    precision: Precision | None = None
    gpus: tuple[int, int] = (1, 1)
    latency: Latency | None = None
    form: str | None = None
    well: Mapping[str, float] = field(default_factory=dict)  # What suits it well, by `uses`


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name, from `data/presets.toml`."""
    text = Path(__file__).with_name("data").joinpath("presets.toml").read_text(encoding="utf-8")
    return {
        name: Preset(
            title=row["title"],
            workloads=tuple((part, 1.0) for part in units.parse_list(row["workload"])),
            mode=row["mode"],
            precision=Precision(row["precision"]) if "precision" in row else None,
            gpus=units.parse_count_range(row.get("gpus", "1")),
            latency=units.parse_latency(row["latency"]) if "latency" in row else None,
            form=row.get("form"),
            well=row.get("well", {}),
        )
        for name, row in tomllib.loads(text).items()
    }


def need_for(
    work_on: str | Sequence[tuple[str, float]], *, mode: Purpose | None = None,
    precision: Precision | str | None = None, work: Work | None = None, latency: Latency | None = None,
    gpus: tuple[int, int] | None = None, form: str | None = None,
) -> Need:  # fmt: skip
    """The need of a workload, of several with their shares of time, or of a preset's name.

    What is not given comes from the preset, else from the workload; `dataclasses.replace` sets other limits.
    Raises InputError for a name or form that is unknown, and for what the workload does not have.
    """
    named = [(work_on, 1.0)] if isinstance(work_on, str) else list(work_on)
    preset = presets().get(named[0][0]) if len(named) == 1 else None
    if preset is None and len(named) == 1 and language.is_model(named[0][0], mode):
        return language.need_of(named[0][0], mode, precision, work, latency, gpus, form)
    mode = "finetune" if mode == "lora" else mode
    if preset is not None:
        named, mode, precision = list(preset.workloads), mode or preset.mode, precision or preset.precision
        gpus, latency, form = gpus or preset.gpus, latency or preset.latency, form or preset.form
    shares: dict[str, float] = {}
    for name, weight in named:
        if name:
            shares[_workload(ALIASES.get(name, name), mode)] = weight
    if not shares:
        known = ", ".join(presets())
        raise InputError("which workload?", hint=f"name a workload, or one of {known}", code="workload")
    specs, whole = [registry.get(name).spec for name in shares], sum(shares.values())
    if work is not None and len(specs) > 1:
        raise InputError(
            "a mix has no item of its own to count the work in",
            hint="choose for one workload, or without an amount of work",
        )
    notes: tuple[str, ...] = ()
    if work is not None and work.item == "image" and specs[0].item == "image-step":
        notes = (f"an image is {STEPS} steps, each twice through the network for guidance",)
        work = work._replace(items=work.items * PASSES, item="image-step")
    if work is not None and work.item != specs[0].item.removesuffix("s"):
        problem = f"the workload counts {specs[0].item}s, the work {work.item}s"
        raise InputError(problem, hint=f"state the work in {specs[0].item}s")
    if form is not None and form not in forms():
        raise InputError(f"unknown form {form!r}", hint=f"known: {', '.join(forms())}")
    if latency is not None:
        # A token comes from a decode step, the first one from a prefill step.
        phase = _PHASES[latency.kind]
        wrong = next((spec.id for spec in specs if spec.phase != phase), None)
        if wrong is not None:
            raise InputError(
                f"{latency.kind} is of a {phase} workload, not of {wrong}",
                hint=f"choose a {phase} workload",
            )
    chosen = _precision(precision, specs)
    halves = precision is None and chosen == Precision.BF16 and all("fp16" in s.precisions for s in specs)
    fallback = Precision.FP16 if halves else None
    return Need(
        workloads=tuple((name, weight / whole) for name, weight in shares.items()),
        mode=_mode(mode, specs), precision=chosen, fallback=fallback, gpus=gpus or (1, 1), form=form,
        items=work.items if work else None, period_s=work.period_s if work else None,
        latency_s=latency.seconds if latency else None, latency_kind=latency.kind if latency else "TPOT",
        notes=notes,
    )  # fmt: skip


def check(need: Need) -> None:
    """Raise InputError for parts of a need that contradict each other or say what cannot be."""
    a = need.assumptions
    whole_budget = need.budget_usd is not None and not need.budget_per_hour and not need.budget_per_month
    for wrong, problem, hint in (
        (need.acquire not in get_args(Acquire), f"own, rent or both, not {need.acquire!r}", "rent or own"),
        (a.hours_per_week > 168, f"a week has 168 hours, not {a.hours_per_week:g}", "at most 168 hours"),
        (a.cooling < 1, "cooling multiplies the watts and is at least 1", "a factor like 1.3"),
        (not a.utilisation, "with a utilisation of 0 % no work gets done", "a share like 80%"),
        (
            need.deadline_s is not None and need.items is None,
            "a deadline needs an amount of work", "state the work, like '1M sequences'",
        ),
        (
            need.deadline_s is not None and need.period_s is not None,
            "work that comes again has no deadline", "leave out the deadline, or the period of the work",
        ),
        (
            whole_budget and need.items is None and need.acquire != "own",
            "a budget for rent needs an amount of work, or an hourly price",
            "state the work, buy only, or a budget like '$2/h' or '$300/month'",
        ),
    ):  # fmt: skip
        if wrong:
            raise InputError(problem, hint=hint)
    for gpu in need.have:
        catalog.get(gpu)


def _workload(name: str, purpose: str | None) -> str:
    """A workload's full name for a purpose. Raises InputError for an unknown one."""
    mode, known = "train" if purpose == "finetune" else purpose, set(registry.names())
    for ending in ENDINGS.get(purpose or "", ("",)):
        full = name + ending
        if full in known and mode in (None, *registry.get(full).spec.modes):
            return full
    if name not in known:
        others = [p for p, endings in ENDINGS.items() if known & {name + e for e in endings if e}]
        if others:
            problem = f"{name} cannot be chosen for in mode {purpose}"
            problem = problem if purpose else f"which mode of {name}?"
            raise InputError(problem, hint=f"mode {' or '.join(others)}")
    return registry.get(name).spec.id


def _mode(purpose: str | None, specs: Sequence[WorkloadSpec]) -> Mode:
    """The mode that all workloads have. Raises InputError where there is none."""
    wanted = {"finetune": "train", None: ""}.get(purpose, purpose)
    shared = [mode for mode in specs[0].modes if all(mode in spec.modes for spec in specs)]
    if (wanted and wanted not in shared) or not shared or shared[0] == "limit":
        names = ", ".join(spec.id for spec in specs)
        raise InputError(
            f"{names} cannot be chosen for in mode {purpose or 'any'}", hint="see its modes", code="modes"
        )
    return next(mode for mode in shared if wanted in ("", mode))


def _precision(wanted: str | None, specs: Sequence[WorkloadSpec]) -> Precision:
    """The precision asked for; else bf16, or where a workload lacks it the first of its own."""
    shared = [p for p in specs[0].precisions if all(p in spec.precisions for spec in specs)]
    if wanted is None:
        return Precision.BF16 if Precision.BF16 in shared else shared[0]
    if wanted not in shared:
        raise InputError(f"{specs[0].id} does not run in {wanted}", hint=f"precision {' or '.join(shared)}")
    return Precision(wanted)
