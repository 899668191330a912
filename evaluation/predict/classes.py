"""Fit what the zoo and single operators say: the classes of kernels, what the host takes, and how wide an
interval a new network needs. One command writes all that is shipped of it.

    python -m evaluation.predict.classes results/operators/h200.json --zoo results/zoo --zoo results/zoo-h100
        --own results/h200 --traces FOLDER

Classes: every case is recorded without a GPU, and its kernels' seconds on matrix units, vector lanes and
memory (`gpuwise.predictor.step.basis`) are brought to the measured ones by factors of their classes. Cases
are the single operators, and operators of profiled eager steps of the zoo. A class departs from the one
above it as far as its cases insist (ridge regression of logarithms). Cases of another card are priced there,
as `step.kernel_seconds` does. The spread of a class is that of its cases when they are left out: operators by
shape, profiled ones by family of networks.

Host: seconds of a call, a function and a launch of each kind, from whole steps with the bare launch of their
run, and that beside each (least squares of softened logarithms, drawn to `USUAL_HOST`).

Interval: in the same folds, each step is predicted by classes and host that were fitted without its family.
The spread of hosts and the factor on spreads are those with which 80 % of such steps lie inside, of those
that the host bounds and of those that the GPU does.

`--host PATTERN` fits the host's seconds of matching names alone, `--part PATTERN` the classes, drawn to what
is shipped, by single operators, our own steps and the zoos that are named: new rows, or a class that is
parted. An operator counts less than a whole step, whose many kernels even out how far each lies from its
class.

Families that are held (`zoo.DRAW`) are in none of it: `evaluation.predict.zoo --split held` scores
them; after that, `--held` fits to them as well, and the next session draws anew. The zoo's networks come from
the libraries that measured them; `--traces` keeps what was recorded.
"""

from __future__ import annotations

import argparse
import csv
import json
import pickle
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize
from scipy.sparse import csr_matrix

from evaluation.predict import cross, measured, zoo
from evaluation.predict.profiles import Case, cases, profiles
from gpuwise.facts import catalog
from gpuwise.model.result import grouped
from gpuwise.predictor import kernels as classes
from gpuwise.predictor import rates
from gpuwise.predictor import step as step_module
from gpuwise.predictor.card import Card, card
from gpuwise.predictor.kernels import Kernel, Trace, arrays, of_trace
from gpuwise.predictor.rates import LEVEL, Rates
from gpuwise.predictor.step import (
    SOFTENED,
    basis,
    host_waits,
    latency,
    paced,
)
from gpuwise.predictor.trace import trace_operator
from gpuwise.workloads import operators

Array = NDArray[np.float64]
NAMES = ("arithmetic", "vector", "memory", "latency")
"""What a class has a factor of."""
USUAL = {"arithmetic": 1.0, "vector": 2.0, "memory": 1.03, "latency": 1.0}
SPREADS = {"arithmetic": 0.35, "vector": 0.6, "memory": 0.12, "latency": 0.2}
"""How far a class may depart from the one above it, as a logarithm."""
SIGMA = 0.08
"""Usual error of a case."""
LEAST_SPREAD = 0.06
FIXED = 1e-4
"""Spread of a class that is not fitted."""
COMPILED, COMPILED_SPREAD = (1.0, 17.0, 1.06, 0.8), 0.25
"""Where the classes of generated code begin, and their spread: no operator is compiled alone, so whole steps
alone say more, and those set on the kernels of six compiled networks."""
FAR = 0.3
"""Error of a case beyond which it counts less."""
SEVERAL, SEVERAL_SPREAD = "grouped (uneven|odd|long)", 1.0
"""Classes of convolutions that are several kernels, whose launches differ more."""
GPU_BOUND = 0.03
"""Share of a step that waits for the host up to which its time is that of its kernels."""
LONGER = 1.1
"""By how much a step may take longer than its profiled kernels; beyond that others ran."""
ITERATIONS = 12
GENERATED = "generated"
"""How names of cases end that are all kernels which a compiler made of a step."""
PROFILED, WHOLE = 0.5, 1.5
"""Weights of a case of a profiled step, for the many cases of one network are alike, and of a whole step."""
ALONE, OWN = 0.35, 2.25
"""Of an operator and of our own steps: operators scatter by a quarter around a class."""


def recorded(names: Sequence[str]) -> dict[str, Trace]:
    """The traces of the cases of these names."""
    found = {}
    for case in operators.cases():
        if case.name not in names:
            continue
        found[case.name] = trace_operator(case.make)
    return found


def profiled(
    rows: Sequence[zoo.Row], folder: Path, traces: Path | None
) -> Iterator[tuple[zoo.Row, str, Case]]:
    """Cases of steps that were profiled, each with its row and a name. A step that the GPU bounds takes 2.6 %
    longer than the kernels of its profile, for two steps find a cooler card: so do they here."""
    found = profiles(folder, (row["key"] for row in rows))
    for row in rows:
        trace = zoo.kept(row, traces) if row["key"] in found else None
        if trace is None:
            continue
        profile, longer = found[row["key"]], 1.0
        if is_bound(trace, card(row["gpu"]), row["run_launch_s"] / rates.LAUNCH_S):
            seconds = sum(took for name, _, took in profile["kernels"] if "Memcpy HtoD" not in name)
            longer = min(max(row["step_s"] * profile["steps"] / seconds * 1e6, 1.0), LONGER)
        for work, (kernels, took) in cases(trace, profile).items():
            yield row, " ".join((row["key"], *map(str, work))), (kernels, took * longer)


def shape_of(name: str) -> str:
    """What cases that are left out together share: of an operator's name all but its pass, which comes last,
    of profiled work all but its last size."""
    return name.rpartition(" ")[0]


@dataclass(frozen=True, slots=True)
class Timed:
    """A case: kernels that together took so many seconds of the GPU."""

    kernels: Sequence[Kernel]
    seconds: float
    group: str
    """What is left out together."""
    card: Card
    weight: float = 1.0
    trace: Trace | None = None
    """Of a whole step: its clock is that of its power."""
    compiled: bool = False


class Fit:
    """The cases as arrays, and the tree of their classes."""

    def __init__(self, cases: Mapping[str, Timed], *, shipped: bool = False) -> None:
        self.names = [name for name, case in cases.items() if case.kernels]
        self.cases = [cases[name] for name in self.names]
        steps = [arrays(case.kernels, compiled=case.compiled) for case in self.cases]
        cards = [case.card for case in self.cases]
        self.case = np.repeat(np.arange(len(steps)), [len(case.kernels) for case in self.cases])
        priced = (basis(s, own, rates.usual(own)) for s, own in zip(steps, cards, strict=True))
        self.parts = [np.concatenate(parts) for parts in zip(*priced, strict=True)]
        beside = (step_module.beside(s, own) for s, own in zip(steps, cards, strict=True))
        self.slower, self.hidden = (np.concatenate(each) for each in zip(*beside, strict=True))
        self.waits = np.concatenate([s.waits for s in steps]) * exp(rates.GENERAL["sync"])
        self.counts = np.concatenate([s.counts for s in steps])
        heavy = np.concatenate([s.heavy for s in steps])
        clocks = [clock(c.trace, c.card, c.seconds) if c.trace else 1.0 for c in self.cases]
        self.slowed = np.where(heavy, 1.0 / np.array(clocks)[self.case], 1.0)
        self.measured = np.array([case.seconds for case in self.cases])
        self.weights = np.array([case.weight for case in self.cases])
        self.paths = [
            path if path[0] == "compiled" else ("any", *path)
            for case in self.cases
            for path in (classes.path(kernel, compiled=case.compiled) for kernel in case.kernels)
        ]
        members: dict[str, list[int]] = defaultdict(list)
        for i, path in enumerate(self.paths):
            for node in path:
                members[node].append(i)
        # A class with the same cases as the one above it says nothing more.
        pairs = [step for path in set(self.paths) for step in pairwise(path)]
        single = {node for above, node in pairs if members[above] == members[node] and not shipped}
        self.paths = [tuple(node for node in path if node not in single) for path in self.paths]
        self.nodes = sorted({node for path in set(self.paths) for node in path})
        place = {node: i for i, node in enumerate(self.nodes)}
        lengths = [len(path) for path in self.paths]
        at = np.array([place[node] for path in self.paths for node in path])
        kernels = np.repeat(np.arange(len(self.paths)), lengths)
        shape = (len(self.paths), len(self.nodes))
        self.member = csr_matrix((np.ones(len(at)), (kernels, at)), shape=shape)
        """Which classes each kernel has."""
        self.of_case = csr_matrix(
            (np.ones(len(self.case)), (self.case, np.arange(len(self.case)))),
            shape=(len(self.names), len(self.case)),
        )
        roots = np.array([path[0] == "compiled" for path in self.paths])
        usual = np.log([[USUAL[name]] for name in NAMES])
        self.usual = np.where(roots, np.log(COMPILED)[:, None], usual)
        # A product's own model has its launch.
        launches = np.array([latency(own, rates.usual(own)["launch"]) for own in cards])[self.case]
        several = np.array([any(re.search(SEVERAL, node) for node in path) for path in self.paths])
        own_launch = (self.parts[0] > 0) & ~several
        self.launched = np.where(own_launch, 0.02, 1.0) * launches
        self.matrix = {
            node for path, of in zip(self.paths, own_launch, strict=True) if of for node in path[1:]
        }
        """Classes of what has a model of its own."""
        shape = (len(NAMES), len(self.nodes))
        self.centre = np.zeros(shape)
        """Deviations that are expected, and how far from them they may be."""
        self.spread = np.repeat([[SPREADS[name]] for name in NAMES], shape[1], axis=1)
        of_several = [bool(re.search(SEVERAL, node)) for node in self.nodes]
        self.spread[NAMES.index("latency"), of_several] = SEVERAL_SPREAD

    def powers(self, factors: Array) -> Array:
        """Seconds of each kernel's parts to the power of `SOFTENED`, on its card."""
        arithmetic, vector, memory, _ = factors
        here = step_module.slowed(arithmetic, self.slower), vector, step_module.hidden(memory, self.hidden)
        return np.array([(part * factor) ** SOFTENED for part, factor in zip(self.parts, here, strict=True)])

    def seconds(self, factors: Array) -> Array:
        """Seconds of each case, from the factors of each kernel (a row each of `NAMES`)."""
        parts = self.powers(factors).sum(axis=0) ** (1.0 / SOFTENED)
        each = self.counts * self.slowed * (parts + factors[3] * self.launched + self.waits)
        return np.asarray(np.bincount(self.case, each, len(self.names)), dtype=np.float64)

    def factors(self, deviations: Array) -> Array:
        return np.asarray(np.exp(self.usual + (self.member @ deviations.T).T))

    def draw_to_shipped(self, part: str, *, anew: bool) -> None:
        """Expect every class as it is shipped, and leave those alone whose names do not match `part`; `anew`
        where its kernels were others when it was fitted."""
        rows, spreads = _shipped_rows(), np.array([SPREADS[name] for name in NAMES])
        for path in set(self.paths):
            above = self.usual[:, self.paths.index(path)]
            for node in path:
                own = classes.table().get(node)
                launch = 0.02 if node in self.matrix else 1.0
                here = above if own is None else np.log([
                    own.arithmetic, own.vector, own.memory, own.latency / launch
                ])  # fmt: skip
                at = self.nodes.index(node)
                self.centre[:, at] = here - above
                if not re.search(part, node):
                    self.spread[:, at] = FIXED
                elif node in rows and not anew:  # the more cases told it, the better it is known
                    self.spread[:, at] = spreads / max(1, int(rows[node]["rows"])) ** 0.5
                above = here

    def fit(self, weights: Array, start: Array | None = None) -> Array:
        """Deviations of every class, a row each of `NAMES`: Gauss and Newton's steps, halved where they
        fail. A step that is far off counts less, as one whose kernels are not what the trace says."""
        whole = np.array([case.trace is not None or case.compiled for case in self.cases])
        shape, spread, centre = self.centre.shape, self.spread.ravel(), self.centre.ravel()
        found = (self.centre if start is None else start).ravel().copy()

        def errors(x: Array) -> Array:
            return np.asarray(np.log(self.seconds(self.factors(x.reshape(shape))) / self.measured))

        def loss(x: Array, trust: Array) -> float:
            drawn = (x - centre) / spread
            return float(((trust * errors(x) / SIGMA) ** 2).sum() + (drawn**2).sum())

        for _ in range(ITERATIONS):
            left = errors(found)
            trust = weights / np.sqrt(1.0 + np.where(whole, left / FAR, 0.0) ** 2)
            slopes = self.slopes(found.reshape(shape)) * (trust / SIGMA)[:, None]
            curved = slopes.T @ slopes + np.diag(1.0 / spread**2)
            pull = slopes.T @ (trust * left / SIGMA) + (found - centre) / spread**2
            step = np.linalg.solve(curved, pull)
            size, value = 1.0, loss(found, trust)
            while size > 0.05 and (ahead := loss(found - size * step, trust)) > value:
                size /= 2.0
            found = found - size * step
            if value - ahead < 2e-3 * value:
                break
        return np.asarray(found.reshape(shape))

    def slopes(self, deviations: Array) -> Array:
        """Derivatives of the logarithm of each case's seconds: a factor moves the cases whose kernels have
        it."""
        factors = self.factors(deviations)
        powers = self.powers(factors)
        total = powers.sum(axis=0)
        bound = total ** (1.0 / SOFTENED)
        each = [bound * power / np.maximum(total, 1e-300) for power in powers]
        # Of what a kernel takes beyond its part, less counts on slower cards.
        extra, beyond = factors[0] - 1.0, factors[2] ** SOFTENED * self.hidden**SOFTENED
        each[0] = each[0] * np.where(extra > 0, factors[0] * self.slower / (1.0 + extra * self.slower), 1.0)
        each[2] = each[2] * np.where(factors[2] > 1.0, beyond / (1.0 + beyond - self.hidden**SOFTENED), 1.0)
        each.append(factors[3] * self.launched)
        seconds = self.seconds(factors)
        shares = [self.counts * self.slowed * part / seconds[self.case] for part in each]
        columns = [
            (self.of_case @ self.member.multiply(share[:, None]).tocsr()).toarray() for share in shares
        ]
        return np.concatenate(columns, axis=1)

    def spreads(self, deviations: Array, errors: Array) -> dict[str, float]:
        """Of each class: the errors of its left-out cases, and how its parts lie around it."""
        at: dict[str, list[float]] = defaultdict(list)
        for i, path in enumerate(self.paths):
            # A whole step's error is that of no class in it, but of generated code nothing else is known.
            if self.cases[self.case[i]].trace is None or path[0] == "compiled":
                for node in path:
                    at[node].append(float(errors[self.case[i]]))
        # Few cases say little of the next: their spread is drawn to that of the class above.
        found: dict[str, float] = {}
        for path in sorted({p[: i + 1] for p in self.paths for i in range(len(p))}, key=len):
            above = (
                found.get(path[-2], 0.5)
                if len(path) > 1
                else COMPILED_SPREAD
                if path[0] == "compiled"
                else 0.5
            )
            own = np.array(at[path[-1]])
            if path[0] == "compiled" or not len(own):
                found[path[-1]] = above
                continue
            square = (float((own**2).sum()) + 2.0 * above**2) / (len(own) + 2.0)
            # Beside how cases lie around the mean, how well so few of them tell it.
            found[path[-1]] = max(LEAST_SPREAD, (square * (1.0 + 1.0 / len(own))) ** 0.5)
        return found


def write(
    fit: Fit, deviations: Array, spreads: Mapping[str, float], path: Path, part: str | None = None
) -> None:
    """A row for each class: its own factors, those of the classes above included. Of the shipped table only
    the classes of a `part` change."""
    counts: dict[str, set[int]] = defaultdict(set)
    for i, steps in enumerate(fit.paths):
        for node in steps:
            counts[node].add(int(fit.case[i]))
    known = {name: list(row.values()) for name, row in _shipped_rows().items()} if part else {}
    place = {node: i for i, node in enumerate(fit.nodes)}
    parents = {p[i]: p[: i + 1] for p in set(fit.paths) for i in range(len(p))}
    for node in fit.nodes:
        if part and not re.search(part, node):
            continue
        above = parents[node]
        usual = COMPILED if above[0] == "compiled" else tuple(USUAL.values())
        total = deviations[:, [place[each] for each in above]].sum(axis=1)
        values = np.array(usual) * np.exp(total) * (1, 1, 1, 0.02 if node in fit.matrix else 1)
        spread, often = f"{spreads[node]:.3g}", str(len(counts[node]))
        if node in known and int(often) < int(known[node][-1]):  # more cases have told how far they scatter
            *_, spread, often = known[node]
        known[node] = [node, *(f"{value:.3g}" for value in values), spread, often]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("class", *NAMES, "spread", "rows"))
        table.writerows(known[node] for node in sorted(known))


def _shipped_rows() -> Mapping[str, Mapping[str, str]]:
    return {row["class"]: row for row in catalog.rows(classes.DATA)}


# Microseconds of the host before any step was looked at: a dispatch of 2 to 3, a launch of 5 to 15.
USUAL_HOST: Mapping[str, float] = {
    "call": 2.5, "function": 0.5, "launch": 10.0, "gradient": 40.0, "generated": 10.0, "handed": 60.0,
    "entered": 500.0,
}  # fmt: skip
HOST_SIGMA, HOST_PRIOR, POWER, POWER_PRIOR = 0.2, 1.2, 0.8, 0.3
"""Error of a step beyond which it counts less; how far seconds and power may depart from the usual ones."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the zoo with its trace and, by one fit of the classes, the seconds of its kernels."""

    row: zoo.Row
    trace: Trace
    each: Array
    usual: Rates
    """On its card."""

    def seconds(self, on: Rates) -> float:
        return float(self.each.sum()) + host_waits(self.trace, self.each, on)

    def error(self, host: Mapping[str, float], speed: float = 1.0) -> float:
        """log(predicted / measured) with these microseconds, `speed` times as long as usual."""
        on = {**self.usual, "host": speed, **{f"host.{name}": each * 1e-6 for name, each in host.items()}}
        return float(np.log(self.seconds(on) / self.row["step_s"]))

    def slower(self, power: float) -> float:
        """The host against the usual one, by its launches in this run and, to a power, beside this row."""
        run: float = self.row["run_launch_s"]
        return float(run / rates.LAUNCH_S * (self.row["launch_s"] / run) ** power)


def priced(known: Sequence[tuple[zoo.Row, Trace]], table: Path) -> list[Step]:
    """The steps by the classes of a table."""
    found = []
    with using(table):
        for row, trace in known:
            own, usual = card(row["gpu"]), rates.usual(card(row["gpu"]))
            each = of_trace(trace).counts * paced(trace, own, usual)[0]
            found.append(Step(row, trace, each, usual))
    return found


@contextmanager
def using(table: Path) -> Iterator[None]:
    """The classes of a table in place of the shipped ones."""
    with mock.patch.object(classes, "DATA", table):
        _forget()
        yield
    _forget()


def _forget() -> None:
    for remembered in (classes.table, classes.of_trace, step_module._usual):
        remembered.cache_clear()


def fit_host(
    steps: Sequence[Step], fixed: Mapping[str, float] | None = None
) -> tuple[dict[str, float], float]:
    """Microseconds of what the host does, but for those that are `fixed`, and the power with which a bare
    launch tells of its step."""
    fixed = fixed or {}
    names = [name for name in USUAL_HOST if name not in fixed]
    start = np.log([USUAL_HOST[name] for name in names])

    def residuals(x: Array) -> Array:
        host, power = {**fixed, **dict(zip(names, np.exp(x[:-1]), strict=True))}, float(x[-1])
        errors = np.array([step.error(host, step.slower(power)) for step in steps])
        drawn = [*((x[:-1] - start) / HOST_PRIOR), (power - POWER) / POWER_PRIOR]
        return np.concatenate([np.arcsinh(errors / HOST_SIGMA), drawn])

    found = least_squares(residuals, np.append(start, POWER), diff_step=1e-3).x
    host = zip(names, np.exp(found[:-1]), strict=True)
    return {**fixed, **{name: float(f"{each:.3g}") for name, each in host}}, round(float(found[-1]), 3)


def refit_host(part: str, known: Sequence[tuple[zoo.Row, Trace]]) -> None:
    """Write the host's seconds whose names match, by the steps that they move."""
    shipped = rates.HOST["microseconds"]
    fixed = {name: each for name, each in shipped.items() if not re.search(part, name)}
    other = {name: each * (1 if name in fixed else 2) for name, each in shipped.items()}
    steps = [step for step in priced(known, classes.DATA) if step.error(shipped) != step.error(other)]
    fold, left = np.array([crc32(step.row["family"].encode()) % 6 for step in steps]), np.zeros(len(steps))
    for i in sorted(set(fold)):
        host, _ = fit_host([step for step, of in zip(steps, fold, strict=True) if of != i], fixed)
        for at in np.flatnonzero(fold == i):
            left[at] = steps[at].error(host, steps[at].slower(0.0))
    said("steps as shipped", np.array([step.error(shipped, step.slower(0.0)) for step in steps]))
    said("the same, family left out", left)
    how = f"{rates.HOST['how'].partition(';')[0]}; --host {part}"
    document = {**rates.HOST, "how": how, "microseconds": {**shipped, **fit_host(steps, fixed)[0]}}
    rates.HOST_DATA.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def novelty(known: Sequence[tuple[Step, float]], table: Path) -> float:
    """The factor on the spread of classes with which steps that the GPU bounds lie inside their intervals as
    often as `LEVEL` says; the errors are of steps whose family was left out."""
    beyond = []
    with using(table):
        for step, error in known:
            own = card(step.row["gpu"])
            found = step_module.spent(step.trace, own, step.usual)
            if found.waits < GPU_BOUND * found.seconds:
                rest = error**2 - rates.step_half("spec-only") ** 2
                beyond.append(max(0.0, rest) ** 0.5 / found.spread)
    return round(float(np.quantile(beyond, LEVEL)), 2)


FEW_ROWS = 10


def hosts(
    known: Sequence[Step], host: Mapping[str, float], new: float, *, calibrated: bool
) -> dict[str, list[float]]:
    """mode -> the quickest and the slowest host, over the predicted one, with which intervals of steps have
    the best score: their width in log space, and the tenfold of what lies outside of 80 % (Gneiting & Raftery
    2007). Each machine weighs the same, but for few rows; the next is as far off as Student's t has it.
    `calibrated` steps are those of machines with a file, by what was read there before."""
    known = [step for step in known if step.row["calibration"] or not calibrated]
    machine = [str(step.row["calibration" if calibrated else "machine"]) for step in known]
    machines = Counter((place, step.row["mode"]) for place, step in zip(machine, known, strict=True))
    seconds = {f"host.{name}": each * 1e-6 for name, each in host.items()}
    cases: dict[str, list[tuple[Step, Rates, float, float]]] = defaultdict(list)
    for place, step in zip(machine, known, strict=True):
        on, own = {**step.usual, **seconds}, None
        if calibrated:
            with zoo.calibrated(step.row):
                own = rates.of_card(step.row["gpu"])
            assert own is not None
            on["host"] *= own.host
            factors = classes.factors(step.trace.kernels, own.factors, compiled=step.trace.compiled)
            step = replace(step, each=step.each * factors)
        found = step_module.spent(step.trace, card(step.row["gpu"]), on, own)
        base = rates.step_half("calibrated" if calibrated else "spec-only")
        half = float(np.hypot(base, new * found.spread))
        cases[step.row["mode"]].append((step, on, half, 1.0 / machines[place, step.row["mode"]]))

    def score(factors: Array, mode: str) -> float:
        total = 0.0
        for step, on, half, weight in cases[mode]:
            predicted = step.seconds(on)
            quick, slow = (step.seconds({**on, "host": on["host"] * factor}) for factor in np.exp(factors))
            low, high = (np.hypot(half, np.log(ratio)) for ratio in (predicted / quick, slow / predicted))
            error = float(np.log(step.row["step_s"] / predicted))
            total += weight * (low + high + 2.0 / (1.0 - LEVEL) * max(0.0, -error - low, error - high))
        return total

    found_of = {}
    for mode in sorted(cases):
        ends = minimize(score, (-0.3, 0.4), (mode,), method="Nelder-Mead", options={"xatol": 0.005}).x
        few = cross.few_cards(sum(of == mode for _, of in machines), 1.0, LEVEL)
        ends = ends.mean() + few * (ends - ends.mean())
        found_of[mode] = [round(float(end), 2) for end in np.exp(ends)]
    return found_of


def said(what: str, errors: Array) -> None:
    size = np.abs(np.expm1(errors))
    print(
        f"{len(size)} {what}: mean error {size.mean():.1%}, median {np.median(size):.1%}, "
        f"95 % within {np.quantile(size, 0.95):.1%}; bias {np.median(errors):+.2f}",
        flush=True,
    )


def clock(trace: Trace, own: Card, seconds: float) -> float:
    """That a whole step which took so many seconds holds under the power limit, over the boost clock: by the
    shipped classes as far as they share the time between what computes and the rest."""
    kernels, on = of_trace(trace), rates.usual(own)
    each, _ = paced(trace, own, on)
    each = each * seconds / float(each @ kernels.counts)
    # What is slowed took less at the boost clock; some rounds settle it.
    found = 1.0
    for _ in range(6):
        found = step_module.clock(trace, kernels, own, on, np.where(kernels.heavy, each * found, each))
    return found


FAMILIES = {
    "googlenet": "inception", "vit": "vision_transformer", "llm": "llama",
}  # fmt: skip
"""Our own networks by the zoo's families, where names differ: those are in the fit (`zoo.OWN`)."""


def own_steps(folder: Path, own: Card) -> Iterator[tuple[str, Timed]]:
    """The project's own steps of the card that the GPU bounds, each network's as one family."""
    rows_of_card = (row for row in measured.own(sorted(folder.glob("*.json"))) if row.gpu == own.id)
    found = grouped(((row.cell, row.batch), row) for row in rows_of_card)
    for (cell, batch), rows in found.items():
        trace, family = measured.trace_of(rows[0]), FAMILIES.get(rows[0].network, rows[0].network)
        if trace is None:
            continue
        seconds = float(np.median([trace.items / row.measured for row in rows]))
        if not is_bound(trace, own):
            continue
        whole = Timed(trace.kernels, seconds, family, own, OWN, trace, compiled=trace.compiled)
        yield f"{cell}:b{batch}", whole
        # In 32 bits cuDNN changes the order of images beside what is generated.
        made = [kernel for kernel in trace.kernels if kernel.kind not in classes.LIBRARY]
        shares = [
            sum(took for kind, took in row.kernels.items() if kind not in classes.LIBRARY)
            / sum(row.kernels.values())
            for row in rows
            if row.kernels and trace.compiled and trace.precision in classes.HALF
        ]
        if shares:
            took = float(np.median(shares)) * seconds
            yield (
                f"{cell}:b{batch} {GENERATED}",
                replace(whole, kernels=made, seconds=took, weight=WHOLE, trace=None),
            )


def refit_part(part: str, known: Mapping[str, Timed], *, anew: bool = False) -> None:
    """Write the classes of a part, by the operators and steps that have such kernels."""
    cases = {
        name: case
        for name, case in known.items()
        if any(
            re.search(part, node) for k in case.kernels for node in classes.path(k, compiled=case.compiled)
        )
    }
    # What a profile says of the part is not mixed with what other kernels of the step are off by.
    apart = {
        name for name, case in cases.items() if case.trace and any(n.startswith(f"{name} ") for n in cases)
    }
    cases = {name: case for name, case in cases.items() if name not in apart}
    fit = Fit(cases, shipped=True)
    fit.draw_to_shipped(part, anew=anew)
    of_step = np.array([case.trace is not None for case in fit.cases])

    def errors(deviations: Array) -> Array:
        return np.asarray(np.log(fit.seconds(fit.factors(deviations)) / fit.measured))

    whole, left = fit.fit(fit.weights), np.zeros(len(fit.names))
    fold = np.array([crc32(case.group.encode()) % 3 for case in fit.cases])
    for i in range(3):
        left[fold == i] = errors(fit.fit(np.where(fold == i, 0.0, fit.weights), whole))[fold == i]
    for what, found in (("as shipped", errors(fit.centre)), ("fitted", errors(whole)), ("left out", left)):
        said(f"operators {what}", found[~of_step])
        said(f"whole steps {what}", found[of_step])
    write(fit, whole, fit.spreads(whole, left), classes.DATA, part)


def ship_hosts(known: Sequence[tuple[zoo.Row, Trace]], document: dict[str, Any]) -> None:
    """Write what predictions know of the host, with how far hosts differ."""
    steps = priced(known, classes.DATA)
    for name, calibrated in (("hosts", False), ("calibrated", True)):
        document[name] = hosts(steps, document["microseconds"], document["novelty"], calibrated=calibrated)
    rates.HOST_DATA.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=1))


def is_bound(trace: Trace, own: Card, host: float = 1.0) -> bool:
    """Whether a host that takes so many times the usual seconds hardly holds the GPU up."""
    found = step_module.spent(trace, own, {**rates.usual(own), "host": host})
    return found.waits < GPU_BOUND * found.seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("operators", type=Path)
    parser.add_argument("--zoo", type=Path, default=[], action="append", help="rows and profiles of a card")
    parser.add_argument("--own", type=Path, required=True, help="folder with the project's results")
    parser.add_argument("--gpu", default="h200-sxm")
    parser.add_argument("--traces", type=Path, help="folder that keeps traces")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--held", action="store_true", help="fit to held families too, once they are scored")
    parser.add_argument("--part", help="fit only classes whose name matches, beside those shipped")
    parser.add_argument("--host", help="fit only the host's seconds whose name matches")
    parser.add_argument("--anew", action="store_true", help="do not hold the part to what is shipped of it")
    parser.add_argument("--widths", action="store_true", help="fit only how far hosts differ")
    asked = parser.parse_args()
    own = card(asked.gpu)
    if asked.widths:
        every = [row for folder in asked.zoo for row in zoo.rows(folder, "all")]
        ship_hosts([(row, made) for row in every if (made := zoo.kept(row, asked.traces))], dict(rates.HOST))
        return
    if asked.host:
        every = [row for folder in asked.zoo for row in zoo.rows(folder, "all" if asked.held else "seen")]
        refit_host(asked.host, [(row, made) for row in every if (made := zoo.kept(row, asked.traces))])
        return
    timed = json.loads(asked.operators.read_text(encoding="utf-8"))["rows"]
    kept = asked.traces / "operators.pkl" if asked.traces else None
    if kept is not None and kept.exists():
        traces = pickle.loads(kept.read_bytes())
    else:
        traces = recorded(tuple(timed))
        if kept is not None:
            kept.write_bytes(pickle.dumps(traces))
    split = "all" if asked.held else "seen"
    cases = {
        name: Timed(trace.kernels, timed[name][0], shape_of(name), own, ALONE)
        for name, trace in traces.items()
    }
    known: list[tuple[zoo.Row, Trace]] = []
    for folder in asked.zoo:
        rows = list(zoo.rows(folder, split))
        for row, name, (kernels, seconds) in profiled(rows, folder, asked.traces):
            weight = WHOLE if name.endswith(GENERATED) else PROFILED
            cases[f"{folder.name} {name}"] = Timed(
                kernels, seconds, row["family"], card(row["gpu"]), weight, compiled=row["compiled"]
            )
        for row in rows:
            trace = zoo.kept(row, asked.traces)
            if trace is None:
                continue
            known.append((row, trace))
            if is_bound(trace, card(row["gpu"]), row["run_launch_s"] / rates.LAUNCH_S):
                cases[f"{folder.name} {row['key']}"] = Timed(
                    trace.kernels,
                    row["step_s"],
                    row["family"],
                    card(row["gpu"]),
                    WHOLE,
                    trace,
                    compiled=trace.compiled,
                )
    cases |= dict(own_steps(asked.own, own))
    if asked.part:
        refit_part(asked.part, cases, anew=asked.anew)
        return
    fit = Fit(cases)
    print(f"{len(fit.names)} cases, {len(fit.nodes)} classes, {len(fit.case)} kernels", flush=True)
    whole = fit.fit(fit.weights)
    groups = sorted({case.group for case in fit.cases} | {row["family"] for row, _ in known})
    random.Random(zoo.DRAW).shuffle(groups)
    fold = {group: i % asked.folds for i, group in enumerate(groups)}
    part = np.array([fold[case.group] for case in fit.cases])
    left, apart, after = np.zeros(len(fit.names)), list[tuple[Step, float]](), list[tuple[Step, float]]()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "classes.csv"
        plain = dict.fromkeys(fit.nodes, 0.5)
        for i in range(asked.folds):
            found = fit.fit(np.where(part == i, 0.0, fit.weights), whole)
            left[part == i] = np.log(fit.seconds(fit.factors(found)) / fit.measured)[part == i]
            write(fit, found, plain, table)
            steps = priced(known, table)
            host, _ = fit_host([s for s in steps if fold[s.row["family"]] != i])
            # As a user's host, whose launch nobody measured.
            mine = [s for s in steps if fold[s.row["family"]] == i]
            apart += [(s, s.error(host)) for s in mine]
            after += [(s, s.error(host, s.slower(0.0))) for s in mine]
    of_step = np.array([case.trace is not None for case in fit.cases])
    of_own = of_step & np.array([not name.startswith("zoo") for name in fit.names])
    of_profile = np.array([case.trace is None and case.weight != ALONE for case in fit.cases])
    said("operators, left out", left[~of_step & ~of_profile])
    said("operators of profiled steps, left out", left[of_profile])
    said("our own steps that the GPU bounds, network left out", left[of_own])
    said("steps of the zoo, family left out", np.array([error for _, error in apart]))
    said("the same with the launch of their run", np.array([error for _, error in after]))
    write(fit, whole, fit.spreads(whole, left), classes.DATA)
    host, power = fit_host(priced(known, classes.DATA))
    print(f"a bare launch tells of its step to the power of {power}")
    zoos = " ".join(f"--zoo {folder}" for folder in asked.zoo)
    document = {
        "how": f"python -m evaluation.predict.classes {asked.operators} {zoos} --own {asked.own}"
        + " --held" * asked.held,
        "microseconds": host,
        "novelty": novelty(apart, classes.DATA),
    }
    ship_hosts(known, document)
    alone = {name: values[0] for name, values in timed.items()}
    rates.OPERATORS.write_text(json.dumps(alone, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
