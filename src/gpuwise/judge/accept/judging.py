"""The verdict on the cards of a host: what the state of each says against it, and whether it is slow.

    hot        the clock was lowered for heat in more than 5 % of all samples, or the highest
               temperature came within 2 degrees of where the card slows down (85 C where it does not say)
    throttled  lowered in more than 5 % of all samples for any other reason but the power limit, at which
               large GPUs normally run, and a display
    power-cap  the limit is below the card's default
    pcie       fewer lanes or an older generation than card or slot have; the generation is judged under
               load, because idle cards lower it
    ecc        uncorrected errors in the card's life, corrected ones that came while it was measured, a
               failed or pending remap of memory rows
    slow       high end of the 95 % interval of (speed / reference)   <  1 - margin
    spread     high end of the card's own interval                    <  (1 - margin) x upper median of
               the cards of that model in the host, itself included

Counters and thresholds are NVML's: https://docs.nvidia.com/deploy/nvml-api/. Of a speed the whole interval
must be below, so noise refuses no card, and the margin is never less than what good cards of the kind are
known to differ by. The upper median makes the faster of two cards the measure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median_high, median_low, mode

from gpuwise.facts import catalog
from gpuwise.judge.accept.card import (
    Acceptance,
    Judged,
    Key,
    Lookup,
    Reference,
    TestedCard,
    allowed,
    fastest,
    named,
    question,
    speed_of,
    speeds,
)
from gpuwise.measure.telemetry.health import FABRIC
from gpuwise.measure.telemetry.sensor import ENOUGH_SAMPLES, NEXT_STEPS, THROTTLED
from gpuwise.model.question import is_lowered
from gpuwise.model.result import Interval, Issue, Link, Measurement, Result, grouped
from gpuwise.model.units import gibibytes, percent
from gpuwise.stats.interval import ratio_of

# Where the card does not say at which temperature it slows down; and how near to that is too near.
HOT_C = 85.0
NEAR_C = 2.0
# Reasons for a lowered clock that are not faults: large GPUs run at their power limit, a display asks for it.
HARMLESS = frozenset({"power-cap", "display-clocks"})
Speeds = Mapping[Key, Interval]


def condition(card: TestedCard) -> Iterator[Issue]:
    """Everything that speaks against the card by itself."""
    yield from session(card)
    yield from settings(card)
    yield from link(card)
    yield from faults(card)
    yield from heat(card)


def session(card: TestedCard) -> Iterator[Issue]:
    """Issues of the session: what did not run, or not alone, and what contradicts its own steps."""
    if card.refusal:
        yield Issue.invalid("busy", f"not measured: {card.refusal}", "end what holds it")
    elif not card.result.measurements:
        yield Issue.invalid("failed", "nothing was measured", "gpuwise doctor")
    for m in card.result.measurements:
        why = f": {m.error.splitlines()[0]}" if m.error else ""
        if m.status != "ok":
            fix = f"run it again alone: gpuwise bench {m.config.workload}"
            if m.status == "interrupted":  # Somebody pressed Ctrl-C: that says nothing of the card.
                yield Issue.warning("interrupted", m.config.label(), fix)
            else:
                yield Issue.invalid("failed", f"{m.config.label()}: {m.status}{why}", fix)
        for issue in m.cautions:
            if issue.code == "tampered":
                yield Issue.invalid("tampered", f"{m.config.label()}: {issue.detail}", issue.fix)
    if not card.on_gpu:
        return
    contended = [c for m in card.result.measurements for c in m.cautions if c.code == "contended"]
    if contended:
        yield Issue.invalid("busy", contended[0].detail, contended[0].fix)
    elif count := card.result.environment.other_processes:
        fix = "end them and measure again: nvidia-smi lists them"
        yield Issue.invalid("busy", f"{count} other process{'es' if count > 1 else ''} on the card", fix)


def settings(card: TestedCard) -> Iterator[Issue]:
    """Settings of an administrator: MIG, the power limit."""
    environment, number = card.result.environment, card.name.removeprefix("GPU ")
    # Without an index nvidia-smi sets all GPUs of the host.
    one = f"nvidia-smi -i {number if number.isdecimal() else 'INDEX'}"
    if environment.mig:
        fix = f"an administrator can turn it off: {one} -mig 0"
        yield Issue.invalid("mig", "MIG is on: a slice was measured, not the card", fix)
    limit, default = environment.power_limit_w, environment.power_limit_default_w
    if is_lowered(limit, default):
        fix = f"an administrator can lift it: {one} -pl {default:.0f}"
        yield Issue.invalid("power-cap", f"power limit {limit:.0f} W, below the default {default:.0f} W", fix)


def link(card: TestedCard) -> Iterator[Issue]:
    """Lanes and generation of PCIe: as the telemetry saw them under load, else as the session began."""
    environment = card.result.environment
    watched = [m.telemetry for m in card.result.measurements if m.telemetry]
    # A GPU that the catalog does not hold (any more) has no stated link.
    spec = next((spec for spec in catalog.all_gpus() if spec.id == environment.gpu_id), None)
    lanes = spec.number("pcie_lanes") if spec else None
    able = spec.number("pcie_generation") if spec else None
    widths = [width for width in (environment.pcie_width, *(t.pcie_width for t in watched)) if width]
    # A riser with eight lanes makes the driver call eight the most there is; the catalog knows better.
    most = int(max(environment.pcie_width_max or 0, lanes or 0))
    if widths and max(widths) < most:
        fix = "seat it again, in a slot with all lanes and without a riser"
        yield Issue.invalid("pcie", f"PCIe x{max(widths)}, the card has x{most}", fix)
    loaded = max((t.pcie_generation for t in watched if t.pcie_generation), default=None)
    now, slot = loaded or environment.pcie_generation, environment.pcie_generation_max
    if now is not None and slot is not None and now < slot:
        found, when = Issue.warning, "when the session began (idle cards lower it)"
        if loaded:
            found, when = Issue.invalid, "under load"
        fix = "seat it again, without a riser; see the BIOS for a limited link speed"
        yield found("pcie", f"PCIe generation {now} {when}, card and slot can do {slot}", fix)
    elif slot is not None and able is not None and slot < able:
        fix = "expect slower transfers, or use a slot of the card's generation"
        yield Issue.warning("pcie", f"PCIe generation {slot} in this slot, the card has {able:.0f}", fix)


def faults(card: TestedCard) -> Iterator[Issue]:
    """Errors of the memory, and of the links to other cards and to the host."""
    after, before = card.after, card.before
    other = "ask the vendor for another card: nvidia-smi -q -d ECC"
    if after.ecc_uncorrected:
        yield Issue.invalid("ecc", f"{after.ecc_uncorrected} uncorrected memory errors in its life", other)
    if after.remap_failed:
        yield Issue.invalid("ecc", "a memory row could not be remapped: no spare is left", other)
    if after.remap_pending:
        restart = "reset the GPU or restart the host, then test again"
        yield Issue.invalid("ecc", "a memory row waits to be remapped", restart)
    flaps = (after.nvlink_recoveries or 0) - (before.nvlink_recoveries or 0)
    if flaps > 0:
        detail = f"an NVLink went down and came back {flaps} times while it was measured"
        fix = "reseat the bridge or the board: nvidia-smi nvlink -e names the link"
        yield Issue.invalid("link", detail, fix)
    for bus, was, now in (
        ("NVLink", before.nvlink_replays, after.nvlink_replays),
        ("PCIe", before.pcie_replays, after.pcie_replays),
        ("NVLink, being damaged,", before.nvlink_crc_errors, after.nvlink_crc_errors),
    ):
        if (again := (now or 0) - (was or 0)) > 0:
            fix = "a few are normal; if they grow, reseat the card and its cables"
            yield Issue.warning("link", f"packets sent again over {bus} while it was measured: {again}", fix)
    new = (after.ecc_corrected or 0) - (before.ecc_corrected or 0)
    if new > 0:
        yield Issue.invalid("ecc", f"{new} corrected memory errors came while it was measured", other)
    elif after.ecc_corrected or after.rows_remapped:
        corrected, rows = after.ecc_corrected or 0, after.rows_remapped or 0
        detail = f"{corrected} corrected memory errors and {rows} remapped rows in its life"
        yield Issue.warning("ecc", detail, "a new card has none; look again in a week whether they grow")


def heat(card: TestedCard) -> Iterator[Issue]:
    """Temperature, and clocks that were lowered."""
    shares, highest = throttle_shares(card.result), hottest(card.result)
    advice = "improve the cooling: airflow, dust, a free slot beside it, the room"
    slows_c = card.after.slowdown_c
    if (lowered := shares.get("thermal", 0.0)) > THROTTLED:
        at = "" if highest is None else f", up to {highest:.0f} °C"
        yield Issue.invalid(
            "hot", f"clock lowered for heat in {percent(lowered, 0)} of the samples{at}", advice
        )
    elif card.on_gpu and highest is not None and highest >= (HOT_C if slows_c is None else slows_c - NEAR_C):
        slows = "" if slows_c is None else f"; it slows down at {slows_c:.0f} °C"
        yield Issue.invalid("hot", f"{highest:.0f} °C{slows}", advice)
    for cause, share in shares.items():
        if cause not in HARMLESS and cause != "thermal" and share > THROTTLED:
            why = NEXT_STEPS.get(cause, "see why: nvidia-smi -q -d PERFORMANCE")
            yield Issue.invalid(
                "throttled", f"clock lowered by {cause} in {percent(share, 0)} of the samples", why
            )
    done = [m for m in card.result.measurements if m.status == "ok"]
    if card.on_gpu and done and not any(m.telemetry for m in done):
        detail = "the driver reported neither heat nor clocks, so they are not judged"
        yield Issue.warning("unwatched", detail, "gpuwise doctor")


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


# Cards of one airflow differ by some degrees; by more, one of them gets less of it.
HOTTER_C = 10.0


def judge(
    cards: Sequence[TestedCard], lookup: Lookup, margin: float, links: tuple[Link, ...] = (),
    fabric: Mapping[str, int] | None = None, common: tuple[TestedCard, ...] = (),
) -> Acceptance:  # fmt: skip
    """Judge each card by itself, against its references and against the others of the host.

    `margin` is the share by which a speed may be below what it is compared with; `fabric` holds the errors
    that InfiniBand ports counted meanwhile, `common` what no single card answers for: the host does.
    """
    unlike = spread(cards, margin)
    references = {card.name: lookup(card.result) for card in cards}
    rates = grouped((card.result.environment.device, speeds(card.result)) for card in cards)
    counts = Counter((card.result.environment.device, q) for card in cards for q in speeds(card.result))
    judged = []
    for card in cards:
        issues = (
            *condition(card),
            *(issue for reference in references[card.name] for issue in slow(card, reference, margin)),
            *held_back(card, margin),
            *(issue for m in card.result.measurements for issue in faded(m, margin)),
            *unlike.get(card.name, ()),
        )
        questions = {q for reference in references[card.name] for q in speeds(reference.result)}
        compared = sum(
            q in questions or counts[card.result.environment.device, q] > 1 for q in speeds(card.result)
        )
        least = accepted(card, references[card.name], rates, margin)
        judged.append(Judged(card=card, issues=issues, compared=compared, least=least))
    host = [*mixed(cards), *(issue for link in links for issue in weak(link, links)), *flapped(fabric or {})]
    for part in common:
        found = [*session(part), *(i for known in lookup(part.result) for i in slow(part, known, margin))]
        host += [replace(issue, detail=f"{part.name}: {issue.detail}") for issue in found]
    return Acceptance(
        cards=tuple(judged),
        host=tuple(host),
        common=common,
        links=links,
        fabric=fabric or {},
        margin=margin,
        references=tuple(dict.fromkeys(each.name for known in references.values() for each in known)),
    )


def accepted(
    card: TestedCard, references: Sequence[Reference], rates: Mapping[str, Sequence[Speeds]], margin: float
) -> dict[Key, float]:
    """Of each speed of the card that is compared, the least that does not fail it, items/s; `rates` are those
    of all cards, by model."""
    place, least = card.result.environment, {}
    stated = [speeds(reference.result) for reference in references if reference.same_code]
    for key in speeds(card.result):
        same = [each[key].value for each in rates[place.device] if key in each]
        wanted = [each[key].value for each in stated if key in each]
        wanted += [median_high(same)] if len(same) > 1 else []
        if wanted:
            least[key] = (1 - allowed(place.gpu_id, key, margin)) * max(wanted)
    return least


def mixed(cards: Sequence[TestedCard]) -> Iterator[Issue]:
    """An issue where name, memory or power limit differ, which the buyer of equal cards expects to agree."""
    models: Counter[str] = Counter()
    for card in cards:
        environment = card.result.environment
        memory = f" {gibibytes(environment.device_memory_bytes)}" if environment.device_memory_bytes else ""
        watts = f" {environment.power_limit_default_w:.0f} W" if environment.power_limit_default_w else ""
        models[f"{environment.device}{memory}{watts}"] += 1
    if len(models) > 1:
        listed = ", ".join(f"{count} x {name}" for name, count in models.most_common())
        fix = "ask for equal cards: together they run at the pace of the slowest"
        yield Issue.invalid("mixed", f"different models in one host: {listed}", fix)


def weak(one: Link, links: Sequence[Link]) -> Iterator[Issue]:
    """Where a pair of cards has fewer NVLinks than most pairs of the host, or none where they have them."""
    lanes = {link: int(link.path[2:]) if link.path.startswith("NV") else 0 for link in links}
    usual = mode(lanes.values())
    if lanes[one] < usual:
        has = f"{lanes[one]} NVLinks" if lanes[one] else f"no NVLink ({one.path})"
        fix = "reseat the bridge or the board: nvidia-smi nvlink -s names the link that is down"
        yield Issue.invalid("link", f"cards {one.a} and {one.b} have {has}, most pairs here {usual}", fix)


def flapped(fabric: Mapping[str, int]) -> Iterator[Issue]:
    """Counts of InfiniBand ports during the test: a link that went down, or errors on it."""
    for counter, count in fabric.items():
        if count > 0:
            found = Issue.invalid if counter.endswith(FABRIC[:2]) else Issue.warning  # A link that went down
            fix = "reseat or exchange cable and transceiver: ibqueryerrors names the ports"
            yield found("link", f"InfiniBand {counter} grew by {count} during the test", fix)


def faded(m: Measurement, margin: float) -> Iterator[Issue]:
    """Of a soak: whether the last quarter is slower than the first by more than the margin."""
    first, last = quarters(m)
    if first < (1 - margin) * last:
        slower = f"{percent(1 - first / last)} slower at the end than in the beginning"
        fix = "see heat, clocks and power over time in its result; then improve the cooling"
        yield Issue.invalid("soak", f"{named(question(m))}: {slower}", fix)


def quarters(m: Measurement) -> tuple[float, float]:
    """Mean step of the first and the last quarter of a soak; 0 and 0 of what is none, or too short."""
    number = len(m.windows) // 4 if m.config.protocol == "soak" else 0
    parts = (m.windows[:number], m.windows[-number:]) if number else ((), ())
    first, last = (fmean([fmean(w.step_s) for w in part] or [0.0]) for part in parts)
    return first, last


def slow(card: TestedCard, reference: Reference, margin: float) -> Iterator[Issue]:
    """Each speed that is below the reference's by more than the margin."""
    wanted, gpu_id = speeds(reference.result), card.result.environment.gpu_id
    for key, mine in speeds(card.result).items():
        if key not in wanted:
            continue
        ratio = ratio_of(wanted[key], mine)
        if ratio.high < 1 - allowed(gpu_id, key, margin):
            found = Issue.invalid if reference.same_code else Issue.warning
            fix = "see heat, clocks, power limit and link above; then measure again alone"
            yield found("slow", f"{named(key)} {percent(1 - ratio.value)} below {reference.name}", fix)


def held_back(card: TestedCard, margin: float) -> Iterator[Issue]:
    """Limits whose median is below their fastest window by more than the margin. That is how large cards run;
    of a processor, where other programs do it, it is not worth a word."""
    for m in card.result.measurements if card.on_gpu else ():
        best, usual = speed_of(m), m.throughput
        if m.status != "ok" or not fastest(m) or best is None or usual is None:
            continue
        if usual.value < (1 - margin) * best.value:
            fell = f"{named(question(m))} fell {percent(1 - usual.value / best.value)}"
            judged = "by which it is judged: clocks are lowered under the power limit"
            detail = f"{fell} below its fastest burst, {judged}"
            fix = "nothing: what it sustains is judged by training and inference"
            yield Issue.info("power-cap", detail, fix)


def spread(cards: Sequence[TestedCard], margin: float) -> Mapping[str, list[Issue]]:
    """Issues by the name of the card that is slower or hotter than the cards of its model."""
    issues: dict[str, list[Issue]] = defaultdict(list)
    models = grouped((card.result.environment.device, card) for card in cards)
    for same in (same for same in models.values() if len(same) > 1):
        each = {card.name: speeds(card.result) for card in same}
        gpu_id = same[0].result.environment.gpu_id
        for key in dict.fromkeys(q for mine in each.values() for q in mine):
            rates = {name: mine[key] for name, mine in each.items() if key in mine}
            # Of two cards the faster is the measure, or neither could ever be slow.
            middle = median_high(rate.value for rate in rates.values())
            fix = "measure again; then exchange slots: does the fault follow the card?"
            for name, rate in rates.items():
                if rate.high < (1 - allowed(gpu_id, key, margin)) * middle:
                    below = f"{percent(1 - rate.value / middle)} below the median of the {len(rates)} cards"
                    issues[name].append(Issue.invalid("spread", f"{named(key)} {below}", fix))
        heats = {card.name: heat for card in same if (heat := hottest(card.result)) is not None}
        cool = median_low(heats.values()) if heats else 0.0
        for name, heat in heats.items():
            if heat > cool + HOTTER_C:
                above = f"{heat:.0f} °C, {heat - cool:.0f} °C above the median of the {len(heats)} cards"
                issues[name].append(Issue.warning("hot", above, "look at its fan, airflow and seat"))
    return issues
