"""Put what the raw result files say into the pages again, after new measurements or a new model.

    python experiments/refill_docs.py DATA_FOLDER

Scores our own steps (results/predict/steps.json; the intervals that gpuwise ships). Fills the tables of
docs/notes/h200.md, that of intervals in docs/notes/predictions.md, that of scores in docs/how-it-predicts.md
(results/predict/scores.md, by `python -m evaluation.predict.score`), and the printed examples of `gpuwise
predict` and `gpuwise choose`. Prose that speaks of a figure is left to its author: see `git diff`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = ROOT / "experiments"
RAW = sorted((ROOT / "results" / "h200").glob("*.json"))
SCORES = ROOT / "results" / "predict"
NOTES = ROOT / "docs" / "notes"
H200, SCORED, PREDICTS = NOTES / "h200.md", NOTES / "predictions.md", ROOT / "docs" / "how-it-predicts.md"
INTERVALS, REACHED = "| what, left out | rows | cards |", "| what | rows | asked |"
"""How these tables begin."""
EXAMPLE = re.compile(r"```console\n\$ gpuwise (predict .*)\n((?:.*\n)*?)```")


def main() -> None:
    """Write the pages without results of one's own, and without traces kept by code that is older."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["GPUWISE_HOME"] = home
        refill(sys.argv[1])


def refill(folder: str) -> None:
    """Score, then write both pages."""
    steps = SCORES / "steps.json"
    printed("-m", "evaluation.predict.steps", folder, *map(str, RAW), "-o", str(steps), "--ship")
    fill_h200(script("h200_table.py"))
    lines = SCORED.read_text(encoding="utf-8").splitlines()
    lines = with_table(lines, INTERVALS, scored("steps_table", str(steps)).splitlines())
    SCORED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = EXAMPLE.sub(example, PREDICTS.read_text(encoding="utf-8")).splitlines()
    lines = with_table(lines, REACHED, (SCORES / "scores.md").read_text(encoding="utf-8").splitlines())
    PREDICTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script("choose_docs.py")


def script(name: str, *arguments: str) -> str:
    """What one of the other scripts prints."""
    return printed(str(HERE / name), *arguments)


def scored(name: str, *arguments: str) -> str:
    """What a module of `evaluation.predict` prints."""
    return printed("-m", f"evaluation.predict.{name}", *arguments)


def example(found: re.Match[str]) -> str:
    """The example with what its command prints today."""
    return f"```console\n$ gpuwise {found[1]}\n{printed('-m', 'gpuwise', *found[1].split()).rstrip()}\n```"


def printed(*words: str) -> str:
    """What a Python of these words prints."""
    command = [sys.executable, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def fill_h200(printed: str) -> None:
    """The tables between their marks, in the order in which they are printed."""
    stock, script, found, others = printed.rstrip("\n").split("\n\n")
    page = H200.read_text(encoding="utf-8")
    for mark, table in (
        ("h200 table", f"{stock}\n\n{script}"),
        ("h200 tuned", found),
        ("h200 others", others),
    ):
        begin, end = f"<!-- {mark} -->\n", f"\n<!-- end of {mark} -->"
        before, _, rest = page.partition(begin)
        page = before + begin + table + end + rest.partition(end)[2]
    H200.write_text(page, encoding="utf-8")


def with_table(lines: Sequence[str], head: str, table: Sequence[str]) -> list[str]:
    """The lines with the table that begins with `head` in place of the old one."""
    first = next(i for i, line in enumerate(lines) if line.startswith(head))
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
    return [*lines[:first], *table, *lines[last:]]


if __name__ == "__main__":
    main()
