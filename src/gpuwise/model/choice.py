"""What somebody needs of GPUs, and what is recommended to them: questions and answers of `choose`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuwise.model import Shown
from gpuwise.model.offer import STALE_DAYS
from gpuwise.model.precision import Precision
from gpuwise.model.record import Basis
from gpuwise.model.result import Interval
from gpuwise.model.workload import Mode

SCHEMA = 1  # Version of a recommendation file. History: 1 = first (2026-11).

Acquire = Literal["own", "rent", "both"]
Way = Literal["on-demand", "community", "spot", "reserved", "new", "used", "street", "have", "unpriced"]
"""How a GPU is obtained: the kinds of offers; it is there already; or it is for sale at no known price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What the cost of owning rests on; none of it is a fact of a GPU."""

    electricity_usd_per_kwh: float = 0.20
    hours_per_week: float = 40.0  # Hours a week in which owned GPUs work
    years: float = 3.0
    host_usd: float = 1500.0  # Share of the machine around it, for each GPU
    host_w: float = 100.0  # What that share draws
    cooling: float = 1.3  # Watts taken from the grid for each watt of the machine
    depreciation: float = 0.30
    """Share of its value that card and host lose in a year; the rest is had back at the end."""
    utilisation: float = 1.0  # Share of the paid hours in which the GPUs work
    max_age_days: int | None = STALE_DAYS
    """Older prices are left out; None keeps them, with wider intervals. Undated ones are never ranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What is to be done, and within which limits. None: no limit."""

    workloads: tuple[tuple[str, float], ...]  # (workload, share of the time); shares sum to 1
    mode: Mode
    task: Literal["", "infer", "full", "lora", "qlora"] = ""  # Of a language model by name; else empty
    precision: Precision
    fallback: Precision | None = None  # What a GPU without that precision may use instead
    compiled: bool = True
    batch: int | None = None  # Items a step on each GPU; None = the fastest that fits
    items: float | None = None  # Work, in items of the workload
    period_s: float | None = None
    """The work comes again in every such period: a service. None: it is done once."""
    deadline_s: float | None = None
    budget_usd: float | None = None
    budget_per_hour: bool = False
    budget_per_month: bool = False
    acquire: Acquire = "both"
    spot: bool = False  # Rent that may be interrupted is allowed
    community: bool = False  # So are hosts of a marketplace
    reserved: bool = False  # And rent with a commitment of months or years
    unproven: bool = False  # Cards of vendors of which the predictor saw no network are ranked like others
    users: int = 1  # People who work at the same time, each with such a machine
    notes: tuple[str, ...] = ()  # How words of the question were read
    providers: tuple[str, ...] = ()  # Empty: every provider
    only: tuple[str, ...] = ()  # Ids of the GPUs to choose among; empty: every GPU
    memory_gb: tuple[float, float | None] | None = None
    """Least and most memory of one GPU, by the number on the product."""
    power_w: float | None = None  # Of all GPUs in one's own machine together, by their board power
    slots: float | None = None  # Of all GPUs in one's own machine together
    form: str | None = None
    gpus: tuple[int, int] = (1, 1)
    latency_s: float | None = None  # Most time from one token to the next, or to the first
    latency_kind: Literal["TPOT", "TTFT"] = "TPOT"  # Which of the two
    have: tuple[str, ...] = ()  # GPUs that are there already, one entry each
    assumptions: Assumptions = Assumptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to get the work done: so many GPUs of a kind, rented or bought somewhere."""

    rank: int
    gpu_id: str
    count: int
    way: Way
    provider: str
    instance: str = ""
    region: str = ""
    price_usd: Interval | None  # Of all GPUs: an hour of rent, or the purchase of the cards; None: not known
    seen_on: str  # ISO date on which the price was seen; empty where that is not known
    price_source: str  # Who states it; empty for what is there already
    stale: bool
    throughput: Interval
    basis: Basis
    precision: str = ""  # Where it is not the one of the need
    time_s: Interval | None = None  # Of the work, or of one period's; None where no amount was given
    cost_usd: Interval | None = None  # Of the work; of one period's where it comes again
    cost_per_item_usd: Interval | None  # None where the price is not known
    energy_j_per_item: float | None = None
    memory_spare: float | None = None  # Share of each GPU's memory that stays free
    outlay_usd: float = 0.0  # Cards and host shares, paid at once, of all users
    host_usd: float = 0.0  # Of these, the host shares
    per_hour_usd: float | None = None  # Of use: rent, or capital and energy; of all users
    power_w: float | None = None  # Board power of all GPUs together
    speedup: float | None = None  # Over what is there already
    break_even_h: float | None = None
    """Hours of use from which owning costs less than the cheapest rent of the same work."""
    frontier: bool = False  # No other option is both faster and cheaper
    why: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What makes two options the same in two recommendations."""
        return (self.gpu_id, self.count, self.way, self.provider)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A GPU that no option has, and the reason that comes nearest to being overcome."""

    gpu_id: str
    reason: str
    constraint: str = ""
    """Code of the limit it breaks, such as `memory`; empty where it has no speed or no price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Whether the first option costs less than another, from the intervals of both."""

    other: int  # Rank of the other
    probability: float

    @property
    def told_apart(self) -> bool:
        """At 80 %, the level of the intervals."""
        return self.probability >= 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Shown):
    """Options by cost of the work, what was left out and why, and what would change the answer."""

    schema: int = SCHEMA
    made_on: str  # ISO date; prices are as known on it
    need: Need
    item: str
    options: tuple[Option, ...]
    answer: str = ""  # The first option in one sentence
    reasons: tuple[str, ...] = ()  # The three that matter most
    runner_up: str = ""
    rejected: tuple[Rejected, ...] = ()
    chances: tuple[Chance, ...] = ()  # Of the first against each of the next
    changes: tuple[str, ...] = ()  # What would change the answer
    advice: tuple[str, ...] = ()  # Two of one against one of another; mixing GPUs
