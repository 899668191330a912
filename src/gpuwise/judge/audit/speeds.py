"""Throughput that a text or a result file states, against physics and logic.

Three shapes: networks in the rows and counts of GPUs in the columns ("1 GPU", "2 GPUs", ...), one figure a
row with columns for GPU, network, precision, count and throughput, and tokens a second beside the size of a
language model, in a table or a line. A name with several variants is judged by the fastest of them. Of a
result everything that is computed from the raw step times is computed again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuwise import checks
from gpuwise.checks import networks
from gpuwise.facts import catalog
from gpuwise.facts.published.importers import record
from gpuwise.judge.audit.read import Block, Cell, Heading, Table
from gpuwise.judge.audit.scan import number_of
from gpuwise.judge.audit.tables import Subject, subject_of
from gpuwise.model.claim import NOT_IN_CATALOG, Finding, Kind
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.units import percent, si, significant
from gpuwise.model.workload import Mode
from gpuwise.stats import mean_of_runs, throughput

KINDS: dict[str, Kind] = {
    "above-peak": "above peak",
    "precision": "wrong precision",
    "scaling": "scaling over 100 %",
    "linear": "exactly linear",
    "halves": "exact halves",
    "repeated": "repeated value",
    "order": "order against FLOPs",
}
SOURCE = "physics and logic checks"
LONG, SHORT = 384, 128
"""Tokens of a sequence: of the networks that name no length, and where a text does not say: the least
that is usual."""
DIFFERENT = 0.01
"""Relative difference between a stated throughput and that of its own step times: both come from
the same numbers."""
SPARE = 1.03
"""How far rounding of sizes and rates may carry a possible number of tokens a second."""
_COUNT = re.compile(r"\s*(\d{1,3})\s*x?\s*(?:GPUs?|cards?)\b", re.IGNORECASE)
_PRECISION = re.compile(r"\b(fp32|tf32|fp16|bf16|fp8|fp4|int8|amp|mixed)\b", re.IGNORECASE)
_LENGTH = re.compile(r"\bs(?:eq\w*)?[ _-]?(?:len\w*)?[ =:_-]*(\d{2,5})\b", re.IGNORECASE)
_INFER = re.compile(r"\binferenc|\binfer\b|serving", re.IGNORECASE)
_OTHER_ITEM = re.compile(
    r"tok(?:en)?s?\b|words|steps?|batch(?:es)?|iter|\bit/s|minutes?|hours?|epochs?|\bms\b|flops",
    re.IGNORECASE,
)
"""What a throughput may count that is not an item of a network: tokens, steps."""
_TIMES = re.compile(
    r"^\s*(?P<a>\d{1,4})\s*[x\u00d7*]|[x\u00d7]\s?(?P<b>\d{1,3})\s*$|\b(?P<c>\d{1,3})[ -]?(?:GPUs?|cards?)\b",
    re.IGNORECASE,
)
_MACHINE = re.compile(r"\b(?:DGX|HGX|servers?|nodes?|pods?)\b", re.IGNORECASE)
_COLUMNS = {
    "workload": r"(?:neural )?network|model|workload|benchmark",
    "precision": r"precision|dtype|data ?type|format",
    "gpu": r"gpu(?:[ _](?:name|model|id|type))?|card|device|accelerator",
    "count": r"(?:num(?:ber)?[ _](?:of[ _])?)?(?:gpus?|cards)|gpu[ _]count|n[ _]?gpus?",
    "throughput": r"(?:train(?:ing)?[ _])?(?:throughput|images?[ /_](?:per )?s\w*|samples?[ /_](?:per )?s\w*"
    r"|sequences?[ /_](?:per )?s\w*|img/s|speed)(?:\s*\(.*\))?",
    "batch": r"batch(?:[ _]size)?(?:[ _]per[ _]gpu)?",
}
_RATE = re.compile(
    r"(?<![\d.,])(?P<low>\d{1,3}(?:,\d{3})+|\d{1,6}(?:\.\d{1,2})?)\s?(?:(?:-|\u2013"
    r"|to)\s?[\d.,]{1,9})?\s?(?:output )?"
    r"(?:tok(?:en)?s?|t)\s?(?:/|per )\s?s(?:ec(?:ond)?)?\b",
    re.IGNORECASE,
)
_SIZE = re.compile(r"(?<![\d.])(?P<size>\d{1,3}(?:\.\d{1,2})?)\s?[bB](?![a-zA-Z]*yte)(?=tok|[^a-z]|$)")
_BYTES = (
    (re.compile(r"\b(?:fp16|bf16|half|float16)\b|f16|16-bit", re.IGNORECASE), 2.0),
    (re.compile(r"\b(?:fp8|int8|q8\w*)\b|8-bit", re.IGNORECASE), 1.0),
    (re.compile(r"\b(?:int4|nf4|fp4|q4\w*|awq|gptq)\b|4-bit", re.IGNORECASE), 0.5),
)
_ALONE = re.compile(
    r"single[- ](?:stream|user|request|batch)|batch(?:[ _-]?size)?\s?[=: ]?\s?1\b|bs\s?=?\s?1\b",
    re.IGNORECASE,
)
_EXPERTS = re.compile(
    r"\bmoe\b|mixtral|a\d{1,2}b|deepseek|speculative|x\d{1,2}b|maverick|scout|gpt-oss", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One throughput and its line."""

    line: int
    row: Record


def judge(blocks: Sequence[Block], name: str) -> tuple[Finding, ...]:
    """One finding per fault and GPU, with all its lines; one for what passes."""
    figures = tuple(_figures(blocks, name))
    cautions = checks.judge([figure.row for figure in figures])
    faults: dict[tuple[str, str], list[tuple[Figure, Issue]]] = defaultdict(list)
    sound: dict[str, list[Figure]] = defaultdict(list)
    for figure, mine in zip(figures, cautions, strict=True):
        for caution in mine:
            faults[caution.code, figure.row.gpu].append((figure, caution))
        if not mine:
            sound[figure.row.gpu].append(figure)
    found = []
    for (code, gpu), pairs in faults.items():
        first, caution = pairs[0]
        found.append(Finding(
            lines=tuple(sorted({figure.line for figure, _ in pairs})), gpu=gpu, field="throughput",
            stated=f"{len(pairs)} figures, e.g. {_stated(first.row)}", verdict="contradicts",
            kind=KINDS.get(code, "caution"), source=SOURCE,
            explanation=caution.detail.removeprefix("INVALID: ").removeprefix("SUSPECT: "),
        ))  # fmt: skip
    for gpu, rows in sound.items():
        found.append(Finding(
            lines=tuple(sorted({figure.line for figure in rows})), gpu=gpu, field="throughput",
            stated=f"{len(rows)} figures, e.g. {_stated(rows[0].row)}", verdict="cannot tell",
            explanation="possible: no check speaks against it", source=SOURCE,
        ))  # fmt: skip
    return (*found, *_tokens(blocks))


def _stated(row: Record) -> str:
    count = f", {row.gpus} GPUs" if row.gpus > 1 else ""
    # A precision that is not in our table, such as fp4, as the article writes it.
    precision = row.question.precision or (row.stated.precision if row.stated else "") or "?"
    return f"{row.question.workload} {precision} {row.value:,.10g} {row.item}s/s{count}"


def fastest(gpu_ids: Sequence[str]) -> str | None:
    """The variant with the highest 16-bit peak: what it cannot do none of them can."""
    peaks = {
        i: max((p.flop_per_s for p in catalog.get(i).peaks if p.format in ("fp16", "bf16")), default=0.0)
        for i in gpu_ids
    }
    return max(gpu_ids, key=lambda i: peaks[i], default=None)


def _figures(blocks: Sequence[Block], name: str) -> Iterator[Figure]:
    source = Source(id=name, title=name, kind="article", read_on="")
    about, recent, infer, said = None, None, False, ""
    for block in blocks:
        if isinstance(block, Table):
            if block.rows:
                near = " ".join((said, *(cell.text for cell in block.rows[0])))
                mode: Mode = "infer" if infer or _INFER.search(near) else "train"
                yield from _of_table(block.rows, about or recent, mode, source)
            continue
        said = block.text
        named = subject_of(block.text) if len(block.text) < 4000 else None
        if isinstance(block, Heading):
            infer, about = bool(_INFER.search(block.text)), named
        elif named is not None and not named.several:
            recent = named


def _of_table(
    rows: Sequence[Sequence[Cell]], about: Subject | None, mode: Mode, source: Source
) -> Iterator[Figure]:
    header = [cell.text for cell in rows[0]]
    counts = {i: int(m[1]) for i, text in enumerate(header) if (m := _COUNT.fullmatch(text))}
    named: dict[str, int] = {}
    for index, text in enumerate(header):
        plain = text.strip("* ").casefold()
        for key, pattern in _COLUMNS.items():
            if key not in named and index not in (*named.values(), *counts) and re.fullmatch(pattern, plain):
                named[key] = index
    # "GPU" may hold counts, and "GPUs" names.
    for key, other, numbers in (("gpu", "count", True), ("count", "gpu", False)):
        if key in named and other not in named:
            cells = [_text(row, named[key]) for row in rows[1:]]
            if all(cell.isdecimal() for cell in cells) if numbers else any(map(subject_of, cells)):
                named = {(other if name == key else name): i for name, i in named.items()}
    if len(counts) > 1 or (counts and "workload" in named):
        yield from _wide(rows, counts, named, about, mode, source)
    elif {"workload", "throughput"} <= named.keys() and not _OTHER_ITEM.search(header[named["throughput"]]):
        yield from _long(rows, named, about, mode, source)


def _wide(
    rows: Sequence[Sequence[Cell]], counts: Mapping[int, int], named: Mapping[str, int],
    about: Subject | None, mode: Mode, source: Source,
) -> Iterator[Figure]:  # fmt: skip
    label, dotted = "", _is_dotted(rows, counts)
    for row in rows[1:]:
        label = _text(row, named.get("workload", 0)) or label
        precision = _text(row, named["precision"]) if "precision" in named else label
        base = _base(label, precision, about, mode, source)
        for index, count in counts.items():
            if index < len(row) and base is not None:
                yield from _figure(base, row[index], count, dotted)


def _long(
    rows: Sequence[Sequence[Cell]],
    named: Mapping[str, int],
    about: Subject | None,
    mode: Mode,
    source: Source,
) -> Iterator[Figure]:
    dotted = _is_dotted(rows, [named["throughput"]])
    for row in rows[1:]:
        if named["throughput"] >= len(row):
            continue
        gpu = _text(row, named["gpu"]) if "gpu" in named else ""
        owner = subject_of(gpu) if gpu else about
        times = _TIMES.search(gpu)
        said = (times["a"] or times["b"] or times["c"]) if times else "" if _MACHINE.search(gpu) else "1"
        count = _text(row, named["count"]) if "count" in named else said
        precision = _text(row, named["precision"]) if "precision" in named else _text(row, named["workload"])
        base = _base(_text(row, named["workload"]), precision, owner, mode, source)
        batch = _text(row, named["batch"]) if "batch" in named else ""
        if base is not None and batch.isdecimal() and len(batch) < 7:
            base = replace(base, question=replace(base.question, batch=int(batch)))
        if base is not None and count.isdecimal() and len(count) < 6 and int(count):
            yield from _figure(base, row[named["throughput"]], int(count), dotted)


def _is_dotted(rows: Sequence[Sequence[Cell]], columns: Iterable[int]) -> bool:
    """Whether the figures have points for thousands: 980 and 1.720, none with other decimals."""
    texts = [_text(row, index) for row in rows[1:] for index in columns]
    points = [text for text in texts if "." in text]
    whole = any(re.fullmatch(r"\d{1,3}", text) for text in texts)
    return whole and all(re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?", text) for text in points)


def _text(row: Sequence[Cell], index: int) -> str:
    return row[index].text.strip() if index < len(row) else ""


def _base(label: str, precision: str, about: Subject | None, mode: Mode, source: Source) -> Record | None:
    """A row without its figure; None for a network that we do not know."""
    network = networks.find(_PRECISION.sub("", re.sub(r"\([^)]*\)", "", label[:200])))
    match = _PRECISION.search(precision)
    if network is None:
        return None
    stated = match[1].lower() if match else ""
    # Inference runs in INT8 too where a text does not say.
    unstated = "int8" if mode == "infer" else "?"
    workload = network.id
    if network.item == "sequence" and not network.id.rpartition("-s")[2].isdecimal():
        named = _LENGTH.search(label)
        length = int(named[1]) if named else SHORT
        workload = network.id if length == LONG else f"{network.id}-s{length}"
    return record(
        gpu=about.text if about else "", workload=workload, mode=mode, speed=1.0, item=network.item,
        gpu_id=fastest(about.gpu_ids) if about and not about.several else None,
        precision={"amp": "fp16", "mixed": "fp16", "": unstated}.get(stated, stated), stated=stated,
        source=source,
    )  # fmt: skip


def _figure(base: Record, cell: Cell, count: int, dotted: bool) -> Iterator[Figure]:
    text = cell.text.strip().replace(".", "") if dotted else cell.text.strip()
    match = re.fullmatch(r"~?\s*(\d[\d.,'\u2019]{0,20}(?: \d{3}){0,3})\s*(?:\w{1,20}/s\w{0,10})?", text)
    plain = re.sub(r"[ '\u2019]|,(?=\d{3}(?!\d))", "", match[1]).replace(",", ".") if match else ""
    if re.fullmatch(r"\d+(?:\.\d+)?", plain) and 1e-3 < float(plain) < 1e9:
        speed = Interval(value=float(plain), low=float(plain), high=float(plain), level=None, method="stated")
        row = replace(base, throughput=speed, question=replace(base.question, gpus=count))
        yield Figure(cell.line, row)


def _tokens(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Tokens a second of language models, against the time in which the weights can be read."""
    about: Subject | None = None
    for block in blocks:
        if isinstance(block, Table):
            header = block.rows[0] if block.rows else ()
            above = " | ".join(cell.text for cell in header)
            top = subject_of(above) if len(above) < 500 else None
            per_second = [
                i
                for i, c in enumerate(header)
                if re.search(r"tok(?:en)?s?\s?(?:/|per )\s?s", c.text, re.IGNORECASE)
            ]
            for row in block.rows[1:]:
                text = " | ".join(cell.text for cell in row)[:1000]
                owner = subject_of(text) or (top if top and not top.several else about)
                for index, cell in enumerate(row):
                    rate = _RATE.search(cell.text) or (
                        re.fullmatch(r"[~\u2248]?\s?(?P<low>\d[\d,]{0,8}(?:\.\d{1,2})?)", cell.text.strip())
                        if index in per_second
                        else None
                    )
                    column = header[index].text if index < len(header) else ""
                    if rate and owner is not None:
                        yield _speed(cell.line, owner, rate, f"{column} | {text}", cell.text)
        else:
            text = block.text if len(block.text) < 1000 else ""
            named = subject_of(text)
            about = named or about
            owner = named or about
            if owner is not None and not owner.several:
                for rate in _RATE.finditer(text):
                    yield _speed(block.line, owner, rate, text, rate[0])


def _speed(line: int, owner: Subject, rate: re.Match[str], text: str, stated: str) -> Finding:
    """One batch alone reads every weight for every token: bandwidth over their bytes bounds its rate."""
    tokens = number_of(rate["low"], 1.0).value
    size = _SIZE.search(text)
    stored = next((each for pattern, each in _BYTES if pattern.search(text)), None)
    speeds = [catalog.get(i).memory_bytes_per_s or 0.0 for i in owner.gpu_ids]
    explanation, wrong = "nothing says how many requests run together, or which model", False
    if not owner.gpu_ids:
        explanation = NOT_IN_CATALOG
    elif size and stored and min(speeds) and _ALONE.search(text) and not _EXPERTS.search(text):
        weights = float(size["size"]) * 1e9 * stored
        needed, best = tokens * weights, max(speeds) * owner.count
        wrong = needed > SPARE * best
        rates = f"{si(needed, 'B/s', 3)} of at most {si(best, 'B/s', 3)}"
        explanation = f"reads {weights / 1e9:.4g} GB of weights for each token, {rates}"
    return Finding(
        lines=(line,), gpu=owner.text, field="throughput", stated=stated,
        verdict="contradicts" if wrong else "cannot tell", kind="above peak" if wrong else None,
        explanation=explanation, source=SOURCE,
    )  # fmt: skip


def judge_result(result: Result) -> tuple[Finding, ...]:
    """Findings of one result: one per fault, and one per measurement without any."""
    measured = checks.judge_measured(result.measurements, result.environment)
    return tuple(f for number, m in enumerate(measured, 1) for f in _of(m, number, result.environment.device))


def _of(m: Measurement, number: int, device: str) -> Iterator[Finding]:
    if m.throughput is None:
        return
    faults = [*_recounted(m), *((_kind(m, c), c.detail) for c in m.cautions)]
    stated = f"{significant(m.throughput.value, 4)} {m.item}s/s"
    serious = [(kind, why) for kind, why in faults if kind is not None]
    mild = [why for kind, why in faults if kind is None]
    for kind, why in serious:
        yield Finding(
            lines=(number,),
            gpu=device,
            field=m.config.key("batch"),
            stated=stated,
            verdict="contradicts",
            kind=kind,
            explanation=why,
        )
    if not serious:
        yield Finding(
            lines=(number,),
            gpu=device,
            field=m.config.key("batch"),
            stated=stated,
            verdict="cannot tell" if mild else "agrees",
            explanation="; ".join(mild),
        )


def _kind(m: Measurement, caution: Issue) -> Kind | None:
    """None for a caution that makes a number doubtful, not wrong; a CPU's limits are no ceilings."""
    return None if caution.code == "above-peak" and m.config.device == "cpu" else KINDS.get(caution.code)


def _recounted(m: Measurement) -> Iterator[tuple[Kind | None, str]]:
    """Items that were counted against items that the steps processed; energy against power."""
    steps = [window.step_s for window in m.windows if window.step_s]
    assert m.throughput is not None
    if steps and m.items_per_step and min(map(min, steps)) > 0:
        way = mean_of_runs if m.throughput.method == "mean-of-runs" else throughput
        again = way(steps, m.items_per_step).value
        difference = m.throughput.value / again - 1
        if abs(difference) > DIFFERENT:
            yield "counted samples", f"its step times give {significant(again, 4)}: {percent(difference)} off"
    took = sum(window.ended_s - window.started_s for window in m.windows)
    inside = sum(map(sum, steps))
    if took > 0 and inside > took * (1 + DIFFERENT):
        yield "counted samples", f"steps of {inside:.1f} s in windows of {took:.1f} s"
