"""Check a measurement: every reason to doubt it becomes an Issue. Pure.

The checks are physics (no speed above the peak or the measured limit), statistics (the interval,
drift across windows), numerics (loss finite and falling, compiled equals eager) and the state of
the machine (throttling, heat, other processes).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from gpuwise.checks import clock_faults, peak_faults
from gpuwise.measure.telemetry.sensor import Sample
from gpuwise.measure.telemetry.sensor import cautions as telemetry_cautions
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Environment
from gpuwise.model.result import WIDE, Issue, Measurement
from gpuwise.model.units import percent, seconds, significant
from gpuwise.stats.interval import alikeness, drift, reach_if_slow, stalls

# Relative trend over the timed windows above which a speed is not one speed, and windows that show one.
DRIFT, DRIFT_WINDOWS = 0.03, 3

# Tolerated relative difference of a training loss: dropout draws other random numbers under compile.
TRAIN_MISMATCH = 5e-2

# A device oversteps its power limit for milliseconds, on the mean of a window by some per cent at most.
OVER_LIMIT = 1.1

# Share of the time that stalls take, from which on they are named, and from which on they are a warning.
STALLED, STALLED_WARNING = 0.002, 0.01
# Correlation of neighbouring windows from which on a speed is said to wander.
WANDERING = 0.4

# An interval is worth a warning where it is wider than 1 %, and than three times the target.
NOISY, NOISY_TIMES = 0.01, 3

WORSE = "a fast wrong number is worse than none"
_OF_TIME = "when the time was up", "give it more time with --time"
_OF_RUNS = "over three runs", "measure until it is narrow: --protocol adaptive"

# Most that the norm of FP8's gradients may differ from bf16's; other dropout moves it by some 2 %.
NORM_OFF = 0.05
# A loss above this multiple of the first, on one fixed batch, has not fallen; dropout makes a loss vary by
# some per cent from step to step.
MAX_LOSS_RISE = 1.05


def check(
    m: Measurement,
    *,
    samples: Sequence[Sample] = (),
    mismatch: float | None = None,
    fallback: str = "",
    odd: str | None = None,
    environment: Environment | None = None,
    gpu: GpuSpec | None = None,
) -> tuple[Issue, ...]:
    """All cautions of one measurement; `samples` are the sensor's over its whole run, `mismatch`, `fallback`
    and `odd` what the child says of its numbers, the rest what the device can do by driver and data sheet."""
    issues = [*_numerics(m, mismatch)]
    if fallback:
        problem = f"gpuwise's kernel for one row is not used: {fallback}"
        issues.append(Issue.warning("fallback", problem, "the speed is that of slower kernels"))
    if odd is not None:
        issues.append(Issue.invalid("output", odd, f"see that the network computes what it should; {WORSE}"))
    drawn = m.telemetry.power_w if m.telemetry is not None else None
    limit_w = environment.power_limit_w if environment is not None else None
    # Energy over time cannot exceed what the driver lets the device draw.
    if drawn is not None and limit_w is not None and drawn > OVER_LIMIT * limit_w:
        detail = f"INVALID: a mean draw of {drawn:.0f} W, above the power limit of {limit_w:.0f} W"
        fix = "the sensor is wrong: take no watts and no energy from this device"
        issues.append(Issue.warning("energy-mismatch", detail, fix))
    if m.throughput is not None and m.status == "ok":
        issues += [*peak_faults(m, gpu), *clock_faults(m), *_statistics(m)]
        if m.verdict is not None and m.verdict.bound == "input":
            detail = f"the number is that of the input pipeline: {m.verdict.evidence[0]}"
            issues.append(Issue.info("input-bound", detail, m.verdict.next_step))
    if m.telemetry is not None:
        issues += telemetry_cautions(m.telemetry, samples, m.windows, environment)
    return tuple(issues)


def unprofiled(reason: str | None) -> tuple[Issue, ...]:
    """The caution for a profiler that failed after everything had been timed."""
    if reason is None:
        return ()
    detail = f"no profile, so the bottleneck is less certain: {reason}"
    fix = "the speed is valid; check torch and the driver to get a profile"
    return (Issue.info("profile", detail, fix),)


def _statistics(m: Measurement) -> Iterator[Issue]:
    assert m.throughput is not None
    steps = sum(len(window.step_s) * window.each for window in m.windows)
    if steps < 10 and m.config.mode != "limit":
        yield Issue.warning("short", f"only {steps} timed steps", "give it more time, e.g. --time 5min")
    elif m.throughput.half_width > m.config.target_ci:
        width, target = m.throughput.half_width, m.config.target_ci
        # Another digit where it is wider by what rounding hides.
        shown = percent(width, 2 if percent(width) == percent(target) else 1)
        interval = f"interval of ±{shown}" if width < WIDE else "interval wider than the value"
        runs = m.config.protocol == "aime" and m.config.mode != "limit"
        when, more = _OF_RUNS if runs else _OF_TIME
        found = Issue.warning if width > max(NOISY, NOISY_TIMES * target) else Issue.info
        detail = f"{interval} {when}, asked ±{percent(target)}"
        yield found("noisy", detail, f"stop other work on this machine, or {more}")
    windows = [window.step_s for window in m.windows]
    stalled = stalls(windows)
    if stalled is not None and stalled.share > STALLED and m.config.mode != "limit":
        found = Issue.warning if stalled.share > STALLED_WARNING else Issue.info
        between = f"{significant(m.throughput.value / (1 - stalled.share), 4)} {m.item}/s"
        many = "s" * (stalled.steps > 1)
        held = f"{stalled.steps} step{many} of up to {seconds(stalled.longest_s)} stalled"
        detail = f"{held} and took {percent(stalled.share)} of the time; between them {between}"
        fix = "look for what stops the device: other programs, swapping, heat, a full disk"
        yield found("stalls", detail, fix)
    # What differs from one process to the next is in the interval, and is not a trend.
    each = [[w.step_s for w in m.windows if w.run == run] for run in sorted({w.run for w in m.windows})]
    trend = max((drift(windows) for windows in each if len(windows) >= DRIFT_WINDOWS), key=abs, default=0.0)
    alike = max((alikeness([fmean(steps) for steps in windows]) for windows in each), default=0.0)
    reach = max(map(reach_if_slow, each), default=0.0)
    adaptive = m.config.protocol == "adaptive" and m.config.mode != "limit"
    if abs(trend) > DRIFT:
        detail = f"step time changed by {percent(trend)} from first to last window"
        yield Issue.warning("unsteady", detail, "let the device settle: run again, or longer with --time")
    elif adaptive and alike > WANDERING and reach > m.config.target_ci:
        timed_s = sum(sum(window.step_s) * window.each for window in m.windows)
        found = Issue.warning if reach > max(NOISY, NOISY_TIMES * m.config.target_ci) else Issue.info
        detail = f"the speed wanders so slowly that {seconds(timed_s)} do not show all of it"
        detail += f": the interval may be up to ±{percent(min(reach, WIDE))} in truth"
        yield found("wandering", detail, "give it more time with --time, or find what changes the clock")


def _numerics(m: Measurement, mismatch: float | None) -> Iterator[Issue]:
    """Compiled equals eager, gradients those of bf16, and the loss of a training falls."""
    train, narrow = m.config.mode == "train", m.config.precision.weight_bytes < 2
    tolerance = TRAIN_MISMATCH if train else m.config.precision.tolerance
    if mismatch is not None and not mismatch <= tolerance:  # NaN must not pass
        what, instead = "compiled differs from eager", "--compile off"
        if narrow and not train:
            what, instead = "differs from bf16 weights", "--precision bf16"
        far = f"by {percent(mismatch)}" if math.isfinite(mismatch) else "by what is not finite"
        yield Issue.invalid("mismatch", f"{what} {far}", f"measure with {instead}; {WORSE}")
    if m.reference_norm is not None:
        off = math.inf if m.gradient_norm is None else m.gradient_norm / m.reference_norm - 1
        if abs(off) > NORM_OFF:
            side = "above" if off > 0 else "below"
            far = "not finite" if math.isinf(off) else f"{percent(abs(off))} {side} that of bf16 matmuls"
            fix = f"measure with --precision bf16; {WORSE}"
            yield Issue.invalid("mismatch", f"the norm of all gradients is {far}", fix)
    if not m.loss:
        return
    first, last = m.loss
    # A new batch each step has a loss of its own.
    if m.config.input == "device" and (last > MAX_LOSS_RISE * first or last == first):
        steps = len(m.warmup_s) + sum(len(window.step_s) for window in m.windows)
        went = f"stayed at {first:.3f}" if last == first else f"went from {first:.3f} to {last:.3f}"
        detail = f"loss {went} in {steps} steps on one fixed batch"
        fix = "the training is not sound in this precision; compare with --precision fp32"
        yield Issue.invalid("diverging", detail, fix)
