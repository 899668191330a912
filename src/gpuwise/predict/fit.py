"""Whether a language model fits on a GPU, and how fast it runs there: memory by part, tokens a second.

    inference   weights + cache of every sequence + one chunk of a prompt between two layers
    training    weights + what is trained: gradients and the optimiser's state + activations + logits
    decoding    max(bytes / (share x bandwidth) + layers x a kernel's latency, operations, unpacking 4 bits)
    prompt, training step    operations / (share x peak), and for training three or four passes of them

Activations of a layer are those of `workloads.llm.activation_bytes`. Checkpointing keeps C values a token and
layer and computes one layer again at a time. Logits are counted as transformers makes them, in 16 and 32 bits
with their gradient; where a plan with checkpointing does not fit for them, the loss is computed in chunks of
tokens, as torchtune, Unsloth, Liger and `gpuwise bench` do. llama.cpp, which runs GGUF formats, leaves an
embedding that is not the head in the host's memory.
Constants were set on public rows: `python -m evaluation.language_models DATA_FOLDER` scores them.
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
from gpuwise.predict.card import MOST, Card, bus, card, is_measured
from gpuwise.workloads.llm import activation_bytes, adapter_parameters, inner_width

Task = Literal["infer", "full", "lora", "qlora"]
Optimiser = Literal["adamw", "adamw8bit", "paged"]
GGUF = (Precision.Q8_0, Precision.Q5_K_M, Precision.Q4_K_M)
TASKS: tuple[Task, ...] = ("infer", "full", "lora", "qlora")
# Supervised fine-tuning of every weight, as people type it.
ALSO_CALLED: dict[str, Task] = {"sft": "full", "finetune": "full", "fine-tune": "full", "inference": "infer"}
OPTIMISERS: tuple[Optimiser, ...] = ("adamw", "adamw8bit", "paged")

# Context of the driver, handles of libraries and their workspaces: taken on every card before a tensor is.
# llama.cpp has few libraries.
FIXED_BYTES, FIXED_BYTES_GGUF = 1.0e9, 0.5e9
# Share of the memory that a caching allocator can fill before fragments make it fail.
USABLE = 0.95
# Metal gives a GPU that shares its memory with the processor about three quarters of it.
USABLE_SHARED = 0.75
# Tokens of a prompt that engines read at a time.
CHUNK = 2048
# Bytes of a logit in training: 2 as computed, 4 widened, 4 of its gradient, 2 narrowed again.
LOGIT_BYTES, LOGIT_CHUNK_BYTES = 12, 1e9
# 4-bit layers keep a second copy of the input of products for their adapters.
QUANTISED_INPUTS = 1.3
# Bytes a trained parameter beside its weight: gradient and two moments in the weight's own format (bf16, as
# single-GPU recipes have it), or 8-bit moments. Paged: those in the host's memory, and each gradient is
# applied within the backward pass, so that the largest one alone is there. Adapters are trained in fp32.
STATE_BYTES = {"adamw": 2 + 4, "adamw8bit": 2 + 2, "paged": 0}
ADAPTER_BYTES = {"adamw": 4 + 4 + 8, "adamw8bit": 4 + 4 + 2, "paged": 4 + 4 + 2}
# Bytes a second between the host and a GPU, over which paged moments travel.
PAGED_BYTES_PER_S = 20e9
# Share of the bandwidth that decoding reaches, in fused engines and in llama.cpp, which runs GGUF formats; of
# the peak that a prompt and a training step reach.
READ_SHARE, READ_SHARE_GGUF, PROMPT_SHARE, TRAIN_SHARE = 0.85, 0.74, 0.55, 0.45
# Seconds that a layer's kernels take beside what they move, in engines with fused kernels; of GGUF, AWQ and
# GPTQ at 2 GHz, which those grow against. NF4 is run by bitsandbytes in transformers, where the host launches
# each kernel: between half and twice this by the host.
LAYER_S, LAYER_S_INT4, LAYER_S_NF4 = 30e-6, 55e-6, 0.8e-3
# Cards with HBM wait longer: of llama.cpp a layer, of other engines the router and gather of a mixture.
LAYER_S_GGUF_HBM, MIXTURE_S_HBM = 65e-6, 30e-6
# Weights that a multiprocessor unpacks from 4 bits in one cycle, and from NF4 into a copy of 16 bits, which
# is written and read for more than one sequence.
UNPACKED, UNPACKED_NF4 = 14.0, 1.3
# Seconds of one all-reduce of a token's activations, over NVLink and over PCIe.
REDUCE_S = {"NVLink": 12e-6, "PCIe": 35e-6}
# Half width of the 80 % interval as a factor, over seen rows.
SPREAD = {"infer": 1.3, "full": 1.4, "lora": 1.4, "qlora": 1.6}
SPREAD_NF4 = 1.8
# Of architectures without a measured GPU: the factor that has most public rows of eight such cards, and the
# share of the estimate that those reach that are not NVIDIA's (RDNA, Arc, Apple).
UNMEASURED, SPREAD_UNMEASURED = 0.55, 2.3
# Architectures of which steps were measured, but no language model: no GPU has a row in the public tables.
UNREAD = frozenset({"Pascal", "Volta"})
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
    chunked: bool = False  # The loss is computed for some tokens at a time.
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
    widened: bool = False  # The GPU has no units for the format of the weights, which are widened to 16 bits.

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
        return answer if plan.chunked or not plan.checkpoint else fit(replace(plan, chunked=True), gpu)
    first = None
    if plan.gpus > MOST:
        return replace(answer, refusal=f"the network between machines of {MOST} is not known")
    try:
        found = card(gpu, sheet=True)
        known = is_measured(gpu) and found.family not in UNREAD
        if plan.task == "infer":
            seconds, first = decode_seconds(plan, found), prompt_seconds(plan, found)
        else:
            seconds = train_seconds(plan, found)
    except NoDataError as error:
        return replace(answer, refusal=str(error))
    tokens = plan.batch * (1 if plan.task == "infer" else plan.context * plan.gpus)
    speed, factor = tokens / seconds, SPREAD[plan.task]
    if plan.task == "infer" and plan.weights == Precision.NF4:
        factor = SPREAD_NF4
    method = "data sheet"
    if not known:
        factor, method = SPREAD_UNMEASURED, "data sheet, nothing alike measured"
        share = 1.0 if found.vendor == "NVIDIA" else UNMEASURED
        speed, first = speed * share, first / share if first else None
    interval = Interval(value=speed, low=speed / factor, high=speed * factor, level=0.8, method=method)
    odd = plan.task == "infer" and plan.weights.operand in ("fp8", "fp4") and widened(plan, found)
    return replace(answer, tokens_per_s=interval, first_token_s=first, widened=odd)


def memory(plan: Plan) -> tuple[tuple[str, float], ...]:
    """Bytes on each GPU by what holds them. Raises InputError for formats that cannot be trained."""
    m, gpus = plan.model, plan.gpus
    weights, fixed = llms.weight_bytes(m, plan.weights), FIXED_BYTES
    if plan.weights in GGUF:
        fixed = FIXED_BYTES_GGUF
        weights -= 0 if m.tied else m.embedding * plan.weights.head_bytes
    if plan.task == "infer":
        # A latent cache has no heads to split.
        kept = plan.batch * m.cache_values(plan.context) * plan.cache.weight_bytes / (1 if m.latent else gpus)
        rows = max(plan.batch, min(plan.context, CHUNK))
        passing = 2 * rows * (6 * m.hidden + 2 * inner_width(m) / gpus) + 6 * plan.batch * m.vocabulary
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
        if plan.task == "full" and plan.optimiser == "paged":
            state = STATE_BYTES["adamw8bit"] * m.embedding
        kept = activation_bytes(m, plan.batch, plan.context)
        kept *= QUANTISED_INPUTS if plan.weights.weight_bytes < 1 else 1.0
        logits = float(LOGIT_BYTES * tokens * m.vocabulary)
        if plan.checkpoint:
            kept = 2.0 * tokens * m.hidden * m.layers + kept / m.layers
        if plan.chunked:
            logits = min(logits, LOGIT_CHUNK_BYTES)
        # FSDP gathers two layers at a time beside its own part.
        gathered = 2 * weights / m.layers if gpus > 1 else 0.0
        parts = {
            "weights": weights / gpus + gathered, "gradients and optimiser": state / gpus,
            "activations": kept, "logits": logits,
        }  # fmt: skip
    return (*parts.items(), ("driver and libraries", fixed))


def decode_seconds(plan: Plan, found: Card) -> float:
    """One token of every sequence, whose caches hold the whole context."""
    m, gpus = plan.model, plan.gpus
    read = llms.weight_bytes(m, plan.weights) * m.read(plan.batch) / m.parameters
    cache = plan.batch * m.cache_values(plan.context) * plan.cache.weight_bytes / (1 if m.latent else gpus)
    share = READ_SHARE_GGUF if plan.weights in GGUF else READ_SHARE
    moved = (read / gpus + cache) / (share * found.bytes_per_s)
    flop = plan.batch * (2.0 * m.active + m.attention_flop(plan.context, decode=True))
    computed = flop / gpus / (PROMPT_SHARE * _peak(plan, found))
    unpacked, layer = 0.0, LAYER_S
    cycles = m.read(plan.batch) / gpus / (found.units * found.clock_hz)
    if plan.weights == Precision.NF4:
        unpacked = cycles / (UNPACKED if plan.batch == 1 else UNPACKED_NF4)
        if plan.batch > 1:
            moved += 2 * 2 * m.read(plan.batch) / gpus / (share * found.bytes_per_s)
        return max(moved, computed, unpacked, m.layers * LAYER_S_NF4 * (1 if plan.batch == 1 else 1.5))
    if plan.weights in GGUF:
        layer *= 2e9 / found.clock_hz
    elif plan.weights.weight_bytes < 1:
        unpacked, layer = cycles / UNPACKED, LAYER_S_INT4 * 2e9 / found.clock_hz
    if found.stacked:
        layer = (
            LAYER_S_GGUF_HBM if plan.weights in GGUF else layer + MIXTURE_S_HBM * m.expert_layers / m.layers
        )
    return max(moved, computed, unpacked) + m.layers * (layer + _reduces(plan, found))


def prompt_seconds(plan: Plan, found: Card) -> float:
    """The whole context as one prompt, read by all GPUs: the time to the first token of one sequence."""
    m = plan.model
    flop = plan.context * (2.0 * m.active + m.causal_flop(plan.context))
    computed = flop / plan.gpus / (PROMPT_SHARE * _peak(plan, found))
    read = llms.weight_bytes(m, plan.weights) * m.read(plan.context) / m.parameters / plan.gpus
    return max(computed, read / (READ_SHARE * found.bytes_per_s)) + m.layers * LAYER_S


def train_seconds(plan: Plan, found: Card) -> float:
    """One step over the batch of each GPU: forward, backward and, with checkpointing, forward again."""
    m, tokens = plan.model, plan.batch * plan.context
    products = 2.0 * m.active * tokens
    scores = m.causal_flop(plan.context) * tokens
    # Of frozen weights no gradient is computed: their backward pass costs once forward.
    passes = (3 if plan.task == "full" else 2) + plan.checkpoint
    flop = passes * products + (3 + plan.checkpoint) * scores
    seconds = flop / (TRAIN_SHARE * _peak(plan, found))
    if plan.weights.weight_bytes < 1:
        seconds *= QLORA_SLOWER
    trained = m.parameters if plan.task == "full" else adapter_parameters(m, plan.rank)
    state = (2 + STATE_BYTES[plan.optimiser]) if plan.task == "full" else ADAPTER_BYTES[plan.optimiser]
    seconds += 2 * trained * state / plan.gpus / (READ_SHARE * found.bytes_per_s)
    if plan.task == "full" and plan.optimiser == "paged":
        seconds += 2 * 2 * trained / plan.gpus / PAGED_BYTES_PER_S
    if plan.gpus > 1:
        # Weights are gathered twice and gradients scattered once, hidden behind longer products.
        width = bus(found.id, plan.gpus)[0]
        moved = 3 * llms.weight_bytes(m, plan.weights) * (plan.gpus - 1) / plan.gpus / width
        seconds = max(seconds, moved) + 0.1 * min(seconds, moved)
    return seconds


def widened(plan: Plan, found: Card) -> bool:
    """Whether the card has no units for the format, so that weights are widened to 16 bits in the product."""
    return plan.weights.operand not in found.peaks


def _peak(plan: Plan, found: Card) -> float:
    """FLOP/s of the format that is multiplied, else of what it is widened to."""
    if plan.task == "infer" and not widened(plan, found):
        return found.peaks[plan.weights.operand]
    return found.peaks.get("bf16") or found.peaks.get("fp16") or found.peak("fp32")


def _reduces(plan: Plan, found: Card) -> float:
    """Seconds that a layer's two all-reduces take."""
    if plan.gpus == 1:
        return 0.0
    path = "NVLink" if bus(found.id, plan.gpus)[1] == "NVLink" else "PCIe"
    return 2 * REDUCE_S[path] * log2(plan.gpus)
