"""What is judged, and what a judgement says: one card, its reasons, a host, the references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gpuwise.measure.telemetry import DeviceInfo, Wear
from gpuwise.model.result import Result

Code = Literal[
    "busy",
    "ecc",
    "failed",
    "hot",
    "mig",
    "mixed",
    "outlier",
    "pcie",
    "power-cap",
    "slow",
    "spread",
    "throttled",
    "unwatched",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a card or host is not accepted (`fails`), or what to know of it all the same."""

    code: Code
    fails: bool = True
    detail: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One GPU (or the processor) with what was measured on it."""

    name: str
    """`GPU 0`, or the file of its result."""
    result: Result
    info: DeviceInfo | None = None
    """What the driver told; None where only the result file is known."""
    before: Wear = Wear()  # noqa: RUF009  frozen, so one for all is safe
    after: Wear = Wear()  # noqa: RUF009
    """Faults counted before and after the measurements."""
    refusal: str = ""
    """Who held it, so that it could not be measured; empty where it was."""

    @property
    def on_gpu(self) -> bool:
        """Whether it is a GPU: a processor has neither links nor company to judge."""
        return self.info is not None or any(m.config.device == "cuda" for m in self.result.measurements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A card and every reason that was found."""

    card: Card
    reasons: tuple[Reason, ...] = ()

    @property
    def passed(self) -> bool:
        return not any(reason.fails for reason in self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The verdict on the cards of one host."""

    cards: tuple[Judged, ...]
    host: tuple[Reason, ...] = ()
    """Reasons that no single card can be blamed for."""
    margin: float
    references: tuple[str, ...] = ()
    """What the cards were held against, beside each other."""

    @property
    def passed(self) -> bool:
        return all(card.passed for card in self.cards) and not any(reason.fails for reason in self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Speeds that a card should reach."""

    name: str
    result: Result
    same_code: bool = True
    """False: measured with another program, so that a slower card is worth a word, not a refusal."""


Lookup = Callable[[Result], tuple[Reference, ...]]
"""The references for a card, by its result."""
