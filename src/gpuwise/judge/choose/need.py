"""From a piece of work to a `Need` with its defaults; what cannot be meant is refused before any figure.

A name may be short: `llm-8b` means `llm-8b-decode` to answer and `llm-8b-lora` to fine-tune. Where a network
has no fine-tuning workload of its own, training it stands in: all weights learn, at the same cost. Language
models by name (`facts.llms`) are served, or trained whole or by adapters, in a format of weights.

`FIELDS` has every option as people write it, once for the command line and the page, and `need_of` the need
that options state together.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast, get_args

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.model import units
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.judgement import TASKS, Acquire, Assumptions, Need
from gpuwise.model.precision import WEIGHTS, Precision
from gpuwise.model.question import Mode, WorkloadSpec
from gpuwise.model.units import Latency, Work
from gpuwise.workloads import registry

if TYPE_CHECKING:
    from gpuwise.model.result import Result

DATA = Path(__file__).with_name("data")
Purpose = Literal["train", "infer", "finetune", "compute", "full", "lora", "qlora"]
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "train": ("",),
    "infer": ("", "-decode"),
    "finetune": ("-lora", "-finetune", ""),
}
_PHASES = {"TPOT": "decode", "TTFT": "prefill"}
WORDS: Mapping[str, Any] = tomllib.loads((DATA / "words.toml").read_text(encoding="utf-8"))
# What is taken for usual where a question does not say it, with a reason beside each.
USUAL: Any = SimpleNamespace(**WORDS["usual"])
ALIASES: Mapping[str, str] = WORDS["aliases"]
PROVIDERS: Mapping[str, str] = WORDS["providers"]
# Passes of a network whose adapters learn: forward, forward again for what was not kept, and backward for
# activations alone. Its weights are those of inference, with no state of an optimizer beside them.
OF_ADAPTERS = 3


class Diffusion(NamedTuple):
    """A larger diffusion model as runs of a smaller one."""

    like: str
    steps: int  # Of an image, unless others are stated
    guided: int  # Passes of a step
    runs: float  # Passes of the smaller model that cost as much as one of this
    gb: float  # Weights and text encoders in 8 bits, or what their maker says that it takes
    gb_4: float  # With weights in 4 bits; as much where these are not shorter
    gb_lora: float  # To train adapters of it
    gb_lora_4: float  # On weights in 4 bits
    weights: float
    words: str


DIFFUSION: dict[str, Diffusion] = {
    name: Diffusion(
        like=row["like"], steps=int(row["steps"]), guided=int(row["guided"]),
        runs=float(row["tflop"]) / float(row["tflop_of_like"]), gb=float(row["gb"]), gb_4=float(row["gb_4"]),
        gb_lora=float(row["gb_lora"]), gb_lora_4=float(row["gb_lora_4"]), weights=float(row["weights"]),
        words=row["words"],
    )
    for row in catalog.rows(DATA / "diffusion.csv") for name in (row["model"], *row["also"].split())
}  # fmt: skip
SERVED = "served:"
# What people train adapters with; of a served model a prompt and an answer of usual length together.
CONTEXTS = {"infer": 4096, "full": 2048, "lora": 2048, "qlora": 2048}
FORMATS = {"infer": Precision.BF16, "full": Precision.BF16, "lora": Precision.BF16, "qlora": Precision.NF4}
# Forms that are whole computers: they need no host beside them, and have no second GPU.
COMPUTERS = ("laptop", "soc")
# Characters of a question: the time that reading it takes grows with the square of its words.
LONGEST_QUESTION = 2000
# Of one machine.
MOST_TOGETHER = 8
# Rented machines that share out work with a deadline: more of one kind are seldom free at one provider.
MOST_APART = 64
# Cards for which a machine that is there has slots and a supply.
MOST_THERE = 2
# Memory of the largest card that many have at home, and the most cards that share a larger model there.
HOME_BYTES, MOST_AT_HOME = 24 * 2**30, 4
IN_SHELLS = "a shell takes $800 for a variable: write '... $800' in single quotes"
# That anybody keeps a GPU.
MOST_YEARS, HOURS_PER_YEAR = 30, 365.25 * 24
# A token later than this is slower than people read, where nothing else was asked for.
USUAL_TPOT_S = 0.050
IN_PACE = "each token within 50 ms"
USUAL_NOTE = f"by default {IN_PACE} (--latency)"
OVER_BUDGET = "over the budget"
IN_AND_OUT = "input and output together: all of it counts as written, which takes the most"
ONE_READER, ALL_HELD = "for one person at a time", "for as many at once as each holds, whose speeds add up"
HOURS_STATED = "{:.3g} h of use a week"
ALL_HOURS = "used around the clock, as no hours are stated (--hours-per-week)"
REPLACED = "what you have is replaced"
# Kinds of purchases where used cards are asked for: of most, only a price of used and new ones is known.
ANY_USED = ("used", "street")
SUPPORTED = "cards of workstations and servers, which makers support where many rely on them"
# Behind the name of a model, the format of its weights.
_FORMAT = r"(?:[-:_.](?:i?q\d\w*|int[48]|fp8|bf16|fp16|awq|gptq|gguf))+$"
# `predictor.fit.STATE_BYTES` of `adamw32`, with the weights.
ALL_LEARN = (
    "all weights learn, by AdamW in mixed precision: 16 bytes a parameter (weights 2, gradients 2, a copy in "
    "32 bits 4, moments 8); all of it in 16 bits takes 8"
)
# Models by the names of our own decoders, which adapters are trained on by their public names, and by family.
_SIZES = {"llm-8b": "llama-3.1-8b", "llm-1b": "llama-3.2-1b", "llm-8b-lora": "llama-3.1-8b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named need: what people use GPUs for."""

    title: str
    workloads: tuple[tuple[str, float], ...]
    mode: Purpose
    precision: Precision | None = None
    gpus: tuple[int, int] = (1, 1)
    latency: Latency | None = None
    form: str | None = None
    well: Mapping[str, float] = field(default_factory=dict)  # What suits it well, by `fit.use`


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name, from `data/presets.toml`."""
    return {
        name: Preset(
            title=row["title"], workloads=tuple((part, 1.0) for part in units.parse_list(row["workload"])),
            mode=row["mode"], precision=Precision(row["precision"]) if "precision" in row else None,
            gpus=units.parse_count_range(row.get("gpus", "1")), form=row.get("form"),
            latency=units.parse_latency(row["latency"]) if "latency" in row else None,
            well=row.get("well", {}),
        )
        for name, row in tomllib.loads((DATA / "presets.toml").read_text(encoding="utf-8")).items()
    }  # fmt: skip


@cache
def forms() -> Mapping[str, tuple[str, frozenset[str]]]:
    """What each form means: a field of the catalog and the values it may have."""
    rows = catalog.rows(DATA / "forms.csv")
    return {row["form"]: (row["field"], frozenset(row["values"].split(";"))) for row in rows}


def has_form(spec: GpuSpec, form: str) -> bool:
    """Whether the GPU is of a form; only what sits in no server is a laptop or small computer, and no box for
    a desk is carried about."""
    name, values = forms()[form]
    no = {"mobile": ("server", "workstation"), "small": ("server", "embedded")}.get(form, ())
    return spec.text(name) in values and (spec.text("form") == "laptop" or spec.text("segment") not in no)


def need_for(
    work_on: str | Mapping[str, float] | Sequence[str | tuple[str, float]], *, mode: Purpose | None = None,
    precision: Precision | str | None = None, work: Work | None = None, latency: Latency | None = None,
    gpus: tuple[int, int] | None = None, form: str | None = None, steps: int | None = None,
) -> Need:  # fmt: skip
    """The need of a workload, of several with their shares of time, of a language model or a preset's name.

    What is not given comes from the preset, else from the workload; `dataclasses.replace` sets other limits.
    Names without a share have equal ones. Raises InputError for a name or form that is unknown, and for what
    the workload does not have.
    """
    several: Iterable[str | tuple[str, float]] = [work_on] if isinstance(work_on, str) else work_on
    if isinstance(work_on, Mapping):
        several = work_on.items()
    named = [(one, 1.0) if isinstance(one, str) else one for one in several]
    if gpus is not None and not all(isinstance(count, int) for count in gpus):
        raise InputError(f"gpus takes two numbers, not {gpus!r}", hint="gpus=(1, 8)")
    alone = named[0][0] if len(named) == 1 else ""
    preset = presets().get(alone)
    if len(named) > 1:
        named, of_preset = _without_presets(named)
        precision = precision or of_preset
    if form is not None and form not in forms():
        raise InputError(f"unknown form {form!r}", hint=f"known: {', '.join(forms())}")
    if alone.casefold() in DIFFUSION:
        if latency is not None:
            problem = f"a latency is of tokens, and {alone} makes none"
            raise InputError(problem, hint="leave it out; the answer says how fast images come")
        return _of_diffusion(alone.casefold(), mode, precision, work, gpus, form, steps)
    if alone and preset is None and is_model(alone, mode):
        return _of_model(alone, mode, precision, work, latency, gpus, form)
    mode = "finetune" if mode == "lora" else mode
    if mode is None and any(is_model(name, None) for name, _ in named):
        mode = "infer"  # As each is by itself
    if preset is not None:
        named, mode, precision = list(preset.workloads), mode or preset.mode, precision or preset.precision
        gpus, latency, form = gpus or preset.gpus, latency or preset.latency, form or preset.form
    taken = list[str]()
    shares = _shares(named, mode, taken)
    specs, whole = [registry.get(name).spec for name in shares], sum(shares.values())
    if work is not None and len(specs) > 1:
        problem = "a mix has no item of its own to count the work in"
        raise InputError(problem, hint="choose for one workload, or without an amount of work")
    notes: tuple[str, ...] = tuple(taken)
    if len(specs) > 1 and preset is None:
        said = sum(weight for _, weight in named)
        notes += ("one speed of a mix, its parts' geometric mean, compares GPUs and counts nothing",)
        notes += ("in 16 bits, as no precision is stated (--precision)",) * (precision is None)
        off = abs(said - 1) > 0.01 and abs(said - 100) > 1 and any(weight != 1 for _, weight in named)
        notes += (f"shares add up to {said:g}, so they are scaled",) * off
    if all(spec.item == "image-step" for spec in specs):
        mode = mode or "infer"  # People make images far more often than models of them
    if work is not None:
        work, more = _in_items(work, specs[0], mode, steps)
        notes += more
    if latency is not None:
        latency, mode, more = _of_step(latency, specs, mode)
        notes += more
    way, chosen = _way(specs, mode), _precision(specs, precision)
    # Requests that come again are shared out over as many GPUs as they take.
    again = mode == "infer" and work is not None and work.period_s
    halves = precision is None and chosen == Precision.BF16 and all("fp16" in s.precisions for s in specs)
    return _with(
        Need(
            workloads=tuple((name, weight / whole) for name, weight in shares.items()), mode=way,
            precision=chosen, fallback=Precision.FP16 if halves else None,
            gpus=gpus or (1, MOST_TOGETHER if again else 1), form=form, notes=notes,
        ),
        work, latency, specs[0].item.removesuffix("s"),
    )  # fmt: skip


Shares = Sequence[tuple[str, float]]


def _without_presets(named: Shares) -> tuple[list[tuple[str, float]], Precision | None]:
    """(the works that presets within a mix consist of, the precision of the first that has one)."""
    within = {name: presets().get(name) for name, _ in named}
    precision = next((each.precision for each in within.values() if each and each.precision), None)
    consists = {n: dict(each.workloads) if each else {n: 1.0} for n, each in within.items()}
    works = [
        (part, weight * share / sum(consists[name].values()))
        for name, weight in named
        for part, share in consists[name].items()
    ]
    return works, precision


def _shares(named: Shares, mode: Purpose | None, notes: list[str]) -> dict[str, float]:
    """The weight of each workload by its full name; `notes` get what stands in for another. Raises
    InputError where none is named, or is unknown."""
    # In a mix the time counts, so what a language model or a larger network of diffusion is like will do.
    like = dict(ALIASES)
    if len(named) > 1:
        like |= {model: ours for ours, model in reversed(_SIZES.items())}
        like |= {name.casefold(): _decoder_like(name) for name, _ in named if is_model(name, mode)}
        stood = {n: found for name, _ in named if (found := stand_in(n := name.casefold(), mode))}
        like |= {n: found.workload for n, found in stood.items()}
        notes += [found.words for found in stood.values()]
    shares: dict[str, float] = {}
    for name, weight in named:
        if name:  # A work that is named twice has both shares
            full = _workload(like.get(name.casefold(), name), mode)
            shares[full] = shares.get(full, 0.0) + weight
    if not shares:
        known = ", ".join(presets())
        raise InputError("which workload?", hint=f"name a workload, or one of {known}", code="workload")
    return shares


def _in_items(
    work: Work, spec: WorkloadSpec, mode: str | None, steps: int | None
) -> tuple[Work, tuple[str, ...]]:
    """The work in the workload's own items, and how they were counted."""
    if work.item == "image" and spec.item == "image-step":
        steps = steps or 50  # Each with and without the prompt (guidance)
        passes = 2 * steps if mode == "infer" else 1  # A step of training sees each of its images once
        note = f"an image is {steps} steps, each twice through the network for guidance"
        return work._replace(items=work.items * passes, item="image-step"), (note,) * (passes > 1)
    length = tokens_of(spec.title) if spec.item == "sequence" else 0
    if work.item == "token" and length:
        in_sequences = work._replace(items=work.items / length, item="sequence")
        return in_sequences, (f"counted in sequences of {length} tokens",)
    return work, ()


def _of_step(
    latency: Latency, specs: Sequence[WorkloadSpec], mode: Purpose | None
) -> tuple[Latency, Purpose | None, tuple[str, ...]]:
    """(the latency of a step of all workloads, the mode in which it is one, how it was taken). Raises
    InputError where a workload answers nothing, or not so."""
    if latency.kind == "step" and not any(spec.phase for spec in specs):
        if mode == "train":
            problem = f"a latency is of answers, and here {specs[0].id} learns"
            raise InputError(problem, hint="leave it out, or --mode infer")
        return latency, "infer", (f"each step of a batch within {units.seconds(latency.seconds)}",)
    # A token comes from a decode step, the first one from a prefill step.
    latency = latency._replace(kind="TTFT" if latency.kind == "TTFT" else "TPOT")
    phase = _PHASES[latency.kind]
    wrong = next((spec.id for spec in specs if spec.phase != phase), None)
    if wrong is not None:
        problem = f"{latency.kind} is of a {phase} workload, not of {wrong}"
        one = f"; one {specs[0].item.removesuffix('s')} at a time: --batch 1"
        raise InputError(problem, hint=f"choose a {phase} workload{one}")
    if latency.first_s is not None:
        problem = f"{specs[0].id} makes no first token, only later ones"
        raise InputError(problem, hint="limit both of a served model, as served:llama-3.1-8b")
    return latency, mode, ()


def _way(specs: Sequence[WorkloadSpec], mode: str | None) -> Mode:
    """The mode that all workloads have. Raises InputError where there is none."""
    wanted = {"finetune": "train", None: ""}.get(mode, mode)
    modes = [each for each in specs[0].modes if all(each in spec.modes for spec in specs)]
    if (wanted and wanted not in modes) or not modes or modes[0] == "limit":
        names = ", ".join(spec.id for spec in specs)
        if len(specs) > 1 and not wanted:
            raise InputError(f"{names} have no mode in common", hint="choose for each of them by itself")
        if not modes or modes[0] == "limit":
            problem = f"{names} measures a limit of the hardware, which no GPU is chosen for"
            raise InputError(problem, hint="see what is measured", code="modes")
        raise InputError(f"{names} has no mode {mode}", hint="see its modes", code="modes")
    return next(each for each in modes if wanted in ("", each))


def _precision(specs: Sequence[WorkloadSpec], precision: str | None) -> Precision:
    """The precision asked for, else one that all workloads have: bf16, or where one lacks it the first of its
    own. Raises InputError where one does not run in it."""
    shared = [p for p in specs[0].precisions if all(p in spec.precisions for spec in specs)]
    if precision is not None and precision not in shared:
        lacking = next(spec.id for spec in specs if precision not in spec.precisions)
        hint = f"precision {' or '.join(shared)}{', or each work by itself' * (len(specs) > 1)}"
        raise InputError(f"{lacking} does not run in {precision}", hint=hint)
    return Precision(precision or (Precision.BF16 if Precision.BF16 in shared else shared[0]))


def tokens_of(title: str) -> int:
    """Tokens of a sequence, by the title of what runs it; 0 where it has none."""
    found = re.search(r"([\d,]+) tokens", title)
    return int(found[1].replace(",", "")) if found else 0


class StandIn(NamedTuple):
    """The workload that is most like a name which is not one (`whisper`, `flux`)."""

    workload: str
    mode: Mode
    words: str  # That it stands in, and how much of it that is
    runs: float  # Of its items for one of what was named; 0 where that is not known
    item: str  # Of what was named
    gb: float = 0.0  # That it takes itself; 0 where that is not known


def stand_in(name: str, mode: str | None) -> StandIn | None:
    """What stands in for a name; None where nothing is like it."""
    if name in DIFFUSION:
        images = _of_diffusion(name, mode, None, None, None, None)
        return StandIn(
            images.workloads[0][0], images.mode, images.notes[0], images.passes, "image", images.least_gb or 0
        )
    from gpuwise.judge.choose import rules  # which read the words here

    rows = catalog.rows(DATA / "stand_ins.csv")
    row = next((row for row in rows if rules.fullmatch(row["words"], name)), None)
    if row is None or mode not in ("train", "infer", None):
        return None
    way = cast("Mode", mode or row["usual"])
    counted, item = row["counted"] == "yes", registry.get(row[way]).spec.item.removesuffix("s")
    times = f", {float(row['runs']):g} of its items for one" if counted else UNCOUNTED
    words = stands_in(name, row, row[way]) + times
    runs, gb = float(row["runs"]) if counted else 0.0, float(row[f"gb_{way}"])
    return StandIn(row[way], way, words, runs, item, gb)


# Of a stand-in, by which GPUs compare and nothing is counted.
UNCOUNTED = ", and its items a second are not those of yours"


def stands_in(said: str, row: Mapping[str, str], like: str) -> str:
    """That a workload is taken for what was said, and why."""
    return f"{said}: no workload here is just that, {like} stands in ({row['because']})"


def _decoder_like(name: str) -> str:
    """Our own decoder of about the size of a language model; the name itself where there is none."""
    from gpuwise.facts import llms

    size = llms.find(name.removeprefix(SERVED)).parameters
    near = (ours for ours, theirs in _SIZES.items() if 0.5 < llms.find(theirs).parameters / size < 2)
    return next(near, name)


@cache
def names() -> Mapping[str, None]:
    """Of all work but language models, in order."""
    return dict.fromkeys((*registry.names(), *ALIASES, *DIFFUSION, *presets()))


def is_work(text: str) -> bool:
    """Whether a text names work, of any kind."""
    from gpuwise.facts import llms

    name = text.casefold()
    return name in names() or llms.known(name) or bool(llms.note(name)) or stand_in(name, None) is not None


def is_question(text: str) -> bool:
    """Whether it is a sentence, or a word of one ("llama"), rather than the name of a workload, or a list of
    them with shares."""
    text = text.strip()
    name = text.casefold()
    listed = all(re.fullmatch(r"\s*\S+(?: \S+)?(?:=.*|\s+[\d.]+\s*%)", part) for part in text.split(","))
    if listed or name in names():
        return False
    sized = re.fullmatch(r"(?:\d+x)?\d+(?:\.\d+)?[bm](?:-a\d+(?:\.\d+)?b)?", name)  # "72b", "30b-a3b"
    word = text.isalpha() or not text.isascii()
    return " " in text or word or bool(sized or stand_in(name, None))


def unknown(name: str) -> InputError:
    """The error for a text in which no name means anything here, with the nearest names that do."""
    from gpuwise.facts import llms

    known = (*names(), *llms.names())
    near: list[str] = []
    for word in re.findall(r"[\w.+-]{4,}", name.casefold().removeprefix(SERVED)):
        near += difflib.get_close_matches(word, known, n=3, cutoff=0.6 if word == name.casefold() else 0.8)
        near += [each for each in presets() if word == name.casefold() and word in each]
        # Of one family ("llama-5") where nothing is spelt alike.
        family = re.match(r"[a-z]{4,}(?=[\d.-]|$)", word)
        near += [each for each in known if family and each.startswith(family[0])][: 3 - len(near)]
    kinds = "a language model (llama-3.1-8b), a network (resnet50, bert-large) or images (sdxl, flux)"
    guess = f"did you mean {' or '.join(dict.fromkeys(near[:3]))}?" if near else f"known: {kinds}"
    if " " in name.strip() and not near:  # A question, of which the work is missing
        guess += "; a question that has an answer: 'serve llama-3.1-70b to 20 people in 4 bits'"
    return InputError(f"unknown workload {name[:80]!r}; {guess}", hint="see all names", code="workload")


def most_at_home(need: Need) -> int:
    """The most cards at home: one, or several for a served model whose shortest weights one does not hold."""
    from gpuwise.facts import llms

    name = need.workloads[0][0]
    if need.task != "infer" or not llms.known(name):
        return 1
    weights = llms.weight_bytes(llms.find(name), (need.formats or (need.precision,))[-1])
    return MOST_AT_HOME if weights > HOME_BYTES else 1


def is_model(name: str, mode: str | None) -> bool:
    """Whether a name means a language model of `facts.llms` rather than a built-in workload."""
    if name.startswith(SERVED) or (mode in TASKS[1:] and name in _SIZES):
        return True
    ours = {name + ending for endings in ENDINGS.values() for ending in endings}
    if ours & set(registry.names()) or name.casefold() in ALIASES:
        return False
    from gpuwise.facts import llms  # where no name of ours is meant

    if not llms.is_file(name):
        return llms.known(name)  # A question has hundreds of words: none needs the nearest names
    try:
        llms.find(name)
    except InputError:
        return False
    return True


def _of_diffusion(
    name: str, mode: str | None, precision: str | None, work: Work | None, gpus: tuple[int, int] | None,
    form: str | None, steps: int | None = None,
) -> Need:  # fmt: skip
    """The need of images of a diffusion model that no workload runs: so many runs of one that does. To learn
    from an image takes one pass."""
    model = DIFFUSION[name]
    gpus = gpus or ((1, MOST_TOGETHER) if work is not None and work.period_s else None)
    learns, adapters = mode not in (None, "infer"), mode in ("lora", "qlora", "finetune")
    base = need_for(model.like, mode="train" if learns and not adapters else "infer", precision=precision,
                    gpus=gpus, form=form)  # fmt: skip
    steps = 1 if learns else steps or model.steps
    runs = model.runs * (OF_ADAPTERS if adapters else 1 if learns else steps * model.guided)
    how = "adapters learn" if adapters else "all weights learn" if learns else f"{steps} steps"
    title = f"adapters of {name}" if adapters else name
    note = f"{model.words}, {how}: an image counts as {runs:,.0f} runs of {model.like}, by its operations"
    # All weights learn with gradients and moments in 16 bits, 8 bytes each, at the least.
    least_gb = model.gb if not learns else model.gb_lora if adapters else 8 * model.weights / 1e9
    return _with(
        replace(base, title=title, passes=runs, least_gb=least_gb, notes=(note,)), work, None, "image"
    )


def _of_model(
    name: str, mode: str | None, precision: str | None, work: Work | None, latency: Latency | None,
    gpus: tuple[int, int] | None, form: str | None,
) -> Need:  # fmt: skip
    """The need of a language model to be served or trained."""
    from gpuwise.facts import llms

    model = llms.find(full := _SIZES.get(name, name).removeprefix(SERVED))
    words = {None: "infer", "train": "full", "finetune": "lora"}
    task = next((each for each in TASKS if each == words.get(mode, mode)), None)
    if task is None:
        raise InputError(f"{model.name} has no mode {mode}", hint=f"one of {', '.join(TASKS)}")
    if precision is not None and Precision(precision) not in WEIGHTS:
        raise InputError(f"no weights are kept in {precision}", hint=f"one of {', '.join(WEIGHTS)}")
    if latency is not None and task != "infer":
        raise InputError(f"a latency is of answers, and here {model.name} learns", hint="leave it out")
    # Who limits the first token alone reads along like others.
    alone = latency is None or latency.kind == "TTFT"
    first_s = latency and (latency.seconds if alone else latency.first_s)
    limit = Latency("TPOT", USUAL_TPOT_S, first_s) if alone and task == "infer" else latency
    limit = limit._replace(kind="TPOT") if limit and limit.kind == "step" else limit
    notes = [USUAL_NOTE] if alone and task == "infer" else []
    notes += [f"the first token within {units.seconds(first_s)}"] if first_s is not None else []
    plain = name.removeprefix(SERVED).casefold()
    said, own = (re.sub(r"[^a-z\d]", "", each) for each in (plain, model.name))
    if own not in said and name not in _SIZES and not llms.is_file(name):
        notes.append(f"{re.sub(_FORMAT, '', plain)} is taken as {model.name}")
    learns = ALL_LEARN if task == "full" else f"adapters, by {task}"
    notes += [learns] if task != "infer" else []
    formats: tuple[Precision, ...] = ()
    if task == "infer" and precision is None and (precision := llms.named_format(name)):
        notes.append(f"weights in {precision}, as the model's name says")
    if task == "infer" and precision is None:
        # As engines serve: as published, in 8 bits where the card computes in them, in 4.
        published_in_4 = model.name.startswith("gpt-oss")
        formats = (Precision.MXFP4,) if published_in_4 else (Precision.BF16, Precision.FP8, Precision.INT4)
        kept = "mxfp4" if published_in_4 else "bf16, fp8 or int4, whichever is fastest"
        notes.append(f"weights in {kept}, or in llama.cpp's where others do not run (--precision)")
    named = full if llms.is_file(full) else model.name
    need = Need(
        workloads=((named, 1.0),), mode="infer" if task == "infer" else "train", task=task,
        precision=Precision(precision) if precision else formats[0] if formats else FORMATS[task],
        formats=formats, gpus=gpus or (1, MOST_TOGETHER), form=form, notes=tuple(notes),
    )  # fmt: skip
    return _with(need, work, limit, "token")


def _with(need: Need, work: Work | None, latency: Latency | None, item: str) -> Need:
    """The need with its work. Raises InputError for one that is counted in something else."""
    if work is not None and work.item != item:
        problem = f"{need.title or need.workloads[0][0]} counts {item}s, the work {work.item}s"
        raise InputError(problem, hint=f"state the work in {item}s")
    if work is not None and work.period_s and work.period_s < 3600:  # A load is counted by the hour
        work = work._replace(items=work.items * 3600 / work.period_s, period_s=3600.0)
    return replace(
        need, items=work.items if work else None, period_s=work.period_s if work else None,
        latency_s=latency.seconds if latency else None, latency_kind=latency.kind if latency else "TPOT",
        first_token_s=latency.first_s if latency else None,
    )  # fmt: skip


def settled(need: Need) -> Need:
    """The need with what only all its parts together tell. Raises InputError where they contradict."""
    said = list[str]()
    unlimited = need.acquire == "rent" and need.items is None and need.budget_usd is None
    if need.users > 1 and unlimited and (need.task != "infer" or need.concurrent):
        need = replace(need, goal="price")
        said.append("by the price of an hour: a person alone keeps no fast machine busy")
    if need.either and need.budget_usd is not None and need.goal == "speed":
        need = replace(need, goal="cost")  # A budget bounds what is bought: rent has no use for all of it
    once = need.items is not None and (need.period_s is None or need.batched)
    if USUAL_NOTE in need.notes and ((once and not need.concurrent) or need.rate):
        # Nobody reads along while a batch is made, and who states a speed knows what is enough.
        notes = tuple(note for note in need.notes if note != USUAL_NOTE)
        need = replace(need, latency_s=None, notes=notes)
    said += [f"batches of {need.batch}"] if need.batch else []
    said += [
        f"of {there} x {gpu} {MOST_TOGETHER} count: of several machines together no speed is known"
        for gpu, there in Counter(need.have).items()
        if there > MOST_TOGETHER
    ]
    if need.mode == "compute" and need.gpus[1] > 1:
        said.append("several GPUs count as jobs side by side: what one job on all of them loses is not known")
    if need.task:
        people = need.concurrent or need.users
        # Of many who talk at once each has half of what one may hold, as a mean.
        usual = CONTEXTS[need.task] // (2 if need.task == "infer" and people > 1 else 1)
        from gpuwise.facts import llms  # of language models alone

        name = need.workloads[0][0]
        most = llms.find(name).context if llms.is_file(name) or llms.known(name) else None
        context = need.context or min(usual, most or usual)
        need = replace(need, context=context)
        said.append(f"contexts of {context:,} tokens")
        if most and context > most:
            said[-1] += f", beyond the {most:,} that {name} was made for"
        if need.task == "infer" and not need.reads:
            first = need.first_token_s is not None or need.latency_kind == "TTFT"
            said += [f"the first token: of a prompt of {context:,}, with no other before it"] * first
            said += ["speeds are of tokens written, without the time to read prompts"] * (need.items is None)
        if need.task == "infer" and need.items is None:
            # People who use one machine together, or who have it at home.
            together = need.concurrent or (need.users if need.users > 1 else int(need.acquire == "own"))
            together = 0 if need.asks == "at once" else together
            if together:
                # Each with a machine of their own, where somebody says so.
                need = replace(need, concurrent=together, users=need.users if need.concurrent else 1)
                said.append(f"for {together} people at once" if together > 1 else ONE_READER)
            elif not need.asks:
                said.append(ALL_HELD)
    # A need that was kept with its answer has them already.
    need = replace(need, notes=tuple(dict.fromkeys((*need.notes, *said))))
    check(need)
    return need


def check(need: Need) -> None:
    """Raise InputError for parts of a need that contradict each other or say what cannot be."""
    a, form = need.assumptions, f"unknown form {str(need.form)[:40]!r}"
    years = max(a.years, (need.hire_h or 0.0) / HOURS_PER_YEAR)
    only = [catalog.get(gpu) for gpu in (*need.only, *(gpu for gpu, _ in need.sets))]
    used, again = f"{a.hours_per_week:g} hours of use a week", need.period_s is not None
    for wrong, problem, hint in (
        (not need.workloads, "no work is named", "a workload or a preset"),
        (need.form is not None and need.form not in forms(), form, f"one of {', '.join(forms())}"),
        (
            bool(only) and need.form in forms() and not any(has_form(gpu, need.form or "") for gpu in only),
            f"none of the GPUs that are named, of {' and '.join(sorted({str(gpu.vendor) for gpu in only}))}, "
            f"is of the form {need.form}",
            f"theirs: {', '.join(sorted({gpu.text('form') or '' for gpu in only}))}",
        ),
        (
            need.acquire == "rent" and need.form in ("laptop", "mobile"),
            "laptops and small computers are sold, not rented", "buy one, or rent a GPU without that form",
        ),
        (need.acquire not in get_args(Acquire), f"own, rent or both, not {need.acquire!r}", "rent or own"),
        (not 0 < a.hours_per_week <= 168, used, "more than 0, and at most the 168 hours of a week"),
        (years > MOST_YEARS, f"{years:,.0f} years: no GPU is of use so long", f"at most {MOST_YEARS}"),
        (a.cooling < 1, "cooling multiplies the watts and is at least 1", "a factor like 1.3"),
        (not a.utilisation, "with a utilisation of 0 % no work gets done", "a share like 80%"),
        (
            need.deadline_s is not None and need.items is None,
            "a deadline needs an amount of work", f"state the work, like '1M {item_of(need)}s'",
        ),
        (
            need.deadline_s is not None and again,
            "work that comes again has no deadline", "leave out the deadline, or the period of the work",
        ),
    ):  # fmt: skip
        if wrong:
            raise InputError(problem, hint=hint)
    for gpu in need.have:
        catalog.get(gpu)


def item_of(need: Need) -> str:
    """What the work and its throughput are counted in."""
    if need.task:
        return "token"
    items = {registry.get(name).spec.item for name, _ in need.workloads}
    if need.passes != 1 and need.title:
        return "image"
    return items.pop() if len(items) == 1 else "item"


def _workload(name: str, purpose: str | None) -> str:
    """A workload's full name for a purpose. Raises InputError for an unknown one."""
    mode, known = "train" if purpose == "finetune" else purpose, set(registry.names())
    for ending in ENDINGS.get(purpose or "", ("",)):
        full = name + ending
        if full in known and mode in (None, *registry.get(full).spec.modes):
            return full
    if name not in known:
        others = [p for p, endings in ENDINGS.items() if known & {name + e for e in endings if e}]
        if others:
            no = f"{name} has no mode {purpose}"
            problem = no if purpose else f"which mode of {name}?"
            raise InputError(problem, hint=f"mode {' or '.join(others)}")
    try:
        return registry.get(name).spec.id
    except InputError as error:
        raise unknown(name) if error.code == "workload" else error from None


T = TypeVar("T")
OK = ("ok", "no")
MODES = ("train", "infer", "finetune", "compute", "full", "lora", "qlora")


class Field(NamedTuple):
    """One option: `--hours-per-week`, and the same name in the page's address."""

    name: str
    group: str
    like: str  # How a value is written
    help: str
    choices: tuple[str, ...] = ()
    flag: bool = False
    many: bool = False  # May be repeated
    also: frozenset[str] = frozenset()  # Words of names that people try for it


FIELDS = tuple(
    Field(
        **{name: row[name] for name in ("name", "group", "like", "help")},
        choices=tuple(filter(None, row["choices"].split(";"))), flag=bool(row["flag"]),
        many=bool(row["many"]), also=frozenset(row["also"].split()),
    )
    for row in catalog.rows(DATA / "options.csv")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Options:
    """The texts of options by their names, and the USD of a currency."""

    texts: Mapping[str, Any]
    rates: Mapping[str, float]

    def read(self, name: str, parse: Callable[[str], T]) -> T | None:
        text = self.texts.get(name)
        return parse(str(text)) if text else None

    def positive(self, name: str, unit: str = "") -> float | None:
        return self.read(name, lambda text: units.parse_positive(text, f"--{name}", unit))

    def count(self, name: str) -> int | None:
        return self.read(name, lambda text: units.parse_count(re.sub(r"(?<=\d)k$", "000", text), f"--{name}"))

    def usd(self, name: str, per: str = "", **limits: Any) -> float | None:
        """A sum, of dollars where no currency stands there."""
        typed = re.sub(r"^\s*([\d.,]+)\s*$", rf"$\1{per}", str(self.texts.get(name) or ""))
        return units.parse_usd(typed, self.rates, **limits)[0] if typed else None

    def list(self, name: str) -> tuple[str, ...]:
        value = self.texts.get(name)
        texts = [value] if isinstance(value, str) else value or ()
        return tuple(part for text in texts for part in units.parse_list(text))

    def assumed(self) -> dict[str, Any]:
        """The assumptions that options state."""
        return _stated(
            electricity_usd_per_kwh=self.usd(
                "electricity", "/kWh", most=units.MOST_USD_PER_KWH, example="'$0.30/kWh'"
            ),
            host_usd=self.usd("host", free=True, example="$1500"),
            hours_per_week=self.positive("hours-per-week"), years=self.positive("years"),
            cooling=self.positive("cooling"), host_w=self.positive("host-power", "W"),
            max_age_days=self.read("newer-than", units.parse_days),
            aged_today=True if self.texts.get("newer-than") else None,
            depreciation=self.read("depreciation", lambda text: units.parse_share(text, most=1)),
            utilisation=self.read("utilisation", lambda text: units.parse_share(text, most=1)),
        )  # fmt: skip

    def limits(
        self, need: Need, budget: tuple[float, str | None] | None, have: Sequence[str],
        today: date | None,
    ) -> dict[str, Any]:  # fmt: skip
        """The fields of a need that options state."""
        given, term = self.texts, self.texts.get("reserved")
        hourly = budget is not None and budget[1] == "hour" and not (have or given.get("upgrade"))
        users, egress = self.count("users"), self.read("egress", units.parse_memory_range)
        providers = tuple(PROVIDERS.get(name.casefold(), name) for name in self.list("provider"))
        # Only rent has a provider or a price per hour: who names one of these asks what to rent.
        way = "rent" if providers or hourly else "own" if given.get("upgrade") else None
        # People share a served model: one person, too, who was named.
        shared = users if need.task == "infer" else None
        return _stated(
            compiled=False if given.get("compile") == "off" else None, batch=self.count("batch"),
            deadline_s=self.read("deadline", lambda text: units.parse_deadline(text, today or date.today())),
            budget_usd=budget[0] if budget else None,
            budget_per_hour=budget[1] == "hour" if budget else None,
            budget_per_month=budget[1] == "month" if budget else None,
            acquire=given.get("acquire") or way, providers=providers or None,
            users=None if shared else users, concurrent=shared,
            context=self.read("context", lambda text: units.parse_counts(text, "a context")[0]),
            sold={"new": ("new",), "used": ANY_USED}.get(given.get("condition") or ""),
            egress_gb=egress[0] if egress else None,
            memory_gb=self.read("memory", units.parse_memory_range), power_w=self.positive("power", "W"),
            outlet_w=self.positive("outlet", "W"), slots=self.positive("slots"), have=tuple(have) or None,
            reserved=(bool(term) and term != "no") or None, region=given.get("region") or None,
            most_commitment_h=units.parse_seconds(term) / 3600 if term and term not in OK else None,
            quiet=bool(given.get("quiet")) or None, upgrade=bool(given.get("upgrade")) or None,
            community={"ok": True, "no": False}.get(given.get("community") or ""),
            **{name: True for name in ("spot", "serverless", "unproven") if given.get(name) == "ok"},
        )  # fmt: skip

    def lengths(self, need: Need) -> tuple[dict[str, Any], str]:
        """(what prompts and answers of a served model set, how they are counted). Raises InputError for work
        that has none."""
        prompt, answer = self.count("prompt"), self.count("answer")
        if not (prompt or answer):
            return {}, ""
        if need.task != "infer":
            raise InputError("prompts and answers are of a served model", hint="served:llama-3.1-8b")
        answer = answer or int(USUAL.answer)
        note = (
            f"each answer of {answer:,} tokens follows a prompt of {prompt:,}, counted, too" if prompt else ""
        )
        lengths = {"context": (prompt or 0) + answer, "reads": (prompt or 0) / answer}
        return lengths, "" if need.reads else note


class _Said(NamedTuple):
    """What a workload or a question says, before limits of other options."""

    need: Need
    purpose: str | None  # As it was said: `finetune` leaves the method open
    currency: str = ""  # Of the sums of a question
    hours: bool = False  # Whether the hours of use a week were stated
    counted: bool = False  # And the number of GPUs
    asking: bool = False  # By a question in words


def need_of(
    workload: str | None, given: Mapping[str, Any], rates: Mapping[str, float], *,
    load: Callable[[str], Result | None] = lambda name: None, today: date | None = None,
) -> tuple[Need, list[Result]]:  # fmt: skip
    """The need that a workload, or a question in words, and options state, and the results among `have`.

    `given` has an option's text by its name; `rates` USD of a currency; `load` reads a result where a name is
    one; deadlines count from `today`. Raises InputError for what cannot be read.
    """
    options = _Options(given, rates)
    said = _said(workload, options, today)
    have, results = _have(options.list("have"), load)
    named = [catalog.counted(name) for name in options.list("gpu")]
    ids = [(spec.id, number or 1) for name, number in named for spec in catalog.meant(name)]
    sets = tuple(ids) if any(number for _, number in named) else ()
    sizes = [number for _, number in sets]
    only = () if sets else tuple(gpu for gpu, _ in ids)
    budget = options.read("budget", lambda text: _budget(text, rates))
    assumed = options.assumed()
    limits = options.limits(said.need, budget, have, today)
    limits |= _stated(
        sets=sets or None, only=only or None,
        gpus=(min(sizes), max(sizes)) if sets and not given.get("gpus") else None,
        # What was measured of no card that is named is said as well as it is known.
        unproven=(bool(ids) and all(catalog.get(gpu).vendor != "NVIDIA" for gpu, _ in ids)) or None,
    )  # fmt: skip
    of_rent = next((name for name in ("provider", "region", "egress") if given.get(name)), "")
    if of_rent and given.get("acquire") == "own":
        problem = f"the {of_rent} is of rent, and only what is bought was asked for"
        raise InputError(problem, hint="leave one of them out")
    need = said.need
    if "context" in limits and not need.task:
        problem = f"a context is of a language model by name, not of {need.title or need.workloads[0][0]}"
        raise InputError(problem, hint="leave it out, or name a model: llama-3.1-8b")
    lengths, note = options.lengths(need)
    need = replace(need, assumptions=replace(need.assumptions, **assumed), **(lengths | limits))
    need = _noted(need, said, options, note)
    buys = need.acquire == "own" and budget is not None and budget[1] is None
    if buys and need.items is None and not (said.asking or options.count("users") or given.get("latency")):
        need = replace(need, goal="speed")  # As where a question names a sum: the most that the money buys
    return _counted(need, said, options, only), results


def _said(workload: str | None, options: _Options, today: date | None) -> _Said:
    """What the workload says, or the question, with the options that are of the work."""
    if len(workload or "") > LONGEST_QUESTION:
        problem = f"a question has at most {LONGEST_QUESTION:,} characters, not {len(workload or ''):,}"
        raise InputError(problem, hint="leave out what the choice does not depend on")
    given = options.texts
    workload, work = _work_in_words(workload, given)
    if "%" in (work or "") and not workload:  # the shares of a mix are work, too
        workload, work = work, None
    stated: dict[str, Any] = {
        "mode": given.get("mode") or None, "precision": given.get("precision") or None,
        "work": units.parse_work(work) if work else None, "form": given.get("form") or None,
        "latency": options.read("latency", units.parse_latency),
        "gpus": options.read("gpus", units.parse_count_range),
    }  # fmt: skip
    purpose, hours, counted = stated["mode"], bool(given.get("hours-per-week")), bool(stated["gpus"])
    if workload and is_question(workload):
        from gpuwise.judge.choose import ask

        asked = ask.read(workload, options.rates, today)
        need = ask.need_of(asked, stated)
        hours |= "hours_per_week" in asked.assumed
        counted |= asked.gpus is not None and need.asks != "number"
        return _Said(need, purpose or asked.mode, asked.currency, hours, counted, asking=True)
    shares = []
    for part in units.parse_list(workload or ""):
        name, equals, weight = re.sub(r"\s+([\d.]+)\s*%$", r"=\1", part).rpartition("=")
        one = units.parse_positive(weight.rstrip("% "), f"the weight of {name}") if equals else 1.0
        shares.append((name.strip() if equals else part, one))
    served = _SIZES.get((workload or "").removesuffix("-decode"))
    if served and (options.count("users") or 1) > 1 and purpose in (None, "infer"):
        shares = [(f"{SERVED}{served}", 1.0)]  # Nobody buys each of them a machine
    return _Said(need_for(shares, **stated), purpose, hours=hours, counted=counted)


def _work_in_words(workload: str | None, given: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """(workload, work), as one question where an amount needs to be read as in one: "2000 hours of audio",
    "3M tokens/night", "5 lakh images"."""
    work = given.get("work")
    texts = r"\b(?:request|sample|example|document|conversation|message|prompt|record|hour|h)s?\b"
    if work and workload and (not units.is_work(work) or re.search(texts, work)):
        from gpuwise.judge.choose import rules
        from gpuwise.judge.choose.amounts import quantities
        from gpuwise.judge.choose.wording import plainly

        tuned = "fine-tune " * (given.get("mode") in ("finetune", *TASKS[1:]))
        sizes = [(name, given[name]) for name in ("prompt", "answer") if given.get(name)]
        told = "".join(f", {name}s of {size} tokens" for name, size in sizes)
        plain = plainly(text := f"{tuned}{workload}: {work}{told}")
        if quantities(plain) or rules.search(rules.P.gpu_hours, plain):
            return text, None
    return workload, work


def _have(names: Sequence[str], load: Callable[[str], Result | None]) -> tuple[list[str], list[Result]]:
    """(GPUs that are there, results of them): a result file says both what is there and how fast it is."""
    from gpuwise.judge.choose.speeds import gpu_of  # numpy, which --help does without

    have: list[str] = []
    results: list[Result] = []
    for text in names:
        if (result := load(text)) is not None:
            results.append(result)
            have.append(gpu_of(result))
        else:
            name, number = catalog.counted(text)
            have += [catalog.resolve(name).spec.id] * (number or 1)
    return have, results


def _noted(need: Need, said: _Said, options: _Options, note: str) -> Need:
    """The need with how options were taken, and the currency of its sums."""
    given, notes, rates = options.texts, [*need.notes, *[note] * bool(note)], options.rates
    late = given.get("latency") or ""
    if given.get("upgrade"):
        notes.append(REPLACED)
    if said.hours and need.assumptions.hours_per_week == Assumptions().hours_per_week:  # As the default
        notes.append(HOURS_STATED.format(need.assumptions.hours_per_week))
    of_token = need.latency_s and need.latency_kind == "TPOT" and late
    if of_token and not re.search(r"^\s*t[pt]|/s", late, re.IGNORECASE):
        first = f"TTFT<={late.strip()}"
        notes.append(f"{late} is the time of each token (TPOT); of the first one it would be '{first}'")
    sums = (given.get("budget"), given.get("electricity"), given.get("host"))
    if code := said.currency or _currency(sums, rates):
        need = replace(need, currency=(code, rates[code]))
        notes += ["¥ is taken as yen; CNY is yuan"] * ("¥" in (given.get("budget") or "") and code == "JPY")
    return replace(need, notes=tuple(notes))


def _counted(need: Need, said: _Said, options: _Options, only: Sequence[str]) -> Need:
    """The need with the hours and numbers of GPUs that people mean where they state none; `only`: the cards
    that an option names."""
    people = need.concurrent or need.users
    if need.task == "infer" and people > 1 and need.items is None and not (said.hours or need.at_home):
        # Many people are served at all hours, unless somebody says so.
        always = replace(need.assumptions, hours_per_week=168.0)
        need = replace(need, assumptions=always, notes=(*need.notes, ALL_HOURS))
    if options.texts.get("gpus") and need.users == 1:
        need = replace(need, one_machine=True)
    there = need.assumptions.host_usd == 0 and need.acquire == "own" and not need.sets
    if there and not options.texts.get("gpus") and need.gpus == (1, MOST_TOGETHER):
        # In a machine that is there one card is meant; where it is not enough, the job tries more.
        need = replace(need, gpus=(1, max(1, len(need.have))), at_home=True)
    desk = bool(only) and all(catalog.get(gpu).text("segment") in ("consumer", "workstation") for gpu in only)
    if desk and need.task == "infer" and need.acquire == "own" and not (said.counted or need.have):
        need = replace(
            need, sets=tuple((gpu, 1) for gpu in only), only=(), gpus=(1, 1)
        )  # Each is one's only card
    free = not (said.counted or need.sets)
    if need.users > 1 and need.task in TASKS[1:] and need.items is None and free:
        need = replace(need, gpus=(1, 1))  # For each person one card; the job tries more
    if need.deadline_s and need.mode == "infer" and free and not need.have:
        need = replace(need, gpus=(1, MOST_APART))  # Each does its part: as many as keep the deadline
    if said.purpose == "finetune" and need.task == "lora" and not options.texts.get("precision"):
        need = _by_what_fits(need)
    return need


def _budget(text: str, rates: Mapping[str, float]) -> tuple[float, str | None]:
    """A sum, of dollars where no currency stands there, also as it is written in a question: "8000 zł"."""
    if re.match(r"\s*-", text):
        raise InputError(f"a budget of {text[:80]}", hint="a sum above 0, such as $3000")
    if re.match(r"\s*0\d", text):
        raise InputError(f"a budget of {text[:80]}", hint=IN_SHELLS)
    try:
        return units.parse_budget(re.sub(r"^\s*([\d.,]+\s*k?)\s*($|/.*|a .*|per .*)", r"$\1\2", text), rates)
    except InputError:
        from gpuwise.judge.choose.wording import plainly

        if (plain := plainly(text)) == " ".join(text.casefold().split()):
            raise
        return units.parse_budget(plain, rates)


def _currency(sums: Sequence[str | None], rates: Mapping[str, float]) -> str:
    """The code of the first currency of these sums that is not the dollar; empty without one."""
    known, said = {*rates} - {"USD"}, [text for text in sums if text]
    if code := units.currency_of(" ".join(said), known):
        return code
    if all(re.match(r"\s*\$?[\d.,]+\s*k?\s*(?:[/$]|usd|$)", text, re.IGNORECASE) for text in said):
        return ""
    from gpuwise.judge.choose.wording import plainly

    return units.currency_of(" ".join(map(plainly, said)), known)


def _by_what_fits(need: Need) -> Need:
    """Fine-tuning says no method: where 16 bits do not fit in what is there, or was asked for, 4 may."""
    from gpuwise.facts import llms
    from gpuwise.predictor.fit import USABLE, Plan, memory

    sizes = [catalog.get(gpu).memory_bytes or 0.0 for gpu in need.have]
    if not sizes and need.memory_gb and need.memory_gb[1]:
        sizes = [need.memory_gb[1] * 2**30] * need.gpus[1]
    if not sizes:
        return need
    model = llms.find(need.workloads[0][0])
    plan = Plan(
        model=model, task="lora", context=CONTEXTS["lora"], gpus=len(sizes), checkpoint=True, chunked=True
    )
    needed = sum(size for _, size in memory(plan))
    if needed <= USABLE * min(sizes):
        return need
    where = "what you have" if need.have else "what was asked for"
    note = f"by qlora: adapters in {need.precision} take {needed / 2**30:,.0f} GiB a GPU, more than {where}"
    return replace(need, task="qlora", precision=FORMATS["qlora"], notes=(*need.notes, note))


def _stated(**values: Any) -> dict[str, Any]:
    """What was stated; the rest stays as it is."""
    return {name: value for name, value in values.items() if value is not None}
