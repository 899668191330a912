"""Which models fit where, as a table, a chart and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpuwise.model.units import Amount, gibibytes, seconds, si, significant, whole
from gpuwise.predict.fit import Fit
from gpuwise.show.charts import bars
from gpuwise.show.table import Table
from gpuwise.show.theme import Chart, Mark

NUMERIC = frozenset({"context", "batch", "needs", "of", "tokens/s", "80 % interval", "first token"})
_TASKS = {"infer": "inference", "full": "full fine-tuning", "lora": "LoRA", "qlora": "QLoRA"}


def table(rows: Sequence[Fit]) -> Table:
    """One row a plan and GPU; what does not fit says on how many GPUs it would."""
    plan = rows[0].plan
    model = plan.model
    experts = f", {significant(model.active / 1e9)} B a token" if model.experts else ""
    notes = [
        "fits: within 95 % of the memory, which fragments and rounding leave usable; speeds rest on the data "
        "sheet and on public rows of other cards, 80 % interval",
    ]
    largest = max(rows, key=lambda row: row.needed_bytes)
    parts = ", ".join(f"{name} {gibibytes(size)}" for name, size in largest.parts if size)
    if parts:
        notes.append(f"largest, {label(largest)}: {parts}")
    return Table.of(
        [_row(row) for row in rows],
        title=f"{model.name}: {si(model.parameters, 'parameters')}{experts}",
        numeric=NUMERIC, notes=tuple(notes),
    ).without_empty_columns()  # fmt: skip


def _row(answer: Fit) -> dict[str, str]:
    plan = answer.plan
    fits = "yes" if answer.fits else "no"
    if answer.enough:
        fits = f"on {answer.enough}"
    speed, span = answer.tokens_per_s, ""
    if speed:
        ends = f"{significant(speed.low)} to {significant(speed.high)}"
        span = Amount(ends, speed.value, "token/s", speed.low, speed.high)
    return {
        "GPU": f"{plan.gpus} x {answer.gpu_id}" if plan.gpus > 1 else answer.gpu_id,
        "for": _TASKS[plan.task],
        "weights": str(plan.weights),
        "context": whole(plan.context),
        "batch": whole(plan.batch),
        "needs": gibibytes(answer.needed_bytes) if answer.parts else "",
        "of": gibibytes(answer.memory_bytes) if answer.memory_bytes else "",
        "fits": fits,
        "tokens/s": Amount(significant(speed.value), speed.value, "token/s") if speed else "",
        "80 % interval": span,
        "first token": seconds(answer.first_token_s) if answer.first_token_s else "",
        "why no speed": answer.refusal,
    }


def label(answer: Fit) -> str:
    """`q4_k_m, context 8,192, batch 1`."""
    plan = answer.plan
    return f"{_TASKS[plan.task]} in {plan.weights}, context {plan.context:,}, batch {plan.batch}"


def chart(rows: Sequence[Fit]) -> Chart | None:
    """Tokens a second of whatever fits, a block a plan and a bar a GPU; None where nothing does."""
    marks = [
        Mark(
            label=row.gpu_id, value=speed.value, low=speed.low, high=speed.high, group=label(row),
            colour=str(row.plan.weights), shown=f"{significant(speed.value)} tokens/s",
        )
        for row in rows
        if (speed := row.tokens_per_s) is not None
    ]  # fmt: skip
    if not marks:
        return None
    return bars(marks, description=f"Speed of {rows[0].plan.model.name}", colour_title="weights")


def document(rows: Sequence[Fit]) -> dict[str, Any]:
    """The same as plain data in SI units; None is unknown."""
    model = rows[0].plan.model
    return {
        "model": model.name,
        "parameters": model.parameters,
        "active_parameters": model.active,
        "rows": [_plain(row) for row in rows],
    }


def _plain(answer: Fit) -> dict[str, Any]:
    plan = answer.plan
    return {
        "gpu_id": answer.gpu_id,
        "count": plan.gpus,
        "task": plan.task,
        "weights": str(plan.weights),
        "cache": str(plan.cache),
        "context": plan.context,
        "batch": plan.batch,
        "checkpoint": plan.checkpoint,
        "optimiser": plan.optimiser,
        "rank": plan.rank,
        "memory_bytes": answer.memory_bytes,
        "needed_bytes": answer.needed_bytes,
        "parts_bytes": dict(answer.parts),
        "fits": answer.fits,
        "enough_gpus": answer.enough,
        "tokens_per_s": asdict(answer.tokens_per_s) if answer.tokens_per_s else None,
        "first_token_s": answer.first_token_s,
        "refusal": answer.refusal,
    }
