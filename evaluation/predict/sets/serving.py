"""Served language models by `gpuwise.predictor.serve`: time per output token and to the first token.

Disaggregated rows, where prompts run elsewhere, have no prefill in TPOT.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log

import numpy as np

from evaluation.predict.case import Case, Row, find_card, per_card
from evaluation.predict.fit import Prior
from evaluation.predict.fit import fit as fit_parameters
from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import llms
from gpuwise.model.llm import LanguageModel, from_config
from gpuwise.predictor.card import MOST
from gpuwise.predictor.rates import Parameters
from gpuwise.predictor.serve import (
    ENGINES,
    RESERVED,
    Array,
    Deployment,
    columns,
    milliseconds,
    traits,
)

quantity, unit = "TPOT and TTFT", "ms"
_WEIGHT = {"fp4": 0.5625, "nvfp4": 0.5625, "int4_wo": 0.53, "int4": 0.53, "fp8": 1.0, "bf16": 2.0, "": 2.0}
"""Bytes of a weight with its scales."""

PRIORS = {
    # An H20 reads the weights of one sequence at 12 bytes a clock and multiprocessor (Qwen3's public speeds).
    "asked": Prior(log(12.0), 0.1), "memory": Prior(log(0.85), 0.08),
    "kv": Prior(log(0.6), 0.3), "experts": Prior(log(0.6), 0.3),
    "decode": Prior(log(0.35), 0.4), "prefill": Prior(log(0.4), 0.4), "attention": Prior(log(0.25), 0.5),
    # No row is AMD's. The best products of MI300X, MI325X and MI355X reach 0.51 to 0.62 of the stated peak,
    # of NVIDIA's H100, B200 and B300 0.78 to 0.80 (stas00/ml-engineering, 2025 to 2026).
    "decode/AMD": Prior(log(0.73), 0.05), "prefill/AMD": Prior(log(0.73), 0.05),
    "narrow": Prior(log(0.7), 0.3), "exchange": Prior(log(0.4), 0.4),
    "reduce": Prior(log(1e-5), 0.6), "expert.layer": Prior(log(2e-5), 0.6), "mix": Prior(log(0.8), 0.4),
    "queue": Prior(log(0.5), 0.7), "burst": Prior(log(0.05), 0.3), "first": Prior(log(1.5), 0.5),
    "chunk": Prior(log(0.5), 0.7), "uneven": Prior(log(0.1), 0.7),
    "sparse": Prior(0.0, 0.4), "crowd": Prior(log(0.7), 0.3),
    **{f"prompt.{engine}": Prior(0.0, 0.1) for engine in ENGINES},
    **{f"layer.{engine}": Prior(log(4e-5), 0.5) for engine in ENGINES},
    **{f"step.{engine}": Prior(log(1e-3), 0.7) for engine in ENGINES},
    **{f"sequence.{engine}": Prior(log(1e-5), 0.8) for engine in ENGINES},
    **{f"front.{engine}": Prior(log(3e-2), 0.7) for engine in ENGINES},
}  # fmt: skip
FIRST = frozenset({"queue", "burst", "crowd", "first", "chunk", "front", "prompt", "sparse"})
"""What only the time to the first token depends on."""
_FAMILY = {"memory": 0.1, "prefill": 0.15, "decode": 0.15}


_SIZES = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?:-a(\d+(?:\.\d+)?)b)?(?![a-z0-9])")


def served(path: str) -> LanguageModel:
    """The model of a row; where it is unknown, a usual shape of the sizes in its name ("30B-A3B"). Raises
    InputError where that says none."""
    if llms.known(path):
        return llms.find(path)
    sizes = _SIZES.search(path.casefold())
    if sizes is None:
        raise InputError(f"the shape of {path!r} is not known")
    total, active = float(sizes[1]) * 1e9, float(sizes[2] or 0) * 1e9
    # Width by 90 times the layers, eight heads of keys, 128 experts of which 8 are chosen.
    width = 1024 * max(
        1, round((max(active or total, 1e9) * (3 if active else 1) / 1.2e9) ** (1 / 3) * 14 / 8)
    )
    layers = max(16, round(width / 90))
    routed = min((total - active) / (1 - 8 / 128), 0.97 * total) if active else 0.0
    feed = max(0.0, (total - routed) / layers - 2 * width * (width + 1024)) / (3 * width)
    shape = {
        "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": width // 128,
        "num_key_value_heads": 8, "intermediate_size": round(feed), "vocab_size": 1,
    }  # fmt: skip
    if active:
        shape |= {
            "num_local_experts": 128, "num_experts_per_tok": 8,
            "shared_expert_intermediate_size": round(feed),
            "moe_intermediate_size": round(routed / layers / 128 / (3 * width)),
        }  # fmt: skip
    return from_config(path, shape)


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
    if work is not None and card is not None and not work.apart:
        # As the shipped function does: where the cache has no room, requests wait for each other's end.
        kept = work.batch * work.model.cache_values(work.length_in + work.length_out) * work.cache
        split = work.data_parallel if work.model.latent else work.gpus
        needed = work.model.parameters * work.weight / work.gpus + kept / split
        if needed > RESERVED * card.memory_bytes:
            refusal = refusal or "weights and cache of the batch have no room"
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
    batch = _number(row, "decode_batch_size" if apart else "batch_size", otherwise=0.0)
    if not batch:
        raise NoDataError("the row does not state its batch")
    if gpus > MOST and not apart:
        raise NoDataError("which of several machines read prompts is not stated")
    prefill = _number(row, "prefill_tp_size") * _number(row, "prefill_attention_dp_size") if apart else gpus
    narrow = weight < 1.0 and "int4" not in moe
    return Deployment(
        model=model, engine=row["backend"] if row["backend"] in ENGINES else ENGINES[0], weight=weight,
        dtype="fp4" if narrow else "fp8" if weight == 1.0 else "bf16", batch=batch,
        gpus=gpus, data_parallel=data, length_in=float(row["isl"]), length_out=float(row["osl"]),
        apart=apart, prefill_gpus=prefill, first=first,
    )  # fmt: skip


def _demand(work: Deployment) -> tuple[float, float]:
    """Operations and bytes of one GPU, for the simple rivals."""
    model = work.model
    if work.first:
        return 2.0 * model.active * work.length_in / work.prefill_gpus, model.parameters / work.prefill_gpus
    length = work.length_in + work.length_out / 2
    moved = model.read(work.batch) * work.weight + work.batch * model.cache_values(length)
    return 2.0 * model.active * work.batch / work.gpus, moved / work.gpus


def fit(cases: Sequence[Case]) -> Parameters:
    """Hierarchical fit on these cases alone: TPOT first; then what only first tokens wait for."""
    usable = [case for case in cases if case.card is not None and not case.refusal]
    steps = {name: prior for name, prior in PRIORS.items() if name.split(".")[0] not in FIRST}
    for case in usable:
        assert case.card is not None
        steps |= {f"{name}/{case.card.family}": Prior(0.0, s) for name, s in _FAMILY.items()}
        steps |= {f"asked/{case.card.engine}": Prior(0.0, 0.1 if case.card.engine == "wgmma" else 1.0)}
    waits = {name: prior for name, prior in PRIORS.items() if name.split(".")[0] in FIRST}
    start = {name: prior.value for name, prior in waits.items()}
    found = _fit([case for case in usable if not case.work.first], steps, start)
    return found | _fit([case for case in usable if case.work.first], waits, found)


def _fit(cases: Sequence[Case], priors: Mapping[str, Prior], fixed: Parameters) -> dict[str, float]:
    if not cases:
        return {name: prior.value for name, prior in priors.items()} | dict(fixed)
    predicted, measured = per_card(cases, _columns, milliseconds), np.array([c.measured for c in cases])
    weights = np.array([0.1 if case.work.apart else 1.0 for case in cases])
    # Relative errors, which are what is scored: a few rows wait many times as long as their like.
    return dict(fixed) | fit_parameters(
        lambda p: predicted(dict(fixed) | dict(p)) / measured - 1.0, priors, sigma=0.3, weights=weights
    )  # fmt: skip


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Milliseconds of each case."""
    return np.asarray(per_card(cases, _columns, milliseconds)(parameters))


def _columns(cases: Sequence[Case]) -> dict[str, Array]:
    return columns([case.work for case in cases])
