"""Score predictions on public measurements in the open, beside the simple rivals and those of the file.

Protocols, fixed before fitting; no row of what is held out is used to predict it:

    none      shipped parameters: a GPU that was not among the fitted ones is spec-only
    gpu       refit without the GPU, for each GPU            family   without its whole family
    model     refit without the network (or its family of names); more than twelve are dealt into ten
              folds by the CRC-32 of their name
    owned     as gpu, times one factor from that card's other networks, which also set its interval's width
    transfer  from another GPU's measurement of the same configuration, refit without the scored GPU

The half width of a fold's interval comes from the errors of the other folds alone, of an owned card also
from its own other networks (`cross`).
Refusals are counted, and once more as failures: an error of 100 %.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from evaluation.predict import cross, rivals, shipped
from evaluation.predict.case import Case, Row
from evaluation.predict.sets import eager, gemm, power, serving, training, vision
from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.model.result import grouped

Array = NDArray[np.float64]
# Bytes of a file, unpacked: the largest of the public ones has some 30 MB.
LARGEST = 2**26
# Of a table; each that is no column of the set is looked for among all names of GPUs.
MOST_COLUMNS = 200
Holdout = Literal["none", "gpu", "family", "model"]
SETS: Mapping[str, ModuleType] = {
    "neusight": eager, "timm": vision, "lambda": training, "serving": serving, "power": power, "gemm": gemm,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Of every case: the figure or NaN, the fold it was left out in, and what it rests on."""

    cases: tuple[Case, ...]
    values: Array
    halves: Array
    """Half widths of the intervals in log space, on the side where the measured figure lies."""
    folds: tuple[str, ...]
    evidence: tuple[str, ...]
    rivals: Mapping[str, Array]
    """Simple predictors fitted on the same folds, and the file's own columns."""


def load(path: Path, name: str) -> list[Case]:
    """Cases of a CSV file, gzipped or not, with the columns of the set.

    Raises InputError for a file that cannot be read or lacks a column.
    """
    module = _module(name)
    data = store.read(path, largest=LARGEST, hint="give a CSV file with --data")
    try:
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(data)) as packed:
                data = packed.read(LARGEST + 1)
            if len(data) > LARGEST:
                raise InputError(f"{path} unpacks to more than {LARGEST / 1e6:,.0f} MB", hint="give a part")
        rows: list[Row] = list(csv.DictReader(io.StringIO(store.decoded(data, path.name))))
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}", hint="give a CSV file with --data") from error
    if not rows:
        raise InputError(f"{path} has no rows", hint="give a CSV file with a header and rows")
    # DictReader collects cells beyond the header under the key None.
    if len(rows[0]) > MOST_COLUMNS or any(None in row for row in rows):
        raise InputError(
            f"{path} is not a table: a line has more cells than its header, or {MOST_COLUMNS}",
            hint="give a CSV file",
        )
    try:
        if module is gemm:
            return gemm.read(rows, "fp8" if "fp8" in path.name else "bf16")
        return cast(list[Case], module.read(rows))
    except KeyError as error:
        raise InputError(f"{path} has no column {error} of the set {name!r}", hint="see --set") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InputError(
            f"{path} has a cell that is no number it can be: {error}", hint="see --set"
        ) from error


def _module(name: str) -> ModuleType:
    if name not in SETS:
        raise InputError(f"no set is called {name!r}", hint=f"sets: {', '.join(SETS)}")
    return SETS[name]


def predict_all(
    name: str, cases: Sequence[Case], *, holdout: Holdout = "none", owned: bool = False,
    transfer: str | None = None,
) -> Predictions:  # fmt: skip
    """Every case predicted under a protocol; see the module's text."""
    split = _Split(module=_module(name), group=_group(name, cases), cases=tuple(cases), holdout=holdout)
    asked, peers = _transferable(cases, transfer) if transfer else (list(cases), None)
    values, folds = split.predict(asked, peers), split.folds(asked)
    evidence = split.evidence(asked) if transfer is None else ["transferred"] * len(asked)
    if owned:
        values, evidence = cross.with_own_factor(asked, values), ["calibrated"] * len(asked)
    known = cross.errors_of(asked, values, [frozenset({fold}) for fold in folds])
    if hasattr(split.module, "halves"):  # those that `predict` gives
        halves = split.module.halves(asked, evidence, peers, values)
    elif holdout == "none":
        halves = _shipped_halves(split.group, asked, evidence)
    else:
        halves = cross.unseen(known, folds, split.transfers() if transfer else known)
    if owned:
        halves = cross.owned(known, halves, cross.networks_of(asked))
    return Predictions(
        cases=tuple(asked), values=values, halves=halves, folds=tuple(folds), evidence=tuple(evidence),
        rivals=split.rivals(asked) | rivals.stated(asked),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Split:
    """Cases in folds, with parameters that were fitted without each fold, once."""

    module: ModuleType
    group: str
    cases: tuple[Case, ...]
    holdout: Holdout
    _fits: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """Parameters by the fold they were fitted without."""

    @cached_property
    def _fold_of(self) -> Mapping[int, str]:
        return dict(zip(map(id, self.cases), _folds(self.cases, self.holdout), strict=True))

    def folds(self, asked: Sequence[Case]) -> list[str]:
        return [self._fold_of[id(case)] for case in asked]

    def _parameters(self, fold: str) -> Mapping[str, float]:
        if not hasattr(self.module, "fit"):  # predicted as shipped: nothing is fitted to the set
            return {}
        if self.holdout == "none":
            return shipped.parameters(self.group)
        if fold not in self._fits:
            self._fits[fold] = _fit(self.module, self._kept(fold), fold)
        return self._fits[fold]

    def _kept(self, fold: str) -> list[Case]:
        """What may be fitted on: nothing of the fold."""
        return [case for case in self.cases if self._fold_of[id(case)] != fold]

    def predict(self, asked: Sequence[Case], peers: Sequence[Case] | None) -> Array:
        """The figure of each case, from the measurement of its peer where there are peers; NaN if refused."""
        values = np.full(len(asked), np.nan)
        for fold, at in _places(self.folds(asked)):
            parameters, test = self._parameters(fold), [asked[i] for i in at]
            if peers is None:
                values[at] = self.module.predict(parameters, test)
            else:
                values[at] = _transfer(self.module, parameters, test, [peers[i] for i in at])
        values[[bool(case.refusal) for case in asked]] = np.nan
        return values

    def transfers(self) -> cross.Errors:
        """Errors between all pairs of cards: one of neither card is known of the pair that is asked for."""
        found = []
        for source in sorted({case.card.id for case in self.cases if case.card is not None}):
            try:
                asked, peers = _transferable(self.cases, source)
            except NoDataError:
                continue
            pairs = zip(self.folds(asked), self.folds(peers), strict=True)
            errors = cross.errors_of(asked, self.predict(asked, peers), [frozenset(pair) for pair in pairs])
            found.append(replace(errors, cards=np.array([f"{source} > {card}" for card in errors.cards])))
        return cross.joined(found)

    def evidence(self, asked: Sequence[Case]) -> list[str]:
        """Calibrated where rows of the card were among those fitted and shipped."""
        known = shipped.groups().get(self.group, {"cards": ()})
        fitted = set(known["cards"]) if self.holdout == "none" else set()
        return ["calibrated" if case.card and case.card.id in fitted else "spec-only" for case in asked]

    def rivals(self, asked: Sequence[Case]) -> dict[str, Array]:
        """Simple predictors of the same cases, fitted on the same folds."""
        found = {name: np.full(len(asked), np.nan) for name in rivals.SIMPLE}
        for fold, at in _places(self.folds(asked)):
            stated = shipped.groups().get(self.group, {}).get("constants") if self.holdout == "none" else None
            known = stated or rivals.constants(self._kept(fold) or list(asked))
            for name, values in rivals.simple([asked[i] for i in at], known).items():
                found[name][at] = values
        return found


def _places(folds: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Each fold with where its cases stand."""
    return sorted(grouped((fold, i) for i, fold in enumerate(folds)).items())


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
        return cross.dealt(cross.networks_of(cases))
    if holdout == "family":
        return [case.card.family if case.card else "unknown" for case in cases]
    return [case.card.id if case.card else "unknown" for case in cases]


def _shipped_halves(group: str, cases: Sequence[Case], evidence: Sequence[str]) -> Array:
    """Half widths as shipped, by part and evidence, times how hard each case is."""
    halves, traits = np.full(len(cases), np.nan), cross.traits_of(cases)
    keys = [(_part(group, case), level) for case, level in zip(cases, evidence, strict=True)]
    for key in set(keys):
        mine = np.array([other == key for other in keys])
        halves[mine] = shipped.half_width(*key) * shipped.difficulty(*key).of(traits[mine])
    return halves


def _part(group: str, case: Case) -> str:
    """The group of shipped half widths: of the part where it has its own."""
    own = f"{group}:{case.part}"
    return own if own in shipped.groups() else group


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
    return np.asarray(np.array([peer.measured for peer in peers]) * there / here)
