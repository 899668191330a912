"""The data of judgements: GPUs for some work (`choose`), and claims of a text about GPUs (`audit`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuwise.model.gpu import STALE_DAYS, OfferKind, Shown
from gpuwise.model.precision import Precision
from gpuwise.model.question import Mode
from gpuwise.model.result import Basis, Interval, Issue

SCHEMA = 2  # Version of a recommendation file. History: 1 = first (2026-11); 2 = spot false: refused.

Acquire = Literal["own", "rent", "both"]
Task = Literal["infer", "full", "lora", "qlora"]
Goal = Literal["cost", "price", "speed", "energy", "power"]
"""What options rank by: cost of an item, what is paid at once or an hour, most work, energy of an item, or
the watts of the boards."""
TASKS: tuple[Task, ...] = ("infer", "full", "lora", "qlora")
"""What is done with a language model: it answers, or learns with all weights or with adapters."""
Way = Literal[
    "on-demand", "community", "spot", "reserved", "serverless", "new", "used", "street", "have", "unpriced"
]
"""How a GPU is obtained: the kinds of offers; it is there already; or it is for sale at no known price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The assumptions behind the cost of owning; none of it is a fact of a GPU."""

    electricity_usd_per_kwh: float = 0.20
    hours_per_week: float = 40.0  # Hours a week in which owned GPUs work
    years: float = 3.0
    host_usd: float | None = None
    """Share of the machine around it, for each GPU; None: by the class of machine (`data/hosts.csv`)."""
    host_w: float | None = None  # What that share draws; likewise
    cooling: float = 1.3  # Watts taken from the grid for each watt of the machine
    depreciation: float = 0.30
    """Share of its value that card and host lose in a year; the rest is had back at the end."""
    utilisation: float = 1.0  # Share of the paid hours in which the GPUs work
    max_age_days: int | None = STALE_DAYS
    """Older prices are left out; None keeps them, with wider intervals. Undated ones are never ranked."""
    aged_today: bool = False  # That age counts today, not on the day of the list that holds the price

    @property
    def owned_for(self) -> str:
        """`3 years`, `8 months`."""
        if self.years % 1:
            months = f"{12 * self.years:.0f}"
            return f"{months} month{'s' * (months != '1')}"
        return f"{self.years:g} year{'s' * (self.years != 1)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A price that the question states of cards: what is paid for them now, or what somebody asks."""

    gpu_id: str
    count: int
    kind: OfferKind
    usd: float  # Of all of them: an hour of rent, or once
    provider: str = ""
    paid: bool = False
    whole: bool = False  # With the machine around them


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The price of the same work elsewhere: of an API or a subscription."""

    of: str
    usd: float | None = None  # None: not stated
    items: float = 0.0  # For so many items of work; 0: a month


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The work, and its limits. None: no limit."""

    workloads: tuple[tuple[str, float], ...]  # (workload, share of the time); shares sum to 1
    mode: Mode
    task: Task | Literal[""] = ""  # Of a language model by name; else empty
    precision: Precision
    fallback: Precision | None = None  # What a GPU without that precision may use instead
    formats: tuple[Precision, ...] = ()
    """Weights of a served model that compete, the shortest last: each GPU takes the fastest."""
    title: str = ""  # What was asked for, where the workload is an example of something else
    by_default: bool = False  # No work was named, so a usual one is taken
    concurrent: int = 0
    """Requests that are answered at once, and what does more is worth no more; 0: the more the better."""
    goal: Goal = "cost"
    passes: float = 1.0  # Runs of the workload that one item takes: an image of a larger diffusion model
    pixels: str = ""  # Sides of an image, where these are not those of the workload
    within: float = 1.0  # Factor within which an item is counted in those of the workload
    context: int | None = None
    """Tokens that a language model holds of one request: prompt and answer; None: `CONTEXTS` of the task."""
    reads: float = 0.0  # Tokens of prompts that are read for each token of an answer; 0: not stated
    least_gb: float = 0.0  # Memory that the work needs beyond what the workload says
    compiled: bool = True
    batch: int | None = None  # Items a step on each GPU; None = the fastest that fits
    items: float | None = None  # Work, in items of the workload
    period_s: float | None = None
    """The work comes again in every such period: a service. None: it is done once."""
    batched: bool = False
    """What comes in each period may wait within it, so GPUs are rented for the hours of the work alone."""
    deadline_s: float | None = None
    budget_usd: float | None = None
    thrifty: bool = False  # A budget was given, but no price is known to check it against
    budget_per_hour: bool = False
    budget_per_month: bool = False
    acquire: Acquire = "both"
    spot: bool | None = None  # Rent that may be interrupted is allowed; False: it is never offered
    community: bool | None = None  # So are hosts of a marketplace; None: those that `providers` name
    reserved: bool = False  # And rent with a commitment of months or years
    most_commitment_h: float | None = None  # The longest such commitment; None: any
    serverless: bool = False  # And rent by the second of use
    sold: tuple[str, ...] = ()  # Kinds of purchases: new, used, street; empty: all
    egress_gb: float = 0.0  # What leaves the provider, in all or each period
    unproven: bool = False  # Cards of vendors of which the predictor saw no network are ranked like others
    currency: tuple[str, float] = ("USD", 1.0)  # Amounts are also said in it; USD for one of its units
    users: int = 1  # People who work at the same time, each with such a machine
    one_machine: bool = False  # All GPUs, those of every one of `users`, are to stand in one machine
    machines: int = 1  # So many alike are wanted, of which each option is one
    sharing: int = 0  # People who use these in turns; 0: not stated
    notes: tuple[str, ...] = ()  # How words of the question were read
    ignored: tuple[str, ...] = ()  # Words of it that change nothing here
    corrected: tuple[str, ...] = ()  # What it takes for granted and is not so, each as a sentence
    providers: tuple[str, ...] = ()  # Empty: every provider
    avoid: tuple[str, ...] = ()  # Providers that are not to be
    region: str = ""  # Where rented GPUs stand, an area of `prices.areas` or a part of a region's name
    only: tuple[str, ...] = ()  # Ids of the GPUs to choose among; empty: every GPU
    named: tuple[str, ...] = ()  # Of these, the ones that were named for their own sake beside a kind
    sets: tuple[tuple[str, int], ...] = ()  # GPUs and how many of each, where only these are compared
    memory_gb: tuple[float, float | None] | None = None
    """Least and most memory of one GPU, by the number on the product."""
    sizes: tuple[tuple[str, float], ...] = ()  # GB of computers that are sold with less memory, too
    total_gb: float = 0.0  # Least memory of all GPUs together
    power_w: float | None = None  # Of all GPUs in one's own machine together, by their board power
    capped: bool = False  # Cards that draw more are limited to it, and slower
    supply_w: float | None = None  # What the supply of that machine gives, where this is the limit
    slots: float | None = None  # Of all GPUs in one's own machine together
    outlet_w: float | None = None  # What the whole machine may draw from the wall
    quiet: bool = False  # An own machine that people sit beside
    at_home: bool = False  # No server's cards, and one, or as many as a large served model takes
    fans: bool = False  # The machine that is there is a server, whose fans cool cards that have none
    form: str | None = None
    gpus: tuple[int, int] = (1, 1)
    latency_s: float | None = None  # Most time from one token to the next, to the first, or of a step
    latency_kind: Literal["TPOT", "TTFT", "step"] = "TPOT"  # Which of these
    first_token_s: float | None = None  # Most time to the first token beside a limit on each next one
    have: tuple[str, ...] = ()  # GPUs that are there already, one entry each
    quotes: tuple[Quote, ...] = ()  # Prices that are candidates beside those that are known here
    bill: Bill | None = None  # What the cost is compared with
    asks: Literal[
        "", "able", "too much", "memory", "energy", "at once", "number", "faster", "speed", "largest",
        "provider", "resale",
    ] = ""  # fmt: skip
    """What else is asked: whether a GPU can do the work or is too much, memory, electricity, how many, which
    of several is faster, how fast one is, which model is the largest that it holds, who
    rents it, or what is left of its price."""
    rate: float = 0.0  # Of `speed`: items a second of each answer, which it is to reach; 0: none was asked
    # Of a GPU, asked whether the work needs it.
    feature: Literal["", "nvlink", "ecc", "pcie 5", "tensor cores"] = ""
    larger: tuple[str, ...] = ()  # Models, of which the first that the limits hold is meant
    also: tuple[str, ...] = ()  # Other works of which the same is asked
    also_users: int = 0  # Users that these serve at once; 0: not stated
    either: bool = False  # Whether to rent or to buy is the question
    hired: tuple[str, ...] = ()  # Of the GPUs that are named, those to rent beside others to buy
    hire_h: float | None = None  # Hours of rent, where these are stated and not the work
    upgrade: bool = False  # They are to be replaced: keeping them is not an answer
    faster: float = 0.0  # By how much: times their speed; 0: enough to be called an upgrade
    keep: bool = False  # They do the work wherever they can
    beside: bool = False  # A card is looked for that works together with them
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
    offered_as: str = ""  # What a rent is called where that leaves the variant open: it counts as the slowest
    region: str = ""
    price_usd: Interval | None  # Of all GPUs: an hour of rent, or the purchase of the cards; None: not known
    seen_on: str  # ISO date on which the price was seen; empty where that is not known
    price_source: str  # Who states it; empty for what is there already
    stale: bool
    committed_h: float = 0.0  # Hours for which this rent is taken at least
    last_usd: float | None = None  # What it was last sold at, where that is too old to be ranked
    throughput: Interval
    parts: tuple[str, ...] = ()  # Of a mix, which has no item of its own: what it does in each part's time
    basis: Basis
    rough: bool = False  # The speed is known within an order of magnitude
    precision: str = ""  # Where it is not the one of the need
    replicas: int = 1  # Of a served model: copies of it beside each other, each on its part of the GPUs
    latency_s: float | None = None  # To the first token, or to each next one; where that is limited
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
        """The identity of an option across two recommendations."""
        return (self.gpu_id, self.count, self.way, self.provider)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The chance that the first option costs less than another, from the intervals of both."""

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
    prices_on: str = ""  # ISO date of the newest price list
    need: Need
    item: str
    options: tuple[Option, ...]
    answer: str = ""  # The first option in one sentence
    reasons: tuple[str, ...] = ()  # The three that matter most
    runner_up: str = ""
    rejected: Mapping[str, Issue] = field(default_factory=dict)
    """GPUs that no option has, each with the limit that comes nearest to being overcome; a code such as
    `memory`, empty where it has no speed or no price."""
    chances: tuple[Chance, ...] = ()  # Of the first against each of the next
    changes: tuple[str, ...] = ()  # What would change the answer
    refused: tuple[str, ...] = ()  # What was named or is there and has no place, each with why
    unknown: tuple[str, ...] = ()  # What would matter for this answer and is not known or not counted
    advice: tuple[str, ...] = ()  # On machines side by side, and on mixing GPUs


Verdict = Literal["agrees", "contradicts", "differs", "cannot tell"]
"""`differs`: another value than the catalog's, which has one source only."""

# How an error came about: the cause that explains just this figure, or "wrong value".
Kind = Literal[
    "digit swap",  # The right digits in another order
    "full die for product",  # The count of the whole chip, of which the product uses a part
    "sparse as dense",  # Its rate, or a variant's, with 2:4 sparsity, which the text does not say
    "dense as sparse",  # The reverse
    "other variant",  # True of another product of the same number: 80 GB, PCIe, laptop, Ti, Super, XT
    "neighbour's row copied",  # The figure of another GPU of the text, or of one a step away in the range
    "unit",  # The right digits in a wrong unit or prefix, or of one direction of a link
    "stale price",  # A price that was right long ago
    "internal contradiction",  # Another line of the same text states the right value
    "wrong value",
    "physics",  # Faster than memory or arithmetic allow
    "wrong precision",  # Of a rate: that of another format, "312 TFLOPS FP32" of an A100
    "scaling over 100 %",
    "exactly linear",
    "exact halves",
    "repeated value",
    "order against FLOPs",
    "counted samples",
    "caution",
    "capability",  # The hardware lacks what is said to be there, or the reverse
    "base as boost",  # The base clock for the boost clock, or the reverse
    "wrong ratio",  # The text compares two figures wrongly
    "wrong sum",  # It adds up wrongly
    "per system",  # What a system of several has, under the name of one
]

NOT_IN_CATALOG = "not in the catalog"  # The explanation of a finding about a GPU that nobody can judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number as printed."""

    value: float  # In the SI base unit of its field
    digits: int  # Significant digits printed, trailing zeros of whole numbers left out: 2000 has one


Relation = Literal["times", "over", "under", "plus", "same"]
"""So many times the other figure, more or less often than that, greater by a difference, or equal to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One field of one GPU (or of any of several variants) as a text states it."""

    line: int  # Counted from 1
    gpu: str  # The GPU as written
    gpu_ids: tuple[str, ...]  # All it may mean. Several different GPUs where the text leaves open which.
    field: str  # A field of the catalog; `peak:<format>` or `peak:tensor` for arithmetic peaks
    values: tuple[Number | str, ...]  # Several where one cell holds several: "40/80"
    stated: str  # The value as written
    block: int = 0  # Claims of one table row, list or section about one GPU share a block
    line_of_field: int = 0
    """Of a table: the column, or the row where GPUs stand along the top, in which its field is stated."""
    approximate: bool = False
    at_most: bool = False  # "up to": the best of the variants is meant
    sparse: bool | None = None  # True where the text says so; None where it says nothing
    vector: bool = False  # The text speaks of the ordinary cores, not of the matrix units
    several: bool = False
    """`gpu_ids` are different products, so that disagreement with all of them proves little."""
    of_any: bool = False
    """`gpu_ids` are all products that the text speaks of here: it is of one of them, and wrong if of none."""
    is_range: bool = False  # The values are the ends of a range: "600-900 W"
    count: int = 1  # Of "8x H100": how many GPUs the value may be the sum of
    total: bool = False  # The text says that the value is the sum over `count` GPUs
    than: tuple[str, ...] = ()  # Of a ratio, such as "2.4 times the memory of": the GPU compared with
    more: bool = False  # Of a ratio: "more" or "faster", which may mean one more than the times
    relation: Relation = "times"  # How the figure is said to compare with that of `than`
    context: tuple[str, ...] = ()  # Of a speed or a rent: the words around it, the closest first
    sure: bool = True  # False where a second reading of the layout explains the text nearly as well
    doubt: str = ""  # Why it may be something else than what its product has: "measured"
    sentence: int = 0  # Where its sentence begins in a paragraph
    group: str = ""  # Sure where most claims of its group agree: of the GPU of a heading further up, say


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict on one claim, or on several lines that share one fault."""

    lines: tuple[int, ...]
    gpu: str
    field: str
    stated: str
    verdict: Verdict
    kind: Kind | None = None  # Set where the verdict is "contradicts"
    best: str = ""  # The best known value, as printed
    source: str = ""  # Where the best value was read
    explanation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A value that looks like a GPU's and was not judged."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The findings in one file, and what was not judged."""

    file: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()  # What to know about the reading itself: encoding, rows left out
    unknown_gpus: tuple[str, ...] = ()  # GPUs that the file names and the catalog does not have
    unjudged: tuple[Unjudged, ...] = ()  # Values that could not be tied to a GPU and a field

    def count(self, verdict: Verdict) -> int:
        """Findings with this verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)
