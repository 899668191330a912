"""Fit the classes of kernels to single operators that were timed on one card and to profiled steps of the
zoo's dev families, and write them as the package's data.

    python -m evaluation.predict.classes results/operators/h200.json --zoo results/zoo --traces FOLDER

Every case is recorded without a GPU, and its kernels' seconds on matrix units, vector lanes and memory
(`gpuwise.predict.time.basis`) are brought to the measured ones by factors of their classes. A class departs
from the one above it as far as its cases insist (ridge regression of logarithms). The spread of a class is
that of its cases when they are left out, in five folds of shapes; with `--families`, profiled cases are left
out by families of networks instead.

The zoo's networks come from the libraries that measured them (`evaluation.predict.zoo`); `--traces` keeps
what was recorded. Blind families are never fitted.
"""

from __future__ import annotations

import argparse
import csv
import json
import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.predict import zoo
from evaluation.predict.profiles import Case, cases, profiles
from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict import classes, rates
from gpuwise.predict.card import Card, card
from gpuwise.predict.kernels import arrays
from gpuwise.predict.time import SOFTENED, basis, latency
from gpuwise.predict.trace import trace_operator
from gpuwise.workloads import operators

Array = NDArray[np.float64]
NAMES = ("arithmetic", "vector", "memory", "latency")
"""What a class has a factor of."""
USUAL = {"arithmetic": 1.0, "vector": 2.0, "memory": 1.03, "latency": 1.0}
SPREADS = {"arithmetic": 0.7, "vector": 1.2, "memory": 0.12, "latency": 0.2}
"""How far a class may depart from the one above it, as a logarithm."""
SIGMA = 0.08
"""Usual error of a case."""
LEAST_SPREAD = 0.06
COMPILED = (1.0, 6.0, 1.15, 1.5, 0.25)
"""Of generated code, and its spread: no operator is compiled alone, so these were set on the kernels of six
compiled networks of the zoo's dev families."""
ITERATIONS = 12
PROFILED = 0.5
"""Weight of a case of a profiled step: the many cases of one network are alike."""


def recorded(names: Sequence[str]) -> dict[str, Trace]:
    """The traces of the cases of these names."""
    found = {}
    for case in operators.cases():
        if case.name not in names:
            continue
        found[case.name] = trace_operator(case.make)
    return found


def profiled(folder: Path, traces: Path | None) -> Iterator[tuple[str, str, Case]]:
    """Cases of the eager steps of dev families that were profiled, each with its family and a name. A
    compiler's kernels are no operators', so they are left away."""
    rows = [row for row in zoo.rows(folder, "dev") if not row["compiled"]]
    found = profiles(folder, (row["key"] for row in rows))
    for row in rows:
        trace = zoo.kept(row, traces) if row["key"] in found else None
        if trace is None:
            continue
        for work, case in cases(trace, found[row["key"]]).items():
            yield row["family"], " ".join((row["key"], *map(str, work))), case


def shape_of(name: str) -> str:
    """What cases that are left out together share: of an operator's name all but its pass, which comes last,
    of profiled work all but its last size."""
    return name.rpartition(" ")[0]


class Fit:
    """The cases as arrays, and the tree of their classes."""

    def __init__(
        self, traces: Mapping[str, Sequence[Kernel]], measured: Mapping[str, float], own: Card
    ) -> None:
        self.names = [name for name in measured if traces[name]]
        kernels = [kernel for name in self.names for kernel in traces[name]]
        self.case = np.repeat(np.arange(len(self.names)), [len(traces[name]) for name in self.names])
        step, on = arrays(kernels), rates.usual(own)
        self.parts, self.waits = basis(step, own, on), step.waits * on["sync"]
        self.counts = step.counts
        self.latency = latency(own, on["launch"])
        self.measured = np.array([measured[name] for name in self.names])
        self.paths = [("any", *classes.path(kernel, compiled=False)) for kernel in kernels]
        members: dict[str, list[int]] = defaultdict(list)
        for i, path in enumerate(self.paths):
            for node in path:
                members[node].append(i)
        # A class with the same cases as the one above it says nothing more.
        steps = [step for path in self.paths for step in pairwise(path)]
        single = {node for above, node in steps if members[above] == members[node]}
        self.paths = [tuple(node for node in path if node not in single) for path in self.paths]
        self.nodes = sorted({node for path in self.paths for node in path})
        place = {node: i for i, node in enumerate(self.nodes)}
        self.places = [[place[node] for node in path] for path in self.paths]
        # A product's own model has its launch.
        self.launched = np.where(self.parts[0] > 0, 0.02, 1.0)

    def seconds(self, factors: Array) -> Array:
        """Seconds of each case, from the factors of each kernel (a row each of `NAMES`)."""
        parts = sum(
            (part * factor) ** SOFTENED for part, factor in zip(self.parts, factors[:3], strict=True)
        ) ** (1.0 / SOFTENED)
        each = self.counts * (parts + factors[3] * self.latency * self.launched + self.waits)
        return np.asarray(np.bincount(self.case, each, len(self.names)), dtype=np.float64)

    def factors(self, deviations: Array) -> Array:
        usual = np.log([USUAL[name] for name in NAMES])[:, None]
        totals = np.array([[row[places].sum() for places in self.places] for row in deviations])
        return np.asarray(np.exp(usual + totals))

    def fit(self, weights: Array, start: Array | None = None) -> Array:
        """Deviations of every class, a row each of `NAMES`: Gauss and Newton's steps, halved where they
        fail."""
        shape = (len(NAMES), len(self.nodes))
        spread = np.repeat([[SPREADS[name]] for name in NAMES], shape[1], axis=1).ravel()
        found = np.zeros(spread.size) if start is None else start.ravel().copy()

        def loss(x: Array) -> tuple[float, Array]:
            errors = weights * np.log(self.seconds(self.factors(x.reshape(shape))) / self.measured) / SIGMA
            return float((errors**2).sum() + ((x / spread) ** 2).sum()), errors

        value, errors = loss(found)
        for _ in range(ITERATIONS):
            slopes = self.slopes(found.reshape(shape)) * (weights / SIGMA)[:, None]
            curved = slopes.T @ slopes + np.diag(1.0 / spread**2)
            step = np.linalg.solve(curved, slopes.T @ errors + found / spread**2)
            size = 1.0
            while size > 0.05 and (ahead := loss(found - size * step))[0] > value:
                size /= 2.0
            gain, (value, errors) = value - ahead[0], ahead
            found = found - size * step
            if gain < 1e-3 * value:
                break
        return np.asarray(found.reshape(shape))

    def slopes(self, deviations: Array) -> Array:
        """Derivatives of the logarithm of each case's seconds: a factor moves the cases whose kernels have
        it."""
        factors = self.factors(deviations)
        powers = np.array([(p * f) ** SOFTENED for p, f in zip(self.parts, factors[:3], strict=True)])
        total = powers.sum(axis=0)
        bound = total ** (1.0 / SOFTENED)
        each = [bound * power / np.maximum(total, 1e-300) for power in powers]
        each.append(factors[3] * self.latency * self.launched)
        seconds = self.seconds(factors)
        rows = np.zeros((len(self.names), len(NAMES), len(self.nodes)))
        for i, part in enumerate(each):
            share = self.counts * part / seconds[self.case]
            for kernel, places in enumerate(self.places):
                rows[self.case[kernel], i, places] += share[kernel]
        return rows.reshape(len(self.names), -1)

    def left_out(self, whole: Array, weights: Array, groups: Sequence[str], folds: int = 5) -> Array:
        """log(predicted / measured) of every case, fitted without the cases of its group."""
        order = {group: i for i, group in enumerate(dict.fromkeys(groups))}
        fold = np.array([order[group] % folds for group in groups])
        errors = np.zeros(len(self.names))
        for part in range(folds):
            found = self.fit(np.where(fold == part, 0.0, weights), whole)
            seconds = self.seconds(self.factors(found))
            errors[fold == part] = np.log(seconds / self.measured)[fold == part]
        return errors

    def spreads(self, deviations: Array, errors: Array) -> dict[str, float]:
        """Of each class: the errors of its left-out cases, and how its parts lie around it."""
        at: dict[str, list[float]] = defaultdict(list)
        for i, path in enumerate(self.paths):
            for node in path:
                at[node].append(float(errors[self.case[i]]))
        # Few cases say little of the next: their spread is drawn to that of the class above.
        found: dict[str, float] = {}
        for path in sorted({p[: i + 1] for p in self.paths for i in range(len(p))}, key=len):
            above = found.get(path[-2], 0.5) if len(path) > 1 else 0.5
            own = np.array(at[path[-1]])
            square = (float((own**2).sum()) + 2.0 * above**2) / (len(own) + 2.0)
            found[path[-1]] = max(LEAST_SPREAD, square**0.5)
        return found


def write(fit: Fit, deviations: Array, spreads: Mapping[str, float], path: Path) -> None:
    """A row for each class: its own factors, those of the classes above included."""
    parents = {p[i]: p[: i + 1] for p in fit.paths for i in range(len(p))}
    place = {node: i for i, node in enumerate(fit.nodes)}
    counts: dict[str, set[int]] = defaultdict(set)
    for i, steps in enumerate(fit.paths):
        for node in steps:
            counts[node].add(int(fit.case[i]))
    matrix = {node for i, steps in enumerate(fit.paths) for node in steps[1:] if fit.parts[0][i] > 0}
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("class", *NAMES, "spread", "rows"))
        table.writerow(("compiled", *COMPILED, len(fit.names)))
        for node in fit.nodes:
            values = []
            for i, name in enumerate(NAMES):
                total = sum(deviations[i, place[each]] for each in parents[node])
                value = USUAL[name] * float(np.exp(total))
                if name == "latency" and node in matrix:
                    value *= 0.02
                values.append(f"{value:.3g}")
            table.writerow((node, *values, f"{spreads[node]:.3g}", len(counts[node])))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("operators", type=Path)
    parser.add_argument("--zoo", type=Path, help="folder with the profiles; without it, operators alone")
    parser.add_argument("--gpu", default="h200-sxm")
    parser.add_argument("--traces", type=Path, help="folder that keeps traces")
    parser.add_argument("--families", action="store_true", help="leave families of networks out")
    parser.add_argument("-o", "--output", type=Path, default=classes.DATA)
    asked = parser.parse_args()
    rows = json.loads(asked.operators.read_text(encoding="utf-8"))["rows"]
    kept = asked.traces / "operators.pkl" if asked.traces else None
    if kept is not None and kept.exists():
        traces = pickle.loads(kept.read_bytes())
    else:
        traces = recorded(tuple(rows))
        if kept is not None:
            kept.write_bytes(pickle.dumps(traces))
    kernels = {name: trace.kernels for name, trace in traces.items()}
    measured = {name: values[0] for name, values in rows.items()}
    families: dict[str, str] = {}
    for family, name, (launched, seconds) in profiled(asked.zoo, asked.traces) if asked.zoo else ():
        families[name], kernels[name], measured[name] = family, launched, seconds
    fit = Fit(kernels, measured, card(asked.gpu))
    of_steps = np.array([name in families for name in fit.names])
    weights = np.where(of_steps, PROFILED, 1.0)
    found = fit.fit(weights)
    errors = np.log(fit.seconds(fit.factors(found)) / fit.measured)
    groups = [families[n] if asked.families and n in families else shape_of(n) for n in fit.names]
    left = fit.left_out(found, weights, groups)
    for what, at in (("operators", ~of_steps), ("profiled steps", of_steps)):
        for how, values in (("fitted", errors[at]), ("left out", left[at])):
            if not len(values):
                continue
            size = np.abs(np.expm1(values))
            mean, median, most = size.mean(), np.median(size), np.quantile(size, 0.95)
            print(
                f"{len(size)} cases of {what}, {how}: mean error {mean:.1%}, median {median:.1%}, "
                f"95 % within {most:.1%}"
            )
    write(fit, found, fit.spreads(found, left), asked.output)
    worst = sorted(zip(np.abs(left), left, fit.names, strict=True), reverse=True)[:40]
    for _, error, name in worst:
        print(f"{np.exp(error):7.2f} {name}")


if __name__ == "__main__":
    main()
