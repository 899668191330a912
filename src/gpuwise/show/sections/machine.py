"""The machine: what was found on it, and what of it makes a figure doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwise.model.result import Result
from gpuwise.model.run import Environment
from gpuwise.model.units import percent
from gpuwise.show.page import Section
from gpuwise.show.results import counted, environment
from gpuwise.show.sections.material import Material, days
from gpuwise.show.table import Table


def machine(material: Material) -> Section:
    """What all sessions found, what differs between them, and the health of each in a list."""
    return Section(
        id="machine",
        title="Machine and its health",
        points=(
            *dict.fromkeys(line for result in material.results for line in _health(result)),
            *_clocks(material),
        ),
        tables=_environments(_places(material.results)),
    )


def _fields(place: Environment) -> dict[str, str]:
    """What was found, each variable apart, so that the one that differs is seen."""
    rows = environment(place).rows
    return {field: found for field, found in rows if field != "variables"} | dict(place.variables)


def _places(results: Sequence[Result]) -> list[tuple[dict[str, str], list[Result]]]:
    """What was found, with the results that found it; of several cards only their number tells apart."""
    told = [(_fields(result.environment), result) for result in results]
    several = len({fields.get("card") for fields, _ in told}) > 1
    found: dict[tuple[tuple[str, str], ...], list[tuple[str | None, Result]]] = {}
    for fields, result in told:
        card = fields.pop("card", None) if several else None
        found.setdefault(tuple(fields.items()), []).append((card, result))
    return [
        (dict(fields) | _cards({card for card, _ in of if card}), [result for _, result in of])
        for fields, of in found.items()
    ]


def _cards(names: set[str]) -> dict[str, str]:
    return {"cards": str(len(names))} if names else {}


def _environments(found: Sequence[tuple[dict[str, str], list[Result]]]) -> tuple[Table, ...]:
    """One table of what is common, and one of what differs, a row for each environment."""
    every = list(dict.fromkeys(field for fields, _ in found for field in fields))
    alike = [field for field in every if len({fields.get(field) for fields, _ in found}) == 1]
    sessions = [result for _, results in found for result in results]
    common = Table(
        title=_title(sessions),
        columns=("environment", "found"),
        rows=tuple((field, found[0][0][field]) for field in alike),
    )
    if len(alike) == len(every):
        return (common,)
    differing = [field for field in every if field not in alike]
    rows = tuple(
        (counted(len(results), "session"), *(fields.get(field, "") for field in differing))
        for fields, results in sorted(found, key=lambda one: -len(one[1]))
    )
    return common, Table(title="What differs", columns=("in", *differing), rows=rows)


def _title(results: Sequence[Result]) -> str:
    devices = " and ".join(dict.fromkeys(result.environment.device for result in results))
    return f"{devices}, {counted(len(results), 'session')}, {days(results)}"


def _health(result: Result) -> Iterator[str]:
    """What was sound and what was not, each in a sentence."""
    place = result.environment
    if result.origin == "published":
        yield f"The figures of {result.id} were published; no machine was seen. Source: {result.source}."
        return
    yield from _power(place)
    if place.other_processes:
        yield f"{_processes(place.other_processes)} of others held the device when a session began."
    elif place.other_processes == 0:
        yield "No other process held the device when the sessions began."
    if place.ecc is not None:
        yield f"ECC was {'on' if place.ecc else 'off'}" + (" and MIG on." if place.mig else ".")
    if place.pcie_generation and place.pcie_width:
        yield _link(place)


def _power(place: Environment) -> Iterator[str]:
    limit, normal = place.power_limit_w, place.power_limit_default_w
    if limit and normal and limit != normal:
        yield f"The power limit was {limit:.0f} W, not the card's own {normal:.0f} W: so are its speeds."
    elif limit:
        yield f"The power limit was the card's own, {limit:.0f} W."


def _link(place: Environment) -> str:
    now = f"PCIe generation {place.pcie_generation} x{place.pcie_width}"
    most = (place.pcie_generation_max, place.pcie_width_max)
    if None in most or most == (place.pcie_generation, place.pcie_width):
        return f"The host link was {now}, the most it can be."
    return f"The host link was {now} of generation {most[0]} x{most[1]} at the start; idle links slow down."


def _clocks(material: Material) -> Iterator[str]:
    """Lowered clocks and the highest temperature over all sessions."""
    told = [
        m.telemetry
        for m in (row.measurement for row in material.every)
        if m.telemetry and m.telemetry.samples
    ]
    held = [one for one in told if one.throttled]
    if held:
        reasons = ", ".join(dict.fromkeys(reason for one in held for reason, _ in one.throttled))
        share = percent(len(held) / len(told), 0)
        of = f"{len(held)} of {len(told)} measurements with telemetry"
        yield f"Clocks were held down ({reasons}) in {of}, {share}."
    hottest = max((one.temperature_max_c for one in told if one.temperature_max_c), default=None)
    if hottest is not None:
        yield f"The device reached {hottest:.0f} °C at most."


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"
