"""Recommendations as files; results as records, the way from a session to tables, choices and pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gpuwise.errors import InputError
from gpuwise.model.gpu import Source
from gpuwise.model.judgement import SCHEMA, Recommendation
from gpuwise.model.result import Interval, Issue, Record, Records, Result
from gpuwise.store import read


def records(results: Iterable[Result]) -> Records:
    """One record for each measurement, in their order; one that did not end says so in an issue.

    Limits and toy runs are among them: a reader takes those whose question it asks.
    """
    found = []
    for result in results:
        place, day, published = result.environment, result.created_at[:10], result.origin == "published"
        for m in result.measurements:
            version = getattr(place, m.config.framework)
            software = f"{m.config.framework} {version}" if version else ""
            title = f"gpuwise result {result.id}, {place.device}, {software}"
            # Where the sensors contradict each other, neither watts nor energy can be used.
            doubted = m.telemetry is None or any(issue.code == "energy-mismatch" for issue in m.cautions)
            ending = m.error.splitlines()[0] if m.error else f"the measurement is {m.status}"
            found.append(Record(
                question=m.question, gpu_id=place.gpu_id or place.device, gpu=place.device, item=m.item,
                origin=result.origin, basis=result.origin, throughput=m.throughput,
                seconds=m.items_per_step / m.throughput.value if m.items_per_step and m.throughput else None,
                memory_bytes=_stated(m.memory_peak_bytes, "peak"),
                watts=None if doubted or m.telemetry is None else _stated(m.telemetry.power_w, "mean"),
                bound=None, session=result.id, date=day, software=software, raw=m,
                source=Source(
                    id=result.id, title=result.source or title if published else title,
                    kind="third-party" if published else "measured", read_on=day,
                ),
                issues=(*(() if m.status == "ok" else (Issue.invalid(m.status, ending),)), *m.cautions),
            ))  # fmt: skip
    return Records(found)


def _stated(value: float | None, method: str) -> Interval | None:
    return Interval(value=value, low=value, high=value, level=None, method=method) if value else None


# Of an amount of money, work or power, as the forms and options of a need allow.
LARGEST = 1e15
# Of what something is divided by: a share of the time, a count, hours.
LEAST = 1e-9


def encode_choice(found: Recommendation) -> bytes:
    """Indented JSON; a number that is not finite becomes null."""
    made = msgspec.to_builtins(found)
    made["rejected"] = [
        {"gpu_id": gpu, "reason": why.detail, "constraint": why.code} for gpu, why in found.rejected.items()
    ]
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def _numbers(value: Any) -> Iterator[float]:
    """Every number of plain data."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, int | float):
        yield value


def load_choice(path: Path) -> Recommendation:
    """Read a recommendation. Raises InputError for a file that is none, or of a newer schema."""
    data = read(path)
    try:
        made = msgspec.json.decode(data)
        if isinstance(made, dict):
            left = made.get("rejected", ())
            made["rejected"] = {r["gpu_id"]: Issue.info(r["constraint"], r["reason"]) for r in left}
        found = msgspec.convert(made, Recommendation)
        need, owned = found.need, found.need.assumptions
        divisors = (
            *(share for _, share in need.workloads), *need.gpus, need.passes, need.users, need.currency[1],
            need.items, need.batch, need.period_s, need.deadline_s, need.latency_s,
            owned.hours_per_week, owned.years, owned.utilisation,
        )  # fmt: skip
        if (
            min(each for each in divisors if each is not None) < LEAST
            or not all(0 <= each <= LARGEST for each in _numbers(msgspec.to_builtins(need)))
        ):  # fmt: skip
            raise TypeError("its need has a number that no need has")
    except (KeyError, TypeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is no recommendation of gpuwise choose: {error}",
            hint="make it again",
            code="choose-again",
        ) from error
    if found.schema > SCHEMA:
        raise InputError(
            f"{path} has schema {found.schema}; this gpuwise reads up to {SCHEMA}",
            hint="install a newer one",
            code="upgrade",
        )
    return found
