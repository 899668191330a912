"""`gpuwise choose`: options become a `Need`, the answer becomes tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.options import drawn_output, option, options, synonyms, together
from gpuwise.errors import InputError
from gpuwise.facts.prices import rates as known_rates
from gpuwise.judge.choose.need import FIELDS, SERVED, need_of
from gpuwise.model import units
from gpuwise.model.result import Result


class _Grouped(click.Command):
    """Its help lists options by what they are about, and a name of none is taken for the nearest."""

    also: ClassVar = {k: v for field in FIELDS for k, v in synonyms(f"--{field.name}", field.also).items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {field.group: [] for field in FIELDS}
        of = {field.name.replace("-", "_"): field.group for field in FIELDS}
        of |= {"model": "Work", "acquire": "Limits"}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                groups.setdefault(of.get(param.name or "", "Data and output"), []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


# Every option of the table, which the page has, too.
_of_needs = together(
    *(
        option(
            f"--{field.name}",
            type=click.Choice(field.choices) if field.choices else None,
            # Alone it is "ok"; of others, False would let them go without a value.
            is_flag=False if "ok" in field.choices else field.flag or None,
            **cast(Any, {"flag_value": "ok"} if "ok" in field.choices else {}),
            multiple=field.many,
            metavar=field.like or None,
            help=field.help,
        )
        for field in FIELDS
    )
)


# Words that people use for a mode.
_MODES = {"inference": "infer", "serve": "infer", "training": "train", "fine-tune": "finetune"}


@click.command(cls=_Grouped, context_settings={"token_normalize_func": lambda text: _MODES.get(text, text)})
@click.argument("workload", required=False, metavar="[WORKLOAD[=WEIGHT],... | QUESTION | PRESET | FILE.json]")
@_of_needs
@options("choose")
@drawn_output
def command(
    workload: str | None,
    top: int,
    every_provider: bool,
    why: bool,
    rejected: bool,
    wide: bool,
    to: printer.Output,
    **options: Any,
) -> None:
    """Rank GPUs by what the work costs on them, with intervals, reasons and what would change the answer.

    WORKLOAD is a question ('serve a 70B for 50 users', 'two 3090s or one 4090 for llama-3.1-70b'), one of
    `gpuwise workloads`, several with shares of time, a language model by name
    (llama-3.1-70b, with --mode qlora to fine-tune it), a preset (large-model-training,
    llm-inference, llm-finetuning, vision-cnn, vision-diffusion, scientific-fp64, mobile), or a recommendation
    that was kept with -o FILE.json, which is then made again. Without anything: five questions.
    """
    from gpuwise.jobs import choosing
    from gpuwise.jobs.facts import Facts
    from gpuwise.judge.choose.answer import differences
    from gpuwise.show import choice as show

    ways = {"--own", "--rent", "--both"}.intersection(click.get_current_context().obj)
    if len(ways) > 1:
        raise InputError(f"{' and '.join(sorted(ways))} contradict each other", hint="--both, or one of them")
    old = None
    if workload and Path(workload).suffix == ".json" and not workload.startswith(("hf:", SERVED)):
        from gpuwise.store.codec import load_choice

        old = load_choice(Path(workload))
    shipped = known_rates()
    own_rates = dict(units.parse_rate(text) for text in options.pop("rates"))
    rates = {code: rate for code, (rate, _) in shipped.items()} | own_rates
    if workload is None and not any(options.values()):
        options |= _ask(sys.stdin.isatty(), rates)
        workload = options.pop("workload")
    # Read before anything is computed: a bad row should not cost a minute.
    offers = choosing.offers_with(options.pop("files"), rates, printer.today(), printer.talk)
    given = [result for name in options.pop("measured") for result in store.load_all(store.find(name))]
    if old is not None:
        # Made again as it was, so that what has changed since is the world and not the question.
        if more := [name for name, value in options.items() if value]:
            flag = more[0].replace("_", "-")
            problem = f"a recommendation is made again as it was: --{flag} cannot be added"
            raise InputError(problem, hint="start anew: gpuwise choose WORKLOAD ...")
        need = old.need
    else:
        if workload and options["model"]:
            raise InputError("WORKLOAD and --model say the same", hint="give one of them")
        stated = {name.replace("_", "-"): value for name, value in options.items()}

        def load(name: str) -> Result | None:  # None where it is a GPU's name
            return store.load(store.find(name)) if name == "last" or store.is_file(name) else None

        need, setting = need_of(workload or options["model"], stated, rates, load=load, today=printer.today())
        code, rate = need.currency
        if code in shipped and code not in own_rates:
            said = f"{code} at {rate:g} USD ({shipped[code][1]}; --rate {code}=...)"
            need = replace(need, notes=(*need.notes, said))
        given += setting
    facts = Facts(given=given, offers=offers, today=printer.today(), tell=printer.talk)
    answer = choosing.choose(need, facts, every_provider=every_provider)
    changed = differences(old, answer.value) if old is not None else ()
    if to.file is not None and to.drawn:
        printer.draw(answer.to_chart(), to.file)
        return
    whole = not to.on_screen
    if whole:
        table = show.whole(answer.value, changed)
    else:
        table = show.table(
            answer.value, top=top or None, wide=wide, changed=changed, why=why, every=every_provider
        )
    if not (whole or why):
        hints = "more: --why; GPUs left out: --rejected; assumptions: --host, --electricity, --years ..."
        table = replace(table, notes=(*table.notes, hints))
    to.table(table, answer.to_data)
    if rejected and not whole:
        printer.table(show.rejections(answer.value))


def _ask(terminal: bool, rates: Mapping[str, float]) -> dict[str, Any]:
    """Workload, work, budget, buy or rent, and number of GPUs. Raises InputError without a terminal."""
    from gpuwise.judge.choose.need import presets

    if not terminal:
        problem = "no workload given, and standard input is not a terminal"
        raise InputError(problem, hint=f"gpuwise choose WORKLOAD, or one of {', '.join(presets())}")
    names = "; ".join(f"{name}: {preset.title}" for name, preset in presets().items())
    click.echo(f"What people do: {names}.", err=True)
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
        while True:
            said = click.prompt(text, default=default, show_default=bool(default), err=True)
            answers[name] = str(said).strip() or None
            try:
                need_of(answers["workload"], answers, rates, today=printer.today())
                break
            except InputError as error:
                click.echo(f"{error}: {error.hint}" if error.hint else str(error), err=True)
    return answers
