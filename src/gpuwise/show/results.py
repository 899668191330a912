"""A result file as tables: what was measured, where, and every caution."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.model.question import Question
from gpuwise.model.result import WIDE, BatchTrial, Interval, Measurement, Result
from gpuwise.model.run import Environment, RunConfig
from gpuwise.model.units import gibibytes, percent, seconds, si, significant
from gpuwise.show.alike import merged, shape
from gpuwise.show.kernels import slowest
from gpuwise.show.table import Table

_PLURAL = {
    "image": "images", "image-step": "image-steps", "sequence": "sequences", "token": "tokens",
    "launch": "launches",
}  # fmt: skip
_PREFIXED = {"FLOP": "FLOP", "byte": "B", "cell": "cell"}
"""Items that come by the billion, with their symbol."""

NAMED = 4
"""Names that a list tells before it counts the rest."""


def speed(m: Measurement) -> str:
    """`7,210 images/s ±0.3 %`, or why there is none."""
    if m.throughput is None:
        return m.status
    partial = "" if m.status == "ok" else f" ({m.status})"
    return rate(m.throughput.value, m.item) + spread(m.throughput) + partial


def rate(value: float, item: str) -> str:
    """Items per second in the field's units."""
    if item in _PREFIXED:
        return si(value, f"{_PREFIXED[item]}/s")
    return f"{significant(value, 4)} {_PLURAL.get(item, item)}/s"


def amount(value: float, item: str) -> str:
    """A number of items without their name, which stands elsewhere: `7,210`, `11.6 T`."""
    return si(value, "").strip() if item in _PREFIXED else significant(value, 4)


def per_joule(value: float, item: str) -> str:
    """Items per joule: `4.67 images/J`."""
    if item in _PREFIXED:
        return si(value, f"{_PREFIXED[item]}/J")
    return f"{significant(value)} {_PLURAL.get(item, item)}/J"


def counted(number: int, noun: str) -> str:
    """`1 result`, `3 results`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def spread(interval: Interval) -> str:
    """` ±0.3 %` from a measured interval, ` noisy` where it is wider than its value, nothing from a stated
    figure."""
    if interval.level is None:
        return ""
    return f" ±{percent(interval.half_width)}" if interval.half_width < WIDE else " noisy"


def cell_name(config: Question) -> str:
    """`resnet50 train bf16 compiled`."""
    if config.mode == "limit":
        named = f"{config.workload} {config.precision}" if config.workload == "matmul" else config.workload
        named += together(config)
        return f"{named} {config.batch}" if (config.batch or 1) > 1 else named
    how = "compiled" if config.compile else "eager"
    fed = " with-input" if config.input == "host" else ""
    framework = f" {config.framework}" if config.framework != "torch" else ""
    return f"{config.workload} {config.mode} {config.precision} {how}{framework}{fed}{together(config)}"


def together(config: Question) -> str:
    """` x4`, ` x16 on 2 machines strong`; nothing for one GPU."""
    if config.gpus == 1:
        return ""
    nodes = f" on {config.nodes} machines" if config.nodes > 1 else ""
    return f" x{config.gpus}{nodes}" + (" strong" if config.scaling == "strong" else "")


def line(m: Measurement) -> str:
    """One measurement in one line, as it becomes final."""
    parts = [f"{cell_name(m.config):<33} {speed(m)}"]
    if m.batch and m.config.mode != "limit":
        parts.append(f"batch {m.batch}" + (" each" if m.config.gpus > 1 else ""))
    if m.limit_share:
        parts.append(f"{percent(m.limit_share, 0)} of the {m.limit} limit")
    if m.mfu and m.config.mode == "limit":
        parts.append(f"{percent(m.mfu, 0)} of peak")
    if m.verdict is not None:
        parts.append(f"{m.verdict.bound}-bound")
    if m.telemetry is not None and m.telemetry.power_w and m.config.mode != "limit":
        parts.append(f"{m.telemetry.power_w:.0f} W")
    if m.cautions:
        parts.append("! " + ", ".join(dict.fromkeys(caution.code for caution in m.cautions)))
    if m.error:
        parts.append(m.error.splitlines()[0][:100])
    return "  ".join(parts)


def _efficiency(m: Measurement) -> str:
    if m.items_per_joule is None:
        return ""
    return per_joule(m.items_per_joule, m.item)


def recipe(config: RunConfig) -> str:
    """`tuned`, with the switches that are not as usual."""
    return f"{config.recipe} {config.switches}" if config.switches.changed else config.recipe


def measurement_row(m: Measurement) -> tuple[str, ...]:
    """The cells of one measurement."""
    limit = m.config.mode == "limit"
    return (
        m.config.workload,
        "" if limit else m.config.mode,
        "" if limit and m.config.workload != "matmul" else m.config.precision,
        "" if limit else "compiled" if m.config.compile else "eager",
        "" if limit else recipe(m.config),
        "" if m.config.framework == "torch" else m.config.framework,
        str(m.config.gpus) if m.config.gpus > 1 else "",
        str(m.batch) if m.batch and not limit else str(m.config.batch or ""),
        speed(m),
        percent(m.mfu) if m.mfu else "",
        f"{percent(m.limit_share, 0)} {m.limit}" if m.limit_share else "",
        m.verdict.bound if m.verdict else "",
        gibibytes(m.memory_peak_bytes) if m.memory_peak_bytes and not limit else "",
        f"{m.telemetry.power_w:.0f} W" if m.telemetry and m.telemetry.power_w else "",
        "" if limit else _efficiency(m),
        ", ".join(dict.fromkeys(caution.code for caution in m.cautions)),
    )


COLUMNS = (
    "workload",
    "mode",
    "precision",
    "compile",
    "recipe",
    "framework",
    "GPUs",
    "batch",
    "throughput (95 %)",
    "MFU",
    "of limit",
    "bound by",
    "peak memory",
    "power",
    "efficiency",
    "cautions",
)
NUMERIC = frozenset({"GPUs", "batch", "throughput (95 %)", "MFU", "peak memory", "power", "efficiency"})


def measurements(result: Result) -> Table:
    """All measurements of a result, one row each; empty columns dropped."""
    table = Table(
        title=headline(result),
        columns=COLUMNS,
        rows=tuple(measurement_row(m) for m in result.measurements),
        numeric=NUMERIC,
        notes=notes(result),
        spare=frozenset({"recipe"}),
    )
    return table.without_empty_columns()


def headline(result: Result) -> str:
    """Which device, which software, when."""
    found = result.environment
    parts = [found.device, *found.software, result.created_at[:10]]
    if result.origin == "published":
        parts.append("published figures, not measured by gpuwise")
    return " · ".join(part for part in parts if part)


def notes(result: Result) -> tuple[str, ...]:
    """Every distinct caution and error of a result, in words, and the source of a published one.

    Cautions that differ in their numbers only stand together.
    """
    told: dict[str, list[tuple[int, str]]] = {}
    for number, m in enumerate(result.measurements):
        cautions = [f"{c.code}: {c.detail}. {_sentence(c.fix)}" for c in m.cautions]
        errors = [f"{m.status}: {m.error.splitlines()[0]}"] if m.error else []
        for key, text in [(shape(text), text) for text in cautions] + [(text, text) for text in errors]:
            told.setdefault(key, []).append((number, text))
    source = (f"Source: {result.source}",) if result.source else ()
    return (*source, *(_note(result, *zip(*each, strict=True)) for each in told.values()))


def _note(result: Result, numbers: Sequence[int], texts: Sequence[str]) -> str:
    """Whose a note is, all measurements' or those with these `numbers`, and what it says."""
    every = len(result.measurements)
    names = [cell_name(result.measurements[number].config) for number in numbers]
    whose = "all measurements" if len(set(numbers)) == every > 1 else some(names)
    return f"{whose}: {merged(texts)}"


def some(names: Sequence[str]) -> str:
    """The first names and the number of the others."""
    told = list(dict.fromkeys(names))
    more = f" and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return ", ".join(told[:NAMED]) + more


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def environment(found: Environment) -> Table:
    """What was found on the machine, one row a field."""
    watts = f"{found.power_limit_w:.0f} W" if found.power_limit_w else ""
    if watts and found.power_limit_default_w and found.power_limit_default_w != found.power_limit_w:
        watts += f" (default {found.power_limit_default_w:.0f} W)"
    link = f"generation {found.pcie_generation}" if found.pcie_generation else ""
    link += f" x{found.pcie_width}" if link and found.pcie_width else ""
    cores = f", {found.cpu_count} usable cores" if found.cpu_count else ""
    rows = (
        ("device", found.device),
        ("card", found.card or ""),
        ("catalog entry", found.gpu_id or ("none: this GPU is unknown" if found.cuda else "")),
        ("device memory", gibibytes(found.device_memory_bytes) if found.device_memory_bytes else ""),
        ("driver", found.driver or ""),
        ("torch", found.torch or ""),
        ("TensorFlow", found.tensorflow or ""),
        ("JAX", found.jax or ""),
        ("CUDA", found.cuda or ""),
        ("cuDNN", found.cudnn or ""),
        ("power limit", watts),
        ("ECC", _yes_no(found.ecc)),
        ("MIG", _yes_no(found.mig)),
        ("PCIe", link),
        ("CPU", f"{found.cpu}{cores}" if found.cpu else ""),
        ("system", " · ".join(x for x in (found.os, f"Python {found.python}" if found.python else "") if x)),
        ("other processes", "" if found.other_processes is None else str(found.other_processes)),
        ("variables", ", ".join(f"{name}={value}" for name, value in found.variables)),
    )
    return Table(columns=("environment", "found"), rows=tuple(row for row in rows if row[1]))


def commands(result: Result) -> Table:
    """Every command of the session, with when it began."""
    every = ((result.created_at, result.command), *((c.started_at, c.command) for c in result.resumed))
    return Table(columns=("began", "command"), rows=tuple(row for row in every if row[1]))


def _yes_no(value: bool | None) -> str:
    return "" if value is None else "on" if value else "off"


def details(m: Measurement) -> tuple[str, ...]:
    """What `--full` says of one measurement: its timing, its batches, its verdict with the evidence, its
    slowest kernels."""
    return tuple(text for text in (timing(m), batches(m), explained(m), slowest(m)) if text)


def timing(m: Measurement) -> str:
    """Cold start, warm-up and windows of one measurement, in a sentence."""
    steps = sum(len(window.step_s) for window in m.windows)
    cold = f"first step after {seconds(m.cold_start_s)}{compiling(m)}, " if m.cold_start_s else ""
    warm = f"{len(m.warmup_s)} warm-up steps in {seconds(sum(m.warmup_s))}, " if m.warmup_s else ""
    return f"{cold}{warm}{steps} timed steps in {len(m.windows)} windows"


def compiling(m: Measurement) -> str:
    """` (12 s of it compiling 3 graphs, 1 from the cache)`; empty where that is not known."""
    if m.compilation is None:
        return ""
    done = m.compilation
    found = f", {done.cached} from the cache" if done.cached else ""
    return f" ({seconds(done.seconds)} of it compiling {counted(done.graphs, 'graph')}{found})"


def batches(m: Measurement) -> str:
    """The curve of the batch search, with its best and the largest that fits; empty without a search."""
    if not m.batch_trials:
        return ""
    told = []
    for how, compiled in (("eager", False), ("compiled", True)):
        tried = sorted((t for t in m.batch_trials if t.compiled == compiled), key=lambda t: t.batch)
        told += [f"{how} {', '.join(_trial(t) for t in tried)}"] if tried else []
    largest = f", largest that fits {m.largest_batch}" if m.largest_batch else ""
    return f"batches in {_PLURAL.get(m.item, m.item)}/s: {'; '.join(told)}; fastest {m.batch}{largest}"


def _trial(trial: BatchTrial) -> str:
    if trial.items_per_s:
        return f"{trial.batch}: {significant(trial.items_per_s)}"
    return f"{trial.batch}: {'fits' if trial.fits else 'out of memory'}"


def explained(m: Measurement) -> str:
    """The verdict in a sentence, the deciding fact first; empty where there is none."""
    if m.verdict is None:
        return ""
    facts = "; ".join(m.verdict.evidence)
    return f"{m.verdict.bound}-bound: {facts}. To be faster: {m.verdict.next_step}"
