"""BERT-large cased with a question-answering head at 384 tokens: bound by matrix products.

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

from typing import TYPE_CHECKING

from gpuwise.model.run import RunConfig
from gpuwise.model.workload import OPERAND_BYTES, Cost, Mode, Precision, WorkloadSpec
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

    from gpuwise.workloads.job import Job

LAYERS, HIDDEN, TOKENS = 24, 1024, 384
PARAMETERS = 332_535_810
"""Without a pooler, vocabulary padded to 29,000 (both recipes pad it, as the public script does)."""
TOKENS_IN_VOCABULARY = 28_996

LEARNING_RATE = 1e-6

FORWARD_VALUES, OPTIMISER_BYTES = 34, 40


def forward_flop() -> float:
    """Operations of one forward pass of one sequence (2.46e11)."""
    linear = 24 * LAYERS * HIDDEN**2 * TOKENS
    attention = 4 * LAYERS * HIDDEN * TOKENS**2
    head = 2 * TOKENS * HIDDEN * 2
    return float(linear + attention + head)


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one sequence in a step of `batch` sequences."""
    width = OPERAND_BYTES[precision]
    traffic = FORWARD_VALUES * HIDDEN * TOKENS * LAYERS * width
    if mode == "infer":
        return Cost(flop_per_item=forward_flop(), bytes_per_item=traffic + PARAMETERS * width / batch)
    return Cost(
        flop_per_item=3 * forward_flop(), bytes_per_item=3 * traffic + OPTIMISER_BYTES * PARAMETERS / batch
    )


@workload(
    WorkloadSpec(
        id="bert-large",
        version=1,
        title="BERT-large cased, question answering, 384 tokens",
        task="question answering",
        item="sequence",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=64,
        cpu_batch=1,
        cost=cost,
        recipes=("tuned", "parity"),
    )
)
def bert_large(config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, no padding.

    Tuned has fused attention and a fused optimiser. Parity has the public script's unfused
    attention with an additive mask, its pooler and its tensor-by-tensor optimiser.
    """
    import torch

    from gpuwise.workloads.job import inference_job, set_precision, training_job
    from gpuwise.workloads.models.bert import BertForQuestionAnswering, BertShape

    set_precision(config)
    tuned, device = config.recipe == "tuned", config.device
    toy = BertShape(layers=2, hidden=64, heads=4, vocabulary=128, positions=32)
    shape, tokens = (toy, 32) if config.size == "toy" else (BertShape(), TOKENS)
    words = min(TOKENS_IN_VOCABULARY, shape.vocabulary)
    with torch.device(device):
        model = BertForQuestionAnswering(shape, fused=tuned)
        inputs: tuple[Tensor, ...]
        inputs = (torch.randint(words, (batch, tokens)), torch.randint(2, (batch, tokens)))
        if not tuned:
            inputs = (*inputs, torch.ones(batch, tokens))
        answers = (torch.randint(tokens, (batch,)), torch.randint(tokens, (batch,)))
    if config.mode == "infer":
        return inference_job(model, inputs, config, batch)
    optimizer = _optimizer(model, tuned=tuned)
    return training_job(model, inputs, lambda logits: _loss(logits, answers), optimizer, config, batch)


def _loss(logits: tuple[Tensor, Tensor], answers: tuple[Tensor, Tensor]) -> Tensor:
    """Mean cross entropy of the start and end position over the tokens."""
    from torch.nn import functional

    start, end = (functional.cross_entropy(x, y) for x, y in zip(logits, answers, strict=True))
    return (start + end) / 2


def _optimizer(model: nn.Module, *, tuned: bool) -> Optimizer:
    """Weight decay on matrices only; the pooler, unread by the loss, is left out.

    The learning rate is so small that some hundred steps do not fit the one batch: at 3e-5 the
    loss falls to 0.002, gradients vanish, and a GPU at its power limit runs 8 % faster on them.
    """
    import torch

    from gpuwise.workloads.bert_adam import BertAdam

    named = [(name, p) for name, p in model.named_parameters() if "pooler" not in name]
    groups = [
        {"params": [p for _, p in named if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for _, p in named if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return (
        torch.optim.AdamW(groups, lr=LEARNING_RATE, fused=True)
        if tuned
        else BertAdam(groups, lr=LEARNING_RATE)
    )
