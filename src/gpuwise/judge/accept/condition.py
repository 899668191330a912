"""What the state of a card says against it, whatever its speed: heat, clocks, links, faults, company.

    hot        the clock was lowered for heat in more than 5 % of all samples, or the highest
               temperature came within 2 degrees of where the card slows down (85 C where it does not tell)
    throttled  lowered in more than 5 % of all samples for any other reason but the power limit, at which
               large GPUs normally run, and a display
    power-cap  the limit is below the card's default
    pcie       fewer lanes or an older generation than card or slot have; the generation is judged under
               load, for idle cards lower it
    ecc        uncorrected errors in the card's life, corrected ones that came while it was measured, a
               failed or pending remap of memory rows

Counters and thresholds are NVML's: https://docs.nvidia.com/deploy/nvml-api/
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpuwise.facts import catalog
from gpuwise.judge.accept.card import Card, Reason
from gpuwise.measure.telemetry.summary import ENOUGH_SAMPLES, NEXT_STEPS, THROTTLED
from gpuwise.model.result import Result
from gpuwise.model.units import percent

HOT_C = 85.0
NEAR_C = 2.0
HARMLESS = frozenset({"power-cap", "display-clocks"})


def reasons(card: Card) -> Iterator[Reason]:
    """Everything that speaks against the card by itself."""
    for ask in (
        _failed,
        _company,
        _partition,
        _power,
        _lanes,
        _generation,
        _faults,
        _heat,
        _throttled,
        _unwatched,
    ):
        yield from ask(card)


def _failed(card: Card) -> Iterator[Reason]:
    if card.refusal:
        yield Reason(code="busy", detail=f"not measured: {card.refusal}", next_step="end what holds it")
        return
    if not card.result.measurements:
        yield Reason(code="failed", detail="nothing was measured", next_step="gpuwise doctor")
    broken = [m for m in card.result.measurements if m.status != "ok"]
    for m in broken:
        why = f": {m.error.splitlines()[0]}" if m.error else ""
        yield Reason(
            code="failed",
            detail=f"{m.config.key('batch')} {m.status}{why}",
            next_step="run it again alone: gpuwise bench " + m.config.workload,
        )


def _company(card: Card) -> Iterator[Reason]:
    if not card.on_gpu:
        return
    told = [c for m in card.result.measurements for c in m.cautions if c.code == "contended"]
    if told:
        yield Reason(code="busy", detail=told[0].detail, next_step=told[0].fix)
    elif card.result.environment.other_processes:
        count = card.result.environment.other_processes
        yield Reason(
            code="busy",
            detail=f"{count} other process{'es' if count > 1 else ''} on the card",
            next_step="end them and measure again: nvidia-smi lists them",
        )


def _partition(card: Card) -> Iterator[Reason]:
    if card.result.environment.mig:
        yield Reason(
            code="mig",
            detail="MIG is on: a slice was measured, not the card",
            next_step="an administrator can turn it off: nvidia-smi -mig 0",
        )


def _power(card: Card) -> Iterator[Reason]:
    limit, default = card.result.environment.power_limit_w, card.result.environment.power_limit_default_w
    if limit is not None and default is not None and limit < default - 0.5:
        yield Reason(
            code="power-cap",
            detail=f"power limit {limit:.0f} W, below the default {default:.0f} W",
            next_step=f"an administrator can lift it: nvidia-smi -pl {default:.0f}",
        )


def _lanes(card: Card) -> Iterator[Reason]:
    found = card.result.environment
    lanes = _stated(found.gpu_id, "pcie_lanes")
    width = max(filter(None, (found.pcie_width, *_seen(card.result, "pcie_width"))), default=None)
    most = int(max(filter(None, (found.pcie_width_max, lanes)), default=0))
    if width is not None and width < most:
        yield Reason(
            code="pcie",
            detail=f"PCIe x{width}, the card has x{most}",
            next_step="seat it again, in a slot with all lanes and without a riser",
        )


def _generation(card: Card) -> Iterator[Reason]:
    found = card.result.environment
    able = _stated(found.gpu_id, "pcie_generation")
    loaded = max(_seen(card.result, "pcie_generation"), default=None)
    now, slot = loaded or found.pcie_generation, found.pcie_generation_max
    if now is not None and slot is not None and now < slot:
        when = "under load" if loaded else "when the session began (idle cards lower it)"
        yield Reason(
            code="pcie",
            fails=loaded is not None,
            detail=f"PCIe generation {now} {when}, card and slot can do {slot}",
            next_step="seat it again, without a riser; see the BIOS for a limited link speed",
        )
    elif slot is not None and able is not None and slot < able:
        yield Reason(
            code="pcie",
            fails=False,
            detail=f"PCIe generation {slot} in this slot, the card has {able:.0f}",
            next_step="expect slower transfers, or use a slot of the card's generation",
        )


def _stated(gpu_id: str | None, field: str) -> float | None:
    """What the catalog says; None for a GPU that it does not hold (any more)."""
    return next((spec.number(field) for spec in catalog.all_gpus() if spec.id == gpu_id), None)


def _seen(result: Result, field: str) -> list[int]:
    """What the telemetry of each measurement holds in `field`."""
    told = (getattr(m.telemetry, field) for m in result.measurements if m.telemetry is not None)
    return [value for value in told if value]


def _faults(card: Card) -> Iterator[Reason]:
    found, before = card.after, card.before
    if found.ecc_uncorrected:
        yield _ecc(f"{found.ecc_uncorrected} uncorrected memory errors in its life")
    if found.remap_failed:
        yield _ecc("a memory row could not be remapped: no spare is left")
    if found.remap_pending:
        yield _ecc("a memory row waits to be remapped", "reset the GPU or restart the host, then test again")
    new = (found.ecc_corrected or 0) - (before.ecc_corrected or 0)
    if new > 0:
        yield _ecc(f"{new} corrected memory errors came while it was measured")
    elif found.ecc_corrected or found.rows_remapped:
        corrected, rows = found.ecc_corrected or 0, found.rows_remapped or 0
        yield Reason(
            code="ecc",
            fails=False,
            detail=f"{corrected} corrected memory errors and {rows} remapped rows in its life",
            next_step="a new card has none; look again in a week whether they grow",
        )


def _ecc(detail: str, next_step: str = "ask the vendor for another card: nvidia-smi -q -d ECC") -> Reason:
    return Reason(code="ecc", detail=detail, next_step=next_step)


def _heat(card: Card) -> Iterator[Reason]:
    lowered = throttle_shares(card.result).get("thermal", 0.0)
    highest = hottest(card.result)
    told = card.after.slowdown_c
    limit = HOT_C if told is None else told - NEAR_C
    advice = "improve the cooling: airflow, dust, a free slot beside it, the room"
    if lowered > THROTTLED:
        at = "" if highest is None else f", up to {highest:.0f} °C"
        detail = f"clock lowered for heat in {percent(lowered, 0)} of the samples{at}"
        yield Reason(code="hot", detail=detail, next_step=advice)
    elif card.on_gpu and highest is not None and highest >= limit:
        slows = "" if told is None else f"; it slows down at {told:.0f} °C"
        yield Reason(code="hot", detail=f"{highest:.0f} °C{slows}", next_step=advice)


def _throttled(card: Card) -> Iterator[Reason]:
    for cause, share in throttle_shares(card.result).items():
        if cause not in HARMLESS and cause != "thermal" and share > THROTTLED:
            yield Reason(
                code="throttled",
                detail=f"clock lowered by {cause} in {percent(share, 0)} of the samples",
                next_step=NEXT_STEPS.get(cause, "see why: nvidia-smi -q -d PERFORMANCE"),
            )


def _unwatched(card: Card) -> Iterator[Reason]:
    done = [m for m in card.result.measurements if m.status == "ok"]
    if card.on_gpu and done and not any(m.telemetry for m in done):
        yield Reason(
            code="unwatched",
            fails=False,
            detail="the driver told neither heat nor clocks, so they are not judged",
            next_step="gpuwise doctor",
        )


def hottest(result: Result) -> float | None:
    """Highest temperature of all timed windows, C."""
    told = [m.telemetry.temperature_max_c for m in result.measurements if m.telemetry is not None]
    return max((c for c in told if c is not None), default=None)


def throttle_shares(result: Result) -> dict[str, float]:
    """Share of all samples of the session by cause; empty where there are too few to judge."""
    watched = [m.telemetry for m in result.measurements if m.telemetry is not None]
    samples = sum(told.samples for told in watched)
    if samples < ENOUGH_SAMPLES:
        return {}
    shares: dict[str, float] = defaultdict(float)
    for told in watched:
        for cause, share in told.throttled:
            shares[cause] += share * told.samples / samples
    return shares
