"""BERT-large pre-training, uncased: masked words and next sentence at 128 and at 512 tokens.

Devlin et al. 2018 (arXiv:1810.04805) in the two phases of NVIDIA's scripts: 20 of 128 and 80 of 512
tokens are masked (max_predictions_per_seq), always that many here. Only they pass through the head,
whose decoder is the word embedding. The optimiser is AdamW; NVIDIA's scripts have LAMB, which also
takes the norm of each tensor: about 12 bytes a parameter and step more. Nothing is padded.

Cost of one sequence: see `bert`, and for its P masked tokens over a vocabulary of V, width C:

- arithmetic, forward: 2 P C^2 for the head's dense layer, 2 P C V for the decoder, 2 C^2 for the
  pooler, 4 C for the next sentence.
- memory traffic: the scores are written and read (2 P V), twice that backward; the rest is small.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.bert import (
    SWITCHES,
    TOY,
    TOY_TOKENS,
    BertShape,
    arrange,
    encoder_flop,
    encoder_parameters,
    encoder_values,
    optimizer,
    sequence_cost,
)
from gpuwise.workloads.workload import Workload, workload

if TYPE_CHECKING:
    from torch import Tensor

    from gpuwise.workloads.job import Job

SHAPE = BertShape(words=30_522, vocabulary=30_528)
PARAMETERS = 336_232_258
"""Vocabulary padded to 30,528; 336,226,108 with the 30,522 uncased word pieces."""
TOY_MASKED = 5


def parameters(shape: BertShape) -> int:
    """Encoder, pooler, dense layer and norm of the head, the decoder's bias, next sentence."""
    width = shape.hidden
    dense = width**2 + width
    return encoder_parameters(shape) + 2 * dense + 2 * width + shape.vocabulary + 2 * width + 2


def forward_flop(tokens: int, masked: int, shape: BertShape = SHAPE) -> float:
    """Operations of one forward pass of one sequence (8.0e10 at 128 tokens, 3.40e11 at 512)."""
    width = shape.hidden
    words = 2 * masked * width * (width + shape.vocabulary)
    return float(encoder_flop(shape, tokens) + words + 2 * width**2 + 4 * width)


def pretrain_cost(tokens: int, masked: int, mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one sequence in a step of `batch` sequences."""
    flop = forward_flop(tokens, masked)
    values = encoder_values(SHAPE, tokens) + 2 * masked * SHAPE.vocabulary
    return sequence_cost(mode, precision, batch, flop=flop, values=values, parameters=PARAMETERS)


def _pretraining(tokens: int, masked: int, batch: int) -> Workload:
    """One phase: BERT-large at that many tokens, of which some are masked."""
    spec = WorkloadSpec(
        id=f"bert-large-pretrain-s{tokens}",
        version=1,
        title=f"BERT-large uncased, pre-training, {tokens} tokens",
        task="language modelling",
        item="sequence",
        modes=("train",),
        parameters=PARAMETERS,
        default_batch=batch,
        cpu_batch=1,
        cost=partial(pretrain_cost, tokens, masked),
        switches=SWITCHES,
    )
    return workload(spec)(partial(_job, tokens, masked))


def _job(tokens: int, masked: int, config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, fused attention."""
    import torch
    from torch.nn import functional

    from gpuwise.workloads.job import set_precision, training_job
    from gpuwise.workloads.models.bert import BertForPreTraining

    set_precision(config)
    shape = SHAPE
    if config.size == "toy":
        shape, tokens, masked = TOY, TOY_TOKENS, TOY_MASKED
    with torch.device(config.device):
        model = BertForPreTraining(shape)
        words, segments = torch.randint(shape.words, (batch, tokens)), torch.randint(2, (batch, tokens))
        places = masked_places(batch, tokens, masked)
        truth = torch.randint(shape.words, (batch * masked,))
        follows = torch.randint(2, (batch,))

    arrange(model, config)

    def loss(output: tuple[Tensor, Tensor]) -> Tensor:
        return functional.cross_entropy(output[0], truth) + functional.cross_entropy(output[1], follows)

    return training_job(model, (words, segments, places), loss, optimizer(model), config, batch)


def masked_places(batch: int, tokens: int, masked: int) -> Tensor:
    """(batch * masked,) indices into all tokens of the batch: so many distinct ones a sequence, ascending."""
    import torch

    drawn = torch.rand(batch, tokens).argsort(1)[:, :masked].sort(1).values  # (B, P)
    return (drawn + tokens * torch.arange(batch)[:, None]).flatten()


bert_large_s128 = _pretraining(128, 20, batch=128)
bert_large_s512 = _pretraining(512, 80, batch=32)
