"""`gpuwise choose`: options become a `Need`, the answer becomes tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from gpuwise import store
from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.errors import InputError
from gpuwise.facts.prices import rates as known_rates
from gpuwise.model import units
from gpuwise.model.judgement import Need
from gpuwise.model.result import Result

OK = click.Choice(["ok", "no"])
MODES = ("train", "infer", "finetune", "compute", "full", "lora", "qlora")
T = TypeVar("T")


@click.command("choose", short_help="Which GPU to buy or rent, and why.")
@click.argument("workload", required=False, metavar="[WORKLOAD[=WEIGHT],... | QUESTION | PRESET | FILE.json]")
@click.option("--mode", type=click.Choice(MODES), help="Default: the workload's first.")
@click.option("--model", metavar="hf:CONFIG|FILE", help="A model of your own instead of WORKLOAD.")
@click.option("--precision", metavar="NAME", help="fp64, fp32, tf32, fp16, bf16, fp8 or int8.")
@click.option(
    "--batch", type=click.IntRange(min=1), help="Items a step on each GPU. Default: the fastest that fits."
)
@click.option("--compile", type=click.Choice(["on", "off"]), help="Compiled steps. Default: on.")
@click.option("--work", metavar="AMOUNT", help="'1M images', '90 epochs of ImageNet', '50M tokens/day'.")
@click.option("--deadline", metavar="TIME", help="24h, 3d: when the work must be done.")
@click.option("--latency", metavar="LIMIT", help="'TPOT<=30ms' or 'TTFT<=2s'.")
@click.option("--budget", metavar="MONEY", help="3000 (USD) of the work or purchase, '2 €/h', '$300/month'.")
@click.option("--own", "acquire", flag_value="own", help="Only buy.")
@click.option("--rent", "acquire", flag_value="rent", help="Only rent.")
@click.option("--both", "acquire", flag_value="both", help="Buy or rent: the default.")
@click.option("--spot", type=OK, help="Rent that may be interrupted. Default: no.")
@click.option("--community", type=OK, help="Hosts of a marketplace. Default: those that --provider names.")
@click.option("--reserved", type=OK, help="Rent with a commitment of months or years. Default: no.")
@click.option("--serverless", type=OK, help="Rent by the second of use. Default: no.")
@click.option("--condition", type=click.Choice(["new", "used"]), help="Of bought cards. Default: any.")
@click.option("--egress", metavar="SIZE", help="500GB that leave the provider, in all or in each period.")
@click.option("--unproven", type=OK, help="Rank cards that only their data sheets speak for. Default: no.")
@click.option("--users", type=click.IntRange(1, 10_000),
              help="People at once: sharing a served model, else each with a machine.")  # fmt: skip
@click.option("--provider", "providers", metavar="LIST", help="Rent only of these.")
@click.option(
    "--gpu", "only", multiple=True, metavar="LIST", help="Only these: t4,l4 or rtx-3090:2,rtx-4090."
)
@click.option("--gpus", metavar="N..M", help="How many GPUs. Default: 1.")
@click.option("--memory", metavar="RANGE", help="Of one GPU: 40GB.., 24GB..80GB.")
@click.option("--power", metavar="WATTS", help="850W: of all GPUs in your own machine.")
@click.option("--outlet", metavar="WATTS", help="800W: what your whole machine may draw from the wall.")
@click.option("--quiet", is_flag=True, help="Your own machine stands beside people.")
@click.option("--slots", metavar="N", help="Of all GPUs in your own machine.")
@click.option("--form", metavar="FORM", help="pcie, sxm, oam, workstation or mobile.")
@click.option("--have", multiple=True, metavar="FILE|GPU[:N]", help="You have it already. May be repeated.")
@click.option("--upgrade", is_flag=True, help="What you have is to be replaced, not kept.")
@click.option("--measured", multiple=True, metavar="FILE", help="Also this result file. May be repeated.")
@shared.files("--prices", "files", help="Also these prices: a CSV as of gpuwise prices.")
@click.option("--rate", "rates", multiple=True, metavar="EUR=1.08", help="USD for one unit of a currency.")
@click.option("--newer-than", metavar="AGE", help="Only prices seen in the last 90d or 1y. Default: 120d.")
@click.option("--electricity", metavar="MONEY", help="'$0.30/kWh'.")
@click.option("--hours-per-week", metavar="H", help="Hours in which what you own works.")
@click.option("--years", metavar="N", help="How long you own it.")
@click.option("--host", metavar="MONEY", help="Of the machine for each GPU; 0: there is one.")
@click.option("--host-power", metavar="WATTS", help="What that share draws.")
@click.option("--cooling", metavar="FACTOR", help="Watts from the grid for each watt of the machine.")
@click.option("--depreciation", metavar="SHARE", help="Share of the value that is lost in a year: 30%.")
@click.option("--utilisation", metavar="SHARE", help="Share of paid hours that are used: 80%.")
@click.option(
    "--top", type=click.IntRange(min=0), default=8, show_default=True, help="Rows shown; 0 for all."
)
@click.option(
    "--every-provider", is_flag=True, help="Each provider in a row of its own, not only the cheapest."
)
@click.option("--why", is_flag=True, help="Every number of GPUs, reasons, chances, assumptions.")
@click.option("--rejected", is_flag=True, help="Also every GPU that is left out, and why.")
@click.option("--wide", is_flag=True, help="Every column: cost of items, energy, free memory, break-even.")
@shared.drawn_output
def command(
    workload: str | None, top: int, every_provider: bool, why: bool, rejected: bool, wide: bool,
    output: Path | None, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Rank GPUs by what the work costs on them, with intervals, reasons and what would change the answer.

    WORKLOAD is a question ('serve a 70B for 50 users', 'two 3090s or one 4090 for llama-3.1-70b'), one of
    `gpuwise workloads`, several with shares of time, a language model by name
    (llama-3.1-70b, with --mode qlora to fine-tune it), a preset (large-model-training,
    llm-inference, llm-finetuning, vision-cnn, vision-diffusion, scientific-fp64, mobile), or a recommendation
    that was kept with -o FILE.json, which is then made again. Without anything: five questions.
    """
    from gpuwise.jobs import choosing
    from gpuwise.jobs.facts import Facts
    from gpuwise.judge.choose.decide import differences
    from gpuwise.show import choice as show
    from gpuwise.store import record

    old = record.load_choice(Path(workload)) if workload and Path(workload).suffix == ".json" else None
    if workload is None and not any(options.values()):
        options |= _ask(sys.stdin.isatty())
        workload = options.pop("workload")
    shipped = known_rates()
    rates = {code: rate for code, (rate, _) in shipped.items()}
    own_rates = dict(units.parse_rate(text) for text in options.pop("rates"))
    rates |= own_rates
    # Read before anything is computed: a bad row should not cost a minute.
    offers = choosing.offers_with(options.pop("files"), rates, shared.today())
    given = [result for name in options.pop("measured") for result in store.load_all(store.find(name))]
    if old is not None:
        # Made again as it was, so that what has changed since is the world and not the question.
        if more := [name for name, value in options.items() if value]:
            flag = more[0].replace("_", "-")
            raise InputError(f"a recommendation is made again as it was: --{flag} cannot be added",
                             hint="start anew: gpuwise choose WORKLOAD ...")  # fmt: skip
        need = old.need
    else:
        need, there = _need(workload, options, rates)
        used = [code for code in shipped if code not in own_rates and _names_money(code, workload, options)]
        said = (f"{code} at {rates[code]:g} USD ({shipped[code][1]}; --rate {code}=...)" for code in used)
        need = replace(need, notes=(*need.notes, *said),
                       currency=(used[0], rates[used[0]]) if used else need.currency)  # fmt: skip
        given += there
    facts = Facts(given=given, offers=offers, today=shared.today(), tell=printer.talk)
    answer = choosing.choose(need, facts, every_provider=every_provider)
    changed = differences(old, answer.found) if old is not None else ()
    if output is not None and output.suffix in printer.DRAWINGS:
        printer.draw(answer.to_chart(), output)
        return
    whole = as_json or output is not None
    table = show.whole(answer.found, changed) if whole else show.table(
        answer.found, top=top or None, wide=wide, changed=changed, why=why or every_provider
    )  # fmt: skip
    if not (whole or why):
        hints = "more: --why; GPUs left out: --rejected; assumptions: --host, --electricity, --years ..."
        table = replace(table, notes=(*table.notes, hints))
    printer.deliver(table, answer.to_data, as_json=as_json, output=output)
    if rejected and not whole:
        printer.table(show.rejections(answer.found))


def _ask(terminal: bool) -> dict[str, Any]:
    """Workload, work, budget, buy or rent, and number of GPUs. Raises InputError without a terminal."""
    from gpuwise.judge.choose.need import presets

    if not terminal:
        raise InputError(
            "choose for which work? there is no terminal to ask in",
            hint=f"gpuwise choose WORKLOAD, or one of {', '.join(presets())}",
        )
    known = "; ".join(f"{name}: {preset.title}" for name, preset in presets().items())
    click.echo(f"What people do: {known}.", err=True)
    questions = {
        "workload": ("What is to be done? A name above, or a workload of `gpuwise workloads`", "vision-cnn"),
        "work": ("How much of it? '1M images', '50M tokens/day', or nothing", ""),
        "budget": ("For how much money at most? '$3000', '$2/h', or nothing", ""),
        "acquire": ("own, rent or both?", "both"),
        "gpus": ("How many GPUs? 1, or 1..8", "1"),
    }
    answers: dict[str, Any] = {}
    for number, (name, (question, default)) in enumerate(questions.items(), 1):
        text = f"{number} of {len(questions)}. {question}"
        said = click.prompt(text, default=default, show_default=bool(default), err=True)
        answers[name] = str(said).strip() or None
    return answers


def _names_money(code: str, workload: str | None, options: Mapping[str, Any]) -> bool:
    """Whether an amount was given in a currency."""
    texts = " ".join(str(options[name] or "") for name in ("budget", "electricity", "host"))
    return code == "EUR" and bool(re.search(r"€|\beur", f"{workload} {texts}", re.IGNORECASE))


def _need(
    workload: str | None, options: Mapping[str, Any], rates: Mapping[str, float]
) -> tuple[Need, list[Result]]:
    """The need that the question and the options state, and the results that name what is there already."""
    from gpuwise.jobs.choosing import need_for
    from gpuwise.judge.choose import ask
    from gpuwise.judge.choose.speeds import gpu_of

    def read(name: str, parse: Callable[[str], T]) -> T | None:
        return parse(options[name]) if options[name] else None

    def positive(name: str, unit: str = "") -> float | None:
        return read(name, lambda text: units.parse_positive(text, f"--{name.replace('_', '-')}", unit))

    if workload and options["model"]:
        raise InputError("WORKLOAD and --model say the same", hint="give one of them")
    if "%" in (options["work"] or "") and not workload:  # the shares of a mix are work, too
        workload, options = options["work"], {**options, "work": None}
    stated = {
        "mode": options["mode"], "precision": options["precision"], "work": read("work", units.parse_work),
        "latency": read("latency", units.parse_latency), "gpus": read("gpus", units.parse_count_range),
        "form": options["form"],
    }  # fmt: skip
    if workload and ask.is_question(workload):
        need = ask.need_of(ask.read(workload, rates), stated)
    else:
        shares = []
        for part in units.parse_list(workload or options["model"] or ""):
            name, equals, weight = re.sub(r"\s+([\d.]+)\s*%$", r"=\1", part).rpartition("=")
            one = units.parse_positive(weight, f"the weight of {name}") if equals else 1.0
            shares.append((name.strip() if equals else part, one))
        need = need_for(shares, **stated)
    # A result file says both what is there and how fast it is.
    have: list[str] = []
    results = []
    for text in options["have"]:
        if text == "last" or store.is_file(text):
            results.append(store.load(store.find(text)))
            have.append(gpu_of(results[-1]))
        else:
            name, count = _counted(text)
            have += [shared.gpu(name).id] * (count or 1)
    named = [_counted(name) for text in options["only"] for name in units.parse_list(text)]
    counted = any(count for _, count in named)
    ids = [(gpu, count or 1) for name, count in named for gpu in shared.variants(name)]
    sizes = [count for _, count in ids]
    budget = options["budget"] and re.sub(
        r"^\s*([\d.,]+\s*k?)\s*($|/.*|a .*|per .*)", r"$\1\2", options["budget"]
    )
    dollars = units.parse_budget(budget, rates) if budget else (None, None)
    host = "$0" if options["host"] == "0" else options["host"]
    assumed = _given(
        electricity_usd_per_kwh=read("electricity", lambda text: units.parse_usd(
            text, rates, most=units.MOST_USD_PER_KWH, example="'$0.30/kWh'")[0]),
        host_usd=units.parse_usd(host, rates, free=True, example="$1500")[0] if host else None,
        hours_per_week=positive("hours_per_week"), years=positive("years"), cooling=positive("cooling"),
        host_w=positive("host_power", "W"), max_age_days=read("newer_than", units.parse_days),
        depreciation=read("depreciation", lambda text: units.parse_share(text, most=1)),
        utilisation=read("utilisation", lambda text: units.parse_share(text, most=1)),
    )  # fmt: skip
    kinds = ("spot", "community", "reserved", "serverless", "unproven")
    egress = read("egress", units.parse_memory_range)
    limits = _given(
        compiled=False if options["compile"] == "off" else None, batch=options["batch"],
        deadline_s=read("deadline", units.parse_seconds), budget_usd=dollars[0],
        budget_per_hour=dollars[1] == "hour" if dollars[0] else None,
        budget_per_month=dollars[1] == "month" if dollars[0] else None,
        # Providers rent: who names one does not ask what to buy.
        acquire=options["acquire"] or ("rent" if options["providers"] else None), users=options["users"],
        providers=units.parse_list(options["providers"] or "") or None, quiet=options["quiet"] or None,
        upgrade=options["upgrade"] or None,
        sold={"new": ("new", "street"), "used": ("used", "street")}.get(options["condition"]),
        sets=tuple(ids) if counted else None, egress_gb=egress[0] if egress else None,
        only=tuple(gpu for gpu, _ in ids) if ids and not counted else None,
        gpus=(min(sizes), max(sizes)) if counted and not options["gpus"] else None,
        memory_gb=read("memory", units.parse_memory_range), power_w=positive("power", "W"),
        outlet_w=positive("outlet", "W"), slots=positive("slots"), have=tuple(have) or None,
        **{name: True for name in kinds if options[name] == "ok"},
    )  # fmt: skip
    return replace(need, assumptions=replace(need.assumptions, **assumed), **limits), results


def _counted(text: str) -> tuple[str, int]:
    """`rtx-3090:2` -> its name and how many; 0 where no number is given."""
    name, _, number = text.rpartition(":")
    return (name, units.parse_count(number, "a number of GPUs")) if name else (text, 0)


def _given(**values: Any) -> dict[str, Any]:
    """What was stated; the rest stays as it is."""
    return {name: value for name, value in values.items() if value is not None}
