"""Derive and score `predictor/data/software.csv`: `python -m evaluation.other_makers [--rows]`.

`predict/data/other_makers.csv` holds public speeds of language models on cards that are not NVIDIA's, one a
row: many sequences by an engine (served), one by llama.cpp in a PC of its own (local). Those of MLPerf are
the median of closed results; of round 4.1 they are not verified by the MLCommons Association. Prompts are
read between steps. A row without a batch is planned as `gpuwise choose` plans it.

The factor on a shipped share is the geometric mean of measured over predicted, each unit once: rows of one
source, model and length of prompts (served), or of one card (local). Rows of more sequences than `choose`
plans, of a limit of milliseconds and of cards that were put aside are scored and set nothing.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path

import click

from gpuwise.facts import llms
from gpuwise.judge.choose.speeds import gather
from gpuwise.model.judgement import Need
from gpuwise.model.precision import Precision
from gpuwise.model.result import Interval, grouped
from gpuwise.predictor.card import card
from gpuwise.predictor.fit import CHUNK, Plan, fit
from gpuwise.predictor.forecast import forecast

ROWS = Path(__file__).parent / "predict" / "data" / "other_makers.csv"
# Sequences that `choose` plans at most; seconds of a token below which MLPerf calls a limit interactive.
PLANNED, INTERACTIVE_S = 256, 0.1
# Makers of cards in PCs, whose llama.cpp was compared as one.
MAKERS = {"AMD": "Radeon", "Apple": "Apple"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One row: how far the prediction is from what was measured, and what counts with it."""

    name: str
    work: str  # Served, or local with its maker
    unit: str  # What counts once: rows of a source and model, or of a card
    left: str  # What is left out to see how far a new one is off: the model, or the card
    error: float  # log(predicted / measured)
    held: bool  # Within the 80 % interval
    sets: bool  # Whether it sets the share


def predicted(row: dict[str, str]) -> Interval | None:
    """Tokens a second with the prompts between them; None where that is not planned."""
    prompt, answer, gpus = int(row["prompt"]), int(row["answer"]), int(row["gpus"])
    model, weights, context = llms.find(row["model"]), Precision(row["weights"]), prompt + answer // 2
    if not row["batch"]:
        need = Need(
            workloads=((row["model"], 1.0),), mode="infer", task="infer", precision=weights, context=context,
            reads=prompt / answer, latency_s=float(row["limit_s"]) if row["limit_s"] else None,
        )  # fmt: skip
        return gather(need, {row["gpu"]: (gpus,)}, forecast)[0].throughput
    plan = Plan(model=model, weights=weights, context=max(1, context), batch=int(row["batch"]), gpus=gpus)
    found, many = fit(plan, row["gpu"]).tokens_per_s, max(prompt, CHUNK)
    first = fit(replace(plan, context=many, batch=1), row["gpu"]).first_token_s
    if found is None or first is None or row["work"] == "local":
        return found
    return found.times(1 / (1 + found.value * first * prompt / many / answer))


def scored() -> Iterator[Scored]:
    """Every row that can be predicted."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        found, measured, own = predicted(row), float(row["tokens_per_s"]), card(row["gpu"], sheet=True)
        served = row["work"] == "served"
        if found is not None:
            yield Scored(
                name=f"{row['gpus']} x {row['gpu']}, {row['model']}, {row['weights']}, batch {row['batch']}, "
                f"{row['prompt']}/{row['answer']}, {row['source']}",
                work="served" if served else f"local, {MAKERS[own.vendor]}",
                unit=f"{row['source']} {row['model']} {row['prompt']}" if served else row["gpu"],
                left=row["model"] if served else row["gpu"], error=log(found.value / measured),
                held=found.low <= measured <= found.high,
                sets=own.id not in ("mi355x", "rx-7900-xtx") and int(row["batch"] or 1) <= PLANNED
                and float(row["limit_s"] or 1) > INTERACTIVE_S,
            )  # fmt: skip


def level(rows: list[Scored]) -> float:
    """The geometric mean of predicted over measured, each unit once."""
    units = grouped((row.unit, row.error) for row in rows)
    return exp(statistics.fmean(statistics.fmean(errors) for errors in units.values()))


@click.command()
@click.option("--rows", "every", is_flag=True, help="Each row, with ! where the interval fails.")
def command(every: bool) -> None:
    """Score the shipped shares on public speeds of other makers' cards."""
    for work, rows in grouped((row.work, row) for row in scored()).items():
        set_by = [row for row in rows if row.sets]
        click.echo(f"{work}: {len(rows)} rows, {statistics.fmean(row.held for row in rows):.0%} held; "
                   f"the share times {1 / level(set_by):.3f}")  # fmt: skip
        for left, some in grouped((row.left, row) for row in set_by).items():
            rest = [row for row in set_by if row.left != left]
            click.echo(f"  without {left:20} it is {level(some) / level(rest):.2f} of measured")
        for row in rows if every else ():
            click.echo(
                f"    {exp(row.error):5.2f} {' ' if row.held else '!'}{' ' if row.sets else '-'} {row.name}"
            )


if __name__ == "__main__":
    command()
