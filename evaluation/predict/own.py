"""Score step times against the project's own results, from the data sheet alone and with measured limits.

    python -m evaluation.predict.own DATA_FOLDER results/h200/*.json [--since TIME] [--until TIME]

Products are fitted to the tables in the folder without the measured card, so that nothing of it is known;
`--family` leaves out its whole family. `limits` are the card's own large products and copies, from the same
result files. Prints the error of every step, then the summary; `--since` and `--until` (UTC, ISO 8601) choose
steps by when they were measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from evaluation.predict.measured import is_step
from evaluation.predict.protocols import load
from evaluation.predict.sets import gemm
from gpuwise.errors import GpuwiseError
from gpuwise.model.result import Measurement
from gpuwise.predict import trace_store
from gpuwise.predict.card import Card, card
from gpuwise.predict.evidence import with_limits
from gpuwise.predict.rates import Parameters, general
from gpuwise.predict.step import step_seconds
from gpuwise.store import load as load_result

TABLE = "aic_gemm_bfloat16_ms_by_gpu.csv.gz"


def main() -> None:
    """Print predicted over measured throughput of every step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--gpu", default="h200-sxm")
    parser.add_argument("--family", action="store_true")
    parser.add_argument("--since", default="")
    parser.add_argument("--until", default="9999")
    given = parser.parse_args()
    gpu = card(given.gpu)
    parameters = general(without(gpu, given.folder / TABLE, family=given.family))
    measured = list(measurements(given.results))
    limits = with_limits(
        parameters, gpu, products=best(measured, "matmul"), copy=best(measured, "copy")["fp32"]
    )
    asked = [m for m in measured if given.since <= m.started_at < given.until]
    report(gpu, {"spec only": parameters, "limits": limits}, asked)


def without(gpu: Card, table: Path, *, family: bool) -> Parameters:
    """Products fitted to every other card, or every other family."""
    cases = [case for case in load(table, "gemm") if case.card is not None]
    kept = [
        c for c in cases if c.card and c.card.id != gpu.id and not (family and c.card.family == gpu.family)
    ]
    return gemm.fit(kept)


def measurements(paths: list[Path]) -> Iterator[Measurement]:
    """Every measured step of the files that are results."""
    for path in paths:
        try:
            yield from (m for m in load_result(path).measurements if m.status == "ok" and m.throughput)
        except GpuwiseError:
            continue


def best(measured: list[Measurement], workload: str) -> Mapping[str, float]:
    """The median rate of a limit by format."""
    found: dict[str, list[float]] = {}
    for m in measured:
        if m.config.workload == workload and m.throughput:
            found.setdefault(m.config.precision, []).append(m.throughput.value)
    return {precision: float(np.median(values)) for precision, values in found.items()}


def report(gpu: Card, levels: Mapping[str, Parameters], measured: list[Measurement]) -> None:
    """One line a step: its throughput and predicted / measured at each level."""
    errors: dict[str, list[float]] = {level: [] for level in levels}
    for m in measured:
        if not is_step(m) or m.config.gpus > 1 or not m.throughput:
            continue
        trace = trace_store.obtain(m.config, m.batch)
        line = f"{m.config.workload:12} {m.config.recipe:7} {m.config.mode:6} {m.config.precision:5} "
        line += f"{m.batch:5} {'compiled' if m.config.compile else 'eager':9} {m.throughput.value:9.1f}"
        for level, parameters in levels.items():
            ratio = trace.items / step_seconds(trace, gpu, parameters) / m.throughput.value
            errors[level].append(float(np.log(ratio)))
            line += f"  {level} x{ratio:.2f}"
        print(line)
    for level, logs in errors.items():
        each = np.abs(np.exp(-np.array(logs)) - 1.0)
        print(f"{level}: {len(each)} steps, MAPE {each.mean():.1%}, median {np.median(each):.1%}, "
              f"bias x{np.exp(-np.mean(logs)):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
