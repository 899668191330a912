"""Results as records: the one way from what a session measured to what tables, choices and pages read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record, Records
from gpuwise.model.result import Interval, Measurement, Result


def records(results: Iterable[Result]) -> Records:
    """One record for each measurement, in their order; one that did not end says so in an issue.

    Limits and toy runs are among them: a reader takes those whose question it asks.
    """
    return Records(record for result in results for record in _of(result))


def _of(result: Result) -> Iterator[Record]:
    place, day = result.environment, result.created_at[:10]
    for m in result.measurements:
        version = getattr(place, m.config.framework)
        software = f"{m.config.framework} {version}" if version else ""
        title = f"gpuwise result {result.id}, {place.device}, {software}"
        published = result.origin == "published"
        yield Record(
            question=m.question, gpu_id=place.gpu_id or place.device, gpu=place.device, item=m.item,
            origin=result.origin, basis=result.origin, throughput=m.throughput,
            seconds=m.items_per_step / m.throughput.value if m.items_per_step and m.throughput else None,
            memory_bytes=_stated(m.memory_peak_bytes, "peak"), watts=_watts(m),
            bound=None, session=result.id, date=day, software=software, raw=m,
            source=Source(
                id=result.id, title=result.source or title if published else title,
                kind="third-party" if published else "measured", read_on=day,
            ),
            issues=(*_ending(m), *m.cautions),
        )  # fmt: skip


def _watts(m: Measurement) -> Interval | None:
    """None also where the sensors contradict each other: then neither watts nor energy can be used."""
    doubted = any(issue.code == "energy-mismatch" for issue in m.cautions)
    return None if doubted or m.telemetry is None else _stated(m.telemetry.power_w, "mean")


def _stated(value: float | None, method: str) -> Interval | None:
    return Interval(value=value, low=value, high=value, level=None, method=method) if value else None


def _ending(m: Measurement) -> tuple[Issue, ...]:
    if m.status == "ok":
        return ()
    detail = m.error.splitlines()[0] if m.error else f"the measurement is {m.status}"
    return (Issue.invalid(m.status, detail),)
