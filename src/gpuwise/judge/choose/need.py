"""From what somebody typed to a `Need`; everything that cannot be meant is refused here, before any figure.

A name may be short: `llm-8b` means `llm-8b-decode` to answer and `llm-8b-lora` to fine-tune. Where a network
has no fine-tuning workload of its own, training it stands for it: all weights learn, at the same cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.judge.choose import amounts
from gpuwise.judge.choose.fit import forms
from gpuwise.judge.choose.presets import presets, with_preset
from gpuwise.model.choice import Acquire, Assumptions, Need
from gpuwise.model.precision import Precision
from gpuwise.model.workload import Mode, WorkloadSpec
from gpuwise.workloads import registry

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "train": ("",),
    "infer": ("", "-decode"),
    "finetune": ("-lora", "-finetune", ""),
}
_LATENCY_ITEMS = {"TPOT": "decode", "TTFT": "prefill"}


def read(asked: Mapping[str, Any], rates: Mapping[str, float]) -> Need:
    """The need that options state: texts as typed, None or empty where not given.

    Raises InputError naming the option where one cannot be read, or where two contradict each other.
    """
    asked = with_preset(asked)
    purpose = asked.get("mode")
    workloads = _workloads(_text(asked, "workload"), purpose)
    specs = [registry.get(name).spec for name, _ in workloads]
    mode = _mode(purpose, specs)
    amount = amounts.work(_text(asked, "work")) if asked.get("work") else None
    if amount is not None:
        _check_work(amount, specs)
    budget, per = amounts.money(_text(asked, "budget"), rates) if asked.get("budget") else (None, None)
    need = Need(
        workloads=workloads, mode=mode, precision=_precision(asked.get("precision"), specs),
        compiled=asked.get("compile") != "off", batch=asked.get("batch"),
        items=amount.items if amount else None, period_s=amount.period_s if amount else None,
        deadline_s=amounts.duration(_text(asked, "deadline")) if asked.get("deadline") else None,
        budget_usd=budget, budget_per_hour=per == "hour", acquire=_acquire(asked.get("acquire") or "both"),
        spot=asked.get("spot") == "ok", providers=tuple(asked.get("providers") or ()),
        memory_gb=amounts.memory(_text(asked, "memory")) if asked.get("memory") else None,
        power_w=amounts.positive(_text(asked, "power"), "--power", "W") if asked.get("power") else None,
        slots=amounts.positive(_text(asked, "slots"), "--slots") if asked.get("slots") else None,
        form=_form(asked.get("form")), gpus=amounts.count_range(_text(asked, "gpus") or "1"),
        latency_s=_latency(asked.get("latency"), workloads), have=tuple(asked.get("have") or ()),
        assumptions=_assumptions(asked, rates),
    )  # fmt: skip
    _check(need)
    return need


def _text(asked: Mapping[str, Any], name: str) -> str:
    return str(asked.get(name) or "")


def _workloads(text: str, purpose: str | None) -> tuple[tuple[str, float], ...]:
    """`resnet50=2,bert-large` as workloads with shares that sum to 1."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, weight = part.strip().rpartition("=")
        name, weight = (name, weight) if equals else (weight, "1")
        if name:
            found[_workload(name.strip(), purpose)] = amounts.positive(weight, f"the weight of {name}")
    if not found:
        raise InputError("which workload?", hint=f"gpuwise workloads, or one of {', '.join(presets())}")
    whole = sum(found.values())
    return tuple((name, weight / whole) for name, weight in found.items())


def _workload(name: str, purpose: str | None) -> str:
    """A workload's full name for a purpose. Raises InputError for an unknown one."""
    mode = "train" if purpose == "finetune" else purpose
    for ending in ENDINGS.get(purpose or "", ("",)):
        full = name + ending
        if full in registry.names() and mode in (None, *registry.get(full).spec.modes):
            return full
    if name not in registry.names() and (others := _purposes(name)):
        problem = f"{name} cannot be chosen for in mode {purpose}" if purpose else f"which mode of {name}?"
        raise InputError(problem, hint=f"--mode {' or '.join(others)}")
    return registry.get(name).spec.id


def _purposes(name: str) -> list[str]:
    """Those for which an ending makes a workload of the name."""
    known = set(registry.names())
    return [purpose for purpose, endings in ENDINGS.items() if known & {name + e for e in endings if e}]


def _mode(purpose: str | None, specs: list[WorkloadSpec]) -> Mode:
    """The mode that all workloads have. Raises InputError where there is none."""
    wanted = {"finetune": "train", None: ""}.get(purpose, purpose)
    shared = [mode for mode in specs[0].modes if all(mode in spec.modes for spec in specs)]
    if (wanted and wanted not in shared) or not shared or shared[0] == "limit":
        names = ", ".join(spec.id for spec in specs)
        raise InputError(f"{names} cannot be chosen for in mode {purpose or 'any'}", hint="gpuwise workloads")
    return next(mode for mode in shared if wanted in ("", mode))


def _precision(asked: str | None, specs: list[WorkloadSpec]) -> Precision:
    """The precision asked for; else bf16, or where a workload lacks it the first of its own."""
    shared = [p for p in specs[0].precisions if all(p in spec.precisions for spec in specs)]
    if asked is None:
        return Precision.BF16 if Precision.BF16 in shared else shared[0]
    if asked not in shared:
        raise InputError(f"{specs[0].id} does not run in {asked}", hint=f"--precision {' or '.join(shared)}")
    return next(precision for precision in shared if precision == asked)


def _check_work(amount: amounts.Work, specs: list[WorkloadSpec]) -> None:
    if len(specs) > 1:
        raise InputError(
            "a mix has no item of its own to count --work in",
            hint="choose for one workload, or without --work",
        )
    amounts.check_item(amount.item, specs[0].item)


def _acquire(text: str) -> Acquire:
    for way in get_args(Acquire):
        if way == text:
            return cast(Acquire, way)
    raise InputError(f"own, rent or both, not {text!r}", hint="--own, --rent or --both")


def _form(form: str | None) -> str | None:
    if form is not None and form not in forms():
        raise InputError(f"unknown form {form!r}", hint=f"known: {', '.join(forms())}")
    return form


def _latency(text: str | None, workloads: tuple[tuple[str, float], ...]) -> float | None:
    """Seconds of one step. A token comes from a decode step, the first one from a prefill step."""
    if text is None:
        return None
    kind, seconds = amounts.latency(text)
    part = _LATENCY_ITEMS[kind]
    wrong = [name for name, _ in workloads if part not in name]
    if wrong:
        raise InputError(
            f"{kind} is of a {part} workload, not of {wrong[0]}",
            hint=f"choose a workload with {part} in its name",
        )
    return seconds


def _assumptions(asked: Mapping[str, Any], rates: Mapping[str, float]) -> Assumptions:
    given: dict[str, Any] = {}
    if asked.get("electricity"):
        given["electricity_usd_per_kwh"], _ = amounts.money(
            _text(asked, "electricity"), rates, most=amounts.MOST_USD_PER_KWH
        )
    if asked.get("host"):
        given["host_usd"] = amounts.money(_text(asked, "host"), rates, free=True)[0]
    for name, field, unit in (
        ("hours_per_week", "hours_per_week", ""), ("years", "years", ""), ("host_power", "host_w", "W"),
        ("cooling", "cooling", ""),
    ):  # fmt: skip
        if asked.get(name):
            given[field] = amounts.positive(_text(asked, name), f"--{name.replace('_', '-')}", unit)
    for name in ("depreciation", "utilisation"):
        if asked.get(name):
            given[name] = amounts.share(_text(asked, name), f"--{name}")
    if asked.get("max_age_days") is not None:
        given["max_age_days"] = asked["max_age_days"]
    return Assumptions(**given)


def _check(need: Need) -> None:
    """Raise InputError for options that contradict each other or say what cannot be."""
    a = need.assumptions
    if a.hours_per_week > 168:
        raise InputError(f"a week has 168 hours, not {a.hours_per_week:g}", hint="--hours-per-week 168")
    if a.cooling < 1:
        raise InputError("cooling multiplies the watts and is at least 1", hint="--cooling 1.3")
    if not a.utilisation:
        raise InputError("with a utilisation of 0 % no work gets done", hint="--utilisation 80%")
    if need.deadline_s is not None and need.items is None:
        raise InputError("a deadline needs an amount of work", hint="add --work '1M sequences'")
    if need.deadline_s is not None and need.period_s is not None:
        raise InputError(
            "work that comes again has no deadline", hint="leave out --deadline, or the period of --work"
        )
    whole = need.budget_usd is not None and not need.budget_per_hour
    if whole and need.items is None and need.acquire != "own":
        raise InputError(
            "a budget for rent needs an amount of work, or an hourly price",
            hint="add --work, --own, or --budget '$2/h'",
        )
    for gpu in need.have:
        catalog.get(gpu)
