"""Training steps of a Llama-style decoder: pre-training, and fine-tuning of every weight.

One step: forward over B sequences of T random tokens, cross entropy at every position, backward,
AdamW. An item is one token, so throughput is tokens/s and a sequence takes T items. Training on D
tokens takes D / throughput seconds; the full run of N parameters that scaling laws advise
(D = 20 N) takes 20 N / throughput.

- `llm-124m` (T = 1,024) and `llm-1b` (T = 2,048) pre-train: weights, gradients and moments in fp32,
  products under autocast. 16 bytes a parameter stay in memory.
- `llm-1b-finetune` (T = 2,048) keeps all of them in bf16: 8 bytes a parameter, half the optimiser's
  traffic, as common single-GPU recipes do. An update below 1/256 of a weight rounds away.

Cost of one token (symbols in llm_shape.py): forward 2 L W + 4 L C (T + 1) / 2 + 2 C V, backward
twice that. Traffic: three times that of the forward pass between products, 5 V for the logits in
chunks (written, read, gradient written, read twice), and the optimiser's 40 (20) bytes a parameter
once a step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.llm_shape import (
    OPTIMISER_BYTES,
    OPTIMISER_BYTES_BF16,
    SHAPES,
    TOY_TOKENS,
    DecoderShape,
    forward_flop,
    linear_values,
    other_values,
)
from gpuwise.workloads.workload import REPEATED, Workload, workload

if TYPE_CHECKING:
    import torch

    from gpuwise.workloads.job import Job

LEARNING_RATE, LEARNING_RATE_BF16 = 1e-6, 5e-6
"""So small that some hundred steps do not fit the one batch: a fitted one has vanishing gradients,
which draw less power. In bf16 a smaller one would round away altogether."""


def train_cost(
    shape: DecoderShape, tokens: int, optimiser_bytes: int, precision: Precision, batch: int
) -> Cost:
    """Cost of one token in a step of `batch` sequences of `tokens`."""
    width = precision.bytes
    values = 3 * (linear_values(shape) + other_values(shape)) + 5 * shape.vocabulary
    return Cost(
        flop_per_item=3 * forward_flop(shape, tokens),
        bytes_per_item=values * width + optimiser_bytes * shape.parameters / (batch * tokens),
    )


def training(
    name: str, size: str, tokens: int, *, default_batch: int, title: str, finetune: bool = False
) -> Workload:
    """A workload that trains every weight of `size` on sequences of `tokens`."""
    shape = SHAPES[size]

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        narrow = finetune and precision == "bf16"
        moved = OPTIMISER_BYTES_BF16 if narrow else OPTIMISER_BYTES
        return train_cost(shape, tokens, moved, precision, batch)

    def build(config: RunConfig, batch: int) -> Job:
        from gpuwise.workloads.job import set_precision

        set_precision(config)
        if config.size == "toy":
            return _job(config, SHAPES["toy"], TOY_TOKENS, batch, finetune=finetune)
        return _job(config, shape, tokens, batch, finetune=finetune)

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="language-model fine-tuning" if finetune else "language-model pre-training",
        item="token",
        modes=("train",),
        parameters=shape.parameters,
        default_batch=default_batch,
        cpu_batch=1,
        cost=cost,
        precisions=(Precision.FP32, Precision.BF16) if finetune else NETWORK_PRECISIONS,
        switches=REPEATED if finetune else ("weights", *REPEATED),
    )
    return workload(spec)(build)


def _job(config: RunConfig, shape: DecoderShape, tokens: int, batch: int, *, finetune: bool) -> Job:
    """One fixed batch of random tokens, each with the next as its target."""
    import torch

    from gpuwise.workloads.input import text_feed
    from gpuwise.workloads.job import training_job
    from gpuwise.workloads.models.cross_entropy import chunked_cross_entropy
    from gpuwise.workloads.models.decoder import outline
    from gpuwise.workloads.shards import given_memory

    narrow = finetune and config.precision == "bf16"
    model = outline(shape, tokens, torch.bfloat16 if narrow else torch.float32, config.device)
    given_memory(model, config)
    inputs, targets = random_tokens(shape, batch, tokens, config.device)
    rate = LEARNING_RATE_BF16 if narrow else LEARNING_RATE
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.1, fused=True)
    job = training_job(
        model,
        (inputs,),
        lambda hidden: chunked_cross_entropy(hidden, model.head_weight, targets),
        optimizer,
        config,
        batch * tokens,
    )
    return replace(job, feed=text_feed(inputs, targets, shape.vocabulary))


def random_tokens(
    shape: DecoderShape, batch: int, tokens: int, device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets, (B, T) each: the targets are the inputs one position on."""
    import torch

    sequence = torch.randint(shape.vocabulary, (batch, tokens + 1), device=device)
    return sequence[:, :-1].contiguous(), sequence[:, 1:].contiguous()


llm_124m = training(
    "llm-124m",
    "124m",
    1024,
    default_batch=16,
    title="Decoder 124M (GPT-2 small's size), pre-training, 1,024 tokens",
)
llm_1b = training(
    "llm-1b",
    "1b",
    2048,
    default_batch=4,
    title="Decoder 1.2B (Llama 3.2 1B's shape), pre-training, 2,048 tokens",
)
llm_1b_finetune = training(
    "llm-1b-finetune",
    "1b",
    2048,
    default_batch=4,
    title="Decoder 1.2B, fine-tuning of every weight in bf16, 2,048 tokens",
    finetune=True,
)
