"""The jobs of language models: training by one of the methods, reading a prompt, a step of decoding.

LoRA (Hu et al. 2021, arXiv:2106.09685): adapters that are trained, in a decoder that is frozen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.errors import InputError
from gpuwise.model.precision import FOUR_BIT_FLOATS, Precision
from gpuwise.model.question import RunConfig
from gpuwise.workloads import job as jobs
from gpuwise.workloads.input import text_feed
from gpuwise.workloads.job import Job, as_graph, dtype_of, inference_job, relative_difference, set_precision
from gpuwise.workloads.llm import RANK, Decoding, Method, must_recompute, part_of
from gpuwise.workloads.models.adam8 import Adam8bit
from gpuwise.workloads.models.cross_entropy import chunked_cross_entropy
from gpuwise.workloads.models.decoder import (
    Attention,
    Block,
    Cache,
    Decode,
    Decoder,
    FeedForward,
    FusedDecode,
    Part,
    Prefill,
    build_decoder,
    outline,
)
from gpuwise.workloads.models.quantized import HAS_TRITON, MAX_KERNEL_ROWS, Narrow, NarrowLinear, quantise
from gpuwise.workloads.parallel import given_memory

# Weights of which every tensor-parallel rank has a part.
DIVIDED = re.compile(r"(qkv|gate_up|output|feed_forward.*down|head|query_up|latent_up)\b|sinks|biases")
BLOCK = 64  # Rows at the end of the cache that decode steps write in turn
MOST_AT_ONCE = 512  # Tokens whose likeliest one block looks for
# So small that some hundred steps do not fit the one batch: a fitted one has vanishing gradients, which
# draw less power. With all weights in bf16 a smaller one would round away altogether.
LEARNING_RATES: dict[Method, float] = {"pretrain": 1e-6, "full": 5e-6, "lora": 1e-5, "qlora": 1e-5}


ALPHA = 32


class LoraLinear(Part):
    """`base`, frozen, of any format, plus one adapter for each of the `parts` into which its outputs fall."""

    def __init__(self, base: nn.Linear | NarrowLinear, parts: Sequence[int], rank: int = RANK) -> None:
        super().__init__()
        self.base, self.rank, self.scale = base.requires_grad_(False), rank, ALPHA / rank
        device = base.weight.device
        self.down = nn.Parameter(torch.empty(len(parts) * rank, base.in_features, device=device))
        self.up = nn.ParameterList(torch.empty(part, rank, device=device) for part in parts)
        self.initialise()

    def initialise(self) -> None:
        nn.init.normal_(self.down, std=self.base.in_features**-0.5)
        for up in self.up:
            nn.init.zeros_(up)

    @property
    def weight(self) -> Tensor:
        """That of the base."""
        return self.base.weight

    def forward(self, x: Tensor) -> Tensor:  # (..., inputs) -> (..., outputs)
        low = torch.split(functional.linear(x, self.down), self.rank, dim=-1)
        added = torch.cat([functional.linear(z, b) for z, b in zip(low, self.up, strict=True)], dim=-1)
        return self.base(x) + self.scale * added


def add_lora(model: Decoder, rank: int = RANK) -> Decoder:
    """In place: freeze all, and put fp32 adapters on all linear layers but head, routers and experts."""
    # Adapters are made after this, so they alone are trained.
    model.requires_grad_(False)
    for block in model.layers:
        assert isinstance(block, Block)
        attention, feed = block.attention, block.feed_forward
        places: list[tuple[nn.Module, str, tuple[int, ...]]] = []
        for name, base in list(attention.named_children()):
            if isinstance(base, nn.Linear | NarrowLinear):
                whole = isinstance(attention, Attention) and name == "qkv"
                places.append((attention, name, attention.parts if whole else (base.out_features,)))  # type: ignore[arg-type]
        if isinstance(feed, FeedForward):
            inner = feed.down.in_features
            places += [(feed, "gate_up", (inner, inner)), (feed, "down", (model.shape.hidden,))]
        for owner, name, parts in places:
            base = getattr(owner, name)
            assert isinstance(base, nn.Linear | NarrowLinear)
            setattr(owner, name, LoraLinear(base, parts, rank))
    return model


def training_job(config: RunConfig, asked: Decoding, batch: int) -> Job:
    """One fixed batch of random tokens, each with the next as its target; LoRA trains the adapters only."""
    shape, tokens, method = asked.model, asked.tokens, cast("Method", asked.step)
    set_precision(config)
    # Pre-training keeps fp32 weights and casts them for each product; the others have the precision's own.
    dtype = torch.float32 if method == "pretrain" else dtype_of(config.precision)
    adapts = method in ("lora", "qlora")
    ranks = config.gpus if config.scaling == "tensor" else 1
    if ranks > 1:
        part = part_of(shape, ranks)
        if adapts or shape.latent or shape.experts or shape.output_bias or shape.kv_heads % ranks:
            problem = f"{config.workload} is not trained with shared products"
            raise InputError(problem, hint="leave out --scaling tensor: FSDP2 divides what does not fit")
        model = build_decoder(part, tokens, dtype, config.device, ranks=ranks)
    elif method == "qlora":
        model = add_lora(build_decoder(shape, tokens, dtype, config.device, narrow=Precision.NF4))
    else:
        model = outline(shape, tokens, dtype, config.device)
        given_memory(add_lora(model) if adapts else model, config)
    model.recompute = asked.checkpointed
    if method == "lora" and config.device == "cuda" and not asked.checkpointed:
        # Computing activations again costs one more forward of the layers and does not pay where they fit:
        # 2,048 tokens of an 8b layer fill a GPU already. It pays in reach, as an 8b sequence keeps 13 GB.
        free = torch.cuda.mem_get_info()[0]
        model.recompute = must_recompute(shape, batch, tokens, free, dtype.itemsize)
    # Inputs and targets, (B, T) each: the targets are the inputs one position on
    sequence = torch.randint(shape.vocabulary, (batch, tokens + 1), device=config.device)
    inputs, targets = sequence[:, :-1].contiguous(), sequence[:, 1:].contiguous()
    if ranks > 1:
        same_on_all(model, inputs, targets)
        if model.joined.ranks == 1:  # timed without exchange
            targets %= len(model.head_weight)
    rate = LEARNING_RATES["pretrain" if method == "full" and dtype == torch.float32 else method]
    trained, decay = [each for each in model.parameters() if each.requires_grad], 0.0 if adapts else 0.1
    optimizer: torch.optim.Optimizer
    if asked.adamw8bit:
        optimizer = Adam8bit(trained, rate, decay, compiled=config.compile)
    else:
        optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=decay, fused=True)

    def loss(hidden: Tensor) -> Tensor:
        return chunked_cross_entropy(hidden, model.head_weight, targets, ranks=model.joined.ranks)

    job = jobs.training_job(model, (inputs,), loss, optimizer, config, batch * tokens)
    return job if adapts else replace(job, feed=text_feed(inputs, targets, shape.vocabulary))


def same_on_all(model: Decoder, *held: Tensor) -> None:
    """What all tensor-parallel ranks have is rank 0's."""
    whole = [p.detach() for name, p in model.named_parameters() if not DIVIDED.search(name)]
    for each in (*whole, *held):
        torch.distributed.broadcast(each, src=0)


def phase_job(config: RunConfig, asked: Decoding, batch: int) -> Job:
    """The job of one phase. Its mismatch is against eager; with weights of 8 bits against bf16 ones; with 4
    bits, which change an answer by themselves, against the same ones widened by torch.

    The bf16 network is built first, so it must fit even where only the narrow one is timed.
    """
    ranks = config.gpus if config.scaling == "tensor" else 1
    shape, tokens, decodes = part_of(asked.model, ranks), asked.tokens, asked.step == "decode"
    set_precision(config)
    narrow = config.precision.weight_bytes < 2
    model = build_decoder(shape, tokens, dtype_of(config.precision), config.device, ranks=ranks)
    cache = Cache(shape, batch, tokens, model.table)
    network: nn.Module = Decode(model, cache) if decodes else Prefill(model, cache)
    prompt = torch.randint(shape.vocabulary, (batch, 1 if decodes else tokens), device=config.device)
    position = torch.full((1,), tokens - 1, device=config.device)
    inputs = (prompt, position) if decodes else (prompt,)
    if ranks > 1:
        same_on_all(model, prompt)
    asks = config.switches.decode == "triton"
    if asks and ranks > 1:
        raise InputError("gpuwise's decoding kernels are of one GPU", hint="leave out the switch decode")
    own = (
        decodes
        and shape.decodes_fused
        and ranks == 1
        and (asks or config.precision in (Precision.INT8, Precision.INT4))
    )
    # Before quantising: it is done in place.
    expected = None
    eager = replace(config, compile=False)
    if config.precision.weight_bytes < 1:
        quantise(model.layers, config.precision)
        with mock.patch.object(Narrow, "plain", True):
            expected = inference_job(network, inputs, eager, batch).step()
    elif narrow or config.compile or own:
        expected = inference_job(network, inputs, eager, batch).step()
        if narrow:
            quantise(model.layers, config.precision)
    # A prediction records torch's operators on another device.
    if own and model.table.device.type == "cuda" and HAS_TRITON:
        # Of four-bit floats gpuwise's kernel multiplies one row.
        floats = config.precision in FOUR_BIT_FLOATS
        if batch <= (1 if floats else MAX_KERNEL_ROWS) and model.table.element_size() == 2:
            return fused_job(FusedDecode(model, cache), inputs, tokens, expected, config)
        if asks:
            most = f"at most {MAX_KERNEL_ROWS} sequences, of 4-bit floats one"
            why = f"gpuwise's decoding kernels take 16 bits and {most}"
            raise InputError(why, hint="leave out the switch decode")
    # A step of decoding is too short for the host to launch it kernel by kernel.
    graph = replace(config, switches=replace(config.switches, graph="on")) if decodes else config
    job = inference_job(network, inputs, graph, batch if decodes else batch * tokens)
    job, step = replace(job, parallel="tp" if ranks > 1 else None), job.step
    if expected is not None:
        # The third call is compared: a CUDA graph replays from then on.
        job = replace(job, mismatch=lambda: relative_difference([step() for _ in range(3)][-1], expected))
    if not decodes:
        return job
    # Every timed step goes on to the next token and row; the comparison above must not.
    return replace(job, step=lambda: advance(step(), prompt, position, tokens))


def fused_job(
    network: FusedDecode, inputs: tuple[Tensor, ...], tokens: int, expected: Tensor | None, config: RunConfig
) -> Job:
    """Steps by gpuwise's kernels, next token included; what is compiled elsewhere is one CUDA graph here."""
    prompt, position = inputs
    first = prompt.clone()

    @torch.inference_mode()
    def both() -> Tensor:
        if network.whole is not None:
            return network.whole(prompt, position, tokens, min(BLOCK, tokens))
        return advance(network(prompt, position), prompt, position, tokens)

    step = as_graph(both) if config.compile else both

    def mismatch() -> float:
        assert expected is not None
        prompt.copy_(first)
        position.fill_(tokens - 1)
        return relative_difference(step(), expected)

    return Job(step=step, items=len(prompt), inputs=inputs, mismatch=mismatch)


def advance(logits: Tensor, tokens: Tensor, position: Tensor, context: int) -> Tensor:
    """Feed the likeliest token back and go to the next row of the last block, all on the device."""
    block = min(BLOCK, context)
    with torch.inference_mode():
        if len(logits) > 1:
            torch.argmax(logits, dim=-1, keepdim=True, out=tokens)
        else:  # One block of the GPU would search the only row: parts of it first.
            width = max(n for n in range(1, MOST_AT_ONCE + 1) if logits.shape[-1] % n == 0)
            most, where = logits.view(1, -1, width).max(-1)
            best = most.argmax(-1, keepdim=True)
            torch.add(where.gather(-1, best), best, alpha=width, out=tokens)
        position.add_(1 + block - context).remainder_(block).add_(context - block)
    return logits
