"""Results as records: the one way from what a session measured to what tables, choices and pages read."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record, Records
from gpuwise.model.result import Interval, Result


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
