"""What the state of a card says against it, whatever its speed: heat, clocks, links, faults, other processes.

    hot        the clock was lowered for heat in more than 5 % of all samples, or the highest
               temperature came within 2 degrees of where the card slows down (85 C where it does not say)
    throttled  lowered in more than 5 % of all samples for any other reason but the power limit, at which
               large GPUs normally run, and a display
    power-cap  the limit is below the card's default
    pcie       fewer lanes or an older generation than card or slot have; the generation is judged under
               load, because idle cards lower it
    ecc        uncorrected errors in the card's life, corrected ones that came while it was measured, a
               failed or pending remap of memory rows

Counters and thresholds are NVML's: https://docs.nvidia.com/deploy/nvml-api/
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpuwise.facts import catalog
from gpuwise.judge.accept.card import TestedCard
from gpuwise.measure.telemetry.summary import ENOUGH_SAMPLES, NEXT_STEPS, THROTTLED
from gpuwise.model.issue import Issue, Severity
from gpuwise.model.result import Result
from gpuwise.model.units import percent

# Where the card does not say at which temperature it slows down; and how near to that is too near.
HOT_C = 85.0
NEAR_C = 2.0
# Reasons for a lowered clock that are no fault: large GPUs run at their power limit, a display asks for it.
HARMLESS = frozenset({"power-cap", "display-clocks"})
# Drivers round the power limit.
TOLERANCE_W = 0.5


def issues(card: TestedCard) -> Iterator[Issue]:
    """Everything that speaks against the card by itself."""
    yield from session(card)
    yield from settings(card)
    yield from link(card)
    yield from faults(card)
    yield from heat(card)


def session(card: TestedCard) -> Iterator[Issue]:
    """What did not run, or not alone, and what the file states against its own steps."""
    if card.refusal:
        yield _issue("busy", f"not measured: {card.refusal}", "end what holds it")
    elif not card.result.measurements:
        yield _issue("failed", "nothing was measured", "gpuwise doctor")
    for m in card.result.measurements:
        why = f": {m.error.splitlines()[0]}" if m.error else ""
        # Somebody pressed Ctrl-C: that says nothing of the card.
        stopped: Severity = "warning" if m.status == "interrupted" else "invalid"
        if m.status != "ok":
            yield _issue(
                "interrupted" if m.status == "interrupted" else "failed",
                f"{m.config.key('batch')} {m.status}{why}",
                "run it again alone: gpuwise bench " + m.config.workload, stopped,
            )  # fmt: skip
        for issue in m.cautions:
            if issue.code == "tampered":
                yield _issue("tampered", f"{m.config.key('batch')}: {issue.detail}", issue.fix)
    if not card.on_gpu:
        return
    contended = [c for m in card.result.measurements for c in m.cautions if c.code == "contended"]
    if contended:
        yield _issue("busy", contended[0].detail, contended[0].fix)
    elif count := card.result.environment.other_processes:
        yield _issue(
            "busy", f"{count} other process{'es' if count > 1 else ''} on the card",
            "end them and measure again: nvidia-smi lists them",
        )  # fmt: skip


def settings(card: TestedCard) -> Iterator[Issue]:
    """What an administrator set: MIG, the power limit."""
    found = card.result.environment
    if found.mig:
        yield _issue(
            "mig", "MIG is on: a slice was measured, not the card",
            "an administrator can turn it off: nvidia-smi -mig 0",
        )  # fmt: skip
    limit, default = found.power_limit_w, found.power_limit_default_w
    if limit is not None and default is not None and limit < default - TOLERANCE_W:
        yield _issue(
            "power-cap", f"power limit {limit:.0f} W, below the default {default:.0f} W",
            f"an administrator can lift it: nvidia-smi -pl {default:.0f}",
        )  # fmt: skip


def link(card: TestedCard) -> Iterator[Issue]:
    """Lanes and generation of PCIe: as the telemetry saw them under load, else as the session began."""
    found, watched = card.result.environment, [m.telemetry for m in card.result.measurements if m.telemetry]
    # A GPU that the catalog does not hold (any more) has no stated link.
    spec = next((spec for spec in catalog.all_gpus() if spec.id == found.gpu_id), None)
    lanes = spec.number("pcie_lanes") if spec else None
    able = spec.number("pcie_generation") if spec else None
    widths = [t.pcie_width for t in watched if t.pcie_width] + (
        [found.pcie_width] if found.pcie_width else []
    )
    # A riser with eight lanes makes the driver call eight the most there is; the catalog knows better.
    most = int(max(found.pcie_width_max or 0, lanes or 0))
    if widths and max(widths) < most:
        yield _issue(
            "pcie", f"PCIe x{max(widths)}, the card has x{most}",
            "seat it again, in a slot with all lanes and without a riser",
        )  # fmt: skip
    loaded = max((t.pcie_generation for t in watched if t.pcie_generation), default=None)
    now, slot = loaded or found.pcie_generation, found.pcie_generation_max
    if now is not None and slot is not None and now < slot:
        when = "under load" if loaded else "when the session began (idle cards lower it)"
        yield _issue(
            "pcie", f"PCIe generation {now} {when}, card and slot can do {slot}",
            "seat it again, without a riser; see the BIOS for a limited link speed",
            "invalid" if loaded else "warning",
        )  # fmt: skip
    elif slot is not None and able is not None and slot < able:
        yield _issue(
            "pcie", f"PCIe generation {slot} in this slot, the card has {able:.0f}",
            "expect slower transfers, or use a slot of the card's generation", "warning",
        )  # fmt: skip


def faults(card: TestedCard) -> Iterator[Issue]:
    """Errors of the memory."""
    found, before = card.after, card.before
    replace = "ask the vendor for another card: nvidia-smi -q -d ECC"
    if found.ecc_uncorrected:
        yield _issue("ecc", f"{found.ecc_uncorrected} uncorrected memory errors in its life", replace)
    if found.remap_failed:
        yield _issue("ecc", "a memory row could not be remapped: no spare is left", replace)
    if found.remap_pending:
        restart = "reset the GPU or restart the host, then test again"
        yield _issue("ecc", "a memory row waits to be remapped", restart)
    new = (found.ecc_corrected or 0) - (before.ecc_corrected or 0)
    if new > 0:
        yield _issue("ecc", f"{new} corrected memory errors came while it was measured", replace)
    elif found.ecc_corrected or found.rows_remapped:
        corrected, rows = found.ecc_corrected or 0, found.rows_remapped or 0
        yield _issue(
            "ecc", f"{corrected} corrected memory errors and {rows} remapped rows in its life",
            "a new card has none; look again in a week whether they grow", "warning",
        )  # fmt: skip


def heat(card: TestedCard) -> Iterator[Issue]:
    """Temperature, and clocks that were lowered."""
    shares, highest = throttle_shares(card.result), hottest(card.result)
    advice = "improve the cooling: airflow, dust, a free slot beside it, the room"
    slows_c = card.after.slowdown_c
    if (lowered := shares.get("thermal", 0.0)) > THROTTLED:
        at = "" if highest is None else f", up to {highest:.0f} °C"
        yield _issue("hot", f"clock lowered for heat in {percent(lowered, 0)} of the samples{at}", advice)
    elif card.on_gpu and highest is not None and highest >= (HOT_C if slows_c is None else slows_c - NEAR_C):
        slows = "" if slows_c is None else f"; it slows down at {slows_c:.0f} °C"
        yield _issue("hot", f"{highest:.0f} °C{slows}", advice)
    for cause, share in shares.items():
        if cause not in HARMLESS and cause != "thermal" and share > THROTTLED:
            why = NEXT_STEPS.get(cause, "see why: nvidia-smi -q -d PERFORMANCE")
            yield _issue("throttled", f"clock lowered by {cause} in {percent(share, 0)} of the samples", why)
    done = [m for m in card.result.measurements if m.status == "ok"]
    if card.on_gpu and done and not any(m.telemetry for m in done):
        yield _issue(
            "unwatched", "the driver reported neither heat nor clocks, so they are not judged",
            "gpuwise doctor", "warning",
        )  # fmt: skip


def _issue(code: str, detail: str, fix: str, severity: Severity = "invalid") -> Issue:
    return Issue(code=code, severity=severity, detail=detail, fix=fix)


def hottest(result: Result) -> float | None:
    """Highest temperature of all timed windows, C."""
    seen = [m.telemetry.temperature_max_c for m in result.measurements if m.telemetry is not None]
    return max((c for c in seen if c is not None), default=None)


def throttle_shares(result: Result) -> dict[str, float]:
    """Share of all samples of the session by cause; empty where there are too few to judge."""
    watched = [m.telemetry for m in result.measurements if m.telemetry is not None]
    samples = sum(seen.samples for seen in watched)
    if samples < ENOUGH_SAMPLES:
        return {}
    shares: dict[str, float] = defaultdict(float)
    for seen in watched:
        for cause, share in seen.throttled:
            shares[cause] += share * seen.samples / samples
    return shares
