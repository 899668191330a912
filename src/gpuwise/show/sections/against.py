"""The measurements beside what others published of the same GPU and what gpuwise would have predicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Interval, Measurement
from gpuwise.show import charts
from gpuwise.show.charts import Mark
from gpuwise.show.known import stated
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.results import rate, spread
from gpuwise.show.sections.material import Material, question, value, way
from gpuwise.show.speeds import Measured
from gpuwise.show.table import Table
from gpuwise.stats import ratio_of

Other = tuple[Measured, Interval, str, str]
"""(measurement, the other's speed, "published" or "predicted", where it is from)."""


def against(material: Material, references: References) -> Section:
    """Ratio of each measurement to every figure that answers the same question."""
    found = [*_published(material, references), *_predicted(material)]
    return Section(
        id="against",
        title="Against published and predicted",
        text=(
            "Measured here over what others published of this GPU (same network, mode, precision, "
            "compilation and number of GPUs) or over the prediction; above 1 the measurement is faster. "
            "Software, batch and scripts differ between sources, so a distance is a question, not a fault.",
        )
        * bool(found),
        figures=(_figure(found),) if found else (),
    )


def matches(row: Measured, other: PublishedResult) -> bool:
    """Whether a published figure answers what was measured, and no check flags it."""
    config = row.measurement.config
    return (
        other.gpu_id == row.result.environment.gpu_id
        and other.n_gpus == config.gpus
        and (other.workload, other.mode) == (config.workload, config.mode)
        and other.precision.rstrip("?") == config.precision
        and other.compiled in (None, config.compile)
        and not other.cautions
    )


def _published(material: Material, references: References) -> Iterator[Other]:
    for row in material.speeds:
        for other in material.published:
            if matches(row, other):
                yield (
                    row,
                    stated(other.throughput),
                    "published",
                    f"{other.date} {references.mark(other.source)}".strip(),
                )


def _predicted(material: Material) -> Iterator[Other]:
    for row in material.speeds:
        gpu_id = row.result.environment.gpu_id
        found = material.predicted.get((gpu_id or "", prediction_key(row.measurement)))
        if found is not None:
            yield row, found, "predicted", "gpuwise predict"


def prediction_key(m: Measurement) -> str:
    """What a prediction of this measurement is asked for: its cell at the batch that ran."""
    return f"{m.config.key('batch')}:b{m.batch}"


def _figure(found: Sequence[Other]) -> Figure:
    sides = " and ".join(dict.fromkeys(origin for _, _, origin, _ in found))
    inside = [_inside(one) for one in found if one[2] == "predicted"]
    held = f" {sum(inside)} of {len(inside)} predicted intervals hold the measurement." if inside else ""
    return Figure(
        chart=charts.agreement([(_mark(one), value(one[0])) for one in found]),
        table=_table(found),
        caption=f"Measured over {sides} speed, {len(found)} pairs: on the dashed line both agree.{held}",
    )


def _inside(one: Other) -> bool:
    return one[1].low <= value(one[0]) <= one[1].high


def _ratio(one: Other) -> Interval:
    assert one[0].measurement.throughput is not None
    return ratio_of(one[1], one[0].measurement.throughput)


def _name(row: Measured) -> str:
    m = row.measurement
    return f"{question(m)} {way(m.config)}, batch {m.batch}"


def _mark(one: Other) -> Mark:
    speed = one[1]
    return Mark(label=_name(one[0]), value=speed.value, low=speed.low, high=speed.high, colour=one[2])


def _table(found: Sequence[Other]) -> Table:
    rows = []
    for one in found:
        row, speed, origin, where = one
        m, ratio = row.measurement, _ratio(one)
        assert m.throughput is not None
        rows.append(
            (
                _name(row),
                rate(m.throughput.value, m.item) + spread(m.throughput),
                origin,
                rate(speed.value, m.item),
                f"{rate(speed.low, m.item)} to {rate(speed.high, m.item)}" if speed.low < speed.high else "",
                f"{ratio.value:.3f}",
                ("inside" if _inside(one) else "outside") if origin == "predicted" else "",
                where,
            )
        )
    columns = (
        "measurement",
        "measured",
        "other",
        "its speed",
        "its interval",
        "ratio",
        "interval holds it",
        "from",
    )
    return Table(
        title="Measured against others",
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset({"measured", "its speed", "its interval", "ratio"}),
    ).without_empty_columns()
