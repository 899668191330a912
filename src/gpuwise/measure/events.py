"""What the child reports to its parent: one JSON object a line, `event` names the kind.

Everything measured so far is in the parent's hands after each line, so a killed child loses
at most the window it was timing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from gpuwise.model.question import Framework
from gpuwise.model.units import seconds

ErrorKind = Literal["oom", "unsupported", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The framework is imported and the device answers."""

    framework: Framework = "torch"
    version: str
    device: str
    memory_bytes: int | None = None
    cuda: str | None = None
    cudnn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One batch of the search."""

    batch: int
    fits: bool
    compiled: bool
    items_per_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The job exists; `batch` is settled, a step handles `items` items, and one costs so much."""

    batch: int
    items: int
    flop_per_item: float | None = None
    bytes_per_item: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Who measures together: per rank its machine, its GPU, and its step when nobody exchanges anything."""

    backend: str
    parallel: str | None
    bucket_bytes: int | None
    node: int  # The machine that says so
    nodes: tuple[int, ...]
    devices: tuple[str, ...]
    pids: tuple[int, ...]
    alone_s: tuple[float, ...]  # Empty where a step is nothing but an exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """A rank for which others wait, and for how long by now."""

    rank: int
    gpu: int  # Of its machine
    pid: int
    doing: str
    waited_s: float
    silent: bool  # Whether its whole process stands still

    def __str__(self) -> str:
        """`rank 1 (GPU 1 of its machine), building the step for 40 s`."""
        how = "silent" if self.silent else self.doing
        return f"rank {self.rank} (GPU {self.gpu} of its machine), {how} for {seconds(self.waited_s)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the numbers say, before anything is timed."""

    mismatch: float | None = None  # Relative difference between compiled and eager
    gradient_norm: float | None = None
    reference_norm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The first step ended, `seconds` after the process began, what only a measurement does left out."""

    seconds: float
    compile_s: float | None = None  # None where nothing is compiled, or the framework does not tell
    whole_s: float | None = None  # From the built model on: compiling, trying kernels out, the step itself
    graphs: int = 0
    cached_graphs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """Step times before the timed windows."""

    step_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One timed window."""

    step_s: tuple[float, ...]
    started_s: float
    ended_s: float
    each: int = 1  # Steps that one time is the mean of


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The measurement is complete. The peak is the highest of all ranks."""

    memory_peak_bytes: int | None
    loss: tuple[float, ...]
    odd: str | None = None  # What is odd about the last output; of training, its loss tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """The child waits, before a run that is to start cool, until the parent resumes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """Of a step that reads its input from the host: times of whole batches, by window."""

    workers: int
    pipeline_s: tuple[tuple[float, ...], ...]  # The workers' batches while nothing else runs
    alone_s: tuple[tuple[float, ...], ...]  # The step with its input on the device


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """A few steps under the profiler, after everything was timed; all figures are of one step."""

    steps: int
    wall_s: float
    busy_s: float
    link_s: float
    longest_gap_s: float
    kernels: tuple[tuple[str, float, float], ...]  # (kind, kernels, seconds)
    slowest: tuple[tuple[str, float, float, str], ...]  # The same and the name


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprofiled:
    """The profiler failed; nothing that was timed depends on it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """The order is carried out, and the process waits for another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The child gives up on this configuration."""

    kind: ErrorKind
    message: str


Event = (
    Ready | Tried | Built | Ranked | Straggler | Checked | First | Fed | Cooldown | Warmup | Timed | Done
    | Profiled | Unprofiled | Idle | Failed
)  # fmt: skip
Report = Callable[[Event], None]

_KINDS: dict[str, type[Event]] = {kind.__name__.lower(): kind for kind in get_args(Event)}


def encode(event: Event) -> bytes:
    """One line, newline included."""
    return json.dumps({"event": type(event).__name__.lower(), **asdict(event)}).encode() + b"\n"


def decode(line: bytes) -> Event:
    """The event of one line. Raises ValueError for anything else."""

    def frozen(value: Any) -> Any:
        return tuple(frozen(each) for each in value) if isinstance(value, list) else value

    try:
        fields = json.loads(line)
        kind: Callable[..., Event] = _KINDS[fields.pop("event")]
        return kind(**{name: frozen(value) for name, value in fields.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an event: {line[:80]!r}") from error
