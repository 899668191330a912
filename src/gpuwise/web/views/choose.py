"""Which GPU to buy or rent for a piece of work: sliders set the limits; GPUs that drop out say by which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts.prices import rates
from gpuwise.jobs.choosing import choose as chosen
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import traced
from gpuwise.judge.choose.answer import question
from gpuwise.judge.choose.need import FIELDS, is_model, need_of, presets, unknown
from gpuwise.model import units
from gpuwise.model.judgement import Acquire, Need, Recommendation
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import MODES, WorkloadSpec
from gpuwise.model.units import percent
from gpuwise.show import choice as report
from gpuwise.show.table import Table
from gpuwise.store.codec import encode_choice
from gpuwise.web.view import Asked, Sheet, View, bars, by_name, nearest
from gpuwise.workloads import registry

SHOWN = 25
REASONED = 3
# Files and names that would be traced: nobody's code is run for a question.
FOREIGN = re.compile(r"\w(?<!\bserved):[\w./~]|\.(?:py|json|gguf|toml|safetensors)\b", re.IGNORECASE)
# What the form shows in a way of its own: limits as sliders, and options.
LIMITS = ("budget", "deadline", "memory", "power")
OWN_WAY = ("mode", "precision", "work", "latency", "gpus", "form", *LIMITS)
GPUS = ("1", "1..2", "1..4", "1..8")
WAYS: tuple[Acquire, ...] = ("both", "rent", "own")
FORMS = ("", "pcie", "sxm", "oam", "workstation", "laptop", "mobile")
# Work that takes about a day, so that budget and deadline mean something from the start.
USUAL_WORK = {
    "image": "100M images", "sequence": "10M sequences", "token": "1B tokens",
    "image-step": "10M image-steps", "cell": "1000T cells",
}  # fmt: skip


def choose(facts: Facts, asked: Asked) -> View:
    """The ranking for what the form asks, or why there is none."""
    base = _base(asked)
    found, problem = None, None
    try:
        # What other precisions would do takes as long again: a slider waits for its answer.
        found = chosen(_need(asked, base), facts, forecast=facts.forecasts, alternatives=False).value
    except GpuwiseError as error:
        problem = error
    return View(
        title=f"Choose: {base['asks'] or ' '.join((base['workload'], base['mode'], base['precision']))}",
        template="choose.html",
        message=problem,
        table=report.whole(found) if found else Table(columns=("GPUs",), rows=()),
        document=lambda: encode_choice(found) if found else None,
        content={
            **(_ranking(found) if found else {}), "found": found, "asked": asked, "base": base,
            # Beside a question the form shows no workload of its own.
            "shown": {**base, "workload": "", **_beside(asked, base)} if base["asks"] else base,
            "workloads": known(), "presets": presets(), "gpus": GPUS, "ways": WAYS,
            "fields": [field for field in FIELDS if field.name not in OWN_WAY],
        },
    )  # fmt: skip


def known() -> Mapping[str, WorkloadSpec]:
    """Built-in workloads that a speed is known of: traced ones and those that state what they cost."""
    kernels = [spec for spec in registry.specs() if spec.modes[0] == "compute" and spec.cost is not None]
    return {**traced(), **{spec.id: spec for spec in kernels}}


def _base(asked: Asked) -> dict[str, Any]:
    """What the form shows: by the preset of the path, the request, or what is usual for the workload."""
    names, preset, one = known(), None, None
    typed = asked.text("workload")
    model = typed if typed not in names and is_model(typed, None) else ""
    if typed and typed not in names and not model:
        raise unknown(typed)
    if asked.path:
        preset = presets().get(asked.path[0])
        if preset is None:
            raise NoDataError(f"no use is called {asked.path[0]!r}", hint=nearest(asked.path[0], presets()))
        one = preset.workloads[0][0]
    spec = names[asked.one_of("workload", tuple(names), one, others=(model,))]
    own = preset if preset is not None and spec.id == one else None
    usual = own.precision if own and own.precision in spec.precisions else None
    usual = usual or (Precision.BF16 if Precision.BF16 in spec.precisions else spec.precisions[0])
    many = f"{preset.gpus[0]}..{preset.gpus[1]}" if preset and preset.gpus[1] > 1 else "1"
    work = asked.text("work")
    with suppress(GpuwiseError):  # said beside the form
        # An amount in items of the workload that was chosen before means nothing for this one.
        if not work or units.parse_work(work).item != spec.item:
            work = USUAL_WORK.get(spec.item, "")
    # Only work that makes tokens one by one has a latency; the preset's holds until the form says another.
    limit = preset.latency if preset and not asked.text("workload") else None
    latency = asked.text("latency") or (f"{limit.kind}<={limit.seconds * 1e3:g}ms" if limit else "")
    return {
        "asks": asked.text("ask") or model,
        "spec": spec, "workload": spec.id, "title": preset.title.capitalize() if own and preset else "",
        "mode": asked.one_of("mode", spec.modes, own.mode if own else None, others=MODES),
        "precision": asked.one_of("precision", spec.precisions, usual, others=PRECISIONS),
        "gpus": asked.one_of("gpus", GPUS, many), "acquire": asked.one_of("acquire", WAYS),
        # "any" is a form, too: a page of a use keeps its own until the form is sent, to another address.
        "form": asked.one_of("form", FORMS) or (preset.form if preset else None) or "",
        "work": work, "latency": latency if spec.phase else "",
    }  # fmt: skip


def _beside(asked: Asked, base: Mapping[str, Any]) -> dict[str, str]:
    """What the form says beside a question: what it shows untouched says nothing."""
    shown = _base(Asked([("workload", base["workload"])]))
    names = ("mode", "precision", "work", "latency", "gpus", "form")
    return {name: "" if asked.text(name) == shown[name] else asked.text(name) for name in names}


def _need(asked: Asked, base: Mapping[str, Any]) -> Need:
    """The form as a need. Raises InputError for an amount or a limit that cannot be read."""
    budget, deadline, memory, power = map(asked.number, LIMITS)
    words = base["asks"]
    if FOREIGN.search(words):
        raise InputError("files and other libraries' names are not read here", hint="gpuwise choose")
    given: dict[str, Any] = {name: value for name, value in base.items() if isinstance(value, str)}
    if words:
        given |= _beside(asked, base)
        given["acquire"] = asked.text("acquire").replace("both", "")
    for field in FIELDS:
        if field.name not in OWN_WAY:
            given[field.name] = asked.text(field.name)
    if (price := given["electricity"]) and price[-1].isdigit() and price[0].isdigit():
        given["electricity"] = f"${price}/kWh"
    if given["host"][:1].isdigit() and float(asked.number("host") or 0.0):
        given["host"] = f"${given['host']}"
    per = {"hour": "/h", "month": "/month"}.get(asked.text("per"), "")
    given |= {
        "budget": f"${budget:.2f}{per}" if budget else None,
        "deadline": f"{deadline}h" if deadline else None,
        "memory": f"{memory:g}GB.." if memory else None,
        "power": f"{power:g}W" if power else None,
    }
    # A result of this machine is no one else's to name.
    need, _ = need_of(words or base["workload"], given, {code: usd for code, (usd, _) in rates().items()})
    return need


def _ranking(found: Recommendation) -> dict[str, Any]:
    """The answer's tables: the ranking, GPUs that a limit bars, and those without a speed or a price."""
    table = report.table(found, top=SHOWN, why=False)
    shown = report.one_of_each(found)[:SHOWN]
    barred = [(gpu, why.code, why.detail) for gpu, why in found.rejected.items() if why.code]
    never = [(gpu, why.detail) for gpu, why in found.rejected.items() if not why.code]
    # How sure the first place is, and what would change it.
    likely = "The first costs less than the second with a chance of"
    certainty = [f"{likely} {percent(c.probability, 0)}." for c in found.chances[:1]]
    if close := ", ".join(str(chance.other) for chance in found.chances if not chance.told_apart):
        certainty.append(f"It and place {close} cost the same within the uncertainty (80 %).")
    return {
        "sheet": Sheet(
            table=replace(table.second(table.columns[-1]), title="", before=(), notes=by_name(table.notes)),
            legend="cost and its 80 % interval",
            bars=bars(
                [option.cost_usd or option.cost_per_item_usd for option in shown],
                [o.basis if o.basis in ("measured", "published") else "predicted" for o in shown],
            ),
        ),
        # Options of the command line mean nothing on a page.
        "notes": [re.sub(r" \(--[\w-]+\)", "", note) for note in found.need.notes],
        "question": question(found.need),
        "figure": report.figure(found),
        "out": Table(columns=("GPU", "limit", "why"), rows=tuple(barred)),
        "never": Table(columns=("GPU", "why"), rows=tuple(never)),
        "certainty": (*certainty, *found.changes[1:], *found.advice),
        "reasons": found.options[:REASONED],
        "assumed": report.assumed(found.need.assumptions),
    }
