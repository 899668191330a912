"""The table of docs/how-it-predicts.md of how well 80 % intervals hold on each GPU that was left out.

    python -m evaluation.predict.coverage results/predict

A GPU is `inside` where 75 to 87 % of its rows lie in their intervals, and `by chance` where its coverage is
what so many independent rows show in 19 of 20 cases were it 80 %. Widths are half ones: x or / that factor.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from math import exp, sqrt
from pathlib import Path
from typing import Any

from evaluation.predict.scores import tolerance

INSIDE = (0.75, 0.87)
HEAD = (
    "| set, left out | GPUs | 75 to 87 % | by chance | mean | x or / | outside both |",
    "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
)
SETS = {
    "neusight-gpu": "NeuSight set", "lambda-gpu": "Lambda training (four parts)", "power-gpu": "mean power",
    "timm-gpu": "timm", "serving-gpu": "serving (two parts)", "gemm-bf16-family": "products bf16, family",
    "gemm-fp8-family": "products fp8, family",
}  # fmt: skip
TRANSFERS = ("timm-from-4090", "timm-from-3090", "timm-from-pro-6000")
Score = Mapping[str, Any]


def main() -> None:
    """Print the table."""
    print(table(Path(sys.argv[1])))


def table(folder: Path) -> str:
    """The Markdown of all rows: unseen cards, transfers, traced steps, and the same cards when owned."""
    steps = json.loads((folder / "steps.json").read_text(encoding="utf-8"))["levels"]
    unseen = {name: scores(folder, file) for file, name in SETS.items()}
    unseen["timm, transferred"] = [one for file in TRANSFERS for one in scores(folder, file)]
    unseen["traced steps, spec-only"] = of_steps(steps["spec-only"])
    unseen["traced steps, transferred"] = of_steps(steps["transferred"])
    owned = {f"{name}, owned": scores(folder, f"{file}-owned") for file, name in SETS.items()}
    owned["traced steps, calibrated"] = of_steps(steps["calibrated"])
    rows = [line(name, found) for name, found in unseen.items()]
    rows.append(line("**all, unseen**", [one for found in unseen.values() for one in found], name_them=False))
    rows += [line(name, found) for name, found in owned.items()]
    rows.append(line("**all, owned**", [one for found in owned.values() for one in found], name_them=False))
    return "\n".join((*HEAD, *rows))


def scores(folder: Path, file: str) -> list[Score]:
    """Those of single GPUs."""
    found = json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))["scores"]
    each = [one for one in found if one["gpu"] not in ("pooled", "mean of GPUs") and one["width"]]
    return [one | {"half": sqrt(one["width"])} for one in each]


def of_steps(level: Mapping[str, Any]) -> list[Score]:
    """The same of traced steps, whose file names cards only."""
    return [
        {"gpu": gpu, "part": "", "coverage": share, "tolerance": tolerance(level["rows_by_card"][gpu]),
         "half": exp(level["half_by_card"][gpu])}
        for gpu, share in level["coverage_by_card"].items()
    ]  # fmt: skip


def line(name: str, found: Sequence[Score], *, name_them: bool = True) -> str:
    """One row of the table."""
    inside = [INSIDE[0] <= one["coverage"] <= INSIDE[1] for one in found]
    chance = [is_chance(one["coverage"], *one["tolerance"]) for one in found]
    outside = [one for one, *good in zip(found, inside, chance, strict=True) if not any(good)]
    named = ", ".join(f"{short(one)} {100 * one['coverage']:.0f} %" for one in outside) if name_them else ""
    mean = sum(one["coverage"] for one in found) / len(found)
    half = sum(one["half"] for one in found) / len(found)
    cells = (name, len(found), sum(inside), sum(chance), f"{100 * mean:.0f} %", f"{half:.2f}", named)
    return f"| {' | '.join(map(str, cells))} |"


def is_chance(share: float, low: float, high: float) -> bool:
    """Whether a share of rows is within the range."""
    return low - 1e-9 <= share <= high + 1e-9


def short(one: Score) -> str:
    """The GPU with its part, where that says more."""
    return f"{one['gpu']} ({one['part']})" if one["part"] else str(one["gpu"])


if __name__ == "__main__":
    main()
