"""Speed, memory and watts of a workload on GPUs that need not be here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.jobs.answer import Answer
from gpuwise.model.issue import Issue
from gpuwise.model.precision import Precision
from gpuwise.model.recipe import Recipe
from gpuwise.model.record import Record
from gpuwise.model.result import Result
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Mode
from gpuwise.workloads import registry

USUAL = (Precision.BF16, Precision.FP16, Precision.TF32, Precision.FP32)
"""Precisions in the order in which they are taken where none is asked for."""
SERVED, MODULE = "served:", "module:"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictRequest:
    """One workload on GPUs of the catalog."""

    workload: str | Any
    """A built-in workload, a file (`./my_model.py`), `timm:NAME`, `torchvision:NAME`, `hf:CONFIG`,
    `served:NAME` for a language model behind an engine; or a torch module itself, with `inputs`."""
    inputs: tuple[Any, ...] | Mapping[str, Any] | None = None
    """Example arguments of a module's forward pass; only their shapes and formats count. The first size of
    the first one is the batch."""
    gpus: tuple[str, ...] = ()  # Ids or names; empty = the whole catalog
    mode: Mode | None = None  # None = the workload's first
    precision: Precision | str | None = None  # None = bf16 where the workload has it
    batch: int | None = None  # Items a step on each GPU; None = the best that fits
    compile: bool = True
    recipe: Recipe = "tuned"
    count: int = 1  # GPUs of one machine that work together
    prompt: int = 1024  # Tokens of a prompt, of a served model
    answer: int = 1024  # Tokens of an answer, of a served model
    calibration: Result | None = None  # A result of one of these GPUs, whose steps sharpen the rest
    source: Result | None = None  # A result of another GPU that holds the same question


def predict(request: PredictRequest) -> Answer[tuple[Record, ...]]:
    """Throughput with an 80 % interval, memory and whether it fits, watts, and what bounds the step.

    A GPU without a prediction has its reason in `Record.refusal`; where none has one, the exit status is 5.
    Raises InputError for what is unknown or does not fit together, MachineError where a trace needs torch.
    """
    from gpuwise.show import predictions as show

    gpus = request.gpus or tuple(spec.id for spec in catalog.all_gpus())
    if not isinstance(request.workload, str):
        found = _module(request, request.workload, gpus)
    elif request.workload.startswith(SERVED):
        found = _served(request, request.workload, gpus)
    else:
        found = _traced(request, request.workload, gpus)
    ordered = show.ordered(found, "speed")
    return Answer(
        found=ordered, records=ordered,
        exit_status=NoDataError.exit_code if all(record.refusal for record in found) else 0,
        to_table=lambda: show.table(ordered), to_data=lambda: show.document(ordered),
    )  # fmt: skip


def _module(request: PredictRequest, module: Any, gpus: Sequence[str]) -> tuple[Record, ...]:
    from gpuwise.predict.forecast import forecast_trace
    from gpuwise.predict.trace import trace_module  # torch, which the module has loaded anyway

    if request.inputs is None:
        raise InputError("a module is predicted with example inputs", hint="give inputs=(tensor, ...)")
    if request.calibration or request.source:
        raise InputError("a module has no measured steps", hint="leave out calibration and source")
    mode = request.mode or "train"
    if mode not in ("train", "infer"):
        raise InputError(f"a module has no mode {mode}", hint="train or infer")
    config = RunConfig(
        workload=f"{MODULE}{type(module).__name__}", mode=mode, recipe="stock",
        precision=Precision(request.precision or Precision.BF16), compile=request.compile,
    )  # fmt: skip
    trace = trace_module(
        module, request.inputs, name=config.workload, mode=mode, precision=config.precision,
        compiled=request.compile,
    )  # fmt: skip
    return forecast_trace(trace, config, gpus, item="item", count=request.count)


def _traced(request: PredictRequest, workload: str, gpus: Sequence[str]) -> tuple[Record, ...]:
    from gpuwise.predict.forecast import forecast  # numpy: only when it is asked

    try:
        found = registry.get(workload)
    except InputError as error:
        from gpuwise.predict.serve import models

        name = workload.casefold()
        if name not in models():
            raise
        raise InputError(str(error), hint=f"as an engine serves it: {SERVED}{name}", code="served") from None
    spec = found.spec
    usual = next((p for p in USUAL if p in spec.precisions), spec.precisions[0])
    config = RunConfig(
        workload=spec.id, content=found.content, mode=request.mode or spec.modes[0],
        precision=Precision(usual if request.precision is None else request.precision),
        compile=request.compile and spec.compiles, recipe=request.recipe,
    )  # fmt: skip

    def asked(config: RunConfig, gpus: Sequence[str]) -> tuple[Record, ...]:
        return forecast(
            config, gpus, count=request.count, batch=request.batch, calibration=request.calibration,
            source=request.source,
        )  # fmt: skip

    records = {record.gpu_id: record for record in asked(config, gpus)}
    if request.precision is not None:
        return tuple(records.values())
    # A card without the usual format runs the work in the next one that it has, as `bench` does.
    older: dict[Precision, list[str]] = {}
    for gpu, record in records.items():
        if record.refusal and (precision := runs_in(record)):
            older.setdefault(precision, []).append(gpu)
    for precision, cards in older.items():
        note = Issue(
            code="other-precision", severity="info", fix=f"--precision {precision}",
            detail=f"in {precision}: no stated {config.precision} rate",
        )  # fmt: skip
        for record in asked(replace(config, precision=precision), cards):
            records[record.gpu_id] = replace(record, issues=(*record.issues, note))
    return tuple(records.values())


def _served(request: PredictRequest, workload: str, gpus: Sequence[str]) -> tuple[Record, ...]:
    from gpuwise.predict.serve import Lengths, forecast_served

    if request.calibration or request.source:
        raise InputError("served models take no result", hint="leave out the result")
    config = RunConfig(
        workload=workload, mode="infer", precision=Precision(request.precision or Precision.BF16),
        batch=request.batch,
    )  # fmt: skip
    lengths = Lengths(prompt=request.prompt, answer=request.answer)
    return forecast_served(config, gpus, lengths=lengths, count=request.count)


def sorted_by(answer: Answer[tuple[Record, ...]], order: str) -> Answer[tuple[Record, ...]]:
    """The answer in another order: speed, efficiency, power, memory or name."""
    from gpuwise.show import predictions as show

    ordered = show.ordered(answer.found, order)
    return replace(
        answer, found=ordered, records=ordered,
        to_table=lambda: show.table(ordered), to_data=lambda: show.document(ordered),
    )  # fmt: skip


def runs_in(record: Record) -> Precision | None:
    """The precision in which a GPU could run the work, where it lacks the one asked for."""
    question, gpu = record.question, catalog.get(record.gpu_id)
    if question.workload.startswith(SERVED) or gpu.peak(question.precision or "") is not None:
        return None
    own = registry.get(question.workload).spec.precisions
    return next((p for p in USUAL if p in own and gpu.peak(p) is not None), None)
