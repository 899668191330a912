"""Fine-tuning with low-rank adapters: rank 16 on all linear layers but the head, base frozen in bf16.

One step: forward over B sequences of 2,048 random tokens, cross entropy at every position, backward
to the adapters, AdamW on them. An item is one token. Adapters, their gradients and moments are fp32
(11.3 M parameters for 1b, 41.9 M for 8b); products run under autocast. In fp32 the base is fp32 too.

Cost of one token (symbols in llm_shape.py, A adapter parameters): a frozen product needs the gradient
of its input only, so its backward costs once forward; adapters and attention cost twice.

    2 (2 L W + 2 C V)  +  3 (4 L C (T + 1) / 2  +  2 A)

Traffic: frozen products 2 times, what is between them 3 times that of the forward pass, the adapters'
fused into the products; 4 V for the logits; the base read twice a step, 40 bytes an adapter parameter.

Recomputing activations in backward costs one more forward of the layers, about half of the
arithmetic above again, and does not pay where the activations fit: 2,048 tokens of an 8b layer fill
a GPU already. It pays in reach, for without it an 8b sequence keeps 13 GB. So it is switched on where
the free memory is below what the batch's activations need, else off; the arithmetic stays that of
the formula. The batch search then finds whether a larger batch with it beats a smaller one without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.llm_shape import (
    OPTIMISER_BYTES,
    SHAPES,
    TOY_TOKENS,
    DecoderShape,
    attention_flop,
    linear_values,
    other_values,
    weight_bytes,
)
from gpuwise.workloads.workload import REPEATED, Workload, workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

RANK, TOKENS = 16, 2048
LEARNING_RATE = 1e-5
"""Small, so that the one batch is not fitted while it is timed."""
RESERVE_BYTES = 4 * 2**30
"""For chunks of logits, adapters, one layer's gradients and the allocator's slack."""


def lora_cost(shape: DecoderShape, tokens: int, precision: Precision, batch: int) -> Cost:
    """Cost of one token in a step of `batch` sequences of `tokens`."""
    width, adapters = precision.bytes, shape.adapter_parameters(RANK)
    frozen = 2.0 * (shape.layers * shape.layer_weights + shape.head_weights)
    flop = 2 * frozen + 3 * (attention_flop(shape, (tokens + 1) / 2) + 2 * adapters)
    values = 2 * linear_values(shape) + 3 * other_values(shape) + 4 * shape.vocabulary
    weights = 2 * weight_bytes(shape, precision) + OPTIMISER_BYTES * adapters
    return Cost(flop_per_item=flop, bytes_per_item=values * width + weights / (batch * tokens))


def activation_bytes(shape: DecoderShape, batch: int, tokens: int, width: int = 2) -> int:
    """What backward of all layers keeps, eagerly: 9 C + 2 K + 4 F values a token and layer.

    Each norm its input in fp32 and its output (3 C twice); attention query, key, value, result and
    the result as the next product's input (3 C + 2 K); gate, up, activated gate and their product
    (4 F). Frozen products keep nothing.
    """
    values = 9 * shape.hidden + 2 * shape.kv_width + 4 * shape.inner
    return batch * tokens * shape.layers * values * width


def must_recompute(shape: DecoderShape, batch: int, tokens: int, free_bytes: int, width: int = 2) -> bool:
    """Whether activations of all layers do not fit beside the reserve in what the weights left free."""
    return activation_bytes(shape, batch, tokens, width) + RESERVE_BYTES > free_bytes


def lora(name: str, size: str, *, default_batch: int, title: str) -> Workload:
    """A workload that trains adapters on a frozen decoder of `size`."""
    shape = SHAPES[size]

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        return lora_cost(shape, TOKENS, precision, batch)

    def build(config: RunConfig, batch: int) -> Job:
        from gpuwise.workloads.job import set_precision

        set_precision(config)
        if config.size == "toy":
            return _job(config, SHAPES["toy"], TOY_TOKENS, batch)
        return _job(config, shape, TOKENS, batch)

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="language-model fine-tuning",
        item="token",
        modes=("train",),
        parameters=shape.parameters + shape.adapter_parameters(RANK),
        default_batch=default_batch,
        cpu_batch=1,
        cost=cost,
        precisions=(Precision.FP32, Precision.BF16),
        switches=REPEATED,
    )
    return workload(spec)(build)


def _job(config: RunConfig, shape: DecoderShape, tokens: int, batch: int) -> Job:
    """One fixed batch of random tokens; the optimiser is given the adapters only."""
    import torch

    from gpuwise.workloads.job import DTYPES, training_job
    from gpuwise.workloads.llm_train import random_tokens
    from gpuwise.workloads.models.cross_entropy import chunked_cross_entropy
    from gpuwise.workloads.models.decoder import outline
    from gpuwise.workloads.models.lora import add_lora
    from gpuwise.workloads.shards import given_memory

    dtype = DTYPES.get(config.precision, torch.float32)
    model = add_lora(outline(shape, tokens, dtype, config.device), RANK)
    given_memory(model, config)
    if config.device == "cuda":
        free = torch.cuda.mem_get_info()[0]
        model.recompute = must_recompute(shape, batch, tokens, free, dtype.itemsize)
    inputs, targets = random_tokens(shape, batch, tokens, config.device)
    adapters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(adapters, lr=LEARNING_RATE, weight_decay=0.0, fused=True)
    return training_job(
        model,
        (inputs,),
        lambda hidden: chunked_cross_entropy(hidden, model.head_weight, targets),
        optimizer,
        config,
        batch * tokens,
    )


llm_1b_lora = lora("llm-1b-lora", "1b", default_batch=4, title="Decoder 1.2B, LoRA rank 16, 2,048 tokens")
llm_8b_lora = lora(
    "llm-8b-lora",
    "8b",
    default_batch=2,
    title="Decoder 8.0B (Llama 3.1 8B's shape), LoRA rank 16, 2,048 tokens",
)
