"""From a piece of work to a `Need` with its defaults; what cannot be meant is refused before any figure.

A name may be short: `llm-8b` means `llm-8b-decode` to answer and `llm-8b-lora` to fine-tune. Where a network
has no fine-tuning workload of its own, training it stands in: all weights learn, at the same cost. Language
models by name (`facts.llms`) are served, or trained whole or by adapters, in a format of weights.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from gpuwise.errors import InputError
from gpuwise.facts import catalog, llms
from gpuwise.model import units
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.judgement import Acquire, Need
from gpuwise.model.precision import WEIGHTS, Precision
from gpuwise.model.question import Mode, WorkloadSpec
from gpuwise.model.units import Latency, Work
from gpuwise.predict.fit import TASKS
from gpuwise.workloads import registry

DATA = Path(__file__).with_name("data")
Purpose = Literal["train", "infer", "finetune", "compute", "full", "lora", "qlora"]
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "train": ("",),
    "infer": ("", "-decode"),
    "finetune": ("-lora", "-finetune", ""),
}
_PHASES = {"TPOT": "decode", "TTFT": "prefill"}
# Names that people use for what the workloads model.
ALIASES = {
    "sd": "unet-sd15", "sd15": "unet-sd15", "stable-diffusion": "unet-sd15", "stable diffusion": "unet-sd15",
    "sd1.5": "unet-sd15", "imagenet": "resnet50", "resnet-50": "resnet50", "resnet": "resnet50",
    "bert": "bert-large", "vit": "vit-b16", "vision transformer": "vit-b16",
    "inception": "inception-v3", "dit": "dit-xl2", "gpt2": "llm-124m", "gpt-2": "llm-124m",
}  # fmt: skip
# Network passes of one image of diffusion: 50 steps, each with and without the prompt (guidance).
STEPS, PASSES = 50, 100
# Larger diffusion models as runs of a smaller one: (workload, runs an image, GB of weights and text encoders
# in 8 bits, words). A run of DiT-XL/2 at 512 px takes 1.05 TFLOP, of the U-Net of SD 1.5 0.68; a step of
# FLUX.1 (12 G weights, 4,608 tokens) 121 TFLOP, of SDXL's U-Net at 1024 px 6 TFLOP (their papers and cards).
DIFFUSION = {
    "flux": ("dit-xl2-512", 28 * 121 / 1.05, 16.0, "FLUX.1-dev, 1024 px, 28 steps, weights in 8 bits"),
    "flux-schnell": (
        "dit-xl2-512",
        4 * 121 / 1.05,
        16.0,
        "FLUX.1-schnell, 1024 px, 4 steps, weights in 8 bits",
    ),
    "sdxl": ("unet-sd15", 60 * 6.0 / 0.68, 10.0, "SDXL, 1024 px, 30 steps with guidance"),
}
DIFFUSION |= {"flux.1": DIFFUSION["flux"], "flux-dev": DIFFUSION["flux"], "unet-sdxl": DIFFUSION["sdxl"]}
SERVED = "served:"
# What people train adapters with; of a served model a prompt and an answer of usual length together.
CONTEXTS = {"infer": 4096, "full": 2048, "lora": 2048, "qlora": 2048}
FORMATS = {"infer": Precision.BF16, "full": Precision.BF16, "lora": Precision.BF16, "qlora": Precision.NF4}
# A token later than this is slower than people read, where nothing else was asked for.
USUAL_TPOT_S = 0.050
# Models by the names of our own decoders, which adapters are trained on by their public names, and by family.
_SIZES = {"llm-8b": "llama-3.1-8b", "llm-1b": "llama-3.2-1b", "llm-8b-lora": "llama-3.1-8b"}


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
    well: Mapping[str, float] = field(default_factory=dict)  # What suits it well, by `fit.use`


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name, from `data/presets.toml`."""
    return {
        name: Preset(
            title=row["title"], workloads=tuple((part, 1.0) for part in units.parse_list(row["workload"])),
            mode=row["mode"], precision=Precision(row["precision"]) if "precision" in row else None,
            gpus=units.parse_count_range(row.get("gpus", "1")), form=row.get("form"),
            latency=units.parse_latency(row["latency"]) if "latency" in row else None,
            well=row.get("well", {}),
        )
        for name, row in tomllib.loads((DATA / "presets.toml").read_text(encoding="utf-8")).items()
    }  # fmt: skip


@cache
def forms() -> Mapping[str, tuple[str, frozenset[str]]]:
    """What each form means: a field of the catalog and the values it may have."""
    rows = catalog.rows(DATA / "forms.csv")
    return {row["form"]: (row["field"], frozenset(row["values"].split(";"))) for row in rows}


def has_form(spec: GpuSpec, form: str) -> bool:
    """Whether the GPU is of a form; only what sits in no server is a laptop or small computer."""
    name, values = forms()[form]
    return spec.text(name) in values and (form != "mobile" or spec.text("segment") != "server")


def need_for(
    work_on: str | Sequence[tuple[str, float]], *, mode: Purpose | None = None,
    precision: Precision | str | None = None, work: Work | None = None, latency: Latency | None = None,
    gpus: tuple[int, int] | None = None, form: str | None = None,
) -> Need:  # fmt: skip
    """The need of a workload, of several with their shares of time, of a language model or a preset's name.

    What is not given comes from the preset, else from the workload; `dataclasses.replace` sets other limits.
    Raises InputError for a name or form that is unknown, and for what the workload does not have.
    """
    named = [(work_on, 1.0)] if isinstance(work_on, str) else list(work_on)
    preset = presets().get(named[0][0]) if len(named) == 1 else None
    if form is not None and form not in forms():
        raise InputError(f"unknown form {form!r}", hint=f"known: {', '.join(forms())}")
    if len(named) == 1 and named[0][0].casefold() in DIFFUSION:
        return _of_diffusion(named[0][0].casefold(), mode, precision, work, gpus, form)
    if preset is None and len(named) == 1 and is_model(named[0][0], mode):
        return _of_model(named[0][0], mode, precision, work, latency, gpus, form)
    mode = "finetune" if mode == "lora" else mode
    if preset is not None:
        named, mode, precision = list(preset.workloads), mode or preset.mode, precision or preset.precision
        gpus, latency, form = gpus or preset.gpus, latency or preset.latency, form or preset.form
    shares = {_workload(ALIASES.get(name.casefold(), name), mode): weight for name, weight in named if name}
    if not shares:
        known = ", ".join(presets())
        raise InputError("which workload?", hint=f"name a workload, or one of {known}", code="workload")
    specs, whole = [registry.get(name).spec for name in shares], sum(shares.values())
    if work is not None and len(specs) > 1:
        problem = "a mix has no item of its own to count the work in"
        raise InputError(problem, hint="choose for one workload, or without an amount of work")
    notes: tuple[str, ...] = ()
    if work is not None and work.item == "image" and specs[0].item == "image-step":
        notes = (f"an image is {STEPS} steps, each twice through the network for guidance",)
        work = work._replace(items=work.items * PASSES, item="image-step")
    if work is not None and work.item != specs[0].item.removesuffix("s"):
        problem = f"the workload counts {specs[0].item}s, the work {work.item}s"
        raise InputError(problem, hint=f"state the work in {specs[0].item}s")
    if latency is not None:
        # A token comes from a decode step, the first one from a prefill step.
        phase = _PHASES[latency.kind]
        wrong = next((spec.id for spec in specs if spec.phase != phase), None)
        if wrong is not None:
            problem = f"{latency.kind} is of a {phase} workload, not of {wrong}"
            raise InputError(problem, hint=f"choose a {phase} workload")
    chosen = _precision(precision, specs)
    halves = precision is None and chosen == Precision.BF16 and all("fp16" in s.precisions for s in specs)
    return _with(
        Need(
            workloads=tuple((name, weight / whole) for name, weight in shares.items()),
            mode=_mode(mode, specs), precision=chosen, fallback=Precision.FP16 if halves else None,
            gpus=gpus or (1, 1), form=form, notes=notes,
        ),
        work, latency,
    )  # fmt: skip


def unknown(name: str) -> InputError:
    """The error for a text in which no name means anything here, with the nearest names that do."""
    known = dict.fromkeys((*registry.names(), *ALIASES, *DIFFUSION, *presets(), *llms.names()))
    near: list[str] = []
    for word in re.findall(r"[\w.+-]{4,}", name.casefold().removeprefix(SERVED)):
        near += difflib.get_close_matches(word, known, n=3, cutoff=0.6 if word == name.casefold() else 0.8)
        # Of one family ("llama-5") where nothing is spelt alike.
        family = re.match(r"[a-z]{4,}(?=[\d.-]|$)", word)
        near += [each for each in known if family and each.startswith(family[0])][: 3 - len(near)]
    kinds = "a language model (llama-3.1-8b), a network (resnet50, bert-large) or images (sdxl, flux)"
    guess = f"did you mean {' or '.join(dict.fromkeys(near[:3]))}?" if near else f"known: {kinds}"
    return InputError(f"unknown workload {name[:80]!r}; {guess}", hint="all names", code="workload")


def is_model(name: str, mode: str | None) -> bool:
    """Whether a name means a language model of `facts.llms` rather than a built-in workload."""
    if name.startswith(SERVED) or (mode in TASKS[1:] and name in _SIZES):
        return True
    ours = {name + ending for endings in ENDINGS.values() for ending in endings}
    if ours & set(registry.names()) or name.casefold() in ALIASES:
        return False
    try:
        llms.find(name)
    except InputError:
        return False
    return True


def _of_diffusion(
    name: str, mode: str | None, precision: str | None, work: Work | None, gpus: tuple[int, int] | None,
    form: str | None,
) -> Need:  # fmt: skip
    """The need of images of a diffusion model that no workload runs: so many runs of one that does."""
    like, runs, least_gb, words = DIFFUSION[name]
    if work is not None and work.item != "image":
        raise InputError(f"{name} makes images, the work {work.item}s", hint="state the work in images")
    base = need_for(like, mode="infer" if mode in (None, "infer") else "train", precision=precision,
                    gpus=gpus, form=form)  # fmt: skip
    note = f"{words}: an image counts as {runs:,.0f} runs of {like}, by its operations"
    return _with(replace(base, title=name, passes=runs, least_gb=least_gb, notes=(note,)), work, None)


def _of_model(
    name: str, mode: str | None, precision: str | None, work: Work | None, latency: Latency | None,
    gpus: tuple[int, int] | None, form: str | None,
) -> Need:  # fmt: skip
    """The need of a language model to be served or trained."""
    model = llms.find(_SIZES.get(name, name).removeprefix(SERVED))
    words = {None: "infer", "train": "full", "finetune": "lora"}
    task = next((each for each in TASKS if each == words.get(mode, mode)), None)
    if task is None:
        raise InputError(f"{model.name} has no mode {mode}", hint=f"one of {', '.join(TASKS)}")
    if precision is not None and precision not in tuple(WEIGHTS):
        raise InputError(f"no weights are kept in {precision}", hint=f"one of {', '.join(WEIGHTS)}")
    if work is not None and work.item != "token":
        raise InputError(f"{model.name} counts tokens, the work {work.item}s", hint="state it in tokens")
    limit = latency or (Latency("TPOT", USUAL_TPOT_S) if task == "infer" else None)
    notes = ["each token within 50 ms"] if task == "infer" and latency is None else []
    notes += (
        [f"{'all weights learn' if task == 'full' else f'adapters, by {task}'}"] if task != "infer" else []
    )
    formats: tuple[Precision, ...] = ()
    if task == "infer" and precision is None:
        # As engines serve: as published, in 8 bits where the card computes in them, in 4.
        published_in_4 = model.name.startswith("gpt-oss")
        formats = (Precision.MXFP4,) if published_in_4 else (Precision.BF16, Precision.FP8, Precision.INT4)
        notes.append(
            "weights in mxfp4"
            if published_in_4
            else "weights in bf16, fp8 or int4, whichever is fastest; --precision keeps to one"
        )
    need = Need(
        workloads=((model.name, 1.0),), mode="infer" if task == "infer" else "train", task=task,
        precision=Precision(precision) if precision else formats[0] if formats else FORMATS[task],
        formats=formats, gpus=gpus or (1, 8), form=form, notes=tuple(notes),
    )  # fmt: skip
    return _with(need, work, limit)


def _with(need: Need, work: Work | None, latency: Latency | None) -> Need:
    return replace(
        need, items=work.items if work else None, period_s=work.period_s if work else None,
        latency_s=latency.seconds if latency else None, latency_kind=latency.kind if latency else "TPOT",
    )  # fmt: skip


def settled(need: Need) -> Need:
    """The need with what only all its parts together tell. Raises InputError where they contradict."""
    if need.task:
        context = need.context or CONTEXTS[need.task]
        need = replace(need, context=context)
        said = [f"contexts of {context:,} tokens"]
        if need.task == "infer" and need.items is None:
            # People who use one machine together, or who have it at home.
            together = need.concurrent or (need.users if need.users > 1 else int(need.acquire == "own"))
            if together:
                # Each with a machine of their own, where somebody says so.
                need = replace(need, concurrent=together, users=need.users if need.concurrent else 1)
                said.append(f"for {together} people at once" if together > 1 else "for one person at a time")
        # A need that was kept with its answer has them already.
        need = replace(need, notes=tuple(dict.fromkeys((*need.notes, *said))))
    check(need)
    return need


def check(need: Need) -> None:
    """Raise InputError for parts of a need that contradict each other or say what cannot be."""
    a = need.assumptions
    whole_budget = need.budget_usd is not None and not need.budget_per_hour and not need.budget_per_month
    for wrong, problem, hint in (
        (not need.workloads, "no work is named", "a workload or a preset"),
        (
            need.form is not None and need.form not in forms(),
            f"unknown form {str(need.form)[:40]!r}", f"one of {', '.join(forms())}",
        ),
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
            problem = (
                f"{name} cannot be chosen for in mode {purpose}" if purpose else f"which mode of {name}?"
            )
            raise InputError(problem, hint=f"mode {' or '.join(others)}")
    try:
        return registry.get(name).spec.id
    except InputError as error:
        raise unknown(name) if error.code == "workload" else error from None


def _mode(purpose: str | None, specs: Sequence[WorkloadSpec]) -> Mode:
    """The mode that all workloads have. Raises InputError where there is none."""
    wanted = {"finetune": "train", None: ""}.get(purpose, purpose)
    shared = [mode for mode in specs[0].modes if all(mode in spec.modes for spec in specs)]
    if (wanted and wanted not in shared) or not shared or shared[0] == "limit":
        problem = f"{', '.join(spec.id for spec in specs)} cannot be chosen for in mode {purpose or 'any'}"
        raise InputError(problem, hint="see its modes", code="modes")
    return next(mode for mode in shared if wanted in ("", mode))


def _precision(wanted: str | None, specs: Sequence[WorkloadSpec]) -> Precision:
    """The precision asked for; else bf16, or where a workload lacks it the first of its own."""
    shared = [p for p in specs[0].precisions if all(p in spec.precisions for spec in specs)]
    if wanted is None:
        return Precision.BF16 if Precision.BF16 in shared else shared[0]
    if wanted not in shared:
        raise InputError(f"{specs[0].id} does not run in {wanted}", hint=f"precision {' or '.join(shared)}")
    return Precision(wanted)
