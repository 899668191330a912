"""How much more a choice by predicted speeds costs than the best there was, on published data.

    python -m evaluation.choose.regret lambda_train_throughput.csv results/choose/regret.json
    python -m evaluation.choose.regret lambda_train_throughput.csv subset.json 4 20261127

The second is of so many networks, drawn at random with that seed: the whole takes some five minutes.

    regret    cost of our pick / cost of the cheapest - 1, both at true speeds
    pairs     of those whose true costs differ by more than 5 %, the share put in the right order

A menu is the machines of one task. One machine may win each of them by its price; so the same is asked of
many small menus, drawn at random, of which most are without it.

The file has the columns of Lambda's public benchmark: set, gpu, num_gpu, precision, model, train_throughput
and price_usd (of the whole machine). Speeds are predicted by the function that `predict` and `choose` call:
networks of which gpuwise has the step by their name, the others (NCF, GNMT, SSD ...) as workload files of a
user (`networks`), by `gpuwise.predict`. A task is a network in a precision; an entry is a GPU and a
number of them at the median over its machines; the cost of an item is price / throughput. `credible` leaves
out entries whose measured scaling is above 105 % of n times one, which the audit calls impossible for equal
batches.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from evaluation.predict.case import Case
from evaluation.predict.protocols import Predictions, load, predict_all
from evaluation.predict.sets import training
from gpuwise import PredictRequest, predict
from gpuwise.model.precision import Precision

NETWORKS = Path(__file__).with_name("networks.py")
BATCHES = Path(__file__).with_name("batches.csv")
"""Of each network by precision and memory, as the benchmark ran it (pytorch/pytorch-train-bs-fp16.csv and
-fp32.csv of github.com/lambdal/deeplearning-benchmark at 08d77c41)."""
SEED, SIZE, DRAWS = 7, 3, 100
MOST_SCALING = 1.05

Key = tuple[str, int]
Cell = tuple[float, float, float]
"""True and predicted seconds of an item, and USD."""
APART = 0.05
"""True costs that differ by less are no question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One machine for one task."""

    name: str
    true_cost: float
    predicted_cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """Of many menus."""

    menus: int
    mean: float
    p90: float
    first_right: float
    """Share of menus whose pick was the cheapest."""
    pairs: int
    pairs_right: float


def regret(menu: Sequence[Entry]) -> float:
    """Of one menu."""
    pick = min(menu, key=lambda entry: entry.predicted_cost)
    return pick.true_cost / min(entry.true_cost for entry in menu) - 1


def score(menus: Sequence[Sequence[Entry]]) -> Regret:
    """Over menus with at least two machines. Raises ValueError without any."""
    menus = [menu for menu in menus if len(menu) > 1]
    if not menus:
        raise ValueError("no menu has two machines")
    found = np.array([regret(menu) for menu in menus])
    right = [ordered for menu in menus for ordered in _pairs(menu)]
    return Regret(
        menus=len(menus), mean=float(found.mean()), p90=float(np.quantile(found, 0.9)),
        first_right=float((found == 0).mean()), pairs=len(right),
        pairs_right=float(np.mean(right)) if right else float("nan"),
    )  # fmt: skip


def _pairs(menu: Sequence[Entry]) -> Iterator[bool]:
    for a, b in combinations(menu, 2):
        if abs(log(a.true_cost / b.true_cost)) > log(1 + APART):
            yield (a.true_cost < b.true_cost) == (a.predicted_cost < b.predicted_cost)


def small_menus(menus: Sequence[Sequence[Entry]], *, size: int, draws: int, seed: int) -> list[list[Entry]]:
    """`draws` random menus of `size` machines from each menu that has so many."""
    draw = random.Random(seed)
    return [draw.sample(list(menu), size) for menu in menus if len(menu) >= size for _ in range(draws)]


def cells(found: Predictions, prices: Sequence[str]) -> dict[str, dict[Key, Cell]]:
    """Of every task, each GPU and number that has a price."""
    raw: dict[str, dict[Key, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for case, predicted, price in zip(found.cases, found.values, prices, strict=True):
        if price and case.card is not None and not case.refusal:
            task = raw[case.work.key]
            task[case.card.id, case.work.cards].append((case.measured, float(predicted), float(price)))
    return _middles(raw)


def files(cases: Sequence[Case], prices: Sequence[str]) -> tuple[dict[str, dict[Key, Cell]], dict[str, str]]:
    """As `cells`, of the networks in files; and tasks that are refused on some GPU, with the reason."""
    asked: dict[tuple[str, int, Precision, int], dict[str, list[tuple[str, Case, float]]]] = defaultdict(dict)
    with BATCHES.open(encoding="utf-8", newline="") as file:
        ran = list(csv.DictReader(file))
    for case, price in zip(cases, prices, strict=True):
        if case.model in ran[0] and case.card is not None and price:
            task, _, number = case.key.rpartition(".")
            precision = Precision(task.partition(".")[0])
            if precision == "fp32" and "tf32" in case.card.peaks:
                precision = Precision.TF32
            # What had the next smaller memory; below 16 GB as much less as there is.
            memory = case.card.memory_bytes / 1e9
            rows = [row for row in ran if task.startswith(row["precision"])]
            near = max((r for r in rows if float(r["memory_gb"]) <= memory + 1), default=rows[0],
                       key=lambda row: float(row["memory_gb"]))  # fmt: skip
            batch = int(int(near[case.model]) * min(1.0, (memory + 1) / float(near["memory_gb"])))
            same = asked[case.model, batch, precision, int(number)]
            same.setdefault(case.card.id, []).append((task, case, float(price)))
    raw: dict[str, dict[Key, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    refused: dict[str, str] = {}
    for (name, batch, precision, count), cards in asked.items():
        request = PredictRequest(
            workload=f"{NETWORKS}:{name}", gpus=tuple(cards), mode="train", precision=precision, batch=batch,
            counts=(count,),
        )  # fmt: skip
        for found in predict(request).value:
            for task, case, usd in cards[found.gpu_id]:
                if found.throughput is None:
                    refused[task] = found.refusal
                else:
                    per_item = 1 / found.throughput.value
                    raw[task][found.gpu_id, count].append((case.measured, per_item, usd))
    return _middles({task: machines for task, machines in raw.items() if task not in refused}), refused


def _middles(raw: Mapping[str, Mapping[Key, list[Cell]]]) -> dict[str, dict[Key, Cell]]:
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


def main(data: Path, out: Path, networks: int | None = None, seed: int = SEED) -> None:
    """Predict, score, write; of some networks alone where their number is given."""
    cases = load(data, "lambda")
    with data.open(encoding="utf-8", newline="") as file:
        prices = [row["price_usd"] for row in training.once([*csv.DictReader(file)])]
    names = sorted({case.model for case in cases})
    drawn = random.Random(seed).sample(names, networks or len(names))
    kept = [(case, price) for case, price in zip(cases, prices, strict=True) if case.model in drawn]
    cases, prices = [case for case, _ in kept], [price for _, price in kept]
    tasks = cells(predict_all("lambda", cases, holdout="gpu"), prices)
    more, refused = files(cases, prices)
    tasks |= more
    one = {task: {k: c for k, c in machines.items() if k[1] == 1} for task, machines in tasks.items()}
    document: dict[str, Any] = {
        "protocol": "shipped predictor; cost of an item = price of the machine / throughput",
        "seed": SEED,
        "networks": sorted(drawn),
        "seed of networks": seed,
        "refused": refused,
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
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
