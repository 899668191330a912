"""What was run: the question that a measurement, a published figure or a prediction answers.

Two speeds may be compared where their questions agree. `key` is the one identity and `label` the one wording;
both take the parts that are not to count, such as the batch where any batch will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuwise.model.precision import Precision
from gpuwise.model.recipe import USUAL, Recipe, Switches, own_kernels
from gpuwise.model.workload import Mode

Framework = Literal["torch", "tensorflow", "jax", "server"]
"""server: it answers over the network, whatever runs behind it; not among the FRAMEWORKS to choose from."""
Scaling = Literal["weak", "strong"]
"""On several GPUs, weak: each has the whole batch. strong: they share one batch."""
Size = Literal["full", "toy"]
Input = Literal["device", "host"]
"""device: a batch that is already there. host: a new batch each step, prepared by worker processes."""

SCALINGS: tuple[Scaling, ...] = ("weak", "strong")
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
    """What a server is asked for: lengths in tokens, and so many requests at once or a second."""

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
    batch: int | None = None  # Items per step and GPU; None = the best for the GPU
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
        """Whether gpuwise's own kernels run."""
        return own_kernels(self.switches, self.mode, self.precision, self.workload)

    @property
    def base_recipe(self) -> Recipe:
        """The recipe, whosever kernels ran: `script`, or `stock` also where gpuwise's did."""
        return "script" if self.recipe == "script" else "stock"

    def key(self, *ignored: Part) -> str:
        """Stable identity, without the parts that do not count."""
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
            "gpus": self._several(":"),
            "batch": f"b{self.batch}" if self.batch is not None else "",
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
        if self.batch is not None and (limit or "batch" not in ignored):
            size = f" {self.batch}" if self.batch > 1 else ""
            text += size if limit else f", batch {self.batch}"
        if self.gpus > 1 and "gpus" not in ignored:
            text += f", {self.gpus} GPUs"
            text += f" on {self.nodes} machines" if self.nodes > 1 else ""
            text += " sharing one batch" if self.scaling == "strong" else ""
        if self.load is not None and "load" not in ignored:
            text += f", prompt {self.load.prompt}, answer {self.load.answer}, {self.load.offered}"
        return text.removeprefix(", ")

    def _several(self, joint: str) -> str:
        """`x4:weak:2nodes`; empty for one GPU."""
        parts = (f"x{self.gpus}", self.scaling) if self.gpus > 1 else ()
        nodes = (f"{self.nodes}nodes",) if self.nodes > 1 else ()
        return joint.join((*parts, *nodes))
