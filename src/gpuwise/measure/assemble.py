"""From the child's events and the sensor's samples to a Measurement. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import cast

from gpuwise.measure import events
from gpuwise.measure.bottleneck import bottleneck
from gpuwise.measure.checks import check, unprofiled
from gpuwise.measure.telemetry import DeviceInfo, Sample, combined, summarise
from gpuwise.measure.telemetry import cautions as telemetry_cautions
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.result import (
    BatchTrial,
    Compilation,
    Group,
    InputPipeline,
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
from gpuwise.model.run import Environment, RunConfig
from gpuwise.model.units import percent
from gpuwise.model.workload import WorkloadSpec
from gpuwise.stats import stalls, throughput

# Equal cards differ by some per cent; a rank that needs more than this over the middle one is slow.
SLOW = 1.05
POWER = 1.01


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

    def begin(self, run: int) -> None:
        """The next child begins; warm-up and cold start stay those of the first."""
        self.run, self.done = run, None

    def add(self, event: events.Event) -> None:
        """Take in one event."""
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
        compilation=Compilation(seconds=first.compile_s, graphs=first.graphs, cached=first.cached_graphs)
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
    """Add MFU and the share of the measured limit, as far as its cost and the device are known."""
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
    if limits and max(limits) > POWER * min(limits):
        listed = "; ".join(f"GPU {i.index}: {i.power_limit_w:.0f} W" for i in infos if i.power_limit_w)
        yield _mixed(f"different power limits: {listed}", "set equal limits, or measure equal cards")


def _mixed(detail: str, next_step: str) -> Issue:
    return Issue.warning("mixed", detail, next_step)
