"""Which GPU to buy or rent for a piece of work: sliders set the limits, what they bar says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.forecasts import traced
from gpuwise.judge.choose import amounts, gather, recommend
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.presets import presets
from gpuwise.judge.choose.speeds import item_of
from gpuwise.model.choice import Need, Recommendation
from gpuwise.model.units import percent
from gpuwise.model.workload import WorkloadSpec
from gpuwise.show import choice as report
from gpuwise.show.table import Table
from gpuwise.store import choice as store
from gpuwise.web.asked import Asked
from gpuwise.web.view import Message, Sheet, View, bars, message
from gpuwise.workloads import registry

SHOWN = 25
REASONED = 3
GPUS = ("1", "1..2", "1..4", "1..8")
WAYS = ("both", "rent", "own")
USUAL_WORK = {
    "image": "100M images", "sequence": "10M sequences", "token": "1B tokens",
    "image-step": "10M image-steps", "cell": "1000T cells",
}  # fmt: skip
"""Work that takes about a day, so that budget and deadline mean something from the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """A limit that a slider sets; the end of its way sets none."""

    name: str
    label: str
    unit: str
    low: float
    high: float
    least: bool = False
    """Whether the value asked for is a least one (memory) instead of a most one."""


SLIDERS = (
    Slider(name="budget", label="Budget", unit="USD", low=1, high=100_000),
    Slider(name="deadline", label="Deadline", unit="hours", low=0.5, high=5_000),
    Slider(name="memory", label="Memory of one GPU", unit="GB", low=4, high=288, least=True),
    Slider(name="power", label="Power of your own GPUs", unit="W", low=60, high=12_000),
)


def choose(facts: Facts, asked: Asked) -> View:
    """The ranking for what the form asks, or why there is none."""
    base = _base(asked)
    found, problem = None, None
    try:
        found = _recommend(facts, needs.read(_options(asked, base), {}))
    except GpuwiseError as error:
        problem = in_words(message(error))
    return _view(asked, base, found, problem)


def in_words(problem: Message) -> Message:
    """The message with the names of limits where a command line has options."""
    return Message(text=problem.text.replace("--", ""), hint=problem.hint.replace("--", ""))


def known() -> Mapping[str, WorkloadSpec]:
    """Built-in workloads that a speed is known of: traced ones and those that state what they cost."""
    kernels = [spec for spec in registry.specs() if spec.modes[0] == "compute" and spec.cost is not None]
    return {**traced(), **{spec.id: spec for spec in kernels}}


def _base(asked: Asked) -> dict[str, Any]:
    """Workload, mode, precision and numbers of GPUs: from the preset of the path or from the form.

    Raises NoDataError for a preset that is unknown.
    """
    names = known()
    preset: Mapping[str, str] = {}
    if asked.path:
        if asked.path[0] not in presets():
            raise NoDataError(f"no use is called {asked.path[0]!r}", hint=f"one of {', '.join(presets())}")
        preset = presets()[asked.path[0]]
    one = preset.get("workload", "").split(",")[0]
    spec = names[asked.one_of("workload", tuple(names), one or None)]
    mode = asked.one_of("mode", spec.modes, preset.get("mode") if spec.id == one else None)
    return {
        "spec": spec, "workload": spec.id, "mode": mode, "preset": preset,
        "precision": asked.one_of("precision", spec.precisions, _usual(spec, preset)),
        "gpus": asked.one_of("gpus", GPUS, preset.get("gpus")),
        "acquire": asked.one_of("acquire", WAYS),
        "form": asked.one_of("form", ("", "pcie", "sxm", "oam", "workstation", "mobile"), preset.get("form")),
        "work": _work(asked, spec), "latency": _latency(asked, spec, preset),
    }  # fmt: skip


def _work(asked: Asked, spec: WorkloadSpec) -> str:
    """The amount asked for, or the usual one where there is none or it counts what another workload makes."""
    text, usual = asked.text("work"), USUAL_WORK.get(spec.item, "")
    try:
        return text if text and amounts.work(text).item == spec.item else usual
    except GpuwiseError:
        return text  # said beside the form


def _latency(asked: Asked, spec: WorkloadSpec, preset: Mapping[str, str]) -> str:
    """The limit asked for, or the preset's; only workloads that make tokens one by one have one."""
    if not spec.id.startswith("llm") or "infer" not in spec.modes:
        return ""
    return asked.text("latency") or ("" if asked.text("workload") else preset.get("latency", ""))


def _usual(spec: WorkloadSpec, preset: Mapping[str, str]) -> str:
    wanted = preset.get("precision", "bf16")
    return wanted if wanted in spec.precisions else spec.precisions[0]


def _options(asked: Asked, base: Mapping[str, Any]) -> dict[str, Any]:
    """The form as options of `gpuwise choose`. Raises InputError for a limit that is no number."""
    budget, deadline, memory, power = (asked.number(slider.name) for slider in SLIDERS)
    hourly = "/h" if asked.text("per") == "hour" else ""
    return {
        **{name: base[name] or None for name in (
            "workload", "mode", "precision", "gpus", "acquire", "form", "work", "latency",
        )},
        "budget": f"${budget:.2f}{hourly}" if budget else None,
        "deadline": f"{deadline * 3600:.0f}s" if deadline else None,
        "memory": f"{memory:g}GB.." if memory else None,
        "power": f"{power:g}W" if power else None,
        "spot": "ok" if asked.text("spot") else None,
    }  # fmt: skip


def _recommend(facts: Facts, need: Need) -> Recommendation:
    speeds = gather(need, facts.ids, facts.forecasts, results=facts.results, published=facts.published)
    return recommend(need, speeds, facts.offers, today=facts.today, item=item_of(need))


def _view(
    asked: Asked, base: Mapping[str, Any], found: Recommendation | None, problem: Message | None
) -> View:
    table = report.whole(found) if found else Table(columns=("GPUs",), rows=())
    return View(
        title=f"Choose: {base['workload']} {base['mode']} {base['precision']}",
        template="choose.html",
        table=table,
        document=lambda: store.encode(found) if found else {"error": problem.text if problem else ""},
        content={
            "sheet": _ranking(found), "out": _out(found), "never": _never(found), "found": found,
            "certainty": _certainty(found), "reasons": _reasons(found),
            "assumed": report.assumed(found.need.assumptions) if found else "",
            "asked": asked, "base": base, "workloads": known(),
            "presets": presets(), "sliders": SLIDERS, "gpus": GPUS, "ways": WAYS, "message": problem,
        },
    )  # fmt: skip


def _ranking(found: Recommendation | None) -> Sheet | None:
    if found is None:
        return None
    shown = found.options[:SHOWN]
    table = report.table(found, top=SHOWN)
    costs = bars([option.cost_usd or option.cost_per_item_usd for option in shown])
    legend = "cost and its 80 % interval"
    bare = Table(columns=table.columns, rows=table.rows, numeric=table.numeric, dim=table.dim, notes=(
        "* no other option is both faster and cheaper",
        *(("(price) is old or undated: its interval is wider, and it ranks by its upper end",)
          if any(option.stale for option in shown) else ()),
    ))  # fmt: skip
    return Sheet(table=bare, bars=costs, legend=legend)


def _reasons(found: Recommendation | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    options = found.options[:REASONED] if found else ()
    return tuple((f"{o.rank}. {o.count} x {o.gpu_id}", o.why) for o in options)


def _certainty(found: Recommendation | None) -> tuple[str, ...]:
    """How sure the first place is, and what would change it."""
    if found is None:
        return ()
    close = ", ".join(str(chance.other) for chance in found.chances if not chance.told_apart)
    told = [f"The first costs less than the second with a chance of {percent(c.probability, 0)}."
            for c in found.chances[:1]]  # fmt: skip
    told += [f"It cannot be told apart from place {close} at 80 %."] if close else []
    return (*told, *found.changes, *found.advice)


def _out(found: Recommendation | None) -> Table:
    """GPUs that one of the limits bars, and which."""
    barred = [r for r in found.rejected if r.constraint] if found else []
    rows = tuple((r.gpu_id, r.constraint.removeprefix("--"), r.reason) for r in barred)
    return Table(columns=("GPU", "limit", "why"), rows=rows)


def _never(found: Recommendation | None) -> Table:
    """GPUs that do not fit the work, or of which no speed or price is known."""
    rest = [r for r in found.rejected if not r.constraint] if found else []
    return Table(columns=("GPU", "why"), rows=tuple((r.gpu_id, r.reason) for r in rest))
