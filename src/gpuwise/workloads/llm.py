"""Llama-style decoders: sizes, what a token costs; pre-training, fine-tuning, LoRA and inference.

With L layers, width C, keys of width K (K < C where query heads share them), inner width F and a
vocabulary of V, a layer has W = C (C + 2 K) + C^2 + 3 C F weights in matrices, and one token that
attends to t others costs forward

    2 L W  +  4 L C t  +  2 C V (where the head is applied)

operations. In a causal pass over T tokens t is (T + 1) / 2 on average: what a causal kernel must
compute. MFU figures that count the whole square (PaLM, arXiv:2204.02311, appendix B) are higher by
2 L C (T - 1) operations a token, forward. Memory traffic counts values read and written, flash attention and
pointwise chains fused:

    linear layers   qkv C + (C + 2 K), output C + C, gate-up C + 2 F, down F + C  = 6 C + 2 K + 3 F
    the others      two add-norms 4 C each, rotation 2 (C + K), attention (C + 2 K) + C,
                    gating 2 F + F                                               = 12 C + 4 K + 3 F

a token and layer forward. Training is three times that between products, 5 V for the logits in chunks
(written, read, gradient written, read twice), and the optimiser's 40 (20) bytes a parameter once a step.

One step: forward over B sequences of T random tokens, cross entropy at every position, backward, AdamW. An
item is one token, so throughput is tokens/s.

- `llm-124m` (T = 1,024) and `llm-1b` (T = 2,048) pre-train: weights, gradients and moments in fp32,
  products under autocast. 16 bytes a parameter stay in memory.
- `llm-1b-finetune` (T = 2,048) keeps all of them in bf16: 8 bytes a parameter, half the optimiser's
  traffic, as common single-GPU recipes do. An update below 1/256 of a weight rounds away.
- `llm-1b-lora`, `llm-8b-lora`: adapters of rank 16 on all linear layers but the head, base frozen in bf16
  (in fp32 it is fp32 too), adapters with their gradients and moments in fp32. A frozen product needs the
  gradient of its input only, so its backward costs once forward; adapters (A parameters) and attention cost
  twice:
  2 (2 L W + 2 C V) + 3 (4 L C (T + 1) / 2 + 2 A). Traffic: frozen products 2 times, what is between them 3
  times that of the forward pass, the adapters' fused into the products; 4 V for the logits; the base read
  twice a step.

Inference is measured in two phases:

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

Cost of one token (w bytes a value):

- prefill: 2 L W + 4 L C (T + 1) / 2 + 2 C V / T operations, for the head is applied to the last
  position only. Traffic: that between products, 2 L K values written to the cache, and the weights
  once a step, divided by B T.
- decode: 2 L W + 4 L C T + 2 C V operations. Traffic: the weights once a step, divided by B, plus the
  whole cache of the sequence, 2 L K T w, plus that between products. Below some hundred sequences this
  is bound by memory: TPOT >= (weights + B cache) / bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from gpuwise.errors import InputError
from gpuwise.facts import llms
from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.registry import REPEATED, Workload, workload

if TYPE_CHECKING:
    import torch

    from gpuwise.workloads.job import Job

# A parameter and step. fp32: AdamW 28 (weight, gradient, two moments read, three written), the two passes
# 12. With everything in bf16 half of that.
OPTIMISER_BYTES, OPTIMISER_BYTES_BF16 = 40, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderShape:
    """Sizes of one Llama-style decoder."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    tied: bool  # Whether the head is the embedding, transposed
    theta: float = 500_000.0
    """Base of the rotary frequencies. The long-context rescaling of Llama 3.1 is left out: same cost."""

    @property
    def head_size(self) -> int:
        """Channels of one head."""
        return self.hidden // self.heads

    @property
    def kv_width(self) -> int:
        """Channels of all key heads together."""
        return self.kv_heads * self.head_size

    @property
    def layer_weights(self) -> int:
        """Weights in the matrices of one layer."""
        c, k, f = self.hidden, self.kv_width, self.inner
        return c * (c + 2 * k) + c * c + 3 * c * f

    @property
    def head_weights(self) -> int:
        """Weights of the head, which are the embedding's where tied."""
        return self.hidden * self.vocabulary

    @property
    def parameters(self) -> int:
        """All of them: layers with two norms each, last norm, embedding, head."""
        layer = self.layer_weights + 2 * self.hidden
        return self.layers * layer + self.hidden + (1 if self.tied else 2) * self.head_weights

    def adapter_parameters(self, rank: int) -> int:
        """Trainable parameters of LoRA on the seven products of every layer: rank (inputs + outputs)."""
        c, k, f = self.hidden, self.kv_width, self.inner
        sides = 2 * (c + c) + 2 * (c + k) + 2 * (c + f) + (f + c)  # query, output; key, value; gate, up; down
        return self.layers * rank * sides


SHAPES = {
    "124m": DecoderShape(
        layers=12, hidden=768, heads=12, kv_heads=12, inner=2048, vocabulary=50_304, tied=True
    ),
    "1b": DecoderShape(
        layers=16, hidden=2048, heads=32, kv_heads=8, inner=8192, vocabulary=128_256, tied=True
    ),
    "8b": DecoderShape(
        layers=32, hidden=4096, heads=32, kv_heads=8, inner=14_336, vocabulary=128_256, tied=False
    ),
    "toy": DecoderShape(layers=2, hidden=64, heads=4, kv_heads=2, inner=128, vocabulary=256, tied=True),
}
TOY_TOKENS = 32


def attention_flop(shape: DecoderShape, keys: float) -> float:
    """Scores and weighted sum of one token over `keys` others, all layers."""
    return 4.0 * shape.layers * shape.hidden * keys


def forward_flop(shape: DecoderShape, tokens: int, heads_per_token: float = 1.0) -> float:
    """Operations per token of one causal pass over `tokens`; the head is applied to a share of them."""
    products = 2.0 * shape.layers * shape.layer_weights
    head = 2.0 * shape.head_weights * heads_per_token
    return products + attention_flop(shape, (tokens + 1) / 2) + head


def linear_values(shape: DecoderShape) -> int:
    """Values that the linear layers read and write for one token, forward."""
    return shape.layers * (6 * shape.hidden + 2 * shape.kv_width + 3 * shape.inner)


def other_values(shape: DecoderShape) -> int:
    """Values that everything between the linear layers reads and writes for one token, forward."""
    return shape.layers * (12 * shape.hidden + 4 * shape.kv_width + 3 * shape.inner)


def weight_bytes(shape: DecoderShape, precision: Precision) -> float:
    """Bytes of the matrices that one pass reads; under fp8 and int8 the head stays in bf16.

    The embedding is not among them: a pass reads one row a token. A tied one is read as the head.
    """
    width = precision.bytes
    in_layers = 1 if precision in ("fp8", "int8") else width
    return float(shape.layers * shape.layer_weights * in_layers + shape.head_weights * width)


def cache_bytes(shape: DecoderShape, tokens: int, precision: Precision) -> float:
    """Bytes of the keys and values of one sequence of `tokens`; never quantised here."""
    return 2.0 * shape.layers * shape.kv_width * tokens * precision.bytes


Kind = Literal["pretrain", "finetune", "lora"]
# So small that some hundred steps do not fit the one batch: a fitted one has vanishing gradients, which
# draw less power. With all weights in bf16 a smaller one would round away altogether.
LEARNING_RATES: dict[Kind, float] = {"pretrain": 1e-6, "finetune": 5e-6, "lora": 1e-5}
RANK = 16
# For chunks of logits, adapters, one layer's gradients and the allocator's slack.
RESERVE_BYTES = 4 * 2**30


def train_cost(
    shape: DecoderShape, tokens: int, optimiser_bytes: int, precision: Precision, batch: int
) -> Cost:
    """Cost of one token in a step of `batch` sequences of `tokens`."""
    values = 3 * (linear_values(shape) + other_values(shape)) + 5 * shape.vocabulary
    return Cost(
        flop_per_item=3 * forward_flop(shape, tokens),
        bytes_per_item=values * precision.bytes + optimiser_bytes * shape.parameters / (batch * tokens),
    )


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


def training_job(kind: Kind, config: RunConfig, shape: DecoderShape, tokens: int, batch: int) -> Job:
    """One fixed batch of random tokens, each with the next as its target; LoRA trains the adapters only."""
    import torch

    from gpuwise.workloads.input import text_feed
    from gpuwise.workloads.job import dtype_of, set_precision
    from gpuwise.workloads.job import training_job as job_of
    from gpuwise.workloads.models.decoder import add_lora, chunked_cross_entropy, outline
    from gpuwise.workloads.parallel import given_memory

    set_precision(config)
    # Pre-training keeps fp32 weights and casts them for each product; the others have the precision's own.
    dtype = torch.float32 if kind == "pretrain" else dtype_of(config.precision)
    model = outline(shape, tokens, dtype, config.device)
    if kind == "lora":
        add_lora(model, RANK)
    given_memory(model, config)
    if kind == "lora" and config.device == "cuda":
        # Computing activations again costs one more forward of the layers and does not pay where they fit:
        # 2,048 tokens of an 8b layer fill a GPU already. It pays in reach, as an 8b sequence keeps 13 GB.
        free = torch.cuda.mem_get_info()[0]
        model.recompute = must_recompute(shape, batch, tokens, free, dtype.itemsize)
    inputs, targets = random_tokens(shape, batch, tokens, config.device)
    rate = LEARNING_RATES["pretrain" if kind == "finetune" and dtype == torch.float32 else kind]
    optimizer = torch.optim.AdamW(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=rate, weight_decay=0.0 if kind == "lora" else 0.1, fused=True,
    )  # fmt: skip

    def loss(hidden: torch.Tensor) -> torch.Tensor:
        return chunked_cross_entropy(hidden, model.head_weight, targets)

    job = job_of(model, (inputs,), loss, optimizer, config, batch * tokens)
    return job if kind == "lora" else replace(job, feed=text_feed(inputs, targets, shape.vocabulary))


def random_tokens(
    shape: DecoderShape, batch: int, tokens: int, device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets, (B, T) each: the targets are the inputs one position on."""
    import torch

    sequence = torch.randint(shape.vocabulary, (batch, tokens + 1), device=device)
    return sequence[:, :-1].contiguous(), sequence[:, 1:].contiguous()


def _training(
    name: str, title: str, kind: Kind, size: str, tokens: int = 2048, default_batch: int = 4
) -> Workload:
    shape = SHAPES[size]

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        if kind == "lora":
            return lora_cost(shape, tokens, precision, batch)
        narrow = kind == "finetune" and precision == Precision.BF16
        moved = OPTIMISER_BYTES_BF16 if narrow else OPTIMISER_BYTES
        return train_cost(shape, tokens, moved, precision, batch)

    def build(config: RunConfig, batch: int) -> Job:
        if config.size == "toy":
            return training_job(kind, config, SHAPES["toy"], TOY_TOKENS, batch)
        return training_job(kind, config, shape, tokens, batch)

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="language-model pre-training" if kind == "pretrain" else "language-model fine-tuning",
        item="token",
        modes=("train",),
        parameters=shape.parameters + (shape.adapter_parameters(RANK) if kind == "lora" else 0),
        default_batch=default_batch,
        cost=cost,
        precisions=NETWORK_PRECISIONS if kind == "pretrain" else (Precision.FP32, Precision.BF16),
        switches=("master_weights", *REPEATED) if kind == "pretrain" else REPEATED,
    )
    return workload(spec)(build)


llm_124m = _training(
    "llm-124m", "Decoder 124M (GPT-2 small's size), pre-training, 1,024 tokens", "pretrain", "124m", 1024, 16
)
llm_1b = _training(
    "llm-1b", "Decoder 1.2B (Llama 3.2 1B's shape), pre-training, 2,048 tokens", "pretrain", "1b"
)
llm_1b_finetune = _training(
    "llm-1b-finetune", "Decoder 1.2B, fine-tuning of every weight in bf16, 2,048 tokens", "finetune", "1b"
)
llm_1b_lora = _training("llm-1b-lora", "Decoder 1.2B, LoRA rank 16, 2,048 tokens", "lora", "1b")
llm_8b_lora = _training(
    "llm-8b-lora", "Decoder 8.0B (Llama 3.1 8B's shape), LoRA rank 16, 2,048 tokens", "lora", "8b",
    default_batch=2,
)  # fmt: skip


Phase = Literal["prefill", "decode"]
BLOCK = 64  # Rows at the end of the cache that decode steps write in turn


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


def phase_job(config: RunConfig, phase: Phase, shape: DecoderShape, tokens: int, batch: int) -> Job:
    """The job of one phase. Its mismatch is against eager and, under fp8 and int8, against bf16 weights.

    The bf16 network is built first, so it must fit even where only the 8-bit one is timed.
    """
    import torch

    from gpuwise.workloads.job import dtype_of, inference_job, relative_difference, set_precision
    from gpuwise.workloads.models.decoder import Cache, Decode, Prefill, build_decoder
    from gpuwise.workloads.models.quantized import quantise

    set_precision(config)
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


def _inference(size: str, phase: Phase, tokens: int, default_batch: int) -> Workload:
    """One phase of the decoder of `size` at a context of `tokens`."""
    long = "" if tokens == 2048 else f"-{tokens // 1024}k"
    title = f"Decoder {SHAPES[size].parameters / 1e9:.1f}B"
    return _phase(f"llm-{size}-{phase}{long}", title, SHAPES[size], phase, tokens, default_batch)


def _phase(
    name: str, title: str, shape: DecoderShape, phase: Phase, tokens: int, default_batch: int
) -> Workload:
    cost_of = prefill_cost if phase == "prefill" else decode_cost

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        return cost_of(shape, tokens, precision, batch)

    def build(config: RunConfig, batch: int) -> Job:
        if config.size == "toy":
            return phase_job(config, phase, SHAPES["toy"], TOY_TOKENS, batch)
        return phase_job(config, phase, shape, tokens, batch)

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=f"{title}, {phase}, context {tokens:,}",
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


def by_name(name: str) -> Workload | None:
    """`MODEL-prefill` or `MODEL-decode` of a model in `facts.llms`; None where the name has another form.

    Raises InputError for models that are built otherwise than this decoder: with biases, norms of heads,
    experts, windows or a latent cache.
    """
    base, _, last = name.rpartition("-")
    phase = {"prefill": "prefill", "decode": "decode"}.get(last)
    if phase is None or base not in llms.names():
        return None
    model = llms.find(base)
    shape = DecoderShape(
        layers=model.layers, hidden=model.hidden, heads=model.heads, kv_heads=model.kv_heads,
        inner=model.inner, vocabulary=model.vocabulary, tied=model.tied,
    )  # fmt: skip
    if shape.parameters != model.parameters or model.window or model.experts:
        raise InputError(
            f"{base} is not built like a Llama, and only such models are measured by name",
            hint=f"predict it as an engine serves it: served:{base}, or measure hf:./config.json",
        )
    made = _phase(name, base, shape, cast("Phase", phase), 2048, 16 if phase == "decode" else 2)
    if phase == "decode":
        return made
    # A prompt in INT8 has thousands of rows, which torch multiplies; decoding is what those weights are for.
    spec = replace(made.spec, precisions=tuple(p for p in made.spec.precisions if p != Precision.INT8))
    return replace(made, spec=spec)


llm_1b_prefill, llm_1b_decode = _inference("1b", "prefill", 2048, 4), _inference("1b", "decode", 2048, 32)
llm_8b_prefill, llm_8b_decode = _inference("8b", "prefill", 2048, 2), _inference("8b", "decode", 2048, 16)
llm_1b_prefill_8k = _inference("1b", "prefill", 8192, 1)
llm_1b_decode_8k = _inference("1b", "decode", 8192, 16)
llm_8b_prefill_8k = _inference("8b", "prefill", 8192, 1)
llm_8b_decode_8k = _inference("8b", "decode", 8192, 8)
