"""Score predictions on public measurements in the open, beside the simple rivals and those of the file.

Protocols, fixed before fitting; no row of what is held out is used to predict it:

    none      shipped parameters: a GPU that was not among the fitted ones is spec-only
    gpu       refit without the GPU, for each GPU            family   without its whole family
    model     refit without the network (or its family of names); more than twelve are dealt into ten
              folds by the CRC-32 of their name
    owned     as gpu, times one factor from that card's other networks
    transfer  from another GPU's measurement of the same configuration, refit without the scored GPU

The half width of a fold's interval comes from the errors of the other folds alone (cross-conformal).
Refusals are counted, and once more as failures: an error of 100 %.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import InputError, NoDataError
from gpuwise.predict import calibrate
from gpuwise.predict.interval import half_width, shipped_half
from gpuwise.predict.rates import document, shipped
from gpuwise.predict.sets import eager, gemm, power, serving, training, vision
from gpuwise.predict.sets.case import Case, Row

Array = NDArray[np.float64]
Holdout = Literal["none", "gpu", "family", "model"]
SETS: Mapping[str, ModuleType] = {
    "neusight": eager, "timm": vision, "lambda": training, "serving": serving, "power": power, "gemm": gemm,
}  # fmt: skip
_MOST_FOLDS = 12
_DEALT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Of every case: the figure or NaN, the fold it was left out in, and what it rests on."""

    cases: tuple[Case, ...]
    values: Array
    halves: Array
    """Half widths of the intervals in log space."""
    folds: tuple[str, ...]
    evidence: tuple[str, ...]
    rivals: Mapping[str, Array]
    """Simple predictors fitted on the same folds, and the file's own columns."""


def load(path: Path, name: str) -> list[Case]:
    """Cases of a CSV file, gzipped or not, with the columns of the set.

    Raises InputError for a file that cannot be read or lacks a column.
    """
    module = _module(name)
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}", hint="give a CSV file with --data") from error
    rows: list[Row] = list(csv.DictReader(io.StringIO(text)))
    if not rows:
        raise InputError(f"{path} has no rows", hint="give a CSV file with a header and rows")
    try:
        if module is gemm:
            return gemm.read(rows, "fp8" if "fp8" in path.name else "bf16")
        return cast(list[Case], module.read(rows))
    except KeyError as error:
        raise InputError(f"{path} has no column {error} of the set {name!r}", hint="see --set") from error


def _module(name: str) -> ModuleType:
    if name not in SETS:
        raise InputError(f"no set is called {name!r}", hint=f"sets: {', '.join(SETS)}")
    return SETS[name]


def predict_all(
    name: str, cases: Sequence[Case], *, holdout: Holdout = "none", owned: bool = False,
    transfer: str | None = None,
) -> Predictions:  # fmt: skip
    """Every case predicted under a protocol; see the module's text."""
    peers, every = list[Case](), list(cases)
    if transfer:
        cases, peers = _transferable(cases, transfer)
    module, folds = _module(name), _folds(cases, holdout)
    values = np.full(len(cases), np.nan)
    rivals = {rival: np.full(len(cases), np.nan) for rival in _SIMPLE}
    evidence = ["spec-only"] * len(cases)
    for fold in sorted(set(folds)):
        test = [i for i, found in enumerate(folds) if found == fold]
        train = _kept(every, holdout, fold)
        parameters = shipped(_group(name, cases)) if holdout == "none" else _fit(module, train, fold)
        values[test] = module.predict(parameters, [cases[i] for i in test])
        known = document()["groups"][_group(name, cases)]["constants"] if holdout == "none" else None
        for rival, found in _simple([cases[i] for i in test], known or constants(train)).items():
            rivals[rival][test] = found
        if transfer:
            values[test] = _transfer(module, parameters, [cases[i] for i in test], [peers[i] for i in test])
            evidence = ["transferred"] * len(cases)
    if holdout == "none":
        evidence = _evidence(_group(name, cases), cases)
    if owned:
        values, evidence = with_own_factor(cases, values), ["calibrated"] * len(cases)
    values[[bool(case.refusal) for case in cases]] = np.nan
    halves = _halves(cases, values, folds, None if holdout != "none" else (_group(name, cases), evidence))
    return Predictions(
        cases=tuple(cases), values=values, halves=halves, folds=tuple(folds), evidence=tuple(evidence),
        rivals=rivals | _stated(cases),
    )  # fmt: skip


def _kept(cases: Sequence[Case], holdout: Holdout, fold: str) -> list[Case]:
    """What may be fitted on: nothing of the fold."""
    if holdout == "none":
        return []
    return [case for case, own in zip(cases, _folds(cases, holdout), strict=True) if own != fold]


def _group(name: str, cases: Sequence[Case]) -> str:
    """Parameters are apart for fp8 products: other kernels."""
    return "gemm.fp8" if name == "gemm" and any(case.dtype == "fp8" for case in cases) else name


def _fit(module: ModuleType, train: Sequence[Case], fold: str) -> Mapping[str, float]:
    usable = [case for case in train if not case.refusal]
    if not usable:
        raise NoDataError(
            f"nothing is left to fit on without {fold}", hint="leave out --holdout: shipped parameters"
        )
    return cast(Mapping[str, float], module.fit(usable))


def _folds(cases: Sequence[Case], holdout: Holdout) -> list[str]:
    if holdout == "none":
        return ["all"] * len(cases)
    if holdout == "model":
        groups = [case.group or case.model for case in cases]
        if len(set(groups)) <= _MOST_FOLDS:
            return groups
        return [f"fold {crc32(group.encode()) % _DEALT}" for group in groups]
    if holdout == "family":
        return [case.card.family if case.card else "unknown" for case in cases]
    return [case.card.id if case.card else "unknown" for case in cases]


def _evidence(group: str, cases: Sequence[Case]) -> list[str]:
    """Calibrated where rows of the card were among the fitted ones."""
    fitted = set(document()["groups"][group]["cards"])
    return ["calibrated" if case.card and case.card.id in fitted else "spec-only" for case in cases]


def _halves(
    cases: Sequence[Case], values: Array, folds: Sequence[str], known: tuple[str, Sequence[str]] | None
) -> Array:
    """Half widths: shipped ones by evidence, or from the errors of the other folds."""
    if known is not None:
        return np.array(
            [shipped_half(_part(known[0], case), level) for case, level in zip(cases, known[1], strict=True)]
        )
    errors = np.log(values / np.array([case.measured for case in cases]))
    cards, parts = [case.card.id if case.card else "" for case in cases], [case.part for case in cases]
    halves = np.full(len(cases), np.nan)
    for fold, part in sorted(set(zip(folds, parts, strict=True))):
        own = [i for i, key in enumerate(zip(folds, parts, strict=True)) if key == (fold, part)]
        for kin in (True, False):  # errors of the same part where other folds have any, else of all
            other = [i for i in range(len(cases)) if folds[i] != fold and (not kin or parts[i] == part)]
            if other and np.isfinite(errors[other]).any():
                halves[own] = half_width(errors[other], [cards[i] for i in other])
                break
    return halves


def _part(group: str, case: Case) -> str:
    """The group of shipped half widths: of the part where it has its own."""
    own = f"{group}:{case.part}"
    return own if own in document()["groups"] else group


def with_own_factor(cases: Sequence[Case], values: Array) -> Array:
    """Each figure times a factor from the same card's other networks in the same part."""
    together: dict[tuple[str, str], dict[str, list[int]]] = {}
    for i, case in enumerate(cases):
        if case.card is not None and np.isfinite(values[i]):
            networks = together.setdefault((case.card.id, case.part), {})
            networks.setdefault(case.group or case.model, []).append(i)
    found = values.copy()
    measured = np.array([case.measured for case in cases])
    for networks in together.values():
        for network, own in networks.items():
            other = [i for name, at in networks.items() if name != network for i in at]
            found[own] *= calibrate.own_factor(measured[other], values[other])
    return found


def _transferable(cases: Sequence[Case], transfer: str) -> tuple[list[Case], list[Case]]:
    """Cases of other GPUs whose configuration was measured on `transfer`, each with that measurement."""
    at_source: dict[str, list[Case]] = {}
    for case in cases:
        if transfer in (case.gpu, case.card.id if case.card else "") and case.key and not case.refusal:
            at_source.setdefault(case.key, []).append(case)
    pairs = [
        (case, min(at_source[case.key], key=lambda peer: (peer.dtype != case.dtype, _apart(peer, case))))
        for case in cases
        if case.key in at_source and case.card != at_source[case.key][0].card
    ]
    if not pairs:
        raise NoDataError(f"no row of {transfer!r} can be transferred", hint="name a GPU of the file")
    return [case for case, _ in pairs], [peer for _, peer in pairs]


def _apart(a: Case, b: Case) -> float:
    return abs(a.version - b.version)


def _transfer(
    module: ModuleType, parameters: Mapping[str, float], cases: list[Case], peers: list[Case]
) -> Array:
    """Figures of `cases` from the measurements of `peers`, the same work on another card."""
    there, here = module.predict(parameters, cases), module.predict(parameters, peers)
    ratios = np.log(there / here)
    reference = float(np.median(ratios[np.isfinite(ratios)])) if np.isfinite(ratios).any() else None
    own = np.array([peer.measured for peer in peers])
    return calibrate.transferred(own, here, there, reference)


def _roofline(case: Case) -> float:
    assert case.card is not None
    return max(case.flop / case.card.peak(case.dtype), case.moved / case.card.bytes_per_s)


def _by_flops(case: Case) -> float:
    assert case.card is not None
    return case.flop / case.card.peak(case.dtype)


def _by_bandwidth(case: Case) -> float:
    assert case.card is not None
    return case.moved / case.card.bytes_per_s


def _by_limit(case: Case) -> float:
    assert case.card is not None
    return case.card.power_w


_SIMPLE: Mapping[str, Callable[[Case], float]] = {
    "roofline": _roofline, "FLOPS ratio": _by_flops, "bandwidth ratio": _by_bandwidth,
    "share of limit": _by_limit,
}  # fmt: skip


def constants(train: Sequence[Case]) -> dict[str, float]:
    """One constant for each simple rival from these rows; the roofline's is that of the unit."""
    found = {}
    watts = any(case.dtype == "watts" for case in train)
    for name, rule in _SIMPLE.items():
        if (name == "share of limit") != watts:
            continue
        scores = [(rule(c), c) for c in train if c.card and not c.refusal and c.measured > 0]
        ratios = [np.log(c.measured / value) for value, c in scores if value > 0]
        if ratios:
            median = float(np.median(ratios))
            found[name] = float(np.exp(median)) if name != "roofline" else _unit(median)
    return found


def _unit(constant: float) -> float:
    """The power of a thousand (s or ms) nearest to a fitted constant: a roofline has no other."""
    return float(1000.0 ** max(0, round(constant / np.log(1000.0))))


def _simple(test: Sequence[Case], known: Mapping[str, float]) -> dict[str, Array]:
    """The one-line rivals' figures."""
    return {
        name: np.array([constant * _SIMPLE[name](c) if c.card and not c.refusal else np.nan for c in test])
        for name, constant in known.items()
    }


def _stated(cases: Sequence[Case]) -> dict[str, Array]:
    """Predictions of other tools that the file holds."""
    names = sorted({name for case in cases for name in case.rivals})
    return {f"{name} (file)": np.array([case.rivals.get(name, np.nan) for case in cases]) for name in names}
