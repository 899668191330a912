"""Errors of predicted steps that were measured, left out: what the intervals of `gpuwise predict` rest on.

    python -m evaluation.predict.steps DATA_FOLDER results/h200/*.json -o results/predict/steps.json --ship

Steps: the project's own results, and published figures of PyTorch for the same networks on one GPU, with a
stated batch of at least 32 (below it the host of those days decides) and without a caution. Every step is
predicted as `gpuwise predict` does, whose classes saw the H200 alone:

    spec-only     from the data sheet; with the steps of the public sets (`PUBLIC`)
    calibrated    times one factor from the same card's other networks in the same source
    transferred   from another card's figure of the same cell in the same source

The half width of a level is conformal over cards; its coverage is counted on each card with the half width
of the others. Memory: allocated peaks of the own results. Scaling: figures of several GPUs beside the same
source's figure of one. `--ship` writes what predictions use to src/gpuwise/predictor/data/errors.json.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from math import exp, hypot, log
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.predict import cross
from evaluation.predict.measured import (
    SQUAD,
    Row,
    lambda_pairs,
    others,
    own,
    own_pairs,
    published_pairs,
    trace_of,
)
from evaluation.predict.protocols import load, predict_all
from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.facts import catalog
from gpuwise.predictor import evidence as known
from gpuwise.predictor.card import Card, card
from gpuwise.predictor.evidence import own_factor, own_width
from gpuwise.predictor.forecast import LIKELY, exchange
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.rates import ERRORS, MEASURED, novelty
from gpuwise.predictor.step import CONTEXT, VISIBLE, between, step, usual, workspace_bytes
from gpuwise.store import load as load_result

LEAST_ROWS, LEAST = 5, 0.05
OTHER_CARDS = 0.2091
"""Half width of watts on other cards, as of served models: on our own steps a share was set."""


def main() -> None:
    """Print the summary of every level; write the rows where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--ship", action="store_true")
    given = parser.parse_args()
    rows = [*own(given.results), *others()]
    found = levels(rows)
    document: dict[str, Any] = {
        "rows": [asdict(row) for row in rows],
        "levels": {
            level: summary(
                rows,
                found[level],
                level,
                more=public(given.folder, level) if level in ("spec-only", "transferred") else None,
            )
            for level in found
        },
        "memory": memory(rows),
        "watts": watts(rows),
        "scaling": scaling(given.folder / "lambda_train_throughput.csv", given.results),
    }
    for level, scores in document["levels"].items():
        print(level, {key: value for key, value in scores.items() if key != "predictions"})
    for name in ("memory", "watts", "scaling"):
        print(name, {key: value for key, value in document[name].items() if not isinstance(value, list)})
    if given.output:
        given.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if given.ship:
        ERRORS.write_text(json.dumps(shipped(document), indent=1) + "\n", encoding="utf-8")
        ship_measured(given.results)


def shipped(document: dict[str, Any]) -> dict[str, Any]:
    """What predictions use."""
    levels = document["levels"]
    return {
        "how": "python -m evaluation.predict.steps DATA_FOLDER results/h200/*.json --ship",
        "half_width": {level: round(found["half_width"], 4) for level, found in levels.items()},
        "cards": {level: found["cards"] for level, found in levels.items()},
        "scaling": round(document["scaling"]["half_width"], 4),
        "watts": round(max(document["watts"]["half_width"], OTHER_CARDS), 4),
        "memory": document["memory"]["errors"],
    }


def ship_measured(paths: Sequence[Path]) -> None:
    """The fastest measurement of each cell and batch, for `gpuwise predict` to show beside its own."""
    found: dict[tuple[str, str, int], known.MeasuredStep] = {}
    for path in paths:
        try:
            steps = tuple(known.steps(load_result(path), path.name))
        except GpuwiseError:
            continue
        for step_ in steps:
            key = (step_.gpu_id, step_.cell, step_.batch)
            if key not in found or step_.throughput.value > found[key].throughput.value:
                found[key] = step_
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("gpu_id", "cell", "batch", "version", "items_per_s", "low", "high", "file"))
        for key, step_ in sorted(found.items()):
            speed = (step_.throughput.value, step_.throughput.low, step_.throughput.high)
            out.writerow((*key, step_.version, *(f"{value:.6g}" for value in speed), step_.where))


Error = tuple[int, float, str]
"""Row, log(measured / predicted seconds), and the card that a transfer is from."""


def levels(rows: Sequence[Row]) -> dict[str, list[Error]]:
    """The errors of each level."""
    spec: dict[int, float] = {}
    for at, row in enumerate(rows):
        trace = trace_of(row)
        assert trace is not None
        spec[at] = trace.items / usual(trace, card(row.gpu)).seconds
    return {
        "spec-only": [(at, log(speed / rows[at].measured), "") for at, speed in spec.items()],
        "calibrated": list(calibrated(rows, spec)),
        "transferred": list(across(rows, spec)),
    }


def place(row: Row) -> tuple[str, str]:
    """Rows that one owner of the card measured."""
    return (row.source if not row.source.endswith(".json") else "own", row.gpu)


def calibrated(rows: Sequence[Row], spec: dict[int, float]) -> Iterator[Error]:
    """With one factor from the other networks of the same place."""
    for at, row in enumerate(rows):
        kin = [i for i, r in enumerate(rows) if place(r) == place(row) and r.network != row.network]
        if kin:
            factor = own_factor([1 / rows[i].measured for i in kin], [1 / spec[i] for i in kin])
            yield at, log(spec[at] / factor / row.measured), ""


def across(rows: Sequence[Row], spec: dict[int, float]) -> Iterator[Error]:
    """From the same cell on each other card of the same source."""
    for at, row in enumerate(rows):
        for other, found in enumerate(rows):
            if place(found)[0] != place(row)[0] or found.gpu == row.gpu or found.cell != row.cell:
                continue
            yield at, log(found.measured * spec[at] / spec[other] / row.measured), found.gpu


PUBLIC = {
    "neusight": "neusight_e2e.csv", "timm": "timm_throughput.csv", "lambda": "lambda_train_throughput.csv",
}  # fmt: skip
"""Sets of traced steps, and their files."""


def public(folder: Path, level: str) -> cross.Errors:
    """Errors of the steps of the public sets on one GPU, or of their transfers from each card."""
    each = []
    for name, file in PUBLIC.items():
        cases = [case for case in load(folder / file, name) if not case.refusal and case.work.cards == 1]
        ids = sorted({case.card.id for case in cases if case.card is not None})
        for source in ids if level == "transferred" else ("",):
            try:
                found = predict_all(name, cases, transfer=source or None)
            except NoDataError:  # no other card did the same
                continue
            known = [
                (case, value) for case, value in zip(found.cases, found.values, strict=True)
                if np.isfinite(value) and (not source or case.dtype in card(source).peaks)
            ]  # fmt: skip
            pairs = [(case.work.trace, case.card) for case, _ in known if case.card is not None]
            folds = [frozenset({own.id, source}) for _, own in pairs]
            errors = cross.errors_of([c for c, _ in known], np.array([v for _, v in known]), folds)
            each.append(
                replace(
                    errors, values=beyond(-errors.values, pairs, [source] * len(pairs)),
                    parts=np.full(len(pairs), ""), siblings=np.zeros(len(pairs), bool),
                    cards=np.array([f"{own.id} of {name}" for _, own in pairs]),
                )
            )  # fmt: skip
    return cross.joined(each)


def beyond(errors: Any, steps: Iterable[tuple[Trace, Card]], sources: Iterable[str] = ()) -> Any:
    """What of the errors, log(measured / predicted) seconds, the spread of the classes of kernels, another
    card than the source and other hosts do not cover: a step's half width is the root of the sum of all
    squares (`step.step`)."""
    spreads = np.empty(len(errors))
    for i, ((trace, on), source) in enumerate(zip_longest(steps, sources)):
        found = usual(trace, on)
        new = between(card(source), on, trace) if source else novelty() * found.spread
        spreads[i] = hypot(new, found.host[int(errors[i] > 0.0)])
    return np.sign(errors) * np.sqrt(np.maximum(LEAST**2, errors**2 - spreads**2))


def summary(
    rows: Sequence[Row], found: Sequence[Error], level: str, more: cross.Errors | None = None
) -> dict[str, Any]:
    """Errors of a level, the half width of all cards, and coverage of each card by the others' half width;
    of a `calibrated` card its own other networks set the width as well. `more` are known errors that set it
    too."""
    errors = np.array([error for _, error, _ in found])
    known = errors_of([rows[at] for at, *_ in found], errors, [source for *_, source in found])
    known = known if more is None else cross.joined([known, more])
    # A card of one row or two is no part of its own.
    counts = Counter(known.cards.tolist())
    ids = [name.split(" of ")[0] for name in known.cards.tolist()]
    gpus = np.array([gpu if counts[gpu] >= LEAST_ROWS else "few rows" for gpu in known.cards])
    known = replace(known, cards=gpus)
    halves = cross.unseen(known, ids, known)
    if level == "calibrated":
        halves = halves * own_widths([rows[at] for at, *_ in found], np.abs(errors) / halves)
    inside = np.abs(known.values) <= halves
    covered = {str(gpu): float(inside[gpus == gpu].mean()) for gpu in sorted(set(gpus))}
    sizes = np.abs(np.exp(-errors) - 1.0)
    return {
        "n": len(found), "cards": len(covered), "mape": float(sizes.mean()),
        "median": float(np.median(sizes)), "p90": float(np.quantile(sizes, 0.9)),
        "bias": float(np.exp(errors.mean())), "half_width": cross.half_width(known.values, gpus),
        "half_used": float(np.mean([halves[gpus == gpu].mean() for gpu in covered])),
        "coverage": float(np.mean(list(covered.values()))), "coverage_rows": float(inside.mean()),
        "coverage_by_card": covered, "rows_by_card": {gpu: int((gpus == gpu).sum()) for gpu in covered},
        "half_by_card": {gpu: round(float(halves[gpus == gpu].mean()), 4) for gpu in covered},
        "predictions": [[at, round(rows[at].measured * exp(error), 2)] for at, error, _ in found],
    }  # fmt: skip


def errors_of(rows: Sequence[Row], errors: Any, sources: Sequence[str]) -> cross.Errors:
    """Errors of steps."""
    gpus = [row.gpu for row in rows]
    pairs = [(trace, card(row.gpu)) for row in rows if (trace := trace_of(row))]
    return cross.Errors(
        values=beyond(errors, pairs, sources),
        cards=np.array(gpus), parts=np.full(len(rows), ""),
        vendors=np.array([card(gpu).vendor for gpu in gpus]),
        traits=np.zeros((len(rows), 0)),
        folds=tuple(map(frozenset, zip(gpus, sources, strict=True))), siblings=np.zeros(len(rows), bool),
    )  # fmt: skip


def own_widths(rows: Sequence[Row], relative: Any) -> Any:
    """Factor on each row's half width from the errors of the same place's other networks."""
    return np.array([
        own_width([r for r, other in zip(relative, rows, strict=True)
                   if place(other) == place(row) and other.network != row.network])
        for row in rows
    ])  # fmt: skip


def memory(rows: Sequence[Row]) -> dict[str, Any]:
    """log(measured / predicted) peaks of allocated memory, and how often a "fits" would be false.

    Every step is judged at each size of memory of the catalog by the errors of the other networks.
    """
    pairs = [(row, trace.memory.peak + workspace_bytes(trace))
             for row in rows if row.memory and (trace := trace_of(row)) and trace.memory]  # fmt: skip
    errors = np.array([log((row.memory or 0.0) / predicted) for row, predicted in pairs])
    networks = np.array([row.network for row, _ in pairs])
    sizes = np.abs(np.exp(-errors) - 1.0)
    said = false = 0
    for room in sorted({spec.memory_bytes for spec in catalog.all_gpus() if spec.memory_bytes}):
        for row, predicted in pairs:
            elsewhere = errors[networks != row.network]
            fits = np.mean(predicted * np.exp(elsewhere) + CONTEXT <= VISIBLE * room) >= LIKELY
            said += int(fits)
            false += int(fits and (row.memory or 0.0) + CONTEXT > VISIBLE * room)
    return {
        "n": len(errors), "mape": float(sizes.mean()), "median": float(np.median(sizes)),
        "worst": float(sizes.max()), "verdicts": said, "false_fits": false / said,
        "errors": sorted(round(float(e), 4) for e in errors),
    }  # fmt: skip


def watts(rows: Sequence[Row]) -> dict[str, Any]:
    """Predicted over measured watts of the own results, by predicted step times."""
    pairs = [(row, trace_of(row)) for row in rows if row.watts]
    known = [(row, t) for row, t in pairs if t]
    ratios = np.array([step(t, card(row.gpu)).watts.value / (row.watts or 1.0) for row, t in known])
    sizes, errors = np.abs(ratios - 1.0), np.log(ratios)
    half = cross.half_width(errors, [row.gpu for row, _ in known])
    return {"n": len(ratios), "mape": float(sizes.mean()), "median": float(np.median(sizes)),
            "bias": float(np.exp(errors.mean())), "half_width": half,
            "coverage": float((np.abs(errors) <= half).mean())}  # fmt: skip


def scaling(table: Path, results: Sequence[Path]) -> dict[str, Any]:
    """Efficiency of several GPUs, measured and predicted, where the same owner measured one GPU as well."""
    rows = efficiencies([*published_pairs(), *lambda_pairs(table), *own_pairs(results)])
    fed = [r for r in rows if r["cell"].split(":")[0] not in SQUAD]
    ours = [r for r in rows if r["source"].endswith(".json")]
    article = efficiencies(published_pairs(article=True))
    errors = np.array([log(r["predicted"] / (r["measured"] / r["alone"])) for r in rows])
    gpus = np.array([r["gpu"] for r in rows])
    sizes = np.abs(np.exp(errors) - 1.0)
    linear = np.array([abs(r["alone"] / r["measured"] - 1.0) for r in rows])
    return {
        "n": len(rows), "cards": len(set(gpus)), "mape": float(sizes.mean()),
        "median": float(np.median(sizes)), "p90": float(np.quantile(sizes, 0.9)),
        "bias": float(np.exp(errors.mean())), "linear_mape": float(linear.mean()),
        "half_width": cross.half_width(errors, gpus), "coverage": coverage(errors, gpus),
        "without_squad": _mape(fed),
        "n_without_squad": len(fed),
        "ours": _mape(ours), "n_ours": len(ours),
        "article": _mape(article), "n_article": len(article), "rows": [*rows, *article],
    }  # fmt: skip


def _mape(rows: Sequence[dict[str, Any]]) -> float:
    return float(np.mean([abs(r["predicted"] * r["alone"] / r["measured"] - 1.0) for r in rows]))


def efficiencies(pairs: Iterable[tuple[Row, int, float]]) -> list[dict[str, Any]]:
    """Rows with the speed of one GPU alone and the predicted share of it that each of several keeps."""
    return [
        {**asdict(row), "count": count, "alone": alone, "predicted": efficiency(row, count, alone)}
        for row, count, alone in pairs
    ]


def efficiency(row: Row, count: int, alone: float) -> float:
    """Predicted speed of each of `count` GPUs over that of one, which does `alone` items a second."""
    trace = trace_of(row)
    assert trace is not None
    seconds = trace.items / alone
    return seconds / (seconds + exchange(trace, row.gpu, seconds, count).seconds)


def coverage(errors: Any, gpus: Any) -> float:
    """Mean over cards of the share of errors within the half width of the other cards."""
    shares = [
        (np.abs(errors[gpus == g]) <= cross.half_width(errors[gpus != g], gpus[gpus != g])).mean()
        for g in sorted(set(gpus)) if (gpus != g).any()
    ]  # fmt: skip
    return float(np.mean(shares))


if __name__ == "__main__":
    main()
