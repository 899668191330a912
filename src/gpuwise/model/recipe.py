"""How a step is run, as data: switches that change its speed, not its mathematics.

Recipes say what they are: `script` repeats the benchmark article's public script, `stock` is the best that
plain PyTorch reaches (layout, compiler, fused optimiser, attention kernels, 16-bit weights, CUDA graphs), and
`tuned` also runs gpuwise's own kernels. Which those are is data: `OWN_KERNELS`, `OWN_LAYERS`.

Every switch is a word out of a few, so that a recipe can be listed, searched, stored and typed
(`layout=channels-first`). The defaults are what results that say nothing of a switch ran with: they
stay for ever, and a better choice is a stored recipe (`gpuwise tune`), not another default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from gpuwise.errors import InputError
from gpuwise.model.precision import Precision

if TYPE_CHECKING:
    from gpuwise.model.workload import Mode

Recipe = Literal["script", "stock", "tuned"]
"""script: the benchmark article's public script. stock: the best of plain PyTorch. tuned: own kernels."""
RECIPES: tuple[Recipe, ...] = ("script", "stock", "tuned")

Layout = Literal["channels-last", "channels-first"]
Pooling = Literal["torch", "triton"]
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
    # Whose max pooling: torch's, compiled with the rest, or gpuwise's kernel (`kernels.pooling`).
    pooling: Pooling = "torch"
    # torch.compile's search: none, block sizes by coordinate descent, or also matrix product kernels.
    compiler: Compiler = "default"
    # What torch.compile takes at once: forward pass and loss, or the loss and each repeated block by itself:
    # equal blocks share their code, which is compiled once, but nothing is fused across their ends.
    compile_scope: Scope = "step"
    graph: Toggle = "off"  # Whether compiled steps are replayed from a CUDA graph.
    # Products read 16-bit copies that fp32 master weights are copied to after each update, instead of
    # casting the fp32 weights in each step.
    master_weights: Toggle = "off"
    # What runs from layer to layer of a transformer under autocast: the norms' results in fp32, or rounded
    # to 16 bits, or these by gpuwise's kernels (`kernels.residual`). Norms are computed in fp32.
    residual_dtype: Residual = "fp32"
    # Which kernel scaled_dot_product_attention takes; auto is torch's choice. Or, under 16 bits, gpuwise's
    # own (`kernels.attention`).
    attention: Attention = "auto"
    # Whether several GPUs average gradients bucket by bucket within the backward pass, at whose buckets
    # compiled graphs are cut, or all after it, so that graphs stay whole.
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

# Switch -> the word that asks for gpuwise's own kernels. torch's are the default of each.
OWN_KERNELS: dict[str, str] = {"pooling": "triton", "residual_dtype": "triton", "attention": "triton"}
# What runs on gpuwise's own kernels whatever the switches: the casts of FP8 training, and the products of a
# few rows with INT8 weights. FP8 inference has torch's operators only.
OWN_LAYERS: frozenset[tuple[Mode, Precision]] = frozenset(
    {("train", Precision.FP8), ("infer", Precision.INT8)}
)
# A prompt has thousands of rows, and INT8 weights of more than 64 rows are multiplied by torch.
MANY_ROWS = frozenset({"llm-1b-prefill", "llm-8b-prefill", "llm-1b-prefill-8k", "llm-8b-prefill-8k"})
_TRAINING = frozenset({"residual_dtype"})  # Heeded by training alone: inference is in 16 bits throughout.


def own_kernels(switches: Switches, mode: Mode, precision: Precision | None, workload: str) -> bool:
    """Whether a step on a GPU runs any of gpuwise's own kernels."""
    if (mode, precision) in OWN_LAYERS and workload not in MANY_ROWS:
        return True
    return any(
        getattr(switches, name) == word and (mode == "train" or name not in _TRAINING)
        for name, word in OWN_KERNELS.items()
    )


def without_own_kernels(switches: Switches) -> Switches:
    """These, with torch's kernels in place of gpuwise's."""
    back = {
        name: getattr(USUAL, name) for name, word in OWN_KERNELS.items() if getattr(switches, name) == word
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
    found: dict[str, Any] = {}
    for name, word in switches.items():
        today, words = _FORMER.get(name, (name, {}))
        found[today] = words.get(word, word)
    return found


def parse(words: Iterable[str], base: Switches = USUAL) -> Switches:
    """Switches from `layout=channels-first`, the rest as in `base`. Raises InputError for a word unknown."""
    given: dict[str, Any] = {}
    for word in words:
        before, _, old = word.partition("=")
        ((name, value),) = modern({before: old}).items()
        if value not in choices().get(name, ()):
            known = "; ".join(f"{switch}={'|'.join(values)}" for switch, values in choices().items())
            raise InputError(f"no switch of a recipe is called {word!r}", hint=f"choose from {known}")
        given[name] = value
    return replace(base, **given)


@cache
def choices() -> dict[str, tuple[str, ...]]:
    """The words of every switch, the default first."""
    return {name: get_args(words) for name, words in get_type_hints(Switches).items()}
