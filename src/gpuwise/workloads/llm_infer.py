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

Cost of one token (symbols in llm.py; w bytes a value):

- prefill: 2 L W + 4 L C (T + 1) / 2 + 2 C V / T operations, for the head is applied to the last
  position only. Traffic: that between products, 2 L K values written to the cache, and the weights
  once a step, divided by B T.
- decode: 2 L W + 4 L C T + 2 C V operations. Traffic: the weights once a step, divided by B, plus the
  whole cache of the sequence, 2 L K T w, plus that between products. Below some hundred sequences this
  is bound by memory: TPOT >= (weights + B cache) / bandwidth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.llm import (
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


def inference(size: str, phase: Phase, tokens: int, *, default_batch: int, billions: str) -> Workload:
    """A workload that runs one phase of the decoder of `size` at a context of `tokens`."""
    shape, long = SHAPES[size], "" if tokens == 2048 else f"-{tokens // 1024}k"

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        cost_of = prefill_cost if phase == "prefill" else decode_cost
        return cost_of(shape, tokens, precision, batch)

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

    from gpuwise.workloads.job import dtype_of, inference_job, relative_difference
    from gpuwise.workloads.models.decoder import Cache, Decode, Prefill, build_decoder
    from gpuwise.workloads.models.quantized import quantise

    narrow = config.precision in (Precision.FP8, Precision.INT8)
    model = build_decoder(shape, tokens, dtype_of(config.precision), config.device)
    cache = Cache(shape, batch, tokens, model.table)
    decodes = phase == "decode"
    network: torch.nn.Module = Decode(model, cache) if decodes else Prefill(model, cache)
    prompt = torch.randint(shape.vocabulary, (batch, 1 if decodes else tokens), device=config.device)
    position = torch.full((1,), tokens - 1, device=config.device)
    inputs = (prompt, position) if decodes else (prompt,)
    # Before quantising: it is done in place.
    expected = None
    if narrow or config.compile:
        expected = inference_job(network, inputs, replace(config, compile=False), batch).step()
    if narrow:
        quantise(model, config.precision)
    items, mode = (batch, "reduce-overhead") if decodes else (batch * tokens, None)
    job = inference_job(network, inputs, config, items, compile_mode=mode)
    step = job.step
    if expected is not None:
        # The third call is compared: a CUDA graph replays from then on.
        job = replace(job, mismatch=lambda: relative_difference([step() for _ in range(3)][-1], expected))
    if not decodes:
        return job
    # Every timed step goes on to the next token and row; the comparison above must not.
    return replace(job, step=lambda: advance(step(), prompt, position, tokens))


def advance(logits: torch.Tensor, tokens: torch.Tensor, position: torch.Tensor, context: int) -> torch.Tensor:
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
