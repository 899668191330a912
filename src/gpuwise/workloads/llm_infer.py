"""Inference of a Llama-style decoder with a key-value cache: prefill and decode, measured apart.

- Prefill: one step reads B prompts of T tokens at once, fills their caches and gives each prompt's
  first new token. An item is one prompt token. The **time to first token** (TTFT) is the step time,
  T B / throughput; that of a single request is measured at batch 1.
- Decode: one step gives each of B sequences, T tokens long, one more. An item is one new token. The
  **time per output token** (TPOT) is the step time, B / throughput; tokens/s of one user is its
  inverse, tokens/s of the GPU is the throughput.
- A request of T tokens in and N out takes TTFT + (N - 1) TPOT.

The cache is allocated once and full from the start; each decode step overwrites one row of its last
block of 64, in turn, and attends to all T, so every step does equal work. The next token is the most
likely one and is fed back. fp8 and int8 change the linear layers (models/quantized.py); head, norms
and cache stay in bf16.

Cost of one token (symbols in llm_shape.py; w bytes a value):

- prefill: 2 L W + 4 L C (T + 1) / 2 + 2 C V / T operations, for the head is applied to the last
  position only. Traffic: that between products, 2 L K values written to the cache, and the weights
  once a step, divided by B T.
- decode: 2 L W + 4 L C T + 2 C V operations. Traffic: the weights once a step, divided by B, plus the
  whole cache of the sequence, 2 L K T w, plus that between products. Below some hundred sequences this
  is bound by memory: TPOT >= (weights + B cache) / bandwidth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.llm_shape import (
    SHAPES,
    TOY_TOKENS,
    DecoderShape,
    attention_flop,
    cache_bytes,
    forward_flop,
    linear_values,
    other_values,
    weight_bytes,
)
from gpuwise.workloads.workload import REPEATED, Workload, workload

if TYPE_CHECKING:
    import torch

    from gpuwise.workloads.job import Job

Phase = Literal["prefill", "decode"]
BLOCK = 64
"""Rows at the end of the cache that decode steps write in turn."""


def prefill_cost(shape: DecoderShape, tokens: int, precision: Precision, batch: int) -> Cost:
    """Cost of one prompt token in a step of `batch` prompts of `tokens`."""
    values = linear_values(shape) + other_values(shape)
    traffic = values * precision.bytes + cache_bytes(shape, 1, precision)
    return Cost(
        flop_per_item=forward_flop(shape, tokens, 1 / tokens),
        bytes_per_item=traffic + weight_bytes(shape, precision) / (batch * tokens),
    )


def decode_cost(shape: DecoderShape, tokens: int, precision: Precision, batch: int) -> Cost:
    """Cost of one new token in a step of `batch` sequences with `tokens` in the cache."""
    products = 2.0 * (shape.layers * shape.layer_weights + shape.head_weights)
    values = (linear_values(shape) + other_values(shape)) * precision.bytes
    return Cost(
        flop_per_item=products + attention_flop(shape, tokens),
        bytes_per_item=weight_bytes(shape, precision) / batch
        + cache_bytes(shape, tokens, precision)
        + values,
    )


COSTS = {"prefill": prefill_cost, "decode": decode_cost}


def inference(size: str, phase: Phase, tokens: int, *, default_batch: int, billions: str) -> Workload:
    """A workload that runs one phase of the decoder of `size` at a context of `tokens`."""
    shape, long = SHAPES[size], "" if tokens == 2048 else f"-{tokens // 1024}k"

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        return COSTS[phase](shape, tokens, precision, batch)

    def build(config: RunConfig, batch: int) -> Job:
        from gpuwise.workloads.job import set_precision

        set_precision(config)
        if config.size == "toy":
            return phase_job(config, phase, SHAPES["toy"], TOY_TOKENS, batch)
        return phase_job(config, phase, shape, tokens, batch)

    spec = WorkloadSpec(
        id=f"llm-{size}-{phase}{long}",
        version=1,
        title=f"Decoder {billions}, {phase}, context {tokens:,}",
        task=f"language-model inference: {phase}",
        item="token",
        modes=("infer",),
        parameters=shape.parameters,
        default_batch=default_batch,
        cpu_batch=1,
        cost=cost,
        precisions=(*NETWORK_PRECISIONS, Precision.FP8, Precision.INT8),
        switches=REPEATED if phase == "prefill" else (),
        phase=phase,
    )
    return workload(spec)(build)


def phase_job(config: RunConfig, phase: Phase, shape: DecoderShape, tokens: int, batch: int) -> Job:
    """The job of one phase. Its mismatch is against eager and, under fp8 and int8, against bf16 weights.

    The bf16 network is built first, so it must fit even where only the 8-bit one is timed.
    """
    import torch

    from gpuwise.workloads.job import DTYPES, inference_job
    from gpuwise.workloads.models.decoder import Cache, build_decoder
    from gpuwise.workloads.models.phases import Decode, Prefill
    from gpuwise.workloads.models.quantized import quantise

    narrow = config.precision in ("fp8", "int8")
    dtype = torch.bfloat16 if narrow else DTYPES.get(config.precision, torch.float32)
    model = build_decoder(shape, tokens, dtype, config.device)
    cache = Cache(shape, batch, tokens, model.table)
    network: torch.nn.Module = Prefill(model, cache) if phase == "prefill" else Decode(model, cache)
    inputs = _inputs(phase, shape, tokens, batch, config.device)
    expected = None
    if narrow or config.compile:
        expected = inference_job(network, inputs, replace(config, compile=False), batch).step()
    if narrow:
        quantise(model, config.precision)
    items, mode = (batch * tokens, None) if phase == "prefill" else (batch, "reduce-overhead")
    job = inference_job(network, inputs, config, items, compile_mode=mode)
    return _checked(job, expected) if phase == "prefill" else _cycling(job, expected, inputs, tokens)


def _checked(job: Job, expected: torch.Tensor | None) -> Job:
    """The job with its mismatch against `expected`, taken on the third call: a CUDA graph replays then."""
    from gpuwise.workloads.job import relative_difference

    if expected is None:
        return job
    return replace(job, mismatch=lambda: relative_difference([job.step() for _ in range(3)][-1], expected))


def _cycling(job: Job, expected: torch.Tensor | None, inputs: Sequence[torch.Tensor], context: int) -> Job:
    """The decode job whose every timed step goes on to the next token and row."""
    step, (tokens, position) = job.step, inputs
    return replace(_checked(job, expected), step=lambda: _advance(step(), tokens, position, context))


def _inputs(
    phase: Phase, shape: DecoderShape, tokens: int, batch: int, device: str
) -> tuple[torch.Tensor, ...]:
    """Prompts (B, T), or one token a sequence (B, 1) and the row (1,) where it is written."""
    import torch

    if phase == "prefill":
        return (torch.randint(shape.vocabulary, (batch, tokens), device=device),)
    position = torch.full((1,), tokens - 1, device=device)
    return torch.randint(shape.vocabulary, (batch, 1), device=device), position


def _advance(
    logits: torch.Tensor, tokens: torch.Tensor, position: torch.Tensor, context: int
) -> torch.Tensor:
    """Feed the likeliest token back and go to the next row of the last block, all on the device."""
    import torch

    block = min(BLOCK, context)
    with torch.inference_mode():
        torch.argmax(logits, dim=-1, keepdim=True, out=tokens)
        position.add_(1 + block - context).remainder_(block).add_(context - block)
    return logits


llm_1b_prefill = inference("1b", "prefill", 2048, default_batch=4, billions="1.2B")
llm_1b_decode = inference("1b", "decode", 2048, default_batch=32, billions="1.2B")
llm_8b_prefill = inference("8b", "prefill", 2048, default_batch=2, billions="8.0B")
llm_8b_decode = inference("8b", "decode", 2048, default_batch=16, billions="8.0B")
llm_1b_prefill_8k = inference("1b", "prefill", 8192, default_batch=1, billions="1.2B")
llm_1b_decode_8k = inference("1b", "decode", 8192, default_batch=16, billions="1.2B")
llm_8b_prefill_8k = inference("8b", "prefill", 8192, default_batch=1, billions="8.0B")
llm_8b_decode_8k = inference("8b", "decode", 8192, default_batch=8, billions="8.0B")
