"""Served language models: time per output token (TPOT) and to the first token (TTFT).

    step   = (max(arithmetic, bytes / bandwidth) + layers x (latency + exchange) + scheduler) x ranks^u
    TPOT   = step + batch x input / output x prefill of one token        (prompts share the machine)
    TTFT   = (prefill + chunks x step) x (1 + queue) + step + front end
    queue grows with the share of prefill; a prompt is read in chunks, between which others decode

The engine (vLLM, SGLang, TensorRT-LLM) adds its own latency for a layer and for a step. Ranks of
data-parallel attention go in lock-step, so that the fullest of them sets the pace. Disaggregated
rows, where prompts run elsewhere, have no prefill in TPOT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from gpuwise.errors import GpuwiseError
from gpuwise.predict.builders_llm import Served, served
from gpuwise.predict.card import Card
from gpuwise.predict.fit import Prior
from gpuwise.predict.fit import fit as fit_parameters
from gpuwise.predict.rates import Parameters, Rates
from gpuwise.predict.sets.case import Array, Case, Row, find_card, per_card

quantity, unit = "TPOT and TTFT", "ms"
ENGINES = ("vllm", "sglang", "trtllm")
_WEIGHT = {"fp4": 0.5625, "nvfp4": 0.5625, "int4_wo": 0.53, "int4": 0.53, "fp8": 1.0, "bf16": 2.0, "": 2.0}
"""Bytes of a weight with its scales."""
_LINK = 450e9
"""Bytes/s in one direction of NVLink 4, doubled on Blackwell."""
_CHUNK = 2048.0
"""Tokens of a prompt that are read at a time; engines differ, which `chunk` takes up."""
_TOGETHER = 8.0
"""GPUs that read a prompt together; wider deployments are several such groups, with a queue each."""

PRIORS = {
    "memory": Prior(log(0.75), 0.15), "kv": Prior(log(0.6), 0.3), "experts": Prior(log(0.6), 0.3),
    "decode": Prior(log(0.35), 0.4), "prefill": Prior(log(0.4), 0.4), "attention": Prior(log(0.25), 0.5),
    "narrow": Prior(log(0.7), 0.3), "exchange": Prior(log(0.4), 0.4),
    "reduce": Prior(log(1e-5), 0.6), "expert.layer": Prior(log(2e-5), 0.6), "mix": Prior(log(0.8), 0.4),
    "queue": Prior(log(0.5), 0.7), "burst": Prior(log(0.05), 0.3), "first": Prior(log(1.5), 0.5),
    "chunk": Prior(log(0.5), 0.7), "uneven": Prior(log(0.1), 0.7),
    **{f"layer.{engine}": Prior(log(4e-5), 0.5) for engine in ENGINES},
    **{f"step.{engine}": Prior(log(1e-3), 0.7) for engine in ENGINES},
    **{f"sequence.{engine}": Prior(log(1e-5), 0.8) for engine in ENGINES},
    **{f"front.{engine}": Prior(log(3e-2), 0.7) for engine in ENGINES},
}  # fmt: skip
FIRST = frozenset({"queue", "burst", "first", "chunk", "front"})
"""What only the time to the first token depends on."""
_FAMILY = {"memory": 0.1, "prefill": 0.15, "decode": 0.15}


@dataclass(frozen=True, slots=True)
class Deployment:
    """One served configuration; `first` asks for TTFT, else TPOT."""

    model: Served
    engine: str
    weight: float
    dtype: str
    batch: float
    """Sequences that one instance decodes together."""
    gpus: float
    data_parallel: float
    length_in: float
    length_out: float
    apart: bool
    prefill_gpus: float
    first: bool


def read(rows: Sequence[Row]) -> list[Case]:
    """Two cases a row: TPOT, then TTFT."""
    return [_case(row, first) for first in (False, True) for row in rows]


def _case(row: Row, first: bool) -> Case:
    card, refusal = find_card(row["system"])
    work: Deployment | None = None
    try:
        work = _work(row, first)
    except GpuwiseError as error:
        refusal = refusal or str(error)
    if first and work is not None and work.apart:
        refusal = refusal or "prompts run on other machines, whose queue the row does not state"
    column = "silicon_ttft_ms" if first else "silicon_tpot_ms"
    rival = row.get("pred_aic_ttft_ms" if first else "pred_aic_tpot_ms")
    if work is not None and card is not None and work.dtype not in card.peaks:
        refusal = refusal or f"{card.id} has no {work.dtype} unit"
    measured = float(row[column] or "nan")
    if not measured > 0:
        refusal = refusal or f"no {column} in this row"
    flop, moved = _demand(work) if work else (0.0, 0.0)
    return Case(
        gpu=row["system"], card=card, model=row["model_path"], measured=measured, flop=flop, moved=moved,
        dtype=work.dtype if work else "fp8", work=work, refusal=refusal, part="TTFT" if first else "TPOT",
        rivals={"aiconfigurator": float(rival)} if rival else {}, traits=traits(work) if work else (),
    )  # fmt: skip


def _number(row: Row, *names: str, otherwise: float = 1.0) -> float:
    return next((float(row[name]) for name in names if row.get(name) and float(row[name]) > 0), otherwise)


def _work(row: Row, first: bool) -> Deployment:
    model, quantised = served(row["model_path"]), row["gemm_quant_mode"] or row["precision"]
    moe = row["moe_quant_mode"] or quantised
    if not quantised:
        quantised = moe = "fp8" if "fp8" in row["model_path"].casefold() else "bf16"
    weight = _WEIGHT.get(moe.removesuffix("_block"), 1.0)
    apart = row["mode"] == "disagg"
    tensor = _number(row, "decode_tp_size" if apart else "tp_size")
    data = _number(row, "decode_attention_dp_size" if apart else "attention_dp_size")
    spread = _number(row, "moe_tp_size") * _number(row, "moe_ep_size") if not apart else 1.0
    gpus = max(tensor * (data if apart else 1.0), spread, _number(row, "decode_moe_ep_size"))
    batch = _number(row, "decode_batch_size" if apart else "batch_size")
    prefill = _number(row, "prefill_tp_size") * _number(row, "prefill_attention_dp_size") if apart else gpus
    narrow = weight < 1.0 and "int4" not in moe
    return Deployment(
        model=model, engine=row["backend"] if row["backend"] in ENGINES else ENGINES[0], weight=weight,
        dtype="fp4" if narrow else "fp8" if weight == 1.0 else "bf16", batch=batch,
        gpus=gpus, data_parallel=data, length_in=float(row["isl"]), length_out=float(row["osl"]),
        apart=apart, prefill_gpus=prefill, first=first,
    )  # fmt: skip


def traits(work: Deployment) -> tuple[float, ...]:
    """What makes a deployment hard to predict: prompts on other machines, sizes, ranks that wait."""
    sizes = (work.batch, work.gpus, work.data_parallel, work.length_in, work.length_out)
    return (float(work.apart), float(work.model.experts > 0), *(log(size) for size in sizes))


def _demand(work: Deployment) -> tuple[float, float]:
    """Operations and bytes of one GPU, for the simple rivals."""
    if work.first:
        return (
            2.0 * work.model.active * work.length_in / work.prefill_gpus,
            work.model.total / work.prefill_gpus,
        )
    length = work.length_in + work.length_out / 2
    moved = work.model.touched(work.batch) * work.weight + work.batch * length * work.model.kv
    return 2.0 * work.model.active * work.batch / work.gpus, moved / work.gpus


def fit(cases: Sequence[Case]) -> Parameters:
    """Hierarchical fit on these cases alone: TPOT first; then what only first tokens wait for."""
    usable = [case for case in cases if case.card is not None and not case.refusal]
    steps = {name: prior for name, prior in PRIORS.items() if name.split(".")[0] not in FIRST}
    for case in usable:
        assert case.card is not None
        steps |= {f"{name}/{case.card.family}": Prior(0.0, s) for name, s in _FAMILY.items()}
    waits = {name: prior for name, prior in PRIORS.items() if name.split(".")[0] in FIRST}
    start = {name: prior.value for name, prior in waits.items()}
    found = _fit([case for case in usable if not case.work.first], steps, start)
    return found | _fit([case for case in usable if case.work.first], waits, found)


def _fit(cases: Sequence[Case], priors: Mapping[str, Prior], fixed: Parameters) -> dict[str, float]:
    if not cases:
        return {name: prior.value for name, prior in priors.items()} | dict(fixed)
    predicted, measured = per_card(cases, _columns, _milliseconds), np.array([c.measured for c in cases])
    weights = np.array([0.1 if case.work.apart else 1.0 for case in cases])
    return dict(fixed) | fit_parameters(
        lambda p: np.log(predicted(dict(fixed) | dict(p)) / measured), priors, sigma=0.2, weights=weights,
        rounds=20,
    )  # fmt: skip


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Milliseconds of each case."""
    return np.asarray(per_card(cases, _columns, _milliseconds)(parameters))


def _columns(cases: Sequence[Case]) -> dict[str, Array]:
    works: list[Deployment] = [case.work for case in cases]
    names = (
        "weight",
        "batch",
        "gpus",
        "data_parallel",
        "length_in",
        "length_out",
        "apart",
        "prefill_gpus",
        "first",
    )
    found = {name: np.array([float(getattr(work, name)) for work in works]) for name in names}
    for name in ("layers", "width", "dense", "active", "kv", "latent", "experts"):
        found[name] = np.array([float(getattr(work.model, name)) for work in works])
    found["touched"] = np.array([work.model.touched(work.batch) for work in works])
    found["engine"] = np.array([ENGINES.index(work.engine) for work in works])
    for dtype in ("fp4", "fp8", "bf16"):
        found[dtype] = np.array([work.dtype == dtype for work in works], dtype=float)
    return found


def _milliseconds(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    token = _prefill_token(c, card, rates)
    step = _step(c, card, rates) * c["data_parallel"] ** rates["uneven"]
    mixed = (1.0 - c["apart"]) * c["batch"] * c["length_in"] / c["length_out"] * token * rates["mix"]
    per_token = step + mixed
    prompt = c["length_in"] * token
    share = mixed / per_token
    beside = c["batch"] / np.maximum(1.0, c["gpus"] / _TOGETHER)
    queue = rates["queue"] * share / (1.05 - np.minimum(share, 1.0)) + rates["burst"] * beside * share
    front = _engine(c, rates, "front")
    prompt = prompt + c["length_in"] / _CHUNK * step * rates["chunk"]
    first = prompt * (1.0 + queue) + rates["first"] * step + front
    return np.asarray(1e3 * np.where(c["first"] > 0, first, per_token))


def _engine(c: dict[str, Array], rates: Rates, name: str) -> Array:
    values = np.array([rates[f"{name}.{engine}"] for engine in ENGINES])
    return np.asarray(values[c["engine"].astype(int)])


def _peak(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    """FLOP/s of each row's format; four-bit weights reach a smaller share of theirs."""
    found = np.zeros_like(c["batch"])
    for dtype in ("fp4", "fp8", "bf16"):
        share = rates["narrow"] if dtype == "fp4" else 1.0
        found = found + c[dtype] * share * card.peaks.get(dtype, card.peaks.get("bf16", 1e12))
    return found


def _prefill_token(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    """Seconds that one token of a prompt takes."""
    products = 2.0 * c["active"] / (_peak(c, card, rates) * rates["prefill"])
    scores = 2.0 * c["layers"] * c["width"] * c["length_in"] * (1.0 + c["latent"])
    scores = scores / (card.peak("bf16") * rates["attention"])
    exchange = 4.0 * c["layers"] * c["width"] * (c["prefill_gpus"] > 1) / (_link(card) * rates["exchange"])
    return np.asarray((products + scores) / c["prefill_gpus"] + exchange * 2.0 / c["data_parallel"])


def _step(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    """Seconds of one decoding step."""
    tensor = np.maximum(c["gpus"] / c["data_parallel"], 1.0)
    experts = (c["touched"] - c["dense"]) / c["gpus"] / rates["experts"]
    weights = c["weight"] * (c["dense"] / tensor + experts) / (card.bytes_per_s * rates["memory"])
    length = c["length_in"] + c["length_out"] / 2
    held = c["batch"] * length * c["kv"] * 1.5
    split = np.where(c["latent"] > 0, c["data_parallel"], c["gpus"])
    cache = held / split / (card.bytes_per_s * rates["kv"])
    products = 2.0 * c["active"] * c["batch"] / c["gpus"] / (_peak(c, card, rates) * rates["decode"])
    many = (c["gpus"] > 1) * (rates["reduce"] * np.log2(np.maximum(c["gpus"], 2.0)) * 2.0)
    moved = (c["gpus"] > 1) * 4.0 * c["batch"] * c["width"] / (_link(card) * rates["exchange"])
    layer = _engine(c, rates, "layer") + many + moved + (c["experts"] > 0) * rates["expert.layer"]
    fixed = c["layers"] * layer + _engine(c, rates, "step") + c["batch"] * _engine(c, rates, "sequence")
    return np.asarray(np.maximum(weights, products) + cache + fixed)


def _link(card: Card) -> float:
    return _LINK * (2.0 if card.family == "Blackwell" else 1.0)
