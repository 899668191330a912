"""Predictions as a table and as data: each figure with its interval and with what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from math import inf
from typing import Any

from gpuwise.model.question import Question
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.model.units import Amount, gibibytes, percent, seconds, si, significant, watts, whole
from gpuwise.show.results import per_joule, rate, unit
from gpuwise.show.table import Table

_TOLD = (
    "spec-only: from the data sheet alone; with --from FILE, and in gpuwise choose, from what was measured "
    "of this work on another card"
)
# Predictions whose notes are written out below the table.
_LISTED = 3
# Refused GPUs that still have a row each; more are counted by their reason.
_REFUSED = 12
# Unknown speeds come last.
_KEYS: dict[str, Callable[[Record], Any]] = {
    "speed": lambda p: -p.best.value if p.best else inf,
    "efficiency": lambda p: -p.items_per_joule if p.items_per_joule else inf,
    "power": lambda p: p.watts.value if p.watts else inf,
    "memory": lambda p: p.memory_bytes.value if p.memory_bytes else inf,
    "name": lambda p: p.gpu_id,
}
SORTS = tuple(_KEYS)


def ordered(found: Sequence[Record], sort: str) -> tuple[Record, ...]:
    """The best first, what is refused last."""
    return tuple(sorted(found, key=lambda p: (bool(p.refusal), _KEYS[sort](p), p.gpu_id)))


def table(found: Sequence[Record], *, every: bool = False) -> Table:
    """One row a GPU; a refused one says why, and many of them share a note unless `every` one is wanted."""
    first, given = found[0], [p for p in found if not p.refusal]
    several = f" on {first.gpus} GPUs" if first.gpus > 1 else ""
    name = replace(first.question, gpus=1).label("batch")
    if _without_bench(first):  # an engine compiles as it likes
        name = name.replace(" eager", "")
    # Two GPUs have the same reason where only their names in it differ.
    refused = [p.refusal.replace(p.gpu_id, "").split(":")[0].strip() for p in found if p.refusal]
    many = len(refused) > _REFUSED and bool(given) and not every
    notes = [f"{p.gpu_id}: {note}" for p in given[:_LISTED] for note in p.notes]
    # What keeps a row from being read like the others is said of each, equal reasons once.
    apart: dict[str, list[str]] = {}
    for p in given:
        for issue in p.issues:
            apart.setdefault(issue.detail, []).append(p.gpu_id)
    notes += [f"{', '.join(gpus[:6])}{', ...' * (len(gpus) > 6)}: {detail}" for detail, gpus in apart.items()]
    if many:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in Counter(refused).most_common())
        notes.append(f"{len(refused)} GPUs are left out ({reasons}); --json lists them")
    if any(p.measured for p in given) and any(p.basis == "spec-only" for p in given):
        notes.append(_TOLD)
    if given and not _without_bench(given[0]):
        notes.append(f"measure it: {measure_command(given[0].question)}")
    rows = [_row(p) for p in found if not (many and p.refusal)]
    return Table.of(rows, title=f"{name}{several}, predicted", notes=tuple(notes))


def _row(p: Record) -> dict[str, str]:
    joules, speed, power, chance = p.items_per_joule, p.throughput, p.watts, p.fits_probability
    fits = span = drawn = ""
    if chance is not None:
        # Never a certainty that no number of measured errors can give.
        sure = "> 99 %" if chance >= 0.99 else "< 1 %" if chance <= 0.01 else percent(chance, 0)
        fits = percent(chance).shown(sure)
    if speed is not None:
        # Three digits; with a prefix where people would not write the zeros.
        ends = [significant(v) if v < 1e6 else si(v, "") for v in (speed.low, speed.high)]
        span = Amount(f"{ends[0]} to {ends[1]}", speed.value, unit(p.item), speed.low, speed.high)
    if power is not None:
        drawn = Amount(f"{power.low:,.0f} to {power.high:,.0f} W", power.value, "W", power.low, power.high)
    return {
        "GPU": p.gpu_id if p.gpus == 1 else f"{p.gpus} x {p.gpu_id}",
        "batch": whole(p.batch) if p.batch else "",
        "throughput": rate(speed.value, p.item) if speed else "",
        "80 % interval": span,
        "step": seconds(p.seconds) if p.seconds else "",
        "first token": seconds(p.first_token_s.value) if p.first_token_s else "",
        "measured": rate(p.best.value, p.item) if p.measured and p.best else "",
        "peak memory": gibibytes(p.memory_bytes.value) if p.memory_bytes else "",
        "fits": fits,
        "power": watts(power.value) if power else "",
        "power, 80 %": drawn,
        "per joule": per_joule(joules, p.item) if joules else "",
        "bound": Amount(f"{p.bound} {percent(p.shares[0][1], 0)}", p.shares[0][1], p.bound)
        if p.bound
        else "",
        "evidence": _evidence(p) if speed else "",
        "why not": p.refusal,
    }


def _evidence(p: Record) -> str:
    """What a figure rests on, and whether that is known ground."""
    far = any(issue.code == "order-of-magnitude" for issue in p.issues)
    return f"{p.basis}, order of magnitude" if far else p.basis


def measure_command(question: Question) -> str:
    """What measures it on a machine that has the GPU; nothing for a served model, which needs an engine."""
    words = f"gpuwise bench {question.workload} --mode {question.mode} --precision {question.precision}"
    words += f" --compile {'on' if question.compile else 'off'}"
    words += " --recipe script" if question.recipe == "script" else ""
    words += f" --gpus {question.gpus}" if question.gpus > 1 else ""
    return words + (f" --batch {question.batch}" if question.batch else "")


def document(found: Sequence[Record]) -> dict[str, Any]:
    """The predictions as plain data in SI units; None is unknown."""

    def plain(interval: Interval | None) -> dict[str, Any] | None:
        return asdict(interval) if interval else None

    return {"predictions": [
        {
            "cell": p.question.key("batch"),
            "gpu_id": p.gpu_id,
            "count": p.gpus,
            "config": asdict(p.question),
            "item": p.item,
            "batch": p.batch,
            "throughput": plain(p.throughput),
            "measured": plain(p.measured.throughput) if p.measured else None,
            "measured_in": p.measured.notes[0] if p.measured else "",
            "seconds": p.seconds,
            "first_token_s": plain(p.first_token_s),
            "memory_bytes": plain(p.memory_bytes),
            "fits_probability": p.fits_probability,
            "watts": plain(p.watts),
            "bound": p.bound,
            "shares": dict(p.shares),
            "evidence": p.basis,
            "refusal": p.refusal,
            "measure_command": measure_command(p.question) if not _without_bench(p) else "",
            "notes": p.notes,
        }
        for p in found
    ]}  # fmt: skip


def _without_bench(p: Record) -> bool:
    """True for a model behind an engine and for a module in memory, which `gpuwise bench` does not run."""
    return p.question.workload.startswith(("served:", "module:"))
