"""Look into a few steps with torch's profiler, after everything has been timed.

The timed windows never run under a profiler: tracing slows the host, by more the more kernels there are.
Kernel times themselves are hardly touched by it, so the bottleneck compares them with the step time that was
measured without. torch.profiler: https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from gpuwise.model.result import KernelKind, KernelTime, Profile, grouped

# Time for the profiled steps. Reading the trace takes longer than the steps themselves.
LONGEST_S = 0.4
MOST_STEPS = 10
# Kernels that are listed by name, and letters of a name: those of templates fill pages.
NAMED, NAME = 10, 200

LINK: frozenset[KernelKind] = frozenset({"collective", "transfer"})


# Kinds and the parts of names that say them; the first that fits decides.
RULES: list[tuple[KernelKind, list[str]]] = tomllib.loads(
    Path(__file__).with_name("kernels.toml").read_text(encoding="utf-8")
)["rules"]


def kind(name: str) -> KernelKind:
    """The kind of work of the kernel called `name`; `other` where no rule knows it."""
    text = name.casefold()
    return next((kind for kind, signs in RULES if any(sign in text for sign in signs)), "other")


@dataclass(frozen=True, slots=True)
class Span:
    """One kernel, or on a CPU one operator."""

    name: str
    start_s: float
    end_s: float
    own_s: float  # Its time without the operators that it calls; of a kernel, all of it


Ranges = list[tuple[float, float]]


def steps_for(step_s: float) -> int:
    """Steps to profile: as many as fit in LONGEST_S, at least one."""
    return max(1, min(MOST_STEPS, int(LONGEST_S / step_s)))


def profile(step: Callable[[], object], steps: int, device: str) -> Profile:
    """Run `steps` steps under the profiler. Raises RuntimeError where it sees nothing."""
    import torch
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as watch

    activity = ProfilerActivity.CUDA if device == "cuda" else ProfilerActivity.CPU
    with watch(activities=[activity]) as watched:
        began = time.perf_counter()
        for _ in range(steps):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
        wall_s = time.perf_counter() - began
    spans = [
        Span(
            event.name,
            event.time_range.start / 1e6,
            event.time_range.end / 1e6,
            (event.self_cpu_time_total if device == "cpu" else event.time_range.elapsed_us()) / 1e6,
        )
        for event in watched.events() or ()
        if event.device_type.name.lower() == device and not getattr(event, "is_user_annotation", False)
    ]
    return summarise(spans, steps, wall_s)


def summarise(spans: Sequence[Span], steps: int, wall_s: float) -> Profile:
    """The profile of one step from the spans of `steps` steps that took `wall_s` together. Pure. Raises
    RuntimeError where none took time."""
    if not any(span.own_s for span in spans):
        raise RuntimeError("the profiler saw no kernel")
    alike = grouped((kind(span.name), span) for span in spans)
    named = grouped(((each, s.name[:NAME]), s) for each, slices in alike.items() for s in slices)
    every = merged((span.start_s, span.end_s) for span in spans)
    work = merged((s.start_s, s.end_s) for each, slices in alike.items() if each not in LINK for s in slices)
    busy_s, working_s = total(every), total(work)
    slowest = _longest_first(_together(slices, each, steps, name) for (each, name), slices in named.items())
    return Profile(
        steps=steps,
        wall_s=wall_s / steps,
        busy_s=busy_s / steps,
        link_s=(busy_s - working_s) / steps,
        longest_gap_s=max((after[0] - before[1] for before, after in pairwise(every)), default=0.0),
        kernels=_longest_first(_together(slices, each, steps) for each, slices in alike.items()),
        slowest=slowest[:NAMED],
    )


def _together(spans: Sequence[Span], kind: KernelKind, steps: int, name: str | None = None) -> KernelTime:
    seconds = sum(span.own_s for span in spans)
    return KernelTime(kind=kind, count=len(spans) / steps, seconds=seconds / steps, name=name)


def _longest_first(times: Iterable[KernelTime]) -> tuple[KernelTime, ...]:
    return tuple(sorted(times, key=lambda each: -each.seconds))


def merged(ranges: Iterable[tuple[float, float]]) -> Ranges:
    """The same times as ranges that do not overlap, in order."""
    apart: Ranges = []
    for start, end in sorted(ranges):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((start, end))
    return apart


def total(ranges: Ranges) -> float:
    return sum(end - start for start, end in ranges)
