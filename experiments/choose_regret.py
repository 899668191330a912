"""Regret of choosing by predicted speeds, on published training throughputs with their prices.

    python experiments/choose_regret.py lambda_train_throughput.csv results/choose/regret.json

The file has the columns of Lambda's public benchmark: set, gpu, num_gpu, precision, model, train_throughput
and price_usd (of the whole machine). Speeds are predicted with the GPU left out of the fit, as by `gpuwise
validate --set lambda --holdout gpu`. A task is a network in a precision; an entry is a GPU and a number of
them at the median over its machines; the cost of an item is price / throughput. `credible` leaves out entries
whose measured scaling is above 105 % of n times one, which the audit calls impossible for equal batches.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from gpuwise.judge.choose.regret import Entry, regret, score, small_menus
from gpuwise.predict.validate import Predictions, load, predict_all

SEED, SIZE, DRAWS = 7, 3, 100
MOST_SCALING = 1.05

Key = tuple[str, int]
Cell = tuple[float, float, float]
"""True and predicted seconds of an item, and USD."""


def cells(found: Predictions, prices: Sequence[str]) -> dict[str, dict[Key, Cell]]:
    """Of every task, each GPU and number that has a price."""
    raw: dict[str, dict[Key, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for case, predicted, price in zip(found.cases, found.values, prices, strict=True):
        if price and case.card is not None and not case.refusal:
            task = raw[case.work.key]
            task[case.card.id, case.work.cards].append((case.measured, float(predicted), float(price)))
    return {
        task: {key: (_middle(rows, 0), _middle(rows, 1), rows[0][2]) for key, rows in machines.items()}
        for task, machines in raw.items()
    }


def _middle(rows: Sequence[Cell], column: int) -> float:
    return median(row[column] for row in rows)


def credible(machines: Mapping[Key, Cell]) -> dict[Key, Cell]:
    """Entries whose scaling is possible."""
    one = {gpu: cell[0] for (gpu, n), cell in machines.items() if n == 1}
    return {
        (gpu, n): cell
        for (gpu, n), cell in machines.items()
        if n == 1 or (gpu in one and one[gpu] / cell[0] <= MOST_SCALING * n)
    }


def menu(machines: Mapping[Key, Cell]) -> list[Entry]:
    """Cost of an item in each machine."""
    return [
        Entry(name=f"{n} x {gpu}", true_cost=price * true, predicted_cost=price * predicted)
        for (gpu, n), (true, predicted, price) in machines.items()
    ]


def scored(menus: Mapping[str, list[Entry]]) -> dict[str, Any]:
    """Full menus, random menus of three, and every task's pick."""
    full = list(menus.values())
    return {
        "full": asdict(score(full)),
        f"random menus of {SIZE}": asdict(score(small_menus(full, size=SIZE, draws=DRAWS, seed=SEED))),
        "tasks": {task: _task(entries) for task, entries in sorted(menus.items())},
    }


def _task(entries: Sequence[Entry]) -> dict[str, Any]:
    return {
        "machines": len(entries),
        "cheapest": min(entries, key=lambda e: e.true_cost).name,
        "picked": min(entries, key=lambda e: e.predicted_cost).name,
        "regret": regret(entries),
    }


def main(data: Path, out: Path) -> None:
    """Predict, score, write."""
    cases = load(data, "lambda")
    with data.open(encoding="utf-8", newline="") as file:
        prices = [row["price_usd"] for row in csv.DictReader(file)]
    tasks = cells(predict_all("lambda", cases, holdout="gpu"), prices)
    one = {task: {k: c for k, c in machines.items() if k[1] == 1} for task, machines in tasks.items()}
    document = {
        "protocol": "leave GPU out; cost of an item = price of the machine / throughput",
        "seed": SEED,
        "one GPU": scored({task: menu(machines) for task, machines in one.items()}),
        "1 to 8 GPUs": scored({task: menu(machines) for task, machines in tasks.items()}),
        "1 to 8 GPUs, credible": scored({task: menu(credible(m)) for task, m in tasks.items()}),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for part in ("one GPU", "1 to 8 GPUs", "1 to 8 GPUs, credible"):
        for kind in ("full", f"random menus of {SIZE}"):
            s = document[part][kind]
            shares = f"mean {s['mean']:.1%}, p90 {s['p90']:.1%}, first right {s['first_right']:.0%}"
            pairs = f"pairs right {s['pairs_right']:.1%} of {s['pairs']}"
            print(f"{part}, {kind}: {shares} of {s['menus']}, {pairs}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
