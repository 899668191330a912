"""Does a language model fit, and how fast: formats, contexts and batches on any GPU, or on the one here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog, llms
from gpuwise.jobs.answer import Answer
from gpuwise.model.precision import CACHES, WEIGHTS, Precision
from gpuwise.predict.fit import OPTIMISERS, TASKS, Fit, Optimiser, Plan, Task, fit

# What people own or rent; asked for where no GPU is here and none is named.
USUAL = (
    "rtx-3060-12gb", "rtx-4060-ti-16gb", "rtx-3090", "rtx-4090", "rtx-5090", "l40s", "a100-sxm4-80gb",
    "h100-sxm", "h200-sxm", "b200", "mi300x",
)  # fmt: skip
FORMATS: dict[Task, tuple[Precision, ...]] = {
    "infer": (Precision.BF16, Precision.FP8, Precision.Q8_0, Precision.INT4, Precision.Q4_K_M),
    "full": (Precision.BF16,),
    "lora": (Precision.BF16,),
    "qlora": (Precision.NF4,),
}
# Of one machine.
COUNTS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """A model and the ways to run it; every combination is tried on every GPU."""

    model: str  # A name, hf:./config.json or a GGUF file.
    gpus: tuple[str, ...] = ()  # Ids or names; empty = those of this machine, else some usual ones.
    tasks: tuple[Task, ...] = ("infer",)
    weights: tuple[Precision | str, ...] = ()  # Empty = the usual ones of the task.
    cache: Precision | str = Precision.BF16
    contexts: tuple[int, ...] = (8192,)
    batches: tuple[int, ...] = (1,)
    count: int = 1  # GPUs of one machine that share the work.
    checkpoint: bool = True
    optimiser: Optimiser = "adamw"
    rank: int = 16


def fit_model(request: FitRequest) -> Answer[tuple[Fit, ...]]:
    """Memory by part, whether it fits, tokens a second with an 80 % interval and the time to the first one.

    The exit status is 5 where nothing fits. Raises InputError for what is unknown or cannot be trained.
    """
    from gpuwise.show import fits as show

    model = llms.find(request.model)
    cache = Precision(request.cache)
    if cache not in CACHES:
        raise InputError(f"no cache is kept in {cache}", hint=f"choose from {', '.join(CACHES)}")
    if unknown := [task for task in request.tasks if task not in TASKS]:
        raise InputError(f"unknown task {unknown[0]!r}", hint=f"choose from {', '.join(TASKS)}")
    if request.optimiser not in OPTIMISERS:
        raise InputError(f"unknown optimiser {request.optimiser!r}", hint=" or ".join(OPTIMISERS))
    if model.context and (longest := max(request.contexts)) > model.context:
        raise InputError(f"{model.name} was made for {model.context:,} tokens, not {longest:,}")
    gpus = tuple(dict.fromkeys(catalog.find(name).id for name in request.gpus)) or here() or USUAL
    found = []
    for task in request.tasks:
        formats = tuple(map(Precision, request.weights)) or FORMATS[task]
        if unfit := [each for each in formats if each not in WEIGHTS]:
            raise InputError(f"no weights are kept in {unfit[0]}", hint=f"choose from {', '.join(WEIGHTS)}")
        for gpu, weights, context, batch in product(gpus, formats, request.contexts, request.batches):
            plan = Plan(
                model=model, task=task, weights=weights, cache=cache, context=context, batch=batch,
                gpus=request.count, checkpoint=request.checkpoint and task != "infer",
                optimiser=request.optimiser, rank=request.rank,
            )  # fmt: skip
            found.append(_fitted(plan, gpu))
    rows = tuple(found)
    return Answer(
        found=rows, exit_status=0 if any(row.fits for row in rows) else NoDataError.exit_code,
        to_table=lambda: show.table(rows), to_data=lambda: show.document(rows),
        to_chart=lambda: show.chart(rows),
    )  # fmt: skip


def _fitted(plan: Plan, gpu: str) -> Fit:
    """The plan on a GPU and, where it does not fit, on how many it would."""
    answer = fit(plan, gpu)
    if answer.fits or not answer.parts:
        return answer
    more = [count for count in COUNTS if count > plan.gpus]
    return replace(answer, enough=next((n for n in more if fit(replace(plan, gpus=n), gpu).fits), None))


def here() -> tuple[str, ...]:
    """Catalog entries of the GPUs of this machine."""
    from gpuwise.measure import telemetry

    found = [catalog.resolve_device(info.name, info.memory_bytes) for info in telemetry.machine().devices]
    return tuple(dict.fromkeys(spec.id for spec in found if spec is not None))
