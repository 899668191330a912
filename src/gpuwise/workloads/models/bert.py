"""BERT with a question-answering or pre-training head (Devlin et al. 2018, arXiv:1810.04805).

Two arrangements of the same mathematics:

- `fused` (recipes stock and tuned): one product for query, key and value, attention through
  scaled_dot_product_attention without a mask (synthetic sequences have no padding), so the flash
  kernel runs in eager mode and survives torch.compile.
- `unfused` (recipe script): three products, (T, B, C) layout, attention as two batched products
  with an additive mask, softmax and dropout between them, and a pooler nobody reads: what the
  benchmark article's public script does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.workloads import bert as shapes
from gpuwise.workloads.bert import DROPOUT, INITIAL_STD, LAYER_NORM_EPS
from gpuwise.workloads.input import question_feed
from gpuwise.workloads.job import (
    Job,
    half_of,
    inference_job,
    relative_difference,
    set_precision,
    training_job,
)
from gpuwise.workloads.models import float8, self_attention
from gpuwise.workloads.models.quantized import quantise


class FusedAttention(nn.Module):
    """With `kernel`, gpuwise's own attends where its operands have 16 bits."""

    kernel = False

    def __init__(self, shape: shapes.BertShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:  # (B, T, C) -> (B, T, C)
        qkv, drop = self.qkv(x), DROPOUT if self.training else 0.0
        if self.kernel and qkv.element_size() == 2:
            from gpuwise.workloads.kernels.attention import attention, keys_of

            return attention(qkv, keys_of(qkv, self.heads), self.heads, drop)
        return self_attention(qkv, self.heads, mask, drop)


class UnfusedAttention(nn.Module):
    def __init__(self, shape: shapes.BertShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query = nn.Linear(shape.hidden, shape.hidden)
        self.key = nn.Linear(shape.hidden, shape.hidden)
        self.value = nn.Linear(shape.hidden, shape.hidden)
        self.dropout = nn.Dropout(DROPOUT)

    def _split(self, x: Tensor) -> Tensor:  # (T, B, C) -> (B * H, T, D)
        length, batch, hidden = x.shape
        return x.view(length, batch * self.heads, hidden // self.heads).transpose(0, 1)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:  # (T, B, C) -> (T, B, C)
        length, batch, hidden = x.shape
        query, key, value = (self._split(linear(x)) for linear in (self.query, self.key, self.value))
        scores = torch.bmm(query, key.transpose(1, 2)).view(batch, self.heads, length, length)
        scores = scores / math.sqrt(hidden // self.heads)
        if mask is not None:
            scores = scores + mask  # (B, 1, 1, T)
        weights = self.dropout(functional.softmax(scores, dim=-1)).view(-1, length, length)
        context = torch.bmm(weights, value)  # (B * H, T, D)
        return context.transpose(0, 1).contiguous().view(length, batch, hidden)


class Layer(nn.Module):
    """Attention and feed-forward, each with dropout, residual and post-layer-norm.

    `residual_dtype` is that of the norms' results; None leaves it to autocast (fp32). With
    `kernels`, gpuwise's own compute what lies between the products (`residual`).
    """

    residual_dtype: torch.dtype | None = None
    kernels = False

    def __init__(self, shape: shapes.BertShape, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        self.project = nn.Linear(shape.hidden, shape.hidden)
        self.norm1 = nn.LayerNorm(shape.hidden, eps=LAYER_NORM_EPS)
        self.expand = nn.Linear(shape.hidden, 4 * shape.hidden)
        self.contract = nn.Linear(4 * shape.hidden, shape.hidden)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=LAYER_NORM_EPS)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, again: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """x for the products and, `again`, for the sums; they are equal, and so are the two results."""
        if self.kernels:
            return self._by_kernels(x, again, mask)
        x = self.as_residual(self.norm1(again + self.dropout(self.project(self.attention(x, mask)))))
        x = self.norm2(x + self.dropout(self.contract(functional.gelu(self.expand(x)))))
        x = self.as_residual(x)
        return x, x

    def _by_kernels(self, x: Tensor, again: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        from gpuwise.workloads.kernels.residual import drop_add_norm

        seeds = torch.randint(2**31, (2,), device=x.device)
        again = self.as_residual(again)
        y = without_bias(self.project, self.attention(x, mask))
        x, again = drop_add_norm(y, self.project.bias, again, self.norm1, seeds[0], DROPOUT)
        y = feed_forward(x, self.expand, self.contract)
        return drop_add_norm(y, self.contract.bias, again, self.norm2, seeds[1], DROPOUT)

    def as_residual(self, x: Tensor) -> Tensor:
        return x if self.residual_dtype is None else x.to(self.residual_dtype)


def without_bias(linear: nn.Linear, x: Tensor) -> Tensor:
    """x times the transpose of the weights."""
    if isinstance(linear, float8.Float8Linear):
        return linear.without_bias(x)
    return functional.linear(x, linear.weight)


def feed_forward(x: Tensor, expand: nn.Linear, contract: nn.Linear) -> Tensor:
    """contract(gelu(expand(x))) by gpuwise's kernels, without contract's bias."""
    narrow = float8.Float8Linear
    if isinstance(expand, narrow) and isinstance(contract, narrow) and not expand.exact:
        return float8.feed_forward(x, expand, contract)
    from gpuwise.workloads.kernels.gelu import bias_gelu

    return without_bias(contract, bias_gelu(without_bias(expand, x), expand.bias))


class Bert(nn.Module):
    """Embeddings, layers and, where asked for, the pooler: what all heads share."""

    def __init__(self, shape: shapes.BertShape, *, fused: bool, pooler: bool) -> None:
        super().__init__()
        self.fused = fused
        self.word = nn.Embedding(shape.vocabulary, shape.hidden)
        self.position = nn.Embedding(shape.positions, shape.hidden)
        self.segment = nn.Embedding(2, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=LAYER_NORM_EPS)
        self.dropout = nn.Dropout(DROPOUT)
        attention = FusedAttention if fused else UnfusedAttention
        self.layers = nn.ModuleList(Layer(shape, attention(shape)) for _ in range(shape.layers))
        self.pooler = nn.Linear(shape.hidden, shape.hidden) if pooler else None

    def encode(self, tokens: Tensor, segments: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, T) ids and an optional (B, T) mask of ones and zeros -> (B, T, C)."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x: Tensor = self.word(tokens) + self.position(positions) + self.segment(segments)
        x = self.dropout(self.norm(x))  # (B, T, C)
        additive = None if mask is None else (1.0 - mask.to(x.dtype))[:, None, None, :] * -10_000.0
        if not self.fused:
            x = x.transpose(0, 1)
        again = x
        for layer in self.layers:
            x, again = layer(x, again, additive)
        return x if self.fused else x.transpose(0, 1).contiguous()

    def pool(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, C)
        assert self.pooler is not None
        pooled: Tensor = self.pooler(x[:, 0])
        return pooled.tanh()


class BertForQuestionAnswering(Bert):
    """Token and segment ids in, start and end logits out."""

    def __init__(self, shape: shapes.BertShape, *, fused: bool = True) -> None:
        super().__init__(shape, fused=fused, pooler=not fused)
        self.answer = nn.Linear(shape.hidden, 2)
        self.apply(_initialise)

    def forward(self, tokens: Tensor, segments: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(B, T) ids and an optional (B, T) mask of ones and zeros -> two (B, T) logits."""
        x = self.encode(tokens, segments, mask)
        if self.pooler is not None:
            self.pool(x)  # computed and unread, as in the script
        start, end = self.answer(x).unbind(-1)
        return start.contiguous(), end.contiguous()


class BertForPreTraining(Bert):
    """Scores of every word for the masked tokens, and whether the second sentence follows the first."""

    def __init__(self, shape: shapes.BertShape) -> None:
        super().__init__(shape, fused=True, pooler=True)
        self.dense = nn.Linear(shape.hidden, shape.hidden)
        self.dense_norm = nn.LayerNorm(shape.hidden, eps=LAYER_NORM_EPS)
        self.word_bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.follows = nn.Linear(shape.hidden, 2)
        self.apply(_initialise)

    def forward(self, tokens: Tensor, segments: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T) ids and the indices of P masked tokens among all B * T -> (P, V), (B, 2)."""
        x = self.encode(tokens, segments)
        masked = x.flatten(0, 1).index_select(0, places)  # (P, C)
        masked = self.dense_norm(functional.gelu(self.dense(masked)))
        scores = functional.linear(masked, self.word.weight, self.word_bias)  # tied to the embedding
        return scores, self.follows(self.pool(x))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=INITIAL_STD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


class ScriptAdam(torch.optim.Optimizer):
    """The optimiser of the benchmark article's BERT script: Adam with decoupled weight decay and without bias
    correction, as BERT was released, tensor by tensor in a Python loop that also clips each tensor's
    gradient.

    About ten kernel launches a tensor, some 4,000 a step for BERT-large: part of what the article's figures
    measure; `torch.optim.AdamW(fused=True)` does the same in a handful. `param_groups` may set `lr` and
    `weight_decay`; betas are 0.9 and 0.999, eps is 1e-6.
    """

    def __init__(self, params: Iterable[Any], lr: float = 3e-5, weight_decay: float = 0.01) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "eps": 1e-6})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update; a gradient of None is passed over."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["mean"] = torch.zeros_like(parameter)
                    state["square"] = torch.zeros_like(parameter)
                nn.utils.clip_grad_norm_(parameter, 1.0)
                state["mean"].mul_(0.9).add_(parameter.grad, alpha=0.1)
                state["square"].mul_(0.999).addcmul_(parameter.grad, parameter.grad, value=0.001)
                update = state["mean"] / (state["square"].sqrt() + group["eps"])
                if group["weight_decay"] > 0:
                    update += group["weight_decay"] * parameter
                parameter.add_(-(group["lr"] * update))


def answering_job(shape: shapes.BertShape, config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, no padding.

    Stock has fused attention and a fused optimiser. Script has the public script's unfused
    attention with an additive mask, its pooler and its tensor-by-tensor optimiser.
    """
    set_precision(config)
    stock, tokens = config.recipe != "script", shapes.TOKENS
    if config.size == "toy":
        shape, tokens = shapes.TOY, shapes.TOY_TOKENS
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
        scales = float8.Scales(model.layers, together=config.gpus > 1)
    job = training_job(
        model, inputs, lambda logits: answer_loss(logits, answers), adam, config, batch, scales=scales
    )
    return replace(job, feed=question_feed(inputs[0], inputs[1], answers, shape.words))


def answer_loss(logits: tuple[Tensor, Tensor], answers: tuple[Tensor, Tensor]) -> Tensor:
    """Mean cross entropy of the start and end position over the tokens."""
    start, end = (functional.cross_entropy(x, y) for x, y in zip(logits, answers, strict=True))
    return (start + end) / 2


def arrange(model: Bert, config: RunConfig) -> None:
    """Set up the layers by the recipe's switches: gpuwise's kernels, and 16 bits between them."""
    if config.recipe == "script":
        return
    on_gpu, residual = config.device == "cuda", config.switches.residual_dtype
    for module in model.modules():
        if isinstance(module, FusedAttention) and config.switches.attention == "triton" and on_gpu:
            module.kernel = True  # the model is fused and gets no mask
        if isinstance(module, Layer) and config.mode == "train" and residual != "fp32":
            module.residual_dtype, module.kernels = half_of(config), on_gpu and residual == "triton"


def optimizer(model: nn.Module, *, script: bool = False, unread: str | None = None) -> torch.optim.Optimizer:
    """AdamW, or the public script's; weight decay on matrices only.

    Parameters under the prefix `unread`, which no loss reads, are left out. The learning rate is so small
    that some hundred steps do not fit the one batch: at 3e-5 the loss falls to 0.002, gradients vanish, and
    a GPU at its power limit runs 8 % faster on them.
    """
    read = [p for name, p in model.named_parameters() if not (unread and name.startswith(unread))]
    groups = [
        {"params": [p for p in read if p.ndim > 1], "weight_decay": shapes.DECAY},
        {"params": [p for p in read if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if script:
        return ScriptAdam(groups, lr=shapes.LEARNING_RATE)
    return torch.optim.AdamW(groups, lr=shapes.LEARNING_RATE, fused=True)


def pretraining_job(tokens: int, masked: int, config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, fused attention, no padding."""
    set_precision(config)
    shape = shapes.UNCASED
    if config.size == "toy":
        shape, tokens, masked = shapes.TOY, shapes.TOY_TOKENS, shapes.TOY_MASKED
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
    drawn = torch.rand(batch, tokens).argsort(1)[:, :masked].sort(1).values  # (B, P)
    return (drawn + tokens * torch.arange(batch)[:, None]).flatten()


JOBS = {
    "bert-base": partial(answering_job, shapes.BASE),
    "bert-large": partial(answering_job, shapes.LARGE),
    "bert-large-pretrain-s128": partial(pretraining_job, 128, 20),
    "bert-large-pretrain-s512": partial(pretraining_job, 512, 80),
}
