"""Whether a language model fits on a GPU, and how fast it runs there: memory by part, tokens a second.

    inference   weights + cache of every sequence + one chunk of a prompt between two layers
    training    weights + what is trained: gradients and the optimiser's state + activations + logits
    decoding    max(bytes / (share x bandwidth) + layers x a kernel's latency, operations, unpacking 4 bits)
    prompt, training step    operations / (share x peak), and for training three or four passes of them

Activations of a layer, eagerly, in values a token: each norm its input in fp32 and its output (3 C twice),
attention query, key, value, result and the result as the next product's input (3 C + 2 K), gate, up,
activated gate and their product (4 F): 9 C + 2 K + 4 F (`workloads.llm`). Checkpointing keeps C a layer and
computes one layer again at a time. Logits are counted as transformers makes them: in 16 and 32 bits, with
their gradient.
Constants were set on two thirds of public rows; docs/how-it-predicts.md has the scores on the last third.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2
from typing import Literal

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog, llms
from gpuwise.model.llm import LanguageModel
from gpuwise.model.precision import Precision
from gpuwise.model.result import Basis, Interval
from gpuwise.predict.card import Card, bus, card

Task = Literal["infer", "full", "lora", "qlora"]
Optimiser = Literal["adamw", "adamw8bit"]
GGUF = (Precision.Q8_0, Precision.Q5_K_M, Precision.Q4_K_M)
TASKS: tuple[Task, ...] = ("infer", "full", "lora", "qlora")
OPTIMISERS: tuple[Optimiser, ...] = ("adamw", "adamw8bit")

# Context of the driver, handles of libraries and their workspaces: taken on every card before a tensor is.
FIXED_BYTES = 1.0e9
# Share of the memory that a caching allocator can fill before fragments make it fail.
USABLE = 0.95
# Metal gives a GPU that shares its memory with the processor about three quarters of it.
USABLE_SHARED = 0.72
# Tokens of a prompt that engines read at a time.
CHUNK = 2048
# Bytes of a logit in training: 2 as computed, 4 widened, 4 of its gradient, 2 narrowed again.
LOGIT_BYTES = 12
# 4-bit layers keep a second copy of the input of products for their adapters.
QUANTISED_INPUTS = 1.3
# Bytes a trained parameter beside its weight: gradient and two moments in the weight's own format (bf16, as
# single-GPU recipes have it), or 8-bit moments. Adapters are kept and trained in fp32.
STATE_BYTES = {"adamw": 2 + 4, "adamw8bit": 2 + 2}
ADAPTER_BYTES = {"adamw": 4 + 4 + 8, "adamw8bit": 4 + 4 + 2}
# Share of the bandwidth that decoding reaches, in fused engines and in llama.cpp, which runs GGUF formats; of
# the peak that a prompt and a training step reach.
READ_SHARE, READ_SHARE_GGUF, PROMPT_SHARE, TRAIN_SHARE = 0.85, 0.70, 0.55, 0.45
# Seconds that a layer's kernels take beside what they move, in engines with fused kernels.
LAYER_S = 30e-6
# Weights that a multiprocessor unpacks from 4 bits in one cycle; cards with HBM are bound by that.
UNPACKED = 9.0
# Seconds of one all-reduce of a token's activations, over NVLink and over PCIe.
REDUCE_S = {"NVLink": 12e-6, "PCIe": 35e-6}
# Half width of the 80 % interval as a factor, over seen rows.
SPREAD = {"infer": 1.3, "full": 1.4, "lora": 1.4, "qlora": 1.6}
# QLoRA dequantises every weight in each pass.
QLORA_SLOWER = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One way to run a model: what for, in which formats, how much at a time, on how many GPUs."""

    model: LanguageModel
    task: Task = "infer"
    weights: Precision = Precision.BF16
    cache: Precision = Precision.BF16
    context: int = 4096  # Tokens of a sequence; of prompt and answer together.
    batch: int = 1
    gpus: int = 1  # Tensor-parallel for inference, FSDP for training.
    checkpoint: bool = False
    optimiser: Optimiser = "adamw"
    rank: int = 16  # Of adapters.


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What a plan needs of each GPU, whether that is there, and the speed where it is."""

    plan: Plan
    gpu_id: str
    parts: tuple[tuple[str, float], ...] = ()  # Bytes on each GPU by what holds them.
    memory_bytes: float = 0.0  # Of one GPU.
    fits: bool = False
    enough: int | None = None  # Where it does not fit: the fewest such GPUs on which it would, if any.
    tokens_per_s: Interval | None = None  # New ones in inference, trained ones in training.
    first_token_s: float | None = None
    basis: Basis = "spec-only"
    refusal: str = ""  # Why there is no speed for this GPU.

    @property
    def needed_bytes(self) -> float:
        """All parts together."""
        return sum(size for _, size in self.parts)


def fit(plan: Plan, gpu: str) -> Fit:
    """The plan on one GPU of the catalog, or on several of it. Raises InputError for an unknown GPU."""
    spec = catalog.find(gpu)
    if spec.memory_bytes is None:
        return Fit(plan=plan, gpu_id=spec.id, refusal="no source states its memory")
    parts = memory(plan)
    usable = USABLE_SHARED if spec.vendor == "Apple" else USABLE
    fits = sum(size for _, size in parts) <= usable * spec.memory_bytes
    answer = Fit(plan=plan, gpu_id=spec.id, parts=parts, memory_bytes=spec.memory_bytes, fits=fits)
    if not fits:
        return answer
    first = None
    try:
        found = card(gpu)
        if plan.task == "infer":
            seconds, first = decode_seconds(plan, found), prompt_seconds(plan, found)
        else:
            seconds = train_seconds(plan, found)
    except NoDataError as error:
        return replace(answer, refusal=str(error))
    tokens = plan.batch * (1 if plan.task == "infer" else plan.context * plan.gpus)
    speed, factor = tokens / seconds, SPREAD[plan.task]
    interval = Interval(
        value=speed, low=speed / factor, high=speed * factor, level=0.8, method="data sheet"
    )  # fmt: skip
    return replace(answer, tokens_per_s=interval, first_token_s=first)


def memory(plan: Plan) -> tuple[tuple[str, float], ...]:
    """Bytes on each GPU by what holds them. Raises InputError for formats that cannot be trained."""
    m, gpus = plan.model, plan.gpus
    weights = llms.weight_bytes(m, plan.weights)
    feed_forward = _active_inner(m)
    if plan.task == "infer":
        # A latent cache has no heads to split.
        kept = plan.batch * m.cache_values(plan.context) * plan.cache.weight_bytes / (1 if m.latent else gpus)
        rows = max(plan.batch, min(plan.context, CHUNK))
        passing = 2 * rows * (6 * m.hidden + 2 * feed_forward / gpus) + 6 * plan.batch * m.vocabulary
        parts = {"weights": weights / gpus, "cache": kept, "activations": passing}
    else:
        if plan.task == "full" and plan.weights not in (Precision.BF16, Precision.FP16):
            raise InputError(
                f"all weights cannot be trained in {plan.weights}", hint="bf16, or the task qlora"
            )
        tokens, trained = plan.batch * plan.context, m.parameters
        state = STATE_BYTES[plan.optimiser] * m.parameters
        if plan.task != "full":
            trained = adapter_parameters(m, plan.rank)
            state = ADAPTER_BYTES[plan.optimiser] * trained
        layer = (
            2.0
            * tokens
            * (9 * m.hidden + 2 * m.kv_heads * m.head_size + (4 if m.gated else 2) * feed_forward)
        )
        layer *= QUANTISED_INPUTS if plan.weights.weight_bytes < 1 else 1.0
        kept = m.layers * layer
        if plan.checkpoint:
            kept = 2.0 * tokens * m.hidden * m.layers + layer
        # FSDP gathers two layers at a time beside its own part.
        gathered = 2 * weights / m.layers if gpus > 1 else 0.0
        parts = {
            "weights": weights / gpus + gathered, "gradients and optimiser": state / gpus,
            "activations": kept, "logits": float(LOGIT_BYTES * tokens * m.vocabulary),
        }  # fmt: skip
    return (*parts.items(), ("driver and libraries", FIXED_BYTES))


def _active_inner(m: LanguageModel) -> float:
    """Width of the feed-forward layers that one token passes, in the mean of all layers."""
    mixture = m.expert_layers * (m.chosen * m.expert_inner + m.shared_inner)
    return (m.dense_layers * m.inner + mixture) / m.layers


def adapter_parameters(m: LanguageModel, rank: int) -> int:
    """LoRA on all products of attention and of dense feed-forward layers; experts have none."""
    query, keys = m.heads * m.head_size, m.kv_heads * m.head_size
    attention = 2 * (m.hidden + query) + 2 * (m.hidden + keys)
    return rank * (m.layers * attention + m.dense_layers * 3 * (m.hidden + m.inner))


def decode_seconds(plan: Plan, found: Card) -> float:
    """One token of every sequence, whose caches hold the whole context."""
    m, gpus = plan.model, plan.gpus
    read = llms.weight_bytes(m, plan.weights) * m.read(plan.batch) / m.parameters
    cache = plan.batch * m.cache_values(plan.context) * plan.cache.weight_bytes / (1 if m.latent else gpus)
    share = READ_SHARE_GGUF if plan.weights in GGUF else READ_SHARE
    moved = (read / gpus + cache) / (share * found.bytes_per_s)
    flop = plan.batch * (2.0 * m.active + m.attention_flop(plan.context, decode=True))
    computed = flop / gpus / (PROMPT_SHARE * _peak(plan, found))
    unpacked = 0.0
    if plan.weights.weight_bytes < 1:
        unpacked = m.read(plan.batch) / gpus / (UNPACKED * found.units * found.clock_hz)
    return max(moved, computed, unpacked) + m.layers * (LAYER_S + _reduces(plan, found))


def prompt_seconds(plan: Plan, found: Card) -> float:
    """The whole context as one prompt, read by all GPUs: the time to the first token of one sequence."""
    m = plan.model
    flop = plan.context * (2.0 * m.active + m.attention_flop((plan.context + 1) / 2))
    computed = flop / plan.gpus / (PROMPT_SHARE * _peak(plan, found))
    read = llms.weight_bytes(m, plan.weights) * m.read(plan.context) / m.parameters / plan.gpus
    return max(computed, read / (READ_SHARE * found.bytes_per_s)) + m.layers * LAYER_S


def train_seconds(plan: Plan, found: Card) -> float:
    """One step over the batch of each GPU: forward, backward and, with checkpointing, forward again."""
    m, tokens = plan.model, plan.batch * plan.context
    products = 2.0 * m.active * tokens
    scores = m.attention_flop((plan.context + 1) / 2) * tokens
    # Of frozen weights no gradient is computed: their backward pass costs once forward.
    passes = (3 if plan.task == "full" else 2) + plan.checkpoint
    flop = passes * products + (3 + plan.checkpoint) * scores
    seconds = flop / (TRAIN_SHARE * _peak(plan, found))
    if plan.weights.weight_bytes < 1:
        seconds *= QLORA_SLOWER
    trained = m.parameters if plan.task == "full" else adapter_parameters(m, plan.rank)
    state = (2 + STATE_BYTES[plan.optimiser]) if plan.task == "full" else ADAPTER_BYTES[plan.optimiser]
    seconds += 2 * trained * state / plan.gpus / (READ_SHARE * found.bytes_per_s)
    if plan.gpus > 1:
        # Weights are gathered twice and gradients scattered once, hidden behind longer products.
        width = bus(found.id, plan.gpus)[0]
        moved = 3 * llms.weight_bytes(m, plan.weights) * (plan.gpus - 1) / plan.gpus / width
        seconds = max(seconds, moved) + 0.1 * min(seconds, moved)
    return seconds


def _peak(plan: Plan, found: Card) -> float:
    """FLOP/s of the format that is multiplied, else of what it is widened to."""
    if plan.weights.operand in found.peaks and plan.task == "infer":
        return found.peaks[plan.weights.operand]
    return found.peaks.get("bf16") or found.peak("fp16")


def _reduces(plan: Plan, found: Card) -> float:
    """Seconds that a layer's two all-reduces take."""
    if plan.gpus == 1:
        return 0.0
    path = "NVLink" if bus(found.id, plan.gpus)[1] == "NVLink" else "PCIe"
    return 2 * REDUCE_S[path] * log2(plan.gpus)
