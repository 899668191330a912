"""Score every set by the function that `gpuwise predict` calls: what is asked beside what is reached.

    python -m evaluation.predict.score DATA_FOLDER --traces FOLDER -o results/predict

Sets: the zoo's families that nothing was fitted to, before and after `calibrate`; its peaks
of memory; our own steps; public files (`protocols.SETS`). Products and served models are fitted without the
card that is scored; all else is predicted as shipped. Splits are drawn from seeds that stand in the code:
`zoo.DRAW`, `vision.DRAW`. A part of the coverage is a card in a set, with at least `LEAST_ROWS` rows.
`--only SET` scores some and keeps the others' figures of the file. Writes scores.json and scores.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.predict import measured, protocols, zoo
from evaluation.predict.protocols import Holdout, Predictions
from gpuwise.errors import NoDataError
from gpuwise.model.result import grouped
from gpuwise.predictor.card import card
from gpuwise.predictor.step import Step, fits_in_memory, step

LEAST_ROWS = 5
INSIDE = (0.7, 0.9)
Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a set is asked: shares by the name of the figure."""

    title: str
    goals: Mapping[str, float]
    score: Callable[[argparse.Namespace], Found]


def figures(errors: Sequence[float], inside: Mapping[str, Sequence[bool]], refused: int = 0) -> Found:
    """Mean and median error, where 95 % lie, and the coverage of each part."""
    sizes = np.abs(np.array(errors))
    parts = {part: [float(np.mean(each)), len(each)] for part, each in inside.items() if len(each)}
    every = [one for each in inside.values() for one in each]
    return {
        "rows": len(sizes), "refused": refused, "mean": float(sizes.mean()),
        "median": float(np.median(sizes)), "p95": float(np.quantile(sizes, 0.95)),
        "coverage": float(np.mean(every)) if every else None, "parts": parts,
    }  # fmt: skip


ZOOS = (
    "zoo", *(f"zoo-h200-{i}" for i in range(2, 6)), "zoo-h100", *(f"zoo-h100-{i}" for i in range(3, 8)),
    "zoo-h100-6-quiet",
)  # fmt: skip
"""Folders of results: one for each machine, but that of the first H200 is of several."""


def of_zoo(asked: argparse.Namespace, split: str, *, calibrated: bool = False, memory: bool = False) -> Found:
    every = [zoo.scored(asked.results / name, split, asked.traces, calibrate=calibrated) for name in ZOOS]
    rows = [one for found, _ in every for one in found]
    if memory:
        return figures([one.peak_error for one in rows if one.peak_error is not None], {})
    inside = grouped((one.row["gpu"], one.inside) for one in (rows if not calibrated else ()))
    return figures([one.error for one in rows], inside, sum(refused for _, refused in every))


def own(asked: argparse.Namespace) -> Iterator[tuple[measured.Row, Step, float]]:
    """Our own steps with their predictions and predicted peaks."""
    for row in measured.own(sorted((asked.results / "h200").glob("*.json"))):
        trace = measured.trace_of(row)
        if trace is not None:
            need = fits_in_memory(trace, card(row.gpu))
            yield row, step(trace, card(row.gpu)), need.peak.value if need else float("nan")


def of_own(asked: argparse.Namespace) -> Found:
    rows = list(own(asked))
    inside = [found.throughput.low <= row.measured <= found.throughput.high for row, found, _ in rows]
    errors = [row.measured / found.throughput.value - 1.0 for row, found, _ in rows]
    return figures(errors, {"h200-sxm": inside})


def of_own_watts(asked: argparse.Namespace) -> Found:
    rows = [(row.watts, found.watts) for row, found, _ in own(asked) if row.watts]
    inside = [found.low <= there <= found.high for there, found in rows]
    return figures([found.value / there - 1.0 for there, found in rows], {"h200-sxm": inside})


def of_own_memory(asked: argparse.Namespace) -> Found:
    return figures([peak / row.memory - 1.0 for row, _, peak in own(asked) if row.memory and peak > 0], {})


def of_file(
    asked: argparse.Namespace, name: str, file: str, *, part: str = "", holdout: Holdout = "none",
    transfers: bool = False,
) -> Found:  # fmt: skip
    """A public file: rows of one part or all, each card of it a part of the coverage."""
    cases = protocols.load(asked.folder / file, name)
    if holdout == "none":  # else one part is fitted with what the others say
        cases = [case for case in cases if case.part.startswith(part)]
    if not transfers:
        return of_predictions([protocols.predict_all(name, cases, holdout=holdout)], part)
    sources = sorted({case.card.id for case in cases if case.card is not None and not case.refusal})
    each = []
    for source in sources:
        try:
            each.append(protocols.predict_all(name, cases, holdout=holdout, transfer=source))
        except NoDataError:
            continue
    return of_predictions(each)


def of_predictions(each: Sequence[Predictions], part: str = "") -> Found:
    errors, inside, by_card, refused = [], dict[str, list[bool]](), dict[str, list[float]](), 0
    for i, found in enumerate(each):
        for case, value, half in zip(found.cases, found.values, found.halves, strict=True):
            if not case.part.startswith(part):
                continue
            if not np.isfinite(value) or not case.measured > 0 or case.card is None:
                refused += 1
                continue
            errors.append(value / case.measured - 1.0)
            by_card.setdefault(case.card.id, []).append(abs(errors[-1]))
            if np.isfinite(half):
                where = case.card.id if len(each) == 1 else f"{case.card.id} from {i}"
                inside.setdefault(where, []).append(bool(abs(np.log(value / case.measured)) <= half))
    return figures(errors, inside, refused) | {
        "cards": {name: [float(np.mean(sizes)), len(sizes)] for name, sizes in sorted(by_card.items())},
        "worst card": max(float(np.mean(s)) for s in by_card.values() if len(s) >= LEAST_ROWS),
        "mean of cards": float(np.mean([np.mean(sizes) for sizes in by_card.values()])),
    }


LAMBDA, GEMM = "lambda_train_throughput.csv", "aic_gemm_bfloat16_ms_by_gpu.csv.gz"
SERVED, TIMM = "llm_serving_inferencex_aic.csv", "timm_throughput.csv"
SETS: Mapping[str, Asked] = {
    "zoo": Asked(
        "zoo on H200 and H100, a third of the families, not in the last fit",
        {"mean": 0.15, "median": 0.10},
        lambda a: of_zoo(a, "held"),
    ),
    "zoo-calibrated": Asked(
        "its machines that kept a file of `calibrate`, after it", {"mean": 0.10, "median": 0.07},
        lambda a: of_zoo(a, "held", calibrated=True),
    ),
    "zoo-seen": Asked("zoo, the other families", {}, lambda a: of_zoo(a, "seen")),
    "zoo-memory": Asked(
        "peak memory, the same third", {"median": 0.02, "p95": 0.10},
        lambda a: of_zoo(a, "held", memory=True),
    ),
    "own": Asked("our own H200 steps, in the fit", {}, of_own),
    "own-memory": Asked("their peak memory", {"median": 0.02, "p95": 0.10}, of_own_memory),
    "own-watts": Asked("their mean power", {"median": 0.09}, of_own_watts),
    "neusight": Asked(
        "NeuSight's transformers", {"mean": 0.07}, lambda a: of_file(a, "neusight", "neusight_e2e.csv")
    ),
    "timm": Asked("timm, unseen card", {"mean": 0.10}, lambda a: of_file(a, "timm", TIMM)),
    "timm-transfer": Asked(
        "timm, from another card", {"mean": 0.07}, lambda a: of_file(a, "timm", TIMM, transfers=True)
    ),
    "lambda": Asked(
        "Lambda's training, fp16", {"mean": 0.13},
        lambda a: of_file(a, "lambda", LAMBDA, part="fp16, 1 GPU"),
    ),
    "products": Asked(
        "bf16 products, card left out", {"mean of cards": 0.10, "worst card": 0.15},
        lambda a: of_file(a, "gemm", GEMM, holdout="gpu"),
    ),
    "tpot": Asked(
        "time per output token, card left out", {"mean": 0.18},
        lambda a: of_file(a, "serving", SERVED, part="TPOT", holdout="gpu"),
    ),
    "ttft": Asked(
        "time to first token, card left out", {"mean": 0.35},
        lambda a: of_file(a, "serving", SERVED, part="TTFT", holdout="gpu"),
    ),
    "watts": Asked(
        "power of served models", {"median": 0.09},
        lambda a: of_file(a, "power", "mlenergy_power_throughput.csv"),
    ),
}  # fmt: skip


def coverage(scores: Mapping[str, Found]) -> tuple[float, float, int]:
    """Mean coverage over parts, share of parts inside `INSIDE`, and how many parts."""
    shares = [
        share
        for name, found in scores.items()
        if not name.endswith(("-seen", "-calibrated"))
        for share, rows in found["parts"].values()
        if rows >= LEAST_ROWS
    ]
    inside = [INSIDE[0] <= share <= INSIDE[1] for share in shares]
    return float(np.mean(shares)), float(np.mean(inside)), len(shares)


def table(scores: Mapping[str, Found]) -> str:
    """What is asked beside what is reached, in Markdown."""
    lines = [
        "| what | rows | asked | reached | median | 80 % interval covers |",
        "|---|---:|---|---|---:|---:|",
    ]
    for name, asked in SETS.items():
        if name not in scores:
            continue
        found = scores[name]
        goals = ", ".join(f"{figure} {goal:.0%}" for figure, goal in asked.goals.items())
        shown = [figure for figure in asked.goals if figure != "median"] or ["mean"]
        reached = ", ".join(f"{figure} {found[figure]:.1%}" for figure in shown)
        covers = "" if found["coverage"] is None else f"{found['coverage']:.0%}"
        cells = (asked.title, f"{found['rows']:,}", goals, reached, f"{found['median']:.1%}", covers)
        lines.append(f"| {' | '.join(cells)} |")
    mean, inside, parts = coverage(scores)
    asked_of_all = "mean 78 to 82 %, two of three within 70 to 90 %"
    reached = f"mean {mean:.0%}, {inside:.0%} within"
    lines.append(f"| coverage, {parts} parts of card and set | | {asked_of_all} | {reached} | | |")
    return "\n".join(lines).replace("%", " %").replace("  %", " %") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the public files")
    parser.add_argument("--results", type=Path, default=Path("results"), help="the project's raw results")
    parser.add_argument("--traces", type=Path, help="keeps the zoo's traces")
    parser.add_argument("--only", action="append", choices=tuple(SETS), default=[])
    parser.add_argument("-o", "--output", type=Path, default=Path("results/predict"))
    asked = parser.parse_args()
    place = asked.output / "scores.json"
    kept = json.loads(place.read_text(encoding="utf-8")) if place.exists() and asked.only else {}
    for name in asked.only or SETS:
        kept[name] = SETS[name].score(asked)
        shown = {k: v for k, v in kept[name].items() if k not in ("parts", "cards")}
        print(name, json.dumps(shown), flush=True)
        scores = {name: kept[name] for name in SETS if name in kept}
        place.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
        (asked.output / "scores.md").write_text(table(scores), encoding="utf-8")


if __name__ == "__main__":
    main()
