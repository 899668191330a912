"""Every option of a choice as people write it, and the need that they state together.

One table for the command line and the page: each option once, with its words, group and form of writing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gpuwise.facts import catalog, llms
from gpuwise.model import units

if TYPE_CHECKING:
    from gpuwise.model.judgement import Need
    from gpuwise.model.result import Result

T = TypeVar("T")
OK = ("ok", "no")
MODES = ("train", "infer", "finetune", "compute", "full", "lora", "qlora")


class Field(NamedTuple):
    """One option: `--hours-per-week`, and the same name in the page's address."""

    name: str
    group: str
    like: str  # How a value is written
    help: str
    choices: tuple[str, ...] = ()
    flag: bool = False
    many: bool = False  # May be repeated


FIELDS = (
    Field("mode", "Work", "", "Default: the workload's first.", MODES),
    Field("precision", "Work", "NAME", "fp64, fp32, tf32, fp16, bf16, fp8 or int8."),
    Field("batch", "Work", "N", "Items a step on each GPU. Default: the fastest that fits."),
    Field("compile", "Work", "", "Compiled steps. Default: on.", ("on", "off")),
    Field("work", "Work", "AMOUNT", "'1M images', '90 epochs of ImageNet', '50M tokens/day'."),
    Field("context", "Work", "8k", "Tokens of a prompt with its answer. Default: 4k, in training 2k."),
    Field("users", "Work", "N", "People at once: sharing a served model, else each with a machine."),
    Field("deadline", "Limits", "TIME", "24h, 3d: when the work must be done."),
    Field("latency", "Limits", "LIMIT", "'TPOT<=30ms' or 'TTFT<=2s'."),
    Field("budget", "Limits", "MONEY", "3000 (USD) of the work or purchase, '2 €/h', '$300/month'."),
    Field("gpu", "Limits", "LIST", "Only these: t4,l4, amd or rtx-3090:2,rtx-4090.", many=True),
    Field("gpus", "Limits", "N..M", "How many GPUs. Default: 1."),
    Field("memory", "Limits", "RANGE", "Of one GPU: 40GB.., 24GB..80GB."),
    Field("form", "Limits", "FORM", "pcie, sxm, oam, workstation, laptop or mobile."),
    Field("unproven", "Limits", "", "Rank cards that only their data sheets speak for. Default: no.", OK),
    Field("spot", "Rent", "", "Rent that may be interrupted. Default: no.", OK),
    Field("community", "Rent", "", "Hosts of a marketplace. Default: those that --provider names.", OK),
    Field("reserved", "Rent", "", "Rent with a commitment of months or years. Default: no.", OK),
    Field("serverless", "Rent", "", "Rent by the second of use. Default: no.", OK),
    Field("provider", "Rent", "LIST", "Rent only of these."),
    Field("egress", "Rent", "SIZE", "500GB that leave the provider, in all or in each period."),
    Field("newer-than", "Rent", "AGE", "Only prices seen in the last 90d or 1y. Default: 120d."),
    Field("utilisation", "Rent", "SHARE", "Share of paid hours that are used: 80%."),
    Field("have", "Own", "FILE|GPU[:N]", "You have it already. May be repeated.", many=True),
    Field("upgrade", "Own", "", "What you have is to be replaced, not kept.", flag=True),
    Field("condition", "Own", "", "Of bought cards. Default: any.", ("new", "used")),
    Field("power", "Own", "WATTS", "850W: of all GPUs in your own machine."),
    Field("outlet", "Own", "WATTS", "800W: what your whole machine may draw from the wall."),
    Field("slots", "Own", "N", "Of all GPUs in your own machine."),
    Field("quiet", "Own", "", "Your own machine stands beside people.", flag=True),
    Field("host", "Own", "MONEY", "Of the machine for each GPU; 0: there is one."),
    Field("host-power", "Own", "WATTS", "What that share draws."),
    Field("electricity", "Own", "MONEY", "'$0.30/kWh'."),
    Field("hours-per-week", "Own", "H", "Hours in which what you own works."),
    Field("years", "Own", "N", "How long you own it."),
    Field("cooling", "Own", "FACTOR", "Watts from the grid for each watt of the machine."),
    Field("depreciation", "Own", "SHARE", "Share of the value that is lost in a year: 30%."),
)


def need_of(
    workload: str | None, given: Mapping[str, Any], rates: Mapping[str, float], *,
    load: Callable[[str], Result | None] = lambda name: None,
) -> tuple[Need, list[Result]]:  # fmt: skip
    """The need that a workload, or a question in words, and options state, and the results among `have`.

    `given` has an option's text by its name; `rates` USD of a currency; `load` reads a result where a name is
    one. Raises InputError for what cannot be read.
    """

    # The table above is read by every --help: these load numpy.
    from gpuwise.judge.choose import ask
    from gpuwise.judge.choose.need import FORMATS, need_for
    from gpuwise.judge.choose.speeds import gpu_of

    def read(name: str, parse: Callable[[str], T]) -> T | None:
        text = given.get(name)
        return parse(str(text)) if text else None

    def positive(name: str, unit: str = "") -> float | None:
        return read(name, lambda text: units.parse_positive(text, f"--{name}", unit))

    def count(name: str) -> int | None:
        return read(name, lambda text: units.parse_count(text, f"--{name}"))

    work = given.get("work")
    if "%" in (work or "") and not workload:  # the shares of a mix are work, too
        workload, work = work, None
    stated: dict[str, Any] = {
        "mode": given.get("mode") or None, "precision": given.get("precision") or None,
        "work": units.parse_work(work) if work else None, "form": given.get("form") or None,
        "latency": read("latency", units.parse_latency), "gpus": read("gpus", units.parse_count_range),
    }  # fmt: skip
    purpose = stated["mode"]
    if workload and ask.is_question(workload):
        asked = ask.read(workload, rates)
        need, purpose = ask.need_of(asked, stated), purpose or asked.mode
    else:
        shares = []
        for part in units.parse_list(workload or ""):
            name, equals, weight = re.sub(r"\s+([\d.]+)\s*%$", r"=\1", part).rpartition("=")
            one = units.parse_positive(weight, f"the weight of {name}") if equals else 1.0
            shares.append((name.strip() if equals else part, one))
        need = need_for(shares, **stated)
    # A result file says both what is there and how fast it is.
    have: list[str] = []
    results: list[Result] = []
    for text in _list(given.get("have")):
        if (result := load(text)) is not None:
            results.append(result)
            have.append(gpu_of(result))
        else:
            name, number = _counted(text)
            have += [catalog.resolve(name).spec.id] * (number or 1)
    named = [_counted(name) for name in _list(given.get("gpu"))]
    ids = [(gpu, number or 1) for name, number in named for gpu in _meant(name)]
    sets = tuple(ids) if any(number for _, number in named) else ()
    sizes = [number for _, number in sets]
    budget = read("budget", lambda text: units.parse_budget(
        re.sub(r"^\s*([\d.,]+\s*k?)\s*($|/.*|a .*|per .*)", r"$\1\2", text), rates))  # fmt: skip
    host, users, egress = given.get("host"), count("users"), read("egress", units.parse_memory_range)
    assumed = _stated(
        electricity_usd_per_kwh=read("electricity", lambda text: units.parse_usd(
            text, rates, most=units.MOST_USD_PER_KWH, example="'$0.30/kWh'")[0]),
        host_usd=units.parse_usd("$0" if host == "0" else host, rates, free=True, example="$1500")[0]
        if host else None,
        hours_per_week=positive("hours-per-week"), years=positive("years"), cooling=positive("cooling"),
        host_w=positive("host-power", "W"), max_age_days=read("newer-than", units.parse_days),
        aged_today=True if given.get("newer-than") else None,
        depreciation=read("depreciation", lambda text: units.parse_share(text, most=1)),
        utilisation=read("utilisation", lambda text: units.parse_share(text, most=1)),
    )  # fmt: skip
    kinds = ("spot", "community", "reserved", "serverless", "unproven")
    providers = tuple(PROVIDERS.get(name.casefold(), name) for name in _list(given.get("provider")))
    # People share a served model: one person, too, who was named.
    shared = users if need.task == "infer" else None
    limits = _stated(
        compiled=False if given.get("compile") == "off" else None, batch=count("batch"),
        deadline_s=read("deadline", units.parse_seconds), budget_usd=budget[0] if budget else None,
        budget_per_hour=budget[1] == "hour" if budget else None,
        budget_per_month=budget[1] == "month" if budget else None,
        # Providers rent: who names one does not ask what to buy.
        acquire=given.get("acquire") or ("rent" if providers else None), providers=providers or None,
        users=None if shared else users, concurrent=shared,
        context=read("context", lambda text: units.parse_counts(text, "a context")[0]),
        sold={"new": ("new", "street"), "used": ("used", "street")}.get(given.get("condition") or ""),
        sets=sets or None, only=tuple(gpu for gpu, _ in ids) if ids and not sets else None,
        egress_gb=egress[0] if egress else None,
        gpus=(min(sizes), max(sizes)) if sizes and not given.get("gpus") else None,
        memory_gb=read("memory", units.parse_memory_range), power_w=positive("power", "W"),
        outlet_w=positive("outlet", "W"), slots=positive("slots"), have=tuple(have) or None,
        quiet=bool(given.get("quiet")) or None, upgrade=bool(given.get("upgrade")) or None,
        **{name: True for name in kinds if given.get(name) == "ok"},
    )  # fmt: skip
    need = replace(need, assumptions=replace(need.assumptions, **assumed), **limits)
    if purpose == "finetune" and need.task == "lora" and need.have and not given.get("precision"):
        # Fine-tuning says no method: where 16 bits do not fit in what is there, 4 may.
        weights = llms.weight_bytes(llms.find(need.workloads[0][0]), need.precision)
        if weights > sum(catalog.get(gpu).memory_bytes or 0.0 for gpu in need.have):
            size = f"{weights / 1e9:,.0f} GB of weights in {need.precision}"
            note = f"by qlora: {size} do not fit in what you have"
            need = replace(need, task="qlora", precision=FORMATS["qlora"], notes=(*need.notes, note))
    return need, results


# What people call a provider whose list has another name.
PROVIDERS = {
    "amazon": "aws", "google": "gcp", "google cloud": "gcp", "microsoft": "azure", "oracle": "oracle cloud",
    "oci": "oracle cloud", "lambdalabs": "lambda", "lambda labs": "lambda", "vast.ai": "vast",
}  # fmt: skip


def _list(value: str | Sequence[str] | None) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value or ()
    return tuple(part for text in texts for part in units.parse_list(text))


def _counted(text: str) -> tuple[str, int]:
    """`rtx-3090:2`, `2x3090` -> its name and how many; 0 where no number is given."""
    if front := re.fullmatch(r"(\d{1,2})\s*x\s*(\D?.*\d.*)", text):
        return front[2], int(front[1])
    name, _, number = text.rpartition(":")
    return (name, units.parse_count(number, "a number of GPUs")) if name else (text, 0)


def _meant(name: str) -> tuple[str, ...]:
    """Every variant of a GPU's name, or every GPU of a vendor."""
    of_vendor = (spec.id for spec in catalog.all_gpus() if (spec.vendor or "").casefold() == name.casefold())
    if found := tuple(of_vendor):
        return found
    meant = catalog.resolve(name)
    return (meant.spec.id, *meant.others)


def _stated(**values: Any) -> dict[str, Any]:
    """What was stated; the rest stays as it is."""
    return {name: value for name, value in values.items() if value is not None}
