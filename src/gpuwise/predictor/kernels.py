"""What a step computes: its kernels by class, with shapes, operations and bytes; and as arrays, which are
made once of a trace and then priced on every card.

Kernels of one kind and format form a group, which is timed as a whole; convolutions are implicit products
(Chetlur et al. 2014, "cuDNN"): pixels x output channels x (input channels x window).

Fused attention, where groups of warps feed the matrix units, is tiles of queries that meet key after key. A
unit takes 128 queries of one head, also where there are fewer, and multiplies and exponentiates in turn:

    one tile   (keys + 93) x 128 x (4 x width / rate + exponentials / 16 a clock)
    a kernel   its tiles, dealt to the units in whole waves

so that decoding, which has few tiles and splits none, waits for the longest. Backward two tiles of 64 keys at
a time meet query after query, whose gradient is added in fp32. 16 exponentials a clock and unit are stated
(NVIDIA, "CUDA C++ programming guide"); the 93 keys, backward 220 queries, in whose time a tile starts and
ends were set on 141 profiled kernels of H200s and H100s, what dropout adds on the project's own H200.

Each kernel has a class, of which was measured on one card how it departs from physics that every card shares:

    t = launch x latency + ((arithmetic x A)^p + (vector x V)^p + (memory x M)^p)^(1/p)

    arithmetic   seconds of the matrix units by the model of tiles (`step.product_seconds`, attention)
    vector       seconds in which each lane of the vector units handles one element, or one multiply-add of a
                 convolution that matrix units do not compute
    memory       seconds of its bytes at the bandwidth that copies reach, from L2 where they fit there

A, V, M and the number of latencies are data (`data/classes.csv`, `evaluation.predict.classes`). A class is a
path from the general to the special: what was never measured has those of the most special part that was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpuwise.facts import catalog
from gpuwise.model.result import grouped
from gpuwise.predictor.card import Card

Array = NDArray[np.float64]
DATA = Path(__file__).with_name("data") / "classes.csv"
# Of gpuwise's own decoding kernels, fitted apart: no network has them.
OWN = DATA.with_name("decoding.csv")
HALF = frozenset({"bf16", "fp16"})
FULL = frozenset({"fp32", "tf32"})
# Channels up to which an image is a picture: libraries have kernels of their own for the first layer.
PICTURE = 4
# Of a window, whose places in depth count as channels.
PICTURE_PARTS = 3
# Elements of a row of 16 bits that a load of 16 bytes takes: rows of other lengths have slower kernels.
ALIGNED = 8
# How names of products end whose rows in memory are multiples of so many elements only.
ALIGNED_BY = ":by"
# Rows or columns of products up to which a tile is mostly empty.
TINY = 16
# Rows or columns up to which a product is a read of the other operand.
THIN = 64
# Windows from which direct convolutions are limited by arithmetic, as a name.
WINDOWS = ((3, "small"), (5, "medium"), (7, "large"))
# Rows from which torch sums them in parts (aten/src/ATen/native/cuda/layer_norm_kernel.cu).
MANY_ROWS = 2**16
# Dimensions from which finding the place of an element takes longer than moving it.
DEEP = 5
# Channels of a group up to which libraries have kernels of their own, as a name: of powers of two alone.
GROUPS = ((4, "least"), (8, "tiny"), (32, "narrow"))
# Groups of other widths that cuDNN cuts out and convolves one by one; where they are more it fills each up to
# a power of two. Both take longer than the product (profiles of RepVGG and RegNet on an H100).
LOOPED = 4
PUTS = ("backward", "scatter", "put", "_add", "_reduce", "unpool")
ORDERED = frozenset({
    "sort", "topk", "histc", "bincount", "nonzero", "masked_select", "_unique2", "cummax", "cummin", "cumsum",
    "cumprod", "multinomial", "logcumsumexp", "kthvalue", "median", "nanmedian", "mode",
})  # fmt: skip
LIBRARY = frozenset({"matmul", "convolution", "attention"})
# What no code is generated for (torch/_inductor/lowering.py, fallbacks): torch's own kernels.
FALLBACKS = ("aten.topk", "aten.sort", "aten.histc", "aten.nonzero", "aten.masked_select", "aten._unique2",
             "aten.multinomial", "aten._embedding_bag", "aten._fft_", "aten.bincount", "aten.index_reduce",
             "aten._thnn_fused", "aten.kthvalue", "aten.median", "aten.nanmedian", "aten.mode",
             "aten.grid_sampler_2d_backward")  # fmt: skip
# Bytes of a row that one block puts in order in one kernel (aten/src/ATen/native/cuda/Sort.cu), or generated
# code in its registers (torch/_inductor/ir.py, Sort), as a token's experts. Longer rows take several passes.
FEW_BYTES = 4096
# Passes of norms and reductions down columns, and of norms whose statistics are known.
DOWN = frozenset({"columns", "statistics", "bias", "weight"})
EACH = frozenset({"infer", "apply", "input"})
IMAGE = 4  # Dimensions of images
# Operators that take many instructions an element.
MANY = frozenset(
    {"gelu", "silu", "elu", "mish", "tanh", "sigmoid", "hardswish", "hardsigmoid", "sin", "exp", "erf", "pow"}
)
# How names of gpuwise's own decoding kernels begin (`decoding`).
DECODES = "decode."


KernelClass = Literal[
    "matmul", "convolution", "attention", "normalisation", "pointwise", "reduction", "gather", "optimiser",
    "collective", "copy",
]  # fmt: skip
Phase = Literal["forward", "backward", "optimiser"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel of a step, or `count` equal ones."""

    kind: KernelClass
    name: str  # The operator, as torch names it ("aten.mm"); for a fused chain its first and last
    dtype: str  # Format of the operands that are multiplied or moved: fp32, tf32, fp16, bf16, fp8, int8
    shape: tuple[int, ...]
    """matmul: (batch, m, n, k). convolution: (images, channels in, height, width, channels out,
    kernel height, kernel width, stride, groups, output height, output width). attention: (batch,
    heads, queries, keys, head width, kv heads). Others: the shape of the output."""
    flop: float  # Operations of one, a multiply-add counted as two
    bytes_read: float
    bytes_written: float
    phase: Phase
    count: int = 1
    fused: int = 1  # Operators that this kernel replaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of device memory of a step, from the lifetimes of its tensors."""

    parameters: float
    gradients: float
    gradient_count: float = 0.0  # By number: one of each parameter that learns
    optimiser: float
    peak: float  # Highest sum of live tensors, after the caching allocator's rounding; without context
    largest: float  # Largest single tensor: the workspace and fragmentation grow with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One step of one workload."""

    workload: str
    version: int
    mode: str
    precision: str
    batch: int
    compiled: bool
    item: str
    items: float  # Items of throughput that one step handles
    parameters: int
    kernels: tuple[Kernel, ...]
    memory: Memory | None = None
    unknown: tuple[str, ...] = ()  # Operators of which no cost is known; their time is missing
    known: float = 1.0  # Share of the work in operators of known cost, of the pass that has the least of it
    notes: tuple[str, ...] = ()  # What was assumed where the course of the step depends on data
    # What the host does in an eager step: operators that it dispatches in each phase, views included,
    # `modules` that it enters, and `functions` of Python before the backward pass; nothing where a trace was
    # kept before this was counted.
    calls: tuple[tuple[str, int], ...] = ()
    replayed: bool = False  # From a CUDA graph: the host launches no kernel of the passes

    def __hash__(self) -> int:
        """Of its name alone: hashing every kernel would take longer than what is remembered of it."""
        return hash((self.workload, self.mode, self.precision, self.batch, self.compiled, len(self.kernels)))

    @property
    def from_graph(self) -> bool:
        """Whether a CUDA graph replays it, as compiled decoding always is."""
        return self.replayed or (self.compiled and self.mode == "infer" and self.item == "token")

    @property
    def flop(self) -> float:
        """Operations of the step."""
        return sum(kernel.flop * kernel.count for kernel in self.kernels)

    @property
    def launches(self) -> int:
        """Kernels that the step launches."""
        return sum(kernel.count for kernel in self.kernels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known of one class."""

    arithmetic: float
    vector: float
    memory: float
    latency: float
    spread: float  # Standard deviation of log(measured / fitted) of kernels that are not among those fitted
    rows: int


def path(kernel: Kernel, *, compiled: bool) -> tuple[str, ...]:
    """The class of a kernel, from the general to the special."""
    if kernel.name.startswith(DECODES):
        return ("decode", *({kernel.name.partition(":")[0]: None, kernel.name: None}))
    parts: list[str]
    if convolves(kernel):
        parts = _convolution(kernel, compiled=compiled)
    elif kernel.kind == "matmul":
        parts = _product(kernel, compiled=compiled)
    elif kernel.kind == "attention":
        fused, way = "efficient" if "_efficient" in kernel.name else "flash", ["forward"]
        if "_backward" in kernel.name:
            way = ["backward"]
        elif fused == "flash" and kernel.shape[2] <= FEW:
            way = ["few", "one"][: 2 if kernel.shape[2] == 1 else 1]
        parts = [fused, *way, *(["masked"] if ":masked" in kernel.name else []), _width(kernel)]
    elif (
        compiled
        and kernel.phase != "optimiser"
        and (not kernel.name.startswith(FALLBACKS) or (kernel.name == "aten.sort" and _few(kernel)))
    ):
        return _generated(kernel)
    else:
        parts = kernel.name.removeprefix("aten.").replace("_:", ":").rstrip("_").split(":")
        # What is read from scattered places is cached, what is added to them is serialised; an order is made
        # in many passes, a sum in one.
        if kernel.kind == "gather":
            if _row_taken(kernel):
                parts = ["embedding"]
            parts.insert(0, "put" if any(word in parts[0] for word in PUTS) else "taken")
        elif kernel.kind == "reduction" and parts[-1] == "across" and kernel.dtype in HALF:
            parts = ["across"]  # one by one, whatever is made of them
        elif kernel.kind == "reduction" and parts[0] in ORDERED:
            parts[:0] = ["ordered", "few"] if _few(kernel) else ["ordered"]
        # Gradients of a norm's weights: one block goes down all rows of its columns, or several share them.
        if "layer_norm_backward" in parts[0] and "weight" in parts[1:]:
            parts.append("shared" if math.prod(kernel.shape[:-1]) > MANY_ROWS else "alone")
        if "strided" in parts and sum(size > 1 for size in kernel.shape) >= DEEP:
            parts.append("deep")
        parts.append(_width(kernel))
    return (kernel.kind, *(" ".join((kernel.kind, *parts[: i + 1])) for i in range(len(parts))))


def _generated(kernel: Kernel) -> tuple[str, ...]:
    """The class of generated code: whether it goes down columns, along rows or from element to element, and
    whether one takes many instructions. In inference batch norm has a root and a division for every element,
    activations an error function or an exponential, beside which 16-bit tensors' bytes hardly count."""
    operators = [part.partition(":") for part in kernel.name.removeprefix("aten.").split("+")]
    passes = {end for *_, ends in operators for end in ends.split(":")}
    names = {name for name, *_ in operators}
    image = len(kernel.shape) == IMAGE  # whose channels are summed up apart from each other, as columns are
    if passes & DOWN or (image and "mean" in names):
        form = "columns"
    elif kernel.kind in ("normalisation", "reduction") and not passes & EACH:
        form = "window" if any("pool" in name for name in names) else "rows"
    else:
        form = kernel.kind if kernel.kind in ("copy", "gather") else "map"
    many = "infer" in passes or any(name.rstrip("_").removesuffix("_backward") in MANY for name in names)
    known = "norm" if "statistics" in passes else "many" if many and form in ("map", "columns") else ""
    return ("compiled", f"compiled {form}", *([f"compiled {form} {known}"] if known else []))


def _few(kernel: Kernel) -> bool:
    """Whether the rows that are put in order are short."""
    each = kernel.bytes_read / max(1, math.prod(kernel.shape[:-1]))
    return kernel.name.startswith(("aten.sort", "aten.topk")) and each <= FEW_BYTES


def _width(kernel: Kernel) -> str:
    if "batch_norm" in kernel.name and kernel.dtype == "fp16":
        return "full"  # cuDNN's, as in fp32; of bf16 torch has its own
    return "half" if kernel.dtype in HALF else kernel.dtype if kernel.kind in LIBRARY else "full"


def _convolution(kernel: Kernel, *, compiled: bool) -> list[str]:
    _, channels, image_high, image_wide, outputs, high, wide, stride, groups, *_ = kernel.shape
    suffixes, inner = kernel.name.split(":")[1:], list[str]()
    direction = next((part for part in ("input", "weight") if part in suffixes), "forward")
    window = max(high, wide)
    special = [part for part in suffixes if part in ("1d", "3d", "transposed")]
    if groups > 1:
        size = next((word for most, word in WINDOWS if window <= most), "huge")
        each = channels // groups
        width = next((word for most, word in GROUPS if each <= most), "wide")
        if window > WINDOWS[-1][0]:
            width = "long"
        elif rearranged(kernel.shape):
            width = ("odd" if each % ALIGNED else "uneven") + (" few" if groups <= LOOPED else "")
        what = [f"depthwise {size}" if groups == channels else f"grouped {width}"]
    elif channels <= (PICTURE_PARTS * PICTURE if "3d" in special else PICTURE):
        # Patches have a window as wide as the stride; libraries have a kernel for small windows.
        size = next((word for most, word in WINDOWS if window <= most), "huge")
        inner = ["patch" if window == stride else size]
        what = ["picture"]
    elif image_high == image_wide == 1:
        what = ["pixel"]  # as in squeeze and excitation: a product with as many rows as images
    elif channels % ALIGNED or outputs % ALIGNED:
        what, inner = ["odd"], [] if special else ["point" if window == 1 else "window"]
    else:
        what = ["point" if window == 1 else "window"]
    # cuDNN has Winograd's method, of fewer multiplications, for fp32 images of channels first; forward its
    # heuristics do not take it (profiles of four networks), a search among its algorithms does.
    layout = "nchw" if channels_first(kernel.name, compiled=compiled) else "nhwc"
    fewer = what == ["window"] and (layout, kernel.dtype) == ("nchw", "fp32") and not special
    fewer = fewer and DIRECT[1:] not in suffixes
    method = ["winograd"] if fewer and (high, wide, stride) == (3, 3, 1) else []
    return [" ".join((*what, *special)), *inner, direction, f"{layout} {_width(kernel)}", *method]


def channels_first(name: str, *, compiled: bool) -> bool:
    """Whether the operands of a convolution of this name lie so when it runs: a compiler brings images to
    channels last once for a whole network; lines and volumes have no such order."""
    suffixes = name.split(":")
    return "1d" in suffixes or "3d" in suffixes or ("nchw" in suffixes and not compiled)


def _product(kernel: Kernel, *, compiled: bool) -> list[str]:
    if "_rnn" in kernel.name:
        part = next((each for each in (STEP, HELD) if kernel.name.endswith(each)), ":rows")
        return ["recurrent", part[1:], _width(kernel)]
    if len(kernel.shape) != 4:
        return [_width(kernel)]
    batch, m, n, k = kernel.shape
    aligned = _aligned(kernel, compiled=compiled)
    form = "grouped" if EXPERTS in kernel.name and batch > 1 else "single"
    if form == "single" and batch > 1:
        form = "batched" if min(m, n) > TINY else "batched tiny"
    elif form == "single" and min(m, n) <= THIN:
        form = "thin"
    if aligned >= ALIGNED:
        return [_width(kernel), form, "aligned"]
    # Where only rows of the result are uneven, sums over whole rows of both operands are slower still.
    whole = kernel.phase == "forward" and power_of_two(k) == ALIGNED
    return [_width(kernel), form, f"by {aligned}", *(["result"] if whole else [])]


def _aligned(kernel: Kernel, *, compiled: bool) -> int:
    """Elements of the rows of a product that are loaded at once."""
    _, m, n, k = kernel.shape
    # Which sizes are rows in memory, where the name does not say: k in the forward pass, k or m backward.
    rows = max(power_of_two(m), power_of_two(k)) if kernel.phase == "backward" else power_of_two(k)
    _, _, stated = kernel.name.partition(ALIGNED_BY)
    # A compiler fills rows up to whole loads (`torch._inductor.config.shape_padding`).
    return ALIGNED if compiled else min(power_of_two(n), rows, int(stated or ALIGNED))


def power_of_two(size: int) -> int:
    """The largest one that divides it, up to `ALIGNED`: whole loads of 16 bytes need no more, and single
    elements are not loaded in rows."""
    return min(ALIGNED, size & -size) if size > 1 else ALIGNED


@cache
def table() -> Mapping[str, Measured]:
    """Class -> what was measured of it."""
    return {
        row.pop("class"): Measured(rows=int(row.pop("rows")), **{k: float(v) for k, v in row.items()})
        for row in (*catalog.rows(DATA), *catalog.rows(OWN))
    }


def known(steps: Sequence[str]) -> Measured:
    """The most special class of a path that was measured."""
    found = table()
    return next((found[name] for name in reversed(steps) if name in found), found["any"])


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of kernels as arrays."""

    arithmetic: Array
    vector: Array
    memory: Array
    latency: Array
    spread: Array
    which: NDArray[np.intp]  # A number for each class: kernels of one class err together


def factors(kernels: Sequence[Kernel], measured: Mapping[str, float], *, compiled: bool) -> Array:
    """What an owned card's own measurements say of each kernel: the factor on its predicted time of the most
    special class of its path that is among `measured`, else 1."""
    paths = (path(kernel, compiled=compiled) for kernel in kernels)
    return np.array([next((measured[n] for n in reversed(p) if n in measured), 1.0) for p in paths])


def of_kernels(kernels: Sequence[Kernel], *, compiled: bool) -> Classes:
    """What was measured of the class of each kernel."""
    found = [known(path(kernel, compiled=compiled)) for kernel in kernels]
    _, which = np.unique([id(each) for each in found], return_inverse=True)
    names = ("arithmetic", "vector", "memory", "latency", "spread")
    columns = {name: np.array([getattr(each, name) for each in found], dtype=float) for name in names}
    return Classes(**columns, which=which)


# How matrix units are fed on cards with such kernels: cuDNN's, which torch takes there in 16 bits.
ENGINES = frozenset({"wgmma", "tcgen05"})
# Operators that are one such kernel there.
FUSED = ("_flash_attention", "_cudnn_attention")
# Of what a unit takes at a time and of what that meets, forward and backward; widths of heads are filled up.
_TAKEN, _BACKWARD_TILES, _MET, _WIDTH = 128.0, 2.0, (128.0, 64.0), 64.0
# Numbers of a head that cuDNN loads at once (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp): heads of
# other widths torch fills up for the kernels by single warps.
_LOADED = 8
# Keys, backward queries, in whose time a tile starts and ends.
_EDGES = (93.0, 220.0)
# Bytes of an element of the queries' gradient that is set to zero, added to and narrowed.
_SUMMED = 12.0
# A clock and unit.
_EXPONENTIALS = 16.0
_BACKWARD_PASS = 2.5
# Exponentials in whose time a value is drawn for dropout, set on the project's own H200.
_RANDOM = 2.0
# Few queries, as in decoding, fit one of a program's two groups of warps, so no products of the other hide
# its exponentials (12 nanoseconds a key and head of 128 on an H200, 9 of 64; measured with four queries).
# The keys of a single query are dealt to all units.
FEW, _GROUP, _ALONE = 16, 0.5, 1.6
# How names of attention end that is masked, or drops.
CAUSAL, DROPOUT = ":causal", ":dropout"


@dataclass(frozen=True, slots=True)
class Tiles:
    """Attention kernels as arrays."""

    fused: NDArray[np.bool_]  # Which of the kernels are one of cuDNN's
    number: Array
    multiplied: Array  # Operations of one tile
    waited: Array  # Exponentials of one tile, and what takes as long
    dealt: NDArray[np.bool_]  # Which of the tiles all units share


def tiles(kernels: Sequence[Kernel], shapes: Array) -> Tiles:
    """The tiles of attention kernels; `shapes` has a row (batch, heads, queries, keys, head width, kv heads)
    for each."""
    batch, heads, queries, keys, width, _ = shapes.T
    names = [kernel.name for kernel in kernels]
    backward, causal, dropped = (
        np.array([word in name for name in names]) for word in ("_backward", CAUSAL, DROPOUT)
    )
    few = ~backward & (queries <= FEW)
    taken, along = np.where(backward, (keys, queries), (queries, keys))
    block, edges = (np.where(backward, back, ahead) for ahead, back in (_MET, _EDGES))
    parts = np.where(backward, _BACKWARD_TILES, 1.0)
    blocks = np.ceil(along / block) * block
    met = np.where(causal, (blocks + block) / 2.0, blocks) + edges
    pairs = _TAKEN * met * np.where(backward, _BACKWARD_PASS, 1.0)
    return Tiles(
        fused=np.array([any(word in name for word in FUSED) for name in names]) & (width % _LOADED == 0),
        number=batch * heads * np.ceil(taken * parts / _TAKEN) / parts,
        multiplied=4.0 * np.ceil(width / _WIDTH) * _WIDTH * pairs * np.where(few, _GROUP, 1.0),
        waited=pairs * np.where(few, _ALONE, 1.0) + dropped * _RANDOM * _TAKEN * met,
        dealt=few & (queries == 1.0),
    )


def tile_seconds(work: Tiles, card: Card, flop_per_s: float) -> Array:
    """Seconds of each kernel on a card whose products reach `flop_per_s`."""
    one = work.multiplied * card.units / flop_per_s + work.waited / (_EXPONENTIALS * card.clock_hz)
    return np.asarray(np.where(work.dealt, rounds := work.number / card.units, np.ceil(rounds)) * one)


Places = NDArray[np.intp]
# Operations that a card does in the time of a byte from memory; of usual cards 50 to 300.
INTENSITY = 100.0
KEPT_TRACES = 1024
# Kinds with arithmetic that counts, and the length of their shapes.
_SHAPES: Mapping[str, int] = {"matmul": 4, "convolution": 11, "attention": 6}
# How operators are called that multiply rows by the experts which a router chose.
EXPERTS = "_grouped_mm"
# Operators whose result the host needs before it goes on.
_WAITS = frozenset({"aten.nonzero", "aten.item", "aten._local_scalar_dense"})
# Of the rate of attention by single warps that its backward pass reaches: five products for two, and sums
# that blocks share (Dao 2023, "FlashAttention-2": up to 63 % of the peak against 73 %; less if short).
_BACKWARD = 0.75
# Queries, keys and width of a head that it computes whole; decoding has fewer queries.
_BLOCK = (128.0, 64.0, 32.0)
# Norms along rows, and rows taken by whole loads, have a block each; elements that its threads load at once.
_ROW_NORMS, _ROW = ("layer_norm", "rms_norm"), 512.0
# Elements of a row in whose time the shortest is put in order.
_ORDERED_ROW = 64.0
_ROWS_TAKEN = ("aten.embedding", "aten.index_select", "aten.index:rows")
# Places of the result that keep one unit busy in interpolation: a thread each, which waits some 600 clocks
# for the memory at every image and channel. Set on one operator and one network's dev profile of the H200.
_PLACES = 1500.0
# Of an element; whole numbers and truths have others.
BYTES: Mapping[str, float] = {
    "fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5,
}  # fmt: skip
# How names of convolutions end whose tensors are in that order, and which cuDNN computes with all
# multiplications: its algorithm was not searched for, or its window has gaps, which Winograd's method lacks.
CHANNELS_FIRST, DIRECT = ":nchw", ":heuristic"
# Rows and columns of a product's tile that its threads load one by one.
_TILE = 128
# Threads of a block of a norm; bytes that L2 still has when they were just written, 50 MB of an H200's.
_NORM_THREADS, _NEAR = 512, 2**24
# How names of kernels end that add rows by indices.
SORTED = ":sorted"
# How names of the products of cuDNN's recurrent networks end that wait for the place before: one launched for
# each place, and those of one kernel for all places.
STEP, HELD = ":step", ":held"
# Running sums; along rows torch gives each a block of 512 threads, two elements a thread, where rows are more
# than elements in one (aten/src/ATen/native/cuda/ScanUtils.cuh: its number of threads is a difference of
# logarithms without a sign).
SCANS, ALONG_ROWS, _SCANNED = frozenset({"aten.cumsum", "aten.cumprod", "aten.logcumsumexp"}), ":along", 1024


@dataclass(frozen=True, slots=True)
class Products:
    """Matrix products as arrays; `size` is the bytes of an operand's element, `out` of the result's."""

    b: Array
    m: Array
    n: Array
    k: Array
    size: Array
    out: Array

    @property
    def moved(self) -> Array:
        """Bytes of operands and result, each once."""
        return self.b * self.size * (self.m * self.k + self.k * self.n) + self.written

    @property
    def written(self) -> Array:
        """Bytes of the result."""
        return self.b * self.out * self.m * self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Kernels that are timed alike."""

    kind: str  # A kind with arithmetic, or "" for those that only move bytes
    dtype: str
    at: Places  # Where they stand in the step
    flop: Array
    products: Products | None = None  # What a matmul or a convolution multiplies
    tiles: Tiles | None = None  # Of attention in 16 bits, where groups of warps compute it


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """All kernels of a step, an element each."""

    counts: Array
    flop: Array
    moved: Array  # Bytes read and written
    heavy: NDArray[np.bool_]  # Kinds with arithmetic that counts
    waits: NDArray[np.bool_]
    cold: NDArray[np.bool_]  # What they read was used a whole step ago, so none of it is in L2
    routed: NDArray[np.bool_]  # Products whose rows a router deals to experts
    direct: NDArray[np.bool_]  # Convolutions that the vector units compute: those of one channel a group
    handled: Array  # What the vector lanes handle one by one: elements, or multiply-adds where `direct`
    blocks: Array  # Units that can share a kernel; infinite for most (`_blocks`)
    classes: Classes
    groups: tuple[Group, ...]
    formats: Mapping[str, Places]  # Where the heavy kernels of each format stand


@lru_cache(maxsize=KEPT_TRACES)
def of_trace(trace: Trace) -> Kernels:
    """The kernels of a trace."""
    return arrays(trace.kernels, compiled=trace.compiled)


def arrays(kernels: Sequence[Kernel], *, compiled: bool = False) -> Kernels:
    """The kernels as arrays, in their order."""
    moved = np.array([_moved(kernel) for kernel in kernels], dtype=float)
    heavy = np.array([kernel.kind in _SHAPES for kernel in kernels], dtype=bool)
    formats = grouped((k.dtype, i) for i, k in enumerate(kernels) if k.kind in _SHAPES)
    keys = ((k.kind, k.dtype) if len(k.shape) == _SHAPES.get(k.kind) else ("", "") for k in kernels)
    alike = grouped((key, i) for i, key in enumerate(keys))
    flop = np.array([kernel.flop for kernel in kernels], dtype=float)
    direct = np.array([convolves(k) and 1 < k.shape[8] == k.shape[1] for k in kernels], dtype=bool)
    return Kernels(
        counts=np.array([kernel.count for kernel in kernels], dtype=float),
        flop=flop,
        moved=moved,
        heavy=heavy,
        waits=np.array([kernel.name in _WAITS for kernel in kernels], dtype=bool),
        cold=np.array([kernel.name.startswith(DECODES) for kernel in kernels], dtype=bool),
        routed=np.array([EXPERTS in k.name for k in kernels], dtype=bool),
        direct=direct,
        handled=np.where(direct, flop / 2.0, [_handled(kernel, compiled=compiled) for kernel in kernels]),
        blocks=np.array([np.inf if compiled else _blocks(kernel) for kernel in kernels]),
        classes=of_kernels(kernels, compiled=compiled),
        groups=tuple(
            _group(kind, dtype, np.array(at), [kernels[i] for i in at]) for (kind, dtype), at in alike.items()
        ),
        formats={dtype: np.array(at) for dtype, at in formats.items()},
    )


def _group(kind: str, dtype: str, at: Places, kernels: Sequence[Kernel]) -> Group:
    flop = np.array([kernel.flop for kernel in kernels])
    shapes = np.array([kernel.shape for kernel in kernels], dtype=float) if kind else None
    products, parts = None, None
    if kind == "attention" and shapes is not None:
        parts = tiles(kernels, shapes) if dtype in HALF else None
        # Operations of whole blocks over those that count, at the rate of the forward pass.
        blocks = np.ceil(shapes[:, 2:5] / _BLOCK) * _BLOCK / shapes[:, 2:5]
        blocks[shapes[:, 2] < _BLOCK[1], 0] = 1.0
        backward = np.array(["_backward" in kernel.name for kernel in kernels])
        flop = flop * blocks.prod(axis=1) / np.where(backward, _BACKWARD, 1.0)
    if kind == "matmul" and shapes is not None:
        b, m, n, k = shapes.T
        read, wrote = (
            np.array([getattr(each, f"bytes_{way}") for each in kernels]) for way in ("read", "written")
        )
        products = Products(b=b, m=m, n=n, k=k, size=read / (b * (m * k + k * n)), out=wrote / (b * m * n))
    if kind == "convolution" and shapes is not None:
        images, channels, _, _, outputs, high, wide, _, groups, rows, columns = shapes.T
        m, n, k = images * rows * columns, outputs / groups, channels / groups * high * wide
        size = np.full_like(m, 4.0 if dtype in ("fp32", "tf32") else 2.0)
        products = Products(b=groups, m=m, n=n, k=k, size=size / np.maximum(high * wide, 1.0), out=size)
    return Group(kind=kind, dtype=dtype, at=at, flop=flop, products=products, tiles=parts)


def _moved(kernel: Kernel) -> float:
    """Bytes read and written, and those of sums beside operands and results."""
    own = kernel.bytes_read + kernel.bytes_written
    summed = kernel.phase == "backward" and any(name in kernel.name for name in FUSED)
    return own + (_SUMMED * math.prod(kernel.shape[:3]) * kernel.shape[4] if summed else 0.0)


def _handled(kernel: Kernel, *, compiled: bool) -> float:
    """Elements that threads handle: those of the result, or of what is read where that is larger. Norms along
    rows, what puts rows in order, and tables of whole loads (IndexKernel.cu, `vectorized_gather_kernel`) have
    a block of threads for each row, however short; in kernels with arithmetic that hides it, but for products
    whose rows are not even pairs of 16 bits: less than four bytes no copy brings past the registers (PTX ISA,
    `cp.async`), so that threads load the sides of every tile one by one."""
    if kernel.kind == "matmul" and kernel.dtype in HALF and _aligned(kernel, compiled=compiled) == 1:
        batch, m, n, k = kernel.shape
        return float(batch * k * (m * math.ceil(n / _TILE) + n * math.ceil(m / _TILE)))
    if convolves(kernel) and rearranged(kernel.shape):
        images, channels, high, wide, outputs, *_, rows, columns = kernel.shape
        return float(images * (channels * high * wide + outputs * rows * columns))
    if kernel.kind in _SHAPES:
        return 0.0
    # Two operands and a result have three elements for each that is handled; a pooled window is one.
    moved = (kernel.bytes_read + kernel.bytes_written) / BYTES.get(kernel.dtype, 8.0)
    # The tensors of an optimiser are those of all its launches.
    launches = kernel.count if kernel.kind == "optimiser" else 1
    elements = max(math.prod(kernel.shape) / launches, 0.0 if "_pool" in kernel.name else moved / 3.0)
    if kernel.name.startswith("aten.index_add"):  # all rows that are added, however few they become
        before = 0.0 if kernel.name.endswith("_") else math.prod(kernel.shape)
        elements = kernel.bytes_read / BYTES.get(kernel.dtype, 8.0) - before
    elif kernel.kind == "gather" and kernel.name.endswith("_"):  # put in place: the rest stays as it was
        elements = kernel.bytes_written / BYTES.get(kernel.dtype, 8.0)
    if kernel.name.endswith(ALONG_ROWS):
        row = kernel.shape[-1]
        short = (row - 1).bit_length() < (math.prod(kernel.shape[:-1]) - 1).bit_length()
        return elements * math.ceil(row / _SCANNED) * _SCANNED / row if short else elements
    if kernel.kind == "reduction" and _few(kernel):
        rows = math.prod(kernel.shape[:-1])
        return rows * max(_ORDERED_ROW, kernel.bytes_read / rows / BYTES.get(kernel.dtype, 8.0))
    normal = any(name in kernel.name for name in _ROW_NORMS) and kernel.shape
    row = kernel.shape[-1] if normal else _row_taken(kernel)
    return elements * max(1.0, _ROW / row) if row else elements


def _row_taken(kernel: Kernel) -> int:
    """Elements of the rows that are taken from a table if they are whole loads (IndexKernel.cu,
    `vectorized_gather_kernel`), else none. Those of an embedding lie along the last dimension."""
    row = math.prod(kernel.shape[-1:] if kernel.name == _ROWS_TAKEN[0] else kernel.shape[1:])
    return row if kernel.name in _ROWS_TAKEN and row * BYTES.get(kernel.dtype, 8.0) % 16 == 0 else 0


def convolves(kernel: Kernel) -> bool:
    """Whether it is a convolution of known shape."""
    return kernel.kind == "convolution" and len(kernel.shape) == _SHAPES["convolution"]


def rearranged(shape: Sequence[int]) -> bool:
    """Whether the groups of a convolution have a number of channels that is not a power of two; cuDNN then
    slices or pads them."""
    return shape[8] > 1 and (shape[1] // shape[8]).bit_count() > 1


def copied(name: str, shape: Sequence[int], *, compiled: bool) -> bool:
    """Whether it copies the images of a convolution in 16 bits and the result to another order."""
    return channels_first(name, compiled=compiled) or rearranged(shape)


def _norm_blocks(kernel: Kernel) -> float:
    """Units' worth of blocks of a batch norm of channels-last images (Normalization.cuh): 512 threads take 32
    channels, a thread sixteen rows or more, and where fewer than eight blocks could share the rows that are
    summed one goes down all of them. A thread waits for its rows, twice as long where memory has them: on an
    H200 120 and 250 nanoseconds each, so that a block is worth 0.8 or 0.25 of a unit."""
    channels = kernel.shape[1]
    rows = math.prod(kernel.shape) / channels
    across = min(1 << (channels.bit_length() - 1), 32)
    along = min(math.ceil(rows / (_NORM_THREADS / across * 16.0)), 128)
    if along < 8 and ":statistics" in kernel.name:
        along = 1
    return math.ceil(channels / across) * along * (0.8 if kernel.bytes_read < _NEAR else 0.25)


def _blocks(kernel: Kernel) -> float:
    """Batch norm of channels-first images has a block of threads for each channel where it sums, of
    channels-last ones up to 128 for 32 channels (`_norm_blocks`); interpolation has a thread for each place
    of the result, which goes through all images and channels (UpSampleBilinear2d.cu, UpSampleBicubic2d.cu);
    what is added by indices is added one by one at each place (Indexing.cu)."""
    first = kernel.name.endswith(CHANNELS_FIRST)
    sums = not first or not any(part in kernel.name for part in (":infer", ":apply"))
    if "batch_norm" in kernel.name and len(kernel.shape) > 2 and sums and (first or kernel.dtype == "bf16"):
        return float(kernel.shape[1]) if first else _norm_blocks(kernel)
    cubic = kernel.name.startswith("aten.upsample_bicubic2d")  # whose kernel knows one order alone
    if (cubic or ("upsample_bi" in kernel.name and first)) and "_backward" not in kernel.name:
        return kernel.shape[-1] * kernel.shape[-2] / _PLACES
    if "group_norm:statistics" in kernel.name:  # a block for each group of each image (group_norm_kernel.cu)
        return kernel.bytes_written / BYTES.get(kernel.dtype, 8.0) / 2.0  # means and deviations
    if kernel.name.endswith(SORTED):
        return max(1.0, kernel.bytes_written / BYTES.get(kernel.dtype, 8.0) / _PLACES)
    return np.inf
