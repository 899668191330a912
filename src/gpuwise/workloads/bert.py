"""BERT: what all its workloads share, from shape to cost to optimiser.

Cost of one sequence of T tokens, L layers, width C:

- arithmetic, forward: 24 L C^2 T for the linear layers (12 C^2 weights a layer, 2 operations
  each), 4 L C T^2 for attention. Backward is twice forward. The word lookup is free.
- memory traffic, in units of C values a token and layer, flash attention and pointwise chains
  fused: query-key-value product 1 + 3, attention 3 + 1, projection 1 + 1, dropout-add-norm 2 + 1,
  expand 1 + 4, GELU 4 + 4, contract 4 + 1, dropout-add-norm 2 + 1: 34 forward, twice that backward.
- weights: inference reads them once; an AdamW step moves 28 bytes a parameter (weight, gradient,
  two moments read, three written) and the two passes 12 more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode
from gpuwise.workloads.workload import REPEATED

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

    from gpuwise.workloads.job import Job
    from gpuwise.workloads.models.bert import Bert

LEARNING_RATE, DECAY = 1e-6, 0.01

SWITCHES = ("stream", "attention", "weights", *REPEATED)
"""Of a recipe of BERT."""

FORWARD_VALUES, OPTIMISER_BYTES = 34, 40

TOY_TOKENS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """Sizes of one BERT variant; large unless said otherwise."""

    layers: int = 24
    hidden: int = 1024
    heads: int = 16
    words: int = 28_996
    """Word pieces that are drawn; the cased vocabulary."""
    vocabulary: int = 29_000
    """Rows of the embedding: the words, padded to a multiple of 8."""
    positions: int = 512


TOY = BertShape(layers=2, hidden=64, heads=4, words=128, vocabulary=128, positions=TOY_TOKENS)


def encoder_parameters(shape: BertShape) -> int:
    """Embeddings of words, positions and 2 segments with their norm, and the layers; no pooler."""
    width = shape.hidden
    embeddings = (shape.vocabulary + shape.positions + 2) * width + 2 * width
    return embeddings + shape.layers * (12 * width**2 + 13 * width)


def encoder_flop(shape: BertShape, tokens: int) -> int:
    """Operations of one forward pass of one sequence, without a head."""
    linear = 24 * shape.layers * shape.hidden**2 * tokens
    return linear + 4 * shape.layers * shape.hidden * tokens**2


def encoder_values(shape: BertShape, tokens: int) -> int:
    """Values that one forward pass of one sequence moves."""
    return FORWARD_VALUES * shape.hidden * tokens * shape.layers


def sequence_cost(
    mode: Mode, precision: Precision, batch: int, *, flop: float, values: int, parameters: int
) -> Cost:
    """Cost of one sequence from what its forward pass computes and moves."""
    width = precision.bytes
    traffic = values * width
    if mode == "infer":
        return Cost(flop_per_item=flop, bytes_per_item=traffic + parameters * width / batch)
    return Cost(flop_per_item=3 * flop, bytes_per_item=3 * traffic + OPTIMISER_BYTES * parameters / batch)


def answering_parameters(shape: BertShape) -> int:
    """With the question-answering head, without a pooler."""
    return encoder_parameters(shape) + 2 * shape.hidden + 2


def answering_flop(shape: BertShape, tokens: int) -> float:
    """Operations of one forward pass of one sequence with the question-answering head."""
    return float(encoder_flop(shape, tokens) + 2 * tokens * shape.hidden * 2)


def answering_cost(shape: BertShape, tokens: int, mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one sequence in a step of `batch` sequences; the head's traffic is not counted."""
    flop, values = answering_flop(shape, tokens), encoder_values(shape, tokens)
    parameters = answering_parameters(shape)
    return sequence_cost(mode, precision, batch, flop=flop, values=values, parameters=parameters)


def answering_job(shape: BertShape, tokens: int, config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, no padding.

    Stock has fused attention and a fused optimiser. Script has the public script's unfused
    attention with an additive mask, its pooler and its tensor-by-tensor optimiser.
    """
    import torch

    from gpuwise.workloads.input import question_feed
    from gpuwise.workloads.job import (
        inference_job,
        relative_difference,
        set_precision,
        training_job,
    )
    from gpuwise.workloads.models.bert import BertForQuestionAnswering
    from gpuwise.workloads.models.float8 import Scales
    from gpuwise.workloads.models.quantized import quantise

    set_precision(config)
    tuned = config.recipe != "script"
    if config.size == "toy":
        shape, tokens = TOY, TOY_TOKENS
    with torch.device(config.device):
        model = BertForQuestionAnswering(shape, fused=tuned)
        inputs: tuple[Tensor, ...]
        inputs = (torch.randint(shape.words, (batch, tokens)), torch.randint(2, (batch, tokens)))
        if not tuned:
            inputs = (*inputs, torch.ones(batch, tokens))
        answers = (torch.randint(tokens, (batch,)), torch.randint(tokens, (batch,)))
    arrange(model, config)
    if config.mode == "infer":
        narrow = config.precision == "fp8"
        if narrow:
            model = model.to(torch.bfloat16)
        job = inference_job(model, inputs, config, batch)
        if narrow:
            exact = inference_job(model, inputs, replace(config, compile=False), batch).step()
            quantise(model, Precision.FP8)
            narrow_step = job.step
            job = replace(job, mismatch=lambda: relative_difference(narrow_step(), exact))
        return replace(job, feed=question_feed(inputs[0], inputs[1], (), shape.words))
    adam = optimizer(model, tuned=tuned, unread="pooler.")
    scales = Scales(model.layers, together=config.gpus > 1) if config.precision == "fp8" else None
    job = training_job(
        model, inputs, lambda logits: _answer_loss(logits, answers), adam, config, batch, scales=scales
    )
    return replace(job, feed=question_feed(inputs[0], inputs[1], answers, shape.words))


def arrange(model: Bert, config: RunConfig) -> None:
    """What the recipe's switches ask of the layers: gpuwise's kernels, and 16 bits between them."""
    from gpuwise.workloads.job import half_of

    if config.recipe == "script":
        return
    on_gpu, stream = config.device == "cuda", config.switches.stream
    if config.switches.attention == "triton" and on_gpu:
        model.attend_by_kernel()
    if config.mode == "train" and stream != "fp32":
        model.hand_on(half_of(config), kernels=on_gpu and stream == "triton")


def _answer_loss(logits: tuple[Tensor, Tensor], answers: tuple[Tensor, Tensor]) -> Tensor:
    """Mean cross entropy of the start and end position over the tokens."""
    from torch.nn import functional

    start, end = (functional.cross_entropy(x, y) for x, y in zip(logits, answers, strict=True))
    return (start + end) / 2


def optimizer(model: nn.Module, *, tuned: bool = True, unread: str | None = None) -> Optimizer:
    """Weight decay on matrices only; parameters under the prefix `unread`, which no loss reads, are left out.

    The learning rate is so small that some hundred steps do not fit the one batch: at 3e-5 the
    loss falls to 0.002, gradients vanish, and a GPU at its power limit runs 8 % faster on them.
    """
    import torch

    from gpuwise.workloads.bert_adam import BertAdam

    read = [p for name, p in model.named_parameters() if not (unread and name.startswith(unread))]
    groups = [
        {"params": [p for p in read if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in read if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return (
        torch.optim.AdamW(groups, lr=LEARNING_RATE, fused=True)
        if tuned
        else BertAdam(groups, lr=LEARNING_RATE)
    )
