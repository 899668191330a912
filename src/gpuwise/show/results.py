"""A result file as tables: what was measured, where, every issue, and the details of each measurement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING

from gpuwise.model.question import HOW, WORK, Environment
from gpuwise.model.result import Issue, Measurement, Record, Result, grouped, records_of
from gpuwise.model.units import Amount, gibibytes, percent, seconds, significant, some, watts, whole
from gpuwise.show.table import Table, amount, per_joule, rate, speed, unit

if TYPE_CHECKING:
    from gpuwise.show.charts import Mark

# Cells of a terminal that the longest bar takes.
BAR = 32
# Of a kernel's name at most.
LETTERS = 60
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Alone, not within a name or a version such as fp16, x4, 2.11.0.
_NUMBER = re.compile(r"(?<![\w.,-])-?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)")
# What numbers name: each is listed, because a range would name others, too.
_NAMES = re.compile(r"\b(?:GPU|rank|process) $")
_ELEMENTWISE = re.compile(r"elementwise_kernel.*?<.*?\b(?!gpu_kernel)(\w+(?:_kernel\w*|Functor\w*|_impl))")
# What to do about figures of our own that look alike or stand in a wrong order: nobody invented them.
REMEASURE = "measure both again, in one session"
_OWN = frozenset({"order", "repeated", "linear", "halves"})


def measured_speed(m: Measurement) -> str:
    return speed(m.throughput, m.item, m.status)


def counted(number: int, noun: str) -> str:
    """`1 result`, `3 results`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def codes(issues: Iterable[Issue]) -> str:
    """What asks for care, each once; what is only worth knowing is written out below a table."""
    return ", ".join(dict.fromkeys(issue.code for issue in issues if issue.severity != "info"))


def fix(issue: Issue, *, own: bool = True) -> str:
    """The next step; of a measurement of our own never a doubt about its honesty."""
    return REMEASURE if own and issue.code in _OWN else issue.fix


def line(m: Measurement) -> str:
    """One measurement in one line, as it becomes final."""
    limit = m.config.mode == "limit"
    held = m.telemetry.power_w if m.telemetry is not None and not limit else None
    parts = [
        f"{m.config.label('batch'):<33} {measured_speed(m)}",
        f"batch {m.batch}{' each' if m.config.gpus > 1 else ''}" if m.batch and not limit else "",
        f"{percent(m.limit_share, 0)} of the {m.limit} limit" if m.limit_share else "",
        f"{percent(m.mfu, 0)} of peak" if m.mfu and limit else "",
        f"{m.verdict.bound}-bound" if m.verdict is not None else "",
        watts(held) if held else "",
        f"! {codes(m.cautions)}" if codes(m.cautions) else "",
        m.error.splitlines()[0][:100] if m.error else "",
    ]
    return "  ".join(part for part in parts if part)


def measurement_row(m: Measurement) -> dict[str, str]:
    """The cells of one measurement by their columns."""
    config = m.config
    # Of a server nothing is known but how it answers: `show.serving` has that.
    limit = config.mode == "limit" or config.load is not None
    own = f"{config.recipe} {config.switches}" if config.switches.changed else config.recipe
    drawn = m.telemetry.power_w if m.telemetry else None
    # A limit is one kernel without a model: how it was compiled, what it held and drew says nothing of it.
    joule, memory = (None, None) if limit else (m.items_per_joule, m.memory_peak_bytes)
    batch, share = config.batch if limit else m.batch, m.limit_share
    return {
        "workload": config.workload,
        "mode": "" if limit else config.mode,
        "precision": config.precision,
        "compile": "" if limit else "compiled" if config.compile else "eager",
        "recipe": "" if limit else own,
        "framework": "" if config.framework == "torch" else config.framework,
        "GPUs": whole(config.gpus) if config.gpus > 1 else "",
        "size": "toy" if config.size == "toy" else "",
        "batch": whole(batch) if batch else "",
        "load": config.load.offered if config.load else "",
        "throughput (95 %)": measured_speed(m),
        "MFU": percent(m.mfu) if m.mfu else "",
        "of limit": Amount(f"{percent(share, 0)} {m.limit}", share, f"of {m.limit} limit") if share else "",
        "bound by": m.verdict.bound if m.verdict else "",
        "peak memory": gibibytes(memory) if memory else "",
        "power": watts(drawn) if drawn else "",
        "efficiency": per_joule(joule, m.item) if joule else "",
        "cautions": codes(m.cautions),
    }


def measurements(result: Result) -> Table:
    """All measurements of a result, one row each; empty columns dropped."""
    return Table.of(
        map(measurement_row, result.measurements),
        title=headline(result),
        notes=notes(result),
        spare=frozenset({"recipe"}),
    )


def headline(result: Result) -> str:
    """Which device, which software, when."""
    found = result.environment
    stated = "published figures, not measured by gpuwise" if result.origin == "published" else ""
    parts = [found.device, *found.software, result.created_at[:10], stated]
    return " · ".join(part for part in parts if part)


def session_name(result: Result) -> str:
    """`NVIDIA H200, 2026-11-23 13:21 UTC`."""
    return f"{result.environment.device}, {result.created_at[:16].replace('T', ' ')} UTC"


def notes(result: Result) -> tuple[str, ...]:
    """Every distinct issue and error of a result, in words, and the source of a published one. Issues that
    differ in their numbers only stand together: `median clock 1545 to 1620 MHz`."""
    # A suite of two hundred rows would repeat each sentence for every one.
    alike: dict[str, list[tuple[int, str]]] = {}
    for number, m in enumerate(result.measurements):
        for issue in m.cautions:
            step = fix(issue)
            text = f"{issue.code}: {issue.detail}. {step[:1].upper()}{step[1:]}"
            alike.setdefault(shape(text), []).append((number, text))
        if m.error:
            text = f"{m.status}: {m.error.splitlines()[0]}"
            alike.setdefault(text, []).append((number, text))
    labels = [m.config.label("batch") for m in result.measurements]
    # Levels of one server differ in the last words of long names.
    words, comma, _ = commonprefix(labels if len(labels) > 1 else []).rpartition(", ")  # noqa: RUF071  no paths
    labels = [label.removeprefix(words + comma) for label in labels]
    found = [f"Source: {result.source}"] if result.source else []
    if result.ended < result.planned:
        had = f"{result.ended} of {result.planned} measurements had ended"
        found.append(f"interrupted: {had}; the same command with --resume goes on")
    for each in alike.values():
        numbers, texts = zip(*each, strict=True)
        names = [labels[number] for number in numbers]
        every = len(set(numbers)) == len(result.measurements) > 1
        found.append(f"{'all measurements' if every else some(names)}: {merged(texts)}")
    return tuple(found)


def shape(text: str) -> str:
    """The text without its numbers; texts of one shape can be merged."""
    return _NUMBER.sub("#", text)


def merged(texts: Sequence[str]) -> str:
    """Texts of one shape as one, with ranges. Raises ValueError where their shapes differ."""
    if len({shape(text) for text in texts}) != 1:
        raise ValueError("texts that differ in more than numbers")
    between = _NUMBER.split(texts[0])
    parts = [between[0]]
    places = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    for numbers, after in zip(places, between[1:], strict=True):
        ordered = sorted(set(numbers), key=lambda number: float(number.replace(",", "")))
        each = len(ordered) == 1 or _NAMES.search(parts[-1])
        parts += [", ".join(ordered) if each else f"{ordered[0]} to {ordered[-1]}", after]
    return "".join(parts)


def environment(found: Environment) -> Table:
    """What was found on the machine, one row a field."""
    limit: str = watts(found.power_limit_w) if found.power_limit_w else ""
    if limit and found.power_limit_default_w and found.power_limit_default_w != found.power_limit_w:
        limit = f"{limit} (default {watts(found.power_limit_default_w)})"
    link = f"generation {found.pcie_generation}" if found.pcie_generation else ""
    link += f" x{found.pcie_width}" if link and found.pcie_width else ""
    cores = f", {found.cpu_count} usable cores" if found.cpu_count else ""
    switch = {None: "", True: "on", False: "off"}
    fields = {
        "device": found.device,
        "card": found.card,
        "catalog entry": found.gpu_id or ("none: this GPU is unknown" if found.cuda else ""),
        "device memory": gibibytes(found.device_memory_bytes) if found.device_memory_bytes else "",
        "driver": found.driver,
        "torch": found.torch,
        "TensorFlow": found.tensorflow,
        "JAX": found.jax,
        "CUDA": found.cuda,
        "cuDNN": found.cudnn,
        "power limit": limit,
        "ECC": switch[found.ecc],
        "MIG": switch[found.mig],
        "PCIe": link,
        "CPU": f"{found.cpu}{cores}" if found.cpu else "",
        "system": " · ".join(x for x in (found.os, f"Python {found.python}" if found.python else "") if x),
        "other processes": "" if found.other_processes is None else str(found.other_processes),
        "variables": ", ".join(f"{name}={value}" for name, value in found.variables),
    }
    rows = tuple((name, text) for name, text in fields.items() if text)
    return Table(columns=("environment", "found"), rows=rows)


def commands(result: Result) -> Table:
    """Every command of the session, with when it began."""
    first = (result.created_at, result.command)
    later = ((c.started_at, f"{c.command}  # another card" if c.card else c.command) for c in result.resumed)
    return Table(columns=("began", "command"), rows=tuple(row for row in (first, *later) if row[1]))


def counts(result: Result) -> Table | None:
    """Speeds by number of GPUs, as articles print them: a row a network and precision, a column a count; None
    where fewer than two networks were measured, or none on several GPUs."""
    # Limits of links and memory are not speeds of the work that an article compares.
    networks = [m for m in result.measurements if m.config.mode in ("train", "infer")]
    columns = sorted({m.config.gpus for m in networks})
    rows: dict[str, dict[int, str]] = {}
    for m in networks:
        name = m.config.label("batch", "gpus", "switches")
        rows.setdefault(name, {})[m.config.gpus] = measured_speed(m)
    if len(columns) < 2 or len({m.config.workload for m in networks}) < 2:
        return None
    cells = (
        {"measurement": name, **{counted(n, "GPU"): found.get(n, "") for n in columns}}
        for name, found in rows.items()
    )
    return Table.of(cells, title="By number of GPUs")


def details(m: Measurement) -> tuple[str, ...]:
    """What `--full` says of one measurement: timing, batches, verdict with evidence, slowest kernels."""
    what = "operators" if m.config.device == "cpu" else "kernels"
    named = slowest(m, 5)
    explained = ""
    if m.verdict is not None:
        facts = "; ".join(m.verdict.evidence)
        explained = f"{m.verdict.bound}-bound: {facts}. To be faster: {m.verdict.next_step}"
    texts = (timing(m), batches(m), explained, f"slowest {what}: {named}" if named else "")
    return tuple(text for text in texts if text)


def timing(m: Measurement) -> str:
    """Cold start, warm-up and windows of one measurement, in a sentence."""
    steps = sum(len(window.step_s) for window in m.windows)
    # A graph from the cache is not compiled from cold: the time means something else.
    compiling = ""
    if m.compilation is not None:
        done = m.compilation
        cached = f", {done.cached} from the cache" if done.cached else ""
        compiling = f" ({seconds(done.seconds)} of it compiling {counted(done.graphs, 'graph')}{cached})"
    cold = f"first step after {seconds(m.cold_start_s)}{compiling}, " if m.cold_start_s else ""
    warm = f"{len(m.warmup_s)} warm-up steps in {seconds(sum(m.warmup_s))}, " if m.warmup_s else ""
    return f"{cold}{warm}{steps} timed steps in {len(m.windows)} windows"


def batches(m: Measurement) -> str:
    """The curve of the batch search, with its best and the largest that fits; empty without a search."""
    if not m.batch_trials:
        return ""
    parts = []
    for how, compiled in (("eager", False), ("compiled", True)):
        tried = [
            f"{t.batch}: {significant(t.items_per_s)}"
            if t.items_per_s
            else f"{t.batch}: {'fits' if t.fits else 'out of memory'}"
            for t in sorted((t for t in m.batch_trials if t.compiled == compiled), key=lambda t: t.batch)
        ]
        parts += [f"{how} {', '.join(tried)}"] if tried else []
    largest = f", largest that fits {m.largest_batch}" if m.largest_batch else ""
    return f"batches in {unit(m.item)}: {'; '.join(parts)}; fastest {m.batch}{largest}"


def slowest(m: Measurement, most: int) -> str:
    """The kernels that take longest, each with its share of all kernel time; empty where none is known."""
    if m.profile is None:
        return ""
    return ", ".join(
        f"{percent(each.seconds / m.profile.kernel_s, 0)} {called(each.name or each.kind)}"
        + (f" x {each.count:.3g}" if each.count != 1 else "")
        for each in m.profile.slowest[:most]
    )


def called(name: str) -> str:
    """A kernel's name without what surrounds it: return type, namespaces, arguments. Of torch's elementwise
    kernels the name says nothing and the first argument of their template all."""
    # Profilers print whole C++ signatures; two hundred characters tell no more than the name.
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("at::native::", "")
    inside = _ELEMENTWISE.search(plain)
    short = inside[1] if inside else re.split(r"[<(]", plain, maxsplit=1)[0]
    return short if len(short) <= LETTERS else short[: LETTERS - 1] + "…"


def by_work(rows: Iterable[Record]) -> dict[str, list[Record]]:
    """The records by what was run, `resnet50 train`, in the order in which these came."""
    return grouped((row.question.label(*HOW), row) for row in rows)


def settings(rows: Sequence[Record], *, devices: Sequence[str] = ()) -> list[tuple[str, list[Record]]]:
    """(how it was run, the records of it with the fastest first): sessions of one question are one setting.
    The device is named where there are several. Settings come by the speed of their middle one."""
    # Of one device its name would stand in every row.
    several, ordered = len(devices) > 1, sorted(rows, key=lambda row: -row.value)
    alike = grouped((row.question.label(*WORK) + f", {row.gpu_id}" * several, row) for row in ordered)
    return sorted(alike.items(), key=lambda pair: -pair[1][len(pair[1]) // 2].value)


def over_sessions(same: Sequence[Record]) -> Amount:
    """The speed of a setting: of one session with its interval, of several the middle between their ends."""
    middle = same[len(same) // 2]
    found, item = middle.throughput, middle.item
    assert found is not None
    if len(same) == 1:
        return Amount(speed(found, item), found.value, unit(item), found.low, found.high)
    low, high = same[-1].value, same[0].value
    text = f"{rate(found.value, item)} ({amount(low, item)} to {amount(high, item)}, {len(same)} times)"
    return Amount(text, found.value, unit(item), low, high)


def speed_marks(rows: Sequence[Record], *, devices: Sequence[str] = ()) -> list[Mark]:
    """Throughput of one workload as bars, the fastest setting first."""
    from gpuwise.show.charts import Mark

    marks, every = [], settings(rows, devices=devices)
    # Switches of a recipe would fill the line: they are said where two settings differ in nothing else.
    brief = [label.replace(f" {same[0].question.switches}", "", 1) for label, same in every]
    for short, (label, same) in zip(brief, every, strict=True):
        middle, found = same[len(same) // 2], over_sessions(same)
        # The unit stands once, in the group.
        text = found.replace(rate(found.value, middle.item), amount(found.value, middle.item), 1)
        marks.append(Mark(
            label=short if brief.count(short) == 1 else label,
            value=found.value, low=found.low or found.value, high=found.high or found.value,
            group=f"{middle.question.label(*HOW)}, {middle.item}s per second",
            colour=middle.question.precision or "?", shown=text,
        ))  # fmt: skip
    return marks


def bar(share: float, width: int = BAR) -> str:
    """A bar of `share` of `width` cells, to an eighth of a cell; anything above nothing is visible."""
    # Unicode has blocks of an eighth, so that a bar of 32 cells resolves 0.4 %.
    eighths = min(max(round(share * width * 8), 1 if share > 0 else 0), width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def bars(results: Sequence[Result], width: int = BAR) -> tuple[str, ...]:
    """Throughput of every workload and mode of these results for a terminal: one line a measurement, the
    fastest first, each group scaled to its longest."""
    rows = [r for r in records_of(results) if r.question.mode != "limit" and r.throughput is not None]
    devices = tuple(dict.fromkeys(row.gpu_id for row in rows))
    lines = []
    for of_one in by_work(rows).values():
        marks = speed_marks(of_one, devices=devices)
        longest = max(mark.value for mark in marks)
        label, shown = (max(len(getattr(mark, name)) for mark in marks) for name in ("label", "shown"))
        lines.append(marks[0].group)
        for mark in marks:
            drawn = bar(mark.value / longest, width) if longest > 0 else ""
            lines.append(f"  {mark.label:<{label}}  {mark.shown:>{shown}}  {drawn}")
    return tuple(lines)
