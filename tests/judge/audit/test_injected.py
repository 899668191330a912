"""Articles written from the catalog: no figure of theirs may be contradicted; one wrong figure must be.

Every GPU appears in four styles (list, prose, table by row, table by column). An injected error is
found when the claim about that GPU and field is contradicted; the kind of error is compared, too.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from evaluation.audit import mutate
from gpuwise.facts import catalog
from gpuwise.judge import audit
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.agree import family
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.judgement import Finding

Values = dict[str, str]
Error = tuple[GpuSpec, Values]
"""GPU, and the wrong figures to print for its fields."""

SCALES = {
    "memory_bytes": 2**30,
    "memory_bytes_per_s": 1e9,
    "cuda_cores": 1,
    "tensor_cores": 1,
    "power_w": 1,
    "boost_hz": 1e6,
    "peak:fp32": 1e12,
    "peak:fp16": 1e12,
}
UNITS = {
    "memory_bytes": "GB",
    "memory_bytes_per_s": "GB/s",
    "power_w": "W",
    "boost_hz": "MHz",
    "peak:fp32": "TFLOPS",
    "peak:fp16": "TFLOPS",
}
LABELS = {
    "memory_bytes": "VRAM (GB)",
    "memory_bytes_per_s": "Memory bandwidth (GB/s)",
    "cuda_cores": "CUDA cores",
    "tensor_cores": "Tensor cores",
    "power_w": "TDP (W)",
    "boost_hz": "Boost clock (MHz)",
    "peak:fp32": "FP32 (TFLOPS)",
    "peak:fp16": "FP16 tensor (TFLOPS)",
}
SENTENCES = {
    "memory_bytes": "Its frame buffer is {} of memory.",
    "memory_bytes_per_s": "The memory bandwidth comes to {}.",
    "cuda_cores": "The chip runs {} CUDA cores.",
    "tensor_cores": "There are {} Tensor Cores on board.",
    "power_w": "The board is rated for {}.",
    "boost_hz": "The boost clock is {}.",
    "peak:fp32": "Single-precision FP32 arithmetic tops out at {}.",
    "peak:fp16": "In FP16 the matrix units deliver {} dense.",
}


def known(spec: GpuSpec, field: str) -> float | None:
    """The value to print, in the unit of its label: the first of the evidence."""
    found = evidence.of(spec.id, field)
    value = found[0].value if found else None
    if field == "peak:fp16" and spec.peak("fp16") is None:
        return None
    return value / SCALES[field] if isinstance(value, float) and value else None


def values(spec: GpuSpec) -> Values:
    return {field: f"{value:.6g}" for field in SCALES if (value := known(spec, field)) is not None}


def listed(specs: Sequence[GpuSpec], all_values: Mapping[str, Values]) -> str:
    parts = []
    for spec in specs:
        lines = [f"- {LABELS[f].split(' (')[0]}: {with_unit(f, v)}" for f, v in all_values[spec.id].items()]
        parts.append("\n".join((f"## {spec.name}", *lines)))
    return "\n\n".join(parts)


def prose(specs: Sequence[GpuSpec], all_values: Mapping[str, Values]) -> str:
    return "\n\n".join(
        " ".join(
            (
                f"Next comes the {spec.name}.",
                *(SENTENCES[f].format(with_unit(f, v)) for f, v in all_values[spec.id].items()),
            )
        )
        for spec in specs
    )


def by_row(specs: Sequence[GpuSpec], all_values: Mapping[str, Values]) -> str:
    rows = [["GPU", *LABELS.values()], ["---"] * (len(LABELS) + 1)]
    rows += [[spec.name, *(all_values[spec.id].get(f, "") for f in LABELS)] for spec in specs]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def by_column(specs: Sequence[GpuSpec], all_values: Mapping[str, Values]) -> str:
    rows = [["", *(spec.name for spec in specs)], ["---"] * (len(specs) + 1)]
    rows += [[LABELS[f], *(all_values[spec.id].get(f, "") for spec in specs)] for f in LABELS]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


STYLES = (listed, prose, by_row, by_column)


def with_unit(field: str, value: str) -> str:
    return f"{value} {UNITS[field]}" if field in UNITS and not value[-1].isalpha() else value


def groups(size: int = 6) -> Iterator[tuple[GpuSpec, ...]]:
    # Cards of data centres and workstations, of which articles are written.
    specs = [
        spec
        for spec in catalog.all_gpus()
        if (spec.memory_bytes or 0) >= 2**34 and spec.text("form") != "soc"
    ]
    yield from (specs[i : i + size] for i in range(0, len(specs), size))


# One error of each kind: the wrong figures that a GPU's field may get.


def digit_swap(spec: GpuSpec, beside: Sequence[GpuSpec]) -> Iterator[Values]:
    for field in ("cuda_cores", "memory_bytes_per_s"):
        value = known(spec, field)
        digits = f"{value:.0f}" if value and value == int(value) else ""
        for i in range(len(digits) - 1):
            if digits[i] != digits[i + 1] and digits[i + 1] != "0":
                yield {field: digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]}


def full_die(spec: GpuSpec, beside: Sequence[GpuSpec]) -> Iterator[Values]:
    chip = spec.text("chip")
    if chip in catalog.chips():
        for field in ("cuda_cores", "tensor_cores"):
            # Where a product beside it has all of the chip, the figure is that one's.
            others = {other.number(field) for other in beside if other.text("chip") == chip}
            if (count := catalog.chips()[chip].whole(field)) and count not in others:
                yield {field: f"{count}"}


def sparse(spec: GpuSpec, beside: Sequence[GpuSpec]) -> Iterator[Values]:
    forms = {known.form for known in evidence.of(spec.id, "peak:fp16")}
    if "sparse" in forms and (peak := spec.peak("fp16")) is not None:
        yield {"peak:fp16": f"{2 * peak.flop_per_s / 1e12:.6g}"}


def sibling(spec: GpuSpec, beside: Sequence[GpuSpec]) -> Iterator[Values]:
    for other in map(catalog.get, family(spec.id)):
        for field in ("memory_bytes", "memory_bytes_per_s", "power_w", "cuda_cores"):
            # What stands beside it is a neighbour's.
            value = known(other, field)
            if value is not None and not any(known(one, field) == value for one in beside):
                yield {field: f"{value:.6g}"}


def neighbour(spec: GpuSpec, beside: Sequence[GpuSpec]) -> Iterator[Values]:
    place = beside.index(spec)
    for other in beside[max(0, place - 1) : place + 2]:
        row = {f: v for f, v in values(other).items() if f in ("memory_bytes_per_s", "cuda_cores", "power_w")}
        if other.id not in (spec.id, *family(spec.id)) and len(row) == 3:
            yield row


def unit(spec: GpuSpec, beside: Sequence[GpuSpec]) -> Iterator[Values]:
    bandwidth, memory = known(spec, "memory_bytes_per_s"), known(spec, "memory_bytes")
    if bandwidth:
        yield {"memory_bytes_per_s": f"{8 * bandwidth:.0f}"}
    if memory:
        yield {"memory_bytes": f"{memory:.0f} MB"}


def ten_percent(spec: GpuSpec, beside: Sequence[GpuSpec]) -> Iterator[Values]:
    for field in SCALES:
        value = known(spec, field)
        for factor in (0.9, 1.1):
            if value and value * factor >= 20:
                yield {field: f"{value * factor:.0f}"}


KINDS: dict[str, Callable[[GpuSpec, Sequence[GpuSpec]], Iterator[Values]]] = {
    "digit swap": digit_swap,
    "full die for product": full_die,
    "sparse as dense": sparse,
    "other variant": sibling,
    "neighbour's row copied": neighbour,
    "unit": unit,
    "wrong value": ten_percent,
}


def is_wrong(spec: GpuSpec, field: str, text: str) -> bool:
    """Whether no evidence lies within 2 % of the figure: else it is no error, or one within rounding."""
    if field not in values(spec):
        return False
    every = [
        k.value for k in evidence.of(spec.id, field) if k.form != "sparse" and isinstance(k.value, float)
    ]
    # Memory is sold by GiB and printed in either.
    every += [v * 1.0737 for v in every] if field == "memory_bytes" else []
    return " " in text or all(abs(float(text) * SCALES[field] / v - 1) > 0.02 for v in every)


def errors(kind: str, amount: int) -> Iterator[tuple[Sequence[GpuSpec], Error]]:
    """A drawn selection of all the wrong figures of one kind, each with the GPUs beside it."""
    found = [
        (specs, (spec, changes))
        for specs in groups()
        for spec in specs
        for changes in KINDS[kind](spec, specs)
        if all(is_wrong(spec, field, text) for field, text in changes.items())
    ]
    yield from random.Random(kind).sample(found, min(amount, len(found)))


def audited(
    style: Callable[[Sequence[GpuSpec], Mapping[str, Values]], str],
    specs: Sequence[GpuSpec],
    error: Error | None,
) -> tuple[Finding, ...]:
    every = {spec.id: values(spec) for spec in specs}
    if error is not None:
        every[error[0].id] |= error[1]
    return audit.audit_text(style(specs, every)).findings


@pytest.mark.parametrize("style", STYLES)
def test_what_the_catalog_says_is_never_contradicted(style: Callable[..., str]) -> None:
    findings = [finding for specs in groups() for finding in audited(style, specs, None)]
    assert [f for f in findings if f.verdict == "contradicts"] == []
    assert sum(f.verdict == "agrees" for f in findings) > 400


def score(amount: int) -> dict[str, list[int]]:
    """Kind -> [injected, found, found with the right kind, others accused]."""
    scores: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for kind in KINDS:
        for number, (specs, error) in enumerate(errors(kind, amount)):
            wrong = [f for f in audited(STYLES[number % 4], specs, error) if f.verdict == "contradicts"]
            mine = [f for f in wrong if f.gpu == error[0].name and f.field in error[1]]
            scores[kind][0] += 1
            scores[kind][1] += bool(mine)
            scores[kind][2] += any(f.kind == kind for f in mine)
            scores[kind][3] += len(wrong) > len(mine)
    return scores


def test_one_wrong_figure_is_found_and_explained() -> None:
    scores = score(24)
    injected, found, right, others = map(sum, zip(*scores.values(), strict=True))
    assert injected > 120
    assert found >= 0.95 * injected, scores
    assert right >= 0.9 * injected, scores
    assert others == 0, scores


DRESSES: dict[str, Callable[[str], str]] = {
    "tabs": lambda table: "\n".join(
        "\t".join(cell.strip() for cell in row.strip("|").split("|")) for row in table.split("\n")
    ),
    "no rule": lambda table: "\n".join(row for row in table.split("\n") if "---" not in row),
    "no corner": lambda table: table.replace("| GPU |", "|", 1).replace("|  |", "|", 1),
    "one cell a line": lambda table: "\n".join(
        cell.strip() for row in table.split("\n") if "---" not in row for cell in row.strip("|").split("|")
    ),
    "one line": lambda table: table.replace("\n", " "),
    "blank lines": lambda table: table.replace("\n", "\n\n"),
    "run together": lambda table: table.replace(" | ", "").replace("|", ""),
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("style", [by_row, by_column])
def test_a_table_that_lost_its_mark_up_accuses_nobody(style: Callable[..., str], dress: str) -> None:
    for specs in list(groups())[::7]:
        text = DRESSES[dress](style(specs, {spec.id: values(spec) for spec in specs}))
        assert [f for f in audit.audit_text(text).findings if f.verdict == "contradicts"] == []


MUTATED = """| GPU | Memory | Bandwidth | TDP | CUDA cores | Launch |
|---|---|---|---|---|---|
| RTX 4090 | 24 GB | 1,008 GB/s | 450 W | 16,384 | October 2022 |
| RTX 3080 Ti | 12 GB | 912 GB/s | 350 W | 10,240 | June 2021 |
| L40S | 48 GB | 864 GB/s | 350 W | 18,176 | August 2023 |
"""


def test_errors_are_put_into_a_text_one_at_a_time() -> None:
    found = list(mutate.mutations(MUTATED, "a.md", random.Random(1), 2))
    accused = [f for _, _, f in found if f is not None and f.verdict == "contradicts"]
    assert len(found) >= 25
    assert len(accused) >= 0.9 * len(found)
    assert all(error.stated != error.written for _, error, _ in found)


@pytest.mark.parametrize(
    ("stated", "factor", "made"),
    [
        ("1,008 GB/s", 2.0, "2,016 GB/s"),
        ("2.52 GHz", 0.5, "1.26 GHz"),
        ("16 GB", 0.5, "8 GB"),
        ("3 nm", 0.5, "1.5 nm"),
        ("4,8 TB/s", 2.0, "9.6 TB/s"),
    ],
)
def test_a_wrong_figure_is_printed_like_the_right_one(stated: str, factor: float, made: str) -> None:
    assert mutate.scaled(stated, factor) == made
    assert sorted(mutate.swapped(stated, random.Random(1))) == sorted(stated)
