"""Served language models (`served:NAME`): output tokens a second, time to the first token, and what fits.

    throughput = sequences / TPOT                   sequences that one instance decodes together
    memory     = weights / n + sequences x (prompt + answer) x KV cache of a token / n
    fits       where that is within 90 % of the memory, which engines reserve

n GPUs split every layer (tensor parallel); a latent cache is not split. Times are those of `sets.serving`,
fitted on InferenceX's rows of vLLM and scored in docs/how-it-predicts.md; their intervals are those of
cards left out there. Splitting was fitted over NVLink alone, so other links are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpuwise.errors import InputError, NoDataError
from gpuwise.model import units
from gpuwise.model.answer import Evidence, Prediction
from gpuwise.model.run import RunConfig
from gpuwise.predict.builders_llm import Served, models
from gpuwise.predict.card import Card, card
from gpuwise.predict.collectives import bus
from gpuwise.predict.interval import around, shipped_difficulty, shipped_half
from gpuwise.predict.rates import document, shipped
from gpuwise.predict.sets import serving
from gpuwise.predict.sets.case import Case

PREFIX = "served:"
WEIGHT = {"bf16": 2.0, "fp8": 1.0}
"""Bytes of a weight; the KV cache stays in bf16."""
KV_BYTES = 2.0
RESERVED = 0.9
"""Share of the memory that engines take for weights and cache."""
MOST = 256
"""Sequences that are tried where none are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Tokens of a prompt and of its answer."""

    prompt: int = 1024
    answer: int = 1024


def forecast_served(
    config: RunConfig, gpus: Sequence[str], *, lengths: Lengths, count: int = 1
) -> tuple[Prediction, ...]:
    """One instance on `count` of each GPU, decoding `config.batch` sequences together or the most that fit.

    Raises InputError for a model whose shape is not known, a precision that is not served, an unknown GPU.
    """
    model = model_of(config.workload)
    if config.precision not in WEIGHT:
        raise InputError(f"no {config.precision} rows of served models are known", hint="--precision fp8")
    config = replace(config, gpus=count)
    return tuple(_predict(model, config, gpu, lengths, count) for gpu in dict.fromkeys(gpus))


def model_of(name: str) -> Served:
    """The published shape that `served:NAME` means. Raises InputError with the nearest names."""
    found = models().get(name.removeprefix(PREFIX).casefold())
    if found is None:
        from difflib import get_close_matches  # only where a name is wrong

        near = get_close_matches(name.removeprefix(PREFIX), models(), n=3, cutoff=0.4)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"no shape of {name!r} is known{guess}", hint=f"known: {', '.join(models())}")
    return found


def _predict(model: Served, config: RunConfig, gpu: str, lengths: Lengths, count: int) -> Prediction:
    blank = Prediction(gpu_id=gpu, count=count, config=config, item="token")
    try:
        found = card(gpu)
        found.peak(config.precision)
        if count > 1 and bus(found.id, count)[1] != "NVLink":
            raise NoDataError(f"splitting over {bus(found.id, count)[1]} was in no fitted row")
        batch = config.batch or most(model, config.precision, found, lengths, count)
        needed = memory(model, config.precision, batch or 1, lengths, count)
        if needed > RESERVED * found.memory_bytes:
            return _too_large(blank, found, batch or 1, lengths, needed)
        return _answer(blank, model, found, batch, lengths, needed)
    except NoDataError as refused:
        return replace(blank, refusal=str(refused))


def memory(model: Served, precision: str, batch: int, lengths: Lengths, count: int) -> float:
    """Bytes of weights and KV cache on each of `count` GPUs."""
    kept = batch * (lengths.prompt + lengths.answer) * model.kv * KV_BYTES
    return model.total * WEIGHT[precision] / count + kept / (1 if model.latent else count)


def most(model: Served, precision: str, found: Card, lengths: Lengths, count: int) -> int:
    """The largest power of two of sequences that fits; 0 where none does."""
    room, batch = RESERVED * found.memory_bytes, MOST
    while batch and memory(model, precision, batch, lengths, count) > room:
        batch //= 2
    return batch


def _answer(
    blank: Prediction, model: Served, found: Card, batch: int, lengths: Lengths, needed: float
) -> Prediction:
    work = serving.Deployment(
        model=model, engine="vllm", weight=WEIGHT[blank.config.precision], dtype=blank.config.precision,
        batch=float(batch), gpus=float(blank.count), data_parallel=1.0, length_in=float(lengths.prompt),
        length_out=float(lengths.answer), apart=False, prefill_gpus=float(blank.count), first=False,
    )  # fmt: skip
    cases = [_case(found, work), _case(found, replace(work, first=True))]
    per_token, first = (float(ms) / 1e3 for ms in serving.predict(shipped("serving"), cases))
    fitted = found.id in document()["groups"]["serving"]["cards"]
    evidence: Evidence = "calibrated" if fitted else "spec-only"
    halves = {part: _half(f"serving:{part}", evidence, work) for part in ("TPOT", "TTFT")}
    method = f"conformal, {evidence}"
    return replace(
        blank, batch=batch, seconds=per_token, evidence=evidence,
        throughput=around(batch / per_token, halves["TPOT"], method=method),
        first_token_s=around(first, halves["TTFT"], method=method),
        notes=(f"weights and KV cache of {batch} x {lengths.prompt + lengths.answer} tokens: "
               f"{units.gibibytes(needed)} on each GPU",),
    )  # fmt: skip


def _half(group: str, evidence: Evidence, work: serving.Deployment) -> float:
    """Half width of the interval of one deployment."""
    hard = shipped_difficulty(group, evidence).of(np.array([serving.traits(work)]))
    return shipped_half(group, evidence) * float(hard[0])


def _case(found: Card, work: serving.Deployment) -> Case:
    return Case(
        gpu=found.id, card=found, model=work.model.name, measured=1.0, flop=0.0, moved=0.0, dtype=work.dtype,
        work=work,
    )  # fmt: skip


def _too_large(blank: Prediction, found: Card, batch: int, lengths: Lengths, needed: float) -> Prediction:
    tokens = f"{batch} x {lengths.prompt + lengths.answer} tokens"
    take, room = units.gibibytes(needed), units.gibibytes(RESERVED * found.memory_bytes)
    why = f"weights and KV cache of {tokens} take {take} on each GPU, an engine has {room}"
    return replace(blank, batch=batch, refusal=why)
