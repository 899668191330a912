"""The tables of docs/notes/h200.md, from the raw result files: `python experiments/h200_table.py`.

First one row a workload and mode, one column a precision, eager → compiled; stock and script are
separate tables, and a dash is not measured. Then what tuning found, and the other workloads, one row a
workload, mode and precision. Of equal measurements the one with the narrowest interval is shown, and none
whose interval is wider than ±3 %.
"""

from __future__ import annotations

import json
from pathlib import Path

from gpuwise import Measurement, load, workloads
from gpuwise.facts import recipes
from gpuwise.model.result import Tuned
from gpuwise.model.units import significant
from gpuwise.show.results import measured_speed as interval
from gpuwise.show.table import rate, spread

RESULTS = Path(__file__).parent.parent / "results" / "h200"
FILES = {
    "stock": ("resnet50-tuned.json", "resnet50-tuned-eager.json", "resnet50-tuned-fp32.json",
              "resnet50-compiled-fp32.json", "resnet50-compiled-fp32-infer.json",
              "bert-large-tuned.json"),
    "script": ("resnet50-parity.json", "bert-large-parity.json"),
}  # fmt: skip
TUNED = (
    "resnet50-norms",
    "resnet152-norms",
    "inception-v3-fp16",
    "googlenet-fp16",
    "bert-large-fp16",
    "bert-large-fp8",
)
SUMMARIES = ("resnet50-bf16", "bert-large-bf16")
"""Searches of which what `tune -o` wrote is kept, without the power."""
OTHERS = (
    "workloads-*.json",
    "scenarios-*.json",
    "suite-*.json",
    "full.json",
    "full-*.json",
    "bert-large-fp8-casts.json",
)
WIDEST = 0.03
ROWS = (("resnet50", "train"), ("resnet50", "infer"), ("bert-large", "train"), ("bert-large", "infer"))
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")


def measured(recipe: str) -> dict[str, Measurement]:
    """By cell; where two files hold a cell, the earlier named file wins."""
    found: dict[str, Measurement] = {}
    for name in FILES[recipe]:
        for m in load(RESULTS / name).measurements:
            if m.status == "ok":
                found.setdefault(m.config.key("batch"), m)
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


def found() -> str:
    """One Markdown table of what `gpuwise tune` found: its last two measurements, default and best."""
    lines = [
        "| training, compiled | default recipe | best found | batch | power | its switches |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for name in TUNED:
        # The last two, but for a search that was cut off between them.
        *_, before, after = (m for m in load(RESULTS / f"tune-{name}.json").measurements if m.status == "ok")
        if before.config.recipe == "tuned":
            before, after = after, before
        what = f"{after.config.workload} {after.config.precision}"
        watts = f"{after.telemetry.power_w:.0f} W" if after.telemetry and after.telemetry.power_w else ""
        switches = f"`{after.config.switches}`"
        lines.append(
            f"| {what} | {interval(before)} | {interval(after)} | {after.batch} | {watts} | {switches} |"
        )
    for name in SUMMARIES:
        path = RESULTS.parent / "experiments" / f"tune-{name}.json"
        written = json.loads(path.read_text(encoding="utf-8"))["tuned"]
        lines.append(summary(recipes.loads(json.dumps(written), path.name)))
    return "\n".join(lines)


def summary(tuned: Tuned) -> str:
    """A row of that table from the recipe that `gpuwise tune -o` wrote."""
    item = workloads.get(tuned.workload).spec.item
    before, after = tuned.throughput.value / tuned.gain.value, tuned.throughput
    return (
        f"| {tuned.workload} {tuned.precision} | {rate(before, item)} "
        f"| {rate(after.value, item)}{spread(after)} | {tuned.batch} | | `{tuned.switches}` |"
    )


def others() -> str:
    """One Markdown table of the other workloads: speeds, batch, power, what bounds the faster way."""
    lines = [
        "| workload | batch | eager | compiled | power | bound by |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for (what, batch), ways in sorted(_rows().items()):
        last = ways[max(ways)]
        watts = last.telemetry.power_w if last.telemetry else None
        speeds = " | ".join(interval(ways[way]) if way in ways else "" for way in (False, True))
        bound = last.verdict.bound if last.verdict else ""
        lines.append(f"| {what} | {batch} | {speeds} | {f'{watts:.0f} W' if watts else ''} | {bound} |")
    return "\n".join(lines)


def _rows() -> dict[tuple[str, int], dict[bool, Measurement]]:
    """By workload, mode, precision, tuning and batch: the best measurement eager and compiled; the script's
    rows have a table of their own."""
    rows: dict[tuple[str, int], dict[bool, Measurement]] = {}
    for path in (path for pattern in OTHERS for path in sorted(RESULTS.glob(pattern))):
        for m in load(path).measurements:
            if m.throughput is None or m.config.mode == "limit" or m.config.gpus > 1 or m.status != "ok":
                continue
            if m.config.recipe == "script":
                continue
            what = f"{m.config.workload} {m.config.mode} {m.config.precision}"
            if m.config.recipe == "tuned":
                what += ", tuned"
            if m.config.input == "host":
                what += ", with input"
            ways = rows.setdefault((what, m.batch or 1), {})
            best = ways.get(m.config.compile)
            width = m.throughput.half_width
            if width <= WIDEST and (
                best is None or best.throughput is None or width < best.throughput.half_width
            ):
                ways[m.config.compile] = m
    return {row: ways for row, ways in rows.items() if ways}


if __name__ == "__main__":
    print("\n\n".join((table("stock"), table("script"), found(), others())))
