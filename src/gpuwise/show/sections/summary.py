"""A report in five lines: what was measured, the fastest, what compiling gains, the limits, the doubts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpuwise.model.units import percent, significant
from gpuwise.show.results import cell_name, counted, rate, spread
from gpuwise.show.sections.material import Material, best, days, question, value
from gpuwise.show.sections.speedups import compile_gains
from gpuwise.show.speeds import Measured

NAMED = 3
"""Workloads named in the line of the fastest."""


def summary(material: Material) -> tuple[str, ...]:
    """The lines that have something to say, five at most."""
    lines = (_what(material), _fastest(material), _compiling(material), _limits(material), _doubts(material))
    return tuple(line for line in lines if line)


def _what(material: Material) -> str:
    works = {row.measurement.config.workload for row in material.speeds}
    ok = sum(row.measurement.status == "ok" for row in material.every)
    total = len(material.every)
    done = f"{ok} of {total} measurements" if ok < total else counted(total, "measurement")
    sessions = f" in {len(material.results)} sessions" if len(material.results) > 1 else ""
    when = days(material.results)
    return f"{' and '.join(material.devices)}: {done} of {counted(len(works), 'workload')}{sessions}, {when}."


def _of_one(material: Material) -> tuple[Measured, ...]:
    """The fastest of each question on one GPU; of several together where one alone was not measured."""
    alone = [row for row in material.speeds if row.measurement.config.gpus == 1]
    found = {question(row.measurement): row for row in (*best(material.speeds), *best(alone))}
    return tuple(found.values())


def _fastest(material: Material) -> str:
    parts = []
    for row in _of_one(material)[:NAMED]:
        m = row.measurement
        assert m.throughput is not None
        how = "compiled" if m.config.compile else "eager"
        speed = rate(m.throughput.value, m.item) + spread(m.throughput)
        each = f" each on {m.config.gpus} GPUs" if m.config.gpus > 1 else ""
        parts.append(f"{question(m)} {speed} ({m.config.precision} {how}, batch {m.batch}{each})")
    return f"Fastest: {'; '.join(parts)}." if parts else ""


def _compiling(material: Material) -> str:
    gains = sorted(gain.value for gain in compile_gains(material))
    if not gains:
        return ""
    middle = gains[len(gains) // 2]
    span = f"{gains[0]:.2f} to {gains[-1]:.2f}, median {middle:.2f}"
    return f"Compiling changes speed by factors of {span} ({counted(len(gains), 'pair')})."


def _limits(material: Material) -> str:
    best_of: dict[str, str] = {}
    rows = [row for row in material.limits if row.measurement.config.workload in ("matmul", "copy")]
    for row in sorted(rows, key=value):
        m = row.measurement
        share = f" ({percent(m.mfu, 0)})" if m.mfu else ""
        best_of[cell_name(m.config)] = f"{cell_name(m.config)} {rate(value(row), m.item)}{share}"
    shares = ", in brackets the share of the data sheet's peak" * any(row.measurement.mfu for row in rows)
    return f"Limits reached{shares}: {', '.join(sorted(best_of.values()))}." if best_of else ""


def _doubts(material: Material) -> str:
    return " ".join((*_energy(material), _cautions(material)))


def _energy(material: Material) -> Iterator[str]:
    rows = [row for row in _of_one(material) if row.measurement.items_per_joule]
    if rows:
        m = rows[0].measurement
        yield f"Energy: {question(m)} {significant(m.items_per_joule or 0)} {m.item}s per joule."


def _cautions(material: Material) -> str:
    found = (dict.fromkeys(c.code for c in row.measurement.cautions) for row in material.every)
    codes = Counter(code for row in found for code in row)
    doubted = sum(bool(row.measurement.cautions) for row in material.every)
    if not doubted:
        return "No measurement carries a caution."
    named = ", ".join(f"{code} {count}" for code, count in codes.most_common())
    return f"{doubted} of {len(material.every)} measurements carry a caution ({named})."
