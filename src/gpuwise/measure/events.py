"""Events that the child reports to its parent: one JSON object a line, `event` names the kind.

Everything measured so far is in the parent's hands after each line, so a killed child loses
at most the window it was timing. What stands in a result as it is (a trial of the search, a timed window, the
profile) is its own event.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from gpuwise.model.question import Framework
from gpuwise.model.result import BatchTrial, Compilation, Group, Profile, Window
from gpuwise.model.units import seconds
from gpuwise.store import ONE_READER

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
class Built:
    """The job exists; `batch` is settled, a step handles `items` items, and one costs so much."""

    batch: int
    items: int
    flop_per_item: float | None = None
    bytes_per_item: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The ranks of a measurement, each with its step when nothing is exchanged."""

    group: Group
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """A rank for which others wait, and for how long by now."""

    rank: int
    gpu: int  # Of its machine
    pid: int
    doing: str
    waited_s: float
    silent: bool  # True if its whole process stands still

    def __str__(self) -> str:
        """`rank 1 (GPU 1 of its machine), building the step for 40 s`."""
        how = "silent" if self.silent else self.doing
        return f"rank {self.rank} (GPU {self.gpu} of its machine), {how} for {seconds(self.waited_s)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The check of the numbers, before anything is timed."""

    mismatch: float | None = None  # Relative difference between compiled and eager
    gradient_norm: float | None = None
    reference_norm: float | None = None
    fallback: str = ""  # Which of gpuwise's kernels is not used, since torch computes something else


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The first step ended, `seconds` after the process began, what only a measurement does left out."""

    seconds: float
    compilation: Compilation | None = None  # None where nothing is compiled, or unreported


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """Step times before the timed windows."""

    step_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The measurement is complete. The peak is the highest of all ranks."""

    memory_peak_bytes: int | None
    loss: tuple[float, ...]
    odd: str | None = None  # What is odd about the last output; of training, its loss shows it


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """The child is ready for a timed run, and waits until the parent resumes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooled:
    """The parent has resumed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """Of a step that reads its input from the host: times of whole batches, by window."""

    workers: int
    pipeline_s: tuple[tuple[float, ...], ...]  # The workers' batches while nothing else runs
    alone_s: tuple[tuple[float, ...], ...]  # The step with its input on the device


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
    Ready
    | BatchTrial
    | Built
    | Ranked
    | Straggler
    | Checked
    | First
    | Fed
    | Cooldown
    | Cooled
    | Warmup
    | Window
    | Done
    | Profile
    | Unprofiled
    | Idle
    | Failed
)
Report = Callable[[Event], None]

_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def encode(event: Event) -> bytes:
    """One line, newline included."""
    # By json, which keeps a NaN: msgspec would write null, which means that nothing was compared.
    return json.dumps({"event": type(event).__name__, **asdict(event)}).encode() + b"\n"


def decode(line: bytes) -> Event:
    """The event of one line. Raises ValueError for anything else."""
    import msgspec  # where a child speaks: help needs none

    try:
        fields = json.loads(line)
        with ONE_READER:
            event: Event = msgspec.convert(fields, _KINDS[fields.pop("event")])
        return event
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ValueError(f"not an event: {line[:80]!r}") from error
