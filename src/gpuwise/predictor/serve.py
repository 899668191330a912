"""Served language models (`served:NAME`): output tokens a second, time to the first token, and what fits.

    decode     weights that the batch touches + the KV cache of its sequences, read once a step
    experts    of E experts, k a token: a batch of B touches E (1 - (1 - k/E)^B) on average
    prefill    2 operations a parameter and token, and 2 x width x length of attention a layer
    step       (max(arithmetic, bytes / bandwidth) + layers x (latency + exchange) + scheduler) x ranks^u
    TPOT       step + batch x input / output x prefill of one token        (prompts share the machine)
    TTFT       (engine's prefill + chunks x step) x (1 + queue + burst) + step + front end
    throughput sequences / TPOT                   sequences that one instance decodes together
    watts      limit x (share + energy of operations and bytes / time / limit), cut off at the limit
    memory     weights / n + sequences x (prompt + answer) x KV cache of a token / n
    fits       where that is within 90 % of the memory, which engines reserve

n GPUs split every layer (tensor parallelism) and hold 1/n of weights and heads; a latent cache (MLA) is not
split by heads and is read whole by each. Two all-reduces a layer (Shoeybi et al. 2019), or two all-to-alls.
The engine (vLLM, SGLang, TensorRT-LLM) adds its own latency for a layer and for a step. Ranks of
data-parallel attention run in lock-step, so that the fullest of them sets the pace. A prompt is read in
chunks, between which others decode; the queue grows with the share of prefill.

Parameters were fitted on InferenceX's rows of vLLM (`evaluation/predict/sets/serving.py`), splitting over
NVLink alone, so other links are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog, llms
from gpuwise.model import units
from gpuwise.model.llm import LanguageModel
from gpuwise.model.precision import SERVED, Precision
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Basis, Issue, Record
from gpuwise.model.result import refused as refused_by
from gpuwise.predictor.card import Card, bus, card, die, dies, runs_vllm
from gpuwise.predictor.rates import (
    Rates,
    around,
    document,
    energies,
    shipped,
    shipped_difficulty,
    shipped_half,
    shipped_on,
    watts_half,
)

Array = NDArray[np.float64]
PREFIX = "served:"
# Share of the memory that engines take for weights and cache.
RESERVED = 0.9
# Sequences that are tried where none are asked.
MOST = 256
ENGINES = ("vllm", "sglang", "trtllm")
# Bytes/s in one direction of NVLink 4, doubled on Blackwell.
_LINK = 450e9
# Tokens of a prompt that are read at a time; engines differ, which `chunk` takes up.
_CHUNK = 2048.0
# What an engine draws of the power limit whatever its kernels do, how much more where they reach the card's
# peaks, and its energies over those of image networks (`rates.energies`). Set on 451 public rows of H100s and
# B200s (Chung et al., ML.ENERGY leaderboard); docs/notes/predictions.md has the errors on the card left out.
ENGINE_SHARE, REACHED_SHARE, OPERATION, BYTE = 0.42, 0.10, 2.8, 0.62
# How sharply the slower of memory and multiprocessors decides.
SOFTENED = 4.0
# How sharply the limit cuts off.
CUT = 4.0
# GPUs that read a prompt together; wider deployments are several such groups, with a queue each.
_TOGETHER = 8.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """One served configuration; `first` asks for TTFT, else TPOT."""

    model: LanguageModel
    engine: str
    weight: float
    dtype: str
    batch: float  # Sequences that one instance decodes together
    gpus: float
    data_parallel: float
    length_in: float
    length_out: float
    apart: bool
    prefill_gpus: float
    first: bool
    cache: float = 2.0  # Bytes of a value of the KV cache.


def traits(work: Deployment) -> tuple[float, ...]:
    """What makes a deployment hard to predict: prompts on other machines, sizes, ranks that wait."""
    sizes = (work.batch, work.gpus, work.data_parallel, work.length_in, work.length_out)
    return (float(work.apart), float(work.model.experts > 0), *(log(size) for size in sizes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Tokens of a prompt and of its answer, and how they are kept."""

    prompt: int = 1024
    answer: int = 1024
    cache: Precision = Precision.BF16  # In which keys and values are kept.


def forecast_served(
    config: RunConfig, gpus: Sequence[str], *, lengths: Lengths, count: int = 1
) -> tuple[Record, ...]:
    """One instance on `count` of each GPU, decoding `config.batch` sequences together or the most that fit.

    Raises InputError for a model whose shape is not known, a precision that is not served, an unknown GPU.
    """
    model = model_of(config.workload)
    if config.precision not in SERVED:
        hint = f"choose from {', '.join(SERVED)}; gpuwise fit has llama.cpp's formats and NF4"
        raise InputError(f"vLLM serves no weights in {config.precision}", hint=hint)
    config = replace(config, gpus=count)
    return tuple(_predict(model, config, gpu, lengths, count) for gpu in dict.fromkeys(gpus))


def model_of(name: str) -> LanguageModel:
    """The shape that `served:NAME` means, a config.json or a GGUF file. Raises InputError with the nearest
    names."""
    return llms.find(name.removeprefix(PREFIX))


def _predict(model: LanguageModel, config: RunConfig, gpu: str, lengths: Lengths, count: int) -> Record:
    blank = Record(
        question=replace(config, gpus=count), gpu_id=gpu, item="token", origin="predicted", basis="spec-only"
    )
    try:
        found, spec = die(card(gpu)), catalog.find(gpu)
        if not runs_vllm(spec):
            raise NoDataError(f"vLLM does not run on {spec.architecture}")
        peak_of(config.precision, found)
        if count > 1 and bus(found.id, count)[1] != "NVLink":
            raise NoDataError(f"splitting over {bus(found.id, count)[1]} was in no fitted row")
        batch = config.batch or most(model, config.precision, found, lengths, count)
        needed = memory(model, config.precision, batch or 1, lengths, count)
        if needed > RESERVED * found.memory_bytes:
            tokens = f"{batch or 1} x {lengths.prompt + lengths.answer} tokens"
            take, room = units.gibibytes(needed), units.gibibytes(RESERVED * found.memory_bytes)
            why = f"weights and KV cache of {tokens} take {take} on each GPU, an engine has {room}"
            asked = replace(blank.question, batch=batch or 1)
            return replace(blank, question=asked, issues=refused_by(why))
        return _answer(blank, model, found, batch, lengths, needed)
    except NoDataError as refused:
        return replace(blank, issues=refused_by(str(refused)))


def memory(model: LanguageModel, precision: Precision, batch: int, lengths: Lengths, count: int) -> float:
    """Bytes of weights and KV cache on each of `count` GPUs."""
    kept = batch * model.cache_values(lengths.prompt + lengths.answer) * lengths.cache.weight_bytes
    return llms.stored_bytes(model, precision) / count + kept / model.cache_parts(count)


def most(model: LanguageModel, precision: Precision, found: Card, lengths: Lengths, count: int) -> int:
    """The largest power of two of sequences that fits; 0 where none does."""
    room, batch = RESERVED * found.memory_bytes, MOST
    while batch and memory(model, precision, batch, lengths, count) > room:
        batch //= 2
    return batch


def peak_of(precision: Precision, found: Card) -> str:
    """The format whose peak bounds products with such weights: their own where the card has it, else the 16
    bits that they are widened to. Raises NoDataError where it has neither."""
    for name in (precision.operand, precision.base or "bf16", "fp16"):
        if name in found.peaks and (name != "fp16" or precision.operand != "fp8"):
            return name
    found.peak(precision.operand)
    raise AssertionError


def _answer(
    blank: Record, model: LanguageModel, found: Card, batch: int, lengths: Lengths, needed: float
) -> Record:
    precision = blank.question.precision
    assert precision is not None
    work = Deployment(
        model=model, engine="vllm", weight=llms.weight_bytes(model, precision) / model.parameters,
        dtype=peak_of(precision, found).replace("fp16", "bf16"), cache=lengths.cache.weight_bytes,
        batch=float(batch), gpus=float(blank.gpus), data_parallel=1.0, length_in=float(lengths.prompt),
        length_out=float(lengths.answer), apart=False, prefill_gpus=float(blank.gpus), first=False,
    )  # fmt: skip
    both, rates = columns([work, replace(work, first=True)]), shipped_on("serving", found)
    per_token, first = map(float, milliseconds(both, found, rates) / 1e3)
    mean = around(float(watts(both, found, rates)[0]), watts_half())
    drawn = replace(mean, high=min(mean.high, found.power_w))
    fitted = found.id in document()["groups"]["serving"]["cards"]
    evidence: Basis = "calibrated" if fitted else "spec-only"
    # Served models were measured on NVIDIA's cards, and on those of makers with a share of their own.
    unseen = found.vendor != "NVIDIA" and f"decode/{found.vendor}" not in shipped("serving")
    why = f"order of magnitude only: no served model was measured on cards of {found.vendor}"
    hard, halves = np.array([traits(work)]), {}
    for part in ("TPOT", "TTFT"):
        group = f"serving:{part}"
        usual = shipped_half(group, evidence) * float(shipped_difficulty(group, evidence).of(hard)[0])
        halves[part] = max(usual + found.unproven(peak_of(precision, found)), log(10) / 2 if unseen else 0.0)
    method = f"conformal, {evidence}"
    speed = around(batch / per_token, halves["TPOT"], method=method)
    # A newer engine may schedule the next step while the GPU is at this one.
    speed = replace(speed, high=speed.high * per_token / (per_token - rates["step.vllm"]))
    peak = peak_of(precision, found)
    instead = f", products in {peak}" * (peak != precision.operand)
    return replace(
        blank, question=replace(blank.question, batch=batch), seconds=per_token, basis=evidence,
        throughput=speed, first_token_s=around(first, halves["TTFT"], method=method),
        watts=drawn.times(blank.gpus),
        issues=(Issue.warning("order-of-magnitude", why, "measure one on the card"),) if unseen else (),
        notes=(f"by vLLM: prompts of {lengths.prompt:,}, answers of {lengths.answer:,} tokens, {batch} "
               f"sequence{'s' * (batch > 1)}, weights in {precision}{instead}: with their KV cache "
               f"{units.gibibytes(needed)} on each GPU",
               *([f"of one of its {n} dies, each a GPU to software"] if (n := dies(found.id)) > 1 else ())),
    )  # fmt: skip


def columns(works: Sequence[Deployment]) -> dict[str, Array]:
    """The deployments as arrays, an element each."""
    names = (
        "weight", "batch", "gpus", "data_parallel", "length_in", "length_out", "apart", "prefill_gpus",
        "first", "cache",
    )  # fmt: skip
    found = {name: np.array([float(getattr(work, name)) for work in works]) for name in names}
    shapes = [work.model for work in works]
    for name in ("layers", "hidden", "latent", "experts", "routed"):
        found[name] = np.array([float(getattr(model, name)) for model in shapes])
    # Of all layers, and what one token multiplies: both hold the embedding.
    found["dense"] = np.array([float(model.parameters - model.table - model.routed) for model in shapes])
    found["active"] = found["dense"] + found["routed"] * [model.touched(1) for model in shapes]
    found["touched"] = found["routed"] * [work.model.touched(work.batch) for work in works]
    lengths = found["length_in"] + found["length_out"] / 2
    kept = [model.cache_values(length) for model, length in zip(shapes, lengths, strict=True)]
    found["held"] = found["batch"] * kept
    found["engine"] = np.array([ENGINES.index(work.engine) for work in works])
    for dtype in ("fp4", "fp8", "bf16"):
        found[dtype] = np.array([work.dtype == dtype for work in works], dtype=float)
    return found


def milliseconds(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    """TPOT, or TTFT where a deployment asks for the `first` token, of `columns` on one card."""
    # Seconds that one token of a prompt takes
    products = 2.0 * c["active"] / (_peak(c, card, rates) * rates["prefill"])
    scores = 2.0 * c["layers"] * c["hidden"] * c["length_in"] * (1.0 + (c["latent"] > 0))
    scores = scores / (_half_peak(card) * rates["attention"])
    exchange = 4.0 * c["layers"] * c["hidden"] * (c["prefill_gpus"] > 1) / (_link(card) * rates["exchange"])
    token = np.asarray((products + scores) / c["prefill_gpus"] + exchange * 2.0 / c["data_parallel"])
    step = _step(c, card, rates) * c["data_parallel"] ** rates["uneven"]
    mixed = (1.0 - c["apart"]) * c["batch"] * c["length_in"] / c["length_out"] * token * rates["mix"]
    per_token = step + mixed
    prompt = c["length_in"] * token
    share = mixed / per_token
    beside = c["batch"] / np.maximum(1.0, c["gpus"] / _TOGETHER)
    queue = (
        rates["queue"] * share / (1.05 - np.minimum(share, 1.0)) + rates["burst"] * beside ** rates["crowd"]
    )
    front = _engine(c, rates, "front")
    prompt = prompt * _engine(c, rates, "prompt") * rates["sparse"] ** (c["experts"] > 0)
    prompt = prompt + c["length_in"] / _CHUNK * step * rates["chunk"]
    first = prompt * (1.0 + queue) + rates["first"] * step + front
    return np.asarray(1e3 * np.where(c["first"] > 0, first, per_token))


def _engine(c: dict[str, Array], rates: Rates, name: str) -> Array:
    values = np.array([rates[f"{name}.{engine}"] for engine in ENGINES])
    return np.asarray(values[c["engine"].astype(int)])


def _half_peak(card: Card) -> float:
    """FLOP/s in bf16; cards older than that compute in fp16."""
    return card.peaks.get("bf16") or card.peak("fp16")


def _peak(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    """FLOP/s of each row's format; four-bit weights reach a smaller share of theirs."""
    found = np.zeros_like(c["batch"])
    for dtype in ("fp4", "fp8", "bf16"):
        share = rates["narrow"] if dtype == "fp4" else 1.0
        found = found + c[dtype] * share * card.peaks.get(dtype, _half_peak(card))
    return found


def _weights(c: dict[str, Array]) -> tuple[Array, Array]:
    """Bytes of weights that a GPU reads in a step: of all layers, and of the experts that a batch touches."""
    tensor = np.maximum(c["gpus"] / c["data_parallel"], 1.0)
    return c["weight"] * c["dense"] / tensor, c["weight"] * c["touched"] / c["gpus"]


def _cache(c: dict[str, Array]) -> Array:
    """Bytes of the KV cache that a GPU reads in a step."""
    # A cache in bf16 was fitted as 1.5 bytes a value: some of the fitted rows have it in 8 bits.
    held = c["held"] * 0.75 * c["cache"]
    return np.asarray(held / np.where(c["latent"] > 0, c["data_parallel"], c["gpus"]))


def _step(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    """Seconds of one decoding step."""
    dense, experts = _weights(c)
    # Multiprocessors ask for so many bytes a clock: few of them cannot use all that the memory would give.
    stated, asked = card.bytes_per_s * rates["memory"], rates["asked"] * card.units * card.clock_hz
    weights = (dense + experts / rates["experts"]) * (stated**-SOFTENED + asked**-SOFTENED) ** (1 / SOFTENED)
    cache = _cache(c) / (card.bytes_per_s * rates["kv"])
    products = 2.0 * c["active"] * c["batch"] / c["gpus"] / (_peak(c, card, rates) * rates["decode"])
    many = (c["gpus"] > 1) * (rates["reduce"] * np.log2(np.maximum(c["gpus"], 2.0)) * 2.0)
    moved = (c["gpus"] > 1) * 4.0 * c["batch"] * c["hidden"] / (_link(card) * rates["exchange"])
    layer = _engine(c, rates, "layer") + many + moved + (c["experts"] > 0) * rates["expert.layer"]
    fixed = c["layers"] * layer + _engine(c, rates, "step") + c["batch"] * _engine(c, rates, "sequence")
    return np.asarray(np.maximum(weights, products) + cache + fixed)


def watts(c: dict[str, Array], card: Card, rates: Rates) -> Array:
    """Mean draw of one GPU that decodes, and reads the prompts of what it decodes: what its units draw while
    they are at work, and the energy of the bytes and operations of a step (`rates.energies`)."""
    seconds = milliseconds({**c, "first": np.zeros_like(c["first"])}, card, rates) / 1e3
    tokens = c["batch"] * (1.0 + (1.0 - c["apart"]) * c["length_in"] / c["length_out"])
    flop, moved = 2.0 * c["active"] * tokens / c["gpus"], sum(_weights(c)) + _cache(c)
    reached = flop / (_peak(c, card, rates) * rates["prefill"]) + moved / (card.bytes_per_s * rates["memory"])
    energy = shipped_on("watts", card)
    formats = [next(name for name in ("fp4", "fp8", "bf16") if c[name][i]) for i in range(len(flop))]
    each = np.array([energies(energy, card, name) for name in formats])
    share = ENGINE_SHARE + REACHED_SHARE * np.minimum(1.0, reached / seconds)
    drawn = share + (OPERATION * flop * each[:, 0] + BYTE * moved * each[:, 1]) / seconds / card.power_w
    return np.asarray(card.power_w * (drawn**-CUT + 1.0) ** (-1.0 / CUT))


def _link(card: Card) -> float:
    return _LINK * (2.0 if card.family == "Blackwell" else 1.0)
