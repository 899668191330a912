"""Specifications side by side with their sources, and what each difference means for the work."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise.facts.catalog import fields
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.units import significant
from gpuwise.show.article.duel import Duel, Quantity, short
from gpuwise.show.gpus import label, peak_name, peak_value, place, ratio_means, shown
from gpuwise.show.page import Section
from gpuwise.show.table import Table

WEIGHT_BYTES = 2
"""A weight in 16 bit."""
ADAM_BYTES = 16
"""Training with Adam in mixed precision: weight, gradient and two moments in fp32 (ZeRO, Rajbhandari et
al. 2020, counts the same 16 bytes a parameter)."""


_SPEEDS = (
    (
        "memory_bytes_per_s", "Memory bandwidth",
        "work that moves more than it computes, such as answering with a language model, follows it",
    ),
    (
        "peak:fp16", "16-bit matrix peak",
        "training and prompt processing in fp16 or bf16 follow it where batches are large",
    ),
    ("peak:tf32", "TF32 peak", "fp32 code that allows TF32 follows it"),
    ("peak:fp32", "fp32 peak", "real fp32 and most scientific kernels follow it"),
    ("peak:fp64", "fp64 peak", "double-precision science follows it"),
    ("peak:fp8", "fp8 peak", "only work written for fp8 gains from it"),
    ("rt_flop_per_s", "Ray tracing", "rendering beside learning follows it"),
    ("link_bytes_per_s", "Link between GPUs", "gradients of several GPUs travel over it"),
)  # fmt: skip
"""(quantity, what it is called, what follows it)."""


def specifications(duel: Duel) -> Section:
    """Every field that either card states, each value with its source, and their ratio."""
    names = sorted({name for spec in duel.both for name in spec.facts}, key=place)
    rows = [_fact_row(duel, name) for name in names]
    peaks = dict.fromkeys((p.field, peak_name(p)) for spec in duel.both for p in spec.peaks)
    rows += [_peak_row(duel, field, f"peak {name}") for field, name in peaks]
    return Section(
        id="specifications",
        title="Specifications",
        text=("Peaks are dense unless they say sparse. A dash: no source that was read states it.",),
        tables=(
            Table(
                columns=("field", duel.first.name, duel.second.name, "ratio", "sources"),
                rows=tuple(rows),
                numeric=frozenset({"ratio"}),
                notes=(f"ratio: {short(duel.second)} over {short(duel.first)}",),
            ),
        ),
    )


def _fact_row(duel: Duel, name: str) -> tuple[str, ...]:
    facts = [spec.facts.get(name) for spec in duel.both]
    numbers = [spec.number(name) for spec in duel.both]
    ratio = _ratio(numbers[0], numbers[1]) if ratio_means(name) else ""
    cited = duel.cited.mark(*(fact.source for fact in facts if fact))
    return (label(name), *(shown(fact) if fact else "-" for fact in facts), ratio, cited)


def _peak_row(duel: Duel, field: str, name: str) -> tuple[str, ...]:
    peaks = [next((p for p in spec.peaks if p.field == field), None) for spec in duel.both]
    numbers = [peak.flop_per_s if peak else None for peak in peaks]
    cited = duel.cited.mark(*(peak.source for peak in peaks if peak))
    return (name, *(peak_value(p) if p else "-" for p in peaks), _ratio(numbers[0], numbers[1]), cited)


def _ratio(first: float | None, second: float | None) -> str:
    return f"{second / first:.2f}" if first and second is not None else ""


def differences(duel: Duel) -> Section:
    """Each difference that bears on deep learning in a sentence, computed from the stated values."""
    lines = (
        _memory(duel),
        *(_quantity(duel, *one) for one in _SPEEDS),
        *_only_one(duel),
        *_flags(duel),
        _link(duel),
        _quantity(duel, "power_w", "Board power", "cooling and supply must bear it"),
    )
    return Section(
        id="differences",
        title="What the differences mean",
        points=tuple(line for line in lines if line),
    )


def _memory(duel: Duel) -> str:
    held = duel.quantity("memory_bytes")
    if held is None:
        return ""
    told = f"Memory: {held.told()}{times(held)}."
    sizes = [
        f"{short(spec)} {_billions(one.value, WEIGHT_BYTES)} and {_billions(one.value, ADAM_BYTES)}"
        for spec, one in zip(duel.both, (held.first, held.second), strict=True)
    ]
    return (
        f"{told} Billions of parameters whose weights alone fill it in 16 bit ({WEIGHT_BYTES} bytes each), "
        f"and whose training with Adam does ({ADAM_BYTES} bytes each), activations not counted: "
        f"{'; '.join(sizes)}."
    )


def _billions(memory_bytes: float, each: int) -> str:
    return significant(memory_bytes / each / 1e9)


def _quantity(duel: Duel, name: str, title: str, meaning: str) -> str:
    found = duel.quantity(name)
    return "" if found is None else f"{title}: {found.told()}{times(found)}; {meaning}."


def times(found: Quantity) -> str:
    """`, 1.45 times as much on the RTX A5000`."""
    if found.even:
        return ", which is as good as equal"
    return f", {found.factor:.2f} times as much on the {short(found.winner)}"


def _only_one(duel: Duel) -> Iterator[str]:
    """Formats of matrix units that one card states and the other does not."""
    formats = [{p.format for p in spec.peaks if p.unit == "matrix"} for spec in duel.both]
    for spec, mine, theirs in zip(duel.both, formats, reversed(formats), strict=True):
        alone = sorted(mine - theirs)
        if alone and theirs:
            peaks = [p for p in spec.peaks if p.format in alone and p.unit == "matrix"]
            cited = duel.cited.mark(*(p.source for p in peaks))
            yield f"Only the {short(spec)} has a stated matrix peak in {', '.join(alone)} {cited}."


def _flags(duel: Duel) -> Iterator[str]:
    """ECC and MIG where the cards differ in them."""
    for name, meaning in (
        ("ecc", "errors in memory are found and mended"),
        ("mig", "one card can be split into several"),
    ):
        facts = [spec.facts.get(name) for spec in duel.both]
        if facts[0] and facts[1] and facts[0].value != facts[1].value:
            sides = zip(duel.both, facts, strict=True)
            told = ", ".join(
                f"{short(spec)} {shown(f)} {duel.cited.mark(f.source)}" for spec, f in sides if f
            )
            yield f"{label(name)}: {told}; {meaning}."


def _link(duel: Duel) -> str:
    """Where only one of them has a link, or none."""
    speeds = [spec.facts.get("link_bytes_per_s") for spec in duel.both]
    if (speeds[0] is None) == (speeds[1] is None):
        return ""
    fact = speeds[0] or speeds[1]
    assert fact is not None
    having, lacking = (duel.first, duel.second) if speeds[0] else (duel.second, duel.first)
    name = lacking.facts.get("link")
    other = (
        f"{shown(name)} {duel.cited.mark(name.source)}" if name else "not stated by a source that was read"
    )
    return (
        f"Link between GPUs: {short(having)} {shown(fact)} {duel.cited.mark(fact.source)}; {short(lacking)}: "
        f"{other}. "
        "Gradients of several GPUs travel over it, or over PCIe where there is none."
    )


def identity(duel: Duel, spec: GpuSpec) -> str:
    """One card in a sentence: what it is and for what it was made."""
    parts = []
    for name in (
        "architecture",
        "chip",
        "segment",
        "form",
        "launch",
        "memory_bytes",
        "memory_type",
        "power_w",
    ):
        if name in spec.facts and name in fields():
            fact = spec.facts[name]
            parts.append(f"{label(name)} {shown(fact)} {duel.cited.mark(fact.source)}")
    return f"{spec.name}: {', '.join(parts)}."
