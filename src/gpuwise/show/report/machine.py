"""The machine and its health, what to doubt, and how to make the figures again."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise.model.result import Result
from gpuwise.model.units import percent, watts, whole
from gpuwise.show.page import Section
from gpuwise.show.report.input import ReportInput, days, raw
from gpuwise.show.results import counted, environment, fix, some
from gpuwise.show.table import Table


def machine(given: ReportInput) -> Section:
    """The health of each session in a list; folded what all found, and what differs between them."""
    points = dict.fromkeys(line for result in given.results for line in _health(result))
    held = [one for one in given.sensed if one.throttled]
    if held:
        reasons = ", ".join(dict.fromkeys(reason for one in held for reason, _ in one.throttled))
        share = percent(len(held) / len(given.sensed), 0)
        of = f"{len(held)} of {len(given.sensed)} measurements with telemetry"
        points[f"Clocks were held down ({reasons}) in {of}, {share}."] = None
    hottest = max((one.temperature_max_c for one in given.sensed if one.temperature_max_c), default=None)
    if hottest is not None:
        points[f"The device reached {hottest:.0f} °C at most."] = None
    title = "Machine and its health"
    return Section(id="machine", title=title, points=tuple(points), folded=_environments(given))


def _environments(given: ReportInput) -> tuple[Table, ...]:
    """One table of what is common, and one of what differs, a row for each environment."""
    # Each variable apart, so that the one that differs is seen.
    each = [
        {name: text for name, text in environment(place).rows if name != "variables"} | dict(place.variables)
        for place in (result.environment for result in given.results)
    ]
    several = len({fields.get("card") for fields in each}) > 1
    alike: dict[tuple[tuple[str, str], ...], list[str | None]] = {}
    for fields in each:
        # Of several cards of a kind only their number is of interest.
        card = fields.pop("card", None) if several else None
        alike.setdefault(tuple(fields.items()), []).append(card)
    found = []
    for items, cards in alike.items():
        number = len({card for card in cards if card})
        found.append((dict(items) | ({"cards": str(number)} if number else {}), len(cards)))
    every = list(dict.fromkeys(field for fields, _ in found for field in fields))
    common = [field for field in every if len({fields.get(field) for fields, _ in found}) == 1]
    sessions = counted(len(given.results), "session")
    first = Table(
        title=f"{' and '.join(given.devices)}, {sessions}, {days(given.results)}",
        columns=("environment", "found"),
        rows=tuple((field, found[0][0][field]) for field in common),
    )
    differing = [field for field in every if field not in common]
    if not differing:
        return (first,)
    rows = (
        {"in": counted(number, "session"), **{field: fields.get(field, "") for field in differing}}
        for fields, number in sorted(found, key=lambda one: -one[1])
    )
    return first, Table.of(rows, title="What differs")


def _health(result: Result) -> Iterator[str]:
    """What was sound and what was not, each in a sentence."""
    place = result.environment
    if result.origin == "published":
        yield f"The figures of {result.id} were published; no machine was seen. Source: {result.source}."
        return
    # A lowered limit is the owner's choice, and the speeds are of that choice.
    limit, normal = place.power_limit_w, place.power_limit_default_w
    if limit and normal and limit != normal:
        yield f"The power limit was {watts(limit)}, not the card's own {watts(normal)}: so are its speeds."
    elif limit:
        yield f"The power limit was the card's own, {watts(limit)}."
    if place.other_processes:
        many = "1 process" if place.other_processes == 1 else f"{place.other_processes} processes"
        yield f"{many} of others held the device when a session began."
    elif place.other_processes == 0:
        yield "No other process held the device when the sessions began."
    if place.ecc is not None:
        yield f"ECC was {'on' if place.ecc else 'off'}" + (" and MIG on." if place.mig else ".")
    if place.pcie_generation and place.pcie_width:
        now = f"PCIe generation {place.pcie_generation} x{place.pcie_width}"
        most = (place.pcie_generation_max, place.pcie_width_max)
        if None in most or most == (place.pcie_generation, place.pcie_width):
            yield f"The host link was {now}, the most it can be."
        else:
            yield (
                f"The host link was {now} of generation {most[0]} x{most[1]} at the start; idle links slow "
                "down."
            )


def cautions(given: ReportInput) -> Section:
    """A row for each kind of issue with what to do about it; behind them every one with its measurement."""
    kinds: dict[tuple[str, str], list[str]] = {}
    each: dict[tuple[str, str], list[str]] = {}
    for m in map(raw, given.every):
        for issue in m.cautions:
            name = m.config.label("batch")
            kinds.setdefault((issue.code, fix(issue)), []).append(name)
            each.setdefault((issue.code, issue.detail), []).append(name)
    if not kinds:
        none = f"None: no measurement of {counted(len(given.every), 'measurement')} has one."
        return Section(id="cautions", title="Cautions", text=(none,))
    summed = Table.of(
        {"caution": code, "times": whole(len(of)), "of": some(of), "next step": step}
        for (code, step), of in sorted(kinds.items())
    )
    full = Table.of(
        {"caution": code, "of": ", ".join(dict.fromkeys(of)), "what": detail}
        for (code, detail), of in sorted(each.items())
    )
    return Section(id="cautions", title="Cautions", tables=(summed,), folded=(full,))


def reproduce(given: ReportInput) -> Section:
    """The command of each session, and what checks whether the figures reproduce."""
    every = (words for r in given.results for words in (r.command, *(c.command for c in r.resumed)))
    text = (
        "Run the commands on the same device with the software of the table below; `gpuwise reproduce` "
        "re-runs a result and checks that it reproduces. The raw step times are in this "
        "file: `gpuwise show FILE.html` and `gpuwise compare FILE.html last` read them."
    )
    code = "\n".join(dict.fromkeys(words for words in every if words))
    return Section(id="reproduce", title="How to reproduce", text=(text,), code=code)
