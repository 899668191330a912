"""From the child's events and the sensor's samples to a Measurement, and to its bottleneck. Pure.

The bottleneck: the first of these that holds decides, because each hides what comes after it.

1. input    the step alone is faster than with its input from the host, by more than 5 % and the noise
2. launch   the device is idle for more than 15 % of a step: kernels do not come fast enough
3. link     for more than 15 % of a step nothing but collectives and transfers run
4. heat     the driver lowers the clock for heat in more than 5 % of the samples
5. power    the power limit lowers the clock, most of the time and by more than a tenth
6. compute or memory   the nearer measured limit where at least half of it is reached (the roofline of
   Williams, Waterman and Patterson 2009), else memory where that is the nearer limit (products that
   read weights for a few items), else what most of the kernel time goes to: products, convolutions
   and attention, or everything else, which moves data

Kernel times are those of the profiled steps, the step time that of the timed windows without profiler.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import cast

from gpuwise.measure import events
from gpuwise.measure.checks import check, unprofiled
from gpuwise.measure.telemetry import DeviceInfo, Sample, combined, summarise
from gpuwise.measure.telemetry import cautions as telemetry_cautions
from gpuwise.measure.telemetry.sensor import CAPPED_CLOCK, POWER_CAPPED, THROTTLED
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Environment, RunConfig, WorkloadSpec
from gpuwise.model.result import (
    BatchTrial,
    Bottleneck,
    Bound,
    Compilation,
    Group,
    InputPipeline,
    Issue,
    KernelKind,
    KernelTime,
    Link,
    Measurement,
    Profile,
    Rank,
    Status,
    Telemetry,
    Window,
)
from gpuwise.model.units import percent, seconds, significant
from gpuwise.stats.interval import stalls, throughput

# Equal cards differ by some per cent; a rank that needs more than this over the middle one is slow.
SLOW, UNEVEN = 1.05, 1.01


@dataclass(slots=True, kw_only=True)
class MeasurementBuilder:
    """What the events of a child have brought so far, or of several that measure the same in turn."""

    run: int = 0  # Number of the child

    ready: events.Ready | None = None
    tried: list[events.Tried] = field(default_factory=list)
    built: events.Built | None = None
    ranked: events.Ranked | None = None
    mismatch: float | None = None
    gradient_norm: float | None = None
    reference_norm: float | None = None
    first: events.First | None = None
    warmup_s: tuple[float, ...] = ()
    windows: list[Window] = field(default_factory=list)
    fed: events.Fed | None = None
    done: events.Done | None = None
    profile: Profile | None = None
    unprofiled: str | None = None  # Why there is no profile, where there should be one
    failed: events.Failed | None = None
    phases_s: dict[str, float] = field(default_factory=dict)
    now_s: float = field(default_factory=time.monotonic)  # When the newest phase ended

    def begin(self, run: int) -> None:
        """The next child begins; warm-up and cold start stay those of the first."""
        self.run, self.done = run, None

    @property
    def phase(self) -> str:
        """What goes on after the events so far."""
        reached = {
            "timing": bool(self.warmup_s),
            "warm-up": self.first is not None,
            "first step": "compile" in self.phases_s,
            "compile": self.built is not None,
            "build": self.ready is not None,
            "start": True,
        }
        if self.done is not None:
            return "profile" if self.profile is None and self.unprofiled is None else "end"
        return next(name for name, there in reached.items() if there)

    def ends(self, phase: str, now_s: float) -> None:
        """The time since the last phase was that of this one."""
        self.phases_s[phase] = self.phases_s.get(phase, 0.0) + now_s - self.now_s
        self.now_s = now_s

    def add(self, event: events.Event) -> None:
        """Take in one event."""
        self.ends(_phase_of(event, timed=self.done is not None), time.monotonic())
        match event:
            case events.Ready():
                self.ready = event
            case events.Tried():
                self.tried.append(event)
            case events.Built():
                self.built = event
            case events.Ranked():
                self.ranked = event
            case events.Checked():
                self.mismatch = event.mismatch
                self.gradient_norm, self.reference_norm = event.gradient_norm, event.reference_norm
            case events.First():
                self.first = self.first or event
            case events.Warmup(step_s=step_s):
                self.warmup_s = self.warmup_s or step_s
            case events.Timed():
                self.windows.append(Window(**asdict(event), run=self.run))
            case events.Fed():
                self.fed = event
            case events.Done():
                self.done = event
            case events.Profiled():
                fields = {
                    name: getattr(event, name)
                    for name in ("steps", "wall_s", "busy_s", "link_s", "longest_gap_s")
                }
                self.profile = Profile(
                    **fields,
                    kernels=tuple(_kernel_time(*each) for each in event.kernels),
                    slowest=tuple(_kernel_time(*each) for each in event.slowest),
                )
            case events.Unprofiled(reason=reason):
                self.unprofiled = reason
            case events.Failed():
                self.failed = event


def _phase_of(event: events.Event, *, timed: bool) -> str:
    """What ends with an event."""
    match event:
        case events.Ready():
            return "start"
        case events.Tried():
            return "largest batch" if timed else "search"
        case events.Built() | events.Ranked():
            return "build"
        case events.Checked():
            return "compile"
        case events.First():
            return "first step"
        case events.Fed():
            return "input"
        case events.Warmup():
            return "warm-up"
        case events.Profiled() | events.Unprofiled():
            return "profile"
        case events.Cooldown():
            return "cooling"
        case _:
            return "timing"


def _kernel_time(kind: str, count: float, seconds: float, name: str | None = None) -> KernelTime:
    return KernelTime(kind=cast(KernelKind, kind), count=count, seconds=seconds, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What this machine reached in this session."""

    flop_per_s: dict[str, float] = field(default_factory=dict)  # By precision
    bytes_per_s: float | None = None

    def with_measured(self, m: Measurement) -> Limits:
        """These limits and, where `m` is a limit, its value."""
        if m.config.mode != "limit" or m.status != "ok" or m.throughput is None:
            return self
        if m.config.workload == "copy":
            return replace(self, bytes_per_s=m.throughput.value)
        if m.config.workload == "matmul":
            return replace(self, flop_per_s={**self.flop_per_s, m.config.precision: m.throughput.value})
        return self


def assemble(
    config: RunConfig,
    workload: WorkloadSpec,
    builder: MeasurementBuilder,
    *,
    started_at: str,
    samples: Sequence[Sample] = (),
    others: Sequence[Sequence[Sample]] = (),
    links: tuple[Link, ...] = (),
    gpu: GpuSpec | None = None,
    limits: Limits,
    environment: Environment | None = None,
    interrupted: bool = False,
    error: str | None = None,
    cautions: Iterable[Issue] = (),
) -> Measurement:
    """One Measurement, complete with derived numbers and cautions.

    `samples` are of the first GPU, `others` of those beside it that took part, `links` between them all.
    """
    status: Status = "ok" if builder.done is not None else "failed"
    if builder.failed is not None:
        status = "oom" if builder.failed.kind == "oom" else "failed"
    elif interrupted:
        status = "interrupted"
    speed, steady, first, pipeline = None, None, builder.first, None
    if builder.windows and builder.built is not None:
        steps = [window.step_s for window in builder.windows]
        runs, method = [w.run for w in builder.windows], "bursts" if config.mode == "limit" else "long-run"
        speed = throughput(steps, builder.built.items, runs=runs, method=method)
        stalled = stalls(steps)
        steady = speed.value / (1 - stalled.share) if stalled is not None else None
    if builder.fed is not None and builder.built is not None:
        fed, items = builder.fed, builder.built.items
        workers, alone = throughput(fed.pipeline_s, items), throughput(fed.alone_s, items)
        pipeline = InputPipeline(
            workers=fed.workers,
            pipeline=workers,
            alone=alone,
            workers_needed=math.ceil(fed.workers * alone.value / workers.value),
        )
    measured = Measurement(
        config=config,
        workload_version=workload.version,
        status=status,
        item=workload.item,
        started_at=started_at,
        batch=builder.built.batch if builder.built else config.batch,
        items_per_step=builder.built.items if builder.built else None,
        throughput=speed,
        steady_per_s=steady,
        windows=tuple(builder.windows),
        warmup_s=builder.warmup_s,
        cold_start_s=first.seconds if first else None,
        compilation=Compilation(
            seconds=first.compile_s, whole_s=first.whole_s, graphs=first.graphs, cached=first.cached_graphs
        )
        if first is not None and first.compile_s is not None
        else None,
        memory_peak_bytes=builder.done.memory_peak_bytes if builder.done else None,
        loss=builder.done.loss if builder.done else (),
        gradient_norm=builder.gradient_norm,
        reference_norm=builder.reference_norm,
        telemetry=summarise(samples, builder.windows) if builder.windows else None,
        batch_trials=tuple(
            BatchTrial(batch=t.batch, fits=t.fits, compiled=t.compiled, items_per_s=t.items_per_s)
            for t in builder.tried
        ),
        profile=builder.profile,
        input=pipeline,
        phases_s=tuple(builder.phases_s.items()),
        error=builder.failed.message if builder.failed else None if status == "ok" else error,
    )
    if builder.built is not None and config.size == "full":
        # A toy model costs something else than the workload, and is never compared with a limit.
        cost = builder.built.flop_per_item, builder.built.bytes_per_item
        measured = replace(measured, flop_per_item=cost[0], bytes_per_item=cost[1])
        measured = _against_limits(measured, gpu, limits)
    most_hz = environment.sm_clock_max_hz if environment is not None else None
    bound = bottleneck(measured, sm_clock_max_hz=most_hz, switches=workload.switches)
    measured = replace(measured, verdict=bound)
    found = check(
        measured,
        samples=samples,
        mismatch=builder.mismatch,
        odd=builder.done.odd if builder.done else None,
        environment=environment,
        memory_bytes_per_s=gpu.memory_bytes_per_s if gpu is not None else None,
    )
    if builder.ranked is not None:
        # The telemetry of all GPUs, each GPU's own, and the cautions of those beside the first.
        windows = measured.windows
        each = (measured.telemetry, *(summarise(seen, windows) if windows else None for seen in others))
        group = group_of(builder.ranked, each, links)
        found += tuple(unequal(group))
        for number, (seen, telemetry) in enumerate(zip(others, each[1:], strict=True), start=1):
            if telemetry is not None:
                found += tuple(
                    replace(caution, detail=f"GPU {number}: {caution.detail}")
                    for caution in telemetry_cautions(telemetry, seen, windows)
                )
        measured = replace(measured, group=group, telemetry=combined(each))
    # A child that fails after Done crashed in the profiler.
    died = error if status == "ok" and builder.profile is None else None
    unseen = unprofiled(builder.unprofiled or died)
    return replace(measured, cautions=(*cautions, *found, *unseen))


def _against_limits(m: Measurement, gpu: GpuSpec | None, limits: Limits) -> Measurement:
    """Add MFU and the share of the measured limit, where its cost and the device are known."""
    if m.throughput is None:
        return m
    speed, flop = m.throughput.value / m.config.gpus, m.flop_per_item or 0.0
    peak = gpu.peak(m.config.precision) if gpu is not None else None
    m = replace(m, mfu=flop * speed / peak.flop_per_s if peak and flop else None)
    if m.config.mode == "limit":
        return m
    compute, memory = limits.flop_per_s.get(m.config.precision), limits.bytes_per_s
    shares = {
        "compute": flop * speed / compute if compute else 0.0,
        "memory": m.bytes_per_item * speed / memory if memory and m.bytes_per_item else 0.0,
    }
    nearer = "compute" if shares["compute"] >= shares["memory"] else "memory"
    known = shares[nearer] > 0
    return replace(
        m,
        limit_share=shares[nearer] if known else None,
        limit=nearer if known else None,  # type: ignore[arg-type]
    )


def group_of(
    ranked: events.Ranked, telemetry: Sequence[Telemetry | None] = (), links: tuple[Link, ...] = ()
) -> Group:
    """The group that the ranks reported; `telemetry` is that of this machine's GPUs, in their order."""
    own = iter(telemetry)
    ranks = tuple(
        Rank(
            rank=rank,
            node=node,
            device=device,
            alone_s=ranked.alone_s[rank] if ranked.alone_s else None,
            telemetry=next(own, None) if node == ranked.node else None,
        )
        for rank, (node, device) in enumerate(zip(ranked.nodes, ranked.devices, strict=True))
    )
    return Group(
        backend=ranked.backend,
        parallel=ranked.parallel,
        bucket_bytes=ranked.bucket_bytes,
        node=ranked.node,
        ranks=ranks,
        links=links,
    )


def unequal(group: Group) -> Iterator[Issue]:
    """Cautions where the ranks are unequal.

    Ranks that work in step go at the pace of the slowest one, so a weaker model, a lower power limit or a
    card that is slow for a reason of its own costs all of them its time.
    """
    models = {rank.device for rank in group.ranks}
    if len(models) > 1:
        listed = "; ".join(f"rank {rank.rank}: {rank.device}" for rank in group.ranks)
        yield _mixed(f"different models work in step: {listed}", "measure equal cards")
    alone = [rank.alone_s for rank in group.ranks if rank.alone_s is not None]
    middle = median(sorted(alone)[:-1]) if len(alone) > 1 else float("inf")
    for rank in group.ranks:
        if rank.alone_s is not None and rank.alone_s > SLOW * middle:
            yield Issue.warning(
                "slow-rank",
                f"rank {rank.rank} ({rank.device}, machine {rank.node}) needs "
                f"{percent(rank.alone_s / middle - 1)} longer for a step than the middle one of the others, "
                "and all wait for it",
                "compare its clocks, heat and PCIe link with the others'",
            )


def uneven_power(infos: Sequence[DeviceInfo]) -> Iterator[Issue]:
    """The caution for GPUs of one measurement that may draw unequal power."""
    limits = [info.power_limit_w for info in infos if info.power_limit_w]
    if limits and max(limits) > UNEVEN * min(limits):
        listed = "; ".join(f"GPU {i.index}: {i.power_limit_w:.0f} W" for i in infos if i.power_limit_w)
        yield _mixed(f"different power limits: {listed}", "set equal limits, or measure equal cards")


def _mixed(detail: str, next_step: str) -> Issue:
    return Issue.warning("mixed", detail, next_step)


SLOWER = 0.05
IDLE = 0.15
LINKED = 0.15
# Share of a measured limit from which it is the explanation.
ROOF = 0.5
# Share of the kernel time below which a kind is not worth a word.
NAMED = 0.02

ARITHMETIC: frozenset[KernelKind] = frozenset({"matmul", "convolution", "attention"})
HEAT = frozenset({"thermal", "hw-slowdown"})
POWER = frozenset({"power-cap", "power-brake"})


def bottleneck(
    m: Measurement, *, sm_clock_max_hz: float | None = None, switches: Collection[str] = ()
) -> Bottleneck | None:
    """The bottleneck of a measurement; None for a limit, a failure, or where nothing is known.

    `switches` are those that the workload heeds.
    """
    if m.throughput is None or m.status != "ok" or m.config.mode == "limit":
        return None
    step_s = median(seconds for window in m.windows for seconds in window.step_s)
    found = list(_evidence(m, step_s, sm_clock_max_hz))
    facts = {bound: fact for bound, fact, _ in found}
    first = next((bound for bound, _, holds in found if holds), None)
    if first is None:
        return None
    others = tuple(fact for bound, fact in facts.items() if bound != first and fact)
    return Bottleneck(
        bound=first, evidence=(facts[first], *others), next_step=next_step(first, m.config, m.batch, switches)
    )


def next_step(bound: Bound, config: RunConfig, batch: int | None, switches: Collection[str]) -> str:
    """What may help against a bound, of what is not done already."""
    compiling = () if config.compile or config.framework != "torch" else ("--compile on",)
    tunable = config.compile and config.recipe != "script" and config.device == "cuda" and "graph" in switches
    tried = f"CUDA graphs (tuning {config.workload} at batch {batch} tries them)"
    graph = (tried,) if tunable and config.switches.graph == "off" else ()
    narrower = () if config.precision == "fp8" else ("a lower precision",)
    match bound:
        case "input":
            return "more workers, cheaper decoding, or decode on the GPU"
        case "launch":
            return f"fewer and longer kernels: {_or(*compiling, *graph, 'a larger --batch')}"
        case "link":
            return "a larger batch per GPU, overlap of communication, or a faster link"
        case "heat":
            return "improve the cooling; the card is slower than it could be"
        case "power":
            return "a higher power limit, where the card has one"
        case "compute":
            return _or(*narrower, "a GPU with more FLOP/s")
        case "memory":
            fusion = tuple(f"fusion ({each})" for each in compiling)
            return _or(*fusion, *narrower, "a GPU with more memory bandwidth")


def _or(*choices: str) -> str:
    """`a`, `a, or b`, `a, b, or c`."""
    *others, last = choices
    return f"{', '.join(others)}, or {last}" if others else last


def _evidence(m: Measurement, step_s: float, most_hz: float | None) -> Iterator[tuple[Bound, str, bool]]:
    """What is known of each possible bottleneck, and whether it is one; the first that is one counts."""
    if m.input is not None and m.throughput is not None:
        reached = m.throughput.value / m.input.alone.value
        slower = reached * (1 + SLOWER) < 1 and m.throughput.high < m.input.alone.low
        alone, pipeline = significant(m.input.alone.value), significant(m.input.pipeline.value)
        fact = (
            f"with input {percent(reached, 0)} of the step alone ({alone} {m.item}s/s); "
            f"{m.input.workers} worker(s) prepare {pipeline}, about {m.input.workers_needed} would keep up"
        )
        yield "input", fact, slower
    if m.profile is not None:
        busy = min(1.0, m.profile.busy_s / step_s)
        what = ("operators run", "operators") if m.config.device == "cpu" else ("GPU busy", "kernels")
        count = m.profile.kernel_count
        each = f"{count:,.0f} {what[1]} of {seconds(m.profile.kernel_s / count)} on average"
        yield "launch", f"{what[0]} {percent(busy, 0)} of a step, {each}", busy < 1 - IDLE
        share = m.profile.link_s / step_s
        fact = f"nothing but transfers for {percent(share, 0)} of a step" if share >= 0.01 else ""
        yield "link", fact, share > LINKED
    if m.telemetry is not None and m.telemetry.throttled:
        shares, clock = dict(m.telemetry.throttled), m.telemetry.sm_clock_hz
        heat, power = (max(shares.get(reason, 0.0) for reason in reasons) for reasons in (HEAT, POWER))
        low = clock is None or most_hz is None or clock <= CAPPED_CLOCK * most_hz
        most = f" of {most_hz / 1e6:.0f}" if most_hz else ""
        at = "" if clock is None else f", at {clock / 1e6:.0f}{most} MHz"
        hot = f"clock lowered for heat in {percent(heat, 0)} of the samples{at}"
        capped = f"clock lowered by the power limit in {percent(power, 0)} of the samples{at}"
        yield "heat", hot if heat else "", heat > THROTTLED
        yield "power", capped if power else "", power > POWER_CAPPED and low
    # Else compute or memory, by the kernels and the shares of limits.
    said = []
    if m.profile is not None:
        kinds = [(each.kind, each.seconds / m.profile.kernel_s) for each in m.profile.kernels]
        named = ", ".join(f"{kind} {percent(share, 0)}" for kind, share in kinds if share >= NAMED)
        said.append(f"{named} of kernel time")
    if m.limit_share:
        said.append(f"{percent(m.limit_share, 0)} of the measured {m.limit} limit")
    if m.mfu:
        said.append(f"MFU {percent(m.mfu, 0)}")
    if m.limit is not None and (m.profile is None or (m.limit_share or 0.0) >= ROOF):
        yield m.limit, "; ".join(said), True
    elif m.profile is not None:
        times = {each.kind: each.seconds for each in m.profile.kernels}
        arithmetic = sum(each_s for kind, each_s in times.items() if kind in ARITHMETIC)
        mostly = 2 * arithmetic > sum(times.values()) and m.limit != "memory"
        yield "compute" if mostly else "memory", "; ".join(said), True
