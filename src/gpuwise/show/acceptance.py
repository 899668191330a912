"""The verdict of `gpuwise accept` as tables and as plain data: a host, or a fleet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from gpuwise.judge.accept.bundle import LOOSE
from gpuwise.judge.accept.card import Acceptance, Judged, TestedCard, named, question, speed_of, speeds
from gpuwise.judge.accept.fleet import Fleet
from gpuwise.judge.accept.judging import flapped, hottest, quarters, weak
from gpuwise.model.result import Issue, Link, Measurement, Telemetry, grouped
from gpuwise.model.units import Amount, celsius, percent, seconds, whole
from gpuwise.show.charts import Axis, Mark, Plot, Point, Rows, Series, linear
from gpuwise.show.page import Figure, Page, Section, section
from gpuwise.show.results import counted
from gpuwise.show.table import Table, rate

# Hosts on the screen; --json has all.
NAMED = 20
# Questions and cards of each that a certificate draws: those with the least margin.
DRAWN, SLOWEST = 4, 8
# Soaks that it draws: those that slowed most.
FADED = 6


def acceptance(found: Acceptance) -> Table:
    """One row a card; below it every reason in words with its next step."""
    reasons = [("host", reason) for reason in found.host]
    reasons += [(judged.card.name, reason) for judged in found.cards for reason in brief(judged.issues)]
    rows = []
    for judged in found.cards:
        result = judged.card.result
        done = sum(m.status == "ok" for m in result.measurements)
        cells = {
            "card": judged.card.name,
            "model": result.environment.device,
            "verdict": judged.outcome,
            "measured": Amount(f"{done} of {len(result.measurements)}", done),
            "highest": celsius(hottest(result)),
            "reasons": ", ".join(dict.fromkeys(reason.code for reason in judged.issues)),
        }
        rows.append(cells)
    return Table.of(
        rows,
        title=f"{found.outcome}: {count(found)}",
        before=(_limits(found.references, len(found.cards), found.margin),),
        notes=tuple(
            f"{name}: {reason.code}{'' if reason.severity == 'invalid' else ' (not a failure)'}: "
            f"{reason.detail}. Next: {reason.fix}"
            for name, reason in reasons
        ),
    )


def _limits(references: Sequence[str], cards: int, margin: float) -> str:
    """What is accepted. Cards are compared with each other only where there are several."""
    known = " and ".join([*references, *(["each other"] if cards > 1 else [])])
    known = known or "nothing: no reference is known"
    return f"Speeds are compared with {known}; margin {percent(margin, 0)}."


def count(found: Acceptance) -> str:
    """`7 of 8 cards pass`."""
    passed = sum(judged.outcome == "pass" for judged in found.cards)
    host = ", the host does not" if _failures(found.host) else ""
    return f"{passed} of {counted(len(found.cards), 'card')} {'passes' if passed == 1 else 'pass'}{host}"


def blame(found: Acceptance) -> str:
    """`GPU 3 (hot, spread); host (mixed)`: what fails."""
    parts = [f"{j.card.name} ({_failures(j.issues)})" for j in found.cards if not j.passed]
    return "; ".join([*parts, *([f"host ({codes})"] if (codes := _failures(found.host)) else [])])


def _failures(reasons: Iterable[Issue]) -> str:
    return ", ".join(dict.fromkeys(reason.code for reason in reasons if reason.severity == "invalid"))


def document(found: Acceptance) -> dict[str, Any]:
    """The verdict as plain data; the results themselves are files of their own."""

    def reasons(issues: Sequence[Issue]) -> list[dict[str, Any]]:
        return [
            {"code": i.code, "fails": i.severity == "invalid", "detail": i.detail, "next_step": i.fix}
            for i in issues
        ]

    return {
        "passed": found.outcome == "pass",
        "outcome": found.outcome,
        "margin": found.margin,
        "references": list(found.references),
        "host": reasons(found.host),
        "links": [{**asdict(link), "passed": not any(weak(link, found.links))} for link in found.links],
        "cards": [
            {
                "card": judged.card.name,
                "device": judged.card.result.environment.device,
                "result": judged.card.result.id,
                "passed": judged.outcome == "pass",
                "outcome": judged.outcome,
                "reasons": reasons(judged.issues),
            }
            for judged in found.cards
        ],
        "common": [
            {
                "part": part.name,
                "result": part.result.id,
                "speeds": [
                    {"speed_of": named(asked), "value": speed.value, "low": speed.low, "high": speed.high}
                    for asked, speed in speeds(part.result).items()
                ],
            }
            for part in found.common
        ],
    }


def certificate(found: Acceptance | Fleet) -> Page:
    """The verdict as a page to keep: every card, link and speed with its limit, and every reason."""
    hosts = found.hosts if isinstance(found, Fleet) else (("", found),)
    every = [(name, judged) for name, each in hosts for judged in each.cards]
    failed = [f"{name}: {blame(each)}".removeprefix(": ") for name, each in hosts if not each.passed]
    passed = sum(judged.outcome == "pass" for _, judged in every)
    dates = sorted(judged.card.result.created_at[:10] for _, judged in every)
    machines = counted(sum(bool(each.cards) for _, each in hosts), "host")
    cards = Table.of((_certified(host, judged) for host, judged in every), title="Cards")
    common = Table.of(
        (row for host, each in hosts for part in each.common for row in _speeds(host, Judged(card=part))),
        title="Together",
    )
    ports = Table.of(({
        "host": host, "counter": counter, "grew by": whole(count),
        "verdict": "FAIL" if any(i.severity == "invalid" for i in flapped({counter: count})) else "pass",
    } for host, each in hosts for counter, count in each.fabric.items()), title="InfiniBand")  # fmt: skip
    links = Table.of(({
        "host": host, "link": f"card {link.a} - card {link.b}",
        "path": link.path, "peer access": {True: "yes", False: "no", None: "not reported"}[link.peer],
        **_copied(each, link),
        "verdict": "FAIL" if bad else "pass",
    } for bad in (True, False) for host, each in hosts for link in each.links
      if any(weak(link, each.links)) is bad), title="Links")  # fmt: skip
    speeds = Table.of((row for host, judged in every for row in _speeds(host, judged)), title="Speeds")
    drawn = margins(every)
    figure = Figure(
        charts=(Rows(marks=drawn, ratio=True, title="measured over the least that is accepted"),),
        table=speeds,
        caption="Speeds over the least that is accepted, those with the least margin: below 1 a card fails.",
    )
    reasons = Table.of(({
        "host": host, "card": name or "host", "reason": reason.code, "severity": reason.severity,
        "detail": reason.detail, "next": reason.fix,
    } for host, each in hosts
      for name, issues in (("", each.host), *((j.card.name, j.issues) for j in each.cards))
      for reason in brief(issues)), title="Reasons")  # fmt: skip
    missing = found.missing if isinstance(found, Fleet) else ()
    skipped = found.skipped if isinstance(found, Fleet) else ()
    return Page(
        title=f"Acceptance of {counted(len(every), 'GPU')}: {found.outcome}",
        subtitle=f"{machines}, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}",
        summary=(
            f"{passed} of {counted(len(every), 'card')} pass.",
            _limits(
                [*dict.fromkeys(r for _, each in hosts for r in each.references)], len(every), found.margin
            ),
            *(["Fails: " + "; ".join(failed[:NAMED])] if failed else []),
            *(f"Not judged: {host}: {why}" for host, why in missing),
            *(f"{file} was not read: {why}" for file, why in skipped),
        ),
        sections=(
            section("certificate", "cards", tables=(cards,)),
            section("certificate", "links", tables=(links, ports)),
            soaks(every),
            section("certificate", "together", tables=(common,)),
            section("certificate", "reasons", tables=(reasons,)),
            # Last: printed, the speeds of a rack are hundreds of pages.
            section(
                "certificate", "speeds", figures=(figure,) if drawn else (), tables=() if drawn else (speeds,)
            ),
        ),
        made_on=datetime.now(UTC).date().isoformat(),
    )


def _certified(host: str, judged: Judged) -> dict[str, str]:
    """A card of the certificate: what it is, how it stood, what of it failed."""
    card, place = judged.card, judged.card.result.environment
    return {
        "host": host,
        "card": card.name,
        "model": place.device,
        "serial": card.info.serial or "" if card.info else "",
        "verdict": judged.outcome,
        "speeds compared": str(judged.compared),
        "hottest": str(celsius(hottest(card.result))),
        "power limit": f"{place.power_limit_w:.0f} W" if place.power_limit_w else "",
        "PCIe": f"{place.pcie_generation_max or '?'} x{place.pcie_width}" if place.pcie_width else "",
        "memory errors": "" if card.after.ecc_uncorrected is None else str(card.after.ecc_uncorrected),
        "PCIe replays": _grown(card, "pcie_replays"),
        "NVLink errors": _grown(card, "nvlink_replays", "nvlink_recoveries", "nvlink_crc_errors"),
        "fails for": _failures(judged.issues),
    }


def margins(every: Sequence[tuple[str, Judged]]) -> tuple[Mark, ...]:
    """Of the questions that come closest to their limit, each card's speed over it, the slowest first."""
    by_question: dict[str, list[Mark]] = {}
    for host, judged in every:
        for m in judged.card.result.measurements:
            speed, least = speed_of(m), judged.least.get(question(m))
            if speed is not None and least:
                by_question.setdefault(named(question(m)), []).append(Mark(
                    label=f"{host} {judged.card.name}".strip(), value=speed.value / least,
                    low=speed.low / least, high=speed.high / least, group=named(question(m)),
                    colour="FAIL" if speed.high < least else "pass", shown=f"{speed.value / least:.3f}",
                ))  # fmt: skip
    each = [sorted(marks, key=lambda mark: mark.value)[:SLOWEST] for marks in by_question.values()]
    return tuple(mark for marks in sorted(each, key=lambda marks: marks[0].value)[:DRAWN] for mark in marks)


def _grown(card: TestedCard, *counters: str) -> str:
    """How far counters of the driver grew during the test; empty where it does not report them."""
    pairs = [(getattr(card.before, name), getattr(card.after, name)) for name in counters]
    grown = [now - (was or 0) for was, now in pairs if now is not None]
    return str(sum(grown)) if grown else ""


def _copied(found: Acceptance, link: Link) -> dict[str, str]:
    """How fast one card of a pair copied to the other, and the least that is accepted: each was measured with
    the next one alone."""
    if (link.b - link.a) % len(found.cards) not in (1, len(found.cards) - 1):
        return {"copy": "", "least": ""}
    giver = found.cards[link.a if (link.a + 1) % len(found.cards) == link.b else link.b]
    copies = [m for m in giver.card.result.measurements if m.config.workload == "peer" and m.throughput]
    least = [(giver.least[question(m)], m.item) for m in copies if question(m) in giver.least]
    made = [(m.throughput.value, m.item) for m in copies if m.throughput]
    return {
        "copy": ", ".join(rate(*each) for each in made),
        "least": ", ".join(rate(*each) for each in least),
    }


def soaks(every: Sequence[tuple[str, Judged]]) -> Section:
    """Each soak from its first to its last quarter; those that slowed most are drawn over time."""
    cards = [(f"{host} {each.card.name}".strip(), each.card.result.measurements) for host, each in every]
    found = [(name, m, *quarters(m)) for name, of_card in cards for m in of_card]
    found = [each for each in found if all(each[2:])]  # The others are no soaks
    found.sort(key=lambda each: each[2] / each[3])
    drawn = found[:FADED]
    speed = [
        (name, m, [(w.ended_s, first / fmean(w.step_s)) for w in m.windows]) for name, m, first, _ in drawn
    ]
    read = ((name, m, m.telemetry.timeline if m.telemetry else ()) for name, m, *_ in drawn)
    heat = [
        (name, m, [(t.at_s, t.temperature_c) for t in timeline if t.temperature_c is not None])
        for name, m, timeline in read
    ]
    charts = (*_over_soak("speed, first quarter = 1", speed), *_over_soak("temperature, °C", heat))
    caption = "Cards that slowed most." if len(found) > FADED else "Each card over its soak."
    rows = []
    for name, m, first_s, last_s in found:
        telemetry, items = m.telemetry or Telemetry(samples=0), m.items_per_step or 0.0
        clock_hz = telemetry.sm_clock_min_hz
        rows.append({
            "card": name, "ran": seconds(m.windows[-1].ended_s - m.windows[0].started_s),
            "first quarter": rate(items / first_s, m.item), "last quarter": rate(items / last_s, m.item),
            "change": percent(first_s / last_s - 1), "hottest": celsius(telemetry.temperature_max_c),
            "lowest clock": f"{clock_hz / 1e6:.0f} MHz" if clock_hz else "",
            "ended": m.error or ("" if m.status == "ok" else m.status),
        })  # fmt: skip
    figure = Figure(charts=charts, table=Table.of(rows, title="Soak"), caption=caption)
    return section("certificate", "soak", figures=(figure,) if found else ())


def _over_soak(
    title: str, soaked: Sequence[tuple[str, Measurement, Sequence[tuple[float, float]]]]
) -> Iterator[Plot]:
    """A line of each soak's (time, value) over its minutes; nothing where no value was read."""
    lines = []
    for name, m, values in soaked:
        began_s = m.windows[0].started_s
        points = tuple(Point(x=(at_s - began_s) / 60, y=value, dot=False) for at_s, value in values)
        lines.append(Series(name=name, points=points))
    if points := tuple(point for line in lines for point in line.points):
        ends = 0.95 * min(point.y for point in points), 1.02 * max(point.y for point in points)
        x = linear("minutes", (point.x for point in points))
        yield Plot(x=x, y=Axis(title=title, ends=ends), series=tuple(lines), height=160)


def brief(issues: Sequence[Issue]) -> Iterator[Issue]:
    """One of each kind, failures first, with how many more there are."""
    kinds = grouped(((issue.code, issue.severity), issue) for issue in issues)
    for same in sorted(kinds.values(), key=lambda same: same[0].severity != "invalid"):
        more = f"; and {len(same) - 1} more such" if len(same) > 1 else ""
        yield replace(same[0], detail=same[0].detail + more)


def _speeds(host: str, judged: Judged) -> Iterator[dict[str, str]]:
    for m in judged.card.result.measurements:
        speed, least = speed_of(m), judged.least.get(question(m))
        verdict = "not compared"
        if speed is not None and least is not None:
            verdict = "FAIL" if speed.high < least else "pass"
        yield {
            "host": host,
            "card": judged.card.name,
            "speed of": named(question(m)),
            "measured": rate(speed.value, m.item) if speed else m.status,
            "least": rate(least, m.item) if least else "",
            "verdict": verdict if speed else "",
            "power": f"{m.telemetry.power_w:.0f} W" if m.telemetry and m.telemetry.power_w else "",
            "energy": f"{m.telemetry.energy_j:,.0f} J" if m.telemetry and m.telemetry.energy_j else "",
        }


def fleet_cards(found: Fleet) -> Table:
    """One row a card that has a reason, refused ones first."""
    judged = [(host, each) for host, acceptance in found.hosts for each in acceptance.cards if each.issues]
    judged.sort(key=lambda pair: pair[1].passed)
    cards, passed = (sum(getattr(row, name) for row in found.host_rows) for name in ("cards", "passed"))
    hosts = sum(row.host != LOOSE for row in found.host_rows)
    named = len({(each.host, each.card) for each in found.deviations if each.outlier})
    where = f" in {counted(hosts, 'host')}" if hosts else ""
    unlike, verb = "is an outlier" if named == 1 else "are outliers", "passes" if passed == 1 else "pass"
    notes = [f"{name or 'host'}: {reason.detail}" for name, a in found.hosts for reason in a.host]
    notes += [f"not judged: {name}: {why}" for name, why in found.missing]
    notes += [f"skipped {file}: {why}" for file, why in found.skipped]
    rows = (
        {
            "host": host,
            "card": each.card.name,
            "model": each.card.result.environment.device,
            "verdict": each.outcome,
            "reasons": "; ".join(f"{reason.code}: {reason.detail}" for reason in brief(each.issues)),
        }
        for host, each in judged
    )
    return Table.of(
        rows,
        title=f"{found.outcome}: {passed} of {counted(cards, 'card')}{where} {verb}; {named} {unlike}",
        notes=tuple(notes),
    )


def models(found: Fleet) -> Table:
    """One row a model and question, where several cards answered it."""
    several = [row for row in found.model_rows if row.cards > 1]
    alone = len(found.model_rows) - len(several)
    rows = (
        {
            "model": row.device,
            "speed of": row.question,
            "cards": whole(row.cards),
            "median": rate(row.median, row.item),
            "robust deviation": percent(row.deviation),
            "least": rate(row.least, row.item),
            "most": rate(row.most, row.item),
            "outliers": whole(row.outliers),
        }
        for row in several
    )
    return Table.of(
        rows,
        title="By model",
        notes=(f"and {alone} more that one card alone answered: --json lists them",) if alone else (),
    )


def hosts(found: Fleet) -> Table:
    """One row a host, those that do not pass first; on the screen as many as fit it."""
    known = [row for row in found.host_rows if row.host != LOOSE]
    more = len(known) - NAMED
    rows = (
        {
            "host": row.host,
            "models": ", ".join(row.devices),
            "verdict": row.outcome,
            "cards": whole(row.cards),
            "pass": whole(row.passed),
            "slowest against its model": "" if row.slowest is None else percent(row.slowest, 1),
        }
        for row in known[:NAMED]
    )
    return Table.of(
        rows, title="By host", notes=(f"and {more} more hosts: --json lists them",) if more > 0 else ()
    )


def fleet_document(found: Fleet) -> dict[str, Any]:
    return {
        "passed": found.outcome == "pass",
        "outcome": found.outcome,
        "margin": found.margin,
        "hosts": [asdict(row) for row in found.host_rows],
        "models": [asdict(row) for row in found.model_rows],
        "deviations": [asdict(each) for each in found.deviations],
        "judged": [{"host": name, **document(acceptance)} for name, acceptance in found.hosts],
        "skipped": [{"file": file, "why": why} for file, why in found.skipped],
        "missing": [{"host": name, "why": why} for name, why in found.missing],
    }
