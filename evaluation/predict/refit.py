"""Fit the predictor's parameters to a folder of public measurements and write them as JSON.

    python -m evaluation.predict.refit DATA_FOLDER
    python -m evaluation.predict.refit DATA_FOLDER --products step

For each set: parameters from all its rows, and half widths of 80 % intervals from the errors of GPUs that
were left out (families for matrix products), by evidence level. `python -m evaluation.predict --holdout gpu`
repeats the left-out fits and prints their scores. Seeds are fixed; the same data give the same file. What
predictions use goes to src/gpuwise/predictor/data, the rest to evaluation/predict/data.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.predict import cross
from evaluation.predict.case import Case
from evaluation.predict.protocols import SETS, Holdout, Predictions, load, predict_all
from evaluation.predict.rivals import constants
from evaluation.predict.sets import gemm
from evaluation.predict.shipped import FITTED
from gpuwise.predictor import rates
from gpuwise.predictor.rates import LEVEL, PARAMETERS

FILES = {
    "serving": ("serving", "llm_serving_inferencex_aic.csv"),
    "gemm": ("gemm", "aic_gemm_bfloat16_ms_by_gpu.csv.gz"),
    "gemm.fp8": ("gemm", "aic_gemm_fp8_ms_by_gpu.csv.gz"),
}
"""Group -> (set, file)."""
KEPT = "watts"
"""Energies by process and memory, which image networks at the power limit of three desktop cards gave on
2026-11-22: kept as they are."""


def main() -> None:
    """Fit every group whose file is in the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--products", metavar="NAME", action="append", help="fit only these anew")
    given = parser.parse_args()
    if given.products:
        fit_some(given.folder, given.products)
        return
    groups: dict[str, Any] = {}
    for group, (name, file) in FILES.items():
        path = given.folder / file
        if path.exists():
            groups |= fitted(group, name, load(path, name), file)
            print(group, groups[group]["half_width"], flush=True)
    used = {name: entry for name, entry in groups.items() if name.split(":")[0] in ("gemm", "serving")}
    used[KEPT] = rates.document()["groups"][KEPT]
    rest = {name: entry for name, entry in groups.items() if name not in used}
    for path, part in ((PARAMETERS, used), (FITTED, rest)):
        how = "python -m evaluation.predict.refit DATA_FOLDER"
        document = {"schema": 1, "fitted_by": how, "level": LEVEL, "groups": part}
        path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def fit_some(folder: Path, names: Sequence[str]) -> None:
    """Fit only these parameters of products, of all engines and families where they have no suffix: the rest
    stays as shipped, so that networks whose classes of kernels rest on it keep their times."""
    document = json.loads(PARAMETERS.read_text(encoding="utf-8"))
    shipped = document["groups"]["gemm"]["parameters"]
    name, file = FILES["gemm"]
    free = {key for key in shipped if key.split("/")[0] in names} | set(names)
    shipped |= gemm.refit(load(folder / file, name), shipped, sorted(free))
    PARAMETERS.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def fitted(group: str, name: str, cases: Sequence[Case], file: str) -> dict[str, Any]:
    """The group's entry, and one for each of its parts that is scored apart."""
    usable = [case for case in cases if not case.refusal]
    parameters = SETS[name].fit(usable)
    left: Holdout = "family" if name == "gemm" else "gpu"
    spec = predict_all(name, cases, holdout=left)
    owned = replace(spec, values=cross.with_own_factor(cases, spec.values))
    found = {"spec-only": errors(spec), "calibrated": errors(owned)}
    cards = sorted({case.card.id for case in usable if case.card is not None})
    entry = {
        "parameters": {key: round(value, 5) for key, value in parameters.items()},
        "cards": cards,
        "families": sorted({case.card.family for case in usable if case.card is not None}),
        "formats": sorted({case.dtype for case in usable}),
        "rows": len(usable),
        "constants": {key: round(value, 6) for key, value in constants(usable).items()},
        "data": file,
        "left_out": left,
        **widths(found),
    }
    entries = {group: entry}
    for part in sorted({case.part for case in cases if case.part}):
        entries[f"{group}:{part}"] = {**widths(found, part), "cards": cards}
    return entries


def errors(found: Predictions) -> cross.Errors:
    """Errors of left-out cards."""
    return cross.errors_of(found.cases, found.values, [frozenset({fold}) for fold in found.folds])


def widths(found: Mapping[str, cross.Errors], part: str | None = None) -> dict[str, Any]:
    """Half width of each evidence level whose errors are known, and what makes a case hard where stated."""
    halves, hard = {}, {}
    for level, all_errors in found.items():
        at = np.isfinite(all_errors.values) & ((all_errors.parts == part) | (part is None))
        if at.any():
            half, difficulty = cross.shipped(all_errors, at)
            halves[level] = round(half, 4)
            hard[level] = {key: [round(x, 5) for x in value] for key, value in asdict(difficulty).items()}
    stated = any(value for levels in hard.values() for value in levels.values())
    return {"half_width": halves} | ({"difficulty": hard} if stated else {})


if __name__ == "__main__":
    main()
