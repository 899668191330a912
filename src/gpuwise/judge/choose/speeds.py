"""How fast each GPU does the work, from the best that is known: measured, else published or predicted.

A measurement of this very question wins, unless another batch is quick enough where its own is not, or gains
more than the prediction's error (`evidence`). Else the narrower interval does: a published figure stands
alone, with other software than the next one, so it counts within a factor of exp(0.5); a prediction says its
own width. For a latency, the largest throughput among batches whose step is quick enough.

A measurement speaks for its own card first. It corrects predictions of other cards only at the batch that was
measured, so only where that batch was asked for, and all of them by one factor: a measured card never changes
the order of two others. (A ratio that was measured at batch 8 says nothing of batch 256: it was off by two.)

A mix of workloads has one speed, the weighted geometric mean: how two GPUs compare then does not depend on
the GPU on which the shares of time were counted. Widths add as if the errors were one.

Scientific kernels are not predicted: what a stencil, a transform or a factorisation computes and moves is
stated in closed form by the workload, and the nearer of two limits of the data sheet is reached in part:

    items a second = min(REACHED x peak / operations of an item,
                         bandwidth share x bandwidth / bytes of an item)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from math import ceil, exp, inf, log, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gpuwise.errors import GpuwiseError, InputError, MachineError, NoDataError, check_wanted
from gpuwise.facts import catalog, published
from gpuwise.judge.choose.need import CONTEXTS, DIFFUSION, FORMATS, item_of
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.judgement import TASKS, Need
from gpuwise.model.precision import GGUF, Precision
from gpuwise.model.question import Part, RunConfig
from gpuwise.model.result import Basis, Interval, Issue, Record, Result, grouped, records_of, refused
from gpuwise.model.units import brief, gibibytes, percent, seconds
from gpuwise.predictor.card import dies, runs_llama_cpp, runs_vllm
from gpuwise.predictor.evidence import answers
from gpuwise.predictor.forecast import FITS, WAITING_SHARE
from gpuwise.predictor.rates import LEVEL, around, transfer_half
from gpuwise.workloads import registry

if TYPE_CHECKING:
    from gpuwise.predictor.fit import Fit, Plan
    from gpuwise.stats.scaling import Condition

# How many answers a machine gives at one moment, and when each begins: words of an option.
SHORT_CACHE = "cache in 8 bits"
AT_ONCE, FIRST_TOKEN, IDLE = " answers at once", "the first token after ", " of them without work"
DIES = " dies of each card, which software shows as GPUs of their own"
# Of a GPU without a speed for work of another name, whose own memory is not known.
STAND_IN = "what stands in for the work is too large for it, so no speed of it is known"
# What the speed of a card that is not NVIDIA's rests on: words of an option.
BY = "by public speeds: "
# Compute capability of the oldest architecture in CUDA 13 (its release notes): Turing.
OLDEST = 7.5
# GPU and number of GPUs.
Key = tuple[str, int]
# Half width of a published figure in log space. The same question on the same GPU from two publishers
# differed by a factor of 1.6 in the median (nine of the curated table that state their precision).
PUBLISHED_HALF = 0.5
# Share of the data sheet's peak that a scientific kernel reaches, within a factor of two.
REACHED = 0.5
BATCHES = tuple(2**k for k in range(11))
# Shares of a model that are looked at.
MOST_SHARES = 256
# Tokens of a context below which nobody talks to a model.
SHORTEST = 256
# Sequences that a language model answers or learns from at once.
SEQUENCES = BATCHES[:9]
# Each says less than the one before; a mix is known as little as its least known part.
WEAKER: tuple[Basis, ...] = ("measured", "calibrated", "transferred", "published", "spec-only")
# Parts of a question in which measurements may differ that speak for one need: any number of GPUs and,
# where none was asked for, any batch, with torch's kernels or gpuwise's.
# Of a speed with less memory than the work takes as it is written.
RECOMPUTES = Issue.info("recomputes", "activations are computed again in place of keeping them")
ANY: tuple[Part, ...] = ("batch", "gpus", "kernels")


class Forecast(Protocol):
    """`gpuwise.predictor.forecast.forecast`, or a fake."""

    def __call__(
        self, config: RunConfig, gpus: Sequence[str], *, count: int, batch: int | None
    ) -> tuple[Record, ...]: ...


def gather(
    need: Need, wanted: Mapping[str, Sequence[int]], forecast: Forecast, *,
    results: Sequence[Result] = (), published: Sequence[Record] = (),
) -> tuple[Record, ...]:  # fmt: skip
    """The speed of each GPU of `wanted` in each of its numbers, items a second of all together within 80 %;
    where there is none, its refusal.

    Raises InputError for a workload that is unknown or that nothing can tell the cost of.
    """
    if need.task:
        asked = of_speed(need)
        return tuple(_of_cards(asked, gpu, n) for gpu, counts in wanted.items() for n in counts)
    small = {name for name, _ in need.workloads if registry.get(name).spec.blocked}  # Is what is measured
    known = (result for result in results if result.environment.gpu_id)
    measured = [record for record in records_of(known) if record.question.workload not in small]
    each = [_of_workload(need, name, wanted, forecast, measured, published) for name, _ in need.workloads]
    lacking = need.precision
    for precision in (need.fallback, Precision.FP32) if need.fallback is not None else ():
        # Volta and Turing multiply in FP16 what Ampere does in BF16, as a benchmark on them would; Pascal's
        # consumer cards have no rate for that either.
        other = replace(need, precision=precision, fallback=None)
        for found, (name, _) in zip(each, need.workloads, strict=True):
            bare = {gpu: n for gpu, n in wanted.items() if f"no stated {lacking}" in found[gpu, n[0]].refusal}
            found |= _of_workload(other, name, bare, forecast, measured, published) if bare else {}
        lacking = precision
    for found, (name, _) in zip(each, need.workloads, strict=True):
        tight = {gpu: n for gpu, n in wanted.items() if any(_too_large(found[gpu, m]) for m in n)}
        if tight and registry.get(name).spec.item == "token":
            from gpuwise.workloads.llm import lighter  # of language models alone

            # As people train where memory is short: activations are computed again instead of kept.
            with suppress(MachineError, NoDataError):  # where no trace of it is there, and none can be made
                less = lighter(name)
                again = _of_workload(need, less, tight, forecast, measured, published) if less else {}
                found |= {
                    key: replace(record, issues=(*record.issues, RECOMPUTES))
                    for key, record in again.items()
                    if _too_large(found[key])
                }
    if need.title:
        least = need.least_gb
        each = [{key: _as_stand_in(record, least) for key, record in found.items()} for found in each]
    if len(each) == 1:
        one = need.passes  # Runs of the workload that an item of the need takes
        return tuple(
            record if one == 1 or record.throughput is None
            else replace(record, item=item_of(need), throughput=record.throughput.times(1 / one),
                         seconds=record.seconds * (one if need.title in DIFFUSION else 1.0)
                         if record.seconds else None)
            for record in each[0].values()
        )  # fmt: skip
    shares = [share for _, share in need.workloads]
    return tuple(_mix([found[key] for found in each], shares) for key in each[0])


def _as_stand_in(record: Record, least_gb: float) -> Record:
    """What a speed says of work that its workload only stands in for: not what memory that takes."""
    if record.throughput is not None:
        return replace(record, memory_bytes=None, fits_probability=None)
    size = (catalog.get(record.gpu_id).memory_bytes or inf) / 2**30
    less = f"does not fit: the work needs {least_gb:.3g} GB, it has {size:.3g} GB of memory"
    why = less if size < least_gb else STAND_IN
    return replace(record, issues=refused(why)) if _too_large(record) else record


def _too_large(record: Record) -> bool:
    chance = record.fits_probability
    return "does not fit" in record.refusal or (chance is not None and chance < FITS)


def _of_workload(
    need: Need, workload: str, wanted: Mapping[str, Sequence[int]], forecast: Forecast,
    measured: Sequence[Record], stated: Sequence[Record],
) -> dict[Key, Record]:  # fmt: skip
    config = RunConfig(
        workload=workload, content=registry.get(workload).content, mode=need.mode, precision=need.precision,
        compile=need.compiled, batch=need.batch,
    )  # fmt: skip
    same = (record for record in measured if record.question.key(*ANY) == config.key(*ANY))
    usable = (record for record in same if record.usable and config.batch in (None, record.batch))
    own = grouped(((record.gpu_id, record.gpus), record) for record in usable)
    best = {key: quickest(found, need.latency_s) for key, found in own.items()}
    predicted = _predicted(need, config, wanted, forecast)
    if config.batch is not None:
        predicted = corrected(predicted, best)
    others = _published(config, stated)
    found = {}
    for key in ((gpu, count) for gpu, counts in wanted.items() for count in counts):
        mine, model = best.get(key), predicted.get(key)
        if mine is not None and (model is None or _stands(need, mine, model, config, forecast)):
            found[key] = mine
            continue
        # The narrower interval; a refusal has none.
        known = [record for record in (model, others.get(key)) if record is not None]
        found[key] = min(
            known or [_blank(config, *key, "no speed is known")],
            key=lambda r: log(t.high / t.low) if (t := r.throughput) and t.low > 0 else inf,
        )
    return found


def of_speed(need: Need) -> Need:
    """The need without what says nothing of a speed: other kinds of rent, or a looser budget, ask nothing
    anew."""
    return Need(
        workloads=need.workloads, mode=need.mode, task=need.task, precision=need.precision,
        formats=need.formats, latency_s=need.latency_s, latency_kind=need.latency_kind,
        first_token_s=need.first_token_s, concurrent=need.concurrent, batch=need.batch,
        context=need.context, reads=need.reads, memory_gb=need.memory_gb, sizes=need.sizes,
        fallback=need.fallback, title=need.title, least_gb=need.least_gb, passes=need.passes,
        compiled=need.compiled,
    )  # fmt: skip


def times(one: Record, copies: int, people: int = 0) -> Record:
    """So many alike beside each other, each on its part of the requests; of a number of people who share them
    unevenly only their answers count, though each copy was taken for the most that one gets."""
    used = people / ceil(people / copies) if people else copies
    return replace(
        one, question=replace(one.question, gpus=one.gpus * copies), replicas=one.replicas * copies,
        throughput=one.throughput and one.throughput.times(used),
        watts=one.watts and one.watts.times(copies),
    )  # fmt: skip


def apart(need: Need, gpu: str, size: int, number: int) -> Record | None:
    """So many machines, each with a copy of a served model for its share of the people; None where that is
    more than one holds, or too late."""
    one = _of_cards(_share(of_speed(need), number), gpu, size)
    in_time = one.throughput is not None and not _late(one, need.latency_s)
    return times(one, number, need.concurrent) if in_time else None


@lru_cache(maxsize=64)  # Of few needs, for each GPU and number: to make one takes as long as a fit
def _share(need: Need, copies: int) -> Need:
    """What one of so many copies of a model serves."""
    return replace(need, concurrent=ceil(need.concurrent / copies))


def _of_cards(need: Need, gpu: str, count: int) -> Record:
    """So many cards, each of which software may show as several GPUs: all of them, or one of each card where
    what joins those is not known."""
    if (several := dies(gpu)) == 1:
        return _in_best_format(need, gpu, count)
    found = quickest([_in_best_format(need, gpu, n) for n in (count, count * several)], need.latency_s)
    used = found.gpus // count if found.throughput else 1
    note = f"{used} of {several}{DIES}"
    return replace(found, question=replace(found.question, gpus=count), notes=(*found.notes, note))


@lru_cache(maxsize=8192)
def _in_best_format(need: Need, gpu: str, count: int) -> Record:
    """The fastest of the formats that compete. Every card may use each: where a short one were only for those
    that a longer one does not fit, a small memory would be an advantage."""
    formats, spec = need.formats or (need.precision,), catalog.get(gpu)
    native = [p for p in formats if p != Precision.FP8 or spec.peak("fp8") is not None]
    native = native or list(formats)  # asked for alone, its weights are unpacked on older cards
    if need.task == "infer" and (need.formats or need.precision == Precision.INT4):
        from gpuwise.facts import llms

        old = float(spec.text("compute_capability") or OLDEST) < OLDEST
        if not runs_vllm(spec) or not llms.find(need.workloads[0][0]).splits(count):
            # Of four bits asked for, llama.cpp has its own.
            native = [Precision.Q8_0, Precision.Q4_K_M][0 if need.formats else 1 :]
        elif runs_llama_cpp(spec) and (old or (spec.vendor != "NVIDIA" and need.concurrent == count == 1)):
            native += [Precision.Q8_0, Precision.Q4_K_M]  # What people run where engines for many do not
    # The refusal of the shortest, which comes first, says what the work needs at least.
    found = [_of_model(need, native[-1], gpu, count)]
    if not _too_large(found[0]):  # Else no longer one fits
        found += [_of_model(need, each, gpu, count) for each in reversed(native[:-1])]
    if need.task == "infer" and Precision.INT4 in native and need.concurrent <= 1:
        # One person's card that is just too small for an engine that serves many runs llama.cpp: no faster
        # than the format that does not fit, so a small memory is no advantage.
        caches = (Precision.BF16, *[Precision.Q8_0] * need.concurrent) if all(map(_too_large, found)) else ()
        small = (_of_model(need, Precision.Q4_K_M, gpu, count, cache) for cache in caches)
        found += [each for each in [next((s for s in small if not _too_large(s)), None)] if each]
    # One that was compared with measured speeds comes before a faster one that was not.
    surer = [each for each in found if each.usable and not each.is_rough]
    together = quickest(surer or found, need.latency_s)
    if need.task != "infer":
        return together
    # Copies of the model beside each other, where one takes fewer GPUs and there are requests for each.
    beside = [together]
    for copies in range(2, count + 1):
        if count % copies == 0 and (need.concurrent or copies) >= copies:
            one = _in_best_format(_share(need, copies), gpu, count // copies)
            beside += [times(one, copies, need.concurrent)] if one.throughput is not None else []
    # Where so many do not split a model evenly, fewer of them may still do more.
    even = max(n for n in range(1, count + 1) if n & (n - 1) == 0)
    if even < count and (fewer := _in_best_format(need, gpu, even)).throughput is not None:
        idle = (*fewer.notes, f"{count - even}{IDLE}")
        beside.append(replace(fewer, question=replace(fewer.question, gpus=count), notes=idle))
    return quickest(beside, need.latency_s)


def _plan(need: Need, weights: Precision, **more: Any) -> Plan:
    """The language model that is asked for, in that format."""
    from gpuwise.facts import llms  # of language models alone
    from gpuwise.predictor.fit import Plan

    task = need.task or "infer"
    more = {"optimiser": "adamw32"} | more if task == "full" else more  # Mixed precision, as most train
    return Plan(
        model=llms.find(need.workloads[0][0]), task=task, weights=weights,
        context=settled_context(need), checkpoint=need.mode == "train", **more,
    )  # fmt: skip


def _of_model(
    need: Need, precision: Precision, gpu: str, count: int, cache: Precision = Precision.BF16
) -> Record:
    from gpuwise.predictor.fit import USABLE, USABLE_SHARED, fit

    check_wanted()
    spec, fixed = catalog.get(gpu), need.concurrent or need.batch
    memory = (memory_of(need, spec) if need.memory_gb or need.sizes else None) or 0.0
    plan = _plan(need, precision, batch=fixed or 1, gpus=count, memory_bytes=memory, cache=cache)
    # Which takes as long as all else, so only where somebody asks for it.
    prompt = bool(need.reads) or need.first_token_s is not None or need.latency_kind == "TTFT"
    most = need.latency_s or inf
    tried = [fit(plan, gpu, prompt=prompt)]
    serves, larger = need.mode == "infer", SEQUENCES[1:] if not fixed and tried[0].fits else ()
    if serves:
        # Answers of larger batches are more a second, each of them later: the largest in time is the best.
        low, high = 0, len(larger)  # So many are in time, and so many may be
        while low < high:
            middle = (low + high) // 2
            found = fit(replace(plan, batch=larger[middle]), gpu, prompt=prompt)
            tried += [found] if found.fits else []
            in_time = found.fits and (_latency(need, found) or inf) <= most
            low, high = (middle + 1, high) if in_time else (low, middle)
    for batch in () if serves else larger:
        found = fit(replace(plan, batch=batch), gpu, prompt=prompt)
        if not found.fits:
            break
        tried.append(found)
    config = RunConfig(
        workload=need.workloads[0][0], mode=need.mode, precision=precision, gpus=count, compile=False
    )
    # Most end here for want of memory; a record to be changed would take twice the time.
    blank = partial(Record, question=config, gpu_id=gpu, item="token", origin="predicted", basis="spec-only")
    first = tried[0]
    if not first.fits:
        room, needed = str(gibibytes(first.memory_bytes)), gibibytes(first.needed_bytes)
        if spec.text("form") != "soc" and first.needed_bytes <= first.memory_bytes:
            room = f"{gibibytes(USABLE * first.memory_bytes)} of {room} to use"
        if spec.text("form") == "soc":
            room = f"{gibibytes(USABLE_SHARED * first.memory_bytes)} of its {room} for the GPU"
        lacks = f", and no units for {precision.upper()}" * (
            serves and not need.formats and no_units(gpu, precision)
        )
        why = first.refusal or f"does not fit: {needed} on each of {count}, and {gpu} has {room}{lacks}"
        return blank(issues=refused(why))
    if need.first_token_s is not None and (takes := first.first_token_s or 0.0) > need.first_token_s:
        why = f"the first token takes {seconds(takes)}, {seconds(need.first_token_s)} are allowed"
        return blank(issues=refused(why), first_token_s=Interval.stated(takes))
    fast = [each for each in tried if (_latency(need, each) or inf) <= most]
    # Of batches that are all too late the quickest says which latency could be had.
    best = (max(fast, key=lambda f: f.tokens_per_s.value if f.tokens_per_s else 0.0) if fast
            else min(tried, key=lambda f: _latency(need, f) or inf))  # fmt: skip
    if best.tokens_per_s is None:
        return blank(issues=refused(best.refusal or "no speed is known"))
    detail = f"order of magnitude only: too few speeds in {precision} on {spec.architecture} are public"
    unproven = (Issue.warning("order-of-magnitude", detail),)
    begins = list[str]()
    if first.first_token_s and need.first_token_s is not None:  # Limited beside each later one
        allowed = f"of {seconds(need.first_token_s)} allowed"
        begins.append(f"{FIRST_TOKEN}{seconds(first.first_token_s)}, {allowed}, if no other prompt waits")
    read_s, speed = _read_s(need, best), best.tokens_per_s
    if not serves:
        # Its value is of fused kernels, its low end of plain ones: with which people train is not asked.
        speed = replace(speed, value=sqrt(speed.low * speed.high))
    at_work = 1 + (count - 1) * WAITING_SHARE if serves and plan.in_turn else count
    return blank(
        throughput=speed.times(1 / (1 + read_s * speed.value)),
        seconds=_latency(need, best), fits_probability=1.0,
        issues=() if spec.vendor == "NVIDIA" or best.source else unproven, basis=best.basis,
        notes=(
            f"batch {best.plan.batch}", *begins, *([f"{BY}{best.source}"] if best.source else []),
            *[SHORT_CACHE] * (cache != Precision.BF16),
        ),
        memory_bytes=Interval.stated(best.needed_bytes, "sum of parts"),
        # The board's limit: what a model draws is not predicted, and decoding draws less.
        watts=Interval.stated(spec.power_w / dies(gpu) * at_work) if spec.power_w else None,
    )  # fmt: skip


def no_units(gpu: str, weights: Precision) -> bool:
    """Whether a GPU has no units for a format of 16 or 8 bits: such weights it computes in another one."""
    return weights in (Precision.BF16, Precision.FP8) and catalog.get(gpu).supports(weights) is False


def _read_s(need: Need, found: Fit) -> float:
    """Seconds between steps for each token of an answer in which prompts are read, several at once."""
    if not need.reads:
        return 0.0
    from gpuwise.predictor.card import card, die
    from gpuwise.predictor.fit import prompt_seconds

    plan, on = found.plan, die(card(found.gpu_id, sheet=True))
    many = max(plan.context, plan.chunk)
    faster = prompt_seconds(replace(plan, context=many), on) / many * plan.context / prompt_seconds(plan, on)
    return need.reads * (found.first_token_s or 0.0) / plan.context * min(1.0, faster)


def alone(need: Need, found: Record) -> Record:
    """The speed of a served model that answers one request at a time, in the same format of weights: where
    workers come and go with the requests, few share one, unless somebody says how many ask at once."""
    one = replace(need, concurrent=1, formats=())
    return _of_model(one, found.question.precision or need.precision, found.gpu_id, found.gpus)


def _latency(need: Need, found: Fit) -> float | None:
    """Seconds to the next token of every sequence, while others' prompts are read, too; or to the first."""
    if need.latency_kind == "TTFT" and need.mode == "infer":
        return found.first_token_s
    speed = found.tokens_per_s
    if not speed or need.mode != "infer":
        return None
    return found.plan.batch * (1 / speed.value + _read_s(need, found))


def corrected(predicted: Mapping[Key, Record], measured: Mapping[Key, Record]) -> dict[Key, Record]:
    """Predictions of one batch, each times what the first measured card reaches of its own prediction. Where
    a card has a measurement beside its prediction, that stands."""
    both = ((measured[key], predicted[key]) for key in measured if key in predicted)
    pairs = [pair for pair in both if pair[1].origin == "predicted" and pair[1].throughput]
    if not pairs:
        return dict(predicted)
    from gpuwise.stats.scaling import ratio_between

    # Kernels, recipe and session differ on purpose: the prediction is of torch on any machine.
    mine, model = pairs[0]
    ignored: tuple[Condition, ...] = ("origin", "session", "switches", "recipe")
    factor = ratio_between(model, mine, ignoring=ignored).value
    return {
        key: replace(
            record,
            basis="transferred",
            throughput=around(
                record.throughput.value * factor,
                transfer_half(mine.gpu_id, record.gpu_id, str(record.question.precision)),
            ),
            seconds=record.seconds / factor if record.seconds else None,
        )
        if record.origin == "predicted" and record.throughput
        else record
        for key, record in predicted.items()
    }


def _stands(need: Need, own: Record, model: Record, config: RunConfig, forecast: Forecast) -> bool:
    """True where a measurement says what the GPU does at the batch that the prediction found best."""
    if own.throughput is None or model.throughput is None:
        return True
    if _late(own, need.latency_s) and not _late(model, need.latency_s):
        return False
    if own.batch is None or model.batch in (None, own.batch):
        return True
    try:
        (there,) = forecast(config, (own.gpu_id,), count=own.gpus, batch=own.batch)
    except GpuwiseError:  # a batch without a trace
        return True
    return there.throughput is None or answers(own.throughput, there.throughput, model.throughput)


def _blank(config: RunConfig, gpu: str, count: int, refusal: str = "") -> Record:
    """A record without figures."""
    return Record(
        question=replace(config, gpus=count), gpu_id=gpu, item=registry.get(config.workload).spec.item,
        origin="predicted", basis="spec-only", issues=refused(refusal) if refusal else (),
    )  # fmt: skip


def _published(config: RunConfig, rows: Sequence[Record]) -> dict[Key, Record]:
    """The fastest figure of each GPU and number that no check flags."""
    found: dict[Key, Record] = {}
    # A precision that is only likely ("tf32?") is another one.
    wanted = (config.workload, config.mode, config.precision)
    asked = (row for row in rows if (row.question.workload, row.question.mode, row.precision) == wanted)
    for record in published.plausible(asked):
        value = record.throughput.value if record.throughput else 0.0
        best = found.get((record.gpu_id, record.gpus))
        slower = best is not None and best.throughput is not None and best.throughput.value > value
        if config.batch in (None, record.batch) and not slower:
            found[record.gpu_id, record.gpus] = replace(
                record,
                throughput=around(value, PUBLISHED_HALF, method="spread of publishers"),
                seconds=record.batch * record.gpus / value if record.batch else None,
            )
    return found


def _predicted(
    need: Need, config: RunConfig, wanted: Mapping[str, Sequence[int]], forecast: Forecast
) -> dict[Key, Record]:
    if config.mode == "compute":
        large = registry.get(config.workload).spec.blocked  # As those are who buy a GPU for it
        return {(gpu, n): from_sheet(config, gpu, n, large=large) for gpu, ns in wanted.items() for n in ns}
    from gpuwise.predictor.trace_store import with_own

    # An image that takes several of the workload's takes them side by side.
    batches = [batch for batch in BATCHES if batch >= need.passes or need.title in DIFFUSION]
    smallest, *larger = batches if need.latency_s is not None and need.batch is None else (need.batch,)
    found: dict[Key, Record] = {}
    for count in sorted({count for counts in wanted.values() for count in counts}):
        gpus = [gpu for gpu, counts in wanted.items() if count in counts]
        first = with_own(replace(config, gpus=count, batch=smallest))  # As `gpuwise bench` runs it.
        tried = {each.gpu_id: [each] for each in forecast(first, gpus, count=count, batch=smallest)}
        # What is refused at the smallest batch, for want of memory or of facts, is refused at every other.
        left = [gpu for gpu, (first,) in tried.items() if first.throughput is not None]
        for batch in larger:
            # Larger batches take longer still.
            left = [gpu for gpu in left if not _late(_best(tried[gpu][-1]), need.latency_s)]
            for record in forecast(config, left, count=count, batch=batch):
                tried[record.gpu_id].append(record)
        for gpu, each in tried.items():
            found[gpu, count] = quickest([_best(record) for record in each], need.latency_s)
    return found


def _best(record: Record) -> Record:
    """What was measured beside a prediction, at its step; else the prediction."""
    own, speed = record.measured, record.throughput
    if own is None or own.throughput is None or speed is None:
        return record
    seconds = record.seconds * speed.value / own.throughput.value if record.seconds else None
    # The prediction's batch stays: `answers` found that the measurement stands for it.
    return replace(own, question=record.question, seconds=seconds, measured=None)


def from_sheet(config: RunConfig, gpu_id: str, count: int, *, large: bool = False) -> Record:
    """GPUs side by side, each with work of its own, in pieces so `large` that arithmetic bounds it. Raises
    InputError for a workload that does not state its cost."""
    spec, gpu = registry.get(config.workload).spec, catalog.get(gpu_id)
    if spec.cost is None:
        raise InputError(f"{config.workload} does not state what it costs", hint="measure it")
    cost = spec.cost(config.mode, config.precision, config.batch or spec.default_batch)
    peak, bandwidth = gpu.peak(config.precision), gpu.memory_bytes_per_s
    if peak is None or bandwidth is None:
        lacking = f"a dense {config.precision} rate" if peak is None else "memory bandwidth"
        return _blank(config, gpu_id, count, f"no {config.precision.upper()}: no source states {lacking}")
    arithmetic = REACHED * peak.flop_per_s / cost.flop_per_item
    moves = cost.bytes_per_item and not large
    memory = spec.bandwidth_share * bandwidth / (cost.bytes_per_item or inf) if moves else inf
    value, watts = count * min(arithmetic, memory), gpu.power_w
    return replace(
        _blank(config, gpu_id, count),
        throughput=Interval(value=value, low=value / 2, high=value * 2, level=LEVEL, method="data sheet"),
        watts=Interval.stated(watts * count) if watts else None,
        bound="compute" if arithmetic < memory else "memory",
    )


def quickest(found: Sequence[Record], latency_s: float | None) -> Record:
    """The highest throughput among steps that are quick enough; where none is, the quickest step."""
    known = [record for record in found if record.throughput is not None]
    if not known:
        return found[0]
    fine = [record for record in known if not _late(record, latency_s)]
    if fine:
        return max(fine, key=lambda r: r.throughput.value if r.throughput else 0.0)
    return min(known, key=lambda r: r.seconds if r.seconds is not None else inf)


def _late(record: Record, latency_s: float | None) -> bool:
    return latency_s is not None and (record.seconds is None or record.seconds > latency_s)


def _mix(parts: Sequence[Record], shares: Sequence[float]) -> Record:
    """One speed of a mix; a GPU that refuses one workload refuses the mix."""
    question = replace(parts[0].question, workload="+".join(part.question.workload for part in parts))
    blank = replace(parts[0], question=replace(question, batch=None), source=None, raw=None, measured=None)
    refusals = [part.refusal or "no speed" for part in parts if part.throughput is None]
    if refusals:
        return replace(blank, throughput=None, issues=refused(refusals[0]))
    value, low, high = (
        exp(
            sum(share * log(getattr(part.throughput, end)) for part, share in zip(parts, shares, strict=True))
        )
        for end in ("value", "low", "high")
    )
    watts = [part.watts for part in parts if part.watts is not None]
    memory = [part.memory_bytes for part in parts if part.memory_bytes is not None]
    chances = [part.fits_probability for part in parts if part.fits_probability is not None]
    drawn = sum(w.value * share for w, share in zip(watts, shares, strict=False))
    weakest = max(parts, key=lambda part: WEAKER.index(part.basis))
    each = tuple(
        f"{brief(part.throughput.value)} {part.item.removesuffix('s')}s/s of {part.question.workload} in "
        f"{percent(share, 0)} of the time"
        for part, share in zip(parts, shares, strict=True)
        if part.throughput
    )
    return replace(
        blank,
        throughput=Interval(value=value, low=low, high=high, level=LEVEL, method="geometric mean"),
        memory_bytes=max(memory, key=lambda m: m.value, default=None),
        fits_probability=min(chances, default=None),
        watts=around(drawn, max(map(half_of, watts))) if len(watts) == len(parts) else None,
        seconds=None, bound=None, basis=weakest.basis, source=weakest.source,
        notes=(*(weakest.notes or ("",)), *each),
    )  # fmt: skip


def half_of(interval: Interval | None) -> float:
    """Half width in log space; 0 where nothing is known of it."""
    return log(interval.value / interval.low) if interval and interval.low > 0 else 0.0


def memory_needed(need: Need) -> str:
    """How much memory a language model takes in all, in each format that competes; of other work what is
    stated, empty where nothing is."""
    if not need.task:
        least = f"{need.title} takes {need.least_gb:.3g} GB of memory or more{_held(need)}."
        return least if need.least_gb else ""
    from gpuwise.predictor.fit import memory

    requests, said = need.concurrent or 1, []
    for precision in need.formats or (need.precision,):
        plan = _plan(need, precision, batch=requests, chunked=need.mode == "train")
        said.append(f"{gibibytes(sum(size for _, size in memory(plan)))} in {precision}")
    each = f"{requests} contexts" if requests > 1 else "one context"
    return f"{plan.model.name} takes {', '.join(said)} with {each} of {plan.context:,} tokens."


def _held(need: Need) -> str:
    """Which parts of a model of images or video the memory that it takes at least holds."""
    if not any(name in need.workloads[0][0] for name in ("dit-", "unet-")):
        return ""
    model = DIFFUSION.get(need.title.removeprefix("adapters of "))
    if model is None and need.mode == "train":
        return ""
    if model is None:
        on_top = "the text encoder, the VAE and what is computed at the size asked for"
        return f", its weights alone: {on_top} come on top, or are swapped to the host's memory"
    in_4 = need.least_gb == model.gb_4 < model.gb or need.least_gb == model.gb_lora_4 < model.gb_lora
    bits = 4 if in_4 else 8 if "8 bits" in model.words else 16
    learns = "what learns and is kept for the backward pass; with blocks in the host's memory less but slower"
    runs = "text encoders and what is computed"
    rest = {model.gb: runs, model.gb_4: runs, model.gb_lora: learns, model.gb_lora_4: learns}.get(
        need.least_gb
    )
    weights = f"{model.weights * bits / 8e9:.3g} of weights in {bits} bits"
    return f": {weights}, the rest {rest}" if rest else ""


class Dealt(NamedTuple):
    """A language model whose layers different cards of one machine share."""

    weights: Precision
    needed_bytes: float  # On all of them
    room_bytes: float
    tokens_per_s: Interval


def dealt_out(need: Need, gpus: Sequence[str]) -> Dealt | None:
    """One answer at a time by llama.cpp, which deals out layers by the memory of each card, so that a token
    passes one after the other. None where they do not hold it, or no speed of one is known."""
    from gpuwise.predictor.fit import USABLE, fit

    for plan, needed, room in _dealt_out(need, gpus):
        rooms = [USABLE * (catalog.get(gpu).memory_bytes or 0.0) for gpu in gpus]
        speeds = [fit(plan, gpu).tokens_per_s for gpu in gpus]
        if needed <= USABLE * room and all(speeds):
            low, value, high = (
                sum(rooms) / sum(r / getattr(s, end) for r, s in zip(rooms, speeds, strict=True))
                for end in ("low", "value", "high")
            )
            speed = Interval(value=value, low=low, high=high, level=LEVEL, method="one card after the other")
            return Dealt(plan.weights, needed, room, speed)
    return None


def _dealt_out(need: Need, gpus: Sequence[str]) -> Iterator[tuple[Plan, float, float]]:
    """(a plan, what it takes, the memory of all these GPUs) in each format of weights, the shortest last."""
    from gpuwise.predictor.fit import fit

    room = sum(catalog.get(gpu).memory_bytes or 0.0 for gpu in gpus)
    own = [need.precision] if need.precision in GGUF else [Precision.Q4_K_M]
    for weights in [Precision.Q8_0, *own] if need.formats else own:
        plan = _plan(need, weights, memory_bytes=room)
        yield plan, len(gpus) * fit(replace(plan, gpus=len(gpus)), gpus[0]).needed_bytes, room


def least_dealt_out(need: Need, gpus: Sequence[str]) -> tuple[Precision, float, float]:
    """(the shortest format of weights, bytes that it takes of all these GPUs, bytes of their memory)."""
    *_, (plan, needed, room) = _dealt_out(need, gpus)
    return plan.weights, needed, room


def largest_models(need: Need, gpu: str, count: int) -> dict[Precision, str]:
    """The largest language model known that so many GPUs hold, in each format of weights that competes."""
    from gpuwise.facts import llms

    names = sorted(llms.names(), key=lambda name: -llms.find(name).parameters)
    even = count & (count - 1) == 0  # Else heads are not split evenly, and llama.cpp deals out layers
    found = dict[Precision, str]()
    formats = need.formats if even else (Precision.Q8_0, Precision.Q4_K_M)
    for weights in formats if need.formats else (need.precision,):
        asked = replace(need, precision=weights, formats=(), latency_s=None, concurrent=need.concurrent or 1)
        each = ((n, _of_cards(replace(asked, workloads=((n, 1.0),)), gpu, count)) for n in names)
        if fits := next((name for name, speed in each if speed.throughput is not None), ""):
            found[weights] = fits
    return found


def _smallest(need: Need) -> Precision:
    """The format of weights that takes least, of those that may be taken."""
    return (need.formats or (need.precision,))[-1]


def fewest_to_hold(need: Need, gpus: Sequence[str]) -> int | None:
    """GPUs of a kind, over several machines, that hold a language model; None where none tried do."""
    if not need.task or not gpus:
        return None
    from gpuwise.predictor.fit import USABLE, memory

    room = USABLE * (catalog.get(gpus[0]).memory_bytes or 0.0)
    plan = _plan(need, _smallest(need), batch=need.concurrent or need.batch or 1)
    each = ((n, sum(size for _, size in memory(replace(plan, gpus=n)))) for n in range(1, MOST_SHARES))
    return next((n for n, size in each if size <= room), None)


def settled_context(need: Need) -> int:
    """Tokens of a context, the usual ones where none were asked for."""
    return need.context or CONTEXTS[need.task or "infer"]


def shorter(need: Need, gpu: str, count: int) -> str:
    """Which context, half as long or less, such GPUs hold where the one that is asked for does not fit."""
    from gpuwise.predictor.fit import fit

    sizes = {"gpus": count, "batch": need.concurrent or 1, "chunked": need.mode == "train"}
    context, held = settled_context(need) // 2, 0
    while context >= SHORTEST and not held:
        plan = _plan(replace(need, context=context), _smallest(need), **sizes)
        held, context = context if fit(plan, gpu).fits else 0, context // 2
    return f"contexts of {held:,} tokens fit" if held else "no shorter context fits"


def recipes(need: Need, gpu: str, count: int) -> str:
    """What each way to train a language model takes of every such GPU, and which of them fit."""
    from gpuwise.predictor.fit import fit

    said = []
    for task in TASKS[1:]:
        way = replace(need, task=task, mode="train")
        plan = _plan(way, FORMATS[task], gpus=count, chunked=True)
        found, less = fit(plan, gpu), fit(replace(plan, optimiser="adamw"), gpu)
        in_16 = f"{'too much; ' * (not found.fits)}{gibibytes(less.needed_bytes)} with all of it in 16 bits"
        note = in_16 if task == "full" else "too much" * (not found.fits)
        said.append(f"{task} {gibibytes(found.needed_bytes)}" + f" ({note})" * bool(note))
    room = gibibytes(found.memory_bytes)
    of = f"each of {count} x" if count > 1 else "one"
    return f"On {of} {gpu} with {room} the least batch takes: {', '.join(said)}"


def memory_of(need: Need, spec: GpuSpec) -> float | None:
    """Bytes of memory of a GPU; of one that is sold with less, too, as asked: the most of a range, else its
    least."""
    if (size := dict(need.sizes).get(spec.id)) and spec.memory_bytes:
        return min(size * 2**30, spec.memory_bytes)
    if spec.memory_varies and need.memory_gb and spec.memory_bytes:
        low, high = need.memory_gb
        return min((high or low) * 2**30, spec.memory_bytes)
    return spec.memory_bytes


def gpu_of(result: Result) -> str:
    """The GPU of a result. Raises InputError where the catalog does not know it."""
    if result.environment.gpu_id is None:
        raise InputError(
            f"result {result.id} is of {result.environment.device}, which the catalog does not know",
            hint="name the GPU instead of the file",
        )
    return result.environment.gpu_id
