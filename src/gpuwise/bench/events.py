"""What the child tells the parent: one JSON object a line, `event` names the kind.

Everything measured so far is in the parent's hands after each line, so a killed child loses
at most the window it was timing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

ErrorKind = Literal["oom", "unsupported", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """torch is imported and the device answers."""

    torch: str
    cuda: str | None
    cudnn: str | None
    device: str
    memory_bytes: int | None


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
class Checked:
    """Relative difference between compiled and eager."""

    mismatch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The first step ended, `seconds` after the process began."""

    seconds: float


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The measurement is complete."""

    memory_peak_bytes: int | None
    loss: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The child gives up on this configuration."""

    kind: ErrorKind
    message: str


Event = Ready | Tried | Built | Checked | First | Warmup | Timed | Done | Failed
Report = Callable[[Event], None]

_KINDS: dict[str, type[Event]] = {
    kind.__name__.lower(): kind for kind in (Ready, Tried, Built, Checked, First, Warmup, Timed, Done, Failed)
}


def encode(event: Event) -> bytes:
    """One line, newline included."""
    return json.dumps({"event": type(event).__name__.lower(), **asdict(event)}).encode() + b"\n"


def decode(line: bytes) -> Event:
    """The event of one line. Raises ValueError for anything else."""
    try:
        fields = json.loads(line)
        kind: Callable[..., Event] = _KINDS[fields.pop("event")]
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an event: {line[:80]!r}") from error
