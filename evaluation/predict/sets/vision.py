"""Image networks of timm: inference and training throughput, from traces by class of kernel.

`data/timm.csv.gz` holds one line a network and image size, recorded once with timm on the meta device:
operations, elements moved and launches of each class for one image, forward, and elements that a step moves
whatever its batch (weights, and what is computed of weights alone). Networks whose branches can be
merged have two; the row's own parameters tell which was run. A network without such a line is estimated from
the row's columns of multiply-adds, activations and parameters, with a mean mixture. Attention before torch 2
was a product, a softmax in fp32 and another product.

    t = sum over classes of (arithmetic^p + memory^p)^(1/p) + launches, at least launches x dispatch

Classes with few channels cannot fill the matrix units: their share of the peak is a parameter each.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path

import numpy as np

from evaluation.predict.case import Array, Case, Row, find_card, per_card
from evaluation.predict.fit import Prior
from evaluation.predict.fit import fit as fit_parameters
from evaluation.predict.power_limit import fed, stretch
from gpuwise.predict.card import Card
from gpuwise.predict.rates import Parameters, Rates

DATA = Path(__file__).parents[1] / "data" / "timm.csv.gz"
quantity, unit = "latency", "ms/image"

ARITHMETIC = (
    ("dense_flop_32", "dense.32"), ("dense_flop_64", "dense.64"), ("dense_flop_128", "dense.128"),
    ("dense_flop_big", "dense.big"), ("group_flop", "group"), ("mm_flop_small", "product.small"),
    ("mm_flop", "product.big"), ("bmm_flop", "product.batched"), ("attn_flop", "attention"),
)  # fmt: skip
"""Columns of operations on the matrix units, and the share of peak that their class reaches."""
MEMORY = (
    ("dense_elems", "n_conv"), ("group_elems", "n_conv"), ("dw_elems", "n_conv"), ("mm_elems", "n_mm"),
    ("bmm_elems", "n_mm"), ("attn_elems", "n_attn"), ("norm_elems", "n_norm"), ("pw_elems", "n_pw"),
    ("copy_elems", "n_copy"), ("red_elems", "n_copy"),
)  # fmt: skip
"""Columns of elements moved, and of launches that move them."""
_FUSED = ("norm_elems", "pw_elems", "copy_elems", "red_elems")

PRIORS = {
    "dense.32": Prior(log(0.2), 0.6), "dense.64": Prior(log(0.4), 0.5), "dense.128": Prior(log(0.55), 0.4),
    "dense.big": Prior(log(0.65), 0.25), "group": Prior(log(0.08), 0.7),
    "product.small": Prior(log(0.4), 0.4), "product.big": Prior(log(0.75), 0.2),
    "product.batched": Prior(log(0.3), 0.5), "attention": Prior(log(0.4), 0.4),
    "depthwise": Prior(log(0.25), 0.6), "memory": Prior(log(0.8), 0.1), "conv.memory": Prior(log(0.8), 0.4),
    "depthwise.memory": Prior(log(0.6), 0.5), "copy.memory": Prior(log(0.5), 0.4),
    "norm.memory": Prior(log(0.7), 0.4), "cast": Prior(log(1.2), 0.3),
    "fused": Prior(log(0.5), 0.4), "fused.depthwise": Prior(log(1.0), 0.2),
    "l2.bytes": Prior(log(40.0), 0.3), "l2.held": Prior(log(0.5), 0.5),
    "layout.dense": Prior(log(0.9), 0.3), "layout.depthwise": Prior(log(0.8), 0.4),
    "layout.memory": Prior(log(1.0), 0.2),
    "launch": Prior(log(3e-6), 0.3), "dispatch": Prior(log(8e-6), 0.2), "overlap": Prior(log(2.0), 0.1),
    "backward.arithmetic": Prior(log(2.1), 0.1), "backward.memory": Prior(log(2.5), 0.2),
    "energy.vector": Prior(log(10.0), 0.1), "energy.matrix": Prior(log(0.8), 0.1),
    "energy.byte": Prior(log(320.0), 0.3), "energy.stacked": Prior(log(120.0), 0.2),
    "power.unit": Prior(log(0.5), 0.3), "reread": Prior(log(0.4), 0.12), "feed": Prior(log(0.3), 0.3),
    "energy.process": Prior(log(0.9), 0.1), "clock.exponent": Prior(log(2.2), 0.03),
}  # fmt: skip
_SMALL_L2 = 6e6
"""Of GA102. Operands that several tiles read come from DRAM again where L2 forgot them."""
_ROWS = 2500
"""Rows of a card that a fit takes, spread evenly over the file: more change nothing."""


_FUSED_FROM = 200.0
"""The version of torch (2.0, as the files write it) that fused attention."""
_HEAD = 64.0
"""Width of an attention head."""
_OTHER = 0.1
"""Difference in parameters, as a logarithm, from which a line is of another network of the same name."""
Line = Mapping[str, float]
"""Columns of one image."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: columns of the trace for one image, and how it runs."""

    trace: Line
    batch: int
    train: bool
    compiled: bool
    channels_last: bool


@cache
def traces() -> Mapping[tuple[str, int], Sequence[Line]]:
    """(network, image size) -> columns, as trained and with merged branches, from the shipped file."""
    found: dict[tuple[str, int], list[Line]] = {}
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(io.StringIO(file.read())):
            key = row.pop("model"), int(row.pop("img"))
            found.setdefault(key, []).append({name: float(value) for name, value in row.items()})
    return found


def read(rows: Sequence[Row]) -> list[Case]:
    """Cases of the file, as milliseconds of one image."""
    return [_case(row) for row in rows]


def _case(row: Row) -> Case:
    card, refusal = find_card(row["gpu"])
    image, batch = int(float(row["img_size"])), int(float(row["batch"]))
    version = float(row["torch"] or 0)
    trace = _traced(row, image) or _estimated(row)
    trace = _unfused(trace) if 0 < version < _FUSED_FROM else trace
    train = row["mode"] == "train"
    dtype = "bf16" if "bf16" in row["precision"] else "fp16"
    if row["precision"] not in ("amp", "amp_bf16", "bf16", "fp16"):
        refusal = refusal or f"precision {row['precision']} was never fitted here"
    flop = sum(trace[name] for name, _ in ARITHMETIC) + trace["dw_flop"]
    moved = 2.0 * sum(trace[name] for name, _ in MEMORY) + 2.0 * trace["params"] / batch
    step = Step(trace, batch, train, row["compiled"] == "1", row["layout"] == "nhwc")
    return Case(
        gpu=row["gpu"], card=card, model=row["model"], measured=1e3 / float(row["samples_per_s"]),
        flop=flop * (3 if train else 1), moved=moved * (3 if train else 1), dtype=dtype, work=step,
        part=row["mode"], group=family(row["model"]), refusal=refusal, version=version,
        key="/".join((row["model"], row["img_size"], row["mode"], row["layout"], row["compiled"])),
    )  # fmt: skip


def family(model: str) -> str:
    """Networks of one design: the name up to its first digit or underscore."""
    return model.split("_")[0].rstrip("0123456789")


def _traced(row: Row, image: int) -> Line | None:
    """The line with the row's parameters, of the nearest image size; None where no line has about as many.

    Convolutional work grows with the area.
    """
    sizes = _sizes().get(row["model"])
    if not sizes:
        return None
    nearest = min(sizes, key=lambda size: abs(size - image))
    lines, area = traces()[row["model"], nearest], (image / nearest) ** 2
    stated = 1e6 * float(row["params_m"] or 0)
    found = min(lines, key=lambda line: abs(line["params"] - stated)) if stated else lines[0]
    if stated and abs(log(found["params"] / stated)) > _OTHER:
        return None
    fixed = ("params", "weight_elems", "step_elems")
    return {
        name: value if name in fixed or name.startswith("n_") else value * area
        for name, value in found.items()
    }


@cache
def _sizes() -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = {}
    for name, size in traces():
        found.setdefault(name, []).append(size)
    return found


def _unfused(trace: Line) -> Line:
    """Attention as torch 1 ran it under autocast: scores scaled, cast to fp32, normalised and cast back."""
    scores, fused = trace["attn_flop"] / (4.0 * _HEAD), trace["n_attn"]
    more = {
        "bmm_flop": trace["attn_flop"], "bmm_elems": trace["attn_elems"] + 2.0 * scores,
        "norm_elems": 4.0 * scores, "copy_elems": 6.0 * scores, "pw_elems": 2.0 * scores,
        "n_mm": 2.0 * fused, "n_norm": fused, "n_copy": 2.0 * fused, "n_pw": fused,
    }  # fmt: skip
    gone = dict.fromkeys(("attn_flop", "attn_elems", "n_attn"), 0.0)
    return dict(trace) | {name: trace[name] + value for name, value in more.items()} | gone


def _estimated(row: Row) -> Line:
    """Columns from multiply-adds, activations and parameters (timm's gmacs, macts, params_m)."""
    flop, elements = 2e9 * float(row["gmacs"] or 0), 1e6 * float(row["macts"] or 0)
    found = dict.fromkeys(next(iter(traces().values()))[0], 0.0)
    found |= {"dense_flop_big": 0.6 * flop, "dense_flop_128": 0.2 * flop, "mm_flop": 0.2 * flop}
    found |= {"dense_elems": 2 * elements, "norm_elems": elements, "pw_elems": 2 * elements}
    found |= {"n_conv": 60.0, "n_norm": 60.0, "n_pw": 80.0, "n_mm": 2.0}
    found |= {"params": 1e6 * float(row["params_m"] or 0), "weight_elems": 1e6 * float(row["params_m"] or 0)}
    return found


def fit(cases: Sequence[Case]) -> Parameters:
    """One fit for all cards on these cases alone, each card weighing the same.

    With one card of a family, what is the family's cannot be told from what is the card's.
    """
    usable = _thinned([case for case in cases if case.card is not None and not case.refusal])
    counts: dict[str, int] = {}
    for case in usable:
        counts[case.gpu] = counts.get(case.gpu, 0) + 1
    weights = np.array([len(usable) / len(counts) / counts[case.gpu] for case in usable])
    predicted, measured = (
        per_card(usable, _columns, _milliseconds),
        np.array([case.measured for case in usable]),
    )
    return fit_parameters(lambda p: np.log(predicted(p) / measured), PRIORS, sigma=0.15, weights=weights)


def _thinned(cases: Sequence[Case]) -> list[Case]:
    by_gpu: dict[str, list[Case]] = {}
    for case in cases:
        by_gpu.setdefault(case.gpu, []).append(case)
    return [case for found in by_gpu.values() for case in found[:: max(1, len(found) // _ROWS)]]


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Milliseconds of one image of each case."""
    return np.asarray(per_card(cases, _columns, _milliseconds)(parameters))


Columns = Mapping[str, Array]


def _columns(cases: Sequence[Case]) -> tuple[str, Columns]:
    """The number format, and the cases' traces as arrays."""
    steps = [case.work for case in cases]
    found = {name: np.array([step.trace[name] for step in steps]) for name in steps[0].trace}
    for name in ("batch", "train", "compiled", "channels_last"):
        found[name] = np.array([float(getattr(step, name)) for step in steps])
    return cases[0].dtype, found


def _milliseconds(prepared: tuple[str, Columns], card: Card, rates: Rates) -> Array:
    dtype, c = prepared
    backward_flop = 1.0 + c["train"] * rates["backward.arithmetic"]
    backward_move = 1.0 + c["train"] * rates["backward.memory"]
    seconds = _products(c, card, rates, dtype, backward_flop) + _depthwise(c, card, rates, backward_move)
    seconds = seconds + _moved(c, card, rates, backward_move)
    once = c["weight_elems"] * (1.0 + 5.0 * c["train"]) + c["step_elems"] * backward_move
    weights = 2.0 * once / (card.bytes_per_s * rates["memory"])
    launches = (c["n_conv"] + c["n_mm"] + c["n_attn"]) * backward_move
    small = (c["n_norm"] + c["n_pw"] + c["n_copy"]) * backward_move * (1.0 - 0.6 * c["compiled"])
    fixed = weights + (launches + small) * rates["launch"]
    dispatch = (launches + small) * rates["dispatch"] * (1.0 - 0.7 * c["compiled"])
    seconds = seconds + fixed / c["batch"]
    flop = sum(c[name] for name, _ in ARITHMETIC) * backward_flop
    fused = 1.0 + c["compiled"] * (rates["fused"] - 1.0)
    moved = sum(c[name] * (fused if name in _FUSED else 1.0) for name, _ in MEMORY) * 2.0 * backward_move
    seconds = seconds * stretch(rates, card, dtype, flop, np.asarray(moved), np.asarray(seconds))
    return np.asarray(1e3 * np.maximum(seconds, dispatch / c["batch"]))


def _products(c: Columns, card: Card, rates: Rates, dtype: str, backward: Array) -> Array:
    """Convolutions and products: arithmetic on the matrix units against their operands' traffic."""
    peak = card.peak(dtype) * fed(card, rates, dtype)
    layout = 1.0 + c["channels_last"] * (rates["layout.dense"] - 1.0)
    dense = sum(c[f"dense_flop_{b}"] / min(1.0, rates[f"dense.{b}"]) for b in ("32", "64", "128", "big"))
    dense = (dense * layout + c["group_flop"] / rates["group"]) / peak * backward
    elements = (c["dense_elems"] + c["group_elems"]) * backward
    again = 1.0 + rates["reread"] * (_SMALL_L2 / card.l2_bytes) ** 0.5
    conv = _both(dense, again * _traffic(elements, c["n_conv"], c, card, rates, "conv.memory"), rates)
    other = c["mm_flop_small"] / rates["product.small"] + c["mm_flop"] / min(1.0, rates["product.big"])
    other = (other + c["bmm_flop"] / rates["product.batched"] + c["attn_flop"] / rates["attention"]) / peak
    elements = (c["mm_elems"] + c["bmm_elems"] + c["attn_elems"]) * backward
    products = _both(other * backward, again * _traffic(elements, c["n_mm"], c, card, rates, "memory"), rates)
    return np.asarray(conv + products)


def _depthwise(c: Columns, card: Card, rates: Rates, backward: Array) -> Array:
    """Depthwise convolutions run on the vector units, near the speed of memory."""
    layout = 1.0 + c["channels_last"] * (rates["layout.depthwise"] - 1.0)
    vector = c["dw_flop"] * backward / (card.peak("fp32") * rates["depthwise"])
    memory = _traffic(c["dw_elems"] * backward, c["n_conv"], c, card, rates, "depthwise.memory")
    compiled = 1.0 + c["compiled"] * (rates["fused.depthwise"] - 1.0)
    return np.asarray(_both(vector, memory, rates) * layout * compiled)


def _moved(c: Columns, card: Card, rates: Rates, backward: Array) -> Array:
    """Normalisation, pointwise, copies and reductions; compiled code keeps part of their traffic."""
    kept = (1.0 + c["compiled"] * (rates["fused"] - 1.0)) * backward
    layout = 1.0 + c["channels_last"] * (rates["layout.memory"] - 1.0)
    norm = _traffic(c["norm_elems"] * kept, c["n_norm"], c, card, rates, "norm.memory")
    plain = _traffic(c["pw_elems"] * kept * rates["cast"], c["n_pw"], c, card, rates, "memory")
    copies = (c["copy_elems"] + c["red_elems"]) * kept
    return np.asarray((norm + plain) * layout + _traffic(copies, c["n_copy"], c, card, rates, "copy.memory"))


def _traffic(elements: Array, launches: Array, c: Columns, card: Card, rates: Rates, share: str) -> Array:
    """Seconds of two-byte elements: from L2 as far as one launch's tensors stay there."""
    each = 2.0 * elements * c["batch"] / np.maximum(launches, 1.0)
    held = 1.0 / (1.0 + each / (rates["l2.held"] * card.l2_bytes))
    fast = card.units * card.clock_hz * rates["l2.bytes"]
    slow = card.bytes_per_s * min(1.0, rates["memory"] * (1.0 if share == "memory" else rates[share]))
    return np.asarray(2.0 * elements * (held / np.maximum(fast, slow) + (1.0 - held) / slow))


def _both(arithmetic: Array, memory: Array, rates: Rates) -> Array:
    power = rates["overlap"]
    return np.asarray((arithmetic**power + memory**power) ** (1.0 / power))
