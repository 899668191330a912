"""Whether a language model fits on a GPU, and how fast it runs there: memory by part, tokens a second.

    inference   weights + cache of every sequence + one chunk of a prompt between two layers
    training    weights + what is trained: gradients and the optimiser's state + activations + logits
    decoding    max(bytes / (share x bandwidth) + layers x a kernel's latency, operations, unpacking 4 bits)
    prompt, training step    passes through the products of all layers, as `step` predicts them, their scores,
                             and what is read and written between them

Activations of a layer are those of `workloads.llm.activation_bytes`. Checkpointing keeps C values a token and
layer and computes one layer again at a time. Logits are counted as transformers makes them, in 16 and 32 bits
with their gradient; where a plan with checkpointing does not fit for them, the loss is computed in chunks of
tokens, as torchtune, Unsloth, Liger and `gpuwise bench` do. llama.cpp, which runs GGUF formats, leaves an
embedding that is not the head in the host's memory.
Constants were set on public rows: `python -m evaluation.language_models DATA_FOLDER` scores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log2
from typing import Literal, NamedTuple, cast

import numpy as np

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog, llms
from gpuwise.model.judgement import Task
from gpuwise.model.llm import LanguageModel
from gpuwise.model.precision import GGUF, SERVED, Precision
from gpuwise.model.result import Basis, Interval
from gpuwise.predictor.card import (
    DATA,
    MOST,
    Card,
    bus,
    card,
    die,
    dies,
    is_measured,
    runs_llama_cpp,
    runs_vllm,
)
from gpuwise.predictor.kernels import Products
from gpuwise.predictor.rates import shipped_on, usual
from gpuwise.predictor.step import product_alone
from gpuwise.workloads import llm

Optimiser = Literal["adamw", "adamw8bit", "adamw32", "paged"]
# Supervised fine-tuning of every weight, as people type it.
ALSO_CALLED: dict[str, Task] = {"sft": "full", "finetune": "full", "fine-tune": "full", "inference": "infer"}
OPTIMISERS: tuple[Optimiser, ...] = ("adamw", "adamw8bit", "adamw32", "paged")

# Context of the driver, handles of libraries and their workspaces: taken on every card before a tensor is.
# llama.cpp has few libraries.
FIXED_BYTES, FIXED_BYTES_GGUF = 1.0e9, 0.5e9
# Share of the memory that a caching allocator can fill before fragments make it fail.
USABLE = 0.95
# A GPU that shares its memory with the processor gets about three quarters of it: so much Metal gives, and 96
# of 128 GB is the most that firmware of a Ryzen AI Max sets apart.
USABLE_SHARED = 0.75
# Values of a token between two layers beside those of a feed-forward layer, in widths of the model: the sum
# of all layers in 32 bits, results and what the next layer takes of them (prompts of 1 B and 8 B on an H200).
PASSING = 5.5
# Tokens of prompts that engines read at a time; transformers, which runs NF4, reads all of them.
CHUNK = 2048
# Bytes of a logit in training: 2 as computed, 4 widened, 4 of its gradient, 2 narrowed again.
LOGIT_BYTES, LOGIT_CHUNK_BYTES = 12, 1e9
# 4-bit layers keep a second copy of the input of products for their adapters.
QUANTISED_INPUTS = 1.3
# Bytes of a weight while it is widened from NF4 (numbers of 8, 32 and 64 bits, and the result): all experts'
# first product of one layer is at once, as `gpuwise bench` does it (25.3 GB of Qwen3 30B-A3B on an H200).
WIDENED_NF4 = 15
# Bytes a trained parameter beside its weight: gradient and two moments in the weight's own format (bf16, as
# single-GPU recipes have it), or 8-bit moments; adamw32: all of them and the weight in fp32, as in mixed
# precision. Paged: 8-bit moments in the host's memory, and each gradient is applied within the backward pass,
# so that the largest one alone is there. Adapters are trained in fp32.
STATE_BYTES = {"adamw": 2 + 4, "adamw8bit": 2 + 2, "adamw32": 2 + 4 + 8, "paged": 0}
ADAPTER_BYTES = {"adamw": 4 + 4 + 8, "adamw8bit": 4 + 4 + 2, "adamw32": 4 + 4 + 8, "paged": 4 + 4 + 2}
# Bytes a second between the host and a GPU, over which paged moments travel.
PAGED_BYTES_PER_S = 20e9
# Share of the bandwidth that decoding reaches; of the peak that decoding of many sequences, the scores of
# attention and, by the data sheet alone, a prompt and a training step reach.
READ_SHARE, PROMPT_SHARE, SCORES_SHARE, SHEET_SHARE = 0.85, 0.55, 0.45, 0.45
# Bytes a clock that a multiprocessor asks for: in llama.cpp, which runs GGUF formats, fewer than HBM could
# bring (103 public rows of 19 NVIDIA cards, as the share of the bandwidth at which it reads the cache and its
# layer); in other engines fewer than the memory of an H20 could, which has 78 (Qwen3's public speeds).
# Blackwell of the data centre asks for more than it has, but not where weights are unpacked, nor in dense
# products of FP4 (80 public speeds of Llama 3.1 70B on 1 to 8 B200). How sharply the lower of both decides.
ASKED_GGUF, ASKED, ASKED_TCGEN05, SOFTENED, CACHE_SHARE_GGUF = 6.0, 14.0, 56.0, 6.0, 0.42
# Seconds that a layer's kernels take beside what they move, in engines with fused kernels; of GGUF, AWQ and
# GPTQ at 2 GHz, which those grow against. NF4 is run by bitsandbytes in transformers, where the host launches
# each kernel: a desktop's, and a server's, which has the cards with HBM; more for several sequences.
LAYER_S, LAYER_S_GGUF, LAYER_S_INT4, LAYER_S_NF4, LAYER_S_NF4_HBM = 30e-6, 60e-6, 55e-6, 0.55e-3, 1.2e-3
# Operations a clock of a multiprocessor in llama.cpp's products of prompts: 22 public speeds of Llama 3 8B on
# 15 cards of three architectures have 310 to 390, of large parts of Ada 240.
PROMPT_GGUF = 340.0
# Cards with HBM wait longer for the router and gather of a mixture.
MIXTURE_S_HBM = 55e-6
# Weights that a multiprocessor unpacks from 4 bits in one cycle, and from NF4 into a copy of 16 bits, which
# is written and read for more than one sequence and in training.
UNPACKED, UNPACKED_NF4 = 14.0, 1.15
# Seconds of one all-reduce of a token's activations: over a link of the GPUs' own among any number, for each
# writes to all others at once, over PCIe for each doubling. Many tokens take their bytes' time, too.
REDUCE_S, REDUCE_PCIE_S = 12e-6, 35e-6
# Seconds of an engine's scheduler for each further sequence and for each step, as `serve` has them from
# measured servers.
SEQUENCE, STEP = "sequence.vllm", "step.vllm"
# How far below and above the estimate the 80 % interval reaches, as factors, over seen rows. Training is that
# of compiled steps or fused kernels; plain transformers take up to 1.7 times as long.
SPREAD = {"infer": (1.3, 1.3), "full": (1.75, 1.15), "lora": (1.75, 1.15), "qlora": (1.75, 1.15)}
SPREAD_NF4 = (1.8, 1.8)
# A mixture of experts in engines other than llama.cpp, on a card without HBM: no public row was found. Router
# and gather may take as long there as on cards with HBM.
SPREAD_MIXTURE = (2.0, 1.3)
# Of architectures without a measured GPU: the factor that has most public rows of eight such cards, and the
# share of the estimate that those reach in a PC that are not NVIDIA's (RDNA, Arc, Apple).
UNMEASURED, SPREAD_UNMEASURED = 0.75, (2.3, 2.3)
# Architectures of which steps were measured, but no language model: no GPU has a row in the public tables.
UNREAD = frozenset({"Pascal", "Volta"})


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
    # Layers are dealt out to GPUs that work one after the other, as llama.cpp and ExLlama do.
    dealt: bool = False
    checkpoint: bool = False
    chunked: bool = False  # The loss is computed for some tokens at a time.
    # Beside adapters, whose weights need no gradient, the gate's product is computed again.
    compiled: bool = False
    optimiser: Optimiser = "adamw"
    rank: int = 16  # Of adapters.
    chunk: int = CHUNK  # Tokens of prompts that pass at a time.
    memory_bytes: float = 0.0  # Of a chip that is sold with several sizes; 0 = the largest.

    @property
    def in_turn(self) -> bool:
        """Whether its GPUs work one after the other."""
        return self.dealt or self.weights in GGUF


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What a plan needs of each GPU, whether that is there, and the speed where it is."""

    plan: Plan
    gpu_id: str
    parts: tuple[tuple[str, float], ...] = ()  # Bytes on each GPU by what holds them.
    memory_bytes: float = 0.0  # Of one GPU as software shows it.
    fits: bool = False
    enough: int | None = None  # Where it does not fit: the fewest such GPUs on which it would, if any.
    tokens_per_s: Interval | None = None  # New ones in inference, trained ones in training.
    first_token_s: float | None = None
    basis: Basis = "spec-only"
    source: str = ""  # Public speeds that it rests on, where they are not of NVIDIA's cards.
    refusal: str = ""  # Why there is no speed for this GPU.
    product: str = ""  # The format that is multiplied.

    @property
    def replaced(self) -> bool:
        """Whether the GPU has no units for the format asked for: 8 and 4 bits are widened to 16, and fp16 or
        fp32 stands in for bf16."""
        weights, lacks = self.plan.weights, self.product not in ("", self.plan.weights.operand)
        if weights == Precision.BF16:  # Other makers' chips have no capability, and nothing is known of them.
            capability = catalog.get(self.gpu_id).text("compute_capability")
            return lacks and float(capability or "inf") < weights.capability
        return lacks and self.plan.task == "infer" and weights.operand in ("fp8", "fp4")

    @property
    def needed_bytes(self) -> float:
        """All parts together."""
        return sum(size for _, size in self.parts)


def fit(plan: Plan, gpu: str, *, prompt: bool = True) -> Fit:
    """The plan on GPUs of the catalog, `prompt`: with a first token. Raises InputError for an unknown GPU."""
    spec = catalog.find(gpu)
    if (size := plan.memory_bytes or (spec.memory_bytes or 0.0) / dies(spec.id)) == 0.0:
        return Fit(plan=plan, gpu_id=spec.id, refusal="its memory is that of the computer: --memory 128GB")
    parts = memory(plan)
    usable = USABLE_SHARED if spec.text("form") == "soc" else USABLE
    fits = sum(size for _, size in parts) <= usable * size
    answer = Fit(plan=plan, gpu_id=spec.id, parts=parts, memory_bytes=size, fits=fits)
    # Weights alone are in fp8 from Ampere on, whose products are in 16 bits.
    has, needs = float(spec.text("compute_capability") or "inf"), min(plan.weights.capability, 8.0)
    why = ""
    if has < needs and plan.weights.weight_bytes < 2:
        why = f"{plan.weights} runs from compute capability {needs} on, this is {has}"
    elif plan.weights in GGUF and not runs_llama_cpp(spec):
        why = f"llama.cpp has no backend for {spec.architecture}"
    elif plan.task == "infer" and plan.weights in SERVED and not runs_vllm(spec):
        other = "; llama.cpp does: --weights q4_k_m" * (has >= Precision.Q4_K_M.capability)
        why = f"vLLM does not run on {spec.architecture}{other}"
    if why:
        return replace(answer, fits=False, refusal=why)
    if not fits:
        return answer if plan.chunked or not plan.checkpoint else fit(replace(plan, chunked=True), gpu)
    first = None
    if plan.gpus > MOST:
        return replace(answer, refusal=f"the network between machines of {MOST} is not known")
    if plan.task == "infer" and not plan.in_turn and not plan.model.splits(plan.gpus):
        why = f"{plan.model.heads} heads are not split evenly over {plan.gpus} GPUs; GGUF deals out layers"
        return replace(answer, refusal=why)
    try:
        found = die(card(gpu, sheet=True))
        known = found.vendor == "NVIDIA" and is_measured(gpu) and found.family not in UNREAD
        if plan.task == "infer":
            seconds, first = decode_seconds(plan, found), prompt_seconds(plan, found) if prompt else None
        else:
            seconds = train_seconds(plan, found)
    except NoDataError as error:
        return replace(answer, refusal=str(error))
    tokens = plan.batch * (1 if plan.task == "infer" else plan.context * plan.gpus)
    speed, (below, above) = tokens / seconds, SPREAD[plan.task]
    if plan.task == "infer" and plan.weights == Precision.NF4:
        below, above = SPREAD_NF4
    elif plan.task == "infer" and plan.model.experts and plan.weights not in GGUF and not found.stacked:
        below, above = SPREAD_MIXTURE
    method, share, apart, seen = "data sheet", 1.0, 1.0, None
    # Public speeds of GPUs that work in turn are of one.
    if plan.task == "infer" and found.vendor != "NVIDIA" and (plan.gpus == 1 or not plan.in_turn):
        seen = reached(found, plan.weights, plan.batch)
    if seen is not None:
        share, below, above, apart, method = *seen[:4], "public speeds"
    elif not known:
        (below, above), method = SPREAD_UNMEASURED, "data sheet, nothing alike measured"
        share = 1.0 if found.vendor == "NVIDIA" else UNMEASURED
    speed, first = speed * share, first / share if first else None
    low = speed / below
    if plan.task == "infer" and plan.weights in SERVED and found.vendor == "NVIDIA":
        # Engines schedule the next step meanwhile, or after this one.
        low /= 1 + shipped_on("serving", found)[STEP] * low / plan.batch
    interval = Interval(value=speed, low=low, high=speed * above, level=0.8, method=method)
    interval = interval.within(apart)
    answer = replace(answer, tokens_per_s=interval, first_token_s=first, product=_operand(plan, found))
    return replace(answer, basis=seen.basis, source=seen.source) if seen else answer


class Reached(NamedTuple):
    """What engines reach of a prediction on a card that is not NVIDIA's, and how far from it 80 % lie."""

    share: float
    below: float
    above: float
    apart: float  # A card without a row of its own is within this factor of those that have one
    basis: Basis
    source: str


@lru_cache(maxsize=1)
def _public() -> Mapping[tuple[str, str], Mapping[str, str]]:
    """By use and architecture, as `evaluation.other_makers` derives and scores it: many sequences by
    vLLM in formats of which a speed is public, or one by llama.cpp. `share` is the geometric mean of measured
    over predicted; the interval holds what a model (served) or card (local) that is left out is off by."""
    return {(row["use"], row["architecture"]): row for row in catalog.rows(DATA / "software.csv")}


def reached(found: Card, weights: Precision, batch: int) -> Reached | None:
    """Of inference in that format; None where no speed like it is public for the architecture."""
    use, stored = ("local", "gguf") if weights in GGUF else ("served", str(weights))
    row = _public().get((use, found.family))
    if row is None or stored not in row["formats"].split() or batch > int(row["batch"]):
        return None
    own = found.id in row["cards"].split()
    share, below, above, others = (float(row[name]) for name in ("share", "below", "above", "others"))
    basis: Basis = "calibrated" if own else "transferred"
    return Reached(share, below, above, 1.0 if own else others, basis, f"{row['source']}, {row['date']}")


def plan_of(work: llm.Decoding, precision: Precision, batch: int, *, compiled: bool) -> Plan:
    """What is measured by the name of such work, as a plan: the loss is computed in chunks, a prompt at once,
    and a step of decoding finds its cache full."""
    trains = work.step in ("full", "lora", "qlora")
    return Plan(
        model=work.model, task=cast("Task", work.step) if trains else "infer", context=work.tokens,
        weights=Precision.NF4 if work.step == "qlora" else precision, batch=batch, chunked=trains,
        compiled=compiled,
        checkpoint=work.checkpointed, chunk=batch * work.tokens if work.step == "prefill" else 1,
    )  # fmt: skip


@lru_cache(maxsize=2**12)  # Of one plan on many GPUs
def memory(plan: Plan) -> tuple[tuple[str, float], ...]:
    """Bytes on each GPU by what holds them. Raises InputError for formats that cannot be trained."""
    m, gpus = plan.model, plan.gpus
    weights, fixed = llms.stored_bytes(m, plan.weights), FIXED_BYTES
    if plan.weights in GGUF:
        fixed = FIXED_BYTES_GGUF
        weights -= ((0 if m.tied else m.embedding) + m.table) * plan.weights.head_bytes
    if plan.task == "infer":
        kept, prompts = cache_bytes(plan), plan.batch * plan.context
        rows = prompts if plan.weights == Precision.NF4 else max(plan.batch, min(prompts, plan.chunk))
        passing = (
            2 * rows * (PASSING * m.hidden + 3 * llm.inner_width(m) / gpus) + 6 * plan.batch * m.vocabulary
        )
        parts = {"weights": weights / gpus, "cache": kept, "activations": passing}
    else:
        if plan.task == "full" and plan.weights not in (Precision.BF16, Precision.FP16):
            raise InputError(
                f"all weights cannot be trained in {plan.weights}", hint="bf16, or the task qlora"
            )
        tokens, trained = plan.batch * plan.context, m.parameters
        state = STATE_BYTES[plan.optimiser] * m.parameters
        if plan.task != "full":
            trained = llm.adapter_parameters(m, plan.rank)
            state = ADAPTER_BYTES[plan.optimiser] * trained
        if plan.task == "full" and plan.optimiser == "paged":
            state = STATE_BYTES["adamw8bit"] * m.embedding
        kept = llm.activation_bytes(m, plan.batch, plan.context)
        if plan.compiled and plan.task != "full":
            kept -= 2.0 * tokens * m.layers * llm.inner_width(m)
        kept *= QUANTISED_INPUTS if plan.weights.weight_bytes < 1 else 1.0
        logits = float(LOGIT_BYTES * tokens * m.vocabulary)
        experts = plan.weights.weight_bytes < 1 and m.experts
        if plan.checkpoint:
            kept = 2.0 * tokens * m.hidden * m.layers + kept / m.layers
        elif experts:  # The wide copies wait for their gradients.
            kept += 2.0 * m.expert_layers * experts * m.expert
        kept += WIDENED_NF4 * experts * (1 + m.gated) * m.expert_inner * m.hidden
        if plan.chunked:
            logits = min(logits, LOGIT_CHUNK_BYTES)
        # FSDP gathers two layers at a time beside its own part.
        gathered = 2 * weights / m.layers if gpus > 1 else 0.0
        parts = {
            "weights": weights / gpus + gathered, "gradients and optimiser": state / gpus,
            "activations": kept, "logits": logits,
        }  # fmt: skip
    return (*parts.items(), ("driver and libraries", fixed))


def cache_bytes(plan: Plan) -> float:
    """Bytes of cache on each GPU, which has some layers or, of all layers, some heads of keys."""
    whole = plan.batch * plan.model.cache_values(plan.context) * plan.cache.weight_bytes
    return whole / (plan.gpus if plan.in_turn else plan.model.cache_parts(plan.gpus))


def decode_seconds(plan: Plan, found: Card) -> float:
    """One token of every sequence, whose caches hold the whole context."""
    m, in_gguf, gpus = plan.model, plan.weights in GGUF, 1 if plan.in_turn else plan.gpus
    read = llms.weight_bytes(m, plan.weights) * m.read(plan.batch) / m.parameters
    cache = cache_bytes(plan) * plan.gpus / gpus
    in_fp4 = plan.weights.operand == "fp4" and not widened(plan, found)  # Products take it as it is
    narrow = plan.weights.weight_bytes < 1 and not (in_fp4 and m.experts)
    asked = ASKED_GGUF if in_gguf else ASKED if narrow or found.engine != "tcgen05" else ASKED_TCGEN05
    asked *= found.units * found.clock_hz
    reached = float(((READ_SHARE * found.bytes_per_s) ** -SOFTENED + asked**-SOFTENED) ** (-1.0 / SOFTENED))
    cached = CACHE_SHARE_GGUF if in_gguf else READ_SHARE
    moved = read / gpus / reached + cache / (cached * found.bytes_per_s)
    flop = plan.batch * (2.0 * m.active + m.attention_flop(plan.context, decode=True))
    computed = flop / gpus / (PROMPT_SHARE * found.peak(_operand(plan, found)))
    unpacked, layer = 0.0, LAYER_S
    cycles = m.read(plan.batch) / gpus / (found.units * found.clock_hz)
    if plan.weights == Precision.NF4:
        unpacked = cycles / (UNPACKED if plan.batch == 1 else UNPACKED_NF4)
        if plan.batch > 1:
            moved += 2 * 2 * m.read(plan.batch) / gpus / reached
        launched = LAYER_S_NF4_HBM if found.stacked else LAYER_S_NF4
        return max(moved, computed, unpacked, m.layers * launched * (1 if plan.batch == 1 else 1.45))
    if in_gguf:
        layer = LAYER_S_GGUF * 2e9 / found.clock_hz
    elif plan.weights.weight_bytes < 1 and not in_fp4:
        # Experts are unpacked within the one product of all of them, behind its reads.
        dense = 1 - m.expert_layers / m.layers
        unpacked = dense * cycles / UNPACKED
        layer += dense * (LAYER_S_INT4 * 2e9 / found.clock_hz - layer)
    if found.stacked and not in_gguf:
        layer += MIXTURE_S_HBM * 2e9 / found.clock_hz * m.expert_layers / m.layers
    if gpus > 1:  # a layer has two all-reduces
        width, link = bus(found.id, gpus)
        latency = REDUCE_PCIE_S * log2(gpus) if link.startswith("PCIe") else REDUCE_S
        layer += 2 * (latency + 2 * (gpus - 1) / gpus * 2 * plan.batch * m.hidden / width)
    seconds = max(moved, computed, unpacked) + m.layers * layer
    return seconds if in_gguf else seconds + (plan.batch - 1) * shipped_on("serving", found)[SEQUENCE]


def prompt_seconds(plan: Plan, found: Card) -> float:
    """The whole context as one prompt, read by all GPUs: the time to the first token of one sequence."""
    m, tokens, dtype = plan.model, plan.context, _operand(plan, found)
    seconds = _pass_seconds(m, tokens, plan.gpus, found, dtype, min(2.0, plan.weights.weight_bytes))
    if plan.weights in GGUF:
        flop = 2.0 * (m.active - m.embedding) * tokens / plan.gpus
        seconds = max(seconds, flop / (PROMPT_GGUF * found.units * found.clock_hz))
    seconds += m.causal_flop(tokens) * tokens / plan.gpus / (SCORES_SHARE * found.peak(dtype))
    seconds += 2 * llm.other_values(m) * tokens / plan.gpus / (READ_SHARE * found.bytes_per_s)
    return seconds + m.layers * LAYER_S


def train_seconds(plan: Plan, found: Card) -> float:
    """One step over the batch of each GPU: forward, backward and, with checkpointing, forward again."""
    m, tokens, dtype = plan.model, plan.batch * plan.context, _operand(plan, found)
    full, bandwidth = plan.task == "full", READ_SHARE * found.bytes_per_s
    # Of frozen weights no gradient is computed: their backward pass costs once forward.
    passes, forward = 3 if full else 2, 3 + plan.checkpoint
    seconds = (passes + plan.checkpoint) * _pass_seconds(m, tokens, 1, found, dtype, 2.0)
    # The head is not computed again.
    seconds += passes * _products_seconds(((1, 1, tokens, m.vocabulary, m.hidden),), found, dtype, 2.0)
    seconds += forward * m.causal_flop(plan.context) * tokens / (SCORES_SHARE * found.peak(dtype))
    values = forward * llm.other_values(m) + (5 if full else 4) * m.vocabulary
    if not full:  # An adapter reads what its product reads, and is added to what that wrote; so in backward.
        values += 1.5 * forward * llm.linear_values(m)
    seconds += 2 * values * tokens / bandwidth
    if plan.weights.weight_bytes < 1:  # Each pass unpacks all weights into a copy of 16 bits.
        seconds += (passes + plan.checkpoint) * m.parameters / (found.units * found.clock_hz * UNPACKED_NF4)
    trained = m.parameters if full else llm.adapter_parameters(m, plan.rank)
    state = (2 + STATE_BYTES[plan.optimiser]) if full else ADAPTER_BYTES[plan.optimiser]
    seconds += 2 * trained * state / plan.gpus / bandwidth
    if full and plan.optimiser == "paged":  # Some come in while others go back.
        seconds += 2 * trained / plan.gpus / PAGED_BYTES_PER_S
    if plan.gpus > 1:
        # Weights are gathered twice and gradients scattered once, hidden behind longer products.
        width = bus(found.id, plan.gpus)[0]
        moved = 3 * llms.weight_bytes(m, plan.weights) * (plan.gpus - 1) / plan.gpus / width
        seconds = max(seconds, moved) + 0.1 * min(seconds, moved)
    return seconds


def _pass_seconds(m: LanguageModel, tokens: int, gpus: int, found: Card, dtype: str, size: float) -> float:
    """Seconds of one pass of so many tokens through the products of all layers, each of which `gpus` share;
    `size` is the bytes of a weight."""
    work: list[tuple[float, ...]]
    work = [(m.layers - m.mixers, 1, tokens, sum(parts) / gpus, k) for k, parts in m.attention_products]
    work += [(m.mixers, 1, tokens, m.mixer / m.hidden / gpus, m.hidden)]
    work += [(1, 1, tokens, max(0, m.extra) / m.hidden / gpus, m.hidden)]
    met = max(1.0, m.experts * m.touched(tokens))
    for layers, count, rows, width in (
        (m.dense_layers, 1, tokens, m.inner), (m.expert_layers, 1, tokens, m.shared_inner),
        (m.expert_layers, met, tokens * m.chosen / met, m.expert_inner),
    ):  # fmt: skip
        work += [(layers, count, rows, (1 + m.gated) * width / gpus, m.hidden)]
        work += [(layers, count, rows, m.hidden, width / gpus)]
    return _products_seconds(tuple(each for each in work if all(each)), found, dtype, size)


@lru_cache(maxsize=2**12)
def _products_seconds(work: tuple[tuple[float, ...], ...], found: Card, dtype: str, size: float) -> float:
    """Seconds of products, each so many times (count, batch, m, n, k): as `step` predicts them, or by the
    data sheet of cards like which none was measured."""
    counts, b, m, n, k = np.array(work).T
    if not is_measured(found.id):
        return float(counts @ (2.0 * b * m * n * k)) / (SHEET_SHARE * found.peak(dtype))
    products = Products(b=b, m=m, n=n, k=k, size=np.full_like(m, size), out=np.full_like(m, 2.0))
    return float(counts @ product_alone(products, found, usual(found), dtype))


def widened(plan: Plan, found: Card) -> bool:
    """Whether the card has no units for the format, so that weights are widened to 16 bits in the product."""
    return plan.weights.operand not in found.peaks


def _operand(plan: Plan, found: Card) -> str:
    """The format that is multiplied: that of the weights, or what they are widened to."""
    if plan.task == "infer" and not widened(plan, found):
        return plan.weights.operand
    return next((each for each in ("bf16", "fp16") if each in found.peaks), "fp32")
