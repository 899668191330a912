"""What was measured: raw step times first, everything else can be recomputed from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpuwise.model import Shown
from gpuwise.model.issue import Issue
from gpuwise.model.precision import Precision
from gpuwise.model.recipe import Recipe, Switches
from gpuwise.model.run import Environment, RunConfig
from gpuwise.model.workload import Mode

# Version of the result file. History: 1 = first (2026-11); 2 = cautions have a severity and a `fix` in place
# of `next_step` (2026-11); 3 = switches have other names, which `recipe.modern` knows (2026-11).
SCHEMA = 3

Status = Literal["ok", "oom", "failed", "interrupted"]

WIDE = 1.0  # Half width, as a share of the value, from which on an interval says nothing but that


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

    @property
    def half_width(self) -> float:
        """The larger distance to either end, as a share of the value."""
        return max(self.value - self.low, self.high - self.value) / self.value

    def times(self, factor: float) -> Interval:
        """In another unit, or of so many alike together, each as uncertain as the other."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One timed window: consecutive steps between two synchronisations."""

    step_s: tuple[float, ...]
    started_s: float  # Monotonic clock at the window's start, seconds; places telemetry samples
    ended_s: float
    each: int = 1
    """Steps that one time of `step_s` is the mean of: steps of microseconds are timed together."""
    run: int = 0
    """Number of the process that timed it, where a measurement was repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTrial:
    """One point of the batch search."""

    batch: int
    fits: bool
    compiled: bool = False  # Whether this trial ran compiled; the first ranking is made eagerly
    items_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One sample of the device's sensors."""

    at_s: float  # On the clock of the windows
    power_w: float | None = None
    sm_clock_hz: float | None = None
    temperature_c: float | None = None
    held: bool = False  # Whether the device gave a reason for a lowered clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What the device's sensors said over the timed windows."""

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
    """A measurement that reads its input from the host, held against its step alone."""

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
    peer: bool | None = None  # Whether they read each other's memory directly (P2P)


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
    graphs: int  # Compiled, forward and backward each
    cached: int
    """Of these, those whose code was found in torch's cache on disk: then it was no compilation from cold."""


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
    name: str | None = None  # As the profiler tells it; None = all of the kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a few steps after the timed windows did, by torch's profiler; all figures are of one step.

    On a CPU an operator stands for a kernel.
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
class Verdict:
    """What bounds the speed, why one thinks so, and what to do about it."""

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
    throughput: Interval | None = None
    """Items per second over all timed steps, stalls included."""
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
    """What torch.compile did of it; None where nothing was compiled, or the framework does not tell."""
    memory_peak_bytes: int | None = None  # Highest memory allocated on the device by the framework
    loss: tuple[float, ...] = ()  # Loss of the first and the last step (training on one fixed batch)
    gradient_norm: float | None = None
    """Of all gradients of a step from the first weights; two recipes of one workload must agree."""
    reference_norm: float | None = None  # The same with products in bf16, for FP8 training to be held against
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
    verdict: Verdict | None = None
    input: InputPipeline | None = None  # None where the input was on the device
    serving: Serving | None = None  # Of a server that was asked over the network
    cautions: tuple[Issue, ...] = ()
    error: str | None = None

    @property
    def question(self) -> RunConfig:
        """What was asked, at the batch that really ran."""
        return self.config if self.config.mode == "limit" else replace(self.config, batch=self.batch)

    @property
    def largest_batch(self) -> int | None:
        """The largest batch that the search found to fit, or that ran; None where nothing did."""
        fitting = [trial.batch for trial in self.batch_trials if trial.fits]
        return max([*fitting, *([self.batch] if self.batch and self.windows else [])], default=None)

    @property
    def items_per_joule(self) -> float | None:
        """Energy efficiency; None where the device does not tell its power."""
        if self.throughput is None or self.telemetry is None or not self.telemetry.power_w:
            return None
        return self.throughput.value / self.telemetry.power_w


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """A command that went on with a session which another had begun."""

    started_at: str  # UTC, ISO 8601
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
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
    source: str | None = None  # Citation, where origin is published


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
    adopted: bool = False  # Whether the search went on from here

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
    batch_given: bool = False  # Whether this batch was asked for, so that no other was tried
    switches: Switches
    recipe: Recipe = "tuned"
    """What was searched: stock has torch's own kernels alone, tuned gpuwise's as well."""
    throughput: Interval  # Items per second, measured anew after the search
    gain: Interval  # Over the default switches at the default batch, measured anew as well
    found_at: str  # UTC, ISO 8601
    source: str  # The result that holds every trial

    def of_work(self, config: RunConfig) -> bool:
        """Whether it was found for this workload in this precision."""
        return (self.workload, self.precision) == (config.workload, config.precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A search, as far as it came."""

    trials: tuple[Trial, ...] = ()
    left: int = 0  # Settings that the time did not reach
    tuned: Tuned | None = None
    """None where nothing ran or was compared, or default and best were not measured again."""

    @property
    def compared(self) -> bool:
        """Whether anything was held against the default, or nothing else was there to be tried."""
        return len(self.trials) > 1 or not self.left
