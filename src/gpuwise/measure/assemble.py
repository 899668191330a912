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
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

from gpuwise.measure import events
from gpuwise.measure.checks import check, unprofiled
from gpuwise.measure.telemetry import sensor
from gpuwise.measure.telemetry.sensor import cautions as telemetry_cautions
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Environment, RunConfig, WorkloadSpec
from gpuwise.model.result import (
    BatchTrial,
    Bottleneck,
    Bound,
    Group,
    InputPipeline,
    Interval,
    Issue,
    KernelKind,
    Link,
    Measurement,
    Profile,
    Status,
    Telemetry,
    Window,
)
from gpuwise.model.units import percent, seconds, significant
from gpuwise.stats.interval import stalls, throughput

# Equal cards differ by some per cent; a rank that needs more than this over the middle one is slow.
SLOW_RANK, UNEVEN_POWER = 1.05, 1.01


# What ends with an event, but for windows and what comes between them.
ENDS: dict[type[events.Event], str] = {
    events.Ready: "start",
    BatchTrial: "search",
    events.Built: "build",
    events.Ranked: "build",
    events.Checked: "compile",
    events.First: "first step",
    events.Fed: "input",
    events.Warmup: "warm-up",
    Profile: "profile",
    events.Unprofiled: "profile",
    events.Cooled: "waiting",
}
# Events of which the newest counts, by the field that keeps it.
NEWEST = ("ready", "built", "ranked", "checked", "fed", "done", "profile", "unprofiled", "failed")


@dataclass(slots=True, kw_only=True)
class MeasurementBuilder:
    """The events of a child so far, or of several that measure the same in turn."""

    run: int = 0  # Number of the child

    ready: events.Ready | None = None
    tried: list[BatchTrial] = field(default_factory=list)
    built: events.Built | None = None
    ranked: events.Ranked | None = None
    checked: events.Checked = field(default_factory=events.Checked)
    first: events.First | None = None
    warmup_s: tuple[float, ...] = ()
    windows: list[Window] = field(default_factory=list)
    fed: events.Fed | None = None
    done: events.Done | None = None
    profile: Profile | None = None
    unprofiled: events.Unprofiled | None = None  # There is no profile, where there should be one
    failed: events.Failed | None = None
    phases_s: dict[str, float] = field(default_factory=dict)
    now_s: float = field(default_factory=time.monotonic)  # When the newest phase ended

    def begin(self, run: int) -> None:
        """The next child begins; warm-up and cold start stay those of the first."""
        self.run, self.done = run, None

    @property
    def phase(self) -> str:
        """The phase after the events so far."""
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
        return next(name for name, is_reached in reached.items() if is_reached)

    def ends(self, phase: str, now_s: float) -> None:
        """The time since the last phase was that of this one."""
        self.phases_s[phase] = self.phases_s.get(phase, 0.0) + now_s - self.now_s
        self.now_s = now_s

    def add(self, event: events.Event) -> None:
        kind = type(event)
        largest = kind is BatchTrial and self.done is not None
        self.ends("largest batch" if largest else ENDS.get(kind, "timing"), time.monotonic())
        if isinstance(event, BatchTrial):
            self.tried.append(event)
        elif isinstance(event, Window):
            self.windows.append(replace(event, run=self.run))
        elif isinstance(event, events.First):
            self.first = self.first or event
        elif isinstance(event, events.Warmup):
            self.warmup_s = self.warmup_s or event.step_s
        elif (name := kind.__name__.lower()) in NEWEST:
            setattr(self, name, event)

    def status(self, interrupted: bool) -> Status:
        """How it ended, which a failure decides before an interruption."""
        if self.failed is not None:
            return "oom" if self.failed.kind == "oom" else "failed"
        if interrupted:
            return "interrupted"
        return "ok" if self.done is not None else "failed"

    def speed(self, method: str) -> tuple[Interval | None, float | None]:
        """Items a second over all windows, and without the steps that stalled, where some did."""
        if not self.windows or self.built is None:
            return None, None
        steps, runs = [window.step_s for window in self.windows], [window.run for window in self.windows]
        speed, stalled = throughput(steps, self.built.items, runs=runs, method=method), stalls(steps)
        return speed, speed.value / (1 - stalled.share) if stalled is not None else None

    def pipeline(self) -> InputPipeline | None:
        """How fast the input was made ready beside the step and alone, where it was read."""
        if self.fed is None or self.built is None:
            return None
        times = (self.fed.pipeline_s, self.fed.alone_s)
        made, alone = (throughput(each, self.built.items) for each in times)
        needed = math.ceil(self.fed.workers * alone.value / made.value)
        return InputPipeline(workers=self.fed.workers, pipeline=made, alone=alone, workers_needed=needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of this machine, as measured in this session."""

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
    samples: Sequence[sensor.Sample] = (),
    others: Sequence[Sequence[sensor.Sample]] = (),
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
    status = builder.status(interrupted)
    speed, steady = builder.speed("bursts" if config.mode == "limit" else "long-run")
    first, built, done = builder.first, builder.built, builder.done
    measured = Measurement(
        config=config,
        workload_version=workload.version,
        status=status,
        item=workload.item,
        started_at=started_at,
        batch=built.batch if built else config.batch,
        items_per_step=built.items if built else None,
        throughput=speed,
        steady_per_s=steady,
        windows=tuple(builder.windows),
        warmup_s=builder.warmup_s,
        cold_start_s=first.seconds if first else None,
        compilation=first.compilation if first else None,
        memory_peak_bytes=done.memory_peak_bytes if done else None,
        loss=done.loss if done else (),
        gradient_norm=builder.checked.gradient_norm,
        reference_norm=builder.checked.reference_norm,
        telemetry=sensor.summarise(samples, builder.windows) if builder.windows else None,
        batch_trials=tuple(builder.tried),
        profile=builder.profile,
        input=builder.pipeline(),
        phases_s=tuple(builder.phases_s.items()),
        error=builder.failed.message if builder.failed else None if status == "ok" else error,
    )
    if built is not None and config.size == "full":
        # A toy model costs something else than the workload, and is never compared with a limit.
        measured = replace(measured, flop_per_item=built.flop_per_item, bytes_per_item=built.bytes_per_item)
        measured = _against_limits(measured, gpu, limits)
    most_hz = environment.sm_clock_max_hz if environment is not None else None
    bound = bottleneck(measured, sm_clock_max_hz=most_hz, switches=workload.switches)
    measured = replace(measured, verdict=bound)
    issues = list(
        check(
            measured,
            samples=samples,
            mismatch=builder.checked.mismatch,
            fallback=builder.checked.fallback,
            odd=done.odd if done else None,
            environment=environment,
            gpu=gpu,
        )
    )
    if builder.ranked is not None:  # Telemetry of all GPUs and each one's own, and cautions of the others
        beside = (sensor.summarise(seen, measured.windows) if measured.windows else None for seen in others)
        each = (measured.telemetry, *beside)
        group = with_sensors(builder.ranked.group, each, links)
        issues += unequal(group)
        for number, (seen, telemetry) in enumerate(zip(others, each[1:], strict=True), start=1):
            more = telemetry_cautions(telemetry, seen, measured.windows) if telemetry is not None else ()
            issues += (replace(one, detail=f"GPU {number}: {one.detail}") for one in more)
        measured = replace(measured, group=group, telemetry=sensor.combined(each))
    # A child that fails after Done crashed in the profiler.
    died = error if status == "ok" and builder.profile is None else None
    unseen = unprofiled(builder.unprofiled.reason if builder.unprofiled else died)
    return replace(measured, cautions=(*cautions, *issues, *unseen))


def _against_limits(m: Measurement, gpu: GpuSpec | None, limits: Limits) -> Measurement:
    """Add MFU and the share of the measured limit, where its cost and the device are known."""
    if m.throughput is None:
        return m
    speed, flop = m.throughput.value / m.config.gpus, m.flop_per_item or 0.0
    formats = m.config.precision.products
    peak = next(filter(None, map(gpu.peak, formats)), None) if gpu is not None else None
    m = replace(m, mfu=flop * speed / peak.flop_per_s if peak and flop else None)
    if m.config.mode == "limit":
        return m
    compute = next((limits.flop_per_s[p] for p in formats if p in limits.flop_per_s), None)
    memory = limits.bytes_per_s
    shares = {
        "compute": flop * speed / compute if compute else 0.0,
        "memory": m.bytes_per_item * speed / memory if memory and m.bytes_per_item else 0.0,
    }
    nearer: Literal["compute", "memory"] = "compute" if shares["compute"] >= shares["memory"] else "memory"
    return replace(m, limit_share=shares[nearer], limit=nearer) if shares[nearer] > 0 else m


def with_sensors(group: Group, telemetry: Sequence[Telemetry | None], links: tuple[Link, ...]) -> Group:
    """The group with the telemetry of this machine's GPUs, in their order, and the links between them."""
    seen, here = iter(telemetry), group.node
    ranks = (replace(r, telemetry=next(seen, None)) if r.node == here else r for r in group.ranks)
    return replace(group, ranks=tuple(ranks), links=links)


def unequal(group: Group) -> Iterator[Issue]:
    """Cautions where the ranks are unequal.

    Ranks that work in step go at the pace of the slowest one, so a weaker model, a lower power limit or a
    card that is slow for a reason of its own costs all of them its time.
    """
    models = {rank.device for rank in group.ranks}
    if len(models) > 1:
        listed = "; ".join(f"rank {rank.rank}: {rank.device}" for rank in group.ranks)
        yield Issue.warning("mixed", f"different models work in step: {listed}", "measure equal cards")
    alone = [rank.alone_s for rank in group.ranks if rank.alone_s is not None]
    middle = median(sorted(alone)[:-1]) if len(alone) > 1 else float("inf")
    for rank in group.ranks:
        if rank.alone_s is not None and rank.alone_s > SLOW_RANK * middle:
            who = f"rank {rank.rank} ({rank.device}, machine {rank.node})"
            more = percent(rank.alone_s / middle - 1)
            longer = f"{more} longer for a step than the middle one of the others"
            fix = "compare its clocks, heat and PCIe link with the others'"
            yield Issue.warning("slow-rank", f"{who} needs {longer}, and all wait for it", fix)


def uneven_power(infos: Sequence[sensor.DeviceInfo]) -> Iterator[Issue]:
    """The caution for GPUs of one measurement that may draw unequal power."""
    limits = [info.power_limit_w for info in infos if info.power_limit_w]
    if limits and max(limits) > UNEVEN_POWER * min(limits):
        listed = "; ".join(f"GPU {i.index}: {i.power_limit_w:.0f} W" for i in infos if i.power_limit_w)
        fix = "set equal limits, or measure equal cards"
        yield Issue.warning("mixed", f"different power limits: {listed}", fix)


INPUT_SLOWDOWN = 0.05
IDLE_SHARE = 0.15
LINK_SHARE = 0.15
# Share of a measured limit from which it is the explanation.
ROOFLINE_SHARE = 0.5
# Share of the kernel time below which a kind is not worth a word.
NAMED_SHARE = 0.02

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
    evidence = list(_evidence(m, step_s, sm_clock_max_hz))
    facts = {bound: fact for bound, fact, _ in evidence}
    first = next((bound for bound, _, holds in evidence if holds), None)
    if first is None:
        return None
    others = tuple(fact for bound, fact in facts.items() if bound != first and fact)
    remedy = next_step(first, m.config, m.batch, switches)
    return Bottleneck(bound=first, evidence=(facts[first], *others), next_step=remedy)


def next_step(bound: Bound, config: RunConfig, batch: int | None, switches: Collection[str]) -> str:
    """A remedy for a bottleneck that is not applied already."""
    compiling = () if config.compile or config.framework != "torch" else ("--compile on",)
    tunable = config.compile and config.recipe != "script" and config.device == "cuda" and "graph" in switches
    tried = f"CUDA graphs (tuning {config.workload} at batch {batch} tries them)"
    graph = (tried,) if tunable and config.switches.graph == "off" else ()
    narrower = () if config.precision == "fp8" else ("a lower precision",)
    fusion = tuple(f"fusion ({each})" for each in compiling)
    remedies: dict[Bound, str] = {
        "input": "more workers, cheaper decoding, or decode on the GPU",
        "launch": f"fewer and longer kernels: {_or(*compiling, *graph, 'a larger --batch')}",
        "link": "a larger batch per GPU, overlap of communication, or a faster link",
        "heat": "improve the cooling; the card is slower than it could be",
        "power": "a higher power limit, where the card has one",
        "compute": _or(*narrower, "a GPU with more FLOP/s"),
        "memory": _or(*fusion, *narrower, "a GPU with more memory bandwidth"),
    }
    return remedies[bound]


def _or(*choices: str) -> str:
    """`a`, `a, or b`, `a, b, or c`."""
    *others, last = choices
    return f"{', '.join(others)}, or {last}" if others else last


def _evidence(m: Measurement, step_s: float, most_hz: float | None) -> Iterator[tuple[Bound, str, bool]]:
    """Evidence for each possible bottleneck, and whether it is one; the first that is one counts."""
    if m.input is not None and m.throughput is not None:
        reached = m.throughput.value / m.input.alone.value
        slower = reached * (1 + INPUT_SLOWDOWN) < 1 and m.throughput.high < m.input.alone.low
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
        yield "launch", f"{what[0]} {percent(busy, 0)} of a step, {each}", busy < 1 - IDLE_SHARE
        share = m.profile.link_s / step_s
        fact = f"nothing but transfers for {percent(share, 0)} of a step" if share >= 0.01 else ""
        yield "link", fact, share > LINK_SHARE
    if m.telemetry is not None and m.telemetry.throttled:
        shares, clock = dict(m.telemetry.throttled), m.telemetry.sm_clock_hz
        heat, power = (max(shares.get(reason, 0.0) for reason in reasons) for reasons in (HEAT, POWER))
        low = clock is None or most_hz is None or clock <= sensor.CAPPED_CLOCK * most_hz
        most = f" of {most_hz / 1e6:.0f}" if most_hz else ""
        at = "" if clock is None else f", at {clock / 1e6:.0f}{most} MHz"
        hot = f"clock lowered for heat in {percent(heat, 0)} of the samples{at}"
        capped = f"clock lowered by the power limit in {percent(power, 0)} of the samples{at}"
        yield "heat", hot if heat else "", heat > sensor.THROTTLED
        yield "power", capped if power else "", power > sensor.POWER_CAPPED and low
    # Else compute or memory, by the kernels and the shares of limits.
    said = []
    if m.profile is not None:
        kinds = [(each.kind, each.seconds / m.profile.kernel_s) for each in m.profile.kernels]
        named = ", ".join(f"{kind} {percent(share, 0)}" for kind, share in kinds if share >= NAMED_SHARE)
        said.append(f"{named} of kernel time")
    if m.limit_share:
        said.append(f"{percent(m.limit_share, 0)} of the measured {m.limit} limit")
    if m.mfu:
        said.append(f"MFU {percent(m.mfu, 0)}")
    if m.limit is not None and (m.profile is None or (m.limit_share or 0.0) >= ROOFLINE_SHARE):
        yield m.limit, "; ".join(said), True
    elif m.profile is not None:
        times = {each.kind: each.seconds for each in m.profile.kernels}
        arithmetic = sum(each_s for kind, each_s in times.items() if kind in ARITHMETIC)
        mostly = 2 * arithmetic > sum(times.values()) and m.limit != "memory"
        yield "compute" if mostly else "memory", "; ".join(said), True
