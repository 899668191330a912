"""Predictions, and which models fit where, as tables and as data: each figure with its interval."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from math import inf
from typing import TYPE_CHECKING, Any

from gpuwise.errors import NoDataError
from gpuwise.facts import catalog, llms
from gpuwise.model.precision import GGUF, Precision
from gpuwise.model.question import Question
from gpuwise.model.result import Record, grouped
from gpuwise.model.units import Amount, gibibytes, percent, seconds, significant, watts, whole
from gpuwise.predictor.card import bus, dies
from gpuwise.show.table import Table, per_joule, picked, rate, span, throughput

if TYPE_CHECKING:
    from gpuwise.predictor.fit import Fit
    from gpuwise.show.charts import Rows

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
    """The best first; apart below them what is known by its order of magnitude, and last what is refused."""

    def place(p: Record) -> tuple[Any, ...]:
        return bool(p.refusal), sort != "name" and p.is_rough, _KEYS[sort](p), p.gpu_id

    return tuple(sorted(found, key=place))


def table(found: Sequence[Record], *, every: bool = False, named: str = "") -> Table:
    """One row a GPU; a refused one says why, and many of them share a note unless `every` one is wanted.
    `named` is the file of the work, with its folder."""
    first, given = found[0], [p for p in found if not p.refusal]
    alike = len({p.gpus for p in found}) == 1
    several = f" on {first.gpus} GPUs" if alike and first.gpus > 1 else ""
    # Old GPUs answer in the precision that they have.
    mixed = len({p.question.precision for p in given}) > 1
    name = replace(first.question, gpus=1).label("batch", *(("precision",) if mixed else ()))
    if _without_bench(first):  # an engine compiles as it likes
        name = name.replace(" eager", "")
    # Two GPUs have the same reason where only their names in it differ.
    refused = [p.refusal.replace(p.gpu_id, "").split(":")[0].strip() for p in found if p.refusal]
    many = len(refused) > _REFUSED and bool(given) and not every
    notes = [
        f"{p.gpu_id if alike else _numbered(p.gpu_id, p.gpus)}: {note}"
        for p in given[:_LISTED]
        for note in p.notes
    ]
    # What keeps a row from being read like the others is said of each, equal reasons once.
    apart = grouped((issue.detail, p.gpu_id) for p in given for issue in p.issues)
    notes += [f"{', '.join(gpus[:6])}{', ...' * (len(gpus) > 6)}: {detail}" for detail, gpus in apart.items()]
    if len({p.is_rough for p in given}) > 1:
        notes.append("an order of magnitude is not ranked among the others, whatever its figure")
    if many:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in Counter(refused).most_common())
        notes.append(f"{len(refused)} GPUs are left out ({reasons}); --json lists them")
    if any(p.measured for p in given) and any(p.basis == "spec-only" for p in given):
        notes.append(_TOLD)
    if given and not _without_bench(given[0]):
        notes.append(f"measure it: {measure_command(given[0].question, named)}")
    shown = [p for p in found if not (many and p.refusal)]
    dim = frozenset(place for place, p in enumerate(shown) if p.is_rough)
    rows = [_row(p, mixed=mixed) for p in shown]
    return Table.of(rows, title=f"{name}{several}, predicted", notes=tuple(notes), dim=dim)


def _numbered(gpu_id: str, count: int) -> str:
    return gpu_id if count == 1 else f"{count} x {gpu_id}"


def _row(p: Record, *, mixed: bool) -> dict[str, str]:
    joules, chance = p.items_per_joule, p.fits_probability
    fits = ""
    if chance is not None:
        # Never a certainty that no number of measured errors can give.
        sure = "> 99 %" if chance >= 0.99 else "< 1 %" if chance <= 0.01 else percent(chance, 0)
        fits = percent(chance).shown(sure)
    return {
        "GPU": _numbered(p.gpu_id, p.gpus),
        "precision": p.question.precision or "" if mixed and not p.refusal else "",
        "batch": whole(p.batch) if p.batch else "",
        "throughput (80 %)": throughput(p),
        "step": seconds(p.seconds) if p.seconds else "",
        "first token": seconds(p.first_token_s.value) if p.first_token_s else "",
        "measured": rate(p.best.value, p.item) if p.measured and p.best else "",
        "peak memory": gibibytes(p.memory_bytes.value) if p.memory_bytes else "",
        "fits": fits,
        "power (80 %)": span(p.watts, watts, lambda v: f"{v:,.0f}") if p.watts else "",
        "per joule": per_joule(joules, p.item) if joules else "",
        "bound": Amount(f"{p.bound} {percent(p.shares[0][1], 0)}", p.shares[0][1], p.bound)
        if p.bound and p.shares
        else p.bound or "",
        # The basis of the figure, and whether that is known ground.
        "evidence": f"{p.basis}{', order of magnitude' * p.is_rough}" if p.throughput else "",
        "why not": p.refusal,
    }


def measure_command(question: Question, named: str = "") -> str:
    """What measures it on a machine that has the GPU; nothing for a served model, which needs an engine."""
    workload = shlex.quote(named) if named else question.workload
    words = f"gpuwise bench {workload} --mode {question.mode} --precision {question.precision}"
    words += f" --compile {'on' if question.compile else 'off'}"
    from gpuwise.workloads.registry import decodes_one

    # Left out, `bench` takes gpuwise's kernels where it has some.
    stock = question.recipe == "stock" and decodes_one(question)
    words += f" --recipe {question.recipe}" if stock or question.recipe == "script" else ""
    words += " --switch graph=on" if question.replayed else ""
    words += f" --gpus {question.gpus}" if question.gpus > 1 else ""
    return words + (f" --batch {question.batch}" if question.batch else "")


def document(found: Sequence[Record], named: str = "") -> dict[str, Any]:
    """The predictions as plain data in SI units; None is unknown."""
    names = {spec.id: spec.name for spec in catalog.all_gpus()}
    return {"predictions": [
        {
            "cell": p.question.key("batch"),
            "gpu": p.gpu or names.get(p.gpu_id, p.gpu_id),
            "count": p.gpus,
            "config": asdict(p.question),
            **picked(p, "gpu_id item batch throughput seconds first_token_s memory_bytes fits_probability"),
            **picked(p, "watts bound refusal notes"),
            "measured": asdict(p.measured.throughput) if p.measured and p.measured.throughput else None,
            "measured_in": p.measured.notes[0] if p.measured else "",
            "shares": dict(p.shares),
            "evidence": p.basis,
            "measure_command": measure_command(p.question, named) if not _without_bench(p) else "",
        }
        for p in found
    ]}  # fmt: skip


def _without_bench(p: Record) -> bool:
    """True for a model behind an engine and for a module in memory, which `gpuwise bench` does not run."""
    return p.question.workload.startswith(("served:", "module:"))


# Columns of whether a model fits that are numbers, also where no row has one.
_FIT_NUMBERS = frozenset({"context", "batch", "needs", "of", "tokens/s (80 %)", "first token"})
# What runs weights in a format; else an engine with fused kernels.
_ENGINES = {
    **dict.fromkeys(GGUF, "llama.cpp (GGUF)"),
    Precision.NF4: "transformers with bitsandbytes (nf4)",
}
# What the catalog notes of the memory of boards with several GPUs, of which it has the figures of one.
ONE_OF_A_BOARD = "of one GPU of the board"
_TASKS = {"infer": "inference", "full": "full fine-tuning", "lora": "LoRA", "qlora": "QLoRA"}


def fit_table(rows: Sequence[Fit], asked: str = "", *, every: bool = True) -> Table:
    """One row a plan and GPU; what does not fit says on how many GPUs it would. `asked` is the name that the
    model was asked by, where another release has its shape. Not `every`: of each GPU the fastest of 16, of 8
    and of 4 bits that fits, and the longest where that does not; else the one on the fewest GPUs."""
    model = rows[0].plan.model
    experts = f", {significant(model.active / 1e9)} billion a token" if model.experts else ""
    own = model.name in asked.casefold() or not asked or llms.is_file(asked) or llms.note(asked)
    shape = model.name if own else f"{asked}, in shape {model.name}"
    notes = [
        "fits: within 95 % of the memory, which fragments and rounding leave usable; speeds come from the "
        "data sheet and from public rows of other cards, 80 % interval",
    ]
    best = rows if every else [*_best(rows)]
    shown = [row for row in rows if row in best]
    weights = [row.plan.weights for row in shown if row.tokens_per_s and row.plan.task == "infer"]
    usual = "an engine with fused kernels"
    if llms.known(model.name):
        usual += f" (as vLLM was timed, with its queue: gpuwise predict served:{model.name})"
    if engines := dict.fromkeys(_ENGINES.get(each, usual) for each in weights):
        notes.append(f"speeds are those of {', '.join(engines)}")
        if any(row.plan.batch > 1 for row in shown):
            notes.append("tokens/s are of answers: prompts of new requests take their time between them")
    if any(row.fits and row.plan.chunked for row in rows):
        notes.append(
            "in chunks: fits where the loss is computed for some tokens at a time, as by Unsloth, "
            "torchtune and Liger; not in plain transformers"
        )
    if any(row.plan.task == "full" and row.plan.optimiser == "adamw" for row in rows):
        notes.append(
            "full fine-tuning keeps weights, gradients and moments in 16 bits, 8 bytes a parameter, "
            "as recipes for one GPU do; mixed precision takes 16: --optimiser adamw32"
        )
    split = dict.fromkeys(
        (row.gpu_id, row.plan.gpus) for row in shown if row.plan.gpus > 1 and not row.plan.dealt
    )
    for gpu, count in split:
        if catalog.get(gpu).text("form") == "pcie":  # a bridge is bought apart, and decides
            with suppress(NoDataError):
                notes.append(f"{count} x {gpu}: joined by {bus(gpu, count)[1]}")
    if odd := [row for row in shown if row.replaced]:
        instead = " or ".join(sorted({row.product for row in odd}))
        notes.append(f"*: the GPU has no units for this format: its products are in {instead}")
    for gpu in dict.fromkeys(row.gpu_id for row in shown):
        if (several := dies(gpu)) > 1:
            notes.append(f"{gpu}: one of its {several} dies; software shows each as a GPU of its own")
        elif any(fact.note.endswith(ONE_OF_A_BOARD) for fact in catalog.get(gpu).values("memory_bytes")):
            notes.append(f"{gpu}: one of several GPUs of its board")
    for gpu in dict.fromkeys(row.gpu_id for row in rows if not row.plan.memory_bytes):
        sizes = sorted({float(fact.value) for fact in catalog.get(gpu).values("memory_bytes")})
        if sizes[1:] and catalog.get(gpu).memory_varies:
            sold = ", ".join(f"{size / 2**30:.0f}" for size in sizes)
            notes.append(f"{gpu} is sold with {sold} GB: --memory")
    notes += dict.fromkeys(f"{row.gpu_id}: by public speeds: {row.source}" for row in shown if row.source)
    largest = max(shown, key=lambda row: (row.fits, row.needed_bytes))
    parts = ", ".join(f"{name} {gibibytes(size)}" for name, size in largest.parts if size)
    if parts:
        notes.append(f"largest, {_plan(largest)}: {parts}")
    if left := len(rows) - len(shown):
        notes.append(f"{left} rows of other formats are left out: --all")
    return Table.of(
        [_fit_row(row) for row in shown],
        title=f"{shape}: {significant(model.parameters / 1e9)} billion parameters{experts}",
        numeric=_FIT_NUMBERS,
        notes=tuple(notes),
    )


def _best(rows: Sequence[Fit]) -> Iterator[Fit]:
    """Of each number of a GPU and use the rows that a reader needs; formats come the longest first."""
    plans = ((row, row.plan) for row in rows)
    groups = grouped(((row.gpu_id, p.gpus, p.task, p.context, p.batch, p.optimiser), row) for row, p in plans)
    for group in groups.values():
        fit = [row for row in group if row.fits]
        fit.sort(key=lambda row: (bool(row.source), row.tokens_per_s.value if row.tokens_per_s else 0.0))
        if fit:  # Of each width of a weight, in steps of 4 bits, its publisher's, or the surest and fastest
            yield from {row.plan.weights.weight_bytes // 0.5: row for row in (*fit, group[0])}.values()
        else:  # The longest on the fewest cards, and what the shortest lacks on one
            yield min(group, key=lambda row: row.enough or inf)
            yield min(group, key=lambda row: row.needed_bytes or inf)


def _fit_row(answer: Fit) -> dict[str, str]:
    plan = answer.plan
    fits = "no" if not answer.fits else "in chunks" if plan.chunked else "yes"
    if answer.enough:
        fits = f"on {answer.enough}"
    speed = answer.tokens_per_s
    return {
        "GPU": _numbered(answer.gpu_id, plan.gpus),
        "for": _TASKS[plan.task],
        "weights": f"{plan.weights}{'*' * answer.replaced}",
        "context": whole(plan.context),
        "batch": whole(plan.batch),
        "optimiser": plan.optimiser if plan.task != "infer" else "",
        "needs": gibibytes(answer.needed_bytes) if answer.parts else "",
        "of": gibibytes(answer.memory_bytes) if answer.memory_bytes else "",
        "fits": fits,
        "tokens/s (80 %)": span(speed, lambda v: Amount(significant(v), v, "token/s")) if speed else "",
        "first token": seconds(answer.first_token_s) if answer.first_token_s else "",
        "why no speed": answer.refusal,
    }


def _plan(answer: Fit) -> str:
    """`q4_k_m, context 8,192, batch 1`."""
    plan = answer.plan
    return f"{_TASKS[plan.task]} in {plan.weights}, context {plan.context:,}, batch {plan.batch}"


def fit_chart(rows: Sequence[Fit]) -> Rows | None:
    """Tokens a second of whatever fits, a block a plan and a bar a GPU; None where nothing does."""
    from gpuwise.show.charts import Mark, Rows

    marks = [
        Mark(
            label=_numbered(row.gpu_id, row.plan.gpus), value=speed.value, low=speed.low, high=speed.high,
            group=_plan(row), colour=str(row.plan.weights), shown=f"{significant(speed.value)} tokens/s",
        )
        for row in rows
        if (speed := row.tokens_per_s) is not None
    ]  # fmt: skip
    return Rows(marks=tuple(marks), title="weights") if marks else None


def fit_document(rows: Sequence[Fit]) -> dict[str, Any]:
    """The same as plain data in SI units; None is unknown."""
    model = rows[0].plan.model
    return {
        "model": model.name,
        "parameters": model.parameters,
        "active_parameters": model.active,
        "rows": [
            {
                "gpu_id": row.gpu_id,
                "count": row.plan.gpus,
                **picked(row.plan, "task context batch checkpoint optimiser rank"),
                "weights": str(row.plan.weights),
                "cache": str(row.plan.cache),
                "widened_to_16_bits": row.replaced and row.plan.weights != Precision.BF16,
                "chunked_loss": row.plan.chunked,
                **picked(row, "memory_bytes needed_bytes fits tokens_per_s first_token_s refusal"),
                "parts_bytes": dict(row.parts),
                "enough_gpus": row.enough,
            }
            for row in rows
        ],
    }
