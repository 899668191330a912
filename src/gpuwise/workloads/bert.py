"""BERT: question answering at 384 tokens (base and large), and pre-training of BERT-large.

Cost of one sequence of T tokens, L layers, width C:

- arithmetic, forward: 24 L C^2 T for the linear layers (12 C^2 weights a layer, 2 operations
  each), 4 L C T^2 for attention. Backward is twice forward. The word lookup is free.
- memory traffic, in units of C values a token and layer, flash attention and pointwise chains
  fused: query-key-value product 1 + 3, attention 3 + 1, projection 1 + 1, dropout-add-norm 2 + 1,
  expand 1 + 4, GELU 4 + 4, contract 4 + 1, dropout-add-norm 2 + 1: 34 forward, twice that backward.
- weights: inference reads them once; an AdamW step moves 28 bytes a parameter (weight, gradient,
  two moments read, three written) and the two passes 12 more.

Pre-training is Devlin et al. 2018 (arXiv:1810.04805), uncased, in the two phases of NVIDIA's scripts: 20 of
128 and 80 of 512 tokens are masked (max_predictions_per_seq), always that many here. Only they pass through
the head, whose decoder is the word embedding. The optimiser is AdamW; NVIDIA's scripts have LAMB, which also
takes the norm of each tensor: about 12 bytes a parameter and step more. Its P masked tokens over a
vocabulary of V add 2 P C^2 for the head's dense layer, 2 P C V for the decoder, 2 C^2 for the pooler, 4 C
for the next sentence; and the scores are written and read (2 P V), twice that backward.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.question import Cost, Mode, RunConfig, WorkloadSpec
from gpuwise.workloads.registry import REPEATED, Workload, workload

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

    from gpuwise.workloads.job import Job
    from gpuwise.workloads.models.bert import Bert

LEARNING_RATE, DECAY = 1e-6, 0.01

SWITCHES = ("residual_dtype", "attention", "master_weights", *REPEATED)  # Of a recipe of BERT

FORWARD_VALUES, OPTIMISER_BYTES = 34, 40

TOKENS, TOY_TOKENS, TOY_MASKED = 384, 32, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """Sizes of one BERT variant; large unless said otherwise."""

    layers: int = 24
    hidden: int = 1024
    heads: int = 16
    words: int = 28_996  # Word pieces that are drawn; the cased vocabulary
    vocabulary: int = 29_000  # Rows of the embedding: the words, padded to a multiple of 8
    positions: int = 512


BASE, LARGE = BertShape(layers=12, hidden=768, heads=12), BertShape()
"""Of question answering: no pooler, the vocabulary padded to 29,000, as the public script does."""
UNCASED = BertShape(words=30_522, vocabulary=30_528)
"""Of pre-training; 336,226,108 parameters with the 30,522 uncased word pieces."""
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


def answering_cost(shape: BertShape, tokens: int, mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one sequence in a step of `batch` sequences; the head's traffic is not counted."""
    flop = float(encoder_flop(shape, tokens) + 2 * tokens * shape.hidden * 2)
    values, parameters = encoder_values(shape, tokens), answering_parameters(shape)
    return sequence_cost(mode, precision, batch, flop=flop, values=values, parameters=parameters)


def answering_job(shape: BertShape, config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, no padding.

    Stock has fused attention and a fused optimiser. Script has the public script's unfused
    attention with an additive mask, its pooler and its tensor-by-tensor optimiser.
    """
    import torch

    from gpuwise.workloads.input import question_feed
    from gpuwise.workloads.job import inference_job, relative_difference, set_precision, training_job
    from gpuwise.workloads.models.bert import BertForQuestionAnswering
    from gpuwise.workloads.models.float8 import Scales
    from gpuwise.workloads.models.quantized import quantise

    set_precision(config)
    stock, tokens = config.recipe != "script", TOKENS
    if config.size == "toy":
        shape, tokens = TOY, TOY_TOKENS
    with torch.device(config.device):
        model = BertForQuestionAnswering(shape, fused=stock)
        inputs: tuple[Tensor, ...]
        # No padding: every kernel sees full sequences, and attention needs no mask.
        inputs = (torch.randint(shape.words, (batch, tokens)), torch.randint(2, (batch, tokens)))
        if not stock:
            inputs = (*inputs, torch.ones(batch, tokens))
        answers = (torch.randint(tokens, (batch,)), torch.randint(tokens, (batch,)))
    arrange(model, config)
    if config.mode == "infer":
        narrow = config.precision == Precision.FP8
        if narrow:
            model = model.to(torch.bfloat16)
        job = inference_job(model, inputs, config, batch)
        if narrow:
            # What FP8 changes shows against the same weights in bf16, which are quantised only afterwards.
            exact = inference_job(model, inputs, replace(config, compile=False), batch).step()
            quantise(model.layers, Precision.FP8)
            narrow_step = job.step
            job = replace(job, mismatch=lambda: relative_difference(narrow_step(), exact))
        return replace(job, feed=question_feed(inputs[0], inputs[1], (), shape.words))
    adam = optimizer(model, script=not stock, unread="pooler.")
    scales = None
    if config.precision == Precision.FP8:
        # After the optimiser: what the scales are learnt by is not trained.
        scales = Scales(model.layers, together=config.gpus > 1)
    job = training_job(
        model, inputs, lambda logits: answer_loss(logits, answers), adam, config, batch, scales=scales
    )
    return replace(job, feed=question_feed(inputs[0], inputs[1], answers, shape.words))


def answer_loss(logits: tuple[Tensor, Tensor], answers: tuple[Tensor, Tensor]) -> Tensor:
    """Mean cross entropy of the start and end position over the tokens."""
    from torch.nn import functional

    start, end = (functional.cross_entropy(x, y) for x, y in zip(logits, answers, strict=True))
    return (start + end) / 2


def arrange(model: Bert, config: RunConfig) -> None:
    """What the recipe's switches ask of the layers: gpuwise's kernels, and 16 bits between them."""
    if config.recipe == "script":
        return
    from gpuwise.workloads.job import half_of

    on_gpu, residual = config.device == "cuda", config.switches.residual_dtype
    if config.switches.attention == "triton" and on_gpu:
        model.attend_by_kernel()
    if config.mode == "train" and residual != "fp32":
        model.hand_on(half_of(config), kernels=on_gpu and residual == "triton")


def optimizer(model: nn.Module, *, script: bool = False, unread: str | None = None) -> Optimizer:
    """AdamW, or the public script's; weight decay on matrices only.

    Parameters under the prefix `unread`, which no loss reads, are left out. The learning rate is so small
    that some hundred steps do not fit the one batch: at 3e-5 the loss falls to 0.002, gradients vanish, and
    a GPU at its power limit runs 8 % faster on them.
    """
    import torch

    from gpuwise.workloads.models.bert import ScriptAdam

    read = [p for name, p in model.named_parameters() if not (unread and name.startswith(unread))]
    groups = [
        {"params": [p for p in read if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in read if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return (
        ScriptAdam(groups, lr=LEARNING_RATE)
        if script
        else torch.optim.AdamW(groups, lr=LEARNING_RATE, fused=True)
    )


def pretraining_parameters(shape: BertShape) -> int:
    """Encoder, pooler, dense layer and norm of the head, the decoder's bias, next sentence."""
    width = shape.hidden
    dense = width**2 + width
    return encoder_parameters(shape) + 2 * dense + 2 * width + shape.vocabulary + 2 * width + 2


def pretraining_cost(tokens: int, masked: int, mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one sequence in a step of `batch` sequences: 80 GFLOP forward at 128 tokens, 340 at 512."""
    shape, width = UNCASED, UNCASED.hidden
    words = 2 * masked * width * (width + shape.vocabulary)
    flop = float(encoder_flop(shape, tokens) + words + 2 * width**2 + 4 * width)
    values = encoder_values(shape, tokens) + 2 * masked * shape.vocabulary
    parameters = pretraining_parameters(shape)
    return sequence_cost(mode, precision, batch, flop=flop, values=values, parameters=parameters)


def pretraining_job(tokens: int, masked: int, config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, fused attention, no padding."""
    import torch
    from torch.nn import functional

    from gpuwise.workloads.job import set_precision, training_job
    from gpuwise.workloads.models.bert import BertForPreTraining

    set_precision(config)
    shape = UNCASED
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


def _answering(name: str, title: str, shape: BertShape, **more: Any) -> Workload:
    spec = WorkloadSpec(
        id=name,
        version=1,
        title=f"{title} cased, question answering, 384 tokens",
        task="question answering",
        item="sequence",
        modes=("train", "infer"),
        parameters=answering_parameters(shape),
        cost=partial(answering_cost, shape, TOKENS),
        switches=SWITCHES,
        **more,
    )
    return workload(spec)(partial(answering_job, shape))


def _pretraining(tokens: int, masked: int, batch: int) -> Workload:
    spec = WorkloadSpec(
        id=f"bert-large-pretrain-s{tokens}",
        version=1,
        title=f"BERT-large uncased, pre-training, {tokens} tokens",
        task="language modelling",
        item="sequence",
        modes=("train",),
        parameters=pretraining_parameters(UNCASED),
        default_batch=batch,
        cost=partial(pretraining_cost, tokens, masked),
        switches=SWITCHES,
    )
    return workload(spec)(partial(pretraining_job, tokens, masked))


bert_base = _answering("bert-base", "BERT-base", BASE, default_batch=128, cpu_batch=2)
bert_large = _answering(
    "bert-large",
    "BERT-large",
    LARGE,
    default_batch=64,
    precisions=(*NETWORK_PRECISIONS, Precision.FP8),
    script=True,
)
bert_large_s128 = _pretraining(128, 20, batch=128)
bert_large_s512 = _pretraining(512, 80, batch=32)
