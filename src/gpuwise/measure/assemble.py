"""From the child's events and the sensor's samples to a Measurement. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from gpuwise.measure import events
from gpuwise.measure.gates import judge, unprofiled
from gpuwise.measure.group import group_of, named, unequal
from gpuwise.measure.telemetry import Sample, combined, summarise
from gpuwise.measure.telemetry import cautions as telemetry_cautions
from gpuwise.measure.verdict import verdict
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.result import (
    BatchTrial,
    Compilation,
    InputPipeline,
    Interval,
    Link,
    Measurement,
    Status,
    Window,
)
from gpuwise.model.run import RunConfig
from gpuwise.model.verdict import KernelKind, KernelTime, Profile
from gpuwise.model.workload import WorkloadSpec
from gpuwise.stats import mean_of_runs, throughput


@dataclass(slots=True, kw_only=True)
class Heard:
    """What a child (or three, one after the other) has said so far."""

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
    unprofiled: str | None = None
    """Why there is no profile, where there should be one."""
    failed: events.Failed | None = None

    def add(self, event: events.Event) -> None:
        """Take in one event; warm-up and cold start are those of the first child."""
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
            case events.Timed(step_s=step_s, started_s=started, ended_s=ended):
                self.windows.append(Window(step_s=step_s, started_s=started, ended_s=ended))
            case events.Fed():
                self.fed = event
            case events.Done():
                self.done = event
            case events.Profiled():
                self.profile = _profile(event)
            case events.Unprofiled(reason=reason):
                self.unprofiled = reason
            case events.Failed():
                self.failed = event


def _profile(event: events.Profiled) -> Profile:
    return Profile(
        steps=event.steps,
        wall_s=event.wall_s,
        busy_s=event.busy_s,
        link_s=event.link_s,
        longest_gap_s=event.longest_gap_s,
        kernels=tuple(_kernel_time(*each) for each in event.kernels),
        slowest=tuple(_kernel_time(*each) for each in event.slowest),
    )


def _kernel_time(kind: str, count: float, seconds: float, name: str | None = None) -> KernelTime:
    return KernelTime(kind=cast(KernelKind, kind), count=count, seconds=seconds, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What this machine reached in this session."""

    flop_per_s: dict[str, float] = field(default_factory=dict)
    """By precision."""
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


def status_of(heard: Heard, *, interrupted: bool) -> Status:
    """ok only when the child said it was done."""
    if heard.failed is not None:
        return "oom" if heard.failed.kind == "oom" else "failed"
    if interrupted:
        return "interrupted"
    return "ok" if heard.done is not None else "failed"


def assemble(
    config: RunConfig,
    workload: WorkloadSpec,
    heard: Heard,
    *,
    started_at: str,
    samples: Sequence[Sample] = (),
    others: Sequence[Sequence[Sample]] = (),
    links: tuple[Link, ...] = (),
    gpu: GpuSpec | None = None,
    limits: Limits,
    sm_clock_max_hz: float | None = None,
    power_limit_w: float | None = None,
    interrupted: bool = False,
    error: str | None = None,
    cautions: Iterable[Issue] = (),
) -> Measurement:
    """One Measurement, complete with derived numbers and cautions.

    `samples` are of the first GPU, `others` of those beside it that took part, `links` between them all.
    """
    status = status_of(heard, interrupted=interrupted)
    measured = Measurement(
        config=config,
        workload_version=workload.version,
        status=status,
        item=workload.item,
        started_at=started_at,
        batch=heard.built.batch if heard.built else config.batch,
        items_per_step=heard.built.items if heard.built else None,
        throughput=_speed(config, heard),
        windows=tuple(heard.windows),
        warmup_s=heard.warmup_s,
        cold_start_s=heard.first.seconds if heard.first else None,
        compilation=_compilation(heard.first),
        memory_peak_bytes=heard.done.memory_peak_bytes if heard.done else None,
        loss=heard.done.loss if heard.done else (),
        gradient_norm=heard.gradient_norm,
        reference_norm=heard.reference_norm,
        telemetry=summarise(samples, heard.windows) if heard.windows else None,
        batch_trials=tuple(
            BatchTrial(batch=t.batch, fits=t.fits, compiled=t.compiled, items_per_s=t.items_per_s)
            for t in heard.tried
        ),
        profile=heard.profile,
        input=_fed(heard),
        error=heard.failed.message if heard.failed else None if status == "ok" else error,
    )
    if heard.built is not None and config.size == "full":
        # A toy model costs something else than the workload, and is never held against a limit.
        cost = heard.built.flop_per_item, heard.built.bytes_per_item
        measured = replace(measured, flop_per_item=cost[0], bytes_per_item=cost[1])
        measured = _against_limits(measured, gpu, limits)
    bound = verdict(measured, sm_clock_max_hz=sm_clock_max_hz, switches=workload.switches)
    measured = replace(measured, verdict=bound)
    judged = judge(
        measured,
        samples=samples,
        mismatch=heard.mismatch,
        odd=heard.done.odd if heard.done else None,
        sm_clock_max_hz=sm_clock_max_hz,
        power_limit_w=power_limit_w,
        memory_bytes_per_s=gpu.memory_bytes_per_s if gpu is not None else None,
    )
    if heard.ranked is not None:
        measured, more = _grouped(measured, heard.ranked, others, links)
        judged += more
    # What dies after it is done died in the profiler.
    died = error if status == "ok" and heard.profile is None else None
    unseen = unprofiled(heard.unprofiled or died)
    return replace(measured, cautions=(*cautions, *judged, *unseen))


def _grouped(
    m: Measurement, ranked: events.Ranked, others: Sequence[Sequence[Sample]], links: tuple[Link, ...]
) -> tuple[Measurement, tuple[Issue, ...]]:
    """With the telemetry of all its GPUs, each GPU's own, and the cautions of those beside the first."""
    each = (m.telemetry, *(summarise(samples, m.windows) if m.windows else None for samples in others))
    group = group_of(ranked, each, links)
    found = list(unequal(group))
    for number, (samples, seen) in enumerate(zip(others, each[1:], strict=True), start=1):
        if seen is not None:
            found += named(telemetry_cautions(seen, samples, m.windows), number)
    return replace(m, group=group, telemetry=combined(each)), tuple(found)


def _compilation(first: events.First | None) -> Compilation | None:
    if first is None or first.compile_s is None:
        return None
    return Compilation(seconds=first.compile_s, graphs=first.graphs, cached=first.cached_graphs)


def _fed(heard: Heard) -> InputPipeline | None:
    if heard.fed is None or heard.built is None:
        return None
    pipeline, alone = (
        throughput(each, heard.built.items) for each in (heard.fed.pipeline_s, heard.fed.alone_s)
    )
    return InputPipeline(
        workers=heard.fed.workers,
        pipeline=pipeline,
        alone=alone,
        workers_needed=math.ceil(heard.fed.workers * alone.value / pipeline.value),
    )


def _speed(config: RunConfig, heard: Heard) -> Interval | None:
    if not heard.windows or heard.built is None:
        return None
    steps = [window.step_s for window in heard.windows]
    estimate = mean_of_runs if config.protocol == "aime" and config.mode != "limit" else throughput
    return estimate(steps, heard.built.items)


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
