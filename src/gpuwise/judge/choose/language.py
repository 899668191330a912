"""Language models by name as work to choose for: served, or trained by adapters, in a weight format.

`predict.fit` says memory and speed of a model on a GPU; here its batches become one record a GPU and number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpuwise.errors import InputError
from gpuwise.facts import catalog, llms
from gpuwise.model.choice import Need
from gpuwise.model.issue import Issue
from gpuwise.model.precision import WEIGHTS, Precision
from gpuwise.model.record import Record, refused
from gpuwise.model.result import Interval
from gpuwise.model.run import RunConfig
from gpuwise.model.units import Latency, Work, gibibytes
from gpuwise.predict.fit import TASKS, Fit, Plan, fit

SERVED = "served:"
# What people train adapters with; of a served model a prompt and an answer of usual length together.
CONTEXTS = {"infer": 4096, "full": 2048, "lora": 2048, "qlora": 2048}
FORMATS = {"infer": Precision.BF16, "full": Precision.BF16, "lora": Precision.BF16, "qlora": Precision.NF4}
# Formats that a served model might as well have.
OTHERS = (Precision.BF16, Precision.FP8, Precision.INT4, Precision.Q4_K_M)
BATCHES = tuple(2**k for k in range(9))
# A token later than this is slower than people read, where nothing else was asked for.
USUAL_TPOT_S = 0.050
# Sizes that `workloads` models have by other names.
_SIZES = {"llm-8b": "llama-3.1-8b", "llm-1b": "llama-3.2-1b", "llm-8b-lora": "llama-3.1-8b"}


def is_model(name: str, mode: str | None) -> bool:
    """Whether a name means a language model of `facts.llms` rather than a built-in workload."""
    if name.startswith(SERVED) or (mode in TASKS[1:] and name in _SIZES):
        return True
    try:
        llms.find(name)
    except InputError:
        return False
    return True


def need_of(
    name: str, mode: str | None, precision: str | None, work: Work | None, latency: Latency | None,
    gpus: tuple[int, int] | None, form: str | None,
) -> Need:  # fmt: skip
    """The need of a model to be served or trained. Raises InputError for an unknown one, or another item."""
    name = _SIZES.get(name, name)
    model = llms.find(name.removeprefix(SERVED))
    words = {None: "infer", "train": "full", "finetune": "lora"}
    task = next((each for each in TASKS if each == words.get(mode, mode)), None)
    if task is None:
        raise InputError(f"{model.name} has no mode {mode}", hint=f"one of {', '.join(TASKS)}")
    if precision is not None and precision not in tuple(WEIGHTS):
        raise InputError(f"no weights are kept in {precision}", hint=f"one of {', '.join(WEIGHTS)}")
    if work is not None and work.item != "token":
        raise InputError(f"{model.name} counts tokens, the work {work.item}s", hint="state it in tokens")
    limit = latency or (Latency("TPOT", USUAL_TPOT_S) if task == "infer" else None)
    notes = ["each token within 50 ms"] if task == "infer" and latency is None else []
    return Need(
        workloads=((model.name, 1.0),), mode="infer" if task == "infer" else "train", task=task,
        precision=Precision(precision) if precision else FORMATS[task], gpus=gpus or (1, 8), form=form,
        items=work.items if work else None, period_s=work.period_s if work else None,
        latency_s=limit.seconds if limit else None, latency_kind=limit.kind if limit else "TPOT",
        notes=(*notes, f"contexts of {CONTEXTS[task]:,} tokens"),
    )  # fmt: skip


def gather(need: Need, wanted: Mapping[str, Sequence[int]]) -> tuple[Record, ...]:
    """The speed of each GPU in each of its numbers, at its best batch that is quick enough."""
    return tuple(_record(need, gpu, count) for gpu, counts in wanted.items() for count in counts)


def alternatives(need: Need) -> tuple[Precision, ...]:
    """Other formats for the same model."""
    return tuple(p for p in OTHERS if p != need.precision) if need.task == "infer" else ()


def _record(need: Need, gpu: str, count: int) -> Record:
    spec, tried = catalog.get(gpu), list(_tried(need, gpu, count))
    config = RunConfig(
        workload=need.workloads[0][0], mode=need.mode, precision=need.precision, gpus=count, compile=False
    )
    blank = Record(question=config, gpu_id=gpu, item="token", origin="predicted", basis="spec-only")
    first = tried[0]
    if not first.fits:
        room, needed = gibibytes(first.memory_bytes), gibibytes(first.needed_bytes)
        why = first.refusal or f"does not fit: {needed} on each of {count}, and {gpu} has {room}"
        return replace(blank, issues=refused(why))
    best = max(tried, key=lambda f: (_quick(need, f), f.tokens_per_s.value if f.tokens_per_s else 0.0))
    needed_bytes, watts = best.needed_bytes, (spec.power_w or 0.0) * count
    detail = f"order of magnitude only: no model measured on a card of {spec.vendor} is known"
    unproven = (Issue(code="order-of-magnitude", severity="warning", detail=detail),)
    return replace(
        blank, throughput=best.tokens_per_s, seconds=_latency(need, best), fits_probability=1.0,
        issues=() if spec.vendor == "NVIDIA" else unproven, notes=(f"batch {best.plan.batch}",),
        memory_bytes=Interval(
            value=needed_bytes, low=needed_bytes, high=needed_bytes, level=None, method="sum of parts"
        ),
        # The board's limit: what a model draws is not predicted, and decoding draws less.
        watts=Interval(value=watts, low=watts, high=watts, level=None, method="stated") if watts else None,
    )  # fmt: skip


def _tried(need: Need, gpu: str, count: int) -> Iterator[Fit]:
    """The model at rising batches, until one does not fit."""
    model = llms.find(need.workloads[0][0])
    for batch in BATCHES if need.batch is None else (need.batch,):
        found = fit(
            Plan(
                model=model, task=need.task or "infer", weights=need.precision, batch=batch, gpus=count,
                context=CONTEXTS[need.task or "infer"], checkpoint=need.mode == "train",
            ),
            gpu,
        )  # fmt: skip
        if batch == 1 or found.fits or need.batch:
            yield found
        if not found.fits:
            return


def _latency(need: Need, found: Fit) -> float | None:
    """Seconds to the next token of every sequence, to the first one, or of a training step."""
    if need.latency_kind == "TTFT" and need.mode == "infer":
        return found.first_token_s
    speed = found.tokens_per_s
    return found.plan.batch / speed.value if speed and need.mode == "infer" else None


def _quick(need: Need, found: Fit) -> bool:
    seconds = _latency(need, found)
    return need.latency_s is None or (seconds is not None and seconds <= need.latency_s)
