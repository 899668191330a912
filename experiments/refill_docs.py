"""Put what the raw result files say into the pages again, after new measurements or a new model.

    python experiments/refill_docs.py DATA_FOLDER

Scores our own steps (results/predict/own.txt, own-family.txt, steps.json; the intervals that gpuwise ships).
Fills the tables of docs/notes/h200.md, the rows of our own steps and the tables of intervals and of coverage
in docs/notes/predictions.md, and the printed examples of `gpuwise predict` and `gpuwise choose`. Prose that
speaks of a figure is left to its author: `git diff` shows what moved.
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
SUMMARY = re.compile(r"^(spec only|limits): (\d+) steps, MAPE ([\d.]+)%, median ([\d.]+)%", re.MULTILINE)
INTERVALS, COVERAGE = "| what, left out | rows | cards |", "| set, left out | GPUs |"
"""How these tables begin."""
EXAMPLE = re.compile(r"```console\n\$ gpuwise (predict .*)\n((?:.*\n)*?)```")


def main() -> None:
    """Write the pages without results of one's own, and without traces kept by code that is older."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["GPUWISE_HOME"] = home
        refill(sys.argv[1])


def refill(folder: str) -> None:
    """Score, then write both pages."""
    score_own = ("-m", "evaluation.predict.own", folder, *map(str, RAW))
    own, family = printed(*score_own), printed(*score_own, "--family")
    (SCORES / "own.txt").write_text(own, encoding="utf-8")
    (SCORES / "own-family.txt").write_text(family, encoding="utf-8")
    steps = SCORES / "steps.json"
    printed("-m", "evaluation.predict.steps", folder, *map(str, RAW), "-o", str(steps), "--ship")
    fill_h200(script("h200_table.py"))
    lines = SCORED.read_text(encoding="utf-8").splitlines()
    lines = with_table(lines, INTERVALS, scored("steps_table", str(steps)).splitlines())
    lines = with_table(lines, COVERAGE, scored("coverage", str(SCORES)).splitlines())
    page = "\n".join(own_row(line, own, family, score_own) for line in lines) + "\n"
    SCORED.write_text(page, encoding="utf-8")
    PREDICTS.write_text(EXAMPLE.sub(example, PREDICTS.read_text(encoding="utf-8")), encoding="utf-8")
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


def own_row(line: str, own: str, family: str, score_own: Sequence[str]) -> str:
    """The line with today's figures, where it is one of our own steps in the table of scores."""
    times = re.findall(r"(--since|--until) ([\dT:-]+)", line)
    if line.startswith("| our H200 steps (time)"):
        text, level = own, "spec only"
    elif line.startswith("| - without any Hopper"):
        text, level = family, "spec only"
    elif line.startswith("| our H200 steps, calibrated by limits"):
        text, level = own, "limits"
    elif line.startswith("| - ") and times:
        text, level = printed(*score_own, *(word for pair in times for word in pair)), "limits"
    else:
        return line
    n, mape, median = next(found[1:] for found in SUMMARY.findall(text) if found[0] == level)
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    what, _, _, _, p90, covers, goal, rival, reached, command = cells
    if times:
        what = re.sub(r"- \d+ ", f"- {n} ", what)
    if goal:
        over = float(mape) - float(goal.removesuffix(" %"))
        reached = "yes" if over <= 0 else f"no, by {over:.1f}"
    cells = [what, n, f"{mape} %", f"{median} %", p90, covers, goal, rival, reached, command]
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


if __name__ == "__main__":
    main()
