"""Llama-style decoders by the name of their model: what a token costs in training, prefill and decoding.

A name is `MODEL-STEP[-adamw8bit][-checkpointed][-8k]`, of any model in `facts.llms` and of three own sizes
(`llm-124m`, and `llm-1b` and `llm-8b`, the shapes of llama-3.2-1b and llama-3.1-8b). Steps are `decode`,
`prefill`, and for training `pretrain`, `full` (also `finetune`), `lora` and `qlora`; 2,048 tokens where none
are said.

With L layers, width C, queries of width Q, keys of width K, inner width F (of the experts that a token
passes, where there are any) and a vocabulary of V, a layer has W = C (Q + 2 K) + Q C + 3 C F weights in
matrices, and one token that attends to t others costs forward

    2 L W  +  4 L Q t  +  2 C V (where the head is applied)

operations. In a causal pass over T tokens t is (T + 1) / 2 on average: what a causal kernel must
compute. MFU figures that count the whole square (PaLM, arXiv:2204.02311, appendix B) are higher by
2 L Q (T - 1) operations a token, forward. Memory traffic counts values read and written, flash attention and
pointwise chains fused:

    linear layers   qkv C + (Q + 2 K), output Q + C, gate-up C + 2 F, down F + C  = 4 C + 2 Q + 2 K + 3 F
    the others      two add-norms 4 C each, rotation 2 (Q + K), attention (Q + 2 K) + Q,
                    gating 2 F + F                                               = 8 C + 4 Q + 4 K + 3 F

a token and layer forward. Training is three times that between products, 5 V for the logits in chunks
(written, read, gradient written, read twice), and the optimiser's 40 (20) bytes a parameter once a step.

One step of training: forward over B sequences of T random tokens, cross entropy at every position, backward,
AdamW. An item is one token, so throughput is tokens/s. What is computed again counts no operations.

- `pretrain`: weights, gradients and moments in fp32, products under autocast. 16 bytes a parameter stay in
  memory.
- `full` keeps all of them in bf16: 8 bytes a parameter, half the optimiser's traffic, as common single-GPU
  recipes do. An update below 1/256 of a weight rounds away.
- `lora`: adapters of rank 16 on all linear layers but the head and experts, base frozen in bf16 (in fp32 it
  is fp32 too), adapters with their gradients and moments in fp32. A frozen product needs the gradient of its
  input only, so its backward costs once forward; adapters (A parameters) and attention cost twice:
  2 (2 L W + 2 C V) + 3 (4 L Q (T + 1) / 2 + 2 A). Traffic: frozen products 2 times, what is between them 3
  times that of the forward pass, the adapters' fused into the products; 4 V for the logits; the base read
  twice a step.
- `qlora`: the same with the base in NF4, widened to 16 bits in each pass.

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
likely one and is fed back. fp8, int8 and int4 change the linear layers (models/quantized.py); head, norms and
cache stay in bf16. The switch decode=triton has a step of at most 64 sequences run by gpuwise's kernels
(kernels/decode.py), and weights of int8 and int4 always do.

Cost of one token (w bytes a value):

- prefill: 2 L W + 4 L Q (T + 1) / 2 + 2 C V / T operations: the head is applied to the last
  position only. Traffic: that between products, 2 L K values written to the cache, and the weights
  once a step, divided by B T.
- decode: 2 L W + 4 L Q T + 2 C V operations. Traffic: the weights once a step, divided by B, plus the
  whole cache of the sequence, 2 L K T w, plus that between products. Below some hundred sequences this
  is bound by memory: TPOT >= (weights + B cache) / bandwidth. Of experts, those count as read that B tokens
  choose by chance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from gpuwise.errors import InputError
from gpuwise.facts import llms
from gpuwise.model.llm import LanguageModel, from_config
from gpuwise.model.precision import FOUR_BIT_FLOATS, NETWORK_PRECISIONS, Precision
from gpuwise.model.question import Cost, Mode, RunConfig, WorkloadSpec
from gpuwise.workloads.registry import REPEATED, Workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

Step = Literal["decode", "prefill", "pretrain", "full", "lora", "qlora"]
Method = Literal["pretrain", "full", "lora", "qlora"]
METHODS: tuple[Method, ...] = ("full", "lora", "qlora", "pretrain")
NARROW = (Precision.FP8, Precision.INT8, Precision.INT4)
TOKENS, TOY_TOKENS = 2048, 32
RANK = 16
# A parameter and step. fp32: AdamW 28 (weight, gradient, two moments read, three written), the two passes
# 12. With everything in bf16 half of that.
OPTIMISER_BYTES, OPTIMISER_BYTES_BF16 = 40, 20
# For chunks of logits, adapters, one layer's gradients and the allocator's slack.
RESERVE_BYTES = 4 * 2**30


# GPT-2 small's size.
_SMALL = {
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 2048,
    "vocab_size": 50_304, "tie_word_embeddings": True,
}  # fmt: skip
SHAPES = {
    "llm-124m": from_config("llm-124m", _SMALL),
    "llm-1b": llms.find("llama-3.2-1b"),
    "llm-8b": llms.find("llama-3.1-8b"),
}
"""Our own sizes."""


def shrunk(m: LanguageModel) -> LanguageModel:
    """A model of the same kind that a CPU runs in milliseconds: every part that it has, at a small size."""
    mixed, latent = bool(m.experts), bool(m.latent)
    return replace(
        m, layers=2, hidden=128, vocabulary=256, heads=4, kv_heads=4 if latent else 2, head_size=32,
        value_size=32, latent=64 * latent, rope=16 * bool(m.rope), query_rank=64 * bool(m.query_rank),
        inner=256, dense_layers=min(m.dense_layers, 1) if mixed else 2, experts=4 * mixed,
        chosen=min(m.chosen, 2), expert_inner=128 * mixed, shared_inner=128 * bool(m.shared_inner),
        window=16 * bool(m.window), full=(m.full[0], m.full[-1]), groups=min(m.groups, 2), chosen_groups=1,
    )  # fmt: skip


def part_of(m: LanguageModel, ranks: int) -> LanguageModel:
    """The share of each of so many tensor-parallel ranks: heads, and width of every feed-forward layer.

    A key head that several ranks need is on each of them. Raises InputError where something is left over.
    """
    over_all = ranks > 1 and m.head_norm == "all"  # the norm is over what others hold
    if not m.splits(ranks) or m.vocabulary % ranks or over_all:
        problem = f"{m.name} cannot be divided evenly between {ranks} GPUs"
        raise InputError(problem, hint=f"it has {m.heads} heads and {m.kv_heads} of keys")
    inner, expert, shared = (size // ranks for size in (m.inner, m.expert_inner, m.shared_inner))
    narrower = replace(m, inner=inner, expert_inner=expert, shared_inner=shared)
    return replace(narrower, heads=m.heads // ranks, kv_heads=max(1, m.kv_heads // ranks))


def inner_width(m: LanguageModel) -> float:
    """Width of the feed-forward layers that one token passes, in the mean of all layers."""
    mixture = m.expert_layers * (m.chosen * m.expert_inner + m.shared_inner)
    return (m.dense_layers * m.inner + mixture) / m.layers


def matrix_weights(m: LanguageModel) -> int:
    """Weights in the layers' matrices that one token is multiplied with."""
    return m.active - m.embedding - m.small


def forward_flop(m: LanguageModel, tokens: int, heads_per_token: float = 1.0) -> float:
    """Operations per token of one causal pass over `tokens`; the head is applied to a share of them."""
    return 2.0 * (matrix_weights(m) + heads_per_token * m.embedding) + m.causal_flop(tokens)


def linear_values(m: LanguageModel) -> float:
    """Values that the linear layers read and write for one token, forward."""
    attention = sum(inputs + sum(outputs) for inputs, outputs in m.attention_products)
    return m.layers * (attention + 2 * m.hidden + 3 * inner_width(m))


def other_values(m: LanguageModel) -> float:
    """Values that everything between the linear layers reads and writes for one token, forward."""
    query, key = m.heads * m.head_size, m.kv_heads * m.head_size
    return m.layers * (8 * m.hidden + 4 * query + 4 * key + 3 * inner_width(m))


def weight_bytes(m: LanguageModel, precision: Precision, tokens: int = 1) -> float:
    """Bytes of the matrices that a pass over so many tokens reads; narrow formats leave the head in 16 bits.

    The embedding is not among them: a pass reads one row a token. A tied one is read as the head.
    """
    width = precision.bytes
    in_layers = precision.weight_bytes if precision.weight_bytes < 2 else width
    return (m.read(tokens) - m.embedding - m.small) * in_layers + m.embedding * width


def adapter_parameters(m: LanguageModel, rank: int = RANK) -> int:
    """Trainable parameters of LoRA on the products of every layer but experts: rank (inputs + outputs)."""
    attention = sum(len(outputs) * inputs + sum(outputs) for inputs, outputs in m.attention_products)
    return rank * (m.layers * attention + m.dense_layers * 3 * (m.hidden + m.inner))


def train_cost(m: LanguageModel, tokens: int, moved: int, precision: Precision, batch: int) -> Cost:
    """Cost of one token in a step of `batch` sequences of `tokens`; `moved` bytes a parameter and step."""
    values = 3 * (linear_values(m) + other_values(m)) + 5 * m.vocabulary
    return Cost(
        flop_per_item=3 * forward_flop(m, tokens),
        bytes_per_item=values * precision.bytes + moved * m.parameters / (batch * tokens),
    )


def lora_cost(
    m: LanguageModel, tokens: int, precision: Precision, batch: int, base: Precision | None = None
) -> Cost:
    """The same where adapters alone are trained, over a base in a format of its own."""
    width, adapters = precision.bytes, adapter_parameters(m)
    frozen = 2.0 * (matrix_weights(m) + m.embedding)
    flop = 2 * frozen + 3 * (m.causal_flop(tokens) + 2 * adapters)
    values = 2 * linear_values(m) + 3 * other_values(m) + 4 * m.vocabulary
    weights = 2 * weight_bytes(m, base or precision, batch * tokens) + OPTIMISER_BYTES * adapters
    return Cost(flop_per_item=flop, bytes_per_item=values * width + weights / (batch * tokens))


def prefill_cost(m: LanguageModel, tokens: int, precision: Precision, batch: int) -> Cost:
    """Cost of one prompt token in a step of `batch` prompts of `tokens`."""
    values = linear_values(m) + other_values(m) + m.cache_values(1)
    moved = values * precision.bytes + weight_bytes(m, precision, batch * tokens) / (batch * tokens)
    return Cost(flop_per_item=forward_flop(m, tokens, 1 / tokens), bytes_per_item=moved)


def decode_cost(m: LanguageModel, tokens: int, precision: Precision, batch: int) -> Cost:
    """Cost of one new token in a step of `batch` sequences with `tokens` in the cache."""
    values = linear_values(m) + other_values(m) + m.cache_values(tokens)
    return Cost(
        flop_per_item=2.0 * (matrix_weights(m) + m.embedding) + m.attention_flop(tokens, decode=True),
        bytes_per_item=values * precision.bytes + weight_bytes(m, precision, batch) / batch,
    )


def activation_bytes(m: LanguageModel, batch: int, tokens: int, width: int = 2) -> float:
    """Bytes that backward of all layers keeps, eagerly: 6 C + 3 Q + 2 K + 4 F values a token and layer.

    Each norm its input in fp32 and its output (3 C twice); attention query, key, value, result and
    the result as the next product's input (3 Q + 2 K); gate, up, activated gate and their product
    (4 F). Frozen products keep nothing.
    """
    query, key = m.heads * m.head_size, m.kv_heads * m.head_size
    values = 6 * m.hidden + 3 * query + 2 * key + 4 * inner_width(m)
    return batch * tokens * m.layers * values * width


def must_recompute(m: LanguageModel, batch: int, tokens: int, free_bytes: int, width: int = 2) -> bool:
    """True if activations of all layers do not fit beside the reserve in what the weights left free."""
    return activation_bytes(m, batch, tokens, width) + RESERVE_BYTES > free_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """The work that a name means."""

    model: LanguageModel
    step: Step
    tokens: int = TOKENS
    checkpointed: bool = False  # Activations of layers are computed again in the backward pass
    adamw8bit: bool = False  # The optimiser's moments take 8 bits

    def cost(self, mode: Mode, precision: Precision, batch: int) -> Cost:
        m = self.model
        if self.step in ("lora", "qlora"):
            base = Precision.NF4 if self.step == "qlora" else None
            return lora_cost(m, self.tokens, precision, batch, base)
        if self.step in ("pretrain", "full"):
            narrow = self.step == "full" and precision == Precision.BF16
            moved = OPTIMISER_BYTES_BF16 if narrow else OPTIMISER_BYTES
            # Both moments, read and written, in one byte each instead of two or four.
            moved -= self.adamw8bit * 4 * (1 if narrow else 3)
            return train_cost(m, self.tokens, moved, precision, batch)
        return (prefill_cost if self.step == "prefill" else decode_cost)(m, self.tokens, precision, batch)

    def __call__(self, config: RunConfig, batch: int) -> Job:
        from gpuwise.workloads.models import llm_jobs

        work = self
        if config.size == "toy":
            work = replace(self, model=shrunk(self.model), tokens=TOY_TOKENS)
        make = llm_jobs.phase_job if self.step in ("decode", "prefill") else llm_jobs.training_job
        return make(config, work, batch)


# Of each step: what it is called, its task, and the switches that its job heeds.
STEPS: dict[Step, tuple[str, str, tuple[str, ...]]] = {
    "pretrain": ("pre-training", "language-model pre-training", ("master_weights", *REPEATED)),
    "full": ("fine-tuning of every weight", "language-model fine-tuning", REPEATED),
    "lora": (f"LoRA rank {RANK}", "language-model fine-tuning", REPEATED),
    "qlora": (f"QLoRA rank {RANK}, base in NF4", "language-model fine-tuning", REPEATED),
    "decode": ("decode", "language-model inference: decode", ("compiler", "decode")),
    "prefill": ("prefill", "language-model inference: prefill", REPEATED),
}
_NAME = re.compile(
    r"(?P<model>.+?)-(?P<step>decode|prefill|pretrain|full|finetune|lora|qlora)"
    r"(?P<narrow>-adamw8bit)?(?P<again>-checkpointed)?"
    r"(-(?P<thousands>\d{1,3})k)?"
)


def names_of(
    model: str, modes: tuple[Mode, ...], method: str | None, checkpointed: bool, context: int | None
) -> tuple[str, ...]:
    """Names of what is measured of a model: a prompt and decoding, or a way of training.

    Raises InputError where a context is not a multiple of 1,024 tokens, or nothing is trained that the method
    or checkpointing could be of.
    """
    if method is not None and method.removesuffix("-adamw8bit") not in METHODS:
        raise InputError(f"unknown method {method!r}", hint=f"choose from {', '.join(METHODS)}")
    if context is not None and (context < 1024 or context % 1024):
        raise InputError(f"a context is a multiple of 1,024 tokens, not {context:,}", hint="such as 1k or 8k")
    trains = "train" in modes and ("infer" not in modes or method is not None or checkpointed)
    if not trains and (method is not None or checkpointed):
        raise InputError("a method and checkpointing are of training", hint="add --mode train")
    long = f"-{context // 1024}k" if context not in (None, TOKENS) else ""
    if trains:
        return (f"{model}-{method or 'full'}{'-checkpointed' if checkpointed else ''}{long}",)
    return tuple(f"{model}-{phase}{long}" for phase in ("decode", "prefill"))


def is_model(name: str) -> bool:
    """True if a name is that of a model alone, one of ours or of `facts.llms`."""
    return name in SHAPES or llms.known(name)


def lighter(name: str) -> str | None:
    """The name of the same training with activations computed again; None where a name means no such one."""
    match = _NAME.fullmatch(name)
    if match is None or match["again"] or match["step"] in ("decode", "prefill"):
        return None
    if not is_model(match["model"]):
        return None
    at = match.end("narrow" if match["narrow"] else "step")
    return f"{name[:at]}-checkpointed{name[at:]}"


def by_name(name: str, stated: Mapping[str, Any] | None = None) -> Workload | None:
    """The workload of a name, with what is `stated` of it instead; None where it has another form or means no
    model.

    Raises InputError for models that are built otherwise than this decoder.
    """
    overrides = dict(stated or {})
    match = _NAME.fullmatch(overrides.pop("means", name))
    if match is None or not is_model(match["model"]):
        return None
    own, step = match["model"] in SHAPES, cast("Step", match["step"].replace("finetune", "full"))
    train, lora = step not in ("decode", "prefill"), step in ("lora", "qlora")
    if not train and (match["narrow"] or match["again"]):
        return None  # Nothing is trained.
    model = SHAPES[match["model"]] if own else llms.find(match["model"])
    tokens = 1024 * int(match["thousands"] or TOKENS // 1024)
    if model.context and tokens > model.context:
        raise InputError(f"{model.name} was made for {model.context:,} tokens, not {tokens:,}")
    if not model.gated or model.capped or model.mixers or model.expert_hidden or model.extra or model.table:
        hint = f"predict it as an engine serves it: served:{model.name}, or measure hf:./config.json"
        raise InputError(f"{model.name} is not built like a Llama", hint=hint)
    narrow, again = match["narrow"] is not None, match["again"] is not None
    work = Decoding(model=model, step=step, tokens=tokens, checkpointed=again, adamw8bit=narrow)
    what, task, switches = STEPS[step]
    if not model.decodes_fused:
        switches = tuple(switch for switch in switches if switch != "decode")
    what += ", moments in 8 bits" * narrow + ", checkpointed" * again
    length = f"{tokens:,} tokens" if train else f"context {tokens:,}"
    overrides.setdefault(
        "title", f"{f'Decoder {model.parameters / 1e9:.1f}B' if own else model.name}, {what}, {length}"
    )
    overrides.setdefault(
        "default_batch", {"decode": 16, "prefill": 2}.get(step, 2 if model.parameters > 4e9 else 4)
    )
    precisions: tuple[Precision, ...] = NETWORK_PRECISIONS
    if step in ("full", "lora", "qlora"):
        precisions = (Precision.FP32, Precision.BF16)
    elif not train:
        # A prompt in INT8 has thousands of rows, which torch multiplies; those weights are for decoding.
        precisions += tuple(p for p in NARROW if own or step == "decode" or p != Precision.INT8)
    spec = WorkloadSpec(
        id=name if own else name.replace(match["model"], model.name),
        task=task,
        item="token",
        modes=("train",) if train else ("infer",),
        parameters=model.parameters + (adapter_parameters(model) if lora else 0),
        cost=work.cost,
        precisions=precisions,
        # Of several rows torch widens these before it multiplies them: that was not measured.
        unpredicted=() if train else FOUR_BIT_FLOATS,
        switches=switches,
        phase=cast("Literal['prefill', 'decode']", step) if not train else None,
        divides=not lora,
        **overrides,
    )
    return Workload(spec=spec, build=work)
