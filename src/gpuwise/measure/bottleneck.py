"""The bottleneck of a measured speed, with the evidence. Pure.

Tried in this order, the first that holds decides, because each hides what comes after it:

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

from collections.abc import Collection
from statistics import median

from gpuwise.measure.telemetry.summary import CAPPED_CLOCK, POWER_CAPPED, THROTTLED
from gpuwise.model.result import Bound, KernelKind, Measurement, Verdict
from gpuwise.model.run import RunConfig
from gpuwise.model.units import percent, seconds, significant

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
) -> Verdict | None:
    """The bottleneck of a measurement; None for a limit, a failure, or where nothing is known.

    `switches` are those that the workload heeds.
    """
    if m.throughput is None or m.status != "ok" or m.config.mode == "limit":
        return None
    step_s = median(seconds for window in m.windows for seconds in window.step_s)
    facts: dict[Bound, str] = {}
    yes: list[Bound] = []
    for judged in (_input(m), _launch(m, step_s), _link(m, step_s), _clocks(m, sm_clock_max_hz), _work(m)):
        for bound, (fact, holds) in judged.items():
            facts[bound] = fact
            yes += [bound] if holds else []
    if not yes:
        return None
    first = yes[0]
    others = tuple(fact for bound, fact in facts.items() if bound != first and fact)
    return Verdict(
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


# For each bound that something is known of: the fact, and whether it is the bound.
Judged = dict[Bound, tuple[str, bool]]


def _input(m: Measurement) -> Judged:
    if m.input is None or m.throughput is None:
        return {}
    reached = m.throughput.value / m.input.alone.value
    slower = reached * (1 + SLOWER) < 1 and m.throughput.high < m.input.alone.low
    alone, pipeline = significant(m.input.alone.value), significant(m.input.pipeline.value)
    fact = (
        f"with input {percent(reached, 0)} of the step alone ({alone} {m.item}s/s); "
        f"{m.input.workers} worker(s) prepare {pipeline}, about {m.input.workers_needed} would keep up"
    )
    return {"input": (fact, slower)}


def _launch(m: Measurement, step_s: float) -> Judged:
    if m.profile is None:
        return {}
    busy = min(1.0, m.profile.busy_s / step_s)
    what = ("operators run", "operators") if m.config.device == "cpu" else ("GPU busy", "kernels")
    count = m.profile.kernel_count
    each_s = m.profile.kernel_s / count
    fact = f"{what[0]} {percent(busy, 0)} of a step, {count:,.0f} {what[1]} of {seconds(each_s)} on average"
    return {"launch": (fact, busy < 1 - IDLE)}


def _link(m: Measurement, step_s: float) -> Judged:
    if m.profile is None:
        return {}
    share = m.profile.link_s / step_s
    fact = f"nothing but transfers for {percent(share, 0)} of a step" if share >= 0.01 else ""
    return {"link": (fact, share > LINKED)}


def _clocks(m: Measurement, most_hz: float | None) -> Judged:
    if m.telemetry is None or not m.telemetry.throttled:
        return {}
    shares, clock = dict(m.telemetry.throttled), m.telemetry.sm_clock_hz
    heat, power = (max(shares.get(reason, 0.0) for reason in reasons) for reasons in (HEAT, POWER))
    low = clock is None or most_hz is None or clock <= CAPPED_CLOCK * most_hz
    most = f" of {most_hz / 1e6:.0f}" if most_hz else ""
    at = "" if clock is None else f", at {clock / 1e6:.0f}{most} MHz"
    hot = f"clock lowered for heat in {percent(heat, 0)} of the samples{at}"
    capped = f"clock lowered by the power limit in {percent(power, 0)} of the samples{at}"
    return {
        "heat": (hot if heat else "", heat > THROTTLED),
        "power": (capped if power else "", power > POWER_CAPPED and low),
    }


def _work(m: Measurement) -> Judged:
    """Compute or memory; the fact lists the kernels and the shares of limits."""
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
        return {m.limit: ("; ".join(said), True)}
    if m.profile is None:
        return {}
    times = {each.kind: each.seconds for each in m.profile.kernels}
    arithmetic = sum(each_s for each, each_s in times.items() if each in ARITHMETIC)
    mostly = 2 * arithmetic > sum(times.values()) and m.limit != "memory"
    bound: Bound = "compute" if mostly else "memory"
    return {bound: ("; ".join(said), True)}
