"""Speed, memory and watts of a workload on GPUs that need not be here; and which language models fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, product
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from gpuwise import store
from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.model.precision import CACHES, NETWORK_PRECISIONS, WEIGHTS, Precision
from gpuwise.model.question import MODES, Asked, Mode, Recipe, RunConfig, Switches, WorkloadSpec
from gpuwise.model.result import Issue, Record, Result, grouped
from gpuwise.model.units import significant
from gpuwise.predictor.card import card
from gpuwise.show.table import Answer, usual_variant
from gpuwise.workloads import registry

if TYPE_CHECKING:
    from gpuwise.model.judgement import Task
    from gpuwise.model.llm import LanguageModel
    from gpuwise.predictor.fit import Fit, Optimiser
    from gpuwise.workloads.llm import Method

USUAL = (Precision.BF16, Precision.FP16, Precision.TF32, Precision.FP32)
"""Precisions in the order in which they are taken where none is asked for."""
SERVED, MODULE = "served:", "module:"
# Tokens of a prompt and of an answer of a served model; fewer where the model holds fewer.
USUAL_LENGTHS = 1024, 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictRequest(Asked):
    """One workload on GPUs of the catalog."""

    workload: str | Any
    """A built-in workload, a file (`./my_model.py`), `timm:NAME`, `torchvision:NAME`, `hf:CONFIG`,
    `served:NAME` for a language model behind an engine; or a torch module itself, with `inputs`."""
    inputs: tuple[Any, ...] | Mapping[str, Any] | None = None
    """Example arguments of a module's forward pass; only their shapes and formats count. The first size of
    the first one is the batch, the second where the module is not `batch_first`."""
    gpus: tuple[str, ...] = ()  # Ids or names, `4x rtx-4090` in that number; empty = the whole catalog
    # None = the workload's first; a method in place of `train` for a language model by its name
    mode: Mode | Method | None = None
    # None = bf16 where the workload has it, of a served model the format in which it is published
    precision: Precision | str | None = None
    batch: tuple[int | None, ...] = (None,)  # Items a step on each GPU; None = the best that fits
    compile: bool = True
    recipe: Recipe = "tuned"
    # Of the recipe, as of `bench`: `graph` alone is predicted
    switches: Switches = field(default_factory=Switches)
    counts: tuple[int, ...] = (1,)  # GPUs of one machine that work together, each number by itself
    prompt: int = USUAL_LENGTHS[0]  # Tokens of a prompt, of a served model
    answer: int = USUAL_LENGTHS[1]  # Tokens of an answer, of a served model
    calibration: Result | None = None  # A result of one of these GPUs, whose steps sharpen the rest
    source: Result | None = None  # A result of another GPU that holds the same question
    sort: str = "speed"  # Or efficiency, power, memory, name: the best first


def predict(
    request: PredictRequest | str | Any, inputs: Any = None, **options: Any
) -> Answer[tuple[Record, ...]]:
    """Throughput with an 80 % interval, memory and whether it fits, watts, and what bounds the step.

    A workload or a module in place of a request is its `workload`, with `options` as its other fields:
    `predict(module, batch, gpus="l40s")`; `inputs` are one example argument of the module, or all in a tuple.
    A GPU without a prediction has its reason in `Record.refusal`; where none has one, the exit status is 5.
    Raises InputError for what is unknown or does not fit together, MachineError where a trace needs torch.
    """
    from gpuwise.show import predictions as show

    if not isinstance(request, PredictRequest):
        several = inputs is None or isinstance(inputs, tuple | Mapping)
        request = PredictRequest(workload=request, inputs=inputs if several else (inputs,), **options)
    elif options:
        request = replace(request, **options)
    if request.sort not in show.SORTS:
        raise InputError(f"no order {request.sort!r}", hint=f"choose from {', '.join(show.SORTS)}")
    switches = request.switches
    if switches != Switches(graph=switches.graph):
        raise InputError(f"no switch but graph=on is predicted, so not {switches}", hint="leave it out")
    if switches.changed and not (request.compile and request.recipe != "script"):
        raise InputError("only compiled steps are replayed from a graph", hint="leave out graph=on")
    lengths = {"prompt": (request.prompt,), "answer": (request.answer,)}
    batches = request.batch if isinstance(request.workload, str) else ()  # a module has that of its inputs
    _check_from_one(batch=batches, counts=request.counts, **lengths)
    gpus, asked, note = request.gpus or tuple(spec.id for spec in catalog.all_gpus()), request.workload, ""
    like = None
    is_file = isinstance(asked, str) and asked.endswith(".py")  # Which is its own network
    if isinstance(asked, str) and not (is_file and request.mode in (*MODES, None)):
        asked, way, note = _step_of(asked, request.mode)
        request = replace(request, mode=way)
    if isinstance(asked, str) and not is_file:
        from gpuwise.judge.choose.need import presets, stand_in

        if preset := presets().get(asked):  # Of several workloads the first
            first = preset.workloads[0][0]
            note, asked = f"{asked} is taken as {first}, {preset.title}", first
            mode = preset.mode if preset.mode in ("infer", "compute") else "train"
            request = replace(request, mode=request.mode or mode)
        if like := stand_in(asked.casefold(), request.mode):
            named, asked, note = asked, like.workload, like.words
            request = replace(request, mode=like.mode)
    numbered, taken = _numbered(gpus, request.counts)
    sets = grouped((count, gpu) for gpu, count in numbered).items()
    if isinstance(asked, str):
        of = _served if asked.startswith(SERVED) else _traced
        found = (of(request, asked, ids, count, batch) for count, ids in sets for batch in request.batch)
    else:  # Its batch is that of its example inputs
        found = (_module(request, asked, ids, count) for count, ids in sets)
    ordered = show.ordered(tuple(chain.from_iterable(found)), request.sort)
    # Records name a file without its folder, where `bench` would not find it.
    file = asked if isinstance(asked, str) and "/" in asked else ""
    if like and like.runs and (fastest := [record for record in ordered if record.throughput]):
        own = (
            f"{significant(r.throughput.value / like.runs)} on {r.gpu_id}"
            for r in fastest[:3]
            if r.throughput
        )
        note += f"; {like.item}s/s of {named}: {', '.join(own)}"
        note += f"; it takes {significant(like.gb)} GB of memory, not the peak below" if like.gb else ""
    if isinstance(asked, str) and any(record.question.workload.startswith(SERVED) for record in ordered):
        from gpuwise.facts import llms

        note = llms.note(asked.removeprefix(SERVED))
    return Answer(
        value=ordered,
        records=ordered,
        issues=(*taken, *usual_variant(note)),
        exit_status=NoDataError.exit_code if all(record.refusal for record in ordered) else 0,
        to_table=lambda: show.table(ordered, named=file),
        to_data=lambda: show.document(ordered, file),
    )


def _step_of(name: str, mode: Mode | Method | None) -> tuple[str, Mode | None, str]:
    """What is predicted of a language model by its name, as `bench` measures it first: its training by a
    method, the decoding of our own sizes; and what it is taken as. Anything else stays as it is.

    Raises InputError for a method of what is not a language model.
    """
    from gpuwise.workloads import llm

    method = next((each for each in llm.METHODS if each == mode), None)
    way = "train" if method else cast("Mode | None", mode)
    ours = name in llm.SHAPES and name not in registry.names()
    # Models of others answer by their engine, which predicts prompts and answers together.
    if name.startswith(SERVED) or not (method or ours):
        return name, way, ""
    step = registry.expand(name, (way or "infer",), (method,) if method else ())[0]
    return step, way, f"{name!r} is taken as {registry.get(step).spec.id}"


def _check_from_one(**numbers: Sequence[int | None]) -> None:
    """Raise InputError where a field has a number below 1."""
    for name, values in numbers.items():
        if wrong := [each for each in values if each is not None and each < 1]:
            raise InputError(f"{name} takes numbers from 1 on, not {wrong[0]}", hint=f"such as {name}=16")


def _numbered(gpus: Sequence[str], counts: Sequence[int]) -> tuple[list[tuple[str, int]], tuple[Issue, ...]]:
    """The id of each GPU with how many of it work together: the number beside its name, else all `counts`;
    and what names of several variants are taken as."""
    meant = [(catalog.resolve(name), number) for name, number in map(catalog.counted, gpus)]
    found = ((one.spec.id, n) for one, number in meant for n in ((number,) if number else counts))
    notes = dict.fromkeys(one.note for one, _ in meant)
    return list(dict.fromkeys(found)), tuple(issue for note in notes for issue in usual_variant(note))


def _module(request: PredictRequest, module: Any, gpus: Sequence[str], count: int) -> tuple[Record, ...]:
    from gpuwise.predictor.forecast import forecast_trace
    from gpuwise.predictor.trace import trace_module  # torch, which the module has loaded anyway

    if not callable(parameters := getattr(module, "parameters", None)):
        problem = f"{type(module).__name__} is neither the name of a workload nor a torch module"
        raise InputError(problem, hint="give one of them")
    if request.inputs is None:
        raise InputError("a module is predicted with example inputs", hint="give inputs=(tensor, ...)")
    if any(batch is not None for batch in request.batch):
        problem = "a module is predicted at the batch of its example inputs"
        raise InputError(problem, hint="leave out batch, and give inputs of that many items")
    if request.calibration or request.source:
        raise InputError("a module has no measured steps", hint="leave out calibration and source")
    mode = request.mode or "train"
    if mode not in ("train", "infer"):
        raise InputError(f"a module has no mode {mode}", hint="train or infer")
    if mode == "train" and not any(True for _ in parameters()):
        raise InputError("the module has no parameters to train", hint="mode='infer'")
    precision = Precision(request.precision or Precision.BF16)
    if precision not in NETWORK_PRECISIONS:  # its products would need other layers
        problem = f"a module does not run in {precision} by itself"
        raise InputError(problem, hint=f"choose from {', '.join(NETWORK_PRECISIONS)}")
    config = RunConfig(
        workload=f"{MODULE}{type(module).__name__}",
        mode=mode,
        recipe="stock",
        precision=precision,
        compile=request.compile,
        switches=request.switches,
    )
    trace = trace_module(
        module,
        request.inputs,
        name=config.workload,
        mode=mode,
        precision=config.precision,
        compiled=request.compile,
    )
    if not trace.batch:
        raise InputError("the example inputs hold no item", hint="give inputs of one item or more")
    return forecast_trace(trace, config, gpus, item="item", count=count)


def _traced(
    request: PredictRequest, workload: str, gpus: Sequence[str], count: int, batch: int | None
) -> tuple[Record, ...]:
    from gpuwise.predictor.forecast import forecast  # numpy: only when it is asked
    from gpuwise.predictor.trace_store import check_offered, with_own

    try:
        work = registry.get(workload)
    except InputError:
        from gpuwise.facts import llms

        if not (llms.known(workload) or llms.note(workload)):
            raise
        return _served(request, SERVED + workload.casefold(), gpus, count, batch)  # by its public name
    spec = work.spec
    mode = cast("Mode", request.mode or spec.modes[0])  # a method is read before
    if spec.is_limit:  # kernels of networks say nothing of a copy or a link at its best
        problem = f"{spec.id} is a limit of the hardware, which is stated or measured and not predicted"
        raise InputError(problem, hint=f"gpuwise show GPU, or gpuwise bench {spec.id}")
    common = () if mode == "compute" else USUAL  # Scientific work is computed in its own precision
    usual = next((p for p in common if p in spec.precisions), spec.precisions[0])
    config = RunConfig(
        workload=spec.id,
        content=work.content,
        mode=mode,
        precision=Precision(usual if request.precision is None else request.precision),
        compile=request.compile and spec.compiles,
        recipe=request.recipe,
        switches=request.switches,
        batch=batch,
        gpus=count,
    )

    if mode == "compute":
        from gpuwise.judge.choose.speeds import from_sheet

        check_offered(config)
        return tuple(from_sheet(config, gpu, count) for gpu in gpus)

    def asked(config: RunConfig, gpus: Sequence[str]) -> tuple[Record, ...]:
        return forecast(
            with_own(config) if request.recipe == "tuned" else config,
            gpus,
            count=count,
            batch=batch,
            calibration=request.calibration,
            source=request.source,
        )

    records = {record.gpu_id: record for record in asked(config, gpus)}
    tight = {gpu: r for gpu, r in records.items() if r.refusal and r.fits_probability is not None}
    if tight and not (request.calibration or request.source):
        records |= _lighter(request, config, tight, count)
    if request.precision is not None:
        return tuple(records.values())
    # A card without the usual format runs the work in the next one that it has, as `bench` does.
    refused = ((runs_in(record), gpu) for gpu, record in records.items() if record.refusal)
    older = grouped((precision, gpu) for precision, gpu in refused if precision)
    for precision, cards in older.items():
        why = f"in {precision}: no stated {config.precision} rate"
        note = Issue.info("other-precision", why, f"--precision {precision}")
        for record in asked(replace(config, precision=precision), cards):
            records[record.gpu_id] = replace(record, issues=(*record.issues, note))
    return tuple(records.values())


def _lighter(
    request: PredictRequest, config: RunConfig, tight: Mapping[str, Record], count: int
) -> dict[str, Record]:
    """Training of a language model with activations computed again, on the GPUs that are too `tight` without:
    as people train where memory is short, and where `fit` plans it so. Empty for any other work."""
    from gpuwise.workloads.llm import Decoding, lighter

    if (less := lighter(config.workload)) is None:
        return {}
    from gpuwise.predictor.fit import fit as fitted
    from gpuwise.predictor.fit import plan_of

    light, found = registry.get(less).build, {}
    assert isinstance(light, Decoding)
    plans = {
        gpu: plan_of(light, config.precision, record.batch or 1, compiled=config.compile)
        for gpu, record in tight.items()
    }
    gpus = [gpu for gpu, plan in plans.items() if fitted(plan, gpu).fits]
    for again in _traced(request, less, gpus, count, config.batch) if gpus else ():
        if not again.refusal:
            why = f"activations are computed again; without that, {tight[again.gpu_id].refusal}"
            note = Issue.info("checkpointed", why, f"gpuwise bench {less}")
            found[again.gpu_id] = replace(again, issues=(*again.issues, note))
    return found


def _served(
    request: PredictRequest, workload: str, gpus: Sequence[str], count: int, batch: int | None
) -> tuple[Record, ...]:
    from gpuwise.facts import llms
    from gpuwise.predictor.serve import Lengths, forecast_served, model_of

    name = workload.removeprefix(SERVED)
    if request.calibration or request.source:
        raise InputError("served models take no result", hint="leave out the result")
    if request.switches.changed:
        raise InputError("served models have no switches: engines choose", hint="leave out the switch")
    if request.mode == "train":
        hint = f"{name}-full, {name}-lora and {name}-qlora train"
        raise InputError(f"{workload} is a server, which does not train", hint=hint, code="train", model=name)
    model = model_of(workload)
    prompt, answer = request.prompt, request.answer
    if model.context and prompt + answer > model.context:
        if (prompt, answer) != USUAL_LENGTHS:
            problem = f"{model.name} was made for {model.context:,} tokens, not {prompt + answer:,}"
            raise InputError(problem, hint="a shorter prompt, or a config.json of the stretched model")
        prompt = answer = model.context // 2
    usual = llms.stored(model, name) or Precision.BF16
    workload = f"{SERVED}{model.name}" if llms.note(name) else workload  # as the note says
    precision = Precision(request.precision or usual)
    config = RunConfig(workload=workload, mode="infer", precision=precision, batch=batch)
    return forecast_served(config, gpus, lengths=Lengths(prompt=prompt, answer=answer), count=count)


def runs_in(record: Record) -> Precision | None:
    """The precision in which a GPU could run the work, where it lacks the one asked for."""
    question = record.question
    try:
        stated = card(record.gpu_id, sheet=True).peaks
    except NoDataError:
        return None
    if question.workload.startswith(SERVED) or question.precision in stated:
        return None
    precisions = registry.get(question.workload).spec.precisions
    return next((p for p in USUAL if p in precisions and p in stated), None)


KEPT_QUESTIONS = 4096
"""Questions whose forecasts, one a GPU, are remembered; a full memory is emptied."""


class Forecasts:
    """`predict.forecast.forecast` for what is shipped as a trace, each forecast made once."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], dict[str, Record]] = {}
        self._lock = Lock()

    def __call__(
        self,
        config: RunConfig,
        gpus: Sequence[str],
        *,
        count: int = 1,
        batch: int | None = None,
        source: Result | None = None,
    ) -> tuple[Record, ...]:
        """As `forecast`. Raises NoDataError for work that has no shipped trace."""
        check_traced(config, batch)
        # Forecasts include what was measured: files are renamed into the store, which changes the folder.
        kept = store.changed(store.results_dir())
        question = (config, count, batch, source.id if source is not None else "", kept)
        records = self._found.get(question, {})
        if not records.keys() >= set(gpus):
            with self._lock:  # one at a time, and not again what another request has made meanwhile
                records = self._found.get(question, {})
                missing = [gpu for gpu in gpus if gpu not in records]
                from gpuwise.predictor.forecast import forecast  # numpy: only when it is asked

                made = forecast(config, missing, count=count, batch=batch, source=source)
                records = records | {p.gpu_id: p for p in made}
                if len(self._found) >= KEPT_QUESTIONS:
                    self._found = {}
                self._found[question] = records
        return tuple(records[gpu] for gpu in gpus)

    def known(
        self, config: RunConfig, gpus: Sequence[str], count: int = 1, batch: int | None = None
    ) -> tuple[Record, ...]:
        """The forecasts of work that is traced, none of other work."""
        try:
            return self(config, gpus, count=count, batch=batch)
        except GpuwiseError:  # a workload of another machine's file, a precision without a trace
            return ()


def check_traced(config: RunConfig, batch: int | None = None) -> None:
    """Raise NoDataError unless a trace of this built-in workload is at hand, at this batch."""
    from gpuwise.predictor import trace_store as traces

    if config.workload not in traced():
        problem = f"{config.workload!r} is not forecast here: no trace of it is shipped"
        raise NoDataError(problem, hint="predict it by the command line or from Python, which trace it")
    spec = registry.get(config.workload).spec
    at = replace(config, batch=batch or config.batch or spec.default_batch, gpus=1)
    if traces.find(at, spec.version) is None:
        raise NoDataError(
            f"{config.workload} {config.mode} {config.precision} at batch {at.batch} has no shipped trace",
            hint="predict it by the command line or from Python, which trace it",
        )


@cache
def traced() -> Mapping[str, WorkloadSpec]:
    """The built-in networks of which a trace is shipped, by name."""
    from gpuwise.predictor import trace_store as traces

    specs = {}
    for name in registry.names():
        spec = registry.get(name).spec
        first = RunConfig(
            workload=spec.id,
            mode=spec.modes[0],
            precision=spec.precisions[0],
            compile=spec.compiles,
            batch=spec.default_batch,
        )
        if spec.modes[0] in ("train", "infer") and traces.find(first, spec.version) is not None:
            specs[spec.id] = spec
    return specs


# What people own or rent; asked for where no GPU is here and none is named.
USUAL_GPUS = (
    "rtx-3060-12gb", "rtx-4060-ti-16gb", "rtx-3090", "rtx-4090", "rtx-5090", "l40s", "a100-sxm4-80gb",
    "h100-sxm", "h200-sxm", "b200", "mi300x",
)  # fmt: skip
FORMATS: dict[Task, tuple[Precision, ...]] = {
    "infer": (Precision.BF16, Precision.FP8, Precision.Q8_0, Precision.INT4, Precision.Q4_K_M),
    "full": (Precision.BF16,),
    "lora": (Precision.BF16,),
    "qlora": (Precision.NF4,),
}
# Of one machine, and of several.
COUNTS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest(Asked):
    """A model and the ways to run it; every combination is tried on every GPU."""

    model: str  # A name, hf:./config.json or a GGUF file.
    gpus: tuple[str, ...] = ()  # As in a prediction; empty = those of this machine, else some usual ones.
    tasks: tuple[Task, ...] = ("infer",)
    weights: tuple[Precision | str, ...] = ()  # Empty = the usual ones of the task.
    cache: Precision | str = Precision.BF16
    contexts: tuple[int, ...] = ()  # Empty = 8,192 tokens, in training 2,048, and no more than the model has.
    batches: tuple[int, ...] = (1,)
    counts: tuple[int, ...] = (1,)  # GPUs of one machine that share the work, each number by itself.
    checkpoint: bool = True
    optimiser: tuple[Optimiser, ...] = ("adamw",)
    rank: int = 16
    memory: float = 0.0  # GiB of each GPU, where a chip is sold with several sizes
    every: bool = False  # Also formats that the table leaves out, as slower and shorter than others that fit.


def fit(request: FitRequest | str, **options: Any) -> Answer[tuple[Fit, ...]]:
    """Memory by part, whether it fits, tokens a second with an 80 % interval and the time to the first one.

    A model in place of a request takes its other fields as `options`: `fit("llama-3.1-8b", gpus="l4")`.

    The exit status is 5 where nothing fits. Raises InputError for what is unknown or cannot be trained.
    """
    from gpuwise.facts import llms
    from gpuwise.show import predictions as show

    if not isinstance(request, FitRequest):
        request = FitRequest(model=request, **options)
    elif options:
        request = replace(request, **options)
    model = llms.find(request.model)
    longest = max(request.contexts, default=0)
    beyond = f"{model.name} was made for {model.context:,} tokens, not {longest:,}"
    held = tuple(context for context in request.contexts if not model.context or context <= model.context)
    if request.contexts and not held:
        hint = f"--context {model.context}, or a config.json with what its publisher stretches it to"
        raise InputError(beyond, hint=hint)
    left_out = (Issue.warning("left-out", f"left out: {beyond}"),) if held != request.contexts else ()
    numbers = {"contexts": request.contexts, "batches": request.batches, "counts": request.counts}
    _check_from_one(**numbers, rank=(request.rank,))
    sets, taken = _numbered(request.gpus or here() or USUAL_GPUS, request.counts)
    rows = tuple(_planned(request, model, held, sets))
    return Answer(
        value=rows,
        issues=(*taken, *usual_variant(llms.note(request.model)), *left_out),
        exit_status=0 if any(row.fits for row in rows) else NoDataError.exit_code,
        to_table=lambda: show.fit_table(rows, request.model, every=request.every or bool(request.weights)),
        to_data=lambda: show.fit_document(rows),
        to_chart=lambda: show.fit_chart(rows),
    )


def _planned(
    request: FitRequest, model: LanguageModel, held: tuple[int, ...], sets: Sequence[tuple[str, int]]
) -> Iterator[Fit]:
    """Every way to run the model on every one of these GPUs and numbers, in contexts that it can hold.

    Raises InputError for a format, task or optimiser that there is not, and for a size of memory with which
    no GPU that is asked for is sold.
    """
    from gpuwise.facts import llms
    from gpuwise.model.judgement import TASKS
    from gpuwise.predictor.fit import ALSO_CALLED, OPTIMISERS, Plan, fit

    cache, asked = Precision(request.cache), tuple(map(Precision, request.weights))
    tasks = tuple(dict.fromkeys(ALSO_CALLED.get(task, task) for task in request.tasks))
    for what, names, known in (
        ("format of a cache", (cache,), CACHES), ("format of weights", asked, WEIGHTS),
        ("task", tasks, TASKS), ("optimiser", request.optimiser, OPTIMISERS),
    ):  # fmt: skip
        if unknown := [name for name in names if name not in known]:
            raise InputError(f"unknown {what} '{unknown[0]}'", hint=f"choose from {', '.join(known)}")
    gpus = tuple(dict.fromkeys(gpu for gpu, _ in sets))
    shared = [gpu for gpu in gpus if catalog.get(gpu).memory_varies]
    sizes = {round((catalog.get(gpu).memory_bytes or 0.0) / 2**30) for gpu in gpus}
    if request.memory and not shared and sizes != {round(request.memory)}:
        size = f"{request.memory:g} GB"
        problem = f"a chip that is sold with {size} is asked for, and none is named"
        if request.gpus:
            problem = f"{gpus[0]} is not sold with {size}: a size is asked of shared memory alone"
        hint, size = "GPUs of that memory", f"{request.memory:g}GB"
        raise InputError(problem, hint=hint, code="fit-memory", model=request.model, size=size)
    for task in tasks:
        stored = llms.stored(model) if task == "infer" else None  # Also in the format of its publisher
        named = llms.named_format(request.model) if task == "infer" else None
        usual_ones = dict.fromkeys((*((stored,) if stored else ()), *FORMATS[task]))
        formats = asked or ((named,) if named else tuple(usual_ones))
        usual = 8192 if task == "infer" else 2048
        contexts = held or (min(usual, model.context or usual),)
        kinds = request.optimiser if task != "infer" else request.optimiser[:1]
        each = product(sets, formats, contexts, request.batches, kinds)
        for (gpu, count), weights, context, batch, optimiser in each:
            plan = Plan(
                model=model,
                task=task,
                weights=weights,
                cache=cache,
                context=context,
                batch=batch,
                gpus=count,
                checkpoint=request.checkpoint and task != "infer",
                optimiser=optimiser,
                rank=request.rank,
                memory_bytes=request.memory * 2**30 if gpu in shared else 0.0,
            )
            answer = fit(plan, gpu)
            if not answer.fits and answer.parts and catalog.get(gpu).text("form") not in ("laptop", "soc"):
                more = (n for n in COUNTS if n > plan.gpus and fit(replace(plan, gpus=n), gpu).fits)
                answer = replace(answer, enough=next(more, None))
            yield answer


def here() -> tuple[str, ...]:
    """Catalog entries of the GPUs of this machine."""
    from gpuwise.measure import telemetry

    specs = map(telemetry.gpu_of, telemetry.machine().devices)
    return tuple(dict.fromkeys(spec.id for spec in specs if spec is not None))
