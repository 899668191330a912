"""What a card achieves of its peaks, and the energy it takes: sustained clock, efficiencies, watts.

    clock     that at which energy of operations and bytes over their time is what the limit leaves: dynamic
              power grows as V^2 f, which over the usual range of voltages is f to the power `a` of 2 to 3;
              the energy of an operation falls with the process (Horowitz, ISSCC 2014), with the voltage, so
              with how far the boost clock is below what the process runs at, and how units are fed
    rate      peak x clock x efficiency; efficiencies stay in (0, 1]
    watts     busy x active share x limit + (operations x J each + bytes x J each) / time, at most the limit

Parameters are named numbers in log space, shipped in data/parameters.json. `name` holds for all cards;
`name/engine`, `name/family` and `name@card` are the factors by which those that were fitted depart from
it. A family that was not fitted has none: that is what makes its interval wide.

Intervals hold by split conformal prediction on the errors of cards that were left out:

    half width = s x the ceil((n + 1) level) / n quantile of |log(predicted / measured)| / s
    s          = exp(b0 + b1 . z + b2 . z^2)      how hard such work is (`Difficulty`)

(Vovk et al. 2005; Lei et al. 2018; Barber et al. 2021), computed in `evaluation/predict/cross.py`.

What `gpuwise calibrate` timed on an owned card lies in a file a card in the user's folder (`Operators`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, hypot, inf, log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.model.result import Interval
from gpuwise.predictor.card import Card, card
from gpuwise.store import home
from gpuwise.workloads.registry import network

PARAMETERS = Path(__file__).with_name("data") / "parameters.json"
# What the host takes, how far hosts scatter, and what of a new network the interval knows.
HOST_DATA = Path(__file__).with_name("data") / "host.json"
HOST: Mapping[str, Any] = json.loads(HOST_DATA.read_text(encoding="utf-8"))
# `name`, `name/family` or `name@card` -> natural logarithm of the value, or of the factor on it.
Parameters = Mapping[str, float]
Array = NDArray[np.float64]
Values = float | Array
# Values on one card, in SI units or as shares of a peak.
Rates = Mapping[str, float]
# What nothing lifts above 1.
SHARES = frozenset({"matmul", "memory", "wave"})
MATRIX = frozenset({"tf32", "fp16", "bf16", "fp8", "fp4", "int8"})
# Energy of one operation against fp16's: about in proportion to the bits multiplied.
_NARROW = {"tf32": 2.0, "fp8": 0.5, "fp4": 0.3, "int8": 0.5}
# Operations a clock and unit in 16 bits of matrix units that are not held back, of Volta to Blackwell RTX and
# of the A100, to whose products the energy of an operation was fitted.
FULL_RATE, _READ_AT = 1024.0, 2048.0
# Of the power limit, for what a card at work draws beside its arithmetic and memory: clocks, registers and
# caches. Set on the project's own H200, whose copy takes 65 % of its limit; of other cards no step's watts
# were at hand.
ACTIVE_SHARE = 0.4
# Of the boost clock: below it the voltage falls no further.
LEAST_CLOCK = 0.3


@cache
def document() -> Mapping[str, Any]:
    """The shipped parameters with how they were fitted."""
    return dict(json.loads(PARAMETERS.read_text(encoding="utf-8")))


def shipped(group: str) -> Parameters:
    """Fitted parameters of one group of kernels ("eager", "gemm", ...)."""
    return dict(document()["groups"][group]["parameters"])


# What the tables of products do not say. Attention by single warps and the energy of a step's arithmetic and
# bytes are physical priors, not fitted. What the host takes for each thing it does in a step was fitted to
# the zoo's steps (`evaluation.predict.classes`); calibration measures how much slower another host is.
GENERAL: Parameters = {
    "attention": log(0.45),
    "lanes": log(0.2),
    "sync": log(4e-5),
    "host": log(1.0),
    **{f"host.{name}": log(each * 1e-6) for name, each in HOST["microseconds"].items()},
    # Classes of kernels were measured on NVIDIA cards with matrix units. In the fp32 networks of NeuSight's
    # public rows (Lee et al. 2025) kernels take so much longer elsewhere: 43 rows of three CDNA cards, 8 of
    # two Pascal cards, all in the same direction.
    "kernels": log(1.0),
    "kernels/AMD": log(1.30),
    "kernels/Pascal": log(1.16),
    # Steps in 16 bits, but decoding: beside an H100 four of an MI325X took 1.9 to 3.0 (milabench, 2025-02).
    "half": log(1.0),
    "half/AMD": log(2.2),
    # Share of the stated bandwidth that kernels reach which only move bytes, and what fp32 convolutions take
    # of the time on the H200's terms, with a window and without: other cards' operators, P100 and V100 among
    # them (`evaluation.predict.older`). Turing has Volta's libraries; its bandwidth was set on five rows of a
    # T4 (Lee et al. 2025), AMD's is that of products.
    "stream": log(0.893),
    "stream/AMD": log(0.842 / 0.893),
    "stream/Turing": log(0.74 / 0.893),
    "stream/Volta": log(0.84 / 0.893),
    "stream/Pascal": log(0.69 / 0.893),
    "window": 0.0,
    "point": 0.0,
    **{
        f"{kind}/{family}": log(saved)
        for family, both in (("Pascal", (0.48, 0.65)), ("Volta", (0.54, 0.82)), ("Turing", (0.54, 0.82)))
        for kind, saved in zip(("window", "point"), both, strict=True)
    },
}


def general(products: Parameters | None = None) -> Parameters:
    """Parameters for any trace: fitted products, with cold operands, and the priors of the rest."""
    fitted = shipped("gemm") if products is None else products
    return {**GENERAL, **{name: each for name, each in fitted.items() if name.split("/")[0] != "warm"}}


def on_card(parameters: Parameters, card: Card) -> Rates:
    """The parameters on this card: global x engine x family x card."""
    return resolve(parameters, (f"/{card.engine}", f"/{card.family}", f"@{card.id}"))


@cache
def usual(card: Card) -> Rates:
    """The general parameters on this card."""
    return on_card(general(), card)


@cache  # a choice asks for them with each model, format and batch that it tries
def shipped_on(group: str, card: Card) -> Rates:
    """The parameters of one group of kernels on this card."""
    return on_card(shipped(group), card)


def resolve(parameters: Parameters, suffixes: Iterable[str]) -> Rates:
    """Every global parameter times its effects with these suffixes; shares end at 1."""
    endings = tuple(suffixes)
    values = {}
    for name, base in parameters.items():
        if "/" in name or "@" in name:
            continue
        found = exp(base + sum(parameters.get(name + ending, 0.0) for ending in endings))
        values[name] = min(1.0, found) if name.split(".")[0] in SHARES else found
    return values


def held(
    rates: Rates, card: Card, *, compute_j: Values, other_j: Values, busy_s: Values, rest_s: Values = 0.0
) -> Array:
    """Clock over the boost clock at which products and other work keep the power limit.

    `compute_j` joules of arithmetic take `busy_s` at the boost clock, and less of both the slower it is; the
    rest takes `other_j` and `rest_s` at any clock.
    """
    budget, power = (1.0 - ACTIVE_SHARE) * card.power_w, rates["clock.exponent"]
    clock = np.ones_like(np.asarray(busy_s, dtype=float))
    # Newton's method on what is drawn beyond the budget, times the clock: convex, so it comes from above.
    for _ in range(8):
        over = compute_j * clock**power + (other_j - budget * rest_s) * clock - budget * busy_s
        slope = power * compute_j * clock ** (power - 1.0) + other_j - budget * rest_s
        clock = np.where(over > 0.0, clock - over / slope, clock)
    return np.asarray(np.maximum(clock, LEAST_CLOCK))


def energies(rates: Rates, card: Card, dtype: str) -> tuple[float, float]:
    """Joules of an operation in `dtype` at the boost clock, and of a byte from or to memory."""
    byte = rates["energy.stacked" if card.stacked else "energy.byte"]
    return operation_joules(rates, card, dtype), byte * 1e-12


def byte_joules(rates: Rates, card: Card) -> float:
    """Joules of a byte from or to memory of what computes."""
    return rates["step.stacked" if card.stacked else "step.byte"] * 1e-12


def step_joules(rates: Rates, card: Card, dtype: str) -> float:
    """Joules of an operation in `dtype` at the boost clock in a step.

    Matrix units that are fed from registers read operands the more often the fewer operations an instruction
    has, as the side of a cube: 15 public rates of cards that the power limit slows went from 18 to 11 % in
    the mean, each card left out.
    """
    each = operation_joules(rates, card, dtype, "step.matrix")
    if card.engine != "mma" or dtype not in MATRIX:
        return each
    # GeForce cards are held back to half of their rate, by instructions of the same size.
    native = max(
        FULL_RATE, max(card.peaks.get(name, 0.0) for name in ("fp16", "bf16")) / card.units / card.clock_hz
    )
    return float(each * (_READ_AT / native) ** (1.0 / 3.0))


def operation_joules(rates: Rates, card: Card, dtype: str, matrix: str = "energy.matrix") -> float:
    """Joules of an operation in `dtype` at the boost clock; `matrix` names the rate of the matrix units."""
    each = rates[matrix if dtype in MATRIX else "energy.vector"] * _NARROW.get(dtype, 1.0)
    # In picojoules on 7 nm at its usual clock. Samsung's 8 nm is its process of 10, refined (WikiChip).
    process_nm = 10.0 if card.process_nm == 8.0 else card.process_nm
    usual_hz = 1.5e9 * (16.0 / process_nm) ** 0.45  # desktop parts: 1.5 GHz at 16 nm, 2.5 GHz at 5 nm
    voltage = (card.clock_hz / usual_hz) ** (rates["clock.exponent"] - 1.0)
    return each * float(1e-12 * (process_nm / 7.0) ** rates["energy.process"] * voltage)


# Of the limit: a card that waits, and one at work, apart from arithmetic and memory; set on the watts of the
# project's own H200 steps.
LEAST_SHARE, WORK_SHARE = 0.12, 0.48


def mean_watts(
    rates: Rates, card: Card, *, dtype: str, flop: float, moved: float, seconds: float,
    busy: float = 1.0,
) -> float:  # fmt: skip
    """Watts of steps of `seconds` that do `flop` operations in `dtype` and move `moved` bytes; the card is at
    work for the share `busy` of the time."""
    each, byte = energies(rates, card, dtype)
    share = LEAST_SHARE + busy * (WORK_SHARE - LEAST_SHARE)
    return float(min(card.power_w, share * card.power_w + (flop * each + moved * byte) / seconds))


# Steps that were measured: the fastest of each cell and batch.
MEASURED = Path(__file__).with_name("data") / "measured.csv"
ERRORS = Path(__file__).with_name("data") / "errors.json"
LEVEL = 0.8
# Share of a step's time that must be of known kernels.
LEAST_KNOWN = 0.9
# Standard deviations at which a trait is cut off: nothing is extrapolated.
_FARTHEST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """What was learnt of one part of a set."""

    centre: tuple[float, ...]
    spread: tuple[float, ...]
    slopes: tuple[float, ...]  # b0, then b1 and b2

    def of(self, traits: Array) -> Array:
        """s of each row of `traits`; 1 where nothing was learnt."""
        if not self.centre:
            return np.ones(len(traits))
        columns = self.columns(traits, self.centre, self.spread)
        return np.asarray(np.exp(columns @ np.array(self.slopes)))

    @staticmethod
    def columns(traits: Array, centre: Sequence[float], spread: Sequence[float]) -> Array:
        """1, z and z^2 of each row, z cut off at `_FARTHEST`."""
        z = np.clip((traits - np.array(centre)) / np.array(spread), -_FARTHEST, _FARTHEST)
        return np.concatenate([np.ones((len(z), 1)), z, z**2], axis=1)

    @classmethod
    def stated(cls, found: Mapping[str, Sequence[float]] | None) -> Difficulty:
        """As shipped; without traits where there is none."""
        names = ("centre", "spread", "slopes")
        return cls(**{name: tuple(found[name]) if found else () for name in names})


def around(
    value: float, half: float, *, below: float | None = None, level: float = LEVEL, method: str = "conformal"
) -> Interval:
    """The interval of a positive figure, `half` wide in log space, or `below` on its lower side; it always
    contains its point."""
    return Interval(
        value=value, low=value * exp(-(half if below is None else below)),
        high=value * exp(half) if half < 700 else inf, level=level, method=method,
    )  # fmt: skip


def shipped_half(group: str, evidence: str) -> float:
    """Half width of a fitted group at an evidence level, from the shipped errors of left-out cards.

    It is that of a case of difficulty 1 (`shipped_difficulty`). Raises NoDataError where none is known.
    """
    found: dict[str, float] = document()["groups"][group]["half_width"]
    if evidence not in found:
        raise NoDataError(f"no errors are known for {evidence} predictions of {group}")
    return found[evidence]


def shipped_difficulty(group: str, evidence: str) -> Difficulty:
    """What makes a case of a fitted group hard, learnt on all its cards; 1 for all where nothing was."""
    return Difficulty.stated(document()["groups"][group].get("difficulty", {}).get(evidence))


def unknown_half(known: float, unknown: Sequence[str] = ()) -> float:
    """What widens the interval of a step of which only the share `known` is in kernels with a cost: the rest
    may be as slow as all of those together. Raises NoDataError, which names operators without one, below nine
    tenths."""
    if known < LEAST_KNOWN:
        without = f", not in {', '.join(unknown[:3])}" if unknown else ""
        problem = f"only {known:.0%} of the step is in operators of known cost{without}"
        raise NoDataError(problem, hint="measure it", code="bench")
    return log(1.0 / known)


@cache
def errors() -> Mapping[str, Any]:
    """The shipped errors of traced steps that were measured (`python -m evaluation.predict.steps`)."""
    return dict(json.loads(ERRORS.read_text(encoding="utf-8")))


def step_half(evidence: str) -> float:
    """Half width of a traced step at an evidence level, in log space, before how far its classes of kernels
    scatter, another host and what was never seen widen it."""
    return float(errors()["half_width"][evidence])


# How far a transfer may be off between cards of which a multiprocessor of one does e times as much in a
# clock, as a logarithm: where it does as much kernels are alike. Set on pairs of cards of four sets of steps.
UNLIKE = 0.137


def unlike(source: Card, target: Card, dtype: str) -> float:
    """What widens a transfer from one card to another, in log space; in fp32 where one lacks the format."""
    shared = dtype if dtype in source.peaks and dtype in target.peaks else "fp32"
    return abs(UNLIKE * log(source.each_clock(shared) / target.each_clock(shared)))


def transfer_half(source: str, target: str, dtype: str) -> float:
    """Half width of a traced step that is known from one GPU for another, in log space."""
    return hypot(step_half("transferred"), unlike(card(source), card(target), dtype))


def novelty() -> float:
    """Half width of a step of which only the network is new, over the spread of its classes (`step`)."""
    return float(HOST["novelty"])


def hosts(mode: str, *, calibrated: bool) -> tuple[float, float]:
    """The quickest and the slowest host, over the predicted one, between which steps of four machines in five
    lie that nobody measured, or that were `calibrated`.

    In training half of the work is autograd's thread, on another core, so that slow moments even out.
    """
    quick, slow = HOST["calibrated" if calibrated else "hosts"]["train" if mode == "train" else "infer"]
    return quick, slow


@cache
def measured_networks() -> frozenset[object]:
    """Networks (`registry.network`) of which steps were measured on the reference card."""
    rows = (r["cell"].split(":")[0] for r in catalog.rows(MEASURED) if r["gpu_id"] == REFERENCE)
    return frozenset(map(network, rows))


def scaling_half() -> float:
    """Half width of the efficiency of several GPUs, in log space."""
    return float(errors()["scaling"])


def watts_half() -> float:
    """Half width of the mean watts of a step, in log space: of one card's, and so widened for the next."""
    return float(errors()["watts"])


@cache
def memory_errors() -> Array:
    """log(measured / predicted) of peaks of allocated memory, in rising order."""
    return np.sort(np.array(errors()["memory"], dtype=float))


OPERATORS_SCHEMA = 2
# Seconds of a launch on the usual host, which is 8 % faster than the median, where errors are least; the
# level of a host with a reading, nearer to the median, and the power of its launches, read minutes before:
# of 15 machines twelve are as near or nearer by what the others say than without their reading.
LAUNCH_S, READ_LEVEL, READING_POWER = 8.5e-6, 1.06, 0.6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operators:
    """The factors of one card."""

    gpu_id: str
    factors: Mapping[str, float]  # Of a class, on the predicted time of its kernels
    launch_s: float  # Of a small kernel, by its host
    cases: int
    spread: float  # Standard deviation of log(measured / predicted) that is left after the factors

    @property
    def host(self) -> float:
        """The factor on what the usual host takes."""
        return float(READ_LEVEL * (self.launch_s / LAUNCH_S) ** READING_POWER)


def steady(readings: Sequence[float]) -> float:
    """The geometric mean of the middle half. A core is slow while somebody else's work has its other thread,
    so a launch has two lengths: their median jumps from one to the other, and a step lives through both."""
    logs = np.sort(np.log(readings))
    cut = (len(logs) + 1) // 4
    return float(np.exp(logs[cut : len(logs) - cut].mean()))


# The card on which classes of kernels were fitted, and its operators (`evaluation.predict.classes`).
REFERENCE = "h200-sxm"
OPERATORS = Path(__file__).with_name("data") / "operators.json"


@cache
def reference() -> Mapping[str, float]:
    """Case -> seconds on the reference card."""
    return dict(json.loads(OPERATORS.read_text(encoding="utf-8")))


@cache
def reference_card() -> Card:
    """The card of the classes of kernels."""
    return card(REFERENCE)


def file_of(gpu_id: str) -> Path:
    """Where the factors of a card are kept."""
    return home() / "calibration" / f"{gpu_id}.json"


def operators_document(found: Operators, about: Mapping[str, Any]) -> dict[str, Any]:
    """The file of a card: its factors, and what they were measured with."""
    return {
        "schema": OPERATORS_SCHEMA, "gpu_id": found.gpu_id, "host": round(found.host, 4),
        "launch_s": found.launch_s, "cases": found.cases, "spread": round(found.spread, 4), **about,
        "factors": {name: round(factor, 4) for name, factor in sorted(found.factors.items())},
    }  # fmt: skip


def forget() -> None:
    """Read files again: one was written."""
    _read.cache_clear()


def of_card(gpu_id: str) -> Operators | None:
    """The factors of a card that was calibrated here, else None. Files are read once in a process: a choice
    asks for thousands of steps."""
    return _read(gpu_id, os.environ.get("GPUWISE_HOME"))


@cache
def _read(gpu_id: str, _: str | None) -> Operators | None:
    path = file_of(gpu_id)
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Operators(
            gpu_id=found["gpu_id"], factors=found["factors"], cases=found["cases"],
            spread=float(found["spread"]), launch_s=float(found["launch_s"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a calibration: {error}", hint="gpuwise calibrate") from error
