"""The README's H200 table, from the raw result files: `python experiments/h200_table.py`.

One row a workload, mode and recipe; one column a precision, eager → compiled. Tuned and parity are
separate tables. A dash is not measured.
"""

from __future__ import annotations

from pathlib import Path

from gpuwise import Measurement, load
from gpuwise.units import significant

RESULTS = Path(__file__).parent.parent / "results" / "h200"
FILES = {
    "tuned": ("resnet50-tuned.json", "bert-large-tuned.json", "quick.json"),
    "parity": ("resnet50-parity.json", "bert-large-parity.json"),
}
ROWS = (("resnet50", "train"), ("resnet50", "infer"), ("bert-large", "train"), ("bert-large", "infer"))
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")


def measured(recipe: str) -> dict[str, Measurement]:
    """By cell; where two files hold a cell, the earlier named file wins."""
    found: dict[str, Measurement] = {}
    for name in FILES[recipe]:
        for m in load(RESULTS / name).measurements:
            found.setdefault(m.config.cell, m)
    return found


def speed(m: Measurement | None) -> str:
    """Items per second with three or four digits, batch as a subscript."""
    if m is None or m.throughput is None:
        return "-"
    digits = 4 if m.throughput.value < 1e4 else 5
    return f"{significant(m.throughput.value, digits)} <sub>{m.batch}</sub>"


def table(recipe: str) -> str:
    """One Markdown table."""
    found = measured(recipe)
    lines = [f"| {recipe} | " + " | ".join(PRECISIONS) + " |", "| --- |" + " ---: |" * len(PRECISIONS)]
    for workload, mode in ROWS:
        cells = []
        for precision in PRECISIONS:
            pair = [
                speed(found.get(f"{workload}:{mode}:{precision}:{how}:{recipe}"))
                for how in ("eager", "compiled")
            ]
            cells.append(" → ".join(pair))
        lines.append(f"| {workload} {mode} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table("tuned"))
    print()
    print(table("parity"))
