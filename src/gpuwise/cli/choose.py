"""`gpuwise choose`: which GPU to buy or rent, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import names
from gpuwise.cli import print as printer
from gpuwise.errors import InputError
from gpuwise.facts import catalog, prices, published
from gpuwise.facts.prices.query import parse_days, parse_rate
from gpuwise.jobs.results import known
from gpuwise.model.choice import Need, Recommendation, Speed
from gpuwise.model.offer import Offer
from gpuwise.model.result import Result
from gpuwise.model.units import parse_list

MODES = ("train", "infer", "finetune", "compute")


def today() -> date:
    """The day it is here; a function so that a test can set it."""
    return date.today()


@click.command("choose", short_help="Which GPU to buy or rent, and why.")
@click.argument("workload", required=False, metavar="[WORKLOAD[=WEIGHT],... | PRESET | FILE.json]")
@click.option("--mode", type=click.Choice(MODES), help="Default: the workload's first.")
@click.option("--model", metavar="hf:CONFIG|FILE", help="A model of your own instead of WORKLOAD.")
@click.option("--precision", metavar="NAME", help="fp64, fp32, tf32, fp16, bf16, fp8 or int8.")
@click.option(
    "--batch", type=click.IntRange(min=1), help="Items a step on each GPU. Default: the fastest that fits."
)
@click.option("--compile", type=click.Choice(["on", "off"]), help="Compiled steps. Default: on.")
@click.option("--work", metavar="AMOUNT", help="'1M sequences', '3 epochs of 1.3M images', '50M tokens/day'.")
@click.option("--deadline", metavar="TIME", help="24h, 3d: when the work must be done.")
@click.option("--latency", metavar="LIMIT", help="'TPOT<=30ms' or 'TTFT<=2s'.")
@click.option("--budget", metavar="MONEY", help="'$3000' for the work or the purchase, '$2/h' for an hour.")
@click.option("--own", "acquire", flag_value="own", help="Only buy.")
@click.option("--rent", "acquire", flag_value="rent", help="Only rent.")
@click.option("--both", "acquire", flag_value="both", help="Buy or rent: the default.")
@click.option("--spot", type=click.Choice(["ok", "no"]), help="Rent that may be interrupted. Default: no.")
@click.option("--provider", "providers", metavar="LIST", help="Rent only of these.")
@click.option("--gpus", metavar="N..M", help="How many GPUs. Default: 1.")
@click.option("--memory", metavar="RANGE", help="Of one GPU: 40GB.., 24GB..80GB.")
@click.option("--power", metavar="WATTS", help="850W: of all GPUs in your own machine.")
@click.option("--slots", metavar="N", help="Of all GPUs in your own machine.")
@click.option("--form", metavar="FORM", help="pcie, sxm, oam, workstation or mobile.")
@click.option("--have", multiple=True, metavar="FILE|GPU[:N]", help="You have it already. May be repeated.")
@click.option("--measured", multiple=True, metavar="FILE", help="Also this result file. May be repeated.")
@click.option(
    "--prices", "files", multiple=True, metavar="FILE", type=click.Path(path_type=Path),
    help="Also these prices: a CSV as of gpuwise prices. May be repeated.",
)  # fmt: skip
@click.option("--rate", "rates", multiple=True, metavar="EUR=1.08", help="USD for one unit of a currency.")
@click.option("--newer-than", metavar="AGE", help="Only prices seen in the last 90d, 12w or 1y.")
@click.option("--electricity", metavar="MONEY", help="'$0.30/kWh'.")
@click.option("--hours-per-week", metavar="H", help="Hours in which what you own works.")
@click.option("--years", metavar="N", help="How long you own it.")
@click.option("--host", metavar="MONEY", help="Share of the machine for each GPU.")
@click.option("--host-power", metavar="WATTS", help="What that share draws.")
@click.option("--cooling", metavar="FACTOR", help="Watts from the grid for each watt of the machine.")
@click.option("--depreciation", metavar="SHARE", help="Share of the value that is lost in a year.")
@click.option("--utilisation", metavar="SHARE", help="Share of paid hours that are used.")
@click.option(
    "--top", type=click.IntRange(min=0), default=10, show_default=True, help="Rows shown; 0 for all."
)
@click.option(
    "--every-provider", is_flag=True, help="Each provider in a row of its own, not only the cheapest."
)
@click.option("--rejected", is_flag=True, help="Also every GPU that is left out, and why.")
@click.option("--wide", is_flag=True, help="Every column: cost of items, energy, free memory, break-even.")
@printer.output_option
@printer.json_option
def command(
    workload: str | None, top: int, every_provider: bool, rejected: bool, wide: bool, output: Path | None,
    as_json: bool, **asked: Any,
) -> None:  # fmt: skip
    """Rank GPUs by what the work costs on them, with intervals, reasons and what would change the answer.

    WORKLOAD is one of `gpuwise workloads`, several with shares of time, a preset (large-model-training,
    llm-inference, llm-finetuning, vision-cnn, vision-diffusion, scientific-fp64, mobile), or a recommendation
    that was kept with -o FILE.json, which is then made again. Without anything: five questions.
    """
    from gpuwise.judge.choose import again
    from gpuwise.show import choice as report
    from gpuwise.store import choice as kept

    printer.check_output(output)
    old = kept.load(Path(workload)) if workload and Path(workload).suffix == ".json" else None
    if workload is None and not any(value for value in asked.values()):
        from gpuwise.cli.questions import ask

        asked |= ask(sys.stdin.isatty())
        workload = asked.pop("workload")
    found = _decide(old, workload, asked, every_provider)
    changed = again.differences(old, found) if old is not None else ()
    if as_json or (output is not None and output.suffix == ".json"):
        printer.deliver(report.whole(found), lambda: kept.encode(found), as_json=as_json, output=output)
        return
    content = report.whole(found, changed)
    if output is None:
        content = report.table(found, top=top or None, wide=wide, changed=changed)
    printer.deliver(content, dict, as_json=False, output=output)
    if rejected and output is None:
        printer.table(report.rejections(found))


def _decide(
    old: Recommendation | None, workload: str | None, asked: dict[str, Any], every_provider: bool
) -> Recommendation:
    """The recommendation for what was asked, or the kept one made again."""
    from gpuwise.judge.choose import need as needs

    rates = dict(parse_rate(text) for text in asked.pop("rates"))
    offers = _offers(asked.pop("files"), rates)
    named = [result for name in asked.pop("measured") for result in store.load_all(store.find(name))]
    results = known(named, printer.talk)
    if old is not None:
        if given := [name for name, value in asked.items() if value]:
            raise InputError(f"a recommendation is made again as it was: --{given[0]} cannot be added",
                             hint="start anew: gpuwise choose WORKLOAD ...")  # fmt: skip
        need = old.need
    else:
        have, more = _have(asked.pop("have"))
        results += tuple(more)
        need = needs.read({**asked, **_plain(workload, asked), "have": have}, rates)
    prices.select(offers, today=today(), providers=need.providers)
    return _recommend(need, offers, results, every_provider)


def _plain(workload: str | None, asked: dict[str, Any]) -> dict[str, Any]:
    """Options whose text is read here."""
    if workload and asked["model"]:
        raise InputError("WORKLOAD and --model say the same", hint="give one of them")
    return {
        "workload": workload or asked["model"],
        "providers": parse_list(asked["providers"] or ""),
        "max_age_days": parse_days(asked["newer_than"]) if asked["newer_than"] else None,
    }


def _recommend(
    need: Need, offers: Sequence[Offer], results: Sequence[Result], every_provider: bool
) -> Recommendation:
    from gpuwise.judge.choose import alternatives, gather, recommend, with_precisions
    from gpuwise.judge.choose.speeds import item_of
    from gpuwise.predict.forecast import forecast

    gpus = [spec.id for spec in catalog.all_gpus()]

    def speeds(asked: Need) -> tuple[Speed, ...]:
        return gather(asked, gpus, forecast, results=results, published=published.all_results())

    day = today()
    found = recommend(
        need, speeds(need), offers, today=day, item=item_of(need), every_provider=every_provider
    )
    others = {other.precision: speeds(other) for other in alternatives(need, found.options[0].count)}
    return with_precisions(found, others, offers, today=day)


def _offers(files: Sequence[Path], rates: dict[str, float]) -> tuple[Offer, ...]:
    """Every known offer. Raises InputError for a file with rows that cannot be used: they might decide."""
    known = prices.collect(files, today=today(), rates=rates)
    names = {path.name for path in files}
    if bad := [skip for skip in known.skipped if skip.file in names]:
        raise InputError(f"{bad[0].file}, line {bad[0].line}: {bad[0].reason}", hint="mend or remove the row")
    return known.offers


def _have(named: Sequence[str]) -> tuple[tuple[str, ...], list[Result]]:
    """Ids of the GPUs that are there, one entry each, and the results that name some of them."""
    from gpuwise.judge.choose.speeds import gpu_of

    ids: list[str] = []
    results = []
    for text in named:
        if Path(text).is_file() or text == "last":
            results.append(store.load(store.find(text)))
            ids.append(gpu_of(results[-1]))
        else:
            name, _, number = text.rpartition(":")
            ids += [names.gpu(name or text).id] * (int(number) if name and number.isdecimal() else 1)
    return tuple(ids), results
