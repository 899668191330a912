"""The verdict of `gpuwise accept` as tables and as plain data: a host, or a fleet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gpuwise.judge.accept import Acceptance, Judged
from gpuwise.judge.accept.bundle import LOOSE
from gpuwise.judge.accept.condition import hottest
from gpuwise.judge.accept.fleet import Deviation, Fleet
from gpuwise.model.issue import Issue
from gpuwise.model.units import percent
from gpuwise.show.results import rate
from gpuwise.show.table import Table

# Hosts on the screen; --json has all.
NAMED = 20


def acceptance(found: Acceptance) -> Table:
    """One row a card; below it every reason in words with its next step."""
    return Table(
        title=f"{found.outcome}: {count(found)}",
        columns=("card", "model", "verdict", "measured", "highest", "reasons"),
        rows=tuple(_row(judged) for judged in found.cards),
        numeric=frozenset({"measured", "highest"}),
        before=_terms(found),
        notes=(
            *(_sentence("host", reason) for reason in found.host),
            *(_sentence(judged.card.name, reason) for judged in found.cards for reason in judged.issues),
        ),
    ).without_empty_columns()


def count(found: Acceptance) -> str:
    """`7 of 8 cards pass`."""
    passed = sum(judged.outcome == "pass" for judged in found.cards)
    cards = f"{len(found.cards)} card" + ("s" if len(found.cards) > 1 else "")
    verb = "passes" if passed == 1 else "pass"
    return f"{passed} of {cards} {verb}" + (
        ", the host does not" if any(r.severity == "invalid" for r in found.host) else ""
    )


def blame(found: Acceptance) -> str:
    """`GPU 3 (hot, spread); host (mixed)`: what fails."""
    parts = [f"{judged.card.name} ({_codes(judged.issues)})" for judged in found.cards if not judged.passed]
    parts += (
        [f"host ({_codes(found.host)})"] if any(reason.severity == "invalid" for reason in found.host) else []
    )
    return "; ".join(parts)


def _row(judged: Judged) -> tuple[str, ...]:
    result, heat = judged.card.result, hottest(judged.card.result)
    done = sum(m.status == "ok" for m in result.measurements)
    return (
        judged.card.name,
        result.environment.device,
        judged.outcome,
        f"{done} of {len(result.measurements)}",
        "" if heat is None else f"{heat:.0f} °C",
        ", ".join(dict.fromkeys(reason.code for reason in judged.issues)),
    )


def _terms(found: Acceptance) -> tuple[str, ...]:
    """What the cards were compared with."""
    against = [*found.references, "each other"] if len(found.cards) > 1 else list(found.references)
    known = " and ".join(against) if against else "nothing: no reference is known"
    return (f"Speeds are compared with {known}; margin {percent(found.margin, 0)}.",)


def _sentence(name: str, reason: Issue) -> str:
    weight = "" if reason.severity == "invalid" else " (not a failure)"
    return f"{name}: {reason.code}{weight}: {reason.detail}. Next: {reason.fix}"


def _codes(reasons: Iterable[Issue]) -> str:
    return ", ".join(dict.fromkeys(reason.code for reason in reasons if reason.severity == "invalid"))


def document(found: Acceptance) -> dict[str, Any]:
    """The verdict as plain data; the results themselves are files of their own."""
    return {
        "passed": found.outcome == "pass",
        "outcome": found.outcome,
        "margin": found.margin,
        "references": list(found.references),
        "host": [_reason(issue) for issue in found.host],
        "cards": [_document(judged) for judged in found.cards],
    }


def _document(judged: Judged) -> dict[str, Any]:
    return {
        "card": judged.card.name,
        "device": judged.card.result.environment.device,
        "result": judged.card.result.id,
        "passed": judged.outcome == "pass",
        "outcome": judged.outcome,
        "reasons": [_reason(issue) for issue in judged.issues],
    }


def _reason(issue: Issue) -> dict[str, Any]:
    return {
        "code": issue.code, "fails": issue.severity == "invalid", "detail": issue.detail,
        "next_step": issue.fix,
    }  # fmt: skip


def fleet_cards(found: Fleet) -> Table:
    """One row a card that has a reason, refused ones first."""
    judged = [(host, each) for host, acceptance in found.hosts for each in acceptance.cards if each.issues]
    judged.sort(key=lambda pair: pair[1].passed)
    rows = tuple(
        (host, each.card.name, each.card.result.environment.device, each.outcome, _words(each))
        for host, each in judged
    )
    hosts = [f"{name or 'host'}: {r.detail}" for name, a in found.hosts for r in a.host]
    return Table(
        title=f"{found.outcome}: {_fleet_count(found)}",
        columns=("host", "card", "model", "verdict", "reasons"),
        rows=rows,
        notes=(*hosts, *(f"skipped {file}: {why}" for file, why in found.skipped)),
    ).without_empty_columns()


def _words(judged: Judged) -> str:
    return "; ".join(f"{reason.code}: {reason.detail}" for reason in judged.issues)


def _fleet_count(found: Fleet) -> str:
    cards = sum(row.cards for row in found.host_rows)
    passed = sum(row.passed for row in found.host_rows)
    hosts = sum(row.host != LOOSE for row in found.host_rows)
    where = f" in {hosts} hosts" if hosts else ""
    named = len({(each.host, each.card) for each in found.deviations if each.outlier})
    unlike = "is an outlier" if named == 1 else "are outliers"
    return f"{passed} of {cards} cards{where} pass; {named} {unlike}"


def deviations(found: Sequence[Deviation]) -> Table:
    """Every speed that is unlike its model's, the slowest first."""
    return Table(
        title="Unlike the rest of their model",
        columns=("host", "card", "model", "speed of", "here", "median", "difference", "z", "outlier"),
        rows=tuple(
            (
                each.host,
                each.card,
                each.device,
                each.question,
                rate(each.value, each.item),
                rate(each.median, each.item),
                percent(each.value / each.median - 1),
                f"{each.z:+.1f}",
                "yes" if each.outlier else "no",
            )
            for each in found
        ),
        numeric=frozenset({"here", "median", "difference", "z"}),
    ).without_empty_columns()


def models(found: Fleet) -> Table:
    """One row a model and question, where several cards answered it."""
    several = [row for row in found.model_rows if row.cards > 1]
    alone = len(found.model_rows) - len(several)
    return Table(
        title="By model",
        columns=("model", "speed of", "cards", "median", "robust deviation", "least", "most", "outliers"),
        rows=tuple(
            (
                row.device,
                row.question,
                str(row.cards),
                rate(row.median, row.item),
                percent(row.deviation),
                rate(row.least, row.item),
                rate(row.most, row.item),
                str(row.outliers),
            )
            for row in several
        ),
        numeric=frozenset({"cards", "median", "robust deviation", "least", "most", "outliers"}),
        notes=(f"and {alone} more that one card alone answered: --json lists them",) if alone else (),
    )


def hosts(found: Fleet) -> Table:
    """One row a host, those with refused cards first; on the screen as many as fit it."""
    known = [row for row in found.host_rows if row.host != LOOSE]
    shown = known[:NAMED]
    more = len(known) - len(shown)
    return Table(
        title="By host",
        columns=("host", "models", "cards", "pass", "slowest against its model"),
        rows=tuple(
            (
                row.host,
                ", ".join(row.devices),
                str(row.cards),
                str(row.passed),
                "" if row.slowest is None else percent(row.slowest, 1),
            )
            for row in shown
        ),
        numeric=frozenset({"cards", "pass", "slowest against its model"}),
        notes=(f"and {more} more hosts: --json lists them",) if more else (),
    )


def fleet_document(found: Fleet) -> dict[str, Any]:
    """Everything, as plain data."""
    return {
        "passed": found.outcome == "pass",
        "outcome": found.outcome,
        "margin": found.margin,
        "hosts": [asdict(row) for row in found.host_rows],
        "models": [asdict(row) for row in found.model_rows],
        "deviations": [asdict(each) for each in found.deviations],
        "judged": [{"host": name, **document(acceptance)} for name, acceptance in found.hosts],
        "skipped": [{"file": file, "why": why} for file, why in found.skipped],
    }
