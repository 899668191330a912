"""One card and what is said of it, and which of its speeds may be compared with which.

Equal questions only: workload, mode, precision, compilation, recipe, batch asked, version. Stock and tuned
are one recipe here: each card runs the best that is known for it. The speed is the measured one, but for
limits of arithmetic, which are taken from their fastest window:

    speed = max over windows of (items a step x steps / time)        limits counted in FLOP
    speed = median of the windows                                    everything else

Large GPUs reach their power limit in a matrix product and lower the clock within a tenth of a second. How
many windows come before that depends on temperature and on what ran before, so medians of good cards differ
by up to a tenth where their fastest windows differ by some 3 % (H200s, `data/reach.csv`). What a card
sustains under its power limit is judged by training and inference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from gpuwise.measure.telemetry import DeviceInfo, Wear
from gpuwise.model.issue import Issue, usable
from gpuwise.model.result import Interval, Measurement, Result, Window

# Key of the question, batch asked for, version of the workload.
Asked = tuple[str, int | None, int]
Outcome = Literal["pass", "FAIL", "not judged"]


def question(m: Measurement) -> Asked:
    """What must be equal for two speeds to be compared."""
    return m.config.key("batch", "kernels"), m.config.batch, m.workload_version


def named(asked: Asked) -> str:
    """`copy-l2:limit:fp32:eager:stock batch 8` in a reason."""
    cell, batch, _ = asked
    words = cell.removesuffix(":stock").replace(":", " ").replace(" limit", "").removesuffix(" eager")
    return f"{words} {batch}" if batch else words


def speeds(result: Result) -> dict[Asked, Interval]:
    """Every complete speed of a result."""
    found = {question(m): speed_of(m) for m in result.measurements if m.status == "ok"}
    return {asked: speed for asked, speed in found.items() if speed is not None and speed.value > 0}


def speed_of(m: Measurement) -> Interval | None:
    """The speed by which a card is judged, items per second."""
    best = fastest(m)
    if not best:
        return m.throughput
    rate = _rate(m, best[0])
    return Interval(value=rate, low=rate, high=rate, level=None, method="fastest window")


def fastest(m: Measurement) -> tuple[Window, ...]:
    """The one window that judges a limit of arithmetic; none of other measurements."""
    if m.config.mode != "limit" or m.item != "FLOP" or not m.windows or not m.items_per_step:
        return ()
    return (max(m.windows, key=lambda window: _rate(m, window)),)


def _rate(m: Measurement, window: Window) -> float:
    return (m.items_per_step or 0.0) * len(window.step_s) / sum(window.step_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedCard:
    """One GPU (or the processor) with what was measured on it."""

    __test__ = False  # pytest collects classes by this name

    name: str  # `GPU 0`, or the file of its result
    result: Result
    info: DeviceInfo | None = None  # What the driver reported; None where only the result file is known
    before: Wear = Wear()  # noqa: RUF009  frozen, so one for all is safe
    after: Wear = Wear()  # noqa: RUF009
    """Faults counted before and after the measurements."""
    refusal: str = ""  # Who held it, so that it could not be measured; empty where it was

    @property
    def on_gpu(self) -> bool:
        """False for a processor, which has neither links nor other processes to judge."""
        return self.info is not None or any(m.config.device == "cuda" for m in self.result.measurements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A card with every issue that was found; an invalid one fails it."""

    card: TestedCard
    issues: tuple[Issue, ...] = ()
    compared: int = 0  # Speeds that were compared with a reference or with other cards

    @property
    def passed(self) -> bool:
        """Nothing that fails was found."""
        return usable(self.issues)

    @property
    def outcome(self) -> Outcome:
        """A card whose speeds were compared with nothing may be half as fast as it should be."""
        if not self.passed:
            return "FAIL"
        return "pass" if self.compared else "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The verdict on the cards of one host."""

    cards: tuple[Judged, ...]
    host: tuple[Issue, ...] = ()  # Issues that no single card can be blamed for
    margin: float
    references: tuple[str, ...] = ()  # Names of what the cards were compared with, beside each other

    @property
    def passed(self) -> bool:
        """Nothing that fails was found on any card or on the host."""
        return all(card.passed for card in self.cards) and usable(self.host)

    @property
    def outcome(self) -> Outcome:
        """That of the host: not judged where any card is."""
        return together(self.passed, (card.outcome for card in self.cards))


def together(passed: bool, outcomes: Iterable[Outcome]) -> Outcome:
    """One outcome of several."""
    if not passed:
        return "FAIL"
    return "not judged" if "not judged" in outcomes else "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Speeds that a card should reach."""

    name: str
    result: Result
    same_code: bool = True
    """False: measured with another program, so that a slower card is worth a word, not a refusal."""


# The references for a card, by its result.
Lookup = Callable[[Result], tuple[Reference, ...]]
