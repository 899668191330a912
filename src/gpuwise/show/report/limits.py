"""Distance to the limits of the hardware, and where the time of a step goes.

roof(x) = min(compute limit, x * memory limit), x in operations per byte (Williams, Waterman and
Patterson, 2009). The limits are measured by a matrix product in each precision and a memory copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuwise.model.question import HOW, WORK
from gpuwise.model.record import Record
from gpuwise.model.units import percent, si, significant
from gpuwise.show import charts
from gpuwise.show.charts import KINDS, Point, Roof, Shares
from gpuwise.show.page import Figure, Section
from gpuwise.show.report.input import ReportInput, raw
from gpuwise.show.results import codes, counted, rate, slowest, speed, value
from gpuwise.show.table import Table

# Bars of kernel time at most.
DRAWN = 12
# Kinds of kernels that are shown together with others.
AS = {"transfer": "link", "collective": "link", "copy": "other"}


def limits(given: ReportInput) -> Section:
    """The measured limits beside the data sheet, and a roofline for each device that has both."""
    figures = [figure for device in given.devices if (figure := _roofline(device, given)) is not None]
    found: dict[tuple[str, str], list[Record]] = {}
    for row in sorted(given.limits, key=value, reverse=True):
        device = row.gpu if len(given.devices) > 1 else ""
        found.setdefault((row.question.label(), device), []).append(row)
    # A card that was cool in one session and hot in another reaches two limits: the highest of each, and the
    # lowest where there are several sessions.
    several = len(given.results) > 1
    table = Table.of(
        (
            {
                "limit": name,
                "device": device,
                "reached (95 %)": speed(of[0].throughput, of[0].item),
                "dense peak": percent(mfu) if (mfu := raw(of[0]).mfu) else "",
                "measured": f"{len(of)} times" if len(of) > 1 else "",
                "lowest": rate(value(of[-1]), of[0].item) if len(of) > 1 else "",
                "cautions": codes(issue for row in of for issue in row.issues),
            }
            for (name, device), of in sorted(found.items())
        ),
        title="Measured limits",
        notes=("dense peak: share of the data sheet's",),
    )
    text = (
        "A point on its roof uses all of the nearer limit; the roofs are the most that the device "
        f"reached in {'any of the sessions' if several else 'the same session'}, not the data sheet."
    )
    return Section(
        id="limits", title="Distance to the limits", text=(text,) if figures else (),
        figures=tuple(figures), tables=(table,) if table.rows else (),
    )  # fmt: skip


def roofs(rows: Sequence[Record]) -> list[Roof]:
    """The most that a device reached in each precision, with the most of its memory."""
    compute: dict[str, float] = {}
    memory = 0.0
    for row in rows:
        if row.question.workload == "copy":
            memory = max(memory, value(row))
        elif row.question.workload == "matmul" and row.question.precision:
            precision = row.question.precision
            compute[precision] = max(compute.get(precision, 0.0), value(row))
    return [(precision, speed, memory) for precision, speed in compute.items() if speed and memory]


def _roofline(device: str, given: ReportInput) -> Figure | None:
    """Each measurement of which operations and bytes are known, under the device's roofs."""
    found = roofs([row for row in given.limits if row.gpu == device])
    points: list[Point] = []
    rows = []
    for row in given.speeds:
        m = raw(row)
        if row.gpu == device and m.flop_per_item and m.bytes_per_item:
            intensity, each = m.flop_per_item / m.bytes_per_item, value(row) * m.flop_per_item / row.gpus
            points.append((row.question.label(*HOW), row.question.precision or "?", intensity, each))
            rows.append({
                "measurement": row.question.label(),
                "operations per byte": significant(intensity),
                "reached by a GPU": si(each, "FLOP/s"),
                "of the nearer limit": f"{percent(m.limit_share, 0)} {m.limit}" if m.limit_share else "",
            })  # fmt: skip
    if not found or not points:
        return None
    # Two hundred points hide the roof; the fastest of each are what came closest to it.
    fastest = {point[:2]: point for point in sorted(points, key=lambda point: point[3])}
    note = "bytes are the least that a step must move; what is moved in fact is more"
    return Figure(
        drawn=charts.roofline(list(fastest.values()), found),
        table=Table.of(rows, title="Points of the roofline", notes=(note,)),
        caption=f"Roofline of {device}: the fastest of each workload in each precision, out of "
        f"{counted(len(points), 'measurement')}.",
    )


def kernels(given: ReportInput) -> Section:
    """Kinds of kernels and the slowest by name, of the fastest answer to each question in each precision."""
    best: dict[tuple[str, str], Record] = {}
    profiled = [row for row in given.speeds if (p := raw(row).profile) is not None and p.kernel_s > 0]
    for row in sorted(profiled, key=value, reverse=True):
        best.setdefault((row.question.label(*HOW), row.question.precision or "?"), row)
    parts = [(row, shares(row)) for row in profiled if any(row is one for one in best.values())]
    title = "Where the time goes"
    if not parts:
        return Section(id="kernels", title=title)
    kinds = [kind for kind in KINDS if any(each.get(kind) for _, each in parts)]
    table = Table.of(
        (
            {
                "measurement": row.question.label(*HOW),
                "configuration": row.question.label(*WORK),
                "bound by": verdict.bound if (verdict := raw(row).verdict) else "",
                **{kind: percent(each[kind], 0) if each.get(kind) else "" for kind in kinds},
                "slowest kernels": slowest(raw(row), 3),
            }
            for row, each in parts
        ),
        title="Kernel time by kind",
    )
    some = f", {DRAWN} of {len(parts)}" if len(parts) > DRAWN else ""
    figure = Figure(
        drawn=charts.kernels([(row.question.label(), each) for row, each in parts[:DRAWN]]),
        table=table,
        caption=f"Kernel time of a step by kind, the fastest configuration of each precision{some}.",
    )
    text = (
        "From up to ten steps under torch's profiler, after everything was timed. A step may also wait, "
        "for the host or for input: that is in what bounds it."
    )
    alone = len(parts) == 1
    return Section(
        id="kernels", title=title, text=(text,), figures=() if alone else (figure,),
        tables=(table,) if alone else (),
    )  # fmt: skip


def shares(row: Record) -> Shares:
    """Share of each kind in the kernel time of a profiled measurement."""
    profile = raw(row).profile
    assert profile is not None
    found: dict[str, float] = defaultdict(float)
    for each in profile.kernels:
        found[AS.get(each.kind, each.kind)] += each.seconds / profile.kernel_s
    return found
