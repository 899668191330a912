"""The question that a measurement, a published figure or a prediction answers.

A `Question` is a workload in a mode, a precision and a recipe; `RunConfig` says how to time it. Two speeds
may be compared where their questions agree: `key` is the one identity and `label` the one wording; both take
the parts that are not to count, such as the batch where any batch will do.

Recipes say what they are: `script` repeats the benchmark article's public script, `stock` is the best that
plain PyTorch reaches (layout, compiler, fused optimiser, attention kernels, 16-bit weights, CUDA graphs), and
`tuned` also runs gpuwise's own kernels. Which those are is data: `OWN_KERNELS`, `OWN_LAYERS`. Every switch is
a word out of a few, so that a recipe can be listed, searched, stored and typed (`layout=channels-first`). The
defaults are what results that say nothing of a switch ran with: they stay for ever, and a better choice is a
stored recipe (`gpuwise tune`), not another default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_type_hints

from gpuwise.errors import InputError
from gpuwise.model.precision import FOUR_BIT_FLOATS, NETWORK_PRECISIONS, Precision

Mode = Literal["train", "infer", "compute", "limit"]
"""train: forward, loss, backward, optimiser. infer: forward. compute: a kernel. limit: a ceiling."""

MODES: tuple[Mode, ...] = ("train", "infer", "compute", "limit")


Recipe = Literal["script", "stock", "tuned"]
"""script: the benchmark article's public script. stock: the best of plain PyTorch. tuned: own kernels."""

Layout = Literal["channels-last", "channels-first"]
Kernels = Literal["torch", "triton"]
Compiler = Literal["default", "descent", "autotune"]
Scope = Literal["step", "block"]
Toggle = Literal["off", "on"]
Overlap = Literal["on", "off"]
Residual = Literal["fp32", "half", "triton"]
Attention = Literal["auto", "flash", "efficient", "cudnn", "triton"]
Bucket = Literal["usual", "8", "64", "512"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """One recipe. A workload heeds those that its specification names; the others stay as they are."""

    # Of images and convolutions where tensor cores run; IEEE fp32 is always channels-first.
    layout: Layout = "channels-last"
    # Whose max pooling: torch's or gpuwise's (`kernels.images`).
    pooling: Kernels = "torch"
    # Training: whose batch norms with ReLU and shortcut.
    norms: Kernels = "torch"
    # Inference: whether batch norms are folded into the convolutions before (`models.convnet.fold_norms`).
    fold_norms: Toggle = "off"
    # torch.compile's search: none, block sizes by coordinate descent, or also matrix product kernels.
    compiler: Compiler = "default"
    # What torch.compile takes at once: forward pass and loss, or the loss and each repeated block by itself:
    # equal blocks share their code, which is compiled once, but nothing is fused across their ends.
    compile_scope: Scope = "step"
    graph: Toggle = "off"  # on: compiled steps are replayed from a CUDA graph.
    # Products read 16-bit copies that fp32 master weights are copied to after each update, instead of
    # casting the fp32 weights in each step.
    master_weights: Toggle = "off"
    # What runs from layer to layer of a transformer under autocast: the norms' results in fp32, or rounded
    # to 16 bits, or these by gpuwise's kernels (`kernels.residual`). Norms are computed in fp32.
    residual_dtype: Residual = "fp32"
    # Which kernel scaled_dot_product_attention takes; auto is torch's choice. Or, under 16 bits, gpuwise's
    # own (`kernels.attention`).
    attention: Attention = "auto"
    # Whose kernels decode a token: torch's, or gpuwise's (`kernels.decode`), for at most 64 sequences.
    decode: Kernels = "torch"
    # on: several GPUs average gradients bucket by bucket within the backward pass, at whose buckets compiled
    # graphs are cut. off: all after it, so that graphs stay whole.
    overlap_grads: Overlap = "on"
    # MiB of gradients that several GPUs exchange together; usual are 25 overlapped and 256 after.
    bucket: Bucket = "usual"

    @property
    def changed(self) -> tuple[tuple[str, str], ...]:
        """(switch, value) of all that are not at their default."""
        return tuple(
            (f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default
        )

    def exchanging_as(self, other: Switches) -> Switches:
        """These, with gradients exchanged between several GPUs as by the other."""
        return replace(self, overlap_grads=other.overlap_grads, bucket=other.bucket)

    def __str__(self) -> str:
        """`layout=channels-first stem=cells`, or `as usual`."""
        return " ".join(f"{name}={value}" for name, value in self.changed) or "as usual"


USUAL = Switches()

# Switch -> the words that ask for gpuwise's own kernels. torch's are the default of each.
OWN_KERNELS = dict.fromkeys(("pooling", "norms", "residual_dtype", "attention", "decode"), ("triton",))
# What runs on gpuwise's own kernels whatever the switches: the casts of FP8 training, and the products of a
# few rows with narrow weights. FP8 inference has torch's operators only.
NARROW_WEIGHTS = (Precision.INT8, Precision.INT4, *FOUR_BIT_FLOATS)
OWN_LAYERS: frozenset[tuple[Mode, Precision]] = frozenset(
    {("train", Precision.FP8), *(("infer", precision) for precision in NARROW_WEIGHTS)}
)
# A prompt has thousands of rows, and INT8 weights of more than 64 rows are multiplied by torch.
MANY_ROWS = frozenset({"llm-1b-prefill", "llm-8b-prefill", "llm-1b-prefill-8k", "llm-8b-prefill-8k"})
_TRAINING = frozenset({"residual_dtype"})  # Heeded by training alone: inference is in 16 bits throughout.


def own_kernels(switches: Switches, mode: Mode, precision: Precision | None, workload: str) -> bool:
    """True if a step on a GPU runs any of gpuwise's own kernels."""
    if (mode, precision) in OWN_LAYERS and workload not in MANY_ROWS:
        return True
    return any(
        getattr(switches, name) in words and (mode == "train" or name not in _TRAINING)
        for name, words in OWN_KERNELS.items()
    )


def without_own_kernels(switches: Switches) -> Switches:
    """These, with torch's kernels in place of gpuwise's."""
    back = {
        name: getattr(USUAL, name) for name, words in OWN_KERNELS.items() if getattr(switches, name) in words
    }
    return replace(switches, **back)


# Names and words of files before schema 3, and of commands that people wrote down then.
_FORMER: dict[str, tuple[str, dict[str, str]]] = {
    "stream": ("residual_dtype", {}),
    "weights": ("master_weights", {"fp32": "off", "half": "on"}),
    "exchange": ("overlap_grads", {"overlapped": "on", "after": "off"}),
    "region": ("compile_scope", {}),
}


def modern(switches: Mapping[str, str]) -> dict[str, Any]:
    """Switches by today's names and words, whenever they were written."""
    renamed: dict[str, Any] = {}
    for name, word in switches.items():
        today, words = _FORMER.get(name, (name, {}))
        renamed[today] = words.get(word, word)
    return renamed


def parse(words: Iterable[str], base: Switches = USUAL) -> Switches:
    """Switches from `layout=channels-first`, the rest as in `base`. Raises InputError for a word unknown."""
    given: dict[str, Any] = {}
    for word in words:
        before, _, old = word.partition("=")
        ((name, value),) = modern({before: old}).items()
        if value not in choices().get(name, ()):
            switches = "; ".join(f"{switch}={'|'.join(values)}" for switch, values in choices().items())
            raise InputError(f"no switch of a recipe is called {word!r}", hint=f"choose from {switches}")
        given[name] = value
    return replace(base, **given)


@cache
def choices() -> dict[str, tuple[str, ...]]:
    """The words of every switch, the default first."""
    return {name: get_args(words) for name, words in get_type_hints(Switches).items()}


# What both a measurement and a prediction go by, so that they choose alike: the throughput that a doubled
# batch must add (with less, a larger one only costs memory), and the share of the device's memory that the
# state of training may take before it is split (the rest is for activations: with 0.8, cards of 32 GB kept
# the state of 1.2 billion parameters whole, trained batches of one, and waited for their exchange).
BATCH_GAIN = 1.01
STATE_ROOM = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of one item at a batch size: the least a step must compute and move.

    `flop_per_item` counts a multiply-add as two operations and backward as twice forward (no
    recomputation), the convention of MFU. `bytes_per_item` is compulsory memory traffic under
    the fusion that the workload's docstring states; None where no such count is made.
    """

    flop_per_item: float
    bytes_per_item: float | None = None


# Items of a request's tuples: how their type begins, what is none of them, what they are, and one of them.
_ITEMS: tuple[tuple[str, Callable[[object], bool], str, str], ...] = (
    ("int", lambda each: isinstance(each, str | float), "whole numbers", "16"),
    ("str,", lambda each: not isinstance(each, str), "names", "'rtx-4090'"),
    ("Result,", lambda each: isinstance(each, str | Path), "results", "load('result.json')"),
)
# The same of fields of one value.
_ALONE: Mapping[str, tuple[type, str]] = {
    "str": (str, "text"), "int": (Integral, "a whole number"), "float": (Real, "a number"),
}  # fmt: skip


class Asked:
    """A request of a job. In a field of several values one alone is enough, and a text is a path where one is
    wanted: `gpus="rtx-4090"`, `files="draft.md"`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            kind, value = str(field.type), getattr(self, field.name)
            several, _, item = kind.partition("[")
            if several in ("tuple", "frozenset") and kind.endswith("]"):
                alone = isinstance(value, str) or not isinstance(value, Iterable)
                items = (value,) if alone else tuple(value)
                for start, no_such, what, such in _ITEMS:
                    if item.startswith(start) and (wrong := [each for each in items if no_such(each)]):
                        problem = f"{field.name} takes {what}, not {wrong[0]!r}"
                        raise InputError(problem, hint=f"such as {field.name}={such}")
                made = map(Path, items) if item.startswith("Path") else items
                object.__setattr__(self, field.name, (tuple if several == "tuple" else frozenset)(made))
                continue
            single = kind.removesuffix(" | None")
            wanted, what = _ALONE.get(single, (object, ""))
            if not isinstance(value, wanted) and not (value is None and single != kind):
                raise InputError(f"{field.name} takes {what}, not {value!r}", hint=f"give {what}")

    @classmethod
    def of(cls, given: object, field: str = "") -> Self:
        """The request of a job, given as one or as the value of its `field`. Raises InputError otherwise."""
        if isinstance(given, cls):
            return given
        if field and isinstance(given, str | Sequence):
            return cls(**{field: given})
        name = cls.__name__
        raise InputError(f"the job takes {name}, not {type(given).__name__}", hint=f"give {name}(...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """One workload. Numbers of different `version`s are not comparable."""

    id: str
    version: int = 1
    title: str
    task: str = "yours"
    item: str  # What one unit of throughput is: image, sequence, token, FLOP, byte
    modes: tuple[Mode, ...] = ("train", "infer")
    parameters: int | None = None
    default_batch: int  # The batch at which a GPU search starts; also the published recipe's batch
    cpu_batch: int = 1  # The batch for a CPU, where a step at `default_batch` would take minutes
    cost: Callable[[Mode, Precision, int], Cost] | None = None
    """(mode, precision, batch) -> Cost of one item; None = torch counts the operations of a step."""
    bandwidth_share: float = 0.5
    """Of scientific work: the share of the data sheet's bandwidth at which it moves the bytes of its cost."""
    blocked: bool = False
    """Of scientific work in small pieces, which on large ones is products of blocks: arithmetic bounds it."""
    script: bool = False
    """It can also run as the public script of the benchmark article does: the recipe `script`."""
    precisions: tuple[Precision, ...] = NETWORK_PRECISIONS
    """What it can be run in; others are left out of a session without an error."""
    unpredicted: tuple[Precision, ...] = ()  # Also these, of which the speed of one sequence alone is known
    compiles: bool = True
    """False: a step is one library call, compiled or not the same; it is measured once, as eager."""
    switches: tuple[str, ...] = ()  # Those of a recipe (`model.question`) that its job heeds
    gpus: int = 0  # GPUs without which it means nothing; 0 = a CPU can run it as well
    phase: Literal["prefill", "decode"] | None = None
    """Of language-model inference: the prompt at once, or one token after the other."""
    collective: bool = False
    """A step that all ranks make together, at least two: measured at every count of GPUs asked for."""
    divides: bool = False  # Several GPUs can share its products (scaling `tensor`)
    links: bool = False  # A step is of links that a card shares with others or with the host

    @property
    def is_limit(self) -> bool:
        """Whether it measures a limit of the hardware: a matrix product, a copy, a link."""
        return "limit" in self.modes

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Those that differ for it: tuned where gpuwise has kernels for it."""
        layers = self.id not in MANY_ROWS and any(
            mode in self.modes and precision in self.precisions for mode, precision in OWN_LAYERS
        )
        tuned: tuple[Recipe, ...] = ("tuned",) if layers or set(self.switches) & set(OWN_KERNELS) else ()
        return (*(("script",) if self.script else ()), "stock", *tuned)


Framework = Literal["torch", "tensorflow", "jax", "server"]
"""server: it answers over the network, whatever runs behind it; not among the FRAMEWORKS to choose from."""
Scaling = Literal["weak", "strong", "tensor"]
"""On several GPUs, weak: each has the whole batch. strong: they share one batch. tensor: they share every
product of a language model, and add up what each has (tensor parallel)."""
Size = Literal["full", "toy"]
Input = Literal["device", "host"]
"""device: a batch that is already there. host: a new batch each step, prepared by worker processes."""

SCALINGS: tuple[Scaling, ...] = ("weak", "strong", "tensor")
FRAMEWORKS: tuple[Framework, ...] = ("torch", "tensorflow", "jax")

Part = Literal[
    "workload", "content", "mode", "precision", "compile", "recipe", "kernels", "switches", "framework",
    "input", "size", "gpus", "batch", "load",
]  # fmt: skip
"""What a question is made of, in the order of `key` and `label`; without `kernels`, stock is tuned."""
HOW: tuple[Part, ...] = (
    "content", "precision", "compile", "recipe", "kernels", "switches", "framework", "input", "size",
    "gpus", "batch", "load",
)  # fmt: skip
"""All but workload and mode: `label(*HOW)` says what was run, `label(*WORK)` how."""
WORK: tuple[Part, ...] = ("workload", "mode")
_COMPILED = {True: "compiled", False: "eager", None: ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load on a server: lengths in tokens, and so many requests at once or a second."""

    prompt: str  # `1024`, `512..2048`, `1024~300`, or the digest of a file of requests
    answer: str
    concurrency: int | None = None  # Closed loop: each request is followed by the next
    rate: float | None = None  # Open loop: requests a second at random times

    @property
    def offered(self) -> str:
        """`16 at once` or `4 requests/s`."""
        return f"{self.rate:g} requests/s" if self.rate is not None else f"{self.concurrency} at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One configuration of one workload."""

    workload: str  # Id; `FILE.py:NAME` for a workload of the user's own
    content: str | None = None
    """Digest of an own file's text, because files of one name differ. None for built-in workloads."""
    mode: Mode
    precision: Precision | None  # As it really ran; None where a publisher does not say
    compile: bool | None = False  # None where a publisher does not say
    batch: int | None = None
    """Items per step and GPU; None = the best for the GPU, 0 = the workload's own, halved until it fits."""
    recipe: Recipe = "stock"
    """What ran: `stock` and `tuned` follow from switches and precision, whichever of the two is given."""
    switches: Switches = USUAL  # How stock and tuned run; script has none
    framework: Framework = "torch"
    input: Input = "device"
    size: Size = "full"  # toy: a shrunken model, for tests only; never comparable with full
    gpus: int = 1  # GPUs that work together, one process each, over all machines; on a CPU, processes
    nodes: int = 1  # Machines that they are spread over evenly
    scaling: Scaling = "weak"
    load: Load | None = None  # Of a server that is asked over the network

    def __post_init__(self) -> None:
        """Raises InputError for a precision that is not in the table."""
        if self.precision is not None:
            object.__setattr__(self, "precision", Precision(self.precision))
        if self.recipe != "script":
            object.__setattr__(self, "recipe", "tuned" if self.own_kernels else "stock")

    @property
    def own_kernels(self) -> bool:
        """True if gpuwise's own kernels run."""
        return own_kernels(self.switches, self.mode, self.precision, self.workload)

    @property
    def replayed(self) -> bool:
        """True if a CUDA graph replays what is compiled."""
        return bool(self.compile) and self.recipe != "script" and self.switches.graph == "on"

    @property
    def base_recipe(self) -> Recipe:
        """The recipe, whosever kernels ran: `script`, or `stock` also where gpuwise's did."""
        return "script" if self.recipe == "script" else "stock"

    def key(self, *ignored: Part) -> str:
        """Stable identity, without the parts that do not count."""
        nodes = f":{self.nodes}nodes" if self.nodes > 1 else ""
        words = {
            "workload": self.workload,
            "content": self.content or "",
            "mode": self.mode,
            "precision": self.precision or "?",
            "compile": _COMPILED[self.compile],
            "recipe": self.base_recipe if "kernels" in ignored else self.recipe,
            "framework": self.framework if self.framework != "torch" else "",
            "input": "with-input" if self.input == "host" else "",
            "size": "toy" if self.size == "toy" else "",
            "gpus": f"x{self.gpus}:{self.scaling}{nodes}" if self.gpus > 1 else "",
            "batch": f"b{self.batch}" if self.batch else "",
            "load": f"p{self.load.prompt}:a{self.load.answer}:{self.load.offered}" if self.load else "",
        }
        return ":".join(word for part, word in words.items() if word and part not in ignored)

    def label(self, *ignored: Part) -> str:
        """In words: `resnet50 train fp16 compiled script, batch 256, 4 GPUs`; what is usual is not said.

        Of a limit its size: `matmul bf16 8192`.
        """
        limit = self.mode == "limit"
        words = {
            "workload": self.workload,
            "mode": "" if limit or self.load else self.mode,
            "precision": self.precision or "?",
            "compile": "" if limit or self.load else _COMPILED[self.compile],
            "recipe": self.recipe if self.recipe != "stock" else "",
            "switches": str(self.switches) if self.switches.changed else "",
            "framework": self.framework if self.framework != "torch" else "",
            "input": "with input" if self.input == "host" else "",
            "size": "toy" if self.size == "toy" else "",
        }
        text = " ".join(word for part, word in words.items() if word and part not in ignored)
        # The size of a limit is a part of what it is.
        if self.batch and (limit or "batch" not in ignored):
            size = f" {self.batch}" if self.batch > 1 else ""
            text += size if limit else f", batch {self.batch}"
        if self.gpus > 1 and "gpus" not in ignored:
            text += f", {self.gpus} GPUs"
            text += f" on {self.nodes} machines" if self.nodes > 1 else ""
            text += {"weak": "", "strong": " sharing one batch", "tensor": f" tp={self.gpus}"}[self.scaling]
        if self.load is not None and "load" not in ignored:
            text += f", prompt {self.load.prompt}, answer {self.load.answer}, {self.load.offered}"
        return text.removeprefix(", ")


Protocol = Literal["adaptive", "aime", "soak"]
"""adaptive: until the 95 % interval is narrow. aime: 50 steps, mean of three runs, start below 50 C."""
Device = Literal["cpu", "cuda", "mps", "xpu"]
"""cuda: NVIDIA, and AMD under ROCm, which torch calls the same. mps: Apple. xpu: Intel."""

PROTOCOLS: tuple[Protocol, ...] = ("adaptive", "aime", "soak")
DEVICES: tuple[Device, ...] = ("cpu", "cuda", "mps", "xpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig(Question):
    """A question to be answered by a measurement, and how to time it."""

    precision: Precision
    compile: bool = False
    protocol: Protocol = "adaptive"
    time_s: float = 60.0  # Budget of the timed windows
    target_ci: float = 0.01  # Stop when the 95 % interval is within this share of the value, to either side
    quick: bool = False  # Take the default batch (halved while it does not fit) instead of searching
    device: Device = "cuda"
    repeat: int = 1
    """Fresh processes that measure it one after the other; the interval is then that of their differences."""

    @property
    def own_kernels(self) -> bool:
        """True if gpuwise's own kernels run: on GPUs that torch calls CUDA only."""
        return self.device == "cuda" and own_kernels(self.switches, self.mode, self.precision, self.workload)


def is_lowered(limit_w: float | None, default_w: float | None) -> bool:
    """True if a power limit is below the card's default; drivers round both."""
    return limit_w is not None and default_w is not None and limit_w < default_w - 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine and software of a result; no host name, user name or serial number."""

    device: str  # Name as the driver reports it, or the CPU model
    card: str | None = None
    """Digest of the device's unique id: distinguishes equal cards without naming one. None where the device
    has no such id, and where a session went on on another card."""
    gpu_id: str | None = None
    """Catalog entry of the device; None for a CPU and for a GPU the catalog does not know."""
    gpuwise: str | None = None
    python: str | None = None
    os: str | None = None
    cpu: str | None = None
    cpu_count: int | None = None
    torch: str | None = None
    tensorflow: str | None = None
    jax: str | None = None
    server: str | None = None  # What answered over the network, as it calls itself
    cuda: str | None = None
    """CUDA (or HIP) version that the framework was built with; torch's, where it measured as well."""
    cudnn: str | None = None
    driver: str | None = None
    device_memory_bytes: int | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    sm_clock_max_hz: float | None = None
    memory_clock_max_hz: float | None = None
    ecc: bool | None = None
    mig: bool | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    other_processes: int | None = None  # Processes of others on the device when the session began
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that change speed (TORCH*, NCCL*, CUDA*, OMP*, ...)."""

    @property
    def software(self) -> tuple[str, ...]:
        """Every framework that measured, as `torch 2.11.0`."""
        names = (*FRAMEWORKS, "server")
        return tuple(f"{name} {version}" for name in names if (version := getattr(self, name)) is not None)

    def diff(self, other: Environment) -> tuple[tuple[str, object, object], ...]:
        """(field, mine, theirs) for every field that both state and that differs."""
        pairs = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return tuple(
            (name, a, b)
            for name, a, b in pairs
            if a != b and (name == "variables" or (a is not None and b is not None))
        )
