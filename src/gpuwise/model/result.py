"""Results, raw step times first, since all else can be recomputed from them; and the `Record`,
which holds a measured, published or predicted speed in one shape.

Tables, charts, comparisons, choices and pages read records; where a number comes from travels with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import exp, hypot, log
from typing import Literal, TypeVar, get_args

from gpuwise.model.gpu import Shown, Source, SourceKind
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, Mode, Question, Recipe, RunConfig, Switches

K = TypeVar("K")
V = TypeVar("V")

Severity = Literal["info", "warning", "invalid"]
"""info: normal, worth knowing (a card at its own power limit). warning: read the number with care.
invalid: the number is wrong or means something else; it stays out of rankings and headlines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A reason to read a number with care, or why there is none, and what to do about it."""

    code: str  # Short and stable, such as `noisy`; programs and tests read it
    severity: Severity
    detail: str  # One sentence with the figures behind it
    fix: str = ""  # The next step in words; commands are added by the command line

    @classmethod
    def info(cls, code: str, detail: str, fix: str = "") -> Issue:
        return cls(code=code, severity="info", detail=detail, fix=fix)

    @classmethod
    def warning(cls, code: str, detail: str, fix: str = "") -> Issue:
        return cls(code=code, severity="warning", detail=detail, fix=fix)

    @classmethod
    def invalid(cls, code: str, detail: str, fix: str = "") -> Issue:
        return cls(code=code, severity="invalid", detail=detail, fix=fix)


def usable(issues: tuple[Issue, ...]) -> bool:
    """True where none of the issues makes the number invalid."""
    return all(issue.severity != "invalid" for issue in issues)


# Version of the result file. History: 1 = first (2026-11); 2 = cautions have a severity and a `fix` in place
# of `next_step` (2026-11); 3 = switches have other names, which `question.modern` knows (2026-11).
SCHEMA = 3

Status = Literal["ok", "oom", "failed", "interrupted"]

WIDE = 1.0  # Half width, as a share of the value, from which on an interval says nothing but that

ROUGH = 4.0  # Upper over lower end of a forecast from which on it decides nothing: a factor of 2 to each side


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value with what is known of its uncertainty; the only way a speed leaves `stats`.

    Where a source states a value without uncertainty, low = high = value and level is None.
    """

    value: float
    low: float
    high: float
    level: float | None = 0.95
    method: str

    @classmethod
    def stated(cls, value: float, method: str = "stated") -> Interval:
        """A value without uncertainty."""
        return cls(value=value, low=value, high=value, level=None, method=method)

    @property
    def half_width(self) -> float:
        """The larger distance to either end, as a share of the value."""
        return max(self.value - self.low, self.high - self.value) / self.value

    def within(self, factor: float) -> Interval:
        """Of what it stands for no more closely than within a factor, as a further, independent error."""
        sides = (self.value / self.low, self.high / self.value)
        low, high = (exp(hypot(log(side), log(factor))) for side in sides)
        return replace(self, low=self.value / low, high=self.value * high)

    def times(self, factor: float) -> Interval:
        """In another unit, or of so many alike together, each as uncertain as the other."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One timed window: consecutive steps between two synchronisations."""

    step_s: tuple[float, ...]
    started_s: float  # Monotonic clock at the window's start, seconds; places telemetry samples
    ended_s: float
    each: int = 1  # Steps that one time of `step_s` is the mean of: steps of microseconds are timed together
    run: int = 0  # Number of the process that timed it, where a measurement was repeated


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTrial:
    """One point of the batch search."""

    batch: int
    fits: bool
    compiled: bool = False  # True if this trial ran compiled; the first ranking is made eagerly
    items_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One sample of the device's sensors."""

    at_s: float  # On the clock of the windows
    power_w: float | None = None
    sm_clock_hz: float | None = None
    temperature_c: float | None = None
    held: bool = False  # True if the device gave a reason for a lowered clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """Readings of the device's sensors over the timed windows."""

    samples: int
    power_w: float | None = None
    """Mean draw, from the energy counter where there is one, else from sampled power."""
    energy_j: float | None = None
    """Energy of the timed windows from the counter; None if absent or contradicted by power."""
    sm_clock_hz: float | None = None  # Median clock of the multiprocessors
    sm_clock_min_hz: float | None = None
    temperature_start_c: float | None = None
    temperature_max_c: float | None = None
    pcie_generation: int | None = None
    """The fastest link seen; an idle card lowers it, so the environment's may be less."""
    pcie_width: int | None = None
    throttled: tuple[tuple[str, float], ...] = ()
    """(reason, share of samples) for every reason the device gave for a lowered clock."""
    timeline: tuple[Reading, ...] = ()
    """Samples from the first window's start to the last one's end, thinned evenly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPipeline:
    """A measurement that reads its input from the host, compared with its step alone."""

    workers: int
    pipeline: Interval  # Items per second that the workers hand over while nothing else runs
    alone: Interval  # Items per second of the step with its input on the device
    workers_needed: int
    """Workers that would keep up with the step alone, if each adds as much as those that ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One process of a measurement on several GPUs, and the GPU that is its own."""

    rank: int
    node: int = 0  # Machine, counted from 0
    device: str
    alone_s: float | None = None  # Median step without exchange, while every other rank does the same
    telemetry: Telemetry | None = None  # None for a GPU of another machine until that one's file is merged in


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """How two GPUs of one machine reach each other."""

    a: int
    b: int  # Ranks
    path: str  # As `nvidia-smi topo -m` names it: NV18 (NVLinks), PIX, PXB, PHB, NODE, SYS
    peer: bool | None = None  # True if they read each other's memory directly (P2P)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The ranks that measured together and how they exchanged data."""

    backend: str  # nccl or gloo
    parallel: str | None = None
    """ddp, ddp-after, fsdp2; None where a step exchanges nothing, or is nothing but an exchange."""
    bucket_bytes: int | None = None  # Gradients that travel together under ddp and ddp-after
    node: int = 0  # The machine that says so; it knows its own GPUs' telemetry and links
    ranks: tuple[Rank, ...]
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """How long torch.compile worked before the first step ended, and on how much."""

    seconds: float  # Tracing and generating code; trying kernels out at their first launch is not in it
    whole_s: float | None = None  # All of it: from the built model to the end of its first step
    graphs: int  # Compiled, forward and backward each
    cached: int
    """Of these, those whose code was found in torch's cache on disk: then it was not a cold compilation."""


KernelKind = Literal[
    "matmul",
    "convolution",
    "attention",
    "normalisation",
    "pointwise",
    "copy",
    "transfer",
    "collective",
    "other",
]
"""copy stays on the device; transfer goes to or from the host or another device."""
Bound = Literal["input", "launch", "link", "heat", "power", "compute", "memory"]
"""What a faster one of would make the step faster: the input pipeline, the host that launches, the link,
the cooling, the power limit, the arithmetic, the device's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTime:
    """The kernels of one kind, or of one name, in one step."""

    kind: KernelKind
    count: float
    seconds: float  # Their times added up; kernels that run at once count each
    name: str | None = None  # As the profiler names it; None = all of the kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Profile of a few steps after the timed windows, by torch's profiler; all figures are of one step.

    On a CPU operators are counted as kernels.
    """

    steps: int
    wall_s: float  # Under the profiler, which slows the host
    busy_s: float  # While at least one kernel ran
    link_s: float  # While nothing but collectives and transfers ran
    longest_gap_s: float  # The longest time of no kernel in all the profiled steps
    kernels: tuple[KernelTime, ...]  # Of each kind, longest first
    slowest: tuple[KernelTime, ...] = ()  # Those of the names that take longest, longest first

    @property
    def kernel_count(self) -> float:
        """Kernels of a step."""
        return sum(each.count for each in self.kernels)

    @property
    def kernel_s(self) -> float:
        """Their times added up."""
        return sum(each.seconds for each in self.kernels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The bottleneck, the evidence for it, and what to do about it."""

    bound: Bound
    evidence: tuple[str, ...]  # The deciding fact first
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """One latency over the requests of a load, in seconds."""

    mean: Interval
    p50: Interval
    p90: Interval
    p99: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Requests that ended in the same way without an answer."""

    kind: str  # connect, timeout, http-429, redirect, protocol, cut, empty, server-error, dropped
    count: int
    example: str  # What was said of the first of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a server answered one load. Requests begun within the window count, whenever they ended."""

    window_s: float
    requests: int  # Answered
    failures: tuple[Failure, ...] = ()
    first_token_s: Quantiles | None = None  # TTFT: from when a request was due to its first text
    per_token_s: Quantiles | None = None  # TPOT: mean time between the tokens of an answer after its first
    between_s: Quantiles | None = None  # Time between two pieces of text of one answer
    request_s: Quantiles | None = None  # From when a request was due to its last token
    requests_per_s: Interval
    prompt_tokens: float  # Mean, as the server counted; as asked for where it does not
    answer_tokens: float  # Mean of the answers
    short: int = 0  # Answers of fewer tokens than were asked for
    counted_by: Literal["server", "pieces"] = "server"  # pieces: of text in the stream, taken as tokens
    slo: str = ""  # `TTFT<=500ms,TPOT<=50ms`
    goodput_per_s: Interval | None = None  # Requests a second that kept all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Shown):
    """One configuration, measured."""

    config: RunConfig
    workload_version: int
    status: Status
    item: str
    started_at: str  # UTC, ISO 8601
    batch: int | None = None  # Items per step and GPU that really ran, in the user's unit (images, sequences)
    items_per_step: float | None = None
    """Items of throughput that one step of all GPUs handles; the batch of one, except for limits."""
    throughput: Interval | None = None  # Items per second over all timed steps, stalls included
    steady_per_s: float | None = None
    """Items per second without what rare long steps took; None where there are none."""
    windows: tuple[Window, ...] = ()
    warmup_s: tuple[float, ...] = ()
    """Step times before the timed windows; the first holds compilation and autotuning."""
    cold_start_s: float | None = None
    """From the start of the process, its framework imported, to the end of the first step, without what only
    a measurement does between (batch search, checks, steps of each rank alone; in files before 2026-11-22,
    09:30 UTC, with it)."""
    compilation: Compilation | None = None
    """torch.compile's part of it; None where nothing was compiled, or the framework does not report it."""
    memory_peak_bytes: int | None = None  # Highest memory allocated on the device by the framework
    loss: tuple[float, ...] = ()  # Loss of the first and the last step (training on one fixed batch)
    gradient_norm: float | None = None
    """Of all gradients of a step from the first weights; two recipes of one workload must agree."""
    reference_norm: float | None = None  # The same with products in bf16, to compare FP8 training with
    flop_per_item: float | None = None
    bytes_per_item: float | None = None
    mfu: float | None = None  # Achieved model FLOP/s over the catalog's dense peak of this precision
    limit_share: float | None = None  # Achieved speed over what the limits measured in the same session allow
    limit: Literal["compute", "memory"] | None = None  # Which measured limit is the nearer one
    telemetry: Telemetry | None = None
    batch_trials: tuple[BatchTrial, ...] = ()
    group: Group | None = None
    """Who measured together, where it was more than one GPU; `telemetry` is then that of all."""
    profile: Profile | None = None
    verdict: Bottleneck | None = None
    input: InputPipeline | None = None  # None where the input was on the device
    serving: Serving | None = None  # Of a server that was asked over the network
    phases_s: tuple[tuple[str, float], ...] = ()
    """Where its seconds went, in order: start, build, compile, first step, warm-up, timing, ..."""
    cautions: tuple[Issue, ...] = ()
    error: str | None = None

    @property
    def question(self) -> RunConfig:
        """The question, at the batch that really ran."""
        return self.config if self.config.mode == "limit" else replace(self.config, batch=self.batch)

    @property
    def largest_batch(self) -> int | None:
        """The largest batch that the search found to fit, or that ran; None where nothing did."""
        fitting = [trial.batch for trial in self.batch_trials if trial.fits]
        return max([*fitting, *([self.batch] if self.batch and self.windows else [])], default=None)

    @property
    def items_per_joule(self) -> float | None:
        """Energy efficiency; None where the device does not report its power."""
        if self.throughput is None or self.telemetry is None or not self.telemetry.power_w:
            return None
        return self.throughput.value / self.telemetry.power_w


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """A command that went on with a session which another had begun."""

    started_at: str  # UTC, ISO 8601
    command: str
    card: str | None = None  # As `Environment.card`, where it is another one than before


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result(Shown):
    """One session: what a result file holds."""

    schema: int = SCHEMA
    id: str
    origin: Literal["measured", "published"] = "measured"
    created_at: str  # UTC, ISO 8601
    command: str  # The command line that makes it again
    resumed: tuple[Continuation, ...] = ()
    """Every later command that went on with the session, in their order."""
    environment: Environment
    measurements: tuple[Measurement, ...] = ()
    planned: int = 0  # Measurements planned for the session; 0 where that is unknown
    source: str | None = None  # Citation, where origin is published

    @property
    def ended(self) -> int:
        """How many measurements are complete or failed: fewer than `planned` where it was interrupted."""
        return sum(m.status != "interrupted" for m in self.measurements)

    def __repr__(self) -> str:
        # Thousands of step times would fill a terminal.
        place, count = self.environment.device, len(self.measurements)
        return f"<Result {self.id}: {place}, {self.created_at[:10]}, measurements: {count}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One point of the search."""

    switches: Switches
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One setting, measured."""

    setting: Setting
    measurement: Measurement
    refusal: str | None = None  # Why it does not count: it failed, did not fit, or computes something else
    adopted: bool = False  # True if the search went on from here

    @property
    def speed(self) -> Interval | None:
        """Items per second, where it counts."""
        return None if self.refusal else self.measurement.throughput


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The best recipe known for one workload on one kind of device with one software."""

    device: str  # Catalog entry, else the name that the driver reports
    torch: str
    cuda: str | None
    workload: str
    version: int
    mode: Mode
    precision: Precision
    compile: bool
    gpus: int = 1  # More than one: of the switches, only how these exchange gradients was searched
    batch: int
    batch_given: bool = False  # True if this batch was asked for, so that no other was tried
    switches: Switches
    recipe: Recipe = "tuned"
    """What was searched: stock has torch's own kernels alone, tuned gpuwise's as well."""
    throughput: Interval  # Items per second, measured anew after the search
    gain: Interval  # Over the default switches at the default batch, measured anew as well
    found_at: str  # UTC, ISO 8601
    source: str  # The result that holds every trial

    def of_work(self, config: RunConfig) -> bool:
        """True if it was found for this workload in this precision."""
        return (self.workload, self.precision) == (config.workload, config.precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A search, also one that was ended early."""

    trials: tuple[Trial, ...] = ()
    left: int = 0  # Settings that the time did not reach
    tuned: Tuned | None = None
    """None where nothing ran or was compared, or default and best were not measured again."""

    @property
    def compared(self) -> bool:
        """True if anything was compared with the default, or nothing else was there to be tried."""
        return len(self.trials) > 1 or not self.left


Origin = Literal["measured", "published", "predicted"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)  # The surest first
Basis = Literal["measured", "published", "calibrated", "transferred", "spec-only"]
"""How a number is known, best first but for published: measured on this GPU; stated by others; predicted from
this card's own limits or workloads; from the same question measured on another card; from the data sheet."""


UNSURE = Issue.info(
    "precision-unsure",
    "called fp32 by its source, but TF32 was the default there, or the figure needs more than the FP32 peak",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A publisher's words beside the number."""

    precision: str = ""
    versions: str = ""  # Of framework, CUDA, container, driver
    locator: str = ""  # Page, table, line or file in the source


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Shown):
    """The answer to one question on GPUs of one kind. A figure that is not known is None."""

    question: Question
    gpu_id: str  # Entry of the catalog; the device's own name where the catalog does not have it
    gpu: str = ""  # Its name as the driver or the publisher writes it
    item: str  # What throughput counts: image, sequence, token
    origin: Origin
    basis: Basis
    throughput: Interval | None = None
    """Items per second of all GPUs together; None where an issue says why there is none."""
    seconds: float | None = None  # Of one step; of one output token of a served model (TPOT)
    first_token_s: Interval | None = None  # Of a served model: seconds to the first token of an answer (TTFT)
    memory_bytes: Interval | None = None  # Peak that the framework allocates on one GPU
    replicas: int = 1  # Of a served model: copies of it beside each other, each on its part of the GPUs
    fits_probability: float | None = None  # None where it ran, so that it fits, and where memory is not known
    watts: Interval | None = None  # Mean draw of all GPUs together while steps run
    bound: Bound | None = None
    shares: tuple[tuple[Bound, float], ...] = ()  # Share of a predicted step's time by bound, largest first
    source: Source | None = None  # Who states it, or the file that holds it; None for a prediction
    session: str = ""
    """What shares its conditions: the result that it was measured in; a publisher's source and framework."""
    date: str = ""  # ISO date of the measurement or publication
    software: str = ""  # Framework and version
    issues: tuple[Issue, ...] = ()
    notes: tuple[str, ...] = ()  # The basis of the figures, a sentence each
    measured: Record | None = None  # Beside a prediction: what was measured of the same question on this GPU
    raw: Measurement | None = field(default=None, repr=False)
    """Of a measured one: step times, telemetry and profile behind it."""
    stated: Statement | None = None  # Of a published one

    @property
    def batch(self) -> int | None:
        """Items a step on each GPU."""
        return self.question.batch

    @property
    def gpus(self) -> int:
        """GPUs that work together."""
        return self.question.gpus

    @property
    def value(self) -> float:
        """Items per second of all GPUs together; 0 where there is no throughput."""
        return 0.0 if self.throughput is None else self.throughput.value

    @property
    def precision(self) -> str:
        """As it ran: `tf32?` where a source calls it fp32 but TF32 is likely, `?` where it is unknown."""
        unsure = UNSURE.code in (issue.code for issue in self.issues)
        return f"{self.question.precision or ''}{'?' if unsure else ''}" or "?"

    @property
    def refusal(self) -> str:
        """Why there is no throughput; empty where there is."""
        return self.issues[0].detail if self.throughput is None and self.issues else ""

    @property
    def usable(self) -> bool:
        """True for a number that may be ranked."""
        return self.throughput is not None and usable(self.issues)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of its issues that ask for care, each once; what is only worth knowing is none."""
        return tuple(dict.fromkeys(issue.code for issue in self.issues if issue.severity != "info"))

    @property
    def is_rough(self) -> bool:
        """True for a forecast that is known by its order of magnitude alone: no verdict may rest on it."""
        if self.throughput is None or self.measured is not None or self.origin != "predicted":
            return False
        # A mean of such intervals is as wide but for its last bits.
        wide = self.throughput.high > ROUGH * (1 + 1e-9) * self.throughput.low
        return wide or "order-of-magnitude" in self.codes

    @property
    def leads(self) -> bool:
        """True for a number that may be a headline: usable, and its sensors agree with each other."""
        return self.usable and "energy-mismatch" not in self.codes

    @property
    def items_per_joule(self) -> float | None:
        """Energy efficiency."""
        return self.throughput.value / self.watts.value if self.throughput and self.watts else None

    @property
    def best(self) -> Interval | None:
        """The measured speed where there is one, else this record's own."""
        return self.measured.throughput if self.measured else self.throughput


class Records(tuple[Record, ...], Shown):
    """Several records, which a notebook shows together."""

    __slots__ = ()


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, keys and values in the order in which they come."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def firsts(pairs: Iterable[tuple[K, V]]) -> dict[K, V]:
    """The first value of each key, in the order in which they come."""
    return {key: values[0] for key, values in grouped(pairs).items()}


def records_of(results: Iterable[Result]) -> Records:
    """One record for each measurement, in their order; one that did not end says so in an issue.

    Limits and toy runs are among them: a reader takes those whose question it asks.
    """
    records = []
    for result in results:
        place, day, published = result.environment, result.created_at[:10], result.origin == "published"
        kind: SourceKind = "third-party" if published else "measured"
        for m in result.measurements:
            title = f"gpuwise result {result.id}, {place.device}, {_software(m, place)}"
            title = (published and result.source) or title
            source = Source(id=result.id, title=title, kind=kind, read_on=day)
            records.append(record_of(m, place, session=result.id, source=source, origin=result.origin))
    return Records(records)


def record_of(
    m: Measurement, place: Environment, *, session: str, source: Source,
    origin: Literal["measured", "published"] = "measured",
) -> Record:  # fmt: skip
    """One measurement as a record."""
    # Where the sensors contradict each other, neither watts nor energy can be used.
    doubted = any(issue.code == "energy-mismatch" for issue in m.cautions)
    power, peak = m.telemetry.power_w if m.telemetry else None, m.memory_peak_bytes
    ending = m.error.splitlines()[0] if m.error else f"the measurement is {m.status}"
    failed = () if m.status == "ok" else (Issue.invalid(m.status, ending),)
    return Record(
        question=m.question,
        gpu_id=place.gpu_id or place.device,
        gpu=place.device,
        item=m.item,
        origin=origin,
        basis=origin,
        throughput=m.throughput,
        seconds=m.items_per_step / m.throughput.value if m.items_per_step and m.throughput else None,
        memory_bytes=Interval.stated(peak, "peak") if peak else None,
        watts=Interval.stated(power, "mean") if power and not doubted else None,
        session=session,
        date=source.read_on,
        software=_software(m, place),
        raw=m,
        source=source,
        issues=(*failed, *m.cautions),
    )


def _software(m: Measurement, place: Environment) -> str:
    version = getattr(place, m.config.framework)
    return f"{m.config.framework} {version}" if version else ""


def refused(detail: str) -> tuple[Issue, ...]:
    """The issue of a record without a throughput."""
    return (Issue.invalid("refused", detail),)


Change = Literal["faster", "slower", "same", "unclear", "not-comparable"]
RunBasis = Literal["repeats", "stored", "assumed"]
"""How it is known what differs from run to run: both were repeated, earlier results of that kind of card, or
a figure for all cards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Shown):
    """Measurement `b` against `a`, the baseline."""

    cell: str
    a: Measurement
    b: Measurement
    ratio: Interval | None
    """Throughput of b over a. It says nothing of the GPUs where the verdict is not-comparable, as between
    frameworks; None where there is none."""
    verdict: Change
    note: str = ""
    basis: RunBasis | None = None  # None where there is no verdict of speeds
