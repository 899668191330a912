"""Workloads by name: the built-in ones as `module:attribute`, imported when asked for, and foreign ones.

A workload is its specification (no torch needed) and the function that builds its job (torch):

@workload(WorkloadSpec(id="my-net", ...))
def my_net(config: RunConfig, batch: int) -> Job:
    import torch            # inside, so that listing workloads stays fast
    ...
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, lru_cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwise.errors import InputError, guess
from gpuwise.model.precision import Precision
from gpuwise.model.question import MODES, Cost, Mode, Question, RunConfig, Switches, WorkloadSpec

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

DIGITS = 12  # Of a digest: enough to distinguish a user's files.
Build = Callable[[RunConfig, int], "Job"]
# Switches of whatever is compiled and made of repeated blocks.
REPEATED = ("compile_scope", "compiler", "graph")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`build(config, batch)` allocates model and input on `config.device` and returns the job."""

    spec: WorkloadSpec
    build: Build
    # By what another process finds it, where that is not its id: the full path of a file, say.
    reference: str | None = None

    @property
    def content(self) -> str | None:
        """Digest of the file that a user's own workload is in; None where it is in none."""
        path, mark, _ = (self.reference or "").removeprefix("hf:").rpartition(".py:")
        file = Path(f"{path}.py" if mark else (self.reference or "").removeprefix("hf:"))
        if file.suffix not in (".py", ".json") or not file.is_file():
            return None
        return sha256(file.read_bytes()).hexdigest()[:DIGITS]


def workload(spec: WorkloadSpec) -> Callable[[Build], Workload]:
    """Turn a build function into a Workload."""
    return lambda build: Workload(spec=spec, build=build)


# Bytes that AdamW and the passes move of a parameter in a step: 28 (weight, gradient, two moments read, three
# written) and 12.
ADAMW_BYTES = 40
TABLE = Path(__file__).with_name("built_in.toml")


@cache
def _built_in() -> dict[str, tuple[str, dict[str, Any]]]:
    """Each built-in workload of the table by its name: its module, and what is stated of it."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    workloads: dict[str, tuple[str, dict[str, Any]]] = {}
    for module, stated in table.items():
        shared = {name: value for name, value in stated.items() if name in _FIELDS}
        workloads |= {name: (module, shared | own) for name, own in stated.items() if name not in _FIELDS}
    return workloads


def spec_of(name: str, stated: Mapping[str, Any]) -> WorkloadSpec:
    """The specification that a file states, as TOML and JSON have it."""
    costs = {mode: stated[mode] for mode in MODES if mode in stated}
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stated.items()
        if name not in (*costs, "optimiser_bytes")
    }
    if costs:
        weights = [cost["weights"] for cost in costs.values() if "weights" in cost]
        fields = {"modes": tuple(costs), "parameters": max(weights, default=None), **fields}
        fields["cost"] = partial(stated_cost, costs, stated.get("optimiser_bytes", ADAMW_BYTES))
    if "precisions" in fields:
        fields["precisions"] = tuple(map(Precision, fields["precisions"]))
    return WorkloadSpec(id=name, **fields)


def stated_cost(
    costs: Mapping[Mode, Any], optimiser_bytes: int, mode: Mode, precision: Precision, batch: int
) -> Cost:
    """Cost of one item in a step of `batch`, from the lines of a table.

    Inference reads the weights once a step; in training the passes and the optimiser move `optimiser_bytes`
    of each.
    """
    cost = costs[mode]
    moved = cost.get("bytes")
    if isinstance(moved, dict):
        moved = moved[precision]
    if "values" in cost:
        of_weight = optimiser_bytes if mode == "train" else precision.bytes
        moved = cost["values"] * precision.bytes + of_weight * cost.get("weights", 0) / batch
    return Cost(flop_per_item=float(cost["flop"]), bytes_per_item=moved)


# Ways on from names of networks that are not built in.
_WAYS = (
    (
        r"((wide-)?resnet|resnext|densenet|vgg|alexnet|squeezenet|mobilenet|efficientnet|regnet|shufflenet|mnasnet"
        r"|convnext|swin|maxvit|vit-[blh])[-\w.]*$",
        "write torchvision:{}, or ",
    ),
    (r"sd(xl|-?\d)|stable-?diffusion|flux|diffusion", "write unet-sd15 (Stable Diffusion 1.5), or "),
)
# What a family's name alone means.
_USUAL = {"bert": "bert-large", "resnet": "resnet50"}
_FIELDS = {*(field.name for field in fields(WorkloadSpec)), *MODES, "optimiser_bytes"}
# Foreign workloads that were asked for, by the name that results store.
_FOREIGN: dict[str, Workload] = {}


def names() -> tuple[str, ...]:
    """Names of all built-in workloads, models first, limits last."""
    return tuple(_built_in())


def find(name: str) -> tuple[Workload, ...]:
    """The workloads of a `name`: a built-in one, one of an installed package or of a model library
    (`timm:NAME`), or all of a file (`./my_model.py`).

    Raises InputError with the nearest names where it means nothing.
    """
    # Built-in names go first: a package must not take one over.
    if name in _built_in():
        return (_own(name),)
    if name in _FOREIGN:
        return (_FOREIGN[name],)
    if (named := _of_model(name)) is not None:
        return (named,)
    from gpuwise.workloads import foreign

    if not foreign.is_foreign(name):
        # In any spelling (`ResNet-50`), or a family's usual one (`bert`).
        key = _key(name)
        if own := _USUAL.get(key) or next((each for each in _built_in() if _key(each) == key), None):
            return (_own(own),)
        from gpuwise.facts import llms  # wanted for a slip only

        # Names that hold what was typed, else those written like it.
        plain = name.casefold().replace("_", "-")
        holding = [full for full in _built_in() if plain in full] if plain else []
        near = holding[:5]
        # A language model has no workload of its own name: what is measured of it ends in a step.
        model = re.sub(r"-(decode|prefill|pretrain|full|q?lora)\b.*$", "", plain)
        models = () if near else llms.nearest(model)
        steps = ("decode", "prefill", "full", "qlora") if plain in models else ("decode",)
        near = near or [f"{each}-{step}" for each in models for step in steps]
        near = near or difflib.get_close_matches(plain, _built_in(), n=2, cutoff=0.6)
        other = "" if near else "write a file of your own, ./my_model.py, or "
        way = next((way for family, way in _WAYS if re.match(family, plain)), other)
        # torchvision writes resnet18, but vit_b_16.
        theirs = re.sub(r"(?<=net|ext|vgg)-(?=\d)", "", plain).replace("-", "_")
        hint = f"{way.format(theirs)}see what can be measured"
        raise InputError(f"unknown workload {name!r}{guess(near)}", hint=hint, code="workload")
    every = []
    for workload in foreign.ask(name):
        # Under the name that results store, which has no folders.
        every.append(_FOREIGN.setdefault(workload.spec.id, workload))
        if every[-1].reference != workload.reference:
            problem = f"two workloads are called {workload.spec.id}: results could not distinguish them"
            raise InputError(problem, hint="rename one of the files")
    return tuple(every)


def _key(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def expand(
    name: str,
    modes: tuple[Mode, ...],
    methods: tuple[str, ...] = (),
    checkpointing: bool = False,
    contexts: tuple[int, ...] = (),
) -> tuple[str, ...]:
    """Names of what is measured of a language model, with each method at each context; of anything else its
    own. Raises InputError where such options are given for something else."""
    narrowed = bool(methods or checkpointing or contexts)
    if name in _built_in() and not narrowed:
        return (name,)
    from gpuwise.workloads import llm

    if not llm.is_model(name):
        if narrowed and not llm.by_name(name):
            problem = f"{name} is not a language model, which methods, checkpointing and contexts are of"
            raise InputError(problem, hint="such as llama-3.1-8b")
        return (name,)
    return tuple(
        each
        for method in methods or (None,)
        for context in contexts or (None,)
        for each in llm.names_of(name, modes, method, checkpointing, context)
    )


def get(name: str) -> Workload:
    """The one workload of that name. Raises InputError where there is none, or more."""
    workloads = find(name)
    if len(workloads) > 1:
        ids = ", ".join(w.spec.id for w in workloads)
        raise InputError(f"{name} has {len(workloads)} workloads: {ids}", hint=f"choose one: {name}:NAME")
    return workloads[0]


def load(reference: str) -> Workload:
    """The workload itself, in the process that will run it: foreign code is run here."""
    if reference in _built_in():
        return _own(reference)
    if (named := _of_model(reference)) is not None:
        return named
    from gpuwise.workloads import foreign

    (workload,) = foreign.load(reference)
    return replace(workload, build=partial(foreign.build, workload))


def specs() -> tuple[WorkloadSpec, ...]:
    """Specifications of all built-in workloads."""
    return tuple(get(name).spec for name in _built_in())


def installed() -> tuple[str, ...]:
    """Names that installed packages offer beside the built-in ones, without loading them."""
    from gpuwise.workloads import foreign

    return tuple(sorted(set(foreign.entry_points()) - set(_built_in())))


def _of_model(name: str) -> Workload | None:
    """The workload of a language model, by its name (`llama-3.1-8b-decode`)."""
    if not re.search(r"-(decode|prefill|pretrain|full|finetune|lora|qlora)(-|$)", name):
        return None
    from gpuwise.workloads.llm import by_name

    return by_name(name)


@lru_cache(maxsize=512)
def network(name: str) -> object:
    """What is equal for all names of one network: the work of a language model, which has ours and its
    publisher's, else the name itself. No code of others is run."""
    with suppress(InputError):
        found = _own(name) if name in _built_in() else _of_model(name)
        if found is not None and is_dataclass(found.build):
            return found.build
    return name


@cache
def _own(name: str) -> Workload:
    """A built-in workload; its module is imported when its job is built."""
    module, stated = _built_in()[name]
    if module == "llm":
        from gpuwise.workloads.llm import by_name

        workload = by_name(name, stated)
        assert workload is not None
        return workload

    def build(config: RunConfig, batch: int) -> Job:
        return import_module(f"gpuwise.workloads.{module}").JOBS[name](config, batch)

    return Workload(spec=spec_of(name, stated), build=build)


def decodes_one(asked: Question) -> bool:
    """True if it is a step of one sequence for gpuwise's decoding kernels: of Llama 3.1 8B 1.4 times as fast
    as torch's in bf16 on an H200 (`results/h200/llama-8b-decode-early.json`). Of eight sequences torch's
    products of matrices take 7.1 ms a step on an H100 (`results/h100/tensor-decode.json`), 11.1 by ours.
    """
    if (asked.batch, asked.gpus, asked.compile) != (1, 1, True) or asked.precision is None:
        return False
    takes = "decode" in get(asked.workload).spec.switches
    return takes and asked.precision.bytes < Precision.FP32.bytes


def tuned(config: RunConfig) -> RunConfig:
    """As the recipe `tuned` runs it where none was searched: one sequence by gpuwise's kernels."""
    return replace(config, switches=Switches(decode="triton")) if decodes_one(config) else config
